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

#include <math.h>
#include <stdlib.h>

#include "kernels/base/error.h"
#include "ode/scheme/rationals.h"
#include "studies/theory/expansion.h"

enum { RUNGE_KUTTA, ROSENBROCK, FLOWS };

/* Returns the letters of the edges from a vertex: for a row's sum with `sum`. */
static const char *edge(const Forest *f, const Tree *t, int kind, int sum)
{
    static const char *const greek[] = {"alpha", "beta", "gamma"};
    if (kind == RUNGE_KUTTA) return sum ? "c" : "a";
    int w = f->w && t->colour == OP_C;
    return greek[w ? 2 : t->children == 1 && !f->w];
}

/* Writes the factors of a tree's children, whose root stands at the letter; *next is the next free letter. */
static void write_factors(const Forest *f, size_t tree, int kind, char at, char *next, FILE *out)
{
    const Tree *t = &f->tree[tree];
    int coloured = f->colours > 1 && kind != ROSENBROCK;
    for (int k = 0, leaves; k < t->children; k += leaves) {
        size_t child = (size_t)t->child[k];
        char colour[] = {'^', table_letters[f->tree[child].colour], '\0'};
        if (!coloured) colour[0] = '\0';
        for (leaves = 1; k + leaves < t->children && t->child[k + leaves] == t->child[k];) leaves++;
        if (f->tree[child].children == 0) {
            fprintf(out, coloured && leaves > 1 ? " (%s%s_%c)" : " %s%s_%c", edge(f, t, kind, 1),
                    colour, at);
            if (leaves > 1) fprintf(out, "^%d", leaves);
            continue;
        }
        leaves = 1;
        char to = (*next)++;
        fprintf(out, " %s%s_%c%c", edge(f, t, kind, 0), colour, at, to);
        write_factors(f, child, kind, to, next, out);
    }
}

/* Returns the sum of a tree, "sum b_i c_i^2", "sum b^F_i c^G_i"; of flows "". The caller frees it; NULL: out of memory. */
static char *formula(const Forest *f, size_t tree, int kind)
{
    char *text = NULL, next = 'j';
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out) return NULL;
    if (kind != FLOWS) {
        fputs("sum b", out);
        if (f->colours > 1 && kind != ROSENBROCK)
            fprintf(out, "^%c", table_letters[f->tree[tree].colour]);
        fputs("_i", out);
        write_factors(f, tree, kind, 'i', &next, out);
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
    TRY(table_refuse_carries(
        t, "--conditions are those of one-step schemes: its terms are printed by --degree"));
    if (table_past(t))
        return error_set(
            ERR_INPUT,
            "%s is a multistep scheme, and --conditions are those of one-step schemes: "
            "its terms are printed by --degree",
            t->name);
    if (table_methods(t) || table_complex(t))
        return error_set(
            ERR_INPUT, "%s has %s, and no conditions in words: its terms are printed by --degree",
            t->name,
            table_complex(t) ? "complex fractions" : "exact flows beside flows by a method");
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

/* Finds the fraction of at most six digits below that x is, but for the 60 decimals of an inexact table: of roots that cancel.
 * Returns 0 where there is none. Of x's continued fraction, p1/q1 is the last convergent. */
static int near_fraction(mpq_srcptr x, mpq_t out)
{
    enum { MOST = 999999 };
    RATIONALS(rest, whole);
    int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
    mpq_set(rest, x);
    for (;;) {
        mpz_fdiv_q(mpq_numref(whole), mpq_numref(rest), mpq_denref(rest));
        if (mpz_cmpabs_ui(mpq_numref(whole), MOST) > 0) return 0;
        int64_t a = mpz_get_si(mpq_numref(whole)), p = a * p1 + p0, q = a * q1 + q0;
        if (q > MOST) return 0;
        p0 = p1, q0 = q1, p1 = p, q1 = q;
        mpq_sub(rest, rest, whole);
        mpz_set_d(mpq_numref(out), (double)p); /* whole: |p| is below 2^53 */
        mpz_set_ui(mpq_denref(out), (unsigned long)q);
        mpq_sub(whole, out, x);
        if (fabs(mpq_get_d(whole)) < 1e-40) return 1;
        mpq_set_ui(whole, 0, 1);
        mpq_inv(rest, rest);
    }
}

/* Hands the row of a tree to `take`. */
static int put_condition(const Asked *a, size_t tree, ConditionTaker *take, void *to)
{
    const Tree *t = &a->f->tree[tree];
    char left[1024], right[64], name[EXPANSION_NAME];
    char *sum = formula(a->f, tree, a->kind);
    RATIONALS(x, fraction);
    int code = sum ? tree_name(a->f, tree, name, sizeof name) : ERR_MEMORY;
    integer_set(mpq_numref(x), t->sigma);
    mpq_mul(x, x, a->defect[tree]);
    int holds = t->order <= a->theory.order_autonomous || theory_is_zero(a->t, x);
    gmp_snprintf(right, sizeof right, "%Qd", a->exact->a[tree]);
    mpq_add(x, x, a->exact->a[tree]);
    if (!a->t->exact && near_fraction(x, fraction))
        gmp_snprintf(left, sizeof left, "%Qd", fraction);
    else
        expansion_number(a->t, x, left, sizeof left);
    for (char *c = name; (a->f->colours == 1 || a->f->w) && *c; c++)
        if (*c == 'F') *c = 'H';
    if (code == 0)
        code = take(to, &(ConditionRow){a->t->name, sum, left, right, name, t->order, holds,
                                        t->sigma, t->gamma, a->f, tree});
    free(sum);
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
