/* test_same.c: plan_same against the numbers: plans of language models, and of encoders with their decoders, that it
 * calls the same give the same logits for the same weights, and plans that it calls different do not. */
#include "tests/lib/test.h"

#include "tests/lib/bridged.h"
#include "tests/lib/scratch.h"

/* Two transformer layers of half a step. */
static const char more[] = MORE_SCHEMES
    "scheme x-halves\nk1 = F(y)\nk2 = C(y + 1/2*k1)\nk3 = G(y + 1/2*k1 + 1/2*k2)\n"
    "k4 = F(y + 1/2*k1 + 1/2*k2 + 1/2*k3)\nk5 = C(y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4)\n"
    "k6 = G(y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4 + 1/2*k5)\n"
    "y' = y + 1/2*k1 + 1/2*k2 + 1/2*k3 + 1/2*k4 + 1/2*k5 + 1/2*k6\n";

static Tables alone, decoders;

static int set_up(void **state)
{
    (void)state;
    if (bridged_open(more) != 0) return 1;
    alone = schemes_of("all,looped:2,repeat:2,repeat:1,heun-F,heun-G,rk2-unit-G");
    decoders = schemes_of(MANY_DECODERS);
    return 0;
}

static int tear_down(void **state)
{
    tables_free(&alone);
    tables_free(&decoders);
    return zoo_end(state);
}

/* Tells whether the plans are the same. Frees neither. */
static int same_plans(const Plan *a, const Plan *b)
{
    int same = -1, back = -1;
    if (plan_same(a, b, &same) != 0 || plan_same(b, a, &back) != 0) fail_msg("%s", error_text());
    assert_int_equal(same, back);
    return same;
}

static int same_and_free(Plan *a, Plan *b)
{
    int same = same_plans(a, b);
    plan_free(a);
    plan_free(b);
    return same;
}

/* A network: "DECODER" of a language model or "ENCODER + DECODER", and its layers above and below. */
typedef struct {
    const char *name;
    size_t above, below;
} Net;

static Plan *plan_at(Net n, int norm)
{
    BridgeOptions o = options(n.above, n.below);
    char encoder[64];
    const char *plus = strstr(n.name, " + ");
    o.norm = norm;
    if (!plus) return plan_named(NULL, n.name, o);
    snprintf(encoder, sizeof encoder, "%.*s", (int)(plus - n.name), n.name);
    return plan_named(encoder, plus + 3, o);
}

/* Networks that told_the_same_as_the_numbers cannot compare: of other layers or sublayers, or post-norm; some that it
 * can. */
TEST(known_maps)
{
    static const struct {
        Net a, b;
        int norm, same;
    } list[] = {
        {{"rk2-unit", 0, 1}, {"repeat:2", 0, 1}, 0, 1},
        {{"looped:1", 0, 1}, {"transformer", 0, 1}, 0, 1},
        {{"dial:2-1/2", 0, 1}, {"heun", 0, 1}, 0, 0},
        /* names of layers and sets do not count */
        {{"word:sfsf", 0, 1}, {"transformer", 0, 2}, 0, 1},
        {{"ab2", 0, 1}, {"euler", 0, 1}, 0, 1}, /* a first layer has no history */
        {{"leapfrog", 0, 1}, {"euler", 0, 1}, 0, 1},
        /* shared weights are not those of two layers */
        {{"rk2-unit", 0, 1}, {"transformer", 0, 2}, 0, 0},
        {{"macaron", 0, 1}, {"att-ffn-att", 0, 1}, 0, 0},
        {{"transformer", 0, 1}, {"transformer", 0, 2}, 0, 0},
        {{"rk2-scalar", 0, 1}, {"rk2-unit", 0, 1}, 0, 0}, /* they part when trained */
        {{"rk2-gate", 0, 1}, {"heun-layer", 0, 1}, 0, 0},
        {{"word:ssff", 0, 1}, {"word:sfsf", 0, 1}, 0, 0},
        {{"transformer", 0, 2}, {"transformer", 0, 2}, 1, 1},
        {{"rk2-unit", 0, 2}, {"repeat:2", 0, 2}, 1, 1},
        {{"transformer", 0, 2}, {"looped:2", 0, 2}, 1, 0},
        {{"rk2-unit", 0, 2}, {"transformer", 0, 2}, 1, 0},
        {{"transformer + transformer-decoder", 1, 2}, {"transformer + word:scfscf", 1, 1}, 0, 1},
        {{"transformer + transformer-decoder", 2, 1}, {"word:sfsf + word:scf", 1, 1}, 0, 1},
        {{"transformer + word:sf-decoder", 1, 1}, {"transformer + word:scf", 1, 1}, 0, 1},
        {{"transformer + looped:1-decoder", 1, 1},
         {"lie-trotter + lie-trotter-decoder", 1, 1},
         0,
         1},
        {{"ab2 + ab2-decoder", 1, 1}, {"euler + euler-decoder", 1, 1}, 0, 1},
        {{"transformer + word:scfscf", 1, 1}, {"transformer + transformer-decoder", 1, 2}, 1, 1},
        {{"transformer + word:scf", 1, 1}, {"transformer + word:csf", 1, 1}, 0, 0},
        {{"transformer + word:scf", 1, 1}, {"transformer + word:csf", 1, 1}, 1, 0},
        {{"transformer + word:scf", 1, 1}, {"transformer + word:sfc", 1, 1}, 0, 0},
        {{"macaron + transformer-decoder", 1, 1}, {"transformer + macaron-decoder", 1, 1}, 0, 0},
        {{"transformer + transformer-decoder", 2, 1},
         {"transformer + transformer-decoder", 1, 2},
         0,
         0},
        {{"macaron + transformer-decoder", 1, 1},
         {"transformer + transformer-decoder", 1, 1},
         0,
         0},
        {{"transformer + strang-decoder", 1, 1}, {"transformer + macaron-decoder", 1, 1}, 0, 0},
        {{"transformer + rk2-gate-decoder", 1, 1},
         {"transformer + heun-layer-decoder", 1, 1},
         0,
         0},
        {{"rk2-gate + heun-decoder", 1, 1}, {"rk2-tanh + heun-decoder", 1, 1}, 0, 0},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int norm = list[i].norm ? NORM_POST : NORM_PRE;
        if (same_and_free(plan_at(list[i].a, norm), plan_at(list[i].b, norm)) != list[i].same)
            fail_msg("%s and %s: told %d", list[i].a.name, list[i].b.name, !list[i].same);
    }
}

/* Inner widths are part of a map: macaron's halves at equal parameters are not whole ones. So is the place of norms. */
TEST(widths_and_norms_count)
{
    BridgeOptions o = options(0, 1), narrow = o, post = o;
    narrow.match = MATCH_PARAMETERS;
    post.norm = NORM_POST;
    assert_false(
        same_and_free(plan_named(NULL, "macaron", o), plan_named(NULL, "macaron", narrow)));
    assert_false(
        same_and_free(plan_named(NULL, "transformer", o), plan_named(NULL, "transformer", post)));
}

/* A second evaluation and sums in another order change nothing. A coefficient off by 1e-6 does. */
TEST(one_coefficient)
{
    static const char *const text[] = {
        "k1 = H(y)\nk2 = H(y + 1/3*k1)\ny' = y + 1/4*k1 + 3/4*k2",
        "k1 = H(y)\nk2 = H(y + 1/6*k1 + 1/6*k1)\nk3 = H(y)\ny' = y + 1/8*k1 + 3/4*k2 + 1/8*k3",
        "k1 = H(y)\nk2 = H(y + 333334/1000000*k1)\ny' = y + 1/4*k1 + 3/4*k2",
    };
    Plan *p[3];
    for (int i = 0; i < 3; i++) {
        OWN_TABLE *t = scheme_of_text(text[i]);
        p[i] = plan_of(NULL, t, options(0, 2));
    }
    assert_true(same_plans(p[0], p[1]));
    assert_false(same_plans(p[0], p[2]));
    for (int i = 0; i < 3; i++) plan_free(p[i]);
}

/* Substeps are two steps of half the size with a layer's weights, as written out on either side. */
TEST(substeps_are_smaller_steps)
{
    BridgeOptions o = options(1, 2), two = o, three = o;
    two.substeps = 2;
    three.substeps = 3;
    assert_true(same_and_free(plan_named("looped:2", "x-halves", o),
                              plan_named("transformer", "transformer-decoder", two)));
    assert_false(same_and_free(plan_named("looped:2", "x-halves", o),
                               plan_named("transformer", "transformer-decoder", three)));
}

/* ---- all schemes, by the numbers ------------------------------------------------------------- */

static int same_slots(const Plan *a, const Plan *b)
{
    if (a->slots != b->slots || a->scalars != b->scalars || a->gates != b->gates) return 0;
    for (size_t i = 0; i < a->slots; i++) {
        const PlanSlot *s = &a->slot[i], *t = &b->slot[i];
        if (s->kind != t->kind || s->set != t->set || s->layer != t->layer || s->side != t->side)
            return 0;
    }
    return 1;
}

/* Checks that plan_same and the numbers agree on every two schemes with the same sublayers: 1e-9 is rounding (40 layers'
 * worth of 1e-16 each, grown by state weights of at most 65/24 a layer), 1e-6 is not. */
static void compare_all(const Table *e, const Tables *s)
{
    enum { LOGITS = TINY_ROWS * TINY_VOCAB };
    Model **m = calloc(s->count, sizeof *m);
    double(*z)[LOGITS] = calloc(s->count, sizeof *z);
    size_t same = 0, different = 0;
    assert_true(m && z);
    for (size_t i = 0; i < s->count; i++) {
        m[i] = shaken(plan_of(e, s->table[i], options(1, 2)), tiny_config(), 0.3, 1, 0);
        Batch b = tiny_batch_of(m[i]);
        assert_int_equal(model_logits(m[i], &b, z[i]), 0);
    }
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < i; j++) {
            int told = same_plans(model_plan(m[i]), model_plan(m[j]));
            if (!same_slots(model_plan(m[i]), model_plan(m[j]))) {
                assert_false(told && !e);
                continue;
            }
            double d = relative_distance(z[i], z[j], LOGITS);
            if (told ? !(d <= 1e-9) : !(d >= 1e-6))
                fail_msg("%s and %s: told %d, distance %g", s->table[i]->name, s->table[j]->name,
                         told, d);
            same += (size_t)told;
            different += (size_t)!told;
        }
    print_message("# %zu told the same, %zu different\n", same, different);
    assert_true(same >= 4 && different >= 100);
    for (size_t i = 0; i < s->count; i++) model_free(m[i]);
    free(m);
    free(z);
}

TEST(told_the_same_as_the_numbers)
{
    OWN_TABLE *e = euler_named("transformer");
    compare_all(NULL, &alone);
    compare_all(e, &decoders);
}

/* ---- folded plans, changed plans ----------------------------------------------------------------- */

/* Multiplies the n-th number of a line by 1 + by, counted over all lines, those of the source first. Returns 0 past the
 * end. */
static int nudge(Plan *p, size_t n, double by)
{
    for (size_t i = 0; i < p->instrs; i++)
        for (size_t k = 0; p->instr[i].op == PLAN_LIN && k < p->instr[i].terms; k++)
            if (n-- == 0) {
                p->instr[i].term[k].c *= 1 + by;
                return 1;
            }
    return 0;
}

/* A plan whose lines are summed ahead of time is the same map. With one number off by 1e-6 it is another. Returns how
 * many numbers were seen. */
static size_t check_folded(const Table *e, const Table *d)
{
    OWN_PLAN *p = plan_of(e, d, options(2, 3)), *folded = NULL;
    size_t seen = 0;
    assert_int_equal(plan_fold(p, &folded), 0);
    if (!same_plans(p, folded)) fail_msg("%s is not its folded self", d->name);
    for (size_t n = 0; n < 400; n += 7) {
        OWN_PLAN *q = NULL;
        assert_int_equal(plan_fold(p, &q), 0);
        int there = nudge(q, n, 1e-6);
        seen += there && !same_plans(p, q);
        if (!there) break;
    }
    return seen;
}

TEST(folded)
{
    OWN_TABLES encoders = schemes_of("transformer,macaron,rk4-layer,heun,rk2-gate,ab2-layer,dlcl,"
                                     "word:ssff,polynet");
    size_t seen = 0;
    for (size_t i = 0; i < alone.count; i++) check_folded(NULL, alone.table[i]);
    for (size_t i = 0; i < decoders.count; i++)
        seen += check_folded(encoders.table[i % encoders.count], decoders.table[i]);
    assert_true(seen > 8 * decoders.count);
}

/* However deep a plan is, a change far inside is seen, and roundings do not grow. rk4-released multiplies the
 * state by 65/24 a layer; no-residual and polynet put a sublayer's value alone into the next. */
TEST(depth)
{
    static const char *const name[] = {"euler",   "macaron",  "rk4",  "rk4-released", "no-residual",
                                       "polynet", "rk2-gate", "dlcl", "lm-resnet",    "word:ssff"};
    static const struct {
        double by;
        int same;
    } nudged[] = {{0, 1}, {1e-13, 1}, {1e-9, 0}, {-1, 0}};
    size_t seen = 0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (size_t j = 0; j < sizeof nudged / sizeof *nudged; j++) {
            Plan *p = plan_named(NULL, name[i], options(0, 60)), *q;
            assert_int_equal(plan_fold(p, &q), 0);
            int there = nudge(q, 0, nudged[j].by), same = same_and_free(p, q);
            if (there && same != nudged[j].same)
                fail_msg("%s by %g: told %d", name[i], nudged[j].by, same);
            seen += (size_t)there;
        }
    assert_true(seen > 30);
}

/* a (r0 + r1) is the same as a r0 + a r1, with a learned. */
TEST(multiplied_out)
{
    Plan *p[2];
    for (int i = 0; i < 2; i++) {
        p[i] = plan_new(1);
        int f = plan_slot(p[i], (PlanSlot){SLOT_ATTENTION, 0, 1, 0});
        int a = plan_scalar(p[i], SIDE_TARGET, 0, "a", 1, 1), k = plan_eval(p[i], f, 0, 0);
        const PlanFactor by = {FACTOR_SCALAR, a, 0};
        PlanTerm plain[] = {{1, 0, 0, {{0}}}, {1, k, 0, {{0}}}};
        PlanTerm product[] = {{1, 0, 1, {by}}, {1, k, 1, {by}}};
        if (i == 0) product[0].x = plan_lin(p[i], 2, plain);
        p[i]->output = plan_lin(p[i], i == 0 ? 1 : 2, product);
    }
    assert_true(same_plans(p[0], p[1]));
    p[1]->instr[1].term[0].factors = 0;
    assert_false(same_and_free(p[0], p[1]));
}

/* Makes a small pair. `how` changes the input of its keys or queries, or adds a second cross-attention. */
static Plan *small(int how)
{
    Plan *p = plan_new_pair(1, 1);
    int f = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0, SIDE_SOURCE});
    int self = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0, SIDE_TARGET});
    int c = plan_slot(p, (PlanSlot){SLOT_CROSS, 0, 1, 0, SIDE_TARGET});
    int k = plan_eval(p, f, 1, 0), h = plan_eval(p, self, 0, 1);
    int keys = plan_keys(p, c, how == 1 ? 1 : k); /* 1: keys of the encoder's input */
    if (how == 2) h = 0;                          /* 2: queries of the embedding */
    int x = plan_cross(p, c, h, keys, 2);
    p->output = how == 3 ? plan_cross(p, c, x, keys, 3) : x;
    return p;
}

TEST(registers_count)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) assert_int_equal(same_and_free(small(i), small(j)), i == j);
    assert_false(same_and_free(small(0), tiny_residual())); /* one side against two */
}

static int stops_at(void *arg, const PlanInstr *in)
{
    int *left = arg;
    (void)in;
    return --*left ? 0 : ERR_NUMERIC;
}

/* A walk meets every instruction once, in order. A code ends it. */
TEST(each_once_in_order)
{
    static PlanOp *const op[PLAN_OPS] = {stops_at, stops_at, stops_at, stops_at};
    OWN_PLAN *p = plan_named(NULL, "rk2-gate", options(0, 2));
    const int most[] = {(int)p->instrs, 3};
    for (int i = 0; i < 2; i++) {
        int left = most[i];
        assert_int_equal(plan_walk(p, op, &left), ERR_NUMERIC);
        assert_int_equal(left, 0);
    }
    int left = most[0] + 1;
    assert_int_equal(plan_walk(p, op, &left), 0);
}

TEST(memory)
{
    OWN_PLAN *p = plan_named(NULL, "rk2-gate", options(0, 3)),
             *q = plan_named(NULL, "rk2-scalar", options(0, 3));
    int same;
    assert_true(FAILURES(0, code = plan_same(p, q, &same)) > 10);
}

TEST_MAIN(set_up, tear_down)
