/* command_train.c: trains one model; its directory holds all that later commands need. */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/clock.h"
#include "kernels/base/file.h"
#include "kernels/threads.h"
#include "studies/base/plot/plot.h"
#include "studies/model/train/rerun.h"
#include "studies/model/train/result.h"
#include "studies/base/process/worker.h"
#include "studies/base/command.h"
#include "studies/model/train/training.h"

#define USUAL "transformer"

const OptionGroup *const train_groups[] = {
    OPTION_GROUP(
        "Scheme", 1,
        {"scheme", OPTION_TEXT, USUAL, "NAME", "scheme of which each layer is a step",
         .flags = OPTION_MAY_DIFFER /* scheme.txt is compared */},
        {"encoder", OPTION_TEXT, NULL, "NAME",
         "for a corpus of pairs, instead of --scheme: scheme of the encoder (default: " USUAL ")",
         .flags = OPTION_MAY_DIFFER},
        {"decoder", OPTION_TEXT, NULL, "NAME",
         "for a corpus of pairs: scheme of the decoder; a scheme of F and G becomes NAME-decoder, with "
         "cross-attention after each attention (default: " USUAL ")",
         .flags = OPTION_MAY_DIFFER},
        SELECT_FILE,
        {"from", OPTION_TEXT, NULL, "MODEL",
         "begin with the weights of a trained model, a run's DIR, a .safetensors file or a directory of Hugging Face: "
         "tensors by name, rows of words by word; scheme, depth, text and recipe may be others. A tokenizer, and the "
         "shape of a model of Hugging Face, are as there unless options say otherwise"},
        {"untested", OPTION_FLAG, NULL, NULL, "do not read the test text; test_ppl stays empty",
         .flags = OPTION_MAY_DIFFER}),
    &network_text_group,
    &network_depth_group,
    &network_model_group,
    &network_training_group,
    &network_seed_group,
    &network_foreign_group,
    &network_machine_group,
    OPTION_GROUP(
        "Output", 0,
        {"out", OPTION_TEXT, "out/train", "DIR",
         "directory of the run: config.ini, log.csv (also log.jsonl, TensorBoard's events), result.csv, model.safetensors, vocab.txt, plots"},
        PLOT_FIGURE,
        {"plan", OPTION_FLAG, NULL, NULL,
         "print the network's instructions and what it costs, and train nothing",
         .flags = OPTION_MAY_DIFFER},
        {"csv", OPTION_FLAG, NULL, NULL, "print the rows of DIR/log.csv as they come"},
        {"brief", OPTION_FLAG, NULL, NULL,
         "keep no state.safetensors of a run that is done, which then goes on to no later end, and no other forms of log.csv, and "
         "draw no loss; runs of a study are trained so"},
        {"config", OPTION_TEXT, NULL, "FILE",
         "read options from a file, such as DIR/config.ini of another run; the command line overrides them"},
        {"resume", OPTION_FLAG, NULL, NULL,
         "continue the run in DIR as if it had not stopped, with the options of its config.ini; begin it if "
         "DIR is new or it saved nothing yet"}),
    NULL};

/* 1: this process writes files and prints. */
static int is_first(const Training *r)
{
    return !r->ranks || r->ranks->rank == 0;
}

static int on_epoch(void *arg, Model *m, double *score)
{
    return judge_score(((Training *)arg)->judge, m, score);
}

/* ---- files --------------------------------------------------------------------------------------- */

static int write_config(const Training *r)
{
    char path[OUTPUT_PATH];
    SCOPED(memory_drop) char *text = NULL;
    TRY(output_path(path, r->dir, "config.ini"));
    TRY(network_config_text(r->options, &text));
    return file_replace(path, text, strlen(text));
}

/* Writes DIR/scheme.txt, which keeps the meaning of `scheme` even if a scheme file changes. A run continues only with
 * the scheme it began with. */
static int write_scheme(const Training *r, int resume)
{
    char path[OUTPUT_PATH];
    SCOPED(memory_drop) char *text = NULL, *before = NULL;
    size_t bytes;
    TRY(output_path(path, r->dir, "scheme.txt"));
    TRY(network_scheme_text(r->stacks, &text));
    if (!resume || !output_exists(path)) return file_replace(path, text, strlen(text));
    TRY(output_read(path, &before, &bytes));
    if (network_scheme_same(text, before)) return 0;
    return error_set(ERR_INPUT, "--%s %s: %s/scheme.txt has another, %.*s",
                     r->stacks.encoder ? "encoder, --decoder" : "scheme", r->name, r->dir,
                     (int)strcspn(before, "\n"), before);
}

/* ---- the run ------------------------------------------------------------------------------------- */

static int drop_result(const Training *r)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, r->dir, "result.csv"));
    unlink(path); /* it is written again when the run is done */
    return 0;
}

/* Lets one process at a time write there. A training that is killed while it starts a program such as gnuplot leaves
 * its claim to that program for a moment, so this tries for a second. */
static int claim_directory(Training *r)
{
    enum { LOOKS = 20 };
    const struct timespec pause = {.tv_nsec = 50000000};
    char path[OUTPUT_PATH];
    int mine = 0;
    TRY(output_path(path, r->dir, "train.claim"));
    for (int i = 0; i < LOOKS && !mine; i++) {
        if (i) nanosleep(&pause, NULL);
        TRY(lease_take(path, worker_find().name, &r->claim, &mine));
    }
    if (mine) return 0;
    SCOPED(memory_drop) char *who = NULL;
    size_t bytes;
    if (output_read(path, &who, &bytes) == 0) who[strcspn(who, "\n")] = '\0';
    return error_set(ERR_INPUT, "%s: another training is at work there (%s)", r->dir,
                     who ? who : "unknown");
}

/* Returns 1 where the folder has the result of this same run. */
static int is_there(const Training *r)
{
    return output_there(r->dir, "result.csv") &&
           rerun_is(r->options, train_groups, r->stacks, r->dir) == RERUN_SAME &&
           rerun_same_corpus(r->dir, corpus_checksum(&r->corpus));
}

/* Prepares the files. A run that continues keeps its files until it is known to be the same. */
static int begin_files(Training *r)
{
    int resume = options_flag(r->options, "resume");
    TRY(output_directory(r->dir));
    TRY(claim_directory(r));
    r->there = !resume && is_there(r);
    if (r->there) return 0;
    r->goes_on = resume && rerun_has_state(r->dir);
    if (!resume)
        TRY(rerun_refuse(r->options, train_groups, r->stacks, corpus_checksum(&r->corpus), r->dir,
                         1));
    file_sweep(r->dir);
    TRY(write_scheme(r, resume));
    if (r->goes_on) return 0;
    if (resume)
        progress_note("%s: no run there has saved anything yet, so this one begins", r->dir);
    TRY(write_config(r));
    return drop_result(r);
}

static int end_files(Training *r, int code)
{
    if (code != 0 && code != ERR_INTERRUPTED) return code;
    char words[900];
    snprintf(words, sizeof words, "%s", error_text());
    if (r->goes_on) TRY(write_config(r));
    if (code == 0) return 0;
    TRY(drop_result(r));
    if (r->validated) tell_plots(r);
    return error_set(code, "%s", words);
}

/* Finds the backend. Each rank takes the device of its local number on this machine. */
static int find_backend(Training *r)
{
    const Options *o = r->options;
    if (r->ranks) backend_device(r->ranks->local);
    TRY(network_backend(o, &r->backend));
    if (r->ranks && options_size(o, "threads") == 0 && !getenv("OMP_NUM_THREADS"))
        backend_threads(r->ranks->threads);
    return 0;
}

static const char *const pair_options[] = {"encoder", "decoder", "encoder-layers"};

/* Refuses options of pairs for a text, which has neither source nor encoder. */
static int check_text(const Training *r, const Options *o)
{
    for (size_t i = 0; i < sizeof pair_options / sizeof *pair_options; i++)
        if (options_text(o, pair_options[i]))
            return error_set(ERR_INPUT,
                             "--%s: corpus %s is a text, which has no source to encode; a corpus "
                             "of pairs, as reverse:26, has",
                             pair_options[i], r->corpus.name);
    return 0;
}

/* Refuses options that are for a text, and checks that every pair has room. --scheme may have its default, which
 * config.ini has for every run. */
static int check_pairs(Training *r, const Options *o)
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
    for (int s = 0; s < SPLITS && T <= rows; s++) /* the model refuses longer ones, with words */
        if (c->text[s].tokens)
            TRY(batches_check(&c->text[s], &c->source[s], &c->vocab, NULL, CONTEXT_SENTENCE, rows,
                              T));
    return 0;
}

/* Chooses the schemes for the corpus: --scheme for a text, --encoder and --decoder for pairs. */
static int choose_stacks(Training *r, Options *o)
{
    r->stacks = (Stacks){r->scheme, NULL};
    snprintf(r->name, sizeof r->name, "%s", r->scheme->name);
    if (r->corpus.source[SPLIT_TRAIN].tokens == 0) return check_text(r, o);
    TRY(check_pairs(r, o));
    for (int i = 0; i < 2 && !r->pair[1]; i++) {
        const char *name = options_text(o, pair_options[i]);
        TRY(select_one(&r->schemes, name ? name : USUAL, "euler", i, &r->pair[i]));
    }
    if (!r->pair[0]) return error_set(ERR_INPUT, "scheme.txt: it has no encoder's scheme");
    TRY(network_reads_source("--decoder", r->pair[1]));
    r->stacks = (Stacks){r->pair[1], r->pair[0]};
    snprintf(r->name, sizeof r->name, "%s + %s", r->pair[0]->name, r->pair[1]->name);
    return options_set(o, OPTION_ARGUMENT, "", "context", "sentence"); /* a line is a sentence */
}

static int build(Training *r, Options *o)
{
    const Backend *b = r->backend;
    int ranks = r->ranks ? r->ranks->size : 1;
    SCOPED(model_drop) Model *counted = NULL;
    TRY(network_corpus(o, options_flag(o, "untested"), &r->corpus));
    TRY(choose_stacks(r, o));
    if (!r->stacks.encoder) TRY(network_adaptive(o, &r->corpus));
    int bleu = options_choice(o, "best") == BEST_BLEU;
    if (bleu && r->ranks) return error_set(ERR_INPUT, "--best bleu: of one process alone");
    if (bleu) TRY(judge_new(o, r->stacks, &r->corpus, b, &r->judge));
    TRY(network_trained(o, r->stacks, &r->corpus.vocab, b, ranks, 1, &counted));
    if (options_flag(o, "plan")) {
        if (is_first(r)) tell_plan(counted);
        return 0;
    }
    if (!b->device) TRY(threads_room(backend_threads(0), model_bytes(counted)));
    TRY(network_trained(o, r->stacks, &r->corpus.vocab, b, ranks, 0, &r->model));
    TRY(network_warmup(o, &r->corpus));
    int begins = options_flag(o, "resume") ? !rerun_has_state(r->dir) : !is_there(r);
    if (begins && options_text(o, "from")) TRY(train_begin(o, &r->corpus.vocab, r->model));
    return network_metadata(o, r->stacks, &r->corpus, r->model, &r->meta);
}

static int train(Training *r)
{
    SCOPED(memory_drop) char *deciding = NULL;
    TRY(rerun_deciding(r->options, &deciding));
    TrainConfig t = network_training(r->options);
    t.options = deciding;
    t.out = r->dir;
    t.meta = r->meta.item;
    t.meta_count = r->meta.count;
    t.resume = r->goes_on;
    t.log_seconds = isatty(STDERR_FILENO) ? 0.25 : 5;
    if (is_first(r)) t.begin = tell_begin;
    if (is_first(r)) t.report = tell_report;
    t.arg = r;
    t.stop = &command_stop;
    t.ranks = r->ranks;
    t.ask = network_asking(r->options, r->ask);
    if (r->judge) t.judge = on_epoch;
    int code = train_run(r->model, &r->corpus, &t, &r->result);
    if (is_first(r)) tell_log(r);
    return code;
}

/* Reads options from a file, or those of the model to begin with. They rank below those of the command line. A run that
 * continues has its own copy of the tokenizer. */
static int read_files(Options *o)
{
    const char *config = options_text(o, "config");
    int resume = options_flag(o, "resume");
    if (config && resume)
        return error_set(ERR_INPUT, "--config and --resume: a resumed run has its own config.ini");
    if (config) TRY(options_read(o, config));
    if (!resume || rerun_is_new(options_text(o, "out"))) return train_from(o);
    TRY(rerun_resume(o, train_groups, options_text(o, "out")));
    char own[OUTPUT_PATH];
    TRY(output_path(own, options_text(o, "out"), "tokenizer.json"));
    if (!options_text(o, "tokenizer") || !output_exists(own)) return 0;
    return options_set(o, OPTION_FILE, "", "tokenizer", own);
}

/* Finds the file scheme.txt that has a run's own schemes beside its config.ini. A run that continues takes them from
 * there. So does a run with --config where the files that config.ini names cannot be read from here. Returns 0 where
 * the schemes must be looked up. */
static int beside_config(const Options *o, char path[OUTPUT_PATH])
{
    static const char *const names[] = {"scheme", "encoder", "decoder", "scheme-file"};
    const char *config = options_text(o, "config"), *file, *slash;
    int readable = 1;
    size_t files = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (options_rank(o, names[i]) == OPTION_ARGUMENT) return 0;
    for (; (file = options_item(o, "scheme-file", files)); files++)
        readable &= access(file, R_OK) == 0;
    if (files == 0 || !(options_flag(o, "resume") || (config && !readable))) return 0;
    if (options_flag(o, "resume"))
        return output_path(path, options_text(o, "out"), "scheme.txt") == 0 && output_exists(path);
    slash = strrchr(config, '/');
    snprintf(path, OUTPUT_PATH, "%.*sscheme.txt", slash ? (int)(slash + 1 - config) : 0, config);
    return output_exists(path);
}

/* Renames a table that was read from a text. The text has a name with '-' in place of characters that cannot be read
 * again. The table gets the name that it was asked for by, or that with its solver, where they match. */
static void take_name(const char *asked, Table *t)
{
    char name[2][TABLE_NAME];
    if (!asked || zoo_name(asked, name[0]) != 0) return;
    snprintf(name[1], TABLE_NAME, "%.*s:euler", TABLE_NAME - 8, name[0]);
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(name[i]), same = 0;
        while (same < n && (t->name[same] == name[i][same] || t->name[same] == '-')) same++;
        if (same == n && !t->name[n]) {
            table_rename(t, name[i]);
            return;
        }
    }
}

/* Reads one scheme, or a decoder's and an encoder's, as network_scheme_text writes them. */
static int read_schemes(Training *r, const Options *o, const char *path)
{
    SCOPED(memory_drop) char *text = NULL;
    size_t bytes;
    Table *read[2] = {NULL, NULL};
    TRY(output_read(path, &text, &bytes));
    TRY(network_schemes(path, text, bytes, read));
    take_name(options_text(o, read[1] ? "decoder" : "scheme"), read[0]);
    if (read[1]) take_name(options_text(o, "encoder"), read[1]);
    r->scheme = r->pair[1] = read[0];
    r->pair[0] = read[1];
    return 0;
}

static int find_scheme(Training *r, Options *o)
{
    char path[OUTPUT_PATH], names[512];
    if (beside_config(o, path)) return read_schemes(r, o, path);
    TRY(select_open(o, "euler", &r->schemes));
    select_names(&r->schemes, names, sizeof names);
    if (r->schemes.count != 1 && r->schemes.from_files)
        return error_set(
            ERR_INPUT,
            "--scheme is needed: one scheme is trained at a time, and --scheme-file has "
            "%s",
            names);
    if (r->schemes.count != 1)
        return error_set(ERR_INPUT,
                         "--scheme: one scheme is trained at a time; compare takes several");
    r->scheme = r->schemes.scheme[0];
    return select_record(&r->schemes, o);
}

/* Reads and checks all input. */
static int open_run(Training *r, Options *o)
{
    TRY(read_files(o));
    TRY(network_check(o));
    TRY(find_scheme(r, o));
    r->dir = options_text(o, "out");
    return find_backend(r);
}

/* Removes what a run that is done needs for a later end alone, two thirds of its bytes, what says the same as log.csv, and
 * drawings of an earlier end. */
static int drop_extras(const Training *r)
{
    static const char *const extras[] = {"state.safetensors", "log.jsonl", "events.out.tfevents",
                                         "loss.gp",           "loss.svg",  "loss.png",
                                         "loss.pdf"};
    char path[OUTPUT_PATH];
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        TRY(output_path(path, r->dir, "%s", extras[i]));
        unlink(path);
    }
    return 0;
}

static int finish(Training *r, double begun)
{
    TRY(tell_result(r));
    if (options_flag(r->options, "brief")) TRY(drop_extras(r));
    if (r->ranks) TRY(shares_write(r->ranks, r->shares, r->dir));
    TRY(tell_plots(r));
    tell_end(r, clock_now() - begun);
    return tell_use(r);
}

/* Runs all steps. The ranks agree on each step that could fail on one of them alone, before all go on. */
static int run_all(Training *r, Options *o)
{
    double begun = clock_now();
    TRY(ranks_agree(r->ranks, open_run(r, o)));
    TRY(ranks_join(r->ranks, r->backend));
    TRY(ranks_agree(r->ranks, build(r, o)));
    if (options_flag(o, "plan")) return 0;
    TRY(ranks_agree(r->ranks, is_first(r) ? begin_files(r) : 0));
    if (r->ranks) r->ranks->send(r->ranks, 0, &r->goes_on, sizeof r->goes_on);
    if (r->ranks) r->ranks->send(r->ranks, 0, &r->there, sizeof r->there);
    if (r->there) return is_first(r) ? tell_there(r) : 0;
    int code = train(r);
    if (code == 0 && r->ranks) code = shares_gather(r->ranks, &r->result, &r->shares);
    if (!is_first(r)) return code;
    TRY(end_files(r, code));
    return finish(r, begun);
}

/* Makes the heap keep what the products' buffers have taken, and serve every buffer below 32 MB itself. glibc's own rule
 * depends on which buffer was freed first, so the peak varied by 20 MB. */
static void keep_heap(void)
{
    enum { HEAP = 32 << 20 };
    mallopt(M_MMAP_THRESHOLD, HEAP);
    mallopt(M_TRIM_THRESHOLD, 8 * HEAP);
}

static int run(Options *o)
{
    Training r = {.options = o, .claim.fd = -1, .corpus.entropy_rate = NAN};
    keep_heap();
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
    /* mpirun ends all processes when a failed one is gone, so the error is printed before that. */
    if (code != 0 && r.ranks && is_first(&r)) command_failed(code);
    ranks_close(r.ranks);
    return code;
}

static void judge(const Frame *c, Verdict *v)
{
    double valid = c->rows ? frame_real(c, 0, "valid_ppl") : (double)NAN;
    if (isnan(valid)) return;
    double test = frame_real(c, 0, "test_ppl"), exact = frame_real(c, 0, "valid_exact");
    int masked = strcmp(frame_text(c, 0, "objective"), "masked") == 0;
    verdict_say(v, "%sperplexity %.2f on validation", masked ? "pseudo-" : "", valid);
    if (!isnan(test)) verdict_say(v, ", %.2f on the test text", test);
    if (!isnan(exact)) verdict_say(v, ", %.1f %% of the validation pairs exact", 100 * exact);
    verdict_say(v, " (%.80s)", frame_text(c, 0, "scheme"));
}

const Command command_train = {
    .name = "train",
    .purpose = "train a language model whose layers are steps of a scheme",
    .about =
        "Trains on the training text of the corpus and keeps the weights of the best validation, by perplexity unless\n"
        "--best says otherwise, or with --average the mean of the last epochs' ends. It reads the test text once,\n"
        "with those weights. A splitting without suffix has Euler sub-flows. Ctrl-C saves the run and ends with\n"
        "status 130; --resume continues it bit for bit. Under mpirun all processes train one model together, each on\n"
        "its rows of every batch, with --device cuda each on its own GPU; the loss curve is the same up to rounding.\n"
        "\n"
        "A corpus of pairs (source and target lines) trains an encoder and a decoder. The ODE Transformer has its\n"
        "blocks in the encoder alone (--encoder rk4-layer --decoder transformer), Macaron in both, Sandwich in one of\n"
        "them (--encoder sandwich:6-1, one layer of each, and word:sfsfsfsfsfsf for the other). The log has the share\n"
        "of exact pairs too: every token of the target is the most probable one after the right tokens before it.\n"
        "\n"
        "--objective masked trains an encoder alone (BERT; the second result of the Macaron papers), which sees all\n"
        "words of a sequence: <cls> and up to T - 1 words. It predicts each word but <eos> with probability 0.15. In\n"
        "its place stands <mask> 8 times in 10, any word of the vocabulary once, and the word itself once; each epoch\n"
        "draws anew. Validation masks the same words for all models, always with <mask> ('trotter eval --help all'\n"
        "says more).\n",
    .often =
        "corpus vocabulary scheme layers width inner heads sequence epochs max-steps batch-tokens rate "
        "dropout seed threads device out resume",
    .example = "--corpus kjv --scheme macaron --epochs 1 --out out/macaron",
    .faster = "lower --epochs, --max-steps, --width",
    .groups = train_groups,
    .saves = 1,
    .ranks = 1,
    .kinds = KINDS(
        {.command = "train",
         .title = "Training",
         .about =
             "A language model each of whose layers is one step of a scheme. Perplexity is exp of "
             "the mean cross-entropy in nats over all tokens, end of line included. Of an encoder "
             "trained on masked words (objective: masked) it is a pseudo-perplexity, over the masked "
             "words alone, which see what stands behind them too.",
         .judge = judge,
         .table = {{"result", run_columns, "The trained model.", KIND_ALL},
                   {"log", log_columns, "Progress", 0},
                   {"ranks", share_columns, "Processes that trained it together.", KIND_SOME}},
         .plot = {{"loss", "Loss against steps; perplexity is its exp."}}}),
    .run = run,
};
