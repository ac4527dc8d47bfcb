/* differences.h: what tables of differences of designs share: words on the seeds behind them, and the rows of all
 * pairs of designs. The numbers are those of statistics.h and simultaneous.h.
 */
#ifndef TROTTER_DIFFERENCES_H
#define TROTTER_DIFFERENCES_H

#include <stdio.h>

#include "studies/tools/simultaneous.h"

/* The columns of a pair of designs, of a record whose differences on validation and test text are `valid` and `test`
 * (sheet.h). together: what is said of p. */
#define DIFFERENCES_PAIR(Record, together)                                                         \
    FIELD(Record, "valid_diff", valid.mean, .form = SHEET_FIXED, .digits = 2,                      \
          .low = "valid_diff_tukey_low", .high = "valid_diff_tukey_high", .head = "valid diff",    \
          .words = "difference of validation perplexities"),                                       \
        FIELD(Record, "valid_diff_tukey_low", valid.low, .form = SHEET_FIXED, .digits = 2,         \
              .head = "from"),                                                                     \
        FIELD(Record, "valid_diff_tukey_high", valid.high, .form = SHEET_FIXED, .digits = 2,       \
              .head = "to"),                                                                       \
        FIELD(Record, "valid_diff_tukey_p", valid.p, .digits = 2, .head = "p", .words = together), \
        FIELD(Record, "test_diff", test.mean, .form = SHEET_FIXED, .digits = 2,                    \
              .low = "test_diff_tukey_low", .high = "test_diff_tukey_high", .head = "test diff",   \
              .words = "difference of test perplexities"),                                         \
        FIELD(Record, "test_diff_tukey_low", test.low, .form = SHEET_FIXED, .digits = 2,           \
              .head = "from"),                                                                     \
        FIELD(Record, "test_diff_tukey_high", test.high, .form = SHEET_FIXED, .digits = 2,         \
              .head = "to"),                                                                       \
        FIELD(Record, "test_diff_tukey_p", test.p, .digits = 2, .head = "p", .words = together)

/* Returns a - b with the interval and the p of s, which belongs to the same pooled standard deviation. */
Difference differences_pair(const Simultaneous *s, const Pooled *pooled, const Interval *a,
                            const Interval *b);

/* Prints a line on what the runs on one text ("validation") show about seeds: their standard deviation, whether they are
 * paired, and their correlation. shared: what a table with missing runs tells of it, on a second line. */
void differences_seeds(const Seeds *s, const SharedSeeds *shared, const char *text, FILE *f);

#endif
