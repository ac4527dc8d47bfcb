/* conditions.c: the order conditions of a scheme whose stages are all H, in trees of one colour.
 *
 * The stages are those of a Runge-Kutta method: slopes of j steps ago are stages too, which stand j steps behind. For
 * every tree t, with the product over its children c,
 *
 *     u_i(t) = prod psi_i(c),    psi_i(c) = sum_k a_ik u_k(c) + sum_j w_ij E_-j(c),    E_-j(t) = (-j)^|t| / gamma(t),
 *     d(t) = sum_i b_i u_i(t) + sum_j v_j E_-j(t) - 1/gamma(t),
 *
 * w and v the weights of y[-j], and psi_i of a clock is the node (Hairer, Norsett, Wanner 1993, section II.2). A tree
 * with one child c takes b A in place of psi(c), so the largest trees need no psi.
 *
 * Numbers are floats of PRECISION bits. A condition is met exactly where its defect is below 1e-100: coefficients that are
 * roundings would have to be right to 100 digits.
 *
 * In more colours a defect is that of its tree's shape. So the sum of squares over all colourings t of a shape is d^2
 * W_1, with W_k = sum over t of sigma(t)^(-2k). For m equal children c, W_k has the factor
 *
 *     [x^m] prod over colourings s of c of sum_n (x sigma(s)^(-2k))^n / n!^(2k) = [x^m] exp(sum_j l_j W_kj(c) x^j),
 *     sum_j l_j x^j = log sum_n x^n / n!^(2k). */
#include <gmp.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/theory.h"

enum { PRECISION = 512, STAGES = 1024, HISTORY = 256 };
static const double zero = 1e-100;

/* ---- numbers ---------------------------------------------------------------------------------------- */

static mpf_t *numbers_new(size_t n)
{
    mpf_t *x = memory_new(n, sizeof *x);
    for (size_t i = 0; x && i < n; i++) mpf_init2(x[i], PRECISION);
    return x;
}

static void numbers_free(mpf_t *x, size_t n)
{
    for (size_t i = 0; x && i < n; i++) mpf_clear(x[i]);
    memory_free(x);
}

/* ---- a scheme as a tableau ------------------------------------------------------------------------------ */

/* c u[at]: at is a stage, or behind the stages E_-(at - stages + 1). */
typedef struct {
    size_t at;
    mpf_t c;
} Weight;

typedef struct {
    size_t count, own; /* own: those of stages stand first */
    Weight *w;
} Weights;

struct Conditions {
    const Table *t; /* borrowed */
    Forest *f;
    int estimate;         /* the update estimates an error: its series is compared with 0 */
    size_t stages, depth; /* depth: the largest j of E_-j */
    int (*stage)[2];      /* (stages): evaluation, steps ago */
    mpf_t *node;          /* (stages) */
    Weights *row;         /* (stages + 2): psi of every stage, the update, the update of psi */
    mpf_t *u;             /* (stages + depth) */
    mpf_t **psi;          /* (forest->count) each NULL or (stages) */
    size_t room;          /* of psi */
    mpf_t *d;             /* defects of the order below */
    size_t defects;
    int order;
    mpf_t x; /* scratch */
};

static const Row *row_of(const Conditions *c, size_t i)
{
    return i < c->stages ? &eval_point(c->t, c->stage[i][0])->row : &c->t->update;
}

/* Finds the stage, or adds it; -1: too many. A term that is no slope of F has the place of no stage, -2. */
static int find_stage(Conditions *c, const Term *term, int ago)
{
    size_t i = 0;
    ago += term->past;
    if (term->eval != TABLE_STATE && c->t->eval[term->eval].op != OP_F) return -2;
    if (ago > HISTORY) return -1;
    if (term->eval == TABLE_STATE) {
        if ((size_t)ago > c->depth) c->depth = (size_t)ago;
        return -2;
    }
    while (i < c->stages && !(c->stage[i][0] == term->eval && c->stage[i][1] == ago)) i++;
    if (i == STAGES) return -1;
    if (i == c->stages) {
        c->stage[c->stages][0] = term->eval;
        c->stage[c->stages++][1] = ago;
    }
    return (int)i;
}

/* Collects the stages that the update reads, and those which these read. Returns whether they are finitely many. */
static int find_stages(Conditions *c)
{
    const Row *r = &c->t->update;
    int finite = 1;
    for (size_t k = 0; k < r->terms; k++) finite &= find_stage(c, &r->term[k], 0) != -1;
    for (size_t i = 0; finite && i < c->stages; i++) {
        r = row_of(c, i);
        for (size_t k = 0; finite && k < r->terms; k++)
            finite = find_stage(c, &r->term[k], c->stage[i][1]) != -1;
    }
    return finite;
}

/* Writes the weights of a dense row (stages + depth) that are not 0. */
static int set_weights(const Conditions *c, mpq_t *dense, Weights *out)
{
    size_t n = c->stages + c->depth;
    if (!(out->w = memory_new(n, sizeof *out->w))) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        if (mpq_sgn(dense[i]) == 0) continue;
        Weight *w = &out->w[out->count++];
        out->own += i < c->stages;
        w->at = i;
        mpf_init2(w->c, PRECISION);
        mpf_set_q(w->c, dense[i]);
    }
    return 0;
}

static void add_row(Conditions *c, size_t i, mpq_t *dense)
{
    const Row *r = row_of(c, i);
    int ago = i < c->stages ? c->stage[i][1] : 0;
    for (size_t k = 0; k < r->terms; k++) {
        const Term *term = &r->term[k];
        int at = find_stage(c, term, ago);
        if (term->eval == TABLE_STATE && ago + term->past > 0)
            at = (int)c->stages + ago + term->past - 1;
        if (at >= 0) mpq_add(dense[at], dense[at], term->c);
    }
}

/* Writes the rows: A, b, and b A over the stages. */
static int set_rows(Conditions *c)
{
    size_t n = c->stages, wide = n + c->depth;
    SCOPED(rationals_drop) mpq_t *dense = rationals_new((n + 2) * wide);
    if (!dense) return ERR_MEMORY;
    mpq_t *last = dense + (n + 1) * wide;
    for (size_t i = 0; i <= n; i++) add_row(c, i, dense + i * wide);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < wide; k++)
            rational_add(last[k], dense[n * wide + i], dense[i * wide + k]);
    for (size_t i = 0; i < n + 2; i++) TRY(set_weights(c, dense + i * wide, &c->row[i]));
    return 0;
}

static void set_nodes(Conditions *c)
{
    RATIONALS(q, ago);
    for (size_t i = 0; i < c->stages; i++) {
        table_time(c->t, eval_point(c->t, c->stage[i][0]), OP_F, q);
        mpq_set_si(ago, c->stage[i][1], 1);
        mpq_sub(q, q, ago);
        mpf_set_q(c->node[i], q);
    }
}

static int open_tableau(Conditions *c)
{
    size_t n = c->stages;
    if (!(c->row = memory_new(n + 2, sizeof *c->row)) || !(c->node = numbers_new(n)) ||
        !(c->u = numbers_new(n + c->depth)))
        return ERR_MEMORY;
    set_nodes(c);
    return set_rows(c);
}

int conditions_new(const Table *t, int timed, int estimate, Conditions **out)
{
    *out = NULL;
    if (!series_one_colour(t) || t->special || table_phi(t)) return 0;
    SCOPED(conditions_drop) Conditions *c = memory_new(1, sizeof *c);
    if (!c) return ERR_MEMORY;
    *c = (Conditions){.t = t, .estimate = estimate, .stage = memory_new(STAGES, sizeof *c->stage)};
    mpf_init2(c->x, PRECISION);
    if (!c->stage) return ERR_MEMORY;
    TRY(forest_trees(1, 1, timed, &c->f));
    if (!find_stages(c)) return 0;
    TRY(open_tableau(c));
    *out = c;
    c = NULL;
    return 0;
}

void conditions_free(Conditions *c)
{
    if (!c) return;
    for (size_t i = 0; c->row && i < c->stages + 2; i++) {
        for (size_t k = 0; k < c->row[i].count; k++) mpf_clear(c->row[i].w[k].c);
        memory_free(c->row[i].w);
    }
    for (size_t i = 0; i < c->room; i++) numbers_free(c->psi[i], c->stages);
    numbers_free(c->node, c->stages);
    numbers_free(c->u, c->stages + c->depth);
    numbers_free(c->d, c->defects);
    mpf_clear(c->x);
    memory_free_all(c->row, c->psi, c->stage);
    forest_free(c->f);
    memory_free(c);
}

/* ---- weights of trees ------------------------------------------------------------------------------------- */

/* Adds the terms from .. to - 1 of a row of weights times u to sum. */
static void add_weights(Conditions *c, const Weights *r, size_t from, size_t to, mpf_t sum)
{
    for (size_t k = from; k < to; k++) {
        mpf_mul(c->x, r->w[k].c, c->u[r->w[k].at]);
        mpf_add(sum, sum, c->x);
    }
}

static void one_over_gamma(const Conditions *c, size_t tree, mpf_t out)
{
    mpf_set_ui(out, 1);
    mpf_div_ui(out, out, c->f->tree[tree].gamma);
}

/* Computes E_-j of a tree into u. */
static void set_pasts(Conditions *c, size_t tree)
{
    for (size_t j = 1; j <= c->depth; j++) {
        mpf_ptr u = c->u[c->stages + j - 1];
        one_over_gamma(c, tree, u);
        for (int k = 0; k < c->f->tree[tree].order; k++) mpf_mul_ui(u, u, j);
        if (c->f->tree[tree].order % 2) mpf_neg(u, u);
    }
}

/* Computes u of a tree. */
static void set_stages(Conditions *c, size_t tree)
{
    const Tree *t = &c->f->tree[tree];
    for (size_t i = 0; i < c->stages; i++) {
        mpf_ptr u = c->u[i];
        mpf_set_ui(u, 1);
        for (int k = 0; k < t->children; k++) {
            size_t child = (size_t)t->child[k];
            mpf_mul(u, u, tree_is_clock(c->f, child) ? c->node[i] : c->psi[child][i]);
        }
    }
    set_pasts(c, tree);
}

/* Computes psi for all trees up to an order. */
static int shape(Conditions *c, int order)
{
    size_t count = order < 1 ? 0 : c->f->first[order + 1];
    if (count <= c->room) return 0;
    mpf_t **grown = memory_grow(c->psi, c->room, count, sizeof *grown);
    if (!grown) return ERR_MEMORY;
    c->psi = grown;
    for (; c->room < count; c->room++) {
        if (tree_is_clock(c->f, c->room)) continue;
        mpf_t *psi = numbers_new(c->stages);
        if (!(c->psi[c->room] = psi)) return ERR_MEMORY;
        set_stages(c, c->room);
        for (size_t i = 0; i < c->stages; i++)
            add_weights(c, &c->row[i], 0, c->row[i].count, psi[i]);
        tick();
    }
    return 0;
}

/* Computes d of a tree. */
static void find_defect(Conditions *c, size_t tree, mpf_t d)
{
    const Tree *t = &c->f->tree[tree];
    const Weights *update = &c->row[c->stages];
    if (t->children == 1 && !tree_is_clock(c->f, (size_t)t->child[0])) {
        const Weights *through = &c->row[c->stages + 1];
        set_stages(c, (size_t)t->child[0]);
        add_weights(c, through, 0, through->count, d);
        set_pasts(c, tree);
    } else {
        set_stages(c, tree);
        add_weights(c, update, 0, update->own, d);
    }
    add_weights(c, update, update->own, update->count, d);
    if (c->estimate) return;
    one_over_gamma(c, tree, c->x);
    mpf_sub(d, d, c->x);
}

static void look_at(const Conditions *c, size_t tree, mpf_srcptr d, Level *out)
{
    double size = fabs(mpf_get_d(d)) / (double)c->f->tree[tree].sigma;
    out->exact &= size <= zero;
    out->largest = fmax(out->largest, size);
}

int conditions_at(Conditions *c, int order, Level *out)
{
    *out = (Level){.exact = 1};
    TRY(forest_grow(c->f, order));
    TRY(shape(c, order - 2));
    numbers_free(c->d, c->defects);
    c->order = order;
    size_t first = c->f->first[order];
    c->defects = c->f->first[order + 1] - first;
    if (!(c->d = numbers_new(c->defects))) return ERR_MEMORY;
    for (size_t i = 0; i < c->defects; i++) {
        if (tree_is_clock(c->f, first + i)) continue;
        find_defect(c, first + i, c->d[i]);
        look_at(c, first + i, c->d[i], out);
        tick();
    }
    return 0;
}

/* ---- norms ---------------------------------------------------------------------------------------------------- */

static void colourings(const Conditions *c, size_t tree, int k, mpq_t out);

/* Multiplies out by h_m of m equal children: with L_j = j l_j, e_n = 1/n!^(2k),
 * L_n = n e_n - sum over j < n of L_j e_(n-j),   h_n = 1/n sum over j <= n of L_j W_kj h_(n-j). */
static void equal_children(const Conditions *c, size_t child, int m, int k, mpq_t out)
{
    mpq_t list[3 * (TREE_MAX_1 + 1)], *e = list, *L = e + m + 1, *h = L + m + 1, W;
    mpq_init(W);
    for (int n = 0; n < 3 * (m + 1); n++) mpq_init(list[n]);
    mpq_set_ui(e[0], 1, 1);
    mpq_set_ui(h[0], 1, 1);
    for (int n = 1; n <= m; n++) {
        mpq_set(e[n], e[n - 1]);
        for (int i = 0; i < 2 * k; i++) rational_divide(e[n], (unsigned)n);
        mpq_set_ui(W, (unsigned)n, 1);
        mpq_mul(L[n], W, e[n]);
        for (int j = 1; j < n; j++) rational_subtract(L[n], L[j], e[n - j]);
    }
    for (int n = 1; n <= m; n++) { /* L_n becomes L_n W_kn */
        colourings(c, child, k * n, W);
        mpq_mul(L[n], L[n], W);
        for (int j = 1; j <= n; j++) rational_add(h[n], L[j], h[n - j]);
        rational_divide(h[n], (unsigned)n);
    }
    mpq_mul(out, out, h[m]);
    for (int n = 0; n < 3 * (m + 1); n++) mpq_clear(list[n]);
    mpq_clear(W);
}

/* Computes W_k of a tree. A clock has the colour of its parent. */
static void colourings(const Conditions *c, size_t tree, int k, mpq_t out)
{
    const Tree *t = &c->f->tree[tree];
    mpq_set_ui(out, tree_is_clock(c->f, tree) ? 1 : (unsigned)c->t->colours, 1);
    for (int i = 0, m; i < t->children; i += m) {
        for (m = 1; i + m < t->children && t->child[i + m] == t->child[i];) m++;
        equal_children(c, (size_t)t->child[i], m, k, out);
    }
}

/* Adds d^2 q to sum. */
static void add_square(Conditions *c, mpf_srcptr d, mpq_srcptr q, mpf_t sum)
{
    mpf_set_q(c->x, q);
    mpf_mul(c->x, c->x, d);
    mpf_mul(c->x, c->x, d);
    mpf_add(sum, sum, c->x);
}

static double nearest(mpf_t x, mpq_t q)
{
    mpq_set_f(q, x);
    return table_double(q);
}

void conditions_norms(Conditions *c, double *norm2, double *one_colour)
{
    mpf_t all, one;
    RATIONAL(q);
    mpf_init2(all, PRECISION);
    mpf_init2(one, PRECISION);
    for (size_t i = 0; i < c->defects; i++) {
        size_t tree = c->f->first[c->order] + i;
        if (mpf_sgn(c->d[i]) == 0) continue;
        colourings(c, tree, 1, q);
        add_square(c, c->d[i], q, all);
        mpq_set_ui(q, 1, c->f->tree[tree].sigma);
        mpq_mul(q, q, q);
        add_square(c, c->d[i], q, one);
        tick();
    }
    *norm2 = nearest(all, q);
    *one_colour = nearest(one, q);
    mpf_clears(all, one, NULL);
}
