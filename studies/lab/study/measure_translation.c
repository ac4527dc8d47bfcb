/* measure_translation.c: translates the validation and the test text by a trained encoder and decoder, and scores them: BLEU,
 * chrF2, chrF2++ and TER. The run's folder keeps the translations (valid.out, test.out) and the sums of BLEU line by line (lines.csv),
 * from which a difference has an interval over drawn sentences; DIR/lines.csv has those of all runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "studies/model/translated.h"
#include "studies/model/trained.h"
#include "studies/lab/study/measures.h"
#include "studies/base/command.h"

enum { TEST = 1 }; /* from this column on: the test text's, in the order of METRIC_* */
static const Column columns[] = {
    VALUE("valid_bleu", .low = "valid_bleu_low", .high = "valid_bleu_high"),
    VALUE("test_bleu"),
    VALUE("test_chrf", .low = "test_chrf_low", .high = "test_chrf_high"),
    VALUE("test_chrf_words"),
    VALUE("test_ter"),
    VALUE("brevity", .words = "BLEU's factor for short translations, of the test text"),
    VALUE("sentences_per_s", .words = "speed of translating the test text"),
    {0}};
_Static_assert(sizeof columns / sizeof *columns == TEST + METRICS + 3,
               "each metric has its column");

static int wanted(const Study *u)
{
    return u->kind->pairs;
}

int measure_how_pairs(const Study *u, char *out, size_t room)
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

/* ---- lines --------------------------------------------------------------------------------------- */

/* A row of lines.csv; whole numbers. */
typedef struct {
    const char *pair;
    size_t seed;
    double x[BLEU_STATISTICS];
} LineRow;

#define COUNT(name, k, what) FIELD(LineRow, name, x[k], .words = what)

const Column measure_lines[] = {
    COLUMN(LineRow, pair),
    COLUMN(LineRow, seed),
    COUNT("hypothesis", BLEU_HYPOTHESIS, "words of the line's translation"),
    COUNT("reference", BLEU_REFERENCE, "words of the line's reference"),
    COUNT("matches_1", BLEU_MATCHES, "words that the reference has too"),
    COUNT("matches_2", BLEU_MATCHES + 1, "pairs of words that the reference has too"),
    COUNT("matches_3", BLEU_MATCHES + 2, "runs of 3 words that the reference has too"),
    COUNT("matches_4", BLEU_MATCHES + 3, "runs of 4 words that the reference has too"),
    COUNT("totals_1", BLEU_TOTALS, "words in the translation"),
    COUNT("totals_2", BLEU_TOTALS + 1, "pairs of words in the translation"),
    COUNT("totals_3", BLEU_TOTALS + 2, "runs of 3 words in the translation"),
    COUNT("totals_4", BLEU_TOTALS + 3, "runs of 4 words in the translation"),
    {0}};

void measure_add_lines(Sheet *s, const char *pair, size_t seed, const Statistics *of)
{
    for (size_t i = 0; i < of->lines; i++) {
        LineRow row = {.pair = pair, .seed = seed};
        memcpy(row.x, of->x + i * of->width, sizeof row.x);
        sheet_row(s, &row);
    }
}

static int save_lines(const StudyMeasured *r)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    TRY(sheet_new(measure_lines, &s));
    measure_add_lines(s, r->design, r->run->seed, &r->run->lines);
    return output_sheet(s, SHEET_CSV, r->dir, "lines.csv");
}

/* Reads the lines of a design's run, of which there must be as many as the test text has. */
static int read_lines(const StudyMeasured *r, const Frame *c, Statistics *out)
{
    size_t n = 0, all = r->study->corpus.text[SPLIT_TEST].lines;
    metric_free(out); /* of an earlier look at a run that another process measures */
    *out = (Statistics){all, BLEU_STATISTICS, memory_new(all * BLEU_STATISTICS, sizeof(double))};
    int code = out->x ? 0 : ERR_MEMORY;
    for (size_t i = 0; i < c->rows && code == 0; i++) {
        if (strcmp(frame_text(c, i, "pair"), r->design) != 0 ||
            strtoul(frame_text(c, i, "seed"), NULL, 10) != r->run->seed)
            continue;
        for (size_t k = 0; k < BLEU_STATISTICS && n < all && code == 0; k++) {
            double *x = &out->x[n * BLEU_STATISTICS + k];
            int column = frame_column(c, measure_lines[2 + k].name);
            code = column < 0 || frame_number(c, i, column, x) != 0 || !(*x >= 0) ? ERR_INPUT : 0;
        }
        n++;
    }
    if (code == 0 && n == all) return 0;
    metric_free(out);
    if (code == ERR_MEMORY) return code;
    if (code != 0) return error_set(ERR_INPUT, "%s: a number is missing", c->file);
    return error_set(ERR_INPUT, "%s has %zu lines of %s with seed %zu, and the test text %zu",
                     c->file, n, r->design, (size_t)r->run->seed, all);
}

/* Returns ERR_INPUT where a recorded run was measured with other options, of which it names the first. */
static int same_options(const StudyMeasured *r)
{
    const Frame *c = &r->study->recorded;
    const char *there = frame_text(c, r->run->row, "how");
    char how[640];
    size_t at = 0;
    TRY(measure_how_pairs(r->study, how, sizeof how));
    if (!*there || strcmp(there, how) == 0) return 0;
    for (size_t i = 0; how[i] && there[i] == how[i]; i++)
        if (i > 0 && how[i - 1] == ';') at = i + 1;
    return error_set(ERR_INPUT, "%s: %s with seed %zu was measured with %.*s, now %.*s", c->file,
                     r->design, (size_t)r->run->seed, (int)strcspn(there + at, ";"), there + at,
                     (int)strcspn(how + at, ";"), how + at);
}

/* Reads the lines of a recorded run from the study's file, which is read once. */
static int load_recorded(const StudyMeasured *r)
{
    Study *u = r->study;
    TRY(same_options(r));
    TRY(output_path(u->lines_file, u->dir, "lines.csv"));
    if (!u->lines.file) TRY(frame_read(&u->lines, u->lines_file));
    return read_lines(r, &u->lines, &r->run->lines);
}

static int load(const StudyMeasured *r)
{
    char path[OUTPUT_PATH];
    SCOPED(frame_close) Frame c = {0};
    if (!r->dir) return load_recorded(r);
    TRY(output_path(path, r->dir, "lines.csv"));
    TRY(frame_read(&c, path));
    return read_lines(r, &c, &r->run->lines);
}

/* ---- translations -------------------------------------------------------------------------------- */

/* Translates and scores a split, and keeps the text as DIR/NAME. */
static int score_split(const StudyMeasured *r, Translator *t, const MetricOptions *o,
                       const char *name, int split, TranslatedScore *score, Statistics *lines)
{
    SCOPED(memory_drop) char *text = NULL;
    char what[600];
    Output copy;
    snprintf(what, sizeof what, "translations of %s", r->name);
    TRY(translated_score(t, &r->study->corpus, split, o, what, &text, score, lines));
    TRY(output_open(&copy));
    fputs(text, copy.f);
    return output_put(&copy, 0, r->dir, name);
}

static int translate(const StudyMeasured *r, TranslatedScore *valid, TranslatedScore *test)
{
    const Options *o = r->study->options;
    const MetricOptions metric = {.tokenize = options_choice(o, "tokenize")};
    SCOPED(network_free) Network n = {0};
    SCOPED(translator_drop) Translator *t = NULL;
    TRY(trained_on_machine(r->dir, o, &n));
    TRY(translator_new(o, &n.model, 1, &n.vocab, 1, &command_stop, &t));
    TRY(score_split(r, t, &metric, "valid.out", SPLIT_VALID, valid, NULL));
    return score_split(r, t, &metric, "test.out", SPLIT_TEST, test, &r->run->lines);
}

static int measure(const StudyMeasured *r, Frame *out)
{
    TranslatedScore valid, test;
    double begun = clock_now();
    metric_free(&r->run->lines);
    TRY(translate(r, &valid, &test));
    const double speed = (double)r->study->corpus.source[SPLIT_TEST].lines / test.seconds;
    frame_put(out, 0, "valid_bleu", valid.score[METRIC_BLEU]);
    for (int k = 0; k < METRICS; k++) frame_put(out, 0, columns[TEST + k].name, test.score[k]);
    frame_put(out, 0, "brevity", test.brevity);
    frame_put(out, 0, "sentences_per_s", speed);
    runs_note(&r->study->runs, "%s: BLEU %.2f on validation, %.2f on the test text, in %.1f s",
              r->name, valid.score[METRIC_BLEU], test.score[METRIC_BLEU], clock_now() - begun);
    progress_note("    %s: BLEU %.2f on validation, %.2f on test, %.1f sentences/s", r->name,
                  valid.score[METRIC_BLEU], test.score[METRIC_BLEU], speed);
    return save_lines(r);
}

/* Begins a search with these options. */
static int try(const Study *u, const RunSpec *s)
{
    const Backend *b;
    SCOPED(model_drop) Model *m = NULL;
    SCOPED(translator_drop) Translator *t = NULL;
    TRY(network_backend(u->options, &b));
    TRY(runs_model(u->options, s, &u->corpus.vocab, b, &m));
    return translator_new(u->options, &m, 1, &u->corpus.vocab, 1, NULL, &t);
}

const StudyMeasure measure_translation = {.name = "translation",
                                          .columns = columns,
                                          .wanted = wanted,
                                          .how = measure_how_pairs,
                                          .measure = measure,
                                          .load = load,
                                          .try = try};
