/* masking.c: see masking.h. */
#include "nn/text/masking.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "nn/text/corpus.h"

/* Streams of the choices, and of the words drawn. */
enum { DRAW_CHOICE = 0x4d61736b, DRAW_WORD = 0x576f7264 };

static uint64_t stream_of(uint64_t draw, long epoch)
{
    return draw << 32 | (uint32_t)(epoch + 1);
}

static uint32_t share(double p)
{
    return (uint32_t)(p * 0x1p32);
}

int masking_draw(const Vocab *v, uint64_t seed, long epoch, size_t i, int32_t id, int32_t *input)
{
    uint32_t word[4];
    *input = id;
    if (id == v->eos) return 0;
    random_words(epoch < 0 ? 0 : seed, stream_of(DRAW_CHOICE, epoch < 0 ? -1 : epoch), i, word);
    if (word[0] >= share(MASKING_CHOSEN)) return 0;
    if (epoch < 0 || word[1] < share(MASKING_MASK))
        *input = v->mask;
    else if (word[1] < share(MASKING_MASK + MASKING_RANDOM))
        *input = (int32_t)random_below(seed, stream_of(DRAW_WORD, epoch), i,
                                       v->tokens ? v->size : v->size - 2);
    return 1;
}

int masking_has(const Vocab *v)
{
    if (v->tokens) return v->first >= 0 && v->mask >= 0;
    return v->size > 2 && v->first == (int32_t)v->size - 2 && v->mask == (int32_t)v->size - 1;
}

int masking_check(const Vocab *v, const char *file)
{
    if (masking_has(v)) return 0;
    return error_set(ERR_INPUT, "%s: its vocabulary does not end in " WORD_FIRST " and " WORD_MASK,
                     file);
}

int masking_words(Vocab *v)
{
    static const char *const marks[] = {WORD_FIRST, WORD_MASK};
    for (int i = 0; i < 2; i++)
        if (vocab_find(v, marks[i], strlen(marks[i])) >= 0)
            return error_set(
                ERR_INPUT, "the text has the word %s, which an encoder needs for itself", marks[i]);
    return vocab_append(v, marks, 2);
}
