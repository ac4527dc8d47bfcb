/* test_failures.c: failures of a device, which the stand-in can cause: no device, an old driver, an old device, too
 * little memory, a device that is lost while a model trains. */
#include "tests/lib/test.h"

#include <pthread.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "tests/cuda/cublas_v2.h"
#include "tests/cuda/host.h"
#include "tests/lib/toy.h"

static const Backend *cuda(void)
{
    const Backend *b = NULL;
    if (backend_find("cuda-f32", NULL, &b) != 0) fail_msg("%s", error_text());
    return b;
}

static Model *tiny_model(const Backend *b)
{
    ModelConfig c = tiny_config();
    Model *m;
    assert_int_equal(model_new(&c, tiny_residual(), b, 1, &m), 0);
    return m;
}

static int said(const char *words)
{
    return strstr(error_text(), words) != NULL && strchr(error_text(), '\n') == NULL;
}

/* ---- no device ------------------------------------------------------------------------------------ */

static void refused(const char *words)
{
    const Backend *b;
    int code = backend_find("cuda-bf16", NULL, &b);
    if (code != ERR_INPUT || !said(words)) fail_msg("%d: %s", code, error_text());
    assert_int_equal(error_status(code), 2);
    cuda_host_reset();
    assert_non_null(cuda());
}

/* A penalty is made of numbers on the host, which no recording has: a device has none. */
TEST(a_device_has_no_penalty)
{
    ModelConfig c = tiny_config();
    Model *m = NULL;
    assert_int_equal(model_new(&c, toy_penalised(), cuda(), 1, &m), ERR_INPUT);
    assert_true(!m && said("--device cpu"));
    assert_int_equal(model_new(&c, tiny_residual(), cuda(), 1, &m), 0);
    model_free(m);
}

/* ---- no kernel for a product with a bias ------------------------------------------------------------ */

enum { ROWS = 8, DEEP = 16, WIDE = 12 };

/* Counts the launches of two such products with `columns` columns, and how often their kernel was asked for. */
static void count_linear(size_t columns, size_t at, void *C, size_t *launches, size_t *asked)
{
    const Backend *b = cuda();
    double host[256];
    void *x = b->alloc(256);
    for (size_t i = 0; i < 256; i++) host[i] = (double)(i * 37 % 101) - 50; /* sums are exact */
    b->put(x, host, 256);
    *launches = cuda_seen.launches, *asked = cuda_seen.asked;
    for (int k = 0; k < 2; k++) b->linear(ROWS, columns, DEEP, x, x, backend_at(b, x, 64 + at), C);
    assert_int_equal(b->wait(), 0);
    *launches = cuda_seen.launches - *launches, *asked = cuda_seen.asked - *asked;
    b->release(x);
}

/* cuBLASLt is asked once for a shape. Where it has no kernel for it, or a bias is not aligned, another kernel adds the
 * bias; the bits are the same. */
TEST(a_product_with_a_bias)
{
    const Backend *b = cuda();
    size_t launches, asked, n = ROWS * WIDE;
    double one[ROWS * WIDE], other[ROWS * WIDE];
    void *C = b->alloc(2 * n);
    count_linear(WIDE, 0, C, &launches, &asked);
    assert_true(launches == 0 && asked == 1);
    count_linear(WIDE, 1, C, &launches, &asked);
    assert_true(launches == 2 && asked == 0);
    count_linear(WIDE, 0, C, &launches, &asked);
    assert_true(launches == 0 && asked == 0);
    b->get(one, C, n);
    cuda_host.fail_lt = 1;
    count_linear(WIDE + 4, 0, C, &launches, &asked);
    assert_true(launches == 2 && asked == 1);
    b->get(other, C, n);
    cuda_host_reset();
    for (size_t i = 0; i < n; i++) /* the first columns of rows that are four wider */
        if (i / (WIDE + 4) < ROWS && i % (WIDE + 4) < WIDE)
            assert_true(other[i] == one[i / (WIDE + 4) * WIDE + i % (WIDE + 4)]);
    b->release(C);
}

/* A kernel is chosen for an alignment of the bias too. One that is refused after all is not tried again, and another way gives
 * the same bits. */
TEST(a_kernel_that_is_refused_later)
{
    const Backend *b = cuda();
    size_t launches, asked, n = ROWS * WIDE;
    double one[ROWS * WIDE], other[ROWS * WIDE];
    void *C = b->alloc(n);
    count_linear(WIDE, 0, C, &launches, &asked);
    count_linear(WIDE, 4, C, &launches, &asked);
    assert_true(launches == 0 && asked == 1);
    b->get(one, C, n);
    cuda_host.refuse_lt = 1;
    count_linear(WIDE, 4, C, &launches, &asked);
    assert_true(launches == 2 && asked == 0);
    cuda_host_reset();
    count_linear(WIDE, 4, C, &launches, &asked);
    assert_true(launches == 2 && asked == 0);
    b->get(other, C, n);
    assert_memory_equal(one, other, sizeof one);
    b->release(C);
}

/* ---- threads ---------------------------------------------------------------------------------------- */

/* Runs calls of each kind in a thread that looks for no device itself; *status is that of the last wait. */
static const Backend *found;
static void *call_each(void *status)
{
    const Backend *b = found;
    double x[DEEP * DEEP] = {1}, y[DEEP * DEEP];
    void *d = b->alloc(DEEP * DEEP), *c = b->alloc(DEEP * DEEP);
    int *code = status;
    b->put(d, x, DEEP * DEEP);
    b->gemm(0, 0, DEEP, DEEP, DEEP, 1, d, DEEP, d, DEEP, 0, c, DEEP);
    b->aside(1);
    b->lin(DEEP, DEEP, 1, &(LinTerm){.c = 2, .x = d}, c);
    b->aside(0);
    b->meet(1);
    *code = b->record();
    b->lin(DEEP, DEEP, 1, &(LinTerm){.c = 3, .x = d}, c);
    Recording *r = NULL;
    if (*code == 0) *code = b->recorded(&r);
    if (*code == 0) *code = b->replay(r);
    b->recording_free(r);
    b->get(y, c, DEEP * DEEP);
    if (*code == 0) *code = b->wait();
    if (*code == 0 && y[0] != 3) *code = -1000;
    b->release(d), b->release(c);
    return NULL;
}

/* A thread that has chosen no device has another one at first; its calls reach ours all the same. */
TEST(every_thread_has_the_device)
{
    pthread_t thread;
    int code = 1;
    found = cuda();
    cuda_host.devices = 2, cuda_host.begins = 1;
    assert_int_equal(pthread_create(&thread, NULL, call_each, &code), 0);
    pthread_join(thread, NULL);
    if (code != 0) fail_msg("%d: %s", code, error_text());
    cuda_host_reset();
    cuda();
}

TEST(what_is_missing_is_told)
{
    cuda_host.devices = 0;
    refused("cuda-bf16: no NVIDIA device found");
    cuda_host.driver = 12040;
    refused(
        "the driver (12.4) is older than the CUDA runtime (13.0): update the driver or build with "
        "an older toolkit");
    cuda_host.driver = 0;
    refused("no NVIDIA driver found");
    cuda_host.arch = 70;
    refused("the device (sm_70) is older than sm_75");
    cuda_host.arch = 75;
    refused("cuda-bf16: the device (sm_75) has no bf16: take --precision tf32 or f32");
    cuda_host.fail_all = cudaErrorDevicesUnavailable;
    refused("cudaErrorDevicesUnavailable");
    cuda_host.arch = 90;
    assert_string_equal(cuda()->kernel, "sm_90");
    cuda_host_reset();
}

/* A device before 8.0 multiplies in f32 where it is asked for tf32, which it does not have. */
TEST(tf32_is_f32_on_an_older_device)
{
    enum { SIDE = 8 };
    const double x = 1 + 0x1p-12; /* more bits than tf32 has */
    for (int arch = 75; arch <= 80; arch += 5) {
        const Backend *b;
        double c[SIDE * SIDE], a[SIDE * SIDE];
        cuda_host.arch = arch;
        assert_int_equal(backend_find("cuda-tf32", NULL, &b), 0);
        void *A = b->alloc(SIDE * SIDE), *C = b->alloc(SIDE * SIDE);
        for (int i = 0; i < SIDE * SIDE; i++) a[i] = i / SIDE == i % SIDE ? x : 0;
        b->put(A, a, SIDE * SIDE);
        b->gemm(0, 0, SIDE, SIDE, SIDE, 1, A, SIDE, A, SIDE, 0, C, SIDE);
        b->get(c, C, SIDE * SIDE);
        assert_true((c[0] == (double)(float)(x * x)) == (arch == 75));
        b->release(A), b->release(C);
    }
    cuda_host_reset();
    assert_non_null(cuda());
}

/* ---- memory --------------------------------------------------------------------------------------- */

/* A failed allocation of scratch memory is reported at the next wait, and the step can be repeated. Scratch memory lives as
 * long as the process and only grows: models are made wider until what earlier tests left is too small. */
TEST(scratch_may_be_short)
{
    ModelConfig c = tiny_config();
    Model *m = NULL;
    Batch batch = tiny_batch();
    double first, again;
    int code = 0;
    for (; code == 0 && c.width < 8192; c.width *= 2) {
        model_free(m);
        assert_int_equal(model_new(&c, tiny_residual(), cuda(), 1, &m), 0);
        cuda_host.fail_malloc = 1;
        code = model_gradient(m, &batch, 1, &first);
        cuda_host.fail_malloc = 0;
    }
    if (code != ERR_MEMORY || !said("out of device memory")) fail_msg("%d: %s", code, error_text());
    assert_int_equal(model_gradient(m, &batch, 1, &first), 0);
    assert_int_equal(model_gradient(m, &batch, 1, &again), 0);
    assert_true(first > 0 && first == again);
    model_free(m);
}

TEST(a_model_that_does_not_fit_is_told)
{
    const Backend *b = cuda();
    ModelConfig c = tiny_config();
    size_t live = memory_live(), on_device = cuda_seen.live;
    Model *m;
    cuda_host.memory = cuda_seen.live_bytes + 1000;
    assert_int_equal(model_new(&c, tiny_residual(), b, 1, &m), ERR_MEMORY);
    assert_true(said("MB more were needed") && said("--batch-tokens") && said("--recompute"));
    cuda_host_reset();
    for (size_t k = 1;; k++) {
        cuda_host.fail_malloc = k;
        int code = model_new(&c, tiny_residual(), b, 1, &m);
        cuda_host.fail_malloc = 0;
        if (code == 0) break;
        assert_int_equal(code, ERR_MEMORY);
        assert_int_equal(memory_live(), live);
        assert_int_equal(cuda_seen.live, on_device);
    }
    assert_true(cuda_seen.live > on_device);
    model_free(m);
    assert_int_equal(memory_live(), live);
    assert_int_equal(cuda_seen.live, on_device);
}

/* After the first steps nothing is taken from the device. */
TEST(steps_take_no_device_memory)
{
    Model *m = tiny_model(cuda());
    Batch batch = tiny_batch();
    AdamConfig a = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};
    Step s;
    size_t taken = 0;
    for (uint64_t i = 1; i <= 6; i++) {
        assert_int_equal(model_step(m, &batch, &a, i), 0);
        if (i == 3) taken = cuda_seen.live;
    }
    assert_int_equal(model_tally(m, &s), 0);
    assert_int_equal(cuda_seen.live, taken);
    model_free(m);
}

/* ---- a lost device -------------------------------------------------------------------------------- */

static uint64_t lost_at; /* step after which the device is lost; 0: never */
static int at_saving;    /* only between an epoch's validation and the saving of its state */

static void lose(void *arg, const TrainReport *r)
{
    (void)arg;
    if (lost_at && r->step >= lost_at && at_saving == (r->valid_ppl > 0))
        cuda_host.fail_all = cudaErrorECCUncorrectable;
}

static int train(Trial *a, const char *out, int resume)
{
    trial_init(a, out, CONTEXT_STREAM);
    a->t.report = lose;
    a->t.resume = resume;
    return run_on(a, "cuda-f32");
}

/* A run on a lost device ends with a message. Once the device is back it goes on from the last saved state, to the bits
 * of an undisturbed run. */
TEST(a_lost_device_loses_nothing_saved)
{
    static const char *const out[] = {"part", "part at saving"};
    Trial whole, part;
    assert_int_equal(train(&whole, "whole", 0), 0);
    for (at_saving = 0; at_saving < 2; at_saving++) {
        lost_at = whole.result.steps / 3 + 4; /* in the second epoch */
        int code = train(&part, out[at_saving], 0);
        if (code != ERR_SYSTEM || !said("the device was lost (cudaErrorECCUncorrectable") ||
            !said("--resume"))
            fail_msg("%d: %s", code, error_text());
        cuda_host_reset();
        cuda()->wait(); /* reports the rest */
        lost_at = 0;
        assert_int_equal(train(&part, out[at_saving], 1), 0);
        assert_int_equal(part.result.steps, whole.result.steps);
        assert_true(part.result.test_ppl == whole.result.test_ppl);
        assert_true(part.result.valid_ppl == whole.result.valid_ppl);
    }
}

/* Every status of cuBLAS is reported in its own words. */
TEST(a_failed_product_is_told_in_the_words_of_cublas)
{
    Model *m = tiny_model(cuda());
    Batch batch = tiny_batch();
    double mean;
#define X(name, value, text)                                                          \
    if (name != CUBLAS_STATUS_SUCCESS) {                                              \
        cuda_host.fail_blas = name;                                                   \
        int code = model_gradient(m, &batch, 1, &mean);                               \
        int want = name == CUBLAS_STATUS_ALLOC_FAILED ? ERR_MEMORY : ERR_SYSTEM;      \
        if (code != want || !said("cuBLAS failed in linear (" #name ": " text "): ")) \
            fail_msg(#name ": %d: %s", code, error_text());                           \
        cuda_host_reset();                                                            \
        assert_int_equal(model_gradient(m, &batch, 1, &mean), 0);                     \
    }
    CUBLAS_HOST_STATUS(X)
#undef X
    model_free(m);
}

/* A launch fails with every error of CUDA in turn, and the next is well. Only those after which nothing works any more
 * are called a lost device. (cudaErrorNotReady is no failure but an answer.) */
TEST(an_error_of_cuda_is_told_in_its_words)
{
    static const struct {
        cudaError_t code;
        const char *words;
    } all[] = {
#define X(name, value, text) {name, #name ": " text},
        CUDA_HOST_ERRORS(X)
#undef X
    };
    static const int lost[] = {46,  214, 220, 226, 700, 702, 710, 714,
                               715, 716, 717, 718, 719, 721, 810};
    Model *m = tiny_model(cuda());
    Batch batch = tiny_batch();
    double mean;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cudaError_t e = all[i].code;
        if (e == cudaSuccess || e == cudaErrorMemoryAllocation || e == cudaErrorNotReady) continue;
        cuda_host.fail_launch = e;
        int code = model_gradient(m, &batch, 1, &mean), gone = 0;
        for (size_t k = 0; k < sizeof lost / sizeof *lost; k++) gone |= (int)e == lost[k];
        if (code != ERR_SYSTEM || !said(all[i].words) ||
            !said(gone ? "the device was lost (" : "CUDA failed in clear ("))
            fail_msg("%s: %d, %s", all[i].words, code, error_text());
        cuda_host_reset();
        assert_int_equal(model_gradient(m, &batch, 1, &mean), 0);
    }
    model_free(m);
}

TEST_MAIN(set_up, tear_down)
