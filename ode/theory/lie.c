/* lie.c: polynomials in words over {F, G} or {F, C, G}, their exponentials and logarithms, Lyndon brackets.
 *
 * By Lie derivatives "F then G" is exp(h F) exp(h G), first-applied on the left, in the algebra of words.
 * The basis of its Lie elements is the Lyndon words with F < C < G, each bracketed at its longest proper
 * Lyndon suffix (Chen, Fox, Lyndon 1958; Reutenauer 1993, section 5.3). The expansion of the bracket of w
 * begins with w itself, coefficient 1, and goes on with larger words, so coefficients are read off in rising
 * order of w. */
#include "ode/theory/lie.h"
#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"

#include <stdio.h>
#include <string.h>

/* Returns letters^n. */
static size_t power(int letters, int n)
{
    size_t p = 1;
    while (n-- > 0) p *= (size_t)letters;
    return p;
}

size_t lie_shorter(const Words *p, int n)
{
    return (power(p->letters, n) - 1) / (size_t)(p->letters - 1);
}

size_t lie_count(const Words *p)
{
    return lie_shorter(p, p->max + 1);
}

int lie_length(const Words *p, size_t w)
{
    int n = 0;
    while (w >= lie_shorter(p, n + 1)) n++;
    return n;
}

/* Returns a colour's place in the order of letters. */
static int digit(int letters, int op)
{
    return op == OP_F ? 0 : op == OP_G ? letters - 1 : 1;
}

size_t lie_letter(const Words *p, int op)
{
    return 1 + (size_t)digit(p->letters, op);
}

static size_t word_join(const Words *p, size_t a, size_t b)
{
    int m = lie_length(p, a), n = lie_length(p, b);
    size_t left = a - lie_shorter(p, m), right = b - lie_shorter(p, n);
    return lie_shorter(p, m + n) + left * power(p->letters, n) + right;
}

int lie_new(int letters, int max, Words *p)
{
    p->letters = letters;
    p->max = max;
    return (p->c = rationals_new(lie_count(p))) ? 0 : ERR_MEMORY;
}

void lie_free(Words *p)
{
    rationals_free(p->c);
    p->c = NULL;
}

void lie_copy(Words *to, const Words *from)
{
    for (size_t w = 0, n = lie_count(to); w < n; w++) mpq_set(to->c[w], from->c[w]);
}

void lie_multiply(Words *out, const Words *a, const Words *b)
{
    RATIONAL(x);
    for (size_t w = 0, n = lie_count(out); w < n; w++) mpq_set_ui(out->c[w], 0, 1);
    for (int m = 0; m <= out->max; m++) {
        size_t first = lie_shorter(out, m), last = lie_shorter(out, m + 1);
        for (size_t u = first; u < last; u++) {
            if (mpq_sgn(a->c[u]) == 0) continue;
            for (int n = 0; m + n <= out->max; n++) {
                size_t behind = lie_shorter(out, n), many = power(out->letters, n);
                size_t at = lie_shorter(out, m + n) + (u - first) * many;
                for (size_t v = 0; v < many; v++) {
                    if (mpq_sgn(b->c[behind + v]) == 0) continue;
                    mpq_mul(x, a->c[u], b->c[behind + v]);
                    mpq_add(out->c[at + v], out->c[at + v], x);
                }
            }
        }
    }
}

int lie_bracket(Words *out, const Words *a, const Words *b)
{
    SCOPED(lie_free) Words ba = {0};
    TRY(lie_new(out->letters, out->max, &ba));
    lie_multiply(out, a, b);
    lie_multiply(&ba, b, a);
    for (size_t w = 0; w < lie_count(out); w++) mpq_sub(out->c[w], out->c[w], ba.c[w]);
    return 0;
}

/* Computes e = exp(c op), op a colour: c^n / n! at the word op^n. */
static void exp_letter(Words *e, int op, const mpq_t c)
{
    size_t w = 0;
    RATIONAL(x);
    mpq_set_ui(x, 1, 1);
    for (size_t v = 0, all = lie_count(e); v < all; v++) mpq_set_ui(e->c[v], 0, 1);
    for (int k = 0; k <= e->max; k++) {
        mpq_set(e->c[w], x);
        mpq_mul(x, x, c);
        rational_divide(x, (unsigned long)k + 1);
        w = (size_t)e->letters * w + lie_letter(e, op); /* one letter more */
    }
}

/* Replaces x by the sum of a_n x^n, a_n = (-1)^(n+1) / n (logarithm) or 1 / n! (exponential). */
static int lie_series(Words *x, int exponential)
{
    SCOPED(lie_free) Words power = {0}, next = {0}, sum = {0};
    RATIONAL(c);
    TRY(lie_new(x->letters, x->max, &power));
    TRY(lie_new(x->letters, x->max, &next));
    TRY(lie_new(x->letters, x->max, &sum));
    lie_copy(&power, x);
    mpq_set_ui(sum.c[0], (unsigned)exponential, 1);
    mpq_set_ui(c, 1, 1);
    for (int n = 1; n <= x->max; n++) {
        if (exponential)
            rational_divide(c, (unsigned)n);
        else
            mpq_set_si(c, n % 2 ? 1 : -1, (unsigned)n);
        for (size_t w = 0, all = lie_count(x); w < all; w++) rational_add(sum.c[w], c, power.c[w]);
        lie_multiply(&next, &power, x);
        lie_copy(&power, &next);
    }
    lie_copy(x, &sum);
    return 0;
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

/* Rounds to fractions of 2^PRECISION, as those of decimals grow with every product. */
static void round_all(Words *p)
{
    enum { PRECISION = 384 };
    for (size_t w = 0, all = lie_count(p); w < all; w++) {
        mpz_mul_2exp(mpq_numref(p->c[w]), mpq_numref(p->c[w]), PRECISION);
        mpz_tdiv_q(mpq_numref(p->c[w]), mpq_numref(p->c[w]), mpq_denref(p->c[w]));
        mpz_set_ui(mpq_denref(p->c[w]), 1);
        mpq_div_2exp(p->c[w], p->c[w], PRECISION);
    }
}

int lie_step(const Table *t, Words *p)
{
    SCOPED(lie_free) Words e = {0}, next = {0};
    if (!table_exact_flows(t))
        return error_set(ERR_INPUT, "%s: words and brackets belong to splittings by exact flows",
                         t->name);
    TRY(lie_new(p->letters, p->max, &e));
    TRY(lie_new(p->letters, p->max, &next));
    for (size_t w = 0, all = lie_count(p); w < all; w++) mpq_set_ui(p->c[w], w == 0, 1);
    for (size_t i = 0; i < t->flows; i++) {
        exp_letter(&e, t->flow[i].op, t->flow[i].c);
        lie_multiply(&next, p, &e);
        lie_copy(p, &next);
        if (!t->exact) round_all(p);
    }
    return 0;
}

/* ---- Lyndon words -------------------------------------------------------------------------------------- */

/* Writes the letters of a word to out (length + 1). */
static void word_letters(const Words *p, size_t w, char *out)
{
    static const char letters[2][COLOURS + 1] = {"FG", "FCG"};
    int n = lie_length(p, w);
    out[n] = 0;
    for (w -= lie_shorter(p, n); n > 0; w /= (size_t)p->letters)
        out[--n] = letters[p->letters - 2][w % (size_t)p->letters];
}

/* Compares as strcmp does, with F < C < G. */
static int compare(const char *a, const char *b)
{
    static const char order[] = "FCG";
    while (*a && *a == *b) a++, b++;
    return !*a || !*b ? *a - *b : (int)(strchr(order, *a) - strchr(order, *b));
}

static int is_lyndon(const char *letters)
{
    for (const char *s = letters + 1; *s; s++)
        if (compare(letters, s) >= 0) return 0;
    return 1;
}

static size_t split_at(const char *letters)
{
    size_t i = 1;
    while (!is_lyndon(letters + i)) i++;
    return i;
}

/* Writes [a,b] out; returns the bytes written. */
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

static void expand(const Words *p, const char *letters, size_t n, Expansion *e)
{
    static _Thread_local Expansion left[LIE_MAX], right[LIE_MAX];
    char part[LIE_MAX + 1];
    if (n == 1) {
        *e = (Expansion){.count = 1};
        e->word[0] = lie_letter(p, (int)(strchr(table_letters, *letters) - table_letters));
        e->sign[0] = 1;
        return;
    }
    memcpy(part, letters, n);
    part[n] = 0;
    size_t at = split_at(part);
    Expansion *a = &left[n - 1], *b = &right[n - 1];
    expand(p, part, at, a);
    expand(p, part + at, n - at, b);
    e->count = 0;
    for (size_t i = 0; i < a->count; i++)
        for (size_t j = 0; j < b->count; j++) {
            size_t k = e->count;
            e->word[k] = word_join(p, a->word[i], b->word[j]);
            e->word[k + 1] = word_join(p, b->word[j], a->word[i]);
            e->sign[k] = a->sign[i] * b->sign[j];
            e->sign[k + 1] = -e->sign[k];
            e->count += 2;
        }
}

int lyndon_is(const Words *p, size_t w)
{
    char letters[LIE_MAX + 1];
    word_letters(p, w, letters);
    return w > 0 && is_lyndon(letters);
}

void lyndon_name(const Words *p, size_t w, char *out, size_t bytes)
{
    char letters[LIE_MAX + 1], name[4 * LIE_MAX];
    word_letters(p, w, letters);
    bracket_name(letters, strlen(letters), name);
    snprintf(out, bytes, "%s", name);
}

void lyndon_subtract(Words *p, size_t w, const mpq_t c)
{
    static _Thread_local Expansion e;
    char letters[LIE_MAX + 1];
    word_letters(p, w, letters);
    expand(p, letters, strlen(letters), &e);
    for (size_t i = 0; i < e.count; i++) {
        mpq_ptr x = p->c[e.word[i]];
        if (e.sign[i] > 0)
            mpq_sub(x, x, c);
        else
            mpq_add(x, x, c);
    }
}
