/* bench_lengths.c: makes pairs of sentences that are as long as those of Multi30k, of random words.
 *
 * Lengths are drawn from two tables, in thousandths: the pieces of a source of the training text (10,000 merges learned
 * from both languages), and how many more its target has, taken as independent. With <eos> the means are 14.7 for the
 * source and 14.8 for the target, as in the text; the text's standard deviations are 4.4 and 4.9. Words have
 * probability about 1/(1 + rank).
 * Source: Multi30k, train.en and train.de (Elliott et al. 2016), counted in the pieces of `trotter bpe`. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/bench/bench.h"

enum { EPOCH = 100 /* batches, about as many as Multi30k has with 4,096 tokens each */ };
enum { SHORTEST = 5, LEAST_MORE = -6, FEWEST = 3 };
enum { FIRST_WORD = 2 /* 0 is <eos>, 1 is a peer's padding */ };
static const int source_share[] = {1,  6,  23, 48, 71, 92, 105, 104, 98, 90, 76, 61, 51, 41, 32,
                                   24, 20, 14, 11, 8,  6,  5,   3,   3,  2,  1,  1,  1,  1,  1};
static const int more_share[] = {10, 13, 28, 62, 120, 187, 199, 143, 95, 61, 35, 21, 12, 7, 4, 3};

static size_t draw(const int *share, double u)
{
    size_t i = 0;
    for (double sum = share[0]; 1000 * u >= sum; sum += share[i]) i++;
    return i;
}

/* Adds a line of n words. */
static void put_line(Text *t, size_t n, size_t V, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) {
        double rank = pow((double)(V - FIRST_WORD + 1), random_uniform(1, stream, t->tokens)) - 1;
        t->id[t->tokens++] = (int32_t)rank + FIRST_WORD;
    }
    t->id[t->tokens++] = 0;
    t->lines++;
}

/* Replaces borrowed arrays by owned copies. */
static int keep(Batch *x)
{
    Batch y = *x;
    size_t N = x->N, M = x->source.N, S = x->S + 1;
    int32_t *id = memory_new(3 * N + 2 * M, sizeof *id);
    size_t *start = memory_new(2 * S, sizeof *start);
    x->input = id, x->start = start;
    if (!id || !start) return ERR_MEMORY;
    x->target = id + N, x->position = id + 2 * N;
    x->source.input = id + 3 * N, x->source.position = id + 3 * N + M;
    x->source.start = start + S;
    memcpy(x->input, y.input, N * sizeof *id);
    memcpy(x->target, y.target, N * sizeof *id);
    memcpy(x->position, y.position, N * sizeof *id);
    memcpy(x->source.input, y.source.input, M * sizeof *id);
    memcpy(x->source.position, y.source.position, M * sizeof *id);
    memcpy(x->start, y.start, S * sizeof *start);
    memcpy(x->source.start, y.source.start, S * sizeof *start);
    return 0;
}

/* The place of a batch in an epoch. */
typedef struct {
    size_t pairs, number;
} Place;

static int longer(const void *x, const void *y)
{
    const Place *a = x, *b = y;
    if (a->pairs != b->pairs) return a->pairs > b->pairs ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Takes `count` of an epoch's batches, at equal distances in the order of their lengths. */
static int take(Batches *b, size_t count, Batch *out)
{
    size_t n = batches_count(b);
    SCOPED(memory_drop) Place *place = memory_new(n, sizeof *place);
    if (!place) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        Batch x;
        TRY(batches_get(b, i, &x));
        place[i] = (Place){x.S, i};
    }
    qsort(place, n, sizeof *place, longer);
    for (size_t i = 0; i < count; i++) {
        TRY(batches_get(b, place[(2 * i + 1) * n / (2 * count)].number, &out[i]));
        TRY(keep(&out[i]));
    }
    return 0;
}

int lengths_batches(size_t V, size_t most, size_t count, Batch *out)
{
    size_t pairs = EPOCH * most / 15, room = pairs * LENGTHS_LONGEST;
    Text source = {.file = (char *)"source"}, target = {.file = (char *)"target"};
    memset(out, 0, count * sizeof *out);
    SCOPED(memory_drop) int32_t *from = source.id = memory_new(room, sizeof *from);
    SCOPED(memory_drop) int32_t *to = target.id = memory_new(room, sizeof *to);
    if (!from || !to) return ERR_MEMORY;
    for (size_t i = 0; i < pairs; i++) {
        int n = SHORTEST + (int)draw(source_share, random_uniform(1, 1, i));
        int m = n + LEAST_MORE + (int)draw(more_share, random_uniform(1, 2, i));
        put_line(&source, (size_t)n, V, 3);
        put_line(&target, (size_t)(m < FEWEST ? FEWEST : m), V, 4);
    }
    Vocab v = {.eos = 0, .unk = -1};
    SCOPED(batches_drop) Batches *b = NULL;
    TRY(batches_new(&target, &source, &v, NULL, CONTEXT_SENTENCE, most, LENGTHS_LONGEST, 1, &b));
    batches_epoch(b, 0);
    return take(b, count, out);
}

void lengths_free(Batch *x)
{
    memory_free(x->input);
    memory_free(x->start);
}

int lengths_write(const Batch *x, size_t count, char **file)
{
    const char *folder = getenv("TMPDIR");
    char name[4096];
    snprintf(name, sizeof name, "%s/trotter-lengths-XXXXXX", folder && *folder ? folder : P_tmpdir);
    int fd = mkstemp(name);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) return error_set(ERR_SYSTEM, "%s: %s", name, strerror(errno));
    *file = memory_string(name);
    for (size_t i = 0; i < count; i++)
        for (size_t s = 0; s < x[i].S; s++)
            fprintf(f, "%zu %zu %zu\n", i, x[i].source.start[s + 1] - x[i].source.start[s],
                    x[i].start[s + 1] - x[i].start[s]);
    int failed = ferror(f);
    if (fclose(f) != 0 || failed || !*file) {
        unlink(name);
        *file = memory_free(*file);
        return failed ? error_set(ERR_SYSTEM, "cannot write %s", name) : ERR_MEMORY;
    }
    return 0;
}
