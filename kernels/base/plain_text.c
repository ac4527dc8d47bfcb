/* plain_text.c: takes from a text of others what steers a terminal or a reader's eye (plain_text.h). */
#include "kernels/base/plain_text.h"

#include <unistr.h>

/* Controls: C0 but line end and tab, DEL, C1 (ECMA-48: U+009B begins a command as ESC [ does). Marks and overrides of
 * direction, and separators of lines, show a text in another order than it has (Unicode, UAX 9, section 2; CVE-2021-42574). */
static int steers(ucs4_t c)
{
    if (c < 0x20) return c != '\n' && c != '\t';
    return (c >= 0x7f && c <= 0x9f) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

size_t text_harmless_next(const char *text, size_t bytes, int *harmless)
{
    ucs4_t c;
    int n = u8_mbtoucr(&c, (const uint8_t *)text, bytes);
    *harmless = n > 0 && !steers(c);
    return n > 0 ? (size_t)n : 1;
}

size_t text_harmless(char *text, size_t bytes)
{
    size_t to = 0;
    for (size_t at = 0, n; at < bytes; at += n) {
        int harmless;
        n = text_harmless_next(text + at, bytes - at, &harmless);
        if (!harmless) text[to++] = '?';
        for (size_t i = 0; harmless && i < n; i++) text[to++] = text[at + i];
    }
    return to;
}

size_t text_unended(const char *text, size_t bytes)
{
    ucs4_t c;
    for (size_t n = 1; n < 4 && n <= bytes; n++)
        if (u8_mbtoucr(&c, (const uint8_t *)text + bytes - n, n) == -2) return n;
    return 0;
}
