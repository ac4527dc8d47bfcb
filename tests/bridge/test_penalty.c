/* test_penalty.c: a penalty on the error of each layer's step, or on its displacement (bridge.h): its gradient against differences
 * and the whole model in one file, its value against steps of the same sublayers by ode/, and who has none. */
#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "tests/lib/bridged.h"
#include "tests/lib/plain_model.h"

enum { LAYERS = 2, MOST = TINY_ROWS * D };
static int setup(void **state)
{
    (void)state;
    return bridged_open(
        MORE_SCHEMES WORDS_SCHEMES
        "scheme x-half\nk1 = H(y)\ny' = 1/2*y + k1\n"
        "scheme x-held\ncarry v\nk1 = H(y + v)\nv' = 1/2*v + k1\ny' = y + v'\n"
        "scheme x-third\nk1 = F(y)\nk2 = G(y + 2/3*k1)\ny' = y + 1/3*k1 + 4/3*k2\n");
}

#define NAMES \
    "all,word:ssfsff,sandwich:3-1,looped:2,repeat:3,dial:2-1/2,x-first,x-learned,x-carry,x-third"

static BridgeOptions penalised(int kind, double factor)
{
    BridgeOptions o = options(0, LAYERS);
    o.masks = MASKS_STEP;
    o.penalty = kind;
    o.lambda = factor;
    return o;
}

/* Returns the model of a scheme, or NULL where it has no such penalty. */
static Model *model_with(const Table *t, int kind, double lambda, ModelConfig c)
{
    Plan *p;
    BridgeOptions o = penalised(kind, lambda);
    if (bridge_plan(t, &o, &p) != 0) return NULL;
    return shaken(p, c, .3, 1, 1);
}

/* Returns a factor that makes the penalty as large as the loss; the error of a method of high order needs a large one. */
static double large(const Table *t, int kind, ModelConfig c)
{
    OWN_MODEL *m = model_with(t, kind, 1, c);
    double mean;
    if (!m) return 1;
    Batch x = tiny_batch_of(m);
    assert_int_equal(model_forward(m, &x, 1, GRADIENT_STEP, NULL, &mean), 0);
    double is = model_penalty(m) / (double)x.N;
    assert_true(is > 0);
    assert_true(model_penalty(m) == 0); /* asked for, it begins anew */
    return mean / is;
}

/* Tells whether the text of a scheme has what a half step cannot have; a step of size 0 may also add to more or less than y. */
static int has_none(const Table *t)
{
    double y = 0;
    for (size_t i = 0; i < t->update.terms; i++)
        if (t->update.term[i].eval == TABLE_STATE) y += table_double(t->update.term[i].c);
    return y != 1 || t->symbols || t->past_y || t->past_k || t->dense || t->carries;
}

/* Every parameter of every scheme, with dropout, and made again. The differences see the penalty, which is as large as the
 * loss: a gradient that lacked it, or one of its parts, would be off by more than the thousandth that they must see. */
TEST(gradients_are_those_of_the_loss_and_the_penalty)
{
    OWN_TABLES list = schemes_of(NAMES);
    size_t of[PENALISE_DISPLACEMENT + 1] = {0};
    for (size_t i = 0; i < list.count; i++)
        for (int kind = PENALISE_ERROR; kind <= PENALISE_DISPLACEMENT; kind++) {
            const Table *t = list.table[i];
            ModelConfig config = TINY_WITH(c.dropout = .1, c.recompute = i % 2);
            OWN_MODEL *m = model_with(t, kind, large(t, kind, config), config);
            if ((m != NULL) != (kind == PENALISE_DISPLACEMENT || !has_none(t)))
                fail_msg("%s: %s", t->name, error_text());
            if (!m) continue;
            gradients_agree(m, (Steps){2e-4, 3e-6}, t->name);
            of[kind]++;
        }
    assert_true(of[PENALISE_ERROR] > 25 && of[PENALISE_DISPLACEMENT] > 45);
}

TEST(the_model_in_one_file_has_the_same)
{
    OWN_TABLES list = schemes_of(NAMES);
    for (size_t i = 0; i < list.count; i++)
        for (int kind = PENALISE_ERROR; kind <= PENALISE_DISPLACEMENT; kind++) {
            OWN_MODEL *m = model_with(list.table[i], kind, 3, TINY_WITH(c.dropout = 0));
            if (!m) continue;
            Batch x = tiny_batch_of(m);
            plain_agrees(m, &x, list.table[i]->name, 0);
        }
}

/* ---- its value ------------------------------------------------------------------------------------------ */

static double squares(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* Returns what a sequence of n tokens adds with a factor of 3, by steps of the layers' fields. */
static double stepped(Model *m, const Table *t, int kind, size_t n, const int32_t *token)
{
    LayerOf of = {.n = n};
    OWN_SYSTEM *s = NULL;
    OWN_TABLE *frozen = table_freeze(t);
    static const double zero[MOST];
    double y[MOST], whole[MOST], half[MOST], sum = 0;
    assert_int_equal(bridge_system(m, &of, &s), 0);
    assert_int_equal(model_embed(m, SIDE_TARGET, n, token, y), 0);
    for (int l = 0; l < LAYERS; l++) {
        bridge_layer(s, l);
        memcpy(whole, y, sizeof y);
        memcpy(half, y, sizeof y);
        assert_int_equal(walk(frozen, s, 0, 1, 1, whole), 0);
        assert_int_equal(walk(frozen, s, 0, .5, 2, half), 0);
        double d = squares(whole, y, n * D);
        sum +=
            kind == PENALISE_ERROR ? squares(whole, half, n * D) / d : d / squares(y, zero, n * D);
        memcpy(y, whole, sizeof y);
    }
    return 3 * sum;
}

/* Over the three sequences of a batch, each by its tokens; the ratio of the batch's sums, or the mean of the sequences, would be
 * another number (control). Nothing but training has it. */
TEST(the_value_is_that_of_steps_of_the_field)
{
    OWN_TABLES list = schemes_of(NAMES);
    size_t checked = 0;
    for (size_t i = 0; i < list.count; i++)
        for (int kind = PENALISE_ERROR; kind <= PENALISE_DISPLACEMENT; kind++) {
            const Table *t = list.table[i];
            OWN_MODEL *m = has_none(t) ? NULL : model_with(t, kind, 3, TINY_WITH(c.dropout = 0));
            if (!m) continue;
            double want = 0, alike = 0, mean, without;
            Batch x = tiny_batch_of(m);
            for (size_t s = 0; s < x.S; s++) {
                size_t n = x.start[s + 1] - x.start[s];
                double one = stepped(m, t, kind, n, x.input + x.start[s]);
                want += one * (double)n;
                alike += one * (double)x.N / (double)x.S;
            }
            assert_int_equal(model_forward(m, &x, 0, 1, NULL, &without), 0);
            assert_true(model_penalty(m) == 0);
            assert_int_equal(model_forward(m, &x, 1, 1, NULL, &mean), 0);
            double have = model_penalty(m);
            if (!(fabs(have - want) <= 1e-11 * want))
                fail_msg("%s: %.15g, %.15g", t->name, have, want);
            assert_true(fabs(alike - want) > 1e-6 * want);
            assert_true(mean == without); /* the loss that is told is the cross-entropy */
            checked++;
        }
    assert_true(checked > 50);
}

/* ---- parts and ranks ------------------------------------------------------------------------------------ */

/* Two parts of a step, or two ranks, which each have some of the sequences, add up to the whole batch; the part that is told
 * to be all there is does not (control). */
TEST(parts_add_up)
{
    static const AdamConfig still = {.beta1 = .9, .beta2 = .99, .eps = 1e-8};
    OWN_TABLE *t = euler_named("macaron");
    for (int wrong = 0; wrong < 2; wrong++) {
        OWN_MODEL *m = model_with(t, PENALISE_ERROR, 3, TINY_WITH(c.dropout = 0));
        double mean;
        Batch x = tiny_batch_of(m), one = x;
        size_t n = model_size(m), start[4];
        assert_int_equal(model_gradient(m, &x, 1, &mean), 0);
        double whole = model_penalty(m);
        OWN_NUMBERS *g = tiny_gradient(m);
        for (size_t part = 0; part < 2; part++) {
            size_t from = part, to = part ? x.S : 1, row = x.start[from];
            for (size_t s = from; s <= to; s++) start[s - from] = x.start[s] - row;
            one.N = x.start[to] - row, one.S = to - from, one.start = start;
            one.input = x.input + row, one.target = x.target + row, one.position = x.position + row;
            StepPart p = {part, 2, 2, wrong ? one.N : x.N, {0}, NULL};
            assert_int_equal(model_step_part(m, &one, &p, &still, 1), 0);
        }
        OWN_NUMBERS *sum = tiny_gradient(m);
        assert_true(fabs(model_penalty(m) - whole) <= 1e-12 * whole);
        assert_int_equal(norm_distance(sum, g, n) <= 1e-12, !wrong);
    }
}

/* ---- who has none --------------------------------------------------------------------------------------- */

static void refused(const char *encoder, const char *name, BridgeOptions o, const char *words)
{
    Plan *p = NULL;
    OWN_TABLE *e = encoder ? euler_named(encoder) : NULL, *t = euler_named(name);
    assert_int_equal(bridge_plan_pair(e, t, &o, &p), ERR_INPUT);
    assert_null(p);
    if (!strstr(error_text(), words)) fail_msg("%s: %s", name, error_text());
}

TEST(who_has_no_half_step_is_told)
{
    static const char *const none[][2] = {
        {"x-learned", "learned"},      {"rk2-gate", "learned"},       {"ab2", "earlier steps"},
        {"x-first", "earlier steps"},  {"x-held", "carried"},         {"x-half", "size 0"},
        {"x-norm", "learned numbers"}, {"x-words", "learned numbers"}};
    BridgeOptions error = penalised(PENALISE_ERROR, 1), moves = penalised(PENALISE_DISPLACEMENT, 1);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        Plan *p;
        refused(NULL, none[i][0], error, none[i][1]);
        OWN_TABLE *t = euler_named(none[i][0]);
        assert_int_equal(bridge_plan(t, &moves, &p), 0);
        plan_free(p);
    }
    refused("transformer", "transformer-decoder", error, "language models");
    refused("transformer", "transformer-decoder", moves, "language models");
    error.norm = NORM_POST;
    refused(NULL, "transformer", error, "size 0");
    error.norm = NORM_PRE;
    error.bidirectional = moves.bidirectional = 1;
    refused(NULL, "transformer", error, "language models");
    refused(NULL, "transformer", moves, "language models");
}

/* The text of a plan with a penalty of factor 0 is that of one without; so is the network of one with any. */
TEST(a_factor_of_0_is_none)
{
    OWN_TABLE *t = euler_named("macaron");
    Plan *plan[3];
    char *text[3];
    size_t bytes;
    for (int i = 0; i < 3; i++) {
        BridgeOptions o = penalised(i ? PENALISE_ERROR : PENALISE_NONE, i == 2);
        int same;
        assert_int_equal(bridge_plan(t, &o, &plan[i]), 0);
        FILE *f = open_memstream(&text[i], &bytes);
        plan_print(plan[i], f);
        fclose(f);
        assert_int_equal(plan_same(plan[0], plan[i], &same), 0);
        assert_true(same && plan_evals(plan[i], SLOT_ATTENTION) == LAYERS);
        assert_true(plan_macs(plan[i], D, 7) == plan_macs(plan[0], D, 7));
    }
    assert_string_equal(text[0], text[1]);
    assert_int_equal(strncmp(text[0], text[2], (size_t)(strstr(text[0], "output") - text[0])), 0);
    assert_non_null(strstr(text[2], "penalty 1 |r"));
    for (int i = 0; i < 3; i++) plan_free(plan[i]), free(text[i]);
}

TEST_MAIN(setup, zoo_end)
