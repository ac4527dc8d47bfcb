/* model.c: building a model from its plan. Its tensors are in params.c, its memory is in layout.c, the
 * passes over it are in pass.c, a step of training in train_step.c. */
#include "nn/model/engine.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

/* Sizes are at most 2^24 and lists at most 2^13 long, so that no product below overflows 64 bits. */
enum { SIZE_LIMIT = 1 << 24, LIST_LIMIT = 1 << 13, DRAW_LIMIT = 1 << 21 };

/* ---- shapes ------------------------------------------------------------------------------------- */

static int check_sizes(const ModelConfig *c, const Plan *p)
{
    const struct {
        const char *name;
        size_t value;
    } size[] = {{"vocabulary", c->vocab},  {"width", c->width},         {"heads", c->heads},
                {"tokens", c->max_tokens}, {"sequence", c->max_length}, {"clip", c->clip + 1}};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        if (size[i].value < 1 || size[i].value > SIZE_LIMIT)
            return error_set(ERR_INPUT, "%s: %zu is not from 1 to %d", size[i].name, size[i].value,
                             SIZE_LIMIT);
    if (p->sides > 1 && (c->max_source < 1 || c->max_source > SIZE_LIMIT ||
                         c->max_source_length < 1 || c->max_source_length > SIZE_LIMIT))
        return error_set(ERR_INPUT, "source: %zu tokens, sequences of %zu: not from 1 to %d",
                         c->max_source, c->max_source_length, SIZE_LIMIT);
    for (size_t s = 0; s < p->slots; s++)
        if (p->slot[s].inner > SIZE_LIMIT)
            return error_set(ERR_INPUT, "inner width: %zu is above %d", p->slot[s].inner,
                             SIZE_LIMIT);
    return 0;
}

static int check_lists(const Plan *p)
{
    if (p->slots > LIST_LIMIT || p->instrs > LIST_LIMIT || p->registers > LIST_LIMIT)
        return error_set(ERR_INPUT, "the network has more than %d instructions: fewer layers",
                         LIST_LIMIT);
    for (size_t i = 0; i < p->scalars; i++)
        if (p->scalar[i].size > SIZE_LIMIT)
            return error_set(ERR_INPUT, "learned '%s' is too long", p->scalar[i].name);
    for (size_t i = 0; i < p->instrs; i++)
        if (p->instr[i].draw >= DRAW_LIMIT)
            return error_set(ERR_INPUT, "dropout draw %d is above %d", p->instr[i].draw,
                             DRAW_LIMIT);
    return 0;
}

static int check_rates(const ModelConfig *c)
{
    const struct {
        const char *name;
        double value;
    } rate[] = {{"dropout", c->dropout},
                {"dropout of attention", c->dropout_apart ? c->attention_dropout : 0},
                {"dropout of activations", c->dropout_apart ? c->activation_dropout : 0},
                {"label smoothing", c->smoothing}};
    for (size_t i = 0; i < sizeof rate / sizeof *rate; i++)
        if (!(rate[i].value >= 0 && rate[i].value < 1))
            return error_set(ERR_INPUT, "%s: %g is not in [0, 1)", rate[i].name, rate[i].value);
    return 0;
}

/* Refuses what an encoder with its decoder, or an embedding beside that of the input, cannot have. */
static int check_sides(const ModelConfig *c, const Plan *p)
{
    for (size_t i = 0; i < p->slots && c->tails; i++)
        if (p->slot[i].kind == SLOT_WORDS)
            return error_set(ERR_INPUT,
                             "what begins by an embedding of its own has a row for every "
                             "word: adaptive embeddings have none");
    if (p->sides == 1 || c->tails == 0) return 0;
    return error_set(
        ERR_INPUT,
        "adaptive embeddings are of language models: an encoder with its decoder has none");
}

/* Refuses heads of their own width, or with norms, where cross-attention has heads too. */
static int check_heads(const ModelConfig *c, const Plan *p)
{
    if (c->head_width > SIZE_LIMIT / c->heads)
        return error_set(ERR_INPUT, "%zu heads of width %zu: more than %d numbers", c->heads,
                         c->head_width, SIZE_LIMIT);
    if (p->sides == 1 || !(c->head_width || c->head_norm)) return 0;
    return error_set(ERR_INPUT, "heads with a width or norms of their own are of models of one "
                                "side: an encoder with its decoder has none");
}

static int check_shape(const ModelConfig *c, const Plan *p)
{
    TRY(check_sizes(c, p));
    TRY(check_lists(p));
    TRY(check_sides(c, p));
    TRY(heads_check(c, p));
    if (c->classes > SIZE_LIMIT || c->segments > SIZE_LIMIT)
        return error_set(ERR_INPUT, "%zu classes, %zu segments: at most %d", c->classes,
                         c->segments, SIZE_LIMIT);
    TRY(check_heads(c, p));
    if (c->width % c->heads && !c->head_width)
        return error_set(ERR_INPUT, "width %zu is not divisible by %zu heads: change either",
                         c->width, c->heads);
    if ((c->positions & POSITIONS_SINUSOID) && c->width % 2)
        return error_set(ERR_INPUT, "width %zu is odd: sinusoid positions need an even width",
                         c->width);
    TRY(check_rates(c));
    if (c->act != ACT_RELU && c->act != ACT_GELU && c->act != ACT_ERF && !act_gated(c->act))
        return error_set(ERR_INPUT, "activation must be relu, gelu, swiglu or geglu");
    if (c->kv_heads && c->heads % c->kv_heads)
        return error_set(ERR_INPUT,
                         "%zu heads are not divisible by %zu heads of keys: change either",
                         c->heads, c->kv_heads);
    if ((c->positions & POSITIONS_ROTARY) && model_head_width(c) % 2)
        return error_set(ERR_INPUT,
                         "heads of width %zu are odd: rotary positions need an even width",
                         model_head_width(c));
    if (!(c->rotary_base >= 0 && c->rotary_base < 1e30))
        return error_set(ERR_INPUT, "base of rotary positions: %g is not positive", c->rotary_base);
    const double *s = c->rotary_scaling;
    if (s[0] != 0 && !(c->positions & POSITIONS_ROTARY))
        return error_set(ERR_INPUT,
                         "rotary positions are scaled, and there are none: --positions rotary");
    int turns = s[1] > 0 && s[2] > s[1] && s[3] > 0, yarn = s[4] != 0;
    if (s[0] != 0 && (!(s[0] >= 1 && (turns || (s[3] == 0 && !yarn))) || !(s[4] >= 0)))
        return error_set(ERR_INPUT, "scaling of rotary positions: %g,%g,%g,%g,%g is unusable", s[0],
                         s[1], s[2], s[3], s[4]);
    if (c->rotary_part % 2 || c->rotary_part > model_head_width(c) ||
        (c->rotary_part && c->rotary_scaling[4] > 0))
        return error_set(ERR_INPUT,
                         "%zu numbers of a head of %zu turn: it has to be an even number of them, "
                         "and all with YaRN",
                         c->rotary_part, model_head_width(c));
    if (c->windows > WINDOWS_MOST)
        return error_set(ERR_INPUT, "windows of %zu layers: at most %d", c->windows, WINDOWS_MOST);
    if ((c->windows || c->output_bias) && (p->sides > 1 || p->bidirectional || c->tails))
        return error_set(ERR_INPUT,
                         "windows of attention and a bias of the output are for language "
                         "models without adaptive embeddings");
    if ((c->positions & POSITIONS_SINUSOID) && (c->positions & POSITIONS_LEARNED))
        return error_set(ERR_INPUT, "positions are either sinusoids or learned");
    if (!(c->norm_eps >= 0 && c->norm_eps < 1))
        return error_set(ERR_INPUT, "epsilon of norms: %g is not in [0, 1)", c->norm_eps);
    return 0;
}

static int build(Model *m)
{
    Plan *folded;
    const Plan *p = m->plan;
    NEED(p->output >= 0 && (size_t)p->output < p->registers);
    NEED(p->reg[p->output].side == SIDE_TARGET && !p->reg[p->output].keys);
    if (m->plan->sides == 1) m->config.max_source = m->config.max_source_length = 0;
    TRY(adaptive_check(&m->config));
    TRY(check_shape(&m->config, m->plan));
    if (m->plan->network && m->backend->device)
        return error_set(
            ERR_INPUT,
            "a penalty on a layer's step is trained by the processor alone: --device cpu");
    for (size_t i = 0; i < m->plan->slots && m->backend->device; i++)
        if (m->plan->slot[i].kind == SLOT_ATTENTION && window_of(m, &m->plan->slot[i]))
            return error_set(ERR_INPUT,
                             "attention to the last %zu of up to %zu tokens is computed by the "
                             "processor alone: --device cpu, or --sequence %zu",
                             window_of(m, &m->plan->slot[i]), m->config.max_length,
                             window_of(m, &m->plan->slot[i]));
    TRY(plan_fold(m->plan, &folded));
    plan_free(m->plan);
    m->plan = folded;
    m->ends = m->plan->bidirectional ? &ends_heads : m->config.tails ? &ends_adaptive : &ends_plain;
    m->E = model_head_width(&m->config);
    m->A = m->E * m->config.heads;
    adaptive_shapes(m);
    TRY(lists_make(m));
    params_list(m);
    if (m->config.max_params && m->size > m->config.max_params)
        return error_set(ERR_INPUT, "a model of %zu numbers, where there can be at most %zu",
                         m->size, m->config.max_params);
    TRY(layout_buffers(m));
    return m->counted ? 0 : params_init(m);
}

static int make(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
                int counted, Model **out)
{
    SCOPED(model_drop) Model *m = memory_new(1, sizeof *m);
    if (!m) {
        plan_free(plan);
        return ERR_MEMORY;
    }
    m->config = *config;
    m->plan = plan;
    m->backend = backend;
    m->training = training;
    m->counted = counted;
    TRY(build(m));
    *out = m;
    m = NULL;
    return 0;
}

int model_new(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
              Model **out)
{
    return make(config, plan, backend, training, 0, out);
}

int model_count(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
                Model **out)
{
    return make(config, plan, backend, training, 1, out);
}

void model_free(Model *m)
{
    if (!m) return;
    lists_free(m);
    plan_free(m->plan);
    memory_free(m);
}

/* ---- reading a model ---------------------------------------------------------------------------- */

int model_smooth(const Model *m)
{
    return m->config.act != ACT_RELU && !m->config.first_relu;
}

const ModelConfig *model_config(const Model *m)
{
    return &m->config;
}

const Plan *model_plan(const Model *m)
{
    return m->plan;
}

const Backend *model_backend(const Model *m)
{
    return m->backend;
}

size_t model_params(const Model *m, const Param **list)
{
    *list = m->param;
    return m->params;
}

const Param *model_find(const Model *m, const char *name)
{
    for (size_t i = 0; i < m->params; i++)
        if (strcmp(m->param[i].name, name) == 0) return &m->param[i];
    return NULL;
}

size_t model_size(const Model *m)
{
    return m->size;
}

size_t model_bytes(const Model *m)
{
    size_t bytes = 0;
    for (int k = 0; k < MEMORY_KINDS; k++) bytes += m->bytes[k];
    return bytes;
}

size_t model_memory(const Model *m, int kind)
{
    return m->bytes[kind];
}

const char *model_memory_name(int kind)
{
    static const char *const name[MEMORY_KINDS] = {"parameters",  "gradients", "moments",
                                                   "activations", "adjoints",  "workspace"};
    return name[kind];
}

void *model_data(Model *m)
{
    return m->data;
}

void *model_grad(Model *m)
{
    return m->grad;
}

void *model_moment(Model *m, int which)
{
    return m->moment[which];
}
