/* trials.c: the trainings of the grid, the choice, and what the chosen ones say of the dev text (finetune.h). A training is
 * a run of nn/run/train.c in a separate directory; it judges an epoch by the metric on the chosen part. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/clock.h"
#include "studies/lab/finetune/finetune.h"
#include "studies/base/command.h"

enum { WORDS = 128 };

/* A training while it runs. */
typedef struct {
    const Finetune *f;
    char words[WORDS]; /* "pretrained, rate 3e-4, seed 1 (2 of 12)" */
    double *z;         /* (chosen) */
    int32_t *label;    /* (chosen) */
    double best;
    long epoch;
} Judge;

/* ---- folders ------------------------------------------------------------------------------------- */

/* Names a run's directory. The name is unique: a rate is written in full, and
 * a seed is a whole number. */
static int directory(const Study *u, const StudyDesign *d, const StudyRun *r, char dir[OUTPUT_PATH])
{
    return output_path(dir, u->dir, "%s/rate%s-seed%llu", d->name,
                       spec_text(&r->point->own, "rate"), (unsigned long long)r->seed);
}

/* Removes files of a run that nobody needs: its state and, with `weights`, its weights. */
static int forget(const Study *u, const StudyDesign *d, const StudyRun *r, int weights)
{
    static const char *const names[] = {"state.safetensors", "model.safetensors", "vocab.txt",
                                        "codes.bpe", "tokenizer.json"};
    char dir[OUTPUT_PATH], file[OUTPUT_PATH];
    TRY(directory(u, d, r, dir));
    for (size_t i = 0; i < (weights ? sizeof names / sizeof *names : 1); i++) {
        TRY(output_path(file, dir, "%s", names[i]));
        unlink(file);
    }
    return 0;
}

/* ---- a training ---------------------------------------------------------------------------------- */

static int judge(void *arg, Model *m, double *score)
{
    Judge *w = arg;
    const Finetune *f = w->f;
    Answers gold = labelled_answers(&f->chosen), said = {f->chosen.count, w->label, w->z};
    TRY(examples_say(m, &f->on_chosen, &f->net.vocab, f->scale, f->batch_tokens, f->sequence,
                     &command_stop, w->z, w->label));
    TRY(agreement_score(f->metric, &said, &gold, score));
    if (isnan(*score)) return error_set(ERR_NUMERIC, "the answers are not finite");
    if (w->epoch++ == 0 || *score > w->best) w->best = *score;
    return 0;
}

static void report(void *arg, const TrainReport *t)
{
    const Judge *w = arg;
    char left[32], best[48] = "";
    progress_time(t->seconds_left, left);
    if (w->epoch)
        snprintf(best, sizeof best, ", best %s %.3f", agreements[w->f->metric].name, w->best);
    progress_show("%s: epoch %ld of %ld, step %llu of %llu%s, %s left", w->words, t->epoch,
                  t->epochs, (unsigned long long)t->step, (unsigned long long)t->steps, best, left);
}

static TrainConfig training(const Study *u, const StudyRun *r, const char *dir, Judge *w,
                            Asking ask[SPLITS])
{
    const Finetune *f = u->more;
    const Options *o = u->options;
    char file[OUTPUT_PATH];
    ask[SPLIT_TRAIN] = f->on_rest.ask;
    ask[SPLIT_VALID] = f->on_chosen.ask;
    return (TrainConfig){
        .context = CONTEXT_SENTENCE,
        .batch_tokens = f->batch_tokens,
        .sequence = f->sequence,
        .rate = strtod(spec_text(&r->point->own, "rate"), NULL),
        .warmup = f->steps / 10,
        .schedule = SCHEDULE_LINEAR,
        .accumulate = 1,
        .adam = {.beta1 = 0.9,
                 .beta2 = 0.999,
                 .eps = 1e-6,
                 .clip = options_real(o, "clip"),
                 .decay = options_real(o, "weight-decay")},
        .epochs = (long)options_size(o, "epochs"),
        .patience = (long)options_size(o, "patience"),
        .seed = r->seed,
        .out = dir,
        .meta = f->meta.item,
        .meta_count = f->meta.count,
        .resume = output_path(file, dir, "state.safetensors") == 0 && output_exists(file),
        .log_seconds = 0.25,
        .report = report,
        .arg = w,
        .judge = judge,
        .stop = &command_stop,
        .ask = ask,
    };
}

static int train(Study *u, const StudyDesign *d, StudyRun *r, Judge *w)
{
    char dir[OUTPUT_PATH];
    Asking ask[SPLITS];
    TrainResult result;
    SCOPED(model_drop) Model *m = NULL;
    double begun = clock_now(), chosen;
    TRY(directory(u, d, r, dir));
    TRY(output_directory(dir));
    TRY(finetune_model(u, (int)(d - u->design), r->seed, 1, &m));
    TrainConfig c = training(u, r, dir, w, ask);
    int code = train_run(m, &w->f->corpus, &c, &result);
    /* A run that continues has not seen all its epochs, so the best one is measured again. */
    if (code == 0) code = judge(w, m, &chosen);
    if (code == ERR_NUMERIC) progress_note("%s: diverged (%s)", w->words, error_text());
    if (code == ERR_INTERRUPTED) return command_interrupted();
    if (code != 0 && code != ERR_NUMERIC) return code;
    if (code != 0) chosen = NAN;
    study_put(u, r, "chosen", chosen);
    study_put(u, r, "best_epoch", code ? (double)NAN : (double)result.best_epoch);
    study_put(u, r, "seconds", clock_now() - begun);
    return forget(u, d, r, isnan(chosen));
}

static double chosen_of(const Study *u, const StudyRun *r)
{
    return study_real(u, r, "chosen");
}

/* Returns the best run of a start, the first of equal ones; NULL: none. */
static const StudyRun *find_best(const Study *u, const StudyDesign *d)
{
    const StudyRun *best = NULL;
    for (const StudyRun *r = d->trial; r < d->trial + u->points; r++)
        if (!isnan(chosen_of(u, r)) && (!best || chosen_of(u, r) > chosen_of(u, best))) best = r;
    return best;
}

/* Removes the weights of all runs but the best. */
static int keep_best(const Study *u, const StudyDesign *d)
{
    const StudyRun *best = find_best(u, d);
    for (const StudyRun *r = d->trial; r < d->trial + u->points; r++)
        if (!isnan(chosen_of(u, r)) && r != best) TRY(forget(u, d, r, 1));
    return 0;
}

int finetune_trial(Study *u, StudyTask *t)
{
    const Finetune *f = u->more;
    StudyRun *r = t->run;
    const StudyDesign *d = t->design;
    size_t n = f->chosen.count;
    char took[32];
    Judge w = {.f = f, .z = memory_new(n, sizeof *w.z), .label = memory_new(n, sizeof *w.label)};
    snprintf(w.words, WORDS, "%.20s, rate %s, seed %llu (%zu of %zu)", d->name,
             spec_text(&r->point->own, "rate"), (unsigned long long)r->seed,
             (size_t)(d - u->design) * u->points + (size_t)(r - d->trial) + 1,
             u->designs * u->points);
    int code = w.z && w.label ? train(u, d, r, &w) : ERR_MEMORY;
    memory_free(w.z);
    memory_free(w.label);
    TRY(code);
    t->state = RUN_TRAINED;
    progress_time(study_real(u, r, "seconds"), took);
    if (!isnan(chosen_of(u, r)))
        progress_note("%s: %s %.4f after epoch %g, %s", w.words, agreements[f->metric].name,
                      chosen_of(u, r), study_real(u, r, "best_epoch"), took);
    return keep_best(u, d);
}

/* ---- the dev text -------------------------------------------------------------------------------- */

static int save_model(Study *u, const StudyRun *r, const Model *m)
{
    Finetune *f = u->more;
    char path[OUTPUT_PATH];
    TRY(finetune_metadata(u, m, r));
    TRY(output_path(path, u->dir, "model.safetensors"));
    TRY(store_save(m, path, f->meta.item, f->meta.count));
    return vocab_save(&f->net.vocab, f->net.bpe, u->dir);
}

/* Makes the model of a run with its weights. */
static int load(Study *u, const StudyDesign *d, const StudyRun *r, Model **out)
{
    char dir[OUTPUT_PATH], file[OUTPUT_PATH];
    TRY(directory(u, d, r, dir));
    TRY(output_path(file, dir, "model.safetensors"));
    TRY(finetune_model(u, (int)(d - u->design), r->seed, 0, out));
    return store_load(*out, file);
}

/* Scores a start's answers on the dev text: z, label (dev). */
static int score_dev(Study *u, const StudyDesign *d, double *z, int32_t *label, Sheet *out)
{
    const Finetune *f = u->more;
    size_t n = f->dev.count, C = f->train.classes;
    Answers gold = labelled_answers(&f->dev), said = {n, label, z};
    double score[AGREEMENTS];
    for (int k = 0; k < AGREEMENTS; k++) {
        score[k] = NAN;
        if (agreement_fits(k, C) == 0) TRY(agreement_score(k, &said, &gold, &score[k]));
    }
    finetune_put_scores(u, d->run->at, score);
    for (size_t i = 0; i < n; i++)
        sheet_row(out, &(DevAnswer){d->name, (double)(i + 1), C ? f->dev.label[i] : f->dev.value[i],
                                    C ? label[i] : z[i], (double)f->dev.line[i]});
    return 0;
}

/* Reads the dev text with a start's best run, the only time for this start. z, label: room. */
static int read_dev(Study *u, StudyDesign *d, double *z, int32_t *label, Sheet *out)
{
    const Finetune *f = u->more;
    const StudyRun *best = find_best(u, d);
    StudyRun *r = d->run;
    SCOPED(model_drop) Model *m = NULL;
    if (!best) return error_set(ERR_CHECK, "%s: every trial diverged: try lower --rates", d->name);
    d->chosen = best->point->own;
    r->seed = best->seed;
    study_put(u, r, "best_epoch", study_real(u, best, "best_epoch"));
    study_put(u, r, "chosen", chosen_of(u, best));
    TRY(load(u, d, best, &m));
    study_put(u, r, "params", (double)model_size(m));
    TRY(examples_say(m, &f->on_dev, &f->net.vocab, f->scale, f->batch_tokens, f->sequence,
                     &command_stop, z, label));
    TRY(score_dev(u, d, z, label, out));
    return d == u->design ? save_model(u, best, m) : 0;
}

static int read_all(Study *u, Sheet *out)
{
    const Finetune *f = u->more;
    size_t n = f->dev.count;
    SCOPED(memory_drop) double *z = memory_new(n, sizeof *z);
    SCOPED(memory_drop) int32_t *label = memory_new(n, sizeof *label);
    int code = z && label ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < u->designs; i++)
        code = read_dev(u, &u->design[i], z, label, out);
    return code == ERR_INTERRUPTED ? command_interrupted() : code;
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* Takes a row `trial` of runs.csv; one without these numbers is trained again. */
static void take(Study *u, const Frame *c, size_t row)
{
    static const char *const number[] = {"chosen", "best_epoch", "seconds"};
    double x;
    for (size_t j = 0; j < sizeof number / sizeof *number; j++) {
        int at = frame_column(c, number[j]);
        if (at < 0 || frame_number(c, row, at, &x) != 0) return;
    }
    for (size_t i = 0; i < u->designs; i++)
        for (size_t k = 0; k < u->points; k++) {
            StudyRun *r = &u->design[i].trial[k];
            if (strcmp(frame_text(c, row, "start"), u->design[i].name) != 0 ||
                strtod(spec_text(&r->point->own, "rate"), NULL) != frame_real(c, row, "rate") ||
                (double)r->seed != frame_real(c, row, "seed"))
                continue;
            for (size_t j = 0; j < sizeof number / sizeof *number; j++)
                study_put(u, r, number[j], frame_real(c, row, number[j]));
            r->state = RUN_THERE;
        }
}

int finetune_train(Study *u)
{
    SCOPED(sheet_drop) Sheet *predictions = NULL;
    const Frame *c = &u->recorded;
    if (u->designs == 0) return 0;
    for (size_t row = 0; row < c->rows; row++)
        if (strcmp(frame_text(c, row, "part"), "trial") == 0) take(u, c, row);
    TRY(study_record(u));
    TRY(study_train(u, 1, 1, 1));
    TRY(sheet_new(finetune_answers, &predictions));
    TRY(read_all(u, predictions));
    return output_sheet(predictions, SHEET_CSV, u->dir, "predictions.csv");
}
