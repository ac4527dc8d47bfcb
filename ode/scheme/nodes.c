/* nodes.c: where the rows of a table stand in time, on the clock of each operator (table.h, table_times). */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/table.h"

#include <math.h>

/* ---- rows ------------------------------------------------------------------------------------------------ */

/* Sets c to what a slope adds to an operator's clock: 1 to its own, else 0; for phi the node; op < 0: no clock, 0. */
static void slope_time(const Table *t, int eval, int op, mpq_t c)
{
    const Point *at = eval_point(t, eval);
    if (op >= 0 && at->phi)
        mpq_set(c, at->c[op]);
    else
        mpq_set_ui(c, op == t->eval[eval].op, 1);
}

/* Computes what table_row_time does, where what is carried counts as 0. */
static void read_time(const Table *t, const Row *r, int op, mpq_t c)
{
    RATIONALS(w, x);
    mpq_set_ui(c, 0, 1);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        table_value(t, s, w);
        if (s->eval == TABLE_STATE)
            mpq_set_si(x, -s->past, 1);
        else if (s->eval >= 0)
            slope_time(t, s->eval, op, x);
        else
            continue;
        rational_add(c, w, x);
    }
}

/* Computes what is carried on the exact solution of a field that is 1 on an operator's clock: multiples of h. */
static int carried_clock(const Table *t, int op, mpq_t *held)
{
    SCOPED(rationals_drop) mpq_t *states = rationals_new(t->carries);
    if (!states) return ERR_MEMORY;
    TRY(carried_states(t, states));
    for (size_t i = 0; i < t->carries; i++) {
        read_time(t, &t->carry[i].update, op, held[i]);
        mpq_sub(held[i], held[i], states[i]); /* at the end of the step it is 1 later */
    }
    return carried_solve(t, 0, held);
}

void table_row_time(const Table *t, const Row *r, int op, mpq_t c)
{
    read_time(t, r, op, c);
    if (!row_carried(r)) return;
    SCOPED(rationals_drop) mpq_t *held = rationals_new(t->carries);
    if (held && carried_clock(t, op, held) == 0) carried_add(t, r, held, c);
}

void table_goes(const Table *t, int op, mpq_t out)
{
    RATIONAL(states);
    table_row_time(t, &t->update, -1, states);
    table_row_time(t, &t->update, op, out);
    mpq_sub(out, out, states);
    mpq_sub(states, rational_one, states);
    if (mpq_sgn(states) > 0 || (t->carries && mpq_sgn(states)))
        mpq_div(out, out, states);
    else
        mpq_set_ui(out, 0, 1);
}

/* ---- points ---------------------------------------------------------------------------------------------- */

/* Sets a point's node by the rule; that of an increment is times the function at 0. */
static void point_time(const Table *t, Point *p, int op)
{
    table_row_time(t, &p->row, op, p->c[op]);
    if (p->phi) point_coefficient(p, 0, p->c[op]);
}

void table_times(Table *t)
{
    for (size_t i = 0; i < t->points; i++)
        for (int op = 0; op < t->colours && !t->point[i].timed; op++)
            point_time(t, &t->point[i], op);
}

/* Turns a sum by the rule into steps. */
static void node_in_steps(const Table *t, int op, mpq_t node)
{
    if (mpq_sgn(t->weight[op]) != 0) mpq_div(node, node, t->weight[op]);
}

void table_time(const Table *t, const Point *p, int op, mpq_t out)
{
    mpq_set(out, p->c[op]);
    if (!p->timed) node_in_steps(t, op, out);
}

double table_node(const Table *t, const Point *p, int op)
{
    if (p->phi) return 0;
    RATIONAL(c);
    table_time(t, p, op, c);
    return table_double(c);
}

/* Decimals typed by hand carry some 16 digits. */
static int is_elsewhere(const Table *t, const Eval *e)
{
    RATIONAL(rule);
    table_row_time(t, &t->point[e->point].row, e->op, rule);
    node_in_steps(t, e->op, rule);
    mpq_sub(rule, rule, t->point[e->point].c[e->op]);
    return t->exact ? mpq_sgn(rule) != 0 : fabs(mpq_get_d(rule)) > 1e-12;
}

int table_written(const Table *t)
{
    for (size_t i = 0; i < t->evals; i++)
        if (eval_point(t, (int)i)->timed && is_elsewhere(t, &t->eval[i])) return 1;
    return 0;
}
