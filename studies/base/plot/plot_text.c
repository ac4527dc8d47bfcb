/* plot_text.c: makes texts harmless in a gnuplot script. */
#include "studies/base/plot/plot_text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "studies/base/plot/plot.h"
#include "studies/base/output.h"
#include "studies/base/utf8.h"

/* Returns 1 for controls (C0, DEL, C1), separators of lines, marks of direction, and what XML does not accept. */
static int is_unseen(uint32_t c)
{
    static const uint32_t range[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x200e, 0x200f},
                                        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (c >= range[i][0] && c <= range[i][1]) return 1;
    return (c & 0xfffe) == 0xfffe;
}

/* Takes a character off the text. piece: that character or U+FFFD in its place, ended by a NUL. */
static void take_piece(const char **text, char piece[5])
{
    const char *from = *text;
    uint32_t c = utf8_next(text);
    if (is_unseen(c) || c == 0xfffd)
        memcpy(piece, "\xef\xbf\xbd", 4);
    else
        snprintf(piece, 5, "%.*s", (int)(*text - from), from);
}

void plot_text(const char *text, char *out, size_t bytes)
{
    char piece[5];
    size_t n = 0;
    while (*text) {
        take_piece(&text, piece);
        if (n + strlen(piece) >= bytes) break;
        memcpy(out + n, piece, strlen(piece));
        n += strlen(piece);
    }
    out[n] = '\0';
}

const char *plot_folder(const char *path)
{
    const char *last = path;
    for (const char *c = path; *c; c++)
        if (*c == '/' && c[1] != '\0' && c[1] != '/' && c[1] != ' ') last = c + 1;
    return last;
}

/* Between single quotes gnuplot looks only for their end, and a line's end ends them too; neither is left in the text.
 * gnuplot writes a quote inside as two, but two would end a string that begins with the quote (5.4.4). */
void plot_put_text(FILE *f, const char *text, char twice)
{
    char piece[5];
    fputc('\'', f);
    while (*text) {
        take_piece(&text, piece);
        const char *out = *piece == '\'' ? "’" : *piece == '`' ? "‘" : piece;
        fputs(out, f);
        if (*piece == twice) fputs(out, f);
    }
    fputc('\'', f);
}

void plot_put_file(FILE *f, const char *name)
{
    char path[OUTPUT_PATH];
    snprintf(path, sizeof path, "%s%s", isalnum((unsigned char)*name) ? "" : "./", name);
    plot_put_text(f, path, '\0');
}

void plot_put_format(FILE *f, const char *format, va_list args)
{
    for (const char *c = format; *c; c++) {
        char conversion[16] = "";
        size_t n = *c == '%' ? strspn(c + 1, "+-.0123456789") + 1 : 0;
        if (n == 0 || n > sizeof conversion - 3) {
            fputc(*c, f);
            continue;
        }
        memcpy(conversion, c, n + 1 + (c[n] == 'z'));
        switch (c[n]) {
        case 's': plot_put_text(f, va_arg(args, const char *), '\0'); break;
        case 'd': fprintf(f, conversion, va_arg(args, int)); break;
        case 'g': fprintf(f, conversion, va_arg(args, double)); break;
        case 'z': fprintf(f, conversion, va_arg(args, size_t)), n++; break;
        default: fputc('%', f);
        }
        c += n;
    }
}

void plot_tic_word(const char *word, char out[PLOT_TIC_BYTES])
{
    size_t n = 0, letters = 0;
    for (; *word && letters < PLOT_TIC && n + 8 < PLOT_TIC_BYTES; word++) {
        letters += ((unsigned char)word[1] & 0xc0) != 0x80;
        if (*word == '\\')
            n += (size_t)sprintf(out + n, "\u2216");
        else
            out[n++] = *word;
    }
    strcpy(out + n, *word ? "\u2026" : "");
}
