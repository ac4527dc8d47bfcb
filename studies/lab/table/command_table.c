/* command_table.c: shows means, differences and a plot of any table of runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "studies/base/latex.h"
#include "studies/base/plot/plot.h"
#include "studies/lab/table/runtable.h"
#include "studies/base/command.h"
#include "kernels/base/nearest.h"

/* The row of a design. SIZE_MAX: none. */
typedef struct {
    const char *design, *panel, *measure;
    Interval of;
    double least, greatest;
    size_t missing, diverged;
} DesignRow;

static const Column design_columns[] = {
    COLUMN(DesignRow, design, .place = 1, .page = 1,
           .words = "cells of the columns that tell designs apart"),
    FIELD(DesignRow, "n", of.n, .place = 2, .page = 2, .words = "runs with a number"),
    FIELD(DesignRow, "mean", of.mean, .form = SHEET_FIXED, .low = "low", .high = "high",
          .half = "±", .place = 3, .page = 3, .words = "mean of these runs"),
    FIELD(DesignRow, "sd", of.sd, .form = SHEET_FIXED, .place = 4, .page = 4,
          .words = "standard deviation of the runs"),
    FIELD(DesignRow, "low", of.low, .form = SHEET_FIXED,
          .words = "lower end of the mean's 95 % interval"),
    FIELD(DesignRow, "high", of.high, .form = SHEET_FIXED, .words = "upper end of it"),
    COLUMN(DesignRow, least, .form = SHEET_FIXED, .place = 5, .page = 5, .words = "least run"),
    COLUMN(DesignRow, greatest, .form = SHEET_FIXED, .place = 6, .page = 6,
           .words = "greatest run"),
    COLUMN(DesignRow, missing, .place = 7, .page = 7, .sparse = 1,
           .words = "rows without a number"),
    COLUMN(DesignRow, diverged, .place = 8, .page = 8, .sparse = 1,
           .words = "runs that diverged (NaN, infinite); the others alone make the row"),
    COLUMN(DesignRow, panel, .place = 2, .page = 2, .sparse = 1,
           .words = "the part of the table that is looked at apart"),
    COLUMN(DesignRow, measure, .place = 2, .page = 2, .sparse = 1,
           .words = "the numbers that are shown"),
    {0}};

enum { RELATED = 16 };
typedef struct {
    Options *options;
    RunTable t;
    const char *base; /* NULL: none */
    const char *why;  /* it is not shown whether the plan is older than the data; NULL: it is */
    Sheet *designs, *differences, *correlations;
} TableRun;

/* ---- tables -------------------------------------------------------------------------------------- */

static int add_designs(TableRun *u)
{
    const RunTable *t = &u->t;
    TRY(runtable_new(&u->t, design_columns, &u->designs));
    for (size_t i = 0; i < t->designs; i++)
        for (size_t m = 0; m < t->measures; m++) {
            const RunDesign *d = &t->design[i];
            sheet_row(u->designs, &(DesignRow){d->name, t->by ? t->panel[d->panel] : NULL,
                                               t->measures > 1 ? t->measure[m].text : NULL,
                                               d->mean[m], d->least[m], d->greatest[m],
                                               d->missing.count ? d->missing.count : SIZE_MAX,
                                               d->diverged.count ? d->diverged.count : SIZE_MAX});
        }
    return 0;
}

static const RunDesign *find_design(const RunTable *t, const char *name)
{
    for (size_t i = 0; i < t->designs; i++)
        if (strcmp(t->design[i].name, name) == 0) return &t->design[i];
    return NULL;
}

/* Finds the baseline: the one named, or where no other question is asked the first design that is compared. */
static int find_base(TableRun *u)
{
    const Options *o = u->options;
    const RunTable *t = &u->t;
    SCOPED(memory_drop) const char **names = memory_new(t->designs, sizeof *names);
    if (!names) return ERR_MEMORY;
    u->base = options_text(o, "baseline");
    for (size_t i = 0; i < t->designs; i++) names[i] = t->design[i].name;
    if (u->base && !find_design(t, u->base))
        return error_set(ERR_INPUT, "--baseline: no design is called '%s'%s", u->base,
                         nearest_words(u->base, names, t->designs));
    if (u->base || options_flag(o, "all-pairs") || options_item(o, "contrast", 0) ||
        options_text(o, "plan"))
        return 0;
    for (size_t i = 0; !u->base && i < t->designs; i++)
        if (runtable_compared(&t->design[i])) u->base = t->design[i].name;
    return 0;
}

static int add_differences(TableRun *u)
{
    const Options *o = u->options;
    RunTable *t = &u->t;
    const char *text, *planned = NULL, *plan = options_text(o, "plan");
    TRY(find_base(u));
    TRY(runtable_new(&u->t, runtable_differences, &u->differences));
    if (u->base) TRY(runtable_baseline(t, u->base, options_real(o, "equivalence")));
    TRY(runtable_dunnett(t, u->differences));
    if (options_flag(o, "all-pairs")) TRY(runtable_tukey(t, u->differences));
    if (plan) planned = runtable_planned(t, plan, &u->why);
    if (plan) TRY(runtable_plan(t, plan, planned, u->differences));
    for (size_t i = 0; (text = options_item(o, "contrast", i)); i++)
        TRY(runtable_contrast(t, "--contrast", text, plan ? "no" : NULL, u->differences));
    return 0;
}

/* Adds the rank correlations of the columns of --relate. */
static int add_correlations(TableRun *u)
{
    char column[RELATED + 1][64];
    RunRelation list[2 * RELATED + 1] = {{0}};
    const char *within = options_text(u->options, "within");
    size_t n = 0;
    if (within && !options_text(u->options, "relate"))
        return error_set(ERR_INPUT, "--within: expected --relate too, which names what is ranked");
    if (within && !runtable_has(&u->t, within))
        return error_set(ERR_INPUT, "--within: no file has a column '%s'", within);
    if (!options_text(u->options, "relate")) return 0;
    for (size_t k = 0; k < RELATED && options_part(u->options, "relate", k, column[k]); k++) {
        list[n++] = (RunRelation){.quantity = column[k], .x = column[k]};
        if (within)
            list[n++] = (RunRelation){.quantity = column[k], .x = column[k], .within = within};
    }
    TRY(runtable_new(&u->t, runtable_correlations, &u->correlations));
    return runtable_relate(&u->t, list, NULL, u->t.measures, 1, u->correlations);
}

/* Tells what was chosen where it was not given, and what is left out. */
static void tell(const TableRun *u)
{
    const RunTable *t = &u->t;
    const Options *o = u->options;
    char keys[1024] = "";
    for (size_t k = 0, n = 0; k < t->keys && n < sizeof keys; k++)
        n += (size_t)snprintf(keys + n, sizeof keys - n, "%s%s", k ? "," : "", t->key[k]);
    if (!options_text(o, "design") || !options_text(o, "seed") || !options_text(o, "measure"))
        progress_note("chosen: --design %s %s%s --measure %s", keys,
                      t->seed ? "--seed " : "(no seed: each row is a run of its own)",
                      t->seed ? t->seed : "", t->measure[0].column);
    if (u->base && !options_text(o, "baseline")) progress_note("chosen: --baseline %s", u->base);
    if (u->base && !runtable_compared(find_design(t, u->base)))
        notice_warn("nothing is compared with %s, as it has no run or one that diverged", u->base);
    if (u->why)
        notice_warn("not shown whether %s was planned: %s", options_text(o, "plan"), u->why);
    runtable_tell(t);
}

/* ---- words --------------------------------------------------------------------------------------- */

static int print_all(const TableRun *u, int form, FILE *f)
{
    const RunTable *t = &u->t;
    fprintf(f,
            "%s, %s is better: %zu design%s, %zu run%s. ± is half of the 95 %% interval of a "
            "design's own runs\n(Student's t).\n\n",
            t->measure[0].column, t->measure[0].more ? "more" : "less", t->designs,
            t->designs == 1 ? "" : "s", t->runs, t->runs == 1 ? "" : "s");
    TRY(sheet_write(u->designs, form, f));
    TRY(runtable_print_differences(t, u->differences, form, 0, f));
    return u->correlations ? runtable_print_correlations(u->correlations, form, 1, f) : 0;
}

/* Prints the table of --columns, and what its numbers rest on: in LaTeX as lines below it, to stay there or to go into its
 * caption. */
static int print_paper(const TableRun *u, FILE *f)
{
    const Options *o = u->options;
    int form = options_text(o, "format") ? SHEET_PLAIN + options_choice(o, "format") : SHEET_PLAIN;
    const int latex = form == SHEET_LATEX;
    TRY(runtable_paper(&u->t, options_text(o, "columns"), form, f));
    fprintf(f,
            "%s%s: half of the 95 %s interval of a design's runs (Student's t);\n%s: the best of ",
            latex ? "\n\\par\\smallskip\\noindent\n{\\footnotesize " : "\n", latex ? "$\\pm$" : "±",
            latex ? "\\%" : "%", form == SHEET_PLAIN ? "*" : "bold");
    for (size_t m = 0; m < u->t.measures; m++) {
        if (m) fputs(", ", f);
        latex ? latex_text(f, u->t.measure[m].column) : (void)fputs(u->t.measure[m].column, f);
    }
    fputs(", shown to be better than all others (all pairs, Tukey", f);
    for (size_t p = 0; p < u->t.panels; p++) runtable_rests(&u->t, p, latex, f);
    fprintf(f, ").%s\n", latex ? "\\par}" : "");
    return 0;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int save(TableRun *u, const char *dir)
{
    Output o;
    TRY(output_directory(dir));
    TRY(output_paper(u->designs, dir, "table"));
    TRY(output_paper(u->differences, dir, "differences"));
    if (u->correlations) TRY(output_paper(u->correlations, dir, "correlations"));
    TRY(output_open(&o));
    TRY(output_put(&o, print_all(u, SHEET_MARKDOWN, o.f), dir, "table.md"));
    return runtable_forest(&u->t, 0, NULL, dir);
}

/* Takes the columns of a study's own table of runs, which the first file is, where none is named: those of the design, and
 * the measure. */
static int take_kind(Options *o, const char *file, const Kind **out)
{
    char head[256] = "";
    struct stat s = {0}; /* of a pipe nothing is taken away */
    FILE *f = stat(file, &s) == 0 && S_ISREG(s.st_mode) ? fopen(file, "rb") : NULL;
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f) fclose(f);
    head[n] = '\0';
    if (S_ISDIR(s.st_mode)) TRY(options_set(o, OPTION_DEFAULT, "", "measure", "valid_ppl"));
    const Kind *k = *out = kind_of_runs(head);
    if (!k || options_text(o, "design") || options_text(o, "by") || options_text(o, "seed"))
        return 0;
    const RunColumns *c = k->runs;
    TRY(options_set(o, OPTION_DEFAULT, "", "design", c->design));
    TRY(options_set(o, OPTION_DEFAULT, "", "seed", c->seed));
    if (c->by) TRY(options_set(o, OPTION_DEFAULT, "", "by", c->by));
    progress_note("%s is of 'trotter %s': --design %s --seed %s%s%s", file, k->command, c->design,
                  c->seed, c->by ? " --by " : "", c->by ? c->by : "");
    return 0;
}

/* name: room for the files' names. k: the kind of study that the first is of; NULL: none. */
static int read_files(TableRun *u, const char **name, const Kind *k)
{
    const Options *o = u->options;
    char column[RUN_MEASURES + 1][64];
    RunColumns asked = {.design = options_text(o, "design"),
                        .seed = options_text(o, "seed"),
                        .by = options_text(o, "by")};
    size_t n = 0, m = 0;
    for (; options_item(o, "file", n); n++) name[n] = options_item(o, "file", n);
    asked.measure[0].more = options_flag(o, "more-is-better");
    for (; k && !options_text(o, "measure") && k->runs->measure[m].column; m++)
        asked.measure[m] =
            (RunMeasure){.column = k->runs->measure[m].column,
                         .more = k->runs->measure[m].more || options_flag(o, "more-is-better")};
    for (; options_text(o, "measure") && options_part(o, "measure", m, column[m]); m++) {
        if (m == RUN_MEASURES)
            return error_set(ERR_INPUT, "--measure: expected at most %d columns", RUN_MEASURES);
        asked.measure[m] =
            (RunMeasure){.column = column[m], .more = options_flag(o, "more-is-better")};
    }
    return runtable_open(name, n, &asked, &u->t);
}

static int study(TableRun *u)
{
    const Options *o = u->options;
    const Kind *k;
    size_t n = 0;
    while (options_item(o, "file", n)) n++;
    if (n == 0)
        return error_set(ERR_INPUT, "expected CSV files with a row a run, or folders of trainings");
    TRY(options_either(o, "csv", "columns"));
    if (options_text(o, "format") && !options_text(o, "columns"))
        return error_set(ERR_INPUT, "--format: expected --columns too, as design,valid_ppl");
    TRY(take_kind(u->options, options_item(o, "file", 0), &k));
    SCOPED(memory_drop) const char **name = memory_new(n, sizeof *name);
    TRY(name ? read_files(u, name, k) : ERR_MEMORY);
    if (u->t.runs == 0)
        return error_set(ERR_INPUT, "%s: no run has a number in column '%s'", u->t.file[0].file,
                         u->t.measure[0].column);
    TRY(add_designs(u));
    TRY(add_differences(u));
    TRY(add_correlations(u));
    if (options_text(o, "columns")) TRY(print_paper(u, stdout));
    tell(u);
    if (!options_text(o, "columns"))
        TRY(options_flag(o, "csv") ? sheet_write(u->designs, SHEET_CSV, stdout)
                                   : print_all(u, SHEET_PLAIN, stdout));
    plot_figure(options_text(o, "figure"));
    return options_text(o, "out") ? save(u, options_text(o, "out")) : 0;
}

static int run(Options *o)
{
    TableRun u = {.options = o};
    int code = study(&u);
    runtable_close(&u.t);
    sheet_free(u.designs);
    sheet_free(u.differences);
    sheet_free(u.correlations);
    return code;
}

const Command command_table_of_runs = {
    .name = "table",
    .purpose = "show means, differences and a plot of any table of runs",
    .about =
        "Reads tables with a row a run, as CSV: 'runs.csv' of 'trotter compare', or any other program's; a folder\n"
        "stands for the trainings in it, each a row of its options and results. Shows each\n"
        "design's mean over seeds with its interval, and differences of designs by the same statistics as\n"
        "'compare': one standard deviation, runs paired by seed where that helps, intervals that hold together.\n"
        "With three columns - design, seed, number - no option is needed.\n"
        "\n"
        "An empty cell or NA is a missing run; NaN and inf are runs that diverged. Several files are put together.\n"
        "A contrast of --plan counts as planned where git shows that the plan was committed before the data.\n",
    .often =
        "file design seed measure by more-is-better baseline all-pairs contrast plan columns format csv out",
    .example = "runs.csv --measure valid_ppl --baseline transformer",
    .faster = "no --all-pairs, fewer --design",
    .groups = GROUPS(
        OPTION_GROUP(
            "Table", 1,
            {"file", OPTION_LIST, NULL, "FILE",
             "CSV file with a row a run, also with tabs or semicolons, or a folder of trainings; rows of several are put "
             "together; --file itself may be left out"},
            {"design", OPTION_TEXT, NULL, "A,B,...",
             "columns that tell designs apart (default: the columns of text, or options of trainings, that vary)"},
            {"seed", OPTION_TEXT, NULL, "COLUMN",
             "column of the seeds (default: the one called seed; without one each row is a run of its own)"},
            {"measure", OPTION_TEXT, NULL, "A,B,...",
             "columns to show (default: the last of numbers)"},
            {"by", OPTION_TEXT, NULL, "COLUMN",
             "column whose values are looked at apart, as depths are, each with its own standard deviation; file: each file"},
            {"more-is-better", OPTION_FLAG, NULL, NULL,
             "greater numbers are better (known of BLEU, chrF, accuracy, exact matches and tokens_per_s)"}),
        OPTION_GROUP(
            "Differences", 1,
            {"baseline", OPTION_TEXT, NULL, "NAME",
             "show differences from this design, together (Dunnett); the first one where nothing else is asked"},
            {"all-pairs", OPTION_FLAG, NULL, NULL,
             "show those of all pairs, together (Tukey, Kramer)"},
            {"contrast", OPTION_LIST, NULL, "TEXT",
             "show the mean of some designs minus that of others, as 'heun rk4 - euler' or 'order: heun + rk4 - euler'"},
            {"equivalence", OPTION_REAL, NULL, "X",
             "show p of a difference from the baseline of X or more (two one-sided tests, corrected)",
             1e-9, 1e9},
            {"relate", OPTION_TEXT, NULL, "A,B,...",
             "show rank correlations of the measures with these columns over designs"},
            {"within", OPTION_TEXT, NULL, "COLUMN",
             "show those within designs equal in this column too, over all of --by, and the exponent of a power law"},
            {"plan", OPTION_TEXT, NULL, "FILE",
             "show the contrasts of this file, one a line, and whether it was committed before the data"}),
        OPTION_GROUP(
            "Output", 0, {"csv", OPTION_FLAG, NULL, NULL, "write the designs as CSV"},
            {"columns", OPTION_TEXT, NULL, "A,B,...",
             "show the table of a paper: 'design', 'n' and columns of the runs, as '51.99 ± 0.72'; NAME=HEAD renames one; the "
             "best of --measure is marked"},
            {"format", OPTION_CHOICE, NULL, "text|markdown|latex",
             "the form of --columns (default: text)"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write table.csv, .tex, .md, differences.csv, .tex, correlations.csv, .tex and the plot forest.svg"},
            PLOT_FIGURE)),
    .kinds = KINDS(
        {.command = "table",
         .title = "Tables of runs",
         .about =
             "Means of designs over seeds and their differences, from tables with a row a run.",
         .words = "table.md",
         .table = {{"table", design_columns, "Designs, with 95 % intervals of their own runs.",
                    KIND_ALL},
                   {"differences", runtable_differences,
                    "Differences of designs, with 95 % intervals that hold together as told.",
                    KIND_ALL},
                   {"correlations", runtable_correlations,
                    "Rank correlations (Spearman) over designs.", KIND_ALL},
                   {"forest", runtable_forest_columns, "Designs, as drawn", 0}},
         .plot = {{"forest", "Means of the designs and their 95 % intervals, the best first."}}}),
    .run = run,
};
