/* fragment.cu: see fragment.h. */
#include "tests/cuda/fragment.h"

#include "kernels/cuda/cuda_mma.cuh"

/* Declared in cuda_device.cuh, and of no use here. */
[[maybe_unused]] static void cuda_lap(const char *) {}
[[maybe_unused]] static void *cuda_scratch(size_t)
{
    return NULL;
}

enum { FRAGMENT_PITCH = STEP + 8 };

static __device__ void exchange(uint32_t *a, uint32_t *b)
{
    uint32_t x = *a;
    *a = *b;
    *b = x;
}

/* Writes both factors to shared memory in the layout of `way`. */
static __device__ void fill(int way, const float *x, const float *y, uint16_t *A, uint16_t *B)
{
    int a_turned = way == A_TURNED || way == BOTH_TURNED;
    int b_turned = way == B_TURNED || way == BOTH_TURNED; /* columns one after another, or depth */
    for (int i = lane_of(); i < STEP * STEP; i += WARP) {
        int r = i / STEP, c = i % STEP;
        A[a_turned ? c * FRAGMENT_PITCH + r : r * FRAGMENT_PITCH + c] =
            (uint16_t)bf16_pair(x[i], 0);
        B[b_turned ? r * FRAGMENT_PITCH + c : c * FRAGMENT_PITCH + r] =
            (uint16_t)bf16_pair(y[i], 0);
    }
    __syncwarp();
}

static __device__ void by_formula(const float *x, const float *y, uint32_t *a, uint32_t *b)
{
    int g = lane_row(), t = lane_pair();
    for (int i = 0; i < 4; i++) {
        const float *at = x + (g + i % 2 * 8) * STEP + 2 * t + i / 2 * 8;
        const float *from = y + (2 * t + i % 2 * 8) * STEP + g + i / 2 * 8;
        a[i] = bf16_pair(at[0], at[1]);
        b[i] = bf16_pair(from[0], from[STEP]);
    }
}

static __global__ void product_kernel(int way, int error, const float *x, const float *y, float *d)
{
    CUDA_DYNAMIC(float4, shared);
    uint16_t *A = (uint16_t *)shared, *B = A + STEP * FRAGMENT_PITCH;
    uint32_t a[4], b[4];
    float acc[2][4];
    int g = lane_row(), t = lane_pair();
    fill(way, x, y, A, B);
    if (way == BY_FORMULA) by_formula(x, y, a, b);
    if (way == A_B || way == B_TURNED) matrix_load(a, down(A, FRAGMENT_PITCH), 0);
    if (way == A_TURNED || way == BOTH_TURNED) matrix_load_turned(a, along(A, FRAGMENT_PITCH), 0);
    if (way == A_B || way == A_TURNED) matrix_load(b, along(B, FRAGMENT_PITCH), 0);
    if (way == B_TURNED || way == BOTH_TURNED) matrix_load_turned(b, down(B, FRAGMENT_PITCH), 0);
    if (error == A_ROWS) exchange(a, a + 1), exchange(a + 2, a + 3);
    if (error == A_DEPTH) exchange(a, a + 2), exchange(a + 1, a + 3);
    if (error == B_DEPTH) exchange(b, b + 1), exchange(b + 2, b + 3);
    if (error == B_COLUMNS) exchange(b, b + 2), exchange(b + 1, b + 3);
    for (int i = 0; error == A_HALVES && i < 4; i++) a[i] = a[i] >> 16 | a[i] << 16;
    for (int i = 0; error == LANE_SHIFTED && i < 4; i++)
        a[i] = __shfl_sync(ALL_LANES, a[i], (lane_of() + 1) % WARP);
    if (error == D_LANES) g = lane_of() % 8, t = lane_of() / 8;
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 4; i++)
            acc[n][i] = d[(g + (i / 2 ^ (error == D_PAIRS)) * 8) * STEP + 8 * n + 2 * t + i % 2];
    multiply(acc, a, b);
    for (int n = 0; n < 2; n++)
        for (int i = 0; i < 4; i++)
            d[(g + (i / 2 ^ (error == D_PAIRS)) * 8) * STEP + 8 * n + 2 * t + i % 2] = acc[n][i];
}

cudaError_t fragment_product(FragmentWay way, FragmentError error, const float *x, const float *y,
                             float *d)
{
    CUDA_LAUNCH(product_kernel, 1, WARP, 2 * STEP * FRAGMENT_PITCH * sizeof(uint16_t), 0, way,
                error, x, y, d);
    return cudaGetLastError();
}

static __global__ void pairs_kernel(const float *x, uint32_t *y)
{
    y[threadIdx.x] = bf16_pair(x[2 * threadIdx.x], x[2 * threadIdx.x + 1]);
}

cudaError_t fragment_pairs(const float *x, uint32_t *y, unsigned n)
{
    CUDA_LAUNCH(pairs_kernel, 1, n, 0, 0, x, y);
    return cudaGetLastError();
}

static __global__ void unaligned_kernel(uint32_t *out)
{
    CUDA_DYNAMIC(float4, shared);
    uint32_t r[4];
    matrix_load(r, down((uint16_t *)shared + 4, FRAGMENT_PITCH), 0);
    out[threadIdx.x] = r[0];
}

cudaError_t fragment_unaligned(uint32_t *out)
{
    CUDA_LAUNCH(unaligned_kernel, 1, WARP, 2 * STEP * FRAGMENT_PITCH * sizeof(uint16_t), 0, out);
    return cudaGetLastError();
}
