/* plot_key.c: the sizes of an image, and the place and the size of its key, which gnuplot does not find by itself. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "studies/base/plot/plot_inside.h"
#include "studies/base/plot/plot_text.h"

/* Points of the letters in print; raised ones have 0.8 of that, and 7 is the minimum. Pixels: of an image for a screen, and
 * of a line of its letters. */
enum { PRINT = 9, SCREEN_ACROSS = 900, SCREEN_UP = 540, PIXELS = 14 };

size_t plot_width;

void plot_figure(const char *millimetres)
{
    plot_width = millimetres ? strtoul(millimetres, NULL, 10) : 0;
}

int plot_titled(void)
{
    return plot_width == 0;
}

int plot_narrow(void)
{
    return plot_width > 0 && plot_width < 120;
}

/* Returns the width in points, of which 72 are an inch. */
static double figure_points(void)
{
    return (double)plot_width * 72 / 25.4;
}

/* Returns the usual height of a figure, in points. */
static double figure_up(const Plot *p)
{
    return figure_points() * (plot_narrow() ? p->equal ? 0.85 : 0.72 : 0.56);
}

double plot_size(const Plot *p, double *across, double *up)
{
    const double pixels =
        plot_width ? PIXELS : 17; /* for Cairo's letters, which are larger than SVG's */
    *across = plot_width ? figure_points() / PRINT : SCREEN_ACROSS / pixels;
    *up = plot_width ? figure_up(p) / PRINT : SCREEN_UP / pixels;
    return pixels;
}

/* ---- the key ------------------------------------------------------------------------------------- */

/* Titles, letters of the longest, and columns below the axes, each with a sample of six letters. columns 0: the key stands
 * beside the axes, as it takes less than a third of the width there. */
typedef struct {
    size_t entries, longest, columns;
    double letter,
        across; /* widths of its letters and of the image: points for a figure, pixels for a screen */
} Key;

/* Returns the room right of the axes, in letters. */
static size_t letters_beside(const Plot *p)
{
    return (p->guides ? 7 : 0) + p->aside;
}

/* Counts the titles in the items; a text holds no quote that ends it. Where gnuplot finds no room for so many columns, it
 * makes fewer, and their lines take height from the axes. */
static Key find_key(const Plot *p)
{
    static const char title[] = " title '";
    Key k = {.letter = plot_width ? 0.58 * 7.5 : 8.2,
             .across = plot_width ? figure_points() : SCREEN_ACROSS};
    for (const char *at = p->items.text; (at = strstr(at, title)); k.entries++) {
        size_t letters = 0;
        for (at += sizeof title - 1; *at != '\''; at++) letters += (*at & 0xc0) != 0x80;
        if (letters > k.longest) k.longest = letters;
    }
    size_t above = strlen(p->key_title); /* the key's title begins left of the samples */
    if (k.entries && above > k.longest + 6) k.longest = above - 6;
    double each = ((double)k.longest + 6) * k.letter;
    double most = plot_narrow() || p->below ? 0 : plot_width ? 0.3 : 0.33;
    if (k.entries == 0 || each <= most * k.across) return k;
    /* The key is centred on the axes, not on the image: the room left of the axes is lost on the right too. */
    double left = fmax(10 * k.letter, ((double)p->word + 5) * k.letter);
    left += 0.8 * k.letter * (double)letters_beside(p);
    if (p->below) { /* above two panels gnuplot takes a key no wider than these, and letters for wider than below one */
        left = 0.17 * k.across;
        each *= 1.12;
    }
    k.columns = k.across - left > each ? (size_t)((k.across - left) / each) : 1;
    return k;
}

/* Returns the key's height below the axes, in points for a figure, pixels for a screen. */
static double key_height(const Plot *p, const Key *k)
{
    if (k->columns == 0) return 0;
    size_t lines = (k->entries + k->columns - 1) / k->columns + (*p->key_title ? 2 : 0);
    return (plot_width ? 11 : 22) * (double)lines + 15;
}

/* ---- two panels ------------------------------------------------------------------------------------ */

static double panel_line(void)
{
    return plot_width ? 12 : 22;
}

/* Returns the height of an image of two panels. */
static double panels_up(const Plot *p, const Key *k)
{
    double key = key_height(p, k), more = (double)p->more;
    return plot_width ? figure_up(p) + more * PRINT / PIXELS + key
                      : SCREEN_UP + (key > more ? key : more);
}

/* Both panels have the same ends across, which gnuplot alone would make fit the numbers at each axis. The title and the key stand
 * above them. */
void plot_write_panel(const Plot *p, int lower, FILE *f)
{
    Key k = find_key(p);
    double line = panel_line(), across = plot_width ? figure_points() : SCREEN_ACROSS;
    double up = panels_up(p, &k),
           top = 1 - (key_height(p, &k) + (plot_width ? 0 : 1.6 * line)) / up;
    double bottom = (plot_width ? 3.4 : 4) * line / up, middle = bottom + 0.34 * (top - bottom);
    fprintf(f,
            "set lmargin at screen %.4f\nset rmargin at screen %.4f\n"
            "set bmargin at screen %.4f\nset tmargin at screen %.4f\n",
            5.2 * line / across, 1 - 1.5 * line / across, lower ? bottom : middle + 1.1 * line / up,
            lower ? middle : top);
}

/* A key "outside right" stands at the edge of the image: far from a plot whose axes have the same unit, and over the words
 * of guides. In these cases it is placed relative to the axes. */
void plot_write_key(const Plot *p, FILE *f)
{
    Key k = find_key(p);
    size_t beside = letters_beside(p);
    if (plot_width || k.columns) fputs("set key samplen 2 font small\n", f);
    if (*p->key_title) { /* below a figure an empty line keeps it off the x label */
        fprintf(f, "set key title %s", k.columns ? "\"\\n\"." : "");
        plot_put_text(f, p->key_title, '\0');
        fputs(" left font small\n", f);
    }
    if (p->below) {
        double title = plot_width ? 0.2 : 2;
        fprintf(f, "set key at screen 0.5, screen %.4f center top horizontal maxcols %zu\n",
                1 - title * panel_line() / panels_up(p, &k), k.columns);
    } else if (k.columns) {
        int wide = (double)(k.longest + p->word + 16) * k.letter > k.across;
        fprintf(f, "set key bmargin %s horizontal maxcols %zu height 1.6\n",
                wide ? "right" : "center", k.columns);
        fputs("set xlabel offset 0,0.3\n", f); /* away from the key */
        if (beside) fprintf(f, "set rmargin %zu\n", beside + 1);
    } else if (beside || p->equal) {
        /* The key stands right of the words of guides, which are some 66 of 900 pixels wide, or 42 points. A letter of
         * a margin has 12 pixels; in print 4.7 points in SVG and 5.8 in Cairo's drawings, whose letters are as wide. */
        size_t room = plot_width ? k.longest * 14 / 15 + 8 : k.longest + 8;
        double across = plot_width ? k.across - 54 : 800, words = plot_width ? 42 : 66;
        double left = across - (plot_width ? 5.3 : 12) * (double)(room + beside);
        double away = left > 3 * words ? words / left : 0.33;
        if (!p->guides) away = 0.04;
        if (p->guides && !plot_width && away < 0.14) away = 0.14;
        fprintf(f, "set key at graph %.4g,1 left top\nset rmargin %zu\n", 1 + away, room + beside);
    } else if (plot_width) {
        /* gnuplot underestimates the width of SVG's letters by a tenth. */
        fprintf(f, "set key width %zu\n", k.longest / 8 + 1);
    }
}

/* ---- terminals ----------------------------------------------------------------------------------- */

/* Writes a terminal for a kind of image; the script takes the first that its gnuplot knows. */
__attribute__((format(printf, 4, 5))) static void write_terminal(FILE *f, const char *image,
                                                                 const char *terminal,
                                                                 const char *format, ...)
{
    va_list args;
    fprintf(
        f,
        "    if (image eq '%s' && !known && can('%s')) {\n        known = 1\n        set terminal %s ",
        image, terminal, terminal);
    va_start(args, format);
    vfprintf(f, format, args);
    va_end(args);
    fputs("\n    }\n", f);
}

/* Writes the terminals for a screen: a vector and a pixel image of equal proportions. */
static void write_screen(const Plot *p, const Key *k, FILE *f)
{
    size_t lines = k->entries + (k->entries && *p->key_title ? 2 : 0);
    size_t key = k->columns ? (size_t)key_height(p, k) : lines > 16 ? 29 * (lines - 16) : 0;
    size_t up = SCREEN_UP + (key > p->more ? key : p->more);
    write_terminal(f, "svg", "svg",
                   "size %d,%zu font 'DejaVu Sans,Verdana,sans-serif,14' background 'white'",
                   SCREEN_ACROSS, up);
    write_terminal(f, "png", "pngcairo",
                   "size %d,%zu font 'DejaVu Sans,14' fontscale 2 linewidth 2 pointscale 2",
                   2 * SCREEN_ACROSS, 2 * up);
    write_terminal(f, "png", "png", "size %d,%zu", SCREEN_ACROSS, up);
}

/* Writes the terminals for a paper, plot_width wide, with letters of PRINT points. A pixel of SVG is 1/96 inch; 300
 * pixels of PNG are an inch; Cairo's terminals draw letters 4/3 of the requested size. */
static void write_paper(const Plot *p, const Key *k, FILE *f)
{
    double across = figure_points(), up = figure_up(p), dense = 300 / 72.0;
    up += (double)p->more * PRINT / PIXELS + key_height(p, k);
    write_terminal(f, "svg", "svg",
                   "size %.0f,%.0f font 'DejaVu Sans,Verdana,sans-serif,%d' fontscale 1.3333 "
                   "linewidth 0.8 background 'white'",
                   across * 4 / 3, up * 4 / 3, PRINT);
    write_terminal(
        f, "png", "pngcairo",
        "size %.0f,%.0f font 'DejaVu Sans,%d' fontscale %.4g linewidth %.4g pointscale %.4g",
        across * dense, up * dense, PRINT, 0.75 * dense, 0.6 * dense, 0.6 * dense);
    write_terminal(f, "png", "png", "size %.0f,%.0f", across * 4 / 3, up * 4 / 3);
    write_terminal(
        f, "pdf", "pdfcairo",
        "size %.4gcm,%.4gcm font 'DejaVu Sans,%d' fontscale 0.75 linewidth 1.2 pointscale 0.6",
        (double)plot_width / 10, up * 2.54 / 72, PRINT);
}

void plot_write_terminals(const Plot *p, FILE *f)
{
    Key k = find_key(p);
    if (plot_width)
        write_paper(p, &k, f);
    else
        write_screen(p, &k, f);
}
