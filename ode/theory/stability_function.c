/* stability_function.c: R(z) as a quotient of polynomials, with its zeros and poles.
 *
 * Roots of different multiplicity are looked for apart (poly.c), so that the triple pole of an SDIRK method has all its digits, and
 * not a third of them.
 *
 * Of a table in decimals a coefficient is the simplest fraction within its rounding, where its denominator has four digits at most
 * (a number drawn at random has one with a chance of 1e-7). Roots near each other are one multiple root, their mean, where the
 * polynomial of such roots has the same coefficients within their rounding. */
#include <complex.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/ratio.h"
#include "ode/theory/theory.h"

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
static int has_roots(const fmpq_poly_t p, const double *off, const double *root)
{
    int degree = poly_degree(p);
    SCOPED(memory_drop) double complex *c = memory_new((size_t)degree + 1, sizeof *c);
    int holds = 1;
    if (!c) return 0;
    c[0] = poly_number(p, degree);
    for (int n = 0; n < degree; n++) { /* times (z - r) */
        double complex r = root[2 * n] + I * root[2 * n + 1];
        for (int i = n + 1; i >= 0; i--) c[i] = (i ? c[i - 1] : 0) - (i <= n ? r * c[i] : 0);
    }
    for (int i = 0; i <= degree; i++) {
        double size = fabs(poly_number(p, i));
        holds &= cabs(c[i] - poly_number(p, i)) <= off[i] + 1e-13 * (size + fabs(creal(c[0])));
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

/* Gathers the roots of a polynomial in decimals that are one. */
static int gather_rounded(const fmpq_poly_t p, const double *off, double *root)
{
    size_t numbers = 2 * (size_t)poly_degree(p);
    SCOPED(memory_drop) double *mean = memory_new(numbers + 1, sizeof *mean);
    if (!mean) return ERR_MEMORY;
    for (double near = 0.1; near > 1e-6;
         near /= 4) { /* m roots of one are apart by some eps^(1/m) of it */
        memcpy(mean, root, numbers * sizeof *mean);
        gather(mean, poly_degree(p), near);
        if (!has_roots(p, off, mean)) continue;
        memcpy(root, mean, numbers * sizeof *mean);
        break;
    }
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

/* Makes the list of a polynomial's roots; off NULL: it is exact, and so are its roots' multiplicities. */
static int find_roots(const fmpq_poly_t p, const double *off, double **out)
{
    if (!(*out = memory_new(2 * (size_t)poly_degree(p) + 1, sizeof **out))) return ERR_MEMORY;
    TRY(poly_zeros(p, *out));
    return off ? gather_rounded(p, off, *out) : 0;
}

/* Copies coefficients; of decimals the simplest fractions. */
static int copy_coefficients(const fmpq_poly_t p, const double *off, int *degree, mpq_t **out)
{
    *degree = poly_degree(p);
    if (!(*out = rationals_new((size_t)*degree + 1))) return ERR_MEMORY;
    for (int i = 0; i <= *degree; i++) {
        poly_get(p, i, (*out)[i]);
        if (off) settle((*out)[i], off[i]);
    }
    return 0;
}

int stability_function(const Table *t, StabilityFunction *out)
{
    RATIO(r);
    int told;
    *out = (StabilityFunction){.p = -1, .colour = -1};
    if (t->flows || table_past(t) || table_exponential(t)) return 0;
    TRY(ratio_colour(t, &out->colour));
    TRY(ratio_new(t, out->colour, &r, &told));
    if (!told || poly_degree(r.P) < 0) return 0;
    int code = copy_coefficients(r.P, r.p_off, &out->p, &out->P);
    if (code == 0) code = copy_coefficients(r.Q, r.q_off, &out->q, &out->Q);
    if (code == 0) code = find_roots(r.P, r.p_off, &out->zero);
    if (code == 0) code = find_roots(r.Q, r.q_off, &out->pole);
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
