/* device.h: the functions that kernels call, in C++17 or later for g++: built-in variables, barriers,
 * warp functions, atomics, arithmetic, and the launch. Included by tests/cuda/cuda_runtime.h.
 * Semantics: CUDA C++ Programming Guide, chapter "C++ Language Extensions". One OS thread runs all
 * threads of a grid. */
#ifndef TROTTER_CUDA_HOST_DEVICE_H
#define TROTTER_CUDA_HOST_DEVICE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <new>
#include <tuple>
#include <type_traits>

#include "tests/cuda/thread.h"

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))

/* All blocks share one copy, as they run one after another. The copies lie in one section, which is
 * filled with 0xA5 before each block. (g++ leaves those of templates outside it: they are not
 * filled.) */
#define __shared__ static __attribute__((section("cuda_host_shared")))

#define threadIdx (cuda_host_now->index)
#define blockIdx cuda_host_block_index
#define blockDim cuda_host_block_dim
#define gridDim cuda_host_grid_dim

/* ---- launch: see kernels/cuda/cuda.h ---- */
#define CUDA_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    cuda_host_submit(#kernel, 0, 0, kernel, grid, block, shared_bytes, stream, ##__VA_ARGS__)
#define CUDA_LAUNCH_EARLY(early, kernel, grid, block, shared_bytes, stream, ...) \
    cuda_host_submit(#kernel, 1, early, kernel, grid, block, shared_bytes, stream, ##__VA_ARGS__)
#define CUDA_BEGIN() cuda_host_wait()
#define CUDA_DYNAMIC(T, name) T *name = static_cast<T *>(cuda_host_dynamic)

extern "C" cudaError_t cuda_host_launch(const CudaHostLaunch *launch, cudaStream_t stream);

template <class... P> void cuda_host_thread(const void *kernel, const void *args)
{
    auto call = reinterpret_cast<void (*)(P...)>(const_cast<void *>(kernel));
    std::apply(call, *static_cast<const std::tuple<P...> *>(args));
}

/* Converts the arguments to the kernel's parameter types and keeps them by value. cudaGetLastError
 * returns the error of a launch next. */
template <class... P, class... A>
void cuda_host_submit(const char *name, int waits, int early, void (*kernel)(P...), dim3 grid,
                      dim3 block, size_t shared, cudaStream_t stream, A &&...args)
{
    static_assert(sizeof...(P) == sizeof...(A), "a launch with too many or too few arguments");
    static_assert((... && std::is_trivially_copyable<P>::value),
                  "a parameter that is no plain data");
    using Args = std::tuple<P...>;
    static_assert(sizeof(Args) <= 32764, "parameters of a kernel may take 32764 bytes");
    CudaHostLaunch launch{};
    launch.name = name;
    launch.waits = waits;
    launch.early = early;
    launch.kernel = reinterpret_cast<const void *>(kernel);
    launch.thread = cuda_host_thread<P...>;
    auto *kept = new (cuda_host_args(sizeof(Args))) Args(static_cast<P>(args)...);
    /* the bytes between members hold no address, whatever was there */
    std::apply([](auto &...a) { (__builtin_clear_padding(&a), ...); }, *kept);
    launch.args = kept;
    launch.args_bytes = sizeof(Args);
    launch.grid = grid;
    launch.block = block;
    launch.shared = shared;
    cuda_host_launch(&launch, stream);
}

/* ---- barriers and warps ---- */
#define CUDA_HOST_PLACE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(CUDA_HOST_PLACE)
{
    cuda_host_barrier(file, line);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, CUDA_HOST_PLACE)
{
    cuda_host_warp(CUDA_HOST_SYNC, mask, 0, 0, file, line);
}

template <class T>
T cuda_host_exchange(CudaHostWarp op, unsigned mask, T v, int arg, const char *file, int line)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves words of 4 or 8 bytes");
    unsigned long long word = 0;
    memcpy(&word, &v, sizeof v);
    word = cuda_host_warp(op, mask, word, arg, file, line);
    memcpy(&v, &word, sizeof v);
    return v;
}

template <class T> T __shfl_sync(unsigned mask, T v, int lane, CUDA_HOST_PLACE)
{
    return cuda_host_exchange(CUDA_HOST_SHUFFLE, mask, v, lane, file, line);
}

template <class T> T __shfl_xor_sync(unsigned mask, T v, int bits, CUDA_HOST_PLACE)
{
    return cuda_host_exchange(CUDA_HOST_XOR, mask, v, bits, file, line);
}

/* Blocks run one after another. */
inline void __threadfence(void) {}

inline unsigned atomicAdd(unsigned *p, unsigned v)
{
    unsigned old = *p;
    *p += v;
    return old;
}

inline void __trap(CUDA_HOST_PLACE)
{
    cuda_host_trap(file, line);
}

template <class To, class From> To cuda_host_bits(From v)
{
    static_assert(sizeof(To) == sizeof(From), "bits of another size");
    To r;
    memcpy(&r, &v, sizeof r);
    return r;
}

#define CUDA_HOST_INLINE(head, expression) \
    inline head                            \
    {                                      \
        return expression;                 \
    }
CUDA_HOST_INLINE(unsigned __float_as_uint(float v), cuda_host_bits<unsigned>(v))
CUDA_HOST_INLINE(float __uint_as_float(unsigned v), cuda_host_bits<float>(v))

/* ---- arithmetic: *_rn are rounded once ---- */
CUDA_HOST_INLINE(float __fmul_rn(float a, float b), a *b)
CUDA_HOST_INLINE(float __fmaf_rn(float a, float b, float c), fmaf(a, b, c))
CUDA_HOST_INLINE(int min(int a, int b), b < a ? b : a)
CUDA_HOST_INLINE(int max(int a, int b), a < b ? b : a)
#undef CUDA_HOST_INLINE

#endif
