/* command_stability.c: where |R| <= 1 on the test equation, in the plane of h lambda or of its two parts; dispersion and
 * dissipation along the imaginary axis. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/measure/expansion.h"
#include "studies/tools/command.h"
#include "studies/tools/contour.h"
#include "studies/tools/output.h"
#include "studies/tools/plot.h"
#include "studies/tools/progress.h"
#include "studies/tools/select.h"
#include "studies/theory/phase_plot.h"
#include "studies/theory/spectrum.h"

static const Option scheme_options[] = {
    {"scheme", OPTION_TEXT, "euler,heun,rk3,rk4", "A,B,...",
     "names separated by commas, all, decoders, implicit or exponential", 0, 0},
    SELECT_FILE,
    {0},
};

static const Option plane_options[] = {
    {"split", OPTION_FLAG, NULL, NULL,
     "the split test equation: the plane of h lambda_F, h lambda_G, both real", 0, 0},
    {"imaginary", OPTION_FLAG, NULL, NULL, "with --split: both imaginary", 0, 0, .needs = "split"},
    {"box", OPTION_TEXT, NULL, "A,B,C,D",
     "from A to B across, C to D upwards (default: around the limits; --box=-4,1,-3,3)", 0, 0},
    {"points", OPTION_SIZE, "201", "N", "grid of N by N points", 3, 2001},
    {0},
};

static const Option spectrum_options[] = {
    {"system", OPTION_TEXT, NULL, "P",
     "largest stable steps on a particle system instead; 'trotter order --systems' has the names",
     0, 0},
    {"peclet", OPTION_REALS, NULL, "A,B,...", "values of the system's option of that name", 1e-2,
     1e9, .needs = "system"},
    {"particles", OPTION_SIZES, NULL, "A,B,...", "sizes of the system", 1, 1024, .needs = "system"},
    {0},
};

static const Option output_options[] = {
    {"csv", OPTION_FLAG, NULL, NULL, "|R| on the grid, or the steps, as CSV", 0, 0},
    {"out", OPTION_TEXT, NULL, "DIR",
     "write limits.csv, stability.csv, contours.csv, phase.csv and the plots (.gp, .svg, .png); with "
     "--split: limits.csv, split.csv, split-contours.csv and the plot; with --system: steps.csv and "
     "the plot against --peclet",
     0, 0},
    PLOT_FIGURE,
    {0},
};

static const OptionGroup scheme_group = {"Schemes", 1, scheme_options};
static const OptionGroup plane_group = {"Plane", 1, plane_options};
static const OptionGroup system_group = {"System", 1, spectrum_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&scheme_group, &plane_group, &system_group,
                                            &output_group, NULL};

typedef struct {
    const char *scheme;
    double real_limit, imag_limit, ssp, r_infinity, alpha;
    int a_stable, l_stable;
    Phase phase;
    const char *dispersion, *dissipation;
} LimitRow;

static const Column limit_columns[] = {
    COLUMN(LimitRow, scheme),
    COLUMN(LimitRow, real_limit, .digits = 13),
    COLUMN(LimitRow, imag_limit, .digits = 13),
    FIELD(LimitRow, "dispersion_order", phase.dispersion_order, .head = "dispersion",
          .words = "q: nu − arg R(i·nu) = constant·nu^(q+1); inf: no error"),
    FIELD(LimitRow, "dispersion_constant", dispersion, .head = "constant",
          .words =
              "of the phase error: a rational, or a decimal where the scheme is inexact or the "
              "rational long"),
    FIELD(LimitRow, "dissipation_order", phase.dissipation_order, .head = "dissipation",
          .words = "r: 1 − |R(i·nu)| = constant·nu^(r+1); inf: |R| = 1"),
    FIELD(LimitRow, "dissipation_constant", dissipation, .head = "constant",
          .words = "of the amplitude's error"),
    COLUMN(LimitRow, ssp, .digits = 7),
    COLUMN(LimitRow, a_stable, .form = SHEET_FLAG, .sparse = 1,
           .words = "of implicit stages: |R(z)| <= 1 wherever Re z <= 0; of the implicit operator "
                    "alone where only one is"),
    COLUMN(LimitRow, alpha, .digits = 4, .sparse = 1,
           .words =
               "of implicit stages: |R(z)| <= 1 in the sector of this angle, in degrees, on either "
               "side of the negative axis; 90: A-stable"),
    COLUMN(LimitRow, l_stable, .form = SHEET_FLAG, .sparse = 1,
           .words = "A-stable, and R(z) goes to 0 as z goes to infinity"),
    COLUMN(LimitRow, r_infinity, .digits = 7, .sparse = 1,
           .words = "of implicit stages: |R(z)| as z goes to infinity"),
    {0}};

/* A point of the plane: of the grid, or of a boundary's line. */
typedef struct {
    const char *scheme;
    size_t line;
    double x, y, modulus;
} PointRow;

#define GRID(a, b)                                                              \
    {                                                                           \
        COLUMN(PointRow, scheme), FIELD(PointRow, a, x), FIELD(PointRow, b, y), \
            COLUMN(PointRow, modulus, .words = "|R|"),                          \
        {                                                                       \
            0                                                                   \
        }                                                                       \
    }
#define BOUNDARY(a, b)                                                                   \
    {                                                                                    \
        COLUMN(PointRow, scheme), COLUMN(PointRow, line, .words = "number of the line"), \
            FIELD(PointRow, a, x), FIELD(PointRow, b, y),                                \
        {                                                                                \
            0                                                                            \
        }                                                                                \
    }
#define INSIDE(a, b)                                                     \
    {                                                                    \
        FIELD(InsideRow, a, x), FIELD(InsideRow, b, y),                  \
            COLUMN(InsideRow, stable, .words = "schemes with |R| <= 1"), \
            COLUMN(InsideRow, schemes, .words = "schemes in the plot"),  \
        {                                                                \
            0                                                            \
        }                                                                \
    }
/* How many of a plot's schemes are stable at a point. */
typedef struct {
    double x, y;
    size_t stable, schemes;
} InsideRow;

static const Column inside[] = INSIDE("re", "im"), split_inside[] = INSIDE("zF", "zG");
static const Column grid[] = GRID("re", "im"), split_grid[] = GRID("zF", "zG"),
                    contours[] = BOUNDARY("re", "im"), split_contours[] = BOUNDARY("zF", "zG");

/* The planes: names of files, columns and axes. */
typedef struct {
    const char *name, *contours;
    const Column *grid, *line, *inside;
    const char *title, *x, *y;
} Plane;
enum { PLANE_LAMBDA, PLANE_REAL, PLANE_IMAG };
static const Plane planes[] = {
    {"stability", "contours", grid, contours, inside, "Stability regions: |R(z)| = 1",
     "Re z,  z = hλ", "Im z"},
    {"split", "split-contours", split_grid, split_contours, split_inside,
     "Stability on the split test equation: |R| = 1", "h λ_F (real)", "h λ_G (real)"},
    {"split", "split-contours", split_grid, split_contours, split_inside,
     "Stability on the split test equation: |R| = 1", "Im h λ_F (real part 0)",
     "Im h λ_G (real part 0)"},
};

typedef struct {
    Selection schemes;
    Table **table; /* frozen, (count) */
    double *real, *imag;
    const char **curveless; /* (count) why it has no curve of dispersion; NULL: it has one */
    int plane;
    size_t points;
    double origin[2], step[2];
    double *modulus; /* (count, points, points), rows upwards */
    Sheet *limits;
} Study;

static double *scheme_values(const Study *u, size_t i)
{
    return u->modulus + i * u->points * u->points;
}

/* ---- limits and the box ---------------------------------------------------------------------------- */

/* c as a rational, or as a decimal where that is too long for a table. */
static const char *constant_text(const Table *t, const mpq_t c, char out[64])
{
    size_t digits = mpz_sizeinbase(mpq_numref(c), 10) + mpz_sizeinbase(mpq_denref(c), 10);
    if (digits > 40)
        snprintf(out, 64, "%.17g", table_double(c));
    else
        expansion_number(t, c, out, 64);
    return out;
}

/* Of implicit stages; an explicit scheme's R is a polynomial, which tells nothing more. */
static int add_stiff(const Table *t, LimitRow *row)
{
    Stiff s;
    row->a_stable = row->l_stable = -1;
    row->r_infinity = row->alpha = NAN;
    if (!table_implicit(t)) return 0;
    TRY(stability_stiff(t, &s));
    if (s.a_stable != TOLD_NOT) row->a_stable = s.a_stable == TOLD_YES;
    if (s.l_stable != TOLD_NOT) row->l_stable = s.l_stable == TOLD_YES;
    row->r_infinity = s.r_infinity;
    row->alpha = s.alpha;
    return 0;
}

static int add_limits(Study *u, size_t i)
{
    const Table *t = u->table[i];
    LimitRow row = {.scheme = t->name, .real_limit = u->real[i], .imag_limit = u->imag[i]};
    char text[2][64];
    TRY(add_stiff(t, &row));
    TRY(stability_ssp(t, &row.ssp));
    TRY(phase_find(t, &row.phase));
    if (isfinite(row.phase.dispersion_order))
        row.dispersion = constant_text(t, row.phase.dispersion, text[0]);
    if (isfinite(row.phase.dissipation_order))
        row.dissipation = constant_text(t, row.phase.dissipation, text[1]);
    if (isnan(row.phase.dispersion_order)) u->curveless[i] = " (not told)";
    if (isinf(row.phase.dispersion_order)) u->curveless[i] = " (no error)";
    sheet_row(u->limits, &row);
    phase_free(&row.phase);
    return 0;
}

static int find_limits(Study *u)
{
    TRY(sheet_new(limit_columns, &u->limits));
    for (size_t i = 0; i < u->schemes.count; i++) {
        if (!(u->table[i] = table_freeze(u->schemes.scheme[i]))) return ERR_MEMORY;
        progress_show("stability limits of %s", u->table[i]->name);
        TRY(stability_limits(u->table[i], &u->real[i], &u->imag[i]));
        TRY(add_limits(u, i));
    }
    return 0;
}

/* Four finite numbers, two rising pairs. */
static int read_box(const char *text, double box[4])
{
    const char *at = text;
    char *end;
    for (int i = 0; i < 4; i++, at = end + 1) {
        box[i] = strtod(at, &end);
        if (end == at || *end != (i < 3 ? ',' : '\0') || !isfinite(box[i])) goto bad;
    }
    if (box[0] < box[1] && box[2] < box[3] && isfinite(box[1] - box[0]) &&
        isfinite(box[3] - box[2]))
        return 0;
bad:
    return error_set(ERR_INPUT, "--box: expected A,B,C,D with A < B and C < D, not '%.100s'", text);
}

/* Around the farthest finite limit. */
static void default_box(const Study *u, double box[4])
{
    static const double shape[][4] = {
        {-1.25, 0.5, -1.25, 1.25}, {-1.25, 0.25, -1.25, 0.25}, {-1.25, 1.25, -1.25, 1.25}};
    double far = 0;
    for (size_t i = 0; i < u->schemes.count; i++)
        if (isfinite(u->imag[i])) far = fmax(far, u->imag[i]);
    for (size_t i = 0; i < u->schemes.count && (u->plane != PLANE_IMAG || far == 0); i++)
        if (isfinite(u->real[i])) far = fmax(far, -u->real[i]);
    if (!(far > 0)) far = 3;
    for (int k = 0; k < 4; k++) box[k] = far * shape[u->plane][k];
}

static int choose_box(Study *u, const char *text)
{
    double box[4];
    if (text)
        TRY(read_box(text, box));
    else
        default_box(u, box);
    for (int k = 0; k < 2; k++) {
        u->origin[k] = box[2 * k];
        u->step[k] = (box[2 * k + 1] - box[2 * k]) / (double)(u->points - 1);
    }
    return 0;
}

/* ---- the grid --------------------------------------------------------------------------------------- */

/* What is summed up before anything is begun; about 4 10^8 a second. */
static const double work_most = 4e10, values_most = 5e7;

static int check_work(const Study *u)
{
    double work = 0, each = (double)u->points * (double)u->points;
    for (size_t i = 0; i < u->schemes.count; i++) {
        Stability *s;
        TRY(stability_new(u->table[i], &s));
        work += each * (double)stability_work(s);
        stability_free(s);
    }
    if (work <= work_most && each * (double)u->schemes.count <= values_most) return 0;
    return error_set(ERR_INPUT,
                     "expected fewer --points or schemes; %zu by %zu points of %zu schemes are too "
                     "much work",
                     u->points, u->points, u->schemes.count);
}

/* Coordinates (x, y) as h lambda of each colour: equal shares, or of a split plane x for attention, which in a
 * decoder is F and C in equal shares, and y for G. */
static void split_point(int plane, int colours, double x, double y, double z[COLOURS][2])
{
    int part = plane == PLANE_IMAG, attention = colours - 1;
    for (int op = 0; op < colours; op++) {
        z[op][0] = x / colours;
        z[op][1] = y / colours;
        if (plane == PLANE_LAMBDA) continue;
        z[op][part] = op == OP_G ? y : x / attention;
        z[op][!part] = 0;
    }
}

static int fill_scheme(const Study *u, size_t i)
{
    Stability *s;
    double z[COLOURS][2], *v = scheme_values(u, i);
    TRY(stability_new(u->table[i], &s));
    for (size_t row = 0; row < u->points; row++) {
        progress_show("%s: row %zu of %zu (scheme %zu of %zu)", u->table[i]->name, row + 1,
                      u->points, i + 1, u->schemes.count);
        for (size_t column = 0; column < u->points; column++) {
            split_point(u->plane, u->table[i]->colours, u->origin[0] + u->step[0] * (double)column,
                        u->origin[1] + u->step[1] * (double)row, z);
            *v++ = stability_at(s, (const double(*)[2])z);
        }
    }
    stability_free(s);
    return 0;
}

static int fill_grid(Study *u)
{
    TRY(check_work(u));
    u->modulus = memory_new(u->schemes.count * u->points * u->points, sizeof(double));
    if (!u->modulus) return ERR_MEMORY;
    for (size_t i = 0; i < u->schemes.count; i++) TRY(fill_scheme(u, i));
    progress_clear();
    return 0;
}

static int write_grid(const Study *u, FILE *f)
{
    char x[32], y[32], m[32];
    sheet_names(planes[u->plane].grid, f);
    for (size_t i = 0; i < u->schemes.count; i++)
        for (size_t k = 0; k < u->points * u->points; k++) {
            double modulus = scheme_values(u, i)[k];
            if (f != stdout && k % u->points == 0)
                progress_show("writing %s: row %zu of %zu (scheme %zu of %zu)", u->table[i]->name,
                              k / u->points + 1, u->points, i + 1, u->schemes.count);
            sheet_number(u->origin[0] + u->step[0] * (double)(k % u->points), x);
            sheet_number(u->origin[1] + u->step[1] * (double)(k / u->points), y);
            sheet_number(modulus, m);
            fprintf(f, "%s,%s,%s,%s\n", u->table[i]->name, x, y, isinf(modulus) ? "inf" : m);
        }
    return ferror(f) ? error_set(ERR_SYSTEM, "writing the grid failed") : 0;
}

/* ---- boundaries ------------------------------------------------------------------------------------- */

/* |R| = 1 on a whole interval (leapfrog) is met to rounding only. */
static const double level = 1 + 1e-9;

/* Lines of one scheme in the CSV of contours: first, first + 1, ... */
typedef struct {
    FILE *f;
    const char *scheme;
    size_t first, lines;
} Lines;

static void write_point(void *context, size_t line, double x, double y)
{
    Lines *l = context;
    char sx[32], sy[32];
    sheet_number(x, sx);
    sheet_number(y, sy);
    fprintf(l->f, "%s,%zu,%s,%s\n", l->scheme, l->first + line, sx, sy);
    if (line >= l->lines) l->lines = line + 1;
}

/* A region that is a part of the imaginary axis alone has no contour; it is drawn as a line. */
static void add_segment(const Study *u, size_t i, Lines *l)
{
    if (u->plane != PLANE_LAMBDA || u->real[i] != 0 || !(u->imag[i] > 0)) return;
    double top = u->origin[1] + u->step[1] * (double)(u->points - 1);
    size_t line = l->lines;
    write_point(l, line, 0, fmax(-u->imag[i], u->origin[1]));
    write_point(l, line, 0, fmin(u->imag[i], top));
}

static int write_contours(const Study *u, Lines *l, FILE *f)
{
    size_t line = 0;
    sheet_names(planes[u->plane].line, f);
    for (size_t i = 0; i < u->schemes.count; i++) {
        l[i] = (Lines){.f = f, .scheme = u->table[i]->name, .first = line};
        TRY(contour_find(scheme_values(u, i), u->points, u->points, u->origin, u->step, level,
                         write_point, &l[i]));
        add_segment(u, i, &l[i]);
        line += l[i].lines;
    }
    return 0;
}

static int save_contours(const Study *u, Lines *l, const char *dir)
{
    char name[64];
    Output o;
    snprintf(name, sizeof name, "%s.csv", planes[u->plane].contours);
    TRY(output_open(&o));
    return output_put(&o, write_contours(u, l, o.f), dir, name);
}

/* ---- plots ------------------------------------------------------------------------------------------ */

enum { PLOT_SCHEMES = 10 }; /* in one plot */

/* What is so of a scheme without a boundary. */
static const char *side_words(const Study *u, size_t i)
{
    size_t stable = 0, all = u->points * u->points;
    for (size_t k = 0; k < all; k++) stable += scheme_values(u, i)[k] <= level;
    return stable == all ? " (stable all over)"
           : stable      ? " (no boundary here)"
                         : " (stable nowhere)";
}

/* Scheme `first` of all, the i-th of the plot. */
static void add_lines(Plot *p, const Study *u, const Lines *l, size_t first, size_t i)
{
    char title[300], file[64];
    snprintf(file, sizeof file, "%s.csv", planes[u->plane].contours);
    snprintf(title, sizeof title, "%s%s", l->scheme, l->lines ? "" : side_words(u, first));
    if (!l->lines) {
        plot_item(p, NULL, "NaN with lines title %s noenhanced", title);
        plot_style(p, i);
    }
    for (size_t k = 0; k < l->lines; k++) {
        plot_item(p, file, "using ($2 == %zu ? $3 : NaN):4 with lines", l->first + k);
        if (k == 0) plot_more(p, "title %s noenhanced", title);
        if (k > 0) plot_more(p, "notitle");
        plot_style(p, i);
    }
}

/* One scheme alone: |R| inside as a shade, which ends where |R| = 1. */
static void shade_modulus(Plot *p, const Study *u)
{
    char file[64];
    snprintf(file, sizeof file, "%s.csv", planes[u->plane].name);
    plot_setting(p, "set palette defined (0 '#2166ac', 0.6 '#92c5de', 1 '#d1e5f0')\n"
                    "set cbrange [0:1]\nset cbtics 0.5\nset cblabel '|R|'\n"
                    "set colorbox user origin graph 1.05, graph 0.05 size graph 0.04, graph 0.5");
    plot_item(p, file, "using 2:3:($4 <= %.17g ? ($4 < 1 ? $4 : 1) : NaN) with image notitle",
              level);
}

static int write_inside(const Study *u, size_t first, size_t count, FILE *f)
{
    Sheet *s;
    TRY(sheet_new(planes[u->plane].inside, &s));
    for (size_t k = 0; k < u->points * u->points; k++) {
        InsideRow row = {u->origin[0] + u->step[0] * (double)(k % u->points),
                         u->origin[1] + u->step[1] * (double)(k / u->points), 0, count};
        for (size_t i = 0; i < count; i++) row.stable += scheme_values(u, first + i)[k] <= level;
        sheet_row(s, &row);
    }
    int code = sheet_write(s, SHEET_CSV, f);
    sheet_free(s);
    return code;
}

/* Several: how many of them are stable, the darker the more. Lines alone do not tell their sides: on a split plane they
 * run through it. */
static int shade_counts(Plot *p, const Study *u, const char *name, size_t first, size_t count,
                        const char *dir)
{
    char file[80];
    Output o;
    snprintf(file, sizeof file, "%s-inside.csv", name);
    TRY(output_open(&o));
    TRY(output_put(&o, write_inside(u, first, count, o.f), dir, file));
    plot_setting(p,
                 "set palette defined (0 '#ffffff', 1 '#b8b8b8')\nset cbrange [0:%zu]\n"
                 "unset colorbox",
                 count);
    plot_note(p, "the darker, the more of these schemes are stable (|R| ≤ 1)");
    plot_item(p, file, "using 1:2:3 with image notitle");
    return 0;
}

/* 1, 2 or 5 times a power of ten, at most six of them along `range`. */
static double tic_step(double range)
{
    double power = pow(10, floor(log10(range / 6))), rest = range / 6 / power;
    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

static void set_frame(Plot *p, const Study *u)
{
    double x = u->step[0] * (double)(u->points - 1), y = u->step[1] * (double)(u->points - 1);
    plot_setting(p, "set zeroaxis lc rgb '#555555' lw 1 dt 1");
    plot_setting(p, "set xrange [%.9g:%.9g]\nset xtics %.9g", u->origin[0], u->origin[0] + x,
                 tic_step(x));
    plot_setting(p, "set yrange [%.9g:%.9g]\nset ytics %.9g", u->origin[1], u->origin[1] + y,
                 tic_step(y));
}

/* Schemes first .. first + PLOT_SCHEMES - 1, as NAME, NAME-2, ... */
static int draw(const Study *u, const Lines *l, size_t first, const char *dir)
{
    const Plane *plane = &planes[u->plane];
    char name[64];
    snprintf(name, sizeof name, "%s", plane->name);
    if (first) snprintf(name, sizeof name, "%s-%zu", plane->name, first / PLOT_SCHEMES + 1);
    PlotFrame frame = {name, plane->title, plane->x, plane->y, PLOT_EQUAL};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    set_frame(p, u);
    size_t count =
        u->schemes.count - first < PLOT_SCHEMES ? u->schemes.count - first : PLOT_SCHEMES;
    int code = 0;
    if (u->schemes.count == 1) {
        shade_modulus(p, u);
        plot_aside(p, 6);
    } else {
        code = shade_counts(p, u, name, first, count, dir);
    }
    for (size_t i = 0; code == 0 && i < count; i++) add_lines(p, u, &l[first + i], first + i, i);
    if (code == 0) return plot_finish(p);
    plot_drop(p);
    return code;
}

static int draw_all(const Study *u, const char *dir)
{
    Lines *l = memory_new(u->schemes.count, sizeof *l);
    int code = l ? save_contours(u, l, dir) : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < u->schemes.count; i += PLOT_SCHEMES)
        code = draw(u, l, i, dir);
    memory_free(l);
    return code;
}

static int save(const Study *u, const char *dir)
{
    char name[64];
    Output o;
    snprintf(name, sizeof name, "%s.csv", planes[u->plane].name);
    TRY(output_directory(dir));
    TRY(output_sheet(u->limits, SHEET_CSV, dir, "limits.csv"));
    TRY(output_open(&o));
    TRY(output_put(&o, write_grid(u, o.f), dir, name));
    if (u->plane == PLANE_LAMBDA)
        TRY(phase_save(u->table, u->schemes.count, u->imag, u->curveless, dir));
    return draw_all(u, dir);
}

/* ---- the command -------------------------------------------------------------------------------------- */

static int study(const Options *o, Study *u)
{
    const char *dir = options_text(o, "out");
    int csv = options_flag(o, "csv");
    TRY(find_limits(u));
    TRY(choose_box(u, options_text(o, "box")));
    if (csv || dir) TRY(fill_grid(u));
    progress_clear();
    if (csv) {
        TRY(write_grid(u, stdout));
    } else {
        printf(
            "ends of the stability interval from 0 on y' = lambda y, lambda_F = lambda_G = "
            "lambda/2: "
            "negative\nreal and positive imaginary h lambda; --csv or --out: the region\n%s"
            "y' = i omega y, nu = omega h: nu - arg R(i nu) = constant nu^(dispersion+1), 1 - |R(i nu)| =\n"
            "constant nu^(dissipation+1); ssp: coefficient of strong stability\n\n",
            select_decoders(&u->schemes)
                ? "(of a decoder lambda_F = lambda_C = lambda_G = lambda/3)\n"
                : "");
        TRY(sheet_write(u->limits, SHEET_PLAIN, stdout));
    }
    return dir ? save(u, dir) : 0;
}

static void study_free(Study *u)
{
    for (size_t i = 0; u->table && i < u->schemes.count; i++) table_free(u->table[i]);
    memory_free(u->table);
    memory_free(u->real);
    memory_free(u->imag);
    memory_free(u->curveless);
    memory_free(u->modulus);
    sheet_free(u->limits);
    select_close(&u->schemes);
}

static int run(Options *o)
{
    Study u = {.points = options_size(o, "points")};
    int split = options_flag(o, "split"), imaginary = options_flag(o, "imaginary");
    TRY(options_needs(o));
    u.plane = !split ? PLANE_LAMBDA : imaginary ? PLANE_IMAG : PLANE_REAL;
    TRY(options_either(o, "system", "split"));
    TRY(options_either(o, "system", "box"));
    TRY(select_open(o, "exact", &u.schemes));
    if (options_text(o, "system")) {
        int done = spectrum_study(o, &u.schemes);
        select_close(&u.schemes);
        return done;
    }
    u.table = memory_new(u.schemes.count, sizeof *u.table);
    u.real = memory_new(u.schemes.count, sizeof *u.real);
    u.imag = memory_new(u.schemes.count, sizeof *u.imag);
    u.curveless = memory_new(u.schemes.count, sizeof *u.curveless);
    int code = u.table && u.real && u.imag && u.curveless ? study(o, &u) : ERR_MEMORY;
    study_free(&u);
    return code;
}

static const Kind kinds[] = {
    {.command = "stability",
     .title = "Stability",
     .about = "|R|, the largest amplification of one step on the linear test equation; $z = h·λ$, "
              "$λ_F = λ_G = λ/2$ unless a plane says otherwise.",
     .table = {{"limits", limit_columns, "Ends of the stability interval from 0.", KIND_ALL},
               {"*", grid, "|R| on a grid of $z$", 0},
               {"*", split_grid, "|R| on a grid of $z_F$, $z_G$", 0},
               {"*", contours, "Boundaries |R| = 1", 0},
               {"*", split_contours, "Boundaries |R| = 1", 0},
               {"phase", phase_columns, "Dispersion and dissipation of a step on y' = iωy.", 0},
               {"*", inside, "How many schemes are stable", 0},
               {"*", split_inside, "How many schemes are stable", 0}},
     .plot = {{"stability*", "Boundaries |R| = 1 of the regions of stability."},
              {"phase*", "Errors of phase and amplitude of a step on y' = iωy."},
              {"split*", "Boundaries |R| = 1 on the split test equation."}}},
    {.command = "stability --system",
     .title = "Largest stable steps",
     .about = "The largest step at which $|R| ≤ 1$ for all eigenvalues of a particle system.",
     .table = {{"steps", spectrum_columns, "Largest stable steps.", KIND_ALL}},
     .plot = {{"steps", "Largest stable step against the Peclet number."}}},
    {0}};

const Command command_stability = {
    .name = "stability",
    .purpose = "stability limits and regions of schemes",
    .about =
        "|R|: the largest amplification factor of one step on y' = lambda_F y + lambda_G y. "
        "Columns of\n"
        "--csv: scheme,re,im,modulus, z = h lambda with lambda_F = lambda_G = lambda/2; with "
        "--split:\n"
        "scheme,zF,zG,modulus, h lambda_F and h lambda_G real, or with --imaginary their imaginary "
        "parts\n"
        "(real parts 0). The plot overlays the boundaries |R| = 1 and shades where more or fewer of the schemes\n"
        "are stable; of a single scheme it shades |R| inside. Of a decoder's scheme each of F, C and G has\n"
        "lambda/3; with --split F and C share the axis of lambda_F, half of it each.\n"
        "Dispersion and dissipation (van der Houwen, Sommeijer 1987), on y' = i omega y with nu = omega h and "
        "R the\n"
        "factor that is 1 at nu = 0: the phase error nu - arg R(i nu) = dispersion_constant "
        "nu^(dispersion_order+1)\n"
        "+ ..., positive where the scheme lags behind, and 1 - |R(i nu)| = dissipation_constant "
        "nu^(dissipation_order+1)\n"
        "+ ..., positive where it damps; of a word of weights F, G nu times their mean is in the place of nu. "
        "inf: no\n"
        "error; empty: not told. trotter stability --scheme rk4 tells 4, 1/120 and 5, 1/144. ssp: the coefficient of strong\n"
        "stability, of one-step schemes whose stages are all H (Gottlieb, Ketcheson, Shu 2011). Of implicit stages\n"
        "a_stable, l_stable and r_infinity, |R| at infinity, are decided exactly of one-step schemes and searched of "
        "others;\n"
        "alpha, in degrees, is the angle of A(alpha)-stability. Of an IMEX scheme all four are of its implicit part.\n"
        "\n"
        "--system tells the largest stable step on a particle system: |R| <= 1 for the eigenvalues of its\n"
        "Jacobian at the initial state, split by Rayleigh quotients into lambda_F and lambda_G (exact for\n"
        "stages H, and where F and G commute and are normal). Particles that move on curves have growing\n"
        "eigenvalues in the Jacobian of one moment; those are left out and counted. On linear systems\n"
        "runs of 800 steps stand beside it; they do not see growth that is slower than the decay of other\n"
        "waves. F_least and F_greatest are the ends of the real parts of the eigenvalues of F's Jacobian: how stiff\n"
        "it is, and whether it is dissipative.\n",
    .groups = groups,
    .kinds = kinds,
    .run = run,
};
