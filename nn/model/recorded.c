/* recorded.c: records the calls of training steps, by the shape of their batches, and replays them.
 *
 * On several ranks a step is cut where sums begin and where they are waited for. The pieces between are recorded; the
 * sums are begun anew each time. NCCL's sums could be recorded too, but only if all ranks record the same step and
 * replay the same recording (NCCL user guide, "Using NCCL with CUDA Graphs"), and here the ranks have different shapes.
 * Sums begin while backward goes on, replayed or not. */
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/ranks.h"
#include "nn/model/engine.h"

#include <string.h>

void recorded_free(const Model *m, Recorded *r)
{
    for (size_t i = 0; i < r->pieces; i++) m->backend->recording_free(r->piece[i].calls);
    memory_free(r->piece);
    *r = (Recorded){0};
}

Recorded *recorded_find(Model *m, const StepShape *s)
{
    Recorded *oldest = m->recorded;
    for (size_t i = 0; i < RECORDED_MOST; i++) {
        Recorded *r = &m->recorded[i];
        if (r->used && memcmp(s, &r->shape, sizeof *s) == 0) return r; /* they have no padding */
        if (r->used < oldest->used) oldest = r;
    }
    recorded_free(m, oldest);
    oldest->shape = *s;
    return oldest;
}

/* Ends all ranks on a failure: the others would wait for this one's sums. */
static int end_ranks(Ranks *ranks, int code)
{
    if (code && ranks) ranks_end(ranks, code);
    return code;
}

int recorded_begin(const Model *m, Ranks *ranks)
{
    return end_ranks(ranks, m->backend->record());
}

/* Adds the recorded calls as a piece, with no sums behind it. */
static int add_piece(const Model *m, Recorded *r)
{
    Recording *calls;
    TRY(m->backend->recorded(&calls));
    int code = memory_add(r->piece, r->pieces, (RecordedPiece){.calls = calls});
    if (code) m->backend->recording_free(calls);
    return code;
}

void recorded_cut(const Model *m, Sums *s, int wait)
{
    if (end_ranks(s->ranks, add_piece(m, s->recorded))) return;
    RecordedPiece *piece = &s->recorded->piece[s->recorded->pieces - 1];
    piece->wait = wait;
    piece->count = s->count;
    memcpy(piece->sum, s->next, s->count * sizeof *s->next);
    s->count = 0;
    (void)recorded_begin(m, s->ranks);
}

int recorded_end(const Model *m, Recorded *r, Ranks *ranks)
{
    return end_ranks(ranks, add_piece(m, r));
}

int recorded_replay(const Model *m, const Recorded *r, Ranks *ranks)
{
    const Backend *b = m->backend;
    for (const RecordedPiece *p = r->piece; p < r->piece + r->pieces; p++) {
        TRY(end_ranks(ranks, b->replay(p->calls)));
        for (size_t i = 0; i < p->count; i++)
            ranks->begin(ranks, grad(m, p->sum[i].lo), p->sum[i].hi - p->sum[i].lo, b->size);
        if (p->wait) ranks->wait(ranks);
    }
    return 0;
}
