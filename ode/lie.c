/* lie.c: polynomials in words over {F, G}, their exponentials and logarithms, Lyndon brackets.
 *
 * By Lie derivatives "F then G" is exp(h F) exp(h G), first-applied on the left, in the algebra of
 * words. Basis of its Lie elements: Lyndon words with F < G, each bracketed at its longest proper Lyndon
 * suffix (Chen, Fox, Lyndon 1958; Reutenauer 1993, section 5.3). The expansion of the bracket of w
 * begins with w itself, coefficient 1, and goes on with larger words, so coefficients are read off in
 * rising order of w. */
#include "ode/lie.h"
#include "kernels/error.h"
#include "kernels/memory.h"

#include <stdio.h>
#include <string.h>

size_t lie_count(int max)
{
    return ((size_t)1 << (max + 1)) - 1;
}

int lie_length(size_t w)
{
    int n = 0;
    while (w + 1 >= (size_t)2 << n) n++;
    return n;
}

static size_t word_bits(size_t w)
{
    return w + 1 - ((size_t)1 << lie_length(w));
}

static size_t word_join(size_t a, size_t b)
{
    int m = lie_length(b);
    size_t n = (size_t)lie_length(a) + (size_t)m;
    return ((size_t)1 << n) - 1 + (word_bits(a) << m) + word_bits(b);
}

int lie_new(int max, Words *p)
{
    p->max = max;
    if (!(p->c = memory_new(lie_count(max), sizeof(mpq_t)))) return ERR_MEMORY;
    for (size_t w = 0; w < lie_count(max); w++) mpq_init(p->c[w]);
    return 0;
}

void lie_free(Words *p)
{
    for (size_t w = 0; p->c && w < lie_count(p->max); w++) mpq_clear(p->c[w]);
    p->c = memory_free(p->c);
}

void lie_copy(Words *to, const Words *from)
{
    for (size_t w = 0; w < lie_count(to->max); w++) mpq_set(to->c[w], from->c[w]);
}

void lie_multiply(Words *out, const Words *a, const Words *b)
{
    mpq_t x;
    mpq_init(x);
    for (size_t w = 0; w < lie_count(out->max); w++) mpq_set_ui(out->c[w], 0, 1);
    for (size_t u = 0; u < lie_count(a->max); u++) {
        if (mpq_sgn(a->c[u]) == 0) continue;
        for (size_t v = 0; v < lie_count(out->max - lie_length(u)); v++) {
            if (mpq_sgn(b->c[v]) == 0) continue;
            mpq_ptr c = out->c[word_join(u, v)];
            mpq_mul(x, a->c[u], b->c[v]);
            mpq_add(c, c, x);
        }
    }
    mpq_clear(x);
}

/* c^n / n! at the word letter^n. */
void lie_exp_letter(Words *e, int letter, const mpq_t c)
{
    mpq_t x, n;
    size_t w = 0;
    mpq_inits(x, n, NULL);
    mpq_set_ui(x, 1, 1);
    for (size_t v = 0; v < lie_count(e->max); v++) mpq_set_ui(e->c[v], 0, 1);
    for (int k = 0; k <= e->max; k++) {
        mpq_set(e->c[w], x);
        mpq_set_ui(n, 1, (unsigned long)k + 1);
        mpq_mul(x, x, c);
        mpq_mul(x, x, n);
        if (k < e->max) w = word_join(w, (size_t)1 + (size_t)letter);
    }
    mpq_clears(x, n, NULL);
}

/* sum over n of a_n x^n, a_n = (-1)^(n+1) / n (logarithm) or 1 / n! (exponential); x in, the sum out. */
static int lie_series(Words *x, int exponential)
{
    Words power = {0}, next = {0}, sum = {0};
    mpq_t c, q;
    mpq_inits(c, q, NULL);
    int code = lie_new(x->max, &power);
    if (code == 0) code = lie_new(x->max, &next);
    if (code == 0) code = lie_new(x->max, &sum);
    if (code == 0) lie_copy(&power, x);
    if (code == 0) mpq_set_ui(sum.c[0], (unsigned)exponential, 1);
    mpq_set_ui(c, 1, 1);
    for (int n = 1; code == 0 && n <= x->max; n++) {
        if (exponential) {
            mpq_set_ui(q, 1, (unsigned)n);
            mpq_mul(c, c, q);
        } else {
            mpq_set_si(c, n % 2 ? 1 : -1, (unsigned)n);
        }
        for (size_t w = 0; w < lie_count(x->max); w++) {
            mpq_mul(q, c, power.c[w]);
            mpq_add(sum.c[w], sum.c[w], q);
        }
        lie_multiply(&next, &power, x);
        lie_copy(&power, &next);
    }
    if (code == 0) lie_copy(x, &sum);
    lie_free(&power);
    lie_free(&next);
    lie_free(&sum);
    mpq_clears(c, q, NULL);
    return code;
}

int lie_exp(Words *p)
{
    return lie_series(p, 1);
}

int lie_log(Words *p)
{
    mpq_set_ui(p->c[0], 0, 1);
    return lie_series(p, 0);
}

int lie_step(const Table *t, Words *p)
{
    Words e = {0}, next = {0};
    int code = lie_new(p->max, &e);
    if (code == 0) code = lie_new(p->max, &next);
    for (size_t w = 0; w < lie_count(p->max); w++) mpq_set_ui(p->c[w], w == 0, 1);
    for (size_t i = 0; code == 0 && i < t->flows; i++) {
        lie_exp_letter(&e, t->flow[i].op, t->flow[i].c);
        lie_multiply(&next, p, &e);
        lie_copy(p, &next);
    }
    lie_free(&e);
    lie_free(&next);
    return code;
}

/* ---- Lyndon words -------------------------------------------------------------------------------------- */

void lie_letters(size_t w, char *out)
{
    int n = lie_length(w);
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

/* The bracket of a Lyndon word, expanded: [a,b] = ab - ba over all prefixes kept as a list of
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

int lyndon_is(size_t w)
{
    char letters[LIE_MAX + 1];
    lie_letters(w, letters);
    return w > 0 && is_lyndon(letters);
}

void lyndon_name(size_t w, char *out, size_t bytes)
{
    char letters[LIE_MAX + 1], name[4 * LIE_MAX];
    lie_letters(w, letters);
    bracket_name(letters, strlen(letters), name);
    snprintf(out, bytes, "%s", name);
}

void lyndon_subtract(Words *p, size_t w, const mpq_t c)
{
    static _Thread_local Expansion e;
    char letters[LIE_MAX + 1];
    lie_letters(w, letters);
    expand(letters, strlen(letters), &e);
    for (size_t i = 0; i < e.count; i++) {
        mpq_ptr x = p->c[e.word[i]];
        if (e.sign[i] > 0)
            mpq_sub(x, x, c);
        else
            mpq_add(x, x, c);
    }
}
