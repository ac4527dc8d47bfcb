/* gnuplot.h: runs a script by gnuplot, which may draw but start nothing. */
#ifndef TROTTER_GNUPLOT_H
#define TROTTER_GNUPLOT_H

/* Runs `gnuplot SCRIPT` in DIR, without the user's start-up files. Returns its exit status (128: killed), or
 * -1 with errno where it cannot be run. Its `system`, `!`, pipes and backquotes fail, as it can start nothing
 * (studies/base/process/sealed.h). It may still read and write files. That is a second wall. The first is that plot.c quotes every text, which also protects a user who runs the script by
 * hand. */
int gnuplot_run(const char *dir, const char *script);

/* Draws DIR/NAME.gp, with a PDF where asked for. Warns without gnuplot, and where a drawing cannot be written whole (that
 * drawing is removed). */
void gnuplot_draw(const char *dir, const char *name, int pdf);

#endif
