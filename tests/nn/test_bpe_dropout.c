/* test_bpe_dropout.c: how often words are cut how, with dropped merges, against probabilities that a slow program sums
 * over all draws (Provilkov, Emelianenko, Voita 2020, algorithm 1), for subwords and for a tokenizer. */
#include "tests/lib/test.h"

#include "nn/text/text.h"
#include "tests/lib/tiny.h"

enum { WORDS = 20000, CUTS = 64, LETTERS = 8, CUT = 32 };

/* x ends every word and is in no merge. */
static const char *const merges[][2] = {
    {"a", "b"}, {"b", "a"}, {"ab", "ab"}, {"a", "a"}, {"aa", "b"}};
enum { MERGES = sizeof merges / sizeof *merges };
static const char codes[] = "#version: 0.2\na b\nb a\nab ab\na a\naa b\n";
static const char json[] =
    "{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": \"BPE\", \"vocab\": "
    "{\"a\": 0, \"b\": 1, \"x\": 2, \"ab\": 3, \"ba\": 4, \"abab\": 5, \"aa\": 6, \"aab\": 7}, "
    "\"merges\": [\"a b\", \"b a\", \"ab ab\", \"a a\", \"aa b\"]}}";

/* Cuts of a word, "a ab x " for a, ab, x. */
typedef struct {
    size_t count;
    char cut[CUTS][CUT];
    double p[CUTS];
} Table;

static void add(Table *t, const char *cut, double p)
{
    size_t i = 0;
    while (i < t->count && strcmp(t->cut[i], cut) != 0) i++;
    if (i == t->count) assert_true(t->count++ < CUTS), strcpy(t->cut[i], cut);
    t->p[i] += p;
}

/* Adds all that can come of n symbols, which have probability q. */
static void follow(Table *t, char symbol[LETTERS][LETTERS], size_t n, double p, double q)
{
    double left = q; /* that all merges so far were dropped */
    for (size_t m = 0; m < MERGES; m++)
        for (size_t i = 0; i + 1 < n; i++) {
            char next[LETTERS][LETTERS];
            if (strcmp(symbol[i], merges[m][0]) || strcmp(symbol[i + 1], merges[m][1])) continue;
            memcpy(next, symbol, sizeof next);
            strcat(next[i], symbol[i + 1]);
            memmove(next + i + 1, symbol + i + 2, (n - i - 2) * sizeof *next);
            follow(t, next, n - 1, p, left * (1 - p));
            left *= p;
        }
    char cut[CUT] = "";
    for (size_t i = 0; i < n; i++) strcat(strcat(cut, symbol[i]), " ");
    add(t, cut, left);
}

static void expected(Table *t, const char *word, double p)
{
    char symbol[LETTERS][LETTERS] = {{0}};
    for (size_t i = 0; word[i]; i++) symbol[i][0] = word[i];
    memset(t, 0, sizeof *t);
    follow(t, symbol, strlen(word), p, 1);
}

static char *many(const char *word)
{
    char *text = memory_new(WORDS, LETTERS + 1), *p = text;
    for (int i = 0; i < WORDS; i++) p = stpcpy(stpcpy(p, word), " ");
    return text;
}

/* Counts the cuts of a text of one word: by subwords, or by a tokenizer. */
static void count(Table *t, const char *text, int tokens, BpeDrop drop)
{
    BpeText raw = {"text", text, strlen(text), 0};
    char cut[CUT] = "";
    memset(t, 0, sizeof *t);
    if (tokens) {
        Tokenizer *k;
        SCOPED(memory_drop) int32_t *id = NULL;
        size_t n = 0;
        assert_int_equal(tokenizer_parse("json", json, sizeof json - 1, &k), 0);
        assert_int_equal(tokenizer_encode(k, &drop, "text", text, raw.count, &id, &n), 0);
        for (size_t i = 0; i < n; i++) {
            strcat(strcat(cut, tokenizer_name(k, (size_t)id[i])), " ");
            if (id[i] == 2) add(t, cut, 1), *cut = '\0';
        }
        tokenizer_free(k);
    } else {
        OWN_BPE *b;
        OWN_BYTES *out;
        size_t n;
        assert_int_equal(bpe_parse("codes", codes, sizeof codes - 1, &b), 0);
        assert_int_equal(bpe_apply(b, &drop, &raw, &out, &n), 0);
        out[n] = '\0';
        for (char *p = strtok(out, " "); p; p = strtok(NULL, " ")) {
            strcat(strncat(cut, p, strcspn(p, "@")), " ");
            if (!strchr(p, '@')) add(t, cut, 1), *cut = '\0';
        }
    }
}

/* Returns the largest difference of a count from what is expected, in standard deviations. */
static double farthest(const Table *is, const Table *e)
{
    double most = 0;
    for (size_t i = 0; i < e->count; i++) {
        double n = 0, q = e->p[i];
        for (size_t k = 0; k < is->count; k++)
            if (strcmp(is->cut[k], e->cut[i]) == 0) n = is->p[k];
        double d = fabs(n - WORDS * q) / sqrt(WORDS * q * (1 - q) + 1e-9);
        most = d <= most ? most : d;
    }
    for (size_t k = 0; k < is->count; k++) {
        size_t i = 0;
        while (i < e->count && strcmp(e->cut[i], is->cut[k]) != 0) i++;
        if (i == e->count) return INFINITY; /* a cut that cannot be */
    }
    return most;
}

TEST(cuts_are_as_frequent_as_expected)
{
    static const char *const word[] = {"abx", "ababx", "aababx", "baabx"};
    static const double p[] = {0, 0.1, 0.5, 0.9, 1};
    for (size_t w = 0; w < 4; w++) {
        OWN_BYTES *text = many(word[w]);
        for (size_t i = 0; i < 5; i++)
            for (int tokens = 0; tokens < 2; tokens++) {
                Table is, e;
                count(&is, text, tokens, (BpeDrop){.p = p[i], .seed = 7, .stream = 3});
                expected(&e, word[w], p[i]);
                double far = farthest(&is, &e);
                if (!(far < 4.5)) fail_msg("%s, p %g, %d: %g", word[w], p[i], tokens, far);
                expected(&e, word[w], p[i] > 0.5 ? p[i] - 0.03 : p[i] + 0.03);
                assert_true(farthest(&is, &e) > 4.5); /* another p is seen */
            }
    }
}

/* Draws are a function of seed, stream and place. */
TEST(drawn_by_place)
{
    const BpeText text = {"text", "ababx aababx ababx ababx ababx ababx", 36, 0};
    OWN_BPE *b;
    char *cut[4];
    size_t n;
    assert_int_equal(bpe_parse("codes", codes, sizeof codes - 1, &b), 0);
    for (int i = 0; i < 4; i++) {
        BpeDrop d = {.p = 0.5, .seed = 1 + (i == 2), .stream = i == 3};
        assert_int_equal(bpe_apply(b, &d, &text, &cut[i], &n), 0);
        assert_int_equal(d.word, 6);
    }
    assert_string_equal(cut[0], cut[1]);
    assert_string_not_equal(cut[0], cut[2]);
    assert_string_not_equal(cut[0], cut[3]);
    for (int i = 0; i < 4; i++) memory_free(cut[i]);
}

/* Each epoch has other cuts, the same ones again; whoever reads the pieces as words has the same text. */
TEST(epochs_differ)
{
    CorpusChoice w = {.merges = 20, .dropout = 0.2, .untested = 1, .eval_tokens = 100};
    OWN_CORPUS c;
    Corpus cut[3];
    assert_int_equal(corpus_choose("kjv", &w, &c), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(corpus_recut(&c, 1, 1 + i / 2, 64, &cut[i]), 0);
    const Text *t[] = {&c.text[SPLIT_TRAIN], &cut[0].text[SPLIT_TRAIN], &cut[1].text[SPLIT_TRAIN],
                       &cut[2].text[SPLIT_TRAIN]};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(t[i]->tokens - t[i]->goes_on, t[0]->tokens - t[0]->goes_on);
        assert_int_equal(t[i]->unknown, 0);
        assert_true(i == 0 || t[i]->tokens > t[0]->tokens + t[0]->tokens / 50);
    }
    assert_int_equal(t[1]->tokens, t[2]->tokens);
    assert_memory_equal(t[1]->id, t[2]->id, t[1]->tokens * sizeof *t[1]->id);
    assert_true(t[1]->tokens != t[3]->tokens ||
                memcmp(t[1]->id, t[3]->id, t[1]->tokens * sizeof *t[1]->id) != 0);
    for (int i = 0; i < 3; i++) corpus_recut_free(&cut[i]);
}

TEST_MAIN(NULL, NULL)
