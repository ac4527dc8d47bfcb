/* cpu_decode.h: kernels for decoding a token at a time, beside those of training: attention of single queries to listed
 * rows, and the best of a row of logits. Part of cpu.c. */
#ifndef TROTTER_CPU_DECODE_H
#define TROTTER_CPU_DECODE_H

#include "kernels/cpu/cpu_attention.h"
#include "kernels/cpu/cpu_loss.h"

/* ---- attention to listed rows ------------------------------------------------------------------- */

/* Computes head h of query n, BLOCK keys at a time, with a running maximum and denominator as in attend_rows. */
static void attend_listed(const Listed *a, size_t n, size_t h, real *out)
{
    size_t E = a->D / a->H, count = (size_t)a->count[n];
    size_t at = h / attention_each(a->H, a->kv) * E,
           before = a->window && count > a->window ? count - a->window : 0;
    const int32_t *key = a->key + n * a->ld + before;
    const real *q = (const real *)a->q + n * a->ldq + h * E, *k = a->k, *v = a->v;
    real S[BLOCK], keep[BLOCK], max = UNSEEN, sum = 0, scale = (real)(1 / sqrt((double)E));
    for (size_t j = 0; j < BLOCK; j++) keep[j] = 1;
    for (size_t e = 0; e < E; e++) out[e] = 0;
    count -= before;
    for (size_t j0 = 0; j0 < count; j0 += BLOCK) {
        size_t m = least(BLOCK, count - j0), whole = (m + STRIP - 1) / STRIP * STRIP;
        for (size_t j = 0; j < m; j++) {
            size_t x = count - 1 - j0 - j;
            real s = dot(E, q, k + (size_t)key[j0 + j] * a->ldk + at);
            if (a->relative)
                s += dot(E, q, (const real *)a->relative + (a->clip - least(x, a->clip)) * E);
            S[j] = scale * s;
        }
        for (size_t j = m; j < whole; j++) S[j] = UNSEEN;
        scale_row(E, softmax_row(whole, keep, S, &max, &sum), out);
        for (size_t j = 0; j < m; j++)
            add_scaled(E, S[j], v + (size_t)key[j0 + j] * a->ldk + at, out);
    }
    scale_row(E, 1 / sum, out);
}

static void cpu_attend(const Listed *a, void *out)
{
#pragma omp parallel for schedule(static)
    for (size_t n = 0; n < a->N; n++)
        for (size_t h = 0; h < a->H; h++)
            attend_listed(a, n, h, (real *)out + n * a->D + h * (a->D / a->H));
}

/* ---- the best of a row --------------------------------------------------------------------------- */

/* Returns 1 where column i with x comes behind column j with y. */
static inline int is_behind(real x, int32_t i, real y, int32_t j)
{
    return x < y || (x == y && i > j);
}

static inline void exchange(real *x, int32_t *index, size_t i, size_t j)
{
    real t = x[i];
    int32_t k = index[i];
    x[i] = x[j], index[i] = index[j];
    x[j] = t, index[j] = k;
}

/* Restores a heap of n, the last in order on top, after a change of its top. */
static void heap_down(size_t n, real *x, int32_t *index)
{
    for (size_t i = 0, c; (c = 2 * i + 1) < n; i = c) {
        if (c + 1 < n && is_behind(x[c + 1], index[c + 1], x[c], index[c])) c++;
        if (!is_behind(x[c], index[c], x[i], index[i])) return;
        exchange(x, index, i, c);
    }
}

static void heap_up(size_t i, real *x, int32_t *index)
{
    for (size_t up; i > 0; i = up) {
        up = (i - 1) / 2;
        if (!is_behind(x[i], index[i], x[up], index[up])) return;
        exchange(x, index, i, up);
    }
}

/* Returns 1 where one of n numbers is above low. */
static inline int any_above(size_t n, const real *z, real low)
{
    int any = 0;
#pragma omp simd reduction(| : any)
    for (size_t i = 0; i < n; i++) any |= z[i] > low;
    return any;
}

/* Finds the best of a row. The outputs are the heap: the K best columns so far. A column enters it when it is above the
 * last of them; most strips of a row have none. In the end the last of the heap moves to its end, K times. */
static void best_row(size_t V, size_t K, const real *z, int32_t *index, real *value)
{
    real top = row_max(V, z);
    double sum = exp_sum(V, z, top, NULL);
    for (size_t i = 0; i < K; i++) {
        value[i] = z[i], index[i] = (int32_t)i;
        heap_up(i, value, index);
    }
    for (size_t i0 = K; i0 < V && K; i0 += STRIP) {
        size_t end = least(V, i0 + STRIP);
        if (!any_above(end - i0, z + i0, value[0])) continue;
        for (size_t i = i0; i < end; i++) {
            if (!(z[i] > value[0])) continue;
            value[0] = z[i], index[0] = (int32_t)i;
            heap_down(K, value, index);
        }
    }
    for (size_t n = K; n-- > 1;) {
        exchange(value, index, 0, n);
        heap_down(n, value, index);
    }
    for (size_t i = 0; i < K; i++)
        value[i] = (real) - (log(sum) - ((double)value[i] - (double)top));
}

static void cpu_best(size_t N, size_t V, size_t K, const void *z, int32_t *index, void *value)
{
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++)
        best_row(V, K, (const real *)z + r * V, index + r * K, (real *)value + r * K);
}

#endif
