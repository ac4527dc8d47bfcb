/* measures.h: the rows of study_measures (study.h), each with the file that computes it. */
#ifndef TROTTER_STUDY_MEASURES_H
#define TROTTER_STUDY_MEASURES_H

#include "studies/model/network.h"
#include "studies/lab/study/study.h"

/* measure_truncation.c: truncation errors at h = 1 of a language model's layers; those of an encoder's and a decoder's */
extern const StudyMeasure measure_truncation, measure_sides;
/* measure_translation.c: BLEU and chrF2 of both texts, and the lines' sums */
extern const StudyMeasure measure_translation;
/* measure_gaining.c: whether the best epoch was the last */
extern const StudyMeasure measure_gaining;
/* measure_norm.c: RMS of the last state; how far a layer moves its input */
extern const StudyMeasure measure_norm, measure_step;

/* measure_sentences.c: of those that read the sentences of --truncation, whether any are asked for, and what they depend on. */
int measure_has_sentences(const Study *u);
int measure_how_sentences(const Study *u, char *out, size_t room);

/* Columns of DIR/lines.csv and of a run's own: sums of BLEU by line (measure_translation.c). */
extern const Column measure_lines[];
/* Adds a run's lines to a sheet of these columns. */
void measure_add_lines(Sheet *s, const char *pair, size_t seed, const Statistics *of);
/* The options that measures of pairs depend on, as the column `how` of runs.csv has them. */
int measure_how_pairs(const Study *u, char *out, size_t room);

#endif
