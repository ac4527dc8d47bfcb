/* implicit.c: solves for the stages of a step that need one another's slopes, block by block (block.c). The
 * points of a block satisfy
 *
 *     Y_p = known_p + h sum over its evaluations e of a_pe f_e(Y_point(e)),
 *
 * and the unknowns are the Y_p. Newton's method takes the derivatives J_e of the block's own operators, so in an IMEX
 * scheme it never solves for the explicit operator. The slopes are k_e = f_e(Y) + J_e d, d the last correction, and not
 * values at the corrected point: where h |J| is large these would multiply the rounding of Y by it (Hairer, Wanner
 * 1996, IV.8).
 *
 * Up to LU_MOST unknowns J_e are matrices by central differences, and are kept as long as the iteration
 * contracts by REFRESH or better, over steps too; the matrix is factored anew where they or h change. Beyond,
 * corrections come from GMRES (krylov.c) with differences along directions; where coordinates see near ones alone the
 * banded matrix (band.c) is its preconditioner, with derivatives that are kept until GMRES takes more vectors. An
 * iteration ends where the error left, the
 * contraction times the last correction, is below rounding, 2^-53 of the RMS of Y, or where corrections below ENOUGH no
 * longer fall. */
#include "ode/step/implicit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/field/system.h"
#include "ode/step/linear.h"

DROP(Implicit, implicit)

enum { TURNS = 60, RESTARTS = 10 };
enum { SLOWER = 2 }; /* times as many vectors end the use of derivatives */
static const double refresh = 0.1, enough = 0x1p-38, rounding = 0x1p-53;
static const double krylov_tolerance = 1e-5;

typedef struct {
    size_t points, evals; /* numbers of those in it */
    int *point, *eval;
    int solved;
    double *matrix; /* (points N)^2 factored; NULL: not dense */
    size_t *pivot;
    Band band;       /* without a dense matrix */
    int first, last; /* vectors that GMRES took with derivatives just found, and the last time */
    double h;        /* the matrix is of this step; 0: of none */
} Block;

struct Implicit {
    const System *s;
    size_t N, points, evals, largest; /* largest: points of a block */
    double *a;                        /* (points, evals) weights of this step's slopes */
    double *node;                     /* (evals) */
    Eval *eval;
    int *place; /* (points) in its block */
    size_t blocks;
    Block *block;
    double **J;                /* (evals) each (N, N); NULL: never asked for */
    double *Y, *base, *r, *d;  /* (largest, N) */
    double *step, *f, *w, *jd; /* (N), (2, N), (N), (N) scratch */
    Krylov krylov;
    size_t count, probes; /* values of fields; those of finding bands */
    /* The action of the matrix reads these. */
    Block *now;
    double t, h, scale;
};

/* ---- making one ----------------------------------------------------------------------------------- */

static int make_lists(Implicit *m, const Table *t, const int *of, const int *solved)
{
    for (size_t b = 0; b < m->blocks; b++) {
        Block *x = &m->block[b];
        x->solved = solved[b];
        x->point = memory_new(m->points, sizeof *x->point);
        x->eval = memory_new(m->evals, sizeof *x->eval);
        if (!x->point || !x->eval) return ERR_MEMORY;
        for (size_t p = 0; p < m->points; p++) {
            if (of[p] != (int)b) continue;
            m->place[p] = (int)x->points;
            x->point[x->points++] = (int)p;
        }
        for (size_t e = 0; e < m->evals; e++)
            if (of[t->eval[e].point] == (int)b) x->eval[x->evals++] = (int)e;
        if (x->points > m->largest) m->largest = x->points;
    }
    return 0;
}

static void read_rows(Implicit *m, const Table *t)
{
    for (size_t p = 0; p < m->points; p++)
        for (size_t i = 0; i < t->point[p].row.terms; i++) {
            const Term *s = &t->point[p].row.term[i];
            if (s->eval == TABLE_STATE || s->past) continue;
            m->a[p * m->evals + (size_t)s->eval] = table_double(s->c);
        }
    for (size_t e = 0; e < m->evals; e++) {
        m->eval[e] = t->eval[e];
        m->node[e] = table_node(t, &t->point[t->eval[e].point], t->eval[e].op);
    }
}

static int make_dense(Implicit *m)
{
    for (size_t b = 0; b < m->blocks; b++) {
        Block *x = &m->block[b];
        size_t n = x->points * m->N;
        if (!x->solved) continue;
        x->matrix = memory_new(n * n, sizeof *x->matrix);
        x->pivot = memory_new(n, sizeof *x->pivot);
        if (!x->matrix || !x->pivot) return ERR_MEMORY;
        for (size_t i = 0; i < x->evals; i++)
            if (!(m->J[x->eval[i]] = memory_new(m->N * m->N, sizeof(double)))) return ERR_MEMORY;
    }
    return 0;
}

static int make_bands(Implicit *m)
{
    for (size_t b = 0; b < m->blocks; b++) {
        Block *x = &m->block[b];
        x->band.wide = 1;
        if (!x->solved) continue;
        TRY(band_new(&x->band, m->s, m->eval, x->eval, x->evals, x->points, m->step));
        m->probes += x->band.probes;
    }
    return krylov_new(&m->krylov, m->largest * m->N);
}

/* dense: most unknowns of a block that are solved for by matrices. */
static int make(Implicit *m, const Table *t, size_t dense, int *of, int *solved)
{
    size_t unknowns = 0;
    TRY(table_blocks(t, of, solved, &m->blocks));
    m->block = memory_new(m->blocks, sizeof *m->block);
    m->a = memory_new(m->points * m->evals, sizeof *m->a);
    m->node = memory_new(m->evals, sizeof *m->node);
    m->eval = memory_new(m->evals, sizeof *m->eval);
    m->place = memory_new(m->points, sizeof *m->place);
    m->J = memory_new(m->evals, sizeof *m->J);
    if (!m->block || !m->a || !m->node || !m->eval || !m->place || !m->J) return ERR_MEMORY;
    TRY(make_lists(m, t, of, solved));
    read_rows(m, t);
    for (size_t b = 0; b < m->blocks; b++)
        if (solved[b] && m->block[b].points > unknowns) unknowns = m->block[b].points;
    size_t n = m->largest * m->N;
    m->Y = memory_new(4 * n + 6 * m->N, sizeof *m->Y);
    if (!m->Y) return ERR_MEMORY;
    m->base = m->Y + n;
    m->r = m->base + n;
    m->d = m->r + n;
    m->step = m->d + n;
    m->f = m->step + m->N;
    m->w = m->f + 2 * m->N;
    m->jd = m->w + m->N;
    return unknowns * m->N > dense ? make_bands(m) : make_dense(m);
}

int implicit_new(const Table *t, const System *s, size_t dense, Implicit **out)
{
    SCOPED(implicit_drop) Implicit *m = memory_new(1, sizeof *m);
    SCOPED(memory_drop) int *of = memory_new(2 * t->points, sizeof *of);
    *out = NULL;
    if (!m || !of) return ERR_MEMORY;
    m->s = s;
    m->N = s->n * s->d;
    m->points = t->points;
    m->evals = t->evals;
    TRY(make(m, t, dense, of, of + t->points));
    *out = m;
    m = NULL;
    return 0;
}

void implicit_free(Implicit *m)
{
    if (!m) return;
    for (size_t b = 0; m->block && b < m->blocks; b++) {
        memory_free_all(m->block[b].point, m->block[b].eval, m->block[b].matrix, m->block[b].pivot);
        band_free(&m->block[b].band);
    }
    for (size_t e = 0; m->J && e < m->evals; e++) memory_free(m->J[e]);
    krylov_free(&m->krylov);
    memory_free_all(m->block, m->a, m->node, m->eval, m->place, m->J, m->Y, m);
}

void implicit_begin(Implicit *m)
{
    for (size_t b = 0; b < m->blocks; b++) m->block[b].h = 0;
    m->count = m->probes;
}

/* ---- one block ---------------------------------------------------------------------------------------- */

static double *point_of(const Implicit *m, double *x, int e)
{
    return x + (size_t)m->place[m->eval[e].point] * m->N;
}

static int has_matrix(const Block *b)
{
    return b->matrix || !b->band.wide;
}

static double weight(const Implicit *m, int p, int e)
{
    return m->a[(size_t)p * m->evals + (size_t)e];
}

static void derive(Implicit *m, Block *b)
{
    size_t N = m->N;
    for (size_t i = 0; i < b->evals; i++) {
        int e = b->eval[i];
        double *y = point_of(m, m->Y, e);
        double t = m->t + m->node[e] * m->h;
        for (size_t c = 0; c < N; c++) m->step[c] = lu_difference(y[c], m->scale);
        m->count += b->matrix ? 2 * N : band_calls(&b->band);
        if (b->matrix)
            differentials_jacobian(m->s, m->eval[e].op, m->eval[e].set, t, m->step, y, m->f,
                                   m->J[e]);
        else
            band_derive(&b->band, i, m->s, &m->eval[e], t, m->step, y, m->f);
    }
}

static void assemble_band(const Implicit *m, Block *b)
{
    band_clear(&b->band);
    for (size_t p = 0; p < b->points; p++)
        for (size_t i = 0; i < b->evals; i++) {
            double a = m->h * weight(m, b->point[p], b->eval[i]);
            size_t q = (size_t)m->place[m->eval[b->eval[i]].point];
            if (a != 0) band_take(&b->band, i, p, q, a);
        }
    band_factor(&b->band);
}

static void assemble_dense(const Implicit *m, Block *b)
{
    size_t N = m->N, n = b->points * N;
    memset(b->matrix, 0, n * n * sizeof(double));
    for (size_t i = 0; i < n; i++) b->matrix[i * n + i] = 1;
    for (size_t p = 0; p < b->points; p++)
        for (size_t i = 0; i < b->evals; i++) {
            int e = b->eval[i];
            double a = m->h * weight(m, b->point[p], e);
            size_t q = (size_t)m->place[m->eval[e].point];
            for (size_t r = 0; r < N && a != 0; r++)
                for (size_t c = 0; c < N; c++)
                    b->matrix[(p * N + r) * n + q * N + c] -= a * m->J[e][r * N + c];
        }
    lu_factor(n, b->matrix, b->pivot);
}

static void assemble(const Implicit *m, Block *b)
{
    if (b->matrix)
        assemble_dense(m, b);
    else
        assemble_band(m, b);
    b->h = m->h;
}

/* Computes jd (N) = J_e v, v (N). */
static void along(Implicit *m, int e, const double *v)
{
    size_t N = m->N;
    double size = system_rms(N, v, NULL), t = m->t + m->node[e] * m->h;
    const double *y = point_of(m, m->Y, e);
    if (m->J[e]) {
        for (size_t r = 0; r < N; r++) {
            m->jd[r] = 0;
            for (size_t c = 0; c < N; c++) m->jd[r] += m->J[e][r * N + c] * v[c];
        }
        return;
    }
    memset(m->jd, 0, N * sizeof(double));
    if (!(size > 0)) return;
    double c = lu_difference(0, m->scale) / size;
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < N; i++) m->w[i] = y[i] + (side ? -c : c) * v[i];
        m->s->field[m->eval[e].op](m->s, m->eval[e].set, t, m->w, m->f + (size_t)side * N);
    }
    for (size_t i = 0; i < N; i++) m->jd[i] = (m->f[i] - m->f[N + i]) / (2 * c);
    m->count += 2;
}

/* Computes Ax = (1 - h a J) x of the block in hand. */
static void apply(void *arg, const double *x, double *Ax)
{
    Implicit *m = arg;
    const Block *b = m->now;
    memcpy(Ax, x, b->points * m->N * sizeof *Ax);
    for (size_t i = 0; i < b->evals; i++) {
        int e = b->eval[i];
        along(m, e, x + (size_t)m->place[m->eval[e].point] * m->N);
        for (size_t p = 0; p < b->points; p++) {
            double a = m->h * weight(m, b->point[p], e);
            for (size_t c = 0; c < m->N && a != 0; c++) Ax[p * m->N + c] -= a * m->jd[c];
        }
    }
}

static void ease(void *arg, double *x)
{
    const Implicit *m = arg;
    band_solve(&m->now->band, x);
}

/* Adds h sum of a_pe k_e over some evaluations to out (N). */
static void add_slopes(const Implicit *m, int p, const int *eval, size_t evals, const double *k,
                       double *out)
{
    for (size_t i = 0; i < evals; i++) {
        double a = m->h * weight(m, p, eval[i]);
        const double *x = k + (size_t)eval[i] * m->N;
        for (size_t c = 0; c < m->N && a != 0; c++) out[c] += a * x[c];
    }
}

static void evaluate(Implicit *m, const Block *b, double *k)
{
    for (size_t i = 0; i < b->evals; i++) {
        int e = b->eval[i];
        m->s->field[m->eval[e].op](m->s, m->eval[e].set, m->t + m->node[e] * m->h,
                                   point_of(m, m->Y, e), k + (size_t)e * m->N);
        m->count += (size_t)system_counts(m->s, m->eval[e].op);
    }
}

static void correct(Implicit *m, Block *b, const double *k)
{
    size_t N = m->N, n = b->points * N;
    memcpy(m->r, m->base, n * sizeof(double));
    for (size_t p = 0; p < b->points; p++)
        add_slopes(m, b->point[p], b->eval, b->evals, k, m->r + p * N);
    for (size_t i = 0; i < n; i++) m->r[i] -= m->Y[i];
    if (has_matrix(b) && b->h != m->h) assemble(m, b);
    if (b->matrix) {
        memcpy(m->d, m->r, n * sizeof(double));
        lu_substitute(n, b->matrix, b->pivot, m->d);
    } else {
        m->krylov.n = n;
        m->krylov.apply = apply;
        m->krylov.precondition = b->band.wide ? NULL : ease;
        m->krylov.arg = m;
        b->last = abs(krylov_solve(&m->krylov, m->r, krylov_tolerance, RESTARTS, m->d));
    }
}

/* Moves the slopes to the corrected point: k_e += J_e d. */
static void finish(Implicit *m, const Block *b, double *k)
{
    for (size_t i = 0; i < b->evals; i++) {
        int e = b->eval[i];
        along(m, e, point_of(m, m->d, e));
        for (size_t c = 0; c < m->N; c++) k[(size_t)e * m->N + c] += m->jd[c];
    }
}

/* Runs Newton's iteration from Y = base. Returns 1: it met; 0: it did not; -1: not finite. */
static int iterate(Implicit *m, Block *b, double *k)
{
    size_t n = b->points * m->N;
    double last = INFINITY, size;
    int fresh = 0; /* the derivatives are those at this Y */
    for (int turn = 0; turn < TURNS; turn++, last = size) {
        double length = fmax(system_rms(n, m->Y, NULL), system_rms(n, m->base, NULL));
        m->scale = length > 0 ? length : 1;
        evaluate(m, b, k);
        if (has_matrix(b) && b->h == 0) derive(m, b), fresh = 1;
        correct(m, b, k);
        if (fresh) b->first = b->last;
        if (b->last > SLOWER * (b->first + 1)) b->h = 0;
        size = system_rms(n, m->d, NULL) / m->scale;
        if (!isfinite(size)) return -1;
        double rate = size / last;
        if (b->matrix && rate > refresh && !fresh && size > enough) {
            b->h = 0; /* the same point again, by derivatives there */
            size = last;
            continue;
        }
        fresh = 0;
        int again = isfinite(last); /* a rate is known */
        int met = size <= rounding || (again && rate < 0.5 && rate * size <= rounding) ||
                  (again && rate >= 0.5 && size <= enough);
        if (met) {
            finish(m, b, k);
            return 1;
        }
        for (size_t i = 0; i < n; i++) m->Y[i] += m->d[i];
    }
    return 0;
}

static int solve(Implicit *m, Block *b, const double *known, double *k)
{
    size_t N = m->N;
    m->now = b;
    for (size_t p = 0; p < b->points; p++) {
        double *base = m->base + p * N;
        memcpy(base, known + (size_t)b->point[p] * N, N * sizeof *base);
        for (const Block *x = m->block; x < b; x++)
            add_slopes(m, b->point[p], x->eval, x->evals, k, base);
    }
    memcpy(m->Y, m->base, b->points * N * sizeof(double));
    if (!b->solved) {
        evaluate(m, b, k);
        return 0;
    }
    int met = iterate(m, b, k);
    if (met > 0) return 0;
    b->h = 0;
    return error_set(ERR_NUMERIC,
                     met < 0
                         ? "the implicit stages of a step of h = %g at t = %g are not finite: "
                           "take smaller steps"
                         : "the implicit stages of a step of h = %g at t = %g were not found by "
                           "Newton's method: take smaller steps",
                     m->h, m->t);
}

int implicit_solve(Implicit *m, double t, double h, const double *known, double *k, size_t *evals)
{
    int code = 0;
    m->t = t;
    m->h = h;
    for (size_t b = 0; b < m->blocks && code == 0; b++) code = solve(m, &m->block[b], known, k);
    *evals += m->count;
    m->count = 0;
    return code;
}
