/* bracket.c: splittings by exact flows as Lie series: log(step)/h - (wF F + wG G) in brackets.
 *
 * A step of flows is a product of exponentials of words (lie.c); its logarithm is a Lie series (Baker,
 * Campbell, Hausdorff). The sign of [F,G] = G'F - F'G is that of the word FG - GF, so nothing has to
 * be translated. */
#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/lie.h"

#include <string.h>

static int add_bracket(Brackets *b, const Words *p, size_t w, const mpq_t c)
{
    Bracket *grown = memory_grow(b->bracket, b->count, b->count + 1, sizeof(Bracket));
    if (!grown) return ERR_MEMORY;
    b->bracket = grown;
    Bracket *x = &grown[b->count++];
    x->degree = lie_length(p, w);
    lyndon_name(p, w, x->name, sizeof x->name);
    mpq_init(x->c);
    mpq_set(x->c, c);
    return 0;
}

/* Reads the coefficients of a Lie polynomial off, length by length. Inexact tables: what theory.c takes
 * for zero is no term. */
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

int bracket_error(const Table *t, int degree, Brackets *out)
{
    Words p;
    *out = (Brackets){0};
    if (!t->flows)
        return error_set(ERR_INPUT, "%s: brackets belong to splittings by exact flows", t->name);
    if (degree < 1 || degree > bracket_most(t))
        return error_set(ERR_INPUT, "expected a degree of 1 to %d%s; %d is asked for",
                         bracket_most(t), t->colours == 2 ? "" : " of a decoder's scheme", degree);
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
