/* shares.c: compares bytes sent and time waited by each rank. */
#include "studies/train/train.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/progress.h"

enum { FIELDS = sizeof(Share) / sizeof(double) };

int shares_gather(Ranks *r, const TrainResult *result, Share **out)
{
    Share *all = *out = memory_new((size_t)r->size, sizeof *all);
    TRY(ranks_agree(r, all ? 0 : ERR_MEMORY));
    all[r->rank] = (Share){(double)result->here.steps, result->here.seconds, result->here.waited,
                           (double)r->bytes};
    r->sum(r, &all->steps, (size_t)r->size * FIELDS);
    return 0;
}

static double per_step(double x, const Share *s)
{
    return s->steps > 0 ? x / s->steps : 0;
}

static void tell(const Ranks *r, const Share *share)
{
    double least = 1, most = 0;
    for (int k = 0; k < r->size; k++) {
        double part = share[k].seconds > 0 ? share[k].waited / share[k].seconds : 0;
        least = part < least ? part : least;
        most = part > most ? part : most;
    }
    progress_note(
        "%d ranks: %.3f MB of gradients summed a step, %.2f ms a step, of which the ranks spent "
        "%.0f to %.0f %% in sums with the others",
        r->size, 1e-6 * per_step(share->bytes, share), 1e3 * per_step(share->seconds, share),
        100 * least, 100 * most);
}

typedef struct {
    int rank;
    size_t steps;
    double bytes_per_step, wait_ms_per_step, ms_per_step;
} ShareRow;

const Column share_columns[] = {
    COLUMN(ShareRow, rank, .words = "number of the process, from 0"),
    COLUMN(ShareRow, steps, .words = "steps that this command trained"),
    COLUMN(ShareRow, bytes_per_step, .form = SHEET_FIXED,
           .words = "bytes given to sums with the others"),
    COLUMN(ShareRow, wait_ms_per_step, .form = SHEET_FIXED, .digits = 4,
           .words = "milliseconds in those sums"),
    COLUMN(ShareRow, ms_per_step, .form = SHEET_FIXED, .digits = 4, .words = "milliseconds in all"),
    {0}};

int shares_write(const Ranks *r, const Share *share, const char *dir)
{
    Sheet *t;
    TRY(sheet_new(share_columns, &t));
    for (int k = 0; k < r->size; k++) {
        const Share *s = &share[k];
        sheet_row(t, &(ShareRow){.rank = k,
                                 .steps = (size_t)s->steps,
                                 .bytes_per_step = per_step(s->bytes, s),
                                 .wait_ms_per_step = 1e3 * per_step(s->waited, s),
                                 .ms_per_step = 1e3 * per_step(s->seconds, s)});
    }
    int code = output_sheet(t, SHEET_CSV, dir, "ranks.csv");
    sheet_free(t);
    tell(r, share);
    return code;
}
