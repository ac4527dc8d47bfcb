/* shares.c: bytes sent and time waited by each rank (shares.h). */
#include "studies/train/shares.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/output.h"
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

int shares_write(const Ranks *r, const Share *share, const char *dir)
{
    static const char *const columns[] = {"rank", "steps", "bytes_per_step", "wait_ms_per_step",
                                          "ms_per_step"};
    Report *t;
    TRY(report_new(sizeof columns / sizeof *columns, columns, &t));
    for (int k = 0; k < r->size; k++) {
        report_size(t, (uint64_t)k);
        report_size(t, (uint64_t)share[k].steps);
        report_fixed(t, per_step(share[k].bytes, &share[k]), 0);
        report_fixed(t, 1e3 * per_step(share[k].waited, &share[k]), 4);
        report_fixed(t, 1e3 * per_step(share[k].seconds, &share[k]), 4);
    }
    int code = output_report(t, REPORT_CSV, dir, "ranks.csv");
    report_free(t);
    tell(r, share);
    return code;
}
