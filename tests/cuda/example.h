/* example.h: small kernels on which the stand-in is tested, callable from C; example.cu. All pointers
 * are device memory. `skip` leaves out one barrier (1, 2, ...; 0: none): this planted error has to show
 * in some order of threads. Each returns cudaGetLastError. */
#ifndef TROTTER_CUDA_EXAMPLE_H
#define TROTTER_CUDA_EXAMPLE_H

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PRODUCT_SKIPS = 2, TILE = 8 };

/* Computes c (n, n) = a b, row-major, in tiles of TILE x TILE in dynamic shared memory. */
cudaError_t example_product(int skip, const float *a, const float *b, float *c, int n,
                            cudaStream_t s);

/* Adds f x to y; f lies in a struct that is passed by value. */
typedef struct {
    float f;
    int unused;
    const float *x;
} ExampleTerm;
cudaError_t example_add(ExampleTerm term, float *y, size_t n, cudaStream_t s);

/* Lets each thread of one block of `threads` write the result of a warp function (out: threads words).
 * A lane's own word is 100 + thread. */
enum { WARP_SHUFFLE, WARP_XOR, WARP_FUNCTIONS };
cudaError_t example_warp(int function, int arg, unsigned *out, unsigned threads);

/* Reads shared memory before anything is written: out[0] static, out[1] dynamic; per block. */
cudaError_t example_unwritten(unsigned *out, unsigned blocks);

/* Kernels with an error; p: n floats. */
enum {
    WRONG_LEAVES,     /* one thread returns before the barrier */
    WRONG_BRANCH,     /* a barrier that half the threads pass by */
    WRONG_TWO,        /* halves wait at two barriers */
    WRONG_WARP,       /* a lane is in another shuffle than its warp */
    WRONG_LANE,       /* a lane waits at a barrier, its warp waits for it */
    WRONG_MASK,       /* a mask without the lane itself */
    WRONG_TRAP,       /* __trap */
    WRONG_BEYOND,     /* writes p[n] */
    WRONG_FAR,        /* reads 100 pages after p */
    WRONG_BEFORE,     /* writes p[-1] */
    WRONG_NULL,       /* reads through NULL */
    WRONG_SHARED,     /* writes one word after its dynamic shared memory */
    WRONG_SHARED_FAR, /* writes 4096 bytes after it */
    WRONG_STACK,      /* recursion without end */
    WRONG_UNALIGNED,  /* a row of a matrix that is not aligned to 16 bytes */
    WRONG_HASTE,      /* reads p before it waits for the kernel before */
    WRONG_WAITLESS,   /* does not wait for it */
    WRONGS
};
cudaError_t example_wrong(int what, float *p, size_t n);

/* Launches a kernel that waits for the one before, as one that may begin early. */
cudaError_t example_early(float *p, cudaStream_t s);

/* Launches with a given shape, to test limits. */
cudaError_t example_shape(dim3 grid, dim3 block, size_t shared);

#ifdef __cplusplus
}
#endif
#endif
