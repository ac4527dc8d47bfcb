/* runtable_columns.c: finds the columns of a table of runs: those that were named, and by rule those that were not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "kernels/base/error.h"
#include "studies/lab/table/runtable.h"
#include "kernels/base/nearest.h"

/* A column of any of the files, and what its cells hold. */
typedef struct {
    const char *name;
    int numbers, texts, varies;
    int given; /* 1: an option of trainings */
} Seen;

int runtable_cell(const char *text, double *x)
{
    char *end;
    *x = NAN;
    if (!*text || strcmp(text, "NA") == 0) return CELL_MISSING;
    double read = strtod(text, &end);
    if (end == text || end[strspn(end, " ")]) return CELL_TEXT;
    *x = read;
    return isfinite(*x) ? CELL_NUMBER : CELL_DIVERGED;
}

const char *runtable_text(const RunTable *t, const RunCell *row, const char *name)
{
    const Frame *c = &t->file[row->file];
    if (strcmp(name, "file") == 0 && frame_column(c, name) < 0) return c->file;
    return frame_text(c, row->row, name);
}

static void see_cells(const RunTable *t, Seen *s)
{
    const char *first = NULL;
    double x;
    for (size_t f = 0; f < t->files; f++) {
        int column = frame_column(&t->file[f], s->name);
        const size_t given = t->file[f].given;
        s->given |= column >= 0 && (size_t)column < given;
        if (column < 0 && given)
            s->varies |= first && *first; /* an option that was not given there */
        if (column < 0 && given && !first) first = "";
        for (size_t i = 0; column >= 0 && i < t->file[f].rows; i++) {
            const char *text = frame_cell(&t->file[f], i, column);
            int kind = runtable_cell(text, &x);
            s->numbers |= kind == CELL_NUMBER || kind == CELL_DIVERGED;
            s->texts |= kind == CELL_TEXT;
            if (!first) first = text;
            s->varies |= strcmp(first, text) != 0;
        }
    }
}

const char *runtable_seems(const char *text)
{
    size_t n = strcspn(text, ",%"), digits = strspn(text, "+-0123456789.,");
    if (digits == 0 || !text[n]) return NULL;
    if (text[digits] == '%' && !text[digits + 1]) return "write it without the '%'";
    return text[n] == ',' && !text[digits] ? "write it without commas, and with a point, as 1234.5"
                                           : NULL;
}

/* Returns ERR_INPUT where the last column that could be the measure has cells such as 71% or 1,234.5. */
static int check_numbers(const RunTable *t, const Seen *s)
{
    for (size_t f = 0; f < t->files; f++) {
        const Frame *c = &t->file[f];
        int column = frame_column(c, s->name);
        for (size_t i = 0; column >= 0 && i < c->rows; i++) {
            const char *text = frame_cell(c, i, column), *what = runtable_seems(text);
            if (what)
                return error_set(ERR_INPUT,
                                 "%s:%zu: '%.40s' in column '%s' is no number: %s, or name another "
                                 "column by --measure",
                                 c->file, c->line[i + 1], text, s->name, what);
        }
    }
    return 0;
}

/* Checks that no name of a column begins or ends with a blank, as behind the comma of "model, seed". */
static int check_blanks(const Frame *c)
{
    for (size_t j = 0; j < c->columns; j++) {
        const char *name = c->cell[j];
        size_t n = strlen(name);
        if (n && (name[0] == ' ' || name[n - 1] == ' '))
            return error_set(ERR_INPUT,
                             "%s:%zu: the column name '%s' begins or ends with a blank: take the "
                             "blanks beside the commas away",
                             c->file, c->line[0], name);
    }
    return 0;
}

/* Lists the columns in the order of the files; returns how many. names: the same for nearest_name. */
static size_t see(const RunTable *t, Seen *list, const char **names)
{
    size_t n = 0, i;
    for (size_t f = 0; f < t->files; f++)
        for (size_t c = 0; c < t->file[f].columns; c++) {
            const char *name = t->file[f].cell[c];
            for (i = 0; i < n && strcmp(names[i], name) != 0;) i++;
            if (i < n) continue;
            names[n] = name;
            list[n] = (Seen){.name = name};
            see_cells(t, &list[n++]);
        }
    return n;
}

/* Finds a named column: *out. `file` is one that every row has. */
static int find(const char *const *names, size_t n, const char *option, const char *name,
                const char **out)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0) *out = names[i];
    if (!*out && strcmp(name, "file") == 0) *out = "file"; /* runtable_text */
    if (*out) return 0;
    return error_set(ERR_INPUT, "--%s: no file has a column '%s'%s", option, name,
                     nearest_words(name, names, n));
}

static int add_key(RunTable *t, const char *name)
{
    if (t->keys == RUNTABLE_KEYS)
        return error_set(
            ERR_INPUT,
            "more than %d columns tell designs apart: --design names fewer, as --design scheme,rate",
            RUNTABLE_KEYS);
    t->key[t->keys++] = name;
    return 0;
}

/* Finds the columns of "A,B". */
static int find_keys(RunTable *t, const char *const *names, size_t n, const char *given)
{
    char name[256];
    for (const char *at = given; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const char *found = NULL;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        TRY(find(names, n, "design", name, &found));
        TRY(add_key(t, found));
    }
    return 0;
}

static int is_key(const RunTable *t, const char *name)
{
    size_t k = 0;
    while (k < t->keys && t->key[k] != name) k++;
    return k < t->keys;
}

/* Returns 1 for a column that has another part. */
static int is_taken(const RunTable *t, const char *name)
{
    static const char *const ours[] = {"part", "same_as", "diverged", "objective"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(name, ours[i]) == 0) return 1;
    for (size_t m = 0; m < t->measures; m++)
        if (name == t->measure[m].column) return 1;
    return name == t->seed || name == t->by;
}

/* Returns 1 where a column tells designs apart: one of text that varies; of trainings an option that varies, but for those
 * that say where and how fast it is computed. */
static int tells_apart(const RunTable *t, const Seen *s)
{
    static const char *const machine[] = {"threads", "device", "precision", "recompute", "keep"};
    for (size_t i = 0; i < sizeof machine / sizeof *machine; i++)
        if (strcmp(s->name, machine[i]) == 0) return 0;
    return s->varies && (t->file[0].given ? s->given : s->texts);
}

/* Takes the columns that tell designs apart, else the first of text, else the first left. */
static int choose_keys(RunTable *t, const Seen *list, size_t n)
{
    const char *text = NULL, *any = NULL;
    for (size_t i = 0; i < n; i++) {
        const char *name = list[i].name;
        if (is_taken(t, name)) continue;
        if (!any) any = name;
        if (list[i].texts && !text) text = name;
        if (tells_apart(t, &list[i])) TRY(add_key(t, name));
    }
    if (t->keys) return 0;
    if (!any) return error_set(ERR_INPUT, "no column tells designs apart: --design names some");
    return add_key(t, text ? text : any);
}

static int check_once(const RunTable *t)
{
    const char *twice = is_key(t, t->seed) ? t->seed : is_key(t, t->by) ? t->by : NULL;
    if (t->by && t->by == t->seed) twice = t->by;
    for (size_t m = 0; m < t->measures; m++) {
        const char *name = t->measure[m].column;
        if (is_key(t, name) || name == t->seed || name == t->by) twice = name;
        for (size_t k = 0; k < m; k++)
            if (t->measure[k].column == name) twice = name;
    }
    if (!twice) return 0;
    return error_set(ERR_INPUT,
                     "the column '%s' is named by two of --design, --seed, --by, --measure", twice);
}

static int find_measures(RunTable *t, const RunColumns *asked, const char *const *names, size_t n)
{
    for (; t->measures < RUN_MEASURES && asked->measure[t->measures].column; t->measures++) {
        RunMeasure *m = &t->measure[t->measures];
        const char *column = NULL;
        *m = asked->measure[t->measures];
        TRY(find(names, n, "measure", m->column, &column));
        m->column = column;
    }
    return 0;
}

/* Takes the last column of numbers. */
static int choose_measure(RunTable *t, const Seen *list, size_t n)
{
    for (size_t i = n; t->measures == 0 && i-- > 0;) {
        if (is_taken(t, list[i].name) || is_key(t, list[i].name)) continue;
        if (list[i].texts) TRY(check_numbers(t, &list[i]));
        if (list[i].numbers && !list[i].texts) t->measure[t->measures++].column = list[i].name;
    }
    return t->measures ? 0 : error_set(ERR_INPUT, "no column of numbers: --measure names one");
}

static int choose(RunTable *t, const RunColumns *asked, const Seen *list, const char *const *names,
                  size_t n)
{
    if (asked->design) TRY(find_keys(t, names, n, asked->design));
    if (asked->seed) TRY(find(names, n, "seed", asked->seed, &t->seed));
    if (asked->by) TRY(find(names, n, "by", asked->by, &t->by));
    TRY(find_measures(t, asked, names, n));
    for (size_t i = 0; !t->seed && i < n; i++)
        if (strcasecmp(names[i], "seed") == 0 && !is_key(t, names[i]) && !is_taken(t, names[i]))
            t->seed = names[i];
    if (t->measures == 0) {
        t->measure[0].more = asked->measure[0].more;
        TRY(choose_measure(t, list, n));
    }
    for (size_t m = 0; m < t->measures; m++) {
        RunMeasure *of = &t->measure[m];
        const Column *usual = column_usual(of->column);
        if (usual && usual->more) of->more = 1;
        if (!of->stem) of->stem = of->column;
        if (!of->text) of->text = of->column;
        if (!of->axis) of->axis = of->text;
    }
    if (!asked->design) TRY(choose_keys(t, list, n));
    return check_once(t);
}

int runtable_columns(RunTable *t, const RunColumns *asked)
{
    size_t room = 0;
    for (size_t f = 0; f < t->files; f++) room += t->file[f].columns;
    for (size_t f = 0; f < t->files; f++) TRY(check_blanks(&t->file[f]));
    SCOPED(memory_drop) Seen *list = memory_new(room, sizeof *list);
    SCOPED(memory_drop) const char **names = memory_new(room, sizeof *names);
    if (!list || !names) return ERR_MEMORY;
    return choose(t, asked, list, names, see(t, list, names));
}
