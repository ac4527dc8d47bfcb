/* buffer.h: a text that grows. For nn/text. */
#ifndef TROTTER_BUFFER_H
#define TROTTER_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"

typedef struct {
    char *byte; /* (count), a NUL behind; NULL before anything is added */
    size_t count, room;
} Buffer;

int buffer_add(Buffer *b, const void *bytes, size_t count); /* ERR_MEMORY */
int buffer_character(Buffer *b, uint32_t c);                /* in UTF-8 */
/* Returns the text, which is the caller's then (memory_free), and its bytes; b is empty. */
char *buffer_take(Buffer *b, size_t *bytes);
void buffer_free(Buffer *b);

#endif
