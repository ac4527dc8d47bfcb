/* poly.c: rational polynomials: the first place where one turns positive, and its zeros.
 *
 * A polynomial is a number times f_1 f_2^2 f_3^3 ..., where f_m has the roots of multiplicity m, each once (Yun 1976). Its sign
 * changes at the real roots of f_1, f_3, ... and nowhere else. Arb puts every root of such an f in a ball of its own, and tells
 * which are real (arb_fmpz_poly_complex_roots), so that none is missed, and halves the balls until all digits are known. */
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

slong poly_positive(const fmpz_poly_t p, arb_ptr root)
{
    slong n = fmpz_poly_degree(p), count = 0;
    if (n < 1) return 0;
    acb_ptr z = _acb_vec_init(n);
    arb_fmpz_poly_complex_roots(z, p, 0, POLY_BITS);
    for (slong i = 0; i < n && arb_is_zero(acb_imagref(z + i)); i++)
        if (arb_is_positive(acb_realref(z + i))) arb_set(root + count++, acb_realref(z + i));
    _acb_vec_clear(z, n);
    return count;
}

double poly_interval(const fmpq_poly_t p, int square)
{
    WHOLE(whole);
    BALL(first);
    arb_pos_inf(first);
    if (poly_degree(p) < 0) return INFINITY;
    drop_zero_roots(p, whole);
    if (fmpz_sgn(fmpz_poly_get_coeff_ptr(whole, 0)) > 0) return 0;
    FACTORS(f, whole);
    for (slong i = 0; i < f->num; i++) {
        slong n = fmpz_poly_degree(f->p + i);
        arb_ptr root = _arb_vec_init(n);
        if (f->exp[i] % 2 && poly_positive(f->p + i, root) > 0)
            arb_min(first, first, root, POLY_BITS);
        _arb_vec_clear(root, n);
        tick();
    }
    if (square) arb_sqrt(first, first, POLY_BITS);
    return poly_nearest(first);
}

/* By real part, then the size of the imaginary part, the upper of a pair first. Parts within 1e-9 of the root count as equal. */
static int compare_roots(const void *x, const void *y)
{
    const double *a = x, *b = y, near = 1e-9 * (hypot(a[0], a[1]) + hypot(b[0], b[1]));
    if (fabs(a[0] - b[0]) > near) return a[0] < b[0] ? -1 : 1;
    if (fabs(fabs(a[1]) - fabs(b[1])) > near) return fabs(a[1]) < fabs(b[1]) ? -1 : 1;
    return (a[1] < b[1]) - (a[1] > b[1]);
}

void poly_zeros(const fmpq_poly_t p, double *z)
{
    WHOLE(whole);
    fmpq_poly_get_numerator(whole, p);
    FACTORS(f, whole);
    for (slong m = 1; m <= poly_degree(p); m++)
        for (slong i = 0; i < f->num; i++) {
            slong n = fmpz_poly_degree(f->p + i);
            if (f->exp[i] != m || n < 1) continue;
            acb_ptr root = _acb_vec_init(n);
            arb_fmpz_poly_complex_roots(root, f->p + i, 0, POLY_BITS);
            double *first = z;
            for (slong k = 0; k < n; k++, z += 2)
                z[0] = poly_nearest(acb_realref(root + k)),
                z[1] = poly_nearest(acb_imagref(root + k));
            qsort(first, (size_t)n, 2 * sizeof *first, compare_roots);
            for (slong k = n * m; k-- > 0;) /* each as often as its multiplicity */
                memmove(first + 2 * k, first + 2 * (k / m), 2 * sizeof *first);
            z = first + 2 * n * m;
            _acb_vec_clear(root, n);
        }
}

int poly_cosine(const fmpq_poly_t p, double *cosine)
{
    int n = poly_degree(p);
    *cosine = -1;
    if (n < 1) return 0;
    SCOPED(memory_drop) double *z = memory_new(2 * (size_t)n, sizeof *z);
    if (!z) return ERR_MEMORY;
    poly_zeros(p, z);
    for (int i = 0; i < n; i++) *cosine = fmax(*cosine, -z[2 * i] / hypot(z[2 * i], z[2 * i + 1]));
    return 0;
}
