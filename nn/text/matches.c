/* matches.c: compiles patterns and finds all their matches in a text (tokenizer_steps.h). Patterns run on PCRE2. */
#include <string.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

/* Steps of a match, and kibibytes that it may take: a stranger's pattern ends. */
enum { MATCH_STEPS = 10000000, MATCH_KIBIBYTES = 65536 };

int cut_compile(const char *file, const char *pattern, int form, pcre2_code **code)
{
    SCOPED(buffer_free) Buffer b = {0};
    int error = 0;
    PCRE2_SIZE at = 0;
    uint32_t how = PCRE2_UTF | (form == PATTERN_TEXT ? PCRE2_LITERAL : 0);
    PCRE2_UCHAR words[128];
    *code = NULL;
    int written = form != PATTERN_ONIGURUMA ? buffer_add(&b, pattern, strlen(pattern))
                                            : pattern_translate(pattern, &b);
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

/* A search in one piece. */
typedef struct {
    const pcre2_code *code;
    const char *file, *text;
} Search;

/* Gives the next match in text + from .. end; none: one behind the end. */
static int next_match(const Search *s, size_t begin, size_t from, size_t end, Matches *out, Span *m)
{
    *m = (Span){SIZE_MAX, SIZE_MAX};
    int code = pcre2_match(s->code, (PCRE2_SPTR)s->text + begin, end - begin, from - begin,
                           PCRE2_NO_UTF_CHECK, out->found, out->limits);
    if (code == PCRE2_ERROR_NOMATCH) return 0;
    if (code < 0)
        return error_set(ERR_INPUT, "%s: the tokenizer's pattern gives up on it (PCRE2: %d)",
                         s->file, code);
    PCRE2_SIZE *at = pcre2_get_ovector_pointer(out->found);
    *m = (Span){begin + at[0], begin + at[1]};
    return 0;
}

/* Makes room for one match, without its groups. */
static int begin(Matches *m)
{
    if (m->found) return 0;
    m->found = pcre2_match_data_create(1, NULL);
    m->limits = pcre2_match_context_create(NULL);
    if (!m->found || !m->limits) return error_set(ERR_MEMORY, "out of memory");
    pcre2_set_match_limit(m->limits, MATCH_STEPS);
    pcre2_set_heap_limit(m->limits, MATCH_KIBIBYTES);
    return 0;
}

/* A match of nothing where the last one ended is passed over: the search goes on behind the next character, as in the crate
 * `onig`. */
int matches_find(const pcre2_code *code, const char *file, const char *text, Span piece,
                 Matches *out)
{
    const Search s = {code, file, text};
    size_t last = SIZE_MAX, cut = piece.begin;
    TRY(begin(out));
    for (size_t from = piece.begin; from <= piece.end;) {
        Span m;
        TRY(next_match(&s, piece.begin, from, piece.end, out, &m));
        if (m.end == SIZE_MAX) break;
        if (m.begin == m.end && m.end == last) {
            ucs4_t c;
            from += from == piece.end
                        ? 1
                        : (size_t)u8_mbtouc(&c, (const uint8_t *)text + from, piece.end - from);
            continue;
        }
        if (cut < m.begin) TRY(memory_add(out->match, out->count, (Match){{cut, m.begin}, 0}));
        TRY(memory_add(out->match, out->count, (Match){m, 1}));
        from = cut = last = m.end;
    }
    return cut < piece.end ? memory_add(out->match, out->count, (Match){{cut, piece.end}, 0}) : 0;
}

void matches_free(Matches *m)
{
    memory_free(m->match);
    pcre2_match_data_free(m->found);
    pcre2_match_context_free(m->limits);
    *m = (Matches){0};
}
