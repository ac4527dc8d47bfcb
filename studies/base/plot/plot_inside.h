/* plot_inside.h: what a plot holds, for plot.c and plot_key.c alone. */
#ifndef TROTTER_PLOT_INSIDE_H
#define TROTTER_PLOT_INSIDE_H

#include "studies/base/plot/plot.h"
#include "studies/base/frame.h"
#include "studies/base/output.h"

enum { GUIDES_MAX = 16 };

typedef struct {
    double c, y; /* c x^power ends at y, or where the axis does */
    int power;
    char words[64];
} Guide;

/* The points of a series, to compare it with the next ones, and where they stand among the rows of the file. */
typedef struct {
    double (*at)[2]; /* (n) */
    size_t n;
    double most[2];     /* the greatest finite moduli */
    size_t first, last; /* rows */
} Line;

struct Plot {
    char dir[OUTPUT_PATH], name[64];
    Output settings, items;
    size_t series, count; /* lines of points; items of the plot command */
    size_t item;          /* where the last one begins in its text */
    Frame data;           /* the file of the last line that was read, of this name */
    char read[64];
    Line *line;         /* (lines) */
    size_t lines, over; /* over: earlier lines in the place of the next item */
    size_t last_over;   /* of the last item */
    double top;         /* of the y axis */
    int code;           /* why lines could not be read: ERR_MEMORY */
    size_t more;        /* extra height of the vector image */
    size_t below; /* where the items of the lower panel begin in their text; 0: there is none */
    char words_below[64]; /* of its y axis */
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
extern size_t plot_width;

/* Writes the settings of the key. */
void plot_write_key(const Plot *p, FILE *f);
/* Writes where one of two panels stands: the lower one or the other. */
void plot_write_panel(const Plot *p, int lower, FILE *f);
/* Writes the terminals, of which a script's loop over `image` takes one. */
void plot_write_terminals(const Plot *p, FILE *f);

#endif
