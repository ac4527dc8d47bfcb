/* result.c: result.csv and log.csv of a training, and what a result is worth. */
#include "studies/model/train/result.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/sheet.h"
#include "studies/model/network.h"

#define RUN_OBJECTIVE \
    "masked: perplexities are pseudo-perplexities, of masked words, which compare with no others"

const Column run_columns[] = {VALUE("scheme", .page = 1),
                              VALUE("layers", .page = 1),
                              VALUE("params", .page = 1),
                              VALUE("seed", .page = 1),
                              VALUE("best_epoch", .form = SHEET_FIXED, .page = 1),
                              VALUE("valid_ppl", .page = 1),
                              VALUE("test_ppl", .page = 1),
                              VALUE("tokens_per_s", .page = 1),
                              VALUE("peak_bytes", .form = SHEET_FIXED, .page = 1),
                              VALUE("valid_exact", .digits = 4, .page = 1, .sparse = 1),
                              VALUE("test_exact", .digits = 4, .page = 1, .sparse = 1),
                              VALUE("valid_bits", .digits = 5, .page = 1, .sparse = 1,
                                    .words = "bits a byte of the validation text"),
                              VALUE("test_bits", .digits = 5, .page = 1, .sparse = 1,
                                    .words = "bits a byte of the test text"),
                              VALUE("objective", .page = 1, .sparse = 1, .words = RUN_OBJECTIVE),
                              {0}};

const Column log_columns[] = {
    COLUMN(RunRow, step),
    COLUMN(RunRow, epoch),
    COLUMN(RunRow, tokens, .words = "tokens trained on so far"),
    COLUMN(RunRow, train_loss),
    COLUMN(RunRow, valid_ppl),
    COLUMN(RunRow, rate, .words = "learning rate of the step"),
    COLUMN(RunRow, grad_norm),
    COLUMN(RunRow, tokens_per_s),
    COLUMN(RunRow, valid_exact, .sparse = 1),
    COLUMN(RunRow, valid_score, .sparse = 1,
           .words = "BLEU of the validation text, greedily translated"),
    COLUMN(RunRow, objective, .sparse = 1, .words = RUN_OBJECTIVE),
    COLUMN(RunRow, valid_bits, .sparse = 1, .words = "bits a byte of the validation text"),
    COLUMN(RunRow, penalty, .sparse = 1,
           .words =
               "what --step-penalty adds to the loss, with its factor; train_loss is without it"),
    {0}};

int runs_diverged(double valid_ppl, double test_ppl, size_t V)
{
    return !isnan(valid_ppl) && !(valid_ppl < (double)V && test_ppl < (double)V);
}

/* A few good steps move the loss by no more than rounding and the noise of a few batches, far below a hundredth of it; the
 * loss of a training that diverged lies far above. */
int runs_worse(Model *fresh, const Options *o, const Corpus *c, double valid_ppl)
{
    const TrainConfig t = network_training(o);
    const Text *source = &c->source[SPLIT_VALID];
    Asking room[SPLITS];
    const Asking *ask = network_asking(o, room);
    Evaluation e;
    if (train_eval(fresh, &c->text[SPLIT_VALID], source, &c->vocab, ask ? &ask[SPLIT_VALID] : NULL,
                   source->tokens ? CONTEXT_SENTENCE : t.context, t.batch_tokens, t.sequence,
                   &e) != 0)
        return 0;
    return !(log(valid_ppl) <= 1.01 * e.mean);
}

int runs_unigram(const Corpus *c, Unigram *u)
{
    TRY(corpus_unigram(c, SPLIT_VALID, &u->valid));
    return corpus_unigram(c, SPLIT_TEST, &u->test);
}

int runs_beats_unigram(double valid, double test, const Unigram *u)
{
    return valid < u->valid && test < u->test;
}

int runs_result(const Frame *c, size_t row)
{
    double x;
    for (const Column *k = run_columns; k->name; k++) {
        int at = frame_column(c, k->name);
        if (k->sparse || strcmp(k->name, "scheme") == 0) continue;
        if (at < 0 || row >= c->rows)
            return error_set(ERR_INPUT, "%s: expected a column '%s', and a row", c->file, k->name);
        TRY(frame_number(c, row, at, &x));
    }
    return 0;
}
