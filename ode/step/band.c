/* band.c: the banded matrix of a step's implicit stages, or of a Rosenbrock method's, which GMRES (krylov.c) takes as its
 * preconditioner.
 *
 * Nothing tells which coordinates a field couples, so some are moved, one at a time: what does not see them keeps its
 * bits. Where all that changes is near, the derivative is taken as a band, and 2 width + 1 differences give all of its
 * columns. A coupling that no moved coordinate shows is missing in the matrix and left to GMRES, so the stages found
 * stay right.
 *
 * The unknowns of one coordinate at all points of a block stand together. On a ring coordinates are taken from both
 * ends in turn, 0, N - 1, 1, N - 2, ..., so that neighbours across its seam stay near: the band of width w has width 2 w
 * then, and no corners. */
#include "ode/step/linear.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/quiet.h"
#include "ode/field/system.h"

enum { WIDEST = 16, PROBES = 9 };
static const size_t most_entries = (size_t)1 << 25; /* of a matrix: 256 MiB */
static const double nudge = 0x1p-10;                /* of the probed state, in its size */

/* ---- which coordinates see each other --------------------------------------------------------------- */

static size_t gap(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Widens the band by what coordinate c changes in one operator; y, at, moved (N). Returns 0 where it is too wide. */
static int probe(Band *b, size_t c, const double *at, const double *moved)
{
    for (size_t r = 0; r < b->N; r++) {
        size_t apart = gap(r, c), around = b->N - apart;
        if (moved[r] == at[r]) continue;
        if (around < apart) b->ring = 1, apart = around;
        if (apart > b->width) b->width = apart;
    }
    return b->width <= WIDEST;
}

/* The state is a little off the initial one, where particles may stand at 0 or upon each other. */
static void find_width(Band *b, const System *s, const Eval *e, double *work)
{
    double *y = work, *at = y + b->N, *moved = at + b->N;
    double size = system_rms(b->N, s->initial, NULL), step = nudge * (size > 0 ? size : 1);
    for (size_t i = 0; i < b->N; i++) y[i] = s->initial[i] + step * (double)(i * 7 % 11) / 11;
    s->field[e->op](s, e->set, 0, y, at);
    b->probes += PROBES + 1;
    for (size_t k = 0; k < PROBES && !b->wide; k++) {
        size_t c = k * (b->N - 1) / (PROBES - 1);
        double kept = y[c];
        y[c] += step;
        s->field[e->op](s, e->set, 0, y, moved);
        y[c] = kept;
        b->wide = !probe(b, c, at, moved);
    }
}

int band_new(Band *b, const System *s, const Eval *eval, const int *which, size_t evals,
             size_t points, double *work)
{
    *b = (Band){.N = s->n * s->d, .points = points};
    for (size_t i = 0; i < evals && !b->wide; i++) find_width(b, s, &eval[which[i]], work);
    size_t n = b->N * points, off = (b->ring ? 2 : 1) * b->width;
    b->reach = (off + 1) * points - 1;
    b->wide |= 2 * b->reach >= n || most_entries / n < 3 * b->reach + 1;
    if (b->wide) return 0;
    b->J = memory_new(evals * b->N, (2 * b->width + 1) * sizeof *b->J);
    b->matrix = memory_new(n, (3 * b->reach + 1) * sizeof *b->matrix);
    b->row = memory_new(n, sizeof *b->row);
    b->pivot = memory_new(n, sizeof *b->pivot);
    return b->J && b->matrix && b->row && b->pivot ? 0 : ERR_MEMORY;
}

void band_free(Band *b)
{
    memory_free_all(b->J, b->matrix, b->row, b->pivot);
    *b = (Band){.wide = 1};
}

/* ---- derivatives --------------------------------------------------------------------------------------- */

/* Columns of one colour are `colours` apart; those left over at the end, which the ring brings near the first ones, have
 * colours of their own. */
static size_t colours(const Band *b)
{
    size_t n = 2 * b->width + 1;
    return n + b->N % n;
}

static int has_colour(const Band *b, size_t c, size_t colour)
{
    size_t n = 2 * b->width + 1, whole = b->N - b->N % n;
    return (c < whole ? c % n : n + c - whole) == colour;
}

size_t band_calls(const Band *b)
{
    return 2 * colours(b);
}

void band_derive(Band *b, size_t i, const System *s, const Eval *e, double t, const double *step,
                 double *y, double *work)
{
    size_t N = b->N, w = b->width, rows = 2 * w + 1;
    double *J = b->J + i * N * rows, *plus = work, *minus = work + N, *kept = b->row;
    memcpy(kept, y, N * sizeof *kept);
    for (size_t colour = 0; colour < colours(b); colour++) {
        for (size_t c = 0; c < N; c++) y[c] = kept[c] + (has_colour(b, c, colour) ? step[c] : 0);
        s->field[e->op](s, e->set, t, y, plus);
        for (size_t c = 0; c < N; c++) y[c] = kept[c] - (has_colour(b, c, colour) ? step[c] : 0);
        s->field[e->op](s, e->set, t, y, minus);
        for (size_t c = 0; c < N; c++)
            for (size_t k = 0; k < rows && has_colour(b, c, colour); k++) {
                size_t r = (c + k + N - w) % N;
                J[c * rows + k] = (plus[r] - minus[r]) / (2 * step[c]);
            }
    }
    memcpy(y, kept, N * sizeof *y);
}

/* ---- the matrix ------------------------------------------------------------------------------------------ */

/* Returns the unknown of coordinate i at point p. */
static size_t unknown(const Band *b, size_t i, size_t p)
{
    size_t folded = i < (b->N + 1) / 2 ? 2 * i : 2 * (b->N - i) - 1;
    return (b->ring ? folded : i) * b->points + p;
}

/* GSL's rows are columns of the matrix, with `reach` places before them for what exchanges of rows fill. */
static double *entry(Band *b, size_t r, size_t c)
{
    return b->matrix + c * (3 * b->reach + 1) + 2 * b->reach + r - c;
}

void band_clear(Band *b)
{
    size_t n = b->N * b->points;
    memset(b->matrix, 0, n * (3 * b->reach + 1) * sizeof *b->matrix);
    for (size_t i = 0; i < n; i++) *entry(b, i, i) = 1;
}

void band_take(Band *b, size_t i, size_t p, size_t q, double a)
{
    size_t N = b->N, w = b->width, rows = 2 * w + 1;
    const double *J = b->J + i * N * rows;
    for (size_t c = 0; c < N; c++)
        for (size_t k = 0; k < rows; k++) {
            if (!b->ring && (c + k < w || c + k >= N + w)) continue;
            *entry(b, unknown(b, (c + k + N - w) % N, p), unknown(b, c, q)) -= a * J[c * rows + k];
        }
}

static gsl_matrix_view matrix(Band *b)
{
    return gsl_matrix_view_array(b->matrix, b->N * b->points, 3 * b->reach + 1);
}

static gsl_vector_uint_view pivots(Band *b)
{
    return gsl_vector_uint_view_array(b->pivot, b->N * b->points);
}

void band_factor(Band *b)
{
    quiet_begin();
    gsl_matrix_view m = matrix(b);
    gsl_vector_uint_view p = pivots(b);
    gsl_linalg_LU_band_decomp(b->N * b->points, b->reach, b->reach, &m.matrix, &p.vector);
    quiet_end();
}

void band_solve(Band *b, double *x)
{
    quiet_begin();
    gsl_matrix_view m = matrix(b);
    gsl_vector_uint_view pivot = pivots(b);
    gsl_vector_view v = gsl_vector_view_array(b->row, b->N * b->points);
    for (size_t p = 0; p < b->points; p++)
        for (size_t i = 0; i < b->N; i++) b->row[unknown(b, i, p)] = x[p * b->N + i];
    int code = gsl_linalg_LU_band_svx(b->reach, b->reach, &m.matrix, &pivot.vector, &v.vector);
    for (size_t p = 0; p < b->points; p++)
        for (size_t i = 0; i < b->N; i++) x[p * b->N + i] = b->row[unknown(b, i, p)];
    if (code != GSL_SUCCESS) x[0] = NAN;
    quiet_end();
}
