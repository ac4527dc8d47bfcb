/* m2_file.c: reads .m2 files. All arrays have room for the file's lines and bars, so none grows. */
#include "studies/metrics/m2.h"

#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "kernels/error.h"
#include "kernels/memory.h"

#define FORMAT "'A START END|||KIND|||CORRECTION|||REQUIRED|||COMMENT|||ANNOTATOR'"

/* ---- words --------------------------------------------------------------------------------------- */

/* Takes the next word off a line. A word without bytes: there is none. */
static Line next_word(Line *rest)
{
    const uint8_t *at = (const uint8_t *)rest->text, *end = at + rest->bytes, *begin = NULL;
    ucs4_t c;
    for (int n; at < end; at += n) {
        n = u8_mbtouc_unsafe(&c, at, (size_t)(end - at));
        if (!tokenise_is_blank(c) && !begin) begin = at;
        if (tokenise_is_blank(c) && begin) break;
    }
    *rest = (Line){(const char *)at, (size_t)(end - at)};
    return begin ? (Line){(const char *)begin, (size_t)(at - begin)} : (Line){(const char *)at, 0};
}

/* Adds the words of a text to the vocabulary, and their numbers to f->words. */
static int add_text(M2File *f, size_t line, Line rest, M2Text *out)
{
    *out = (M2Text){f->words.n, 0};
    for (Line word; (word = next_word(&rest)).bytes;) {
        TRY(words_add(&f->vocabulary, word.text, word.bytes, 1));
        TRY(symbols_add(&f->words, (uint32_t)words_find(&f->vocabulary, word.text, word.bytes)));
        if (++out->n > M2_WORDS)
            return error_set(ERR_INPUT, "%s:%zu: more than %d words", f->lines.file, line,
                             M2_WORDS);
    }
    return 0;
}

int m2_file_words(const M2File *f, Line line, Symbols *out)
{
    out->n = 0;
    for (Line word; (word = next_word(&line)).bytes;) {
        int32_t known = words_find(&f->vocabulary, word.text, word.bytes);
        TRY(symbols_add(out, known < 0 ? M2_UNKNOWN : (uint32_t)known));
    }
    return 0;
}

/* ---- fields -------------------------------------------------------------------------------------- */

static int is_text(Line a, const char *text)
{
    return a.bytes == strlen(text) && memcmp(a.text, text, a.bytes) == 0;
}

/* Takes the part before the next separator off a text; without a separator the whole text, and then sets the
 * text of *rest to NULL. */
static Line next_field(Line *rest, const char *separator)
{
    size_t n = strlen(separator);
    const char *stop = memmem(rest->text, rest->bytes, separator, n);
    Line field = {rest->text, stop ? (size_t)(stop - rest->text) : rest->bytes};
    *rest = stop ? (Line){stop + n, rest->bytes - field.bytes - n} : (Line){NULL, 0};
    return field;
}

/* Reads a whole number of at most nine digits; returns 0 where it is none. */
static int read_number(Line a, size_t *out)
{
    *out = 0;
    for (size_t i = 0; i < a.bytes; i++) {
        if (a.text[i] < '0' || a.text[i] > '9') return 0;
        *out = 10 * *out + (size_t)(a.text[i] - '0');
    }
    return a.bytes > 0 && a.bytes < 10;
}

/* Reads "START END", or "-1 -1"; returns 0 where it is neither. */
static int read_place(Line place, M2Edit *e, int *none)
{
    Line start = next_word(&place), end = next_word(&place);
    if (next_word(&place).bytes) return 0;
    *none = is_text(start, "-1") && is_text(end, "-1");
    return *none || (read_number(start, &e->start) && read_number(end, &e->end));
}

static int add_corrections(M2File *f, M2Edit *e, Line text)
{
    e->first = f->corrections;
    while (text.text) {
        Line one = next_field(&text, "||"), rest = one, word = next_word(&rest);
        if (is_text(word, "-NONE-") && !next_word(&rest).bytes) one.bytes = 0;
        TRY(add_text(f, e->line, one, &f->correction[f->corrections++]));
    }
    e->corrections = f->corrections - e->first;
    return 0;
}

/* ---- blocks -------------------------------------------------------------------------------------- */

/* A line A without an edit keeps its annotator's place until the block ends. */
#define NO_EDIT SIZE_MAX

static int add_edit(M2File *f, const M2Sentence *s, size_t line, Line rest)
{
    M2Edit e = {.line = line};
    int none = 0;
    Line place = next_field(&rest, "|||"), field[5];
    size_t fields = 0;
    while (rest.text && fields < 5) field[fields++] = next_field(&rest, "|||");
    if (fields < 5 || rest.text || !read_place(place, &e, &none) ||
        !read_number(field[4], &e.annotator))
        return error_set(ERR_INPUT, "%s:%zu: expected " FORMAT, f->lines.file, line);
    if (none || is_text(field[0], "noop")) {
        e.start = e.end = NO_EDIT;
    } else {
        if (e.start > e.end)
            return error_set(ERR_INPUT,
                             "%s:%zu: an edit from %zu to %zu: its end is before its start",
                             f->lines.file, line, e.start, e.end);
        if (e.end > s->source.n)
            return error_set(ERR_INPUT,
                             "%s:%zu: an edit that ends at %zu, of a sentence of %zu words",
                             f->lines.file, line, e.end, s->source.n);
        TRY(add_corrections(f, &e, field[1]));
    }
    f->edit[f->edits++] = e;
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const M2Edit *x = a, *y = b;
    if (x->annotator != y->annotator) return x->annotator < y->annotator ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->line < y->line ? -1 : 1;
}

/* Makes the sets of a block, whose edits are those from `first` on. */
static void end_block(M2File *f, M2Sentence *s, size_t first)
{
    s->first = f->sets;
    qsort(f->edit + first, f->edits - first, sizeof *f->edit, by_place);
    for (size_t i = first; i < f->edits; i++) {
        if (i == first || f->edit[i].annotator != f->edit[i - 1].annotator)
            f->set[f->sets++] = (M2Set){f->edit[i].annotator, i, 0};
        f->set[f->sets - 1].edits += f->edit[i].start != NO_EDIT;
    }
    if (f->edits == first) f->set[f->sets++] = (M2Set){0, first, 0};
    s->sets = f->sets - s->first;
}

static int read_blocks(M2File *f)
{
    M2Sentence *open = NULL;
    size_t first = 0;
    for (size_t i = 0; i < f->lines.count; i++) {
        Line l = f->lines.line[i];
        char kind = l.bytes ? l.text[0] : 0;
        if (l.bytes > 1 && l.text[1] != ' ') kind = '?';
        Line rest = {l.text + (l.bytes > 1 ? 2 : l.bytes), l.bytes > 1 ? l.bytes - 2 : 0};
        if (kind == 0) {
            if (open) end_block(f, open, first);
            open = NULL;
        } else if (kind == 'S' && !open) {
            open = &f->sentence[f->sentences++];
            first = f->edits;
            TRY(add_text(f, i + 1, rest, &open->source));
        } else if (kind == 'A' && open) {
            TRY(add_edit(f, open, i + 1, rest));
        } else {
            return error_set(ERR_INPUT, "%s:%zu: %s", f->lines.file, i + 1,
                             kind == 'S'   ? "expected an empty line before a line S"
                             : kind == 'A' ? "expected a line S before a line A"
                                           : "expected 'S WORD ...', " FORMAT " or an empty line");
        }
    }
    if (open) end_block(f, open, first);
    if (f->sentences) return 0;
    return error_set(ERR_INPUT, "%s has no sentence: expected lines 'S WORD ...'", f->lines.file);
}

int m2_file_read(const char *file, M2File *out)
{
    *out = (M2File){0};
    TRY(lines_read(file, &out->lines));
    const Lines *l = &out->lines;
    size_t bars = 0;
    for (size_t i = 0; i < l->count; i++)
        for (size_t k = 0; k < l->line[i].bytes; k++) bars += l->line[i].text[k] == '|';
    out->correction = memory_new(l->count + bars / 2, sizeof *out->correction);
    out->edit = memory_new(l->count, sizeof *out->edit);
    out->set = memory_new(l->count, sizeof *out->set);
    out->sentence = memory_new(l->count, sizeof *out->sentence);
    if (!out->correction || !out->edit || !out->set || !out->sentence) return ERR_MEMORY;
    TRY(symbols_room(&out->words, 1)); /* a file without words also needs their address */
    return read_blocks(out);
}

void m2_file_free(M2File *f)
{
    memory_free(f->correction);
    memory_free(f->edit);
    memory_free(f->set);
    memory_free(f->sentence);
    symbols_free(&f->words);
    words_free(&f->vocabulary);
    lines_free(&f->lines);
    *f = (M2File){0};
}
