/* test_tokenizer.c: tokens of texts of many scripts are those that the library `tokenizers` 0.23.2 gives for the same
 * tokenizer.json (tests/foreign/ids.json: 49 texts for each); test_bpe_dropout.c has the order of merges. */
#include "tests/lib/test.h"

#include <jansson.h>

#include "nn/text/tokenizer_steps.h"
#include "tests/lib/scratch.h"

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
            assert_int_equal(tokenizer_encode(t, "text", text, strlen(text), &id, &n), 0);
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
    assert_true(
        FAILURES(ERR_MEMORY, OWN_TOKENIZER * t; OWN_IDS *id = NULL; size_t n = 0;
                 code = tokenizer_parse("json", json, sizeof json - 1, &t);
                 if (code == 0) code = tokenizer_encode(t, "text", "ab<s>b1a", 8, &id, &n)) > 10);
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
    assert_int_equal(tokenizer_encode(t, "text", text, sizeof text, &id, &n), ERR_INPUT);
    assert_non_null(strstr(error_text(), "pattern gives up"));
    bytes = snprintf(json, sizeof json, format, "(a");
    assert_int_equal(tokenizer_parse("json", json, (size_t)bytes, &none), ERR_INPUT);
    assert_non_null(strstr(error_text(), "pattern '(a'"));
}

TEST_MAIN(NULL, NULL)
