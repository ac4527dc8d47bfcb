/* layer_field.c: sums of a layer's sublayers as fields (layer_field.h). */
#include "bridge/layer_field.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

#include <string.h>

/* ---- fields ---------------------------------------------------------------------------------------- */

static void own(const System *s, int op, int set, double t, const double *y, double *dy)
{
    const LayerField *f = s->context;
    bridge_layer(f->raw, f->pin);
    f->raw->field[op](f->raw, set, t, y, dy);
}

/* Computes the first operator of the pair as F, the second as G; there is no C. */
static void pair(const System *s, int op, int set, double t, const double *y, double *dy)
{
    const Eval *e = &((const LayerField *)s->context)->paired[op == OP_G];
    (void)set;
    own(s, e->op, e->set, t, y, dy);
}

/* Computes dy = c times the mean of an operator's sets at y. */
static void weighted(const LayerField *f, int op, double c, double t, const double *y, double *dy)
{
    memset(dy, 0, f->N * sizeof *dy);
    if (c == 0) return;
    bridge_layer(f->raw, f->pin);
    for (int set = 1; set <= f->sets[op]; set++) {
        double share = c * f->share[op][set - 1];
        if (share == 0) continue;
        f->raw->field[op](f->raw, set, t, y, f->part);
        for (size_t i = 0; i < f->N; i++) dy[i] += share * f->part[i];
    }
}

static void mean(const System *s, int op, int set, double t, const double *y, double *dy)
{
    (void)set;
    weighted(s->context, op, 1, t, y, dy);
}

static void whole(const System *s, int op, int set, double t, const double *y, double *dy)
{
    const LayerField *f = s->context;
    (void)set;
    weighted(f, op, f->weight[op], t, y, dy);
}

/* Computes L(y) as the first operator: each one at y plus those before it, all added; others are 0. */
static void layer(const System *s, int op, int set, double t, const double *y, double *dy)
{
    static const int turn[COLOURS] = {OP_F, OP_C, OP_G};
    const LayerField *f = s->context;
    (void)set;
    memset(dy, 0, f->N * sizeof *dy);
    if (op != OP_F) return;
    for (int k = 0; k < COLOURS; k++) {
        if (turn[k] >= f->colours) continue;
        for (size_t i = 0; i < f->N; i++) f->point[i] = y[i] + dy[i];
        weighted(f, turn[k], 1, t, f->point, f->first);
        for (size_t i = 0; i < f->N; i++) dy[i] += f->first[i];
    }
}

static void layer_flow(const System *s, int op, int set, double t, const double *y, double *dy)
{
    const LayerField *f = s->context;
    layer(s, op, set, t, y, dy);
    for (size_t i = 0; i < f->N; i++) dy[i] *= f->weight[OP_F];
}

SYSTEM_FIELDS(own)
SYSTEM_FIELDS(mean)
SYSTEM_FIELDS(whole)
SYSTEM_FIELDS(layer)
SYSTEM_FIELDS(layer_flow)
SYSTEM_FIELDS(pair)

void layer_field_pair(LayerField *f, int op_F, int set_F, int op_G, int set_G)
{
    f->paired[0] = (Eval){.op = op_F, .set = set_F};
    f->paired[1] = (Eval){.op = op_G, .set = set_G};
}

/* ---- shares ----------------------------------------------------------------------------------------- */

void layer_field_share(const Table *t, int op, int set, mpq_t out)
{
    int sets = table_sets(t, op);
    RATIONAL(sum);
    for (int i = 1; i <= sets; i++) {
        table_weight(t, op, i, out);
        mpq_add(sum, sum, out);
    }
    table_weight(t, op, set, out);
    if (mpq_sgn(sum) != 0)
        mpq_div(out, out, sum);
    else
        mpq_set_ui(out, 1, (unsigned long)sets);
}

static int find_shares(LayerField *f, const Table *trained, int op)
{
    size_t sets = (size_t)f->sets[op];
    if (!(f->share[op] = memory_new(sets, sizeof(double)))) return ERR_MEMORY;
    RATIONAL(share);
    for (size_t i = 0; i < sets; i++) {
        layer_field_share(trained, op, (int)i + 1, share);
        f->share[op][i] = table_double(share);
    }
    return 0;
}

int layer_field_has(const Table *trained, const Table *scheme)
{
    for (int op = 0; op < COLOURS; op++)
        if (table_sets(scheme, op) && !table_sets(trained, op))
            return error_set(ERR_ACCURACY, "%s reads %c, which the model, trained as %s, lacks",
                             scheme->name, table_letters[op], trained->name);
    return 0;
}

int layer_field_owns(const Table *trained, const Table *scheme)
{
    int owns = 1;
    RATIONALS(a, b);
    for (int op = 0; op < COLOURS; op++) {
        int sets = table_sets(scheme, op);
        owns = owns && (sets == 0 || sets == table_sets(trained, op));
        for (int i = 1; owns && i <= sets; i++) {
            layer_field_share(trained, op, i, a);
            layer_field_share(scheme, op, i, b);
            owns = mpq_equal(a, b) != 0;
        }
    }
    return owns;
}

/* ---- the whole -------------------------------------------------------------------------------------- */

typedef void Field(const System *s, int set, double t, const double *y, double *dy);

static System make(LayerField *f, const char *title, Field *F, Field *G, Field *C)
{
    System s = *f->raw;
    s.title = title;
    s.field[OP_F] = F;
    s.field[OP_G] = G;
    s.field[OP_C] = f->colours > 2 ? C : NULL;
    s.decoder = s.field[OP_C] != NULL;
    s.context = f;
    return s;
}

static int build(LayerField *f, Model *m, const Table *trained, const LayerOf *of)
{
    static const int kind[COLOURS] = {
        [OP_F] = SLOT_ATTENTION, [OP_G] = SLOT_FEEDFORWARD, [OP_C] = SLOT_CROSS};
    TRY(bridge_system(m, of, &f->raw));
    f->N = of->n * f->raw->d;
    f->colours = of->memory ? 3 : 2;
    if (!(f->first = memory_new(3 * f->N, sizeof(double)))) return ERR_MEMORY;
    f->point = f->first + f->N;
    f->part = f->point + f->N;
    for (int op = 0; op < f->colours; op++) {
        f->weight[op] = 1;
        f->sets[op] = plan_sets(model_plan(m), of->side, kind[op]);
        TRY(find_shares(f, trained, op));
    }
    f->own = make(f, "a trained layer, each set by itself", own_F, own_G, own_C);
    f->mean = make(f, "a trained layer", mean_F, mean_G, mean_C);
    f->whole = make(f, "the flow of a trained layer", whole_F, whole_G, whole_C);
    f->layer = make(f, "a trained layer, frozen at h = 1", layer_F, layer_G, layer_C);
    f->layer_flow =
        make(f, "the flow of a layer, frozen at h = 1", layer_flow_F, layer_flow_G, layer_flow_C);
    f->pair = make(f, "two sets of a trained layer", pair_F, pair_G, pair_C);
    return 0;
}

int layer_field_new(Model *m, const Table *trained, const LayerOf *of, LayerField **out)
{
    *out = NULL;
    SCOPED(layer_field_drop) LayerField *f = memory_new(1, sizeof *f);
    if (!f) return ERR_MEMORY;
    TRY(build(f, m, trained, of));
    *out = f;
    f = NULL;
    return 0;
}

void layer_field_free(LayerField *f)
{
    if (!f) return;
    system_free(f->raw);
    for (int op = 0; op < COLOURS; op++) memory_free(f->share[op]);
    memory_free(f->first);
    memory_free(f);
}
