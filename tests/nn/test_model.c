/* test_model.c: a model against the whole model in one file, and the identities
 * that it has to keep, on every backend. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"
#include "tests/lib/plain_model.h"

TEST(agrees_with_plain_loops)
{
    static const TinyPlan residual[] = {{"residual", tiny_residual}, {0}};
    for (Each e = {.plans = residual}; each_next(&e);)
        for (int v = 0; v < 8; v++) {
            ModelConfig config = TINY_WITH(c.untied = v & 1, c.act = v & 2 ? ACT_RELU : ACT_GELU,
                                           c.no_final_norm = v >> 2);
            OWN_MODEL *m = each_twin(&e, config, 0);
            OWN_NUMBERS *z = tiny_logits(m, &e.x);
            plain_reads(m, &e.x, z, rounding_of(m));
        }
}

/* ---- identities ---------------------------------------------------------------------------------- */

/* Without training, registers share memory and EVALs share a workspace. The numbers are the same. */
TEST(memory_is_shared_without_harm)
{
    for (Each e = {.plans = tiny_all, .training = 1}; each_next(&e);) {
        OWN_MODEL *r = each_twin(&e, tiny_config(), 0);
        OWN_NUMBERS *z = tiny_logits(e.m, &e.x), *w = tiny_logits(r, &e.x);
        double mean;
        assert_memory_equal(z, w, N * V * sizeof *z);
        assert_true(2 * model_bytes(r) < model_bytes(e.m));
        assert_int_equal(model_gradient(r, &e.x, 1, &mean), ERR_MISUSE);
        AdamConfig a = {0};
        assert_int_equal(model_step(r, &e.x, &a, 1), ERR_MISUSE);
    }
}

/* The residual plan is its sublayers one at a time. */
TEST(sublayers_make_the_plan)
{
    double x[N * D], y[N * D], k[N * D];
    for (size_t i = 0; tested_backend(i); i++) {
        for (int today = 0; today < 3; today++) {
            Plan *plan = tiny_residual();
            ModelConfig c = today > 1 ? tiny_latest(plan) : today ? tiny_today() : tiny_config();
            c.max_length = TINY_ROWS + 3;
            OWN_MODEL *m = shaken(tested_backend(i), c, plan, 1);
            for (int j = 0; j < N * D; j++) x[j] = sin(j + 1);
            assert_int_equal(model_run_plan(m, N, x, y), 0);
            Batch other = tiny_batch(); /* positions of another pass do not stay */
            OWN_NUMBERS *z = tiny_logits(m, &other);
            assert_int_equal(model_run_plan(m, N, x, k), 0);
            assert_memory_equal(k, y, sizeof y);
            for (int slot = 0; slot < 2; slot++) {
                assert_int_equal(model_sublayer(m, slot, N, x, 0, NULL, k), 0);
                for (int j = 0; j < N * D; j++) x[j] += k[j];
            }
            assert_true(distance(x, y, N * D) <= rounding_of(m));
            assert_int_equal(model_sublayer(m, 2, N, x, 0, NULL, k), ERR_MISUSE);
            assert_int_equal(model_sublayer(m, 0, TINY_ROWS + 4, x, 0, NULL, k), ERR_MISUSE);
        }
    }
}

/* Makes y = r0 + G1(r0), then y + G2(y). */
static Plan *two_sets(void)
{
    Plan *p = plan_new(1);
    int r = 0;
    for (int set = 1; set <= 2; set++) {
        int k = plan_eval(p, plan_slot(p, (PlanSlot){SLOT_FEEDFORWARD, 0, set, TINY_INNER}), r, 0);
        r = plan_lin(p, 2, (PlanTerm[]){{1, r, 0, {{0}}}, {1, k, 0, {{0}}}});
    }
    p->output = r;
    return p;
}

/* With ReLU first, set 1 is that of a network of ReLU alone, and set 2 that of a network of GELU. */
TEST(first_relu)
{
    const ModelConfig config[] = {TINY_WITH(c.act = ACT_RELU), tiny_config(),
                                  TINY_WITH(c.first_relu = 1)};
    double x[N * D], y[3][2][N * D];
    for (int j = 0; j < N * D; j++) x[j] = sin(j + 1);
    for (size_t i = 0; tested_backend(i); i++) {
        for (int k = 0; k < 3; k++) {
            OWN_MODEL *m = shaken(tested_backend(i), config[k], two_sets(), 0);
            assert_int_equal(model_smooth(m), k == 1);
            for (int slot = 0; slot < 2; slot++)
                assert_int_equal(model_sublayer(m, slot, N, x, 0, NULL, y[k][slot]), 0);
        }
        assert_memory_equal(y[2][0], y[0][0], sizeof y[0][0]);
        assert_memory_equal(y[2][1], y[1][1], sizeof y[0][0]);
        assert_memory_not_equal(y[0][0], y[1][0], sizeof y[0][0]);
        assert_memory_not_equal(y[0][1], y[1][1], sizeof y[0][0]);
    }
}

/* Checks that k1 - k2 of one slot at one point is 0 where the masks are the same, and only there. A
 * sublayer with zero weights gives what a difference of 0 must give. */
static void compare_draws(const char *name, int kind, const char *weight, const char *bias)
{
    Batch b = tiny_batch();
    double same[N], fresh[N], off[N], bare[N];
    Model *m = shaken(name, tiny_config(), tiny_identity(kind, 0), 1);
    assert_int_equal(model_forward(m, &b, 1, 7, same, NULL), 0);
    assert_int_equal(model_forward(m, &b, 0, 7, off, NULL), 0);
    assert_memory_not_equal(same, off, sizeof off);
    set_tensor(m, weight, 0);
    set_tensor(m, bias, 0);
    assert_int_equal(model_forward(m, &b, 1, 7, bare, NULL), 0);
    assert_memory_equal(same, bare, sizeof same);
    model_free(m);
    m = shaken(name, tiny_config(), tiny_identity(kind, 1), 1);
    assert_int_equal(model_forward(m, &b, 1, 7, fresh, NULL), 0);
    assert_memory_not_equal(fresh, bare, sizeof same);
    assert_int_equal(model_forward(m, &b, 0, 7, fresh, NULL), 0);
    assert_memory_equal(fresh, off, sizeof off); /* dropout off: draws do not matter */
    model_free(m);
}

TEST(equal_draws_share_their_masks)
{
    for (size_t i = 0; tested_backend(i); i++) {
        compare_draws(tested_backend(i), SLOT_ATTENTION, "layers.0.attn.1.out.weight",
                      "layers.0.attn.1.out.bias");
        compare_draws(tested_backend(i), SLOT_FEEDFORWARD, "layers.0.ffn.1.down.weight",
                      "layers.0.ffn.1.down.bias");
    }
}

static void poison(Model *m)
{
    const Backend *b = m->backend;
    size_t n = m->arena[1].p ? m->arena[1].size : 0;
    b->fill(m->arena[0].p, NAN, m->arena[0].size);
    if (n == 0) return;
    void *x = b->alloc(n);
    assert_non_null(x);
    b->fill(x, NAN, n);
    b->copy(m->arena[1].p, x, n); /* a buffer of factors */
    b->release(x);
}

/* Nothing is read before it is written, so shared memory may hold anything. The negative control sees a
 * NaN in a register. */
TEST(poisoned_memory_changes_nothing)
{
    for (Each e = {.plans = tiny_all}; each_next(&e);)
        for (int recompute = 0; recompute < 2; recompute++) {
            ModelConfig config = TINY_WITH(c.recompute = recompute);
            OWN_MODEL *m = each_twin(&e, config, 1), *r = each_twin(&e, config, 1);
            double mean, x[2 * N * D], y[N * D];
            poison(m);
            assert_int_equal(model_gradient(m, &e.x, 2, &mean), 0);
            assert_int_equal(model_gradient(r, &e.x, 2, &mean), 0);
            assert_true(tiny_same(m, m->grad, r, r->grad));
            for (int j = 0; j < 2 * N * D; j++) x[j] = j == 3 ? NAN : sin(j);
            assert_int_equal(model_run_plan(m, N, x, y), 0);
            assert_true(isnan(y[3]));
        }
}

/* Masks and insides that are made again are the same, and so are gradients, bit for bit. */
TEST(recomputing_changes_no_bit)
{
    for (Each e = {.plans = tiny_all, .training = 1}; each_next(&e);)
        for (int today = 0; today < 3; today++) {
            ModelConfig again = today > 1 ? tiny_latest(model_plan(e.m))
                                : today   ? tiny_today()
                                          : tiny_config();
            if (today) model_free(e.m), e.m = each_twin(&e, again, 1);
            again.recompute = 1;
            OWN_MODEL *r = each_twin(&e, again, 1);
            double mean[2];
            for (uint64_t step = 1; step <= 2; step++) {
                assert_int_equal(model_gradient(e.m, &e.x, step, &mean[0]), 0);
                assert_int_equal(model_gradient(r, &e.x, step, &mean[1]), 0);
                assert_true(tiny_same(e.m, model_grad(e.m), r, model_grad(r)));
                assert_memory_equal(&mean[0], &mean[1], sizeof *mean);
            }
            assert_int_equal(model_gradient(r, &e.x, 1, &mean[1]), 0); /* another step's masks */
            assert_false(tiny_same(e.m, model_grad(e.m), r, model_grad(r)));
            assert_true(model_bytes(r) < model_bytes(e.m));
        }
}

/* A step allocates no memory. */
TEST(passes_allocate_nothing)
{
    AdamConfig a = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};
    for (Each e = {.plans = tiny_all, .training = 1}; each_next(&e);) {
        double mean;
        size_t calls = memory_calls();
        assert_int_equal(model_gradient(e.m, &e.x, 1, &mean), 0);
        assert_int_equal(model_step(e.m, &e.x, &a, 1), 0);
        assert_int_equal(model_forward(e.m, &e.x, 0, 0, NULL, &mean), 0);
        assert_int_equal(memory_calls(), calls);
        OWN_MODEL *r = each_twin(&e, tiny_config(), 0);
        assert_true(r && memory_calls() > calls); /* the counter counts */
    }
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(NULL, NULL)
