/* words.c: distinct words and their counts. Open addressing with linear probing, at most half full
 * (Knuth 1998, volume 3, section 6.4, algorithm L); nothing is ever removed. */
#include "nn/text/corpus.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/text/hash.h"

/* Returns the slot that holds the word, or the empty one where it belongs. slots > 0. */
static size_t find_slot(const Words *w, const char *text, size_t bytes)
{
    size_t mask = w->slots - 1;
    uint64_t h = hash_bytes(HASH_START, text, bytes);
    for (size_t s = (h ^ h >> 32) & mask;; s = (s + 1) & mask) {
        if (!w->slot[s]) return s;
        const Word *x = &w->word[w->slot[s] - 1];
        if (x->bytes == bytes && memcmp(x->text, text, bytes) == 0) return s;
    }
}

static int words_grow(Words *w)
{
    Words g = {.size = w->size, .slots = w->slots ? 2 * w->slots : 1024};
    g.slot = memory_new(g.slots, sizeof *g.slot);
    g.word = g.slot ? memory_grow(w->word, w->size, g.slots / 2, sizeof *g.word) : NULL;
    if (!g.word) {
        memory_free(g.slot);
        return ERR_MEMORY;
    }
    for (size_t i = 0; i < g.size; i++)
        g.slot[find_slot(&g, g.word[i].text, g.word[i].bytes)] = (uint32_t)i + 1;
    memory_free(w->slot);
    *w = g;
    return 0;
}

int words_add(Words *w, const char *text, size_t bytes, uint64_t count)
{
    if (w->size == INT32_MAX) return error_set(ERR_INPUT, "more than %d distinct words", INT32_MAX);
    if (w->size == w->slots / 2) TRY(words_grow(w));
    size_t s = find_slot(w, text, bytes);
    if (!w->slot[s]) {
        w->word[w->size++] = (Word){text, bytes, 0};
        w->slot[s] = (uint32_t)w->size;
    }
    w->word[w->slot[s] - 1].count += count;
    return 0;
}

int32_t words_find(const Words *w, const char *text, size_t bytes)
{
    return w->slots ? (int32_t)w->slot[find_slot(w, text, bytes)] - 1 : -1;
}

int words_compare(const Word *a, const Word *b)
{
    int order = memcmp(a->text, b->text, a->bytes < b->bytes ? a->bytes : b->bytes);
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

void words_free(Words *w)
{
    memory_free(w->word);
    memory_free(w->slot);
    *w = (Words){0};
}
