/* freeze.c: numbers in the place of what is learned, sums in the place of their norms, and quantities that the steps determine in the place of those that they leave
 * open. */
#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/table.h"

static int row_freeze(const Table *t, Row *r)
{
    ROW(frozen);
    RATIONAL(c);
    for (size_t i = 0; i < r->terms; i++) {
        table_value(t, &r->term[i], c);
        TRY(row_add(&frozen, r->term[i].eval, r->term[i].past, c, 0, NULL));
    }
    row_swap(r, &frozen);
    return 0;
}

static void freeze_flow(const Table *t, Flow *f)
{
    if (!f->learned.terms) return;
    row_weight(t, &f->learned, TABLE_ONE, f->c);
    row_free(&f->learned);
}

Table *table_freeze(const Table *from)
{
    Table *t = table_copy(from);
    int code = t ? row_freeze(t, &t->update) : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < t->points; i++) code = row_freeze(t, &t->point[i].row);
    for (size_t i = 0; code == 0 && i < t->carries; i++) {
        code = row_freeze(t, &t->carry[i].update);
        if (code == 0) code = row_freeze(t, &t->carry[i].start);
        t->carry[i].embedded = 0;
    }
    for (size_t i = 0; code == 0 && i < t->flows; i++) freeze_flow(t, &t->flow[i]);
    if (code == 0) code = table_drop_norms(t);
    if (code == 0) code = table_recast(t);
    if (code != 0) {
        table_free(t);
        return NULL;
    }
    symbols_clear(t);
    t->dense = 0; /* constant weights telescope exactly */
    table_free(t->pair);
    t->pair = NULL;
    return t;
}
