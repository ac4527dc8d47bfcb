/* functions.c: applies functions of a derivative A to increments r.
 *
 * phi_J(c h A) r comes from exponential.c, by the action of A, which is that of derivative.c. Of a linear A with a known band, or
 * whole where its actions have taken as much in this run, the matrix is made once a run, to see whether it is symmetric and
 * where its eigenvalues are: then that takes far fewer actions. For the stages of Rosenbrock
 * methods and W-methods (1 - c h A) x = r is solved. A is the derivative of some operators' sum at the state y where the
 * step begins, by central differences or the system's own derivative: a matrix, banded where the system says which particles see each other and
 * whole up to LU_MOST unknowns (sparsity.c), made once a step and factored once for each c;
 * elsewhere, and where that is cheaper, GMRES takes its action (derivative.c), and where coordinates are seen to see near ones alone a banded matrix, made
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

enum { RESTARTS = 10, FEW = 64 }; /* FEW: unknowns of which a matrix is taken at once */
enum { W_NONE, W_KEPT, W_LINEAR };
static const double krylov_tolerance = 1e-9; /* near what differences along directions have */

/* A derivative of some colours and one set. */
typedef struct {
    int ops, set, w; /* w: W_KEPT: it is W; W_LINEAR: of phi functions, with J at 0 */
    int known;       /* it is that of this step */
    int derived;     /* so is J */
    int tries;       /* the action is tried before J is taken */
    size_t evals;    /* of its operators */
    Eval eval[COLOURS];
    double t, *y;    /* where it was taken; y (N) */
    Pattern pattern; /* of J, the sum over its operators; NULL where no matrix is kept */
    double *J;
    double *by_time; /* (COLOURS, N), of fields that depend on time */
    size_t acts;     /* of the field in this run, and what is known of J, of W_LINEAR */
    Spectrum spectrum;
} Taken;

/* The matrix 1 - c h A of stages with one derivative and one c. */
typedef struct {
    size_t of;   /* its derivative */
    double c, h; /* h: it is factored for that; 0: it is not */
    Factors factors;
} Matrix;

struct Functions {
    const Table *t;
    const System *s;
    size_t N, taken, matrices;
    size_t probes, unspent; /* values of fields for finding bands; those not yet counted */
    Taken *derivative;      /* (points) room */
    Matrix *matrix;         /* (points) room */
    size_t *of; /* (points): its matrix, or of phi functions its derivative, SIZE_MAX: none */
    double (*node)[COLOURS]; /* (points) */
    double *scratch;         /* (6 + COLOURS, N), the last COLOURS: offsets */
    double *part;            /* a J of one operator */
    size_t parts;            /* numbers that it has room for */
    Krylov krylov;
    /* The action of the matrix reads these. */
    Derivative A;
    double factor;
    Factors *easing;
    size_t count; /* values of fields */
    int failed;   /* the last system was not solved */
};

/* ---- making one ----------------------------------------------------------------------------------- */

static int add_derivative(Functions *m, int ops, int set, int w, size_t whole, size_t *at)
{
    static const int which[COLOURS] = {0, 1, 2};
    for (*at = 0; *at < m->taken; ++*at) {
        const Taken *a = &m->derivative[*at];
        if (a->ops == ops && a->set == set && a->w == w) return 0;
    }
    Taken *a = &m->derivative[m->taken++];
    *a = (Taken){.ops = ops, .set = set, .w = w};
    for (int op = 0; op < COLOURS; op++)
        if (ops >> op & 1) a->eval[a->evals++] = (Eval){.op = op, .set = set};
    if (!(a->y = memory_new(m->N, sizeof(double)))) return ERR_MEMORY;
    if (m->s->timed && w == W_NONE && !(a->by_time = memory_new(COLOURS, m->N * sizeof(double))))
        return ERR_MEMORY;
    pattern_find(&a->pattern, m->s, a->eval, which, a->evals, 1, whole, m->scratch);
    m->probes += a->pattern.probes;
    size_t size = pattern_size(&a->pattern);
    if (size > m->parts) {
        memory_free(m->part);
        if (!(m->part = memory_new(m->parts = size, sizeof(double)))) return ERR_MEMORY;
    }
    return size == 0 || (a->J = memory_new(size, sizeof(double))) ? 0 : ERR_MEMORY;
}

static int add_point(Functions *m, size_t e, size_t whole)
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
    int w = ops != (p->ops & ~m->s->absent) ? W_KEPT : W_NONE;
    TRY(add_derivative(m, ops, t->eval[e].set, w, whole, &at));
    for (m->of[point] = 0; m->of[point] < m->matrices; m->of[point]++) {
        const Matrix *x = &m->matrix[m->of[point]];
        if (x->of == at && x->c == c) return 0;
    }
    Matrix *x = &m->matrix[m->matrices++];
    *x = (Matrix){.of = at, .c = c};
    return factors_new(&x->factors, &m->derivative[at].pattern, 1);
}

static int add_linear(Functions *m, size_t e, size_t whole)
{
    const Point *p = eval_point(m->t, (int)e);
    int ops = p->ops & ~m->s->absent;
    size_t *at = &m->of[m->t->eval[e].point];
    *at = SIZE_MAX;
    if (ops == 0 || ops & ~m->s->special) return 0;
    return add_derivative(m, ops, m->t->eval[e].set, W_LINEAR, whole, at);
}

static int make(Functions *m, size_t whole)
{
    const Table *t = m->t;
    m->derivative = memory_new(t->points, sizeof *m->derivative);
    m->matrix = memory_new(t->points, sizeof *m->matrix);
    m->of = memory_new(t->points, sizeof *m->of);
    m->node = memory_new(t->points, sizeof *m->node);
    m->scratch = memory_new(6 + COLOURS, m->N * sizeof(double));
    if (!m->derivative || !m->matrix || !m->of || !m->node || !m->scratch) return ERR_MEMORY;
    for (size_t e = 0; e < t->evals; e++) {
        int phi = eval_point(t, (int)e)->phi;
        if (phi) TRY((phi == PHI_SOLVE ? add_point : add_linear)(m, e, whole));
    }
    derivative_offsets(m->s, m->scratch, m->scratch + 6 * m->N);
    int factored = 1;
    for (size_t i = 0; i < m->taken; i++) {
        const Pattern *p = &m->derivative[i].pattern;
        if (m->derivative[i].w != W_LINEAR)
            factored &= pattern_factors(p) && (p->kind != PATTERN_FULL || m->N <= FEW);
    }
    return factored ? 0 : krylov_new(&m->krylov, m->N);
}

int functions_new(const Table *t, const System *s, size_t whole, Functions **out)
{
    SCOPED(functions_drop) Functions *m = memory_new(1, sizeof *m);
    *out = NULL;
    if (!m) return ERR_MEMORY;
    m->t = t;
    m->s = s;
    m->N = s->n * s->d;
    TRY(make(m, whole));
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
    for (size_t i = 0; i < m->matrices; i++) factors_free(&m->matrix[i].factors);
    krylov_free(&m->krylov);
    memory_free_all(m->derivative, m->matrix, m->of, m->node, m->scratch, m->part, m);
}

void functions_begin(Functions *m)
{
    functions_forget(m, 0);
    functions_forget(m, 1);
    for (size_t i = 0; i < m->taken; i++) {
        Taken *a = &m->derivative[i];
        a->derived = a->known = 0;
        a->acts = 0;
        a->spectrum = (Spectrum){0};
        a->tries =
            a->w == W_NONE && a->pattern.kind == PATTERN_FULL && m->N > FEW && !m->s->jacobian;
    }
    m->unspent = m->probes;
}

void functions_forget(Functions *m, int w)
{
    for (size_t i = 0; i < m->taken; i++)
        if (m->derivative[i].w == w) m->derivative[i].known = 0;
}

int functions_give(Functions *m, int ops, const Pattern *pattern, const double *J)
{
    int given = 0;
    for (size_t i = 0; i < m->taken; i++) {
        Taken *a = &m->derivative[i];
        const Pattern *own = &a->pattern;
        if (a->w != W_KEPT || !a->J || a->ops != ops || own->kind != pattern->kind ||
            own->width != pattern->width || own->ring != pattern->ring)
            continue;
        memcpy(a->J, J, pattern_size(own) * sizeof *J);
        a->known = a->derived = 1;
        for (size_t k = 0; k < m->matrices; k++)
            if (m->matrix[k].of == i) m->matrix[k].h = 0;
        given = 1;
    }
    return given;
}

/* ---- derivatives ------------------------------------------------------------------------------------ */

/* Computes J, operator by operator, where that was not done; move: by these steps, or 0 where the state tells. */
static void find_jacobian(Functions *m, Taken *a, double move)
{
    if (a->derived) return;
    a->derived = 1;
    size_t size = pattern_size(&a->pattern);
    double scale = system_rms(m->N, a->y, NULL), *step = m->scratch + 3 * m->N;
    for (size_t i = 0; i < m->N; i++) step[i] = move > 0 ? move : lu_difference(a->y[i], scale);
    memset(a->J, 0, size * sizeof *a->J);
    for (size_t k = 0; k < a->evals; k++) {
        pattern_derive(&a->pattern, m->s, &a->eval[k], a->t, step, 0, a->y, m->scratch, m->part);
        for (size_t i = 0; i < size; i++) a->J[i] += m->part[i];
    }
    m->count += pattern_calls(&a->pattern, m->s, 0) * a->evals;
}

/* Finds df/dt of one operator. The difference is a small part of the step h, since the field may change within far less than the
 * time 1, but not one of few spacings of t. */
static void find_by_time(Functions *m, Taken *a, int op, double h)
{
    double step = fmin(lu_difference(a->t, 1), fmax(0x1p-10 * fabs(h), 0x1p-26 * fabs(a->t)));
    double *plus = m->scratch, *minus = plus + m->N;
    step = a->t + step - a->t;
    m->s->field[op](m->s, a->set, a->t + step, a->y, plus);
    m->s->field[op](m->s, a->set, a->t - step, a->y, minus);
    for (size_t i = 0; i < m->N; i++)
        a->by_time[(size_t)op * m->N + i] = (plus[i] - minus[i]) / (2 * step);
    m->count += 2;
}

static void take(Functions *m, Taken *a, double t, double h, const double *y)
{
    a->t = t;
    a->known = 1;
    memcpy(a->y, y, m->N * sizeof *y);
    a->derived = 0;
    for (int op = 0; op < COLOURS && a->by_time; op++)
        if (a->ops >> op & 1) find_by_time(m, a, op, h);
    for (size_t i = 0; i < m->matrices; i++)
        if (&m->derivative[m->matrix[i].of] == a) m->matrix[i].h = 0;
}

/* ---- solving ---------------------------------------------------------------------------------------- */

static void refactor(const Functions *m, Matrix *x, double h)
{
    factors_clear(&x->factors, m->s->d, m->s->mass);
    factors_take(&x->factors, m->derivative[x->of].J, 0, 0, x->c * h);
    factors_make(&x->factors);
    x->h = h;
}

static void ease(void *functions, double *x)
{
    Functions *m = functions;
    factors_solve(m->easing, x);
}

/* Computes Ax = (1 - factor A) x. */
static void apply(void *functions, const double *x, double *Ax)
{
    Functions *m = functions;
    memcpy(Ax, x, m->N * sizeof *x);
    if (m->s->mass) system_mass(m->s, x, Ax);
    if (exponential_size(m->N, x) == 0 || m->A.ops == 0) return;
    double *action = m->scratch + 3 * m->N;
    derivative_act(&m->A, x, action);
    m->count += derivative_evals(&m->A);
    for (size_t i = 0; i < m->N; i++) Ax[i] -= m->factor * action[i];
}

/* Solves by the action; b (N) is lost. Returns whether it did, with so many restarts. */
static int solve_by_action(Functions *m, Matrix *matrix, double h, int restarts, double *b,
                           double *x)
{
    Taken *a = &m->derivative[matrix->of];
    int eased = a->pattern.kind == PATTERN_NEAR;
    m->easing = &matrix->factors;
    if (eased) find_jacobian(m, a, 0);
    if (eased && matrix->h != h) refactor(m, matrix, h);
    m->A = (Derivative){m->s, a->ops, a->set, a->t, a->y, m->scratch + 6 * m->N, m->scratch};
    m->factor = matrix->c * h;
    m->krylov.apply = apply;
    m->krylov.precondition = eased ? ease : NULL;
    m->krylov.arg = m;
    return krylov_solve(&m->krylov, b, krylov_tolerance, restarts, x) >= 0;
}

/* Computes b (N) = r + c h^2 sum of tau_op df_op/dt. */
static void form(const Functions *m, int point, double h, const double *r, double *b)
{
    const Matrix *matrix = &m->matrix[m->of[point]];
    const Taken *a = &m->derivative[matrix->of];
    memcpy(b, r, m->N * sizeof *b);
    for (int op = 0; op < COLOURS && a->by_time; op++)
        for (size_t i = 0; i < m->N && a->ops >> op & 1; i++)
            b[i] += matrix->c * h * h * m->node[point][op] * a->by_time[(size_t)op * m->N + i];
}

/* Where the pattern of A is not told and J would be for this step alone, a field that is not stiff needs few actions, and a J of
 * many unknowns costs more: J is taken from where GMRES does not come through in one space. */
static void solve(Functions *m, int point, double t, double h, const double *y, const double *r,
                  double *x)
{
    Matrix *matrix = &m->matrix[m->of[point]];
    Taken *a = &m->derivative[matrix->of];
    double *b = m->scratch + 4 * m->N;
    if (!a->known) take(m, a, t, h, y);
    if (a->tries || !pattern_factors(&a->pattern)) {
        form(m, point, h, r, b);
        if (solve_by_action(m, matrix, h, a->tries ? 0 : RESTARTS, b, x)) return;
        if (!a->tries) x[0] = NAN;
        if (!a->tries) return;
        a->tries = 0;
    }
    form(m, point, h, r, x);
    find_jacobian(m, a, 0);
    if (matrix->h != h) refactor(m, matrix, h);
    factors_solve(&matrix->factors, x);
}

/* ---- phi functions ---------------------------------------------------------------------------------- */

/* Finds what is known of a linear A from its matrix, once that costs no more than the actions so far, or little. */
static void find_spectrum(Functions *m, Taken *a)
{
    const Pattern *p = &a->pattern;
    if (a->known || !pattern_factors(p) || (p->kind == PATTERN_FULL && a->acts < p->N)) return;
    Spectrum x = {0};
    a->known = 1;
    memset(a->y, 0, m->N * sizeof *a->y);
    find_jacobian(m, a, 1);
    if (pattern_symmetric(p, a->J, &x.low, &x.high)) a->spectrum = x;
}

/* Computes k = phi_J(c h A) r, not yet by h. */
static void apply_phi(Functions *m, const Eval *e, double t, double h, const double *y,
                      const double *r, double *k)
{
    const Point *p = &m->t->point[e->point];
    size_t N = m->N, of = m->of[e->point];
    Taken *a = of < SIZE_MAX ? &m->derivative[of] : NULL;
    if (a) find_spectrum(m, a);
    m->A = (Derivative){m->s, p->ops, e->set, t, y, m->scratch + 6 * N, m->scratch + 3 * N};
    size_t acts = exponential_phi(N, derivative_act, &m->A, a ? a->spectrum : (Spectrum){0},
                                  table_double(p->scale) * h, p->phi - 1, r, k, m->scratch);
    m->count += derivative_evals(&m->A) * acts;
    if (a) a->acts += acts;
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
        apply_phi(m, e, t, h, y, r, k);
    }
    for (size_t i = 0; i < N; i++) k[i] /= h;
    return m->count;
}

int functions_failed(const Functions *m)
{
    return m->failed;
}
