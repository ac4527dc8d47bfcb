/* variant.c: makes a test program one of the stand-in's: it tests the device's backends alone, with the
 * threads of a block in the order that TROTTER_CUDA_ORDER names (0 forward, 1 reverse, else a seed). */
#include <stdlib.h>

#include "tests/cuda/host.h"

extern const char tested_prefix[];
const char tested_prefix[] = "cuda-";

static __attribute__((constructor)) void choose_order(void)
{
    const char *order = getenv("TROTTER_CUDA_ORDER");
    if (order) cuda_host_order(strtoull(order, NULL, 10));
}
