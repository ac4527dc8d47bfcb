/* unigram.c: a piece -> the tokens of Unigram (tokenizer_steps.h).
 *
 * A piece is cut where the sum of its tokens' scores, log probabilities, is largest. With best(0) = 0,
 *   best(j) = max over i < j with a token of score s from i to j of best(i) + s,
 * from the left (Viterbi 1967); of equal ones the first found, i from the left, stays. A character that is no token counts as one of a score 10 below
 * the least of all, as in SentencePiece; neighbours of these are one unknown, or tokens of bytes.
 *
 * Source: Kudo 2018, sections 3.2 and 3.3; Kudo, Richardson 2018. */
#include <math.h>
#include <string.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

/* The best cut up to a place: its last token (-1: a character that is none), which begins at `from`. */
typedef struct {
    double score;
    size_t from;
    int32_t id;
} Best;

static size_t character(const char *text, size_t bytes)
{
    ucs4_t c; /* u8_mblen would give NUL no byte */
    return (size_t)u8_mbtouc(&c, (const uint8_t *)text, bytes);
}

static int is_better(const Best *b, double score)
{
    return b->from == SIZE_MAX || score > b->score;
}

/* Fills best[0 .. bytes]. ERR_INPUT where a character that is no token would be taken, and no token stands for it. */
static int find_best(const Tokenizer *t, const char *file, const char *text, size_t bytes,
                     Best *best)
{
    for (size_t i = 0; i <= bytes; i++) best[i] = (Best){0, i ? SIZE_MAX : 0, -1};
    for (size_t i = 0, one; i < bytes; i += one) {
        double before = best[i].score;
        one = character(text + i, bytes - i);
        for (size_t end = i + one; end - i <= t->widest;) {
            int32_t id = tokenizer_known(t, text + i, end - i);
            double score = id < 0 ? t->unknown_score : t->score[id];
            if ((id >= 0 || end == i + one) && is_better(&best[end], score + before)) {
                if (id < 0 && t->unknown < 0) return tokenizer_unknown(t, file, text + i, one);
                best[end] = (Best){score + before, i, id};
            }
            if (end == bytes) break;
            end += character(text + end, bytes - end);
        }
    }
    return 0;
}

/* Appends what stands for characters that are no tokens: their bytes' tokens, where each has one, or the unknown token. */
static int put_unknown(const Tokenizer *t, const char *text, size_t bytes, int32_t **id,
                       size_t *count)
{
    int all = t->fallback;
    int32_t whole = tokenizer_known(t, text, bytes);
    if (whole >= 0) return memory_add(*id, *count, whole);
    for (size_t i = 0; i < bytes; i++) all &= t->byte[(unsigned char)text[i]] >= 0;
    for (size_t i = 0; i < bytes && all; i++)
        TRY(memory_add(*id, *count, t->byte[(unsigned char)text[i]]));
    return all ? 0 : memory_add(*id, *count, t->unknown);
}

int unigram_cut(const Tokenizer *t, const char *file, const char *text, size_t bytes, int32_t **id,
                size_t *count)
{
    SCOPED(memory_drop) Best *best = memory_new(bytes + 1, sizeof *best);
    SCOPED(memory_drop) size_t *next = memory_new(bytes + 1, sizeof *next);
    if (!best || !next) return ERR_MEMORY;
    TRY(find_best(t, file, text, bytes, best));
    for (size_t end = bytes; end; end = best[end].from) next[best[end].from] = end;
    for (size_t i = 0, end; i < bytes; i = end) {
        end = next[i];
        if (best[end].id >= 0 && best[end].id != t->unknown) {
            TRY(memory_add(*id, *count, best[end].id));
            continue;
        }
        while (end < bytes && (best[next[end]].id < 0 || best[next[end]].id == t->unknown))
            end = next[end];
        TRY(put_unknown(t, text + i, end - i, id, count));
    }
    return 0;
}
