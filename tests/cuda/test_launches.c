/* test_launches.c: counts on the stand-in what a training step asks of a device: kernels, and products by cuBLAS. On a
 * device each costs a few microseconds whatever its size, so their number matters by itself; more of them than here are
 * a change to be seen, and so are the bytes that they read and write. Dropout is on. The kernels that a bf16 backend
 * launches beyond f32's only round. */
#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "tests/cuda/host.h"
#include "tests/lib/tiny.h"

enum { INNER = 16, VOCAB = 16 }; /* sizes that align tensors, as usual widths do */
enum { WIDTH = 64, LENGTH = 64, FEW = 128, MOST = 2 * FEW };

static int32_t input[MOST], target[MOST], position[MOST];
static size_t start[MOST / LENGTH + 1];

static size_t words = VOCAB, hidden = INNER;
static int act = ACT_GELU;

static Batch batch(size_t N)
{
    for (size_t i = 0; i < N; i++) {
        input[i] = (int32_t)(i * 7 % VOCAB);
        target[i] = (int32_t)(i * 5 % VOCAB);
        position[i] = (int32_t)(i % LENGTH);
    }
    for (size_t s = 0; s <= N / LENGTH; s++) start[s] = s * LENGTH;
    return (Batch){.N = N,
                   .S = N / LENGTH,
                   .longest = LENGTH,
                   .input = input,
                   .target = target,
                   .position = position,
                   .start = start};
}

/* Makes the plan y + F(y), then + G of that, for each layer. */
static Plan *in_turn(size_t layers)
{
    Plan *p = plan_new(layers);
    int y = 0;
    for (int l = 0; l < (int)layers; l++)
        for (int kind = SLOT_ATTENTION; kind <= SLOT_FEEDFORWARD; kind++) {
            size_t inner = kind == SLOT_FEEDFORWARD ? hidden : 0;
            int k = plan_eval(p, plan_slot(p, (PlanSlot){kind, l, 1, inner}), y, 2 * l + kind);
            y = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = y}, {.c = 1, .x = k}});
        }
    p->output = y;
    return p;
}

/* Makes the plan y + F(y) + G(y) for each layer. */
static Plan *beside(size_t layers)
{
    Plan *p = plan_new(layers);
    int y = 0;
    for (int l = 0; l < (int)layers; l++) {
        int f = plan_eval(p, plan_slot(p, (PlanSlot){SLOT_ATTENTION, l, 1, 0}), y, 2 * l);
        int g = plan_eval(p, plan_slot(p, (PlanSlot){SLOT_FEEDFORWARD, l, 1, INNER}), y, 2 * l + 1);
        y = plan_lin(p, 3, (PlanTerm[]){{.c = 1, .x = y}, {.c = 1, .x = f}, {.c = 1, .x = g}});
    }
    p->output = y;
    return p;
}

typedef struct {
    size_t kernels, products, bytes, sends;
} Calls;

static Calls now(void)
{
    return (Calls){cuda_seen.launches, cuda_seen.products, cuda_seen.bytes, cuda_seen.sends};
}

static Calls since(Calls before)
{
    Calls n = now();
    return (Calls){n.kernels - before.kernels, n.products - before.products, n.bytes - before.bytes,
                   n.sends - before.sends};
}

/* Counts the second step: the first one makes scratch memory. Where what is sent reaches the end of the device's pinned
 * memory, it goes in two copies; then the third. */
static Calls count_width(const Backend *b, Plan *plan, size_t tokens, size_t width)
{
    const AdamConfig adam = {.rate = 1e-3, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};
    ModelConfig c = tiny_config();
    Batch x = batch(tokens);
    Calls n = {0};
    Model *m;
    Step s;
    c.vocab = words;
    c.width = width;
    c.max_tokens = tokens;
    c.max_length = LENGTH;
    c.positions = POSITIONS_SINUSOID;
    c.clip = 0;
    c.act = act;
    assert_int_equal(model_new(&c, plan, b, 1, &m), 0);
    for (uint64_t step = 1; step <= 2 || (step == 3 && n.sends > 1); step++) {
        Calls before = now();
        assert_int_equal(model_step(m, &x, &adam, step), 0);
        assert_int_equal(model_tally(m, &s), 0);
        n = since(before);
    }
    model_free(m);
    return n;
}

static Calls count_plan(const Backend *b, Plan *plan, size_t tokens)
{
    return count_width(b, plan, tokens, TINY_WIDTH);
}

static Calls count(const Backend *b, size_t layers, size_t tokens)
{
    return count_plan(b, in_turn(layers), tokens);
}

static Backend backend(const char *name)
{
    const Backend *b;
    if (backend_find(name, NULL, &b) != 0) fail_msg("%s", error_text());
    return *b;
}

/* Sizes that few epilogues take, and ReLU's with sizes that all take. */
static const struct {
    const char *backend;
    int act;
    size_t width, hidden;
    Calls most, layer; /* of one layer's step; of one more layer */
} row[] = {
    {"cuda-f32", ACT_GELU, TINY_WIDTH, INNER, {23, 15, .sends = 1}, {11, 12}},
    {"cuda-bf16", ACT_GELU, TINY_WIDTH, INNER, {25, 15, .sends = 1}, {13, 12}},
    {"cuda-f32", ACT_RELU, WIDTH, 2 * WIDTH, {22, 15, .sends = 1}, {10, 12}},
    {"cuda-bf16", ACT_RELU, WIDTH, 2 * WIDTH, {21, 15, .sends = 1}, {9, 12}},
};

TEST(calls_of_a_step)
{
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Backend b = backend(row[i].backend);
        size_t D = row[i].width;
        hidden = row[i].hidden, act = row[i].act;
        Calls one = count_width(&b, in_turn(1), FEW, D), two = count_width(&b, in_turn(2), FEW, D);
        Calls layer = {two.kernels - one.kernels, two.products - one.products};
        hidden = INNER, act = ACT_GELU;
        print_message("# %s, width %zu: %zu kernels, %zu products; a layer more: %zu, %zu\n",
                      row[i].backend, D, one.kernels, one.products, layer.kernels, layer.products);
        assert_in_range(one.kernels, 1, row[i].most.kernels);
        assert_in_range(one.products, 1, row[i].most.products);
        assert_in_range(layer.kernels, 1, row[i].layer.kernels);
        assert_in_range(layer.products, 1, row[i].layer.products);
        assert_int_equal(one.sends, row[i].most.sends);
    }
}

static size_t half(size_t V, size_t D, size_t bytes)
{
    (void)V, (void)D, (void)bytes;
    return FEW / 2;
}

static size_t eighth(size_t V, size_t D, size_t bytes)
{
    (void)V, (void)D, (void)bytes;
    return FEW / 8;
}

/* A model has six layers, and its loss two blocks of rows, as with 16,384 tokens. Attention's output and its adjoint are
 * rounded by themselves, but where attention is of factors: backward has a kernel less then. Where factors are numbers,
 * all that products read is rounded but weights: 8 a sublayer, 4 a block. */
TEST(few_launches_only_round)
{
    enum { LAYERS = 6, BLOCKS = 2 };
    Backend f32 = backend("cuda-f32"), bf16 = backend("cuda-bf16");
    f32.logit_rows = bf16.logit_rows = half;
    Backend without = bf16;
    without.factors = NULL;
    without.factor_size = 0;
    backend_complete(&without);
    size_t plain = count(&f32, LAYERS, FEW).kernels;
    assert_int_equal(count(&bf16, LAYERS, FEW).kernels - plain, 2 * LAYERS);
    size_t wide = count_width(&f32, in_turn(LAYERS), FEW, WIDTH).kernels;
    assert_int_equal(wide - count_width(&bf16, in_turn(LAYERS), FEW, WIDTH).kernels, LAYERS);
    assert_int_equal(count(&without, LAYERS, FEW).kernels - plain, LAYERS * 2 * 8 + BLOCKS * 4);
}

/* An operation that does not follow a sublayer in the plan is a launch by itself: the bias of F, and the norm of G. */
TEST(fusion_is_seen)
{
    enum { LAYERS = 3 };
    Backend b = backend("cuda-f32");
    size_t fused = count(&b, LAYERS, FEW).kernels;
    assert_int_equal(count_plan(&b, beside(LAYERS), FEW).kernels - fused, LAYERS);
}

/* Without twins products round weights themselves: eight products of the layer and two of the loss read some. */
TEST(roundings_are_seen)
{
    Backend b = backend("cuda-bf16"), without = b;
    without.weights = NULL;
    without.twin_size = 0;
    backend_complete(&without);
    assert_int_equal(count(&without, 1, FEW).kernels - count(&b, 1, FEW).kernels, 8 + 2);
}

/* Small blocks of logits, as a processor has them, show as more calls. */
TEST(small_blocks_are_seen)
{
    Backend b = backend("cuda-f32"), small = b;
    small.logit_rows = eighth;
    Calls one = count(&b, 1, FEW), many = count(&small, 1, FEW);
    assert_int_equal(many.products - one.products, 7 * 3);
    assert_int_equal(many.kernels - one.kernels, 7);
}

/* Blocks of logits stay in two fifths of the L2. Where fewer rows than the matrix has columns would fit, they are
 * large. */
TEST(blocks_of_logits)
{
    static const struct {
        size_t V, D, bytes, rows;
    } block[] = {{10000, 512, 2, 1024}, {10000, 512, 4, 512},  {10000, 128, 2, 1024},
                 {1000, 512, 2, 8192},  {50257, 768, 2, 2670}, {1 << 22, 512, 2, LOGIT_LEAST}};
    Backend b = backend("cuda-bf16");
    for (size_t i = 0; i < sizeof block / sizeof *block; i++)
        assert_int_equal(b.logit_rows(block[i].V, block[i].D, block[i].bytes), block[i].rows);
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
    Backend b = backend("cuda-bf16");
    size_t less = workspace(&b);
    b.logit_rows = whole;
    size_t more = workspace(&b), saved = 10000 * (3072 * 2 + 3584 * 4);
    print_message("# %.0f MB of working memory; %.0f with whole matrices\n", (double)less / 1e6,
                  (double)more / 1e6);
    assert_in_range(more - less, saved - saved / 20, saved + saved / 20);
}

/* Each launch is timed: kernels and products, as many of each as ran, and the copies beside. What is not between time and timed
 * is not. */
TEST(each_launch_is_timed)
{
    const AdamConfig adam = {.rate = 1e-3, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};
    Backend b = backend("cuda-bf16");
    ModelConfig c = tiny_config();
    Batch x = batch(FEW);
    Launch *launch;
    size_t count, products = 0;
    Model *m;
    b.device = 0; /* nothing is recorded */
    c.vocab = VOCAB, c.max_tokens = FEW, c.max_length = LENGTH;
    assert_int_equal(model_new(&c, in_turn(1), &b, 1, &m), 0);
    assert_int_equal(model_step(m, &x, &adam, 1), 0);
    assert_int_equal(b.wait(), 0);
    Calls before = now();
    assert_int_equal(b.time(), 0);
    assert_int_equal(model_step(m, &x, &adam, 2), 0);
    assert_int_equal(b.timed(&launch, &count), 0);
    Calls n = since(before);
    assert_true(launch[0].seconds >= 0);
    for (size_t i = 1; i < count; i++) {
        assert_true(launch[i].seconds > 0);
        products += strcmp(launch[i].where, LAUNCH_PRODUCT) == 0;
    }
    assert_int_equal(products, n.products);
    assert_in_range(count - 1, n.kernels + n.products, n.kernels + n.products + 8);
    memory_free(launch);
    model_free(m);
    assert_int_equal(b.time(), 0);
    assert_int_equal(b.timed(&launch, &count), 0);
    assert_int_equal(count, 1); /* nothing */
    memory_free(launch);
}

/* ---- bytes ---------------------------------------------------------------------------------------- */

/* Returns the bytes that one more layer reads and writes in a step, in matrices (N, D) of f32: width D = 64, inner
 * width 16. */
static double layer_bytes(const Backend *b)
{
    size_t one = count_width(b, in_turn(1), MOST, WIDTH).bytes;
    size_t two = count_width(b, in_turn(2), MOST, WIDTH).bytes;
    return (double)(two - one) / (MOST * WIDTH * sizeof(float));
}

static const struct {
    const char *backend;
    double most;
} moved[] = {{"cuda-f32", 105}, {"cuda-bf16", 81}};

TEST(bytes_of_a_layer)
{
    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        Backend b = backend(moved[i].backend);
        double x = layer_bytes(&b);
        print_message("# %s: a layer moves %.1f matrices (N, D) of f32\n", b.name, x);
        assert_true(x <= moved[i].most);
    }
}

/* Returns the bytes that a number of a matrix (rows, *columns) moves in a step: what a step of twice the rows and twice
 * the columns moves more than the two together. */
static double number_bytes(const Backend *b, size_t *columns)
{
    size_t once = *columns;
    double bytes = 0;
    for (size_t rows = FEW; rows <= 2 * FEW; rows += FEW)
        for (*columns = once; *columns <= 2 * once; *columns += once) {
            int sign = (rows == FEW) == (*columns == once) ? 1 : -1;
            bytes += sign * (double)count_width(b, in_turn(1), rows, TINY_WIDTH).bytes;
        }
    *columns = once;
    return bytes / (double)(FEW * once);
}

/* A logit is written, read once by the loss, which writes its adjoint in its place, and this is read by two products.
 * Inside GELU a product writes u, the kernel reads u and writes u + b and y, which two products read; a product writes
 * dy, the kernel reads dy and u and writes du, which two products read. Each number's bias is read once, and the sum of
 * 64 rows is written and read. */
TEST(bytes_of_a_number)
{
    enum { LOGIT = 1 + 1 + 1 + 2, INSIDE = 1 + 1 + 2 + 2 + 1 + 2 + 1 + 2 };
    Backend f32 = backend("cuda-f32"), bf16 = backend("cuda-bf16"), without = bf16;
    without.factors = NULL;
    without.factor_size = 0;
    backend_complete(&without);
    assert_true(number_bytes(&f32, &words) == LOGIT * 4);
    assert_true(number_bytes(&bf16, &words) == LOGIT * 2);
    assert_true(number_bytes(&without, &words) > LOGIT * 4);
    const double bias = 4 + 2 * 4 / 64.0;
    assert_true(number_bytes(&f32, &hidden) == INSIDE * 4 + bias);
    assert_true(number_bytes(&bf16, &hidden) == INSIDE * 2 + bias);
    assert_true(number_bytes(&without, &hidden) > INSIDE * 4 + bias);
}

/* Where factors are numbers, more bytes move than is allowed. */
TEST(factors_move_less)
{
    Backend with = backend("cuda-bf16"), without = with;
    without.factors = NULL;
    without.factor_size = 0;
    backend_complete(&without);
    double less = layer_bytes(&with), more = layer_bytes(&without);
    print_message("# factors as numbers: %.1f\n", more);
    assert_true(more > less + 1);
}

/* The counts are known exactly: fill writes every number once, a product reads two matrices and writes or
 * adds to one. */
TEST(bytes_are_counted)
{
    enum { N = 1024, K = 16 };
    Backend b = backend("cuda-f32");
    void *x = b.alloc(N), *y = b.alloc(N);
    Calls before = now();
    b.fill(x, 1, N);
    assert_int_equal(since(before).bytes, N * sizeof(float));
    for (int beta = 0; beta < 2; beta++) {
        before = now();
        b.gemm(0, 1, K, K, K, 1, x, K, x, K, beta, y, K);
        assert_int_equal(since(before).bytes, (3 + (size_t)beta) * K * K * sizeof(float));
    }
    b.release(x), b.release(y);
}

/* A step that sends each item by itself makes six copies: input, target, position, beginnings; step and rate, the
 * masks' number. */
TEST(copies_by_themselves_are_seen)
{
    Backend b = backend("cuda-f32"), apart = b;
    apart.pack = NULL;
    backend_complete(&apart);
    Calls one = count(&b, 1, FEW), many = count(&apart, 1, FEW);
    assert_int_equal(many.sends, 6);
    assert_int_equal(one.kernels - many.kernels, 1);
}

TEST_MAIN(NULL, NULL)
