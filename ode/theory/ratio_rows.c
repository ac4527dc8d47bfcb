/* ratio_rows.c: a row of a table as weights on y and, times shares of z, on its points. */
#include "ode/theory/ratio_inside.h"

#include "ode/scheme/rationals.h"

void ratio_share(const Table *t, int colour, int e, mpq_t out)
{
    if (colour < 0)
        mpq_set_ui(out, 1, (unsigned)t->colours);
    else
        mpq_set_ui(out, t->eval[e].op == colour, 1);
}

void ratio_row(const Table *t, int colour, const Row *r, mpq_t *u, mpq_t *A, mpq_t state, mpq_t *at)
{
    RATIONAL(x);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval == TABLE_STATE) {
            mpq_add(state, state, s->c);
            continue;
        }
        size_t q = (size_t)t->eval[s->eval].point;
        if (!t->point[q].phi) {
            ratio_share(t, colour, s->eval, x);
            rational_add(at[q], x, s->c);
            continue;
        }
        rational_add(state, u[q], s->c);
        for (size_t j = 0; j < t->points; j++) rational_add(at[j], A[q * t->points + j], s->c);
    }
}
