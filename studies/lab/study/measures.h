/* measures.h: the rows of study_measures (study.h), each with the file that computes it. */
#ifndef TROTTER_STUDY_MEASURES_H
#define TROTTER_STUDY_MEASURES_H

#include "studies/model/sentences.h"
#include "studies/model/network.h"
#include "studies/lab/study/study.h"

/* measure_truncation.c: truncation errors at h = 1 of a language model's layers; those of an encoder's and a decoder's */
extern const StudyMeasure measure_truncation, measure_sides;
extern const StudyMeasure
    measure_translation; /* BLEU and chrF2 of both texts, and the lines' sums */
extern const StudyMeasure
    measure_gaining; /* whether the best epoch was the last (measure_gaining.c) */
extern const StudyMeasure measure_norm; /* RMS of the last state (measure_norm.c) */

/* Of those that read the sentences of --truncation: whether any are asked for, and what they depend on. */
int measure_has_sentences(const Study *u);
int measure_how_sentences(const Study *u, char *out, size_t room);
/* Computes a measure of a network in double precision on these sentences, and sets its columns of row 0. t: the run's scheme, or the decoder's. */
typedef int MeasureSentences(const Network *n, const Table *t, const Drawn *drawn, double tolerance,
                             Frame *out);
/* Loads the run's network, draws the sentences, measures, and notes the number of a column as `what` in study.log. */
int measure_on_sentences(const StudyMeasured *r, const char *what, const char *column,
                         MeasureSentences *of, Frame *out);
/* Does the same, roughly, on one short sentence with an untrained network of a design (StudyMeasure.try). */
int measure_try_sentences(const Study *u, const RunSpec *s, MeasureSentences *of);

/* Columns of DIR/lines.csv and of a run's own: sums of BLEU by line (measure_translation.c). */
extern const Column measure_lines[];
/* Adds a run's lines to a sheet of these columns. */
void measure_add_lines(Sheet *s, const char *pair, size_t seed, const Statistics *of);
/* The options that measures of pairs depend on, as the column `how` of runs.csv has them. */
int measure_how_pairs(const Study *u, char *out, size_t room);

#endif
