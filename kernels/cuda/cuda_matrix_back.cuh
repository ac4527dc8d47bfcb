/* cuda_matrix_back.cuh: attention on tensor cores, backward. Part of cuda.cu. cuda_matrix.cuh says when it serves.
 *
 * It works like cuda_attention.cuh: first delta_i = dout_i . out_i, left in dq_i's first number. Then a block takes a
 * tile of columns, each warp 16 of them, walks down the rows of all heads that read them, 16 at a time, and sums dk and dv
 * in registers. Its scores
 * are turned, S^T = K Q^T, so that P^T and dS^T can be left factors directly. Then a block takes a tile of rows and
 * sums dq; where one tile holds all keys (ALONE) one kernel does all, dq from dS that its warps leave in shared memory. Sums go over the same pieces of 16 in the same order either way. Between the two kernels the words of dropout
 * stay in scratch memory, a bit a weight, so that they are drawn once (KEPT_BYTES_MOST: beyond it, twice).
 */
#ifndef TROTTER_CUDA_MATRIX_BACK_CUH
#define TROTTER_CUDA_MATRIX_BACK_CUH

#include "kernels/cuda/cuda_matrix.cuh"

/* Warps of a block. Its shared memory has K, V, q and dout, and dS of ALONE: below 48 KiB. */
template <int E> static constexpr int BACK_WARPS = E > 64 ? 2 : 4;

static constexpr size_t KEPT_BYTES_MOST = (size_t)256 << 20;

/* Rounds dout. out was made of rounded v; with dout rounded too, delta is the mean of the numbers that dP is made of,
 * and a part that is equal for all keys leaves nothing in dS. */
struct Rounded {
    static __device__ float of(float x)
    {
        return __uint_as_float(bf16_pair(0, x));
    }
};

/* A block's shared memory. */
template <int E> struct BackRoom {
    uint16_t *K, *V, *Q, *G,
        *S;             /* (side, E), one behind the other; G: dout; S (side, side): dS^T */
    float *lse, *delta; /* (side); lse in units of log 2 */
    int side;
};

template <int E> static __device__ inline BackRoom<E> back_room(void *shared, int warps)
{
    int side = warps * STEP, tile = side * pitch<E>;
    float *lse = (float *)shared;
    uint16_t *K = (uint16_t *)(lse + 2 * side);
    return BackRoom<E>{K,   K + tile,   K + 2 * tile, K + 3 * tile, K + 4 * tile,
                       lse, lse + side, side};
}

template <int E> static size_t back_bytes(int warps, int alone)
{
    size_t side = (size_t)warps * STEP;
    return 2 * side * sizeof(float) +
           (4 * side * (size_t)pitch<E> + (alone ? side * (side + 8) : 0)) * sizeof(uint16_t);
}

/* ---- dropout ------------------------------------------------------------------------------------- */

/* Draws the words of a piece of 16 keys by 16 queries, whose rows lie down the columns: lane (g, t) draws four keys
 * from 4 (g / 2) of queries 2 t + g % 2 and 8 more, a nibble each. */
static __device__ inline uint32_t draw_turned(const Heads *p, const OneHead *h, int i, int j)
{
    int g = lane_row(), query = i + 2 * lane_pair() + g % 2, key = j + g / 2 * 4;
    return keep_four_bits(p, h, query, key) | keep_four_bits(p, h, query + 8, key) << 4;
}

/* Returns a lane's bits: bit 4 n + 2 r + c is key g + 8 r, query 8 n + 2 t + c. */
static __device__ inline uint32_t keep_turned(uint32_t drawn)
{
    uint32_t kept = 0;
    UNROLL for (int r = 0; r < 2; r++) UNROLL for (int c = 0; c < 2; c++)
    {
        int from = ((lane_row() + 8 * r) / 4 * 2 + c) * 4 + lane_pair();
        uint32_t word = __shfl_sync(ALL_LANES, drawn, from);
        kept |= (word >> lane_row() % 4 & 0x11) << (2 * r + c);
    }
    return kept;
}

/* Words that wait between two kernels: a byte of each lane. */
typedef struct {
    uint8_t *at; /* (heads, columns, rows, WARP): pieces of 16; NULL: they are drawn again */
    size_t columns, rows;
} Kept;

static __device__ inline uint8_t *kept_at(const Kept *k, size_t item, int i, int j)
{
    size_t piece = (item * k->columns + (size_t)j / STEP) * k->rows + (size_t)i / STEP;
    return k->at + piece * WARP;
}

/* Returns the bits as keep_piece does, from the words that draw_turned drew. */
static __device__ inline uint32_t keep_stored(const uint8_t *words)
{
    uint32_t kept = 0;
    int g = lane_row(), odd = lane_pair() % 2;
    UNROLL for (int n = 0; n < 2; n++)
    {
        uint32_t word = words[((2 * n + lane_pair() / 2) * 2 + g % 2) * 4 + g / 2];
        word = word >> 2 * odd & 0x33;
        kept |= ((word & 3) | (word >> 2 & 12)) << 4 * n;
    }
    return kept;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

/* Left factors of a warp's 16 rows of K or of V: in registers while they fit, else read when they are needed. */
template <int E> struct Left {
    uint32_t a[E <= 64 ? E / STEP : 1][4];
};

/* Returns the address of a warp's rows of K; those of V lie `side` rows behind. */
template <int E> static __device__ inline Shared left_at(const BackRoom<E> *m)
{
    return down(m->K + warp_of() * STEP * pitch<E>, pitch<E>);
}

template <int E> static __device__ inline void left_begin(Left<E> *f, Shared at, int row)
{
    UNROLL for (int k = 0; E <= 64 && k < E / STEP; k++)
        matrix_load(f->a[k], at, row * pitch<E> + k * STEP);
}

/* Computes d = L R^T: 16 rows of `right` (.., E) from row i; L from row `row` of `at`. */
template <int E>
static __device__ inline void piece_product(float (*d)[4], Left<E> *left, Shared at, int row,
                                            Shared right, int i)
{
    zero<2>(d);
    UNROLL for (int k = 0; k < E / STEP; k++)
    {
        uint32_t b[4], *a = left->a[E <= 64 ? k : 0];
        if (E > 64) matrix_load(a, at, row * pitch<E> + k * STEP);
        matrix_load(b, right, i * pitch<E> + k * STEP);
        multiply(d, a, b);
    }
}

/* Adds a X to acc (16, E), X: 16 rows (.., E) from row i. */
template <int E>
static __device__ inline void piece_add(float (*acc)[4], const uint32_t *a, Shared X, int i)
{
    UNROLL for (int e = 0; e < E / STEP; e++)
    {
        uint32_t b[4];
        matrix_load_turned(b, X, i * pitch<E> + e * STEP);
        multiply(acc + 2 * e, a, b);
    }
}

/* Returns P = exp(s - lse) of a score, in units of log 2. */
static __device__ inline float piece_weight(const Heads *p, int sees, float s, float lse)
{
    return sees ? exp2f(__fmaf_rn(s, p->scale * LOG2_E, -lse)) : 0;
}

/* Returns dS = P (m g - delta); the factor `scale` comes at the end. */
static __device__ inline float piece_adjoint(float P, float m, float g, float delta)
{
    return __fmul_rn(P, __fmaf_rn(m, g, -delta));
}

/* ---- columns ------------------------------------------------------------------------------------- */

/* Sums of a warp over rows, for its 16 columns. */
template <int E> struct Columns16 {
    Left<E> k, v;
    float dk[E / 8][4], dv[E / 8][4];
};

/* Goes back through rows i .. of q and dout against a warp's columns j ..; ALONE: leaves dS^T in S. */
template <int E, int ALONE>
static __device__ inline void piece_back(Columns16<E> *w, const Heads *p, const OneHead *h,
                                         const BackRoom<E> *m, int i, int r, int j, uint32_t drawn)
{
    float s[2][4], g[2][4];
    uint32_t a[4], kept = p->keep.on ? keep_turned(drawn) : KEPT_ALL;
    Shared left = left_at<E>(m), rows = along(m->K, pitch<E>), depth = down(m->K, pitch<E>);
    int q = 2 * m->side + r, dout = 3 * m->side + r; /* rows from K's first */
    piece_product<E>(s, &w->k, left, 0, rows, q);
    UNROLL for (int n = 0; n < 2; n++) UNROLL for (int x = 0; x < 4; x++)
    {
        int at = 8 * n + 2 * lane_pair() + x % 2, column = j + lane_row() + x / 2 * 8;
        int sees = row_sees(h, i + at, column) && i + at < h->T;
        s[n][x] = piece_weight(p, sees, s[n][x], m->lse[r + at]);
        g[n][x] = kept_or_0(kept, n, x, s[n][x]);
    }
    a_of(a, g);
    piece_add<E>(w->dv, a, depth, dout);
    piece_product<E>(g, &w->v, left, m->side, rows, dout);
    UNROLL for (int n = 0; n < 2; n++) UNROLL for (int x = 0; x < 4; x++)
    {
        int at = 8 * n + 2 * lane_pair() + x % 2;
        s[n][x] =
            piece_adjoint(s[n][x], kept_or_0(kept, n, x, p->keep.scale), g[n][x], m->delta[r + at]);
    }
    a_of(a, s);
    piece_add<E>(w->dk, a, depth, q);
    UNROLL for (int x = 0; ALONE && x < 4; x++)
    {
        int row = warp_of() * STEP + lane_row() + x % 2 * 8;
        *(uint32_t *)(m->S + row * (m->side + 8) + r + x / 2 * 8 + 2 * lane_pair()) = a[x];
    }
}

/* Reads a tile's q, dout, lse and delta, which it makes where ALONE. */
template <int E, int ALONE, class T>
static __device__ inline void rows_ready(const BackRoom<E> *m, const Heads *p, const HeadsBack *b,
                                         const OneHead *h, int i0)
{
    tile_read<E>(m->Q, q_of<T>(p, h, i0), p->ldq, h->T - i0, m->side, p->E);
    tile_read<E>(m->G, row_of<T>(p, h, b->dout, i0), p->D, h->T - i0, m->side, p->E);
    for (int r = (int)threadIdx.x; r < m->side; r += (int)blockDim.x) {
        int i = i0 + r, in = i < h->T;
        m->lse[r] = in ? b->lse[(h->first + (size_t)i) * p->H + h->head] * LOG2_E : 0;
        if (!ALONE) m->delta[r] = in ? *delta_at<T>(p, b, h, i) : 0;
    }
    ROLL for (int r = warp_of(); ALONE && r < m->side; r += (int)blockDim.x / WARP)
    {
        float delta = i0 + r < h->T ? delta_of<Rounded, T>(p, b, h, i0 + r) : 0;
        if (lane_of() == 0) m->delta[r] = delta;
    }
}

/* Returns 1 where some row of the 16 from i sees some column of the 16 from j. */
static __device__ inline int piece_seen(const OneHead *h, int i, int j)
{
    return i < h->T && j < h->M && (!h->causal || i + STEP > j);
}

/* Computes dq of rows i0 .. where all columns are in the tile; 32 columns of dq at a time, 16 for E = 128. */
template <int E, class T>
static __device__ inline void rows_alone(const Heads *p, const HeadsBack *b, const OneHead *h,
                                         const BackRoom<E> *m, int i0, const float *c)
{
    constexpr int N = E > 64 ? 1 : 2;
    int r = warp_of() * STEP, i = i0 + r;
    Shared S = along(m->S + r, m->side + 8), K = down(m->K, pitch<E>);
    ROLL for (int e = 0; e < E && i < h->T; e += N * STEP)
    {
        float dq[2 * N][4];
        zero<2 * N>(dq);
        ROLL for (int j = 0; j < m->side; j += STEP)
        {
            uint32_t a[4], k[4];
            if (!piece_seen(h, i, j)) continue;
            matrix_load_turned(a, S, j * (m->side + 8));
            UNROLL for (int n = 0; n < N; n++)
            {
                matrix_load_turned(k, K, j * pitch<E> + e + n * STEP);
                multiply(dq + 2 * n, a, k);
            }
        }
        rows_write<2 * N>(dq_of<T>(p, b, h, i) + e, p->ldq, h->T - i, p->E - e, dq, c, 0);
    }
}

/* Adds to dk and dv of columns j0 .. what head h of queries gives; ALONE: computes dq of all its rows too. begun: K and V
 * are there. */
template <int E, int ALONE, class T>
static __device__ inline void matrix_head_back(Columns16<E> *w, const Heads *p, const HeadsBack *b,
                                               const OneHead *h, const BackRoom<E> *m,
                                               const Kept *kept, size_t item, int j0, int begun)
{
    int j = j0 + warp_of() * STEP;
    float c[2] = {p->scale, p->scale};
    for (int i0 = first_row(h, j0); i0 < h->T; i0 += m->side) {
        __syncthreads(); /* tiles and dS may still be read */
        if (!begun) {
            tile_read<E>(m->K, key_of<T>(p, h, p->k, j0), p->ldk, h->M - j0, m->side, p->E);
            tile_read<E>(m->V, key_of<T>(p, h, p->v, j0), p->ldk, h->M - j0, m->side, p->E);
        }
        rows_ready<E, ALONE, T>(m, p, b, h, i0);
        copies_wait();
        __syncthreads();
        if (!begun) left_begin<E>(&w->k, left_at<E>(m), 0);
        if (!begun) left_begin<E>(&w->v, left_at<E>(m), m->side);
        begun = 1;
        ROLL for (int r = 0; r < m->side; r += STEP)
        {
            if (!piece_seen(h, i0 + r, j)) continue;
            uint32_t drawn = p->keep.on ? draw_turned(p, h, i0 + r, j) : 0;
            if (!ALONE && kept->at) kept_at(kept, item, i0 + r, j)[lane_of()] = (uint8_t)drawn;
            piece_back<E, ALONE>(w, p, h, m, i0 + r, r, j, drawn);
        }
        if (!ALONE) continue;
        __syncthreads(); /* dS is written */
        rows_alone<E, T>(p, b, h, m, i0, c);
    }
}

/* Computes dk and dv of columns j0 .. of head `item` of keys. */
template <int E, int ALONE, class T>
static __device__ inline void matrix_columns_back(const Heads *p, const HeadsBack *b,
                                                  const BackRoom<E> *m, const Kept *kept,
                                                  size_t item, int j0)
{
    Columns16<E> w;
    float ck[2] = {p->scale, p->scale}, cv[2] = {p->keep.scale, p->keep.scale};
    zero<E / 8>(w.dk);
    zero<E / 8>(w.dv);
    for (size_t i = 0; i < (E > SHARED_WIDTH ? 1 : p->each); i++) {
        OneHead h = head_of(p, item + i);
        matrix_head_back<E, ALONE, T>(&w, p, b, &h, m, kept, item + i, j0, i > 0);
    }
    NOT_BEFORE(item); /* else registers hold the addresses of the results throughout */
    OneHead to = head_of(p, item);
    int j = j0 + warp_of() * STEP;
    size_t at = (to.key + (size_t)j) * p->ldk + to.kv * (size_t)p->E;
    rows_write<E / 8>((T *)b->dk + at, p->ldk, to.M - j, p->E, w.dk, ck, b->more);
    rows_write<E / 8>((T *)b->dv + at, p->ldk, to.M - j, p->E, w.dv, cv, b->more);
}

/* Runs over all heads of keys, the longest columns first. `heads` counts these. */
template <int E, int WARPS, int ALONE, class T>
static __global__ void __launch_bounds__(WARPS *WARP, (E > 32 ? 8 : WARPS_MOST<E>) / WARPS)
    attend_matrix_columns(Heads p, HeadsBack b, Kept kept)
{
    CUDA_BEGIN();
    CUDA_DYNAMIC(float4, attention_shared);
    BackRoom<E> m = back_room<E>(attention_shared, WARPS);
    for (size_t item = blockIdx.x % p.lanes; item < p.heads; item += p.lanes) {
        size_t first = item * (E > SHARED_WIDTH ? 1 : p.each);
        if constexpr (ALONE) {
            matrix_columns_back<E, 1, T>(&p, &b, &m, &kept, first, 0);
        } else {
            int M = head_of(&p, first).M;
            for (int j0 = (int)(blockIdx.x / p.lanes) * m.side; j0 < M; j0 += p.tiles * m.side)
                matrix_columns_back<E, 0, T>(&p, &b, &m, &kept, first, j0);
        }
    }
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Registers of a warp for its 16 rows; each lane has rows g and g + 8. */
template <int E> struct RowsBack16 {
    uint32_t q[E / STEP][4], g[E / STEP][4];
    float dq[E / 8][4], lse[2], delta[2];
};

/* Computes d = L R^T, L in registers: 16 rows of `right` (.., E) from row i. */
template <int E>
static __device__ inline void piece_product_of(float (*d)[4], const uint32_t (*left)[4],
                                               Shared right, int i)
{
    zero<2>(d);
    UNROLL for (int k = 0; k < E / STEP; k++)
    {
        uint32_t b[4];
        matrix_load(b, right, i * pitch<E> + k * STEP);
        multiply(d, left[k], b);
    }
}

/* Goes back through rows i .. of a warp against columns j .., which are c .. of the tile. */
template <int E>
static __device__ inline void piece_rows_back(RowsBack16<E> *w, const Heads *p, const OneHead *h,
                                              const BackRoom<E> *m, int i, int c, int j,
                                              uint32_t kept)
{
    float s[2][4], g[2][4];
    uint32_t a[4];
    piece_product_of<E>(s, w->q, along(m->K, pitch<E>), c);
    piece_product_of<E>(g, w->g, along(m->V, pitch<E>), c);
    UNROLL for (int n = 0; n < 2; n++) UNROLL for (int x = 0; x < 4; x++)
    {
        int row = i + lane_row() + x / 2 * 8, column = j + 8 * n + 2 * lane_pair() + x % 2;
        int sees = row_sees(h, row, column) && row < h->T;
        s[n][x] = piece_weight(p, sees, s[n][x], w->lse[x / 2]);
        s[n][x] =
            piece_adjoint(s[n][x], kept_or_0(kept, n, x, p->keep.scale), g[n][x], w->delta[x / 2]);
    }
    a_of(a, s);
    piece_add<E>(w->dq, a, down(m->K, pitch<E>), c);
}

/* Computes dq of rows i0 .. of a head. */
template <int E, class T>
static __device__ inline void matrix_rows_back(const Heads *p, const HeadsBack *b, const OneHead *h,
                                               const BackRoom<E> *m, const Kept *kept, size_t item,
                                               int i0)
{
    RowsBack16<E> w;
    int i = i0 + warp_of() * STEP, last = last_column(h, min(i0 + m->side, h->T) - 1);
    float c[2] = {p->scale, p->scale};
    rows_read<E>(w.q, q_of<T>(p, h, i), p->ldq, h->T - i, p->E);
    rows_read<E>(w.g, row_of<T>(p, h, b->dout, i), p->D, h->T - i, p->E);
    zero<E / 8>(w.dq);
    UNROLL for (int r = 0; r < 2; r++) /* before dq is written, barriers later */
    {
        int row = i + lane_row() + 8 * r, in = row < h->T;
        w.lse[r] = in ? b->lse[(h->first + (size_t)row) * p->H + h->head] * LOG2_E : 0;
        w.delta[r] = in ? *delta_at<T>(p, b, h, row) : 0;
    }
    for (int j0 = 0; j0 <= last; j0 += m->side) {
        __syncthreads(); /* the tiles may still be read */
        tile_read<E>(m->K, key_of<T>(p, h, p->k, j0), p->ldk, h->M - j0, m->side, p->E);
        tile_read<E>(m->V, key_of<T>(p, h, p->v, j0), p->ldk, h->M - j0, m->side, p->E);
        copies_wait();
        __syncthreads();
        ROLL for (int x = 0; x < m->side; x += STEP)
        {
            int j = j0 + x;
            if (!piece_seen(h, i, j)) continue;
            uint32_t bits =
                kept->at ? keep_stored(kept_at(kept, item, i, j)) : keep_piece(p, h, i, j);
            piece_rows_back<E>(&w, p, h, m, i, x, j, bits);
        }
    }
    rows_write<E / 8>(dq_of<T>(p, b, h, i), p->ldq, h->T - i, p->E, w.dq, c, 0);
}

template <int E, class T>
static __global__ void __launch_bounds__(BACK_WARPS<E> *WARP, WARPS_MOST<E> / BACK_WARPS<E>)
    attend_matrix_rows_back(Heads p, HeadsBack b, Kept kept)
{
    CUDA_BEGIN();
    CUDA_DYNAMIC(float4, attention_shared);
    BackRoom<E> m = back_room<E>(attention_shared, BACK_WARPS<E>);
    int tile = p.tiles - 1 - (int)(blockIdx.x / p.lanes);
    for (size_t item = blockIdx.x % p.lanes; item < p.heads; item += p.lanes) {
        OneHead h = head_of(&p, item);
        for (int i0 = tile * m.side; i0 < h.T; i0 += p.tiles * m.side)
            matrix_rows_back<E, T>(&p, &b, &h, &m, &kept, item, i0);
    }
}

/* ---- the host's side ----------------------------------------------------------------------------- */

/* Runs backward where all keys of a sequence are in one tile. */
template <int E, int WARPS, class T> static void matrix_alone(const Attention *a, HeadsBack b)
{
    Heads p = by_keys(heads_of(a, BLOCKS_MOST, attention_keys(a), WARPS * STEP));
    RUN((attend_matrix_columns<E, WARPS, 1, T>), blocks_of(&p), WARPS * WARP,
        back_bytes<E>(WARPS, 1), p, b, Kept{NULL, 0, 0});
}

/* Finds room for all heads' words, a bit a weight, and for delta where dq is of bf16. Rows may be more than Tmax with
 * another's keys. */
static Kept kept_for(const Attention *a, const Heads *p, int halves, float **delta)
{
    const size_t most = (size_t)1 << 16;
    Kept k = {NULL, blocks_for(attention_keys(a), STEP), blocks_for(attention_rows(a), STEP)};
    size_t apart = halves ? p->heads * attention_rows(a) * sizeof(float) : 0;
    int keeps = p->keep.on && p->heads != 0 && !(a->memory && !a->rows) && k.columns < most &&
                k.rows < most && k.columns * k.rows <= KEPT_BYTES_MOST / WARP / p->heads;
    size_t words = keeps ? p->heads * k.columns * k.rows * WARP : 0;
    uint8_t *room = words + apart ? (uint8_t *)cuda_scratch(words + apart) : NULL;
    if (words) k.at = room;
    if (apart) *delta = (float *)(room + words);
    return k;
}

/* Runs backward over several tiles. */
template <int E, class T> static void matrix_tiles(const Attention *a, HeadsBack b)
{
    constexpr int WARPS = BACK_WARPS<E>;
    Heads p = heads_of(a, BLOCKS_MOST, attention_keys(a), WARPS * STEP);
    Heads q = heads_of(a, BLOCKS_MOST, attention_rows(a), WARPS * STEP);
    Heads rows = heads_of(a, BLOCKS_MOST, attention_rows(a), SIDE);
    Kept kept = kept_for(a, &p, sizeof(T) != sizeof(float), &b.delta);
    p = by_keys(p);
    RUN((attend_delta<Rounded, T>), blocks_of(&rows), TILE_THREADS, 0, rows, b);
    RUN((attend_matrix_columns<E, WARPS, 0, T>), blocks_of(&p), WARPS * WARP,
        back_bytes<E>(WARPS, 0), p, b, kept);
    RUN((attend_matrix_rows_back<E, T>), blocks_of(&q), WARPS * WARP, back_bytes<E>(WARPS, 0), q, b,
        kept);
}

template <int E, class T> static void matrix_back_of(const Attention *a, HeadsBack b)
{
    int warps = warps_for(attention_keys(a));
    if (attention_keys(a) > (size_t)BACK_WARPS<E> * STEP)
        matrix_tiles<E, T>(a, b);
    else if (warps == 1)
        matrix_alone<E, 1, T>(a, b);
    else if (warps == 2)
        matrix_alone<E, 2, T>(a, b);
    else
        matrix_alone<E, BACK_WARPS<E>, T>(a, b);
}

template <int E> static void matrix_back(const Attention *a, HeadsBack b)
{
    if (is_factor(b.dq))
        matrix_back_of<E, uint16_t>(a, b);
    else
        matrix_back_of<E, float>(a, b);
}

static void cuda_attention_matrix_back(const Attention *a, const void *out, const void *lse,
                                       const void *dout, void *dq, void *dk, void *dv, int more,
                                       void *drelative)
{
    if (!NUMBERS(lse, a->relative, drelative) || !attention_takes(a, a->q, a->k, a->v, out) ||
        !attention_takes(a, dq, dk, dv, dout) || !same_form(__func__, a->q, dq))
        return;
    Heads p = heads_of(a, BLOCKS_MOST, attention_rows(a), SIDE);
    HeadsBack b = back_of(out, lse, dout, dq, dk, dv, more);
    if (!matrix_serves(a, &p) || !aligned(dout) || !aligned(dq) || !aligned(dk) || !aligned(dv)) {
        cuda_attention_back(a, out, lse, dout, dq, dk, dv, more, drelative);
        return;
    }
    if (p.E <= 32)
        matrix_back<32>(a, b);
    else if (p.E <= 64)
        matrix_back<64>(a, b);
    else
        matrix_back<128>(a, b);
}

#endif
