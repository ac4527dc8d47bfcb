/* plain_model.h: compares a model in double precision with the same one in one file (nn/plain.h). */
#ifndef TROTTER_TESTS_PLAIN_MODEL_H
#define TROTTER_TESTS_PLAIN_MODEL_H

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "nn/plain.h"
#include "tests/lib/distance.h"
#include "tests/lib/test.h"
#include "tests/lib/tiny.h"

/* Both sum some 10^3 products in different orders, with sensitivities of up to 10^3: 1e6 eps of the largest number. */
static const double plain_bound = 1e-10;

static inline void plain_near(const char *what, const char *name, const double *a, const double *b,
                              size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(b[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= plain_bound * fmax(most, 1)))
            fail_msg("%s: %s %zu of %zu is %.15g, and %.15g in one file", name, what, i, n, a[i],
                     b[i]);
}

/* Mistakes that a comparison has to see: of attention's masks, of what a plan's settings say, of one tensor. */
enum { PLAIN_RIGHT, PLAIN_OTHER_MASK, PLAIN_OTHER_SCALE, PLAIN_OTHER_TENSOR, PLAIN_WRONGS };

/* Returns the logits of a batch, of one file; wrong: with a mistake. n out: how many. Caller: memory_free. */
static inline double *plain_logits(Model *m, const Batch *x, int wrong, size_t *n)
{
    double loss;
    SCOPED(plain_free) Plain p = {0};
    if (plain_new(m, &p) != 0) fail_msg("%s", error_text());
    Plan plan = *p.plan;
    ModelConfig config = *p.config;
    if (wrong == PLAIN_OTHER_MASK) plan.bidirectional = !plan.bidirectional;
    if (wrong == PLAIN_OTHER_SCALE) config.plain_input = 1;
    if (wrong == PLAIN_OTHER_TENSOR) p.theta[p.param[p.params - 1].offset] += .5;
    p.plan = &plan;
    p.config = &config;
    size_t words = x->target ? x->N : x->asked.count;
    *n = words * config.vocab + (x->target ? 0 : x->S * config.classes);
    double *z = memory_new(*n, sizeof *z);
    assert_non_null(z);
    assert_int_equal(plain_loss(&p, x, 0, z, &loss), 0);
    return z;
}

/* Checks logits z of a batch against those of one file, on any backend; in double precision, as a control, that each mistake
 * is seen. */
static inline void plain_reads(Model *m, const Batch *x, const double *z, double bound)
{
    int wrongs = model_backend(m)->size == 8 ? PLAIN_WRONGS : PLAIN_RIGHT + 1;
    for (int wrong = PLAIN_RIGHT; wrong < wrongs; wrong++) {
        size_t n;
        OWN_NUMBERS *plain = plain_logits(m, x, wrong, &n);
        double e = distance(z, plain, n);
        if (wrong ? !(e > 1e-2) : !(e <= bound)) fail_msg("mistake %d: %g", wrong, e);
    }
}

/* Returns 1 where the loss or the gradient is another once a tensor of one of both is changed. */
static inline int plain_sees(Plain *p, const Batch *x, const Param *tensor, const double *g,
                             double mean)
{
    double loss, most = 0, off = 0, *w = p->theta + tensor->offset;
    for (size_t i = 0; i < tensor->size; i++) w[i] += .1 * sin((double)i + 1);
    assert_int_equal(plain_gradient(p, x, &loss), 0);
    for (size_t i = 0; i < p->size; i++) {
        most = fmax(most, fabs(g[i]));
        off = fmax(off, fabs(p->grad[i] - g[i]));
    }
    for (size_t i = 0; i < tensor->size; i++) w[i] -= .1 * sin((double)i + 1);
    return fabs(loss - mean) > plain_bound || off > plain_bound * fmax(most, 1);
}

/* Checks loss, gradient and three steps of Adam of a training model without dropout on a batch; and, with `control`, that
 * every tensor counts: the comparison sees one that was changed. */
static inline void plain_agrees(Model *m, const Batch *x, const char *name, int control)
{
    const AdamConfig adam = {
        .rate = 1e-2, .beta1 = .9, .beta2 = .99, .eps = 1e-6, .clip = 1, .decay = .1};
    double loss, mean;
    SCOPED(plain_free) Plain p = {0};
    if (plain_new(m, &p) != 0) fail_msg("%s: %s", name, error_text());
    assert_int_equal(model_forward(m, x, 0, 1, NULL, &mean), 0);
    assert_int_equal(plain_loss(&p, x, 0, NULL, &loss), 0);
    if (!p.config->masked || !p.config->classes) plain_near("loss", name, &mean, &loss, 1);
    for (uint64_t step = 1; step <= 3; step++) {
        assert_int_equal(model_gradient(m, x, step, &mean), 0);
        assert_int_equal(plain_gradient(&p, x, &loss), 0);
        mean += model_penalty(m) / (double)batch_asked(x);
        if (!p.config->masked || !p.config->classes) plain_near("loss", name, &mean, &loss, 1);
        OWN_NUMBERS *g = tiny_gradient(m);
        plain_near("gradient", name, g, p.grad, p.size);
        for (size_t k = 0; k < p.params && control && step == 1; k++)
            if (!plain_sees(&p, x, &p.param[k], g, loss))
                fail_msg("%s: another %s is not seen", name, p.param[k].name);
        assert_int_equal(plain_gradient(&p, x, &loss), 0);
        assert_int_equal(model_step(m, x, &adam, step), 0);
        model_penalty(m);
        plain_adam(&p, &adam, step);
        OWN_NUMBERS *theta = tiny_numbers(m);
        plain_near("parameter", name, theta, p.theta, p.size);
    }
}

#endif
