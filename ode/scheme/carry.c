/* carry.c: what a scheme carries from step to step besides y: how it begins. */
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/table.h"

int table_past(const Table *t)
{
    return t->past_y || t->past_k || t->carries;
}

int table_refuse_carries(const Table *t, const char *why)
{
    if (!t->carries) return 0;
    return error_set(ERR_INPUT, "%s carries '%s' from step to step: %s", t->name, t->carry[0].name,
                     why);
}

/* Returns whether a row reads what is carried. */
static int reads_carried(const Row *r)
{
    int reads = 0;
    for (size_t i = 0; i < r->terms; i++) reads |= r->term[i].eval < TABLE_STATE;
    return reads;
}

static int same_carried(const Table *a, const Table *b)
{
    int same = a->carries == b->carries && !b->flows && !b->past_y && !b->past_k && !b->symbols;
    for (size_t i = 0; same && i < a->carries; i++)
        same =
            strcmp(a->carry[i].name, b->carry[i].name) == 0 && !reads_carried(&b->carry[i].update);
    for (size_t p = 0; same && p < b->points; p++) same = !reads_carried(&b->point[p].row);
    return same && a->colours == b->colours;
}

int table_take_starter(Table *t, Table *starter)
{
    if (!same_carried(t, starter))
        return error_set(
            ERR_INPUT,
            "%s: '%s', which its line 'start' names, does not start it: expected a scheme "
            "that carries the same quantities and reads y alone",
            t->name, starter->name);
    table_free(t->starter);
    t->starter = table_copy(starter);
    return t->starter ? 0 : ERR_MEMORY;
}

int table_starter(const Table *t, Table **out)
{
    *out = NULL;
    if (t->starter) return (*out = table_copy(t->starter)) ? 0 : ERR_MEMORY;
    if (!t->carries || !t->carry[0].started) return 0;
    TABLE(s);
    if (!(s = table_copy(t))) return ERR_MEMORY;
    row_free(&s->update);
    TRY(row_add(&s->update, TABLE_STATE, 0, rational_one, 0, NULL));
    for (size_t i = 0; i < s->carries; i++) {
        row_swap(&s->carry[i].update, &s->carry[i].start);
        row_free(&s->carry[i].start);
        s->carry[i].started = 0;
    }
    TRY(table_prune(s));
    s->past_y = s->past_k = 0;
    *out = s;
    s = NULL;
    return 0;
}
