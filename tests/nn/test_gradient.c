/* test_gradient.c: the gradient of every parameter tensor of every tiny plan against differences of
 * the loss, in f64. A tensor is probed along random directions and single entries.
 *
 * Difference formula (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h: truncation ~ h^4 f'''''/30, which
 * at h = 1e-4 is 3e-18 times a fifth derivative (up to 1e8 where a sublayer feeds a sublayer);
 * rounding ~ 2 eps f / h = 2e-11 at a loss of about 4. Gradient norms are above 1e-4 (checked), so
 * 1e-6 of the norm bounds both. ReLU has kinks, so its steps are tiny: h = 1e-7, rounding 1e-8, and
 * 1e-5 of the norm. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "tests/lib/models.h"

enum { DIRECTIONS = 2, ENTRIES = 1, PROBES = DIRECTIONS + ENTRIES, STEP = 5 };

typedef struct {
    Model *m;
    Batch batch;
    double h;
    double *data, *grad; /* host copies */
} Probe;

/* Returns the mean loss over the labels, for an encoder that is asked words and labels. */
static double label_loss(const Batch *x, const double *nll)
{
    double sum = 0;
    if (!x->asked.masked || !x->asked.label) return 0;
    for (size_t s = 0; s < x->S; s++) sum += nll[x->asked.count + s];
    return sum / (double)x->S;
}

static double loss_at(Probe *p, const Param *t, const double *v, double h)
{
    const Backend *b = model_backend(p->m);
    double mean, nll[TINY_ROWS];
    OWN_NUMBERS *x = memory_new(t->size, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < t->size; i++) x[i] = p->data[t->offset + i] + h * v[i];
    b->put(backend_at(b, model_data(p->m), t->offset), x, t->size);
    assert_int_equal(model_forward(p->m, &p->batch, 1, STEP, nll, &mean), 0);
    mean += label_loss(&p->batch, nll);
    b->put(backend_at(b, model_data(p->m), t->offset), p->data + t->offset, t->size);
    return mean;
}

static double difference(Probe *p, const Param *t, const double *v)
{
    double near = loss_at(p, t, v, p->h) - loss_at(p, t, v, -p->h);
    double far = loss_at(p, t, v, 2 * p->h) - loss_at(p, t, v, -2 * p->h);
    return (8 * near - far) / (12 * p->h);
}

/* Sets v to direction k of a tensor: standard normal, then single entries. */
static void direction(const Param *t, int k, double *v)
{
    for (size_t i = 0; i < t->size; i++)
        v[i] = k < DIRECTIONS ? random_normal(99, (uint64_t)k, t->offset + i) : 0;
    if (k >= DIRECTIONS) v[random_below(98, (uint64_t)k, t->offset, t->size)] = 1;
}

/* Computes the largest |v . gradient - difference| over the probes, relative to the gradient's norm, for the
 * gradient as it is and for one that is 1.001 times too large. */
static void probe_tensor(Probe *p, const Param *t, double *error, double *spoilt)
{
    double norm2 = 0, *v = memory_new(t->size, sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < t->size; i++) norm2 += pow(p->grad[t->offset + i], 2);
    *error = *spoilt = 0;
    for (int k = 0; k < PROBES; k++) {
        double dot = 0;
        direction(t, k, v);
        for (size_t i = 0; i < t->size; i++) dot += v[i] * p->grad[t->offset + i];
        double exact = difference(p, t, v), norm = sqrt(norm2);
        *error = fmax(*error, fabs(dot - exact) / norm);
        *spoilt = fmax(*spoilt, fabs(1.001 * dot - exact) / norm);
        if (!isfinite(dot) || !isfinite(exact)) *error = INFINITY;
    }
    if (!(sqrt(norm2) > 1e-4)) fail_msg("%s: gradient norm %g", t->name, sqrt(norm2));
    memory_free(v);
}

static void probe_model(Probe *p, const char *what, double tol)
{
    const Param *list;
    double mean;
    size_t n = model_size(p->m), params = model_params(p->m, &list);
    assert_int_equal(model_gradient(p->m, &p->batch, STEP, &mean), 0);
    p->data = tiny_get(p->m, model_data(p->m), 0, n);
    p->grad = tiny_get(p->m, model_grad(p->m), 0, n);
    for (size_t i = 0; i < params; i++) {
        double error, spoilt;
        probe_tensor(p, &list[i], &error, &spoilt);
        if (!(error <= tol)) fail_msg("%s: %s: error %g", what, list[i].name, error);
        if (!(spoilt > tol)) fail_msg("%s: %s: blind to 1.001", what, list[i].name);
    }
    memory_free(p->data);
    memory_free(p->grad);
}

/* Steps and tolerances of differences: of smooth networks, of those with large derivatives, of smooth pairs, and of
 * networks with kinks. */
typedef struct {
    double h, tol;
} Steps;
static const Steps smooth = {1e-4, 1e-6}, steep = {2e-5, 1e-6}, exact = {1e-4, 1e-7},
                   kinks = {1e-7, 1e-5};

static void check(Plan *plan, const char *name, ModelConfig config, Steps s)
{
    OWN_MODEL *m = shaken("cpu-f64", config, plan, 1);
    Probe p = {.h = s.h, .m = m, .batch = tiny_batch_of(m)};
    probe_model(&p, name, s.tol);
}

static void check_list(const TinyPlan *p, ModelConfig config, Steps s)
{
    for (; p->name; p++) check(p->build(), p->name, config, s);
}

/* Pairs have two cross-attentions with keys made once. */
static void check_smooth(ModelConfig config)
{
    check_list(tiny_plans, config, smooth);
    check_list(tiny_pairs, config, exact);
}

TEST(smooth_networks)
{
    check_smooth(tiny_config());
    check_smooth(TINY_WITH(c.no_final_norm = 1));
    check_list(tiny_all, TINY_WITH(c.untied = 1, c.positions = 0, c.dropout = 0), smooth);
}

/* Makes x = LN(r0), then LN(x + F(x)): a norm behind the input. */
static Plan *input_norm(void)
{
    Plan *p = plan_new(1);
    p->post = 1;
    int n = plan_slot(p, (PlanSlot){.kind = SLOT_NORM, .side = SIDE_TARGET, .set = 2});
    int f = plan_slot(p, (PlanSlot){.kind = SLOT_ATTENTION, .side = SIDE_TARGET, .set = 1});
    int x = plan_norm(p, n, 0), k = plan_eval(p, f, x, 0);
    int y = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = x}, {.c = 1, .x = k}});
    p->output = plan_norm(p, f, y);
    return p;
}

/* Blocks of today's networks, alone and together. */
TEST(blocks_of_today)
{
    static const TinyPlan *const lists[] = {tiny_plans, tiny_pairs};
    const ModelConfig config[] = {
        tiny_today(),
        TINY_WITH(c.positions = POSITIONS_LEARNED, c.plain_input = 1, c.act = ACT_ERF),
        TINY_WITH(c.act = ACT_GEGLU, c.recompute = 1)};
    for (size_t i = 0; i < sizeof config / sizeof *config; i++)
        for (int k = 0; k < 2; k++) check_list(lists[k], config[i], steep);
    check(input_norm(), "input norm", config[1], steep);
    check(tiny_encoder(tiny_residual()), "encoder", tiny_head_config(config[0], &tiny_heads[1]),
          smooth);
    check(tiny_encoder(tiny_residual()), "encoder", tiny_head_config(config[1], &tiny_heads[1]),
          smooth);
}

TEST(networks_with_relu)
{
    check_list(tiny_all, TINY_WITH(c.act = ACT_RELU), kinks);
    check_list(tiny_all, TINY_WITH(c.first_relu = 1), kinks);
}

TEST(smoothed_labels)
{
    ModelConfig config = TINY_WITH(c.smoothing = 0.2);
    check(tiny_residual(), "residual", config, smooth);
    check(tiny_pairs->build(), "pair", config, exact);
}

/* The batch has words of the head and of both tails as inputs and as targets. */
TEST(adaptive_softmax)
{
    ModelConfig config = TINY_WITH(c.tails = 2, c.cut[0] = 3, c.cut[1] = 6, c.factor = 2);
    check(tiny_residual(), "tied", config, smooth);
    config.untied = 1;
    check(tiny_residual(), "untied", config, smooth);
    config.untied = 0;
    config.recompute = 1;
    config.positions = 0;
    check(tiny_plans[1].build(), "recomputed", config, smooth);
}

/* Every plan as an encoder alone has the right gradient, with every task; masked words also with smoothing, an untied
 * output, and activations made again. */
TEST(encoders_alone)
{
    for (const TinyHead *h = tiny_heads; h->masked || h->classes; h++)
        for (const TinyPlan *p = tiny_plans; p->name; p++) {
            char name[80];
            snprintf(name, sizeof name, "%s, %s, %zu classes", p->name, h->masked ? "masked" : "",
                     h->classes);
            check(tiny_encoder(p->build()), name, tiny_head_config(tiny_config(), h), smooth);
        }
    ModelConfig config =
        tiny_head_config(TINY_WITH(c.smoothing = 0.2, c.untied = 1), &tiny_heads[1]);
    check(tiny_encoder(tiny_residual()), "untied", config, smooth);
    config.recompute = 1;
    config.positions = 0;
    check(tiny_encoder(tiny_residual()), "recomputed", config, smooth);
}

TEST_MAIN(one_thread, NULL)
