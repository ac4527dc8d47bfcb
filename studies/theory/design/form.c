/* form.c: evaluates a form at some values, and moves these to where its order conditions hold. */
#include "studies/theory/design/design.h"

#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/quiet.h"
#include "ode/scheme/rationals.h"

static int count_brackets(Form *f)
{
    SCOPED(bracket_free) Brackets b = {0};
    TRY(bracket_every(f->table, f->order, &b));
    f->conditions = b.count;
    return 0;
}

/* ---- in doubles ---------------------------------------------------------------------------------------- */

/* Returns whether a table has stages of one step alone, without functions of derivatives. */
static int is_plain(const Table *t)
{
    int plain = !t->flows && !table_past(t) && !t->special;
    for (size_t p = 0; p < t->points; p++) plain &= !t->point[p].phi;
    return plain;
}

static Dual times(Dual a, Dual b)
{
    return (Dual){a.x * b.x, a.x * b.d + a.d * b.x};
}

/* Adds the coefficients of a row at x, with derivatives by x[j], to a (evals). Returns the sum of those of states. */
static double fill_row(const Row *r, const double *x, size_t j, Dual *a)
{
    double state = 0;
    for (const Term *t = r->term; t < r->term + r->terms; t++) {
        Dual c = {mpq_get_d(t->c), 0};
        for (int k = 0; k < t->symbols; k++)
            c = times(c, (Dual){x[t->symbol[k]], (size_t)t->symbol[k] == j});
        if (t->eval < 0) {
            state += c.x;
            continue;
        }
        a[t->eval].x += c.x;
        a[t->eval].d += c.d;
    }
    return state;
}

/* Sums an evaluation's coefficients times its slopes on a tree, over the evaluations of a colour. */
static Dual dot(const Table *t, int colour, const Dual *a, const Dual *slope)
{
    Dual sum = {0, 0};
    for (size_t e = 0; e < t->evals; e++) {
        if (t->eval[e].op != colour) continue;
        const Dual more = times(a[e], slope[e]);
        sum.x += more.x;
        sum.d += more.d;
    }
    return sum;
}

/* Computes the defects over sigma of a forest's trees (series.c has the recursion), with derivatives by x[j]: out (count). alone:
 * of the trees of F alone. ERR_ACCURACY where the weights of states do not sum to 1. */
static int defects(const Form *f, const Forest *forest, int alone, const double *x, size_t j,
                   Dual *out)
{
    const Table *t = f->table;
    const size_t E = t->evals, P = t->points;
    Dual *a = f->work, *b = a + P * E, *slope = b + E, *at = slope + E; /* at (trees, points) */
    double *exact = (double *)(void *)(at + f->forest->count * P), most = 0;
    memset(a, 0, (P + 1) * E * sizeof *a);
    for (size_t p = 0; p < P; p++)
        most = fmax(most, fabs(fill_row(&t->point[p].row, x, j, a + p * E) - 1));
    most = fmax(most, fabs(fill_row(&t->update, x, j, b) - 1));
    if (!(most <= 1e-12))
        return error_set(ERR_ACCURACY, "%s: the state weights do not sum to 1", t->name);
    for (size_t i = 0; i < forest->count; i++) {
        const Tree *tree = &forest->tree[i];
        if (alone && !tree_is_F(forest, i)) continue;
        exact[i] = mpq_get_d(t->weight[tree->colour]) / tree->order;
        for (int k = 0; k < tree->children; k++) exact[i] *= exact[tree->child[k]];
        for (size_t e = 0; e < E; e++) {
            if (t->eval[e].op != tree->colour) continue;
            slope[e] = (Dual){1, 0};
            for (int k = 0; k < tree->children; k++)
                slope[e] =
                    times(slope[e], at[(size_t)tree->child[k] * P + (size_t)t->eval[e].point]);
        }
        for (size_t p = 0; p < P; p++) at[i * P + p] = dot(t, tree->colour, a + p * E, slope);
        out[i] = dot(t, tree->colour, b, slope);
        out[i].x = (out[i].x - exact[i]) / (double)tree->sigma;
        out[i].d /= (double)tree->sigma;
    }
    return 0;
}

int form_terms(Form *f, const double *x, double *term)
{
    SCOPED(memory_drop) Dual *out = memory_new(f->forest->count, sizeof *out);
    if (!out) return ERR_MEMORY;
    TRY(defects(f, f->forest, 0, x, SIZE_MAX, out));
    for (size_t i = 0; i < f->forest->count; i++) term[i] = out[i].x;
    return 0;
}

/* Computes the conditions at x, c (conditions), or with J their derivatives by x[j], in its column. */
static int plain_conditions(Form *f, const double *x, size_t j, double *c, double *J)
{
    Dual *out = f->work + (f->table->points + 2) * f->table->evals +
                f->forest->count * (f->table->points + 1);
    TRY(defects(f, f->low, table_over(f->table, OP_H), x, j, out));
    for (size_t i = 0; i < f->conditions; i++)
        if (J)
            J[i * f->n + j] = out[f->tree[i]].d;
        else
            c[i] = out[f->tree[i]].x;
    return 0;
}

/* ---- forms --------------------------------------------------------------------------------------------- */

/* Lists the trees of the conditions, and makes room. */
static int choose_trees(Form *f)
{
    const Table *t = f->table;
    const int alone = table_over(t, OP_H);
    f->plain = is_plain(t);
    f->tree = memory_new(f->low->count, sizeof *f->tree);
    f->work = memory_new((t->points + 2) * t->evals + f->forest->count * (t->points + 2),
                         sizeof *f->work);
    if (!f->tree || !f->work) return ERR_MEMORY;
    f->conditions = 0;
    for (size_t i = 0; i < f->low->count; i++)
        if (!alone || tree_is_F(f->low, i)) f->tree[f->conditions++] = i;
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
    out->table = table_copy(scheme);
    out->defect = memory_new(out->low->count + 1, sizeof(mpq_t));
    if (!out->table || !out->defect) return ERR_MEMORY;
    for (size_t i = 0; i <= out->low->count; i++) mpq_init(out->defect[i]);
    return scheme->flows ? count_brackets(out) : choose_trees(out);
}

void form_free(Form *f)
{
    for (size_t i = 0; f->defect && i <= f->low->count; i++) mpq_clear(f->defect[i]);
    memory_free(f->defect);
    forest_free(f->forest);
    forest_free(f->low);
    table_free(f->table);
    memory_free_all(f->tree, f->work);
    *f = (Form){0};
}

void form_values(const Form *f, double *x)
{
    for (size_t i = 0; i < f->n; i++) x[i] = table_double(f->table->symbol[i].start);
}

/* Errors of steps that grow in number are no method's, however small its leading error is: no figure is there. */
static int check_zero_stable(const Table *t)
{
    int stable, on_circle;
    if (!table_past(t)) return 0;
    TRY(stability_roots(t, &stable, &on_circle));
    return stable ? 0 : error_set(ERR_ACCURACY, "%s is not zero-stable", t->name);
}

/* Some values of free coefficients keep what is carried for ever, as v' = a*v + k1 does at 1: no figure is there. */
static int check_carried(const Table *t)
{
    if (!t->carries) return 0;
    SCOPED(rationals_drop) mpq_t *held = rationals_new(t->carries);
    if (!held) return ERR_MEMORY;
    int code = carried_states(t, held);
    return code == ERR_INPUT ? ERR_ACCURACY : code;
}

int form_at(Form *f, const double *x, Table **out)
{
    for (size_t i = 0; i < f->n; i++) mpq_set_d(f->table->symbol[i].start, x[i]);
    *out = table_freeze(f->table);
    if (!*out) return ERR_MEMORY;
    TRY(check_carried(*out));
    return check_zero_stable(*out);
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
    if (f->plain) return plain_conditions(f, x, SIZE_MAX, c, NULL);
    TRY(form_at(f, x, &t));
    if (t->flows) return bracket_conditions(f, t, c);
    TRY(theory_defect(f->low, t, f->defect, *empty));
    for (size_t i = 0; i < f->conditions; i++) c[i] = table_double(f->defect[f->tree[i]]);
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

/* Fills J, of a plain form by derivatives, else by forward differences. Defects are polynomials of exact numbers, so the step can be
 * small. */
static int fill_jacobian(Form *f, const unsigned char *fixed, double *x, Work *w)
{
    size_t m = f->conditions, n = f->n;
    const double step = 0x1p-26;
    for (size_t j = 0; j < n; j++) {
        double before = x[j];
        if (f->plain && !(fixed && fixed[j])) {
            TRY(plain_conditions(f, x, j, NULL, w->J));
            continue;
        }
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
