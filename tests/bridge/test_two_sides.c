/* test_two_sides.c: the layers of an encoder and of its decoder as particle systems. Every scheme's plan, run by nn/,
 * is compared with the same schemes stepped by ode/ on the same sublayers; truncation errors with steps and flows that
 * are made here of the sublayers; Jacobians with differences of the whole network. All is in f64. */
#include "tests/lib/test.h"

#include "bridge/truncator.h"
#include "tests/lib/bridged.h"

enum { N = 5, M = 7, LAYERS = 3, ENCODER = 2, MOST = M * D };

static int open_all(void **state)
{
    (void)state;
    return bridged_open(NULL);
}

static Model *build(const Table *encoder, const Table *decoder, double size, int learned)
{
    return shaken(plan_of(encoder, decoder, options(ENCODER, LAYERS)), tiny_config(), size, learned,
                  0);
}

static void fill(double *x, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) x[i] = random_normal(3, stream, i);
}

/* ---- plan against stepper ---------------------------------------------------------------------------- */

/* Deliberate errors. */
typedef enum { RIGHT, OTHER_LAYER, NO_NORM, OTHER_MEMORY, OTHER_ENCODER } Spoil;

/* Computes y (N, D) from r0 = x (N, D) and r1 = source (M, D). */
static void step_both(Model *m, const Table *encoder, const Table *decoder, const double *x,
                      const double *source, Spoil spoil, double *y)
{
    double memory[MOST], normed[MOST];
    int slot = plan_find_slot(model_plan(m), SIDE_SOURCE, SLOT_NORM, 0, 1);
    memcpy(memory, source, M * D * sizeof *memory);
    memcpy(y, x, N * D * sizeof *y);
    step_side(m, encoder, (LayerOf){.side = SIDE_SOURCE, .n = M}, ENCODER, spoil == OTHER_ENCODER,
              memory);
    if (spoil == OTHER_MEMORY) memcpy(memory, source, M * D * sizeof *memory);
    assert_int_equal(model_sublayer(m, slot, M, memory, 0, NULL, normed), 0);
    step_side(m, decoder, (LayerOf){.n = N, .M = M, .memory = spoil == NO_NORM ? memory : normed},
              LAYERS, spoil == OTHER_LAYER, y);
}

/* Some 200 operations a sublayer, in six layers of at most 8 evaluations. */
static const double rounding = 1e-11;

static double apart(const Table *encoder, const Table *decoder, Spoil spoil)
{
    double x[N * D], source[M * D], y[N * D], want[N * D];
    OWN_MODEL *m = build(encoder, decoder, 0.2, 0);
    fill(x, N * D, 0);
    fill(source, M * D, 1);
    step_both(m, encoder, decoder, x, source, spoil, want);
    assert_int_equal(model_run_pair(m, N, x, M, source, y), 0);
    return relative_distance(y, want, N * D);
}

/* Plans are their schemes: every encoder's scheme with one decoder, every decoder's with one encoder. */
TEST(plans_are_schemes)
{
    static const char *const names[2] = {
        "all,word:ssfsff,sandwich:3-2:heun,looped:3,repeat:3,strang-marchuk:rk4",
        "decoders,word:scfscfscf,word:ccsf:heun,strang-decoder:rk4,looped:2-decoder"};
    Table *one[2] = {scheme("heun"), scheme("transformer-decoder")};
    size_t checked = 0;
    for (int k = 0; k < 2; k++) {
        OWN_TABLES list = schemes_of(names[k]);
        for (size_t i = 0; i < list.count; i++, checked++) {
            const Table *encoder = k ? one[0] : list.table[i],
                        *decoder = k ? list.table[i] : one[1];
            double e = apart(encoder, decoder, RIGHT);
            if (!(e <= rounding)) fail_msg("%s + %s: %g", encoder->name, decoder->name, e);
        }
    }
    assert_true(checked > 60);
    for (int k = 0; k < 2; k++) table_free(one[k]);
}

/* Layers in another order, cross-attention to another text, or to a memory without a norm are all seen. */
TEST(another_network_is_seen)
{
    OWN_TABLE *encoder = scheme("macaron"), *decoder = scheme("macaron-decoder");
    assert_true(apart(encoder, decoder, RIGHT) <= rounding);
    for (Spoil s = OTHER_LAYER; s <= OTHER_ENCODER; s++)
        if (!(apart(encoder, decoder, s) > 1e-4)) fail_msg("not seen: %d", (int)s);
}

/* ---- truncation errors --------------------------------------------------------------------------------- */

static const int32_t target[N] = {0, 3, 9, 1, 4}, words[M + 1] = {5, 5, 2, 7, 10, 8, 0};
static const Sentence sentence = {.n = {[SIDE_TARGET] = N, [SIDE_SOURCE] = M},
                                  .token = {[SIDE_TARGET] = target, [SIDE_SOURCE] = words}};

static Truncator *open(Model *m, const Table *encoder, const Table *decoder, int side)
{
    const Table *own = side == SIDE_SOURCE ? encoder : decoder;
    TruncationOptions o = {
        .side = side, .other = side == SIDE_SOURCE ? decoder : encoder, .terms = 1};
    Truncator *u;
    double check;
    if (truncator_new(m, own, &o, &u) != 0 || truncator_sentence(u, &sentence, &check) != 0)
        fail_msg("%s", error_text());
    assert_true(check <= 1e-12);
    return u;
}

/* Computes the memory of the sentence: the encoder's last state under its norm. */
static void find_memory(Model *m, const Table *encoder, const Table *decoder, double *memory)
{
    OWN_TRUNCATOR *u = open(m, encoder, decoder, SIDE_SOURCE);
    int slot = plan_find_slot(model_plan(m), SIDE_SOURCE, SLOT_NORM, 0, 1);
    assert_int_equal(
        model_sublayer(m, slot, M, truncator_states(u) + ENCODER * M * D, 0, NULL, memory), 0);
}

/* The step of a layer of either side from what enters it ends in what enters the next, of all that is carried too; a decoder's
 * that reads another memory does not (the control). */
TEST(layers_that_carry)
{
    OWN_TABLE *encoder =
                  scheme_of_text("carry v = y\nlearn g = 1/2\nk1 = F(y)\n"
                                 "k2 = norm(g*v + k1)\nk3 = G(y + k2)\nv' = k2\ny' = y + k3"),
              *decoder =
                  scheme_of_text("carry v\nlearn g = 1/2\nk1 = A(y)\nlet w = g*v + (1-g)*k1\n"
                                 "k2 = G(y + w)\nv' = w + k2\ny' = y + w + k2");
    OWN_MODEL *m = build(encoder, decoder, 0.2, 1);
    for (int side = 0; side < SIDES; side++)
        for (int other = 0; other < 2; other++) {
            const Table *t = side == SIDE_SOURCE ? encoder : decoder;
            OWN_TRUNCATOR *u = open(m, encoder, decoder, side);
            SCOPED(layer_step_drop) LayerStep *w = NULL;
            size_t n = u->N;
            double v[MOST], end[MOST];
            LayerOf of = u->of;
            if (other) of.memory = u->states[SIDE_SOURCE];
            assert_int_equal(layer_step_new(m, t, encoder, &of, &w), 0);
            memcpy(v, u->carried, n * sizeof *v);
            assert_int_equal(layer_step(w, u->state, end, v), 0);
            double e = fmax(relative_distance(end, u->state + n, n),
                            relative_distance(v, u->carried + n, n));
            assert_true((e <= rounding) == (side == SIDE_SOURCE || !other));
        }
}

/* These give the layer's only set of each operator, whatever set is asked for. */
static System *raw;
#define ONLY(op)                                                                           \
    static void only_##op(const System *s, int set, double t, const double *y, double *dy) \
    {                                                                                      \
        (void)s, (void)set;                                                                \
        raw->field[OP_##op](raw, 1, t, y, dy);                                             \
    }
ONLY(F)
ONLY(G)
ONLY(C)

/* Returns the relative error of a step of h from the layer's state: ode/ steps the scheme, and the reference solves the
 * flow on all of the layer's sublayers. */
static double error_by_hand(Model *m, LayerOf of, const Table *t, const double *begin, double h)
{
    OWN_TABLE *frozen = table_freeze(t);
    double flow[MOST], y[MOST], off, error = 0, moved = 0;
    assert_int_equal(bridge_system(m, &of, &raw), 0);
    System s = *raw;
    s.initial = (double *)begin;
    s.field[OP_F] = only_F;
    s.field[OP_G] = only_G;
    if (s.field[OP_C]) s.field[OP_C] = only_C;
    assert_int_equal(reference_solve(&s, &h, 1, flow, &off), 0);
    walk_on(frozen, &s, h, 1, y);
    for (size_t i = 0; i < of.n * D; i++) {
        error += pow(y[i] - flow[i], 2);
        moved += pow(flow[i] - begin[i], 2);
    }
    system_free(raw);
    return sqrt(error / moved);
}

/* Checks that every scheme has the error by hand, that its slope is order + 1, and that the remainder's is one more. */
static void check_side(Model *m, const Table *encoder, const Table *decoder, int side,
                       const char *const *names, const int *orders)
{
    double memory[MOST];
    size_t n = side == SIDE_SOURCE ? M : N;
    LayerOf of = {.side = side, .layer = 1, .n = n};
    find_memory(m, encoder, decoder, memory);
    if (side == SIDE_TARGET) of.M = M, of.memory = memory;
    Truncator *u = open(m, encoder, decoder, side);
    Table *list[8], *t;
    size_t count = 0;
    for (size_t i = 0; names[i]; i++) {
        t = list[count++] = scheme(names[i]); /* the truncator keeps them */
        Truncation r;
        if (truncator_measure(u, 1, t, &r) != 0) fail_msg("%s: %s", names[i], error_text());
        const double *begin = truncator_states(u) + n * D;
        for (int j = 0; j < 2; j++) {
            double want = error_by_hand(m, of, t, begin, r.point[j].h);
            if (!(fabs(r.point[j].relative - want) <= 1e-9))
                fail_msg("%s: %.12g, not %.12g", names[i], r.point[j].relative, want);
        }
        if (r.order != orders[i]) fail_msg("%s: order %d", names[i], r.order);
        if (!(fabs(r.slope - orders[i] - 1) <= 0.2)) fail_msg("%s: slope %g", names[i], r.slope);
        if (!(fabs(r.remainder_slope - orders[i] - 2) <= 0.25))
            fail_msg("%s: remainder's slope %g", names[i], r.remainder_slope);
    }
    truncator_free(u);
    while (count) table_free(list[--count]);
}

TEST(errors_of_either_side)
{
    static const char *const of_encoder[] = {"transformer", "macaron", "heun", "rk4", NULL};
    static const int encoder_orders[] = {1, 1, 2, 4};
    static const char *const of_decoder[] = {"transformer-decoder", "macaron-decoder",
                                             "strang-decoder:heun", "heun-decoder",
                                             "rk4-decoder",         NULL};
    static const int decoder_orders[] = {1, 1, 2, 2, 4};
    OWN_TABLE *encoder = scheme("transformer"), *decoder = scheme("transformer-decoder");
    OWN_MODEL *m = build(encoder, decoder, 0.1, 1);
    check_side(m, encoder, decoder, SIDE_SOURCE, of_encoder, encoder_orders);
    check_side(m, encoder, decoder, SIDE_TARGET, of_decoder, decoder_orders);
}

/* Errors have their orders for a decoder's sets one by one, learned gates of the other side, and the layer L of three
 * sub-steps. */
TEST(sets_gates_and_layers)
{
    static const char *const encoders[] = {"rk2-gate", "macaron", "dlcl"};
    OWN_TABLE *decoder = scheme("macaron-decoder"), *heun = scheme("heun-layer-decoder");
    for (size_t i = 0; i < sizeof encoders / sizeof *encoders; i++) {
        OWN_TABLE *encoder = scheme(encoders[i]);
        OWN_MODEL *m = build(encoder, decoder, 0.1, 1);
        OWN_TRUNCATOR *u = open(m, encoder, decoder, SIDE_TARGET), *layers = NULL;
        Truncation r;
        assert_int_equal(truncator_measure(u, 0, decoder, &r), 0);
        assert_true(r.sets == 1 && r.order == 1 && fabs(r.slope - 2) <= 0.1);
        assert_true(fabs(r.remainder_slope - 3) <= 0.2);
        TruncationOptions o = {.other = encoder, .field = FIELD_LAYER, .terms = 1};
        assert_int_equal(truncator_new(m, decoder, &o, &layers), 0);
        assert_int_equal(truncator_sentence(layers, &sentence, NULL), 0);
        assert_int_equal(truncator_measure(layers, 0, heun, &r), 0);
        assert_true(r.order == 2 && fabs(r.slope - 3) <= 0.1);
        assert_true(fabs(r.remainder_slope - 4) <= 0.2);
    }
}

/* An encoder's state sees later tokens and a decoder's does not. Their systems do the same. */
TEST(masks_of_systems)
{
    OWN_TABLE *encoder = scheme("transformer"), *decoder = scheme("transformer-decoder");
    OWN_MODEL *m = build(encoder, decoder, 0.2, 1);
    double memory[MOST], y[MOST], f[MOST], g[MOST];
    fill(memory, M * D, 2);
    for (int side = 0; side < SIDES; side++) {
        LayerOf of = {.side = side, .n = N};
        OWN_SYSTEM *s = NULL;
        if (side == SIDE_TARGET) of.M = M, of.memory = memory;
        assert_int_equal(bridge_system(m, &of, &s), 0);
        for (int op = 0; op < COLOURS; op++) {
            if (!s->field[op]) continue;
            fill(y, N * D, 3);
            s->field[op](s, 1, 0, y, f);
            for (size_t k = (N - 1) * D; k < N * D; k++) y[k] += sin((double)k);
            s->field[op](s, 1, 0, y, g);
            int sees = memcmp(f, g, (N - 1) * D * sizeof *f) != 0;
            assert_int_equal(sees, side == SIDE_SOURCE && op == OP_F);
        }
        assert_int_equal(s->field[OP_C] != NULL, side == SIDE_TARGET);
    }
}

/* The eigenvalues' sum is the trace of the field's differences, and the sum of their squares is the trace of its
 * square. An encoder's eigenvalues are those of the whole matrix; its diagonal blocks alone have another square. */
TEST(jacobians)
{
    OWN_TABLE *encoder = scheme("transformer"), *decoder = scheme("transformer-decoder");
    OWN_MODEL *m = build(encoder, decoder, 0.1, 1);
    double memory[MOST];
    find_memory(m, encoder, decoder, memory);
    for (int side = 0; side < SIDES; side++) {
        size_t n = side == SIDE_SOURCE ? M : N, all = n * D;
        LayerOf of = {.side = side, .n = n};
        static double J[MOST][MOST];
        double y[MOST], plus[MOST], minus[MOST], h = 1e-5;
        Jacobian j;
        OWN_SYSTEM *s = NULL;
        if (side == SIDE_TARGET) of.M = M, of.memory = memory;
        OWN_TRUNCATOR *u = open(m, encoder, decoder, side);
        assert_int_equal(truncator_jacobian(u, 0, &j), 0);
        assert_int_equal(bridge_system(m, &of, &s), 0);
        memset(J, 0, sizeof J);
        for (int op = 0; op < COLOURS; op++) {
            assert_int_equal(isnan(j.lipschitz[op]), !s->field[op]);
            for (size_t k = 0; s->field[op] && k < all; k++) {
                memcpy(y, truncator_states(u), all * sizeof *y);
                y[k] += h;
                s->field[op](s, 1, 0, y, plus);
                y[k] -= 2 * h;
                s->field[op](s, 1, 0, y, minus);
                for (size_t i = 0; i < all; i++) J[i][k] += (plus[i] - minus[i]) / (2 * h);
            }
        }
        double trace = 0, square = 0, blocks = 0, re = 0, re2 = 0;
        for (size_t i = 0; i < all; i++) {
            trace += J[i][i];
            for (size_t k = 0; k < all; k++) {
                square += J[i][k] * J[k][i];
                if (i / D == k / D) blocks += J[i][k] * J[k][i];
            }
        }
        assert_int_equal(j.count, all);
        for (size_t i = 0; i < j.count; i++) {
            re += j.eigen[i][0];
            re2 += j.eigen[i][0] * j.eigen[i][0] - j.eigen[i][1] * j.eigen[i][1];
        }
        assert_true(fabs(re - trace) <= 1e-6 && fabs(re2 - square) <= 1e-6);
        assert_true(side == SIDE_SOURCE ? fabs(blocks - square) > 1e-3
                                        : fabs(blocks - square) <= 1e-6);
        jacobian_free(&j);
    }
}

TEST(what_cannot_be_is_told)
{
    OWN_TABLE *encoder = scheme("transformer"), *decoder = scheme("transformer-decoder"),
              *words_only = scheme("heun");
    OWN_MODEL *m = build(encoder, decoder, 0.1, 1), *fine = NULL;
    OWN_TRUNCATOR *u = NULL, *above = open(m, encoder, decoder, SIDE_SOURCE);
    System *s;
    double memory[MOST] = {0};
    Sentence long_one = sentence;
    assert_int_equal(truncator_new(m, decoder, &(TruncationOptions){0}, &u), ERR_MISUSE);
    assert_int_equal(bridge_system(m, &(LayerOf){.n = N}, &s), ERR_MISUSE);
    assert_int_equal(
        bridge_system(m, &(LayerOf){.side = SIDE_SOURCE, .n = N, .M = M, .memory = memory}, &s),
        ERR_MISUSE);
    assert_int_equal(bridge_system(m, &(LayerOf){.side = SIDE_SOURCE, .layer = 2, .n = N}, &s),
                     ERR_INPUT);
    assert_int_equal(bridge_system(m, &(LayerOf){.side = SIDE_SOURCE, .n = M + 1}, &s), ERR_INPUT);
    assert_int_equal(bridge_refine(m, decoder, decoder, 2, &fine), ERR_INPUT);
    u = open(m, encoder, decoder, SIDE_TARGET);
    assert_int_equal(truncator_takes(u, words_only), ERR_ACCURACY);
    assert_non_null(strstr(error_text(), "heun-decoder"));
    long_one.n[SIDE_SOURCE] = M + 1;
    assert_true(truncator_sentence(u, &long_one, NULL) < 0);
    assert_int_equal(truncator_takes(above, decoder), ERR_ACCURACY); /* an encoder has no C */
}

TEST_MAIN(open_all, zoo_end)
