/* runtable_relate.c: computes rank correlations over the designs of a table of runs. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"

static const Within none = {0, SIZE_MAX, NAN, NAN, NAN, NAN, NAN};

typedef struct {
    const char *text, *panel, *group, *quantity;
    Correlation c;
    Within w;
} CorrelationRow;

const Column runtable_correlations[] = {
    FIELD(CorrelationRow, "perplexity", text, .head = "measure",
          .words = "the numbers that are ranked"),
    COLUMN(CorrelationRow, panel, .sparse = 1,
           .words = "the part of the table that is looked at apart"),
    FIELD(CorrelationRow, "words", group, .sparse = 1,
          .words = "the designs that the correlation is over"),
    COLUMN(CorrelationRow, quantity),
    FIELD(CorrelationRow, "designs", c.n, .words = "maps that differ; equal maps count once"),
    FIELD(CorrelationRow, "rho", c.rho, .form = SHEET_FIXED, .digits = 2, .low = "low",
          .high = "high"),
    FIELD(CorrelationRow, "low", c.low, .form = SHEET_FIXED, .digits = 2),
    FIELD(CorrelationRow, "high", c.high, .form = SHEET_FIXED, .digits = 2),
    FIELD(CorrelationRow, "p", c.p, .digits = 2,
          .words = "probability that chance gives as large a correlation, over permutations"),
    FIELD(CorrelationRow, "groups", w.groups, .sparse = 1,
          .words = "groups of two designs or more, within which ranks are taken"),
    FIELD(CorrelationRow, "slope", w.slope, .digits = 3, .sparse = 1,
          .words =
              "the exponent of the measure as a power of the quantity, each group with its own "
              "factor"),
    FIELD(CorrelationRow, "slope_low", w.slope_low, .digits = 3, .sparse = 1,
          .words = "lower end of its 95 % interval"),
    FIELD(CorrelationRow, "slope_high", w.slope_high, .digits = 3, .sparse = 1,
          .words = "upper end of it"),
    {0}};

typedef struct {
    const RunTable *t;
    const char *groups; /* column; NULL: none */
    size_t measures;
    uint64_t seed;
    double *x, *y; /* (designs): room */
    size_t *group; /* (designs): room */
    Sheet *out;
} Relating;

/* Returns 1 where a text has this word. */
static int has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += n)
        if ((at == text || at[-1] == ' ') && (at[n] == '\0' || at[n] == ' ')) return 1;
    return 0;
}

/* Returns a number of a design: its column's mean over even seeds, or what is computed of it. */
static double value_of(const RunTable *t, size_t i, const char *name, const char *only)
{
    if (only && !(runtable_value(t, i, only).x > 0)) return NAN;
    return runtable_even(t, i, name);
}

/* Returns the mean of a number over the designs that are the map of design i. */
static double of_map(const RunTable *t, size_t i, const char *name, const char *only)
{
    double sum = 0, n = 0;
    for (size_t j = 0; j < t->designs; j++) {
        double x = t->design[j].same == i ? value_of(t, j, name, only) : NAN;
        if (isnan(x)) continue;
        sum += x;
        n++;
    }
    return n > 0 ? sum / n : NAN;
}

/* Adds a row over the designs of a panel whose groups have the word; NULL: over all. y: a column, text: words for it. */
static int relate(const Relating *r, const RunRelation *of, const char *text, const char *y,
                  size_t panel, const char *word)
{
    const RunTable *t = r->t;
    size_t n = 0;
    Correlation c;
    for (size_t i = 0; i < t->designs; i++) {
        if (t->design[i].panel != panel || t->design[i].same != i) continue;
        if (word && !has_word(runtable_value(t, i, r->groups).text, word)) continue;
        r->x[n] = of_map(t, i, of->x, of->only);
        r->y[n++] = of_map(t, i, y, NULL);
    }
    TRY(statistics_rank(r->x, r->y, n, r->seed, &c));
    if (isnan(c.rho)) return 0;
    sheet_row(r->out, &(CorrelationRow){text, t->by ? t->panel[panel] : NULL,
                                        word        ? word
                                        : r->groups ? "all"
                                                    : NULL,
                                        of->quantity, c, none});
    return 0;
}

/* Returns 1 where two designs are of one panel and equal in a column. */
static int are_equal(const RunTable *t, size_t i, size_t j, const char *column)
{
    if (t->design[i].panel != t->design[j].panel) return 0;
    RunValue a = runtable_value(t, i, column), b = runtable_value(t, j, column);
    return a.text && b.text ? strcmp(a.text, b.text) == 0 : !a.text && !b.text && a.x == b.x;
}

/* Adds a row over the designs of all panels, with ranks within those that are equal in a column. */
static int relate_within(const Relating *r, const RunRelation *of, const char *text, const char *y)
{
    const RunTable *t = r->t;
    char words[96];
    Within w;
    for (size_t i = 0; i < t->designs; i++) {
        int one = t->design[i].same == i;
        r->x[i] = one ? of_map(t, i, of->x, of->only) : NAN;
        r->y[i] = one ? of_map(t, i, y, NULL) : NAN;
        r->group[i] = 0;
        while (r->group[i] < i && !are_equal(t, i, r->group[i], of->within)) r->group[i]++;
    }
    TRY(statistics_within(r->x, r->y, r->group, t->designs, r->seed, &w));
    if (isnan(w.rho)) return 0;
    snprintf(words, sizeof words, "within %s", of->within);
    const Correlation c = {w.n, w.rho, NAN, NAN, w.p};
    sheet_row(r->out, &(CorrelationRow){text, NULL, words, of->quantity, c, w});
    return 0;
}

static int relate_all(const Relating *r, const RunRelation *list, size_t panel, const char *word)
{
    for (size_t m = 0; m < r->measures; m++)
        for (const RunRelation *of = list; of->x; of++)
            if (!of->y && !of->within)
                TRY(relate(r, of, r->t->measure[m].text, r->t->measure[m].column, panel, word));
    for (; list->x; list++)
        if (list->y) TRY(relate(r, list, list->text, list->y, panel, word));
    return 0;
}

/* Returns 1 where a word of design i's groups, at `at`, stands in an earlier design of the panel, or before. */
static int is_known(const Relating *r, size_t i, const char *word, const char *text, size_t at)
{
    for (size_t j = 0; j < i; j++)
        if (r->t->design[j].panel == r->t->design[i].panel &&
            has_word(runtable_value(r->t, j, r->groups).text, word))
            return 1;
    const char *first = strstr(text, word);
    return first < text + at;
}

/* Goes through the words of all groups of a panel, in the order in which they come. */
static int relate_groups(const Relating *r, const RunRelation *list, size_t panel)
{
    for (size_t i = 0; i < r->t->designs; i++) {
        const char *text =
            r->t->design[i].panel == panel ? runtable_value(r->t, i, r->groups).text : NULL;
        for (size_t at = 0, n; text && text[at]; at += n + (text[at + n] == ' ')) {
            char word[64];
            n = strcspn(text + at, " ");
            snprintf(word, sizeof word, "%.*s", (int)n, text + at);
            if (n && !is_known(r, i, word, text, at)) TRY(relate_all(r, list, panel, word));
        }
    }
    return 0;
}

int runtable_relate(const RunTable *t, const RunRelation *list, const char *groups, size_t measures,
                    uint64_t seed, Sheet *out)
{
    SCOPED(memory_drop) double *x = memory_new(2 * t->designs, sizeof *x);
    SCOPED(memory_drop) size_t *group = memory_new(t->designs, sizeof *group);
    if (!x || !group) return ERR_MEMORY;
    const Relating r = {t, groups, measures, seed, x, x + t->designs, group, out};
    for (size_t p = 0; p < t->panels; p++) {
        if (groups) TRY(relate_groups(&r, list, p));
        TRY(relate_all(&r, list, p, NULL));
    }
    for (size_t m = 0; m < measures; m++)
        for (const RunRelation *of = list; of->x; of++)
            if (of->within) TRY(relate_within(&r, of, t->measure[m].text, t->measure[m].column));
    return 0;
}
