/* stability_function.c: R(z) as a quotient of polynomials, with its zeros and poles.
 *
 * A polynomial is the product of f_1 f_2^2 f_3^3 ..., where f_m has the roots of multiplicity m, each once (Yun 1976): with
 * s_1 = p / gcd(p, p') and s_(m+1) made likewise of gcd(p, p'), f_m = s_m / s_(m+1). The roots of f_m alone are looked for in
 * doubles, so that the triple pole of an SDIRK method has all its digits, and not a third of them.
 *
 * Of a table in decimals a coefficient is the simplest fraction within its rounding, where its denominator has four digits at most
 * (a number drawn at random has one with a chance of 1e-7). Roots near each other are one multiple root, their mean, where the
 * polynomial of such roots has the same coefficients within their rounding. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/ratio.h"
#include "ode/theory/theory.h"

/* By real part, then the size of the imaginary part, the upper of a pair first. Parts within 1e-9 of the root count as equal. */
static int compare_roots(const void *x, const void *y)
{
    const double *a = x, *b = y, near = 1e-9 * (hypot(a[0], a[1]) + hypot(b[0], b[1]));
    if (fabs(a[0] - b[0]) > near) return a[0] < b[0] ? -1 : 1;
    if (fabs(fabs(a[1]) - fabs(b[1])) > near) return fabs(a[1]) < fabs(b[1]) ? -1 : 1;
    return (a[1] < b[1]) - (a[1] > b[1]);
}

/* Adds the roots of a polynomial that has each once, each so often, to list; *n counts them. */
static int add_roots(const Poly *f, int often, double *list, int *n)
{
    if (f->degree < 1) return 0;
    SCOPED(memory_drop) double *root = memory_new(2 * (size_t)f->degree, sizeof *root);
    if (!root) return ERR_MEMORY;
    TRY(poly_zeros(f, root));
    qsort(root, (size_t)f->degree, 2 * sizeof *root, compare_roots);
    for (int i = 0; i < f->degree; i++)
        for (int k = 0; k < often; k++, ++*n) {
            list[2 * *n] = root[2 * i];
            list[2 * *n + 1] = root[2 * i + 1];
        }
    return 0;
}

static void clear(Poly *p)
{
    poly_copy(p, &(Poly){.degree = -1});
}

/* ---- decimals ------------------------------------------------------------------------------------------ */

/* Replaces c by the first convergent p/q of its continued fraction that is within off, where q is at most 9,999. */
static void settle(mpq_t c, double off)
{
    double x = fabs(mpq_get_d(c)), rest = x, p = 1, q = 0, p_before = 0, q_before = 1;
    while (q < 1e4) {
        double whole = floor(rest), next = whole * p + p_before, below = whole * q + q_before;
        p_before = p, q_before = q, p = next, q = below;
        if (q < 1e4 && fabs(p / q - x) <= off) {
            mpz_set_d(mpq_numref(c), mpq_sgn(c) * p);
            mpz_set_d(mpq_denref(c), q);
            mpq_canonicalize(c);
            return;
        }
        if (rest == whole) return;
        rest = 1 / (rest - whole);
    }
}

/* Tells whether p has these roots (degree; re, im): its coefficients are those of c prod (z - root) within off. */
static int has_roots(const Poly *p, const double *off, const double *root)
{
    SCOPED(memory_drop) double complex *c = memory_new((size_t)p->degree + 1, sizeof *c);
    int holds = c != NULL;
    if (!c) return 0;
    c[0] = mpq_get_d(p->c[p->degree]);
    for (int n = 0; n < p->degree; n++) { /* times (z - r) */
        double complex r = root[2 * n] + I * root[2 * n + 1];
        for (int i = n + 1; i >= 0; i--) c[i] = (i ? c[i - 1] : 0) - (i <= n ? r * c[i] : 0);
    }
    for (int i = 0; i <= p->degree; i++) {
        double size = fabs(mpq_get_d(p->c[i]));
        holds &= cabs(c[i] - mpq_get_d(p->c[i])) <= off[i] + 1e-13 * (size + fabs(creal(c[0])));
    }
    return holds;
}

/* Puts the mean in the place of roots within this share of each other. */
static void gather(double *root, int n, double near)
{
    for (int i = 0; i < n; i++) {
        double re = root[2 * i], im = root[2 * i + 1], sum[2] = {0}, count = 0;
        int done = 0;
        for (int j = 0; j < i; j++) done |= root[2 * j] == re && root[2 * j + 1] == im;
        for (int pass = 0; pass < 2 && !done; pass++)
            for (double *z = root + 2 * i; z < root + 2 * n; z += 2) {
                if (hypot(z[0] - re, z[1] - im) > near * hypot(re, im)) continue;
                if (pass == 0)
                    sum[0] += z[0], sum[1] += z[1], count++;
                else
                    z[0] = sum[0] / count, z[1] = sum[1] / count;
            }
    }
}

/* Makes the roots of a polynomial in decimals. */
static int rounded_roots(const Poly *p, const double *off, double *root)
{
    size_t numbers = 2 * (size_t)p->degree;
    int n = 0;
    TRY(add_roots(p, 1, root, &n));
    SCOPED(memory_drop) double *mean = memory_new(numbers + 1, sizeof *mean);
    if (!mean) return ERR_MEMORY;
    for (double near = 0.1; near > 1e-6;
         near /= 4) { /* m roots of one are apart by some eps^(1/m) of it */
        memcpy(mean, root, numbers * sizeof *mean);
        gather(mean, n, near);
        if (!has_roots(p, off, mean)) continue;
        memcpy(root, mean, numbers * sizeof *mean);
        break;
    }
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

/* Makes the list of a polynomial's roots; off NULL: it is exact, and so are its roots' multiplicities. */
static int find_roots(const Poly *p, const double *off, double **out)
{
    SCOPED(poly_free) Poly rest = {0}, simple = {0}, next = {0}, repeated = {0}, f = {0};
    int n = 0;
    if (!(*out = memory_new(2 * (size_t)p->degree + 1, sizeof **out))) return ERR_MEMORY;
    if (off) return rounded_roots(p, off, *out);
    TRY(poly_new(&rest, p->degree));
    TRY(poly_new(&simple, p->degree));
    TRY(poly_new(&next, p->degree));
    TRY(poly_new(&repeated, p->degree));
    TRY(poly_new(&f, p->degree));
    TRY(poly_squarefree(p, &simple, &repeated));
    for (int often = 1; simple.degree > 0; often++) {
        poly_copy(&rest, &repeated);
        clear(&next);
        clear(&repeated);
        TRY(poly_squarefree(&rest, &next, &repeated));
        poly_copy(&rest, &simple);
        clear(&f);
        poly_divide(&rest, &next, &f);
        TRY(add_roots(&f, often, *out, &n));
        poly_copy(&simple, &next);
    }
    return 0;
}

static int fill(const Ratio *r, StabilityFunction *out)
{
    out->P = rationals_new((size_t)r->P.degree + 1);
    out->Q = rationals_new((size_t)r->Q.degree + 1);
    if (!out->P || !out->Q) return ERR_MEMORY;
    out->p = r->P.degree;
    out->q = r->Q.degree;
    for (int i = 0; i <= out->p; i++) {
        mpq_set(out->P[i], r->P.c[i]);
        if (r->p_off) settle(out->P[i], r->p_off[i]);
    }
    for (int i = 0; i <= out->q; i++) {
        mpq_set(out->Q[i], r->Q.c[i]);
        if (r->q_off) settle(out->Q[i], r->q_off[i]);
    }
    TRY(find_roots(&r->P, r->p_off, &out->zero));
    return find_roots(&r->Q, r->q_off, &out->pole);
}

int stability_function(const Table *t, StabilityFunction *out)
{
    SCOPED(ratio_free) Ratio r = {0};
    int told;
    *out = (StabilityFunction){.p = -1, .colour = -1};
    if (t->flows || table_past(t) || table_exponential(t)) return 0;
    TRY(ratio_colour(t, &out->colour));
    TRY(ratio_new(t, out->colour, &r, &told));
    if (!told || r.P.degree < 0) return 0;
    int code = fill(&r, out);
    if (code != 0) stability_function_free(out);
    return code;
}

void stability_function_free(StabilityFunction *f)
{
    rationals_free(f->P);
    rationals_free(f->Q);
    memory_free_all(f->zero, f->pole);
    *f = (StabilityFunction){.p = -1};
}

/* ---- internal stability --------------------------------------------------------------------------------- */

/* An error r_j in the point of stage j, as rounding makes, enters a step on y' = lambda y as Q_j(z) r_j, where
 *
 *     Q_j(z) = z (b_j + sum_i>j a_ij Q_i(z)),    so that Q = z b' (1 - z A)^-1
 *
 * (Verwer, Hundsdorfer, Sommeijer 1990; Ketcheson, Loczi, Parsani 2014). The Q_j are polynomials of an explicit method, and the
 * part of the region |R| <= 1 that 0 belongs to is bounded, so that each |Q_j| is largest on its boundary. That is a curve
 * R(z) = exp(i theta), which begins at z = 0 and comes back there: z' = i R / R' by theta. Each point is Newton's, from the
 * tangent, with steps that follow the curve's size. */
enum { INTERNAL_STAGES = 32, INTERNAL_POINTS = 400000 };

typedef struct {
    int n, p;                  /* stages; degree of R */
    double *a, *b;             /* (n, n), (n) */
    const double *R;           /* (p + 1) */
    int errs[INTERNAL_STAGES]; /* 0: the stage stands at y itself, where no error is made */
} Internal;

static double weight_on(const Table *t, const Row *r, size_t stage)
{
    double sum = 0;
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval == t->stage[stage].eval) sum += table_double(r->term[i].c);
    return sum;
}

static void read_method(const Table *t, Internal *m)
{
    for (int j = 0; j < m->n; j++) {
        m->b[j] = weight_on(t, &t->update, (size_t)j);
        m->errs[j] = eval_point(t, t->stage[j].eval)->row.terms > 1;
        for (int i = 0; i < m->n; i++)
            m->a[i * m->n + j] = weight_on(t, &eval_point(t, t->stage[i].eval)->row, (size_t)j);
    }
}

/* Returns the largest |Q_j(z)| of the stages whose point errs. */
static double largest_internal(const Internal *m, double complex z)
{
    double complex Q[INTERNAL_STAGES];
    double most = 0;
    for (int j = m->n; j-- > 0;) {
        Q[j] = m->b[j];
        for (int i = j + 1; i < m->n; i++) Q[j] += m->a[i * m->n + j] * Q[i];
        Q[j] *= z;
        if (m->errs[j]) most = fmax(most, cabs(Q[j]));
    }
    return most;
}

static double complex value(const Internal *m, double complex z, double complex *slope)
{
    double complex R = 0;
    *slope = 0;
    for (int i = m->p; i >= 0; i--) {
        *slope = *slope * z + R;
        R = R * z + m->R[i];
    }
    return R;
}

/* Follows the boundary from 0 in steps of 2^-10 of its distance from 0, at least of 1/8, until it comes back from below. Returns
 * NaN where it does not. */
static double follow(const Internal *m)
{
    double complex z = 0, slope;
    double most = 0, theta = 0;
    value(m, z, &slope);
    for (int k = 0; k < INTERNAL_POINTS; k++) {
        double length = 0x1p-10 * fmax(0.125, cabs(z)), step = length * cabs(slope);
        z += length * I * cexp(I * theta) * cabs(slope) / slope;
        theta += step;
        for (int turn = 0; turn < 3; turn++) {
            double complex R = value(m, z, &slope);
            z -= (R - cexp(I * theta)) / slope;
        }
        value(m, z, &slope);
        most = fmax(most, largest_internal(m, z));
        if (k > 2 && cimag(z) <= 0 && cabs(z) < 2 * length) return most;
    }
    return NAN;
}

int stability_internal(const Table *t, double *amplification)
{
    SCOPED(stability_function_free) StabilityFunction f = {.p = -1};
    size_t n = t->stages;
    *amplification = NAN;
    if (!table_over(t, OP_H) || table_solves(t) || n > INTERNAL_STAGES) return 0;
    TRY(stability_function(t, &f));
    if (f.p < 1 || f.q > 0 || mpq_cmp_ui(f.P[0], 1, 1) != 0 || mpq_sgn(f.P[1]) == 0) return 0;
    SCOPED(memory_drop) double *block = memory_new(n * n + n + (size_t)f.p + 1, sizeof *block);
    if (!block) return ERR_MEMORY;
    Internal m = {.n = (int)n, .p = f.p, .a = block, .b = block + n * n};
    double *R = m.b + n;
    for (int i = 0; i <= f.p; i++) R[i] = table_double(f.P[i]);
    m.R = R;
    read_method(t, &m);
    *amplification = follow(&m);
    return 0;
}
