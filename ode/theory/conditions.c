/* conditions.c: the order conditions of a scheme of stages or flows: its labels, its rows, and how far they are proved.
 *
 * Slopes of j steps ago are labels too, which stand j steps behind. Where all stages are H, trees have one colour, and a
 * label is a stage; else a label has the colour of its evaluation. For every tree t, with the product over its children c,
 *
 *     u_i(t) = [i has the colour of t's root] prod psi_i(c),    psi_i(c) = sum_k a_ik u_k(c) + sum_j w_ij E_-j(c),
 *     E_-j(t) = (-j)^|t| g(t),    g(t) = prod over the vertices of their colours' weights / gamma(t),
 *     d(t) = sum_i b_i u_i(t) + sum_j v_j E_-j(t) - g(t),
 *
 * w and v the weights of y[-j], and psi_i of a clock is the node (Hairer, Norsett, Wanner 1993, section II.2; Araujo, Murua,
 * Sanz-Serna 1997). An exact flow is a collocation method whose order, in the flow's one colour, is that of the trees.
 *
 * A condition is decided modulo primes above 2^60. Let L be a common denominator of all rows but the update, D of the update,
 * w of the colours' weights. Because gamma(t) divides n!, the numerator N = d(t) n! L^(n-1) D w^n is whole. With M at least
 * 1, the largest sum of a row's moduli, and j max(1, |weights|), it is below n! (L M)^(n-1) D w^n (sum |b| + 1): so N = 0
 * where it is 0 modulo primes whose product is twice that. Where as many primes would take too long, two are tried, and the
 * order is told, but not as proved. Decimals, and fractions that miss a condition, are taken in floats. */
#include <gmp.h>
#include <flint/fmpq.h>
#include <math.h>
#include <string.h>
#if __has_include(<flint/arb_hypgeom.h>)
#include <flint/arb_hypgeom.h>
#else
#include <arb_hypgeom.h>
#endif

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/conditions_inside.h"

enum { LABELS = 1024, HISTORY = 256, PRIME_BITS = 60, UNPROVED = 2 };
static const double work_most = 1.2e10; /* products of numbers for one order's proof */

struct Conditions {
    const Table *t; /* borrowed */
    Forest *f;
    int estimate;
    size_t labels, depth; /* of stages */
    int (*label)[2];      /* (labels): evaluation, steps ago */
    Method m;
    size_t primes;
    uint64_t *prime;
};

/* ---- labels ------------------------------------------------------------------------------------------------ */

/* Finds the label, or adds it; -1: too many. A term that is no slope, or not of the one colour, has no label, -2. */
static int find_label(Conditions *c, const Term *term, int ago)
{
    size_t i = 0;
    ago += term->past;
    if (term->eval != TABLE_STATE && c->f->colours == 1 && c->t->eval[term->eval].op != OP_F)
        return -2;
    if (ago > HISTORY) return -1;
    if (term->eval == TABLE_STATE) {
        if ((size_t)ago > c->depth) c->depth = (size_t)ago;
        return -2;
    }
    while (i < c->labels && !(c->label[i][0] == term->eval && c->label[i][1] == ago)) i++;
    if (i == LABELS) return -1;
    if (i == c->labels) {
        c->label[c->labels][0] = term->eval;
        c->label[c->labels++][1] = ago;
    }
    return (int)i;
}

/* Collects the slopes that the update reads, and those which these read. Returns whether they are finitely many. */
static int find_labels(Conditions *c)
{
    const Row *r = &c->t->update;
    int finite = 1;
    for (size_t k = 0; k < r->terms; k++) finite &= find_label(c, &r->term[k], 0) != -1;
    for (size_t i = 0; finite && i < c->labels; i++) {
        r = &eval_point(c->t, c->label[i][0])->row;
        for (size_t k = 0; finite && k < r->terms; k++)
            finite = find_label(c, &r->term[k], c->label[i][1]) != -1;
    }
    return finite;
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

static int method_new(const Conditions *c, size_t labels, size_t depth, size_t rows, Method *m)
{
    *m = (Method){.t = c->t,
                  .estimate = c->estimate,
                  .colours = c->f->colours,
                  .labels = labels,
                  .depth = depth,
                  .rows = rows,
                  .row_of = memory_new(labels, sizeof *m->row_of),
                  .node = rationals_new(labels),
                  .row = memory_new(rows, sizeof *m->row)};
    mpz_init_set_ui(m->divisor, 1);
    for (size_t r = 0; m->row && r < rows; r++) m->row[r].base = -1;
    return m->row_of && m->node && m->row ? 0 : ERR_MEMORY;
}

static void method_free(Method *m)
{
    if (!m->t) return;
    for (size_t r = 0; m->row && r < m->rows; r++) {
        for (size_t k = 0; k < m->row[r].count; k++) mpq_clear(m->row[r].w[k].c);
        memory_free(m->row[r].w);
        rationals_free(m->row[r].state);
    }
    rationals_free(m->node);
    mpz_clear(m->divisor);
    memory_free_all(m->row, m->row_of);
    m->t = NULL;
}

static int add_weight(LabelRow *r, size_t label, mpq_srcptr c)
{
    for (size_t k = 0; k < r->count; k++)
        if (r->w[k].label == label) {
            mpq_add(r->w[k].c, r->w[k].c, c);
            return 0;
        }
    if (mpq_sgn(c) == 0) return 0;
    TRY(memory_more(&r->w, r->count, sizeof *r->w));
    LabelWeight *w = &r->w[r->count++];
    w->label = label;
    mpq_init(w->c);
    mpq_set(w->c, c);
    return 0;
}

/* Writes where each of n labels goes, those of lower colours first. */
static void sort_labels(Method *m, size_t n, const int *colour, size_t *place)
{
    size_t at = 0;
    for (int c = 0; c < m->colours; c++) {
        m->first[c] = at;
        for (size_t i = 0; i < n; i++)
            if (colour[i] == c) place[i] = at++;
    }
    m->first[m->colours] = at;
}

/* ---- a scheme of stages ----------------------------------------------------------------------------------------- */

static int set_row(Conditions *c, const Row *from, int ago, const size_t *place, LabelRow *r)
{
    if (c->depth && !(r->state = rationals_new(c->depth))) return ERR_MEMORY;
    for (size_t k = 0; k < from->terms; k++) {
        const Term *term = &from->term[k];
        int at = find_label(c, term, ago), past = ago + term->past;
        if (at >= 0) TRY(add_weight(r, place[at], term->c));
        if (term->eval == TABLE_STATE && past > 0)
            mpq_add(r->state[past - 1], r->state[past - 1], term->c);
    }
    return 0;
}

/* Returns the first label that stands at the same point, as many steps ago: their argument is one. */
static size_t same_point(const Conditions *c, size_t i)
{
    size_t k = 0;
    while (eval_point(c->t, c->label[k][0]) != eval_point(c->t, c->label[i][0]) ||
           c->label[k][1] != c->label[i][1])
        k++;
    return k;
}

static int stages_method(Conditions *c, Method *m)
{
    SCOPED(memory_drop) int *colour = memory_new(c->labels, sizeof *colour);
    SCOPED(memory_drop) size_t *place = memory_new(c->labels, sizeof *place);
    RATIONAL(ago);
    TRY(method_new(c, c->labels, c->depth, c->labels + 1, m));
    if (!colour || !place) return ERR_MEMORY;
    for (size_t i = 0; i < c->labels; i++)
        colour[i] = c->f->colours == 1 ? 0 : c->t->eval[c->label[i][0]].op;
    sort_labels(m, c->labels, colour, place);
    for (size_t i = 0; i < c->labels; i++) {
        const Point *p = eval_point(c->t, c->label[i][0]);
        m->row_of[place[i]] = same_point(c, i);
        if (m->row_of[place[i]] == i) TRY(set_row(c, &p->row, c->label[i][1], place, &m->row[i]));
        table_time(c->t, p, c->t->eval[c->label[i][0]].op, m->node[place[i]]);
        mpq_set_si(ago, c->label[i][1], 1);
        mpq_sub(m->node[place[i]], m->node[place[i]], ago);
    }
    return set_row(c, &c->t->update, 0, place, &m->row[c->labels]);
}

/* ---- a splitting by exact flows ----------------------------------------------------------------------------------- */

/* Makes the nodes (s): of fractions midpoints, s odd, so that the method has order s + 1. Decimals are rounded anyway, and half
 * as many nodes do, Gauss's, the roots of Legendre's polynomial (order 2 s), to more digits than floats have. */
static void make_nodes(int exact, size_t s, mpq_t *node)
{
    enum { BITS = 400 };
    arb_t root;
    fmpq_t q;
    arb_init(root);
    fmpq_init(q);
    for (size_t k = 0; k < s; k++) {
        mpq_set_ui(node[k], 2 * k + 1, 2 * s);
        mpq_canonicalize(node[k]);
        if (exact) continue;
        arb_hypgeom_legendre_p_ui_root(root, NULL, s, k, BITS);
        arb_add_ui(root, root, 1, BITS);
        arb_mul_2exp_si(root, root, -1);
        arf_get_fmpq(q, arb_midref(root));
        fmpq_get_mpq(node[k], q);
    }
    arb_clear(root);
    fmpq_clear(q);
}

/* Makes l (s), the coefficients of the polynomial that is 1 at node r and 0 at the others. */
static void lagrange(size_t s, size_t r, mpq_t *node, mpq_t *l)
{
    RATIONAL(x);
    for (size_t i = 0; i < s; i++) mpq_set_ui(l[i], i == 0, 1);
    for (size_t k = 0, degree = 0; k < s; k++) {
        if (k == r) continue;
        mpq_sub(x, node[r], node[k]);
        for (size_t i = ++degree;; i--) { /* times (theta - node_k) / x */
            mpq_mul(l[i], l[i], node[k]);
            if (i > 0)
                mpq_sub(l[i], l[i - 1], l[i]);
            else
                mpq_neg(l[i], l[i]);
            mpq_div(l[i], l[i], x);
            if (i == 0) break;
        }
    }
}

/* Computes the integral of l from 0 to x. */
static void integral(size_t s, mpq_t *l, mpq_srcptr x, mpq_t out)
{
    RATIONAL(term);
    mpq_set_ui(out, 0, 1);
    for (size_t i = s; i-- > 0;) {
        mpq_set(term, l[i]);
        rational_divide(term, i + 1);
        mpq_add(out, out, term);
        mpq_mul(out, out, x);
    }
}

/* Writes the integrals to the nodes, and to 1, of s Lagrange polynomials: a (s + 1, s). */
static int collocation(int exact, size_t s, mpq_t *a)
{
    SCOPED(rationals_drop) mpq_t *l = rationals_new(s + 1);
    SCOPED(rationals_drop) mpq_t *node = rationals_new(s + 1);
    if (!l || !node) return ERR_MEMORY;
    make_nodes(exact, s, node);
    mpq_set_ui(node[s], 1, 1);
    for (size_t r = 0; r < s; r++) {
        lagrange(s, r, node, l);
        for (size_t q = 0; q <= s; q++) {
            integral(s, l, node[q], a[q * s + r]);
            if (!exact) rational_shorten(a[q * s + r]);
        }
    }
    return 0;
}

/* Adds the rows of flow i: those of its s nodes, and its end. */
static int add_flow(mpq_srcptr flow, size_t i, size_t s, mpq_t *a, const size_t *place, Method *m)
{
    RATIONAL(x);
    for (size_t q = 0; q <= s; q++) {
        LabelRow *r = &m->row[i * (s + 1) + q];
        r->base = i ? (int)(i * (s + 1) - 1) : -1;
        for (size_t k = 0; k < s; k++) {
            mpq_mul(x, a[q * s + k], flow);
            TRY(add_weight(r, place[i * s + k], x));
        }
        if (q < s) m->row_of[place[i * s + q]] = i * (s + 1) + q;
    }
    return 0;
}

/* Writes the flows' times and operators; two that follow each other along the same one are one. Returns how many are left. */
static size_t join_flows(const Table *t, mpq_t *time, int *op)
{
    size_t n = 0;
    for (size_t i = 0; i < t->flows; i++) {
        if (n == 0 || op[n - 1] != t->flow[i].op) op[n++] = t->flow[i].op;
        mpq_add(time[n - 1], time[n - 1], t->flow[i].c);
    }
    return n;
}

static int flows_method(const Conditions *c, int order, Method *m)
{
    int exact = c->t->exact;
    size_t s = exact ? (size_t)(order > 1 ? order - 1 : 1) | 1 : (size_t)(order + 1) / 2;
    SCOPED(memory_drop) int *op = memory_new(c->t->flows, sizeof *op);
    SCOPED(rationals_drop) mpq_t *time = rationals_new(c->t->flows);
    if (!op || !time) return ERR_MEMORY;
    size_t flows = join_flows(c->t, time, op), n = flows * s;
    SCOPED(memory_drop) int *colour = memory_new(n, sizeof *colour);
    SCOPED(memory_drop) size_t *place = memory_new(n, sizeof *place);
    SCOPED(rationals_drop) mpq_t *a = rationals_new((s + 1) * s);
    TRY(method_new(c, n, 0, flows * (s + 1), m));
    if (!colour || !place || !a) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) colour[i] = op[i / s];
    sort_labels(m, n, colour, place);
    TRY(collocation(exact, s, a));
    for (size_t i = 0; i < flows; i++) TRY(add_flow(time[i], i, s, a, place, m));
    return 0;
}

/* ---- how far residues prove -------------------------------------------------------------------------------------------- */

/* Takes the denominators of a row, to which its base's belong, into `divisor`, and returns the sum of its moduli. */
static double measure_row(const Method *m, const LabelRow *r, double weight, mpz_t divisor)
{
    double sum = 0;
    for (const LabelRow *x = r;; x = &m->row[x->base]) {
        for (size_t k = 0; k < x->count; k++) {
            sum += fabs(mpq_get_d(x->w[k].c));
            mpz_lcm(divisor, divisor, mpq_denref(x->w[k].c));
        }
        for (size_t j = 0; x->state && j < m->depth; j++) {
            sum += fabs(mpq_get_d(x->state[j])) * (double)m->depth * weight;
            mpz_lcm(divisor, divisor, mpq_denref(x->state[j]));
        }
        if (x->base < 0) return sum;
    }
}

static double bits_of(mpz_srcptr x)
{
    return (double)mpz_sizeinbase(x, 2);
}

/* Finds the bound of a numerator; 8 bits are for the rounding of sums. */
static void measure(Method *m, int timed)
{
    double weight = 1, largest, update;
    mpz_t L, D, w;
    mpz_init_set_ui(L, 1);
    mpz_init_set_ui(D, 1);
    mpz_init_set_ui(w, 1);
    for (int op = 0; op < m->t->colours; op++) {
        weight = fmax(weight, fabs(mpq_get_d(m->t->weight[op])));
        mpz_lcm(w, w, mpq_denref(m->t->weight[op]));
    }
    largest = fmax(1, (double)m->depth) * weight;
    for (size_t r = 0; r + 1 < m->rows; r++)
        largest = fmax(largest, measure_row(m, &m->row[r], weight, L));
    for (size_t r = 0; r < m->rows; r++) m->weights += (double)m->row[r].count;
    for (size_t i = 0; timed && i < m->labels; i++) {
        largest = fmax(largest, fabs(mpq_get_d(m->node[i])));
        mpz_lcm(L, L, mpq_denref(m->node[i]));
    }
    update = measure_row(m, &m->row[m->rows - 1], weight, D) + weight;
    m->digits[1] = bits_of(L) + log2(largest) + bits_of(w);
    m->digits[0] = bits_of(D) + log2(update) + 8;
    mpz_mul(m->divisor, L, D);
    mpz_mul(m->divisor, m->divisor, w);
    mpz_clears(L, D, w, NULL);
}

/* Returns how many primes prove the conditions of an order. */
static double primes_needed(const Method *m, int order)
{
    double bits = m->digits[0] + order * m->digits[1];
    for (int n = 2; n <= order; n++) bits += log2(n); /* n! */
    return ceil(bits / PRIME_BITS);
}

/* Returns how many are taken: those needed, or UNPROVED. */
static size_t primes_taken(const Method *m, int order, int *proved)
{
    enum { BEGIN = 20000, EACH = 300 }; /* what a prime takes, and a weight modulo one */
    double needed = primes_needed(m, order), walk = (double)(m->labels / (size_t)m->colours + 4),
           begin = BEGIN + m->weights * (EACH + (m->digits[0] + m->digits[1]) / 32);
    *proved = needed * (tree_count(m->colours, order) * walk + begin) <= work_most;
    return *proved ? (size_t)needed : UNPROVED;
}

/* Finds prime k of those that serve. */
static int find_prime(Conditions *c, size_t k, uint64_t *out)
{
    mpz_t p;
    mpz_init(p);
    integer_set(p, c->primes ? c->prime[c->primes - 1] : (uint64_t)1 << PRIME_BITS);
    int code = 0;
    while (code == 0 && c->primes <= k) {
        mpz_nextprime(p, p);
        if (!mpz_divisible_p(c->m.divisor, p))
            code = memory_add(c->prime, c->primes, integer_get(p));
    }
    mpz_clear(p);
    if (code == 0) *out = c->prime[k];
    return code;
}

/* ---- conditions ------------------------------------------------------------------------------------------------------- */

int conditions_new(const Table *t, int timed, int estimate, Conditions **out)
{
    *out = NULL;
    if (table_phi(t) || (t->flows && timed) || table_methods(t) || table_complex(t) || t->carries)
        return 0;
    SCOPED(conditions_drop) Conditions *c = memory_new(1, sizeof *c);
    if (!c) return ERR_MEMORY;
    *c = (Conditions){.t = t, .estimate = estimate, .label = memory_new(LABELS, sizeof *c->label)};
    if (!c->label) return ERR_MEMORY;
    TRY(forest_trees(1, series_one_colour(t) && !t->special ? 1 : t->colours, timed, &c->f));
    if (!t->flows && !find_labels(c)) return 0;
    if (!t->flows) {
        TRY(stages_method(c, &c->m));
        measure(&c->m, timed);
    }
    *out = c;
    c = NULL;
    return 0;
}

void conditions_free(Conditions *c)
{
    if (!c) return;
    method_free(&c->m);
    forest_free(c->f);
    memory_free_all(c->label, c->prime, c);
}

int conditions_most(const Conditions *c)
{
    static const int most[] = {CONDITIONS_MAX, CONDITIONS_MAX_2, CONDITIONS_MAX_3};
    return c->f->timed ? forest_timed_most(c->f->colours, 1) : most[c->f->colours - 1];
}

/* A splitting's collocation method is that of the order. */
static int renew(Conditions *c, int order)
{
    if (!c->t->flows) return 0;
    method_free(&c->m);
    c->primes = 0;
    TRY(flows_method(c, order, &c->m));
    measure(&c->m, 0);
    return 0;
}

int conditions_at(Conditions *c, int order, Level *out)
{
    Defects d = {.zero = c->t->exact};
    int proved = 0;
    *out = (Level){.exact = 0};
    TRY(forest_grow(c->f, order > 1 ? order / 2 : 1));
    TRY(renew(c, order));
    size_t n = primes_taken(&c->m, order, &proved);
    c->m.turns = (double)n;
    for (size_t k = 0; d.zero && k < n; k++) {
        uint64_t p;
        c->m.turn = (double)k;
        TRY(find_prime(c, k, &p));
        TRY(tree_weights(&c->m, c->f, order, p, &d));
    }
    if (!d.zero) {
        proved = 0;
        c->m.turn = 0;
        c->m.turns = 1;
        TRY(tree_weights(&c->m, c->f, order, 0, &d));
        d.zero = d.zero && !c->t->exact;
    }
    *out = (Level){d.zero, proved, d.largest, d.norm2, d.one_colour};
    return 0;
}
