/* test_plan.c: a correct plan passes plan_check, prints and counts as written. Each way to spoil it is caught. */
#include "tests/lib/test.h"

#include "kernels/backend.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/tiny.h"

/* Makes y' = y + a[1] g k1 - 1/2 k2, k2 = G(y + k1), g = sigmoid(w . [k1, y]). Returns NULL without memory. */
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

static void assert_prints(const Plan *p, const char *words)
{
    char *text;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    plan_print(p, f);
    fclose(f);
    assert_string_equal(text, words);
    free(text);
}

TEST(prints_and_counts)
{
    OWN_PLAN *p = build();
    assert_non_null(p);
    assert_int_equal(plan_check(p), 0);
    assert_prints(p, "r1 = layers.0.attn.1(r0), draw 0\n"
                     "r2 = r0 + r1\n"
                     "r3 = layers.1.ffn.1(r2), draw 1\n"
                     "g = sigmoid(w . [r1, r0] + b)\n"
                     "r4 = r0 + a[1] g r1 - 0.5 r3\n"
                     "output r4\n");
    assert_int_equal(plan_evals(p, SLOT_ATTENTION), 1);
    assert_int_equal(plan_evals(p, SLOT_FEEDFORWARD), 1);
    /* The count is 4 D^2 + 2 T D + 2 D M at D = 8, T = 5, M = 24. */
    assert_true(plan_macs(p, 8, 5) == 4 * 64 + 2 * 5 * 8 + 2 * 8 * 24);
}

TEST(empty_plan_is_identity)
{
    OWN_PLAN *p = plan_new(1);
    assert_int_equal(plan_check(p), 0);
    assert_int_equal(p->output, 0);
    assert_true(plan_macs(p, 8, 5) == 0);
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
    X(p->instr[K1].terms = 0)                                                          \
    X(p->instr[K1].term[0].factors = 1)                                                \
    X(p->instr[K1].out = 0)                                                            \
    X(p->instr[K1].out = 5)                                                            \
    X(p->instr[K1].slot = 2)                                                           \
    X(p->instr[K1].slot = 1)                                                           \
    X(p->instr[K1].draw = -1)                                                          \
    X(p->instr[SUM].out = 1)                                                           \
    X(p->instr[SUM].term[1].x = 2)                                                     \
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
    X(p->instr[UPDATE].term[1].factors = 1)                                            \
    X(memory_free(p->instr[--p->instrs].term))

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
/* Instructions of build_pair(), in order. */
enum { I_K1, I_U, I_X, I_K2, I_Y, I_MEMORY, I_KEYS0, I_KEYS1 };
enum { I_SELF = I_KEYS1 + 1, I_S, I_C0, I_V, I_T, I_C1, I_G, I_OUT };

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
    plan_scalar(p, SIDE_TARGET, 0, "a", 1, 0.5);
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
    assert_int_equal(plan_check(p), 0);
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
                     "r12 = r10 + a[0] v r11\n"
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

#define TERM(i, k) p->instr[i].term[k]
#define PAIR_SPOILS(X)                                                                    \
    X(p->sides = 1)                                                                       \
    X(p->sides = 0)                                                                       \
    X(p->sides = 3)                                                                       \
    X(p->layers[SIDE_SOURCE] = 0)                                                         \
    X(p->reg[R0].side = SIDE_SOURCE)                                                      \
    X(p->reg[R1].keys = 1)                                                                \
    /* A slot is on the wrong side for its kind, or its name is taken. */                 \
    X(p->slot[CROSS0].side = SIDE_SOURCE)                                                 \
    X(p->slot[S_ATTN].kind = SLOT_CROSS)                                                  \
    X(p->slot[S_ATTN].side = SIDE_TARGET)                                                 \
    X(p->slot[S_FFN].side = SIDE_TARGET)                                                  \
    X(p->slot[CROSS1].layer = 0)                                                          \
    X(p->slot[CROSS0].inner = 8)                                                          \
    X(p->slot[S_NORM].kind = SLOT_KINDS)                                                  \
    /* The norm of a side is not of layer 0 and set 1, which its name omits. */           \
    X(p->slot[S_NORM].set = 2)                                                            \
    X((p->slot[S_NORM].side = SIDE_TARGET, p->slot[S_NORM].layer = 1))                    \
    X(p->slot[S_NORM].side = SIDE_TARGET)                                                 \
    /* A norm reads the wrong slot, or an EVAL or KEYS reads a norm's. */                 \
    X(p->instr[I_MEMORY].slot = S_FFN)                                                    \
    X(p->instr[I_MEMORY].op = PLAN_EVAL)                                                  \
    X(p->instr[I_KEYS0].slot = S_NORM)                                                    \
    X(p->instr[I_K1].op = PLAN_NORM)                                                      \
    X(p->post = 1)                                                                        \
    /* KEYS has self-attention, a feed-forward, one slot twice, or the target. */         \
    X(p->instr[I_KEYS0].slot = T_ATTN)                                                    \
    X(p->instr[I_KEYS0].slot = CROSS1)                                                    \
    X(TERM(I_KEYS0, 0).x = R0)                                                            \
    X(TERM(I_KEYS1, 0).x = R_KEYS0)                                                       \
    X(TERM(I_KEYS1, 0).x = R_KEYS1)                                                       \
    X(p->instr[I_KEYS0].op = PLAN_LIN)                                                    \
    X(p->instr[I_KEYS0].op = PLAN_EVAL)                                                   \
    X(p->instr[I_K1].op = PLAN_KEYS)                                                      \
    X(p->reg[R_KEYS0].keys = 0)                                                           \
    X(p->reg[R_KEYS0].side = SIDE_TARGET)                                                 \
    X(p->reg[R_MEMORY].keys = 1)                                                          \
    /* Cross-attention has no keys, another's, none, or a register that no KEYS wrote. */ \
    X(p->instr[I_C0].terms = 1)                                                           \
    X(TERM(I_C0, 1).x = R_KEYS1)                                                          \
    X(TERM(I_C0, 1).x = R_MEMORY)                                                         \
    X(TERM(I_C0, 1).x = R_S)                                                              \
    X(TERM(I_C0, 0).x = R_MEMORY)                                                         \
    X(TERM(I_C0, 0).x = R_KEYS0)                                                          \
    X(p->instr[I_C0].slot = CROSS1)                                                       \
    X((p->instr[I_C0].slot = CROSS1, TERM(I_C0, 1).x = R_KEYS1))                          \
    X(p->instr[I_SELF].slot = CROSS0)                                                     \
    X(TERM(I_C0, 1).factors = 1)                                                          \
    X(TERM(I_C0, 1).c = NAN)                                                              \
    /* Sides are mixed, or another instruction than EVAL reads keys. */                   \
    X(TERM(I_Y, 1).x = R0)                                                                \
    X(TERM(I_S, 1).x = R_MEMORY)                                                          \
    X(TERM(I_S, 1).x = R_KEYS0)                                                           \
    X((TERM(I_S, 0).x = R_KEYS0, TERM(I_S, 1).x = R_KEYS1))                               \
    X((TERM(I_S, 0).x = R_MEMORY, TERM(I_S, 1).x = R_Y))                                  \
    X(TERM(I_K2, 0).x = R0)                                                               \
    X(TERM(I_SELF, 0).x = R1)                                                             \
    X(TERM(I_MEMORY, 0).x = R0)                                                           \
    X(TERM(I_U, 1).x = R0)                                                                \
    X((TERM(I_U, 0).x = R0, TERM(I_U, 1).x = R0))                                         \
    X(TERM(I_V, 0).x = R_MEMORY)                                                          \
    X(TERM(I_V, 0).x = R_KEYS0)                                                           \
    X((p->gate[0].side = SIDE_TARGET))                                                    \
    X((p->gate[1].side = SIDE_SOURCE, p->gate[1].layer = 0))                              \
    X(TERM(I_T, 1).factor[1].index = 0)                                                   \
    X(TERM(I_T, 1).factor[0].index = 0)                                                   \
    X(p->scalar[0].side = SIDES)                                                          \
    X(p->scalar[0].side = SIDE_TARGET)                                                    \
    X(p->gate[0].side = -1)                                                               \
    /* A register has the wrong side, or is wrongly called keys. */                       \
    X(p->reg[R_OUT].side = SIDE_SOURCE)                                                   \
    X(p->reg[R_OUT].keys = 1)                                                             \
    X(p->reg[R_K2].side = SIDE_TARGET)                                                    \
    X((p->reg[R_C1].side = SIDE_SOURCE, TERM(I_OUT, 1).x = R_T))                          \
    X((p->instr[I_OUT].terms = 0, p->reg[R_OUT].keys = 1, p->output = R_T))               \
    X(p->output = R1)                                                                     \
    X(p->output = R_KEYS0)

/* Spoils a plan of one side or of two in way `which`, and returns its words; NULL past the last way. */
static const char *spoil(Plan *p, int sides, int which)
{
    int i = 0;
    const char *words = NULL;
#define X(change) \
    if (i++ == which) words = #change, (void)(change);
    if (sides == 1) {
        SPOILS(X)
    } else {
        PAIR_SPOILS(X)
    }
#undef X
    return words;
}

TEST(every_malformed_plan_is_caught)
{
    for (int sides = 1; sides <= SIDES; sides++)
        for (int i = 0;; i++) {
            OWN_PLAN *p = sides == 1 ? build() : build_pair();
            assert_non_null(p);
            assert_int_equal(plan_check(p), 0);
            const char *words = spoil(p, sides, i);
            if (!words) break;
            if (plan_check(p) != ERR_MISUSE) fail_msg("not caught: %s", words);
        }
}

/* Makes LN(x + C(x)) with C's norm. `how` spoils it. */
static Plan *post_pair(int how)
{
    Plan *p = plan_new_pair(1, 1);
    p->post = 1;
    int f = slot(p, SIDE_SOURCE, SLOT_ATTENTION, 0), c = slot(p, SIDE_TARGET, SLOT_CROSS, 0);
    int memory = plan_norm(p, how == 1 ? c : f, plan_eval(p, f, 1, 0));
    int keys = plan_keys(p, c, memory), k = plan_cross(p, c, 0, keys, 1);
    if (how != 2) k = plan_norm(p, how == 3 ? f : c, k);
    p->output = how == 4 ? memory : k;
    return p;
}

/* A post pair passes, but not with 1, 3: a norm of the other side's slot; 2: a slot that is not normed; 4: an
 * output of the source. */
TEST(norms_of_a_post_pair)
{
    for (int how = 0; how <= 4; how++) {
        OWN_PLAN *p = post_pair(how);
        assert_int_equal(plan_check(p), how ? ERR_MISUSE : 0);
    }
}

/* ---- the rest ------------------------------------------------------------------------------------- */

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
