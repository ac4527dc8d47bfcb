/* frame.c: reads CSV in one pass over the text and unquotes cells in place. */
#include "studies/base/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/text.h"

enum { BYTES_MAX = 1 << 26, COLUMNS_MAX = 256 };

static int error_at(const Frame *c, size_t line, const char *words)
{
    return error_set(ERR_INPUT, "%s:%zu: %s", c->file, line, words);
}

/* Ends the cell at *at and steps behind it. *last: the cell ends its line. */
static int take_cell(const Frame *c, char **at, size_t *line, char **cell, int *last)
{
    char *from = *at, *to = *at;
    size_t first = *line;
    int quoted = *from == '"';
    *cell = to;
    for (from += quoted;; from++) {
        if (*from == '\0' && quoted) return error_at(c, first, "a quoted cell does not end");
        if (quoted && *from == '"' && *++from != '"') break;
        if (!quoted && (*from == ',' || *from == '\n' || *from == '\0')) break;
        if (!quoted && *from == '\r' && from[1] == '\n') break;
        if (!quoted && *from == '"') return error_at(c, first, "a quote inside a cell");
        *line += *from == '\n';
        *to++ = *from;
    }
    if (*from == '\r' && from[1] == '\n') from++;
    if (*from && *from != ',' && *from != '\n')
        return error_at(c, first, "expected ',' after a quoted cell");
    *last = *from != ',';
    *line += *from == '\n';
    *at = from + (*from != '\0');
    *to = '\0';
    return 0;
}

/* Reads the cells of one line into list (COLUMNS_MAX). */
static int take_row(const Frame *c, char **at, size_t *line, char **list, size_t *count)
{
    int last = 0;
    size_t first = *line;
    for (*count = 0; !last; ++*count) {
        if (*count == COLUMNS_MAX) return error_at(c, first, "expected at most 256 columns");
        TRY(take_cell(c, at, line, &list[*count], &last));
    }
    return 0;
}

/* Checks the first line: a file of one column whose name has tabs or semicolons is of another form, and of two columns with
 * one name nobody could tell which is read. Columns without a name, as a spreadsheet leaves behind its last, may be many. */
static int check_names(const Frame *c)
{
    const char *only = c->columns == 1 ? c->cell[0] : "";
    if (strpbrk(only, "\t;"))
        return error_set(
            ERR_INPUT,
            "%s:1: its columns stand apart by %s: expected commas between columns, and "
            "a point in 1.5",
            c->file, strchr(only, '\t') ? "tabs" : "semicolons");
    for (size_t j = 0; j < c->columns; j++)
        if (*c->cell[j] && frame_column(c, c->cell[j]) != (int)j)
            return error_set(ERR_INPUT, "%s:%zu: two columns are called '%.60s': rename one",
                             c->file, c->line[0], c->cell[j]);
    return 0;
}

/* Sets the error for a row of another length. */
static int other_length(const Frame *c, size_t line, size_t count)
{
    return error_set(ERR_INPUT, "%s:%zu: expected %zu cells, as in the first line; there are %zu%s",
                     c->file, line, c->columns, count,
                     count > c->columns ? " (a number such as 1,234 has no comma here, and words "
                                          "with one stand in quotes)"
                                        : "");
}

static int read_rows(Frame *c)
{
    char *list[COLUMNS_MAX], *at = c->text;
    size_t line = 1, count, rows = 0;
    while (*at) {
        size_t first = line;
        if (*at == '\n' || strncmp(at, "\r\n", 2) == 0) {
            at = strchr(at, '\n') + 1;
            line++;
            continue;
        }
        TRY(take_row(c, &at, &line, list, &count));
        if (rows == 0) c->columns = count;
        if (count != c->columns) return other_length(c, first, count);
        for (size_t j = 0; j < count; j++) {
            TRY(memory_more(&c->cell, rows * count + j, sizeof *c->cell));
            c->cell[rows * count + j] = list[j];
        }
        TRY(memory_more(&c->line, rows, sizeof *c->line));
        c->line[rows++] = first;
        if (rows == 1) TRY(check_names(c));
    }
    if (rows == 0) return error_set(ERR_INPUT, "%s: expected a CSV file; it is empty", c->file);
    c->rows = rows - 1;
    return 0;
}

static int read_text(Frame *c, size_t bytes)
{
    if (bytes > BYTES_MAX)
        return error_set(ERR_INPUT, "%s: expected a CSV file of at most 64 MiB", c->file);
    text_unmark(c->text, &bytes);
    return strlen(c->text) == bytes
               ? read_rows(c)
               : error_set(ERR_INPUT, "%s: expected a text; there is a NUL byte", c->file);
}

static int end_open(Frame *c, int code)
{
    if (code != 0) frame_close(c);
    return code;
}

int frame_read(Frame *c, const char *file)
{
    size_t bytes;
    *c = (Frame){.file = file};
    TRY(file_whole(file, BYTES_MAX + 1, &c->text, &bytes));
    return end_open(c, read_text(c, bytes));
}

int frame_beneath(Frame *c, int folder, const char *path, const char *file)
{
    size_t bytes;
    *c = (Frame){.file = file};
    TRY(file_beneath_whole(folder, path, file, BYTES_MAX + 1, &c->text, &bytes));
    return end_open(c, read_text(c, bytes));
}

void frame_close(Frame *c)
{
    memory_free_all(c->cell, c->line, c->text);
    *c = (Frame){0};
}

int frame_column(const Frame *c, const char *name)
{
    for (size_t i = 0; i < c->columns; i++)
        if (strcmp(c->cell[i], name) == 0) return (int)i;
    return -1;
}

const char *frame_cell(const Frame *c, size_t row, int column)
{
    return c->cell[(row + 1) * c->columns + (size_t)column];
}

const char *frame_text(const Frame *c, size_t row, const char *name)
{
    int at = frame_column(c, name);
    return at < 0 ? "" : frame_cell(c, row, at);
}

int frame_number(const Frame *c, size_t row, int column, double *out)
{
    const char *text = frame_cell(c, row, column);
    char *end;
    *out = *text ? strtod(text, &end) : NAN;
    if (!*text || (!*end && end != text && !isnan(*out))) return 0;
    return error_set(ERR_INPUT, "%s:%zu: expected a number in column '%s'; there is '%.40s'",
                     c->file, c->line[row + 1], c->cell[column], text);
}

int frame_record(const Frame *c, size_t row, const Column *list, void *record)
{
    for (; list->name || list->head; list++) {
        if (!list->name || list->type != SHEET_DOUBLE) continue;
        int column = frame_column(c, list->name);
        double *to = (double *)(void *)((char *)record + list->at);
        if (column < 0 && list->sparse) {
            *to = NAN;
            continue;
        }
        if (column < 0 || row >= c->rows)
            return error_set(ERR_INPUT, "%s: expected a column '%s', and a row", c->file,
                             list->name);
        TRY(frame_number(c, row, column, to));
    }
    return 0;
}
