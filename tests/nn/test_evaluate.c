/* test_evaluate.c: exact sequences against the logits, and the results of an evaluation and a training on pairs. A
 * model that has room for a source but does not read it stands for a two-sided model here: the toy's targets need no
 * source. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "tests/lib/backends.h"
#include "tests/lib/models.h"
#include "tests/lib/toy.h"

/* ---- exact sequences ----------------------------------------------------------------------------- */

/* Sets best (N) to the most probable token of every row. */
static void find_best(Model *m, const Batch *b, int32_t *best)
{
    size_t words = model_config(m)->vocab;
    OWN_NUMBERS *z = memory_new(b->N * words, sizeof *z);
    assert_int_equal(model_logits(m, b, z), 0);
    for (size_t i = 0; i < b->N; i++) {
        best[i] = 0;
        for (size_t v = 1; v < words; v++)
            if (z[i * words + v] > z[i * words + (size_t)best[i]]) best[i] = (int32_t)v;
    }
}

/* Gives the sequences of `set` their most probable tokens as targets, and every other sequence too except in one random
 * row. Checks that so many are exact, and that the mean is that of model_forward to the bit. */
static void check_exact(Model *m, Batch b)
{
    SCOPED(memory_drop)
    int32_t *best = memory_new(b.N, sizeof *best), *target = memory_new(b.N, sizeof *target);
    size_t words = model_config(m)->vocab;
    find_best(m, &b, best);
    b.target = target;
    for (uint64_t set = 0; set < 16; set++) {
        size_t want = 0, exact;
        double mean, plain;
        memcpy(target, best, b.N * sizeof *best);
        for (size_t s = 0; s < b.S; s++) {
            size_t length = b.start[s + 1] - b.start[s];
            size_t row = b.start[s] + random_below(1, set, 2 * s, length);
            int right = s < 3 ? set >> s & 1 : random_below(1, set, 2 * s + 1, 2) == 0;
            want += (size_t)right;
            if (!right) target[row] = (int32_t)(((size_t)target[row] + 1) % words);
        }
        assert_int_equal(model_exact(m, &b, &mean, &exact), 0);
        assert_int_equal(exact, want);
        assert_int_equal(model_forward(m, &b, 0, 0, NULL, &plain), 0);
        assert_true(mean == plain);
    }
}

TEST(exact_is_of_the_logits)
{
    for (size_t i = 0; tested_backend(i); i++)
        for (int tails = 0; tails < 2; tails++)
            for (int training = 0; training < 2; training++) {
                ModelConfig config =
                    TINY_WITH(c.tails = tails ? 2 : 0, c.cut[0] = 4, c.cut[1] = 7, c.factor = 2,
                              c.smoothing = tails ? 0 : 0.1 * training);
                for (int pair = 0; pair <= !tails; pair++) {
                    OWN_MODEL *m = shaken(tested_backend(i), config,
                                          pair ? tiny_pairs[0].build() : tiny_residual(), training);
                    check_exact(m, tiny_batch_of(m));
                }
            }
}

/* A batch may have more rows than one look takes, and sequences across that border. */
TEST(exact_in_large_batches)
{
    enum { ROWS = 300, LONG = 7 };
    static int32_t input[ROWS], position[ROWS];
    static size_t start[ROWS / LONG + 2];
    Batch b = {.N = ROWS, .longest = LONG, .input = input, .position = position, .start = start};
    for (int i = 0; i < ROWS; i++) {
        input[i] = (int32_t)random_below(1, 2, (uint64_t)i, TINY_VOCAB);
        position[i] = i % LONG;
        if (i % LONG == 0) start[b.S++] = (size_t)i;
    }
    start[b.S] = ROWS;
    b.target = input;
    for (size_t i = 0; tested_backend(i); i++) {
        OWN_MODEL *m =
            shaken(tested_backend(i), TINY_WITH(c.max_tokens = ROWS), tiny_residual(), 0);
        check_exact(m, b);
    }
}

/* The first of equally probable tokens is decoded. With NaN no sequence is exact. */
TEST(ties_and_no_numbers)
{
    Batch b = tiny_batch();
    int32_t target[TINY_ROWS] = {0};
    double mean;
    size_t exact;
    b.target = target;
    OWN_MODEL *m = shaken("cpu-f64", tiny_config(), tiny_residual(), 0);
    model_backend(m)->fill(model_data(m), 0, model_size(m));
    assert_int_equal(model_exact(m, &b, &mean, &exact), 0);
    assert_int_equal(exact, 3);
    target[6] = 1;
    assert_int_equal(model_exact(m, &b, &mean, &exact), 0);
    assert_int_equal(exact, 2);
    model_backend(m)->fill(model_data(m), NAN, model_size(m));
    assert_int_equal(model_exact(m, &b, &mean, &exact), 0);
    assert_int_equal(exact, 0);
}

TEST(exact_without_memory)
{
    OWN_MODEL *m = shaken("cpu-f64", tiny_config(), tiny_residual(), 0);
    Batch b = tiny_batch();
    double mean;
    size_t exact;
    assert_int_equal(FAILURES(ERR_MEMORY, code = model_exact(m, &b, &mean, &exact)), 1);
}

/* ---- pairs --------------------------------------------------------------------------------------- */

/* Makes the toy's texts their sources, or removes these. */
static void set_sources(int set)
{
    for (int s = 0; s < SPLITS; s++) corpus.source[s] = set ? corpus.text[s] : (Text){0};
}

static Model *model_with_source(const char *name)
{
    return model(name,
                 TINY_WITH(c.vocab = corpus.vocab.size, c.max_tokens = c.max_source = 40,
                           c.max_length = c.max_source_length = 10),
                 tiny_pairs[0].build(), 1);
}

static int evaluate(Model *m, int split, Evaluation *e)
{
    return train_eval(m, &corpus.text[split], &corpus.source[split], &corpus.vocab, NULL,
                      CONTEXT_SENTENCE, 40, 10, e);
}

/* All lines are alike, so each is exact once the toy is learned. Where some pairs are not, the share says so. */
TEST(pairs_are_learned_exactly)
{
    set_sources(1);
    for (int average = 0; average < 2; average++) {
        Trial a;
        Evaluation e;
        trial_init(&a, average ? "average" : NULL, CONTEXT_SENTENCE);
        a.t.epochs = 20;
        a.t.average = average ? 3 : 0;
        a.t.arg = &a;
        a.t.out = average ? a.out : NULL;
        a.m = model_with_source("cpu-f64");
        assert_int_equal(evaluate(a.m, SPLIT_VALID, &e), 0);
        assert_true(e.pairs == 7 && e.exact == 0 && e.tokens == 70);
        assert_int_equal(train_run(a.m, &corpus, &a.t, &a.result), 0);
        assert_true(a.result.valid_exact == 1 && a.result.test_exact == 1);
        assert_int_equal(evaluate(a.m, SPLIT_TEST, &e), 0);
        assert_true(e.pairs == 5 && e.exact == 5 && evaluation_exact(&e) == 1);
        assert_true(fabs(exp(e.mean) / a.result.test_ppl - 1) <= 1e-12);
        Text *t = &corpus.text[SPLIT_TEST];
        int32_t was = t->id[14];
        t->id[14] = was == 1 ? 2 : 1; /* one word of the second line */
        assert_int_equal(evaluate(a.m, SPLIT_TEST, &e), 0);
        assert_true(e.pairs == 5 && e.exact == 4 && evaluation_exact(&e) == 0.8);
        t->id[14] = was;
        model_free(a.m);
    }
    set_sources(0);
}

/* Pairs need a model of two sides, and such a model needs pairs. A pair that is too long is refused before the first
 * step. */
TEST(sides_must_fit)
{
    static const struct {
        int sources, two, context, sequence;
        const char *words;
    } row[] = {
        {0, 1, CONTEXT_SENTENCE, 10,
         "is a text without a source, and the model is an encoder and a decoder"},
        {1, 0, CONTEXT_SENTENCE, 10, "is of pairs, and the model is a language model"},
        {1, 1, CONTEXT_SENTENCE, 9, "has 10 tokens"},
        {1, 1, CONTEXT_STREAM, 10, "pairs of sentences"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Trial a;
        Evaluation e;
        set_sources(row[i].sources);
        trial_init(&a, NULL, row[i].context);
        a.t.sequence = (size_t)row[i].sequence;
        OWN_MODEL *m = row[i].two ? model_with_source("cpu-f32") : new_model("cpu-f32");
        assert_int_equal(train_run(m, &corpus, &a.t, &a.result), ERR_INPUT);
        assert_non_null(strstr(error_text(), row[i].words));
        if (row[i].sources && row[i].two) continue;
        assert_int_equal(evaluate(m, SPLIT_VALID, &e), ERR_INPUT);
        assert_non_null(strstr(error_text(), corpus.text[SPLIT_VALID].file));
    }
    set_sources(0);
}

TEST_MAIN(set_up, tear_down)
