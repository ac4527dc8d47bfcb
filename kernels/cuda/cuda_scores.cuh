/* cuda_scores.cuh: shared by the kernels of attention: heads, scores with relative positions and
 * their adjoint, dropout of a tile. Part of cuda.cu.
 *
 * Relative positions: the rows of `relative` that a tile meets are taken GROUP at a time. near = q r^T
 * (SIDE, GROUP) is made once while the group stays the same, which for clip < GROUP is once a row of tiles,
 * and is spread by distance. Backward gathers dS by distance into `far` of the same shape, and when the
 * group changes, dq += far r, dr += far^T q; dr into a slice of scratch that belongs to the block.
 */
#ifndef TROTTER_CUDA_SCORES_CUH
#define TROTTER_CUDA_SCORES_CUH

#include "kernels/cuda/cuda_tile.cuh"

/* Arguments of a kernel. Distances of q, k, v in memory are counted in floats. */
typedef struct {
    const size_t *start, *keys; /* first rows of queries, and of keys and values */
    const float *q, *k, *v, *relative;
    size_t ldq, ldk, H, D, longest, heads; /* heads: S H */
    size_t each;                           /* heads of queries that read one of keys and values */
    size_t lanes;                          /* heads that have separate blocks */
    int tiles;                             /* blocks of a head */
    int E, clip, rows, causal;             /* rows: those of `relative` that are read */
    int wide;                              /* rows can be read four numbers at a time */
    float scale;
    Keep keep;
} Heads;

/* One head of one sequence: T queries from row `first` of the batch, M keys from row `key`. */
typedef struct {
    size_t first, key, head, kv; /* kv: the head of keys and values */
    int T, M, causal;
    const float *q, *k, *v;
    uint64_t stream;
} OneHead;

static __device__ inline OneHead head_of(const Heads *p, size_t item)
{
    size_t s = item / p->H, head = item % p->H, first = p->start[s], key = p->keys[s];
    size_t kv = head / p->each, at = kv * (size_t)p->E;
    int T = (int)(p->start[s + 1] - first), M = (int)(p->keys[s + 1] - key);
    const float *q = p->q + first * p->ldq + head * (size_t)p->E;
    const float *k = p->k + key * p->ldk + at, *v = p->v + key * p->ldk + at;
    OneHead h = {first, key, head, kv, T, M, p->causal, q, k, v, keep_stream(&p->keep)};
    return h;
}

/* ---- visible columns ------------------------------------------------------------------------------- */

/* Returns the last column that row i sees. */
static __device__ inline int last_column(const OneHead *h, int i)
{
    return h->causal ? min(i, h->M - 1) : h->M - 1;
}

static __device__ inline int row_sees(const OneHead *h, int i, int j)
{
    return j <= last_column(h, i);
}

/* Returns the first row of tiles that sees columns j0 ... */
static __device__ inline int first_row(const OneHead *h, int j0)
{
    return h->causal ? j0 : 0;
}

/* ---- relative positions -------------------------------------------------------------------------- */

static __device__ inline int relative_row(const Heads *p, int i, int j)
{
    return p->clip + max(min(j - i, p->clip), -p->clip);
}

/* Return the first and last group of rows of `relative` that tile (i0, j0) meets. */
static __device__ inline int group_first(const Heads *p, int i0, int j0)
{
    return relative_row(p, i0 + SIDE - 1, j0) / GROUP;
}

static __device__ inline int group_last(const Heads *p, int i0, int j0)
{
    int j = j0 + SIDE - 1;
    return relative_row(p, i0, p->causal ? min(i0, j) : j) / GROUP;
}

static __device__ inline int group_rows(const Heads *p, int group)
{
    return min(GROUP, p->rows - group * GROUP);
}

/* Computes near = q r^T: two rows and four columns a thread. */
static __device__ inline void group_products(const Heads *p, const OneHead *h, const Room *m,
                                             int i0, int group)
{
    int i = (int)(threadIdx.x / 4) * 2, j = (int)(threadIdx.x % 4) * 4;
    float acc[2][4] = {{0}};
    for (int e = 0; e < p->E; e += DEPTH) {
        __syncthreads();
        stage_turned(m->a, h->q + (size_t)i0 * p->ldq, p->ldq, h->T - i0, SIDE, e, p->E, p->wide);
        stage_turned(m->b, p->relative + (size_t)group * GROUP * (size_t)p->E, (size_t)p->E,
                     group_rows(p, group), GROUP, e, p->E, 0);
        __syncthreads();
        for (int k = 0; k < min(DEPTH, p->E - e); k++) {
            float2 x = *(const float2 *)(m->a + cell(k, i));
            float4 y = *(const float4 *)(m->b + cell(k, j));
            acc[0][0] += x.x * y.x, acc[0][1] += x.x * y.y;
            acc[0][2] += x.x * y.z, acc[0][3] += x.x * y.w;
            acc[1][0] += x.y * y.x, acc[1][1] += x.y * y.y;
            acc[1][2] += x.y * y.z, acc[1][3] += x.y * y.w;
        }
    }
    for (int r = 0; r < 2; r++)
        for (int c = 0; c < 4; c++) m->near[(i + r) * PITCH + j + c] = acc[r][c];
    __syncthreads();
}

/* Adds q r^T to s by distance. *held: the group that near holds for these rows, -1 for none. */
static __device__ inline void add_relative(float (*s)[COLS], const Heads *p, const OneHead *h,
                                           const Room *m, int i0, int j0, int *held)
{
    for (int group = group_first(p, i0, j0); group <= group_last(p, i0, j0); group++) {
        if (group != *held) group_products(p, h, m, i0, group);
        *held = group;
        for (int r = 0; r < ROWS; r++)
            for (int c = 0; c < COLS; c++) {
                int i = my_row() + r;
                int row = relative_row(p, i0 + i, j0 + my_column() + c) - group * GROUP;
                if (row >= 0 && row < GROUP) s[r][c] += m->near[i * PITCH + row];
            }
    }
}

/* Computes s = q (k + r)^T of tile (i0, j0), not yet scaled; entries that a row may not see are
 * meaningless. */
static __device__ inline void scores(float (*s)[COLS], const Heads *p, const OneHead *h,
                                     const Room *m, int i0, int j0, int *held)
{
    products_of_rows(s, m, h->q + (size_t)i0 * p->ldq, p->ldq, h->T - i0,
                     h->k + (size_t)j0 * p->ldk, p->ldk, h->M - j0, p->E, p->wide);
    if (p->relative) add_relative(s, p, h, m, i0, j0, held);
}

/* ---- adjoints of the scores --------------------------------------------------------------------- */

/* Return a thread's part of a group: row i of the tile, every second row of the group. */
static __device__ inline int far_row(void)
{
    return (int)(threadIdx.x % SIDE);
}

static __device__ inline int far_column(void)
{
    return (int)(threadIdx.x / SIDE);
}

enum { FAR_STEP = TILE_THREADS / SIDE };

/* Adds dS by distance over the tile to far, the column first; beyond the clip is one distance. */
static __device__ inline void far_gather(const Heads *p, const Room *m, int i0, int j0, int group)
{
    int i = far_row(), last = i0 + i - p->clip - j0; /* the last column at the clip or before */
    for (int c = far_column(); c < group_rows(p, group); c += FAR_STEP) {
        int row = group * GROUP + c, end = last + row;
        float sum = 0;
        if (row == 2 * p->clip && !p->causal) end = SIDE - 1;
        for (int j = row ? max(last + row, 0) : 0; j <= min(end, SIDE - 1); j++)
            sum += m->tile[cell(j, i)];
        m->far[i * PITCH + c] += sum;
    }
}

/* Adds far r to dq and far^T q to dr, for one group. */
template <int KEPT>
static __device__ inline void far_spread(float (*acc)[COLS], const Heads *p, const OneHead *h,
                                         const Room *m, int i0, int group, float *slice, Rows dq)
{
    int rows = group_rows(p, group), E = p->E, left = min(SIDE, h->T - i0);
    const float *r = p->relative + (size_t)group * GROUP * (size_t)E;
    __syncthreads(); /* all have gathered into far */
    for (int e = 0; e < E; e += SIDE) {
        int j = e + my_column();
        if (!KEPT) read_rows(acc, dq.at, dq.ld, dq.rows, e, E, p->wide);
        for (int c = 0; c < rows; c++) {
            float4 x = read_four(r + (size_t)c * (size_t)E + j, E - j, 0);
            for (int k = 0; k < ROWS; k++) {
                float w = m->far[(my_row() + k) * PITCH + c];
                acc[k][0] += w * x.x, acc[k][1] += w * x.y;
                acc[k][2] += w * x.z, acc[k][3] += w * x.w;
            }
        }
        if (!KEPT) write_rows(acc, dq.at, dq.ld, dq.rows, e, E, p->wide);
    }
    for (int e = far_row(); slice && e < E; e += SIDE)
        for (int c = far_column(); c < rows; c += FAR_STEP) {
            const float *q = h->q + (size_t)i0 * p->ldq + e;
            float sum = 0;
            for (int i = 0; i < left; i++) sum += m->far[i * PITCH + c] * q[(size_t)i * p->ldq];
            slice[((size_t)group * GROUP + (size_t)c) * (size_t)E + (size_t)e] += sum;
        }
    __syncthreads(); /* far may be cleared */
}

static __device__ inline void far_clear(const Room *m)
{
    for (int c = far_column(); c < GROUP; c += FAR_STEP) m->far[far_row() * PITCH + c] = 0;
}

/* Adds tile (i0, j0)'s relative share to dq and dr. *held: the group far sums, -1: none. */
template <int KEPT>
static __device__ inline void relative_back(float (*acc)[COLS], const Heads *p, const OneHead *h,
                                            const Room *m, int i0, int j0, float *slice, Rows dq,
                                            int *held)
{
    for (int group = group_first(p, i0, j0); group <= group_last(p, i0, j0); group++) {
        if (group != *held) {
            if (*held >= 0) far_spread<KEPT>(acc, p, h, m, i0, *held, slice, dq);
            far_clear(m);
            *held = group;
        }
        far_gather(p, m, i0, j0, group);
    }
}

/* ---- dropout ------------------------------------------------------------------------------------- */

/* Returns the bits of four elements; bit c: element index + c is kept, c < 4. */
static __device__ inline uint32_t keep_bits(const Keep *k, uint64_t stream, uint64_t index)
{
    index += k->first;
    uint32_t bits = 0, shift = (uint32_t)(index % 4);
    for (uint32_t block = 0; block <= (shift > 0); block++) {
        Words w = keep_words(k, stream, index / 4 + block);
        for (uint32_t c = 0; c < 4; c++) bits |= (uint32_t)(w.v[c] > k->limit) << (4 * block + c);
    }
    return bits >> shift & 15;
}

/* Returns a tile's bits; bit COLS r + c: weight (r, c) is kept. Unseen ones are not drawn. */
static __device__ inline uint32_t keep_tile(const Heads *p, const OneHead *h, int i0, int j0)
{
    if (!p->keep.on) return 0xffffffffu;
    uint32_t kept = 0;
    for (int r = 0; r < ROWS; r++) {
        int i = i0 + my_row() + r, j = j0 + my_column();
        if (!row_sees(h, i, j)) continue;
        uint64_t at = ((h->first + (size_t)i) * p->H + h->head) * p->longest + (size_t)j;
        kept |= keep_bits(&p->keep, h->stream, at) << (COLS * r);
    }
    return kept;
}

static __device__ inline float keep_factor(const Heads *p, uint32_t kept, int r, int c)
{
    return kept >> (COLS * r + c) & 1 ? p->keep.scale : 0;
}

#endif
