/* stability.c: root condition and absolute stability of a table.
 *
 * On y' = (f + g) y the step maps the vector X = (y, y[-1], ..., slopes of the past) linearly; its
 * matrix is filled by stepping unit vectors, and the amplification is its spectral radius. A complex
 * matrix A + iB has the eigenvalue moduli of the real [[A, -B], [B, A]], which GSL can solve. */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"

#include <complex.h>
#include <gsl/gsl_complex_math.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_poly.h>
#include <math.h>

/* ---- root condition ---------------------------------------------------------------------------------- */

/* Polynomials over the rationals, coefficient i of x^i; degree -1 is zero. */
typedef struct {
    int degree;
    mpq_t c[66];
} Poly;

static void poly_trim(Poly *p)
{
    while (p->degree >= 0 && mpq_sgn(p->c[p->degree]) == 0) p->degree--;
}

/* p mod q in place (q not zero); if `quotient`, its coefficients. */
static void poly_divide(Poly *p, const Poly *q, Poly *quotient)
{
    mpq_t ratio, x;
    mpq_inits(ratio, x, NULL);
    if (quotient) quotient->degree = p->degree - q->degree;
    while (p->degree >= q->degree) {
        int shift = p->degree - q->degree;
        mpq_div(ratio, p->c[p->degree], q->c[q->degree]);
        if (quotient) mpq_set(quotient->c[shift], ratio);
        for (int i = 0; i <= q->degree; i++) {
            mpq_mul(x, ratio, q->c[i]);
            mpq_sub(p->c[i + shift], p->c[i + shift], x);
        }
        p->degree--; /* the leading terms cancel exactly */
        poly_trim(p);
    }
    mpq_clears(ratio, x, NULL);
}

static void poly_init(Poly *p)
{
    p->degree = -1;
    for (int i = 0; i < 66; i++) mpq_init(p->c[i]);
}

static void poly_clear(Poly *p)
{
    for (int i = 0; i < 66; i++) mpq_clear(p->c[i]);
}

static void poly_copy(Poly *to, const Poly *from)
{
    to->degree = from->degree;
    for (int i = 0; i < 66; i++) mpq_set(to->c[i], from->c[i]);
}

/* g = gcd(p, p'), so that p / g has each root once and g the repeated ones. */
static void poly_repeated(const Poly *p, Poly *g)
{
    Poly r, s;
    poly_init(&r);
    poly_init(&s);
    poly_copy(&r, p);
    s.degree = p->degree - 1;
    for (int i = 1; i <= p->degree; i++) {
        mpq_set_si(s.c[i - 1], i, 1);
        mpq_mul(s.c[i - 1], s.c[i - 1], p->c[i]);
    }
    while (s.degree >= 0) {
        poly_divide(&r, &s, NULL);
        poly_copy(g, &r);
        poly_copy(&r, &s);
        poly_copy(&s, g);
    }
    poly_copy(g, &r);
    poly_clear(&r);
    poly_clear(&s);
}

/* Largest modulus of the roots, and how many lie on the unit circle (to 1e-9). */
static int poly_roots(const Poly *p, double *largest, int *on_circle)
{
    double c[66], z[2 * 66];
    *largest = 0;
    *on_circle = 0;
    if (p->degree < 1) return 0;
    for (int i = 0; i <= p->degree; i++) c[i] = table_double(p->c[i]);
    gsl_poly_complex_workspace *w = gsl_poly_complex_workspace_alloc((size_t)p->degree + 1);
    if (!w) return error_set(ERR_MEMORY, "out of memory");
    int status = gsl_poly_complex_solve(c, (size_t)p->degree + 1, w, z);
    gsl_poly_complex_workspace_free(w);
    if (status != GSL_SUCCESS)
        return error_set(ERR_NUMERIC, "the roots of a multistep scheme were not found");
    for (int i = 0; i < p->degree; i++) {
        double r = hypot(z[2 * i], z[2 * i + 1]);
        *largest = fmax(*largest, r);
        *on_circle += fabs(r - 1) < 1e-9;
    }
    return 0;
}

/* rho(x) = x^(q+1) - sum v_j x^(q-j). */
static void characteristic(const Table *t, Poly *p)
{
    p->degree = t->past_y + 1;
    mpq_set_ui(p->c[p->degree], 1, 1);
    for (size_t i = 0; i < t->update.terms; i++) {
        const Term *s = &t->update.term[i];
        if (s->eval != TABLE_STATE) continue;
        mpq_ptr c = p->c[t->past_y - s->past];
        mpq_sub(c, c, s->c);
    }
}

int stability_roots(const Table *t, int *zero_stable, int *on_circle)
{
    Poly rho, repeated, simple;
    double largest, largest_repeated;
    int repeated_on_circle, code;
    *zero_stable = *on_circle = 1;
    if (t->flows) return 0; /* one-step: rho = x - 1 */
    gsl_set_error_handler_off();
    poly_init(&rho);
    poly_init(&repeated);
    poly_init(&simple);
    characteristic(t, &rho);
    poly_repeated(&rho, &repeated);
    poly_divide(&rho, &repeated, &simple);
    code = poly_roots(&simple, &largest, on_circle);
    if (code == 0) code = poly_roots(&repeated, &largest_repeated, &repeated_on_circle);
    *zero_stable = code == 0 && largest <= 1 + 1e-9 && !repeated_on_circle;
    poly_clear(&rho);
    poly_clear(&repeated);
    poly_clear(&simple);
    return code;
}

/* ---- amplification ------------------------------------------------------------------------------------ */

/* X = (y, ..., y[-past_y], then for j = 1 .. past_k every k_e[-j]). */
typedef struct {
    const Table *t;
    size_t size;
    double complex z[2], *x, *k;
    gsl_matrix *real;
    gsl_vector_complex *value;
    gsl_eigen_nonsymm_workspace *eigen;
} Amplifier;

static void amplifier_free(Amplifier *a)
{
    memory_free(a->x);
    memory_free(a->k);
    if (a->real) gsl_matrix_free(a->real);
    if (a->value) gsl_vector_complex_free(a->value);
    if (a->eigen) gsl_eigen_nonsymm_free(a->eigen);
}

static int amplifier_new(Amplifier *a, const Table *t)
{
    size_t n = (size_t)t->past_y + 1 + (size_t)t->past_k * t->evals;
    *a = (Amplifier){.t = t, .size = n};
    gsl_set_error_handler_off();
    if (n > 1000)
        return error_set(ERR_INPUT, "%s: expected less history for a stability limit", t->name);
    a->x = memory_new(n, sizeof *a->x);
    a->k = memory_new(t->evals, sizeof *a->k);
    a->real = gsl_matrix_alloc(2 * n, 2 * n);
    a->value = gsl_vector_complex_alloc(2 * n);
    a->eigen = gsl_eigen_nonsymm_alloc(2 * n);
    if (a->x && a->k && a->real && a->value && a->eigen) return 0;
    amplifier_free(a);
    return error_set(ERR_MEMORY, "out of memory");
}

static double complex row_value(const Amplifier *a, const Row *r)
{
    double complex sum = 0;
    size_t slopes = (size_t)a->t->past_y + 1;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        double complex v =
            s->eval == TABLE_STATE ? a->x[s->past]
            : s->past == 0         ? a->k[s->eval]
                           : a->x[slopes + (size_t)(s->past - 1) * a->t->evals + (size_t)s->eval];
        sum += mpq_get_d(s->c) * v;
    }
    return sum;
}

static void set_entry(Amplifier *a, size_t row, size_t column, double complex v)
{
    size_t n = a->size;
    gsl_matrix_set(a->real, row, column, creal(v));
    gsl_matrix_set(a->real, row + n, column + n, creal(v));
    gsl_matrix_set(a->real, row, column + n, -cimag(v));
    gsl_matrix_set(a->real, row + n, column, cimag(v));
}

/* Column of the step's matrix: the step applied to the unit vector `column`. */
static void fill_column(Amplifier *a, size_t column)
{
    const Table *t = a->t;
    size_t slopes = (size_t)t->past_y + 1;
    for (size_t i = 0; i < a->size; i++) a->x[i] = i == column;
    for (size_t e = 0; e < t->evals; e++)
        a->k[e] = a->z[t->eval[e].op] * row_value(a, &t->point[t->eval[e].point].row);
    set_entry(a, 0, column, row_value(a, &t->update));
    for (size_t i = 1; i < slopes; i++) set_entry(a, i, column, a->x[i - 1]);
    for (size_t i = slopes; i < a->size; i++)
        set_entry(a, i, column, i < slopes + t->evals ? a->k[i - slopes] : a->x[i - t->evals]);
}

static double flows_modulus(const Table *t, const double complex z[2])
{
    double complex sum = 0;
    for (size_t i = 0; i < t->flows; i++) sum += mpq_get_d(t->flow[i].c) * z[t->flow[i].op];
    return exp(creal(sum));
}

static int amplifier_run(Amplifier *a, const double complex z[2], double *modulus)
{
    for (int op = 0; op < 2; op++) a->z[op] = z[op];
    gsl_matrix_set_zero(a->real);
    for (size_t c = 0; c < a->size; c++) fill_column(a, c);
    if (a->size == 1) {
        *modulus = hypot(gsl_matrix_get(a->real, 0, 0), gsl_matrix_get(a->real, 1, 0));
        return 0;
    }
    if (gsl_eigen_nonsymm(a->real, a->value, a->eigen) != GSL_SUCCESS)
        return error_set(ERR_NUMERIC, "%s: the amplification matrix's eigenvalues were not found",
                         a->t->name);
    *modulus = 0;
    for (size_t i = 0; i < 2 * a->size; i++)
        *modulus = fmax(*modulus, gsl_complex_abs(gsl_vector_complex_get(a->value, i)));
    return 0;
}

int stability_modulus(const Table *t, const double f[2], const double g[2], double *modulus)
{
    double complex z[2] = {f[0] + f[1] * I, g[0] + g[1] * I};
    Amplifier a;
    if (t->flows) {
        *modulus = flows_modulus(t, z);
        return 0;
    }
    TRY(amplifier_new(&a, t));
    int code = amplifier_run(&a, z, modulus);
    amplifier_free(&a);
    return code;
}

/* ---- limits --------------------------------------------------------------------------------------------- */

/* How far |R| exceeds 1 at distance x from 0 along `axis` (-1 or i). */
static int excess(Amplifier *a, double complex axis, double x, double *out)
{
    double complex z[2] = {x * axis / 2, x * axis / 2};
    if (a->t->flows)
        *out = flows_modulus(a->t, z);
    else
        TRY(amplifier_run(a, z, out));
    *out -= 1;
    return 0;
}

/* Rounding of an eigenvalue solver on a well-scaled matrix; |R| = 1 exactly on whole intervals (leapfrog). */
static const double slack = 1e-12;

/* Unstable arbitrarily near 0? Then |R| - 1 ~ c x^m with a whole m >= 2 between v and 4 v. */
static int from_zero(Amplifier *a, double complex axis, double v, int *yes)
{
    double e[3];
    for (int i = 0; i < 3; i++) TRY(excess(a, axis, v * (1 << i), &e[i]));
    double low = log2(e[1] / e[0]), high = log2(e[2] / e[1]);
    *yes = e[0] > 0 && low > 1.5 && fabs(low - round(low)) < 0.3 && fabs(high - low) < 0.5;
    return 0;
}

static int bisect(Amplifier *a, double complex axis, double low, double high, double *limit)
{
    for (int i = 0; i < 60; i++) {
        double e, middle = (low + high) / 2;
        TRY(excess(a, axis, middle, &e));
        if (e > slack)
            high = middle;
        else
            low = middle;
    }
    *limit = low < 1e-9 ? 0 : low; /* |R| - 1 ~ x, cut off by the slack */
    return 0;
}

static int limit_along(Amplifier *a, double complex axis, double *limit)
{
    static const double first = 1.0 / 32, far = 1e4;
    double x = 0, next = first, e;
    *limit = INFINITY;
    for (; next < far; x = next, next += fmax(first, next / 128)) {
        TRY(excess(a, axis, next, &e));
        if (e > slack) break;
    }
    if (next >= far) return 0;
    if (next <= 0.25) {
        int yes;
        TRY(from_zero(a, axis, next, &yes));
        if (yes) {
            *limit = 0;
            return 0;
        }
    }
    return bisect(a, axis, x, next, limit);
}

int stability_limits(const Table *t, double *real, double *imag)
{
    Amplifier a = {.t = t};
    if (!t->flows) TRY(amplifier_new(&a, t));
    int code = limit_along(&a, -1, real);
    if (code == 0) code = limit_along(&a, I, imag);
    amplifier_free(&a);
    *real = *real == 0 ? 0 : -*real;
    return code;
}
