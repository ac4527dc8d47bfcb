/* foreign.h: models of other programs: a directory as Hugging Face's `transformers` writes it, with config.json,
 * model.safetensors (or several files and model.safetensors.index.json) and tokenizer.json. A family of models is a row
 * of the table in family.c: what its settings are called, and where its tensors go.
 *
 * Numbers may be F32, F64, F16, BF16. What a family or this program lacks is refused by its name, and so is a key of
 * config.json that is in none of the lists of family.c. */
#ifndef TROTTER_FOREIGN_H
#define TROTTER_FOREIGN_H

#include "nn/model/model.h"
#include "nn/text/text.h"

enum { FOREIGN_TOKENS = 1024 }; /* default length of a sequence, if the model takes as many */

typedef struct Foreign Foreign;

/* Returns 1 for a directory that has config.json and no config.ini. */
int foreign_is(const char *dir);

/* Reads config.json and the headers of the weights. ERR_INPUT, naming the file and what is wrong. Caller:
 * foreign_free. */
int foreign_open(const char *dir, Foreign **out);
void foreign_free(Foreign *f); /* NULL allowed */

/* Gives the settings of the model as metadata of one of our files would (nn/format.md): names of options and values.
 * Borrowed. */
size_t foreign_settings(const Foreign *f, const StoreText **list);
/* Returns the most numbers that a model of these files can have. */
size_t foreign_most(const Foreign *f);
/* Returns 1 where the token that begins a text ends one too, so that lines can be texts of their own. */
int foreign_ends(const Foreign *f);
/* Returns 1 where a token ends a text that is generated: eos_token_id, one or a list, of generation_config.json or else of
 * config.json. */
int foreign_stops(const Foreign *f, size_t id);
/* Reads tokenizer.json. Caller: vocab_free. */
int foreign_words(const Foreign *f, Vocab *v);
/* Refuses sequences of up to `longest` tokens where dynamic rotary positions turn them otherwise than a model of these settings
 * does. ERR_INPUT. */
int foreign_fits(const Foreign *f, size_t longest);
/* Fills all tensors of a model that was built with these settings, whose sequences fit. ERR_INPUT: m is to be thrown away. */
int foreign_load(const Foreign *f, Model *m);

#endif
