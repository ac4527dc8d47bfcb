/* vector.h: dim3 and the short vectors of CUDA (float4, ...), with CUDA's sizes and alignments; bfloat16. */
#ifndef TROTTER_CUDA_HOST_VECTOR_H
#define TROTTER_CUDA_HOST_VECTOR_H

#include <stdint.h>
#include <string.h>

#define CUDA_HOST_ALIGN(n) __attribute__((aligned(n)))

/* V2(vector, element, alignment) declares the type and its make_ function; likewise V4. */
#define V2(name, T, a)                       \
    typedef struct CUDA_HOST_ALIGN(a) name { \
        T x, y;                              \
    } name;                                  \
    static inline name make_##name(T x, T y) \
    {                                        \
        name v = {x, y};                     \
        return v;                            \
    }
#define V4(name, T, a)                                 \
    typedef struct CUDA_HOST_ALIGN(a) name {           \
        T x, y, z, w;                                  \
    } name;                                            \
    static inline name make_##name(T x, T y, T z, T w) \
    {                                                  \
        name v = {x, y, z, w};                         \
        return v;                                      \
    }

V4(ushort4, unsigned short, 8)
V2(uint2, unsigned int, 8)
V2(float2, float, 8)
V4(float4, float, 16)
#undef V2
#undef V4

typedef struct uint3 {
    unsigned int x, y, z;
} uint3;

typedef struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1)
        : x(x_), y(y_), z(z_)
    {
    }
#endif
} dim3;

/* bfloat16 on the host: the upper half of a float, rounded to nearest, ties to even; NaN becomes 0x7fff, as on the
 * device. */
static inline unsigned short cuda_host_bf16(float v)
{
    uint32_t u;
    memcpy(&u, &v, sizeof u);
    if (v != v) return 0x7fff;
    return (unsigned short)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

static inline float cuda_host_f32(unsigned short b)
{
    uint32_t u = (uint32_t)b << 16;
    float v;
    memcpy(&v, &u, sizeof v);
    return v;
}

#endif
