/* algebra.c: theorems on schemes drawn at random (ode/scheme/compose.c, ode/theory/theory.c). An adjoint has the order of its
 * scheme, the adjoint of the adjoint has the scheme's error, and a scheme over h / 2 behind its adjoint over h / 2 is
 * symmetric, so its order is even. Two halves have the order of the whole, or a higher one where it is 0. Source: Hairer,
 * Lubich, Wanner 2006, theorems II.3.2 and II.4.1. */
#include <math.h>

#include "ode/ode.h"
#include "tests/fuzz/fuzz.h"

enum { MOST = 4, STAGES = 8 };

/* Finds the theory; returns 0 where there is none, or where its numbers are rounded. */
static int study(const Table *t, Theory *y)
{
    return t->exact && !theory_may_round(t) && theory_search(t, MOST, y) == 0 && y->consistent;
}

/* Makes a over h / 2, then b over h / 2; NULL where they do not compose. */
static Table *halves(const Table *a, const Table *b)
{
    Table *t = NULL;
    Substep step[2] = {{.scheme = a}, {.scheme = b}};
    for (int i = 0; i < 2; i++) {
        mpq_init(step[i].c);
        mpq_set_ui(step[i].c, 1, 2);
    }
    if (scheme_compose(step, 2, &t) != 0) t = NULL;
    for (int i = 0; i < 2; i++) mpq_clear(step[i].c);
    return t;
}

static void check(const Table *t)
{
    Theory of, adjoint, back, both;
    Table *a = NULL, *b = NULL, *symmetric = NULL, *twice = NULL;
    if (!study(t, &of) || scheme_adjoint(t, &a) != 0) return;
    if (study(a, &adjoint)) {
        FUZZ_CHECK(adjoint.order == of.order && adjoint.searched == of.searched);
        if (scheme_adjoint(a, &b) == 0 && study(b, &back)) {
            FUZZ_CHECK(back.order == of.order);
            double x = back.error_norm2, y = of.error_norm2;
            FUZZ_CHECK(x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-9 * fabs(y));
        }
        if ((symmetric = halves(t, a)) && study(symmetric, &both))
            FUZZ_CHECK(both.order >= of.order &&
                       (both.order == both.searched || both.order % 2 == 0));
    }
    if ((twice = halves(t, t)) && study(twice, &both)) FUZZ_CHECK(both.order == of.order);
    table_free(a);
    table_free(b);
    table_free(symmetric);
    table_free(twice);
}

FUZZ()
{
    Table **list = NULL;
    size_t count = 0;
    if (scheme_parse("input", (const char *)data, size, &list, &count) == 0)
        for (size_t i = 0; i < count && i < 4; i++)
            if (list[i]->stages <= STAGES) check(list[i]);
    for (size_t i = 0; i < count; i++) table_free(list[i]);
    memory_free(list);
}
