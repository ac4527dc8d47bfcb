/* test_batches.c: the windows of an epoch are the text, with each token once. Their order is a function of (seed,
 * epoch). */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "nn/text/corpus.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

enum { TOKENS = 5000 };

static int blank_at(const Text *t, size_t i)
{
    return t->id[i] == 0 && (i == 0 || t->id[i - 1] == 0);
}

/* Returns the place of the target after `input`, or SIZE_MAX where a blank line makes it unclear. */
static size_t place(int32_t input, int32_t target)
{
    return target ? (size_t)target - 1 : input ? (size_t)input : SIZE_MAX;
}

/* Returns where a line begins. */
static size_t line_at(const Text *t, size_t line)
{
    size_t i = 0;
    while (line > 0) line -= t->id[i++] == 0;
    return i;
}

/* Returns the length of the source of sequence s, which is a whole line whose first target is at place `at`; 0 where the
 * source is not the same whole line. */
static size_t sound_source(const Batch *b, size_t s, const Text *t, const Text *source, size_t at)
{
    size_t from = b->source.start[s], length = b->source.start[s + 1] - from, line = 0;
    if (b->source.start[s + 1] <= from || b->source.start[s + 1] > b->source.N) return 0;
    if (b->input[b->start[s]] != 0 || b->target[b->start[s + 1] - 1] != 0) return 0;
    for (size_t i = 0; i < at; i++) line += t->id[i] == 0;
    for (size_t j = 0, i = line_at(source, line); j < length; j++, i++) {
        int32_t x = b->source.input[from + j];
        if (x != source->id[i] || (x == 0) != (j + 1 == length)) return 0;
        if (b->source.position[from + j] != (int32_t)j) return 0;
    }
    return length;
}

/* Returns 1 for a sound batch; seen (tokens) counts the targets. */
static int sound(const Batch *b, const Text *t, const Text *source, int context, size_t most,
                 size_t T, uint8_t *seen)
{
    size_t longest = 0, longest_source = 0;
    if (b->start[0] != 0 || b->start[b->S] != b->N || b->N > most || b->N == 0) return 0;
    if (context == CONTEXT_STREAM && b->S > most / T) return 0;
    if (source && (b->source.start[0] != 0 || b->source.start[b->S] != b->source.N)) return 0;
    if (source && b->source.N > most) return 0;
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
        if (!source) continue;
        length = sound_source(b, s, t, source, place(b->input[from], b->target[from]));
        if (length == 0) return 0;
        if (length > longest_source) longest_source = length;
    }
    return longest == b->longest && (!source || longest_source == b->source.longest);
}

/* Returns 1 where the epoch's batches are sound and together predict every token (except blank lines) once. */
static int covers(Batches *b, const Text *t, const Text *source, int context, size_t most, size_t T)
{
    SCOPED(memory_drop) uint8_t *seen = memory_new(t->tokens, 1);
    int good = 1;
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        good &= batches_get(b, i, &x) == 0 && sound(&x, t, source, context, most, T, seen);
        good &= batches_tokens(b, i) == x.N;
    }
    for (size_t i = 0; i < t->tokens; i++) {
        int skip = context == CONTEXT_SENTENCE && blank_at(t, i);
        good &= seen[i] == !skip;
    }
    return good;
}

static const size_t lengths[] = {1, 2, 7, 64, 300, 5000, 100000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* Makes a text for the context. A stream cannot tell blank lines apart, so its text has none. */
static Text text_for(int context, uint64_t seed, size_t tokens)
{
    Text t = tiny_placed(seed, tokens);
    for (size_t i = 0; context == CONTEXT_STREAM && i < tokens; i++)
        if (blank_at(&t, i)) t.id[i] = (int32_t)i + 1;
    return t;
}

static const Vocab words = {.eos = 0};

static Batches *batches_of(const Text *t, const Text *source, int context, size_t most, size_t T,
                           uint64_t seed)
{
    Batches *b;
    if (batches_new(t, source, &words, NULL, context, most, T, seed, &b) != 0)
        fail_msg("%s", error_text());
    return b;
}

static Batch batch_at(Batches *b, size_t i)
{
    Batch x;
    assert_int_equal(batches_get(b, i, &x), 0);
    return x;
}

TEST(test_batches_cover)
{
    static const size_t sizes[] = {1, 2, 63, TOKENS};
    for (int context = 0; context < 2; context++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (size_t l = 0; l < 2 * LENGTHS; l++) {
                size_t T = lengths[l / 2], most = l % 2 ? 3 * T + 1 : T;
                if (sizes[k] == 1 && context == CONTEXT_SENTENCE) continue; /* one blank line */
                OWN_TEXT t = text_for(context, 8, sizes[k]);
                OWN_BATCHES *b = batches_of(&t, NULL, context, most, T, 5);
                assert_true(covers(b, &t, NULL, context, most, T));
                for (long epoch = 3; epoch >= -1; epoch--) {
                    batches_epoch(b, epoch);
                    assert_true(covers(b, &t, NULL, context, most, T));
                }
            }
}

/* The checkers see a wrong token, place or border, and a batch left out. */
TEST(test_batches_control)
{
    OWN_TEXT t = text_for(CONTEXT_STREAM, 8, TOKENS);
    OWN_BATCHES *b = batches_of(&t, NULL, CONTEXT_STREAM, 128, 32, 5);
    static uint8_t seen[TOKENS];
    Batch x;
    for (int spoil = 0; spoil < 6; spoil++) {
        x = batch_at(b, 1);
        if (spoil == 1) x.input[3]++;
        if (spoil == 2) x.target[3] = x.target[4];
        if (spoil == 3) x.position[32] = 32;
        if (spoil == 4) x.start[1]++;
        if (spoil == 5) x.longest--;
        assert_int_equal(sound(&x, &t, NULL, CONTEXT_STREAM, 128, 32, seen), spoil == 0);
    }
    uint8_t missed = 0;
    memset(seen, 0, TOKENS);
    for (size_t i = 1; i < batches_count(b); i++) {
        x = batch_at(b, i);
        sound(&x, &t, NULL, CONTEXT_STREAM, 128, 32, seen);
    }
    for (size_t i = 0; i < TOKENS; i++) missed |= !seen[i];
    assert_true(missed);
    assert_int_equal(batches_get(b, batches_count(b), &x), ERR_MISUSE);
}

/* In evaluation the targets one after another are the text, and the inputs are the text after a first <eos>. This
 * holds on real text; a stream comes in blocks of T, batch_tokens / T at a time. */
TEST(test_evaluation)
{
    OWN_CORPUS c;
    assert_int_equal(corpus_choose("kjv", &(CorpusChoice){LEVEL_WORD, 0, 0}, &c), 0);
    const Text *t = &c.text[SPLIT_VALID];
    for (int context = 0; context < 2; context++) {
        OWN_BATCHES *b;
        Batch x;
        size_t at = 0;
        assert_int_equal(batches_new(t, NULL, &c.vocab, NULL, context, 1000, 70, 1, &b), 0);
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
    }
}

/* Returns a number for an epoch's batches in their order. */
static uint64_t epoch_sum(Batches *b, long epoch)
{
    uint64_t h = 1;
    batches_epoch(b, epoch);
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        assert_int_equal(batches_get(b, i, &x), 0);
        for (size_t j = 0; j < x.N; j++)
            h = (h ^ (uint64_t)(x.target[j] + 7 * x.position[j])) * UINT64_C(0x9e3779b97f4a7c15);
        for (size_t j = 0; j < x.source.N; j++)
            h = (h ^ (uint64_t)x.source.input[j]) * UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ x.S) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return h;
}

/* An epoch's batches are a function of seed and epoch, and differ by both; those of evaluation, of neither. An epoch and
 * its batches allocate nothing. */
static void check_order(const Text *t, const Text *source, int context, size_t most, size_t T)
{
    OWN_BATCHES *a = batches_of(t, source, context, most, T, 5),
                *b = batches_of(t, source, context, most, T, 5),
                *d = batches_of(t, source, context, most, T, 6);
    uint64_t sum[6];
    size_t calls = memory_calls();
    for (long e = 0; e < 6; e++) sum[e] = epoch_sum(a, e);
    for (long e = 5; e >= 0; e--) assert_true(epoch_sum(b, e) == sum[e]);
    for (long e = 0; e < 6; e++) {
        assert_false(epoch_sum(d, e) == sum[e]);
        for (long f = 0; f < e; f++) assert_false(sum[e] == sum[f]);
    }
    assert_true(epoch_sum(a, -1) == epoch_sum(d, -1));
    assert_int_equal(memory_calls(), calls);
}

TEST(test_batches_order)
{
    for (int context = 0; context < 2; context++) {
        OWN_TEXT t = text_for(context, 8, TOKENS);
        check_order(&t, NULL, context, 256, 64);
    }
}

/* Returns the length of sequence s, source included. spread sums (longest - shortest) over the batches, less the
 * same for the whole epoch. Sorted by length it is <= 0: the batches' ranges do not overlap. */
static size_t length_of(const Batch *x, size_t s)
{
    size_t n = x->start[s + 1] - x->start[s];
    return x->source.N ? n + x->source.start[s + 1] - x->source.start[s] : n;
}

static long spread(Batches *b, long epoch)
{
    size_t low = SIZE_MAX, high = 0;
    long sum = 0;
    batches_epoch(b, epoch);
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        size_t shortest = SIZE_MAX, longest = 0;
        assert_int_equal(batches_get(b, i, &x), 0);
        for (size_t s = 0; s < x.S; s++) {
            size_t n = length_of(&x, s);
            if (n < shortest) shortest = n;
            if (n > longest) longest = n;
        }
        sum += (long)(longest - shortest);
        if (shortest < low) low = shortest;
        if (longest > high) high = longest;
    }
    return sum - (long)(high - low);
}

/* ---- pairs -------------------------------------------------------------------------------------- */

enum { LINES = 700, WORDS = 30, SIDE = 1 << 20 };

static size_t words_in(int side, size_t line)
{
    if (line % 97 == 5) return 0; /* blank on both sides */
    return 1 + (size_t)random_below(9, 3 + (uint64_t)side, line, WORDS);
}

/* Makes a text whose words name place and side; blank lines stand on both sides. */
static Text side_of(int side)
{
    Text t = {.file = memory_string(side ? "sources" : "targets"), .lines = LINES};
    t.id = memory_new(LINES * (WORDS + 1), sizeof *t.id);
    for (size_t line = 0; line < LINES; line++) {
        for (size_t j = words_in(side, line); j > 0; j--, t.tokens++)
            t.id[t.tokens] = (int32_t)(side * SIDE + 1 + (int)t.tokens);
        t.tokens++;
    }
    return t;
}

static int covers_pairs(Batches *b, const Text *t, const Text *source, size_t most)
{
    return covers(b, t, source, CONTEXT_SENTENCE, most, WORDS + 1);
}

/* Returns 1 where the pairs are in the texts' order and no batch had room for the next pair. */
static int filled_in_order(Batches *b, size_t most)
{
    size_t rows = most, source_rows = most;
    int32_t last = 0;
    int good = 1;
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        good &= batches_get(b, i, &x) == 0;
        good &= rows + x.start[1] > most || source_rows + x.source.start[1] > most;
        for (size_t s = 0; s < x.S; last = x.target[x.start[s++]])
            good &= x.target[x.start[s]] > last;
        rows = x.N;
        source_rows = x.source.N;
    }
    return good;
}

static Batches *pairs_of(const Text *t, const Text *s, size_t most)
{
    return batches_of(t, s, CONTEXT_SENTENCE, most, WORDS + 1, 5);
}

TEST(test_pairs_stay_together)
{
    static const size_t most[] = {WORDS + 1, 64, 500, 1000000};
    OWN_TEXT t = side_of(0), s = side_of(1);
    for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
        OWN_BATCHES *b = pairs_of(&t, &s, most[k]);
        assert_true(covers_pairs(b, &t, &s, most[k]) && filled_in_order(b, most[k]));
        for (long epoch = 3; epoch >= -1; epoch--) {
            batches_epoch(b, epoch);
            assert_true(covers_pairs(b, &t, &s, most[k]));
            assert_true(epoch < 0 ? filled_in_order(b, most[k]) : spread(b, epoch) <= 0);
        }
    }
}

/* The checkers see errors in sources. */
TEST(test_pairs_control)
{
    OWN_TEXT t = side_of(0), s = side_of(1);
    OWN_BATCHES *spoilt = pairs_of(&t, &s, 200), *b = pairs_of(&t, &s, 200);
    static uint8_t seen[LINES * (WORDS + 1)];
    for (int spoil = 0; spoil < 8; spoil++) {
        Batch x = batch_at(spoilt, 1);
        assert_true(x.S > 2);
        size_t second = x.source.start[1], last = x.source.N - 1;
        if (spoil == 1) x.source.input[second]++;
        if (spoil == 2) x.source.start[1]++;
        if (spoil == 3) x.source.position[second] = 1;
        if (spoil == 4) x.source.longest++;
        if (spoil == 5) x.source.input[last] = x.source.input[last - 1]; /* without <eos> */
        if (spoil == 6) x.source.N--;
        if (spoil == 7) x.source.start++; /* each target with the next one's source */
        assert_int_equal(sound(&x, &t, &s, CONTEXT_SENTENCE, 200, WORDS + 1, seen), spoil == 0);
    }
    s.id[0]++; /* one word of the source text is wrong */
    assert_true(covers_pairs(b, &t, &s, 200));
    OWN_TEXT other = side_of(1);
    assert_false(covers_pairs(b, &t, &other, 200));
    assert_false(covers_pairs(b, &t, &s, 150)); /* more rows than that */
    assert_false(filled_in_order(b, 400));      /* more would fit into that */
}

TEST(test_pairs_order)
{
    OWN_TEXT t = side_of(0), s = side_of(1);
    check_order(&t, &s, CONTEXT_SENTENCE, 200, WORDS + 1);
    OWN_BATCHES *a = pairs_of(&t, &s, 200);
    uint64_t whole = epoch_sum(a, -1);
    s.id[0]++; /* control: the sum reads sources */
    assert_false(epoch_sum(a, -1) == whole);
}

/* A text alone gives the same batches without a source, whether there is no source text or one without tokens. */
TEST(test_no_source)
{
    Text none = {0};
    OWN_TEXT t = text_for(CONTEXT_SENTENCE, 8, TOKENS);
    OWN_BATCHES *a = batches_of(&t, NULL, CONTEXT_SENTENCE, 256, 64, 5),
                *b = batches_of(&t, &none, CONTEXT_SENTENCE, 256, 64, 5);
    for (long e = -1; e < 2; e++) assert_true(epoch_sum(a, e) == epoch_sum(b, e));
    Batch x = batch_at(b, 0);
    assert_true(x.source.N == 0 && !x.source.start && !x.source.input && !x.source.position);
}

TEST(test_refused_batches)
{
    int32_t four[] = {1, 0, 1, 2, 3, 0}, two[] = {1, 0, 2, 0}, blank[] = {1, 0, 0}, eos[] = {0, 0};
    Text a = {.file = "four", .id = four, .tokens = 6, .lines = 2};
    Text b = {.file = "two", .id = two, .tokens = 4, .lines = 2};
    Text c = {.file = "blank", .id = blank, .tokens = 3, .lines = 2};
    Text e = {.file = "no word", .id = eos, .tokens = 2, .lines = 2};
    const struct {
        const Text *target, *source;
        int context;
        size_t T;
        const char *says;
    } row[] = {
        {&a, NULL, CONTEXT_STREAM, 8, NULL},
        {&a, NULL, CONTEXT_STREAM, 9, ""}, /* more than a batch */
        {&a, NULL, CONTEXT_STREAM, 0, ""},
        {&a, NULL, 2, 8, ""},
        {&e, NULL, CONTEXT_SENTENCE, 4, "no word"},
        {&e, NULL, CONTEXT_STREAM, 4, NULL},
        {&a, &b, CONTEXT_SENTENCE, 4, NULL},
        {&b, &a, CONTEXT_SENTENCE, 4, NULL},
        {&a, &b, CONTEXT_SENTENCE, 3, "two:2 has 2 tokens and four:2 has 4, <eos> included"},
        {&b, &a, CONTEXT_SENTENCE, 3, "four:2 has 4 tokens and two:2 has 2, <eos> included"},
        {&a, &b, CONTEXT_STREAM, 4, "two and four are pairs of sentences"},
        {&a, &c, CONTEXT_SENTENCE, 4, "blank:2 is blank and four:2 is not"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_BATCHES *x;
        int code = batches_new(row[i].target, row[i].source, &words, NULL, row[i].context, 8,
                               row[i].T, 1, &x);
        int refusal = row[i].context > CONTEXT_SENTENCE ? ERR_MISUSE : ERR_INPUT;
        assert_int_equal(code, row[i].says ? refusal : 0);
        assert_true(!row[i].says || strstr(error_text(), row[i].says));
        assert_int_equal(x == NULL, code != 0);
        if (row[i].target == &e && x) assert_int_equal(batches_count(x), 1);
    }
}

TEST(test_failing_allocator)
{
    int32_t id[] = {1, 2, 0, 1, 0};
    Text t = {.file = "text", .id = id, .tokens = 5, .lines = 2};
    for (int two = 0; two < 2; two++)
        assert_true(FAILURES(ERR_MEMORY, OWN_BATCHES *b = NULL;
                             code = batches_new(&t, two ? &t : NULL, &words, NULL, CONTEXT_SENTENCE,
                                                8, 4, 1, &b)) >= 10 + 3 * two);
}

TEST_MAIN(scratch_open, scratch_close)
