/* stiff.c: A-stability and stiff decay of implicit tables and Rosenbrock methods, decided exactly where R = P / Q is (ratio.c).
 *
 * |R| <= 1 wherever Re z <= 0 where R has no pole there, and |R| <= 1 on the imaginary axis (by the maximum principle): Q has its roots
 * where Re z > 0 (locus_right), and |P|^2 - |Q|^2 <= 0 for every y^2 >= 0 (poly.c). R(inf) is that of the leading coefficients.
 * Source: Hairer, Wanner 1996, section IV.3.
 *
 * Where R is not A-stable, |R| <= 1 in the sector |arg(-z)| <= alpha where it is so on its edges, |R(inf)| <= 1, and no pole is
 * inside. On a ray whose tan(alpha/2) is rational |P|^2 - |Q|^2 is a rational polynomial in |z|, decided as on the axis, so
 * that no |z| is too large or too small to be seen; alpha is found by bisection of tan(alpha/2).
 *
 * A table with history has several factors. Of fractions it is decided in the same way (locus.c); else its angle of
 * A(alpha)-stability is searched in double precision: on
 * each ray the largest factor over |z| = 2^-10 .. 2^16, finest around the worst of 16 values an octave; the angle is
 * found by bisection.
 * Source: Widlund 1967; Hairer, Wanner 1996, section V.2. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/theory/theory.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/locus.h"
#include "ode/theory/ratio.h"

static double at_infinity(const Ratio *r)
{
    int p = poly_degree(r->P), q = poly_degree(r->Q);
    if (p != q) return p > q ? INFINITY : 0;
    FRACTION(above);
    FRACTION(below);
    RATIONAL(x);
    fmpq_poly_get_coeff_fmpq(above, r->P, p);
    fmpq_poly_get_coeff_fmpq(below, r->Q, q);
    fmpq_div(above, above, below);
    fmpq_get_mpq(x, above);
    return fabs(table_double(x));
}

/* ---- the angle of A(alpha)-stability, with history --------------------------------------------------- */

typedef struct {
    Stability *s;
    int colours, colour;
} Plane;

static double radius(const Plane *p, double r, double angle)
{
    double z[COLOURS][2] = {{0}}, share = p->colour < 0 ? r / p->colours : r;
    for (int op = 0; op < p->colours; op++) {
        if (p->colour >= 0 && op != p->colour) continue;
        z[op][0] = -share * cos(angle), z[op][1] = share * sin(angle);
    }
    return stability_at(p->s, (const double(*)[2])z);
}

/* Returns the largest factor on the ray, or the first that is seen above `enough`. */
static double worst_on(const Plane *p, double angle, double enough)
{
    enum { OCTAVE = 16, LOW = -10, HIGH = 16, HALVINGS = 30 };
    double worst = 0, at = 0, width = 1. / OCTAVE;
    for (int i = LOW * OCTAVE; i <= HIGH * OCTAVE && worst <= enough; i++) {
        double m = radius(p, exp2((double)i / OCTAVE), angle);
        if (m > worst) worst = m, at = (double)i / OCTAVE;
    }
    for (int i = 0; i < HALVINGS && worst <= enough; i++, width /= 2)
        for (int side = -1; side <= 1; side += 2) {
            double m = radius(p, exp2(at + side * width / 2), angle);
            if (m > worst) worst = m, at += side * width / 2;
        }
    return worst;
}

static const double enough = 1 + 1e-7; /* a double root on the circle has 8 digits */

static double find_angle(const Plane *p)
{
    const double right = acos(0);
    double low = 0, high = right;
    if (worst_on(p, right, enough) <= enough) return 90;
    if (!(worst_on(p, 0, enough) <= enough)) return 0;
    for (int i = 0; i < 30; i++) {
        double middle = (low + high) / 2;
        *(worst_on(p, middle, enough) <= enough ? &low : &high) = middle;
    }
    return low / right * 90;
}

/* Returns lim of the largest factor R + a / z + ...; one that goes to 0 has fallen much by 2^16. */
static double find_infinity(const Plane *p)
{
    double near = radius(p, 0x1p10, 0), half = radius(p, 0x1p15, 0), far = radius(p, 0x1p16, 0);
    if (far < 0.75 * near) return 0;
    return far > 1.5 * near ? INFINITY : 2 * far - half;
}

/* Searches for the angle; *angle NaN: its thousands of values would take too long. A factor above 1 at infinity is so far out
 * on every ray, perhaps only where the search does not come. */
static int search_angle(const Table *t, int colour, double *angle, double *infinity)
{
    const size_t work_max = 20000;
    SCOPED(stability_drop) Stability *s = NULL;
    *angle = NAN;
    int code = stability_new(t, &s);
    if (code == ERR_INPUT) return 0; /* too many factors */
    TRY(code);
    if (stability_work(s) > work_max) return 0;
    Plane p = {s, t->colours, colour};
    *infinity = find_infinity(&p);
    *angle = *infinity > enough ? 0 : find_angle(&p);
    return 0;
}

static int find_with_history(const Table *t, Stiff *out)
{
    int zero_stable, on_circle, done;
    TRY(stability_roots(t, &zero_stable, &on_circle));
    out->a_stable = out->l_stable = TOLD_NO;
    if (!zero_stable) return 0;
    TRY(locus_angle(t, out->colour, &out->alpha, &out->r_infinity, &done));
    out->proved &= done;
    if (!done) TRY(search_angle(t, out->colour, &out->alpha, &out->r_infinity));
    if (isnan(out->alpha)) {
        out->a_stable = out->l_stable = TOLD_NOT;
        out->why = "it reads or carries too much of the past for a search";
    }
    if (out->alpha == 90) {
        out->a_stable = TOLD_YES;
        out->l_stable = out->r_infinity == 0 ? TOLD_YES : TOLD_NO;
    }
    return 0;
}

/* ---- one step -------------------------------------------------------------------------------------- */

/* R, and the largest cosine of the angle between a pole and the negative axis. */
typedef struct {
    const Ratio *r;
    double pole;
} Sector;

/* Tells whether |R| <= 1 on the rays at angle 2 atan(t) from the negative axis, and no pole is between them. Near a pole no ray holds,
 * so that the poles' digits do not enter. */
static int sector_holds(const void *of, const mpq_t t, int *yes)
{
    const Sector *s = of;
    POLY(f);
    RATIONALS(cosine, below);
    mpq_mul(cosine, t, t);
    mpq_add(below, rational_one, cosine);
    mpq_sub(cosine, rational_one, cosine);
    mpq_div(cosine, cosine, below);
    TRY(ratio_excess(s->r, cosine, f));
    double end;
    TRY(poly_interval(f, 0, &end));
    *yes = mpq_get_d(cosine) > s->pole && isinf(end);
    return 0;
}

static int find(const Ratio *r, Stiff *out)
{
    int axis, imaginary;
    Sector s = {r, -1};
    RATIONAL(zero);
    out->r_infinity = at_infinity(r);
    out->a_stable = out->l_stable = TOLD_NO;
    TRY(sector_holds(&s, rational_one, &imaginary));
    if (imaginary && locus_right(r->Q)) {
        out->a_stable = TOLD_YES;
        out->l_stable = out->r_infinity == 0 ? TOLD_YES : TOLD_NO;
        out->alpha = 90;
        return 0;
    }
    TRY(poly_cosine(r->Q, &s.pole));
    TRY(sector_holds(&s, zero, &axis));
    out->alpha = 0;
    return axis && !(out->r_infinity > 1) ? locus_bisect(sector_holds, &s, &out->alpha) : 0;
}

static int find_one_step(const Table *t, Stiff *out)
{
    RATIO(r);
    int told;
    TRY(ratio_new(t, out->colour, &r, &told));
    if (!told) out->why = "more than 64 points are too many for R = P / Q";
    for (size_t k = 0; told && r.p_off && k <= r.points; k++) {
        out->within = fmax(out->within, r.p_off[k]);
        if (r.q_off) out->within = fmax(out->within, r.q_off[k]);
    }
    return told ? find(&r, out) : 0;
}

/* ---- estimates ------------------------------------------------------------------------------------- */

/* Finds E or R of a table in one colour, or of all. *told = 0: not told. */
static int ratio_of(const Table *t, int colour, Ratio *out, int *told)
{
    TABLE(frozen);
    *told = 0;
    if (!t || !(frozen = table_freeze(t))) return ERR_MEMORY;
    return ratio_new(frozen, colour, out, told);
}

/* Published coefficients have 16 digits, of which sums lose some: what their rounding leaves of a 0 is far below this
 * share of the estimate's weights. At infinity an estimate that is a millionth of the error holds it to no tolerance
 * either. */
static const double zero_share = 1e-10, blind_share = 1e-6;

static int sees_nothing(const Table *estimate, Blind *out)
{
    RATIO(E);
    double largest = 0, weights = 0;
    int told;
    for (size_t i = 0; i < estimate->update.terms; i++)
        weights += fabs(table_double(estimate->update.term[i].c));
    TRY(ratio_of(estimate, -1, &E, &told));
    if (!told) return 0;
    for (int i = 0; i <= poly_degree(E.P); i++) largest = fmax(largest, fabs(poly_number(E.P, i)));
    if (largest <= zero_share * weights) out->kind = BLIND_LINEAR;
    return 0;
}

static int sees_no_stiffness(const Table *t, const Table *estimate, int colour, Blind *out)
{
    RATIO(E);
    RATIO(R);
    int told, too;
    TRY(ratio_of(estimate, colour, &E, &told));
    TRY(ratio_of(t, colour, &R, &too));
    if (!told || !too) return 0;
    out->r_infinity = at_infinity(&R);
    if (out->r_infinity > 0 && isfinite(out->r_infinity) &&
        at_infinity(&E) <= blind_share * out->r_infinity)
        out->kind = BLIND_STIFF;
    return 0;
}

int stability_blind(const Table *t, Blind *out)
{
    *out = (Blind){.r_infinity = NAN};
    if (!t->pair || table_past(t) || table_exponential(t->pair)) return 0;
    TABLE(estimate);
    int colour;
    if (!(estimate = table_estimate(t))) return ERR_MEMORY;
    TRY(sees_nothing(estimate, out));
    if (out->kind || !table_solves(t)) return 0;
    TRY(ratio_colour(t, &colour));
    return sees_no_stiffness(t, estimate, colour, out);
}

int blind_words(const Table *t, char *words, size_t bytes)
{
    Blind b;
    TRY(stability_blind(t, &b));
    words[0] = '\0';
    if (b.kind == BLIND_LINEAR)
        snprintf(
            words, bytes,
            "%s: its estimate of the error is 0 on every linear field, so that no tolerance bounds the "
            "error of what is linear or stiff",
            t->name);
    if (b.kind == BLIND_STIFF)
        snprintf(
            words, bytes,
            "%s: its estimate of the error goes to 0 on what is stiff (h lambda -> -inf), where a step "
            "errs by R(inf) = %.3g of it, so that no tolerance bounds that",
            t->name, b.r_infinity);
    return 0;
}

int stability_stiff(const Table *t, Stiff *out)
{
    *out = (Stiff){.a_stable = TOLD_NOT,
                   .l_stable = TOLD_NOT,
                   .r_infinity = NAN,
                   .alpha = NAN,
                   .colour = -1,
                   .proved = t->exact};
    if (table_exponential(t) && table_solves(t))
        out->why = "R of phi functions is no quotient of polynomials";
    if (t->flows || table_exponential(t)) return 0;
    TRY(ratio_colour(t, &out->colour));
    int past = table_past(t);
    if (table_solves(t)) return past ? find_with_history(t, out) : find_one_step(t, out);
    if (past) return 0;
    out->a_stable = out->l_stable = TOLD_NO; /* a polynomial */
    out->r_infinity = INFINITY;
    return 0;
}
