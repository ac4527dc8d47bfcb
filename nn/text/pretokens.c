/* pretokens.c: cuts a text in pieces before its tokens are found (tokenizer_steps.h). Patterns run on PCRE2 (pattern.c). */
#include <string.h>
#include <unictype.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

/* Steps of a match, and bytes that it may take: a stranger's pattern ends. */
enum { MATCH_STEPS = 10000000, MATCH_KIBIBYTES = 65536 };

int cut_compile(const char *file, const char *pattern, int literal, pcre2_code **code)
{
    SCOPED(buffer_free) Buffer b = {0};
    int error = 0;
    PCRE2_SIZE at = 0;
    uint32_t how = PCRE2_UTF | (literal ? PCRE2_LITERAL : 0);
    PCRE2_UCHAR words[128];
    *code = NULL;
    int written =
        literal ? buffer_add(&b, pattern, strlen(pattern)) : pattern_translate(pattern, &b);
    if (written == 0)
        *code = pcre2_compile((PCRE2_SPTR)(b.byte ? b.byte : ""), b.count, how, &error, &at, NULL);
    if (written == ERR_INPUT) {
        snprintf((char *)words, sizeof words, "%s", error_text());
        return error_set(ERR_INPUT, "%s: pattern '%.200s': %s", file, pattern, (char *)words);
    }
    if (*code || written) return written;
    pcre2_get_error_message(error, words, sizeof words);
    return error_set(ERR_INPUT, "%s: pattern '%.200s': %s", file, pattern, (char *)words);
}

static int add(Pieces *p, size_t begin, size_t end)
{
    return begin == end ? 0 : memory_add(p->span, p->spans, (Span){begin, end});
}

/* A search in one piece. */
typedef struct {
    const Cut *cut;
    const char *file, *text;
    pcre2_match_data *found;
    pcre2_match_context *limits;
} Search;

/* Gives the next match in text + from .. end; none: one behind the end. */
static int next_match(const Search *s, size_t begin, size_t from, size_t end, Span *m)
{
    *m = (Span){SIZE_MAX, SIZE_MAX};
    int code = pcre2_match(s->cut->code, (PCRE2_SPTR)s->text + begin, end - begin, from - begin,
                           PCRE2_NO_UTF_CHECK, s->found, s->limits);
    if (code == PCRE2_ERROR_NOMATCH) return 0;
    if (code < 0)
        return error_set(ERR_INPUT, "%s: the tokenizer's pattern gives up on it (PCRE2: %d)",
                         s->file, code);
    PCRE2_SIZE *at = pcre2_get_ovector_pointer(s->found);
    *m = (Span){begin + at[0], begin + at[1]};
    return 0;
}

/* Cuts a piece at all matches, also those of nothing. A match of nothing where the last one ended is passed over: the
 * search goes on behind the next character, as in the crate `onig`. */
static int split(const Search *s, Span piece, Pieces *out)
{
    size_t last = SIZE_MAX, cut = piece.begin;
    for (size_t from = piece.begin; from <= piece.end;) {
        Span m;
        TRY(next_match(s, piece.begin, from, piece.end, &m));
        if (m.end == SIZE_MAX) break;
        if (m.begin == m.end && m.end == last) {
            ucs4_t c;
            from += from == piece.end
                        ? 1
                        : (size_t)u8_mbtouc(&c, (const uint8_t *)s->text + from, piece.end - from);
            continue;
        }
        TRY(add(out, cut, m.begin));
        if (!s->cut->removed) TRY(add(out, m.begin, m.end));
        from = cut = last = m.end;
    }
    return add(out, cut, piece.end);
}

static int split_all(const Cut *c, const char *file, const Pieces *p, Pieces *out)
{
    Search s = {c, file, p->text.byte, pcre2_match_data_create_from_pattern(c->code, NULL),
                pcre2_match_context_create(NULL)};
    int code = s.found && s.limits ? 0 : error_set(ERR_MEMORY, "out of memory");
    if (code == 0) {
        pcre2_set_match_limit(s.limits, MATCH_STEPS);
        pcre2_set_heap_limit(s.limits, MATCH_KIBIBYTES);
    }
    for (size_t i = 0; i < p->spans && code == 0; i++) code = split(&s, p->span[i], out);
    pcre2_match_data_free(s.found);
    pcre2_match_context_free(s.limits);
    return code;
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

/* Cuts a piece at characters of a kind. */
static int by_kind(const Cut *c, const char *text, Span piece, Pieces *out)
{
    int (*is)(ucs4_t) = c->kind == CUT_DIGITS   ? is_number
                        : c->kind == CUT_BLANKS ? is_blank
                                                : is_punctuation;
    size_t from = piece.begin;
    int before = 0;
    for (size_t i = piece.begin, next; i < piece.end; i = next) {
        ucs4_t x;
        next = i + (size_t)u8_mbtouc(&x, (const uint8_t *)text + i, piece.end - i);
        int now = is(x);
        if (i > from && (now != before || (now && c->each))) {
            if (!(before && c->removed)) TRY(add(out, from, i));
            from = i;
        }
        before = now;
    }
    return before && c->removed ? 0 : add(out, from, piece.end);
}

static int begins_with(const char *text, size_t bytes, const char *what)
{
    size_t n = strlen(what);
    return bytes >= n && memcmp(text, what, n) == 0;
}

/* Makes a text anew in which blanks are `mark`, and cuts each piece before every mark. */
static int metaspace(const Cut *c, int first, const Pieces *p, Pieces *out)
{
    const Normal blanks = {NORMAL_REPLACE, " ", c->text};
    size_t mark = strlen(c->text);
    for (size_t i = 0; i < p->spans; i++) {
        const char *text = p->text.byte + p->span[i].begin;
        size_t bytes = p->span[i].end - p->span[i].begin, from = out->text.count;
        int prefix = c->prefix == PREFIX_ALWAYS || (c->prefix == PREFIX_FIRST && first && i == 0);
        if (prefix && !begins_with(text, bytes, " ") && !begins_with(text, bytes, c->text))
            TRY(buffer_add(&out->text, c->text, mark));
        TRY(normal_apply(&blanks, text, bytes, &out->text));
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

/* out: pieces of p's text, or of a text of its own. */
static int cut_pieces(const Cut *c, const char *file, int first, const Pieces *p, Pieces *out)
{
    if (c->kind == CUT_METASPACE) return metaspace(c, first, p, out);
    if (c->kind == CUT_BYTES && c->prefix) return begin_blank(p, out);
    if (c->kind == CUT_BYTES || c->kind == CUT_SPLIT) return split_all(c, file, p, out);
    for (size_t i = 0; i < p->spans; i++) TRY(by_kind(c, p->text.byte, p->span[i], out));
    return 0;
}

static int cut_once(const Cut *c, const char *file, int first, Pieces *p)
{
    Pieces out = {{0}};
    int code = cut_pieces(c, file, first, p, &out);
    if (!out.text.byte && code == 0) out.text = p->text, p->text = (Buffer){0};
    pieces_free(p);
    *p = out;
    return code;
}

int cut_apply(const Cut *c, const char *file, int first, Pieces *p)
{
    Cut pattern = *c;
    if (c->kind != CUT_BYTES || c->prefix) TRY(cut_once(c, file, first, p));
    if (c->kind != CUT_BYTES || !c->code) return 0;
    pattern.prefix = 0;
    return cut_once(&pattern, file, first, p);
}

void pieces_free(Pieces *p)
{
    buffer_free(&p->text);
    memory_free(p->span);
    *p = (Pieces){{0}};
}
