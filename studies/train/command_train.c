/* command_train.c: trains one model; its directory holds all that a later command needs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/file.h"
#include "studies/runs/lease.h"
#include "studies/tools/command.h"
#include "studies/model/memory_forecast.h"
#include "studies/model/network.h"
#include "studies/tools/output.h"
#include "studies/tools/plot.h"
#include "studies/tools/progress.h"
#include "studies/runs/rerun.h"
#include "studies/runs/runs.h"
#include "studies/tools/select.h"
#include "studies/train/judge.h"
#include "studies/train/shares.h"
#include "studies/train/spans_table.h"
#include "studies/runs/worker.h"

#define USUAL "transformer"

static const Option scheme_options[] = {
    {"scheme", OPTION_TEXT, USUAL, "NAME", "the scheme a layer is a step of", 0, 0,
     .flags = OPTION_MAY_DIFFER /* scheme.txt is compared */},
    {"encoder", OPTION_TEXT, NULL, "NAME",
     "of a corpus of pairs, in the place of --scheme: the encoder's scheme (default: " USUAL ")", 0,
     0, .flags = OPTION_MAY_DIFFER},
    {"decoder", OPTION_TEXT, NULL, "NAME",
     "and the decoder's; one of F and G gets cross-attention behind its attention, as NAME-decoder "
     "(default: " USUAL ")",
     0, 0, .flags = OPTION_MAY_DIFFER},
    SELECT_FILE,
    {"untested", OPTION_FLAG, NULL, NULL,
     "leave the test text alone: its file is not opened, test_ppl stays empty", 0, 0,
     .flags = OPTION_MAY_DIFFER},
    {0},
};

static const Option output_options[] = {
    {"out", OPTION_TEXT, "out/train", "DIR",
     "run directory: config.ini, log.csv, result.csv, model.safetensors, vocab.txt, plots", 0, 0},
    {"csv", OPTION_FLAG, NULL, NULL, "the rows of DIR/log.csv on stdout, as they come", 0, 0},
    {"config", OPTION_TEXT, NULL, "FILE",
     "options from a file, as DIR/config.ini of another run; the command line overrides it", 0, 0},
    {"resume", OPTION_FLAG, NULL, NULL,
     "go on with the run in DIR as if it had not stopped, from its beginning where it saved "
     "nothing yet; its config.ini counts",
     0, 0},
    {0},
};

static const OptionGroup scheme_group = {"Scheme", 1, scheme_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&scheme_group,           &network_text_group,
                                            &network_depth_group,    &network_model_group,
                                            &network_training_group, &network_seed_group,
                                            &network_machine_group,  &network_limit_group,
                                            &output_group,           NULL};

/* A run as it goes. */
typedef struct {
    const Options *options;
    Selection schemes;
    const Table *scheme; /* of --scheme */
    Table *pair[2];      /* of --encoder and --decoder, for a corpus of pairs; owned */
    Stacks stacks;       /* those that are trained, and their names */
    char name[2 * TABLE_NAME + 8];
    const char *dir;
    const Backend *backend;
    Ranks *ranks; /* NULL: alone */
    Lease claim;  /* of the directory */
    int goes_on;  /* from the state that a run left there */
    size_t need;  /* bytes, counted before the model was there */
    Corpus corpus;
    Model *model;
    Metadata meta;
    TrainResult result;
    Share *shares; /* (ranks) what each did, on the first */
    FILE *log;     /* DIR/log.csv, being copied to stdout; NULL: not wanted */
    Judge *judge;  /* of --best bleu, else NULL */
    Asking ask[SPLITS];
} Run;

enum { EXACT = 48, WORDS = 64 };

/* The one that writes and speaks. */
static int is_first(const Run *r)
{
    return !r->ranks || r->ranks->rank == 0;
}

/* ---- while it runs ------------------------------------------------------------------------------- */

/* Lines of log.csv that have come since. */
static void copy_log(Run *r)
{
    char line[512], path[OUTPUT_PATH];
    if (!options_flag(r->options, "csv")) return;
    if (!r->log && output_path(path, r->dir, "log.csv") == 0) r->log = fopen(path, "r");
    if (!r->log) return;
    clearerr(r->log);
    while (fgets(line, sizeof line, r->log)) fputs(line, stdout);
    fflush(stdout);
}

static int is_masked(const Run *r)
{
    return model_config(r->model)->masked;
}

/* The share of exact pairs, or of next sentences, behind a comma; of a text nothing. */
static void exact_words(const Run *r, double share, char words[EXACT])
{
    *words = '\0';
    if (isnan(share)) return;
    snprintf(words, EXACT, ", %.1f %% %s", 100 * share,
             is_masked(r) ? "of next segments told" : "exact");
}

/* What a mean loss is exp of. */
static const char *perplexity_name(const Run *r)
{
    return is_masked(r) ? "pseudo-perplexity" : "perplexity";
}

static void on_report(void *arg, const TrainReport *t)
{
    Run *r = arg;
    char left[32], exact[EXACT], score[32] = "";
    size_t seed = options_size(r->options, "seed");
    lease_keep(&r->claim);
    progress_time(t->seconds_left, left);
    exact_words(r, t->valid_exact, exact);
    if (!isnan(t->valid_score)) snprintf(score, sizeof score, ", BLEU %.2f", t->valid_score);
    if (t->valid_ppl > 0)
        progress_note(
            "%s, seed %zu: epoch %ld of %ld, training loss %.4f, validation %s %.2f%s%s%s", r->name,
            seed, t->epoch, t->epochs, t->train_loss, perplexity_name(r), t->valid_ppl, exact,
            score, t->best ? "" : " (not the best)");
    else
        progress_show(
            "%s, seed %zu: epoch %ld of %ld, step %llu of %llu, loss %.4f, %.0f tokens/s, %s left",
            r->name, seed, t->epoch, t->epochs, (unsigned long long)t->step,
            (unsigned long long)t->steps, t->train_loss, t->tokens_per_s, left);
    copy_log(r);
}

static int on_epoch(void *arg, Model *m, double *score)
{
    return judge_score(((Run *)arg)->judge, m, score);
}

/* What the run will take, before it begins. */
static void tell_memory(const Run *r)
{
    const Model *m = r->model;
    char words[512];
    size_t n = 0;
    for (int k = 0; k < MEMORY_KINDS; k++)
        n += (size_t)snprintf(words + n, sizeof words - n, "%s %s %.1f", k ? "," : "",
                              model_memory_name(k), 1e-6 * (double)model_memory(m, k));
    progress_note("memory of the model: %.1f MB at its peak:%s MB; of the process: about %.1f MB",
                  1e-6 * (double)model_bytes(m), words, 1e-6 * (double)r->need);
}

/* A length may change, so it is no reason to refuse: but not unseen, as by a damaged config.ini. */
static void tell_length(const Run *r, const char *key, const char *option)
{
    char path[OUTPUT_PATH], *was;
    size_t now = options_size(r->options, option);
    if (output_path(path, r->dir, "state.safetensors") != 0 || store_meta(path, key, &was) != 0)
        return;
    if (strtoull(was, NULL, 10) != now)
        progress_note("%s: it was a run of --%s %s, and goes on with %zu", r->dir, option, was,
                      now);
    memory_free(was);
}

/* A multistep scheme that never has its full history is another scheme. */
static void tell_history(const Run *r)
{
    const Table *t = r->stacks.layers;
    int back = t->past_y > t->past_k ? t->past_y : t->past_k;
    size_t layers = options_size(r->options, "layers");
    if (back == 0 || layers > (size_t)back) return;
    progress_note(
        "%s reads %d step%s back, and there %s %zu layer%s: each is one of its first steps, "
        "without the full history (the first of an Adams-Bashforth method is Euler's)",
        t->name, back, back == 1 ? "" : "s", layers == 1 ? "is" : "are", layers,
        layers == 1 ? "" : "s");
}

static void tell_begin(void *arg)
{
    const Run *r = arg;
    tell_history(r);
    if (r->corpus.left_out)
        progress_note("%zu of %zu training pairs have more than --sequence %zu tokens on a side: "
                      "left out",
                      r->corpus.left_out, r->corpus.left_out + r->corpus.text[SPLIT_TRAIN].lines,
                      options_size(r->options, "sequence"));
    if (r->goes_on) {
        tell_length(r, "epochs", "epochs");
        tell_length(r, "max_steps", "max-steps");
    }
    tell_memory(r);
}

/* ---- files --------------------------------------------------------------------------------------- */

static int write_config(const Run *r)
{
    char path[OUTPUT_PATH], *text;
    TRY(output_path(path, r->dir, "config.ini"));
    TRY(network_config_text(r->options, &text));
    int code = file_replace(path, text, strlen(text));
    memory_free(text);
    return code;
}

/* DIR/scheme.txt tells what `scheme` meant, whatever becomes of a scheme file. A run goes on only
 * with the scheme it began with. */
static int write_scheme(const Run *r, int resume)
{
    char path[OUTPUT_PATH], *text, *before = NULL;
    size_t bytes;
    TRY(output_path(path, r->dir, "scheme.txt"));
    TRY(network_scheme_text(r->stacks, &text));
    int code = 0;
    if (resume && output_exists(path)) {
        code = output_read(path, &before, &bytes);
        if (code == 0 && strcmp(text, before) != 0)
            code = error_set(ERR_INPUT, "--%s %s: %s/scheme.txt has another, %.*s",
                             r->stacks.encoder ? "encoder, --decoder" : "scheme", r->name, r->dir,
                             (int)strcspn(before, "\n"), before);
    } else {
        code = file_replace(path, text, strlen(text));
    }
    memory_free(before);
    memory_free(text);
    return code;
}

static int write_result(const Run *r)
{
    Sheet *t;
    TRY(sheet_new(run_columns, &t));
    sheet_row(t, &(RunRecord){r->name,
                              options_size(r->options, "layers"),
                              options_size(r->options, "seed"),
                              {.params = (double)model_size(r->model),
                               .best_epoch = (double)r->result.best_epoch,
                               .valid_ppl = r->result.valid_ppl,
                               .test_ppl = r->result.test_ppl,
                               .tokens_per_s = r->result.tokens_per_s,
                               .peak_bytes = (double)r->result.peak_bytes,
                               .valid_exact = r->result.valid_exact,
                               .test_exact = r->result.test_exact}});
    int code = output_sheet(t, SHEET_CSV, r->dir, "result.csv");
    sheet_free(t);
    return code;
}

static int draw_loss(const Run *r, const char *what)
{
    char title[700];
    Plot *p;
    snprintf(title, sizeof title, "Loss: %s", what);
    PlotFrame frame = {"loss", title, "step", "nats a token", 0};
    TRY(plot_new(r->dir, &frame, &p));
    int step = sheet_column(log_columns, "step");
    plot_item(p, "log.csv", "using %d:%d with lines title %s noenhanced", step,
              sheet_column(log_columns, "train_loss"),
              options_real(r->options, "label-smoothing") > 0 ? "training (smoothed labels)"
                                                              : "training");
    plot_style(p, 0);
    plot_item(p, "log.csv", "using %d:(log($%d)) title 'validation' noenhanced", step,
              sheet_column(log_columns, "valid_ppl"));
    plot_style(p, 1);
    plot_level(p, log(corpus_unigram(&r->corpus, SPLIT_VALID)), "word frequencies");
    return plot_finish(p);
}

static int draw_perplexity(const Run *r, const char *what)
{
    char title[700];
    Plot *p;
    snprintf(title, sizeof title, "Validation perplexity: %s", what);
    PlotFrame frame = {"perplexity", title, "epoch", "perplexity", 0};
    TRY(plot_new(r->dir, &frame, &p));
    plot_setting(p, "set yrange [0:*]");
    plot_count(p, options_size(r->options, "epochs"));
    plot_item(p, "log.csv", "using %d:%d title 'validation' noenhanced",
              sheet_column(log_columns, "epoch"), sheet_column(log_columns, "valid_ppl"));
    plot_style(p, 1);
    plot_level(p, corpus_unigram(&r->corpus, SPLIT_VALID), "word frequencies");
    if (!isnan(r->corpus.entropy_rate)) plot_level(p, exp(r->corpus.entropy_rate), "entropy rate");
    return plot_finish(p);
}

static int draw(const Run *r)
{
    char what[600];
    size_t layers = options_size(r->options, "layers");
    snprintf(what, sizeof what, "%s, %zu layer%s, %s", r->name, layers, layers == 1 ? "" : "s",
             r->corpus.name);
    TRY(draw_loss(r, what));
    return draw_perplexity(r, what);
}

/* Of whose weights the perplexities are. */
static void name_model(const TrainResult *t, char *words, size_t room)
{
    if (t->averaged == 1)
        snprintf(words, room, "end of epoch %ld", t->best_epoch);
    else if (t->averaged)
        snprintf(words, room, "mean of the ends of epochs %ld to %ld",
                 t->best_epoch - t->averaged + 1, t->best_epoch);
    else
        snprintf(words, room, "best epoch %ld", t->best_epoch);
}

/* "2 + 4": of encoder and decoder, in the order of the name. */
static void layers_words(const Run *r, char words[48])
{
    size_t layers = options_size(r->options, "layers"), above = 0;
    if (r->stacks.encoder) above = options_size(r->options, "encoder-layers");
    if (above && above != layers)
        snprintf(words, 48, "%zu + %zu", above, layers);
    else
        snprintf(words, 48, "%zu", layers);
}

/* The perplexity per word of a split whose tokens are pieces, to stand behind that per piece; else nothing. */
static void per_word(const Run *r, int split, double ppl, char words[WORDS])
{
    const Corpus *c = &r->corpus;
    const Text *t = &c->text[split];
    *words = '\0';
    if (c->vocab.level != LEVEL_PIECE || r->stacks.encoder || is_masked(r) || isnan(ppl)) return;
    size_t n = text_predicted(t, c->vocab.eos, options_choice(r->options, "context"));
    snprintf(words, WORDS, " (%.2f a word)", text_word_ppl(t, n, ppl));
}

static void tell(const Run *r, double seconds)
{
    char time[32], model[96], test[160] = "the test text unread", of[64] = "", exact[2][EXACT],
                              layers[48], word[2][WORDS];
    const char *first = options_text(r->options, "eval-tokens");
    name_model(&r->result, model, sizeof model);
    progress_time(seconds, time);
    if (first) snprintf(of, sizeof of, "the first %.20s tokens of ", first);
    exact_words(r, r->result.valid_exact, exact[0]);
    exact_words(r, r->result.test_exact, exact[1]);
    per_word(r, SPLIT_VALID, r->result.valid_ppl, word[0]);
    per_word(r, SPLIT_TEST, r->result.test_ppl, word[1]);
    if (!isnan(r->result.test_ppl))
        snprintf(test, sizeof test, "%.2f%s on test%s", r->result.test_ppl, word[1], exact[1]);
    layers_words(r, layers);
    progress_note("%s, %s layer(s), seed %zu: %s, %s %.2f%s on %svalidation%s, %s; %zu "
                  "parameters, %.0f tokens/s, peak %.0f MB, %s; in %s",
                  r->name, layers, options_size(r->options, "seed"), model, perplexity_name(r),
                  r->result.valid_ppl, word[0], of, exact[0], test, model_size(r->model),
                  r->result.tokens_per_s, 1e-6 * (double)r->result.peak_bytes, time, r->dir);
}

/* ---- the run ------------------------------------------------------------------------------------- */

static int drop_result(const Run *r)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, r->dir, "spans.csv"));
    unlink(path);
    TRY(output_path(path, r->dir, "result.csv"));
    unlink(path); /* they come back when the run is done */
    return 0;
}

/* One process at a time writes there. */
static int claim_directory(Run *r)
{
    char path[OUTPUT_PATH];
    int mine;
    TRY(output_path(path, r->dir, "train.claim"));
    TRY(lease_take(path, worker_find().name, &r->claim, &mine));
    if (mine) return 0;
    char *who = NULL;
    size_t bytes;
    if (output_read(path, &who, &bytes) == 0) who[strcspn(who, "\n")] = '\0';
    error_set(ERR_INPUT, "%s: another training is at work there (%s)", r->dir,
              who ? who : "unknown");
    memory_free(who);
    return ERR_INPUT;
}

/* A run that goes on keeps its files until it is known to be the same. */
static int begin_files(Run *r)
{
    int resume = options_flag(r->options, "resume");
    TRY(output_directory(r->dir));
    TRY(claim_directory(r));
    r->goes_on = resume && rerun_has_state(r->dir);
    if (!resume) TRY(run_refuse_overwrite(r->options, groups, r->stacks, r->dir, 1));
    file_sweep(r->dir);
    TRY(write_scheme(r, resume));
    if (r->goes_on) return 0;
    if (resume) progress_note("%s: the run there saved nothing yet, so it begins", r->dir);
    TRY(write_config(r));
    return drop_result(r);
}

static int end_files(const Run *r, int code)
{
    if (code != 0 && code != ERR_INTERRUPTED) return code;
    char words[900];
    snprintf(words, sizeof words, "%s", error_text());
    if (r->goes_on) TRY(write_config(r));
    if (code == 0) return 0;
    TRY(drop_result(r));
    return error_set(code, "%s", words);
}

/* Of ranks each takes the device of its number on this machine. */
static int find_backend(Run *r)
{
    const Options *o = r->options;
    if (r->ranks) backend_device(r->ranks->local);
    TRY(network_backend(o, &r->backend));
    if (r->ranks && options_size(o, "threads") == 0 && !getenv("OMP_NUM_THREADS"))
        backend_threads(r->ranks->threads);
    return 0;
}

static const char *const pair_options[] = {"encoder", "decoder", "encoder-layers"};

/* A text has neither source nor encoder. */
static int check_text(const Run *r, const Options *o)
{
    for (size_t i = 0; i < sizeof pair_options / sizeof *pair_options; i++)
        if (options_text(o, pair_options[i]))
            return error_set(ERR_INPUT,
                             "--%s: corpus %s is a text, which has no source to encode; a corpus "
                             "of pairs, as reverse:26, has",
                             pair_options[i], r->corpus.name);
    return 0;
}

/* What was given for a text, and that every pair has room; config.ini tells --scheme's default of every run. */
static int check_pairs(Run *r, const Options *o)
{
    Corpus *c = &r->corpus;
    const char *scheme = options_text(o, "scheme");
    size_t T = options_size(o, "sequence"), rows = options_size(o, "batch-tokens");
    if (options_rank(o, "scheme") == OPTION_ARGUMENT || strcmp(scheme, USUAL) != 0)
        return error_set(ERR_INPUT,
                         "--scheme %s: corpus %s has pairs: write --encoder %s or --decoder %s, "
                         "or both",
                         scheme, c->name, scheme, scheme);
    if (options_rank(o, "context") != OPTION_DEFAULT &&
        options_choice(o, "context") != CONTEXT_SENTENCE)
        return error_set(ERR_INPUT,
                         "--context stream: corpus %s has pairs, which are pairs of sentences: "
                         "write --context sentence, or nothing",
                         c->name);
    if (options_text(o, "source")) corpus_leave_out(c, T);
    if (c->text[SPLIT_TRAIN].lines == 0)
        return error_set(ERR_INPUT,
                         "--sequence %zu: every training pair of corpus %s is longer on a side", T,
                         c->name);
    for (int s = 0; s < SPLITS && T <= rows; s++) /* longer ones the model refuses, with words */
        if (c->text[s].tokens)
            TRY(batches_check(&c->text[s], &c->source[s], &c->vocab, NULL, CONTEXT_SENTENCE, rows,
                              T));
    return 0;
}

/* The schemes of the corpus' kind: of a text --scheme, of pairs --encoder and --decoder. */
static int choose_stacks(Run *r, Options *o)
{
    r->stacks = (Stacks){r->scheme, NULL};
    snprintf(r->name, sizeof r->name, "%s", r->scheme->name);
    if (r->corpus.source[SPLIT_TRAIN].tokens == 0) return check_text(r, o);
    TRY(check_pairs(r, o));
    for (int i = 0; i < 2; i++) {
        const char *name = options_text(o, pair_options[i]);
        TRY(select_one(&r->schemes, name ? name : USUAL, "euler", i, &r->pair[i]));
    }
    TRY(network_reads_source("--decoder", r->pair[1]));
    r->stacks = (Stacks){r->pair[1], r->pair[0]};
    snprintf(r->name, sizeof r->name, "%s + %s", r->pair[0]->name, r->pair[1]->name);
    return options_set(o, OPTION_ARGUMENT, "", "context", "sentence"); /* a line is a sentence */
}

static int build(Run *r, Options *o)
{
    const Backend *b = r->backend;
    int ranks = r->ranks ? r->ranks->size : 1;
    TRY(network_corpus(o, options_flag(o, "untested"), &r->corpus));
    TRY(choose_stacks(r, o));
    if (!r->stacks.encoder) TRY(network_adaptive(o, &r->corpus));
    if (judge_wanted(o) && r->ranks)
        return error_set(ERR_INPUT, "--best bleu: of one process alone");
    /* Before the forecast, which counts what is held already. */
    if (judge_wanted(o)) TRY(judge_new(o, r->stacks, &r->corpus, b, &r->judge));
    TRY(memory_forecast(o, r->stacks, &r->corpus, b, ranks, &r->need));
    TRY(memory_forecast_check(o, b, r->need));
    TRY(network_trained(o, r->stacks, r->corpus.vocab.size, b, ranks, NULL, NULL, &r->model));
    return network_metadata(o, r->stacks, &r->corpus, r->model, &r->meta);
}

static int train(Run *r)
{
    TrainConfig t = network_training(r->options);
    t.out = r->dir;
    t.meta = r->meta.item;
    t.meta_count = r->meta.count;
    t.resume = r->goes_on;
    t.log_seconds = isatty(STDERR_FILENO) ? 0.25 : 5;
    if (is_first(r)) t.begin = tell_begin;
    if (is_first(r)) t.report = on_report;
    t.arg = r;
    t.stop = &command_stop;
    t.ranks = r->ranks;
    t.ask = network_asking(r->options, r->ask);
    if (r->judge) t.judge = on_epoch;
    int code = train_run(r->model, &r->corpus, &t, &r->result);
    if (is_first(r)) copy_log(r);
    return code;
}

/* Options from a file, of rank below the command line's. */
static int read_files(Options *o)
{
    const char *config = options_text(o, "config");
    int resume = options_flag(o, "resume");
    if (config && resume)
        return error_set(ERR_INPUT, "--config and --resume: a resumed run has its own config.ini");
    if (config) return options_read(o, config);
    return resume ? rerun_resume(o, groups, options_text(o, "out")) : 0;
}

/* Whatever is given, read and checked. */
static int open_run(Run *r, Options *o)
{
    TRY(read_files(o));
    TRY(network_check(o));
    TRY(select_open(o, "euler", &r->schemes));
    if (r->schemes.count != 1)
        return error_set(ERR_INPUT,
                         "--scheme: one scheme is trained at a time; compare takes several");
    r->scheme = r->schemes.scheme[0];
    r->dir = options_text(o, "out");
    return find_backend(r);
}

static int finish(Run *r, double begun)
{
    TRY(write_result(r));
    if (r->ranks) TRY(shares_write(r->ranks, r->shares, r->dir));
    if (model_config(r->model)->span) TRY(spans_write(r->model, r->dir));
    TRY(draw(r));
    tell(r, progress_now() - begun);
    return 0;
}

/* What one rank alone could fail in is agreed upon before all go on. */
static int run_all(Run *r, Options *o)
{
    double begun = progress_now();
    TRY(ranks_agree(r->ranks, open_run(r, o)));
    TRY(ranks_join(r->ranks, r->backend));
    TRY(ranks_agree(r->ranks, build(r, o)));
    TRY(ranks_agree(r->ranks, is_first(r) ? begin_files(r) : 0));
    if (r->ranks) r->ranks->send(r->ranks, 0, &r->goes_on, sizeof r->goes_on);
    int code = train(r);
    if (code == 0 && r->ranks) code = shares_gather(r->ranks, &r->result, &r->shares);
    if (!is_first(r)) return code;
    TRY(end_files(r, code));
    return finish(r, begun);
}

static int run(Options *o)
{
    Run r = {.options = o, .claim.fd = -1, .corpus.entropy_rate = NAN};
    memory_forecast_begin();
    TRY(ranks_open(&r.ranks));
    if (r.ranks) r.ranks->tell = command_failed;
    int code = run_all(&r, o);
    if (r.log) fclose(r.log);
    lease_drop(&r.claim);
    network_metadata_free(&r.meta);
    judge_free(r.judge);
    model_free(r.model);
    corpus_free(&r.corpus);
    for (int i = 0; i < 2; i++) table_free(r.pair[i]);
    select_close(&r.schemes);
    memory_free(r.shares);
    /* mpirun ends them all when one is gone that failed: by then it is told. */
    if (code != 0 && r.ranks && is_first(&r)) command_failed(code);
    ranks_close(r.ranks);
    return code;
}

static void judge(const Csv *c, Verdict *v)
{
    RunResult r;
    if (runs_result(c, 0, &r) != 0 || isnan(r.valid_ppl)) return;
    verdict_say(v, "perplexity %.2f on validation", r.valid_ppl);
    if (!isnan(r.test_ppl)) verdict_say(v, ", %.2f on the test text", r.test_ppl);
    if (!isnan(r.valid_exact))
        verdict_say(v, ", %.1f %% of the validation pairs exact", 100 * r.valid_exact);
    verdict_say(v, " (%.80s)", csv_named(c, 0, "scheme"));
}

static const Kind kinds[] = {
    {.command = "train",
     .title = "Training",
     .about = "A language model each of whose layers is one step of a scheme. Perplexity is exp of "
              "the mean cross-entropy in nats over all tokens, end of line included.",
     .judge = judge,
     .table = {{"result", run_columns, "The trained model.", KIND_ALL},
               {"log", log_columns, "Progress", 0},
               {"spans", span_columns,
                "Attention spans that heads learnt, in tokens; behind a span attention fades out "
                "over the ramp.",
                KIND_MANY},
               {"ranks", share_columns, "Processes that trained it together.", KIND_SOME}},
     .plot = {{"loss", "Loss against steps."}, {"perplexity", "Validation perplexity by epoch."}}},
    {0}};

const Command command_train = {
    .name = "train",
    .purpose = "train a language model whose layers are steps of a scheme",
    .about =
        "Trains on the corpus' training text, keeps the weights of the epoch with the best "
        "validation\n"
        "perplexity, or with --average the mean of the last epochs' ends, and reads the test text "
        "once, with\n"
        "those. A splitting without suffix has Euler sub-flows. Ctrl-C saves and ends with status "
        "130; --resume then continues bit for bit. Started by mpirun, the processes train one "
        "model together,\n"
        "each on its rows of every batch: the same loss curve to rounding; with --device cuda each "
        "on a GPU of its own.\n"
        "\n"
        "A corpus of pairs (source and target lines) trains an encoder and a decoder: --encoder and "
        "--decoder\n"
        "choose their schemes apart. The papers: the ODE Transformer has its blocks in the encoder "
        "alone\n"
        "(--encoder rk4-layer --decoder transformer), Macaron in both (--encoder macaron --decoder "
        "macaron),\n"
        "Sandwich in one of them (--encoder sandwich:6-1, or --decoder sandwich:6-1, with one layer of "
        "each, and\n"
        "word:sfsfsfsfsfsf for the other). Beside perplexity it tells the share of exact pairs: every "
        "token of\n"
        "the target is the most probable one behind those before it. 'trotter train --corpus "
        "reverse:26\n"
        "--epochs 8' learns to reverse 12 symbols in half a minute on two cores.\n"
        "\n"
        "--objective masked trains an encoder alone (BERT; the Macaron papers' second result), whose "
        "attention sees\n"
        "all words of a sequence. A sequence is <cls> and up to T - 1 words. In training each word "
        "but <eos> is\n"
        "asked with probability 0.15; there stands <mask> 8 times in 10, any word of the vocabulary "
        "once, the word\n"
        "itself once, drawn anew each epoch. Validation has one set of masks for all models, all of "
        "them <mask>:\n"
        "its pseudo-perplexity has no place beside perplexities of next words ('trotter eval --help' "
        "has more).\n"
        "With --next-sentence a sequence is two runs of whole lines, of (T - 1) / 2 words at most; "
        "the second\n"
        "follows the first, or with probability 1/2 it is another sequence's, and the first row "
        "tells which.\n"
        "That loss is added to the one of words; train_loss and perplexities are of words alone.\n",
    .groups = groups,
    .saves = 1,
    .ranks = 1,
    .kinds = kinds,
    .run = run,
};
