/* alignment.c: weights of tokens to pairs of words (alignment.h). */
#include "studies/translate/alignment.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* One side of a pair. */
typedef struct {
    size_t n, words;
    int32_t *input, *target, *position; /* (n) */
    size_t *word;                       /* (n) the word of each token */
    size_t start[2];
} Side;

static void side_free(Side *s)
{
    memory_free_all(s->input, s->position, s->word);
}

static int is_piece(const Network *n, int32_t id)
{
    const Vocab *v = (size_t)id < n->vocab.size ? &n->vocab : n->vocab.source;
    const char *word = v->word[(size_t)id - v->above];
    size_t bytes = strlen(word);
    return n->bpe && bytes > 2 && strcmp(word + bytes - 2, "@@") == 0;
}

/* Makes a side of n tokens, the last <eos>; `behind`: what the decoder reads, <eos> first. */
static int side_make(const Network *net, const int32_t *id, size_t n, int behind, Side *s)
{
    *s = (Side){.n = n, .start = {0, n}};
    s->input = memory_new(2 * n, sizeof *s->input);
    s->position = memory_new(n, sizeof *s->position);
    s->word = memory_new(n, sizeof *s->word);
    if (!s->input || !s->position || !s->word) return ERR_MEMORY;
    s->target = s->input + n;
    for (size_t i = 0; i < n; i++) {
        s->input[i] = behind ? (i ? id[i - 1] : net->vocab.eos) : id[i];
        s->target[i] = id[i];
        s->position[i] = (int32_t)i;
        s->word[i] = s->words;
        s->words += i + 1 < n && !is_piece(net, id[i]);
    }
    if (n > 1 && is_piece(net, id[n - 2])) s->words++; /* a word without its end */
    return 0;
}

/* Writes the source word with most weight of every target word; sum (source words): room. */
static void write_pairs(const Side *source, const Side *target, const double *weights, double *sum,
                        FILE *f)
{
    for (size_t j = 0, row = 0; j < target->words; j++) {
        size_t best = 0;
        memset(sum, 0, source->words * sizeof *sum);
        for (; row + 1 < target->n && target->word[row] == j; row++)
            for (size_t k = 0; k + 1 < source->n; k++)
                sum[source->word[k]] += weights[row * source->n + k];
        for (size_t i = 1; i < source->words; i++)
            if (sum[i] > sum[best]) best = i;
        fprintf(f, "%s%zu-%zu", j ? " " : "", best, j);
    }
}

int alignment_write(Model *const *model, size_t models, const Network *n, const int32_t *source,
                    size_t source_length, const int32_t *target, size_t target_length, FILE *f)
{
    Side from = {0}, to = {0};
    double *weights = memory_new((target_length + 1) * source_length, sizeof *weights);
    int code = weights ? side_make(n, source, source_length, 0, &from) : ERR_MEMORY;
    if (code == 0) code = side_make(n, target, target_length, 1, &to);
    Batch x = {.N = to.n,
               .S = 1,
               .longest = to.n,
               .input = to.input,
               .target = to.target,
               .position = to.position,
               .start = to.start};
    x.source.N = x.source.longest = from.n;
    x.source.input = from.input;
    x.source.position = from.position;
    x.source.start = from.start;
    for (size_t k = 0; k < models && code == 0; k++)
        code = model_cross_attention(model[k], &x, weights);
    if (code == 0) write_pairs(&from, &to, weights, weights + target_length * source_length, f);
    fputc('\n', f); /* whoever closes f checks the result */
    side_free(&from);
    side_free(&to);
    memory_free(weights);
    return code;
}
