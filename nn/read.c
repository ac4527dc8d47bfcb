/* read.c: files taken in whole, and the scan for words and line ends. No line is too long: a line is
 * never copied, a word is a window of the file's bytes. */
#include "nn/corpus.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* Bytes a file is likely to have; a pipe grows from a page. */
static size_t size_hint(FILE *f, size_t most)
{
    struct stat s;
    size_t size = fstat(fileno(f), &s) == 0 && s.st_size > 0 ? (size_t)s.st_size : 4095;
    return size < most ? size : most;
}

static int read_stream(const char *file, FILE *f, size_t most, char **bytes, size_t *count)
{
    size_t room = size_hint(f, most) + 1;
    size_t n = 0;
    char *p = memory_new(room, 1);
    while (p && n < most) {
        size_t want = room - 1 < most ? room - 1 : most;
        n += fread(p + n, 1, want - n, f);
        int c = n < want || n == most ? EOF : getc(f); /* a byte more: the hint was short */
        if (c == EOF) break;
        char *q = memory_grow(p, n, 2 * room, 1);
        if (!q) p = memory_free(p);
        if (!p) break;
        p = q;
        room *= 2;
        p[n++] = (char)c;
    }
    if (!p) return ERR_MEMORY;
    *bytes = p;
    *count = n;
    if (ferror(f)) return error_set(ERR_INPUT, "cannot read %s: %s", file, strerror(errno));
    return 0;
}

int read_file(const char *file, size_t most, char **bytes, size_t *count)
{
    *bytes = NULL;
    *count = 0;
    FILE *f = fopen(file, "rb");
    if (!f) return error_set(ERR_INPUT, "cannot open %s: %s", file, strerror(errno));
    int code = read_stream(file, f, most, bytes, count);
    fclose(f);
    if (code) *bytes = memory_free(*bytes);
    return code;
}

static size_t line_of(const char *bytes, const char *at)
{
    size_t line = 1;
    for (const char *p = bytes; p < at; p++) line += *p == '\n';
    return line;
}

static int check_text(const char *file, const char *bytes, size_t count)
{
    if (count == 0) return error_set(ERR_INPUT, "%s is empty", file);
    const char *nul = memchr(bytes, 0, count);
    if (!nul) return 0;
    return error_set(ERR_INPUT, "%s:%zu: a NUL byte: this is not a text", file,
                     line_of(bytes, nul));
}

int read_text(const char *file, char **bytes, size_t *count)
{
    TRY(read_file(file, SIZE_MAX, bytes, count));
    int code = check_text(file, *bytes, *count);
    if (code) *bytes = memory_free(*bytes);
    return code;
}

Scan scan_begin(const char *bytes, size_t count)
{
    return (Scan){bytes, bytes + count, 0, 0};
}

static int is_blank(const Scan *s)
{
    const char *p = s->at;
    return *p == ' ' || *p == '\t' || (*p == '\r' && (p + 1 == s->end || p[1] == '\n'));
}

int scan_next(Scan *s, const char **word, size_t *bytes)
{
    for (; s->at < s->end && is_blank(s); s->at++) s->open = 1;
    *word = s->at;
    *bytes = 0;
    if (s->at == s->end && !s->open) return 0;
    if (s->at == s->end || *s->at == '\n') {
        s->at += s->at < s->end;
        s->open = 0;
        s->lines++;
        return 1;
    }
    while (s->at < s->end && *s->at != '\n' && !is_blank(s)) s->at++;
    *bytes = (size_t)(s->at - *word);
    s->open = 1;
    return 1;
}
