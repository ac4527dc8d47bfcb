/* bracket.c: splittings by exact flows as Lie series.
 *
 * By Lie derivatives "F then G" is exp(h F) exp(h G), first-applied on the left, in the algebra of
 * words over the letters F, G. A step of flows is a product of such exponentials; its logarithm is a
 * Lie series (Baker, Campbell, Hausdorff), and log(step)/h - (wF F + wG G) is the error in brackets.
 *
 * Basis: Lyndon words with F < G, each bracketed at its longest proper Lyndon suffix (Chen, Fox,
 * Lyndon 1958; Reutenauer 1993, section 5.3). The expansion of the bracket of w begins with w itself,
 * coefficient 1, and goes on with larger words, so coefficients are read off in rising order of w.
 * The sign of [F,G] = G'F - F'G is that of the word FG - GF, so nothing has to be translated.
 */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"

#include <stdio.h>
#include <string.h>

/* Words of length n <= max are numbered 2^n - 1 + (bits, first letter highest, G = 1): 0 is empty. */
static size_t word_count(int max)
{
    return ((size_t)1 << (max + 1)) - 1;
}

static int word_length(size_t w)
{
    int n = 0;
    while (w + 1 >= (size_t)2 << n) n++;
    return n;
}

static size_t word_bits(size_t w)
{
    return w + 1 - ((size_t)1 << word_length(w));
}

static size_t word_join(size_t a, size_t b)
{
    int m = word_length(b);
    size_t n = (size_t)word_length(a) + (size_t)m;
    return ((size_t)1 << n) - 1 + (word_bits(a) << m) + word_bits(b);
}

/* A polynomial in words: c[w]. */
typedef struct {
    int max;
    mpq_t *c;
} Words;

static int words_new(int max, Words *p)
{
    p->max = max;
    if (!(p->c = memory_new(word_count(max), sizeof(mpq_t)))) return ERR_MEMORY;
    for (size_t w = 0; w < word_count(max); w++) mpq_init(p->c[w]);
    return 0;
}

static void words_free(Words *p)
{
    for (size_t w = 0; p->c && w < word_count(p->max); w++) mpq_clear(p->c[w]);
    p->c = memory_free(p->c);
}

static void words_copy(Words *to, const Words *from)
{
    for (size_t w = 0; w < word_count(to->max); w++) mpq_set(to->c[w], from->c[w]);
}

/* out = a b, cut at length max. */
static void words_multiply(Words *out, const Words *a, const Words *b)
{
    mpq_t x;
    mpq_init(x);
    for (size_t w = 0; w < word_count(out->max); w++) mpq_set_ui(out->c[w], 0, 1);
    for (size_t u = 0; u < word_count(a->max); u++) {
        if (mpq_sgn(a->c[u]) == 0) continue;
        for (size_t v = 0; v < word_count(out->max - word_length(u)); v++) {
            if (mpq_sgn(b->c[v]) == 0) continue;
            mpq_ptr c = out->c[word_join(u, v)];
            mpq_mul(x, a->c[u], b->c[v]);
            mpq_add(c, c, x);
        }
    }
    mpq_clear(x);
}

/* e = exp(c letter): c^n / n! at the word letter^n. */
static void words_exp(Words *e, int letter, const mpq_t c)
{
    mpq_t x, n;
    size_t w = 0;
    mpq_inits(x, n, NULL);
    mpq_set_ui(x, 1, 1);
    for (size_t v = 0; v < word_count(e->max); v++) mpq_set_ui(e->c[v], 0, 1);
    for (int k = 0; k <= e->max; k++) {
        mpq_set(e->c[w], x);
        mpq_set_ui(n, 1, (unsigned long)k + 1);
        mpq_mul(x, x, c);
        mpq_mul(x, x, n);
        if (k < e->max) w = word_join(w, (size_t)1 + (size_t)letter);
    }
    mpq_clears(x, n, NULL);
}

/* log(1 + x) = sum (-1)^(n+1) x^n / n; p = 1 + x in, its logarithm out. */
static int words_log(Words *p)
{
    Words power = {0}, next = {0}, sum = {0};
    mpq_t c, q;
    mpq_inits(c, q, NULL);
    int code = words_new(p->max, &power);
    if (code == 0) code = words_new(p->max, &next);
    if (code == 0) code = words_new(p->max, &sum);
    mpq_set_ui(p->c[0], 0, 1);
    if (code == 0) words_copy(&power, p);
    for (int n = 1; code == 0 && n <= p->max; n++) {
        mpq_set_si(c, n % 2 ? 1 : -1, (unsigned long)n);
        for (size_t w = 0; w < word_count(p->max); w++) {
            mpq_mul(q, c, power.c[w]);
            mpq_add(sum.c[w], sum.c[w], q);
        }
        words_multiply(&next, &power, p);
        words_copy(&power, &next);
    }
    if (code == 0) words_copy(p, &sum);
    words_free(&power);
    words_free(&next);
    words_free(&sum);
    mpq_clears(c, q, NULL);
    return code;
}

/* ---- Lyndon words -------------------------------------------------------------------------------------- */

static void word_letters(size_t w, char *out)
{
    int n = word_length(w);
    for (int i = 0; i < n; i++) out[i] = word_bits(w) >> (n - 1 - i) & 1 ? 'G' : 'F';
    out[n] = 0;
}

/* Smaller than all its proper suffixes. */
static int is_lyndon(const char *letters)
{
    for (const char *s = letters + 1; *s; s++)
        if (strcmp(letters, s) >= 0) return 0;
    return 1;
}

/* Where the longest proper Lyndon suffix begins. */
static size_t split_at(const char *letters)
{
    size_t i = 1;
    while (!is_lyndon(letters + i)) i++;
    return i;
}

static size_t word_number(const char *letters, size_t n)
{
    size_t bits = 0;
    for (size_t i = 0; i < n; i++) bits = 2 * bits + (letters[i] == 'G');
    return ((size_t)1 << n) - 1 + bits;
}

/* [a,b] written out; returns the bytes written. */
static size_t bracket_name(const char *letters, size_t n, char *out)
{
    char part[LIE_MAX + 1];
    if (n == 1) {
        out[0] = letters[0];
        out[1] = 0;
        return 1;
    }
    memcpy(part, letters, n);
    part[n] = 0;
    size_t at = split_at(part), k = 0;
    out[k++] = '[';
    k += bracket_name(part, at, out + k);
    out[k++] = ',';
    k += bracket_name(part + at, n - at, out + k);
    out[k++] = ']';
    out[k] = 0;
    return k;
}

/* p -= c * (bracket of the Lyndon word), expanded: [a,b] = ab - ba over all prefixes kept as a list of
 * words with signs; at most 2^(n-1) of them. */
typedef struct {
    size_t count;
    size_t word[1 << LIE_MAX];
    int sign[1 << LIE_MAX];
} Expansion;

static void expand(const char *letters, size_t n, Expansion *e)
{
    static _Thread_local Expansion left[LIE_MAX], right[LIE_MAX];
    char part[LIE_MAX + 1];
    if (n == 1) {
        *e = (Expansion){.count = 1};
        e->word[0] = word_number(letters, 1);
        e->sign[0] = 1;
        return;
    }
    memcpy(part, letters, n);
    part[n] = 0;
    size_t at = split_at(part);
    Expansion *a = &left[n - 1], *b = &right[n - 1];
    expand(part, at, a);
    expand(part + at, n - at, b);
    e->count = 0;
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            size_t k = e->count;
            e->word[k] = word_join(a->word[i], b->word[j]);
            e->word[k + 1] = word_join(b->word[j], a->word[i]);
            e->sign[k] = a->sign[i] * b->sign[j];
            e->sign[k + 1] = -e->sign[k];
            e->count += 2;
        }
}

static void subtract_bracket(Words *p, const char *letters, size_t n, const mpq_t c)
{
    static _Thread_local Expansion e;
    expand(letters, n, &e);
    for (size_t i = 0; i < e.count; i++) {
        mpq_ptr x = p->c[e.word[i]];
        if (e.sign[i] > 0)
            mpq_sub(x, x, c);
        else
            mpq_add(x, x, c);
    }
}

/* ---- the list of brackets ------------------------------------------------------------------------------- */

static int add_bracket(Brackets *b, int degree, const char *letters, const mpq_t c)
{
    Bracket *grown = memory_grow(b->bracket, b->count, b->count + 1, sizeof(Bracket));
    if (!grown) return ERR_MEMORY;
    b->bracket = grown;
    Bracket *x = &grown[b->count++];
    x->degree = degree;
    bracket_name(letters, strlen(letters), x->name);
    mpq_init(x->c);
    mpq_set(x->c, c);
    return 0;
}

/* Reads the coefficients of a Lie polynomial off, length by length. Inexact tables: what theory.c takes
 * for zero is no term. */
static int read_brackets(const Table *t, Words *p, Brackets *out)
{
    mpq_t c;
    char letters[LIE_MAX + 1];
    int code = 0;
    mpq_init(c);
    for (size_t w = 1; code == 0 && w < word_count(p->max); w++) {
        word_letters(w, letters);
        if (mpq_sgn(p->c[w]) == 0 || !is_lyndon(letters)) continue;
        mpq_set(c, p->c[w]);
        if (!theory_is_zero(t, c)) code = add_bracket(out, word_length(w), letters, c);
        subtract_bracket(p, letters, strlen(letters), c);
    }
    mpq_clear(c);
    return code;
}

static int step_log(const Table *t, Words *p)
{
    Words e = {0}, next = {0};
    int code = words_new(p->max, &e);
    if (code == 0) code = words_new(p->max, &next);
    if (code == 0) mpq_set_ui(p->c[0], 1, 1);
    for (size_t i = 0; code == 0 && i < t->flows; i++) {
        words_exp(&e, t->flow[i].op, t->flow[i].c);
        words_multiply(&next, p, &e);
        words_copy(p, &next);
    }
    if (code == 0) code = words_log(p);
    words_free(&e);
    words_free(&next);
    return code;
}

int bracket_error(const Table *t, int degree, Brackets *out)
{
    Words p;
    *out = (Brackets){0};
    if (!t->flows)
        return error_set(ERR_INPUT, "%s: brackets belong to splittings by exact flows", t->name);
    if (degree < 1 || degree > LIE_MAX)
        return error_set(ERR_INPUT, "expected a degree of 1 to %d; %d is asked for", LIE_MAX,
                         degree);
    int code = words_new(degree, &p);
    if (code == 0) code = step_log(t, &p);
    for (int op = 0; code == 0 && op < 2; op++) mpq_sub(p.c[1 + op], p.c[1 + op], t->weight[op]);
    if (code == 0) code = read_brackets(t, &p, out);
    words_free(&p);
    if (code != 0) bracket_free(out);
    return code;
}

void bracket_free(Brackets *b)
{
    for (size_t i = 0; i < b->count; i++) mpq_clear(b->bracket[i].c);
    b->bracket = memory_free(b->bracket);
    b->count = 0;
}

int bracket_area(const Table *t, mpq_t area)
{
    Brackets b;
    TRY(bracket_error(t, 2, &b));
    mpq_set_ui(area, 0, 1);
    for (size_t i = 0; i < b.count; i++)
        if (strcmp(b.bracket[i].name, "[F,G]") == 0) mpq_set(area, b.bracket[i].c);
    bracket_free(&b);
    return 0;
}
