/* vocab.c: words to ids and back. Ids follow the falling count in the training text, ties bytewise,
 * so the most frequent words have the same ids under every cut. A cut vocabulary of V words keeps
 * <eos>, <unk> and the V - 2 most frequent others; the counts of the words cut off go to <unk>,
 * whose new count decides its place in the order. */
#include "nn/text/corpus.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/scoped.h"
#include "nn/text/buffer.h"
#include "kernels/base/hash.h"
#include "nn/text/masking.h"

/* Inside of Vocab.index: the table, and the bytes of every word, with a NUL behind each. */
typedef struct {
    Words words;
    char *arena;
} Index;

static int by_count(const void *x, const void *y)
{
    const Word *a = x, *b = y;
    return a->count != b->count ? (a->count < b->count ? 1 : -1) : words_compare(a, b);
}

static int is_word(const Word *w, const char *name)
{
    return w->bytes == strlen(name) && memcmp(w->text, name, w->bytes) == 0;
}

static int is_special(const Word *w)
{
    return is_word(w, WORD_EOS) || is_word(w, WORD_UNK);
}

static int by_keeping(const void *x, const void *y)
{
    int a = is_special(x), b = is_special(y);
    return a != b ? b - a : by_count(x, y);
}

static int words_of(const BpeText *t, int level, Words *w)
{
    const char *word;
    size_t n;
    for (Scan s = scan_begin(t->bytes, t->count, level); scan_next(&s, &word, &n);)
        TRY(n ? words_add(w, word, n, 1) : words_add(w, WORD_EOS, strlen(WORD_EOS), 1));
    return 0;
}

/* Keeps `limit` words. Sorting makes w's numbers invalid: only its list may be read after. */
static int words_cut(Words *w, size_t limit)
{
    if (limit < 2)
        return error_set(ERR_INPUT, "a vocabulary needs 2 words at least, not %zu", limit);
    TRY(words_add(w, WORD_UNK, strlen(WORD_UNK), 0));
    if (w->size <= limit) return 0;
    qsort(w->word, w->size, sizeof *w->word, by_keeping);
    Word *unk = &w->word[is_word(&w->word[1], WORD_UNK)];
    for (size_t i = limit; i < w->size; i++) unk->count += w->word[i].count;
    w->size = limit;
    return 0;
}

/* Counts <eos>, <unk> and the words that occur twice or more. */
static size_t words_repeated(const Words *w)
{
    size_t n = 2;
    for (size_t i = 0; i < w->size; i++) n += w->word[i].count > 1 && !is_special(&w->word[i]);
    return n;
}

/* Words that a vocabulary itself speaks of: <eos>, <unk>, and an encoder's two. */
static const char *const own_marks[VOCAB_MARKS] = {WORD_EOS, WORD_UNK, WORD_FIRST, WORD_MASK};

static int fill(const Word *list, size_t n, const char *const mark[VOCAB_MARKS], Vocab *v)
{
    Index *ix = v->index = memory_new(1, sizeof *ix);
    if (!ix) return ERR_MEMORY;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) bytes += list[i].bytes + 1;
    char *p = ix->arena = memory_new(bytes, 1);
    v->word = memory_new(n, sizeof *v->word);
    if (!p || !v->word) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        v->word[i] = memcpy(p, list[i].text, list[i].bytes);
        TRY(words_add(&ix->words, p, list[i].bytes, list[i].count));
        p += list[i].bytes + 1;
    }
    v->size = n;
    int32_t *const id[VOCAB_MARKS] = {&v->eos, &v->unk, &v->first, &v->mask};
    for (int i = 0; i < VOCAB_MARKS; i++) *id[i] = vocab_find(v, mark[i], strlen(mark[i]));
    return v->eos >= 0 ? 0 : error_set(ERR_INPUT, "a vocabulary without %s", mark[0]);
}

/* Makes a vocabulary of n distinct words, by id; <eos> must be among them. */
static int make(const Word *list, size_t n, Vocab *v)
{
    *v = (Vocab){0};
    int code = fill(list, n, own_marks, v);
    if (code) vocab_free(v);
    return code;
}

int vocab_build(const BpeText *text, size_t texts, int level, size_t limit, int unknown, Vocab *v)
{
    SCOPED(words_free) Words w = {0};
    *v = (Vocab){0};
    for (size_t i = 0; i < texts; i++) TRY(words_of(&text[i], level, &w));
    size_t advised = words_repeated(&w);
    if (unknown || level != LEVEL_WORD) TRY(words_add(&w, WORD_UNK, strlen(WORD_UNK), 0));
    if (limit) TRY(words_cut(&w, limit));
    if (w.size) qsort(w.word, w.size, sizeof *w.word, by_count);
    TRY(make(w.word, w.size, v));
    v->level = level;
    v->advised = advised;
    return 0;
}

int vocab_append(Vocab *v, const char *const *word, size_t n)
{
    Vocab longer;
    SCOPED(memory_drop) Word *list = memory_new(v->size + n, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < v->size + n; i++) {
        const char *text = i < v->size ? v->word[i] : word[i - v->size];
        list[i] = (Word){text, strlen(text), 0};
    }
    TRY(make(list, v->size + n, &longer));
    longer.level = v->level;
    longer.advised = v->advised;
    vocab_free(v);
    *v = longer;
    return 0;
}

int vocab_numbered(const char *prefix, size_t n, Vocab *v)
{
    enum { NAME = 24 };
    SCOPED(memory_drop) Word *list = memory_new(n, sizeof *list);
    SCOPED(memory_drop) char *name = memory_new(n, NAME);
    if (!list || !name) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        char *s = name + i * NAME;
        int bytes = i ? snprintf(s, NAME, "%s%zu", prefix, i) : snprintf(s, NAME, WORD_EOS);
        list[i] = (Word){s, (size_t)bytes, 0};
    }
    return make(list, n, v);
}

static int fill_tokens(const Tokenizer *t, size_t V, const char *const mark[VOCAB_MARKS], Vocab *v)
{
    enum { NAME = 32 };
    SCOPED(memory_drop) Word *list = memory_new(V, sizeof *list);
    SCOPED(memory_drop) char *spare = memory_new(V, NAME);
    if (!list || !spare) return ERR_MEMORY;
    for (size_t i = 0; i < V; i++) {
        const char *name = tokenizer_name(t, i);
        if (!name) name = spare + i * NAME, sprintf(spare + i * NAME, "<no token %zu>", i);
        list[i] = (Word){name, strlen(name), 0};
    }
    return fill(list, V, mark, v);
}

int vocab_tokens(Tokenizer *t, size_t V, const char *const mark[VOCAB_MARKS], Vocab *v)
{
    *v = (Vocab){.level = LEVEL_TOKEN, .tokens = t};
    int code = fill_tokens(t, V, mark, v);
    if (code) vocab_free(v);
    return code;
}

int vocab_tokenizer(const char *file, Vocab *v)
{
    static const char *const known[VOCAB_MARKS][8] = {
        {TOKENIZER_FIRST, "<s>", "<|begin_of_text|>", "<bos>", "[SEP]", WORD_EOS, "</s>"},
        {WORD_UNK, "[UNK]"},
        {"[CLS]", WORD_FIRST},
        {"[MASK]", WORD_MASK}};
    const char *mark[VOCAB_MARKS];
    Tokenizer *t;
    *v = (Vocab){0};
    TRY(tokenizer_read(file, &t));
    for (int i = 0; i < VOCAB_MARKS; i++) {
        const char *const *name = known[i];
        while (*name && tokenizer_find(t, *name) < 0) name++;
        mark[i] = *name ? *name : "";
    }
    if (*mark[0]) return vocab_tokens(t, tokenizer_size(t), mark, v);
    tokenizer_free(t);
    return error_set(ERR_INPUT, "%s: no token that begins a text: none is called %s, %s or %s",
                     file, known[0][0], known[0][1], WORD_EOS);
}

int vocab_apart(Vocab *v, Vocab *source)
{
    if (!(v->source = memory_new(1, sizeof *source))) return vocab_free(source), ERR_MEMORY;
    *v->source = *source;
    v->source->above = v->size;
    v->source->eos = v->eos;
    if (source->unk >= 0) v->source->unk += (int32_t)v->size;
    return 0;
}

static int save(const Vocab *v, const Bpe *bpe, const char *dir, const char *side)
{
    size_t room = strlen(dir) + 48;
    SCOPED(memory_drop) char *file = memory_new(room, 1);
    if (!file) return ERR_MEMORY;
    snprintf(file, room, "%s/%s%s", dir, side, v->tokens ? "tokenizer.json" : "vocab.txt");
    TRY(v->tokens ? tokenizer_write(v->tokens, file) : vocab_write(v, file));
    snprintf(file, room, "%s/%scodes.bpe", dir, side);
    return bpe ? bpe_write(bpe, file) : 0;
}

int vocab_save(const Vocab *v, const Bpe *bpe, const char *dir)
{
    TRY(save(v, bpe, dir, ""));
    return v->source ? save(v->source, bpe_of_source(bpe), dir, "source-") : 0;
}

int vocab_number(const char *name, size_t usual, size_t most, size_t *V)
{
    size_t proper = strcspn(name, ":"),
           n = name[proper] ? strspn(name + proper + 1, "0123456789") : 0;
    *V = name[proper] ? 0 : usual;
    if (n > 0 && n <= 7 && !name[proper + 1 + n]) *V = strtoul(name + proper + 1, NULL, 10);
    if (*V >= 2 && *V <= most) return 0;
    return error_set(ERR_INPUT, "corpus '%s': expected %.*s:V, V from 2 to %zu", name, (int)proper,
                     name, most);
}

int32_t vocab_find(const Vocab *v, const char *word, size_t bytes)
{
    const Index *ix = v->index;
    return ix ? words_find(&ix->words, word, bytes) : -1;
}

void vocab_free(Vocab *v)
{
    Index *ix = v->index;
    if (ix) {
        words_free(&ix->words);
        memory_free(ix->arena);
    }
    memory_free(ix);
    memory_free(v->word);
    tokenizer_free(v->tokens);
    if (v->source) vocab_free(v->source);
    memory_free(v->source);
    *v = (Vocab){0};
}

static int words_listed(const char *file, const char *bytes, size_t count, Words *w)
{
    const char *word;
    size_t n, found = 0; /* on this line */
    for (Scan s = scan_begin(bytes, count, LEVEL_WORD); scan_next(&s, &word, &n);
         found = n ? found + 1 : 0) {
        size_t before = w->size;
        if (n == 0 && found == 0)
            return error_set(ERR_INPUT, "%s:%zu: an empty line in a vocabulary", file, s.lines);
        if (n && found)
            return error_set(ERR_INPUT, "%s:%zu: two words on a line", file, s.lines + 1);
        if (n) TRY(words_add(w, word, n, 1));
        if (n && w->size == before)
            return error_set(ERR_INPUT, "%s:%zu: '%.*s' for the second time", file, s.lines + 1,
                             n > 200 ? 200 : (int)n, word);
    }
    return 0;
}

int vocab_read(const char *file, Vocab *v)
{
    SCOPED(memory_drop) char *bytes = NULL;
    size_t count;
    SCOPED(words_free) Words w = {0};
    *v = (Vocab){0};
    TRY(read_raw(file, &bytes, &count));
    TRY(words_listed(file, bytes, count, &w));
    if (words_find(&w, WORD_EOS, strlen(WORD_EOS)) < 0)
        return error_set(ERR_INPUT, "%s: a vocabulary without " WORD_EOS, file);
    return make(w.word, w.size, v);
}

uint64_t vocab_hash(const Vocab *v)
{
    uint64_t h = HASH_START;
    for (; v; v = v->source)
        for (size_t i = 0; i < v->size; i++) h = hash_bytes(h, v->word[i], strlen(v->word[i]) + 1);
    return h;
}

int vocab_write(const Vocab *v, const char *file)
{
    SCOPED(buffer_free) Buffer text = {0};
    for (size_t i = 0; i < v->size; i++) {
        TRY(buffer_add(&text, v->word[i], strlen(v->word[i])));
        TRY(buffer_add(&text, "\n", 1));
    }
    return file_replace(file, text.byte, text.count);
}
