/* search.c: runs Nelder and Mead's simplex on the manifold of the order conditions. */
#include "studies/theory/design/design.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/base/progress.h"

static const double refused = 1e30; /* the simplex takes only finite numbers */
static const double widest = 4;     /* coefficients stay in [-widest, widest] */

int objective_at(Form *f, const SearchOptions *o, const double *x, double *figure)
{
    TABLE(t);
    SCOPED(memory_drop) double *term = NULL;
    for (size_t i = 0; i < f->n; i++)
        if (!(fabs(x[i]) <= widest))
            return error_set(ERR_ACCURACY, "a coefficient is out of [-%g, %g]", widest, widest);
    if (f->plain && o->objective->terms) {
        if (!(term = memory_new(f->forest->count, sizeof *term))) return ERR_MEMORY;
        TRY(form_terms(f, x, term));
    } else {
        TRY(form_at(f, x, &t));
    }
    TRY(o->objective->figure(&(Against){f->forest, f->order, o->fields, term}, t, figure));
    return isfinite(*figure) ? 0 : error_set(ERR_ACCURACY, "no finite figure");
}

int search_stopped(const SearchOptions *o)
{
    return o->stop && *o->stop;
}

/* Evaluates the objective at the simplex's point, after moving it to where the conditions hold. Points that move to the
 * same place differ by their distances from it, so that the simplex shrinks onto it. */
static double evaluate(const gsl_vector *free, void *data)
{
    Simplex *u = data;
    double figure = 0, away = 0;
    if (u->code != 0 || search_stopped(u->options)) return refused;
    u->search->evaluations++;
    for (size_t i = 0, k = 0; i < u->form->n; i++)
        u->at[i] = u->fixed[i] ? u->x[i] : gsl_vector_get(free, k++);
    memcpy(u->asked, u->at, u->form->n * sizeof *u->at);
    int code = form_project(u->form, u->fixed, u->at);
    if (code == 0) code = objective_at(u->form, u->options, u->at, &figure);
    if (code == ERR_ACCURACY) return refused;
    double value = u->options->objective->sign * figure;
    if (code == 0 && value < u->best) {
        u->best = value;
        memcpy(u->least, u->at, u->form->n * sizeof *u->at);
    }
    u->code = code;
    for (size_t i = 0; i < u->form->n; i++)
        away += (u->asked[i] - u->at[i]) * (u->asked[i] - u->at[i]);
    if (u->told)
        progress_of(u->search->evaluations, u->options->evaluations,
                    "start %zu, evaluation %zu: %g", u->start + 1, u->search->evaluations,
                    u->options->objective->sign * u->best);
    return value + (1e-2 + fabs(value)) * away;
}

/* Runs one simplex, until it is small or `most` evaluations are made. */
static int descend(Simplex *u, gsl_multimin_fminimizer *m, gsl_vector *at, gsl_vector *step,
                   double size, size_t most)
{
    gsl_multimin_function g = {evaluate, at->size, u};
    for (size_t i = 0, k = 0; i < u->form->n; i++)
        if (!u->fixed[i]) gsl_vector_set(at, k++, u->x[i]);
    gsl_vector_set_all(step, size);
    if (gsl_multimin_fminimizer_set(m, &g, at, step) != 0) return ERR_NUMERIC;
    while (u->code == 0 && u->search->evaluations < most && !search_stopped(u->options))
        if (gsl_multimin_fminimizer_iterate(m) != 0 || gsl_multimin_fminimizer_size(m) < 1e-8)
            break;
    return u->code;
}

int simplex_run(Simplex *u, double size, size_t most)
{
    size_t n = 0;
    for (size_t i = 0; i < u->form->n; i++) n += !u->fixed[i];
    if (n == 0) return 0;
    gsl_vector *at = gsl_vector_alloc(n), *step = gsl_vector_alloc(n);
    gsl_multimin_fminimizer *m =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, n);
    int code = at && step && m ? 0 : error_set(ERR_MEMORY, "out of memory");
    for (double before = INFINITY;
         code == 0 && u->search->evaluations < most && !search_stopped(u->options);) {
        code = descend(u, m, at, step, size, most);
        if (!isfinite(u->best)) break;
        memcpy(u->x, u->least, u->form->n * sizeof *u->x);
        if (!(before - u->best > 1e-10 * (fabs(u->best) + 1e-3))) break;
        before = u->best;
        size /= 4;
    }
    if (m) gsl_multimin_fminimizer_free(m);
    if (at) gsl_vector_free(at);
    if (step) gsl_vector_free(step);
    return code;
}

int simplex_new(Form *f, const SearchOptions *o, Search *s, Simplex *u)
{
    size_t n = f->n;
    *u = (Simplex){.form = f, .options = o, .search = s, .best = INFINITY};
    u->x = memory_new(4 * n, sizeof *u->x);
    u->fixed = memory_new(n, 1);
    if (!u->x || !u->fixed) return ERR_MEMORY;
    u->at = u->x + n;
    u->asked = u->x + 2 * n;
    u->least = u->x + 3 * n;
    return 0;
}

void simplex_free(Simplex *u)
{
    memory_free(u->x);
    memory_free(u->fixed);
}

/* Runs start k: the form's own values, then normal draws about them. */
static int try_start(Simplex *u, const double *own, size_t k)
{
    Search *s = u->search;
    const SearchOptions *o = u->options;
    size_t n = u->form->n, share = o->evaluations / o->starts;
    for (size_t i = 0; i < n; i++) u->x[i] = own[i] + (k ? .5 * random_normal(o->seed, k, i) : 0);
    u->start = k;
    u->best = INFINITY;
    TRY(simplex_run(u, .25, s->evaluations + (share ? share : 1)));
    if (!(u->best < o->objective->sign * s->figure) && isfinite(s->figure)) return 0;
    if (!isfinite(u->best)) return 0;
    s->figure = o->objective->sign * u->best;
    s->start = k;
    memcpy(s->x, u->least, n * sizeof *s->x);
    return 0;
}

int search_run(Form *f, const SearchOptions *o, Search *out)
{
    Simplex u;
    *out = (Search){.figure = NAN, .n = f->n};
    out->x = memory_new(f->n, sizeof *out->x);
    out->rounded = memory_new(f->n, sizeof(mpq_t));
    SCOPED(memory_drop) double *own = memory_new(f->n, sizeof *own);
    if (!out->x || !out->rounded || !own) {
        out->n = 0;
        return ERR_MEMORY;
    }
    for (size_t i = 0; i < f->n; i++) mpq_init(out->rounded[i]);
    form_values(f, own);
    int code = simplex_new(f, o, out, &u);
    u.told = 1;
    for (size_t k = 0; code == 0 && k < o->starts && !search_stopped(o); k++)
        code = try_start(&u, own, k);
    out->searched = out->evaluations;
    simplex_free(&u);
    progress_clear();
    if (code == 0 && !isfinite(out->figure) && search_stopped(o))
        return error_set(ERR_INTERRUPTED, "interrupted before coefficients of order %d were found",
                         f->order);
    if (code == 0 && !isfinite(out->figure))
        code = error_set(
            ERR_ACCURACY,
            "%s: no start reached coefficients of order %d with a finite objective: give more "
            "--starts, other starting values, or a lower --order",
            f->table->name, f->order);
    return code;
}

void search_free(Search *s)
{
    for (size_t i = 0; s->rounded && i < s->n; i++) mpq_clear(s->rounded[i]);
    memory_free(s->rounded);
    memory_free(s->x);
    *s = (Search){0};
}
