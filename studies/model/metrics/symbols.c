/* symbols.c: sequences of numbers, and counts of their n-grams. */
#include "studies/model/metrics/tokenise.h"

#include "kernels/base/error.h"

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

size_t grams_count(const Symbols *a, size_t n)
{
    return a->n < n ? 0 : a->n - n + 1;
}

/* Counts the n-grams of a sequence, whose numbers they borrow. */
static int count_grams(const Symbols *a, size_t n, Words *out)
{
    for (size_t i = 0; i < grams_count(a, n); i++)
        TRY(words_add(out, (const char *)(a->x + i), n * sizeof *a->x, 1));
    return 0;
}

int grams_match(size_t n, const Symbols *a, const Symbols *b, size_t references, size_t *matches)
{
    SCOPED(words_free) Words of_a = {0};
    TRY(count_grams(a, n, &of_a));
    SCOPED(memory_drop) uint64_t *most = memory_new(of_a.size, sizeof *most);
    if (!most) return ERR_MEMORY;
    for (size_t r = 0; r < references; r++) {
        SCOPED(words_free) Words of_b = {0};
        TRY(count_grams(&b[r], n, &of_b));
        for (size_t i = 0; i < of_a.size; i++) {
            int32_t k = words_find(&of_b, of_a.word[i].text, of_a.word[i].bytes);
            if (k >= 0 && of_b.word[k].count > most[i]) most[i] = of_b.word[k].count;
        }
    }
    *matches = 0;
    for (size_t i = 0; i < of_a.size; i++)
        *matches += of_a.word[i].count < most[i] ? of_a.word[i].count : most[i];
    return 0;
}
