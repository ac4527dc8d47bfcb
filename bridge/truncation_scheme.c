/* truncation_scheme.c: prepares a scheme for a trained layer: the table that steps on the field, the sets it reads,
 * its exact order there and the coefficients of its leading error terms (truncator.h). */
#include "bridge/truncator.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

#include <stdio.h>

enum { ORDER_SEARCHED = 6, LEADING_MOST = 6 };

void scheme_free(Scheme *s)
{
    table_free(s->table);
    forest_free(s->forest);
    s->coefficient = memory_free(s->coefficient);
    s->pair = memory_free(s->pair);
}

/* Removes points at which nothing is evaluated: a table has none. */
static void drop_points(Table *t)
{
    size_t kept = 0;
    for (size_t p = 0; p < t->points; p++) {
        int used = 0;
        for (size_t e = 0; e < t->evals; e++) {
            if (t->eval[e].point != (int)p) continue;
            t->eval[e].point = (int)kept;
            used = 1;
        }
        if (used)
            t->point[kept++] = t->point[p];
        else
            point_free(&t->point[p]);
    }
    t->points = kept;
}

/* Turns a table over L into a frozen one over F for L: two or three evaluations become one, with the slopes of the
 * first. */
static int join_parts(Table *t)
{
    SCOPED(memory_drop) int *map = memory_new(t->evals, sizeof *map);
    if (!map) return ERR_MEMORY;
    for (size_t e = 0; e < t->evals; e++) map[e] = ROW_DROPS;
    for (size_t i = 0; i < t->stages; i++) map[t->stage[i].eval] = (int)i;
    for (size_t p = 0; p < t->points; p++) row_map(map, &t->point[p].row);
    row_map(map, &t->update);
    for (size_t i = 0; i < t->stages; i++) {
        int point = t->eval[t->stage[i].eval].point;
        t->eval[i] = (Eval){.op = OP_F, .set = 1, .point = point, .stage = (int)i};
        t->stage[i] = (Stage){.op = OP_F, .set = 1, .eval = (int)i};
    }
    t->evals = t->stages;
    drop_points(t);
    for (int op = OP_F + 1; op < t->colours; op++) mpq_set_ui(t->weight[op], 0, 1);
    return 0;
}

static int state_adds_up(const Table *t)
{
    RATIONAL(off);
    theory_state(t, off);
    return theory_is_zero(t, off);
}

/* Gives a scheme the time that it goes. A scheme that is not consistent with its field over h may be consistent over
 * another time T h: it is if its order is at least 1 with the weights T. Then it is measured against these. */
static int take_own_time(Table *t, int most, Theory *theory)
{
    mpq_t kept[COLOURS];
    Theory own;
    int forward = 1, code = 0;
    if (theory->order_autonomous > 0 || !theory->expands || t->dense || !state_adds_up(t)) return 0;
    for (int op = 0; op < COLOURS; op++) {
        mpq_init(kept[op]);
        mpq_set(kept[op], t->weight[op]);
        if (op >= t->colours || mpq_sgn(kept[op]) == 0) continue;
        table_goes(t, op, t->weight[op]);
        forward = forward && mpq_sgn(t->weight[op]) > 0;
    }
    if (forward) code = theory_search(t, most, &own);
    int takes = forward && code == 0 && own.order_autonomous > 0;
    for (int op = 0; op < COLOURS; op++) {
        if (!takes) mpq_set(t->weight[op], kept[op]);
        mpq_clear(kept[op]);
    }
    if (takes) *theory = own;
    return code;
}

/* Computes the exact order and the coefficients of the leading terms. */
static int expand(Scheme *s, int terms)
{
    Theory theory;
    int differ = 0;
    TRY(theory_search(s->table, ORDER_SEARCHED, &theory));
    TRY(take_own_time(s->table, ORDER_SEARCHED, &theory));
    s->order = state_adds_up(s->table) ? theory.order_autonomous : -1; /* a network has no time */
    if (s->own) TRY(sets_prepare(s, &differ));
    if (differ && s->order > 1) s->order = 1;
    if (!terms || !theory.expands || s->order < 0 || s->order >= LEADING_MOST || s->own) return 0;
    TRY(forest_new(s->order + 1, s->table->colours, &s->forest));
    s->coefficient = memory_new(s->forest->count, sizeof *s->coefficient);
    if (!s->coefficient) return ERR_MEMORY;
    TRY(theory_terms(s->forest, s->table, s->order + 1, s->coefficient));
    for (size_t i = 0; s->one && i < s->forest->count; i++)
        if (!tree_is_F(s->forest, i)) s->coefficient[i] = 0;
    return 0;
}

static int owns_several(const Truncator *u, const Table *scheme)
{
    int several = 0;
    for (int op = 0; op < COLOURS; op++) several |= table_sets(scheme, op) > 1;
    return several && layer_field_owns(u->trained, scheme);
}

int truncator_table(const Truncator *u, const Table *scheme, Table **out)
{
    if (!(*out = table_freeze(scheme))) return ERR_MEMORY;
    int code = u->options.field == FIELD_LAYER ? join_parts(*out) : 0;
    if (code != 0) *out = (table_free(*out), NULL);
    return code;
}

static int prepare(const Truncator *u, const Table *scheme, Scheme *s)
{
    int layer = u->options.field == FIELD_LAYER;
    *s = (Scheme){.scheme = scheme,
                  .network = (scheme->symbols > 0 || table_has(scheme, HAS_NORM)) &&
                             table_equal(scheme, u->trained),
                  .own = !layer && owns_several(u, scheme)};
    TRY(truncator_table(u, scheme, &s->table));
    s->one = layer ? 'L' : table_over(scheme, OP_H) && !s->own ? 'H' : 0;
    return expand(s, u->options.terms);
}

int scheme_find(Truncator *u, const Table *scheme, const Scheme **out)
{
    for (size_t i = 0; i < u->schemes; i++)
        if (u->scheme[i].scheme == scheme) {
            *out = &u->scheme[i];
            return 0;
        }
    TRY(truncator_takes(u, scheme));
    TRY(memory_more(&u->scheme, u->schemes, sizeof *u->scheme));
    int code = prepare(u, scheme, &u->scheme[u->schemes]);
    if (code == 0)
        *out = &u->scheme[u->schemes++];
    else
        scheme_free(&u->scheme[u->schemes]);
    return code;
}

int truncator_takes(const Truncator *u, const Table *scheme)
{
    TRY(bridge_takes(scheme));
    if (u->options.field == FIELD_LAYER && !table_over(scheme, OP_L))
        return error_set(ERR_ACCURACY,
                         "%s has stages that are not L: no step of the field y' = L(y)",
                         scheme->name);
    if (u->options.field == FIELD_LAYER && owns_several(u, scheme))
        return error_set(ERR_ACCURACY, "%s reads several sets over L: no one field y' = L(y)",
                         scheme->name);
    if (scheme->carries && (u->options.field == FIELD_LAYER || owns_several(u, scheme)))
        return error_set(
            ERR_ACCURACY,
            "%s carries '%s', and is measured on y' = F + G alone, with one set of each",
            scheme->name, scheme->carry[0].name);
    if (scheme->colours < u->colours)
        return error_set(ERR_ACCURACY,
                         "%s has no C, and a decoder's layer is y' = F + C + G: %s-decoder has it",
                         scheme->name, scheme->name);
    return layer_field_has(u->trained, scheme);
}

int truncation_own_time(const Table *scheme, double time[COLOURS])
{
    Theory theory;
    SCOPED(table_drop) Table *t = table_freeze(scheme);
    if (!t) return ERR_MEMORY;
    TRY(theory_search(t, 1, &theory));
    TRY(take_own_time(t, 1, &theory));
    for (int op = 0; op < COLOURS; op++)
        time[op] = op < t->colours ? table_double(t->weight[op]) : 0;
    return 0;
}

void truncation_time(const double time[COLOURS], char *out, size_t bytes)
{
    size_t n = 0;
    int first = COLOURS, alike = 1;
    for (int op = COLOURS - 1; op >= 0; op--)
        if (time[op] != 0) first = op;
    for (int op = first; op < COLOURS; op++)
        alike = alike && (time[op] == 0 || time[op] == time[first]);
    if (bytes) *out = '\0';
    if (first < COLOURS && alike) snprintf(out, bytes, "%.6g", time[first]);
    for (int op = first; !alike && op < COLOURS && n < bytes; op++)
        if (time[op] != 0)
            n += (size_t)snprintf(out + n, bytes - n, "%s%.6g %c", n ? " + " : "", time[op],
                                  table_letters[op]);
}
