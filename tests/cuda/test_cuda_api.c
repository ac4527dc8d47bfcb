/* test_cuda_api.c: the stand-in for the CUDA runtime as the host meets it: memory, streams, capture. test_failures.c has
 * the failures that a test can ask for. */
#include "tests/cuda/check.h"

#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda/cublas_v2.h"
#include "tests/cuda/example.h"

enum { N = 300 };

static void ramp(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = (float)i;
}

/* ---- memory ------------------------------------------------------------------------------------ */

CHECKED(copies_arrive)
{
    float x[N], y[N];
    ramp(x, N);
    float *a = device_copy(x, sizeof x), *b = device_new(sizeof x);
    assert_int_equal((uintptr_t)a % 256, 0);
    assert_int_equal(cuda_seen.live, 2);
    assert_int_equal(cuda_seen.live_bytes, 2 * sizeof x);
    OK(cudaMemcpyAsync(b, a, sizeof x, cudaMemcpyDeviceToDevice, NULL));
    OK(cudaMemsetAsync(b + 5, 0, 2 * sizeof *b, NULL));
    OK(cudaMemcpyAsync(y, b, sizeof y, cudaMemcpyDeviceToHost, NULL));
    x[5] = x[6] = 0;
    assert_memory_equal(x, y, sizeof x);
    OK(cudaFree(a));
    OK(cudaFree(b));
    OK(cudaFree(NULL));
    assert_int_equal(cuda_seen.live, 0);
}

CHECKED(bad_copies_are_refused)
{
    float x[N] = {0};
    float *a = device_new(sizeof x);
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(a, x, sizeof x + 1, cudaMemcpyHostToDevice, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(a + 1, x, sizeof x, cudaMemcpyHostToDevice, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(x, a - 1, 8, cudaMemcpyDeviceToHost, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(x, a, sizeof x, cudaMemcpyHostToDevice, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(x, x + 1, 4, cudaMemcpyDeviceToHost, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(x, 0, 4, NULL));
    FAILS(cudaErrorInvalidValue, cudaMemsetAsync(a, 0, sizeof x + 1, NULL));
    FAILS(cudaErrorInvalidValue, cudaFree(a + 1));
    FAILS(cudaErrorInvalidValue, cudaFree(x));
    OK(cudaFree(a));
    FAILS(cudaErrorInvalidValue, cudaFree(a));
    FAILS(cudaErrorInvalidValue, cudaMemcpyAsync(x, a, 4, cudaMemcpyDeviceToHost, NULL));
    FAILS(cudaErrorInvalidValue, cudaGetLastError()); /* the last one, once */
    OK(cudaGetLastError());
}

CHECKED(the_device_runs_full)
{
    void *p[3];
    size_t free_bytes, total;
    cuda_host.fail_malloc = 2;
    OK(cudaMalloc(&p[0], 100));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&p[1], 100));
    assert_null(p[1]);
    OK(cudaMalloc(&p[1], 100));
    cuda_host.memory = 1000;
    OK(cudaMemGetInfo(&free_bytes, &total));
    assert_int_equal(total, 1000);
    assert_int_equal(free_bytes, 800);
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&p[2], 801));
    FAILS(cudaErrorMemoryAllocation, cudaMalloc(&p[2], SIZE_MAX));
    OK(cudaMalloc(&p[2], 800));
    for (int i = 0; i < 3; i++) OK(cudaFree(p[i]));
    OK(cudaStreamSynchronize(NULL)); /* a full device is no fault */
}

/* Runs f(p) in a child and returns 1 where it died; `text` gets what it wrote to stderr. */
static int dies(void (*f)(float *), float *p, char *text, size_t bytes)
{
    int fd[2], status;
    assert_int_equal(pipe(fd), 0);
    pid_t child = fork();
    if (child == 0) {
        void *q;
        signal(SIGSEGV, SIG_DFL); /* cmocka's handler would go on with the tests in the child */
        cudaMalloc(&q, 4);        /* the stand-in's own, above it */
        dup2(fd[1], STDERR_FILENO);
        close(fd[0]);
        f(p);
        _exit(0);
    }
    close(fd[1]);
    size_t n = 0;
    for (ssize_t got; n + 1 < bytes && (got = read(fd[0], text + n, bytes - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = 0;
    close(fd[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void touch(float *p)
{
    *(volatile float *)p = 1;
}

static void touch_nothing(float *p)
{
    (void)p;
}

static void touch_freed(float *p)
{
    cudaFree(p);
    touch(p);
}

CHECKED(the_host_may_not_touch_device_memory)
{
    char text[4096];
    float *p = device_new(sizeof *p);
    assert_true(dies(touch, p, text, sizeof text));
    assert_non_null(
        strstr(text, "the host touches device memory: byte 0 of a device allocation of 4"));
    assert_true(dies(touch_freed, p, text, sizeof text));
    assert_non_null(strstr(text, "freed"));
    assert_false(dies(touch_nothing, p, text, sizeof text));
}

/* ---- streams ----------------------------------------------------------------------------------- */

/* Lazy work makes the device slow: the host sees nothing before it waits. */
CHECKED(lazy_work_waits_for_the_host)
{
    float *host, x[N];
    cudaStream_t s;
    ramp(x, N);
    float *p = device_copy(x, sizeof x), *q = device_copy(x, sizeof x);
    OK(cudaMallocHost((void **)&host, sizeof x));
    OK(cudaStreamCreateWithFlags(&s, 0));
    for (int lazy = 0; lazy < 2; lazy++) {
        memset(host, 0, sizeof x);
        cuda_host_lazy(lazy);
        size_t launches = cuda_seen.launches;
        OK(example_add((ExampleTerm){1, 0, q}, p, N, s));
        OK(cudaMemcpyAsync(host, p, sizeof x, cudaMemcpyDeviceToHost, s));
        assert_int_equal(cuda_seen.launches - launches, !lazy);
        assert_true((host[1] == 0) == lazy);
        OK(cudaStreamSynchronize(s));
        assert_int_equal(cuda_seen.launches - launches, 1);
        for (size_t i = 0; i < N; i++) assert_true(host[i] == (float)i * (float)(2 + lazy));
    }
    OK(cudaStreamDestroy(s));
    OK(cudaFreeHost(host));
}

/* Returns x[1] of a copy that stream b makes between two additions of stream a, as the events ask, or at any
 * time (deaf). */
static float copy_between(CudaHostStreams first, int deaf)
{
    float x[N];
    cudaStream_t a, b;
    cudaEvent_t added, copied;
    ramp(x, N);
    float *p = device_copy(x, sizeof x), *q = device_copy(x, sizeof x),
          *r = device_copy(x, sizeof x);
    OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    OK(cudaEventCreate(&added));
    OK(cudaEventCreate(&copied));
    cuda_host_streams(first);
    cuda_host_deaf = deaf;
    cuda_host_lazy(1);
    OK(example_add((ExampleTerm){1, 0, p}, q, N, a));
    OK(cudaEventRecord(added, a));
    OK(cudaStreamWaitEvent(b, added, 0));
    OK(cudaMemcpyAsync(r, q, sizeof x, cudaMemcpyDeviceToDevice, b));
    OK(cudaEventRecord(copied, b));
    OK(cudaStreamWaitEvent(a, copied, 0));
    OK(example_add((ExampleTerm){1, 0, p}, q, N, a));
    OK(cudaStreamSynchronize(a));
    cuda_host_lazy(0);
    cuda_host_deaf = 0;
    cuda_host_streams(CUDA_HOST_AS_SUBMITTED);
    device_get(x, r, sizeof x);
    OK(cudaEventDestroy(added));
    OK(cudaEventDestroy(copied));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    return x[1];
}

CHECKED(streams_go_ahead_until_an_event)
{
    for (int deaf = 0; deaf < 2; deaf++) {
        assert_true(copy_between(CUDA_HOST_AS_SUBMITTED, deaf) == 2);
        assert_true(copy_between(CUDA_HOST_NEWEST, deaf) == (deaf ? 1 : 2));
        assert_true(copy_between(CUDA_HOST_OLDEST, deaf) == (deaf ? 3 : 2));
    }
}

/* ---- capture ----------------------------------------------------------------------------------- */

typedef struct {
    cudaStream_t s;
    cublasHandle_t blas;
    float *x, *y, *w; /* (N), (N), (9) on the device */
    float *host;      /* (N) pinned */
} Rig;

static Rig rig_new(void)
{
    Rig r;
    float x[N];
    ramp(x, N);
    OK(cudaStreamCreateWithFlags(&r.s, cudaStreamNonBlocking));
    assert_int_equal(cublasCreate_v2(&r.blas), CUBLAS_STATUS_SUCCESS);
    assert_int_equal(cublasSetStream_v2(r.blas, r.s), CUBLAS_STATUS_SUCCESS);
    r.x = device_copy(x, sizeof x);
    r.y = device_new(sizeof x);
    r.w = device_copy(x + 1, 9 * sizeof *x);
    OK(cudaMallocHost((void **)&r.host, sizeof x));
    return r;
}

static void rig_free(Rig *r)
{
    cublasDestroy_v2(r->blas);
    OK(cudaStreamDestroy(r->s));
    OK(cudaFreeHost(r->host));
}

/* Submits work of every kind that a captured step holds: y = 0; y += f x; y[0..8] += w w; host = y. f and the
 * scalars go out of scope before a graph is launched. */
static void submit(const Rig *r, float f)
{
    float one = 1;
    ExampleTerm term = {f, 0, r->x};
    OK(cudaMemsetAsync(r->y, 0, N * sizeof(float), r->s));
    OK(example_add(term, r->y, N, r->s));
    assert_int_equal(cublasGemmEx(r->blas, CUBLAS_OP_N, CUBLAS_OP_N, 3, 3, 3, &one, r->w,
                                  CUDA_R_32F, 3, r->w, CUDA_R_32F, 3, &one, r->y, CUDA_R_32F, 3,
                                  CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                     CUBLAS_STATUS_SUCCESS);
    OK(cudaMemcpyAsync(r->host, r->y, N * sizeof(float), cudaMemcpyDeviceToHost, r->s));
    term.f = one = 1e9f;
}

CHECKED(a_graph_repeats_what_was_captured)
{
    Rig r = rig_new();
    float eager[N];
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    submit(&r, 3);
    OK(cudaStreamSynchronize(r.s));
    memcpy(eager, r.host, sizeof eager);
    assert_true(eager[100] == 300 && eager[0] == 1 * 1 + 4 * 2 + 7 * 3);

    size_t launches = cuda_seen.launches, products = cuda_seen.products;
    memset(r.host, 0, sizeof eager);
    OK(cudaStreamBeginCapture(r.s, cudaStreamCaptureModeThreadLocal));
    submit(&r, 3);
    OK(cudaStreamEndCapture(r.s, &graph));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    assert_int_equal(cuda_seen.launches, launches); /* nothing ran */
    assert_int_equal(cuda_seen.products, products);
    assert_true(r.host[100] == 0);
    for (int i = 0; i < 3; i++) {
        memset(r.host, 0, sizeof eager);
        cuda_host_order(check_orders[i]);
        cuda_host_lazy(i == 2);
        OK(cudaGraphLaunch(exec, r.s));
        OK(cudaStreamSynchronize(r.s));
        assert_memory_equal(r.host, eager, sizeof eager);
    }
    assert_int_equal(cuda_seen.launches, launches + 3);
    OK(cudaGraphExecDestroy(exec));
    rig_free(&r);
}

enum { SPOIL_MALLOC, SPOIL_FREE, SPOIL_WAIT, SPOIL_DEFAULT, SPOIL_BLAS, SPOILS };

/* Makes one call that a capture does not allow. */
static cudaError_t spoil(const Rig *r, int what)
{
    void *p;
    cublasHandle_t h;
    switch (what) {
    case SPOIL_MALLOC: return cudaMalloc(&p, 4);
    case SPOIL_FREE: return cudaFree(r->y);
    case SPOIL_WAIT: return cudaStreamSynchronize(r->s);
    case SPOIL_DEFAULT: return cudaMemsetAsync(r->y, 0, 4, NULL);
    default: return cublasCreate_v2(&h) == CUBLAS_STATUS_SUCCESS ? cudaSuccess : cudaGetLastError();
    }
}

CHECKED(calls_that_spoil_a_capture)
{
    Rig r = rig_new();
    cudaGraph_t graph;
    for (int what = 0; what < SPOILS; what++) {
        OK(cudaStreamBeginCapture(r.s, cudaStreamCaptureModeThreadLocal));
        submit(&r, 1);
        FAILS(what == SPOIL_DEFAULT ? cudaErrorStreamCaptureImplicit
                                    : cudaErrorStreamCaptureUnsupported,
              spoil(&r, what));
        cudaGetLastError();
        FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(r.s, &graph));
        assert_null(graph);
        cudaGetLastError();
        submit(&r, 2); /* the stream works again */
        OK(cudaStreamSynchronize(r.s));
        assert_true(r.host[50] == 100);
    }
    FAILS(cudaErrorIllegalState, cudaStreamEndCapture(r.s, &graph));
    FAILS(cudaErrorStreamCaptureUnsupported,
          cudaStreamBeginCapture(NULL, cudaStreamCaptureModeThreadLocal));
    rig_free(&r);
}

TEST_MAIN(NULL, NULL)
