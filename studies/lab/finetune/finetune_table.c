/* finetune_table.c: the tables of a fine-tuning: a row a run, a row a design with both kinds of intervals, differences
 * (finetune.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/lab/finetune/finetune.h"
#include "studies/base/command.h"

/* ---- runs.csv ------------------------------------------------------------------------------------ */

const char finetune_run_names[] =
    "task\0metric\0scheme\0start\0part\0layers\0params\0model_seed\0rate\0seed\0best_epoch\0"
    "chosen\0seconds\0score\0?accuracy\0?f1\0?matthews\0?pearson\0?spearman\0examples\0corpus\0";
const Column finetune_run_columns[] = {
    VALUE("task", .words = "task, or file of labelled sentences"),
    VALUE("metric", .words = "metric by which rate, seed and epoch were chosen"),
    VALUE("scheme", .page = 1,
          .words = "majority: the most frequent label always, of numbers their mean"),
    VALUE("start", .page = 1,
          .words =
              "pretrained; fresh: the same encoder without pre-training; majority: no encoder"),
    VALUE("part", .page = 1,
          .words = "trial: of the grid, for the choice; bound: no run, but a number to be beaten"),
    VALUE("model_seed", .words = "seed of the pre-training"),
    VALUE("rate", .page = 1, .words = "peak learning rate; of the study's runs the chosen one"),
    VALUE("seed", .page = 1, .words = "seed of fresh weights, dropout and order"),
    VALUE("best_epoch", .page = 1, .words = "epoch with the best score"),
    VALUE(
        "chosen", .digits = 4, .page = 1,
        .words =
            "score after that epoch, by the task's first metric, on the part of the training text "
            "that is not trained on"),
    VALUE("seconds", .digits = 3, .words = "time of the whole trial"),
    VALUE("score", .digits = 4, .page = 1, .words = "score on the dev text, by the same metric"),
    VALUE("examples", .words = "number of examples in the dev text"),
    {0}};

/* Fills what any row has. */
static void fill_common(Study *u, size_t row)
{
    const Finetune *f = u->more;
    frame_set(&u->runs_csv, row, "task", f->name);
    frame_set(&u->runs_csv, row, "metric", agreements[f->metric].name);
    frame_put(&u->runs_csv, row, "examples", (double)f->dev.count);
}

void finetune_put_scores(Study *u, size_t row, const double *score)
{
    const Finetune *f = u->more;
    frame_put(&u->runs_csv, row, "score", score[f->metric]);
    for (int k = 0; k < AGREEMENTS; k++) frame_put(&u->runs_csv, row, agreements[k].name, score[k]);
}

void finetune_fill(Study *u, const StudyDesign *d, const StudyRun *r)
{
    const Finetune *f = u->more;
    const char *rate = spec_text(r->point ? &r->point->own : &d->chosen, "rate");
    const double none = NAN; /* nothing is chosen yet */
    fill_common(u, r->at);
    study_set(u, r, "scheme", f->net.table->name);
    study_set(u, r, "start", d->name);
    study_set(u, r, "part", r->point ? "trial" : NULL);
    study_set(u, r, "layers", spec_text(&d->spec.own, "layers"));
    study_put(u, r, "model_seed", (double)f->model_seed);
    study_put(u, r, "rate", rate ? strtod(rate, NULL) : none);
    study_put(u, r, "seed", rate ? (double)r->seed : none);
    study_set(u, r, "corpus", u->checksum);
}

void finetune_bound(Study *u, size_t row)
{
    const Finetune *f = u->more;
    fill_common(u, row);
    frame_set(&u->runs_csv, row, "scheme", "majority");
    frame_set(&u->runs_csv, row, "start", "majority");
    frame_set(&u->runs_csv, row, "part", "bound");
    finetune_put_scores(u, row, f->majority);
}

const Column finetune_answers[] = {
    COLUMN(DevAnswer, start, .words = "pretrained or fresh"),
    COLUMN(DevAnswer, example, .words = "number of the example in the dev text, from 1"),
    COLUMN(DevAnswer, gold, .words = "its label: number of the class from 0, or value"),
    COLUMN(DevAnswer, said, .words = "answer of the encoder"),
    COLUMN(DevAnswer, line, .sparse = 1, .words = "line of the example in its file, from 1"),
    {0}};

#define MEAN(what) VALUE(what, .digits = 4, .sparse = 1, .words = what ", mean over seeds")

const Column finetune_columns[] = {
    VALUE("scheme", .place = 1, .page = 1),
    VALUE("start", .place = 2, .page = 2),
    VALUE("layers"),
    VALUE("params", .place = 3, .page = 3, .head = "parameters"),
    VALUE("seeds", .place = 4, .page = 4, .words = "number of encoders"),
    VALUE("chosen", .digits = 3, .place = 5, .page = 5,
          .words = "mean of the scores by which rate, seed and epoch were chosen"),
    VALUE("score", .digits = 3, .form = SHEET_FIXED, .place = 6, .page = 6, .low = "score_low",
          .high = "score_high", .half = "± (seeds)",
          .words = "score on the dev text, by the metric that chose; mean over seeds"),
    VALUE("score_low"),
    VALUE("score_high"),
    VALUE("score_sd", .words = "standard deviation over seeds"),
    VALUE("drawn_low", .digits = 3, .form = SHEET_FIXED, .place = 7, .page = 7,
          .head = "from (drawn)", .words = "lower end of its 95 % interval over drawn examples"),
    VALUE("drawn_high", .digits = 3, .form = SHEET_FIXED, .place = 8, .page = 8, .head = "to",
          .words = "upper end of that interval"),
    MEAN("accuracy"),
    MEAN("f1"),
    MEAN("matthews"),
    MEAN("pearson"),
    MEAN("spearman"),
    {0}};

/* ---- answers ------------------------------------------------------------------------------------- */

static const char *cell_of(const RunTable *t, size_t run, const char *name)
{
    return frame_text(&t->file[t->row[run].file], t->row[run].row, name);
}

static double number_of(const RunTable *t, size_t run, const char *name)
{
    double x = NAN;
    runtable_cell(cell_of(t, run, name), &x);
    return x;
}

/* Returns the answers of a run; of number `rows`: the gold ones. */
static Answers answers(const Study *u, size_t run)
{
    const Finetune *f = u->more;
    return (Answers){f->n, f->label + run * f->n,
                     run < u->table.rows ? f->said + run * f->n : f->gold};
}

/* Is x a valid answer? For a metric of classes it must be a class. */
static int is_answer(const Finetune *f, double x)
{
    if (agreements[f->metric].of == ANSWERS_VALUES) return isfinite(x);
    return x >= 0 && x < 1e6 && x == floor(x);
}

static void take(const Study *u, size_t run, size_t i, double x)
{
    const Finetune *f = u->more;
    *(run < u->table.rows ? &f->said[run * f->n + i] : &f->gold[i]) = x;
    if (agreements[f->metric].of != ANSWERS_VALUES) f->label[run * f->n + i] = (int32_t)x;
}

/* Reads the answers of a run in their order. */
static int read_answers(const Study *u, size_t run, const Frame *c)
{
    const Finetune *f = u->more;
    const RunTable *t = &u->table;
    size_t i = 0;
    for (size_t row = 0; row < c->rows; row++) {
        DevAnswer p;
        if (strcmp(frame_text(c, row, "start"), cell_of(t, run, "start")) != 0) continue;
        TRY(frame_record(c, row, finetune_answers, &p));
        if (i == f->n || p.example != (double)(i + 1) || !is_answer(f, p.said) ||
            !is_answer(f, p.gold))
            return error_set(ERR_INPUT, "%s:%zu: a number is missing, or no such label", c->file,
                             c->line[row + 1]);
        if (run > 0 && p.gold != f->gold[i]) break;
        take(u, run, i, p.said);
        take(u, t->rows, i++, p.gold);
    }
    if (i == f->n) return 0;
    return error_set(ERR_INPUT, "%s and %s have other dev texts", t->file[t->row[run].file].file,
                     t->file[0].file);
}

/* Checks that a run is of its design's size, and that its score is that of its answers. */
static int check_run(const Study *u, size_t run)
{
    const Finetune *f = u->more;
    const RunTable *t = &u->table;
    const char *file = t->file[t->row[run].file].file;
    const RunDesign *d = &t->design[t->row[run].design];
    const Answers said = answers(u, run), gold = answers(u, t->rows);
    double score = NAN, there = number_of(t, run, "score");
    if (number_of(t, run, "params") != number_of(t, d->first, "params"))
        return error_set(ERR_INPUT, "%s: %s has another number of parameters than before", file,
                         d->name);
    TRY(agreement_score(f->metric, &said, &gold, &score));
    if (fabs(score - there) <= 1e-9) return 0;
    return error_set(ERR_INPUT, "%s: %s of %s is %.6g in it and %.6g of predictions.csv", file,
                     agreements[f->metric].name, cell_of(t, run, "start"), there, score);
}

/* Reads the answers of all runs, which lie beside their tables; a file's runs follow one another. */
static int read_all(const Study *u)
{
    const RunTable *t = &u->table;
    size_t open = SIZE_MAX;
    char path[OUTPUT_PATH];
    SCOPED(frame_close) Frame c = {0};
    for (size_t run = 0; run < t->rows; run++) {
        const char *file = t->file[t->row[run].file].file;
        if (t->row[run].file != open) {
            frame_close(&c);
            snprintf(path, sizeof path, "%.*spredictions.csv",
                     (int)(strlen(file) - strlen("runs.csv")), file);
            TRY(frame_read(&c, path));
            open = t->row[run].file;
        }
        TRY(read_answers(u, run, &c));
        TRY(check_run(u, run));
    }
    return 0;
}

/* ---- drawn examples ------------------------------------------------------------------------------ */

/* Bootstraps designs (n); out (n). */
static int bootstrap(const Study *u, const size_t *design, size_t n, Resampled *out)
{
    const Finetune *f = u->more;
    const RunTable *t = &u->table;
    size_t runs[2] = {0, 0}, all = 0;
    const Answers gold = answers(u, t->rows);
    SCOPED(memory_drop) Answers *run = memory_new(t->rows, 2 * sizeof *run);
    if (!run) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = t->design[design[i]].first; k != SIZE_MAX; k = t->row[k].next, runs[i]++)
            run[all++] = answers(u, k);
    return agreement_bootstrap(f->metric, &gold, run, runs, n, BOOTSTRAP_RESAMPLES, BOOTSTRAP_SEED,
                               out);
}

int finetune_draw(const void *study, const RunTable *t, size_t design, size_t less, size_t measure,
                  RunDrawn *out)
{
    Resampled drawn[2];
    (void)t;
    (void)measure;
    TRY(bootstrap(study, (size_t[]){less, design}, 2, drawn));
    *out = (RunDrawn){drawn[1].difference_low, drawn[1].difference_high, drawn[1].p_two_sided};
    return 0;
}

void finetune_more(const void *study, const RunTable *t, size_t design, Frame *out, size_t row)
{
    const Finetune *f = ((const Study *)study)->more;
    (void)t;
    frame_put(out, row, "drawn_low", f->own[design].low);
    frame_put(out, row, "drawn_high", f->own[design].high);
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* Finds the task and its metric, which are those of all runs, and makes room for answers. */
static int find_task(Study *u)
{
    Finetune *f = u->more;
    const RunTable *t = &u->table;
    snprintf(f->name, sizeof f->name, "%s", t->rows ? cell_of(t, 0, "task") : "");
    f->metric = t->rows ? agreement_find(cell_of(t, 0, "metric")) : -1;
    double examples = t->rows ? number_of(t, 0, "examples") : NAN;
    if (f->metric < 0 || !*f->name || !(examples >= 1 && examples < 1e9))
        return error_set(ERR_INPUT, "%s: not the results of a fine-tuning", t->file[0].file);
    f->n = (size_t)examples;
    f->gold = memory_new(f->n, sizeof *f->gold);
    f->said = memory_new(t->rows, f->n * sizeof *f->said);
    f->label = memory_new(t->rows + 1, f->n * sizeof *f->label);
    f->own = memory_new(t->designs, sizeof *f->own);
    return f->gold && f->said && f->label && f->own ? 0 : ERR_MEMORY;
}

int finetune_read(Study *u)
{
    Finetune *f = u->more;
    TRY(find_task(u));
    TRY(read_all(u));
    for (size_t i = 0; i < u->table.designs; i++) TRY(bootstrap(u, &i, 1, &f->own[i]));
    return 0;
}

/* Returns the first design of this start, and unless `of` is NULL of its scheme and depth; else their number. */
static size_t find(const RunTable *t, const char *start, const RunDesign *of)
{
    size_t i = 0;
    for (; i < t->designs; i++) {
        size_t run = t->design[i].first;
        if (strcmp(cell_of(t, run, "start"), start) != 0) continue;
        if (!of || (strcmp(cell_of(t, run, "scheme"), cell_of(t, of->first, "scheme")) == 0 &&
                    strcmp(cell_of(t, run, "layers"), cell_of(t, of->first, "layers")) == 0))
            break;
    }
    return i;
}

/* Each pre-trained encoder less the fresh one, and each less the first of its start. */
int finetune_differences(const Study *u, Sheet *out)
{
    const RunTable *t = &u->table;
    for (size_t i = 0; i < t->designs; i++) {
        const char *start = cell_of(t, t->design[i].first, "start");
        size_t fresh = find(t, "fresh", &t->design[i]), first = find(t, start, NULL);
        if (fresh != i && fresh < t->designs) TRY(runtable_one(t, i, fresh, out));
        if (first != i) TRY(runtable_one(t, i, first, out));
    }
    return 0;
}

int finetune_caption(const Study *u, int brief, FILE *f)
{
    const Finetune *of = u->more;
    const Agreement *a = &agreements[of->metric];
    (void)brief;
    fprintf(
        f,
        "Task %s has %zu examples in its dev text. score is %s; majority always says %s.\n"
        "fresh is the same encoder without pre-training. ± (seeds) is half of the 95 %% interval "
        "over\npre-trainings; from and to (drawn) hold 95 %% of %d dev texts drawn from the "
        "examples of this one.\n",
        of->name, of->n, a->title,
        a->of == ANSWERS_VALUES ? "the mean of the labels" : "the most frequent label",
        BOOTSTRAP_RESAMPLES);
    return 0;
}
