/* plot.c: writes gnuplot scripts and runs gnuplot on them (gnuplot.c). */
#include "studies/base/plot/plot_inside.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/plot/gnuplot.h"
#include "studies/base/plot/plot_text.h"
#include "studies/base/frame.h"

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

static void write_frame(Plot *p, const PlotFrame *frame)
{
    fprintf(p->settings.f, "small = '%s'\n", plot_width ? ",7.5" : ",11");
    if (!plot_width) /* the title stands above the whole image, not above the axes */
        plot_setting(p,
                     "set label %s at screen 0.5, screen 1 center offset 0,-1.2 noenhanced font "
                     "',%d'",
                     frame->title, strlen(frame->title) > 70 ? 11 : 15);
    plot_setting(p, "set tmargin %d\nset xlabel %s noenhanced", plot_width ? 1 : 3, frame->x);
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
    frame_close(&p->data);
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

void plot_interval(Plot *p, const char *colour_of_it)
{
    plot_more(p, "with vectors heads nofilled size graph 0.006,90 lw 1.5 lc rgb %s notitle",
              colour_of_it);
}

void plot_note(Plot *p, const char *words)
{
    if (plot_width) return;
    plot_setting(p,
                 "set tmargin 4\nset label %s at screen 0.5, screen 1 center offset 0,-2.8 "
                 "noenhanced font small textcolor rgb '#555555'",
                 words);
}

void plot_below(Plot *p, const char *y, double low, double high)
{
    fflush(p->items.f);
    p->below = p->items.bytes;
    p->count = 0;
    plot_text(y, p->words_below, sizeof p->words_below);
    plot_setting(p, "set xrange [%.15g:%.15g]", low, high);
    if (p->log & PLOT_LOG_X && high > 1e6 * low) plot_setting(p, "unset mxtics");
    plot_taller(p, 180);
}

void plot_next(Plot *p, size_t i)
{
    p->series = i;
}

/* ---- lines in the same place --------------------------------------------------------------------- */

static int is_near(const Line *a, const Line *b, int k, int logarithmic)
{
    for (size_t i = 0; i < a->n; i++) {
        double u = a->at[i][k], v = b->at[i][k];
        if (!isfinite(u) && !isfinite(v)) continue;
        if (!(fabs(u - v) <= (logarithmic ? 0.02 * fabs(u) : 0.003 * a->most[k]))) return 0;
    }
    return a->most[k] > 0;
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

static int is_row(const Frame *c, size_t i, PlotRows r)
{
    return strcmp(frame_cell(c, i, r.key - 1), r.value) == 0 &&
           (r.too == 0 || strcmp(frame_cell(c, i, r.too - 1), r.is) == 0);
}

static int add_point(Line *l, double x, double y)
{
    const double at[2] = {x, y};
    TRY(memory_more(&l->at, l->n, sizeof *l->at));
    for (int k = 0; k < 2; k++) {
        l->at[l->n][k] = at[k];
        if (isfinite(at[k])) l->most[k] = fmax(l->most[k], fabs(at[k]));
    }
    l->n++;
    return 0;
}

static int read_points(const Frame *c, PlotRows rows, int x, int y, Line *l)
{
    for (size_t i = 0; i < c->rows; i++)
        if (is_row(c, i, rows)) {
            if (l->n == 0) l->first = i;
            l->last = i;
            TRY(add_point(l, number_in(frame_cell(c, i, x - 1)),
                          number_in(frame_cell(c, i, y - 1))));
        }
    return 0;
}

/* Reads a file of the plot, once for all its lines. */
static int read_data(Plot *p, const char *data)
{
    char path[OUTPUT_PATH];
    if (strcmp(p->read, data) == 0) return 0;
    frame_close(&p->data);
    *p->read = '\0';
    TRY(output_path(path, p->dir, "%s", data));
    TRY(frame_read(&p->data, path));
    p->data.file = ""; /* path ends here */
    snprintf(p->read, sizeof p->read, "%s", data);
    return 0;
}

static int add_line(Plot *p, const char *data, PlotRows rows, int x, int y)
{
    TRY(read_data(p, data));
    int columns = (int)p->data.columns;
    if (rows.key > columns || rows.too > columns || x > columns || y > columns) return ERR_MISUSE;
    TRY(memory_more(&p->line, p->lines, sizeof *p->line));
    p->line[p->lines] = (Line){0};
    return read_points(&p->data, rows, x, y, &p->line[p->lines++]);
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

/* Begins the item of a line whose rows stand together, as they mostly do, by their numbers: gnuplot then passes over the other
 * rows without looking into them. Returns 0 where they do not. */
static int add_rows(Plot *p, const char *data, int known, int x, int y)
{
    const Line *l = known ? &p->line[p->lines - 1] : NULL;
    if (!l || l->n == 0 || l->last - l->first + 1 != l->n) return 0;
    plot_item(p, data, "every ::%zu::%zu using %d:%d", l->first + 1, l->last + 1, x, y);
    return 1;
}

void plot_series(Plot *p, const char *data, int key, const char *value, int x, int y,
                 const char *title)
{
    int known = plot_over(p, data, (PlotRows){key, value}, x, y);
    if (!add_rows(p, data, known, x, y))
        plot_item(p, data, "using (strcol(%d) eq %s ? $%d : NaN):%d", key, value, x, y);
    name_series(p, title, known);
}

void plot_numbered(Plot *p, const char *data, size_t number, int x, int y, const char *title)
{
    char value[32];
    snprintf(value, sizeof value, "%zu", number);
    int known = plot_over(p, data, (PlotRows){1, value}, x, y);
    if (!add_rows(p, data, known, x, y))
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
            plot_width ? 0.07 : 0.045);
    for (size_t k = 0; k < p->guides; k++) {
        fprintf(f, "end = below(height(%.6g * high_x**%d), end - line)\nset label ", p->guide[k].c,
                p->guide[k].power);
        plot_put_text(f, p->guide[k].words, '\0');
        fputs(" at graph 1, graph end left offset 0.6,0 noenhanced font small textcolor rgb "
              "'#777777'\n",
              f);
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
    fprintf(p->settings.f, "set %s %sadd (", tics, plot_width ? "font small " : "");
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

/* Writes both panels. What the lower one changes, the settings set again for the next image. */
static void write_panels(const Plot *p, FILE *f)
{
    int log = (p->log & PLOT_LOG_X) != 0;
    fprintf(f,
            "set multiplot\nunset label\nunset logscale\nset format y '%%g'\nset yrange [*:*]\n%s",
            p->settings.text);
    plot_write_key(p, f);
    plot_write_panel(p, 0, f);
    fprintf(f, "set format x ''\nset xlabel ' '\nplot %.*s\nunset label\nunset key\n",
            (int)p->below, p->items.text);
    fputs(p->settings.text, f);
    plot_write_panel(p, 1, f);
    fprintf(
        f,
        "unset label\nunset key\nset format x '%s'\nset logscale y 10\nset format y '10^{%%L}'\nset ylabel ",
        log ? "10^{%L}" : "%g");
    plot_put_text(f, p->words_below, '\0');
    fprintf(f, "\nplot %s\nunset multiplot\n", p->items.text + p->below);
}

int plot_script(Plot *p, FILE *f)
{
    const char *kinds = plot_width ? "svg png pdf" : "svg png";
    if (p->code != 0) return p->code;
    if (fflush(p->settings.f) != 0 || fflush(p->items.f) != 0) return ERR_MEMORY;
    fprintf(f, "# gnuplot %s.gp, here, draws %s again as %s\n%s", p->name, p->name, kinds,
            p->settings.text);
    plot_write_key(p, f);
    if (!p->below) write_axes(p, f);
    write_guides(p, f);
    fprintf(f,
            "can(name) = strstrt(' '.GPVAL_TERMINALS.' ', ' '.name.' ') > 0\n"
            "do for [image in '%s'] {\n    known = 0\n",
            kinds);
    plot_write_terminals(p, f);
    fprintf(f, "    if (known) {\n        set output '%s.'.image\n", p->name);
    if (p->below)
        write_panels(p, f);
    else
        fprintf(f, "        plot %s\n", p->items.text);
    fputs("        unset output\n    }\n}\n", f);
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

int plot_finish(Plot *p)
{
    int code = save_script(p);
    if (code == 0) gnuplot_draw(p->dir, p->name, plot_width > 0);
    plot_drop(p);
    return code;
}

int plot_end(Plot *p, int code)
{
    if (code == 0) return plot_finish(p);
    plot_drop(p);
    return code;
}
