/* tokenise.c: applies tokenisations, which are lists of rules that put blanks around characters. Each rule goes over
 * the line once, from left to right, and does not look again at the characters that it matched. So in `a..b` only the
 * first full stop is behind a letter for rule 2 of 13a. */
#include "studies/metrics/tokenise.h"

#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <unistr.h>

#include "kernels/error.h"

/* ---- classes of characters ----------------------------------------------------------------------- */

int tokenise_is_blank(uint32_t c)
{
    return (c >= 0x1C && c <= 0x1F) || uc_is_property_white_space(c);
}

/* MARK: ASCII punctuation, symbols and the blank, without ' , - . */
enum { NONE, MARK, DIGIT, OTHER_THAN_DIGIT, STOP, DASH, OTHER_THAN_NUMBER, PUNCTUATION, SYMBOL };

static int is(int class, uint32_t c)
{
    static const char marks[] = " !\"#$%&()*+/:;<=>?@[\\]^_`{|}~";
    switch (class) {
    case MARK: return c < 0x80 && memchr(marks, (int)c, sizeof marks - 1) != NULL;
    case DIGIT: return c >= '0' && c <= '9';
    case OTHER_THAN_DIGIT: return c < '0' || c > '9';
    case STOP: return c == '.' || c == ',';
    case DASH: return c == '-';
    case OTHER_THAN_NUMBER: return !uc_is_general_category_withtable(c, UC_CATEGORY_MASK_N);
    case PUNCTUATION: return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_P);
    default: return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_S);
    }
}

/* ---- rules --------------------------------------------------------------------------------------- */

/* A rule matches one character, or two, between which it puts a blank. One more blank goes before or behind two; a
 * single one gets a blank on both sides. */
typedef struct {
    int first, second; /* second NONE: a single character */
    int before;        /* 1: a blank before the first; 0: behind the second */
} Rule;

static const Rule rules_13a[] = {
    {MARK, NONE, 1},             /* a(b   -> a ( b */
    {OTHER_THAN_DIGIT, STOP, 0}, /* a.b   -> a . b */
    {STOP, OTHER_THAN_DIGIT, 1}, /* 5.b   -> 5 . b, the end of the line being a blank */
    {DIGIT, DASH, 0},            /* 1-b   -> 1 - b */
    {0}};

static const Rule rules_intl[] = {{OTHER_THAN_NUMBER, PUNCTUATION, 0}, /* a.b   -> a . b */
                                  {PUNCTUATION, OTHER_THAN_NUMBER, 1}, /* 5.b   -> 5 . b */
                                  {SYMBOL, NONE, 1},                   /* 5+b   -> 5 + b */
                                  {0}};

static int apply(const Rule *r, const Symbols *in, Symbols *out)
{
    size_t n = 0;
    out->n = 0;
    TRY(symbols_room(out, 3 * in->n)); /* two blanks around each */
    for (size_t i = 0; i < in->n; i++) {
        uint32_t c = in->x[i];
        int matches =
            is(r->first, c) && (!r->second || (i + 1 < in->n && is(r->second, in->x[i + 1])));
        if (matches && r->before) out->x[n++] = ' ';
        out->x[n++] = c;
        if (matches) out->x[n++] = ' ';
        if (!matches || !r->second) continue;
        out->x[n++] = in->x[++i];
        if (!r->before) out->x[n++] = ' ';
    }
    out->n = n;
    return 0;
}

static void swap(Symbols *a, Symbols *b)
{
    Symbols c = *a;
    *a = *b;
    *b = c;
}

static int apply_all(const Rule *r, Symbols *text, Symbols *room)
{
    for (; r->first; r++) {
        TRY(apply(r, text, room));
        swap(text, room);
    }
    return 0;
}

/* ---- 13a's escapes ------------------------------------------------------------------------------- */

/* Replaces every `word` by the character, or removes it where that is 0. */
static void replace(Symbols *s, const char *word, uint32_t character)
{
    size_t length = strlen(word), n = 0;
    for (size_t i = 0; i < s->n;) {
        size_t k = 0;
        while (k < length && i + k < s->n && s->x[i + k] == (unsigned char)word[k]) k++;
        uint32_t c = k == length ? character : s->x[i];
        if (c) s->x[n++] = c;
        i += k == length ? length : 1;
    }
    s->n = n;
}

/* Replaces the escapes, and puts blanks at the ends of the line for the rules. */
static int prepare_13a(Symbols *text)
{
    replace(text, "<skipped>", 0);
    replace(text, "&quot;", '"');
    replace(text, "&amp;", '&');
    replace(text, "&lt;", '<');
    replace(text, "&gt;", '>');
    TRY(symbols_room(text, text->n + 2));
    memmove(text->x + 1, text->x, text->n * sizeof *text->x);
    text->n += 2;
    text->x[0] = text->x[text->n - 1] = ' ';
    return 0;
}

/* ---- lines --------------------------------------------------------------------------------------- */

/* Returns 1 where the nearest character before i (step -1) or behind it (1), without case-ignorable ones, has a
 * case. */
static int is_cased_beside(const Symbols *s, size_t i, size_t step)
{
    for (i += step; i < s->n && uc_is_property_case_ignorable(s->x[i]);) i += step;
    return i < s->n && uc_is_property_cased(s->x[i]); /* before the first, i is SIZE_MAX */
}

/* Makes the text lower case. Only two characters have a lower case that is not one character or depends on the text
 * around: a sigma at the end of a word becomes another sigma, and I with a dot becomes an i and a dot. Source: The
 * Unicode Standard 14, section 3.13, table 3-17, and SpecialCasing.txt. */
static int make_lower(Symbols *text, Symbols *room)
{
    enum { SIGMA = 0x3A3, SMALL_SIGMA = 0x3C3, END_SIGMA = 0x3C2, DOTTED_I = 0x130, DOT = 0x307 };
    size_t n = 0;
    room->n = 0;
    TRY(symbols_room(room, 2 * text->n));
    for (size_t i = 0; i < text->n; i++) {
        uint32_t c = text->x[i];
        room->x[n++] = uc_tolower(c);
        if (c == DOTTED_I) room->x[n - 1] = 'i', room->x[n++] = DOT;
        if (c != SIGMA) continue;
        int ends = is_cased_beside(text, i, SIZE_MAX) && !is_cased_beside(text, i, 1);
        room->x[n - 1] = ends ? END_SIGMA : SMALL_SIGMA;
    }
    room->n = n;
    swap(text, room);
    return 0;
}

int tokenise_read(const char *text, size_t bytes, int lowercase, Symbols *out, Symbols *room)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + bytes;
    out->n = 0;
    TRY(symbols_room(out, bytes)); /* a character has at least one byte */
    while (at < end) {
        ucs4_t c;
        at += u8_mbtouc_unsafe(&c, at, (size_t)(end - at));
        out->x[out->n++] = c;
    }
    return lowercase ? make_lower(out, room) : 0;
}

static void join_words(Symbols *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (tokenise_is_blank(s->x[i])) continue;
        if (n && tokenise_is_blank(s->x[i - 1])) s->x[n++] = ' ';
        s->x[n++] = s->x[i];
    }
    s->n = n;
}

int tokenise(int how, Symbols *text, Symbols *room)
{
    while (text->n && tokenise_is_blank(text->x[text->n - 1])) text->n--;
    if (how == TOKENIZE_13A) TRY(prepare_13a(text));
    if (how == TOKENIZE_13A) TRY(apply_all(rules_13a, text, room));
    if (how == TOKENIZE_INTL) TRY(apply_all(rules_intl, text, room));
    join_words(text);
    return 0;
}

static int is_ascii_punctuation(uint32_t c)
{
    return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
           (c >= '{' && c <= '~');
}

int tokenise_punctuation(Symbols *text, Symbols *room)
{
    room->n = 0;
    TRY(symbols_room(room, 2 * text->n)); /* a blank for a character at most */
    for (size_t i = 0, end; i < text->n; i = end) {
        for (end = i + 1; end < text->n && text->x[end] != ' ';) end++;
        size_t word = i + (text->x[i] == ' '); /* behind the blank before it */
        int several = end - word > 1, ends = several && is_ascii_punctuation(text->x[end - 1]);
        int begins = several && !ends && is_ascii_punctuation(text->x[word]);
        for (size_t k = i; k < end; k++) {
            if ((ends && k == end - 1) || (begins && k == word + 1)) room->x[room->n++] = ' ';
            room->x[room->n++] = text->x[k];
        }
    }
    swap(text, room);
    return 0;
}

void tokenise_squeeze(Symbols *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++)
        if (!tokenise_is_blank(text->x[i])) text->x[n++] = text->x[i];
    text->n = n;
}

int tokenise_is_done(const char *text, size_t bytes)
{
    static const char *const escapes[] = {"&apos;", "&quot;", "&#91;", "&#93;", "&#124;"};
    for (size_t i = 0; i + 1 < bytes; i++)
        if (text[i] == ' ' && (text[i + 1] == '.' || text[i + 1] == ',') &&
            (i + 2 == bytes || text[i + 2] == ' '))
            return 1;
    for (size_t k = 0; k < sizeof escapes / sizeof *escapes; k++)
        if (memmem(text, bytes, escapes[k], strlen(escapes[k]))) return 1;
    return 0;
}
