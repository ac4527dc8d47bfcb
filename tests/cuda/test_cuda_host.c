/* test_cuda_host.c: the stand-in for the CUDA runtime as kernels meet it: right kernels are right in every
 * order of threads, every left-out barrier shows in some order, and a forbidden act of a kernel is
 * reported in a line. tests/cuda/example.h has the kernels. */
#include "tests/cuda/check.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/random.h"
#include "tests/cuda/example.h"

enum { N = 1000, SIDE = 21 };

/* Fills x with whole numbers in -8..8: every sum below 2^24 is exact, in any order. */
static void whole_numbers(float *x, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)(int)(random_below(77, stream, i, 17)) - 8;
}

/* ---- a kernel with barriers: 1 where the result is right ------------------------------------------ */

static int product_is_right(int skip)
{
    float a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
    int right = 1;
    whole_numbers(a, SIDE * SIDE, 3);
    whole_numbers(b, SIDE * SIDE, 4);
    float *da = device_copy(a, sizeof a), *db = device_copy(b, sizeof b),
          *dc = device_new(sizeof c);
    OK(example_product(skip, da, db, dc, SIDE, NULL));
    device_get(c, dc, sizeof c);
    for (size_t i = 0; i < SIDE; i++)
        for (size_t j = 0; j < SIDE; j++) {
            float want = 0;
            for (size_t k = 0; k < SIDE; k++) want += a[i * SIDE + k] * b[k * SIDE + j];
            right &= c[i * SIDE + j] == want;
        }
    return right;
}

#ifdef CUDA_HOST_RACE /* make check-race: only kernels without planted errors run in this process */
/* A planted race is reported in a child, since the report ends the program. 66: ThreadSanitizer's exit
 * status. */
CHECKED(a_planted_race_is_reported)
{
    for (int skip = 1; skip <= PRODUCT_SKIPS; skip++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            product_is_right(skip);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 66)
            fail_msg("without barrier %d: status %d", skip, status);
    }
}
#else
CHECKED(every_missing_barrier_shows)
{
    for (int skip = 1; skip <= PRODUCT_SKIPS; skip++) {
        int caught = 0;
        for (size_t o = 0; o < CHECK_ORDERS; o++) {
            cuda_host_order(check_orders[o]);
            caught += !product_is_right(skip);
        }
        print_message("# without barrier %d: wrong in %d of %d orders\n", skip, caught,
                      CHECK_ORDERS);
        assert_true(caught > 0);
    }
}
#endif

CHECKED(right_in_every_order)
{
    for (size_t o = 0; o < CHECK_ORDERS; o++) {
        cuda_host_order(check_orders[o]);
        if (!product_is_right(0)) fail_msg("order %d", (int)check_orders[o]);
    }
    assert_string_equal(cuda_host_fault(), "");
}

/* ---- warps ------------------------------------------------------------------------------------- */

CHECKED(warp_functions_do_what_the_guide_says)
{
    static const int threads[] = {32, 64, 45};
    unsigned got[64], *out = device_new(sizeof got);
    for (size_t o = 0; o < 3; o++)
        for (size_t n = 0; n < 3; n++)
            for (int f = 0; f < WARP_FUNCTIONS; f++)
                for (int arg = 0; arg < 37; arg += 3) {
                    cuda_host_order(check_orders[o]);
                    if (f == WARP_XOR && arg >= 32) continue;
                    OK(example_warp(f, arg, out, (unsigned)threads[n]));
                    device_get(got, out, sizeof got);
                    for (int t = 0; t < threads[n]; t++) {
                        int from = t / 32 * 32 + (f == WARP_XOR ? t % 32 ^ arg : arg % 32);
                        assert_int_equal(got[t], from < threads[n] ? 100 + (unsigned)from : ~0u);
                    }
                }
}

/* ---- unwritten memory -------------------------------------------------------------------------- */

#ifndef CUDA_HOST_RACE
CHECKED(unwritten_memory_is_poison)
{
    float x[N];
    unsigned words[6];
    float *p = device_new(sizeof x);
    device_get(x, p, sizeof x);
    for (size_t i = 0; i < N; i++) assert_true(isnan(x[i]));
    unsigned *out = device_new(sizeof words);
    OK(example_unwritten(out, 3));
    device_get(words, out, sizeof words);
    for (size_t i = 0; i < 6; i++) assert_int_equal(words[i], 0xa5a5a5a5u);
}

/* ---- errors of kernels ------------------------------------------------------------------------- */

static const struct {
    int what;
    cudaError_t code;
    const char *says, *also; /* words of the line */
} wrongs[] = {{WRONG_LEAVES, cudaErrorLaunchFailure, "divergence", "thread (5,0,0) left"},
              {WRONG_BRANCH, cudaErrorLaunchFailure, "divergence", "two barriers"},
              {WRONG_TWO, cudaErrorLaunchFailure, "divergence", "two barriers"},
              {WRONG_WARP, cudaErrorLaunchFailure, "divergence", "different collectives"},
              {WRONG_LANE, cudaErrorLaunchFailure, "divergence", "waits for its warp"},
              {WRONG_MASK, cudaErrorLaunchFailure, "mask without its own lane", "thread (9,0,0)"},
              {WRONG_TRAP, cudaErrorLaunchFailure, "trap at", "thread (4,0,0)"},
              {WRONG_BEYOND, cudaErrorIllegalAddress, "beside the device allocation", ""},
              {WRONG_FAR, cudaErrorIllegalAddress, "illegal access", "thread (1,0,0)"},
              {WRONG_BEFORE, cudaErrorIllegalAddress, "beside the device allocation", ""},
              {WRONG_NULL, cudaErrorIllegalAddress, "no memory of the device", "thread (3,0,0)"},
              {WRONG_SHARED, cudaErrorLaunchFailure, "behind dynamic shared memory", ""},
              {WRONG_SHARED_FAR, cudaErrorIllegalAddress, "illegal access", "thread (0,0,0)"},
              {WRONG_STACK, cudaErrorIllegalAddress, "the end of its stack", "thread (2,0,0)"},
              {WRONG_UNALIGNED, cudaErrorLaunchFailure, "trap at", "thread (6,0,0)"},
              {WRONG_HASTE, cudaErrorIllegalAddress, "before it waits for the kernel before", ""},
              {WRONG_WAITLESS, cudaErrorLaunchFailure, "does not wait for the kernel before", ""}};

CHECKED(misbehaviour_is_told_in_a_line)
{
    assert_int_equal(sizeof wrongs / sizeof *wrongs, WRONGS);
    for (size_t w = 0; w < WRONGS; w++)
        for (size_t o = 0; o < CHECK_ORDERS; o++) {
#ifdef __SANITIZE_ADDRESS__ /* ends the program by itself, which is as clear */
            int what = wrongs[w].what;
            if (what == WRONG_BEYOND || what == WRONG_BEFORE || what == WRONG_NULL) continue;
#endif
            cuda_host_order(check_orders[o]);
            float *p = device_new(100 * sizeof *p);
            FAILS(wrongs[w].code, example_wrong(wrongs[w].what, p, 100));
            const char *line = cuda_host_fault();
            if (!strstr(line, "wrong_kernel"))
                fail_msg("%d: no kernel in: %s", wrongs[w].what, line);
            if (!strstr(line, wrongs[w].says) || !strstr(line, wrongs[w].also))
                fail_msg("%d: %s", wrongs[w].what, line);
            FAILS(wrongs[w].code, cudaStreamSynchronize(NULL)); /* and stays */
            FAILS(wrongs[w].code, cudaGetLastError());
            cuda_host_reset();
            assert_true(product_is_right(0)); /* nothing is left behind */
        }
}

CHECKED(arguments_are_looked_at)
{
    float x[4] = {1, 2, 3, 4};
    float *y = device_copy(x, sizeof x), *z = device_copy(x, sizeof x);
    OK(example_add((ExampleTerm){2, 0, y}, z, 4, NULL));
    OK(cudaFree(y));
    FAILS(cudaErrorIllegalAddress, example_add((ExampleTerm){2, 0, y}, z, 4, NULL)); /* freed */
    assert_non_null(strstr(cuda_host_fault(), "not allocated"));
    cuda_host_reset();
    FAILS(cudaErrorIllegalAddress, example_add((ExampleTerm){2, 0, x}, z, 4, NULL)); /* host */
    assert_non_null(strstr(cuda_host_fault(), "memory of the host"));
    cuda_host_reset();
    device_get(x, z, sizeof x);
    for (int i = 0; i < 4; i++) assert_true(x[i] == 3 * (float)(i + 1)); /* once: neither ran */
}

/* A kernel may be launched early behind another, but not behind a copy or in an empty stream. */
CHECKED(early_launches_are_behind_kernels)
{
    float x = 0, *p = device_new(sizeof x);
    cudaStream_t s;
    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    for (int kernel = 0; kernel < 2; kernel++) {
        if (kernel) OK(example_add((ExampleTerm){2, 0, p}, p, 1, s));
        if (kernel) OK(example_early(p, s));
        OK(cudaMemsetAsync(p, 0, sizeof x, s));
        FAILS(cudaErrorInvalidValue, example_early(p, s));
        assert_non_null(strstr(cuda_host_fault(), "not behind a kernel"));
        cuda_host_reset();
    }
    OK(cudaStreamDestroy(s));
}

CHECKED(launches_have_limits)
{
    OK(example_shape((dim3){1, 1, 1}, (dim3){32, 32, 1}, 48 * 1024));
    FAILS(cudaErrorInvalidConfiguration, example_shape((dim3){1, 1, 1}, (dim3){1025, 1, 1}, 0));
    FAILS(cudaErrorInvalidConfiguration, example_shape((dim3){1, 1, 1}, (dim3){1, 1, 65}, 0));
    FAILS(cudaErrorInvalidConfiguration, example_shape((dim3){0, 1, 1}, (dim3){1, 1, 1}, 0));
    FAILS(cudaErrorInvalidConfiguration, example_shape((dim3){1, 65536, 1}, (dim3){1, 1, 1}, 0));
    FAILS(cudaErrorInvalidValue, example_shape((dim3){1, 1, 1}, (dim3){1, 1, 1}, 48 * 1024 + 1));
    OK(cudaStreamSynchronize(NULL));
}
#endif

TEST_MAIN(NULL, NULL)
