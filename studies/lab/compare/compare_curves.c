/* compare_curves.c: means over seeds of what the logs of the trainings tell: losses, norms of gradients, and validation
 * perplexity after every epoch. */
#include "studies/lab/compare/compare.h"
#include "studies/base/command.h"

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

static int add_log(const Study *u, const Spec *s, RunRow **sum, size_t *rows)
{
    SCOPED(memory_drop) RunRow *row = NULL;
    size_t n;
    TRY(runs_log(u->dir, s, &row, &n));
    if (*sum) {
        sum_rows(*sum, rows, row, n);
        return 0;
    }
    *sum = row;
    *rows = n;
    row = NULL;
    return 0;
}

/* Adds the mean over the seeds, row by row of their logs. */
static int add_curve(const Study *u, const StudyDesign *d, Sheet *out)
{
    size_t rows = 0;
    SCOPED(memory_drop) RunRow *sum = NULL;
    for (size_t k = 0; k < d->seeds; k++) {
        RunSpec s = study_spec(d, &d->run[k]);
        TRY(add_log(u, &s.own, &sum, &rows));
    }
    double n = (double)d->seeds;
    for (size_t i = 0; i < rows; i++)
        sheet_row(out, &(CurveRow){d->name,
                                   spec_size(&d->spec.own, "layers"),
                                   {.step = sum[i].step / n,
                                    .epoch = sum[i].epoch,
                                    .tokens = sum[i].tokens / n,
                                    .train_loss = sum[i].train_loss / n,
                                    .valid_ppl = sum[i].valid_ppl / n,
                                    .grad_norm = sum[i].grad_norm / n}});
    return 0;
}

int compare_curves(Study *u, Sheet *out)
{
    for (size_t i = 0; i < u->designs; i++)
        if (study_has_logs(u, &u->design[i])) TRY(add_curve(u, &u->design[i], out));
    return 0;
}
