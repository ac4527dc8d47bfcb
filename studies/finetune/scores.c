/* scores.c: reads result.csv and predictions.csv of fine-tuned encoders (scores.h). */
#include "studies/finetune/scores.h"

#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/csv.h"
#include "studies/tools/output.h"

#define SCORE(of, what) \
    FIELD(ScoreRow, what, score[of], .digits = 4, .sparse = 1, .words = what " on the dev text")

const Column score_results[] = {
    COLUMN(ScoreRow, task, .words = "task, or file of labelled sentences"),
    COLUMN(ScoreRow, metric, .words = "metric by which rate, seed and epoch were chosen"),
    COLUMN(ScoreRow, scheme),
    COLUMN(ScoreRow, start,
           .words = "pretrained; fresh: the same encoder without pre-training; majority: the most "
                    "frequent label always, of numbers their mean"),
    COLUMN(ScoreRow, layers),
    COLUMN(ScoreRow, params),
    COLUMN(ScoreRow, model_seed, .words = "seed of the pre-training"),
    COLUMN(ScoreRow, rate, .words = "chosen peak learning rate"),
    COLUMN(ScoreRow, seed, .words = "chosen seed"),
    COLUMN(ScoreRow, best_epoch, .words = "chosen epoch"),
    COLUMN(ScoreRow, chosen, .digits = 4,
           .words = "score of the choice, on a part of the training text"),
    SCORE(AGREEMENT_ACCURACY, "accuracy"),
    SCORE(AGREEMENT_F1, "f1"),
    SCORE(AGREEMENT_MATTHEWS, "matthews"),
    SCORE(AGREEMENT_PEARSON, "pearson"),
    SCORE(AGREEMENT_SPEARMAN, "spearman"),
    COLUMN(ScoreRow, examples, .words = "number of examples in the dev text"),
    {0}};

const Column score_predictions[] = {
    COLUMN(DevAnswer, start, .words = "pretrained or fresh"),
    COLUMN(DevAnswer, example, .words = "number of the example in the dev text, from 1"),
    COLUMN(DevAnswer, gold, .words = "its label: number of the class from 0, or value"),
    COLUMN(DevAnswer, said, .words = "answer of the encoder"),
    COLUMN(DevAnswer, line, .sparse = 1, .words = "line of the example in its file, from 1"),
    {0}};

/* ---- texts --------------------------------------------------------------------------------------- */

/* Returns a copy of a text that lives as long as s; NULL: no memory. */
static const char *keep(Scores *s, const char *text)
{
    char **grown = memory_grow(s->name, s->names, s->names + 1, sizeof *grown);
    if (!grown) return NULL;
    s->name = grown;
    s->name[s->names] = memory_string(text);
    return s->name[s->names++];
}

static int same_or_first(Scores *s, char **of, const char *text, const char *what, const char *dir)
{
    if (!*of) *of = memory_string(text);
    if (!*of) return ERR_MEMORY;
    if (strcmp(*of, text) == 0) return 0;
    return error_set(ERR_INPUT, "%s is of %s %s, and %s of %s", dir, what, text, s->dir, *of);
}

/* ---- a directory --------------------------------------------------------------------------------- */

typedef struct {
    Scores *s;
    const char *dir;
    Csv result, predictions;
} Directory;

static int missing(const Csv *c)
{
    return error_set(ERR_INPUT, "%s: a number is missing, or no such label", c->file);
}

/* Is x a valid prediction? For a metric of classes it must be a class. */
static int is_answer(const Scores *s, double x)
{
    if (agreements[s->choose].of == ANSWERS_VALUES) return isfinite(x);
    return x >= 0 && x < 1e6 && x == floor(x);
}

/* Reads the predictions of a start in their order: said (n) and gold. */
static int take_predictions(Directory *d, const char *start, size_t n, double *said, double *gold)
{
    const Csv *c = &d->predictions;
    size_t i = 0;
    for (size_t row = 0; row < c->rows; row++) {
        DevAnswer p;
        if (strcmp(csv_named(c, row, "start"), start) != 0) continue;
        TRY(csv_record(c, row, score_predictions, &p));
        if (i == n || p.example != (double)(i + 1) || !is_answer(d->s, p.said) ||
            !is_answer(d->s, p.gold))
            return missing(c);
        said[i] = p.said;
        gold[i++] = p.gold;
    }
    return i == n ? 0 : missing(c);
}

static int same_gold(Directory *d, size_t n, const double *gold)
{
    Scores *s = d->s;
    if (!s->gold) {
        s->n = n;
        s->gold = memory_new(n, sizeof *s->gold);
        if (!s->gold) return ERR_MEMORY;
        memcpy(s->gold, gold, n * sizeof *gold);
    }
    if (s->n == n && memcmp(s->gold, gold, n * sizeof *gold) == 0) return 0;
    return error_set(ERR_INPUT, "%s and %s have other dev texts", d->dir, s->dir);
}

static int is_there(const Scores *s, const ScoreRow *r)
{
    for (size_t i = 0; i < s->runs; i++) {
        const ScoreRow *o = &s->run[i].row;
        if (strcmp(o->scheme, r->scheme) == 0 && strcmp(o->start, r->start) == 0 &&
            o->layers == r->layers && o->model_seed == r->model_seed && o->params == r->params)
            return 1;
    }
    return 0;
}

Answers scores_answers(const Scores *s, const double *x, int32_t *label)
{
    if (agreements[s->choose].of == ANSWERS_VALUES) return (Answers){s->n, NULL, x};
    for (size_t i = 0; i < s->n; i++) label[i] = (int32_t)x[i];
    return (Answers){s->n, label, NULL};
}

/* Checks that the score of a row is that of its predictions. */
static int same_score(const Directory *d, const ScoreRow *row, const double *said)
{
    const Scores *s = d->s;
    int m = s->choose;
    double score = NAN;
    int32_t *label = memory_new(s->n, 2 * sizeof *label);
    if (!label) return ERR_MEMORY;
    Answers p = scores_answers(s, said, label), g = scores_answers(s, s->gold, label + s->n);
    int code = agreement_score(m, &p, &g, &score);
    memory_free(label);
    if (code != 0 || fabs(score - row->score[m]) <= 1e-9) return code;
    return error_set(ERR_INPUT, "%s: %s of %s is %.6g in result.csv and %.6g of predictions.csv",
                     d->dir, agreements[m].name, row->start, row->score[m], score);
}

static int add_run(Directory *d, const ScoreRow *row)
{
    Scores *s = d->s;
    size_t n = (size_t)row->examples;
    if (is_there(s, row))
        return error_set(ERR_INPUT, "%s: %s, %s, of model seed %g is in a directory before too",
                         d->dir, row->scheme, row->start, row->model_seed);
    ScoredRun *grown = memory_grow(s->run, s->runs, s->runs + 1, sizeof *grown);
    double *said = memory_new(n, sizeof *said), *gold = memory_new(n, sizeof *gold);
    if (grown) s->run = grown;
    int code = grown && said && gold ? take_predictions(d, row->start, n, said, gold) : ERR_MEMORY;
    if (code == 0) code = same_gold(d, n, gold);
    if (code == 0) code = same_score(d, row, said);
    memory_free(gold);
    if (code != 0) {
        memory_free(said);
        return code;
    }
    s->run[s->runs++] = (ScoredRun){*row, said};
    return 0;
}

static int take_row(Directory *d, size_t i)
{
    const Csv *c = &d->result;
    Scores *s = d->s;
    ScoreRow row;
    const char *metric = csv_named(c, i, "metric");
    TRY(csv_record(c, i, score_results, &row));
    TRY(same_or_first(s, &s->task, csv_named(c, i, "task"), "task", d->dir));
    TRY(same_or_first(s, &s->metric, metric, "metric", d->dir));
    s->choose = agreement_find(metric);
    if (s->choose < 0)
        return error_set(ERR_INPUT, "%s: no metric has the name '%.60s'", c->file, metric);
    row.task = s->task;
    row.metric = s->metric;
    row.scheme = keep(s, csv_named(c, i, "scheme"));
    row.start = keep(s, csv_named(c, i, "start"));
    if (!row.scheme || !row.start) return ERR_MEMORY;
    if (!(row.examples >= 1 && row.examples < 1e9)) return missing(c);
    if (strcmp(row.start, "majority") != 0) return add_run(d, &row);
    s->majority = row;
    return 0;
}

static int take_rows(Directory *d)
{
    const Csv *c = &d->result;
    if (c->rows == 0 || csv_column(c, "task") < 0 || csv_column(c, "start") < 0 ||
        csv_column(&d->predictions, "start") < 0)
        return error_set(ERR_INPUT, "%s: not the results of a fine-tuning", c->file);
    for (size_t i = 0; i < c->rows; i++) TRY(take_row(d, i));
    return 0;
}

int scores_take(Scores *s, const char *dir)
{
    char path[2][OUTPUT_PATH];
    Directory d = {.s = s, .dir = dir};
    if (!s->dir) s->dir = memory_string(dir);
    if (!s->dir) return ERR_MEMORY;
    TRY(output_path(path[0], dir, "result.csv"));
    TRY(output_path(path[1], dir, "predictions.csv"));
    TRY(csv_open(&d.result, path[0]));
    int code = csv_open(&d.predictions, path[1]);
    if (code == 0) {
        code = take_rows(&d);
        csv_close(&d.predictions);
    }
    csv_close(&d.result);
    return code;
}

void scores_free(Scores *s)
{
    for (size_t i = 0; i < s->runs; i++) memory_free(s->run[i].said);
    for (size_t i = 0; i < s->names; i++) memory_free(s->name[i]);
    memory_free(s->run);
    memory_free(s->name);
    memory_free(s->gold);
    memory_free(s->task);
    memory_free(s->metric);
    memory_free(s->dir);
    *s = (Scores){0};
}
