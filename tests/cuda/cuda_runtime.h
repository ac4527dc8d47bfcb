/* cuda_runtime.h: the part of the CUDA runtime that this program uses, for a processor alone.
 *
 * Host tests include it in place of NVIDIA's header when they compile the kernels' source (g++ -x c++
 * -DTROTTER_CUDA_HOST -Itests/cuda) and the C files that drive it. Names, argument orders and values
 * are those of the CUDA runtime API (version 13). The head of tests/cuda/runtime.c says how each call
 * behaves and what this stand-in cannot see. The switches that only tests use are in
 * tests/cuda/host.h; the functions that kernels call (C++) are in tests/cuda/device.h and
 * tests/cuda/matrix.h.
 */
#ifndef TROTTER_CUDA_HOST_RUNTIME_H
#define TROTTER_CUDA_HOST_RUNTIME_H

#include <stddef.h>

#include "tests/cuda/vector.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUDART_VERSION 13000

/* X(name, value, text) */
#define CUDA_HOST_ERRORS(X)                                                                \
    X(cudaSuccess, 0, "no error")                                                          \
    X(cudaErrorInvalidValue, 1, "invalid argument")                                        \
    X(cudaErrorMemoryAllocation, 2, "out of memory")                                       \
    X(cudaErrorInitializationError, 3, "initialization error")                             \
    X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")                  \
    X(cudaErrorInvalidDevicePointer, 17, "invalid device pointer")                         \
    X(cudaErrorInvalidMemcpyDirection, 21, "invalid copy direction")                       \
    X(cudaErrorInsufficientDriver, 35, "driver version is older than the runtime's")       \
    X(cudaErrorDevicesUnavailable, 46, "device is busy or unavailable")                    \
    X(cudaErrorInvalidDeviceFunction, 98, "invalid device function")                       \
    X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")                        \
    X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                               \
    X(cudaErrorNoKernelImageForDevice, 209, "no kernel image for this device")             \
    X(cudaErrorECCUncorrectable, 214, "uncorrectable ECC error")                           \
    X(cudaErrorNvlinkUncorrectable, 220, "uncorrectable NVLink error")                     \
    X(cudaErrorContained, 226, "a contained error")                                        \
    X(cudaErrorUnsupportedPtxVersion, 222, "PTX was compiled with an unsupported toolkit") \
    X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")                      \
    X(cudaErrorIllegalState, 401, "operation not permitted in the present state")          \
    X(cudaErrorNotReady, 600, "device not ready")                                          \
    X(cudaErrorIllegalAddress, 700, "an illegal memory access was met")                    \
    X(cudaErrorLaunchOutOfResources, 701, "too many resources requested for launch")       \
    X(cudaErrorLaunchTimeout, 702, "the launch took too long")                             \
    X(cudaErrorAssert, 710, "an assert in a kernel was triggered")                         \
    X(cudaErrorHardwareStackError, 714, "hardware stack error")                            \
    X(cudaErrorIllegalInstruction, 715, "an illegal instruction was met")                  \
    X(cudaErrorMisalignedAddress, 716, "misaligned address")                               \
    X(cudaErrorInvalidAddressSpace, 717, "operation on another address space")             \
    X(cudaErrorInvalidPc, 718, "invalid program counter")                                  \
    X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                           \
    X(cudaErrorTensorMemoryLeak, 721, "tensor memory is not freed")                        \
    X(cudaErrorNotSupported, 801, "operation not supported")                               \
    X(cudaErrorMpsClientTerminated, 810, "the MPS server ended this client")               \
    X(cudaErrorStreamCaptureUnsupported, 900, "operation not permitted while capturing")   \
    X(cudaErrorStreamCaptureInvalidated, 901, "capture failed by an earlier error")        \
    X(cudaErrorStreamCaptureUnmatched, 903, "capture was not begun in this stream")        \
    X(cudaErrorStreamCaptureUnjoined, 904, "capture left a stream unjoined")               \
    X(cudaErrorStreamCaptureImplicit, 906, "operation depends on the default stream")      \
    X(cudaErrorUnknown, 999, "unknown error")

typedef enum cudaError {
#define X(name, value, text) name = value,
    CUDA_HOST_ERRORS(X)
#undef X
} cudaError_t;

typedef enum cudaMemcpyKind {
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3
} cudaMemcpyKind;

typedef enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 } cudaStreamCaptureMode;

typedef enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrL2CacheSize = 38,
    cudaDevAttrPciBusId = 33,
    cudaDevAttrPciDeviceId = 34,
    cudaDevAttrPciDomainId = 50,
    cudaDevAttrComputeCapabilityMajor = 75,
    cudaDevAttrComputeCapabilityMinor = 76
} cudaDeviceAttr;

enum { cudaStreamNonBlocking = 1, cudaEventDisableTiming = 2 };

typedef struct {
    int ptxVersion;
} cudaFuncAttributes;

typedef struct CudaHostStream *cudaStream_t;
typedef struct CudaHostEvent *cudaEvent_t;
typedef struct CudaHostGraph *cudaGraph_t;
typedef struct CudaHostGraph *cudaGraphExec_t;

cudaError_t cudaGetDeviceCount(int *count);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attr, int device);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *kernel);
cudaError_t cudaDriverGetVersion(int *version);
cudaError_t cudaRuntimeGetVersion(int *version);

cudaError_t cudaGetLastError(void);
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);

cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMallocHost(void **p, size_t bytes);
cudaError_t cudaFreeHost(void *p);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);
cudaError_t cudaEventCreate(cudaEvent_t *event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph,
                                          unsigned long long flags);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);

#ifdef __cplusplus
}

template <class T> inline cudaError_t cudaMalloc(T **p, size_t bytes)
{
    return ::cudaMalloc(reinterpret_cast<void **>(p), bytes);
}

template <class T> inline cudaError_t cudaMallocHost(T **p, size_t bytes)
{
    return ::cudaMallocHost(reinterpret_cast<void **>(p), bytes);
}

#include "tests/cuda/device.h"
#include "tests/cuda/matrix.h"
#endif
#endif
