/* repair.c: which coefficient of a one-step scheme fails its order conditions, and what should stand there.
 *
 * The conditions to order p are polynomials in the coefficients x of the text:
 *
 *     d(t) = sum_i b_i u_i(t) - 1/gamma(t) for every tree t of at most p vertices (Hairer, Norsett, Wanner 1993, II.2),
 *     the same with the embedded weights bhat = b - error for the trees to their order,
 *     c_i - sum_j a_ij for every node that is written.
 *
 * A stage of a Rosenbrock method, W-method or phi function enters by the series of its function (apply_function). Those of a
 * splitting by exact flows, exp(c_1 X_1) exp(c_2 X_2) ..., are that every word of n <= p letters has the factor 1/n!
 * that it has in exp(F + G).
 *
 * Exact coefficients. Unknown ones are x = x0 + Z s, at first with all of them free. A condition that is affine in s is
 * found by its values on a random line; Gauss's elimination of these leaves fewer s, in which more conditions are affine.
 * Of one s that is left the greatest common divisor of all conditions, as polynomials, has the values that meet them
 * all. All of this is done modulo primes of 31 bits; the Chinese remainder theorem and Euclid's algorithm give the
 * fractions, which are taken once two primes in succession change nothing (Wang 1981). A wrong value would have to pass for
 * right modulo every one of them.
 *
 * Decimals. A condition holds where |d| is at most `slack` times the last digit of the coefficients times the sum of
 * the absolute values that d is summed of. One unknown is looked for: a root of the condition that it changes most,
 * refined by Gauss's and Newton's method on all conditions in long double.
 *
 * Bounds: one unknown of all coefficients; two of at most PAIRS_MOST pairs, exact coefficients alone; as many `?` as
 * REPAIR_UNKNOWNS. An equation in one s of which a factor of degree 3 or more is left counts as not solved. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/scheme/scheme.h"
#include "ode/theory/poly.h"
#include "ode/theory/theory.h"

enum { U = REPAIR_UNKNOWNS, PRIMES = 160, PAIRS_MOST = 20000, DEGREE_MOST = 2 * TREE_MAX_1 };
static const double slack = 64;

/* ---- numbers: modulo a prime p, or long double where p is 0 --------------------------------------------- */

#pragma GCC diagnostic ignored \
    "-Wpsabi" /* a union of a long double is passed in another way than before GCC 4.4 */
typedef union {
    uint64_t m;
    long double r;
} Number;

static Number add(uint64_t p, Number a, Number b)
{
    return p ? (Number){.m = (a.m + b.m) % p} : (Number){.r = a.r + b.r};
}

static Number subtract(uint64_t p, Number a, Number b)
{
    return p ? (Number){.m = (a.m + p - b.m) % p} : (Number){.r = a.r - b.r};
}

static Number multiply(uint64_t p, Number a, Number b)
{
    return p ? (Number){.m = a.m * b.m % p} : (Number){.r = a.r * b.r};
}

static Number whole(uint64_t p, uint64_t n)
{
    return p ? (Number){.m = n % p} : (Number){.r = (long double)n};
}

static uint64_t invert(uint64_t p, uint64_t a)
{
    uint64_t out = 1;
    for (uint64_t e = p - 2; e; e >>= 1, a = a * a % p)
        if (e & 1) out = out * a % p;
    return out;
}

static long double long_double(mpq_srcptr q)
{
    RATIONAL(rest);
    double high = mpq_get_d(q);
    if (!isfinite(high)) return high;
    mpq_set_d(rest, high);
    mpq_sub(rest, q, rest);
    return (long double)high + (long double)mpq_get_d(rest);
}

static Number rational(uint64_t p, mpq_srcptr q)
{
    if (!p) return (Number){.r = long_double(q)};
    uint64_t n = mpz_fdiv_ui(mpq_numref(q), p), d = mpz_fdiv_ui(mpq_denref(q), p);
    return (Number){.m = n * invert(p, d) % p};
}

/* ---- a scheme as numbers -------------------------------------------------------------------------------- */

typedef struct {
    size_t row, source; /* a row: that of a point, then the update, then the error */
} Entry;

/* d entry / d coefficient */
typedef struct {
    size_t coefficient, entry;
    mpq_t d;
    Number n;
} Slope;

typedef struct {
    const Coefficients *c; /* borrowed */
    Forest *f;
    int order, hat; /* conditions of the method, of the embedded one (0: none) */
    int one;        /* all stages are H, and trees have one colour */
    int explicit;
    int colours; /* of trees, where not all stages are H */
    /* Of a splitting: 2, F and G, of a decoder's 3. Its entries are its flows, and words take the place of trees. 0: stages. */
    size_t letters;
    size_t points, sources;
    int *stage;     /* (sources): the stage it belongs to */
    int *colour;    /* (sources, or flows); -1: H */
    size_t *row_of; /* (sources): the row of its point */
    /* A stage of a Rosenbrock method or a phi function has J + 1 or PHI_SOLVE here, the colours of its derivative, and its
     * factor c, an entry. */
    int *phi, *ops;
    size_t *factor;
    int functions; /* there are such stages */
    int special;   /* Table.special: trees that vanish on such fields are met */
    int w;         /* colour of the matrix W, whose field is 0; -1: there is none */
    /* Entries of rows; behind them come nodes, then factors of functions, whose source is not used. */
    size_t entries;
    size_t nodes, all;
    Entry *entry;  /* (all) */
    size_t *first; /* (points + 3): the first entry of each row */
    mpq_t *at;     /* (all): as written */
    size_t slopes;
    Slope *slope;
    uint64_t prime;       /* for which the following hold; 1: none yet */
    Number *base, *value; /* (all): as written, and as they are tried */
    Number *gamma;        /* (trees): 1/gamma; of words 1/n! */
    Number *x0;           /* (c->count): the coefficients as written */
    Number *u;            /* (sources), or (words) */
    Number *psi;          /* (trees, sources) */
    size_t most;          /* conditions */
    Number *tolerance;    /* (most), of decimals */
    double unit;          /* their last digit */
    char *outside; /* (c->count): the scheme is not affine in it, or it would make it implicit */
} Model;

static void model_free(Model *m)
{
    for (size_t i = 0; i < m->slopes; i++) mpq_clear(m->slope[i].d);
    rationals_free(m->at);
    memory_free_all(m->stage, m->colour, m->row_of, m->phi, m->ops, m->factor, m->entry, m->first,
                    m->slope, m->base, m->value, m->gamma, m->x0, m->u, m->psi, m->tolerance,
                    m->outside);
    forest_free(m->f);
    *m = (Model){0};
}

/* Reads the one scheme of a text in which `value` stands for coefficients. */
static int read_table(const char *file, const Coefficients *c, const char *text, size_t bytes,
                      const char *const *value, Table **out)
{
    char *changed;
    size_t n, count = 0;
    Table **list = NULL;
    int code = coefficients_written(c, text, bytes, value, &changed, &n);
    if (code == 0)
        code = (butcher_is(changed, n) ? butcher_parse : scheme_parse)(file, changed, n, &list,
                                                                       &count);
    free(changed);
    for (size_t i = 1; i < count; i++) table_free(list[i]);
    *out = count ? list[0] : NULL;
    memory_free(list);
    if (code == 0 && count > 1)
        code =
            error_set(ERR_INPUT, "%s: expected one scheme to repair; there are %zu", file, count);
    if (code != 0) table_free(*out), *out = NULL;
    return code;
}

static int check_kind(const Table *whole_table)
{
    const Table *t = whole_table;
    const char *what = t->past_y || t->past_k                ? "is a multistep method"
                       : t->symbols                          ? "has learned coefficients"
                       : t->word || t->dense                 ? "is made for networks"
                       : !t->flows && !row_plain(&t->update) ? "has a weight of y other than 1"
                                                             : NULL;
    if (!what) return 0;
    return error_set(ERR_INPUT, "%s %s: one-step schemes of stages, and splittings, are repaired",
                     t->name, what);
}

static const Row *row_at(const Table *t, size_t row)
{
    return row < t->points ? &t->point[row].row : row == t->points ? &t->update : &t->error;
}

static size_t eval_of(const Model *m, const Table *t, size_t source)
{
    return m->one ? (size_t)t->stage[source].eval : source;
}

/* Reads entry e of another table of the same structure. */
static void read_entry(const Model *m, const Table *t, size_t e, mpq_t out)
{
    size_t row = m->entry[e].row;
    if (m->letters) {
        mpq_set(out, t->flow[row].c);
        return;
    }
    if (e < m->entries) {
        row_weight(t, row_at(t, row), (int)eval_of(m, t, m->entry[e].source), out);
        return;
    }
    const Point *p = &t->point[row];
    if (e >= m->entries + m->nodes)
        mpq_set(out, p->scale);
    else if (p->timed)
        mpq_set(out, p->c[OP_F]);
    else
        table_row_time(t, &p->row, OP_F, out);
}

static int add_entries(Model *m, const Table *t)
{
    size_t count = 0;
    for (size_t row = 0; row < t->points + 2; row++) {
        m->first[row] = count;
        for (size_t s = 0; s < m->sources; s++) {
            RATIONAL(q);
            row_weight(t, row_at(t, row), (int)eval_of(m, t, s), q);
            if (mpq_sgn(q) != 0) TRY(memory_add(m->entry, count, (Entry){row, s}));
        }
    }
    m->first[t->points + 2] = m->entries = count;
    for (size_t p = 0; p < t->points && m->one; p++)
        if (t->point[p].timed) TRY(memory_add(m->entry, count, (Entry){p, 0}));
    m->nodes = count - m->entries;
    for (size_t s = 0; s < m->sources; s++) {
        const Point *p = &t->point[m->row_of[s]];
        m->phi[s] = p->phi;
        m->ops[s] = m->one ? ~0 : p->ops;
        m->factor[s] = count;
        m->functions |= p->phi != 0;
        if (p->phi) TRY(memory_add(m->entry, count, (Entry){m->row_of[s], 0}));
    }
    m->all = count;
    return 0;
}

/* Takes the structure of a table whose coefficients all differ from 0. */
static int open_structure(Model *m, const Table *t)
{
    for (size_t i = 0; i < t->flows; i++) TRY(memory_add(m->entry, m->entries, (Entry){i, 0}));
    m->letters = t->flows ? (size_t)t->colours : 0;
    if (m->letters) {
        if (!(m->colour = memory_new(t->flows, sizeof *m->colour))) return ERR_MEMORY;
        for (size_t i = 0; i < t->flows; i++) m->colour[i] = t->flow[i].op;
        m->all = m->entries;
        return 0;
    }
    m->one = series_one_colour(t);
    m->colours = table_tree_colours(t);
    m->points = t->points;
    m->sources = m->one ? t->stages : t->evals;
    m->colour = memory_new(m->sources, sizeof *m->colour);
    m->row_of = memory_new(m->sources, sizeof *m->row_of);
    m->first = memory_new(t->points + 3, sizeof *m->first);
    m->stage = memory_new(m->sources, sizeof *m->stage);
    m->phi = memory_new(m->sources, sizeof *m->phi);
    m->ops = memory_new(m->sources, sizeof *m->ops);
    m->factor = memory_new(m->sources, sizeof *m->factor);
    if (!m->stage || !m->colour || !m->row_of || !m->first || !m->phi || !m->ops || !m->factor)
        return ERR_MEMORY;
    m->special = t->special;
    m->w = table_has(t, HAS_W) ? OP_C : -1;
    for (size_t p = 0; p < t->points && !m->one; p++)
        if (t->point[p].timed)
            return error_set(ERR_INPUT, "%s: nodes of their own in two colours are not repaired",
                             t->name);
    for (size_t s = 0; s < m->sources; s++) {
        const Eval *e = &t->eval[eval_of(m, t, s)];
        m->colour[s] = m->one ? -1 : e->op;
        m->stage[s] = e->stage;
        m->row_of[s] = (size_t)e->point;
    }
    return add_entries(m, t);
}

static int add_slope(Model *m, size_t coefficient, size_t entry, mpq_srcptr d)
{
    Slope s = {.coefficient = coefficient, .entry = entry};
    mpq_init(s.d);
    mpq_set(s.d, d);
    int code = memory_add(m->slope, m->slopes, s);
    if (code != 0) mpq_clear(s.d);
    return code;
}

/* The text and what it is read into, while its structure is found. */
typedef struct {
    const char *file, *text;
    size_t bytes;
    const char **value; /* (count) */
    char (*word)[MISPRINT_WORD];
} Source;

/* Finds the slopes of coefficient k by the entries with its value + 1 and + 2. */
static int find_slopes(Model *m, Source *s, size_t k)
{
    RATIONALS(q, d, e);
    TABLE(one);
    TABLE(two);
    const char *kept = s->value[k];
    for (int i = 1; i <= 2; i++) {
        mpq_set_ui(q, (unsigned)i, 1);
        mpq_add(q, q, m->c->list[k].value);
        if (gmp_snprintf(s->word[k], MISPRINT_WORD, "%Qd", q) >= MISPRINT_WORD) m->outside[k] = 1;
        if (m->outside[k]) return 0;
        s->value[k] = s->word[k];
        int code = read_table(s->file, m->c, s->text, s->bytes, s->value, i == 1 ? &one : &two);
        s->value[k] = kept;
        if (code == ERR_INPUT) m->outside[k] = 1;
        if (code != 0) return code == ERR_INPUT ? 0 : code;
    }
    const Table *first = table_whole(one), *second = table_whole(two);
    size_t before = m->slopes;
    for (size_t i = 0; i < m->all; i++) {
        read_entry(m, first, i, d);
        read_entry(m, second, i, e);
        mpq_sub(d, d, m->at[i]);
        mpq_sub(e, e, m->at[i]);
        mpq_sub(e, e, d);
        mpq_sub(e, e, d);
        if (fabs(mpq_get_d(e)) > 1e-40) m->outside[k] = 1;
        if (fabs(mpq_get_d(d)) > 1e-40) TRY(add_slope(m, k, i, d));
    }
    if (m->slopes == before) m->outside[k] = 1;
    return 0;
}

/* Finds the entries that have the generic value of a coefficient; of a tableau, the error b - bhat too. Returns how many
 * there are in *found. */
static int match_slopes(Model *m, const Table *t, size_t k, mpq_srcptr generic, int tableau,
                        size_t *found)
{
    RATIONALS(q, b, minus);
    mpq_set_si(minus, -1, 1);
    *found = 0;
    for (size_t i = 0; i < m->all; i++) {
        const Entry *e = &m->entry[i];
        mpq_srcptr sign = NULL;
        read_entry(m, t, i, q);
        if (mpq_equal(q, generic)) sign = rational_one;
        if (tableau && e->row == m->points + 1) {
            row_weight(t, &t->update, (int)eval_of(m, t, e->source), b);
            if (mpq_equal(b, generic)) sign = rational_one;
            mpq_sub(b, b, q);
            if (mpq_equal(b, generic)) sign = minus;
        }
        if (sign) TRY(add_slope(m, k, i, sign));
        *found += sign != NULL;
    }
    return 0;
}

/* Leaves out the coefficients that would make an explicit scheme implicit: those of a row on its own stage or a later one. */
static void leave_out(Model *m)
{
    for (size_t i = 0; m->explicit && !m->letters && i < m->slopes; i++) {
        const Entry *e = &m->entry[m->slope[i].entry];
        if (m->slope[i].entry >= m->entries || e->row >= m->points) continue;
        size_t s = 0;
        while (s < m->sources && m->row_of[s] != e->row) s++;
        if (e->source >= s) m->outside[m->slope[i].coefficient] = 1;
    }
}

static int compare_slopes(const void *a, const void *b)
{
    const Slope *s = a, *t = b;
    return s->coefficient != t->coefficient ? s->coefficient < t->coefficient ? -1 : 1
           : s->entry < t->entry            ? -1
                                            : s->entry > t->entry;
}

/* Writes the generic value of coefficient k: no two are equal, none is a sum of others. */
static void generic_value(size_t k, mpq_t q)
{
    uint32_t w[4];
    random_words(61, 0, k, w);
    mpq_set_ui(q, 1 + w[0] % 100003, 1009 + w[1] % 100019);
    mpq_canonicalize(q);
}

static int open_model(Model *m, Source *s, const Table *written)
{
    const Coefficients *c = m->c;
    RATIONAL(q);
    TABLE(generic);
    int tableau = butcher_is(s->text, s->bytes);
    int names = !tableau && strstr(s->text, "\nlet ") != NULL;
    m->outside = memory_new(c->count + 1, 1);
    if (!m->outside) return ERR_MEMORY;
    const char **kept = s->value;
    SCOPED(memory_drop) const char **all = memory_new(c->count + 1, sizeof *all);
    if (!all) return ERR_MEMORY;
    for (size_t k = 0; k < c->count; k++) {
        generic_value(k, q);
        gmp_snprintf(s->word[k], MISPRINT_WORD, "%Qd", q);
        all[k] = s->word[k];
    }
    TRY(read_table(s->file, c, s->text, s->bytes, all, &generic));
    s->value = kept;
    const Table *t = table_whole(generic), *as_written = table_whole(written);
    TRY(open_structure(m, t));
    if (as_written->points != t->points || as_written->evals != t->evals)
        return error_set(ERR_INPUT, "%s: the scheme changes its form with its coefficients",
                         s->file);
    m->explicit = !table_implicit(as_written);
    if (!(m->at = rationals_new(m->all + 1))) return ERR_MEMORY;
    for (size_t i = 0; i < m->all; i++) read_entry(m, as_written, i, m->at[i]);
    for (size_t k = 0; k < c->count; k++) {
        size_t found = 0;
        generic_value(k, q);
        if (!names) TRY(match_slopes(m, t, k, q, tableau, &found));
        if (!found) TRY(find_slopes(m, s, k));
        tick();
    }
    if (m->slopes) qsort(m->slope, m->slopes, sizeof *m->slope, compare_slopes);
    leave_out(m);
    return 0;
}

/* Returns the number of trees, or words, to the lesser of two orders. */
static size_t trees_to(const Model *m, int order, int q)
{
    int least = order < q ? order : q;
    size_t words = 0;
    for (int i = 0; i < least && m->letters; i++) words = m->letters * (words + 1);
    return m->letters ? words : least > 0 ? m->f->first[least + 1] : 0;
}

/* Returns the order of a tree, or the length of a word. */
static int length_of(const Model *m, size_t tree)
{
    int n = 1;
    if (!m->letters) return m->f->tree[tree].order;
    while (tree >= trees_to(m, n, n)) n++;
    return n;
}

/* Makes room for the conditions to an order. */
static int set_order(Model *m, int order, int hat)
{
    int top = order > hat ? order : hat;
    m->order = order;
    m->hat = hat;
    if (!m->f) TRY(forest_trees(1, m->one || m->letters ? 1 : m->colours, 0, &m->f));
    if (m->f->max >= top && m->u) return 0;
    TRY(forest_grow(m->f, top));
    size_t trees = trees_to(m, top, top), entries = m->all + 1;
    memory_free_all(m->base, m->value, m->gamma, m->x0, m->u, m->psi, m->tolerance);
    m->prime = 1;
    m->most = 2 * trees + m->nodes;
    m->base = memory_new(entries, sizeof(Number));
    m->value = memory_new(entries, sizeof(Number));
    m->gamma = memory_new(trees, sizeof(Number));
    m->x0 = memory_new(m->c->count + 1, sizeof(Number));
    m->u = memory_new(m->letters ? trees : m->sources, sizeof(Number));
    m->psi = memory_new(trees * m->sources + 1, sizeof(Number));
    m->tolerance = memory_new(m->most, sizeof(Number));
    int all = m->base && m->value && m->gamma && m->x0 && m->u && m->psi && m->tolerance;
    return all ? 0 : ERR_MEMORY;
}

/* Returns whether a vertex of a tree is W. */
static int has_w(const Model *m, size_t tree)
{
    if (m->letters || m->w < 0) return 0;
    const Tree *t = &m->f->tree[tree];
    int has = t->colour == m->w;
    for (int k = 0; k < t->children; k++) has |= has_w(m, (size_t)t->child[k]);
    return has;
}

/* Takes the scheme modulo a prime, or in long double. */
static void set_prime(Model *m, uint64_t p)
{
    if (m->prime == p) return;
    m->prime = p;
    for (size_t i = 0; i < m->all; i++) m->base[i] = rational(p, m->at[i]);
    for (size_t i = 0; i < m->slopes; i++) m->slope[i].n = rational(p, m->slope[i].d);
    for (size_t k = 0; k < m->c->count; k++) m->x0[k] = rational(p, m->c->list[k].value);
    size_t trees = trees_to(m, m->f->max, m->f->max);
    for (size_t t = 0; t < trees; t++) {
        uint64_t gamma = m->letters ? 1 : m->f->tree[t].gamma;
        for (int n = length_of(m, t); n > 1 && m->letters; n--) gamma *= (uint64_t)n;
        m->gamma[t] =
            p ? (Number){.m = invert(p, gamma % p)} : (Number){.r = 1 / (long double)gamma};
        if (has_w(m, t)) m->gamma[t] = whole(p, 0); /* the field of W is 0 */
    }
}

/* ---- conditions ------------------------------------------------------------------------------------------- */

/* Returns the number of conditions to order q. */
static size_t conditions_to(const Model *m, int q)
{
    return trees_to(m, m->order, q) + trees_to(m, m->hat, q) + m->nodes;
}

static Number sum_row(const Model *m, size_t row, const Number *u)
{
    uint64_t p = m->prime;
    Number sum = whole(p, 0);
    for (size_t i = m->first[row]; i < m->first[row + 1]; i++)
        sum = add(p, sum, multiply(p, m->value[i], u ? u[m->entry[i].source] : whole(p, 1)));
    return sum;
}

/* Computes u of a function of a derivative, phi(c A) r: sum_n phi_n c^n r(t_n), where A takes a root with one child off
 * t_n to make t_(n+1), and phi_n is 1/(n + J)!, of solve 1. r(t) is kept as psi. */
static Number apply_function(Model *m, size_t tree, size_t s, const Number *u)
{
    uint64_t p = m->prime;
    Number *r = &m->psi[tree * m->sources + s], power = whole(p, 1), sum = whole(p, 0);
    uint64_t factorial = 1;
    *r = sum_row(m, m->row_of[s], u);
    for (int k = 2; k < m->phi[s] && m->phi[s] != PHI_SOLVE; k++) factorial *= (uint64_t)k;
    for (int n = 0;; n++) {
        const Tree *t = &m->f->tree[tree];
        Number inverse =
            p ? (Number){.m = invert(p, factorial % p)} : (Number){.r = 1 / (long double)factorial};
        Number part = multiply(p, power, m->psi[tree * m->sources + s]);
        sum = add(p, sum, multiply(p, part, inverse));
        if (t->children != 1 || !(m->ops[s] >> t->colour & 1)) return sum;
        tree = (size_t)t->child[0];
        power = multiply(p, power, m->value[m->factor[s]]);
        if (m->phi[s] != PHI_SOLVE) factorial *= (uint64_t)(n + m->phi[s]);
    }
}

static void set_stages(Model *m, size_t tree, Number *u)
{
    const Tree *t = &m->f->tree[tree];
    for (size_t s = 0; s < m->sources; s++) u[s] = whole(m->prime, 0);
    for (size_t s = 0; s < m->sources; s++) {
        if (m->phi[s]) {
            u[s] = apply_function(m, tree, s, u);
            continue;
        }
        u[s] = whole(m->prime, m->colour[s] < 0 || m->colour[s] == t->colour);
        for (int k = 0; k < t->children; k++)
            u[s] = multiply(m->prime, u[s], m->psi[(size_t)t->child[k] * m->sources + s]);
    }
}

/* Multiplies the factors u of all words, that of the empty one is 1, by exp(c X) from behind: a word that ends in n letters X
 * takes c^k/k! from the one without k of them. Words of n letters are numbers in base m->letters behind all shorter ones. */
static void append_flow(Model *m, size_t flow, int q)
{
    uint64_t p = m->prime;
    for (int n = q; n > 0; n--) {
        size_t before = trees_to(m, n - 1, n - 1), count = trees_to(m, n, n) - before;
        for (size_t w = 0; w < count; w++) {
            Number factor = whole(p, 1), *u = &m->u[before + w];
            size_t rest = w;
            for (int k = 1; k <= n && (int)(rest % m->letters) == m->colour[flow]; k++) {
                rest /= m->letters;
                factor = multiply(p, factor, m->value[flow]);
                factor = multiply(p, factor,
                                  p ? (Number){.m = invert(p, (uint64_t)k)}
                                    : (Number){.r = 1 / (long double)k});
                size_t shorter = n - k > 0 ? trees_to(m, n - k - 1, n) + rest : 0;
                *u = add(p, *u, n - k > 0 ? multiply(p, factor, m->u[shorter]) : factor);
            }
        }
    }
}

static void evaluate_words(Model *m, int q, int sizes, Number *r)
{
    size_t words = trees_to(m, m->order, q);
    for (size_t w = 0; w < words; w++) m->u[w] = whole(m->prime, 0);
    for (size_t i = 0; i < m->entries; i++) append_flow(m, i, q < m->order ? q : m->order);
    for (size_t w = 0; w < words; w++)
        r[w] = (sizes ? add : subtract)(m->prime, m->u[w], m->gamma[w]);
}

/* Computes the conditions to order q of the scheme in m->value; sizes: the sums of absolute values in their place. */
static void evaluate(Model *m, int q, int sizes, Number *r)
{
    uint64_t p = m->prime;
    size_t own = trees_to(m, m->order, q), hat = trees_to(m, m->hat, q);
    size_t trees = own > hat ? own : hat, inner = trees_to(m, q - 1, q);
    for (size_t i = 0; sizes && i < m->all; i++) m->value[i].r = fabsl(m->value[i].r);
    if (m->letters) evaluate_words(m, q, sizes, r);
    for (size_t t = 0; t < trees && !m->letters; t++) {
        set_stages(m, t, m->u);
        for (size_t s = 0; t < inner && s < m->sources; s++) {
            Number *psi = &m->psi[t * m->sources + s];
            if (m->phi[s]) continue;                              /* r */
            int same = s > 0 && m->row_of[s] == m->row_of[s - 1]; /* F and G of one stage */
            *psi = same ? psi[-1] : sum_row(m, m->row_of[s], m->u);
        }
        Number y = sum_row(m, m->points, m->u);
        int counts = !m->special || !tree_vanishes(m->f, t, m->special);
        if (t < own) r[t] = counts ? (sizes ? add : subtract)(p, y, m->gamma[t]) : whole(p, 0);
        if (t >= hat) continue;
        y = (sizes ? add : subtract)(p, y, sum_row(m, m->points + 1, m->u));
        r[own + t] = counts ? (sizes ? add : subtract)(p, y, m->gamma[t]) : whole(p, 0);
    }
    for (size_t i = 0; i < m->nodes; i++)
        r[own + hat + i] = (sizes ? add : subtract)(p, m->value[m->entries + i],
                                                    sum_row(m, m->entry[m->entries + i].row, NULL));
}

/* Sets coefficients unknown[0 .. n) to x, all others as written. */
static void set_values(Model *m, size_t n, const size_t *unknown, const Number *x)
{
    uint64_t p = m->prime;
    memcpy(m->value, m->base, (m->all) * sizeof *m->value);
    for (size_t k = 0; k < n; k++) {
        Number by = subtract(p, x[k], m->x0[unknown[k]]);
        size_t low = 0, high = m->slopes;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (m->slope[middle].coefficient < unknown[k])
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < m->slopes && m->slope[low].coefficient == unknown[k]; low++) {
            Number *v = &m->value[m->slope[low].entry];
            *v = add(p, *v, multiply(p, by, m->slope[low].n));
        }
    }
}

/* Returns at how many values of a coefficient the conditions to order q tell their polynomials: each is as often a factor as
 * a tree has vertices, and the factors of functions as often again. */
static int points_to(const Model *m, int q)
{
    return (m->functions ? 2 * q : q) + 1;
}

/* ---- polynomials modulo a prime ------------------------------------------------------------------------------ */

typedef struct {
    int degree; /* -1: 0 */
    uint64_t c[DEGREE_MOST + 1];
} Modular;

static void trim(Modular *f)
{
    while (f->degree >= 0 && f->c[f->degree] == 0) f->degree--;
}

static void make_monic(uint64_t p, Modular *f)
{
    if (f->degree < 0) return;
    uint64_t by = invert(p, f->c[f->degree]);
    for (int i = 0; i <= f->degree; i++) f->c[i] = f->c[i] * by % p;
}

/* Replaces f by f mod g, g monic; quotient may be NULL. */
static void reduce(uint64_t p, Modular *f, const Modular *g, Modular *quotient)
{
    if (quotient) *quotient = (Modular){.degree = f->degree - g->degree};
    for (int i = f->degree; i >= g->degree; i--) {
        uint64_t by = f->c[i];
        if (quotient) quotient->c[i - g->degree] = by;
        for (int k = 0; k <= g->degree; k++) {
            uint64_t *c = &f->c[i - g->degree + k];
            *c = (*c + (p - by) * g->c[k]) % p;
        }
    }
    trim(f);
}

/* Replaces g by the monic gcd(g, f). */
static void common(uint64_t p, Modular *g, const Modular *with)
{
    Modular f = *with;
    while (f.degree >= 0) {
        make_monic(p, &f);
        Modular rest = *g;
        reduce(p, &rest, &f, NULL);
        *g = f;
        f = rest;
    }
    make_monic(p, g);
}

/* Replaces f by the product of its different factors. */
static void make_simple(uint64_t p, Modular *f)
{
    Modular d = {.degree = f->degree - 1}, g = *f, quotient;
    for (int i = 0; i < f->degree; i++) d.c[i] = f->c[i + 1] * (uint64_t)(i + 1) % p;
    trim(&d);
    common(p, &g, &d);
    if (g.degree < 1) return;
    reduce(p, f, &g, &quotient);
    *f = quotient;
    make_monic(p, f);
}

/* Makes the polynomial that has the values y (n) at 0, 1, ..., n - 1, by Newton's differences. */
static Modular interpolate(uint64_t p, const uint64_t *y, int n)
{
    Modular f = {.degree = n - 1};
    uint64_t d[DEGREE_MOST + 1];
    memcpy(d, y, (size_t)n * sizeof *d);
    for (int k = 1; k < n; k++)
        for (int i = n - 1; i >= k; i--)
            d[i] = (d[i] + p - d[i - 1]) % p * invert(p, (uint64_t)k) % p;
    for (int k = n - 1; k >= 0; k--) { /* f := f (x - k) + d_k */
        for (int i = n - 1; i >= 0; i--) {
            uint64_t lower = i ? f.c[i - 1] : d[k];
            f.c[i] = (lower + (p - (uint64_t)k % p) * f.c[i]) % p;
        }
    }
    trim(&f);
    return f;
}

/* ---- solving modulo a prime ----------------------------------------------------------------------------------- */

enum { NONE, FOUND, OPEN };

/* x = at + along s, where s is a root of s^2 + g[1] s + g[0] if degree is 2; of degree 1 x is `at`. */
typedef struct {
    size_t n, free;
    int degree;
    uint64_t at[U], along[U][U], g[2]; /* along: unknown, free */
} Family;

/* The values of all conditions at some s. */
static void values_at(Model *m, int q, const size_t *unknown, const Family *y, const uint64_t *s,
                      Number *r)
{
    Number x[U];
    for (size_t k = 0; k < y->n; k++) {
        x[k].m = y->at[k];
        for (size_t i = 0; i < y->free; i++) x[k].m = (x[k].m + y->along[k][i] * s[i]) % m->prime;
    }
    set_values(m, y->n, unknown, x);
    evaluate(m, q, 0, r);
}

/* Adds an affine equation in s, its right side last, to a reduced system. Returns 0 where it contradicts it. */
static int add_equation(uint64_t p, uint64_t (*row)[U + 1], size_t *rank, size_t n, uint64_t *e)
{
    for (size_t r = 0; r < *rank; r++) {
        size_t pivot = 0;
        while (row[r][pivot] == 0) pivot++;
        uint64_t by = e[pivot];
        for (size_t i = 0; i <= n && by; i++) e[i] = (e[i] + (p - by) * row[r][i]) % p;
    }
    size_t pivot = 0;
    while (pivot < n && e[pivot] == 0) pivot++;
    if (pivot == n) return e[n] == 0;
    uint64_t by = invert(p, e[pivot]);
    for (size_t i = 0; i <= n; i++) e[i] = e[i] * by % p;
    for (size_t r = 0; r < *rank; r++) {
        by = row[r][pivot];
        for (size_t i = 0; i <= n && by; i++) row[r][i] = (row[r][i] + (p - by) * e[i]) % p;
    }
    memcpy(row[(*rank)++], e, (n + 1) * sizeof *e);
    return 1;
}

/* Puts the solutions of a reduced system in the place of s. */
static void restrict_to(uint64_t p, uint64_t (*row)[U + 1], size_t rank, Family *y)
{
    size_t n = y->free, free = 0, column[U];
    char pivot[U] = {0};
    Family out = *y;
    for (size_t r = 0; r < rank; r++) {
        column[r] = 0;
        while (row[r][column[r]] == 0) column[r]++;
        pivot[column[r]] = 1;
        for (size_t k = 0; k < y->n; k++)
            out.at[k] = (out.at[k] + y->along[k][column[r]] * row[r][n]) % p;
    }
    for (size_t i = 0; i < n; i++) {
        if (pivot[i]) continue;
        for (size_t k = 0; k < y->n; k++) {
            uint64_t sum = y->along[k][i];
            for (size_t r = 0; r < rank; r++)
                sum = (sum + (p - row[r][i]) * y->along[k][column[r]]) % p;
            out.along[k][free] = sum;
        }
        free++;
    }
    out.free = free;
    *y = out;
}

/* Looks for the common roots of all conditions in the one s that is left. */
static int solve_one(Model *m, int q, const size_t *unknown, Family *y, Number *r)
{
    uint64_t p = m->prime, s[U] = {0}, value[DEGREE_MOST + 1];
    int points = points_to(m, q);
    size_t n = conditions_to(m, q);
    Modular g = {.degree = -1};
    for (int i = 0; i < points; i++) {
        s[0] = (uint64_t)i;
        values_at(m, q, unknown, y, s, r + (size_t)i * n);
    }
    for (size_t t = 0; t < n && g.degree != 0; t++) {
        int differs = 0;
        for (int i = 0; i < points; i++) {
            value[i] = r[(size_t)i * n + t].m;
            differs |= value[i] != value[0];
        }
        if (!differs && value[0] != 0) return NONE;
        if (!differs) continue;
        Modular f = interpolate(p, value, points);
        common(p, &g, &f);
    }
    if (g.degree < 0) return OPEN;
    if (g.degree > 1) make_simple(p, &g);
    if (g.degree < 1 || g.degree > 2) return NONE;
    y->degree = g.degree;
    y->g[0] = g.c[0];
    y->g[1] = g.c[1];
    if (g.degree == 2) return FOUND;
    for (size_t k = 0; k < y->n; k++) y->at[k] = (y->at[k] + y->along[k][0] * (p - g.c[0])) % p;
    y->free = 0;
    return FOUND;
}

/* Collects the affine conditions in s; r has room for U + 3 lists of conditions. Returns 0 where they contradict. */
static int find_affine(Model *m, int q, const size_t *unknown, const Family *y, Number *r,
                       uint64_t (*row)[U + 1], size_t *rank)
{
    uint64_t p = m->prime, s[U] = {0}, e[U + 1];
    size_t n = conditions_to(m, q), d = y->free;
    Number *line = r + (d + 1) * n; /* at a random s, and at 2 s */
    for (size_t i = 0; i <= d; i++) {
        if (i > 0) s[i - 1] = 1;
        values_at(m, q, unknown, y, s, r + i * n);
        if (i > 0) s[i - 1] = 0;
    }
    for (uint64_t i = 1; i <= 2; i++) {
        for (size_t k = 0; k < d; k++) s[k] = i * random_below(61, 1, k, p) % p;
        values_at(m, q, unknown, y, s, line + (i - 1) * n);
    }
    *rank = 0;
    for (size_t t = 0; t < n; t++) {
        uint64_t f0 = r[t].m, bend = (f0 + line[n + t].m + 2 * (p - line[t].m)) % p;
        if (bend != 0) continue;
        for (size_t i = 0; i < d; i++) e[i] = (r[(i + 1) * n + t].m + p - f0) % p;
        e[d] = (p - f0) % p;
        if (!add_equation(p, row, rank, d, e)) return 0;
    }
    return 1;
}

/* Finds the values of n coefficients that meet all conditions to order q, modulo the prime; r: scratch. */
static int solve(Model *m, int q, size_t n, const size_t *unknown, Number *r, Family *y)
{
    uint64_t row[U][U + 1], none[U] = {0};
    *y = (Family){.n = n, .free = n, .degree = 1};
    for (size_t k = 0; k < n; k++) y->at[k] = m->x0[unknown[k]].m, y->along[k][k] = 1;
    while (y->free > 0) {
        size_t rank;
        if (!find_affine(m, q, unknown, y, r, row, &rank)) return NONE;
        if (rank == 0) return y->free == 1 ? solve_one(m, q, unknown, y, r) : OPEN;
        restrict_to(m->prime, row, rank, y);
    }
    values_at(m, q, unknown, y, none, r);
    for (size_t t = 0; t < conditions_to(m, q); t++)
        if (r[t].m != 0) return NONE;
    return FOUND;
}

/* ---- fractions of remainders ------------------------------------------------------------------------------------ */

/* Finds n/d = x modulo M with |n|, d below sqrt(M/2); returns 0 where there is none. */
static int reconstruct(mpz_srcptr x, mpz_srcptr M, mpq_t out)
{
    mpz_t bound, r[2], s[2], k;
    mpz_inits(bound, r[0], r[1], s[0], s[1], k, NULL);
    mpz_fdiv_q_2exp(bound, M, 1);
    mpz_sqrt(bound, bound);
    mpz_set(r[0], M);
    mpz_set(r[1], x);
    mpz_set_ui(s[1], 1);
    while (mpz_cmp(r[1], bound) > 0) {
        mpz_fdiv_q(k, r[0], r[1]);
        mpz_submul(r[0], k, r[1]);
        mpz_submul(s[0], k, s[1]);
        mpz_swap(r[0], r[1]);
        mpz_swap(s[0], s[1]);
    }
    int found = mpz_sgn(s[1]) != 0 && mpz_cmpabs(s[1], bound) <= 0;
    if (found) {
        mpq_set_num(out, r[1]);
        mpq_set_den(out, s[1]);
        mpq_canonicalize(out);
    }
    mpz_clears(bound, r[0], r[1], s[0], s[1], k, NULL);
    return found;
}

/* Takes x = r modulo p into x modulo M. */
static void remainder_add(mpz_t x, mpz_srcptr M, uint64_t r, uint64_t p)
{
    uint64_t have = mpz_fdiv_ui(x, p), by = (r + p - have) % p * invert(p, mpz_fdiv_ui(M, p)) % p;
    mpz_addmul_ui(x, M, by);
}

/* The remainders of a family's numbers: `at`, and of degree 2 `along` and g. */
enum { FAMILY_NUMBERS = 2 * U + 2 };
static size_t family_numbers(const Family *y, uint64_t *out)
{
    size_t n = 0;
    for (size_t k = 0; k < y->n; k++) out[n++] = y->at[k];
    for (size_t k = 0; k < y->n && y->degree == 2; k++) out[n++] = y->along[k][0];
    for (int i = 0; i < 2 && y->degree == 2; i++) out[n++] = y->g[i];
    return n;
}

/* Finds a family's numbers as fractions q (FAMILY_NUMBERS). */
static int lift(Model *m, int order, size_t n, const size_t *unknown, Number *r, Family *first,
                mpq_t *q)
{
    mpz_t M, x[FAMILY_NUMBERS], prime;
    uint64_t part[FAMILY_NUMBERS];
    RATIONAL(last);
    size_t numbers = 0;
    int status = NONE, same = 0;
    mpz_inits(M, prime, NULL);
    for (size_t i = 0; i < FAMILY_NUMBERS; i++) mpz_init(x[i]);
    mpz_set_ui(M, 1);
    mpz_set_ui(prime, 1UL << 30);
    for (int k = 0; k < PRIMES && same < 2; k++) {
        Family y;
        mpz_nextprime(prime, prime);
        uint64_t p = mpz_get_ui(prime);
        set_prime(m, p);
        status = solve(m, order, n, unknown, r, &y);
        if (k == 0) *first = y;
        if (status == FOUND && y.degree != first->degree) status = NONE;
        if (status != FOUND) break;
        numbers = family_numbers(&y, part);
        for (size_t i = 0; i < numbers; i++) remainder_add(x[i], M, part[i], p);
        mpz_mul_ui(M, M, p);
        same += k > 0;
        for (size_t i = 0; i < numbers; i++) {
            int found = reconstruct(x[i], M, last);
            if (!found || !mpq_equal(last, q[i])) same = 0;
            if (found) mpq_set(q[i], last);
        }
        tick();
    }
    for (size_t i = 0; i < FAMILY_NUMBERS; i++) mpz_clear(x[i]);
    mpz_clears(M, prime, NULL);
    return status == FOUND && same < 2 ? NONE : status;
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

void repair_free(Repair *r)
{
    for (size_t i = 0; i < r->candidates; i++)
        for (size_t k = 0; k < r->candidate[i].unknowns; k++) mpq_clear(r->candidate[i].value[k]);
    memory_free_all(r->candidate, r->name, r->seen);
    coefficients_free(&r->coefficients);
    *r = (Repair){0};
}

static void drop_candidates(Repair *r)
{
    for (size_t i = 0; i < r->candidates; i++)
        for (size_t k = 0; k < r->candidate[i].unknowns; k++) mpq_clear(r->candidate[i].value[k]);
    r->candidates = 0;
}

/* Adds the candidate in which coefficients have the values v. */
static int add_candidate(Repair *r, size_t n, const size_t *unknown, mpq_t *v, double within)
{
    RepairCandidate c = {.unknowns = n, .within = within};
    if (memory_more(&r->candidate, r->candidates, sizeof *r->candidate) != 0) return ERR_MEMORY;
    for (size_t k = 0; k < n; k++) {
        const Coefficient *x = &r->coefficients.list[unknown[k]];
        c.coefficient[k] = unknown[k];
        coefficient_misprint(x->asked ? "?" : x->word, v[k], within, &c.misprint[k]);
        c.distance += x->asked ? 0 : c.misprint[k].distance;
        mpq_init(c.value[k]);
        mpq_set(c.value[k], v[k]);
    }
    r->candidate[r->candidates++] = c;
    return 0;
}

/* Adds both roots of a family of degree 2 where they are rational: q is at, along, g. */
static int add_roots(Repair *r, const Family *y, const size_t *unknown, mpq_t *q)
{
    size_t n = y->n;
    mpq_srcptr g0 = q[2 * n], g1 = q[2 * n + 1];
    RATIONALS(root, s);
    SCOPED(rationals_drop) mpq_t *v = rationals_new(n);
    if (!v) return ERR_MEMORY;
    mpq_mul(root, g1, g1); /* g1^2 / 4 - g0 */
    rational_divide(root, 4);
    mpq_sub(root, root, g0);
    int square = mpz_perfect_square_p(mpq_numref(root)) && mpz_perfect_square_p(mpq_denref(root));
    if (mpq_sgn(root) < 0 || !square) return 0;
    mpz_sqrt(mpq_numref(root), mpq_numref(root));
    mpz_sqrt(mpq_denref(root), mpq_denref(root));
    for (int sign = 0; sign < 2; sign++) {
        mpq_set(s, g1);
        rational_divide(s, 2);
        mpq_neg(s, s);
        (sign ? mpq_add : mpq_sub)(s, s, root);
        for (size_t k = 0; k < n; k++) {
            mpq_mul(v[k], q[n + k], s);
            mpq_add(v[k], v[k], q[k]);
        }
        TRY(add_candidate(r, n, unknown, v, 0));
    }
    return 0;
}

/* The search: a model, room for its conditions, what is found. */
typedef struct {
    Model m;
    Repair *r;
    Number *room; /* (lists, m.most) */
    size_t rooms;
    int exact, first_fails; /* first_fails: the lowest order at which a condition fails */
} Doctor;

static const uint64_t a_prime = 2147483647;

static int top(const Model *m)
{
    return m->order > m->hat ? m->order : m->hat;
}

static int make_room(Doctor *d)
{
    size_t points = (size_t)points_to(&d->m, top(&d->m)), lists = points > U + 4 ? points : U + 4;
    if (lists * d->m.most <= d->rooms) return 0;
    memory_free(d->room);
    d->rooms = lists * d->m.most;
    d->room = memory_new(d->rooms, sizeof *d->room);
    return d->room ? 0 : ERR_MEMORY;
}

/* Returns the order to which conditions part candidates first: cheap, and few pass. */
static int filter_order(const Doctor *d)
{
    int q = d->first_fails + 1 > 4 ? d->first_fails + 1 : 4;
    return q < top(&d->m) ? q : top(&d->m);
}

static int try_exact(Doctor *d, size_t n, const size_t *unknown, int *status)
{
    Family y;
    int q = filter_order(d), all = top(&d->m);
    set_prime(&d->m, a_prime);
    *status = solve(&d->m, q, n, unknown, d->room, &y);
    if (*status != NONE && q < all) *status = solve(&d->m, all, n, unknown, d->room, &y);
    if (*status != FOUND) return 0;
    SCOPED(rationals_drop) mpq_t *v = rationals_new(FAMILY_NUMBERS);
    if (!v) return ERR_MEMORY;
    *status = lift(&d->m, all, n, unknown, d->room, &y, v);
    if (*status != FOUND) return 0;
    return y.degree == 2 ? add_roots(d->r, &y, unknown, v) : add_candidate(d->r, n, unknown, v, 0);
}

/* ---- decimals ----------------------------------------------------------------------------------------------------- */

static void real_values(Model *m, int q, size_t k, long double x, Number *r)
{
    set_values(m, 1, &k, &(Number){.r = x});
    evaluate(m, q, 0, r);
}

/* Computes up to what |d| each condition counts as met near x. */
static void set_tolerance(Doctor *d, int q, size_t k, long double x)
{
    Model *m = &d->m;
    set_values(m, 1, &k, &(Number){.r = x});
    evaluate(m, q, 1, m->tolerance);
    for (size_t t = 0; t < conditions_to(m, q); t++)
        m->tolerance[t].r = (m->tolerance[t].r + 1) * (long double)(slack * m->unit);
}

static long double worst(const Model *m, int q, const Number *r)
{
    long double most = 0;
    for (size_t t = 0; t < conditions_to(m, q); t++)
        most = fmaxl(most, fabsl(r[t].r) / m->tolerance[t].r);
    return isnan(most) ? INFINITY : most;
}

/* Refines x by Gauss's and Newton's method; *within out: how well it is known. Returns whether all conditions are met. */
static int refine(Doctor *d, int q, size_t k, long double *x, double *within)
{
    Model *m = &d->m;
    size_t n = conditions_to(m, q);
    Number *f = d->room, *g = d->room + n;
    long double steep = 0;
    for (int turn = 0; turn < 5; turn++) {
        long double step = ldexpl(fmaxl(1, fabsl(*x)), -24), down = 0;
        set_tolerance(d, q, k, *x);
        real_values(m, q, k, *x, f);
        real_values(m, q, k, *x + step, g);
        steep = 0;
        for (size_t t = 0; t < n; t++) {
            long double slope = (g[t].r - f[t].r) / step / m->tolerance[t].r;
            steep += slope * slope;
            down += slope * f[t].r / m->tolerance[t].r;
        }
        if (!(steep > 0) || !isfinite(down)) return 0;
        *x -= down / steep;
    }
    real_values(m, q, k, *x, f);
    *within = (double)(1 / sqrtl(steep));
    return worst(m, q, f) <= 1;
}

/* Finds the real roots of the condition t in x_k from its values at points about x: root (DEGREE_MOST). */
static int real_roots(Doctor *d, int q, size_t k, size_t t, long double x, long double *root)
{
    Model *m = &d->m;
    size_t n = conditions_to(m, q);
    int points = points_to(m, q), count = 0;
    long double step = fmaxl(0.25L, fabsl(x) / 2), c[DEGREE_MOST + 1], y[DEGREE_MOST + 1];
    for (int i = 0; i < points; i++) {
        real_values(m, q, k, x + step * (long double)(i - points / 2), d->room + 2 * n);
        y[i] = d->room[2 * n + t].r;
    }
    for (int j = 1; j < points; j++)
        for (int i = points - 1; i >= j; i--) y[i] = (y[i] - y[i - 1]) / (long double)j;
    for (int i = 0; i < points; i++) c[i] = 0;
    for (int j = points - 1; j >= 0; j--)
        for (int i = points - 1; i >= 0; i--) c[i] = (i ? c[i - 1] : y[j]) - (long double)j * c[i];
    long double most = 0;
    for (int i = 0; i < points; i++) most = fmaxl(most, fabsl(c[i]));
    SCOPED(poly_free) Poly poly = {0};
    double z[2 * (DEGREE_MOST + 1)];
    if (poly_new(&poly, points) != 0) return 0;
    for (int i = 0; i < points; i++)
        if (isfinite(c[i]) && fabsl(c[i]) > most * 1e-14L)
            mpq_set_d(poly.c[i], (double)c[i]), poly.degree = i;
    if (poly.degree < 1 || poly_zeros(&poly, z) != 0) return 0;
    for (int i = 0; i < poly.degree; i++)
        if (fabs(z[2 * i + 1]) < 1e-4 * (1 + fabs(z[2 * i])))
            root[count++] = x + step * ((long double)z[2 * i] - points / 2);
    return count;
}

/* Returns the condition that moves most as x_k does, beside its tolerance, an affine one if there is one; *slope = 0
 * where it is not affine. SIZE_MAX: none moves. */
static size_t steepest(Doctor *d, int q, size_t k, long double x, long double *slope)
{
    Model *m = &d->m;
    size_t n = conditions_to(m, q), best = SIZE_MAX;
    long double step = fmaxl(0.5L, fabsl(x) / 4), most = 0;
    Number *f = d->room;
    *slope = 0;
    for (int i = 0; i < 3; i++) real_values(m, q, k, x + step * (long double)i, f + (size_t)i * n);
    for (size_t t = 0; t < n; t++) {
        long double rise = f[n + t].r - f[t].r, bend = f[2 * n + t].r - f[n + t].r - rise;
        long double weight = fabsl(rise) / m->tolerance[t].r;
        int affine = fabsl(bend) <= 1e-12L * fabsl(rise);
        if (weight < 1e3L || (*slope != 0 && !affine) ||
            (affine == (*slope != 0) && weight <= most))
            continue;
        best = t;
        most = weight;
        *slope = affine ? rise / step : 0;
    }
    return best;
}

static int try_real(Doctor *d, size_t k, int *status)
{
    Model *m = &d->m;
    int q = filter_order(d), all = top(m), roots = 1;
    long double x = d->m.x0[k].r, slope, root[DEGREE_MOST + 1], taken[DEGREE_MOST + 1];
    *status = OPEN;
    set_tolerance(d, all, k, x);
    size_t t = steepest(d, q, k, x, &slope);
    if (t == SIZE_MAX && q < all) t = steepest(d, q = all, k, x, &slope);
    if (t == SIZE_MAX) return 0;
    if (slope != 0)
        root[0] = x - d->room[t].r / slope;
    else
        roots = real_roots(d, q, k, t, x, root);
    *status = NONE;
    for (int i = 0, found = 0; i < roots; i++) {
        double within = 0;
        int ok = refine(d, q, k, &root[i], &within) &&
                 (q == all || refine(d, all, k, &root[i], &within));
        for (int j = 0; j < found; j++) ok &= fabsl(root[i] - taken[j]) > 4 * within;
        if (!ok) continue;
        taken[found++] = root[i];
        RATIONALS(v, low);
        mpq_set_d(v, (double)root[i]);
        mpq_set_d(low, (double)(root[i] - (long double)(double)root[i]));
        mpq_add(v, v, low);
        *status = FOUND;
        TRY(add_candidate(d->r, 1, &k, (mpq_t *)v, 8 * within));
    }
    return 0;
}

/* ---- the search ---------------------------------------------------------------------------------------------------- */

/* Returns the order of the condition at place t in the list to order q, 0 for a node. */
static int order_of(const Model *m, int q, size_t t)
{
    size_t own = trees_to(m, m->order, q), hat = trees_to(m, m->hat, q);
    return t < own + hat ? length_of(m, t < own ? t : t - own) : 0;
}

/* Counts the conditions that fail, with the values v of a candidate (NULL: as written). */
static size_t count_failing(Doctor *d, const RepairCandidate *c, int *lowest)
{
    Model *m = &d->m;
    Number x[U];
    int q = top(m);
    size_t failing = 0, zero = 0, n = c ? c->unknowns : 0;
    set_prime(m, d->exact ? a_prime : 0);
    if (!d->exact)
        set_tolerance(d, q, c ? c->coefficient[0] : zero,
                      c ? long_double(c->value[0]) : m->x0[0].r);
    for (size_t k = 0; k < n; k++) x[k] = rational(m->prime, c->value[k]);
    set_values(m, n, c ? c->coefficient : NULL, x);
    evaluate(m, q, 0, d->room);
    for (size_t t = conditions_to(m, q); t-- > 0;) {
        int fails = d->exact ? d->room[t].m != 0 : !(fabsl(d->room[t].r) <= m->tolerance[t].r);
        int order = order_of(m, q, t);
        if (fails && lowest && (*lowest == 0 || order < *lowest)) *lowest = order;
        failing += fails != 0;
    }
    return failing;
}

/* Looks for one coefficient. */
static int find_single(Doctor *d)
{
    drop_candidates(d->r);
    for (size_t k = 0; k < d->m.c->count; k++) {
        int status;
        if (d->m.outside[k]) continue;
        set_prime(&d->m, d->exact ? a_prime : 0);
        TRY(d->exact ? try_exact(d, 1, &k, &status) : try_real(d, k, &status));
        tick();
    }
    return 0;
}

static int find_pairs(Doctor *d)
{
    size_t n = d->m.c->count;
    if (!d->exact || n * (n - 1) / 2 > PAIRS_MOST) return 0;
    d->r->pairs = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            int status;
            if (d->m.outside[i] || d->m.outside[k]) continue;
            TRY(try_exact(d, 2, (size_t[]){i, k}, &status));
            tick();
        }
    return 0;
}

/* Finds out which of the coefficients that were not seen before a condition to order q depends on. */
static void see(Doctor *d, int q)
{
    Model *m = &d->m;
    size_t n = conditions_to(m, q);
    set_prime(m, d->exact ? a_prime : 0);
    if (!d->exact) set_tolerance(d, q, 0, m->x0[0].r);
    set_values(m, 0, NULL, NULL);
    evaluate(m, q, 0, d->room);
    for (size_t k = 0; k < m->c->count; k++) {
        for (uint64_t i = 1; i < 3 && d->r->seen[k] == 0; i++) {
            Number by = d->exact ? whole(a_prime, random_below(61, 2, i, a_prime))
                                 : (Number){.r = 0.37L * (long double)i};
            Number x = add(m->prime, m->x0[k], by), *f = d->room, *g = d->room + n;
            set_values(m, 1, &k, &x);
            evaluate(m, q, 0, g);
            for (size_t t = 0; t < n; t++)
                if (d->exact ? g[t].m != f[t].m : fabsl(g[t].r - f[t].r) > m->tolerance[t].r)
                    d->r->seen[k] = 1;
        }
        tick();
    }
}

/* Finds the coefficients on which no condition depends. */
static void find_unseen(Doctor *d)
{
    for (size_t k = 0; k < d->m.c->count; k++) d->r->seen[k] = (char)(d->m.outside[k] ? 2 : 0);
    for (int q = 4; q < top(&d->m); q *= 2) see(d, q);
    see(d, top(&d->m));
}

static int compare_candidates(const void *a, const void *b)
{
    const RepairCandidate *s = a, *t = b;
    if (s->explained != t->explained) return s->explained > t->explained ? -1 : 1;
    if (s->distance != t->distance) return s->distance < t->distance ? -1 : 1;
    return s->coefficient[0] < t->coefficient[0] ? -1 : s->coefficient[0] > t->coefficient[0];
}

static void rank(Doctor *d)
{
    Repair *r = d->r;
    for (size_t i = 0; i < r->candidates; i++)
        r->candidate[i].explained = r->failing - count_failing(d, &r->candidate[i], NULL);
    if (r->candidates) qsort(r->candidate, r->candidates, sizeof *r->candidate, compare_candidates);
}

/* Sets the orders, and counts what fails. */
static int look_at(Doctor *d, int order, int hat)
{
    TRY(set_order(&d->m, order, hat));
    TRY(make_room(d));
    d->r->order = order;
    d->r->embedded = hat;
    d->r->conditions = conditions_to(&d->m, top(&d->m));
    d->first_fails = 0;
    d->r->failing = count_failing(d, NULL, &d->first_fails);
    return 0;
}

/* Finds the values of the coefficients that are asked for. */
static int find_asked(Doctor *d, int *status)
{
    size_t n = 0, unknown[U];
    *status = NONE;
    for (size_t k = 0; k < d->m.c->count; k++) {
        if (!d->m.c->list[k].asked) continue;
        if (n == U) return error_set(ERR_INPUT, "expected at most %d coefficients '?'", U);
        unknown[n++] = k;
    }
    d->r->asked = n;
    if (!d->exact && n > 1)
        return error_set(
            ERR_INPUT, "expected one coefficient '?' of a scheme with decimals; there are %zu", n);
    d->first_fails = top(&d->m);
    drop_candidates(d->r);
    set_prime(&d->m, d->exact ? a_prime : 0);
    return d->exact ? try_exact(d, n, unknown, status) : try_real(d, unknown[0], status);
}

/* ---- names, decimals, orders ------------------------------------------------------------------------------------------ */

/* Names coefficient k by the entries that it is in. */
static void name_coefficient(const Doctor *d, const Source *s, size_t k, char name[REPAIR_NAME])
{
    const Model *m = &d->m;
    const Entry *e = NULL;
    size_t line = 1, entries = 0, at = 0, row = 0;
    for (size_t i = 0; i < m->slopes; i++) {
        if (m->slope[i].coefficient != k) continue;
        const Entry *next = &m->entry[m->slope[i].entry];
        int again = e && !m->letters && m->slope[i].entry < m->entries && at < m->entries;
        again = again && m->stage[next->source] == m->stage[e->source];
        /* F and G of a stage H; b in the error of a tableau */
        if (again && (next->row == e->row || (e->row == m->points && next->row > e->row))) continue;
        e = &m->entry[at = m->slope[i].entry];
        entries++;
    }
    for (size_t i = 0; i < m->c->list[k].at; i++) line += s->text[i] == '\n';
    while (e && row < m->sources && m->row_of[row] != e->row) row++;
    int i = row < m->sources ? m->stage[row] + 1 : 0;
    int j = e && m->sources ? m->stage[e->source] + 1 : 0;
    if (entries != 1)
        snprintf(name, REPAIR_NAME, "line %zu", line);
    else if (m->letters)
        snprintf(name, REPAIR_NAME, "flow %zu", at + 1);
    else if (at >= m->entries + m->nodes)
        snprintf(name, REPAIR_NAME, "factor of k%d", i);
    else if (at >= m->entries)
        snprintf(name, REPAIR_NAME, "c%d", i);
    else if (e->row == m->points)
        snprintf(name, REPAIR_NAME, "b%d", j);
    else if (e->row > m->points)
        snprintf(name, REPAIR_NAME, "%s%d",
                 butcher_is(s->text, s->bytes) ? "bhat" : "error weight ", j);
    else
        snprintf(name, REPAIR_NAME, i > 9 || j > 9 ? "a%d,%d" : "a%d%d", i, j);
}

/* Returns the last digit of the decimals: the coarsest of 9 places and more, else the finest. */
static double last_digit(const Coefficients *c)
{
    double coarse = 0, fine = 1;
    for (size_t k = 0; k < c->count; k++) {
        const char *point = strchr(c->list[k].word, '.');
        size_t places = point ? strspn(point + 1, "0123456789") : 0;
        const char *e = point ? strpbrk(point, "eE") : NULL;
        double digit = pow(10, (e ? atoi(e + 1) : 0) - (double)places);
        if (!places) continue;
        fine = fmin(fine, digit);
        if (places >= 9) coarse = fmax(coarse, digit);
    }
    double unit = coarse > 0 ? coarse : fine < 1 ? fine : 1e-16;
    return fmax(unit, (double)LDBL_EPSILON);
}

/* Returns the highest order of conditions. */
static int most_order(const Model *m)
{
    int most = m->one ? TREE_MAX_1 - 1 : m->colours > 2 ? TREE_MAX_3 : TREE_MAX - 1;
    return m->functions && most > TREE_MAX ? TREE_MAX : most;
}

/* Looks for the highest order to which one coefficient, or those that are asked for, can be set. One that meets a single
 * condition more is no evidence: of implicit Euler's method, of order 1, it would make the midpoint rule. */
static int climb(Doctor *d, int from, int hat, int asked)
{
    int best = 0, code = 0;
    for (int q = from; q <= REPAIR_CLIMB && q <= most_order(&d->m) && code == 0; q++) {
        int status = NONE;
        TRY(look_at(d, q, hat < q ? hat : q));
        if (asked)
            TRY(find_asked(d, &status));
        else if (d->r->failing)
            TRY(find_single(d));
        if (!asked && !d->r->failing) continue;
        int evidence = asked || d->r->failing > 1 || d->first_fails == 0;
        if (d->r->candidates)
            best = evidence ? q : best;
        else if (status != OPEN)
            break;
    }
    if (!best) best = from > 1 ? from - 1 : 1;
    drop_candidates(d->r);
    return look_at(d, best, hat < best ? hat : best);
}

/* Searches at the orders that are set; where `lower` is set and nothing is found, two coefficients and then lower orders. */
static int search(Doctor *d, int lower)
{
    Repair *r = d->r;
    int order = r->order, hat = r->embedded, now = d->first_fails > 0 ? d->first_fails - 1 : 0;
    if (!r->failing) return 0;
    TRY(find_single(d));
    if (!r->candidates && lower) TRY(find_pairs(d));
    for (int q = order - 1; q > now && !r->candidates && lower; q--) {
        TRY(look_at(d, q, hat < q ? hat : q));
        if (r->failing) TRY(find_single(d));
        r->reached = r->candidates ? q : 0;
    }
    if (r->order != order) TRY(look_at(d, order, hat));
    return 0;
}

/* Chooses the orders, then searches. */
static int choose(Doctor *d, const Theory *now, const Embedded *embedded, int order, int claimed,
                  int hat)
{
    Repair *r = d->r;
    int pair = embedded->order >= 0, status = NONE, guessed = 0;
    r->how = order ? REPAIR_ASKED : claimed ? REPAIR_CLAIMED : REPAIR_HIGHEST;
    if (!order) order = claimed;
    if (!pair) hat = 0;
    if (pair && !hat && order > 1) {
        int lower = now->order >= order && embedded->order >= 1 && embedded->order >= order - 2;
        guessed = !lower;
        hat = lower ? embedded->order : order - 1; /* 5(3): as it is, where nothing says 5(4) */
        if (hat > order) hat = order;
    }
    for (size_t k = 0; k < d->m.c->count; k++) r->asked += d->m.c->list[k].asked != 0;
    if (!order) {
        TRY(climb(d, r->asked ? 1 : now->order + 1,
                  pair ? embedded->order > 0 ? embedded->order : 0 : 0, r->asked > 0));
        order = r->order;
        hat = r->embedded;
    }
    TRY(look_at(d, order, hat));
    if (r->asked) {
        TRY(find_asked(d, &status));
        r->undetermined = status == OPEN;
    } else {
        TRY(search(d, !guessed && r->how != REPAIR_HIGHEST));
        if (guessed && !r->candidates &&
            r->failing) { /* the embedded order may be lower by design */
            TRY(look_at(d, order, embedded->order < hat ? embedded->order : hat));
            TRY(search(d, 1));
        }
    }
    rank(d);
    find_unseen(d);
    return 0;
}

static void doctor_free(Doctor *d)
{
    model_free(&d->m);
    memory_free(d->room);
}

static int find(Doctor *d, Source *s, const Table *written, int order)
{
    Repair *r = d->r;
    Theory now;
    Embedded embedded;
    int claimed, hat;
    coefficients_claims(s->text, s->bytes, &claimed, &hat);
    TRY(check_kind(table_whole(written)));
    TRY(theory_search(written, REPAIR_CLIMB, &now));
    TRY(theory_embedded(written, REPAIR_CLIMB, &embedded));
    r->now = now.order;
    TRY(open_model(&d->m, s, written));
    int most = most_order(&d->m);
    if (order > most || claimed > most || hat > most)
        return error_set(ERR_INPUT, "expected an order of 1 to %d to repair", most);
    for (size_t k = 0; k < r->coefficients.count; k++) name_coefficient(d, s, k, r->name[k]);
    d->exact = written->exact;
    d->m.unit = d->exact ? 1e-16 : last_digit(&r->coefficients);
    r->exact = d->exact;
    TRY(choose(d, &now, &embedded, order, claimed, hat));
    int found = !r->failing || (r->candidates && !r->reached);
    if (!d->exact || r->asked || found || !theory_may_round(written)) return 0;
    r->exact = d->exact = 0; /* the fractions may be roundings */
    r->reached = r->pairs = 0;
    return choose(d, &now, &embedded, order, claimed, hat);
}

int repair_find(const char *file, const char *text, size_t bytes, int order, Repair *out)
{
    *out = (Repair){0};
    TABLE(written);
    SCOPED(doctor_free) Doctor d = {.r = out};
    TRY(coefficients_find(text, bytes, &out->coefficients));
    const Coefficients *c = d.m.c = &out->coefficients;
    SCOPED(memory_drop)
    const char **value = memory_new(c->count + 1, sizeof *value);
    SCOPED(memory_drop)
    char(*word)[MISPRINT_WORD] = memory_new(c->count + 1, sizeof *word);
    out->name = memory_new(c->count + 1, sizeof *out->name);
    out->seen = memory_new(c->count + 1, 1);
    int code = value && word && out->name && out->seen ? 0 : ERR_MEMORY;
    for (size_t k = 0; code == 0 && k < c->count; k++)
        if (c->list[k].asked) value[k] = "1";
    Source s = {file, text, bytes, value, word};
    if (code == 0) code = read_table(file, c, text, bytes, value, &written);
    if (code == 0) code = find(&d, &s, written, order);
    if (code != 0) repair_free(out);
    return code;
}

int repair_written(const Repair *r, size_t candidate, const char *text, size_t bytes, char **out,
                   size_t *count)
{
    const RepairCandidate *c = &r->candidate[candidate];
    SCOPED(memory_drop)
    const char **value = memory_new(r->coefficients.count + 1, sizeof *value);
    if (!value) return ERR_MEMORY;
    for (size_t k = 0; k < c->unknowns; k++) value[c->coefficient[k]] = c->misprint[k].text;
    return coefficients_written(&r->coefficients, text, bytes, value, out, count);
}

int repair_unique(const Repair *r)
{
    if (r->failing == 0 && r->asked == 0) return 1;
    if (r->candidates == 0 || r->candidate[0].explained < r->failing) return 0;
    return r->candidates == 1 || compare_candidates(&r->candidate[0], &r->candidate[1]) == 0
               ? r->candidates == 1
               : r->candidate[0].distance == 1 && r->candidate[1].distance > 1;
}
