/* lines.c: reads a file as a whole and checks it once; its lines are windows of the text. */
#include "studies/model/metrics/lines.h"

#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/plain_text.h"
#include "nn/text/corpus.h"

static size_t count_ends(const char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) n += text[i] == '\n';
    return n;
}

/* Finds the lines of a text that is not empty. */
static int find_lines(Lines *l, size_t bytes)
{
    size_t count = count_ends(l->text, bytes) + (l->text[bytes - 1] != '\n');
    l->line = memory_new(count, sizeof *l->line);
    if (!l->line) return ERR_MEMORY;
    for (const char *at = l->text, *end = at + bytes; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        l->line[l->count++] = (Line){at, n - (n > 0 && at[n - 1] == '\r')};
        at += n + 1;
    }
    return 0;
}

int lines_take(const char *file, char *text, size_t bytes, Lines *out)
{
    text_unmark(text, &bytes);
    *out = (Lines){.file = file, .text = text};
    int code = bytes ? text_check(&(BpeText){.file = file, .bytes = text, .count = bytes})
                     : error_set(ERR_INPUT, "%s is empty", file);
    if (code == 0) code = find_lines(out, bytes);
    if (code != 0) lines_free(out);
    return code;
}

int lines_read(const char *file, Lines *out)
{
    int standard = strcmp(file, LINES_STDIN) == 0;
    char *text;
    size_t bytes;
    *out = (Lines){0};
    TRY(file_whole(standard ? "/dev/stdin" : file, SIZE_MAX, &text, &bytes));
    return lines_take(standard ? "standard input" : file, text, bytes, out);
}

void lines_free(Lines *l)
{
    memory_free(l->text);
    memory_free(l->line);
    *l = (Lines){0};
}

/* Refuses a line of more than LINE_MOST bytes, with file and line. Metrics count the n-grams of a line in memory of some 70 times its
 * bytes. No line of a translation is as long: an article of Wikipedia has at most 2 MiB (MediaWiki's $wgMaxArticleSize). */
static int lines_short(const Lines *l)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->line[i].bytes > LINE_MOST)
            return error_set(ERR_INPUT,
                             "%s:%zu: a line of %zu bytes: expected at most %d, as no sentence is "
                             "longer; are line ends missing?",
                             l->file, i + 1, l->line[i].bytes, LINE_MOST);
    return 0;
}

int lines_list(const char *option, const char *files, int *standard, LinesList *out)
{
    *out = (LinesList){.names = memory_string(files)};
    if (!out->names) return ERR_MEMORY;
    for (char *rest = out->names, *name; (name = strsep(&rest, ","));) {
        if (!*name)
            return error_set(ERR_INPUT, "--%s: expected file names separated by commas, not '%s'",
                             option, files);
        if (strcmp(name, LINES_STDIN) == 0 && ++*standard > 1)
            return error_set(ERR_INPUT, "--%s: standard input (-) can be read once alone", option);
        TRY(memory_more(&out->of, out->count, sizeof *out->of));
        TRY(lines_read(name, &out->of[out->count]));
        TRY(lines_short(&out->of[out->count++]));
    }
    return 0;
}

void lines_list_free(LinesList *l)
{
    for (size_t i = 0; i < l->count; i++) lines_free(&l->of[i]);
    memory_free(l->of);
    memory_free(l->names);
}

int lines_pair(const Lines *a, const Lines *b)
{
    if (a->count == b->count) return 0;
    return error_set(ERR_INPUT,
                     "%s has %zu lines and %s %zu: expected line i of one to belong to line i of "
                     "the other",
                     a->file, a->count, b->file, b->count);
}
