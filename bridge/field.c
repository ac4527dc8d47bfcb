/* field.c: the sublayers of a network layer as a particle system in double precision.
 * Tokens are the particles; F_s is attention set s, G_s feed-forward set s, dropout off. */
#include "bridge/bridge.h"
#include "kernels/error.h"
#include "kernels/memory.h"

#include <math.h>

typedef struct {
    Model *model;
    int layer;
    int failed; /* a sublayer's error code: fields cannot return one */
} Network;

/* A failure shows as NaN, which every stepper stops at. */
static void evaluate(const System *s, int kind, int set, const double *y, double *dy)
{
    Network *net = s->context;
    int slot = plan_find_slot(model_plan(net->model), SIDE_TARGET, kind, net->layer, set);
    int code = slot < 0 ? ERR_MISUSE : model_sublayer(net->model, slot, s->n, y, dy);
    if (code == 0) return;
    net->failed = code;
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] = NAN;
}

static void attention(const System *s, int set, double t, const double *y, double *dy)
{
    (void)t;
    evaluate(s, SLOT_ATTENTION, set, y, dy);
}

static void feedforward(const System *s, int set, double t, const double *y, double *dy)
{
    (void)t;
    evaluate(s, SLOT_FEEDFORWARD, set, y, dy);
}

int bridge_system(Model *m, int layer, size_t n, System **out)
{
    const ModelConfig *c = model_config(m);
    *out = NULL;
    if (layer < 0 || (size_t)layer >= model_plan(m)->layers[SIDE_TARGET])
        return error_set(ERR_INPUT, "expected a layer below %zu; %d is asked for",
                         model_plan(m)->layers[SIDE_TARGET], layer);
    if (model_plan(m)->sides > 1)
        return error_set(
            ERR_INPUT,
            "the model is an encoder and a decoder: its layers are no system by themselves yet");
    if (model_plan(m)->post)
        return error_set(ERR_INPUT,
                         "the model is post-norm: its layers normalise the state, so that they are "
                         "no steps of a scheme on a field");
    if (n < 1 || n > c->max_length)
        return error_set(ERR_INPUT, "expected 1 to %zu tokens; %zu are asked for", c->max_length,
                         n);
    System *s = memory_new(1, sizeof(System));
    Network *net = memory_new(1, sizeof(Network));
    if (!s || !net) {
        memory_free(s);
        memory_free(net);
        return ERR_MEMORY;
    }
    *net = (Network){.model = m, .layer = layer};
    *s = (System){.name = "network",
                  .title = "a trained layer",
                  .source = "bridge/field.c",
                  .n = n,
                  .d = c->width,
                  .field = {attention, feedforward},
                  .t_end = 1,
                  .h0 = 1,
                  .context = net};
    *out = s;
    return 0;
}

void bridge_layer(System *s, int layer)
{
    Network *net = s->context;
    net->layer = layer;
}

int bridge_system_failed(const System *s)
{
    const Network *net = s->context;
    return net->failed;
}
