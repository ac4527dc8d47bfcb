/* metric.h: all metrics behind one table: statistics of each line, whose sums give the score of a text.
 *
 *     Statistics s;
 *     TRY(metric_lines(METRIC_BLEU, &options, &hypothesis, reference, 1, &s));
 *     metric_sum(&s, sums);
 *     double score = metric_score(METRIC_BLEU, &options, sums);
 *
 * A score of any lines is that of the sums of their statistics, so resampling needs the texts no more (bootstrap.h).
 */
#ifndef TROTTER_METRICS_METRIC_H
#define TROTTER_METRICS_METRIC_H

#include "studies/metrics/bleu.h"
#include "studies/metrics/chrf.h"
#include "studies/metrics/lines.h"
#include "studies/metrics/rouge.h"
#include "studies/metrics/tokenise.h"

enum { METRIC_BLEU, METRIC_CHRF, METRIC_ROUGE_1, METRIC_ROUGE_2, METRIC_ROUGE_L, METRICS };
enum { METRIC_WIDTH = CHRF_STATISTICS }; /* the most statistics that a metric has of a line */

typedef struct {
    int tokenize; /* of BLEU alone; chrF has no words, ROUGE cuts at white space */
    int lowercase;
    int smooth;          /* of BLEU */
    double smooth_value; /* NaN: bleu_smooth_value */
} MetricOptions;

/* What people call it: "BLEU", "chrF2", "ROUGE-1". */
const char *metric_name(int metric);

typedef struct {
    size_t lines, width;
    double *x; /* (lines, width) */
} Statistics;

/* Statistics of each line of a hypothesis against the same line of each reference (references >= 1). ERR_INPUT with
 * both counts where two texts have not as many lines; ERR_MEMORY. Caller: metric_free, whatever the code. */
int metric_lines(int metric, const MetricOptions *o, const Lines *hypothesis,
                 const Lines *reference, size_t references, Statistics *out);
void metric_free(Statistics *s);

/* sums (s->width) out: over all lines. */
void metric_sum(const Statistics *s, double *sums);

/* The score of sums, 0 .. 100; of ROUGE it is F. */
double metric_score(int metric, const MetricOptions *o, const double *sums);

/* "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:V": what a score was made with, in the form of sacreBLEU's
 * signatures. `resamples` and seed stand there too unless resamples is 0. */
enum { METRIC_SIGNATURE = 256 };
void metric_signature(int metric, const MetricOptions *o, size_t references, size_t resamples,
                      size_t seed, const char *version, char out[METRIC_SIGNATURE]);

#endif
