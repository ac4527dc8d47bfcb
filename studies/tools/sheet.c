/* report.c: cells in one growing list; every form is one loop over it. */
#include "studies/tools/sheet.h"

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

struct Report {
    size_t columns;
    const char *const *name;
    size_t cells, room;
    Cell *cell;      /* (cells), row-major */
    size_t streamed; /* cells already written by report_stream */
    int header;      /* written by report_stream */
    int code;
};

int report_new(size_t columns, const char *const *name, Report **out)
{
    Report *r = memory_new(1, sizeof *r);
    if (!r) return ERR_MEMORY;
    r->columns = columns;
    r->name = name;
    *out = r;
    return 0;
}

void report_free(Report *r)
{
    if (!r) return;
    for (size_t i = 0; i < r->cells; i++) {
        memory_free(r->cell[i].exact);
        memory_free(r->cell[i].shown);
    }
    memory_free(r->cell);
    memory_free(r);
}

static void add(Report *r, const char *exact, const char *shown, int number)
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

void report_number(double x, char out[32])
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

static void add_number(Report *r, double x, const char *shown)
{
    char exact[32];
    report_number(x, exact);
    add(r, exact, isfinite(x) ? shown : exact, 1);
}

void report_text(Report *r, const char *text)
{
    add(r, text, text, 0);
}

void report_size(Report *r, uint64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    add(r, text, text, 1);
}

void report_real(Report *r, double x, int digits)
{
    char shown[64];
    snprintf(shown, sizeof shown, "%.*g", digits, x);
    add_number(r, x, shown);
}

void report_fixed(Report *r, double x, int decimals)
{
    char shown[64];
    snprintf(shown, sizeof shown, fabs(x) < 1e12 ? "%.*f" : "%.*g", decimals, x);
    int minus_zero = shown[0] == '-' && strspn(shown, "-0.") == strlen(shown);
    add_number(r, x, shown + minus_zero);
}

void report_flag(Report *r, int flag)
{
    report_text(r, flag ? "yes" : "no");
}

void report_none(Report *r)
{
    add(r, "", "", 1);
}

void report_order(Report *r, int order)
{
    if (order < 0)
        report_none(r);
    else
        report_size(r, (uint64_t)order);
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

static void csv_header(const Report *r, FILE *f)
{
    for (size_t j = 0; j < r->columns; j++) {
        if (j) fputc(',', f);
        put_csv(f, r->name[j]);
    }
    fputc('\n', f);
}

static void csv_rows(const Report *r, size_t first, FILE *f)
{
    for (size_t i = first; i < r->cells; i++) {
        put_csv(f, r->cell[i].exact);
        fputc((i + 1) % r->columns ? ',' : '\n', f);
    }
}

int report_stream(Report *r, FILE *f)
{
    if (!r->header) csv_header(r, f);
    r->header = 1;
    csv_rows(r, r->streamed, f);
    r->streamed = r->cells;
    fflush(f);
    return r->code;
}

/* ---- LaTeX --------------------------------------------------------------------------------------- */

static void put_latex(FILE *f, const char *text)
{
    static const char plain[] = "&%$#_{}";
    for (; *text; text++) {
        if (strncmp(text, "±", 2) == 0) {
            fputs("$\\pm$", f);
            text++;
        } else if (strchr("\\^~", *text))
            fprintf(f, "\\char`\\%c{}", *text);
        else
            fprintf(f, "%s%c", strchr(plain, *text) ? "\\" : "", *text);
    }
}

static void latex_row(const Report *r, size_t first, FILE *f)
{
    for (size_t j = 0; j < r->columns; j++) {
        fputs(j ? " & " : "", f);
        put_latex(f, first == SIZE_MAX ? r->name[j] : r->cell[first + j].shown);
    }
    fputs(" \\\\\n", f);
}

static int is_right(const Report *r, size_t column)
{
    for (size_t i = column; i < r->cells; i += r->columns)
        if (!r->cell[i].number) return 0;
    return 1;
}

static void write_latex(const Report *r, FILE *f)
{
    fputs("\\begin{tabular}{", f);
    for (size_t j = 0; j < r->columns; j++) fputc(is_right(r, j) ? 'r' : 'l', f);
    fputs("}\n\\hline\n", f);
    latex_row(r, SIZE_MAX, f);
    fputs("\\hline\n", f);
    for (size_t i = 0; i < r->cells; i += r->columns) latex_row(r, i, f);
    fputs("\\hline\n\\end{tabular}\n", f);
}

/* ---- for people ---------------------------------------------------------------------------------- */

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
    for (; form == REPORT_MARKDOWN && (text = strchr(text, '|')); text++) n++;
    return n;
}

static void put_cell(FILE *f, const char *text, int form, size_t columns, int right)
{
    int gap = (int)(columns - cell_width(text, form));
    if (right) fprintf(f, "%*s", gap, "");
    for (const char *c = text; *c; c++)
        fprintf(f, "%s%c", *c == '|' && form == REPORT_MARKDOWN ? "\\" : "", *c);
    if (!right) fprintf(f, "%*s", gap, "");
}

typedef struct {
    size_t width;
    int right;
} Shape;

static void shapes(const Report *r, int form, Shape *s)
{
    for (size_t j = 0; j < r->columns; j++) {
        s[j] = (Shape){cell_width(r->name[j], form), is_right(r, j)};
        for (size_t i = j; i < r->cells; i += r->columns) {
            size_t w = cell_width(r->cell[i].shown, form);
            if (w > s[j].width) s[j].width = w;
        }
        if (s[j].width < 3) s[j].width = 3; /* Markdown wants three dashes */
    }
}

static void put_line(FILE *f, const char *text, int n)
{
    while (n-- > 0) fputs(text, f);
}

/* What stands before, between and behind cells, and the rule below the header. */
static const struct {
    const char *before, *between, *behind, *dash;
} look[] = {
    [REPORT_PLAIN] = {"", "  ", "", "-"},
    [REPORT_MARKDOWN] = {"| ", " | ", " |", "-"},
};

static void put_row(const Report *r, const Shape *s, int form, size_t first, FILE *f)
{
    fputs(look[form].before, f);
    for (size_t j = 0; j < r->columns; j++) {
        const char *text = first == SIZE_MAX ? r->name[j] : r->cell[first + j].shown;
        if (j) fputs(look[form].between, f);
        int last = j + 1 == r->columns && form == REPORT_PLAIN && !s[j].right;
        put_cell(f, text, form, last ? width(text) : s[j].width, s[j].right);
    }
    fprintf(f, "%s\n", look[form].behind);
}

static void put_rule(const Report *r, const Shape *s, int form, FILE *f)
{
    fputs(look[form].before, f);
    for (size_t j = 0; j < r->columns; j++) {
        if (j) fputs(look[form].between, f);
        int colon = form == REPORT_MARKDOWN && s[j].right;
        put_line(f, look[form].dash, (int)s[j].width - colon);
        if (colon) fputc(':', f);
    }
    fprintf(f, "%s\n", look[form].behind);
}

int report_write(const Report *r, int form, FILE *f)
{
    if (r->code != 0) return r->code;
    if (form == REPORT_CSV) {
        csv_header(r, f);
        csv_rows(r, 0, f);
        return 0;
    }
    if (form == REPORT_LATEX) {
        write_latex(r, f);
        return 0;
    }
    Shape *s = memory_new(r->columns, sizeof *s);
    if (!s) return ERR_MEMORY;
    shapes(r, form, s);
    put_row(r, s, form, SIZE_MAX, f);
    put_rule(r, s, form, f);
    for (size_t i = 0; i < r->cells; i += r->columns) put_row(r, s, form, i, f);
    memory_free(s);
    return 0;
}
