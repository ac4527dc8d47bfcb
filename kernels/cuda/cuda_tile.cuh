/* cuda_tile.cuh: products of SIDE x SIDE tiles by a block, for attention. Part of cuda.cu.
 *
 * A block has TILE_THREADS threads; each holds ROWS x COLS numbers of a tile in registers. A product is
 * made of two pieces of shared memory that are DEPTH deep: 32 multiply-adds for 12 numbers read. A piece
 * has the depth first. So a matrix that is stored the other way round is turned when it is read, and
 * `cell` exchanges columns so that lanes that store together use different banks.
 *
 * Matrices in device memory have E columns, or a window of E columns of rows that are ld apart.
 */
#ifndef TROTTER_CUDA_TILE_CUH
#define TROTTER_CUDA_TILE_CUH

#include "kernels/cuda/cuda_device.cuh"

enum {
    SIDE = 64,
    DEPTH = 32,
    ROWS = 8,
    COLS = 4,
    LANES = SIDE / COLS, /* threads that share a row */
    TILE_THREADS = SIDE * SIDE / (ROWS * COLS),
    GROUP = 16,
    PITCH = GROUP + 1 /* row stride of near and far */
};

/* A block's shared memory. */
typedef struct {
    float *a, *b;      /* (DEPTH, SIDE): the factors of a product */
    float *tile;       /* (SIDE, SIDE): weights or dS */
    float *near, *far; /* (SIDE, PITCH) */
} Room;

enum { ROOM_BYTES = (2 * DEPTH * SIDE + SIDE * SIDE + 2 * SIDE * PITCH) * (int)sizeof(float) };

static __device__ inline Room room_of(void *shared)
{
    float *a = (float *)shared, *tile = a + 2 * DEPTH * SIDE, *near = tile + SIDE * SIDE;
    Room m = {a, a + DEPTH * SIDE, tile, near, near + SIDE * PITCH};
    return m;
}

/* ---- pieces of shared memory --------------------------------------------------------------------- */

static __device__ inline int my_row(void)
{
    return (int)(threadIdx.x / LANES) * ROWS;
}

static __device__ inline int my_column(void)
{
    return (int)(threadIdx.x % LANES) * COLS;
}

/* Returns the place of number i of depth k in a piece; four from a multiple of 4 stay together. */
static __device__ inline int cell(int k, int i)
{
    return k * SIDE + (i ^ (k >> 2 & 7) << 2);
}

/* Returns the first n of four numbers, then zeros. wide: n is 4 k and x aligned. */
static __device__ inline float4 read_four(const float *x, int n, int wide)
{
    if (wide && n > 0) return *(const float4 *)x;
    return make_float4(n > 0 ? x[0] : 0, n > 1 ? x[1] : 0, n > 2 ? x[2] : 0, n > 3 ? x[3] : 0);
}

static __device__ inline void write_four(float *x, const float *y, int n, int wide)
{
    if (wide && n > 0)
        *(float4 *)x = make_float4(y[0], y[1], y[2], y[3]);
    else
        for (int c = 0; c < 4; c++)
            if (c < n) x[c] = y[c];
}

/* Reads numbers e .. e + DEPTH - 1 of `rows` rows of X into to (DEPTH, room), 0 beyond. */
static __device__ inline void stage_turned(float *to, const float *X, size_t ld, int rows, int room,
                                           int e, int E, int wide)
{
    int l = (int)(threadIdx.x % 8) * 4;
    for (int i = (int)(threadIdx.x / 8); i < room; i += TILE_THREADS / 8) {
        float4 x = read_four(X + (size_t)i * ld + e + l, i < rows ? E - e - l : 0, wide);
        to[cell(l, i)] = x.x;
        to[cell(l + 1, i)] = x.y;
        to[cell(l + 2, i)] = x.z;
        to[cell(l + 3, i)] = x.w;
    }
}

/* Reads numbers e .. e + SIDE - 1 of `rows` rows of X into to (DEPTH, SIDE), 0 beyond. */
static __device__ inline void stage_rows(float *to, const float *X, size_t ld, int rows, int e,
                                         int E, int wide)
{
    int l = (int)(threadIdx.x % LANES) * 4;
    for (int j = (int)(threadIdx.x / LANES); j < DEPTH; j += TILE_THREADS / LANES)
        *(float4 *)(to + cell(j, l)) =
            read_four(X + (size_t)j * ld + e + l, j < rows ? E - e - l : 0, wide);
}

/* Adds A^T B to acc, A and B pieces; depth is rounded up to 4. */
static __device__ inline void tile_product(float (*acc)[COLS], const float *A, const float *B,
                                           int depth)
{
    int i = my_row(), j = my_column();
    for (int k = 0; k < depth; k += 4)
        for (int u = 0; u < 4; u++) {
            float4 x = *(const float4 *)(A + cell(k, i) + u * SIDE);
            float4 y = *(const float4 *)(A + cell(k, i + 4) + u * SIDE);
            float4 z = *(const float4 *)(B + cell(k, j) + u * SIDE);
            float a[ROWS] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
            for (int r = 0; r < ROWS; r++) {
                acc[r][0] += a[r] * z.x;
                acc[r][1] += a[r] * z.y;
                acc[r][2] += a[r] * z.z;
                acc[r][3] += a[r] * z.w;
            }
        }
}

static __device__ inline void clear(float (*acc)[COLS])
{
    for (int r = 0; r < ROWS; r++)
        for (int c = 0; c < COLS; c++) acc[r][c] = 0;
}

/* Computes acc = X Y^T: X (m, E), Y (n, E). */
static __device__ inline void products_of_rows(float (*acc)[COLS], const Room *m, const float *X,
                                               size_t ldx, int rows, const float *Y, size_t ldy,
                                               int columns, int E, int wide)
{
    clear(acc);
    for (int e = 0; e < E; e += DEPTH) {
        __syncthreads(); /* the pieces may still be read */
        stage_turned(m->a, X, ldx, rows, SIDE, e, E, wide);
        stage_turned(m->b, Y, ldy, columns, SIDE, e, E, wide);
        __syncthreads();
        tile_product(acc, m->a, m->b, min(DEPTH, E - e));
    }
}

static __device__ inline void read_rows(float (*acc)[COLS], const float *Y, size_t ld, int rows,
                                        int e, int E, int wide)
{
    int i = my_row(), j = e + my_column();
    for (int r = 0; r < ROWS; r++) {
        float4 y = read_four(Y + (size_t)(i + r) * ld + j, i + r < rows ? E - j : 0, wide);
        acc[r][0] = y.x, acc[r][1] = y.y, acc[r][2] = y.z, acc[r][3] = y.w;
    }
}

static __device__ inline void write_rows(float (*acc)[COLS], float *Y, size_t ld, int rows, int e,
                                         int E, int wide)
{
    int i = my_row(), j = e + my_column();
    for (int r = 0; r < ROWS; r++)
        write_four(Y + (size_t)(i + r) * ld + j, acc[r], i + r < rows ? E - j : 0, wide);
}

static __device__ inline void scale_rows(float (*acc)[COLS], const float *c)
{
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < COLS; k++) acc[r][k] *= c[r];
}

/* Rows that a block sums: in registers (KEPT) until they are written at last, or in memory. */
typedef struct {
    float *at; /* (rows, E) */
    size_t ld;
    int rows;
} Rows;

/* Computes Y = (begun ? c Y : 0) + the tile, depth first, times X (n, E); c: a row's; NULL: 1. */
template <int KEPT>
static __device__ inline void combine(float (*acc)[COLS], const Room *m, const float *X, size_t ldx,
                                      int n, int E, int wide, int begun, const float *c, Rows Y)
{
    for (int e = 0; e < E; e += SIDE) {
        if (!KEPT && begun) read_rows(acc, Y.at, Y.ld, Y.rows, e, E, wide);
        if (!begun) clear(acc);
        if (begun && c) scale_rows(acc, c);
        for (int j = 0; j < n; j += DEPTH) {
            __syncthreads(); /* the tile is written; the pieces may still be read */
            stage_rows(m->b, X + (size_t)j * ldx, ldx, n - j, e, E, wide);
            __syncthreads();
            tile_product(acc, m->tile + j * SIDE, m->b, min(DEPTH, n - j));
        }
        if (!KEPT) write_rows(acc, Y.at, Y.ld, Y.rows, e, E, wide);
    }
}

/* Write tile = s, the row first or (turned) the column first. */
static __device__ inline void tile_write(const Room *m, float (*s)[COLS])
{
    for (int r = 0; r < ROWS; r++)
        *(float4 *)(m->tile + cell(my_row() + r, my_column())) =
            make_float4(s[r][0], s[r][1], s[r][2], s[r][3]);
}

static __device__ inline void tile_write_turned(const Room *m, float (*s)[COLS])
{
    int i = my_row();
    for (int c = 0; c < COLS; c++) {
        int j = my_column() + c;
        *(float4 *)(m->tile + cell(j, i)) = make_float4(s[0][c], s[1][c], s[2][c], s[3][c]);
        *(float4 *)(m->tile + cell(j, i + 4)) = make_float4(s[4][c], s[5][c], s[6][c], s[7][c]);
    }
}

#endif
