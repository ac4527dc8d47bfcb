/* plot.h: plots by gnuplot. The script stays beside the data, so that a figure can be drawn again or
 * changed by hand: `gnuplot NAME.gp` in the directory reads the CSV there and writes NAME.svg and
 * NAME.png. Where gnuplot is missing or fails there is a warning; data and script are still written.
 *
 * Series tell themselves apart by colour (Okabe, Ito 2008: seen by the colour-blind too), dash and
 * point type together. Text is literal: names with '_', ':' or '^' stay as they are.
 */
#ifndef TROTTER_PLOT_H
#define TROTTER_PLOT_H

#include <stddef.h>

enum { PLOT_LOG_X = 1, PLOT_LOG_Y = 2, PLOT_HALVINGS = 4 /* x in powers of two */ };

typedef struct {
    const char *name; /* of the files */
    const char *title, *x, *y;
    int flags;
} PlotFrame;

typedef struct Plot Plot;

/* Begins DIR/NAME.gp. Caller ends it by plot_finish or plot_drop. */
int plot_new(const char *dir, const PlotFrame *frame, Plot **out);

/* A line of points: columns x, y (from 1) of a CSV file in DIR, its rows whose column `key` is
 * `value` (key 0: all rows). */
void plot_series(Plot *p, const char *data, int key, const char *value, int x, int y,
                 const char *title);
/* The curve c x^power, a guide to read slopes by, with words beside the end x of a logarithmic plot;
 * words of guides that end close together are set apart. */
void plot_guide(Plot *p, double c, int power, double x, const char *words);
/* A level line across the plot, its words above its right end. */
void plot_level(Plot *p, double y, const char *words);
/* Whole numbers 1 .. n on the x axis, as many as fit. */
void plot_count(Plot *p, size_t n);

/* Room for more than usual: so many more pixels of height. */
void plot_taller(Plot *p, size_t pixels);

/* Lines of gnuplot of one's own: before the plot command (settings), or as items of it. */
void plot_setting(Plot *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void plot_item(Plot *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "lc rgb '#0072b2' lw 2 dt 1 pt 7 ps 1" of the i-th series; its colour and its point type alone. */
void plot_style(size_t i, char out[96]);
const char *plot_colour(size_t i);
int plot_point(size_t i);
/* text as a gnuplot string in single quotes. */
void plot_quote(const char *text, char *out, size_t bytes);

/* Writes the script and runs gnuplot; frees the plot in any case. Without gnuplot, and where a drawing cannot be
 * written whole (it is removed), a warning. */
int plot_finish(Plot *p);
void plot_drop(Plot *p);

#endif
