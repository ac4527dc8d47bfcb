/* command_finetune.c: trains an encoder that was pre-trained on masked words to label sentences. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernels/file.h"
#include "nn/text/hash.h"
#include "nn/text/masking.h"
#include "nn/model/store.h"
#include "studies/finetune/finetune.h"
#include "studies/runs/lease.h"
#include "studies/runs/worker.h"
#include "studies/model/texts.h"
#include "studies/tools/command.h"
#include "studies/tools/progress.h"

/* Paths. config.ini has checksums of their contents. */
static const Option file_options[] = {
    {"model", OPTION_TEXT, NULL, "DIR",
     "directory of an encoder that 'trotter train --objective masked' trained", 0, 0},
    {"data", OPTION_TEXT, "glue", "DIR", "GLUE's folder, which holds CoLA, SST-2 ...", 0, 0},
    {"dev", OPTION_TEXT, NULL, "FILE.tsv",
     "the dev text for --task FILE.tsv (default: a tenth of FILE.tsv, which is not trained on)", 0,
     0},
    {0},
};

static const Option task_options[] = {
    {"task", OPTION_TEXT, NULL, "NAME",
     "a task of GLUE that --tasks lists, or FILE.tsv, with tabs between columns: the first line names them "
     "(sentence, label, and sentence2 for pairs), each further line is an example",
     0, 0},
    {"values", OPTION_FLAG, NULL, NULL, "labels of FILE.tsv are numbers, not classes", 0, 0},
    {"lowercase", OPTION_FLAG, NULL, NULL, "lower-case the sentences", 0, 0},
    {"tokenize", OPTION_CHOICE, "none", "none|13a",
     "13a: cut the sentences into words and punctuation, for a model whose text is cut so (SST-2 is already)",
     0, 0},
    {0},
};

static const Option training_options[] = {
    {"rates", OPTION_REALS, "1e-4,3e-4,1e-3", "X,...", "peak learning rates of the grid", 1e-12,
     100},
    {"seeds", OPTION_SIZE, "2", "N", "number of trainings with each rate", 1, 1000},
    {"seed", OPTION_SIZE, NULL, "N",
     "seed of a rate's first training; the next ones count up from it (default: 1 + --seeds * (seed of the "
     "pre-training - 1), so that encoders of other seeds have others)",
     1, 1e9},
    {"epochs", OPTION_SIZE, "4", "N", "largest number of passes over the training text", 1, 10000},
    {"patience", OPTION_SIZE, "2", "N", "stop after N epochs without a better score; 0: never", 0,
     10000},
    {"part", OPTION_REAL, "0.1", "P",
     "share of the training text that is not trained on, but chooses rate, seed and epoch", 0.0001,
     0.9999},
    {"batch-tokens", OPTION_SIZE, "1024", "N", "largest number of tokens in a step", 3, 1048576},
    {"sequence", OPTION_SIZE, NULL, "T",
     "longest sequence in tokens; longer ones lose their ends (default: as trained)", 3, 65536},
    {"dropout", OPTION_REAL, NULL, "P",
     "rate of dropout; rates that the pre-training set by --attention-dropout or --activation-dropout stay "
     "(default: as trained)",
     0, 0.99},
    {"weight-decay", OPTION_REAL, "0", "X",
     "decoupled weight decay (AdamW) of matrices and embeddings", 0, 100},
    {"clip", OPTION_REAL, "1", "X", "largest global norm of the gradient; 0: no limit", 0, 1e12},
    {0},
};

static const Option start_options[] = {
    {"pretrained-only", OPTION_FLAG, NULL, NULL,
     "leave out the encoder without pre-training, which takes as long", 0, 0},
    {0},
};

static const Option output_options[] = {
    {"out", OPTION_TEXT, "out/finetune", "DIR",
     "write finetune.csv, .md, .tex, differences.csv, .tex, result.csv, predictions.csv, grid.csv and the fine-tuned encoder",
     0, 0},
    {"together", OPTION_TEXT, NULL, "DIR,DIR,...",
     "train nothing: put into one table the fine-tunings of one task in these directories", 0, 0},
    {"csv", OPTION_FLAG, NULL, NULL, "print finetune.csv instead of the table", 0, 0},
    {"tasks", OPTION_FLAG, NULL, NULL, "list the tasks and their metrics; train nothing", 0, 0},
    {0},
};

static const OptionGroup file_group = {"Task", 0, file_options};
static const OptionGroup task_group = {NULL, 1, task_options};
static const OptionGroup training_group = {"Training", 1, training_options};
static const OptionGroup start_group = {NULL, 0, start_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&file_group,     &task_group,  &texts_group,
                                            &training_group, &start_group, &network_machine_group,
                                            &output_group,   NULL};

/* ---- text ---------------------------------------------------------------------------------------- */

enum { PART_SEED = 1, DEV_SEED = 2 };
static const double dev_part = 0.1;

/* Does labelled_split, and names the file in its errors. */
static int split(const char *file, const Labelled *all, double part, uint64_t seed, Labelled *rest,
                 Labelled *chosen)
{
    char words[256];
    int code = labelled_split(all, part, seed, rest, chosen);
    if (code != ERR_INPUT) return code;
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "%s: %s", file, words);
}

/* Tells what was left out of a text. */
static void tell_left(const Labelled *l, const char *file)
{
    if (l->left_out)
        notice_warn("%zu line%s of %s left out (first: %s)", l->left_out,
                    l->left_out > 1 ? "s" : "", file, l->first_left);
}

/* Reads FILE.tsv and its dev text. Where both come from one file, they are parts of `whole`. */
static int read_own(Finetune *u, int change, Labelled *whole)
{
    const char *file = options_text(u->options, "task"), *dev = options_text(u->options, "dev");
    const char *slash = strrchr(file, '/');
    snprintf(u->name, sizeof u->name, "%s", slash ? slash + 1 : file);
    u->task = options_flag(u->options, "values") ? &labelled_values : &labelled_classes;
    if (!dev) {
        TRY(labelled_read(u->task, file, change, NULL, whole));
        return split(file, whole, dev_part, DEV_SEED, &u->train, &u->dev);
    }
    TRY(labelled_read(u->task, file, change, NULL, &u->train));
    return labelled_read(u->task, dev, change, &u->train, &u->dev);
}

static int is_file(const char *task)
{
    return strchr(task, '.') || strchr(task, '/');
}

static int read_task(Finetune *u, Labelled *whole)
{
    const Options *o = u->options;
    const char *task = options_text(o, "task"), *const own[] = {"dev", "values"};
    int change = (options_choice(o, "tokenize") ? LABELLED_CUT : 0) |
                 (options_flag(o, "lowercase") ? LABELLED_LOWER : 0);
    u->task = labelled_task(task);
    if (!u->task && !is_file(task))
        return error_set(ERR_INPUT,
                         "--task %s: expected a task of GLUE ('trotter finetune --tasks' lists "
                         "them) or a file, as mine.tsv",
                         task);
    if (!u->task) {
        TRY(read_own(u, change, whole));
    } else {
        snprintf(u->name, sizeof u->name, "%s", u->task->name);
        TRY(options_set(u->options, OPTION_ARGUMENT, "", "task", u->task->name));
        task = u->name;
        for (int i = 0; i < 2; i++)
            if (options_rank(o, own[i]) == OPTION_ARGUMENT)
                return error_set(ERR_INPUT, "--%s has no meaning for --task %s, only for a file",
                                 own[i], task);
        TRY(labelled_open(u->task, options_text(o, "data"), change, &u->train, &u->dev));
        tell_left(&u->train, u->task->train);
        tell_left(&u->dev, u->task->dev);
    }
    u->metric = u->task->metric[0];
    u->scale = examples_scale(&u->train);
    if (!isfinite(u->scale.sd))
        return error_set(ERR_INPUT, "%s: labels so far apart have no standard deviation", task);
    return split(task, &u->train, options_real(o, "part"), PART_SEED, &u->rest, &u->chosen);
}

/* ---- the encoder --------------------------------------------------------------------------------- */

static int set(Options *o, const char *name, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return options_set(o, OPTION_ARGUMENT, "", name, text);
}

/* Sets the options of the model: those of its training, except for the machine and for options
 * that a fine-tuning changes. */
static int describe(Finetune *u)
{
    static const OptionGroup *const given[] = {&network_machine_group, &texts_group, NULL};
    Options *machine;
    TRY(options_new(given, &machine));
    int code = options_given(machine, u->options);
    if (code == 0) code = network_describe(u->model, machine, &u->net, u->weights);
    options_free(machine);
    TRY(code);
    Options *o = u->net.options;
    const char *dropout = options_text(u->options, "dropout");
    if (u->net.encoder || !network_bridge(o).bidirectional)
        return error_set(ERR_INPUT,
                         "%s is no encoder alone: 'trotter train --objective masked' trains one",
                         u->model);
    TRY(masking_check(&u->net.vocab, u->model));
    u->sequence = options_size(u->options, "sequence");
    if (u->sequence == 0) u->sequence = options_size(o, "sequence");
    u->batch_tokens = options_size(u->options, "batch-tokens");
    size_t segments = network_config(o).model.segments;
    TRY(set(o, "classes", u->train.classes ? u->train.classes : 1));
    TRY(set(o, "segments", u->train.second ? 2 : segments));
    TRY(set(o, "sequence", u->sequence));
    TRY(set(o, "batch-tokens", u->batch_tokens));
    if (dropout) TRY(options_set(o, OPTION_ARGUMENT, "", "dropout", dropout));
    return 0;
}

static int encode(Finetune *u)
{
    const char *task = options_text(u->options, "task"), *dev = options_text(u->options, "dev");
    TRY(examples_new(&u->net, task, &u->rest, u->scale, &u->on_rest));
    TRY(examples_new(&u->net, task, &u->chosen, u->scale, &u->on_chosen));
    TRY(examples_new(&u->net, dev ? dev : task, &u->dev, u->scale, &u->on_dev));
    u->corpus = (Corpus){.name = u->name,
                         .vocab = u->net.vocab,
                         .bpe = u->net.bpe,
                         .text = {u->on_rest.first, u->on_chosen.first, {0}},
                         .source = {u->on_rest.second, u->on_chosen.second, {0}},
                         .entropy_rate = NAN};
    return 0;
}

static void tell_task(const Finetune *u)
{
    size_t tokens = u->on_rest.first.tokens + u->on_rest.second.tokens;
    progress_note("%s: %zu examples to train on, %zu to choose by, %zu of dev; %.1f %% of the "
                  "tokens are <unk>",
                  u->name, u->rest.count, u->chosen.count, u->dev.count,
                  100 * (double)u->on_rest.unknown / (double)tokens);
    const Examples *all[] = {&u->on_rest, &u->on_chosen, &u->on_dev};
    size_t longer = 0;
    Text counts = {.file = (char *)u->name};
    for (int i = 0; i < 3; i++) {
        longer += examples_longer(all[i], u->net.vocab.eos, u->sequence);
        texts_count(&counts, &all[i]->first);
        texts_count(&counts, &all[i]->second);
    }
    counts.unknown = 0; /* told above */
    texts_tell(&counts);
    if (longer)
        progress_note("%s: %zu of all are longer than --sequence %zu and lose their ends", u->name,
                      longer, u->sequence);
}

/* Counts the steps of a trial. The rate rises over their first tenth. */
static int count_steps(Finetune *u)
{
    Batches *b;
    TRY(batches_new(&u->on_rest.first, &u->on_rest.second, &u->net.vocab, &u->on_rest.ask,
                    CONTEXT_SENTENCE, u->batch_tokens, u->sequence, 1, &b));
    u->steps = batches_count(b) * options_size(u->options, "epochs");
    batches_free(b);
    return 0;
}

/* ---- metadata ------------------------------------------------------------------------------------ */

static int put_real(Metadata *d, const char *key, double value)
{
    char text[32];
    sheet_number(value, text);
    return network_metadata_put(d, key, text);
}

/* Adds the names of the classes, a tab between them; no name has a tab. */
static int put_labels(const Finetune *u, Metadata *d)
{
    size_t bytes = 1;
    for (size_t k = 0; k < u->train.classes; k++) bytes += strlen(u->train.name[k]) + 1;
    char *list = memory_new(bytes, 1), *p = list;
    if (!list) return ERR_MEMORY;
    for (size_t k = 0; k < u->train.classes; k++) {
        if (k) *p++ = '\t';
        p = stpcpy(p, u->train.name[k]);
    }
    int code = network_metadata_put(d, "labels", list);
    memory_free(list);
    return code;
}

/* Makes the metadata of a fine-tuned encoder: those of the encoder, and more. t NULL: for no trial in particular. */
static int make_metadata(Finetune *u, const Model *m, const Trial *t)
{
    Metadata *d = &u->meta;
    network_metadata_free(d);
    TRY(network_metadata(u->net.options, (Stacks){u->net.table, NULL}, &u->corpus, m, d));
    TRY(network_metadata_put(d, "task", u->name));
    TRY(network_metadata_put(d, "sentences", u->train.second ? "2" : "1"));
    TRY(network_metadata_put(d, "lowercase", options_flag(u->options, "lowercase") ? "yes" : "no"));
    TRY(network_metadata_put(d, "tokenize", options_text(u->options, "tokenize")));
    if (u->train.classes) TRY(put_labels(u, d));
    if (!u->train.classes) TRY(put_real(d, "label_mean", u->scale.mean));
    if (!u->train.classes) TRY(put_real(d, "label_sd", u->scale.sd));
    if (!t) return 0;
    TRY(put_real(d, "finetune_rate", t->rate));
    TRY(put_real(d, "finetune_seed", t->seed));
    return put_real(d, "finetune_epoch", t->best_epoch);
}

/* ---- the directory ------------------------------------------------------------------------------- */

static uint64_t hash_examples(uint64_t h, const Examples *e, const Labelled *l)
{
    h = hash_bytes(h, e->first.id, e->first.tokens * sizeof *e->first.id);
    h = hash_bytes(h, e->second.id, e->second.tokens * sizeof *e->second.id);
    if (l->label) h = hash_bytes(h, l->label, l->count * sizeof *l->label);
    if (l->value) h = hash_bytes(h, l->value, l->count * sizeof *l->value);
    return h;
}

/* Writes the options, except those that a run may change when it continues, such as
 * threads; commands.csv has these. */
static void write_options(const Options *o, FILE *f)
{
    const Option *p;
    const char *text;
    for (size_t i = 0; options_recorded(o, i, &p, &text); i++)
        if (!(p->flags & OPTION_MAY_DIFFER)) fprintf(f, "%s = %s\n", p->name, text);
}

/* Describes all that decides the results. Files in the directory are reused if this text is the same. */
static int describe_study(const Finetune *u, char **text)
{
    Output f;
    char *sum = NULL;
    uint64_t h = hash_examples(HASH_START, &u->on_rest, &u->rest);
    h = hash_examples(h, &u->on_chosen, &u->chosen);
    h = hash_examples(h, &u->on_dev, &u->dev);
    if (store_meta(u->weights, STORE_CHECKSUM, &sum) == ERR_MEMORY) return ERR_MEMORY;
    int code = output_open(&f);
    if (code == 0) {
        fprintf(f.f, "# trotter finetune\n# weights %s, examples %016" PRIx64 "\n",
                sum ? sum : "without a checksum", h);
        write_options(u->options, f.f);
        code = output_take(&f, code, text);
    }
    memory_free(sum);
    return code;
}

/* Sets the error for a directory of another fine-tuning; `before` is its config.ini. */
static int refuse(const Finetune *u, const char *path, const char *before, const char *text)
{
    char words[OPTION_WORDS] = "";
    Options *there;
    TRY(options_new(groups, &there));
    int code = options_read(there, path);
    if (code == 0 && !options_differ(u->options, there, OPTION_MAY_DIFFER, words)) {
        const char *a = strstr(before, "weights "), *b = strstr(text, "weights ");
        int same = a && strncmp(a, b, strcspn(b, ",")) == 0;
        snprintf(words, sizeof words, "its %s others than now",
                 same ? "examples were" : "weights were");
    }
    options_free(there);
    TRY(code);
    return error_set(ERR_INPUT,
                     "%s is of another fine-tuning (%s): give another --out, or remove it", path,
                     words);
}

static int open_directory(const Finetune *u)
{
    char path[OUTPUT_PATH], *text, *before = NULL;
    size_t bytes;
    TRY(output_path(path, u->dir, "config.ini"));
    TRY(describe_study(u, &text));
    int code = 0;
    if (output_exists(path)) {
        code = output_read(path, &before, &bytes);
        if (code == 0 && strcmp(text, before) != 0) code = refuse(u, path, before, text);
    } else {
        code = file_replace(path, text, strlen(text));
    }
    memory_free(before);
    memory_free(text);
    return code;
}

static int claim(const Finetune *u, Lease *l)
{
    char path[OUTPUT_PATH];
    int mine;
    TRY(output_directory(u->dir));
    TRY(output_path(path, u->dir, "finetune.claim"));
    TRY(lease_take(path, worker_find().name, l, &mine));
    return mine ? 0 : error_set(ERR_INPUT, "%s: another fine-tuning is at work there", u->dir);
}

/* ---- results ------------------------------------------------------------------------------------- */

static ScoreRow row_of(const Finetune *u, const char *start)
{
    ScoreRow r = {.task = u->name,
                  .metric = agreements[u->metric].name,
                  .start = start,
                  .scheme = start,
                  .layers = NAN,
                  .params = NAN,
                  .model_seed = NAN,
                  .rate = NAN,
                  .seed = NAN,
                  .best_epoch = NAN,
                  .chosen = NAN,
                  .examples = (double)u->dev.count};
    for (int m = 0; m < AGREEMENTS; m++) r.score[m] = NAN;
    return r;
}

static int add_majority(const Finetune *u, Sheet *results)
{
    ScoreRow r = row_of(u, "majority");
    r.part = "bound";
    for (int m = 0; m < AGREEMENTS; m++)
        if (agreement_fits(m, u->train.classes) == 0)
            TRY(labelled_baseline(&u->train, &u->dev, m, &r.score[m]));
    sheet_row(results, &r);
    return 0;
}

static int save_model(Finetune *u, const Trial *t, const Model *m)
{
    char path[OUTPUT_PATH];
    TRY(make_metadata(u, m, t));
    TRY(output_path(path, u->dir, "model.safetensors"));
    TRY(store_save(m, path, u->meta.item, u->meta.count));
    TRY(output_path(path, u->dir, "vocab.txt"));
    TRY(vocab_write(&u->net.vocab, path));
    if (!u->net.bpe) return 0;
    TRY(output_path(path, u->dir, "codes.bpe"));
    return bpe_write(u->net.bpe, path);
}

/* Reads the dev text with a start's best trial, the only time for this start. z (dev, C), label (dev): work. */
static int add_start(Finetune *u, int start, const Trial *t, uint64_t model_seed, double *z,
                     int32_t *label, Sheet *results, Sheet *predictions)
{
    Model *m = NULL;
    size_t n = u->dev.count, C = u->train.classes;
    Answers gold = labelled_answers(&u->dev), said = {n, label, z};
    ScoreRow r = row_of(u, finetune_start[start]);
    int code = trials_model(u, start, (uint64_t)t->seed, 0, &m);
    if (code == 0) code = trials_load(u, t, m);
    if (code == 0)
        code = examples_say(m, &u->on_dev, &u->net.vocab, u->scale, u->batch_tokens, u->sequence,
                            &command_stop, z);
    if (code == 0 && C) examples_classes(z, n, C, label);
    for (int k = 0; k < AGREEMENTS && code == 0; k++)
        if (agreement_fits(k, C) == 0) code = agreement_score(k, &said, &gold, &r.score[k]);
    if (code == 0 && start == START_PRETRAINED) code = save_model(u, t, m);
    if (code == 0) {
        r.scheme = u->net.table->name;
        r.layers = (double)options_size(u->net.options, "layers");
        r.params = (double)model_size(m);
        r.model_seed = (double)model_seed;
        r.rate = t->rate;
        r.seed = t->seed;
        r.best_epoch = t->best_epoch;
        r.chosen = t->score;
        sheet_row(results, &r);
    }
    for (size_t i = 0; i < n && code == 0; i++)
        sheet_row(predictions, &(DevAnswer){finetune_start[start], (double)(i + 1),
                                            C ? u->dev.label[i] : u->dev.value[i],
                                            C ? label[i] : z[i], (double)u->dev.line[i]});
    model_free(m);
    return code;
}

static int add_all(Finetune *u, const Trial best[STARTS], uint64_t model_seed, Sheet *results,
                   Sheet *predictions)
{
    size_t n = u->dev.count, C = u->train.classes ? u->train.classes : 1;
    double *z = memory_new(n * C, sizeof *z);
    int32_t *label = memory_new(n, sizeof *label);
    int code = z && label ? add_majority(u, results) : ERR_MEMORY;
    for (int s = 0; s < STARTS && code == 0; s++)
        if (best[s].start)
            code = add_start(u, s, &best[s], model_seed, z, label, results, predictions);
    memory_free(z);
    memory_free(label);
    return code;
}

static int record(Finetune *u, const Trial best[STARTS], uint64_t model_seed)
{
    Sheet *results, *predictions = NULL;
    TRY(sheet_new(score_results, &results));
    int code = sheet_new(score_predictions, &predictions);
    if (code == 0) code = add_all(u, best, model_seed, results, predictions);
    if (code == 0) code = output_sheet(predictions, SHEET_CSV, u->dir, "predictions.csv");
    if (code == 0) code = output_sheet(results, SHEET_CSV, u->dir, "result.csv");
    sheet_free(results);
    sheet_free(predictions);
    return code;
}

/* ---- the command --------------------------------------------------------------------------------- */

static int finetune(Finetune *u, Options *o)
{
    Trial best[STARTS];
    Model *m = NULL;
    TRY(describe(u));
    size_t model_seed = options_size(u->net.options, "seed");
    if (!options_text(o, "seed"))
        TRY(set(o, "seed", 1 + options_size(o, "seeds") * (model_seed ? model_seed - 1 : 0)));
    TRY(encode(u));
    TRY(count_steps(u));
    TRY(network_backend(u->net.options, &u->backend));
    int code = trials_model(u, START_PRETRAINED, model_seed, 0, &m);
    if (code == 0) code = make_metadata(u, m, NULL);
    model_free(m);
    TRY(code);
    TRY(open_directory(u));
    tell_task(u);
    TRY(trials_run(u, best));
    return record(u, best, model_seed);
}

static void free_all(Finetune *u, Labelled *whole)
{
    network_metadata_free(&u->meta);
    examples_free(&u->on_rest);
    examples_free(&u->on_chosen);
    examples_free(&u->on_dev);
    labelled_free(&u->rest);
    labelled_free(&u->chosen);
    labelled_free(&u->train);
    labelled_free(&u->dev);
    labelled_free(whole);
    network_free(&u->net);
}

static int train(Options *o)
{
    static const char *const needed[] = {"model", "task"};
    Finetune u = {.options = o, .dir = options_text(o, "out"), .model = options_text(o, "model")};
    Labelled whole = {0};
    Lease lease = {.fd = -1};
    for (size_t i = 0; i < 2; i++)
        if (!options_text(o, needed[i])) return error_set(ERR_INPUT, "--%s is needed", needed[i]);
    int code = read_task(&u, &whole);
    if (code == 0) code = claim(&u, &lease);
    if (code == 0) code = finetune(&u, o);
    if (code == ERR_INTERRUPTED) code = command_interrupted();
    progress_clear();
    lease_drop(&lease);
    free_all(&u, &whole);
    return code;
}

/* Puts the directories of --together into one table. */
static int together(Options *o, char *list)
{
    static const char *const alone[] = {"model", "task"};
    const char *out = options_text(o, "out"), **dir;
    size_t n = 0, most = 1;
    for (size_t i = 0; i < 2; i++) TRY(options_either(o, "together", alone[i]));
    for (const char *p = list; *p; p++) most += *p == ',';
    if (!(dir = memory_new(most, sizeof *dir))) return ERR_MEMORY;
    while (n < most) dir[n++] = strsep(&list, ",");
    int code = output_directory(out);
    if (code == 0) code = scores_tell(dir, n, out, options_flag(o, "csv"));
    memory_free(dir);
    return code;
}

static int run(Options *o)
{
    const char *dir = options_text(o, "out"), *given = options_text(o, "together");
    if (options_flag(o, "tasks")) return labelled_list(options_flag(o, "csv"));
    if (!given) {
        TRY(train(o));
        return scores_tell(&dir, 1, dir, options_flag(o, "csv"));
    }
    char *list = memory_string(given);
    int code = list ? together(o, list) : ERR_MEMORY;
    memory_free(list);
    return code;
}

static void judge(const Csv *c, Verdict *v)
{
    for (size_t i = 0; i < c->rows; i++) {
        double score;
        if (*csv_named(c, i, "start") && csv_number(c, i, csv_column(c, "score"), &score) == 0)
            verdict_say(v, "%.60s, %.20s: %.3f; ", csv_named(c, i, "scheme"),
                        csv_named(c, i, "start"), score);
    }
    verdict_end(v);
}

static const Kind kinds[] = {
    {.command = "finetune",
     .title = "Fine-tuning",
     .about = "Encoders trained on masked words, then on labels of sentences, beside the same "
              "encoders without pre-training.",
     .judge = judge,
     .table = {{"finetune", score_columns, "Scores on the dev text.", KIND_ALL},
               {"differences", runtable_differences,
                "Differences of scores, each with 95 % intervals by itself.", KIND_ALL},
               {"result", score_results, "Scores of every encoder.", KIND_MANY},
               {"grid", finetune_trials, "Trials of every rate and seed.", KIND_MANY},
               {"predictions", score_predictions, "Answers of every encoder", 0}}},
    {0}};

const Command command_finetune = {
    .name = "finetune",
    .purpose = "train an encoder on labelled sentences, as GLUE's",
    .about =
        "Trains an encoder, pre-trained on masked words, to label sentences. A dense layer, tanh and a last\n"
        "matrix read classes or one number from the first token, and all weights are trained. A grid of rates\n"
        "and seeds is trained on a part of the training text; the rate rises over the first tenth of the steps\n"
        "and then falls linearly to 0. The task's metric on the rest of that text chooses rate, seed and epoch.\n"
        "The chosen model reads the dev text, once. The same encoder without pre-training goes through the same\n"
        "grid for comparison, and the table has the score of always saying the most frequent label (of numbers:\n"
        "their mean). Ctrl-C saves; the same command goes on.\n"
        "\n"
        "A task's first metric chooses (--tasks lists them); the CSV files have all others that fit. Scores are\n"
        "of GLUE's dev texts, as its test texts have no labels. 'trotter classify --model DIR' labels sentences\n"
        "with the fine-tuned encoder.\n"
        "\n"
        "--together puts several encoders into one table. Encoders of one scheme that were pre-trained with other\n"
        "seeds are runs of it: their mean score has an interval over seeds and one over resampled examples.\n",
    .often =
        "model data task tasks dev rates seeds epochs lowercase pretrained-only device out together",
    .example = "--model out/bert --data glue --task SST-2",
    .groups = groups,
    .saves = 1,
    .kinds = kinds,
    .run = run,
};
