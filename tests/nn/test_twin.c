/* test_twin.c: weights in bf16 beside those in f32 (kernels/cuda_twin.cuh). Whoever writes weights, a product
 * reads the bits that it would have made of them itself. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/engine.h"
#include "tests/lib/tiny.h"

static const AdamConfig adam = {.rate = 1e-2, .beta1 = .9, .beta2 = .99, .eps = 1e-8, .clip = 1};

static Backend backend(int twins)
{
    const Backend *b;
    if (backend_find("cuda-bf16", NULL, &b) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    Backend copy = *b;
    if (!twins) {
        copy.weights = NULL;
        copy.twin_size = 0;
    }
    return copy;
}

static Model *new_model(const Backend *b, const TinyPlan *plan)
{
    ModelConfig c = tiny_config();
    Model *m;
    if (model_new(&c, plan->build(), b, 1, &m) != 0) fail_msg("%s", error_text());
    return m;
}

static void step(Model *m, uint64_t number)
{
    Batch x = tiny_batch();
    Step s;
    assert_int_equal(model_step(m, &x, &adam, number), 0);
    assert_int_equal(model_tally(m, &s), 0);
}

TEST(training_has_the_same_bits)
{
    Backend with = backend(1), without = backend(0);
    for (const TinyPlan *p = tiny_plans; p->name; p++) {
        Model *a = new_model(&with, p), *b = new_model(&without, p);
        for (uint64_t k = 1; k <= 4; k++) step(a, k), step(b, k);
        if (!tiny_same(a, a->data, b, b->data)) fail_msg("%s: other bits with twins", p->name);
        model_free(a);
        model_free(b);
    }
}

/* ---- whoever writes ----------------------------------------------------------------------------------- */

static double numbers[1 << 14];

static void by_put(const Backend *b, void *x, size_t n)
{
    b->put(x, numbers, n);
}

static void by_send(const Backend *b, void *x, size_t n)
{
    float *f = memory_new(n, sizeof *f);
    for (size_t i = 0; i < n; i++) f[i] = (float)numbers[i];
    b->send(x, f, n * sizeof *f);
    memory_free(f);
}

static void by_copy(const Backend *b, void *x, size_t n)
{
    void *y = b->alloc(n);
    b->put(y, numbers, n);
    b->copy(x, y, n);
    b->release(y);
}

static void by_fill(const Backend *b, void *x, size_t n)
{
    b->fill(x, .3, n);
}

static void by_zero(const Backend *b, void *x, size_t n)
{
    b->fill(x, 0, n);
}

static void by_clamp(const Backend *b, void *x, size_t n)
{
    b->clamp(n, x, -.05, .07);
}

/* Writes weights without a word. */
static void by_stealth(const Backend *b, void *x, size_t n)
{
    const LinTerm t = {.c = 2, .dx = x};
    void *y = b->alloc(n);
    b->put(y, numbers, n);
    b->lin_back(n, 1, 1, &t, y);
    b->release(y);
}

typedef void (*Write)(const Backend *b, void *x, size_t n);

/* Whether losses with and without twins are the same once weights `at` and on have been written so. */
static int same_after(Write write, size_t at)
{
    Backend b[] = {backend(1), backend(0)};
    Batch x = tiny_batch();
    double loss[2];
    for (int i = 0; i < 2; i++) {
        Model *m = new_model(&b[i], &tiny_plans[0]);
        assert_true(m->size <= sizeof numbers / sizeof *numbers);
        write(&b[i], backend_at(&b[i], m->data, at), m->size - at);
        assert_int_equal(model_gradient(m, &x, 1, &loss[i]), 0);
        model_free(m);
    }
    return loss[0] == loss[1];
}

TEST(whoever_writes_weights)
{
    static const Write writes[] = {by_put, by_send, by_copy, by_fill, by_zero, by_clamp};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = .2 * (double)((i * 7919) % 1000) / 1000 - .1;
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        for (size_t at = 0; at < 4; at++)
            if (!same_after(writes[i], at)) fail_msg("writer %zu from %zu on", i, at);
    assert_false(same_after(by_stealth, 0)); /* the control */
}

/* A model that is gone leaves no twin behind: its memory may be anything then. */
TEST(a_twin_goes_with_its_weights)
{
    Backend b = backend(1);
    size_t before = memory_live();
    for (int i = 0; i < 3; i++) {
        Model *m = new_model(&b, &tiny_plans[0]);
        step(m, 1);
        model_free(m);
    }
    assert_int_equal(memory_live(), before);
}

TEST_MAIN(NULL, NULL)
