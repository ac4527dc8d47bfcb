/* scores.c: tables of fine-tuned encoders: means, both kinds of intervals, differences (scores.h). */
#include "studies/finetune/scores.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/metrics/bootstrap.h"
#include "studies/tools/output.h"

#define SCORE(of, what) \
    FIELD(ScoreRow, what, score[of], .digits = 4, .sparse = 1, .words = what " on the dev text")

const Column score_results[] = {
    COLUMN(ScoreRow, task, .words = "task, or file of labelled sentences"),
    COLUMN(ScoreRow, metric, .words = "metric by which rate, seed and epoch were chosen"),
    COLUMN(ScoreRow, scheme,
           .words = "majority: the most frequent label always, of numbers their mean"),
    COLUMN(ScoreRow, start,
           .words =
               "pretrained; fresh: the same encoder without pre-training; majority: no encoder"),
    COLUMN(ScoreRow, part, .words = "bound: no run, but a number to be beaten"),
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

#define MEAN(what) VALUE(what, .digits = 4, .sparse = 1, .words = what ", mean over seeds")

const Column score_columns[] = {
    VALUE("scheme", .place = 1, .page = 1),
    VALUE("start", .place = 2, .page = 2),
    VALUE("layers"),
    VALUE("params", .form = SHEET_FIXED, .place = 3, .page = 3, .head = "parameters"),
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

typedef struct {
    RunTable table; /* of the result.csv of all directories */
    char task[256]; /* of all files */
    int metric;     /* the one that chose */
    size_t n;       /* examples */
    double *gold;   /* (n) */
    double *said;   /* (rows, n): of each run */
    int32_t *label; /* (rows + 1, n): the same as classes, the gold ones behind the others */
    Resampled *own; /* (designs): over drawn examples */
    Column *columns[2];
    Sheet *sheet, *differences;
} Scores;

static const char *cell_of(const RunTable *t, size_t run, const char *name)
{
    return csv_named(&t->file[t->row[run].file], t->row[run].row, name);
}

static double number_of(const RunTable *t, size_t run, const char *name)
{
    double x = NAN;
    runtable_cell(cell_of(t, run, name), &x);
    return x;
}

/* ---- answers ------------------------------------------------------------------------------------- */

/* Returns the answers of a run; of number `rows`: the gold ones. */
static Answers answers(const Scores *s, size_t run)
{
    return (Answers){s->n, s->label + run * s->n,
                     run < s->table.rows ? s->said + run * s->n : s->gold};
}

/* Is x a valid answer? For a metric of classes it must be a class. */
static int is_answer(const Scores *s, double x)
{
    if (agreements[s->metric].of == ANSWERS_VALUES) return isfinite(x);
    return x >= 0 && x < 1e6 && x == floor(x);
}

static void take(const Scores *s, size_t run, size_t i, double x)
{
    *(run < s->table.rows ? &s->said[run * s->n + i] : &s->gold[i]) = x;
    if (agreements[s->metric].of != ANSWERS_VALUES) s->label[run * s->n + i] = (int32_t)x;
}

/* Reads the answers of a run in their order. */
static int read_answers(Scores *s, size_t run, const Csv *c)
{
    const RunTable *t = &s->table;
    size_t i = 0;
    for (size_t row = 0; row < c->rows; row++) {
        DevAnswer p;
        if (strcmp(csv_named(c, row, "start"), cell_of(t, run, "start")) != 0) continue;
        TRY(csv_record(c, row, score_predictions, &p));
        if (i == s->n || p.example != (double)(i + 1) || !is_answer(s, p.said) ||
            !is_answer(s, p.gold))
            return error_set(ERR_INPUT, "%s:%zu: a number is missing, or no such label", c->file,
                             c->line[row + 1]);
        if (run > 0 && p.gold != s->gold[i]) break;
        take(s, run, i, p.said);
        take(s, t->rows, i++, p.gold);
    }
    if (i == s->n) return 0;
    return error_set(ERR_INPUT, "%s and %s have other dev texts", t->file[t->row[run].file].file,
                     t->file[0].file);
}

/* Checks that the score of a run is that of its answers. */
static int check_score(const Scores *s, size_t run)
{
    const RunTable *t = &s->table;
    const char *name = agreements[s->metric].name;
    const Answers said = answers(s, run), gold = answers(s, t->rows);
    double score = NAN, there = number_of(t, run, name);
    TRY(agreement_score(s->metric, &said, &gold, &score));
    if (fabs(score - there) <= 1e-9) return 0;
    return error_set(ERR_INPUT, "%s: %s of %s is %.6g in it and %.6g of predictions.csv",
                     t->file[t->row[run].file].file, name, cell_of(t, run, "start"), there, score);
}

/* Checks that a run is of its design's size. */
static int check_size(const Scores *s, size_t run)
{
    const RunTable *t = &s->table;
    const RunDesign *d = &t->design[t->row[run].design];
    if (number_of(t, run, "params") == number_of(t, d->first, "params")) return 0;
    return error_set(ERR_INPUT, "%s: %s has another number of parameters than before",
                     t->file[t->row[run].file].file, d->name);
}

/* Reads the answers of all runs; a file's runs follow one another. */
static int read_all(Scores *s, const char *const *dir)
{
    const RunTable *t = &s->table;
    size_t open = SIZE_MAX;
    char path[OUTPUT_PATH];
    Csv c = {0};
    int code = 0;
    for (size_t run = 0; run < t->rows && code == 0; run++) {
        size_t file = t->row[run].file;
        if (file != open) {
            csv_close(&c);
            c = (Csv){0};
            code = output_path(path, dir[file], "predictions.csv");
            if (code == 0) code = csv_open(&c, path);
            open = file;
        }
        if (code == 0) code = check_size(s, run);
        if (code == 0) code = read_answers(s, run, &c);
        if (code == 0) code = check_score(s, run);
    }
    csv_close(&c);
    return code;
}

/* ---- drawn examples ------------------------------------------------------------------------------ */

/* Bootstraps designs (n); out (n). */
static int bootstrap(const Scores *s, const size_t *design, size_t n, Resampled *out)
{
    const RunTable *t = &s->table;
    size_t runs[2] = {0, 0}, all = 0;
    const Answers gold = answers(s, t->rows);
    Answers *run = memory_new(t->rows, 2 * sizeof *run);
    if (!run) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        for (size_t k = t->design[design[i]].first; k != SIZE_MAX; k = t->row[k].next, runs[i]++)
            run[all++] = answers(s, k);
    int code = agreement_bootstrap(s->metric, &gold, run, runs, n, BOOTSTRAP_RESAMPLES,
                                   BOOTSTRAP_SEED, out);
    memory_free(run);
    return code;
}

static int draw(const void *study, const RunTable *t, size_t design, size_t less, size_t measure,
                RunDrawn *out)
{
    Resampled drawn[2];
    (void)t;
    (void)measure;
    TRY(bootstrap(study, (size_t[]){less, design}, 2, drawn));
    *out = (RunDrawn){drawn[1].difference_low, drawn[1].difference_high, drawn[1].p_two_sided};
    return 0;
}

static int more(const void *study, const RunTable *t, size_t design, const char *name,
                RunValue *out)
{
    const Scores *s = study;
    const struct {
        const char *name;
        double x;
    } list[] = {{"score", t->design[design].mean[0].mean},
                {"drawn_low", s->own[design].low},
                {"drawn_high", s->own[design].high}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (strcmp(name, list[i].name) == 0) {
            *out = (RunValue){NULL, list[i].x};
            return 1;
        }
    return 0;
}

/* ---- tables -------------------------------------------------------------------------------------- */

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

/* Adds each pre-trained encoder less the fresh one, and each less the first of its start. */
static int add_differences(Scores *s)
{
    const RunTable *t = &s->table;
    TRY(runtable_new(t, runtable_differences, &s->columns[1], &s->differences));
    for (size_t i = 0; i < t->designs; i++) {
        const char *start = cell_of(t, t->design[i].first, "start");
        size_t fresh = find(t, "fresh", &t->design[i]), first = find(t, start, NULL);
        if (fresh != i && fresh < t->designs) TRY(runtable_one(t, i, fresh, s->differences));
        if (first != i) TRY(runtable_one(t, i, first, s->differences));
    }
    return 0;
}

/* Adds the majority's row of the first file. */
static void add_majority(const Scores *s)
{
    const Csv *c = &s->table.file[0];
    const char *name[AGREEMENTS + 2] = {"score"};
    double value[AGREEMENTS + 1];
    for (size_t row = 0; row < c->rows; row++) {
        if (strcmp(csv_named(c, row, "part"), "bound") != 0) continue;
        for (int m = 0; m < AGREEMENTS; m++) {
            name[m + 1] = agreements[m].name;
            runtable_cell(csv_named(c, row, name[m + 1]), &value[m + 1]);
        }
        value[0] = value[s->metric + 1];
        sheet_bound(s->sheet, csv_named(c, row, "scheme"), name, value);
    }
}

static int print_all(const Scores *s, int form, FILE *f)
{
    const Agreement *a = &agreements[s->metric];
    fprintf(
        f,
        "Task %s has %zu examples in its dev text. score is %s; majority always says %s.\n"
        "fresh is the same encoder without pre-training. ± (seeds) is half of the 95 %% interval "
        "over\npre-trainings; from and to (drawn) hold 95 %% of %d dev texts drawn from the "
        "examples of this one.\n\n",
        s->task, s->n, a->title,
        a->of == ANSWERS_VALUES ? "the mean of the labels" : "the most frequent label",
        BOOTSTRAP_RESAMPLES);
    TRY(sheet_write(s->sheet, form, f));
    if (sheet_rows(s->differences) == 0) return 0;
    fprintf(f, "\nDifferences of scores have one standard deviation over pre-trainings for all of "
               "them. Each p is of one\ncomparison. A ranking needs both intervals to leave out "
               "0.\n");
    runtable_models(&s->table, f);
    fputc('\n', f);
    return sheet_write(s->differences, form, f);
}

static int save(const Scores *s, const char *dir)
{
    Output o;
    TRY(output_sheet(s->sheet, SHEET_CSV, dir, "finetune.csv"));
    TRY(output_sheet(s->sheet, SHEET_LATEX, dir, "finetune.tex"));
    TRY(output_sheet(s->differences, SHEET_CSV, dir, "differences.csv"));
    TRY(output_sheet(s->differences, SHEET_LATEX, dir, "differences.tex"));
    TRY(output_open(&o));
    return output_put(&o, print_all(s, SHEET_MARKDOWN, o.f), dir, "finetune.md");
}

/* ---- all ----------------------------------------------------------------------------------------- */

/* Finds the task and the metric of a file, which must be those of the first. */
static int find_task(Scores *s, const char *file, const char *first)
{
    Csv c;
    TRY(csv_open(&c, file));
    const char *task = c.rows ? csv_named(&c, 0, "task") : "";
    int metric = c.rows ? agreement_find(csv_named(&c, 0, "metric")) : -1, code = 0;
    if (metric < 0 || !*task)
        code = error_set(ERR_INPUT, "%s: not the results of a fine-tuning", file);
    else if (file == first)
        snprintf(s->task, sizeof s->task, "%s", task);
    else if (metric != s->metric || strcmp(task, s->task) != 0)
        code = error_set(ERR_INPUT, "%s is of task %s by %s, and %s of %s by %s", file, task,
                         agreements[metric].name, first, s->task, agreements[s->metric].name);
    if (file == first) s->metric = metric;
    csv_close(&c);
    return code;
}

/* Opens the table. path, file (n): room. */
static int open_table(Scores *s, const char *const *dir, size_t n, char (*path)[OUTPUT_PATH],
                      const char **file)
{
    RunTableAsked asked = {.design = "scheme,layers,start", .seed = "model_seed"};
    for (size_t i = 0; i < n; i++) {
        TRY(output_path(path[i], dir[i], "result.csv"));
        file[i] = path[i];
        TRY(find_task(s, file[i], file[0]));
    }
    asked.measure[0] = (RunMeasure){agreements[s->metric].name, "score", "score", 1, 0};
    TRY(runtable_open(file, n, &asked, &s->table));
    const RunTable *t = &s->table;
    double examples = number_of(t, 0, "examples");
    if (!(examples >= 1 && examples < 1e9))
        return error_set(ERR_INPUT, "%s: no number of examples", file[0]);
    s->n = (size_t)examples;
    s->gold = memory_new(s->n, sizeof *s->gold);
    s->said = memory_new(t->rows, s->n * sizeof *s->said);
    s->label = memory_new(t->rows + 1, s->n * sizeof *s->label);
    s->own = memory_new(t->designs, sizeof *s->own);
    return s->gold && s->said && s->label && s->own ? read_all(s, dir) : ERR_MEMORY;
}

static int make(Scores *s)
{
    RunTable *t = &s->table;
    t->draw = draw;
    t->study = s;
    for (size_t i = 0; i < t->designs; i++) TRY(bootstrap(s, &i, 1, &s->own[i]));
    TRY(runtable_sheet(t, score_columns, more, s, NULL, t->designs, &s->columns[0], &s->sheet));
    add_majority(s);
    return add_differences(s);
}

int scores_tell(const char *const *dir, size_t n, const char *out, int csv)
{
    Scores s = {0};
    char(*path)[OUTPUT_PATH] = memory_new(n, sizeof *path);
    const char **file = memory_new(n, sizeof *file);
    int code = path && file ? open_table(&s, dir, n, path, file) : ERR_MEMORY;
    if (code == 0) code = make(&s);
    if (code == 0) code = save(&s, out);
    if (code == 0)
        code = csv ? sheet_write(s.sheet, SHEET_CSV, stdout) : print_all(&s, SHEET_PLAIN, stdout);
    runtable_close(&s.table);
    sheet_free(s.sheet);
    sheet_free(s.differences);
    for (int i = 0; i < 2; i++) memory_free(s.columns[i]);
    memory_free(s.gold);
    memory_free(s.said);
    memory_free(s.label);
    memory_free(s.own);
    memory_free(path);
    memory_free(file);
    return code;
}
