/* ratio.c: the factor by which a step multiplies y on y' = lambda y, z = h lambda, as a quotient of polynomials over the rationals.
 *
 * With share s_e of z in the slope of evaluation e, the points are Y = u y + z A Y, where A_pq adds a_pe s_e over the
 * evaluations e at point q, and y' = v y + z b Y, so R = v + z b (1 - z A)^-1 u. Explicit stages are substituted one after
 * another, and R is a polynomial. Else Q = det(1 - z A) = 1 + c_1 z + ... + c_n z^n, and with x_1 = u, x_(k+1) = A x_k + c_k u
 *
 *     P = v Q + sum over k = 1 .. n of (b x_k) z^k,     M_1 = 1,  c_k = -trace(A M_k) / k,  M_(k+1) = A M_k + c_k,
 *
 * the method of Faddeev and LeVerrier (Faddeev, Faddeeva 1963), exact in rationals. The slope of a resolvent's stage is a
 * Y of its own, Y_p = r_p + c s z Y_p with share s of z in its A and scale c; rows that read it take that sum. */
#include "ode/theory/ratio.h"

#include <math.h>

#include "kernels/error.h"
#include "kernels/scoped.h"
#include "kernels/tick.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"

enum { IMPLICIT_POINTS = 24 }; /* n^4 operations */
static const double inexact_zero = 1e-12;

static void share_of(const Table *t, int colour, int e, mpq_t out)
{
    if (colour < 0)
        mpq_set_ui(out, 1, (unsigned)t->colours);
    else
        mpq_set_ui(out, t->eval[e].op == colour, 1);
}

/* Adds a row's weight on y and, times shares of z, those on its slopes' points to at (points). u (points), A (points,
 * points): the rows before, which slopes of resolvents stand for. */
static void read_row(const Table *t, int colour, const Row *r, mpq_t *u, mpq_t *A, mpq_t state,
                     mpq_t *at)
{
    RATIONAL(x);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval == TABLE_STATE) {
            mpq_add(state, state, s->c);
            continue;
        }
        size_t q = (size_t)t->eval[s->eval].point;
        if (!t->point[q].phi) {
            share_of(t, colour, s->eval, x);
            rational_add(at[q], x, s->c);
            continue;
        }
        rational_add(state, u[q], s->c);
        for (size_t j = 0; j < t->points; j++) rational_add(at[j], A[q * t->points + j], s->c);
    }
}

/* Adds c s of a resolvent's stage to its place in its row. */
static void read_resolvent(const Table *t, int colour, const Point *p, mpq_t at)
{
    int fields = point_fields(t, p), n = __builtin_popcount((unsigned)fields);
    RATIONAL(share);
    mpq_set_si(share, colour < 0 ? n : fields >> colour & 1, colour < 0 ? (unsigned)t->colours : 1);
    mpq_canonicalize(share);
    rational_add(at, share, p->scale);
}

/* Sets a sum to 0 where it is an inexact table's rounding; size: that of its terms. */
static void drop(const Table *t, mpq_t sum, double size)
{
    if (!t->exact && fabs(mpq_get_d(sum)) <= inexact_zero * size) mpq_set_ui(sum, 0, 1);
}

/* Leaves an inexact table's coefficients no more digits than there are. */
static void round_inexact(const Table *t, Poly *p)
{
    for (int k = 0; !t->exact && k <= p->degree; k++) expression_round(p->c[k]);
    poly_trim(p);
}

/* ---- explicit stages -------------------------------------------------------------------------------- */

/* A point's polynomial over one denominator, so that sums need no common factors: sum of whole[j] z^j / below. */
typedef struct {
    int degree;
    mpz_t *whole, below; /* (degree + 1) */
} Whole;

static int whole_new(Whole *w, size_t degree)
{
    w->degree = (int)degree;
    if (!(w->whole = memory_new(degree + 1, sizeof *w->whole))) return ERR_MEMORY;
    for (size_t j = 0; j <= degree; j++) mpz_init(w->whole[j]);
    mpz_init(w->below);
    return 0;
}

static void whole_free(Whole *w)
{
    for (int j = 0; j <= w->degree; j++) mpz_clear(w->whole[j]);
    mpz_clear(w->below);
    memory_free(w->whole);
}

/* Computes out = state + z sum over q < out->degree of at_q Y_q. */
static void substitute(const mpq_t state, mpq_t *at, const Whole *Y, Whole *out)
{
    mpz_t by;
    mpz_init(by);
    mpz_set(out->below, mpq_denref(state));
    for (int q = 0; q < out->degree; q++) {
        mpz_mul(by, mpq_denref(at[q]), Y[q].below);
        if (mpq_sgn(at[q]) != 0) mpz_lcm(out->below, out->below, by);
    }
    mpz_divexact(by, out->below, mpq_denref(state));
    mpz_mul(out->whole[0], by, mpq_numref(state));
    for (int q = 0; q < out->degree; q++) {
        if (mpq_sgn(at[q]) == 0) continue;
        mpz_mul(by, mpq_denref(at[q]), Y[q].below);
        mpz_divexact(by, out->below, by);
        mpz_mul(by, by, mpq_numref(at[q]));
        for (int j = 0; j <= Y[q].degree; j++) mpz_addmul(out->whole[j + 1], by, Y[q].whole[j]);
    }
    mpz_clear(by);
}

/* Tells whether a polynomial is past what limit.c takes, degree^2 times bits; the next ones are longer. */
static int too_long(const Whole *w)
{
    const double most = 1.5e8;
    return 2.0 * w->degree * w->degree * (double)mpz_sizeinbase(w->below, 2) > most;
}

static int to_poly(const Whole *w, Poly *p)
{
    TRY(poly_new(p, w->degree));
    for (int j = 0; j <= w->degree; j++) {
        mpz_set(mpq_numref(p->c[j]), w->whole[j]);
        mpz_set(mpq_denref(p->c[j]), w->below);
        mpq_canonicalize(p->c[j]);
    }
    poly_trim(p);
    return 0;
}

typedef struct {
    size_t count;
    Whole *p; /* (count) */
} Wholes;

static void wholes_free(Wholes *w)
{
    for (size_t p = 0; w->p && p < w->count && w->p[p].whole; p++) whole_free(&w->p[p]);
    memory_free(w->p);
}

static int explicit_ratio(const Table *t, int colour, Ratio *out, int *told)
{
    size_t n = t->points;
    SCOPED(wholes_free) Wholes Y = {n + 1, memory_new(n + 1, sizeof *Y.p)}; /* the last is y' */
    SCOPED(rationals_drop) mpq_t *at = rationals_new(n);
    RATIONAL(state);
    if (!Y.p || !at) return ERR_MEMORY;
    for (size_t p = 0; p <= n; p++) {
        mpq_set_ui(state, 0, 1);
        for (size_t q = 0; q < n; q++) mpq_set_ui(at[q], 0, 1);
        read_row(t, colour, p < n ? &t->point[p].row : &t->update, NULL, NULL, state, at);
        TRY(whole_new(&Y.p[p], p));
        substitute(state, at, Y.p, &Y.p[p]);
        *told = !too_long(&Y.p[p]);
        if (!*told) return 0;
        tick();
    }
    TRY(to_poly(&Y.p[n], &out->P));
    TRY(poly_new(&out->Q, 0));
    mpq_set_ui(out->Q.c[0], 1, 1);
    poly_trim(&out->Q);
    round_inexact(t, &out->P);
    return 0;
}

/* ---- implicit stages -------------------------------------------------------------------------------- */

/* Computes y (rows, columns) = A x, A (rows, rows). */
static void multiply(size_t rows, size_t columns, mpq_t *A, mpq_t *x, mpq_t *y)
{
    RATIONAL(z);
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            mpq_ptr sum = y[i * columns + j];
            mpq_set_ui(sum, 0, 1);
            for (size_t k = 0; k < rows; k++) {
                if (mpq_sgn(A[i * rows + k]) == 0) continue;
                mpq_mul(z, A[i * rows + k], x[k * columns + j]);
                mpq_add(sum, sum, z);
            }
        }
}

/* Arrays of one determinant, n points. */
typedef struct {
    mpq_t *A, *M, *AM; /* (n, n) */
    mpq_t *u, *b, *x;  /* (n) */
    mpq_t *v;          /* (1) */
} Work;

/* Computes c_k into Q, and from it M_(k+1). */
static void next_coefficient(const Table *t, size_t k, Work *w, Poly *Q)
{
    size_t n = t->points;
    double size = 0;
    multiply(n, n, w->A, w->M, w->AM);
    for (size_t i = 0; i < n; i++) mpq_sub(Q->c[k], Q->c[k], w->AM[i * n + i]);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            size += fabs(mpq_get_d(w->A[i * n + j]) * mpq_get_d(w->M[j * n + i]));
    drop(t, Q->c[k], size);
    rational_divide(Q->c[k], (unsigned)k);
    for (size_t i = 0; i < n * n; i++) mpq_set(w->M[i], w->AM[i]);
    for (size_t i = 0; i < n; i++) mpq_add(w->M[i * n + i], w->M[i * n + i], Q->c[k]);
}

static void find_ratio(const Table *t, Work *w, Ratio *out)
{
    size_t n = t->points;
    double size[IMPLICIT_POINTS + 1] = {0};
    RATIONAL(z);
    mpq_set_ui(out->Q.c[0], 1, 1);
    for (size_t i = 0; i < n; i++) mpq_set_ui(w->M[i * n + i], 1, 1);
    for (size_t k = 1; k <= n; k++) {
        for (size_t i = 0; i < n; i++) { /* b x_k, x_k = M_k u */
            mpq_set_ui(w->x[i], 0, 1);
            for (size_t j = 0; j < n; j++) {
                rational_add(w->x[i], w->M[i * n + j], w->u[j]);
            }
            mpq_mul(z, w->b[i], w->x[i]);
            mpq_add(out->P.c[k], out->P.c[k], z);
            size[k] += fabs(mpq_get_d(z));
        }
        next_coefficient(t, k, w, &out->Q);
    }
    for (size_t k = 0; k <= n; k++) {
        mpq_mul(z, *w->v, out->Q.c[k]);
        mpq_add(out->P.c[k], out->P.c[k], z);
        drop(t, out->P.c[k], size[k] + fabs(mpq_get_d(z)));
    }
    poly_trim(&out->P);
    poly_trim(&out->Q);
    round_inexact(t, &out->P);
    round_inexact(t, &out->Q);
}

static int implicit_ratio(const Table *t, int colour, Ratio *out)
{
    size_t n = t->points;
    SCOPED(rationals_drop) mpq_t *list = rationals_new(3 * n * n + 3 * n + 1);
    if (!list) return ERR_MEMORY;
    Work w = {.A = list, .M = list + n * n, .AM = list + 2 * n * n, .u = list + 3 * n * n};
    w.b = w.u + n;
    w.x = w.b + n;
    w.v = w.x + n;
    TRY(poly_new(&out->P, (int)n));
    TRY(poly_new(&out->Q, (int)n));
    for (size_t p = 0; p < n; p++) {
        const Point *at = &t->point[p];
        read_row(t, colour, &at->row, w.u, w.A, w.u[p], w.A + p * n);
        if (at->phi) read_resolvent(t, colour, at, w.A[p * n + p]);
    }
    read_row(t, colour, &t->update, w.u, w.A, *w.v, w.b);
    find_ratio(t, &w, out);
    return 0;
}

/* ---- both --------------------------------------------------------------------------------------------- */

static int divide_by(Poly *p, const Poly *d)
{
    SCOPED(poly_free) Poly quotient = {0};
    if (p->degree < 0) return 0;
    TRY(poly_new(&quotient, p->room));
    poly_divide(p, d, &quotient);
    poly_copy(p, &quotient);
    return 0;
}

/* Divides both by their common factor, of stages that no step depends on; Q(0) stays 1. */
static int reduce(Ratio *r)
{
    SCOPED(poly_free) Poly a = {0};
    TRY(poly_new(&a, r->Q.room > r->P.room ? r->Q.room : r->P.room));
    TRY(poly_common(&r->P, &r->Q, &a));
    if (a.degree < 1) return 0;
    RATIONAL(by);
    mpq_set(by, a.c[0]); /* not 0, as Q(0) = 1 */
    for (int i = 0; i <= a.degree; i++) mpq_div(a.c[i], a.c[i], by);
    TRY(divide_by(&r->P, &a));
    return divide_by(&r->Q, &a);
}

int ratio_new(const Table *t, int colour, Ratio *out, int *told)
{
    int implicit = table_solves(t);
    *out = (Ratio){0};
    *told = !implicit || t->points <= IMPLICIT_POINTS;
    if (!*told) return 0;
    int code = implicit ? implicit_ratio(t, colour, out) : explicit_ratio(t, colour, out, told);
    if (code == 0 && implicit) code = reduce(out);
    if (code != 0) ratio_free(out);
    return code;
}

void ratio_free(Ratio *r)
{
    poly_free(&r->P);
    poly_free(&r->Q);
}

/* Adds sign |p|^2 to f: sum over i = j mod 2 of (-1)^((i - j)/2) p_i p_j u^((i + j)/2). size grows by the size of
 * each one's terms. */
static void add_square(const Poly *p, int sign, Poly *f, double *size)
{
    RATIONAL(x);
    for (int i = 0; i <= p->degree; i++)
        for (int j = i % 2; j <= p->degree; j += 2) {
            mpq_mul(x, p->c[i], p->c[j]);
            if (((i - j) % 4 != 0) != (sign < 0)) mpq_neg(x, x);
            mpq_add(f->c[(i + j) / 2], f->c[(i + j) / 2], x);
            size[(i + j) / 2] += fabs(mpq_get_d(x));
        }
}

int ratio_excess(const Table *t, const Ratio *r, Poly *f)
{
    int degree = r->P.degree > r->Q.degree ? r->P.degree : r->Q.degree;
    SCOPED(memory_drop)
    double *size = memory_new((size_t)(degree < 0 ? 0 : degree) + 1, sizeof *size);
    if (!size) return ERR_MEMORY;
    TRY(poly_new(f, degree));
    add_square(&r->P, 1, f, size);
    add_square(&r->Q, -1, f, size);
    for (int i = 0; r->Q.degree > 0 && i <= degree; i++) drop(t, f->c[i], size[i]);
    poly_trim(f);
    return 0;
}

int ratio_below(const Table *t, const Ratio *r, int sign, Poly *f)
{
    int degree = r->P.degree > r->Q.degree ? r->P.degree : r->Q.degree;
    TRY(poly_new(f, degree));
    for (int i = 0; i <= degree; i++) {
        double size = 0;
        if (i <= r->P.degree) mpq_set(f->c[i], r->P.c[i]);
        if (sign < 0) mpq_neg(f->c[i], f->c[i]);
        if (i <= r->Q.degree) {
            size = fabs(mpq_get_d(f->c[i])) + fabs(mpq_get_d(r->Q.c[i]));
            mpq_sub(f->c[i], f->c[i], r->Q.c[i]);
        }
        if (i % 2) mpq_neg(f->c[i], f->c[i]);
        if (r->Q.degree > 0) drop(t, f->c[i], size);
    }
    poly_trim(f);
    return 0;
}
