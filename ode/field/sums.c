/* sums.c: compiles rows of a table, with their coefficients as doubles. */
#include "ode/field/sums.h"

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

static void sum_free(Sum *s)
{
    s->part = memory_free(s->part);
}

/* Compiles a row. The second of two joined slopes is in the first. */
static int sum_compile(const Row *r, const int *joined, Sum *s)
{
    s->part = memory_new(r->terms, sizeof *s->part);
    if (!s->part) return ERR_MEMORY;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *term = &r->term[i];
        if (term->eval > 0 && joined[term->eval - 1]) continue;
        s->part[s->parts++] = (SumPart){term->eval, term->past, table_double(term->c)};
    }
    const SumPart *p = s->part;
    s->plain = s->parts == 1 && p->eval == TABLE_STATE && p->past == 0 && p->c == 1;
    return 0;
}

void sums_free(Sums *p)
{
    for (size_t i = 0; i < p->points; i++) sum_free(&p->point[i]);
    p->point = memory_free(p->point);
    for (size_t i = 0; i < p->carries; i++) sum_free(&p->carry[i]);
    p->carry = memory_free(p->carry);
    sum_free(&p->update);
    sum_free(&p->error);
    sum_free(&p->coarse);
}

void sum_known(Sum *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->parts; i++)
        if (s->part[i].eval < 0 || s->part[i].past) s->part[n++] = s->part[i];
    s->parts = n;
    s->plain = 0;
}

int sums_new(const Table *t, const int *joined, Sums *p)
{
    p->point = memory_new(t->points, sizeof *p->point);
    if (!p->point) return ERR_MEMORY;
    p->points = t->points;
    if (!(p->carry = memory_new(t->carries, sizeof *p->carry))) return ERR_MEMORY;
    p->carries = t->carries;
    for (size_t i = 0; i < t->carries; i++)
        TRY(sum_compile(&t->carry[i].update, joined, &p->carry[i]));
    for (size_t i = 0; i < t->points; i++) {
        TRY(sum_compile(&t->point[i].row, joined, &p->point[i]));
        for (int op = 0; op < t->colours; op++)
            p->point[i].node[op] = table_node(t, &t->point[i], op);
    }
    TRY(sum_compile(&t->error, joined, &p->error));
    TRY(sum_compile(&t->coarse, joined, &p->coarse));
    return sum_compile(&t->update, joined, &p->update);
}

/* Returns whether every term of slope e has its like of slope e + 1. */
static int row_pairs(const Row *r, int e)
{
    size_t first = 0, second = 0, alike = 0;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *a = &r->term[i];
        first += a->eval == e;
        second += a->eval == e + 1;
        for (size_t k = 0; a->eval == e && k < r->terms; k++) {
            const Term *b = &r->term[k];
            alike += b->eval == e + 1 && b->past == a->past && mpq_equal(b->c, a->c);
        }
    }
    return first == second && first == alike;
}

int sums_joined(const Table *t, int e)
{
    const Eval *a = &t->eval[e], *b = a + 1;
    const Point *p = &t->point[a->point];
    if (a->op != OP_F || b->op != OP_G || a->set != b->set || a->point != b->point) return 0;
    if (table_node(t, p, OP_F) != table_node(t, p, OP_G) || !row_pairs(&t->update, e)) return 0;
    if (!row_pairs(&t->error, e) || !row_pairs(&t->coarse, e)) return 0;
    for (size_t i = 0; i < t->carries; i++)
        if (!row_pairs(&t->carry[i].update, e)) return 0;
    for (size_t i = 0; i < t->points; i++)
        if (!row_pairs(&t->point[i].row, e)) return 0;
    return 1;
}
