/* published_save.c: writes the papers' figures beside a study's own as tables and as a plot. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/plot/plot.h"
#include "studies/runs/published.h"
#include "studies/tools/output.h"

/* ---- pairs ------------------------------------------------------------------------------------- */

/* Finds the next design from *at on that is the map of a row, or NULL; *at moves behind it. */
static int next_design(const PublishedStudy *s, const Published *p, size_t *at, const Design **out)
{
    BridgeOptions o = s->bridge;
    for (*out = NULL; !*out && *at < s->designs; ++*at) {
        int same;
        o.layers = s->design[*at].layers;
        TRY(published_same(s->zoo, &o, p, s->design[*at].scheme, &same));
        if (same) *out = &s->design[*at];
    }
    return 0;
}

static int add_pairs(const PublishedStudy *s, const Published *p, Beside *list, size_t *count)
{
    const Published *b = published_baseline(p);
    const Design *ours, *base = NULL;
    Pooled spread[2];
    size_t at = 0;
    TRY(published_spread(p, s->design, s->designs, spread));
    if (b) TRY(next_design(s, b, &at, &base));
    for (at = 0;;) {
        TRY(next_design(s, p, &at, &ours));
        if (!ours) return 0;
        TRY(published_beside(p, ours, base, spread, &list[(*count)++]));
    }
}

int published_find(const PublishedStudy *s, Beside **list, size_t *count)
{
    const char *corpus = published_corpus(s->corpus);
    int code = 0;
    *list = NULL;
    *count = 0;
    if (!corpus || s->designs == 0) return 0;
    Beside *found = memory_new(published_count * s->designs, sizeof *found);
    if (!found) return ERR_MEMORY;
    for (const Published *p = published; code == 0 && p < published + published_count; p++)
        if (strcmp(p->corpus, corpus) == 0) code = add_pairs(s, p, found, count);
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
    Design ours;
    Beside beside;
    const char *measure, *size;
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
    FIELD(Figure, design, ours.name, .place = 3, .page = 1),                                       \
    FIELD(Figure, "layers", ours.layers, .place = 4, .page = 1),                                   \
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

const Column published_schemes[] = {COLUMNS("scheme"), {0}};
const Column published_words[] = {COLUMNS("word"), {0}};

static int make_table(const PublishedStudy *s, const Beside *list, size_t n, Sheet **out)
{
    char size[96];
    snprintf(size, sizeof size, "d %zu, inner %zu, %zu heads", s->bridge.width, s->bridge.inner,
             s->heads);
    TRY(sheet_new(s->columns, out));
    for (const Beside *b = list; b < list + n; b++)
        sheet_row(*out, &(Figure){*b->row, *b->ours, *b, published_measure(b->row->measure), size});
    return 0;
}

/* Returns 1 where two rows do not differ in measure, size and note. */
static int is_told(const Published *a, const Published *b)
{
    return a->measure == b->measure && strcmp(a->size, b->size) == 0 &&
           strcmp(a->note, b->note) == 0;
}

/* Prints what the papers report about their models, once where it is the same. */
static void print_sizes(const Beside *list, size_t n, FILE *f)
{
    for (size_t i = 0; i < n; i++) {
        const Published *p = list[i].row;
        size_t k = 0;
        while (!is_told(list[k].row, p)) k++;
        if (k == i)
            fprintf(f, "- %s, %s: %s; %s; %s.\n", p->source, p->row, published_measure(p->measure),
                    p->size, p->note);
    }
}

static int print_brief(const PublishedStudy *s, const Beside *list, size_t n, const Sheet *table,
                       FILE *f)
{
    fprintf(
        f,
        "The table shows the papers' figures on the %s beside ours (width %zu, inner %zu, "
        "%zu heads).\nTheir models have another recipe than ours, so a difference from a paper's "
        "figure (less) is not the\neffect of a scheme. ± is half of the 95 %% interval over "
        "seeds (Student's t) of our mean, and of less\ntoo, as the paper's figure is taken as "
        "exact. A ratio divides the paper's figure by that of its\nbaseline, or ours by that of "
        "our baseline (geometric means); it is below 1 where the scheme is\nbetter than the "
        "baseline. from and to are the ends of the 95 %% interval of valid ratio, with one\n"
        "standard deviation of the logarithms, pooled over our designs of that depth.\n\n",
        list->row->corpus, s->bridge.width, s->bridge.inner, s->heads);
    TRY(sheet_write(table, SHEET_MARKDOWN, f));
    fputs("\nThe papers' models:\n\n", f);
    print_sizes(list, n, f);
    return 0;
}

static int save_markdown(const PublishedStudy *s, const Beside *list, size_t n, const Sheet *table,
                         const char *dir)
{
    Output o;
    TRY(output_open(&o));
    return output_put(&o, print_brief(s, list, n, table, o.f), dir, "published.md");
}

/* ---- gain against gain ------------------------------------------------------------------------- */

static int has_gain(const Beside *b)
{
    return b->gain[0].n > 0 && !isnan(b->ratio);
}

static void draw_pair(const PublishedStudy *s, Plot *p, const Beside *b, size_t i)
{
    char words[160];
    int x = sheet_column(s->columns, "published_ratio"),
        y = sheet_column(s->columns, "valid_ratio");
    snprintf(words, sizeof words, "%.60s, %zu layer%s", b->ours->name, b->ours->layers,
             b->ours->layers == 1 ? "" : "s");
    int low = sheet_column(s->columns, "valid_ratio_pooled_low");
    size_t look = (size_t)(b->ours - s->design); /* a design has one look in all rows */
    if (!isnan(b->gain[0].low)) {
        plot_item(p, "published.csv", "every ::%zu::%zu using %d:%d:(0):($%d-$%d)", i + 1, i + 1, x,
                  low, sheet_column(s->columns, "valid_ratio_pooled_high"), low);
        plot_interval(p, plot_colour(look), 1.5);
    }
    plot_item(p, "published.csv",
              "every ::%zu::%zu using %d:%d with points title %s noenhanced pt %d ps 1.6 lc rgb %s",
              i + 1, i + 1, x, y, words, plot_point(look), plot_colour(look));
}

static int draw(const PublishedStudy *s, const Beside *list, size_t n, const char *dir)
{
    size_t gains = 0;
    Plot *p;
    PlotFrame frame = {"published", "Gain over the baseline: the papers' and ours, 95 % intervals",
                       "the paper's figure / its baseline's", "ours / our baseline's (validation)",
                       0};
    for (size_t i = 0; i < n; i++) gains += (size_t)has_gain(&list[i]);
    if (gains < 2) return 0;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05");
    plot_setting(p, "set xtics 0.01\nset format x '%%.2f'");
    plot_item(p, NULL, "x with lines title 'as in the paper' lw 1 dt 2 lc rgb '#777777'");
    plot_level(p, 1, "no gain");
    for (size_t i = 0; i < n; i++)
        if (has_gain(&list[i])) draw_pair(s, p, &list[i], i);
    return plot_finish(p);
}

int published_save(const PublishedStudy *s, const char *dir)
{
    Beside *list;
    Sheet *table = NULL;
    size_t n;
    TRY(published_find(s, &list, &n));
    if (n == 0) return 0;
    int code = make_table(s, list, n, &table);
    if (code == 0) code = output_sheet(table, SHEET_CSV, dir, "published.csv");
    if (code == 0) code = output_sheet(table, SHEET_LATEX, dir, "published.tex");
    if (code == 0) code = save_markdown(s, list, n, table, dir);
    if (code == 0) code = draw(s, list, n, dir);
    sheet_free(table);
    memory_free(list);
    return code;
}
