/* agreement.h: how well predictions agree with gold labels, as GLUE measures it.
 *
 * Of n examples with predictions p_i and gold labels g_i:
 *
 *   accuracy   #{ i : p_i = g_i } / n
 *   F1         2 TP / (2 TP + FP + FN) of class 1, for two classes alone
 *   Matthews   (n c - sum_k a_k b_k) / sqrt((n^2 - sum_k a_k^2) (n^2 - sum_k b_k^2)), with c right predictions, class k
 *              predicted a_k times and gold b_k times; for two classes this is
 *              (TP TN - FP FN) / sqrt((TP + FP) (TP + FN) (TN + FP) (TN + FN))
 *   Pearson    sum (p_i - mean p) (g_i - mean g) / sqrt(sum (p_i - mean p)^2 sum (g_i - mean g)^2), of values
 *   Spearman   Pearson of ranks, equal values having their mean rank
 *
 * Scores are fractions, -1 .. 1; GLUE prints them times 100. 0 / 0 is 0 in all of them: F1 where class 1 is neither
 * predicted nor gold; Matthews where all predictions, or all gold labels, are of one class (a row or a column of the
 * table of two classes is empty), as in scikit-learn; Pearson and Spearman where all p_i or all g_i are the same
 * number, where SciPy gives NaN. A system that always gives the same answer has learned nothing, which 0 expresses, and
 * a mean over seeds stays a number. A score is NaN where a value is not finite, and where Pearson's squares leave the
 * range of a double.
 *
 * Source: Wang et al. 2019 (GLUE), section 3; Matthews 1975; Gorodkin 2004, equation 8, for any number of classes; van
 * Rijsbergen 1979, chapter 7; Pearson 1895; Spearman 1904. Correlations are GSL's.
 */
#ifndef TROTTER_METRICS_AGREEMENT_H
#define TROTTER_METRICS_AGREEMENT_H

#include "studies/model/metrics/bootstrap.h"

/* A system's answers for n >= 1 examples, or the right ones: classes or values, as the metric needs. Borrowed. */
typedef struct {
    size_t n;
    const int32_t *label; /* (n), >= 0 */
    const double *value;  /* (n) */
} Answers;

enum {
    AGREEMENT_ACCURACY,
    AGREEMENT_F1,
    AGREEMENT_MATTHEWS,
    AGREEMENT_PEARSON,
    AGREEMENT_SPEARMAN,
    AGREEMENTS
};

enum { ANSWERS_CLASSES, ANSWERS_TWO_CLASSES, ANSWERS_VALUES };

typedef struct {
    const char *name;  /* of options and columns: "matthews" */
    const char *title; /* for people: "Matthews correlation" */
    int of;            /* ANSWERS_... */
    int (*score)(const Answers *prediction, const Answers *gold, double *out); /* ERR_MEMORY */
} Agreement;

extern const Agreement agreements[AGREEMENTS];

/* Returns the metric of a name, or -1. */
int agreement_find(const char *name);

/* Returns ERR_INPUT where the metric does not fit labels of so many classes; 0 classes: values. */
int agreement_fits(int metric, size_t classes);

/* Computes a score; ERR_MEMORY. */
int agreement_score(int metric, const Answers *prediction, const Answers *gold, double *out);

/* Computes scores with intervals over examples, and differences from the first system on the same draws, as
 * bootstrap_scores does. run (all runs): predictions, each for as many examples as gold has. runs, systems, resamples,
 * seed and out are as there. */
int agreement_bootstrap(int metric, const Answers *gold, const Answers *run, const size_t *runs,
                        size_t systems, size_t resamples, uint64_t seed, Resampled *out);

#endif
