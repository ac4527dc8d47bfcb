/* ratio.c: the factor by which a step multiplies y on y' = lambda y, z = h lambda, as a quotient of polynomials over the rationals.
 *
 * With share s_e of z in the slope of evaluation e, the points are Y = u y + z A Y, where A_pq adds a_pe s_e over the
 * evaluations e at point q, and y' = v y + z b Y, so R = v + z b (1 - z A)^-1 u. Explicit stages are substituted one after
 * another, and R is a polynomial. Else Q = det(1 - z A) = 1 + c_1 z + ... + c_n z^n, and with x_1 = u, x_(k+1) = A x_k + c_k u
 *
 *     P = v Q + sum over k = 1 .. n of (b x_k) z^k,     M_1 = 1,  c_k = -trace(A M_k) / k,  M_(k+1) = A M_k + c_k,
 *
 * the method of Faddeev and LeVerrier (Faddeev, Faddeeva 1963), exact in rationals. The slope of a resolvent's stage is a
 * Y of its own, Y_p = r_p + c s z Y_p with share s of z in its A and scale c; rows that read it take that sum.
 * Where points need one another only within blocks (block.c), Q is the product of their determinants. ratio_off.c tells how
 * far the coefficients of an inexact table are off, and which may be nothing else. */
#include "ode/theory/ratio_inside.h"

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"

enum { BLOCK_POINTS = 24, IMPLICIT_POINTS = 64 }; /* n^4 operations; and of 113 bits */

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
        ratio_row(t, colour, p < n ? &t->point[p].row : &t->update, NULL, NULL, state, at);
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
    return t->exact ? 0 : off_explicit(t, colour, out);
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
    size_t n;
    mpq_t *A, *M, *AM; /* (n, n); of the last two, (m, m) of a block of m points */
    mpq_t *u, *b, *x;  /* (n) */
    mpq_t *Ax;         /* (n) */
    mpq_t *v;          /* (1) */
    mpq_t *part;       /* (n, n) a block of A */
    int *block;        /* (n) the number of each point's block */
} Work;

/* Writes the points of a block, and their part of A. Returns how many there are. */
static size_t take_block(const Work *w, int block, size_t *point)
{
    size_t m = 0;
    for (size_t i = 0; i < w->n; i++)
        if (w->block[i] == block) point[m++] = i;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < m; j++)
            mpq_set(w->part[i * m + j], w->A[point[i] * w->n + point[j]]);
    return m;
}

/* Computes det(1 - z part) of m points into q. */
static void determinant(Work *w, size_t m, Poly *q)
{
    mpq_set_ui(q->c[0], 1, 1);
    for (size_t i = 0; i < m * m; i++) mpq_set_ui(w->M[i], i % (m + 1) == 0, 1);
    for (size_t k = 1; k <= m; k++) {
        mpq_set_ui(q->c[k], 0, 1);
        multiply(m, m, w->part, w->M, w->AM);
        for (size_t i = 0; i < m; i++) mpq_sub(q->c[k], q->c[k], w->AM[i * m + i]);
        rational_divide(q->c[k], (unsigned)k);
        for (size_t i = 0; i < m * m; i++) mpq_set(w->M[i], w->AM[i]);
        for (size_t i = 0; i < m; i++) mpq_add(w->M[i * m + i], w->M[i * m + i], q->c[k]);
    }
    q->degree = (int)m;
}

/* Replaces q by q f. */
static void multiply_by(Poly *q, const Poly *f)
{
    RATIONAL(sum);
    for (int k = q->room; k >= 0; k--) {
        mpq_set_ui(sum, 0, 1);
        for (int j = 0; j <= f->degree && j <= k; j++) rational_add(sum, f->c[j], q->c[k - j]);
        mpq_set(q->c[k], sum);
    }
}

/* Computes Q, the product of the blocks' determinants; *told 0: one is too large. */
static int find_denominator(Work *w, int blocks, Poly *Q, int *told)
{
    SCOPED(poly_free) Poly q = {0};
    SCOPED(memory_drop) size_t *point = memory_new(w->n, sizeof *point);
    if (!point) return ERR_MEMORY;
    TRY(poly_new(&q, (int)w->n));
    mpq_set_ui(Q->c[0], 1, 1);
    for (int i = 0; i < blocks && *told; i++) {
        size_t m = take_block(w, i, point);
        *told = m <= BLOCK_POINTS;
        if (!*told || (m == 1 && mpq_sgn(w->part[0]) == 0)) continue;
        determinant(w, m, &q);
        multiply_by(Q, &q);
        tick();
    }
    return 0;
}

/* Computes P from Q: v Q + sum of b x_k z^k. */
static void find_numerator(Work *w, const Poly *Q, Poly *P)
{
    size_t n = w->n;
    for (size_t i = 0; i < n; i++) mpq_set(w->x[i], w->u[i]);
    mpq_set(P->c[0], *w->v);
    for (size_t k = 1; k <= n; k++) {
        mpq_mul(P->c[k], *w->v, Q->c[k]);
        for (size_t i = 0; i < n; i++) rational_add(P->c[k], w->b[i], w->x[i]);
        multiply(n, 1, w->A, w->x, w->Ax);
        for (size_t i = 0; i < n; i++) {
            mpq_set(w->x[i], w->Ax[i]);
            rational_add(w->x[i], Q->c[k], w->u[i]);
        }
        tick();
    }
}

static int work_new(Work *w, size_t n)
{
    *w = (Work){.n = n, .A = rationals_new(4 * n * n + 4 * n + 1)};
    w->block = memory_new(2 * n, sizeof *w->block);
    if (!w->A || !w->block) return ERR_MEMORY;
    w->M = w->A + n * n;
    w->AM = w->M + n * n;
    w->part = w->AM + n * n;
    w->u = w->part + n * n;
    w->b = w->u + n;
    w->x = w->b + n;
    w->Ax = w->x + n;
    w->v = w->Ax + n;
    return 0;
}

static void work_free(Work *w)
{
    rationals_free(w->A);
    memory_free(w->block);
}

static int implicit_ratio(const Table *t, int colour, Ratio *out, int *told)
{
    size_t n = t->points, blocks;
    SCOPED(work_free) Work w;
    TRY(work_new(&w, n));
    TRY(table_blocks(t, w.block, w.block + n, &blocks));
    TRY(poly_new(&out->P, (int)n));
    TRY(poly_new(&out->Q, (int)n));
    for (size_t p = 0; p < n; p++) {
        const Point *at = &t->point[p];
        ratio_row(t, colour, &at->row, w.u, w.A, w.u[p], w.A + p * n);
        if (at->phi) read_resolvent(t, colour, at, w.A[p * n + p]);
    }
    ratio_row(t, colour, &t->update, w.u, w.A, *w.v, w.b);
    TRY(find_denominator(&w, (int)blocks, &out->Q, told));
    if (!*told) return 0;
    find_numerator(&w, &out->Q, &out->P);
    poly_trim(&out->P);
    poly_trim(&out->Q);
    round_inexact(t, &out->P);
    round_inexact(t, &out->Q);
    return t->exact ? 0 : off_implicit(t, colour, &(RatioRows){n, w.A, w.u, w.b, w.v}, out);
}

/* ---- both --------------------------------------------------------------------------------------------- */

/* Replaces p by p / d, and what its coefficients are off, or NULL, by twice what division by d makes of it: d is as
 * much off as p. */
static int divide_by(Poly *p, const Poly *d, double *off)
{
    SCOPED(poly_free) Poly quotient = {0};
    if (p->degree < 0) return 0;
    TRY(poly_new(&quotient, p->room));
    for (int k = 0; off && k <= p->room; k++) {
        for (int j = 1; j <= k && j <= d->degree; j++) off[k] += off_modulus(d->c[j]) * off[k - j];
    }
    for (int k = 0; off && k <= p->room; k++) off[k] *= 2;
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
    TRY(divide_by(&r->P, &a, r->p_off));
    return divide_by(&r->Q, &a, r->q_off);
}

int ratio_new(const Table *t, int colour, Ratio *out, int *told)
{
    int implicit = table_solves(t);
    *out = (Ratio){0};
    *told = !implicit || t->points <= IMPLICIT_POINTS;
    if (!*told) return 0;
    int code =
        implicit ? implicit_ratio(t, colour, out, told) : explicit_ratio(t, colour, out, told);
    if (code == 0 && implicit && *told) code = reduce(out);
    if (code != 0 || !*told) ratio_free(out);
    return code;
}

void ratio_free(Ratio *r)
{
    poly_free(&r->P);
    poly_free(&r->Q);
    r->p_off = memory_free(r->p_off);
    r->q_off = memory_free(r->q_off);
}

/* Adds sign times p_i p_j cos((i - j) angle) (-r)^(i + j) to f, a polynomial in r^step; cosine[m]: that of m angle. off grows
 * by what the terms may be off. */
static void add_square(const Poly *p, const double *p_off, int sign, mpq_t *cosine, int step,
                       Poly *f, double *off)
{
    RATIONAL(x);
    for (int i = 0; i <= p->degree; i++)
        for (int j = 0; j <= p->degree; j++) {
            mpq_ptr turn = cosine[i > j ? i - j : j - i];
            int at = (i + j) / step;
            if (mpq_sgn(turn) == 0) continue;
            mpq_mul(x, p->c[i], p->c[j]);
            mpq_mul(x, x, turn);
            if (((i + j) % 2 != 0) != (sign < 0)) mpq_neg(x, x);
            mpq_add(f->c[at], f->c[at], x);
            if (p_off)
                off[at] += off_modulus(turn) * (off_modulus(p->c[i]) * p_off[j] +
                                                p_off[i] * (off_modulus(p->c[j]) + p_off[j]));
        }
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

int ratio_excess(const Ratio *r, const mpq_t cosine, Poly *f)
{
    int step = mpq_sgn(cosine) == 0 ? 2 : 1;
    int degree = r->P.degree > r->Q.degree ? r->P.degree : r->Q.degree;
    if (degree < 0) degree = 0;
    SCOPED(memory_drop) double *off = memory_new(2 * (size_t)degree + 1, sizeof *off);
    SCOPED(rationals_drop) mpq_t *turn = rationals_new((size_t)degree + 1);
    if (!off || !turn) return ERR_MEMORY;
    TRY(poly_new(f, 2 * degree / step));
    write_cosines(cosine, degree, turn);
    add_square(&r->P, r->p_off, 1, turn, step, f, off);
    add_square(&r->Q, r->q_off, -1, turn, step, f, off);
    for (int i = 0; r->p_off && i <= f->room; i++) off_drop(f->c[i], off[i]);
    poly_trim(f);
    return 0;
}

int ratio_below(const Ratio *r, int sign, Poly *f)
{
    int degree = r->P.degree > r->Q.degree ? r->P.degree : r->Q.degree;
    TRY(poly_new(f, degree));
    for (int i = 0; i <= degree; i++) {
        if (i <= r->P.degree) mpq_set(f->c[i], r->P.c[i]);
        if (sign < 0) mpq_neg(f->c[i], f->c[i]);
        if (i <= r->Q.degree) mpq_sub(f->c[i], f->c[i], r->Q.c[i]);
        if (i % 2) mpq_neg(f->c[i], f->c[i]);
        if (r->p_off)
            off_drop(f->c[i],
                     (i <= r->P.room ? r->p_off[i] : 0) + (i <= r->Q.room ? r->q_off[i] : 0));
    }
    poly_trim(f);
    return 0;
}
