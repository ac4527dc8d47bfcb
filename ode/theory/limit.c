/* limit.c: how far the stability interval reaches from 0 along an axis.
 *
 * A one-step scheme has R(z) = P(z) / Q(z) with rational coefficients, Q = 1 for explicit stages (ratio.c), and
 * |R| <= 1 is decided exactly: on the negative axis by P - Q and -P - Q, on the imaginary one by |P|^2 - |Q|^2, a
 * polynomial in x^2 (poly.c). Schemes with history whose coefficients are fractions are decided by where a factor meets the
 * unit circle (locus.c). Others are searched in quadruple precision, where a double root on the unit
 * circle still leaves 17 digits. The largest, and exponential schemes, which have no polynomial,
 * are searched in double. With implicit or exponential stages a limit that is not found up to 2^20 times the size at which |R|
 * begins to move counts as none. */
typedef float Quad __attribute__((
    mode(TF))); /* the type of IEEE 754's binary128, under one name in gcc and clang */
typedef _Complex float QuadComplex __attribute__((mode(TC)));
#ifdef __clang__ /* the C library has these, and declares them for gcc alone */
Quad cabsf128(QuadComplex), cosf128(Quad), sinf128(Quad), atanf128(Quad);
QuadComplex cexpf128(QuadComplex);
#endif
#ifdef __wasm__ /* where `long double` is that type, and musl's cexpl no better than cexp */
#define cabsf128 cabsl
#define cosf128 cosl
#define sinf128 sinl
#define atanf128 atanl
#define cexpf128 exp_quad
static QuadComplex exp_quad(QuadComplex z);
#endif
#define AMP_REAL Quad
#define AMP_COMPLEX QuadComplex
#define AMP_EPSILON 0x1p-112
#define AMP_ABS cabsf128
#define AMP_EXP cexpf128
#define AMP_COS cosf128
#define AMP_SIN sinf128
#define AMP_ATAN atanf128
#include <stdlib.h>

#include <flint/fmpz_vec.h>

#include "kernels/base/tick.h"
#include "ode/theory/amplify.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/locus.h"
#include "ode/theory/ratio.h"

#ifdef __wasm__
/* e^x = 2^n e^r, |r| <= log(2) / 2, of whose series 30 terms are below 2^-160. */
static QuadComplex exp_quad(QuadComplex z)
{
    Quad x = __real__ z, y = __imag__ z, n = rintl(x * 0x1.71547652b82fe1777d0ffda0d23ap0L),
         sum = 1;
    Quad r = x - n * 0x1.62e42fefa39ef35793c7673007e6p-1L;
    for (int k = 30; k > 0; k--) sum = 1 + sum * r / k;
    sum = scalbnl(sum, (int)fmaxl(-20000, fminl(20000, n)));
    return sum * cosl(y) + sum * sinl(y) * (QuadComplex)I;
}
#endif

enum { AXIS_REAL, AXIS_IMAG };
static const double bound = 1 << 20; /* in scales, of exponential and implicit schemes */

/* ---- one-step schemes, exactly ----------------------------------------------------------------------- */

static const double exact_work = 2e7; /* degree^2 times bits: about a second */

static double poly_work(const fmpq_poly_t p)
{
    slong bits = _fmpz_vec_max_bits(p->coeffs, fmpq_poly_length(p));
    return (double)((slong)fmpz_bits(fmpq_poly_denref(p)) + labs(bits)) * poly_degree(p) *
           poly_degree(p);
}

/* Finds the end with sign * P - Q <= 0 at z = -x: sign * R <= 1, as Q > 0 before the first pole. */
static int real_side(const Ratio *r, int sign, double *end)
{
    POLY(f);
    ratio_below(r, sign, f);
    return poly_interval(f, 0, end);
}

/* Finds the limits exactly; *done = 0: history, an exponential stage, or too much work. */
static int exact_limits(const Table *t, double *real, double *imag, int *done)
{
    RATIO(r);
    POLY(f);
    RATIONAL(cosine);
    *done = 0;
    if (table_past(t) || t->points > 128 || table_exponential(t)) return 0;
    TRY(ratio_new(t, -1, &r, done));
    *done = *done && poly_work(r.P) + poly_work(r.Q) <= exact_work;
    if (!*done) return 0;
    double side[2];
    for (int k = 0; k < 2; k++) TRY(real_side(&r, k ? -1 : 1, &side[k]));
    *real = fmin(side[0], side[1]);
    TRY(ratio_excess(&r, cosine, f));
    return poly_interval(f, 1, imag);
}

/* ---- the others, by search ---------------------------------------------------------------------------- */

/* The search along an axis: |zeta| - 1 at distance x, and the size at which P begins to move. */
typedef struct {
    Amplifier a;
    int axis, colours;
    Stability *fast; /* used in its place, in double precision; or NULL */
    Quad small;      /* |zeta| - 1 that is surely not rounding of simple roots */
    Quad slack;      /* the same with double roots */
    Quad scale;
    double bound; /* in scales; INFINITY: there is a limit */
} Axis;

static void along(Axis *s, Quad x)
{
    Quad share = x / s->colours;
    QuadComplex z = s->axis == AXIS_REAL ? -share : share * (QuadComplex)I;
    amp_polynomial(&s->a, (QuadComplex[COLOURS]){z, z, z});
}

static Quad excess(Axis *s, Quad x)
{
    tick();
    if (s->fast) {
        double z[COLOURS][2] = {{0}}, share = (double)x / s->colours;
        for (int op = 0; op < s->colours; op++)
            z[op][s->axis == AXIS_IMAG] = s->axis == AXIS_IMAG ? share : -share;
        return stability_at(s->fast, (const double(*)[2])z) - 1;
    }
    along(s, x);
    return amp_radius(&s->a) - 1;
}

/* Returns the max over coefficients of |P(w; x) - P(w; 0)|; p (degree + 1): those at 0. */
static Quad moved(Axis *s, const QuadComplex *p, Quad x)
{
    Quad most = 0;
    along(s, x);
    for (size_t i = 0; i <= s->a.degree; i++) {
        Quad m = cabsf128(s->a.p[i] - p[i]);
        if (m > most) most = m;
    }
    return most;
}

/* Does the same for |zeta| alone, where that is all there is. */
static Quad moved_fast(Axis *s, Quad x)
{
    Quad m = excess(s, x) - excess(s, 0);
    return m < 0 ? -m : m;
}

/* Finds the x = 2^k at which P has moved by about 1/32; 0: P does not depend on z. */
static int find_scale(Axis *s)
{
    static const Quad far = (Quad)0x1p-5;
    Quad x = 1;
    size_t n = s->fast ? 0 : s->a.degree + 1;
    SCOPED(memory_drop) QuadComplex *p = memory_new(n, sizeof *p);
    if (!p) return ERR_MEMORY;
    if (!s->fast) along(s, 0);
    for (size_t i = 0; i < n; i++) p[i] = s->a.p[i];
    s->scale = 0;
    if ((s->fast ? moved_fast(s, 1) : moved(s, p, 1)) > 64 * (s->fast ? 0x1p-53 : AMP_EPSILON)) {
        while ((s->fast ? moved_fast(s, x) : moved(s, p, x)) > far) x /= 2;
        while (x < s->bound && (s->fast ? moved_fast(s, x) : moved(s, p, x)) <= far) x *= 2;
        s->scale = x < s->bound ? x : 0;
    }
    return 0;
}

/* Returns whether the scheme is unstable arbitrarily near 0: where growth is first seen from far
 * below the scale up, |zeta| - 1 is c x^m, m whole; beyond a limit it is not. */
static int from_zero(Axis *s)
{
    static const double deepest = 0x1p-44;
    Quad x = s->scale * (Quad)deepest, e[3];
    while (x < s->scale / 8 && !(excess(s, x) > s->small)) x *= 2;
    for (int i = 0; i < 3; i++) e[i] = excess(s, x * (Quad)(1 << i));
    double low = log2((double)(e[1] / e[0])), high = log2((double)(e[2] / e[1]));
    return e[0] > s->small && low > 0.9 && fabs(high - low) < 0.3 && fabs(low - round(low)) < 0.2;
}

/* Finds where |zeta| - 1 passes the slack, less what the slack is worth at the slope there. */
static Quad bisect(Axis *s, Quad low, Quad high)
{
    Quad near = (Quad)0x1p-30;
    for (int i = 0; i < 100 && (high - low) > high * (Quad)0x1p-60; i++) {
        Quad middle = (low + high) / 2;
        if (excess(s, middle) <= s->slack)
            low = middle;
        else
            high = middle;
    }
    Quad slope = (excess(s, low * (1 + near)) - s->slack) / (low * near);
    Quad early = s->slack / slope;
    return early > 0 && early < low * near ? low - early : low;
}

/* Steps up from far below the scale; P grows without bound but for implicit and phi stages. */
static double search(Axis *s)
{
    Quad low = 0, high = s->scale * (Quad)0x1p-20;
    if (s->scale == 0) return INFINITY;
    if (from_zero(s)) return 0;
    while (excess(s, high) <= s->slack) {
        if (high > s->bound * s->scale) return INFINITY;
        low = high;
        high += high < s->scale / 16 ? high : high < s->scale ? s->scale / 16 : high / 64;
    }
    return (double)bisect(s, low, high);
}

/* A multiplication takes 0.3 us in quadruple precision, 1 ns in double; a limit some 300 values. */
enum { QUAD_WORK = 100000, FAST_WORK = 10000000 };

/* Opens the axis in quadruple precision where that is bearable; else in double, which costs nothing
 * for a one-step scheme and half the digits at a double root for others; else *told is 0. */
static int open_axis(Axis *s, const Table *t, int *told)
{
    int code = stability_new(t, &s->fast), one_step = !table_past(t);
    *told = 0;
    if (code == ERR_INPUT) return 0; /* too many factors */
    if (code != 0) return code;
    size_t work = stability_work(s->fast);
    *told = work <= FAST_WORK;
    s->small = t->exact && !one_step ? 1e-9 : 1e-12;
    s->slack = one_step ? 1e-12 : 1e-7;
    if (one_step || work > QUAD_WORK) return 0;
    stability_free(s->fast);
    s->fast = NULL;
    s->small = t->exact ? (Quad)1e-28 : (Quad)1e-13;
    s->slack = t->exact ? (Quad)1e-15 : (Quad)1e-12;
    return amp_new(&s->a, t);
}

static void axis_free(Axis *s)
{
    stability_free(s->fast);
    amp_free(&s->a);
}

static int searched_limit(const Table *t, int axis, double *end)
{
    int told;
    SCOPED(axis_free)
    Axis s = {.axis = axis,
              .colours = t->colours,
              .bound = t->flows || table_phi(t) || table_implicit(t) ? bound : INFINITY};
    *end = NAN;
    TRY(open_axis(&s, t, &told));
    if (!told) return 0;
    TRY(find_scale(&s));
    *end = search(&s);
    return 0;
}

/* Finds the limits of flows: |R| = exp(re of sum of c z), so the sign of the sum decides. */
static void flow_limits(const Table *t, double *real, double *imag)
{
    RATIONAL(sum);
    for (size_t i = 0; i < t->flows; i++) mpq_add(sum, sum, t->flow[i].c);
    *real = mpq_sgn(sum) < 0 ? 0 : INFINITY;
    *imag = INFINITY;
}

int stability_limits(const Table *t, double *real, double *imag, int *proved)
{
    int zero_stable, on_circle, done = 0, found = 0;
    if (!proved) proved = &found;
    *real = *imag = 0;
    *proved = t->exact;
    TRY(stability_roots(t, &zero_stable, &on_circle));
    if (!zero_stable) return 0;
    if (t->flows && !table_methods(t)) {
        flow_limits(t, real, imag);
        *proved = 1;
    } else {
        if (!t->flows) TRY(exact_limits(t, real, imag, &done));
        if (!done) TRY(locus_limits(t, real, imag, &done));
        *proved &= done;
        if (!done) TRY(searched_limit(t, AXIS_REAL, real));
        if (!done) TRY(searched_limit(t, AXIS_IMAG, imag));
    }
    *real = *real == 0 ? 0 : -*real;
    return 0;
}
