/* truncation_terms.c: the leading terms of a truncation error: coefficients from the scheme's exact
 * expansion (ode/theory/theory.c), elementary differentials of the trained layer by differences along
 * directions (ode/field/differential.c), which are kept for all schemes of that order.
 *
 * Where the sets of an operator differ, as in a trained Macaron layer, colours are (operator, set). At h^2 every tree is
 * a chain x'y, and no third colour enters its coefficient: with only the slopes of x and y left, the scheme has two
 * colours, and ode/ expands it. Schemes of higher order with different sets have order 1 in general; where all chains
 * are met the terms beyond are not computed. */
#include "bridge/truncator.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- coefficients of sets that differ --------------------------------------------------------------- */

void row_map(const int *map, Row *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->terms; i++) {
        Term term = r->term[i];
        if (term.eval >= 0) term.eval = map[term.eval];
        if (term.eval == ROW_DROPS)
            mpq_clear(term.c);
        else
            r->term[kept++] = term;
    }
    r->terms = kept;
}

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
    SCOPED(memory_drop) int *map = memory_new(t->evals, sizeof *map);
    SCOPED(table_drop) Table *pair = map ? table_copy(t) : NULL;
    if (!pair) return ERR_MEMORY;
    for (size_t e = 0; e < t->evals; e++) {
        int of_x = is_colour(&t->eval[e], &x), keep = of_x || is_colour(&t->eval[e], &y);
        map[e] = keep ? (int)e : ROW_DROPS;
        pair->eval[e].op = of_x ? OP_F : OP_G;
    }
    for (size_t p = 0; p < t->points; p++) row_map(map, &pair->point[p].row);
    row_map(map, &pair->update);
    pair->colours = 2;
    field_weight(t, &x, pair->weight[OP_F]);
    field_weight(t, &y, pair->weight[OP_G]);
    if (i == j) mpq_set_ui(pair->weight[OP_G], 0, 1);
    TRY(theory_terms(f, pair, 2, c));
    for (size_t k = f->first[2]; k < f->count; k++) {
        int root = f->tree[k].colour, leaf = f->tree[f->tree[k].child[0]].colour;
        size_t row = root == OP_F ? i : j, column = leaf == OP_F ? i : j;
        if (is_wanted(i, j, root, leaf)) s->pair[row * s->colours + column] = c[k];
    }
    return 0;
}

int sets_prepare(Scheme *s, int *differ)
{
    SCOPED(forest_drop) Forest *f = NULL;
    s->colours = count_colours(s->table);
    s->pair = memory_new(s->colours * s->colours, sizeof *s->pair);
    if (!s->pair) return ERR_MEMORY;
    TRY(forest_new(2, 2, &f));
    for (size_t i = 0; i < s->colours; i++)
        for (size_t j = i; j < s->colours; j++) TRY(expand_pair(s, f, i, j));
    *differ = 0;
    for (size_t i = 0; i < s->colours * s->colours; i++) *differ |= s->pair[i] != 0;
    return 0;
}

/* ---- terms of sets that differ ---------------------------------------------------------------------- */

/* Adds the term c v (N) to `leading`, and to the list of t where it has a name and there is room. */
static void add_term(const Truncator *u, double c, const double *v, double displacement,
                     const char *name, Truncation *t)
{
    for (size_t i = 0; i < u->N; i++) u->leading[i] += c * v[i];
    if (!*name || t->terms == TRUNCATION_TERMS) return;
    TruncationTerm *term = &t->term[t->terms++];
    snprintf(term->name, sizeof term->name, "%s", name);
    term->coefficient = c;
    term->size = fabs(c) * system_rms(u->N, v, NULL) / displacement;
}

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
    if (c != 0) add_term(u, c, v, displacement, name, t);
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

static int sets_find(Truncator *u, const Scheme *s, const double *y, double displacement,
                     Truncation *t, double *accuracy)
{
    SCOPED(forest_drop) Forest *f = NULL;
    TRY(forest_new(2, 2, &f));
    *accuracy = 0;
    for (size_t i = 0; i < s->colours; i++)
        for (size_t j = i; j < s->colours; j++)
            TRY(pair_terms(u, s, f, i, j, y, displacement, t, accuracy));
    return 0;
}

/* ---- all terms -------------------------------------------------------------------------------------- */

/* Most values of the field that each refinement of the differences may take. */
static const double work_most = 4096;

static int keep(Truncator *u, const Scheme *s, const double *y, const Kept **out)
{
    int order = s->order + 1;
    for (size_t i = 0; i < u->keeps; i++) {
        *out = &u->kept[i];
        if ((*out)->order == order && (*out)->one == s->one &&
            (*out)->forest->colours == s->table->colours)
            return 0;
    }
    TRY(memory_more(&u->kept, u->keeps, sizeof *u->kept));
    Kept *k = &u->kept[u->keeps];
    *k = (Kept){.order = order, .one = s->one};
    System at = u->options.field == FIELD_LAYER ? u->field->layer : u->field->mean;
    at.initial = (double *)y;
    u->field->pin = u->layer;
    TRY(forest_new(order, s->table->colours, &k->forest));
    int code = differentials_find(k->forest, &at, order, s->one, &k->found);
    u->keeps += code == 0;
    if (code != 0) forest_free(k->forest);
    *out = k;
    return code;
}

static void name_term(const Scheme *s, const Forest *f, size_t tree, char *name, size_t bytes)
{
    char text[64];
    snprintf(name, bytes, "?");
    if (tree_name(f, tree, text, sizeof text) != 0) return;
    for (char *c = text; s->one && *c; c++) *c = *c == 'F' ? s->one : *c;
    snprintf(name, bytes, "%.*s", (int)bytes - 1, text);
}

int terms_find(Truncator *u, const Scheme *s, const double *y, double displacement, Truncation *t,
               double *accuracy, int *told)
{
    const Kept *k;
    *told = s->own ? s->pair != NULL && s->order == 1 : s->forest != NULL;
    if (!*told) return 0;
    memset(u->leading, 0, u->N * sizeof *u->leading);
    if (s->own) return sets_find(u, s, y, displacement, t, accuracy);
    *told = differentials_work(s->forest, s->order + 1, s->one) <= work_most;
    if (!*told) return 0;
    TRY(keep(u, s, y, &k));
    for (size_t i = 0; i < s->forest->count; i++) {
        char name[sizeof t->term->name] = "";
        if (s->coefficient[i] == 0) continue;
        if (s->order <= 2) name_term(s, k->forest, i, name, sizeof name);
        add_term(u, s->coefficient[i], k->found.value + i * u->N, displacement, name, t);
    }
    *accuracy = k->found.accuracy;
    return 0;
}
