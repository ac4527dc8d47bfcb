/* carry.c: what a scheme carries from step to step besides y: which scheme starts it, and what it has of y on the exact
 * solution. */
#include <math.h>
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

int row_carried(const Row *r)
{
    int reads = 0;
    for (size_t i = 0; i < r->terms; i++) reads |= r->term[i].eval < TABLE_STATE;
    return reads;
}

static int same_carried(const Table *a, const Table *b)
{
    int same = a->carries == b->carries && !b->flows && !b->past_y && !b->past_k && !b->symbols;
    for (size_t i = 0; same && i < a->carries; i++)
        same = strcmp(a->carry[i].name, b->carry[i].name) == 0 && !row_carried(&b->carry[i].update);
    for (size_t p = 0; same && p < b->points; p++) same = !row_carried(&b->point[p].row);
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

/* Tells whether v begins as y and moves as y does: v' - y' = v - y, so that it stays y. */
static int stays_y(const Table *t, size_t c)
{
    const Carry *v = &t->carry[c];
    int same = 1;
    RATIONALS(weight, of_y);
    for (int e = TABLE_CARRIED - (int)t->carries + 1; same && e < (int)t->evals; e++) {
        row_weight(t, &v->start, e, weight);
        same = mpq_cmp_si(weight, e == TABLE_STATE, 1) == 0;
        row_weight(t, &v->update, e, weight);
        row_weight(t, &t->update, e, of_y);
        mpq_sub(weight, weight, of_y);
        same &= mpq_cmp_si(weight, (e == TABLE_CARRIED - (int)c) - (e == TABLE_STATE), 1) == 0;
    }
    return same;
}

/* Puts V_c = y, of which `y` is the part that is asked for, in the place of the rows that say V_c - V_c = ... */
static void write_what_stays(const Table *t, int y, mpq_t *m)
{
    size_t n = t->carries, wide = n + 1;
    for (size_t c = 0; c < n; c++) {
        if (!stays_y(t, c)) continue;
        for (size_t j = 0; j < n; j++) mpq_set_si(m[c * wide + j], j == c, 1);
        mpq_set_si(m[c * wide + n], y, 1);
    }
}

/* Returns the rank of 1 - W, with x in the place of what stands beside it. */
static size_t solve_own(const Table *t, mpq_t *x, mpq_t *m, size_t *pivot)
{
    size_t n = t->carries;
    write_system(t, x, m);
    return rationals_reduce(m, n, n + 1, n, t->exact ? 0 : 1e-12, pivot);
}

int carried_solve(const Table *t, int y, mpq_t *x)
{
    size_t n = t->carries, pivot[CARRIES_MAX];
    SCOPED(rationals_drop) mpq_t *m = rationals_new(n * (n + 1));
    if (!m) return ERR_MEMORY;
    size_t rank = solve_own(t, x, m, pivot);
    if (rank < n) {
        write_system(t, x, m);
        write_what_stays(t, y, m);
        rank = rationals_reduce(m, n, n + 1, n, t->exact ? 0 : 1e-12, pivot);
    }
    if (rank < n)
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
    return carried_solve(t, 1, held);
}

void carried_add(const Table *t, const Row *r, mpq_t *held, mpq_t out)
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
    if (!row_carried(r)) return;
    SCOPED(rationals_drop) mpq_t *held = rationals_new(t->carries);
    if (held && carried_states(t, held) == 0) carried_add(t, r, held, out);
}

/* ---- in the place of what is carried --------------------------------------------------------------------- */

/* Finds the eigenvector (1, r) of the step on y' = 0 with 1: (1 - W) r = w and u r = 1 - m, where m, w are the weights of the
 * updates on y. *one: there is one, and no other with its y. */
static int find_vector(const Table *t, mpq_t *r, int *one)
{
    size_t n = t->carries, wide = n + 1, pivot[CARRIES_MAX + 1];
    SCOPED(rationals_drop) mpq_t *m = rationals_new((n + 1) * wide);
    if (!m) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) row_weight(t, &t->carry[i].update, TABLE_STATE, r[i]);
    write_system(t, r, m);
    for (size_t c = 0; c < n; c++)
        row_weight(t, &t->update, TABLE_CARRIED - (int)c, m[n * wide + c]);
    row_weight(t, &t->update, TABLE_STATE, m[n * wide + n]);
    mpq_sub(m[n * wide + n], rational_one, m[n * wide + n]);
    size_t rank = rationals_reduce(m, n + 1, wide, n, t->exact ? 0 : 1e-12, pivot);
    *one = rank == n && fabs(mpq_get_d(m[n * wide + n])) <= (t->exact ? 0 : 1e-12);
    for (size_t i = 0; i < n; i++) mpq_set(r[i], m[i * wide + n]);
    return 0;
}

/* Writes v = z + r y into a row. */
static int recast_row(const Table *t, mpq_t *r, Row *row)
{
    RATIONAL(more);
    if (row_carried(row)) carried_add(t, row, r, more);
    return mpq_sgn(more) ? row_add(row, TABLE_STATE, 0, more, 0, NULL) : 0;
}

/* Writes z' = v' - r y', and how z begins. */
static int recast_carry(Table *t, size_t c, mpq_t r)
{
    Carry *v = &t->carry[c];
    RATIONAL(minus);
    mpq_neg(minus, r);
    TRY(row_add_row(&v->update, &t->update, minus));
    TRY(row_add(&v->moved, TABLE_STATE, 0, r, 0, NULL));
    if (v->started) TRY(row_add(&v->start, TABLE_STATE, 0, minus, 0, NULL));
    return t->starter ? row_add(&t->starter->carry[c].update, TABLE_STATE, 0, minus, 0, NULL) : 0;
}

static int recast(Table *t, mpq_t *r)
{
    for (size_t p = 0; p < t->points; p++) TRY(recast_row(t, r, &t->point[p].row));
    TRY(recast_row(t, r, &t->update));
    for (size_t c = 0; c < t->carries; c++) TRY(recast_row(t, r, &t->carry[c].update));
    for (size_t c = 0; c < t->carries; c++)
        if (mpq_sgn(r[c])) TRY(recast_carry(t, c, r[c]));
    return 0;
}

int table_recast(Table *t)
{
    size_t n = t->carries, pivot[CARRIES_MAX];
    int one;
    if (!n) return 0;
    SCOPED(rationals_drop) mpq_t *r = rationals_new(n);
    SCOPED(rationals_drop) mpq_t *m = rationals_new(n * (n + 1));
    if (!r || !m) return ERR_MEMORY;
    if (solve_own(t, r, m, pivot) == n) return 0;
    TRY(find_vector(t, r, &one));
    if (!one) return 0;
    TABLE(other);
    if (!(other = table_copy(t))) return ERR_MEMORY;
    TRY(recast(other, r));
    if (solve_own(other, r, m, pivot) < n) return 0; /* a second eigenvalue 1 */
    Table kept = *t;
    *t = *other;
    *other = kept;
    return 0;
}
