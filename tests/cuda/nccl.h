/* nccl.h: the part of NCCL that this program uses, for a processor. Host tests include it in place of
 * NVIDIA's header. Names, argument orders and values are those of NCCL 2; tests/cuda/nccl.c is the
 * library. */
#ifndef TROTTER_CUDA_HOST_NCCL_H
#define TROTTER_CUDA_HOST_NCCL_H

#include <stddef.h>

#include "tests/cuda/cuda_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, value, text) */
#define NCCL_HOST_RESULTS(X)                                  \
    X(ncclSuccess, 0, "no error")                             \
    X(ncclUnhandledCudaError, 1, "unhandled cuda error")      \
    X(ncclSystemError, 2, "unhandled system error")           \
    X(ncclInternalError, 3, "internal error")                 \
    X(ncclInvalidArgument, 4, "invalid argument")             \
    X(ncclInvalidUsage, 5, "invalid usage")                   \
    X(ncclRemoteError, 6, "remote process exited or network") \
    X(ncclInProgress, 7, "operation in progress")

typedef enum {
#define X(name, value, text) name = value,
    NCCL_HOST_RESULTS(X)
#undef X
} ncclResult_t;

typedef enum { ncclSum = 0 } ncclRedOp_t;
typedef enum { ncclFloat32 = 7, ncclFloat64 = 8 } ncclDataType_t;
typedef struct {
    char internal[128];
} ncclUniqueId;
typedef struct NcclHost *ncclComm_t;

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);
ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
const char *ncclGetErrorString(ncclResult_t result);
const char *ncclGetLastError(ncclComm_t comm);

#ifdef __cplusplus
}
#endif
#endif
