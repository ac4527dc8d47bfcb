/* test_plan.c: a plan that is right passes plan_check, prints and counts as written; each way to
 * spoil it is caught. */
#include "tests/lib/test.h"

#include "kernels/backend.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/plan.h"

/* y' = y + a[1] g k1 - 1/2 k2, k2 = G(y + k1), g = sigmoid(w . [k1, y]). NULL: no memory. */
static Plan *build(void)
{
    Plan *p = plan_new(2);
    if (!p) return NULL;
    int f = plan_slot(p, (PlanSlot){SLOT_ATTENTION, 0, 1, 0});
    int g = plan_slot(p, (PlanSlot){SLOT_FEEDFORWARD, 1, 1, 24});
    int a = plan_scalar(p, SIDE_TARGET, 1, "a", 2, 0.5);
    int k1 = plan_eval(p, f, 0, 0);
    PlanTerm sum[] = {{1, 0, 0, {{0}}}, {1, k1, 0, {{0}}}};
    int x = plan_lin(p, 2, sum);
    int k2 = plan_eval(p, g, x, 1);
    int gate = plan_gate(p, SIDE_TARGET, 0, "g", ACT_SIGMOID, 2, (int[]){k1, 0});
    PlanTerm update[] = {{1, 0, 0, {{0}}},
                         {1, k1, 2, {{FACTOR_SCALAR, a, 1}, {FACTOR_GATE, gate, 0}}},
                         {-0.5, k2, 0, {{0}}}};
    p->output = plan_lin(p, 3, update);
    if (f < 0 || g < 0 || a < 0 || k1 < 0 || x < 0 || k2 < 0 || gate < 0 || p->output < 0) {
        plan_free(p);
        return NULL;
    }
    return p;
}

TEST(prints_and_counts)
{
    Plan *p = build();
    assert_non_null(p);
    assert_int_equal(plan_check(p), 0);
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    plan_print(p, f);
    fclose(f);
    assert_string_equal(text, "r1 = layers.0.attn.1(r0), draw 0\n"
                              "r2 = r0 + r1\n"
                              "r3 = layers.1.ffn.1(r2), draw 1\n"
                              "g = sigmoid(w . [r1, r0] + b)\n"
                              "r4 = r0 + a[1] g r1 - 0.5 r3\n"
                              "output r4\n");
    free(text);
    assert_int_equal(plan_evals(p, SLOT_ATTENTION), 1);
    assert_int_equal(plan_evals(p, SLOT_FEEDFORWARD), 1);
    /* 4 D^2 + 2 T D + 2 D M at D = 8, T = 5, M = 24 */
    assert_true(plan_macs(p, 8, 5) == 4 * 64 + 2 * 5 * 8 + 2 * 8 * 24);
    plan_free(p);
}

TEST(empty_plan_is_identity)
{
    Plan *p = plan_new(1);
    assert_int_equal(plan_check(p), 0);
    assert_int_equal(p->output, 0);
    assert_true(plan_macs(p, 8, 5) == 0);
    plan_free(p);
    plan_free(NULL);
}

/* Instructions of build(), in order. */
enum { K1, SUM, K2, GATE, UPDATE };

#define SPOILS(X)                                                                      \
    X(p->layers[SIDE_TARGET] = 1)                                                      \
    X(p->layers[SIDE_TARGET] = 0)                                                      \
    X(p->output = 5)                                                                   \
    X(p->output = -1)                                                                  \
    X(p->registers = 6)                                                                \
    X(p->slot[0].kind = 2)                                                             \
    X(p->slot[0].layer = -1)                                                           \
    X(p->slot[0].side = 1)                                                             \
    X(p->reg[1].side = 1)                                                              \
    X(p->reg[1].keys = 1)                                                              \
    X(p->slot[0].set = 0)                                                              \
    X(p->slot[0].inner = 7)                                                            \
    X(p->slot[1].inner = 0)                                                            \
    X(p->slot[0] = p->slot[1])                                                         \
    X(p->scalar[0].size = 0)                                                           \
    X(p->scalar[0].init = NAN)                                                         \
    X(p->scalar[0].layer = 2)                                                          \
    X(p->scalar[0].name[0] = 0)                                                        \
    X(p->scalar[0].name[0] = '.')                                                      \
    X((p->scalar[0].name[0] = 'g', p->scalar[0].layer = 0))                            \
    X(p->gate[0].act = ACT_RELU)                                                       \
    X(p->gate[0].inputs = 0)                                                           \
    X(p->gate[0].inputs = 3)                                                           \
    X(p->instr[K1].op = 3)                                                             \
    X(p->instr[K1].term[0].x = 1)                                                      \
    X(p->instr[K1].term[0].x = -1)                                                     \
    X(p->instr[K1].term[0].x = 5)                                                      \
    X(p->instr[K1].terms = 0)                                                          \
    X(p->instr[K1].term[0].factors = 1)                                                \
    X(p->instr[K1].out = 0)                                                            \
    X(p->instr[K1].out = 5)                                                            \
    X(p->instr[K1].slot = 2)                                                           \
    X(p->instr[K1].slot = -1)                                                          \
    X(p->instr[K1].slot = 1)                                                           \
    X(p->instr[K1].draw = -1)                                                          \
    X(p->instr[SUM].out = 1)                                                           \
    X(p->instr[SUM].term[1].x = 2)                                                     \
    X(p->instr[SUM].term[1].x = 3)                                                     \
    X(p->instr[SUM].term[1].c = INFINITY)                                              \
    X(p->instr[SUM].term[1].factors = -1)                                              \
    X(p->instr[SUM].term[1].factors = PLAN_FACTORS + 1)                                \
    X((p->instr[SUM].term[1] = p->instr[UPDATE].term[1], p->instr[SUM].term[1].x = 0)) \
    X(p->instr[GATE].out = 1)                                                          \
    X(p->instr[GATE].term[0].x = 4)                                                    \
    X(p->instr[GATE].term[0].factors = 1)                                              \
    X(p->instr[UPDATE].term[1].factor[0].kind = 2)                                     \
    X(p->instr[UPDATE].term[1].factor[0].index = 1)                                    \
    X(p->instr[UPDATE].term[1].factor[0].element = 2)                                  \
    X(p->instr[UPDATE].term[1].factor[1].index = 1)                                    \
    X(p->instr[UPDATE].term[1].factor[1].index = -1)                                   \
    X(p->instr[UPDATE].term[1].factors = 1)                                            \
    X(memory_free(p->instr[--p->instrs].term))

static void spoil(Plan *p, int which)
{
    int i = 0;
#define X(change) \
    if (i++ == which) change;
    SPOILS(X)
#undef X
}

TEST(every_malformed_plan_is_caught)
{
    static const char *const words[] = {
#define X(change) #change,
        SPOILS(X)
#undef X
    };
    for (int i = 0; i < (int)(sizeof words / sizeof *words); i++) {
        Plan *p = build();
        assert_non_null(p);
        assert_int_equal(plan_check(p), 0);
        spoil(p, i);
        if (plan_check(p) != ERR_MISUSE) fail_msg("not caught: %s", words[i]);
        plan_free(p);
    }
}

TEST(long_names_are_refused)
{
    Plan *p = plan_new(1);
    const char *name = "a123456789a123456789a123456789ab"; /* 32 bytes and the end */
    assert_int_equal(plan_scalar(p, SIDE_TARGET, 0, name, 1, 0), ERR_MISUSE);
    assert_int_equal(plan_gate(p, SIDE_TARGET, 0, name, ACT_TANH, 1, (int[]){0}), ERR_MISUSE);
    assert_int_equal(plan_scalar(p, SIDE_TARGET, 0, name + 1, 1, 0), 0);
    plan_free(p);
}

TEST(every_allocation_may_fail)
{
    size_t live = memory_live();
    Plan *p = NULL;
    for (size_t k = 1; !p; k++) {
        assert_true(k < 100);
        memory_fail_at(k);
        p = build();
        if (!p) assert_int_equal(memory_live(), live);
    }
    memory_fail_at(1);
    assert_int_equal(plan_check(p), ERR_MEMORY);
    memory_fail_at(0);
    plan_free(p);
    assert_int_equal(memory_live(), live);
}

TEST_MAIN(NULL, NULL)
