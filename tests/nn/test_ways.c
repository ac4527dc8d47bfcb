/* test_ways.c: the definitions of smoothed labels and decoupled weight decay, on models of every backend; and the plain
 * ways of what a backend does not do in a way of its own (kernels/plain_ways.c). */
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
        if (keeps_factors(m)) tol += 2 * 20 * 0x1p-8; /* backward's logits are rounded */
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

/* ---- plain ways ---------------------------------------------------------------------------------- */

/* Returns a backend without its own ways, all of which are the plain ones then. */
static Backend bare(const Backend *of)
{
    Backend b = *of;
    b.device = b.branches = 0;
    b.row_sizes = b.twin_size = b.factor_size = 0;
    b.record = b.time = NULL, b.recorded = NULL, b.replay = NULL, b.recording_free = NULL;
    b.timed = NULL, b.join = NULL, b.weights = NULL, b.factors = NULL;
    b.pack = b.aside = b.meet = NULL;
    b.activate = NULL, b.activate_back = NULL, b.signs = NULL, b.bias_back = NULL, b.weigh = NULL;
    b.attends_factors = NULL;
    backend_complete(&b);
    return b;
}

/* A backend with ways of its own, which computes by the functions of `inner`. Biases are summed with the products of
 * weights, by rows that are then given up (room); factors are apart from numbers, twice as far from one another, which
 * arrays of one block never see. */
static const Backend *inner;
static void *room;
static size_t packed, aside, met, weighed, twins;

static void own_pack(int on)
{
    packed += (size_t)on;
}
static void own_aside(int on)
{
    aside += (size_t)on;
}
static void own_meet(int all)
{
    (void)all;
    met++;
}
static int own_weights(const void *x, size_t n, void *twin)
{
    twins += x && n && twin;
    return 0;
}
static void *own_factors(size_t n)
{
    return inner->alloc(2 * n);
}
static void own_activate(const Backend *self, size_t n, size_t m, size_t d, const void *x,
                         const void *W, const void *b, int act, Dropout drop, void *u, void *y)
{
    (void)self;
    inner->gemm(0, 1, n, act_gated(act) ? 2 * m : m, d, 1, x, d, W, d, 0, u,
                act_gated(act) ? 2 * m : m);
    inner->bias_act(n, m, u, b, act, drop, y);
}
static void own_activate_back(const Backend *self, size_t n, size_t m, size_t d, const void *dz,
                              const void *W, const void *u, const void *y, int act, Dropout drop,
                              void *dcore, void *du, void *db)
{
    (void)self, (void)db;
    inner->gemm(0, 0, n, m, d, 1, dz, d, W, m, 0, dcore, m);
    inner->bias_act_back(n, m, u, y, act, drop, dcore, du, NULL);
}
static void own_weigh(const Backend *self, size_t n, size_t o, size_t d, const void *dy,
                      const void *x, int more, void *dW, void *db)
{
    (void)self;
    inner->gemm(1, 0, o, d, n, 1, dy, o, x, d, more, dW, d);
    if (db) inner->bias_drop_back(n, o, 1, &(LinTerm){.c = 1, .x = dy}, (Dropout){0}, room, db);
    weighed += db != NULL;
}
static void no_bias_weigh(const Backend *self, size_t n, size_t o, size_t d, const void *dy,
                          const void *x, int more, void *dW, void *db)
{
    (void)db;
    own_weigh(self, n, o, d, dy, x, more, dW, NULL);
}

static Backend own(void)
{
    Backend b = *inner;
    b.branches = 1;
    b.twin_size = b.size, b.factor_size = 2 * b.size;
    b.pack = own_pack, b.aside = own_aside, b.meet = own_meet;
    b.weights = own_weights, b.factors = own_factors;
    b.activate = own_activate, b.activate_back = own_activate_back, b.weigh = own_weigh;
    b.bias_back = NULL;
    backend_complete(&b);
    return b;
}

static Model *model_on(const Backend *b, Plan *plan, int act)
{
    Model *m;
    ModelConfig c = tiny_config();
    c.act = act;
    assert_int_equal(model_new(&c, plan, b, 1, &m), 0);
    tiny_shake(m, 3);
    return m;
}

/* Tells whether a plan trains to the same bits on two backends. */
static int trains_alike(const Backend *b, const Backend *r, const TinyPlan *p, int act)
{
    OWN_MODEL *m = model_on(b, p->build(), act), *q = model_on(r, p->build(), act);
    for (uint64_t step = 1; step <= 3; step++) {
        Batch x = tiny_batch_of(m);
        assert_int_equal(model_step(m, &x, &adam, step), 0);
        assert_int_equal(model_step(q, &x, &adam, step), 0);
    }
    return tiny_same(m, model_data(m), q, model_data(q));
}

/* A backend with ways of its own trains to the bits of the plain ways, which do the same calls in the same order. Each
 * way is used. A control: where no sum of a bias is made, other numbers come out. */
TEST(plain_ways_have_the_same_bits)
{
    static const int acts[] = {ACT_RELU, ACT_GELU, ACT_SWIGLU};
    inner = backend("cpu-f64");
    room = inner->alloc(1 << 12);
    Backend with = own(), plain = bare(inner), less = with;
    less.weigh = no_bias_weigh;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        for (const TinyPlan *p = tiny_all; p->name; p++) {
            packed = aside = met = weighed = twins = 0;
            if (!trains_alike(&with, &plain, p, acts[i]))
                fail_msg("%s, activation %d: other bits in the plain way", p->name, acts[i]);
            assert_true(packed && aside && met && weighed && twins);
            assert_false(trains_alike(&less, &plain, p, acts[i]));
        }
    inner->release(room);
}

/* On every backend the gradients in the plain ways are those of its own ways to rounding: a device sums biases in another
 * order, and rounds other numbers to factors. A control: they are not those of another step's masks. */
TEST(plain_ways_agree_on_every_backend)
{
    for (Each e = {.plans = tiny_all, .training = 1}; each_next(&e);) {
        Backend plain = bare(backend(e.backend));
        OWN_MODEL *m = model_on(&plain, e.plan->build(), tiny_config().act);
        double tol = 8 * model_backend(m)->eps, means[3];
        assert_int_equal(model_gradient(e.m, &e.x, 1, &means[0]), 0);
        assert_int_equal(model_gradient(m, &e.x, 1, &means[1]), 0);
        OWN_NUMBERS *own = tiny_gradient(e.m), *other = tiny_gradient(m);
        double far = norm_distance(own, other, model_size(m));
        if (!(far <= tol)) fail_msg("%s, %s: off by %g", e.backend, e.plan->name, far);
        assert_int_equal(model_gradient(m, &e.x, 2, &means[2]), 0);
        OWN_NUMBERS *masked = tiny_gradient(m);
        assert_true(norm_distance(own, masked, model_size(m)) > tol);
    }
}

/* What only a device does is refused elsewhere, with words. */
TEST(a_processor_records_nothing)
{
    const Backend *b = backend("cpu-f32");
    Recording *r;
    Launch *l;
    size_t n;
    assert_int_equal(b->record(), ERR_MISUSE);
    assert_int_equal(b->recorded(&r), ERR_MISUSE);
    assert_int_equal(b->replay(NULL), ERR_MISUSE);
    assert_int_equal(b->time(), ERR_MISUSE);
    assert_int_equal(b->timed(&l, &n), ERR_MISUSE);
    assert_true(!r && !l && n == 0 && strstr(error_text(), "device"));
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(one_thread, NULL)
