/* round.c: simple fractions near the best point of a search. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/design/simplex.h"

enum { DENOMINATORS = 64, READ_DENOMINATORS = 1000000, POLISH = 80 };
static const double same = 1e-10; /* a value that the conditions decide is known to some 1e-12 */

static int coprime(long a, long b)
{
    while (b) {
        long rest = a % b;
        a = b;
        b = rest;
    }
    return labs(a) == 1;
}

/* Fixes coefficient i at value: 1 where the others can meet the conditions with it and the figure stays within `most`. */
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

/* The rest goes back to the least objective that is left to it. */
static int polish(Simplex *u)
{
    double figure;
    TRY(objective_at(u->form, u->options, u->x, &figure));
    u->best = u->options->objective->sign * figure;
    memcpy(u->least, u->x, u->form->n * sizeof *u->x);
    return simplex_run(u, .02, u->search->evaluations + POLISH * u->form->n);
}

static int fix_by_denominator(Simplex *u, double most, mpq_t *q)
{
    int code = 0;
    for (long d = 1; code == 0 && d <= DENOMINATORS; d++)
        for (size_t i = 0; code == 0 && i < u->form->n; i++) {
            double p = nearbyint(u->x[i] * (double)d);
            if (u->fixed[i] || !coprime((long)p, d)) continue;
            if (!fits(u, i, p / (double)d, most, &code)) continue;
            mpq_set_si(q[i], (long)p, (unsigned long)d);
            if (code == 0) code = polish(u);
        }
    return code;
}

/* The first convergent of the continued fraction of x that is x but for rounding; 0: none. */
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

/* x to 16 decimals. */
static void read_decimal(double x, mpq_t q)
{
    mpq_set_d(q, nearbyint(x * 1e16));
    mpz_set_ui(mpq_denref(q), 10000000000000000UL);
    mpq_canonicalize(q);
}

static int has_order(Form *f, mpq_t *q, int decimal, int *yes)
{
    Table *t;
    Theory theory;
    TRY(form_at_rational(f, q, decimal, &t));
    int code = theory_find(f->forest, t, &theory);
    *yes = code == 0 && theory.order >= f->order;
    table_free(t);
    return code;
}

int search_round(Form *f, const SearchOptions *o, Search *s)
{
    Simplex u;
    int yes = 0;
    double least = o->objective->sign * s->figure, most = least + o->rise * fabs(least) + 1e-13;
    int code = simplex_new(f, o, s, &u);
    if (code == 0) memcpy(u.x, s->x, f->n * sizeof *u.x);
    if (code == 0) code = fix_by_denominator(&u, most, s->rounded);
    for (size_t i = 0; code == 0 && i < f->n; i++)
        if (!u.fixed[i]) s->decimal |= !read_fraction(u.x[i], s->rounded[i]);
    if (code == 0 && !s->decimal) code = has_order(f, s->rounded, 0, &yes);
    if (code == 0 && !yes) {
        s->decimal = 1;
        for (size_t i = 0; i < f->n; i++)
            if (!u.fixed[i]) read_decimal(u.x[i], s->rounded[i]);
        code = has_order(f, s->rounded, 1, &yes);
        if (code == 0 && !yes)
            code = error_set(ERR_ACCURACY, "%s: the rounded coefficients have not order %d",
                             f->table->name, f->order);
    }
    simplex_free(&u);
    return code;
}
