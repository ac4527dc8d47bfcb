/* order_conditions.c: the order conditions of one-step schemes as formulas,
 *
 *     sum b_i c_i a_ij c_j = 1/8,    c_i = sum of a_ij,
 *
 * one for each rooted tree: b at the root, a_ij on an edge, c_j^n for n leaves at j, 1/gamma on the right (Hairer,
 * Norsett, Wanner 1993, theorem II.2.13). Where not every stage is H, b^F, a^F and c^F are the weights of slopes of F: those
 * of the vertex that an edge goes to (Araujo, Murua, Sanz-Serna 1997). Splittings by exact flows have no weights; for
 * them a row has the coefficients alone.
 *
 * A Rosenbrock method (rosenbrock.c) has beta_ij = alpha_ij + gamma_ij from a vertex of one child, alpha_ij from others. A
 * W-method has vertices H, with alpha_ij, and W, with one child, gamma_ij, and 0 on the right of trees with a W (Hairer,
 * Wanner 1996, IV.7, theorems 7.4 and 7.7). alpha_i, beta_i and gamma_i are sums of rows. */
#include "studies/theory/order_conditions.h"

#include <stdlib.h>

#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"
#include "studies/theory/expansion.h"

enum { RUNGE_KUTTA, ROSENBROCK, FLOWS };

/* Returns the letters of the edges from a vertex: for a row's sum with `sum`. */
static const char *edge(const Forest *f, const Tree *t, int kind, int sum, int latex)
{
    static const char *const greek[][2] = {
        {"alpha", "\\alpha"}, {"beta", "\\beta"}, {"gamma", "\\gamma"}};
    if (kind == RUNGE_KUTTA) return sum ? "c" : "a";
    int w = f->w && t->colour == OP_C;
    return greek[w ? 2 : t->children == 1 && !f->w][latex];
}

/* Writes the factors of a tree's children, whose root stands at the letter; *next is the next free letter. */
static void write_factors(const Forest *f, size_t tree, int kind, char at, char *next, int latex,
                          FILE *out)
{
    const Tree *t = &f->tree[tree];
    int coloured = f->colours > 1 && kind != ROSENBROCK;
    for (int k = 0, leaves; k < t->children; k += leaves) {
        size_t child = (size_t)t->child[k];
        char colour[] = {'^', table_letters[f->tree[child].colour], '\0'};
        if (!coloured) colour[0] = '\0';
        for (leaves = 1; k + leaves < t->children && t->child[k + leaves] == t->child[k];) leaves++;
        if (f->tree[child].children == 0) {
            fprintf(out, coloured && leaves > 1 ? " (%s%s_%c)" : " %s%s_%c",
                    edge(f, t, kind, 1, latex), colour, at);
            if (leaves > 1) fprintf(out, latex ? "^{%d}" : "^%d", leaves);
            continue;
        }
        leaves = 1;
        char to = (*next)++;
        fprintf(out, latex ? " %s%s_{%c%c}" : " %s%s_%c%c", edge(f, t, kind, 0, latex), colour, at,
                to);
        write_factors(f, child, kind, to, next, latex, out);
    }
}

/* Returns the sum of a tree, "sum b_i c_i^2", "sum b^F_i c^G_i"; of flows "". The caller frees it; NULL: out of memory. */
static char *formula(const Forest *f, size_t tree, int kind, int latex)
{
    char *text = NULL, next = 'j';
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    if (kind != FLOWS) {
        fputs(latex ? "\\sum b" : "sum b", out);
        if (f->colours > 1 && kind != ROSENBROCK)
            fprintf(out, "^%c", table_letters[f->tree[tree].colour]);
        fputs("_i", out);
        write_factors(f, tree, kind, 'i', &next, latex, out);
    }
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

/* The conditions of a scheme. */
typedef struct {
    Table *t; /* frozen */
    int kind;
    Forest *f;
    Theory theory;
    Series *exact;
    mpq_t *defect; /* (f->count + 1) */
} Asked;

static void asked_close(Asked *a)
{
    series_free(a->exact);
    if (a->f) rationals_free(a->defect);
    forest_free(a->f);
    table_free(a->t);
}

static int check(const Table *t)
{
    Rosenbrock r;
    if (t->past_y || t->past_k)
        return error_set(
            ERR_INPUT,
            "%s is a multistep scheme, and --conditions are those of one-step schemes: "
            "its terms are printed by --degree",
            t->name);
    if (table_exponential(t))
        return error_set(ERR_INPUT,
                         "%s is an exponential integrator, whose conditions have phi functions of "
                         "matrices: its terms are printed by --degree",
                         t->name);
    if (!table_rosenbrock(t)) return 0;
    TRY(rosenbrock_find(t, &r));
    rosenbrock_free(&r);
    return 0;
}

static int asked_open(Asked *a, const Table *t, int degree)
{
    *a = (Asked){.t = table_freeze(t)};
    if (!a->t) return ERR_MEMORY;
    TRY(check(a->t));
    a->kind = t->flows ? FLOWS : table_rosenbrock(t) ? ROSENBROCK : RUNGE_KUTTA;
    TRY(theory_search(a->t, degree, &a->theory));
    if (a->theory.order_exact < a->theory.order_autonomous) a->t->exact = 0;
    int one = series_one_colour(a->t) || (a->kind == ROSENBROCK && !table_has(t, HAS_W));
    TRY(series_forest(a->t, degree, one ? 1 : table_tree_colours(t), 0, &a->f));
    a->f->w = table_has(t, HAS_W);
    TRY(series_new(a->f, &a->exact));
    series_exact(a->exact, rational_one, a->t->weight);
    if (!(a->defect = rationals_new(a->f->count + 1))) return ERR_MEMORY;
    return theory_defect(a->f, a->t, a->defect, a->defect[a->f->count]);
}

/* Tells whether a tree of a W-method stands for no other one: its vertices are F, for H, and W, which have one child. */
static int is_own(const Forest *f, size_t tree)
{
    const Tree *t = &f->tree[tree];
    int own = !f->w || t->colour == OP_F || (t->colour == OP_C && t->children == 1);
    for (int k = 0; k < t->children; k++) own = own && is_own(f, (size_t)t->child[k]);
    return own;
}

/* Hands the row of a tree to `take`. */
static int put_condition(const Asked *a, size_t tree, ConditionTaker *take, void *to)
{
    const Tree *t = &a->f->tree[tree];
    char left[1024], right[64], name[EXPANSION_NAME];
    char *sum = formula(a->f, tree, a->kind, 0), *tex = formula(a->f, tree, a->kind, 1);
    RATIONAL(x);
    int code = sum && tex ? tree_name(a->f, tree, name, sizeof name) : ERR_MEMORY;
    mpq_set_ui(x, t->sigma, 1);
    mpq_mul(x, x, a->defect[tree]);
    int holds = t->order <= a->theory.order_autonomous || theory_is_zero(a->t, x);
    gmp_snprintf(right, sizeof right, "%Qd", a->exact->a[tree]);
    mpq_add(x, x, a->exact->a[tree]);
    expansion_number(a->t, x, left, sizeof left);
    for (char *c = name; (a->f->colours == 1 || a->f->w) && *c; c++)
        if (*c == 'F') *c = 'H';
    if (code == 0)
        code = take(to, &(ConditionRow){a->t->name, sum, left, right, name, t->order, holds,
                                        t->sigma, t->gamma, tex, a->f, tree});
    free(sum);
    free(tex);
    return code;
}

int conditions_each(const Table *t, int degree, ConditionTaker *take, void *to)
{
    SCOPED(asked_close) Asked a = {0};
    TRY(asked_open(&a, t, degree));
    for (size_t k = 0; k < a.f->count; k++)
        if (is_own(a.f, k)) TRY(put_condition(&a, k, take, to));
    return 0;
}
