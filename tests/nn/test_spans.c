/* test_spans.c: the definition of adaptive attention spans, on the kernels and on models of every backend.
 * Their formula in test_kernels.c and their gradients in test_gradient.c hold for small spans. Here they are
 * long, reach tiles of keys that are not made, and hide the largest scores. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "tests/lib/models.h"
#include "tests/lib/plain.h"

enum {
    T = 150,
    WIDE = 20,
    HEADS = 5,
    KEY = WIDE / HEADS
}; /* three tiles of keys, the last short */

/* ---- kernels -------------------------------------------------------------------------------------- */

/* One sequence. */
typedef struct {
    double qkv[T * 3 * WIDE], u[HEADS];
    size_t longest, ramp; /* ramp 0: no spans */
} Problem;

static void problem_fill(Problem *p, size_t longest, size_t ramp)
{
    static const double u[HEADS] = {0, 0.013, 0.31, 0.645, 1};
    for (size_t i = 0; i < T * 3 * WIDE; i++)
        p->qkv[i] = (double)(float)(3 * random_uniform(7, 1, i) - 1.5);
    memcpy(p->u, u, sizeof u);
    p->longest = longest;
    p->ramp = ramp;
}

/* Computes out (T, WIDE). With dqkv (T, 3 WIDE) and du (HEADS) it also goes backward, from dout = out. */
static void attend(const Backend *b, const Problem *p, double *out, double *dqkv, double *du)
{
    const size_t start[] = {0, T};
    void *qkv = b->alloc(T * 3 * WIDE), *y = b->alloc(T * WIDE), *lse = b->alloc(T * HEADS);
    void *u = b->alloc(HEADS), *dx = b->alloc(T * 3 * WIDE), *dspan = b->alloc(HEADS);
    size_t *begins = b->alloc(backend_elements(b, sizeof start));
    b->put(qkv, p->qkv, T * 3 * WIDE);
    b->put(u, p->u, HEADS);
    b->send(begins, start, sizeof start);
    Attention a = {.S = 1, .start = begins, .causal = 1, .longest = T, .D = WIDE, .H = HEADS};
    a.q = qkv, a.k = backend_at(b, qkv, WIDE), a.v = backend_at(b, qkv, 2 * WIDE);
    a.ldq = a.ldk = 3 * WIDE;
    if (p->ramp) a.span = u, a.longest_span = p->longest, a.ramp = p->ramp;
    b->attention(&a, y, lse);
    b->get(out, y, T * WIDE);
    if (dqkv) {
        b->attention_back(&a, y, lse, y, dx, backend_at(b, dx, WIDE), backend_at(b, dx, 2 * WIDE),
                          0, NULL, p->ramp ? dspan : NULL);
        b->get(dqkv, dx, T * 3 * WIDE);
        b->get(du, dspan, HEADS);
    }
    assert_int_equal(b->wait(), 0);
    void *list[] = {qkv, y, lse, u, dx, dspan, begins};
    for (int i = 0; i < 7; i++) b->release(list[i]);
}

/* Computes the formula in doubles, less the largest score that a row sees. */
static void formula(const Problem *p, double *out)
{
    for (size_t i = 0; i < T; i++)
        for (size_t h = 0; h < HEADS; h++) {
            double w[T], s[T], top = -INFINITY, sum = 0, R = (double)p->ramp;
            for (size_t j = 0; j <= i; j++) {
                const double *q = p->qkv + i * 3 * WIDE + h * KEY;
                const double *k = p->qkv + j * 3 * WIDE + WIDE + h * KEY;
                double z = (double)p->longest * p->u[h];
                w[j] = fmin(fmax((R + z - (double)(i - j)) / R, 0), 1);
                s[j] = 0;
                for (size_t e = 0; e < KEY; e++) s[j] += q[e] * k[e] / sqrt(KEY);
                if (w[j] > 0) top = fmax(top, s[j]);
            }
            for (size_t j = 0; j <= i; j++) sum += w[j] = w[j] > 0 ? w[j] * exp(s[j] - top) : 0;
            for (size_t e = 0; e < KEY; e++) {
                double *y = out + i * WIDE + h * KEY + e;
                *y = 0;
                for (size_t j = 0; j <= i; j++)
                    *y += w[j] / sum * p->qkv[j * 3 * WIDE + 2 * WIDE + h * KEY + e];
            }
        }
}

/* Returns n = 2 (E + T + 16) roundings of numbers up to 1.5, and 4 for the effect of an exponential on its
 * input. */
static double tolerance(const Backend *b)
{
    return 4 * 2 * (KEY + T + 16) * eps_of(b) * 2.5;
}

TEST(formula_of_long_spans)
{
    static Problem p;
    static double out[T * WIDE], want[T * WIDE];
    const size_t ramp[] = {1, 9, 32, 200};
    for (size_t r = 0; r < sizeof ramp / sizeof *ramp; r++) {
        problem_fill(&p, 100, ramp[r]);
        formula(&p, want);
        for (size_t i = 0; tested_backend(i); i++) {
            const Backend *b = backend(tested_backend(i));
            attend(b, &p, out, NULL, NULL);
            double e = distance(out, want, T * WIDE);
            if (!(e <= tolerance(b))) fail_msg("%s, ramp %zu: off by %g", b->name, ramp[r], e);
            p.u[2] += 0.01; /* the control: a key more */
            attend(b, &p, out, NULL, NULL);
            assert_true(distance(out, want, T * WIDE) > tolerance(b));
            p.u[2] -= 0.01;
        }
    }
}

/* Hidden scores do not matter, however large they are: out and gradients stay finite. A span that shows them
 * changes all. */
TEST(hidden_scores_do_not_matter)
{
    static Problem p;
    static double out[T * WIDE], want[T * WIDE], dqkv[T * 3 * WIDE];
    double du[HEADS];
    problem_fill(&p, 40, 8);
    p.u[4] = 0.9;
    for (size_t i = 0; i < T; i++)
        for (size_t c = 0; c < WIDE; c++) {
            p.qkv[i * 3 * WIDE + c] = fabs(p.qkv[i * 3 * WIDE + c]);
            if (i < 5) p.qkv[i * 3 * WIDE + WIDE + c] = 3000; /* e^3000 is not finite */
        }
    formula(&p, want);
    for (size_t i = 0; tested_backend(i); i++) {
        const Backend *b = backend(tested_backend(i));
        /* In rows that see them scores are some 10^4, and so is their rounding. */
        size_t from = 60 * WIDE;
        attend(b, &p, out, dqkv, du);
        double e = distance(out + from, want + from, T * WIDE - from);
        if (!(e <= tolerance(b))) fail_msg("%s: off by %g", b->name, e);
        for (size_t k = 0; k < T * 3 * WIDE; k++) assert_true(isfinite(dqkv[k]));
        for (size_t h = 0; h < HEADS; h++) assert_true(isfinite(du[h]));
        Problem seen = p;
        seen.ramp = 0;
        attend(b, &seen, out, NULL, NULL);
        assert_true(distance(out + from, want + from, T * WIDE - from) > 0.1);
    }
}

/* Where m is 1 everywhere the bits are those without spans, and no span has a gradient. Where m is 1 at
 * distance 0 alone a row's output is its v. Where all v = 1 the sum of the weights is 1. */
TEST(ends_of_the_mask)
{
    static Problem p, plain;
    static double out[T * WIDE], want[T * WIDE], dqkv[T * 3 * WIDE], dwant[T * 3 * WIDE];
    double du[HEADS];
    for (size_t i = 0; tested_backend(i); i++) {
        const Backend *b = backend(tested_backend(i));
        problem_fill(&plain, 0, 0);
        problem_fill(&p, T, 32);
        for (size_t h = 0; h < HEADS; h++) p.u[h] = 1;
        attend(b, &plain, want, dwant, du);
        attend(b, &p, out, dqkv, du);
        assert_memory_equal(out, want, sizeof out);
        assert_memory_equal(dqkv, dwant, sizeof dqkv);
        for (size_t h = 0; h < HEADS; h++) assert_true(du[h] == 0);
        for (size_t h = 0; h < HEADS; h++) p.u[h] = h % 2 ? 0 : -3; /* below 0 is 0 */
        p.ramp = 1;
        attend(b, &p, out, NULL, NULL);
        for (size_t k = 0; k < T * WIDE; k++) {
            double v = p.qkv[k / WIDE * 3 * WIDE + 2 * WIDE + k % WIDE];
            assert_true(fabs(out[k] - v) <= 2 * eps_of(b) * fabs(v));
        }
        problem_fill(&p, 100, 20);
        for (size_t k = 0; k < T * WIDE; k++) p.qkv[k / WIDE * 3 * WIDE + 2 * WIDE + k % WIDE] = 1;
        attend(b, &p, out, NULL, NULL);
        for (size_t k = 0; k < T * WIDE; k++) assert_true(fabs(out[k] - 1) <= tolerance(b));
    }
}

TEST(clamp_keeps_what_is_inside)
{
    const double x[] = {-0.5, 0, 0.25, 1, 1.5, -0.0, INFINITY, -INFINITY, NAN};
    const double want[] = {0, 0, 0.25, 1, 1, 0, 1, 0};
    enum { COUNT = sizeof x / sizeof *x };
    for (size_t i = 0; tested_backend(i); i++) {
        const Backend *b = backend(tested_backend(i));
        double y[COUNT];
        void *p = b->alloc(COUNT);
        b->put(p, x, COUNT);
        b->clamp(COUNT, p, 0, 1);
        b->get(y, p, COUNT);
        for (size_t k = 0; k + 1 < COUNT; k++) assert_true(y[k] == want[k]);
        assert_true(isnan(y[COUNT - 1]));
        b->release(p);
    }
}

/* ---- models ---------------------------------------------------------------------------------------- */

#define SPANNED(longest, long_ramp, loss) \
    TINY_WITH(c.span = (longest), c.ramp = (long_ramp), c.span_loss = (loss))

/* Sets every u of a model. */
static void set_spans(Model *m, double u)
{
    const Backend *b = model_backend(m);
    b->fill(backend_at(b, model_data(m), m->spans.first), u, m->spans.count);
}

/* Logits and weights are those of the second reading of a model's definition. Log-probabilities come after some
 * 8 products of D terms below 2 (test_adaptive.c). */
TEST(it_is_what_the_definition_says)
{
    Batch x = tiny_batch();
    static const int32_t token[] = {3, 1, 4, 1, 5, 9, 2};
    enum { LENGTH = 7, ALL = TINY_HEADS * LENGTH * LENGTH };
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), SPANNED(4, 3, 0), tiny_residual(), 0);
        double z[N * V], want[N * V], a[ALL], plain[ALL] = {0};
        double tol = 64 * fmax(model_backend(m)->eps, eps_of(model_backend(m)));
        tiny_spans(m);
        plain_logits(m, &x, want);
        plain_weights(m, LENGTH, token, plain);
        assert_int_equal(model_logits(m, &x, z), 0);
        assert_int_equal(model_attention(m, LENGTH, token, a), 0);
        assert_true(relative_distance(z, want, N * V) <= tol);
        assert_true(distance(a, plain, ALL) <= tol);
        size_t unseen = 0;
        for (size_t k = 0; k < ALL; k++)
            unseen += plain[k] == 0 && k / LENGTH % LENGTH >= k % LENGTH;
        assert_true(unseen > 0);
        set_spans(m, 0.9); /* the control, where products are exact enough */
        assert_int_equal(model_logits(m, &x, z), 0);
        if (tol < 1e-3) assert_true(relative_distance(z, want, N * V) > tol);
    }
}

/* A model whose spans are longer than its sequences is the model without spans, bit for bit, in every
 * gradient. */
TEST(long_spans_are_no_spans)
{
    for (Each e = {.plans = tiny_plans, .training = 1}; each_next(&e);) {
        OWN_MODEL *m = each_twin(&e, SPANNED(7, 3, 0), 1);
        double mean, want;
        size_t n = model_size(e.m);
        set_spans(m, 1);
        assert_int_equal(model_size(m) - n, m->spans.count);
        assert_int_equal(model_gradient(m, &e.x, 3, &mean), 0);
        assert_int_equal(model_gradient(e.m, &e.x, 3, &want), 0);
        OWN_NUMBERS *g = tiny_gradient(m), *h = tiny_gradient(e.m);
        assert_true(mean == want);
        assert_memory_equal(g, h, n * sizeof *g);
        for (size_t k = n; k < model_size(m); k++) assert_true(g[k] == 0);
    }
}

/* Returns the gradient of a step in two parts. */
static double *gradient_of(Model *m)
{
    const AdamConfig adam = {.rate = 1e-3, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8};
    Batch x = tiny_batch();
    for (size_t part = 0; part < 2; part++) {
        StepPart s = {.part = part, .parts = 2, .most = 2, .tokens = 2 * x.N};
        assert_int_equal(model_step_part(m, &x, &s, &adam, 1), 0);
    }
    return tiny_gradient(m);
}

/* The loss's term adds lambda S / H to each span's gradient, once in a step of several parts, and nothing to
 * other gradients. Its value is lambda / H times the sum of the spans. */
TEST(the_term_of_the_loss)
{
    const double lambda = 0.5, slope = lambda * 4 / TINY_HEADS;
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), SPANNED(4, 3, lambda), tiny_residual(), 1);
        OWN_MODEL *r = shaken(tested_backend(i), SPANNED(4, 3, 0), tiny_residual(), 1);
        double z[TINY_HEADS], loss, none, tol = 8 * eps_of(model_backend(m));
        tiny_spans(m);
        tiny_spans(r);
        model_spans(m, z, &loss);
        model_spans(r, z, &none);
        assert_true(none == 0 && z[0] > 0.3 && z[1] > z[0]);
        assert_true(fabs(loss - lambda * (z[0] + z[1]) / TINY_HEADS) <= tol);
        OWN_NUMBERS *g = gradient_of(m), *h = gradient_of(r);
        assert_memory_equal(g, h, m->spans.first * sizeof *g);
        for (size_t k = m->spans.first; k < model_size(m); k++)
            assert_true(fabs(g[k] - h[k] - slope) <= tol);
    }
}

static double after_steps(const char *name, double lambda, double u)
{
    const AdamConfig adam = {.rate = 0.02, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .decay = 0.1};
    Batch x = tiny_batch();
    double z[TINY_HEADS], least = INFINITY, most = 0;
    OWN_MODEL *m = shaken(name, SPANNED(7, 3, lambda), tiny_residual(), 1);
    set_spans(m, u);
    for (uint64_t step = 1; step <= 60; step++) {
        assert_int_equal(model_step(m, &x, &adam, step), 0);
        model_spans(m, z, NULL);
        for (size_t h = 0; h < TINY_HEADS; h++) {
            least = fmin(least, z[h]);
            most = fmax(most, z[h]);
        }
    }
    assert_true(least >= 0 && most <= 7);
    return z[0] + z[1];
}

/* Without the term a span beyond all keys does not change, and decay does not touch it. With the term spans
 * shrink to 0 and no further, though Adam would go on. */
TEST(spans_shrink_by_the_term)
{
    for (size_t i = 0; tested_backend(i); i++) {
        assert_true(after_steps(tested_backend(i), 0, 1) == TINY_HEADS * 7);
        assert_true(after_steps(tested_backend(i), 100, 1) == 0);
        assert_true(after_steps(tested_backend(i), 0, 0) >= 0);
    }
}

TEST(what_cannot_be_is_refused)
{
    const ModelConfig bad[] = {SPANNED(4, 0, 0), SPANNED((size_t)1 << 25, 2, 0),
                               SPANNED(4, (size_t)1 << 25, 0), SPANNED(4, 2, -1),
                               SPANNED(4, 2, NAN)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse_model(bad[i], tiny_residual, ERR_INPUT, "span");
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(NULL, NULL)
