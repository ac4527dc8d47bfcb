/* ratio_off.c: how far the coefficients of R = P / Q are off where those of its table are roundings.
 *
 * Coefficients of an inexact table are off by some d a_ij, and a coefficient of P or Q that is less than what these make of it
 * is 0 as far as one can know. To first order that is, with L_m = b A^m and X_m = A^m u of explicit stages,
 *
 *     d P_k = sum over m of L_m dA X_(k-2-m) + db X_(k-1),
 *
 * and else, with adj(1 - z A) = sum of M_k z^(k-1) by the recursion of ratio.c (Gantmacher 1959, section IV.5),
 *
 *     d Q_k = -trace(M_k dA),    P = det(1 - z (A - u b)) + (v - 1) Q.
 *
 * Moduli are taken in these sums. How far a coefficient is off is told by its last digit, and, since numbers that are worked
 * out from decimals have more digits than are right, by how far R's first coefficients are from those of exp. */
#include "ode/theory/ratio_inside.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"

/* Coefficients are off by this many of their last digits at most: sums, products and quotients of what was typed. */
static const double slack = 100;
/* R's coefficient of z^k is meant to be 1/k! where it is so but for this share. */
static const double meant = 1e-8;

/* Returns how far a coefficient is off where it is a rounding: its last digit. A fraction of long terms that is no decimal
 * stands for a number that is no nearer to it than 1/q^2 (theory.c). */
static double last_digit(const mpq_t c)
{
    const double long_fraction = 1e6, long_decimal = 1e9;
    double q = mpz_get_d(mpq_denref(c));
    if (q < long_fraction) return 0;
    mpz_t ten;
    mpz_init(ten);
    mpz_ui_pow_ui(ten, 10, TABLE_DIGITS);
    int decimal = mpz_divisible_p(ten, mpq_denref(c));
    mpz_clear(ten);
    return !decimal ? 1 / q / q : q < long_decimal ? 0 : 1 / q;
}

/* Adds to at (points) how far a row's weights on points are off; A, off (points, points): those of the rows before. */
static void row_off(const Table *t, int colour, const Row *r, mpq_t *A, const double *off,
                    double *at)
{
    RATIONAL(x);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval == TABLE_STATE) continue;
        size_t n = t->points, q = (size_t)t->eval[s->eval].point;
        if (!t->point[q].phi) {
            ratio_share(t, colour, s->eval, x);
            at[q] += off_modulus(x) * last_digit(s->c);
            continue;
        }
        for (size_t j = 0; j < n; j++)
            at[j] +=
                last_digit(s->c) * off_modulus(A[q * n + j]) + off_modulus(s->c) * off[q * n + j];
    }
}

/* Sums of moduli that tell by how much coefficient k is off: by `digits` where coefficients are by their last digits, by
 * `sizes` where they are by as much as themselves. */
typedef struct {
    double *digits, *sizes;
} Off;

void off_drop(mpq_t sum, double off)
{
    if (off_modulus(sum) <= off) mpq_set_ui(sum, 0, 1);
}

/* Finds the largest share by which R's coefficients, up to the first that is not meant to be 1/k!, are off it. */
static double missed(const Ratio *r)
{
    POLY(R);
    RATIONALS(factorial, x);
    double most = 0;
    slong terms = (slong)r->points + 1;
    fmpq_poly_div_series(R, r->P, r->Q, terms);
    mpq_set_ui(factorial, 1, 1);
    for (int k = 0; k < terms; k++) {
        mpq_set_ui(x, (unsigned)(k > 0 ? k : 1), 1);
        mpq_mul(factorial, factorial, x);
        poly_get(R, k, x);
        mpq_mul(x, x, factorial);
        mpq_sub(x, x, rational_one);
        if (off_modulus(x) > meant) break;
        most = fmax(most, off_modulus(x));
    }
    return most;
}

/* Drops what may be rounding alone from p; off (n + 1) out. */
static void drop_from(fmpq_poly_t p, size_t n, const Off *sums, double share, double *off)
{
    RATIONAL(c);
    for (size_t k = 0; k <= n; k++) {
        off[k] = slack * (sums->digits[k] + share * sums->sizes[k]);
        poly_get(p, (int)k, c);
        off_drop(c, off[k]);
        poly_set(p, (int)k, c);
    }
}

/* Tells how far the coefficients of an inexact table are off, and drops those that may be nothing else. */
static int drop_rounding(Ratio *r, const Off *P, const Off *Q)
{
    double share = missed(r);
    if (!(r->p_off = memory_new(r->points + 1, sizeof(double)))) return ERR_MEMORY;
    if (!(r->q_off = memory_new(r->points + 1, sizeof(double)))) return ERR_MEMORY;
    drop_from(r->P, r->points, P, share, r->p_off);
    if (Q) drop_from(r->Q, r->points, Q, share, r->q_off);
    return 0;
}

/* ---- explicit stages -------------------------------------------------------------------------------- */

/* X_m = A^m u and L_m = b A^m, of which moduli are taken, and W |X_m| for the two weights W of dA. */
typedef struct {
    size_t n;
    double *A, *W[2], *b, *w[2]; /* (n, n); (n): b, its weights */
    double *L, *X, *WX[2];       /* (n, n): powers m = 0 .. n - 1 */
} Paths;

/* Computes sums[k] (n + 1) of one weight. */
static void sum_paths(const Paths *p, int weight, double *sums)
{
    size_t n = p->n;
    for (size_t m = 0; m < n; m++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++)
                p->WX[weight][m * n + i] += p->W[weight][i * n + j] * fabs(p->X[m * n + j]);
    for (size_t k = 1; k <= n; k++) {
        for (size_t j = 0; j < n; j++) sums[k] += p->w[weight][j] * fabs(p->X[(k - 1) * n + j]);
        for (size_t m = 0; m + 2 <= k; m++)
            for (size_t i = 0; i < n; i++)
                sums[k] += fabs(p->L[m * n + i]) * p->WX[weight][(k - 2 - m) * n + i];
    }
}

static void find_paths(Paths *p, const double *u)
{
    size_t n = p->n;
    for (size_t i = 0; i < n; i++) p->X[i] = u[i], p->L[i] = p->b[i];
    for (size_t m = 1; m < n; m++)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                p->X[m * n + i] += p->A[i * n + j] * p->X[(m - 1) * n + j];
                p->L[m * n + j] += p->L[(m - 1) * n + i] * p->A[i * n + j];
            }
}

/* Writes a row's weights as doubles, what they are off and how large they are. */
static int write_row(const Table *t, int colour, const Row *r, double *a, double *digit,
                     double *size, double *state)
{
    SCOPED(rationals_drop) mpq_t *at = rationals_new(t->points);
    RATIONAL(v);
    if (!at) return ERR_MEMORY;
    ratio_row(t, colour, r, NULL, NULL, v, at);
    row_off(t, colour, r, NULL, NULL, digit);
    for (size_t j = 0; j < t->points; j++) a[j] = mpq_get_d(at[j]), size[j] = fabs(a[j]);
    *state = mpq_get_d(v);
    return 0;
}

int off_explicit(const Table *t, int colour, Ratio *out)
{
    size_t n = t->points;
    double v;
    SCOPED(memory_drop) double *list = memory_new(7 * n * n + 6 * n + 2, sizeof *list);
    if (!list) return ERR_MEMORY;
    double *next = list;
    Paths p = {.n = n};
    double **const square[] = {&p.A, &p.W[0], &p.W[1], &p.L, &p.X, &p.WX[0], &p.WX[1]};
    for (size_t i = 0; i < 7; i++, next += n * n) *square[i] = next;
    double *u = next, *digits = u + n, *sizes = digits + n + 1;
    p.b = sizes + n + 1;
    p.w[0] = p.b + n;
    p.w[1] = p.w[0] + n;
    for (size_t i = 0; i < n; i++)
        TRY(write_row(t, colour, &t->point[i].row, p.A + i * n, p.W[0] + i * n, p.W[1] + i * n,
                      &u[i]));
    TRY(write_row(t, colour, &t->update, p.b, p.w[0], p.w[1], &v));
    find_paths(&p, u);
    sum_paths(&p, 0, digits);
    sum_paths(&p, 1, sizes);
    return drop_rounding(out, &(Off){digits, sizes}, NULL);
}

/* ---- implicit stages -------------------------------------------------------------------------------- */

typedef float Quad __attribute__((mode(TF))); /* as in limit.c */

/* Computes sums[k] (n + 1), over i and j, of W_ij |(M_k)_ji| for two weights W; A, M, AM (n, n), M and AM scratch. */
static void sum_adjugate(size_t n, const Quad *A, Quad *M, Quad *AM, double *const W[2],
                         double *const sums[2])
{
    for (size_t i = 0; i < n * n; i++) M[i] = i % (n + 1) == 0;
    for (size_t k = 1; k <= n; k++) {
        Quad c = 0;
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double m = fabs((double)M[j * n + i]);
                for (int of = 0; of < 2; of++) sums[of][k] += W[of][i * n + j] * m;
            }
        memset(AM, 0, n * n * sizeof *AM);
        for (size_t i = 0; i < n; i++)
            for (size_t l = 0; l < n; l++)
                for (size_t j = 0; j < n && A[i * n + l] != 0; j++)
                    AM[i * n + j] += A[i * n + l] * M[l * n + j];
        for (size_t i = 0; i < n; i++) c -= AM[i * n + i] / (Quad)k;
        memcpy(M, AM, n * n * sizeof *M);
        for (size_t i = 0; i < n; i++) M[i * n + i] += c;
        tick();
    }
}

/* Turns A and the weights of dA into A - u b and those of d(A - u b). */
static void take_update(const RatioRows *w, Quad *A, double *const W[2], const double *digit)
{
    for (size_t i = 0; i < w->n; i++)
        for (size_t j = 0; j < w->n; j++) {
            double u = mpq_get_d(w->u[i]), b = mpq_get_d(w->b[j]);
            A[i * w->n + j] -= (Quad)u * (Quad)b;
            W[0][i * w->n + j] += fabs(u) * digit[j];
            W[1][i * w->n + j] += fabs(u * b);
        }
}

int off_implicit(const Table *t, int colour, const RatioRows *w, Ratio *out)
{
    size_t n = w->n, m = n + 1;
    SCOPED(memory_drop) Quad *A = memory_new(3 * n * n, sizeof *A);
    SCOPED(memory_drop) double *list = memory_new(2 * n * n + n + 4 * m, sizeof *list);
    if (!A || !list) return ERR_MEMORY;
    double *digit = list + 2 * n * n, *sums = digit + n,
           off = fabs(mpq_get_d(*w->v) - 1), *const W[2] = {list, list + n * n},
           *const Q[2] = {sums, sums + m}, *const P[2] = {sums + 2 * m, sums + 3 * m};
    for (size_t p = 0; p < n; p++) {
        row_off(t, colour, &t->point[p].row, w->A, W[0], W[0] + p * n);
        if (t->point[p].phi) W[0][p * n + p] += last_digit(t->point[p].scale);
    }
    row_off(t, colour, &t->update, w->A, W[0], digit);
    for (size_t i = 0; i < n * n; i++)
        A[i] = (Quad)mpq_get_d(w->A[i]), W[1][i] = off_modulus(w->A[i]);
    sum_adjugate(n, A, A + n * n, A + 2 * n * n, W, Q);
    take_update(w, A, W, digit);
    sum_adjugate(n, A, A + n * n, A + 2 * n * n, W, P);
    for (size_t k = 0; k < 2 * m; k++) sums[2 * m + k] += off * sums[k];
    return drop_rounding(out, &(Off){P[0], P[1]}, &(Off){Q[0], Q[1]});
}
