/* truncation_sets.c: leading terms where the sets of an operator differ, as in a trained Macaron layer.
 * Colours are (operator, set). At h^2 every tree is a chain x'y, and no third colour enters its
 * coefficient: with only the slopes of x and y left, the scheme has two colours, and ode/ expands it.
 * Schemes of higher order with different sets have order 1 in general; where all chains are met the terms
 * beyond are not computed. */
#include "bridge/truncator.h"
#include "kernels/error.h"
#include "kernels/memory.h"

#include <math.h>
#include <stdio.h>

static size_t count_colours(const Table *t)
{
    size_t n = 0;
    for (int op = 0; op < COLOURS; op++) n += (size_t)table_sets(t, op);
    return n;
}

/* Returns operator and set of colour i: F1, F2, .., G1, .., C1, .. */
static Eval colour(const Table *t, size_t i)
{
    Eval e = {.op = OP_F};
    for (; i >= (size_t)table_sets(t, e.op); e.op++) i -= (size_t)table_sets(t, e.op);
    e.set = (int)i + 1;
    return e;
}

static int is_colour(const Eval *e, const Eval *c)
{
    return e->op == c->op && e->set == c->set;
}

/* Computes the weight of a colour in the field: the scheme's share of it times the operator's weight. */
static void field_weight(const Table *t, const Eval *c, mpq_t out)
{
    layer_field_share(t, c->op, c->set, out);
    mpq_mul(out, out, t->weight[c->op]);
}

/* Tells whether a chain is one of the pair's: x'y or y'x, or x'x where x = y. */
static int is_wanted(size_t i, size_t j, int root, int leaf)
{
    return i == j ? root == OP_F && leaf == OP_F : root != leaf;
}

/* Computes the coefficients of a pair's chains. */
static int expand_pair(const Scheme *s, const Forest *f, size_t i, size_t j)
{
    const Table *t = s->table;
    Eval x = colour(t, i), y = colour(t, j);
    double c[6];
    int *map = memory_new(t->evals, sizeof *map);
    Table *pair = map ? table_copy(t) : NULL;
    if (!pair) return memory_free(map), ERR_MEMORY;
    for (size_t e = 0; e < t->evals; e++) {
        int of_x = is_colour(&t->eval[e], &x), keep = of_x || is_colour(&t->eval[e], &y);
        map[e] = keep ? (int)e : ROW_DROPS;
        pair->eval[e].op = of_x ? OP_F : OP_G;
    }
    for (size_t p = 0; p < t->points; p++) row_map(map, &pair->point[p].row);
    row_map(map, &pair->update);
    memory_free(map);
    pair->colours = 2;
    field_weight(t, &x, pair->weight[OP_F]);
    field_weight(t, &y, pair->weight[OP_G]);
    if (i == j) mpq_set_ui(pair->weight[OP_G], 0, 1);
    int code = theory_terms(f, pair, 2, c);
    for (size_t k = f->first[2]; code == 0 && k < f->count; k++) {
        int root = f->tree[k].colour, leaf = f->tree[f->tree[k].child[0]].colour;
        size_t row = root == OP_F ? i : j, column = leaf == OP_F ? i : j;
        if (is_wanted(i, j, root, leaf)) s->pair[row * s->colours + column] = c[k];
    }
    table_free(pair);
    return code;
}

int sets_prepare(Scheme *s, int *differ)
{
    Forest *f;
    s->colours = count_colours(s->table);
    s->pair = memory_new(s->colours * s->colours, sizeof *s->pair);
    if (!s->pair) return ERR_MEMORY;
    TRY(forest_new(2, 2, &f));
    int code = 0;
    for (size_t i = 0; i < s->colours && code == 0; i++)
        for (size_t j = i; j < s->colours && code == 0; j++) code = expand_pair(s, f, i, j);
    forest_free(f);
    *differ = 0;
    for (size_t i = 0; i < s->colours * s->colours; i++) *differ |= s->pair[i] != 0;
    return code;
}

/* ---- on a layer ------------------------------------------------------------------------------------- */

static void name_colour(const Table *t, const Eval *c, char name[16])
{
    if (table_sets(t, c->op) == 1)
        snprintf(name, 16, "%c", table_letters[c->op]);
    else
        snprintf(name, 16, "%c%d", table_letters[c->op], c->set);
}

static void add_pair(const Truncator *u, const Scheme *s, size_t i, size_t j, const double *v,
                     double displacement, Truncation *t)
{
    char a[16], b[16], name[sizeof t->term->name];
    double c = s->pair[i * s->colours + j];
    Eval x = colour(s->table, i), y = colour(s->table, j);
    name_colour(s->table, &x, a);
    name_colour(s->table, &y, b);
    snprintf(name, sizeof name, "%s'%s", a, b);
    if (c != 0) terms_add(u, c, v, displacement, name, t);
}

/* Adds x'y and y'x of a pair of colours, or x'x where they are the same. */
static int pair_terms(Truncator *u, const Scheme *s, const Forest *f, size_t i, size_t j,
                      const double *at, double displacement, Truncation *t, double *accuracy)
{
    Differentials d;
    Eval x = colour(s->table, i), y = colour(s->table, j);
    if (s->pair[i * s->colours + j] == 0 && s->pair[j * s->colours + i] == 0) return 0;
    layer_field_pair(u->field, x.op, x.set, y.op, y.set);
    u->field->pin = u->layer;
    System pair = u->field->pair;
    pair.initial = (double *)at;
    TRY(differentials_find(f, &pair, 2, 0, &d));
    *accuracy = fmax(*accuracy, d.accuracy);
    for (size_t k = f->first[2]; k < f->count; k++) {
        int root = f->tree[k].colour, leaf = f->tree[f->tree[k].child[0]].colour;
        const double *v = d.value + k * u->N;
        if (is_wanted(i, j, root, leaf))
            add_pair(u, s, root == OP_F ? i : j, leaf == OP_F ? i : j, v, displacement, t);
    }
    differentials_free(&d);
    return 0;
}

int sets_find(Truncator *u, const Scheme *s, const double *y, double displacement, Truncation *t,
              double *accuracy)
{
    Forest *f;
    TRY(forest_new(2, 2, &f));
    int code = 0;
    *accuracy = 0;
    for (size_t i = 0; i < s->colours && code == 0; i++)
        for (size_t j = i; j < s->colours && code == 0; j++)
            code = pair_terms(u, s, f, i, j, y, displacement, t, accuracy);
    forest_free(f);
    return code;
}
