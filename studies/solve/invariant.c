/* invariant.c: runs order_drift for every scheme of a selection; writes its tables and plot. */
#include "studies/solve/order.h"

#include <stdio.h>

#include "studies/base/plot/plot.h"
#include "studies/base/command.h"

enum { PARTS = 100 };

typedef struct {
    const char *scheme, *system;
    double t, energy_error;
} PointRow;

typedef struct {
    const char *scheme, *system;
    double h, t_end, energy_error, growth;
    int lost;
    double reversal;
} SummaryRow;

#define ENERGY_ERROR "largest relative error of the energy so far"
const Column drift_columns[] = {COLUMN(PointRow, scheme),
                                COLUMN(PointRow, system),
                                COLUMN(PointRow, t, .words = "time"),
                                COLUMN(PointRow, energy_error, .digits = 4, .words = ENERGY_ERROR),
                                {0}};
const Column invariant_columns[] = {
    COLUMN(SummaryRow, scheme),
    COLUMN(SummaryRow, system),
    COLUMN(SummaryRow, h),
    COLUMN(SummaryRow, t_end),
    COLUMN(SummaryRow, energy_error, .digits = 3, .words = ENERGY_ERROR),
    COLUMN(SummaryRow, growth, .digits = 3,
           .words = "largest energy error of the last quarter over that of the first: near 1 "
                    "bounded, near 4 linear; empty where lost"),
    COLUMN(
        SummaryRow, lost, .form = SHEET_FLAG,
        .words =
            "whether the energy errs by a tenth of itself or more: the solution is another one then"),
    COLUMN(SummaryRow, reversal, .digits = 3, .words = "y − y(0) that is left after running back"),
    {0}};

typedef struct {
    System *system;
    Network network; /* network of a trained system, else empty */
    Sheet *points, *summary;
    double t_end, h;
} DriftRun;

static int measure(DriftRun *u, const Selection *s)
{
    const char *system = u->system->name;
    for (size_t i = 0; i < s->count; i++) {
        const char *name = s->scheme[i]->name;
        Drift d;
        progress_show("energy of %s on %s (%zu of %zu)", name, system, i + 1, s->count);
        TRY(order_drift(s->scheme[i], u->system, u->t_end, u->h, PARTS, &d));
        for (size_t k = 0; k < d.points; k++)
            sheet_row(u->points, &(PointRow){name, system, d.point[k].t, d.point[k].energy});
        sheet_row(u->summary, &(SummaryRow){name, system, u->h, d.point[d.points - 1].t, d.largest,
                                            d.growth, d.lost, d.reversal});
        drift_free(&d);
    }
    progress_clear();
    return 0;
}

static int draw(const DriftRun *u, const Selection *s, const char *dir)
{
    char title[256];
    snprintf(title, sizeof title, "Energy over time: %s, h = %g", u->system->name, u->h);
    PlotFrame frame = {"drift", title, "time", "largest relative energy error", PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_top(p, 0, 10);
    if (plot_narrow()) plot_few_tics(p, u->t_end, 5);
    for (size_t i = 0; i < s->count; i++)
        plot_series(p, "drift.csv", sheet_column(drift_columns, "scheme"), s->scheme[i]->name,
                    sheet_column(drift_columns, "t"), sheet_column(drift_columns, "energy_error"),
                    s->scheme[i]->name);
    return plot_finish(p);
}

static int study(DriftRun *u, const Selection *s, int csv, const char *dir)
{
    TRY(sheet_new(drift_columns, &u->points));
    TRY(sheet_new(invariant_columns, &u->summary));
    TRY(measure(u, s));
    if (!csv)
        printf(
            "system %s: %s\nlargest relative error of the energy; growth: the last quarter's over "
            "the first's\n(bounded: near 1, linear: near 4), where the energy is not lost, off by a tenth of itself or more;\n"
            "reversal: what is left of y - y(0) after running back\n\n",
            u->system->name, u->system->title);
    TRY(sheet_write(csv ? u->points : u->summary, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!dir) return 0;
    TRY(output_directory(dir));
    TRY(output_sheet(u->points, SHEET_CSV, dir, "drift.csv"));
    TRY(output_table(u->summary, dir, "invariant"));
    return draw(u, s, dir);
}

int invariant_study(const Options *o, const SystemChoice *system, const Selection *s)
{
    double t_end = options_real(o, "t-end"), h = options_real(o, "h0");
    DriftRun u = {0};
    SystemChoice choice = *system;
    if (!choice.file && !choice.name) choice.name = "kepler";
    TRY(choose_system(&choice, &u.network, &u.system));
    u.t_end = t_end > 0 ? t_end : 200;
    u.h = h > 0 ? h : u.system->h0 / 2;
    int code = choose_zeros(u.system, s);
    if (code == 0)
        code = choose_blame(&choice, study(&u, s, options_flag(o, "csv"), options_text(o, "out")));
    sheet_free(u.points);
    sheet_free(u.summary);
    system_free(u.system);
    network_free(&u.network);
    return code;
}
