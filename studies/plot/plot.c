/* plot.c: writes gnuplot scripts and runs gnuplot on them (gnuplot.c). */
#include "studies/plot/plot.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/plot/gnuplot.h"
#include "studies/plot/plot_text.h"
#include "studies/tools/command.h"
#include "studies/tools/csv.h"
#include "studies/tools/output.h"
#include "studies/tools/progress.h"

enum { GUIDES_MAX = 16 };

typedef struct {
    double c, y; /* c x^power ends at y, or where the axis does */
    int power;
    char words[64];
} Guide;

/* The points of a series, to compare it with the next ones. */
typedef struct {
    double (*at)[2]; /* (n) */
    size_t n;
} Line;

struct Plot {
    char dir[OUTPUT_PATH], name[64];
    Output settings, items;
    size_t series, count; /* lines of points; items of the plot command */
    size_t item;          /* where the last one begins in its text */
    Line *line;           /* (lines) */
    size_t lines, over;   /* over: earlier lines in the place of the next item */
    size_t last_over;     /* of the last item */
    double top;           /* of the y axis */
    int code;             /* why lines could not be read: ERR_MEMORY */
    size_t more;          /* extra height of the vector image */
    int log;              /* the frame's logarithmic axes */
    int equal;            /* 1: both axes have the same unit */
    size_t word;          /* letters of the longest word on the y axis */
    size_t aside;         /* letters of room between plot and key */
    char key_title[64];
    size_t guides; /* their words stand between plot and key */
    Guide guide[GUIDES_MAX];
};

/* The width of the plots that are begun from now on, in mm; 0: not for a paper. The two values of the option are usual
 * widths of a column and of a page. */
static size_t figure_width;

void plot_figure(const char *millimetres)
{
    figure_width = millimetres ? strtoul(millimetres, NULL, 10) : 0;
}

/* Returns the width in points, of which 72 are an inch. */
static double figure_points(void)
{
    return (double)figure_width * 72 / 25.4;
}

int plot_titled(void)
{
    return figure_width == 0;
}

int plot_narrow(void)
{
    return figure_width > 0 && figure_width < 120;
}

/* Okabe and Ito's palette without its yellow (too pale for lines), black last. */
static const char *const colour[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                     "#e69f00", "#56b4e9", "#000000"};
static const char *const dash[] = {"1", "'-'", "'_.'", "'.'", "'_  '"};
static const char *const gaps[] = {"'.  '", "'_ '", "'. '"}; /* over another line */
static const int point[] = {7, 5, 9, 11, 13, 6, 4, 8, 10, 12};
enum { PLOT_COLOURS = sizeof colour / sizeof *colour };
#define OF(list, i) ((list)[(i) % (sizeof(list) / sizeof *(list))])

size_t plot_again(size_t i, size_t n, size_t k)
{
    return i + PLOT_COLOURS * ((n + PLOT_COLOURS - 1) / PLOT_COLOURS) * k;
}

const char *plot_colour(size_t i)
{
    return OF(colour, i);
}

int plot_point(size_t i)
{
    return OF(point, i);
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

/* Points of the letters in print. `small` in a script is smaller, for levels and guides. In print 7 pt is the minimum,
 * and a raised exponent has 0.8 of the size beside it. */
enum { PRINT = 9 };

static void write_frame(Plot *p, const PlotFrame *frame)
{
    fprintf(p->settings.f, "small = '%s'\n", figure_width ? ",7.5" : ",11");
    if (!figure_width) /* the title stands above the whole image, not above the axes */
        plot_setting(p,
                     "set label %s at screen 0.5, screen 1 center offset 0,-1.2 noenhanced font "
                     "',%d'",
                     frame->title, strlen(frame->title) > 70 ? 11 : 15);
    plot_setting(p, "set tmargin %d\nset xlabel %s noenhanced", figure_width ? 1 : 3, frame->x);
    plot_setting(p, "set ylabel %s noenhanced", frame->y);
    if (plot_narrow() && strlen(frame->x) > 34) plot_setting(p, "set xlabel font small");
    if (plot_narrow() && strlen(frame->y) > 24) plot_setting(p, "set ylabel font small");
    p->log = frame->flags & (PLOT_LOG_X | PLOT_LOG_Y | PLOT_HALVINGS);
    if (p->log & (PLOT_LOG_X | PLOT_HALVINGS)) plot_setting(p, "set autoscale xfix");
    if (p->log & PLOT_LOG_Y) plot_setting(p, "set autoscale yfix");
    if (frame->flags & PLOT_LOG_X) plot_setting(p, "set logscale x 10\nset format x '10^{%%L}'");
    if (frame->flags & PLOT_LOG_Y) plot_setting(p, "set logscale y 10\nset format y '10^{%%L}'");
    p->equal = (frame->flags & PLOT_EQUAL) != 0;
    if (p->equal) plot_setting(p, "set size ratio -1");
    if (frame->flags & PLOT_HALVINGS) plot_setting(p, "set logscale x 2\nset format x '2^{%%L}'");
    if (frame->flags & PLOT_HALVINGS && plot_narrow()) plot_setting(p, "set xtics 4");
}

/* Returns 1 for a name that needs no quotes in a script or on a command line. */
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
    p->top = INFINITY;
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
    for (size_t i = 0; i < p->lines; i++) memory_free(p->line[i].at);
    memory_free(p->line);
    memory_free(p);
}

void plot_add_setting(Plot *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    plot_put_format(p->settings.f, format, args);
    va_end(args);
    fputc('\n', p->settings.f);
}

void plot_add_item(Plot *p, const char *data, const char *format, ...)
{
    fputs(p->count++ ? ", \\\n        " : "", p->items.f);
    fflush(p->items.f);
    p->item = p->items.bytes;
    if (data) plot_put_file(p->items.f, data);
    if (data) fputc(' ', p->items.f);
    va_list args;
    va_start(args, format);
    plot_put_format(p->items.f, format, args);
    va_end(args);
}

void plot_add_words(Plot *p, const char *format, ...)
{
    fputc(' ', p->items.f);
    va_list args;
    va_start(args, format);
    plot_put_format(p->items.f, format, args);
    va_end(args);
}

/* Returns 1 where the last item is "with lines"; gnuplot complains of marks there. */
static int is_line(const Plot *p)
{
    fflush(p->items.f);
    const char *with = p->items.text ? strstr(p->items.text + p->item, " with ") : NULL;
    return with && strncmp(with, " with lines ", 12) == 0;
}

void plot_style(Plot *p, size_t i)
{
    int line = is_line(p);
    fprintf(p->items.f, " lc rgb '%s' lw 2 dt %s", plot_colour(i),
            p->over ? OF(gaps, p->over) : OF(dash, i / PLOT_COLOURS));
    if (!line) fprintf(p->items.f, " pt %d ps %.3g", OF(point, i), 1 / (1 + 0.7 * (double)p->over));
    p->last_over = p->over;
    p->over = 0;
}

void plot_over_key(Plot *p)
{
    p->over = p->last_over;
}

void plot_taller(Plot *p, size_t pixels)
{
    p->more += pixels;
}

void plot_aside(Plot *p, size_t letters)
{
    p->aside += letters;
}

void plot_lines(Plot *p, size_t points)
{
    fputs(points > 1 ? " with lines" : " with points", p->items.f);
}

void plot_interval(Plot *p, const char *colour_of_it, double wide)
{
    plot_more(p, "with vectors heads nofilled size graph 0.006,90 lw %.3g lc rgb %s notitle", wide,
              colour_of_it);
}

void plot_note(Plot *p, const char *words)
{
    if (figure_width) return;
    plot_setting(p,
                 "set tmargin 4\nset label %s at screen 0.5, screen 1 center offset 0,-2.8 "
                 "noenhanced font small textcolor rgb '#555555'",
                 words);
}

void plot_next(Plot *p, size_t i)
{
    p->series = i;
}

/* ---- lines in the same place --------------------------------------------------------------------- */

static int is_near(const Line *a, const Line *b, int k, int logarithmic)
{
    double most = 0;
    for (size_t i = 0; i < a->n; i++)
        if (isfinite(a->at[i][k])) most = fmax(most, fabs(a->at[i][k]));
    for (size_t i = 0; i < a->n; i++) {
        double u = a->at[i][k], v = b->at[i][k];
        if (!isfinite(u) && !isfinite(v)) continue;
        if (!(fabs(u - v) <= (logarithmic ? 0.02 * fabs(u) : 0.003 * most))) return 0;
    }
    return most > 0;
}

/* Returns 1 where a plot shows two lines as one: points differ by less than half of a line's width or so. */
static int is_same(const Plot *p, const Line *a, const Line *b)
{
    return a->n == b->n && is_near(a, b, 0, p->log & (PLOT_LOG_X | PLOT_HALVINGS)) &&
           is_near(a, b, 1, p->log & PLOT_LOG_Y);
}

static double number_in(const char *cell)
{
    return *cell ? strtod(cell, NULL) : NAN;
}

static int is_row(const Csv *c, size_t i, PlotRows r)
{
    return strcmp(csv_cell(c, i, r.key - 1), r.value) == 0 &&
           (r.too == 0 || strcmp(csv_cell(c, i, r.too - 1), r.is) == 0);
}

static int read_points(const Csv *c, PlotRows rows, int x, int y, Line *l)
{
    l->at = memory_new(c->rows, sizeof *l->at);
    if (!l->at) return ERR_MEMORY;
    for (size_t i = 0; i < c->rows; i++)
        if (is_row(c, i, rows)) {
            l->at[l->n][0] = number_in(csv_cell(c, i, x - 1));
            l->at[l->n++][1] = number_in(csv_cell(c, i, y - 1));
        }
    return 0;
}

static int add_line(Plot *p, const char *data, PlotRows rows, int x, int y)
{
    char path[OUTPUT_PATH];
    Csv c;
    TRY(output_path(path, p->dir, "%s", data));
    TRY(csv_open(&c, path));
    Line *grown = memory_grow(p->line, p->lines, p->lines + 1, sizeof *grown);
    if (grown) p->line = grown;
    int columns = (int)c.columns, code = grown ? 0 : ERR_MEMORY;
    if (code == 0 && (rows.key > columns || rows.too > columns || x > columns || y > columns))
        code = ERR_MISUSE;
    if (code == 0) code = read_points(&c, rows, x, y, &p->line[p->lines++]);
    csv_close(&c);
    return code;
}

int plot_over(Plot *p, const char *data, PlotRows rows, int x, int y)
{
    int code = add_line(p, data, rows, x, y);
    if (code == ERR_MEMORY) p->code = code;
    p->over = 0;
    for (size_t i = 0; code == 0 && i + 1 < p->lines; i++)
        p->over += (size_t)is_same(p, &p->line[i], &p->line[p->lines - 1]);
    return code == 0;
}

void plot_top(Plot *p, double low, double y)
{
    p->top = y;
    if (low > 0)
        plot_setting(p, "set yrange [%.3g:%.3g]", low, y);
    else
        plot_setting(p, "set yrange [*:*<%.3g]", y);
}

/* Returns what the key says of the last line read: NULL: nothing, as it has no point at all. */
static const char *line_words(const Plot *p)
{
    const Line *l = &p->line[p->lines - 1];
    int diverges = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (!isfinite(l->at[i][0])) continue;
        if (l->at[i][1] <= p->top && isfinite(l->at[i][1])) return "";
        diverges |= l->at[i][1] > p->top || isinf(l->at[i][1]);
    }
    return diverges ? " (diverges)" : NULL;
}

/* Gives a series its title and look. known: its points were read. */
static void name_series(Plot *p, const char *title, int known)
{
    const char *words = known ? line_words(p) : "";
    char all[2048];
    snprintf(all, sizeof all, "%s%s", title, words ? words : "");
    plot_more(p, "with linespoints");
    if (words) plot_more(p, "title %s noenhanced", all);
    if (!words) plot_more(p, "notitle");
    plot_style(p, p->series++);
}

void plot_series(Plot *p, const char *data, int key, const char *value, int x, int y,
                 const char *title)
{
    int known = plot_over(p, data, (PlotRows){key, value}, x, y);
    plot_item(p, data, "using (strcol(%d) eq %s ? $%d : NaN):%d", key, value, x, y);
    name_series(p, title, known);
}

void plot_numbered(Plot *p, const char *data, size_t number, int x, int y, const char *title)
{
    char value[32];
    snprintf(value, sizeof value, "%zu", number);
    int known = plot_over(p, data, (PlotRows){1, value}, x, y);
    plot_item(p, data, "using ($1 == %zu ? $%d : NaN):%d", number, x, y);
    name_series(p, title, known);
}

void plot_guide(Plot *p, double c, int power, double x, const char *words)
{
    double y = c * pow(x, power);
    size_t k = p->guides;
    plot_item(p, NULL, "%.6g * x**%d with lines notitle lc rgb '#999999' lw 1.5 dt '.'", c, power);
    if (k == GUIDES_MAX) return;
    for (; k > 0 && p->guide[k - 1].y < y; k--) p->guide[k] = p->guide[k - 1];
    p->guide[k].c = c;
    p->guide[k].y = y;
    p->guide[k].power = power;
    snprintf(p->guide[k].words, sizeof p->guide[k].words, "%s", words);
    p->guides++;
}

enum { SCREEN_ACROSS = 900, SCREEN_UP = 540, PIXELS = 14 /* of a line of letters on a screen */ };

/* Sets a logarithmic axis, x or y, to the range of what is drawn and a margin; gnuplot alone would go on to the next
 * powers of ten. In less than two decades the tics are 1, 2 and 5 times the powers, in less than a factor of five they
 * are in equal steps. */
static void write_axis(FILE *f, char axis, int tens)
{
    char up = (char)toupper(axis);
    fprintf(f,
            "low_%c = GPVAL_%c_MIN\nhigh_%c = GPVAL_%c_MAX\nedge = (high_%c / low_%c)**0.04\n"
            "low_%c = low_%c / edge\nhigh_%c = high_%c * edge\nset %crange [low_%c:high_%c]\n",
            axis, up, axis, up, axis, axis, axis, axis, axis, axis, axis, axis, axis);
    if (!tens) return;
    fprintf(f,
            "if (high_%c < %d * low_%c) {\n    set format %c '%%g'\n"
            "    span = high_%c - low_%c\n    step = 10.**floor(log10(span))\n"
            "    step = step * (span < 2.5 * step ? 0.5 : span < 5 * step ? 1 : 2)%s\n"
            "    if (high_%c < 5 * low_%c) {\n        unset m%ctics\n"
            "        set for [k = 1 + floor(low_%c / step):floor(high_%c / step)] %ctics add (k * "
            "step)\n"
            "    } else {\n"
            "        set for [k = floor(log10(low_%c)):floor(log10(high_%c))] %ctics add (10.**k, "
            "2*10.**k, 5*10.**k)\n"
            "    }\n}\n",
            axis, plot_narrow() ? 20 : 100, axis, axis, axis, axis,
            plot_narrow() && axis == 'x' ? " * 2" : "", axis, axis, axis, axis, axis, axis, axis,
            axis, axis);
}

/* Writes the logarithmic axes. Only gnuplot knows what it draws, and only after it has drawn. So the script first plots
 * into a table that nobody reads. */
static void write_axes(const Plot *p, FILE *f)
{
    if (!p->log) return;
    fprintf(f, "set table $axes\nplot %s\nunset table\n", p->items.text);
    if (p->log & (PLOT_LOG_X | PLOT_HALVINGS)) write_axis(f, 'x', p->log & PLOT_LOG_X);
    if (p->log & PLOT_LOG_Y) write_axis(f, 'y', 1);
}

/* Writes words beside the ends of the guides, from the top down. Words closer than a line of text move down. */
static void write_guides(const Plot *p, FILE *f)
{
    if (p->guides == 0) return;
    fprintf(f,
            "height(y) = log(y / low_y) / log(high_y / low_y)\n"
            "below(a, b) = a < b ? a : b\nline = %g\nend = 1 + line\n",
            figure_width ? 0.07 : 0.045);
    for (size_t k = 0; k < p->guides; k++) {
        fprintf(f, "end = below(height(%.6g * high_x**%d), end - line)\nset label ", p->guide[k].c,
                p->guide[k].power);
        plot_put_text(f, p->guide[k].words, '\0');
        fputs(" at graph 1, graph end left offset 0.6,0 noenhanced font small textcolor rgb "
              "'#777777'\n",
              f);
    }
}

/* ---- the key ------------------------------------------------------------------------------------- */

/* Counts the titles in the items and the letters of the longest. A text holds no quote that ends it. */
static void count_key(const Plot *p, size_t *entries, size_t *longest)
{
    static const char title[] = " title '";
    *entries = *longest = 0;
    for (const char *at = p->items.text; (at = strstr(at, title)); ++*entries) {
        size_t letters = 0;
        for (at += sizeof title - 1; *at != '\''; at++) letters += (*at & 0xc0) != 0x80;
        if (letters > *longest) *longest = letters;
    }
    size_t above = strlen(p->key_title); /* the key's title begins left of the samples */
    if (*entries && above > *longest + 6) *longest = above - 6;
}

/* small_letter returns the width of a key's small letter, image_across the width of the image: points for a figure,
 * pixels for a screen. */
static double small_letter(void)
{
    return figure_width ? 0.58 * 7.5 : 8.2;
}

static double image_across(void)
{
    return figure_width ? figure_points() : SCREEN_ACROSS;
}

/* Returns the room right of the axes, in letters. */
static size_t letters_beside(const Plot *p)
{
    return (p->guides ? 7 : 0) + p->aside;
}

/* Returns the columns of a key below the axes, each with a sample of six letters; 0: the key stands beside the axes, as
 * it takes less than a third of the width there. Where gnuplot finds no room for so many columns, it makes fewer, and
 * their lines take height from the axes. */
static size_t columns_below(const Plot *p, size_t entries, size_t longest)
{
    double each = ((double)longest + 6) * small_letter(), across = image_across();
    if (entries == 0 || each <= (plot_narrow() ? 0 : figure_width ? 0.3 : 0.33) * across) return 0;
    /* The key is centred on the axes, not on the image: the room left of the axes is lost on the right too. */
    double left = fmax(10 * small_letter(), ((double)p->word + 5) * small_letter());
    left += 0.8 * small_letter() * (double)letters_beside(p);
    return across - left > each ? (size_t)((across - left) / each) : 1;
}

/* Returns the key's height below the axes, in points for a figure, pixels for a screen. */
static double key_height(const Plot *p)
{
    size_t entries, longest;
    count_key(p, &entries, &longest);
    size_t columns = columns_below(p, entries, longest);
    size_t lines = columns ? (entries + columns - 1) / columns : 0;
    double line = figure_width ? 11 : 22;
    return line * (double)(lines + (columns && *p->key_title ? 2 : 0)) + (columns ? 15 : 0);
}

/* Writes the settings of the key. A key "outside right" stands at the edge of the image: far from a plot whose axes
 * have the same unit, and over the words of guides. In these cases it is placed relative to the axes. */
static void write_key(const Plot *p, FILE *f)
{
    size_t entries, longest, beside = letters_beside(p);
    count_key(p, &entries, &longest);
    size_t columns = columns_below(p, entries, longest);
    if (figure_width || columns) fputs("set key samplen 2 font small\n", f);
    if (*p->key_title) { /* below a figure an empty line keeps it off the x label */
        fprintf(f, "set key title %s", columns ? "\"\\n\"." : "");
        plot_put_text(f, p->key_title, '\0');
        fputs(" left font small\n", f);
    }
    if (columns) {
        int wide = (double)(longest + p->word + 16) * small_letter() > image_across();
        fprintf(f, "set key bmargin %s horizontal maxcols %zu height 1.6\n",
                wide ? "right" : "center", columns);
        fputs("set xlabel offset 0,0.3\n", f); /* away from the key */
        if (beside) fprintf(f, "set rmargin %zu\n", beside + 1);
    } else if (beside || p->equal) {
        /* The key stands right of the words of guides, which are some 66 of 900 pixels wide, or 42 points. A letter of
         * a margin has 12 pixels; in print 4.7 points in SVG and 5.8 in Cairo's drawings, whose letters are as wide. */
        size_t room = figure_width ? longest * 14 / 15 + 8 : longest + 8;
        double across = figure_width ? figure_points() - 54 : 800, words = figure_width ? 42 : 66;
        double left = across - (figure_width ? 5.3 : 12) * (double)(room + beside);
        double away = left > 3 * words ? words / left : 0.33;
        if (!p->guides) away = 0.04;
        if (p->guides && !figure_width && away < 0.14) away = 0.14;
        fprintf(f, "set key at graph %.4g,1 left top\nset rmargin %zu\n", 1 + away, room + beside);
    } else if (figure_width) {
        /* gnuplot underestimates the width of SVG's letters by a tenth. */
        fprintf(f, "set key width %zu\n", longest / 8 + 1);
    }
}

void plot_key_title(Plot *p, const char *words)
{
    snprintf(p->key_title, sizeof p->key_title, "%s", words);
}

void plot_level(Plot *p, double y, const char *words)
{
    plot_item(p, NULL, "%.6g with lines notitle lc rgb '#777777' lw 1.5 dt '-'", y);
    plot_setting(p,
                 "set label %s at graph 0.99, first %.6g right offset 0,0.6 noenhanced font small "
                 "textcolor rgb '#555555'",
                 words, y);
}

/* Writes a tic; gnuplot reads its word as a format. */
static void write_tic(Plot *p, const char *tics, size_t at, const char *whole)
{
    char word[PLOT_TIC_BYTES];
    plot_tic_word(whole, word);
    fprintf(p->settings.f, "set %s %sadd (", tics, figure_width ? "font small " : "");
    plot_put_text(p->settings.f, word, '%');
    fprintf(p->settings.f, " %zu) noenhanced\n", at);
}

void plot_tic(Plot *p, size_t y, const char *word)
{
    size_t letters = strlen(word);
    if (letters > PLOT_TIC) letters = PLOT_TIC;
    p->word = letters > p->word ? letters : p->word;
    write_tic(p, "ytics", y, word);
}

void plot_tic_below(Plot *p, size_t x, const char *word)
{
    write_tic(p, "xtics rotate by 90 right", x, word);
}

void plot_count(Plot *p, size_t n)
{
    plot_setting(p, "set xrange [0.7:%zu.3]\nset xtics 1,%zu", n, n / 12 + 1);
}

double plot_step(double span, size_t most)
{
    double least = span / (double)most;
    if (!(least > 0 && isfinite(least))) return NAN;
    double power = pow(10, floor(log10(least))), rest = least / power;
    return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

void plot_few_tics(Plot *p, double span, size_t most)
{
    double step = plot_step(span, most);
    if (!isnan(step)) plot_setting(p, "set xtics %.6g", step);
}

/* Writes a terminal for a kind of image; the script takes the first that its gnuplot knows. */
static void write_terminal(FILE *f, const char *image, const char *terminal, const char *how)
{
    fprintf(
        f,
        "    if (image eq '%s' && !known && can('%s')) {\n        known = 1\n        set terminal %s %s\n    }\n",
        image, terminal, terminal, how);
}

/* Writes the terminals for a screen: a vector and a pixel image of equal proportions. */
static void write_screen(const Plot *p, FILE *f)
{
    char how[256];
    size_t entries, longest, key, height;
    count_key(p, &entries, &longest);
    size_t below = columns_below(p, entries, longest);
    entries += entries && *p->key_title ? 2 : 0;
    key = below ? (size_t)key_height(p) : entries > 16 ? 29 * (entries - 16) : 0;
    height = SCREEN_UP + (key > p->more ? key : p->more);
    snprintf(how, sizeof how,
             "size %d,%zu font 'DejaVu Sans,Verdana,sans-serif,14' background 'white'",
             SCREEN_ACROSS, height);
    write_terminal(f, "svg", "svg", how);
    snprintf(how, sizeof how,
             "size %d,%zu font 'DejaVu Sans,14' fontscale 2 linewidth 2 pointscale 2",
             2 * SCREEN_ACROSS, 2 * height);
    write_terminal(f, "png", "pngcairo", how);
    snprintf(how, sizeof how, "size %d,%zu", SCREEN_ACROSS, height);
    write_terminal(f, "png", "png", how);
}

/* Returns the usual height of a figure, in points. */
static double figure_up(const Plot *p)
{
    return figure_points() * (plot_narrow() ? p->equal ? 0.85 : 0.72 : 0.56);
}

double plot_size(const Plot *p, double *across, double *up)
{
    const double pixels =
        figure_width ? PIXELS : 17; /* for Cairo's letters, which are larger than SVG's */
    *across = figure_width ? figure_points() / PRINT : SCREEN_ACROSS / pixels;
    *up = figure_width ? figure_up(p) / PRINT : SCREEN_UP / pixels;
    return pixels;
}

/* Writes the terminals for a paper, figure_width wide, with letters of PRINT points. A pixel of SVG is 1/96 inch; 300
 * pixels of PNG are an inch; Cairo's terminals draw letters 4/3 of the requested size. */
static void write_paper(const Plot *p, FILE *f)
{
    char how[256];
    double across = figure_points(), up = figure_up(p), dense = 300 / 72.0;
    up += (double)p->more * PRINT / PIXELS + key_height(p);
    snprintf(how, sizeof how,
             "size %.0f,%.0f font 'DejaVu Sans,Verdana,sans-serif,%d' fontscale 1.3333 "
             "linewidth 0.8 background 'white'",
             across * 4 / 3, up * 4 / 3, PRINT);
    write_terminal(f, "svg", "svg", how);
    snprintf(how, sizeof how,
             "size %.0f,%.0f font 'DejaVu Sans,%d' fontscale %.4g linewidth %.4g pointscale %.4g",
             across * dense, up * dense, PRINT, 0.75 * dense, 0.6 * dense, 0.6 * dense);
    write_terminal(f, "png", "pngcairo", how);
    snprintf(how, sizeof how, "size %.0f,%.0f", across * 4 / 3, up * 4 / 3);
    write_terminal(f, "png", "png", how);
    snprintf(how, sizeof how,
             "size %.4gcm,%.4gcm font 'DejaVu Sans,%d' fontscale 0.75 linewidth 1.2 pointscale 0.6",
             (double)figure_width / 10, up * 2.54 / 72, PRINT);
    write_terminal(f, "pdf", "pdfcairo", how);
}

int plot_script(Plot *p, FILE *f)
{
    const char *kinds = figure_width ? "svg png pdf" : "svg png";
    if (p->code != 0) return p->code;
    if (fflush(p->settings.f) != 0 || fflush(p->items.f) != 0) return ERR_MEMORY;
    fprintf(f, "# gnuplot %s.gp, here, draws %s again as %s\n%s", p->name, p->name, kinds,
            p->settings.text);
    write_key(p, f);
    write_axes(p, f);
    write_guides(p, f);
    fprintf(f,
            "can(name) = strstrt(' '.GPVAL_TERMINALS.' ', ' '.name.' ') > 0\n"
            "do for [image in '%s'] {\n    known = 0\n",
            kinds);
    if (figure_width)
        write_paper(p, f);
    else
        write_screen(p, f);
    fprintf(f,
            "    if (known) {\n        set output '%s.'.image\n        plot %s\n"
            "        unset output\n    }\n}\n",
            p->name, p->items.text);
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

/* Warns of a drawing that is cut short, as on a full disk, and removes it: it lacks the last words of its format.
 * gnuplot does not check that its output arrives. Sources: SVG 1.1, section 5.1; PNG (ISO 15948), section 11.2.5. */
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

static void forget_pdf(const Plot *p)
{
    char path[OUTPUT_PATH];
    if (output_path(path, p->dir, "%s.pdf", p->name) == 0) remove(path);
}

/* Checks the PDF, or warns that there is none; gnuplot makes none without the Cairo library. */
static void check_pdf(const Plot *p)
{
    char path[OUTPUT_PATH];
    if (output_path(path, p->dir, "%s.pdf", p->name) != 0) return;
    if (access(path, F_OK) == 0)
        check_drawing(p, "pdf", "%%EOF");
    else
        notice_lacks("%s cannot be made: this gnuplot has no terminal pdfcairo", path);
}

static void draw(const Plot *p)
{
    char script[80];
    snprintf(script, sizeof script, "%s.gp", p->name);
    if (figure_width) forget_pdf(p);
    progress_show("drawing %s", p->name);
    int status = gnuplot_run(p->dir, script);
    progress_clear();
    if (status < 0)
        notice_lacks("gnuplot cannot be run (%s); %s/%s.gp is written, not drawn", strerror(errno),
                     p->dir, p->name);
    else if (status > 0)
        notice_warn("gnuplot failed; 'gnuplot %s.gp' in %s tells why", p->name, p->dir);
    else {
        check_drawing(p, "svg", "</svg>");
        check_drawing(p, "png", "IEND");
        if (figure_width) check_pdf(p);
    }
}

int plot_finish(Plot *p)
{
    int code = save_script(p);
    if (code == 0) draw(p);
    plot_drop(p);
    return code;
}
