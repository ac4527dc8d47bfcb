/* corpus.c: texts (nn/text/read.c, words.c, vocab.c, text.c) and prompts: the first byte is the level and the limit of the
 * vocabulary; the text up to its middle is for training, and the rest is encoded with the resulting vocabulary. */
#include "nn/text/corpus.h"
#include "tests/fuzz/fuzz.h"

static void check_text(const Text *t, const Vocab *v)
{
    size_t ends = 0;
    for (size_t i = 0; i < t->tokens; i++) {
        FUZZ_CHECK(t->id[i] >= 0 && (size_t)t->id[i] < v->size);
        ends += t->id[i] == v->eos;
    }
    FUZZ_CHECK(t->tokens == 0 || t->id[t->tokens - 1] == v->eos);
    FUZZ_CHECK(t->lines <= ends && t->blank <= t->lines && t->unknown <= t->tokens);
}

static void check_vocab(const Vocab *v, size_t limit)
{
    FUZZ_CHECK(v->size >= 1 && (limit == 0 || v->size <= limit));
    for (size_t i = 0; i < v->size; i++)
        FUZZ_CHECK(vocab_find(v, v->word[i], strlen(v->word[i])) == (int32_t)i);
}

static void encode(const Vocab *v, const uint8_t *data, size_t size)
{
    Text t;
    if (text_read(fuzz_file(data, size), NULL, v, &t) == 0) {
        check_text(&t, v);
        text_free(&t);
    }
    char *prompt = strndup((const char *)data, size);
    FUZZ_CHECK(prompt);
    if (text_encode(&(BpeText){"prompt", prompt, strlen(prompt), 0}, NULL, v, &t) == 0) {
        check_text(&t, v);
        text_free(&t);
    }
    free(prompt);
}

FUZZ()
{
    Vocab v;
    char *bytes;
    size_t count;
    if (size < 2) return;
    int level = data[0] & 1 ? LEVEL_CHAR : LEVEL_WORD;
    size_t limit = data[0] >> 2, half = (size - 1) / 2;
    if (read_text(fuzz_file(data + 1, half), &bytes, &count) == 0) {
        if (vocab_build(&(BpeText){.bytes = bytes, .count = count}, 1, level, limit, 0, &v) == 0) {
            check_vocab(&v, limit);
            encode(&v, data + 1 + half, size - 1 - half);
            vocab_free(&v);
        }
        memory_free(bytes);
    }
}
