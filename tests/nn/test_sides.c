/* test_sides.c: an encoder with its decoder, and an encoder alone with its tasks: against the whole model in one file,
 * which rows read which sources, and refusals; on every backend. */
#include "tests/lib/test.h"

#include "nn/run/pass.h"
#include "tests/lib/models.h"
#include "tests/lib/plain_model.h"

enum { SOURCE = TINY_SOURCE };

/* Makes variant v: post or not, untied or not, either activation. */
static Model *transformer(const char *name, int v)
{
    return shaken(name, TINY_WITH(c.untied = v >> 1 & 1, c.act = v & 4 ? ACT_RELU : ACT_GELU),
                  tiny_transformer(v & 1), 0);
}

/* Rounding is twice a language model's: a chain has twice as many products. */
TEST(agrees_with_plain_loops)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int v = 0; v < 8; v++) {
            OWN_MODEL *m = transformer(tested_backend(i), v);
            Batch b = tiny_batch_of(m);
            OWN_NUMBERS *z = tiny_logits(m, &b);
            plain_reads(m, &b, z, 2 * rounding_of(m));
        }
}

/* Other sequences of a batch do not matter: each alone has the logits that it has in the batch, bit for bit in f64,
 * elsewhere up to the order of a product's sums. The control: with the source of another it has not. */
TEST(the_company_does_not_matter)
{
    for (Each e = {.plans = tiny_all}; each_next(&e);) {
        double limit = strcmp(e.backend, "cpu-f64") == 0 ? 0 : 2 * rounding_of(e.m);
        OWN_NUMBERS *z = tiny_logits(e.m, &e.x);
        for (size_t s = 0; s < e.x.S; s++) {
            size_t start[2 * SIDES], other[2 * SIDES];
            Batch one = tiny_one(&e.x, s, start);
            OWN_NUMBERS *w = tiny_logits(e.m, &one);
            assert_true(distance(z + e.x.start[s] * V, w, one.N * V) <= limit);
            if (e.x.source.N == 0) continue;
            one.source = tiny_one(&e.x, (s + 1) % e.x.S, other).source;
            OWN_NUMBERS *spoilt = tiny_logits(e.m, &one);
            assert_true(distance(z + e.x.start[s] * V, spoilt, one.N * V) > fmax(1e-3, limit));
        }
    }
}

TEST(configurations_of_language_models_are_refused)
{
    const struct {
        ModelConfig config;
        const char *words;
    } row[] = {
        {TINY_WITH(c.tails = 1, c.cut[0] = 5, c.factor = 2), "adaptive embeddings"},
        {TINY_WITH(c.max_source = 0), "source"},
        {TINY_WITH(c.max_source_length = 0), "source"},
        {TINY_WITH(c.max_source = (size_t)1 << 25), "source"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        for (const TinyPlan *p = tiny_pairs; p->name; p++)
            refuse_model(row[i].config, p->build, ERR_INPUT, row[i].words);
        if (row[i].config.max_source >> 25 == 0) /* language models have them, and need no source */
            model_free(model("cpu-f64", row[i].config, tiny_residual(), 1));
    }
}

/* Checks that no pass takes the batch, and that the parameters and the results of the next batch are as before. */
static void refuse_batch(Model *m, const Batch *bad, const char *words)
{
    double mean, nll[N], none[N * V];
    Batch b = tiny_batch_of(m);
    OWN_NUMBERS *z = tiny_logits(m, &b), *x = tiny_numbers(m);
    AdamConfig a = {.rate = 0.1, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};
    assert_int_equal(model_forward(m, bad, 0, 1, nll, &mean), ERR_MISUSE);
    if (!strstr(error_text(), words)) fail_msg("'%s' has no '%s'", error_text(), words);
    assert_int_equal(model_gradient(m, bad, 1, &mean), ERR_MISUSE);
    assert_int_equal(model_logits(m, bad, none), ERR_MISUSE);
    assert_int_equal(model_step(m, bad, &a, 1), ERR_MISUSE);
    OWN_NUMBERS *w = tiny_logits(m, &b), *y = tiny_numbers(m);
    assert_memory_equal(z, w, N * V * sizeof *z);
    assert_memory_equal(x, y, model_size(m) * sizeof *x);
}

TEST(batches_of_another_model_are_refused)
{
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), tiny_transformer(0), 1);
        OWN_MODEL *alone = shaken(tested_backend(i), tiny_config(), tiny_residual(), 1);
        const Batch good = tiny_batch_of(m);
        Batch b = tiny_batch();
        refuse_batch(m, &b, "source.N");
        refuse_batch(alone, &good, "source.N");
    }
}

TEST(sources_outside_the_model_are_refused)
{
    enum { MOST = TINY_ROWS + 2 };
    int32_t word[MOST] = {0}, place[MOST] = {0};
    size_t start[] = {0, 5, 10, MOST}, lengths[] = {0, 8, 9, SOURCE};
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m = shaken(tested_backend(i), tiny_config(), tiny_transformer(0), 1);
        const Batch good = tiny_batch_of(m);
        Batch b = good;
        b.source.N = MOST; /* a row too many */
        b.source.longest = 5;
        b.source.input = word;
        b.source.position = place;
        b.source.start = start;
        refuse_batch(m, &b, "source.N");
        b.source.N--;
        start[3]--;
        double mean;
        assert_int_equal(model_forward(m, &b, 0, 1, NULL, &mean), 0); /* the row is the reason */
        start[3]++;
        b = good;
        b.source.start = lengths;
        b.source.longest = 8; /* at most 7 */
        refuse_batch(m, &b, "source.longest");
        static const int32_t bad[] = {-1, V, INT32_MIN, INT32_MAX};
        for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
            b = good;
            b.source.input = word;
            memcpy(word, good.source.input, SOURCE * sizeof *word);
            word[SOURCE - 1] = bad[k];
            refuse_batch(m, &b, "source.input");
            b = good;
            b.source.position = place;
            memcpy(place, good.source.position, SOURCE * sizeof *place);
            place[4] = bad[k] == V ? 7 : bad[k]; /* positions are 0 .. 6 */
            refuse_batch(m, &b, "source.position");
        }
        memset(word, 0, sizeof word);
        memset(place, 0, sizeof place);
        double x[2 * N * D] = {0}, y[N * D];
        assert_int_equal(model_run_plan(m, TINY_ROWS + 2, x, y), ERR_MISUSE); /* too many rows */
        int cross = plan_find_slot(model_plan(m), SIDE_TARGET, SLOT_CROSS, 0, 1);
        int norm = plan_find_slot(model_plan(m), SIDE_SOURCE, SLOT_NORM, 0, 1);
        assert_int_equal(model_sublayer(m, cross, N, x, 0, NULL, y), ERR_MISUSE); /* of two texts */
        assert_int_equal(model_sublayer(m, norm, N, x, N, x, y), ERR_MISUSE);
        int32_t many[TINY_ROWS + 4] = {0};
        assert_int_equal(model_embed(m, SIDE_SOURCE, TINY_ROWS + 4, many, x), ERR_MISUSE);
    }
}

/* A source with rows of its own: where they are the target's again, logits stay, and both gradients together are that of
 * the shared rows. */
TEST(words_apart)
{
    size_t word[2 * V], taken;
    for (size_t i = 0; i < 2 * V; i++) word[i] = i % V;
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *one = shaken(tested_backend(i), tiny_config(), tiny_transformer(0), 1);
        OWN_MODEL *two =
            shaken(tested_backend(i), TINY_WITH(c.source_vocab = V), tiny_transformer(0), 1);
        assert_int_equal(model_begin(two, one, word, &taken), 0);
        Batch a = tiny_batch_of(one), b = a;
        int32_t shifted[SOURCE];
        for (size_t k = 0; k < a.source.N; k++) shifted[k] = a.source.input[k] + V;
        b.source.input = shifted;
        OWN_NUMBERS *x = tiny_logits(one, &a), *y = tiny_logits(two, &b);
        assert_true(distance(x, y, a.N * V) <= rounding_of(one));
        double mean;
        assert_int_equal(model_gradient(one, &a, 1, &mean), 0);
        assert_int_equal(model_gradient(two, &b, 1, &mean), 0);
        size_t at = model_find(one, "embed.weight")->offset;
        OWN_NUMBERS *g = tiny_get(one, model_grad(one), at, V * D);
        OWN_NUMBERS *h =
            tiny_get(two, model_grad(two), model_find(two, "embed.weight")->offset, 2 * V * D);
        double source = 0, apart_by = 0, most = 0;
        for (size_t k = 0; k < V * D; k++) {
            most = fmax(most, fabs(g[k]));
            source = fmax(source, fabs(h[V * D + k]));
            double e = fabs(g[k] - h[k] - h[V * D + k]);
            apart_by = e <= apart_by ? apart_by : e;
        }
        assert_true(apart_by <= rounding_of(one) * most && source > 0.01 * most);
        shifted[0] = 2 * V;
        refuse_batch(two, &b, "source.input");
    }
}

/* ---- an encoder alone that is asked masked words, classes and numbers ------------------------------- */

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

static int is_head(const TinyHead *h)
{
    return h->masked || h->classes;
}

/* Rounding is as above: a chain has as many products. */
TEST(heads_agree_with_plain_loops)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (const TinyHead *h = tiny_heads; is_head(h); h++)
            for (int untied = 0; untied < 2; untied++) {
                OWN_MODEL *m = encoder(tested_backend(i), h, untied, 0);
                Batch b = tiny_batch_of(m);
                Asked a = ask(m, &b);
                double z[MASKED * V + N * MOST_CLASSES]; /* as plain_loss has them */
                size_t words = b.asked.count * V, classes = b.S * h->classes;
                memcpy(z, a.words, words * sizeof *z);
                memcpy(z + words, a.classes, classes * sizeof *z);
                plain_reads(m, &b, z, 2 * rounding_of(m));
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

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(one_thread, NULL)
