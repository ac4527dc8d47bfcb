/* attention.cu: see attention.h. It includes the text of the kernels, where each barrier gets a
 * number as it is met. */
#include "tests/cuda/attention.h"

#include "kernels/cuda/cuda_rows.cuh"

static AttentionError planted;
static int matrix;

/* Returns one scratch for all calls, filled with NaN. */
static void *cuda_scratch(size_t bytes)
{
    static void *scratch;
    cudaFree(scratch);
    scratch = NULL;
    cudaMalloc(&scratch, bytes);
    cudaMemsetAsync(scratch, 0xff, bytes, NULL);
    return scratch;
}

static void cuda_lap(const char *) {}

static int is_factor(const void *)
{
    return 0;
}

static unsigned *cuda_tickets(size_t)
{
    return NULL;
}

static void barrier_at(int number, const char *file, int line)
{
    if (number != planted.barrier) __syncthreads(file, line);
}

enum { BARRIERS_BEFORE = __COUNTER__ };
#define __syncthreads() barrier_at(__COUNTER__ - BARRIERS_BEFORE, __FILE__, __LINE__)
#include "kernels/cuda/cuda_scores.cuh"
#define row_sees(h, i, j) row_sees(h, i, (j)-planted.mask)
#include "kernels/cuda/cuda_attention.cuh"
#include "kernels/cuda/cuda_matrix_back.cuh"
#undef row_sees
#undef __syncthreads
enum { BARRIERS = __COUNTER__ - BARRIERS_BEFORE - 1 };

void attention_forward(const Attention *a, void *out, void *lse)
{
    (matrix ? cuda_attention_matrix : cuda_attention)(a, out, lse);
}

void attention_backward(const Attention *a, const void *out, const void *lse, const void *dout,
                        void *dq, void *dk, void *dv, int more, void *drelative)
{
    (matrix ? cuda_attention_matrix_back : cuda_attention_back)(a, out, lse, dout, dq, dk, dv, more,
                                                                drelative);
}

int attention_failed(void)
{
    int failed = cuda.failed != cudaSuccess;
    cuda.failed = cudaSuccess;
    return failed;
}

void attention_matrix(int on)
{
    matrix = on;
}

void attention_plant(AttentionError error)
{
    planted = error;
}

int attention_barriers(void)
{
    return BARRIERS;
}
