/* theory.c: the exact order of a table, its defects and its error norm. */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"
#include "ode/theory/theory.h"

#include <math.h>

/* An inexact table meets a condition when its residual is below this: its coefficients carry
 * TABLE_DIGITS decimals, but decimals typed by hand carry about 16. */
static const double inexact_bound = 1e-12;

void theory_state(const Table *t, mpq_t out)
{
    mpq_t c;
    mpq_init(c);
    mpq_set_si(out, t->flows ? 0 : -1, 1); /* flows keep the state */
    for (size_t i = 0; i < t->update.terms; i++) {
        if (t->update.term[i].eval != TABLE_STATE) continue;
        table_value(t, &t->update.term[i], c);
        mpq_add(out, out, c);
    }
    mpq_clear(c);
}

/* Makes a(t) of a series the factor of the elementary differential: over sigma(t), and 0 where that vanishes. */
static void make_factor(const Forest *f, const Table *t, size_t tree, mpq_t a)
{
    rational_divide(a, f->tree[tree].sigma);
    if (tree_vanishes(f, tree, t->linear)) mpq_set_ui(a, 0, 1);
}

int theory_defect(const Forest *f, const Table *t, mpq_t *defect, mpq_t empty)
{
    Series *step, *exact;
    TRY(series_step(f, t, &step));
    int code = series_new(f, &exact);
    if (code == 0) {
        series_exact(exact, rational_one, ((Table *)t)->weight);
        mpq_sub(empty, step->empty, rational_one);
        for (size_t i = 0; i < f->count; i++) {
            mpq_sub(defect[i], step->a[i], exact->a[i]);
            make_factor(f, t, i, defect[i]);
        }
    }
    series_free(step);
    series_free(exact);
    return code;
}

int theory_modified(const Forest *f, const Table *t, mpq_t *coefficient)
{
    Series *step, *log = NULL;
    mpq_t q;
    if (t->past_y || t->past_k)
        return error_set(ERR_INPUT,
                         "%s: a modified equation belongs to a one-step scheme; this one reads "
                         "earlier steps",
                         t->name);
    TRY(series_step(f, t, &step));
    mpq_init(q);
    theory_state(t, q);
    int code = theory_is_zero(t, q)
                   ? series_new(f, &log)
                   : error_set(ERR_ACCURACY,
                               "%s: the state weights of the update do not sum to 1: no modified "
                               "equation",
                               t->name);
    if (code == 0) code = series_log(log, step);
    for (size_t i = 0; code == 0 && i < f->count; i++) {
        mpq_set(coefficient[i], log->a[i]);
        make_factor(f, t, i, coefficient[i]);
    }
    mpq_clear(q);
    series_free(step);
    series_free(log);
    return code;
}

int theory_is_zero(const Table *t, const mpq_t defect)
{
    return mpq_sgn(defect) == 0 || (!t->exact && fabs(mpq_get_d(defect)) <= inexact_bound);
}

int theory_terms(const Forest *f, const Table *t, int order, double *coefficient)
{
    mpq_t *q = rationals_new(f->count + 1);
    if (!q) return ERR_MEMORY;
    int code = theory_defect(f, t, q, q[f->count]);
    for (size_t i = 0; i < f->count; i++) {
        int wanted = code == 0 && f->tree[i].order == order && !theory_is_zero(t, q[i]);
        coefficient[i] = wanted ? table_double(q[i]) : 0;
    }
    rationals_free(q, f->count + 1);
    return code;
}

/* Returns whether a defect is zero; keeps the largest that an inexact table is forgiven. */
static int is_met(const Table *t, const mpq_t defect, Theory *out)
{
    if (!theory_is_zero(t, defect)) return 0;
    out->residual = fmax(out->residual, fabs(mpq_get_d(defect)));
    return 1;
}

static int all_met(const Forest *f, const Table *t, int order, mpq_t *defect, Theory *out)
{
    for (size_t i = f->first[order]; i < f->first[order + 1]; i++)
        if (!is_met(t, defect[i], out)) return 0;
    return 1;
}

/* Sums the squares of one order's defects. In one colour, F stands for the sum of all: where every stage is H a
 * defect depends on its tree's shape alone. */
static double norm2(const Forest *f, int order, int one_colour, mpq_t *defect)
{
    mpq_t sum;
    mpq_init(sum);
    for (size_t i = f->first[order]; i < f->first[order + 1]; i++) {
        if (one_colour && !tree_is_F(f, i)) continue;
        rational_add(sum, defect[i], defect[i]);
    }
    double norm = table_double(sum);
    mpq_clear(sum);
    return norm;
}

static void find_order(const Forest *f, const Table *t, mpq_t *defect, const mpq_t empty,
                       Theory *out)
{
    out->expands = is_met(t, empty, out);
    if (!out->expands) return;
    while (out->order < f->max && all_met(f, t, out->order + 1, defect, out)) out->order++;
    if (out->order == f->max) return;
    out->error_norm2 = norm2(f, out->order + 1, 0, defect);
    if (table_over(t, OP_H)) out->error_norm2_one_colour = norm2(f, out->order + 1, 1, defect);
}

int theory_find(const Forest *f, const Table *t, Theory *out)
{
    *out = (Theory){.searched = f->max,
                    .error_norm2 = NAN,
                    .error_norm2_one_colour = NAN,
                    .bound = t->exact ? 0 : inexact_bound};
    int on_circle;
    mpq_t *defect = rationals_new(f->count + 1);
    if (!defect) return ERR_MEMORY;
    int code = theory_defect(f, t, defect, defect[f->count]);
    if (code == 0) find_order(f, t, defect, defect[f->count], out);
    if (code == ERR_ACCURACY) code = 0; /* no expansion about y: order 0 */
    out->consistent = out->order >= 1;
    out->order_autonomous = out->order;
    rationals_free(defect, f->count + 1);
    if (code == 0) code = stability_roots(t, &out->zero_stable, &on_circle);
    if (code == 0) out->weakly_stable = out->zero_stable && on_circle > 1;
    return code;
}

static int search(const Table *frozen, int most, int timed, Theory *out)
{
    int code = 0;
    int trees = forest_timed_most(frozen->colours, timed);
    if (most > trees) most = trees;
    for (int max = most < 3 ? most : 3; code == 0; max++) {
        Forest *f;
        code = forest_timed(max, frozen->colours, timed, &f);
        if (code == 0) code = theory_find(f, frozen, out);
        forest_free(f);
        if (code == 0 && (out->order < max || max >= most)) break;
    }
    return code;
}

int theory_search(const Table *t, int most, Theory *out)
{
    Table *frozen = table_freeze(t);
    if (!frozen) return ERR_MEMORY;
    int code = search(frozen, most, 0, out), autonomous = out->order;
    if (code == 0 && table_written(frozen)) code = search(frozen, most, 1, out);
    out->order_autonomous = autonomous;
    table_free(frozen);
    return code;
}

/* Fills *out from the forest; *vanishes: the estimate is 0 on every tree of it. */
static int find_estimate(const Forest *f, const Table *estimate, Embedded *out, int *vanishes)
{
    Series *s;
    TRY(series_step(f, estimate, &s));
    Theory met = {0};
    for (size_t i = 0; i < f->count; i++) make_factor(f, estimate, i, s->a[i]);
    out->searched = f->max;
    out->estimate_order = 0;
    while (out->estimate_order < f->max &&
           all_met(f, estimate, out->estimate_order + 1, s->a, &met))
        out->estimate_order++;
    *vanishes = out->estimate_order == f->max;
    out->error_norm2 = *vanishes ? NAN : norm2(f, out->estimate_order + 1, 0, s->a);
    series_free(s);
    return 0;
}

static int search_estimate(const Table *estimate, int most, Embedded *out)
{
    int vanishes = 1;
    for (int max = most < 3 ? most : 3; vanishes && max <= most; max++) {
        Forest *f;
        TRY(forest_timed(max, estimate->colours, table_written(estimate), &f));
        int code = find_estimate(f, estimate, out, &vanishes);
        forest_free(f);
        TRY(code);
    }
    return 0;
}

int theory_embedded(const Table *t, int most, Embedded *out)
{
    Theory theory;
    *out = (Embedded){.order = -1, .estimate_order = -1, .error_norm2 = NAN};
    if (!t->pair) return 0;
    int trees = forest_timed_most(t->colours, table_written(t));
    if (most > trees) most = trees;
    Table *hat = table_embedded(t), *estimate = table_estimate(t);
    int code = hat && estimate ? theory_search(hat, most, &theory) : ERR_MEMORY;
    if (code == 0) out->order = theory.order;
    if (code == 0) out->order_at_least = theory.order == theory.searched;
    if (code == 0) code = search_estimate(estimate, most, out);
    if (code == ERR_ACCURACY) out->estimate_order = 0, code = 0; /* no expansion about y */
    table_free(hat);
    table_free(estimate);
    return code;
}
