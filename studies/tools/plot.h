/* plot.h: plots by gnuplot. The script stays beside the data, so that a figure can be drawn again or
 * changed by hand: `gnuplot NAME.gp` in the directory reads the CSV there and writes NAME.svg and
 * NAME.png. Where gnuplot is missing or fails there is a warning; data and script are still written.
 *
 * Series tell themselves apart by colour (Okabe, Ito 2008: seen by the colour-blind too), dash and
 * point type together.
 *
 * A gnuplot script can run any command, and names come from strangers' files. So a script consists of
 * literals of this program, numbers, and texts that plot_text.c quotes: no function here takes a fragment of
 * gnuplot at run time. Texts appear as they are ('_', ':' and '^' too), but for what plot_text
 * changes, and ' and `, in whose place typographic quotes stand.
 */
#ifndef TROTTER_PLOT_H
#define TROTTER_PLOT_H

#include <stddef.h>
#include <stdio.h>

enum {
    PLOT_LOG_X = 1,
    PLOT_LOG_Y = 2,
    PLOT_HALVINGS = 4 /* x in powers of two */,
    PLOT_EQUAL = 8 /* one unit on both */
};

typedef struct {
    const char *name; /* of the files */
    const char *title, *x, *y;
    int flags;
} PlotFrame;

typedef struct Plot Plot;

/* A row of a command's options, and what its value does: from now on plots are for papers, so many mm wide, without
 * title, with letters of 7.2 points or more, and as NAME.pdf too; NULL: they are for screens. */
#define PLOT_FIGURE                                                                                 \
    {                                                                                               \
        "figure", OPTION_CHOICE, NULL, "84|174",                                                    \
            "make the plots of --out for a paper: so many mm wide, without title, and as .pdf too", \
            0, 0                                                                                    \
    }
void plot_figure(const char *millimetres);
int plot_titled(void); /* 1: they are for a screen, with a title */
int plot_narrow(void); /* 1: they are of a paper's column, where words take more of the width */

/* Begins DIR/NAME.gp. Caller ends it by plot_finish or plot_drop. ERR_MISUSE where the name is not one to
 * 60 letters, digits, - _ . +, the first a letter or digit. */
int plot_new(const char *dir, const PlotFrame *frame, Plot **out);

/* A line of points: columns x, y (from 1) of a CSV file in DIR, its rows whose column `key` is `value`.
 * gnuplot cuts a quoted cell at a comma or quote, so a value has neither (a scheme's name has not). */
void plot_series(Plot *p, const char *data, int key, const char *value, int x, int y,
                 const char *title);
/* The same for rows whose first column is `number`: for titles of any text. gnuplot loses count of the columns
 * behind a cell that holds quotes, so columns of text come last in such a file. */
void plot_numbered(Plot *p, const char *data, size_t number, int x, int y, const char *title);
/* The next line of points looks as the i-th; without this the one behind the last. plot_again: the i-th of n, once more,
 * for the k-th time from 0: of the same colour, dashed otherwise, with another mark. */
void plot_next(Plot *p, size_t i);
size_t plot_again(size_t i, size_t n, size_t k);
/* The curve c x^power, a guide to read slopes by, with words beside the end x of a logarithmic plot;
 * words of guides that end close together are set apart. */
void plot_guide(Plot *p, double c, int power, double x, const char *words);
/* A level line across the plot, its words above its right end. */
void plot_level(Plot *p, double y, const char *words);
/* Whole numbers 1 .. n on the x axis, as many as fit. */
void plot_count(Plot *p, size_t n);
/* 1, 2 or 5 times a power of ten, the least of which `most` or fewer go into a span; NaN: the span is not above 0. */
double plot_step(double span, size_t most);
/* Few tics on a linear x axis whose numbers would run together, in such steps. */
void plot_few_tics(Plot *p, double span, size_t most);
/* Words above the key. */
void plot_key_title(Plot *p, const char *words);
/* A word on the y axis; one on the x axis, upright. */
void plot_tic(Plot *p, size_t y, const char *word);
void plot_tic_below(Plot *p, size_t x, const char *word);

/* The usual size, in lines of small letters; gives the pixels of such a line, for plot_taller. */
double plot_size(const Plot *p, double *across, double *up);
/* Room for more than usual: so many more pixels of height (the key's own is there); so many letters right of the
 * axes. */
void plot_taller(Plot *p, size_t pixels);
void plot_aside(Plot *p, size_t letters);
/* A smaller line under the title. */
void plot_note(Plot *p, const char *words);

/* Lines of gnuplot of one's own: settings, which come before the plot command; items of it; more words for the
 * last item. An item reads `data`, a file in DIR, or where that is NULL what its words say. The format is a
 * literal (anything else does not compile); it knows %d, %zu, %g with flags and precision, %% and %s, which
 * writes the text as a quoted gnuplot string. */
#define plot_setting(p, ...) plot_add_setting(p, "" __VA_ARGS__)
#define plot_item(p, data, ...) plot_add_item(p, data, "" __VA_ARGS__)
#define plot_more(p, ...) plot_add_words(p, "" __VA_ARGS__)
/* Those three end here; use the names above. */
void plot_add_setting(Plot *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void plot_add_item(Plot *p, const char *data, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void plot_add_words(Plot *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds the look of the i-th series to the last item: " lc rgb '#0072b2' lw 2 dt 1 pt 7 ps 1". */
void plot_style(Plot *p, size_t i);
const char *plot_colour(size_t i);
/* Adds "with lines" to the last item, or where there is but one point, which is no line, "with points". */
void plot_lines(Plot *p, size_t points);
/* Makes an interval of the last item, whose columns are x, y, and the way from there to its other end along both. */
void plot_interval(Plot *p, const char *colour, double wide);
int plot_point(size_t i);
int plot_open(size_t i); /* the same mark, but that what is below is seen */

/* The last part of a path, for titles: "ptb" of "/data/ptb" and of "data/ptb/"; words behind it stay. */
const char *plot_folder(const char *path);

/* text that can be shown, cut at a character where out is too small: U+FFFD stands in place of each control
 * character, separator of lines or paragraphs, mark of writing direction, and byte that is not UTF-8. Plots do
 * this by themselves. */
void plot_text(const char *text, char *out, size_t bytes);

/* The script, as it stands. */
int plot_script(Plot *p, FILE *f);
/* Writes the script and runs gnuplot; frees the plot in any case. Without gnuplot, and where a drawing cannot be
 * written whole (it is removed), a warning. */
int plot_finish(Plot *p);
void plot_drop(Plot *p);

#endif
