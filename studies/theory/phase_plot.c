/* phase_plot.c: draws dispersion and dissipation. The theory is in ode/theory/phase.c. */
#include "studies/theory/theory.h"

#include <math.h>
#include <stdio.h>

#include "kernels/error.h"
#include "studies/plot/plot.h"
#include "studies/tools/output.h"

/* The errors of a step on y' = i omega y; NaN where they are only rounding. */
typedef struct {
    const char *scheme;
    double nu, dispersion, dissipation;
} PhaseRow;

const Column phase_columns[] = {COLUMN(PhaseRow, scheme),
                                COLUMN(PhaseRow, nu, .words = "ω·h"),
                                COLUMN(PhaseRow, dispersion, .words = "nu − arg R(i·nu)"),
                                COLUMN(PhaseRow, dissipation, .words = "1 − |R(i·nu)|"),
                                {0}};

typedef struct {
    Table *const *table; /* (count) */
    size_t count;
    const double *imag;           /* (count) */
    const char *const *curveless; /* (count) */
} Phases;

enum { PHASE_POINTS = 161 };
static const double
    phase_from = 0.02,
    phase_to = 3.14159265358979,
    phase_rounding = 2e-14; /* for a factor of modulus 1, whose polynomial has some 10 roundings */

/* Adds a scheme's curve. Beyond its stability interval the principal factor of a scheme with history cannot be told from
 * the others, so it ends there. */
static int fill_phase(const Phases *u, size_t i, Sheet *r)
{
    const Table *t = u->table[i];
    int history = t->past_y > 0 || t->past_k > 0;
    double nu[PHASE_POINTS], error[2][PHASE_POINTS];
    double end = history && u->imag[i] > 0 ? fmin(u->imag[i], phase_to) : phase_to;
    for (int k = 0; k < PHASE_POINTS; k++)
        nu[k] = phase_from * pow(end / phase_from, (double)k / (PHASE_POINTS - 1));
    if (u->curveless[i]) return 0;
    TRY(phase_errors(t, nu, PHASE_POINTS, error[0], error[1]));
    for (int k = 0; k < PHASE_POINTS; k++) {
        PhaseRow row = {t->name, nu[k], error[0][k], error[1][k]};
        if (fabs(row.dispersion) < phase_rounding) row.dispersion = NAN;
        if (fabs(row.dissipation) < phase_rounding) row.dissipation = NAN;
        sheet_row(r, &row);
    }
    return 0;
}

/* Draws schemes first .. first + PHASE_SCHEMES - 1, a colour each: dispersion as a line, dissipation dashed. */
enum { PHASE_SCHEMES = 7 };

static void add_phase(Plot *p, const Phases *u, size_t scheme, size_t i)
{
    const char *name = u->table[scheme]->name;
    for (int k = 0; k < 2; k++) {
        int key = sheet_column(phase_columns, "scheme"), x = sheet_column(phase_columns, "nu"),
            y = sheet_column(phase_columns, k ? "dissipation" : "dispersion");
        if (u->curveless[scheme])
            plot_item(p, NULL, "NaN with lines");
        else
            plot_item(p, "phase.csv", "using (strcol(%d) eq %s ? $%d : NaN):(abs($%d)) with lines",
                      key, name, x, y);
        if (!u->curveless[scheme]) plot_over(p, "phase.csv", (PlotRows){key, name}, x, y);
        if (k == 0)
            plot_more(p, "title %s.%s noenhanced", name,
                      u->curveless[scheme] ? u->curveless[scheme] : "");
        if (k == 1) plot_more(p, "notitle");
        plot_style(p, plot_again(i, PHASE_SCHEMES, (size_t)k));
    }
}

/* Draws a plot, except where it would have no curve. */
static int draw_phase(const Phases *u, size_t first, const char *dir)
{
    char name[64] = "phase";
    size_t last = first + PHASE_SCHEMES, curves = 0;
    if (last > u->count) last = u->count;
    for (size_t i = first; i < last; i++) curves += !u->curveless[i];
    if (curves == 0) return 0;
    if (first) snprintf(name, sizeof name, "phase-%zu", first / PHASE_SCHEMES + 1);
    PlotFrame frame = {name, "Dispersion and dissipation on y' = iωy", "ν = ωh",
                       "|error| of a step", PLOT_LOG_X | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    for (size_t i = first; i < last; i++) add_phase(p, u, i, i - first);
    plot_item(p, NULL, "NaN with lines title 'ν − arg R(iν)' lc rgb '#555555' lw 2 dt 1");
    plot_item(p, NULL, "NaN with lines title '1 − |R(iν)|' lc rgb '#555555' lw 2 dt '-'");
    return plot_finish(p);
}

int phase_save(Table *const *table, size_t count, const double *imag, const char *const *curveless,
               const char *dir)
{
    const Phases *u = &(Phases){table, count, imag, curveless};
    Sheet *r;
    TRY(sheet_new(phase_columns, &r));
    int code = 0;
    for (size_t i = 0; code == 0 && i < u->count; i++) code = fill_phase(u, i, r);
    if (code == 0) code = output_sheet(r, SHEET_CSV, dir, "phase.csv");
    sheet_free(r);
    for (size_t i = 0; code == 0 && i < u->count; i += PHASE_SCHEMES) code = draw_phase(u, i, dir);
    return code;
}
