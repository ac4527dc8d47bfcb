/* sheet.c: cells in one growing list; every form is one loop over it. */
#include "studies/tools/sheet.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

typedef struct {
    char *exact; /* CSV */
    char *shown; /* for people */
    int number;
} Cell;

/* What a cell of a row is of. */
typedef struct {
    const Column *column; /* NULL: of a table whose columns have names alone */
    const char *name;     /* in CSV; NULL: for people alone */
    const char *head;     /* for people */
    int half;             /* 1: half of the column's interval */
    int absent;           /* a sparse column that no row has so far */
} Slot;

struct Sheet {
    size_t columns;      /* cells of a row */
    Slot *slot;          /* (columns) */
    size_t shown, *view; /* (shown) columns of the table for people, in its order */
    size_t cells, room;
    Cell *cell;      /* (cells), row-major */
    size_t streamed; /* cells already written by sheet_stream */
    int header;      /* written by sheet_stream */
    int code;
};

/* Columns that people see, in the order of their places; all where none has a place; none that is absent. */
static void choose_view(Sheet *r)
{
    short place = 0, next;
    r->shown = 0;
    do {
        next = 0;
        for (size_t j = 0; j < r->columns; j++) {
            const Column *c = r->slot[j].column;
            if (c && !r->slot[j].absent && c->place > place && (!next || c->place < next))
                next = c->place;
        }
        for (size_t j = 0; next && j < r->columns; j++)
            if (r->slot[j].column->place == next && !r->slot[j].absent) r->view[r->shown++] = j;
        place = next;
    } while (next);
    for (size_t j = 0, all = r->shown == 0; all && j < r->columns; j++)
        if (!r->slot[j].absent) r->view[r->shown++] = j;
}

/* Room for a row of so many cells. */
static int make(size_t columns, Sheet **out)
{
    Sheet *r = memory_new(1, sizeof *r);
    if (!r) return ERR_MEMORY;
    *r = (Sheet){.columns = columns};
    r->slot = memory_new(columns, sizeof *r->slot);
    r->view = memory_new(columns, sizeof *r->view);
    if (!r->slot || !r->view) {
        sheet_free(r);
        return ERR_MEMORY;
    }
    *out = r;
    return 0;
}

int sheet_new(const Column *list, Sheet **out)
{
    size_t n = 0;
    for (const Column *c = list; c->name || c->head; c++) n += c->half ? 2 : 1;
    TRY(make(n, out));
    Slot *s = (*out)->slot;
    for (const Column *c = list; c->name || c->head; c++) {
        *s++ = (Slot){c, c->name, c->head ? c->head : c->name, 0, c->sparse};
        if (c->half) *s++ = (Slot){c, NULL, c->half, 1, 0};
    }
    choose_view(*out);
    return 0;
}

void sheet_free(Sheet *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->cells; i++) {
        memory_free(r->cell[i].exact);
        memory_free(r->cell[i].shown);
    }
    memory_free(r->cell);
    memory_free(r->slot);
    memory_free(r->view);
    memory_free(r);
}

static void add(Sheet *r, const char *exact, const char *shown, int number)
{
    if (r->code != 0) return;
    if (r->cells == r->room) {
        size_t room = r->room ? 2 * r->room : 16 * r->columns;
        Cell *grown = memory_grow(r->cell, r->room, room, sizeof *grown);
        if (!grown) {
            r->code = ERR_MEMORY;
            return;
        }
        r->cell = grown;
        r->room = room;
    }
    Cell c = {memory_string(exact), memory_string(shown), number};
    if (!c.exact || !c.shown) r->code = ERR_MEMORY;
    r->cell[r->cells++] = c;
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

static void add_number(Sheet *r, double x, const char *shown)
{
    char exact[32];
    sheet_number(x, exact);
    add(r, exact, isfinite(x) ? shown : exact, 1);
}

static void add_text(Sheet *r, const char *text)
{
    add(r, text, text, 0);
}

static void add_size(Sheet *r, uint64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    add(r, text, text, 1);
}

/* A number whose form for people is that of y, with so many digits behind the point (fixed) or in all. */
static void add_shown(Sheet *r, double x, double y, int fixed, int digits)
{
    char shown[352];
    snprintf(shown, sizeof shown, fixed && fabs(y) < 1e12 ? "%.*f" : "%.*g", digits, y);
    int minus_zero = fixed && shown[0] == '-' && strspn(shown, "-0.") == strlen(shown);
    add_number(r, x, shown + minus_zero);
}

static void add_none(Sheet *r)
{
    add(r, "", "", 1);
}

static void add_scaled(Sheet *r, const Column *c, double x)
{
    int fixed = c->form == SHEET_FIXED;
    add_shown(r, x, c->scale != 0 ? x * c->scale : x, fixed, c->digits || fixed ? c->digits : 6);
}

static void add_member(Sheet *r, const Column *c, const void *member)
{
    const char *text = c->type == SHEET_TEXT ? *(const char *const *)member : NULL;
    int whole = c->type == SHEET_INT ? *(const int *)member : 0;
    size_t size = c->type == SHEET_SIZE ? *(const size_t *)member : 0;
    if (c->type == SHEET_TEXT)
        add_text(r, text ? text : "");
    else if (size == SIZE_MAX || whole < 0)
        add_none(r);
    else if (c->type == SHEET_SIZE)
        add_size(r, size);
    else if (c->type == SHEET_INT && c->form == SHEET_FLAG)
        add_text(r, whole ? "yes" : "no");
    else if (c->type == SHEET_INT)
        add_size(r, (uint64_t)whole);
    else
        add_scaled(r, c, *(const double *)member);
}

/* The column of this name; it must be one. */
static const Column *named(const Sheet *s, const char *name)
{
    size_t j = 0;
    while (j < s->columns && (!s->slot[j].name || strcmp(s->slot[j].name, name) != 0)) j++;
    assert(j < s->columns);
    return s->slot[j].column;
}

void sheet_row(Sheet *s, const void *record)
{
    const char *at = record;
    for (size_t j = 0; j < s->columns; j++) {
        const Column *c = s->slot[j].column;
        if (!s->slot[j].half) {
            add_member(s, c, at + c->at);
            if (s->slot[j].absent && s->code == 0 && s->cell[s->cells - 1].exact[0]) {
                s->slot[j].absent = 0;
                choose_view(s);
            }
            continue;
        }
        const double *low = (const void *)(at + named(s, c->low)->at),
                     *high = (const void *)(at + named(s, c->high)->at);
        add_scaled(s, c, 0.5 * (*high - *low));
    }
}

void sheet_bound(Sheet *s, const char *first, const char *const *name, const double *value)
{
    for (size_t j = 0; j < s->columns; j++) {
        size_t i = 0;
        const Slot *slot = &s->slot[j];
        while (name[i] && (!slot->name || strcmp(slot->name, name[i]) != 0)) i++;
        if (j == 0)
            add_text(s, first);
        else if (name[i])
            add_scaled(s, slot->column, value[i]);
        else
            add_none(s);
    }
}

size_t sheet_rows(const Sheet *r)
{
    return r->cells / r->columns;
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

/* RFC 4180: a field with a comma, a quote or a line end is quoted, quotes inside are doubled. */
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

void sheet_names(const Column *list, FILE *f)
{
    const char *gap = "";
    for (; list->name || list->head; list++) {
        if (!list->name) continue;
        fputs(gap, f);
        put_csv(f, list->name);
        gap = ",";
    }
    fputc('\n', f);
}

/* The cells of a row, or with SIZE_MAX the header. */
static void csv_row(const Sheet *r, size_t first, FILE *f)
{
    const char *gap = "";
    for (size_t j = 0; j < r->columns; j++) {
        if (!r->slot[j].name || r->slot[j].absent) continue;
        fputs(gap, f);
        put_csv(f, first == SIZE_MAX ? r->slot[j].name : r->cell[first + j].exact);
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

/* ---- LaTeX --------------------------------------------------------------------------------------- */

/* What stands for a character; those that are not here stand for themselves. Where a mark is doubled or a quote, the
 * fonts have ligatures. Source: LaTeX 2e's fontenc and inputenc, defaults for OT1. */
static const struct {
    const char *text, *latex;
} latex[] = {
    {"&", "\\&"},
    {"%", "\\%"},
    {"$", "\\$"},
    {"#", "\\#"},
    {"_", "\\_"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"\\", "\\textbackslash{}"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"`", "\\textasciigrave{}"},
    {"\"", "''"},
    {"--", "-{}"},
    {"±", "$\\pm$"},
};

size_t sheet_latex(const char *text, FILE *f)
{
    for (size_t i = 0; i < sizeof latex / sizeof *latex; i++)
        if (strncmp(text, latex[i].text, strlen(latex[i].text)) == 0) {
            fputs(latex[i].latex, f);
            return *text == '-' ? 1 : strlen(latex[i].text);
        }
    fputc((unsigned char)*text < ' ' || *text == 127 ? ' ' : *text, f);
    return 1;
}

static void put_latex(FILE *f, const char *text)
{
    while (*text) text += sheet_latex(text, f);
}

/* What people read in the j-th shown column: its head, or the cell of the row that begins at `first`. */
static const char *seen(const Sheet *r, size_t first, size_t j)
{
    size_t column = r->view[j];
    return first == SIZE_MAX ? r->slot[column].head : r->cell[first + column].shown;
}

/* ---- what fits ------------------------------------------------------------------------------------ */

/* Columns a terminal uses for UTF-8 text: bytes that do not continue a character. */
static size_t width(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

/* The same of a cell: in Markdown a bar in it, which would end it, has a backslash before it. */
static size_t cell_width(const char *text, int form)
{
    size_t n = width(text);
    for (; form == SHEET_MARKDOWN && (text = strchr(text, '|')); text++) n++;
    return n;
}

static int is_right(const Sheet *r, size_t column)
{
    for (size_t i = column; i < r->cells; i += r->columns)
        if (!r->cell[i].number) return 0;
    return 1;
}

typedef struct {
    size_t width;
    int right;
} Shape;

static void shapes(const Sheet *r, int form, Shape *s)
{
    for (size_t j = 0; j < r->shown; j++) {
        s[j] = (Shape){cell_width(seen(r, SIZE_MAX, j), form), is_right(r, r->view[j])};
        for (size_t i = 0; i < r->cells; i += r->columns) {
            size_t w = cell_width(seen(r, i, j), form);
            if (w > s[j].width) s[j].width = w;
        }
        if (s[j].width < 3) s[j].width = 3; /* Markdown wants three dashes */
    }
}

/* ---- LaTeX ---------------------------------------------------------------------------------------- */

/* Points: of an article's line at 10 pt, of a character on average, of what stands between two columns. A table that is too
 * wide is set smaller; one that is still too wide becomes several, each with the first column. So do rows, as no page
 * ends inside a tabular. */
typedef struct {
    const char *before, *behind;
    double character, gap;
} LatexSize;
static const LatexSize latex_size[] = {
    {"", "", 5.2, 12},
    {"{\\footnotesize\\setlength{\\tabcolsep}{4pt}%\n", "}\n", 4.4, 8},
};
enum { LATEX_LINE = 345, LATEX_ROWS = 50 };

static double latex_width(const LatexSize *size, const Shape *s)
{
    return size->gap + size->character * (double)s->width;
}

/* The first column, from j on, that does not fit beside column 0 and those from `from` on. A half of an interval, which has
 * no column of its own, stays with what it is of. */
static size_t latex_fit(const Sheet *r, const Shape *s, const LatexSize *size, size_t from)
{
    double width = from ? latex_width(size, &s[0]) : 0;
    size_t j = from, whole = from;
    for (; j < r->shown && width + latex_width(size, &s[j]) <= LATEX_LINE; j++) {
        width += latex_width(size, &s[j]);
        if (j + 1 == r->shown || !r->slot[r->view[j + 1]].half) whole = j + 1;
    }
    return whole > from ? whole : j > from ? j : from + 1;
}

/* Columns 0 and from .. to-1 of a row. */
static void latex_row(const Sheet *r, size_t first, size_t from, size_t to, FILE *f)
{
    for (size_t k = from ? from - 1 : 0; k < to; k++) {
        size_t j = from && k == from - 1 ? 0 : k;
        const char *text = seen(r, first, j);
        int begins = k == (from ? from - 1 : 0);
        int mistaken = begins && (*text == '[' || *text == '*'); /* for an argument of \\ */
        fputs(!begins ? " & " : mistaken ? "{}" : "", f);
        put_latex(f, text);
    }
    fputs(" \\\\\n", f);
}

static void latex_table(const Sheet *r, const Shape *s, size_t from, size_t to, size_t row, FILE *f)
{
    size_t end = row + LATEX_ROWS * r->columns;
    fputs("\\begin{tabular}{", f);
    if (from) fputc(s[0].right ? 'r' : 'l', f);
    for (size_t j = from; j < to; j++) fputc(s[j].right ? 'r' : 'l', f);
    fputs("}\n\\hline\n", f);
    latex_row(r, SIZE_MAX, from, to, f);
    fputs("\\hline\n", f);
    for (size_t i = row; i < r->cells && i < end; i += r->columns) latex_row(r, i, from, to, f);
    fputs("\\hline\n\\end{tabular}\n", f);
}

static void write_latex(const Sheet *r, const Shape *s, FILE *f)
{
    const LatexSize *size = &latex_size[latex_fit(r, s, &latex_size[0], 0) < r->shown];
    fputs(size->before, f);
    for (size_t row = 0; row == 0 || row < r->cells; row += LATEX_ROWS * r->columns)
        for (size_t from = 0, to; from < r->shown; from = to) {
            to = latex_fit(r, s, size, from);
            if (row || from) fputs("\n\\medskip\\noindent\n", f);
            latex_table(r, s, from, to, row, f);
        }
    fputs(size->behind, f);
}

/* ---- for people ---------------------------------------------------------------------------------- */

static void put_cell(FILE *f, const char *text, int form, size_t columns, int right)
{
    int gap = (int)(columns - cell_width(text, form));
    if (right) fprintf(f, "%*s", gap, "");
    for (const char *c = text; *c; c++)
        fprintf(f, "%s%c", *c == '|' && form == SHEET_MARKDOWN ? "\\" : "", *c);
    if (!right) fprintf(f, "%*s", gap, "");
}

static void put_line(FILE *f, const char *text, int n)
{
    while (n-- > 0) fputs(text, f);
}

/* What stands before, between and behind cells, and the rule below the header. */
static const struct {
    const char *before, *between, *behind, *dash;
} look[] = {
    [SHEET_PLAIN] = {"", "  ", "", "-"},
    [SHEET_MARKDOWN] = {"| ", " | ", " |", "-"},
};

static void put_row(const Sheet *r, const Shape *s, int form, size_t first, FILE *f)
{
    fputs(look[form].before, f);
    for (size_t j = 0; j < r->shown; j++) {
        const char *text = seen(r, first, j);
        if (j) fputs(look[form].between, f);
        int last = j + 1 == r->shown && form == SHEET_PLAIN && !s[j].right;
        put_cell(f, text, form, last ? width(text) : s[j].width, s[j].right);
    }
    fprintf(f, "%s\n", look[form].behind);
}

static void put_rule(const Sheet *r, const Shape *s, int form, FILE *f)
{
    fputs(look[form].before, f);
    for (size_t j = 0; j < r->shown; j++) {
        if (j) fputs(look[form].between, f);
        int colon = form == SHEET_MARKDOWN && s[j].right;
        put_line(f, look[form].dash, (int)s[j].width - colon);
        if (colon) fputc(':', f);
    }
    fprintf(f, "%s\n", look[form].behind);
}

int sheet_write(const Sheet *r, int form, FILE *f)
{
    if (r->code != 0) return r->code;
    if (form == SHEET_CSV) {
        csv_row(r, SIZE_MAX, f);
        csv_rows(r, 0, f);
        return 0;
    }
    Shape *s = memory_new(r->shown, sizeof *s);
    if (!s) return ERR_MEMORY;
    shapes(r, form, s);
    if (form == SHEET_LATEX) {
        write_latex(r, s, f);
        memory_free(s);
        return 0;
    }
    put_row(r, s, form, SIZE_MAX, f);
    put_rule(r, s, form, f);
    for (size_t i = 0; i < r->cells; i += r->columns) put_row(r, s, form, i, f);
    memory_free(s);
    return 0;
}
