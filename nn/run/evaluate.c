/* evaluate.c: the loss over a text, read by one process or by ranks that each have a share of every batch. */
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/tick.h"
#include "nn/run/run.h"

int evaluate_batch(Ranks *r, Batches *b, size_t i, Batch *x, size_t first[SIDES])
{
    first[SIDE_TARGET] = first[SIDE_SOURCE] = 0;
    TRY(batches_get(b, i, x));
    if (r) share_batch(x, r->rank, r->size, x, first);
    return 0;
}

int evaluate_sides(const Model *m, const char *name, int pairs)
{
    int sides = model_config(m)->max_source > 0;
    if (pairs == sides) return 0;
    return error_set(ERR_INPUT, "%s is %s, and the model is %s", name,
                     pairs ? "of pairs" : "a text without a source",
                     sides ? "an encoder and a decoder" : "a language model, which has no encoder");
}

enum { SUM_NLL, SUM_TOKENS, SUM_PAIRS, SUM_EXACT, SUMS };

/* Sums over all batches, or over this rank's shares, into total (SUMS); stop may be NULL. */
static int eval_own(Model *m, Ranks *r, Batches *b, const volatile int *stop, double *total)
{
    for (size_t i = 0; i < batches_count(b); i++) {
        Batch x;
        size_t first[SIDES], exact = 0;
        double mean;
        if (stop && *stop) return error_set(ERR_INTERRUPTED, "interrupted");
        tick_of((double)i, (double)batches_count(b));
        TRY(evaluate_batch(r, b, i, &x, first));
        if (x.N == 0) continue;
        int pairs = x.source.N > 0, labels = x.asked.label != NULL;
        TRY(pairs    ? model_exact(m, &x, &mean, &exact)
            : labels ? model_right(m, &x, &mean, &exact)
                     : model_forward(m, &x, 0, 0, NULL, &mean));
        total[SUM_NLL] += mean * (double)batch_asked(&x);
        total[SUM_TOKENS] += (double)batch_asked(&x);
        total[SUM_PAIRS] += pairs || labels ? (double)x.S : 0;
        total[SUM_EXACT] += (double)exact;
    }
    return 0;
}

int evaluate_batches(Model *m, Ranks *r, Batches *b, const volatile int *stop, Evaluation *e)
{
    double total[SUMS] = {0};
    TRY(ranks_agree(r, eval_own(m, r, b, stop, total)));
    if (r) r->sum(r, total, SUMS);
    *e = (Evaluation){.mean = total[SUM_NLL] / total[SUM_TOKENS],
                      .tokens = (size_t)total[SUM_TOKENS],
                      .pairs = (size_t)total[SUM_PAIRS],
                      .exact = (size_t)total[SUM_EXACT]};
    if (e->tokens == 0)
        return error_set(ERR_INPUT, "the text is so short that no word of it is masked");
    return isfinite(e->mean) ? 0 : error_set(ERR_NUMERIC, "the loss is not finite");
}

double evaluation_exact(const Evaluation *e)
{
    return e->pairs ? (double)e->exact / (double)e->pairs : NAN;
}

int train_eval(Model *m, const Text *t, const Text *source, const Vocab *v, const Asking *ask,
               int context, size_t batch_tokens, size_t sequence, Evaluation *e)
{
    SCOPED(batches_drop) Batches *b = NULL;
    TRY(evaluate_sides(m, t->file, source && source->tokens && !ask));
    TRY(batches_new(t, source, v, ask, context, batch_tokens, sequence, 0, &b));
    batches_epoch(b, -1);
    return evaluate_batches(m, NULL, b, NULL, e);
}
