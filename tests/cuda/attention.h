/* attention.h: the kernels of kernels/cuda/cuda_attention.cuh and cuda_matrix.cuh as a test calls them, and errors planted in
 * them; attention.cu. Numbers, start and results are device memory. */
#ifndef TROTTER_TESTS_CUDA_ATTENTION_H
#define TROTTER_TESTS_CUDA_ATTENTION_H

#include "kernels/backend.h"

#ifdef __cplusplus
extern "C" {
#endif

/* These take the arguments of Backend's members of these names. */
void attention_forward(const Attention *a, void *out, void *lse);
void attention_backward(const Attention *a, const void *out, const void *lse, const void *dout,
                        void *dq, void *dk, void *dv, int more, void *drelative);
/* Tells whether one of them has failed since the last call. */
int attention_failed(void);

/* Uses tensor cores from now on (cuda-bf16) where these serve; 0: never. */
void attention_matrix(int on);

/* Errors planted from now on. */
typedef struct {
    int barrier; /* one of attention_barriers(), from 1, is skipped; 0: none is */
    int mask;    /* columns beyond its own that a row sees; 0 is right */
} AttentionError;
void attention_plant(AttentionError error);

/* Returns the number of barriers in the text of the kernels. */
int attention_barriers(void);

#ifdef __cplusplus
}
#endif
#endif
