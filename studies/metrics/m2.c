/* m2.c: builds the lattice and finds the best way through it. Edits are not listed. A vertex keeps the cost of the best
 * way to it between two edits, and inside an edit for each number of words that stayed. Only gold edits are edges made
 * of several single ones. */
#include "studies/metrics/m2.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* ---- the lattice --------------------------------------------------------------------------------- */

/* The single edges that lead to (i, j): from (i - 1, j - 1), (i - 1, j), (i, j - 1). */
enum { REPLACE = 1, DELETE = 2, INSERT = 4, REACHED = 8 };

typedef struct {
    const uint32_t *a, *b; /* words of the source (n) and of the hypothesis (m) */
    size_t n, m, wide;     /* wide = m + 1 */
    uint8_t *into;         /* (n + 1, m + 1); 0: (0, 0), and a place that is no vertex */
} Lattice;

static int stays(const Lattice *l, size_t i, size_t j)
{
    return l->a[i - 1] == l->b[j - 1];
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Adds the edges of all shortest paths from (0, 0) to (n, m), where deletions and insertions cost 1. Overwrites
 * d (n + 1, m + 1) by distances from (0, 0). Source: Wagner and Fischer 1974. */
static void add_shortest(Lattice *l, uint32_t replace, uint32_t *d)
{
    size_t wide = l->wide;
    for (size_t i = 0, v = 0; i <= l->n; i++)
        for (size_t j = 0; j <= l->m; j++, v++) {
            d[v] = (uint32_t)(i + j);
            if (i == 0 || j == 0) continue;
            d[v] = least(d[v - wide], d[v - 1]) + 1;
            d[v] = least(d[v], d[v - wide - 1] + (stays(l, i, j) ? 0 : replace));
        }
    l->into[l->n * wide + l->m] |= REACHED;
    for (size_t i = l->n + 1; i-- > 0;)
        for (size_t j = wide; j-- > 0;) {
            size_t v = i * wide + j;
            if (!(l->into[v] & REACHED)) continue;
            l->into[v] ^= REACHED;
            if (i && j && d[v] == d[v - wide - 1] + (stays(l, i, j) ? 0 : replace)) {
                l->into[v] |= REPLACE;
                l->into[v - wide - 1] |= REACHED;
            }
            if (i && d[v] == d[v - wide] + 1) {
                l->into[v] |= DELETE;
                l->into[v - wide] |= REACHED;
            }
            if (j && d[v] == d[v - 1] + 1) {
                l->into[v] |= INSERT;
                l->into[v - 1] |= REACHED;
            }
        }
}

/* Returns 1 where single edges lead from (i, j) to (i2, j2) with at most `most` words that stay. Overwrites
 * kept (m + 1) by the fewest such words on a way to each vertex of a row. */
static int is_joined(const Lattice *l, size_t i, size_t j, size_t i2, size_t j2, size_t most,
                     uint32_t *kept)
{
    const uint32_t far = UINT32_MAX / 2;
    for (size_t y = i; y <= i2; y++) {
        uint32_t corner = far; /* from the row before, at x - 1 */
        for (size_t x = j; x <= j2; x++) {
            uint8_t into = l->into[y * l->wide + x];
            uint32_t above = y > i ? kept[x] : far, best = y == i && x == j ? 0 : far;
            if (y > i && x > j && into & REPLACE) best = corner + (stays(l, y, x) ? 1 : 0);
            if (y > i && into & DELETE) best = least(best, above);
            if (x > j && into & INSERT) best = least(best, kept[x - 1]);
            corner = above;
            kept[x] = least(best, far);
        }
    }
    return kept[j2] <= most;
}

/* ---- ways ---------------------------------------------------------------------------------------- */

/* The cost of a way, in one number: START - MATCHED for each gold edit + STEP for each single edge outside them + EDIT
 * for each edit. The last two stay below STEP and MATCHED, as a way has at most 2 M2_WORDS single edges. */
typedef uint64_t Cost;
#define EDIT ((Cost)1)
#define STEP ((Cost)1 << 20)
#define MATCHED ((Cost)1 << 40)
#define START ((Cost)1 << 60)
#define FAR ((Cost)1 << 62)

/* Gold edits that are inserted at one place are matched in order. So a way also counts how many of those it has passed:
 * k < orders. */
typedef struct {
    const Lattice *lattice;
    size_t counts; /* numbers of words that stay in an edit: 0 .. counts - 1 */
    size_t orders;
    Cost *between; /* (n + 1, m + 1, orders) */
    Cost *
        inside[2]; /* (m + 1, counts, orders) each: of this row of vertices and of the one before */
    uint32_t *kept; /* (m + 1), for is_joined */
} Ways;

static void lower(Cost *to, Cost cost)
{
    if (cost < *to) *to = cost;
}

/* Goes one single edge on, from vertex u to v; from, to (counts, orders): costs inside an edit at u and v. */
static void go(const Ways *w, size_t u, size_t v, const Cost *from, Cost *to, int edge, int stay)
{
    const Cost *start = w->between + u * w->orders;
    Cost *end = w->between + v * w->orders;
    for (size_t k = 0; k < w->orders; k++) {
        size_t k2 = edge == INSERT ? k : 0; /* 0: another place of the source */
        if (stay)
            lower(&end[k2], start[k] + STEP);
        else
            lower(&to[k2], start[k] + STEP + EDIT);
        for (size_t c = 0; c + (size_t)stay < w->counts; c++)
            lower(&to[(c + (size_t)stay) * w->orders + k2], from[c * w->orders + k] + STEP);
    }
}

/* Extends all ways to (i, j) that end with a single edge. */
static void arrive(const Ways *w, size_t i, size_t j)
{
    const Lattice *l = w->lattice;
    size_t wide = l->wide, v = i * wide + j, each = w->counts * w->orders;
    Cost *here = w->inside[i % 2] + j * each, *between = w->between + v * w->orders;
    const Cost *above = w->inside[1 - i % 2] + j * each;
    for (size_t c = 0; c < each; c++) here[c] = FAR;
    if (l->into[v] & REPLACE) go(w, v - wide - 1, v, above - each, here, REPLACE, stays(l, i, j));
    if (l->into[v] & DELETE) go(w, v - wide, v, above, here, DELETE, 0);
    if (l->into[v] & INSERT) go(w, v - 1, v, here - each, here, INSERT, 0);
    for (size_t c = 0; c < each; c++) lower(&between[c % w->orders], here[c]);
}

/* Goes on from (e->start, j) with a gold edit; k: the number of gold edits before it that insert at the same place. */
static void go_gold(const Ways *w, const M2File *f, const M2Edit *e, size_t j, size_t k)
{
    const Lattice *l = w->lattice;
    const Cost *start = w->between + (e->start * l->wide + j) * w->orders;
    size_t length = e->end - e->start;
    for (size_t t = e->first; t < e->first + e->corrections; t++) {
        const uint32_t *word = f->words.x + f->correction[t].first;
        size_t n = f->correction[t].n, bytes = n * sizeof *word;
        if (j + n > l->m || (n && memcmp(word, l->b + j, bytes) != 0)) continue;
        if (n == length && (n == 0 || memcmp(word, l->a + e->start, bytes) == 0)) continue;
        if (!is_joined(l, e->start, j, e->end, j + n, w->counts - 1, w->kept)) continue;
        Cost *end = w->between + (e->end * l->wide + j + n) * w->orders;
        for (size_t o = 0; o < w->orders; o++) {
            if (length == 0 && o <= k) lower(&end[k + 1], start[o] + EDIT - MATCHED);
            if (length > 0) lower(&end[0], start[o] + EDIT - MATCHED);
        }
    }
}

/* Returns the least cost of a way to (n, m). */
static Cost find_way(const Ways *w, const M2File *f, const M2Set *set)
{
    const Lattice *l = w->lattice;
    const M2Edit *e = f->edit + set->first, *end = e + set->edits;
    size_t wide = l->wide, all = (l->n + 1) * wide;
    for (size_t v = 0; v < all * w->orders; v++) w->between[v] = FAR;
    for (size_t i = 0; i <= l->n; i++) {
        const M2Edit *next = e;
        while (next < end && next->start == i) next++;
        for (size_t j = 0; j <= l->m; j++) {
            size_t k = 0;
            arrive(w, i, j);
            if (i + j == 0) w->between[0] = START;
            if (i + j > 0 && !l->into[i * wide + j]) continue;
            for (const M2Edit *g = e; g < next; g++) {
                go_gold(w, f, g, j, k);
                k += g->start == g->end;
            }
        }
        e = next;
    }
    Cost best = FAR;
    for (size_t o = 0; o < w->orders; o++) lower(&best, w->between[(all - 1) * w->orders + o]);
    return best;
}

/* Returns one more than the most edits of a set that insert at one place. */
static size_t count_orders(const M2File *f, const M2Set *set)
{
    size_t most = 0, here = 0;
    for (size_t i = 0; i < set->edits; i++) {
        const M2Edit *e = &f->edit[set->first + i];
        if (i && e->start != e[-1].start) here = 0;
        here += e->start == e->end;
        if (here > most) most = here;
    }
    return most + 1;
}

/* ---- counts -------------------------------------------------------------------------------------- */

static int lattice_new(const M2File *f, const M2Sentence *s, const Symbols *hypothesis, Lattice *l)
{
    *l = (Lattice){.a = f->words.x + s->source.first, .b = hypothesis->x, .n = s->source.n};
    l->m = hypothesis->n;
    l->wide = l->m + 1;
    size_t all = (l->n + 1) * l->wide;
    uint32_t *d = memory_new(all, sizeof *d);
    l->into = d ? memory_new(all, sizeof *l->into) : NULL;
    for (uint32_t replace = 1; l->into && replace <= 2; replace++) add_shortest(l, replace, d);
    memory_free(d);
    return l->into ? 0 : ERR_MEMORY;
}

static int count_set(const M2File *f, const Lattice *l, const M2Set *set, size_t max_unchanged,
                     M2Counts *out)
{
    size_t few = l->n < l->m ? l->n : l->m;
    Ways w = {.lattice = l, .counts = (max_unchanged < few ? max_unchanged : few) + 1};
    w.orders = count_orders(f, set);
    size_t row = l->wide * w.counts;
    w.between = memory_new((l->n + 1) * l->wide, w.orders * sizeof *w.between);
    w.inside[0] = memory_new(2 * row, w.orders * sizeof **w.inside);
    w.kept = memory_new(l->wide, sizeof *w.kept);
    int code = w.between && w.inside[0] && w.kept ? 0 : ERR_MEMORY;
    if (code == 0) {
        w.inside[1] = w.inside[0] + row * w.orders;
        Cost cost = find_way(&w, f, set);
        out->correct = (size_t)((START + MATCHED - 1 - cost) / MATCHED);
        out->proposed = (size_t)(cost % STEP);
        out->gold = set->edits;
    }
    memory_free(w.between);
    memory_free(w.inside[0]);
    memory_free(w.kept);
    return code;
}

int m2_count(const M2File *f, const M2Sentence *s, const M2Set *set, const Symbols *hypothesis,
             size_t max_unchanged, M2Counts *out)
{
    Lattice l;
    int code = lattice_new(f, s, hypothesis, &l);
    if (code == 0) code = count_set(f, &l, set, max_unchanged, out);
    memory_free(l.into);
    return code;
}

double m2_precision(const M2Counts *c)
{
    return c->proposed ? 100 * (double)c->correct / (double)c->proposed : 100;
}

double m2_recall(const M2Counts *c)
{
    return c->gold ? 100 * (double)c->correct / (double)c->gold : 100;
}

/* Computes F from the counts in one division, so that equal fractions give equal numbers and ties are ties. */
double m2_f(const M2Counts *c, double beta)
{
    double square = beta * beta;
    if (c->correct == 0) return c->proposed + c->gold ? 0 : 100;
    return 100 * ((1 + square) * (double)c->correct) /
           (square * (double)c->gold + (double)c->proposed);
}

/* Returns > 0 where a is better than b, < 0 where it is worse. */
static int compare(const M2Counts *a, const M2Counts *b, double beta)
{
    double x = m2_f(a, beta), y = m2_f(b, beta);
    if (x != y) return x > y ? 1 : -1;
    if (a->correct != b->correct) return a->correct > b->correct ? 1 : -1;
    x = (double)a->proposed + beta * beta * (double)a->gold;
    y = (double)b->proposed + beta * beta * (double)b->gold;
    return (x < y) - (x > y);
}

static int score_sentence(const M2File *f, const M2Sentence *s, const Symbols *hypothesis,
                          const M2Options *o, M2Counts *total, M2Choice *chosen)
{
    Lattice l;
    M2Counts before = *total;
    int code = lattice_new(f, s, hypothesis, &l);
    for (const M2Set *set = f->set + s->first, *end = set + s->sets; code == 0 && set < end;
         set++) {
        M2Counts c;
        code = count_set(f, &l, set, o->max_unchanged, &c);
        if (code != 0) break;
        M2Counts sum = {before.correct + c.correct, before.proposed + c.proposed,
                        before.gold + c.gold};
        if (set > f->set + s->first && compare(&sum, total, o->beta) <= 0) continue;
        *total = sum;
        *chosen = (M2Choice){set->annotator, c};
    }
    memory_free(l.into);
    return code;
}

int m2_score(const M2File *f, const Lines *hypothesis, const M2Options *o, M2Counts *total,
             M2Choice *each)
{
    Symbols words = {0};
    M2Choice chosen;
    int code = 0;
    *total = (M2Counts){0};
    if (hypothesis->count != f->sentences)
        return error_set(ERR_INPUT,
                         "%s has %zu lines and %s %zu sentences: expected line i to belong to "
                         "sentence i",
                         hypothesis->file, hypothesis->count, f->lines.file, f->sentences);
    for (size_t i = 0; code == 0 && i < f->sentences; i++) {
        code = m2_file_words(f, hypothesis->line[i], &words);
        if (code == 0 && words.n > M2_WORDS)
            code = error_set(ERR_INPUT, "%s:%zu: more than %d words", hypothesis->file, i + 1,
                             M2_WORDS);
        if (code == 0) code = score_sentence(f, &f->sentence[i], &words, o, total, &chosen);
        if (code == 0 && each) each[i] = chosen;
    }
    symbols_free(&words);
    return code;
}
