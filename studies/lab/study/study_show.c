/* study_show.c: shows and saves what is read off a study's runs: words, tables, plots. */
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/base/process/lease.h"
#include "studies/lab/study/study.h"
#include "studies/base/command.h"

const RunDesign *study_design(const Study *u, size_t i)
{
    return &u->table.design[i];
}

int study_beats_unigram(const Study *u, size_t i)
{
    return runs_beats_unigram(runtable_value(&u->table, i, "valid_ppl").x,
                              runtable_value(&u->table, i, "test_ppl").x, &u->unigram);
}

/* Prints "width 64", or where the designs vary it "the width of their row". */
static void print_size(const Study *u, const char *name, const char *words, FILE *f)
{
    int varied = u->designs && spec_text(&u->design->spec.own, name);
    if (varied)
        fprintf(f, "the %s of their row", words);
    else if (strcmp(name, "heads") == 0)
        fprintf(f, "%zu heads", options_size(u->options, name));
    else
        fprintf(f, "%s %zu", words, options_size(u->options, name));
}

void study_print_recipe(const Study *u, FILE *f)
{
    const Options *o = u->options;
    const Unit *unit = network_unit(&u->corpus.vocab);
    const Text *text = &u->corpus.text[SPLIT_TRAIN];
    char length[64];
    if (runs_tunes(u->options, "epochs"))
        snprintf(length, sizeof length, "the epochs chosen for each row");
    else
        network_length(o, length);
    fprintf(f, "Corpus %s has %zu training %ss", u->corpus.name,
            u->kind->pairs ? text->lines : text->tokens, u->kind->pairs ? "pair" : unit->token);
    if (u->corpus.left_out) fprintf(f, " (%zu longer ones are left out)", u->corpus.left_out);
    double unknown = texts_unknown(&u->corpus);
    if (unknown > 0) fprintf(f, ", of which %.0f %% are read as <unk>,", 100 * unknown);
    fprintf(f, " and a vocabulary of %zu.\nThe models have ", u->corpus.vocab.size);
    print_size(u, "width", "width", f);
    fputs(", ", f);
    print_size(u, "inner", "inner width", f);
    fputs(" and ", f);
    print_size(u, "heads", "number of heads", f);
    fprintf(f, "; training took %s.\n", length);
}

enum { CORRELATED = 3 }; /* designs that a rank correlation needs */

static size_t most_designs(const RunTable *t)
{
    size_t most = 0;
    for (size_t p = 0; p < t->panels; p++)
        if (runtable_model(t, p, 0)->designs > most) most = runtable_model(t, p, 0)->designs;
    return most;
}

/* Prints the correlations; with groups those of the first measure alone, as there are many. */
static int print_correlations(const Study *u, int form, int brief, FILE *f)
{
    const StudyKind *k = u->kind;
    SCOPED(sheet_drop) Sheet *s = NULL;
    if (!u->correlations || (brief && most_designs(&u->table) < CORRELATED)) return 0;
    if (!k->groups) return runtable_print_correlations(u->correlations, form, brief, f);
    TRY(sheet_new(runtable_correlations, &s));
    TRY(runtable_relate(&u->table, k->relations, k->groups, 1, u->seed, s));
    return runtable_print_correlations(s, form, brief, f);
}

/* Says what the columns of the designs mean. */
static void explain(const Column *list, FILE *f)
{
    for (; list->name || list->head; list++)
        if (list->place && list->words && !list->sparse)
            fprintf(f, "%s: %s.\n", list->head ? list->head : list->name, list->words);
}

/* Prints words and tables; brief: as stdout has them without --explain. */
static int print(const Study *u, int form, int brief, FILE *f)
{
    TRY(u->kind->caption(u, brief, f));
    if (!brief) explain(sheet_columns(u->means), f);
    if (!brief) runtable_cut(&u->table, f);
    fputc('\n', f);
    TRY(sheet_write(u->means, form, f));
    TRY(runtable_print_differences(&u->table, u->differences, form, brief, f));
    TRY(print_correlations(u, form, brief, f));
    for (int i = 0; i < STUDY_ALSO; i++) {
        if (!u->kind->also[i].words) continue;
        fprintf(f, "\n%s\n", u->kind->also[i].words);
        TRY(sheet_write(u->also[i], form, f));
    }
    return 0;
}

int study_show(const Study *u)
{
    const Options *o = u->options;
    if (options_flag(o, "csv")) return sheet_write(u->means, SHEET_CSV, stdout);
    int explain = options_known(o, "explain") && options_flag(o, "explain");
    return print(u, SHEET_PLAIN, !explain, stdout);
}

static int save_tables(const Study *u)
{
    char file[64];
    TRY(output_paper(u->means, u->dir, u->kind->name));
    TRY(output_paper(u->differences, u->dir, "differences"));
    if (u->correlations) TRY(output_paper(u->correlations, u->dir, "correlations"));
    for (int i = 0; i < STUDY_ALSO; i++) {
        const StudyTable *t = &u->kind->also[i];
        if (!t->name || !sheet_rows(u->also[i])) continue;
        if (t->words) TRY(output_paper(u->also[i], u->dir, t->name));
        snprintf(file, sizeof file, "%s.csv", t->name);
        if (!t->words) TRY(output_sheet(u->also[i], SHEET_CSV, u->dir, file));
    }
    return 0;
}

static int save(const Study *u)
{
    const StudyKind *k = u->kind;
    char words[64];
    Output o;
    TRY(save_tables(u));
    snprintf(words, sizeof words, "%s.md", k->command);
    TRY(output_open(&o));
    TRY(output_put(&o, print(u, SHEET_MARKDOWN, 0, o.f), u->dir, words));
    TRY(runtable_forest(&u->table, k->shown, k->apart, u->dir));
    if (k->scatter) TRY(runtable_scatter(&u->table, k->shown, k->scatter, u->dir));
    return k->save ? k->save(u) : 0;
}

int study_save(const Study *u)
{
    char path[OUTPUT_PATH];
    SCOPED(lease_drop) Lease claim = {.fd = -1};
    int mine;
    TRY(output_path(path, u->dir, "tables.claim"));
    TRY(lease_take(path, u->worker.name, &claim, &mine));
    if (!mine) return 0;
    TRY(save(u));
    runs_note(&u->runs, "tables and plots are written");
    return 0;
}
