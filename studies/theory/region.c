/* region.c: computes |R| of schemes on a grid of a plane and the boundaries |R| = 1, and draws them. */
#include "studies/theory/region.h"

#include <math.h>

#include "kernels/base/error.h"
#include "studies/base/plot/contour.h"
#include "studies/base/output.h"
#include "studies/base/progress.h"

/* A point of the plane, on the grid or on a boundary's line. */
typedef struct {
    const char *scheme;
    size_t line;
    double x, y, modulus;
} PointRow;

#define GRID(a, b)                                                          \
    COLUMN(PointRow, scheme), FIELD(PointRow, a, x), FIELD(PointRow, b, y), \
        COLUMN(PointRow, modulus, .words = "|R|")
#define BOUNDARY(a, b)                                                               \
    COLUMN(PointRow, scheme), COLUMN(PointRow, line, .words = "number of the line"), \
        FIELD(PointRow, a, x), FIELD(PointRow, b, y)
#define INSIDE(a, b)                                                           \
    FIELD(InsideRow, a, x), FIELD(InsideRow, b, y),                            \
        COLUMN(InsideRow, stable, .words = "number of schemes with |R| <= 1"), \
        COLUMN(InsideRow, schemes, .words = "number of schemes in the plot")

/* The number of a plot's schemes that are stable at a point. */
typedef struct {
    double x, y;
    size_t stable, schemes;
} InsideRow;

const Column region_grid[] = {GRID("re", "im"), {0}};
const Column region_split_grid[] = {GRID("zF", "zG"), {0}};
const Column region_lines[] = {BOUNDARY("re", "im"), {0}};
const Column region_split_lines[] = {BOUNDARY("zF", "zG"), {0}};
const Column region_inside[] = {INSIDE("re", "im"), {0}};
const Column region_split_inside[] = {INSIDE("zF", "zG"), {0}};

/* The planes, with names of files, columns and axes. */
typedef struct {
    const char *name, *contours;
    const Column *grid, *line, *inside;
    const char *column[2]; /* names of x and y in each table */
    const char *title, *x, *y;
} Plane;
static const Plane planes[] = {
    {"stability",
     "contours.csv",
     region_grid,
     region_lines,
     region_inside,
     {"re", "im"},
     "Stability regions: |R(z)| ≤ 1",
     "Re z,  z = hλ",
     "Im z"},
    {"split",
     "split-contours.csv",
     region_split_grid,
     region_split_lines,
     region_split_inside,
     {"zF", "zG"},
     "Stability on the split test equation: |R| ≤ 1",
     "h λ_F (real)",
     "h λ_G (real)"},
    {"order-star",
     "order-star-contours.csv",
     region_grid,
     region_lines,
     region_inside,
     {"re", "im"},
     "Order stars: |R(z) exp(−z)| = 1",
     "Re z,  z = hλ",
     "Im z"},
};

/* Returns whether the i-th table is the embedded method of the one before. */
static int is_embedded(const Region *u, size_t i)
{
    return u->of && u->of[i] < 0;
}

static double *scheme_values(const Region *u, size_t i)
{
    return u->modulus + i * u->points * u->points;
}

/* ---- the grid --------------------------------------------------------------------------------------- */

/* Limits of the work, which is summed before it begins; about 4 10^8 a second. */
static const double work_most = 4e10, values_most = 5e7;

static int check_work(const Region *u)
{
    double work = 0, each = (double)u->points * (double)u->points;
    for (size_t i = 0; i < u->count; i++) {
        SCOPED(stability_drop) Stability *s = NULL;
        TRY(stability_new(u->table[i], &s));
        work += each * (double)stability_work(s);
    }
    if (work <= work_most && each * (double)u->count <= values_most) return 0;
    return error_set(ERR_INPUT,
                     "expected fewer --points or schemes; %zu by %zu points of %zu schemes are too "
                     "much work",
                     u->points, u->points, u->count);
}

/* Gives each colour its h lambda at (x, y): equal shares, or on a split plane y for G and x for attention, which in a
 * decoder is F and C in equal shares. */
static void split_point(int plane, int colours, double x, double y, double z[COLOURS][2])
{
    int attention = colours - 1;
    for (int op = 0; op < colours; op++) {
        z[op][0] = x / colours;
        z[op][1] = y / colours;
        if (plane != PLANE_SPLIT) continue;
        z[op][0] = op == OP_G ? y : x / attention;
        z[op][1] = 0;
    }
}

/* Returns |exp| of the exact flow of a table's field. */
static double exact_factor(const Table *t, double z[COLOURS][2])
{
    double sum = 0;
    for (int op = 0; op < t->colours; op++) sum += table_double(t->weight[op]) * z[op][0];
    return exp(sum);
}

static int fill_scheme(const Region *u, size_t i)
{
    Stability *s;
    double z[COLOURS][2], *v = scheme_values(u, i);
    TRY(stability_new(u->table[i], &s));
    for (size_t row = 0; row < u->points; row++) {
        progress_of(row, u->points, "%s: row %zu of %zu (scheme %zu of %zu)", u->table[i]->name,
                    row + 1, u->points, i + 1, u->count);
        for (size_t column = 0; column < u->points; column++) {
            split_point(u->plane, u->table[i]->colours, u->origin[0] + u->step[0] * (double)column,
                        u->origin[1] + u->step[1] * (double)row, z);
            *v++ = stability_at(s, (const double(*)[2])z) /
                   (u->plane == PLANE_STAR ? exact_factor(u->table[i], z) : 1);
        }
    }
    stability_free(s);
    return 0;
}

int region_reach(const Table *t, double poles, double *far)
{
    SCOPED(stability_function_free) StabilityFunction r = {.p = -1};
    TRY(stability_function(t, &r));
    for (int k = 0; k < r.p; k++) *far = fmax(*far, hypot(r.zero[2 * k], r.zero[2 * k + 1]));
    for (int k = 0; r.p >= 0 && k < r.q; k++)
        *far = fmax(*far, poles * hypot(r.pole[2 * k], r.pole[2 * k + 1]));
    return 0;
}

int region_fill(Region *u)
{
    TRY(check_work(u));
    u->modulus = memory_new(u->count * u->points * u->points, sizeof(double));
    if (!u->modulus) return ERR_MEMORY;
    for (size_t i = 0; i < u->count; i++) TRY(fill_scheme(u, i));
    progress_clear();
    return 0;
}

int region_write(const Region *u, FILE *f)
{
    char x[32], y[32], m[32];
    SCOPED(sheet_drop) Sheet *header = NULL; /* the table is too long to be kept */
    TRY(sheet_new(planes[u->plane].grid, &header));
    TRY(sheet_write(header, SHEET_CSV, f));
    for (size_t i = 0; i < u->count; i++)
        for (size_t k = 0; k < u->points * u->points; k++) {
            double modulus = scheme_values(u, i)[k];
            if (f != stdout && k % u->points == 0)
                progress_show("writing %s: row %zu of %zu (scheme %zu of %zu)", u->table[i]->name,
                              k / u->points + 1, u->points, i + 1, u->count);
            sheet_number(u->origin[0] + u->step[0] * (double)(k % u->points), x);
            sheet_number(u->origin[1] + u->step[1] * (double)(k / u->points), y);
            sheet_number(modulus, m);
            fprintf(f, "%s,%s,%s,%s\n", u->table[i]->name, x, y, isinf(modulus) ? "inf" : m);
        }
    return ferror(f) ? error_set(ERR_SYSTEM, "writing the grid failed") : 0;
}

/* ---- boundaries ------------------------------------------------------------------------------------- */

/* A whole interval with |R| = 1 (leapfrog) meets it only to rounding. */
static const double level = 1 + 1e-9;

/* Lines of one scheme in the CSV of contours: first, first + 1, ... */
typedef struct {
    Sheet *to;
    const char *scheme;
    size_t first, lines;
} Lines;

static void add_point(void *context, size_t line, double x, double y)
{
    Lines *l = context;
    sheet_row(l->to, &(PointRow){.scheme = l->scheme, .line = l->first + line, .x = x, .y = y});
    if (line >= l->lines) l->lines = line + 1;
}

/* Adds a line for a region that is a part of the imaginary axis alone, as it has no contour. */
static void add_segment(const Region *u, size_t i, Lines *l)
{
    if (u->plane != PLANE_LAMBDA || !u->real || is_embedded(u, i)) return;
    size_t k = u->of ? (size_t)u->of[i] : i;
    if (u->real[k] != 0 || !(u->imag[k] > 0)) return;
    double top = u->origin[1] + u->step[1] * (double)(u->points - 1);
    size_t line = l->lines;
    add_point(l, line, 0, fmax(-u->imag[k], u->origin[1]));
    add_point(l, line, 0, fmin(u->imag[k], top));
}

/* ---- plots ------------------------------------------------------------------------------------------ */

enum { PLOT_SCHEMES = 10 }; /* number in one plot */

/* Describes a scheme without a boundary. */
static const char *side_words(const Region *u, size_t i)
{
    size_t stable = 0, all = u->points * u->points;
    for (size_t k = 0; k < all; k++) stable += scheme_values(u, i)[k] <= level;
    return u->plane == PLANE_STAR ? " (no boundary here)"
           : stable == all        ? " (stable all over)"
           : stable               ? " (no boundary here)"
                                  : " (stable nowhere)";
}

/* Adds the lines of scheme `first` of all, the i-th of the plot. */
static void add_lines(Plot *p, const Region *u, const Lines *l, const char *file, size_t first,
                      size_t i)
{
    const Plane *plane = &planes[u->plane];
    char title[300], number[32];
    int line = sheet_column(plane->line, "line"), x = sheet_column(plane->line, plane->column[0]);
    int y = sheet_column(plane->line, plane->column[1]);
    snprintf(title, sizeof title, "%s%s", l->scheme, l->lines ? "" : side_words(u, first));
    if (!l->lines) {
        plot_item(p, NULL, "NaN with lines title %s noenhanced", title);
        plot_style(p, i);
    }
    for (size_t k = 0; k < l->lines; k++) {
        snprintf(number, sizeof number, "%zu", l->first + k);
        plot_over(p, file, (PlotRows){line, number}, x, y);
        plot_item(p, file, "using ($%d == %zu ? $%d : NaN):%d with lines", line, l->first + k, x,
                  y);
        if (k == 0) plot_more(p, "title %s noenhanced", title);
        if (k > 0) plot_more(p, "notitle");
        plot_style(p, i);
    }
}

/* Fills l (count) and writes the lines as DIR/FILE. */
static int write_lines(const Region *u, Lines *l, const char *dir, const char *file)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    size_t line = 0;
    TRY(sheet_new(planes[u->plane].line, &s));
    for (size_t i = 0; i < u->count; i++) {
        l[i] = (Lines){.to = s, .scheme = u->table[i]->name, .first = line};
        TRY(contour_find(scheme_values(u, i), u->points, u->points, u->origin, u->step, level,
                         add_point, &l[i]));
        add_segment(u, i, &l[i]);
        line += l[i].lines;
    }
    return output_sheet(s, SHEET_CSV, dir, file);
}

int region_overlay(const Region *u, const char *dir, const char *file, Plot *p)
{
    SCOPED(memory_drop) Lines *l = memory_new(u->count, sizeof *l);
    if (!l) return ERR_MEMORY;
    TRY(write_lines(u, l, dir, file));
    for (size_t i = 0; i < u->count; i++) add_lines(p, u, &l[i], file, i, i);
    return 0;
}

/* Draws the axes through 0 over the shade of `file`, which hides gnuplot's own. */
static void add_axes(Plot *p, const Region *u, const char *file)
{
    for (int k = 0; k < 2; k++) {
        double from = u->origin[k], length = u->step[k] * (double)(u->points - 1);
        plot_item(p, file,
                  "every ::1::1 using (%.9g):(%.9g):(%.9g):(%.9g) with vectors nohead lw 1 dt 1 "
                  "lc rgb '#555555' notitle",
                  k ? 0 : from, k ? from : 0, k ? 0 : length, k ? length : 0);
    }
}

/* Shades |R| inside the region of a single scheme; the shade ends where |R| = 1. */
static void shade_modulus(Plot *p, const Region *u)
{
    const Plane *plane = &planes[u->plane];
    char file[64];
    int modulus = sheet_column(plane->grid, "modulus");
    snprintf(file, sizeof file, "%s.csv", plane->name);
    if (u->plane == PLANE_STAR) {
        plot_setting(p, "set palette defined (0 '#ffffff', 1 '#f7cf9a')\nset cbrange [0:1]\n"
                        "unset colorbox");
        plot_note(p, "shaded: |R(z)| is above |exp(z)|; p + 1 sectors meet at 0");
        plot_item(p, file, "using %d:%d:($%d > %.17g) with image notitle",
                  sheet_column(plane->grid, plane->column[0]),
                  sheet_column(plane->grid, plane->column[1]), modulus, level);
        add_axes(p, u, file);
        return;
    }
    plot_setting(p, "set palette defined (0 '#2166ac', 0.6 '#92c5de', 1 '#d1e5f0')\n"
                    "set cbrange [0:1]\nset cbtics 0.5\nset cblabel '|R|'\n"
                    "set colorbox user origin graph 1.05, graph 0.05 size graph 0.04, graph 0.5");
    plot_item(p, file,
              "every ::1::%zu using %d:%d:($%d <= %.17g ? ($%d < 1 ? $%d : 1) : NaN) with image "
              "notitle",
              u->points * u->points, /* of the scheme alone, not of its embedded method */
              sheet_column(plane->grid, plane->column[0]),
              sheet_column(plane->grid, plane->column[1]), modulus, level, modulus, modulus);
    add_axes(p, u, file);
}

/* Shades how many of several schemes are stable (of an order star: are above the exact factor), darker for more. Lines alone do not show their sides: on a split
 * plane they run through it. */
static int shade_counts(Plot *p, const Region *u, const char *name, size_t first, size_t count,
                        const char *dir)
{
    const Plane *plane = &planes[u->plane];
    char file[80];
    SCOPED(sheet_drop) Sheet *s = NULL;
    size_t mains = count;
    int star = u->plane == PLANE_STAR;
    for (size_t i = first; i < first + count; i++) mains -= (size_t)is_embedded(u, i);
    snprintf(file, sizeof file, "%s-inside.csv", name);
    TRY(sheet_new(plane->inside, &s));
    for (size_t k = 0; k < u->points * u->points; k++) {
        InsideRow row = {u->origin[0] + u->step[0] * (double)(k % u->points),
                         u->origin[1] + u->step[1] * (double)(k / u->points), 0, mains};
        for (size_t i = first; i < first + count; i++)
            row.stable += !is_embedded(u, i) && (scheme_values(u, i)[k] <= level) != star;
        sheet_row(s, &row);
    }
    TRY(output_sheet(s, SHEET_CSV, dir, file));
    plot_setting(p,
                 "set palette defined (0 '#ffffff', 1 '#b8b8b8')\nset cbrange [0:%zu]\n"
                 "unset colorbox",
                 mains);
    plot_note(p, star ? "the darker, the more of these schemes have |R(z)| above |exp(z)|"
                      : "the darker, the more of these schemes are stable (|R| ≤ 1)");
    plot_item(p, file, "using %d:%d:%d with image notitle",
              sheet_column(plane->inside, plane->column[0]),
              sheet_column(plane->inside, plane->column[1]), sheet_column(plane->inside, "stable"));
    add_axes(p, u, file);
    return 0;
}

typedef struct {
    const char *scheme, *kind;
    double re, im;
} RootRow;

const Column region_roots[] = {COLUMN(RootRow, scheme),
                               COLUMN(RootRow, kind, .words = "zero or pole of R"),
                               COLUMN(RootRow, re),
                               COLUMN(RootRow, im),
                               {0}};

static const char star_roots[] = "order-star-roots.csv";

/* Writes the zeros and poles of every R as DIR/FILE; *kinds gets bit 0 where there is a zero, bit 1 where there is a pole. */
static int write_roots(const Region *u, const char *dir, const char *file, int *kinds)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    TRY(sheet_new(region_roots, &s));
    for (size_t i = 0; i < u->count; i++) {
        SCOPED(stability_function_free) StabilityFunction r = {.p = -1};
        TRY(stability_function(u->table[i], &r));
        for (int k = 0; k < r.p; k++)
            sheet_row(s, &(RootRow){u->table[i]->name, "zero", r.zero[2 * k], r.zero[2 * k + 1]});
        for (int k = 0; r.p >= 0 && k < r.q; k++)
            sheet_row(s, &(RootRow){u->table[i]->name, "pole", r.pole[2 * k], r.pole[2 * k + 1]});
        *kinds |= (r.p > 0) | (r.p >= 0 && r.q > 0) << 1;
    }
    return output_sheet(s, SHEET_CSV, dir, file);
}

/* Marks zeros by rings and poles by crosses, over the lines. */
static void add_roots(Plot *p, const char *file, int kinds)
{
    static const char *const kind[] = {"zero", "pole"};
    int is = sheet_column(region_roots, "kind"), x = sheet_column(region_roots, "re"),
        y = sheet_column(region_roots, "im");
    for (int k = 0; k < 2; k++) {
        if (!(kinds >> k & 1)) continue;
        plot_item(
            p, file,
            "using (strcol(%d) eq %s ? $%d : NaN):%d with points lc rgb '#000000' pt %d ps 1.2 lw 2",
            is, kind[k], x, y, k ? 2 : 6);
        plot_more(p, "title %s noenhanced", k ? "poles of R" : "zeros of R");
    }
}

static void set_frame(Plot *p, const Region *u)
{
    double x = u->step[0] * (double)(u->points - 1), y = u->step[1] * (double)(u->points - 1);
    plot_setting(p, "set xrange [%.9g:%.9g]\nset xtics %.9g", u->origin[0], u->origin[0] + x,
                 plot_step(x, 6));
    plot_setting(p, "set yrange [%.9g:%.9g]\nset ytics %.9g", u->origin[1], u->origin[1] + y,
                 plot_step(y, 6));
}

/* Draws schemes first .. last - 1 of PLOT_SCHEMES and their embedded methods, as NAME, NAME-2, ... */
static int draw(const Region *u, const Lines *l, size_t number, size_t first, size_t last,
                int kinds, const char *dir)
{
    const Plane *plane = &planes[u->plane];
    char name[64];
    snprintf(name, sizeof name, "%s", plane->name);
    if (number > 1) snprintf(name, sizeof name, "%s-%zu", plane->name, number);
    PlotFrame frame = {name, plane->title, plane->x, plane->y, PLOT_EQUAL};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    set_frame(p, u);
    int code = 0, dashed = 0;
    for (size_t i = first; i < last; i++) dashed |= is_embedded(u, i);
    if (u->count == 1 || (u->count == 2 && dashed)) {
        shade_modulus(p, u);
        plot_aside(p, 6);
    } else {
        code = shade_counts(p, u, name, first, last - first, dir);
    }
    for (size_t i = first, look = 0; code == 0 && i < last; i++) {
        size_t style = is_embedded(u, i) ? plot_again(look - 1, PLOT_SCHEMES, 1) : look++;
        add_lines(p, u, &l[i], plane->contours, i, style);
    }
    if (u->plane == PLANE_STAR) add_roots(p, star_roots, kinds);
    return plot_end(p, code);
}

int region_save(const Region *u, const char *dir)
{
    char name[64];
    Output o;
    snprintf(name, sizeof name, "%s.csv", planes[u->plane].name);
    TRY(output_open(&o));
    TRY(output_put(&o, region_write(u, o.f), dir, name));
    SCOPED(memory_drop) Lines *l = memory_new(u->count, sizeof *l);
    if (!l) return ERR_MEMORY;
    TRY(write_lines(u, l, dir, planes[u->plane].contours));
    int kinds = 0;
    if (u->plane == PLANE_STAR) TRY(write_roots(u, dir, star_roots, &kinds));
    for (size_t first = 0, last = 0, number = 1; first < u->count; first = last) {
        for (size_t mains = 0; last < u->count && (mains < PLOT_SCHEMES || is_embedded(u, last));)
            mains += !is_embedded(u, last++);
        TRY(draw(u, l, number++, first, last, kinds, dir));
    }
    return 0;
}
