/* cuda_factor.cuh: factors of products in the form of tensor cores: memory of numbers in bf16 (Backend.factors). Part
 * of cuda.cu.
 *
 * Numbers that only products read are written in bf16 by the kernel that makes them, so no launch rounds them and half
 * the bytes move. The address tells the form: memory from cuda_factors holds bf16, all other memory f32. A kernel
 * writes to an Out and reads from an In, which may be either of the two.
 */
#ifndef TROTTER_CUDA_FACTOR_CUH
#define TROTTER_CUDA_FACTOR_CUH

#include "kernels/cuda/cuda_memory.cuh"
#include "kernels/cuda/cuda_rows.cuh"

/* Returns the upper half of a float, rounded to nearest even; a NaN stays one. */
static __device__ inline uint16_t bf16_of(float x)
{
    uint32_t u = __float_as_uint(x);
    if ((u & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static __device__ inline float bf16_value(uint16_t x)
{
    return __uint_as_float((uint32_t)x << 16);
}

template <int W> static __device__ inline void bf16_store(uint16_t *y, Pack<W> v)
{
    if constexpr (W == 4)
        *(ushort4 *)y =
            make_ushort4(bf16_of(v.x[0]), bf16_of(v.x[1]), bf16_of(v.x[2]), bf16_of(v.x[3]));
    else
        *y = bf16_of(v.x[0]);
}

template <int W> static __device__ inline Pack<W> bf16_load(const uint16_t *p)
{
    Pack<W> v;
    if constexpr (W == 4) {
        ushort4 q = *(const ushort4 *)p;
        v.x[0] = bf16_value(q.x), v.x[1] = bf16_value(q.y);
        v.x[2] = bf16_value(q.z), v.x[3] = bf16_value(q.w);
    } else {
        v.x[0] = bf16_value(*p);
    }
    return v;
}

/* ---- memory ------------------------------------------------------------------------------------- */

typedef struct FactorMemory {
    struct FactorMemory *next;
    const char *x;
    size_t bytes;
} FactorMemory;

static FactorMemory *factor_memory;

static int is_factor(const void *p)
{
    for (const FactorMemory *f = factor_memory; f; f = f->next)
        if ((const char *)p >= f->x && (const char *)p < f->x + f->bytes) return 1;
    return 0;
}

static void *cuda_factors(size_t n)
{
    FactorMemory *f = (FactorMemory *)memory_new(1, sizeof *f);
    size_t bytes = n * sizeof(uint16_t);
    void *x = f ? cuda_alloc(blocks_for(bytes, sizeof(float))) : NULL;
    if (!x) {
        memory_free(f);
        return NULL;
    }
    *f = (FactorMemory){factor_memory, (const char *)x, bytes};
    factor_memory = f;
    return x;
}

static void factor_forget(const void *p)
{
    for (FactorMemory **at = &factor_memory; p && *at; at = &(*at)->next) {
        FactorMemory *f = *at;
        if (f->x != p) continue;
        *at = f->next;
        memory_free(f);
        return;
    }
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

#endif
