/* test_batches.c: the windows of an epoch are the text, each token once; their order is a function of
 * (seed, epoch). */
#include "tests/lib/test.h"

#include "kernels/random.h"
#include "nn/corpus.h"
#include "tests/lib/scratch.h"

enum { TOKENS = 5000 };

/* A text whose tokens tell their own place: token i is i + 1, but for line ends, which are 0. Mean
 * line 8 tokens, some blank, one of 300. */
static Text placed_text(uint64_t seed, size_t tokens)
{
    Text t = {.file = memory_string("placed"), .tokens = tokens};
    t.id = memory_new(tokens, sizeof *t.id);
    for (size_t i = 0; i < tokens; i++) {
        int end = random_below(seed, 2, i, 8) == 0 && (i < 600 || i > 900);
        t.id[i] = end || i + 1 == tokens ? 0 : (int32_t)i + 1;
    }
    return t;
}

static int blank_at(const Text *t, size_t i)
{
    return t->id[i] == 0 && (i == 0 || t->id[i - 1] == 0);
}

/* Place of the target behind `input`, or SIZE_MAX where a blank line makes it unclear. */
static size_t place(int32_t input, int32_t target)
{
    return target ? (size_t)target - 1 : input ? (size_t)input : SIZE_MAX;
}

/* 1: a sound batch; seen (tokens) counts the targets. */
static int sound(const Batch *b, const Text *t, int context, size_t most, size_t T, uint8_t *seen)
{
    size_t longest = 0;
    if (b->start[0] != 0 || b->start[b->S] != b->N || b->N > most || b->N == 0) return 0;
    if (context == CONTEXT_STREAM && b->S > most / T) return 0;
    for (size_t s = 0; s < b->S; s++) {
        size_t from = b->start[s], length = b->start[s + 1] - from;
        if (b->start[s + 1] <= from || length > T) return 0;
        if (length > longest) longest = length;
        for (size_t j = 0; j < length; j++) {
            size_t i = from + j, at = place(b->input[i], b->target[i]);
            if (b->position[i] != (int32_t)j || at >= t->tokens) return 0;
            if (b->input[i] != (at ? t->id[at - 1] : 0) || b->target[i] != t->id[at]) return 0;
            if (j && b->input[i] != b->target[i - 1]) return 0;
            if (context == CONTEXT_SENTENCE && j && b->input[i] == 0) return 0;
            seen[at]++;
        }
    }
    return longest == b->longest;
}

/* 1: the epoch's batches are sound and together predict every token (but blank lines) once. */
static int covers(Batches *b, const Text *t, int context, size_t most, size_t T)
{
    uint8_t *seen = memory_new(t->tokens, 1);
    int good = 1;
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        good &= batches_get(b, i, &x) == 0 && sound(&x, t, context, most, T, seen);
    }
    for (size_t i = 0; i < t->tokens; i++) {
        int skip = context == CONTEXT_SENTENCE && blank_at(t, i);
        good &= seen[i] == !skip;
    }
    memory_free(seen);
    return good;
}

static const size_t lengths[] = {1, 2, 7, 64, 300, 5000, 100000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Blank lines cannot be told apart in a stream: its text has none. */
static Text text_for(int context, uint64_t seed, size_t tokens)
{
    Text t = placed_text(seed, tokens);
    for (size_t i = 0; context == CONTEXT_STREAM && i < tokens; i++)
        if (blank_at(&t, i)) t.id[i] = (int32_t)i + 1;
    return t;
}

TEST(test_batches_cover)
{
    static const size_t sizes[] = {1, 2, 63, TOKENS};
    Vocab v = {.eos = 0};
    for (int context = 0; context < 2; context++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (size_t l = 0; l < 2 * LENGTHS; l++) {
                size_t T = lengths[l / 2], most = l % 2 ? 3 * T + 1 : T;
                Text t = text_for(context, 8, sizes[k]);
                Batches *b;
                int code = batches_new(&t, &v, context, most, T, 5, &b);
                if (sizes[k] == 1 && context == CONTEXT_SENTENCE) {
                    assert_int_equal(code, ERR_INPUT); /* one blank line */
                } else {
                    assert_int_equal(code, 0);
                    assert_true(covers(b, &t, context, most, T));
                    for (long epoch = 3; epoch >= -1; epoch--) {
                        batches_epoch(b, epoch);
                        assert_true(covers(b, &t, context, most, T));
                    }
                }
                batches_free(b);
                text_free(&t);
            }
}

/* The checkers see a token, a place or a border that is wrong, and a batch left out. */
TEST(test_batches_control)
{
    Vocab v = {.eos = 0};
    Text t = text_for(CONTEXT_STREAM, 8, TOKENS);
    uint8_t *seen = memory_new(TOKENS, 1);
    Batches *b;
    Batch x;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 128, 32, 5, &b), 0);
    for (int spoil = 0; spoil < 6; spoil++) {
        assert_int_equal(batches_get(b, 1, &x), 0);
        if (spoil == 1) x.input[3]++;
        if (spoil == 2) x.target[3] = x.target[4];
        if (spoil == 3) x.position[32] = 32;
        if (spoil == 4) x.start[1]++;
        if (spoil == 5) x.longest--;
        assert_int_equal(sound(&x, &t, CONTEXT_STREAM, 128, 32, seen), spoil == 0);
    }
    uint8_t missed = 0;
    memset(seen, 0, TOKENS);
    for (size_t i = 1; i < batches_count(b); i++) {
        assert_int_equal(batches_get(b, i, &x), 0);
        sound(&x, &t, CONTEXT_STREAM, 128, 32, seen);
    }
    for (size_t i = 0; i < TOKENS; i++) missed |= !seen[i];
    assert_true(missed);
    assert_int_equal(batches_get(b, batches_count(b), &x), ERR_MISUSE);
    memory_free(seen);
    batches_free(b);
    text_free(&t);
}

/* Evaluation: targets one after another are the text; inputs the text begun with <eos>. On real
 * text; the stream in blocks of T, batch_tokens / T at a time. */
TEST(test_evaluation)
{
    Corpus c;
    assert_int_equal(corpus_open("kjv", LEVEL_WORD, 0, 0, &c), 0);
    const Text *t = &c.text[SPLIT_VALID];
    for (int context = 0; context < 2; context++) {
        Batches *b;
        Batch x;
        size_t at = 0;
        assert_int_equal(batches_new(t, &c.vocab, context, 1000, 70, 1, &b), 0);
        batches_epoch(b, 4);
        batches_epoch(b, -1);
        for (size_t i = 0; i < batches_count(b); i++) {
            assert_int_equal(batches_get(b, i, &x), 0);
            if (context == CONTEXT_STREAM && i + 1 < batches_count(b)) {
                assert_int_equal(x.S, 14);
                assert_int_equal(x.N, 14 * 70);
            }
            for (size_t j = 0; j < x.N; j++, at++) {
                assert_int_equal(x.target[j], t->id[at]);
                assert_int_equal(x.input[j], at ? t->id[at - 1] : c.vocab.eos);
            }
        }
        assert_int_equal(at, t->tokens);
        batches_free(b);
    }
    corpus_free(&c);
}

/* A number for an epoch's batches in their order. */
static uint64_t epoch_sum(Batches *b, long epoch)
{
    uint64_t h = 1;
    batches_epoch(b, epoch);
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        assert_int_equal(batches_get(b, i, &x), 0);
        for (size_t j = 0; j < x.N; j++)
            h = (h ^ (uint64_t)(x.target[j] + 7 * x.position[j])) * UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ x.S) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return h;
}

TEST(test_batches_order)
{
    Vocab v = {.eos = 0};
    for (int context = 0; context < 2; context++) {
        Text t = text_for(context, 8, TOKENS);
        Batches *a, *b, *d;
        assert_int_equal(batches_new(&t, &v, context, 256, 64, 5, &a), 0);
        assert_int_equal(batches_new(&t, &v, context, 256, 64, 5, &b), 0);
        assert_int_equal(batches_new(&t, &v, context, 256, 64, 6, &d), 0);
        uint64_t sum[6];
        for (long e = 0; e < 6; e++) sum[e] = epoch_sum(a, e);
        for (long e = 5; e >= 0; e--) assert_true(epoch_sum(b, e) == sum[e]);
        for (long e = 0; e < 6; e++) {
            assert_false(epoch_sum(d, e) == sum[e]);
            for (long f = 0; f < e; f++) assert_false(sum[e] == sum[f]);
        }
        assert_true(epoch_sum(a, -1) == epoch_sum(d, -1));
        batches_free(a);
        batches_free(b);
        batches_free(d);
        text_free(&t);
    }
}

/* Sum over batches of (longest - shortest sequence), less the same for the whole epoch. Sorted by
 * length it is <= 0: the batches' ranges do not overlap. */
static long spread(Batches *b, long epoch)
{
    size_t low = SIZE_MAX, high = 0;
    long sum = 0;
    batches_epoch(b, epoch);
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        size_t shortest = SIZE_MAX;
        assert_int_equal(batches_get(b, i, &x), 0);
        for (size_t s = 0; s < x.S; s++)
            if (x.start[s + 1] - x.start[s] < shortest) shortest = x.start[s + 1] - x.start[s];
        sum += (long)(x.longest - shortest);
        if (shortest < low) low = shortest;
        if (x.longest > high) high = x.longest;
    }
    return sum - (long)(high - low);
}

TEST(test_like_length)
{
    Vocab v = {.eos = 0};
    Text t = text_for(CONTEXT_SENTENCE, 8, TOKENS);
    Batches *b;
    assert_int_equal(batches_new(&t, &v, CONTEXT_SENTENCE, 256, 64, 5, &b), 0);
    for (long epoch = 0; epoch < 4; epoch++) assert_true(spread(b, epoch) <= 0);
    assert_true(spread(b, -1) > 0); /* control: in the text's order */
    batches_free(b);
    text_free(&t);
}

/* The cuts of a stream move: over many epochs a token is first of its block at about 1 time in T. */
TEST(test_offsets)
{
    enum { T = 8, EPOCHS = 800 };
    Vocab v = {.eos = 0};
    Text t = text_for(CONTEXT_STREAM, 8, 100);
    Batches *b;
    size_t first = 0;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, T, 5, &b), 0);
    for (long epoch = 0; epoch < EPOCHS; epoch++) {
        batches_epoch(b, epoch);
        for (size_t i = 0; i < batches_count(b); i++) {
            Batch x;
            assert_int_equal(batches_get(b, i, &x), 0);
            for (size_t j = 0; j < x.N; j++)
                first += place(x.input[j], x.target[j]) == 50 && x.position[j] == 0;
        }
    }
    /* binomial: 100 +- 4 sqrt(800 * 1/8 * 7/8) */
    assert_true(fabs((double)first - 100) <= 4 * 9.36);
    batches_free(b);
    text_free(&t);
}

TEST(test_refused_batches)
{
    Vocab v = {.eos = 0};
    int32_t eos[3] = {0};
    Text t = text_for(CONTEXT_STREAM, 8, 100), blank = {.file = "blank", .id = eos, .tokens = 3};
    Batches *b;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, 33, 5, &b), ERR_INPUT);
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, 0, 5, &b), ERR_INPUT);
    assert_int_equal(batches_new(&t, &v, 2, 32, 8, 5, &b), ERR_MISUSE);
    assert_int_equal(batches_new(&blank, &v, CONTEXT_SENTENCE, 32, 8, 5, &b), ERR_INPUT);
    assert_non_null(strstr(error_text(), "blank"));
    assert_null(b);
    assert_int_equal(batches_new(&blank, &v, CONTEXT_STREAM, 32, 8, 5, &b), 0);
    assert_int_equal(batches_count(b), 1);
    batches_free(b);
    text_free(&t);
}

static int job_batches(void)
{
    int32_t id[] = {1, 2, 0, 1, 0};
    Text t = {.file = "text", .id = id, .tokens = 5};
    Vocab v = {.eos = 0};
    Batches *b;
    TRY(batches_new(&t, &v, CONTEXT_SENTENCE, 8, 4, 1, &b));
    batches_free(b);
    return 0;
}

TEST(test_failing_allocator)
{
    assert_true(fail_each(job_batches, ERR_MEMORY) >= 10);
}

/* An epoch and its batches allocate nothing. */
TEST(test_no_allocation)
{
    Vocab v = {.eos = 0};
    Text t = text_for(CONTEXT_STREAM, 8, 100);
    Batches *b;
    Batch x;
    assert_int_equal(batches_new(&t, &v, CONTEXT_STREAM, 32, 8, 5, &b), 0);
    size_t before = memory_calls();
    batches_epoch(b, 1);
    assert_int_equal(batches_get(b, 0, &x), 0);
    assert_true(memory_calls() == before);
    batches_free(b);
    text_free(&t);
}

TEST_MAIN(scratch_open, scratch_close)
