/* lists.c: host lists that live as long as the model, sized by its plan. */
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "nn/model/engine.h"

/* Lists the LINs that read each register, last first: reader[from[r]] .. reader[from[r+1]-1]. */
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

static void find_firsts(Model *m)
{
    const Plan *p = m->plan;
    for (size_t s = 0; s < p->slots; s++) m->slot[s].last = m->slot[s].last_keys = SIZE_MAX;
    for (size_t i = p->instrs; i-- > 0;)
        if (plan_of_slot(&p->instr[i])) m->slot[p->instr[i].slot].first = i;
    for (size_t i = 0; i < p->instrs; i++) {
        if (p->instr[i].op == PLAN_EVAL) m->slot[p->instr[i].slot].last = i;
        if (p->instr[i].op == PLAN_KEYS) m->slot[p->instr[i].slot].last_keys = i;
    }
}

static size_t count_terms(const Plan *p)
{
    size_t terms = 0;
    for (size_t i = 0; i < p->instrs; i++) terms += p->instr[i].terms;
    return terms;
}

/* Allocates the lists. After a failure lists_free frees those that were allocated. */
int lists_make(Model *m)
{
    const Plan *p = m->plan;
    size_t params = 6 + 10 + 8 * p->slots + 2 * p->gates + p->scalars + 4 * TAILS_MOST;
    size_t terms = count_terms(p), tail = m->config.tails ? filled_most(m) : 0;
    m->param = memory_new(params, sizeof *m->param);
    m->start = memory_new(params, sizeof *m->start);
    m->stretch = memory_new(params, sizeof *m->stretch);
    m->slot = memory_new(p->slots, sizeof *m->slot);
    m->scalar = memory_new(p->scalars, sizeof *m->scalar);
    m->gate = memory_new(p->gates, sizeof *m->gate);
    m->pull = memory_new(p->registers, sizeof *m->pull);
    m->fuse = memory_new(p->instrs, sizeof *m->fuse);
    m->from = memory_new(p->registers + 1, sizeof *m->from);
    m->reader = memory_new(terms, sizeof *m->reader);
    m->state = memory_new(p->registers, sizeof *m->state);
    m->adjoint = memory_new(p->registers, sizeof *m->adjoint);
    m->work = memory_new(p->instrs, sizeof *m->work);
    m->again = memory_new(p->instrs, sizeof *m->again);
    m->term = memory_new(terms + 1, sizeof *m->term);
    m->gate_x = memory_new(terms, sizeof *m->gate_x);
    m->gate_dx = memory_new(terms, sizeof *m->gate_dx);
    m->recorded = memory_new(RECORDED_MOST, sizeof *m->recorded);
    if (p->network) {
        m->penalty.list = memory_new(2 * m->config.max_tokens, sizeof(double));
        m->penalty.sum = memory_new(1, sizeof(double));
        if (!m->penalty.list || !m->penalty.sum) return ERR_MEMORY;
    }
    m->tails.sorted = memory_new(5 * tail, sizeof *m->tails.sorted);
    m->heads.list =
        memory_new(m->plan->bidirectional ? m->config.max_tokens : 0, sizeof *m->heads.list);
    if (!(m->param && m->start && m->stretch && m->slot && m->scalar && m->gate && m->pull &&
          m->fuse && m->from && m->reader && m->state && m->adjoint && m->work && m->again &&
          m->term && m->gate_x && m->gate_dx && m->recorded && m->tails.sorted && m->heads.list))
        return ERR_MEMORY;
    list_readers(m);
    find_firsts(m);
    fuse_find(m);
    return 0;
}

void lists_free(Model *m)
{
    for (size_t i = 0; m->recorded && i < RECORDED_MOST; i++) recorded_free(m, &m->recorded[i]);
    for (size_t i = 0; i < m->buffers; i++) m->backend->release(m->buffer[i]);
    void *list[] = {m->heads.list,   m->tails.sorted, m->stretch,        m->param,   m->start,
                    m->slot,         m->scalar,       m->gate,           m->pull,    m->from,
                    m->fuse,         m->reader,       m->state,          m->adjoint, m->work,
                    m->again,        m->term,         (void *)m->gate_x, m->gate_dx, m->recorded,
                    m->penalty.list, m->penalty.sum};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) memory_free(list[i]);
}
