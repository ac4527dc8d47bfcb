/* test_prefix.c: the search without a cache, with which `trotter bench translate` is compared, finds what beam.c finds,
 * for every plan of two sides; and a planted change is seen. */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "nn/decode/search.h"
#include "studies/bench/bench.h"
#include "tests/lib/models.h"
#include "tests/lib/scratch.h"

enum {
    SENTENCES = 4,
    LENGTH = 5,
    LONGEST = 6,
    MOST_BEAM = 3,
    ROWS = SENTENCES * MOST_BEAM * LONGEST
};

/* Returns sources of 1 .. LONGEST tokens; the arrays are static. */
static Batch sources(void)
{
    static int32_t word[SENTENCES * LONGEST], place[SENTENCES * LONGEST];
    static size_t start[SENTENCES + 1];
    size_t n = 0;
    for (size_t s = 0; s < SENTENCES; s++) {
        size_t length = 1 + (5 * s + 2) % LONGEST;
        for (size_t i = 0; i < length; i++, n++) {
            word[n] = i + 1 < length ? (int32_t)(1 + random_below(3, s, i, V - 1)) : 0;
            place[n] = (int32_t)i;
        }
        start[s + 1] = n;
    }
    Batch x = {.S = SENTENCES};
    x.source.N = n;
    x.source.longest = LONGEST;
    x.source.input = word;
    x.source.position = place;
    x.source.start = start;
    return x;
}

static Model *pair_model(const char *backend_name, Plan *plan)
{
    ModelConfig c = tiny_config();
    c.max_tokens = c.max_source = ROWS;
    c.max_length = c.max_source_length = LONGEST;
    return shaken(backend_name, c, plan, 0);
}

static int keep(void *arg, size_t s, size_t count, const Hypothesis *best)
{
    assert_true(count == 1 && best->length == LENGTH + 1);
    memcpy((int32_t *)arg + s * LENGTH, best->token, LENGTH * sizeof(int32_t));
    return 0;
}

static void beam_finds(Model *m, const Batch *x, size_t beam, int32_t *token)
{
    BeamConfig c = {.beam = beam,
                    .nbest = 1,
                    .min_length = LENGTH,
                    .max_length = LENGTH,
                    .sentences = SENTENCES};
    Beam *b;
    assert_int_equal(beam_new(m, &c, &b), 0);
    assert_int_equal(beam_search(b, x, keep, token), 0);
    beam_free(b);
}

static void prefix_finds(Model *m, const Batch *x, size_t beam, int kind, int32_t *token)
{
    Prefix *p;
    assert_int_equal(prefix_new(m, SENTENCES, beam, LENGTH, 0, &p), 0);
    assert_int_equal(prefix_search(p, x, kind, token), 0);
    prefix_free(p);
}

TEST(finds_what_beam_search_finds)
{
    Batch x = sources();
    int32_t a[SENTENCES * LENGTH], b[SENTENCES * LENGTH];
    for (const TinyPlan *p = tiny_pairs; p->name; p++) {
        Model *m = pair_model("cpu-f64", p->build());
        for (size_t beam = 1; beam <= MOST_BEAM; beam++) {
            beam_finds(m, &x, beam, a);
            for (int kind = 0; kind < PREFIX_KINDS; kind++) {
                memset(b, -1, sizeof b);
                prefix_finds(m, &x, beam, kind, b);
                if (memcmp(a, b, sizeof a) != 0) fail_msg("%s, beam %zu", p->name, beam);
            }
        }
        model_free(m);
    }
}

/* Other sources give other outputs. */
TEST(sees_what_is_planted)
{
    Batch x = sources();
    int32_t a[SENTENCES * LENGTH], b[SENTENCES * LENGTH];
    Model *m = pair_model("cpu-f64", tiny_transformer(0));
    for (int kind = 0; kind < PREFIX_KINDS; kind++) {
        prefix_finds(m, &x, MOST_BEAM, kind, a);
        for (size_t i = 0; i < x.source.N; i++)
            x.source.input[i] = (int32_t)(V - 1) - x.source.input[i];
        prefix_finds(m, &x, MOST_BEAM, kind, b);
        assert_memory_not_equal(a, b, sizeof a);
    }
    model_free(m);
}

TEST(refuses_what_has_no_room)
{
    Batch x = sources();
    Prefix *p;
    int32_t token[SENTENCES * LENGTH];
    Model *m = pair_model("cpu-f32", tiny_transformer(0));
    assert_int_equal(prefix_new(m, SENTENCES, MOST_BEAM + 1, LENGTH, 0, &p), ERR_MISUSE);
    assert_int_equal(prefix_new(m, SENTENCES, 1, LONGEST, 0, &p), ERR_MISUSE);
    assert_int_equal(prefix_new(m, SENTENCES - 1, 1, LENGTH, 0, &p), 0);
    assert_int_equal(prefix_search(p, &x, PREFIX_BOTH, token), ERR_MISUSE);
    prefix_free(p);
    prefix_free(NULL);
    model_free(m);
    m = model("cpu-f32", tiny_config(), tiny_residual(), 0);
    assert_int_equal(prefix_new(m, 1, 1, 1, 0, &p), ERR_MISUSE); /* a language model */
    model_free(m);
}

static Model *starved;

static int new_job(void)
{
    Prefix *p;
    int code = prefix_new(starved, SENTENCES, MOST_BEAM, LENGTH, 0, &p);
    if (code == 0) prefix_free(p);
    return code;
}

TEST(every_allocation_may_fail)
{
    starved = pair_model("cpu-f32", tiny_transformer(0));
    assert_true(fail_each(new_job, ERR_MEMORY) > 15);
    model_free(starved);
}

/* Lengths are those of bench_lengths.c, and the same for one vocabulary and another. */
TEST(pairs_are_as_long_as_multi30k)
{
    enum { BATCHES = 8, TOKENS = 4096 };
    Batch x[BATCHES], y[BATCHES];
    double source = 0, target = 0, pairs = 0;
    assert_int_equal(lengths_batches(9710, TOKENS, BATCHES, x), 0);
    assert_int_equal(lengths_batches(50, TOKENS, BATCHES, y), 0);
    for (int i = 0; i < BATCHES; i++) {
        assert_true(x[i].N <= TOKENS && x[i].source.N <= TOKENS);
        assert_true(x[i].N > TOKENS * 0.8);
        assert_true(x[i].longest <= LENGTHS_LONGEST && x[i].source.longest <= LENGTHS_LONGEST);
        assert_true(x[i].N == y[i].N && x[i].S == y[i].S && x[i].source.N == y[i].source.N);
        for (size_t k = 0; k < y[i].source.N; k++)
            assert_true(y[i].source.input[k] >= 0 && y[i].source.input[k] < 50);
        source += (double)x[i].source.N;
        target += (double)x[i].N;
        pairs += (double)x[i].S;
    }
    for (int i = 0; i < BATCHES; i++) lengths_free(&x[i]), lengths_free(&y[i]);
    /* eight batches in place of a hundred */
    assert_true(fabs(source / pairs - 14.7) < 0.4);
    assert_true(fabs(target / pairs - 14.8) < 0.4);
}

TEST_MAIN(scratch_open, scratch_close)
