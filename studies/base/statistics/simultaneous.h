/* simultaneous.h: intervals for many differences together. If each of twelve differences has a 95 % interval for itself
 * and all true differences are 0, then in about a third of all studies at least one interval leaves out 0. These
 * intervals hold all true differences of a table together in 95 of 100 studies, and p is corrected likewise: p < .05
 * where the interval leaves out 0.
 *
 * The differences have one standard deviation s with df degrees of freedom (Pooled of statistics.h), t = difference /
 * (s sqrt(1 / n_a + 1 / n_b)), and S = sqrt(chi^2_df / df) is independent of the means:
 *
 *   Dunnett   designs i = 1 .. k, each less the baseline. Corr(t_i, t_j) = l_i l_j, l_i = sqrt(n_i / (n_i + n_0)), so
 *             P(all |t_i| < t) = E_S int phi(z) prod_i [Phi((l_i z + t S) / r_i) - Phi((l_i z - t S) / r_i)] dz,
 *             r_i = sqrt(1 - l_i^2). Exact for unequal n_i. Source: Dunnett 1955, equation (2.1), and 1964;
 *             Genz, Bretz 2009, Computation of Multivariate Normal and t Probabilities, section 2.2.
 *   Tukey     all pairs of k designs: P(all |t_ij| < t) = E_S k int phi(z) [Phi(z) - Phi(z - sqrt(2) t S)]^(k-1) dz, the
 *             studentized range. Exact for equal n_i; else more than 95 of 100 (Tukey, Kramer 1956; Hayter 1984).
 *             Source: Copenhaver, Holland 1988.
 *
 * Both integrals are sums of the trapezoidal rule, over z and over log S, whose error for such functions falls
 * exponentially with the step; upper tails are summed themselves, so that a p of 1e-12 has its digits.
 */
#ifndef TROTTER_SIMULTANEOUS_H
#define TROTTER_SIMULTANEOUS_H

#include "studies/base/statistics/statistics.h"

typedef struct {
    double df;
    /* t with P(any |t_i| >= t) = .05; NaN without a degree of freedom or without a comparison */
    double critical;
    size_t designs; /* k of all pairs; 0: with a baseline */
    /* Tails of the range where they have been asked for: those of two differences are sums over the same places; NaN: not yet */
    double *range;
    /* With a baseline, comparisons of equal l: */
    size_t groups;
    double *loading, *count; /* (groups) */
} Simultaneous;

/* Fills *out for runs (n), the n_i of each design, and base, n_0. Designs without a run are not counted. ERR_MEMORY.
 * simultaneous_free frees *out and takes {0} too. */
int simultaneous_dunnett(size_t df, size_t base, const size_t *runs, size_t n, Simultaneous *out);
int simultaneous_tukey(size_t df, size_t designs, Simultaneous *out);
void simultaneous_free(Simultaneous *s);

/* Returns P(any |t_i| >= t) if all true differences are 0; t >= 0. */
double simultaneous_tail(const Simultaneous *s, double t);

/* Returns one of these differences, as statistics_difference made it, with the interval that holds together with the
 * others' and the corrected p. */
Difference simultaneous_difference(const Simultaneous *s, const Difference *alone);

/* Returns p of the hypothesis that a difference from the baseline is `margin` > 0 or more, in either direction: the two
 * one-sided tests (Schuirmann 1987), corrected for the comparisons. In at most 5 of 100 studies any design at the
 * margin or beyond has p < .05, whatever the directions are. For one comparison it is the usual p. NaN as d->p. */
double simultaneous_equivalence(const Simultaneous *s, const Difference *d, double margin);

#endif
