/* regression.c: computes least squares within seeds (regression.h). */
#include "studies/base/statistics/regression.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_multifit.h>
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/quiet.h"

DROP(gsl_vector, gsl_vector)
DROP(gsl_matrix, gsl_matrix)
DROP(gsl_multifit_linear_workspace, gsl_multifit_linear)

/* Fills A (runs, K) and b (runs) with a row for each run, less the means of its seed. */
static void fill_rows(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                      gsl_matrix *A, gsl_vector *b)
{
    size_t row = 0;
    for (size_t j = 0; j < seeds; j++) {
        size_t first = row;
        for (size_t i = 0; i < levels; i++) {
            if (isnan(y[i * seeds + j])) continue;
            for (size_t k = 0; k < K; k++) gsl_matrix_set(A, row, k, x[i * K + k]);
            gsl_vector_set(b, row++, y[i * seeds + j]);
        }
        for (size_t k = 0, n = row - first; k <= K && n > 0; k++) {
            gsl_vector_view v =
                k < K ? gsl_matrix_subcolumn(A, k, first, n) : gsl_vector_subvector(b, first, n);
            double mean = 0;
            for (size_t r = 0; r < n; r++) mean += gsl_vector_get(&v.vector, r) / (double)n;
            gsl_vector_add_constant(&v.vector, -mean);
        }
    }
}

static void find_slope(const Regression *r, double estimate, double variance, Slope *out)
{
    *out = (Slope){estimate, NAN, NAN, NAN, NAN};
    if (r->df == 0) return;
    double df = (double)r->df, half;
    out->error = sqrt(variance);
    half = gsl_cdf_tdist_Pinv(0.975, df) * out->error;
    out->low = estimate - half;
    out->high = estimate + half;
    out->p = estimate == 0 ? 1 : 2 * gsl_cdf_tdist_Q(fabs(estimate) / out->error, df);
}

static int fit(gsl_matrix *A, gsl_vector *b, size_t K, Slope *slope, Regression *out)
{
    SCOPED(gsl_vector_drop) gsl_vector *beta = gsl_vector_alloc(K);
    SCOPED(gsl_matrix_drop) gsl_matrix *covariance = gsl_matrix_alloc(K, K);
    SCOPED(gsl_multifit_linear_drop)
    gsl_multifit_linear_workspace *w = gsl_multifit_linear_alloc(out->runs, K);
    if (!beta || !covariance || !w) return error_set(ERR_MEMORY, "out of memory");
    double square, df = (double)out->df;
    size_t rank;
    gsl_multifit_linear_tsvd(A, b, 1e-10, beta, covariance, &square, &rank, w);
    if (rank < K) return error_set(ERR_ACCURACY, "the levels do not tell %zu slopes apart", K);
    /* GSL's covariance assumes runs - K degrees of freedom; the seeds' means use some of them. */
    double share = ((double)out->runs - (double)K) / df;
    out->sd = out->df ? sqrt(square / df) : NAN;
    for (size_t k = 0; k < K; k++)
        find_slope(out, gsl_vector_get(beta, k), gsl_matrix_get(covariance, k, k) * share,
                   &slope[k]);
    return 0;
}

int regression_within(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                      Slope *slope, Regression *out)
{
    *out = (Regression){.sd = NAN};
    for (size_t j = 0; j < seeds; j++) {
        size_t before = out->runs;
        for (size_t i = 0; i < levels; i++) out->runs += isnan(y[i * seeds + j]) ? 0 : 1;
        out->seeds += out->runs > before;
    }
    if (out->runs < out->seeds + K || out->runs <= K)
        return error_set(ERR_ACCURACY, "%zu runs of %zu seeds are too few for %zu slopes",
                         out->runs, out->seeds, K);
    out->df = out->runs - out->seeds - K;
    quiet_begin();
    SCOPED(gsl_matrix_drop) gsl_matrix *A = gsl_matrix_alloc(out->runs, K);
    SCOPED(gsl_vector_drop) gsl_vector *b = gsl_vector_alloc(out->runs);
    int code = A && b ? 0 : error_set(ERR_MEMORY, "out of memory");
    if (code == 0) fill_rows(y, x, levels, seeds, K, A, b);
    if (code == 0) code = fit(A, b, K, slope, out);
    quiet_end();
    return code;
}

/* Fits y on x; sets df = 0 where the runs are too few or x does not distinguish the slopes. */
static int fit_alone(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                     Slope *slope, Regression *r)
{
    int code = regression_within(y, x, levels, seeds, K, slope, r);
    if (code != ERR_ACCURACY) return code;
    r->df = 0;
    return 0;
}

static double square(const Regression *r)
{
    return r->sd * r->sd * (double)r->df;
}

int regression_lack(const double *y, const double *x, size_t levels, size_t seeds, size_t K,
                    double *p)
{
    *p = NAN;
    if (levels <= K + 1) return 0;
    Regression line, means;
    size_t each = levels - 1; /* a column for each level but the first */
    SCOPED(memory_drop) double *is = memory_new(levels * each, sizeof *is);
    SCOPED(memory_drop) Slope *slope = memory_new(levels, sizeof *slope);
    if (!is || !slope) return ERR_MEMORY;
    for (size_t i = 1; i < levels; i++) is[i * each + i - 1] = 1;
    TRY(fit_alone(y, x, levels, seeds, K, slope, &line));
    TRY(fit_alone(y, is, levels, seeds, each, slope, &means));
    if (means.df > 0 && line.df > means.df) {
        double less = (double)(line.df - means.df), df = (double)means.df;
        double F = (square(&line) - square(&means)) / less / (square(&means) / df);
        *p = gsl_cdf_fdist_Q(F > 0 ? F : 0, less, df);
    }
    return 0;
}
