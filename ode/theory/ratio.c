/* ratio.c: the factor by which a step multiplies y on y' = lambda y, z = h lambda, as a quotient of polynomials over the rationals.
 *
 * With share s_e of z in the slope of evaluation e, the points are Y = u y + z A Y, where A_pq adds a_pe s_e over the
 * evaluations e at point q, and y' = v y + z b Y, so R = v + z b (1 - z A)^-1 u. Explicit stages are substituted one after
 * another, and R is a polynomial. Else
 *
 *     Q = det(1 - z A),     P = det(1 - z (A - u b)) + (v - 1) Q,
 *
 * the characteristic polynomials read backwards. The slope of a resolvent's stage is a
 * Y of its own, Y_p = r_p + c s z Y_p with share s of z in its A and scale c; rows that read it take that sum. ratio_off.c tells how
 * far the coefficients of an inexact table are off, and which may be nothing else. */
#include "ode/theory/ratio_inside.h"

#include <flint/fmpq_mat.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"

enum { IMPLICIT_POINTS = 64 };

/* Adds c s of a resolvent's stage to its place in its row. */
static void read_resolvent(const Table *t, int colour, const Point *p, mpq_t at)
{
    int fields = point_fields(t, p), n = __builtin_popcount((unsigned)fields);
    RATIONAL(share);
    mpq_set_si(share, colour < 0 ? n : fields >> colour & 1, colour < 0 ? (unsigned)t->colours : 1);
    mpq_canonicalize(share);
    rational_add(at, share, p->scale);
}

/* Leaves an inexact table's coefficients no more digits than there are. */
static void round_inexact(const Table *t, fmpq_poly_t p)
{
    RATIONAL(c);
    for (int k = 0; !t->exact && k <= poly_degree(p); k++) {
        poly_get(p, k, c);
        expression_round(c);
        poly_set(p, k, c);
    }
}

/* ---- explicit stages -------------------------------------------------------------------------------- */

/* Computes out = state + z sum over q < count of at_q Y_q. */
static void substitute(const mpq_t state, mpq_t *at, size_t count, fmpq_poly_t *Y, fmpq_poly_t out)
{
    FRACTION(c);
    POLY(x);
    for (size_t q = 0; q < count; q++) {
        if (mpq_sgn(at[q]) == 0) continue;
        fmpq_set_mpq(c, at[q]);
        fmpq_poly_scalar_mul_fmpq(x, Y[q], c);
        fmpq_poly_add(out, out, x);
    }
    fmpq_poly_shift_left(out, out, 1);
    poly_set(out, 0, state);
}

/* Tells whether a polynomial is past what limit.c takes, degree^2 times bits; the next ones are longer. */
static int too_long(const fmpq_poly_t p)
{
    const double most = 1.5e8;
    return 2.0 * poly_degree(p) * poly_degree(p) * (double)fmpz_bits(fmpq_poly_denref(p)) > most;
}

typedef struct {
    size_t count;
    fmpq_poly_t *p; /* (count) */
} Polys;

static void polys_free(Polys *w)
{
    for (size_t p = 0; w->p && p < w->count; p++) fmpq_poly_clear(w->p[p]);
    memory_free(w->p);
}

static int explicit_ratio(const Table *t, int colour, Ratio *out, int *told)
{
    size_t n = t->points;
    SCOPED(polys_free) Polys Y = {n + 1, memory_new(n + 1, sizeof *Y.p)}; /* the last is y' */
    SCOPED(rationals_drop) mpq_t *at = rationals_new(n);
    RATIONAL(state);
    for (size_t p = 0; Y.p && p <= n; p++) fmpq_poly_init(Y.p[p]);
    if (!Y.p || !at) return ERR_MEMORY;
    for (size_t p = 0; p <= n && *told; p++) {
        mpq_set_ui(state, 0, 1);
        for (size_t q = 0; q < n; q++) mpq_set_ui(at[q], 0, 1);
        ratio_row(t, colour, p < n ? &t->point[p].row : &t->update, NULL, NULL, state, at);
        substitute(state, at, p, Y.p, Y.p[p]);
        *told = !too_long(Y.p[p]);
        tick();
    }
    fmpq_poly_swap(out->P, Y.p[n]);
    fmpq_poly_one(out->Q);
    round_inexact(t, out->P);
    return *told && !t->exact ? off_explicit(t, colour, out) : 0;
}

/* ---- implicit stages -------------------------------------------------------------------------------- */

/* Computes det(1 - z (A - u b)), without u: det(1 - z A). */
static void determinant(const RatioRows *w, int update, fmpq_poly_t out)
{
    fmpq_mat_t M;
    RATIONAL(x);
    slong n = (slong)w->n;
    fmpq_mat_init(M, n, n);
    for (slong i = 0; i < n; i++)
        for (slong j = 0; j < n; j++) {
            mpq_set(x, w->A[i * n + j]);
            if (update) rational_subtract(x, w->u[i], w->b[j]);
            fmpq_set_mpq(fmpq_mat_entry(M, i, j), x);
        }
    fmpq_mat_charpoly(out, M);
    fmpq_poly_reverse(out, out, n + 1);
    fmpq_mat_clear(M);
}

static int implicit_ratio(const Table *t, int colour, Ratio *out)
{
    size_t n = t->points;
    SCOPED(rationals_drop) mpq_t *list = rationals_new(n * n + 2 * n + 1);
    FRACTION(v);
    POLY(x);
    if (!list) return ERR_MEMORY;
    RatioRows w = {n, list, list + n * n, list + n * n + n, list + n * n + 2 * n};
    for (size_t p = 0; p < n; p++) {
        const Point *at = &t->point[p];
        ratio_row(t, colour, &at->row, w.u, w.A, w.u[p], w.A + p * n);
        if (at->phi) read_resolvent(t, colour, at, w.A[p * n + p]);
    }
    ratio_row(t, colour, &t->update, w.u, w.A, *w.v, w.b);
    determinant(&w, 0, out->Q);
    determinant(&w, 1, out->P);
    fmpq_set_mpq(v, *w.v);
    fmpq_sub_si(v, v, 1);
    fmpq_poly_scalar_mul_fmpq(x, out->Q, v);
    fmpq_poly_add(out->P, out->P, x);
    round_inexact(t, out->P);
    round_inexact(t, out->Q);
    return t->exact ? 0 : off_implicit(t, colour, &w, out);
}

/* ---- both --------------------------------------------------------------------------------------------- */

/* Replaces p by p / d, and what its coefficients are off, or NULL, by twice what division by d makes of it: d is as
 * much off as p. */
static void divide_by(const Ratio *r, fmpq_poly_t p, const fmpq_poly_t d, double *off)
{
    int n = (int)r->points;
    for (int k = 0; off && k <= n; k++) {
        for (int j = 1; j <= k && j <= poly_degree(d); j++)
            off[k] += fabs(poly_number(d, j)) * off[k - j];
    }
    for (int k = 0; off && k <= n; k++) off[k] *= 2;
    fmpq_poly_div(p, p, d);
}

/* Divides both by their common factor, of stages that no step depends on; Q(0) stays 1. */
static void reduce(Ratio *r)
{
    POLY(common);
    FRACTION(by);
    fmpq_poly_gcd(common, r->P, r->Q);
    if (poly_degree(common) < 1) return;
    fmpq_poly_get_coeff_fmpq(by, common, 0); /* not 0, as Q(0) = 1 */
    fmpq_poly_scalar_div_fmpq(common, common, by);
    divide_by(r, r->P, common, r->p_off);
    divide_by(r, r->Q, common, r->q_off);
}

int ratio_new(const Table *t, int colour, Ratio *out, int *told)
{
    int implicit = table_solves(t);
    out->points = t->points;
    *told = !implicit || t->points <= IMPLICIT_POINTS;
    if (!*told) return 0;
    TRY(implicit ? implicit_ratio(t, colour, out) : explicit_ratio(t, colour, out, told));
    if (implicit) reduce(out);
    return 0;
}

void ratio_free(Ratio *r)
{
    fmpq_poly_clear(r->P);
    fmpq_poly_clear(r->Q);
    memory_free_all(r->p_off, r->q_off);
}

/* Writes the coefficients of a polynomial, which has `count` at most. */
static mpq_t *listed(const fmpq_poly_t p, int count)
{
    mpq_t *list = rationals_new((size_t)count);
    for (int i = 0; list && i < count; i++) poly_get(p, i, list[i]);
    return list;
}

/* Adds sign times p_i p_j cos((i - j) angle) (-r)^(i + j) to f, a polynomial in r^step; cosine[m]: that of m angle. off grows
 * by what the terms may be off. */
static int add_square(const fmpq_poly_t p, const double *p_off, int sign, mpq_t *cosine, int step,
                      mpq_t *f, double *off)
{
    int n = poly_degree(p) + 1;
    SCOPED(rationals_drop) mpq_t *c = listed(p, n);
    RATIONAL(x);
    if (!c) return ERR_MEMORY;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            mpq_ptr turn = cosine[i > j ? i - j : j - i];
            int at = (i + j) / step;
            if (mpq_sgn(turn) == 0) continue;
            mpq_mul(x, c[i], c[j]);
            mpq_mul(x, x, turn);
            if (((i + j) % 2 != 0) != (sign < 0)) mpq_neg(x, x);
            mpq_add(f[at], f[at], x);
            if (p_off)
                off[at] += off_modulus(turn) * (off_modulus(c[i]) * p_off[j] +
                                                p_off[i] * (off_modulus(c[j]) + p_off[j]));
        }
    return 0;
}
/* Writes cos(m angle), m = 0 .. degree, by Chebyshev's recursion. */
static void write_cosines(const mpq_t cosine, int degree, mpq_t *out)
{
    mpq_set_ui(out[0], 1, 1);
    if (degree > 0) mpq_set(out[1], cosine);
    for (int m = 2; m <= degree; m++) {
        mpq_mul(out[m], cosine, out[m - 1]);
        mpq_mul_2exp(out[m], out[m], 1);
        mpq_sub(out[m], out[m], out[m - 2]);
    }
}

/* Returns the larger degree, at least 0. */
static int larger_degree(const Ratio *r)
{
    int p = poly_degree(r->P), q = poly_degree(r->Q);
    return p > q ? p : q > 0 ? q : 0;
}

int ratio_excess(const Ratio *r, const mpq_t cosine, fmpq_poly_t f)
{
    int step = mpq_sgn(cosine) == 0 ? 2 : 1, degree = larger_degree(r);
    SCOPED(memory_drop) double *off = memory_new(2 * (size_t)degree + 1, sizeof *off);
    SCOPED(rationals_drop) mpq_t *turn = rationals_new((size_t)degree + 1);
    SCOPED(rationals_drop) mpq_t *sum = rationals_new(2 * (size_t)degree + 1);
    if (!off || !turn || !sum) return ERR_MEMORY;
    write_cosines(cosine, degree, turn);
    TRY(add_square(r->P, r->p_off, 1, turn, step, sum, off));
    TRY(add_square(r->Q, r->q_off, -1, turn, step, sum, off));
    for (int i = 0; i <= 2 * degree / step; i++) {
        if (r->p_off) off_drop(sum[i], off[i]);
        poly_set(f, i, sum[i]);
    }
    return 0;
}

void ratio_below(const Ratio *r, int sign, fmpq_poly_t f)
{
    RATIONALS(p, q);
    for (int i = 0; i <= larger_degree(r); i++) {
        poly_get(r->P, i, p);
        poly_get(r->Q, i, q);
        if (sign < 0) mpq_neg(p, p);
        mpq_sub(p, p, q);
        if (i % 2) mpq_neg(p, p);
        if (r->p_off) off_drop(p, r->p_off[i] + r->q_off[i]);
        poly_set(f, i, p);
    }
}
