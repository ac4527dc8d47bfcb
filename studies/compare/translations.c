/* translations.c: compares encoders and decoders: lists the runs, trains them and has each measured. */
#include "studies/compare/translations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/text/corpus.h"
#include "studies/model/network.h"
#include "studies/model/translator.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"

enum { TREES = 6 };

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
    c->run = memory_new(u->seeds, sizeof *c->run);
    if (!c->run) return ERR_MEMORY;
    for (size_t k = 0; k < u->seeds; k++)
        c->run[k] = (TranslationRun){runs_none, {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}, {0}};
    RunSpec s = translations_spec(u, c, 0);
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
    int code = u->cell ? network_backend(u->options, &b) : ERR_MEMORY;
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
    RunSpec s = translations_spec(u, &u->cell[0], 0);
    TRY(network_backend(u->options, &b));
    TRY(runs_model(u->options, &s, u->corpus.vocab.size, b, &m));
    int code = translator_new(u->options, m, &u->corpus.vocab, u->corpus.bpe, 1, NULL, &t);
    translator_free(t);
    model_free(m);
    return code;
}

/* Returns ERR_INPUT where an option for language models alone is given. */
static int check_options(const Options *o)
{
    static const char *const alone[] = {"tune",     "dial",   "controls",
                                        "baseline", "system", "system-file"};
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
    u->metric = (MetricOptions){.tokenize = options_choice(o, "tokenize"), .smooth = SMOOTH_EXP};
    TRY(translations_how(u, u->how, sizeof u->how));
    TRY(output_directory(u->dir));
    u->runs = (Runs){.options = o, .corpus = &u->corpus, .dir = u->dir, .who = u->worker.name};
    TRY(runs_same_study(&u->runs, u->groups));
    TRY(runs_open(&u->runs));
    runs_note(&u->runs, "begins: %zu pairs of schemes, %zu seeds", u->cells, u->seeds);
    return 0;
}

static void close_study(Translations *u)
{
    for (size_t i = 0; u->cell && i < u->cells; i++) {
        TranslationCell *c = &u->cell[i];
        for (size_t k = 0; c->run && k < u->seeds; k++) metric_free(&c->run[k].lines);
        table_free(c->encoder);
        table_free(c->decoder);
        memory_free(c->run);
    }
    memory_free(u->cell);
    for (int i = 0; i < 2; i++) memory_free(u->own[i]);
    runtable_close(&u->pairs);
    runs_close(&u->runs);
    sheet_free(u->table);
    sheet_free(u->differences);
    corpus_free(&u->corpus);
    select_close(&u->schemes);
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
        list[i].spec = translations_spec(u, &u->cell[at[i] / u->seeds], at[i] % u->seeds);
    }
    const Work w = {
        .runs = &u->runs, .wait = u->worker.leader, .config = u->worker.leader ? "compare" : NULL};
    if (code == 0) code = tasks_run(&w, list, n);
    for (size_t i = 0; i < n && code == 0; i++) {
        u->failed += list[i].state == RUN_FAILED;
        if (!tasks_has_result(&list[i])) continue;
        u->cell[at[i] / u->seeds].run[at[i] % u->seeds].result = list[i].result;
        if (!runs_diverged(&list[i].result, 1, u->corpus.vocab.size))
            there[m++] = (Task){.spec = list[i].spec, .more = &at[i]};
    }
    const Work measuring = {&u->runs, u->worker.leader, translations_measure, u};
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
    return translations_published(u);
}

/* Returns the last pair that is no better than the frequencies of words; "": none. */
static const char *find_worse(const Translations *u)
{
    const RunTable *t = &u->pairs;
    const Unigram unigram = runs_unigram(&u->corpus);
    const char *worse = "";
    for (size_t i = t->designs; i-- > 0;)
        if (!runs_beats_unigram(t->design[i].mean[0].mean, runtable_value(t, i, "test_ppl").x,
                                &unigram))
            worse = t->design[i].name;
    return worse;
}

static int study(Translations *u)
{
    const char *word = network_unit(&u->corpus.vocab)->word;
    TRY(open_study(u));
    TRY(translations_take(u));
    TRY(train(u));
    if (!tasks_write_tables(u->worker.leader)) return 0;
    if (u->failed == u->cells * u->seeds) return tasks_verdict(u->failed, word, "");
    TRY(translations_record(u)); /* by every process that comes here: all write the same */
    TRY(translations_tables(u));
    TRY(translations_show(u));
    TRY(tasks_save_tables(&u->runs, save_all, u));
    return tasks_verdict(u->failed, word, find_worse(u));
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
