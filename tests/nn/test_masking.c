/* test_masking.c: the words that an encoder is asked, and their sequences: counts against binomial bounds, every row
 * against its text and labels. */
#include "tests/lib/test.h"

#include "nn/text/corpus.h"
#include "nn/text/masking.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

enum { TOKENS = 3000, MANY = 1000000, WORDS = 5000 };

/* Makes ids 0 (<eos>) .. WORDS - 1, then <cls> and <mask>. */
static Vocab vocab_of(size_t words)
{
    return (Vocab){
        .size = words + 2, .unk = -1, .first = (int32_t)words, .mask = (int32_t)words + 1};
}

/* ---- the words -------------------------------------------------------------------------------------- */

typedef struct {
    double chosen, mask, same, other, end;
} Counts;

static Counts count(const Vocab *v, uint64_t seed, long epoch)
{
    Counts n = {0};
    for (size_t i = 0; i < MANY; i++) {
        int32_t id = i % 10 == 9 ? v->eos : (int32_t)(1 + i % 7), input;
        int chosen = masking_draw(v, seed, epoch, i, id, &input);
        n.end += chosen && id == v->eos;
        n.chosen += chosen;
        n.mask += chosen && input == v->mask;
        n.same += chosen && input == id;
        n.other += chosen && input != v->mask && input != id;
        if (!chosen) assert_int_equal(input, id);
    }
    return n;
}

/* Tells whether |k - n p| is within 5 standard deviations of a binomial. One case in two million is outside. */
static int binomial(double k, double n, double p)
{
    return fabs(k - n * p) <= 5 * sqrt(n * p * (1 - p));
}

/* The shares of training are right. A drawn word is the same by chance once in WORDS times. */
TEST(shares_of_training)
{
    Vocab v = vocab_of(WORDS);
    for (long epoch = 1; epoch <= 3; epoch++) {
        Counts n = count(&v, 7, epoch);
        double asked = 0.9 * MANY, by_chance = 0.1 / WORDS;
        assert_true(n.end == 0);
        assert_true(binomial(n.chosen, asked, 0.15));
        assert_true(binomial(n.mask, n.chosen, 0.8));
        assert_true(binomial(n.other, n.chosen, 0.1 - by_chance));
        assert_true(binomial(n.same, n.chosen, 0.1 + by_chance));
        /* The bound is narrow enough to see a share that is some percents off. */
        assert_false(binomial(n.chosen, asked, 0.154));
        assert_false(binomial(n.mask, n.chosen, 0.82));
        assert_false(binomial(n.other, n.chosen, 0.105));
    }
}

TEST(masks_of_evaluation)
{
    Vocab v = vocab_of(WORDS);
    Counts n = count(&v, 1, -1), other = count(&v, 2, -1);
    assert_true(binomial(n.chosen, 0.9 * MANY, 0.15));
    assert_true(n.mask == n.chosen);
    assert_memory_equal(&n, &other, sizeof n); /* the seed plays no part */
}

/* ---- sequences ---------------------------------------------------------------------------------------- */

static const Vocab all_words = {.size = WORDS + 2, .unk = -1, .first = WORDS, .mask = WORDS + 1};

static Batches *open_asked(const Text *t, const Text *second, const Vocab *v, Asking ask,
                           int context, size_t most, size_t T)
{
    Batches *b;
    assert_int_equal(batches_new(t, second, v, &ask, context, most, T, 5, &b), 0);
    return b;
}

/* Returns the token of row r, hidden or not. */
static int32_t token_of(const Batch *x, size_t r)
{
    for (size_t k = 0; k < x->asked.count; k++)
        if ((size_t)x->asked.row[k] == r) return x->asked.word[k];
    return x->input[r];
}

/* Returns 1 for a sound batch: sequences begin with <cls>, the other rows are a run of the text, and each answer is the
 * text's word. */
static int sound(const Batch *x, const Text *t, const Vocab *v, size_t most, size_t T, int lines,
                 uint8_t *seen)
{
    if (x->N > most || x->start[x->S] != x->N || x->target || !x->asked.masked) return 0;
    for (size_t k = 0; k < x->asked.count; k++)
        if (x->asked.word[k] == v->eos || (k && x->asked.row[k] <= x->asked.row[k - 1])) return 0;
    for (size_t s = 0; s < x->S; s++) {
        size_t from = x->start[s], n = x->start[s + 1] - from;
        if (n < 2 || n > T || n > x->longest || x->input[from] != v->first) return 0;
        size_t at = SIZE_MAX; /* place in the text of row from + 1 */
        for (size_t j = 1; j < n; j++)
            if (token_of(x, from + j)) at = (size_t)token_of(x, from + j) - j;
        for (size_t j = 0; j < n; j++) {
            if (x->position[from + j] != (int32_t)j) return 0;
            if (j == 0 || at == SIZE_MAX) continue; /* only ends of lines: unclear where */
            if (token_of(x, from + j) != t->id[at + j - 1]) return 0;
            if (lines && j > 1 && t->id[at + j - 2] == 0) return 0;
            if (seen) seen[at + j - 1]++;
        }
    }
    return 1;
}

static const struct {
    int context;
    size_t most, T;
} shapes[] = {{CONTEXT_STREAM, 64, 64},   {CONTEXT_STREAM, 500, 20},   {CONTEXT_STREAM, 7, 2},
              {CONTEXT_SENTENCE, 64, 64}, {CONTEXT_SENTENCE, 500, 20}, {CONTEXT_SENTENCE, 9, 3}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void check_epoch(Batches *b, const Text *t, const Vocab *v, int shape)
{
    uint8_t seen[TOKENS] = {0};
    int lines = shapes[shape].context == CONTEXT_SENTENCE;
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        assert_int_equal(batches_get(b, i, &x), 0);
        assert_int_equal(batches_tokens(b, i), x.N);
        assert_int_equal(batches_asked(b, i), x.asked.count);
        assert_int_equal(batch_asked(&x), x.asked.count);
        assert_true(sound(&x, t, v, shapes[shape].most, shapes[shape].T, lines, seen));
        x.input[x.start[0]] = 1; /* control: a sequence without <cls> is seen */
        assert_false(sound(&x, t, v, shapes[shape].most, shapes[shape].T, lines, NULL));
    }
    for (size_t i = 0; i < TOKENS; i++) assert_int_equal(seen[i] > 0, seen[i] == 1);
    for (size_t i = 0; i < TOKENS; i++)
        if (t->id[i]) assert_int_equal(seen[i], 1);
}

static Batches *open_shape(const Text *t, Asking ask, int k)
{
    return open_asked(t, NULL, &all_words, ask, shapes[k].context, shapes[k].most, shapes[k].T);
}

/* The words that are asked do not depend on how the text is cut into batches and sequences. */
TEST(every_word_stands_once_in_an_epoch)
{
    OWN_TEXT t = tiny_placed(3, TOKENS);
    static uint8_t asked[SHAPES][TOKENS + 1];
    for (int k = 0; k < SHAPES; k++) {
        OWN_BATCHES *b = open_shape(&t, (Asking){.what = ASK_MASKED}, k);
        memset(asked[k], 0, sizeof asked[k]);
        batches_epoch(b, 2);
        for (size_t i = 0; i < batches_count(b); i++) {
            Batch x;
            assert_int_equal(batches_get(b, i, &x), 0);
            for (size_t j = 0; j < x.asked.count; j++) asked[k][x.asked.word[j]] = 1;
        }
        assert_memory_equal(asked[k], asked[0], sizeof asked[k]);
        for (long epoch = -1; epoch < 4; epoch++) {
            batches_epoch(b, epoch);
            check_epoch(b, &t, &all_words, k);
        }
    }
}

TEST(masks_one_by_one)
{
    OWN_TEXT t = tiny_placed(3, TOKENS);
    for (int k = 0; k < SHAPES; k++) {
        OWN_BATCHES *b = open_shape(&t, (Asking){.what = ASK_MASKED, .each = 1}, k);
        uint8_t asked[TOKENS + 1] = {0};
        for (size_t i = 0; i < batches_count(b); i++) {
            Batch x;
            assert_int_equal(batches_get(b, i, &x), 0);
            assert_int_equal(x.asked.count, x.S);
            assert_int_equal(batches_asked(b, i), x.S);
            assert_true(sound(&x, &t, &all_words, shapes[k].most, shapes[k].T, 0, NULL));
            for (size_t s = 0; s < x.S; s++) {
                size_t row = (size_t)x.asked.row[s];
                assert_true(row >= x.start[s] && row < x.start[s + 1]);
                assert_int_equal(x.input[row], all_words.mask);
                asked[x.asked.word[s]]++;
            }
        }
        for (size_t i = 0; i < TOKENS; i++)
            assert_int_equal(asked[i + 1], t.id[i] == (int32_t)i + 1);
    }
}

/* ---- labels -------------------------------------------------------------------------------- */

/* Makes a text of lines with the given lengths. Word k of line i is 1 + 10 i + k. */
static Text lines_of(size_t n, const size_t *length)
{
    Text t = {.file = memory_string("lines"), .lines = n};
    for (size_t i = 0; i < n; i++) t.tokens += length[i] + 1;
    t.id = memory_new(t.tokens, sizeof *t.id);
    for (size_t i = 0, at = 0; i < n; i++, at++)
        for (size_t k = 0; k < length[i]; k++) t.id[at++] = (int32_t)(1 + 10 * i + k);
    return t;
}

/* Labels of lines are as by hand: T = 6 leaves 5 rows for both lines with their <eos>. */
TEST(labels_of_lines)
{
    static const size_t first[] = {1, 3, 6, 2}, second[] = {1, 1, 1, 5};
    static const int32_t label[] = {2, 0, 1, 1};
    static const int32_t alone[][7] = {
        {60, 1, 0}, {60, 11, 12, 13, 0}, {60, 21, 22, 23, 24, 0}, {60, 31, 32, 0}};
    static const int32_t both[][7] = {
        {60, 1, 0, 1, 0}, {60, 11, 12, 0, 11, 0}, {60, 21, 22, 0, 21, 0}, {60, 31, 0, 31, 32, 0}};
    static const size_t alone_rows[] = {3, 5, 6, 4}, both_rows[] = {5, 6, 6, 6};
    OWN_TEXT t = lines_of(4, first), s = lines_of(4, second);
    Vocab v = vocab_of(60);
    Asking ask = {.what = ASK_LABEL, .label = label};
    for (int two = 0; two < 2; two++) {
        OWN_BATCHES *b = open_asked(&t, two ? &s : NULL, &v, ask, CONTEXT_SENTENCE, 100, 6);
        Batch x;
        assert_int_equal(batches_count(b), 1);
        assert_int_equal(batches_get(b, 0, &x), 0);
        assert_int_equal(x.S, 4);
        assert_int_equal(batch_asked(&x), 4);
        assert_int_equal(batches_asked(b, 0), 4);
        for (size_t i = 0; i < 4; i++) {
            size_t n = x.start[i + 1] - x.start[i];
            assert_int_equal(n, two ? both_rows[i] : alone_rows[i]);
            assert_memory_equal(x.input + x.start[i], two ? both[i] : alone[i],
                                n * sizeof *x.input);
            assert_int_equal(x.asked.label[i], label[i]);
        }
        batches_epoch(b, 1); /* in another order each line keeps its label */
        assert_int_equal(batches_get(b, 0, &x), 0);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(x.asked.label[i], label[x.input[x.start[i] + 1] / 10]);
    }
}

/* ---- words and errors ----------------------------------------------------------------------------------- */

TEST(marks_of_a_vocabulary)
{
    static const char text[] = "a b\nb\n", mark[] = "a <mask>\n";
    OWN_VOCAB v, taken;
    assert_int_equal(
        vocab_build(&(BpeText){.bytes = text, .count = strlen(text)}, 1, LEVEL_WORD, 0, 0, &v), 0);
    assert_int_equal(masking_check(&v, "f"), ERR_INPUT);
    size_t words = v.size;
    assert_int_equal(masking_words(&v), 0);
    assert_int_equal(v.size, words + 2);
    assert_string_equal(v.word[v.first], WORD_FIRST);
    assert_string_equal(v.word[v.mask], WORD_MASK);
    assert_int_equal(masking_check(&v, "f"), 0);
    assert_int_equal(masking_words(&v), ERR_INPUT); /* the words are there */
    assert_int_equal(
        vocab_build(&(BpeText){.bytes = mark, .count = strlen(mark)}, 1, LEVEL_WORD, 0, 0, &taken),
        0);
    assert_int_equal(masking_words(&taken), ERR_INPUT);
    assert_non_null(strstr(error_text(), "<mask>"));
}

TEST(what_is_refused)
{
    OWN_TEXT t = tiny_placed(3, TOKENS);
    const Vocab none = {.size = WORDS, .first = -1, .mask = -1};
    const struct {
        const Vocab *v;
        const Text *second;
        Asking ask;
        size_t T;
    } row[] = {{&none, NULL, {.what = ASK_MASKED}, 64},
               {&all_words, NULL, {.what = ASK_MASKED}, 1},
               {&all_words, &t, {.what = ASK_MASKED}, 64}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Batches *b;
        assert_int_equal(batches_new(&t, row[i].second, row[i].v, &row[i].ask, CONTEXT_STREAM, 64,
                                     row[i].T, 1, &b),
                         ERR_INPUT);
    }
}

/* A failing allocation leaves nothing allocated. */
TEST(nothing_leaks)
{
    OWN_TEXT t = tiny_placed(3, TOKENS);
    for (int each = 0; each < 2; each++) {
        Asking ask = {.what = ASK_MASKED, .each = each};
        assert_true(FAILURES(ERR_MEMORY, OWN_BATCHES *b = NULL;
                             code = batches_new(&t, NULL, &all_words, &ask, CONTEXT_STREAM, 64, 16,
                                                1, &b)) >= 5);
    }
}

TEST_MAIN(NULL, NULL)
