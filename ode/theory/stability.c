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

/* Writes the matrix A (n, n) that moves (y, y[-1], ..., v_1, v_2, ...) by a step where the field is 0. */
static void write_carried(const Table *t, size_t n, mpq_t *A)
{
    size_t states = (size_t)t->past_y + 1;
    for (size_t j = 1; j < states; j++) mpq_set_ui(A[j * n + j - 1], 1, 1);
    for (size_t c = 0; c <= t->carries; c++) {
        const Row *r = c ? &t->carry[c - 1].update : &t->update;
        mpq_t *row = A + (c ? states + c - 1 : 0) * n;
        for (size_t i = 0; i < r->terms && r->term[i].eval < 0; i++) {
            int eval = r->term[i].eval;
            size_t at = eval == TABLE_STATE ? (size_t)r->term[i].past
                                            : states + (size_t)(TABLE_CARRIED - eval);
            mpq_set(row[at], r->term[i].c);
        }
    }
}

/* Computes to = A from, all (n, n). */
static void multiply(size_t n, mpq_t *A, mpq_t *from, mpq_t *to)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            mpq_set_ui(to[i * n + j], 0, 1);
            for (size_t k = 0; k < n; k++)
                if (mpq_sgn(A[i * n + k]))
                    rational_add(to[i * n + j], A[i * n + k], from[k * n + j]);
        }
}

/* Writes the minimal polynomial of that matrix: its multiple roots are the eigenvalues whose powers grow. The first power
 * of A that depends on those before it has as its factors the polynomial's coefficients. */
static int minimal_polynomial(const Table *t, size_t n, Poly *p)
{
    size_t size = n * n, wide = n + 1, *pivot;
    SCOPED(rationals_drop) mpq_t *A = rationals_new(size), *power = rationals_new((n + 1) * size);
    SCOPED(rationals_drop) mpq_t *m = rationals_new(size * wide);
    SCOPED(memory_drop) size_t *room = memory_new(n + 1, sizeof *room);
    if (!A || !power || !m || !(pivot = room)) return ERR_MEMORY;
    write_carried(t, n, A);
    for (size_t i = 0; i < n; i++) mpq_set_ui(power[i * n + i], 1, 1);
    for (size_t d = 1; d <= n; d++) {
        multiply(n, A, power + (d - 1) * size, power + d * size);
        for (size_t i = 0; i < size; i++)
            for (size_t k = 0; k <= d; k++) mpq_set(m[i * (d + 1) + k], power[k * size + i]);
        if (rationals_reduce(m, size, d + 1, d + 1, t->exact ? 0 : 1e-12, pivot) > d) continue;
        mpq_set_ui(p->c[d], 1, 1);
        for (size_t k = 0; k < d; k++) mpq_neg(p->c[k], m[k * (d + 1) + d]);
        break;
    }
    poly_trim(p);
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
    int repeated_on_circle, n = t->past_y + 1 + (int)t->carries;
    *zero_stable = *on_circle = 1;
    if (t->flows) return 0; /* one-step: rho = x - 1 */
    *zero_stable = 0;
    TRY(poly_new(&rho, n));
    TRY(poly_new(&repeated, n));
    TRY(poly_new(&simple, n));
    if (t->carries)
        TRY(minimal_polynomial(t, (size_t)n, &rho));
    else
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
