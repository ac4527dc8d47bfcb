/* published_save.c: the papers' figures beside a study's own as tables and as a plot. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/output.h"
#include "studies/tools/plot.h"
#include "studies/runs/published.h"

/* ---- pairs ------------------------------------------------------------------------------------- */

/* The next design from *at on that is of a row, or NULL; *at moves behind it. */
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

enum { NAME_COLUMN = 2 }; /* of both, what the study calls its designs */
static const char *const columns[] = {"source",
                                      "row",
                                      "",
                                      "layers",
                                      "corpus",
                                      "measure",
                                      "published",
                                      "seeds",
                                      "valid",
                                      "valid_low",
                                      "valid_high",
                                      "test",
                                      "test_low",
                                      "test_high",
                                      "valid_less",
                                      "valid_less_low",
                                      "valid_less_high",
                                      "test_less",
                                      "test_less_low",
                                      "test_less_high",
                                      "published_ratio",
                                      "valid_ratio",
                                      "valid_ratio_pooled_low",
                                      "valid_ratio_pooled_high",
                                      "test_ratio",
                                      "test_ratio_pooled_low",
                                      "test_ratio_pooled_high",
                                      "published_size",
                                      "size",
                                      "note"};
static const char *const shown[] = {"source",      "row",  "",     "layers", "paper", "validation",
                                    "±",           "less", "test", "±",      "less",  "paper ratio",
                                    "valid ratio", "from", "to"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static void add_interval(Report *r, const Interval *i, int decimals)
{
    report_fixed(r, i->mean, decimals);
    report_fixed(r, i->low, decimals);
    report_fixed(r, i->high, decimals);
}

/* As the papers print them. */
static int decimals(const Published *p)
{
    return p->measure == MEASURE_BITS ? 4 : 2;
}

static void add_row(const PublishedStudy *s, const Beside *b, Report *r)
{
    const Published *p = b->row;
    char size[96];
    report_text(r, p->source);
    report_text(r, p->row);
    report_text(r, b->ours->name);
    report_size(r, b->ours->layers);
    report_text(r, p->corpus);
    report_text(r, published_measure(p->measure));
    report_fixed(r, p->figure, decimals(p));
    report_size(r, b->value[0].n);
    for (int i = 0; i < 2; i++) add_interval(r, &b->value[i], 2);
    for (int i = 0; i < 2; i++) add_interval(r, &b->less[i], 2);
    report_fixed(r, b->ratio, 4);
    for (int i = 0; i < 2; i++) add_interval(r, &b->gain[i], 4);
    report_text(r, p->size);
    snprintf(size, sizeof size, "d %zu, inner %zu, %zu heads", s->bridge.width, s->bridge.inner,
             s->heads);
    report_text(r, size);
    report_text(r, p->note);
}

static void add_brief(const Beside *b, Report *r)
{
    report_text(r, b->row->source);
    report_text(r, b->row->row);
    report_text(r, b->ours->name);
    report_size(r, b->ours->layers);
    report_fixed(r, b->row->figure, decimals(b->row));
    for (int i = 0; i < 2; i++) {
        report_fixed(r, b->value[i].mean, 2);
        report_fixed(r, 0.5 * (b->value[i].high - b->value[i].low), 2);
        report_fixed(r, b->less[i].mean, 2);
    }
    report_fixed(r, b->ratio, 3);
    add_interval(r, &b->gain[0], 3);
}

/* "scheme" or "word" in the place of the designs' column; the names live as long as `names`. */
static int open_report(const PublishedStudy *s, const char *const *list, size_t n,
                       const char **names, Report **out)
{
    for (size_t i = 0; i < n; i++) names[i] = i == NAME_COLUMN ? s->column : list[i];
    return report_new(n, names, out);
}

static int save_csv(const PublishedStudy *s, const Beside *list, size_t n, const char *dir)
{
    const char *names[COUNT(columns)];
    Report *r;
    TRY(open_report(s, columns, COUNT(columns), names, &r));
    for (size_t i = 0; i < n; i++) add_row(s, &list[i], r);
    int code = output_report(r, REPORT_CSV, dir, "published.csv");
    report_free(r);
    return code;
}

/* Whether two rows have nothing to be told apart by but their figures. */
static int is_told(const Published *a, const Published *b)
{
    return a->measure == b->measure && strcmp(a->size, b->size) == 0 &&
           strcmp(a->note, b->note) == 0;
}

/* What the papers tell of their models, once where it is the same. */
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

static int print_brief(const PublishedStudy *s, const Beside *list, size_t n, FILE *f)
{
    const char *names[COUNT(shown)];
    Report *r;
    fprintf(f,
            "The papers' figures on the %s beside ours: width %zu, inner %zu, %zu heads.\n"
            "Their models are of another recipe than ours, so that a difference from a paper's "
            "figure (less) is no\neffect of a scheme. ±: half of the 95 %% interval over seeds "
            "(Student's t), of the mean and of that\ndifference, the figure taken as exact. ratio: "
            "to the paper's baseline, and ours to ours (geometric means),\nbelow 1 where the "
            "scheme is better than the baseline; from, to: 95 %%, with one standard deviation of "
            "the\nlogarithms, pooled over the designs trained here.\n\n",
            list->row->corpus, s->bridge.width, s->bridge.inner, s->heads);
    TRY(open_report(s, shown, COUNT(shown), names, &r));
    for (size_t i = 0; i < n; i++) add_brief(&list[i], r);
    int code = report_write(r, REPORT_MARKDOWN, f);
    report_free(r);
    fputs("\nThe papers' models:\n\n", f);
    print_sizes(list, n, f);
    return code;
}

static int save_markdown(const PublishedStudy *s, const Beside *list, size_t n, const char *dir)
{
    char path[OUTPUT_PATH];
    Output o;
    TRY(output_path(path, dir, "published.md"));
    TRY(output_open(&o));
    int code = print_brief(s, list, n, o.f);
    if (code == 0) return output_close(&o, path);
    output_drop(&o);
    return code;
}

/* ---- gain against gain ------------------------------------------------------------------------- */

static int has_gain(const Beside *b)
{
    return b->gain[0].n > 0 && !isnan(b->ratio);
}

static int column_of(const char *name)
{
    int i = 0;
    while (strcmp(columns[i], name) != 0) i++;
    return i + 1;
}

static void draw_pair(Plot *p, const Beside *b, size_t i)
{
    char words[160];
    int x = column_of("published_ratio"), y = column_of("valid_ratio");
    snprintf(words, sizeof words, "%.60s, %zu layer%s", b->ours->name, b->ours->layers,
             b->ours->layers == 1 ? "" : "s");
    if (!isnan(b->gain[0].low))
        plot_item(p, "published.csv",
                  "every ::%zu::%zu using %d:%d:%d:%d with yerrorbars notitle pt 0 lw 1.5 lc rgb "
                  "%s",
                  i + 1, i + 1, x, y, y + 1, y + 2, plot_colour(i));
    plot_item(p, "published.csv",
              "every ::%zu::%zu using %d:%d with points title %s noenhanced pt %d ps 1.6 lc rgb %s",
              i + 1, i + 1, x, y, words, plot_point(i), plot_colour(i));
}

static int draw(const Beside *list, size_t n, const char *dir)
{
    size_t gains = 0;
    Plot *p;
    PlotFrame frame = {"published", "Gain over the baseline: the papers' and ours, 95 % intervals",
                       "the paper's figure / its baseline's",
                       "our validation perplexity / our baseline's", 0};
    for (size_t i = 0; i < n; i++) gains += (size_t)has_gain(&list[i]);
    if (gains < 2) return 0;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set offsets graph 0.05, graph 0.05, graph 0.05, graph 0.05");
    plot_setting(p, "set xtics 0.01\nset format x '%%.2f'");
    plot_item(p, NULL, "x with lines title 'as in the paper' lw 1 dt 2 lc rgb '#777777'");
    plot_level(p, 1, "no gain");
    for (size_t i = 0; i < n; i++)
        if (has_gain(&list[i])) draw_pair(p, &list[i], i);
    if (gains > 14) plot_taller(p, 29 * (gains - 14));
    return plot_finish(p);
}

int published_save(const PublishedStudy *s, const char *dir)
{
    Beside *list;
    size_t n;
    TRY(published_find(s, &list, &n));
    if (n == 0) return 0;
    int code = save_csv(s, list, n, dir);
    if (code == 0) code = save_markdown(s, list, n, dir);
    if (code == 0) code = draw(list, n, dir);
    memory_free(list);
    return code;
}
