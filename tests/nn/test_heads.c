/* test_heads.c: an encoder alone that is asked masked words, classes and numbers: against a second reading in plain
 * loops, and refusals; on every backend. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"
#include "tests/lib/plain.h"

enum { MASKED = TINY_MASKED, MOST_CLASSES = 3 };

typedef struct {
    double words[MASKED * V], classes[N * MOST_CLASSES];
} Asked;

static Model *encoder(const char *name, const TinyHead *h, int untied, int training)
{
    ModelConfig c = tiny_head_config(tiny_config(), h);
    c.untied = h->masked && untied;
    return shaken(name, c, tiny_encoder(tiny_residual()), training);
}

static Asked ask(Model *m, const Batch *b)
{
    Asked a = {{0}, {0}};
    if (model_config(m)->masked) assert_int_equal(model_logits(m, b, a.words), 0);
    if (model_config(m)->classes) assert_int_equal(model_classes(m, b, a.classes), 0);
    return a;
}

/* Rounding is twice a language model's: a chain has as many products as in test_sides.c. */
static double apart(Model *m, const Batch *b, const Asked *a, int wrong)
{
    Asked plain = {{0}, {0}};
    size_t classes = b->S * model_config(m)->classes;
    plain_heads(m, b, wrong, plain.words, plain.classes);
    double words = distance(a->words, plain.words, b->asked.count * V);
    return farther(words, distance(a->classes, plain.classes, classes));
}

static int is_head(const TinyHead *h)
{
    return h->masked || h->classes;
}

/* Tells whether a mistake concerns a network's task. */
static int concerns(const TinyHead *h, int wrong)
{
    switch (wrong) {
    case HEADS_RIGHT: return 0;
    case HEADS_CAUSAL: return 1;
    case HEADS_NO_SEGMENT: return h->segments > 0;
    case HEADS_LAST:
    case HEADS_GELU: return h->classes > 0;
    default: return h->masked;
    }
}

/* Each mistake is far from rounding, where it concerns the network. */
TEST(agrees_with_plain_loops)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyHead *h = tiny_heads; is_head(h); h++)
            for (int untied = 0; untied < 2; untied++) {
                OWN_MODEL *m = encoder(tested_backend(i), h, untied, 0);
                Batch b = tiny_batch_of(m);
                Asked a = ask(m, &b);
                int wrongs = model_backend(m)->size == 8 ? HEADS_WRONGS : HEADS_RIGHT + 1;
                for (int wrong = HEADS_RIGHT; wrong < wrongs; wrong++) {
                    double e = apart(m, &b, &a, wrong);
                    if (concerns(h, wrong) ? !(e > 1e-2) : !(e <= 2 * rounding_of(m)))
                        fail_msg("%s, masked %d, %zu classes, mistake %d: %g", tested_backend(i),
                                 h->masked, h->classes, wrong, e);
                }
                set_tensor(m, "final_norm.weight", 9); /* one tensor is seen */
                assert_false(apart(m, &b, &a, HEADS_RIGHT) <= 2 * rounding_of(m));
            }
}

/* Another answer changes the loss and no logits. Without labels a model still gives the classes: users ask a trained
 * model so. */
TEST(no_position_sees_its_answer)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyHead *h = tiny_heads; is_head(h); h++) {
            OWN_MODEL *m = encoder(tested_backend(i), h, 0, 0);
            Batch b = tiny_batch_of(m), none = b;
            int32_t word[MASKED] = {1, 1, 1, 1, 1}, label[] = {0, 1, 0};
            double value[] = {5, 6, 7}, nll[2][N], mean;
            Asked a = ask(m, &b);
            assert_int_equal(model_forward(m, &b, 0, 0, nll[0], &mean), 0);
            b.asked.word = word;
            if (b.asked.label) b.asked.label = label;
            if (b.asked.value) b.asked.value = value;
            Asked w = ask(m, &b);
            assert_int_equal(model_forward(m, &b, 0, 0, nll[1], &mean), 0);
            assert_memory_equal(&a, &w, sizeof a);
            size_t told = b.asked.count + (h->classes ? b.S : 0);
            for (size_t k = 0; k < told; k++) assert_true(nll[0][k] != nll[1][k]);
            none.asked.label = NULL;
            none.asked.value = NULL;
            w = ask(m, &none);
            assert_memory_equal(&a, &w, sizeof a);
        }
}

/* ---- the loss ------------------------------------------------------------------------------------- */

/* A batch without a masked word has no loss and, where it asks words alone, no gradient. */
TEST(nothing_masked)
{
    for (const TinyHead *h = tiny_heads; is_head(h); h++) {
        if (!h->masked) continue;
        OWN_MODEL *m = encoder("cpu-f64", h, 0, 1);
        Batch b = tiny_batch_of(m);
        double mean = 1;
        b.asked.count = 0;
        b.asked.weight = 0;
        assert_int_equal(batch_asked(&b), 0);
        assert_int_equal(model_gradient(m, &b, 1, &mean), 0);
        assert_true(mean == 0);
        OWN_NUMBERS *g = tiny_gradient(m);
        for (size_t i = 0; i < model_size(m); i++) assert_true(g[i] == 0);
    }
}

/* ---- refusals --------------------------------------------------------------------------------------- */

static Plan *bidirectional(void)
{
    return tiny_encoder(tiny_residual());
}

TEST(networks_that_are_none)
{
    refuse_model(tiny_config(), bidirectional, ERR_INPUT, ""); /* it would see the next word */
    refuse_model(TINY_WITH(c.masked = 1), tiny_residual, ERR_MISUSE, "");
    refuse_model(TINY_WITH(c.masked = 1, c.tails = 1, c.cut[0] = 3, c.factor = 2), bidirectional,
                 ERR_INPUT, "");
    refuse_model(TINY_WITH(c.classes = 2, c.untied = 1), bidirectional, ERR_INPUT, "");
    refuse_model(TINY_WITH(c.segments = 2), tiny_residual, ERR_INPUT, "");
}

TEST(batches_that_ask_what_is_not_there)
{
    for (const TinyHead *h = tiny_heads; is_head(h); h++) {
        OWN_MODEL *m = encoder("cpu-f64", h, 0, 0);
        const Batch good = tiny_batch_of(m);
        int32_t row[MASKED] = {0, 1, 2, 3, N}, word[MASKED] = {0, 1, 2, 3, V}, label[] = {0, 9, 0};
        int32_t segment[N] = {[N - 1] = 7};
        double mean, value[] = {0, 0, 0};
        Batch bad[] = {good, good, good, good, good, good};
        bad[0].asked.masked = !good.asked.masked;
        bad[1].asked.segment = segment;
        bad[2].asked.label = label;
        bad[3].asked.count = bad[4].asked.count = MASKED;
        bad[3].asked.row = row;
        bad[4].asked.word = word;
        bad[5].asked.value = value;
        for (size_t k = 0; k < 6; k++)
            assert_int_equal(model_forward(m, &bad[k], 0, 0, NULL, &mean),
                             k == 5 && h->classes == 1 ? 0 : ERR_MISUSE);
        assert_int_equal(model_forward(m, &good, 0, 0, NULL, &mean), 0);
    }
}

TEST_MAIN(one_thread, NULL)
