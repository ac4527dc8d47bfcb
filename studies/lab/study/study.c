/* study.c: does a study by its row (study.h). */
#include "studies/lab/study/study.h"

#include <math.h>
#include <stdio.h>

#include "studies/model/network.h"
#include "studies/base/command.h"

const OptionGroup study_statistics_group = {
    "Statistics", 0,
    OPTIONS(
        {"contrast", OPTION_LIST, NULL, "TEXT",
         "also show a contrast: names with blanks between, ' - ', and names, as \"heun fgfg2 - looped:2 "
         "dial:2,1/2\", the mean of the first minus the mean of the second; a name that has blanks itself "
         "stands in double quotes"},
        {"all-pairs", OPTION_FLAG, NULL, NULL,
         "also show differences of all pairs of designs, with Tukey's correction"},
        {"equivalence", OPTION_REAL, NULL, "X",
         "name the designs that are shown to be within X of the baseline's perplexity (two one-sided "
         "tests, corrected)",
         1e-6, 1e6})};

/* ---- opening ------------------------------------------------------------------------------------- */

/* Finds what a training would find wrong, before any is begun, and how many numbers each network has. */
static int check_runs(Study *u)
{
    const Backend *b;
    TRY(network_backend(u->options, &b));
    for (size_t i = 0; i < u->designs; i++) {
        RunSpec s = study_spec(&u->design[i], u->design[i].run);
        TRY(runs_check(u->options, &s, &u->corpus.vocab, b, &u->design[i].spec.numbers));
    }
    return 0;
}

static int new_more(Study *u)
{
    u->more = memory_new(1, u->kind->study_bytes);
    return u->more ? 0 : ERR_MEMORY;
}

/* Reads the test text of a study that tunes once, and drops it: an unknown word in it would end the study after the last
 * choice. No model sees it before. */
static int check_test(const Study *u)
{
    SCOPED(corpus_free) Corpus whole = {0};
    return network_corpus(u->options, 0, &whole);
}

static int open_designs(Study *u, const StudyKind *kinds)
{
    Options *o = u->options;
    if (study_tunes(u)) TRY(check_test(u));
    TRY(network_corpus(o, study_tunes(u), &u->corpus));
    for (u->kind = kinds; u->kind->is && !u->kind->is(o, &u->corpus);) u->kind++;
    if (!u->kind->pairs) TRY(network_language(o, &u->corpus));
    TRY(study_check_measures(u));
    TRY(new_more(u));
    TRY(u->kind->open(u));
    if (!u->kind->pairs) TRY(network_adaptive(o, &u->corpus));
    TRY(study_check_contrasts(u));
    if (study_tunes(u)) TRY(study_grid(u));
    TRY(check_runs(u));
    return study_try_measures(u);
}

/* Opens a study whose trainings are its own. */
static int open_own(Study *u, const StudyKind *kind)
{
    u->kind = kind;
    u->runs = (Runs){.options = u->options, .dir = u->dir, .who = u->worker.name};
    TRY(new_more(u));
    return kind->open(u);
}

/* Takes the warm-up of the study that DIR holds, and refuses one of other options. */
static int same_study(Study *u)
{
    SCOPED(options_drop) Options *there = NULL;
    TRY(runs_study(u->groups, u->dir, &there));
    if (there) TRY(runs_warmup(u->options, there));
    TRY(network_warmup(u->options, &u->corpus));
    return there ? runs_same_study(&u->runs, there) : 0;
}

static int open_study(Study *u, const StudyKind *kinds)
{
    if (kinds->one) return open_own(u, kinds);
    TRY(network_check(u->options));
    TRY(open_designs(u, kinds));
    u->runs =
        (Runs){.options = u->options, .corpus = &u->corpus, .dir = u->dir, .who = u->worker.name};
    TRY(same_study(u));
    TRY(output_directory(u->dir));
    TRY(runs_open(&u->runs));
    snprintf(u->checksum, sizeof u->checksum, "%016llx", (unsigned long long)u->runs.checksum);
    TRY(runs_unigram(&u->corpus, &u->unigram));
    TRY(study_take(u));
    runs_note(&u->runs, "begins: %zu designs%s", u->designs,
              study_tunes(u) ? ", to be tuned; no model sees the test text before" : "");
    return u->kind->begin ? u->kind->begin(u) : 0;
}

/* Opens all three texts, once nothing depends on the choice any more. */
static int open_test(Study *u)
{
    if (!study_tunes(u)) return 0;
    corpus_free(&u->corpus);
    TRY(network_corpus(u->options, 0, &u->corpus));
    return runs_unigram(&u->corpus, &u->unigram);
}

static void close_study(Study *u)
{
    if (u->kind && u->kind->close && u->more) u->kind->close(u);
    for (size_t i = 0; i < u->designs; i++) {
        StudyDesign *d = &u->design[i];
        for (size_t k = 0; k < d->seeds; k++) metric_free(&d->run[k].lines);
        if (u->kind->drop && d->own) u->kind->drop(d->own);
        memory_free_all(d->own, d->trial, d->run);
    }
    memory_free_all(u->design, u->point, u->more);
    sheet_free(u->means);
    sheet_free(u->differences);
    sheet_free(u->correlations);
    for (int i = 0; i < STUDY_ALSO; i++) sheet_free(u->also[i]);
    runtable_close(&u->table);
    for (size_t i = 0; i < u->files; i++) memory_free(u->file[i]);
    memory_free(u->file);
    frame_close(&u->lines);
    frame_close(&u->runs_csv);
    memory_free(u->columns);
    frame_close(&u->recorded);
    memory_free(u->taken);
    corpus_free(&u->corpus);
    select_close(&u->schemes);
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* Returns 1 where a run of a design diverged: its perplexity, above the size of the vocabulary (RunDesign.diverged), is
 * worse than before the first step. */
static int has_diverged(const Study *u, size_t i)
{
    const StudyDesign *d = &u->design[i];
    const RunSpec s = study_spec(d, d->run);
    const Backend *b;
    double worst = 0;
    SCOPED(model_drop) Model *fresh = NULL;
    if (study_design(u, i)->diverged.count == 0) return 0;
    for (size_t k = 0; k < d->seeds; k++)
        worst = fmax(worst, study_real(u, &d->run[k], "valid_ppl"));
    if (!isfinite(worst)) return 1;
    if (network_backend(u->options, &b) != 0 ||
        runs_model(u->options, &s, &u->corpus.vocab, b, &fresh) != 0)
        return 0;
    return runs_worse(fresh, u->options, &u->corpus, worst);
}

/* Names the designs that are no better than frequencies. They are a fault where one diverged, unless that is part of the
 * answer (`mixed`) and others are better. */
static int judge(const Study *u)
{
    char names[512] = "";
    size_t n = 0, better = 0, diverged = 0;
    if (u->kind->one) return 0;
    for (size_t i = 0; i < u->designs; i++) {
        const RunDesign *d = study_design(u, i);
        int beats = study_beats_unigram(u, i);
        better += (size_t)beats;
        diverged += !beats && has_diverged(u, i);
        if (beats || n >= sizeof names || (d->mean[0].n == 0 && d->diverged.count == 0)) continue;
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? "; " : "",
                              u->design[i].label);
    }
    const char *word = network_unit(&u->corpus.vocab)->word;
    const char *rest = better ? "" : ", so there is nothing to compare";
    int fault = n && diverged && !(u->kind->mixed && better);
    if (n && !fault) notice_warn("no better than %s frequencies%s: %s", word, rest, names);
    if (u->failed) return error_set(ERR_CHECK, "%zu run(s) failed", u->failed);
    if (fault)
        return error_set(ERR_CHECK, "no better than %s frequencies, and %zu diverged: %s", word,
                         diverged, names);
    return u->kind->verdict ? u->kind->verdict(u) : 0;
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int do_study(Study *u, const StudyKind *kinds)
{
    TRY(open_study(u, kinds));
    if (study_tunes(u)) TRY(study_tune(u));
    TRY(u->kind->train ? u->kind->train(u) : study_train(u, 0, u->worker.leader, 0));
    if (!u->kind->one) TRY(study_measure(u));
    if (!u->worker.leader) {
        progress_note("nothing is left to train here; the first process writes the tables");
        return 0;
    }
    TRY(open_test(u));
    TRY(study_tables(u));
    TRY(study_show(u));
    TRY(study_save(u));
    return judge(u);
}

int study_run(const StudyKind *kinds, const OptionGroup *const *groups, Options *o)
{
    if (options_known(o, "config") && options_text(o, "config"))
        TRY(options_read(o, options_text(o, "config")));
    Study u = {.options = o,
               .groups = groups,
               .dir = options_text(o, "out"),
               .worker = worker_find(),
               .corpus.entropy_rate = NAN,
               .seeds = options_size(o, "seeds"),
               .seed = options_size(o, "seed")};
    int code = do_study(&u, kinds);
    if (code == ERR_INTERRUPTED) {
        study_catch_up(&u);
        code = command_interrupted();
    }
    close_study(&u);
    return code;
}
