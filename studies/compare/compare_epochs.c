/* compare_epochs.c: lists validation perplexity after every epoch, and counts the runs still gaining when they
 * ended. */
#include <math.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/compare/compare.h"
#include "studies/runs/recorded.h"

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

/* Reads the ends of a run's epochs from its log: ppl (epochs) out, NULL: not asked; *last: the number of the last
 * one, 0 where there is none. */
static int read_ends(const Compare *u, const Cell *c, size_t k, double *ppl, size_t epochs,
                     size_t *last)
{
    RunSpec s = compare_spec(u, c, k);
    RunRow *row;
    size_t rows;
    *last = 0;
    if (isnan(c->result[k].valid_ppl)) return 0; /* the run failed */
    if (recorded_alone(&u->runs, &s) != SIZE_MAX) return 0;
    TRY(runs_log(u->dir, &s, &row, &rows));
    for (size_t i = 0; i < rows; i++) {
        if (!(row[i].valid_ppl > 0 && row[i].epoch >= 1)) continue;
        *last = (size_t)row[i].epoch;
        if (ppl && *last <= epochs) ppl[*last - 1] = row[i].valid_ppl;
    }
    memory_free(row);
    return 0;
}

static void add_rows(Sheet *r, const Cell *c, const double *ppl, size_t epochs, size_t seeds)
{
    for (size_t i = 0; i < epochs; i++) {
        Interval v = statistics_positive(ppl + i, epochs, seeds);
        if (v.n) sheet_row(r, &(EpochRow){c->scheme->name, c->layers, i + 1, v});
    }
}

static int add_cell(Compare *u, Cell *c)
{
    size_t last, epochs = 0;
    for (size_t k = 0; k < u->seeds; k++) {
        TRY(read_ends(u, c, k, NULL, 0, &last));
        if (last == 0) continue;
        if (last > epochs) epochs = last;
        c->gaining[k] = c->result[k].best_epoch >= (double)last;
    }
    if (epochs > u->last_epoch) u->last_epoch = epochs;
    double *ppl = memory_new(u->seeds * epochs, sizeof *ppl);
    int code = ppl ? 0 : ERR_MEMORY;
    for (size_t i = 0; ppl && i < u->seeds * epochs; i++) ppl[i] = NAN;
    for (size_t k = 0; code == 0 && k < u->seeds; k++)
        code = read_ends(u, c, k, ppl + k * epochs, epochs, &last);
    if (code == 0) add_rows(u->epochs, c, ppl, epochs, u->seeds);
    memory_free(ppl);
    return code;
}

int compare_epochs(Compare *u)
{
    TRY(sheet_new(epoch_columns, &u->epochs));
    for (size_t i = 0; i < u->cells; i++) TRY(add_cell(u, &u->cell[i]));
    return 0;
}
