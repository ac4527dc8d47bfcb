/* cpu_norm.h: norms of rows (kernels/backend.h), forward and backward. Part of cpu.c.
 *
 *     xh = (x - mean) rstd,  y = xh w + b
 *     dxh = dy w,  dx += rstd (dxh - mean(dxh) - xh mean(dxh xh)),  dw += sum dy xh,  db += sum dy
 *
 * NORM_RMS subtracts no mean, so that mean and mean(dxh) are 0 there.
 */
#ifndef TROTTER_CPU_NORM_H
#define TROTTER_CPU_NORM_H

#include "kernels/cpu/cpu_linear.h"

static void norm_row(size_t D, NormKind kind, const real *x, const real *w, const real *b, real *y,
                     real stats[2])
{
    real sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < D; i++) sum += x[i];
    real mean = kind.kind == NORM_LAYER ? sum / (real)D : 0;
#pragma omp simd reduction(+ : square)
    for (size_t i = 0; i < D; i++) square += (x[i] - mean) * (x[i] - mean);
    real rstd = 1 / SQRT(square / (real)D + (real)kind.eps);
    if (b) {
#pragma omp simd
        for (size_t i = 0; i < D; i++) y[i] = (x[i] - mean) * rstd * w[i] + b[i];
    } else {
#pragma omp simd
        for (size_t i = 0; i < D; i++) y[i] = (x[i] - mean) * rstd * w[i];
    }
    stats[0] = mean, stats[1] = rstd;
}

static void cpu_norm(size_t N, size_t D, NormKind kind, const void *x, const void *w, const void *b,
                     void *y, void *stats)
{
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++)
        norm_row(D, kind, (const real *)x + r * D, w, b, (real *)y + r * D, (real *)stats + 2 * r);
}

static void norm_row_back(size_t D, NormKind kind, const real *x, const real *w,
                          const real stats[2], const real *dy, real *dx)
{
    real mean = stats[0], rstd = stats[1], s = 0, sx = 0;
#pragma omp simd reduction(+ : s, sx)
    for (size_t i = 0; i < D; i++) {
        real d = dy[i] * w[i];
        s += d;
        sx += d * (x[i] - mean);
    }
    s = kind.kind == NORM_LAYER ? s / (real)D : 0, sx *= rstd * rstd / (real)D;
#pragma omp simd
    for (size_t i = 0; i < D; i++) dx[i] += rstd * (dy[i] * w[i] - s - (x[i] - mean) * sx);
}

/* Adds to dw, db (n) the sums of rows `rows` and columns c .. c + n - 1. */
static void norm_sums(Range rows, size_t D, size_t c, size_t n, const real *x, const real *stats,
                      const real *dy, real *restrict dw, real *restrict db)
{
    for (size_t r = rows.lo; r < rows.hi; r++) {
        const real *xr = x + r * D + c, *d = dy + r * D + c;
        real mean = stats[2 * r], rstd = stats[2 * r + 1];
#pragma omp simd
        for (size_t i = 0; i < n; i++) {
            dw[i] += d[i] * (xr[i] - mean) * rstd;
            db[i] += d[i];
        }
    }
}

static void cpu_norm_back(size_t N, size_t D, NormKind kind, const void *x_, const void *w,
                          const void *stats_, const void *dy_, size_t n, const LinTerm *term,
                          void *dx, void *dw, void *db)
{
    const real *x = x_, *dy = dy_, *stats = stats_;
    if (dx) {
#pragma omp parallel for schedule(static)
        for (size_t r = 0; r < N; r++) {
            real *d = (real *)dx + r * D;
            if (term) lin_row(D, 0, D, n, term, r, d);
            norm_row_back(D, kind, x + r * D, w, stats + 2 * r, dy + r * D, d);
        }
    }
    if (!dw && !db) return;
    int panels = panels_of(N);
    for (size_t c = 0; c < D; c += SUMS) {
        size_t m = least(SUMS, D - c);
#pragma omp parallel for ordered schedule(static, 1)
        for (int t = 0; t < panels; t++) {
            real sw[SUMS], sb[SUMS];
            memset(sw, 0, m * sizeof *sw);
            memset(sb, 0, m * sizeof *sb);
            norm_sums(range_of(N, t, panels), D, c, m, x, stats, dy, sw, sb);
#pragma omp ordered
            {
                if (dw) add_scaled(m, 1, sw, (real *)dw + c);
                if (db) add_scaled(m, 1, sb, (real *)db + c);
            }
        }
    }
}

#endif
