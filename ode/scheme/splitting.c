/* splitting.c: turns a splitting by sub-flows, solved by a one-step method, into one stage table.
 *
 * The state of the step so far is a row Y over y and the slopes. A flow c OP with the solver's
 * tableau (a_ij, b_i) appends the stages
 *     k_i = h OP(Y + sum_j c a_ij k_j)     and then     Y := Y + sum_i c b_i k_i,
 * so Strang-Marchuk with Euler becomes the three stages of the Macaron layer. */
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"

#include <stdio.h>
#include <string.h>

enum { STAGES_MAX = 512 }; /* row s has up to s terms: a table of S stages takes S^3 work */

static int is_solver(const Table *s)
{
    int ok = s->colours == 2 && s->stages > 0 && s->flows == 0 && s->symbols == 0 && !table_past(s);
    for (size_t i = 0; i < s->stages; i++)
        ok = ok && s->stage[i].op == OP_H && s->stage[i].set == 1;
    return ok;
}

/* Computes out = (state weights of r) Y + c (slopes of r), whose numbers count from base: those of evaluations or, with a solver over H, of
 * its stages. H is two evaluations of a solver's stage, and the first of them speaks for it. */
static int row_shift(const Row *r, const Row *Y, const mpq_t c, int base, const Table *solver,
                     Row *out)
{
    RATIONAL(q);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval == TABLE_STATE) TRY(row_add_row(out, Y, s->c));
        if (s->eval == TABLE_STATE || (solver && solver->eval[s->eval].op != OP_F)) continue;
        mpq_mul(q, s->c, c);
        TRY(row_add(out, base + (solver ? solver->eval[s->eval].stage : s->eval), 0, q, 0, NULL));
    }
    return 0;
}

/* Puts that in the place of Y. */
static int row_step(const Row *r, Row *Y, const mpq_t c, int base, const Table *solver)
{
    ROW(next);
    TRY(row_shift(r, Y, c, base, solver, &next));
    row_swap(Y, &next);
    return 0;
}

/* Adds a stage as it is. Evaluations in turn over less or more than h become a stage each. */
static void add_stage(Table *t, const Table *from, size_t i, int whole)
{
    const Stage *s = &from->stage[i];
    const Parts *parts = stage_parts(from, s->op);
    int apart = parts->in_turn && !whole;
    for (int k = 0; k < parts->count; k++) {
        if (k == 0 || apart)
            t->stage[t->stages++] = (Stage){
                .op = apart ? parts->colour[k] : s->op, .set = s->set, .eval = (int)t->evals};
        t->eval[t->evals] = from->eval[s->eval + k];
        t->eval[t->evals++].stage = (int)t->stages - 1;
    }
}

int table_append(Table *t, const Table *from, const mpq_t c, const mpq_t begin, Row *Y)
{
    int base = (int)t->evals, points = (int)t->points;
    for (size_t i = 0; i < from->stages; i++) add_stage(t, from, i, mpq_cmp_ui(c, 1, 1) == 0);
    for (int e = base; e < (int)t->evals; e++) t->eval[e].point += points;
    for (size_t i = 0; i < from->points; i++) {
        Point *p = &t->point[t->points];
        const Point *q = &from->point[i];
        point_init(p);
        t->points++;
        p->timed = q->timed;
        for (int op = 0; op < COLOURS && q->timed; op++) {
            mpq_mul(p->c[op], q->c[op], c);
            mpq_add(p->c[op], p->c[op], begin);
        }
        TRY(row_shift(&q->row, Y, c, base, NULL, &p->row));
    }
    return row_step(&from->update, Y, c, base, NULL);
}

static size_t substeps_of(const Flow *f)
{
    return f->substeps ? (size_t)f->substeps : 1;
}

/* Appends a step of the solver over c h. */
static int append_step(Table *t, const Flow *flow, const mpq_t c, const Table *solver, Row *Y)
{
    int base = (int)t->evals;
    for (size_t i = 0; i < solver->stages; i++) {
        Point *p = &t->point[t->points];
        point_init(p);
        t->points++;
        TRY(row_shift(&eval_point(solver, solver->stage[i].eval)->row, Y, c, base, solver,
                      &p->row));
        t->stage[t->stages] = (Stage){.op = flow->op, .set = flow->set, .eval = (int)t->evals};
        t->eval[t->evals] = (Eval){
            .op = flow->op, .set = flow->set, .point = (int)t->points - 1, .stage = (int)t->stages};
        t->stages++;
        t->evals++;
    }
    return row_step(&solver->update, Y, c, base, solver);
}

static int append_flow(Table *t, const Flow *flow, const Table *solver, Row *Y)
{
    RATIONAL(c);
    mpq_set(c, flow->c);
    rational_divide(c, substeps_of(flow));
    for (size_t k = 0; k < substeps_of(flow); k++) TRY(append_step(t, flow, c, solver, Y));
    return 0;
}

static size_t stages_of(const Table *from, const Table *solver)
{
    size_t n = 0;
    for (size_t i = 0; i < from->flows; i++)
        n += from->flow[i].by ? from->flow[i].by->stages
                              : solver->stages * substeps_of(&from->flow[i]);
    return n;
}

static int append(Table *t, const Flow *f, const Table *solver)
{
    if (!f->by) return append_flow(t, f, solver, &t->update);
    RATIONAL(begin);
    t->exact = t->exact && f->by->exact;
    return table_append(t, f->by, rational_one, begin, &t->update);
}

static int expand_into(Table *t, const Table *from, const Table *solver)
{
    size_t n = stages_of(from, solver);
    if (!(t->stage = memory_new(n, sizeof(Stage)))) return ERR_MEMORY;
    if (!(t->eval = memory_new(n, sizeof(Eval)))) return ERR_MEMORY;
    if (!(t->point = memory_new(n, sizeof(Point)))) return ERR_MEMORY;
    TRY(row_add(&t->update, TABLE_STATE, 0, rational_one, 0, NULL));
    t->exact = from->exact && (!solver || solver->exact);
    for (size_t i = 0; i < from->flows; i++) TRY(append(t, &from->flow[i], solver));
    t->word = from->word;
    t->colours = from->colours;
    for (int op = 0; op < COLOURS; op++) mpq_set(t->weight[op], from->weight[op]);
    expression_round_table(t);
    table_times(t);
    return 0;
}

static int copy_text(char **to, const char *from, const char *solver)
{
    size_t n = strlen(from) + strlen(solver) + 40;
    char *s = memory_new(n, 1);
    if (!s) return ERR_MEMORY;
    snprintf(s, n, solver[0] ? "%s; sub-flows solved by %s" : "%s%s", from, solver);
    memory_free(*to);
    *to = s;
    return 0;
}

static int check_solver(const Table *solver)
{
    if (!solver || is_solver(solver)) return 0;
    return error_set(ERR_INPUT,
                     "expected a one-step scheme over H as sub-flow solver; '%s' is none",
                     solver->name);
}

int table_expand(const Table *from, const Table *solver, Table **out)
{
    char name[2 * TABLE_NAME + 2];
    const char *of = solver ? solver->name : "the methods that they name";
    TRY(check_solver(solver));
    if (from->symbols)
        return error_set(
            ERR_INPUT,
            "'%s' has learned fractions, which exact flows alone have: give a text with "
            "numbers in their place, as design prints it",
            from->name);
    if (table_complex(from))
        return error_set(
            ERR_INPUT,
            "'%s' has complex fractions, which exact flows alone take (%s:exact), and no network",
            from->name, from->name);
    if (stages_of(from, solver) > STAGES_MAX)
        return error_set(ERR_INPUT, "expected at most %d stages; '%s' with '%s' has %zu",
                         STAGES_MAX, from->name, of, stages_of(from, solver));
    snprintf(name, sizeof name, solver ? "%s:%s" : "%s", from->name, of);
    TABLE(t);
    if (!(t = table_new(name))) return ERR_MEMORY;
    TRY(expand_into(t, from, solver));
    TRY(copy_text(&t->title, from->title, solver ? solver->name : ""));
    TRY(copy_text(&t->source, from->source, ""));
    *out = t;
    t = NULL;
    return 0;
}

/* The table of one flow alone becomes that of its stages. */
int table_solve_flow(Table *t, size_t i, const Table *method)
{
    Table alone = *t;
    alone.flow = t->flow + i;
    alone.flows = 1;
    TRY(table_expand(&alone, method, &t->flow[i].by));
    t->exact = t->exact && t->flow[i].by->exact;
    return 0;
}
