/* invariant.c: order_drift for every scheme of a selection; its tables and plot. */
#include "studies/order/invariant.h"

#include <math.h>
#include <stdio.h>

#include "studies/tools/command.h"
#include "studies/tools/output.h"
#include "studies/tools/plot.h"
#include "studies/tools/progress.h"

enum { PARTS = 100 };

static const char *const point_columns[] = {"scheme", "system", "t", "energy_error"};
static const char *const summary_columns[] = {"scheme",       "system", "h",       "t_end",
                                              "energy_error", "growth", "reversal"};

typedef struct {
    System *system;
    Network network; /* of a trained system, else empty */
    Report *points, *summary;
    double t_end, h, top;
} Study;

static int measure(Study *u, const Table *t)
{
    Drift d;
    TRY(order_drift(t, u->system, u->t_end, u->h, PARTS, &d));
    for (size_t i = 0; i < d.points; i++) {
        report_text(u->points, t->name);
        report_text(u->points, u->system->name);
        report_real(u->points, d.point[i].t, 6);
        report_real(u->points, d.point[i].energy, 4);
    }
    report_text(u->summary, t->name);
    report_text(u->summary, u->system->name);
    report_real(u->summary, u->h, 6);
    report_real(u->summary, d.point[d.points - 1].t, 6);
    report_real(u->summary, d.largest, 3);
    report_real(u->summary, d.growth, 3);
    report_real(u->summary, d.reversal, 3);
    drift_free(&d);
    return 0;
}

static int measure_all(Study *u, const Selection *s)
{
    for (size_t i = 0; i < s->count; i++) {
        progress_show("energy of %s on %s (%zu of %zu)", s->scheme[i]->name, u->system->name, i + 1,
                      s->count);
        TRY(measure(u, s->scheme[i]));
    }
    progress_clear();
    return 0;
}

static int draw(const Study *u, const Selection *s, const char *dir)
{
    char title[256];
    snprintf(title, sizeof title, "Energy over time: %s, h = %g", u->system->name, u->h);
    PlotFrame frame = {"drift", title, "time", "largest relative energy error", PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set yrange [*:*<10]");
    for (size_t i = 0; i < s->count; i++)
        plot_series(p, "drift.csv", 1, s->scheme[i]->name, 3, 4, s->scheme[i]->name);
    return plot_finish(p);
}

static int save(const Study *u, const Selection *s, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_report(u->points, REPORT_CSV, dir, "drift.csv"));
    TRY(output_report(u->summary, REPORT_CSV, dir, "invariant.csv"));
    TRY(output_report(u->summary, REPORT_MARKDOWN, dir, "invariant.md"));
    return draw(u, s, dir);
}

static int show(const Study *u, int csv)
{
    if (!csv)
        printf(
            "system %s: %s\nlargest relative error of the energy; growth: the last quarter's over "
            "the first's\n(bounded: near 1, linear: near 4); reversal: what is left of y - y(0) "
            "after running back\n\n",
            u->system->name, u->system->title);
    return report_write(csv ? u->points : u->summary, csv ? REPORT_CSV : REPORT_PLAIN, stdout);
}

static int study(Study *u, const Selection *s, int csv, const char *dir)
{
    TRY(report_new(sizeof point_columns / sizeof *point_columns, point_columns, &u->points));
    TRY(report_new(sizeof summary_columns / sizeof *summary_columns, summary_columns, &u->summary));
    TRY(measure_all(u, s));
    TRY(show(u, csv));
    return dir ? save(u, s, dir) : 0;
}

int invariant_study(const SystemChoice *system, double t_end, double h, const Selection *s, int csv,
                    const char *dir)
{
    Study u = {0};
    SystemChoice choice = *system;
    if (!choice.file && !choice.name) choice.name = "kepler";
    TRY(choose_system(&choice, &u.network, &u.system));
    u.t_end = t_end > 0 ? t_end : 200;
    u.h = h > 0 ? h : u.system->h0 / 2;
    int code = choose_blame(&choice, study(&u, s, csv, dir));
    report_free(u.points);
    report_free(u.summary);
    system_free(u.system);
    network_free(&u.network);
    return code;
}
