/* metric.h: all metrics in one table. Each gives statistics of a line, whose sums give the score of a text.
 *
 *     Statistics s;
 *     TRY(metric_lines(METRIC_BLEU, &options, &hypothesis, reference, 1, &s));
 *     metric_sum(&s, sums);
 *     double score = metric_score(METRIC_BLEU, &options, sums);
 *
 * The score of any lines is that of the sums of their statistics, so resampling does not need the texts
 * (bootstrap.h).
 */
#ifndef TROTTER_METRICS_METRIC_H
#define TROTTER_METRICS_METRIC_H

#include "studies/metrics/bleu.h"
#include "studies/metrics/chrf.h"
#include "studies/metrics/lines.h"
#include "studies/metrics/rouge.h"
#include "studies/metrics/tokenise.h"

enum { METRIC_BLEU, METRIC_CHRF, METRIC_ROUGE_1, METRIC_ROUGE_2, METRIC_ROUGE_L, METRICS };
enum { METRIC_WIDTH = CHRF_STATISTICS }; /* the most statistics of a line that a metric has */

typedef struct {
    int tokenize; /* for BLEU alone; chrF has no words, ROUGE cuts at white space */
    int lowercase;
    int smooth;          /* for BLEU */
    double smooth_value; /* NaN: bleu_smooth_value */
} MetricOptions;

/* Returns its usual name: "BLEU", "chrF2", "ROUGE-1". */
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

/* Returns the score of sums, 0 .. 100; for ROUGE that is F. */
double metric_score(int metric, const MetricOptions *o, const double *sums);

/* Writes how a score was made, in the form of sacreBLEU's signatures:
 * "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:V". It has `resamples` and seed too unless resamples is
 * 0. */
enum { METRIC_SIGNATURE = 256 };
void metric_signature(int metric, const MetricOptions *o, size_t references, size_t resamples,
                      size_t seed, const char *version, char out[METRIC_SIGNATURE]);

#endif
