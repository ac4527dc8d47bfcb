/* dispersion.c: dispersion and dissipation of a table: its principal factor on y' = i omega y as a power series.
 *
 * With nu = omega h and the same share of i nu in every colour, the exact solution is multiplied by exp(i theta nu) in
 * a step (theta = 1; for words it is the mean weight of the field) and the scheme's by zeta(i nu), the factor that is 1
 * at 0.
 *
 *     theta nu - arg zeta(i nu) = c nu^(q+1) + ...    dispersion of order q
 *     1 - |zeta(i nu)|          = d nu^(r+1) + ...    dissipation of order r
 *
 * Source: van der Houwen, Sommeijer 1987, "Explicit Runge-Kutta (-Nystrom) methods with reduced phase errors for
 * computing oscillating solutions", section 2.
 *
 * The coefficients of zeta(z), of w^j = zeta^-j, and of every slope and point are found together, one power of z after
 * another: a slope K_e = z / colours Y_point(e) needs smaller powers alone, and the update gives the new coefficient x
 * of zeta by x = r - x sum j v_j, where r is its value for x = 0. So one-step schemes and those with history share one
 * recursion, exact in rationals. */
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/ratio.h"
#include "ode/theory/theory.h"

enum { TERMS_MAX = 64, TERMS_HISTORY = 24 }; /* powers looked at, at most */

typedef struct {
    const Table *t;
    int terms, depth;
    mpq_t *zeta, *log;    /* (terms + 1) */
    mpq_t *w, *K, *Y;     /* (depth + 1), (evals), (points) times (terms + 1) */
    mpq_t share, descent; /* 1 / colours; 1 + sum j v_j */
    mpq_t *list;          /* all of them */
    double *off; /* (terms + 1): what rounding may make of log's; NULL: known by theory_is_zero */
    int neutral; /* |zeta| = 1 on the imaginary axis, as R = P / Q tells */
} Principal;

static size_t principal_size(const Principal *p)
{
    return (3 + (size_t)p->depth + p->t->evals + p->t->points) * ((size_t)p->terms + 1);
}

static void principal_free(Principal *p)
{
    rationals_free(p->list);
    memory_free(p->off);
    mpq_clears(p->share, p->descent, NULL);
}

static int principal_new(Principal *p, const Table *t)
{
    *p = (Principal){.t = t, .depth = t->past_y > t->past_k ? t->past_y : t->past_k};
    /* R = P / Q has degrees of `points` at most, so |R(i nu)|^2 - 1 is a polynomial of no more powers than this over
     * |Q|^2. If all of them vanish it is 0. */
    size_t powers = 2 * t->points + 2;
    p->terms = p->depth || table_exponential(t) ? TERMS_HISTORY
               : powers < TERMS_MAX             ? (int)powers
                                                : TERMS_MAX;
    size_t n = (size_t)p->terms + 1;
    mpq_inits(p->share, p->descent, NULL);
    if (!(p->list = rationals_new(principal_size(p)))) return ERR_MEMORY;
    mpq_set_ui(p->share, 1, (unsigned)t->colours);
    mpq_set_ui(p->descent, 1, 1);
    p->zeta = p->list;
    p->log = p->zeta + n;
    p->w = p->log + n;
    p->K = p->w + ((size_t)p->depth + 1) * n;
    p->Y = p->K + t->evals * n;
    return 0;
}

/* Computes out = sum over i of a[i] b[n - i]. */
static void convolve(mpq_t *a, mpq_t *b, int n, mpq_t out)
{
    mpq_set_ui(out, 0, 1);
    for (int i = 0; i <= n; i++) {
        rational_add(out, a[i], b[n - i]);
    }
}

/* Computes out, coefficient n of a row; those of slopes and of w are known. */
static void row_coefficient(const Principal *p, const Row *r, int n, mpq_t out)
{
    size_t size = (size_t)p->terms + 1;
    RATIONAL(x);
    mpq_set_ui(out, 0, 1);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        mpq_t *w = p->w + (size_t)s->past * size;
        if (s->eval == TABLE_STATE)
            mpq_set(x, w[n]);
        else if (s->past == 0)
            mpq_set(x, p->K[(size_t)s->eval * size + (size_t)n]);
        else
            convolve(w, p->K + (size_t)s->eval * size, n, x);
        rational_add(out, x, s->c);
    }
}

/* Computes coefficient n of w^j while coefficient n of zeta is still 0. */
static void powers(Principal *p, int n)
{
    size_t size = (size_t)p->terms + 1;
    mpq_set_ui(p->w[n], n == 0, 1);
    for (int j = 1; j <= p->depth; j++) {
        mpq_t *one = p->w + size, *w = p->w + (size_t)j * size;
        if (j == 1) { /* zeta w = 1 */
            mpq_set_ui(w[n], 0, 1);
            convolve(p->zeta, one, n, w[n]);
            mpq_neg(w[n], w[n]);
        } else {
            convolve(w - size, one, n, w[n]);
        }
        if (n == 0) mpq_set_ui(w[n], 1, 1);
    }
}

/* Computes log zeta by n l_n = n zeta_n - sum over 0 < j < n of j l_j zeta_(n-j). */
static void logarithm(Principal *p, int n)
{
    RATIONALS(x, j);
    mpq_set(p->log[n], p->zeta[n]);
    for (int i = 1; i < n; i++) {
        mpq_set_si(j, i, (unsigned)n);
        mpq_canonicalize(j);
        mpq_mul(x, p->log[i], p->zeta[n - i]);
        rational_subtract(p->log[n], x, j);
    }
}

/* Computes K[n] of a function of A from its row's coefficients Y up to n. The factor is the function at scale n_A z /
 * colours, n_A the number of fields in A. */
static void phi_coefficient(const Principal *p, const Point *at, mpq_t *Y, int n, mpq_t K)
{
    unsigned fields = (unsigned)__builtin_popcount((unsigned)point_fields(p->t, at));
    RATIONALS(factor, x);
    mpq_set_ui(x, fields, 1);
    mpq_mul(x, x, p->share);
    mpq_mul(x, x, at->scale);
    mpq_set_ui(factor, 1, 1);
    mpq_set_ui(K, 0, 1);
    for (int j = 0; j <= n; j++) {
        if (j > 0) mpq_mul(factor, factor, x);
        point_coefficient(at, (unsigned)j, factor);
        rational_add(K, factor, Y[n - j]);
    }
}

/* Computes everything of the power n of z; coefficients below it are known. */
static void next_power(Principal *p, int n)
{
    const Table *t = p->t;
    size_t size = (size_t)p->terms + 1;
    RATIONAL(x);
    powers(p, n);
    for (size_t e = 0; e < t->evals && n > 0; e++) {
        const Point *at = eval_point(t, (int)e);
        mpq_t *Y = p->Y + (size_t)t->eval[e].point * size;
        if (at->phi) {
            row_coefficient(p, &at->row, n, Y[n]);
            phi_coefficient(p, at, Y, n, p->K[e * size + (size_t)n]);
        } else {
            mpq_mul(p->K[e * size + (size_t)n], p->share, Y[n - 1]);
        }
    }
    row_coefficient(p, &t->update, n, x);
    if (n > 0) mpq_div(x, x, p->descent);
    mpq_set(p->zeta[n], x);
    for (int j = 1; j <= p->depth && n > 0; j++) {
        mpq_ptr w = p->w[(size_t)j * size + (size_t)n];
        mpq_set_si(x, j, 1);
        rational_subtract(w, x, p->zeta[n]);
    }
    for (size_t i = 0; i < t->points; i++)
        row_coefficient(p, &t->point[i].row, n, p->Y[i * size + (size_t)n]);
    if (n > 0) logarithm(p, n);
}

/* ---- rounding ------------------------------------------------------------------------------------------- */

/* Adds to off what those of a polynomial make of its logarithm: d log P = dP / P. */
static void add_off(const Ratio *r, const fmpq_poly_t P, const double *by, int terms,
                    double *inverse, double *off)
{
    for (int n = 0; n <= terms; n++) {
        inverse[n] = n == 0;
        for (int j = 1; j <= n && j <= poly_degree(P); j++)
            inverse[n] -= poly_number(P, j) * inverse[n - j];
        inverse[n] /= poly_number(P, 0);
        for (int j = 0; j <= n && j <= (int)r->points; j++) off[n] += by[j] * fabs(inverse[n - j]);
    }
}

/* Reads off R, of a one-step table, what rounding is worth, and whether |R| = 1 on the axis. */
static int read_ratio(Principal *p)
{
    RATIO(r);
    POLY(f);
    RATIONAL(axis);
    int told = !p->depth && !table_exponential(p->t);
    if (told) TRY(ratio_new(p->t, -1, &r, &told));
    if (!told) return 0;
    TRY(ratio_excess(&r, axis, f));
    p->neutral = poly_degree(f) < 0;
    if (p->t->exact || poly_number(r.P, 0) == 0) return 0;
    SCOPED(memory_drop) double *inverse = memory_new((size_t)p->terms + 1, sizeof *inverse);
    if (!(p->off = memory_new((size_t)p->terms + 1, sizeof *p->off)) || !inverse) return ERR_MEMORY;
    add_off(&r, r.P, r.p_off, p->terms, inverse, p->off);
    add_off(&r, r.Q, r.q_off, p->terms, inverse, p->off);
    return 0;
}

/* ---- results ------------------------------------------------------------------------------------------ */

/* Computes theta, the power that the exact solution has at z: the mean of the field's weights. */
static void exact_power(const Table *t, mpq_t theta)
{
    mpq_set_ui(theta, 0, 1);
    for (int op = 0; op < t->colours; op++) mpq_add(theta, theta, t->weight[op]);
    rational_divide(theta, (unsigned)t->colours);
}

/* Records l, z^n's coefficient in log zeta - theta z, once: odd n the phase, even the modulus. off: as in Principal. */
static void tell(const Table *t, const double *off, int n, const mpq_t l, Phase *out)
{
    double *order = n % 2 ? &out->dispersion_order : &out->dissipation_order;
    mpq_ptr constant = n % 2 ? out->dispersion : out->dissipation;
    int zero = off ? fabs(mpq_get_d(l)) <= off[n] : theory_is_zero(t, l);
    if (!isnan(*order) || zero) return;
    *order = n - 1;
    mpq_set(constant, l);
    if (n / 2 % 2 == 0) mpq_neg(constant, constant); /* -(-1)^(n/2): i^n and exact less numerical */
}

static int find_terms(Principal *p, const mpq_t theta, Phase *out)
{
    const Table *t = p->t;
    RATIONAL(x);
    next_power(p, 0);
    mpq_sub(x, p->zeta[0], rational_one);
    int told = theory_is_zero(t, x) && !theory_is_zero(t, p->descent);
    mpq_set_ui(p->zeta[0], 1, 1);
    for (int n = 1; told && n <= p->terms; n++) {
        if (!isnan(out->dispersion_order) && !isnan(out->dissipation_order)) break;
        next_power(p, n);
        mpq_set(x, p->log[n]);
        if (n == 1) mpq_sub(x, x, theta);
        tell(t, p->off, n, x, out);
    }
    return told;
}

/* Finds whether |zeta(i nu)| = 1 for every nu. One step: the polynomial |P|^2 - |Q|^2 is 0. Linear
 * multistep: the scheme is symmetric, so that 1 / zeta(-z) is a factor too, and the principal one, which is 1 at 0. */
static int find_neutral(const Principal *p, Phase *out)
{
    const Table *t = p->t;
    Structure s;
    int neutral = p->neutral;
    if (p->depth) {
        TRY(structure_find(t, 1, &s));
        neutral = s.symmetric == TOLD_YES;
        structure_free(&s);
    }
    if (neutral) out->dissipation_order = INFINITY;
    return 0;
}

static int find_stages(const Table *t, const mpq_t theta, Phase *out)
{
    SCOPED(principal_free) Principal p;
    RATIONAL(x);
    TRY(principal_new(&p, t));
    TRY(read_ratio(&p));
    for (size_t i = 0; i < t->update.terms; i++) {
        const Term *s = &t->update.term[i];
        if (s->eval != TABLE_STATE) continue;
        mpq_set_si(x, s->past, 1);
        rational_add(p.descent, x, s->c);
    }
    int told = find_terms(&p, theta, out);
    return told && isnan(out->dissipation_order) ? find_neutral(&p, out) : 0;
}

/* Finds the errors of flows: zeta = exp(z sum c / colours). */
static void find_flows(const Table *t, const mpq_t theta, Phase *out)
{
    RATIONAL(sum);
    for (size_t i = 0; i < t->flows; i++) mpq_add(sum, sum, t->flow[i].c);
    rational_divide(sum, (unsigned)t->colours);
    mpq_sub(sum, sum, theta);
    tell(t, NULL, 1, sum, out);
    if (isnan(out->dispersion_order)) out->dispersion_order = INFINITY;
    out->dissipation_order = INFINITY;
}

int phase_find(const Table *t, Phase *out)
{
    RATIONAL(theta);
    *out = (Phase){NAN, NAN, {{{0}}}, {{{0}}}};
    mpq_inits(out->dispersion, out->dissipation, NULL);
    exact_power(t, theta);
    if (table_methods(t) || t->carries) return 0;
    if (t->flows) return find_flows(t, theta, out), 0;
    int code = find_stages(t, theta, out);
    if (code != 0) phase_free(out);
    return code;
}

void phase_free(Phase *p)
{
    mpq_clears(p->dispersion, p->dissipation, NULL);
}
