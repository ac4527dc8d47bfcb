/* bracket.c: splittings by exact flows as Lie series: log(step)/h - (wF F + wG G) in brackets.
 *
 * A step of flows is a product of exponentials of words (lie.c); its logarithm is a Lie series (Baker,
 * Campbell, Hausdorff). The sign of [F,G] = G'F - F'G is that of the word FG - GF, so nothing has to
 * be translated. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/lexer.h"
#include "ode/theory/lie.h"

#include <string.h>

static int add_bracket(Brackets *b, const Words *p, size_t w, const mpq_t c)
{
    TRY(memory_more(&b->bracket, b->count, sizeof(Bracket)));
    Bracket *x = &b->bracket[b->count++];
    x->degree = lie_length(p, w);
    lyndon_name(p, w, x->name, sizeof x->name);
    mpq_init(x->c);
    mpq_set(x->c, c);
    return 0;
}

/* Reads the coefficients of a Lie polynomial off, length by length. In inexact tables a coefficient
 * that theory.c takes for zero is no term, unless zeros are asked for. */
static int read_brackets(const Table *t, Words *p, int zeros, Brackets *out)
{
    RATIONAL(c);
    for (size_t w = 1; w < lie_count(p); w++) {
        if ((mpq_sgn(p->c[w]) == 0 && !zeros) || !lyndon_is(p, w)) continue;
        mpq_set(c, p->c[w]);
        if (zeros || !theory_is_zero(t, c)) TRY(add_bracket(out, p, w, c));
        lyndon_subtract(p, w, c);
    }
    return 0;
}

int bracket_most(const Table *t)
{
    return t->colours == 2 ? LIE_MAX : LIE_MAX_3;
}

static int check_degree(const Table *t, int degree)
{
    if (table_complex(t))
        return error_set(ERR_INPUT,
                         "%s: its step is the real part of complex flows, which has no brackets",
                         t->name);
    if (!table_exact_flows(t))
        return error_set(ERR_INPUT, "%s: brackets belong to splittings by exact flows", t->name);
    if (degree < 1 || degree > bracket_most(t))
        return error_set(ERR_INPUT, "expected a degree of 1 to %d%s; %d is asked for",
                         bracket_most(t), t->colours == 2 ? "" : " of a decoder's scheme", degree);
    return 0;
}

static int find_error(const Table *t, int degree, int zeros, Brackets *out)
{
    SCOPED(lie_free) Words p = {0};
    TRY(check_degree(t, degree));
    TRY(lie_new(t->colours, degree, &p));
    TRY(lie_step(t, &p));
    TRY(lie_log(&p));
    for (int op = 0; op < t->colours; op++) {
        mpq_ptr x = p.c[lie_letter(&p, op)];
        mpq_sub(x, x, t->weight[op]);
    }
    return read_brackets(t, &p, zeros, out);
}

static int error(const Table *t, int degree, int zeros, Brackets *out)
{
    *out = (Brackets){0};
    int code = find_error(t, degree, zeros, out);
    if (code != 0) bracket_free(out);
    return code;
}

int bracket_error(const Table *t, int degree, Brackets *out)
{
    return error(t, degree, 0, out);
}

int bracket_every(const Table *t, int degree, Brackets *out)
{
    return error(t, degree, 1, out);
}

void bracket_free(Brackets *b)
{
    for (size_t i = 0; i < b->count; i++) mpq_clear(b->bracket[i].c);
    b->bracket = memory_free(b->bracket);
    b->count = 0;
}

int bracket_area(const Table *t, int a, int b, mpq_t area)
{
    SCOPED(bracket_free) Brackets all = {0};
    const char name[] = {'[', table_letters[a], ',', table_letters[b], ']', 0};
    TRY(bracket_error(t, 2, &all));
    mpq_set_ui(area, 0, 1);
    for (size_t i = 0; i < all.count; i++)
        if (strcmp(all.bracket[i].name, name) == 0) mpq_set(area, all.bracket[i].c);
    return 0;
}

/* ---- sums as texts ------------------------------------------------------------------------------------- */

static int read_letter(Cursor *at, Words *p, int *letters)
{
    const char *all = p->letters == 2 ? "FG" : "FGC"; /* in the order of colours */
    const char *letter = at->at < at->end ? strchr(all, *at->at) : NULL;
    if (!letter)
        return cursor_error(at, "expected a commutator, as [F,[F,G]], of F%s and G",
                            p->letters == 2 ? "" : ", C");
    if (++*letters > p->max)
        return cursor_error(at, "expected commutators of %d letters at most", p->max);
    mpq_set_ui(p->c[lie_letter(p, (int)(letter - all))], 1, 1);
    at->at++;
    return 0;
}

/* Reads p (zero), the commutator at the cursor in words, [a,b] = ab - ba; letters counts up. */
static int read_commutator(Cursor *at, int depth, Words *p, int *letters)
{
    SCOPED(lie_free) Words a = {0}, b = {0};
    if (!cursor_take(at, "[")) return read_letter(at, p, letters);
    if (depth == p->max)
        return cursor_error(at, "expected commutators of %d letters at most", p->max);
    TRY(lie_new(p->letters, p->max, &a));
    TRY(lie_new(p->letters, p->max, &b));
    TRY(read_commutator(at, depth + 1, &a, letters));
    TRY(cursor_expect(at, ","));
    TRY(read_commutator(at, depth + 1, &b, letters));
    TRY(cursor_expect(at, "]"));
    return lie_bracket(p, &a, &b);
}

static int add_commutator(void *to, Cursor *at, const mpq_t c)
{
    Words *sum = to;
    SCOPED(lie_free) Words p = {0};
    int letters = 0;
    TRY(lie_new(sum->letters, sum->max, &p));
    TRY(read_commutator(at, 1, &p, &letters));
    for (size_t w = 0; w < lie_count(&p); w++) rational_add(sum->c[w], c, p.c[w]);
    return 0;
}

static int read_sum(const Table *t, const char *text, int degree, Brackets *out)
{
    SCOPED(lie_free) Words sum = {0};
    TRY(check_degree(t, degree));
    TRY(lie_new(t->colours, degree, &sum));
    TRY(terms_read(text, add_commutator, &sum));
    return read_brackets(t, &sum, 0, out);
}

int bracket_read(const Table *t, const char *text, int degree, Brackets *out)
{
    *out = (Brackets){0};
    int code = read_sum(t, text, degree, out);
    if (code != 0) bracket_free(out);
    return code;
}

int bracket_equal(const Table *t, const Brackets *a, const Brackets *b)
{
    int equal = a->count == b->count;
    RATIONAL(d);
    for (size_t i = 0; equal && i < a->count; i++) {
        mpq_sub(d, a->bracket[i].c, b->bracket[i].c);
        equal = strcmp(a->bracket[i].name, b->bracket[i].name) == 0 && theory_is_zero(t, d);
    }
    return equal;
}
