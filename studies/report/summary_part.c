/* summary_part.c: texts and recorded commands as parts of a section. */
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/command.h"
#include "studies/tools/output.h"
#include "studies/report/page.h"
#include "studies/report/prose.h"
#include "studies/tools/record.h"
#include "studies/report/summary.h"

enum { COMMANDS_MOST = 6 };

void summary_refuse(Summary *s)
{
    command_warn("left out: %s", error_text());
    fputs("<p class=\"verdict bad\">Left out: ", s->f);
    page_text(s->f, error_text());
    fputs("</p>\n", s->f);
    s->refused++;
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* The bytes of a file that is there; 0: it is not, or cannot be read, which is told. */
static int read_there(Summary *s, const char *path, char **text)
{
    char full[OUTPUT_PATH];
    size_t bytes;
    if (found_path(s->found, path, full, sizeof full) != 0 || !output_exists(full)) return 0;
    if (output_read(full, text, &bytes) == 0) return 1;
    summary_refuse(s);
    return 0;
}

static void put_more(Summary *s)
{
    fprintf(s->f, "<p class=\"more\">Its first %d lines.</p>\n", SUMMARY_LINES);
}

void summary_text(Summary *s, const char *path, const char *title)
{
    char *text;
    if (!read_there(s, path, &text)) return;
    const char *end = text;
    for (int n = 0; *end && n < SUMMARY_LINES; n++)
        end += strcspn(end, "\n") + (strchr(end, '\n') != NULL);
    fprintf(s->f, "<details><summary>%s, <code>", title);
    page_text(s->f, path);
    fputs("</code></summary>\n<pre>", s->f);
    page_bytes(s->f, text, (size_t)(end - text));
    fputs("</pre>\n", s->f);
    if (*end) put_more(s);
    fputs("</details>\n", s->f);
    memory_free(text);
}

void summary_words(Summary *s, const char *path, int tables)
{
    char *text;
    if (!read_there(s, path, &text)) return;
    if (prose_write(s->f, text, SUMMARY_LINES, tables)) put_more(s);
    memory_free(text);
}

/* ---- commands ------------------------------------------------------------------------------------ */

/* "trotter order --invariant --out x" is one of "order --invariant": its first word follows the program's name,
 * its options stand somewhere. */
static int is_command(const char *line, const char *words)
{
    char copy[128], *rest = copy, *word;
    size_t n = strlen("trotter ");
    snprintf(copy, sizeof copy, "%s", words);
    word = strsep(&rest, " ");
    if (strncmp(line, "trotter ", n) != 0 || strncmp(line + n, word, strlen(word)) != 0) return 0;
    if (line[n + strlen(word)] != ' ' && line[n + strlen(word)] != '\0') return 0;
    while ((word = strsep(&rest, " ")))
        if (!strstr(line, word)) return 0;
    return 1;
}

static const char *cell(const Csv *c, size_t row, const char *column)
{
    int at = csv_column(c, column);
    return at < 0 ? "" : csv_cell(c, row, at);
}

/* Rows of the study's commands in row (COMMANDS_MOST), the newest that fit, in order. */
static size_t choose_rows(const Csv *c, const Kind *k, size_t row[COMMANDS_MOST])
{
    size_t n = 0;
    for (size_t i = c->rows; i-- > 0 && n < COMMANDS_MOST;) {
        const char *line = cell(c, i, "command");
        if (is_command(line, k->command) || (k->also && is_command(line, k->also))) row[n++] = i;
    }
    for (size_t i = 0; i < n / 2; i++) {
        size_t swap = row[i];
        row[i] = row[n - 1 - i];
        row[n - 1 - i] = swap;
    }
    return n;
}

/* The recorded commands of a directory: 1 there, 0 not there, else a code. */
static int open_commands(const Summary *s, const char *dir, char full[OUTPUT_PATH], Csv *c)
{
    char folder[OUTPUT_PATH];
    TRY(found_path(s->found, dir, folder, sizeof folder));
    TRY(output_path(full, folder, "%s", RECORD_FILE));
    if (!output_exists(full)) return 0;
    int code = csv_open(c, full);
    return code == 0 ? 1 : code;
}

void summary_ended(const Summary *s, const Study *study, Verdict *v)
{
    char full[OUTPUT_PATH];
    size_t row[COMMANDS_MOST];
    Csv c;
    if (open_commands(s, study->dir, full, &c) != 1) return;
    size_t n = choose_rows(&c, study->kind, row);
    const char *status = n ? cell(&c, row[n - 1], "status") : "0";
    if (strcmp(status, "0") != 0) {
        size_t used = strlen(v->words);
        snprintf(v->words + used, sizeof v->words - used, "%sended with status %.8s: %.400s",
                 used ? "; " : "", status, cell(&c, row[n - 1], "words"));
        v->bad = 1;
    }
    csv_close(&c);
}

static void put_rows(Summary *s, const Csv *c, const size_t *row, size_t n)
{
    fputs("<pre>", s->f);
    for (size_t i = 0; i < n; i++) {
        page_text(s->f, cell(c, row[i], "command"));
        fputs(i + 1 < n ? "\n" : "</pre>\n<p class=\"more\">", s->f);
    }
    fputs("trotter ", s->f);
    page_text(s->f, cell(c, row[n - 1], "version"));
    fputs(" on ", s->f);
    page_text(s->f, cell(c, row[n - 1], "machine"));
    fputs("; ended ", s->f);
    page_text(s->f, cell(c, row[n - 1], "time"));
    fputs(", exit status ", s->f);
    page_text(s->f, cell(c, row[n - 1], "status"));
    fputs(".</p>\n", s->f);
}

/* Without a record: what the directory's options still tell. */
static void put_unrecorded(Summary *s, const Study *study)
{
    char full[OUTPUT_PATH], path[OUTPUT_PATH];
    int config = (strcmp(study->kind->command, "compare") == 0 ||
                  strcmp(study->kind->command, "train") == 0) &&
                 found_path(s->found, study->dir, full, sizeof full) == 0 &&
                 output_path(path, full, "config.ini") == 0 && output_exists(path);
    if (!config) {
        fprintf(
            s->f,
            "<p class=\"more\">Its command (<code>trotter %s</code> with options) was not recorded "
            "beside it.</p>\n",
            study->kind->command);
        return;
    }
    fprintf(s->f, "<pre>trotter %s --config ", study->kind->command);
    page_text(s->f, path);
    fputs(" --out NEW</pre>\n<p class=\"more\">Made from the recorded options; the command itself "
          "was not "
          "recorded.</p>\n",
          s->f);
}

void summary_commands(Summary *s, const Study *study)
{
    char full[OUTPUT_PATH];
    size_t row[COMMANDS_MOST], n = 0;
    Csv c = {0};
    fputs("<h3>How to reproduce</h3>\n", s->f);
    int there = open_commands(s, study->dir, full, &c);
    if (there < 0) summary_refuse(s);
    if (there == 1) n = choose_rows(&c, study->kind, row);
    if (n)
        put_rows(s, &c, row, n);
    else
        put_unrecorded(s, study);
    if (there == 1) csv_close(&c);
}
