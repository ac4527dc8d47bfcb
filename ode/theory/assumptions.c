/* assumptions.c: Butcher's simplifying assumptions and algebraic stability of a Runge-Kutta method whose stages are all H.
 *
 *     B(p)      sum_i b_i c_i^(k-1) = 1/k                          k = 1 .. p
 *     C(eta)    sum_j a_ij c_j^(k-1) = c_i^k / k                   k = 1 .. eta, for every stage i
 *     D(zeta)   sum_i b_i c_i^(k-1) a_ij = b_j (1 - c_j^k) / k     k = 1 .. zeta, for every stage j
 *
 * (Butcher 1964). A method is algebraically stable where every b_i >= 0 and M, m_ij = b_i a_ij + b_j a_ji - b_i b_j, is positive
 * semidefinite (Burrage, Butcher 1979; Crouzeix 1979). M is decided by elimination with the largest remaining diagonal as pivot:
 * where that is 0 the rest of M has to be 0. Stages that no order condition tells apart are one here, and those without effect
 * are left out, so the conditions are necessary for B-stability too (Hundsdorfer, Spijker 1981). */
#include <gsl/gsl_eigen.h>
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/joined.h"

/* The method: A (n, n), b, c (n); power (n): c^(k-1). */
typedef struct {
    const Table *t;
    size_t n;
    mpq_t *A, *b, *c, *power;
} Method;

static void method_free(Method *m)
{
    rationals_free(m->A);
}

static int method_new(const Joined *s, Method *m)
{
    SCOPED(memory_drop) size_t *at = memory_new(s->n, sizeof *at);
    if (!at) return ERR_MEMORY;
    *m = (Method){.t = s->t};
    for (size_t e = 0; e < s->n; e++)
        if (s->used[e] && s->op[e] == OP_F) at[m->n++] = e;
    size_t n = m->n;
    if (!(m->A = rationals_new(n * n + 3 * n))) return ERR_MEMORY;
    m->b = m->A + n * n;
    m->c = m->b + n;
    m->power = m->c + n;
    for (size_t i = 0; i < n; i++) {
        mpq_set(m->b[i], s->b[at[i]]);
        for (size_t j = 0; j < n; j++) {
            mpq_set(m->A[i * n + j], s->a[at[i] * s->evals + at[j]]);
            mpq_add(m->c[i], m->c[i], m->A[i * n + j]);
        }
    }
    return 0;
}

/* ---- assumptions -------------------------------------------------------------------------------------- */

static int holds_B(const Method *m, unsigned k)
{
    RATIONALS(sum, right);
    for (size_t i = 0; i < m->n; i++) rational_add(sum, m->b[i], m->power[i]);
    mpq_set_ui(right, 1, k);
    return !joined_differ(m->t, sum, right);
}

static int holds_C(const Method *m, unsigned k)
{
    RATIONALS(sum, right);
    int holds = 1;
    for (size_t i = 0; i < m->n && holds; i++) {
        mpq_set_ui(sum, 0, 1);
        for (size_t j = 0; j < m->n; j++) rational_add(sum, m->A[i * m->n + j], m->power[j]);
        mpq_mul(right, m->power[i], m->c[i]);
        rational_divide(right, k);
        holds = !joined_differ(m->t, sum, right);
    }
    return holds;
}

static int holds_D(const Method *m, unsigned k)
{
    RATIONALS(sum, right, x);
    int holds = 1;
    for (size_t j = 0; j < m->n && holds; j++) {
        mpq_set_ui(sum, 0, 1);
        for (size_t i = 0; i < m->n; i++) {
            mpq_mul(x, m->b[i], m->power[i]);
            rational_add(sum, x, m->A[i * m->n + j]);
        }
        mpq_mul(x, m->power[j], m->c[j]); /* c_j^k */
        mpq_sub(x, rational_one, x);
        mpq_mul(right, m->b[j], x);
        rational_divide(right, k);
        holds = !joined_differ(m->t, sum, right);
    }
    return holds;
}

/* Counts how far an assumption holds, up to `most`. */
static int count(const Method *m, int most, int (*holds)(const Method *m, unsigned k))
{
    for (size_t i = 0; i < m->n; i++) mpq_set_ui(m->power[i], 1, 1);
    for (int k = 1; k <= most; k++) {
        if (!holds(m, (unsigned)k)) return k - 1;
        for (size_t i = 0; i < m->n; i++) mpq_mul(m->power[i], m->power[i], m->c[i]);
    }
    return most;
}

/* ---- algebraic stability -------------------------------------------------------------------------------- */

static void fill_M(const Method *m, mpq_t *M)
{
    size_t n = m->n;
    RATIONAL(x);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            mpq_mul(M[i * n + j], m->b[i], m->A[i * n + j]);
            rational_add(M[i * n + j], m->b[j], m->A[j * n + i]);
            mpq_mul(x, m->b[i], m->b[j]);
            mpq_sub(M[i * n + j], M[i * n + j], x);
        }
}

/* Subtracts m_ip m_pj / m_pp: row and column p become 0. */
static void eliminate(const Method *m, mpq_t *M, size_t p)
{
    size_t n = m->n;
    RATIONALS(x, pivot);
    mpq_set(pivot, M[p * n + p]);
    for (size_t i = 0; i < n; i++) {
        if (i == p) continue;
        for (size_t j = 0; j < n; j++) {
            if (j == p) continue;
            mpq_mul(x, M[i * n + p], M[p * n + j]);
            mpq_div(x, x, pivot);
            mpq_sub(M[i * n + j], M[i * n + j], x);
        }
    }
    for (size_t i = 0; i < n; i++) {
        mpq_set_ui(M[i * n + p], 0, 1);
        mpq_set_ui(M[p * n + i], 0, 1);
    }
}

static int is_semidefinite(const Method *m, mpq_t *M)
{
    size_t n = m->n;
    for (size_t turn = 0; turn < n; turn++) {
        size_t p = 0;
        for (size_t i = 1; i < n; i++)
            if (mpq_cmp(M[i * n + i], M[p * n + p]) > 0) p = i;
        if (theory_is_zero(m->t, M[p * n + p]) || mpq_sgn(M[p * n + p]) < 0) break;
        eliminate(m, M, p);
    }
    for (size_t i = 0; i < n * n; i++)
        if (!theory_is_zero(m->t, M[i])) return 0;
    return 1;
}

/* Finds the least eigenvalue of M in double precision, which has no part in the decision. */
static int least_eigenvalue(size_t n, mpq_t *M, double *least)
{
    SCOPED(memory_drop) double *a = memory_new(n * n, sizeof *a);
    SCOPED(memory_drop) double *value = memory_new(n, sizeof *value);
    gsl_eigen_symm_workspace *w = a && value ? gsl_eigen_symm_alloc(n) : NULL;
    if (!w) return ERR_MEMORY;
    for (size_t i = 0; i < n * n; i++) a[i] = table_double(M[i]);
    gsl_matrix_view A = gsl_matrix_view_array(a, n, n);
    gsl_vector_view v = gsl_vector_view_array(value, n);
    int failed = gsl_eigen_symm(&A.matrix, &v.vector, w);
    *least = failed ? NAN : gsl_vector_min(&v.vector);
    gsl_eigen_symm_free(w);
    return 0;
}

static int find_algebraic(const Method *m, Assumptions *out)
{
    SCOPED(rationals_drop) mpq_t *M = rationals_new(m->n * m->n);
    if (!M) return ERR_MEMORY;
    int yes = 1;
    for (size_t i = 0; i < m->n; i++) {
        yes &= mpq_sgn(m->b[i]) >= 0 || theory_is_zero(m->t, m->b[i]);
        out->least_weight = fmin(out->least_weight, table_double(m->b[i]));
    }
    fill_M(m, M);
    if (m->n) TRY(least_eigenvalue(m->n, M, &out->least_eigenvalue));
    out->algebraic = yes && is_semidefinite(m, M) ? TOLD_YES : TOLD_NO;
    return 0;
}

int assumptions_find(const Table *t, Assumptions *out)
{
    SCOPED(joined_free) Joined s = {0};
    SCOPED(method_free) Method m = {0};
    *out =
        (Assumptions){.B = -1, .C = -1, .D = -1, .algebraic = TOLD_NOT, .least_weight = INFINITY};
    if (!table_over(t, OP_H) || table_phi(t) || !joined_takes(t)) return 0;
    TRY(joined_new(t, 0, 0, &s));
    TRY(method_new(&s, &m));
    int most = 2 * (int)m.n; /* no quadrature of n nodes has a higher order */
    out->B = count(&m, most, holds_B);
    out->C = count(&m, most, holds_C);
    out->D = count(&m, most, holds_D);
    return find_algebraic(&m, out);
}

int assumptions_index_1(const Table *t, int *order)
{
    Assumptions a;
    StabilityFunction R;
    TRY(assumptions_find(t, &a));
    if (a.C < 0) return 0;
    for (size_t e = 0; e < t->evals; e++)
        if (row_equal(&eval_point(t, (int)e)->row, &t->update)) return 0;
    TRY(stability_function(t, &R));
    double end = R.p == R.q && R.p >= 0 ? table_double(R.P[R.p]) / table_double(R.Q[R.q]) : 0;
    int q = a.B < a.C ? a.B : a.C, most = fabs(end - 1) < 1e-9 ? q : q + 1;
    if (most == q) --*order;
    if (*order > most) *order = most;
    stability_function_free(&R);
    return 0;
}
