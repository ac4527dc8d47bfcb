/* models.h: tiny models of any backend, for test_model.c and test_parameters.c. */
#ifndef TROTTER_TESTS_MODELS_H
#define TROTTER_TESTS_MODELS_H

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/run/pass.h"
#include "tests/lib/backends.h"
#include "tests/lib/distance.h"
#include "tests/lib/test.h"
#include "tests/lib/tiny.h"

enum { N = TINY_ROWS, D = TINY_WIDTH, V = TINY_VOCAB, M = TINY_INNER, E = D / TINY_HEADS };

static inline const Backend *backend(const char *name)
{
    const Backend *b;
    assert_int_equal(backend_find(name, NULL, &b), 0);
    return b;
}

static inline Model *model(const char *name, ModelConfig c, Plan *plan, int training)
{
    Model *m;
    assert_non_null(plan);
    assert_int_equal(model_new(&c, plan, backend(name), training, &m), 0);
    return m;
}

/* Makes model() with shaken parameters. */
static inline Model *shaken(const char *name, ModelConfig c, Plan *plan, int training)
{
    Model *m = model(name, c, plan, training);
    tiny_shake(m, 3);
    return m;
}

static inline void set_tensor(Model *m, const char *name, double value)
{
    const Param *p = model_find(m, name);
    const Backend *b = model_backend(m);
    b->fill(backend_at(b, model_data(m), p->offset), value, p->size);
}

#endif
