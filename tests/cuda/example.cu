/* example.cu: see example.h. Compiles with nvcc and, for the host, with g++. */
#include "kernels/cuda/cuda.h"

#include "tests/cuda/example.h"

#define ALL 0xffffffffu

/* ---- right, or with one barrier left out ------------------------------------------------------ */

static __global__ void product_kernel(int skip, const float *a, const float *b, float *c, int n)
{
    CUDA_DYNAMIC(float, tile);
    float *left = tile, *right = tile + TILE * TILE;
    int tx = (int)threadIdx.x, ty = (int)threadIdx.y;
    int row = (int)blockIdx.y * TILE + ty, col = (int)blockIdx.x * TILE + tx;
    float sum = 0;
    for (int k = 0; k < n; k += TILE) {
        left[ty * TILE + tx] = row < n && k + tx < n ? a[row * n + k + tx] : 0;
        right[ty * TILE + tx] = col < n && k + ty < n ? b[(k + ty) * n + col] : 0;
        if (skip != 1) __syncthreads();
        for (int i = 0; i < TILE; i++) sum += left[ty * TILE + i] * right[i * TILE + tx];
        if (skip != 2) __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}

cudaError_t example_product(int skip, const float *a, const float *b, float *c, int n,
                            cudaStream_t s)
{
    unsigned tiles = (unsigned)((n + TILE - 1) / TILE);
    CUDA_LAUNCH(product_kernel, dim3(tiles, tiles), dim3(TILE, TILE),
                2 * TILE * TILE * sizeof(float), s, skip, a, b, c, n);
    return cudaGetLastError();
}

static __global__ void add_kernel(ExampleTerm term, float *y, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += term.f * term.x[i];
}

cudaError_t example_add(ExampleTerm term, float *y, size_t n, cudaStream_t s)
{
    CUDA_LAUNCH(add_kernel, (unsigned)((n + 63) / 64), 64, 0, s, term, y, n);
    return cudaGetLastError();
}

/* ---- warps, unwritten memory -------------------------------------------------------------------- */

static __global__ void warp_kernel(int function, int arg, unsigned *out)
{
    unsigned t = threadIdx.x, v = 100 + t;
    unsigned r = function == WARP_XOR ? __shfl_xor_sync(ALL, v, arg) : __shfl_sync(ALL, v, arg);
    __syncwarp();
    out[t] = r;
}

cudaError_t example_warp(int function, int arg, unsigned *out, unsigned threads)
{
    CUDA_LAUNCH(warp_kernel, 1, threads, 0, 0, function, arg, out);
    return cudaGetLastError();
}

static __global__ void unwritten_kernel(unsigned *out)
{
    __shared__ unsigned fixed[4];
    CUDA_DYNAMIC(unsigned, dynamic);
    out[2 * blockIdx.x] = fixed[3];
    out[2 * blockIdx.x + 1] = dynamic[3];
    fixed[3] = dynamic[3] = 1;
}

cudaError_t example_unwritten(unsigned *out, unsigned blocks)
{
    CUDA_LAUNCH(unwritten_kernel, blocks, 1, 16, 0, out);
    return cudaGetLastError();
}

/* ---- wrong ------------------------------------------------------------------------------------- */

static __device__ float deeper(volatile float *p, int depth)
{
    volatile float room[256];
    room[depth % 256] = p[0];
    return depth < 0 ? 0 : deeper(room, depth + 1) + room[depth % 256];
}

static __device__ void diverge(int what, unsigned t)
{
    if (what == WRONG_LEAVES && t == 5) return;
    if (what == WRONG_BRANCH && t < 32) __syncthreads();
    if (what == WRONG_WARP && t == 7) __shfl_sync(ALL, t, 0);
    if (what == WRONG_WARP && t != 7) __shfl_xor_sync(ALL, t, 1);
    if (what == WRONG_LANE && t != 7) __syncwarp();
    if (what == WRONG_MASK) __syncwarp(t == 9 ? 1u : ALL);
    if (what == WRONG_TWO && t < 32) {
        __syncthreads();
    } else {
        __syncthreads();
    }
}

static __global__ void wrong_kernel(int what, float *p, size_t n, float *null)
{
    CUDA_DYNAMIC(float, dynamic);
    unsigned t = threadIdx.x;
    if (what == WRONG_BEYOND && t == 0) p[n] = 1;
    if (what == WRONG_FAR && t == 1) p[0] = p[n + 100 * 1024];
    if (what == WRONG_BEFORE && t == 0) p[-1] = 1;
    if (what == WRONG_NULL && t == 3) p[0] = *null;
    if (what == WRONG_SHARED && t == 0) dynamic[5] = 1;
    if (what == WRONG_SHARED_FAR && t == 0) dynamic[5 + 1024] = 1;
    if (what == WRONG_STACK && t == 2) p[0] = deeper(p, 0);
    if (what == WRONG_TRAP && t == 4) __trap();
#ifdef TROTTER_CUDA_HOST /* a device's instructions are in cuda_mma.cuh */
    uint32_t r[4];
    if (what == WRONG_UNALIGNED) matrix_load(r, shared_at((uint16_t *)dynamic), t == 6 ? 4 : 0);
#endif
    diverge(what, t);
}

static __global__ void wrong_kernel_early(int what, float *p)
{
    float x = what == WRONG_HASTE ? p[0] : 1;
    if (what != WRONG_WAITLESS) CUDA_BEGIN();
    if (what != WRONG_WAITLESS) p[threadIdx.x] = x;
}

cudaError_t example_early(float *p, cudaStream_t s)
{
    CUDA_LAUNCH_EARLY(1, wrong_kernel_early, 1, 1, 0, s, WRONGS, p);
    return cudaGetLastError();
}

cudaError_t example_wrong(int what, float *p, size_t n)
{
    if (what == WRONG_HASTE || what == WRONG_WAITLESS)
        CUDA_LAUNCH_EARLY(0, wrong_kernel_early, 2, 64, 0, 0, what, p);
    else
        CUDA_LAUNCH(wrong_kernel, 2, 64, 20, 0, what, p, n, (float *)NULL);
    return cudaGetLastError();
}

static __global__ void empty_kernel() {}

cudaError_t example_shape(dim3 grid, dim3 block, size_t shared)
{
    CUDA_LAUNCH(empty_kernel, grid, block, shared, 0);
    return cudaGetLastError();
}
