/* test_tokenizer.c: tokens of texts of many scripts are those that the library `tokenizers` 0.23.2 gives for the same
 * tokenizer.json (tests/foreign/ids.json: 49 texts for each; test_bpe_dropout.c has the order of merges). Byte-level merges
 * learned from drawn texts are those of a slow program that counts all pairs anew for every merge; a text comes back from
 * its tokens. */
#include "tests/lib/test.h"

#include <jansson.h>

#include "kernels/error.h"
#include "nn/text/tokenizer_steps.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"
#include "tests/nn/slow_bpe.h"

#define OWN_IDS SCOPED(memory_drop) int32_t
#define OWN_TOKENIZER SCOPED(tokenizer_drop) Tokenizer

static Tokenizer *read_tokenizer(const char *type)
{
    char file[128];
    Tokenizer *t;
    snprintf(file, sizeof file, "tests/foreign/%s/tokenizer.json", type);
    if (tokenizer_read(file, &t) != 0) fail_msg("%s", error_text());
    return t;
}

static int same(const json_t *ids, const int32_t *id, size_t n)
{
    int is = json_array_size(ids) == n;
    for (size_t i = 0; i < n && is; i++)
        is = json_integer_value(json_array_get(ids, i)) == (json_int_t)id[i];
    return is;
}

TEST(tokens_are_those_of_the_library)
{
    json_error_t e;
    json_t *all = json_load_file("tests/foreign/ids.json", 0, &e), *lists;
    if (!all) fail_msg("%s", e.text);
    json_t *texts = json_object_get(all, "texts");
    const char *type;
    size_t compared = 0;
    json_object_foreach (all, type, lists) {
        if (lists == texts) continue;
        OWN_TOKENIZER *t = read_tokenizer(type);
        for (size_t i = 0; i < json_array_size(texts); i++) {
            const char *text = json_string_value(json_array_get(texts, i));
            OWN_IDS *id = NULL;
            size_t n = 0;
            assert_int_equal(tokenizer_encode(t, NULL, "text", text, strlen(text), &id, &n), 0);
            if (!same(json_array_get(lists, i), id, n)) fail_msg("%s: '%s'", type, text);
            if (n) id[n / 2]++; /* a comparison that sees nothing would pass */
            assert_true(n == 0 || !same(json_array_get(lists, i), id, n));
            compared++;
        }
    }
    assert_true(compared >= 2 * 49);
    json_decref(all);
}

TEST(short_of_memory)
{
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 3, \"content\": \"<s>\"}], \"normalizer\": {\"type\": \"NFC\"}, "
        "\"pre_tokenizer\": {\"type\": \"Digits\", \"individual_digits\": true}, \"model\": {\"type\": "
        "\"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}";
    assert_true(FAILURES(ERR_MEMORY, OWN_TOKENIZER *t = NULL; OWN_IDS *id = NULL; size_t n = 0;
                         code = tokenizer_parse("json", json, sizeof json - 1, &t);
                         if (code == 0) code =
                             tokenizer_encode(t, NULL, "text", "ab<s>b1a", 8, &id, &n)) > 10);
}

/* A pattern that would search for ever gives up; one that is none is refused. */
TEST(patterns_of_strangers)
{
    static const char format[] =
        "{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"%s\"}, \"behavior\": "
        "\"Isolated\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}";
    char json[512], text[64];
    OWN_TOKENIZER *t, *none;
    OWN_IDS *id = NULL;
    size_t n = 0;
    int bytes = snprintf(json, sizeof json, format, "(a+)+$");
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 'b';
    assert_int_equal(tokenizer_parse("json", json, (size_t)bytes, &t), 0);
    assert_int_equal(tokenizer_encode(t, NULL, "text", text, sizeof text, &id, &n), ERR_INPUT);
    assert_non_null(strstr(error_text(), "pattern gives up"));
    bytes = snprintf(json, sizeof json, format, "(a");
    assert_int_equal(tokenizer_parse("json", json, (size_t)bytes, &none), ERR_INPUT);
    assert_non_null(strstr(error_text(), "pattern '(a'"));
}

/* ---- learning -------------------------------------------------------------------------------------------- */

enum { FIRST = 257, MOST = FIRST + 60, PIECES = 4000 };

static const char *const letters[][8] = {{"a", "b"}, {"a", "\xc3\xa4", "\xe4\xb8\xad", "b"}};

/* Symbols as bytes, by id; pieces as lists of ids. */
typedef struct {
    char symbol[MOST][4 * LONGEST + 2];
    size_t symbols;
    int32_t id[PIECES][2 * LONGEST * 4];
    size_t length[PIECES], pieces;
    int32_t merge[MOST][2];
    size_t merges;
} Slow;

/* Numbers a byte as the file does: printable ones in their order, then the others. */
static int32_t number_of(unsigned char byte)
{
    int32_t printable = 0, other = 0;
    for (int b = 0; b < 256; b++) {
        int plain = (b > 0x20 && b < 0x7f) || (b > 0xa0 && b != 0xad);
        if (b == byte) return 1 + (plain ? printable : 188 + other);
        *(plain ? &printable : &other) += 1;
    }
    return -1;
}

/* Cuts a text of letters, single blanks and ends of lines: a blank goes with the word behind it. */
static void cut_pieces(Slow *s, const char *text)
{
    s->pieces = 0;
    for (const char *p = text; *p;) {
        size_t n = *p == '\n' ? 1 : strcspn(p + 1, " \n") + 1, k = s->pieces++;
        assert_true(s->pieces < PIECES);
        s->length[k] = n;
        for (size_t i = 0; i < n; i++) s->id[k][i] = number_of((unsigned char)p[i]);
        p += n;
    }
}

/* Finds the most frequent pair; of equal ones the least (wrong: the greatest). Returns its count. */
static size_t best_pair(const Slow *s, int wrong, int32_t pair[2])
{
    static size_t count[MOST][MOST];
    size_t most = 0;
    memset(count, 0, sizeof count);
    for (size_t k = 0; k < s->pieces; k++)
        for (size_t i = 0; i + 1 < s->length[k]; i++) count[s->id[k][i]][s->id[k][i + 1]]++;
    for (int32_t a = 0; a < MOST; a++)
        for (int32_t b = 0; b < MOST; b++)
            if (count[a][b] > most || (wrong && count[a][b] == most))
                most = count[a][b], pair[0] = a, pair[1] = b;
    return most;
}

static int32_t join_symbols(Slow *s, const int32_t pair[2])
{
    char both[2 * sizeof s->symbol[0]];
    snprintf(both, sizeof both, "%s%s", s->symbol[pair[0]], s->symbol[pair[1]]);
    for (size_t i = 1; i < s->symbols; i++)
        if (strcmp(s->symbol[i], both) == 0) return (int32_t)i;
    strcpy(s->symbol[s->symbols], both);
    return (int32_t)s->symbols++;
}

static void count_anew(Slow *s, const char *text, size_t most, int wrong)
{
    memset(s, 0, sizeof *s);
    for (int b = 1; b < 256; b++) s->symbol[number_of((unsigned char)b)][0] = (char)b;
    s->symbols = FIRST;
    cut_pieces(s, text);
    for (int32_t pair[2]; s->merges < most && best_pair(s, wrong, pair) >= 2; s->merges++) {
        int32_t made = join_symbols(s, pair);
        memcpy(s->merge[s->merges], pair, sizeof pair);
        for (size_t k = 0; k < s->pieces; k++) {
            int32_t *x = s->id[k];
            size_t n = 0;
            for (size_t i = 0; i < s->length[k]; i++) {
                int both = i + 1 < s->length[k] && x[i] == pair[0] && x[i + 1] == pair[1];
                x[n++] = both ? made : x[i];
                i += (size_t)both;
            }
            s->length[k] = n;
        }
    }
}

static char *learned(const char *text, size_t most)
{
    char *json;
    BpeText t = {"text", text, strlen(text), 0};
    assert_int_equal(tokenizer_learn(&t, 1, most, NULL, &json), 0);
    return json;
}

/* Tells whether a file has the merges and the tokens of the slow program. */
static int same_merges(const Slow *s, const char *json)
{
    OWN_TOKENIZER *t;
    json_t *root = json_loads(json, 0, NULL),
           *list = json_object_get(json_object_get(root, "model"), "merges");
    assert_int_equal(tokenizer_parse("json", json, strlen(json), &t), 0);
    int is = json_array_size(list) == s->merges && tokenizer_size(t) == s->symbols;
    for (size_t i = 0; is && i < s->merges; i++) {
        char side[2][NAME] = {"", ""};
        sscanf(json_string_value(json_array_get(list, i)), "%63s %63s", side[0], side[1]);
        for (int k = 0; k < 2; k++) is &= tokenizer_find(t, side[k]) == s->merge[i][k];
    }
    for (size_t i = 1; is && i < s->symbols; i++) {
        size_t bytes, n = strlen(s->symbol[i]);
        const char *shown = tokenizer_shown(t, i, &bytes);
        is = !n || (bytes == n && memcmp(shown, s->symbol[i], n) == 0);
    }
    assert_int_equal(tokenizer_find(t, TOKENIZER_FIRST), 0);
    json_decref(root);
    return is;
}

TEST(merges_are_those_of_a_slow_program)
{
    static Slow s;
    size_t other = 0;
    for (int i = 0; i < 16; i++) {
        const char *text = draw_text(letters[i % 2], 100 + draw(900), 0);
        size_t most = 1 + draw(MOST - FIRST - 1);
        OWN_BYTES *json = learned(text, most);
        count_anew(&s, text, most, 0);
        if (!same_merges(&s, json)) fail_msg("text %d, %zu merges", i, most);
        count_anew(&s, text, most, 1);
        other += !same_merges(&s, json);
    }
    assert_true(other > 8); /* the order of equal pairs is seen */
}

TEST(any_text_comes_back)
{
    static const char text[] = "caf\xc3\xa9 caf\xc3\xa9\r\n\t \xf0\x9f\x98\x80\x01\x7f  x\n\n"
                               "\xc2\xad <|endoftext|>it's 12";
    OWN_BYTES *json = learned(text, 20);
    OWN_TOKENIZER *t;
    SCOPED(memory_drop) int32_t *id = NULL;
    size_t n = 0, at = 0, bytes;
    assert_int_equal(tokenizer_parse("json", json, strlen(json), &t), 0);
    assert_int_equal(tokenizer_encode(t, NULL, "text", text, sizeof text - 1, &id, &n), 0);
    for (size_t i = 0; i < n; i++, at += bytes) {
        const char *shown = tokenizer_shown(t, (size_t)id[i], &bytes);
        assert_true(at + bytes < sizeof text && memcmp(shown, text + at, bytes) == 0);
    }
    assert_int_equal(at, sizeof text - 1);
    assert_true(n < at);
}

/* Allocations are alike for each of 256 bytes: those that fail lie farther and farther apart. */
TEST(refused_and_short_of_memory)
{
    const BpeText twice = {"text", "ab ab", 5, 0}, once = {"text", "ab", 2, 0},
                  wrong = {"text", "a\nb\xff", 4, 0};
    char *json;
    size_t live = memory_live();
    assert_int_equal(tokenizer_learn(&twice, 1, 0, NULL, &json), ERR_INPUT);
    assert_int_equal(tokenizer_learn(&once, 1, 1, NULL, &json), ERR_INPUT);
    assert_int_equal(tokenizer_learn(&wrong, 1, 1, NULL, &json), ERR_INPUT);
    assert_string_equal(error_text(), "text:2: not UTF-8");
    for (size_t k = 1, code = 1; code != 0; k += 1 + k / 16) {
        memory_fail_at(k);
        code = (size_t)-tokenizer_learn(&twice, 1, 2, NULL, &json);
        memory_fail_at(0);
        assert_true(code == 0 || code == (size_t)-ERR_MEMORY);
        assert_true((code == 0) == (json != NULL));
        memory_free(json);
        assert_int_equal(memory_live(), live);
    }
}

TEST_MAIN(NULL, NULL)
