/* frame.c: reads CSV in one pass over the text and unquotes cells in place; makes frames row by row. */
#include "studies/base/frame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "kernels/base/plain_text.h"

/* Bytes of a file that is named, and of one that is found in a folder, which may be a stranger's. */
static const size_t bytes_most = (size_t)1 << 32, found_most = 1 << 26;
enum { COLUMNS_MAX = 256 };

static int error_at(const Frame *c, size_t line, const char *words)
{
    return error_set(ERR_INPUT, "%s:%zu: %s", c->file, line, words);
}

/* Chooses what stands between columns, by the first line. */
static char find_apart(const char *text)
{
    size_t n = strcspn(text, "\r\n");
    return memchr(text, ',', n)    ? ','
           : memchr(text, '\t', n) ? '\t'
           : memchr(text, ';', n)  ? ';'
                                   : ',';
}

/* Puts a point into a number that has one comma, and no point, as 1,5 and -0,25e-3. */
static void decimal_point(char *cell)
{
    static const char digits[] = "0123456789";
    char *comma = cell + strspn(cell, "+-"), *end;
    comma += strspn(comma, digits);
    if (*comma != ',' || !strspn(comma + 1, digits)) return;
    end = comma + 1 + strspn(comma + 1, digits);
    if (*end == 'e' || *end == 'E') end += 1 + strspn(end + 1, "+-0123456789");
    if (!*end) *comma = '.';
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
        if (!quoted && (*from == c->apart || *from == '\n' || *from == '\0')) break;
        if (!quoted && *from == '\r' && from[1] == '\n') break;
        if (!quoted && *from == '"') return error_at(c, first, "a quote inside a cell");
        *line += *from == '\n';
        *to++ = *from;
    }
    if (*from == '\r' && from[1] == '\n') from++;
    if (*from && *from != c->apart && *from != '\n')
        return error_set(ERR_INPUT, "%s:%zu: expected '%s' after a quoted cell", c->file, first,
                         c->apart == '\t' ? "a tab" : (char[]){c->apart, 0});
    *last = *from != c->apart;
    *line += *from == '\n';
    *at = from + (*from != '\0');
    *to = '\0';
    if (c->apart == ';') decimal_point(*cell);
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

/* Checks the first line: of two columns with one name nobody could tell which is read. Columns without a name, as a
 * spreadsheet leaves behind its last, may be many. */
static int check_names(const Frame *c)
{
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
    c->apart = find_apart(c->text + strspn(c->text, "\r\n"));
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

static int read_text(Frame *c, size_t bytes, size_t most)
{
    if (bytes > most)
        return error_set(ERR_INPUT, "%s: expected a CSV file of at most %zu MiB", c->file,
                         most >> 20);
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
    TRY(file_whole(file, bytes_most + 1, &c->text, &bytes));
    return end_open(c, read_text(c, bytes, bytes_most));
}

int frame_beneath(Frame *c, int folder, const char *path, const char *file)
{
    size_t bytes;
    *c = (Frame){.file = file};
    TRY(file_beneath_whole(folder, path, file, found_most + 1, &c->text, &bytes));
    return end_open(c, read_text(c, bytes, found_most));
}

void frame_close(Frame *c)
{
    for (size_t i = 0; c->cell && !c->text && i < (c->rows + 1) * c->columns; i++)
        memory_free(c->cell[i]);
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
    const char *text = c->cell[(row + 1) * c->columns + (size_t)column];
    return text ? text : "";
}

const char *frame_text(const Frame *c, size_t row, const char *name)
{
    int at = frame_column(c, name);
    return at < 0 ? "" : frame_cell(c, row, at);
}

/* Returns 1 where a text is a number, x, or empty: NaN. */
static int is_number(const char *text, double *x)
{
    char *end = NULL;
    *x = *text ? strtod(text, &end) : NAN;
    return !*text || (!*end && end != text && !isnan(*x));
}

double frame_real(const Frame *c, size_t row, const char *name)
{
    double x;
    return is_number(frame_text(c, row, name), &x) ? x : (double)NAN;
}

int frame_number(const Frame *c, size_t row, int column, double *out)
{
    const char *text = frame_cell(c, row, column);
    if (is_number(text, out)) return 0;
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

/* ---- made row by row ----------------------------------------------------------------------------- */

/* Adds a row of empty cells behind n rows, that of the names among them. */
static int add_cells(Frame *f, size_t n)
{
    for (size_t j = 0; j < f->columns; j++) {
        TRY(memory_more(&f->cell, n * f->columns + j, sizeof *f->cell));
        f->cell[n * f->columns + j] = NULL;
    }
    TRY(memory_more(&f->line, n, sizeof *f->line));
    f->line[n] = 0;
    return 0;
}

int frame_new(Frame *f, const Column *list)
{
    *f = (Frame){.file = ""};
    for (const Column *c = list; c->name || c->head; c++) f->columns++;
    if (add_cells(f, 0) != 0) {
        f->columns = 0; /* not all names have a cell */
        return end_open(f, ERR_MEMORY);
    }
    for (size_t j = 0; j < f->columns; j++) {
        f->cell[j] = memory_string(list[j].name ? list[j].name : list[j].head);
        if (!f->cell[j]) return end_open(f, ERR_MEMORY);
    }
    return 0;
}

int frame_row(Frame *f)
{
    TRY(add_cells(f, f->rows + 1));
    f->rows++;
    return 0;
}

static void set_cell(Frame *f, size_t row, size_t column, const char *text)
{
    char **cell = &f->cell[(row + 1) * f->columns + column],
         *copy = text && *text ? memory_string(text) : NULL;
    if (text && *text && !copy) f->code = ERR_MEMORY;
    memory_free(*cell);
    *cell = copy;
}

void frame_set(Frame *f, size_t row, const char *name, const char *text)
{
    int at = frame_column(f, name);
    if (at >= 0) set_cell(f, row, (size_t)at, text);
}

void frame_put(Frame *f, size_t row, const char *name, double x)
{
    char text[32];
    sheet_number(x, text);
    frame_set(f, row, name, text);
}

void frame_copy(Frame *f, size_t row, const Frame *from, size_t from_row)
{
    for (size_t j = 0; j < f->columns; j++) {
        int at = frame_column(from, f->cell[j]);
        if (at >= 0) set_cell(f, row, j, frame_cell(from, from_row, at));
    }
}

/* ---- sheets -------------------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    double x;
} Value;

static const char *cell_of(const Frame *f, const Column *c, const size_t *row, size_t i)
{
    return frame_text(f, row ? row[i] : i, c->name ? c->name : c->head);
}

/* Decides the types of columns, and where the values of a row stand. */
static void find_types(const Frame *f, Column *list, const size_t *row, size_t n)
{
    double x;
    for (Column *c = list; c->name || c->head; c++) {
        for (size_t i = 0; i < n && c->type == SHEET_DOUBLE; i++)
            if (!is_number(cell_of(f, c, row, i), &x)) c->type = SHEET_TEXT;
        c->at = (size_t)(c - list) * sizeof(Value) +
                (c->type == SHEET_TEXT ? offsetof(Value, text) : offsetof(Value, x));
    }
}

int frame_sheet(const Frame *f, const Column *list, const size_t *row, size_t n, Sheet **out)
{
    size_t columns;
    SCOPED(memory_drop) Column *own = sheet_copy(list, &columns);
    SCOPED(memory_drop) Value *value = own ? memory_new(columns, sizeof *value) : NULL;
    if (!value || f->code != 0) return ERR_MEMORY;
    find_types(f, own, row, n);
    TRY(sheet_new(own, out));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < columns; j++) {
            value[j].text = cell_of(f, &own[j], row, i);
            (void)is_number(value[j].text, &value[j].x);
        }
        sheet_row(*out, value);
    }
    return 0;
}
