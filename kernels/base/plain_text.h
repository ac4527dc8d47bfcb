/* plain_text.h: the text of a number that a macro stands for, so that texts of help and tables need not repeat it; the mark
 * that a text may begin with; its lines; what is harmless of it; files that the program holds. */
#ifndef TROTTER_PLAIN_TEXT_H
#define TROTTER_PLAIN_TEXT_H

#include <stddef.h>
#include <string.h>

/* Makes `name` the bytes of a file, whose path begins at the repository's root, with a NUL behind them at `name`_end. Hidden: names that
 * are the object's own have no entry in the table of global addresses, where on ARM the assembler would take both for one. */
#ifdef __wasm__ /* whose assembler wants to know what a name stands for */
#define TEXT_SECTION(name) \
    ".section .rodata." name ",\"\",@\n.type " name ",@object\n.type " name "_end,@object\n"
#define TEXT_SECTION_END(name) ".size " name ", .-" name "\n.size " name "_end, 1\n.text\n"
#else
#define TEXT_SECTION(name) ".pushsection .rodata\n"
#define TEXT_SECTION_END(name) ".popsection\n"
#endif
#define TEXT_EMBED(name, file)                                                 \
    __asm__(TEXT_SECTION(#name) #name ":\n"                                    \
                                      ".incbin \"" file "\"\n" #name "_end:\n" \
                                      ".byte 0\n" TEXT_SECTION_END(#name));    \
    extern const char name[] __attribute__((visibility("hidden"))),            \
        name##_end[] __attribute__((visibility("hidden")))

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

/* Gives the next line of *at .. end without its '\n', and moves *at behind it. Returns 0 where the text is over. */
static inline int text_next_line(const char **at, const char *end, const char **line, size_t *bytes)
{
    if (*at == end) return 0;
    const char *stop = (const char *)memchr(*at, '\n', (size_t)(end - *at));
    *line = *at;
    *bytes = (size_t)((stop ? stop : end) - *at);
    *at = stop ? stop + 1 : end;
    return 1;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Puts '?' in place of every character that steers a terminal or shows a text in another order than it has (controls but line
 * ends and tabs, marks of direction), and of bytes that are not UTF-8. Returns the bytes that are left; it ends no text with
 * a NUL. */
size_t text_harmless(char *text, size_t bytes);
/* Returns the bytes of the first character, 1 or more, and whether it is harmless. */
size_t text_harmless_next(const char *text, size_t bytes, int *harmless);
/* Returns how many bytes at the end begin a character that is not whole: 0 to 3. */
size_t text_unended(const char *text, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
