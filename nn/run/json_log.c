/* json_log.c: writes the rows of log.csv also as JSON lines, in a file that the caller names (TrainConfig.log).
 *
 * A line is an object with numbers alone, null where a number is not known:
 *
 *   {"step": 40, "epoch": 2, "seconds": 1.25, "tokens": 10240, "train_loss": 2.5, "valid_ppl": null, ...}
 *
 * A resumed run keeps the lines that its state knows and cuts off any that follow, so none is there twice. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/error.h"
#include "nn/run/run.h"

static int failed(const char *file)
{
    return error_set(ERR_INPUT, "%s: %s", file, strerror(errno));
}

/* Returns the step of the next line of f, or 0 where there is no whole line of this kind. */
static uint64_t read_step(FILE *f)
{
    uint64_t step;
    int c, found = fscanf(f, "{\"step\": %" SCNu64 ",", &step) == 1;
    do c = getc(f);
    while (c != EOF && c != '\n');
    return found && c == '\n' ? step : 0;
}

static int is_regular(const char *file)
{
    struct stat s;
    return stat(file, &s) == 0 && S_ISREG(s.st_mode);
}

int train_log_check(const char *file)
{
    struct stat s;
    if (stat(file, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) return 0; /* a pipe */
    FILE *f = fopen(file, "a+");
    if (!f) return failed(file);
    rewind(f);
    int empty = getc(f) == EOF;
    rewind(f);
    uint64_t first = read_step(f);
    fclose(f);
    if (empty || first) return 0;
    return error_set(ERR_INPUT, "%s: it is there and is no log of a training, so it is left alone",
                     file);
}

static int cut(const char *file, uint64_t last)
{
    FILE *f = fopen(file, "r");
    if (!f) return errno == ENOENT ? 0 : failed(file);
    long end = 0;
    for (uint64_t step; (step = read_step(f)) > 0 && step <= last;) end = ftell(f);
    fclose(f);
    return truncate(file, end) == 0 ? 0 : failed(file);
}

int json_open(Run *r)
{
    const char *file = r->t->log;
    const Progress *p = &r->p;
    if (!file) return 0;
    /* The row of the state's step is already written if its mean has begun anew. */
    uint64_t last = p->sum_tokens ? p->step - 1 : p->step;
    if (r->t->resume && is_regular(file)) TRY(cut(file, last));
    r->json = fopen(file, r->t->resume ? "a" : "w");
    return r->json ? 0 : failed(file);
}

static void print_number(FILE *f, const char *name, double x)
{
    if (isfinite(x))
        fprintf(f, ", \"%s\": %.9g", name, x);
    else
        fprintf(f, ", \"%s\": null", name);
}

int json_row(Run *r, const TrainReport *t, int exact)
{
    FILE *f = r->json;
    if (!f) return 0;
    fprintf(f, "{\"step\": %" PRIu64 ", \"epoch\": %ld, \"seconds\": %.3f, \"tokens\": %zu",
            t->step, t->epoch, r->p.seconds, t->tokens);
    print_number(f, "train_loss", t->train_loss);
    print_number(f, "valid_ppl", t->valid_ppl > 0 ? t->valid_ppl : NAN);
    print_number(f, "rate", t->rate);
    print_number(f, "grad_norm", t->grad_norm);
    print_number(f, "tokens_per_s", t->tokens_per_s);
    if (exact) print_number(f, "valid_exact", t->valid_exact);
    if (r->t->judge) print_number(f, "valid_score", t->valid_score);
    fputs("}\n", f);
    if (fflush(f) == 0) return 0;
    return error_set(ERR_SYSTEM, "%s: %s", r->t->log, strerror(errno));
}
