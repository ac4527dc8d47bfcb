/* form.c: evaluates a form at some values, and moves these to where its order conditions hold. */
#include "studies/theory/design/design.h"

#include <gsl/gsl_linalg.h>
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/quiet.h"

static int count_brackets(Form *f)
{
    SCOPED(bracket_free) Brackets b = {0};
    TRY(bracket_every(f->table, f->order, &b));
    f->conditions = b.count;
    return 0;
}

int form_new(const Table *scheme, int order, Form *out)
{
    *out = (Form){.order = order, .n = scheme->symbols};
    if (scheme->symbols == 0)
        return error_set(ERR_INPUT,
                         "%s has no free coefficient: write each in its text as 'learn a = 1/2'",
                         scheme->name);
    for (size_t i = 0; i < scheme->symbols; i++)
        if (scheme->symbol[i].kind != SYMBOL_LEARN)
            return error_set(ERR_INPUT,
                             "%s: %s is a gate, which depends on the state: a form has learn lines "
                             "alone",
                             scheme->name, scheme->symbol[i].name);
    if (order >= forest_most(scheme->colours))
        return error_set(ERR_INPUT, "--order: expected 1 to %d", forest_most(scheme->colours) - 1);
    if (table_methods(scheme))
        return error_set(ERR_INPUT, "%s: a form is made of stages or of exact flows", scheme->name);
    TRY(forest_new(order + 1, scheme->colours, &out->forest));
    TRY(forest_new(order, scheme->colours, &out->low));
    out->conditions = out->low->count;
    out->table = table_copy(scheme);
    out->defect = memory_new(out->low->count + 1, sizeof(mpq_t));
    if (!out->table || !out->defect) return ERR_MEMORY;
    for (size_t i = 0; i <= out->low->count; i++) mpq_init(out->defect[i]);
    return scheme->flows ? count_brackets(out) : 0;
}

void form_free(Form *f)
{
    for (size_t i = 0; f->defect && i <= f->low->count; i++) mpq_clear(f->defect[i]);
    memory_free(f->defect);
    forest_free(f->forest);
    forest_free(f->low);
    table_free(f->table);
    *f = (Form){0};
}

void form_values(const Form *f, double *x)
{
    for (size_t i = 0; i < f->n; i++) x[i] = table_double(f->table->symbol[i].start);
}

int form_at(Form *f, const double *x, Table **out)
{
    for (size_t i = 0; i < f->n; i++) mpq_set_d(f->table->symbol[i].start, x[i]);
    *out = table_freeze(f->table);
    return *out ? 0 : ERR_MEMORY;
}

int form_at_rational(Form *f, mpq_t *q, int decimal, Table **out)
{
    for (size_t i = 0; i < f->n; i++) mpq_set(f->table->symbol[i].start, q[i]);
    *out = table_freeze(f->table);
    if (!*out) return ERR_MEMORY;
    if (decimal) (*out)->exact = 0;
    return 0;
}

static int bracket_conditions(const Form *f, const Table *t, double *c)
{
    SCOPED(bracket_free) Brackets b = {0};
    TRY(bracket_every(t, f->order, &b));
    for (size_t i = 0; i < f->conditions; i++) c[i] = table_double(b.bracket[i].c);
    return 0;
}

int form_conditions(Form *f, const double *x, double *c)
{
    TABLE(t);
    mpq_t *empty = &f->defect[f->low->count];
    TRY(form_at(f, x, &t));
    if (t->flows) return bracket_conditions(f, t, c);
    TRY(theory_defect(f->low, t, f->defect, *empty));
    for (size_t i = 0; i < f->conditions; i++) c[i] = table_double(f->defect[i]);
    if (fabs(mpq_get_d(*empty)) <= 1e-12) return 0;
    return error_set(ERR_ACCURACY, "%s: the state weights do not sum to 1", t->name);
}

/* ---- Gauss-Newton ------------------------------------------------------------------------------------- */

/* A defect is a sum of a few products of numbers of size 1, with a rounding of some 1e-16 each. */
static const double met = 1e-13;
enum { ITERATIONS = 30, PATIENCE = 5 };

typedef struct {
    double *c, *moved; /* (m) */
    double *J;         /* (m, n) */
    double *A;         /* (m, m) */
} Work;

static double largest(const double *c, size_t m)
{
    double most = 0;
    for (size_t i = 0; i < m; i++) most = fabs(c[i]) <= most ? most : fabs(c[i]);
    return most;
}

/* Fills J by forward differences. Defects are polynomials of exact numbers, so the step can be small. */
static int fill_jacobian(Form *f, const unsigned char *fixed, double *x, Work *w)
{
    size_t m = f->conditions, n = f->n;
    const double step = 0x1p-26;
    for (size_t j = 0; j < n; j++) {
        double before = x[j];
        if (!fixed || !fixed[j]) {
            x[j] += step;
            TRY(form_conditions(f, x, w->moved));
            x[j] = before;
        }
        for (size_t i = 0; i < m; i++)
            w->J[i * n + j] = fixed && fixed[j] ? 0 : (w->moved[i] - w->c[i]) / step;
    }
    return 0;
}

/* Takes the least step, x -= J^T (J J^T + damping)^-1 c. The damping is for
 * conditions that repeat others. */
static int take_step(const Form *f, Work *w, double *x)
{
    size_t m = f->conditions, n = f->n;
    double trace = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t k = 0; k < m; k++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++) sum += w->J[i * n + j] * w->J[k * n + j];
            w->A[i * m + k] = sum;
            trace += i == k ? sum : 0;
        }
    for (size_t i = 0; i < m; i++) w->A[i * m + i] += 1e-11 * trace + 1e-30;
    gsl_matrix_view A = gsl_matrix_view_array(w->A, m, m);
    gsl_vector_view b = gsl_vector_view_array(w->moved, m);
    for (size_t i = 0; i < m; i++) w->moved[i] = w->c[i];
    if (gsl_linalg_cholesky_decomp1(&A.matrix) != 0 ||
        gsl_linalg_cholesky_svx(&A.matrix, &b.vector) != 0)
        return ERR_ACCURACY;
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < m; i++) x[j] -= w->J[i * n + j] * w->moved[i];
    return 0;
}

static int iterate(Form *f, const unsigned char *fixed, double *x, Work *w)
{
    double before = INFINITY;
    for (int i = 0; i < ITERATIONS; i++) {
        TRY(form_conditions(f, x, w->c));
        double most = largest(w->c, f->conditions);
        if (most <= met) return 0;
        if (i > PATIENCE && !(most <= before / 2)) break; /* near a solution it falls much faster */
        before = most;
        TRY(fill_jacobian(f, fixed, x, w));
        TRY(take_step(f, w, x));
        if (!(largest(x, f->n) <= 1e3)) break;
    }
    return error_set(ERR_ACCURACY, "%s: no values near these have order %d", f->table->name,
                     f->order);
}

int form_project(Form *f, const unsigned char *fixed, double *x)
{
    size_t m = f->conditions;
    SCOPED(memory_drop) double *block = memory_new(m * (2 + f->n + m), sizeof *block);
    if (!block) return ERR_MEMORY;
    Work w = {.c = block, .moved = block + m, .J = block + 2 * m, .A = block + m * (2 + f->n)};
    quiet_begin();
    int code = iterate(f, fixed, x, &w);
    quiet_end();
    return code;
}
