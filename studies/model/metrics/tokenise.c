/* tokenise.c: applies tokenisations, which are lists of rules that put blanks around characters. Each rule goes over
 * the line once, from left to right, and does not look again at the characters that it matched. So in `a..b` only the
 * first full stop is behind a letter for rule 2 of 13a. */
#include "studies/model/metrics/tokenise.h"

#include <string.h>
#include <unicase.h>
#include <unictype.h>
#include <unistr.h>

#include "kernels/base/error.h"

/* ---- classes of characters ----------------------------------------------------------------------- */

static int is_blank(uint32_t c)
{
    return (c >= 0x1C && c <= 0x1F) || uc_is_property_white_space(c);
}

/* MARK: ASCII punctuation, symbols and the blank, without ' , - .; SPECIAL: what is none of letter, digit, blank and
 * . ' ` , - */
enum {
    NONE,
    MARK,
    DIGIT,
    OTHER_THAN_DIGIT,
    STOP,
    DASH,
    NUMBER,
    OTHER_THAN_NUMBER,
    SPECIAL,
    COMMA,
    QUOTE,
    LETTER,
    OTHER_THAN_LETTER,
    OTHER_THAN_EITHER, /* letter or number */
    LETTER_S
};
enum { DOT_OF_SEVERAL = 0x110000 }; /* a full stop beside another one; no character */

static int is(int class, uint32_t c)
{
    static const char marks[] = " !\"#$%&()*+/:;<=>?@[\\]^_`{|}~";
    switch (class) {
    case MARK: return c < 0x80 && memchr(marks, (int)c, sizeof marks - 1) != NULL;
    case DIGIT: return c >= '0' && c <= '9';
    case OTHER_THAN_DIGIT: return c < '0' || c > '9';
    case STOP: return c == '.' || c == ',';
    case DASH: return c == '-';
    case NUMBER: return uc_is_general_category_withtable(c, UC_CATEGORY_MASK_N);
    case OTHER_THAN_NUMBER: return !is(NUMBER, c);
    case COMMA: return c == ',';
    case QUOTE: return c == '\'';
    case LETTER: return uc_is_property_alphabetic(c);
    case OTHER_THAN_LETTER: return !is(LETTER, c);
    case OTHER_THAN_EITHER: return !is(LETTER, c) && !is(NUMBER, c);
    case LETTER_S: return c == 's';
    default:
        return c != DOT_OF_SEVERAL && (c >= 0x80 || !memchr(" .'`,-", (int)c, 6)) &&
               !is(LETTER, c) && !uc_is_general_category_withtable(c, UC_CATEGORY_MASK_Nd);
    }
}

/* ---- rules --------------------------------------------------------------------------------------- */

/* A rule matches one to three characters and puts blanks before those that `blanks` names: 1 the first, 2 the second, 4
 * the third, and so on to the character behind the last. */
typedef struct {
    int class[3]; /* NONE: no further character */
    int blanks;
} Rule;

static const Rule rules_13a[] = {
    {{MARK}, 3},                   /* a(b   -> a ( b */
    {{OTHER_THAN_DIGIT, STOP}, 6}, /* a.b   -> a . b */
    {{STOP, OTHER_THAN_DIGIT}, 3}, /* 5.b   -> 5 . b, the end of the line being a blank */
    {{DIGIT, DASH}, 6},            /* 1-b   -> 1 - b */
    {{0}}};

/* Moses, before apostrophes. */
static const Rule rules_moses[] = {{{SPECIAL}, 3},                  /* a(b   -> a ( b */
                                   {{OTHER_THAN_NUMBER, COMMA}, 6}, /* a,5   -> a , 5 */
                                   {{COMMA, OTHER_THAN_NUMBER}, 3}, /* 5,b   -> 5 , b */
                                   {{0}}};

static const Rule rules_en[] = {{{OTHER_THAN_LETTER, QUOTE, OTHER_THAN_LETTER}, 6},
                                {{OTHER_THAN_EITHER, QUOTE, LETTER}, 6},
                                {{LETTER, QUOTE, OTHER_THAN_LETTER}, 6}, /* dogs' a -> dogs ' a */
                                {{LETTER, QUOTE, LETTER}, 2},            /* dog's   -> dog 's */
                                {{NUMBER, QUOTE, LETTER_S}, 2},          /* 1990's  -> 1990 's */
                                {{0}}};

static const Rule rules_de[] = {{{QUOTE}, 3}, {{0}}};

static const Rule rules_fr[] = {{{OTHER_THAN_LETTER, QUOTE, OTHER_THAN_LETTER}, 6},
                                {{OTHER_THAN_LETTER, QUOTE, LETTER}, 6},
                                {{LETTER, QUOTE, OTHER_THAN_LETTER}, 6},
                                {{LETTER, QUOTE, LETTER}, 4}, /* l'ami -> l' ami */
                                {{0}}};

static int apply(const Rule *r, const Symbols *in, Symbols *out)
{
    size_t n = 0;
    out->n = 0;
    TRY(symbols_room(out, 3 * in->n)); /* two blanks around each */
    for (size_t i = 0; i < in->n;) {
        size_t k = 0, length = 1;
        while (length < 3 && r->class[length]) length++;
        while (k < length && i + k < in->n && is(r->class[k], in -> x[i + k])) k++;
        if (k < length) {
            out->x[n++] = in->x[i++];
            continue;
        }
        for (k = 0; k <= length; k++) {
            if (r->blanks & 1 << k) out->x[n++] = ' ';
            if (k < length) out->x[n++] = in->x[i++];
        }
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
    for (; r->class[0]; r++) {
        TRY(apply(r, text, room));
        swap(text, room);
    }
    return 0;
}

/* ---- 13a's escapes ------------------------------------------------------------------------------- */

void tokenise_replace(Symbols *s, const char *word, uint32_t character)
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
    tokenise_replace(text, "<skipped>", 0);
    tokenise_replace(text, "&quot;", '"');
    tokenise_replace(text, "&amp;", '&');
    tokenise_replace(text, "&lt;", '<');
    tokenise_replace(text, "&gt;", '>');
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
        if (is_blank(s->x[i])) continue;
        if (n && is_blank(s->x[i - 1])) s->x[n++] = ' ';
        s->x[n++] = s->x[i];
    }
    s->n = n;
}

/* ---- Moses --------------------------------------------------------------------------------------- */

enum { ENGLISH, GERMAN, FRENCH };

/* Well-known abbreviations, behind which a full stop is no end of a sentence; those behind # only before a digit. */
static const char *const abbreviations[] = {
    [ENGLISH] =
        " Adm Bros Capt Cmdr Col Corp Cpl Dr Drs Gen Gov Hon Insp Lt MM Maj Messrs Mlle Mme Mr Mrs Ms Msgr Nos Nr Op "
        "Ph Prof Pvt Rep Reps Res Rev Sen Sens Sgt Sr St Supt rev v vs Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec "
        "# No Art pp ",
    [GERMAN] =
        " Ca Chr Co Corp Dr Gen Gov Ltd MM Mio Mme Mr Mrd Mrs Ms Nr Prof Sr St Std Zt bzgl bzw ca etc evtl ggf "
        "jun sen sog usf usw vgl vs # No Art pp ",
    [FRENCH] =
        " MM al art av boul ca cf chap dir env etc ex fasc fig hab ibid id inf ms pl pp sec sect suiv sup suppl "
        "tél vol vs éd # "};

/* Returns 1 where a full stop behind word (n) is no end: an abbreviation, or one letter (in English a capital, in French
 * not a); in German a number below 100 too. `digit`: a digit follows. */
static int is_abbreviation(int language, const uint32_t *word, size_t n, int digit)
{
    enum { MOST = 8 };
    char text[4 * MOST + 3] = " ";
    size_t bytes = 1;
    int digits = n <= 2 && word[0] != '0';
    if (n > MOST) return 0;
    for (size_t i = 0; i < n; i++) {
        digits = digits && is(DIGIT, word[i]);
        bytes += (size_t)u8_uctomb((uint8_t *)text + bytes, word[i], 4);
    }
    int small = n == 1 && word[0] >= 'a' && word[0] <= 'z';
    if (n == 1 && word[0] >= 'A' && word[0] <= 'Z') return 1;
    if (small && language == FRENCH && word[0] != 'a') return 1;
    if ((small || digits) && language == GERMAN) return 1;
    strcpy(text + bytes, " ");
    const char *found = strstr(abbreviations[language], text);
    return found && (digit || found < strchr(abbreviations[language], '#'));
}

/* Returns 1 where the full stop behind word (n), which is not the line's last, stays with it; next: what follows. */
static int keeps_stop(int language, const uint32_t *word, size_t n, uint32_t next)
{
    int stop = 0, letter = 0;
    for (size_t i = 0; i < n; i++) {
        stop |= word[i] == '.';
        letter |= is(LETTER, word[i]);
    }
    return (stop && letter) || uc_is_property_lowercase(next) ||
           is_abbreviation(language, word, n, is(DIGIT, next));
}

/* Cuts full stops off the ends of words. */
static int cut_stops(int language, const Symbols *in, Symbols *out)
{
    size_t n = 0;
    out->n = 0;
    TRY(symbols_room(out, 2 * in->n + 2));
    for (size_t i = 0, end; i < in->n; i = end + 1) {
        for (end = i; end < in->n && in->x[end] != ' ';) end++;
        size_t length = end - i;
        memcpy(out->x + n, in->x + i, length * sizeof *in->x);
        n += length;
        uint32_t last = in->x[end - 1];
        int cuts = last == '.' && length > 1 &&
                   (end == in->n || !keeps_stop(language, in->x + i, length - 1, in->x[end + 1]));
        int quoted = end == in->n && last == '\'' && length > 2 && in->x[end - 2] == '.';
        if (cuts || quoted) {
            n -= 1 + (size_t)quoted;
            out->x[n++] = ' ';
            out->x[n++] = '.';
        }
        if (quoted) {
            out->x[n++] = ' ';
            out->x[n++] = last;
        }
        if (end < in->n) out->x[n++] = ' ';
    }
    out->n = n;
    return 0;
}

/* Makes a word of each run of several full stops. */
static int part_stops(const Symbols *in, Symbols *out)
{
    size_t n = 0;
    out->n = 0;
    TRY(symbols_room(out, 3 * in->n));
    for (size_t i = 0, end; i < in->n; i = end) {
        for (end = i; end < in->n && in->x[end] == '.';) end++;
        if (end - i < 2) {
            end = i + 1;
            out->x[n++] = in->x[i];
            continue;
        }
        out->x[n++] = ' ';
        for (; i < end; i++) out->x[n++] = DOT_OF_SEVERAL;
        out->x[n++] = ' ';
    }
    out->n = n;
    return 0;
}

static int tokenise_moses(int language, Symbols *text, Symbols *room)
{
    static const Rule *const apostrophes[] = {rules_en, rules_de, rules_fr};
    size_t n = 0;
    for (size_t i = 0; i < text->n; i++)
        if (text->x[i] >= ' ' || uc_is_property_white_space(text->x[i])) text->x[n++] = text->x[i];
    text->n = n;
    join_words(text);
    TRY(apply(&rules_moses[0], text, room));
    swap(text, room);
    TRY(part_stops(text, room));
    swap(text, room);
    TRY(apply_all(rules_moses + 1, text, room));
    if (text->n && text->x[text->n - 1] == ',') {
        text->x[text->n - 1] = ' ';
        TRY(symbols_add(text, ','));
    }
    TRY(apply_all(apostrophes[language], text, room));
    join_words(text);
    TRY(cut_stops(language, text, room));
    swap(text, room);
    for (size_t i = 0; i < text->n; i++)
        if (text->x[i] == DOT_OF_SEVERAL) text->x[i] = '.';
    return 0;
}

int tokenise(int how, Symbols *text, Symbols *room)
{
    while (text->n && is_blank(text->x[text->n - 1])) text->n--;
    if (how == TOKENIZE_13A) TRY(prepare_13a(text));
    if (how == TOKENIZE_13A) TRY(apply_all(rules_13a, text, room));
    if (how >= TOKENIZE_EN) return tokenise_moses(how - TOKENIZE_EN, text, room);
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
        if (!is_blank(text->x[i])) text->x[n++] = text->x[i];
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
