/* cuda_factor.cuh: factors of products in the form of tensor cores: memory of numbers in bf16 (Backend.factors). Part
 * of cuda.cu.
 *
 * Numbers that only products read are written in bf16 by the kernel that makes them, so no launch rounds them and half
 * the bytes move. The address tells the form: memory from cuda_factors holds bf16, all other memory f32. A kernel
 * writes to an Out and reads from an In, which may be either of the two.
 *
 * Weights are kept in both forms: their twin has an element for every number, at the same place. Adam writes both. After
 * any other write to weights (put, send, fill, copy) the numbers are rounded again, on the same stream. So a
 * product reads the same bits as if it rounded the weights itself.
 */
#ifndef TROTTER_CUDA_FACTOR_CUH
#define TROTTER_CUDA_FACTOR_CUH

#include "kernels/cuda/cuda_memory.cuh"
#include "kernels/cuda/cuda_rows.cuh"

/* ---- memory ------------------------------------------------------------------------------------- */

static void *cuda_factors(size_t n)
{
    void *x = cuda_alloc(blocks_for(n * sizeof(uint16_t), sizeof(float)));
    if (x) allocations->halves = 1;
    return x;
}

/* ---- outputs and inputs of kernels -------------------------------------------------------------- */

typedef struct {
    float *x;
    uint16_t *factor; /* bf16 memory, else NULL */
} Out;

typedef struct {
    const float *x;
    const uint16_t *factor;
} In;

static Out out_of(void *p)
{
    return is_factor(p) ? Out{NULL, (uint16_t *)p} : Out{(float *)p, NULL};
}

static In in_of(const void *p)
{
    return is_factor(p) ? In{NULL, (const uint16_t *)p} : In{(const float *)p, NULL};
}

template <int W> static __device__ inline void store(Out y, size_t i, Pack<W> v)
{
    if (y.factor)
        bf16_store<W>(y.factor + i, v);
    else
        store(y.x + i, v);
}

template <int W> static __device__ inline Pack<W> load(In x, size_t i)
{
    return x.factor ? bf16_load<W>(x.factor + i) : load<W>(x.x + i);
}

template <int W> static __device__ inline Pack<W> load(Out x, size_t i)
{
    return load<W>(In{x.x, x.factor}, i);
}

/* y = x, rounded where y holds factors. */
struct CopyFlat {
    In x;
    Out y;
    __device__ void begin() {}
    template <int W> __device__ void at(size_t, size_t i) const
    {
        store(y, i, load<W>(x, i));
    }
};

/* Copies where x or y holds factors. Returns 0 where neither does, and copies nothing. */
static int factor_copy(void *y, const void *x, size_t n, CALLER)
{
    if (!is_factor(x) && !is_factor(y)) return 0;
    each_flat(n, wide(0, x, y), CopyFlat{in_of(x), out_of(y)}, where);
    return 1;
}

/* ---- twins: weights that are kept in bf16 too (Backend.weights) ---------------------------------- */

/* Returns the twin of weights from x on, of which there are *left; NULL where x are none. */
static uint16_t *twin_find(const void *x, size_t *left)
{
    const Allocation *a = allocation_of(x);
    size_t at = a ? (size_t)((const float *)x - (const float *)a->p) : 0;
    if (!a || !a->twin || at >= a->weights) return NULL;
    *left = a->weights - at;
    return a->twin + at;
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

static int cuda_weights(const void *x, size_t n, void *twin)
{
    Allocation *a = allocation_of(x);
    if (!a || a->p != x) return error_set(ERR_MISUSE, "weights that are no allocation");
    a->twin = (uint16_t *)twin;
    a->weights = n;
    twin_written(x, n * sizeof(float));
    return 0;
}

#endif
