/* stiff.c: A-stability and stiff decay of implicit tables and Rosenbrock methods, decided exactly where R = P / Q is (ratio.c).
 *
 * |R| <= 1 wherever Re z <= 0 where R has no pole there, and |R| <= 1 on the imaginary axis (by the maximum principle):
 * Q(-s) has its roots where Re s < 0, decided by Routh's scheme, and |P|^2 - |Q|^2 <= 0 for every y^2 >= 0, decided by
 * Descartes' rule (poly.c). R(inf) is that of the leading coefficients. Source: Hairer, Wanner 1996, section IV.3;
 * Routh 1877.
 *
 * Where R is not A-stable, |R| <= 1 in the sector |arg(-z)| <= alpha where it is so on its edges, |R(inf)| <= 1, and no pole is
 * inside. On a ray whose angle has a rational cosine |P|^2 - |Q|^2 is a rational polynomial in |z|, decided as on the axis, so
 * that no |z| is too large or too small to be seen; alpha is found by bisection of its cosine.
 *
 * A table with history has several factors, and its angle of A(alpha)-stability is searched in double precision: on
 * each ray the largest factor over |z| = 2^-10 .. 2^16, finest around the worst of 16 values an octave; the angle is
 * found by bisection.
 * Source: Widlund 1967; Hairer, Wanner 1996, section V.2. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/theory/theory.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/ratio.h"

/* Returns whether all roots of sum q_i s^i have Re s < 0; row (2 (n + 2)), zero: Routh's scheme. */
static int is_hurwitz(int n, mpq_t *q, mpq_t *row)
{
    mpq_t *above = row, *below = row + n + 2, *swap;
    RATIONALS(ratio, x);
    for (int i = 0; i <= n; i++) {
        mpq_ptr to = (i % 2 ? below : above)[i / 2];
        mpq_set(to, q[n - i]);
    }
    for (int i = 0; i < n; i++) { /* the first column keeps its sign */
        if (mpq_sgn(above[0]) * mpq_sgn(below[0]) <= 0) return 0;
        mpq_div(ratio, above[0], below[0]);
        for (int j = 0; j <= n; j++) {
            mpq_mul(x, ratio, below[j + 1]);
            mpq_sub(above[j], above[j + 1], x);
        }
        swap = above;
        above = below;
        below = swap;
    }
    return 1;
}

static int poles_apart(const Poly *Q, int *apart)
{
    int n = Q->degree;
    SCOPED(rationals_drop) mpq_t *q = rationals_new((size_t)n + 1);
    SCOPED(rationals_drop) mpq_t *row = rationals_new(2 * ((size_t)n + 2));
    if (!q || !row) return ERR_MEMORY;
    for (int i = 0; i <= n; i++) {
        mpq_set(q[i], Q->c[i]);
        if (i % 2) mpq_neg(q[i], q[i]);
    }
    *apart = is_hurwitz(n, q, row);
    return 0;
}

static double at_infinity(const Ratio *r)
{
    if (r->P.degree > r->Q.degree) return INFINITY;
    if (r->P.degree < r->Q.degree) return 0;
    return fabs(table_double(r->P.c[r->P.degree]) / table_double(r->Q.c[r->Q.degree]));
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
    int zero_stable, on_circle;
    TRY(stability_roots(t, &zero_stable, &on_circle));
    out->a_stable = out->l_stable = TOLD_NO;
    if (!zero_stable) return 0;
    TRY(search_angle(t, out->colour, &out->alpha, &out->r_infinity));
    if (isnan(out->alpha)) {
        out->a_stable = out->l_stable = TOLD_NOT;
        out->why = "its history is too long for a search";
    }
    if (out->alpha == 90) {
        out->a_stable = TOLD_YES;
        out->l_stable = out->r_infinity == 0 ? TOLD_YES : TOLD_NO;
    }
    return 0;
}

/* ---- one step -------------------------------------------------------------------------------------- */

/* Tells whether |R| <= 1 on the rays whose angle with the negative axis has this cosine. Returns 1 where roots are not told
 * from each other. */
static int ray_holds(const Ratio *r, const mpq_t cosine, int *holds)
{
    SCOPED(poly_free) Poly f = {0};
    double end;
    TRY(ratio_excess(r, cosine, &f));
    TRY(poly_interval(&f, &end));
    *holds = end == INFINITY;
    return 0;
}

/* Finds the largest cosine of the angle between a pole and the negative axis, -1 where there is none. */
static int pole_cosine(const Poly *Q, double *cosine)
{
    SCOPED(memory_drop) double *root = memory_new(2 * (size_t)Q->degree, sizeof *root);
    *cosine = -1;
    if (Q->degree < 1) return 0;
    if (!root) return ERR_MEMORY;
    TRY(poly_zeros(Q, root));
    for (int i = 0; i < Q->degree; i++)
        *cosine = fmax(*cosine, -root[2 * i] / hypot(root[2 * i], root[2 * i + 1]));
    return 0;
}

/* Halves the interval of cosines; near a pole no ray holds, so that the poles' digits do not enter. */
static int find_sector(const Ratio *r, double *alpha)
{
    enum { HALVINGS = 40 };
    RATIONALS(
        low, high,
        middle); /* cosines: of the widest angle that does not hold, of the narrowest that does */
    double pole;
    int holds;
    *alpha = 0;
    mpq_set_ui(high, 1, 1);
    TRY(pole_cosine(&r->Q, &pole));
    TRY(ray_holds(r, high, &holds));
    if (!holds || at_infinity(r) > 1) return 0;
    for (int i = 0; i < HALVINGS; i++) {
        mpq_add(middle, low, high);
        mpq_div_2exp(middle, middle, 1);
        holds = mpq_get_d(middle) > pole;
        if (holds) TRY(ray_holds(r, middle, &holds));
        mpq_set(holds ? high : low, middle);
    }
    *alpha = acos(mpq_get_d(high)) / acos(0) * 90;
    return 0;
}

static int find(const Ratio *r, Stiff *out)
{
    int apart, axis;
    RATIONAL(cosine);
    TRY(poles_apart(&r->Q, &apart));
    TRY(ray_holds(r, cosine, &axis));
    out->a_stable = apart && axis ? TOLD_YES : TOLD_NO;
    out->r_infinity = at_infinity(r);
    out->l_stable = out->a_stable == TOLD_YES && out->r_infinity == 0 ? TOLD_YES : TOLD_NO;
    out->alpha = 90;
    int code = out->a_stable == TOLD_YES ? 0 : find_sector(r, &out->alpha);
    if (code != 0) out->alpha = NAN;
    return code;
}

static int find_one_step(const Table *t, Stiff *out)
{
    SCOPED(ratio_free) Ratio r = {0};
    int told;
    TRY(ratio_new(t, out->colour, &r, &told));
    if (!told)
        out->why = "more than 64 points, or 24 that need one another, are too many for R = P / Q";
    int code = told ? find(&r, out) : 0;
    if (code > 0) out->why = "roots of |P|^2 - |Q|^2 are too near to be told from each other";
    return code < 0 ? code : 0;
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
    SCOPED(ratio_free) Ratio E = {0};
    double largest = 0, weights = 0;
    int told;
    for (size_t i = 0; i < estimate->update.terms; i++)
        weights += fabs(table_double(estimate->update.term[i].c));
    TRY(ratio_of(estimate, -1, &E, &told));
    if (!told) return 0;
    for (int i = 0; i <= E.P.degree; i++) largest = fmax(largest, fabs(table_double(E.P.c[i])));
    if (largest <= zero_share * weights) out->kind = BLIND_LINEAR;
    return 0;
}

static int sees_no_stiffness(const Table *t, const Table *estimate, int colour, Blind *out)
{
    SCOPED(ratio_free) Ratio E = {0}, R = {0};
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
    *out = (Stiff){
        .a_stable = TOLD_NOT, .l_stable = TOLD_NOT, .r_infinity = NAN, .alpha = NAN, .colour = -1};
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
