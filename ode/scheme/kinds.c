/* kinds.c: what the stages of a table are: values of fields, or functions of their derivatives, and of which operators. */
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
    unsigned J = p->phi == PHI_SOLVE ? 0 : (unsigned)p->phi - 1;
    for (unsigned j = n ? n + J : 2; p->phi != PHI_SOLVE && j <= n + J; j++) {
        rational_divide(c, j);
    }
}

/* Returns whether some point has a function of this kind. */
static int has_function(const Table *t, int (*is)(const Table *t, const Point *p))
{
    for (size_t i = 0; i < t->points; i++)
        if (t->point[i].phi && (!is || is(t, &t->point[i]))) return 1;
    return 0;
}

static int is_resolvent(const Table *t, const Point *p)
{
    (void)t;
    return p->phi == PHI_SOLVE;
}

static int is_exponential(const Table *t, const Point *p)
{
    return !is_resolvent(t, p);
}

static int is_of_w(const Table *t, const Point *p)
{
    return p->ops != point_fields(t, p);
}

int table_phi(const Table *t)
{
    return has_function(t, NULL);
}

int table_exponential(const Table *t)
{
    return has_function(t, is_exponential);
}

int table_rosenbrock(const Table *t)
{
    return has_function(t, is_resolvent);
}

int table_w(const Table *t)
{
    return has_function(t, is_of_w);
}

int table_solves(const Table *t)
{
    return table_implicit(t) || table_rosenbrock(t);
}

int table_tree_colours(const Table *t)
{
    return t->colours + table_w(t);
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
