/* growth.c: computes spectral radii of linearised steps.
 *
 * The step of a table on y' = A y + B y is linear in y. So the stepper is given the columns of E as d particles, which
 * do not see each other, and leaves those of R E. This needs no second reader of tables and takes any scheme of stages.
 *
 * Eigenvectors: differences leave a random error of 1e-9 in a Jacobian, which splits eigenvalues that
 * coincide (Davies 2007, Approximate diagonalization), so few matrices lack eigenvectors. V diag(mu) V^-1 is
 * compared with M all the same.
 */
#include "studies/theory/design/design.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_complex_math.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/quiet.h"

static const double accurate = 1e-6; /* V diag(mu) V^-1 against M, relative to the largest number */

/* ---- the growth of the flow ------------------------------------------------------------------------------ */

typedef struct {
    gsl_matrix *M;             /* (d, d) overwritten by the eigenvalues */
    gsl_matrix_complex *V, *L; /* (d, d) eigenvectors; their factors */
    gsl_matrix_complex *W, *X; /* (d, d) V^-1; f(mu) V^-1 */
    gsl_vector_complex *mu;    /* (d) */
    gsl_permutation *order;    /* (d) */
    gsl_eigen_nonsymmv_workspace *w;
} Modes;

static int modes_new(Modes *m, size_t d)
{
    *m = (Modes){gsl_matrix_alloc(d, d),         gsl_matrix_complex_alloc(d, d),
                 gsl_matrix_complex_alloc(d, d), gsl_matrix_complex_alloc(d, d),
                 gsl_matrix_complex_alloc(d, d), gsl_vector_complex_alloc(d),
                 gsl_permutation_alloc(d),       gsl_eigen_nonsymmv_alloc(d)};
    return m->M && m->V && m->L && m->W && m->X && m->mu && m->order && m->w
               ? 0
               : error_set(ERR_MEMORY, "out of memory");
}

static void modes_free(Modes *m)
{
    if (m->M) gsl_matrix_free(m->M);
    if (m->V) gsl_matrix_complex_free(m->V);
    if (m->L) gsl_matrix_complex_free(m->L);
    if (m->W) gsl_matrix_complex_free(m->W);
    if (m->X) gsl_matrix_complex_free(m->X);
    if (m->mu) gsl_vector_complex_free(m->mu);
    if (m->order) gsl_permutation_free(m->order);
    if (m->w) gsl_eigen_nonsymmv_free(m->w);
}

static gsl_complex itself(gsl_complex mu)
{
    return mu;
}

static gsl_complex shrunk(gsl_complex mu)
{
    return gsl_complex_rect(1 / fmax(1, exp(GSL_REAL(mu))), 0);
}

/* L := V diag(f(mu)) V^-1. Overwrites the factors. */
static void function(Modes *m, gsl_complex (*f)(gsl_complex mu))
{
    const gsl_complex one = {{1, 0}}, zero = {{0, 0}};
    gsl_matrix_complex_memcpy(m->X, m->W);
    for (size_t i = 0; i < m->mu->size; i++) {
        gsl_vector_complex_view row = gsl_matrix_complex_row(m->X, i);
        gsl_vector_complex_scale(&row.vector, f(gsl_vector_complex_get(m->mu, i)));
    }
    gsl_blas_zgemm(CblasNoTrans, CblasNoTrans, one, m->V, m->X, zero, m->L);
}

/* E (d, d) out: the transposed E(A + B). */
static int take_out(Modes *m, const double *A, const double *B, double *E)
{
    size_t d = m->M->size1;
    double size = 0, off = 0;
    int sign;
    for (size_t i = 0; i < d * d; i++) m->M->data[i] = A[i] + B[i];
    if (gsl_eigen_nonsymmv(m->M, m->mu, m->V, m->w) != 0)
        return error_set(ERR_ACCURACY, "the eigenvalues of a Jacobian do not converge");
    gsl_matrix_complex_memcpy(m->L, m->V);
    int bad = gsl_linalg_complex_LU_decomp(m->L, m->order, &sign);
    for (size_t i = 0; i < d; i++)
        bad |= !(gsl_complex_abs(gsl_matrix_complex_get(m->L, i, i)) > 0);
    if (!bad) bad = gsl_linalg_complex_LU_invert(m->L, m->order, m->W);
    if (!bad) function(m, itself);
    for (size_t i = 0; !bad && i < d * d; i++) {
        size = fmax(size, fabs(A[i] + B[i]));
        off = fabs(m->L->data[2 * i] - A[i] - B[i]) <= off ? off
                                                           : fabs(m->L->data[2 * i] - A[i] - B[i]);
    }
    if (bad || !(off <= accurate * size))
        return error_set(ERR_ACCURACY, "a token's Jacobian has too few eigenvectors");
    function(m, shrunk);
    for (size_t i = 0; i < d * d; i++) E[i] = m->L->data[2 * (i % d * d + i / d)];
    return 0;
}

/* ---- layers -------------------------------------------------------------------------------------------- */

static void layer_free(GrowthLayer *l)
{
    memory_free_all(l->A, l->B, l->E);
}

static int fill(GrowthLayer *l, size_t d, const double *A, const double *B)
{
    size_t all = l->tokens * d * d;
    SCOPED(modes_free) Modes m = {0};
    l->A = memory_new(all, sizeof *l->A);
    l->B = memory_new(all, sizeof *l->B);
    l->E = memory_new(all, sizeof *l->E);
    if (!l->A || !l->B || !l->E) return ERR_MEMORY;
    memcpy(l->A, A, all * sizeof *A);
    memcpy(l->B, B, all * sizeof *B);
    TRY(modes_new(&m, d));
    for (size_t at = 0; at < all; at += d * d) TRY(take_out(&m, A + at, B + at, l->E + at));
    return 0;
}

int growth_put(Growth *g, size_t d, size_t tokens, const double *A, const double *B)
{
    GrowthLayer l = {.tokens = tokens};
    TRY(memory_more(&g->layer, g->count, sizeof *g->layer));
    g->d = d;
    quiet_begin();
    int code = fill(&l, d, A, B);
    quiet_end();
    if (code == 0)
        g->layer[g->count++] = l;
    else
        layer_free(&l);
    return code;
}

int growth_add(Growth *g, Truncator *u, int layer)
{
    SCOPED(jacobian_free) Jacobian j = {0};
    TRY(truncator_jacobian(u, layer, &j));
    return growth_put(g, j.block, j.tokens, j.blocks[OP_F], j.blocks[OP_G]);
}

void growth_free(Growth *g)
{
    for (size_t i = 0; g && i < g->count; i++) layer_free(&g->layer[i]);
    if (g) g->layer = memory_free(g->layer), g->count = 0;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

typedef struct {
    System system;           /* its context is this Linear */
    const double *matrix[2]; /* (d, d) for F and G */
} Linear;

/* Computes dy_i = M y_i for every particle. */
static void multiply(const System *s, int op, const double *y, double *dy)
{
    const Linear *l = s->context;
    int n = (int)s->n, d = (int)s->d;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, n, d, d, 1, y, d, l->matrix[op], d, 0, dy,
                d);
}

static void linear_F(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    multiply(s, OP_F, y, dy);
}

static void linear_G(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    multiply(s, OP_G, y, dy);
}

typedef struct {
    Linear linear;
    Stepper *stepper;
    gsl_matrix *M;                  /* (d, d) R E */
    gsl_vector_complex *eigenvalue; /* (d) */
    gsl_eigen_nonsymm_workspace *w;
    double *most; /* (count) the largest radius of each layer */
} Work;

/* Finds rho(R E) of one token. */
static int radius(Work *w, const double *E, double *rho)
{
    size_t d = w->M->size1;
    TRY(stepper_begin(w->stepper, 0, 1, E, START_GIVEN, NULL));
    TRY(stepper_step(w->stepper));
    memcpy(w->M->data, stepper_state(w->stepper), d * d * sizeof(double));
    *rho = 0;
    if (gsl_eigen_nonsymm(w->M, w->eigenvalue, w->w) != 0)
        return error_set(ERR_ACCURACY, "the eigenvalues of a step do not converge");
    for (size_t i = 0; i < d; i++)
        *rho = fmax(*rho, gsl_complex_abs(gsl_vector_complex_get(w->eigenvalue, i)));
    return 0;
}

/* Finds the largest radius of a layer's tokens. */
static int largest(Work *w, const GrowthLayer *l, double *most)
{
    size_t dd = w->M->size1 * w->M->size2;
    *most = 0;
    for (size_t at = 0; at < l->tokens * dd; at += dd) {
        double rho = 0;
        w->linear.matrix[OP_F] = l->A + at;
        w->linear.matrix[OP_G] = l->B + at;
        TRY(radius(w, l->E + at, &rho));
        *most = fmax(*most, rho);
    }
    return 0;
}

static int work_new(const Growth *g, const Table *t, Work *w)
{
    w->M = gsl_matrix_alloc(g->d, g->d);
    w->eigenvalue = gsl_vector_complex_alloc(g->d);
    w->w = gsl_eigen_nonsymm_alloc(g->d);
    w->most = memory_new(g->count, sizeof *w->most);
    if (!w->M || !w->eigenvalue || !w->w || !w->most) return error_set(ERR_MEMORY, "out of memory");
    TRY(stepper_new(t, &w->linear.system, &w->stepper));
    return stepper_history(w->stepper) == 0
               ? 0
               : error_set(ERR_INPUT, "%s: growth is told of schemes without history", t->name);
}

static void work_free(Work *w)
{
    stepper_free(w->stepper);
    if (w->M) gsl_matrix_free(w->M);
    if (w->eigenvalue) gsl_vector_complex_free(w->eigenvalue);
    if (w->w) gsl_eigen_nonsymm_free(w->w);
    memory_free(w->most);
}

int growth_find(const Growth *g, const Table *t, double *growth)
{
    Work w = {.linear.system = {.name = "linear",
                                .title = "a layer, linearised at one token",
                                .source = "studies/theory/design/growth.c",
                                .n = g->d,
                                .d = g->d,
                                .field = {linear_F, linear_G},
                                .t_end = 1,
                                .h0 = 1,
                                .special = 1 << OP_F | 1 << OP_G,
                                .context = &w.linear}};
    quiet_begin();
    int code = work_new(g, t, &w);
    for (size_t k = 0; code == 0 && k < g->count; k++) code = largest(&w, &g->layer[k], &w.most[k]);
    quiet_end();
    if (code == 0) *growth = spread_of(w.most, g->count).median;
    work_free(&w);
    return code == ERR_NUMERIC ? error_set(ERR_ACCURACY, "%s: a step is not finite", t->name)
                               : code;
}
