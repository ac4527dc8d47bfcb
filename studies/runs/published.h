/* published.h: the language-model figures of the source papers, and a study's own beside them, for `trotter
 * compare` and `trotter sweep`: the figures and what they are figures of (published.c), the tables and the plot
 * (published_save.c).
 *
 * A row of the papers stands beside a design of a study where both are the same map (plan_same, at the row's
 * depth) and the study's corpus has the sizes of the row's; else it is left out. What is not equal stands beside
 * the numbers: the paper's size and the study's, and what the paper does not report.
 */
#ifndef TROTTER_PUBLISHED_H
#define TROTTER_PUBLISHED_H

#include "bridge/bridge.h"
#include "studies/runs/runs.h"
#include "studies/statistics/statistics.h"
#include "studies/tools/kind.h"

/* The measure of a figure. */
enum {
    MEASURE_VALID,
    MEASURE_TEST,
    MEASURE_UNSAID, /* perplexity of either text */
    MEASURE_BITS,
    MEASURE_MEMORY /* not of a text: for claims alone */
};

typedef struct {
    const char *source; /* paper and table */
    const char *row;    /* as the paper has it */
    const char *scheme; /* ours of that map */
    size_t layers;
    const char *corpus; /* as the paper has it */
    int measure;        /* MEASURE_* */
    double figure;
    int baseline; /* 1: the row with which the others of its source, corpus, measure and depth are compared */
    const char *size; /* the paper's */
    const char *note; /* spread, and what was not published */
} Published;

extern const Published published[];
extern const size_t published_count;

/* Validation perplexities of words drawn at random. */
enum { PUBLISHED_DRAWN = 20 };
typedef struct {
    const char *source; /* paper and table */
    const char *family; /* "permutation", "random": as `trotter sweep` calls it */
    const char *corpus;
    double word[PUBLISHED_DRAWN];
} PublishedDraw;

extern const PublishedDraw published_draws[];
extern const size_t published_draw_count;

/* Returns the interval of the trainings of the interleaved word that stand beside them, the same in every
 * table. */
Interval published_interleaved(void);
/* Returns the number of words whose perplexity is lower than the mean of these. */
size_t published_better(const PublishedDraw *d);

const char *published_measure(int measure); /* "test perplexity" */

/* Returns the papers' name of the corpus c, by level, number of words and tokens of each open text. NULL: no known
 * corpus, or one with masked words, for which no paper here has a perplexity. */
const char *published_corpus(const Corpus *c);

/* Returns the baseline of a row, which for a baseline is itself; NULL: it has none. */
const Published *published_baseline(const Published *p);

/* A design that a study trained, with seeds seed, seed + 1, ...; the first seed is the same for all designs. */
typedef struct {
    const char *name; /* as the study calls it */
    const Table *scheme;
    size_t layers, seeds;
    const RunResult *result; /* (seeds); NaN where a run failed */
    int pooled; /* 1: counts for the spread over seeds: no design before it is the same map, and none of its runs
                 * diverged */
} Design;

/* Sets *same = 1 where a network of t with options o is the map of p, a pre-norm network of p's own depth and
 * otherwise also with o. Sublayers are matched one to one (plan_same); names do not matter. */
int published_same(const Zoo *z, const BridgeOptions *o, const Published *p, const Table *t,
                   int *same);

/* A row and a study's design for it; index 0: validation, 1: test. */
typedef struct {
    const Published *row;
    const Design *ours,
        *base; /* base: the study's design of the row's baseline; NULL: not there, or the row is it */
    Interval value[2]; /* ours, in the unit of the measure: perplexity, or bits a token */
    /* Difference from the figure, whose own spread is not in it; n = 0: the figure is of the other text. */
    Interval less[2];
    double ratio; /* of the paper: figure over its baseline's; NaN: the row is it, or has none */
    /* The same ratio for ours: exp of a difference of mean logarithms (statistics.h); sd: NaN. */
    Interval gain[2];
} Beside;
/* Compares a row with a design. spread (2): of the logarithms of the row's measure, validation and test.
 * ERR_MEMORY. */
int published_beside(const Published *p, const Design *ours, const Design *base,
                     const Pooled spread[2], Beside *out);
/* Computes the spread over the designs (n) of p's depth. ERR_MEMORY. */
int published_spread(const Published *p, const Design *design, size_t n, Pooled spread[2]);

/* ---- published_save.c -------------------------------------------------------------------------- */

typedef struct {
    const Zoo *zoo;
    const Corpus *corpus;
    BridgeOptions bridge; /* of every design, except its layers */
    size_t heads;
    const Column *columns; /* published_schemes or _words, as the study calls its designs */
    size_t designs;
    const Design *design; /* (designs) */
} PublishedStudy;

/* Columns of published.csv and .md; only the name of the designs' column differs. */
extern const Column published_schemes[], published_words[];

/* The table and the plot, for a kind of study that has them. */
#define PUBLISHED_TABLE(columns)                                                                 \
    {                                                                                            \
        "published", columns,                                                                    \
            "The source papers' figures beside these, with 95 % intervals over seeds.", KIND_ALL \
    }
#define PUBLISHED_PLOT                                                                  \
    {                                                                                   \
        "published", "Perplexity over the baseline's: the papers' across, these upward" \
    }

/* Finds every pair of a row and a design; caller: memory_free. *count = 0 and *list NULL: none. */
int published_find(const PublishedStudy *s, Beside **list, size_t *count);
/* Writes DIR/published.csv, published.md, and with two ratios or more the plot `published`; nothing where no row
 * of the papers has this corpus and these designs. */
int published_save(const PublishedStudy *s, const char *dir);

#endif
