/* cuda_twin.cuh: weights that are also kept in bf16, so that products need not round them (Backend.weights). Part of
 * cuda.cu.
 *
 * The twin has an element for every number of the weights, at the same place. Adam writes both. After any other write
 * to weights (put, send, fill, copy, clamp) the numbers are rounded again, on the same stream. So a product reads the
 * same bits as if it rounded the weights itself.
 */
#ifndef TROTTER_CUDA_TWIN_CUH
#define TROTTER_CUDA_TWIN_CUH

#include "kernels/cuda/cuda_factor.cuh"

typedef struct Twin {
    struct Twin *next;
    const float *x;
    size_t n;
    uint16_t *y; /* (n) */
} Twin;

static Twin *twins;

static uint16_t *twin_find(const void *x_, size_t *left)
{
    const float *x = (const float *)x_;
    for (const Twin *t = twins; t; t = t->next)
        if (x >= t->x && x < t->x + t->n) {
            *left = (size_t)(t->x + t->n - x);
            return t->y + (x - t->x);
        }
    return NULL;
}

static const uint16_t *twin_of(const void *x)
{
    size_t left;
    return twin_find(x, &left);
}

static void twin_written(const void *x, size_t bytes)
{
    size_t left, n = bytes / sizeof(float);
    uint16_t *y = twin_find(x, &left);
    if (y)
        each_flat(least(n, left), wide(0, x) && (uintptr_t)y % 8 == 0,
                  CopyFlat{In{(const float *)x, NULL}, Out{NULL, y}});
}

static void twin_forget(const void *p)
{
    for (Twin **at = &twins; p && *at; at = &(*at)->next) {
        Twin *t = *at;
        if (t->x != p && t->y != p) continue;
        *at = t->next;
        memory_free(t);
        return;
    }
}

static int cuda_weights(const void *x, size_t n, void *twin)
{
    Twin *t = (Twin *)memory_new(1, sizeof *t);
    if (!t) return ERR_MEMORY;
    *t = (Twin){twins, (const float *)x, n, (uint16_t *)twin};
    twins = t;
    twin_written(x, n * sizeof(float));
    return 0;
}

#endif
