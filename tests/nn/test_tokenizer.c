/* test_tokenizer.c: tokens of texts of many scripts are those that the library `tokenizers` 0.23.2 gives for the same
 * tokenizer.json (tests/foreign/ids.json: 49 texts for each); what a text must keep. */
#include "tests/lib/test.h"

#include <jansson.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/scoped.h"
#include "nn/text/tokenizer.h"
#include "tests/lib/scratch.h"

static json_t *read_ids(void)
{
    json_error_t e;
    json_t *all = json_load_file("tests/foreign/ids.json", 0, &e);
    if (!all) fail_msg("%s", e.text);
    return all;
}

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
    json_t *all = read_ids(), *texts = json_object_get(all, "texts"), *lists;
    const char *type;
    size_t compared = 0;
    json_object_foreach (all, type, lists) {
        if (lists == texts) continue;
        Tokenizer *t = read_tokenizer(type);
        for (size_t i = 0; i < json_array_size(texts); i++) {
            const char *text = json_string_value(json_array_get(texts, i));
            int32_t *id = NULL;
            size_t n = 0;
            assert_int_equal(tokenizer_encode(t, NULL, "text", text, strlen(text), &id, &n), 0);
            if (!same(json_array_get(lists, i), id, n)) fail_msg("%s: '%s'", type, text);
            if (n) id[n / 2]++; /* a comparison that sees nothing would pass */
            assert_true(n == 0 || !same(json_array_get(lists, i), id, n));
            memory_free(id);
            compared++;
        }
        tokenizer_free(t);
    }
    assert_true(compared >= 2 * 49);
    json_decref(all);
}

/* The earliest merge comes first, wherever it is; of equal ones the leftmost; a merged symbol merges again. */
TEST(order_of_merges)
{
    static const char json[] =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"bc\": 3, \"ab\": "
        "4, \"aa\": 5, \"aabc\": 6}, \"merges\": [\"b c\", \"a b\", \"a a\", \"aa bc\"]}}";
    static const struct {
        const char *text;
        size_t n;
        int32_t id[4];
    } rows[] = {{"abc", 2, {0, 3}}, {"abab", 2, {4, 4}},     {"aaa", 2, {5, 0}},
                {"aabc", 1, {6}},   {"aabab", 3, {0, 4, 4}}, {"x", 0, {0}}};
    Tokenizer *t;
    assert_int_equal(tokenizer_parse("json", json, sizeof json - 1, &t), 0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int32_t *id = NULL;
        size_t n = 0;
        assert_int_equal(
            tokenizer_encode(t, NULL, "text", rows[i].text, strlen(rows[i].text), &id, &n), 0);
        assert_int_equal(n, rows[i].n);
        for (size_t k = 0; k < n; k++) assert_int_equal(id[k], rows[i].id[k]);
        memory_free(id);
    }
    tokenizer_free(t);
}

static int encode_job(void)
{
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 3, \"content\": \"<s>\"}], \"normalizer\": {\"type\": \"NFC\"}, "
        "\"pre_tokenizer\": {\"type\": \"Digits\", \"individual_digits\": true}, \"model\": {\"type\": "
        "\"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}";
    Tokenizer *t;
    int32_t *id = NULL;
    size_t n = 0;
    int code = tokenizer_parse("json", json, sizeof json - 1, &t);
    if (code == 0) code = tokenizer_encode(t, NULL, "text", "ab<s>b1a", 8, &id, &n);
    memory_free(id);
    tokenizer_free(t);
    return code;
}

TEST(short_of_memory)
{
    assert_true(fail_each(encode_job, ERR_MEMORY) > 10);
}

/* A pattern that would search for ever gives up; one that is none is refused. */
TEST(patterns_of_strangers)
{
    static const char format[] =
        "{\"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"Regex\": \"%s\"}, \"behavior\": "
        "\"Isolated\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}}";
    char json[512], text[64];
    Tokenizer *t;
    int32_t *id = NULL;
    size_t n = 0;
    int bytes = snprintf(json, sizeof json, format, "(a+)+$");
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = 'b';
    assert_int_equal(tokenizer_parse("json", json, (size_t)bytes, &t), 0);
    assert_int_equal(tokenizer_encode(t, NULL, "text", text, sizeof text, &id, &n), ERR_INPUT);
    assert_non_null(strstr(error_text(), "pattern gives up"));
    memory_free(id);
    tokenizer_free(t);
    bytes = snprintf(json, sizeof json, format, "(a");
    assert_int_equal(tokenizer_parse("json", json, (size_t)bytes, &t), ERR_INPUT);
    assert_non_null(strstr(error_text(), "pattern '(a'"));
}

TEST_MAIN(NULL, NULL)
