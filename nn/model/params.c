/* params.c: the tensors of a model: names, shapes and places in the flat buffers (params_list), starting values
 * (params_init), and which decay. */
#include "nn/model/engine.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/random.h"
#include "kernels/base/hash.h"

enum { CHUNK = 1 << 16 };

/* ---- the list of tensors ------------------------------------------------------------------------ */

enum { START_VALUE, START_NORMAL, START_XAVIER };

/* Appends a tensor and returns its offset; the list is long enough (lists_make). */
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

/* Names of a sublayer's two matrices. */
static const struct {
    const char *in, *out;
} kinds[] = {[SLOT_ATTENTION] = {"qkv", "out"},
             [SLOT_FEEDFORWARD] = {"up", "down"},
             [SLOT_CROSS] = {"q", "out"}};

/* Tells whether a slot is a feed-forward network with a gated activation, whose first matrix has twice its rows. */
static int is_gated(const Model *m, const PlanSlot *s)
{
    return s->kind == SLOT_FEEDFORWARD && act_gated(activation(m, (int)(s - m->plan->slot)));
}

/* Adds a norm's weight and, except for NORM_RMS, its bias. */
static void add_norm(Model *m, const char *name, size_t *w, size_t *b)
{
    size_t D = m->config.width;
    *w = add(m, D, 0, START_VALUE, 1, "%s.weight", name);
    if (m->config.norm != NORM_RMS) *b = add(m, D, 0, START_VALUE, 0, "%s.bias", name);
}

/* Adds an embedding beside that of the input, of as many words and places. */
static void add_words(Model *m, const char *name, SlotParams *o)
{
    size_t D = m->config.width, words = m->config.vocab + m->config.source_vocab;
    double deviation = 1 / sqrt((double)D);
    o->in_w = o->norm_w = add(m, words, D, START_NORMAL, deviation, "%s.embed.weight", name);
    if (m->config.positions & POSITIONS_LEARNED)
        o->in_b = add(m, longest(m), D, START_NORMAL, deviation, "%s.position.weight", name);
    o->end = m->size;
}

static void add_slot(Model *m, const PlanSlot *s, SlotParams *o)
{
    size_t D = m->config.width;
    int lacks = m->config.no_bias, in_lacks = s->inner ? NO_BIAS_FFN : NO_BIAS_QKV,
        out_lacks = s->inner ? NO_BIAS_FFN : NO_BIAS_OUT;
    char name[SLOT_NAME + 8], norm[SLOT_NAME + 16], behind[SLOT_NAME];
    snprintf(name, sizeof name, "%s%s", plan_prefix(m->plan, s->side), plan_slot_name(s, behind));
    if (s->kind == SLOT_WORDS) {
        add_words(m, name, o);
        return;
    }
    snprintf(norm, sizeof norm, "%s%s", name, s->kind == SLOT_NORM ? "" : ".norm");
    add_norm(m, norm, &o->norm_w, &o->norm_b);
    if (s->kind != SLOT_NORM) {
        int gated = is_gated(m, s);
        const char *in = gated ? "gate_up" : kinds[s->kind].in, *out = kinds[s->kind].out;
        o->I = s->inner                    ? (size_t)(1 + gated) * s->inner
               : s->kind == SLOT_ATTENTION ? m->A + 2 * key_width(m)
                                           : D;
        o->O = s->inner ? s->inner : s->kind == SLOT_ATTENTION ? m->A : D;
        o->in_w = add(m, o->I, D, START_XAVIER, 0, "%s.%s.weight", name, in);
        if (!(lacks & in_lacks)) o->in_b = add(m, o->I, 0, START_VALUE, 0, "%s.%s.bias", name, in);
        o->out_w = add(m, D, o->O, START_XAVIER, 0, "%s.%s.weight", name, out);
        if (!(lacks & out_lacks)) o->out_b = add(m, D, 0, START_VALUE, 0, "%s.%s.bias", name, out);
    }
    if (s->kind == SLOT_CROSS) {
        o->keys_w = add(m, 2 * D, D, START_XAVIER, 0, "%s.kv.weight", name);
        if (!(lacks & in_lacks)) o->keys_b = add(m, 2 * D, 0, START_VALUE, 0, "%s.kv.bias", name);
    }
    if (s->kind == SLOT_ATTENTION && (m->config.positions & POSITIONS_RELATIVE))
        o->relative =
            add(m, 2 * m->config.clip + 1, m->E, START_XAVIER, 0, "%s.relative.weight", name);
    if (s->kind == SLOT_ATTENTION && m->config.head_norm) {
        o->q_norm = add(m, m->E, 0, START_VALUE, 1, "%s.q_norm.weight", name);
        o->k_norm = add(m, m->E, 0, START_VALUE, 1, "%s.k_norm.weight", name);
    }
    o->end = m->size;
}

static void add_gate(Model *m, const PlanGate *g, GateParams *o)
{
    const char *side = plan_prefix(m->plan, g->side);
    o->w = add(m, 1, g->inputs * m->config.width, START_VALUE, 0, "%slayers.%d.scheme.%s.weight",
               side, g->layer, g->name);
    o->b = add(m, 1, 0, START_VALUE, 0, "%slayers.%d.scheme.%s.bias", side, g->layer, g->name);
}

/* Scales both such that an entry of sqrt(D) E W^T has variance 1, as in the head. */
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
        Tail *t = &m->tails.tail[i];
        add_tail(m, "embed", (int)i + 1, t, &t->embed, &t->project);
        t->output = t->embed;
        t->output_project = t->project;
        if (m->config.untied) add_tail(m, "output", (int)i + 1, t, &t->output, &t->output_project);
    }
}

/* Adds an end's head, which is one matrix: words, then one entry per tail; or `more` words. */
static size_t add_head(Model *m, const char *end, int kind, int entries, size_t more)
{
    size_t D = m->config.width, tails = m->config.tails;
    double deviation = 1 / sqrt((double)D);
    size_t at = add(m, m->out.rows - tails + more, D, kind, deviation, "%s.weight", end);
    if (tails && entries) add(m, tails, D, START_NORMAL, deviation, "%s.entry.weight", end);
    return at;
}

static void add_dense(Model *m, Head *h, const char *name)
{
    size_t D = m->config.width;
    h->dense_w = add(m, D, D, START_XAVIER, 0, "%s.weight", name);
    h->dense_b = add(m, D, 0, START_VALUE, 0, "%s.bias", name);
}

static void add_heads(Model *m)
{
    Heads *h = &m->heads;
    const ModelConfig *c = &m->config;
    size_t D = c->width;
    if (c->segments)
        h->segments = add(m, c->segments, D, START_NORMAL, 1 / sqrt((double)D), "segment.weight");
    if (c->masked) {
        add_dense(m, &h->words, "head.dense");
        add_norm(m, "head.norm", &h->words.w, &h->words.b);
    }
    if (c->classes) {
        add_dense(m, &h->label, "pool");
        h->label.w = add(m, c->classes, D, START_XAVIER, 0, "classes.weight");
        h->label.b = add(m, c->classes, 0, START_VALUE, 0, "classes.bias");
    }
    if (c->masked || c->output_bias)
        m->out.bias = add(m, m->out.rows, 0, START_VALUE, 0, "output.bias");
}

int model_decays(const Param *p)
{
    return p->rows > 1 && p->cols > 0;
}

static void list_stretches(Model *m)
{
    for (size_t i = 0; i < m->params; i++) {
        const Param *p = &m->param[i];
        Stretch *last = m->stretches ? &m->stretch[m->stretches - 1] : NULL;
        if (last && last->decays == model_decays(p))
            last->size += p->size;
        else
            m->stretch[m->stretches++] = (Stretch){p->offset, p->size, model_decays(p)};
    }
}

/* Lists all tensors. Those of odd sizes come last, so that the others stay aligned. */
void params_list(Model *m)
{
    const Plan *p = m->plan;
    size_t D = m->config.width;
    int untied = m->config.untied;
    m->embed = m->out.matrix = add_head(m, "embed", START_NORMAL, !untied, m->config.source_vocab);
    if (m->config.positions & POSITIONS_LEARNED)
        m->position = add(m, longest(m), D, START_NORMAL, 1 / sqrt((double)D), "position.weight");
    if (ends_in_norm(m)) add_norm(m, "final_norm", &m->out.norm_w, &m->out.norm_b);
    if (untied)
        m->out.matrix = add_head(m, "output", m->config.tails ? START_NORMAL : START_XAVIER, 1, 0);
    for (size_t i = 0; i < p->slots; i++) add_slot(m, &p->slot[i], &m->slot[i]);
    for (size_t i = 0; i < p->gates; i++) add_gate(m, &p->gate[i], &m->gate[i]);
    for (size_t i = 0; i < p->scalars; i++) {
        const PlanScalar *s = &p->scalar[i];
        m->scalar[i] = add(m, s->size, 0, START_VALUE, s->init, "%slayers.%d.scheme.%s",
                           plan_prefix(p, s->side), s->layer, s->name);
    }
    add_tails(m);
    add_heads(m);
    list_stretches(m);
}

/* ---- starting values ---------------------------------------------------------------------------- */

/* Returns the stream of a tensor's draws: its name's hash, top bit set (clear in dropout's). */
static uint64_t name_stream(const char *name)
{
    return hash_bytes(HASH_START, name, strlen(name)) | (uint64_t)1 << 63;
}

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

/* Writes P(i, c) = sin(i w_c), P(i, D/2 + c) = cos(i w_c), w_c = 10000^(-c / (D/2 - 1)), c < D/2 (w_0 = 1 where
 * D = 2). Source: Vaswani et al. 2017, section 3.5, in tensor2tensor's arrangement. */
static void init_positions(Model *m, double *row)
{
    size_t D = m->config.width, half = D / 2;
    double step = half > 1 ? log(10000) / (double)(half - 1) : 0;
    for (size_t i = 0; i < longest(m); i++) {
        for (size_t c = 0; c < half; c++) {
            double angle = (double)i * exp(-step * (double)c);
            row[c] = sin(angle);
            row[half + c] = cos(angle);
        }
        m->backend->put(backend_at(m->backend, m->positions, i * D), row, D);
    }
}

/* Returns w / F, F the factor of rotary_scaling; with L positions: of those that turn at least `fast` times in L, w; less
 * than `slow` times, w / F; between, the mean by number of turns. Source: Chen et al. 2023 (arXiv:2306.15595), eq. 4; by
 * turns as Peng et al. 2023 (arXiv:2309.00071), section 3.2, in the form of Llama 3.1, which blends w itself. */
static double scaled(const double scaling[5], double w)
{
    double factor = scaling[0], slow = scaling[1], fast = scaling[2], L = scaling[3];
    if (factor == 0) return w;
    double s = L > 0 ? (w * L / (2 * acos(-1)) - slow) / (fast - slow) : 0;
    s = fmin(fmax(s, 0), 1);
    return (1 - s) * w / factor + s * w;
}

/* Returns the number e, not rounded, of the pair that turns so many times in L positions: base^(-2 e / E) L = 2 pi turns. */
static double pair_of(double turns, double L, double base, size_t E)
{
    return (double)E * log(L / (turns * 2 * acos(-1))) / (2 * log(base));
}

/* Does the same as YaRN has it: the mean is by the number of the pair, between whole numbers. Source: Peng et al. 2023
 * (arXiv:2309.00071), section 3.2, in the form of its authors' program and of transformers, whose ramp is over pairs. */
static double scaled_by_pair(const double scaling[5], double w, size_t e, double base, size_t E)
{
    double L = scaling[3], low = fmax(floor(pair_of(scaling[2], L, base, E)), 0),
           high = fmin(ceil(pair_of(scaling[1], L, base, E)), (double)E - 1);
    if (high == low) high += 0.001;
    double s = fmin(fmax(((double)e - low) / (high - low), 0), 1);
    return s * w / scaling[0] + (1 - s) * w;
}

/* Writes cos(i w_e) and sin(i w_e), w_e = base^(-2 e / R), e < R/2, scaled; the other of the E/2 pairs stay as they are.
 * Source: Su et al. 2021, eq. 15. */
static void init_turns(Model *m, void *table, double base, const double scaling[5], double *row)
{
    size_t E = m->E, half = E / 2, R = m->config.rotary_part ? m->config.rotary_part : E;
    double size = scaling[4] > 0 ? scaling[4] : 1;
    for (size_t i = 0; i < longest(m); i++) {
        for (size_t e = 0; e < half; e++) {
            double w = pow(base, -2 * (double)e / (double)R);
            double angle = (double)i * (scaling[4] > 0 ? scaled_by_pair(scaling, w, e, base, R)
                                                       : scaled(scaling, w));
            row[e] = 2 * e < R ? size * cos(angle) : 1;
            row[half + e] = 2 * e < R ? size * sin(angle) : 0;
        }
        m->backend->put(backend_at(m->backend, table, i * E), row, E);
    }
}

int params_init(Model *m)
{
    size_t D = m->config.width;
    SCOPED(memory_drop) double *chunk = memory_new(D > CHUNK ? D : CHUNK, sizeof *chunk);
    if (!chunk) return ERR_MEMORY;
    for (size_t k = 0; k < m->params; k++) init_param(m, k, chunk);
    if (m->config.positions & POSITIONS_SINUSOID) init_positions(m, chunk);
    double base = m->config.rotary_base > 0 ? m->config.rotary_base : 10000;
    if (m->turns) init_turns(m, m->turns, base, m->config.rotary_scaling, chunk);
    if (m->local) init_turns(m, m->local, m->config.rotary_local, (const double[5]){0}, chunk);
    return 0;
}
