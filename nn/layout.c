/* layout.c: the memory of a model, sized once from its plan and configuration (model_private.h). */
#include "nn/model_private.h"

#include "kernels/error.h"
#include "kernels/memory.h"

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

int layout_buffers(Model *m)
{
    TRY(lay_params(m));
    TRY(lay_registers(m));
    TRY(lay_workspaces(m));
    return lay_ends(m);
}

/* Host lists; each is freed by model_free whether or not the others were had. */
int layout_lists(Model *m)
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

void layout_free(Model *m)
{
    for (size_t i = 0; i < m->buffers; i++) m->backend->release(m->buffer[i]);
    void *list[] = {m->param, m->start,          m->slot,    m->scalar, m->gate,
                    m->last,  m->state,          m->adjoint, m->work,   m->nll,
                    m->term,  (void *)m->gate_x, m->gate_dx};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) memory_free(list[i]);
}
