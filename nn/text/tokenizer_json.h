/* tokenizer_json.h: parts of a tokenizer.json, for its two readers. The file is a stranger's: every type is checked, every part that is not
 * supported is refused by its name. */
#ifndef TROTTER_TOKENIZER_JSON_H
#define TROTTER_TOKENIZER_JSON_H

#include <jansson.h>

#include "kernels/base/error.h"
#include "nn/text/tokenizer_steps.h"

#define METASPACE "\xe2\x96\x81" /* U+2581 */

static inline const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static inline int flag_of(const json_t *o, const char *key, int otherwise)
{
    const json_t *x = json_object_get(o, key);
    return json_is_boolean(x) ? json_is_true(x) : otherwise;
}

static inline int unsupported(const Tokenizer *t, const char *part, const char *what)
{
    return error_set(ERR_INPUT, "%s: the %s \"%.100s\" is not supported", t->file, part, what);
}

static inline int bad(const Tokenizer *t, const char *what)
{
    return error_set(ERR_INPUT, "%s: %s", t->file, what);
}

/* tokenizer_read_steps.c: reads the normalisers and pre-tokenizers of a file. */
int tokenizer_read_steps(Tokenizer *t, const json_t *root);

#endif
