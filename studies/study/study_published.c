/* study_published.c: puts the papers' figures beside a study's own, as tables (beside.h). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/model/network.h"
#include "studies/study/beside.h"
#include "studies/tools/command.h"

/* ---- the same map -------------------------------------------------------------------------------- */

int beside_same(const Zoo *z, const BridgeOptions *o, const Published *p, const Table *t, int *same)
{
    BridgeOptions theirs = *o;
    Table *scheme;
    Plan *a, *b;
    *same = 0;
    theirs.layers = p->layers;
    theirs.norm = NORM_PRE; /* as in both papers' word-level models */
    TRY(zoo_find(z, p->scheme, "euler", &scheme));
    int code = bridge_plan(scheme, &theirs, &a);
    table_free(scheme);
    if (code != 0) return code;
    code = bridge_plan(t, o, &b);
    if (code == 0) {
        code = plan_same(a, b, same);
        plan_free(b);
    }
    plan_free(a);
    return code;
}

static int is_same(const Study *u, const Published *p, const StudyDesign *d, int *same)
{
    BridgeOptions o = network_bridge(u->options);
    const Table *encoder = d->spec.encoder;
    *same = encoder && p->encoder && strcmp(p->encoder, encoder->name) == 0 &&
            strcmp(p->scheme, d->spec.scheme->name) == 0;
    o.layers = d->spec.layers;
    return encoder || p->encoder ? 0 : beside_same(&u->schemes.zoo, &o, p, d->spec.scheme, same);
}

/* ---- ours beside it ------------------------------------------------------------------------------ */

static double run_value(const Published *p, const StudyRun *r, int split)
{
    double ppl = split ? r->result.test_ppl : r->result.valid_ppl;
    if (p->measure == MEASURE_BLEU)
        return r->value[study_value_at(split ? "test_bleu" : "valid_bleu")];
    return published_measures[p->measure].bits ? log2(ppl) : ppl;
}

static Interval moved(Interval i, double by)
{
    i.mean += by;
    i.low += by;
    i.high += by;
    return i;
}

/* Returns the interval of the mean logarithm, or mean, over the seeds; x (seeds): room. */
static Interval mean_of(const Published *p, const StudyDesign *d, int split, int logarithm,
                        double *x)
{
    for (size_t k = 0; k < d->seeds; k++) {
        x[k] = run_value(p, &d->run[k], split);
        if (logarithm) x[k] = log(x[k]);
    }
    return logarithm ? statistics_mean(x, 1, d->seeds) : statistics_positive(x, 1, d->seeds);
}

/* Fills in the comparison for one text. x: room for the seeds of either design. */
static void compare_split(Beside *b, int split, const Pooled *spread, double *x)
{
    static const Interval none = {0, NAN, NAN, NAN, NAN, NAN};
    b->value[split] = mean_of(b->row, b->ours, split, 0, x);
    b->less[split] = published_measures[b->row->measure].of[split]
                         ? moved(b->value[split], -b->row->figure)
                         : none;
    b->gain[split] = none;
    if (!b->base) return;
    Interval ours = mean_of(b->row, b->ours, split, 1, x);
    Interval base = mean_of(b->row, b->base, split, 1, x);
    Difference d = statistics_difference(spread, &ours, &base);
    if (!isnan(d.mean))
        b->gain[split] = (Interval){ours.n, exp(d.mean), NAN, exp(d.low), exp(d.high), d.p};
}

int beside_compare(const Published *p, const StudyDesign *ours, const StudyDesign *base,
                   const Pooled spread[2], Beside *out)
{
    const Published *b = published_baseline(p);
    *out = (Beside){.row = p, .ours = ours, .base = p == b ? NULL : base};
    out->ratio = b && b != p ? p->figure / b->figure : NAN;
    double *x = memory_new(ours->seeds + (base ? base->seeds : 0), sizeof *x);
    if (!x) return ERR_MEMORY;
    for (int split = 0; split < 2; split++) compare_split(out, split, &spread[split], x);
    memory_free(x);
    return 0;
}

int beside_spread(const Study *u, const Published *p, Pooled spread[2])
{
    size_t most = 0, m = 0;
    for (size_t i = 0; i < u->designs; i++)
        most = u->design[i].seeds > most ? u->design[i].seeds : most;
    double *x = memory_new(most, sizeof *x);
    Interval *list = memory_new(u->designs, sizeof *list);
    for (int split = 0; x && list && split < 2; split++, m = 0) {
        for (size_t i = 0; i < u->designs; i++) {
            const StudyDesign *d = &u->design[i];
            if (d->same == i && d->spec.layers == p->layers && !study_diverged(u, d))
                list[m++] = mean_of(p, d, split, 1, x);
        }
        spread[split] = statistics_pool(list, m);
    }
    int code = x && list ? 0 : ERR_MEMORY;
    memory_free(x);
    memory_free(list);
    return code;
}

/* ---- pairs --------------------------------------------------------------------------------------- */

/* Finds the next design from *at on that is the map of a row, or NULL; *at moves behind it. */
static int next_design(const Study *u, const Published *p, size_t *at, const StudyDesign **out)
{
    for (*out = NULL; !*out && *at < u->designs; ++*at) {
        int same;
        TRY(is_same(u, p, &u->design[*at], &same));
        if (same) *out = &u->design[*at];
    }
    return 0;
}

/* Adds a row with every design that is its map. */
static int add_pairs(const Study *u, const Published *p, Beside *list, size_t *count)
{
    const Published *b = published_baseline(p);
    const StudyDesign *ours, *base = NULL;
    Pooled spread[2];
    size_t at = 0;
    TRY(beside_spread(u, p, spread));
    if (b) TRY(next_design(u, b, &at, &base));
    for (at = 0;;) {
        TRY(next_design(u, p, &at, &ours));
        if (!ours) return 0;
        TRY(beside_compare(p, ours, base, spread, &list[(*count)++]));
    }
}

/* Adds a row of pairs, whether or not the study has it. own 1: the study's corpus and words are the row's. */
static int add_listed(const Study *u, const Published *p, int own, Beside *list, size_t *count)
{
    static const Interval none = {0, NAN, NAN, NAN, NAN, NAN};
    size_t before = *count;
    if (own) TRY(add_pairs(u, p, list, count));
    if (*count == before)
        list[(*count)++] = (Beside){p, NULL, NULL, {none, none}, {none, none}, NAN, {none, none}};
    return 0;
}

/* Returns 1 where the study's pairs are those of the row: Multi30k's target here is German, and its words as they are cut. */
static int is_own(const Study *u, const Published *p, const char *corpus)
{
    const char *to = u->kind->pairs ? options_text(u->options, "target") : NULL;
    if (!corpus || strcmp(p->corpus, corpus) != 0) return 0;
    return !u->kind->pairs ||
           (to && strcmp(to, "de") == 0 && options_choice(u->options, "tokenize") == TOKENIZE_NONE);
}

int beside_find(const Study *u, Beside **list, size_t *count)
{
    const char *corpus = published_corpus(&u->corpus);
    int code = 0;
    *list = NULL;
    *count = 0;
    if ((!corpus && !u->kind->pairs) || u->designs == 0) return 0;
    Beside *found = memory_new(published_count * u->designs, sizeof *found);
    if (!found) return ERR_MEMORY;
    for (const Published *p = published; code == 0 && p < published + published_count; p++) {
        int own = is_own(u, p, corpus);
        if (u->kind->pairs && p->measure >= MEASURE_BLEU)
            code = add_listed(u, p, own, found, count);
        else if (!u->kind->pairs && own)
            code = add_pairs(u, p, found, count);
    }
    if (code == 0 && *count) {
        *list = found;
        return 0;
    }
    memory_free(found);
    *count = 0;
    return code;
}

/* ---- tables ------------------------------------------------------------------------------------ */

/* A row of the tables: copies of the paper's row, of the design and of their comparison. */
typedef struct {
    Published paper;
    const char *ours, *measure, *size;
    size_t layers;
    Beside beside;
} Figure;

/* clang-format off */
#define NUMBER(name, member, decimals, ...)                                                        \
    FIELD(Figure, name, member, .form = SHEET_FIXED, .digits = decimals, __VA_ARGS__)
#define INTERVAL(name, member, ...)                                                                \
    NUMBER(name, member.mean, 2, .low = name "_low", .high = name "_high",                         \
           __VA_ARGS__),                                                                           \
    FIELD(Figure, name "_low", member.low),                                                        \
    FIELD(Figure, name "_high", member.high)
#define COLUMNS(design)                                                                            \
    FIELD(Figure, "source", paper.source, .place = 1, .page = 1, .words = "paper and table"),      \
    FIELD(Figure, "row", paper.row, .place = 2, .page = 1),                                        \
    FIELD(Figure, design, ours, .place = 3, .page = 1),                                       \
    COLUMN(Figure, layers, .place = 4, .page = 1),                                   \
    FIELD(Figure, "corpus", paper.corpus),                                                         \
    COLUMN(Figure, measure, .page = 1),                                                            \
    NUMBER("published", paper.figure, 2, .head = "paper", .place = 5, .page = 1),                  \
    FIELD(Figure, "seeds", beside.value[0].n, .page = 1),                                          \
    INTERVAL("valid", beside.value[0], .head = "validation", .half = "±", .page = 2, .place = 6),  \
    INTERVAL("test", beside.value[1], .half = "±", .page = 3, .place = 8),                         \
    INTERVAL("valid_less", beside.less[0], .head = "less", .page = 2, .place = 7),                 \
    INTERVAL("test_less", beside.less[1], .head = "less", .page = 3, .place = 9),                  \
    NUMBER("published_ratio", beside.ratio, 3, .head = "paper ratio", .place = 10, .page = 4),     \
    NUMBER("valid_ratio", beside.gain[0].mean, 3, .head = "valid ratio", .place = 11, .page = 4,   \
           .low = "valid_ratio_pooled_low", .high = "valid_ratio_pooled_high"),                    \
    NUMBER("valid_ratio_pooled_low", beside.gain[0].low, 3, .head = "from", .place = 12),          \
    NUMBER("valid_ratio_pooled_high", beside.gain[0].high, 3, .head = "to", .place = 13),          \
    NUMBER("test_ratio", beside.gain[1].mean, 3, .page = 4,                                        \
          .low = "test_ratio_pooled_low", .high = "test_ratio_pooled_high"),                       \
    FIELD(Figure, "test_ratio_pooled_low", beside.gain[1].low),                                    \
    FIELD(Figure, "test_ratio_pooled_high", beside.gain[1].high),                                  \
    FIELD(Figure, "published_size", paper.size, .page = 4),                                        \
    COLUMN(Figure, size, .page = 4),                                                               \
    FIELD(Figure, "note", paper.note, .page = 4)
/* clang-format on */

const Column beside_schemes[] = {COLUMNS("scheme"), {0}};
const Column beside_words[] = {COLUMNS("word"), {0}};
const Column beside_pairs[] = {COLUMNS("pair"), {0}};

/* Returns the columns, in which the study's own name for its designs stands. */
static const Column *columns_of(const Study *u)
{
    const Column *const list[] = {beside_schemes, beside_words, beside_pairs};
    size_t i = 0;
    while (strcmp(list[i][2].name, u->kind->asked.design) != 0) i++;
    return list[i];
}

static int make_table(const Study *u, const Beside *list, size_t n, Sheet **out)
{
    char size[96];
    const Options *o = u->options;
    snprintf(size, sizeof size, "d %zu, inner %zu, %zu heads", options_size(o, "width"),
             options_size(o, "inner"), options_size(o, "heads"));
    TRY(sheet_new(columns_of(u), out));
    for (const Beside *b = list; b < list + n; b++)
        sheet_row(*out, &(Figure){*b->row, b->ours ? b->ours->name : NULL,
                                  published_measures[b->row->measure].words, b->ours ? size : NULL,
                                  b->ours ? b->ours->spec.layers : SIZE_MAX, *b});
    return 0;
}

int study_published(const Study *u)
{
    Beside *list;
    Sheet *table = NULL;
    size_t n;
    TRY(beside_find(u, &list, &n));
    if (n == 0) return 0;
    int code = make_table(u, list, n, &table);
    if (code == 0) code = output_sheet(table, SHEET_CSV, u->dir, "published.csv");
    if (code == 0) code = output_sheet(table, SHEET_LATEX, u->dir, "published.tex");
    sheet_free(table);
    memory_free(list);
    return code;
}
