/* translator.h: translates sources by a model of two sides. Lines become ids, are searched together, and come back as
 * lines in their order. */
#ifndef TROTTER_TRANSLATOR_H
#define TROTTER_TRANSLATOR_H

#include "nn/decode/search.h"
#include "studies/base/option.h"

/* beam, penalty, alpha, lengths, ...: the options of the search. */
extern const OptionGroup translator_group;

typedef struct Translator Translator;

/* Makes a translator by the mean of model[0 .. models-1], of two sides and without training; all but o is borrowed until
 * translator_free. nbest: best hypotheses that are reported for a source, at most the beam. ERR_INPUT with words where
 * the options contradict each other or a model. */
int translator_new(const Options *o, Model *const *model, size_t models, const Vocab *v,
                   size_t nbest, const volatile int *stop, Translator **out);
/* From here on translations begin with the same line of `begins`, which is borrowed; NULL: with anything. */
void translator_begins(Translator *t, const Text *begins);
void translator_free(Translator *t); /* NULL allowed */
DROP(Translator, translator)

/* The result of a line. */
typedef struct {
    size_t line; /* of the source, from 0 */
    /* The best hypotheses, best first; 0 for a blank line, or one that is too long. */
    size_t count;
    const Hypothesis *best;
    size_t too_long; /* tokens of a source longer than the model takes, else 0 */
} Translation;

/* Receives every line in the order of the source, as soon as that line and all before it are done. Borrowed during the
 * call. A result other than 0 ends the work with that code. */
typedef int TranslatorDone(void *arg, const Translation *t);

/* Translates every line of a text. Lines of like length are searched together. ERR_INTERRUPTED after stop; ERR_INPUT
 * for a beginning without room. */
int translator_run(Translator *t, const Text *source, TranslatorDone *done, void *arg);

/* Writes the words of n tokens to *line, with pieces put together and <eos> left out; without '\n', ended by a NUL.
 * Caller: memory_free. */
int translator_words(const Vocab *v, const Bpe *bpe, const int32_t *token, size_t n, char **line);

#endif
