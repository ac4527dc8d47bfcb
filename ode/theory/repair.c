/* repair.c: which coefficient of a scheme fails its order conditions, and what should stand there.
 *
 * The conditions to order p are polynomials in the coefficients x of the text:
 *
 *     d(t) = sum_i b_i u_i(t) - 1/gamma(t) for every tree t of at most p vertices (Hairer, Norsett, Wanner 1993, II.2),
 *     the same with the embedded weights bhat = b - error for the trees to their order,
 *     c_i - sum_j a_ij for every node that is written.
 *
 * A stage of a Rosenbrock method, W-method or phi function enters by the series of its function (apply_function). Those of a
 * splitting by exact flows, exp(c_1 X_1) exp(c_2 X_2) ..., are that every word of n <= p letters has the factor 1/n!
 * that it has in exp(F + G). With slopes and states of the past the conditions are those of conditions.c, and the weights of
 * states have the sum 1 in every row.
 *
 * Exact coefficients. Unknown ones are x = x0 + Z s, at first with all of them free. A condition that is affine in s is
 * found by its values on a random line; Gauss's elimination of these leaves fewer s, in which more conditions are affine.
 * Of one s that is left the greatest common divisor of all conditions, as polynomials, has the values that meet them
 * all. All of this is done modulo primes of 31 bits; the Chinese remainder theorem and Euclid's algorithm give the
 * fractions, which are taken once two primes in succession change nothing (Wang 1981). A wrong value would have to pass for
 * right modulo every one of them.
 *
 * Decimals. A condition holds where |d| is at most `slack` times the last digit of the coefficients times the sum of
 * the absolute values that d is summed of. One unknown is looked for: a root of the condition that it changes most,
 * refined by Gauss's and Newton's method on all conditions in long double. Where all decimals have few places, as 0.25,
 * they are taken for exact first: a change that then meets two conditions or more which fail without it, or is the only one,
 * is no accident.
 *
 * Ties. Where several repairs meet all conditions, each by one slip, the conditions have told all they know. What is left
 * is what tableaus look like before anything is known of this one: a whole number n has the probability 1/n^2 up to a
 * factor (Rissanen 1983, for a number of any size), a negative one is half as probable, one that stood in the tableau already costs no more than
 * to say which, and one of a hundred nodes lies outside of [0, 1]. All slips count alike. The repaired numbers are then told in
 * some number of bits (Rissanen's least description), and the repair of the fewest comes first. It counts as the one
 * if it is 2 bits ahead, four times as probable as the next.
 *
 * Bounds: one unknown of all coefficients; two of at most PAIRS_MOST pairs, exact coefficients alone; as many `?` as
 * REPAIR_UNKNOWNS, and where no values of these do one or two more. An equation in one s of which a factor of degree 3 or more is
 * left counts as not solved.
 *
 * repair_model.c has the scheme and its conditions, repair_modular.c solves them exactly; decimals, the search and the ranking are here. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_poly.h>

#include "kernels/base/error.h"
#include "kernels/base/quiet.h"
#include "kernels/base/random.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"
#include "ode/theory/repair_inside.h"

enum { PAIRS_MOST = 20000 };
static const double slack = 64, few_places = 1e-9, enough_bits = 2, node_outside = 7;

/* ---- candidates -------------------------------------------------------------------------------------------------- */

void repair_free(Repair *r)
{
    for (size_t i = 0; i < r->candidates; i++)
        for (size_t k = 0; k < r->candidate[i].unknowns; k++) mpq_clear(r->candidate[i].value[k]);
    memory_free_all(r->candidate, r->name, r->seen);
    coefficients_free(&r->coefficients);
    *r = (Repair){0};
}

static void drop_candidates(Repair *r)
{
    for (size_t i = 0; i < r->candidates; i++)
        for (size_t k = 0; k < r->candidate[i].unknowns; k++) mpq_clear(r->candidate[i].value[k]);
    r->candidates = 0;
}

/* Adds the candidate in which coefficients have the values v. */
static int add_candidate(Repair *r, size_t n, const size_t *unknown, mpq_t *v, double within)
{
    RepairCandidate c = {.unknowns = n, .within = within};
    if (memory_more(&r->candidate, r->candidates, sizeof *r->candidate) != 0) return ERR_MEMORY;
    for (size_t k = 0; k < n; k++) {
        const Coefficient *x = &r->coefficients.list[unknown[k]];
        c.coefficient[k] = unknown[k];
        coefficient_misprint(x->asked ? "?" : x->word, v[k], within, &c.misprint[k]);
        c.distance += x->asked ? 0 : c.misprint[k].distance;
        mpq_init(c.value[k]);
        mpq_set(c.value[k], v[k]);
    }
    r->candidate[r->candidates++] = c;
    return 0;
}

/* Adds both roots of a family of degree 2 where they are rational: q is at, along, g. */
static int add_roots(Repair *r, const RepairFamily *y, const size_t *unknown, mpq_t *q)
{
    size_t n = y->n;
    mpq_srcptr g0 = q[2 * n], g1 = q[2 * n + 1];
    RATIONALS(root, s);
    SCOPED(rationals_drop) mpq_t *v = rationals_new(n);
    if (!v) return ERR_MEMORY;
    mpq_mul(root, g1, g1); /* g1^2 / 4 - g0 */
    rational_divide(root, 4);
    mpq_sub(root, root, g0);
    int square = mpz_perfect_square_p(mpq_numref(root)) && mpz_perfect_square_p(mpq_denref(root));
    if (mpq_sgn(root) < 0 || !square) return 0;
    mpz_sqrt(mpq_numref(root), mpq_numref(root));
    mpz_sqrt(mpq_denref(root), mpq_denref(root));
    for (int sign = 0; sign < 2; sign++) {
        mpq_set(s, g1);
        rational_divide(s, 2);
        mpq_neg(s, s);
        (sign ? mpq_add : mpq_sub)(s, s, root);
        for (size_t k = 0; k < n; k++) {
            mpq_mul(v[k], q[n + k], s);
            mpq_add(v[k], v[k], q[k]);
        }
        TRY(add_candidate(r, n, unknown, v, 0));
    }
    return 0;
}

/* The search: a model, room for its conditions, what is found. */
typedef struct {
    RepairModel m;
    Repair *r;
    RepairNumber *room; /* (lists, m.most) */
    size_t rooms;
    char *fails, *still; /* (m.most): conditions that fail as the text is, and with a candidate */
    int exact, first_fails; /* first_fails: the lowest order at which a condition fails */
    size_t unknown[U];      /* those asked for, r->asked, then those that are tried beside them */
} Doctor;

static const uint64_t a_prime = 2147483647;

static int top(const RepairModel *m)
{
    return m->order > m->hat ? m->order : m->hat;
}

static int make_room(Doctor *d)
{
    size_t points = (size_t)repair_points(&d->m, top(&d->m)),
           lists = points > U + 4 ? points : U + 4;
    if (lists * d->m.most <= d->rooms) return 0;
    memory_free_all(d->room, d->fails, d->still);
    d->rooms = lists * d->m.most;
    d->room = memory_new(d->rooms, sizeof *d->room);
    d->fails = memory_new(d->rooms, 1);
    d->still = memory_new(d->rooms, 1);
    return d->room && d->fails && d->still ? 0 : ERR_MEMORY;
}

/* Returns the order to which conditions part candidates first: cheap, and few pass. */
static int filter_order(const Doctor *d)
{
    int q = d->first_fails + 1 > 4 ? d->first_fails + 1 : 4;
    return q < top(&d->m) ? q : top(&d->m);
}

static int try_exact(Doctor *d, size_t n, const size_t *unknown, int *status)
{
    RepairFamily y;
    int q = filter_order(d), all = top(&d->m);
    repair_set_prime(&d->m, a_prime);
    *status = repair_solve(&d->m, q, n, unknown, d->room, &y);
    if (*status != REPAIR_NONE && q < all)
        *status = repair_solve(&d->m, all, n, unknown, d->room, &y);
    if (*status != REPAIR_FOUND) return 0;
    SCOPED(rationals_drop) mpq_t *v = rationals_new(REPAIR_NUMBERS);
    if (!v) return ERR_MEMORY;
    *status = repair_lift(&d->m, all, n, unknown, d->room, &y, v);
    if (*status != REPAIR_FOUND) return 0;
    return y.degree == 2 ? add_roots(d->r, &y, unknown, v) : add_candidate(d->r, n, unknown, v, 0);
}

/* ---- decimals ----------------------------------------------------------------------------------------------------- */

static void real_values(RepairModel *m, int q, size_t k, long double x, RepairNumber *r)
{
    repair_set_values(m, 1, &k, &(RepairNumber){.r = x});
    repair_evaluate(m, q, 0, r);
}

/* Computes up to what |d| each condition counts as met near x. */
static void set_tolerance(Doctor *d, int q, size_t k, long double x)
{
    RepairModel *m = &d->m;
    repair_set_values(m, 1, &k, &(RepairNumber){.r = x});
    repair_evaluate(m, q, 1, m->tolerance);
    for (size_t t = 0; t < repair_conditions(m, q); t++)
        m->tolerance[t].r = (m->tolerance[t].r + 1) * (long double)(slack * m->unit);
}

static long double worst(const RepairModel *m, int q, const RepairNumber *r)
{
    long double most = 0;
    for (size_t t = 0; t < repair_conditions(m, q); t++)
        most = fmaxl(most, fabsl(r[t].r) / m->tolerance[t].r);
    return isnan(most) ? INFINITY : most;
}

/* Refines x by Gauss's and Newton's method; *within out: how well it is known. Returns whether all conditions are met. */
static int refine(Doctor *d, int q, size_t k, long double *x, double *within)
{
    RepairModel *m = &d->m;
    size_t n = repair_conditions(m, q);
    RepairNumber *f = d->room, *g = d->room + n;
    long double steep = 0;
    for (int turn = 0; turn < 5; turn++) {
        long double step = ldexpl(fmaxl(1, fabsl(*x)), -24), down = 0;
        set_tolerance(d, q, k, *x);
        real_values(m, q, k, *x, f);
        real_values(m, q, k, *x + step, g);
        steep = 0;
        for (size_t t = 0; t < n; t++) {
            long double slope = (g[t].r - f[t].r) / step / m->tolerance[t].r;
            steep += slope * slope;
            down += slope * f[t].r / m->tolerance[t].r;
        }
        if (!(steep > 0) || !isfinite(down)) return 0;
        *x -= down / steep;
    }
    real_values(m, q, k, *x, f);
    *within = (double)(1 / sqrtl(steep));
    return worst(m, q, f) <= 1;
}

/* Finds the zeros z (degree; re, im) of sum c_i x^i in double precision; 0: they were not found. */
static int find_zeros(const double *c, int degree, double *z)
{
    quiet_begin();
    size_t n = (size_t)degree + 1;
    gsl_poly_complex_workspace *w = gsl_poly_complex_workspace_alloc(n);
    int found = w && gsl_poly_complex_solve(c, n, w, z) == GSL_SUCCESS;
    if (w) gsl_poly_complex_workspace_free(w);
    quiet_end();
    return found;
}

/* Finds the real roots of the condition t in x_k from its values at points about x: root (DEGREE_MOST). */
static int real_roots(Doctor *d, int q, size_t k, size_t t, long double x, long double *root)
{
    RepairModel *m = &d->m;
    size_t n = repair_conditions(m, q);
    int points = repair_points(m, q), count = 0;
    long double step = fmaxl(0.25L, fabsl(x) / 2), c[DEGREE_MOST + 1], y[DEGREE_MOST + 1];
    for (int i = 0; i < points; i++) {
        real_values(m, q, k, x + step * (long double)(i - points / 2), d->room + 2 * n);
        y[i] = d->room[2 * n + t].r;
    }
    for (int j = 1; j < points; j++)
        for (int i = points - 1; i >= j; i--) y[i] = (y[i] - y[i - 1]) / (long double)j;
    for (int i = 0; i < points; i++) c[i] = 0;
    for (int j = points - 1; j >= 0; j--)
        for (int i = points - 1; i >= 0; i--) c[i] = (i ? c[i - 1] : y[j]) - (long double)j * c[i];
    long double most = 0;
    for (int i = 0; i < points; i++) most = fmaxl(most, fabsl(c[i]));
    double z[2 * (DEGREE_MOST + 1)], in[DEGREE_MOST + 1] = {0};
    int degree = 0;
    for (int i = 0; i < points; i++)
        if (isfinite(c[i]) && fabsl(c[i]) > most * 1e-14L) in[i] = (double)c[i], degree = i;
    if (degree < 1 || !find_zeros(in, degree, z)) return 0;
    for (int i = 0; i < degree; i++)
        if (fabs(z[2 * i + 1]) < 1e-4 * (1 + fabs(z[2 * i])))
            root[count++] = x + step * ((long double)z[2 * i] - points / 2);
    return count;
}

/* Returns the condition that moves most as x_k does, beside its tolerance, an affine one if there is one; *slope = 0
 * where it is not affine. SIZE_MAX: none moves. */
static size_t steepest(Doctor *d, int q, size_t k, long double x, long double *slope)
{
    RepairModel *m = &d->m;
    size_t n = repair_conditions(m, q), best = SIZE_MAX;
    long double step = fmaxl(0.5L, fabsl(x) / 4), most = 0;
    RepairNumber *f = d->room;
    *slope = 0;
    for (int i = 0; i < 3; i++) real_values(m, q, k, x + step * (long double)i, f + (size_t)i * n);
    for (size_t t = 0; t < n; t++) {
        long double rise = f[n + t].r - f[t].r, bend = f[2 * n + t].r - f[n + t].r - rise;
        long double weight = fabsl(rise) / m->tolerance[t].r;
        int affine = fabsl(bend) <= 1e-12L * fabsl(rise);
        if (weight < 1e3L || (*slope != 0 && !affine) ||
            (affine == (*slope != 0) && weight <= most))
            continue;
        best = t;
        most = weight;
        *slope = affine ? rise / step : 0;
    }
    return best;
}

static int try_real(Doctor *d, size_t k, int *status)
{
    RepairModel *m = &d->m;
    int q = filter_order(d), all = top(m), roots = 1;
    long double x = d->m.x0[k].r, slope, root[DEGREE_MOST + 1], taken[DEGREE_MOST + 1];
    *status = REPAIR_OPEN;
    set_tolerance(d, all, k, x);
    size_t t = steepest(d, q, k, x, &slope);
    if (t == SIZE_MAX && q < all) t = steepest(d, q = all, k, x, &slope);
    if (t == SIZE_MAX) return 0;
    if (slope != 0)
        root[0] = x - d->room[t].r / slope;
    else
        roots = real_roots(d, q, k, t, x, root);
    *status = REPAIR_NONE;
    for (int i = 0, found = 0; i < roots; i++) {
        double within = 0;
        int ok = refine(d, q, k, &root[i], &within) &&
                 (q == all || refine(d, all, k, &root[i], &within));
        for (int j = 0; j < found; j++) ok &= fabsl(root[i] - taken[j]) > 4 * within;
        if (!ok) continue;
        taken[found++] = root[i];
        RATIONALS(v, low);
        mpq_set_d(v, (double)root[i]);
        mpq_set_d(low, (double)(root[i] - (long double)(double)root[i]));
        mpq_add(v, v, low);
        *status = REPAIR_FOUND;
        TRY(add_candidate(d->r, 1, &k, (mpq_t *)v, 8 * within));
    }
    return 0;
}

/* ---- the search ---------------------------------------------------------------------------------------------------- */

/* Returns the order of the condition at place t in the list to order q, 0 for a node. */
static int order_of(const RepairModel *m, int q, size_t t)
{
    size_t own = repair_trees(m, m->order, q), hat = repair_trees(m, m->hat, q);
    return t < own + hat ? repair_length(m, t < own ? t : t - own) : 0;
}

/* Finds which conditions fail with the values of a candidate (NULL: as written): fails (m.most). */
static void find_failing(Doctor *d, const RepairCandidate *c, char *fails)
{
    RepairModel *m = &d->m;
    RepairNumber x[U];
    int q = top(m);
    size_t n = c ? c->unknowns : 0;
    repair_set_prime(m, d->exact ? a_prime : 0);
    if (!d->exact)
        set_tolerance(d, q, c ? c->coefficient[0] : 0,
                      c ? repair_long_double(c->value[0]) : m->x0[0].r);
    for (size_t k = 0; k < n; k++) x[k] = repair_rational(m->prime, c->value[k]);
    repair_set_values(m, n, c ? c->coefficient : NULL, x);
    repair_evaluate(m, q, 0, d->room);
    for (size_t t = 0; t < repair_conditions(m, q); t++)
        fails[t] =
            (char)(d->exact ? d->room[t].m != 0 : !(fabsl(d->room[t].r) <= m->tolerance[t].r));
}

/* Coefficients that stand in no sum by themselves are not tried, nor those that are asked for, which are unknown already. */
static int is_tried(const Doctor *d, size_t k)
{
    return !d->m.outside[k] && !d->m.c->list[k].asked;
}

/* Looks for one coefficient, beside those that are asked for. */
static int find_single(Doctor *d)
{
    drop_candidates(d->r);
    if (d->r->changed == 0) d->r->changed = 1;
    for (size_t k = 0; k < d->m.c->count; k++) {
        int status;
        if (!is_tried(d, k)) continue;
        repair_set_prime(&d->m, d->exact ? a_prime : 0);
        d->unknown[d->r->asked] = k;
        TRY(d->exact ? try_exact(d, d->r->asked + 1, d->unknown, &status)
                     : try_real(d, k, &status));
        tick();
    }
    return 0;
}

/* Looks for two. */
static int find_pairs(Doctor *d)
{
    size_t n = d->m.c->count;
    if (!d->exact || n * (n - 1) / 2 > PAIRS_MOST) return 0;
    d->r->changed = 2;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            int status;
            if (!is_tried(d, i) || !is_tried(d, k)) continue;
            d->unknown[d->r->asked] = i;
            d->unknown[d->r->asked + 1] = k;
            TRY(try_exact(d, d->r->asked + 2, d->unknown, &status));
            tick();
        }
    return 0;
}

/* Finds out which of the coefficients that were not seen before a condition to order q depends on. */
static void see(Doctor *d, int q)
{
    RepairModel *m = &d->m;
    size_t n = repair_conditions(m, q);
    repair_set_prime(m, d->exact ? a_prime : 0);
    if (!d->exact) set_tolerance(d, q, 0, m->x0[0].r);
    repair_set_values(m, 0, NULL, NULL);
    repair_evaluate(m, q, 0, d->room);
    for (size_t k = 0; k < m->c->count; k++) {
        for (uint64_t i = 1; i < 3 && d->r->seen[k] == 0; i++) {
            RepairNumber by = d->exact ? number_whole(a_prime, random_below(61, 2, i, a_prime))
                                       : (RepairNumber){.r = 0.37L * (long double)i};
            RepairNumber x = number_add(m->prime, m->x0[k], by), *f = d->room, *g = d->room + n;
            repair_set_values(m, 1, &k, &x);
            repair_evaluate(m, q, 0, g);
            for (size_t t = 0; t < n; t++)
                if (d->exact ? g[t].m != f[t].m : fabsl(g[t].r - f[t].r) > m->tolerance[t].r)
                    d->r->seen[k] = 1;
        }
        tick();
    }
}

/* Finds the coefficients on which no condition depends. */
static void find_unseen(Doctor *d)
{
    for (size_t k = 0; k < d->m.c->count; k++) d->r->seen[k] = (char)(d->m.outside[k] ? 2 : 0);
    for (int q = 4; q < top(&d->m); q *= 2) see(d, q);
    see(d, top(&d->m));
}

static int compare_candidates(const void *a, const void *b)
{
    const RepairCandidate *s = a, *t = b;
    if (s->explained != t->explained) return s->explained > t->explained ? -1 : 1;
    if (s->looser != t->looser) return s->looser ? 1 : -1;
    if (s->distance != t->distance) return s->distance < t->distance ? -1 : 1;
    if (s->bits != t->bits) return s->bits < t->bits ? -1 : 1;
    return s->coefficient[0] < t->coefficient[0] ? -1 : s->coefficient[0] > t->coefficient[0];
}

/* ---- of several repairs that conditions do not tell apart -------------------------------------------------------- */

static int is_slip(const RepairCandidate *c)
{
    return c->distance == (int)c->unknowns;
}

/* Finds in how many bits all numbers are told with a candidate's values in their place. */
static int find_bits(const Repair *r, RepairCandidate *c)
{
    size_t n = r->coefficients.count, different = 0, again = 0;
    SCOPED(memory_drop) double *size = memory_new(n + 1, sizeof *size);
    if (!size) return ERR_MEMORY;
    c->bits = 0;
    for (size_t k = 0, i, was; k < n; k++) {
        RATIONAL(q);
        const char *word = r->coefficients.list[k].word;
        for (i = 0; i < c->unknowns; i++)
            if (c->coefficient[i] == k) word = c->misprint[i].text;
        if (coefficient_read(word, strlen(word), q) == 0) continue; /* '?' */
        c->bits += mpq_sgn(q) < 0;
        int node = r->name[k][0] == 'c' && (mpq_sgn(q) < 0 || mpq_cmp_ui(q, 1, 1) > 0);
        c->bits += node ? node_outside : 0;
        size[different] = fabs(mpq_get_d(q));
        for (was = 0; size[was] != size[different];) was++;
        if (was < different) {
            again++;
            continue;
        }
        c->bits += coefficient_bits(word);
        different++;
    }
    c->bits += (double)again * log2((double)(different ? different : 1));
    return 0;
}

static int find_all_bits(Repair *r)
{
    for (size_t i = 0; i < r->candidates; i++)
        if (is_slip(&r->candidate[i])) TRY(find_bits(r, &r->candidate[i]));
    return 0;
}

static int rank(Doctor *d)
{
    Repair *r = d->r;
    TRY(find_all_bits(r));
    for (size_t i = 0; i < r->candidates; i++) {
        find_failing(d, &r->candidate[i], d->still);
        for (size_t t = 0; t < r->conditions; t++)
            r->candidate[i].explained += d->fails[t] && !d->still[t];
    }
    if (r->candidates) qsort(r->candidate, r->candidates, sizeof *r->candidate, compare_candidates);
    return 0;
}

/* Sets the orders, and counts what fails. */
static int look_at(Doctor *d, int order, int hat)
{
    TRY(repair_set_order(&d->m, order, hat));
    TRY(make_room(d));
    d->r->order = order;
    d->r->embedded = hat;
    d->r->conditions = repair_conditions(&d->m, top(&d->m));
    d->first_fails = 0;
    d->r->failing = 0;
    find_failing(d, NULL, d->fails);
    for (size_t t = 0; t < d->r->conditions; t++) {
        int at = order_of(&d->m, top(&d->m), t);
        if (!d->fails[t]) continue;
        d->r->failing++;
        if (at > 0 && (d->first_fails == 0 || at < d->first_fails)) d->first_fails = at;
    }
    return 0;
}

/* Finds which coefficients are asked for. */
static int list_asked(Doctor *d)
{
    d->r->asked = 0;
    for (size_t k = 0; k < d->m.c->count; k++) {
        if (!d->m.c->list[k].asked) continue;
        if (d->r->asked == U)
            return error_set(ERR_INPUT, "expected at most %d coefficients '?'", U);
        d->unknown[d->r->asked++] = k;
    }
    return 0;
}

/* Finds the values of the coefficients that are asked for. */
static int find_asked(Doctor *d, int *status)
{
    *status = REPAIR_NONE;
    if (!d->exact && d->r->asked > 1)
        return error_set(ERR_INPUT,
                         "expected one coefficient '?' of a scheme with decimals; there are %zu",
                         d->r->asked);
    d->first_fails = top(&d->m);
    drop_candidates(d->r);
    repair_set_prime(&d->m, d->exact ? a_prime : 0);
    return d->exact ? try_exact(d, d->r->asked, d->unknown, status)
                    : try_real(d, d->unknown[0], status);
}

/* ---- names, decimals, orders ------------------------------------------------------------------------------------------ */

/* Names coefficient k by the entries that it is in. */
static void name_coefficient(const Doctor *d, const RepairSource *s, size_t k,
                             char name[REPAIR_NAME])
{
    const RepairModel *m = &d->m;
    const RepairEntry *e = NULL;
    size_t line = 1, entries = 0, at = 0, row = 0;
    for (size_t i = 0; i < m->slopes; i++) {
        if (m->slope[i].coefficient != k) continue;
        const RepairEntry *next = &m->entry[m->slope[i].entry];
        int again = e && !m->letters && m->slope[i].entry < m->entries && at < m->entries;
        again = again && next->past == e->past && next->source < m->sources &&
                e->source < m->sources && m->stage[next->source] == m->stage[e->source];
        /* F and G of a stage H; b in the error of a tableau */
        if (again && (next->row == e->row || (e->row == m->points && next->row > e->row))) continue;
        e = &m->entry[at = m->slope[i].entry];
        entries++;
    }
    for (size_t i = 0; i < m->c->list[k].at; i++) line += s->text[i] == '\n';
    while (e && row < m->sources && m->row_of[row] != e->row) row++;
    int i = row < m->sources ? m->stage[row] + 1 : 0;
    int j = e && e->source < m->sources ? m->stage[e->source] + 1 : 0;
    char past[16] = "";
    if (e && e->past) snprintf(past, sizeof past, "[-%d]", e->past);
    if (entries != 1)
        snprintf(name, REPAIR_NAME, "line %zu", line);
    else if (m->letters)
        snprintf(name, REPAIR_NAME, "flow %zu", at + 1);
    else if (at >= m->entries + m->nodes)
        snprintf(name, REPAIR_NAME, "factor of k%d", i);
    else if (at >= m->entries)
        snprintf(name, REPAIR_NAME, "c%d", i);
    else if (e->source == m->sources && e->row < m->points)
        snprintf(name, REPAIR_NAME, "weight of y%s in k%d", past, i);
    else if (e->source == m->sources)
        snprintf(name, REPAIR_NAME, "weight of y%s", past);
    else if (e->row == m->points)
        snprintf(name, REPAIR_NAME, "b%d%s", j, past);
    else if (e->row > m->points)
        snprintf(name, REPAIR_NAME, "%s%d",
                 butcher_is(s->text, s->bytes) ? "bhat" : "error weight ", j);
    else
        snprintf(name, REPAIR_NAME, i > 9 || j > 9 ? "a%d,%d%s" : "a%d%d%s", i, j, past);
}

/* Returns the last digit of the decimals: the coarsest of 9 places and more, else the finest, but not below 2^-63, what a long double of
 * x86-64 tells from 1. A machine with longer ones has the same answers: decimals of 60 places may be meant to meet conditions to 24. */
static double last_digit(const Coefficients *c)
{
    double coarse = 0, fine = 1;
    for (size_t k = 0; k < c->count; k++) {
        const char *point = strchr(c->list[k].word, '.');
        size_t places = point ? strspn(point + 1, "0123456789") : 0;
        const char *e = point ? strpbrk(point, "eE") : NULL;
        double digit = pow(10, (e ? atoi(e + 1) : 0) - (double)places);
        if (!places) continue;
        fine = fmin(fine, digit);
        if (places >= 9) coarse = fmax(coarse, digit);
    }
    double unit = coarse > 0 ? coarse : fine < 1 ? fine : 1e-16;
    return fmax(unit, 0x1p-63);
}

/* Returns the highest order of conditions. */
static int most_order(const RepairModel *m)
{
    int most = m->one ? TREE_MAX_1 - 1 : m->colours > 2 ? TREE_MAX_3 : TREE_MAX - 1;
    return m->functions && most > TREE_MAX ? TREE_MAX : most;
}

/* Looks for the highest order to which one coefficient, or those that are asked for, can be set. One that meets a single
 * condition more is no evidence: of implicit Euler's method, of order 1, it would make the midpoint rule. */
static int climb(Doctor *d, int from, int hat, int asked)
{
    int best = 0, code = 0;
    for (int q = from; q <= REPAIR_CLIMB && q <= most_order(&d->m) && code == 0; q++) {
        int status = REPAIR_NONE;
        TRY(look_at(d, q, hat < q ? hat : q));
        if (asked)
            TRY(find_asked(d, &status));
        else if (d->r->failing)
            TRY(find_single(d));
        if (!asked && !d->r->failing) continue;
        int evidence = asked || d->r->failing > 1 || d->first_fails == 0;
        if (d->r->candidates)
            best = evidence ? q : best;
        else if (status != REPAIR_OPEN)
            break;
    }
    if (!best) best = from > 1 ? from - 1 : 1;
    drop_candidates(d->r);
    return look_at(d, best, hat < best ? hat : best);
}

/* Searches at the orders that are set; where `lower` is set and nothing is found, two coefficients and then lower orders. */
static int search(Doctor *d, int lower)
{
    Repair *r = d->r;
    int order = r->order, hat = r->embedded, now = d->first_fails > 0 ? d->first_fails - 1 : 0;
    if (!r->failing) return 0;
    TRY(find_single(d));
    if (!r->candidates && lower) TRY(find_pairs(d));
    for (int q = order - 1; q > now && !r->candidates && lower; q--) {
        TRY(look_at(d, q, hat < q ? hat : q));
        if (r->failing) TRY(find_single(d));
        r->reached = r->candidates ? q : 0;
    }
    if (r->order != order) TRY(look_at(d, order, hat));
    return 0;
}

/* Chooses the orders, then searches. */
static int choose(Doctor *d, const Theory *now, const Embedded *embedded, int order, int claimed,
                  int hat)
{
    Repair *r = d->r;
    int pair = embedded->order >= 0, status = REPAIR_NONE, guessed = 0;
    r->how = order ? REPAIR_ASKED : claimed ? REPAIR_CLAIMED : REPAIR_HIGHEST;
    if (!order) order = claimed;
    if (!pair) hat = 0;
    if (pair && !hat && order > 1) {
        int lower = now->order >= order && embedded->order >= 1 && embedded->order >= order - 2;
        guessed = !lower;
        hat = lower ? embedded->order : order - 1; /* 5(3): as it is, where nothing says 5(4) */
        if (hat > order) hat = order;
    }
    TRY(list_asked(d));
    if (!order) {
        TRY(climb(d, r->asked ? 1 : now->order + 1,
                  pair ? embedded->order > 0 ? embedded->order : 0 : 0, r->asked > 0));
        order = r->order;
        hat = r->embedded;
    }
    TRY(look_at(d, order, hat));
    if (r->asked) {
        TRY(find_asked(d, &status));
        r->undetermined = status == REPAIR_OPEN;
        /* what is asked for may not be all that is wrong */
        if (status == REPAIR_NONE && d->exact && r->asked < U) TRY(find_single(d));
        if (status == REPAIR_NONE && !r->candidates && r->asked + 1 < U) TRY(find_pairs(d));
    } else {
        TRY(search(d, !guessed && r->how != REPAIR_HIGHEST));
        if (guessed && !r->candidates &&
            r->failing) { /* the embedded order may be lower by design */
            TRY(look_at(d, order, embedded->order < hat ? embedded->order : hat));
            TRY(search(d, 1));
        }
    }
    TRY(rank(d));
    find_unseen(d);
    return 0;
}

static void doctor_free(Doctor *d)
{
    repair_model_free(&d->m);
    memory_free_all(d->room, d->fails, d->still);
}

/* Returns in *most the largest defect of the conditions with a candidate in the text, or infinity. */
static int find_defect(const Repair *r, const RepairSource *s, const RepairCandidate *c,
                       double *most)
{
    TABLE(t);
    Theory th;
    SCOPED(memory_drop)
    const char **value = memory_new(r->coefficients.count + 1, sizeof *value);
    if (!value) return ERR_MEMORY;
    for (size_t k = 0; k < c->unknowns; k++) value[c->coefficient[k]] = c->misprint[k].text;
    TRY(repair_read(s->file, &r->coefficients, s->text, s->bytes, value, &t));
    TRY(theory_search(t, r->order, &th));
    *most = th.order < r->order ? INFINITY : fmax(th.residual, 1e-60);
    return 0;
}

/* Of several changes of decimals finds those that meet the conditions less closely than another one, in floats of 320 bits:
 * of far digits long double sees too little. */
static int find_looser(Repair *r, const RepairSource *s)
{
    enum { LOOKED_AT = 16, LOOSER = 1000 };
    double defect[LOOKED_AT], least = INFINITY;
    size_t n = r->candidates < LOOKED_AT ? r->candidates : LOOKED_AT;
    if (n < 2 || r->reached) return 0;
    for (size_t i = 0; i < n; i++) {
        TRY(find_defect(r, s, &r->candidate[i], &defect[i]));
        least = fmin(least, defect[i]);
    }
    for (size_t i = 0; i < n; i++) r->candidate[i].looser = defect[i] > LOOSER * least;
    qsort(r->candidate, r->candidates, sizeof *r->candidate, compare_candidates);
    return 0;
}

static int find(Doctor *d, RepairSource *s, const Table *written, int order)
{
    Repair *r = d->r;
    Theory now;
    Embedded embedded;
    int claimed, hat;
    coefficients_claims(s->text, s->bytes, &claimed, &hat);
    TRY(repair_check_kind(table_whole(written)));
    TRY(theory_search(written, REPAIR_CLIMB, &now));
    TRY(theory_embedded(written, REPAIR_CLIMB, &embedded));
    r->now = now.order;
    TRY(repair_model_open(&d->m, s, written));
    int most = most_order(&d->m);
    if (order > most || claimed > most || hat > most)
        return error_set(ERR_INPUT, "expected an order of 1 to %d to repair", most);
    for (size_t k = 0; k < r->coefficients.count; k++) name_coefficient(d, s, k, r->name[k]);
    d->m.unit = written->exact ? 1e-16 : last_digit(&r->coefficients);
    int few = !written->exact && d->m.unit > few_places;
    r->exact = d->exact = written->exact || few;
    TRY(choose(d, &now, &embedded, order, claimed, hat));
    int found = !r->failing ||
                (r->candidates && !r->reached && (!few || r->failing > 1 || repair_unique(r)));
    if (d->exact && (r->asked || found || !(few || theory_may_round(written)))) return 0;
    if (d->exact) {
        r->exact = d->exact = 0; /* the fractions, or decimals of few places, may be roundings */
        r->reached = r->changed = 0;
        TRY(choose(d, &now, &embedded, order, claimed, hat));
    }
    return find_looser(r, s);
}

int repair_find(const char *file, const char *text, size_t bytes, int order, Repair *out)
{
    *out = (Repair){0};
    TABLE(written);
    SCOPED(doctor_free) Doctor d = {.r = out};
    TRY(coefficients_find(text, bytes, &out->coefficients));
    const Coefficients *c = d.m.c = &out->coefficients;
    SCOPED(memory_drop)
    const char **value = memory_new(c->count + 1, sizeof *value);
    SCOPED(memory_drop)
    char(*word)[MISPRINT_WORD] = memory_new(c->count + 1, sizeof *word);
    out->name = memory_new(c->count + 1, sizeof *out->name);
    out->seen = memory_new(c->count + 1, 1);
    int code = value && word && out->name && out->seen ? 0 : ERR_MEMORY;
    for (size_t k = 0; code == 0 && k < c->count; k++)
        if (c->list[k].asked) value[k] = "1";
    RepairSource s = {file, text, bytes, value, word};
    if (code == 0) code = repair_read(file, c, text, bytes, value, &written);
    if (code == 0) code = find(&d, &s, written, order);
    if (code != 0) repair_free(out);
    return code;
}

int repair_written(const Repair *r, size_t candidate, const char *text, size_t bytes, char **out,
                   size_t *count)
{
    const RepairCandidate *c = &r->candidate[candidate];
    SCOPED(memory_drop)
    const char **value = memory_new(r->coefficients.count + 1, sizeof *value);
    if (!value) return ERR_MEMORY;
    for (size_t k = 0; k < c->unknowns; k++) value[c->coefficient[k]] = c->misprint[k].text;
    return coefficients_written(&r->coefficients, text, bytes, value, out, count);
}

int repair_unique(const Repair *r)
{
    if (r->failing == 0 && r->asked == 0) return 1;
    if (r->candidates == 0 || r->candidate[0].explained < r->failing) return 0;
    if (r->candidates == 1 || (r->candidate[1].looser && !r->candidate[0].looser)) return 1;
    const RepairCandidate *first = &r->candidate[0], *second = &r->candidate[1];
    return is_slip(first) && (!is_slip(second) || second->bits >= first->bits + enough_bits);
}
