/* beside.h: a study's own figures beside the papers' (studies/runs/published.h), in part: study_published of study.h does it
 * all.
 *
 * A row of the papers stands beside a design of a study where both are the same map (plan_same, at the row's depth; of pairs
 * the same schemes) and the study's corpus has the sizes of the row's; else it is left out, except with pairs, where every
 * row is listed. What is not equal stands beside the numbers: the paper's size and the study's, and what the paper does not
 * report.
 */
#ifndef TROTTER_BESIDE_H
#define TROTTER_BESIDE_H

#include "studies/runs/published.h"
#include "studies/study/study.h"

/* A row and a study's design for it; index 0: validation, 1: test. */
typedef struct {
    const Published *row;
    const StudyDesign *ours,
        *base;         /* NULL: not there; base: of the row's baseline, NULL where the row is it */
    Interval value[2]; /* ours, in the unit of the measure */
    /* Difference from the figure, whose own spread is not in it; n = 0: the figure is of the other text. */
    Interval less[2];
    double ratio; /* of the paper: figure over its baseline's; NaN: the row is it, or has none */
    /* The same ratio for ours: exp of a difference of mean logarithms (statistics.h); sd: NaN. */
    Interval gain[2];
} Beside;

/* Sets *same = 1 where a network of the scheme t and so many layers, with options o otherwise, is the map of p, a pre-norm
 * network of p's own depth. Sublayers are matched one to one (plan_same); names do not matter. */
int beside_same(const Zoo *z, const BridgeOptions *o, const Published *p, const Table *t,
                int *same);
/* Compares a row with a design. spread (2): of the logarithms of the row's measure, validation and test. ERR_MEMORY. */
int beside_compare(const Published *p, const StudyDesign *ours, const StudyDesign *base,
                   const Pooled spread[2], Beside *out);
/* Computes the spread over the study's designs of p's depth that are no other's map and have no run that diverged.
 * ERR_MEMORY. */
int beside_spread(const Study *u, const Published *p, Pooled spread[2]);
/* Finds every pair of a row and a design; caller: memory_free. *count = 0 and *list NULL: none. */
int beside_find(const Study *u, Beside **list, size_t *count);

/* Columns of published.csv; only the name of the designs' column differs. */
extern const Column beside_schemes[], beside_words[], beside_pairs[];

/* The table, for a kind of study that has it. */
#define BESIDE_TABLE(columns)                                                                    \
    {                                                                                            \
        "published", columns,                                                                    \
            "The source papers' figures beside these, with 95 % intervals over seeds.", KIND_ALL \
    }
#endif
