/* variant.c: makes a program use the stand-in. It tests only the device's backends, with the threads of a
 * block in the order that TROTTER_CUDA_ORDER names (0 forward, 1 reverse, else a seed). TROTTER_CUDA_DEVICES:
 * the number of devices. TROTTER_CUDA_STREAMS: newest or oldest, the stream that goes ahead of the others;
 * work then runs when somebody waits for it. With TROTTER_CUDA_DEAF set no stream waits. With
 * TROTTER_CUDA_TF32 set factors of tf32 are rounded and not cut. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/host.h"

extern const char tested_prefix[];
const char tested_prefix[] = "cuda-";

static __attribute__((constructor)) void choose_order(void)
{
    const char *order = getenv("TROTTER_CUDA_ORDER"), *devices = getenv("TROTTER_CUDA_DEVICES");
    const char *streams = getenv("TROTTER_CUDA_STREAMS");
    if (order) cuda_host_order(strtoull(order, NULL, 10));
    if (devices) cuda_host.devices = atoi(devices);
    if (streams) {
        cuda_host_streams(strcmp(streams, "newest") == 0 ? CUDA_HOST_NEWEST : CUDA_HOST_OLDEST);
        cuda_host_lazy(1);
    }
    if (getenv("TROTTER_CUDA_TF32")) cuda_host_tf32 = CUDA_HOST_TF32_NEAREST;
    cuda_host_deaf = getenv("TROTTER_CUDA_DEAF") != NULL;
}
