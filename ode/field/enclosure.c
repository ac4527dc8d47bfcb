/* enclosure.c: a solution of y' = f(y, t) with a proven bound of its error, by Taylor series in ball arithmetic.
 *
 * A step begins at a number y_0, not a ball, and at t_0. Where in complex balls R |f_i(Y)| <= w_i on Y_i = {|y - y_0i| <= w_i} and |t - t_0| <= R, the
 * solution through y_0 is analytic for |t - t_0| < R and stays in Y (Picard), so that its Taylor coefficients are at most w_i / R^k
 * (Cauchy), and what K terms leave of it at t_0 + h is at most w_i (h/R)^K / (1 - h/R). The terms are worked out in balls, which
 * hold their rounding. The next step begins at the middle of the ball that comes out; its radii, eps in 2-norm, are the step's own error.
 *
 * The solution that is looked for was at most e away at t_0. It then is at most exp(mu h) e away from the one through y_0, where mu is
 * a bound of the logarithmic norm of f', the largest eigenvalue of its symmetric part, over the step's tube and E around it, if that is at
 * most E (Dahlquist 1959; Hairer, Norsett, Wanner 1993, I.10). So e' = exp(mu h) e + eps: no ball is wrapped into another, and stiff
 * components shrink. The norm is that of weights W_i x_i, which balance f' (Osborne 1960): near a collision velocities change much more
 * than positions. Where they change, they are scaled so that none grows, and e holds in the new norm. Bits are added until the end is known.
 *
 * Sources: Moore 1966; Johansson 2017 (Arb). */
#include "ode/theory/poly.h"

#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/tick.h"
#include "ode/field/tape.h"

#if __has_include(<flint/arb_mat.h>)
#include <flint/arb_mat.h>
#else
#include <arb_mat.h>
#endif

enum { ROUGH = 64 }; /* bits of bounds */
enum { FEWEST_BITS = 128, MOST_BITS = 2048, UNKNOWNS_MOST = 64 };
enum { SHARE_BITS = 2 };              /* h = R / 2^2 */
static const double work_most = 1e10; /* products of coefficients in all: some minutes */
static const double small = 1e-6,
                    shortest = 1e-12; /* e, and R of the whole, where no more bits help */
static const double wanted = 1e-14;   /* e, relative to the largest coordinate */

/* Why a solution is lost; the first is cured by more bits. */
static const char growing[] = "the bound of its error grows too fast (it is chaotic or stiff)",
                  long_run[] = "it takes too many steps (it is chaotic or stiff)",
                  rough[] = "no step is short enough (it is not smooth, or has no end)";

typedef struct {
    const Tape *t;
    slong bits, terms;
    arb_ptr series, weighted; /* (count, terms): coefficients of each entry; times their number */
    acb_ptr value;            /* (count) */
    arb_ptr slope;            /* (count, N) */
    acb_ptr Y;                /* (N) */
    double *W;                /* (2, N): weights of the norm, powers of 2; scratch */
    arb_ptr y, w;             /* (N): the middle; radii of Y */
    arb_t now, e, R;
    double end, work;
    const char *lost; /* why a step failed, or NULL */
} Enclosure;

/* ---- one value of each entry, in complex balls --------------------------------------------------------- */

/* Computes an entry from those before; out of the right half plane roots, logarithms and powers are not analytic everywhere, and no
 * number comes out. */
static void evaluate(const Enclosure *s, const Entry *n, const acb_t time, acb_ptr v, acb_t out)
{
    acb_ptr a = v + n->a, b = v + n->b;
    int right = arb_is_positive(acb_realref(a));
    switch (n->code) {
    case TAPE_NUMBER: acb_set_d(out, n->value); return;
    case TAPE_STATE: acb_set(out, s->Y + n->a); return;
    case TAPE_TIME: acb_set(out, time); return;
    case TAPE_ADD: acb_add(out, a, b, ROUGH); return;
    case TAPE_SUB: acb_sub(out, a, b, ROUGH); return;
    case TAPE_MUL: acb_mul(out, a, b, ROUGH); return;
    case TAPE_DIV: acb_div(out, a, b, ROUGH); return;
    case TAPE_NEG: acb_neg(out, a); return;
    case TAPE_EXP: acb_exp(out, a, ROUGH); return;
    case TAPE_SIN: acb_sin(out, a, ROUGH); return;
    case TAPE_COS: acb_cos(out, a, ROUGH); return;
    case TAPE_POW: acb_pow(out, a, b, ROUGH); break;
    case TAPE_SQRT: acb_sqrt(out, a, ROUGH); break;
    case TAPE_LOG: acb_log(out, a, ROUGH); break;
    case TAPE_ABS: arb_is_negative(acb_realref(a)) ? acb_neg(out, a) : acb_set(out, a); break;
    default: acb_set_si(out, right); break;
    }
    int sided = n->code == TAPE_ABS || n->code == TAPE_STEP;
    if (!right && !(sided && arb_is_negative(acb_realref(a)))) acb_indeterminate(out);
}

static void evaluate_all(const Enclosure *s, const acb_t time)
{
    for (int k = 0; k < s->t->count; k++) evaluate(s, &s->t->node[k], time, s->value, s->value + k);
}

/* ---- Taylor coefficients ------------------------------------------------------------------------------- */

/* Returns coefficient k of an entry. */
static arb_ptr at(const Enclosure *s, int entry, slong k)
{
    return s->series + (slong)entry * s->terms + k;
}

/* Returns i times coefficient i of an entry, i = k. */
static arb_ptr weighted(const Enclosure *s, int entry, slong k)
{
    return s->weighted + (slong)entry * s->terms + k;
}

/* Computes the sum over i = 1 .. last of i x_i z_(k - i). */
static void sum_weighted(const Enclosure *s, int x, int z, slong last, slong k, arb_t out)
{
    arb_dot(out, NULL, 0, weighted(s, x, 1), 1, at(s, z, k - 1), -1, last, s->bits);
}

/* Computes a^e's coefficient k >= 1: the sum over i = 1 .. k of (i (e + 1) - k) a_i c_(k-i), over k a_0 (Euler). */
static void next_power(const Enclosure *s, const Entry *n, int c, slong k, arb_t out)
{
    BALL(more);
    BALL(sum);
    slong p = s->bits;
    arb_add_si(more, at(s, n->b, 0), 1, p);
    sum_weighted(s, n->a, c, k, k, sum);
    arb_mul(sum, sum, more, p);
    arb_div_si(sum, sum, k, p);
    arb_dot(out, sum, 1, at(s, n->a, 1), 1, at(s, c, k - 1), -1, k, p);
    arb_div(out, out, at(s, n->a, 0), p);
}

/* Computes coefficient k >= 1 of entry c, which is 0 before. */
static void next(const Enclosure *s, int c, slong k)
{
    const Entry *n = &s->t->node[c];
    arb_ptr a = at(s, n->a, 0), b = at(s, n->b, 0), own = at(s, c, 0), out = own + k;
    slong p = s->bits;
    switch (n->code) {
    case TAPE_TIME: arb_set_si(out, k == 1); return;
    case TAPE_ADD: arb_add(out, a + k, b + k, p); return;
    case TAPE_SUB: arb_sub(out, a + k, b + k, p); return;
    case TAPE_NEG: arb_neg(out, a + k); return;
    case TAPE_ABS: arb_is_negative(a) ? arb_neg(out, a + k) : arb_set(out, a + k); return;
    case TAPE_MUL:
        if (s->t->node[n->b].still)
            arb_mul(out, a + k, b, p);
        else if (s->t->node[n->a].still)
            arb_mul(out, a, b + k, p);
        else
            arb_dot(out, NULL, 0, a, 1, b + k, -1, k + 1, p);
        return;
    case TAPE_DIV:
        if (s->t->node[n->b].still)
            arb_set(out, a + k);
        else
            arb_dot(out, a + k, 1, b + 1, 1, own + k - 1, -1, k, p);
        arb_div(out, out, b, p);
        return;
    case TAPE_SQRT:
        arb_dot(out, a + k, 1, own + 1, 1, own + k - 1, -1, k - 1, p);
        arb_div(out, out, own, p);
        arb_mul_2exp_si(out, out, -1);
        return;
    case TAPE_POW: next_power(s, n, c, k, out); return;
    case TAPE_EXP: sum_weighted(s, n->a, c, k, k, out); break;
    case TAPE_SIN: sum_weighted(s, n->a, c + 1, k, k, out); break;
    case TAPE_COS:
        sum_weighted(s, n->a, c - 1, k, k, out);
        arb_neg(out, out);
        break;
    case TAPE_LOG:
        sum_weighted(s, c, n->a, k - 1, k, out);
        arb_div_si(out, out, -k, p);
        arb_add(out, out, a + k, p);
        arb_div(out, out, a, p);
        return;
    default: return; /* numbers, steps; coordinates are there */
    }
    arb_div_si(out, out, k, p);
}

/* Computes coefficient 0 of entry c. */
static void first(const Enclosure *s, int c)
{
    const Entry *n = &s->t->node[c];
    arb_ptr a = at(s, n->a, 0), b = at(s, n->b, 0), out = at(s, c, 0);
    slong p = s->bits;
    switch (n->code) {
    case TAPE_NUMBER: arb_set_d(out, n->value); break;
    case TAPE_STATE: arb_set(out, s->y + n->a); break;
    case TAPE_TIME: arb_set(out, s->now); break;
    case TAPE_ADD: arb_add(out, a, b, p); break;
    case TAPE_SUB: arb_sub(out, a, b, p); break;
    case TAPE_MUL: arb_mul(out, a, b, p); break;
    case TAPE_DIV: arb_div(out, a, b, p); break;
    case TAPE_NEG: arb_neg(out, a); break;
    case TAPE_POW: arb_pow(out, a, b, p); break;
    case TAPE_SQRT: arb_sqrt(out, a, p); break;
    case TAPE_EXP: arb_exp(out, a, p); break;
    case TAPE_LOG: arb_log(out, a, p); break;
    case TAPE_SIN: arb_sin(out, a, p); break;
    case TAPE_COS: arb_cos(out, a, p); break;
    case TAPE_ABS: arb_abs(out, a); break;
    default: arb_set_si(out, arb_is_positive(a)); break;
    }
}

/* Computes all coefficients up to that of h^(terms - 1). */
static void expand(const Enclosure *s)
{
    const Tape *t = s->t;
    for (slong k = 0; k < s->terms; k++)
        for (int c = 0; c < t->count; c++) {
            const Entry *n = &t->node[c];
            arb_ptr out = at(s, c, k);
            arb_zero(out);
            if (k == 0)
                first(s, c);
            else if (n->code == TAPE_STATE)
                arb_div_si(out, at(s, t->rate[n->a], k - 1), k, s->bits);
            else if (!n->still)
                next(s, c, k);
            arb_mul_si(weighted(s, c, k), out, k, s->bits);
        }
}

/* ---- a step -------------------------------------------------------------------------------------------- */

/* Computes x / W_i. */
static void unweigh(const Enclosure *s, int i, const arb_t x, arb_t out)
{
    arb_set_d(out, 1 / s->W[i]);
    arb_mul(out, out, x, ROUGH);
}

/* Sets Y to the middle with radii share w_i + more / W_i, real or complex. */
static void set_box(Enclosure *s, int complex, const arb_t share, const arb_t more)
{
    BALL(r);
    BALL(x);
    for (int i = 0; i < s->t->N; i++) {
        arb_mul(r, s->w + i, share, ROUGH);
        unweigh(s, i, more, x);
        arb_add(r, r, x, ROUGH);
        acb_set_arb(s->Y + i, s->y + i);
        arb_add_error(acb_realref(s->Y + i), r);
        if (complex) arb_add_error(acb_imagref(s->Y + i), r);
    }
}

/* Tells whether R |f_i| <= w_i; if not, w is made a little larger than R |f|. */
static int is_contained(Enclosure *s, const arb_t one, const arb_t zero)
{
    acb_t time;
    BALL(x);
    int holds = 1;
    acb_init(time);
    set_box(s, 1, one, zero);
    acb_set_arb(time, s->now);
    arb_add_error(acb_realref(time), s->R);
    arb_add_error(acb_imagref(time), s->R);
    evaluate_all(s, time);
    for (int i = 0; i < s->t->N; i++) {
        acb_abs(x, s->value + s->t->rate[i], ROUGH);
        arb_mul(x, x, s->R, ROUGH);
        arb_get_ubound_arf(arb_midref(x), x, ROUGH);
        mag_zero(arb_radref(x));
        if (arb_le(x, s->w + i)) continue;
        holds = 0;
        arb_mul_si(x, x, 5, ROUGH);
        arb_mul_2exp_si(x, x, -2);
        arb_set(s->w + i, x);
        mag_zero(arb_radref(s->w + i));
    }
    acb_clear(time);
    return holds;
}

/* Finds a radius R of convergence, up to 5/4 of the last, and w. */
static int find_radius(Enclosure *s)
{
    enum { SHRINKINGS = 200, TURNS = 6 };
    BALL(one);
    BALL(zero);
    arb_one(one);
    arb_mul_si(s->R, s->R, 5, ROUGH);
    arb_mul_2exp_si(s->R, s->R, -2);
    for (int i = 0; i < SHRINKINGS; i++) {
        mag_zero(arb_radref(s->R));
        _arb_vec_zero(s->w, s->t->N);
        for (int turn = 0; turn < TURNS; turn++)
            if (is_contained(s, one, zero)) return 1;
        arb_mul_si(s->R, s->R, 3, ROUGH);
        arb_mul_2exp_si(s->R, s->R, -2);
    }
    return 0;
}

/* Computes the derivatives of entry c by its operands. */
static void partials(const Enclosure *s, int c, arb_t by_a, arb_t by_b)
{
    const Entry *n = &s->t->node[c];
    arb_srcptr a = acb_realref(s->value + n->a), b = acb_realref(s->value + n->b),
               out = acb_realref(s->value + c);
    arb_zero(by_b);
    arb_one(by_a);
    switch (n->code) {
    case TAPE_ADD: arb_one(by_b); break;
    case TAPE_SUB: arb_set_si(by_b, -1); break;
    case TAPE_MUL:
        arb_set(by_a, b);
        arb_set(by_b, a);
        break;
    case TAPE_DIV:
        arb_inv(by_a, b, ROUGH);
        arb_mul(by_b, out, by_a, ROUGH);
        arb_neg(by_b, by_b);
        break;
    case TAPE_NEG: arb_set_si(by_a, -1); break;
    case TAPE_POW:
        arb_mul(by_a, b, out, ROUGH);
        arb_div(by_a, by_a, a, ROUGH);
        break;
    case TAPE_SQRT:
        arb_inv(by_a, out, ROUGH);
        arb_mul_2exp_si(by_a, by_a, -1);
        break;
    case TAPE_EXP: arb_set(by_a, out); break;
    case TAPE_LOG: arb_inv(by_a, a, ROUGH); break;
    case TAPE_SIN: arb_cos(by_a, a, ROUGH); break;
    case TAPE_COS:
        arb_sin(by_a, a, ROUGH);
        arb_neg(by_a, by_a);
        break;
    case TAPE_ABS: arb_sgn(by_a, a); break;
    default: arb_is_finite(out) ? arb_zero(by_a) : arb_indeterminate(by_a); break; /* a jump */
    }
}

/* Computes each entry's derivative by the coordinates over Y, which was evaluated there. */
static void derive(const Enclosure *s)
{
    int N = s->t->N;
    BALL(by_a);
    BALL(by_b);
    for (int c = 0; c < s->t->count; c++) {
        const Entry *n = &s->t->node[c];
        arb_ptr out = s->slope + (slong)c * N;
        _arb_vec_zero(out, N);
        if (n->code == TAPE_STATE) arb_one(out + n->a);
        if (n->still || n->code <= TAPE_TIME) continue;
        partials(s, c, by_a, by_b);
        for (int i = 0; i < N; i++) {
            arb_srcptr a = s->slope + (slong)n->a * N + i, b = s->slope + (slong)n->b * N + i;
            if (!arb_is_zero(a)) arb_mul(out + i, a, by_a, ROUGH);
            if (n->code >= TAPE_ADD && n->code <= TAPE_DIV && !arb_is_zero(b))
                arb_addmul(out + i, b, by_b, ROUGH);
        }
    }
}

/* Returns the derivative of y_i' by y_j. */
static arb_ptr slope(const Enclosure *s, int i, int j)
{
    return s->slope + (slong)s->t->rate[i] * s->t->N + j;
}

/* Bounds the logarithmic norm of f' over Y with weights W: a number c for which c less its symmetric part is positive definite, as Cholesky's
 * factors in balls prove; the largest sum of a row's moduli is one. */
static void bound_norm(const Enclosure *s, const double *W, arb_t mu)
{
    enum { HALVINGS = 12 };
    int N = s->t->N;
    arb_mat_t S, L;
    BALL(low);
    BALL(middle);
    BALL(ratio);
    arb_mat_init(S, N, N);
    arb_mat_init(L, N, N);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            arb_ptr x = arb_mat_entry(S, i, j);
            arb_set_d(ratio, W[i] / W[j]);
            arb_mul(x, ratio, slope(s, i, j), ROUGH);
            arb_set_d(ratio, W[j] / W[i]);
            arb_addmul(x, ratio, slope(s, j, i), ROUGH);
            arb_mul_2exp_si(x, x, -1);
        }
    arb_mat_bound_inf_norm(arb_radref(mu), S);
    arf_set_mag(arb_midref(mu), arb_radref(mu));
    mag_zero(arb_radref(mu));
    arb_neg(low, mu);
    arb_mat_neg(S, S);
    for (int k = 0; k < HALVINGS && arb_is_finite(mu); k++) {
        arb_add(middle, low, mu, ROUGH);
        arb_mul_2exp_si(middle, middle, -1);
        mag_zero(arb_radref(middle));
        arb_mat_set(L, S);
        for (int i = 0; i < N; i++)
            arb_add(arb_mat_entry(L, i, i), arb_mat_entry(L, i, i), middle, ROUGH);
        arb_set(arb_mat_cho(L, L, ROUGH) ? mu : low, middle);
    }
    arb_mat_clear(S);
    arb_mat_clear(L);
}

/* Returns the root of the sum over j of what entry i of row (or column) i is in weights W, squared. */
static double off_diagonal(const Enclosure *s, const double *W, int i, int column)
{
    double sum = 0;
    for (int j = 0; j < s->t->N; j++) {
        arb_ptr x = column ? slope(s, j, i) : slope(s, i, j);
        double v = arf_get_d(arb_midref(x), ARF_RND_NEAR) * (column ? W[j] / W[i] : W[i] / W[j]);
        if (j != i) sum += v * v;
    }
    return sqrt(sum);
}

/* Takes other weights for the next step where they save more in 8 steps like this one, of mu h, than they cost. */
static void rebalance(Enclosure *s, const arb_t h, double mu)
{
    enum { SWEEPS = 4, STEPS = 8 };
    int N = s->t->N;
    double *W = s->W + N, up = 0, down = 0;
    BALL(other);
    for (int i = 0; i < N; i++) W[i] = s->W[i];
    for (int k = 0; k < SWEEPS * N; k++) {
        double row = off_diagonal(s, W, k % N, 0), column = off_diagonal(s, W, k % N, 1);
        if (row > 0 && column > 0) W[k % N] *= exp2(round(log2(column / row) / 2));
    }
    for (int i = 0; i < N; i++) up = fmax(up, W[i] / s->W[i]), down = fmax(down, s->W[i] / W[i]);
    if (!(up * down >= 4)) return;
    bound_norm(s, W, other);
    double gain =
        (mu - arf_get_d(arb_midref(other), ARF_RND_NEAR)) * arf_get_d(arb_midref(h), ARF_RND_NEAR);
    for (int i = 0; i < N && STEPS * gain > log(up * down); i++) s->W[i] = W[i] / up;
}

/* Finds e behind a step of h, at most E throughout, and mu; 0: E is passed, or f' is not bounded. */
static int carry(Enclosure *s, const arb_t h, arb_t e, double *mu)
{
    acb_t time;
    BALL(E);
    BALL(share);
    BALL(x);
    arb_mul_2exp_si(E, s->e, 1);
    arb_div(share, h, s->R, ROUGH);
    set_box(s, 0, share, E);
    acb_init(time);
    arb_add(x, s->now, h, ROUGH);
    arb_union(acb_realref(time), s->now, x, ROUGH);
    evaluate_all(s, time);
    acb_clear(time);
    derive(s);
    bound_norm(s, s->W, x);
    *mu = arf_get_d(arb_midref(x), ARF_RND_NEAR);
    arb_mul(x, x, h, ROUGH);
    arb_exp(x, x, ROUGH);
    arb_mul(e, x, s->e, ROUGH);
    return arb_is_finite(x) && arb_le(e, E);
}

/* Moves the middle by h, and adds what is lost to e. */
static void move(Enclosure *s, const arb_t h)
{
    BALL(sum);
    BALL(power);
    BALL(tail);
    BALL(eps);
    slong p = s->bits;
    arb_div(tail, h, s->R, ROUGH);
    arb_pow_ui(power, tail, (ulong)s->terms + 1, ROUGH);
    arb_sub_si(tail, tail, 1, ROUGH);
    arb_div(tail, power, tail, ROUGH);
    for (int i = 0; i < s->t->N; i++) {
        arb_zero(sum);
        for (slong k = s->terms; k > 0; k--) { /* Horner's rule */
            arb_div_si(power, at(s, s->t->rate[i], k - 1), k, p);
            arb_add(sum, sum, power, p);
            arb_mul(sum, sum, h, p);
        }
        arb_add(sum, sum, s->y + i, p);
        arb_mul(power, tail, s->w + i, ROUGH);
        arb_add_error(sum, power);
        arb_get_mid_arb(s->y + i, sum);
        arb_get_rad_arb(sum, sum);
        arb_set_d(power, s->W[i]);
        arb_mul(sum, sum, power, ROUGH);
        arb_addmul(eps, sum, sum, ROUGH);
    }
    arb_sqrt(eps, eps, ROUGH);
    arb_add(s->e, s->e, eps, ROUGH);
    arb_get_ubound_arf(arb_midref(s->e), s->e, ROUGH);
    mag_zero(arb_radref(s->e));
}

/* Takes a step that ends at t_end at most. */
static void step(Enclosure *s, const arb_t t_end)
{
    enum { HALVINGS = 30 };
    BALL(h);
    BALL(left);
    BALL(e);
    double mu;
    if (!find_radius(s) || arf_cmp_d(arb_midref(s->R), shortest * s->end) < 0) {
        s->lost = rough;
        return;
    }
    arb_mul_2exp_si(h, s->R, -SHARE_BITS);
    arf_set_round(arb_midref(h), arb_midref(h), 20, ARF_RND_DOWN);
    mag_zero(arb_radref(h));
    arb_sub(left, t_end, s->now, ARF_PREC_EXACT);
    if (arb_gt(h, left)) arb_set(h, left);
    int fits = carry(s, h, e, &mu);
    for (int i = 0; i < HALVINGS && !fits; i++) {
        arb_mul_2exp_si(h, h, -1);
        fits = carry(s, h, e, &mu);
    }
    if (!fits) {
        s->lost = arf_cmp_d(arb_midref(s->e), small) < 0 ? rough : growing;
        return;
    }
    expand(s);
    arb_set(s->e, e);
    move(s, h);
    rebalance(s, h, mu);
    arb_add(s->now, s->now, h, ARF_PREC_EXACT);
    s->work += (double)s->terms * (double)s->terms / 2 * s->t->count;
    tick();
}

/* ---- a run ---------------------------------------------------------------------------------------------- */

static void enclosure_free(Enclosure *s)
{
    int N = s->t->N, count = s->t->count;
    if (!s->W) return;
    memory_free(s->W);
    _arb_vec_clear(s->series, count * s->terms);
    _arb_vec_clear(s->weighted, count * s->terms);
    _acb_vec_clear(s->value, count + N);
    _arb_vec_clear(s->slope, (slong)count * N);
    _acb_vec_clear(s->Y, N);
    _arb_vec_clear(s->y, N);
    _arb_vec_clear(s->w, N);
    arb_clear(s->now), arb_clear(s->e), arb_clear(s->R);
}

static int enclosure_new(const Tape *t, slong bits, const double *initial, Enclosure *s)
{
    int N = t->N, count = t->count;
    *s = (Enclosure){.t = t, .bits = bits, .terms = bits / SHARE_BITS + 8};
    if (!(s->W = memory_new(2 * (size_t)N, sizeof *s->W))) return ERR_MEMORY;
    s->series = _arb_vec_init(count * s->terms);
    s->weighted = _arb_vec_init(count * s->terms);
    s->value = _acb_vec_init(count + N); /* N more: an entry's a may be a coordinate */
    s->slope = _arb_vec_init((slong)count * N);
    s->Y = _acb_vec_init(N);
    s->y = _arb_vec_init(N);
    s->w = _arb_vec_init(N);
    arb_init(s->now), arb_init(s->e), arb_init(s->R);
    arb_one(s->R);
    for (int i = 0; i < N; i++) arb_set_d(s->y + i, initial[i]), s->W[i] = 1;
    return 0;
}

/* Returns a bound of how far any coordinate of y (N), the doubles nearest to the middle, is off. */
static double keep(const Enclosure *s, double *y)
{
    BALL(x);
    BALL(off);
    BALL(most);
    for (int i = 0; i < s->t->N; i++) {
        y[i] = poly_nearest(s->y + i);
        arb_set_d(x, y[i]);
        arb_sub(x, x, s->y + i, ROUGH);
        arb_abs(x, x);
        unweigh(s, i, s->e, off);
        arb_add(x, x, off, ROUGH);
        arb_max(most, most, x, ROUGH);
    }
    arb_get_ubound_arf(arb_midref(most), most, ROUGH);
    return arf_get_d(arb_midref(most), ARF_RND_UP);
}

/* How a run ended: why it was lost, or NULL; at which time; what bounds a coordinate's error there; the work. */
typedef struct {
    const char *lost;
    double t, e, work;
} Outcome;

static int attempt(const Tape *t, const System *s, slong bits, const double *times, size_t count,
                   double *y, double *radius, Outcome *out)
{
    SCOPED(enclosure_free) Enclosure x;
    BALL(end);
    TRY(enclosure_new(t, bits, s->initial, &x));
    x.end = count ? times[count - 1] : 0;
    for (size_t k = 0; k < count && !x.lost; k++) {
        arb_set_d(end, times[k]);
        while (!x.lost && arb_lt(x.now, end)) {
            if (x.work > work_most)
                x.lost = long_run;
            else
                step(&x, end);
        }
        if (!x.lost) radius[k] = keep(&x, y + k * (size_t)t->N);
    }
    *out = (Outcome){x.lost, poly_nearest(x.now), 0, x.work};
    for (int i = 0; i < t->N; i++) {
        unweigh(&x, i, x.e, end);
        out->e = fmax(out->e, arf_get_d(arb_midref(end), ARF_RND_UP));
    }
    return 0;
}

/* Returns the bits for the next run: those that were lost, along the whole way, and 60. */
static slong more_bits(const Outcome *o, slong bits, double end)
{
    double lost = (double)bits + log2(fmax(o->e, exp2(-(double)bits)));
    if (o->lost) lost *= 1.2 * end / fmax(o->t, end / 64);
    return (slong)lost + 60 > bits ? (slong)lost + 60 : 2 * bits;
}

int enclosure_solve(const System *s, const double *t, size_t count, double *y, double *radius)
{
    SCOPED(memory_drop) Tape *tape = NULL;
    Outcome o = {0};
    if (s->n * s->d > UNKNOWNS_MOST)
        return error_set(ERR_INPUT,
                         "%s: a solution is enclosed where there are at most %d unknowns, not %zu",
                         s->name, UNKNOWNS_MOST, s->n * s->d);
    TRY(tape_new(s, 1 << OP_F | 1 << OP_G, &tape));
    double end = count ? t[count - 1] : 0;
    for (slong bits = FEWEST_BITS; bits <= MOST_BITS;) {
        double size = 1;
        TRY(attempt(tape, s, bits, t, count, y, radius, &o));
        for (size_t k = 0; !o.lost && k < count * (size_t)tape->N; k++)
            size = fmax(size, fabs(y[k]));
        if (!o.lost && o.e <= wanted * size) return 0;
        if (o.lost && o.lost != growing) break;
        double longer = (double)more_bits(&o, bits, end) / (double)bits;
        bits = more_bits(&o, bits, end);
        if (o.work * longer * longer * end / o.t > work_most) break;
    }
    return error_set(ERR_ACCURACY, "the solution of %s is not enclosed: behind t = %.4g %s",
                     s->name, o.t, o.lost ? o.lost : growing);
}
