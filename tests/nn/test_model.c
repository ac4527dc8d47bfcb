/* test_model.c: a model against a second reading of its definition in plain loops, and the identities
 * that it has to keep, on every backend. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"
#include "tests/lib/plain.h"

static double *logits(Model *m, const Batch *b)
{
    double *z = memory_new(b->N * V, sizeof *z);
    assert_non_null(z);
    assert_int_equal(model_logits(m, b, z), 0);
    return z;
}

/* ---- a second reading ----------------------------------------------------------------------------- */

/* Returns the rounding. Both readings add products of numbers of order 1 to 10 in chains of some 200
 * operations: an error of 200 eps times a magnitude of 50, twice with the second reading's. In bf16 the
 * factors' rounding is larger than all else: some 8 products in a row, each off by 2^-8 of a magnitude
 * of 10. */
static double rounding(const Backend *b)
{
    double elements = 2e4 * (b->size == 4 ? 0x1p-24 : 0x1p-53);
    return b->eps > 0x1p-20 ? 80 * b->eps : elements;
}

TEST(agrees_with_plain_loops)
{
    Batch b = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++)
        for (int v = 0; v < 8; v++) {
            ModelConfig c = tiny_config();
            c.untied = v & 1;
            c.act = v & 2 ? ACT_RELU : ACT_GELU;
            c.no_final_norm = v >> 2;
            OWN_MODEL *m = shaken(tested_backend(i), c, tiny_residual(), 0);
            double *z = logits(m, &b), plain[N * V];
            plain_logits(m, &b, plain);
            assert_true(distance(z, plain, N * V) <= rounding(model_backend(m)));
            /* The comparison sees one changed tensor. */
            set_tensor(m, c.no_final_norm ? "layers.0.ffn.1.down.bias" : "final_norm.weight", 3);
            plain_logits(m, &b, plain);
            assert_false(distance(z, plain, N * V) <= rounding(model_backend(m)));
            memory_free(z);
        }
}

/* nll and mean are those of the logits of the same model. */
TEST(loss_is_of_the_logits)
{
    Batch b = tiny_batch();
    OWN_MODEL *m = shaken("cpu-f64", tiny_config(), tiny_residual(), 0);
    double nll[N], mean, sum = 0, *z = logits(m, &b);
    assert_int_equal(model_forward(m, &b, 0, 0, nll, &mean), 0);
    for (int i = 0; i < N; i++) {
        double total = 0;
        for (int v = 0; v < V; v++) total += exp(z[i * V + v]);
        double want = log(total) - z[i * V + b.target[i]];
        assert_true(fabs(nll[i] - want) <= 1e-13 * (1 + fabs(want)));
        sum += nll[i];
    }
    assert_true(fabs(mean - sum / N) <= 1e-14 * mean);
    memory_free(z);
}

/* ---- identities ---------------------------------------------------------------------------------- */

/* A later token or another sequence leaves a row's logits unchanged, bit for bit. */
TEST(later_tokens_change_nothing_earlier)
{
    enum { ROW = 9 }; /* the fourth of the third sequence */
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            Batch b = tiny_batch_of(m);
            int32_t changed[N];
            memcpy(changed, b.input, sizeof changed);
            changed[ROW] = 8;
            OWN_NUMBERS *z = logits(m, &b);
            b.input = changed;
            OWN_NUMBERS *w = logits(m, &b);
            assert_memory_equal(z, w, ROW * V * sizeof *z);
            for (int r = ROW; r < N; r++) assert_true(distance(z + r * V, w + r * V, V) > 1e-4);
        }
}

TEST(packed_sequences_do_not_mix)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            Batch b = tiny_batch_of(m);
            OWN_NUMBERS *z = logits(m, &b);
            for (size_t s = 0; s < b.S; s++) {
                size_t at = b.start[s], start[2 * SIDES];
                Batch one = tiny_one(&b, s, start);
                OWN_NUMBERS *w = logits(m, &one);
                int f64 = strcmp(tested_backend(i), "cpu-f64") == 0; /* the same bits */
                assert_true(distance(z + at * V, w, one.N * V) <=
                            (f64 ? 0 : rounding(model_backend(m))));
            }
        }
}

/* Without training, registers share memory and EVALs share a workspace. The numbers are the same. */
TEST(memory_is_shared_without_harm)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), p->build(), 1);
            OWN_MODEL *r = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            Batch b = tiny_batch_of(m);
            double mean;
            OWN_NUMBERS *z = logits(m, &b), *w = logits(r, &b);
            assert_memory_equal(z, w, N * V * sizeof *z);
            assert_true(2 * model_bytes(r) < model_bytes(m));
            assert_int_equal(model_gradient(r, &b, 1, &mean), ERR_MISUSE);
            AdamConfig a = {0};
            assert_int_equal(model_adam(r, &a, 1, NULL), ERR_MISUSE);
        }
}

/* Sublayers with zero weights leave r0 as it is, bit for bit. */
TEST(zero_sublayers_are_the_identity)
{
    static const char *const zero[] = {"layers.0.attn.1.out.weight", "layers.0.attn.1.out.bias",
                                       "layers.0.ffn.1.down.weight", "layers.0.ffn.1.down.bias"};
    double x[N * D], y[N * D];
    for (int i = 0; i < N * D; i++) x[i] = (float)sin(i + 1); /* exact in either type */
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), tiny_residual(), 0);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        assert_memory_not_equal(x, y, sizeof x);
        for (int k = 0; k < 4; k++) set_tensor(m, zero[k], 0);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        assert_memory_equal(x, y, sizeof x);
    }
}

/* The residual plan is its sublayers one at a time. */
TEST(sublayers_make_the_plan)
{
    double x[N * D], y[N * D], k[N * D];
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), tiny_residual(), 1);
        for (int j = 0; j < N * D; j++) x[j] = sin(j + 1);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        for (int slot = 0; slot < 2; slot++) {
            assert_int_equal(model_sublayer(m, slot, N, x, k), 0);
            for (int j = 0; j < N * D; j++) x[j] += k[j];
        }
        assert_true(distance(x, y, N * D) <= rounding(model_backend(m)));
        assert_int_equal(model_sublayer(m, 2, N, x, k), ERR_MISUSE);
        assert_int_equal(model_sublayer(m, 0, TINY_ROWS + 4, x, k), ERR_MISUSE);
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
    ModelConfig config[] = {tiny_config(), tiny_config(), tiny_config()};
    config[0].act = ACT_RELU;
    config[2].first_relu = 1;
    double x[N * D], y[3][2][N * D];
    for (int j = 0; j < N * D; j++) x[j] = sin(j + 1);
    for (size_t i = 0; tested_backend(i); i++) {
        for (int k = 0; k < 3; k++) {
            OWN_MODEL *m = shaken(tested_backend(i), config[k], two_sets(), 0);
            assert_int_equal(model_smooth(m), k == 1);
            for (int slot = 0; slot < 2; slot++)
                assert_int_equal(model_sublayer(m, slot, N, x, y[k][slot]), 0);
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

/* Gradients are a function of (parameters, batch, step). The earlier content of the buffers does not
 * matter. */
TEST(gradients_repeat_bit_for_bit)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), p->build(), 1);
            OWN_MODEL *r = shaken(tested_backend(i), tiny_config(), p->build(), 1);
            size_t start[2 * SIDES];
            Batch b = tiny_batch_of(m), first = tiny_one(&b, 0, start);
            double mean[4];
            assert_int_equal(model_gradient(m, &b, 2, &mean[0]), 0);
            assert_int_equal(model_gradient(m, &first, 3, &mean[1]), 0);
            assert_int_equal(model_gradient(r, &first, 3, &mean[2]), 0);
            assert_true(tiny_same(m, model_grad(m), r, model_grad(r)));
            assert_memory_equal(&mean[1], &mean[2], sizeof *mean);
            assert_int_equal(model_gradient(r, &first, 4, &mean[3]), 0); /* other masks */
            assert_false(tiny_same(m, model_grad(m), r, model_grad(r)));
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
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++)
            for (int recompute = 0; recompute < 2; recompute++) {
                ModelConfig c = tiny_config();
                c.recompute = recompute;
                OWN_MODEL *m = shaken(tested_backend(i), c, p->build(), 1);
                OWN_MODEL *r = shaken(tested_backend(i), c, p->build(), 1);
                Batch b = tiny_batch_of(m);
                double mean, x[2 * N * D], y[N * D];
                poison(m);
                assert_int_equal(model_gradient(m, &b, 2, &mean), 0);
                assert_int_equal(model_gradient(r, &b, 2, &mean), 0);
                assert_true(tiny_same(m, m->grad, r, r->grad));
                for (int j = 0; j < 2 * N * D; j++) x[j] = j == 3 ? NAN : sin(j);
                assert_int_equal(model_run_plan(m, N, x, y), 0);
                assert_true(isnan(y[3]));
            }
}

/* Masks and insides that are made again are the same, and so are gradients, bit for bit. */
TEST(recomputing_changes_no_bit)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            ModelConfig c = tiny_config();
            OWN_MODEL *m = shaken(tested_backend(i), c, p->build(), 1);
            c.recompute = 1;
            OWN_MODEL *r = shaken(tested_backend(i), c, p->build(), 1);
            Batch b = tiny_batch_of(m);
            double mean[2];
            for (uint64_t step = 1; step <= 2; step++) {
                assert_int_equal(model_gradient(m, &b, step, &mean[0]), 0);
                assert_int_equal(model_gradient(r, &b, step, &mean[1]), 0);
                assert_true(tiny_same(m, model_grad(m), r, model_grad(r)));
                assert_memory_equal(&mean[0], &mean[1], sizeof *mean);
            }
            assert_int_equal(model_gradient(r, &b, 1, &mean[1]), 0); /* another step's masks */
            assert_false(tiny_same(m, model_grad(m), r, model_grad(r)));
            assert_true(model_bytes(r) < model_bytes(m));
        }
}

/* A step allocates no memory. */
TEST(passes_allocate_nothing)
{
    AdamConfig a = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 1);
            Batch b = tiny_batch_of(m);
            double mean;
            size_t calls = memory_calls();
            assert_int_equal(model_gradient(m, &b, 1, &mean), 0);
            assert_int_equal(model_adam(m, &a, 1, NULL), 0);
            assert_int_equal(model_forward(m, &b, 0, 0, NULL, &mean), 0);
            assert_int_equal(memory_calls(), calls);
            model_free(m);
            m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            assert_true(memory_calls() > calls); /* the counter counts */
            model_free(m);
        }
}

/* Single and double precision agree on equal parameters. The error is a share of the gradient's norm.
 * The networks amplify rounding by some hundreds (f64's differences: test_gradient.c). */
TEST(precisions_agree)
{
    for (const TinyPlan *p = tiny_all; p->name; p++) {
        OWN_MODEL *m = shaken("cpu-f32", tiny_config(), p->build(), 1);
        OWN_MODEL *r = model("cpu-f64", tiny_config(), p->build(), 1);
        Batch b = tiny_batch_of(m);
        size_t n = model_size(m);
        double *x = tiny_get(m, model_data(m), 0, n), mean[2], norm = 0, error = 0;
        model_backend(r)->put(model_data(r), x, n);
        assert_int_equal(model_gradient(m, &b, 2, &mean[0]), 0);
        assert_int_equal(model_gradient(r, &b, 2, &mean[1]), 0);
        OWN_NUMBERS *g = tiny_get(m, model_grad(m), 0, n), *h = tiny_get(r, model_grad(r), 0, n);
        for (size_t i = 0; i < n; i++) {
            norm += h[i] * h[i];
            error += (g[i] - h[i]) * (g[i] - h[i]);
        }
        assert_true(fabs(mean[0] - mean[1]) <= 1e3 * 0x1p-24 * mean[1]);
        assert_true(sqrt(error / norm) <= 1e3 * 0x1p-24);
        assert_true(error > 0);
        memory_free(x);
    }
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(NULL, NULL)
