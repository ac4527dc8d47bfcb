/* test_bf16.c: the purpose of the bf16 backend: products to the rounding of its factors, and trainings
 * that end where those of f32 end. */
#include "tests/lib/test.h"

#include "nn/nn.h"
#include "tests/lib/kernel_buffers.h"

static int find(void **state)
{
    *state = NULL;
    const Backend *b;
    if (backend_find("cpu-bf16", NULL, &b) != 0)
        printf("# skipped: %s\n", error_text());
    else
        *state = (void *)b;
    return 0;
}

/* ---- products -------------------------------------------------------------------------------------- */

/* Rounds a float to 8 bits of significand, nearest even, by its bits. */
static double round_bf16(double x)
{
    float f = (float)x;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    u = (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &u, sizeof f);
    return (double)f;
}

/* C is the product of the rounded factors, to the rounding of f32 sums of K numbers below 2.25. Its bits
 * are the same whatever the number of threads. */
TEST(products)
{
    const Backend *b = *state;
    enum { M = 61, N = 97, K = 1500 };
    if (!b) skip();
    SCOPE;
    double *A = host_random(M * K, 1), *B = host_random(K * N, 2), *ref = host_new(M * N);
    double *bits = NULL, tol = K * (double)FLT_EPSILON * 2.25 * K;
    void *dA = buffer_new(b, M * K, A), *dB = buffer_new(b, K * N, B), *C = plain_new(b, M * N);
    for (size_t i = 0; i < M * N; i++)
        for (size_t k = 0; k < K; k++)
            ref[i] += round_bf16(A[i / N * K + k]) * round_bf16(B[k * N + i % N]);
    int before = backend_threads(0);
    for (int threads = 1; threads <= 3; threads++) {
        backend_threads(threads);
        b->gemm(0, 0, M, N, K, 1, dA, K, dB, N, 0, C, N);
        double *x = fetch(b, C, M * N);
        if (!bits) bits = fetch(b, C, M * N);
        assert_true(same(x, bits, M * N));
        assert_true(near(x, ref, M * N, tol));
        x[5] += 3 * tol;
        assert_false(near(x, ref, M * N, tol));
    }
    backend_threads(before);
}

/* ---- trainings ------------------------------------------------------------------------------------- */

enum { WIDTH = 16, INNER = 32, SEEDS = 3 };

/* Makes a transformer layer: y = r0 + F(r0), then y + G(y). */
static Plan *layer(void)
{
    Plan *p = plan_new(1);
    int F = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0});
    int G = plan_slot(p, (PlanSlot){SLOT_FEEDFORWARD, 0, 1, INNER});
    int f = plan_eval(p, F, 0, 0);
    int y = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = 0}, {.c = 1, .x = f}});
    int g = plan_eval(p, G, y, 1);
    p->output = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = y}, {.c = 1, .x = g}});
    return p;
}

/* Returns the validation perplexity after `steps` steps on a Markov text of 16 words. */
static double trained(const char *name, uint64_t seed, uint64_t steps)
{
    const Backend *b;
    Corpus c;
    Model *m;
    TrainResult r;
    ModelConfig config = {.vocab = 16,
                          .width = WIDTH,
                          .heads = 2,
                          .positions = POSITIONS_SINUSOID,
                          .dropout = 0.1,
                          .max_tokens = 256,
                          .max_length = 32,
                          .seed = seed};
    TrainConfig t = {.context = CONTEXT_STREAM,
                     .batch_tokens = 256,
                     .sequence = 32,
                     .rate = 3e-3,
                     .warmup = 50,
                     .adam = {.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8},
                     .epochs = 10,
                     .max_steps = steps,
                     .seed = seed,
                     .log_seconds = 1e9};
    assert_int_equal(backend_find(name, NULL, &b), 0);
    assert_int_equal(corpus_choose("markov:16", &(CorpusChoice){LEVEL_WORD, 0, 1}, &c), 0);
    assert_int_equal(model_new(&config, layer(), b, 1, &m), 0);
    assert_int_equal(train_run(m, &c, &t, &r), 0);
    model_free(m);
    corpus_free(&c);
    return r.valid_ppl;
}

/* Rounding is noise, as a seed is: over the same seeds the means may differ by no more than f32's range.
 * A training cut short is far outside. */
TEST(trainings_end_alike)
{
    double sum[2] = {0}, low = INFINITY, high = 0;
    if (!*state) skip();
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        double ppl = trained("cpu-f32", seed, 300);
        low = fmin(low, ppl), high = fmax(high, ppl);
        sum[0] += ppl;
        sum[1] += trained("cpu-bf16", seed, 300);
    }
    double range = high - low, bf16 = sum[1] / SEEDS, f32 = sum[0] / SEEDS;
    print_message("f32 %.4f (%.4f to %.4f), bf16 %.4f\n", f32, low, high, bf16);
    assert_true(range > 0 && range < 0.1 * f32);
    assert_true(fabs(bf16 - f32) <= range);
    assert_false(fabs(trained("cpu-bf16", 1, 150) - f32) <= range);
}

TEST(nothing_leaks)
{
    assert_int_equal(memory_live(), 0);
}

TEST_MAIN(find, NULL)
