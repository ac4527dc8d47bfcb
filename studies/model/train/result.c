/* result.c: result.csv and log.csv of a training, and what a result is worth. */
#include "studies/model/train/result.h"

#include <math.h>

#include "kernels/base/error.h"
#include "studies/base/sheet.h"
#include "studies/model/network.h"

#define RUN_OBJECTIVE \
    "masked: perplexities are pseudo-perplexities, of masked words, which compare with no others"

const RunResult runs_none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

const Column run_columns[] = {
    COLUMN(RunRecord, scheme, .page = 1),
    COLUMN(RunRecord, layers, .page = 1),
    FIELD(RunRecord, "params", result.params, .form = SHEET_FIXED, .page = 1),
    COLUMN(RunRecord, seed, .page = 1),
    FIELD(RunRecord, "best_epoch", result.best_epoch, .form = SHEET_FIXED, .page = 1),
    FIELD(RunRecord, "valid_ppl", result.valid_ppl, .form = SHEET_FIXED, .digits = 2, .page = 1),
    FIELD(RunRecord, "test_ppl", result.test_ppl, .form = SHEET_FIXED, .digits = 2, .page = 1),
    FIELD(RunRecord, "tokens_per_s", result.tokens_per_s, .form = SHEET_FIXED, .page = 1),
    FIELD(RunRecord, "peak_bytes", result.peak_bytes, .form = SHEET_FIXED, .page = 1),
    FIELD(RunRecord, "valid_exact", result.valid_exact, .digits = 4, .page = 1, .sparse = 1),
    FIELD(RunRecord, "test_exact", result.test_exact, .digits = 4, .page = 1, .sparse = 1),
    FIELD(RunRecord, "valid_bits", result.valid_bits, .digits = 5, .page = 1, .sparse = 1,
          .words = "bits a byte of the validation text"),
    FIELD(RunRecord, "test_bits", result.test_bits, .digits = 5, .page = 1, .sparse = 1,
          .words = "bits a byte of the test text"),
    COLUMN(RunRecord, objective, .page = 1, .sparse = 1, .words = RUN_OBJECTIVE),
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
    {0}};

int runs_diverged(const RunResult *r, size_t n, size_t V)
{
    for (size_t i = 0; i < n; i++)
        if (!isnan(r[i].valid_ppl) && !(r[i].valid_ppl < (double)V && r[i].test_ppl < (double)V))
            return 1;
    return 0;
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

int runs_result(const Frame *c, size_t row, RunResult *out)
{
    RunRecord r;
    TRY(frame_record(c, row, run_columns, &r));
    *out = r.result;
    return 0;
}
