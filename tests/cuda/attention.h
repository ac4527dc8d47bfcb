/* attention.h: the kernels of kernels/cuda_attention.cuh and cuda_matrix.cuh as a test calls them, and errors planted in
 * them; attention.cu. Numbers, start and results are device memory. */
#ifndef TROTTER_TESTS_CUDA_ATTENTION_H
#define TROTTER_TESTS_CUDA_ATTENTION_H

#include <cuda_runtime.h>

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As Backend's members of these names. */
cudaError_t attention_forward(const Attention *a, void *out, void *lse);
cudaError_t attention_backward(const Attention *a, const void *out, const void *lse,
                               const void *dout, void *dq, void *dk, void *dv, int more,
                               void *drelative, void *dspan);

/* 1: on tensor cores from now on (cuda-bf16), where these serve. */
void attention_matrix(int on);

/* What is left out or wrong from now on. */
typedef struct {
    int barrier; /* one of attention_barriers(), from 1, is passed by; 0: none is */
    int mask;    /* columns beyond its own that a row sees; 0 is right */
} AttentionError;
void attention_plant(AttentionError error);

/* Barriers in the text of the kernels. */
int attention_barriers(void);

#ifdef __cplusplus
}
#endif
#endif
