/* model.c: building a model from its plan: shapes, tensors, starting values. Its memory is in layout.c, the
 * passes over it are in pass.c, a step of training in step.c. Names and shapes of tensors: add_params. */
#include "nn/model_private.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "nn/hash.h"

/* Sizes are at most 2^24 and lists at most 2^13 long, so that no product below overflows 64 bits. */
enum { SIZE_LIMIT = 1 << 24, LIST_LIMIT = 1 << 13, DRAW_LIMIT = 1 << 21, CHUNK = 1 << 16 };

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

static int check_shape(const ModelConfig *c, const Plan *p)
{
    TRY(check_sizes(c, p));
    TRY(check_lists(p));
    TRY(spans_check(c));
    if (c->width % c->heads)
        return error_set(ERR_INPUT, "width %zu is not divisible by %zu heads: change either",
                         c->width, c->heads);
    if ((c->positions & POSITIONS_SINUSOID) && c->width % 2)
        return error_set(ERR_INPUT, "width %zu is odd: sinusoid positions need an even width",
                         c->width);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return error_set(ERR_INPUT, "dropout %g is not in [0, 1)", c->dropout);
    if (!(c->smoothing >= 0 && c->smoothing < 1))
        return error_set(ERR_INPUT, "label smoothing %g is not in [0, 1)", c->smoothing);
    if (c->act != ACT_RELU && c->act != ACT_GELU)
        return error_set(ERR_INPUT, "activation must be relu or gelu");
    return 0;
}

/* ---- the list of tensors ------------------------------------------------------------------------ */

enum { START_VALUE, START_NORMAL, START_XAVIER };

/* Appends a tensor and gives its offset; the list is long enough (list_params). */
__attribute__((format(printf, 6, 7))) static size_t add(Model *m, size_t rows, size_t cols,
                                                        int kind, double value, const char *name,
                                                        ...)
{
    Param *p = &m->param[m->params];
    m->start[m->params++] = (Start){kind, value};
    va_list args;
    va_start(args, name);
    vsnprintf(p->name, sizeof p->name, name, args);
    va_end(args);
    p->rows = rows;
    p->cols = cols;
    p->offset = m->size;
    p->size = rows * (cols ? cols : 1);
    m->size += p->size;
    return p->offset;
}

static void add_slot(Model *m, const PlanSlot *s, SlotParams *o)
{
    size_t D = m->config.width;
    int attention = s->kind == SLOT_ATTENTION, l = s->layer, n = s->set;
    const char *kind = attention ? "attn" : "ffn";
    const char *in = attention ? "qkv" : "up", *out = attention ? "out" : "down";
    o->I = attention ? 3 * D : s->inner;
    o->O = attention ? D : s->inner;
    o->norm_w = add(m, D, 0, START_VALUE, 1, "layers.%d.%s.%d.norm.weight", l, kind, n);
    o->norm_b = add(m, D, 0, START_VALUE, 0, "layers.%d.%s.%d.norm.bias", l, kind, n);
    o->in_w = add(m, o->I, D, START_XAVIER, 0, "layers.%d.%s.%d.%s.weight", l, kind, n, in);
    o->in_b = add(m, o->I, 0, START_VALUE, 0, "layers.%d.%s.%d.%s.bias", l, kind, n, in);
    o->out_w = add(m, D, o->O, START_XAVIER, 0, "layers.%d.%s.%d.%s.weight", l, kind, n, out);
    o->out_b = add(m, D, 0, START_VALUE, 0, "layers.%d.%s.%d.%s.bias", l, kind, n, out);
    if (attention && (m->config.positions & POSITIONS_RELATIVE))
        o->relative = add(m, 2 * m->config.clip + 1, m->E, START_XAVIER, 0,
                          "layers.%d.%s.%d.relative.weight", l, kind, n);
    o->end = m->size;
}

static void add_gate(Model *m, const PlanGate *g, GateParams *o)
{
    o->w = add(m, 1, g->inputs * m->config.width, START_VALUE, 0, "layers.%d.scheme.%s.weight",
               g->layer, g->name);
    o->b = add(m, 1, 0, START_VALUE, 0, "layers.%d.scheme.%s.bias", g->layer, g->name);
}

/* Both such that an entry of sqrt(D) E W^T has variance 1, as the head's has. */
static void add_tail(Model *m, const char *end, int i, const Tail *t, size_t *embed,
                     size_t *project)
{
    size_t D = m->config.width;
    *embed = add(m, t->words, t->width, START_NORMAL, 1 / sqrt((double)t->width),
                 "%s.tail.%d.weight", end, i);
    *project =
        add(m, D, t->width, START_NORMAL, 1 / sqrt((double)D), "%s.tail.%d.project.weight", end, i);
}

static void add_tails(Model *m)
{
    for (size_t i = 0; i < m->config.tails; i++) {
        Tail *t = &m->tail[i];
        add_tail(m, "embed", (int)i + 1, t, &t->embed, &t->project);
        t->output = t->embed;
        t->output_project = t->project;
        if (m->config.untied) add_tail(m, "output", (int)i + 1, t, &t->output, &t->output_project);
    }
}

/* The output's head is one matrix: words, then an entry a tail. */
static size_t add_head(Model *m, const char *end, int kind, int entries)
{
    size_t D = m->config.width, tails = m->config.tails;
    double deviation = 1 / sqrt((double)D);
    size_t at = add(m, m->head - tails, D, kind, deviation, "%s.weight", end);
    if (tails && entries) add(m, tails, D, START_NORMAL, deviation, "%s.entry.weight", end);
    return at;
}

/* One behind the other, as they are clamped in one call. */
static void add_spans(Model *m)
{
    m->spans = m->size;
    for (size_t i = 0; i < m->plan->slots; i++) {
        const PlanSlot *s = &m->plan->slot[i];
        if (s->kind == SLOT_ATTENTION)
            m->slot[i].span = add(m, m->config.heads, 0, START_VALUE, 0,
                                  "layers.%d.attn.%d.span.weight", s->layer, s->set);
    }
    m->span_count = m->size - m->spans;
}

/* Tensors of odd sizes come last, so that the others stay aligned. */
static void add_params(Model *m)
{
    const Plan *p = m->plan;
    size_t D = m->config.width;
    int untied = m->config.untied;
    m->embed = m->output = add_head(m, "embed", START_NORMAL, !untied);
    if (!p->post) {
        m->final_w = add(m, D, 0, START_VALUE, 1, "final_norm.weight");
        m->final_b = add(m, D, 0, START_VALUE, 0, "final_norm.bias");
    }
    if (untied) m->output = add_head(m, "output", m->config.tails ? START_NORMAL : START_XAVIER, 1);
    for (size_t i = 0; i < p->slots; i++) add_slot(m, &p->slot[i], &m->slot[i]);
    for (size_t i = 0; i < p->gates; i++) add_gate(m, &p->gate[i], &m->gate[i]);
    for (size_t i = 0; i < p->scalars; i++) {
        const PlanScalar *s = &p->scalar[i];
        m->scalar[i] =
            add(m, s->size, 0, START_VALUE, s->init, "layers.%d.scheme.%s", s->layer, s->name);
    }
    add_tails(m);
    if (m->config.span) add_spans(m);
}

/* ---- starting values ---------------------------------------------------------------------------- */

/* Stream of a tensor's draws: a hash of its name, top bit set; dropout's streams have it clear. */
static uint64_t name_stream(const char *name)
{
    return hash_bytes(HASH_START, name, strlen(name)) | (uint64_t)1 << 63;
}

/* Xavier uniform: +- sqrt(6 / (fan in + fan out)). Source: Glorot, Bengio 2010, equation 16. */
static double start_value(const Param *p, const Start *s, uint64_t seed, uint64_t stream, size_t i)
{
    if (s->kind == START_NORMAL) return s->value * random_normal(seed, stream, i);
    double limit = sqrt(6 / (double)(p->rows + p->cols));
    return limit * (2 * random_uniform(seed, stream, i) - 1);
}

static void init_param(Model *m, size_t k, double *chunk)
{
    const Backend *b = m->backend;
    const Param *p = &m->param[k];
    const Start *s = &m->start[k];
    void *x = backend_at(b, m->data, p->offset);
    uint64_t seed = m->config.seed, stream = name_stream(p->name);
    if (s->kind == START_VALUE) {
        b->fill(x, s->value, p->size);
        return;
    }
    for (size_t at = 0; at < p->size; at += CHUNK) {
        size_t n = p->size - at < CHUNK ? p->size - at : CHUNK;
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++) chunk[i] = start_value(p, s, seed, stream, at + i);
        b->put(backend_at(b, x, at), chunk, n);
    }
}

/* P(i, c) = sin(i w_c), P(i, D/2 + c) = cos(i w_c), w_c = 10000^(-c / (D/2 - 1)), c < D/2 (w_0 = 1
 * where D = 2). Source: Vaswani et al. 2017, section 3.5, in tensor2tensor's arrangement. */
static void init_positions(Model *m, double *row)
{
    size_t D = m->config.width, half = D / 2;
    double step = half > 1 ? log(10000) / (double)(half - 1) : 0;
    for (size_t i = 0; i < m->config.max_length; i++) {
        for (size_t c = 0; c < half; c++) {
            double angle = (double)i * exp(-step * (double)c);
            row[c] = sin(angle);
            row[half + c] = cos(angle);
        }
        m->backend->put(backend_at(m->backend, m->positions, i * D), row, D);
    }
}

static int init_values(Model *m)
{
    size_t D = m->config.width;
    double *chunk = memory_new(D > CHUNK ? D : CHUNK, sizeof *chunk);
    if (!chunk) return ERR_MEMORY;
    for (size_t k = 0; k < m->params; k++) init_param(m, k, chunk);
    if (m->positions) init_positions(m, chunk);
    memory_free(chunk);
    return 0;
}

/* The network runs a folded plan. */
static int fold(Model *m)
{
    Plan *folded;
    TRY(plan_fold(m->plan, &folded));
    plan_free(m->plan);
    m->plan = folded;
    return 0;
}

static int build(Model *m)
{
    TRY(plan_check(m->plan));
    TRY(adaptive_check(&m->config));
    TRY(check_shape(&m->config, m->plan));
    TRY(fold(m));
    adaptive_shapes(m);
    m->E = m->config.width / m->config.heads;
    TRY(layout_lists(m));
    add_params(m);
    if (m->config.max_params && m->size > m->config.max_params)
        return error_set(ERR_INPUT, "a model of %zu numbers, where there can be at most %zu",
                         m->size, m->config.max_params);
    TRY(layout_buffers(m));
    return m->counted ? 0 : init_values(m);
}

static int make(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
                int counted, Model **out)
{
    Model *m = memory_new(1, sizeof *m);
    if (!m) {
        plan_free(plan);
        return ERR_MEMORY;
    }
    m->config = *config;
    m->plan = plan;
    m->backend = backend;
    m->training = training;
    m->counted = counted;
    int code = build(m);
    if (code) {
        model_free(m);
        return code;
    }
    *out = m;
    return 0;
}

int model_new(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
              Model **out)
{
    return make(config, plan, backend, training, 0, out);
}

int model_count(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
                size_t *bytes, size_t *numbers)
{
    Model *m;
    TRY(make(config, plan, backend, training, 1, &m));
    *bytes = model_bytes(m);
    *numbers = model_size(m);
    model_free(m);
    return 0;
}

void model_free(Model *m)
{
    if (!m) return;
    layout_free(m);
    plan_free(m->plan);
    memory_free(m);
}

/* ---- reading a model ---------------------------------------------------------------------------- */

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
