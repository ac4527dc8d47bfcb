/* labelled_forms.c: a file of labelled sentences as lines with tabs between columns, whatever form it has (labelled.h). */
#include <jansson.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "studies/base/frame.h"
#include "studies/base/output.h"
#include "studies/lab/finetune/labelled.h"
#include "studies/model/metrics/lines.h"

/* Lines while they are made, and the line of the file where each begins. */
typedef struct {
    Output text;
    size_t count, *number;
} Making;

static int end_line(Making *m, size_t number)
{
    fputc('\n', m->text.f);
    return memory_add(m->number, m->count, number);
}

/* Writes a cell; a tab or an end of line in it becomes a blank. */
static void put(Making *m, const char *cell, int first)
{
    if (!first) fputc('\t', m->text.f);
    for (; *cell; cell++) fputc(strchr("\t\r\n", *cell) ? ' ' : *cell, m->text.f);
}

/* Checks UTF-8 in the file as it stands, whose lines people count. */
static int check(const char *file)
{
    Lines raw;
    TRY(lines_read(file, &raw));
    lines_free(&raw);
    return 0;
}

static int from_csv(const char *file, Making *m)
{
    SCOPED(frame_close) Frame c = {0};
    TRY(check(file));
    TRY(frame_read(&c, file));
    for (size_t i = 0; i <= c.rows; i++) {
        for (size_t j = 0; j < c.columns; j++) put(m, c.cell[i * c.columns + j], j == 0);
        TRY(end_line(m, c.line[i]));
    }
    return 0;
}

/* Writes a member of an object: a text, a number, true or false; another value is an empty cell. */
static void put_member(Making *m, const json_t *object, const char *name, int first)
{
    const json_t *x = json_object_get(object, name);
    char number[32] = "";
    if (json_is_integer(x))
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(x));
    if (json_is_real(x)) sheet_number(json_real_value(x), number);
    if (json_is_boolean(x)) strcpy(number, json_is_true(x) ? "true" : "false");
    put(m, json_is_string(x) ? json_string_value(x) : number, first);
}

/* Writes the names of the columns, those of the first object. */
static int put_names(Making *m, json_t *object)
{
    const char *name;
    json_t *x;
    int first = 1;
    json_object_foreach (object, name, x) {
        put(m, name, first);
        first = 0;
    }
    return end_line(m, 1);
}

static int put_object(Making *m, const char *file, size_t line, const Line *l, json_t **names)
{
    json_error_t why;
    json_t *object = json_loadb(l->text, l->bytes, JSON_REJECT_DUPLICATES, &why), *x;
    const char *name;
    int first = 1, code = 0;
    if (!json_is_object(object)) {
        code = error_set(ERR_INPUT,
                         "%s:%zu: expected a JSON object, as {\"sentence\": \"...\", "
                         "\"label\": 1}%s%s",
                         file, line, object ? "" : ": ", object ? "" : why.text);
        json_decref(object);
        return code;
    }
    if (!*names) code = put_names(m, *names = json_incref(object));
    json_object_foreach (*names, name, x) {
        put_member(m, object, name, first);
        first = 0;
    }
    json_decref(object);
    return code ? code : end_line(m, line);
}

static int from_json(const char *file, Making *m)
{
    Lines l;
    json_t *names = NULL;
    TRY(lines_read(file, &l));
    int code = 0;
    for (size_t i = 0; i < l.count && code == 0; i++)
        if (l.line[i].bytes) code = put_object(m, file, i + 1, &l.line[i], &names);
    json_decref(names);
    lines_free(&l);
    return code;
}

static int has_end(const char *file, const char *end)
{
    size_t n = strlen(file), k = strlen(end);
    return n > k && strcmp(file + n - k, end) == 0;
}

int labelled_lines(const char *file, Lines *out, size_t **number)
{
    Making m = {.count = 0};
    char *text = NULL;
    int csv = has_end(file, ".csv");
    *number = NULL;
    if (!csv && !has_end(file, ".jsonl")) return lines_read(file, out);
    TRY(output_open(&m.text));
    int code = csv ? from_csv(file, &m) : from_json(file, &m);
    code = output_take(&m.text, code, &text);
    if (code == 0) code = lines_take(file, text, strlen(text), out);
    if (code != 0)
        memory_free(m.number);
    else
        *number = m.number;
    return code;
}
