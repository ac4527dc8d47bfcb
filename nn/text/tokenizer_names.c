/* tokenizer_names.c: names of tokens and their ids (tokenizer.h). */
#include <string.h>

#include "kernels/base/error.h"
#include "nn/text/tokenizer_steps.h"

int32_t tokenizer_known(const Tokenizer *t, const char *text, size_t bytes)
{
    int32_t i = words_find(&t->names, text, bytes);
    return i < 0 || (size_t)i >= t->known ? -1 : t->id_of[i];
}

int32_t tokenizer_find(const Tokenizer *t, const char *name)
{
    int32_t i = words_find(&t->names, name, strlen(name));
    return i < 0 ? -1 : t->id_of[i];
}

size_t tokenizer_size(const Tokenizer *t)
{
    return t->size;
}

const char *tokenizer_name(const Tokenizer *t, size_t id)
{
    return id < t->size ? t->name[id] : NULL;
}

const char *tokenizer_shown(const Tokenizer *t, size_t id, size_t *bytes)
{
    *bytes = id < t->size && t->shown[id] ? t->shown_bytes[id] : 0;
    return *bytes ? t->shown[id] : "";
}

int tokenizer_unknown(const Tokenizer *t, const char *file, const char *text, size_t bytes)
{
    return error_set(
        ERR_INPUT, "%s: '%.*s' is no token of %s, whose vocabulary has no unknown token%s%.100s%s",
        file, bytes > 200 ? 200 : (int)bytes, text, t->file, *t->unknown_name ? " (\"" : "",
        t->unknown_name, *t->unknown_name ? "\" is not in it)" : "");
}
