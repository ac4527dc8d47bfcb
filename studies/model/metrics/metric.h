/* metric.h: all metrics in one table. Each gives statistics of a line, whose sums give the score of a text.
 *
 *     Statistics s;
 *     TRY(metric_lines(METRIC_BLEU, &options, &hypothesis, reference, 1, &s));
 *     metric_sum(&s, sums);
 *     double score = metric_score(METRIC_BLEU, sums);
 *
 * The score of any lines is that of the sums of their statistics, so resampling does not need the texts
 * (bootstrap.h).
 */
#ifndef TROTTER_METRICS_METRIC_H
#define TROTTER_METRICS_METRIC_H

#include "studies/model/metrics/lines.h"
#include "studies/model/metrics/tokenise.h"

/* ---- bleu.c -------------------------------------------------------------------------------- */

/* Corpus BLEU, with the numbers of sacreBLEU 2.6.
 *
 *   BLEU = BP exp(1/4 sum_(n=1..4) ln p_n),   p_n = 100 matches_n / totals_n
 *   BP   = exp(1 - r / c) where c < r, else 1
 *
 * totals_n counts the n-grams of the hypotheses, and matches_n those of them that a line's references have, clipped. c
 * is the number of words in the hypotheses, and r is the sum over lines of the reference length closest to the
 * hypothesis' (of two as close, the shorter). All are summed over lines before anything is divided: BLEU is not a mean
 * over lines. It is 0 without any matching word, and where an order has no n-gram at all. Source: Papineni, Roukos,
 * Ward, Zhu 2002, section 2; Post 2018.
 *
 * The k-th order without a match has p_n = 100 / (2^k totals_n), sacreBLEU's smoothing exp (Chen and Cherry 2014,
 * section 3, method 3). */

enum { BLEU_ORDERS = 4, BLEU_STATISTICS = 2 + 2 * BLEU_ORDERS };
/* A line's statistics: words of the hypothesis, the closest reference length, matches (4), totals (4). */
enum { BLEU_HYPOTHESIS, BLEU_REFERENCE, BLEU_MATCHES, BLEU_TOTALS = BLEU_MATCHES + BLEU_ORDERS };

/* Writes the statistics of one line, whole numbers, to out (BLEU_STATISTICS). hypothesis and reference are words as
 * numbers; references >= 1. ERR_MEMORY. */
int bleu_line(const Symbols *hypothesis, const Symbols *reference, size_t references, double *out);

typedef struct {
    double score;                  /* 0 .. 100 */
    double precision[BLEU_ORDERS]; /* 0 .. 100, smoothed; 0 where no word matches */
    double brevity;                /* BP */
    double ratio;                  /* c / r; 0 with r = 0 */
    size_t hypothesis, reference;  /* c, r, in words */
} BleuScore;

/* Returns the score of statistics summed over lines, sums (BLEU_STATISTICS). */
BleuScore bleu_score(const double *sums);

/* ---- chrf.c -------------------------------------------------------------------------------- */

/* chrF2 and chrF2++ of a corpus, with the numbers of sacreBLEU 2.6: character n-grams of orders 1 to 6, all white space
 * removed, beta = 2. chrF2++ has word n-grams of orders 1 and 2 too; of a word of several characters that ends in ASCII
 * punctuation, or else begins with it, this character is a word of its own.
 *
 *   P = mean over n of matches_n / hypothesis_n,   R = mean over n of matches_n / reference_n
 *   chrF2 = 100 (1 + beta^2) P R / (beta^2 P + R)
 *
 * The counts are sums over lines, and the means are over those orders that hypotheses and references both have. A
 * line's n-grams of a hypothesis count only where its reference has any of that order. With several references a line
 * takes the first of those whose own score is largest. Source: Popovic 2015 (chrF), 2016 (beta = 2), 2017 (chrF++). */

/* A line's statistics: for each order hypothesis_n, reference_n, matches_n. */
enum { CHRF_HYPOTHESIS, CHRF_REFERENCE, CHRF_MATCHES, CHRF_EACH };
enum {
    CHRF_ORDERS = 6,
    CHRF_WORDS = 2, /* orders of words in chrF2++ */
    CHRF_STATISTICS = CHRF_EACH * CHRF_ORDERS,
    CHRF_WORDS_STATISTICS = CHRF_EACH * (CHRF_ORDERS + CHRF_WORDS)
};

/* Writes the statistics of one line, whole numbers, to out (CHRF_STATISTICS). The first of `character` (texts) is the
 * hypothesis, the others are references, in characters without white space; `word` (texts) has the same lines in words,
 * for chrF2++ and out (CHRF_WORDS_STATISTICS), or is NULL. ERR_MEMORY. */
int chrf_line(const Symbols *character, const Symbols *word, size_t texts, double *out);

/* Returns the score, 0 .. 100, of statistics summed over lines, sums. words: 0 for chrF2, CHRF_WORDS for chrF2++. */
double chrf_score(const double *sums, size_t words);

/* ---- ter.c --------------------------------------------------------------------------------- */

/* Translation edit rate of a corpus, with the numbers of sacreBLEU 2.6 as it is used by default: words are cut at white
 * space and lower-cased, and nothing else is normalised.
 *
 *   TER = 100 edits / words of the references
 *
 * An edit is a word that is inserted, deleted or replaced, or a run of words that moves to another place; less is
 * better, and more than 100 is possible. With several references a line has the fewest edits over them and the mean of
 * their lengths. Source: Snover, Dorr, Schwartz, Micciulla, Makhoul 2006, section 3. */
enum { TER_EDITS, TER_LENGTH, TER_STATISTICS };

/* Writes the statistics of one line to out (TER_STATISTICS); words are numbers. ERR_MEMORY. */
int ter_line(const Symbols *hypothesis, const Symbols *reference, size_t references, double *out);

/* Returns the score of statistics summed over lines, sums (TER_STATISTICS); 100 without a word in the references. */
double ter_score(const double *sums);

/* ---- metric.c ------------------------------------------------------------------------------ */

enum { METRIC_BLEU, METRIC_CHRF, METRIC_CHRF_WORDS, METRIC_TER, METRICS };
#define METRIC_NAMES "bleu|chrf|chrf++|ter"    /* as options have them, in this order */
enum { METRIC_WIDTH = CHRF_WORDS_STATISTICS }; /* the most statistics of a line that a metric has */

typedef struct {
    int tokenize;  /* for BLEU alone; the others cut at white space */
    int lowercase; /* TER is lower-cased always */
} MetricOptions;

/* Returns its usual name: "BLEU", "chrF2", "chrF2++", "TER". */
const char *metric_name(int metric);

typedef struct {
    size_t lines, width;
    double *x; /* (lines, width) */
} Statistics;

/* Computes the statistics of each line of a hypothesis against the same line of each reference (references >= 1).
 * ERR_INPUT with both counts where two texts do not have the same number of lines; ERR_MEMORY. Caller: metric_free,
 * whatever the code. */
int metric_lines(int metric, const MetricOptions *o, const Lines *hypothesis,
                 const Lines *reference, size_t references, Statistics *out);
void metric_free(Statistics *s);

/* Sums the statistics over all lines; sums (s->width) out. */
void metric_sum(const Statistics *s, double *sums);

/* Returns the score of sums, 0 .. 100, TER's above it too. */
double metric_score(int metric, const double *sums);

/* Writes how a score was made, in the form of sacreBLEU's signatures:
 * "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:V". It has `resamples` and seed too unless resamples is 0. */
enum { METRIC_SIGNATURE = 256 };
void metric_signature(int metric, const MetricOptions *o, size_t references, size_t resamples,
                      size_t seed, const char *version, char out[METRIC_SIGNATURE]);

#endif
