/* symbols.c: counts n-grams in a hash table of open addressing, whose keys are windows of the hypothesis (linear
 * probing, at most half full; Knuth 1998, volume 3, section 6.4, algorithm L). */
#include "studies/metrics/tokenise.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/text/hash.h"

/* ---- sequences ----------------------------------------------------------------------------------- */

int symbols_room(Symbols *s, size_t room)
{
    if (room <= s->room) return 0;
    uint32_t *grown = memory_grow(s->x, s->n, room, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    s->x = grown;
    s->room = room;
    return 0;
}

int symbols_add(Symbols *s, uint32_t symbol)
{
    if (s->n == s->room) TRY(symbols_room(s, s->room ? 2 * s->room : 64));
    s->x[s->n++] = symbol;
    return 0;
}

void symbols_free(Symbols *s)
{
    memory_free(s->x);
    *s = (Symbols){0};
}

int symbols_words(const Symbols *text, Words *words, Symbols *out)
{
    out->n = 0;
    for (size_t i = 0, end; i < text->n; i = end + 1) {
        for (end = i; end < text->n && text->x[end] != ' ';) end++;
        const char *word = (const char *)(text->x + i);
        size_t bytes = (end - i) * sizeof *text->x;
        TRY(words_add(words, word, bytes, 1));
        TRY(symbols_add(out, (uint32_t)words_find(words, word, bytes)));
    }
    return 0;
}

/* ---- n-grams ------------------------------------------------------------------------------------- */

typedef struct GramSlot {
    const uint32_t *gram; /* NULL: an empty slot */
    size_t of_a;          /* its count in the hypothesis */
    size_t here, most;    /* counts in the current reference; in the one that has most */
} GramSlot;

static GramSlot *find_slot(GramSlot *slot, size_t slots, const uint32_t *gram, size_t n)
{
    size_t bytes = n * sizeof *gram, mask = slots - 1;
    uint64_t h = hash_bytes(HASH_START, gram, bytes);
    for (size_t s = (h ^ h >> 32) & mask;; s = (s + 1) & mask)
        if (!slot[s].gram || memcmp(slot[s].gram, gram, bytes) == 0) return &slot[s];
}

size_t grams_count(const Symbols *a, size_t n)
{
    return a->n < n ? 0 : a->n - n + 1;
}

int grams_match(Grams *room, size_t n, const Symbols *a, const Symbols *b, size_t references,
                size_t *matches)
{
    size_t slots = 16, count = grams_count(a, n);
    while (slots < 2 * count) slots *= 2;
    if (slots > room->slots) {
        GramSlot *grown = memory_grow(room->slot, room->slots, slots, sizeof *grown);
        if (!grown) return ERR_MEMORY;
        *room = (Grams){grown, slots};
    }
    GramSlot *slot = room->slot;
    memset(slot, 0, slots * sizeof *slot);
    for (size_t i = 0; i < count; i++) {
        GramSlot *s = find_slot(slot, slots, a->x + i, n);
        s->gram = a->x + i;
        s->of_a++;
    }
    for (size_t r = 0; r < references; r++) {
        for (size_t i = 0; i < grams_count(&b[r], n); i++) {
            GramSlot *s = find_slot(slot, slots, b[r].x + i, n);
            if (s->gram) s->here++;
        }
        for (size_t i = 0; i < slots; i++) {
            if (slot[i].here > slot[i].most) slot[i].most = slot[i].here;
            slot[i].here = 0;
        }
    }
    *matches = 0;
    for (size_t i = 0; i < slots; i++)
        *matches += slot[i].of_a < slot[i].most ? slot[i].of_a : slot[i].most;
    return 0;
}

void grams_free(Grams *g)
{
    memory_free(g->slot);
    *g = (Grams){0};
}
