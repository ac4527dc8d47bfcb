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
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __constant__
#ifndef __restrict__
#define __restrict__ __restrict
#endif

/* All blocks share one copy, as they run one after another. The copies lie in one section, which is
 * filled with 0xA5 before each block. (g++ leaves those of templates outside it: they are not
 * filled.) */
#define __shared__ static __attribute__((section("cuda_host_shared")))

#define threadIdx (cuda_host_now->index)
#define blockIdx cuda_host_block_index
#define blockDim cuda_host_block_dim
#define gridDim cuda_host_grid_dim
constexpr int warpSize = 32;

/* ---- launch: see kernels/cuda/cuda.h ---- */
#define CUDA_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    cuda_host_submit(#kernel, kernel, grid, block, shared_bytes, stream, ##__VA_ARGS__)
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
void cuda_host_submit(const char *name, void (*kernel)(P...), dim3 grid, dim3 block, size_t shared,
                      cudaStream_t stream, A &&...args)
{
    static_assert(sizeof...(P) == sizeof...(A), "a launch with too many or too few arguments");
    static_assert((... && std::is_trivially_copyable<P>::value),
                  "a parameter that is no plain data");
    using Args = std::tuple<P...>;
    static_assert(sizeof(Args) <= 32764, "parameters of a kernel may take 32764 bytes");
    CudaHostLaunch launch{};
    launch.name = name;
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
    cuda_host_barrier(0, file, line);
}

inline int __syncthreads_count(int value, CUDA_HOST_PLACE)
{
    return cuda_host_barrier(value, file, line);
}

inline int __syncthreads_or(int value, CUDA_HOST_PLACE)
{
    return cuda_host_barrier(value, file, line) != 0;
}

inline int __syncthreads_and(int value, CUDA_HOST_PLACE)
{
    return cuda_host_barrier(!value, file, line) == 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu, CUDA_HOST_PLACE)
{
    cuda_host_warp(CUDA_HOST_SYNC, mask, 0, 0, 32, file, line);
}

template <class T>
T cuda_host_exchange(CudaHostWarp op, unsigned mask, T v, int arg, int width, const char *file,
                     int line)
{
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "a shuffle moves words of 4 or 8 bytes");
    unsigned long long word = 0;
    memcpy(&word, &v, sizeof v);
    word = cuda_host_warp(op, mask, word, arg, width, file, line);
    memcpy(&v, &word, sizeof v);
    return v;
}

template <class T> T __shfl_sync(unsigned mask, T v, int lane, int width = 32, CUDA_HOST_PLACE)
{
    return cuda_host_exchange(CUDA_HOST_SHUFFLE, mask, v, lane, width, file, line);
}

template <class T> T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32, CUDA_HOST_PLACE)
{
    return cuda_host_exchange(CUDA_HOST_XOR, mask, v, bits, width, file, line);
}

template <class T>
T __shfl_up_sync(unsigned mask, T v, unsigned delta, int width = 32, CUDA_HOST_PLACE)
{
    return cuda_host_exchange(CUDA_HOST_UP, mask, v, static_cast<int>(delta), width, file, line);
}

template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned delta, int width = 32, CUDA_HOST_PLACE)
{
    return cuda_host_exchange(CUDA_HOST_DOWN, mask, v, static_cast<int>(delta), width, file, line);
}

inline unsigned __ballot_sync(unsigned mask, int value, CUDA_HOST_PLACE)
{
    return static_cast<unsigned>(
        cuda_host_warp(CUDA_HOST_BALLOT, mask, value != 0, 0, 32, file, line));
}

inline int __any_sync(unsigned mask, int value, CUDA_HOST_PLACE)
{
    return cuda_host_warp(CUDA_HOST_BALLOT, mask, value != 0, 0, 32, file, line) != 0;
}

inline int __all_sync(unsigned mask, int value, CUDA_HOST_PLACE)
{
    return cuda_host_warp(CUDA_HOST_BALLOT, mask, value == 0, 0, 32, file, line) == 0;
}

template <class T> unsigned __match_any_sync(unsigned mask, T v, CUDA_HOST_PLACE)
{
    unsigned long long word = 0;
    memcpy(&word, &v, sizeof v);
    return static_cast<unsigned>(cuda_host_warp(CUDA_HOST_MATCH, mask, word, 0, 32, file, line));
}

inline void __threadfence() {}

inline void __threadfence_block() {}

inline void __trap(CUDA_HOST_PLACE)
{
    cuda_host_trap(file, line);
}

/* ---- atomics: relaxed, as on the device; each returns the old value ---- */
template <class T, class F> T cuda_host_atomic(T *p, F next)
{
    T old, now;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    do now = next(old);
    while (!__atomic_compare_exchange(p, &old, &now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

#define CUDA_HOST_ATOMICS(T)                                                        \
    inline T atomicAdd(T *p, T v)                                                   \
    {                                                                               \
        return cuda_host_atomic(p, [v](T old) { return static_cast<T>(old + v); }); \
    }                                                                               \
    inline T atomicExch(T *p, T v)                                                  \
    {                                                                               \
        return cuda_host_atomic(p, [v](T) { return v; });                           \
    }
#define CUDA_HOST_INTEGER_ATOMICS(T)                                                  \
    CUDA_HOST_ATOMICS(T)                                                              \
    inline T atomicMax(T *p, T v)                                                     \
    {                                                                                 \
        return cuda_host_atomic(p, [v](T old) { return old < v ? v : old; });         \
    }                                                                                 \
    inline T atomicMin(T *p, T v)                                                     \
    {                                                                                 \
        return cuda_host_atomic(p, [v](T old) { return v < old ? v : old; });         \
    }                                                                                 \
    inline T atomicAnd(T *p, T v)                                                     \
    {                                                                                 \
        return cuda_host_atomic(p, [v](T old) { return static_cast<T>(old & v); });   \
    }                                                                                 \
    inline T atomicOr(T *p, T v)                                                      \
    {                                                                                 \
        return cuda_host_atomic(p, [v](T old) { return static_cast<T>(old | v); });   \
    }                                                                                 \
    inline T atomicCAS(T *p, T expected, T v)                                         \
    {                                                                                 \
        return cuda_host_atomic(p, [=](T old) { return old == expected ? v : old; }); \
    }
CUDA_HOST_ATOMICS(float)
CUDA_HOST_ATOMICS(double)
CUDA_HOST_INTEGER_ATOMICS(int)
CUDA_HOST_INTEGER_ATOMICS(unsigned int)
CUDA_HOST_INTEGER_ATOMICS(unsigned long long)
#undef CUDA_HOST_ATOMICS
#undef CUDA_HOST_INTEGER_ATOMICS

/* ---- loads, stores, bits ---- */
template <class T> T __ldg(const T *p)
{
    return *p;
}

template <class T> T __ldcg(const T *p)
{
    return *p;
}

template <class T> T __ldcs(const T *p)
{
    return *p;
}

template <class T> void __stcg(T *p, T v)
{
    *p = v;
}

template <class T> void __stcs(T *p, T v)
{
    *p = v;
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
CUDA_HOST_INLINE(int __float_as_int(float v), cuda_host_bits<int>(v))
CUDA_HOST_INLINE(unsigned __float_as_uint(float v), cuda_host_bits<unsigned>(v))
CUDA_HOST_INLINE(float __int_as_float(int v), cuda_host_bits<float>(v))
CUDA_HOST_INLINE(float __uint_as_float(unsigned v), cuda_host_bits<float>(v))
CUDA_HOST_INLINE(int __popc(unsigned v), __builtin_popcount(v))
CUDA_HOST_INLINE(int __popcll(unsigned long long v), __builtin_popcountll(v))
CUDA_HOST_INLINE(int __clz(int v), v ? __builtin_clz(static_cast<unsigned>(v)) : 32)
CUDA_HOST_INLINE(int __ffs(int v), __builtin_ffs(v))
CUDA_HOST_INLINE(unsigned __umulhi(unsigned a, unsigned b),
                 static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32))
CUDA_HOST_INLINE(int __mulhi(int a, int b), static_cast<int>(static_cast<long long>(a) * b >> 32))
CUDA_HOST_INLINE(unsigned long long __umul64hi(unsigned long long a, unsigned long long b),
                 static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64))

/* ---- arithmetic: the fast forms are the exact ones of libm; __*_rn are rounded once ---- */
CUDA_HOST_INLINE(float cuda_host_rsqrtf(float x), 1.0f / sqrtf(x))
CUDA_HOST_INLINE(double cuda_host_rsqrt(double x), 1.0 / sqrt(x))
/* some C library declares these names */
#define rsqrtf cuda_host_rsqrtf
#define rsqrt cuda_host_rsqrt
#define __expf expf
#define __exp10f exp10f
#define __logf logf
#define __log2f log2f
#define __sinf sinf
#define __cosf cosf
#define __powf powf
#define __tanhf tanhf
CUDA_HOST_INLINE(float __fdividef(float a, float b), a / b)
CUDA_HOST_INLINE(float __fdiv_rn(float a, float b), a / b)
CUDA_HOST_INLINE(float __frcp_rn(float x), 1.0f / x)
CUDA_HOST_INLINE(float __fsqrt_rn(float x), sqrtf(x))
CUDA_HOST_INLINE(float __fadd_rn(float a, float b), a + b)
CUDA_HOST_INLINE(float __fsub_rn(float a, float b), a - b)
CUDA_HOST_INLINE(float __fmul_rn(float a, float b), a *b)
CUDA_HOST_INLINE(float __fmaf_rn(float a, float b, float c), fmaf(a, b, c))
CUDA_HOST_INLINE(float __saturatef(float x), x > 0 ? (x < 1 ? x : 1.0f) : 0.0f)
CUDA_HOST_INLINE(float __double2float_rn(double x), static_cast<float>(x))
CUDA_HOST_INLINE(float __uint2float_rn(unsigned x), static_cast<float>(x))
CUDA_HOST_INLINE(float __int2float_rn(int x), static_cast<float>(x))
CUDA_HOST_INLINE(int __float2int_rn(float x), static_cast<int>(rintf(x)))
CUDA_HOST_INLINE(int __float2int_rz(float x), static_cast<int>(x))

#define CUDA_HOST_EXTREMES(T)                        \
    CUDA_HOST_INLINE(T min(T a, T b), b < a ? b : a) \
    CUDA_HOST_INLINE(T max(T a, T b), a < b ? b : a)
CUDA_HOST_EXTREMES(int)
CUDA_HOST_EXTREMES(unsigned int)
CUDA_HOST_EXTREMES(long)
CUDA_HOST_EXTREMES(unsigned long)
CUDA_HOST_EXTREMES(long long)
CUDA_HOST_EXTREMES(unsigned long long)
CUDA_HOST_INLINE(float min(float a, float b), fminf(a, b))
CUDA_HOST_INLINE(float max(float a, float b), fmaxf(a, b))
CUDA_HOST_INLINE(double min(double a, double b), fmin(a, b))
CUDA_HOST_INLINE(double max(double a, double b), fmax(a, b))
#undef CUDA_HOST_EXTREMES
#undef CUDA_HOST_INLINE

#endif
