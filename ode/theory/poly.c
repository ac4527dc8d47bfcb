/* poly.c: rational polynomials: the first place where one turns positive, and its zeros.
 *
 * A polynomial is a number times f_1 f_2^2 f_3^3 ..., where f_m has the roots of multiplicity m, each once (Yun 1976). Its sign
 * changes at the real roots of f_1, f_3, ... and nowhere else. Its positive roots are told apart by Descartes' rule of signs, in whole
 * numbers, and refined by Newton's method in balls; none is missed. Where complex roots are wanted Arb puts every one in a ball of its
 * own. Precision is doubled until all digits are known, as arb_fmpz_poly_complex_roots does, which has no end where roots are
 * too near each other. */
#include "ode/theory/poly.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/table.h"

#include <flint/fmpz_poly_factor.h>

void poly_set(fmpq_poly_t p, int i, const mpq_t c)
{
    FRACTION(x);
    fmpq_set_mpq(x, c);
    fmpq_poly_set_coeff_fmpq(p, i, x);
}

void poly_get(const fmpq_poly_t p, int i, mpq_t c)
{
    FRACTION(x);
    fmpq_poly_get_coeff_fmpq(x, p, i);
    fmpq_get_mpq(c, x);
}

double poly_number(const fmpq_poly_t p, int i)
{
    RATIONAL(c);
    poly_get(p, i, c);
    return table_double(c);
}

double poly_nearest(const arb_t x)
{
    return arf_get_d(arb_midref(x), ARF_RND_NEAR);
}

static void factors_drop(fmpz_poly_factor_t *f)
{
    fmpz_poly_factor_clear(*f);
}
#define FACTORS(f, p)                          \
    SCOPED(factors_drop) fmpz_poly_factor_t f; \
    fmpz_poly_factor_init(f);                  \
    if (!fmpz_poly_is_zero(p)) fmpz_poly_factor_squarefree(f, p)

/* Takes p's numerator over x^k, k the multiplicity of its root at 0. */
static void drop_zero_roots(const fmpq_poly_t p, fmpz_poly_t whole)
{
    slong k = 0;
    fmpq_poly_get_numerator(whole, p);
    while (fmpz_is_zero(fmpz_poly_get_coeff_ptr(whole, k))) k++;
    fmpz_poly_shift_right(whole, whole, k);
}

void poly_simple(fmpz_poly_t p)
{
    WHOLE(repeated);
    fmpz_poly_derivative(repeated, p);
    fmpz_poly_gcd(repeated, p, repeated);
    fmpz_poly_div(p, p, repeated);
}

/* Tells whether every ball has its digits; the real ones are made so. */
static int settled(acb_ptr z, slong n, const acb_poly_t p, slong bits)
{
    for (slong i = 0; i < n; i++)
        if (acb_rel_accuracy_bits(z + i) < POLY_BITS) return 0;
    if (!acb_poly_validate_real_roots(z, p, bits)) return 0;
    for (slong i = 0; i < n; i++)
        if (arb_contains_zero(acb_imagref(z + i))) arb_zero(acb_imagref(z + i));
    return 1;
}

static int too_near(const fmpz_poly_t p)
{
    return error_set(
        ERR_NUMERIC,
        "two roots of a polynomial of degree %d lie too near each other to be told apart",
        (int)fmpz_poly_degree(p));
}

/* Finds the roots of a polynomial that has each once: z (degree), the real ones first, rising. Two that agree to k bits take k
 * corrections of each, which those of few roots have time for. */
static int find_roots(const fmpz_poly_t p, acb_ptr z)
{
    enum { BITS_LEAST = 32, BITS_MOST = 8192, WORK = 20000 };
    slong zero = fmpz_is_zero(p->coeffs), n = fmpz_poly_degree(p) - zero;
    slong turns = 64 + 4 * n + WORK / (n * n + 1);
    acb_poly_t in;
    int done = n == 0;
    acb_poly_init(in);
    if (zero) acb_zero(z + n);
    for (slong bits = BITS_LEAST; bits <= BITS_MOST && !done; bits *= 2) {
        acb_ptr start = bits > BITS_LEAST ? z : NULL;
        acb_poly_set_fmpz_poly(in, p, bits);
        acb_poly_shift_right(in, in, zero);
        done = acb_poly_find_roots(z, in, start, turns < bits ? turns : bits, bits) == n &&
               settled(z, n, in, bits);
        tick();
    }
    acb_poly_clear(in);
    _acb_vec_sort_pretty(z, n + zero);
    return done ? 0 : too_near(p);
}

/* ---- positive roots ------------------------------------------------------------------------------------------ */

/* Takes the half of a ball in which the one root is, before which p has this sign; v: p at the middle, to some digits. */
static void halve(const fmpz_poly_t p, int before, const arb_t v, arb_t x)
{
    FRACTION(at);
    BALL(quarter);
    int sign = arb_is_positive(v) - arb_is_negative(v);
    if (sign == 0) {
        arf_get_fmpq(at, arb_midref(x));
        fmpz_poly_evaluate_fmpq(at, p, at);
        sign = fmpq_sgn(at);
    }
    mag_mul_2exp_si(arb_radref(x), arb_radref(x), -1);
    if (sign == 0) mag_zero(arb_radref(x));
    arf_set_mag(arb_midref(quarter), arb_radref(x));
    if (sign != before) arb_neg(quarter, quarter);
    arf_add(arb_midref(x), arb_midref(x), arb_midref(quarter), ARF_PREC_EXACT, ARF_RND_DOWN);
}

/* Puts the one root between low and low + 2^k, before which p has this sign, in a ball of POLY_BITS bits that keeps away from both
 * ends: by the interval form of Newton's method, m - p(m)/p'(x), and by halves where that does not halve the ball x. */
static void refine(const fmpz_poly_t p, const arb_t low, slong k, int before, arb_t x)
{
    enum { MORE_BITS = 32 };
    BALL(ends);
    BALL(v);
    BALL(ratio);
    BALL(better);
    arb_poly_t f, slope;
    arb_poly_init(f);
    arb_poly_init(slope);
    arb_one(ends);
    arb_mul_2exp_si(ends, ends, k - 1);
    arb_add(ends, ends, low, ARF_PREC_EXACT);
    mag_set_ui_2exp_si(arb_radref(ends), 1, k - 1);
    arb_set(x, ends);
    for (slong bits = 2 * POLY_BITS;
         arb_rel_accuracy_bits(x) < POLY_BITS || !arb_contains_interior(ends, x);) {
        arb_poly_set_fmpz_poly(f, p, bits);
        arb_poly_derivative(slope, f, bits);
        arb_get_mid_arb(better, x);
        arb_poly_evaluate(v, f, better, bits);
        arb_poly_evaluate(ratio, slope, x, bits);
        arb_div(ratio, v, ratio, bits); /* infinite where the slope may be 0 */
        arb_sub(better, better, ratio, bits);
        arb_mul_2exp_si(ratio, better, 1);
        if (mag_cmp(arb_radref(ratio), arb_radref(x)) < 0) {
            arb_intersection(x, x, better, bits);
            continue;
        }
        halve(p, before, v, x);
        bits += MORE_BITS;
    }
    arb_poly_clear(f);
    arb_poly_clear(slope);
}

typedef struct {
    const fmpz_poly_struct *p;
    arb_ptr root;
    slong count;
} Positive;

/* Returns how often signs change along the coefficients of (1 + x)^n p(1/(1 + x)): that many roots are in (0, 1), or fewer by an
 * even number (Descartes; Collins and Akritas 1976). */
static int sign_changes(const fmpz_poly_t p)
{
    WHOLE(q);
    fmpz one = 1;
    int changes = 0, last = 0;
    fmpz_poly_reverse(q, p, fmpz_poly_length(p));
    fmpz_poly_taylor_shift(q, q, &one);
    for (slong i = 0; i < fmpz_poly_length(q); i++) {
        int sign = fmpz_sgn(q->coeffs + i);
        changes += sign * last < 0;
        if (sign) last = sign;
    }
    return changes;
}

/* Finds the roots between low and low + 2^k, rising, where p is `part` on (0, 1), which is not 0 at 0. */
static int find_between(Positive *f, const fmpz_poly_t part, const arb_t low, slong k, int halvings)
{
    int changes = sign_changes(part);
    fmpz one = 1;
    WHOLE(half);
    BALL(middle);
    tick();
    if (changes == 1) refine(f->p, low, k, fmpz_sgn(part->coeffs), f->root + f->count++);
    if (changes <= 1) return 0;
    if (halvings == 0) return too_near(f->p);
    fmpz_poly_set(half, part);
    _fmpz_poly_scale_2exp(half->coeffs, half->length, -1);
    TRY(find_between(f, half, low, k - 1, halvings - 1));
    fmpz_poly_taylor_shift(half, half, &one);
    arb_one(middle);
    arb_mul_2exp_si(middle, middle, k - 1);
    arb_add(middle, middle, low, ARF_PREC_EXACT);
    if (fmpz_is_zero(half->coeffs)) {
        arb_set(f->root + f->count++, middle);
        fmpz_poly_shift_right(half, half, 1);
    }
    return find_between(f, half, middle, k - 1, halvings - 1);
}

int poly_positive(const fmpz_poly_t p, arb_ptr root, slong *count)
{
    enum { HALVINGS = 8192 };
    Positive f = {p, root, 0};
    WHOLE(part);
    BALL(zero);
    fmpz_t bound;
    fmpz_poly_shift_right(part, p, fmpz_is_zero(p->coeffs));
    fmpz_init(bound);
    fmpz_poly_bound_roots(bound, part);
    slong k = (slong)fmpz_bits(bound);
    fmpz_clear(bound);
    _fmpz_poly_scale_2exp(part->coeffs, part->length, k);
    int code = find_between(&f, part, zero, k, HALVINGS);
    *count = f.count;
    return code;
}

/* Lowers first to the least positive root. */
static int lower_to_roots(const fmpz_poly_t p, arb_t first)
{
    slong n = fmpz_poly_degree(p), count;
    arb_ptr root = _arb_vec_init(n);
    int code = poly_positive(p, root, &count);
    if (count > 0) arb_min(first, first, root, POLY_BITS);
    _arb_vec_clear(root, n);
    return code;
}

int poly_interval(const fmpq_poly_t p, int square, double *end)
{
    WHOLE(whole);
    BALL(first);
    *end = INFINITY;
    if (poly_degree(p) < 0) return 0;
    drop_zero_roots(p, whole);
    *end = 0;
    if (fmpz_sgn(fmpz_poly_get_coeff_ptr(whole, 0)) > 0) return 0;
    FACTORS(f, whole);
    arb_pos_inf(first);
    for (slong i = 0; i < f->num; i++)
        if (f->exp[i] % 2) TRY(lower_to_roots(f->p + i, first));
    if (square) arb_sqrt(first, first, POLY_BITS);
    *end = poly_nearest(first);
    return 0;
}

/* By real part, then the size of the imaginary part, the upper of a pair first. Parts within 1e-9 of the root count as equal. */
static int compare_roots(const void *x, const void *y)
{
    const double *a = x, *b = y, near = 1e-9 * (hypot(a[0], a[1]) + hypot(b[0], b[1]));
    if (fabs(a[0] - b[0]) > near) return a[0] < b[0] ? -1 : 1;
    if (fabs(fabs(a[1]) - fabs(b[1])) > near) return fabs(a[1]) < fabs(b[1]) ? -1 : 1;
    return (a[1] < b[1]) - (a[1] > b[1]);
}

/* Writes the roots of a polynomial that has each once to z, each m times. */
static int write_zeros(const fmpz_poly_t p, slong m, double *z)
{
    slong n = fmpz_poly_degree(p);
    acb_ptr root = _acb_vec_init(n);
    int code = find_roots(p, root);
    for (slong k = 0; k < n; k++) {
        z[2 * k] = poly_nearest(acb_realref(root + k));
        z[2 * k + 1] = poly_nearest(acb_imagref(root + k));
    }
    qsort(z, (size_t)n, 2 * sizeof *z, compare_roots);
    for (slong k = n * m; k-- > 0;) memmove(z + 2 * k, z + 2 * (k / m), 2 * sizeof *z);
    _acb_vec_clear(root, n);
    return code;
}

int poly_zeros(const fmpq_poly_t p, double *z)
{
    WHOLE(whole);
    fmpq_poly_get_numerator(whole, p);
    FACTORS(f, whole);
    for (slong m = 1; m <= poly_degree(p); m++)
        for (slong i = 0; i < f->num; i++) {
            slong n = fmpz_poly_degree(f->p + i);
            if (f->exp[i] != m || n < 1) continue;
            TRY(write_zeros(f->p + i, m, z));
            z += 2 * n * m;
        }
    return 0;
}

int poly_cosine(const fmpq_poly_t p, double *cosine)
{
    int n = poly_degree(p);
    *cosine = -1;
    if (n < 1) return 0;
    SCOPED(memory_drop) double *z = memory_new(2 * (size_t)n, sizeof *z);
    if (!z) return ERR_MEMORY;
    TRY(poly_zeros(p, z));
    for (int i = 0; i < n; i++) *cosine = fmax(*cosine, -z[2 * i] / hypot(z[2 * i], z[2 * i + 1]));
    return 0;
}
