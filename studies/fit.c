/* fit.c: the memory of a training before it begins (fit.h). */
#include "studies/fit.h"

#include <stdio.h>
#include <unistd.h>

#include "kernels/error.h"

/* Bytes of this process in memory. Source: proc(5), /proc/PID/statm. */
static size_t held(void)
{
    size_t all, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%zu %zu", &all, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

int fit_count(const Options *o, const Table *t, const Corpus *c, const Backend *b, int ranks,
              size_t *bytes)
{
    TRY(network_trained(o, t, c->vocab.size, b, ranks, bytes, NULL));
    if (b->record) return 0;
    *bytes += held();
    return 0;
}

int fit_check(const Options *o, const Table *t, const Corpus *c, const Backend *b, int ranks)
{
    size_t limit = options_bytes(o, "memory-limit"), need;
    if (limit == 0) return 0;
    TRY(fit_count(o, t, c, b, ranks, &need));
    if (need <= limit) return 0;
    return error_set(
        ERR_INPUT,
        "--memory-limit %s: this training needs %.1f MB; less with %s--batch-tokens below %zu "
        "(--accumulate keeps the step's size), fewer --layers, a smaller --width or --vocabulary",
        options_text(o, "memory-limit"), 1e-6 * (double)need,
        options_flag(o, "recompute") ? "" : "--recompute, ", options_size(o, "batch-tokens"));
}
