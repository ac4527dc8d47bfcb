/* fragment.h: one warp's product of kernels/cuda/cuda_mma.cuh as a test calls it, and errors planted in it; fragment.cu. */
#ifndef TROTTER_TESTS_CUDA_FRAGMENT_H
#define TROTTER_TESTS_CUDA_FRAGMENT_H

#include <stdint.h>

#include <cuda_runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ways in which the factors come to the lanes: by the formulas of the layout, or from shared memory, where
 * each lies as the product takes it or turned. */
typedef enum { BY_FORMULA, A_B, A_TURNED, B_TURNED, BOTH_TURNED, WAYS } FragmentWay;

/* Planted errors. */
typedef enum {
    RIGHT,
    A_ROWS,       /* rows g and g + 8 of a exchanged */
    A_DEPTH,      /* the halves of a's depth exchanged */
    B_DEPTH,      /* the halves of b's depth exchanged */
    B_COLUMNS,    /* b's two times eight columns exchanged */
    A_HALVES,     /* the halves of a word of a exchanged */
    D_LANES,      /* d written by row t and column g */
    D_PAIRS,      /* d's rows g and g + 8 exchanged */
    LANE_SHIFTED, /* a of the next lane */
    WRONGS_OF_FRAGMENTS
} FragmentError;

/* Adds x y to d (16, 16); x (16, 16), y (16, 16), all row-major in device memory. */
cudaError_t fragment_product(FragmentWay way, FragmentError error, const float *x, const float *y,
                             float *d);

/* Computes y[i] (n words) = bf16_pair(x[2 i], x[2 i + 1]), n <= 32. */
cudaError_t fragment_pairs(const float *x, uint32_t *y, unsigned n);

/* Loads from an address that is not aligned to 16 bytes. */
cudaError_t fragment_unaligned(uint32_t *out);

#ifdef __cplusplus
}
#endif
#endif
