/* library_scheme.c: implements the schemes of trotter.h. */
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "studies/api/library/library.h"
#include "studies/theory/order_conditions.h"
#include "studies/theory/expansion.h"
#include "studies/base/plot/contour.h"
#include "studies/base/command.h"

_Static_assert((int)TROTTER_INPUT == (int)ERR_INPUT && (int)TROTTER_MEMORY == (int)ERR_MEMORY &&
                   (int)TROTTER_SYSTEM == (int)ERR_SYSTEM &&
                   (int)TROTTER_MISUSE == (int)ERR_MISUSE &&
                   (int)TROTTER_NUMERIC == (int)ERR_NUMERIC &&
                   (int)TROTTER_ACCURACY == (int)ERR_ACCURACY,
               "codes are those of kernels/base/error.h");

const char *trotter_version(void)
{
    return TROTTER_VERSION;
}

const char *trotter_error(void)
{
    return error_text();
}

void trotter_free(void *p)
{
    memory_free(p);
}

int library_given(const char *call, const void *const *pointer, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!pointer[i]) return error_set(ERR_MISUSE, "%s: a NULL pointer", call);
    return 0;
}

/* ---- one thread at a time -------------------------------------------------------------------------- */

static void lock_begin(Lock *l)
{
    pthread_mutexattr_t again;
    pthread_mutexattr_init(&again);
    pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&l->mutex, &again);
    pthread_mutexattr_destroy(&again);
    l->process = getpid();
}

Lock *library_lock_new(void)
{
    Lock *l = memory_new(1, sizeof *l);
    if (l) lock_begin(l);
    return l;
}

Lock *library_lock(Lock *l)
{
    if (l->process != getpid()) lock_begin(l);
    pthread_mutex_lock(&l->mutex);
    return l;
}

void library_unlock(Lock **l)
{
    pthread_mutex_unlock(&(*l)->mutex);
}

/* ---- read and print ------------------------------------------------------------------------------ */

/* Makes *out a scheme of a table, which it takes over in any case. */
static int take_table(Table *t, TrotterScheme **out)
{
    TrotterScheme *s = memory_new(1, sizeof *s);
    if (!s) {
        table_free(t);
        return ERR_MEMORY;
    }
    *s = (TrotterScheme){.table = t,
                         .frozen = table_freeze(t),
                         .lock = library_lock_new(),
                         .order = memory_new(2, sizeof *s->order)};
    if (!s->frozen || !s->lock || !s->order) {
        trotter_scheme_free(s);
        return ERR_MEMORY;
    }
    s->estimate = s->order + 1;
    *s->order = *s->estimate = -1;
    *out = s;
    return 0;
}

int trotter_scheme_find(const char *name, TrotterScheme **out)
{
    SCOPED(zoo_close) Zoo z = {0};
    Table *t = NULL;
    GIVEN(out);
    *out = NULL;
    GIVEN(name);
    TRY(zoo_open(&z));
    TRY(zoo_find(&z, name, "exact", &t));
    return take_table(t, out);
}

/* Returns the number of the scheme with this name, or of the only one; count: none. */
static size_t choose(Table *const *list, size_t count, const char *name)
{
    size_t i = 0;
    if (!name) return count == 1 ? 0 : count;
    while (i < count && strcmp(list[i]->name, name) != 0) i++;
    return i;
}

int trotter_scheme_read(const char *text, const char *name, TrotterScheme **out)
{
    Table **list = NULL;
    size_t count = 0;
    GIVEN(out);
    *out = NULL;
    GIVEN(text);
    size_t bytes = strlen(text);
    TRY((butcher_is(text, bytes) ? butcher_parse : scheme_parse)("text", text, bytes, &list,
                                                                 &count));
    size_t k = choose(list, count, name);
    int code = k < count ? 0
               : name    ? error_set(ERR_INPUT, "text: no scheme has the name %s", name)
                         : error_set(ERR_INPUT, "text: %zu schemes where one is expected", count);
    if (code == 0) {
        code = take_table(list[k], out);
        list[k] = NULL;
    }
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
    return code;
}

void trotter_scheme_free(TrotterScheme *s)
{
    if (!s) return;
    table_free(s->table);
    table_free(s->frozen);
    memory_free_all(s->lock, s->order, s);
}

int trotter_scheme_names(char **names)
{
    SCOPED(zoo_close) Zoo z = {0};
    Output o;
    GIVEN(names);
    *names = NULL;
    TRY(zoo_open(&z));
    TRY(output_open(&o));
    for (size_t i = 0; i < z.count; i++) fprintf(o.f, "%s\n", z.scheme[i]->name);
    return output_take(&o, 0, names);
}

const char *trotter_scheme_name(const TrotterScheme *s)
{
    return s ? s->table->name : NULL;
}

int trotter_scheme_print(const TrotterScheme *s, char **text)
{
    Output o;
    GIVEN(text);
    *text = NULL;
    GIVEN(s);
    TRY(output_open(&o));
    return output_take(&o, table_print(s->table, o.f), text);
}

/* ---- theory -------------------------------------------------------------------------------------- */

int trotter_scheme_theory(const TrotterScheme *s, TrotterTheory *out)
{
    Theory t;
    GIVEN(out);
    *out = (TrotterTheory){.error_norm = NAN};
    GIVEN(s);
    TRY(theory_search(s->frozen, CONDITIONS_MAX, &t));
    *out = (TrotterTheory){.order = t.order,
                           .at_least = t.order == t.searched,
                           .zero_stable = t.zero_stable,
                           .decoder = s->table->colours > 2,
                           .error_norm = sqrt(t.error_norm2)};
    for (int op = 0; op < COLOURS; op++) out->evaluations += table_evals(s->table, op);
    return 0;
}

int trotter_scheme_error_constant(const TrotterScheme *s, double *C)
{
    Structure found;
    GIVEN(C);
    *C = NAN;
    GIVEN(s);
    TRY(structure_find(s->frozen, 1, &found));
    if (found.has_constant) *C = table_double(found.error_constant[0]);
    structure_free(&found);
    return 0;
}

int trotter_scheme_stability(const TrotterScheme *s, double *real, double *imaginary)
{
    GIVEN(real, imaginary);
    *real = *imaginary = NAN;
    GIVEN(s);
    TABLE(t);
    TRY(theory_freeze(s->table, &t));
    return stability_limits(t, real, imaginary, NULL);
}

/* Returns the amplification factor where every operator has the same share of z. */
static double amplify(Stability *st, int colours, double re, double im)
{
    double each[COLOURS][2];
    for (int c = 0; c < COLOURS; c++) {
        each[c][0] = re / colours;
        each[c][1] = im / colours;
    }
    return stability_at(st, (const double(*)[2])each);
}

int trotter_scheme_amplification(const TrotterScheme *s, size_t n, const double (*z)[2],
                                 double *modulus)
{
    SCOPED(stability_drop) Stability *st = NULL;
    GIVEN(s);
    if (n) GIVEN(z, modulus);
    TRY(stability_new(s->frozen, &st));
    for (size_t i = 0; i < n; i++) modulus[i] = amplify(st, s->table->colours, z[i][0], z[i][1]);
    return 0;
}

enum { GRID_MOST = 2000 };

int trotter_scheme_region(const TrotterScheme *s, const double re[2], const double im[2],
                          size_t points, TrotterLinePoint *take, void *arg)
{
    SCOPED(stability_drop) Stability *st = NULL;
    GIVEN(s, re, im);
    if (!take || points < 2 || points > GRID_MOST || !(re[0] < re[1]) || !(im[0] < im[1]))
        return error_set(ERR_MISUSE, "a region needs a window, and 2 to %d points a side",
                         GRID_MOST);
    const double step[2] = {(re[1] - re[0]) / (double)(points - 1),
                            (im[1] - im[0]) / (double)(points - 1)};
    SCOPED(memory_drop) double *modulus = memory_new(points * points, sizeof *modulus);
    if (!modulus) return ERR_MEMORY;
    TRY(stability_new(s->frozen, &st));
    for (size_t k = 0; k < points * points; k++)
        modulus[k] = amplify(st, s->table->colours, re[0] + step[0] * (double)(k % points),
                             im[0] + step[1] * (double)(k / points));
    return contour_find(modulus, points, points, (const double[]){re[0], im[0]}, step, 1, take,
                        arg);
}

/* ---- error terms --------------------------------------------------------------------------------- */

enum { NUMBER = 1024 };

/* Copies the terms, with their texts behind them, into one block. */
static int copy_terms(const Expansion *e, TrotterTerm **terms)
{
    char number[NUMBER];
    size_t bytes = 0;
    for (size_t i = 0; i < e->count; i++) {
        expansion_number(e->table, e->term[i].c, number, sizeof number);
        bytes += strlen(e->term[i].name) + strlen(number) + 2;
    }
    TrotterTerm *t = *terms = memory_new(e->count * sizeof *t + bytes + 1, 1);
    if (!t) return ERR_MEMORY;
    char *p = (char *)(t + e->count);
    for (size_t i = 0; i < e->count; i++) {
        expansion_number(e->table, e->term[i].c, number, sizeof number);
        t[i] = (TrotterTerm){.degree = e->term[i].degree, .value = table_double(e->term[i].c)};
        t[i].name = p;
        p = stpcpy(p, e->term[i].name) + 1;
        t[i].coefficient = p;
        p = stpcpy(p, number) + 1;
    }
    return 0;
}

int trotter_scheme_expand(const TrotterScheme *s, int basis, int degree, TrotterTerm **terms,
                          size_t *count)
{
    static const int bases[] = {[TROTTER_TREES] = BASIS_TREES,
                                [TROTTER_BRACKETS] = BASIS_BRACKETS,
                                [TROTTER_ONE_FIELD] = BASIS_TREES,
                                [TROTTER_MODIFIED] = BASIS_MODIFIED};
    SCOPED(expansion_free) Expansion e = {0};
    GIVEN(terms, count);
    *terms = NULL;
    *count = 0;
    GIVEN(s);
    if (basis < 0 || basis > TROTTER_MODIFIED)
        return error_set(ERR_MISUSE, "no basis has number %d", basis);
    TRY(expansion_find(s->table, bases[basis], degree, basis == TROTTER_ONE_FIELD, &e));
    if (e.count == 0 && e.warning[0]) return error_set(ERR_ACCURACY, "%s", e.warning);
    TRY(copy_terms(&e, terms));
    *count = e.count;
    return 0;
}

/* ---- order conditions ---------------------------------------------------------------------------- */

/* Rows with their texts behind them, in one block; without a block only their size is found. */
typedef struct {
    size_t count, bytes;
    TrotterCondition *row;
    char *text;
} Copy;

static const char *copy_text(Copy *c, const char *text)
{
    size_t bytes = strlen(text) + 1;
    c->bytes += bytes;
    if (!c->row) return NULL;
    char *copy = memcpy(c->text, text, bytes);
    c->text += bytes;
    return copy;
}

static int copy_condition(void *to, const ConditionRow *r)
{
    Copy *c = to;
    TrotterCondition row = {.order = r->order,
                            .condition = copy_text(c, *r->condition ? r->condition : r->tree),
                            .right = copy_text(c, r->right),
                            .left = copy_text(c, r->left),
                            .holds = r->holds};
    if (c->row) c->row[c->count] = row;
    c->count++;
    return 0;
}

int trotter_scheme_conditions(const TrotterScheme *s, int degree, TrotterCondition **conditions,
                              size_t *count)
{
    Copy c = {0};
    GIVEN(conditions, count);
    *conditions = NULL;
    *count = 0;
    GIVEN(s);
    TRY(conditions_each(s->table, degree, copy_condition, &c));
    size_t rows = c.count * sizeof *c.row;
    SCOPED(memory_drop) void *room = c.row = memory_new(rows + c.bytes, 1);
    if (!room) return ERR_MEMORY;
    c.text = (char *)room + rows;
    c.count = 0;
    TRY(conditions_each(s->table, degree, copy_condition, &c));
    *conditions = c.row;
    *count = c.count;
    room = NULL;
    return 0;
}
