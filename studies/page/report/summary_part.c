/* summary_part.c: writes texts with their drawings, and recorded commands, as parts of a section. */
#include <ctype.h>
#include <errno.h>
#include <gsl/gsl_sort.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/file.h"
#include "kernels/base/plain_text.h"
#include "studies/base/command.h"
#include "studies/page/report/report.h"
#include "studies/base/record.h"

enum { COMMANDS_MOST = 6, TEXT_LINES = 200, TEXT_BYTES = 1 << 16, DRAWING_MOST = 4 << 20 };
enum { TEXT_ROOM = TEXT_BYTES + 1 + 3 }; /* with the byte-order mark */

void summary_refuse(Summary *s)
{
    notice_warn("left out: %s", error_text());
    page_print(s->f, "<p class=\"verdict bad\">Left out: %s</p>\n", error_text());
    s->refused++;
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* Returns 1 where there is a file, not a symbolic link, and where the system does not tell, so that reading it fails with
 * words. */
static int is_file(const Summary *s, const char *path)
{
    struct stat st;
    if (file_beneath_stat(s->found->folder, path, &st) != 0)
        return errno != ENOENT && errno != ENOTDIR;
    return S_ISREG(st.st_mode);
}

/* Reads a file if it exists, as much of it as may be shown and a byte. Returns 0 where it does not exist or cannot be read; the
 * latter gives a warning. */
static int read_there(Summary *s, const char *path, char **text)
{
    char full[OUTPUT_PATH];
    size_t bytes;
    if (output_path(full, s->found->root, "%s", path) != 0 || !is_file(s, path)) return 0;
    int code = file_beneath_whole(s->found->folder, path, full, TEXT_ROOM, text, &bytes);
    if (code == 0) text_unmark(*text, &bytes);
    if (code == 0) return 1;
    summary_refuse(s);
    return 0;
}

/* Returns the bytes of a text's beginning, in whole lines where possible. */
static size_t beginning(const char *text)
{
    size_t n = 0, next = 0;
    for (int lines = 0; next <= TEXT_BYTES && text[next] && lines < TEXT_LINES; lines++) {
        n = next;
        next += strcspn(text + next, "\n");
        next += text[next] == '\n';
    }
    return next <= TEXT_BYTES ? next : n ? n : TEXT_BYTES;
}

static void put_more(Summary *s, const char *rest)
{
    if (*rest)
        fprintf(s->f, "<p class=\"more\">Its beginning: at most %d lines and %d KiB.</p>\n",
                TEXT_LINES, TEXT_BYTES >> 10);
}

void summary_text(Summary *s, const char *path, const char *title)
{
    char *text;
    if (!read_there(s, path, &text)) return;
    size_t n = beginning(text);
    page_print(s->f, "<details><summary>%s, <code>%s</code></summary>\n<pre>", title, path);
    html_bytes(s->f, text, n);
    fputs("</pre>\n", s->f);
    put_more(s, text + n);
    fputs("</details>\n", s->f);
    memory_free(text);
}

/* ---- drawings ------------------------------------------------------------------------------------ */

int summary_drawing(const Summary *s, const char *file, char **text, size_t *bytes)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, s->found->root, "%s", file));
    TRY(file_beneath_whole(s->found->folder, file, path, DRAWING_MOST + 1, text, bytes));
    if (*bytes > DRAWING_MOST) {
        *text = memory_free(*text);
        return error_set(ERR_INPUT, "%s: larger than %d MiB", file, DRAWING_MOST >> 20);
    }
    text_unmark(*text, bytes);
    size_t n = *bytes;
    while (n > 0 && isspace((unsigned char)(*text)[n - 1])) n--;
    int begins = strncmp(*text, "<svg", 4) == 0 ||
                 (strncmp(*text, "<?xml", 5) == 0 && strstr(*text, "<svg"));
    if (begins && n >= 6 && memcmp(*text + n - 6, "</svg>", 6) == 0) return 0;
    *text = memory_free(*text);
    return error_set(ERR_INPUT, "%s: not a whole SVG drawing", file);
}

/* ---- words --------------------------------------------------------------------------------------- */

/* Writes the lines of a command's Markdown that are no row of a table; blank lines around those are one. */
static void put_lines(FILE *f, const char *text, size_t n)
{
    int blank = 1;
    for (const char *at = text, *end = text + n, *next; at < end; at = next) {
        size_t length = strcspn(at, "\n");
        next = at + length < end ? at + length + 1 : end;
        if (*at == '|' || (length == 0 && blank)) continue;
        blank = length == 0;
        html_bytes(f, at, (size_t)(next - at));
    }
}

void summary_words(Summary *s, const char *path)
{
    char *text;
    if (!read_there(s, path, &text)) return;
    size_t n = beginning(text);
    fputs("<div class=\"words\">", s->f);
    put_lines(s->f, text, n);
    fputs("</div>\n", s->f);
    put_more(s, text + n);
    memory_free(text);
}

/* ---- commands ------------------------------------------------------------------------------------ */

/* Is line one of the commands `words`? "trotter order --invariant --out x" is one of "order --invariant": its
 * first word follows the program's name, and its options stand anywhere. */
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

/* Puts the rows of the study's commands into row (COMMANDS_MOST), the newest that fit, in
 * order. Returns their number; *earlier: how many did not fit. */
static size_t choose_rows(const Frame *c, const Kind *k, size_t row[COMMANDS_MOST], size_t *earlier)
{
    size_t n = 0;
    *earlier = 0;
    for (size_t i = c->rows; i-- > 0;) {
        const char *line = frame_text(c, i, "command");
        if (!is_command(line, k->command) && !(k->also && is_command(line, k->also))) continue;
        if (n < COMMANDS_MOST)
            row[n++] = i;
        else
            ++*earlier;
    }
    gsl_sort_ulong(row, 1, n);
    return n;
}

/* Opens the recorded commands of a directory. Returns 1 where they exist, 0 where not, else a code. */
static int open_commands(const Summary *s, const char *dir, char full[OUTPUT_PATH], Frame *c)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, dir, "%s", RECORD_FILE));
    const char *file = *dir ? path : path + 1; /* of the folder itself */
    TRY(output_path(full, s->found->root, "%s", file));
    if (!is_file(s, file)) return 0;
    int code = frame_beneath(c, s->found->folder, file, full);
    return code == 0 ? 1 : code;
}

void summary_ended(const Summary *s, const FoundStudy *study, Verdict *v)
{
    char full[OUTPUT_PATH];
    size_t row[COMMANDS_MOST], earlier;
    SCOPED(frame_close) Frame c = {0};
    if (open_commands(s, study->dir, full, &c) != 1) return;
    size_t n = choose_rows(&c, study->kind, row, &earlier);
    /* The failure of another command is reported with its own study. */
    while (n && !is_command(frame_text(&c, row[n - 1], "command"), study->kind->command)) n--;
    const char *status = n ? frame_text(&c, row[n - 1], "status") : "0";
    const char *words = n ? frame_text(&c, row[n - 1], "words") : "",
               *between = *v->words ? "; " : "";
    v->warned = strstr(words, "warning: ") != NULL;
    if (strcmp(status, "0") != 0) {
        verdict_say(v, "%sended with status %.8s: %.500s", between, status, words);
        v->bad = 1;
    } else if (*words)
        verdict_say(v, "%s%.500s", between, words);
}

static void put_rows(Summary *s, const Frame *c, const size_t *row, size_t n)
{
    fputs("<pre>", s->f);
    for (size_t i = 0; i < n; i++)
        page_print(s->f, i + 1 < n ? "%s\n" : "%s</pre>\n", frame_text(c, row[i], "command"));
    page_print(s->f, "<p class=\"more\">trotter %s on %s; ended %s, exit status %s.</p>\n",
               frame_text(c, row[n - 1], "version"), frame_text(c, row[n - 1], "machine"),
               frame_text(c, row[n - 1], "time"), frame_text(c, row[n - 1], "status"));
}

void summary_commands(Summary *s, const FoundStudy *study)
{
    char full[OUTPUT_PATH];
    size_t row[COMMANDS_MOST], n = 0, earlier = 0;
    SCOPED(frame_close) Frame c = {0};
    fputs("<h3>How to reproduce</h3>\n", s->f);
    int there = open_commands(s, study->dir, full, &c);
    if (there < 0) summary_refuse(s);
    if (there == 1) n = choose_rows(&c, study->kind, row, &earlier);
    if (earlier)
        fprintf(s->f, "<p class=\"more\">%zu earlier commands stand in commands.csv.</p>\n",
                earlier);
    if (n)
        put_rows(s, &c, row, n);
    else
        fprintf(s->f,
                "<p class=\"more\">Its command (<code>trotter %s</code> with options) was not "
                "recorded beside it.</p>\n",
                study->kind->command);
}
