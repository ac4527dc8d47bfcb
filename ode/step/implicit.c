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
 * Where the system says which particles see each other, on grids, J_e are banded matrices, and up to LU_MOST unknowns whole ones (sparsity.c), by
 * central differences or by the system's own derivative. They are kept as long as the iteration
 * contracts by REFRESH or better, over steps too; the matrix is factored anew where they or h change. Elsewhere
 * corrections come from GMRES (krylov.c) with differences along directions; where coordinates are seen to see near ones alone the
 * banded matrix is its preconditioner, with derivatives that are kept until GMRES takes more vectors. An
 * iteration ends where the error left, the
 * contraction times the last correction, is below rounding, 2^-53 of the RMS of Y, or where corrections below ENOUGH no
 * longer fall.
 *
 * In steps by tolerance that is more than is asked for, where the estimate of the error is filtered by a resolvent (a
 * stage solve(g W)(...)) or bounded on what is stiff. Then the iteration is RADAU5's (Hairer, Wanner 1996, IV.8). With |.| the RMS of a correction
 * over atol + rtol |y_n| it ends where
 *
 *     theta / (1 - theta) |d| <= kappa = min(0.03, sqrt(rtol)),   theta = |d| / |d of the turn before|,
 *
 * or where corrections below the rounding of |Y| no longer fall so fast. (To end as soon as they are below it would be too early, since
 * coordinates far below |Y| have digits left: on the reaction `oregonator` bdf took millions of steps at 1e-12.) The first turn
 * takes its theta / (1 - theta) from the step before, to the power 0.8, theta being the largest of that iteration: the last, which RADAU5
 * takes, is 0 where the last correction is, and then a first turn by an old J_e would pass whatever it corrects. With a mass matrix it is 1, since what
 * algebraic equations have left stands in the next estimate, however short the step. Where stages come one after another kappa is at most
 * 0.001: each begins at what the one before it tells, and with 0.03 is taken as that where a solution is about to leave for elsewhere, so that pairs
 * passed over the jumps of van der Pol's equation at a tolerance of 1e-3. Each J_e is one matrix for
 * all stages, at (t_n, y_n), by forward differences with the increments of CVODE, or
 * with a mass matrix of RADAU5, since CVODE's vanish beside numbers of size 1. It is kept over steps until an
 * iteration of more than two turns contracts by less than 1/1000, or does not end; then it is taken anew and the
 * iteration begins again, and where J_e was new the step fails. Points that need one another begin on the polynomial
 * through the state and the points of the step before, which collocation methods have anyway; a single one at its row
 * of known slopes and, behind the first, that of the stage before in place of its own. Stages of equal weights share the factors of
 * one matrix. The formulas of backward.c begin at their predictor, and there J_e is that at its time and state; their kappa
 * does not depend on the tolerance (adapt.c).
 *
 * With d the correction by any J_e, base + h A k = Y + d holds to rounding, so y' is made of the slopes as always, and what the
 * iteration leaves is not multiplied by h |J|. An explicit slope f(y_n) is: therefore a step takes the slope at y_n from the stage
 * before that ended there, where there is one (Hosea, Shampine 1996), and estimates that grow with h |J| keep stages to rounding. */
#include "ode/step/implicit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/field/system.h"
#include "ode/step/linear.h"

DROP(Implicit, implicit)

enum { TURNS = 60, RESTARTS = 10, LOOSE_TURNS = 7, BEGUN_TURNS = 4 };
enum { SLOWER = 2 }; /* times as many vectors end the use of derivatives */
static const double refresh = 0.1, enough = 0x1p-38, rounding = 0x1p-53;
static const double krylov_tolerance = 1e-5;

typedef struct {
    size_t points, evals; /* numbers of those in it */
    int *point, *eval;
    int solved, function; /* function: its one stage is one of a derivative */
    Factors factors;
    int first, last; /* vectors that GMRES took with derivatives just found, and the last time */
    double h;        /* the matrix is of this step; 0: of none */
    /* The block whose matrix serves this one: itself, or, where loosened and matrices are factored, an equal one before. */
    size_t like;
    /* Of loosened blocks: theta / (1 - theta) of the step before, theta its largest; Y - y_n (points, N) of the step found last and of the
     * one taken last, NULL: they are not kept. */
    double eta, *tried, *taken;
    double *inverse; /* (points, points) of its weights, where there is a mass matrix */
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
    Pattern pattern;           /* of all J_e */
    double **J;                /* (evals) as the pattern says; NULL: never asked for */
    double *Y, *base, *r, *d;  /* (largest, N) */
    double *step, *f, *w, *jd; /* (N), (2, N), (N), (N) scratch */
    Krylov krylov;
    Functions *functions; /* of stages with a derivative; NULL: there are none */
    /* Loosened: whose tolerance, kappa; the step taken last, 0: of none; whether J_e are known, and those at y_n. */
    const AdaptOptions *o;
    double kappa, before;
    int loose, known, current, slow; /* slow: an iteration of the step found last was */
    int begins; /* iterations begin at y, whose time is the stages', and derivatives are kept as long as they end */
    double share; /* kappa of these; 0: by the tolerance */
    /* (evals) at the first stage, where that is the slope at y_n, the evaluation of the stage whose point is y_n+1, whose
     * slope it is in the next step; NULL: there are no such stages. carried (evals, N): these slopes, if any are. */
    int *same, carries;
    double *carried;
    int given; /* the functions have their W from here */
    Newton newton;
    double *sum;          /* of all J_e, for the functions */
    const double *y, *k;  /* k: slopes of the step found last */
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
        x->eta = 1;
        x->like = b;
        x->point = memory_new(m->points, sizeof *x->point);
        x->eval = memory_new(m->evals, sizeof *x->eval);
        if (!x->point || !x->eval) return ERR_MEMORY;
        for (size_t p = 0; p < m->points; p++) {
            if (of[p] != (int)b) continue;
            m->place[p] = (int)x->points;
            x->point[x->points++] = (int)p;
            x->function = t->point[p].phi != 0;
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
            if (s->eval < 0 || s->past) continue;
            m->a[p * m->evals + (size_t)s->eval] = table_double(s->c);
        }
    for (size_t e = 0; e < m->evals; e++) {
        m->eval[e] = t->eval[e];
        m->node[e] = table_node(t, &t->point[t->eval[e].point], t->eval[e].op);
    }
}

/* Finds the inverse of a block's weights. A stage H has as many evaluations as there are operators, of one weight. */
static int invert(const Implicit *m, Block *b)
{
    size_t n = b->points;
    int singular = 0;
    SCOPED(memory_drop) double *A = memory_new(n, n * sizeof *A);
    SCOPED(memory_drop) double *x = memory_new(n, sizeof *x);
    SCOPED(memory_drop) size_t *pivot = memory_new(n, sizeof *pivot);
    b->inverse = memory_new(n, n * sizeof *b->inverse);
    if (!A || !x || !pivot || !b->inverse) return ERR_MEMORY;
    for (size_t p = 0; p < n; p++)
        for (size_t i = 0; i < b->evals; i++)
            A[p * n + (size_t)m->place[m->eval[b->eval[i]].point]] =
                m->a[(size_t)b->point[p] * m->evals + (size_t)b->eval[i]];
    lu_factor(n, A, pivot);
    for (size_t q = 0; q < n; q++) {
        memset(x, 0, n * sizeof *x);
        x[q] = 1;
        lu_substitute(n, A, pivot, x);
        for (size_t p = 0; p < n; p++) {
            b->inverse[p * n + q] = x[p];
            singular |= !(fabs(x[p]) < 1e8);
        }
    }
    if (!singular) return 0;
    return error_set(ERR_INPUT,
                     "the matrix of weights of the implicit stages is singular, so that M y' = "
                     "f(y) does not determine their slopes: take another scheme");
}

/* Finds where derivatives of solved blocks have entries, of which the largest has so many points, and makes room for them
 * and for matrices of them. */
static int make_matrices(Implicit *m, size_t points, size_t whole)
{
    size_t evals = 0;
    SCOPED(memory_drop) int *which = memory_new(m->evals, sizeof *which);
    if (!which) return ERR_MEMORY;
    for (size_t b = 0; b < m->blocks; b++)
        for (size_t i = 0; m->block[b].solved && i < m->block[b].evals; i++)
            which[evals++] = m->block[b].eval[i];
    if (evals == 0) return 0; /* all are explicit, or functions of derivatives */
    pattern_find(&m->pattern, m->s, m->eval, which, evals, points, whole, m->step);
    m->probes = m->pattern.probes;
    size_t size = pattern_size(&m->pattern);
    for (size_t i = 0; i < evals && size > 0; i++)
        if (!(m->J[which[i]] = memory_new(size, sizeof(double)))) return ERR_MEMORY;
    for (size_t b = 0; b < m->blocks; b++)
        if (m->block[b].solved)
            TRY(factors_new(&m->block[b].factors, &m->pattern, m->block[b].points));
    for (size_t b = 0; b < m->blocks && m->s->mass; b++)
        if (m->block[b].solved) TRY(invert(m, &m->block[b]));
    return pattern_factors(&m->pattern) ? 0 : krylov_new(&m->krylov, m->largest * m->N);
}

static int make(Implicit *m, const Table *t, size_t whole, int *of, int *solved)
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
    return make_matrices(m, unknowns, whole);
}

int implicit_new(const Table *t, const System *s, size_t whole, Implicit **out)
{
    SCOPED(implicit_drop) Implicit *m = memory_new(1, sizeof *m);
    SCOPED(memory_drop) int *of = memory_new(2 * t->points, sizeof *of);
    *out = NULL;
    if (!m || !of) return ERR_MEMORY;
    m->s = s;
    m->N = s->n * s->d;
    m->points = t->points;
    m->evals = t->evals;
    TRY(make(m, t, whole, of, of + t->points));
    *out = m;
    m = NULL;
    return 0;
}

void implicit_free(Implicit *m)
{
    if (!m) return;
    for (size_t b = 0; m->block && b < m->blocks; b++) {
        memory_free_all(m->block[b].point, m->block[b].eval, m->block[b].tried, m->block[b].taken,
                        m->block[b].inverse);
        factors_free(&m->block[b].factors);
    }
    for (size_t e = 0; m->J && e < m->evals; e++) memory_free(m->J[e]);
    krylov_free(&m->krylov);
    memory_free_all(m->block, m->a, m->node, m->eval, m->place, m->J, m->Y, m->sum, m->same,
                    m->carried, m);
}

void implicit_begin(Implicit *m)
{
    for (size_t b = 0; b < m->blocks; b++) m->block[b].h = 0, m->block[b].eta = 1;
    m->count = m->probes;
    m->known = m->current = m->given = m->carries = 0;
    m->before = 0;
    m->newton = (Newton){.most = m->begins ? BEGUN_TURNS : LOOSE_TURNS};
}

int implicit_by_action(const Implicit *m)
{
    return !pattern_factors(&m->pattern);
}

void implicit_functions(Implicit *m, Functions *f)
{
    m->functions = f;
}

static double node_of(const Implicit *m, int p)
{
    size_t e = 0;
    while (e + 1 < m->evals && m->eval[e].point != p) e++;
    return m->node[e];
}

/* Makes room for the points of the step before where they are distinct, and not y_n. */
static int keep_points(const Implicit *m, Block *b)
{
    size_t size = b->points * m->N;
    for (size_t p = 0; p < b->points; p++) {
        double c = node_of(m, b->point[p]);
        if (fabs(c) < 1e-3) return 0;
        for (size_t i = 0; i < p; i++)
            if (fabs(c - node_of(m, b->point[i])) < 1e-3) return 0;
    }
    b->tried = memory_new(size, sizeof *b->tried);
    b->taken = memory_new(size, sizeof *b->taken);
    return b->tried && b->taken ? 0 : ERR_MEMORY;
}

static double weight(const Implicit *m, int p, int e)
{
    return m->a[(size_t)p * m->evals + (size_t)e];
}

/* Finds whose factors serve a block of one point: those of the first with its weight and operators. */
static void find_like(Implicit *m, size_t b)
{
    const Block *x = &m->block[b], *y;
    for (size_t i = 0; i < b && x->solved && x->points == 1; i++) {
        int same = (y = &m->block[i])->solved && y->points == 1 && y->evals == x->evals;
        for (size_t k = 0; same && k < x->evals; k++)
            same = m->eval[x->eval[k]].op == m->eval[y->eval[k]].op &&
                   m->eval[x->eval[k]].set == m->eval[y->eval[k]].set &&
                   weight(m, x->point[0], x->eval[k]) == weight(m, y->point[0], y->eval[k]);
        if (!same) continue;
        m->block[b].like = i;
        return;
    }
}

int implicit_damps(const Implicit *m, const Row *error)
{
    static const double far[] = {-1e6, -1e9};
    size_t n = m->points;
    double size[2] = {0};
    SCOPED(memory_drop) double *A = memory_new(n * n + n, sizeof *A);
    SCOPED(memory_drop) size_t *pivot = memory_new(n, sizeof *pivot);
    for (int i = 0; i < 2 && A && pivot; i++) {
        double *x = A + n * n;
        for (size_t k = 0; k < n * n; k++) A[k] = k % (n + 1) == 0;
        for (size_t k = 0; k < n; k++) x[k] = 1;
        for (size_t e = 0; e < m->evals; e++)
            for (size_t p = 0; p < n && m->eval[e].op == OP_F; p++)
                A[p * n + (size_t)m->eval[e].point] -= far[i] * weight(m, (int)p, (int)e);
        lu_factor(n, A, pivot);
        lu_substitute(n, A, pivot, x);
        for (size_t k = 0; k < error->terms; k++) {
            const Eval *e = &m->eval[error->term[k].eval];
            if (e->op == OP_F) size[i] += far[i] * table_double(error->term[k].c) * x[e->point];
        }
    }
    return A && pivot && fabs(size[1]) <= 10 * (1 + fabs(size[0]));
}

/* Finds the evaluations whose slopes the first stage has from the step before. */
static int find_same(Implicit *m, const Table *t)
{
    const Row *first = &t->point[0].row, *end = &t->update;
    size_t p = t->points, found = 0, own = 0;
    while (p-- > 1 && !(row_equal(&t->point[p].row, end) && !t->point[p].phi)) {}
    if (!p || first->terms != 1 || !row_plain(first) || t->point[0].timed || m->same) return 0;
    m->same = memory_new(m->evals, sizeof *m->same);
    if (!m->same) return ERR_MEMORY;
    for (size_t e = 0; e < m->evals && t->eval[e].point == 0; e++, own++)
        for (size_t i = 0; i < m->evals; i++) {
            if (t->eval[i].point != (int)p || t->eval[i].op != t->eval[e].op ||
                t->eval[i].set != t->eval[e].set || m->node[i] != 1)
                continue;
            m->same[e] = (int)i;
            found++;
        }
    if (found != own) return 0;
    m->carried = memory_new(m->evals, m->N * sizeof *m->carried);
    return m->carried ? 0 : ERR_MEMORY;
}

int implicit_loosen(Implicit *m, const Table *t, const AdaptOptions *o)
{
    double tolerance = adapt_least(o, m->N), most = m->largest > 1 ? 0.03 : 0.001;
    m->loose = 1;
    m->o = o;
    m->kappa =
        fmax(10 * DBL_EPSILON / tolerance, m->share > 0 ? m->share : fmin(most, sqrt(tolerance)));
    for (size_t b = 0; b < m->blocks && pattern_factors(&m->pattern); b++) find_like(m, b);
    TRY(find_same(m, t));
    for (size_t b = 0; b < m->blocks; b++)
        if (m->block[b].points > 1 && !m->block[b].taken) TRY(keep_points(m, &m->block[b]));
    if (!m->functions || m->pattern.N == 0 || !pattern_factors(&m->pattern) || m->sum) return 0;
    m->sum = memory_new(pattern_size(&m->pattern), sizeof *m->sum);
    return m->sum ? 0 : ERR_MEMORY;
}

const Newton *implicit_newton(const Implicit *m)
{
    return m->loose ? &m->newton : NULL;
}

void implicit_from_state(Implicit *m, double share)
{
    m->share = share;
    m->begins = 1;
}

void implicit_move(Implicit *m)
{
    m->known = m->current = m->carries = 0;
    m->before = 0;
}

void implicit_follow(Implicit *m, const Implicit *from)
{
    m->carries = m->carried && from->carries;
    if (m->carries) memcpy(m->carried, from->carried, m->evals * m->N * sizeof *m->carried);
}

void implicit_accept(Implicit *m)
{
    m->current = 0;
    if (m->slow && !m->begins) m->known = 0;
    m->newton.kept = m->known;
    m->before = m->h;
    for (size_t e = 0; m->carried && e < m->evals && m->eval[e].point == 0; e++)
        memcpy(m->carried + e * m->N, m->k + (size_t)m->same[e] * m->N, m->N * sizeof *m->k);
    for (size_t b = 0; b < m->blocks; b++) {
        double *swap = m->block[b].tried;
        m->block[b].tried = m->block[b].taken;
        m->block[b].taken = swap;
    }
}

/* ---- one block ---------------------------------------------------------------------------------------- */

static double *point_of(const Implicit *m, double *x, int e)
{
    return x + (size_t)m->place[m->eval[e].point] * m->N;
}

static void derive(Implicit *m, const Block *b)
{
    for (size_t i = 0; i < b->evals; i++) {
        int e = b->eval[i];
        double *y = point_of(m, m->Y, e);
        double t = m->t + m->node[e] * m->h;
        if (!system_counts(m->s, m->eval[e].op)) {
            memset(m->J[e], 0, pattern_size(&m->pattern) * sizeof(double));
            continue;
        }
        for (size_t c = 0; c < m->N; c++) m->step[c] = lu_difference(y[c], m->scale);
        pattern_derive(&m->pattern, m->s, &m->eval[e], t, m->step, 0, y, m->f, m->J[e]);
        m->count += pattern_calls(&m->pattern, m->s, 0);
    }
}

static void assemble(const Implicit *m, Block *b)
{
    factors_clear(&b->factors, m->s->d, m->s->mass);
    for (size_t p = 0; p < b->points; p++)
        for (size_t i = 0; i < b->evals; i++) {
            int e = b->eval[i];
            double a = m->h * weight(m, b->point[p], e);
            if (a != 0)
                factors_take(&b->factors, m->J[e], p, (size_t)m->place[m->eval[e].point], a);
        }
    factors_make(&b->factors);
    b->h = m->h;
}

/* Computes jd (N) = J_e v, v (N). */
static void along(Implicit *m, int e, const double *v)
{
    size_t N = m->N;
    double size = system_rms(N, v, NULL), t = m->t + m->node[e] * m->h;
    const double *y = point_of(m, m->Y, e);
    if (pattern_factors(&m->pattern)) {
        pattern_multiply(&m->pattern, m->J[e], v, m->jd);
        return;
    }
    memset(m->jd, 0, N * sizeof(double));
    if (!(size > 0) || !system_counts(m->s, m->eval[e].op)) return;
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
    for (size_t p = 0; p < b->points && m->s->mass; p++)
        system_mass(m->s, x + p * m->N, Ax + p * m->N);
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
    factors_solve(&m->now->factors, x);
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

static void evaluate(Implicit *m, Block *b, double *k)
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
    for (size_t p = 0; p < b->points && m->s->mass; p++) {
        for (size_t i = p * N; i < (p + 1) * N; i++) m->d[i] = m->base[i] - m->Y[i];
        system_mass(m->s, m->d + p * N, m->r + p * N);
    }
    for (size_t p = 0; p < b->points; p++)
        add_slopes(m, b->point[p], b->eval, b->evals, k, m->r + p * N);
    for (size_t i = 0; i < n && !m->s->mass; i++) m->r[i] -= m->Y[i];
    Block *like = &m->block[b->like];
    if (m->pattern.kind != PATTERN_NONE && like->h != m->h) {
        assemble(m, like);
        m->newton.factors++;
    }
    if (pattern_factors(&m->pattern)) {
        memcpy(m->d, m->r, n * sizeof(double));
        factors_solve(&like->factors, m->d);
    } else {
        m->krylov.n = n;
        m->krylov.apply = apply;
        m->krylov.precondition = m->pattern.kind == PATTERN_NEAR ? ease : NULL;
        m->krylov.arg = m;
        b->last = abs(krylov_solve(&m->krylov, m->r, krylov_tolerance, RESTARTS, m->d));
    }
}

/* Makes the slopes those of M y' = f: h A k = Y + d - base. F and G of a stage H are one slope here. */
static void recover(const Implicit *m, const Block *b, double *k)
{
    size_t N = m->N;
    for (size_t i = 0; i < b->evals; i++) {
        int e = b->eval[i], again = i > 0 && m->eval[e].point == m->eval[b->eval[i - 1]].point;
        double *ke = k + (size_t)e * N;
        const double *row = b->inverse + (size_t)m->place[m->eval[e].point] * b->points;
        memset(ke, 0, N * sizeof *ke);
        for (size_t p = 0; p < b->points && !again; p++)
            for (size_t c = p * N; c < (p + 1) * N; c++)
                ke[c - p * N] += row[p] / m->h * (m->Y[c] + m->d[c] - m->base[c]);
    }
}

/* Moves the slopes to the corrected point: k_e += J_e d. */
static void finish(Implicit *m, const Block *b, double *k)
{
    if (m->s->mass) {
        recover(m, b, k);
        return;
    }
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
        m->scale = lu_scale(fmax(system_rms(n, m->Y, NULL), system_rms(n, m->base, NULL)));
        evaluate(m, b, k);
        if (m->pattern.kind != PATTERN_NONE && b->h == 0) derive(m, b), fresh = 1;
        correct(m, b, k);
        if (fresh) b->first = b->last;
        if (b->last > SLOWER * (b->first + 1)) b->h = 0;
        size = system_rms(n, m->d, NULL) / m->scale;
        if (!isfinite(size)) return -1;
        double rate = size / last;
        if (pattern_factors(&m->pattern) && rate > refresh && !fresh && size > enough) {
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

/* ---- one block by tolerance ---------------------------------------------------------------------------- */

/* Computes J of an operator at (t_n, y_n) by forward differences. Increments: Hindmarsh et al. 2005 (CVODE's); RADAU5's. */
static void differ(Implicit *m, const Eval *e, double *J)
{
    size_t N = m->N, calls = pattern_calls(&m->pattern, m->s, 1);
    double *y = m->jd, *f0 = m->f + N, sum = 0, t = m->begins ? m->t + m->h : m->t;
    memcpy(y, m->y, N * sizeof *y);
    if (calls == 0) {
        pattern_derive(&m->pattern, m->s, e, t, m->step, 1, y, m->f, J);
        return;
    }
    m->s->field[e->op](m->s, e->set, t, y, f0);
    for (size_t c = 0; c < N; c++) {
        double scaled = f0[c] / adapt_scale(m->o, c, fabs(y[c]));
        sum += scaled * scaled;
    }
    double least = 1000 * fabs(m->h) * DBL_EPSILON * (double)N * sqrt(sum / (double)N);
    for (size_t c = 0; c < N; c++) {
        double at = y[c];
        double d = fmax(sqrt(DBL_EPSILON) * fabs(at),
                        (least > 0 ? least : 1) * adapt_scale(m->o, c, fabs(at)));
        if (m->s->mass) d = sqrt(DBL_EPSILON * fmax(1e-5, fabs(at)));
        m->step[c] = at + (at < 0 ? -d : d) - at;
    }
    pattern_derive(&m->pattern, m->s, e, t, m->step, 1, y, m->f, J);
    m->count += calls + 1;
}

/* Finds every J_e at (t_n, y_n), one for all evaluations of an operator and a set, and gives their sum to the functions. */
static void take_jacobians(Implicit *m)
{
    size_t size = pattern_size(&m->pattern);
    int ops = 0;
    if (m->sum) memset(m->sum, 0, size * sizeof *m->sum);
    for (size_t e = 0, i; e < m->evals; e++) {
        if (!m->J[e]) continue;
        for (i = 0; i < e; i++)
            if (m->J[i] && m->eval[i].op == m->eval[e].op && m->eval[i].set == m->eval[e].set)
                break;
        if (i < e) {
            memcpy(m->J[e], m->J[i], size * sizeof(double));
            continue;
        }
        if (!system_counts(m->s, m->eval[e].op)) {
            memset(m->J[e], 0, size * sizeof(double));
            continue;
        }
        differ(m, &m->eval[e], m->J[e]);
        ops |= 1 << m->eval[e].op;
        for (i = 0; m->sum && i < size; i++) m->sum[i] += m->J[e][i];
    }
    for (size_t b = 0; b < m->blocks; b++) m->block[b].h = 0;
    m->known = m->current = 1;
    m->newton.jacobians++;
    m->given = m->sum && functions_give(m->functions, ops, &m->pattern, m->sum);
}

/* Moves the points of a block from their rows to the polynomial q through 0 and the points less y_n of the step taken
 * before, by `before`: Y_p = y_n + q(1 + c_p h / before) - q(1), in Lagrange's form. */
static void predict(const Implicit *m, const Block *b)
{
    size_t n = b->points, N = m->N;
    for (size_t p = 0; p < n; p++) {
        double *Y = m->Y + p * N, x = 1 + node_of(m, b->point[p]) * m->h / m->before;
        memcpy(Y, m->y, N * sizeof *Y);
        for (size_t j = 0; j < n; j++) {
            double cj = node_of(m, b->point[j]), at_x = x / cj, at_1 = 1 / cj;
            for (size_t i = 0; i < n; i++) {
                double ci = node_of(m, b->point[i]);
                if (i != j) at_x *= (x - ci) / (cj - ci), at_1 *= (1 - ci) / (cj - ci);
            }
            for (size_t c = 0; c < N; c++) Y[c] += (at_x - at_1) * b->taken[j * N + c];
        }
    }
}

/* Returns the RMS over a block of the correction over the tolerance. */
static double correction(const Implicit *m, const Block *b)
{
    size_t n = b->points * m->N;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        double scaled = m->d[i] / adapt_scale(m->o, i % m->N, fabs(m->y[i % m->N]));
        sum += scaled * scaled;
    }
    return sqrt(sum / (double)n);
}

/* Keeps what the steps behind need of an iteration that met. */
static void conclude(Implicit *m, Block *b, int turns, double rate)
{
    size_t n = b->points * m->N;
    m->slow |= turns > 2 && rate > 1e-3;
    if (turns > m->newton.turns) m->newton.turns = turns;
    for (size_t i = 0; b->tried && i < n; i++) b->tried[i] = m->Y[i] + m->d[i] - m->y[i % m->N];
}

/* Runs the simplified iteration from Y; returns what iterate does. */
static int loosely(Implicit *m, Block *b, double *k)
{
    size_t n = b->points * m->N;
    double last = 0, rate = 0, worst = 0,
           eta = m->s->mass ? 1 : pow(fmax(b->eta, DBL_EPSILON), 0.8);
    b->eta = 1;
    for (int turn = 1; turn <= m->newton.most; turn++) {
        m->scale = lu_scale(system_rms(n, m->Y, NULL));
        evaluate(m, b, k);
        if (m->pattern.kind == PATTERN_NEAR && b->h == 0) {
            derive(m, b);
            m->newton.jacobians++;
        }
        correct(m, b, k);
        double size = correction(m, b);
        if (!isfinite(size)) return -1;
        int slow = 0;
        if (turn > 1) {
            rate = size / last;
            worst = fmax(worst, rate);
            eta = rate < 0.99 ? rate / (1 - rate) : INFINITY;
            slow = pow(rate, m->newton.most - turn) * eta * size >= m->kappa;
        }
        if (slow && system_rms(n, m->d, NULL) > 4 * DBL_EPSILON * m->scale) return 0;
        last = size;
        if (slow || eta * size <= m->kappa) {
            finish(m, b, k);
            b->eta = slow ? 1 : worst > 0 ? worst / (1 - fmin(worst, 0.99)) : eta;
            conclude(m, b, turn, rate);
            return 1;
        }
        for (size_t i = 0; i < n; i++) m->Y[i] += m->d[i];
    }
    return 0;
}

/* Moves a single point from its row of known slopes on by its own slope, which is taken to be that of the stage before it. */
static void add_last(const Implicit *m, const Block *b, const double *k)
{
    for (size_t i = 0; i < b->evals; i++)
        for (size_t e = m->evals; e-- > 0;) {
            if ((int)e >= b->eval[0] || m->eval[e].op != m->eval[b->eval[i]].op) continue;
            double a = m->h * weight(m, b->point[0], b->eval[i]);
            for (size_t c = 0; c < m->N; c++) m->Y[c] += a * k[e * m->N + c];
            break;
        }
}

static int meet(Implicit *m, Block *b, double *k)
{
    size_t n = b->points * m->N;
    int direct = pattern_factors(&m->pattern);
    if (!m->loose) return iterate(m, b, k);
    for (int again = 0;; again++) {
        if (direct && !m->known) take_jacobians(m);
        if (m->begins) memcpy(m->Y, m->y, n * sizeof(double));
        if (b->taken && m->before > 0) predict(m, b);
        if (n == m->N && !m->begins && b > m->block && !m->s->mass) add_last(m, b, k);
        int met = loosely(m, b, k);
        if (met > 0 || again || (direct && m->current)) return met;
        m->known = 0;
        b->h = 0;
        memcpy(m->Y, m->base, n * sizeof(double));
    }
}

/* ---- all ------------------------------------------------------------------------------------------------ */

static void apply_function(Implicit *m, Block *b, double *k)
{
    int e = b->eval[0];
    m->count +=
        functions_apply(m->functions, &m->eval[e], m->t, m->h, m->y, m->base, k + (size_t)e * m->N);
}

/* Makes the increment of a stage solve(c H)(r) that of M y' = f: of slopes that are derivatives M times them. */
static void weigh(Implicit *m, const Block *b, const double *k)
{
    size_t N = m->N;
    memset(m->base, 0, N * sizeof(double));
    memset(m->d, 0, N * sizeof(double));
    for (const Block *x = m->block; x < b; x++)
        add_slopes(m, b->point[0], x->eval, x->evals, k, x->solved || x->function ? m->d : m->base);
    system_mass(m->s, m->d, m->r);
    for (size_t c = 0; c < N; c++) m->base[c] += m->r[c];
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
    if (b->function && m->s->mass) weigh(m, b, k);
    memcpy(m->Y, m->base, b->points * N * sizeof(double));
    if (!b->solved) {
        int first = m->carried && b->point[0] == 0;
        size_t bytes = b->evals * N * sizeof *k;
        if (first && m->carries) {
            memcpy(k, m->carried, bytes);
            return 0;
        }
        (b->function ? apply_function : evaluate)(m, b, k);
        if (first) memcpy(m->carried, k, bytes), m->carries = 1;
        return 0;
    }
    int met = meet(m, b, k);
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

int implicit_solve(Implicit *m, double t, double h, const double *y, const double *known, double *k,
                   size_t *evals)
{
    int code = 0;
    m->t = t;
    m->h = h;
    m->y = y;
    m->k = k;
    m->newton.turns = m->slow = 0;
    if (m->functions && !m->given) functions_forget(m->functions, 1);
    for (size_t b = 0; b < m->blocks && code == 0; b++) code = solve(m, &m->block[b], known, k);
    *evals += m->count;
    m->count = 0;
    return code;
}
