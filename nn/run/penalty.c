/* penalty.c: a penalty on the ratio of two registers x and z (N, D), which is added to the loss.
 *
 *   P = c sum_s (n_s / N) X_s / Z_s,   X_s = sum_(i in s) |x_i|^2,   Z_s = sum_(i in s) |z_i|^2
 *
 * over the sequences s of n_s of the N tokens. With x an error and z a displacement, P / c is the mean over tokens of the squared
 * relative error of their sequence, the square of what `trotter truncation` measures for a sentence. The ratio is that of a
 * sequence's sums. The mean of the tokens' own ratios would be governed by the tokens that hardly move; the ratio of the
 * batch's sums would depend on what else is in the batch, and could not be divided among ranks and parts of a step. This P
 * can be: a token has the weight 1 / N in it as in the cross-entropy, and a share of a batch is made of whole sequences. There are no
 * rows between sequences. Where Z_s is 0 the sequence is left out.
 *
 *   dP / dx_i = 2 c (n_s / N) x_i / Z_s,   dP / dz_i = -2 c (n_s / N) X_s z_i / Z_s^2
 *
 * Squares of rows and the sums of adjoints are lin_back's, of a term with one number a row; what is left is a few numbers a
 * sequence, in double on the processor. */
#include "nn/run/pass.h"

/* Gets |x_i|^2 of each row into square (N). */
static void squares(const Pass *p, const void *x, double *square)
{
    const Model *m = p->m;
    LinTerm t = {.c = 1, .x = x, .factors = 1};
    t.factor[0].dp = m->penalty.row;
    t.factor[0].stride = 1;
    m->backend->fill(m->penalty.row, 0, p->N);
    m->backend->lin_back(p->N, m->config.width, 1, &t, x);
    m->backend->get(square, m->penalty.row, p->N);
}

/* Adds to the adjoint dx of x the rows of x, each times its number of `of` (N). */
static void add_rows(const Pass *p, const double *of, const void *x, void *dx)
{
    const Model *m = p->m;
    LinTerm t = {.c = 1, .x = x, .dx = dx, .factors = 1};
    t.factor[0].p = m->penalty.row;
    t.factor[0].stride = 1;
    m->backend->put(m->penalty.row, of, p->N);
    m->backend->lin_back(p->N, m->config.width, 1, &t, x);
}

/* Returns N P. The squares of x and z become, row by row, the factors of dP / dx and dP / dz. */
static double ratios(const Pass *p, const PlanInstr *in, double *x, double *z)
{
    const size_t *start =
        p->m->batch.begins; /* a penalty is of the processor, whose memory this is */
    double c = in->term[0].c, sum = 0;
    squares(p, p->m->state[in->term[0].x], x);
    squares(p, p->m->state[in->term[1].x], z);
    for (size_t s = 0; s < p->S; s++) {
        double X = 0, Z = 0, n = c * (double)(start[s + 1] - start[s]);
        for (size_t i = start[s]; i < start[s + 1]; i++) X += x[i], Z += z[i];
        double ratio = Z > 0 ? X / Z : 0, dx = Z > 0 ? 2 * n / Z / (double)p->tokens : 0;
        sum += n * ratio;
        for (size_t i = start[s]; i < start[s + 1]; i++) x[i] = dx, z[i] = -dx * ratio;
    }
    return sum;
}

int penalty(void *arg, const PlanInstr *in)
{
    const Pass *p = arg;
    double *list = p->m->penalty.list;
    *p->m->penalty.sum += ratios(p, in, list, list + p->N);
    return 0;
}

void penalty_back(const Pass *p, const PlanInstr *in)
{
    const Model *m = p->m;
    double *list = m->penalty.list;
    ratios(p, in, list, list + p->N);
    for (size_t k = 0; k < 2; k++)
        add_rows(p, list + k * p->N, m->state[in->term[k].x], m->adjoint[in->term[k].x]);
}

double model_penalty(Model *m)
{
    double sum = m->penalty.sum ? *m->penalty.sum : 0;
    if (m->penalty.sum) *m->penalty.sum = 0;
    return sum;
}
