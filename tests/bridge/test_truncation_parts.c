/* test_truncation_parts.c: the parts of the truncation error: states between layers, exact paths,
 * Jacobians, refinement, shortage of memory. */
#include "tests/lib/test.h"

#include "bridge/truncator.h"
#include "tests/lib/distance.h"
#include "tests/lib/layers.h"
#include "tests/lib/scratch.h"

enum { D = 8, N = 5 };

static Truncator *open(Model *m, const Table *trained, TruncationOptions o)
{
    Truncator *u;
    if (truncator_new(m, trained, &o, &u) != 0 || layers_sentence(u, N, NULL) != 0)
        fail_msg("%s: %s", trained->name, error_text());
    return u;
}

/* Returns the largest difference over the largest value. */
static double apart(const double *a, const double *b, size_t n)
{
    double size = 0;
    for (size_t i = 0; i < n; i++) size = fmax(size, fabs(b[i]));
    return distance(a, b, n) / size;
}

/* ---- states ----------------------------------------------------------------------------------------- */

/* For models of every scheme, with gates and learned numbers away from their starts, every third with RMS norms, SwiGLU
 * and rotary positions, the network put
 * together from sublayers is that of nn/, to rounding (some 10^3 sums of eps 2e-16, amplified by 3
 * layers). */
TEST(test_states)
{
    for (size_t i = 0; i < all_layers.count; i++) {
        const Table *t = all_layers.table[i];
        OWN_MODEL *m = layers_model(t, 3, D, i % 3 == 1 ? ACT_SWIGLU : ACT_GELU);
        OWN_TRUNCATOR *u = NULL;
        double check;
        shake(m, 0.2, 1);
        assert_int_equal(truncator_new(m, t, &(TruncationOptions){0}, &u), 0);
        assert_int_equal(layers_sentence(u, N, &check), 0);
        if (!(check <= 1e-11)) fail_msg("%s: %g apart", t->name, check);
        /* a sentence takes the place of the one before it */
        const size_t live = memory_live();
        for (size_t n = N - 2; n <= N; n += 2) assert_int_equal(layers_sentence(u, n, NULL), 0);
        assert_int_equal(memory_live(), live);
    }
}

/* Where y' = y + v', what enters a layer beside y is what the layer before added, of either quantity. */
TEST(test_carried_states)
{
    OWN_TABLE *t =
        scheme_of_text("carry v\ncarry x\nlearn g = 9/10\nk1 = F(y)\nlet w = g*v + (1-g)*k1\n"
                       "k2 = G(y + w)\nv' = w + k2\nx' = y\ny' = y + w + k2 + 1/8*x - 1/8*x");
    OWN_MODEL *m = layers_model(t, 3, D, ACT_GELU);
    shake(m, 0.2, 1);
    OWN_TRUNCATOR *u = open(m, t, (TruncationOptions){0});
    const double *y = truncator_states(u), *v = u->carried;
    for (size_t i = 0; i < 2 * N * D; i++) assert_true(v[i] == 0);
    for (size_t l = 1; l < 3; l++)
        for (size_t i = 0; i < N * D; i++) {
            const double *before = y + (l - 1) * N * D, *now = y + l * N * D;
            assert_true(fabs(v[2 * l * N * D + i] - (now[i] - before[i])) <= 1e-12);
            assert_true(v[(2 * l + 1) * N * D + i] == before[i]);
        }
}

/* A network with norms and an embedding of its own is put together from its parts; its first v is that embedding. */
TEST(test_words_and_norms)
{
    OWN_TABLE *t = scheme_of_text("carry v = embedding\nlearn g = 9/10\nk1 = F(y + v)\n"
                                  "k2 = norm(g*v + k1)\nk3 = G(y + k2)\nv' = k2 + k3\ny' = y + v'");
    OWN_MODEL *m = layers_model(t, 3, D, ACT_GELU);
    double check, v[N * D];
    OWN_TRUNCATOR *u = NULL;
    shake(m, 0.2, 1);
    assert_int_equal(truncator_new(m, t, &(TruncationOptions){0}, &u), 0);
    assert_int_equal(layers_sentence(u, N, &check), 0);
    assert_true(check <= 1e-11);
    int slot = plan_find_slot(model_plan(m), SIDE_TARGET, SLOT_WORDS, 0, 1);
    assert_int_equal(model_words(m, slot, N, layers_token, v), 0);
    assert_memory_equal(u->carried, v, sizeof v);
    assert_int_equal(model_words(m, slot + 1, N, layers_token, v), ERR_MISUSE);
}

/* The step of each layer from what enters it ends in what enters the next, of y and of all that is carried, also with gates, norms
 * and embeddings. The controls: another layer's step, and one from what another layer carries, do not. */
TEST(test_layer_steps)
{
    static const char *const texts[] = {
        "carry v\ncarry x\nlearn g = 9/10\nk1 = F(y + 1/4*x)\ngate a = tanh(k1, v)\n"
        "k2 = G(y + g*v + k1)\nv' = a*v + k2\nx' = y + g*v'\ny' = y + v' + 1/8*x",
        "carry v = embedding\ncarry x = embedding\nlearn g = 9/10\nk1 = F(y + v)\n"
        "k2 = norm(g*v + k1)\nk3 = G(y + k2)\nk4 = norm(x + k3)\nv' = k2 + k3\nx' = g*k4\n"
        "y' = y + k2 + x'"};
    enum { CARRIED = 2 * N * D };
    for (int i = 0; i < 2; i++) {
        OWN_TABLE *t = scheme_of_text(texts[i]);
        OWN_MODEL *m = layers_model(t, 4, D, ACT_GELU);
        shake(m, 0.2, 1);
        OWN_TRUNCATOR *u = open(m, t, (TruncationOptions){0});
        for (int at = 0; at < 3; at++)
            for (int of = 1; of < 4; of++) { /* the first layer of the first text lacks some */
                SCOPED(layer_step_drop) LayerStep *w = NULL;
                const double *y = truncator_states(u) + at * N * D, *v = u->carried + at * CARRIED;
                double end[N * D], next[CARRIED];
                memcpy(next, u->carried + (of == at ? at : of - 1) * CARRIED, sizeof next);
                assert_int_equal(layer_step_new(m, t, NULL, &(LayerOf){.layer = of, .n = N}, &w),
                                 0);
                assert_int_equal(layer_step(w, y, end, next), 0);
                double e = fmax(apart(end, y + N * D, N * D), apart(next, v + CARRIED, CARRIED));
                if ((e <= 1e-11) != (of == at)) fail_msg("%d: layer %d at %d: %g", i, of, at, e);
            }
    }
}

/* The control: a scheme that is not the model's makes another network of the same sublayers. */
TEST(test_states_control)
{
    OWN_TABLE *t = layers_find("heun"), *other = layers_find("midpoint");
    OWN_MODEL *m = layers_model(t, 2, D, ACT_GELU);
    OWN_TRUNCATOR *u = NULL;
    double check;
    shake(m, 0.2, 1);
    assert_int_equal(truncator_new(m, other, &(TruncationOptions){0}, &u), 0);
    assert_int_equal(layers_sentence(u, N, &check), 0);
    assert_true(check > 1e-4);
}

/* ---- refinement ------------------------------------------------------------------------------------- */

/* Refines every scheme through a model of two feed-forward sets or one. One step of the trained scheme is
 * the model; many steps of any consistent scheme end where those of rk4 do. */
static void refine(const char *trained_as)
{
    OWN_TABLE *trained = layers_find(trained_as), *rk4 = layers_find("rk4");
    Model *m = layers_model(trained, 2, D, ACT_GELU), *fine;
    double x[N * D], a[N * D], b[N * D], end[N * D];
    shake(m, 0.1, 1);
    OWN_TRUNCATOR *u = open(m, trained, (TruncationOptions){0});
    memcpy(x, truncator_states(u), sizeof x);
    assert_int_equal(model_run_plan(m, N, x, a), 0);
    assert_int_equal(bridge_refine(m, trained, trained, 1, &fine), 0);
    assert_int_equal(model_run_plan(fine, N, x, b), 0);
    assert_true(apart(a, b, N * D) <= 1e-13);
    model_free(fine);
    assert_int_equal(bridge_refine(m, trained, rk4, 64, &fine), 0);
    assert_int_equal(model_run_plan(fine, N, x, end), 0);
    model_free(fine);
    for (size_t i = 0; i < all_layers.count; i++) {
        Theory theory;
        double e[2];
        assert_int_equal(theory_search(all_layers.table[i], 2, &theory), 0);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(bridge_refine(m, trained, all_layers.table[i], k ? 64 : 32, &fine), 0);
            assert_int_equal(model_run_plan(fine, N, x, b), 0);
            e[k] = apart(b, end, N * D);
            model_free(fine);
        }
        int converges = e[1] <= 0.05 && e[1] <= fmax(0.6 * e[0], 1e-8); /* rk4's own error */
        if (theory.consistent && theory.zero_stable && !converges)
            fail_msg("%s: %g, %g off rk4's end", all_layers.table[i]->name, e[0], e[1]);
        if (!theory.consistent) assert_false(converges); /* control */
    }
    model_free(m);
}

TEST(test_refine)
{
    refine("transformer");
}

TEST(test_refine_sets)
{
    refine("macaron");
}

/* ---- Jacobians -------------------------------------------------------------------------------------- */

/* F = c N(y) of one token, N a norm without its gains, has F' = c / sigma (P - z z^T / (D sigma^2)), of norm c / sigma. P
 * subtracts the mean in a layer norm; in an RMS norm it is I, and sigma^2 is the mean square. */
static void check_lipschitz(int act)
{
    OWN_TABLE *t = layers_find("transformer");
    OWN_MODEL *m = layers_model(t, 1, D, act);
    OWN_TRUNCATOR *u = NULL;
    Jacobian j;
    double mean = 0, var = 0, c = 3;
    layers_fill(m, "layers.0.attn.1.qkv.weight", 0);
    layers_identity(m, "layers.0.attn.1.qkv.weight", 2 * D, D);
    layers_fill(m, "layers.0.attn.1.out.weight", 0);
    for (size_t i = 0; i < D; i++) layers_put(m, "layers.0.attn.1.out.weight", i * D + i, &c, 1);
    assert_int_equal(truncator_new(m, t, &(TruncationOptions){0}, &u), 0);
    assert_int_equal(layers_sentence(u, 1, NULL), 0);
    const double *x = truncator_states(u);
    for (int i = 0; i < D && act == ACT_GELU; i++) mean += x[i] / D;
    for (int i = 0; i < D; i++) var += (x[i] - mean) * (x[i] - mean) / D;
    assert_int_equal(truncator_jacobian(u, 0, &j), 0);
    double want = c / sqrt(var + 1e-5);
    if (!(fabs(j.lipschitz[OP_F] - want) <= 1e-4 * want))
        fail_msg("%g, not %g", j.lipschitz[OP_F], want);
    jacobian_free(&j);
}

TEST(test_lipschitz)
{
    check_lipschitz(ACT_GELU);
    check_lipschitz(ACT_SWIGLU);
}

/* A summary that is told to stop ends before its next sentence. */
TEST(test_stopped)
{
    static const size_t start[] = {0, 1, 2};
    OWN_TABLE *t = layers_find("macaron");
    OWN_MODEL *m = layers_model(t, 1, D, ACT_GELU);
    Sentences s = {2, {start}, {layers_token}};
    volatile int stop = 0;
    TruncationOptions o = {.halvings = 4, .tolerance = 1e-4, .stop = &stop};
    TruncationSummary sum;
    assert_int_equal(truncation_summary(m, t, t, &s, &o, &sum), 0);
    assert_true(sum.measured == 2);
    stop = 1;
    assert_int_equal(truncation_summary(m, t, t, &s, &o, &sum), ERR_INTERRUPTED);
    assert_string_equal(error_text(), "stopped before sentence 1 of 2");
    assert_true(sum.measured == 0);
}

static int study(Model *model, const Table *table)
{
    static const size_t start[] = {0, 1};
    TruncationOptions o = {.terms = 1, .halvings = 4, .tolerance = 1e-4};
    Sentences s = {1, {start}, {layers_token}};
    TruncationSummary sum;
    OWN_TRUNCATOR *u = NULL;
    OWN_MODEL *fine = NULL;
    TRY(truncation_summary(model, table, table, &s, &o, &sum));
    TRY(truncator_new(model, table, &o, &u));
    TRY(layers_sentence(u, 1, NULL));
    return bridge_refine(model, table, table, 2, &fine);
}

TEST(test_short_memory)
{
    OWN_TABLE *t = layers_find("macaron");
    OWN_MODEL *m = layers_model(t, 1, D, ACT_GELU);
    shake(m, 0.1, 1);
    assert_true(FAILURES(0, code = study(m, t)) > 50);
}

TEST(test_misuse)
{
    OWN_TABLE *t = layers_find("transformer"), *flows = NULL;
    OWN_MODEL *m = layers_model(t, 1, D, ACT_GELU);
    OWN_TRUNCATOR *u = NULL;
    Truncation r;
    assert_int_equal(truncator_new(m, t, &(TruncationOptions){.halvings = 99}, &u), ERR_INPUT);
    u = open(m, t, (TruncationOptions){.field = FIELD_LAYER});
    assert_int_equal(truncator_takes(u, t), ERR_ACCURACY); /* not over L */
    assert_int_equal(truncator_measure(u, 1, t, &r), ERR_MISUSE);
    assert_int_equal(zoo_find(&zoo, "strang-marchuk", "exact", &flows), 0);
    assert_int_equal(truncator_takes(u, flows), ERR_INPUT);
    assert_true(layers_sentence(u, LAYERS_TOKENS + 1, NULL) < 0);
    assert_int_equal(truncator_measure(u, 0, t, &r), ERR_MISUSE); /* no sentence */
}

TEST_MAIN(layers_open, layers_close)
