/* compare_from.c: compares runs that earlier comparisons recorded, in place of trainings (--from DIR).
 *
 * DIR/runs.csv has the results, and DIR/errors.csv the measures of the networks. DIR/compare.csv has, per cell, what is
 * in neither: the chosen rate and dropout, the runs still gaining, and means of the errors. These means count for cells
 * that no errors.csv has, as in studies recorded before that file existed.
 *
 * Runs of another corpus, size or recipe are refused as far as the files tell: the perplexities of the unigram in
 * compare.csv must be those of this corpus, a cell's number of parameters, rate and dropout those of the options, no
 * best epoch may lie behind --epochs, and a run that two directories have must have one perplexity. config.ini, where
 * there is one, is compared before (runs_same_recipe). Without it, the rest of the recipe is not checked.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "studies/compare/compare.h"
#include "studies/tools/csv.h"

static int open_table(const char *dir, const char *name, char path[OUTPUT_PATH], Csv *c)
{
    TRY(output_path(path, dir, "%s", name));
    return csv_open(c, path);
}

/* Finds a named column, which must exist. */
static int column_of(const Csv *c, const char *name, int *at)
{
    *at = csv_column(c, name);
    return *at >= 0 ? 0 : error_set(ERR_INPUT, "%s: no column '%s'", c->file, name);
}

static int number_of(const Csv *c, size_t row, const char *name, double *x)
{
    int at;
    TRY(column_of(c, name, &at));
    return csv_number(c, row, at, x);
}

/* Finds the cell of a row's scheme and layers: *out; NULL: none of this comparison. */
static int find_cell(const Compare *u, const Csv *c, size_t row, Cell **out)
{
    int at;
    double layers;
    TRY(column_of(c, "scheme", &at));
    TRY(number_of(c, row, "layers", &layers));
    *out = NULL;
    for (size_t i = 0; i < u->cells; i++)
        if (strcmp(u->cell[i].scheme->name, csv_cell(c, row, at)) == 0 &&
            (double)u->cell[i].layers == layers)
            *out = &u->cell[i];
    return 0;
}

/* Takes each row of a table. */
static int read_rows(Compare *u, const char *dir, const char *name,
                     int (*take)(Compare *u, const Csv *t, size_t row))
{
    char path[OUTPUT_PATH];
    Csv t;
    TRY(open_table(dir, name, path, &t));
    int code = 0;
    for (size_t i = 0; code == 0 && i < t.rows; i++) code = take(u, &t, i);
    csv_close(&t);
    return code;
}

/* The same, of a table that may be missing. */
static int read_rows_there(Compare *u, const char *dir, const char *name,
                           int (*take)(Compare *u, const Csv *t, size_t row))
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, dir, "%s", name));
    return output_exists(path) ? read_rows(u, dir, name, take) : 0;
}

/* ---- the unigram of compare.csv ---------------------------------------------------------------- */

/* Compares a row's unigram with that of this corpus. Both sum the same logarithms in the same order, so they differ at
 * most by how the machines round a logarithm: far less than 1e-9 of the perplexity. Tables without the row or its
 * perplexities pass. */
static int check_unigram(Compare *u, const Csv *t, size_t row)
{
    const struct {
        const char *name, *words;
        double now;
    } text[] = {{"valid_ppl", "validation", u->unigram.valid},
                {"test_ppl", "test", u->unigram.test}};
    if (strcmp(csv_named(t, row, "scheme"), "unigram") != 0) return 0;
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        double there = NAN;
        int at = csv_column(t, text[i].name);
        if (at >= 0) TRY(csv_number(t, row, at, &there));
        if (!isnan(there) && !(fabs(there - text[i].now) <= 1e-9 * there))
            return error_set(ERR_INPUT,
                             "%s: the unigram has %s perplexity %.9g, and %.9g with these options: "
                             "another corpus or vocabulary",
                             t->file, text[i].words, there, text[i].now);
    }
    return 0;
}

/* ---- runs.csv ---------------------------------------------------------------------------------- */

static int take_run(Compare *u, const Csv *t, size_t row)
{
    Cell *c;
    RunResult r;
    double seed;
    TRY(find_cell(u, t, row, &c));
    TRY(number_of(t, row, "seed", &seed));
    if (!c || !(seed >= (double)u->seed && seed < (double)(u->seed + u->seeds))) return 0;
    TRY(runs_result(t, row, &r));
    return runs_take(t->file, c->scheme->name, seed, c->numbers, options_size(u->options, "epochs"),
                     &r, &c->result[(size_t)seed - u->seed]);
}

/* ---- errors.csv -------------------------------------------------------------------------------- */

static int take_errors(Compare *u, const Csv *t, size_t row)
{
    Cell *c;
    double seed;
    TRY(find_cell(u, t, row, &c));
    TRY(number_of(t, row, "seed", &seed));
    if (!c || !(seed >= (double)u->seed && seed < (double)(u->seed + u->seeds))) return 0;
    RunErrors *e = &c->errors[(size_t)seed - u->seed];
    c->told = 1;
    return compare_errors_take(t, row, e);
}

/* ---- compare.csv ------------------------------------------------------------------------------- */

/* Returns the errors of a row of one run, where several runs were recorded seed by seed. */
static RunErrors single_errors(const Cell *c)
{
    return (RunErrors){.split = c->split.mean,
                       .split_slope = c->split_slope.mean,
                       .layer = c->layer.mean,
                       .layer_slope = c->layer_slope.mean,
                       .check = NAN,
                       .leading = c->leading,
                       .governed = c->governed,
                       .one_by_one = c->one_by_one.mean};
}

/* Compares a row's rate and dropout with the options, which hold for all rows where none was tuned. */
static int check_rate(const Compare *u, const Cell *c, const Csv *t, size_t row)
{
    static const char *const name[] = {"rate", "dropout"};
    double there;
    if (options_flag(u->options, "tune")) return 0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        TRY(number_of(t, row, name[i], &there));
        if (!isnan(there) && there != options_real(u->options, name[i]))
            return error_set(ERR_INPUT, "%s: %s has %s %g, and %s with these options (--%s)",
                             t->file, c->scheme->name, name[i], there,
                             options_text(u->options, name[i]), name[i]);
    }
    return 0;
}

/* Takes what a row of compare.csv has of a cell: the first row with as many runs as the cell; or all rows with fewer
 * runs, which have one run each, or several whose errors an errors.csv has one by one. */
static int take_measured(Compare *u, const Csv *t, size_t row)
{
    Cell *c;
    double runs, gaining;
    int rate, dropout;
    TRY(find_cell(u, t, row, &c));
    if (!c || c->measured) return 0;
    TRY(number_of(t, row, "seeds", &runs));
    int part = runs < (double)c->runs && (runs == 1 || c->told) &&
               (double)c->taken + runs <= (double)c->runs;
    if (runs != (double)c->runs && !part) return 0;
    TRY(check_rate(u, c, t, row));
    const struct {
        const char *name;
        double *at;
    } field[] = {{"truncation", &c->split.mean},
                 {"truncation_low", &c->split.low},
                 {"truncation_high", &c->split.high},
                 {"truncation_slope", &c->split_slope.mean},
                 {"layer_truncation", &c->layer.mean},
                 {"layer_truncation_slope", &c->layer_slope.mean},
                 {"gaining", &gaining}};
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        TRY(number_of(t, row, field[i].name, field[i].at));
    /* Studies recorded before these columns existed have none. */
    c->leading = c->governed = NAN;
    if (csv_column(t, "truncation_leading") >= 0)
        TRY(number_of(t, row, "truncation_leading", &c->leading));
    c->one_by_one = (Interval){.mean = NAN, .low = NAN, .high = NAN};
    const struct {
        const char *name;
        double *at;
    } words[] = {{"one_by_one", &c->one_by_one.mean},
                 {"one_by_one_low", &c->one_by_one.low},
                 {"one_by_one_high", &c->one_by_one.high}};
    for (size_t i = 0; i < 3; i++)
        if (csv_column(t, words[i].name) >= 0) TRY(number_of(t, row, words[i].name, words[i].at));
    /* Before this column existed, all errors were measured against the flow over one step. */
    int time = csv_column(t, "truncation_time");
    snprintf(c->time, sizeof c->time, "%s", time < 0 ? "1" : csv_cell(t, row, time));
    const char *governs = csv_named(t, row, "truncation_governs");
    if (*governs) c->governed = strcmp(governs, "yes") == 0;
    TRY(column_of(t, "rate", &rate));
    TRY(column_of(t, "dropout", &dropout));
    snprintf(c->rate, sizeof c->rate, "%s", csv_cell(t, row, rate));
    snprintf(c->dropout, sizeof c->dropout, "%s", csv_cell(t, row, dropout));
    c->gaining = (part ? c->gaining : 0) + (gaining > 0 ? (size_t)gaining : 0);
    if (part && !c->told) c->errors[c->taken] = single_errors(c);
    if (part) c->taken += (size_t)runs;
    c->measured = !part || c->taken == c->runs;
    if (c->told || (part && c->measured)) compare_summarise_errors(u, c);
    return 0;
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* Finds the number of runs of a cell's largest row in a table; 0: the table has no such row. */
static int largest_row(const Compare *u, const Csv *t, const Cell *c, double *most)
{
    Cell *of;
    double runs;
    *most = 0;
    for (size_t i = 0; i < t->rows; i++) {
        TRY(find_cell(u, t, i, &of));
        if (of != c) continue;
        TRY(number_of(t, i, "seeds", &runs));
        if (runs > *most) *most = runs;
    }
    return 0;
}

/* Sets the error for a cell whose runs no row of compare.csv describes: rows of more runs, or of fewer in the only
 * directory, are of other seeds. */
static int not_measured(const Compare *u, const Cell *c, const char *name)
{
    const char *dir;
    int parts = 0;
    for (size_t i = 0; (dir = options_item(u->options, "from", i)); i++) {
        char path[OUTPUT_PATH];
        double most;
        Csv t;
        TRY(open_table(dir, "compare.csv", path, &t));
        int code = largest_row(u, &t, c, &most);
        csv_close(&t);
        TRY(code);
        if (most > (double)c->runs || (most > 0 && !options_item(u->options, "from", 1)))
            return error_set(ERR_INPUT, "%s has %s with %.0f seed%s, not %zu (--seeds)", path, name,
                             most, most == 1 ? "" : "s", c->runs);
        parts |= most > 0;
    }
    return error_set(ERR_INPUT, "--from: no compare.csv has a row of %s with %zu seed%s%s", name,
                     c->runs, c->runs == 1 ? "" : "s",
                     parts ? "; rows of fewer seeds join where each has one, or errors.csv has "
                             "the errors of each run"
                           : "");
}

static int check_cell(const Compare *u, const Cell *c)
{
    char name[CELL_NAME];
    compare_cell_name(u, c, name);
    if (c->runs == 0)
        return error_set(ERR_INPUT, "--from: no runs.csv has a run of %s with these seeds", name);
    return c->measured ? 0 : not_measured(u, c, name);
}

int compare_from(Compare *u)
{
    const char *dir;
    for (size_t i = 0; (dir = options_item(u->options, "from", i)); i++)
        TRY(read_rows_there(u, dir, "compare.csv", check_unigram));
    for (size_t i = 0; (dir = options_item(u->options, "from", i)); i++)
        TRY(read_rows(u, dir, "runs.csv", take_run));
    for (size_t i = 0; (dir = options_item(u->options, "from", i)); i++)
        TRY(read_rows_there(u, dir, "errors.csv", take_errors));
    compare_summarise(u);
    for (size_t i = 0; (dir = options_item(u->options, "from", i)); i++)
        TRY(read_rows(u, dir, "compare.csv", take_measured));
    for (size_t i = 0; i < u->cells; i++) TRY(check_cell(u, &u->cell[i]));
    return 0;
}
