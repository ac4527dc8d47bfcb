/* test_counts.c: the counting backend (kernels/counts.h) counts as many kernels and products as training steps ask of
 * the stand-in for a device, for networks with every kind of instruction. */
#include "tests/lib/test.h"

#include "kernels/counts.h"
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "tests/cuda/host.h"
#include "tests/lib/tiny.h"

typedef struct {
    size_t kernels, products, sends;
} Calls;

static Batch batch; /* sequences of one length */
enum { TOKENS = 96, LONGEST = 80 };
static int32_t word[3 * TOKENS];
static size_t begins[TOKENS + 1];

static void lay_batch(size_t length)
{
    batch = (Batch){.N = length > TOKENS / 2 ? length : TOKENS / length * length,
                    .longest = length,
                    .input = word,
                    .target = word + TOKENS,
                    .position = word + 2 * TOKENS,
                    .start = begins};
    batch.S = batch.N / length;
    for (size_t i = 0; i < batch.N; i++) {
        word[i] = word[TOKENS + i] = (int32_t)(i % TINY_VOCAB);
        batch.position[i] = (int32_t)(i % length);
    }
    for (size_t s = 0; s <= batch.S; s++) begins[s] = s * length;
}

/* Returns the calls of a second step: the first one makes scratch memory. */
static Calls calls_of(const Backend *b, const TinyPlan *t, int act, size_t clip, Count *count)
{
    static const Speeds speeds = {1, 1, 1, 1};
    const AdamConfig adam = {.rate = 1e-3, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};
    ModelConfig c = act_gated(act) ? tiny_today() : tiny_config();
    Calls n = {0};
    Model *m;
    c.act = act, c.clip = clip;
    c.max_tokens = TOKENS, c.max_length = LONGEST;
    assert_int_equal(model_new(&c, t->build(), b, 1, &m), 0);
    for (uint64_t step = 1; step <= 2; step++) {
        counts_begin(&speeds, count, &n.sends);
        n.kernels = cuda_seen.launches, n.products = cuda_seen.products;
        size_t before = cuda_seen.sends;
        assert_int_equal(model_step(m, &batch, &adam, step), 0);
        counts_end();
        assert_int_equal(b->wait(), 0);
        n.kernels = cuda_seen.launches - n.kernels, n.products = cuda_seen.products - n.products;
        n.sends += cuda_seen.sends - before;
    }
    model_free(m);
    for (int k = 0; k < COUNTS; k++) {
        n.kernels += count[k].kernels;
        n.products += count[k].products;
    }
    return n;
}

static void compare(const char *name, const TinyPlan *t, int act, size_t clip, size_t length)
{
    const Backend *device;
    Count count[COUNTS];
    if (backend_find(name, NULL, &device) != 0) fail_msg("%s", error_text());
    Backend calls = *device;
    calls.record = NULL; /* a recorded step is replayed as one */
    lay_batch(length);
    Calls want = calls_of(&calls, t, act, clip, count);
    Calls got = calls_of(counts_backend(name), t, act, clip, count);
    if (got.kernels != want.kernels || got.products != want.products)
        fail_msg("%s, %s, length %zu: %zu kernels, %zu products are counted, %zu, %zu launched",
                 name, t->name, length, got.kernels, got.products, want.kernels, want.products);
    assert_int_equal(counts_backend(name)->row_sizes, device->row_sizes);
    assert_true(want.products > 0 && want.sends == 1 && got.sends == 1);
}

TEST(what_is_counted_is_what_is_launched)
{
    static const char *const names[] = {"cuda-f32", "cuda-tf32", "cuda-bf16"};
    size_t k = 0;
    for (const TinyPlan *t = tiny_plans; t->name; t++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++, k++)
            compare(names[i], t, k % 2 ? ACT_RELU : ACT_GELU, k % 4 ? 0 : 2, k % 5 ? 12 : LONGEST);
    for (size_t i = 0; i < 6; i++)
        compare(names[i % 3], &tiny_plans[i], ACT_SWIGLU, 0, i % 2 ? 12 : LONGEST);
}

/* Blocks of logits stay in two fifths of the L2. Where fewer rows than the matrix has columns would fit, they are
 * large. The counts and the device agree. */
TEST(blocks_of_logits)
{
    static const struct {
        size_t V, D, bytes, rows;
    } row[] = {{10000, 512, 2, 1024}, {10000, 512, 4, 512},  {10000, 128, 2, 1024},
               {1000, 512, 2, 8192},  {50257, 768, 2, 2670}, {1 << 22, 512, 2, LOGIT_LEAST}};
    const Backend *device, *counts = counts_backend("cuda-bf16");
    assert_int_equal(backend_find("cuda-bf16", NULL, &device), 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_int_equal(counts->logit_rows(row[i].V, row[i].D, row[i].bytes), row[i].rows);
        assert_int_equal(device->logit_rows(row[i].V, row[i].D, row[i].bytes), row[i].rows);
    }
}

static size_t whole(size_t V, size_t D, size_t bytes)
{
    (void)V, (void)D, (void)bytes;
    return 4096;
}

/* Returns the bytes of working memory for 4,096 rows and 10,000 words. */
static size_t workspace(const Backend *b)
{
    ModelConfig c = tiny_config();
    Model *m;
    c.vocab = 10000, c.width = 512, c.max_tokens = 4096, c.max_length = 64, c.clip = 0;
    assert_int_equal(model_new(&c, tiny_plans[0].build(), b, 1, &m), 0);
    size_t bytes = model_memory(m, MEMORY_WORKSPACE);
    model_free(m);
    return bytes;
}

/* No matrix (rows, V) is ever whole: what is saved are 3,072 rows of logits in bf16 and 3,584 in f32, but for
 * what the placement of pieces wastes. */
TEST(no_matrix_of_logits_is_whole)
{
    Backend b = *counts_backend("cuda-bf16");
    size_t less = workspace(&b);
    b.logit_rows = whole;
    size_t more = workspace(&b), saved = 10000 * (3072 * 2 + 3584 * 4);
    print_message("# %.0f MB of working memory; %.0f with whole matrices\n", (double)less / 1e6,
                  (double)more / 1e6);
    assert_in_range(more - less, saved - saved / 20, saved + saved / 20);
}

/* Runs two steps and keeps the calls of the second, or the times of its launches. */
static void second_step(const Backend *b, CountedList *calls, Launch **launch, size_t *count)
{
    static const Speeds speeds = {1, 1, 1, 1};
    const AdamConfig adam = {.rate = 1e-3, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};
    ModelConfig c = tiny_config();
    Count kinds[COUNTS];
    size_t sends;
    Model *m;
    c.max_tokens = TOKENS, c.max_length = LONGEST;
    assert_int_equal(model_new(&c, tiny_plans[0].build(), b, 1, &m), 0);
    assert_int_equal(model_step(m, &batch, &adam, 1), 0);
    counts_begin(&speeds, kinds, &sends);
    if (b->time)
        assert_int_equal(b->time(), 0);
    else
        counts_list(calls);
    assert_int_equal(model_step(m, &batch, &adam, 2), 0);
    if (b->time) assert_int_equal(b->timed(launch, count), 0);
    counts_end();
    model_free(m);
}

/* Each launch is timed, in the order of the calls counted: products stand where products are counted. What is not
 * between time and timed is not. */
TEST(each_launch_is_timed)
{
    const Backend *device;
    CountedList *calls = memory_new(1, sizeof *calls);
    Launch *launch;
    size_t count, at = 1;
    assert_int_equal(backend_find("cuda-bf16", NULL, &device), 0);
    Backend unrecorded = *device;
    unrecorded.record = NULL;
    lay_batch(12);
    second_step(counts_backend("cuda-bf16"), calls, NULL, NULL);
    second_step(&unrecorded, NULL, &launch, &count);
    assert_true(launch[0].seconds >= 0 && calls->count > 15);
    for (size_t i = 0; i < calls->count; i++) {
        const CountedCall *c = &calls->call[i];
        for (size_t k = 0; k < c->kernels + c->products + c->copies; k++, at++) {
            assert_in_range(at, 1, count - 1);
            assert_true(launch[at].seconds > 0);
            assert_int_equal(strcmp(launch[at].where, LAUNCH_PRODUCT) == 0, k < c->products);
        }
    }
    assert_int_equal(at, count);
    memory_free(launch);
    memory_free(calls);
    assert_int_equal(device->time(), 0);
    assert_int_equal(device->timed(&launch, &count), 0);
    assert_int_equal(count, 1); /* nothing */
    memory_free(launch);
}

/* A product counts 2 m n k operations and its bytes. The twin of a weight is read and not made. */
TEST(a_product_is_counted)
{
    static const Speeds speeds = {100, 10, 1, 2};
    const Backend *b = counts_backend("cuda-bf16");
    Count count[COUNTS];
    size_t sends;
    void *A = b->alloc(6 * 8), *B = b->alloc(5 * 8), *C = b->alloc(30);
    assert_int_equal(b->weights(B, 40, NULL), 0);
    counts_begin(&speeds, count, &sends);
    b->gemm(0, 1, 6, 5, 8, 1, A, 8, B, 8, 1, C, 5);
    b->send(A, &speeds, 4);
    counts_end();
    b->gemm(0, 1, 6, 5, 8, 1, A, 8, B, 8, 1, C, 5);
    assert_true(count[COUNT_PRODUCT].flops == 480 && count[COUNT_PRODUCT].products == 1);
    assert_true(count[COUNT_PRODUCT].bytes == 2 * (48 + 40) + 4 * 60);
    assert_true(count[COUNT_PRODUCT].seconds == 2 + 48);
    assert_true(count[COUNT_ROUND].kernels == 1 && count[COUNT_ROUND].bytes == 6 * 48);
    assert_int_equal(sends, 1);
    assert_null(counts_backend("cpu-f32"));
}

TEST_MAIN(NULL, NULL)
