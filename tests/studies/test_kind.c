/* test_kind.c: the commands' descriptions of the tables that they write: every column of a page has words, and no table or plot
 * is described twice. */
#include "tests/lib/test.h"

#include "studies/tools/kind.h"

/* Returns the first column without words of a table that pages show; NULL: there is none. */
static const char *untold(const Kind *k)
{
    const Column *shown[64];
    for (const KindTable *t = k->table; t->file; t++) {
        size_t n = kind_shown(t->columns, shown, 64);
        for (size_t j = 0; t->most && j < n; j++)
            if (!kind_column(k, shown[j]->name)) return shown[j]->name;
        for (const Column *c = t->columns; t->most && !n && (c->name || c->head); c++)
            if (c->name && !kind_column(k, c->name)) return c->name;
    }
    return NULL;
}

/* Returns the first column that a table of a kind has twice. */
static const char *ambiguous(const Kind *k)
{
    for (const KindTable *t = k->table; t->file; t++)
        for (const Column *c = t->columns; c->name || c->head; c++)
            for (const Column *d = t->columns; d < c; d++)
                if (c->name && d->name && strcmp(c->name, d->name) == 0) return c->name;
    return NULL;
}

/* Returns the first table or plot that stands twice in a kind. */
static const char *twice(const Kind *k)
{
    for (const KindTable *t = k->table; t->file; t++)
        for (const KindTable *u = k->table; u < t; u++)
            if (u->columns == t->columns && strcmp(u->file, t->file) == 0) return t->file;
    for (const KindPlot *p = k->plot; p->file; p++)
        for (const KindPlot *q = k->plot; q < p; q++)
            if (strcmp(p->file, q->file) == 0) return p->file;
    return NULL;
}

TEST(every_column_has_words)
{
    size_t kinds = 0;
    for (const Kind *k = kind_next(NULL); k; k = kind_next(k), kinds++) {
        if (untold(k)) fail_msg("%s: what is in column %s?", k->command, untold(k));
        if (ambiguous(k)) fail_msg("%s: two columns %s in a table", k->command, ambiguous(k));
        if (twice(k)) fail_msg("%s: %s is there twice", k->command, twice(k));
    }
    assert_true(kinds > 10);
}

TEST(what_lacks_words_is_seen)
{
    static const Column bare[] = {{.name = "scheme"}, {.name = "nobody-knows"}, {0}};
    static const Kind kind = {.command = "x",
                              .table = {{"a", bare, "", 1}, {"b", bare, "", 0}, {"a", bare, "", 0}},
                              .plot = {{"p", ""}, {"q", ""}}};
    assert_string_equal(untold(&kind), "nobody-knows");
    assert_string_equal(twice(&kind), "a");
    static const Column pair[] = {{.name = "scheme"}, {.name = "score"}, {.name = "scheme"}, {0}};
    static const Kind table = {.command = "z", .table = {{"a", pair, "", 0}}};
    assert_string_equal(ambiguous(&table), "scheme");
    assert_null(ambiguous(&kind));
    static const Kind plots = {.command = "y", .plot = {{"p", ""}, {"q", ""}, {"p", ""}}};
    assert_string_equal(twice(&plots), "p");
}

TEST_MAIN(NULL, NULL)
