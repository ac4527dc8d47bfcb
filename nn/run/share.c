/* share.c: training by ranks (kernels/ranks.h): the rows of a batch that each rank has, and the sums of their
 * gradients.
 *
 * Gradients are one buffer, and backward finishes the slots' windows of it mostly from the last to the first.
 * A window joins the waiting one if the two touch. The waiting window is summed once it is large, while
 * backward goes on with the earlier slots. Gradients that backward adds to until its end (the embedding,
 * scalars, gates) are summed last. The plan alone decides the order of the sums, so it is the same on all
 * ranks.
 */
#include "nn/run/pass.h"

enum { WORTH = 1 << 20 };

/* ---- rows --------------------------------------------------------------------------------------- */

/* Returns the end of rank r's share, which begins at sequence `begin`: the nearest to (r + 1) / size of the
 * tokens that leaves a sequence for each rank after it. */
static size_t share_end(const Batch *x, size_t begin, size_t r, size_t size)
{
    if (x->S <= size) return begin < x->S ? begin + 1 : begin;
    size_t end = begin + 1, last = x->S - (size - 1 - r);
    while (end < last && size * (x->start[end] + x->start[end + 1]) <= 2 * x->N * (r + 1)) end++;
    return end;
}

/* Shares what an encoder is asked: words of rows row .. end-1, labels of sequences from begin on. */
static void share_asked(const Batch *x, size_t begin, size_t row, size_t end, Batch *out)
{
    size_t from = 0, to;
    while (from < x->asked.count && (size_t)x->asked.row[from] < row) from++;
    for (to = from; to < x->asked.count && (size_t)x->asked.row[to] < end; to++)
        x->asked.row[to] -= (int32_t)row;
    out->asked = x->asked;
    out->asked.count = to - from;
    out->asked.row += from;
    out->asked.word += from;
    out->asked.before = begin;
    if (x->asked.segment) out->asked.segment += row;
    if (x->asked.label) out->asked.label += begin;
    if (x->asked.value) out->asked.value += begin;
}

void share_batch(const Batch *x, int rank, int size, Batch *out, size_t first[SIDES])
{
    size_t begin = 0, end = 0;
    for (size_t r = 0; r <= (size_t)rank; r++) {
        begin = end;
        end = share_end(x, begin, r, (size_t)size);
    }
    size_t row = first[SIDE_TARGET] = x->start[begin];
    Batch share = {.N = x->start[end] - row,
                   .S = end - begin,
                   .longest = x->longest,
                   .input = x->input + row,
                   .target = x->target ? x->target + row : NULL,
                   .position = x->position + row,
                   .start = x->start + begin};
    if (!x->target) share_asked(x, begin, row, row + share.N, &share);
    for (size_t s = 0; s <= share.S; s++) share.start[s] -= row;
    first[SIDE_SOURCE] = 0;
    if (x->source.N) {
        row = first[SIDE_SOURCE] = x->source.start[begin];
        share.source.N = x->source.start[end] - row;
        share.source.longest = x->source.longest;
        share.source.input = x->source.input + row;
        share.source.position = x->source.position + row;
        share.source.start = x->source.start + begin;
        for (size_t s = 0; s <= share.S; s++) share.source.start[s] -= row;
    }
    *out = share;
}

/* Returns a share's most rows: half a sequence off the ideal place, or one sequence. */
size_t share_most(size_t batch_tokens, size_t sequence, int size)
{
    size_t most = batch_tokens / (size_t)size + 1 + sequence;
    return most < batch_tokens ? most : batch_tokens;
}

/* ---- gradients ---------------------------------------------------------------------------------- */

static void sum_window(const Model *m, Sums *s, size_t lo, size_t hi)
{
    if (lo >= hi) return;
    if (s->recorded)
        s->next[s->count++] = (Window){lo, hi};
    else
        s->ranks->begin(s->ranks, backend_at(m->backend, m->grad, lo), hi - lo, m->backend->size);
}

static void flush(const Model *m, Sums *s)
{
    sum_window(m, s, s->waits.lo, s->waits.hi);
    s->waits = (Window){0};
}

static void join(const Model *m, Sums *s, size_t lo, size_t hi)
{
    if (hi == s->waits.lo) {
        s->waits.lo = lo;
    } else if (lo == s->waits.hi) {
        s->waits.hi = hi;
    } else {
        flush(m, s);
        s->waits = (Window){lo, hi};
    }
    size_t worth = s->ranks->worth ? s->ranks->worth : WORTH;
    if (s->waits.hi - s->waits.lo >= worth) flush(m, s);
}

void share_after(const Model *m, const Pass *p, size_t i)
{
    const PlanInstr *in = &m->plan->instr[i];
    Sums *s = p->sums;
    if (!s) return;
    if (plan_of_slot(in) && m->slot[in->slot].first == i)
        join(m, s, m->slot[in->slot].norm_w, m->slot[in->slot].end);
    if (s->recorded && s->count) recorded_cut(m, s, 0);
    if (!s->recorded) s->ranks->push(s->ranks);
}

void share_nothing(const Model *m, const Pass *p)
{
    for (size_t i = m->plan->instrs; i-- > 0;) share_after(m, p, i);
}

/* Sums the rest. A slot that no instruction reads has no gradient. */
void share_rest(const Model *m, const Pass *p)
{
    size_t slots = m->plan->slots;
    Sums *s = p->sums;
    if (!s) return;
    flush(m, s);
    sum_window(m, s, 0, slots ? m->slot[0].norm_w : m->size);
    sum_window(m, s, slots ? m->slot[slots - 1].end : m->size, m->size);
    if (s->recorded)
        recorded_cut(m, s, 1);
    else
        s->ranks->wait(s->ranks);
}
