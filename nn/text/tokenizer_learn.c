/* tokenizer_learn.c: texts -> tokenizer.json of byte-level merges (tokenizer.h). A tokenizer without merges cuts the
 * texts in pieces, as it will when it has them; bpe_learn.c learns from the counts of these. */
#include <jansson.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/text/bpe_codes.h"
#include "nn/text/tokenizer_steps.h"

/* Appends the name of a symbol, which is a character for each byte. */
static int add_name(Buffer *b, const Word *symbol)
{
    for (size_t i = 0; i < symbol->bytes; i++)
        TRY(buffer_character(b, byte_character((unsigned char)symbol->text[i])));
    return 0;
}

static int no_memory(void)
{
    return error_set(ERR_MEMORY, "out of memory");
}

/* Adds the names of all symbols to vocab, from 1 on. */
static int put_names(json_t *vocab, const Bpe *b)
{
    SCOPED(buffer_free) Buffer name = {0};
    if (json_object_set_new(vocab, TOKENIZER_FIRST, json_integer(0))) return no_memory();
    for (size_t i = 0; i < b->symbol.size; i++) {
        name.count = 0;
        TRY(add_name(&name, &b->symbol.word[i]));
        if (json_object_set_new(vocab, name.byte, json_integer((json_int_t)i + 1)) != 0)
            return no_memory();
    }
    return 0;
}

static int put_merges(json_t *list, const Bpe *b)
{
    SCOPED(buffer_free) Buffer two = {0};
    for (size_t i = 0; i < b->merges; i++) {
        two.count = 0;
        TRY(add_name(&two, &b->symbol.word[b->merge[i].a]));
        TRY(buffer_add(&two, " ", 1));
        TRY(add_name(&two, &b->symbol.word[b->merge[i].b]));
        if (json_array_append_new(list, json_string(two.byte)) != 0) return no_memory();
    }
    return 0;
}

/* Writes a tokenizer.json. json_pack takes vocab and merges in any case. */
static int print(const Bpe *b, char **json)
{
    json_t *vocab = json_object(), *merges = json_array();
    int code = vocab && merges ? put_names(vocab, b) : no_memory();
    if (code == 0) code = put_merges(merges, b);
    json_t *root = json_pack(
        "{s:s, s:n, s:n, s:[{s:i, s:s, s:b, s:b, s:b, s:b, s:b}], s:n, s:{s:s, s:b, s:b, s:b}, s:n,"
        " s:{s:s, s:b, s:b, s:b}, s:{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", "id", 0, "content",
        TOKENIZER_FIRST, "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1,
        "normalizer", "pre_tokenizer", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets",
        1, "use_regex", 1, "post_processor", "decoder", "type", "ByteLevel", "add_prefix_space", 1,
        "trim_offsets", 1, "use_regex", 1, "model", "type", "BPE", "dropout", "unk_token",
        "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
        "ignore_merges", 0, "vocab", vocab, "merges", merges);
    char *text = code == 0 && root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    *json = text ? memory_string(text) : NULL;
    free(text);
    return code ? code : *json ? 0 : no_memory();
}

/* Lists the bytes in the order of their characters. */
static void order_bytes(unsigned char byte[256])
{
    size_t n = 0;
    for (uint32_t c = 0; n < 256; c++)
        for (int b = 0; b < 256; b++)
            if (byte_character(b) == c) byte[n++] = (unsigned char)b;
}

static int count_pieces(const BpeText *text, size_t texts, Words *w)
{
    SCOPED(memory_drop) char *json = NULL;
    SCOPED(tokenizer_drop) Tokenizer *t = NULL;
    TRY(print(&(Bpe){0}, &json));
    TRY(tokenizer_parse("tokenizer.json", json, strlen(json), &t));
    for (size_t i = 0; i < texts; i++)
        TRY(tokenizer_pieces(t, text[i].file, text[i].bytes, text[i].count, w));
    return 0;
}

int tokenizer_learn(const BpeText *text, size_t texts, size_t merges, BpeTell *tell, char **json)
{
    unsigned char byte[256];
    SCOPED(bpe_drop) Bpe *b = NULL;
    SCOPED(words_free_own) Words w = {0};
    *json = NULL;
    order_bytes(byte);
    TRY(count_pieces(text, texts, &w));
    TRY(bpe_learn_pieces(&w, byte, merges, tell, &b));
    return print(b, json);
}
