/* test_bridge.c: schemes as networks. For every scheme of the zoo, and for schemes that no zoo has, it compares the
 * plan run by nn/ with the same scheme stepped by ode/ on the same sublayers; it also checks equal parameters, and
 * gradients against finite differences. All is in f64. */
#include "tests/lib/test.h"

#include "tests/lib/bridged.h"
#include "tests/lib/scratch.h"

enum { TOKENS = 6, LAYERS = 6 };

static Tables schemes;

/* Schemes that no zoo has: a two-step Runge-Kutta method, one with learned products in its arguments, sets of both
 * operators, times, a dense scheme with two slopes, quantities that are carried beside y. */
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
    "scheme x-carried\nlearn a = 1/2, b = -1/3\ncarry v = y + 1/2*k1\ncarry w = b*y\nk1 = F(y)\n"
    "k2 = G2(y + a*w - 1/3*k1)\ngate g = tanh(k2, v)\nv' = 1/2*w + a*v + k1 - k2\nw' = b*g*v + k2\n"
    "y' = 3/4*y + 1/4*v + a*k1 + w'\n"
    "scheme x-implicit\nlearn a = 1/2\nk1 = L2(y + a*k1)\nk2 = H(y + k1 + 1/3*k3)\n"
    "k3 = G3(y + a*k2 + k3[-1])\ny' = y + k1 - a*k2 + k3\n";

static int setup(void **state)
{
    (void)state;
    if (bridged_open(more) != 0) return 1;
    schemes = schemes_of(
        "all,word:ssfsff,sandwich:3-2:heun,looped:3,repeat:3,strang-marchuk:rk4,yoshida4:midpoint,"
        "implicit-midpoint:fixed-point-2,gauss4:fixed-point-1,ars222:fixed-point-1,"
        "bdf2:fixed-point-2,x-implicit:fixed-point-2");
    return 0;
}

static int teardown(void **state)
{
    tables_free(&schemes);
    return zoo_end(state);
}

/* Makes a model of a scheme, shaken but for learned numbers. */
static Model *build(const Table *t)
{
    return shaken(plan_of(NULL, t, options(0, LAYERS)), tiny_config(), 0.2, 0, 0);
}

static void fill_state(double *x)
{
    for (size_t i = 0; i < TOKENS * D; i++) x[i] = random_normal(3, 0, i);
}

/* ---- plan against stepper --------------------------------------------------------------------------- */

/* Steps x by ode/ through the layers' fields. */
static void step_layers(const Table *t, Model *m, const double *x, double *y)
{
    memcpy(y, x, TOKENS * D * sizeof *y);
    step_side(m, t, (LayerOf){.n = TOKENS}, LAYERS, 0, y);
}

/* Rounding is some 10^2 operations of eps = 2e-16 a sublayer on values of size 10, and errors that Lipschitz
 * constants of about 3 carry through 6 layers of up to 12 evaluations; measured below 1e-12. */
static const double rounding = 1e-10;

/* Checks the plan on x and sets y to its result. */
static void check_plan(const Table *t, const double *x, double *y)
{
    double b[TOKENS * D], scale = 1;
    OWN_MODEL *m = build(t);
    assert_int_equal(model_run_plan(m, TOKENS, x, y), 0);
    step_layers(t, m, x, b);
    for (size_t k = 0; k < TOKENS * D; k++) scale = fmax(scale, fabs(b[k]));
    double e = distance(y, b, TOKENS * D) / scale;
    if (!(e <= rounding)) fail_msg("%s: plan and stepper differ by %g", t->name, e);
}

/* Plans are their schemes. */
TEST(test_plan_is_scheme)
{
    double x[TOKENS * D], y[TOKENS * D];
    fill_state(x);
    for (size_t i = 0; i < schemes.count; i++) check_plan(schemes.table[i], x, y);
}

/* The control: the same comparison sees any one coefficient of the table changed by 1e-6. */
TEST(test_plan_control)
{
    double x[TOKENS * D], a[TOKENS * D], b[TOKENS * D];
    fill_state(x);
    for (size_t i = 0; i < schemes.count; i++) {
        OWN_TABLE *t = table_copy(schemes.table[i]);
        OWN_MODEL *m = build(schemes.table[i]);
        mpq_t off, value;
        mpq_inits(off, value, NULL);
        mpq_set_ui(off, 1000001, 1000000);
        for (size_t k = t->update.terms, done = 0;
             k-- > 0 && !done;) { /* the last that is not zero at start */
            mpq_ptr c = t->update.term[k].c;
            table_value(t, &t->update.term[k], value);
            if ((done = mpq_sgn(value) != 0)) mpq_mul(c, c, off);
        }
        assert_int_equal(model_run_plan(m, TOKENS, x, a), 0);
        step_layers(t, m, x, b);
        if (distance(a, b, TOKENS * D) <= 100 * rounding)
            fail_msg("%s: a changed coefficient went unseen", t->name);
        mpq_clears(off, value, NULL);
    }
}

/* ---- equal parameters --------------------------------------------------------------------------------- */

TEST(test_equal_parameters)
{
    static const char *const same[] = {
        "transformer", "macaron",  "att-ffn-att", "strang-marchuk:heun", "rk4-layer", "heun",
        "leapfrog",    "rk2-gate", "looped:3"};
    BridgeOptions o = options(0, 2);
    o.match = MATCH_PARAMETERS;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        OWN_PLAN *p = plan_named(NULL, same[i], o);
        assert_int_equal(matrix_numbers(p, SIDE_TARGET), 2 * (4 * D * D + 2 * D * INNER));
    }
    OWN_PLAN *gated =
        plan_named(NULL, "att-ffn-att",
                   (BridgeOptions){.layers = 1, .width = 6, .inner = 20, .gated = 1, .rows = 9});
    assert_int_equal(gated->slot[plan_find_slot(gated, SIDE_TARGET, SLOT_FEEDFORWARD, 0, 1)].inner,
                     20 - 2 * (6 + 3) / 3);
    static const struct {
        const char *name, *solver;
        size_t inner;
        const char *words;
    } refused[] = {{"macaron", "euler", 33, ""},
                   {"macaron", "euler", 0, ""},
                   {"att-ffn-att", "euler", 2 * D, ""},
                   {"lie-trotter", "exact", 2 * D, ""},
                   {"gauss4", "exact", 2 * D, "gauss4:fixed-point-3"}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        OWN_TABLE *t = NULL;
        Plan *plan;
        o.inner = refused[i].inner;
        assert_int_equal(zoo_find(&zoo, refused[i].name, refused[i].solver, &t), 0);
        assert_int_equal(bridge_plan(t, &o, &plan), ERR_INPUT);
        assert_non_null(strstr(error_text(), refused[i].words));
    }
}

/* A chain of sublayers costs two terms a link: looped:16 has 32 EVALs, and LINs of at most 3 terms. */
TEST(test_chains_are_short)
{
    OWN_PLAN *plan = plan_named(NULL, "looped:16", options(0, 1));
    size_t evals = 0;
    for (size_t i = 0; i < plan->instrs; i++) {
        evals += plan->instr[i].op == PLAN_EVAL;
        assert_true(plan->instr[i].op != PLAN_LIN || plan->instr[i].terms <= 3);
    }
    assert_int_equal(evals, 32);
}

/* A sum that is multiplied by several learned numbers is made once a layer: written out at each use, these three layers have
 * LINs of 59 terms. */
TEST(test_sums_are_shared)
{
    static const char text[] =
        "carry v = y\nlearn a = 1, b = 0, p = 1, q = 0, r = 0, s = 1, c = 0, d = 1\n"
        "k1 = F(a*y + b*v)\nlet x = p*y + q*v + a*k1\nlet z = r*y + s*v + b*k1\nk2 = G(c*x + d*z)\n"
        "v' = a*x + b*z + d*k2\ny' = c*x + s*z + r*k2\n";
    OWN_TABLE *t = scheme(text);
    OWN_PLAN *plan = plan_of(NULL, t, options(0, 3));
    size_t terms = 0;
    for (size_t i = 0; i < plan->instrs; i++)
        if (plan->instr[i].op == PLAN_LIN) terms += plan->instr[i].terms;
    assert_int_equal(terms, 45);
}

/* ---- gradients --------------------------------------------------------------------------------------- */

/* Gradients are right for every scheme and every tensor. */
TEST(test_gradients)
{
    size_t tensors = 0;
    for (size_t i = 0; i < schemes.count; i++) {
        const Table *t = schemes.table[i];
        int depth = t->past_y > t->past_k ? t->past_y : t->past_k;
        tensors +=
            check_gradients(NULL, t, options(0, table_past(t) || t->dense ? (size_t)depth + 2 : 1));
    }
    assert_true(tensors > 12 * schemes.count); /* a layer's alone */
}

TEST(test_short_memory)
{
    BridgeOptions o = options(0, 3);
    OWN_TABLE *t = euler_named("x-learned");
    assert_true(FAILURES(ERR_MEMORY, OWN_PLAN *p = NULL; code = bridge_plan(t, &o, &p)) > 50);
}

TEST_MAIN(setup, teardown)
