/* translator.h: sources translated by a model of two sides: lines become ids, are searched together, and come back as
 * lines in their order.
 */
#ifndef TROTTER_TRANSLATOR_H
#define TROTTER_TRANSLATOR_H

#include "nn/search.h"
#include "studies/tools/option.h"

/* beam, penalty, alpha, lengths, ...: how texts are searched for. */
extern const OptionGroup translator_group;

typedef struct Translator Translator;

/* m: of two sides, built without training; all but o is borrowed until translator_free. nbest: best hypotheses of a source
 * that are told, at most the beam. ERR_INPUT with words where the options go wrong with each other or with the model. */
int translator_new(const Options *o, Model *m, const Vocab *v, const Bpe *bpe, size_t nbest,
                   const volatile int *stop, Translator **out);
void translator_free(Translator *t); /* NULL allowed */

/* What became of a line. */
typedef struct {
    size_t line; /* of the source, from 0 */
    /* The best hypotheses, the best first; 0 of a blank line, or of one that is too long. */
    size_t count;
    const Hypothesis *best;
    size_t too_long; /* tokens of a source that is longer than the model takes, else 0 */
} Translation;

/* Is given every line in the order of the source, as soon as it and all before it are there. Borrowed during the call. Not
 * 0 ends the work with this code. */
typedef int TranslatorDone(void *arg, const Translation *t);

/* Translates every line of a text. Lines of like length are searched together. ERR_INTERRUPTED after stop. */
int translator_run(Translator *t, const Text *source, TranslatorDone *done, void *arg);

/* The most tokens of a source, <eos> included. */
size_t translator_longest(const Translator *t);

/* *line = the words of n tokens, pieces put together, <eos> left out; without '\n', ended by a NUL. Caller: memory_free. */
int translator_words(const Vocab *v, const Bpe *bpe, const int32_t *token, size_t n, char **line);

#endif
