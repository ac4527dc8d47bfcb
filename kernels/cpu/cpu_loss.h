/* cpu_loss.h: the two ends of a language model, embedding and cross-entropy. Part of cpu.c. */
#ifndef TROTTER_CPU_LOSS_H
#define TROTTER_CPU_LOSS_H

#include "kernels/cpu/cpu_drop.h"

/* Embeds a row; E NULL: zeros. */
static void embed_row(size_t D, const real *E, real scale, const real *P, const Dropout *drop,
                      uint64_t index, real *h)
{
    for (size_t c = 0; c < D; c += TILE) {
        real keep[TILE];
        size_t n = least(TILE, D - c);
        keep_fill(drop, index + c, n, keep);
        for (size_t i = 0; i < n; i++) h[c + i] = E ? scale * E[c + i] : 0;
        if (P) add_scaled(n, 1, P + c, h + c);
        for (size_t i = 0; i < n; i++) h[c + i] *= keep[i];
    }
}

static void cpu_embed(size_t N, size_t D, const int32_t *token, const int32_t *position,
                      const void *E, double scale, const void *P, Dropout drop, void *h)
{
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++)
        embed_row(D, token[r] < 0 ? NULL : (const real *)E + (size_t)token[r] * D, (real)scale,
                  P ? (const real *)P + (size_t)position[r] * D : NULL, &drop, r * D,
                  (real *)h + r * D);
}

/* Adds the rows. Thread t owns the tokens that are t modulo the number of threads, and adds its rows in the order
 * of the batch: no two threads add to one token, and the sums do not depend on the number of threads. */
static void cpu_embed_back(size_t N, size_t D, size_t V, const int32_t *token, double scale,
                           Dropout drop, const void *dh_, void *dE)
{
    const real *dh = dh_;
    size_t threads = least((size_t)omp_get_max_threads(), V);
#pragma omp parallel for schedule(static, 1)
    for (size_t t = 0; t < threads; t++)
        for (size_t r = 0; r < N; r++) {
            if (token[r] < 0 || (size_t)token[r] % threads != t) continue;
            for (size_t c = 0; c < D; c += TILE) {
                real keep[TILE], *d = (real *)dE + (size_t)token[r] * D + c;
                size_t n = least(TILE, D - c);
                keep_fill(&drop, r * D + c, n, keep);
                for (size_t i = 0; i < n; i++) d[i] += (real)scale * keep[i] * dh[r * D + c + i];
            }
        }
}

static real row_max(size_t n, const real *z)
{
    real top = z[0];
#pragma omp simd reduction(max : top)
    for (size_t i = 0; i < n; i++) top = z[i] > top ? z[i] : top;
    return top;
}

/* Returns the sum of e^(z - top); e, if given, keeps the terms. Chunks are added in double. Meanwhile memory is asked
 * for the next row. */
static double exp_sum(size_t n, const real *z, real top, real *e)
{
    double sum = 0;
    for (size_t c = 0; c < n; c += TILE) {
        size_t end = least(n, c + TILE);
        real s = 0;
        for (size_t i = c; i < end; i += 64 / sizeof *z) __builtin_prefetch(z + n + i, 0, 2);
        if (e) {
#pragma omp simd reduction(+ : s)
            for (size_t i = c; i < end; i++) {
                e[i] = exp_below(z[i] - top);
                s += e[i];
            }
        } else {
#pragma omp simd reduction(+ : s)
            for (size_t i = c; i < end; i++) s += exp_below(z[i] - top);
        }
        sum += (double)s;
    }
    return sum;
}

/* Returns the sum of z - top, in chunks as exp_sum. */
static double sum_below(size_t n, const real *z, real top)
{
    double sum = 0;
    for (size_t c = 0; c < n; c += TILE) {
        size_t end = least(n, c + TILE);
        real s = 0;
#pragma omp simd reduction(+ : s)
        for (size_t i = c; i < end; i++) s += z[i] - top;
        sum += (double)s;
    }
    return sum;
}

/* Returns sum q (z - top). */
static double label_sum(size_t V, const real *z, int32_t target, const Labels *q, real top)
{
    double sum = q->hit * ((double)z[target] - (double)top);
    if (q->all != 0) sum += q->all * sum_below(V, z, top);
    return sum;
}

/* Returns nll = Q log sum exp(z) - sum q z; dz, if given, = grad (Q softmax - q). It makes three passes over a row
 * that stays in the cache, four where all columns have labels. */
static double cross_entropy_row(size_t V, const real *z, int32_t target, const Labels *q,
                                double grad, real *dz)
{
    if (target == FILLER) {
        for (size_t i = 0; dz && i < V; i++) dz[i] = 0;
        return 0;
    }
    real top = row_max(V, z);
    double at = label_sum(V, z, target, q, top), sum = exp_sum(V, z, top, dz);
    double weight = q->all * (double)V + q->hit;
    if (dz) {
        real c = (real)(grad * weight / sum), all = (real)(grad * q->all);
#pragma omp simd
        for (size_t i = 0; i < V; i++) dz[i] = dz[i] * c - all;
        dz[target] -= (real)(grad * q->hit);
    }
    return weight * log(sum) - at;
}

static void cpu_cross_entropy(size_t N, size_t V, const void *z, const int32_t *target, Labels q,
                              const double *grad, void *dz, void *nll)
{
    double times = grad ? *grad : 0;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++)
        ((real *)nll)[r] = (real)cross_entropy_row(V, (const real *)z + r * V, target[r], &q, times,
                                                   grad ? (real *)dz + r * V : NULL);
}

static void not_finite(Step *s, uint64_t fault)
{
    if (s->fault) return;
    s->fault_step = s->step;
    s->fault = fault;
}

static void cpu_loss(size_t N, const void *nll, Step *s)
{
    double sum = 0;
    for (size_t r = 0; r < N; r++) sum += (double)((const real *)nll)[r];
    s->loss += sum;
    if (!isfinite(sum)) not_finite(s, FAULT_LOSS);
}

#endif
