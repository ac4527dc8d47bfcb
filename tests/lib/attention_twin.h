/* attention_twin.h: attention as tensor cores make it (kernels/cuda/cuda_matrix.cuh), in double precision and plain loops,
 * from the formulas of kernels/cpu/cpu_attention.h. It rounds to bf16 what the kernels round to bf16, and nothing else. So
 * the two differ by roundings of f32 alone. */
#ifndef TROTTER_TESTS_ATTENTION_TWIN_H
#define TROTTER_TESTS_ATTENTION_TWIN_H

#include "kernels/backend.h"

/* The rounded numbers. Without any of these bits it is attention as backend.h defines it. */
enum {
    TWIN_INPUTS = 1,   /* q, k, v and dout */
    TWIN_WEIGHTS = 2,  /* the weights that v and dout are multiplied by */
    TWIN_ADJOINTS = 4, /* the adjoints of scores, by which q and k are multiplied */
    TWIN_ROUNDS = 7
};

/* Rounds x to the nearest number of bf16, a tie to the even one. Without `rounds` it returns x. */
double twin_rounded(int rounds, double x);

/* Largest distance of tensor cores from the twin, as a share of a norm. test_attention_kernels.c derives it. */
#define TWIN_FAR 0x1p-11

/* These are as Backend's members of these names, but all arrays lie in the host's memory and hold doubles; relative,
 * drop.step is NULL. backward takes out and lse of forward. */
void twin_attention(const Attention *a, int rounds, double *out, double *lse);
void twin_attention_back(const Attention *a, int rounds, const double *out, const double *lse,
                         const double *dout, double *dq, double *dk, double *dv, int more);

#endif
