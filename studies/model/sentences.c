/* sentences.c: draws sentences of a text in the form that a model reads. */
#include "studies/model/sentences.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "nn/text/masking.h"

enum { STREAM_SENTENCES = 61 };

/* A line: its first token and its length without <eos>. */
typedef struct {
    size_t first, words;
} Line;

/* Cuts a text without ends of lines, which a tokenizer cut as a whole, in pieces of so many words. */
static size_t find_pieces(const Text *t, size_t words, Line *piece)
{
    size_t n = 0;
    for (size_t i = 0; i < t->tokens; i += words)
        piece[n++] = (Line){i, words < t->tokens - i ? words : t->tokens - i};
    return n;
}

/* Finds the lines of the text that have words, and the lines of the source beside them (source NULL: none). Returns
 * their number. */
static size_t find_lines(const Vocab *v, const Text *t, const Text *source, Line *line, Line *other)
{
    size_t n = 0, first = 0, from = 0;
    for (size_t i = 0, s = 0; i < t->tokens; i++) {
        if (t->id[i] != v->eos) continue;
        for (from = s; source && source->id[s] != v->eos;) s++;
        if (i > first) {
            line[n] = (Line){first, i - first};
            other[n++] = (Line){from, s - from};
        }
        first = i + 1;
        s++;
    }
    return n;
}

/* Appends a line of a side. Before the target's words stands <eos>, or the first token of an encoder alone; behind the
 * source's words stands <eos>. */
static void append(const Vocab *v, const Text *t, const Line *l, size_t tokens, int side, Drawn *d,
                   size_t *n)
{
    size_t words = l->words < tokens - 1 ? l->words : tokens - 1;
    int32_t *out = d->token[side] + *n;
    memcpy(out + (side == SIDE_TARGET), t->id + l->first, words * sizeof *out);
    out[side == SIDE_TARGET ? 0 : words] =
        side == SIDE_TARGET && masking_has(v) ? v->first : v->eos;
    *n += words + 1;
}

static int draw(const Vocab *v, const Text *const text[SIDES], Line *const line[SIDES],
                size_t lines, size_t tokens, uint64_t seed, Drawn *d)
{
    SCOPED(memory_drop) uint32_t *order = memory_new(lines, sizeof *order);
    if (!order) return ERR_MEMORY;
    if (seed == SENTENCES_FIRST)
        for (uint32_t i = 0; i < lines; i++) order[i] = i;
    else
        random_permutation(seed, STREAM_SENTENCES, lines, order);
    for (int side = 0; side < SIDES; side++) {
        size_t n = 0;
        for (size_t i = 0; text[side] && i < d->of.count; i++) {
            append(v, text[side], &line[side][order[i]], tokens, side, d, &n);
            d->start[side][i + 1] = n;
        }
    }
    return 0;
}

static int make(const Vocab *v, const Text *const text[SIDES], size_t count, size_t tokens,
                uint64_t seed, Line *const line[SIDES], Drawn *d)
{
    int whole = v->tokens && !v->lines && !text[SIDE_SOURCE];
    size_t lines = whole ? find_pieces(text[SIDE_TARGET], tokens - 1, line[SIDE_TARGET])
                         : find_lines(v, text[SIDE_TARGET], text[SIDE_SOURCE], line[SIDE_TARGET],
                                      line[SIDE_SOURCE]);
    if (lines == 0)
        return error_set(ERR_INPUT, "%s: expected a line with a word", text[SIDE_TARGET]->file);
    d->of.count = count < lines ? count : lines;
    for (int side = 0; side < SIDES; side++) {
        if (!text[side]) continue;
        d->of.start[side] = d->start[side] = memory_new(d->of.count + 1, sizeof(size_t));
        d->of.token[side] = d->token[side] = memory_new(d->of.count, tokens * sizeof(int32_t));
        if (!d->start[side] || !d->token[side]) return ERR_MEMORY;
    }
    return draw(v, text, line, lines, tokens, seed, d);
}

int sentences_draw(const Vocab *v, const Text *t, const Text *source, size_t count, size_t tokens,
                   uint64_t seed, Drawn *out)
{
    const Text *const text[SIDES] = {[SIDE_TARGET] = t, [SIDE_SOURCE] = source};
    *out = (Drawn){0};
    if (source) TRY(text_pairs(source, t, v->eos));
    SCOPED(memory_drop) Line *line = memory_new(t->tokens, 2 * sizeof *line);
    if (!line) return ERR_MEMORY;
    return make(v, text, count, tokens, seed, (Line *const[]){line, line + t->tokens}, out);
}

void sentences_free(Drawn *d)
{
    for (int side = 0; side < SIDES; side++) {
        memory_free(d->start[side]);
        memory_free(d->token[side]);
    }
    *d = (Drawn){0};
}

size_t sentences_tokens(size_t asked, size_t trained)
{
    return asked == 0 || asked > trained ? trained : asked;
}

double sentences_tolerance(double asked, const Model *m)
{
    return asked > 0 || model_smooth(m) ? asked : SENTENCES_KINKS;
}
