/* sweep_table.c: writes the table of runs of a sweep, and makes of it a row for each word, differences, correlations, and
 * the halves of good and bad words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/sweep/sweep.h"
#include "studies/tools/output.h"

/* ---- runs.csv ------------------------------------------------------------------------------------ */

/* A run and its word. */
typedef struct {
    const char *word, *scheme, *families, *part, *diverged;
    size_t layers, seed, sublayers, epochs;
    double area_size;
    RunResult run;
    Word of;
} WordRow;

const Column sweep_run_columns[] = {
    COLUMN(WordRow, word),
    COLUMN(WordRow, seed),
    FIELD(WordRow, "valid_ppl", run.valid_ppl),
    FIELD(WordRow, "test_ppl", run.test_ppl),
    COLUMN(WordRow, part, .words = "choice: the run chose its word"),
    COLUMN(WordRow, diverged),
    COLUMN(WordRow, families),
    COLUMN(WordRow, scheme),
    COLUMN(WordRow, layers),
    FIELD(WordRow, "s", of.count[0]),
    FIELD(WordRow, "f", of.count[1]),
    COLUMN(WordRow, sublayers),
    FIELD(WordRow, "k", of.k),
    FIELD(WordRow, "area", of.area),
    FIELD(WordRow, "|area|", area_size),
    FIELD(WordRow, "relative_area", of.share),
    FIELD(WordRow, "FFG", of.FFG),
    FIELD(WordRow, "FGG", of.FGG),
    FIELD(WordRow, "order", of.order),
    FIELD(WordRow, "order_trained", of.order_trained),
    FIELD(WordRow, "error_norm", of.norm),
    FIELD(WordRow, "euler_norm", of.euler_norm),
    FIELD(WordRow, "bottom_s", of.halves.bottom[0]),
    FIELD(WordRow, "bottom_f", of.halves.bottom[1]),
    FIELD(WordRow, "top_s", of.halves.top[0]),
    FIELD(WordRow, "top_f", of.halves.top[1]),
    FIELD(WordRow, "evals_F", of.count[0]),
    FIELD(WordRow, "evals_G", of.count[1]),
    FIELD(WordRow, "params", run.params),
    FIELD(WordRow, "best_epoch", run.best_epoch),
    FIELD(WordRow, "tokens_per_s", run.tokens_per_s),
    FIELD(WordRow, "peak_bytes", run.peak_bytes),
    COLUMN(WordRow, epochs),
    {0}};

const Column sweep_shown_columns[] = {COLUMN(WordRow, word),
                                      FIELD(WordRow, "area", of.area),
                                      FIELD(WordRow, "evals_F", of.count[0]),
                                      FIELD(WordRow, "evals_G", of.count[1]),
                                      FIELD(WordRow, "params", run.params),
                                      COLUMN(WordRow, seed),
                                      FIELD(WordRow, "valid_ppl", run.valid_ppl),
                                      FIELD(WordRow, "test_ppl", run.test_ppl),
                                      {0}};

/* The sandwich that its first seed chose is counted without that seed, which is a lucky one. */
static int is_choice(const Sweep *u, const Word *w, size_t k)
{
    return options_flag(u->options, "confirm") && u->best < u->words && w == &u->word[u->best] &&
           w->seeds > 1 && k == 0;
}

static void add_run(const Sweep *u, const Word *w, size_t k, Sheet *out)
{
    char families[96];
    size_t n = 0;
    if (isnan(w->result[k].valid_ppl)) return;
    for (int family = 0; family < FAMILIES; family++)
        if (sweep_is(w, family))
            n += (size_t)snprintf(families + n, sizeof families - n, "%s%s", n ? " " : "",
                                  sweep_family(family));
    sheet_row(
        out,
        &(WordRow){.word = w->letters,
                   .scheme = w->scheme->name,
                   .families = families,
                   .part = is_choice(u, w, k) ? "choice" : NULL,
                   .diverged = runs_diverged(&w->result[k], 1, u->corpus.vocab.size) ? "yes" : NULL,
                   .layers = options_size(u->options, "layers"),
                   .seed = u->seed + k,
                   .sublayers = w->count[0] + w->count[1],
                   .epochs = options_size(u->options, "epochs"),
                   .area_size = fabs(w->area),
                   .run = w->result[k],
                   .of = *w});
}

int sweep_runs_sheet(const Sweep *u, const Column *list, Sheet **out)
{
    TRY(sheet_new(list, out));
    for (size_t i = 0; i < u->words; i++)
        for (size_t k = 0; k < u->word[i].seeds; k++) add_run(u, &u->word[i], k, *out);
    return 0;
}

int sweep_record(const Sweep *u)
{
    Sheet *s;
    TRY(sweep_runs_sheet(u, sweep_run_columns, &s));
    int code = output_sheet(s, SHEET_CSV, u->dir, "runs.csv");
    sheet_free(s);
    return code;
}

/* ---- words --------------------------------------------------------------------------------------- */

const Column sweep_word_columns[] = {
    VALUE("word", .place = 1, .page = 1),
    VALUE("families", .place = 2, .page = 1, .words = "families that the word belongs to"),
    VALUE("s", .place = 3),
    VALUE("f", .place = 4),
    VALUE("k"),
    VALUE("area", .place = 5, .page = 1,
          .words = "signed area between the word's path and its chord, the coefficient of [F,G]"),
    VALUE("relative_area"),
    VALUE("FFG"),
    VALUE("FGG"),
    VALUE("order", .place = 6, .page = 1,
          .words =
              "exact order of the word as a splitting by exact flows; empty where it has no error"),
    VALUE("order_trained", .head = "trained", .place = 7, .page = 1,
          .words =
              "exact order of the word as the network trains it, by Euler sub-steps: at most 1"),
    VALUE("error_norm", .head = "error norm", .digits = 4, .place = 8, .page = 1,
          .words = "norm of the leading error of the splitting by exact flows"),
    VALUE("euler_norm", .page = 1, .words = "the same norm for Euler sub-flows, as in the network"),
    VALUE("bottom_s"),
    VALUE("bottom_f"),
    VALUE("top_s"),
    VALUE("top_f"),
    VALUE("evals_F"),
    VALUE("evals_G"),
    VALUE("params", .page = 1),
    VALUE("seeds", .page = 1),
    VALUE("valid_ppl", .head = "valid ppl", .half = "±", .low = "valid_low", .high = "valid_high",
          .form = SHEET_FIXED, .digits = 2, .place = 9, .page = 1),
    VALUE("valid_sd"),
    VALUE("valid_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("valid_high"),
    VALUE("test_ppl", .head = "test ppl", .half = "±", .low = "test_low", .high = "test_high",
          .form = SHEET_FIXED, .digits = 2, .place = 10, .page = 1),
    VALUE("test_sd"),
    VALUE("test_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("test_high"),
    VALUE("better", .page = 1,
          .words = "whether validation perplexity is lower than the baseline's mean"),
    {0}};

const Column sweep_sandwich_columns[] = {
    VALUE("k"),          VALUE("word"),
    VALUE("area"),       VALUE("seeds"),
    VALUE("valid_ppl"),  VALUE("valid_low", .words = STATISTICS_POSITIVE_LOW),
    VALUE("valid_high"), {0}};

int sweep_of(const Sweep *u, size_t design, int family)
{
    const char *name = u->table.design[design].name;
    for (size_t i = 0; i < u->words; i++)
        if (strcmp(u->word[i].letters, name) == 0) return sweep_is(&u->word[i], family);
    return 0;
}

double sweep_first(const Sweep *u, size_t design)
{
    for (size_t i = 0; i < u->words; i++)
        if (strcmp(u->word[i].letters, u->table.design[design].name) == 0)
            return u->word[i].result[0].valid_ppl;
    return NAN;
}

int sweep_has_baseline(const Sweep *u)
{
    return u->base < u->table.designs;
}

int sweep_is_better(const Sweep *u, size_t design)
{
    const RunDesign *d = u->table.design;
    return sweep_has_baseline(u) && d[design].mean[0].mean < d[u->base].mean[0].mean;
}

static int more(const void *study, const RunTable *t, size_t design, const char *name,
                RunValue *out)
{
    const Sweep *u = study;
    (void)t;
    if (strcmp(name, "better") != 0) return 0;
    *out = (RunValue){!sweep_has_baseline(u)       ? NULL
                      : sweep_is_better(u, design) ? "yes"
                                                   : "no",
                      NAN};
    return 1;
}

/* Makes the sheets with a row a word: as they are, and from the best to the worst on validation. order (designs): room. */
static int add_words(Sweep *u, size_t *order)
{
    const RunTable *t = &u->table;
    for (size_t i = 0; i < t->designs; i++) {
        size_t at = i;
        for (; at > 0 && t->design[i].mean[0].mean < t->design[order[at - 1]].mean[0].mean; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    TRY(runtable_sheet(t, sweep_word_columns, more, u, NULL, t->designs, &u->own[0], &u->wide));
    return runtable_sheet(t, sweep_word_columns, more, u, order, t->designs, &u->own[1], &u->brief);
}

/* ---- data of plots ------------------------------------------------------------------------------- */

typedef struct {
    const char *family, *word;
    double k, area, error_norm, valid_ppl, test_ppl;
    size_t seed;
} FamilyRow;

const Column sweep_family_columns[] = {
    COLUMN(FamilyRow, family), COLUMN(FamilyRow, word),       COLUMN(FamilyRow, k),
    COLUMN(FamilyRow, seed),   COLUMN(FamilyRow, valid_ppl),  COLUMN(FamilyRow, test_ppl),
    COLUMN(FamilyRow, area),   COLUMN(FamilyRow, error_norm), {0}};

/* Adds the rows that plots read, one for each run and family. The rows of a family follow one another, as
 * gnuplot sums bins only over neighbouring rows. */
static int add_families(Sweep *u)
{
    TRY(sheet_new(sweep_family_columns, &u->plotted));
    for (int family = 0; family < FAMILIES; family++)
        for (size_t i = 0; i < u->words; i++) {
            const Word *w = &u->word[i];
            for (size_t k = 0; sweep_is(w, family) && k < w->seeds; k++)
                if (!isnan(w->result[k].valid_ppl))
                    sheet_row(u->plotted, &(FamilyRow){sweep_family(family), w->letters,
                                                       w->k < 0 ? (double)NAN : (double)w->k,
                                                       w->area, w->norm, w->result[k].valid_ppl,
                                                       w->result[k].test_ppl, u->seed + k});
        }
    return 0;
}

/* Makes the sheet of sandwiches by k. order (designs): room. */
static int add_sandwiches(Sweep *u, size_t *order)
{
    const RunTable *t = &u->table;
    size_t n = 0;
    for (int k = 0; k < (int)u->pairs; k++)
        for (size_t i = 0; i < u->words; i++) {
            size_t at = u->word[i].k == k ? runtable_find(t, 0, u->word[i].letters) : t->designs;
            if (at < t->designs) order[n++] = at;
        }
    return runtable_sheet(t, sweep_sandwich_columns, NULL, NULL, order, n, &u->own[2],
                          &u->sandwiches);
}

/* ---- halves -------------------------------------------------------------------------------------- */

/* A row of halves.csv: sublayers of a kind in one half of words. */
typedef struct {
    const char *half, *sublayer, *models;
    Interval count; /* over words */
} HalfRow;

const Column sweep_half_columns[] = {
    COLUMN(HalfRow, half, .words = "half of the word; bottom is nearest the input"),
    COLUMN(HalfRow, sublayer, .words = "s: attention; f: feed-forward"),
    COLUMN(HalfRow, models, .words = "whether the words are better than the baseline's mean"),
    FIELD(HalfRow, "words", count.n),
    FIELD(HalfRow, "mean", count.mean, .low = "low", .high = "high",
          .words = "mean number of these sublayers in that half"),
    FIELD(HalfRow, "low", count.low),
    FIELD(HalfRow, "high", count.high),
    {0}};

/* Adds the mean count of a kind of sublayer in a half of the drawn words that are better, or not, than the
 * baseline's mean. x (designs): room. */
static void add_half(Sweep *u, const char *half, const char *kind, int better, double *x)
{
    char name[16];
    size_t n = 0;
    snprintf(name, sizeof name, "%s_%s", half, kind);
    for (size_t i = 0; i < u->table.designs; i++)
        if ((sweep_of(u, i, FAMILY_PERMUTATION) || sweep_of(u, i, FAMILY_RANDOM)) &&
            sweep_is_better(u, i) == better)
            x[n++] = runtable_value(&u->table, i, name).x;
    sheet_row(u->halves,
              &(HalfRow){half, kind, better ? "better" : "not better", statistics_mean(x, 1, n)});
}

static int add_halves(Sweep *u, double *x)
{
    static const char *const half[] = {"bottom", "top"}, *const kind[] = {"s", "f"};
    TRY(sheet_new(sweep_half_columns, &u->halves));
    for (int i = 0; i < 2 && sweep_has_baseline(u); i++)
        for (int j = 0; j < 2; j++)
            for (int better = 1; better >= 0; better--) add_half(u, half[i], kind[j], better, x);
    return 0;
}

/* ---- all ----------------------------------------------------------------------------------------- */

#define QUANTITIES(text, y)                                                           \
    {text, y, "area", "area", NULL}, {text, y, "|area|", "|area|", NULL},             \
        {text, y, "relative_area", "relative_area", NULL}, {text, y, "s", "s", NULL}, \
        {text, y, "f", "f", NULL}, {text, y, "sublayers", "sublayers", NULL},         \
        {text, y, "bottom_s", "bottom_s", NULL}, {text, y, "top_f", "top_f", NULL},   \
    {                                                                                 \
        text, y, "params", "params", NULL                                             \
    }

static int add_correlations(Sweep *u)
{
    static const RunRelation all[] = {QUANTITIES("validation", "valid_ppl"),
                                      QUANTITIES("test", "test_ppl"),
                                      {0}},
                             shown[] = {QUANTITIES("validation", "valid_ppl"), {0}};
    TRY(sheet_new(runtable_correlations, &u->correlations));
    TRY(sheet_new(runtable_correlations, &u->related));
    TRY(runtable_relate(&u->table, all, "families", u->seed, u->correlations));
    return runtable_relate(&u->table, shown, "families", u->seed, u->related);
}

static int add_differences(Sweep *u)
{
    RunTable *t = &u->table;
    TRY(runtable_new(t, runtable_differences, &u->own[3], &u->differences));
    if (sweep_has_baseline(u)) TRY(runtable_baseline(t, t->design[u->base].name, 0));
    TRY(runtable_dunnett(t, u->differences));
    return options_flag(u->options, "all-pairs") ? runtable_tukey(t, u->differences) : 0;
}

static int open_table(Sweep *u)
{
    static const RunTableAsked asked = {.design = "word",
                                        .seed = "seed",
                                        .measure = {{"valid_ppl", "valid", "validation", 0, 1},
                                                    {"test_ppl", "test", "test", 0, 1}}};
    TRY(output_path(u->runs_file, u->dir, "runs.csv"));
    TRY(runtable_open((const char *[]){u->runs_file}, 1, &asked, &u->table));
    u->base = u->interleaved == u->words
                  ? u->table.designs
                  : runtable_find(&u->table, 0, u->word[u->interleaved].letters);
    return 0;
}

int sweep_tables(Sweep *u)
{
    TRY(open_table(u));
    size_t *order = memory_new(u->table.designs, sizeof *order);
    double *x = memory_new(u->table.designs, sizeof *x);
    int code = order && x ? add_differences(u) : ERR_MEMORY;
    if (code == 0) code = add_words(u, order);
    if (code == 0) code = add_sandwiches(u, order);
    if (code == 0) code = add_families(u);
    if (code == 0) code = add_halves(u, x);
    if (code == 0) code = add_correlations(u);
    memory_free(order);
    memory_free(x);
    return code;
}
