/* cpu_linear.h: linear combinations with learned factors, and gates. Part of cpu.c. */
#ifndef TROTTER_CPU_LINEAR_H
#define TROTTER_CPU_LINEAR_H

#include "kernels/cpu/cpu_math.h"

static inline real factor_at(const LinTerm *t, int f, size_t row)
{
    return ((const real *)t->factor[f].p)[row * t->factor[f].stride];
}

/* Returns c times the factors of a row, without factor `but` (-1: all). */
static real coefficient(const LinTerm *t, size_t row, int but)
{
    real c = (real)t->c;
    for (int f = 0; f < t->factors; f++)
        if (f != but) c *= factor_at(t, f, row);
    return c;
}

/* Computes y (w), columns c .. c + w - 1 of a row of the sum. */
static inline void lin_row(size_t D, size_t c, size_t w, size_t n, const LinTerm *term, size_t row,
                           real *y)
{
    memset(y, 0, w * sizeof *y);
    for (size_t i = 0; i < n; i++)
        add_scaled(w, coefficient(term + i, row, -1), (const real *)term[i].x + row * D + c, y);
}

static void cpu_lin(size_t N, size_t D, size_t n, const LinTerm *term, void *r)
{
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < N; row++) lin_row(D, 0, D, n, term, row, (real *)r + row * D);
}

/* Adds a row's share to the adjoints of x and of the factors with one number a row. */
static void lin_row_back(size_t D, const LinTerm *t, size_t row, const real *dr)
{
    if (t->dx) add_scaled(D, coefficient(t, row, -1), dr, (real *)t->dx + row * D);
    for (int f = 0; f < t->factors; f++)
        if (t->factor[f].dp && t->factor[f].stride)
            ((real *)t->factor[f].dp)[row] +=
                coefficient(t, row, f) * dot(D, (const real *)t->x + row * D, dr);
}

/* Adds the adjoint of scalar factor f of a term: sum over rows of (c, other factors) <x, dr>. */
static void lin_scalar_back(size_t N, size_t D, const LinTerm *t, int f, const real *dr)
{
    int panels = panels_of(N);
    double total = 0;
#pragma omp parallel for ordered schedule(static, 1)
    for (int p = 0; p < panels; p++) {
        Range rows = range_of(N, p, panels);
        double sum = 0;
        for (size_t r = rows.lo; r < rows.hi; r++)
            sum += (double)coefficient(t, r, f) *
                   (double)dot(D, (const real *)t->x + r * D, dr + r * D);
#pragma omp ordered
        total += sum;
    }
    *(real *)t->factor[f].dp += (real)total;
}

static void cpu_lin_back(size_t N, size_t D, size_t n, const LinTerm *term, const void *dr_)
{
    const real *dr = dr_;
#pragma omp parallel for schedule(static)
    for (size_t row = 0; row < N; row++)
        for (size_t i = 0; i < n; i++) lin_row_back(D, term + i, row, dr + row * D);
    for (size_t i = 0; i < n; i++)
        for (int f = 0; f < term[i].factors; f++)
            if (term[i].factor[f].dp && !term[i].factor[f].stride)
                lin_scalar_back(N, D, term + i, f, dr);
}

/* Computes a gate. Gates are few numbers, so the library computes the activation, in double. */
static double gate_value(int act, double z)
{
    return act == ACT_SIGMOID ? 1 / (1 + exp(-z)) : tanh(z);
}

static double gate_slope(int act, double g)
{
    return act == ACT_SIGMOID ? g * (1 - g) : 1 - g * g;
}

static void cpu_gate(size_t N, size_t D, size_t n, const void *const *x, const void *w_,
                     const void *b, int act, void *g)
{
    const real *w = w_;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++) {
        double z = (double)*(const real *)b;
        for (size_t i = 0; i < n; i++) z += (double)dot(D, w + i * D, (const real *)x[i] + r * D);
        ((real *)g)[r] = (real)gate_value(act, z);
    }
}

static inline real gate_dz(int act, const real *g, const real *dg, size_t r)
{
    return (real)((double)dg[r] * gate_slope(act, (double)g[r]));
}

/* Adds to dw (D) the sum over rows of dz x; *db += sum of dz where db is given. */
static void gate_sums(size_t N, size_t D, const real *x, int act, const real *g, const real *dg,
                      real *dw, real *db)
{
    int panels = panels_of(N);
    for (size_t c = 0; c < D; c += SUMS) {
        size_t n = least(SUMS, D - c);
#pragma omp parallel for ordered schedule(static, 1)
        for (int t = 0; t < panels; t++) {
            Range rows = range_of(N, t, panels);
            real sum[SUMS];
            memset(sum, 0, n * sizeof *sum);
            double bias = 0;
            for (size_t r = rows.lo; r < rows.hi; r++) {
                real dz = gate_dz(act, g, dg, r);
                add_scaled(n, dz, x + r * D + c, sum);
                bias += (double)dz;
            }
#pragma omp ordered
            {
                if (dw) add_scaled(n, 1, sum, dw + c);
                if (db && c == 0) *db += (real)bias;
            }
        }
    }
}

static void cpu_gate_back(size_t N, size_t D, size_t n, const void *const *x, const void *w_,
                          int act, const void *g, const void *dg, void *const *dx, void *dw,
                          void *db)
{
    const real *w = w_;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++)
        for (size_t i = 0; i < n; i++)
            if (dx && dx[i])
                add_scaled(D, gate_dz(act, g, dg, r), w + i * D, (real *)dx[i] + r * D);
    if (!dw && !db) return;
    for (size_t i = 0; i < n; i++)
        gate_sums(N, D, x[i], act, g, dg, dw ? (real *)dw + i * D : NULL, i == 0 ? db : NULL);
}

#endif
