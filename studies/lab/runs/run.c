/* run.c: how a run is named, what its result is, and what a result is worth. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/model/network.h"
#include "studies/lab/runs/runs.h"

/* ---- where a run is, and whether it is done -------------------------------------------------- */

/* Returns 1 where a scheme's own name ends like the name of a depth, "-layersN". */
static int ends_in_depth(const char *name)
{
    static const char depth[] = "-layers";
    size_t n = strlen(name), at = n, m = sizeof depth - 1;
    while (at > 0 && isdigit((unsigned char)name[at - 1])) at--;
    return at < n && at >= m && strncmp(name + at - m, depth, m) == 0;
}

/* Names are one to one: what stands behind the scheme is read from the end, and a depth of 1 is left out only where
 * the scheme's name cannot be read as one with a depth. The '/' of dial:S-P/Q cannot stand in a folder's name and is
 * written '_', which stands in no other name that begins so. */
int runs_name(const RunSpec *s, char out[512])
{
    int n = s->encoder ? snprintf(out, 512, "%s@%zu+%s@%zu", s->encoder->name, s->encoder_layers,
                                  s->scheme->name, s->layers)
                       : snprintf(out, 512, "%s", s->scheme->name);
    if (!s->encoder && (s->layers > 1 || ends_in_depth(s->scheme->name)))
        n += snprintf(out + n, 512 - (size_t)n, "-layers%zu", s->layers);
    if (s->untested && s->rate && s->dropout)
        n += snprintf(out + n, 512 - (size_t)n, "-rate%.31s-dropout%.31s", s->rate, s->dropout);
    if (s->untested && s->epochs)
        n += snprintf(out + n, 512 - (size_t)n, "-epochs%.31s", s->epochs);
    n += snprintf(out + n, 512 - (size_t)n, "-seed%llu", (unsigned long long)s->seed);
    for (char *c = out; *c; c++)
        if (*c == '/') *c = '_';
    return 0;
}

int runs_directory(const char *dir, const RunSpec *s, char out[OUTPUT_PATH])
{
    char name[512];
    TRY(runs_name(s, name));
    return output_path(out, dir, "%s/%s", s->untested ? "tune" : "runs", name);
}

/* ---- results --------------------------------------------------------------------------------- */

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

int runs_result(const Csv *c, size_t row, RunResult *out)
{
    RunRecord r;
    TRY(csv_record(c, row, run_columns, &r));
    *out = r.result;
    return 0;
}
