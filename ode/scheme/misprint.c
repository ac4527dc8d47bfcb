/* misprint.c: by which slip a coefficient can have become what is written: of the sign, of a digit, of numerator and
 * denominator. All texts one slip away are tried, so that an unreduced fraction keeps its form;
 * of several that are as near, a reduced one is taken. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"

/* What is looked for, and the nearest text so far. */
typedef struct {
    mpq_srcptr value, written;
    const char *reduced; /* the value as a reduced fraction, which is preferred to 2/6 */
    double within, off;  /* off: of `best` from the value */
    Misprint *best;
} Search;

/* Takes a text if its value is the one looked for, and not the one that is written. Nobody writes a number with a 0 before
 * its first digit. */
static void look(Search *s, const char *text, const char *words)
{
    RATIONAL(q);
    size_t n = strlen(text);
    const char *first = text + (*text == '-');
    if (*first == '0' && isdigit((unsigned char)first[1])) return;
    if (n == 0 || coefficient_read(text, n, q) != n || mpq_equal(q, s->written)) return;
    mpq_sub(q, q, s->value);
    double off = fabs(mpq_get_d(q));
    if (mpq_sgn(q) != 0 && !(off <= s->within)) return;
    int better = off < s->off || (off == s->off && strcmp(text, s->reduced) == 0);
    if (s->best->distance == 1 && !better) return;
    s->off = off;
    s->best->distance = 1;
    s->best->words = words;
    strcpy(s->best->text, text);
}

/* Tries the digits 0 to 9 at `at`, in place of the character there or, where `more` is 1, before it. */
static void try_digits(Search *s, const char *word, size_t at, size_t more)
{
    char text[MISPRINT_WORD];
    size_t n = strlen(word);
    if (n + more >= sizeof text) return;
    memcpy(text, word, at);
    memcpy(text + at + 1, word + at + (more ? 0 : 1), n - at + more);
    for (char d = '0'; d <= '9'; d++) {
        text[at] = d;
        look(s, text, more ? "a digit lost" : "a digit exchanged");
    }
}

static void try_shorter(Search *s, const char *word, size_t at)
{
    char text[MISPRINT_WORD];
    int twice = at > 0 && word[at - 1] == word[at];
    snprintf(text, sizeof text, "%.*s%s", (int)at, word, word + at + 1);
    look(s, text, twice ? "a digit doubled" : "a digit too many");
}

static void try_transposed(Search *s, const char *word, size_t at)
{
    char text[MISPRINT_WORD];
    if (!isdigit((unsigned char)word[at + 1])) return;
    snprintf(text, sizeof text, "%s", word);
    text[at] = word[at + 1];
    text[at + 1] = word[at];
    look(s, text, "two digits transposed");
}

static void try_whole(Search *s, const char *word)
{
    char text[MISPRINT_WORD];
    int minus = *word == '-';
    const char *bar = strchr(word, '/'), *body = word + minus;
    snprintf(text, sizeof text, "%s%s", minus ? "" : "-", body);
    look(s, text, "the sign");
    if (!bar) return;
    snprintf(text, sizeof text, "%s%s/%.*s", minus ? "-" : "", bar + 1, (int)(bar - body), body);
    look(s, text, "numerator and denominator exchanged");
}

/* Returns 2 log2 n, within a bit what Elias's gamma code has for n > 0. */
static double whole_bits(mpz_srcptr n)
{
    long exponent;
    double part = mpz_get_d_2exp(&exponent, n);
    return 2 * (log2(part) + (double)exponent);
}

/* Writes the simplest fraction within the bound, by continued fractions; returns whether its digits are so few that it is
 * no accident. */
static int simplest(const mpq_t value, double within, mpq_t out)
{
    mpz_t whole, p[3], q[3];
    RATIONALS(rest, off);
    mpz_inits(whole, p[0], p[1], p[2], q[0], q[1], q[2], NULL);
    mpz_set_ui(p[1], 1);
    mpz_set_ui(q[0], 1);
    mpq_set(rest, value);
    int found = 0;
    for (int k = 0; k < 200 && !found; k++) {
        mpz_fdiv_q(whole, mpq_numref(rest), mpq_denref(rest));
        mpz_mul(p[2], whole, p[1]);
        mpz_add(p[2], p[2], p[0]);
        mpz_mul(q[2], whole, q[1]);
        mpz_add(q[2], q[2], q[0]);
        mpq_set_num(out, p[2]);
        mpq_set_den(out, q[2]);
        mpq_canonicalize(out);
        mpq_sub(off, out, value);
        found = fabs(mpq_get_d(off)) <= within;
        mpz_submul(mpq_numref(rest), whole, mpq_denref(rest));
        if (mpq_sgn(rest) == 0) break;
        mpq_inv(rest, rest);
        for (int i = 0; i < 2; i++) mpz_swap(p[i], p[i + 1]), mpz_swap(q[i], q[i + 1]);
    }
    double size = mpz_get_d(mpq_denref(out)) * fmax(1, fabs(mpz_get_d(mpq_numref(out))));
    mpz_clears(whole, p[0], p[1], p[2], q[0], q[1], q[2], NULL);
    return found && size * within < 1e-3;
}

double coefficient_bits(const char *word)
{
    enum { DECIMALS = 53 };
    RATIONALS(q, simple);
    const char *point = strchr(word, '.');
    size_t places = point ? strspn(point + 1, "0123456789") : 0;
    coefficient_read(word, strlen(word), q);
    mpq_abs(q, q);
    if (places && simplest(q, 0.6 * pow(10, -(double)places), simple))
        mpq_set(q, simple);
    else if (places)
        return DECIMALS;
    mpz_add_ui(mpq_numref(q), mpq_numref(q), 1);
    return whole_bits(mpq_numref(q)) + whole_bits(mpq_denref(q));
}

/* Returns the number of characters to exchange, add, leave out or transpose between two texts. */
static int edits(const char *a, const char *b)
{
    enum { LONGEST = 160 };
    int row[3][LONGEST + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST || m > LONGEST) return LONGEST;
    for (size_t j = 0; j <= m; j++) row[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = row[i % 3], *last = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int least = last[j - 1] + (a[i - 1] != b[j - 1]);
            if (last[j] + 1 < least) least = last[j] + 1;
            if (now[j - 1] + 1 < least) least = now[j - 1] + 1;
            int swap = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swap && before[j - 2] + 1 < least) least = before[j - 2] + 1;
            now[j] = least;
        }
    }
    return row[n % 3][m];
}

/* Writes a value that no slip explains: the fraction, unless it is what is written, or its decimals. */
static void write_plain(mpq_srcptr value, mpq_srcptr written, double within, char *text)
{
    RATIONAL(q);
    if (within == 0) {
        if (gmp_snprintf(text, MISPRINT_WORD, "%Qd", value) >= MISPRINT_WORD)
            snprintf(text, MISPRINT_WORD, "%.17g", mpq_get_d(value));
    } else if (simplest(value, within, q) && !mpq_equal(q, written)) {
        gmp_snprintf(text, MISPRINT_WORD, "%Qd", q);
    } else {
        int digits = (int)fmax(1, ceil(-log10(within / fmax(within, fabs(mpq_get_d(value))))));
        mpf_t x;
        mpf_init2(x, 256);
        mpf_set_q(x, value);
        gmp_snprintf(text, MISPRINT_WORD, "%.*Fg", digits, x);
        mpf_clear(x);
    }
}

void coefficient_misprint(const char *word, const mpq_t value, double within, Misprint *out)
{
    char reduced[MISPRINT_WORD];
    RATIONAL(written);
    Search s = {value, written, .reduced = reduced, .within = within, .best = out};
    gmp_snprintf(reduced, sizeof reduced, "%Qd", value);
    size_t n = strlen(word), sign = *word == '-';
    coefficient_read(word, n, written);
    *out = (Misprint){.words = ""};
    for (size_t i = sign; i <= n; i++) {
        if (n + 2 >= MISPRINT_WORD) break;
        try_digits(&s, word, i, 1);
        if (i == n || !isdigit((unsigned char)word[i])) continue;
        try_digits(&s, word, i, 0);
        try_shorter(&s, word, i);
        try_transposed(&s, word, i);
    }
    try_whole(&s, word);
    if (out->distance == 1) return;
    write_plain(value, written, within, out->text);
    int far = edits(word, out->text);
    out->distance = far < 2 ? 2 : far;
}
