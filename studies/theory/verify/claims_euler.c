/* claims_euler.c: compositions of Euler sub-steps. A sub-step y + a F(y) after others contributes a^2 / 2 less
 * before F'F than the flow does. With steps a_i of F, numerical - exact has h^2 F'F with sum_{i<j} a_i a_j - (sum
 * a)^2 / 2 = -1/2 sum a^2, which no real steps make zero. Other sub-steps between them do not change that, nor
 * does G, whose G'G is alike.
 * Derived here; the condition sum a = 1, sum_{i<j} a_i a_j = 1/2 is that of order 2 (Hairer,
 * Lubich, Wanner 2006, II.5). */
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/theory/verify/claims.h"

/* Sums a^2 over an operator's sub-steps. In a composition these are the update's weights of its evaluations. */
static void sum_squares(const Table *t, int op, mpq_t sum)
{
    RATIONAL(square);
    mpq_set_ui(sum, 0, 1);
    for (size_t i = 0; i < t->update.terms; i++) {
        const Term *u = &t->update.term[i];
        if (u->eval < 0 || t->eval[u->eval].op != op) continue;
        mpq_mul(square, u->c, u->c);
        mpq_add(sum, sum, square);
    }
}

/* Finds the coefficient of a differential in map - exact. */
static void find_term(const Expansion *x, const char *term, mpq_t c)
{
    char name[64];
    mpq_set_ui(c, 0, 1);
    for (size_t i = 0; i < x->forest->count; i++)
        if (tree_name(x->forest, i, name, sizeof name) == 0 && strcmp(name, term) == 0)
            mpq_set(c, x->have[i]);
}

/* *same: is the factor of F'F and G'G equal to c sum a^2 and not zero? *slope: that of the measured
 * error; NULL: not wanted. */
static int as_stated(const Zoo *z, const char *map, const mpq_t c, double *slope, int *same)
{
    static const char *const term[] = {[OP_F] = "F'F", [OP_G] = "G'G"};
    SCOPED(expansion_close) Expansion x = {0};
    double off, control;
    RATIONALS(want, have);
    TRY(expansion_open(z, map, "exact", 1, "F+G", &x));
    *same = 1;
    for (int op = 0; op < 2; op++) {
        sum_squares(x.map.part[0].table, op, want);
        mpq_mul(want, want, c);
        find_term(&x, term[op], have);
        *same = *same && mpq_equal(want, have) && mpq_sgn(have) != 0;
    }
    return slope ? expansion_measure(&x, 1, slope, &off, &control) : 0;
}

int check_euler(const Zoo *z, const char *const *arg, Finding *f)
{
    RATIONAL(c);
    int same = 1, all = 1, spoilt = 1, maps = 0;
    double slope = 2, far = 0;
    SCOPED(memory_drop) char *list = memory_string(arg[1]);
    char *rest = list;
    TRY(list ? terms_number(arg[0], c) : ERR_MEMORY);
    for (char *map; (map = strsep(&rest, "|")); maps++) {
        TRY(as_stated(z, map, c, &slope, &same));
        all = all && same;
        if (!(fabs(slope - 2) <= far)) far = fabs(slope - 2);
    }
    /* Control: the formula is refused for a scheme that is no composition and has order 2 with real weights too. */
    TRY(as_stated(z, "fgfg2", c, NULL, &spoilt));
    f->holds = all;
    f->sound = f->sound && !spoilt && far <= claim_near;
    finding_say(
        f,
        "%d compositions, words, loops, and with steps of both signs: %s sum a^2 stands before F'F and "
        "G'G in %s; measured local errors fall as h^2 within %.2f (control, fgfg2, which is no "
        "composition: %s)",
        maps, arg[0], all ? "all of them" : "not all of them", far, spoilt ? "passed" : "refused");
    return 0;
}
