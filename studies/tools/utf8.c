/* utf8.c: reads characters and their widths (utf8.h). The widths are those of the C library, whose tables are
 * Unicode's. */
#include "studies/tools/utf8.h"

#include <locale.h>
#include <wchar.h>

uint32_t utf8_next(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    size_t more = *s < 0x80 ? 0 : *s < 0xc2 ? 4 : *s < 0xe0 ? 1 : *s < 0xf0 ? 2 : *s < 0xf5 ? 3 : 4;
    uint32_t c = more == 0 ? *s : *s & (0x3fu >> more);
    *text += 1;
    if (more == 4) return 0xfffd;
    for (size_t i = 1; i <= more; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0xfffd;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[more] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) return 0xfffd;
    *text += more;
    return c;
}

/* Returns the columns of a character. The program runs in the locale C, so that numbers have a point; that locale knows
 * no width beyond ASCII, so this uses C.UTF-8. Where C.UTF-8 is not installed, each character has one column. */
static size_t columns_of(uint32_t c)
{
    static locale_t unicode;
    if (c < 0x80) return 1;
    if (!unicode) unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!unicode) return 1;
    locale_t before = uselocale(unicode);
    int n = wcwidth((wchar_t)c);
    uselocale(before);
    return n < 0 ? 1 : (size_t)n;
}

size_t utf8_columns(const char *text, size_t bytes)
{
    const char *from = text;
    size_t n = 0;
    while (*text && (size_t)(text - from) < bytes) n += columns_of(utf8_next(&text));
    return n;
}

size_t utf8_fit(const char *text, size_t columns)
{
    const char *from = text, *end = text;
    size_t n = 0;
    while (*text && (n += columns_of(utf8_next(&text))) <= columns) end = text;
    return (size_t)(end - from);
}
