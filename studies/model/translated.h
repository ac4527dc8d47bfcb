/* translated.h: translates a split of a corpus of pairs by a trained model, and scores it against its target. */
#ifndef TROTTER_TRANSLATED_H
#define TROTTER_TRANSLATED_H

#include "nn/nn.h"
#include "studies/model/metrics/metric.h"
#include "studies/model/translator.h"

typedef struct {
    double score[METRICS], brevity; /* over all lines; brevity: BLEU's factor */
    double seconds;                 /* time of translating */
} TranslatedScore;

/* Translates c->source[split] and scores the translations against the target's lines: for files those of the file as
 * they stand, else the words of c->text[split]. what: words for the line of progress. text (NULL: not wanted): the
 * translations, a line each; caller: memory_free. lines (NULL: not wanted): the statistics of BLEU; caller:
 * metric_free. t's model has the words of c. ERR_INPUT where a source is too long for it. */
int translated_score(Translator *t, const Corpus *c, int split, const MetricOptions *o,
                     const char *what, char **text, TranslatedScore *out, Statistics *lines);

#endif
