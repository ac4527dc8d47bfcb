/* cuda.h: the CUDA runtime, and two macros through which kernels are launched and find their shared
 * memory, so that the same source compiles with nvcc and, in tests on a machine without a device, with g++ against
 * the stand-in of tests/cuda (-x c++ -DTROTTER_CUDA_HOST -Itests/cuda).
 *
 *     CUDA_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...)
 *         kernel<<<grid, block, shared_bytes, stream>>>(arguments...); a template's name stands in
 *         parentheses: CUDA_LAUNCH((scale<4, true>), blocks, 256, 0, stream, x, n). Failures are
 *         what cudaGetLastError says next.
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
#define CUDA_DYNAMIC(T, name)                                     \
    extern __shared__ __align__(16) unsigned char cuda_dynamic[]; \
    T *name = reinterpret_cast<T *>(cuda_dynamic)
#endif

#endif
