/* pattern.c: writes a regular expression of Oniguruma, which the library `tokenizers` runs, for PCRE2 (tokenizer_steps.h).
 *
 * The two read the same letters differently: {n,m}+ is a repetition of {n,m} there and possessive here, && in a class is
 * an intersection, \h a hexadecimal digit, (?m) lets `.` match an end of a line, ^ and $ stand at every line, and \w, \b
 * and [[:alpha:]] are made of other characters. So nothing is handed through: what is understood is written anew in words
 * that mean one thing, characters by number and classes by properties of Unicode, and all else is refused by its name.
 * How far Unicode has got, each library knows for itself: characters of its latest versions may differ.
 *
 * Source: Oniguruma's doc/RE (syntax Ruby, which is the library's); what that leaves open was asked of `tokenizers` 0.23.2,
 * class by class for all characters (tests/nn/test_tokenizer.c). */
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/text/tokenizer_steps.h"

enum { DEPTH_MOST = 50 };

typedef struct {
    const char *pattern, *at, *end; /* of the pattern */
    Buffer *out;
    int caseless, dot_all; /* of the group that is read */
    /* caseless: the character before, in lower case; 0: none that folds with the next */
    uint32_t before;
    int depth;
} Reading;

static int refuse(const Reading *r, const char *what)
{
    return error_set(ERR_INPUT, "%s at byte %zu is not supported", what,
                     (size_t)(r->at - r->pattern) + 1);
}

static int put(Buffer *b, const char *text)
{
    return buffer_add(b, text, strlen(text));
}

/* Takes `text`, if it follows. */
static int take(Reading *r, const char *text)
{
    size_t n = strlen(text);
    int is = (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
    if (is) r->at += n;
    return is;
}

static uint32_t take_character(Reading *r)
{
    ucs4_t c = 0;
    if (r->at < r->end) r->at += u8_mbtouc(&c, (const uint8_t *)r->at, (size_t)(r->end - r->at));
    return c;
}

static int put_character(Buffer *b, uint32_t c)
{
    char text[16];
    snprintf(text, sizeof text, "\\x{%x}", c);
    return put(b, text);
}

/* ---- sets of characters -------------------------------------------------------------------------- */

#define WORDS "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}"
#define LATIN_NUMERALS "\\xb2\\xb3\\xb9\\xbc-\\xbe" /* of \\w outside of brackets alone */
#define BLANKS "\\t-\\r\\x85\\p{Z}"

/* What a name of a class stands for inside of brackets of PCRE2. property NULL: as posix. */
static const struct {
    const char *name, *posix, *property;
} sets[] = {{"alpha", "\\p{Alphabetic}"},
            {"alphabetic", NULL, "\\p{Alphabetic}"},
            {"alnum", "\\p{Alphabetic}\\p{Nd}"},
            {"ascii", "\\x00-\\x7f"},
            {"blank", "\\t\\p{Zs}"},
            {"cntrl", "\\p{Cc}"},
            {"digit", "\\p{Nd}"},
            {"lower", "\\p{Lowercase}"},
            {"lowercase", NULL, "\\p{Lowercase}"},
            {"upper", "\\p{Uppercase}"},
            {"uppercase", NULL, "\\p{Uppercase}"},
            {"punct", "\\p{P}\\p{S}", "\\p{P}"},
            {"space", BLANKS},
            {"whitespace", NULL, BLANKS},
            {"word", WORDS},
            {"xdigit", "0-9A-Fa-f"},
            {"any", NULL, "\\x00-\\x{10ffff}"},
            {"lc", NULL, "\\p{L&}"}};

/* Gives the set of \d, \h, \s, \w, whose negation is the capital; NULL: the letter is none. */
static const char *set_of_letter(char c, int inside)
{
    switch (c | 0x20) {
    case 'd': return "\\p{Nd}";
    case 'h': return "0-9A-Fa-f";
    case 's': return BLANKS;
    case 'w': return inside ? WORDS : WORDS LATIN_NUMERALS;
    default: return NULL;
    }
}

/* Reads a name up to `close`, in small letters without blanks, '-' and '_'; 0: it does not end, or is too long. */
static int take_name(Reading *r, const char *close, char name[40])
{
    size_t n = 0;
    for (; r->at < r->end && n < 39; r->at++) {
        unsigned char c = (unsigned char)*r->at;
        if (take(r, close)) return name[n] = 0, n > 0;
        if (c == ' ' || c == '-' || c == '_') continue;
        if (!((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && !(c >= '0' && c <= '9')) return 0;
        name[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
    return 0;
}

/* Writes the set of [:name:] or of \p{name}. A name that is neither a category nor in the table is a script, not its
 * extensions; PCRE2 refuses those that it does not know. */
static int set_of_name(const char *name, int posix, char set[64])
{
    static const char categories[] =
        " c cc cf cn co l ll lm lo lt lu m mc me mn n nd nl no p pc pd "
        "pe pf pi po ps s sc sk sm so z zl zp zs ";
    char entry[48];
    snprintf(entry, sizeof entry, " %s ", name);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const char *is = posix || !sets[i].property ? sets[i].posix : sets[i].property;
        if (is && strcmp(sets[i].name, name) == 0) return snprintf(set, 64, "%s", is), 1;
    }
    if (posix) return 0;
    if (strstr(categories, entry))
        snprintf(set, 64, "\\p{%c%s}", name[0] & ~0x20, name + 1);
    else
        snprintf(set, 64, "\\p{sc:%s}", name);
    return 1;
}

/* ---- escapes ------------------------------------------------------------------------------------- */

/* What an escape stands for: a character, or a set or what is not in it. */
typedef struct {
    uint32_t character;
    char set[64];
    int negated;
} Escape;

/* Reads `least` to `most` hexadecimal digits; 0: there are fewer. */
static int take_hex(Reading *r, size_t least, size_t most, uint32_t *c)
{
    static const char digits[] = "0123456789abcdef";
    size_t n = 0;
    for (*c = 0; n < most && r->at < r->end; n++, r->at++) {
        const char *digit = strchr(digits, *r->at >= 'A' ? *r->at | 0x20 : *r->at);
        if (!digit || !*r->at) break;
        *c = *c * 16 + (uint32_t)(digit - digits);
    }
    return n >= least;
}

static int read_hex(Reading *r, char c, Escape *e)
{
    int long_ = c == 'x' && take(r, "{");
    int is = long_ ? take_hex(r, 1, 8, &e->character) && take(r, "}")
                   : take_hex(r, c == 'u' ? 4 : 2, c == 'u' ? 4 : 2, &e->character);
    int byte = c == 'x' && !long_ && e->character >= 0x80; /* half a character */
    uint32_t x = e->character;
    if (is && !byte && x <= 0x10ffff && (x < 0xd800 || x > 0xdfff)) return 0;
    return refuse(r, "the escape before");
}

static int read_property(Reading *r, char c, int inside, Escape *e)
{
    char name[40];
    if (!take(r, "{")) return refuse(r, "\\p without {}");
    e->negated = (c == 'P') ^ take(r, "^");
    if (!take_name(r, "}", name)) return refuse(r, "the name of a property");
    set_of_name(name, 0, e->set);
    if (!inside && strcmp(e->set, WORDS) == 0) strcat(e->set, LATIN_NUMERALS);
    return 0;
}

/* Reads what follows a backslash. */
static int read_escape(Reading *r, int inside, Escape *e)
{
    static const char names[] = "tnrfvae", values[] = "\t\n\r\f\v\a\033";
    *e = (Escape){0};
    if (r->at == r->end) return refuse(r, "a backslash at the end");
    char c = *r->at;
    const char *set = set_of_letter(c, inside), *known = strchr(names, c);
    if ((unsigned char)c >= 0x80 ||
        !(strchr("0123456789", c) || set || known || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z')))
        return e->character = take_character(r), 0;
    r->at++;
    if (set) return snprintf(e->set, sizeof e->set, "%s", set), e->negated = c < 'a', 0;
    if (known) return e->character = (uint32_t)values[known - names], 0;
    if (c == 'x' || c == 'u') return read_hex(r, c, e);
    if (c == 'p' || c == 'P') return read_property(r, c, inside, e);
    r->at -= 2;
    char what[] = "\\?";
    what[1] = c;
    return refuse(r, what);
}

/* ---- classes ------------------------------------------------------------------------------------- */

/* One operand of && while it is read: what stands in brackets, and alternatives that are classes of their own. */
typedef struct {
    Buffer plain, nested;
    int characters, ranges; /* of plain, and all else in it */
    uint32_t last;
} Operand;

static void operand_free(Operand *o)
{
    buffer_free(&o->plain);
    buffer_free(&o->nested);
}

static int read_class(Reading *r, Buffer *out);

/* Adds a set, or all characters that are not in it. */
static int add_set(Reading *r, Operand *o, const char *set, int negated)
{
    if (r->caseless) return refuse(r, "a set of characters in a class with (?i)");
    o->ranges++;
    if (!negated) return put(&o->plain, set);
    TRY(put(&o->nested, "|[^"));
    TRY(put(&o->nested, set));
    return put(&o->nested, "]");
}

/* Reads a character of a class, or a set, which is added; *is out: 1: a character. */
static int read_member(Reading *r, Operand *o, uint32_t *c, int *is)
{
    Escape e = {0};
    *is = 1;
    if (take(r, "\\"))
        TRY(read_escape(r, 1, &e));
    else
        e.character = take_character(r);
    *c = e.character;
    if (r->caseless && e.character >= 0x80) return refuse(r, "(?i) beyond ASCII");
    return *e.set ? *is = 0, add_set(r, o, e.set, e.negated) : 0;
}

/* Reads c or c-d. A '-' that is no range stands at an end of the class. */
static int read_range(Reading *r, Operand *o, int first)
{
    uint32_t from, to;
    int is, dash = *r->at == '-';
    TRY(read_member(r, o, &from, &is));
    int closes = r->at < r->end && *r->at == ']';
    if (dash && !first && !closes) return refuse(r, "'-' in the middle of a class");
    if (!is) return 0;
    TRY(put_character(&o->plain, from));
    o->characters++, o->last = from;
    if (r->end - r->at < 2 || r->at[0] != '-' || r->at[1] == ']') return 0;
    r->at++;
    if (*r->at == '[' || *r->at == '-') return refuse(r, "the end of a range");
    TRY(read_member(r, o, &to, &is));
    if (!is || to < from) return refuse(r, "a range without an end");
    o->ranges++;
    TRY(put(&o->plain, "-"));
    return put_character(&o->plain, to);
}

static int read_posix(Reading *r, Operand *o)
{
    char name[40], set[64];
    int negated = take(r, "^");
    if (!take_name(r, ":]", name) || !set_of_name(name, 1, set))
        return refuse(r, "the name of a class before");
    return add_set(r, o, set, negated);
}

/* Reads up to && or the class's end. */
static int read_operand(Reading *r, Operand *o)
{
    for (int first = 1; r->at < r->end && *r->at != ']'; first = 0) {
        if (r->end - r->at > 1 && memcmp(r->at, "&&", 2) == 0) break;
        if (take(r, "[:")) {
            TRY(read_posix(r, o));
        } else if (take(r, "[")) {
            TRY(put(&o->nested, "|"));
            TRY(read_class(r, &o->nested));
        } else {
            TRY(read_range(r, o, first));
        }
    }
    return o->plain.count || o->nested.count ? 0 : refuse(r, "an empty class");
}

/* Writes an operand: [..], or (?:[..]|..|..), one of whose alternatives has the character. */
static int put_operand(const Operand *o, Buffer *out)
{
    TRY(put(out, o->nested.count ? "(?:" : ""));
    if (o->plain.count) {
        TRY(put(out, "["));
        TRY(buffer_add(out, o->plain.byte, o->plain.count));
        TRY(put(out, "]"));
    }
    size_t bar = !o->plain.count; /* it stands before the first, too */
    if (o->nested.count) TRY(buffer_add(out, o->nested.byte + bar, o->nested.count - bar));
    return put(out, o->nested.count ? ")" : "");
}

/* Two characters that one may stand for in Unicode without regard to case, as U+00DF for ss, are one for Oniguruma and
 * never for PCRE2. */
static int check_fold(Reading *r, uint32_t c)
{
    static const char *const folds[] = {"ff", "fi", "fl", "ss", "st"};
    if (!r->caseless) return r->before = 0, 0;
    if (c >= 0x80) return refuse(r, "(?i) beyond ASCII");
    c = c >= 'A' && c <= 'Z' ? c | 0x20 : c;
    for (size_t i = 0; i < sizeof folds / sizeof *folds; i++)
        if (r->before == (uint32_t)folds[i][0] && c == (uint32_t)folds[i][1])
            return refuse(r, "(?i) before a pair of letters that are one with others of Unicode");
    r->before = c;
    return 0;
}

/* Reads a class behind its '['. What all operands have is matched by the last, where the others are seen ahead. */
static int read_class(Reading *r, Buffer *out)
{
    int negated = take(r, "^"), operands = 0, single = 0;
    SCOPED(buffer_free) Buffer all = {0};
    if (++r->depth > DEPTH_MOST) return refuse(r, "so deep a pattern");
    do {
        SCOPED(operand_free) Operand o = {0};
        TRY(read_operand(r, &o));
        int more = r->end - r->at > 1 && memcmp(r->at, "&&", 2) == 0;
        single =
            !operands++ && !more && !o.nested.count && o.characters == 1 && !o.ranges && !negated;
        if (single) TRY(check_fold(r, o.last));
        TRY(put(&all, more ? "(?=" : ""));
        TRY(put_operand(&o, &all));
        TRY(put(&all, more ? ")" : ""));
    } while (take(r, "&&"));
    r->depth--;
    if (!take(r, "]")) return refuse(r, "a class without an end");
    if (!single) r->before = 0;
    TRY(put(out, negated ? "(?:(?!" : "(?:"));
    TRY(buffer_add(out, all.byte, all.count));
    return put(out, negated ? ")(?s:.))" : ")");
}

/* ---- atoms --------------------------------------------------------------------------------------- */

static int read_alternatives(Reading *r);

/* Reads im-im, of (?im-im). */
static void take_flags(Reading *r)
{
    for (int on = 1; r->at < r->end && strchr("im-", *r->at); r->at++)
        if (*r->at == '-')
            on = 0;
        else
            *(*r->at == 'i' ? &r->caseless : &r->dot_all) = on;
}

/* Reads a group behind its '('. Flags alone are read where a group begins (read_first), since elsewhere the two differ in
 * how far they reach. */
static int read_group(Reading *r, int *anchor)
{
    static const char *const ways[] = {"?:", "?=", "?!", "?>", "?<=", "?<!"};
    const int caseless = r->caseless, dot_all = r->dot_all;
    size_t way = 0, ways_count = sizeof ways / sizeof *ways;
    while (way < ways_count && !take(r, ways[way])) way++;
    if (way == ways_count && take(r, "?")) {
        take_flags(r);
        if (!take(r, ":")) return refuse(r, "such a group");
    }
    *anchor = way < ways_count && way != 0 && way != 3;
    TRY(put(r->out, "("));
    TRY(put(r->out, way < ways_count && way ? ways[way] : r->caseless ? "?i:" : "?-i:"));
    TRY(read_alternatives(r));
    if (!take(r, ")")) return refuse(r, "a group without an end");
    r->caseless = caseless, r->dot_all = dot_all;
    return put(r->out, ")");
}

/* Writes a set outside of a class. With (?i) it has to have both cases of its letters. */
static int put_set(Reading *r, const Escape *e)
{
    static const char *const closed[] = {"\\p{Nd}", BLANKS, WORDS LATIN_NUMERALS, "\\p{L}",
                                         "\\p{N}"};
    int is = !r->caseless;
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        is |= strcmp(e->set, closed[i]) == 0;
    if (!is) return refuse(r, "(?i) before a set that has one case of a letter alone");
    r->before = 0;
    TRY(put(r->out, e->negated ? "[^" : "["));
    TRY(put(r->out, e->set));
    return put(r->out, "]");
}

static int read_escaped(Reading *r, int *anchor)
{
#define WORD "[" WORDS LATIN_NUMERALS "]"
    static const struct {
        char name;
        const char *text;
    } anchors[] = {{'A', "\\A"},
                   {'z', "\\z"},
                   {'Z', "(?=\\n?\\z)"},
                   {'b', "(?:(?<=" WORD ")(?!" WORD ")|(?<!" WORD ")(?=" WORD "))"},
                   {'B', "(?:(?<=" WORD ")(?=" WORD ")|(?<!" WORD ")(?!" WORD "))"}};
    Escape e;
    for (size_t i = 0; i < sizeof anchors / sizeof *anchors; i++)
        if (r->at < r->end && *r->at == anchors[i].name) {
            r->at++, r->before = 0;
            return *anchor = 1, put(r->out, anchors[i].text);
        }
    TRY(read_escape(r, 0, &e));
    if (*e.set) return put_set(r, &e);
    TRY(check_fold(r, e.character));
    return put_character(r->out, e.character);
}

/* Reads one atom. anchor out: 1: it takes no room and is not repeated. */
static int read_atom(Reading *r, int *anchor)
{
    *anchor = 0;
    if (take(r, "(")) return read_group(r, anchor);
    if (take(r, "[")) return read_class(r, r->out);
    if (take(r, "\\")) return read_escaped(r, anchor);
    if (strchr("*+?", *r->at)) return refuse(r, "a repetition of nothing");
    if (take(r, "^")) return r->before = 0, *anchor = 1, put(r->out, "(?:\\A|(?<=\\n)(?!\\z))");
    if (take(r, "$")) return r->before = 0, *anchor = 1, put(r->out, "(?=\\n|\\z)");
    if (take(r, ".")) return r->before = 0, put(r->out, r->dot_all ? "(?s:.)" : "[^\\n]");
    uint32_t c = take_character(r);
    TRY(check_fold(r, c));
    return put_character(r->out, c);
}

/* ---- repetitions --------------------------------------------------------------------------------- */

/* Puts what was written from `from` on in a group. */
static int wrap(Reading *r, size_t from)
{
    static const char open[] = "(?:";
    size_t n = sizeof open - 1;
    TRY(buffer_add(r->out, open, n));
    memmove(r->out->byte + from + n, r->out->byte + from, r->out->count - from - n);
    memcpy(r->out->byte + from, open, n);
    return put(r->out, ")");
}

/* Reads {n}, {n,}, {,m}, {n,m} as *text; 0: it is none, and its '{' stands for itself. falls out: n > m. */
static int take_interval(Reading *r, char text[32], int *fixed, int *falls)
{
    const char *low = r->at + 1, *high = low;
    if (*r->at != '{') return 0;
    size_t n = strspn(low, "0123456789"), m = 0;
    *fixed = low[n] != ',';
    if (!*fixed) high = low + n + 1, m = strspn(high, "0123456789");
    if (high[*fixed ? n : m] != '}' || !(n || m) || n > 5 || m > 5) return 0;
    *falls = m && strtol(low, NULL, 10) > strtol(high, NULL, 10);
    r->at = high + (*fixed ? n : m) + 1;
    snprintf(text, 32, "{%.*s%s%.*s}", n ? (int)n : 1, n ? low : "0", *fixed ? "" : ",", (int)m,
             high);
    return 1;
}

/* Reads what repeats the atom that was written from `from` on. *, +, ? may have a + or ? behind; an interval a ? where it
 * is not fixed. All else that follows repeats the repetition. */
static int read_repetitions(Reading *r, size_t from, int anchor)
{
    static const char *const plain[] = {"*+", "*?", "*", "++", "+?", "+", "?+", "??", "?"};
    char text[32];
    for (int fixed = 1, falls = 0, i, first = 1; r->at < r->end; first = 0) {
        for (i = 0; i < 9 && !take(r, plain[i]); i++) continue;
        if (i == 9 && !take_interval(r, text, &fixed, &falls)) return 0;
        if (anchor) return refuse(r, "a repetition of what takes no room");
        if (falls) return refuse(r, "an interval that falls");
        if (!first) TRY(wrap(r, from));
        TRY(put(r->out, i < 9 ? plain[i] : text));
        if (i == 9 && !fixed && take(r, "?")) TRY(put(r->out, "?"));
    }
    return 0;
}

/* Reads flags for a whole group, or none. */
static int read_first(Reading *r)
{
    const char *at = r->at;
    int caseless = r->caseless, dot_all = r->dot_all;
    if (!take(r, "(?")) return 0;
    take_flags(r);
    if (take(r, ")")) return put(r->out, r->caseless ? "(?i)" : "(?-i)");
    r->at = at, r->caseless = caseless, r->dot_all = dot_all;
    return 0;
}

static int read_alternatives(Reading *r)
{
    if (++r->depth > DEPTH_MOST) return refuse(r, "so deep a pattern");
    TRY(read_first(r));
    while (r->at < r->end && *r->at != ')') {
        size_t from = r->out->count;
        int anchor;
        if (take(r, "|")) {
            r->before = 0;
            TRY(put(r->out, "|"));
            continue;
        }
        TRY(read_atom(r, &anchor));
        TRY(read_repetitions(r, from, anchor));
    }
    r->depth--;
    return 0;
}

int pattern_translate(const char *pattern, Buffer *out)
{
    Reading r = {.pattern = pattern, .at = pattern, .end = pattern + strlen(pattern), .out = out};
    TRY(read_alternatives(&r));
    return r.at == r.end ? 0 : refuse(&r, "a ')' without its '('");
}
