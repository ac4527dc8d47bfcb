/* differences.h: what tables of differences of designs share: words on the seeds behind them, differences of pairs of
 * designs, and contrasts as people write them. The numbers are those of statistics.h and simultaneous.h.
 */
#ifndef TROTTER_DIFFERENCES_H
#define TROTTER_DIFFERENCES_H

#include <stdio.h>

#include "studies/base/statistics/simultaneous.h"

/* Returns a - b with the interval and the p of s, which belongs to the same pooled standard deviation. */
Difference differences_pair(const Simultaneous *s, const Pooled *pooled, const Interval *a,
                            const Interval *b);

/* Reads a contrast of designs (n), as "heun fgfg2 - looped:2 transformer" or "order: heun + fgfg2 - looped:2 -
 * transformer": the mean of those behind a '+' or the beginning less the mean of those behind a '-'. Names, + and - stand
 * between blanks; a name with blanks stands in double quotes. Words before a first ": " are the contrast's own name.
 * weight (n) out: 1 / count, -1 / count, 0 for others. find returns a design's index in `of`, or n where it is none.
 * ERR_INPUT with words that begin with `where`. */
typedef size_t DifferencesFind(const void *of, const char *name);
int differences_contrast(const char *where, const char *text, DifferencesFind *find, const void *of,
                         size_t n, double *weight);

/* Prints what the runs on one text ("validation") show about seeds: their standard deviation (with so many places),
 * whether they are paired, and their correlation. The next line has the least and the largest standard deviation of a
 * design, and whether one for all is tenable. */
void differences_seeds(const Seeds *s, const char *text, int places, FILE *f);
int differences_doubtful(const Seeds *s); /* 1: one for all is not tenable (p < .05) */

#endif
