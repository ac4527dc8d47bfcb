/* plot_text.h: how texts get into a gnuplot script, for plot.c alone. No text gets there but through these three. */
#ifndef TROTTER_PLOT_TEXT_H
#define TROTTER_PLOT_TEXT_H

#include <stdarg.h>
#include <stdio.h>

/* text as a gnuplot string, in its quotes. twice: a character to be doubled, or '\0'. */
void plot_put_text(FILE *f, const char *text, char twice);
/* A file of the script's directory, as a string: gnuplot reads '< command', '-', '+' and '~' otherwise. */
void plot_put_file(FILE *f, const char *name);
/* vfprintf with the conversions of plot_item (plot.h): %s is quoted. */
void plot_put_format(FILE *f, const char *format, va_list args);

#endif
