/* cpu_attention.h: attention of packed sequences without a (T, T) matrix in memory. Part of cpu.c.
 *
 * A work item is one head of one sequence. Its scores are made BLOCK x BLOCK at a time on the stack of its thread; the
 * softmax over a row goes from tile to tile with a running maximum and denominator (Milakov, Gimelshein 2018, "Online
 * normalizer calculation for softmax", algorithm 3; Dao et al. 2022, FlashAttention, algorithm 1). A tile's products
 * are made on the strided windows of q, k and v, STRIP rows at a time, and only over the columns that these rows may
 * see.
 *
 * Backward. With S_ij the scaled scores, P_ij = exp(S_ij - lse_i), m_ij the dropout factor (0 or
 * 1/(1-p)), A = m P and out_i = sum_j A_ij v_j:
 *     dv_j  = sum_i A_ij dout_i
 *     g_ij  = dout_i . v_j,  dP_ij = m_ij g_ij
 *     dS_ij = P_ij (dP_ij - sum_k P_ik dP_ik)
 * and sum_k P_ik m_ik g_ik = dout_i . sum_k A_ik v_k = dout_i . out_i =: delta_i, so one inner
 * product with the *dropped* output replaces the sum over the row. Last, with S = scale q.(k + r):
 *     dq_i = scale sum_j dS_ij (k_j + r_ij), dk_j = scale sum_i dS_ij q_i,
 *     dr_c = scale sum over (i, j) at distance c of dS_ij q_i.
 *
 * The relative term of a tile meets at most 2 BLOCK - 1 distances: B = scale q r^T is one product
 * with the rows lo .. hi of `relative`, and is spread over the tile by distance; backward gathers dS
 * by distance into W (same shape as B), and dq += scale W r, dr += scale W^T q.
 */
#ifndef TROTTER_CPU_ATTENTION_H
#define TROTTER_CPU_ATTENTION_H

#include "kernels/cpu/cpu_drop.h"
#include "kernels/cpu/cpu_product.h"
#include "kernels/cpu/cpu_tile.h"

enum { BLOCK = 64, BAND = 2 * BLOCK, STRIP = 16, CHUNK = 128, RELATIVE_MAX = 8192 };

/* One head of one sequence: T rows of q, from row `first` of the batch, and M rows of k and v, from row
 * `key`, of E numbers each. */
typedef struct {
    const Attention *a;
    size_t first, T, key, M, E, ldq, ldk, head, kv; /* kv: the head of keys and values */
    const real *q, *k, *v;
    real scale;
    struct {
        const real *x;
        size_t ld;
    } rows[8]; /* all rows that it reads or writes */
} Head;

static Head head_of(const Attention *a, size_t item)
{
    size_t s = item / a->H, h = item % a->H, E = a->D / a->H;
    size_t kv = h / attention_each(a->H, a->kv);
    const size_t *keys = a->memory ? a->memory : a->start;
    const real *q = (const real *)a->q + a->start[s] * a->ldq + h * E,
               *k = (const real *)a->k + keys[s] * a->ldk + kv * E,
               *v = (const real *)a->v + keys[s] * a->ldk + kv * E;
    return (Head){.a = a,
                  .first = a->start[s],
                  .T = a->start[s + 1] - a->start[s],
                  .key = keys[s],
                  .M = keys[s + 1] - keys[s],
                  .E = E,
                  .ldq = a->ldq,
                  .ldk = a->ldk,
                  .head = h,
                  .kv = kv,
                  .q = q,
                  .k = k,
                  .v = v,
                  .scale = (real)(1 / sqrt((double)E)),
                  .rows = {{q, a->ldq}, {k, a->ldk}, {v, a->ldk}}};
}

/* Asks memory for row i of the head that a thread does next: they lie apart, so the processor does not foresee them. */
static inline void foresee(const Head *next, size_t i)
{
    if (i >= least(next->T, next->M)) return;
    for (size_t n = 0; n < 8 && next->rows[n].x; n++)
        for (size_t e = 0; e < next->E; e += LANE)
            __builtin_prefetch(next->rows[n].x + i * next->rows[n].ld + e, 0, 2);
}

/* Returns the last key that row i sees. */
static inline size_t last_key(const Head *p, size_t i)
{
    return p->a->causal ? i : p->M - 1;
}

/* Returns the first key that row i sees, and the first column of the first tile that holds any such key of rows from i on. */
static inline size_t first_key(const Head *p, size_t i)
{
    size_t W = p->a->window;
    return W && i + 1 > W ? i + 1 - W : 0;
}

static inline size_t first_tile(const Head *p, size_t i)
{
    return first_key(p, i) / BLOCK * BLOCK;
}

/* A tile: rows i0 .. i0+m-1, columns j0 .. j0+n-1; row i0 sees up to `last`, i0+1 to last+1, ... */
typedef struct {
    size_t i0, m, j0, n, last;
    size_t lo, bands; /* it meets rows lo .. lo+bands-1 of `relative` */
} Tile;

static inline size_t relative_row(const Attention *a, size_t i, size_t j)
{
    return j > i ? a->clip + least(j - i, a->clip) : a->clip - least(i - j, a->clip);
}

static Tile tile_of(const Head *p, size_t i0, size_t j0)
{
    Tile t = {.i0 = i0, .m = least(BLOCK, p->T - i0), .j0 = j0, .n = least(BLOCK, p->M - j0)};
    t.last = last_key(p, i0);
    t.lo = relative_row(p->a, i0 + t.m - 1, j0);
    t.bands = relative_row(p->a, i0, least(t.last, j0 + t.n - 1)) - t.lo + 1;
    return t;
}

/* Returns how many columns of the tile row i may see. */
static inline size_t seen(const Tile *t, size_t i)
{
    return least(t->n, t->last + i + 1 - t->j0);
}

/* Return the rows of the strip that begins at row i, and the columns that its last row may see. */
static inline size_t strip_rows(const Tile *t, size_t i)
{
    return least(STRIP, t->m - i);
}

static inline size_t strip_seen(const Tile *t, size_t i)
{
    return seen(t, i + strip_rows(t, i) - 1);
}

/* Returns the first row of the tile that sees column j. */
static inline size_t first_row(const Tile *t, size_t j)
{
    return t->j0 + j > t->last ? t->j0 + j - t->last : 0;
}

/* Computes S (m, n), row stride BLOCK, out: c X Y^T for X (m, E) and Y (n, E). Entries that a row may not see are
 * meaningless. Y is turned CHUNK of its columns at a time. */
static void products_of_rows(const Tile *t, size_t E, real c, const real *X, size_t ldx,
                             const real *Y, size_t ldy, real *S)
{
    real turned[CHUNK * BLOCK];
    for (size_t e0 = 0; e0 < E; e0 += CHUNK) {
        size_t k = least(CHUNK, E - e0);
        turn(k, t->n, Y + e0, ldy, turned, BLOCK);
        for (size_t i = 0; i < t->m; i += STRIP) {
            size_t n = (strip_seen(t, i) + LANE - 1) / LANE * LANE;
            tile_product(strip_rows(t, i), n, k, c, (Window){X + i * ldx + e0, ldx, 1}, turned,
                         BLOCK, e0 > 0, S + i * BLOCK, BLOCK);
        }
    }
}

/* Computes Y (m, E) = (add ? Y : 0) + c S X: S as above, zero where a row may not see; X (n, E). */
static void combine_rows(const Tile *t, size_t E, real c, const real *S, const real *X, size_t ldx,
                         int add, real *Y, size_t ldy)
{
    for (size_t i = 0; i < t->m; i += STRIP)
        tile_product(strip_rows(t, i), E, strip_seen(t, i), c, (Window){S + i * BLOCK, BLOCK, 1}, X,
                     ldx, add, Y + i * ldy, ldy);
}

/* Computes Y (n, E) = (add ? Y : 0) + c S^T X: X (m, E). */
static void combine_columns(const Tile *t, size_t E, real c, const real *S, const real *X,
                            size_t ldx, int add, real *Y, size_t ldy)
{
    for (size_t j = 0; j < t->n; j += STRIP) {
        size_t i = first_row(t, j);
        tile_product(least(STRIP, t->n - j), E, t->m - i, c, (Window){S + i * BLOCK + j, 1, BLOCK},
                     X + i * ldx, ldx, add, Y + j * ldy, ldy);
    }
}

/* The columns 0 .. end-1 of a tile that its row i may see, grouped by the rows of `relative` that they meet: those
 * before `near` all meet the tile's first row, those from `far` on its last, and those between meet one row after
 * another, from its row `row` on. */
typedef struct {
    size_t near, far, end, row;
} Bands;

static inline Bands bands_of(const Head *p, const Tile *t, size_t i)
{
    size_t own = t->i0 + i, clip = p->a->clip;
    Bands b = {.end = seen(t, i)};
    b.near = own > t->j0 + clip ? least(b.end, own - clip - t->j0) : 0;
    b.far = own + clip >= t->j0 ? least(b.end, own + clip + 1 - t->j0) : 0;
    b.row = relative_row(p->a, own, t->j0 + b.near) - t->lo;
    return b;
}

/* Adds scale q r^T to S by distance; q: the tile's first row. */
static void add_relative(const Head *p, const Tile *t, const real *q, real *S)
{
    real B[BLOCK * BAND];
    const real *relative = (const real *)p->a->relative + t->lo * p->E;
    gemm_one(0, 1, t->m, t->bands, p->E, p->scale, q, p->ldq, relative, p->E, 0, B, BAND);
    for (size_t i = 0; i < t->m; i++) {
        Bands x = bands_of(p, t, i);
        real *s = S + i * BLOCK;
        const real *b = B + i * BAND;
        for (size_t j = 0; j < x.near; j++) s[j] += b[0];
        add_scaled(x.far - x.near, 1, b + x.row, s + x.near);
        for (size_t j = x.far; j < x.end; j++) s[j] += b[t->bands - 1];
    }
}

/* Computes S (m, n), row stride BLOCK, out: scaled scores; entries that a row may not see are meaningless. */
static void scores(const Head *p, const Tile *t, real *S)
{
    const real *q = p->q + t->i0 * p->ldq;
    products_of_rows(t, p->E, p->scale, q, p->ldq, p->k + t->j0 * p->ldk, p->ldk, S);
    if (p->a->relative) add_relative(p, t, q, S);
}

/* Prepares a row of scores for strips of STRIP, without remainder: keys not seen become UNSEEN,
 * whose exponential vanishes, with dropout factor 0. A row whose window begins behind the tile has a sum of no meaning after
 * it, which the first key that it sees makes vanish, as its maximum is UNSEEN. */
#define UNSEEN (-EXP_MOST * REAL(1e30))

static size_t open_row(const Head *p, const Tile *t, size_t i, real *S, real *keep)
{
    size_t n = seen(t, i), end = (n + STRIP - 1) / STRIP * STRIP;
    uint64_t row = p->first + t->i0 + i;
    keep_fill(&p->a->drop, (row * p->a->H + p->head) * p->a->longest + t->j0, end, keep);
    size_t first = first_key(p, t->i0 + i), before = first > t->j0 ? least(first - t->j0, end) : 0;
    for (size_t j = n; j < end; j++) S[j] = UNSEEN, keep[j] = 0;
    for (size_t j = 0; j < before; j++) S[j] = UNSEEN, keep[j] = 0;
    return end;
}

static real strip_max(size_t end, const real *S, real top)
{
    real lane[STRIP];
    for (int l = 0; l < STRIP; l++) lane[l] = top;
    for (size_t j = 0; j < end; j += STRIP)
#pragma omp simd
        for (int l = 0; l < STRIP; l++)
            lane[l] = S[j + (size_t)l] > lane[l] ? S[j + (size_t)l] : lane[l];
    for (int l = 0; l < STRIP; l++) top = lane[l] > top ? lane[l] : top;
    return top;
}

/* Replaces a row of scores S by dropped exp(S - max), zero beyond, and updates *max and *sum (of the undropped).
 * Returns the factor for earlier sums. */
static real softmax_row(size_t end, const real *keep, real *S, real *max, real *sum)
{
    real top = strip_max(end, S, *max), lane[STRIP] = {0}, add = 0;
    for (size_t j = 0; j < end; j += STRIP)
#pragma omp simd
        for (int l = 0; l < STRIP; l++) {
            real e = exp_below(S[j + (size_t)l] - top);
            lane[l] += e;
            S[j + (size_t)l] = e * keep[j + (size_t)l];
        }
    for (int l = 0; l < STRIP; l++) add += lane[l];
    for (size_t j = end; j < BLOCK; j++) S[j] = 0;
    real shrink = exp_below(*max - top);
    *sum = *sum * shrink + add;
    *max = top;
    return shrink;
}

static void scale_row(size_t n, real c, real *x)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) x[i] *= c;
}

static void attend_rows(const Head *p, const Head *next, size_t i0, real *out, real *lse)
{
    size_t D = p->a->D, H = p->a->H, m = least(BLOCK, p->T - i0), begin = first_tile(p, i0);
    real S[BLOCK * BLOCK], keep[BLOCK], max[BLOCK], sum[BLOCK] = {0};
    for (size_t i = 0; i < m; i++) max[i] = UNSEEN;
    for (size_t j0 = begin; j0 <= last_key(p, i0); j0 += BLOCK) {
        Tile t = tile_of(p, i0, j0);
        scores(p, &t, S);
        for (size_t i = 0; i < m; i++) {
            size_t end = open_row(p, &t, i, S + i * BLOCK, keep);
            real shrink = softmax_row(end, keep, S + i * BLOCK, max + i, sum + i);
            if (j0 == begin) foresee(next, i0 + i);
            if (j0 > begin) scale_row(p->E, shrink, out + i * D);
        }
        combine_rows(&t, p->E, 1, S, p->v + j0 * p->ldk, p->ldk, j0 > begin, out, D);
    }
    for (size_t i = 0; i < m; i++) {
        scale_row(p->E, 1 / sum[i], out + i * D);
        lse[i * H] = max[i] + (real)log((double)sum[i]);
    }
}

static void cpu_attention(const Attention *a, void *out, void *lse)
{
    size_t items = a->S * a->H, threads = (size_t)omp_get_max_threads();
#pragma omp parallel for schedule(dynamic)
    for (size_t item = 0; item < items; item++) {
        Head p = head_of(a, item), next = head_of(a, least(item + threads, items - 1));
        for (size_t i0 = 0; i0 < p.T; i0 += BLOCK)
            attend_rows(&p, &next, i0, (real *)out + (p.first + i0) * a->D + p.head * p.E,
                        (real *)lse + (p.first + i0) * a->H + p.head);
    }
}

/* Windows for backward of a head (before head_back: of all heads): out, lse, dout and dq, dk, dv, and the places where
 * dr accumulates; more: dk and dv accumulate too. */
typedef struct {
    const real *out, *lse, *dout;
    real *dq, *dk, *dv, *drelative;
    int more;
} HeadBack;

/* Replaces P (scores in) by A = m P and G (g in) by dS; both are zero where a row may not see. */
static void tile_back(const Head *p, const Head *next, const Tile *t, const HeadBack *b,
                      const real *delta, real *P, real *G)
{
    for (size_t i = 0; i < t->m; i++) {
        if (t->j0 == first_tile(p, t->i0)) foresee(next, t->i0 + i);
        real keep[BLOCK], *s = P + i * BLOCK, *g = G + i * BLOCK;
        real lse = b->lse[(t->i0 + i) * p->a->H], d = delta[i];
        size_t end = open_row(p, t, i, s, keep);
        for (size_t j = 0; j < end; j += STRIP)
#pragma omp simd
            for (size_t l = j; l < j + STRIP; l++) {
                real e = exp_below(s[l] - lse);
                s[l] = e * keep[l];
                g[l] = e * (keep[l] * g[l] - d);
            }
        for (size_t j = end; j < BLOCK; j++) s[j] = 0;
        for (size_t j = seen(t, i); j < BLOCK; j++) g[j] = 0;
    }
}

/* Adds the relative term's share in dq and dr of one tile, from dS. */
static void relative_back(const Head *p, const Tile *t, const HeadBack *b, const real *dS)
{
    real W[BLOCK * BAND] = {0};
    for (size_t i = 0; i < t->m; i++) {
        Bands x = bands_of(p, t, i);
        real *w = W + i * BAND;
        const real *s = dS + i * BLOCK;
        for (size_t j = 0; j < x.near; j++) w[0] += s[j];
        add_scaled(x.far - x.near, 1, s + x.near, w + x.row);
        for (size_t j = x.far; j < x.end; j++) w[t->bands - 1] += s[j];
    }
    const real *relative = (const real *)p->a->relative + t->lo * p->E;
    gemm_one(0, 0, t->m, p->E, t->bands, p->scale, W, BAND, relative, p->E, 1,
             b->dq + t->i0 * p->ldq, p->ldq);
    if (b->drelative)
        gemm_one(1, 0, t->bands, p->E, t->m, p->scale, W, BAND, p->q + t->i0 * p->ldq, p->ldq, 1,
                 b->drelative + t->lo * p->E, p->E);
}

/* Goes back through rows i0 .. of a head. The first tile of rows i0 writes their dq, and the first tile of rows that
 * sees a tile of columns (causal: i0 = j0) writes its dk and dv: nothing needs to be zeroed. */
static void attend_rows_back(const Head *p, const Head *next, size_t i0, const HeadBack *b)
{
    size_t D = p->a->D, m = least(BLOCK, p->T - i0), ldk = p->ldk, E = p->E,
           begin = first_tile(p, i0);
    const real *dout = b->dout + i0 * D, *q = p->q + i0 * p->ldq;
    real P[BLOCK * BLOCK], G[BLOCK * BLOCK], delta[BLOCK], *dq = b->dq + i0 * p->ldq;
    for (size_t i = 0; i < m; i++) delta[i] = dot(E, dout + i * D, b->out + (i0 + i) * D);
    for (size_t j0 = begin; j0 <= last_key(p, i0); j0 += BLOCK) {
        Tile t = tile_of(p, i0, j0);
        int add = b->more || i0 > (p->a->causal ? j0 : 0);
        scores(p, &t, P);
        products_of_rows(&t, E, 1, dout, D, p->v + j0 * ldk, ldk, G);
        tile_back(p, next, &t, b, delta, P, G);
        combine_columns(&t, E, 1, P, dout, D, add, b->dv + j0 * ldk, ldk);
        combine_columns(&t, E, p->scale, G, q, p->ldq, add, b->dk + j0 * ldk, ldk);
        combine_rows(&t, E, p->scale, G, p->k + j0 * ldk, ldk, j0 > begin, dq, p->ldq);
        if (p->a->relative) relative_back(p, &t, b, G);
    }
}

static void head_back_of(const Attention *a, size_t item, const HeadBack *all, Head *p, HeadBack *b)
{
    *p = head_of(a, item);
    size_t at = p->first * a->D + p->head * p->E, q = p->first * p->ldq + p->head * p->E;
    size_t k = p->key * p->ldk + p->kv * p->E;
    *b = (HeadBack){.out = all->out + at,
                    .lse = all->lse + p->first * a->H + p->head,
                    .dout = all->dout + at,
                    .dq = all->dq + q,
                    .dk = all->dk + k,
                    .dv = all->dv + k,
                    .drelative = all->drelative,
                    .more = all->more || p->head % attention_each(a->H, a->kv) > 0};
    const real *x[] = {b->out, b->dout, b->dq, b->dk, b->dv};
    for (size_t n = 0; n < 5; n++) {
        p->rows[3 + n].x = x[n];
        p->rows[3 + n].ld = n < 2 ? a->D : n < 3 ? p->ldq : p->ldk;
    }
}

static void head_back(const Attention *a, size_t item, size_t then, const HeadBack *all)
{
    Head p, next;
    HeadBack b;
    head_back_of(a, then, all, &next, &b);
    head_back_of(a, item, all, &p, &b);
    for (size_t i0 = 0; i0 < p.T; i0 += BLOCK) attend_rows_back(&p, &next, i0, &b);
}

/* Runs backward. Threads take every `panels`-th head of keys, with the heads that read it; each sums dr of its items on its stack, and the sums are
 * added in order. If a table of relative positions is too large for that, one thread sums it. */
static void cpu_attention_back(const Attention *a, const void *out, const void *lse,
                               const void *dout, void *dq, void *dk, void *dv, int more,
                               void *drelative)
{
    size_t each = attention_each(a->H, a->kv), groups = a->S * a->H / each, E = a->D / a->H;
    size_t rows = (a->causal ? 1 : 2) * a->clip + 1, relative = drelative ? rows * E : 0;
    size_t panels = relative > RELATIVE_MAX ? 1 : (size_t)omp_get_max_threads();
#pragma omp parallel for ordered schedule(static, 1)
    for (size_t t = 0; t < panels; t++) {
        real sum[RELATIVE_MAX];
        HeadBack all = {out, lse, dout, dq, dk, dv, drelative, more};
        if (panels > 1) {
            memset(sum, 0, relative * sizeof *sum);
            all.drelative = relative ? sum : NULL;
        }
        for (size_t group = t; group < groups; group += panels)
            for (size_t h = 0; h < each; h++)
                head_back(a, group * each + h,
                          h + 1 < each ? group * each + h + 1
                                       : least(group + panels, groups - 1) * each,
                          &all);
#pragma omp ordered
        if (panels > 1) add_scaled(relative, 1, sum, drelative);
    }
}

static void cpu_rotate(size_t N, size_t H, size_t E, void *x_, size_t ld, const int32_t *position,
                       const void *table, int back)
{
    size_t half = E / 2;
    real sign = back ? -1 : 1;
#pragma omp parallel for schedule(static)
    for (size_t r = 0; r < N; r++) {
        const real *cosine = (const real *)table + (size_t)position[r] * E, *sine = cosine + half;
        for (size_t h = 0; h < H; h++) {
            real *x = (real *)x_ + r * ld + h * E, *y = x + half;
#pragma omp simd
            for (size_t e = 0; e < half; e++) {
                real a = x[e], b = y[e], s = sign * sine[e];
                x[e] = a * cosine[e] - b * s;
                y[e] = b * cosine[e] + a * s;
            }
        }
    }
}

#endif
