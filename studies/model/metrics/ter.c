/* ter.c: counts the edits of translation edit rate (metric.h), by greedy search over shifts.
 *
 *   1. The edit distance of hypothesis and reference gives an alignment: of two ways as short, the one with a
 *      substitution, then with a deletion, then with an insertion, seen from the end.
 *   2. Every run of 1 to 10 words that both have, at most 50 places apart, may move if some of its words are wrong in
 *      both and it does not stand aligned with itself: to the place before it and behind each of its words in the
 *      alignment.
 *   3. Of all these shifts the one that gains most is taken (among equals the longest, then the first, then that to the
 *      first place). It is one edit. Again from 1, until no shift gains or 1,000 shifts were tried.
 *
 * The edit distance is computed within 25 places of the diagonal, as tercom and sacreBLEU do; a longer reference widens
 * that. Source: Snover, Dorr, Schwartz, Micciulla, Makhoul 2006, algorithm 1; the limits are tercom's. */
#include "studies/model/metrics/metric.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/error.h"

enum { MOST_WORDS = 10, MOST_PLACES = 50, MOST_SHIFTS = 1000, BEAM = 25 };
enum { SAME, SUBSTITUTE, DELETE, INSERT }; /* an operation on the hypothesis */
static const uint32_t far_away = UINT32_MAX / 2;

typedef struct {
    size_t n, m;         /* words of the hypothesis, of the reference */
    const uint32_t *ref; /* (m) */
    size_t beam;
    double slope;      /* of the diagonal: m / n */
    uint32_t *row[2];  /* (m + 1) of distances */
    unsigned char *op; /* (n + 1, 2 beam), of row i from row_first(i) on */
    size_t *place; /* (m + 1) words of the hypothesis up to reference word j, its own included */
    unsigned char *wrong, *ref_wrong; /* (n), (m) */
    uint32_t *now, *moved, *best;     /* (n) the hypothesis, with a shift, with the best shift */
} Ter;

/* The best shift so far. */
typedef struct {
    int64_t gain;
    size_t from, length, to;
    int any;
} Shift;

/* ---- edit distance ------------------------------------------------------------------------------- */

/* Row i of the distances has the columns first .. end-1. */
static size_t row_first(const Ter *t, size_t i)
{
    size_t middle = (size_t)floor((double)i * t->slope);
    return middle > t->beam ? middle - t->beam : 0;
}

static size_t row_end(const Ter *t, size_t i)
{
    size_t end = (size_t)floor((double)i * t->slope) + t->beam;
    return i == 0 || end > t->m + 1 ? t->m + 1 : end;
}

/* Computes row i, `now`, from the row before. */
static void fill_row(Ter *t, size_t i, uint32_t word, uint32_t *before, uint32_t *now)
{
    size_t first = row_first(t, i), end = row_end(t, i);
    unsigned char *op = t->op + i * 2 * t->beam;
    for (size_t j = row_end(t, i - 1); j < end; j++) before[j] = far_away;
    if (first) now[first - 1] = far_away;
    for (size_t j = first; j < end; j++, op++) {
        now[j] = before[j] + 1;
        *op = DELETE;
        if (j == 0) continue;
        int differ = word != t->ref[j - 1];
        uint32_t diagonal = before[j - 1] + (uint32_t)differ;
        if (diagonal <= now[j]) now[j] = diagonal, *op = differ ? SUBSTITUTE : SAME;
        if (now[j - 1] + 1 < now[j]) now[j] = now[j - 1] + 1, *op = INSERT;
    }
}

/* Returns the edit distance of h (n) and the reference, and leaves the operations. */
static uint32_t distance(Ter *t, const uint32_t *h)
{
    for (size_t j = 0; j <= t->m; j++) t->row[0][j] = (uint32_t)j;
    for (size_t i = 1; i <= t->n; i++) fill_row(t, i, h[i - 1], t->row[(i + 1) % 2], t->row[i % 2]);
    return t->row[t->n % 2][t->m];
}

/* Follows the operations back. */
static void align(Ter *t)
{
    memset(t->wrong, 0, t->n);
    memset(t->ref_wrong, 0, t->m);
    for (size_t i = t->n, j = t->m; i > 0 || j > 0;) {
        int op = i ? t->op[i * 2 * t->beam + j - row_first(t, i)] : INSERT;
        if (op != DELETE) t->place[j] = i;
        if (op != DELETE && op != SAME) t->ref_wrong[j - 1] = 1;
        if (op != INSERT && op != SAME) t->wrong[i - 1] = 1;
        j -= op != DELETE;
        i -= op != INSERT;
    }
    t->place[0] = 0;
}

/* ---- shifts -------------------------------------------------------------------------------------- */

/* Writes x (n) with the words from .. from+length-1 at `to`. */
static void shift(const uint32_t *x, size_t n, const Shift *s, uint32_t *out)
{
    size_t k = 0, to = s->to > s->from + s->length ? s->to - s->length : s->to;
    if (to > n - s->length) to = n - s->length;
    for (size_t i = 0; i < n; i++) {
        int inside = i >= to && i < to + s->length;
        if (!inside && k == s->from) k += s->length;
        out[i] = inside ? x[s->from + i - to] : x[k++];
    }
}

static int is_better(const Shift *a, const Shift *b)
{
    if (!b->any || a->gain != b->gain) return !b->any || a->gain > b->gain;
    if (a->length != b->length) return a->length > b->length;
    return a->from != b->from ? a->from < b->from : a->to < b->to;
}

/* Tries to move `length` words at `from` to where the same words of the reference at `at` stand; returns how many shifts
 * were tried. */
static size_t try_places(Ter *t, uint32_t cost, size_t from, size_t at, size_t length, Shift *best)
{
    size_t tried = 0, last = SIZE_MAX;
    if (!memchr(t->wrong + from, 1, length) || !memchr(t->ref_wrong + at, 1, length)) return 0;
    if (t->place[at + 1] > from && t->place[at + 1] <= from + length) return 0;
    for (size_t k = 0; k <= length; k++) {
        Shift s = {.from = from, .length = length, .to = t->place[at + k], .any = 1};
        if (s.to == last) continue;
        last = s.to;
        shift(t->now, t->n, &s, t->moved);
        s.gain = (int64_t)cost - distance(t, t->moved);
        tried++;
        if (!is_better(&s, best)) continue;
        *best = s;
        memcpy(t->best, t->moved, t->n * sizeof *t->best);
    }
    return tried;
}

/* Finds the best shift of a hypothesis at distance `cost`. */
static void find_shift(Ter *t, uint32_t cost, size_t *tried, Shift *best)
{
    for (size_t i = 0; i < t->n; i++) {
        size_t end = i + MOST_PLACES < t->m ? i + MOST_PLACES + 1 : t->m;
        for (size_t j = i > MOST_PLACES ? i - MOST_PLACES : 0; j < end; j++)
            for (size_t k = 0; k < MOST_WORDS && i + k < t->n && j + k < t->m; k++) {
                if (t->now[i + k] != t->ref[j + k]) break;
                *tried += try_places(t, cost, i, j, k + 1, best);
                if (*tried >= MOST_SHIFTS) return;
            }
    }
}

static size_t count_edits(Ter *t)
{
    size_t shifts = 0, tried = 0;
    for (;;) {
        Shift best = {0};
        uint32_t cost = distance(t, t->now);
        align(t);
        find_shift(t, cost, &tried, &best);
        if (tried >= MOST_SHIFTS || best.gain <= 0) return shifts + cost;
        shifts++;
        memcpy(t->now, t->best, t->n * sizeof *t->now);
    }
}

/* ---- lines --------------------------------------------------------------------------------------- */

static int edits_of(const Symbols *h, const Symbols *r, size_t *out)
{
    Ter t = {.n = h->n, .m = r->n, .ref = r->x, .beam = BEAM, .slope = 1};
    *out = h->n;
    if (r->n == 0) return 0;
    if (t.n) t.slope = (double)t.m / (double)t.n;
    if (t.slope / 2 > BEAM) t.beam = (size_t)ceil(t.slope / 2 + BEAM);
    size_t n = t.n + 1, m = t.m + 1;
    SCOPED(memory_drop) uint32_t *words = memory_new(3 * n + 2 * m, sizeof *words);
    SCOPED(memory_drop) unsigned char *op = t.op = memory_new(n * 2 * t.beam + n + m, 1);
    SCOPED(memory_drop) size_t *place = t.place = memory_new(m, sizeof *place);
    if (!words || !op || !place) return ERR_MEMORY;
    t.now = words, t.moved = t.now + n, t.best = t.moved + n;
    t.row[0] = t.best + n, t.row[1] = t.row[0] + m;
    t.wrong = t.op + n * 2 * t.beam, t.ref_wrong = t.wrong + n;
    if (t.n) memcpy(t.now, h->x, t.n * sizeof *t.now);
    *out = count_edits(&t);
    return 0;
}

int ter_line(const Symbols *hypothesis, const Symbols *reference, size_t references, double *out)
{
    double length = 0;
    for (size_t r = 0; r < references; r++) {
        size_t edits;
        TRY(edits_of(hypothesis, &reference[r], &edits));
        if (r == 0 || (double)edits < out[TER_EDITS]) out[TER_EDITS] = (double)edits;
        length += (double)reference[r].n;
    }
    out[TER_LENGTH] = length / (double)references;
    return 0;
}

double ter_score(const double *sums)
{
    if (sums[TER_LENGTH] > 0) return 100 * sums[TER_EDITS] / sums[TER_LENGTH];
    return sums[TER_EDITS] > 0 ? 100 : 0;
}
