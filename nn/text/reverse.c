/* reverse.c: a corpus of pairs that shows whether a model of two sides reads its source. A source is n symbols drawn
 * uniformly. Its target is the same symbols from the last to the first, each exchanged by a permutation pi drawn
 * from the seed:
 *     y_i = pi(x_{n+1-i}),  i = 1 .. n.
 * A target follows from its source, so the least loss is 0; a model that does not see the source knows where <eos>
 * stands and nothing else: ln V nats a symbol, and one sequence in V^n is exact by chance.
 *
 * Every sequence belongs to one split, by its hash alone. A sequence that is drawn for a split and belongs to
 * another is drawn again. So no validation or test pair occurs in training, whatever the seed. */
#include "nn/text/corpus.h"

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/random.h"
#include "kernels/base/hash.h"

enum { LENGTH = 12, SYMBOLS = 26, SYMBOLS_MAX = 10000, SHARES = 16 };

/* Stream of pi; + 1 + split: of the sources. */
static const uint64_t STREAM_REVERSE = UINT64_C(0x5265766572730000);
static const size_t PAIRS[SPLITS] = {20000, 500, 500};

static int split_of(const int32_t *x)
{
    uint64_t share = (hash_bytes(HASH_START, x, LENGTH * sizeof *x) >> 32) % SHARES;
    return share == 0 ? SPLIT_VALID : share == 1 ? SPLIT_TEST : SPLIT_TRAIN;
}

static int text_new(const char *split, const char *side, size_t lines, Text *t)
{
    char file[32];
    snprintf(file, sizeof file, "reverse %s %s", split, side);
    t->file = memory_string(file);
    t->id = memory_new(lines * (LENGTH + 1), sizeof *t->id);
    t->lines = lines;
    return t->file && t->id ? 0 : ERR_MEMORY;
}

/* Draws pairs. pi (V) exchanges symbol i + 1 for pi[i] + 1; 0 is <eos>. */
static int draw_pairs(size_t V, uint64_t seed, const uint32_t *pi, int split, size_t pairs,
                      Text *source, Text *target)
{
    static const char *const name[SPLITS] = {"train", "valid", "test"};
    uint64_t stream = STREAM_REVERSE + 1 + (uint64_t)split, drawn = 0;
    TRY(text_new(name[split], "source", pairs, source));
    TRY(text_new(name[split], "target", pairs, target));
    for (size_t i = 0; i < pairs; i++) {
        int32_t *x = source->id + i * (LENGTH + 1), *y = target->id + i * (LENGTH + 1);
        do
            for (size_t j = 0; j < LENGTH; j++)
                x[j] = 1 + (int32_t)random_below(seed, stream, drawn++, V);
        while (split_of(x) != split);
        for (size_t j = 0; j < LENGTH; j++) y[j] = 1 + (int32_t)pi[x[LENGTH - 1 - j] - 1];
        x[LENGTH] = y[LENGTH] = 0;
    }
    source->tokens = target->tokens = pairs * (LENGTH + 1);
    return 0;
}

int reverse_corpus(const char *name, uint64_t seed, int splits, size_t most, Corpus *c)
{
    size_t V, lines = most / (LENGTH + 1) + (most % (LENGTH + 1) > 0);
    TRY(vocab_number(name, SYMBOLS, SYMBOLS_MAX, &V));
    SCOPED(memory_drop) uint32_t *pi = memory_new(V, sizeof *pi);
    if (!pi) return ERR_MEMORY;
    random_permutation(seed, STREAM_REVERSE, V, pi);
    TRY(vocab_numbered("", V + 1, &c->vocab));
    for (int i = 0; i < splits; i++) {
        size_t pairs = i != SPLIT_TRAIN && lines < PAIRS[i] ? lines : PAIRS[i];
        TRY(draw_pairs(V, seed, pi, i, pairs, &c->source[i], &c->text[i]));
    }
    c->entropy_rate = 0;
    return 0;
}
