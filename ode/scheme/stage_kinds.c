/* stage_kinds.c: what the stages of a table are: values of fields, or functions of their derivatives, and of which operators. */
#include "ode/scheme/table.h"

#include "ode/scheme/rationals.h"

const Point *eval_point(const Table *t, int eval)
{
    return &t->point[t->eval[eval].point];
}

int point_fields(const Table *t, const Point *p)
{
    int own = (1 << t->colours) - 1;
    return p->ops & ~own ? own : p->ops;
}

void point_coefficient(const Point *p, unsigned n, mpq_t c)
{
    unsigned J = p->phi >= PHI_SOLVE ? 0 : (unsigned)p->phi - 1;
    for (unsigned j = n ? n + J : 2; p->phi < PHI_SOLVE && j <= n + J; j++) {
        rational_divide(c, j);
    }
}

int table_has(const Table *t, int kinds)
{
    int has = kinds & HAS_IMPLICIT && table_implicit(t) ? HAS_IMPLICIT : 0;
    for (size_t i = 0; i < t->points; i++) {
        const Point *p = &t->point[i];
        if (p->phi == PHI_NORM) has |= HAS_NORM;
        if (p->phi == PHI_NORM) continue;
        if (p->phi) has |= p->phi == PHI_SOLVE ? HAS_SOLVE : HAS_PHI;
        if (p->phi && p->ops != point_fields(t, p)) has |= HAS_W;
    }
    return (has & kinds) != 0;
}

int table_tree_colours(const Table *t)
{
    return t->colours + table_has(t, HAS_W);
}

int table_over(const Table *t, int op)
{
    if (table_phi(t)) return 0;
    for (size_t i = 0; i < t->stages; i++)
        if (t->stage[i].op != op) return 0;
    return t->stages > 0;
}

int table_one_field(const Table *t)
{
    for (size_t i = 0; i < t->stages; i++) {
        const Point *p = eval_point(t, t->stage[i].eval);
        if (p->phi ? p->ops != (1 << t->colours) - 1 : t->stage[i].op != OP_H) return 0;
    }
    return t->stages > 0;
}
