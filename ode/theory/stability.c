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
#include "ode/theory/poly.h"

/* ---- root condition ---------------------------------------------------------------------------------- */

/* Finds the largest modulus of the roots, and how many lie on the unit circle (to 1e-9). */
static int find_moduli(const Poly *p, double *largest, int *on_circle)
{
    *largest = 0;
    *on_circle = 0;
    if (p->degree < 1) return 0;
    SCOPED(memory_drop) double *z = memory_new(2 * (size_t)p->degree, sizeof *z);
    if (!z) return ERR_MEMORY;
    TRY(poly_zeros(p, z));
    for (int i = 0; i < p->degree; i++) {
        double r = hypot(z[2 * i], z[2 * i + 1]);
        *largest = fmax(*largest, r);
        *on_circle += fabs(r - 1) < 1e-9;
    }
    return 0;
}

/* Writes rho(x) = x^(q+1) - sum v_j x^(q-j). */
static void characteristic(const Table *t, Poly *p)
{
    mpq_set_ui(p->c[p->room], 1, 1);
    for (size_t i = 0; i < t->update.terms; i++) {
        const Term *s = &t->update.term[i];
        if (s->eval != TABLE_STATE) continue;
        mpq_ptr c = p->c[t->past_y - s->past];
        mpq_sub(c, c, s->c);
    }
    poly_trim(p);
}

int stability_roots(const Table *t, int *zero_stable, int *on_circle)
{
    SCOPED(poly_free) Poly rho = {0}, repeated = {0}, simple = {0};
    double largest, largest_repeated;
    int repeated_on_circle, n = t->past_y + 1;
    *zero_stable = *on_circle = 1;
    if (t->flows) return 0; /* one-step: rho = x - 1 */
    *zero_stable = 0;
    TRY(poly_new(&rho, n));
    TRY(poly_new(&repeated, n));
    TRY(poly_new(&simple, n));
    characteristic(t, &rho);
    TRY(poly_squarefree(&rho, &simple, &repeated));
    TRY(find_moduli(&simple, &largest, on_circle));
    TRY(find_moduli(&repeated, &largest_repeated, &repeated_on_circle));
    *zero_stable = largest <= 1 + 1e-9 && !repeated_on_circle;
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
    TRY(table_refuse_carries(t, "its stability is not worked out yet"));
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
