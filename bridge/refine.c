/* refine.c: a trained network whose layers are cut into more and smaller steps, without retraining. */
#include "bridge/layer_field.h"
#include "bridge/truncation.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

#include <string.h>

/* ---- means of sets, in the table -------------------------------------------------------------------- */

typedef struct {
    const Table *from;
    Table *to;
    const Table *trained;
    int sets[COLOURS];
    int *first; /* (from->evals) first of its copies */
} Spreading;

/* Replaces every slope by the mean of its copies. */
static int spread_row(const Spreading *s, const Row *from, Row *to)
{
    RATIONAL(c);
    row_free(to);
    for (size_t i = 0; i < from->terms; i++) {
        const Term *t = &from->term[i];
        int op = t->eval < 0 ? -1 : s->from->eval[t->eval].op;
        if (op < 0) TRY(row_add(to, TABLE_STATE, t->past, t->c, 0, NULL));
        for (int k = 0; op >= 0 && k < s->sets[op]; k++) {
            layer_field_share(s->trained, op, k + 1, c);
            mpq_mul(c, t->c, c);
            TRY(row_add(to, s->first[t->eval] + k, t->past, c, 0, NULL));
        }
    }
    return 0;
}

static int spread_evals(Spreading *s)
{
    size_t count = 0;
    for (size_t e = 0; e < s->from->evals; e++) count += (size_t)s->sets[s->from->eval[e].op];
    Eval *eval = memory_new(count, sizeof *eval);
    if (!eval) return ERR_MEMORY;
    memory_free(s->to->eval);
    s->to->eval = eval;
    s->to->evals = 0;
    for (size_t e = 0; e < s->from->evals; e++) {
        s->first[e] = (int)s->to->evals;
        for (int k = 0; k < s->sets[s->from->eval[e].op]; k++) {
            eval[s->to->evals] = s->from->eval[e];
            eval[s->to->evals++].set = k + 1;
        }
    }
    for (size_t p = 0; p < s->from->points; p++)
        TRY(spread_row(s, &s->from->point[p].row, &s->to->point[p].row));
    return spread_row(s, &s->from->update, &s->to->update);
}

/* Makes a frozen table that reads the sets of `trained`, each as it is or all as their mean. */
static int read_means(const Table *frozen, const Table *trained, Table **out)
{
    if (!(*out = table_copy(frozen))) return ERR_MEMORY;
    if (layer_field_owns(trained, frozen)) return 0;
    SCOPED(memory_drop) int *first = memory_new(frozen->evals, sizeof *first);
    if (!first) return ERR_MEMORY;
    Spreading s = {
        frozen, *out, trained, {table_sets(trained, OP_F), table_sets(trained, OP_G), 0}, first};
    return spread_evals(&s);
}

/* ---- weights ---------------------------------------------------------------------------------------- */

/* Copies every tensor of `to` from the one with its name in `from`. */
static int copy_weights(Model *from, Model *to)
{
    const Param *list;
    size_t taken;
    TRY(model_begin(to, from, NULL, &taken));
    NEED(taken == model_params(to, &list));
    return 0;
}

static size_t inner_width(const Model *m)
{
    const Plan *p = model_plan(m);
    for (size_t i = 0; i < p->slots; i++)
        if (p->slot[i].kind == SLOT_FEEDFORWARD) return p->slot[i].inner;
    return 1;
}

static int build(Model *m, const Table *t, size_t substeps, Model **out)
{
    BridgeOptions o = {.layers = model_plan(m)->layers[SIDE_TARGET],
                       .width = model_config(m)->width,
                       .inner = inner_width(m),
                       .match = MATCH_NONE,
                       .substeps = substeps};
    Plan *plan;
    TRY(bridge_plan(t, &o, &plan));
    TRY(model_new(model_config(m), plan, model_backend(m), 0, out));
    int code = copy_weights(m, *out);
    if (code != 0) model_free(*out), *out = NULL;
    return code;
}

int bridge_refine(Model *m, const Table *trained, const Table *scheme, size_t substeps, Model **out)
{
    *out = NULL;
    if (model_plan(m)->sides > 1)
        return error_set(ERR_INPUT,
                         "smaller steps are of language models: this model has an encoder");
    TRY(table_refuse_carries(scheme, "--refine takes schemes that carry y alone"));
    TRY(layer_field_has(trained, scheme));
    SCOPED(table_drop) Table *frozen = table_freeze(scheme), *table = NULL;
    if (!frozen) return ERR_MEMORY;
    TRY(read_means(frozen, trained, &table));
    return build(m, table, substeps, out);
}
