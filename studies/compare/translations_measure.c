/* translations_measure.c: measures the trained networks of a comparison of pairs: BLEU of validation and test text,
 * truncation errors of both sides.
 *
 * A run's measures are kept in its folder (translation.csv, lines.csv, the translations themselves in valid.out and
 * test.out), with the options they were made with, and claimed like the run itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bridge/truncation.h"
#include "kernels/clock.h"
#include "studies/compare/translations.h"
#include "studies/measure/sentences.h"
#include "studies/measure/translated.h"
#include "studies/model/network.h"
#include "studies/model/trained.h"
#include "studies/model/translator.h"
#include "studies/runs/lease.h"
#include "studies/runs/recorded.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"
#include "studies/tools/progress.h"

enum { DRAW = 1 /* seed of the sentences of truncation errors */ };

RunSpec translations_spec(const Translations *u, const TranslationCell *c, size_t k)
{
    return (RunSpec){.scheme = c->decoder,
                     .layers = c->layers,
                     .encoder = c->encoder,
                     .encoder_layers = c->encoder_layers,
                     .seed = u->seed + k,
                     .numbers = c->numbers};
}

/* ---- translations ----------------------------------------------------------------------- */

/* Translates and scores a split, and keeps the text as DIR/NAME. */
static int score_split(const Translations *u, Translator *t, const char *run, const char *dir,
                       const char *name, int split, TranslatedScore *score, Statistics *lines)
{
    char *text, what[600];
    Output copy;
    snprintf(what, sizeof what, "translations of %s", run);
    TRY(translated_score(t, &u->corpus, split, &u->metric, what, &text, score, lines));
    int code = output_open(&copy);
    if (code == 0) {
        fputs(text, copy.f);
        code = output_put(&copy, 0, dir, name);
    }
    memory_free(text);
    return code;
}

static int translate(const Translations *u, const char *run, const char *dir, TranslationResult *r,
                     Statistics *lines)
{
    Network n;
    Translator *t = NULL;
    TranslatedScore valid, test;
    TRY(trained_on_machine(dir, u->options, &n));
    int code = translator_new(u->options, n.model, &n.vocab, n.bpe, 1, &command_stop, &t);
    if (code == 0) code = score_split(u, t, run, dir, "valid.out", SPLIT_VALID, &valid, NULL);
    if (code == 0) code = score_split(u, t, run, dir, "test.out", SPLIT_TEST, &test, lines);
    if (code == 0) {
        r->valid_bleu = valid.bleu;
        r->test_bleu = test.bleu;
        r->test_chrf = test.chrf;
        r->brevity = test.brevity;
        r->sentences_per_s = (double)u->corpus.source[SPLIT_TEST].lines / test.seconds;
    }
    translator_free(t);
    network_free(&n);
    return code;
}

/* ---- truncation errors --------------------------------------------------------------------------- */

static int measure_side(Network *n, int side, const Sentences *s, double tolerance, double *error,
                        double *slope)
{
    const Table *own = side == SIDE_SOURCE ? n->encoder : n->table,
                *other = side == SIDE_SOURCE ? n->table : n->encoder;
    TruncationOptions o = {.field = FIELD_SPLIT,
                           .side = side,
                           .other = other,
                           .tolerance = tolerance,
                           .stop = &command_stop};
    TruncationSummary r;
    int code = truncation_summary(n->model, own, own, s, &o, &r);
    if (code == ERR_ACCURACY || code == ERR_NUMERIC) return 0;
    if (code == ERR_INTERRUPTED) return command_interrupted();
    TRY(code);
    *error = r.relative.median;
    *slope = r.slope.median;
    return 0;
}

static int truncate_run(const Translations *u, const char *dir, TranslationResult *r)
{
    const Options *o = u->options;
    Network n;
    Drawn drawn = {0};
    size_t tokens =
        sentences_tokens(options_size(o, "truncation-tokens"), options_size(o, "sequence"));
    if (options_size(o, "truncation") == 0 || network_bridge(o).norm != NORM_PRE) return 0;
    TRY(trained_load(dir, tokens, options_size(o, "threads"), &n));
    int code = sentences_draw(&u->corpus.vocab, &u->corpus.text[SPLIT_VALID],
                              &u->corpus.source[SPLIT_VALID], options_size(o, "truncation"), tokens,
                              DRAW, &drawn);
    double tolerance = sentences_tolerance(options_real(o, "truncation-tolerance"), n.model);
    if (code == 0)
        code = measure_side(&n, SIDE_SOURCE, &drawn.of, tolerance, &r->encoder_error,
                            &r->encoder_slope);
    if (code == 0)
        code = measure_side(&n, SIDE_TARGET, &drawn.of, tolerance, &r->decoder_error,
                            &r->decoder_slope);
    sentences_free(&drawn);
    network_free(&n);
    return code;
}

/* ---- their files --------------------------------------------------------------------------------- */

int translations_how(const Translations *u, char *out, size_t room)
{
    const Options *o = u->options;
    size_t n = (size_t)snprintf(out, room, "tokenize %s; truncation %zu of %zu within %g",
                                options_text(o, "tokenize"), options_size(o, "truncation"),
                                options_size(o, "truncation-tokens"),
                                options_real(o, "truncation-tolerance"));
    for (const Option *p = translator_group.option; p->name && n < room; p++) {
        const char *text = options_text(o, p->name);
        if (strcmp(p->name, "sentences") != 0 && text)
            n += (size_t)snprintf(out + n, room - n, "; %s %s", p->name, text);
    }
    return n < room ? 0 : error_set(ERR_MISUSE, "a search of too many words");
}

/* Returns the columns of the measures. */
static const Column *measures(void)
{
    return translation_runs + sheet_column(translation_runs, "how") - 1;
}

static int save(const char *dir, const TranslationRow *row)
{
    Sheet *s;
    TRY(sheet_new(translation_lines, &s));
    translations_add_lines(s, row->pair, row->seed, &row->run.lines);
    int code = output_sheet(s, SHEET_CSV, dir, "lines.csv");
    sheet_free(s);
    TRY(code);
    TRY(sheet_new(measures(), &s));
    sheet_row(s, row);
    code = output_sheet(s, SHEET_CSV, dir, "translation.csv");
    sheet_free(s);
    return code;
}

/* Reads the lines of a run, or with pair NULL all, of which there must be as many as the test text has. */
static int read_lines(const Translations *u, const Csv *c, const char *pair, const char *seed,
                      Statistics *out)
{
    size_t n = 0, all = u->corpus.text[SPLIT_TEST].lines;
    *out = (Statistics){all, BLEU_STATISTICS, memory_new(all * BLEU_STATISTICS, sizeof(double))};
    int code = out->x ? 0 : ERR_MEMORY;
    for (size_t i = 0; i < c->rows && code == 0; i++) {
        if (pair && (strcmp(csv_named(c, i, "pair"), pair) != 0 ||
                     strcmp(csv_named(c, i, "seed"), seed) != 0))
            continue;
        for (size_t k = 0; k < BLEU_STATISTICS && n < all && code == 0; k++) {
            double *x = &out->x[n * BLEU_STATISTICS + k];
            int column = csv_column(c, translation_lines[2 + k].name);
            code = column < 0 || csv_number(c, i, column, x) != 0 || !(*x >= 0) ? ERR_INPUT : 0;
        }
        n++;
    }
    if (code == 0 && n == all) return 0;
    metric_free(out);
    if (code == ERR_MEMORY) return code;
    if (code != 0) return error_set(ERR_INPUT, "%s: a number is missing", c->file);
    return error_set(ERR_INPUT, "%s has %zu lines of %s with seed %s, and the test text %zu",
                     c->file, n, pair ? pair : "a run", seed ? seed : "of its own", all);
}

/* Sets the error for a row that was measured with other options, of which it names the first. */
static int other_options(const Csv *c, size_t row, const char *there, const char *how)
{
    size_t at = 0;
    for (size_t i = 0; how[i] && there[i] == how[i]; i++)
        if (i > 0 && how[i - 1] == ';') at = i + 1;
    return error_set(ERR_INPUT, "%s: %s with seed %s was measured with %.*s, now %.*s", c->file,
                     csv_named(c, row, "pair"), csv_named(c, row, "seed"),
                     (int)strcspn(there + at, ";"), there + at, (int)strcspn(how + at, ";"),
                     how + at);
}

/* Takes the measures of a row of DIR/runs.csv; of: DIR/lines.csv. */
static int take(const Translations *u, size_t row, const Csv *of, TranslationRun *run)
{
    const Csv *c = &u->runs.recorded.table;
    const char *there = csv_named(c, row, "how");
    TranslationRow told;
    if (*there && strcmp(there, u->how) != 0) return other_options(c, row, there, u->how);
    TRY(csv_record(c, row, measures(), &told));
    run->measure = told.run.measure;
    return read_lines(u, of, csv_named(c, row, "pair"), csv_named(c, row, "seed"), &run->lines);
}

int translations_take(Translations *u)
{
    char path[OUTPUT_PATH];
    Csv of = {0};
    int code = output_path(path, u->dir, "lines.csv");
    for (size_t i = 0; i < u->cells * u->seeds && code == 0; i++) {
        TranslationCell *c = &u->cell[i / u->seeds];
        size_t k = i % u->seeds;
        const RunSpec s = translations_spec(u, c, k);
        size_t row = recorded_alone(&u->runs, &s);
        if (row == SIZE_MAX || *csv_named(&u->runs.recorded.table, row, "diverged")) continue;
        if (!of.file) code = csv_open(&of, path);
        if (code == 0) code = take(u, row, &of, &c->run[k]);
    }
    csv_close(&of);
    return code;
}

/* Returns 1 where the run's folder has its measures, with the same search. */
static int load(const Translations *u, const char *dir, TranslationRun *run)
{
    char path[OUTPUT_PATH];
    Csv c;
    TranslationRow row;
    if (output_path(path, dir, "translation.csv") != 0 || !output_exists(path)) return 0;
    if (csv_open(&c, path) != 0) return 0;
    int there = c.rows == 1 && csv_record(&c, 0, measures(), &row) == 0 &&
                strcmp(csv_named(&c, 0, "how"), u->how) == 0;
    if (there) run->measure = row.run.measure;
    csv_close(&c);
    if (!there || output_path(path, dir, "lines.csv") != 0 || csv_open(&c, path) != 0) return 0;
    there = read_lines(u, &c, NULL, NULL, &run->lines) == 0;
    csv_close(&c);
    return there;
}

/* ---- all of them --------------------------------------------------------------------------------- */

int translations_measure(void *study, Task *t)
{
    Translations *u = study;
    size_t at = *(size_t *)t->more;
    TranslationCell *c = &u->cell[at / u->seeds];
    TranslationRun *run = &c->run[at % u->seeds];
    TranslationResult *r = &run->measure;
    char name[512], dir[OUTPUT_PATH], path[OUTPUT_PATH];
    Lease claim;
    int mine;
    TRY(runs_name(&t->spec, name));
    TRY(runs_directory(u->dir, &t->spec, dir));
    t->state = RUN_THERE;
    if (run->lines.x || load(u, dir, run)) return 0;
    TRY(output_path(path, dir, "translation.claim"));
    TRY(lease_take(path, u->worker.name, &claim, &mine));
    t->state = RUN_BUSY;
    if (!mine) return 0;
    double begun = clock_now();
    int code = translate(u, name, dir, r, &run->lines);
    if (code == 0) progress_show("truncation errors of %s", name);
    if (code == 0) code = truncate_run(u, dir, r);
    if (code == 0)
        code = save(dir, &(TranslationRow){
                             .pair = c->name, .how = u->how, .seed = t->spec.seed, .run = *run});
    lease_drop(&claim);
    if (code != 0) return code;
    t->state = RUN_TRAINED;
    runs_note(&u->runs, "%s: BLEU %.2f on validation, %.2f on the test text, in %.1f s", name,
              r->valid_bleu, r->test_bleu, clock_now() - begun);
    progress_note("    %s: BLEU %.2f on validation, %.2f on test, %.1f sentences/s", name,
                  r->valid_bleu, r->test_bleu, r->sentences_per_s);
    return 0;
}
