/* plot.c: writes gnuplot scripts, and has them drawn (gnuplot.c). */
#include "studies/tools/plot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/tools/command.h"
#include "studies/tools/gnuplot.h"
#include "studies/tools/output.h"
#include "studies/tools/progress.h"

enum { GUIDES_MAX = 16 };

typedef struct {
    double y; /* where it ends */
    char words[64];
} Guide;

struct Plot {
    char dir[OUTPUT_PATH], name[64];
    Output settings, items;
    size_t series, count; /* lines of points; items of the plot command */
    size_t longest;       /* title of a series, in bytes */
    size_t more;          /* height beyond the usual, of the vector image */
    size_t guides;        /* their words stand between plot and key */
    Guide guide[GUIDES_MAX];
};

/* Okabe and Ito's palette, less its yellow (too pale for lines), with black last. */
static const char *const colour[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#000000"};
static const char *const dash[] = {"1", "'-'", "'_.'", "'.'", "'_  '"};
static const int point[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};
#define OF(list, i) ((list)[(i) % (sizeof(list) / sizeof *(list))])

const char *plot_colour(size_t i)
{
    return OF(colour, i);
}

int plot_point(size_t i)
{
    return OF(point, i);
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* The next character, or U+FFFD for a byte that begins none. Source: RFC 3629, section 4. */
static uint32_t next_character(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    size_t more = *s < 0x80 ? 0 : *s < 0xc2 ? 4 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : *s < 0xf5 ? 3 : 4;
    uint32_t c = more == 0 ? *s : *s & (0x3fu >> more);
    *text += 1;
    if (more == 4) return 0xfffd;
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0xfffd;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0xfffd;
    *text += more;
    return c;
}

/* Controls (C0, DEL, C1), separators of lines, marks of direction, and what XML does not take. */
static int is_unseen(uint32_t c)
{
    static const uint32_t range[][2] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0x200e, 0x200f},
                                        {0x2028, 0x202e}, {0x2066, 0x2069}, {0xfeff, 0xfeff}};
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        if (c >= range[i][0] && c <= range[i][1]) return 1;
    return (c & 0xfffe) == 0xfffe;
}

/* Takes a character off the text: it, or U+FFFD in its place, with a NUL behind. */
static void take_piece(const char **text, char piece[5])
{
    const char *from = *text;
    uint32_t c = next_character(text);
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

/* text as a gnuplot string: the one place where text becomes harmless. Between single quotes gnuplot looks for
 * their end alone, which is a line's end too: neither is left. A quote doubled, as gnuplot wants it, would end a
 * string that begins with it (5.4.4). twice: a character to be doubled, or '\0'. */
static void write_text(FILE *f, const char *text, char twice)
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

/* A file of the directory: gnuplot reads '< command', '-', '+' and '~' otherwise. */
static void write_file(FILE *f, const char *name)
{
    char path[OUTPUT_PATH];
    snprintf(path, sizeof path, "%s%s", isalnum((unsigned char)*name) ? "" : "./", name);
    write_text(f, path, '\0');
}

/* vfprintf with the conversions of plot_item: no text gets into a script but through here, and here it is quoted. */
static void write_format(FILE *f, const char *format, va_list args)
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
        case 's': write_text(f, va_arg(args, const char *), '\0'); break;
        case 'd': fprintf(f, conversion, va_arg(args, int)); break;
        case 'g': fprintf(f, conversion, va_arg(args, double)); break;
        case 'z': fprintf(f, conversion, va_arg(args, size_t)), n++; break;
        default: fputc('%', f);
        }
        c += n;
    }
}

/* ---- scripts ------------------------------------------------------------------------------------- */

static const char look[] =
    "set encoding utf8\n"
    "set datafile separator ','\n"
    "set border 3 lc rgb '#555555'\n"
    "set tics nomirror out textcolor rgb '#333333'\n"
    "set grid lc rgb '#dddddd' lw 1 dt 1\n"
    "set key outside right top vertical Left reverse samplen 3 spacing 1.15 maxcols 1 noenhanced\n"
    "set xlabel noenhanced\n"
    "set ylabel noenhanced\n"
    "set style data linespoints\n";

static void write_frame(Plot *p, const PlotFrame *frame)
{
    plot_setting(p,
                 "set label %s at screen 0.5, screen 1 center offset 0,-1.2 noenhanced font ',15'",
                 frame->title); /* above the whole image, not above the axes */
    plot_setting(p, "set tmargin 3\nset xlabel %s noenhanced", frame->x);
    plot_setting(p, "set ylabel %s noenhanced", frame->y);
    if (frame->flags & PLOT_LOG_X) plot_setting(p, "set logscale x 10\nset format x '10^{%%L}'");
    if (frame->flags & PLOT_LOG_Y) plot_setting(p, "set logscale y 10\nset format y '10^{%%L}'");
    if (frame->flags & PLOT_HALVINGS) plot_setting(p, "set logscale x 2\nset format x '2^{%%L}'");
}

/* What needs no quotes anywhere: in a script, on a command line. */
static int is_plain(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || (n > 0 && name[n] && strchr("-_.+", name[n]))) n++;
    return n > 0 && n <= 60 && name[n] == '\0';
}

int plot_new(const char *dir, const PlotFrame *frame, Plot **out)
{
    if (!is_plain(frame->name))
        return error_set(ERR_MISUSE, "a plot's name: 1 to 60 letters, digits, - _ . +");
    Plot *p = memory_new(1, sizeof *p);
    if (!p) return ERR_MEMORY;
    snprintf(p->dir, sizeof p->dir, "%s", dir);
    snprintf(p->name, sizeof p->name, "%s", frame->name);
    if (output_open(&p->settings) != 0 || output_open(&p->items) != 0) {
        plot_drop(p);
        return ERR_MEMORY;
    }
    fputs(look, p->settings.f);
    write_frame(p, frame);
    *out = p;
    return 0;
}

void plot_drop(Plot *p)
{
    if (!p) return;
    output_drop(&p->settings);
    output_drop(&p->items);
    memory_free(p);
}

void plot_add_setting(Plot *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    write_format(p->settings.f, format, args);
    va_end(args);
    fputc('\n', p->settings.f);
}

void plot_add_item(Plot *p, const char *data, const char *format, ...)
{
    fputs(p->count++ ? ", \\\n        " : "", p->items.f);
    if (data) write_file(p->items.f, data);
    if (data) fputc(' ', p->items.f);
    va_list args;
    va_start(args, format);
    write_format(p->items.f, format, args);
    va_end(args);
}

void plot_add_words(Plot *p, const char *format, ...)
{
    fputc(' ', p->items.f);
    va_list args;
    va_start(args, format);
    write_format(p->items.f, format, args);
    va_end(args);
}

void plot_style(Plot *p, size_t i)
{
    fprintf(p->items.f, " lc rgb '%s' lw 2 dt %s pt %d ps 1", plot_colour(i), OF(dash, i / 7),
            OF(point, i));
}

void plot_taller(Plot *p, size_t pixels)
{
    p->more += pixels;
}

/* Title and look of a series; room for it in the key. */
static void name_series(Plot *p, const char *title)
{
    plot_more(p, "title %s noenhanced", title);
    plot_style(p, p->series++);
    if (strlen(title) > p->longest) p->longest = strlen(title);
    if (p->series > 16) plot_taller(p, 29);
}

void plot_series(Plot *p, const char *data, int key, const char *value, int x, int y,
                 const char *title)
{
    plot_item(p, data, "using (strcol(%d) eq %s ? $%d : NaN):%d", key, value, x, y);
    name_series(p, title);
}

void plot_numbered(Plot *p, const char *data, size_t number, int x, int y, const char *title)
{
    plot_item(p, data, "using ($1 == %zu ? $%d : NaN):%d", number, x, y);
    name_series(p, title);
}

void plot_guide(Plot *p, double c, int power, double x, const char *words)
{
    double y = c * pow(x, power);
    size_t k = p->guides;
    plot_item(p, NULL, "%.6g * x**%d with lines notitle lc rgb '#999999' lw 1.5 dt '.'", c, power);
    if (k == GUIDES_MAX) return;
    for (; k > 0 && p->guide[k - 1].y < y; k--) p->guide[k] = p->guide[k - 1];
    p->guide[k].y = y;
    snprintf(p->guide[k].words, sizeof p->guide[k].words, "%s", words);
    p->guides++;
}

/* Words beside the ends of the guides, from the top down. Only gnuplot knows the axis, after it has
 * drawn: a first plot goes nowhere. Words closer than a line of text move down. */
static void write_guides(const Plot *p, FILE *f)
{
    if (p->guides == 0) return;
    fprintf(f,
            "set key at graph 1.14,1 left top\nset rmargin %zu\n"
            "set terminal unknown\nplot %s\n"
            "height(y) = log(y / GPVAL_Y_MIN) / log(GPVAL_Y_MAX / GPVAL_Y_MIN)\n"
            "below(a, b) = a < b ? a : b\nline = 0.045\nend = 1 + line\n",
            p->longest + 15, p->items.text);
    for (size_t k = 0; k < p->guides; k++) {
        fprintf(f, "end = below(height(%.6g), end - line)\nset label ", p->guide[k].y);
        write_text(f, p->guide[k].words, '\0');
        fputs(" at graph 1, graph end left offset 0.6,0 noenhanced font ',11' textcolor rgb "
              "'#777777'\n",
              f);
    }
}

void plot_level(Plot *p, double y, const char *words)
{
    plot_item(p, NULL, "%.6g with lines notitle lc rgb '#777777' lw 1.5 dt '-'", y);
    plot_setting(p,
                 "set label %s at graph 0.99, first %.6g right offset 0,0.6 noenhanced font ',11' "
                 "textcolor rgb '#555555'",
                 words, y);
}

/* A tic's word is a format to gnuplot. */
void plot_tic(Plot *p, size_t y, const char *word)
{
    fputs("set ytics add (", p->settings.f);
    write_text(p->settings.f, word, '%');
    fprintf(p->settings.f, " %zu) noenhanced\n", y);
}

void plot_count(Plot *p, size_t n)
{
    plot_setting(p, "set xrange [0.7:%zu.3]\nset xtics 1,%zu", n, n / 12 + 1);
}

/* The same plot twice: a vector and a pixel image of equal proportions. */
int plot_script(Plot *p, FILE *f)
{
    if (fflush(p->settings.f) != 0 || fflush(p->items.f) != 0) return ERR_MEMORY;
    fprintf(f, "# gnuplot %s.gp, here, draws %s.svg and %s.png again\n%s", p->name, p->name,
            p->name, p->settings.text);
    write_guides(p, f);
    fprintf(f,
            "do for [image in 'svg png'] {\n"
            "    if (image eq 'svg') {\n"
            "        set terminal svg size 900,%zu font 'DejaVu Sans,Verdana,sans-serif,14' "
            "background 'white'\n"
            "    } else {\n"
            "        set terminal pngcairo size 1800,%zu font 'DejaVu Sans,14' fontscale 2 "
            "linewidth 2 pointscale 2\n"
            "    }\n"
            "    set output '%s.'.image\n"
            "    plot %s\n"
            "    unset output\n"
            "}\n",
            540 + p->more, 2 * (540 + p->more), p->name, p->items.text);
    return 0;
}

static int save_script(Plot *p)
{
    char script[80];
    Output o;
    snprintf(script, sizeof script, "%s.gp", p->name);
    TRY(output_open(&o));
    return output_put(&o, plot_script(p, o.f), p->dir, script);
}

/* ---- drawing ------------------------------------------------------------------------------------- */

/* gnuplot does not look whether what it writes arrives. A drawing cut short, as on a full disk, lacks the last
 * words of its format, and goes. Sources: SVG 1.1, section 5.1; PNG (ISO 15948), section 11.2.5. */
static void check_drawing(const Plot *p, const char *kind, const char *last)
{
    char path[OUTPUT_PATH], end[16] = "";
    if (output_path(path, p->dir, "%s.%s", p->name, kind) != 0) return;
    FILE *f = fopen(path, "rb");
    size_t n = f && fseek(f, -(long)sizeof end, SEEK_END) == 0 ? fread(end, 1, sizeof end, f) : 0;
    if (f) fclose(f);
    if (memmem(end, n, last, strlen(last))) return;
    notice_warn("%s could not be written whole; 'gnuplot %s.gp' there draws it again", path,
                p->name);
    remove(path);
}

static void draw(const Plot *p)
{
    char script[80];
    snprintf(script, sizeof script, "%s.gp", p->name);
    progress_show("drawing %s", p->name);
    int status = gnuplot_run(p->dir, script);
    progress_clear();
    if (status < 0)
        notice_warn("gnuplot cannot be run (%s); %s/%s.gp is written, not drawn", strerror(errno),
                    p->dir, p->name);
    else if (status > 0)
        notice_warn("gnuplot failed; 'gnuplot %s.gp' in %s tells why", p->name, p->dir);
    else {
        check_drawing(p, "svg", "</svg>");
        check_drawing(p, "png", "IEND");
    }
}

int plot_finish(Plot *p)
{
    int code = save_script(p);
    if (code == 0) draw(p);
    plot_drop(p);
    return code;
}
