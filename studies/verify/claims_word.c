/* claims_word.c: claims about words of sublayers and exact-flow splittings, by brackets and areas. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "studies/verify/claims.h"

enum { WORD_MAX = 32 };

/* ---- brackets of log(step)/h ---------------------------------------------------------------------- */

/* Measures the slope of the local error on the sine field. */
static int local_slope(const Zoo *z, const char *scheme, double *slope)
{
    enum { STEPS = 5 };
    Map m;
    Sine s;
    double norm[STEPS], e[SINE_D];
    int code = 0;
    TRY(map_read(z, scheme, &m));
    sine_new(&s, 21, 0);
    for (int j = 0; j < STEPS && code == 0; j++) {
        code = map_error(&m, &s, ldexp(1, -4 - j), e);
        norm[j] = sine_norm(e);
    }
    *slope = code == 0 ? sine_slope(norm, STEPS) : NAN;
    map_free(&m);
    return code;
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
static int slope_agrees(const Brackets *b, int degree, double slope)
{
    if (b->count == 0) return slope > degree + 0.75;
    return fabs(slope - b->bracket[0].degree) <= 0.25;
}

static int compare_brackets(const Zoo *z, const char *const *arg, const Table *t, Brackets *have,
                            Brackets *want, Finding *f)
{
    int degree = atoi(arg[1]);
    double slope;
    TRY(bracket_error(t, degree, have));
    TRY(bracket_read(t, arg[2], degree, want));
    TRY(local_slope(z, arg[0], &slope));
    for (size_t i = 0; i < have->count; i++)
        TRY(finding_derive(f, "log(step)/h", have->bracket[i].name, have->bracket[i].c));
    f->holds = bracket_equal(t, have, want);
    f->sound = f->sound && slope_agrees(have, degree, slope);
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
    Table *t;
    Brackets have = {0}, want = {0};
    TRY(map_table(z, arg[0], &t));
    int code = compare_brackets(z, arg, t, &have, &want, f);
    bracket_free(&have);
    bracket_free(&want);
    table_free(t);
    return code;
}

/* Computes |step(-h) step(h) y - y| for h = 1/4. */
static int there_and_back(const Zoo *z, const char *scheme, double *off)
{
    Map m;
    Sine s;
    double y[SINE_D];
    TRY(map_read(z, scheme, &m));
    sine_new(&s, 22, 0);
    memcpy(y, s.y, sizeof y);
    int code = map_apply(&m, &s, 0.25, y);
    if (code == 0) code = map_apply(&m, &s, -0.25, y);
    for (int i = 0; i < SINE_D; i++) y[i] -= s.y[i];
    *off = sine_norm(y);
    map_free(&m);
    return code;
}

/* Counts even degrees of log(step): brackets of an even number of letters times h^even. */
int check_symmetry(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    Brackets b;
    double off = NAN, control = NAN;
    size_t even = 0, odd = 0;
    TRY(map_table(z, arg[0], &t));
    int code = bracket_error(t, atoi(arg[1]), &b);
    table_free(t);
    TRY(code);
    for (size_t i = 0; i < b.count; i++) {
        *(b.bracket[i].degree % 2 ? &odd : &even) += 1;
        if (code == 0 && b.bracket[i].degree <= 5)
            code = finding_derive(f, "log(step)/h", b.bracket[i].name, b.bracket[i].c);
    }
    bracket_free(&b);
    if (code == 0) code = there_and_back(z, arg[0], &off);
    if (code == 0) code = there_and_back(z, "lie-trotter", &control);
    /* 6 sub-flows good to 1e-14 */
    f->holds = even == 0;
    f->sound = f->sound && (off <= 1e-12) == f->holds && !(control <= 1e-12);
    finding_say(
        f,
        "of the brackets up to degree %s, %zu of odd and %zu of even degree are not zero; a step "
        "forth and back misses y by %.1e (control, lie-trotter: %.1e)",
        arg[1], odd, even, off, control);
    return code;
}

/* ---- signed areas ------------------------------------------------------------------------------------ */

/* Returns twice the signed area of a word in the plane of two letters: pairs a before b less pairs b before a. It
 * is counted, not read off a table. */
static long pairs_of(const char *word, char a, char b)
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

static long pairs(const char *word)
{
    return pairs_of(word, 's', 'f');
}

/* Is twice the coefficient of [p,q] in log(step) of a name equal to n? */
static int area_of(const Zoo *z, const char *name, int p, int q, long n, int *equal)
{
    Table *t;
    mpq_t area;
    TRY(map_table(z, name, &t));
    mpq_init(area);
    int code = bracket_area(t, p, q, area);
    mpq_mul_2exp(area, area, 1);
    *equal = mpq_cmp_si(area, n, 1) == 0;
    mpq_clear(area);
    table_free(t);
    return code;
}

static int area_is(const Zoo *z, const char *name, long n, int *equal)
{
    return area_of(z, name, OP_F, OP_G, n, equal);
}

static void write_sandwich(int n, int k, char *w)
{
    for (int i = 0; i < k; i++) *w++ = 's';
    for (int i = k; i < n; i++) *w++ = 's', *w++ = 'f';
    for (int i = 0; i < k; i++) *w++ = 'f';
    *w = '\0';
}

/* Writes (sc)^k (scf)^(n-k) f^k: attention and cross-attention move as one. */
static void write_decoder_sandwich(int n, int k, char *w)
{
    char word[2 * WORD_MAX + 1];
    write_sandwich(n, k, word);
    for (const char *s = word; *s; s++) {
        *w++ = *s;
        if (*s == 's') *w++ = 'c';
    }
    *w = '\0';
}

/* Do brackets and counted pairs of a decoder's word agree in the planes of all pairs of its operators? */
static int decoder_areas(const Zoo *z, const char *word, long twice[3], int *agree)
{
    static const struct {
        int p, q;
        char a, b;
    } plane[] = {{OP_F, OP_C, 's', 'c'}, {OP_F, OP_G, 's', 'f'}, {OP_C, OP_G, 'c', 'f'}};
    char name[4 * WORD_MAX];
    snprintf(name, sizeof name, "word:%s", word);
    *agree = 1;
    for (int i = 0; i < 3; i++) {
        int equal;
        twice[i] = pairs_of(word, plane[i].a, plane[i].b);
        TRY(area_of(z, name, plane[i].p, plane[i].q, twice[i], &equal));
        *agree = *agree && equal;
    }
    return 0;
}

int check_decoder_word(const Zoo *z, const char *const *arg, Finding *f)
{
    int n = atoi(arg[1]), k = atoi(arg[2]), agree;
    char word[3 * WORD_MAX + 1];
    long twice[3];
    write_decoder_sandwich(n, k, word);
    TRY(decoder_areas(z, word, twice, &agree));
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
static int all_sandwiches(const Zoo *z, const char *const *arg, int decoder, Finding *f)
{
    int c = atoi(arg[0]), most = atoi(arg[1]), words = 0, met = 0, sound = 1;
    for (int n = 1; n <= most; n++)
        for (int k = 0; k < n; k++, words++) {
            char word[3 * WORD_MAX + 1], name[64];
            long twice[3] = {0}, area = n + (long)k * (2 * n - k - c);
            int agree;
            (decoder ? write_decoder_sandwich : write_sandwich)(n, k, word);
            snprintf(name, sizeof name, "sandwich:%d-%d", n, k);
            twice[1] = pairs(word);
            TRY(decoder ? decoder_areas(z, word, twice, &agree)
                        : area_is(z, name, twice[1], &agree));
            sound = sound && agree;
            met += twice[1] == area && (!decoder || (twice[0] == n && twice[2] == area));
        }
    f->holds = met == words;
    f->sound = f->sound && sound;
    finding_say(
        f, "%s as stated for %d of %d pairs (n <= %d, 0 <= k < n), pairs counted and brackets %s",
        decoder ? "the three areas are" : "twice the area is", met, words, most,
        sound ? "agree" : "DISAGREE");
    return 0;
}

int check_sandwich(const Zoo *z, const char *const *arg, Finding *f)
{
    char word[2 * WORD_MAX + 1];
    write_sandwich(16, 6, word);
    TRY(all_sandwiches(z, arg, 0, f));
    finding_say(f, "; n = 16: interleaved 8, k = 6 %g, k = 15 128", (double)pairs(word) / 2);
    return 0;
}

int check_decoder_sandwich(const Zoo *z, const char *const *arg, Finding *f)
{
    return all_sandwiches(z, arg, 1, f);
}

/* Makes the next arrangement of the letters in rising order (Narayana Pandita). Returns 0 past the last. */
static int next_word(char *w, int n)
{
    int i = n - 2, j = n - 1;
    while (i >= 0 && w[i] >= w[i + 1]) i--;
    if (i < 0) return 0;
    while (w[j] <= w[i]) j--;
    char swap = w[i];
    w[i] = w[j], w[j] = swap;
    for (i++, j = n - 1; i < j; i++, j--) swap = w[i], w[i] = w[j], w[j] = swap;
    return 1;
}

int check_extreme(const Zoo *z, const char *const *arg, Finding *f)
{
    int n = atoi(arg[0]), k = n - atoi(arg[1]), words = 0, equal;
    char word[2 * WORD_MAX + 1], all[2 * WORD_MAX + 1], name[64];
    long most = -1;
    memset(all, 'f', (size_t)n);
    memset(all + n, 's', (size_t)n);
    all[2 * n] = '\0';
    do {
        if (pairs(all) > most) most = pairs(all);
        words++;
    } while (next_word(all, 2 * n));
    write_sandwich(n, k, word);
    snprintf(name, sizeof name, "sandwich:%d-%d", n, k);
    TRY(area_is(z, name, pairs(word), &equal));
    f->sound = f->sound && equal;
    f->holds = pairs(word) == most && strspn(word, "s") == (size_t)n;
    finding_say(f, "n = %d: %s has area %g; the largest of all %d words with n s and n f is %g", n,
                word, (double)pairs(word) / 2, words, (double)most / 2);
    return 0;
}

static void bits_word(unsigned bits, int n, char *w)
{
    for (int i = 0; i < n; i++) w[i] = bits >> i & 1 ? 's' : 'f';
    w[n] = '\0';
}

/* Appends the mirror of half a word (or its repetition, the mutant); odd lengths have one letter between. */
static void complete(char *w, int n, int middle, int mirror)
{
    int m = n + middle;
    if (middle) w[n] = 's';
    for (int i = 0; i < n; i++) w[m + i] = mirror ? w[n - 1 - i] : w[i];
    w[m + n] = '\0';
}

int check_palindromes(const Zoo *z, const char *const *arg, Finding *f)
{
    int mirror = strcmp(arg[0], "mirror") == 0, most = atoi(arg[1]), words = 0, zero = 0, sound = 1;
    double slope;
    for (int n = 1; n <= most; n++)
        for (unsigned bits = 0; bits < 2u << n; bits++) {
            char word[2 * WORD_MAX + 2], name[80];
            int equal;
            bits_word(bits >> 1, n, word);
            complete(word, n, bits & 1, mirror);
            snprintf(name, sizeof name, "word:%s", word);
            TRY(area_is(z, name, pairs(word), &equal));
            sound = sound && equal;
            zero += pairs(word) == 0;
            words++;
        }
    TRY(local_slope(z, mirror ? "word:sffs" : "word:sfsf", &slope));
    f->holds = zero == words;
    f->sound = f->sound && sound && (fabs(slope - 3) <= 0.25) == f->holds;
    finding_say(
        f, "%d of %d such words up to %d letters have area 0; local error of %s measured h^%.2f",
        zero, words, 2 * most + 1, mirror ? "sffs" : "sfsf", slope);
    return 0;
}

static int is_palindrome(const char *w)
{
    size_t n = strlen(w);
    for (size_t i = 0; i < n / 2; i++)
        if (w[i] != w[n - 1 - i]) return 0;
    return 1;
}

int check_converse(const Zoo *z, const char *const *arg, Finding *f)
{
    int most = atoi(arg[0]), others = 0, zero = 0, equal = 1;
    char word[WORD_MAX + 1], first[WORD_MAX + 1] = "", name[64];
    for (int n = 1; n <= most; n++)
        for (unsigned bits = 0; bits < 1u << n; bits++) {
            bits_word(bits, n, word);
            if (is_palindrome(word)) continue;
            others++;
            if (pairs(word) != 0) continue;
            if (!zero++) strcpy(first, word);
        }
    f->holds = zero == 0;
    finding_say(f, "%d of %d non-palindromic words up to %d letters have area 0", zero, others,
                most);
    if (!zero) return 0;
    double slope;
    snprintf(name, sizeof name, "word:%s", first);
    TRY(area_is(z, name, 0, &equal));
    TRY(local_slope(z, name, &slope));
    f->sound = f->sound && equal && fabs(slope - 3) <= 0.25;
    finding_say(f, ", the first is %s: order 2, local error measured h^%.2f", first, slope);
    return 0;
}
