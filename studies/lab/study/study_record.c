/* study_record.c: fills and writes the table of runs of a study, and makes the study's sheets of the same rows. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kernels/base/clock.h"
#include "studies/base/process/lease.h"
#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

/* ---- runs.csv ------------------------------------------------------------------------------------ */

/* Fills what any study of `trotter train` knows of a run beyond its result and its measures. */
static void fill_common(Study *u, const StudyDesign *d, const StudyRun *r)
{
    const Table *t = d->spec.stacks.layers;
    const RunSpec s = study_spec(d, r);
    const double F = (double)table_evals(t, OP_F), G = (double)table_evals(t, OP_G);
    study_set(u, r, "scheme", t->name);
    study_set(u, r, "layers", spec_text(&s.own, "layers"));
    study_set(u, r, "encoder_layers", spec_text(&s.own, "encoder-layers"));
    study_put(u, r, "seed", (double)r->seed);
    for (const char *const *name = runs_tuned; *name; name++)
        study_put(u, r, *name, study_number(u, &s, *name));
    study_set(u, r, "corpus", u->checksum);
    study_set(u, r, "objective", u->corpus.marks ? "masked" : NULL);
    study_set(u, r, "same_as", d == &u->design[d->same] ? NULL : u->design[d->same].name);
    study_set(u, r, "diverged", study_run_diverged(u, r) ? "yes" : NULL);
    study_put(u, r, "evals_F", F);
    study_put(u, r, "evals_G", G);
    study_put(u, r, "evaluations", F + G);
    for (size_t i = 0; i < s.own.count; i++)
        if (s.own.option[i].role == SPEC_VARIED)
            study_set(u, r, s.own.option[i].name, s.own.option[i].text);
    study_set(u, r, u->kind->asked->design, d->name);
}

static void fill_run(Study *u, const StudyDesign *d, const StudyRun *r)
{
    if (!u->kind->one) fill_common(u, d, r);
    if (u->kind->fill) u->kind->fill(u, d, r);
    if (!u->kind->one && r->point) study_set(u, r, "part", "tuning");
}

static void fill_bound(Study *u, size_t row, const char *name, double valid, double test)
{
    frame_set(&u->runs_csv, row, u->kind->asked->design, name);
    frame_set(&u->runs_csv, row, "part", "bound");
    frame_put(&u->runs_csv, row, "valid_ppl", valid);
    frame_put(&u->runs_csv, row, "test_ppl", test);
}

enum { BOUNDS = 3 }; /* rows at most */

/* Fills the rows of numbers that need no network, and lists them. */
static int fill_bounds(Study *u, size_t *row, size_t *n)
{
    const double least = exp(u->corpus.entropy_rate);
    const StudyKind *k = u->kind;
    const size_t own = k->bound_row ? 1 : 0, told = isnan(least) ? 1 : 2,
                 rows = own + (k->bounds ? told : 0);
    size_t at = u->bound;
    for (size_t i = 0; !u->bound && i < rows; i++) TRY(frame_row(&u->runs_csv));
    if (!u->bound) at = u->bound = u->runs_csv.rows - rows;
    for (size_t i = 0; i < rows; i++) row[(*n)++] = at + i;
    if (k->bound_row) k->bound_row(u, at++);
    if (k->bounds) fill_bound(u, at++, "unigram", u->unigram.valid, u->unigram.test);
    if (k->bounds && !isnan(least)) fill_bound(u, at, "entropy rate", least, least);
    return 0;
}

/* Fills all rows, and lists those of runs.csv in their order: the runs, those for a choice that were tried, the bounds. */
static int fill_runs(Study *u, size_t *row, size_t *n)
{
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->design[i].seeds; k++) {
            fill_run(u, &u->design[i], &u->design[i].run[k]);
            row[(*n)++] = u->design[i].run[k].at;
        }
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->points; k++) {
            const StudyRun *r = &u->design[i].trial[k];
            fill_run(u, &u->design[i], r);
            if (r->state != RUN_OPEN) row[(*n)++] = r->at;
        }
    TRY(fill_bounds(u, row, n));
    for (size_t i = 0; i < *n; i++) u->runs_csv.line[row[i] + 1] = i + 2; /* the names are line 1 */
    return u->runs_csv.code;
}

/* Writes DIR/lines.csv, of translations. */
static int record_lines(const Study *u)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    TRY(sheet_new(measure_lines, &s));
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->design[i].seeds; k++)
            measure_add_lines(s, u->design[i].name, u->seed + k, &u->design[i].run[k].lines);
    return output_sheet(s, SHEET_CSV, u->dir, "lines.csv");
}

int study_record(Study *u)
{
    size_t n = 0;
    SCOPED(sheet_drop) Sheet *s = NULL;
    SCOPED(memory_drop) size_t *row = memory_new(u->runs_csv.rows + BOUNDS, sizeof *row);
    if (!row) return ERR_MEMORY;
    TRY(fill_runs(u, row, &n));
    TRY(frame_sheet(&u->runs_csv, u->columns, row, n, &s));
    if (u->kind->pairs) TRY(record_lines(u));
    return output_sheet(s, SHEET_CSV, u->dir, "runs.csv");
}

/* Reads what other processes have finished, also where a list that is being worked off has not come back to it. */
static int look(Study *u)
{
    for (size_t i = 0; i < u->designs; i++) {
        StudyDesign *d = &u->design[i];
        for (size_t k = 0; k < d->seeds + (d->trial ? u->points : 0); k++) {
            StudyRun *r = k < d->seeds ? &d->run[k] : &d->trial[k - d->seeds];
            RunSpec s = study_spec(d, r);
            int there = 0;
            if (r->state == RUN_OPEN) TRY(runs_look(&u->runs, &s, &u->runs_csv, r->at, &there));
            if (there && r->point) r->state = RUN_THERE; /* a trial has its row from now on */
        }
    }
    return 0;
}

/* Takes the claim of runs.csv, so that no two processes write it at once. wait 1: until it is
 * free; 0: *mine may be 0. */
static int take_claim(const Study *u, int wait, Lease *claim, int *mine)
{
    const struct timespec pause = {0, 10000000};
    char path[OUTPUT_PATH];
    TRY(output_path(path, u->dir, "runs.claim"));
    for (int rounds = 1;; rounds++) {
        TRY(lease_take(path, u->worker.name, claim, mine));
        if (*mine || !wait) return 0;
        if (rounds == 500) /* five seconds */
            progress_note("%s: waiting for the process that has it; if there is none, remove it",
                          path);
        nanosleep(&pause, NULL);
        if (command_stop) return command_interrupted();
    }
}

static int remake(Study *u)
{
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    int mine;
    if (!u->worker.leader || study_keep(u) != 0) return 0;
    if (!u->kind->one) TRY(look(u));
    TRY(take_claim(u, 0, &claim, &mine));
    if (mine) u->behind = 0;
    return mine ? study_record(u) : 0;
}

/* A study of n runs does not write n times n rows. study_tables writes the last ones. */
int study_remake(Study *u)
{
    const double begun = clock_now();
    u->behind = 1;
    if (begun - u->remade < 20 * u->remaking) return 0;
    int code = remake(u);
    u->remade = clock_now();
    u->remaking = u->remade - begun;
    return code;
}

void study_catch_up(Study *u)
{
    if (u->behind) (void)!remake(u);
}

/* ---- what is read off it ------------------------------------------------------------------------- */

int study_file(Study *u, const char *dir)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, dir, "runs.csv"));
    TRY(memory_more(&u->file, u->files, sizeof *u->file));
    u->file[u->files] = memory_string(path);
    return u->file[u->files++] ? 0 : ERR_MEMORY;
}

/* Returns the design that is called so, as the zoo spells a scheme; the number of designs: none is. */
static size_t find_design(const void *study, const char *given)
{
    const Study *u = study;
    char name[TABLE_NAME] = "";
    size_t i = 0;
    int spelt = zoo_name(given, name) == 0;
    while (i < u->designs && strcmp(u->design[i].name, given) != 0 &&
           !(spelt && strcmp(u->design[i].name, name) == 0))
        i++;
    return i;
}

int study_check_contrasts(const Study *u)
{
    const char *given;
    SCOPED(memory_drop) double *weight = memory_new(u->designs, sizeof *weight);
    if (!weight) return ERR_MEMORY;
    for (size_t i = 0; (given = options_item(u->options, "contrast", i)); i++)
        TRY(differences_contrast("--contrast", given, find_design, u, u->designs, weight));
    return 0;
}

/* Writes a contrast with the schemes as they are spelt in tables; the caller frees *out. */
static int spell(const Study *u, const char *given, char **out)
{
    Output o;
    TRY(output_open(&o));
    for (size_t n; *given; given += n + strspn(given + n, " ")) {
        char word[STUDY_NAME];
        n = strcspn(given, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, given);
        size_t i = find_design(u, word);
        fprintf(o.f, "%s ", i < u->designs ? u->design[i].name : word);
    }
    return output_take(&o, 0, out);
}

/* Adds differences from the baseline, contrasts, those of all pairs. */
static int add_differences(const Study *u, Sheet *out)
{
    const Options *o = u->options;
    const RunTable *t = &u->table;
    const char *given;
    TRY(runtable_dunnett(t, out));
    for (size_t i = 0; (given = options_item(o, "contrast", i)); i++) {
        SCOPED(memory_drop) char *spelt = NULL;
        TRY(spell(u, given, &spelt));
        TRY(runtable_contrast(t, "--contrast", spelt, NULL, out));
    }
    return options_flag(o, "all-pairs") ? runtable_tukey(t, out) : 0;
}

/* Makes the table of designs, with the columns of measures that the kind's list lacks. */
static int make_designs(Study *u)
{
    const StudyKind *k = u->kind;
    SCOPED(memory_drop)
    Column *all = study_columns(k->columns, u->designs ? &u->design->spec.own : NULL, 1);
    if (!all) return ERR_MEMORY;
    return runtable_sheet(&u->table, all, k->more, u, k->best_first, &u->means);
}

static int make_correlations(Study *u)
{
    const StudyKind *k = u->kind;
    if (!k->relations) return 0;
    TRY(runtable_new(&u->table, runtable_correlations, &u->correlations));
    return runtable_relate(&u->table, k->relations, k->groups, u->table.measures, u->seed,
                           u->correlations);
}

/* Writes runs.csv and reads its rows, or the other tables where these are read. */
static int record_and_read(Study *u, const RunColumns *asked)
{
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    int mine;
    if (u->files) return runtable_open((const char *const *)u->file, u->files, asked, &u->table);
    TRY(take_claim(u, 1, &claim, &mine));
    TRY(study_record(u));
    TRY(output_path(u->runs_file, u->dir, "runs.csv"));
    u->runs_csv.file = u->runs_file;
    return runtable_read(&u->runs_csv, 1, asked, &u->table);
}

int study_tables(Study *u)
{
    const StudyKind *k = u->kind;
    RunColumns asked = *k->asked;
    RunTable *t = &u->table;
    asked.positive = study_positive();
    TRY(record_and_read(u, &asked));
    t->draw = k->draw;
    t->study = u;
    if (k->read) TRY(k->read(u));
    if (!k->differences && u->baseline < u->designs)
        TRY(runtable_baseline(t, u->design[u->baseline].name,
                              options_real(u->options, "equivalence")));
    if (t->base && !runtable_compared(&t->design[u->baseline]))
        notice_warn(
            "no difference from %s is shown, as it has no run or one that diverged: --baseline "
            "names another",
            t->base);
    TRY(runtable_new(t, runtable_differences, &u->differences));
    TRY(k->differences ? k->differences(u, u->differences) : add_differences(u, u->differences));
    TRY(make_designs(u));
    TRY(make_correlations(u));
    for (int i = 0; i < STUDY_ALSO && k->also[i].name; i++) {
        TRY(sheet_new(k->also[i].columns, &u->also[i]));
        TRY(k->also[i].make(u, u->also[i]));
    }
    return 0;
}
