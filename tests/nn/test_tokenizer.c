/* test_tokenizer.c: pieces of patterns and tokens of texts of many scripts are those that the library `tokenizers` 0.23.2 gives for the same
 * tokenizer.json (tests/foreign/ids.json: 49 texts for each; test_bpe_dropout.c has the order of merges). Byte-level merges
 * learned from drawn texts are those of a slow program that counts all pairs anew for every merge; a text comes back from
 * its tokens. */
#include "tests/lib/test.h"

#include <jansson.h>

#include "kernels/base/error.h"
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

/* A text of lines has the tokens of each line alone, without '\r', and behind them the mark of its end. With a limit it
 * is read to the end of the line that reaches it. */
TEST(lines_of_a_text)
{
    static const char text[] = "hello world\r\n\nab\r";
    static const char *const line[] = {"hello world", "", "ab"};
    const BpeText raw = {"text", text, sizeof text - 1, 0};
    SCOPED(vocab_free) Vocab v = {0};
    SCOPED(text_free) Text all = {0}, first = {0};
    SCOPED(memory_drop) int32_t *id = NULL;
    size_t n = 0, ends[3];
    assert_int_equal(vocab_tokenizer("tests/foreign/gpt2/tokenizer.json", &v), 0);
    v.lines = 1;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            tokenizer_encode(v.tokens, NULL, "line", line[i], strlen(line[i]), &id, &n), 0);
        assert_int_equal(memory_add(id, n, v.eos), 0);
        ends[i] = n;
    }
    assert_int_equal(text_begin(&raw, SIZE_MAX, &v, &all), 0);
    assert_int_equal(all.tokens, n);
    assert_memory_equal(all.id, id, n * sizeof *id);
    assert_int_equal(all.blank, 1);
    size_t of_first = 0; /* tokens of the first line */
    SCOPED(memory_drop) int32_t *its = NULL;
    assert_int_equal(
        tokenizer_encode(v.tokens, NULL, "line", text, strcspn(text, "\n") + 1, &its, &of_first),
        0);
    for (size_t most = 1; most <= of_first + 1; most += most < of_first ? of_first - 1 : 1) {
        assert_int_equal(text_begin(&raw, most, &v, &first), 0);
        assert_int_equal(first.tokens, ends[most > of_first]);
        assert_memory_equal(first.id, id, ends[0] * sizeof *id);
        text_free(&first);
    }
    assert_int_equal(text_sentences(&all, v.eos), 0);
    all.id[n - 1]++; /* no end of a line behind the last one */
    all.id[0] = v.eos;
    assert_int_equal(text_sentences(&all, v.eos), ERR_INPUT);
    Text none = {.file = (char[]){"none"}};
    assert_int_equal(text_sentences(&none, v.eos), ERR_INPUT);
    Vocab words;
    Text empty;
    assert_int_equal(vocab_numbered("w", 3, &words), 0);
    assert_int_equal(text_read(file_write("empty", "", 0), NULL, &words, &empty), ERR_INPUT);
    vocab_free(&words);
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

/* Counts the texts of a drawn tokenizer that are cut otherwise than in the library, or of which one of the two refuses to cut what the other cuts; all where the file is refused. */
static size_t cut_otherwise(const json_t *item, size_t *compared)
{
    json_t *texts = json_object_get(item, "texts"), *ids = json_object_get(item, "ids");
    char *json = json_dumps(json_object_get(item, "json"), JSON_COMPACT);
    OWN_TOKENIZER *t;
    size_t other = 0;
    if (tokenizer_parse("drawn", json, strlen(json), &t) != 0) other = json_array_size(texts);
    for (size_t i = 0; i < json_array_size(texts) && t; i++, ++*compared) {
        const char *text = json_string_value(json_array_get(texts, i));
        const json_t *list = json_array_get(ids, i);
        OWN_IDS *id = NULL;
        size_t n = 0;
        int code = tokenizer_encode(t, NULL, "text", text, strlen(text), &id, &n);
        assert_true(code == 0 || code == ERR_INPUT);
        other += code ? !json_is_null(list) : !same(list, id, n);
    }
    free(json);
    return other;
}

/* Every normaliser, pre-tokenizer, behavior of a match and model, alone and in sequences, beside the library. A part that is exchanged for that of
 * the next tokenizer is seen. TROTTER_DRAWN: another such file. */
TEST(drawn_tokenizers_cut_as_in_the_library)
{
    static const char *const parts[] = {"normalizer", "pre_tokenizer"};
    const char *file = getenv("TROTTER_DRAWN");
    json_error_t e;
    json_t *all = json_load_file(file ? file : "tests/foreign/drawn.json", 0, &e), *item;
    if (!all) fail_msg("%s", e.text);
    json_t *list = json_object_get(all, "tokenizers");
    size_t i, n = json_array_size(list), compared = 0, none = 0, changed[2] = {0}, seen[2] = {0};
    json_array_foreach(list, i, item)
    {
        json_t *json = json_object_get(item, "json"),
               *next = json_object_get(json_array_get(list, (i + 1) % n), "json");
        size_t other = cut_otherwise(item, &compared);
        if (other) fail_msg("tokenizer %zu cuts %zu texts otherwise", i, other);
        for (int k = 0; k < 2; k++) {
            json_t *own = json_incref(json_object_get(json, parts[k]));
            json_object_set(json, parts[k], json_object_get(next, parts[k]));
            if (!json_equal(own, json_object_get(json, parts[k])))
                changed[k]++, seen[k] += cut_otherwise(item, &none) > 0;
            json_object_set_new(json, parts[k], own);
        }
    }
    if (compared < 200 || seen[0] * 2 < changed[0] || seen[1] * 10 < changed[1] * 8)
        fail_msg("%zu texts; of the changes %zu of %zu, %zu of %zu are seen", compared, seen[0],
                 changed[0], seen[1], changed[1]);
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

/* Cuts a text at a pattern; returns 0 where the pieces are of these lengths. */
static int differs(pcre2_code *code, const char *text, const json_t *lengths)
{
    Pieces p = {{0}};
    const Cut c = {.kind = CUT_SPLIT, .code = code};
    size_t n = strlen(text);
    assert_int_equal(buffer_add(&p.text, text, n), 0);
    if (n) assert_int_equal(memory_add(p.span, p.spans, (Span){0, n}), 0);
    int is = cut_apply(&c, "text", &p) == 0 && p.spans == json_array_size(lengths);
    for (size_t i = 0; is && i < p.spans; i++)
        is = p.span[i].end - p.span[i].begin ==
             (size_t)json_integer_value(json_array_get(lengths, i));
    pieces_free(&p);
    return !is;
}

/* Patterns of models, of every part of the syntax, and drawn ones, with what `tokenizers` made of each text. A pattern is
 * cut as there or refused; that of another pattern is seen. TROTTER_PATTERNS: another such file. */
TEST(patterns_cut_as_in_the_library)
{
    const char *file = getenv("TROTTER_PATTERNS"), *pattern;
    json_error_t e;
    json_t *all = json_load_file(file ? file : "tests/foreign/patterns.json", 0, &e), *lists,
           *before = NULL;
    if (!all) fail_msg("%s", e.text);
    json_t *texts = json_object_get(all, "texts");
    size_t cut = 0, refused = 0, others = 0;
    json_object_foreach (json_object_get(all, "patterns"), pattern, lists) {
        pcre2_code *code;
        if (cut_compile("text", pattern, 0, &code) != 0) {
            refused++;
            continue;
        }
        size_t other = 0;
        for (size_t i = 0; i < json_array_size(texts); i++) {
            const char *text = json_string_value(json_array_get(texts, i));
            if (json_is_array(lists) && differs(code, text, json_array_get(lists, i)))
                fail_msg("'%s' cuts text %zu otherwise", pattern, i);
            other += before && differs(code, text, json_array_get(before, i));
        }
        pcre2_code_free(code);
        if (json_is_array(lists)) cut++, before = lists;
        others += other > 0;
    }
    if (cut < 50 * refused || others * 10 < cut * 8)
        fail_msg("%zu patterns cut, %zu refused, %zu unlike the one before", cut, refused, others);
    json_decref(all);
}

/* Parts that no pattern of that file needs: flags that end within a group, and small letters that are no Ll (U+00AA, U+2177). */
TEST(patterns_by_hand)
{
    static const char *const rows[][3] = {
        {"(?i:a(?-i:b))", "xAB Ab", "[4, 2]"},
        {"[[:lower:]]", "\302\252A\342\205\267", "[2, 1, 3]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pcre2_code *code;
        json_t *lengths = json_loads(rows[i][2], 0, NULL);
        assert_int_equal(cut_compile("text", rows[i][0], 0, &code), 0);
        if (differs(code, rows[i][1], lengths)) fail_msg("%s", rows[i][0]);
        pcre2_code_free(code);
        json_decref(lengths);
    }
}

/* What is not understood is refused by its name, never handed through. */
TEST(patterns_refused)
{
    static const char *const rows[][2] = {{"a\\K", "\\K"},
                                          {"\\G", "\\G"},
                                          {"\\X", "\\X"},
                                          {"(a)\\1", "\\1"},
                                          {"(?<n>a)", "such a group"},
                                          {"(?#x)", "such a group"},
                                          {"(?~a)", "such a group"},
                                          {"(?x:a)", "such a group"},
                                          {"(?s).", "such a group"},
                                          {"a(?i)b|c", "such a group"},
                                          {"(?i)ss", "pair of letters"},
                                          {"(?i)[s]s", "pair of letters"},
                                          {"(?i)s(?:T)", "pair of letters"},
                                          {"(?i)\303\211", "beyond ASCII"},
                                          {"(?i)[\\x{e9}]", "beyond ASCII"},
                                          {"(?i)\\p{Lu}", "one case"},
                                          {"(?i)[\\p{Lu}]", "a set of characters in a class"},
                                          {"\\xe9", "escape"},
                                          {"\\u{41}", "escape"},
                                          {"\\pL", "\\p without {}"},
                                          {"\\p{Letter", "property"},
                                          {"\\p{Nonsense}", "pattern"},
                                          {"[[:graph:]]", "name of a class"},
                                          {"[a-c-e]", "'-' in the middle"},
                                          {"[a-\\d]", "a range without an end"},
                                          {"[]a]", "an empty class"},
                                          {"[a", "a class without an end"},
                                          {"(?=a)*", "takes no room"},
                                          {"\\b+", "takes no room"},
                                          {"*a", "repetition of nothing"},
                                          {"a{2,1}", "an interval that falls"},
                                          {"a)", "a ')' without its '('"},
                                          {"(a", "a group without an end"},
                                          {"a\\", "a backslash at the end"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pcre2_code *code;
        if (cut_compile("file", rows[i][0], 0, &code) != ERR_INPUT) fail_msg("%s", rows[i][0]);
        if (!strstr(error_text(), rows[i][1])) fail_msg("%s: %s", rows[i][0], error_text());
    }
}

/* Names of tokens that `tokenizers` gives, with a blank behind each. Parts of a file: normalizer, added tokens (name, of
 * the raw (R) or normalised (N) text), vocabulary. NULL: it refuses the text, or here the file. */
TEST(added_unknown_and_marks)
{
#define LOWER "{\"type\": \"Lowercase\"}"
#define WORDS "\"WordLevel\", \"unk_token\": \"[UNK]\", \"vocab\": "
#define PIECES_OF "\"WordPiece\", \"unk_token\": \"[UNK]\", \"vocab\": "
#define KNOWN WORDS "{\"[UNK]\": 0, \"a\": 1, \"b\": 2, \"xa\": 3}"
#define MERGES(unknown) "\"BPE\", \"unk_token\": " unknown ", \"merges\": [], \"vocab\": {\"a\": 0}"
#define UNIGRAM "\"Unigram\", \"vocab\": [[\"a\", -1]]"
    static const struct {
        const char *normal, *added, *model, *text, *tokens;
    } rows[] = {
        {LOWER, "N TOK", KNOWN, "a TOK b tok xaTOKb", "a TOK b TOK xa TOK b "},
        {LOWER, "R TOK", KNOWN, "a TOK b tok xaTOKb", "a TOK b [UNK] xa TOK b "},
        {"null", "N TOK", KNOWN, "a TOK b tok xaTOKb", "a TOK b [UNK] xa TOK b "},
        {LOWER, "N TOK R aTOK", KNOWN, "a TOK b tok xaTOKb", "a TOK b TOK [UNK] aTOK b "},
        {LOWER, "R TOK N aTOK", KNOWN, "a TOK b tok xaTOKb", "a TOK b [UNK] xa TOK b "},
        {"null", "R TOK N aTOK", KNOWN, "xaTOKb", "xa TOK b "},
        {LOWER, "N TOK N tok", KNOWN, "a tok TOK", "a TOK TOK "},
        {"{\"type\": \"Prepend\", \"prepend\": \"_\"}", "N TOK", KNOWN, "a TOK b TOK",
         "[UNK] [UNK] b [UNK] "},
        {"{\"type\": \"StripAccents\"}", "N \314\201", KNOWN, "a b", "a b "},
        {"{\"type\": \"StripAccents\"}", "", KNOWN, "a\314\201 \340\244\276b\342\203\235 \314\201",
         "a b "},
        {"{\"type\": \"BertNormalizer\"}", "", KNOWN, "A\314\201 B\342\203\235", "a [UNK] "},
        {"null", "", WORDS "{\"a\": 0}", "a a", "a a "},
        {"null", "", WORDS "{\"a\": 0}", "a b", NULL},
        {"null", "", "\"WordLevel\", \"vocab\": {\"a\": 0}", "a b", NULL},
        {"null", "", PIECES_OF "{\"a\": 0}", "a b", NULL},
        {"null", "", MERGES("null"), "ab", "a "},
        {"null", "", MERGES("\"<unk>\""), "ab", NULL},
        {"null", "", MERGES("null") ", \"dropout\": 0.0", "a", "a "},
        {"null", "", MERGES("null") ", \"dropout\": 0.1", "a", NULL},
        {"null", "", UNIGRAM ", \"alpha\": 0.1", "a", NULL},
        {"null", "", UNIGRAM, "a", "a "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char json[1024], added[400] = "", told[200] = "";
        const char *p = rows[i].added;
        for (int k = 0; *p; k++) {
            int n = (int)strcspn(p + 2, " ");
            snprintf(added + strlen(added), sizeof added - strlen(added),
                     "%s{\"id\": %d, \"content\": \"%.*s\", \"normalized\": %s}", k ? ", " : "",
                     5 + k, n, p + 2, *p == 'N' ? "true" : "false");
            p += 2 + n + (p[2 + n] == ' ');
        }
        int bytes = snprintf(json, sizeof json,
                             "{\"normalizer\": %s, \"added_tokens\": [%s], \"pre_tokenizer\": "
                             "{\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": %s}}",
                             rows[i].normal, added, rows[i].model);
        OWN_TOKENIZER *t = NULL;
        OWN_IDS *id = NULL;
        size_t n = 0;
        int code = tokenizer_parse("json", json, (size_t)bytes, &t);
        if (code == 0)
            code = tokenizer_encode(t, NULL, "text", rows[i].text, strlen(rows[i].text), &id, &n);
        for (size_t k = 0; k < n; k++)
            snprintf(told + strlen(told), sizeof told - strlen(told), "%s ",
                     tokenizer_name(t, (size_t)id[k]));
        if (code != (rows[i].tokens ? 0 : ERR_INPUT)) fail_msg("row %zu: %d", i, code);
        if (rows[i].tokens && strcmp(told, rows[i].tokens) != 0) fail_msg("row %zu: %s", i, told);
        if (!rows[i].tokens)
            assert_true(strstr(error_text(), "unknown token") ||
                        strstr(error_text(), "no two readings"));
    }
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
