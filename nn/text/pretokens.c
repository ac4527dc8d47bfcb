/* pretokens.c: cuts a text in pieces before its tokens are found (tokenizer_steps.h). */
#include <string.h>
#include <unictype.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

static int add(Pieces *p, size_t begin, size_t end)
{
    return begin == end ? 0 : memory_add(p->span, p->spans, (Span){begin, end});
}

/* Makes pieces of the matches of one piece and of what lies between them. By behavior, as in the library `tokenizers`: a match is a piece
 * (isolated), belongs to no piece (removed), to the stretch before it or behind it unless that is a match too (previous, next), or to the
 * matches beside it (contiguous). */
static int put_pieces(const Cut *c, const Matches *m, Pieces *out)
{
    Span open = {0, 0};
    for (size_t i = 0; i < m->count; i++) {
        int now = m->match[i].is ^ c->invert, before = i && m->match[i - 1].is ^ c->invert;
        int joins = i && ((c->behavior == BEHAVIOR_PREVIOUS && now && !before) ||
                          (c->behavior == BEHAVIOR_NEXT && before && !now) ||
                          (c->behavior == BEHAVIOR_CONTIGUOUS && now == before));
        if (c->behavior == BEHAVIOR_REMOVED && now) continue;
        if (!joins) {
            TRY(add(out, open.begin, open.end));
            open.begin = m->match[i].at.begin;
        }
        open.end = m->match[i].at.end;
    }
    return add(out, open.begin, open.end);
}

static int is_number(ucs4_t c)
{
    return uc_is_general_category(c, UC_NUMBER);
}

/* As BERT: all of ASCII that is neither letter, digit, blank nor control counts. */
static int is_punctuation(ucs4_t c)
{
    if (c < 0x80)
        return c > ' ' && c < 0x7f && !strchr("0123456789", (int)c) &&
               !((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    return uc_is_general_category(c, UC_PUNCTUATION);
}

static int is_blank(ucs4_t c)
{
    return uc_is_property_white_space(c);
}

/* Finds the characters of a kind: each is a match. */
static int find_kind(const Cut *c, const char *text, Span piece, Matches *out)
{
    int (*is)(ucs4_t) = c->kind == CUT_DIGITS   ? is_number
                        : c->kind == CUT_BLANKS ? is_blank
                                                : is_punctuation;
    for (size_t i = piece.begin, next; i < piece.end; i = next) {
        ucs4_t x;
        next = i + (size_t)u8_mbtouc(&x, (const uint8_t *)text + i, piece.end - i);
        if (is(x) || out->count == 0 || out->match[out->count - 1].is)
            TRY(memory_add(out->match, out->count, (Match){{i, next}, is(x)}));
        out->match[out->count - 1].at.end = next;
    }
    return 0;
}

static int split_all(const Cut *c, const char *file, const Pieces *p, Pieces *out)
{
    SCOPED(matches_free) Matches m = {0};
    for (size_t i = 0; i < p->spans; i++, m.count = 0) {
        TRY(c->code ? matches_find(c->code, file, p->text.byte, p->span[i], &m)
                    : find_kind(c, p->text.byte, p->span[i], &m));
        TRY(put_pieces(c, &m, out));
    }
    return 0;
}

static int begins_with(const char *text, size_t bytes, const char *what)
{
    size_t n = strlen(what);
    return bytes >= n && memcmp(text, what, n) == 0;
}

/* Makes a text anew in which blanks are `mark`, and cuts each piece before every mark. */
static int metaspace(const Cut *c, const Pieces *p, Pieces *out)
{
    const Normal blanks = {NORMAL_REPLACE, " ", c->text};
    size_t mark = strlen(c->text);
    for (size_t i = 0; i < p->spans; i++) {
        const char *text = p->text.byte + p->span[i].begin;
        size_t bytes = p->span[i].end - p->span[i].begin, from = out->text.count;
        int prefix =
            c->prefix == PREFIX_ALWAYS || (c->prefix == PREFIX_FIRST && p->begins && i == 0);
        if (prefix && !begins_with(text, bytes, " ") && !begins_with(text, bytes, c->text))
            TRY(buffer_add(&out->text, c->text, mark));
        TRY(normal_apply(&blanks, "", text, bytes, &out->text));
        for (size_t at = from + 1; at < out->text.count && !c->whole; at++)
            if (begins_with(out->text.byte + at, out->text.count - at, c->text)) {
                TRY(add(out, from, at));
                from = at;
            }
        TRY(add(out, from, out->text.count));
    }
    return 0;
}

/* Puts a blank before each piece that has none. */
static int begin_blank(const Pieces *p, Pieces *out)
{
    for (size_t i = 0; i < p->spans; i++) {
        const char *text = p->text.byte + p->span[i].begin;
        size_t bytes = p->span[i].end - p->span[i].begin, from = out->text.count;
        if (!begins_with(text, bytes, " ")) TRY(buffer_add(&out->text, " ", 1));
        TRY(buffer_add(&out->text, text, bytes));
        TRY(add(out, from, out->text.count));
    }
    return 0;
}

/* Writes each byte as its character at byte level. */
static int as_bytes(const Pieces *p, Pieces *out)
{
    static const Normal level = {.kind = NORMAL_BYTES};
    for (size_t i = 0; i < p->spans; i++) {
        size_t from = out->text.count;
        Span at = p->span[i];
        TRY(normal_apply(&level, "", p->text.byte + at.begin, at.end - at.begin, &out->text));
        TRY(add(out, from, out->text.count));
    }
    return 0;
}

/* Steps of one pre-tokenizer. out: pieces of p's text, or of a text of its own. */
enum { STEP_BLANK, STEP_CUT, STEP_BYTES };
static int take_step(int step, const Cut *c, const char *file, Pieces *p)
{
    Pieces out = {.begins = p->begins};
    int code = step == STEP_BLANK         ? begin_blank(p, &out)
               : step == STEP_BYTES       ? as_bytes(p, &out)
               : c->kind == CUT_METASPACE ? metaspace(c, p, &out)
                                          : split_all(c, file, p, &out);
    if (!out.text.byte && code == 0) {
        out.begins &= p->spans && out.spans && out.span->begin == p->span->begin;
        out.text = p->text, p->text = (Buffer){0};
    }
    pieces_free(p);
    *p = out;
    return code;
}

int cut_apply(const Cut *c, const char *file, Pieces *p)
{
    int bytes = c->kind == CUT_BYTES;
    if (bytes && c->prefix) TRY(take_step(STEP_BLANK, c, file, p));
    if (!bytes || c->code) TRY(take_step(STEP_CUT, c, file, p));
    return bytes && c->convert ? take_step(STEP_BYTES, c, file, p) : 0;
}

void pieces_free(Pieces *p)
{
    buffer_free(&p->text);
    memory_free(p->span);
    *p = (Pieces){{0}};
}
