/* test_launches.c: what a training step asks of a device, counted on the stand-in: kernels, and products by cuBLAS. On a
 * device every one costs a few microseconds whatever its size, so their number is a figure of its own; more of them than
 * here are a change to be seen. One layer, 4,096 tokens, dropout on. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/cuda/host.h"
#include "tests/lib/tiny.h"

enum { INNER = 16 }; /* tensors that are aligned, as those of usual widths are */
enum { TOKENS = 4096, LENGTH = 64, SEQUENCES = TOKENS / LENGTH };

static int32_t input[TOKENS], target[TOKENS], position[TOKENS];
static size_t start[SEQUENCES + 1];

static Batch batch(void)
{
    for (size_t i = 0; i < TOKENS; i++) {
        input[i] = (int32_t)(i * 7 % TINY_VOCAB);
        target[i] = (int32_t)(i * 5 % TINY_VOCAB);
        position[i] = (int32_t)(i % LENGTH);
    }
    for (size_t s = 0; s <= SEQUENCES; s++) start[s] = s * LENGTH;
    return (Batch){.N = TOKENS,
                   .S = SEQUENCES,
                   .longest = LENGTH,
                   .input = input,
                   .target = target,
                   .position = position,
                   .start = start};
}

/* r0 + F(r0), then + G of that. */
static Plan *layer(void)
{
    Plan *p = plan_new(1);
    int y = 0;
    for (int kind = SLOT_ATTENTION; kind <= SLOT_FEEDFORWARD; kind++) {
        size_t inner = kind == SLOT_FEEDFORWARD ? INNER : 0;
        int k = plan_eval(p, plan_slot(p, (PlanSlot){kind, 0, 1, inner}), y, kind);
        y = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = y}, {.c = 1, .x = k}});
    }
    p->output = y;
    return p;
}

typedef struct {
    size_t kernels, products, sends;
} Calls;

/* Of the second step: the first one makes scratch memory. */
static Calls calls_of(const Backend *b)
{
    const AdamConfig adam = {.rate = 1e-3, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};
    ModelConfig c = tiny_config();
    Batch x = batch();
    Calls n = {0};
    Model *m;
    Step s;
    c.max_tokens = TOKENS;
    c.max_length = LENGTH;
    c.positions = POSITIONS_SINUSOID;
    c.clip = 0;
    assert_int_equal(model_new(&c, layer(), b, 1, &m), 0);
    for (uint64_t step = 1; step <= 2; step++) {
        n = (Calls){cuda_host_launches(), cuda_host_products(), cuda_host_sends()};
        assert_int_equal(model_step(m, &x, &adam, step), 0);
        assert_int_equal(model_tally(m, &s), 0);
    }
    n = (Calls){cuda_host_launches() - n.kernels, cuda_host_products() - n.products,
                cuda_host_sends() - n.sends};
    model_free(m);
    return n;
}

static const struct {
    const char *backend;
    Calls most;
} row[] = {
    {"cuda-f32", {45, 15, 1}},
    {"cuda-bf16", {65, 15, 1}},
};

TEST(calls_of_a_step)
{
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const Backend *b;
        if (backend_find(row[i].backend, NULL, &b) != 0) fail_msg("%s", error_text());
        Calls n = calls_of(b);
        print_message("# %s: %zu kernels, %zu products\n", row[i].backend, n.kernels, n.products);
        assert_in_range(n.kernels, 1, row[i].most.kernels);
        assert_in_range(n.products, 1, row[i].most.products);
        assert_int_equal(n.sends, row[i].most.sends);
    }
}

/* Weights that products round for themselves: eight products of the layer and two of the loss read some. */
TEST(roundings_are_seen)
{
    const Backend *b;
    if (backend_find("cuda-bf16", NULL, &b) != 0) fail_msg("%s", error_text());
    Backend without = *b;
    without.weights = NULL;
    without.twin_size = 0;
    assert_int_equal(calls_of(&without).kernels - calls_of(b).kernels, 8 + 2);
}

/* Small blocks of logits, as a processor has them, are seen as more calls. */
TEST(small_blocks_are_seen)
{
    const Backend *b;
    if (backend_find("cuda-f32", NULL, &b) != 0) fail_msg("%s", error_text());
    Backend small = *b;
    small.logit_rows = 512;
    Calls one = calls_of(b), many = calls_of(&small);
    assert_int_equal(many.products - one.products, 7 * 3);
    assert_int_equal(many.kernels - one.kernels, 7);
}

/* What a step sends, each by itself: input, target, position, beginnings; step and rate, the masks' number. */
TEST(copies_by_themselves_are_seen)
{
    const Backend *b;
    if (backend_find("cuda-f32", NULL, &b) != 0) fail_msg("%s", error_text());
    Backend apart = *b;
    apart.pack = NULL;
    Calls one = calls_of(b), many = calls_of(&apart);
    assert_int_equal(many.sends, 6);
    assert_int_equal(one.kernels - many.kernels, 1);
}

TEST_MAIN(NULL, NULL)
