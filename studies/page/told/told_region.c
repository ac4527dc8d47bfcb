/* told_region.c: the boundary of |R| <= 1, or of an order star, as CSV. */
#include "studies/page/told/told.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/base/error.h"
#include "studies/base/plot/contour.h"
#include "studies/theory/region.h"

enum { POINTS = 161 };

typedef struct {
    const char *scheme;
    size_t line;
    double re, im;
    int edge; /* on the edge of what was looked at, where the region may go on */
} PointRow;

static const Column point_columns[] = {COLUMN(PointRow, scheme),
                                       COLUMN(PointRow, line),
                                       COLUMN(PointRow, re, .digits = 6),
                                       COLUMN(PointRow, im, .digits = 6),
                                       COLUMN(PointRow, edge, .form = SHEET_FLAG),
                                       {0}};

typedef struct {
    Sheet *to;
    const char *scheme;
    const Region *region;
    int places; /* of a point's numbers, behind the mark */
} Boundary;

/* Rounds to so many decimal places: where a root or an exponential is the C library's, its last digits differ. */
static double rounded(double x, int places)
{
    char text[400];
    snprintf(text, sizeof text, "%.*f", places, x);
    return strtod(text, NULL) + 0.0; /* -0 is 0 */
}

static void add_point(void *context, size_t line, double x, double y)
{
    const Boundary *b = context;
    const Region *u = b->region;
    double at[] = {x, y};
    int edge = 0;
    for (int k = 0; k < 2; k++) {
        double cells = (at[k] - u->origin[k]) / u->step[k];
        edge |= cells <= 1 || cells >= (double)u->points - 2;
    }
    sheet_row(b->to,
              &(PointRow){b->scheme, line, rounded(x, b->places), rounded(y, b->places), edge});
}

/* Makes the edge unstable, so that every line around the region is closed. */
static void close_edge(double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        v[i] = v[(n - 1) * n + i] = v[i * n] = v[i * n + n - 1] = INFINITY;
}

/* Freezes the schemes; the caller frees each, and the list. */
static int freeze(const Selection *s, Table **t)
{
    for (size_t i = 0; i < s->count; i++)
        if (!(t[i] = table_freeze(s->scheme[i]))) return ERR_MEMORY;
    return 0;
}

/* Looks around the farthest finite limit. */
static int choose_box(Region *u)
{
    double far = 0, real, imag;
    int star = u->plane == PLANE_STAR, around = star;
    for (size_t i = 0; i < u->count; i++) {
        int solves = table_solves(u->table[i]);
        TRY(stability_limits(u->table[i], &real, &imag, NULL));
        if (isfinite(real)) far = fmax(far, -real);
        if (isfinite(imag)) far = fmax(far, imag);
        if (star || solves) TRY(region_reach(u->table[i], 2, &far));
        around |= solves;
    }
    if (!(far > 0)) far = 4;
    double low[] = {-1.3 * far, -1.3 * far}, size[] = {(around ? 2.6 : 2) * far, 2.6 * far};
    for (int k = 0; k < 2; k++) {
        u->origin[k] = low[k];
        u->step[k] = size[k] / (double)(u->points - 1);
    }
    return 0;
}

static int write_lines(Table *const *t, size_t count, int plane, FILE *f)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    SCOPED(memory_drop) double *modulus = NULL;
    Region u = {.table = t, .count = count, .plane = plane, .points = POINTS};
    TRY(choose_box(&u));
    TRY(region_fill(&u));
    modulus = u.modulus;
    TRY(sheet_new(point_columns, &s));
    int places = (int)fmax(0, 6 - floor(log10(u.step[0] * POINTS)));
    for (size_t i = 0; i < count; i++) {
        Boundary b = {s, t[i]->name, &u, places};
        double *v = modulus + i * u.points * u.points;
        close_edge(v, u.points);
        TRY(contour_find(v, u.points, u.points, u.origin, u.step, 1 + 1e-9, add_point, &b));
    }
    return sheet_write(s, SHEET_CSV, f);
}

int told_region(const Selection *s, int plane, FILE *f)
{
    SCOPED(memory_drop) Table **t = memory_new(s->count, sizeof *t);
    if (!t) return ERR_MEMORY;
    int code = freeze(s, t);
    if (code == 0) code = write_lines(t, s->count, plane, f);
    for (size_t i = 0; i < s->count; i++) table_free(t[i]);
    return code;
}
