/* compare_curves.c: means over seeds of what the logs of the trainings tell: losses, and validation perplexity after every
 * epoch. */
#include <math.h>

#include "studies/compare/compare.h"
#include "studies/tools/command.h"

typedef struct {
    const char *scheme;
    size_t layers, epoch;
    Interval valid;
} EpochRow;

const Column epoch_columns[] = {
    COLUMN(EpochRow, scheme),
    COLUMN(EpochRow, layers),
    COLUMN(EpochRow, epoch),
    FIELD(EpochRow, "seeds", valid.n),
    FIELD(EpochRow, "valid_ppl", valid.mean, .low = "valid_low", .high = "valid_high"),
    FIELD(EpochRow, "valid_sd", valid.sd),
    FIELD(EpochRow, "valid_low", valid.low, .words = STATISTICS_POSITIVE_LOW),
    FIELD(EpochRow, "valid_high", valid.high),
    {0}};

/* Reads the ends of a run's epochs from its log, where it has one: ppl (at most epochs) out. Returns how many in *ends. */
static int read_ends(const Study *u, const StudyDesign *d, size_t k, double *ppl, size_t epochs,
                     size_t *ends)
{
    RunSpec s = study_spec(d, &d->run[k]);
    RunRow *row;
    size_t rows;
    *ends = 0;
    if (isnan(d->run[k].result.valid_ppl) || d->run[k].row != SIZE_MAX) return 0;
    TRY(runs_log(u->dir, &s, &row, &rows));
    for (size_t i = 0; i < rows; i++) {
        if (!(row[i].valid_ppl > 0 && row[i].epoch >= 1 && row[i].epoch <= (double)epochs))
            continue;
        *ends = (size_t)row[i].epoch;
        ppl[*ends - 1] = row[i].valid_ppl;
    }
    memory_free(row);
    return 0;
}

/* ppl (seeds, epochs): room. */
static int add_ends(const Study *u, const StudyDesign *d, double *ppl, size_t epochs, Sheet *out)
{
    size_t most = 0, ends;
    for (size_t i = 0; i < d->seeds * epochs; i++) ppl[i] = NAN;
    for (size_t k = 0; k < d->seeds; k++) {
        TRY(read_ends(u, d, k, ppl + k * epochs, epochs, &ends));
        if (ends > most) most = ends;
    }
    Compare *c = u->more;
    if (most > c->last_epoch) c->last_epoch = most;
    for (size_t i = 0; i < most; i++) {
        Interval v = statistics_positive(ppl + i, epochs, d->seeds);
        if (v.n) sheet_row(out, &(EpochRow){d->name, d->spec.layers, i + 1, v});
    }
    return 0;
}

int compare_epochs(Study *u, Column **own, Sheet **out)
{
    size_t epochs = options_size(u->options, "epochs");
    (void)own;
    TRY(sheet_new(epoch_columns, out));
    double *ppl = memory_new(u->seeds * epochs, sizeof *ppl);
    int code = ppl ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < u->designs; i++)
        code = add_ends(u, &u->design[i], ppl, epochs, *out);
    memory_free(ppl);
    return code;
}

/* ---- losses -------------------------------------------------------------------------------------- */

/* Means over the seeds. */
typedef struct {
    const char *scheme;
    size_t layers;
    RunRow at;
} CurveRow;

const Column curve_columns[] = {COLUMN(CurveRow, scheme),
                                FIELD(CurveRow, "step", at.step),
                                FIELD(CurveRow, "epoch", at.epoch),
                                FIELD(CurveRow, "tokens", at.tokens),
                                FIELD(CurveRow, "train_loss", at.train_loss),
                                FIELD(CurveRow, "valid_ppl", at.valid_ppl),
                                FIELD(CurveRow, "grad_norm", at.grad_norm),
                                COLUMN(CurveRow, layers),
                                {0}};

/* Adds the rows to sum, as many as both have: seeds cut the text at different places, so one may have a
 * row more. */
static void sum_rows(RunRow *sum, size_t *rows, const RunRow *row, size_t n)
{
    if (n < *rows) *rows = n;
    for (size_t i = 0; i < *rows; i++) {
        sum[i].step += row[i].step;
        sum[i].tokens += row[i].tokens;
        sum[i].train_loss += row[i].train_loss;
        sum[i].valid_ppl += row[i].valid_ppl;
        sum[i].grad_norm += row[i].grad_norm;
    }
}

static int add_log(const Study *u, const RunSpec *s, RunRow **sum, size_t *rows)
{
    RunRow *row;
    size_t n;
    TRY(runs_log(u->dir, s, &row, &n));
    if (!*sum) {
        *sum = row;
        *rows = n;
        return 0;
    }
    sum_rows(*sum, rows, row, n);
    memory_free(row);
    return 0;
}

/* Adds the mean over the seeds, row by row of their logs. */
static int add_curve(const Study *u, const StudyDesign *d, Sheet *out)
{
    size_t rows = 0;
    RunRow *sum = NULL;
    int code = 0;
    for (size_t k = 0; code == 0 && k < d->seeds; k++) {
        RunSpec s = study_spec(d, &d->run[k]);
        code = add_log(u, &s, &sum, &rows);
    }
    double n = (double)d->seeds;
    for (size_t i = 0; code == 0 && i < rows; i++)
        sheet_row(out, &(CurveRow){d->name,
                                   d->spec.layers,
                                   {.step = sum[i].step / n,
                                    .epoch = sum[i].epoch,
                                    .tokens = sum[i].tokens / n,
                                    .train_loss = sum[i].train_loss / n,
                                    .valid_ppl = sum[i].valid_ppl / n,
                                    .grad_norm = sum[i].grad_norm / n}});
    memory_free(sum);
    return code;
}

int compare_curves(Study *u, Column **own, Sheet **out)
{
    (void)own;
    TRY(sheet_new(curve_columns, out));
    for (size_t i = 0; i < u->designs; i++)
        if (study_has_logs(&u->design[i])) TRY(add_curve(u, &u->design[i], *out));
    return 0;
}
