/* layout.c: the memory of a model, sized once from its plan and configuration (engine.h).
 *
 * A pass runs through times: the embedding at 0, the instructions 0 .. I-1 at 1 .. I, the loss with the
 * final norm at I+1, the instructions backwards at I+2 .. 2I+1, the embedding's adjoint at 2I+2. A
 * buffer lives from the time that writes it to the last that reads it; arena.c lets those share memory
 * that never live together. What products aside read (backend.h) lives on until pass.c has met them. */
#include "nn/model/engine.h"

#include <limits.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

/* *p = a zeroed device buffer of n elements, freed with the model; a model that is only counted gets none. */
static int reserve(Model *m, void **p, size_t n)
{
    if (m->counted) return 0;
    *p = m->backend->alloc(n);
    if (!*p) return ERR_MEMORY;
    m->buffer[m->buffers++] = *p;
    return 0;
}

/* ---- times -------------------------------------------------------------------------------------- */

static int time_of(int instr)
{
    return 1 + instr;
}

static int time_loss(const Plan *p)
{
    return 1 + (int)p->instrs;
}

/* Returns the time of backward; instr -1: the embedding; `instrs`: the final norm. */
static int time_back(const Plan *p, int instr)
{
    return 2 * (int)p->instrs + 1 - instr;
}

/* Returns the last time that a product aside may run, which began in backward of instruction i, or in the loss. */
static int time_aside(const Model *m, int i)
{
    int meetings = 0, now = i == (int)m->plan->instrs ? time_loss(m->plan) : time_back(m->plan, i);
    if (!m->backend->branches || !m->training) return now;
    while (--i >= 0 && meetings < 2) meetings += plan_weighs(&m->plan->instr[i]);
    return time_back(m->plan, meetings < 2 ? -1 : i + 1) - (meetings == 2);
}

static void extend(int *end, int time)
{
    if (time > *end) *end = time;
}

/* Finds written[r], the instruction that writes register r (-1 for an embedding), and pull[r], the first instruction in
 * backward's order that adds to its adjoint, or else the one that writes r; see pass.c. */
static void find_pulls(const Plan *p, int *written, int *pull)
{
    for (int side = 0; side < p->sides; side++) written[side] = pull[side] = -1;
    for (int i = 0; i < (int)p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        if (plan_writes(in)) written[in->out] = pull[in->out] = i;
        for (size_t k = 0; in->op != PLAN_LIN && k < in->terms; k++) pull[in->term[k].x] = i;
    }
    pull[p->output] = (int)p->instrs;
}

/* Finds end[r], the last time that register r is read. Backward reads what EVALs and GATEs read, and what learned
 * factors multiply. */
static void find_ends(const Model *m, const int *written, int *end)
{
    const Plan *p = m->plan;
    for (size_t r = 0; r < p->registers; r++) end[r] = time_of(written[r]);
    for (int i = 0; i < (int)p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        for (size_t k = 0; k < in->terms; k++) {
            int again = m->training && (in->op != PLAN_LIN || in->term[k].factors);
            int weighs = in->op == PLAN_KEYS || (in->op == PLAN_EVAL && p->post);
            extend(&end[in->term[k].x], !again   ? time_of(i)
                                        : weighs ? time_aside(m, i)
                                                 : time_back(p, i));
        }
    }
    extend(&end[p->output], time_loss(p));
}

/* Finds end[r], the last time an adjoint is read: where r was written, or another pulls from it. */
static void find_adjoint_ends(const Model *m, const int *written, int *end)
{
    const Plan *p = m->plan;
    const int *pull = m->pull;
    for (size_t r = 0; r < p->registers; r++) end[r] = time_back(p, written[r]);
    for (int i = 0; i < (int)p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        if (plan_weighs(in)) extend(&end[in->out], time_aside(m, i));
        for (size_t k = 0; in->op == PLAN_LIN && k < in->terms; k++)
            if (pull[in->term[k].x] < i) extend(&end[in->out], time_back(p, pull[in->term[k].x]));
    }
}

/* ---- pieces ------------------------------------------------------------------------------------- */

typedef struct {
    Model *m;
    struct {
        Piece *piece;
        size_t count;
    } of[ARENAS];
} Pieces;

/* Returns the size of cols numbers for each row of a side of a batch; pieces begin at multiples of 16 elements. */
static size_t rows_of(const Model *m, int side, size_t cols)
{
    return (cols * most_rows(m, side) + 15) / 16 * 16;
}

static size_t register_size(const Model *m, size_t r)
{
    return rows_of(m, m->plan->reg[r].side, columns(m, (int)r));
}

static void need_of(Pieces *o, int which, void **where, size_t size, int begin, int end, int kind)
{
    o->of[which].piece[o->of[which].count++] = (Piece){where, size, begin, end, kind, 0};
}

static void need(Pieces *o, void **where, size_t size, int begin, int end, int kind)
{
    need_of(o, NUMBERS, where, size, begin, end, kind);
}

static int factors_of(const Model *m)
{
    return keeps_factors(m) ? FACTORS : NUMBERS;
}

/* Return when instruction i's register is written, and its norm: an EVAL before may do it (fuse.c). */
static int time_written(const Model *m, int i)
{
    if (i >= 0 && m->fuse[i].normed && m->plan->instr[i].op == PLAN_NORM) return time_of(i - 2);
    return time_of(i > 0 && m->fuse[i - 1].line ? i - 1 : i);
}

static int time_normed(const Model *m, int i)
{
    return time_of(m->fuse[i].normed ? i - 2 : i);
}

static void need_registers(Pieces *o, const int *written, const int *end)
{
    for (size_t r = 0; r < o->m->plan->registers; r++)
        need(o, &o->m->state[r], register_size(o->m, r), time_written(o->m, written[r]), end[r],
             MEMORY_ACTIVATIONS);
}

/* Lays out the adjoints; none for an EVAL's register where only the EVAL reads it, as factors. */
static void need_adjoints(Pieces *o, const int *written, const int *end)
{
    Model *m = o->m;
    for (size_t r = 0; r < m->plan->registers; r++) {
        size_t i = (size_t)written[r];
        int none = keeps_factors(m) && written[r] >= 0 && m->plan->instr[i].op == PLAN_EVAL &&
                   fuse_pulls(m, i, (int)r);
        need(o, &m->adjoint[r], none ? 0 : register_size(m, r), time_back(m->plan, m->pull[r]),
             end[r], MEMORY_ADJOINTS);
    }
}

/* Tells whether a slot keeps no input: backward of ReLU needs only its output. */
static int forgets(const Model *m, int slot)
{
    return m->plan->slot[slot].kind == SLOT_FEEDFORWARD && activation(m, slot) == ACT_RELU;
}

/* Tells whether all of a slot's attention is made of factors. */
static int attends_factors(const Model *m, int slot)
{
    const Backend *b = m->backend;
    return keeps_factors(m) && m->plan->slot[slot].kind == SLOT_ATTENTION &&
           !(m->config.positions & POSITIONS_RELATIVE) && !m->config.head_norm &&
           b->attends_factors(m->config.heads, m->E, m->config.kv_heads);
}

/* Returns the columns of w->in: none where a slot forgets it, or room for the bits that `activate` leaves. */
static size_t in_columns(const Model *m, int slot)
{
    const Backend *b = m->backend;
    const SlotParams *o = &m->slot[slot];
    if (!forgets(m, slot)) return o->I;
    return m->training ? b->signs(o->O) / b->factor_size : 0;
}

typedef struct {
    size_t of[ARENAS];
} Sizes;

/* Lays the pieces of one Work out in w->base and w->factors (NULL: only measures) and returns their sizes. ReLU works in
 * place, and where factors are numbers attention's output is the factor itself. */
static Sizes lay_work(const Model *m, int slot, Work *w)
{
    const SlotParams *o = &m->slot[slot];
    const PlanSlot *s = &m->plan->slot[slot];
    size_t D = m->config.width, H = plan_attends(s) ? m->config.heads : 0;
    size_t turned = s->kind == SLOT_ATTENTION && m->config.head_norm ? m->A + key_width(m) : 0;
    int normed = !m->plan->post; /* else the sublayer reads the register itself */
    int factors = factors_of(m), plain = H && !attends_factors(m, slot);
    int apart = keeps_factors(m) && plain; /* attention has numbers, and the product factors */
    void *base[ARENAS] = {w->base, w->factors};
    Sizes at = {{0}};
    const struct {
        void **p;
        size_t cols;
        int arena;
    } piece[] = {{&w->normed, normed ? D : 0, factors},
                 {&w->stats, normed ? 2 : 0, NUMBERS},
                 {&w->in, in_columns(m, slot), plain ? NUMBERS : factors},
                 {&w->raw, turned, NUMBERS},
                 {&w->head_stats, 2 * turned / m->E, NUMBERS},
                 {&w->core, o->O, factors},
                 {&w->out, apart ? o->O : 0, NUMBERS},
                 {&w->lse, H, NUMBERS}};
    for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
        int k = piece[i].arena;
        if (base[k] && piece[i].cols)
            *piece[i].p = k == FACTORS ? backend_factor_at(m->backend, base[k], at.of[k])
                                       : backend_at(m->backend, base[k], at.of[k]);
        at.of[k] += rows_of(m, s->side, piece[i].cols);
    }
    if (!apart) w->out = w->core;
    if (in_columns(m, slot) == 0) w->in = w->core;
    return at;
}

/* Lays out a Work that lives from begin to end, what products of weights read to `last`. */
static void need_work_of(Pieces *o, int slot, Work *w, int begin, int end, int last)
{
    const Model *m = o->m;
    Sizes size = lay_work(m, slot, &(Work){0});
    need(o, &w->base, size.of[NUMBERS], begin, keeps_factors(m) ? end : last, MEMORY_ACTIVATIONS);
    if (keeps_factors(m))
        need_of(o, FACTORS, &w->factors, size.of[FACTORS], begin, last, MEMORY_ACTIVATIONS);
}

/* Lays out the adjoints inside an EVAL: see lay_again. */
static void need_inside(Pieces *o, int i)
{
    Model *m = o->m;
    Work *w = &m->again[i];
    int slot = m->plan->instr[i].slot, back = time_back(m->plan, i);
    int side = m->plan->slot[slot].side, attends = plan_attends(&m->plan->slot[slot]);
    const SlotParams *p = &m->slot[slot];
    size_t D = m->config.width, O = rows_of(m, side, p->O), I = rows_of(m, side, p->I);
    int last = time_aside(m, i);
    if (keeps_factors(m)) {
        int whole = attends_factors(m, slot);
        size_t inner = whole ? I + O : attends ? I : O;
        need(o, &w->adjoints, rows_of(m, side, D) + (attends && !whole ? I : 0), back, back,
             MEMORY_ADJOINTS);
        need_of(o, FACTORS, &w->dfactors, rows_of(m, side, D) + inner, back, last, MEMORY_ADJOINTS);
    } else if (m->backend->branches) {
        need(o, &w->adjoints, O + (attends ? I : 0) + rows_of(m, side, D), back, last,
             MEMORY_ADJOINTS);
    } else if (attends || forgets(m, slot)) {
        need(o, &w->adjoints, O + (attends ? I : 0), back, back, MEMORY_ADJOINTS);
    }
}

/* Lays out the memory of instruction i, an EVAL: forward and, in a model with training, backward. */
static void need_work(Pieces *o, int i)
{
    Model *m = o->m;
    int slot = m->plan->instr[i].slot, now = time_of(i), back = time_back(m->plan, i);
    int keep = m->training && !m->config.recompute;
    int last = time_aside(m, i);
    need_work_of(o, slot, &m->work[i], time_normed(m, i), keep ? back : now, keep ? last : now);
    if (!m->training) return;
    if (!keep) need_work_of(o, slot, &m->again[i], back, back, last);
    need_inside(o, i);
}

/* Lays out the adjoint of keys and values as factors for the products. */
static void need_keys(Pieces *o, int i)
{
    Model *m = o->m;
    int back = time_back(m->plan, i);
    if (keeps_factors(m))
        need_of(o, FACTORS, &m->again[i].dfactors, rows_of(m, SIDE_SOURCE, 2 * m->config.width),
                back, time_aside(m, i), MEMORY_ADJOINTS);
}

static void need_stats(Pieces *o, int i)
{
    Model *m = o->m;
    int now = time_normed(m, i), end = m->training ? time_back(m->plan, i) : now;
    int side = m->plan->reg[m->plan->instr[i].out].side;
    need(o, &m->work[i].stats, rows_of(m, side, 2), now, end, MEMORY_ACTIVATIONS);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the rows of a block of logits of `bytes` each. */
static size_t logit_rows(const Model *m, size_t bytes)
{
    return least(m->config.max_tokens,
                 m->backend->logit_rows(m->out.widest, m->config.width, bytes));
}

static void need_loss(Pieces *o)
{
    Model *m = o->m;
    const ModelConfig *c = &m->config;
    int now = time_loss(m->plan), I = (int)m->plan->instrs, apart = keeps_factors(m);
    int begin = I > 1 && m->fuse[I - 2].norm == m->plan->instrs ? time_of(I - 2) : now;
    int plain = m->ends == &ends_plain; /* else rows of hidden are gathered */
    int last = plain ? time_aside(m, I) : now;
    m->out.block = logit_rows(m, m->backend->size);
    m->out.dblock = apart ? logit_rows(m, m->backend->factor_size) : m->out.block;
    m->out.factors = apart && (plain || c->masked);
    need_of(o, plain ? factors_of(m) : NUMBERS, &m->out.hidden, rows_of(m, SIDE_TARGET, c->width),
            begin, last, MEMORY_ACTIVATIONS);
    need(o, &m->out.stats, rows_of(m, SIDE_TARGET, 2), begin, now, MEMORY_ACTIVATIONS);
    size_t columns = m->plan->bidirectional && !c->masked ? 0 : m->out.widest;
    need(o, &m->out.logits, (m->out.block * columns + 15) / 16 * 16, now, apart ? now : last,
         MEMORY_WORKSPACE);
    if (apart)
        need_of(o, FACTORS, &m->out.dlogits, (m->out.dblock * columns + 15) / 16 * 16, now, last,
                MEMORY_WORKSPACE);
    if (m->training)
        need(o, &m->out.dhidden, rows_of(m, SIDE_TARGET, c->width), now, now, MEMORY_ADJOINTS);
}

static void need_head(Pieces *o, Head *h)
{
    Model *m = o->m;
    size_t size = rows_of(m, SIDE_TARGET, m->config.width);
    int now = time_loss(m->plan);
    need(o, &h->picked, size, now, now, MEMORY_ACTIVATIONS);
    need(o, &h->dense, size, now, now, MEMORY_ACTIVATIONS);
    need(o, &h->act, size, now, now, MEMORY_ACTIVATIONS);
    if (m->training) need(o, &h->dact, size, now, now, MEMORY_ADJOINTS);
}

static void need_heads(Pieces *o)
{
    Model *m = o->m;
    Heads *h = &m->heads;
    const ModelConfig *c = &m->config;
    size_t wide = rows_of(m, SIDE_TARGET, c->width);
    int now = time_loss(m->plan);
    if (c->segments) need(o, &h->wide, wide, 0, 0, MEMORY_WORKSPACE);
    if (c->masked) {
        need_head(o, &h->words);
        need(o, &h->stats, rows_of(m, SIDE_TARGET, 2), now, now, MEMORY_ACTIVATIONS);
        need_of(o, factors_of(m), &m->out.asked, wide, now, now, MEMORY_ACTIVATIONS);
        if (m->training) need(o, &m->out.dasked, wide, now, now, MEMORY_ADJOINTS);
    }
    if (!c->classes) return;
    need_head(o, &h->label);
    need(o, &h->z, rows_of(m, SIDE_TARGET, c->classes), now, now, MEMORY_ACTIVATIONS);
    need(o, &h->off, rows_of(m, SIDE_TARGET, 1), now, now, MEMORY_ACTIVATIONS);
}

static void need_mixes(Pieces *o)
{
    Model *m = o->m;
    size_t wide = rows_of(m, SIDE_TARGET, m->config.width),
           narrow = rows_of(m, SIDE_TARGET, m->tails.tail[0].width);
    size_t all = (filled_most(m) * m->config.width + 15) / 16 * 16; /* for all clusters at once */
    const int time[MIXES] = {0, time_loss(m->plan), time_back(m->plan, -1)};
    for (int i = 0; i < (m->training ? MIXES : MIX_BACK); i++) {
        Mix *x = &m->tails.mix[i];
        need(o, &x->wide, i == MIX_LOSS ? wide : all, time[i], time[i], MEMORY_WORKSPACE);
        need(o, &x->narrow, narrow, time[i], time[i], MEMORY_WORKSPACE);
        need(o, &x->other, narrow, time[i], time[i], MEMORY_WORKSPACE);
    }
}

static void need_all(Pieces *o, int *written, int *end)
{
    Model *m = o->m;
    const Plan *p = m->plan;
    find_pulls(p, written, m->pull);
    find_ends(m, written, end);
    need_registers(o, written, end);
    for (size_t i = 0; i < p->instrs; i++) {
        if (p->instr[i].op == PLAN_EVAL) need_work(o, (int)i);
        if (p->instr[i].op == PLAN_NORM) need_stats(o, (int)i);
        if (p->instr[i].op == PLAN_KEYS && m->training) need_keys(o, (int)i);
    }
    need_loss(o);
    if (m->config.tails) need_mixes(o);
    need_heads(o);
    need(o, &m->gates, p->gates * gate_rows(m), 0, INT_MAX, MEMORY_ACTIVATIONS);
    if (!m->training) return;
    need(o, &m->dgates, p->gates * gate_rows(m), 0, INT_MAX, MEMORY_ADJOINTS);
    find_adjoint_ends(m, written, end);
    need_adjoints(o, written, end);
}

/* ---- buffers ------------------------------------------------------------------------------------ */

/* Sets the buffers that backward reads: forward left them, or they are made again. din is the adjoint of the core: behind
 * dcore in attention, in the place of the input in a gated activation, which is not needed then, and of dcore in others.
 * Where factors are kept apart, dy, din and an activation's dcore are factors; among the numbers dqkv stands behind
 * attention's dcore, and dnormed takes dcore's place in the end; attention of factors has dcore behind din, which is
 * dqkv. Elsewhere they share: dy is the adjoint of the register; dcore takes the place of GELU's output, and dnormed that
 * of normed. With products aside none of this goes over what they read. */
static void lay_again(const Model *m, int i)
{
    const Backend *b = m->backend;
    const PlanInstr *in = &m->plan->instr[i];
    const SlotParams *o = &m->slot[in->slot];
    const PlanSlot *s = &m->plan->slot[in->slot];
    Work *again = &m->again[i], own = *again;
    size_t D = m->config.width, O = rows_of(m, s->side, o->O), I = rows_of(m, s->side, o->I);
    int apart = keeps_factors(m), attends = plan_attends(s);
    if (own.base)
        lay_work(m, in->slot, again);
    else
        *again = m->work[i];
    void *inner = apart ? backend_factor_at(b, own.dfactors, rows_of(m, s->side, D)) : NULL;
    again->dcore = apart && !attends ? inner : own.adjoints ? own.adjoints : again->core;
    again->dqkv = attends ? backend_at(b, own.adjoints, O) : NULL;
    again->dnormed = apart         ? own.adjoints
                     : b->branches ? backend_at(b, own.adjoints, O + (attends ? I : 0))
                                   : again->normed;
    again->dy = apart ? own.dfactors : m->adjoint[in->out];
    if (attends_factors(m, in->slot)) {
        again->dqkv = inner;
        again->dcore = backend_factor_at(b, inner, I);
    }
    again->din = attends ? (apart ? inner : again->dqkv) : o->I > o->O ? again->in : again->dcore;
}

static void lay_works(Model *m)
{
    for (size_t i = 0; i < m->plan->instrs; i++) {
        const PlanInstr *in = &m->plan->instr[i];
        Work *again = &m->again[i];
        if (in->op == PLAN_NORM) again->stats = m->work[i].stats;
        if (in->op == PLAN_KEYS)
            again->dy = keeps_factors(m) ? again->dfactors : m->adjoint[in->out];
        if (in->op != PLAN_EVAL) continue;
        lay_work(m, in->slot, &m->work[i]);
        if (m->training) lay_again(m, (int)i);
        if (m->plan->post) m->work[i].normed = again->normed = m->state[in->term[0].x];
    }
}

/* Counts each kind at the moment when most memory is alive; what the placement wastes counts as workspace. */
static void count_pieces(Model *m, const Pieces *o, int k, size_t bytes)
{
    size_t by_kind[MEMORY_KINDS];
    size_t peak = arena_peak(o->of[k].count, o->of[k].piece, MEMORY_KINDS, by_kind);
    by_kind[MEMORY_WORKSPACE] += m->arena[k].size - peak;
    for (int j = 0; j < MEMORY_KINDS; j++) m->bytes[j] += by_kind[j] * bytes;
}

static int reserve_arena(Model *m, int k)
{
    const Backend *b = m->backend;
    if (k == NUMBERS) return reserve(m, &m->arena[k].p, m->arena[k].size);
    if (m->counted || !keeps_factors(m)) return 0;
    m->arena[k].p = b->factors(m->arena[k].size);
    if (!m->arena[k].p) return ERR_MEMORY;
    m->buffer[m->buffers++] = m->arena[k].p;
    return 0;
}

static int lay_pieces(Model *m, Pieces *o)
{
    const Backend *b = m->backend;
    for (int k = 0; k < ARENAS; k++) {
        m->arena[k].size = arena_place(o->of[k].count, o->of[k].piece);
        TRY(reserve_arena(m, k));
        count_pieces(m, o, k, k == FACTORS ? b->factor_size : b->size);
        for (size_t i = 0; i < o->of[k].count && !m->counted; i++) {
            const Piece *p = &o->of[k].piece[i];
            *p->where = k == FACTORS ? backend_factor_at(b, m->arena[k].p, p->offset)
                                     : backend_at(b, m->arena[k].p, p->offset);
        }
    }
    if (m->counted) return 0;
    if (!keeps_factors(m)) m->out.dlogits = m->out.logits;
    if (!m->config.masked) m->out.asked = m->out.hidden, m->out.dasked = m->out.dhidden;
    lay_works(m);
    return 0;
}

static int lay_arena(Model *m)
{
    const Plan *p = m->plan;
    size_t most = 2 * p->registers + 8 * p->instrs + 8 + 3 * MIXES + 16;
    SCOPED(memory_drop) int *written = memory_new(2 * p->registers, sizeof *written);
    SCOPED(memory_drop) Piece *piece = memory_new(2 * most, sizeof *piece);
    if (!written || !piece) return ERR_MEMORY;
    Pieces o = {m, {{piece, 0}, {piece + most, 0}}};
    need_all(&o, written, written + p->registers);
    return lay_pieces(m, &o);
}

static int lay_flat(Model *m)
{
    size_t e = m->backend->size, N = m->config.max_tokens, tail = m->config.tails ? N : 0;
    size_t sorted = m->config.tails ? filled_most(m) : 0, inputs = sorted ? sorted : N;
    size_t M = m->config.max_source, words = m->config.masked ? N : 0;
    size_t labels = m->config.classes ? N : 0, segments = m->config.segments ? N : 0;
    size_t zeros = segments || m->config.no_bias ? m->config.width : 0;
    for (size_t s = 0; s < m->plan->slots && m->config.no_bias; s++) {
        size_t keys = m->plan->slot[s].kind == SLOT_CROSS ? 2 : 1;
        if (keys * m->slot[s].I > zeros) zeros = keys * m->slot[s].I;
    }
    size_t penalties = m->plan->network ? N : 0;
    size_t numbers = m->size * e, trained = m->training ? numbers : 0;
    size_t sines = m->config.positions & POSITIONS_SINUSOID ? longest(m) : 0;
    size_t turns = m->config.positions & POSITIONS_ROTARY ? longest(m) : 0;
    const struct {
        void **p;
        size_t bytes;
        int kind;
    } list[] = {
        {&m->data, numbers, MEMORY_PARAMETERS},
        {&m->twin, m->size * m->backend->twin_size, MEMORY_PARAMETERS},
        {&m->grad, trained, MEMORY_GRADIENTS},
        {&m->moment[0], trained, MEMORY_MOMENTS},
        {&m->moment[1], trained, MEMORY_MOMENTS},
        {&m->positions, sines * m->config.width * e, MEMORY_WORKSPACE},
        {&m->turns, turns * m->E * e, MEMORY_WORKSPACE},
        {&m->local, m->config.rotary_local > 0 ? turns * m->E * e : 0, MEMORY_WORKSPACE},
        {(void **)&m->batch.input, inputs * sizeof *m->batch.input, MEMORY_WORKSPACE},
        {(void **)&m->batch.target, N * sizeof *m->batch.target, MEMORY_WORKSPACE},
        {(void **)&m->batch.position, N * sizeof *m->batch.position, MEMORY_WORKSPACE},
        {(void **)&m->batch.begins, (N + 1) * sizeof *m->batch.begins, MEMORY_WORKSPACE},
        {(void **)&m->batch.source, M * sizeof *m->batch.source, MEMORY_WORKSPACE},
        {(void **)&m->batch.place, M * sizeof *m->batch.place, MEMORY_WORKSPACE},
        {(void **)&m->batch.source_begins, (M ? N + 1 : 0) * sizeof *m->batch.source_begins,
         MEMORY_WORKSPACE},
        {(void **)&m->step, sizeof *m->step, MEMORY_WORKSPACE},
        {(void **)&m->masks, sizeof *m->masks, MEMORY_WORKSPACE},
        {&m->out.nll, N * e, MEMORY_WORKSPACE},
        {&m->penalty.row, penalties * e, MEMORY_WORKSPACE},
        {(void **)&m->tails.place, tail * sizeof *m->tails.place, MEMORY_WORKSPACE},
        {(void **)&m->tails.row, sorted * sizeof *m->tails.row, MEMORY_WORKSPACE},
        {(void **)&m->tails.within, sorted * sizeof *m->tails.within, MEMORY_WORKSPACE},
        {&m->tails.nll, sorted * e, MEMORY_WORKSPACE},
        {(void **)&m->heads.words.row, words * sizeof *m->heads.words.row, MEMORY_WORKSPACE},
        {(void **)&m->heads.label.row, labels * sizeof *m->heads.label.row, MEMORY_WORKSPACE},
        {(void **)&m->heads.label_of, labels * sizeof *m->heads.label_of, MEMORY_WORKSPACE},
        {&m->heads.value, m->config.classes == 1 ? N * e : 0, MEMORY_WORKSPACE},
        {(void **)&m->heads.segment, segments * sizeof *m->heads.segment, MEMORY_WORKSPACE},
        {(void **)&m->clear, clear_size(m), MEMORY_WORKSPACE},
        {&m->zeros, zeros * e, MEMORY_WORKSPACE}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        size_t n = backend_elements(m->backend, list[i].bytes);
        if (n == 0) continue;
        TRY(reserve(m, list[i].p, n));
        m->bytes[list[i].kind] += n * e;
    }
    return 0;
}

int layout_buffers(Model *m)
{
    TRY(lay_flat(m));
    TRY(clear_send(m));
    if (m->config.positions & POSITIONS_LEARNED && !m->counted) m->positions = data(m, m->position);
    if (!m->counted) TRY(m->backend->weights(m->data, m->size, m->twin));
    return lay_arena(m);
}
