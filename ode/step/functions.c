/* functions.c: applies functions of a derivative A to increments r.
 *
 * phi_J(c h A) r comes from exponential.c, by the action of A, which is that of derivative.c. For the stages of Rosenbrock
 * methods and W-methods (1 - c h A) x = r is solved. A is the derivative of some operators' sum at the state y where the
 * step begins, by central differences: up to LU_MOST unknowns a matrix, made once a step and factored once for each c;
 * beyond, GMRES takes its action (derivative.c), and where coordinates see near ones alone a banded matrix (band.c), made
 * once a step too, is its preconditioner. For W it is that of all operators where the run began, or where a step was
 * rejected. A field that depends on time is taken as autonomous, with t' = 1 beside y' = f: then the increment r has a
 * component tau h in t, its row's node, and A adds df/dt tau h (Hairer, Wanner 1996, IV.7, equations 7.4 and 7.25). A
 * W-method has its order for any matrix, also one without this part. */
#include "ode/step/functions.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/field/system.h"
#include "ode/scheme/rationals.h"
#include "ode/step/linear.h"

DROP(Functions, functions)

enum { RESTARTS = 10 };
static const double krylov_tolerance = 1e-9; /* near what differences along directions have */

/* A derivative of some colours and one set. */
typedef struct {
    int ops, set, w; /* w: 1: it is W */
    int known;
    size_t evals; /* of its operators */
    Eval eval[COLOURS];
    double t, *y;    /* where it was taken; y (N) */
    double *J;       /* (N, N); NULL: not dense */
    double *by_time; /* (COLOURS, N), of fields that depend on time */
} Taken;

/* The matrix 1 - c h A of stages with one derivative and one c. */
typedef struct {
    size_t of;   /* its derivative */
    double c, h; /* h: it is factored for that; 0: it is not */
    double *LU;  /* (N, N); NULL: not dense */
    size_t *pivot;
    Band band; /* without LU */
} Matrix;

struct Functions {
    const Table *t;
    const System *s;
    size_t N, points, taken, matrices;
    size_t probes, unspent;  /* values of fields for finding bands; those not yet counted */
    Taken *derivative;       /* (points) room */
    Matrix *matrix;          /* (points) room */
    size_t *of;              /* (points): its matrix */
    double (*node)[COLOURS]; /* (points) */
    double *scratch;         /* (6 + COLOURS, N), the last COLOURS: offsets */
    Krylov krylov;
    /* The action of the matrix reads these. */
    Derivative A;
    double factor;
    Band *band;   /* NULL: no preconditioner */
    size_t count; /* values of fields */
    int failed;   /* the last system was not solved */
};

/* ---- making one ----------------------------------------------------------------------------------- */

static int add_derivative(Functions *m, int ops, int set, int w, int dense, size_t *at)
{
    for (*at = 0; *at < m->taken; ++*at) {
        const Taken *a = &m->derivative[*at];
        if (a->ops == ops && a->set == set && a->w == w) return 0;
    }
    Taken *a = &m->derivative[m->taken++];
    *a = (Taken){.ops = ops, .set = set, .w = w};
    for (int op = 0; op < COLOURS; op++)
        if (ops >> op & 1) a->eval[a->evals++] = (Eval){.op = op, .set = set};
    if (!(a->y = memory_new(m->N, sizeof(double)))) return ERR_MEMORY;
    if (m->s->timed && !w && !(a->by_time = memory_new(COLOURS, m->N * sizeof(double))))
        return ERR_MEMORY;
    if (dense && !(a->J = memory_new(m->N * m->N, sizeof(double)))) return ERR_MEMORY;
    return 0;
}

static int add_band(Functions *m, Matrix *x)
{
    static const int which[COLOURS] = {0, 1, 2};
    const Taken *a = &m->derivative[x->of];
    TRY(band_new(&x->band, m->s, a->eval, which, a->evals, 1, m->scratch));
    m->probes += x->band.probes;
    return 0;
}

static int add_point(Functions *m, size_t e, int dense)
{
    const Table *t = m->t;
    const Point *p = eval_point(t, (int)e);
    size_t at, point = (size_t)t->eval[e].point;
    double c = table_double(p->scale);
    RATIONAL(node);
    for (int op = 0; op < t->colours; op++) {
        table_time(t, p, op, node);
        m->node[point][op] = table_double(node);
    }
    int ops = point_fields(t, p) & ~m->s->absent;
    TRY(add_derivative(m, ops, t->eval[e].set, ops != (p->ops & ~m->s->absent), dense, &at));
    for (m->of[point] = 0; m->of[point] < m->matrices; m->of[point]++) {
        const Matrix *x = &m->matrix[m->of[point]];
        if (x->of == at && x->c == c) return 0;
    }
    Matrix *x = &m->matrix[m->matrices++];
    *x = (Matrix){.of = at, .c = c};
    if (!dense) return add_band(m, x);
    x->LU = memory_new(m->N * m->N, sizeof *x->LU);
    x->pivot = memory_new(m->N, sizeof *x->pivot);
    return x->LU && x->pivot ? 0 : ERR_MEMORY;
}

static int make(Functions *m, int dense)
{
    const Table *t = m->t;
    m->derivative = memory_new(t->points, sizeof *m->derivative);
    m->matrix = memory_new(t->points, sizeof *m->matrix);
    m->of = memory_new(t->points, sizeof *m->of);
    m->node = memory_new(t->points, sizeof *m->node);
    m->scratch = memory_new(6 + COLOURS, m->N * sizeof(double));
    if (!m->derivative || !m->matrix || !m->of || !m->node || !m->scratch) return ERR_MEMORY;
    for (size_t e = 0; e < t->evals; e++)
        if (eval_point(t, (int)e)->phi == PHI_SOLVE) TRY(add_point(m, e, dense));
    derivative_offsets(m->s, m->scratch, m->scratch + 6 * m->N);
    return dense || !m->taken ? 0 : krylov_new(&m->krylov, m->N);
}

int functions_new(const Table *t, const System *s, size_t dense, Functions **out)
{
    SCOPED(functions_drop) Functions *m = memory_new(1, sizeof *m);
    *out = NULL;
    if (!m) return ERR_MEMORY;
    m->t = t;
    m->s = s;
    m->N = s->n * s->d;
    TRY(make(m, m->N <= dense));
    *out = m;
    m = NULL;
    return 0;
}

void functions_free(Functions *m)
{
    if (!m) return;
    for (size_t i = 0; i < m->taken; i++) {
        memory_free_all(m->derivative[i].y, m->derivative[i].J, m->derivative[i].by_time);
    }
    for (size_t i = 0; i < m->matrices; i++) {
        memory_free(m->matrix[i].LU);
        memory_free(m->matrix[i].pivot);
        band_free(&m->matrix[i].band);
    }
    krylov_free(&m->krylov);
    memory_free_all(m->derivative, m->matrix, m->of, m->node, m->scratch, m);
}

void functions_begin(Functions *m)
{
    functions_forget(m, 0);
    functions_forget(m, 1);
    m->unspent = m->probes;
}

void functions_forget(Functions *m, int w)
{
    for (size_t i = 0; i < m->taken; i++)
        if (m->derivative[i].w == w) m->derivative[i].known = 0;
}

int functions_give(Functions *m, int ops, const double *J)
{
    int given = 0;
    for (size_t i = 0; i < m->taken; i++) {
        Taken *a = &m->derivative[i];
        if (!a->w || !a->J || a->ops != ops) continue;
        memcpy(a->J, J, m->N * m->N * sizeof *J);
        a->known = 1;
        for (size_t k = 0; k < m->matrices; k++)
            if (m->matrix[k].of == i) m->matrix[k].h = 0;
        given = 1;
    }
    return given;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* Sets and returns the steps of differences (N). */
static double *set_steps(Functions *m, const Taken *a)
{
    double scale = system_rms(m->N, a->y, NULL), *step = m->scratch + 2 * m->N;
    for (size_t i = 0; i < m->N; i++) step[i] = lu_difference(a->y[i], scale > 0 ? scale : 1);
    return step;
}

/* Computes J, operator by operator; the matrix that is factored last has room for one more. */
static void find_jacobian(Functions *m, Taken *a)
{
    size_t N = m->N;
    double *step = set_steps(m, a);
    Matrix *spare = &m->matrix[m->matrices - 1];
    spare->h = 0;
    memset(a->J, 0, N * N * sizeof *a->J);
    for (size_t k = 0; k < a->evals; k++) {
        differentials_jacobian(m->s, a->eval[k].op, a->set, a->t, step, a->y, m->scratch,
                               spare->LU);
        for (size_t i = 0; i < N * N; i++) a->J[i] += spare->LU[i];
    }
    m->count += 2 * N * a->evals;
}

/* Computes the derivatives in a band. */
static void find_band(Functions *m, Taken *a, Band *b)
{
    double *step = set_steps(m, a);
    for (size_t i = 0; i < a->evals; i++)
        band_derive(b, i, m->s, &a->eval[i], a->t, step, a->y, m->scratch);
    m->count += a->evals * band_calls(b);
}

/* Finds df/dt of one operator. */
static void find_by_time(Functions *m, Taken *a, int op)
{
    double step = lu_difference(a->t, 1), *plus = m->scratch, *minus = plus + m->N;
    m->s->field[op](m->s, a->set, a->t + step, a->y, plus);
    m->s->field[op](m->s, a->set, a->t - step, a->y, minus);
    for (size_t i = 0; i < m->N; i++)
        a->by_time[(size_t)op * m->N + i] = (plus[i] - minus[i]) / (2 * step);
    m->count += 2;
}

static void take(Functions *m, Taken *a, double t, const double *y)
{
    a->t = t;
    a->known = 1;
    memcpy(a->y, y, m->N * sizeof *y);
    if (a->J) find_jacobian(m, a);
    for (int op = 0; op < COLOURS && a->by_time; op++)
        if (a->ops >> op & 1) find_by_time(m, a, op);
    for (size_t i = 0; i < m->matrices; i++) {
        Matrix *x = &m->matrix[i];
        if (&m->derivative[x->of] != a) continue;
        x->h = 0;
        if (!a->J && !x->band.wide) find_band(m, a, &x->band);
    }
}

/* ---- solving ---------------------------------------------------------------------------------------- */

static void refactor(const Functions *m, Matrix *x, double h)
{
    size_t N = m->N;
    const double *J = m->derivative[x->of].J;
    for (size_t i = 0; i < N * N; i++) x->LU[i] = (i % (N + 1) == 0) - x->c * h * J[i];
    lu_factor(N, x->LU, x->pivot);
    x->h = h;
}

static void refactor_band(const Functions *m, Matrix *x, double h)
{
    band_clear(&x->band);
    for (size_t i = 0; i < m->derivative[x->of].evals; i++) band_take(&x->band, i, 0, 0, x->c * h);
    band_factor(&x->band);
    x->h = h;
}

static void ease(void *functions, double *x)
{
    Functions *m = functions;
    band_solve(m->band, x);
}

/* Computes Ax = (1 - factor A) x. */
static void apply(void *functions, const double *x, double *Ax)
{
    Functions *m = functions;
    memcpy(Ax, x, m->N * sizeof *x);
    if (exponential_size(m->N, x) == 0 || m->A.ops == 0) return;
    double *action = m->scratch + 3 * m->N;
    derivative_act(&m->A, x, action);
    m->count += derivative_evals(&m->A);
    for (size_t i = 0; i < m->N; i++) Ax[i] -= m->factor * action[i];
}

/* Solves by the action; b (N) is lost. */
static void solve_by_action(Functions *m, Matrix *matrix, double h, double *b, double *x)
{
    const Taken *a = &m->derivative[matrix->of];
    m->band = matrix->band.wide ? NULL : &matrix->band;
    if (m->band && matrix->h != h) refactor_band(m, matrix, h);
    m->A = (Derivative){m->s, a->ops, a->set, a->t, a->y, m->scratch + 6 * m->N, m->scratch};
    m->factor = matrix->c * h;
    m->krylov.apply = apply;
    m->krylov.precondition = m->band ? ease : NULL;
    m->krylov.arg = m;
    if (krylov_solve(&m->krylov, b, krylov_tolerance, RESTARTS, x) < 0) x[0] = NAN;
}

static void solve(Functions *m, int point, double t, double h, const double *y, const double *r,
                  double *x)
{
    size_t N = m->N;
    Matrix *matrix = &m->matrix[m->of[point]];
    Taken *a = &m->derivative[matrix->of];
    double factor = matrix->c * h, *b = a->J ? x : m->scratch + 4 * N;
    if (!a->known) take(m, a, t, y);
    memcpy(b, r, N * sizeof *b);
    for (int op = 0; op < COLOURS && a->by_time; op++)
        for (size_t i = 0; i < N && a->ops >> op & 1; i++)
            b[i] += factor * h * m->node[point][op] * a->by_time[(size_t)op * N + i];
    if (!a->J) {
        solve_by_action(m, matrix, h, b, x);
        return;
    }
    if (matrix->h != h) refactor(m, matrix, h);
    lu_substitute(N, matrix->LU, matrix->pivot, x);
}

size_t functions_apply(Functions *m, const Eval *e, double t, double h, const double *y,
                       const double *r, double *k)
{
    const Point *p = &m->t->point[e->point];
    size_t N = m->N;
    m->count = m->unspent;
    m->unspent = 0;
    if (p->phi == PHI_SOLVE) {
        solve(m, e->point, t, h, y, r, k);
        m->failed = isfinite(r[0]) && !isfinite(k[0]);
    } else {
        m->A = (Derivative){m->s, p->ops, e->set, t, y, m->scratch + 6 * N, m->scratch + 3 * N};
        m->count += derivative_evals(&m->A) * exponential_phi(N, derivative_act, &m->A, 0,
                                                              table_double(p->scale) * h,
                                                              p->phi - 1, r, k, m->scratch);
    }
    for (size_t i = 0; i < N; i++) k[i] /= h;
    return m->count;
}

int functions_failed(const Functions *m)
{
    return m->failed;
}
