/* stability.c: root condition and amplification of a table, in double precision (amplify.h). */
#define AMP_REAL double
#define AMP_COMPLEX double complex
#define AMP_EPSILON 0x1p-53
#define AMP_ABS cabs
#define AMP_EXP cexp
#define AMP_COS cos
#define AMP_SIN sin
#define AMP_ATAN atan
#include "ode/theory/amplify.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/locus.h"

/* ---- root condition ---------------------------------------------------------------------------------- */

/* Finds the root condition to 1e-9, and how many different roots lie on the circle. */
static int rounded_disc(const fmpq_poly_t rho, int *stable, int *on_circle)
{
    int n = poly_degree(rho);
    SCOPED(memory_drop) double *z = memory_new(2 * (size_t)n + 1, sizeof *z);
    if (!z) return ERR_MEMORY;
    TRY(poly_zeros(rho, z));
    *stable = 1;
    *on_circle = 0;
    for (int i = 0; i < n; i++) {
        double r = hypot(z[2 * i], z[2 * i + 1]), apart = INFINITY;
        for (int j = 0; j < i; j++)
            apart = fmin(apart, hypot(z[2 * i] - z[2 * j], z[2 * i + 1] - z[2 * j + 1]));
        int on = fabs(r - 1) < 1e-9;
        *stable &= r <= 1 + 1e-9 && !(on && apart < 1e-9);
        *on_circle += on && apart >= 1e-9;
    }
    return 0;
}

/* Writes the minimal polynomial of the matrix that moves (y, y[-1], ..., v_1, v_2, ...) by a step where the field is 0: its
 * multiple roots are the eigenvalues whose powers grow. */
static void minimal_polynomial(const Table *t, fmpq_poly_t p)
{
    fmpq_mat_t A;
    slong states = t->past_y + 1, n = states + (slong)t->carries;
    fmpq_mat_init(A, n, n);
    for (slong j = 1; j < states; j++) fmpq_set_si(fmpq_mat_entry(A, j, j - 1), 1, 1);
    for (size_t c = 0; c <= t->carries; c++) {
        const Row *r = c ? &t->carry[c - 1].update : &t->update;
        slong row = c ? states + (slong)c - 1 : 0;
        for (size_t i = 0; i < r->terms && r->term[i].eval < 0; i++) {
            const Term *s = &r->term[i];
            slong at = s->eval == TABLE_STATE ? s->past : states + TABLE_CARRIED - s->eval;
            fmpq_set_mpq(fmpq_mat_entry(A, row, at), s->c);
        }
    }
    fmpq_mat_minpoly(p, A);
    fmpq_mat_clear(A);
}

/* Writes rho(x) = x^(q+1) - sum v_j x^(q-j). */
static void characteristic(const Table *t, fmpq_poly_t p)
{
    RATIONAL(c);
    fmpq_poly_set_coeff_si(p, t->past_y + 1, 1);
    for (size_t i = 0; i < t->update.terms; i++) {
        const Term *s = &t->update.term[i];
        if (s->eval != TABLE_STATE) continue;
        poly_get(p, t->past_y - s->past, c);
        mpq_sub(c, c, s->c);
        poly_set(p, t->past_y - s->past, c);
    }
}

int stability_roots(const Table *t, int *zero_stable, int *on_circle)
{
    POLY(rho);
    *zero_stable = *on_circle = 1;
    if (t->flows) return 0; /* one-step: rho = x - 1 */
    if (t->carries)
        minimal_polynomial(t, rho);
    else
        characteristic(t, rho);
    if (!t->exact) return rounded_disc(rho, zero_stable, on_circle);
    *zero_stable = locus_disc(rho, on_circle);
    return 0;
}

/* ---- amplification ------------------------------------------------------------------------------------ */

struct Stability {
    const Table *t;
    Amplifier a;
    Stability **by; /* (flows) of those by a method; NULL: there are none */
};

/* Opens the methods of flows. */
static int open_methods(Stability *s)
{
    if (!table_methods(s->t)) return 0;
    if (!(s->by = memory_new(s->t->flows, sizeof *s->by))) return ERR_MEMORY;
    for (size_t i = 0; i < s->t->flows; i++)
        if (s->t->flow[i].by) TRY(stability_new(s->t->flow[i].by, &s->by[i]));
    return 0;
}

int stability_new(const Table *t, Stability **out)
{
    *out = NULL;
    Stability *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    s->t = t;
    int code = t->flows ? open_methods(s) : amp_new(&s->a, t);
    if (code != 0)
        stability_free(s);
    else
        *out = s;
    return code;
}

void stability_free(Stability *s)
{
    if (s && !s->t->flows) amp_free(&s->a);
    for (size_t i = 0; s && s->by && i < s->t->flows; i++) stability_free(s->by[i]);
    if (s) memory_free(s->by);
    memory_free(s);
}

size_t stability_work(const Stability *s)
{
    size_t terms = s->t->flows + s->t->update.terms;
    for (size_t p = 0; p < s->t->points; p++) terms += s->t->point[p].row.terms;
    if (s->t->flows) return terms;
    size_t evals = s->a.system ? s->t->evals : 0, solving = evals * evals * (evals + s->a.columns);
    return s->a.samples * ((terms + s->a.samples) * s->a.columns + solving) +
           10 * s->a.degree * s->a.degree;
}

/* Returns the factor of the flows: exp(sum of c z), and of those by a method R(c z). */
static double flow_factor(Stability *s, const double lambda[][2])
{
    double sum = 0, factor = 1;
    for (size_t i = 0; i < s->t->flows; i++) {
        const Flow *f = &s->t->flow[i];
        if (s->by && s->by[i])
            factor *= stability_at(s->by[i], lambda);
        else
            sum += table_double(f->c) * lambda[f->op][0];
    }
    return factor * exp(sum);
}

static void read_lambda(const Table *t, const double lambda[][2], double complex *z)
{
    for (int op = 0; op < t->colours; op++) z[op] = lambda[op][0] + lambda[op][1] * I;
}

double stability_at(Stability *s, const double lambda[][2])
{
    double complex z[COLOURS] = {0};
    if (s->t->flows) return flow_factor(s, lambda);
    read_lambda(s->t, lambda, z);
    amp_polynomial(&s->a, z);
    return amp_radius(&s->a);
}
