/* normalise.c: normalisers of a tokenizer (tokenizer_steps.h). Those of BERT are of Devlin et al. 2019, in their code's
 * BasicTokenizer; lower case is character by character. */
#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

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

static int one(int kind, ucs4_t c, Buffer *out)
{
    switch (kind) {
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

int normal_apply(const Normal *n, const char *text, size_t bytes, Buffer *out)
{
    switch (n->kind) {
    case NORMAL_PREPEND: return prepend(n, text, bytes, out);
    case NORMAL_REPLACE: return replace(n, text, bytes, out);
    case NORMAL_NFC: return form(UNINORM_NFC, text, bytes, out);
    case NORMAL_NFD: return form(UNINORM_NFD, text, bytes, out);
    case NORMAL_NFKC: return form(UNINORM_NFKC, text, bytes, out);
    case NORMAL_NFKD: return form(UNINORM_NFKD, text, bytes, out);
    default: return each(n->kind, text, bytes, out);
    }
}

int normal_all(const Normal *list, const char *text, size_t bytes, Buffer *out)
{
    if (bytes) TRY(buffer_add(out, text, bytes));
    for (const Normal *n = list; n->kind; n++) {
        SCOPED(buffer_free) Buffer before = *out;
        *out = (Buffer){0};
        TRY(normal_apply(n, before.byte ? before.byte : "", before.count, out));
    }
    return 0;
}
