/* model.c: a model's parameters and memory, laid out from its plan once, and its optimiser step. The
 * passes over it are in pass.c. Tensor names, shapes and starting values: nn.h. */
#include "nn/model_private.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"

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
    if (c->width % c->heads)
        return error_set(ERR_INPUT, "width %zu is not divisible by %zu heads: change either",
                         c->width, c->heads);
    if ((c->positions & POSITIONS_SINUSOID) && c->width % 2)
        return error_set(ERR_INPUT, "width %zu is odd: sinusoid positions need an even width",
                         c->width);
    if (!(c->dropout >= 0 && c->dropout < 1))
        return error_set(ERR_INPUT, "dropout %g is not in [0, 1)", c->dropout);
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
}

static void add_gate(Model *m, const PlanGate *g, GateParams *o)
{
    o->w = add(m, 1, g->inputs * m->config.width, START_VALUE, 0, "layers.%d.scheme.%s.weight",
               g->layer, g->name);
    o->b = add(m, 1, 0, START_VALUE, 0, "layers.%d.scheme.%s.bias", g->layer, g->name);
}

/* Tensors of odd sizes come last, so that the others stay aligned. */
static void add_params(Model *m)
{
    const Plan *p = m->plan;
    size_t V = m->config.vocab, D = m->config.width;
    m->embed = add(m, V, D, START_NORMAL, 1 / sqrt((double)D), "embed.weight");
    m->final_w = add(m, D, 0, START_VALUE, 1, "final_norm.weight");
    m->final_b = add(m, D, 0, START_VALUE, 0, "final_norm.bias");
    m->output = m->config.untied ? add(m, V, D, START_XAVIER, 0, "output.weight") : m->embed;
    for (size_t i = 0; i < p->slots; i++) add_slot(m, &p->slot[i], &m->slot[i]);
    for (size_t i = 0; i < p->gates; i++) add_gate(m, &p->gate[i], &m->gate[i]);
    for (size_t i = 0; i < p->scalars; i++) {
        const PlanScalar *s = &p->scalar[i];
        m->scalar[i] =
            add(m, s->size, 0, START_VALUE, s->init, "layers.%d.scheme.%s", s->layer, s->name);
    }
}

/* ---- starting values ---------------------------------------------------------------------------- */

/* Stream of a tensor's draws: FNV-1a of its name (Fowler, Noll, Vo), top bit set; dropout's streams
 * have it clear. */
static uint64_t name_stream(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u;
    return h | (uint64_t)1 << 63;
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

/* ---- memory ------------------------------------------------------------------------------------- */

/* *p = a zeroed device buffer of n elements, freed with the model. */
static int reserve(Model *m, void **p, size_t n)
{
    *p = m->backend->alloc(n);
    if (!*p) return ERR_MEMORY;
    m->buffer[m->buffers++] = *p;
    m->bytes += n * m->backend->size;
    return 0;
}

/* last[r]: where the life of register r ends. The output is read after the list. */
static void find_lives(const Plan *p, int *last)
{
    last[0] = 0;
    for (size_t i = 0; i < p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        for (size_t k = 0; k < in->terms; k++) last[in->term[k].x] = (int)i;
        if (in->op == PLAN_EVAL) last[in->x] = (int)i;
        if (in->op != PLAN_GATE) last[in->out] = (int)i;
    }
    last[p->output] = (int)p->instrs;
}

/* Gives register r the first colour that is free at instruction i; end[c]: last life of colour c. */
static void colour_one(const int *last, int i, int r, int *colour, int *end, size_t *colours)
{
    size_t c = 0;
    while (c < *colours && end[c] >= i) c++;
    if (c == *colours) (*colours)++;
    colour[r] = (int)c;
    end[c] = last[r];
}

static size_t colour_registers(const Plan *p, const int *last, int *colour, int *end)
{
    size_t colours = 0;
    colour_one(last, -1, 0, colour, end, &colours);
    for (size_t i = 0; i < p->instrs; i++)
        if (p->instr[i].op != PLAN_GATE)
            colour_one(last, (int)i, p->instr[i].out, colour, end, &colours);
    return colours;
}

/* Points where[r] at buffer number colour[r], or r without colours. */
static int reserve_registers(Model *m, void **where, const int *colour, size_t count)
{
    size_t each = m->config.max_tokens * m->config.width;
    void *all;
    TRY(reserve(m, &all, count * each));
    for (size_t r = 0; r < m->plan->registers; r++)
        where[r] = backend_at(m->backend, all, (colour ? (size_t)colour[r] : r) * each);
    return 0;
}

static int lay_registers(Model *m)
{
    size_t R = m->plan->registers;
    find_lives(m->plan, m->last);
    int *colour = memory_new(2 * R, sizeof *colour);
    if (!colour) return ERR_MEMORY;
    size_t colours = colour_registers(m->plan, m->last, colour, colour + R);
    int code;
    if (m->training) {
        code = reserve_registers(m, m->state, NULL, R);
        if (code == 0) code = reserve_registers(m, m->adjoint, colour, colours);
    } else {
        code = reserve_registers(m, m->state, colour, colours);
    }
    memory_free(colour);
    return code;
}

/* Lays the pieces of one Work out from element `at` of `base` (NULL: only measures); gives the end.
 * Pieces begin at multiples of 16 elements. */
static size_t lay_work(const Model *m, const PlanSlot *s, const SlotParams *o, void *base,
                       size_t at, Work *w)
{
    size_t D = m->config.width, H = s->kind == SLOT_ATTENTION ? m->config.heads : 0;
    const struct {
        void **p;
        size_t cols;
    } piece[] = {{&w->normed, D}, {&w->stats, 2}, {&w->in, o->I}, {&w->core, o->O}, {&w->lse, H}};
    for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
        if (base) *piece[i].p = backend_at(m->backend, base, at);
        at += (piece[i].cols * m->config.max_tokens + 15) / 16 * 16;
    }
    return at;
}

/* All EVALs one after another, or all at one place; gives the elements needed. */
static size_t lay_works(Model *m, void *base)
{
    size_t at = 0, most = 0;
    for (size_t i = 0; i < m->plan->instrs; i++) {
        const PlanInstr *in = &m->plan->instr[i];
        if (in->op != PLAN_EVAL) continue;
        size_t end =
            lay_work(m, &m->plan->slot[in->slot], &m->slot[in->slot], base, at, &m->work[i]);
        most = end > most ? end : most;
        at = m->training ? end : 0;
    }
    return most;
}

static int lay_workspaces(Model *m)
{
    size_t N = m->config.max_tokens, D = m->config.width, widest = D;
    void *base;
    TRY(reserve(m, &base, lay_works(m, NULL)));
    lay_works(m, base);
    TRY(reserve(m, &m->gates, m->plan->gates * N));
    if (!m->training) return 0;
    for (size_t s = 0; s < m->plan->slots; s++)
        if (m->slot[s].O > widest) widest = m->slot[s].O;
    TRY(reserve(m, &m->dgates, m->plan->gates * N));
    TRY(reserve(m, &m->scratch[0], N * widest));
    return reserve(m, &m->scratch[1], N * 3 * D);
}

static int lay_params(Model *m)
{
    TRY(reserve(m, &m->data, m->size));
    if (!m->training) return 0;
    TRY(reserve(m, &m->grad, m->size));
    TRY(reserve(m, &m->moment[0], m->size));
    return reserve(m, &m->moment[1], m->size);
}

static int lay_ends(Model *m)
{
    const ModelConfig *c = &m->config;
    size_t N = c->max_tokens, rows = N < LOGIT_ROWS ? N : LOGIT_ROWS;
    TRY(reserve(m, &m->hidden, N * c->width));
    TRY(reserve(m, &m->stats, N * 2));
    TRY(reserve(m, &m->logits, rows * c->vocab));
    if (m->training) TRY(reserve(m, &m->dhidden, N * c->width));
    if (c->positions & POSITIONS_SINUSOID) TRY(reserve(m, &m->positions, c->max_length * c->width));
    return 0;
}

/* Host lists; each is freed by model_free whether or not the others were had. */
static int lay_lists(Model *m)
{
    const Plan *p = m->plan;
    size_t params = 4 + 7 * p->slots + 2 * p->gates + p->scalars, terms = 0;
    for (size_t i = 0; i < p->instrs; i++)
        if (p->instr[i].terms > terms) terms = p->instr[i].terms;
    m->param = memory_new(params, sizeof *m->param);
    m->start = memory_new(params, sizeof *m->start);
    m->slot = memory_new(p->slots, sizeof *m->slot);
    m->scalar = memory_new(p->scalars, sizeof *m->scalar);
    m->gate = memory_new(p->gates, sizeof *m->gate);
    m->last = memory_new(p->registers, sizeof *m->last);
    m->state = memory_new(p->registers, sizeof *m->state);
    m->adjoint = memory_new(p->registers, sizeof *m->adjoint);
    m->work = memory_new(p->instrs, sizeof *m->work);
    m->nll = memory_new(m->config.max_tokens, sizeof *m->nll);
    m->term = memory_new(terms, sizeof *m->term);
    m->gate_x = memory_new(terms, sizeof *m->gate_x);
    m->gate_dx = memory_new(terms, sizeof *m->gate_dx);
    return m->param && m->start && m->slot && m->scalar && m->gate && m->last && m->state &&
                   m->adjoint && m->work && m->nll && m->term && m->gate_x && m->gate_dx
               ? 0
               : ERR_MEMORY;
}

static int build(Model *m)
{
    TRY(plan_check(m->plan));
    TRY(check_shape(&m->config, m->plan));
    m->E = m->config.width / m->config.heads;
    TRY(lay_lists(m));
    add_params(m);
    TRY(lay_params(m));
    TRY(lay_registers(m));
    TRY(lay_workspaces(m));
    TRY(lay_ends(m));
    return init_values(m);
}

int model_new(const ModelConfig *config, Plan *plan, const Backend *backend, int training,
              Model **out)
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
    int code = build(m);
    if (code) {
        model_free(m);
        return code;
    }
    *out = m;
    return 0;
}

void model_free(Model *m)
{
    if (!m) return;
    for (size_t i = 0; i < m->buffers; i++) m->backend->release(m->buffer[i]);
    void *list[] = {m->param, m->start,          m->slot,    m->scalar, m->gate,
                    m->last,  m->state,          m->adjoint, m->work,   m->nll,
                    m->term,  (void *)m->gate_x, m->gate_dx};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) memory_free(list[i]);
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

size_t model_size(const Model *m)
{
    return m->size;
}

size_t model_bytes(const Model *m)
{
    return m->bytes;
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

/* ---- optimiser ---------------------------------------------------------------------------------- */

int model_adam(Model *m, const AdamConfig *a, uint64_t step, double *grad_norm)
{
    if (!m->training) return error_set(ERR_MISUSE, "the model was built without gradients");
    double norm = sqrt(m->backend->sum_squares(m->size, m->grad));
    if (grad_norm) *grad_norm = norm;
    if (!isfinite(norm)) return error_set(ERR_NUMERIC, "the gradient is not finite");
    double scale = a->clip > 0 && norm > a->clip ? a->clip / norm : 1;
    m->backend->adam(m->size, m->data, m->grad, m->moment[0], m->moment[1], a->rate, a->beta1,
                     a->beta2, a->eps, scale, step);
    return 0;
}
