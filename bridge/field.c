/* field.c: the sublayers of a network layer as a particle system in double precision.
 * Tokens are the particles; F_s is attention set s, G_s feed-forward set s, C_s cross-attention set s, dropout off. */
#include "bridge/bridge.h"
#include "kernels/base/error.h"
#include "kernels/base/memory.h"

#include <math.h>

typedef struct {
    Model *model;
    LayerOf of;
    int failed; /* error code of a sublayer, because fields cannot return one */
} Network;

/* Evaluates a sublayer. A failure gives NaN, at which every stepper stops. */
static void evaluate(const System *s, int kind, int set, const double *y, double *dy)
{
    Network *net = s->context;
    const LayerOf *of = &net->of;
    int slot = plan_find_slot(model_plan(net->model), of->side, kind, of->layer, set);
    const double *memory = kind == SLOT_CROSS ? of->memory : NULL;
    int code = slot < 0 ? ERR_MISUSE : model_sublayer(net->model, slot, s->n, y, of->M, memory, dy);
    if (code == 0) return;
    net->failed = code;
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] = NAN;
}

/* Makes the field of a kind of sublayer. */
#define FIELD(name, kind)                                                             \
    static void name(const System *s, int set, double t, const double *y, double *dy) \
    {                                                                                 \
        (void)t;                                                                      \
        evaluate(s, kind, set, y, dy);                                                \
    }
FIELD(attention, SLOT_ATTENTION)
FIELD(feedforward, SLOT_FEEDFORWARD)
FIELD(cross, SLOT_CROSS)

static int check(const Model *m, const LayerOf *of)
{
    const ModelConfig *c = model_config(m);
    const Plan *p = model_plan(m);
    size_t longest = of->side == SIDE_SOURCE ? c->max_source_length : c->max_length;
    if (of->side >= p->sides || (p->sides > 1 && of->side == SIDE_TARGET) != (of->memory != NULL))
        return error_set(ERR_MISUSE, "side %d of a model of %d", of->side, p->sides);
    if (of->layer < 0 || (size_t)of->layer >= p->layers[of->side])
        return error_set(ERR_INPUT, "expected a layer below %zu; %d is asked for",
                         p->layers[of->side], of->layer);
    if (p->post)
        return error_set(ERR_INPUT,
                         "the model is post-norm: its layers normalise the state, so that they are "
                         "no steps of a scheme on a field");
    if (p->output_norm)
        return error_set(ERR_INPUT,
                         "the model has norms behind its sublayers (--output-norm), which no field "
                         "has: its layers' truncation errors are not measured");
    if (of->n < 1 || of->n > longest)
        return error_set(ERR_INPUT, "expected 1 to %zu tokens; %zu are asked for", longest, of->n);
    return 0;
}

int bridge_system(Model *m, const LayerOf *of, System **out)
{
    *out = NULL;
    TRY(check(m, of));
    System *s = memory_new(1, sizeof(System));
    Network *net = memory_new(1, sizeof(Network));
    if (!s || !net) {
        memory_free(s);
        memory_free(net);
        return ERR_MEMORY;
    }
    *net = (Network){.model = m, .of = *of};
    *s = (System){.name = "network",
                  .title = "a trained layer",
                  .source = "bridge/field.c",
                  .n = of->n,
                  .d = model_config(m)->width,
                  .decoder = of->memory != NULL,
                  .field = {attention, feedforward, of->memory ? cross : NULL},
                  .t_end = 1,
                  .h0 = 1,
                  .context = net};
    *out = s;
    return 0;
}

void bridge_layer(System *s, int layer)
{
    Network *net = s->context;
    net->of.layer = layer;
}

int bridge_system_failed(const System *s)
{
    const Network *net = s->context;
    return net->failed;
}
