/* study_take.c: DIR/runs.csv, the runs that a study has recorded. A run that has a row there and no folder counts as trained, so
 * that tables and plots can be made again from that one file. What a row tells is held against the options. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/lab/study/study.h"
#include "studies/base/command.h"

/* ---- rows ---------------------------------------------------------------------------------------- */

/* Returns the number of a cell; NaN where there is none. */
static double number_at(const Frame *t, size_t row, const char *name)
{
    double x = NAN;
    int at = frame_column(t, name);
    if (at >= 0 && frame_number(t, row, at, &x) != 0) x = NAN;
    return x;
}

/* Returns 1 where a cell is this number, or the table has no such column. */
static int is_number(const Frame *t, size_t row, const char *name, double x)
{
    return frame_column(t, name) < 0 || number_at(t, row, name) == x;
}

static int is_text(const Frame *t, size_t row, const char *name, const char *text)
{
    return strcmp(frame_text(t, row, name), text) == 0;
}

static int chooses(const Frame *t, size_t row)
{
    return is_text(t, row, "part", "tuning") || is_text(t, row, "part", "trial");
}

/* Returns 1 for a row that is no finished run: a bound, or a run that failed. */
static int is_none(const Frame *t, size_t row)
{
    return is_text(t, row, "part", "bound") || is_text(t, row, "valid_ppl", "");
}

/* Returns 1 where a row's training had the run's value of an option. One that is still to be chosen is that of the row. */
static int is_option(const Study *u, const RunSpec *s, size_t row, const char *name)
{
    double x = study_number(u, s, name);
    return isnan(x) || is_number(&u->recorded, row, name, x);
}

/* Returns 1 where a row's training had this option of a run. Its column is called as the option, with '_' for '-'; an option
 * without a column is not told. Schemes stand there as the design is called. */
static int has_option(const Study *u, const RunSpec *s, size_t row, size_t i)
{
    const Frame *t = &u->recorded;
    const char *option = s->own.option[i].name, *text = s->own.option[i].text;
    char name[64], design[512];
    snprintf(name, sizeof name, "%s", option);
    for (char *c = name; *c; c++) *c = *c == '-' ? '_' : *c;
    if (s->own.option[i].role == SPEC_CHOSEN) return is_option(u, s, row, option);
    if (strcmp(option, "encoder") == 0) return is_text(t, row, name, text);
    if (strcmp(option, "scheme") != 0 && strcmp(option, "decoder") != 0)
        return frame_column(t, name) < 0 || is_text(t, row, name, text) ||
               number_at(t, row, name) == strtod(text, NULL);
    runs_design(&s->own, design);
    return is_text(t, row, name, design);
}

static int is_row(const Study *u, const RunSpec *s, size_t row)
{
    const Frame *t = &u->recorded;
    int untested = spec_text(&s->own, "untested") != NULL;
    if (is_none(t, row) || chooses(t, row) != untested) return 0;
    for (size_t i = 0; i < s->own.count; i++)
        if ((untested || s->own.option[i].role != SPEC_CHOSEN) && !has_option(u, s, row, i))
            return 0;
    return is_option(u, s, row, "epochs") &&
           (frame_column(t, "corpus") < 0 || is_text(t, row, "corpus", u->checksum));
}

static int has_folder(const Study *u, const Spec *s)
{
    char dir[OUTPUT_PATH];
    return runs_directory(u->dir, s, dir) == 0 && output_there(dir, "config.ini");
}

/* Returns the row of a run that has no folder; SIZE_MAX: it has one, or no row, or only one of other `epochs` or another
 * `corpus`, where the table has these columns. */
static size_t find_row(const Study *u, const RunSpec *s)
{
    for (size_t i = 0; i < u->recorded.rows; i++)
        if (is_row(u, s, i)) return has_folder(u, &s->own) ? SIZE_MAX : i;
    return SIZE_MAX;
}

/* ---- results ------------------------------------------------------------------------------------- */

/* Compares the row `unigram` with this corpus. Both sum the same logarithms in the same order, so they differ at most by
 * how the machines round a logarithm: far less than 1e-9 of the perplexity. */
static int check_unigram(const Study *u, size_t row)
{
    const Frame *t = &u->recorded;
    const struct {
        const char *name, *words;
        double now;
    } text[] = {{"valid_ppl", "validation", u->unigram.valid},
                {"test_ppl", "test", u->unigram.test}};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        double there = number_at(t, row, text[i].name);
        if (fabs(there - text[i].now) > 1e-9 * there) /* NaN passes */
            return error_set(ERR_INPUT,
                             "%s: the unigram has %s perplexity %.9g, and %.9g with these options: "
                             "another corpus or vocabulary",
                             t->file, text[i].words, there, text[i].now);
    }
    return 0;
}

/* Sets the error for a run of another size. The config.ini beside the file, if there is one, has the options of its
 * runs. */
static int other_size(const Study *u, const RunSpec *s, double params)
{
    char cure[OUTPUT_PATH + 64] = "";
    if (output_there(u->dir, "config.ini"))
        snprintf(cure, sizeof cure, "; --config %s/config.ini gives those of the runs", u->dir);
    return error_set(ERR_INPUT, "%s: %s has %.0f parameters, and %zu with these options%s",
                     u->recorded.file, s->stacks.layers->name, params, s->numbers, cure);
}

/* Checks a row of a run against the options. */
static int check_result(Study *u, const RunSpec *s, size_t row)
{
    const Frame *t = &u->recorded;
    double epochs = study_number(u, s, "epochs"), best = number_at(t, row, "best_epoch"),
           params = number_at(t, row, "params");
    if (isnan(epochs)) epochs = number_at(t, row, "epochs");
    u->taken[row] = 1;
    for (size_t i = 0; i < t->rows; i++)
        if (is_text(t, i, "part", "bound") && strcmp(frame_cell(t, i, 0), "unigram") == 0)
            TRY(check_unigram(u, i));
    TRY(runs_result(t, row));
    if (s->numbers && params != (double)s->numbers) return other_size(u, s, params);
    if (best > epochs) /* NaN: not told */
        return error_set(ERR_INPUT,
                         "%s: %s with seed %s has best epoch %.0f of a training of %.0f (--epochs)",
                         t->file, s->stacks.layers->name, spec_text(&s->own, "seed"), best, epochs);
    return 0;
}

/* Takes a number of a row, as written, as the design's, which all its runs must share. */
static int take_option(const Study *u, StudyDesign *d, size_t row, const char *name)
{
    const Frame *t = &u->recorded;
    const Options *o = u->options;
    const char *there = frame_text(t, row, name), *own = spec_text(&d->chosen, name),
               *now = own ? own : options_text(o, name);
    int tuned = study_tunes(u);
    double x = number_at(t, row, name);
    if (isnan(x)) return 0;
    if (x != strtod(now, NULL) && (own || !tuned))
        return error_set(ERR_INPUT, "%s:%zu: %s has %s %s, and %s %s (--%s)", t->file,
                         t->line[row + 1], d->name, name, there, now,
                         tuned ? "in another row" : "with these options", name);
    spec_set(&d->chosen, SPEC_CHOSEN, name, there);
    return 0;
}

static int take_run(Study *u, StudyDesign *d, StudyRun *run)
{
    const Frame *t = &u->recorded;
    const StudyMeasured r = {.study = u, .run = run, .spec = study_spec(d, run), .design = d->name};
    size_t row = run->state == RUN_OPEN ? find_row(u, &r.spec) : SIZE_MAX;
    if (row == SIZE_MAX) return 0;
    TRY(check_result(u, &r.spec, row));
    frame_copy(&u->runs_csv, run->at, t, row);
    run->row = row;
    run->state = RUN_THERE;
    if (run->point) return 0;
    for (const char *const *name = runs_tuned; *name; name++)
        if (!spec_text(&d->spec.own, *name) &&
            (strcmp(*name, "epochs") != 0 || runs_tunes(u->options, *name)))
            TRY(take_option(u, d, row, *name));
    for (const StudyMeasure *const *m = study_measures; *m; m++)
        if ((*m)->load && (*m)->wanted(u) > 0 && !*frame_text(t, row, "diverged"))
            TRY((*m)->load(&r));
    return 0;
}

int study_open_recorded(Study *u)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, u->dir, "runs.csv"));
    if (u->taken || !output_exists(path)) return 0;
    TRY(frame_read(&u->recorded, path));
    u->taken = memory_new(u->recorded.rows + 1, 1);
    return u->taken ? 0 : ERR_MEMORY;
}

int study_take(Study *u)
{
    size_t taken = 0;
    TRY(study_open_recorded(u));
    for (size_t i = 0; i < u->designs; i++) {
        StudyDesign *d = &u->design[i];
        for (size_t k = 0; k < d->seeds; k++) {
            TRY(take_run(u, d, &d->run[k]));
            taken += d->run[k].row != SIZE_MAX;
        }
        for (size_t k = 0; d->trial && k < u->points; k++) TRY(take_run(u, d, &d->trial[k]));
    }
    if (taken) runs_note(&u->runs, "%zu runs are recorded in %s", taken, u->recorded.file);
    return 0;
}

/* ---- rows of other runs -------------------------------------------------------------------------- */

/* Returns 1 where the run of a row has a folder. */
static int row_has_folder(const Study *u, size_t row)
{
    const Frame *t = &u->recorded;
    static const char *const one[] = {"scheme", "layers", "seed", NULL},
                             *const two[] = {"encoder", "decoder", "encoder_layers",
                                             "layers",  "seed",    NULL};
    Spec s = {0};
    for (const char *const *name = frame_column(t, "encoder") < 0 ? one : two; *name; name++)
        spec_set(&s, SPEC_OWN, strcmp(*name, "encoder_layers") == 0 ? "encoder-layers" : *name,
                 frame_text(t, row, *name));
    return has_folder(u, &s);
}

int study_keep(const Study *u)
{
    const Frame *t = &u->recorded;
    for (size_t row = 0; row < t->rows; row++)
        if (!u->taken[row] && !is_none(t, row) && !chooses(t, row) && !row_has_folder(u, row))
            return error_set(ERR_INPUT,
                             "%s:%zu: %s with seed %s has no folder and is no run of this study, "
                             "so writing the file anew would lose it: give another --out",
                             t->file, t->line[row + 1], frame_cell(t, row, 0),
                             frame_text(t, row, "seed"));
    return 0;
}
