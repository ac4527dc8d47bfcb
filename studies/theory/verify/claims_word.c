/* claims_word.c: claims about words of sublayers and exact-flow splittings, by brackets and areas. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

enum { WORD_MAX = 32 };

/* ---- brackets of log(step)/h ---------------------------------------------------------------------- */

/* Measures the slope of the local error on the sine field. */
static int local_slope(const Zoo *z, const char *scheme, double *slope, double *off)
{
    enum { STEPS = 5 };
    SCOPED(map_free) Map m = {0};
    Sine s;
    double norm[STEPS], e[SINE_D];
    TRY(map_read(z, scheme, &m));
    sine_new(&s, 21, 0);
    for (int j = 0; j < STEPS; j++) {
        TRY(map_error(&m, &s, ldexp(1, -4 - j), e));
        norm[j] = sine_norm(e);
    }
    *slope = sine_slope(norm, STEPS, off);
    return 0;
}

static void say_brackets(const Brackets *b, Finding *f)
{
    for (size_t i = 0; i < b->count; i++) {
        char c[CLAIM_NUMBER];
        claim_number(b->bracket[i].c, c);
        finding_say(f, "%s%s %s", i ? "; " : "", c, b->bracket[i].name);
    }
    if (b->count == 0) finding_say(f, "0");
}

/* Does the measured local error begin with the first bracket, or after `degree` where there is none? */
static int slope_agrees(const Brackets *b, int degree, double slope, double off)
{
    int due = b->count ? b->bracket[0].degree : degree + 1;
    return !slope_contradicts(slope, off, due, 1) &&
           (b->count == 0 || !slope_contradicts(slope, off, due + 2 * claim_near, 0));
}

static int compare_brackets(const Zoo *z, const char *const *arg, const Table *t, Brackets *have,
                            Brackets *want, Finding *f)
{
    int degree = atoi(arg[1]);
    double slope, off;
    TRY(bracket_error(t, degree, have));
    TRY(bracket_read(t, arg[2], degree, want));
    TRY(local_slope(z, arg[0], &slope, &off));
    for (size_t i = 0; i < have->count; i++)
        TRY(finding_derive(f, "log(step)/h", have->bracket[i].name, have->bracket[i].c));
    if (f->stepwise) TRY(derivation_brackets(&f->steps, t, degree));
    f->holds = bracket_equal(t, have, want);
    f->sound = f->sound && slope_agrees(have, degree, slope, off);
    finding_say(f, "log(step)/h - (%s) = ", t->colours == 2 ? "F+G" : "F+C+G");
    say_brackets(have, f);
    if (!f->holds) {
        finding_say(f, "; what is stated comes to ");
        say_brackets(want, f);
    }
    finding_say(f, "; measured local error h^%.2f", slope);
    return 0;
}

int check_brackets(const Zoo *z, const char *const *arg, Finding *f)
{
    TABLE(t);
    SCOPED(bracket_free) Brackets have = {0}, want = {0};
    TRY(map_table(z, arg[0], &t));
    return compare_brackets(z, arg, t, &have, &want, f);
}

/* ---- signed areas ------------------------------------------------------------------------------------ */

/* Returns twice the signed area of a word in the plane of two letters: pairs a before b less pairs b before a. It
 * is counted, not read off a table. */
static long pairs(const char *word, char a, char b)
{
    long as = 0, bs = 0, sum = 0;
    for (; *word; word++) {
        if (*word == a)
            as++, sum -= bs;
        else if (*word == b)
            bs++, sum += as;
    }
    return sum;
}

/* Counts the pairs of a word in the plane of F and G, of a decoder's word in those of F and C and of C and G too, and
 * compares them with twice the coefficients of the brackets in log(step) of a scheme. *agree: 0 where one differs. */
static int areas(const Zoo *z, const char *scheme, const char *word, long twice[3], int *agree)
{
    static const struct {
        int p, q;
        char a, b;
    } plane[] = {{OP_F, OP_G, 's', 'f'}, {OP_F, OP_C, 's', 'c'}, {OP_C, OP_G, 'c', 'f'}};
    TABLE(t);
    RATIONAL(area);
    int planes = strchr(word, 'c') ? 3 : 1;
    TRY(map_table(z, scheme, &t));
    for (int i = 0; i < planes; i++) {
        twice[i] = pairs(word, plane[i].a, plane[i].b);
        TRY(bracket_area(t, plane[i].p, plane[i].q, area));
        mpq_mul_2exp(area, area, 1);
        *agree = *agree && mpq_cmp_si(area, twice[i], 1) == 0;
    }
    return 0;
}

/* Writes s^k (sf)^(n-k) f^k, or (sc)^k (scf)^(n-k) f^k, where attention and cross-attention move as one. */
static void write_sandwich(int n, int k, int decoder, char *w)
{
    for (int i = 0; i < n; i++) {
        *w++ = 's';
        if (decoder) *w++ = 'c';
        if (i >= k) *w++ = 'f';
    }
    for (int i = 0; i < k; i++) *w++ = 'f';
    *w = '\0';
}

int check_decoder_word(const Zoo *z, const char *const *arg, Finding *f)
{
    int n = atoi(arg[1]), k = atoi(arg[2]), agree = 1;
    char word[3 * WORD_MAX + 1], name[4 * WORD_MAX];
    long twice[3];
    write_sandwich(n, k, 1, word);
    snprintf(name, sizeof name, "word:%s", word);
    TRY(areas(z, name, word, twice, &agree));
    size_t fs[2] = {0};
    for (const char *c = arg[0]; *c; c++) fs[0] += *c == 'f';
    for (const char *c = word; *c; c++) fs[1] += *c == 'f';
    f->holds = strcmp(arg[0], word) == 0;
    f->sound = f->sound && agree && (fs[0] == (size_t)n || !f->holds);
    finding_say(f, "(sc)^%d (scf)^%d f^%d is %s, of %zu f; the word given is %s, of %zu", k, n - k,
                k, word, fs[1], arg[0], fs[0]);
    return 0;
}

/* Tests the areas of all sandwiches up to n = arg[1] against (n + k (2n - k - c)) / 2, and counted pairs against
 * brackets. */
int check_sandwich(const Zoo *z, const char *const *arg, Finding *f)
{
    int c = atoi(arg[0]), most = atoi(arg[1]), words = 0, met = 0, sound = 1,
        decoder = arg[2] != NULL;
    for (int n = 1; n <= most; n++)
        for (int k = 0; k < n; k++, words++) {
            char word[3 * WORD_MAX + 1], name[4 * WORD_MAX];
            long twice[3], area = n + (long)k * (2 * n - k - c);
            write_sandwich(n, k, decoder, word);
            snprintf(name, sizeof name, "word:%s", word);
            if (!decoder) snprintf(name, sizeof name, "sandwich:%d-%d", n, k);
            TRY(areas(z, name, word, twice, &sound));
            met += twice[0] == area && (!decoder || (twice[1] == n && twice[2] == area));
        }
    f->holds = met == words;
    f->sound = f->sound && sound;
    finding_say(
        f, "%s as stated for %d of %d pairs (n <= %d, 0 <= k < n), pairs counted and brackets %s",
        decoder ? "the three areas are" : "twice the area is", met, words, most,
        sound ? "agree" : "DISAGREE");
    return 0;
}
