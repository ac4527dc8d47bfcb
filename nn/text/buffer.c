/* buffer.c: see buffer.h. */
#include "nn/text/buffer.h"

#include <string.h>
#include <unistr.h>

#include "kernels/base/error.h"

int buffer_add(Buffer *b, const void *bytes, size_t count)
{
    if (b->count + count + 1 > b->room) {
        size_t room = 2 * (b->count + count) + 64;
        char *more = memory_grow(b->byte, b->room, room, 1);
        if (!more) return ERR_MEMORY;
        b->byte = more, b->room = room;
    }
    memcpy(b->byte + b->count, bytes, count);
    b->byte[b->count += count] = '\0';
    return 0;
}

int buffer_character(Buffer *b, uint32_t c)
{
    uint8_t u[6];
    int n = u8_uctomb(u, c, sizeof u);
    return buffer_add(b, u, n > 0 ? (size_t)n : 0);
}

char *buffer_take(Buffer *b, size_t *bytes)
{
    char *byte = b->byte;
    *bytes = b->count;
    *b = (Buffer){0};
    return byte;
}

void buffer_free(Buffer *b)
{
    memory_free(b->byte);
    *b = (Buffer){0};
}
