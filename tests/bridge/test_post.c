/* test_post.c: post-norm networks: the plan of a scheme against sub-steps written out here, with the
 * plain layer norm; which schemes have a post-norm plan; refusals. test_gradient.c has the gradients.
 * All is in f64. */
#include "tests/lib/test.h"

#include "tests/lib/bridged.h"
#include "tests/lib/scratch.h"

enum { TOKENS = 6, LAYERS = 2, STEPS = 6 };

static int set_up(void **state)
{
    (void)state;
    return bridged_open(NULL);
}

static int make_plan(const char *name, int norm, Plan **out)
{
    BridgeOptions o = options(0, LAYERS);
    OWN_TABLE *t = euler_named(name);
    o.norm = norm;
    return bridge_plan(t, &o, out);
}

static Model *post_model(const char *name)
{
    Plan *plan;
    Model *m;
    ModelConfig c = tiny_config();
    c.max_length = TOKENS;
    if (make_plan(name, NORM_POST, &plan) != 0) fail_msg("%s: %s", name, error_text());
    assert_int_equal(model_new(&c, plan, f64, 1, &m), 0);
    tiny_shake(m, 7); /* norms too: no two are alike */
    return m;
}

/* ---- sub-steps by hand --------------------------------------------------------------------------- */

/* A sub-step y <- LN(y + c sublayer(y)). */
typedef struct {
    double c;
    int kind, set;
} SubStep;

static const struct {
    const char *scheme;
    SubStep step[STEPS];
} known[] = {
    {"transformer", {{1, SLOT_ATTENTION, 1}, {1, SLOT_FEEDFORWARD, 1}}},
    {"macaron", {{0.5, SLOT_FEEDFORWARD, 1}, {1, SLOT_ATTENTION, 1}, {0.5, SLOT_FEEDFORWARD, 2}}},
    {"att-ffn-att", {{0.5, SLOT_ATTENTION, 1}, {1, SLOT_FEEDFORWARD, 1}, {0.5, SLOT_ATTENTION, 2}}},
    {"strang-marchuk-fgf",
     {{0.5, SLOT_ATTENTION, 1}, {1, SLOT_FEEDFORWARD, 1}, {0.5, SLOT_ATTENTION, 2}}},
    {"word:sff", {{1, SLOT_ATTENTION, 1}, {1, SLOT_FEEDFORWARD, 1}, {1, SLOT_FEEDFORWARD, 2}}},
    {"looped:2",
     {{0.5, SLOT_ATTENTION, 1},
      {0.5, SLOT_FEEDFORWARD, 1},
      {0.5, SLOT_ATTENTION, 1},
      {0.5, SLOT_FEEDFORWARD, 1}}},
    {"rk2-unit",
     {{1, SLOT_ATTENTION, 1},
      {1, SLOT_FEEDFORWARD, 1},
      {1, SLOT_ATTENTION, 1},
      {1, SLOT_FEEDFORWARD, 1}}},
};
enum { KNOWN = sizeof known / sizeof *known };

static int slot_of(const Model *m, int layer, const SubStep *s)
{
    int slot = plan_find_slot(model_plan(m), SIDE_TARGET, s->kind, layer, s->set);
    if (slot < 0) fail_msg("no slot of kind %d, set %d, layer %d", s->kind, s->set, layer);
    return slot;
}

static void norm_row(const double *w, const double *b, double *y)
{
    double mean = 0, square = 0;
    for (size_t k = 0; k < D; k++) mean += y[k] / D;
    for (size_t k = 0; k < D; k++) square += (y[k] - mean) * (y[k] - mean) / D;
    for (size_t k = 0; k < D; k++) y[k] = (y[k] - mean) / sqrt(square + 1e-5) * w[k] + b[k];
}

static void layer_norm(Model *m, int layer, const SubStep *s, double *y)
{
    const char *norm =
        formed("layers.%d.%s.%d.norm", layer, s->kind == SLOT_ATTENTION ? "attn" : "ffn", s->set);
    OWN_REALS *w = tiny_tensor(m, formed("%s.weight", norm)),
              *b = tiny_tensor(m, formed("%s.bias", norm));
    for (size_t i = 0; i < TOKENS; i++) norm_row(w, b, y + i * D);
}

/* Takes the sub-steps by hand. spoil: a coefficient is off by 1e-6, in the last sub-step of the last
 * layer. */
static void by_hand(Model *m, const SubStep *step, int spoil, double *y)
{
    double k[TOKENS * D];
    for (int l = 0; l < LAYERS; l++)
        for (int s = 0; s < STEPS && step[s].set; s++) {
            int last = l == LAYERS - 1 && (s == STEPS - 1 || !step[s + 1].set);
            double c = step[s].c * (spoil && last ? 1 + 1e-6 : 1);
            assert_int_equal(model_sublayer(m, slot_of(m, l, &step[s]), TOKENS, y, 0, NULL, k), 0);
            for (size_t i = 0; i < TOKENS * D; i++) y[i] += c * k[i];
            layer_norm(m, l, &step[s], y);
        }
}

/* Plans are their normalised sub-steps. Both do the same operations except for the order of sums of at
 * most 32 terms: 1e-12 leaves room for eight sub-steps of condition 10, and is far below the control's
 * 1e-6. */
TEST(plans_are_normalised_sub_steps)
{
    for (int i = 0; i < KNOWN; i++) {
        double x[TOKENS * D], got[TOKENS * D], want[TOKENS * D], off[TOKENS * D];
        OWN_MODEL *m = post_model(known[i].scheme);
        for (size_t k = 0; k < TOKENS * D; k++) x[k] = random_normal(3, 0, k);
        memcpy(want, x, sizeof x);
        memcpy(off, x, sizeof x);
        assert_int_equal(model_run_plan(m, TOKENS, x, got), 0);
        by_hand(m, known[i].step, 0, want);
        by_hand(m, known[i].step, 1, off);
        double error = distance(got, want, TOKENS * D), control = distance(got, off, TOKENS * D);
        if (!(error <= 1e-12)) fail_msg("%s: %g", known[i].scheme, error);
        if (control <= 1e-9) fail_msg("%s: blind to a coefficient", known[i].scheme);
    }
}

/* A sublayer alone sees the scale of the state. One with its norm inside does not (except by eps). */
TEST(sublayers_have_no_norm_inside)
{
    double x[TOKENS * D], y[TOKENS * D], z[TOKENS * D];
    Plan *plan;
    Model *m[2] = {post_model("transformer"), NULL};
    ModelConfig c = *model_config(m[0]);
    assert_int_equal(make_plan("transformer", NORM_PRE, &plan), 0);
    assert_int_equal(model_new(&c, plan, f64, 1, &m[1]), 0);
    tiny_shake(m[1], 7);
    for (size_t k = 0; k < TOKENS * D; k++) x[k] = random_normal(3, 0, k);
    for (int pre = 0; pre < 2; pre++) {
        assert_int_equal(model_sublayer(m[pre], 0, TOKENS, x, 0, NULL, y), 0);
        for (size_t k = 0; k < TOKENS * D; k++) x[k] *= 4;
        assert_int_equal(model_sublayer(m[pre], 0, TOKENS, x, 0, NULL, z), 0);
        for (size_t k = 0; k < TOKENS * D; k++) x[k] /= 4;
        assert_int_equal(distance(y, z, TOKENS * D) < 1e-3, pre);
        model_free(m[pre]);
    }
}

/* ---- which schemes ------------------------------------------------------------------------------- */

/* Every built-in scheme either has a plan that passes its check, or is refused in words. */
TEST(every_scheme_has_one_or_is_told)
{
    static const char *const refused[] = {"euler", "heun",        "rk4",  "rk2-gate", "rk2-scalar",
                                          "ab2",   "no-residual", "dlcl", "leapfrog", "polynet"};
    size_t made = 0;
    for (size_t i = 0; i < zoo.count; i++) {
        OWN_PLAN *plan = NULL;
        int code = make_plan(zoo.scheme[i]->name, NORM_POST, &plan);
        if (code == 0) {
            made++;
            assert_int_equal(plan->post, 1);
        } else {
            assert_int_equal(code, ERR_INPUT);
            int decoder = zoo.scheme[i]->colours > 2; /* make_plan makes language models */
            const char *words = table_implicit(zoo.scheme[i]) ? ":fixed-point-3"
                                : table_phi(zoo.scheme[i])    ? "no phi functions"
                                : decoder                     ? "no encoder"
                                                              : "--norm post needs";
            assert_non_null(strstr(error_text(), words));
            assert_null(strchr(error_text(), '\n'));
        }
    }
    assert_true(made >= 4);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Plan *plan = NULL;
        if (make_plan(refused[i], NORM_POST, &plan) != ERR_INPUT)
            fail_msg("%s has a plan", refused[i]);
    }
}

TEST(a_post_model_is_no_field)
{
    System *s = NULL;
    OWN_MODEL *m = post_model("transformer");
    assert_int_equal(bridge_system(m, &(LayerOf){.n = TOKENS}, &s), ERR_INPUT);
    assert_non_null(strstr(error_text(), "post-norm"));
}

TEST_MAIN(set_up, zoo_end)
