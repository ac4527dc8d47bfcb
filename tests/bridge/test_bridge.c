/* test_bridge.c: schemes as networks. For every scheme of the zoo, and for schemes that no zoo has, it compares the
 * plan run by nn/ with the same scheme stepped by ode/ on the same sublayers; it also checks identity and shift,
 * equal parameters, and gradients against finite differences. All is in f64. */
#include "tests/lib/test.h"

#include "bridge/bridge.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "tests/lib/distance.h"

enum { D = 8, HEADS = 2, INNER = 32, V = 13, TOKENS = 6, LAYERS = 6 };

static Zoo zoo;
static Table **scheme;
static size_t schemes;
static const Backend *f64;

/* Schemes that no zoo has: a two-step Runge-Kutta method, one with learned products in its arguments, sets of both
 * operators, times, a dense scheme with two slopes. */
static const char more[] =
    "scheme x-tsrk\nk1 = H(1/2*y + 1/2*y[-1] + k2[-1])\nk2 = L2(y + 1/2*k1 - 1/3*k1[-2])\n"
    "y' = 4/3*y - 1/3*y[-2] + 2/3*k1 + 1/5*k2[-1]\n"
    "scheme x-learned\nlearn a = 1/2\nlearn b = -1/3\nk1 = F2(y)\nk2 = G(y + a*k1 + a*b^2*k1)\n"
    "gate g = tanh(k1, k2, y + k1)\ngate q = sigmoid(y)\nk3 = H(y + (1+g*q)*k1 + a*q*k2)\n"
    "y' = (1-g)*y + g*y[-1] + a*k1 + b*k2 + g*a*k3\n"
    "scheme x-sets\nk1 = G3(y)\nk2 = F2(y + 1/4*k1 @ 1/2)\nk3 = H2(y + 1/4*k1 + k2)\ny' = y + k3 - "
    "1/7*k2 + 0.1*k1\n"
    "scheme x-dense\nlearn a = 1/2\nlearn b = 1/2\nk1 = F(y)\nk2 = G(y + a*k1)\n"
    "y' = y[first] + a*k1[all] + b*k2[all]\n"
    "scheme x-implicit\nlearn a = 1/2\nk1 = L2(y + a*k1)\nk2 = H(y + k1 + 1/3*k3)\n"
    "k3 = G3(y + a*k2 + k3[-1])\ny' = y + k1 - a*k2 + k3\n";

static void add_schemes(const char *names)
{
    Table **list;
    size_t count;
    if (zoo_list(&zoo, names, "euler", &list, &count) != 0) fail_msg("%s", error_text());
    scheme = realloc(scheme, (schemes + count) * sizeof *scheme);
    memcpy(scheme + schemes, list, count * sizeof *scheme);
    schemes += count;
    memory_free(list);
}

static int setup(void **state)
{
    (void)state;
    if (zoo_open(&zoo) != 0 ||
        scheme_parse("more", more, strlen(more), &zoo.scheme, &zoo.count) != 0)
        return 1;
    add_schemes(
        "all,word:ssfsff,sandwich:3-2:heun,looped:3,repeat:3,strang-marchuk:rk4,yoshida4:midpoint,"
        "implicit-midpoint:fixed-point-2,gauss4:fixed-point-1,ars222:fixed-point-1,"
        "bdf2:fixed-point-2,x-implicit:fixed-point-2");
    return backend_find("cpu-f64", NULL, &f64);
}

static int teardown(void **state)
{
    (void)state;
    for (size_t i = 0; i < schemes; i++) table_free(scheme[i]);
    free(scheme);
    zoo_close(&zoo);
    return 0;
}

/* ---- a model of a scheme -------------------------------------------------------------------------- */

static size_t spans; /* longest span of models that are built; 0: they have none */

static Model *build(const Table *t, size_t layers, int match, double dropout, int training)
{
    BridgeOptions o = {.layers = layers, .width = D, .inner = INNER, .match = match};
    ModelConfig c = {.vocab = V,
                     .width = D,
                     .heads = HEADS,
                     .positions = POSITIONS_SINUSOID | POSITIONS_RELATIVE,
                     .clip = 3,
                     .act = ACT_GELU,
                     .dropout = dropout,
                     .max_tokens = 2 * TOKENS,
                     .max_length = TOKENS,
                     .seed = 5,
                     .span = spans,
                     .ramp = 2};
    Plan *plan;
    Model *m;
    if (bridge_plan(t, &o, &plan) != 0) fail_msg("%s: %s", t->name, error_text());
    if (plan_check(plan) != 0) fail_msg("%s: %s", t->name, error_text());
    if (model_new(&c, plan, f64, training, &m) != 0) fail_msg("%s: %s", t->name, error_text());
    return m;
}

static int is_scheme_param(const char *name)
{
    return strstr(name, ".scheme.") != NULL;
}

/* Gives every parameter a different value. The scheme's learned ones stay at their starts unless `learned` is
 * set. */
static void perturb(Model *m, int learned)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++) {
        double *x = malloc(p[i].size * sizeof *x);
        void *at = backend_at(f64, model_data(m), p[i].offset);
        f64->get(x, at, p[i].size);
        for (size_t k = 0; k < p[i].size && (learned || !is_scheme_param(p[i].name)); k++)
            x[k] += 0.2 * random_normal(9, i, k);
        f64->put(at, x, p[i].size);
        free(x);
    }
}

/* Makes sublayers give a constant, or zero: the last matrix is 0, its bias `value` for F, 2 `value` for G. */
static void make_constant(Model *m, double value)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++) {
        void *at = backend_at(f64, model_data(m), p[i].offset);
        if (strstr(p[i].name, "out.weight") || strstr(p[i].name, "down.weight"))
            f64->fill(at, 0, p[i].size);
        if (strstr(p[i].name, "out.bias")) f64->fill(at, value, p[i].size);
        if (strstr(p[i].name, "down.bias")) f64->fill(at, 2 * value, p[i].size);
    }
}

static void fill_state(double *x)
{
    for (size_t i = 0; i < TOKENS * D; i++) x[i] = random_normal(3, 0, i);
}

/* ---- plan against stepper --------------------------------------------------------------------------- */

/* Steps the frozen table by ode/ through the layers' fields. */
static void step_layers(const Table *t, Model *m, const double *x, double *y)
{
    System *s;
    Stepper *st;
    Table *frozen = table_freeze(t);
    assert_int_equal(bridge_system(m, &(LayerOf){.n = TOKENS}, &s), 0);
    if (stepper_new(frozen, s, &st) != 0) fail_msg("%s: %s", t->name, error_text());
    assert_int_equal(stepper_begin(st, 0, 1, x, START_NETWORK, NULL), 0);
    for (int l = 0; l < LAYERS; l++) {
        bridge_layer(s, l);
        if (stepper_step(st) != 0) fail_msg("%s: %s", t->name, error_text());
    }
    memcpy(y, stepper_state(st), TOKENS * D * sizeof *y);
    assert_int_equal(bridge_system_failed(s), 0);
    stepper_free(st);
    system_free(s);
    table_free(frozen);
}

/* Rounding is some 10^2 operations of eps = 2e-16 a sublayer on values of size 10, and errors that Lipschitz
 * constants of about 3 carry through 6 layers of up to 12 evaluations; measured below 1e-12. */
static const double rounding = 1e-10;

/* Checks the plan on x and sets y to its result. */
static void check_plan(const Table *t, const double *x, double *y)
{
    double b[TOKENS * D], scale = 1;
    Model *m = build(t, LAYERS, MATCH_NONE, 0, 0);
    perturb(m, 0);
    assert_int_equal(model_run_plan(m, TOKENS, x, y), 0);
    step_layers(t, m, x, b);
    for (size_t k = 0; k < TOKENS * D; k++) scale = fmax(scale, fabs(b[k]));
    double e = distance(y, b, TOKENS * D) / scale;
    if (!(e <= rounding)) fail_msg("%s: plan and stepper differ by %g", t->name, e);
    model_free(m);
}

TEST(test_plan_is_scheme)
{
    double x[TOKENS * D], y[TOKENS * D];
    fill_state(x);
    for (size_t i = 0; i < schemes; i++) check_plan(scheme[i], x, y);
}

/* The fields of a layer see as far as its spans. Other parameters are the same with spans and without. */
TEST(test_plan_is_scheme_with_spans)
{
    double x[TOKENS * D], y[TOKENS * D], all[TOKENS * D];
    size_t differ = 0;
    fill_state(x);
    for (size_t i = 0; i < schemes; i++) {
        check_plan(scheme[i], x, all);
        spans = 4;
        check_plan(scheme[i], x, y);
        spans = 0;
        differ += distance(y, all, TOKENS * D) > 1e-3;
    }
    assert_true(2 * differ > schemes); /* no attention, or gates begin at 0: no difference */
}

/* The control: the same comparison sees any one coefficient of the table changed by 1e-6. */
TEST(test_plan_control)
{
    double x[TOKENS * D], a[TOKENS * D], b[TOKENS * D];
    fill_state(x);
    for (size_t i = 0; i < schemes; i++) {
        Table *t = table_copy(scheme[i]);
        Model *m = build(scheme[i], LAYERS, MATCH_NONE, 0, 0);
        mpq_t off, value;
        mpq_inits(off, value, NULL);
        mpq_set_ui(off, 1000001, 1000000);
        for (size_t k = t->update.terms, done = 0;
             k-- > 0 && !done;) { /* the last that is not zero at start */
            mpq_ptr c = t->update.term[k].c;
            table_value(t, &t->update.term[k], value);
            if ((done = mpq_sgn(value) != 0)) mpq_mul(c, c, off);
        }
        perturb(m, 0);
        assert_int_equal(model_run_plan(m, TOKENS, x, a), 0);
        step_layers(t, m, x, b);
        if (distance(a, b, TOKENS * D) <= 100 * rounding)
            fail_msg("%s: a changed coefficient went unseen", t->name);
        mpq_clears(off, value, NULL);
        table_free(t);
        model_free(m);
    }
}

/* ---- identities ------------------------------------------------------------------------------------- */

static int state_weights(const Table *t, const Row *r, mpq_t sum)
{
    int only_y = 1;
    mpq_t c;
    mpq_init(c);
    mpq_set_ui(sum, 0, 1);
    for (size_t i = 0; i < r->terms; i++) {
        if (r->term[i].eval != TABLE_STATE) continue;
        table_value(t, &r->term[i], c);
        mpq_add(sum, sum, c);
        only_y = only_y && r->term[i].past == 0 && r->term[i].symbols == 0;
    }
    mpq_clear(c);
    return only_y;
}

/* Zero sublayers make the identity, bit for bit where y is the only state term. */
TEST(test_zero_is_identity)
{
    double x[TOKENS * D], y[TOKENS * D];
    int exact = 0, rounded = 0, scaled = 0;
    mpq_t sum;
    mpq_init(sum);
    fill_state(x);
    for (size_t i = 0; i < schemes; i++) {
        Model *m = build(scheme[i], LAYERS, MATCH_NONE, 0, 0);
        make_constant(m, 0);
        assert_int_equal(model_run_plan(m, TOKENS, x, y), 0);
        int only_y = state_weights(scheme[i], &scheme[i]->update, sum);
        if (mpq_cmp_ui(sum, 1, 1) != 0) {
            assert_true(distance(x, y, TOKENS * D) >
                        0.5); /* the released forms multiply the state */
            scaled++;
        } else if (only_y) {
            if (memcmp(x, y, sizeof x) != 0) fail_msg("%s: not the identity", scheme[i]->name);
            exact++;
        } else {
            assert_true(distance(x, y, TOKENS * D) <= 1e-13);
            rounded++;
        }
        model_free(m);
    }
    mpq_clear(sum);
    assert_true(exact > 40 && rounded >= 3 && scaled == 2);
}

/* Constant sublayers shift the state by the sum of the weights. */
TEST(test_constant_shifts)
{
    double x[TOKENS * D], y[TOKENS * D];
    mpq_t sum, w;
    mpq_inits(sum, w, NULL);
    fill_state(x);
    for (size_t i = 0; i < schemes; i++) {
        Table *t = table_start(scheme[i], 0);
        Model *m = build(scheme[i], 1, MATCH_NONE, 0, 0);
        double shift = 0;
        state_weights(t, &t->update, sum);
        double keep = mpq_get_d(sum);
        for (int op = 0; op < 2; op++) {
            table_weight(t, op, 0, w);
            shift += (op + 1) * 0.25 * mpq_get_d(w);
        }
        make_constant(m, 0.25);
        assert_int_equal(model_run_plan(m, TOKENS, x, y), 0);
        for (size_t k = 0; k < TOKENS * D; k++)
            if (!(fabs(y[k] - keep * x[k] - shift) <= 1e-13))
                fail_msg("%s: shift %g, not %g", t->name, y[k] - x[k], shift);
        model_free(m);
        table_free(t);
    }
    mpq_clears(sum, w, NULL);
}

/* ---- equal parameters --------------------------------------------------------------------------------- */

static size_t matrix_numbers(Model *m)
{
    const Param *p;
    size_t n = model_params(m, &p), sum = 0;
    for (size_t i = 0; i < n; i++)
        if (strncmp(p[i].name, "layers.", 7) == 0 && p[i].cols > 0 && !is_scheme_param(p[i].name) &&
            !strstr(p[i].name, "relative"))
            sum += p[i].size;
    return sum;
}

TEST(test_equal_parameters)
{
    static const char *const same[] = {
        "transformer", "macaron",  "att-ffn-att", "strang-marchuk:heun", "rk4-layer", "heun",
        "leapfrog",    "rk2-gate", "looped:3"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        Table *t;
        assert_int_equal(zoo_find(&zoo, same[i], "euler", &t), 0);
        Model *m = build(t, 2, MATCH_PARAMETERS, 0, 0);
        assert_int_equal(matrix_numbers(m), 2 * (4 * D * D + 2 * D * INNER));
        model_free(m);
        table_free(t);
    }
    Table *t;
    Plan *plan;
    BridgeOptions o = {.layers = 1, .width = D, .inner = 33, .match = MATCH_PARAMETERS};
    assert_int_equal(zoo_find(&zoo, "macaron", "euler", &t), 0);
    assert_int_equal(bridge_plan(t, &o, &plan), ERR_INPUT);
    o.inner = 0;
    assert_int_equal(bridge_plan(t, &o, &plan), ERR_INPUT);
    table_free(t);
    assert_int_equal(zoo_find(&zoo, "att-ffn-att", "euler", &t), 0);
    o.inner = 2 * D;
    assert_int_equal(bridge_plan(t, &o, &plan), ERR_INPUT);
    table_free(t);
    assert_int_equal(zoo_find(&zoo, "lie-trotter", "exact", &t), 0);
    assert_int_equal(bridge_plan(t, &o, &plan), ERR_INPUT);
    table_free(t);
    assert_int_equal(zoo_find(&zoo, "gauss4", "exact", &t), 0);
    assert_int_equal(bridge_plan(t, &o, &plan), ERR_INPUT);
    assert_non_null(strstr(error_text(), "gauss4:fixed-point-3"));
    table_free(t);
}

/* A chain of sublayers costs two terms a link: looped:16 has 32 EVALs, and LINs of at most 3 terms. */
TEST(test_chains_are_short)
{
    Table *t;
    Plan *plan;
    BridgeOptions o = {.layers = 1, .width = D, .inner = INNER, .match = MATCH_NONE};
    assert_int_equal(zoo_find(&zoo, "looped:16", "euler", &t), 0);
    assert_int_equal(bridge_plan(t, &o, &plan), 0);
    size_t evals = 0;
    for (size_t i = 0; i < plan->instrs; i++) {
        evals += plan->instr[i].op == PLAN_EVAL;
        assert_true(plan->instr[i].op != PLAN_LIN || plan->instr[i].terms <= 3);
    }
    assert_int_equal(evals, 32);
    plan_free(plan);
    table_free(t);
}

/* ---- gradients --------------------------------------------------------------------------------------- */

static const int32_t tokens[2 * TOKENS + 1] = {0, 3, 5, 7, 3, 1, 12, 11, 2, 4, 4, 9, 6};

static double loss(Model *m, const Batch *b)
{
    double mean;
    assert_int_equal(model_forward(m, b, 1, 17, NULL, &mean), 0);
    return mean;
}

/* Returns (L(p + e v) - L(p - e v)) / 2 e along a random direction v of one tensor, to compare with <g, v>. It
 * extrapolates two widths, so that the truncation error is O(e^4). */
static double directional(Model *m, const Batch *b, const Param *p, const double *v)
{
    void *at = backend_at(f64, model_data(m), p->offset);
    double *x = malloc(p->size * sizeof *x), *y = malloc(p->size * sizeof *y), d[2];
    f64->get(x, at, p->size);
    for (int i = 0; i < 2; i++) {
        double e = 1e-3 / (1 << i), up, down;
        for (size_t k = 0; k < p->size; k++) y[k] = x[k] + e * v[k];
        f64->put(at, y, p->size);
        up = loss(m, b);
        for (size_t k = 0; k < p->size; k++) y[k] = x[k] - e * v[k];
        f64->put(at, y, p->size);
        down = loss(m, b);
        d[i] = (up - down) / (2 * e);
    }
    f64->put(at, x, p->size);
    free(x);
    free(y);
    return (4 * d[1] - d[0]) / 3;
}

static double inner_product(const Param *p, const double *g, const double *v)
{
    double sum = 0;
    for (size_t k = 0; k < p->size; k++) sum += g[p->offset + k] * v[k];
    return sum;
}

/* Returns the direction of a tensor: its gradient (so the derivative is |g|, free of cancellation) plus noise of
 * the same size, normalised. */
static double *direction(const Param *p, const double *g)
{
    double *v = malloc(p->size * sizeof *v), norm = 0, total = 0;
    for (size_t k = 0; k < p->size; k++) norm += g[p->offset + k] * g[p->offset + k];
    norm = sqrt(norm / (double)p->size);
    for (size_t k = 0; k < p->size; k++) {
        v[k] = g[p->offset + k] + 0.5 * norm * random_normal(21, p->offset, k);
        total += v[k] * v[k];
    }
    for (size_t k = 0; k < p->size && total > 0; k++) v[k] /= sqrt(total);
    return v;
}

static void check_gradients(const Table *t, size_t layers, size_t *tensors, size_t *controls)
{
    Model *m = build(t, layers, MATCH_NONE, 0.1, 1);
    size_t start[] = {0, 5, 2 * TOKENS - 1};
    int32_t position[2 * TOKENS];
    for (int i = 0; i < 2 * TOKENS; i++) position[i] = i < 5 ? i : i - 5;
    Batch b = {.N = 2 * TOKENS - 1,
               .S = 2,
               .longest = TOKENS,
               .input = (int32_t *)tokens,
               .target = (int32_t *)tokens + 1,
               .position = position,
               .start = start};
    double *g = malloc(model_size(m) * sizeof *g), mean;
    const Param *p;
    size_t n = model_params(m, &p);
    perturb(m, 1);
    assert_int_equal(model_gradient(m, &b, 17, &mean), 0);
    f64->get(g, model_grad(m), model_size(m));
    for (size_t i = 0; i < n; i++) {
        double *v = direction(&p[i], g);
        double want = directional(m, &b, &p[i], v), have = inner_product(&p[i], g, v);
        /* 1e-6 relative; 1e-10 absolute is the rounding of the loss (eps * 3 / 5e-4, extrapolated) with a margin */
        double allowed = 1e-6 * fabs(want) + 1e-10;
        if (!(fabs(have - want) <= allowed))
            fail_msg("%s, %zu layers, %s: gradient %.12g, differences %.12g", t->name, layers,
                     p[i].name, have, want);
        *controls +=
            fabs(1.001 * have - want) > allowed || have == 0; /* zero times 1.001 is zero */
        ++*tensors;
        free(v);
    }
    free(g);
    model_free(m);
}

/* Gradients are right for every scheme and every tensor. The control: a gradient scaled by 1.001 would fail. */
TEST(test_gradients)
{
    size_t tensors = 0, controls = 0;
    for (size_t i = 0; i < schemes; i++) {
        int depth = scheme[i]->past_y > scheme[i]->past_k ? scheme[i]->past_y : scheme[i]->past_k;
        check_gradients(scheme[i], depth || scheme[i]->dense ? (size_t)depth + 2 : 1, &tensors,
                        &controls);
    }
    if (controls != tensors)
        fail_msg("the control failed on %zu of %zu tensors only", controls, tensors);
    print_message("# %zu gradients checked, the control caught in %zu\n", tensors, controls);
}

TEST(test_short_memory)
{
    Table *t;
    BridgeOptions o = {.layers = 3, .width = D, .inner = INNER, .match = MATCH_NONE};
    assert_int_equal(zoo_find(&zoo, "x-learned", "euler", &t), 0);
    int code = ERR_MEMORY, failures = 0;
    size_t before = memory_live();
    for (size_t k = 1; code != 0; k++) {
        Plan *plan;
        memory_fail_at(k);
        code = bridge_plan(t, &o, &plan);
        memory_fail_at(0);
        if (code == 0)
            plan_free(plan);
        else
            assert_int_equal(code, ERR_MEMORY);
        failures += code != 0;
        assert_int_equal(memory_live(), before);
    }
    assert_true(failures > 50);
    table_free(t);
}

TEST_MAIN(setup, teardown)
