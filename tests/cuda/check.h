/* check.h: shared by the tests of the CUDA stand-in: calls that must succeed, arrays on the device. */
#ifndef TROTTER_CUDA_CHECK_H
#define TROTTER_CUDA_CHECK_H

#include "tests/lib/test.h"

#include "tests/cuda/host.h"

#define OK(call) assert_string_equal(cudaGetErrorName(call), "cudaSuccess")
#define FAILS(code, call) assert_string_equal(cudaGetErrorName(call), cudaGetErrorName(code))

/* A right kernel is right in all of these orders; a wrong one is wrong in at least one. */
static const uint64_t check_orders[] = {CUDA_HOST_FORWARD, CUDA_HOST_REVERSE, 2, 3, 4, 5, 6, 7};
enum { CHECK_ORDERS = sizeof check_orders / sizeof *check_orders };

/* Arrays of the test that runs, which end with it. */
static void *device_arrays[1024];
static size_t device_count;

static inline void *device_new(size_t bytes)
{
    void *p = NULL;
    OK(cudaMalloc(&p, bytes));
    assert_true(device_count < sizeof device_arrays / sizeof *device_arrays);
    return device_arrays[device_count++] = p;
}

/* Returns a copy of `bytes` of x on the device. */
static inline void *device_copy(const void *x, size_t bytes)
{
    void *p = device_new(bytes);
    OK(cudaMemcpyAsync(p, x, bytes, cudaMemcpyHostToDevice, NULL));
    return p;
}

static inline void device_get(void *x, const void *p, size_t bytes)
{
    OK(cudaMemcpyAsync(x, p, bytes, cudaMemcpyDeviceToHost, NULL));
}

/* Ends the switches, faults, errors and arrays of one test with it. */
static inline int check_reset(void **state)
{
    (void)state;
    cuda_host_reset();
    cuda_host_order(CUDA_HOST_FORWARD);
    cuda_host_lazy(0);
    while (device_count > 0) cudaFree(device_arrays[--device_count]);
    cudaGetLastError(); /* of arrays that were freed before */
    return 0;
}

#define CHECKED(test) TEST_BETWEEN(test, check_reset, check_reset)

#endif
