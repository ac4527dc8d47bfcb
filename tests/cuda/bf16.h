/* bf16.h: bfloat16 on the host: the upper half of a float, rounded to nearest, ties to even; NaN becomes 0x7fff, as on
 * the device. */
#ifndef TROTTER_CUDA_HOST_BF16_H
#define TROTTER_CUDA_HOST_BF16_H

#include <stdint.h>
#include <string.h>

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
