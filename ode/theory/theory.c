/* theory.c: the exact order of a table, its defects and its error norm. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/theory.h"

#include <limits.h>
#include <math.h>

/* Rounded coefficients meet a condition where its residual is below this: they carry up to TABLE_DIGITS decimals, but
 * decimals typed by hand carry about 16. Above order TREE_MAX errors can be as small, and a residual must also be below
 * `slack` times what is known of the rounding: the largest residual so far, and the last digit of the coefficients.
 * Fractions can be roundings where a denominator is at least `long_fraction`. */
static const double inexact_bound = 1e-12, slack = 100, long_fraction = 1e6, long_decimal = 1e9;
/* Series of inexact tables have 320 bits: less than this is their rounding. */
static const double rounded = 1e-80;

void theory_state(const Table *t, mpq_t out)
{
    table_states(t, &t->update, out);
    if (!t->flows) mpq_sub(out, out, rational_one); /* flows keep the state */
}

/* Makes a(t) of a series the factor of the elementary differential: over sigma(t), and 0 where that vanishes. */
static void make_factor(const Forest *f, const Table *t, size_t tree, mpq_t a)
{
    rational_divide(a, f->tree[tree].sigma);
    if (tree_vanishes(f, tree, t->special)) mpq_set_ui(a, 0, 1);
}

/* Computes the factors of a step's series, less the exact flow's where `less_exact` is set. */
static int find_factors(const Forest *f, const Table *t, int less_exact, mpq_t *factor, mpq_t empty)
{
    SCOPED(series_drop) Series *step = NULL, *exact = NULL;
    TRY(series_step(f, t, &step));
    TRY(series_new(f, &exact));
    if (less_exact) series_exact(exact, rational_one, ((Table *)t)->weight);
    mpq_sub(empty, step->empty, exact->empty);
    for (size_t i = 0; i < f->count; i++) {
        mpq_sub(factor[i], step->a[i], exact->a[i]);
        if (!t->exact && fabs(mpq_get_d(factor[i])) < rounded) mpq_set_ui(factor[i], 0, 1);
        make_factor(f, t, i, factor[i]);
    }
    return 0;
}

int theory_defect(const Forest *f, const Table *t, mpq_t *defect, mpq_t empty)
{
    return find_factors(f, t, 1, defect, empty);
}

int theory_modified(const Forest *f, const Table *t, mpq_t *coefficient)
{
    SCOPED(series_drop) Series *step = NULL, *log = NULL;
    RATIONAL(q);
    TRY(table_refuse_carries(t, "a modified equation belongs to a scheme that reads y alone"));
    if (table_past(t))
        return error_set(ERR_INPUT,
                         "%s: a modified equation belongs to a one-step scheme; this one reads "
                         "earlier steps",
                         t->name);
    TRY(series_step(f, t, &step));
    theory_state(t, q);
    if (!theory_is_zero(t, q))
        return error_set(ERR_ACCURACY,
                         "%s: the state weights of the update do not sum to 1: no modified "
                         "equation",
                         t->name);
    TRY(series_new(f, &log));
    TRY(series_log(log, step));
    for (size_t i = 0; i < f->count; i++) {
        mpq_set(coefficient[i], log->a[i]);
        make_factor(f, t, i, coefficient[i]);
    }
    return 0;
}

int theory_is_zero(const Table *t, const mpq_t defect)
{
    return mpq_sgn(defect) == 0 || (!t->exact && fabs(mpq_get_d(defect)) <= inexact_bound);
}

int theory_terms(const Forest *f, const Table *t, int order, double *coefficient)
{
    SCOPED(rationals_drop) mpq_t *q = rationals_new(f->count + 1);
    if (!q) return ERR_MEMORY;
    TRY(theory_defect(f, t, q, q[f->count]));
    for (size_t i = 0; i < f->count; i++) {
        int wanted = f->tree[i].order == order && !theory_is_zero(t, q[i]);
        coefficient[i] = wanted ? table_double(q[i]) : 0;
    }
    return 0;
}

/* ---- rounding ------------------------------------------------------------------------------------- */

/* Raises *unit to 1/q, for a denominator q of at least `least`. */
static void read_unit(const mpq_t c, double least, double *unit)
{
    double q = mpz_get_d(mpq_denref(c));
    if (q >= least) *unit = fmax(*unit, 1 / q);
}

static void read_row_unit(const Row *r, double least, double *unit)
{
    for (size_t i = 0; i < r->terms; i++) read_unit(r->term[i].c, least, unit);
}

/* Returns the last digit of the coefficients; 0: they are short, and no roundings. Fractions are at least as far from
 * what they round as their smallest 1/q^2. */
static double rounding_unit(const Table *t)
{
    double unit = 0, least = t->exact ? long_fraction : long_decimal;
    for (size_t p = 0; p < t->points; p++) {
        read_row_unit(&t->point[p].row, least, &unit);
        read_unit(t->point[p].scale, least, &unit);
    }
    read_row_unit(&t->update, least, &unit);
    for (size_t i = 0; i < t->flows; i++) {
        read_unit(t->flow[i].c, least, &unit);
        read_unit(t->flow[i].im, least, &unit);
    }
    return unit;
}

int theory_may_round(const Table *t)
{
    return t->exact && rounding_unit(t) > 0;
}

/* ---- orders ------------------------------------------------------------------------------------------- */

/* What the conditions of an update tell. */
typedef struct {
    int order, exactly, searched;
    int proved;              /* up to this order */
    double residual, missed; /* the largest |defect| taken for 0; that of order + 1 */
    double norm2, norm2_one_colour;
    double unit;
    int exact; /* that of the table */
} Found;

/* Takes the conditions of the next order. Returns whether they are met, exactly or within the rounding. */
static int is_met(const Level *l, Found *out)
{
    int next = out->order + 1;
    double bound = out->exact && out->unit == 0 ? 0 : inexact_bound;
    if (next > TREE_MAX)
        bound = fmin(bound, slack * fmax(out->residual, out->exact ? 0 : out->unit));
    out->missed = l->largest;
    if (!l->exact && !(l->largest <= bound)) return 0;
    if (l->exact && out->exactly == out->order) out->exactly = next;
    out->order = next;
    if (!l->exact) out->residual = fmax(out->residual, l->largest);
    out->missed = NAN;
    return 1;
}

static int search_conditions(const Table *t, Conditions *c, Found *out)
{
    for (Level l; out->order < out->searched;) {
        TRY(conditions_at(c, out->order + 1, &l));
        int proved = l.proved && out->proved == out->order;
        if (is_met(&l, out)) {
            out->proved += proved;
            continue;
        }
        out->norm2 = l.norm2;
        if (table_one_field(t)) out->norm2_one_colour = l.one_colour;
        break;
    }
    return 0;
}

/* Sums the squares of one order's defects. In one colour, F stands for the sum of all: where every stage is H a
 * defect depends on its tree's shape alone. */
static double norm2(const Forest *f, int order, int one_colour, mpq_t *defect)
{
    RATIONAL(sum);
    for (size_t i = f->first[order]; i < f->first[order + 1]; i++) {
        if (one_colour && !tree_is_F(f, i)) continue;
        rational_add(sum, defect[i], defect[i]);
    }
    return table_double(sum);
}

static Level level_of(const Forest *f, int order, mpq_t *defect)
{
    Level l = {.exact = 1};
    for (size_t i = f->first[order]; i < f->first[order + 1]; i++) {
        l.exact &= mpq_sgn(defect[i]) == 0;
        l.largest = fmax(l.largest, fabs(mpq_get_d(defect[i])));
    }
    return l;
}

/* Does the same with the trees of a forest, as large as needed. */
static int search_colours(const Table *t, int timed, int estimate, Found *out)
{
    for (int max = out->searched < 3 ? out->searched : 3;; max++) {
        SCOPED(forest_drop) Forest *f = NULL;
        TRY(series_forest(t, max, table_tree_colours(t), timed, &f));
        SCOPED(rationals_drop) mpq_t *defect = rationals_new(f->count + 1);
        if (!defect) return ERR_MEMORY;
        TRY(find_factors(f, t, !estimate, defect, defect[f->count]));
        while (out->order < max) {
            Level l = level_of(f, out->order + 1, defect);
            if (is_met(&l, out)) {
                out->proved = out->exactly; /* in fractions */
                continue;
            }
            out->norm2 = norm2(f, out->order + 1, 0, defect);
            if (table_one_field(t)) out->norm2_one_colour = norm2(f, out->order + 1, 1, defect);
            return 0;
        }
        if (max >= out->searched) return 0;
    }
}

/* Finds the order of the update of a frozen table whose points expand, up to `most`. */
static int find_order(const Table *t, int most, int timed, int estimate, Found *out)
{
    SCOPED(conditions_drop) Conditions *c = NULL;
    *out = (Found){.missed = NAN,
                   .norm2 = NAN,
                   .norm2_one_colour = NAN,
                   .exact = t->exact,
                   .unit = rounding_unit(t)};
    TRY(conditions_new(t, timed, estimate, &c));
    int trees = c ? conditions_most(c) : forest_timed_most(table_tree_colours(t), timed);
    if (t->carries && trees > TREE_MAX) trees = TREE_MAX;
    out->searched = most < trees ? most : trees;
    return c ? search_conditions(t, c, out) : search_colours(t, timed, estimate, out);
}

static int search(const Table *frozen, int most, int timed, Theory *out)
{
    Found found = {.searched = most, .norm2 = NAN, .norm2_one_colour = NAN, .missed = NAN};
    RATIONAL(state);
    theory_state(frozen, state);
    int code = series_check(frozen), on_circle;
    out->expands = code == 0 && theory_is_zero(frozen, state);
    if (code == ERR_ACCURACY) code = 0; /* no expansion about y: order 0 */
    if (out->expands) code = find_order(frozen, most, timed, 0, &found);
    out->order = out->order_autonomous = found.order;
    out->order_exact = frozen->exact ? found.exactly : -1;
    out->order_proved = found.proved;
    out->searched = found.searched;
    out->consistent = found.order >= 1;
    out->residual = found.residual;
    out->missed = found.missed;
    out->bound = frozen->exact && found.residual == 0 ? 0 : inexact_bound;
    out->error_norm2 = found.norm2;
    out->error_norm2_one_colour = found.norm2_one_colour;
    if (code == 0) code = stability_roots(frozen, &out->zero_stable, &on_circle);
    if (code == 0) out->weakly_stable = out->zero_stable && on_circle > 1;
    return code;
}

/* Returns the largest order to which two lists of series agree; -1: they have other parts in y. */
static int agreement(const Forest *f, const Table *t, Series **a, Series **b)
{
    int order = f->max;
    RATIONAL(off);
    for (size_t c = 0; c < t->carries; c++) {
        mpq_sub(off, a[c]->empty, b[c]->empty);
        if (!theory_is_zero(t, off)) return -1;
        for (size_t i = 0; i < f->count && f->tree[i].order <= order; i++) {
            mpq_sub(off, a[c]->a[i], b[c]->a[i]);
            if (!theory_is_zero(t, off)) order = f->tree[i].order - 1;
        }
    }
    return order;
}

/* Finds to which order the start of a frozen table has what it carries. */
static int find_start(const Table *t, const Table *starter, int most, int *order)
{
    SCOPED(forest_drop) Forest *f = NULL;
    SCOPED(memory_drop) Series **list = memory_new(2 * t->carries, sizeof *list);
    if (!list) return ERR_MEMORY;
    int code = series_forest(t, most, series_one_colour(t) ? 1 : t->colours, 0, &f);
    if (code == 0) code = series_carried(f, t, 0, list);
    if (code == 0) code = series_carried(f, starter, 1, list + t->carries);
    if (code == 0) *order = agreement(f, t, list, list + t->carries);
    for (size_t i = 0; i < 2 * t->carries; i++) series_free(list[i]);
    return code;
}

static int search_start(const Table *t, Theory *out)
{
    TABLE(starter);
    out->start_order = INT_MAX;
    if (!t->carries || !out->expands) return 0;
    TRY(table_starter(t, &starter));
    return starter ? find_start(t, starter, out->order > 1 ? out->order : 1, &out->start_order) : 0;
}

int theory_search(const Table *t, int most, Theory *out)
{
    SCOPED(table_drop) Table *frozen = table_freeze(t);
    *out = (Theory){0};
    if (!frozen) return ERR_MEMORY;
    int code = search(frozen, most, 0, out), autonomous = out->order;
    if (code == 0 && table_written(frozen)) code = search(frozen, most, 1, out);
    out->order_autonomous = autonomous;
    return code == 0 ? search_start(frozen, out) : code;
}

int theory_own(const Table *scheme, int most, Theory *theory, mpq_t goes)
{
    Theory own;
    int learned = scheme->symbols && !scheme->carries; /* past states beside these are no method */
    if (theory->order > 0 || !theory->expands || !table_past(scheme) || scheme->word || learned)
        return 0;
    TABLE(t);
    if (!(t = table_freeze(scheme))) return ERR_MEMORY;
    for (int op = 0; op < t->colours; op++) {
        table_goes(t, op, t->weight[op]);
        if (mpq_sgn(t->weight[op]) <= 0 || !mpq_equal(t->weight[op], t->weight[0])) return 0;
    }
    TRY(theory_search(t, most, &own));
    if (own.order == 0) return 0;
    *theory = own;
    mpq_set(goes, t->weight[0]);
    return 0;
}

int theory_freeze(const Table *t, Table **out)
{
    Theory th;
    if (!(*out = table_freeze(t))) return ERR_MEMORY;
    if (!theory_may_round(*out)) return 0;
    int code = theory_search(*out, TREE_MAX_1, &th);
    if (code == 0 && th.order_exact < th.order_autonomous) (*out)->exact = 0;
    if (code != 0) table_free(*out), *out = NULL;
    return code;
}

/* Of a second estimate of order r and the first of order q > r steps see e^2 / e3 = O(h^(2(q + 1) - (r + 1))) (adapt.c). */
static int join_estimates(const Table *t, int most, Embedded *out)
{
    SCOPED(table_drop) Table *coarse = t->pair->coarse.terms ? table_coarse(t) : NULL;
    Found found;
    if (!t->pair->coarse.terms) return 0;
    if (!coarse) return ERR_MEMORY;
    TRY(find_order(coarse, most, table_written(coarse), 1, &found));
    if (found.order < out->estimate_order)
        out->estimate_order = 2 * out->estimate_order - found.order;
    return 0;
}

static int find_estimate(const Table *estimate, int most, Embedded *out)
{
    Found found;
    TRY(series_check(estimate));
    TRY(find_order(estimate, most, table_written(estimate), 1, &found));
    out->estimate_order = found.order;
    out->searched = found.searched;
    out->error_norm2 = found.norm2;
    return 0;
}

int theory_embedded(const Table *t, int most, Embedded *out)
{
    Theory theory;
    *out = (Embedded){.order = -1, .estimate_order = -1, .error_norm2 = NAN};
    if (!t->pair) return 0;
    SCOPED(table_drop) Table *hat = table_embedded(t), *estimate = table_estimate(t);
    if (!hat || !estimate) return ERR_MEMORY;
    TRY(theory_search(hat, most, &theory));
    out->order = theory.order;
    out->order_at_least = theory.order == theory.searched;
    int code = find_estimate(estimate, most, out);
    if (code == 0) code = join_estimates(t, most, out);
    if (code == ERR_ACCURACY) out->estimate_order = 0, code = 0; /* no expansion about y */
    return code;
}
