/* models.h: tiny models of any backend, for test_model.c and test_parameters.c. */
#ifndef TROTTER_TESTS_MODELS_H
#define TROTTER_TESTS_MODELS_H

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "nn/run/pass.h"
#include "tests/lib/backends.h"
#include "tests/lib/distance.h"
#include "tests/lib/test.h"
#include "tests/lib/tiny.h"

enum { N = TINY_ROWS, D = TINY_WIDTH, V = TINY_VOCAB, M = TINY_INNER, E = D / TINY_HEADS };

/* For TEST_MAIN: on small models threads would mostly wait for one another. */
static inline int one_thread(void **state)
{
    (void)state;
    backend_threads(1);
    return 0;
}

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

/* Walks over all tested backends and the plans of a list, with a shaken model and its batch for each:
 *
 *     for (Each e = {.plans = tiny_all}; each_next(&e);) use(e.m, &e.x);
 *
 * each_twin makes the model again, with another configuration or use. */
typedef struct {
    const TinyPlan *plans, *plan;
    int training;
    const char *backend;
    Model *m;
    Batch x;
    size_t at;
} Each;

static inline Model *each_twin(const Each *e, ModelConfig c, int training)
{
    return shaken(e->backend, c, e->plan->build(), training);
}

static inline int each_next(Each *e)
{
    model_free(e->m);
    e->m = NULL;
    e->plan = e->plan ? e->plan + 1 : e->plans;
    if (!e->plan->name) e->plan = e->plans, e->at++;
    while ((e->backend = tested_backend(e->at)) && is_alike(e->backend)) e->at++;
    if (!e->backend) return 0;
    e->m = each_twin(e, tiny_config(), e->training);
    e->x = tiny_batch_of(e->m);
    return 1;
}

/* Returns the rounding of a language model's logits against a second reading. Both add products of numbers of order 1
 * to 10 in chains of some 200 operations: an error of 200 eps times a magnitude of 50, twice with the second
 * reading's. In bf16 the factors' rounding is larger than all else: some 8 products in a row, each off by 2^-8 of a
 * magnitude of 10. */
static inline double rounding_of(const Model *m)
{
    const Backend *b = model_backend(m);
    return b->eps > 0x1p-20 ? 80 * b->eps : 2e4 * (b->size == 4 ? 0x1p-24 : 0x1p-53);
}

static inline void set_tensor(Model *m, const char *name, double value)
{
    const Param *p = model_find(m, name);
    const Backend *b = model_backend(m);
    b->fill(backend_at(b, model_data(m), p->offset), value, p->size);
}

static inline void put_tensor(Model *m, const char *name, const double *x)
{
    const Param *p = model_find(m, name);
    const Backend *b = model_backend(m);
    b->put(backend_at(b, model_data(m), p->offset), x, p->size);
}

/* Checks that model_new refuses a network with these words, and that nothing is left of it. */
static inline void refuse_model(ModelConfig c, Plan *(*build)(void), int code, const char *words)
{
    Model *m = NULL;
    size_t live = memory_live();
    assert_int_equal(model_new(&c, build(), backend("cpu-f32"), 1, &m), code);
    if (!*error_text() || !strstr(error_text(), words))
        fail_msg("'%s' has no '%s'", error_text(), words);
    assert_int_equal(memory_live(), live);
}

#endif
