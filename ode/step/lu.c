/* lu.c: linear systems by GSL's factors of whole and banded matrices, without its error handler.
 *
 * In a banded matrix the unknowns of one coordinate at all points stand together. On a ring coordinates are taken from both
 * ends in turn, 0, N - 1, 1, N - 2, ..., so that neighbours across its seam stay near: the band of width w has width 2 w
 * then, and no corners. */
#include "ode/step/linear.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/quiet.h"

typedef struct {
    gsl_matrix_view m;
    gsl_permutation p;
} Square;

/* Small matrices are factorised in one thread: of 64 rows OpenBLAS would open a team of its threads for some microseconds of work, and
 * they wait in a loop for a millisecond after. */
static int factor(void *square)
{
    enum { MANY = 256 };
    Square *s = square;
    int sign, threads = omp_get_max_threads();
    if (s->p.size < MANY) omp_set_num_threads(1);
    int code = gsl_linalg_LU_decomp(&s->m.matrix, &s->p, &sign);
    omp_set_num_threads(threads);
    return code;
}

void lu_factor(size_t n, double *A, size_t *pivot)
{
    Square s = {gsl_matrix_view_array(A, n, n), {n, pivot}};
    if (quiet_call(factor, &s) == ERR_MEMORY) A[0] = NAN;
}

void lu_substitute(size_t n, const double *A, const size_t *pivot, double *x)
{
    quiet_begin();
    gsl_matrix_const_view m = gsl_matrix_const_view_array(A, n, n);
    gsl_vector_view v = gsl_vector_view_array(x, n);
    const gsl_permutation p = {n, (size_t *)(uintptr_t)pivot};
    if (gsl_linalg_LU_svx(&m.matrix, &p, &v.vector) != GSL_SUCCESS) x[0] = NAN;
    quiet_end();
}

double lu_scale(double rms)
{
    return rms > 0 ? fmax(rms, 0x1p-900) : 1;
}

double lu_difference(double y, double rms)
{
    return 0x1p-17 * fmax(fabs(y), lu_scale(rms));
}

/* ---- matrices of several states ---------------------------------------------------------------------- */

int factors_new(Factors *f, const Pattern *p, size_t points)
{
    size_t n = p->N * points, full = p->kind == PATTERN_FULL;
    *f = (Factors){.pattern = *p, .points = points, .reach = pattern_reach(p, points)};
    if (p->kind == PATTERN_NONE) return 0;
    f->matrix = memory_new(n * (full ? n : 3 * f->reach + 1), sizeof *f->matrix);
    f->row = memory_new(n, sizeof *f->row);
    f->pivot = memory_new(full ? n : 0, sizeof *f->pivot);
    f->places = memory_new(n, sizeof *f->places);
    return f->matrix && f->row && f->places && (f->pivot || !full) ? 0 : ERR_MEMORY;
}

void factors_free(Factors *f)
{
    memory_free_all(f->matrix, f->row, f->pivot, f->places);
    *f = (Factors){0};
}

/* Returns the unknown of coordinate i at point p. */
static size_t unknown(const Factors *f, size_t i, size_t p)
{
    size_t N = f->pattern.N, folded = i < (N + 1) / 2 ? 2 * i : 2 * (N - i) - 1;
    if (f->pattern.kind == PATTERN_FULL) return p * N + i;
    return (f->pattern.ring ? folded : i) * f->points + p;
}

/* GSL's rows are columns of a band, with `reach` places before them for what exchanges of rows fill. */
static double *entry(const Factors *f, size_t r, size_t c)
{
    if (f->pattern.kind == PATTERN_FULL) return f->matrix + r * f->pattern.N * f->points + c;
    return f->matrix + c * (3 * f->reach + 1) + 2 * f->reach + r - c;
}

void factors_clear(Factors *f, size_t d, const double *mass)
{
    size_t N = f->pattern.N, n = N * f->points, full = f->pattern.kind == PATTERN_FULL;
    memset(f->matrix, 0, n * (full ? n : 3 * f->reach + 1) * sizeof *f->matrix);
    for (size_t p = 0; p < f->points; p++)
        for (size_t i = 0; i < N; i++) {
            size_t r = unknown(f, i, p);
            if (!mass) *entry(f, r, r) = 1;
            for (size_t c = 0; mass && c < d; c++)
                if (mass[i % d * d + c] != 0)
                    *entry(f, r, unknown(f, i - i % d + c, p)) = mass[i % d * d + c];
        }
}

void factors_take(Factors *f, const double *J, size_t p, size_t q, double a)
{
    const Pattern *at = &f->pattern;
    size_t N = at->N, n = N * f->points, rows = pattern_rows(at);
    for (size_t r = 0; r < N && at->kind == PATTERN_FULL; r++)
        for (size_t c = 0; c < N; c++) f->matrix[(p * N + r) * n + q * N + c] -= a * J[r * N + c];
    for (size_t c = 0; c < N && at->kind != PATTERN_FULL; c++)
        for (size_t k = 0; k < rows; k++) {
            size_t r = pattern_row(at, c, k);
            if (r < N) *entry(f, unknown(f, r, p), unknown(f, c, q)) -= a * J[c * rows + k];
        }
}

/* A banded matrix as GSL sees it. */
typedef struct {
    gsl_matrix_view m;
    gsl_vector_uint_view pivot;
} Banded;

static Banded banded(const Factors *f)
{
    size_t n = f->pattern.N * f->points;
    return (Banded){gsl_matrix_view_array(f->matrix, n, 3 * f->reach + 1),
                    gsl_vector_uint_view_array(f->places, n)};
}

void factors_make(Factors *f)
{
    size_t n = f->pattern.N * f->points;
    if (f->pattern.kind == PATTERN_FULL) {
        lu_factor(n, f->matrix, f->pivot);
        return;
    }
    quiet_begin();
    Banded b = banded(f);
    gsl_linalg_LU_band_decomp(n, f->reach, f->reach, &b.m.matrix, &b.pivot.vector);
    quiet_end();
}

void factors_solve(const Factors *f, double *x)
{
    size_t N = f->pattern.N, n = N * f->points;
    if (f->pattern.kind == PATTERN_FULL) {
        lu_substitute(n, f->matrix, f->pivot, x);
        return;
    }
    quiet_begin();
    Banded b = banded(f);
    gsl_vector_view v = gsl_vector_view_array(f->row, n);
    for (size_t p = 0; p < f->points; p++)
        for (size_t i = 0; i < N; i++) f->row[unknown(f, i, p)] = x[p * N + i];
    int code = gsl_linalg_LU_band_svx(f->reach, f->reach, &b.m.matrix, &b.pivot.vector, &v.vector);
    for (size_t p = 0; p < f->points; p++)
        for (size_t i = 0; i < N; i++) x[p * N + i] = f->row[unknown(f, i, p)];
    if (code != GSL_SUCCESS) x[0] = NAN;
    quiet_end();
}
