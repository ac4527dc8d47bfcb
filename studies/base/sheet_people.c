/* sheet_people.c: writes tables for people, in as many parts as fit a line or a page: text, Markdown, LaTeX. */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/latex.h"
#include "studies/base/screen.h"
#include "studies/base/sheet_cells.h"
#include "studies/base/utf8.h"

/* ---- what fits ------------------------------------------------------------------------------------ */

/* Returns the columns of the first bytes of a cell. In Markdown a bar would end the cell, so it takes a backslash
 * before it. LaTeX: returns the width. */
static size_t cell_width(const char *text, size_t bytes, int form, int number)
{
    if (form == SHEET_LATEX) return latex_width(text, number);
    size_t n = utf8_columns(text, bytes);
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
    size_t least; /* the width below which the column does not shrink */
} Shape;

/* Returns whether the j-th shown column and the one before stand under one head. */
static int goes_on(const Sheet *r, size_t j)
{
    return j > 0 && j < r->shown && sheet_together(r, r->view[j - 1], r->view[j]);
}

/* Returns the head of the j-th shown column. Markdown has one line of heads, so that of a group stands in each. */
static const char *head(const Sheet *r, size_t j, int form)
{
    const Slot *s = &r->slot[r->view[j]];
    return form == SHEET_MARKDOWN && *s->whole ? s->whole : s->head;
}

/* Widens the first column of each group whose head is wider than its columns. */
static void widen_groups(const Sheet *r, int form, Shape *s)
{
    for (size_t j = 0, end; j < r->shown; j = end) {
        const char *group = r->slot[r->view[j]].column->group;
        size_t width = s[j].width;
        for (end = j + 1; goes_on(r, end); end++) width += s[end].width;
        size_t need = group ? cell_width(group, SIZE_MAX, form, 0) : 0;
        if (need > width) s[j].width += need - width;
    }
}

static void shapes(const Sheet *r, int form, Shape *s)
{
    for (size_t j = 0; j < r->shown; j++) {
        s[j] = (Shape){cell_width(head(r, j, form), SIZE_MAX, form, 0), is_right(r, r->view[j]), 0};
        for (size_t i = 0; i < r->cells; i += r->columns) {
            size_t w =
                cell_width(sheet_seen(r, i, j), SIZE_MAX, form, r->cell[i + r->view[j]].number);
            if (w > s[j].width) s[j].width = w;
        }
        if (s[j].width < 3) s[j].width = 3; /* Markdown wants three dashes */
    }
    if (form != SHEET_MARKDOWN) widen_groups(r, form, s);
}

/* A line: its length, and how much of it a character and the space between two columns take. */
typedef struct {
    double length, character, gap;
} Line;

/* The shown columns that a part of a table has. */
typedef struct {
    size_t count, *column; /* (count), room for all */
} Part;

static double line_width(const Line *l, const Shape *s)
{
    return l->gap + l->character * (double)s->width;
}

static int is_same(const Sheet *r, size_t a, size_t b, size_t columns)
{
    for (size_t j = 0; j < columns; j++)
        if (strcmp(sheet_seen(r, a, j), sheet_seen(r, b, j)) != 0) return 0;
    return 1;
}

/* Returns 1 where no two rows are equal in the first `columns` columns. */
static int tells_apart(const Sheet *r, size_t columns)
{
    for (size_t a = 0; a < r->cells; a += r->columns)
        for (size_t b = 0; b < a; b += r->columns)
            if (is_same(r, a, b, columns)) return 0;
    return 1;
}

/* Returns the number of columns that name a row, which each part of a table has: the fewest first columns that tell the
 * rows apart. It is 1 where those take more than half of a line, or there are too many rows to compare. */
static size_t count_names(const Sheet *r, const Shape *s, const Line *l)
{
    enum { MOST = 1000 };
    double width = 0;
    for (size_t n = 1; n <= r->shown && r->cells / r->columns <= MOST; n++) {
        width += line_width(l, &s[n - 1]);
        if (width > 0.5 * l->length) break;
        if (tells_apart(r, n)) return n;
    }
    return 1;
}

/* Fills the part that begins with column `from`: as many columns as fit, after the name columns. Returns the first
 * column that does not fit. Half of an interval, which has no column of its own in CSV, stays with its number, and columns
 * under one head stay together where they fit. */
static size_t take_part(const Sheet *r, const Shape *s, const Line *l, size_t names, size_t from,
                        Part *p)
{
    double width = 0;
    size_t j = from, whole = from;
    p->count = 0;
    for (size_t k = 0; from && k < names; k++) {
        width += line_width(l, &s[k]);
        p->column[p->count++] = k;
    }
    for (; j < r->shown && width + line_width(l, &s[j]) <= l->length; j++) {
        width += line_width(l, &s[j]);
        if (j + 1 == r->shown || (!r->slot[r->view[j + 1]].half && !goes_on(r, j + 1)))
            whole = j + 1;
    }
    size_t to = whole > from ? whole : j > from ? j : from + 1;
    for (j = from; j < to; j++) p->column[p->count++] = j;
    return to;
}

/* ---- LaTeX ---------------------------------------------------------------------------------------- */

/* Points: the length of an article's line at 10 pt, a thousandth of the font's size (letters of 8 pt are wider for
 * their size: cmr8.tfm), and the space between two columns. A table that is too wide is set smaller; one that is still
 * too wide becomes several. So do many rows, as a page cannot end inside a tabular. */
static const struct {
    const char *before, *behind;
    Line line;
} latex_size[] = {
    {"", "", {345, 0.01, 12}},
    {"{\\footnotesize\\setlength{\\tabcolsep}{4pt}%\n\\noindent\n", "}\n", {345, 0.0085, 8}},
};
static const double latex_column = 239; /* 84 mm */
enum { LATEX_ROWS = 50 };

/* Returns whether a cell is strong; its text then begins with the mark. */
static int is_strong(const Sheet *r, size_t first, size_t column)
{
    return first != SIZE_MAX && r->slot[column].column->form == SHEET_CELL &&
           r->seen[r->seen_at[first + column]] == SHEET_STRONG_MARK;
}

static void latex_cell(const Sheet *r, size_t first, size_t column, const char *text, FILE *f)
{
    if (first != SIZE_MAX && *text && r->slot[column].column->form == SHEET_FORMULA) {
        fputc('$', f);
        latex_formula(f, text);
        fputc('$', f);
        return;
    }
    int strong = is_strong(r, first, column);
    if (strong) fputs("\\textbf{", f);
    (first != SIZE_MAX && r->cell[first + column].number ? latex_number
                                                         : latex_text)(f, text + strong);
    if (strong) fputc('}', f);
}

static void latex_row(const Sheet *r, size_t first, const Part *p, FILE *f)
{
    for (size_t k = 0; k < p->count; k++) {
        size_t column = r->view[p->column[k]];
        const char *text = sheet_seen(r, first, p->column[k]);
        /* for an argument of \\ */
        int mistaken = k == 0 && (*text == '[' || *text == '*') && !is_strong(r, first, column);
        fputs(k ? " & " : mistaken ? "{}" : "", f);
        latex_cell(r, first, column, text, f);
    }
    fputs(" \\\\\n", f);
}

/* Returns whether a part has columns under a common head. */
static int has_groups(const Sheet *r, const Part *p)
{
    for (size_t k = 0; k < p->count; k++)
        if (r->slot[r->view[p->column[k]]].column->group) return 1;
    return 0;
}

/* Gives the columns of a part, from the k-th on, that stand under one head: its text, "" without one. Returns their end. */
static size_t next_group(const Sheet *r, const Part *p, size_t k, const char **text)
{
    *text = r->slot[r->view[p->column[k]]].column->group;
    if (!*text) *text = "";
    while (++k < p->count && goes_on(r, p->column[k])) {}
    return k;
}

/* Writes the line of common heads, and a rule below each. */
static void latex_groups(const Sheet *r, const Part *p, FILE *f)
{
    const char *text;
    for (size_t k = 0, end; k < p->count; k = end) {
        end = next_group(r, p, k, &text);
        fputs(k ? " & " : "", f);
        if (!*text && end - k == 1) continue;
        fprintf(f, "\\multicolumn{%zu}{c}{", end - k);
        latex_text(f, text);
        fputc('}', f);
    }
    fputs(" \\\\\n", f);
    for (size_t k = 0, end; k < p->count; k = end) {
        end = next_group(r, p, k, &text);
        if (*text) fprintf(f, "\\cmidrule(lr){%zu-%zu}\n", k + 1, end);
    }
}

static void latex_table(const Sheet *r, const Shape *s, const Part *p, size_t row, FILE *f)
{
    size_t end = row + LATEX_ROWS * r->columns;
    fputs("\\begin{tabular}{", f);
    for (size_t k = 0; k < p->count; k++) fputc(s[p->column[k]].right ? 'r' : 'l', f);
    fputs("}\n\\toprule\n", f);
    if (has_groups(r, p)) latex_groups(r, p, f);
    latex_row(r, SIZE_MAX, p, f);
    fputs("\\midrule\n", f);
    for (size_t i = row; i < r->cells && i < end; i += r->columns) latex_row(r, i, p, f);
    fputs("\\bottomrule\n\\end{tabular}\n", f);
}

static Line latex_line(const Sheet *r, int small)
{
    Line line = latex_size[small].line;
    if (r->narrow) line.length = latex_column;
    return line;
}

static void write_latex(const Sheet *r, const Shape *s, Part *p, FILE *f)
{
    Line line = latex_line(r, 0);
    int small = take_part(r, s, &line, 0, 0, p) < r->shown;
    line = latex_line(r, small);
    size_t names = small ? count_names(r, s, &line) : 0;
    fputs(latex_size[small].before, f);
    for (size_t row = 0; row == 0 || row < r->cells; row += LATEX_ROWS * r->columns)
        for (size_t from = 0, to; from < r->shown; from = to) {
            to = take_part(r, s, &line, names, from, p);
            if (row || from) fputs("\n\\medskip\\noindent\n", f);
            latex_table(r, s, p, row, f);
        }
    fputs(latex_size[small].behind, f);
}

/* ---- for people ---------------------------------------------------------------------------------- */

static void put_blanks(FILE *f, size_t n)
{
    fprintf(f, "%*s", (int)n, "");
}

static void put_line(FILE *f, const char *text, int n)
{
    while (n-- > 0) fputs(text, f);
}

/* The text before, between and behind cells, and the dash of the rule below the header. */
static const struct {
    const char *before, *between, *behind, *dash;
} look[] = {
    [SHEET_PLAIN] = {"", "  ", "", "-"},
    [SHEET_MARKDOWN] = {"| ", " | ", " |", "-"},
};

/* Returns the bytes of the first line of a cell that is `columns` wide: up to a blank where there is one, else as many
 * characters as fit. */
static size_t first_line(const char *text, size_t columns)
{
    size_t most = utf8_fit(text, columns), n = most;
    if (text[most] == '\0') return most;
    while (n > 0 && text[n] != ' ') n--;
    return n ? n : most ? most : strlen(text);
}

static size_t longest_word(const char *text)
{
    size_t most = 0;
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        size_t w = utf8_columns(text, n = strcspn(text, " "));
        most = w > most ? w : most;
    }
    return most;
}

/* Returns the width below which a column does not shrink: its words stay whole, and short texts stay in one line. */
static size_t least_width(const Sheet *r, const Shape *s, size_t j)
{
    enum { SHORT = 30 };
    size_t least = SHORT;
    if (s[j].right || s[j].width <= SHORT) return s[j].width;
    for (size_t i = 0; i < r->cells; i += r->columns) {
        size_t w = longest_word(sheet_seen(r, i, j));
        least = w > least ? w : least;
    }
    return least < s[j].width ? least : s[j].width;
}

static double table_width(const Sheet *r, const Shape *s, const Line *l)
{
    double width = 0;
    for (size_t j = 0; j < r->shown; j++) width += line_width(l, &s[j]);
    return width;
}

/* Narrows columns for a line that is shorter than the table. If long texts in several lines make the table fit, the
 * widest column shrinks step by step. Else only texts wider than the room of a part shrink. */
static void narrow(const Sheet *r, Shape *s, const Line *l)
{
    size_t can = 0, most = 0;
    double over = table_width(r, s, l) - l->length, room = l->length;
    for (size_t j = 0; j < r->shown; j++) {
        s[j].least = least_width(r, s, j);
        can += s[j].width - s[j].least;
    }
    for (; over > 0 && (double)can >= over; over--) {
        size_t widest = r->shown;
        for (size_t j = 0; j < r->shown; j++)
            if (s[j].width > s[j].least && (widest == r->shown || s[j].width > s[widest].width))
                widest = j;
        s[widest].width--;
    }
    if (!(over > 0)) return;
    for (size_t k = count_names(r, s, l); k-- > 0;) room -= line_width(l, &s[k]);
    most = room > 10 + l->gap ? (size_t)(room - l->gap) : 10;
    for (size_t j = 0; j < r->shown; j++)
        if (!s[j].right && s[j].width > most) s[j].width = most;
}

/* Writes a line of a row. text (p->count): the rest of its cells, from which it takes a line. Returns whether more is
 * left. */
static int put_texts(const Shape *s, const Part *p, int form, const char **text, FILE *f)
{
    int more = 0;
    fputs(look[form].before, f);
    for (size_t k = 0; k < p->count; k++) {
        const Shape *shape = &s[p->column[k]];
        size_t bytes = form == SHEET_PLAIN ? first_line(text[k], shape->width) : strlen(text[k]);
        size_t width = cell_width(text[k], bytes, form, 0);
        size_t gap = width < shape->width ? shape->width - width : 0;
        if (k) fputs(look[form].between, f);
        if (shape->right) put_blanks(f, gap);
        for (size_t i = 0; i < bytes; i++)
            fprintf(f, "%s%c", text[k][i] == '|' && form == SHEET_MARKDOWN ? "\\" : "", text[k][i]);
        int last = k + 1 == p->count && form == SHEET_PLAIN;
        if (!shape->right && !last) put_blanks(f, gap);
        text[k] += bytes;
        text[k] += strspn(text[k], " ");
        more |= *text[k] != '\0';
    }
    fprintf(f, "%s\n", look[form].behind);
    return more;
}

static void put_row(const Sheet *r, const Shape *s, const Part *p, int form, size_t first,
                    const char **text, FILE *f)
{
    for (size_t k = 0; k < p->count; k++)
        text[k] =
            first == SIZE_MAX ? head(r, p->column[k], form) : sheet_seen(r, first, p->column[k]);
    while (put_texts(s, p, form, text, f)) {}
}

/* Writes the line of common heads, each in the middle of its columns. */
static void put_groups(const Sheet *r, const Shape *s, const Part *p, FILE *f)
{
    const char *text;
    size_t owed = 0; /* blanks, which no line ends with */
    for (size_t k = 0, end; k < p->count; k = end) {
        end = next_group(r, p, k, &text);
        size_t wide = utf8_columns(text, SIZE_MAX), width = (end - k - 1) * 2;
        for (size_t j = k; j < end; j++) width += s[p->column[j]].width;
        size_t before = (width - (wide < width ? wide : width) + 1) / 2;
        if (wide) {
            put_blanks(f, owed + before);
            fputs(text, f);
            owed = 0;
        }
        owed += (wide ? width - before - wide : width) + 2;
    }
    fputc('\n', f);
}

static void put_rule(const Shape *s, const Part *p, int form, FILE *f)
{
    fputs(look[form].before, f);
    for (size_t k = 0; k < p->count; k++) {
        const Shape *shape = &s[p->column[k]];
        int colon = form == SHEET_MARKDOWN && shape->right;
        if (k) fputs(look[form].between, f);
        put_line(f, look[form].dash, (int)shape->width - colon);
        if (colon) fputc(':', f);
    }
    fprintf(f, "%s\n", look[form].behind);
}

/* Writes text or Markdown. A table wider than a terminal is written in parts, one below the other. text (shown):
 * room. */
static void write_rows(const Sheet *r, Shape *s, int form, Part *p, const char **text, FILE *f)
{
    size_t width = form == SHEET_PLAIN ? terminal_width(f) : 0, names = 0;
    if (f == stdout) screen_people(); /* the words around a table too */
    Line line = {width ? (double)width + 2 : INFINITY, 1, 2};
    if (table_width(r, s, &line) > line.length) {
        narrow(r, s, &line);
        names = count_names(r, s, &line);
    }
    for (size_t from = 0, to; from < r->shown; from = to) {
        to = take_part(r, s, &line, names, from, p);
        if (from) fputc('\n', f);
        if (form == SHEET_PLAIN && has_groups(r, p)) put_groups(r, s, p, f);
        put_row(r, s, p, form, SIZE_MAX, text, f);
        put_rule(s, p, form, f);
        for (size_t i = 0; i < r->cells; i += r->columns) put_row(r, s, p, form, i, text, f);
    }
}

/* Keeps, of the shown columns, those that have something in a row. A table without rows keeps all. */
static size_t leave_out_empty(const Sheet *r, size_t *view)
{
    size_t n = 0;
    for (size_t j = 0; j < r->shown; j++) {
        size_t i = 0;
        while (i < r->cells && sheet_empty(r, &r->cell[i + r->view[j]])) i += r->columns;
        if (i < r->cells || r->cells == 0) view[n++] = r->view[j];
    }
    return n;
}

static int lay_out(const Sheet *r, int form, FILE *f)
{
    SCOPED(memory_drop) Shape *s = memory_new(r->shown, sizeof *s);
    SCOPED(memory_drop) const char **text = memory_new(r->shown, sizeof *text);
    Part p = {0, memory_new(r->shown, sizeof *p.column)};
    SCOPED(memory_drop) void *column = p.column;
    if (!s || !column || !text) return ERR_MEMORY;
    shapes(r, form, s);
    if (form == SHEET_LATEX)
        write_latex(r, s, &p, f);
    else
        write_rows(r, s, form, &p, text, f);
    return 0;
}

int sheet_lay_out(const Sheet *r, int form, FILE *f)
{
    SCOPED(memory_drop) size_t *view = memory_new(r->shown, sizeof *view);
    if (!view) return ERR_MEMORY;
    Sheet filled = *r;
    filled.shown = leave_out_empty(r, view);
    filled.view = view;
    return lay_out(&filled, form, f);
}
