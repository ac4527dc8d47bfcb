/* scores_table.c: tabulates cells of fine-tuned encoders: means, both kinds of intervals, differences (scores.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/finetune/scores.h"
#include "studies/metrics/bootstrap.h"
#include "studies/statistics/statistics.h"
#include "studies/tools/output.h"

/* A difference over seeds, and its interval over drawn examples. */
typedef struct {
    Difference seeds;
    double low, high, p;
} Gap;

/* The runs of one scheme, depth, size and start. */
typedef struct {
    const ScoreRow *row; /* row of the first run */
    double layers, params, runs, chosen, mean[AGREEMENTS];
    Interval score;   /* score by the metric that chose, over seeds */
    double low, high; /* over drawn examples */
    Gap gain,
        less_first; /* pretrained less fresh of the same scheme; less the first scheme of the same start */
    const char *name, *start;
} ScoreCell;

#define GAP(of, what)                                                                             \
    FIELD(ScoreCell, #of, of.seeds.mean, .low = #of "_low", .high = #of "_high", .words = what),  \
        FIELD(ScoreCell, #of "_low", of.seeds.low), FIELD(ScoreCell, #of "_high", of.seeds.high), \
        FIELD(ScoreCell, #of "_drawn_low", of.low,                                                \
              .words = "lower end of its 95 % interval over drawn examples"),                     \
        FIELD(ScoreCell, #of "_drawn_high", of.high, .words = "upper end of that interval"),      \
        FIELD(ScoreCell, #of "_drawn_p", of.p, .words = "two-sided p over drawn examples")
#define MEAN(of, what) \
    FIELD(ScoreCell, what, mean[of], .digits = 4, .sparse = 1, .words = what ", mean over seeds")

const Column score_columns[] = {
    FIELD(ScoreCell, "scheme", name, .place = 1, .page = 1),
    COLUMN(ScoreCell, start, .place = 2, .page = 2),
    COLUMN(ScoreCell, layers),
    COLUMN(ScoreCell, params, .form = SHEET_FIXED, .place = 3, .page = 3, .head = "parameters"),
    COLUMN(ScoreCell, runs, .form = SHEET_FIXED, .place = 4, .page = 4,
           .words = "number of encoders"),
    COLUMN(ScoreCell, chosen, .digits = 3, .place = 5, .page = 5,
           .words = "mean of the scores by which rate, seed and epoch were chosen"),
    FIELD(ScoreCell, "score", score.mean, .digits = 3, .form = SHEET_FIXED, .place = 6, .page = 6,
          .low = "score_low", .high = "score_high", .half = "± (seeds)",
          .words = "score on the dev text, by the metric that chose; mean over seeds"),
    FIELD(ScoreCell, "score_low", score.low),
    FIELD(ScoreCell, "score_high", score.high),
    FIELD(ScoreCell, "score_sd", score.sd, .words = "standard deviation over seeds"),
    FIELD(ScoreCell, "drawn_low", low, .digits = 3, .form = SHEET_FIXED, .place = 7, .page = 7,
          .head = "from (examples)", .words = "lower end of its 95 % interval over drawn examples"),
    FIELD(ScoreCell, "drawn_high", high, .digits = 3, .form = SHEET_FIXED, .place = 8, .page = 8,
          .head = "to", .words = "upper end of that interval"),
    MEAN(AGREEMENT_ACCURACY, "accuracy"),
    MEAN(AGREEMENT_F1, "f1"),
    MEAN(AGREEMENT_MATTHEWS, "matthews"),
    MEAN(AGREEMENT_PEARSON, "pearson"),
    MEAN(AGREEMENT_SPEARMAN, "spearman"),
    GAP(gain, "score minus that of the same encoder without pre-training"),
    GAP(less_first, "score minus that of the first scheme with the same start"),
    {0}};

/* A row of the table for people, which is in no file. */
typedef struct {
    const char *what;
    Gap gap;
} GapRow;

static const Column gap_columns[] = {
    FIELD(GapRow, "difference", what, .place = 1),
    FIELD(GapRow, "score", gap.seeds.mean, .digits = 3, .form = SHEET_FIXED, .low = "low",
          .high = "high", .half = "± (seeds)", .place = 2),
    FIELD(GapRow, "low", gap.seeds.low),
    FIELD(GapRow, "high", gap.seeds.high),
    FIELD(GapRow, "p", gap.seeds.p, .digits = 2, .place = 3),
    FIELD(GapRow, "from", gap.low, .digits = 3, .form = SHEET_FIXED, .head = "from (examples)",
          .place = 4),
    FIELD(GapRow, "to", gap.high, .digits = 3, .form = SHEET_FIXED, .place = 5),
    FIELD(GapRow, "drawn_p", gap.p, .digits = 2, .head = "p", .place = 6),
    {0}};

typedef struct {
    const Scores *s;
    ScoreCell *cell; /* (cells) in the order of their first runs */
    size_t cells;
    size_t *of;     /* (runs) cell of each run */
    Answers *said;  /* (runs) */
    int32_t *label; /* (runs + 1, n) */
    Answers gold;
    Pooled pooled;
    Sheet *table, *gaps;
} Table;

static const Gap no_gap = {{NAN, NAN, NAN, NAN, NAN}, NAN, NAN, NAN};

/* ---- cells --------------------------------------------------------------------------------------- */

static int same_cell(const ScoreRow *a, const ScoreRow *b)
{
    return strcmp(a->scheme, b->scheme) == 0 && strcmp(a->start, b->start) == 0 &&
           a->layers == b->layers && a->params == b->params;
}

static void find_cells(Table *t)
{
    const Scores *s = t->s;
    for (size_t i = 0; i < s->runs; i++) {
        const ScoreRow *r = &s->run[i].row;
        size_t k = 0;
        while (k < t->cells && !same_cell(t->cell[k].row, r)) k++;
        if (k == t->cells)
            t->cell[t->cells++] = (ScoreCell){.row = r,
                                              .name = r->scheme,
                                              .start = r->start,
                                              .layers = r->layers,
                                              .params = r->params,
                                              .gain = no_gap,
                                              .less_first = no_gap};
        t->of[i] = k;
    }
}

/* Summarises a cell's runs; x (runs): work. */
static void summarise(const Table *t, ScoreCell *c, size_t k, double *x)
{
    size_t n = 0;
    double sum = 0;
    for (size_t i = 0; i < t->s->runs; i++) {
        if (t->of[i] != k) continue;
        sum += t->s->run[i].row.chosen;
        x[n++] = t->s->run[i].row.score[t->s->choose];
    }
    c->runs = (double)n;
    c->chosen = sum / (double)n;
    c->score = statistics_mean(x, 1, n);
    for (int m = 0; m < AGREEMENTS; m++) {
        n = 0;
        for (size_t i = 0; i < t->s->runs; i++)
            if (t->of[i] == k) x[n++] = t->s->run[i].row.score[m];
        c->mean[m] = statistics_mean(x, 1, n).mean;
    }
}

/* ---- differences --------------------------------------------------------------------------------- */

/* Writes the answers of cell k's runs to `run`. Returns their number. */
static size_t list_runs(const Table *t, size_t k, Answers *run)
{
    size_t n = 0;
    for (size_t i = 0; i < t->s->runs; i++)
        if (t->of[i] == k) run[n++] = t->said[i];
    return n;
}

/* Bootstraps cell b less cell a, and b's own interval. run (runs): work. */
static int draw(const Table *t, size_t a, size_t b, Answers *run, Resampled out[2])
{
    size_t runs[2] = {list_runs(t, a, run), 0};
    runs[1] = a == b ? 0 : list_runs(t, b, run + runs[0]);
    return agreement_bootstrap(t->s->choose, &t->gold, run, runs, a == b ? 1 : 2,
                               BOOTSTRAP_RESAMPLES, BOOTSTRAP_SEED, out);
}

static int find_gap(Table *t, size_t a, size_t b, Answers *run, Gap *g)
{
    Resampled drawn[2];
    TRY(draw(t, a, b, run, drawn));
    *g = (Gap){statistics_difference(&t->pooled, &t->cell[b].score, &t->cell[a].score),
               drawn[1].difference_low, drawn[1].difference_high, drawn[1].p_two_sided};
    return 0;
}

/* Finds the first cell of the same encoder with another start, or of another encoder with the
 * same start, or t->cells. */
static size_t other_start(const Table *t, size_t k)
{
    size_t i = 0;
    const ScoreRow *r = t->cell[k].row;
    for (; i < t->cells; i++) {
        ScoreRow o = *t->cell[i].row;
        if (strcmp(o.start, r->start) == 0) continue;
        o.start = r->start;
        if (same_cell(&o, r)) break;
    }
    return i;
}

static size_t first_scheme(const Table *t, size_t k)
{
    size_t i = 0;
    while (strcmp(t->cell[i].start, t->cell[k].start) != 0) i++;
    return i;
}

static void add_gap(Table *t, const ScoreCell *c, const char *format, const char *other,
                    const Gap *g)
{
    char what[200];
    snprintf(what, sizeof what, format, c->name, c->start, other);
    sheet_row(t->gaps, &(GapRow){what, *g});
}

static int find_gaps(Table *t, Answers *run)
{
    for (size_t k = 0; k < t->cells; k++) {
        ScoreCell *c = &t->cell[k];
        Resampled drawn[2];
        TRY(draw(t, k, k, run, drawn));
        c->low = drawn[0].low;
        c->high = drawn[0].high;
        size_t fresh = other_start(t, k), first = first_scheme(t, k);
        if (strcmp(c->start, "pretrained") == 0 && fresh < t->cells) {
            TRY(find_gap(t, fresh, k, run, &c->gain));
            add_gap(t, c, "%s: %s less %s", "fresh", &c->gain);
        }
        if (first == k) continue;
        TRY(find_gap(t, first, k, run, &c->less_first));
        add_gap(t, c, "%s, %s, less %s", t->cell[first].name, &c->less_first);
    }
    return 0;
}

/* ---- words and files ----------------------------------------------------------------------------- */

static int print_all(const Table *t, int form, FILE *f)
{
    const Scores *s = t->s;
    const Agreement *a = &agreements[s->choose];
    fprintf(
        f,
        "Task %s has %zu examples in its dev text. score is %s; majority always says %s.\n"
        "fresh is the same encoder without pre-training. ± (seeds) is half of the 95 %% interval "
        "over\npre-trainings; from and to (examples) hold 95 %% of %d dev texts drawn from the "
        "examples of this one.\n\n",
        s->task, s->n, a->title,
        a->of == ANSWERS_VALUES ? "the mean of the labels" : "the most frequent label",
        BOOTSTRAP_RESAMPLES);
    TRY(sheet_write(t->table, form, f));
    if (t->cells < 2) return 0;
    fprintf(f, "\nThe table shows differences of scores, with one standard deviation over "
               "pre-trainings for all of\nthem. Each p is of one comparison. A ranking needs both "
               "intervals to leave out 0.\n\n");
    return sheet_write(t->gaps, form, f);
}

static int save(const Table *t, const char *dir)
{
    Output o;
    TRY(output_sheet(t->table, SHEET_CSV, dir, "finetune.csv"));
    TRY(output_sheet(t->table, SHEET_LATEX, dir, "finetune.tex"));
    TRY(output_open(&o));
    return output_put(&o, print_all(t, SHEET_MARKDOWN, o.f), dir, "finetune.md");
}

/* Adds the baseline to the table itself. */
static void add_majority(Table *t)
{
    const ScoreRow *r = &t->s->majority;
    const char *name[AGREEMENTS + 2] = {"score"};
    double value[AGREEMENTS + 1] = {r->score[t->s->choose]};
    for (int m = 0; m < AGREEMENTS; m++) {
        name[m + 1] = agreements[m].name;
        value[m + 1] = r->score[m];
    }
    if (r->start) sheet_bound(t->table, r->start, name, value);
}

static int make(Table *t)
{
    const Scores *s = t->s;
    Answers *run = memory_new(2 * s->runs, sizeof *run);
    double *x = memory_new(s->runs, sizeof *x);
    Interval *list = memory_new(s->runs, sizeof *list);
    int code = run && x && list ? 0 : ERR_MEMORY;
    if (code == 0) {
        find_cells(t);
        t->gold = scores_answers(s, s->gold, t->label);
        for (size_t i = 0; i < s->runs; i++)
            t->said[i] = scores_answers(s, s->run[i].said, t->label + (i + 1) * s->n);
        for (size_t k = 0; k < t->cells; k++) {
            summarise(t, &t->cell[k], k, x);
            list[k] = t->cell[k].score;
        }
        t->pooled = statistics_pool(list, t->cells);
        code = find_gaps(t, run);
    }
    for (size_t k = 0; k < t->cells; k++) sheet_row(t->table, &t->cell[k]);
    add_majority(t);
    memory_free(run);
    memory_free(x);
    memory_free(list);
    return code;
}

int scores_tell(const Scores *s, const char *dir, int csv)
{
    Table t = {.s = s,
               .cell = memory_new(s->runs, sizeof *t.cell),
               .of = memory_new(s->runs, sizeof *t.of),
               .said = memory_new(s->runs, sizeof *t.said),
               .label = memory_new(s->runs + 1, s->n * sizeof *t.label)};
    int code = t.cell && t.of && t.said && t.label ? 0 : ERR_MEMORY;
    if (code == 0) code = sheet_new(score_columns, &t.table);
    if (code == 0) code = sheet_new(gap_columns, &t.gaps);
    if (code == 0) code = make(&t);
    if (code == 0) code = save(&t, dir);
    if (code == 0)
        code = csv ? sheet_write(t.table, SHEET_CSV, stdout) : print_all(&t, SHEET_PLAIN, stdout);
    sheet_free(t.table);
    sheet_free(t.gaps);
    memory_free(t.cell);
    memory_free(t.of);
    memory_free(t.said);
    memory_free(t.label);
    return code;
}
