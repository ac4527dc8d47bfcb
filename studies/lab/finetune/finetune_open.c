/* finetune_open.c: opens a fine-tuning: the options, the task's text, the encoder, the folder. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/hash.h"
#include "nn/text/masking.h"
#include "nn/model/store.h"
#include "studies/lab/finetune/finetune.h"
#include "studies/base/command.h"

static const char *const start_names[STARTS] = {"pretrained", "fresh"};

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

/* Reads FILE.tsv and its dev text. Where both come from one file, they are parts of f->whole. */
static int read_own(Finetune *f, int change)
{
    const char *file = options_text(f->options, "task"), *dev = options_text(f->options, "dev");
    const char *slash = strrchr(file, '/');
    snprintf(f->name, sizeof f->name, "%s", slash ? slash + 1 : file);
    f->own_task = options_flag(f->options, "values") ? labelled_values : labelled_classes;
    if (options_text(f->options, "text-column"))
        f->own_task.first = options_text(f->options, "text-column");
    if (options_text(f->options, "label-column"))
        f->own_task.label = options_text(f->options, "label-column");
    f->task = &f->own_task;
    if (!dev) {
        TRY(labelled_read(f->task, file, change, NULL, &f->whole));
        return split(file, &f->whole, dev_part, DEV_SEED, &f->train, &f->dev);
    }
    TRY(labelled_read(f->task, file, change, NULL, &f->train));
    return labelled_read(f->task, dev, change, &f->train, &f->dev);
}

static int is_file(const char *task)
{
    return strchr(task, '.') || strchr(task, '/');
}

static int read_task(Finetune *f)
{
    const Options *o = f->options;
    const char *task = options_text(o, "task"), *const own[] = {"dev", "values", "text-column",
                                                                "label-column"};
    int change = (options_choice(o, "tokenize") ? LABELLED_CUT : 0) |
                 (options_flag(o, "lowercase") ? LABELLED_LOWER : 0);
    f->task = labelled_task(task);
    if (!f->task && !is_file(task))
        return error_set(ERR_INPUT,
                         "--task %s: expected a task of GLUE ('trotter finetune --help task' names "
                         "them) or a file, as mine.tsv",
                         task);
    if (!f->task) {
        TRY(read_own(f, change));
    } else {
        snprintf(f->name, sizeof f->name, "%s", f->task->name);
        TRY(options_set(f->options, OPTION_ARGUMENT, "", "task", f->task->name));
        task = f->name;
        for (size_t i = 0; i < sizeof own / sizeof *own; i++)
            if (options_rank(o, own[i]) == OPTION_ARGUMENT)
                return error_set(ERR_INPUT, "--%s has no meaning for --task %s, only for a file",
                                 own[i], task);
        TRY(labelled_open(f->task, options_text(o, "data"), change, &f->train, &f->dev));
        tell_left(&f->train, f->task->train);
        tell_left(&f->dev, f->task->dev);
    }
    f->metric = f->task->metric[0];
    f->scale = examples_scale(&f->train);
    if (!isfinite(f->scale.sd))
        return error_set(ERR_INPUT, "%s: labels so far apart have no standard deviation", task);
    return split(task, &f->train, options_real(o, "part"), PART_SEED, &f->rest, &f->chosen);
}

/* ---- the encoder --------------------------------------------------------------------------------- */

static int set(Options *o, const char *name, size_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%zu", value);
    return options_set(o, OPTION_ARGUMENT, "", name, text);
}

/* Gives an encoder of another program the words by which the fine-tuned one is read again: those of its tokenizer.json, and no
 * row of a word that no token is. */
static int own_words(Finetune *f)
{
    SCOPED(memory_drop)
    char *file = memory_string(f->net.vocab.tokens ? tokenizer_file(f->net.vocab.tokens) : "");
    if (!file) return ERR_MEMORY;
    vocab_free(&f->net.vocab);
    TRY(vocab_tokenizer(file, &f->net.vocab));
    f->net.vocab.lines = 1;
    return 0;
}

/* Sets the options of the model: those of its training, except for the machine and for options
 * that a fine-tuning changes. */
static int describe(Finetune *f)
{
    static const OptionGroup *const given[] = {&network_machine_group, NULL};
    SCOPED(options_drop) Options *machine = NULL;
    TRY(options_new(given, &machine));
    TRY(options_given(machine, f->options));
    TRY(network_describe(f->model, machine, &f->net, f->weights));
    if (f->net.foreign) TRY(own_words(f));
    Options *o = f->net.options;
    const char *dropout = options_text(f->options, "dropout");
    if (f->net.encoder || !network_bridge(o).bidirectional)
        return error_set(ERR_INPUT,
                         "%s is no encoder alone: 'trotter train --objective masked' trains one",
                         f->model);
    TRY(masking_check(&f->net.vocab, f->model));
    f->sequence = options_size(f->options, "sequence");
    if (f->sequence == 0) f->sequence = options_size(o, "sequence");
    f->batch_tokens = options_size(f->options, "batch-tokens");
    size_t segments = network_config(o).model.segments;
    TRY(set(o, "classes", f->train.classes ? f->train.classes : 1));
    TRY(set(o, "segments", f->train.second ? 2 : segments));
    TRY(set(o, "sequence", f->sequence));
    TRY(set(o, "batch-tokens", f->batch_tokens));
    if (dropout) TRY(options_set(o, OPTION_ARGUMENT, "", "dropout", dropout));
    return 0;
}

static int encode(Finetune *f)
{
    const Options *o = f->options;
    const LabelledTask *t = f->task;
    const char *own[] = {options_text(o, "task"), options_text(o, "dev")};
    const char *file[] = {own[0], own[1] ? own[1] : own[0]}; /* for messages */
    char path[2][OUTPUT_PATH];
    for (int i = 0; i < 2 && t->folder; i++) {
        TRY(output_path(path[i], options_text(o, "data"), "%s/%s", t->folder,
                        i ? t->dev : t->train));
        file[i] = path[i];
    }
    TRY(examples_new(&f->net, file[0], &f->rest, f->scale, &f->on_rest));
    TRY(examples_new(&f->net, file[0], &f->chosen, f->scale, &f->on_chosen));
    TRY(examples_new(&f->net, file[1], &f->dev, f->scale, &f->on_dev));
    f->corpus = (Corpus){.name = f->name,
                         .vocab = f->net.vocab,
                         .bpe = f->net.bpe,
                         .text = {f->on_rest.first, f->on_chosen.first, {0}},
                         .source = {f->on_rest.second, f->on_chosen.second, {0}},
                         .entropy_rate = NAN};
    return 0;
}

static void tell_task(const Finetune *f)
{
    size_t tokens = f->on_rest.first.tokens + f->on_rest.second.tokens;
    progress_note("%s: %zu examples to train on, %zu to choose by, %zu of dev; %.1f %% of the "
                  "tokens are <unk>",
                  f->name, f->rest.count, f->chosen.count, f->dev.count,
                  100 * (double)f->on_rest.unknown / (double)tokens);
    const Examples *all[] = {&f->on_rest, &f->on_chosen, &f->on_dev};
    size_t longer = 0;
    Text counts = {.file = (char *)f->name};
    for (int i = 0; i < 3; i++) {
        longer += examples_longer(all[i], f->net.vocab.eos, f->sequence);
        texts_count(&counts, &all[i]->first);
        texts_count(&counts, &all[i]->second);
    }
    counts.unknown = 0; /* told above */
    texts_tell(&counts);
    if (longer)
        progress_note("%s: %zu of all are longer than --sequence %zu and lose their ends", f->name,
                      longer, f->sequence);
}

/* Counts the steps of a trial. The rate rises over their first tenth. */
static int count_steps(Finetune *f)
{
    Batches *b;
    TRY(batches_new(&f->on_rest.first, &f->on_rest.second, &f->net.vocab, &f->on_rest.ask,
                    CONTEXT_SENTENCE, f->batch_tokens, f->sequence, 1, &b));
    f->steps = batches_count(b) * options_size(f->options, "epochs");
    batches_free(b);
    return 0;
}

int finetune_model(Study *u, int start, uint64_t seed, int training, Model **out)
{
    Plan *plan;
    const Finetune *f = u->more;
    Options *o = f->net.options;
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    TRY(options_set(o, OPTION_ARGUMENT, "", "seed", text));
    TRY(network_plan(o, (Stacks){f->net.table, NULL}, &plan));
    TRY(network_model_of(o, plan, &f->net.vocab, f->backend, training, 0, out));
    if (start != START_PRETRAINED) return 0;
    return f->net.foreign ? foreign_load(f->net.foreign, *out)
                          : store_load_encoder(*out, f->weights);
}

/* ---- metadata ------------------------------------------------------------------------------------ */

static int put_real(Metadata *d, const char *key, double value)
{
    char text[32];
    sheet_number(value, text);
    return network_metadata_put(d, key, text);
}

/* Adds the names of the classes, a tab between them; no name has a tab. */
static int put_labels(const Finetune *f, Metadata *d)
{
    size_t bytes = 1;
    for (size_t k = 0; k < f->train.classes; k++) bytes += strlen(f->train.name[k]) + 1;
    SCOPED(memory_drop) char *list = memory_new(bytes, 1);
    char *p = list;
    if (!list) return ERR_MEMORY;
    for (size_t k = 0; k < f->train.classes; k++) {
        if (k) *p++ = '\t';
        p = stpcpy(p, f->train.name[k]);
    }
    return network_metadata_put(d, "labels", list);
}

/* Makes the metadata of a fine-tuned encoder: those of the encoder, and more. */
int finetune_metadata(Study *u, const Model *m, const StudyRun *r)
{
    Finetune *f = u->more;
    Metadata *d = &f->meta;
    network_metadata_free(d);
    TRY(network_metadata(f->net.options, (Stacks){f->net.table, NULL}, &f->corpus, m, d));
    TRY(network_metadata_put(d, "task", f->name));
    TRY(network_metadata_put(d, "sentences", f->train.second ? "2" : "1"));
    TRY(network_metadata_put(d, "lowercase", options_flag(f->options, "lowercase") ? "yes" : "no"));
    TRY(network_metadata_put(d, "tokenize", options_text(f->options, "tokenize")));
    if (f->train.classes) TRY(put_labels(f, d));
    if (!f->train.classes) TRY(put_real(d, "label_mean", f->scale.mean));
    if (!f->train.classes) TRY(put_real(d, "label_sd", f->scale.sd));
    if (!r) return 0;
    TRY(network_metadata_put(d, "finetune_rate", spec_text(&r->point->own, "rate")));
    TRY(put_real(d, "finetune_seed", (double)r->seed));
    return put_real(d, "finetune_epoch", study_real(u, r, "best_epoch"));
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

/* Finds the checksum of weights and examples, the column `corpus` of runs.csv. */
static int find_checksum(Study *u)
{
    const Finetune *f = u->more;
    char *sum = NULL;
    uint64_t h = hash_examples(HASH_START, &f->on_rest, &f->rest);
    h = hash_examples(h, &f->on_chosen, &f->chosen);
    h = hash_examples(h, &f->on_dev, &f->dev);
    int code = f->net.foreign ? 0 : store_meta(f->weights, STORE_CHECKSUM, &sum);
    if (code != 0 && code != ERR_INPUT) return code;
    if (f->net.foreign) h = hash_bytes(h, &f->begun, sizeof f->begun);
    if (sum) h = hash_bytes(h, sum, strlen(sum));
    memory_free(sum);
    snprintf(u->checksum, sizeof u->checksum, "%016" PRIx64, h);
    return 0;
}

/* Returns ERR_INPUT for a folder of another fine-tuning. */
static int check_folder(Study *u)
{
    char words[OPTION_WORDS];
    SCOPED(options_drop) Options *there = NULL;
    TRY(study_open_recorded(u));
    TRY(runs_study(u->groups, u->dir, &there));
    if (!there) return 0;
    int differ = options_differ(u->options, there, OPTION_MAY_DIFFER, words);
    int other = !differ && u->recorded.rows > 0 &&
                strcmp(frame_text(&u->recorded, 0, "corpus"), u->checksum) != 0;
    if (other) snprintf(words, sizeof words, "its weights or examples were others than now");
    if (!differ && !other) return 0;
    return error_set(ERR_INPUT,
                     "%s is of another fine-tuning (%s): give another --out, or remove it", u->dir,
                     words);
}

static int claim(Study *u)
{
    Finetune *f = u->more;
    char path[OUTPUT_PATH];
    int mine;
    TRY(output_directory(u->dir));
    TRY(output_path(path, u->dir, "finetune.claim"));
    TRY(lease_take(path, u->worker.name, &f->claim, &mine));
    return mine ? 0 : error_set(ERR_INPUT, "%s: another fine-tuning is at work there", u->dir);
}

/* ---- the study ----------------------------------------------------------------------------------- */

/* Makes the grid: every rate with every seed. */
static int make_grid(Study *u)
{
    const Options *o = u->options;
    char part[32], rate[32];
    size_t rates = 0, seeds = options_size(o, "seeds");
    while (options_part(o, "rates", rates, part)) rates++;
    u->points = rates * seeds;
    u->point = memory_new(u->points, sizeof *u->point);
    if (!u->point) return ERR_MEMORY;
    for (size_t i = 0; i < u->points; i++) {
        StudyPoint *p = &u->point[i];
        options_part(o, "rates", i / seeds, part);
        sheet_number(strtod(part, NULL), rate);
        spec_set(&p->own, SPEC_CHOSEN, "rate", rate);
        p->seed = options_size(o, "seed") + i % seeds;
        for (const StudyPoint *q = u->point; q < p; q++)
            if (strtod(spec_text(&q->own, "rate"), NULL) == strtod(rate, NULL) &&
                q->seed == p->seed)
                return error_set(ERR_INPUT, "--rates: %s is there twice", rate);
    }
    return study_trials(u);
}

static int add_starts(Study *u)
{
    const Finetune *f = u->more;
    int starts = options_flag(u->options, "pretrained-only") ? 1 : STARTS;
    RunSpec spec = {.stacks.layers = f->net.table};
    spec_set(&spec.own, SPEC_OWN, "layers", options_text(f->net.options, "layers"));
    for (int s = 0; s < starts; s++) {
        StudyDesign *d;
        TRY(study_add(u, start_names[s], &spec, 1, &d));
    }
    return make_grid(u);
}

static int find_majority(Finetune *f)
{
    for (int m = 0; m < AGREEMENTS; m++) {
        f->majority[m] = NAN;
        if (agreement_fits(m, f->train.classes) == 0)
            TRY(labelled_baseline(&f->train, &f->dev, m, &f->majority[m]));
    }
    return 0;
}

/* Returns ERR_INPUT where the last of the tables is of another task than the first. */
static int same_task(const Study *u)
{
    static const char *const names[] = {"task", "metric"};
    const char *first = u->file[0], *last = u->file[u->files - 1];
    SCOPED(frame_close) Frame a = {0}, b = {0};
    TRY(frame_read(&a, first));
    TRY(frame_read(&b, last));
    for (int i = 0; i < 2; i++) {
        const char *is = b.rows ? frame_text(&b, 0, names[i]) : "",
                   *was = a.rows ? frame_text(&a, 0, names[i]) : "";
        if (strcmp(is, was) != 0)
            return error_set(ERR_INPUT, "%s is of %s %s, and %s of %s", last, names[i], is, first,
                             was);
    }
    return 0;
}

/* Names the tables of --together. */
static int together(Study *u)
{
    char dir[OUTPUT_PATH];
    TRY(options_either(u->options, "together", "model task"));
    for (const char *p = options_text(u->options, "together"); p;
         p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        snprintf(dir, sizeof dir, "%.*s", (int)strcspn(p, ","), p);
        TRY(study_file(u, dir));
        TRY(same_task(u));
    }
    return output_directory(u->dir);
}

/* Finds the checksum of the numbers that a start begins with, where the file of an encoder tells none. */
static int hash_begun(Finetune *f, Model *m)
{
    const Param *p;
    const Backend *b = model_backend(m);
    f->begun = HASH_START;
    for (size_t i = 0, n = model_params(m, &p); i < n; i++) {
        SCOPED(memory_drop) double *x = memory_new(p[i].size, sizeof *x);
        if (!x) return ERR_MEMORY;
        b->get(x, backend_at(b, model_data(m), p[i].offset), p[i].size);
        f->begun = hash_bytes(f->begun, x, p[i].size * sizeof *x);
    }
    return 0;
}

/* Checks that a model can be made, and makes the metadata of those that are trained. */
static int check_model(Study *u)
{
    Finetune *f = u->more;
    SCOPED(model_drop) Model *m = NULL;
    TRY(network_backend(f->net.options, &f->backend));
    TRY(finetune_model(u, START_PRETRAINED, f->model_seed, 0, &m));
    if (f->net.foreign) TRY(hash_begun(f, m));
    return finetune_metadata(u, m, NULL);
}

int finetune_open(Study *u)
{
    static const char *const needed[] = {"model", "task"};
    Finetune *f = u->more;
    Options *o = u->options;
    f->claim.fd = -1;
    f->options = o;
    if (options_text(o, "together")) return together(u);
    for (size_t i = 0; i < 2; i++)
        if (!options_text(o, needed[i])) return error_set(ERR_INPUT, "--%s is needed", needed[i]);
    f->model = options_text(o, "model");
    TRY(read_task(f));
    TRY(claim(u));
    TRY(describe(f));
    f->model_seed = options_size(f->net.options, "seed");
    if (!options_text(o, "seed"))
        TRY(set(o, "seed", 1 + options_size(o, "seeds") * (f->model_seed ? f->model_seed - 1 : 0)));
    TRY(encode(f));
    TRY(count_steps(f));
    TRY(check_model(u));
    TRY(add_starts(u));
    TRY(find_majority(f));
    TRY(find_checksum(u));
    TRY(check_folder(u));
    tell_task(f);
    return 0;
}

void finetune_close(Study *u)
{
    Finetune *f = u->more;
    lease_drop(&f->claim);
    network_metadata_free(&f->meta);
    examples_free(&f->on_rest);
    examples_free(&f->on_chosen);
    examples_free(&f->on_dev);
    labelled_free(&f->rest);
    labelled_free(&f->chosen);
    labelled_free(&f->train);
    labelled_free(&f->dev);
    labelled_free(&f->whole);
    network_free(&f->net);
    memory_free_all(f->gold, f->said, f->label, f->own);
}
