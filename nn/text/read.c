/* read.c: reads whole files, and scans for words and line ends. No line is too long: lines are not copied, a word
 * is a window of the file's bytes. */
#include "nn/text/corpus.h"

#include <string.h>
#include <unistd.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/plain_text.h"

size_t text_line(const BpeText *t, const char *at)
{
    size_t line = t->before + 1;
    for (const char *p = t->bytes; p < at; p++) line += *p == '\n';
    return line;
}

/* Returns 0, or ERR_INPUT where a text has a NUL byte. */
static int no_nul(const BpeText *t)
{
    const char *nul = memchr(t->bytes, 0, t->count);
    if (!nul) return 0;
    return error_set(ERR_INPUT, "%s:%zu: a NUL byte: this is not a text", t->file,
                     text_line(t, nul));
}

int read_raw(const char *file, char **bytes, size_t *count)
{
    TRY(file_whole(file, SIZE_MAX, bytes, count));
    text_unmark(*bytes, count);
    int code = *count ? no_nul(&(BpeText){file, *bytes, *count, 0})
                      : error_set(ERR_INPUT, "%s is empty", file);
    if (code) *bytes = memory_free(*bytes);
    return code;
}

int text_check(const BpeText *t)
{
    const char *end = t->bytes + t->count, *p = t->bytes;
    const uint8_t *bad = u8_check((const uint8_t *)t->bytes, t->count);
    if (bad)
        return error_set(ERR_INPUT, "%s:%zu: not UTF-8", t->file, text_line(t, (const char *)bad));
    TRY(no_nul(t));
    for (; (p = memchr(p, '\r', (size_t)(end - p))); p++)
        if (p + 1 < end && p[1] != '\n')
            return error_set(
                ERR_INPUT,
                "%s:%zu: a carriage return inside a line: expected lines that end in LF or CR LF",
                t->file, text_line(t, p));
    return 0;
}

/* Takes the CR away before each LF, and at the end. */
static void drop_returns(char *bytes, size_t *count)
{
    char *to = memchr(bytes, '\r', *count);
    if (!to) return;
    for (const char *from = to, *end = bytes + *count; from < end; from++)
        if (*from != '\r') *to++ = *from;
    *count = (size_t)(to - bytes);
    *to = '\0';
}

int read_text(const char *file, char **bytes, size_t *count)
{
    TRY(read_raw(file, bytes, count));
    int code = text_check(&(BpeText){file, *bytes, *count, 0});
    if (code == 0) drop_returns(*bytes, count);
    if (code == 0 && *count == 0) code = error_set(ERR_INPUT, "%s is empty", file);
    if (code) *bytes = memory_free(*bytes);
    return code;
}

/* Finds a part of the King James text by name. 0: none; ERR_INPUT: no such part or file. */
static int find_builtin(const char *name, BpeText *b)
{
    static const char *const part[SPLITS] = {"kjv:train", "kjv:valid", "kjv:test"};
    for (int i = 0; i < SPLITS; i++)
        if (strcmp(name, part[i]) == 0) return *b = builtin_kjv(i), 1;
    if (strncmp(name, "kjv", 3) != 0 || access(name, F_OK) == 0) return 0;
    return error_set(ERR_INPUT, "no text '%s': neither a file nor %s, %s or %s", name, part[0],
                     part[1], part[2]);
}

int read_named(const char *name, char **bytes, size_t *count)
{
    BpeText b;
    if (strcmp(name, "-") == 0) return read_text("/dev/stdin", bytes, count);
    int built_in = find_builtin(name, &b);
    if (built_in < 0) return built_in;
    if (!built_in) return read_text(name, bytes, count);
    *bytes = memory_new(b.count + 1, 1);
    if (!*bytes) return ERR_MEMORY;
    memcpy(*bytes, b.bytes, b.count);
    *count = b.count;
    return 0;
}

Scan scan_begin(const char *bytes, size_t count, int level)
{
    return (Scan){.at = bytes, .end = bytes + count, .level = level};
}

static int is_blank(const Scan *s)
{
    const char *p = s->at;
    if (*p == '\r') return s->level == LEVEL_CHAR || p + 1 == s->end || p[1] == '\n';
    return *p == ' ' || *p == '\t';
}

static int next_word(Scan *s, const char **word, size_t *bytes)
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

/* Returns the bytes of the UTF-8 character at p, of which `left` are there; 1 where none follows. */
static size_t character(const char *p, size_t left)
{
    ucs4_t c;
    int n = u8_mbtoucr(&c, (const uint8_t *)p, left);
    return n > 0 ? (size_t)n : 1;
}

static int next_character(Scan *s, const char **token, size_t *bytes)
{
    *token = s->rest;
    *bytes = character(s->rest, s->left);
    s->rest += *bytes;
    s->left -= *bytes;
    return 1;
}

int scan_next(Scan *s, const char **token, size_t *bytes)
{
    if (s->left) return next_character(s, token, bytes);
    if (!next_word(s, token, bytes)) return 0;
    if (s->level != LEVEL_CHAR) return 1;
    int between = s->inside && *bytes;
    s->inside = *bytes > 0;
    if (!s->inside) return 1; /* the line's end */
    s->rest = *token;
    s->left = *bytes;
    if (!between) return next_character(s, token, bytes);
    *token = CHAR_BLANK;
    *bytes = strlen(CHAR_BLANK);
    return 1;
}
