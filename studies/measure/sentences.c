/* sentences.c: draws sentences of a text, as a model is given them. */
#include "studies/measure/sentences.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"

enum { STREAM_SENTENCES = 61 };

/* A line that has words: its first token and its length without <eos>. */
typedef struct {
    size_t first, words;
} Line;

static size_t find_lines(const Vocab *v, const Text *t, Line *line)
{
    size_t n = 0, first = 0;
    for (size_t i = 0; i < t->tokens; i++) {
        if (t->id[i] != v->eos) continue;
        if (i > first) line[n++] = (Line){first, i - first};
        first = i + 1;
    }
    return n;
}

static int draw(const Vocab *v, const Text *t, const Line *line, size_t lines, size_t tokens,
                uint64_t seed, Sentences *s, size_t *start, int32_t *token)
{
    uint32_t *order = memory_new(lines, sizeof *order);
    if (!order) return ERR_MEMORY;
    random_permutation(seed, STREAM_SENTENCES, lines, order);
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) {
        const Line *l = &line[order[i]];
        size_t words = l->words < tokens - 1 ? l->words : tokens - 1;
        start[i] = n;
        token[n++] = v->eos;
        memcpy(token + n, t->id + l->first, words * sizeof *token);
        n += words;
    }
    start[s->count] = n;
    memory_free(order);
    return 0;
}

int sentences_draw(const Vocab *v, const Text *t, size_t count, size_t tokens, uint64_t seed,
                   size_t **start, int32_t **token, Sentences *out)
{
    Line *line = memory_new(t->tokens, sizeof *line);
    size_t lines = line ? find_lines(v, t, line) : 0;
    *out = (Sentences){.count = count < lines ? count : lines};
    *start = memory_new(out->count + 1, sizeof **start);
    *token = memory_new(out->count, tokens * sizeof **token);
    int code = line && *start && *token ? 0 : ERR_MEMORY;
    if (code == 0 && lines == 0)
        code = error_set(ERR_INPUT, "%s: expected a line with a word", t->file);
    if (code == 0) code = draw(v, t, line, lines, tokens, seed, out, *start, *token);
    memory_free(line);
    out->start = *start;
    out->token = *token;
    return code;
}
