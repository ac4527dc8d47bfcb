/* bracket.c: splittings by exact flows as Lie series: log(step)/h - (wF F + wG G) in brackets.
 *
 * A step of flows is a product of exponentials of words (lie.c); its logarithm is a Lie series (Baker,
 * Campbell, Hausdorff). The sign of [F,G] = G'F - F'G is that of the word FG - GF, so nothing has to
 * be translated. */
#include "kernels/error.h"
#include "kernels/memory.h"
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
 * that theory.c takes for zero is no term. */
static int read_brackets(const Table *t, Words *p, Brackets *out)
{
    mpq_t c;
    int code = 0;
    mpq_init(c);
    for (size_t w = 1; code == 0 && w < lie_count(p); w++) {
        if (mpq_sgn(p->c[w]) == 0 || !lyndon_is(p, w)) continue;
        mpq_set(c, p->c[w]);
        if (!theory_is_zero(t, c)) code = add_bracket(out, p, w, c);
        lyndon_subtract(p, w, c);
    }
    mpq_clear(c);
    return code;
}

int bracket_most(const Table *t)
{
    return t->colours == 2 ? LIE_MAX : LIE_MAX_3;
}

static int check_degree(const Table *t, int degree)
{
    if (!t->flows)
        return error_set(ERR_INPUT, "%s: brackets belong to splittings by exact flows", t->name);
    if (degree < 1 || degree > bracket_most(t))
        return error_set(ERR_INPUT, "expected a degree of 1 to %d%s; %d is asked for",
                         bracket_most(t), t->colours == 2 ? "" : " of a decoder's scheme", degree);
    return 0;
}

int bracket_error(const Table *t, int degree, Brackets *out)
{
    Words p;
    *out = (Brackets){0};
    TRY(check_degree(t, degree));
    int code = lie_new(t->colours, degree, &p);
    if (code == 0) code = lie_step(t, &p);
    if (code == 0) code = lie_log(&p);
    for (int op = 0; code == 0 && op < t->colours; op++) {
        mpq_ptr x = p.c[lie_letter(&p, op)];
        mpq_sub(x, x, t->weight[op]);
    }
    if (code == 0) code = read_brackets(t, &p, out);
    lie_free(&p);
    if (code != 0) bracket_free(out);
    return code;
}

void bracket_free(Brackets *b)
{
    for (size_t i = 0; i < b->count; i++) mpq_clear(b->bracket[i].c);
    b->bracket = memory_free(b->bracket);
    b->count = 0;
}

int bracket_area(const Table *t, int a, int b, mpq_t area)
{
    Brackets all;
    const char name[] = {'[', table_letters[a], ',', table_letters[b], ']', 0};
    TRY(bracket_error(t, 2, &all));
    mpq_set_ui(area, 0, 1);
    for (size_t i = 0; i < all.count; i++)
        if (strcmp(all.bracket[i].name, name) == 0) mpq_set(area, all.bracket[i].c);
    bracket_free(&all);
    return 0;
}

/* ---- sums as texts ------------------------------------------------------------------------------------- */

/* Reads p (zero), the commutator at the cursor in words, [a,b] = ab - ba; letters counts up. */
static int read_commutator(Cursor *at, int depth, Words *p, int *letters)
{
    static const char *const name[] = {"FG", "FGC"}; /* in the order of colours */
    Words a = {0}, b = {0}, ba = {0};
    if (!cursor_take(at, "[")) {
        const char *all = name[p->letters - 2];
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
    if (depth == p->max)
        return cursor_error(at, "expected commutators of %d letters at most", p->max);
    int code = lie_new(p->letters, p->max, &a);
    if (code == 0) code = lie_new(p->letters, p->max, &b);
    if (code == 0) code = lie_new(p->letters, p->max, &ba);
    if (code == 0) code = read_commutator(at, depth + 1, &a, letters);
    if (code == 0) code = cursor_expect(at, ",");
    if (code == 0) code = read_commutator(at, depth + 1, &b, letters);
    if (code == 0) code = cursor_expect(at, "]");
    if (code == 0) {
        lie_multiply(p, &a, &b);
        lie_multiply(&ba, &b, &a);
        for (size_t w = 0; w < lie_count(p); w++) mpq_sub(p->c[w], p->c[w], ba.c[w]);
    }
    lie_free(&a);
    lie_free(&b);
    lie_free(&ba);
    return code;
}

static int add_commutator(void *to, Cursor *at, const mpq_t c)
{
    Words *sum = to, p = {0};
    int letters = 0;
    TRY(lie_new(sum->letters, sum->max, &p));
    int code = read_commutator(at, 1, &p, &letters);
    for (size_t w = 0; code == 0 && w < lie_count(&p); w++) {
        rational_add(sum->c[w], c, p.c[w]);
    }
    lie_free(&p);
    return code;
}

int bracket_read(const Table *t, const char *text, int degree, Brackets *out)
{
    Words sum;
    *out = (Brackets){0};
    TRY(check_degree(t, degree));
    int code = lie_new(t->colours, degree, &sum);
    if (code == 0) code = terms_read(text, add_commutator, &sum);
    if (code == 0) code = read_brackets(t, &sum, out);
    lie_free(&sum);
    if (code != 0) bracket_free(out);
    return code;
}

int bracket_equal(const Table *t, const Brackets *a, const Brackets *b)
{
    mpq_t d;
    int equal = a->count == b->count;
    mpq_init(d);
    for (size_t i = 0; equal && i < a->count; i++) {
        mpq_sub(d, a->bracket[i].c, b->bracket[i].c);
        equal = strcmp(a->bracket[i].name, b->bracket[i].name) == 0 && theory_is_zero(t, d);
    }
    mpq_clear(d);
    return equal;
}
