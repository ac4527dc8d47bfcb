/* plot.h: plots by gnuplot. The script stays beside the data, so that a figure can be drawn again or
 * changed by hand: `gnuplot NAME.gp` in the directory reads the CSV there and writes NAME.svg and
 * NAME.png. Where gnuplot is missing or fails there is a warning; data and script are still written.
 *
 * Series differ in colour (Okabe, Ito 2008: the colour-blind can distinguish them too), dash and point type together.
 *
 * A gnuplot script can run any command, and names come from strangers' files. So a script consists of literals of this
 * program, numbers, and texts that plot_text.c quotes: no function here takes a fragment of gnuplot at run time. Texts
 * appear as they are ('_', ':' and '^' too), but plot_text replaces some characters, and typographic quotes stand in
 * place of ' and `.
 */
#ifndef TROTTER_PLOT_H
#define TROTTER_PLOT_H

#include <stddef.h>
#include <stdio.h>

enum {
    PLOT_LOG_X = 1, /* logarithmic axes end a margin beyond what is drawn */
    PLOT_LOG_Y = 2,
    PLOT_HALVINGS = 4 /* x in powers of two */,
    PLOT_EQUAL = 8 /* the same unit on both axes */
};

typedef struct {
    const char *name; /* of the files */
    const char *title, *x, *y;
    int flags;
} PlotFrame;

typedef struct Plot Plot;

/* A row of a command's options. plot_figure applies its value: from then on plots are for papers, that many mm wide,
 * without title, with letters of 7.2 points or more, and written as NAME.pdf too; NULL: they are for screens. */
#define PLOT_FIGURE                                                                                    \
    {                                                                                                  \
        "figure", OPTION_CHOICE, NULL, "84|174",                                                       \
            "make the plots of --out for a paper: this many mm wide, without title, and also as .pdf", \
            .needs = "out"                                                                             \
    }
void plot_figure(const char *millimetres);
int plot_titled(void); /* 1: plots are for a screen, with a title */
int plot_narrow(void); /* 1: plots have a paper column's width, where words take more of it */

/* Begins DIR/NAME.gp. The caller ends it by plot_finish or plot_drop. The name is 1 to 60 letters, digits, - _ . +, the
 * first a letter or digit; else ERR_MISUSE. */
int plot_new(const char *dir, const PlotFrame *frame, Plot **out);

/* Puts the items that follow into a panel of their own, under the first: its y axis is logarithmic and has these words. Both
 * panels have the x axis from low to high, which is logarithmic where the frame says so; the frame's y axis is not. The items below have
 * no title, as the key stands above both. */
void plot_below(Plot *p, const char *y, double low, double high);

/* The rows of a CSV file whose column `key` (from 1) is `value`, and whose column `too` is `is`; too 0: `key` alone. */
typedef struct {
    int key;
    const char *value;
    int too;
    const char *is;
} PlotRows;

/* Adds a line of points: columns x, y (from 1) of a CSV file in DIR, in the rows whose column `key` is `value`. gnuplot
 * cuts a quoted cell at a comma or quote, so a value has neither (a scheme's name has not). */
void plot_series(Plot *p, const char *data, int key, const char *value, int x, int y,
                 const char *title);
/* Does the same for rows whose first column is `number`; the title may be any text. gnuplot miscounts the columns
 * behind a cell that holds quotes, so columns of text come last in such a file. */
void plot_numbered(Plot *p, const char *data, size_t number, int x, int y, const char *title);
/* Both read the file, where it is there. A series that no point of the plot shows is not in the key, or has "(diverges)"
 * there, as its numbers are infinite or above plot_top. A series in the place of an earlier one has gaps and smaller
 * marks, through which that one shows. plot_over does this for the next item, a line drawn by plot_item and plot_style;
 * it returns 1 where the line was read. plot_over_key then gives an entry of the key the same look. */
int plot_over(Plot *p, const char *data, PlotRows rows, int x, int y);
void plot_over_key(Plot *p);
/* Ends the y axis at y, greater numbers are not drawn: at most there and at the data, or, low above 0, from low to there.
 * It comes before the series. */
void plot_top(Plot *p, double low, double y);
/* plot_next gives the next line of points the look of the i-th; without it a line has the look after the last one's.
 * plot_again returns the index of the look of the i-th of n lines, drawn again for the k-th time from 0: the same
 * colour with another dash and another mark. */
void plot_next(Plot *p, size_t i);
size_t plot_again(size_t i, size_t n, size_t k);
/* Adds the curve c x^power, a guide to read slopes by, with words beside the end x of a logarithmic plot. Words of
 * guides that end close together are set apart. */
void plot_guide(Plot *p, double c, int power, double x, const char *words);
/* Adds a level line across the plot, with its words above its right end. */
void plot_level(Plot *p, double y, const char *words);
/* Returns the least number of the form 1, 2 or 5 times a power of ten that fits into the span at most `most` times;
 * NaN: the span is not above 0. */
double plot_step(double span, size_t most);
/* Puts few tics, in such steps, on a linear x axis whose numbers would run together. */
void plot_few_tics(Plot *p, double span, size_t most);
/* Puts words above the key. */
void plot_key_title(Plot *p, const char *words);
/* plot_tic puts a word on the y axis; plot_tic_below puts one on the x axis, upright. */
void plot_tic(Plot *p, size_t y, const char *word);
void plot_tic_below(Plot *p, size_t x, const char *word);

/* Gives the usual size of a plot, in lines of small letters. Returns the pixels of such a line, for plot_taller. */
double plot_size(const Plot *p, double *across, double *up);
/* Make room for more than usual: plot_taller adds pixels of height (the key has its own height), plot_aside letters to
 * the right of the axes. */
void plot_taller(Plot *p, size_t pixels);
void plot_aside(Plot *p, size_t letters);
/* Adds a smaller line under the title. */
void plot_note(Plot *p, const char *words);

/* These add the caller's lines of gnuplot: settings, which come before the plot command; items of it; more words for
 * the last item. An item reads `data`, a file in DIR, or with NULL what its words say. The format is a literal
 * (anything else does not compile). It knows %d, %zu, %g with flags and precision, %% and %s, which writes the text as
 * a quoted gnuplot string. */
#define plot_setting(p, ...) plot_add_setting(p, "" __VA_ARGS__)
#define plot_item(p, data, ...) plot_add_item(p, data, "" __VA_ARGS__)
#define plot_more(p, ...) plot_add_words(p, "" __VA_ARGS__)
/* The three names above call these; use those names. */
void plot_add_setting(Plot *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
void plot_add_item(Plot *p, const char *data, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void plot_add_words(Plot *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds the look of the i-th series to the last item: " lc rgb '#0072b2' lw 2 dt 1 pt 7 ps 1". */
void plot_style(Plot *p, size_t i);
const char *plot_colour(size_t i);
/* Adds "with lines" to the last item, or "with points" where there is only one point, which makes no line. */
void plot_lines(Plot *p, size_t points);
/* Draws the last item as an interval. Its columns are x, y, and the distances along x and y from there to its other
 * end. */
void plot_interval(Plot *p, const char *colour);
int plot_point(size_t i);

/* Returns the last part of a path, for titles: "ptb" for "/data/ptb" and for "data/ptb/"; words behind it stay. */
const char *plot_folder(const char *path);

/* Writes to out the text as it can be shown. U+FFFD stands in place of each control character, separator of lines or
 * paragraphs, mark of writing direction, and byte that is not UTF-8. The text is cut at a character where out is too
 * small. Plots call it themselves. */
void plot_text(const char *text, char *out, size_t bytes);

/* Writes the script as it is so far. */
int plot_script(Plot *p, FILE *f);
/* Writes the script and runs gnuplot; frees the plot in any case. Warns without gnuplot, and where a drawing cannot be
 * written whole (that drawing is removed). */
int plot_finish(Plot *p);
/* Finishes it where code is 0, else drops it. Returns code, or that of finishing. */
int plot_end(Plot *p, int code);
void plot_drop(Plot *p);

#endif
