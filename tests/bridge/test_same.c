/* test_same.c: plan_same against the numbers: plans that it calls the same give the same states for the same
 * weights, and plans that it calls different do not. */
#include "tests/lib/test.h"

#include "bridge/bridge.h"
#include "kernels/random.h"
#include "tests/lib/scratch.h"

enum { D = 8, HEADS = 2, INNER = 32, TOKENS = 5 };

static Zoo zoo;
static const Backend *f64;

static int setup(void **state)
{
    (void)state;
    return zoo_open(&zoo) || backend_find("cpu-f64", NULL, &f64);
}

static int teardown(void **state)
{
    (void)state;
    zoo_close(&zoo);
    return 0;
}

static Plan *plan_of(const Table *t, size_t layers, int match)
{
    BridgeOptions o = {.layers = layers, .width = D, .inner = INNER, .match = match};
    Plan *p;
    if (bridge_plan(t, &o, &p) != 0) fail_msg("%s: %s", t->name, error_text());
    return p;
}

static Plan *plan_named(const char *name, size_t layers, int match)
{
    Table *t;
    if (zoo_find(&zoo, name, "euler", &t) != 0) fail_msg("%s", error_text());
    Plan *p = plan_of(t, layers, match);
    table_free(t);
    return p;
}

static int same_plans(const Plan *a, const Plan *b)
{
    int same = -1, back = -1;
    if (plan_same(a, b, &same) != 0 || plan_same(b, a, &back) != 0) fail_msg("%s", error_text());
    assert_int_equal(same, back);
    return same;
}

static int same_names(const char *a, size_t m, const char *b, size_t n)
{
    Plan *p = plan_named(a, m, MATCH_NONE), *q = plan_named(b, n, MATCH_NONE);
    int same = same_plans(p, q);
    plan_free(p);
    plan_free(q);
    return same;
}

TEST(test_known_maps)
{
    static const struct {
        const char *a;
        size_t m;
        const char *b;
        size_t n;
        int same;
    } list[] = {
        {"rk2-unit", 1, "repeat:2", 1, 1},
        {"rk2-unit", 3, "repeat:2", 3, 1},
        {"transformer", 2, "lie-trotter", 2, 1},
        {"euler-layer", 2, "transformer", 2, 1},
        {"macaron", 2, "strang-marchuk", 2, 1},
        {"looped:1", 1, "transformer", 1, 1},
        {"dial:3-0", 1, "euler", 1, 1},
        {"dial:2-1", 1, "heun", 1, 1},
        {"dial:2-1/2", 1, "heun", 1, 0},
        {"word:sfsf", 1, "transformer", 2, 1}, /* names of layers and sets do not count */
        {"sandwich:2-1", 1, "word:ssff", 1, 1},
        {"ab2", 1, "euler", 1, 1}, /* a first layer has no history */
        {"leapfrog", 1, "euler", 1, 1},
        {"euler-F", 1, "transformer", 1, 1},
        {"euler-G", 1, "transformer", 1, 1},
        {"ab2", 2, "euler", 2, 0},
        {"rk2-unit", 1, "transformer", 2, 0}, /* shared weights are not those of two layers */
        {"rk2-unit", 1, "heun-layer", 1, 0},
        {"heun", 1, "ralston", 1, 0},
        {"heun", 1, "heun-layer", 1, 0},
        {"euler", 1, "transformer", 1, 0},
        {"looped:2", 1, "repeat:2", 1, 0},
        {"macaron", 1, "att-ffn-att", 1, 0},
        {"transformer", 1, "transformer", 2, 0},
        {"rk2-scalar", 1, "rk2-unit", 1, 0}, /* they part when trained */
        {"rk2-gate", 1, "heun-layer", 1, 0},
        {"word:ssff", 1, "word:sfsf", 1, 0},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (same_names(list[i].a, list[i].m, list[i].b, list[i].n) != list[i].same)
            fail_msg("%s (%zu) and %s (%zu): told %d", list[i].a, list[i].m, list[i].b, list[i].n,
                     !list[i].same);
}

/* Inner widths are part of a map: macaron's halves at equal parameters are not whole ones. */
TEST(test_widths_count)
{
    Plan *a = plan_named("macaron", 1, MATCH_PARAMETERS), *b = plan_named("macaron", 1, MATCH_NONE);
    assert_false(same_plans(a, b));
    plan_free(a);
    plan_free(b);
}

/* A second evaluation and sums in another order change nothing. A coefficient off by 1e-6 does. */
TEST(test_one_coefficient)
{
    static const char *const text[] = {
        "scheme a\nk1 = H(y)\nk2 = H(y + 1/3*k1)\ny' = y + 1/4*k1 + 3/4*k2\n",
        "scheme b\nk1 = H(y)\nk2 = H(y + 1/6*k1 + 1/6*k1)\nk3 = H(y)\ny' = y + 1/8*k1 + 3/4*k2 + "
        "1/8*k3\n",
        "scheme c\nk1 = H(y)\nk2 = H(y + 333334/1000000*k1)\ny' = y + 1/4*k1 + 3/4*k2\n",
    };
    Plan *p[3];
    for (int i = 0; i < 3; i++) {
        Table **list = NULL;
        size_t count = 0;
        assert_int_equal(scheme_parse("text", text[i], strlen(text[i]), &list, &count), 0);
        p[i] = plan_of(list[0], 2, MATCH_NONE);
        table_free(list[0]);
        memory_free(list);
    }
    assert_true(same_plans(p[0], p[1]));
    assert_false(same_plans(p[0], p[2]));
    for (int i = 0; i < 3; i++) plan_free(p[i]);
}

/* ---- all schemes, by the numbers ------------------------------------------------------------- */

static Model *model_of(const Table *t, size_t layers)
{
    ModelConfig c = {.vocab = 7,
                     .width = D,
                     .heads = HEADS,
                     .positions = POSITIONS_SINUSOID,
                     .act = ACT_GELU,
                     .max_tokens = TOKENS,
                     .max_length = TOKENS,
                     .seed = 5};
    Model *m;
    if (model_new(&c, plan_of(t, layers, MATCH_NONE), f64, 0, &m) != 0)
        fail_msg("%s", error_text());
    const Param *list;
    size_t n = model_params(m, &list);
    for (size_t i = 0; i < n; i++) { /* learned numbers leave their starts, biases too */
        double x[64];
        if (list[i].size > 64) continue;
        void *at = backend_at(f64, model_data(m), list[i].offset);
        f64->get(x, at, list[i].size);
        for (size_t k = 0; k < list[i].size; k++) x[k] += 0.3 * random_normal(9, i, k);
        f64->put(at, x, list[i].size);
    }
    return m;
}

static int same_slots(const Plan *a, const Plan *b)
{
    if (a->slots != b->slots || a->scalars != b->scalars || a->gates != b->gates) return 0;
    for (size_t i = 0; i < a->slots; i++)
        if (a->slot[i].kind != b->slot[i].kind || a->slot[i].set != b->slot[i].set ||
            a->slot[i].layer != b->slot[i].layer)
            return 0;
    return 1;
}

/* Returns the root mean square of the difference over that of a state. */
static double distance(Model *a, Model *b)
{
    double x[TOKENS * D], y[TOKENS * D], z[TOKENS * D], sum = 0, all = 0;
    for (int i = 0; i < TOKENS * D; i++) x[i] = random_normal(2, 1, (uint64_t)i);
    assert_int_equal(model_run_plan(a, TOKENS, x, y), 0);
    assert_int_equal(model_run_plan(b, TOKENS, x, z), 0);
    for (int i = 0; i < TOKENS * D; i++) {
        sum += (y[i] - z[i]) * (y[i] - z[i]);
        all += y[i] * y[i];
    }
    return sqrt(sum / all);
}

/* plan_same and the numbers agree on every pair of schemes with the same sublayers: 1e-9 is rounding (40 layers'
 * worth of 1e-16 each, grown by state weights of at most 65/24 a layer), 1e-6 is not. */
TEST(test_all_pairs)
{
    enum { LAYERS = 2 };
    Table **scheme;
    size_t count, same = 0, apart = 0;
    assert_int_equal(zoo_list(&zoo, "all,looped:2,repeat:2,repeat:1,heun-F,heun-G,rk2-unit-G",
                              "euler", &scheme, &count),
                     0);
    Model **m = calloc(count, sizeof *m);
    assert_non_null(m);
    for (size_t i = 0; i < count; i++) m[i] = model_of(scheme[i], LAYERS);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            int told = same_plans(model_plan(m[i]), model_plan(m[j]));
            if (!same_slots(model_plan(m[i]), model_plan(m[j]))) {
                assert_false(told);
                continue;
            }
            double d = distance(m[i], m[j]);
            if (told ? !(d <= 1e-9) : !(d >= 1e-6))
                fail_msg("%s and %s: told %d, distance %g", scheme[i]->name, scheme[j]->name, told,
                         d);
            same += (size_t)told;
            apart += (size_t)!told;
        }
    assert_true(same >= 4 && apart >= 100);
    for (size_t i = 0; i < count; i++) {
        model_free(m[i]);
        table_free(scheme[i]);
    }
    free(m);
    memory_free(scheme);
}

/* Lines that are summed ahead of time are the same lines. */
TEST(test_folded)
{
    Table **scheme;
    size_t count;
    assert_int_equal(zoo_list(&zoo, "all", "euler", &scheme, &count), 0);
    for (size_t i = 0; i < count; i++) {
        Plan *p = plan_of(scheme[i], 3, MATCH_NONE), *folded;
        assert_int_equal(plan_fold(p, &folded), 0);
        if (!same_plans(p, folded)) fail_msg("%s is not its folded self", scheme[i]->name);
        plan_free(folded);
        plan_free(p);
        table_free(scheme[i]);
    }
    memory_free(scheme);
}

/* Multiplies the first number of the first line by 1 + by. Returns 0 where there is no line. */
static int nudge(Plan *p, double by)
{
    for (size_t i = 0; i < p->instrs; i++)
        if (p->instr[i].op == PLAN_LIN) {
            p->instr[i].term[0].c *= 1 + by;
            return 1;
        }
    return 0;
}

/* However deep a plan is, a change far inside is seen, and roundings do not grow. rk4-released multiplies the
 * state by 65/24 a layer; no-residual and polynet put a sublayer's value alone into the next. */
TEST(test_depth)
{
    static const char *const name[] = {"euler",   "macaron",  "rk4",  "rk4-released", "no-residual",
                                       "polynet", "rk2-gate", "dlcl", "lm-resnet",    "word:ssff"};
    static const struct {
        double by;
        int same;
    } nudged[] = {{0, 1}, {1e-13, 1}, {1e-9, 0}, {-1, 0}};
    enum { LAYERS = 60 };
    size_t seen = 0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        for (size_t j = 0; j < sizeof nudged / sizeof *nudged; j++) {
            Plan *p = plan_named(name[i], LAYERS, MATCH_NONE), *q;
            assert_int_equal(plan_fold(p, &q), 0);
            if (nudge(q, nudged[j].by)) {
                if (same_plans(p, q) != nudged[j].same)
                    fail_msg("%s by %g: told %d", name[i], nudged[j].by, !nudged[j].same);
                seen++;
            }
            plan_free(p);
            plan_free(q);
        }
    assert_true(seen > 30);
}

/* a (r0 + r1) is the same as a r0 + a r1, with a learned. */
TEST(test_multiplied_out)
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
        assert_int_equal(plan_check(p[i]), 0);
    }
    assert_true(same_plans(p[0], p[1]));
    p[1]->instr[1].term[0].factors = 0;
    assert_false(same_plans(p[0], p[1]));
    plan_free(p[0]);
    plan_free(p[1]);
}

static int stops_at(void *arg, const PlanInstr *in)
{
    int *left = arg;
    (void)in;
    return --*left ? 0 : ERR_NUMERIC;
}

/* A walk meets every instruction once, in order. A code ends it. */
TEST(test_walk)
{
    static PlanOp *const op[PLAN_OPS] = {stops_at, stops_at, stops_at, stops_at};
    Plan *p = plan_named("rk2-gate", 2, MATCH_NONE);
    int left = (int)p->instrs;
    assert_int_equal(plan_walk(p, op, &left), ERR_NUMERIC);
    assert_int_equal(left, 0);
    left = (int)p->instrs + 1;
    assert_int_equal(plan_walk(p, op, &left), 0);
    left = 3;
    assert_int_equal(plan_walk(p, op, &left), ERR_NUMERIC);
    assert_int_equal(left, 0);
    plan_free(p);
}

static Plan *one, *other;

static int job(void)
{
    int same;
    return plan_same(one, other, &same);
}

TEST(test_memory)
{
    one = plan_named("rk2-gate", 3, MATCH_NONE);
    other = plan_named("rk2-scalar", 3, MATCH_NONE);
    assert_true(fail_each(job, 0) > 10);
    plan_free(one);
    plan_free(other);
}

TEST_MAIN(setup, teardown)
