/* jacobian.c: the derivative of a layer's field at the state that enters it (ode/, differentials_jacobian).
 *
 * Central differences: with a step of e = 1e-5 of the state's size the
 * truncation is of the order e^2 and the rounding eps / e, both below 1e-9 of the Jacobian.
 * Attention of a language model or a decoder is causal, and feed-forward networks and cross-attention read one token
 * of it. So the first tokens are a system by themselves, and token i's block of rows is zero in the columns of later
 * tokens. An encoder's attention is not causal. Source: Golub, Van Loan 2013, 7.1 (eigenvalues of block triangular
 * matrices), 7.3 (power iteration).
 */
#include "bridge/truncator.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/quiet.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

enum { POWER_MOST = 200 };
static const double power_enough = 1e-6;

typedef struct {
    const System *s; /* system of the first n tokens */
    size_t N;
    size_t block;          /* coordinates of a diagonal block; the columns behind it are zero */
    int colours;           /* operators to study: 1 where L is the field */
    double *work;          /* (4, N) */
    gsl_matrix *J, *total; /* (N, N) */
} Columns;

/* Returns the square root of the largest eigenvalue of J^T J; NaN: out of memory. */
static double largest_singular(const gsl_matrix *J)
{
    size_t N = J->size1;
    gsl_vector *v = gsl_vector_alloc(N), *w = gsl_vector_alloc(N);
    double last = 0, norm = NAN;
    for (size_t i = 0; v && i < N; i++) gsl_vector_set(v, i, 1 + 0.5 * sin((double)i));
    for (int k = 0; v && w && k < POWER_MOST; k++, last = norm) {
        double size = gsl_blas_dnrm2(v);
        norm = 0;
        if (size == 0) break;
        gsl_vector_scale(v, 1 / size);
        gsl_blas_dgemv(CblasNoTrans, 1, J, v, 0, w);
        norm = gsl_blas_dnrm2(w);
        if (fabs(norm - last) <= power_enough * norm) break;
        gsl_blas_dgemv(CblasTrans, 1, J, w, 0, v);
    }
    if (v) gsl_vector_free(v);
    if (w) gsl_vector_free(w);
    return norm;
}

/* Computes the eigenvalues (d) of the diagonal block of size d at coordinate `at`; overwrites the matrix. */
static int block_eigenvalues(gsl_matrix *J, size_t at, size_t d, double (*eigen)[2])
{
    gsl_matrix_view block = gsl_matrix_submatrix(J, at, at, d, d);
    gsl_vector_complex *value = gsl_vector_complex_alloc(d);
    gsl_eigen_nonsymm_workspace *w = gsl_eigen_nonsymm_alloc(d);
    int code = value && w ? 0 : ERR_MEMORY;
    if (code == 0 && gsl_eigen_nonsymm(&block.matrix, value, w) != 0)
        code = error_set(ERR_ACCURACY, "the eigenvalues of a Jacobian do not converge");
    for (size_t i = 0; code == 0 && i < d; i++) {
        gsl_complex z = gsl_vector_complex_get(value, i);
        eigen[i][0] = GSL_REAL(z);
        eigen[i][1] = GSL_IMAG(z);
    }
    if (value) gsl_vector_complex_free(value);
    if (w) gsl_eigen_nonsymm_free(w);
    return code;
}

static int gather(const Columns *c, int op, Jacobian *out)
{
    size_t b = c->block;
    out->lipschitz[op] = largest_singular(c->J);
    gsl_matrix_add(c->total, c->J);
    if (!(out->blocks[op] = memory_new(c->N * b, sizeof(double)))) return ERR_MEMORY;
    for (size_t row = 0; row < c->N; row++)
        memcpy(out->blocks[op] + row * b, gsl_matrix_const_ptr(c->J, row, row / b * b),
               b * sizeof(double));
    return 0;
}

static int study(const Columns *c, const double *x, Jacobian *out)
{
    double *step = c->work + 2 * c->N, *y = step + c->N, size = system_rms(c->N, x, NULL);
    memcpy(y, x, c->N * sizeof *x);
    for (size_t i = 0; i < c->N; i++) step[i] = 1e-5 * (size > 0 ? size : 1);
    gsl_matrix_set_zero(c->total);
    for (int op = 0; op < c->colours; op++) {
        differentials_jacobian(c->s, op, 1, 0, step, y, c->work, c->J->data);
        TRY(gather(c, op, out));
    }
    for (size_t at = 0; at < c->N; at += c->block)
        TRY(block_eigenvalues(c->total, at, c->block, out->eigen + at));
    return 0;
}

/* Studies the layer at x; GSL's handler of errors is off. */
static int with_handler_off(Columns *c, const double *x, Jacobian *out)
{
    c->work = memory_new(4 * c->N, sizeof *c->work);
    c->J = gsl_matrix_alloc(c->N, c->N);
    c->total = gsl_matrix_alloc(c->N, c->N);
    int code = c->work && c->J && c->total ? study(c, x, out) : ERR_MEMORY;
    memory_free(c->work);
    if (c->J) gsl_matrix_free(c->J);
    if (c->total) gsl_matrix_free(c->total);
    return code == ERR_MEMORY ? error_set(ERR_MEMORY, "out of memory: a Jacobian") : code;
}

int truncator_jacobian(Truncator *u, int layer, Jacobian *out)
{
    size_t d = u->N / u->n, most = JACOBIAN_MOST / d ? JACOBIAN_MOST / d : 1;
    size_t n = u->n < most ? u->n : most;
    int layer_field = u->options.field == FIELD_LAYER;
    int causal = plan_causal(model_plan(u->model), u->options.side);
    LayerOf of = u->of;
    LayerField *f;
    *out = (Jacobian){.tokens = n, .count = n * d, .lipschitz = {NAN, NAN, NAN}};
    if (!causal && n < u->n)
        return error_set(ERR_INPUT,
                         "an encoder's Jacobian is full: %zu tokens of %zu coordinates are more "
                         "than %d in all; take sentences of at most %zu tokens",
                         u->n, d, JACOBIAN_MOST, n);
    of.n = n;
    TRY(layer_field_new(u->model, u->trained, &of, &f));
    f->pin = layer;
    Columns c = {.s = layer_field ? &f->layer : &f->mean,
                 .N = n * d,
                 .block = causal ? d : n * d,
                 .colours = layer_field ? 1 : u->colours};
    out->block = c.block;
    out->eigen = memory_new(n * d, sizeof *out->eigen);
    quiet_begin();
    int code = out->eigen ? with_handler_off(&c, u->state + (size_t)layer * u->N, out) : ERR_MEMORY;
    quiet_end();
    layer_field_free(f);
    if (code != 0) jacobian_free(out);
    return code;
}

void jacobian_free(Jacobian *j)
{
    j->eigen = memory_free(j->eigen);
    for (int op = 0; op < COLOURS; op++) j->blocks[op] = memory_free(j->blocks[op]);
    j->count = 0;
}
