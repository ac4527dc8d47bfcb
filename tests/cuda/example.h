/* example.h: small kernels on which the stand-in is tested, callable from C; example.cu. All pointers
 * are device memory. `skip` leaves out one barrier (1, 2, ...; 0: none), the planted error that
 * some order of threads has to show. Each returns cudaGetLastError. */
#ifndef TROTTER_CUDA_EXAMPLE_H
#define TROTTER_CUDA_EXAMPLE_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SUM_SKIPS = 2, SOFTMAX_SKIPS = 3, PRODUCT_SKIPS = 2, SUM_THREADS = 128, TILE = 8 };

/* out[b] = sum of block b's share of x (n); in static shared memory, halving. */
cudaError_t example_sum(int skip, const float *x, size_t n, float *out, unsigned blocks,
                        cudaStream_t s);

/* y (N, D) = softmax of the rows of x; warps shuffle, then meet in static shared memory; a template. */
cudaError_t example_softmax(int skip, const float *x, size_t N, size_t D, float *y, cudaStream_t s);

/* c (n, n) = a b, row-major, in tiles of TILE x TILE in dynamic shared memory. */
cudaError_t example_product(int skip, const float *a, const float *b, float *c, int n,
                            cudaStream_t s);

/* y += f x; f lies in a struct that travels by value. */
typedef struct {
    float f;
    int unused;
    const float *x;
} ExampleTerm;
cudaError_t example_add(ExampleTerm term, float *y, size_t n, cudaStream_t s);

/* Each thread of one block of `threads` writes what a warp function gave it (out: threads words).
 * Lane's own word is 100 + thread. */
enum {
    WARP_SHUFFLE,
    WARP_XOR,
    WARP_UP,
    WARP_DOWN,
    WARP_BALLOT,
    WARP_ANY,
    WARP_ALL,
    WARP_MATCH,
    WARP_FUNCTIONS
};
cudaError_t example_warp(int function, int arg, int width, unsigned *out, unsigned threads);

/* out[0..2]: threads with odd index as __syncthreads_count, _or, _and of (index < k) tell it. */
cudaError_t example_votes(unsigned k, int *out, unsigned threads);

/* Blocks add to one place each by atomics: f += 1, d += 1, u = max(thread), c = number of odd ones. */
cudaError_t example_atomics(float *f, double *d, unsigned *u, unsigned long long *c,
                            unsigned blocks);

/* What shared memory holds before anything is written: out[0] static, out[1] dynamic; per block. */
cudaError_t example_unwritten(unsigned *out, unsigned blocks);

/* Kernels that misbehave; p: n floats. */
enum {
    WRONG_LEAVES,     /* one thread returns before the barrier */
    WRONG_BRANCH,     /* a barrier that half the threads pass by */
    WRONG_TWO,        /* halves wait at two barriers */
    WRONG_WARP,       /* a lane shuffles while its warp votes */
    WRONG_LANE,       /* a lane waits at a barrier, its warp for it */
    WRONG_MASK,       /* a mask without the lane itself */
    WRONG_TRAP,       /* __trap */
    WRONG_BEYOND,     /* writes p[n] */
    WRONG_FAR,        /* reads 100 pages behind p */
    WRONG_BEFORE,     /* writes p[-1] */
    WRONG_NULL,       /* reads through NULL */
    WRONG_SHARED,     /* writes one word behind its dynamic shared memory */
    WRONG_SHARED_FAR, /* and 4096 bytes behind */
    WRONG_STACK,      /* recursion without end */
    WRONGS
};
cudaError_t example_wrong(int what, float *p, size_t n);

/* Launches with a shape: for limits. */
cudaError_t example_shape(dim3 grid, dim3 block, size_t shared);
cudaError_t example_allow(int shared);

/* `turns` barriers by each of `threads` threads of each block: for timing. */
cudaError_t example_turns(unsigned blocks, unsigned threads, int turns);

#ifdef __cplusplus
}
#endif
#endif
