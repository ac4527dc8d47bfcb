/* mass.c: M y' = f(t, y) with a constant M that may be singular: which schemes can take a step of it, and from where.
 *
 * A slope is then of one of two kinds. A stage that is solved for, by Newton's method or as solve(c H)(r), has a derivative,
 * k = h y': its points satisfy M (Y - known) = h A f(Y), and k = A^-1 (Y - known). An explicit stage H(...) has a value f, which is M
 * y', and no y' where M is singular. So values may stand in the increment r of a stage solve(c H)(r) alone, which solves (M
 * - c h J) k = r, and where derivatives stand in it they are multiplied by M (Hairer, Wanner 1996, IV.7 and VI.1). A
 * scheme that adds values to a state is refused; of those in which no stage is explicit, or which solve for all that they add, each
 * algebraic equation of index 1 is met at every point that is solved for, and at the new state where the last point is that.
 *
 * d(h) = (M - h J)^-1 h f at the initial state is O(h) where that is consistent. Where it is not, the pencil M - h J is regular and its index is 1, d
 * goes to the correction by a step of Newton's method to the nearest consistent state along the null space of M. Where the index is higher
 * (M - h J)^-1 M grows like 1/h or faster. */
#include "ode/step/linear.h"

#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/field/system.h"

/* ---- schemes ------------------------------------------------------------------------------------------ */

static int refuse(const Table *t, const char *why)
{
    return error_set(
        ERR_INPUT,
        "scheme %s cannot take steps of M y' = f(y) with a mass matrix M, as it %s; radau-iia5, bdf, "
        "implicit-euler, rodas4 and ros2 can",
        t->name, why);
}

/* Returns whether all slopes of a row are derivatives; solved: whether points are in solved blocks. */
static int is_of_derivatives(const Table *t, const Row *r, const int *block, const int *solved)
{
    for (size_t i = 0; i < r->terms; i++) {
        int e = r->term[i].eval;
        if (e == TABLE_STATE) continue;
        const Point *p = eval_point(t, e);
        if (p->phi != PHI_SOLVE && !solved[block[t->eval[e].point]]) return 0;
    }
    return 1;
}

int mass_takes(const System *s, const Table *t)
{
    size_t blocks;
    if (!s->mass) return 0;
    if (t->flows || system_apart(t)) return refuse(t, "tells the parts F and G apart");
    if (t->past_k) return refuse(t, "reads slopes of the past");
    if (t->carries) return refuse(t, "carries quantities besides y");
    for (int op = 0; op < t->colours; op++)
        if (fabs(table_double(t->weight[op]) - 1) > 0x1p-50)
            return refuse(t, "has weights of its own");
    SCOPED(memory_drop) int *block = memory_new(2 * t->points, sizeof *block);
    if (!block) return ERR_MEMORY;
    int *solved = block + t->points, derivatives = 1;
    TRY(table_blocks(t, block, solved, &blocks));
    for (size_t p = 0; p < t->points; p++) {
        if (t->point[p].phi && t->point[p].phi != PHI_SOLVE) return refuse(t, "has phi functions");
        if (!t->point[p].phi) derivatives &= is_of_derivatives(t, &t->point[p].row, block, solved);
    }
    derivatives &= is_of_derivatives(t, &t->update, block, solved) &&
                   is_of_derivatives(t, &t->error, block, solved);
    return derivatives ? 0 : refuse(t, "has an explicit stage in its points or its update");
}

int mass_singular(const System *s, int *singular)
{
    size_t d = s->d;
    int sign;
    double least = INFINITY, most = 0;
    *singular = 0;
    if (!s->mass) return 0;
    SCOPED(memory_drop) double *copy = memory_new(d, d * sizeof *copy);
    gsl_permutation *p = copy ? gsl_permutation_alloc(d) : NULL;
    if (!p) return ERR_MEMORY;
    memcpy(copy, s->mass, d * d * sizeof *copy);
    gsl_matrix_view M = gsl_matrix_view_array(copy, d, d);
    gsl_linalg_LU_decomp(&M.matrix, p, &sign);
    gsl_permutation_free(p);
    for (size_t i = 0; i < d; i++) {
        least = fmin(least, fabs(copy[i * d + i]));
        most = fmax(most, fabs(copy[i * d + i]));
    }
    *singular = !(least > 1e-12 * most);
    return 0;
}

/* ---- the initial state --------------------------------------------------------------------------------- */

/* What a check of the initial state works with, of N numbers each. */
typedef struct {
    const System *s;
    size_t N;
    Factors *m;
    const double *J; /* of the operators that count, one after the other */
    size_t Js;
    double *f, *x, *b, *work;
} Check;

/* Makes M - h J. */
static void make(Check *c, double h)
{
    size_t size = pattern_size(&c->m->pattern);
    factors_clear(c->m, c->s->d, c->s->mass);
    for (size_t i = 0; i < c->Js; i++) factors_take(c->m, c->J + i * size, 0, 0, h);
    factors_make(c->m);
}

/* Returns by how much the solution of a system is off whose solution is known. */
static double off(Check *c, double h)
{
    size_t size = pattern_size(&c->m->pattern);
    double worst = 0;
    for (size_t i = 0; i < c->N; i++) c->x[i] = 1 + (double)(i * 7 % 11) / 11;
    system_mass(c->s, c->x, c->b);
    for (size_t k = 0; k < c->Js; k++) {
        pattern_multiply(&c->m->pattern, c->J + k * size, c->x, c->work);
        for (size_t i = 0; i < c->N; i++) c->b[i] -= h * c->work[i];
    }
    make(c, h);
    factors_solve(c->m, c->b);
    for (size_t i = 0; i < c->N; i++) {
        double d = fabs(c->b[i] / c->x[i] - 1);
        if (!(d <= worst)) worst = d;
    }
    return worst;
}

/* Computes d (N) = (M - h J)^-1 h f; returns the largest entry of (M - h J)^-1 M x in size. */
static double jump(Check *c, double h, double *d)
{
    make(c, h);
    for (size_t i = 0; i < c->N; i++) d[i] = h * c->f[i];
    factors_solve(c->m, d);
    for (size_t i = 0; i < c->N; i++) c->x[i] = 1 + (double)(i * 7 % 11) / 11;
    system_mass(c->s, c->x, c->b);
    factors_solve(c->m, c->b);
    return exponential_size(c->N, c->b);
}

/* Tells of the coordinate that is off most. */
static int not_consistent(const Check *c, const double *d)
{
    size_t k = 0, dim = c->s->d;
    for (size_t i = 0; i < c->N; i++)
        if (fabs(d[i]) / (1 + fabs(c->s->initial[i])) > fabs(d[k]) / (1 + fabs(c->s->initial[k])))
            k = i;
    size_t i = k / dim + 1, at = k % dim + 1;
    char name[48];
    if (c->s->n == 1 || dim == 1)
        snprintf(name, sizeof name, "y%zu", k + 1);
    else
        snprintf(name, sizeof name, "y%zu_%zu", i, at);
    return error_set(
        ERR_INPUT,
        "system %s: the initial state does not satisfy the equations without derivatives: "
        "%s is %g there; to first order %.7g satisfies them",
        c->s->name, name, c->s->initial[k],
        fabs(c->s->initial[k] + d[k]) < 1e-7 * (1 + fabs(d[k])) ? 0 : c->s->initial[k] + d[k]);
}

static int check(Check *c, double size)
{
    const double singular = 1e-5, enough = 1e-7;
    double most = exponential_size(c->s->d * c->s->d, c->s->mass);
    double h = (most > 0 ? most : 1) / (size > 0 ? size : 1);
    SCOPED(memory_drop) double *d = memory_new(2 * c->N, sizeof *d);
    if (!d) return ERR_MEMORY;
    if (!(off(c, h) <= singular) && !(off(c, 0.37 * h) <= singular))
        return error_set(
            ERR_INPUT,
            "system %s: M - h J is singular at the initial state for every h: its equations do "
            "not determine y'",
            c->s->name);
    double small = 1e-4 * h, first = jump(c, small, d + c->N), then = jump(c, small / 16, d);
    if (!(then <= 4 * first + 4))
        return error_set(
            ERR_INPUT,
            "system %s: its index is above 1 at the initial state: the equations without "
            "derivatives do not determine what has none",
            c->s->name);
    int consistent = 1;
    for (size_t i = 0; i < c->N; i++) {
        d[i] = (16 * d[i] - d[c->N + i]) / 15; /* free of the part O(h) */
        consistent &= fabs(d[i]) <= enough * (1 + fabs(c->s->initial[i]));
    }
    return consistent ? 0 : not_consistent(c, d);
}

int mass_check(const System *s)
{
    static const int which[COLOURS] = {0, 1, 2};
    size_t N = s->n * s->d;
    Pattern p;
    SCOPED(factors_free) Factors m = {0};
    Check c = {.s = s, .N = N, .m = &m};
    Eval eval[COLOURS];
    if (!s->mass) return 0;
    for (int op = 0; op < OP_C; op++)
        if (system_counts(s, op)) eval[c.Js++] = (Eval){.op = op, .set = 1};
    SCOPED(memory_drop) double *work = memory_new(9, N * sizeof *work);
    if (!work) return ERR_MEMORY;
    pattern_find(&p, s, eval, which, c.Js, 1, LU_MOST, work);
    if (!pattern_factors(&p)) return 0; /* too many to be looked at */
    SCOPED(memory_drop) double *J = memory_new(c.Js, pattern_size(&p) * sizeof *J);
    if (!J) return ERR_MEMORY;
    TRY(factors_new(&m, &p, 1));
    double scale = system_rms(N, s->initial, NULL), size = 0, *y = work + 3 * N, *step = y + N;
    for (size_t i = 0; i < N; i++) {
        y[i] = s->initial[i];
        step[i] = lu_difference(y[i], scale);
    }
    for (size_t k = 0; k < c.Js; k++)
        pattern_derive(&p, s, &eval[k], 0, step, 0, y, work, J + k * pattern_size(&p));
    for (size_t i = 0; i < c.Js * pattern_size(&p); i++) size = fmax(size, fabs(J[i]));
    c.J = J;
    c.f = step + N;
    c.x = c.f + N;
    c.b = c.x + N;
    c.work = c.b + N;
    system_sum(s, system_ops(s), 1, 0, y, c.f, work);
    return check(&c, size);
}
