/* round.c: finds simple fractions near the best point of a search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/design/design.h"

enum { DENOMINATORS = 64, READ_DENOMINATORS = 1000000, POLISH = 80 };
static const double same = 1e-10; /* values set by the conditions are known to some 1e-12 */

static int coprime(long a, long b)
{
    while (b) {
        long rest = a % b;
        a = b;
        b = rest;
    }
    return labs(a) == 1;
}

/* Fixes coefficient i at value. Returns 1 where the others can meet the conditions with it and the
 * figure stays within `most`. */
static int fits(Simplex *u, size_t i, double value, double most, int *code)
{
    double figure;
    memcpy(u->at, u->x, u->form->n * sizeof *u->at);
    u->at[i] = value;
    u->fixed[i] = 1;
    int got = form_project(u->form, u->fixed, u->at);
    if (got == 0) got = objective_at(u->form, u->options, u->at, &figure);
    if (got == 0 && u->options->objective->sign * figure <= most) {
        memcpy(u->x, u->at, u->form->n * sizeof *u->at);
        return 1;
    }
    u->fixed[i] = 0;
    if (got != 0 && got != ERR_ACCURACY) *code = got;
    return 0;
}

/* Minimises the objective again over the coefficients that are not fixed. */
static int polish(Simplex *u)
{
    double figure;
    TRY(objective_at(u->form, u->options, u->x, &figure));
    u->best = u->options->objective->sign * figure;
    memcpy(u->least, u->x, u->form->n * sizeof *u->x);
    return simplex_run(u, .02, u->search->evaluations + POLISH * u->form->n);
}

/* Fixes coefficient i at p/d, d the denominator, where that fits. */
static int try_fraction(Simplex *u, size_t i, long d, double most, mpq_t *q)
{
    int code = 0;
    double p = nearbyint(u->x[i] * (double)d);
    if (search_stopped(u->options) || u->fixed[i] || !coprime((long)p, d)) return 0;
    if (!fits(u, i, p / (double)d, most, &code)) return code;
    mpq_set_si(q[i], (long)p, (unsigned long)d);
    return code == 0 ? polish(u) : code;
}

/* Fixes coefficients at the smallest denominators first, in any coefficient. */
static int fix_by_denominator(Simplex *u, double most, mpq_t *q)
{
    for (long d = 1; d <= DENOMINATORS; d++)
        for (size_t i = 0; i < u->form->n; i++) TRY(try_fraction(u, i, d, most, q));
    return 0;
}

/* Fixes one coefficient after another in the order of the text, so that the first ones determine the others. */
static int fix_by_text(Simplex *u, double most, mpq_t *q)
{
    for (size_t i = 0; i < u->form->n; i++)
        for (long d = 1; d <= DENOMINATORS; d++) TRY(try_fraction(u, i, d, most, q));
    return 0;
}

/* Finds the first convergent of the continued fraction of x that equals x up to rounding. Returns 0 where none does. */
static int read_fraction(double x, mpq_t q)
{
    double rest = x;
    long p0 = 1, q0 = 0, p1 = (long)floor(x), q1 = 1;
    while (q1 <= READ_DENOMINATORS) {
        if (fabs(x - (double)p1 / (double)q1) <= same) {
            mpq_set_si(q, p1, (unsigned long)q1);
            mpq_canonicalize(q);
            return 1;
        }
        rest = 1 / (rest - floor(rest));
        if (!(rest < READ_DENOMINATORS)) break;
        long a = (long)floor(rest), p = a * p1 + p0, d = a * q1 + q0;
        p0 = p1, q0 = q1, p1 = p, q1 = d;
    }
    return 0;
}

/* Rounds x to 16 decimals. */
static void read_decimal(double x, mpq_t q)
{
    mpq_set_d(q, nearbyint(x * 1e16));
    mpz_set_ui(mpq_denref(q), 10000000000000000UL);
    mpq_canonicalize(q);
}

static int has_order(Form *f, mpq_t *q, int decimal, int *yes)
{
    TABLE(t);
    Theory theory;
    TRY(form_at_rational(f, q, decimal, &t));
    *yes = 0;
    TRY(theory_search(t, f->order, &theory));
    *yes = theory.order >= f->order;
    return 0;
}

/* Finds fractions for all coefficients from x, by one way of fixing them; *found: the order holds exactly. */
static int round_by(int (*fix)(Simplex *u, double most, mpq_t *q), Simplex *u, const Search *s,
                    double most, mpq_t *q, int *found)
{
    size_t n = u->form->n;
    memcpy(u->x, s->x, n * sizeof *u->x);
    memset(u->fixed, 0, n);
    TRY(fix(u, most, q));
    *found = 1;
    for (size_t i = 0; i < n; i++)
        if (!u->fixed[i]) *found &= read_fraction(u->x[i], q[i]);
    return *found ? has_order(u->form, q, 0, found) : 0;
}

/* Keeps the fixed coefficients as they are, and rounds the others to 16 decimals. */
static int keep_decimals(Simplex *u, Search *s)
{
    int yes;
    s->decimal = 1;
    for (size_t i = 0; i < u->form->n; i++)
        if (!u->fixed[i]) read_decimal(u->x[i], s->rounded[i]);
    TRY(has_order(u->form, s->rounded, 1, &yes));
    if (yes) return 0;
    return error_set(ERR_ACCURACY, "%s: the rounded coefficients have not order %d",
                     u->form->table->name, u->form->order);
}

int search_round(Form *f, const SearchOptions *o, Search *s)
{
    SCOPED(simplex_free) Simplex u = {0};
    int found = 0;
    double least = o->objective->sign * s->figure, most = least + o->rise * fabs(least) + 1e-13;
    TRY(simplex_new(f, o, s, &u));
    TRY(round_by(fix_by_denominator, &u, s, most, s->rounded, &found));
    if (!found && !search_stopped(o)) TRY(round_by(fix_by_text, &u, s, most, s->rounded, &found));
    return found ? 0 : keep_decimals(&u, s);
}
