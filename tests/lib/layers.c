/* layers.c: see layers.h. */
#include "tests/lib/layers.h"

#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"

Zoo layers_zoo;
Table **layers_scheme;
size_t layers_schemes;
static const Backend *f64;

const int32_t layers_token[LAYERS_TOKENS] = {0, 3, 1, 4, 2, 3};

/* Schemes that no zoo has: a two-step Runge-Kutta method, and one over three operators. */
static const char more[] =
    "scheme x-tsrk\nk1 = H(y)\nk2 = H(y + 1/2*k1 + 1/4*k2[-1])\ny' = y + 1/3*k1 + 2/3*k2\n"
    "scheme x-mixed\nk1 = G(y)\nk2 = F(y + 2/3*k1)\nk3 = H(y + 1/4*k1 + 1/3*k2)\n"
    "y' = y + 1/5*k1 + 1/2*k2 + 1/2*k3\n";

int layers_open(void **state)
{
    (void)state;
    if (zoo_open(&layers_zoo) != 0 ||
        scheme_parse("more", more, strlen(more), &layers_zoo.scheme, &layers_zoo.count) != 0 ||
        zoo_list(&layers_zoo, "all", "euler", &layers_scheme, &layers_schemes) != 0)
        return 1;
    backend_threads(1); /* states are small */
    return backend_find("cpu-f64", NULL, &f64);
}

int layers_close(void **state)
{
    (void)state;
    for (size_t i = 0; i < layers_schemes; i++) table_free(layers_scheme[i]);
    memory_free(layers_scheme);
    zoo_close(&layers_zoo);
    return 0;
}

Table *layers_find(const char *name)
{
    Table *t;
    if (zoo_find(&layers_zoo, name, "euler", &t) != 0) fail_msg("%s", error_text());
    return t;
}

Model *layers_model(const Table *t, size_t layers, size_t width, int act)
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

static const Param *param(const Model *m, const char *name)
{
    const Param *p = model_find(m, name);
    if (!p) fail_msg("no %s", name);
    return p;
}

void layers_put(Model *m, const char *name, size_t at, const double *x, size_t n)
{
    const Param *p = param(m, name);
    assert_true(at + n <= p->size);
    f64->put(backend_at(f64, model_data(m), p->offset + at), x, n);
}

void layers_fill(Model *m, const char *name, double value)
{
    const Param *p = param(m, name);
    f64->fill(backend_at(f64, model_data(m), p->offset), value, p->size);
}

void layers_identity(Model *m, const char *name, size_t row, size_t D)
{
    for (size_t i = 0; i < D; i++)
        for (size_t k = 0; k < D; k++) {
            double x = i == k;
            layers_put(m, name, (row + i) * D + k, &x, 1);
        }
}

void layers_shake(Model *m, double size)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < p[i].size; k++) {
            double x;
            void *at = backend_at(f64, model_data(m), p[i].offset + k);
            f64->get(&x, at, 1);
            x += size * random_normal(9, i, k);
            f64->put(at, &x, 1);
        }
}

void layers_zero(Model *m)
{
    const Param *p;
    size_t n = model_params(m, &p);
    for (size_t i = 0; i < n; i++)
        if (strstr(p[i].name, "out.") || strstr(p[i].name, "down."))
            f64->fill(backend_at(f64, model_data(m), p[i].offset), 0, p[i].size);
}

int layers_sentence(Truncator *u, size_t N, double *check)
{
    const Sentence s = {.n = {[SIDE_TARGET] = N}, .token = {[SIDE_TARGET] = layers_token}};
    return truncator_sentence(u, &s, check);
}
