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
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/scheme/print.h"
#include "ode/scheme/scheme.h"

enum { CORRECTIONS_MAX = 64 };

/* The run of a stage, and the numbers in the new text, from 1, of k^(0) and of the run's first k^(1). */
typedef struct {
    size_t begin, end; /* the run is begin .. end - 1 */
    int iterated;
    size_t first, next;
} Place;

typedef struct {
    Pen pen; /* first, so that slope_number finds the rest behind it */
    const Table *t;
    Place *place; /* (stages) */
    size_t corrections, count;
    size_t stage,
        correction; /* the stage whose row is written, and its slopes' correction; t->stages: none */
} Iterated;

/* Returns the last stage that stage i reads, or i itself; *itself: stage i reads itself. */
static size_t last_read(const Table *t, size_t i, int *itself)
{
    const Row *r = &t->point[t->eval[t->stage[i].eval].point].row;
    size_t last = i;
    *itself = 0;
    for (size_t k = 0; k < r->terms; k++) {
        if (r->term[k].eval < 0 || r->term[k].past) continue;
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

/* Returns the new number of a slope. In the run of the stage in hand it is that of a correction; elsewhere, and in the
 * past, the last. */
static size_t slope_number(const Pen *pen, size_t j, int past)
{
    const Iterated *x = (const Iterated *)pen;
    const Place *p = x->stage < x->t->stages ? &x->place[x->stage] : NULL;
    int inside = p && j >= p->begin && j < p->end && !past;
    return number_of(x, j, inside ? x->correction : x->corrections);
}

static void put_start(const Iterated *x, size_t number, const Stage *s)
{
    fprintf(x->pen.f, "k%zu = %c", number, table_letters[s->op]);
    if (s->set != 1) fprintf(x->pen.f, "%d", s->set);
    fputs("(y)\n", x->pen.f);
}

static void put_run(Iterated *x, size_t begin)
{
    const Place *run = &x->place[begin];
    size_t written = run->first - 1;
    for (size_t i = begin; run->iterated && i < run->end; i++)
        if (x->place[i].first > written) put_start(x, written = x->place[i].first, &x->t->stage[i]);
    for (size_t r = 1; r <= (run->iterated ? x->corrections : 1); r++)
        for (x->stage = begin; x->stage < run->end; x->stage++) {
            x->correction = r - 1;
            print_stage(&x->pen, number_of(x, x->stage, r), x->stage);
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
    char behind[64];
    TRY(check(t, corrections, name));
    Iterated x = {.pen = print_pen(t, f), .t = t, .corrections = (size_t)corrections};
    x.pen.number = slope_number;
    if (!(x.place = memory_new(t->stages, sizeof *x.place))) return ERR_MEMORY;
    find_runs(&x);
    snprintf(behind, sizeof behind, ", %d corrections by fixed point", corrections);
    print_header(&x.pen, behind);
    x.stage = t->stages;
    print_beginning(&x.pen);
    for (size_t begin = 0; begin < t->stages; begin = x.place[begin].end) put_run(&x, begin);
    x.stage = t->stages;
    print_update(&x.pen, 0);
    memory_free(x.place);
    return 0;
}
