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

/* ---- what is carried, on the exact solution ------------------------------------------------------------ */

/* Sets up 1 - W, W the weights of the updates on what is carried, beside the right sides. */
static void write_system(const Table *t, mpq_t *right, mpq_t *m)
{
    size_t n = t->carries, wide = n + 1;
    for (size_t i = 0; i < n; i++) {
        for (size_t c = 0; c < n; c++) {
            mpq_ptr at = m[i * wide + c];
            row_weight(t, &t->carry[i].update, TABLE_CARRIED - (int)c, at);
            mpq_neg(at, at);
            if (c == i) mpq_add(at, at, rational_one);
        }
        mpq_set(m[i * wide + n], right[i]);
    }
}

int carried_solve(const Table *t, mpq_t *x)
{
    size_t n = t->carries, pivot[CARRIES_MAX];
    SCOPED(rationals_drop) mpq_t *m = rationals_new(n * (n + 1));
    if (!m) return ERR_MEMORY;
    write_system(t, x, m);
    if (rationals_reduce(m, n, n + 1, n, t->exact ? 0 : 1e-12, pivot) < n)
        return error_set(
            ERR_INPUT,
            "%s: the steps do not determine what is carried: the updates keep some of it "
            "as it is, as v' = v + k1 does, for ever",
            t->name);
    for (size_t i = 0; i < n; i++) mpq_set(x[i], m[i * (n + 1) + n]);
    return 0;
}

int carried_states(const Table *t, mpq_t *held)
{
    for (size_t i = 0; i < t->carries; i++)
        row_weight(t, &t->carry[i].update, TABLE_STATE, held[i]);
    return carried_solve(t, held);
}

int carried_clock(const Table *t, int op, mpq_t *held)
{
    SCOPED(rationals_drop) mpq_t *states = rationals_new(t->carries);
    if (!states) return ERR_MEMORY;
    TRY(carried_states(t, states));
    for (size_t i = 0; i < t->carries; i++) {
        table_read_time(t, &t->carry[i].update, op, held[i]);
        mpq_sub(held[i], held[i], states[i]); /* at the end of the step it is 1 later */
    }
    return carried_solve(t, held);
}

/* Adds the weights of a row on what is carried times what that holds. */
static void add_held(const Table *t, const Row *r, mpq_t *held, mpq_t out)
{
    RATIONAL(weight);
    for (size_t c = 0; c < t->carries; c++) {
        row_weight(t, r, TABLE_CARRIED - (int)c, weight);
        rational_add(out, weight, held[c]);
    }
}

void table_states(const Table *t, const Row *r, mpq_t out)
{
    row_weight(t, r, TABLE_STATE, out);
    if (!reads_carried(r)) return;
    SCOPED(rationals_drop) mpq_t *held = rationals_new(t->carries);
    if (held && carried_states(t, held) == 0) add_held(t, r, held, out);
}

void table_row_time(const Table *t, const Row *r, int op, mpq_t c)
{
    table_read_time(t, r, op, c);
    if (!reads_carried(r)) return;
    SCOPED(rationals_drop) mpq_t *held = rationals_new(t->carries);
    if (held && carried_clock(t, op, held) == 0) add_held(t, r, held, c);
}
