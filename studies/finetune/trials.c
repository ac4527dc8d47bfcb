/* trials.c: runs the grid of trainings (finetune.h). Each is a run of nn/run/train.c in a separate directory; it judges an
 * epoch by the metric on the chosen part. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/clock.h"
#include "studies/finetune/finetune.h"
#include "studies/tools/command.h"
#include "studies/tools/csv.h"
#include "studies/tools/progress.h"

const char *const finetune_start[STARTS] = {"pretrained", "fresh"};

const Column finetune_trials[] = {
    COLUMN(Trial, start, .words = "pretrained, or fresh: the same encoder without pre-training"),
    COLUMN(Trial, rate, .words = "peak learning rate"),
    COLUMN(Trial, seed, .words = "seed of fresh weights, dropout and order"),
    COLUMN(Trial, best_epoch, .words = "epoch with the best score"),
    COLUMN(
        Trial, score, .digits = 4,
        .words =
            "score after that epoch, by the task's first metric, on the part of the training text "
            "that is not trained on"),
    COLUMN(Trial, seconds, .digits = 3, .words = "time of the whole trial"),
    {0}};

enum { WORDS = 100 };

/* A trial while it runs. */
typedef struct {
    Finetune *u;
    const Trial *t;
    char words[WORDS]; /* "pretrained, rate 3e-4, seed 1 (2 of 12)" */
    double *z;         /* (chosen, C) */
    int32_t *label;    /* (chosen) */
    double best;
    long epoch;
} Work;

/* ---- models -------------------------------------------------------------------------------------- */

int trials_model(const Finetune *u, int start, uint64_t seed, int training, Model **out)
{
    Plan *plan;
    Options *o = u->net.options;
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)seed);
    TRY(options_set(o, OPTION_ARGUMENT, "", "seed", text));
    TRY(network_plan(o, (Stacks){u->net.table, NULL}, &plan));
    TRY(network_model_of(o, plan, u->net.vocab.size, u->backend, training, 0, out));
    return start == START_PRETRAINED ? store_load_encoder(*out, u->weights) : 0;
}

/* Names a trial's directory. The name is unique: a rate is written in full (sheet_number), and
 * a seed is a whole number. */
static int directory(const Finetune *u, const Trial *t, char dir[OUTPUT_PATH])
{
    char rate[32];
    sheet_number(t->rate, rate);
    return output_path(dir, u->dir, "%s/rate%s-seed%.0f", t->start, rate, t->seed);
}

int trials_load(const Finetune *u, const Trial *t, Model *m)
{
    char dir[OUTPUT_PATH], file[OUTPUT_PATH];
    TRY(directory(u, t, dir));
    TRY(output_path(file, dir, "model.safetensors"));
    return store_load(m, file);
}

/* Removes files of a trial that nobody needs: its state and, with `weights`, its weights. */
static int forget(const Finetune *u, const Trial *t, int weights)
{
    static const char *const names[] = {"state.safetensors", "model.safetensors", "vocab.txt",
                                        "codes.bpe"};
    char dir[OUTPUT_PATH], file[OUTPUT_PATH];
    TRY(directory(u, t, dir));
    for (size_t i = 0; i < (weights ? sizeof names / sizeof *names : 1); i++) {
        TRY(output_path(file, dir, "%s", names[i]));
        unlink(file);
    }
    return 0;
}

/* ---- a trial ------------------------------------------------------------------------------------- */

static int judge(void *arg, Model *m, double *score)
{
    Work *w = arg;
    const Finetune *u = w->u;
    size_t n = u->chosen.count, C = model_config(m)->classes;
    Answers gold = labelled_answers(&u->chosen), said = {n, w->label, w->z};
    TRY(examples_say(m, &u->on_chosen, &u->net.vocab, u->scale, u->batch_tokens, u->sequence,
                     &command_stop, w->z));
    if (C > 1) examples_classes(w->z, n, C, w->label);
    TRY(agreement_score(u->metric, &said, &gold, score));
    if (isnan(*score)) return error_set(ERR_NUMERIC, "the answers are not finite");
    if (w->epoch++ == 0 || *score > w->best) w->best = *score;
    return 0;
}

static void report(void *arg, const TrainReport *t)
{
    const Work *w = arg;
    char left[32], best[48] = "";
    progress_time(t->seconds_left, left);
    if (w->epoch)
        snprintf(best, sizeof best, ", best %s %.3f", agreements[w->u->metric].name, w->best);
    progress_show("%s: epoch %ld of %ld, step %llu of %llu%s, %s left", w->words, t->epoch,
                  t->epochs, (unsigned long long)t->step, (unsigned long long)t->steps, best, left);
}

static TrainConfig training(const Finetune *u, const Trial *t, const char *dir, Work *w,
                            Asking ask[SPLITS])
{
    const Options *o = u->options;
    char file[OUTPUT_PATH];
    ask[SPLIT_TRAIN] = u->on_rest.ask;
    ask[SPLIT_VALID] = u->on_chosen.ask;
    return (TrainConfig){
        .context = CONTEXT_SENTENCE,
        .batch_tokens = u->batch_tokens,
        .sequence = u->sequence,
        .rate = t->rate,
        .warmup = u->steps / 10,
        .schedule = SCHEDULE_LINEAR,
        .accumulate = 1,
        .adam = {.beta1 = 0.9,
                 .beta2 = 0.999,
                 .eps = 1e-6,
                 .clip = options_real(o, "clip"),
                 .decay = options_real(o, "weight-decay")},
        .epochs = (long)options_size(o, "epochs"),
        .patience = (long)options_size(o, "patience"),
        .seed = (uint64_t)t->seed,
        .out = dir,
        .meta = u->meta.item,
        .meta_count = u->meta.count,
        .resume = output_path(file, dir, "state.safetensors") == 0 && output_exists(file),
        .log_seconds = 0.25,
        .report = report,
        .arg = w,
        .judge = judge,
        .stop = &command_stop,
        .ask = ask,
    };
}

static int train(Finetune *u, int start, Trial *t, Work *w)
{
    char dir[OUTPUT_PATH];
    Asking ask[SPLITS];
    TrainResult result;
    Model *m = NULL;
    double begun = clock_now();
    TRY(directory(u, t, dir));
    TRY(output_directory(dir));
    TRY(trials_model(u, start, (uint64_t)t->seed, 1, &m));
    TrainConfig c = training(u, t, dir, w, ask);
    int code = train_run(m, &u->corpus, &c, &result);
    if (code == 0) t->best_epoch = (double)result.best_epoch;
    /* A run that continues has not seen all its epochs, so the best one is measured again. */
    if (code == 0) code = judge(w, m, &t->score);
    model_free(m);
    t->seconds = clock_now() - begun;
    if (code == ERR_NUMERIC) {
        progress_note("%s: diverged (%s)", w->words, error_text());
        t->score = t->best_epoch = NAN;
        code = 0;
    }
    return code ? code : forget(u, t, isnan(t->score));
}

/* ---- the grid ------------------------------------------------------------------------------------ */

typedef struct {
    Trial *trial; /* (count) in order */
    char *done;   /* (count) */
    size_t count;
} Grid;

static int same_trial(const Trial *a, const Trial *b)
{
    return strcmp(a->start, b->start) == 0 && a->rate == b->rate && a->seed == b->seed;
}

static int plan_grid(const Finetune *u, Grid *g)
{
    char part[32];
    size_t rates = 0, seeds = options_size(u->options, "seeds");
    size_t first = options_size(u->options, "seed");
    int starts = options_flag(u->options, "pretrained-only") ? 1 : STARTS;
    while (options_part(u->options, "rates", rates, part)) rates++;
    *g = (Grid){.count = (size_t)starts * rates * seeds};
    g->trial = memory_new(g->count, sizeof *g->trial);
    g->done = memory_new(g->count, 1);
    if (!g->trial || !g->done) return ERR_MEMORY;
    for (size_t i = 0; i < g->count; i++) {
        Trial *t = &g->trial[i];
        options_part(u->options, "rates", i / seeds % rates, part);
        *t = (Trial){.start = finetune_start[i / seeds / rates],
                     .rate = strtod(part, NULL),
                     .seed = (double)(first + i % seeds),
                     .score = NAN};
        for (size_t k = 0; k < i; k++)
            if (same_trial(t, &g->trial[k]))
                return error_set(ERR_INPUT, "--rates: %s is there twice", part);
    }
    return 0;
}

/* Takes the trials that grid.csv has. */
static int take_rows(const Csv *c, Grid *g)
{
    for (size_t row = 0; row < c->rows; row++) {
        Trial t = {0};
        TRY(csv_record(c, row, finetune_trials, &t));
        t.start = csv_named(c, row, "start");
        for (size_t i = 0; i < g->count; i++) {
            if (!same_trial(&t, &g->trial[i])) continue;
            t.start = g->trial[i].start;
            g->trial[i] = t;
            g->done[i] = 1;
        }
    }
    return 0;
}

static int take_done(const Finetune *u, Grid *g)
{
    char path[OUTPUT_PATH];
    Csv c;
    TRY(output_path(path, u->dir, "grid.csv"));
    if (!output_exists(path)) return 0;
    TRY(csv_open(&c, path));
    int code = take_rows(&c, g);
    csv_close(&c);
    return code;
}

static int write_grid(const Finetune *u, const Grid *g)
{
    Sheet *s;
    TRY(sheet_new(finetune_trials, &s));
    for (size_t i = 0; i < g->count; i++)
        if (g->done[i]) sheet_row(s, &g->trial[i]);
    int code = output_sheet(s, SHEET_CSV, u->dir, "grid.csv");
    sheet_free(s);
    return code;
}

/* Returns the best finished trial of a start, the first of equal ones; NULL: none. */
static const Trial *find_best(const Grid *g, const char *start)
{
    const Trial *best = NULL;
    for (size_t i = 0; i < g->count; i++) {
        const Trial *t = &g->trial[i];
        if (!g->done[i] || strcmp(t->start, start) != 0 || isnan(t->score)) continue;
        if (!best || t->score > best->score) best = t;
    }
    return best;
}

/* Removes the weights of all trials but the best. The grid's row is written before, so a run that stops in
 * between does this again. */
static int keep_best(const Finetune *u, const Grid *g, const char *start)
{
    const Trial *best = find_best(g, start);
    for (size_t i = 0; i < g->count; i++)
        if (g->done[i] && strcmp(g->trial[i].start, start) == 0 && &g->trial[i] != best)
            TRY(forget(u, &g->trial[i], 1));
    return 0;
}

static int do_trial(Finetune *u, Grid *g, size_t i, Work *w)
{
    Trial *t = &g->trial[i];
    char took[32], rate[32];
    w->t = t;
    w->epoch = 0;
    sheet_number(t->rate, rate);
    snprintf(w->words, WORDS, "%s, rate %s, seed %.0f (%zu of %zu)", t->start, rate, t->seed, i + 1,
             g->count);
    int start = strcmp(t->start, finetune_start[START_FRESH]) == 0 ? START_FRESH : START_PRETRAINED;
    TRY(train(u, start, t, w));
    g->done[i] = 1;
    TRY(write_grid(u, g));
    TRY(keep_best(u, g, t->start));
    progress_time(t->seconds, took);
    if (!isnan(t->score))
        progress_note("%s: %s %.4f after epoch %g, %s", w->words, agreements[u->metric].name,
                      t->score, t->best_epoch, took);
    return 0;
}

static int do_all(Finetune *u, Grid *g, Work *w, Trial best[STARTS])
{
    TRY(plan_grid(u, g));
    TRY(take_done(u, g));
    for (size_t i = 0; i < g->count; i++)
        if (!g->done[i]) TRY(do_trial(u, g, i, w));
    for (int s = 0; s < STARTS; s++) {
        const Trial *t = find_best(g, finetune_start[s]);
        best[s] = t ? *t : (Trial){0};
        if (!t && (s == START_PRETRAINED || !options_flag(u->options, "pretrained-only")))
            return error_set(ERR_CHECK, "%s: every trial diverged: try lower --rates",
                             finetune_start[s]);
    }
    return 0;
}

int trials_run(Finetune *u, Trial best[STARTS])
{
    Grid g = {0};
    size_t n = u->chosen.count, C = u->train.classes ? u->train.classes : 1;
    Work w = {.u = u, .z = memory_new(n * C, sizeof *w.z), .label = memory_new(n, sizeof *w.label)};
    int code = w.z && w.label ? do_all(u, &g, &w, best) : ERR_MEMORY;
    memory_free(w.z);
    memory_free(w.label);
    memory_free(g.trial);
    memory_free(g.done);
    return code;
}
