/* test_pair_plans.c: an encoder's scheme and a decoder's as one network. Every scheme of three colours has a plan that
 * passes its check, with gradients that agree with differences. test_two_sides.c compares the networks with steps,
 * test_same.c tells which plans are the same. All is in f64. */
#include "tests/lib/test.h"

#include "tests/lib/bridged.h"
#include "tests/lib/scratch.h"

static Tables decoders, encoders;

static int setup(void **state)
{
    (void)state;
    if (bridged_open(MORE_SCHEMES WORDS_SCHEMES) != 0) return 1;
    decoders = schemes_of(MANY_DECODERS);
    encoders = schemes_of("transformer,macaron,rk4-layer,heun,rk2-gate,ab2-layer,dlcl,word:ssff,"
                          "polynet,x-first,x-learned,x-carry");
    return 0;
}

static int teardown(void **state)
{
    tables_free(&decoders);
    tables_free(&encoders);
    return zoo_end(state);
}

/* ---- plans ------------------------------------------------------------------------------------------ */

static size_t count_keys(const Plan *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->instrs; i++) n += p->instr[i].op == PLAN_KEYS;
    return n;
}

static size_t count_slots(const Plan *p, int side, int kind)
{
    size_t n = 0;
    for (size_t i = 0; i < p->slots; i++) n += p->slot[i].side == side && p->slot[i].kind == kind;
    return n;
}

/* Every decoder under every encoder has a plan: keys once a slot, all of one memory, an EVAL for every evaluation of
 * the tables. */
TEST(every_pair_has_a_plan)
{
    enum { ABOVE = 2, LAYERS = 3 };
    BridgeOptions o = options(ABOVE, LAYERS);
    size_t several = 0;
    assert_true(decoders.count > 50);
    for (size_t i = 0; i < decoders.count; i++)
        for (size_t j = 0; j < encoders.count; j++) {
            const Table *d = decoders.table[i], *e = encoders.table[j];
            OWN_PLAN *p = plan_of(e, d, o);
            size_t cross = plan_evals(p, SLOT_CROSS), sets = (size_t)table_sets(d, OP_C);
            if (cross != LAYERS * table_evals(d, OP_C))
                fail_msg("%s: %zu cross-attentions", d->name, cross);
            assert_int_equal(plan_evals(p, SLOT_ATTENTION),
                             LAYERS * table_evals(d, OP_F) + ABOVE * table_evals(e, OP_F));
            assert_int_equal(plan_evals(p, SLOT_FEEDFORWARD),
                             LAYERS * table_evals(d, OP_G) + ABOVE * table_evals(e, OP_G));
            assert_int_equal(count_keys(p), LAYERS * sets);
            assert_int_equal(count_slots(p, SIDE_TARGET, SLOT_CROSS), LAYERS * sets);
            assert_int_equal(count_slots(p, SIDE_SOURCE, SLOT_NORM), 1);
            assert_int_equal(p->layers[SIDE_SOURCE], ABOVE);
            assert_int_equal(p->layers[SIDE_TARGET], LAYERS);
            int memory = -1;
            for (size_t k = 0; k < p->instrs; k++) {
                if (p->instr[k].op != PLAN_KEYS) continue;
                assert_true(memory < 0 || memory == p->instr[k].term[0].x);
                memory = p->instr[k].term[0].x;
            }
            several += cross > count_keys(p);
        }
    assert_true(several > encoders.count); /* stages that share their keys */
}

TEST(as_many_encoder_layers_as_layers)
{
    BridgeOptions o = options(0, 3);
    OWN_PLAN *p = plan_named("transformer", "transformer-decoder", o);
    assert_int_equal(p->layers[SIDE_SOURCE], 3);
}

/* The plans are those written out by hand in tests/lib, where they are compared with a second reading in plain
 * loops. */
TEST(transformers_are_as_written)
{
    for (int post = 0; post < 2; post++) {
        BridgeOptions o = options(1, 1);
        o.norm = post ? NORM_POST : NORM_PRE;
        o.inner = TINY_INNER;
        OWN_PLAN *p = plan_named("transformer", "transformer-decoder", o);
        OWN_PLAN *r = plan_named("transformer", "word:csf", o);
        OWN_PLAN *q = tiny_transformer(post), *other = tiny_transformer(!post);
        int same = -1;
        assert_int_equal(plan_same(p, q, &same), 0);
        assert_int_equal(same, 1);
        assert_int_equal(plan_same(r, q, &same), 0);
        assert_int_equal(same, 0);
        assert_int_equal(plan_same(p, other, &same), 0);
        assert_int_equal(same, 0);
    }
}

static int refused(const char *e, const char *d, const char *solver, const BridgeOptions *o)
{
    OWN_TABLE *a = NULL, *b = NULL;
    Plan *p = NULL;
    assert_int_equal(zoo_find(&zoo, e, solver, &a), 0);
    assert_int_equal(zoo_find(&zoo, d, solver, &b), 0);
    size_t live = memory_live();
    int code = bridge_plan_pair(a, b, o, &p);
    assert_null(p);
    assert_int_equal(memory_live(), live);
    return code;
}

TEST(wrong_colours_are_refused)
{
    static const struct {
        const char *e, *d, *solver;
        int norm;
        size_t above, below;
        const char *words;
    } row[] = {
        {"transformer-decoder", "transformer-decoder", "euler", NORM_PRE, 1, 1,
         "an encoder takes a scheme of F and G"},
        {"transformer", "macaron", "euler", NORM_PRE, 1, 1, "macaron-decoder has it"},
        {"transformer", "strang-decoder", "exact", NORM_PRE, 1, 1, "strang-decoder:euler"},
        {"strang-marchuk", "transformer-decoder", "exact", NORM_PRE, 1, 1, "strang-marchuk:euler"},
        {"transformer", "rk4-decoder", "euler", NORM_POST, 1, 1, "--norm post needs"},
        {"rk4", "transformer-decoder", "euler", NORM_POST, 1, 1, "--norm post needs"},
        {"transformer", "transformer-decoder", "euler", NORM_PRE, 10001, 1, "layers"},
        {"transformer", "transformer-decoder", "euler", NORM_PRE, 1, 0, "layers"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        BridgeOptions o = options(row[i].above, row[i].below);
        o.norm = row[i].norm;
        assert_refused(refused(row[i].e, row[i].d, row[i].solver, &o), row[i].e, row[i].words);
    }
    BridgeOptions o = options(1, 1);
    OWN_TABLE *t = euler_named("transformer-decoder"); /* language models have no source */
    Plan *p = NULL;
    assert_int_equal(bridge_plan(t, &o, &p), ERR_INPUT);
}

/* Each sub-step has a norm, and no norm is alone: those of the encoder's last sub-step are the memory's. */
TEST(post_pairs_are_normed_sub_steps)
{
    static const char *const name[] = {"transformer", "macaron", "word:sff", "strang-marchuk-fgf",
                                       "looped:2"};
    /* The last name halves F in its text, and C of A(x) = F(x) + C(x + F(x)) does not follow the half. */
    enum { DECODERS = 4 };
    enum { ABOVE = 2, LAYERS = 2 };
    BridgeOptions o = options(ABOVE, LAYERS);
    o.norm = NORM_POST;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (size_t j = 0; j < sizeof name / sizeof *name; j++) {
            OWN_TABLE *e = euler_named(name[i]), *d = NULL;
            assert_int_equal(zoo_find_decoder(&zoo, name[j], "euler", &d), 0);
            OWN_PLAN *p = NULL;
            size_t norms = 0;
            int code = bridge_plan_pair(e, d, &o, &p);
            assert_int_equal(code, j < DECODERS ? 0 : ERR_INPUT);
            for (size_t k = 0; p && k < p->instrs; k++) norms += p->instr[k].op == PLAN_NORM;
            if (p) {
                assert_int_equal(norms, ABOVE * e->evals + LAYERS * d->evals);
                assert_int_equal(count_slots(p, SIDE_SOURCE, SLOT_NORM), 0);
            }
        }
}

TEST(sides_have_equal_parameters)
{
    static const char *const d[] = {"transformer-decoder", "macaron-decoder",
                                    "att-ffn-att-decoder", "rk4-layer-decoder",
                                    "strang-decoder:heun", "rk2-gate-decoder"};
    static const char *const e[] = {"transformer", "macaron", "att-ffn-att", "rk4-layer"};
    BridgeOptions o = options(1, 2);
    o.inner = 64;
    o.match = MATCH_PARAMETERS;
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        for (size_t j = 0; j < sizeof e / sizeof *e; j++) {
            OWN_PLAN *p = plan_named(e[j], d[i], o);
            assert_int_equal(matrix_numbers(p, SIDE_SOURCE), 4 * D * D + 2 * D * o.inner);
            if (matrix_numbers(p, SIDE_TARGET) != 2 * (8 * D * D + 2 * D * o.inner))
                fail_msg("%s: %zu numbers", d[i], matrix_numbers(p, SIDE_TARGET));
        }
    o.inner = 4 * D; /* att-ffn-att has one attention and one cross-attention more */
    assert_refused(refused("transformer", "att-ffn-att-decoder", "euler", &o), "att",
                   "4 attention");
}

/* ---- gradients --------------------------------------------------------------------------------------- */

/* Gradients are right for every decoder, with each encoder in turn, as deep as its history, and for post-norm pairs. */
TEST(gradients_agree_with_differences)
{
    size_t tensors = 0;
    for (size_t i = 0; i < decoders.count; i++) {
        const Table *d = decoders.table[i], *e = encoders.table[i % encoders.count];
        int depth = d->past_y > d->past_k ? d->past_y : d->past_k;
        tensors += check_gradients(e, d,
                                   options(e->past_y || e->past_k || e->dense ? 2 : 1,
                                           depth || d->dense ? (size_t)depth + 1 : 1));
    }
    OWN_TABLE *e = euler_named("macaron"), *d = euler_named("macaron-decoder");
    BridgeOptions o = options(1, 1);
    o.norm = NORM_POST;
    tensors += check_gradients(e, d, o);
    assert_true(tensors > 30 * decoders.count); /* a layer's of each side alone */
}

TEST(short_of_memory)
{
    BridgeOptions o = options(1, 2);
    OWN_TABLE *e = euler_named("rk2-gate"), *d = euler_named("x-cross");
    assert_true(FAILURES(ERR_MEMORY, OWN_PLAN *p = NULL; code = bridge_plan_pair(e, d, &o, &p)) >
                50);
}

TEST_MAIN(setup, teardown)
