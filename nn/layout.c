/* layout.c: the memory of a model, sized once from its plan and configuration (engine.h).
 *
 * A pass runs through times: the embedding at 0, the instructions 0 .. I-1 at 1 .. I, the loss with the
 * final norm at I+1, the instructions backwards at I+2 .. 2I+1, the embedding's adjoint at 2I+2. A
 * buffer lives from the time that writes it to the last that reads it; arena.c lets those share memory
 * that never live together. */
#include "nn/engine.h"

#include <limits.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* *p = a zeroed device buffer of n elements, freed with the model; none where it is only counted. */
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

/* instr -1: the embedding; `instrs`: the final norm. */
static int time_back(const Plan *p, int instr)
{
    return 2 * (int)p->instrs + 1 - instr;
}

static void extend(int *end, int time)
{
    if (time > *end) *end = time;
}

/* written[r]: the instruction that writes it, an embedding: -1. pull[r]: the first of the backward list that needs its adjoint
 * for adding to it, or else the one that writes it; see pass.c. */
static void find_pulls(const Plan *p, int *written, int *pull)
{
    for (int side = 0; side < p->sides; side++) written[side] = pull[side] = -1;
    for (int i = 0; i < (int)p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        if (in->op != PLAN_GATE) written[in->out] = pull[in->out] = i;
        for (size_t k = 0; in->op != PLAN_LIN && k < in->terms; k++) pull[in->term[k].x] = i;
    }
    pull[p->output] = (int)p->instrs;
}

/* end[r]: the last time a register is read. Backward reads what EVALs and GATEs read, and what
 * learned factors are products with. */
static void find_ends(const Plan *p, int training, const int *written, int *end)
{
    for (size_t r = 0; r < p->registers; r++) end[r] = time_of(written[r]);
    for (int i = 0; i < (int)p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        for (size_t k = 0; k < in->terms; k++) {
            int again = training && (in->op != PLAN_LIN || in->term[k].factors);
            extend(&end[in->term[k].x], again ? time_back(p, i) : time_of(i));
        }
    }
    extend(&end[p->output], time_loss(p));
}

/* end[r]: the last time an adjoint is read: where its register was written, or by what is pulled from
 * it. */
static void find_adjoint_ends(const Plan *p, const int *written, const int *pull, int *end)
{
    for (size_t r = 0; r < p->registers; r++) end[r] = time_back(p, written[r]);
    for (int i = 0; i < (int)p->instrs; i++) {
        const PlanInstr *in = &p->instr[i];
        for (size_t k = 0; in->op == PLAN_LIN && k < in->terms; k++)
            if (pull[in->term[k].x] < i) extend(&end[in->out], time_back(p, pull[in->term[k].x]));
    }
}

/* ---- pieces ------------------------------------------------------------------------------------- */

typedef struct {
    Model *m;
    Piece *piece;
    size_t count;
} Pieces;

/* cols numbers for each row of a side of a batch; pieces begin at multiples of 16 elements. */
static size_t rows_of(const Model *m, int side, size_t cols)
{
    return (cols * most_rows(m, side) + 15) / 16 * 16;
}

static size_t register_size(const Model *m, size_t r)
{
    return rows_of(m, m->plan->reg[r].side, columns(m, (int)r));
}

static void need(Pieces *o, void **where, size_t size, int begin, int end, int kind)
{
    o->piece[o->count++] = (Piece){where, size, begin, end, kind, 0};
}

static void need_registers(Pieces *o, const int *written, const int *end)
{
    for (size_t r = 0; r < o->m->plan->registers; r++)
        need(o, &o->m->state[r], register_size(o->m, r), time_of(written[r]), end[r],
             MEMORY_ACTIVATIONS);
}

static void need_adjoints(Pieces *o, const int *end)
{
    Model *m = o->m;
    for (size_t r = 0; r < m->plan->registers; r++)
        need(o, &m->adjoint[r], register_size(m, r), time_back(m->plan, m->pull[r]), end[r],
             MEMORY_ADJOINTS);
}

/* ReLU works in place: its input is not kept, and its backward needs its output. */
static int in_place(const Model *m, int slot)
{
    return m->plan->slot[slot].kind == SLOT_FEEDFORWARD && activation(m, slot) == ACT_RELU;
}

/* Lays the pieces of one Work out in w->base (NULL: only measures); gives their size. */
static size_t lay_work(const Model *m, int slot, Work *w)
{
    const SlotParams *o = &m->slot[slot];
    const PlanSlot *s = &m->plan->slot[slot];
    size_t D = m->config.width, at = 0, H = plan_attends(s) ? m->config.heads : 0;
    int normed = !m->plan->post; /* else the register is what the sublayer reads */
    const struct {
        void **p;
        size_t cols;
    } piece[] = {{&w->normed, normed ? D : 0},
                 {&w->stats, normed ? 2 : 0},
                 {&w->in, in_place(m, slot) ? 0 : o->I},
                 {&w->core, o->O},
                 {&w->lse, H}};
    for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
        if (w->base) *piece[i].p = backend_at(m->backend, w->base, at);
        at += rows_of(m, s->side, piece[i].cols);
    }
    if (in_place(m, slot)) w->in = w->core;
    return at;
}

/* What instruction i, an EVAL, needs: forward, and in a model with training backward. */
static void need_work(Pieces *o, int i)
{
    Model *m = o->m;
    int slot = m->plan->instr[i].slot, now = time_of(i), back = time_back(m->plan, i);
    size_t size = lay_work(m, slot, &(Work){0});
    int keep = m->training && !m->config.recompute;
    need(o, &m->work[i].base, size, now, keep ? back : now, MEMORY_ACTIVATIONS);
    if (!m->training) return;
    if (!keep) need(o, &m->again[i].base, size, back, back, MEMORY_ACTIVATIONS);
    int side = m->plan->slot[slot].side, attends = plan_attends(&m->plan->slot[slot]);
    if (!attends && !in_place(m, slot)) return;
    size_t adjoints = rows_of(m, side, m->slot[slot].O);
    if (attends) adjoints += rows_of(m, side, m->slot[slot].I);
    need(o, &m->again[i].adjoints, adjoints, back, back, MEMORY_ADJOINTS);
}

/* What a NORM leaves for its backward. */
static void need_stats(Pieces *o, int i)
{
    Model *m = o->m;
    int now = time_of(i), end = m->training ? time_back(m->plan, i) : now;
    int side = m->plan->reg[m->plan->instr[i].out].side;
    need(o, &m->work[i].stats, rows_of(m, side, 2), now, end, MEMORY_ACTIVATIONS);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t logit_rows(const Backend *b, size_t V)
{
    size_t rows = b->logit_numbers / V;
    return rows < LOGIT_LEAST ? LOGIT_LEAST : least(rows, b->logit_rows);
}

static void need_loss(Pieces *o)
{
    Model *m = o->m;
    const ModelConfig *c = &m->config;
    int now = time_loss(m->plan);
    m->out.block = least(c->max_tokens, logit_rows(m->backend, m->out.widest));
    need(o, &m->out.hidden, rows_of(m, SIDE_TARGET, c->width), now, now, MEMORY_ACTIVATIONS);
    need(o, &m->out.stats, rows_of(m, SIDE_TARGET, 2), now, now, MEMORY_ACTIVATIONS);
    size_t logits = m->plan->bidirectional && !c->masked ? 0 : m->out.block * m->out.widest;
    need(o, &m->out.logits, (logits + 15) / 16 * 16, now, now, MEMORY_WORKSPACE);
    if (m->training)
        need(o, &m->out.dhidden, rows_of(m, SIDE_TARGET, c->width), now, now, MEMORY_ADJOINTS);
}

/* A dense layer over up to max N rows. */
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

/* What an encoder alone needs at both ends. */
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
        need(o, &m->out.asked, wide, now, now, MEMORY_ACTIVATIONS);
        if (m->training) need(o, &m->out.dasked, wide, now, now, MEMORY_ADJOINTS);
    }
    if (!c->classes) return;
    need_head(o, &h->label);
    need(o, &h->z, rows_of(m, SIDE_TARGET, c->classes), now, now, MEMORY_ACTIVATIONS);
    need(o, &h->off, rows_of(m, SIDE_TARGET, 1), now, now, MEMORY_ACTIVATIONS);
}

/* What a source needs whose words are dropped. */
static void need_dropped(Pieces *o)
{
    Model *m = o->m;
    Dropped *d = &m->dropped;
    size_t wide = rows_of(m, SIDE_SOURCE, m->config.width);
    int back = time_back(m->plan, -1);
    need(o, &d->words, wide, 0, 0, MEMORY_WORKSPACE);
    need(o, &d->place, wide, 0, 0, MEMORY_WORKSPACE);
    if (m->training) need(o, &d->dwords, wide, back, back, MEMORY_WORKSPACE);
}

/* What the tails of an adaptive softmax need at both ends. */
static void need_mixes(Pieces *o)
{
    Model *m = o->m;
    size_t wide = rows_of(m, SIDE_TARGET, m->config.width),
           narrow = rows_of(m, SIDE_TARGET, m->tails.tail[0].width);
    const int time[MIXES] = {0, time_loss(m->plan), time_back(m->plan, -1)};
    for (int i = 0; i < (m->training ? MIXES : MIX_BACK); i++) {
        Mix *x = &m->tails.mix[i];
        need(o, &x->wide, wide, time[i], time[i], MEMORY_WORKSPACE);
        need(o, &x->narrow, narrow, time[i], time[i], MEMORY_WORKSPACE);
        need(o, &x->other, narrow, time[i], time[i], MEMORY_WORKSPACE);
    }
}

static void need_all(Pieces *o, int *written, int *end)
{
    Model *m = o->m;
    const Plan *p = m->plan;
    find_pulls(p, written, m->pull);
    find_ends(p, m->training, written, end);
    need_registers(o, written, end);
    for (size_t i = 0; i < p->instrs; i++) {
        if (p->instr[i].op == PLAN_EVAL) need_work(o, (int)i);
        if (p->instr[i].op == PLAN_NORM) need_stats(o, (int)i);
    }
    need_loss(o);
    if (m->config.tails) need_mixes(o);
    if (m->config.word_dropout > 0) need_dropped(o);
    need_heads(o);
    need(o, &m->gates, p->gates * gate_rows(m), 0, INT_MAX, MEMORY_ACTIVATIONS);
    if (!m->training) return;
    need(o, &m->dgates, p->gates * gate_rows(m), 0, INT_MAX, MEMORY_ADJOINTS);
    find_adjoint_ends(p, written, m->pull, end);
    need_adjoints(o, end);
}

/* ---- buffers ------------------------------------------------------------------------------------ */

/* What backward reads is what forward left, or is made again. The adjoint of GELU's output takes the
 * place of the output, which is not needed then; a feed-forward core's two adjoints are one. */
static void lay_again(const Model *m, int slot, const Work *w, Work *again)
{
    const SlotParams *o = &m->slot[slot];
    void *adjoints = again->adjoints;
    if (again->base)
        lay_work(m, slot, again);
    else
        *again = *w;
    again->dcore = adjoints ? adjoints : again->core;
    const PlanSlot *s = &m->plan->slot[slot];
    again->din = plan_attends(s) ? backend_at(m->backend, adjoints, rows_of(m, s->side, o->O))
                                 : again->dcore;
}

static void lay_works(Model *m)
{
    for (size_t i = 0; i < m->plan->instrs; i++) {
        const PlanInstr *in = &m->plan->instr[i];
        if (in->op != PLAN_EVAL) continue;
        lay_work(m, in->slot, &m->work[i]);
        if (m->training) lay_again(m, in->slot, &m->work[i], &m->again[i]);
        if (m->plan->post) m->work[i].normed = m->again[i].normed = m->state[in->term[0].x];
    }
}

/* Kinds of the moment when most is alive; what the placement wastes is workspace. */
static void count_pieces(Model *m, const Pieces *o)
{
    size_t by_kind[MEMORY_KINDS];
    size_t peak = arena_peak(o->count, o->piece, MEMORY_KINDS, by_kind);
    by_kind[MEMORY_WORKSPACE] += m->arena_size - peak;
    for (int k = 0; k < MEMORY_KINDS; k++) m->bytes[k] += by_kind[k] * m->backend->size;
}

static int lay_pieces(Model *m, Pieces *o)
{
    m->arena_size = arena_place(o->count, o->piece);
    TRY(reserve(m, &m->arena, m->arena_size));
    count_pieces(m, o);
    if (m->counted) return 0;
    for (size_t i = 0; i < o->count; i++)
        *o->piece[i].where = backend_at(m->backend, m->arena, o->piece[i].offset);
    if (!m->config.masked) m->out.asked = m->out.hidden, m->out.dasked = m->out.dhidden;
    lay_works(m);
    return 0;
}

static int lay_arena(Model *m)
{
    const Plan *p = m->plan;
    int *written = memory_new(2 * p->registers, sizeof *written);
    Pieces o = {
        m, memory_new(2 * p->registers + 3 * p->instrs + 8 + 3 * MIXES + 14, sizeof *o.piece), 0};
    int code = written && o.piece ? 0 : ERR_MEMORY;
    if (code == 0) {
        need_all(&o, written, written + p->registers);
        code = lay_pieces(m, &o);
    }
    memory_free(written);
    memory_free(o.piece);
    return code;
}

/* Buffers that live as long as the model. */
static int lay_flat(Model *m)
{
    size_t e = m->backend->size, N = m->config.max_tokens, tail = m->config.tails ? N : 0;
    size_t M = m->config.max_source, words = m->config.masked ? N : 0;
    size_t labels = m->config.classes ? N : 0, segments = m->config.segments ? N : 0;
    size_t numbers = m->size * e, trained = m->training ? numbers : 0;
    size_t dropped = m->config.word_dropout > 0 ? M : 0;
    size_t sines = m->config.positions & POSITIONS_SINUSOID ? longest(m) : 0;
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
        {(void **)&m->batch.input, N * sizeof *m->batch.input, MEMORY_WORKSPACE},
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
        {(void **)&m->tails.place, tail * sizeof *m->tails.place, MEMORY_WORKSPACE},
        {(void **)&m->tails.row, tail * sizeof *m->tails.row, MEMORY_WORKSPACE},
        {(void **)&m->tails.within, tail * sizeof *m->tails.within, MEMORY_WORKSPACE},
        {&m->tails.nll, tail * e, MEMORY_WORKSPACE},
        {(void **)&m->heads.words.row, words * sizeof *m->heads.words.row, MEMORY_WORKSPACE},
        {(void **)&m->heads.label.row, labels * sizeof *m->heads.label.row, MEMORY_WORKSPACE},
        {(void **)&m->heads.label_of, labels * sizeof *m->heads.label_of, MEMORY_WORKSPACE},
        {&m->heads.value, m->config.classes == 1 ? N * e : 0, MEMORY_WORKSPACE},
        {(void **)&m->heads.segment, segments * sizeof *m->heads.segment, MEMORY_WORKSPACE},
        {&m->zeros, segments || dropped ? m->config.width * e : 0, MEMORY_WORKSPACE},
        {&m->dropped.kept, dropped * e, MEMORY_WORKSPACE},
        {(void **)&m->tails.label, m->tails.labels * N * sizeof *m->tails.label, MEMORY_WORKSPACE}};
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
    if (m->twin) TRY(m->backend->weights(m->data, m->size, m->twin));
    return lay_arena(m);
}

/* ---- host lists --------------------------------------------------------------------------------- */

/* The LINs that read a register, last first: reader[from[r]] .. reader[from[r+1]-1]. */
static void list_readers(Model *m)
{
    const Plan *p = m->plan;
    size_t *from = m->from;
    for (size_t i = 0; i < p->instrs; i++)
        for (size_t k = 0; p->instr[i].op == PLAN_LIN && k < p->instr[i].terms; k++)
            from[p->instr[i].term[k].x]++;
    for (size_t r = 1; r <= p->registers; r++) from[r] += from[r - 1];
    for (size_t i = 0; i < p->instrs; i++)
        for (size_t k = p->instr[i].op == PLAN_LIN ? p->instr[i].terms : 0; k-- > 0;)
            m->reader[--from[p->instr[i].term[k].x]] = (Reader){i, k};
}

/* Of each slot, its first instruction. */
static void find_firsts(Model *m)
{
    for (size_t i = m->plan->instrs; i-- > 0;)
        if (plan_of_slot(&m->plan->instr[i])) m->slot[m->plan->instr[i].slot].first = i;
}

static size_t count_terms(const Plan *p)
{
    size_t terms = 0;
    for (size_t i = 0; i < p->instrs; i++) terms += p->instr[i].terms;
    return terms;
}

/* Each is freed by model_free whether or not the others were had. */
int layout_lists(Model *m)
{
    const Plan *p = m->plan;
    size_t params = 5 + 10 + 8 * p->slots + 2 * p->gates + p->scalars + 4 * TAILS_MOST;
    size_t terms = count_terms(p), tail = m->config.tails ? m->config.max_tokens : 0;
    m->param = memory_new(params, sizeof *m->param);
    m->start = memory_new(params, sizeof *m->start);
    m->stretch = memory_new(params, sizeof *m->stretch);
    m->slot = memory_new(p->slots, sizeof *m->slot);
    m->scalar = memory_new(p->scalars, sizeof *m->scalar);
    m->gate = memory_new(p->gates, sizeof *m->gate);
    m->pull = memory_new(p->registers, sizeof *m->pull);
    m->from = memory_new(p->registers + 1, sizeof *m->from);
    m->reader = memory_new(terms, sizeof *m->reader);
    m->state = memory_new(p->registers, sizeof *m->state);
    m->adjoint = memory_new(p->registers, sizeof *m->adjoint);
    m->work = memory_new(p->instrs, sizeof *m->work);
    m->again = memory_new(p->instrs, sizeof *m->again);
    m->term = memory_new(terms, sizeof *m->term);
    m->gate_x = memory_new(terms, sizeof *m->gate_x);
    m->gate_dx = memory_new(terms, sizeof *m->gate_dx);
    m->recorded = memory_new(RECORDED_MOST, sizeof *m->recorded);
    m->tails.sorted = memory_new((5 + m->tails.labels) * tail, sizeof *m->tails.sorted);
    m->heads.list =
        memory_new(m->plan->bidirectional ? m->config.max_tokens : 0, sizeof *m->heads.list);
    if (!(m->param && m->start && m->stretch && m->slot && m->scalar && m->gate && m->pull &&
          m->from && m->reader && m->state && m->adjoint && m->work && m->again && m->term &&
          m->gate_x && m->gate_dx && m->recorded && m->tails.sorted && m->heads.list))
        return ERR_MEMORY;
    list_readers(m);
    find_firsts(m);
    return 0;
}

void layout_free(Model *m)
{
    for (size_t i = 0; m->recorded && i < RECORDED_MOST; i++) recorded_free(m, &m->recorded[i]);
    for (size_t i = 0; i < m->buffers; i++) m->backend->release(m->buffer[i]);
    void *list[] = {m->heads.list, m->tails.sorted,   m->stretch, m->param,   m->start,
                    m->slot,       m->scalar,         m->gate,    m->pull,    m->from,
                    m->reader,     m->state,          m->adjoint, m->work,    m->again,
                    m->term,       (void *)m->gate_x, m->gate_dx, m->recorded};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) memory_free(list[i]);
}
