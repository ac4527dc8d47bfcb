/* layers.h: networks in double precision, and schemes for them: the zoo with schemes of texts, shaken parameters, and
 * small networks whose weights a test sets by name. */
#ifndef TROTTER_TESTS_LAYERS_H
#define TROTTER_TESTS_LAYERS_H

#include "bridge/bridge.h"
#include "bridge/truncation.h"
#include "kernels/base/random.h"
#include "tests/lib/schemes.h"
#include "tests/lib/tiny.h"

#define OWN_TRUNCATOR SCOPED(truncator_drop) Truncator

static const Backend *f64;

/* Opens the zoo with the schemes of a text (NULL: none), and finds the backend. zoo_end closes it. */
static inline int bridged_open(const char *more)
{
    backend_threads(1); /* states are small */
    if (zoo_open(&zoo) != 0 || backend_find("cpu-f64", NULL, &f64) != 0) return 1;
    return more && scheme_parse("more", more, strlen(more), &zoo.scheme, &zoo.count) != 0;
}

/* Adds size * N(0, 1) to every parameter; to those that a scheme learns only where `learned` is set. */
static inline void shake(Model *m, double size, int learned)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++) {
        if (!learned && strstr(p[i].name, ".scheme.")) continue;
        OWN_REALS *x = tiny_get(m, model_data(m), p[i].offset, p[i].size);
        for (size_t k = 0; k < p[i].size; k++) x[k] += size * random_normal(9, i, k);
        f64->put(backend_at(f64, model_data(m), p[i].offset), x, p[i].size);
    }
}

/* ---- small networks --------------------------------------------------------------------------------- */

enum { LAYERS_V = 5, LAYERS_TOKENS = 6 };
static const int32_t layers_token[LAYERS_TOKENS] = {0, 3, 1, 4, 2, 3};

/* Every scheme of "all" expanded by Euler's method, with two that no zoo has: a two-step Runge-Kutta method, and one over
 * three operators. layers_open and layers_close are a group's set-up and tear-down. */
static Tables all_layers;

static inline int layers_open(void **state)
{
    (void)state;
    if (bridged_open(
            "scheme x-tsrk\nk1 = H(y)\nk2 = H(y + 1/2*k1 + 1/4*k2[-1])\ny' = y + 1/3*k1 + 2/3*k2\n"
            "scheme x-mixed\nk1 = G(y)\nk2 = F(y + 2/3*k1)\nk3 = H(y + 1/4*k1 + 1/3*k2)\n"
            "y' = y + 1/5*k1 + 1/2*k2 + 1/2*k3\n") != 0)
        return 1;
    return zoo_list(&zoo, "all", "euler", &all_layers.table, &all_layers.count);
}

static inline int layers_close(void **state)
{
    tables_free(&all_layers);
    return zoo_end(state);
}

static inline Table *layers_find(const char *name)
{
    return named(name, "euler");
}

/* Makes a model of a scheme: one head, inner width = width, sinusoids, no dropout. */
static inline Model *layers_model(const Table *t, size_t layers, size_t width, int act)
{
    BridgeOptions o = {.layers = layers, .width = width, .inner = width, .match = MATCH_NONE};
    ModelConfig c = {.vocab = LAYERS_V,
                     .width = width,
                     .heads = 1,
                     .positions = POSITIONS_SINUSOID,
                     .act = act,
                     .max_tokens = 2 * LAYERS_TOKENS,
                     .max_length = LAYERS_TOKENS,
                     .seed = 5};
    Plan *plan;
    Model *m;
    if (act_gated(act)) c.positions = POSITIONS_ROTARY, c.norm = NORM_RMS;
    if (bridge_plan(t, &o, &plan) != 0 || model_new(&c, plan, f64, 0, &m) != 0)
        fail_msg("%s: %s", t->name, error_text());
    return m;
}

/* Sets n numbers of a tensor from the `at`-th on. */
static inline void layers_put(Model *m, const char *name, size_t at, const double *x, size_t n)
{
    const Param *p = model_find(m, name);
    if (!p || at + n > p->size) fail_msg("no %s", name);
    f64->put(backend_at(f64, model_data(m), p->offset + at), x, n);
}

static inline void layers_fill(Model *m, const char *name, double value)
{
    const Param *p = model_find(m, name);
    if (!p) fail_msg("no %s", name);
    f64->fill(backend_at(f64, model_data(m), p->offset), value, p->size);
}

/* Sets rows row .. row + D - 1 of a (.., D) matrix to the identity. */
static inline void layers_identity(Model *m, const char *name, size_t row, size_t D)
{
    for (size_t i = 0; i < D; i++)
        for (size_t k = 0; k < D; k++) layers_put(m, name, (row + i) * D + k, &(double){i == k}, 1);
}

/* Calls truncator_sentence on the first N tokens. */
static inline int layers_sentence(Truncator *u, size_t N, double *check)
{
    const Sentence s = {.n = {[SIDE_TARGET] = N}, .token = {[SIDE_TARGET] = layers_token}};
    return truncator_sentence(u, &s, check);
}

#endif
