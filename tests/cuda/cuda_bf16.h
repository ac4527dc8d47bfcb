/* cuda_bf16.h: bfloat16 for kernels compiled for the host: the upper half of a float, rounded to
 * nearest, ties to even; NaN becomes 0x7fff, as on the device. */
#ifndef TROTTER_CUDA_HOST_BF16_H
#define TROTTER_CUDA_HOST_BF16_H

#include <stdint.h>
#include <string.h>

#include "tests/cuda/vector.h"

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

#ifdef __cplusplus
struct __attribute__((aligned(2))) __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float v) : bits(cuda_host_bf16(v)) {}
    operator float() const
    {
        return cuda_host_f32(bits);
    }
};
typedef __nv_bfloat16 nv_bfloat16;

struct __attribute__((aligned(4))) __nv_bfloat162 {
    __nv_bfloat16 x, y;
};
typedef __nv_bfloat162 nv_bfloat162;

inline __nv_bfloat16 __float2bfloat16(float v)
{
    return __nv_bfloat16(v);
}

inline __nv_bfloat16 __float2bfloat16_rn(float v)
{
    return __nv_bfloat16(v);
}

inline float __bfloat162float(__nv_bfloat16 v)
{
    return cuda_host_f32(v.bits);
}

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 v)
{
    return v.bits;
}

inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits)
{
    __nv_bfloat16 v;
    v.bits = bits;
    return v;
}

inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y)
{
    return __nv_bfloat162{__nv_bfloat16(x), __nv_bfloat16(y)};
}

inline float2 __bfloat1622float2(__nv_bfloat162 v)
{
    return make_float2(cuda_host_f32(v.x.bits), cuda_host_f32(v.y.bits));
}

inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y)
{
    return __nv_bfloat162{x, y};
}

inline float __low2float(__nv_bfloat162 v)
{
    return cuda_host_f32(v.x.bits);
}

inline float __high2float(__nv_bfloat162 v)
{
    return cuda_host_f32(v.y.bits);
}
#else
typedef struct {
    unsigned short bits;
} __nv_bfloat16;
#endif
#endif
