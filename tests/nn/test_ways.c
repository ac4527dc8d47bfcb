/* test_ways.c: the definitions of smoothed labels and decoupled weight decay, on models of every backend. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"

static const AdamConfig adam = {.rate = 0.125, .beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8, .clip = 1};

/* ---- smoothed labels ----------------------------------------------------------------------------- */

static ModelConfig smoothed(double smoothing)
{
    return TINY_WITH(c.dropout = 0, c.smoothing = smoothing);
}

/* Computes for one row of logits -log p_t, and the mean of -log p_v over the vocabulary. */
static void surprise(const double *z, size_t t, double *plain, double *mean)
{
    double sum = 0;
    *mean = 0;
    for (size_t v = 0; v < V; v++) sum += exp(z[v]);
    for (size_t v = 0; v < V; v++) *mean += (log(sum) - z[v]) / V;
    *plain = log(sum) - z[t];
}

/* A training pass has (1 - E) plain + E mean. Another pass and the logits do not depend on E. Logits are
 * below 20; the losses differ from these by some 2 V roundings. */
TEST(the_loss_is_a_mixture)
{
    const double smoothing = 0.25;
    Batch x = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), smoothed(smoothing), tiny_residual(), 1);
        double logits[N * V], trained[N], nll[N], mean, tol = 2 * V * 20 * eps_of(model_backend(m));
        assert_int_equal(model_logits(m, &x, logits), 0);
        assert_int_equal(model_forward(m, &x, 1, 1, trained, NULL), 0);
        assert_int_equal(model_forward(m, &x, 0, 1, nll, &mean), 0);
        double sum = 0, apart = 0, evaluated = 0;
        for (size_t r = 0; r < N; r++) {
            double plain, all;
            evaluated += nll[r] / N;
            surprise(logits + r * V, (size_t)x.target[r], &plain, &all);
            assert_true(fabs(nll[r] - plain) <= tol);
            assert_true(fabs(trained[r] - (1 - smoothing) * plain - smoothing * all) <= tol);
            sum += trained[r] / N;
            apart = fmax(apart, fabs(trained[r] - plain));
        }
        assert_true(fabs(mean - evaluated) <= 1e-14 * mean);
        assert_true(apart > 100 * tol); /* control: the two losses are not one */
        assert_int_equal(model_gradient(m, &x, 1, &mean), 0);
        if (model_backend(m)->factor_size != model_backend(m)->size)
            tol += 2 * 20 * 0x1p-8; /* backward's logits are rounded */
        assert_true(fabs(mean - sum) <= tol);
    }
}

/* ---- weight decay -------------------------------------------------------------------------------- */

/* Decides by the name: weights of sublayers, embeddings and relative positions decay, those of norms and
 * schemes do not. */
static int should_decay(const char *name)
{
    size_t n = strlen(name);
    return n > 7 && strcmp(name + n - 7, ".weight") == 0 && !strstr(name, "norm.") &&
           !strstr(name, ".scheme.");
}

static double *stepped(Model *m, double decay)
{
    Batch x = tiny_batch_of(m);
    AdamConfig a = adam;
    a.decay = decay;
    tiny_shake(m, 4);
    assert_int_equal(model_step(m, &x, &a, 1), 0);
    return tiny_numbers(m);
}

/* Checks that a step with decay is the step without it less rate * decay * theta where a tensor decays, to
 * the rounding of numbers below 4, and bit for bit the same elsewhere. */
static void check_decay(const char *name, Plan *(*build)(void))
{
    const double decay = 0.5;
    OWN_MODEL *m = shaken(name, tiny_config(), build(), 1),
              *r = shaken(name, tiny_config(), build(), 1),
              *before = shaken(name, tiny_config(), build(), 1);
    tiny_shake(before, 4);
    OWN_NUMBERS *theta = tiny_numbers(before), *with = stepped(m, decay), *without = stepped(r, 0);
    const Param *list;
    size_t params = model_params(m, &list), decays = 0;
    for (size_t k = 0; k < params; k++) {
        double rate = should_decay(list[k].name) ? adam.rate * decay : 0;
        if (model_decays(&list[k]) != (rate != 0)) fail_msg("%s", list[k].name);
        decays += rate != 0;
        for (size_t i = list[k].offset; i < list[k].offset + list[k].size; i++) {
            double error = fabs(with[i] - (without[i] - rate * theta[i]));
            if (!(error <= (rate != 0 ? 4 * 4 * eps_of(model_backend(m)) : 0)))
                fail_msg("%s, %s: off by %g", name, list[k].name, error);
        }
    }
    assert_true(decays > 0 && decays < params);
}

TEST(decay_is_decoupled)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) check_decay(tested_backend(i), p->build);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(one_thread, NULL)
