/* study_record.c: writes the table of runs of a study, reads it back, and makes the study's sheets of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "studies/base/process/lease.h"
#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

/* ---- values of a run ----------------------------------------------------------------------------- */

/* Returns a number of the run's result; NaN: it has none of that name. */
static double result_of(const StudyRun *r, const char *name)
{
    const RunRecord record = {.result = r->result};
    for (const Column *c = run_columns; c->name; c++)
        if (c->type == SHEET_DOUBLE && strcmp(c->name, name) == 0)
            return *(const double *)((const char *)&record + c->at);
    return NAN;
}

/* Returns what any study knows of a run. */
static RunValue common(const Study *u, const StudyDesign *d, const StudyRun *r, const char *name)
{
    const Table *t = d->spec.scheme;
    const RunSpec s = study_spec(d, r);
    size_t F = table_evals(t, OP_F), G = table_evals(t, OP_G);
    RunValue v;
    const RunNamed list[] = {
        {"scheme", runtable_text(t->name)},
        {"layers", runtable_number((double)d->spec.layers)},
        {"encoder_layers", runtable_number((double)d->spec.encoder_layers)},
        {"seed", runtable_number((double)r->seed)},
        {"epochs", runtable_number(study_number(u, &s, "epochs"))},
        {"rate", runtable_number(study_number(u, &s, "rate"))},
        {"dropout", runtable_number(study_number(u, &s, "dropout"))},
        {"corpus", runtable_text(u->checksum)},
        {"objective", runtable_text(u->corpus.marks ? "masked" : NULL)},
        {"same_as", runtable_text(d == &u->design[d->same] ? NULL : u->design[d->same].name)},
        {"diverged", runtable_text(study_run_diverged(u, r) ? "yes" : NULL)},
        {"evals_F", runtable_number((double)F)},
        {"evals_G", runtable_number((double)G)},
        {"evaluations", runtable_number((double)(F + G))},
        {"parameters", runtable_number(r->result.params)},
        {NULL, {NULL, NAN}},
    };
    if (runtable_named(list, name, &v)) return v;
    const char *own = spec_text(&d->spec.own, name);
    return own ? runtable_text(own) : runtable_number(result_of(r, name));
}

/* Returns what a run has under the name of a column: the kind's own, a measure, a result, or one that all studies have. */
static RunValue value_of(const Study *u, const StudyDesign *d, const StudyRun *r, const char *name)
{
    RunValue v = runtable_number(NAN);
    size_t at = study_value_at(name);
    if (!u->kind->one && r->point && strcmp(name, "part") == 0) return runtable_text("tuning");
    if (u->kind->value && u->kind->value(u, d, r, name, &v)) return v;
    if (at < STUDY_VALUES) return runtable_number(r->value[at]);
    return strcmp(name, u->kind->asked.design) == 0 ? runtable_text(d->name)
                                                    : common(u, d, r, name);
}

/* ---- runs.csv ------------------------------------------------------------------------------------ */

/* A row of runs.csv: of a run, or of a perplexity that needs no network. */
typedef struct {
    const StudyDesign *d;
    const StudyRun *run;
    const char *bound;
    double valid, test;
} RunsRow;

typedef struct {
    const Study *u;
    const RunsRow *row;
} Rows;

static RunValue row_value(const void *of, size_t i, const char *name)
{
    const Rows *r = of;
    const RunsRow *row = &r->row[i];
    if (row->d) return value_of(r->u, row->d, row->run, name);
    if (!row->bound) return r->u->kind->bound(r->u, name);
    if (strcmp(name, r->u->kind->asked.design) == 0) return runtable_text(row->bound);
    if (strcmp(name, "part") == 0) return runtable_text("bound");
    return runtable_number(strcmp(name, "valid_ppl") == 0  ? row->valid
                           : strcmp(name, "test_ppl") == 0 ? row->test
                                                           : NAN);
}

/* Makes the rows: of runs, of those for a choice that were tried, and of numbers that need no network. */
static int make_runs(const Study *u, const Column *list, Sheet **out)
{
    size_t n = 3 + u->designs * u->points;
    double least = exp(u->corpus.entropy_rate);
    for (size_t i = 0; i < u->designs; i++) n += u->design[i].seeds;
    SCOPED(memory_drop) RunsRow *row = memory_new(n, sizeof *row);
    if (!row) return ERR_MEMORY;
    n = 0;
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->design[i].seeds; k++)
            row[n++] = (RunsRow){.d = &u->design[i], .run = &u->design[i].run[k]};
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->points; k++)
            if (u->design[i].trial[k].state != RUN_OPEN)
                row[n++] = (RunsRow){.d = &u->design[i], .run = &u->design[i].trial[k]};
    if (u->kind->bound) row[n++] = (RunsRow){.d = NULL};
    if (u->kind->bounds)
        row[n++] = (RunsRow){NULL, 0, "unigram", u->unigram.valid, u->unigram.test};
    if (u->kind->bounds && !isnan(least))
        row[n++] = (RunsRow){NULL, 0, "entropy rate", least, least};
    return runtable_values(list, row_value, &(Rows){u, row}, n, out);
}

/* Makes a list of columns of these names. */
static void name_columns(const char *names, Column list[STUDY_COLUMNS])
{
    for (; *names; names += strlen(names) + 1)
        *list++ = (Column){.name = names + (*names == '?'), .sparse = *names == '?'};
    *list = (Column){0};
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

int study_record(const Study *u)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    Column names[STUDY_COLUMNS];
    name_columns(u->kind->runs, names);
    SCOPED(memory_drop) Column *all = u->kind->one ? NULL : study_columns(u, names, 0);
    if (!all && !u->kind->one) return ERR_MEMORY;
    TRY(make_runs(u, all ? all : names, &s));
    if (u->kind->pairs) TRY(record_lines(u));
    return output_sheet(s, SHEET_CSV, u->dir, "runs.csv");
}

/* Reads what other processes have finished. */
static int look(Study *u)
{
    for (size_t i = 0; i < u->designs; i++) {
        StudyDesign *d = &u->design[i];
        for (size_t k = 0; k < d->seeds + (d->trial ? u->points : 0); k++) {
            StudyRun *r = k < d->seeds ? &d->run[k] : &d->trial[k - d->seeds];
            RunSpec s = study_spec(d, r);
            if (r->state == RUN_OPEN) TRY(runs_look(&u->runs, &s, &r->result));
        }
    }
    return 0;
}

/* Takes the claim of runs.csv, so that no process writes it before another has read back what it wrote. wait 1: until it is
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

int study_remake(Study *u)
{
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    int mine;
    if (!u->worker.leader || study_keep(u) != 0) return 0;
    if (!u->kind->one) TRY(look(u));
    TRY(take_claim(u, 0, &claim, &mine));
    return mine ? study_record(u) : 0;
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
    SCOPED(memory_drop) Column *all = study_columns(u, k->columns, 1);
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

/* Writes runs.csv, and reads it back. */
static int record_and_read(Study *u, const RunTableAsked *asked)
{
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    int mine;
    if (!u->files) {
        TRY(take_claim(u, 1, &claim, &mine));
        TRY(study_record(u));
        TRY(study_file(u, u->dir));
    }
    return runtable_open((const char *const *)u->file, u->files, asked, &u->table);
}

int study_tables(Study *u)
{
    const StudyKind *k = u->kind;
    RunTableAsked asked = k->asked;
    RunTable *t = &u->table;
    asked.positive = study_positive();
    TRY(record_and_read(u, &asked));
    t->draw = k->draw;
    t->study = u;
    if (k->read) TRY(k->read(u));
    if (!k->differences && u->baseline < u->designs)
        TRY(runtable_baseline(t, u->design[u->baseline].name,
                              options_real(u->options, "equivalence")));
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
