/* fixed_point.c: writes the text of the explicit scheme in which implicit stages are iterated a fixed number of times.
 *
 * The stages of a scheme fall into runs k_i .. k_j, each as short as it can be, in which no stage reads one behind its
 * run. A run that is one stage which does not read itself stays as it is. The others become
 *
 *     k^(0) = OP(y),   k^(r) = OP(its row, the run's slopes being those of k^(r-1)),   r = 1 .. corrections,
 *
 * where every k^(r) is a separate stage, and stages of a run with the same operator and set share one k^(0). Rows
 * outside the run read the last ones. Each correction adds one order, up to that of the scheme (Hairer, Norsett, Wanner
 * 1993, section II.7). */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/scheme/scheme.h"

enum { CORRECTIONS_MAX = 64 };

/* The run of a stage, and the numbers in the new text, from 1, of k^(0) and of the run's first k^(1). */
typedef struct {
    size_t begin, end; /* the run is begin .. end - 1 */
    int iterated;
    size_t first, next;
} Place;

typedef struct {
    const Table *t;
    Place *place; /* (stages) */
    size_t corrections, count;
    FILE *f;
} Iterated;

/* Returns the last stage that stage i reads, or i itself; *itself: stage i reads itself. */
static size_t last_read(const Table *t, size_t i, int *itself)
{
    const Row *r = &t->point[t->eval[t->stage[i].eval].point].row;
    size_t last = i;
    *itself = 0;
    for (size_t k = 0; k < r->terms; k++) {
        if (r->term[k].eval == TABLE_STATE || r->term[k].past) continue;
        size_t stage = (size_t)t->eval[r->term[k].eval].stage;
        *itself |= stage == i;
        if (stage > last) last = stage;
    }
    return last;
}

/* Numbers the stages of a run: k^(0) of each operator and set once, then the corrections in turn. */
static void number_run(Iterated *x, size_t begin, size_t end, int iterated)
{
    const Table *t = x->t;
    for (size_t i = begin; i < end; i++) {
        size_t same = begin;
        while (t->stage[same].op != t->stage[i].op || t->stage[same].set != t->stage[i].set) same++;
        size_t first = same < i ? x->place[same].first : ++x->count;
        x->place[i] = (Place){.begin = begin, .end = end, .iterated = iterated, .first = first};
    }
    for (size_t i = begin; i < end; i++) x->place[i].next = x->count + 1;
    if (iterated) x->count += x->corrections * (end - begin);
}

static void find_runs(Iterated *x)
{
    for (size_t begin = 0, end; begin < x->t->stages; begin = end) {
        int itself = 0;
        end = begin + 1;
        for (size_t i = begin; i < end; i++) {
            int reads;
            size_t last = last_read(x->t, i, &reads);
            itself |= reads;
            if (last >= end) end = last + 1;
        }
        number_run(x, begin, end, itself || end > begin + 1);
    }
}

static size_t number_of(const Iterated *x, size_t stage, size_t correction)
{
    const Place *p = &x->place[stage];
    if (!p->iterated || correction == 0) return p->first;
    return p->next + (correction - 1) * (p->end - p->begin) + stage - p->begin;
}

/* Writes a piece of a line with the new numbers of its slopes k_j. In the run that holds `stage` they are those of a
 * correction; elsewhere, and in the past, the last. */
static void put_words(const Iterated *x, const char *at, const char *end, size_t stage,
                      size_t correction)
{
    while (at < end) {
        size_t n = 0;
        while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '.')) n++;
        int slope = n > 1 && at[0] == 'k' && strspn(at + 1, "0123456789") == n - 1;
        if (slope) {
            size_t j = strtoul(at + 1, NULL, 10) - 1;
            const Place *p = stage < x->t->stages ? &x->place[stage] : NULL;
            int inside = p && j >= p->begin && j < p->end && at[n] != '[';
            fprintf(x->f, "k%zu", number_of(x, j, inside ? correction : x->corrections));
        } else {
            fwrite(at, 1, n ? n : 1, x->f);
        }
        at += n ? n : 1;
    }
}

static void put_head(const Iterated *x, size_t number, const Stage *s)
{
    fprintf(x->f, "k%zu = %c", number, table_letters[s->op]);
    if (s->set != 1) fprintf(x->f, "%d", s->set);
    fputc('(', x->f);
}

static void put_run(const Iterated *x, size_t begin, const char *const *row)
{
    const Place *run = &x->place[begin];
    const Table *t = x->t;
    size_t written = run->first - 1;
    for (size_t i = begin; run->iterated && i < run->end; i++) {
        if (x->place[i].first <= written) continue;
        put_head(x, written = x->place[i].first, &t->stage[i]);
        fputs("y)\n", x->f);
    }
    for (size_t r = 1; r <= (run->iterated ? x->corrections : 1); r++)
        for (size_t i = begin; i < run->end; i++) {
            put_head(x, number_of(x, i, r), &t->stage[i]);
            put_words(x, row[i], strchr(row[i], '\n') + 1, i, r - 1);
        }
}

static void put_text(const Iterated *x, const char *text, const char **row)
{
    size_t stage = 0, begin = 0;
    for (const char *at = text, *end; *at; at = end + 1) {
        end = strchr(at, '\n');
        if (at[0] == 'k' && isdigit((unsigned char)at[1])) {
            row[stage] = strchr(at, '(') + 1;
            if (++stage < x->place[begin].end) continue;
            put_run(x, begin, row);
            begin = stage;
        } else if (strncmp(at, "title", 5) == 0) {
            fprintf(x->f, "%.*s, %zu corrections by fixed point\n", (int)(end - at), at,
                    x->corrections);
        } else if (strncmp(at, "y' = ", 5) == 0 || strncmp(at, "error = ", 8) == 0) {
            put_words(x, at, end + 1, x->t->stages, 0);
        } else {
            fprintf(x->f, "%.*s\n", (int)(end - at), at);
        }
    }
}

static int check(const Table *t, int corrections, const char *name)
{
    if (!table_implicit(t))
        return error_set(ERR_INPUT, "'%s': '%s' has no implicit stage to iterate", name, t->name);
    if (corrections < 0 || corrections > CORRECTIONS_MAX)
        return error_set(ERR_INPUT, "'%s': expected 0 to %d corrections", name, CORRECTIONS_MAX);
    for (size_t i = 0; i < t->symbols; i++)
        if (t->symbol[i].inputs)
            return error_set(ERR_INPUT, "'%s': '%s' has a gate, which stages cannot be iterated by",
                             name, t->name);
    return 0;
}

int scheme_fixed_point(const Table *written, int corrections, const char *name, FILE *f)
{
    const Table *t = table_whole(written);
    TRY(check(t, corrections, name));
    char *text = NULL;
    size_t bytes;
    Iterated x = {.t = t, .corrections = (size_t)corrections, .f = f};
    const char **row = memory_new(t->stages, sizeof *row);
    x.place = memory_new(t->stages, sizeof *x.place);
    FILE *m = open_memstream(&text, &bytes);
    int code = m && row && x.place ? 0 : error_set(ERR_MEMORY, "out of memory");
    if (code == 0) code = table_print(written, m);
    if (m && fclose(m) != 0 && code == 0) code = error_set(ERR_MEMORY, "out of memory");
    if (code == 0) {
        find_runs(&x);
        put_text(&x, text, row);
    }
    free(text);
    memory_free(row);
    memory_free(x.place);
    return code;
}
