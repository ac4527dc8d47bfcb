/* tokenizer.c: a tokenizer.json (nn/text/tokenizer_read.c) up to the first byte 0x1e, then a text, which an accepted
 * tokenizer cuts: every id names a token, and a text that is cut again has the same tokens. */
#include "nn/text/tokenizer.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const Tokenizer *t, const char *text, size_t bytes)
{
    int32_t *id[2] = {NULL, NULL};
    size_t n[2] = {0, 0};
    int code[2];
    for (int i = 0; i < 2; i++)
        code[i] = tokenizer_encode(t, NULL, "text", text, bytes, &id[i], &n[i]);
    FUZZ_CHECK(code[0] == 0 || code[0] == ERR_INPUT || code[0] == ERR_MEMORY);
    for (size_t i = 0; i < n[0] && code[0] == 0; i++) {
        size_t shown;
        FUZZ_CHECK(id[0][i] >= 0 && tokenizer_name(t, (size_t)id[0][i]));
        FUZZ_CHECK(tokenizer_shown(t, (size_t)id[0][i], &shown) != NULL);
        FUZZ_CHECK(code[1] != 0 || id[0][i] == id[1][i]);
    }
    for (int i = 0; i < 2; i++) memory_free(id[i]);
}

FUZZ()
{
    Tokenizer *t;
    FuzzPart p[2];
    fuzz_parts(data, size, p);
    int code = tokenizer_parse("json", (const char *)p[0].data, p[0].size, &t);
    FUZZ_CHECK(code == 0 || code == ERR_INPUT || code == ERR_MEMORY);
    FUZZ_CHECK((code == 0) == (t != NULL));
    if (code == 0) check_text(t, (const char *)p[1].data, p[1].size);
    tokenizer_free(t);
}
