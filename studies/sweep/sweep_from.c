/* sweep_from.c: reads runs that earlier sweeps recorded, in place of trainings (--from DIR). DIR/sweep.csv has
 * the results. As in a comparison, a run that two directories have must have one perplexity, and as many
 * parameters as a word has with the given options; recipes are not checked. */
#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "studies/tools/csv.h"
#include "studies/tools/output.h"
#include "studies/sweep/sweep.h"

int sweep_recorded(const Sweep *u)
{
    return options_item(u->options, "from", 0) != NULL;
}

static Word *find_word(Sweep *u, const char *letters)
{
    for (size_t i = 0; i < u->words; i++)
        if (strcmp(u->word[i].letters, letters) == 0) return &u->word[i];
    return NULL;
}

static int take_run(Sweep *u, const Csv *t, size_t row)
{
    const char *letters = csv_named(t, row, "word");
    int at = csv_column(t, "seed");
    Word *w = find_word(u, letters);
    double seed;
    RunResult r;
    TRY(sweep_result(t, row, &r));
    if (!w || at < 0) return 0;
    TRY(csv_number(t, row, at, &seed));
    if (isnan(r.valid_ppl) || !(seed >= (double)u->seed && seed < (double)(u->seed + w->seeds)))
        return 0;
    return runs_take(t->file, letters, seed, w->numbers, options_size(u->options, "epochs"), &r,
                     &w->result[(size_t)seed - u->seed]);
}

static int take_runs(Sweep *u, const char *dir)
{
    char path[OUTPUT_PATH];
    Csv t;
    TRY(output_path(path, dir, "sweep.csv"));
    TRY(csv_open(&t, path));
    int code = 0;
    for (size_t i = 0; code == 0 && i < t.rows; i++) code = take_run(u, &t, i);
    csv_close(&t);
    return code;
}

int sweep_from(Sweep *u)
{
    const char *dir;
    for (size_t i = 0; (dir = options_item(u->options, "from", i)); i++) TRY(take_runs(u, dir));
    for (size_t i = 0; i < u->words; i++)
        for (size_t k = 0; k < u->word[i].seeds; k++)
            if (isnan(u->word[i].result[k].valid_ppl))
                return error_set(ERR_INPUT, "--from: no sweep.csv has a run of %s with seed %zu",
                                 u->word[i].letters, u->seed + k);
    return 0;
}
