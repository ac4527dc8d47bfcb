/* translated.h: a split of a corpus of pairs translated by a trained model, and scored against its target. */
#ifndef TROTTER_TRANSLATED_H
#define TROTTER_TRANSLATED_H

#include "nn/nn.h"
#include "studies/metrics/metric.h"
#include "studies/model/translator.h"

typedef struct {
    double bleu, chrf, brevity; /* of the corpus; brevity: BLEU's factor */
    double seconds;             /* that translating took */
} TranslatedScore;

/* Scores the translations of c->source[split] against the target's lines: of files those of the file as they stand, else
 * the words of c->text[split]. what: words for the line of progress. text (NULL: not wanted): the translations, a line
 * each; caller: memory_free. lines (NULL: not wanted): the statistics of BLEU; caller: metric_free. t is of a model
 * with the words of c. A source that is too long for it: ERR_INPUT. */
int translated_score(Translator *t, const Corpus *c, int split, const MetricOptions *o,
                     const char *what, char **text, TranslatedScore *out, Statistics *lines);

#endif
