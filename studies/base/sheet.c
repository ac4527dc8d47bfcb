/* sheet.c: keeps cells in one growing list, and writes CSV. */

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/nearest.h"
#include "kernels/base/plain_text.h"
#include "studies/base/sheet_cells.h"

/* Chooses the columns that people see: those with a place in the order of their places, or all where none
 * has one; never an absent one. */
static void choose_view(Sheet *r)
{
    short place = 0, next;
    r->shown = 0;
    do {
        next = 0;
        for (size_t j = 0; j < r->columns; j++) {
            const Column *c = r->slot[j].column;
            if (!r->slot[j].absent && c->place > place && (!next || c->place < next))
                next = c->place;
        }
        for (size_t j = 0; next && j < r->columns; j++)
            if (r->slot[j].column->place == next && !r->slot[j].absent) r->view[r->shown++] = j;
        place = next;
    } while (next);
    for (size_t j = 0, all = r->shown == 0; all && j < r->columns; j++)
        if (!r->slot[j].absent) r->view[r->shown++] = j;
}

/* Gives a column that says neither digits nor a form those that are usual for its name, else 6 digits. */
static void as_usual(Column *c)
{
    if (c->digits || c->form) return;
    const Column *usual = column_usual(c->name);
    if (usual) c->form = usual->form, c->digits = usual->digits;
    if (!c->digits && !c->form) c->digits = 6;
}

Column *sheet_copy(const Column *list, size_t *n)
{
    for (*n = 0; list[*n].name || list[*n].head;) ++*n;
    Column *copy = memory_new(*n + 1, sizeof *copy);
    if (!copy) return NULL;
    memcpy(copy, list, *n * sizeof *copy);
    for (Column *c = copy; c < copy + *n; c++) as_usual(c);
    return copy;
}

int sheet_new(const Column *list, Sheet **out)
{
    size_t n;
    SCOPED(sheet_drop) Sheet *r = memory_new(1, sizeof *r);
    if (!r || !(r->list = sheet_copy(list, &n))) return ERR_MEMORY;
    r->slot = memory_new(2 * n, sizeof *r->slot);
    r->view = memory_new(2 * n, sizeof *r->view);
    if (!r->slot || !r->view) return ERR_MEMORY;
    Slot *s = r->slot;
    for (const Column *c = r->list; c->name || c->head; c++) {
        *s = (Slot){c, c->name, c->head ? c->head : c->name, 0, c->sparse, ""};
        if (c->group) snprintf(s->whole, sizeof s->whole, "%s %s", c->group, s->head);
        s++;
        if (c->half) *s++ = (Slot){c, NULL, c->half, 1, c->sparse, ""};
    }
    r->columns = (size_t)(s - r->slot);
    choose_view(r);
    *out = r;
    r = NULL;
    return 0;
}

const Column *sheet_columns(const Sheet *r)
{
    return r->list;
}

void sheet_one_column(Sheet *r)
{
    r->narrow = 1;
}

void sheet_free(Sheet *r)
{
    if (!r) return;
    memory_free_all(r->cell, r->texts, r->slot, r->view, r->list, r);
}

/* Appends a text to a list of bytes (room), which grows; *at: its place. ERR_MEMORY. */
static int keep(char **texts, size_t *bytes, size_t *room, const char *text, size_t *at)
{
    const size_t n = strlen(text) + 1;
    if (*bytes + n > *room) {
        const size_t more = 2 * (*bytes + n);
        char *grown = memory_grow(*texts, *bytes, more, 1);
        if (!grown) return ERR_MEMORY;
        *texts = grown;
        *room = more;
    }
    memcpy(*texts + *bytes, text, n);
    *at = *bytes;
    *bytes += n;
    return 0;
}

static void add_cell(Sheet *r, Cell c)
{
    if (r->code == 0) r->code = memory_more(&r->cell, r->cells, sizeof *r->cell);
    if (r->code == 0) r->cell[r->cells++] = c;
}

static void add_number(Sheet *r, double x)
{
    add_cell(r, (Cell){.x = x, .real = 1, .number = 1});
}

/* Adds a text; one that is that of the row above, as names often are, is kept once. */
static void add_text(Sheet *r, const char *text, int number)
{
    Cell c = {.number = (char)number};
    const Cell *above = r->cells >= r->columns ? &r->cell[r->cells - r->columns] : NULL;
    if (above && !above->real && strcmp(r->texts + above->text, text) == 0)
        c.text = above->text;
    else if (r->code == 0)
        r->code = keep(&r->texts, &r->bytes, &r->room, text, &c.text);
    add_cell(r, c);
}

void sheet_number(double x, char out[32])
{
    if (isnan(x)) {
        out[0] = '\0';
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, 32, "%.*g", digits, x);
        if (isinf(x) || strtod(out, NULL) == x) return;
    }
}

void sheet_shown(const Column *c, double x, char out[SHEET_SHOWN])
{
    Column as = *c;
    as_usual(&as);
    int fixed = as.form == SHEET_FIXED, scientific = as.form == SHEET_SCIENTIFIC;
    int digits = as.digits || fixed || scientific ? as.digits : 6;
    double y = c->scale != 0 ? x * c->scale : x;
    snprintf(out, SHEET_SHOWN,
             scientific                ? "%.*e"
             : fixed && fabs(y) < 1e12 ? "%.*f"
                                       : "%.*g",
             digits, y);
    char *e = scientific ? strchr(out, 'e') : NULL;
    if (e) snprintf(e + 1, 8, "%d", atoi(e + 1)); /* e-4 in place of e-04 */
    if (fixed && *out == '-' && strspn(out, "-0.") == strlen(out))
        memmove(out, out + 1, strlen(out));
}

/* Returns whether a text is a number with its interval, or nothing, as in a column of numbers. */
static int is_cell(const char *text)
{
    if (!text || strcmp(text, "inf") == 0) return 1;
    text += strspn(text, "*");
    return strchr("-0123456789", *text) && text[strspn(text, "-+.e0123456789 ±*")] == '\0';
}

static void add_member(Sheet *r, const Column *c, const void *member)
{
    const char *text = c->type == SHEET_TEXT ? *(const char *const *)member : NULL;
    int whole = c->type == SHEET_INT ? *(const int *)member : -1;
    size_t size = c->type == SHEET_SIZE ? *(const size_t *)member : SIZE_MAX;
    char number[32] = "";
    if (c->type == SHEET_DOUBLE) {
        add_number(r, *(const double *)member);
        return;
    }
    if (whole >= 0 && c->form == SHEET_FLAG) text = whole ? "yes" : "no";
    if (whole >= 0) size = (size_t)whole;
    if (size != SIZE_MAX) snprintf(number, sizeof number, "%zu", size);
    add_text(r, text ? text : number,
             c->form == SHEET_CELL ? is_cell(text) : !text && c->type != SHEET_TEXT);
}

/* Returns the column of this name, which must exist. */
static Slot *named(const Sheet *s, const char *name)
{
    size_t j = 0;
    while (j < s->columns && (!s->slot[j].name || strcmp(s->slot[j].name, name) != 0)) j++;
    assert(j < s->columns);
    return &s->slot[j];
}

void sheet_row(Sheet *s, const void *record)
{
    const char *at = record;
    for (size_t j = 0; j < s->columns; j++) {
        const Column *c = s->slot[j].column;
        if (!s->slot[j].half) {
            add_member(s, c, at + c->at);
            if (s->slot[j].absent && s->code == 0 && !sheet_empty(s, &s->cell[s->cells - 1])) {
                s->slot[j].absent = 0;
                if (c->half) s->slot[j + 1].absent = 0;
                choose_view(s);
            }
            continue;
        }
        const double *value = (const void *)(at + c->at),
                     *high = (const void *)(at + named(s, c->high)->column->at);
        add_number(s, *high - *value);
    }
}

size_t sheet_rows(const Sheet *r)
{
    return r->cells / r->columns;
}

/* Shows the column of this name and group (NULL: none) too. Returns whether any group has such a column. */
static int take_named(Sheet *r, const char *name, const char *group)
{
    int known = 0;
    for (size_t j = 0; j < r->columns; j++) {
        const Slot *s = &r->slot[j];
        const char *own = s->column->group;
        size_t seen = 0;
        if (!s->name || strcmp(s->name, name) != 0) continue;
        known = 1;
        while (seen < r->shown && r->view[seen] != j) seen++;
        int here = own && group ? strcmp(own, group) == 0 : own == group;
        if (here && !s->absent && seen == r->shown) r->view[r->shown++] = j;
    }
    return known;
}

/* Shows the columns of a group that are named. */
static int take_group(Sheet *r, const char *names, const char *group)
{
    char name[64];
    for (size_t n; *names; names += n + (names[n] == ',')) {
        n = strcspn(names, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, names);
        if (take_named(r, name, group)) continue;
        const char *known[64];
        size_t count = 0;
        for (size_t j = 0; j < r->columns && count < 64; j++)
            if (r->slot[j].name) known[count++] = r->slot[j].name;
        return error_set(ERR_INPUT, "--columns: there is no column '%s'%s", name,
                         nearest_words(name, known, count));
    }
    return 0;
}

int sheet_choose(Sheet *r, const char *names)
{
    r->shown = 0;
    TRY(take_group(r, names, NULL));
    for (size_t j = 0; j < r->columns; j++)
        if (r->slot[j].column->group && (j == 0 || !sheet_together(r, j - 1, j)))
            TRY(take_group(r, names, r->slot[j].column->group));
    return r->shown ? 0 : error_set(ERR_INPUT, "--columns: expected names of columns");
}

int sheet_column(const Column *list, const char *name)
{
    int n = 1;
    for (; !list->name || strcmp(list->name, name) != 0; list++) {
        assert(list->name || list->head); /* else the list has ended */
        n += list->name != NULL;
    }
    return n;
}

/* ---- CSV ----------------------------------------------------------------------------------------- */

/* Writes a field as RFC 4180 has it: one with a comma, a quote or a line end is quoted, and quotes inside
 * are doubled. */
static void put_csv(FILE *f, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++) {
        if (*text == '"') fputc('"', f);
        fputc(*text, f);
    }
    fputc('"', f);
}

/* Writes the cells of a row, or with SIZE_MAX the header. */
static void csv_row(const Sheet *r, size_t first, FILE *f)
{
    const char *gap = "";
    char number[32];
    for (size_t j = 0; j < r->columns; j++) {
        if (!r->slot[j].name || r->slot[j].absent) continue;
        fputs(gap, f);
        const Cell *c = first == SIZE_MAX ? NULL : &r->cell[first + j];
        if (c && c->real) sheet_number(c->x, number);
        put_csv(f, !c ? r->slot[j].name : c->real ? number : r->texts + c->text);
        gap = ",";
    }
    fputc('\n', f);
}

static void csv_rows(const Sheet *r, size_t first, FILE *f)
{
    for (size_t i = first; i + r->columns <= r->cells; i += r->columns) csv_row(r, i, f);
}

int sheet_stream(Sheet *r, FILE *f)
{
    if (!r->header) csv_row(r, SIZE_MAX, f);
    r->header = 1;
    csv_rows(r, r->streamed, f);
    r->streamed = r->cells;
    fflush(f);
    return r->code;
}

/* ---- for people ---------------------------------------------------------------------------------- */

/* Writes what people see of a cell; a text without what steers a terminal. */
static int see(Sheet *r, const Column *column, size_t i, size_t *room)
{
    char shown[SHEET_SHOWN];
    const Cell *c = &r->cell[i];
    if (c->real && isfinite(c->x)) sheet_shown(column, c->x, shown);
    if (c->real && !isfinite(c->x)) sheet_number(c->x, shown);
    TRY(keep(&r->seen, &r->bytes, room, c->real ? shown : r->texts + c->text, &r->seen_at[i]));
    char *text = r->seen + r->seen_at[i];
    text[text_harmless(text, strlen(text))] = '\0';
    return 0;
}

static int see_all(Sheet *r)
{
    size_t room = r->bytes = 0;
    for (size_t i = 0; i < r->cells; i += r->columns)
        for (size_t j = 0; j < r->shown; j++)
            TRY(see(r, r->slot[r->view[j]].column, i + r->view[j], &room));
    return 0;
}

static int write_people(const Sheet *r, int form, FILE *f)
{
    SCOPED(memory_drop) size_t *at = memory_new(r->cells, sizeof *at);
    if (!at) return ERR_MEMORY;
    Sheet seen = *r;
    seen.seen_at = at;
    int code = see_all(&seen);
    if (code == 0) code = sheet_lay_out(&seen, form, f);
    memory_free(seen.seen);
    return code;
}

int sheet_write(const Sheet *r, int form, FILE *f)
{
    if (r->code != 0) return r->code;
    if (form != SHEET_CSV) return write_people(r, form, f);
    csv_row(r, SIZE_MAX, f);
    csv_rows(r, 0, f);
    return 0;
}
