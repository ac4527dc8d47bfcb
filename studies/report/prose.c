/* prose.c: line by line; what a line is decides what is open. */
#include "studies/report/prose.h"

#include <string.h>

#include "studies/report/page.h"

enum { NOTHING, PARAGRAPH, TABLE, CODE };

typedef struct {
    FILE *f;
    int open, fenced, tables;
} Writer;

static void change_to(Writer *w, int what)
{
    static const char *const begin[] = {
        "", "<p>",
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Table\"><table>\n",
        "<pre>"};
    static const char *const end[] = {"", "</p>\n", "</table></div>\n", "</pre>\n"};
    if (w->open == what) return;
    fputs(end[w->open], w->f);
    fputs(begin[what], w->f);
    w->open = what;
}

/* Words with `code` in them, n bytes. */
static void put_line(FILE *f, const char *text, size_t n)
{
    while (n > 0) {
        const char *tick = memchr(text, '`', n), *end = NULL;
        if (tick) end = memchr(tick + 1, '`', n - (size_t)(tick - text) - 1);
        size_t plain = end ? (size_t)(tick - text) : n;
        page_bytes(f, text, plain);
        if (!end) return;
        fputs("<code>", f);
        page_bytes(f, tick + 1, (size_t)(end - tick - 1));
        fputs("</code>", f);
        n -= (size_t)(end + 1 - text);
        text = end + 1;
    }
}

/* "| a | b |"; of the first row headers. A bar after a backslash or in `code` is none. */
static void put_row(Writer *w, const char *line, int head)
{
    fputs("<tr>", w->f);
    for (line++; *line;) {
        size_t n = 0;
        int code = 0;
        for (; line[n] && (line[n] != '|' || code || (n && line[n - 1] == '\\')); n++)
            code ^= line[n] == '`';
        if (!line[n]) break;
        while (n && *line == ' ') line++, n--;
        size_t words = n;
        while (words && line[words - 1] == ' ') words--;
        fprintf(w->f, head ? "<th scope=\"col\">" : words > 60 ? "<td class=\"long\">" : "<td>");
        put_line(w->f, line, words);
        fputs(head ? "</th>" : "</td>", w->f);
        line += n + 1;
    }
    fputs("</tr>\n", w->f);
}

static int is_rule(const char *line)
{
    return line[strspn(line, "|-: ")] == '\0';
}

static void put_table_line(Writer *w, const char *line)
{
    if (!w->tables) {
        change_to(w, NOTHING);
        return;
    }
    int head = w->open != TABLE;
    change_to(w, TABLE);
    if (is_rule(line)) return;
    if (head) fputs("<thead>", w->f);
    put_row(w, line, head);
    if (head) fputs("</thead>\n", w->f);
}

static void put_heading(Writer *w, const char *line)
{
    change_to(w, NOTHING);
    line += strspn(line, "#");
    fputs("<p><b>", w->f);
    put_line(w->f, line + strspn(line, " "), strlen(line + strspn(line, " ")));
    fputs("</b></p>\n", w->f);
}

/* A line that ends a sentence ends its paragraph. */
static void put_words(Writer *w, const char *line)
{
    size_t n = strlen(line);
    if (w->open == PARAGRAPH) fputc(' ', w->f);
    change_to(w, PARAGRAPH);
    put_line(w->f, line, n);
    if (line[n - 1] == '.') change_to(w, NOTHING);
}

static void put_any(Writer *w, const char *line)
{
    int fence = strncmp(line, "```", 3) == 0;
    w->fenced ^= fence;
    if (fence) {
        change_to(w, w->fenced ? CODE : NOTHING);
    } else if (w->fenced || (strncmp(line, "    ", 4) == 0 && w->open != PARAGRAPH)) {
        change_to(w, CODE);
        page_text(w->f, line);
        fputc('\n', w->f);
    } else if (!*line) {
        change_to(w, NOTHING);
    } else if (*line == '|') {
        put_table_line(w, line);
    } else if (*line == '#') {
        put_heading(w, line);
    } else {
        put_words(w, line);
    }
}

int prose_write(FILE *f, char *text, size_t lines, int tables)
{
    Writer w = {.f = f, .tables = tables};
    for (char *line = text, *next; line; line = next) {
        if (lines-- == 0) {
            change_to(&w, NOTHING);
            return 1;
        }
        if ((next = strchr(line, '\n'))) *next++ = '\0';
        line[strcspn(line, "\r")] = '\0';
        if (next || *line) put_any(&w, line);
    }
    change_to(&w, NOTHING);
    return 0;
}
