/* cuda.h: the CUDA runtime, and two macros through which kernels are launched and find their shared
 * memory, so that the same source compiles with nvcc and, in tests on a machine without a device, with g++ against
 * the stand-in of tests/cuda (-x c++ -DTROTTER_CUDA_HOST -Itests/cuda).
 *
 *     CUDA_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...)
 *         kernel<<<grid, block, shared_bytes, stream>>>(arguments...); a template's name stands in
 *         parentheses: CUDA_LAUNCH((scale<4, true>), blocks, 256, 0, stream, x, n). Failures are
 *         what cudaGetLastError says next.
 *     CUDA_LAUNCH_EARLY(early, kernel, ...)
 *         CUDA_LAUNCH of a kernel that begins with CUDA_BEGIN(). Where `early`, its blocks may take their places while
 *         the kernel before it in the stream still runs: a programmatic dependent launch, by CUDA 12.3 and later.
 *     CUDA_BEGIN()
 *         lets the next kernel take its places, and waits until all that the one before wrote is there.
 *     CUDA_DYNAMIC(T, name)
 *         in a kernel: T *name, the launch's dynamic shared memory, aligned to 16 bytes.
 *
 * Rules that keep a kernel within both: no triple brackets, no cooperative groups, no inline PTX but in cuda_mma.cuh
 * (whose functions the stand-in has too), no dynamic shared memory but through the macro, every thread of a block at
 * every __syncthreads.
 */
#ifndef TROTTER_KERNELS_CUDA_H
#define TROTTER_KERNELS_CUDA_H

#include <cuda_runtime.h>

#ifndef TROTTER_CUDA_HOST
#define CUDA_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
    kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)
#define CUDA_EARLY (CUDART_VERSION >= 12030)
#if CUDA_EARLY
template <class... P, class... A>
static void cuda_launch_early(int early, void (*kernel)(P...), dim3 grid, dim3 block,
                              size_t shared_bytes, cudaStream_t stream, A... arguments)
{
    cudaLaunchConfig_t c = {};
    cudaLaunchAttribute a[1] = {};
    a->id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a->val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = grid;
    c.blockDim = block;
    c.dynamicSmemBytes = shared_bytes;
    c.stream = stream;
    c.attrs = a;
    c.numAttrs = early != 0;
    (void)cudaLaunchKernelEx(&c, kernel, static_cast<P>(arguments)...);
}
#define CUDA_LAUNCH_EARLY(early, kernel, ...) cuda_launch_early(early, kernel, __VA_ARGS__)
#else
#define CUDA_LAUNCH_EARLY(early, ...) CUDA_LAUNCH(__VA_ARGS__)
#endif
#if CUDA_EARLY && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define CUDA_BEGIN() (cudaTriggerProgrammaticLaunchCompletion(), cudaGridDependencySynchronize())
#else
#define CUDA_BEGIN() ((void)0)
#endif
#define CUDA_DYNAMIC(T, name)                                     \
    extern __shared__ __align__(16) unsigned char cuda_dynamic[]; \
    T *name = reinterpret_cast<T *>(cuda_dynamic)
#endif

#endif
