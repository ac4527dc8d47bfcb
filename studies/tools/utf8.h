/* utf8.h: characters of texts in UTF-8, and the columns that they take on a terminal. */
#ifndef TROTTER_UTF8_H
#define TROTTER_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Reads the next character of a text that has not ended and steps past it. Returns the character, or U+FFFD for a byte
 * that begins none. Source: RFC 3629, section 4. */
uint32_t utf8_next(const char **text);

/* Returns the columns of the first `bytes` bytes of a text (SIZE_MAX: of all): 2 for a wide character (Unicode's East
 * Asian Width, UAX 11), 0 for a mark that combines with the character before it, 1 for all others. */
size_t utf8_columns(const char *text, size_t bytes);

/* Returns the bytes of the longest beginning of whole characters that takes no more than `columns` columns. */
size_t utf8_fit(const char *text, size_t columns);

#endif
