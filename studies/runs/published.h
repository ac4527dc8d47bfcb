/* published.h: figures of the source papers, of language models and of encoders with decoders, for the studies' own
 * beside them (studies/study/study_published.c) and for claims (studies/verify). */
#ifndef TROTTER_PUBLISHED_H
#define TROTTER_PUBLISHED_H

#include "nn/nn.h"
#include "studies/statistics/statistics.h"

/* The measure of a figure. */
enum {
    MEASURE_VALID,
    MEASURE_TEST,
    MEASURE_UNSAID, /* perplexity of either text */
    MEASURE_BITS,
    MEASURE_BLEU /* of test translations, by an encoder with a decoder */
};

typedef struct {
    const char *words; /* "test perplexity" */
    int of[2];         /* 1: it is of the validation, the test text */
    int bits;          /* 1: log2 of the perplexity */
} PublishedMeasure;
extern const PublishedMeasure published_measures[];

typedef struct {
    const char *source; /* paper and table */
    const char *row;    /* as the paper has it */
    const char *scheme; /* ours of that map; the decoder's; NULL: none */
    size_t layers;      /* 0: any */
    const char *corpus; /* as the paper has it */
    int measure;        /* MEASURE_* */
    double figure;
    int baseline; /* 1: the row with which the others of its source, corpus, measure and depth are compared */
    const char *size;    /* the paper's */
    const char *note;    /* spread, and what was not published, or why it is not run here */
    const char *encoder; /* its scheme; NULL: a language model */
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

/* Returns the papers' name of the corpus c, by level, number of words and tokens of each open text. NULL: no known
 * corpus, or one with masked words, for which no paper here has a perplexity. */
const char *published_corpus(const Corpus *c);

/* Returns the baseline of a row, which for a baseline is itself; NULL: it has none. */
const Published *published_baseline(const Published *p);

#endif
