/* plot_text.h: how texts get into a gnuplot script, for plot.c alone. Every text goes through one of these three. */
#ifndef TROTTER_PLOT_TEXT_H
#define TROTTER_PLOT_TEXT_H

#include <stdarg.h>
#include <stdio.h>

/* Writes text as a gnuplot string, in its quotes. twice: a character that is doubled, or '\0'. */
void plot_put_text(FILE *f, const char *text, char twice);
/* Writes the name of a file in the script's directory as a string. It keeps gnuplot from reading it as '< command',
 * '-', '+' or '~'. */
void plot_put_file(FILE *f, const char *name);
/* Works as vfprintf with the conversions of plot_item (plot.h): %s is quoted. */
void plot_put_format(FILE *f, const char *format, va_list args);

enum {
    PLOT_TIC = 48,
    PLOT_TIC_BYTES = 4 * PLOT_TIC
}; /* letters of a tic's word, and room for it */
/* Copies a word for a tic, cut where it is too long for the margin. gnuplot measures tics as marked up text, in which a
 * backslash is a fault, so another sign stands for it. */
void plot_tic_word(const char *word, char out[PLOT_TIC_BYTES]);

#endif
