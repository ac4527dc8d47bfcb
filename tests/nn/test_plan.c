/* test_plan.c: a plan prints and counts as written. What does not fit is refused where it is added. */
#include "tests/lib/test.h"

#include "kernels/backend.h"
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

static void assert_prints(const Plan *p, const char *words)
{
    assert_string_equal(WRITTEN(f, plan_print(p, f)), words);
}

TEST(one_side_has_plain_names)
{
    OWN_PLAN *p = tiny_residual();
    assert_prints(p, "r1 = layers.0.attn.1(r0), draw 0\n"
                     "r2 = r0 + r1\n"
                     "r3 = layers.0.ffn.1(r2), draw 1\n"
                     "r4 = r2 + r3\n"
                     "output r4\n");
}

TEST(empty_plan_is_identity)
{
    OWN_PLAN *p = plan_new(1);
    assert_int_equal(p->output, 0);
    assert_true(plan_macs(p, 8, 5) == 0);
    plan_free(NULL);
}

/* ---- two sides ------------------------------------------------------------------------------------ */

static PlanTerm term(double c, int x)
{
    return (PlanTerm){.c = c, .x = x};
}

static PlanTerm by(PlanTerm t, int kind, int index)
{
    t.factor[t.factors++] = (PlanFactor){kind, index, 0};
    return t;
}

static int slot(Plan *p, int side, int kind, int layer)
{
    size_t inner = kind == SLOT_FEEDFORWARD ? 24 : 0;
    return plan_slot(p, (PlanSlot){kind, layer, 1, inner, side});
}

/* Slots and registers of build_pair(), in order. */
enum { S_ATTN, S_FFN, S_NORM, T_ATTN, CROSS0, CROSS1, T_FFN };
enum { R0, R1, R_K1, R_X, R_K2, R_Y, R_MEMORY, R_KEYS0, R_KEYS1 };
enum { R_SELF = R_KEYS1 + 1, R_S, R_C0, R_T, R_C1, R_G, R_OUT };
/* Makes a plan of two sides with all parts: a scalar and a gate on either side, two cross-attentions. */
static Plan *build_pair(void)
{
    Plan *p = plan_new_pair(1, 2);
    if (!p) return NULL;
    for (int i = S_ATTN; i <= S_FFN; i++) slot(p, SIDE_SOURCE, i, 0);
    slot(p, SIDE_SOURCE, SLOT_NORM, 0);
    slot(p, SIDE_TARGET, SLOT_ATTENTION, 0);
    for (int l = 0; l < 2; l++) slot(p, SIDE_TARGET, SLOT_CROSS, l);
    slot(p, SIDE_TARGET, SLOT_FEEDFORWARD, 1);
    plan_scalar(p, SIDE_SOURCE, 0, "a", 1, 0.5);
    plan_scalar(p, SIDE_TARGET, 0, "a", 2, 0.5);
    plan_eval(p, S_ATTN, R1, 0);
    plan_gate(p, SIDE_SOURCE, 0, "u", ACT_SIGMOID, 2, (int[]){R_K1, R1});
    plan_lin(p, 2,
             (PlanTerm[]){by(term(1, R1), FACTOR_SCALAR, 0), by(term(1, R_K1), FACTOR_GATE, 0)});
    plan_eval(p, S_FFN, R_X, 1);
    plan_lin(p, 2, (PlanTerm[]){term(1, R_X), term(-1, R_K2)});
    plan_norm(p, S_NORM, R_Y);
    plan_keys(p, CROSS0, R_MEMORY);
    plan_keys(p, CROSS1, R_MEMORY);
    plan_eval(p, T_ATTN, R0, 2);
    plan_lin(p, 2, (PlanTerm[]){term(1, R0), term(1, R_SELF)});
    plan_cross(p, CROSS0, R_S, R_KEYS0, 3);
    plan_gate(p, SIDE_TARGET, 1, "v", ACT_TANH, 1, (int[]){R_C0});
    PlanTerm scaled = by(by(term(1, R_C0), FACTOR_SCALAR, 1), FACTOR_GATE, 1);
    scaled.factor[0].element = 1;
    plan_lin(p, 2, (PlanTerm[]){term(1, R_S), scaled});
    plan_cross(p, CROSS1, R_T, R_KEYS1, 4);
    plan_eval(p, T_FFN, R_T, 5);
    p->output = plan_lin(p, 3, (PlanTerm[]){term(1, R_T), term(0.5, R_C1), term(1, R_G)});
    return p;
}

TEST(a_pair_prints_and_counts)
{
    OWN_PLAN *p = build_pair();
    assert_non_null(p);
    assert_prints(p, "r2 = encoder.layers.0.attn.1(r1), draw 0\n"
                     "u = sigmoid(w . [r2, r1] + b)\n"
                     "r3 = a[0] r1 + u r2\n"
                     "r4 = encoder.layers.0.ffn.1(r3), draw 1\n"
                     "r5 = r3 - r4\n"
                     "r6 = encoder.norm(r5)\n"
                     "r7 = decoder.layers.0.cross.1.keys(r6)\n"
                     "r8 = decoder.layers.1.cross.1.keys(r6)\n"
                     "r9 = decoder.layers.0.attn.1(r0), draw 2\n"
                     "r10 = r0 + r9\n"
                     "r11 = decoder.layers.0.cross.1(r10, r7), draw 3\n"
                     "v = tanh(w . [r11] + b)\n"
                     "r12 = r10 + a[1] v r11\n"
                     "r13 = decoder.layers.1.cross.1(r12, r8), draw 4\n"
                     "r14 = decoder.layers.1.ffn.1(r12), draw 5\n"
                     "r15 = r12 + 0.5 r13 + r14\n"
                     "output r15\n");
    assert_int_equal(plan_evals(p, SLOT_ATTENTION), 2);
    assert_int_equal(plan_evals(p, SLOT_CROSS), 2);
    assert_int_equal(plan_evals(p, SLOT_FEEDFORWARD), 2);
    assert_int_equal(plan_evals(p, SLOT_NORM), 0);
    /* The values are D = 8, T = 5, M = 24. Twice each: attention 4 D^2 + 2 T D; cross-attention 2 D^2 + 2 T D, its
     * keys 2 D^2; feed-forward 2 D M. */
    double attention = 4 * 64 + 2 * 5 * 8, cross = 2 * 64 + 2 * 5 * 8, keys = 2 * 64;
    assert_true(plan_macs(p, 8, 5) == 2 * (attention + cross + keys + 2 * 8 * 24));
    assert_int_equal(plan_find_keys(p, CROSS0), R_KEYS0);
    assert_int_equal(plan_find_keys(p, CROSS1), R_KEYS1);
    assert_int_equal(plan_find_keys(p, T_ATTN), -1);
    assert_int_equal(plan_find_slot(p, SIDE_SOURCE, SLOT_FEEDFORWARD, 0, 1), S_FFN);
    assert_int_equal(plan_find_slot(p, SIDE_TARGET, SLOT_FEEDFORWARD, 0, 1), -1);
    assert_int_equal(plan_sets(p, SIDE_TARGET, SLOT_CROSS), 1);
    assert_int_equal(plan_sets(p, SIDE_SOURCE, SLOT_CROSS), 0);
}

#define SLOT(...) plan_slot(p, (PlanSlot){__VA_ARGS__})
#define LIN(...) \
    plan_lin(p, sizeof((PlanTerm[]){__VA_ARGS__}) / sizeof(PlanTerm), (PlanTerm[]){__VA_ARGS__})
/* What a plan of two sides refuses. */
#define REFUSED(X)                                                                           \
    /* A slot of no kind, side, layer or set, of the wrong width or side, or a name taken */ \
    X(SLOT(SLOT_KINDS, 0, 9, 0))                                                             \
    X(SLOT(SLOT_ATTENTION, 0, 9, 0, SIDES))                                                  \
    X(SLOT(SLOT_ATTENTION, 1, 9, 0, SIDE_SOURCE))                                            \
    X(SLOT(SLOT_ATTENTION, -1, 9, 0))                                                        \
    X(SLOT(SLOT_ATTENTION, 0, 0, 0))                                                         \
    X(SLOT(SLOT_ATTENTION, 0, 9, 8))                                                         \
    X(SLOT(SLOT_FEEDFORWARD, 0, 9, 0))                                                       \
    X(SLOT(SLOT_NORM, 1, 1, 0))                                                              \
    X(SLOT(SLOT_WORDS, 1, 1, 0))                                                             \
    X(SLOT(SLOT_CROSS, 0, 9, 0, SIDE_SOURCE))                                                \
    X(SLOT(SLOT_ATTENTION, 0, 1, 0))                                                         \
    /* A learned number of no layer, name or size, a gate of nothing */                      \
    X(plan_scalar(p, SIDE_SOURCE, 1, "b", 1, 0))                                             \
    X(plan_scalar(p, -1, 0, "b", 1, 0))                                                      \
    X(plan_scalar(p, SIDE_TARGET, 0, "", 1, 0))                                              \
    X(plan_scalar(p, SIDE_TARGET, 0, "b.c", 1, 0))                                           \
    X(plan_scalar(p, SIDE_TARGET, 0, "b", 0, 0))                                             \
    X(plan_gate(p, SIDE_TARGET, 0, "b", ACT_TANH, 0, (int[]){0}))                            \
    /* A register that is not there, of the other side, or keys */                           \
    X(plan_eval(p, T_FFN, R_OUT + 1, 0))                                                     \
    X(plan_eval(p, T_FFN, -1, 0))                                                            \
    X(plan_eval(p, T_FFN, R1, 0))                                                            \
    X(plan_eval(p, S_FFN, R_KEYS0, 0))                                                       \
    X(LIN(term(1, R0), term(1, R1)))                                                         \
    X(LIN(term(1, R_KEYS0)))                                                                 \
    X(plan_gate(p, SIDE_TARGET, 0, "b", ACT_TANH, 2, (int[]){R0, R1}))                       \
    /* A factor that is not there, or of the other side, too many, or not in a sum */        \
    X(LIN(by(term(1, R0), FACTOR_SCALAR, 2)))                                                \
    X(LIN(by(term(1, R0), FACTOR_SCALAR, 0)))                                                \
    X(LIN(by(term(1, R0), FACTOR_GATE, -1)))                                                 \
    X(LIN(by(term(1, R0), FACTOR_GATE, 0)))                                                  \
    X(LIN({.c = 1, .factors = 1, .factor = {{FACTOR_SCALAR, 1, 2}}}))                        \
    X(LIN({.c = 1, .factors = PLAN_FACTORS + 1}))                                            \
    X(LIN({.c = 1, .factors = -1}))                                                          \
    X(plan_add(p, (PlanInstr){.op = PLAN_EVAL, .slot = T_FFN, .terms = 1},                   \
               (PlanTerm[]){by(term(1, R0), FACTOR_SCALAR, 1)}))                             \
    /* A slot that is not there or of another kind, keys of another slot or a second time */ \
    X(plan_eval(p, T_FFN + 1, R0, 0))                                                        \
    X(plan_eval(p, S_NORM, R1, 0))                                                           \
    X(plan_eval(p, T_FFN, R0, -1))                                                           \
    X(plan_eval(p, CROSS0, R0, 0))                                                           \
    X(plan_norm(p, T_FFN, R0))                                                               \
    X(plan_keys(p, T_ATTN, R1))                                                              \
    X(plan_keys(p, CROSS0, R_MEMORY))                                                        \
    X(plan_cross(p, CROSS0, R0, R_KEYS1, 0))                                                 \
    X(plan_cross(p, CROSS0, R0, R_MEMORY, 0))                                                \
    X(plan_cross(p, T_FFN, R0, R_KEYS0, 0))                                                  \
    X(plan_words(p, T_FFN, 0))

TEST(what_does_not_fit_is_refused)
{
    OWN_PLAN *p = build_pair();
    size_t instrs = p->instrs, slots = p->slots, scalars = p->scalars, gates = p->gates;
#define X(add) \
    if ((add) != ERR_MISUSE) fail_msg("not refused: %s", #add);
    REFUSED(X)
#undef X
    assert_true(p->instrs == instrs && p->slots == slots && p->registers == R_OUT + 1);
    assert_true(p->scalars == scalars && p->gates == gates);
    p->post = 1; /* here each slot has a norm, on its side */
    assert_int_equal(plan_norm(p, T_FFN, R_Y), ERR_MISUSE);
    assert_int_equal(plan_norm(p, T_FFN, R0), R_OUT + 1);
}

TEST(long_names_are_refused)
{
    OWN_PLAN *p = plan_new(1);
    const char *name = "a123456789a123456789a123456789ab"; /* 32 bytes and the end */
    assert_int_equal(plan_scalar(p, SIDE_TARGET, 0, name, 1, 0), ERR_MISUSE);
    assert_int_equal(plan_gate(p, SIDE_TARGET, 0, name, ACT_TANH, 1, (int[]){0}), ERR_MISUSE);
    assert_int_equal(plan_scalar(p, SIDE_TARGET, 0, name + 1, 1, 0), 0);
}

TEST(every_allocation_may_fail)
{
    assert_true(FAILURES(ERR_MEMORY, OWN_PLAN *p = build_pair();
                         code = p && p->output == R_OUT ? 0 : ERR_MEMORY) > 5);
}

TEST_MAIN(NULL, NULL)
