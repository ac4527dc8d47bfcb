/* gradients.h: the gradient of every tensor of a model in double precision against differences of the loss.
 *
 * A tensor is probed along its gradient and noise of half its size, of length 1, by (8 (L(h) - L(-h)) - (L(2h) - L(-2h)))
 * / 12 h. Truncation is some h^4 L''''' / 30, rounding 2 eps L / h = 1e-15 / h at a loss of about 4. */
#ifndef TROTTER_TESTS_GRADIENTS_H
#define TROTTER_TESTS_GRADIENTS_H

#include "kernels/base/random.h"
#include "tests/lib/test.h"
#include "tests/lib/tiny.h"

enum { GRADIENT_STEP = 17 };

/* The step of differences, and the part of a derivative that they may be off by. */
typedef struct {
    double h, tol;
} Steps;

/* Returns the mean loss, with that of labels where an encoder is asked words and labels, and with penalties. */
static inline double gradient_loss(Model *m, const Batch *b, const Param *p, const double *x,
                                   const double *v, double h)
{
    const Backend *on = model_backend(m);
    double mean, nll[TINY_ROWS + 3];
    OWN_NUMBERS *y = memory_new(p->size, sizeof *y);
    void *at = backend_at(on, model_data(m), p->offset);
    for (size_t k = 0; k < p->size; k++) y[k] = x[k] + h * v[k];
    on->put(at, y, p->size);
    model_penalty(m);
    assert_int_equal(model_forward(m, b, 1, GRADIENT_STEP, nll, &mean), 0);
    mean += model_penalty(m) / (double)batch_asked(b);
    on->put(at, x, p->size);
    for (size_t s = 0; b->asked.masked && b->asked.label && s < b->S; s++)
        mean += nll[b->asked.count + s] / (double)b->S;
    return mean;
}

/* Checks a tensor, with and without the control, a gradient that is a thousandth too large. Returns 1 where its gradient
 * is 0. */
static inline int gradient_of_tensor(Model *m, const Batch *b, const Param *p, const double *g,
                                     Steps s, const char *what)
{
    double norm = 0, length = 0, have = 0;
    OWN_NUMBERS *v = memory_new(p->size, sizeof *v),
                *x = tiny_get(m, model_data(m), p->offset, p->size);
    for (size_t k = 0; k < p->size; k++) norm += g[k] * g[k] / (double)p->size;
    for (size_t k = 0; k < p->size; k++) {
        v[k] = g[k] + 0.5 * sqrt(norm) * random_normal(21, p->offset, k);
        length += v[k] * v[k];
    }
    for (size_t k = 0; k < p->size && length > 0; k++) v[k] /= sqrt(length);
    for (size_t k = 0; k < p->size; k++) have += g[k] * v[k];
    double near = gradient_loss(m, b, p, x, v, s.h) - gradient_loss(m, b, p, x, v, -s.h);
    double far = gradient_loss(m, b, p, x, v, 2 * s.h) - gradient_loss(m, b, p, x, v, -2 * s.h);
    double want = (8 * near - far) / (12 * s.h), allowed = s.tol * fabs(want) + 1e-14 / s.h;
    if (!(fabs(have - want) <= allowed))
        fail_msg("%s: %s: gradient %.12g, differences %.12g", what, p->name, have, want);
    if (have != 0 && fabs(1.001 * have - want) <= allowed)
        fail_msg("%s: %s: blind to 1.001", what, p->name);
    return have == 0;
}

/* Checks every tensor of a model, and returns how many have a gradient. */
static inline size_t gradients_agree(Model *m, Steps s, const char *what)
{
    const Param *p;
    double mean;
    Batch b = tiny_batch_of(m);
    size_t n = model_params(m, &p), none = 0;
    assert_int_equal(model_gradient(m, &b, GRADIENT_STEP, &mean), 0);
    OWN_NUMBERS *g = tiny_gradient(m);
    for (size_t i = 0; i < n; i++)
        none += (size_t)gradient_of_tensor(m, &b, &p[i], g + p[i].offset, s, what);
    return n - none;
}

#endif
