/* cuda_matrix.cuh: attention on tensor cores, forward, and parts that backward (cuda_matrix_back.cuh) uses too. Part of
 * cuda.cu.
 *
 * It serves heads of E <= 128 (64 where heads share keys), a multiple of 16, without relative positions, in memory that
 * can be read four numbers at a time; cuda_attention.cuh serves all others. Factors of products are rounded to bf16
 * (cuda_mma.cuh), sums and the softmax are in f32. A warp has 16 rows; a block has SIDE = 16, 32 or 64 of them, by the longest sequence of
 * the batch. A row's result does not depend on SIDE: the softmax goes KEYS columns at a time from column 0, and
 * products skip columns that no row sees in steps of 16, which would only add zeros. A word that is drawn once a pass
 * keeps or drops a weight: one lane draws four words of a block of Philox, and others of its warp read them.
 *
 * Cost at T = 64, E = 64, S = 64, H = 8 (512 heads, causal; 10 of 16 pieces of 16 x 16 are made). Forward: 2 products of
 * 2 x 64^3 x 10/16 flop, 0.66 Mflop a head, 0.34 Gflop; memory as in cuda_attention.cuh, 34 MB, 10 flop a byte. Backward:
 * 5 products, 0.84 Gflop, 67 MB and another 33 MB for delta. By its data sheet an H100 SXM has 990 Tflop/s in bf16 and
 * 3.35 TB/s, 295 flop a byte: memory bounds it (10 and 30 us), then the exponential (2.1 M forward, 16 a clock and
 * multiprocessor) and, with dropout, Philox, some 130 integer instructions for four weights.
 */
#ifndef TROTTER_CUDA_MATRIX_CUH
#define TROTTER_CUDA_MATRIX_CUH

#include "kernels/cuda/cuda_attention.cuh"
#include "kernels/cuda/cuda_mma.cuh"

static constexpr int KEYS = 32;         /* columns of a step of the softmax */
static constexpr int MATRIX_SIDE = 64;  /* rows of a tile of k and v */
static constexpr int MATRIX_MOST = 128; /* largest E */
static constexpr int SHARED_WIDTH = 64; /* largest E of heads that share keys, by registers */
#define LOG2_E 1.4426950408889634f
#define LOG_2 0.6931471805599453f

/* Numbers from one row of a tile (.., E) of bf16 to the next: rows that a warp reads together use different banks. */
template <int E> static constexpr int pitch = E + 8;

/* Most warps of a multiprocessor; registers bound them. */
template <int E> static constexpr int WARPS_MOST = E > 64 ? 8 : 12;

/* ---- tiles and fragments of memory ---------------------------------------------------------------- */

/* Return four numbers of memory, or two, as words of bf16. */
static __device__ inline uint2 four_halves(const float *x)
{
    float4 v = *(const float4 *)x;
    return make_uint2(bf16_pair(v.x, v.y), bf16_pair(v.z, v.w));
}

static __device__ inline uint32_t two_halves(const float *x)
{
    float2 v = *(const float2 *)x;
    return bf16_pair(v.x, v.y);
}

static __device__ inline uint32_t two_halves(const uint16_t *x)
{
    return *(const uint32_t *)x;
}

/* Reads `rows` rows of X (.., width) into to (room, E) in shared memory; the rest becomes 0. Of bf16 it is there behind
 * copies_wait. */
template <int E>
static __device__ inline void tile_read(uint16_t *to, const uint16_t *X, size_t ld, int rows,
                                        int room, int width)
{
    for (int x = (int)threadIdx.x; x < room * (E / 8); x += (int)blockDim.x) {
        int r = x / (E / 8), e = x % (E / 8) * 8, in = r < rows && e < width;
        copy_16(to + r * pitch<E> + e, in ? X + (size_t)r * ld + e : X, in);
    }
}

template <int E>
static __device__ inline void tile_read(uint16_t *to, const float *X, size_t ld, int rows, int room,
                                        int width)
{
    for (int x = (int)threadIdx.x; x < room * (E / 4); x += (int)blockDim.x) {
        int r = x / (E / 4), e = x % (E / 4) * 4;
        *(uint2 *)(to + r * pitch<E> + e) =
            r < rows && e < width ? four_halves(X + (size_t)r * ld + e) : make_uint2(0, 0);
    }
}

/* Reads fragment a of 16 rows of X (.., width) in memory, of which `rows` exist, along all of their depth. */
template <int E, typename T>
static __device__ inline void rows_read(uint32_t (*a)[4], const T *X, size_t ld, int rows,
                                        int width)
{
    const T *x = X + (size_t)lane_row() * ld + 2 * lane_pair();
    UNROLL for (int k = 0; k < E / STEP; k++) UNROLL for (int i = 0; i < 4; i++)
    {
        int r = i % 2 * 8, in = lane_row() + r < rows && k * STEP < width;
        a[k][i] = in ? two_halves(x + (size_t)r * ld + k * STEP + i / 2 * 8) : 0;
    }
}

/* Writes Y (.., width), 16 rows of which `rows` exist, = c d + (more ? Y : 0); c: a factor of rows g and one of rows g
 * + 8. Y of bf16 is written. */
template <int N>
static __device__ inline void rows_write(float *Y, size_t ld, int rows, int width,
                                         const float (*d)[4], const float *c, int more)
{
    UNROLL for (int n = 0; n < N; n++) UNROLL for (int r = 0; r < 2; r++)
    {
        int row = lane_row() + 8 * r, e = 8 * n + 2 * lane_pair();
        if (row >= rows || e >= width) continue;
        float2 *y = (float2 *)(Y + (size_t)row * ld + e), old = make_float2(0, 0);
        if (more) old = *y;
        *y = make_float2(old.x + c[r] * d[n][2 * r], old.y + c[r] * d[n][2 * r + 1]);
    }
}

template <int N>
static __device__ inline void rows_write(uint16_t *Y, size_t ld, int rows, int width,
                                         const float (*d)[4], const float *c, int)
{
    UNROLL for (int n = 0; n < N; n++) UNROLL for (int r = 0; r < 2; r++)
    {
        int row = lane_row() + 8 * r, e = 8 * n + 2 * lane_pair();
        if (row >= rows || e >= width) continue;
        *(uint32_t *)(Y + (size_t)row * ld + e) =
            bf16_pair(c[r] * d[n][2 * r], c[r] * d[n][2 * r + 1]);
    }
}

template <int N> static __device__ inline void zero(float (*d)[4])
{
    UNROLL for (int n = 0; n < N; n++) d[n][0] = d[n][1] = d[n][2] = d[n][3] = 0;
}

/* Returns the number of pieces of 16 that begin below n. */
static __device__ inline int steps(int n)
{
    return n > 0 ? (n + STEP - 1) / STEP : 0;
}

/* ---- dropout ------------------------------------------------------------------------------------- */

/* Bits of a lane of a piece of 16 x 16: bit 4 n + x of number x of d[n]. */
static constexpr uint32_t KEPT_ALL = 0xff;

/* Returns the bits of four weights (i, j ..), from a column j that is a multiple of 4. */
static __device__ inline uint32_t keep_four_bits(const Heads *p, const OneHead *h, int i, int j)
{
    Keep keep = p->keep;
    NOT_BEFORE(keep.seed);
    return keep_bits(&keep, h->stream,
                     ((h->first + (size_t)i) * p->H + h->head) * p->longest + (size_t)j);
}

/* Returns the bits of rows i .., columns j ..: a lane draws two times four weights of row g (t even) or g + 8, and gets
 * the others from its neighbour. */
static __device__ inline uint32_t keep_piece(const Heads *p, const OneHead *h, int i, int j)
{
    if (!p->keep.on) return KEPT_ALL;
    int odd = lane_pair() % 2, row = i + lane_row() + 8 * odd, column = j + lane_pair() / 2 * 4;
    uint32_t mine = keep_four_bits(p, h, row, column) | keep_four_bits(p, h, row, column + 8) << 4;
    uint32_t other = __shfl_xor_sync(ALL_LANES, mine, 1);
    uint32_t low = odd ? other : mine, high = odd ? mine : other;
    return (low >> 2 * odd & 0x33) | (high >> 2 * odd & 0x33) << 2;
}

/* Returns the bits of pieces in a row, in a byte each. They are drawn in turn, before anything else needs registers. */
static __device__ inline uint32_t keep_pieces(const Heads *p, const OneHead *h, int i, int j,
                                              int pieces)
{
    uint32_t kept = 0;
    if (!p->keep.on) return 0xffffffffu;
    ROLL for (int c = 0; c < pieces; c++) kept |= keep_piece(p, h, i, j + c * STEP) << 8 * c;
    return kept;
}

static __device__ inline float kept_or_0(uint32_t kept, int n, int x, float value)
{
    return kept >> (4 * n + x) & 1 ? value : 0;
}

/* ---- forward ------------------------------------------------------------------------------------- */

static __device__ inline float four_max(float x)
{
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 1));
    return fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

static __device__ inline float four_sum(float x)
{
    x += __shfl_xor_sync(ALL_LANES, x, 1);
    return x + __shfl_xor_sync(ALL_LANES, x, 2);
}

/* Registers of a warp for its 16 rows; each lane has rows g and g + 8. */
template <int E> struct Rows16 {
    uint32_t q[E / STEP][4];
    float acc[E / 8][4];
    float max[2], sum[2]; /* max: of scores in units of log 2; sum: of this lane's columns */
};

/* Computes scores of rows i .., `pieces` of columns j .., in units of log 2; -inf where unseen. */
template <int E>
static __device__ inline void piece_scores(float (*s)[4], const Heads *p, const OneHead *h,
                                           const uint32_t (*q)[4], Shared K, int i, int j,
                                           int pieces)
{
    UNROLL for (int c = 0; c < KEYS / STEP; c++)
    {
        if (c < pieces) {
            zero<2>(s + 2 * c);
            UNROLL for (int k = 0; k < E / STEP; k++)
            {
                uint32_t b[4];
                matrix_load(b, K, c * STEP * pitch<E> + k * STEP);
                multiply(s + 2 * c, q[k], b);
            }
        }
        UNROLL for (int n = 2 * c; n < 2 * c + 2; n++) UNROLL for (int x = 0; x < 4; x++)
        {
            int row = i + lane_row() + x / 2 * 8, column = j + 8 * n + 2 * lane_pair() + x % 2;
            int sees = c < pieces && row_sees(h, row, column);
            s[n][x] = sees ? s[n][x] * (p->scale * LOG2_E) : -INFINITY;
        }
    }
}

/* Replaces scores by exp(s - max), updates max and sum, and shrinks earlier sums. */
template <int E> static __device__ inline void piece_softmax(float (*s)[4], Rows16<E> *w)
{
    UNROLL for (int r = 0; r < 2; r++)
    {
        float top = w->max[r], add = 0;
        UNROLL for (int n = 0; n < KEYS / 8; n++) top =
            fmaxf(top, fmaxf(s[n][2 * r], s[n][2 * r + 1]));
        top = four_max(top);
        UNROLL for (int n = 0; n < KEYS / 8; n++) UNROLL for (int x = 2 * r; x < 2 * r + 2; x++)
        {
            s[n][x] = exp2f(s[n][x] - top);
            add += s[n][x];
        }
        float shrink = exp2f(w->max[r] - top);
        w->sum[r] = w->sum[r] * shrink + add;
        w->max[r] = top;
        UNROLL for (int n = 0; n < E / 8; n++)
        {
            w->acc[n][2 * r] *= shrink;
            w->acc[n][2 * r + 1] *= shrink;
        }
    }
}

/* Computes rows i .. of a warp against columns j .. of a tile. */
template <int E>
static __device__ inline void attend_tile(Rows16<E> *w, const Heads *p, const OneHead *h, Shared K,
                                          Shared V, int i, int j)
{
    float s[KEYS / 8][4];
    int pieces = i < h->T ? min(steps(last_column(h, i + STEP - 1) + 1 - j), KEYS / STEP) : 0;
    if (pieces == 0) return;
    uint32_t kept = keep_pieces(p, h, i, j, pieces);
    piece_scores<E>(s, p, h, w->q, K, i, j, pieces);
    piece_softmax<E>(s, w);
    UNROLL for (int c = 0; c < KEYS / STEP; c++)
    {
        if (c >= pieces) continue;
        uint32_t a[4], b[4];
        UNROLL for (int n = 0; n < 2; n++) UNROLL for (int x = 0; x < 4; x++) s[2 * c + n][x] =
            kept_or_0(kept >> 8 * c, n, x, s[2 * c + n][x]);
        a_of(a, s + 2 * c);
        UNROLL for (int e = 0; e < E / STEP; e++)
        {
            matrix_load_turned(b, V, c * STEP * pitch<E> + e * STEP);
            multiply(w->acc + 2 * e, a, b);
        }
    }
}

/* Computes rows i0 .. of a head; room: rows of a tile of K and of V in shared memory. */
template <int E, int WARPS, class T>
static __device__ inline void attend_matrix_rows(const Heads *p, const OneHead *h, uint16_t *K,
                                                 int room, int i0, T *out, float *lse)
{
    int i = i0 + warp_of() * STEP, last = last_column(h, min(i0 + WARPS * STEP, h->T) - 1);
    uint16_t *V = K + room * pitch<E>;
    Rows16<E> w;
    rows_read<E>(w.q, q_of<T>(p, h, i), p->ldq, h->T - i, p->E);
    zero<E / 8>(w.acc);
    w.max[0] = w.max[1] = -FLT_MAX; /* a row may see nothing of a tile */
    w.sum[0] = w.sum[1] = 0;
    for (int j0 = 0; j0 <= last; j0 += MATRIX_SIDE) {
        int rows = h->M - j0, fill = min(room, steps(rows) * STEP);
        __syncthreads(); /* the tiles may still be read */
        tile_read<E>(K, key_of<T>(p, h, p->k, j0), p->ldk, rows, fill, p->E);
        tile_read<E>(V, key_of<T>(p, h, p->v, j0), p->ldk, rows, fill, p->E);
        copies_wait();
        __syncthreads();
        ROLL for (int j = 0; j < fill; j += KEYS)
            attend_tile<E>(&w, p, h, along(K + j * pitch<E>, pitch<E>),
                           down(V + j * pitch<E>, pitch<E>), i, j0 + j);
    }
    float c[2];
    UNROLL for (int r = 0; r < 2; r++)
    {
        float sum = four_sum(w.sum[r]);
        int row = i + lane_row() + 8 * r;
        c[r] = p->keep.scale / sum;
        if (lane_pair() == 0 && row < h->T)
            lse[(h->first + (size_t)row) * p->H + h->head] = (w.max[r] + log2f(sum)) * LOG_2;
    }
    rows_write<E / 8>(out + (h->first + (size_t)i) * p->D + h->head * (size_t)p->E, p->D, h->T - i,
                      p->E, w.acc, c, 0);
}

/* Runs over all heads, the longest rows first. */
template <int E, int WARPS, class T>
static __global__ void __launch_bounds__(WARPS *WARP, WARPS_MOST<E> / WARPS)
    attend_matrix(Heads p, int room, T *out, float *lse)
{
    CUDA_BEGIN();
    CUDA_DYNAMIC(float4, attention_shared);
    int tile = p.tiles - 1 - (int)(blockIdx.x / p.lanes);
    for (size_t item = blockIdx.x % p.lanes; item < p.heads; item += p.lanes) {
        OneHead h = head_of(&p, item);
        for (int i0 = tile * WARPS * STEP; i0 < h.T; i0 += p.tiles * WARPS * STEP)
            attend_matrix_rows<E, WARPS>(&p, &h, (uint16_t *)attention_shared, room, i0, out, lse);
    }
}

/* ---- the host's side ----------------------------------------------------------------------------- */

static int cuda_attends_factors(size_t H, size_t E, size_t kv)
{
    return E % STEP == 0 && E <= MATRIX_MOST && (attention_each(H, kv) == 1 || E <= SHARED_WIDTH);
}

static int matrix_serves(const Attention *a, const Heads *p)
{
    return cuda_attends_factors(a->H, (size_t)p->E, a->kv) && p->wide && !a->relative;
}

/* Returns the warps of a block, for 16, 32 or 64 rows. */
static int warps_for(size_t length)
{
    return length <= STEP ? 1 : length <= 2 * STEP ? 2 : 4;
}

template <int E, int WARPS> static void attend_matrix_by(const Attention *a, void *out, void *lse)
{
    Heads p = heads_of(a, BLOCKS_MOST, attention_rows(a), WARPS * STEP);
    size_t room = least(blocks_for(attention_keys(a), STEP) * STEP, MATRIX_SIDE);
    size_t bytes = 2 * room * (size_t)pitch<E> * sizeof(uint16_t);
    if (is_factor(out))
        RUN((attend_matrix<E, WARPS, uint16_t>), blocks_of(&p), WARPS * WARP, bytes, p, (int)room,
            (uint16_t *)out, (float *)lse);
    else
        RUN((attend_matrix<E, WARPS, float>), blocks_of(&p), WARPS * WARP, bytes, p, (int)room,
            (float *)out, (float *)lse);
}

template <int E> static void attend_matrix_of(const Attention *a, void *out, void *lse)
{
    int warps = warps_for(attention_rows(a));
    if (warps == 1) attend_matrix_by<E, 1>(a, out, lse);
    if (warps == 2) attend_matrix_by<E, 2>(a, out, lse);
    if (warps == 4) attend_matrix_by<E, 4>(a, out, lse);
}

/* Tells whether k and v, of `wide` columns each, are columns of the matrix that q is in, where they share one: q's row stride
 * and allocation. A step over elements of another size leaves the row; then the call fails. */
static int columns_fit(const void *q, const void *k, const void *v, size_t ld, size_t wide,
                       const char *where)
{
    const void *x[] = {k, v};
    const Allocation *a = allocation_of(q);
    size_t each = is_factor(q) ? sizeof(uint16_t) : sizeof(float);
    for (int i = 0; i < 2; i++) {
        size_t at = (size_t)((const char *)x[i] - (const char *)q) / each;
        if (allocation_of(x[i]) != a || at + wide <= ld) continue;
        cuda_check(cudaErrorInvalidValue, where);
        return 0;
    }
    return 1;
}

/* Tells whether q, k, v (or their adjoints) are memory that attention takes. */
static int attention_takes(const Attention *a, const void *q, const void *k, const void *v,
                           const void *out, CALLER)
{
    size_t wide = a->D / attention_each(a->H, a->kv);
    return same_form(where, q, k, v, out) &&
           (a->memory || a->ldq != a->ldk || columns_fit(q, k, v, a->ldq, wide, where));
}

static void cuda_attention_matrix(const Attention *a, void *out, void *lse)
{
    if (!NUMBERS(lse, a->relative) || !attention_takes(a, a->q, a->k, a->v, out)) return;
    Heads p = heads_of(a, BLOCKS_MOST, attention_rows(a), SIDE);
    if (!matrix_serves(a, &p) || !aligned(out))
        cuda_attention(a, out, lse);
    else if (p.E <= 32)
        attend_matrix_of<32>(a, out, lse);
    else if (p.E <= 64)
        attend_matrix_of<64>(a, out, lse);
    else
        attend_matrix_of<128>(a, out, lse);
}

#endif
