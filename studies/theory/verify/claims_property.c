/* claims_property.c: claims that a scheme has a property which the theory in ode/ decides, or tells as far as it says.
 *
 * Each check answers by that theory, and says how far it looked and which condition fails. Beside most answers stand numbers
 * that share nothing with it but the scheme: the Jacobian of a step in a Hamiltonian field, a step there and back, factors in
 * the left half-plane (which of methods that read the past are those of the theory, at more angles), eigenvalues in double
 * precision. Where they differ the verdict is "undecided". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

/* Says that exact arithmetic decided; how closely it looked where coefficients are roundings (theory_is_zero). */
static void say_decided(const Table *t, const char *how, Finding *f)
{
    finding_say(f, " (decided%s%s)", how,
                t->exact ? "" : " to 1e-12, as coefficients are decimals or roots");
}

/* Takes what theory says: an answer, or that the claim is left undecided, with the reason. */
static void take(Finding *f, int told, const char *why)
{
    f->holds = told == TOLD_YES;
    f->sound = told != TOLD_NOT;
    if (told == TOLD_NOT) finding_say(f, "the theory here does not decide this: %s", why);
}

static const char *kind_of(const Table *t)
{
    if (table_past(t)) return "the scheme reads the past";
    if (table_methods(t)) return "some flows are exact and some by a method";
    if (table_complex(t)) return "its step is the real part of a complex one";
    return table_phi(t) ? "the scheme has functions of a derivative"
                        : "the scheme is no Runge-Kutta method";
}

/* ---- symplecticity ------------------------------------------------------------------------------------ */

/* J (D, D) out: the Jacobian of a step, by differences of fourth order. */
static int step_jacobian(const Sine *s, const Table *t, double h, double J[SINE_D][SINE_D])
{
    static const double at[] = {-2, -1, 1, 2}, weight[] = {1. / 12, -8. / 12, 8. / 12, -1. / 12};
    const double e = 2e-3;
    memset(J, 0, SINE_D * sizeof *J);
    for (int i = 0; i < SINE_D; i++)
        for (int k = 0; k < 4; k++) {
            double y[SINE_D];
            memcpy(y, s->y, sizeof y);
            y[i] += at[k] * e;
            TRY(sine_step(s, t, h, y));
            for (int j = 0; j < SINE_D; j++) J[j][i] += weight[k] / e * y[j];
        }
    return 0;
}

/* Returns the largest entry of (c J)' Omega (c J) - Omega, Omega = (0, 1; -1, 0). */
static double symplectic_defect(const double J[SINE_D][SINE_D], double c)
{
    enum { HALF = SINE_D / 2 };
    double worst = 0;
    for (int a = 0; a < SINE_D; a++)
        for (int b = 0; b < SINE_D; b++) {
            double sum = 0;
            for (int i = 0; i < HALF; i++)
                sum += J[i][a] * J[i + HALF][b] - J[i + HALF][a] * J[i][b];
            sum = c * c * sum - (b == a + HALF) + (a == b + HALF);
            worst = fmax(worst, fabs(sum));
        }
    return worst;
}

static const double symplectic = 1e-8; /* what differences leave of 0 is below it */

/* Measures a step in a Hamiltonian field. What holds must be seen there, and a step enlarged by a millionth refused. */
static int measure_symplectic(const Table *t, int separable, int holds, Finding *f, double *defect)
{
    const double h = 0.5;
    double J[SINE_D][SINE_D];
    Sine s;
    sine_new(&s, 5, 0);
    sine_take(&s, separable ? t->special | SEPARABLE : t->special);
    if (!separable) sine_hamiltonian(&s, 0);
    TRY(step_jacobian(&s, t, h, J));
    *defect = symplectic_defect((const double(*)[SINE_D])J, 1);
    double control = symplectic_defect((const double(*)[SINE_D])J, 1 + 1e-6);
    f->sound = f->sound && !(holds && !(*defect <= symplectic)) && control > symplectic;
    finding_say(f, "; measured: J' Omega J is Omega up to %.1e for a step of 1/2", *defect);
    if (holds) finding_say(f, ", enlarged by 1e-6 up to %.1e", control);
    return 0;
}

static void say_pair(const Table *t, const int pair[2], const mpq_t defect, Finding *f)
{
    char c[CLAIM_NUMBER], name[2][32];
    for (int k = 0; k < 2; k++) {
        const Eval *e = &t->eval[pair[k]];
        const char of[] = {table_letters[e->op], ' ', 'o', 'f', ' ', '\0'};
        snprintf(name[k], sizeof name[k], "%sk%d", table_over(t, OP_H) ? "" : of, e->stage + 1);
    }
    claim_number(defect, c);
    finding_say(f, "b_i a_ij + b_j a_ji - b_i b_j is %s, not 0, for i = %s, j = %s", c, name[0],
                name[1]);
}

static int ask_symplectic(const Table *t, int separable, int *told, double *measured, Finding *f)
{
    int pair[2];
    RATIONAL(defect);
    TRY(structure_symplectic(t, separable, told, pair, defect));
    if (*told == TOLD_NOT) return 0;
    finding_say(f, "for %s: ", separable ? "separable Hamiltonians" : "all Hamiltonian F and G");
    if (table_exact_flows(t))
        finding_say(f, "flows of Hamiltonian fields are symplectic, and so is one after another");
    else if (*told == TOLD_YES)
        finding_say(f, "b_i a_ij + b_j a_ji = b_i b_j for every pair of evaluations%s",
                    separable ? " of F and G" : "");
    else
        say_pair(t, pair, defect, f);
    if (table_exact_flows(t))
        finding_say(f, " (decided)");
    else
        say_decided(t, "", f);
    return measure_symplectic(t, separable, *told == TOLD_YES, f, measured);
}

/* Where all Hamiltonians are too much to ask, asks for separable ones; evidence is given where they hold. */
static int ask_separable(const Table *t, Finding *f)
{
    int told, pair[2];
    double measured;
    RATIONAL(defect);
    TRY(structure_symplectic(t, 1, &told, pair, defect));
    f->conditional = told == TOLD_YES;
    if (!f->conditional) return 0;
    finding_say(f, ". And ");
    return ask_symplectic(t, 1, &told, &measured, f);
}

int check_symplectic(const Zoo *z, const char *const *arg, Finding *f)
{
    int told;
    double measured = NAN;
    TABLE(t);
    TRY(map_table(z, arg[0], &t));
    int separable = special_separable(t->special),
        linear = (t->special & ~(separable ? SEPARABLE : 0)) != 0;
    TRY(ask_symplectic(t, separable, &told, &measured, f));
    /* Where a field is linear fewer conditions suffice; then a counterexample decides. */
    if (told == TOLD_NO && linear && measured <= symplectic) {
        finding_say(f, "; ");
        told = TOLD_NOT;
    }
    take(f, told, linear ? "where a field is linear fewer conditions suffice" : kind_of(t));
    return told == TOLD_NO && !separable ? ask_separable(t, f) : 0;
}

/* ---- symmetry ----------------------------------------------------------------------------------------- */

/* Goes a step of h there and one of -h back, or of -c h, and takes the distance from the beginning. */
static int there_and_back(const Sine *s, const Table *t, double c, double *distance)
{
    const double h = 0.25;
    double y[SINE_D];
    memcpy(y, s->y, sizeof y);
    TRY(sine_step(s, t, h, y));
    TRY(sine_step(s, t, -c * h, y));
    sine_subtract(y, 1, s->y);
    *distance = sine_norm(y);
    return 0;
}

static int measure_symmetric(const Table *t, int separable, int holds, Finding *f)
{
    const double tolerance = 1e-11;
    double distance, control;
    Sine s;
    sine_new(&s, 7, 0);
    sine_take(&s, separable ? t->special | SEPARABLE : t->special);
    TRY(there_and_back(&s, t, 1, &distance));
    TRY(there_and_back(&s, t, 1 + 1e-6, &control));
    f->sound = f->sound && !(holds && !(distance <= tolerance)) && !(control <= tolerance);
    finding_say(f, "; measured: a step of 1/4 there and back misses the start by %.1e", distance);
    if (holds) finding_say(f, ", back by 1 + 1e-6 of it by %.1e", control);
    return 0;
}

/* Says why a method is not symmetric. */
static void say_asymmetric(const Table *t, const Structure *s, Finding *f)
{
    char term[STRUCTURE_TERM];
    snprintf(term, sizeof term, "%s", s->asymmetry);
    for (char *c = term; table_one_field(t) && *c; c++)
        if (*c == 'F') *c = 'H';
    if (table_past(t))
        finding_say(f, "alpha_j = -alpha_(k-j), beta_j = beta_(k-j) fails for some j");
    else if (table_exact_flows(t))
        finding_say(f, "the flows are no palindrome, and S(-h) S(h) has terms of h^%d",
                    s->symmetric_order + 1);
    else if (*term)
        finding_say(f, "S(-h) S(h) has the term h^%d %s", s->symmetric_order + 1, term);
    else
        finding_say(f, "the method is not its adjoint, though no tree to h^%d tells them apart",
                    s->searched);
}

static void say_symmetry(const Table *t, const Structure *s, int separable, int told, Finding *f)
{
    if (separable) finding_say(f, "where F'F = G'G = 0: ");
    if (told == TOLD_NO)
        say_asymmetric(t, s, f);
    else if (table_past(t))
        finding_say(f, "alpha_j = -alpha_(k-j), beta_j = beta_(k-j) for every j");
    else
        finding_say(f, t->flows ? "the flows are a palindrome" : "the method is its adjoint");
    say_decided(t, "", f);
}

int check_symmetric(const Zoo *z, const char *const *arg, Finding *f)
{
    Structure s;
    TABLE(t);
    TRY(map_table(z, arg[0], &t));
    TRY(structure_find(t, 7, &s));
    int separable = special_separable(t->special), past = table_past(t);
    int told = separable ? s.symmetric_separable : s.symmetric;
    f->conditional = told == TOLD_NO && s.symmetric_separable == TOLD_YES;
    if (told != TOLD_NOT) say_symmetry(t, &s, separable, told, f);
    if (f->conditional) {
        finding_say(f, "; ");
        say_symmetry(t, &s, 1, TOLD_YES, f);
    }
    structure_free(&s);
    take(f, told, "no term of S(-h) S(h) is seen, which is no proof");
    if (told == TOLD_NOT || past) return 0;
    return measure_symmetric(t, separable || f->conditional, told == TOLD_YES || f->conditional, f);
}

/* ---- A- and L-stability --------------------------------------------------------------------------------- */

/* What a grid of the left half-plane shows: the factor of a step at the point nearest to 0 where it is above 1, if any is, and
 * the largest factor in the right half-plane. */
typedef struct {
    size_t points;
    double above, re, im, right;
} HalfPlane;

static const double not_rounding = 1 + 1e-7; /* a double root on the unit circle has 8 digits */

static double factor_at(Stability *s, const Table *t, int colour, double re, double im)
{
    double z[COLOURS][2] = {{0}}, share = colour < 0 ? 1. / t->colours : 1;
    for (int op = 0; op < t->colours; op++) {
        if (colour >= 0 && op != colour) continue;
        z[op][0] = share * re, z[op][1] = share * im;
    }
    return stability_at(s, (const double(*)[2])z);
}

/* Looks at 8 values of |z| an octave, from 2^-10 to 2^16, on rays 2 degrees apart. */
static int look_left(const Table *t, int colour, HalfPlane *out)
{
    enum { OCTAVE = 8, LOW = -10, HIGH = 16, RAYS = 45 };
    const double right = acos(0);
    SCOPED(stability_drop) Stability *s = NULL;
    *out = (HalfPlane){0};
    TRY(stability_new(t, &s));
    for (int i = LOW * OCTAVE; i <= HIGH * OCTAVE; i++)
        for (int k = 0; k <= RAYS; k++, out->points++) {
            double r = exp2((double)i / OCTAVE), re = k == RAYS ? 0 : -r * cos(right * k / RAYS),
                   im = r * sin(right * k / RAYS), m = factor_at(s, t, colour, re, im);
            if (!(out->above > 0) && m > not_rounding) out->above = m, out->re = re, out->im = im;
            out->right = fmax(out->right, factor_at(s, t, colour, r * cos(right * k / RAYS), im));
        }
    return 0;
}

/* The half-plane should show what is claimed; the control is that factors above 1 are seen on its other side. */
static int measure_stability(const Table *t, const Stiff *s, int a_stable, Finding *f)
{
    HalfPlane seen;
    TRY(look_left(t, s->colour, &seen));
    f->sound = f->sound && !(a_stable && seen.above > 0) && seen.right > not_rounding;
    if (seen.above > 0)
        finding_say(f, "; measured: |R| is 1 + %.3g at z = %.6g%+.6gi", seen.above - 1, seen.re,
                    seen.im);
    else
        finding_say(f, "; measured: |R| <= 1 at %zu points of the left half-plane", seen.points);
    return 0;
}

static void say_stiff(const Table *t, const Stiff *s, Finding *f)
{
    if (s->colour >= 0)
        finding_say(f, "in %c alone, which is solved for: ", table_letters[s->colour]);
    if (!table_solves(t))
        finding_say(f, "the scheme is explicit, so that |R| goes to infinity with z (decided)");
    else if (s->a_stable == TOLD_YES)
        finding_say(f, "no factor is above 1 where Re z <= 0");
    else if (isnan(s->alpha))
        finding_say(f, "the scheme is not zero-stable");
    else
        finding_say(f, "A(alpha)-stable for alpha up to %.6g degrees alone", s->alpha);
    if (!table_solves(t)) return;
    finding_say(f, table_past(t)
                       ? " (a search on rays, |z| from 2^-10 to 2^16)"
                       : " (decided: the poles of R, and |P|^2 - |Q|^2 on rays, in rationals");
    if (!table_past(t) && s->within > 1e-15)
        finding_say(f, ", of coefficients of P and Q that are roundings and known to %.1e",
                    s->within);
    finding_say(f, table_past(t) ? "" : ")");
    finding_say(f, "; |R| at infinity is %.6g", s->r_infinity);
}

static int check_stiff(const Zoo *z, const char *const *arg, int l_stable, Finding *f)
{
    Stiff s;
    TABLE(t);
    TRY(map_table(z, arg[0], &t));
    TRY(stability_stiff(t, &s));
    if (s.a_stable != TOLD_NOT) say_stiff(t, &s, f);
    take(f, l_stable ? s.l_stable : s.a_stable,
         s.why ? s.why
               : "R is no quotient of polynomials, or the scheme is explicit and reads the past");
    return s.a_stable == TOLD_NOT ? 0 : measure_stability(t, &s, s.a_stable == TOLD_YES, f);
}

int check_A_stable(const Zoo *z, const char *const *arg, Finding *f)
{
    return check_stiff(z, arg, 0, f);
}

int check_L_stable(const Zoo *z, const char *const *arg, Finding *f)
{
    return check_stiff(z, arg, 1, f);
}

int check_zero_stable(const Zoo *z, const char *const *arg, Finding *f)
{
    int on_circle;
    TABLE(t);
    TRY(map_table(z, arg[0], &t));
    TRY(stability_roots(t, &f->holds, &on_circle));
    finding_say(f, "of the roots of the state weights, to 1e-9, ");
    if (f->holds)
        finding_say(f, "none is outside the unit circle, and each of the %d on it is simple",
                    on_circle);
    else
        finding_say(f, "one is outside the unit circle, or one of the %d on it is multiple",
                    on_circle);
    return 0;
}

/* ---- what stages say ------------------------------------------------------------------------------------ */

static const char not_over_H[] = "its stages are not all H, as those of a Runge-Kutta method are";

int check_algebraic(const Zoo *z, const char *const *arg, Finding *f)
{
    const double rounding = 1e-12;
    Assumptions a;
    TABLE(t);
    TRY(map_table(z, arg[0], &t));
    TRY(assumptions_find(t, &a));
    take(f, a.algebraic, not_over_H);
    if (a.algebraic == TOLD_NOT) return 0;
    int seen = a.least_weight >= -rounding && a.least_eigenvalue >= -rounding;
    f->sound = seen == f->holds;
    if (f->holds)
        finding_say(
            f,
            "every b_i >= 0, and M, m_ij = b_i a_ij + b_j a_ji - b_i b_j, is positive semidefinite");
    else if (a.least_weight < -rounding)
        finding_say(f, "a weight is negative: %.6g", a.least_weight);
    else
        finding_say(f, "M, m_ij = b_i a_ij + b_j a_ji - b_i b_j, is not positive semidefinite");
    say_decided(t, " by elimination", f);
    finding_say(f, "; measured: least eigenvalue of M %.3g, least weight %.3g", a.least_eigenvalue,
                a.least_weight);
    return 0;
}

int check_stage_order(const Zoo *z, const char *const *arg, Finding *f)
{
    Assumptions a;
    TABLE(t);
    TRY(map_table(z, arg[0], &t));
    TRY(assumptions_find(t, &a));
    take(f, a.B < 0 ? TOLD_NOT : (a.B < a.C ? a.B : a.C) == atoi(arg[1]), not_over_H);
    if (a.B < 0) return 0;
    finding_say(
        f,
        "it is %d, the lesser of p = %d and eta = %d, the largest for which B(p) and C(eta) hold",
        a.B < a.C ? a.B : a.C, a.B, a.C);
    say_decided(t, "", f);
    return 0;
}
