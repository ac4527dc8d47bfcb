/* typeset.c: writes escaped text, and sets a formula as a row of pieces: a letter with index and primes, a word, a number,
 * a fraction, brackets with a row in them, an operator. It finds each piece's length first, so that a power can be put
 * around it. Source: MathML Core (W3C 2023), sections 3.2 to 3.4. */
#include "studies/page/report/report.h"

#include <ctype.h>
#include <string.h>

#include "kernels/base/plain_text.h"

static void put_character(FILE *f, char c)
{
    switch (c) {
    case '&': fputs("&amp;", f); break;
    case '<': fputs("&lt;", f); break;
    case '>': fputs("&gt;", f); break;
    case '"': fputs("&quot;", f); break;
    case '\'': fputs("&#39;", f); break;
    default: fputc(c, f);
    }
}

/* What is harmful, or not UTF-8, would end the page for a strict reader, or steer who reads it. */
void html_bytes(FILE *f, const char *text, size_t n)
{
    int harmless;
    for (size_t at = 0, bytes; at < n; at += bytes) {
        bytes = text_harmless_next(text + at, n - at, &harmless);
        if (!harmless) fputs("\xef\xbf\xbd", f);
        for (size_t i = 0; harmless && i < bytes; i++) put_character(f, text[at + i]);
    }
}

void html_text(FILE *f, const char *text)
{
    html_bytes(f, text, strlen(text));
}

/* A part of the text. */
typedef struct {
    const char *s, *end;
} Span;

static int is_digit(const char *s, const char *end)
{
    return s < end && isdigit((unsigned char)*s);
}

static int is_letter(const char *s, const char *end)
{
    return s < end && isalpha((unsigned char)*s);
}

/* ---- lengths ------------------------------------------------------------------------------------- */

static const char *skip_digits(const char *s, const char *end)
{
    while (is_digit(s, end)) s++;
    return s;
}

/* Skips a number: "12", "1.25e-07". */
static const char *skip_number(const char *s, const char *end)
{
    s = skip_digits(s, end);
    if (s < end && *s == '.') s = skip_digits(s + 1, end);
    const char *power = s + 1 + (s + 1 < end && strchr("+-", s[1]) != NULL);
    return s < end && *s == 'e' && is_digit(power, end) ? skip_digits(power, end) : s;
}

/* Skips a character of UTF-8. */
static const char *skip_character(const char *s, const char *end)
{
    for (s++; s < end && ((unsigned char)*s & 0xc0) == 0x80;) s++;
    return s;
}

/* Returns the place behind the bracket that closes the one at s; NULL: none does. */
static const char *skip_brackets(const char *s, const char *end)
{
    int depth = 0;
    for (; s < end; s++) {
        depth += *s == '(' || *s == '[';
        depth -= *s == ')' || *s == ']';
        if (depth == 0) return s + 1;
    }
    return NULL;
}

/* ---- pieces -------------------------------------------------------------------------------------- */

static void put_row(FILE *f, Span row);

static void put(FILE *f, const char *tag, const char *s, const char *end)
{
    fprintf(f, "<%s>", tag);
    html_bytes(f, s, (size_t)(end - s));
    fprintf(f, "</%s>", tag);
}

/* Writes an operator. Some have a printed form that differs; all others stay as they are. */
static void put_operator(FILE *f, const char *s, const char *end)
{
    static const char *const fence = "()[]|";
    if (*s == '-')
        fputs("<mo>−</mo>", f);
    else if (strchr(fence, *s))
        fprintf(f, "<mo stretchy=\"false\">%c</mo>", *s);
    else
        put(f, "mo", s, end);
}

/* Writes a letter or word; some words are signs. */
static void put_word(FILE *f, const char *s, const char *end)
{
    static const char *const sign[][3] = {
        {"sum", "mo", "∑"}, {"alpha", "mi", "α"}, {"beta", "mi", "β"}, {"gamma", "mi", "γ"}};
    size_t n = (size_t)(end - s);
    for (size_t i = 0; i < sizeof sign / sizeof *sign; i++)
        if (strlen(sign[i][0]) == n && strncmp(s, sign[i][0], n) == 0) {
            fprintf(f, "<%s>%s</%s>", sign[i][1], sign[i][2], sign[i][1]);
            return;
        }
    put(f, n == 1 || (unsigned char)*s >= 0x80 ? "mi" : "mtext", s, end);
}

/* Writes a letter or word at s up to `name`, its index up to `index`, and primes for the rest. The primes stand on the
 * line, since the glyphs themselves are raised. */
static void put_letter(FILE *f, const char *s, const char *name, const char *index, const char *end)
{
    static const char *const prime[] = {"′", "″", "‴", "⁗"};
    fputs(index > name ? "<msub>" : "", f);
    put_word(f, s, name);
    if (index > name) {
        if (index[-1] == '}') {
            fputs("<mrow>", f);
            put_row(f, (Span){name + 2, index - 1});
            fputs("</mrow>", f);
        } else {
            put(f, isalpha((unsigned char)index[-1]) ? "mi" : "mn", name + (*name == '_'), index);
        }
        fputs("</msub>", f);
    }
    for (size_t n = (size_t)(end - index), most; n > 0; n -= most) {
        most = n > 4 ? 4 : n;
        fprintf(f, "<mo>%s</mo>", prime[most - 1]);
    }
}

static int is_greek(const char *s, const char *end)
{
    return end - s >= 2 && ((unsigned char)*s == 0xce || (unsigned char)*s == 0xcf);
}

/* Finds the piece at s and writes it where f is not NULL. Returns its end. */
static const char *piece(FILE *f, const char *s, const char *end)
{
    const char *to;
    if (is_digit(s, end)) {
        to = skip_number(s, end);
        const char *over = skip_digits(s, end), *below = over + 1;
        if (over == to && over < end && *over == '/' && is_digit(below, end)) {
            to = skip_digits(below, end);
            if (f) fputs("<mfrac>", f);
            if (f) put(f, "mn", s, over);
            if (f) put(f, "mn", below, to);
            if (f) fputs("</mfrac>", f);
        } else if (f) {
            put(f, "mn", s, to);
        }
        return to;
    }
    if (is_letter(s, end) || is_greek(s, end)) {
        const char *name = s + (is_greek(s, end) ? 2 : 1), *index;
        while (!is_greek(s, end) && is_letter(name, end)) name++;
        index = skip_digits(name, end);
        if (index == name && name + 1 < end && *name == '_' && is_letter(name + 1, end))
            for (index = name + 2; is_letter(index, end);) index++;
        if (index == name && name + 1 < end && *name == '_' && name[1] == '{') {
            const char *close = memchr(name, '}', (size_t)(end - name));
            if (close) index = close + 1;
        }
        for (to = index; to < end && *to == '\'';) to++;
        if (f) put_letter(f, s, name, index, to);
        return to;
    }
    if ((*s == '(' || *s == '[') && (to = skip_brackets(s, end))) {
        if (f) {
            fputs("<mrow>", f);
            put_operator(f, s, s + 1);
            put_row(f, (Span){s + 1, to - 1});
            put_operator(f, to - 1, to);
            fputs("</mrow>", f);
        }
        return to;
    }
    to = skip_character(s, end);
    if (f) put_operator(f, s, to);
    return to;
}

/* Writes a power. Round brackets around it are dropped. */
static void put_power(FILE *f, const char *s, const char *end)
{
    int round = *s == '(' && end - s > 1;
    fputs("<mrow>", f);
    put_row(f, round ? (Span){s + 1, end - 1} : (Span){s, end});
    fputs("</mrow>", f);
}

/* Returns the end of what follows a letter with a capital above and letters below, ^F_ij; NULL: something else. */
static const char *both_scripts(const char *to, const char *end)
{
    if (end - to < 4 || *to != '^' || !isupper((unsigned char)to[1]) || to[2] != '_') return NULL;
    const char *last = to + 3;
    while (is_letter(last, end)) last++;
    return last > to + 3 ? last : NULL;
}

static void put_row(FILE *f, Span row)
{
    for (const char *s = row.s; s < row.end;) {
        const char *to = piece(NULL, s, row.end), *power = NULL;
        if (*s == ' ') {
            s++;
            continue;
        }
        const char *both = both_scripts(to, row.end);
        if (both) {
            fputs("<msubsup>", f);
            piece(f, s, to);
            put(f, "mi", to + 3, both);
            put(f, "mi", to + 1, to + 2);
            fputs("</msubsup>", f);
            s = both;
            continue;
        }
        if (to + 1 < row.end && *to == '^') power = piece(NULL, to + 1, row.end);
        if (power) fputs("<msup>", f);
        piece(f, s, to);
        if (power) put_power(f, to + 1, power);
        if (power) fputs("</msup>", f);
        s = power ? power : to;
    }
}

void formula_put(FILE *f, const char *text)
{
    if (strlen(text) > FORMULA_MOST) {
        html_text(f, text);
        return;
    }
    fputs("<math alttext=\"", f);
    html_text(f, text);
    fputs("\">", f);
    put_row(f, (Span){text, text + strlen(text)});
    fputs("</math>", f);
}
