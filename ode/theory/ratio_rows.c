/* ratio_rows.c: a row of a table as weights on y and, times shares of z, on its points; the colour that z belongs to. */
#include "ode/theory/ratio_inside.h"

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
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

int ratio_colour(const Table *t, int *colour)
{
    SCOPED(memory_drop) int *of = memory_new(2 * t->points, sizeof *of);
    int several = 0;
    size_t blocks;
    if (!of) return ERR_MEMORY;
    *colour = -1;
    TRY(table_blocks(t, of, of + t->points, &blocks));
    for (size_t e = 0; e < t->evals; e++) {
        const Point *p = eval_point(t, (int)e);
        int solved = of[t->points + (size_t)of[t->eval[e].point]];
        int ops = p->phi ? point_fields(t, p) : solved ? 1 << t->eval[e].op : 0;
        for (int op = 0; op < t->colours; op++) {
            if (!(ops >> op & 1)) continue;
            several |= *colour >= 0 && *colour != op;
            *colour = op;
        }
    }
    if (several) *colour = -1;
    return 0;
}
