/* text.h: the text of a number that a macro stands for, so that texts of help and tables need not repeat it; and the
 * mark that a text may begin with. */
#ifndef TROTTER_TEXT_H
#define TROTTER_TEXT_H

#include <stddef.h>
#include <string.h>

/* TEXT(N) is "8" after #define N 8. */
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* Returns the bytes to skip where a text begins with UTF-8's byte-order mark: 3, or 0. */
static inline size_t text_mark(const char *text, size_t bytes)
{
    return bytes >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
}

/* Removes that mark; text (*bytes) has a NUL behind it, which stays there. */
static inline void text_unmark(char *text, size_t *bytes)
{
    size_t mark = text_mark(text, *bytes);
    *bytes -= mark;
    if (mark) memmove(text, text + mark, *bytes + 1);
}

#endif
