/* page.c: writes the HTML of a page. */
#include "studies/page/report/report.h"

#include <ctype.h>
#include <math.h>
#include <nettle/base64.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/plain_text.h"
#include "studies/base/notation.h"
#include "studies/base/output.h"

TEXT_EMBED(page_css, "studies/page/report/page.css");

const char *page_style(void)
{
    return page_css;
}

void page_begin(FILE *f, const char *title)
{
    page_print(
        f,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>%s"
        "</title>\n<style>\n%r</style>\n</head>\n<body>\n",
        title, page_css);
}

void page_end(FILE *f)
{
    fputs("</body>\n</html>\n", f);
}

/* ---- drawings ------------------------------------------------------------------------------------ */

void page_drawing(FILE *f, const char *svg, size_t bytes, const char *alt)
{
    char letters[BASE64_ENCODE_RAW_LENGTH(3072)];
    page_print(f, "<img alt=\"%s\" src=\"data:image/svg+xml;base64,", alt);
    for (size_t n; bytes > 0; svg += n, bytes -= n) {
        n = bytes < 3072 ? bytes : 3072;
        base64_encode_raw(letters, n, (const uint8_t *)svg);
        fwrite(letters, 1, BASE64_ENCODE_RAW_LENGTH(n), f);
    }
    fputs("\">\n", f);
}

/* ---- the program's words ------------------------------------------------------------------------- */

void page_words(FILE *f, const char *words)
{
    char formula[FORMULA_MOST + 2];
    for (;;) {
        NotationPart p = notation_next(words);
        html_bytes(f, words, p.words);
        if (p.bytes == 0) return;
        snprintf(formula, sizeof formula, "%.*s", (int)p.bytes, p.formula);
        formula_put(f, formula);
        words = p.behind;
    }
}

void page_print(FILE *f, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (size_t n; *format; format += n) {
        n = strcspn(format, "%");
        fwrite(format, 1, n, f);
        if (!format[n]) break;
        switch (format[n + 1]) {
        case 's': html_text(f, va_arg(args, const char *)); break;
        case 'w': page_words(f, va_arg(args, const char *)); break;
        case 'r': fputs(va_arg(args, const char *), f); break;
        default: fprintf(f, "%zu", va_arg(args, size_t));
        }
        n += 2;
    }
    va_end(args);
}

/* ---- columns of a table -------------------------------------------------------------------------- */

enum { SHOWN_MAX = 64, LONG = 60 };

typedef struct {
    const Column *column;
    int at, low, high; /* columns of the file; low, high -1: no interval */
    int number;        /* 1: every cell that is not empty is a number */
    size_t chars;      /* characters that must stay in one line */
} Shown;

static int is_number(const char *text, double *x)
{
    char *end;
    *x = strtod(text, &end);
    return end != text && *end == '\0' && !isnan(*x) && !strpbrk(text, "xX \t\n");
}

static int is_numeric(const Frame *c, size_t rows, int column)
{
    double x;
    size_t there = 0;
    for (size_t i = 0; i < rows; i++) {
        const char *text = frame_cell(c, i, column);
        there += *text != '\0';
        if (*text && !is_number(text, &x)) return 0;
    }
    return there > 0;
}

static int is_empty(const Frame *c, int column)
{
    size_t i = 0;
    while (i < c->rows && !*frame_cell(c, i, column)) i++;
    return i == c->rows && c->rows > 0;
}

static int find_column(const Frame *c, const char *name)
{
    return name ? frame_column(c, name) : -1;
}

/* Returns the column of a name, or a text column where the list has none. */
static const Column *line_of(const Column *list, const char *name)
{
    static const Column text = {.name = "", .type = SHEET_TEXT};
    for (; list && (list->name || list->head); list++)
        if (list->name && strcmp(list->name, name) == 0) return list;
    return &text;
}

/* Chooses the columns of the list that a page shows and the file has; all of the file where the list names none. */
static size_t choose_columns(const Frame *c, const Column *list, Shown *column)
{
    const Column *some[SHOWN_MAX];
    size_t n = 0, chosen = kind_shown(list, some, SHOWN_MAX);
    for (size_t j = 0; j < chosen; j++) {
        const Column *k = some[j];
        int at = frame_column(c, k->name);
        for (int i = (int)c->columns - 1; at < 0 && i >= 0; i--)
            if (kind_parts(list, k, c->cell[i])) at = i;
        if (at >= 0 && !is_empty(c, at))
            column[n++] = (Shown){k, at, find_column(c, k->low), find_column(c, k->high), 0, 0};
    }
    for (; !chosen && n < c->columns && n < SHOWN_MAX; n++)
        column[n] = (Shown){line_of(list, c->cell[n]), (int)n, -1, -1, 0, 0};
    return n;
}

/* ---- cells --------------------------------------------------------------------------------------- */

/* Important words have a sign besides a colour. */
static const struct {
    const char *word, *mark;
} marks[] = {{"agree", "good"},   {"verified", "good"}, {"disagree", "bad"},   {"undecided", "bad"},
             {"diverges", "bad"}, {"higher", "good"},   {"unfinished", "bad"}, {"failed", "bad"}};

static const char *mark_of(const char *text)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(text, marks[i].word) == 0) return marks[i].mark;
    return NULL;
}

/* Writes a number with the digits of a terminal's table, and other text as it is. */
static void put_number(FILE *f, const Column *column, const char *text)
{
    char shown[SHEET_SHOWN];
    double x;
    if (column->type == SHEET_DOUBLE && is_number(text, &x) && isfinite(x)) {
        sheet_shown(column, x, shown);
        text = shown;
    }
    html_text(f, text);
}

/* Writes the distance to the upper end where the terminal does, else both ends. */
static void put_interval(FILE *f, const Frame *c, size_t row, const Shown *k)
{
    const char *low = frame_cell(c, row, k->low), *high = frame_cell(c, row, k->high);
    char shown[SHEET_SHOWN];
    double mean, to;
    if (!*low || !*high) return;
    fputs(" <span class=\"ci\">", f);
    if (k->column->half && is_number(frame_cell(c, row, k->at), &mean) && is_number(high, &to) &&
        isfinite(to - mean)) {
        sheet_shown(k->column, to - mean, shown);
        fprintf(f, "±\xc2\xa0%s", shown);
    } else {
        fputc('[', f);
        put_number(f, k->column, low);
        fputs(", ", f);
        put_number(f, k->column, high);
        fputc(']', f);
    }
    fputs("</span>", f);
}

static void put_value(FILE *f, const Frame *c, size_t row, const Shown *k)
{
    const char *text = frame_cell(c, row, k->at);
    if (!*text)
        fputs("<span class=\"none\" title=\"undefined\">–</span>", f);
    else if (k->column->form == SHEET_FORMULA && k->column->type == SHEET_TEXT)
        formula_put(f, text);
    else if (k->column->form == SHEET_WORDS)
        page_words(f, text);
    else
        put_number(f, k->column, text);
    if (*text && k->low >= 0 && k->high >= 0) put_interval(f, c, row, k);
}

/* Returns the column's name in CSV. Where people see the number in another unit, returns the
 * head that names the unit. */
static const char *name_of(const Frame *c, const Shown *k)
{
    return k->column->scale != 0 && k->column->head ? k->column->head : c->cell[k->at];
}

static void put_cell(FILE *f, const Frame *c, size_t row, const Shown *k, int head)
{
    const char *text = frame_cell(c, row, k->at), *mark = mark_of(text);
    page_print(f, head ? "<th scope=\"row\"" : "<td data-label=\"%s\"", name_of(c, k));
    if (k->number || mark || strlen(text) > LONG)
        fprintf(f, " class=\"%s\"", k->number ? "n" : mark ? mark : "long");
    fputc('>', f);
    put_value(f, c, row, k);
    fputs(head ? "</th>" : "</td>", f);
}

/* Writes a column's name, which may break after each '_'. */
static void put_name(FILE *f, const char *name)
{
    for (size_t n; *name; name += n) {
        n = strcspn(name, "_");
        n += name[n] == '_';
        html_bytes(f, name, n);
        if (name[n]) fputs("<wbr>", f);
    }
}

/* ---- widths -------------------------------------------------------------------------------------- */

/* Counts the characters of the longest piece that stays in one line. */
static size_t longest_word(const char *html)
{
    size_t n = 0, longest = 0;
    for (; *html; html += *html != '\0') {
        if (isspace((unsigned char)*html) || strncmp(html, "<wbr>", 5) == 0) n = 0;
        if (*html == '<')
            html += strcspn(html, ">");
        else if (*html == '&')
            html += strcspn(html, ";"), n++;
        else
            n += !isspace((unsigned char)*html) && ((unsigned char)*html & 0xc0) != 0x80;
        if (n > longest) longest = n;
    }
    return longest;
}

/* Returns the least width of a column in characters: its longest word, and LONG_WIDE (page.css) for long
 * texts, which break anywhere. */
static size_t least_width(const Frame *c, size_t rows, const Shown *k)
{
    enum { LONG_WIDE = 28 };
    Output o;
    int has_long = 0;
    if (output_open(&o) != 0) return LONG_WIDE;
    put_name(o.f, name_of(c, k));
    for (size_t i = 0; i < rows; i++) {
        int is_long = !k->number && strlen(frame_cell(c, i, k->at)) > LONG;
        has_long |= is_long;
        fputc(' ', o.f);
        if (!is_long) put_value(o.f, c, i, k);
    }
    size_t n = fflush(o.f) == 0 ? longest_word(o.text) : 0;
    output_drop(&o);
    return has_long && n < LONG_WIDE ? LONG_WIDE : n;
}

/* A table that is wider than a screen or a landscape sheet of paper becomes several, each with the first column, as in
 * LaTeX (sheet_people.c). Widths in characters, each with the room between two columns. */
enum { NARROW_MOST = 46, UPRIGHT_MOST = 125, WIDE_MOST = 160, PADDING = 2 };

/* Returns the first column, from `from` on, that does not fit beside the first. *chars: the width of those that fit. */
static size_t fit_columns(const Shown *column, size_t n, size_t from, size_t *chars)
{
    size_t j = from;
    *chars = from ? PADDING + column[0].chars : 0;
    for (; j < n && (j == from || *chars + PADDING + column[j].chars <= WIDE_MOST); j++)
        *chars += PADDING + column[j].chars;
    return j;
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* The columns from .. to-1 of a table, after its first one. */
typedef struct {
    const Shown *column;
    size_t from, to;
} Part;

/* Returns the j-th of a part's columns, from 0; NULL: there are no more. */
static const Shown *part_column(const Part *p, size_t j)
{
    if (p->from && j == 0) return &p->column[0];
    j += p->from ? p->from - 1 : 0;
    return j < p->to ? &p->column[j] : NULL;
}

static void put_head(FILE *f, const Frame *c, const Part *p)
{
    fputs("<thead><tr>", f);
    const Shown *k;
    for (size_t j = 0; (k = part_column(p, j)); j++) {
        fprintf(f, "<th scope=\"col\"%s>", k->number ? " class=\"n\"" : "");
        put_name(f, name_of(c, k));
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
}

/* Do rows form groups by their first cell? 0: each stands alone. */
static int is_grouped(const Frame *c, size_t rows, int column)
{
    size_t changes = 0;
    for (size_t i = 1; i < rows; i++)
        changes += strcmp(frame_cell(c, i, column), frame_cell(c, i - 1, column)) != 0;
    return 2 * changes < rows;
}

static void put_rows(FILE *f, const Frame *c, size_t rows, const Part *p)
{
    int first = p->column[0].at, grouped = is_grouped(c, rows, first);
    for (size_t i = 0; i < rows; i++) {
        int begins = !grouped
                         ? i % 5 == 0
                         : i && strcmp(frame_cell(c, i, first), frame_cell(c, i - 1, first)) != 0;
        fputs(i && begins ? "<tr class=\"new\">" : "<tr>", f);
        for (size_t j = 0; part_column(p, j); j++) put_cell(f, c, i, part_column(p, j), j == 0);
        fputs("</tr>\n", f);
    }
}

static void put_part(FILE *f, const Frame *c, size_t rows, const PageTable *t, const Part *p,
                     size_t chars)
{
    const char *width = chars > UPRIGHT_MOST ? " across" : chars > NARROW_MOST ? " upright" : "";
    fprintf(f, "<div class=\"wide%s\" style=\"--chars:%zu\">\n<table>\n", width, chars);
    if (p->from)
        fprintf(f, "<caption><b>%s</b> goes on.</caption>\n", t->label);
    else if (!t->folded)
        fprintf(f, "<caption><b>%s</b> %s</caption>\n", t->label, t->caption);
    put_head(f, c, p);
    put_rows(f, c, rows, p);
    fputs("</tbody>\n</table>\n</div>\n", f);
}

void page_table(FILE *f, const Frame *c, const PageTable *t,
                void (*uses)(void *arg, const char *column, const char *head), void *arg)
{
    Shown column[SHOWN_MAX];
    size_t rows = c->rows < t->most ? c->rows : t->most, n = choose_columns(c, t->columns, column),
           chars;
    for (size_t j = 0; j < n; j++) {
        column[j].number = is_numeric(c, rows, column[j].at);
        column[j].chars = least_width(c, rows, &column[j]);
        if (uses) uses(arg, c->cell[column[j].at], name_of(c, &column[j]));
    }
    if (t->folded)
        fprintf(f, "<details class=\"table\">\n<summary><b>%s</b> %s</summary>\n", t->label,
                t->caption);
    for (size_t from = 0, to; from < n; from = to) {
        to = fit_columns(column, n, from, &chars);
        put_part(f, c, rows, t, &(Part){column, from, to}, chars);
    }
    if (rows < c->rows)
        page_print(f,
                   "<p class=\"more\">The first %u of %u rows; all are in <code>%s</code>.</p>\n",
                   rows, c->rows, t->file);
    if (t->folded) fputs("</details>\n", f);
}
