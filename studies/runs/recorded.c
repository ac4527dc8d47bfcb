/* recorded.c: reads runs from DIR/runs.csv. */
#include "studies/runs/recorded.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* Compares the row `unigram` with this corpus. Both sum the same logarithms in the same order, so they differ at most by
 * how the machines round a logarithm: far less than 1e-9 of the perplexity. */
static int check_unigram(const Csv *t, size_t row, const Unigram *now)
{
    const struct {
        const char *name, *words;
        double now;
    } text[] = {{"valid_ppl", "validation", now->valid}, {"test_ppl", "test", now->test}};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        double there = NAN;
        int at = csv_column(t, text[i].name);
        if (at >= 0) TRY(csv_number(t, row, at, &there));
        if (fabs(there - text[i].now) > 1e-9 * there) /* NaN passes */
            return error_set(ERR_INPUT,
                             "%s: the unigram has %s perplexity %.9g, and %.9g with these options: "
                             "another corpus or vocabulary",
                             t->file, text[i].words, there, text[i].now);
    }
    return 0;
}

static const char *first_name(const Csv *t, size_t row)
{
    return csv_cell(t, row, 0);
}

int recorded_chooses(const Csv *t, size_t row)
{
    const char *part = csv_named(t, row, "part");
    return strcmp(part, "tuning") == 0 || strcmp(part, "trial") == 0;
}

/* Returns 1 for a row that is no finished run: a bound, or a run that failed. */
static int is_none(const Csv *t, size_t row)
{
    return strcmp(csv_named(t, row, "part"), "bound") == 0 || !*csv_named(t, row, "valid_ppl");
}

int recorded_open(Recorded *r, const char *dir)
{
    *r = (Recorded){0};
    TRY(output_path(r->path, dir, "runs.csv"));
    if (!output_exists(r->path)) return 0;
    TRY(csv_open(&r->table, r->path));
    r->taken = memory_new(r->table.rows + 1, 1);
    if (r->taken) return 0;
    recorded_close(r);
    return ERR_MEMORY;
}

void recorded_close(Recorded *r)
{
    csv_close(&r->table);
    memory_free(r->taken);
    *r = (Recorded){0};
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Returns 1 where a cell is this number, or the table has no such column. */
static int is_number(const Csv *t, size_t row, const char *name, double x)
{
    double there;
    int at = csv_column(t, name);
    return at < 0 || (csv_number(t, row, at, &there) == 0 && there == x);
}

static int is_name(const Csv *t, size_t row, const char *name, const Table *scheme)
{
    return strcmp(csv_named(t, row, name), scheme->name) == 0;
}

static int is_row(const Runs *r, const RunSpec *s, size_t row)
{
    const Csv *t = &r->recorded.table;
    char corpus[32];
    snprintf(corpus, sizeof corpus, "%016llx", (unsigned long long)r->checksum);
    if (is_none(t, row) || recorded_chooses(t, row) != s->untested) return 0;
    if (s->untested && !(is_number(t, row, "rate", strtod(s->rate, NULL)) &&
                         is_number(t, row, "dropout", strtod(s->dropout, NULL))))
        return 0;
    if (!is_name(t, row, s->encoder ? "decoder" : "scheme", s->scheme)) return 0;
    if (s->encoder && (!is_name(t, row, "encoder", s->encoder) ||
                       !is_number(t, row, "encoder_layers", (double)s->encoder_layers)))
        return 0;
    return is_number(t, row, "layers", (double)s->layers) &&
           is_number(t, row, "seed", (double)s->seed) &&
           is_number(t, row, "epochs", (double)options_size(r->options, "epochs")) &&
           (csv_column(t, "corpus") < 0 || strcmp(csv_named(t, row, "corpus"), corpus) == 0);
}

static int has_folder(const Runs *r, const RunSpec *s)
{
    char dir[OUTPUT_PATH], path[OUTPUT_PATH];
    return runs_directory(r->dir, s, dir) == 0 && output_path(path, dir, "config.ini") == 0 &&
           output_exists(path);
}

size_t recorded_alone(const Runs *r, const RunSpec *s)
{
    for (size_t i = 0; i < r->recorded.table.rows; i++)
        if (is_row(r, s, i)) return has_folder(r, s) ? SIZE_MAX : i;
    return SIZE_MAX;
}

/* ---- results ------------------------------------------------------------------------------------- */

/* Sets the error for a run of another size. The config.ini beside the file, if there is one, has the options of its
 * runs. */
static int other_size(const Runs *r, const RunSpec *s, double params)
{
    char config[OUTPUT_PATH], cure[OUTPUT_PATH + 64] = "";
    if (output_path(config, r->dir, "config.ini") == 0 && output_exists(config))
        snprintf(cure, sizeof cure, "; --config %s gives those of the runs", config);
    return error_set(ERR_INPUT, "%s: %s has %.0f parameters, and %zu with these options%s",
                     r->recorded.path, s->scheme->name, params, s->numbers, cure);
}

/* Compares the row `unigram`, where there is one, with the study's corpus, once. */
static int check_corpus(const Runs *r)
{
    const Csv *t = &r->recorded.table;
    char *compared = &r->recorded.taken[t->rows];
    for (size_t i = 0; i < t->rows && !*compared; i++)
        if (strcmp(csv_named(t, i, "part"), "bound") == 0 &&
            strcmp(first_name(t, i), "unigram") == 0) {
            Unigram now;
            TRY(runs_unigram(r->corpus, &now));
            TRY(check_unigram(t, i, &now));
            break;
        }
    *compared = 1;
    return 0;
}

int recorded_result(const Runs *r, const RunSpec *s, size_t row, RunResult *out)
{
    size_t epochs = options_size(r->options, "epochs");
    r->recorded.taken[row] = 1;
    TRY(check_corpus(r));
    TRY(runs_result(&r->recorded.table, row, out));
    if (s->numbers && out->params != (double)s->numbers) return other_size(r, s, out->params);
    if (out->best_epoch > (double)epochs) /* NaN: not told */
        return error_set(
            ERR_INPUT, "%s: %s with seed %llu has best epoch %.0f of a training of %zu (--epochs)",
            r->recorded.path, s->scheme->name, (unsigned long long)s->seed, out->best_epoch,
            epochs);
    return 0;
}

/* ---- rows of other runs -------------------------------------------------------------------------- */

/* Returns 1 where the run of a row has a folder. */
static int row_has_folder(const Runs *r, size_t row)
{
    const Csv *t = &r->recorded.table;
    int pairs = csv_column(t, "encoder") >= 0;
    Table *side = memory_new(2, sizeof *side);
    if (!side) return 0;
    snprintf(side[0].name, sizeof side[0].name, "%s",
             csv_named(t, row, pairs ? "decoder" : "scheme"));
    snprintf(side[1].name, sizeof side[1].name, "%s", csv_named(t, row, "encoder"));
    RunSpec s = {.scheme = &side[0],
                 .layers = strtoul(csv_named(t, row, "layers"), NULL, 10),
                 .encoder = pairs ? &side[1] : NULL,
                 .encoder_layers = strtoul(csv_named(t, row, "encoder_layers"), NULL, 10),
                 .seed = strtoull(csv_named(t, row, "seed"), NULL, 10)};
    int there = has_folder(r, &s);
    memory_free(side);
    return there;
}

int recorded_keep(const Runs *r)
{
    const Csv *t = &r->recorded.table;
    for (size_t row = 0; row < t->rows; row++)
        if (!r->recorded.taken[row] && !is_none(t, row) && !recorded_chooses(t, row) &&
            !row_has_folder(r, row))
            return error_set(ERR_INPUT,
                             "%s:%zu: %s with seed %s has no folder and is no run of this study, "
                             "so writing the file anew would lose it: give another --out",
                             r->recorded.path, t->line[row + 1], first_name(t, row),
                             csv_named(t, row, "seed"));
    return 0;
}
