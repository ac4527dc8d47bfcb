/* matrix.h: the warp-matrix instructions of kernels/cuda/cuda_mma.cuh for kernels compiled for the host: lanes lay
 * their words side by side, wait for each other, and each computes its own part. Sums are of f32, in the order
 * of depth, begun at the accumulator; a tensor core may round its sums differently. Layouts: PTX ISA. */
#ifndef TROTTER_CUDA_HOST_MATRIX_H
#define TROTTER_CUDA_HOST_MATRIX_H

#include "tests/cuda/vector.h"

typedef struct {
    uint32_t a[4], b[2];
    const uint16_t *row;
} CudaHostLane;

inline CudaHostLane cuda_host_lanes[1024]; /* of a block */

inline uint32_t bf16_pair(float x, float y)
{
    return cuda_host_bf16(x) | static_cast<uint32_t>(cuda_host_bf16(y)) << 16;
}

/* Returns half i of a word. */
inline float cuda_host_half(uint32_t word, unsigned i)
{
    return cuda_host_f32(static_cast<unsigned short>(word >> 16 * i));
}

/* The memory that a block's threads share. */
typedef const uint16_t *Shared;

inline Shared shared_at(const uint16_t *x)
{
    return x;
}

/* Returns this lane's words, as all lanes of the warp will see them. */
inline CudaHostLane *cuda_host_mine()
{
    return cuda_host_lanes + cuda_host_now->linear;
}

inline const CudaHostLane *cuda_host_warp_lanes()
{
    return cuda_host_lanes + cuda_host_now->linear / 32 * 32;
}

inline void cuda_host_matrix_load(uint32_t *r, const uint16_t *row, int turned, const char *file,
                                  int line)
{
    unsigned lane = cuda_host_now->linear % 32, g = lane / 4, t = lane % 4;
    const CudaHostLane *all = cuda_host_warp_lanes();
    if (reinterpret_cast<uintptr_t>(row) % 16) cuda_host_trap(file, line);
    cuda_host_mine()->row = row;
    __syncwarp(0xffffffffu, file, line);
    for (unsigned m = 0; m < 4; m++) {
        const CudaHostLane *rows = all + 8 * m;
        r[m] = turned ? rows[2 * t].row[g] | static_cast<uint32_t>(rows[2 * t + 1].row[g]) << 16
                      : rows[g].row[2 * t] | static_cast<uint32_t>(rows[g].row[2 * t + 1]) << 16;
    }
    __syncwarp(0xffffffffu, file, line);
}

inline void copy_16(uint16_t *to, const uint16_t *from, int in, CUDA_HOST_PLACE)
{
    if (reinterpret_cast<uintptr_t>(to) % 16 || (in && reinterpret_cast<uintptr_t>(from) % 16))
        cuda_host_trap(file, line);
    if (in)
        memcpy(to, from, 16);
    else
        memset(to, 0, 16);
}

inline void copies_wait() {}

inline void matrix_load(uint32_t *r, Shared row, int n, CUDA_HOST_PLACE)
{
    cuda_host_matrix_load(r, row + n, 0, file, line);
}

inline void matrix_load_turned(uint32_t *r, Shared row, int n, CUDA_HOST_PLACE)
{
    cuda_host_matrix_load(r, row + n, 1, file, line);
}

inline void matrix_multiply(float *d, const uint32_t *a, const uint32_t *b, CUDA_HOST_PLACE)
{
    unsigned lane = cuda_host_now->linear % 32, g = lane / 4, t = lane % 4;
    const CudaHostLane *all = cuda_host_warp_lanes();
    CudaHostLane *mine = cuda_host_mine();
    memcpy(mine->a, a, sizeof mine->a);
    memcpy(mine->b, b, sizeof mine->b);
    __syncwarp(0xffffffffu, file, line);
    for (unsigned i = 0; i < 4; i++) /* row g + 8 (i / 2), column 2 t + i % 2 */
        for (unsigned k = 0; k < 16; k++)
            d[i] += cuda_host_half(all[4 * g + k % 8 / 2].a[i / 2 + 2 * (k / 8)], k % 2) *
                    cuda_host_half(all[4 * (2 * t + i % 2) + k % 8 / 2].b[k / 8], k % 2);
    __syncwarp(0xffffffffu, file, line);
}

#endif
