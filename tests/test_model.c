/* test_model.c: a model against a second reading of its definition in plain loops, and the
 * identities it has to keep, on every backend. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/model_private.h"
#include "tests/backends.h"
#include "tests/plain.h"
#include "tests/tiny.h"

enum { N = TINY_ROWS, D = TINY_WIDTH, V = TINY_VOCAB, M = TINY_INNER, E = D / TINY_HEADS };

static const Backend *backend(const char *name)
{
    const Backend *b;
    assert_int_equal(backend_find(name, NULL, &b), 0);
    return b;
}

static Model *model(const char *name, ModelConfig c, Plan *plan, int training)
{
    Model *m;
    assert_non_null(plan);
    assert_int_equal(model_new(&c, plan, backend(name), training, &m), 0);
    return m;
}

/* model() with shaken parameters. */
static Model *shaken(const char *name, ModelConfig c, Plan *plan, int training)
{
    Model *m = model(name, c, plan, training);
    tiny_shake(m, 3);
    return m;
}

static void set_tensor(Model *m, const char *name, double value)
{
    const Param *p = tiny_param(m, name);
    const Backend *b = model_backend(m);
    b->fill(backend_at(b, model_data(m), p->offset), value, p->size);
}

static double *logits(Model *m, const Batch *b)
{
    double *z = memory_new(b->N * V, sizeof *z);
    assert_non_null(z);
    assert_int_equal(model_logits(m, b, z), 0);
    return z;
}

/* Largest difference, NaN counting as infinite. */
static double distance(const double *x, const double *y, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++) {
        double e = fabs(x[i] - y[i]);
        if (!(e <= most)) most = isnan(e) ? INFINITY : e;
    }
    return most;
}

/* ---- a second reading ----------------------------------------------------------------------------- */

/* Both readings add products of numbers of order 1 to 10 in chains of some 200 operations: error
 * 200 eps times a magnitude of 50, twice for the second reading's own. In bf16 the factors' rounding
 * leaves all else behind: some 8 products in a row, each off by 2^-8 of a magnitude of 10. */
static double rounding(const Backend *b)
{
    double elements = 2e4 * (b->size == 4 ? 0x1p-24 : 0x1p-53);
    return b->eps > 0x1p-20 ? 80 * b->eps : elements;
}

static void agrees_with_plain_loops(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++)
        for (int v = 0; v < 4; v++) {
            ModelConfig c = tiny_config();
            c.untied = v & 1;
            c.act = v & 2 ? ACT_RELU : ACT_GELU;
            Model *m = shaken(tested_backend(i), c, tiny_residual(), 0);
            double *z = logits(m, &b), plain[N * V];
            plain_logits(m, &b, plain);
            assert_true(distance(z, plain, N * V) <= rounding(model_backend(m)));
            set_tensor(m, "final_norm.weight", 3); /* the comparison sees one tensor */
            plain_logits(m, &b, plain);
            assert_false(distance(z, plain, N * V) <= rounding(model_backend(m)));
            memory_free(z);
            model_free(m);
        }
}

/* nll and mean against the logits of the same model. */
static void loss_is_of_the_logits(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    Model *m = shaken("cpu-f64", tiny_config(), tiny_residual(), 0);
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
    model_free(m);
}

/* ---- identities ---------------------------------------------------------------------------------- */

/* A later token or another sequence leaves a row's logits as they are, bit for bit. */
static void later_tokens_change_nothing_earlier(void **state)
{
    (void)state;
    enum { ROW = 9 }; /* the fourth of the third sequence */
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            Batch b = tiny_batch();
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            int32_t changed[N];
            memcpy(changed, b.input, sizeof changed);
            changed[ROW] = 8;
            double *z = logits(m, &b);
            b.input = changed;
            double *w = logits(m, &b);
            assert_memory_equal(z, w, ROW * V * sizeof *z);
            for (int r = ROW; r < N; r++) assert_true(distance(z + r * V, w + r * V, V) > 1e-4);
            memory_free(z);
            memory_free(w);
            model_free(m);
        }
}

static void packed_sequences_do_not_mix(void **state)
{
    (void)state;
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            Batch b = tiny_batch();
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            double *z = logits(m, &b);
            for (size_t s = 0; s < b.S; s++) {
                size_t at = b.start[s], n = b.start[s + 1] - at, start[] = {0, n};
                Batch one = {n, 1, n, b.input + at, b.target + at, b.position + at, start};
                double *w = logits(m, &one);
                assert_true(distance(z + at * V, w, n * V) <= rounding(model_backend(m)));
                memory_free(w);
            }
            memory_free(z);
            model_free(m);
        }
}

/* Without training registers share memory and EVALs one workspace: the numbers stay. */
static void memory_is_shared_without_harm(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 1);
            Model *r = shaken(tested_backend(i), tiny_config(), p->build(), 0);
            double *z = logits(m, &b), *w = logits(r, &b), mean;
            assert_memory_equal(z, w, N * V * sizeof *z);
            assert_true(2 * model_bytes(r) < model_bytes(m));
            assert_int_equal(model_gradient(r, &b, 1, &mean), ERR_MISUSE);
            AdamConfig a = {0};
            assert_int_equal(model_adam(r, &a, 1, NULL), ERR_MISUSE);
            memory_free(z);
            memory_free(w);
            model_free(m);
            model_free(r);
        }
}

/* Sublayers of zero weights: r0 + 0 is r0, bit for bit. */
static void zero_sublayers_are_the_identity(void **state)
{
    (void)state;
    static const char *const zero[] = {"layers.0.attn.1.out.weight", "layers.0.attn.1.out.bias",
                                       "layers.0.ffn.1.down.weight", "layers.0.ffn.1.down.bias"};
    double x[N * D], y[N * D];
    for (int i = 0; i < N * D; i++) x[i] = (float)sin(i + 1); /* exact in either type */
    for (size_t i = 0; tested_backend(i); i++) {
        Model *m = shaken(tested_backend(i), tiny_config(), tiny_residual(), 0);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        assert_memory_not_equal(x, y, sizeof x);
        for (int k = 0; k < 4; k++) set_tensor(m, zero[k], 0);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        assert_memory_equal(x, y, sizeof x);
        model_free(m);
    }
}

/* The residual plan by hand, a sublayer at a time. */
static void sublayers_make_the_plan(void **state)
{
    (void)state;
    double x[N * D], y[N * D], k[N * D];
    for (size_t i = 0; tested_backend(i); i++) {
        Model *m = shaken(tested_backend(i), tiny_config(), tiny_residual(), 1);
        for (int j = 0; j < N * D; j++) x[j] = sin(j + 1);
        assert_int_equal(model_run_plan(m, N, x, y), 0);
        for (int slot = 0; slot < 2; slot++) {
            assert_int_equal(model_sublayer(m, slot, N, x, k), 0);
            for (int j = 0; j < N * D; j++) x[j] += k[j];
        }
        assert_true(distance(x, y, N * D) <= rounding(model_backend(m)));
        assert_int_equal(model_sublayer(m, 2, N, x, k), ERR_MISUSE);
        assert_int_equal(model_sublayer(m, 0, TINY_ROWS + 4, x, k), ERR_MISUSE);
        model_free(m);
    }
}

/* k1 - k2 of one slot at one point is 0 where the masks are the same, and only there. A sublayer of
 * zero weights gives what a difference of 0 must. */
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

static void equal_draws_share_their_masks(void **state)
{
    (void)state;
    for (size_t i = 0; tested_backend(i); i++) {
        compare_draws(tested_backend(i), SLOT_ATTENTION, "layers.0.attn.1.out.weight",
                      "layers.0.attn.1.out.bias");
        compare_draws(tested_backend(i), SLOT_FEEDFORWARD, "layers.0.ffn.1.down.weight",
                      "layers.0.ffn.1.down.bias");
    }
}

/* Gradients are a function of (parameters, batch, step): not of what the buffers held before. */
static void gradients_repeat_bit_for_bit(void **state)
{
    (void)state;
    Batch b = tiny_batch(), first = b;
    first.N = 5, first.S = 1;
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 1);
            Model *r = shaken(tested_backend(i), tiny_config(), p->build(), 1);
            double mean[4];
            assert_int_equal(model_gradient(m, &b, 2, &mean[0]), 0);
            assert_int_equal(model_gradient(m, &first, 3, &mean[1]), 0);
            assert_int_equal(model_gradient(r, &first, 3, &mean[2]), 0);
            assert_true(tiny_same(m, model_grad(m), r, model_grad(r)));
            assert_memory_equal(&mean[1], &mean[2], sizeof *mean);
            assert_int_equal(model_gradient(r, &first, 4, &mean[3]), 0); /* other masks */
            assert_false(tiny_same(m, model_grad(m), r, model_grad(r)));
            model_free(m);
            model_free(r);
        }
}

static void poison(Model *m)
{
    m->backend->fill(m->arena, NAN, m->arena_size);
}

/* Nothing is read before it is written: what shares memory may hold anything. Negative control: a
 * NaN in a register is seen. */
static void poisoned_memory_changes_nothing(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++)
            for (int recompute = 0; recompute < 2; recompute++) {
                ModelConfig c = tiny_config();
                c.recompute = recompute;
                Model *m = shaken(tested_backend(i), c, p->build(), 1);
                Model *r = shaken(tested_backend(i), c, p->build(), 1);
                double mean, x[N * D], y[N * D];
                poison(m);
                assert_int_equal(model_gradient(m, &b, 2, &mean), 0);
                assert_int_equal(model_gradient(r, &b, 2, &mean), 0);
                assert_true(tiny_same(m, m->grad, r, r->grad));
                for (int j = 0; j < N * D; j++) x[j] = j == 3 ? NAN : sin(j);
                assert_int_equal(model_run_plan(m, N, x, y), 0);
                assert_true(isnan(y[3]));
                model_free(m);
                model_free(r);
            }
}

/* Masks and insides made again are the same: so are gradients, bit for bit. */
static void recomputing_changes_no_bit(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            ModelConfig c = tiny_config();
            Model *m = shaken(tested_backend(i), c, p->build(), 1);
            c.recompute = 1;
            Model *r = shaken(tested_backend(i), c, p->build(), 1);
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
            model_free(m);
            model_free(r);
        }
}

/* A step takes no memory that was not there before it. */
static void passes_allocate_nothing(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    AdamConfig a = {0.1, 0.9, 0.99, 1e-8, 1};
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            Model *m = shaken(tested_backend(i), tiny_config(), p->build(), 1);
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

/* Single against double precision on equal parameters; error by parts of the gradient's norm. The
 * networks amplify rounding by some hundreds (f64's own differences: test_gradient.c). */
static void precisions_agree(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    for (const TinyPlan *p = tiny_plans; p->name; p++) {
        Model *m = shaken("cpu-f32", tiny_config(), p->build(), 1);
        Model *r = model("cpu-f64", tiny_config(), p->build(), 1);
        size_t n = model_size(m);
        double *x = tiny_get(m, model_data(m), 0, n), mean[2], norm = 0, error = 0;
        model_backend(r)->put(model_data(r), x, n);
        assert_int_equal(model_gradient(m, &b, 2, &mean[0]), 0);
        assert_int_equal(model_gradient(r, &b, 2, &mean[1]), 0);
        double *g = tiny_get(m, model_grad(m), 0, n), *h = tiny_get(r, model_grad(r), 0, n);
        for (size_t i = 0; i < n; i++) {
            norm += h[i] * h[i];
            error += (g[i] - h[i]) * (g[i] - h[i]);
        }
        assert_true(fabs(mean[0] - mean[1]) <= 1e3 * 0x1p-24 * mean[1]);
        assert_true(sqrt(error / norm) <= 1e3 * 0x1p-24);
        assert_true(error > 0);
        memory_free(x);
        memory_free(g);
        memory_free(h);
        model_free(m);
        model_free(r);
    }
}

/* ---- parameters ----------------------------------------------------------------------------------- */

static void tensors_are_named_and_shaped(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t rows, cols;
    } want[] = {{"embed.weight", V, D},
                {"final_norm.weight", D, 0},
                {"final_norm.bias", D, 0},
                {"output.weight", V, D},
                {"layers.0.attn.1.norm.weight", D, 0},
                {"layers.0.attn.1.norm.bias", D, 0},
                {"layers.0.attn.1.qkv.weight", 3 * D, D},
                {"layers.0.attn.1.qkv.bias", 3 * D, 0},
                {"layers.0.attn.1.out.weight", D, D},
                {"layers.0.attn.1.out.bias", D, 0},
                {"layers.0.attn.1.relative.weight", 5, E},
                {"layers.0.ffn.2.up.weight", M, D},
                {"layers.0.ffn.2.up.bias", M, 0},
                {"layers.0.ffn.2.down.weight", D, M},
                {"layers.0.ffn.2.down.bias", D, 0},
                {"layers.0.scheme.a", 2, 0},
                {"layers.0.scheme.u.weight", 1, 2 * D},
                {"layers.0.scheme.u.bias", 1, 0}};
    ModelConfig c = tiny_config();
    c.untied = 1;
    Model *m = model("cpu-f32", c, tiny_plans[2].build(), 0);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        const Param *p = tiny_param(m, want[i].name);
        if (!p) fail_msg("no tensor %s", want[i].name);
        assert_int_equal(p->rows, want[i].rows);
        assert_int_equal(p->cols, want[i].cols);
        assert_int_equal(p->size, want[i].rows * (want[i].cols ? want[i].cols : 1));
    }
    const Param *list;
    size_t count = model_params(m, &list), at = 0;
    for (size_t i = 0; i < count; at += list[i++].size) assert_int_equal(list[i].offset, at);
    assert_int_equal(at, model_size(m));
    assert_int_equal(count, 4 + 7 + 6 + 6 + 1 + 4);
    model_free(m);
}

static void moments_of(Model *m, const char *name, double *mean, double *deviation, double *most)
{
    const Param *p = tiny_param(m, name);
    double *x = tiny_tensor(m, name), sum = 0, sum2 = 0;
    *most = 0;
    for (size_t i = 0; i < p->size; i++) {
        sum += x[i];
        sum2 += x[i] * x[i];
        *most = fmax(*most, fabs(x[i]));
    }
    *mean = sum / (double)p->size;
    *deviation = sqrt(sum2 / (double)p->size);
    memory_free(x);
}

/* 64,000 and 12,288 numbers: a standard error of the deviation below 1 %, of the mean 0.01. */
static void starting_values_are_as_promised(void **state)
{
    (void)state;
    ModelConfig c = tiny_config();
    c.width = 64, c.vocab = 1000, c.heads = 4;
    Model *m = model("cpu-f32", c, tiny_residual(), 0);
    double mean, deviation, most, limit = sqrt(6 / (4.0 * 64));
    moments_of(m, "embed.weight", &mean, &deviation, &most);
    assert_true(fabs(mean) <= 0.02 / 8 && fabs(deviation * 8 - 1) <= 0.03 && most * 8 > 3);
    moments_of(m, "layers.0.attn.1.qkv.weight", &mean, &deviation, &most);
    assert_true(fabs(mean) <= 0.05 * limit && fabs(deviation / limit * sqrt(3) - 1) <= 0.03);
    assert_true(most <= limit && most > 0.99 * limit);
    moments_of(m, "layers.0.attn.1.qkv.bias", &mean, &deviation, &most);
    assert_true(most == 0);
    moments_of(m, "final_norm.weight", &mean, &deviation, &most);
    assert_true(mean == 1 && most == 1);
    model_free(m);
}

/* Two networks with a tensor of one name and shape start with equal values in it. */
static void common_tensors_start_equal(void **state)
{
    (void)state;
    Model *m = model("cpu-f64", tiny_config(), tiny_residual(), 0);
    Model *r = model("cpu-f64", tiny_config(), tiny_plans[2].build(), 0);
    ModelConfig c = tiny_config();
    c.seed++;
    Model *other = model("cpu-f64", c, tiny_residual(), 0);
    double *x = tiny_tensor(m, "layers.0.ffn.1.up.weight"),
           *y = tiny_tensor(r, "layers.0.ffn.1.up.weight");
    double *z = tiny_tensor(other, "layers.0.ffn.1.up.weight"),
           *a = tiny_tensor(r, "layers.0.scheme.a");
    assert_memory_equal(x, y, M * D * sizeof *x);
    assert_memory_not_equal(x, z, M * D * sizeof *x);
    assert_true(a[0] == 0.7 && a[1] == 0.7);
    double *list[] = {x, y, z, a};
    for (int i = 0; i < 4; i++) memory_free(list[i]);
    model_free(m);
    model_free(r);
    model_free(other);
}

/* ---- refusals and failures ----------------------------------------------------------------------- */

#define SPOILS(X)                      \
    X(c->heads = 3)                    \
    X(c->heads = 0)                    \
    X((c->width = 9, c->heads = 3))    \
    X(c->width = 0)                    \
    X(c->vocab = 0)                    \
    X(c->vocab = SIZE_MAX / 4)         \
    X(c->max_tokens = 0)               \
    X(c->max_length = 0)               \
    X(c->clip = SIZE_MAX)              \
    X(c->dropout = 1)                  \
    X(c->dropout = -0.1)               \
    X(c->dropout = NAN)                \
    X(c->act = ACT_TANH)               \
    X(p->slot[1].inner = SIZE_MAX / 4) \
    X(p->instr[0].draw = 1 << 30)

static void spoil(ModelConfig *c, Plan *p, int which)
{
    int i = 0;
#define X(change) \
    if (i++ == which) change;
    SPOILS(X)
#undef X
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    static const char *const words[] = {
#define X(change) #change,
        SPOILS(X)
#undef X
    };
    size_t live = memory_live();
    Model *m;
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        ModelConfig c = tiny_config();
        Plan *p = tiny_residual();
        spoil(&c, p, i);
        if (model_new(&c, p, backend("cpu-f32"), 1, &m) != ERR_INPUT) fail_msg("%s", words[i]);
        assert_true(strlen(error_text()) > 0);
    }
    ModelConfig c = tiny_config();
    Plan *p = tiny_residual();
    p->output = 99;
    assert_int_equal(model_new(&c, p, backend("cpu-f32"), 1, &m), ERR_MISUSE);
    assert_int_equal(memory_live(), live);
}

static void bad_batches_are_refused(void **state)
{
    (void)state;
    Model *m = model("cpu-f32", tiny_config(), tiny_residual(), 0);
    Batch b = tiny_batch();
    int32_t bad[N] = {0, 0, V};
    double mean;
    b.longest = 8;
    assert_int_equal(model_forward(m, &b, 0, 0, NULL, &mean), ERR_MISUSE);
    b = tiny_batch();
    b.N = TINY_ROWS + 4;
    assert_int_equal(model_forward(m, &b, 0, 0, NULL, &mean), ERR_MISUSE);
    b = tiny_batch();
    b.target = bad;
    assert_int_equal(model_forward(m, &b, 0, 0, NULL, &mean), ERR_MISUSE);
    model_free(m);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    ModelConfig c = tiny_config();
    size_t live = memory_live(), tries = 0;
    for (int code = ERR_MEMORY; code; tries++) {
        Model *m;
        Plan *p = tiny_plans[2].build();
        assert_true(tries < 200);
        memory_fail_at(tries + 1);
        code = model_new(&c, p, backend("cpu-f32"), 1, &m);
        memory_fail_at(0);
        if (code)
            assert_int_equal(code, ERR_MEMORY);
        else
            model_free(m);
        assert_int_equal(memory_live(), live);
    }
    assert_true(tries > 20);
}

static void values_that_are_not_finite_are_told(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    for (size_t i = 0; tested_backend(i); i++) {
        Model *m = shaken(tested_backend(i), tiny_config(), tiny_residual(), 1);
        AdamConfig a = {0.1, 0.9, 0.99, 1e-8, 0};
        double mean, norm, *before, *after;
        assert_int_equal(model_gradient(m, &b, 1, &mean), 0);
        model_backend(m)->fill(model_grad(m), NAN, 1);
        before = tiny_get(m, model_data(m), 0, model_size(m));
        assert_int_equal(model_adam(m, &a, 1, &norm), ERR_NUMERIC);
        after = tiny_get(m, model_data(m), 0, model_size(m));
        assert_memory_equal(before, after, model_size(m) * sizeof *before);
        set_tensor(m, "layers.0.ffn.1.up.bias", NAN);
        assert_int_equal(model_gradient(m, &b, 1, &mean), ERR_NUMERIC);
        memory_free(before);
        memory_free(after);
        model_free(m);
    }
}

/* After one step from zero moments m = (1 - beta1) g min(1, clip / |g|). */
static void clipping_scales_the_gradient(void **state)
{
    (void)state;
    Batch b = tiny_batch();
    for (int clipped = 0; clipped < 2; clipped++) {
        Model *m = shaken("cpu-f64", tiny_config(), tiny_residual(), 1);
        size_t n = model_size(m);
        double mean, norm, sum = 0;
        assert_int_equal(model_gradient(m, &b, 1, &mean), 0);
        double *g = tiny_get(m, model_grad(m), 0, n);
        for (size_t i = 0; i < n; i++) sum += g[i] * g[i];
        AdamConfig a = {0.1, 0.9, 0.99, 1e-8, sqrt(sum) * (clipped ? 0.25 : 2)};
        assert_int_equal(model_adam(m, &a, 1, &norm), 0);
        assert_true(fabs(norm - sqrt(sum)) <= 1e-13 * norm);
        double *moment = tiny_get(m, model_moment(m, 0), 0, n), scale = clipped ? 0.25 : 1;
        for (size_t i = 0; i < n; i++) g[i] *= 0.1 * scale;
        assert_true(distance(g, moment, n) <= 1e-13 * norm);
        memory_free(g);
        memory_free(moment);
        model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_backends_are_here),
        cmocka_unit_test(agrees_with_plain_loops),
        cmocka_unit_test(loss_is_of_the_logits),
        cmocka_unit_test(later_tokens_change_nothing_earlier),
        cmocka_unit_test(packed_sequences_do_not_mix),
        cmocka_unit_test(memory_is_shared_without_harm),
        cmocka_unit_test(zero_sublayers_are_the_identity),
        cmocka_unit_test(sublayers_make_the_plan),
        cmocka_unit_test(equal_draws_share_their_masks),
        cmocka_unit_test(gradients_repeat_bit_for_bit),
        cmocka_unit_test(poisoned_memory_changes_nothing),
        cmocka_unit_test(recomputing_changes_no_bit),
        cmocka_unit_test(passes_allocate_nothing),
        cmocka_unit_test(precisions_agree),
        cmocka_unit_test(tensors_are_named_and_shaped),
        cmocka_unit_test(starting_values_are_as_promised),
        cmocka_unit_test(common_tensors_start_equal),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(bad_batches_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(values_that_are_not_finite_are_told),
        cmocka_unit_test(clipping_scales_the_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
