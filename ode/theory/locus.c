/* locus.c: where an amplification factor of a table with history meets the unit circle, decided by rational arithmetic.
 *
 * The points of a step on y' = lambda y are Y_p = u_p(w) y + z sum over q of a_pq(w) Y_q, w = 1 / zeta, and y = w (v(w) y + z sum of
 * b_q(w) Y_q); what is carried has an equation like y's. The determinant of these equations is D(w, z) = sum of d_n(z) w^n, d_0 the denominator, and the factors zeta are
 * the roots of B = sum of d_n zeta^(N - n). On the circle zeta = (1 + i s) / (1 - i s), s real or infinite, and
 *
 *     (1 - i s)^N B = A(s) + i C(s),     A, C real polynomials of degree N in s.
 *
 * On a ray z = -r (p + i q) with p, q rational a factor is on the circle where A and C have a common root, so only where their
 * resultant in s, a polynomial in r, is 0. Between its positive roots, which Arb puts in balls (poly.c), the number of factors
 * inside is constant, and one rational r between them tells it: as s runs over the reals, arg(A + i C) grows by pi (2 inside - N),
 * which is -pi times Cauchy's index of C / A (Gantmacher 1959, section XV.3).
 *
 * A symmetric method on the imaginary axis has all factors on the circle, until two meet: A or C is 0 there, and the discriminant
 * of the other takes the resultant's place. */
#include "ode/theory/poly.h"

#include "ode/theory/locus.h"

#include <math.h>

#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/ratio_inside.h"
#include "ode/theory/theory.h"

/* ---- factors inside the circle ------------------------------------------------------------------------- */

/* Returns how often the signs of a Sturm sequence change, less how often at -infinity minus at +infinity. */
static int lead_sign(const fmpq_poly_t p, int below)
{
    int n = poly_degree(p), sign = n < 0 ? 0 : fmpz_sgn(p->coeffs + n);
    return below && n % 2 ? -sign : sign;
}

/* Computes Cauchy's index of C / A over the reals, deg C <= deg A: how often it jumps from -inf to inf, less how often back. Both are
 * lost. */
static int cauchy_index(fmpq_poly_t A, fmpq_poly_t C)
{
    int changes[2] = {0};
    POLY(rest);
    while (!fmpq_poly_is_zero(C)) {
        for (int below = 0; below < 2; below++)
            changes[below] += lead_sign(A, below) * lead_sign(C, below) < 0;
        fmpq_poly_rem(rest, A, C);
        fmpq_poly_neg(rest, rest);
        fmpq_poly_swap(A, C);
        fmpq_poly_swap(C, rest);
    }
    return changes[1] - changes[0];
}

/* Tells whether no root of A + i C = (1 - i s)^N B is outside the circle, and those on it are simple. */
static int all_inside(const fmpq_poly_t A, const fmpq_poly_t C, int N, int *on_circle)
{
    POLY(common);
    POLY(a);
    POLY(c);
    WHOLE(whole);
    int degree = poly_degree(A) > poly_degree(C) ? poly_degree(A) : poly_degree(C);
    fmpq_poly_gcd(common, A, C);
    fmpq_poly_div(a, A, common);
    fmpq_poly_div(c, C, common);
    fmpq_poly_get_numerator(whole, common);
    int both = poly_degree(common), at_infinity = N - degree, simple;
    simple = fmpz_poly_is_squarefree(whole) && at_infinity <= 1;
    poly_simple(whole);
    *on_circle = (both > 0 ? (int)fmpz_poly_num_real_roots(whole) : 0) + (at_infinity > 0);
    simple &= *on_circle == both + at_infinity;
    if (poly_degree(c) > poly_degree(a)) { /* times -i */
        fmpq_poly_swap(a, c);
        fmpq_poly_neg(c, c);
    }
    return simple && -cauchy_index(a, c) == degree - both;
}

/* Makes re + i im = (1 + i s)^(N - n) (1 - i s)^n; both are 0 before. */
static void turned(int N, int n, fmpz_poly_t re, fmpz_poly_t im)
{
    WHOLE(x);
    fmpz_poly_one(re);
    for (int k = 0; k < N; k++) { /* times 1 + i s, or 1 - i s */
        fmpz_poly_shift_left(x, re, 1);
        if (k < n) fmpz_poly_neg(x, x);
        fmpz_poly_add(x, x, im);
        fmpz_poly_shift_left(im, im, 1);
        if (k < n) fmpz_poly_neg(im, im);
        fmpz_poly_sub(re, re, im);
        fmpz_poly_swap(im, x);
    }
}

int locus_disc(const fmpq_poly_t p, int *on_circle)
{
    POLY(A);
    POLY(C);
    POLY(x);
    FRACTION(c);
    int N = poly_degree(p);
    for (int n = 0; n <= N; n++) {
        WHOLE(re);
        WHOLE(im);
        turned(N, N - n, re, im);
        fmpq_poly_get_coeff_fmpq(c, p, n);
        fmpq_poly_set_fmpz_poly(x, re);
        fmpq_poly_scalar_mul_fmpq(x, x, c);
        fmpq_poly_add(A, A, x);
        fmpq_poly_set_fmpz_poly(x, im);
        fmpq_poly_scalar_mul_fmpq(x, x, c);
        fmpq_poly_add(C, C, x);
    }
    return all_inside(A, C, N, on_circle);
}

int locus_right(const fmpq_poly_t p)
{
    POLY(A);
    POLY(C);
    FRACTION(c);
    int on_axis, n = poly_degree(p);
    for (int k = 0; k <= n; k++) { /* p(-i s): (-i)^k = 1, -i, -1, i, ... */
        fmpq_poly_get_coeff_fmpq(c, p, k);
        if (k % 4 == 1 || k % 4 == 2) fmpq_neg(c, c);
        fmpq_poly_set_coeff_fmpq(k % 2 ? C : A, k, c);
    }
    return all_inside(A, C, n, &on_axis) && on_axis == 0;
}

/* ---- the table ------------------------------------------------------------------------------------------ */

enum { LOCUS_POINTS = 12, LOCUS_PAST = 12 };

/* d[n][m]: the coefficient of w^n z^m; (1 + i s)^(N - n) (1 - i s)^n = turn[2 n] + i turn[2 n + 1]. */
typedef struct {
    int N, M;
    fmpz_poly_t D;     /* sum of d[n][m] x^(n + m (most + 1)) */
    fmpz_poly_t still; /* what D is divided by, in x: the factors that do not depend on z */
    int most;
    fmpz_poly_t *turn; /* (2 (N + 1)) */
} Locus;

static void locus_free(Locus *l)
{
    for (int i = 0; l->turn && i < 2 * l->N + 2; i++) fmpz_poly_clear(l->turn[i]);
    memory_free(l->turn);
    fmpz_poly_clear(l->D);
    fmpz_poly_clear(l->still);
}

static const fmpz *coefficient(const Locus *l, int n, int m)
{
    static const fmpz zero = 0;
    slong k = n + (slong)m * (l->most + 1);
    return k < fmpz_poly_length(l->D) ? l->D->coeffs + k : &zero;
}

/* Returns the deepest past of a row. */
static int deepest(const Row *r)
{
    int past = 0;
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].past > past) past = r->term[i].past;
    return past;
}

/* Adds -x^(shift) c to entry of a row of fractions. */
static void subtract(fmpq_poly_t at, int power, const mpq_t c)
{
    FRACTION(x);
    FRACTION(sum);
    fmpq_set_mpq(x, c);
    fmpq_poly_get_coeff_fmpq(sum, at, power);
    fmpq_sub(sum, sum, x);
    fmpq_poly_set_coeff_fmpq(at, power, sum);
}

/* Writes row i of the matrix (n, n), times a number > 0 that makes it whole: point i's equation, the update's, or that of something
 * carried, v = w (its update). z = x^step, w = x. */
static int write_row(const Table *t, int colour, size_t i, int step, fmpz_poly_mat_t M)
{
    const Row *r = table_row(t, i);
    size_t n = t->points + 1 + t->carries;
    int update = i >= t->points;
    fmpq_poly_t *row = memory_new(n, sizeof *row);
    fmpz_t below;
    RATIONAL(c);
    if (!row) return ERR_MEMORY;
    fmpz_init_set_ui(below, 1);
    for (size_t j = 0; j < n; j++) fmpq_poly_init(row[j]);
    fmpq_poly_set_si(row[i], 1);
    for (size_t k = 0; k < r->terms; k++) {
        const Term *x = &r->term[k];
        size_t of = x->eval == TABLE_STATE ? t->points
                    : x->eval < 0          ? t->points + 1 + (size_t)(TABLE_CARRIED - x->eval)
                                           : (size_t)t->eval[x->eval].point;
        mpq_set_ui(c, 1, 1);
        if (x->eval >= 0) ratio_share(t, colour, x->eval, c);
        mpq_mul(c, c, x->c);
        subtract(row[of], x->past + update + (x->eval >= 0 ? step : 0), c);
    }
    for (size_t j = 0; j < n; j++) fmpz_lcm(below, below, fmpq_poly_denref(row[j]));
    for (size_t j = 0; j < n; j++) {
        fmpq_poly_scalar_mul_fmpz(row[j], row[j], below);
        fmpq_poly_get_numerator(fmpz_poly_mat_entry(M, (slong)i, (slong)j), row[j]);
        fmpq_poly_clear(row[j]);
    }
    fmpz_clear(below);
    memory_free(row);
    return 0;
}

/* Divides D by the factors that do not depend on z: the root condition tells that they are in the disc, and where one is on the
 * circle, or 1 / its conjugate is another one, the resultant would be 0 throughout. */
static void divide_by_still(Locus *l)
{
    WHOLE(of_power);
    for (int m = 0; m <= l->M; m++) {
        fmpz_poly_shift_right(of_power, l->D, (slong)m * (l->most + 1));
        fmpz_poly_truncate(of_power, l->most + 1);
        fmpz_poly_gcd(l->still, l->still, of_power);
    }
    fmpz_poly_div(l->D, l->D, l->still);
}

/* Finds D. */
static int find_determinant(const Table *t, int colour, Locus *l)
{
    fmpz_poly_mat_t M;
    size_t n = t->points + 1 + t->carries;
    int code = 0;
    l->most = 1 + (int)t->carries;
    for (size_t i = 0; i < n; i++) l->most += deepest(table_row(t, i));
    fmpz_poly_mat_init(M, (slong)n, (slong)n);
    for (size_t i = 0; i < n && code == 0; i++) code = write_row(t, colour, i, l->most + 1, M);
    if (code == 0) fmpz_poly_mat_det(l->D, M);
    fmpz_poly_mat_clear(M);
    l->M = (int)(fmpz_poly_degree(l->D) / (l->most + 1));
    if (!fmpz_poly_is_zero(l->D)) divide_by_still(l);
    for (int k = 0; k <= l->most; k++)
        for (int m = 0; m <= l->M; m++)
            if (!fmpz_is_zero(coefficient(l, k, m))) l->N = k;
    return code;
}

static int find_turns(Locus *l)
{
    if (!(l->turn = memory_new(2 * (size_t)l->N + 2, sizeof *l->turn))) return ERR_MEMORY;
    for (int n = 0; n <= l->N; n++) {
        fmpz_poly_init(l->turn[2 * n]);
        fmpz_poly_init(l->turn[2 * n + 1]);
        turned(l->N, n, l->turn[2 * n], l->turn[2 * n + 1]);
    }
    return 0;
}

/* Makes D of a table, in the colour that z belongs to; *told = 0: it is none of fractions alone, or too large. */
static int locus_new(const Table *t, int colour, Locus *l, int *told)
{
    *told = t->exact && !table_phi(t) && !t->flows && t->points + t->carries <= LOCUS_POINTS &&
            t->past_y + t->past_k <= LOCUS_PAST;
    if (!*told) return 0;
    TRY(find_determinant(t, colour, l));
    *told = l->N >= 1 && l->N <= LOCUS_PAST;
    return *told ? find_turns(l) : 0;
}

#define LOCUS(l)                      \
    SCOPED(locus_free) Locus l = {0}; \
    fmpz_poly_init(l.D);              \
    fmpz_poly_init(l.still)

/* ---- a ray ------------------------------------------------------------------------------------------------ */

/* A and C on a ray: A is the sum of part[0][k] s^k, C of part[1][k] s^k, polynomials in r. */
typedef struct {
    int N;
    fmpz_poly_mat_t part; /* (2, N + 1) */
} Ray;

static void ray_drop(Ray *r)
{
    fmpz_poly_mat_clear(r->part);
}

/* Makes the ray z = -r (p + i q). */
static void ray_new(const Locus *l, const fmpz_t p, const fmpz_t q, Ray *r)
{
    fmpz_t z[2], next[2], x;
    for (int k = 0; k < 2; k++) fmpz_init(z[k]), fmpz_init(next[k]);
    fmpz_init(x);
    fmpz_one(z[0]);
    r->N = l->N;
    fmpz_poly_mat_init(r->part, 2, l->N + 1);
    for (int m = 0; m <= l->M; m++) { /* z: (-(p + i q))^m */
        for (int n = 0; n <= l->N; n++)
            for (int k = 0; k <= l->N; k++)
                for (int of = 0; of < 4;
                     of++) { /* z[of / 2] turn[of % 2] goes to their product's part */
                    int part = (of / 2 + of % 2) % 2;
                    fmpz_poly_struct *to = fmpz_poly_mat_entry(r->part, part, k);
                    fmpz_poly_get_coeff_fmpz(x, l->turn[2 * n + of % 2], k);
                    fmpz_mul(x, x, z[of / 2]);
                    fmpz_mul(x, x, coefficient(l, n, m));
                    if (of == 3) fmpz_neg(x, x);
                    fmpz_poly_get_coeff_fmpz(next[0], to, m);
                    fmpz_add(x, x, next[0]);
                    fmpz_poly_set_coeff_fmpz(to, m, x);
                }
        fmpz_mul(next[0], z[1], q);
        fmpz_submul(next[0], z[0], p);
        fmpz_mul(next[1], z[0], q);
        fmpz_addmul(next[1], z[1], p);
        fmpz_neg(next[1], next[1]);
        for (int k = 0; k < 2; k++) fmpz_swap(z[k], next[k]);
    }
    for (int k = 0; k < 2; k++) fmpz_clear(z[k]), fmpz_clear(next[k]);
    fmpz_clear(x);
}

static int is_zero(const Ray *r, int part)
{
    int zero = 1;
    for (int k = 0; k <= r->N; k++)
        zero &= fmpz_poly_is_zero(fmpz_poly_mat_entry(r->part, part, k));
    return zero;
}

/* Computes the polynomial in r that is 0 where a factor comes to the circle: the resultant of A and C, or, where one is 0, of the other
 * and its derivative. */
static void meetings(const Ray *r, fmpz_poly_t out)
{
    int N = r->N, alone = is_zero(r, 0) ? 1 : is_zero(r, 1) ? 0 : -1, size = 2 * N - (alone >= 0);
    fmpz_poly_mat_t S;
    fmpz_poly_mat_init(S, size, size);
    for (int i = 0; i < size; i++)
        for (int k = 0; k <= N;
             k++) { /* row i: the first one's coefficients, from the highest, or the second one's */
            int second = i >= size - N, at = second ? i - (size - N) : i;
            const fmpz_poly_struct *c =
                fmpz_poly_mat_entry(r->part, alone >= 0 ? alone : second, N - k);
            if (second && alone >= 0 && k == N) continue;
            fmpz_poly_scalar_mul_si(fmpz_poly_mat_entry(S, i, at + k), c,
                                    second && alone >= 0 ? N - k : 1);
        }
    fmpz_poly_mat_det(out, S);
    fmpz_poly_mat_clear(S);
}

/* Tells whether the factors at r are in the disc. */
static int holds_at(const Ray *r, const fmpq_t x)
{
    POLY(A);
    POLY(C);
    FRACTION(v);
    int on_circle;
    for (int k = 0; k <= r->N; k++) {
        fmpz_poly_evaluate_fmpq(v, fmpz_poly_mat_entry(r->part, 0, k), x);
        fmpq_poly_set_coeff_fmpq(A, k, v);
        fmpz_poly_evaluate_fmpq(v, fmpz_poly_mat_entry(r->part, 1, k), x);
        fmpq_poly_set_coeff_fmpq(C, k, v);
    }
    return all_inside(A, C, r->N, &on_circle);
}

/* Takes a number in the gap between roots i - 1 and i of the rising list, however narrow; 0 and infinity are beyond its ends. */
static void between(arb_srcptr root, slong count, slong i, fmpq_t out)
{
    arf_t low, high;
    arf_init(low);
    arf_init(high);
    if (i > 0) arb_get_ubound_arf(low, root + i - 1, ARF_PREC_EXACT);
    if (i < count)
        arb_get_lbound_arf(high, root + i, ARF_PREC_EXACT);
    else
        arf_mul_2exp_si(high, low, 1), arf_add_si(high, high, 1, ARF_PREC_EXACT, ARF_RND_UP);
    arf_add(low, low, high, ARF_PREC_EXACT, ARF_RND_NEAR);
    arf_mul_2exp_si(low, low, -1);
    arf_get_fmpq(out, low);
    arf_clear(low);
    arf_clear(high);
}

/* Finds where a factor leaves the disc for the first time; *end in r; inf: nowhere. *told = 0: one is on the circle throughout, and
 * others are not. */
static int ray_end(const Locus *l, const fmpz_t p, const fmpz_t q, double *end, int *told)
{
    SCOPED(ray_drop) Ray r;
    WHOLE(meet);
    FRACTION(x);
    ray_new(l, p, q, &r);
    meetings(&r, meet);
    *told = !fmpz_poly_is_zero(meet);
    if (!*told) return 0;
    while (fmpz_is_zero(fmpz_poly_get_coeff_ptr(meet, 0))) fmpz_poly_shift_right(meet, meet, 1);
    poly_simple(meet);
    slong n = fmpz_poly_degree(meet);
    arb_ptr root = _arb_vec_init(n + 1);
    slong count;
    int code = poly_positive(meet, root, &count);
    *end = INFINITY;
    for (slong i = 0; code == 0 && i <= count && isinf(*end); i++) {
        between(root, count, i, x);
        if (!holds_at(&r, x)) *end = i == 0 ? 0 : poly_nearest(root + i - 1);
    }
    _arb_vec_clear(root, n + 1);
    return code;
}

int locus_limits(const Table *t, double *real, double *imag, int *done)
{
    LOCUS(l);
    fmpz one = 1, zero = 0;
    TRY(locus_new(t, -1, &l, done));
    if (*done) TRY(ray_end(&l, &one, &zero, real, done));
    if (*done) TRY(ray_end(&l, &zero, &one, imag, done));
    return 0;
}

/* Returns 2 atan(t) in degrees, the nearest double. */
static double degrees(const mpq_t t)
{
    FRACTION(x);
    BALL(angle);
    BALL(turn);
    fmpq_set_mpq(x, t);
    arb_set_fmpq(angle, x, POLY_BITS);
    arb_atan(angle, angle, POLY_BITS);
    arb_const_pi(turn, POLY_BITS);
    arb_div(angle, angle, turn, POLY_BITS);
    arb_mul_si(angle, angle, 360, POLY_BITS);
    return poly_nearest(angle);
}

/* ---- the angle ---------------------------------------------------------------------------------------------- */

int locus_bisect(int (*holds)(const void *of, const mpq_t t, int *yes), const void *of,
                 double *alpha)
{
    enum { HALVINGS = 90 };
    RATIONALS(low, high, middle);
    double end[2] = {0, 90};
    int yes;
    mpq_set_ui(high, 1, 1);
    for (int i = 0; i < HALVINGS && end[0] != end[1]; i++) {
        mpq_add(middle, low, high);
        mpq_div_2exp(middle, middle, 1);
        TRY(holds(of, middle, &yes));
        mpq_set(yes ? low : high, middle);
        end[!yes] = degrees(middle);
    }
    *alpha = end[0];
    return 0;
}

typedef struct {
    Locus l;
    double pole; /* the largest cosine of the angle between a pole and the negative axis */
    int *told;   /* 0: on some ray a factor is on the circle throughout while others are not */
} Sector;

static void sector_free(Sector *s)
{
    locus_free(&s->l);
}

/* Tells whether no factor on the ray at angle 2 atan(t) from the negative axis is outside the disc, and no pole within it. */
static int sector_holds(const void *of, const mpq_t t, int *yes)
{
    const Sector *s = of;
    fmpz_t p, q, a, b;
    double end, cosine = (1 - mpq_get_d(t) * mpq_get_d(t)) / (1 + mpq_get_d(t) * mpq_get_d(t));
    fmpz_init(p), fmpz_init(q), fmpz_init(a), fmpz_init(b);
    fmpz_set_mpz(a, mpq_numref(t));
    fmpz_set_mpz(b, mpq_denref(t));
    fmpz_mul(q, a, b);
    fmpz_mul_si(q, q, 2);
    fmpz_mul(p, b, b);
    fmpz_submul(p, a, a);
    int told;
    int code = ray_end(&s->l, p, q, &end, &told);
    *s->told &= told;
    *yes = told && isinf(end) && cosine > s->pole;
    fmpz_clear(p), fmpz_clear(q), fmpz_clear(a), fmpz_clear(b);
    return code;
}

/* Writes the factor polynomial's coefficients of z^M, M the highest, or d_0, the denominator. */
static void column(const Locus *l, int denominator, fmpq_poly_t out)
{
    for (int k = 0; k <= (denominator ? l->M : l->N); k++)
        fmpq_poly_set_coeff_fmpz(out, denominator ? k : l->N - k,
                                 denominator ? coefficient(l, 0, k) : coefficient(l, k, l->M));
}

/* Raises *largest to the size of p's zeros. */
static int raise_to_zeros(const fmpq_poly_t p, double *largest)
{
    int n = poly_degree(p);
    SCOPED(memory_drop) double *z = memory_new(2 * (size_t)n + 1, sizeof *z);
    if (!z) return ERR_MEMORY;
    TRY(poly_zeros(p, z));
    for (int i = 0; i < n; i++) *largest = fmax(*largest, hypot(z[2 * i], z[2 * i + 1]));
    return 0;
}

/* Returns the largest factor as z goes to infinity. */
static int at_infinity(const Locus *l, double *largest)
{
    POLY(p);
    POLY(still);
    column(l, 0, p);
    fmpq_poly_set_fmpz_poly(still, l->still);
    fmpq_poly_reverse(still, still, fmpq_poly_length(still));
    *largest = poly_degree(p) < l->N ? INFINITY : 0;
    if (isinf(*largest)) return 0;
    TRY(raise_to_zeros(still, largest));
    return raise_to_zeros(p, largest);
}

int locus_angle(const Table *t, int colour, double *alpha, double *infinity, int *done)
{
    SCOPED(sector_free) Sector s = {{0}, -1, done};
    POLY(Q);
    RATIONALS(zero, one);
    int yes, axis;
    fmpz_poly_init(s.l.D);
    fmpz_poly_init(s.l.still);
    mpq_set_ui(one, 1, 1);
    TRY(locus_new(t, colour, &s.l, done));
    if (!*done) return 0;
    TRY(at_infinity(&s.l, infinity));
    column(&s.l, 1, Q);
    TRY(poly_cosine(Q, &s.pole));
    TRY(sector_holds(&s, zero, &axis));
    TRY(sector_holds(&s, one, &yes));
    *alpha = yes ? 90 : 0;
    return axis && !yes ? locus_bisect(sector_holds, &s, alpha) : 0;
}
