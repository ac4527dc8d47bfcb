/* normalise.c: normalisers of a tokenizer (tokenizer_steps.h). Those of BERT are of Devlin et al. 2019, in their code's
 * BasicTokenizer; lower case is character by character. */
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <unigbrk.h>
#include <uninorm.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

/* Every match of a pattern becomes `with`. */
static int replace_matches(const Normal *n, const char *file, const char *text, size_t bytes,
                           Buffer *out)
{
    SCOPED(matches_free) Matches m = {0};
    TRY(buffer_add(out, "", 0));
    if (bytes) TRY(matches_find(n->code, file, text, (Span){0, bytes}, &m));
    for (size_t i = 0; i < m.count; i++) {
        Span at = m.match[i].at;
        TRY(m.match[i].is ? buffer_add(out, n->with, strlen(n->with))
                          : buffer_add(out, text + at.begin, at.end - at.begin));
    }
    return 0;
}

static int replace(const Normal *n, const char *text, size_t bytes, Buffer *out)
{
    size_t long_ = strlen(n->text), from = 0;
    for (const char *at; (at = memmem(text + from, bytes - from, n->text, long_));
         from = (size_t)(at - text) + long_) {
        TRY(buffer_add(out, text + from, (size_t)(at - text) - from));
        TRY(buffer_add(out, n->with, strlen(n->with)));
    }
    return buffer_add(out, text + from, bytes - from);
}

static int prepend(const Normal *n, const char *text, size_t bytes, Buffer *out)
{
    if (bytes) TRY(buffer_add(out, n->text, strlen(n->text)));
    return buffer_add(out, text, bytes);
}

/* Normal forms of Unicode Standard Annex 15. */
static int form(uninorm_t f, const char *text, size_t bytes, Buffer *out)
{
    size_t n;
    uint8_t *u = u8_normalize(f, (const uint8_t *)text, bytes, NULL, &n);
    if (!u) return error_set(ERR_MEMORY, "out of memory");
    int code = buffer_add(out, u, n);
    free(u);
    return code;
}

/* Tells whether BERT drops a character: U+FFFD and those of the categories C, but no tab, no end of a line, and none
 * that Unicode has not assigned. */
static int is_control(ucs4_t c)
{
    if (c == '\t' || c == '\n' || c == '\r') return 0;
    return c == 0xfffd ||
           (uc_is_general_category(c, UC_OTHER) && !uc_is_general_category(c, UC_UNASSIGNED));
}

static int is_chinese(ucs4_t c)
{
    static const ucs4_t range[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                      {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                      {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
    int is = 0;
    for (size_t i = 0; i < sizeof range / sizeof *range; i++)
        is |= c >= range[i][0] && c <= range[i][1];
    return is;
}

static int lower(ucs4_t c, Buffer *out)
{
    enum { CAPITAL_DOTTED_I = 0x130, DOT_ABOVE = 0x307 };
    TRY(buffer_character(out, c == CAPITAL_DOTTED_I ? 'i' : uc_tolower(c)));
    return c == CAPITAL_DOTTED_I ? buffer_character(out, DOT_ABOVE) : 0;
}

/* As NMT's rule of SentencePiece: blanks of all kinds, and marks that take no room, are one kind; control characters are none. */
static int nmt(ucs4_t c, Buffer *out)
{
    static const ucs4_t dropped[][2] = {{1, 8},       {0xb, 0xb},   {0xe, 0x1f},
                                        {0x7f, 0x7f}, {0x8f, 0x8f}, {0x9f, 0x9f}},
                        blank[][2] = {{9, 0xd},         {0x1680, 0x1680}, {0x200b, 0x200f},
                                      {0x2028, 0x2029}, {0x2581, 0x2581}, {0xfeff, 0xfeff},
                                      {0xfffd, 0xfffd}};
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++)
        if (c >= dropped[i][0] && c <= dropped[i][1]) return 0;
    for (size_t i = 0; i < sizeof blank / sizeof *blank; i++)
        if (c >= blank[i][0] && c <= blank[i][1]) c = ' ';
    return buffer_character(out, c);
}

static int one(int kind, ucs4_t c, Buffer *out)
{
    switch (kind) {
    case NORMAL_NMT: return nmt(c, out);
    case NORMAL_LOWER: return lower(c, out);
    case NORMAL_STRIP:
        return uc_is_general_category(c, UC_NON_SPACING_MARK) ? 0 : buffer_character(out, c);
    case NORMAL_MARKS: return uc_is_general_category(c, UC_MARK) ? 0 : buffer_character(out, c);
    case NORMAL_CLEAN:
        return is_control(c) ? 0 : buffer_character(out, uc_is_property_white_space(c) ? ' ' : c);
    default: break;
    }
    int chinese = is_chinese(c);
    if (chinese) TRY(buffer_character(out, ' '));
    TRY(buffer_character(out, c));
    return chinese ? buffer_character(out, ' ') : 0;
}

static int each(int kind, const char *text, size_t bytes, Buffer *out)
{
    ucs4_t c;
    TRY(buffer_add(out, "", 0));
    for (size_t i = 0; i < bytes;) {
        i += (size_t)u8_mbtouc(&c, (const uint8_t *)text + i, bytes - i);
        TRY(one(kind, c, out));
    }
    return 0;
}

/* Writes the text without blanks at its ends. */
static int trim(const Normal *n, const char *text, size_t bytes, Buffer *out)
{
    size_t begin = 0, end = 0;
    ucs4_t c;
    for (size_t i = 0, next; i < bytes; i = next) {
        next = i + (size_t)u8_mbtouc(&c, (const uint8_t *)text + i, bytes - i);
        int blank = uc_is_property_white_space(c);
        if (blank && begin == i && *n->text) begin = next;
        if (!blank || !*n->with) end = next;
    }
    return buffer_add(out, text + begin, end > begin ? end - begin : 0);
}

/* Returns what the table has for the shortest text that `text` begins with, and NULL where there is none. A unit of the trie has bits 0 to 7 for its
 * byte, bit 8 where a value hangs on it, bits 10 to 30, with bit 9 times 256, for the way to its children, and bit 31 where it is a value. */
static const char *charted(const Charts *c, const char *text, size_t bytes)
{
#define WAY(u) (((u) >> 10) << (((u)&0x200) >> 6))
    size_t at = c->units ? WAY(c->unit[0]) : 0;
    for (size_t i = 0; i < bytes && text[i]; i++) {
        at ^= (unsigned char)text[i];
        if (at >= c->units || (c->unit[at] & 0x800000ff) != (unsigned char)text[i]) return NULL;
        uint32_t unit = c->unit[at];
        at ^= WAY(unit);
        if (!(unit & 0x100)) continue;
        size_t value = at < c->units ? c->unit[at] & 0x7fffffff : SIZE_MAX;
        return value < c->bytes ? c->text + value : NULL;
    }
    return NULL;
#undef WAY
}

/* Short characters of several code points (grapheme clusters) are sought whole, then each code point. */
static int by_charts(const Charts *c, const char *text, size_t bytes, Buffer *out)
{
    enum { SHORT = 6 }; /* bytes */
    TRY(buffer_add(out, "", 0));
    for (size_t i = 0, next; i < bytes; i = next) {
        const uint8_t *u = (const uint8_t *)text, *end = u8_grapheme_next(u + i, u + bytes);
        next = (size_t)(end - u);
        const char *with = next - i < SHORT ? charted(c, text + i, next - i) : NULL;
        if (with) {
            TRY(buffer_add(out, with, strlen(with)));
            continue;
        }
        for (size_t k = i, n; k < next; k += n) {
            ucs4_t x;
            n = (size_t)u8_mbtouc(&x, u + k, next - k);
            with = charted(c, text + k, n);
            TRY(with ? buffer_add(out, with, strlen(with)) : buffer_add(out, text + k, n));
        }
    }
    return 0;
}

uint32_t byte_character(int byte)
{
    int plain = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte != 0xad);
    int before = byte < '!' ? byte : byte < 0xa1 ? byte - ('~' - '!' + 1) : 0x43; /* others */
    return (uint32_t)(plain ? byte : 0x100 + before);
}

static int at_byte_level(const char *text, size_t bytes, Buffer *out)
{
    TRY(buffer_add(out, "", 0));
    for (size_t i = 0; i < bytes; i++)
        TRY(buffer_character(out, byte_character((unsigned char)text[i])));
    return 0;
}

int normal_apply(const Normal *n, const char *file, const char *text, size_t bytes, Buffer *out)
{
    switch (n->kind) {
    case NORMAL_PREPEND: return prepend(n, text, bytes, out);
    case NORMAL_REPLACE:
        return n->code ? replace_matches(n, file, text, bytes, out) : replace(n, text, bytes, out);
    case NORMAL_TRIM: return trim(n, text, bytes, out);
    case NORMAL_BYTES: return at_byte_level(text, bytes, out);
    case NORMAL_CHARTS: return by_charts(&n->charts, text, bytes, out);
    case NORMAL_NFC: return form(UNINORM_NFC, text, bytes, out);
    case NORMAL_NFD: return form(UNINORM_NFD, text, bytes, out);
    case NORMAL_NFKC: return form(UNINORM_NFKC, text, bytes, out);
    case NORMAL_NFKD: return form(UNINORM_NFKD, text, bytes, out);
    default: return each(n->kind, text, bytes, out);
    }
}

int normal_all(const Normal *list, const char *file, const char *text, size_t bytes, Buffer *out)
{
    if (bytes) TRY(buffer_add(out, text, bytes));
    for (const Normal *n = list; n->kind; n++) {
        SCOPED(buffer_free) Buffer before = *out;
        *out = (Buffer){0};
        TRY(normal_apply(n, file, before.byte ? before.byte : "", before.count, out));
    }
    return 0;
}

/* Each normaliser but a pattern's takes the first character without regard to what follows, so it is tried alone. */
int normal_keeps(const Normal *list, const char *text, size_t bytes, int *keeps)
{
    ucs4_t c;
    size_t one = bytes ? (size_t)u8_mbtouc(&c, (const uint8_t *)text, bytes) : 0;
    SCOPED(buffer_free) Buffer out = {0};
    TRY(normal_all(list, "", text, one, &out));
    *keeps = !one || out.count;
    return 0;
}
