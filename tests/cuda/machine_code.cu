/* machine_code.cu: the kernels of attention as nvcc compiles them, and two that must fail what test_machine_code.c asks of
 * them. Never run: the Makefile makes machine code for sm_80 and sm_90 of it, and the test reads that. */
#include "kernels/cuda_matrix_back.cuh"

static void *cuda_scratch(size_t)
{
    return NULL;
}

extern "C" void machine_code(const Attention *a, void *x)
{
    cuda_attention_matrix(a, x, x);
    cuda_attention_matrix_back(a, x, x, x, x, x, x, 0, x, x);
}

enum { NUMBERS = 96 };

/* More numbers alive than 32 registers hold. */
extern "C" __global__ void __launch_bounds__(1024, 2) spoiled_by_spills(volatile float *x)
{
    float y[NUMBERS];
    UNROLL for (int i = 0; i < NUMBERS; i++) y[i] = x[i];
    UNROLL for (int i = NUMBERS - 1; i >= 0; i--) x[i] = y[i] * y[(i + 1) % NUMBERS];
}

/* An array with an index that is known when it runs. */
extern "C" __global__ void spoiled_by_a_frame(float *x, const int *at)
{
    float y[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) y[at[i]] = x[i];
    for (int i = 0; i < NUMBERS; i++) x[i] = y[at[i + NUMBERS]];
}
