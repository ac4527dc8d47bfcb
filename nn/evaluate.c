/* evaluate.c: the loss over a text, read by one process or by ranks that each have a share of every batch. */
#include <math.h>

#include "kernels/error.h"
#include "nn/run.h"

/* Batch i, or this rank's share of it, before which there are *first rows. */
int evaluate_batch(Ranks *r, Batches *b, size_t i, Batch *x, size_t *first)
{
    *first = 0;
    TRY(batches_get(b, i, x));
    if (r) share_batch(x, r->rank, r->size, x, first);
    return 0;
}

/* total (2): sum of nll and tokens of all batches, or of this rank's shares; stop may be NULL. */
static int eval_own(Model *m, Ranks *r, Batches *b, const volatile int *stop, double *total)
{
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        size_t first;
        double mean;
        if (stop && *stop) return error_set(ERR_INTERRUPTED, "interrupted");
        TRY(evaluate_batch(r, b, i, &x, &first));
        if (x.N == 0) continue;
        TRY(model_forward(m, &x, 0, 0, NULL, &mean));
        total[0] += mean * (double)x.N;
        total[1] += (double)x.N;
    }
    return 0;
}

/* Mean nll over all batches as they stand. */
int evaluate_batches(Model *m, Ranks *r, Batches *b, const volatile int *stop, double *mean,
                     size_t *tokens)
{
    double total[2] = {0, 0};
    TRY(ranks_agree(r, eval_own(m, r, b, stop, total)));
    if (r) r->sum(r, total, 2);
    *mean = total[0] / total[1];
    if (tokens) *tokens = (size_t)total[1];
    return isfinite(*mean) ? 0 : error_set(ERR_NUMERIC, "the loss is not finite");
}

int train_eval(Model *m, const Text *t, const Vocab *v, int context, size_t batch_tokens,
               size_t sequence, double *mean, size_t *tokens)
{
    Batches *b;
    TRY(batches_new(t, NULL, v, context, batch_tokens, sequence, 0, &b));
    batches_epoch(b, -1);
    int code = evaluate_batches(m, NULL, b, NULL, mean, tokens);
    batches_free(b);
    return code;
}
