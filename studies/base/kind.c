/* kind.c: the kinds of studies of all commands. */
#include "studies/base/kind.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "studies/base/command.h"

const Command *const *command_all;

/* ---- kinds --------------------------------------------------------------------------------------- */

const Kind *kind_next(const Kind *k)
{
    size_t n = 0;
    int found = k == NULL;
    assert(command_all); /* a program that links no commands.o would find no kinds in silence */
    while (command_all[n]) n++;
    while (n-- > 0)
        for (const Kind *i = command_all[n]->kinds; i && i->command; i++) {
            if (found) return i;
            found = i == k;
        }
    return NULL;
}

size_t kind_place(const Kind *k)
{
    size_t place = 0;
    for (const Kind *i = kind_next(NULL); i && i != k; i = kind_next(i)) place++;
    return place;
}

/* ---- columns ------------------------------------------------------------------------------------- */

/* Returns 1 where a line's first field is the name. */
static int begins(const char *line, const char *name)
{
    size_t n = strlen(name);
    return strncmp(line, name, n) == 0 && strchr(",\r\n", line[n]) != NULL;
}

int kind_parts(const Column *list, const Column *c, const char *field)
{
    if (!c->name || strcmp(c->name, "panel") != 0 || !*field) return 0;
    for (; list->name || list->head; list++)
        if (list->name && begins(field, list->name)) return 0;
    return 1;
}

int kind_begins(const KindTable *t, const char *line)
{
    size_t same = 0;
    for (const Column *c = t->columns; c->name && same < 4; c++) {
        size_t n = strcspn(line, ",\r\n");
        int here = begins(line, c->name) || kind_parts(t->columns, c, line);
        if (!here && c->sparse) continue;
        if (!here) return 0;
        same++;
        if (line[n] != ',') return same >= 3 || !c[1].name; /* the line ends here: an older file */
        line += n + 1;
    }
    return 1;
}

const Kind *kind_of_runs(const char *line)
{
    for (const Kind *k = kind_next(NULL); k; k = kind_next(k))
        for (const KindTable *t = k->table; k->runs && t->file; t++)
            if (strcmp(t->file, "runs") == 0 && kind_begins(t, line)) return k;
    return NULL;
}

void kind_count(const Kind *k, const Frame *c, size_t *runs, size_t *done)
{
    static const char *const others[] = {"bound", "tuning", "trial"};
    const char *measure = k->runs->measure->column;
    *runs = *done = 0;
    for (size_t row = 0; row < c->rows; row++) {
        size_t i = 0;
        while (i < 3 && strcmp(frame_text(c, row, "part"), others[i]) != 0) i++;
        *runs += i == 3;
        *done += i == 3 && *frame_text(c, row, measure);
    }
}

/* Returns 1 where a column holds an end of another column's interval. */
static int is_end(const Column *list, const char *name)
{
    for (; list->name || list->head; list++)
        if ((list->low && strcmp(list->low, name) == 0) ||
            (list->high && strcmp(list->high, name) == 0))
            return 1;
    return 0;
}

/* Returns the place of a column: on pages that show some columns, its place there; else its place in other tables
 * for people. */
static int key(const Column *c, int pages)
{
    return pages ? c->page : c->place;
}

size_t kind_shown(const Column *list, const Column **out, size_t room)
{
    int pages = 0, last = 0, intervals = 0;
    size_t n = 0;
    for (const Column *c = list; c->name || c->head; c++) {
        pages |= c->page;
        intervals |= c->low != NULL;
    }
    for (const Column *c = list; c->name || c->head; c++)
        last = key(c, pages) > last ? key(c, pages) : last;
    if (!last && !intervals) return 0;
    for (int k = last > 0; k <= last; k++)
        for (const Column *c = list; c->name || c->head; c++)
            if (c->name && key(c, pages) == k && (pages || !is_end(list, c->name)) && n < room)
                out[n++] = c;
    return n;
}

const char *kind_column(const Kind *k, const char *name)
{
    for (const KindTable *t = k ? k->table : NULL; t && t->file; t++)
        for (const Column *c = t->columns; c->name || c->head; c++)
            if (c->name && c->words && strcmp(c->name, name) == 0) return c->words;
    const Column *usual = column_usual(name);
    if (usual && usual->words) return usual->words;
    for (const KindTable *t = k ? k->table : NULL; t && t->file; t++)
        if (is_end(t->columns, name)) return "end of the 95 % interval";
    return NULL;
}

/* ---- verdicts ------------------------------------------------------------------------------------ */

void verdict_say(Verdict *v, const char *format, ...)
{
    size_t n = strlen(v->words);
    va_list args;
    va_start(args, format);
    vsnprintf(v->words + n, sizeof v->words - n, format, args);
    va_end(args);
}

static size_t count(const Frame *c, const char *column, const char *word)
{
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) n += strcmp(frame_text(c, i, column), word) == 0;
    return n;
}

void verdict_count(Verdict *v, const Frame *c, const char *column, const char *name)
{
    size_t said = 0;
    for (size_t i = 0; i < c->rows; i++) {
        const char *word = frame_text(c, i, column);
        size_t first = 0;
        while (strcmp(frame_text(c, first, column), word) != 0) first++;
        if (!*word || first != i) continue;
        verdict_say(v, "%s%zu %.40s", said++ ? ", " : "", count(c, column, word), word);
    }
    if (said) verdict_say(v, " (%s); ", name);
    v->bad |= count(c, column, "disagree") > 0 || count(c, column, "inconsistent") > 0;
}

void verdict_end(Verdict *v)
{
    size_t n = strlen(v->words);
    if (n >= 2 && strcmp(v->words + n - 2, "; ") == 0) v->words[n - 2] = '\0';
}
