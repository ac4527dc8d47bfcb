/* bpe_learn.c: learns merges from texts, or from the pieces of a tokenizer (bpe.h, bpe_codes.h).
 *
 * Learning keeps the count of every pair of neighbouring symbols, and for every pair the words where it occurs. A merge
 * changes only these words. The largest count is searched among the pairs above a threshold; counts below it wait in
 * `rest` until no pair is left above. The count of a pair that comes back from there follows subword-nmt's learn_bpe.py
 * to the letter, also where a symbol is made in two ways and a waiting count is overwritten: only then are the codes
 * the same for every text. With bytes, counts are exact there too. */
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "nn/text/bpe_codes.h"

typedef struct {
    uint32_t *symbol; /* (n) */
    uint32_t n;
    int64_t count;
} Spelling;

typedef struct {
    uint32_t a, b;
    int64_t count, rest; /* count above the threshold; count below it */
    int alive;           /* it has a count above */
    size_t place;        /* place among the alive pairs */
    uint32_t *word;      /* (words) words where it occurs or did occur */
    size_t words;
} Pair;

typedef struct {
    Bpe *bpe;
    Spelling *word; /* (words), the most frequent first */
    size_t words;
    Pair *pair; /* (pairs) */
    size_t pairs;
    Numbers of; /* number of a pair */
    /* (pair, word): twice how often the pair is in the word, plus 1 where the word is listed */
    Numbers here;
    uint32_t *alive; /* (living) pairs with a count */
    size_t living;
    uint32_t *old; /* (longest) a word before a merge */
    double threshold;
    int bytes; /* 1: characters are bytes, and no end of a word is marked */
    BpeTell *tell;
} Learner;

static int pair_find(Learner *l, uint32_t a, uint32_t b, uint32_t *out)
{
    uint32_t *place = numbers_place(&l->of, bpe_pair(a, b), BPE_UNKNOWN);
    if (!place) return ERR_MEMORY;
    if (*place == BPE_UNKNOWN) {
        TRY(memory_add(l->pair, l->pairs, (Pair){.a = a, .b = b}));
        *place = (uint32_t)l->pairs - 1;
    }
    *out = *place;
    return 0;
}

static int make_alive(Learner *l, uint32_t p)
{
    if (l->pair[p].alive) return 0;
    TRY(memory_add(l->alive, l->living, p));
    l->pair[p].alive = 1;
    if (l->bytes) l->pair[p].count = l->pair[p].rest;
    l->pair[p].place = l->living - 1;
    return 0;
}

static void make_dead(Learner *l, uint32_t p)
{
    uint32_t last = l->alive[--l->living];
    l->alive[l->pair[p].place] = last;
    l->pair[last].place = l->pair[p].place;
    l->pair[p].alive = 0;
    l->pair[p].count = 0;
}

/* Counts the pair (a, b) `times` more often in word j. */
static int count_pair(Learner *l, uint32_t a, uint32_t b, uint32_t j, int times)
{
    uint32_t p;
    TRY(pair_find(l, a, b, &p));
    TRY(make_alive(l, p));
    Pair *q = &l->pair[p];
    q->count += times * l->word[j].count;
    uint32_t *here = numbers_place(&l->here, bpe_pair(p, j), 0);
    if (!here) return ERR_MEMORY;
    if (!(*here & 1)) {
        TRY(memory_add(q->word, q->words, j));
        *here |= 1;
    }
    *here += (uint32_t)(2 * times); /* may pass through numbers below 0, modulo 2^32 */
    return 0;
}

static int often(uint32_t here)
{
    return (int32_t)here >> 1 >= 1;
}

/* Moves counts below the threshold to the rest. A negative count reduces what is there already. */
static void prune(Learner *l)
{
    for (size_t i = 0; i < l->living;) {
        Pair *q = &l->pair[l->alive[i]];
        if (!((double)q->count < l->threshold)) {
            i++;
            continue;
        }
        q->rest = q->count < 0 && !l->bytes ? q->rest + q->count : q->count;
        make_dead(l, l->alive[i]);
    }
}

/* Symbols are compared bytewise, which is the order of code points; with bytes, the symbols made first are above. */
static int is_above(const Learner *l, const Pair *p, const Pair *q)
{
    const Word *w = l->bpe->symbol.word;
    if (p->count != q->count) return p->count > q->count;
    if (l->bytes) return p->a != q->a ? p->a < q->a : p->b < q->b;
    int order = words_compare(&w[p->a], &w[q->a]);
    return (order ? order : words_compare(&w[p->b], &w[q->b])) > 0;
}

static uint32_t most_frequent(const Learner *l)
{
    uint32_t best = l->alive[0];
    for (size_t i = 1; i < l->living; i++)
        if (is_above(l, &l->pair[l->alive[i]], &l->pair[best])) best = l->alive[i];
    return best;
}

/* Gives every pair its whole count again. */
static int bring_back(Learner *l)
{
    prune(l);
    for (uint32_t p = 0; p < l->pairs; p++) {
        if (l->pair[p].alive) make_dead(l, p);
        TRY(make_alive(l, p));
        l->pair[p].count = l->pair[p].rest;
    }
    return 0;
}

/* Replaces every (a, b) in word j by one symbol, and adjusts the neighbours' counts. */
static int merge_in_word(Learner *l, uint32_t j, const Merge *m)
{
    Spelling *w = &l->word[j];
    uint32_t n = w->n, *old = l->old, *now = w->symbol, size = 0;
    memcpy(old, now, n * sizeof *old);
    for (uint32_t i = 0; i < n; i++) {
        int both = old[i] == m->a && i + 1 < n && old[i + 1] == m->b;
        now[size++] = both ? m->made : old[i];
        i += (uint32_t)both;
    }
    w->n = size;
    for (uint32_t i = 0; i < n;) {
        if (old[i] != m->a || i + 1 >= n || old[i + 1] != m->b) {
            i++;
            continue;
        }
        if (i) TRY(count_pair(l, old[i - 1], old[i], j, -1));
        /* In a b a b the middle pair counts as the left neighbour of the second. */
        if (i + 2 < n && (old[i + 2] != m->a || i + 3 >= n || old[i + 3] != m->b))
            TRY(count_pair(l, old[i + 1], old[i + 2], j, -1));
        i += 2;
    }
    for (uint32_t i = 0; i < size; i++) {
        if (now[i] != m->made) continue;
        if (i) TRY(count_pair(l, now[i - 1], now[i], j, 1));
        if (i + 1 < size && now[i + 1] != m->made) TRY(count_pair(l, now[i], now[i + 1], j, 1));
    }
    return 0;
}

static int merge_pair(Learner *l, uint32_t p)
{
    TRY(bpe_merge(l->bpe, l->pair[p].a, l->pair[p].b));
    Merge m = l->bpe->merge[l->bpe->merges - 1];
    /* The pair's list begins anew, because merging may add words to it. `word` is the old list. */
    SCOPED(memory_drop) uint32_t *word = l->pair[p].word;
    size_t words = l->pair[p].words, kept = 0;
    l->pair[p].word = NULL;
    l->pair[p].words = 0;
    for (size_t i = 0; i < words; i++) {
        uint32_t *here = numbers_place(&l->here, bpe_pair(p, word[i]), 0);
        if (!here) return ERR_MEMORY; /* the map had to grow */
        if (often(*here)) word[kept++] = word[i];
        *here = 0;
    }
    for (size_t i = 0; i < kept; i++) TRY(merge_in_word(l, word[i], &m));
    l->pair[p].count = 0;
    return 0;
}

static int learn_merges(Learner *l, size_t merges)
{
    uint32_t best = most_frequent(l);
    l->threshold = (double)l->pair[best].count / 10;
    for (uint32_t p = 0; p < l->pairs; p++) l->pair[p].rest = l->pair[p].count;
    for (size_t i = 0; i < merges; i++) {
        if (l->living) best = most_frequent(l);
        if (!l->living || (i && (double)l->pair[best].count < l->threshold)) {
            TRY(bring_back(l));
            best = most_frequent(l);
            l->threshold = (double)l->pair[best].count * (double)i / ((double)i + 10000.0);
            prune(l);
        }
        if (l->pair[best].count < 2) break;
        TRY(merge_pair(l, best));
        if (i % 100 == 0) prune(l);
        if (i % 100 == 0 && l->tell) l->tell(i, merges);
        if (!l->tell) tick_of((double)i, (double)merges);
    }
    return 0;
}

/* Sorts by falling count, then order of appearance: a merge sort, because qsort need not keep that order. */
static int sort_words(Words *w)
{
    SCOPED(memory_drop) Word *other = memory_new(w->size, sizeof *other);
    if (!other) return ERR_MEMORY;
    for (size_t run = 1; run < w->size; run *= 2) {
        for (size_t lo = 0; lo < w->size; lo += 2 * run) {
            size_t mid = lo + run < w->size ? lo + run : w->size,
                   hi = mid + run < w->size ? mid + run : w->size;
            for (size_t i = lo, j = mid, k = lo; k < hi; k++)
                other[k] = j == hi || (i < mid && w->word[i].count >= w->word[j].count)
                               ? w->word[i++]
                               : w->word[j++];
        }
        memcpy(w->word, other, w->size * sizeof *other);
    }
    return 0;
}

static size_t character(const Learner *l, const char *p)
{
    return l->bytes ? 1 : bpe_character(p);
}

static int spell(Learner *l, const Word *w, Spelling *s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < w->bytes; i += character(l, w->text + i)) n++;
    s->symbol = memory_new(n, sizeof *s->symbol);
    if (!s->symbol) return ERR_MEMORY;
    s->count = (int64_t)w->count;
    for (size_t i = 0, size; i < w->bytes; i += size) {
        size = character(l, w->text + i);
        size_t end = i + size == w->bytes && !l->bytes ? (sizeof BPE_END - 1) : 0;
        TRY(bpe_symbol(l->bpe, w->text + i, size, BPE_END, end, &s->symbol[s->n++]));
    }
    return 0;
}

static int learn(Learner *l, Words *w, size_t merges)
{
    size_t longest = 0;
    if (w->size >= UINT32_MAX) return error_set(ERR_INPUT, "more than 2^32 words");
    TRY(sort_words(w));
    l->word = memory_new(w->size, sizeof *l->word);
    if (!l->word) return ERR_MEMORY;
    for (size_t j = 0; j < w->size; j++) {
        l->words = j + 1;
        TRY(spell(l, &w->word[j], &l->word[j]));
        if (l->word[j].n > longest) longest = l->word[j].n;
    }
    l->old = memory_new(longest, sizeof *l->old);
    if (!l->old) return ERR_MEMORY;
    for (uint32_t j = 0; j < l->words; j++)
        for (uint32_t i = 0; i + 1 < l->word[j].n; i++)
            TRY(count_pair(l, l->word[j].symbol[i], l->word[j].symbol[i + 1], j, 1));
    if (l->living) TRY(learn_merges(l, merges));
    return l->bpe->merges ? 0 : error_set(ERR_INPUT, "no two characters are neighbours twice");
}

static void learner_free(Learner *l)
{
    for (size_t j = 0; j < l->words; j++) memory_free(l->word[j].symbol);
    for (size_t p = 0; p < l->pairs; p++) memory_free(l->pair[p].word);
    memory_free_all(l->word, l->pair, l->alive, l->old);
    numbers_free(&l->of);
    numbers_free(&l->here);
    bpe_free(l->bpe);
}

/* Learns from words. *out: l's merges, which l has no more. */
static int learn_from(Learner *l, Words *w, size_t merges, Bpe **out)
{
    int code = merges ? learn(l, w, merges) : error_set(ERR_INPUT, "0 merges: nothing is learned");
    if (code) return code;
    *out = l->bpe;
    l->bpe = NULL;
    return 0;
}

/* Refuses a word of more than BPE_WORD_MOST bytes. */
static int check_lengths(const BpeText *t)
{
    for (const char *at = t->bytes, *end = at + t->count; at < end; at++) {
        size_t n = 0, left = (size_t)(end - at);
        while (n < left && at[n] != ' ' && at[n] != '\n') n++;
        if (n > BPE_WORD_MOST)
            return error_set(ERR_INPUT,
                             "%s:%zu: a word of %zu bytes: expected at most %d, as no word is "
                             "longer; are blanks missing?",
                             t->file, text_line(t, at), n, BPE_WORD_MOST);
        at += n;
    }
    return 0;
}

int bpe_learn(const BpeText *text, size_t texts, size_t merges, BpeTell *tell, Bpe **out)
{
    SCOPED(words_free) Words w = {0};
    SCOPED(learner_free) Learner l = {.bpe = memory_new(1, sizeof *l.bpe), .tell = tell};
    *out = NULL;
    if (!l.bpe) return ERR_MEMORY;
    for (size_t i = 0; i < texts; i++) {
        TRY(text_check(&text[i]));
        TRY(check_lengths(&text[i]));
        TRY(bpe_words(&text[i], &w));
    }
    return learn_from(&l, &w, merges, out);
}

int bpe_learn_pieces(Words *w, const unsigned char byte[256], size_t merges, BpeTell *tell,
                     Bpe **out)
{
    SCOPED(learner_free)
    Learner l = {.bpe = memory_new(1, sizeof *l.bpe), .bytes = 1, .tell = tell};
    uint32_t id;
    *out = NULL;
    if (!l.bpe) return ERR_MEMORY;
    for (int i = 0; i < 256; i++) TRY(bpe_symbol(l.bpe, (const char *)&byte[i], 1, "", 0, &id));
    return learn_from(&l, w, merges, out);
}
