/* translations.c: compares encoders and decoders. It lists the runs, trains them, and measures each: BLEU of validation
 * and test text, truncation errors of both sides.
 *
 * A run's measures are kept in its directory (translation.csv, lines.csv, the translations themselves in valid.out and
 * test.out), with the options they were made with, and claimed like the run itself. */
#include "studies/compare/translations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/truncation.h"
#include "kernels/clock.h"
#include "nn/text/corpus.h"
#include "studies/measure/sentences.h"
#include "studies/measure/translated.h"
#include "studies/model/network.h"
#include "studies/model/trained.h"
#include "studies/model/translator.h"
#include "studies/runs/lease.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"
#include "studies/tools/progress.h"

enum { DRAW = 1 /* seed of the sentences of truncation errors */, TREES = 6 };

static const TranslationResult none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* ---- cells --------------------------------------------------------------------------------------- */

/* Reads "NAME" or "NAME@LAYERS" from `part`, which it changes. */
static int read_side(const Translations *u, char *part, int decoder, Table **t, size_t *layers)
{
    char *at = strchr(part, '@'), *end = at;
    *layers = u->layers;
    if (at) {
        *at++ = '\0';
        *layers = strtoul(at, &end, 10);
        if (end == at || *end || *layers < 1 || *layers > NETWORK_LAYERS)
            return error_set(ERR_INPUT, "--pair: %s@%s: expected NAME@LAYERS, LAYERS from 1 to %d",
                             part, at, NETWORK_LAYERS);
    }
    TRY(select_one(&u->schemes, part, "euler", decoder, t));
    return decoder ? network_reads_source("--pair", *t) : 0;
}

static int find_order(const Table *t, int *order)
{
    Theory theory;
    int code = theory_search(t, TREES, &theory);
    *order = code == 0 ? theory.order : -1;
    return code == ERR_ACCURACY ? 0 : code;
}

static RunSpec spec_of(const Translations *u, const TranslationCell *c, size_t k)
{
    return (RunSpec){.scheme = c->decoder,
                     .layers = c->layers,
                     .encoder = c->encoder,
                     .encoder_layers = c->encoder_layers,
                     .seed = u->seed + k};
}

static int open_cell(Translations *u, char *words, const Backend *b, TranslationCell *c)
{
    char *slash = strchr(words, '/');
    if (!slash || strchr(slash + 1, '/'))
        return error_set(ERR_INPUT, "--pair: '%s': expected ENCODER/DECODER", words);
    *slash = '\0';
    TRY(read_side(u, words, 0, &c->encoder, &c->encoder_layers));
    TRY(read_side(u, slash + 1, 1, &c->decoder, &c->layers));
    TRY(find_order(c->encoder, &c->encoder_order));
    TRY(find_order(c->decoder, &c->decoder_order));
    snprintf(c->name, sizeof c->name, "%s / %s", words, slash + 1);
    if (c->encoder_layers != u->layers || c->layers != u->layers)
        snprintf(c->name, sizeof c->name, "%s@%zu / %s@%zu", words, c->encoder_layers, slash + 1,
                 c->layers);
    for (const TranslationCell *other = u->cell; other < c; other++)
        if (strcmp(other->encoder->name, c->encoder->name) == 0 &&
            strcmp(other->decoder->name, c->decoder->name) == 0 &&
            other->encoder_layers == c->encoder_layers && other->layers == c->layers)
            return error_set(ERR_INPUT, "--pair: %s is there twice", c->name);
    c->result = memory_new(u->seeds, sizeof *c->result);
    c->measure = memory_new(u->seeds, sizeof *c->measure);
    c->lines = memory_new(u->seeds, sizeof *c->lines);
    if (!c->result || !c->measure || !c->lines) return ERR_MEMORY;
    for (size_t k = 0; k < u->seeds; k++) {
        c->result[k] = runs_none;
        c->measure[k] = none;
    }
    RunSpec s = spec_of(u, c, 0);
    return runs_check(u->options, &s, u->corpus.vocab.size, b, &c->numbers);
}

static int open_cells(Translations *u)
{
    const Backend *b;
    char *list = memory_string(options_text(u->options, "pair")), *rest = list, *part;
    if (!list) return ERR_MEMORY;
    size_t most = 1;
    for (const char *p = list; *p; p++) most += *p == ',';
    u->cell = memory_new(most, sizeof *u->cell);
    int code = u->cell ? runs_backend(u->options, &b) : ERR_MEMORY;
    while (code == 0 && (part = strsep(&rest, ","))) {
        code = open_cell(u, part, b, &u->cell[u->cells]);
        u->cells++;
    }
    memory_free(list);
    return code;
}

/* Returns ERR_INPUT where a search with these options would be refused after training. */
static int check_search(const Translations *u)
{
    const Backend *b;
    Model *m;
    Translator *t;
    RunSpec s = spec_of(u, &u->cell[0], 0);
    TRY(runs_backend(u->options, &b));
    TRY(runs_model(u->options, &s, u->corpus.vocab.size, b, &m));
    int code = translator_new(u->options, m, &u->corpus.vocab, u->corpus.bpe, 1, NULL, &t);
    translator_free(t);
    model_free(m);
    return code;
}

/* Returns ERR_INPUT where an option for language models alone is given. */
static int check_options(const Options *o)
{
    static const char *const alone[] = {"tune",      "dial",     "controls",
                                        "baseline",  "system",   "system-file",
                                        "all-pairs", "contrast", "equivalence"};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (options_rank(o, alone[i]) != OPTION_DEFAULT)
            return error_set(ERR_INPUT,
                             "--%s: not of a corpus of pairs, whose first --pair is the "
                             "baseline",
                             alone[i]);
    TRY(network_check(o));
    /* config.ini has --scheme's default in every study. */
    if (options_rank(o, "scheme") == OPTION_ARGUMENT)
        return error_set(ERR_INPUT, "--scheme: the corpus has pairs: write --pair "
                                    "ENCODER/DECODER,...");
    if (options_rank(o, "context") == OPTION_ARGUMENT &&
        options_choice(o, "context") != CONTEXT_SENTENCE)
        return error_set(ERR_INPUT, "--context stream: the corpus has pairs of sentences: write "
                                    "--context sentence, or nothing");
    char part[32];
    if (options_part(o, "layers", 1, part))
        return error_set(ERR_INPUT, "--layers: of pairs one number; --pair NAME@LAYERS/NAME@LAYERS "
                                    "has others");
    return 0;
}

static int open_study(Translations *u)
{
    const Options *o = u->options;
    TRY(check_options(o));
    u->layers = strtoul(options_text(o, "layers"), NULL, 10);
    TRY(select_open(o, "euler", &u->schemes));
    TRY(select_record(&u->schemes, u->options));
    if (options_text(o, "source")) corpus_leave_out(&u->corpus, options_size(o, "sequence"));
    for (int s = 0; s < SPLITS; s++)
        TRY(batches_check(&u->corpus.text[s], &u->corpus.source[s], &u->corpus.vocab, NULL,
                          CONTEXT_SENTENCE, options_size(o, "batch-tokens"),
                          options_size(o, "sequence")));
    TRY(open_cells(u));
    TRY(network_warmup(u->options, &u->corpus));
    TRY(check_search(u));
    u->unigram = runs_unigram(&u->corpus);
    u->metric = (MetricOptions){
        .tokenize = options_choice(o, "tokenize"), .smooth = SMOOTH_EXP, .smooth_value = NAN};
    TRY(output_directory(u->dir));
    u->runs = (Runs){.options = o, .corpus = &u->corpus, .dir = u->dir, .who = u->worker.name};
    TRY(runs_same_study(&u->runs, u->groups));
    if (!options_item(o, "from", 0)) TRY(runs_open(&u->runs));
    if (u->worker.leader) TRY(tasks_save_config(&u->runs, "compare"));
    runs_note(&u->runs, "begins: %zu pairs of schemes, %zu seeds", u->cells, u->seeds);
    return 0;
}

static void close_study(Translations *u)
{
    for (size_t i = 0; u->cell && i < u->cells; i++) {
        TranslationCell *c = &u->cell[i];
        for (size_t k = 0; c->lines && k < u->seeds; k++) metric_free(&c->lines[k]);
        table_free(c->encoder);
        table_free(c->decoder);
        memory_free(c->result);
        memory_free(c->measure);
        memory_free(c->lines);
    }
    memory_free(u->cell);
    sheet_free(u->table);
    sheet_free(u->differences);
    corpus_free(&u->corpus);
    select_close(&u->schemes);
}

/* ---- translations of a run ----------------------------------------------------------------------- */

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

/* Writes what a run's measures depend on besides the run. */
static int describe(const Translations *u, char *out, size_t room)
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

typedef struct {
    const char *how;
    TranslationResult of;
} MeasureRow;

static const Column measure_columns[] = {COLUMN(MeasureRow, how),
                                         FIELD(MeasureRow, "valid_bleu", of.valid_bleu),
                                         FIELD(MeasureRow, "test_bleu", of.test_bleu),
                                         FIELD(MeasureRow, "test_chrf", of.test_chrf),
                                         FIELD(MeasureRow, "brevity", of.brevity),
                                         FIELD(MeasureRow, "sentences_per_s", of.sentences_per_s),
                                         FIELD(MeasureRow, "encoder_error", of.encoder_error),
                                         FIELD(MeasureRow, "encoder_slope", of.encoder_slope),
                                         FIELD(MeasureRow, "decoder_error", of.decoder_error),
                                         FIELD(MeasureRow, "decoder_slope", of.decoder_slope),
                                         {0}};

static int save(const char *dir, const char *how, const TranslationResult *r, const Statistics *s)
{
    Sheet *sheet;
    TRY(sheet_new(translation_lines, &sheet));
    translations_add_lines(sheet, 0, s);
    int code = output_sheet(sheet, SHEET_CSV, dir, "lines.csv");
    sheet_free(sheet);
    TRY(code);
    TRY(sheet_new(measure_columns, &sheet));
    sheet_row(sheet, &(MeasureRow){how, *r});
    code = output_sheet(sheet, SHEET_CSV, dir, "translation.csv");
    sheet_free(sheet);
    return code;
}

/* Returns 1 where the files exist, with the same search. */
static int load(const char *dir, const char *how, TranslationResult *r, Statistics *s)
{
    char path[OUTPUT_PATH];
    Csv c;
    MeasureRow row;
    if (output_path(path, dir, "translation.csv") != 0 || !output_exists(path)) return 0;
    if (csv_open(&c, path) != 0) return 0;
    int there = c.rows == 1 && csv_record(&c, 0, measure_columns, &row) == 0 &&
                strcmp(csv_named(&c, 0, "how"), how) == 0;
    if (there) *r = row.of;
    csv_close(&c);
    if (!there || output_path(path, dir, "lines.csv") != 0 || csv_open(&c, path) != 0) return 0;
    there = translations_read_lines(&c, 0, c.rows, s) == 0;
    csv_close(&c);
    return there;
}

/* ---- all of them --------------------------------------------------------------------------------- */

static int measure(void *study, Task *t)
{
    Translations *u = study;
    size_t at = *(size_t *)t->more;
    TranslationResult *r = &u->cell[at / u->seeds].measure[at % u->seeds];
    Statistics *s = &u->cell[at / u->seeds].lines[at % u->seeds];
    char name[512], dir[OUTPUT_PATH], path[OUTPUT_PATH], how[512];
    Lease claim;
    int mine;
    TRY(runs_name(&t->spec, name));
    TRY(runs_directory(u->dir, &t->spec, dir));
    TRY(describe(u, how, sizeof how));
    t->state = RUN_THERE;
    if (load(dir, how, r, s)) return 0;
    TRY(output_path(path, dir, "translation.claim"));
    TRY(lease_take(path, u->worker.name, &claim, &mine));
    t->state = RUN_BUSY;
    if (!mine) return 0;
    double begun = clock_now();
    *r = none;
    int code = translate(u, name, dir, r, s);
    if (code == 0) progress_show("truncation errors of %s", name);
    if (code == 0) code = truncate_run(u, dir, r);
    if (code == 0) code = save(dir, how, r, s);
    lease_drop(&claim);
    if (code != 0) return code;
    t->state = RUN_TRAINED;
    runs_note(&u->runs, "%s: BLEU %.2f on validation, %.2f on the test text, in %.1f s", name,
              r->valid_bleu, r->test_bleu, clock_now() - begun);
    progress_note("    %s: BLEU %.2f on validation, %.2f on test, %.1f sentences/s", name,
                  r->valid_bleu, r->test_bleu, r->sentences_per_s);
    return 0;
}

/* Trains all cells, measures each, and fills them in. */
static int train(Translations *u)
{
    size_t n = u->cells * u->seeds, m = 0;
    Task *list = memory_new(n, sizeof *list), *there = memory_new(n, sizeof *there);
    size_t *at = memory_new(n, sizeof *at);
    int code = list && there && at ? 0 : ERR_MEMORY;
    /* The list goes seed by seed, so that a study that is cut short has whole rows. */
    for (size_t i = 0; i < n && code == 0; i++) {
        at[i] = i % u->cells * u->seeds + i / u->cells;
        list[i].spec = spec_of(u, &u->cell[at[i] / u->seeds], at[i] % u->seeds);
    }
    const Work w = {.runs = &u->runs, .wait = u->worker.leader};
    if (code == 0) code = tasks_run(&w, list, n);
    for (size_t i = 0; i < n && code == 0; i++) {
        u->failed += list[i].state == RUN_FAILED;
        if (!tasks_has_result(&list[i])) continue;
        u->cell[at[i] / u->seeds].result[at[i] % u->seeds] = list[i].result;
        if (!runs_diverged(&list[i].result, 1, u->corpus.vocab.size))
            there[m++] = (Task){.spec = list[i].spec, .more = &at[i]};
    }
    const Work measuring = {&u->runs, u->worker.leader, measure, u};
    if (code == 0) code = tasks_run(&measuring, there, m);
    memory_free(list);
    memory_free(there);
    memory_free(at);
    return code;
}

static int save_all(void *study)
{
    const Translations *u = study;
    TRY(translations_save(u));
    TRY(translations_record(u));
    TRY(translations_published(u));
    return translations_plots(u);
}

static int study(Translations *u)
{
    TRY(open_study(u));
    TRY(options_item(u->options, "from", 0) ? translations_take(u) : train(u));
    if (!tasks_write_tables(u->worker.leader)) return 0;
    TRY(translations_tables(u));
    TRY(translations_show(u));
    TRY(tasks_save_tables(&u->runs, save_all, u));
    const char *worse = "";
    for (size_t i = u->cells; i-- > 0;)
        if (u->cell[i].runs &&
            !runs_beats_unigram(u->cell[i].valid_ppl.mean, u->cell[i].test_ppl.mean, &u->unigram))
            worse = u->cell[i].name;
    return tasks_verdict(u->failed, network_unit(&u->corpus.vocab)->word, worse);
}

int translations_run(Options *o, const OptionGroup *const *all, Corpus *c)
{
    Translations u = {.options = o,
                      .groups = all,
                      .dir = options_text(o, "out"),
                      .worker = worker_find(),
                      .corpus = *c,
                      .seeds = options_size(o, "seeds"),
                      .seed = options_size(o, "seed")};
    *c = (Corpus){.entropy_rate = NAN};
    int code = study(&u);
    close_study(&u);
    return code;
}
