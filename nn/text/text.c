/* text.c: encodes a text as ids of a vocabulary. Every line ends in <eos>, a blank one too. The
 * word "<eos>" written inside a line has the same id, so it ends a sentence as the end of a line
 * does. */
#include "nn/text/corpus.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/plain_text.h"

static size_t count_tokens(const char *bytes, size_t count, int level)
{
    const char *word;
    size_t n, tokens = 0;
    for (Scan s = scan_begin(bytes, count, level); scan_next(&s, &word, &n);) tokens++;
    return tokens;
}

/* Reports an unknown word; it only advises a limit, which changes what a perplexity means. */
static int unknown(const char *file, size_t line, const char *word, size_t n, const Vocab *v)
{
    char advice[160] = "";
    if (v->advised)
        snprintf(advice, sizeof advice,
                 "; --vocabulary %zu keeps the words that the training text has twice or more and "
                 "reads all others as " WORD_UNK,
                 v->advised);
    return error_set(ERR_INPUT,
                     "%s:%zu: '%.*s' is not in the vocabulary, which has no " WORD_UNK "%s", file,
                     line, n > 100 ? 100 : (int)n, word, advice);
}

/* Notes that the last token is an <eos> which is written inside line `line`. */
static int add_written(Text *t, size_t line)
{
    if (t->writtens == 0) t->inside = line;
    return memory_add(t->written, t->writtens, t->tokens - 1);
}

static int fill(const char *bytes, size_t count, size_t most, const Vocab *v, Text *t)
{
    const char *word;
    size_t n, begun = 0; /* first token of this line */
    for (Scan s = scan_begin(bytes, count, v->level); scan_next(&s, &word, &n);) {
        int32_t id = n ? vocab_find(v, word, n) : v->eos;
        if (n && id >= 0) id += (int32_t)v->above;
        if (id < 0 && v->unk < 0) return unknown(t->file, t->before + s.lines + 1, word, n, v);
        t->unknown += id < 0;
        t->goes_on += (size_t)piece_goes_on(v, word, n);
        t->id[t->tokens++] = id < 0 ? v->unk : id;
        if (n && id == v->eos) TRY(add_written(t, t->before + s.lines + 1));
        if (n) continue;
        t->blank += t->tokens - begun == 1;
        t->lines++;
        begun = t->tokens;
        if (t->tokens >= most) break;
    }
    return 0;
}

/* Encodes each line alone, with <eos> behind it. */
static int tokenize_lines(const BpeText *raw, const Vocab *v, BpeDrop *drop, Text *t)
{
    const char *at = raw->bytes, *end = at + raw->count, *line;
    for (size_t n; text_next_line(&at, end, &line, &n);) {
        size_t begun = t->tokens;
        n -= n && line[n - 1] == '\r';
        TRY(tokenizer_encode(v->tokens, drop, t->file, line, n, &t->id, &t->tokens));
        t->blank += t->tokens == begun;
        TRY(memory_add(t->id, t->tokens, v->eos));
    }
    return 0;
}

static int tokenize(const BpeText *raw, const Vocab *v, BpeDrop *drop, Text *t)
{
    const char *word;
    size_t n, words = 0;
    TRY(v->lines ? tokenize_lines(raw, v, drop, t)
                 : tokenizer_encode(v->tokens, drop, t->file, raw->bytes, raw->count, &t->id,
                                    &t->tokens));
    for (Scan s = scan_begin(raw->bytes, raw->count, LEVEL_WORD); scan_next(&s, &word, &n); words++)
        t->lines += n == 0;
    t->goes_on = t->tokens - words;
    for (size_t i = 0; i < t->tokens; i++) t->unknown += t->id[i] == v->unk;
    t->bytes = raw->count;
    return 0;
}

/* Finds the bytes of the first lines that have `most` tokens, each line cut alone. */
static int first_lines(const BpeText *raw, size_t most, const Vocab *v, size_t *bytes)
{
    const char *end = raw->bytes + raw->count, *at = raw->bytes, *next;
    SCOPED(memory_drop) int32_t *id = NULL;
    for (size_t n = 0; at < end && n < most; at = next) {
        next = single_skip(at, end, 1);
        TRY(tokenizer_encode(v->tokens, NULL, raw->file, at, (size_t)(next - at), &id, &n));
    }
    *bytes = (size_t)(at - raw->bytes);
    return 0;
}

static int begin_tokens(const BpeText *raw, size_t most, const Vocab *v, BpeDrop *drop, Text *t)
{
    BpeText part = *raw;
    *t = (Text){.before = raw->before};
    if (most < SIZE_MAX) TRY(first_lines(raw, most, v, &part.count));
    t->file = memory_string(raw->file);
    int code = t->file ? tokenize(&part, v, drop, t) : ERR_MEMORY;
    if (code) text_free(t);
    return code;
}

int text_begin(const BpeText *raw, size_t most, const Vocab *v, Text *t)
{
    if (v->tokens) return begin_tokens(raw, most, v, NULL, t);
    *t = (Text){.before = raw->before};
    t->file = memory_string(raw->file);
    t->id = memory_new(count_tokens(raw->bytes, raw->count, v->level), sizeof *t->id);
    int code = t->file && t->id ? fill(raw->bytes, raw->count, most, v, t) : ERR_MEMORY;
    if (code) text_free(t);
    return code;
}

int text_encode(const BpeText *raw, const Bpe *bpe, const Vocab *v, Text *t)
{
    return text_dropped(raw, bpe, NULL, v, t);
}

int text_dropped(const BpeText *raw, const Bpe *bpe, BpeDrop *drop, const Vocab *v, Text *t)
{
    BpeText cut = *raw;
    SCOPED(memory_drop) char *pieces = NULL;
    *t = (Text){0};
    if (v->tokens) return begin_tokens(raw, SIZE_MAX, v, drop, t);
    if (bpe) {
        TRY(bpe_check(raw));
        TRY(bpe_apply(bpe, drop, raw, &pieces, &cut.count));
        cut.bytes = pieces;
    }
    return text_begin(&cut, SIZE_MAX, v, t);
}

int text_read(const char *file, const Bpe *bpe, const Vocab *v, Text *t)
{
    SCOPED(memory_drop) char *bytes = NULL;
    BpeText raw = {.file = strcmp(file, "-") == 0 ? "standard input" : file};
    *t = (Text){0};
    TRY(read_named(file, &bytes, &raw.count));
    raw.bytes = bytes;
    TRY(text_encode(&raw, bpe, v, t));
    return t->tokens ? 0 : error_set(ERR_INPUT, "%s: no token in it", t->file);
}

size_t text_predicted(const Text *t, int32_t eos, int context)
{
    size_t n = t->tokens;
    for (size_t i = 0; context == CONTEXT_SENTENCE && i < t->tokens; i++)
        n -= t->id[i] == eos && (i == 0 || t->id[i - 1] == eos);
    return n;
}

int text_sentences(const Text *t, int32_t eos)
{
    size_t ends = 0;
    for (size_t i = 0; i < t->tokens; i++) ends += t->id[i] == eos;
    if (ends == t->lines && t->tokens && t->id[t->tokens - 1] == eos) return 0;
    return error_set(ERR_INPUT,
                     "%s:%zu: " WORD_EOS
                     " is written inside a line, where it would end a sentence: "
                     "in pairs a line is one",
                     t->file, t->inside);
}

int text_pairs(const Text *source, const Text *target, int32_t eos)
{
    const Text *const both[] = {source, target};
    if (source->lines != target->lines)
        return error_set(ERR_INPUT, "%s has %zu lines and %s has %zu: line by line they are pairs",
                         source->file, source->lines, target->file, target->lines);
    for (int i = 0; i < 2; i++) TRY(text_sentences(both[i], eos));
    for (size_t line = 1, at[2] = {0, 0}; line <= source->lines; line++) {
        int blank[2];
        for (int i = 0; i < 2; i++) {
            blank[i] = both[i]->id[at[i]] == eos;
            while (both[i]->id[at[i]++] != eos) continue;
        }
        if (blank[0] == blank[1]) continue;
        const Text *t = both[blank[1]], *other = both[blank[0]];
        return error_set(ERR_INPUT, "%s:%zu is blank and %s:%zu is not: that is no pair", t->file,
                         line, other->file, line);
    }
    return 0;
}

void text_free(Text *t)
{
    memory_free_all(t->file, t->id, t->written);
    *t = (Text){0};
}
