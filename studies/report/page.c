/* page.c: HTML, written by hand. */
#include "studies/report/page.h"

#include <ctype.h>
#include <math.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include <string.h>

#include "studies/tools/output.h"

__asm__(".pushsection .rodata\n"
        "page_css_begin: .incbin \"studies/report/page.css\"\n"
        "page_css_end: .byte 0\n"
        ".popsection\n");
extern const char page_css_begin[];

void page_begin(FILE *f, const char *title)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<title>",
          f);
    page_text(f, title);
    fprintf(f, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", page_css_begin);
}

void page_end(FILE *f)
{
    fputs("</body>\n</html>\n", f);
}

/* ---- text ---------------------------------------------------------------------------------------- */

static void put_character(FILE *f, char c)
{
    switch (c) {
    case '&': fputs("&amp;", f); break;
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '"': fputs("&quot;", f); break;
    case '\'': fputs("&#39;", f); break;
    default:
        if (((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 127)
            fputs("\xef\xbf\xbd", f);
        else
            fputc(c, f);
    }
}

void page_bytes(FILE *f, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) put_character(f, text[i]);
}

void page_text(FILE *f, const char *text)
{
    page_bytes(f, text, strlen(text));
}

/* ---- drawings ------------------------------------------------------------------------------------ */

void page_drawing(FILE *f, const char *svg, size_t bytes, const char *alt)
{
    char letters[BASE64_ENCODE_RAW_LENGTH(3072)];
    fputs("<img alt=\"", f);
    page_text(f, alt);
    fputs("\" src=\"data:image/svg+xml;base64,", f);
    for (size_t n; bytes > 0; svg += n, bytes -= n) {
        n = bytes < 3072 ? bytes : 3072;
        base64_encode_raw(letters, n, (const uint8_t *)svg);
        fwrite(letters, 1, BASE64_ENCODE_RAW_LENGTH(n), f);
    }
    fputs("\">\n", f);
}

/* ---- numbers ------------------------------------------------------------------------------------- */

#define THIN "\xe2\x80\xaf" /* narrow no-break space */
#define MINUS "\xe2\x88\x92"

static int is_number(const char *text, double *x)
{
    char *end;
    *x = strtod(text, &end);
    return end != text && *end == '\0' && !isnan(*x) && !strpbrk(text, "xX \t\n");
}

static int is_whole(const char *text)
{
    return text[strspn(text, "-0123456789")] == '\0';
}

/* Digits of a whole number, in threes from five on. */
static void put_digits(FILE *f, const char *digits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i && n >= 5 && (n - i) % 3 == 0) fputs(THIN, f);
        fputc(digits[i], f);
    }
}

/* "-1.5e-07", "12345.6" with a true minus and a power of ten. */
static void put_number(FILE *f, const char *text)
{
    if (*text == '-') fputs(MINUS, f);
    text += *text == '-';
    size_t whole = strspn(text, "0123456789"), all = strcspn(text, "e");
    put_digits(f, text, whole);
    fprintf(f, "%.*s", (int)(all - whole), text + whole);
    if (text[all]) {
        int power = atoi(text + all + 1);
        fprintf(f, "×10<sup>%s%d</sup>", power < 0 ? MINUS : "", abs(power));
    }
}

/* Decimals that give x (not 0) four digits. */
static int four_digits(double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.3e", x);
    int power = atoi(strchr(text, 'e') + 1);
    return power < 3 ? 3 - power : 0;
}

/* A number of a CSV file for people: 4 significant digits, a power of ten where there are more than 5 places
 * before or 3 after the point; whole numbers in groups of three from 10000 on. decimals >= 0: so many instead. */
static void round_number(FILE *f, const char *text, int decimals)
{
    char shown[400]; /* the largest double has 309 places */
    double x;
    if (!is_number(text, &x)) {
        page_text(f, text);
        return;
    }
    if (isinf(x)) {
        fputs(x < 0 ? MINUS "∞" : "∞", f);
        return;
    }
    if (is_whole(text) && decimals < 0) {
        put_number(f, text);
        return;
    }
    double size = fabs(x);
    if (decimals < 0 && x == 0) decimals = 0;
    if (decimals < 0 && size >= 1e-3 && size < 1e5) decimals = four_digits(x);
    if (x != 0 && size < pow(10, -decimals)) decimals = -1; /* all its digits would be lost */
    snprintf(shown, sizeof shown, decimals >= 0 ? "%.*f" : "%.*e", decimals >= 0 ? decimals : 3, x);
    int zero = *shown == '-' && strspn(shown, "-0.") == strlen(shown);
    put_number(f, shown + zero);
}

/* ---- columns of a table -------------------------------------------------------------------------- */

enum { SHOWN_MAX = 64, COLUMN_NAME = 160, LONG = 60 };

typedef struct {
    char name[COLUMN_NAME];
    int at, low, high; /* of the file; low, high -1: no interval */
    int number, decimals;
} Shown;

/* Whether all that is there is numbers; if so, decimals that give the largest four digits, where most of the
 * others are within three decades of it. */
static void look_at(const Csv *c, Shown *k, size_t rows)
{
    double x, most = 0;
    int whole = 1;
    size_t there = 0, near = 0;
    for (size_t i = 0; i < rows; i++) {
        const char *text = csv_cell(c, i, k->at);
        there += *text != '\0';
        if (*text && !is_number(text, &x)) return;
        whole &= is_whole(text);
        if (*text && isfinite(x)) most = fmax(most, fabs(x));
    }
    k->number = there > 0;
    for (size_t i = 0; i < rows; i++)
        near += is_number(csv_cell(c, i, k->at), &x) && fabs(x) >= 1e-3 * most;
    if (!whole && most >= 1e-3 && most < 1e5 && 4 * near >= 3 * there)
        k->decimals = four_digits(most);
}

static int is_empty(const Csv *c, int column)
{
    for (size_t i = 0; i < c->rows; i++)
        if (*csv_cell(c, i, column)) return 0;
    return c->rows > 0;
}

/* "a=low..high" or "a". */
static void parse_item(const Csv *c, const char *item, size_t n, Shown *k)
{
    char low[COLUMN_NAME] = "", high[COLUMN_NAME] = "", text[2 * COLUMN_NAME];
    snprintf(text, sizeof text, "%.*s", (int)n, item);
    sscanf(text, "%159[^=]=%159[^.]..%159s", k->name, low, high);
    k->at = csv_column(c, k->name);
    k->low = csv_column(c, low);
    k->high = csv_column(c, high);
}

static size_t choose_columns(const Csv *c, const PageTable *t, Shown *column)
{
    size_t n = 0;
    if (!t->show)
        for (; n < c->columns && n < SHOWN_MAX; n++) {
            column[n] = (Shown){.at = (int)n, .low = -1, .high = -1};
            snprintf(column[n].name, COLUMN_NAME, "%s", c->cell[n]);
        }
    for (const char *s = t->show; s && *s && n < SHOWN_MAX; s += strcspn(s, ","), s += *s == ',') {
        column[n] = (Shown){0};
        parse_item(c, s, strcspn(s, ","), &column[n]);
        if (column[n].at >= 0 && !is_empty(c, column[n].at)) n++;
    }
    return n;
}

/* ---- cells --------------------------------------------------------------------------------------- */

/* What a reader looks for first has a sign of its own, not a colour alone. */
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

static void put_interval(FILE *f, const Csv *c, size_t row, const Shown *k)
{
    const char *low = csv_cell(c, row, k->low), *high = csv_cell(c, row, k->high);
    if (!*low || !*high) return;
    fputs(" <span class=\"ci\">[", f);
    round_number(f, low, k->decimals);
    fputs(", ", f);
    round_number(f, high, k->decimals);
    fputs("]</span>", f);
}

static void put_value(FILE *f, const Csv *c, size_t row, const Shown *k)
{
    const char *text = csv_cell(c, row, k->at);
    if (!*text)
        fputs("<span class=\"none\" title=\"undefined\">–</span>", f);
    else if (k->number)
        round_number(f, text, k->decimals);
    else
        page_text(f, text);
    if (k->low >= 0 && k->high >= 0) put_interval(f, c, row, k);
}

static void put_cell(FILE *f, const Csv *c, size_t row, const Shown *k, int head)
{
    const char *text = csv_cell(c, row, k->at), *mark = mark_of(text);
    fputs(head ? "<th scope=\"row\"" : "<td", f);
    if (k->number)
        fputs(" class=\"n\"", f);
    else if (mark)
        fprintf(f, " class=\"%s\"", mark);
    else if (strlen(text) > LONG)
        fputs(" class=\"long\"", f);
    fputc('>', f);
    put_value(f, c, row, k);
    fputs(head ? "</th>" : "</td>", f);
}

/* A column's name, which may go on in another line behind each '_'. */
static void put_name(FILE *f, const char *name)
{
    for (size_t n; *name; name += n) {
        n = strcspn(name, "_");
        n += name[n] == '_';
        page_bytes(f, name, n);
        if (name[n]) fputs("<wbr>", f);
    }
}

static void put_head(FILE *f, const Shown *column, size_t n)
{
    fputs("<thead><tr>", f);
    for (size_t j = 0; j < n; j++) {
        fprintf(f, "<th scope=\"col\"%s>", column[j].number ? " class=\"n\"" : "");
        put_name(f, column[j].name);
        fputs("</th>", f);
    }
    fputs("</tr></thead>\n<tbody>\n", f);
}

/* ---- how wide it is ------------------------------------------------------------------------------ */

/* Characters of the longest piece that stays in one line. */
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

/* Characters that a column cannot do without on paper: its longest word; LONG_WIDE (page.css) for long texts, which
 * break anywhere. */
static size_t least_width(const Csv *c, size_t rows, const Shown *k)
{
    enum { LONG_WIDE = 36 };
    Output o;
    int has_long = 0;
    if (output_open(&o) != 0) return LONG_WIDE;
    put_name(o.f, k->name);
    for (size_t i = 0; i < rows; i++) {
        int is_long = !k->number && strlen(csv_cell(c, i, k->at)) > LONG;
        has_long |= is_long;
        fputc(' ', o.f);
        if (!is_long) put_value(o.f, c, i, k);
    }
    size_t n = fflush(o.f) == 0 ? longest_word(o.text) : 0;
    output_drop(&o);
    return has_long && n < LONG_WIDE ? LONG_WIDE : n;
}

/* Rows that belong together by their first cell; 0: each stands alone. */
static int is_grouped(const Csv *c, size_t rows, int column)
{
    size_t changes = 0;
    for (size_t i = 1; i < rows; i++)
        changes += strcmp(csv_cell(c, i, column), csv_cell(c, i - 1, column)) != 0;
    return 2 * changes < rows;
}

static void put_rows(FILE *f, const Csv *c, size_t rows, const Shown *column, size_t n)
{
    int grouped = n && is_grouped(c, rows, column[0].at);
    for (size_t i = 0; i < rows; i++) {
        int begins = !grouped ? i % 5 == 0
                              : i && strcmp(csv_cell(c, i, column[0].at),
                                            csv_cell(c, i - 1, column[0].at)) != 0;
        fputs(i && begins ? "<tr class=\"new\">" : "<tr>", f);
        for (size_t j = 0; j < n; j++) put_cell(f, c, i, &column[j], j == 0);
        fputs("</tr>\n", f);
    }
}

void page_table(FILE *f, const Csv *c, const PageTable *t,
                void (*uses)(void *arg, const char *column), void *arg)
{
    Shown column[SHOWN_MAX];
    size_t rows = c->rows < t->most ? c->rows : t->most, n = choose_columns(c, t, column);
    for (size_t j = 0; j < n; j++) {
        column[j].decimals = -1;
        look_at(c, &column[j], rows);
        if (uses) uses(arg, column[j].name);
    }
    enum { UPRIGHT_MOST = 125, PADDING = 2 };
    size_t chars = 0;
    for (size_t j = 0; j < n; j++) chars += PADDING + least_width(c, rows, &column[j]);
    fprintf(f,
            "<div class=\"wide%s\" role=\"region\" tabindex=\"0\" aria-label=\"%s\">\n"
            "<table style=\"--chars:%zu\">\n",
            chars > UPRIGHT_MOST ? " across" : "", t->label, chars);
    fprintf(f, "<caption><span><b>%s</b> %s</span></caption>\n", t->label, t->caption);
    put_head(f, column, n);
    put_rows(f, c, rows, column, n);
    fputs("</tbody>\n</table>\n</div>\n", f);
    if (rows == c->rows) return;
    fprintf(f, "<p class=\"more\">The first %zu of %zu rows; all are in <code>", rows, c->rows);
    page_text(f, t->file);
    fputs("</code>.</p>\n", f);
}
