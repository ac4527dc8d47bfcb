/* tree_weights.c: the defects of all trees of one order, without a list of these trees.
 *
 * Every tree of n vertices has one vertex below which more than n/2 stand, itself among them, while none of its children
 * has so many: the last of the path that goes from the root to the largest child each time. All other children, of the path's
 * vertices and of the last one, are small, of at most n/2 vertices; psi of these alone is kept. With z_i the product of psi_i
 * over the small children of a vertex on the path, and b_i that of the update at its root, the factors r_i of u_i at the
 * path's vertices are
 *
 *     r_i(root) = b_i,    r_k(next) = sum_i a_ik z_i r_i,    sum_i b_i u_i(t) = sum_i r_i u_i(last),
 *
 * so a tree costs one product per label. Its small children are listed as multisets of rising index, whose products are shared
 * by those that begin alike. In each colour a vector has one entry behind its labels, for g: there psi has g(t), and r has
 * the sum of what -g and the E_-j at the path's vertices are over those of the last one's children.
 *
 * Numbers are residues in Montgomery's form (1985), or floats: of 192 bits, of decimals, which have 60 digits, of 320. Of fractions the
 * products of vectors are in pairs of doubles first (Dekker 1971), 2^-104 of the sum of moduli off for each term; a defect that is less
 * than 2^-40 of that sum is taken in the floats, whose vectors are made where they are wanted.
 *
 * In more colours than the trees have, a defect is that of its tree's shape. So the sum of squares over all colourings t of a shape
 * is d^2 W_1, with W_k = sum over t of sigma(t)^(-2k). For m equal children c, W_k has the factor
 *
 *     [x^m] prod over colourings s of c of sum_n (x sigma(s)^(-2k))^n / n!^(2k) = [x^m] exp(sum_j l_j W_kj(c) x^j),
 *     sum_j l_j x^j = log sum_n x^n / n!^(2k). */
#include <gmp.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/simd.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"
#include "ode/theory/conditions_inside.h"

enum { LEVELS = CONDITIONS_MAX + 2, PRECISION = 192, PRECISION_DECIMALS = 320 };
/* Walk.norm: two numbers a level; those of a tree whose last child is added; the sums of squares, over trees of F alone. */
enum { NORM_BEFORE = 2 * LEVELS, NORM_WITH, NORM_SUM, NORM_SUM_F, NORMS };
static const double zero = 1e-80;

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* Residues modulo p as a 2^64, uint64_t; for p = 0 mpf_t. */
typedef struct {
    uint64_t p, inverse, square; /* -1/p modulo 2^64; 2^128 modulo p */
    size_t bytes;
    mp_bitcnt_t precision;
    mpf_t x; /* scratch */
} Ring;

__extension__ typedef unsigned __int128 Wide;

static uint64_t reduced(const Ring *r, Wide x)
{
    uint64_t y = (uint64_t)((x + (Wide)((uint64_t)x * r->inverse) * r->p) >> 64);
    return y >= r->p ? y - r->p : y;
}

static void ring_open(Ring *r, uint64_t p, int exact)
{
    *r = (Ring){.p = p,
                .bytes = p ? sizeof(uint64_t) : sizeof(mpf_t),
                .precision = exact ? PRECISION : PRECISION_DECIMALS};
    mpf_init2(r->x, r->precision);
    if (!p) return;
    uint64_t x = 1; /* Newton's iteration doubles the digits of 1/p that are right */
    for (int i = 0; i < 6; i++) x *= 2 - p * x;
    r->inverse = -x;
    x = (uint64_t)(((Wide)1 << 64) % p);
    r->square = (uint64_t)((Wide)x * x % p);
}

static void *ring_new(const Ring *r, size_t n)
{
    mpf_t *x = memory_new(n, r->bytes);
    for (size_t i = 0; x && !r->p && i < n; i++) mpf_init2(x[i], r->precision);
    return x;
}

static void ring_free(const Ring *r, void *list, size_t n)
{
    mpf_t *x = list;
    for (size_t i = 0; x && !r->p && i < n; i++) mpf_clear(x[i]);
    memory_free(list);
}

static void *at(const Ring *r, const void *list, size_t i)
{
    return (char *)(uintptr_t)list + i * r->bytes;
}

static void set_number(const Ring *r, mpq_srcptr q, void *out)
{
    uint64_t *m = out;
    if (!r->p) {
        mpf_set_q(out, q);
        return;
    }
    uint64_t inverse = reduced(r, r->square), power;
    power = reduced(r, (Wide)integer_modulo(mpq_denref(q), r->p) * r->square);
    for (uint64_t e = r->p - 2; e; e >>= 1) { /* 1/a = a^(p - 2) */
        if (e & 1) inverse = reduced(r, (Wide)inverse * power);
        power = reduced(r, (Wide)power * power);
    }
    *m = reduced(r, (Wide)integer_modulo(mpq_numref(q), r->p) * r->square);
    *m = reduced(r, (Wide)*m * inverse);
}

static void clear(const Ring *r, size_t n, void *out)
{
    mpf_t *x = out;
    if (r->p) memset(out, 0, n * r->bytes);
    for (size_t i = 0; !r->p && i < n; i++) mpf_set_ui(x[i], 0);
}

/* Computes out = a b, entry by entry. */
static void multiply(const Ring *r, size_t n, const void *a, const void *b, void *out)
{
    const uint64_t *s = a, *t = b;
    mpf_srcptr x = a, y = b;
    uint64_t *m = out;
    mpf_ptr z = out;
    if (r->p)
        for (size_t i = 0; i < n; i++) m[i] = reduced(r, (Wide)s[i] * t[i]);
    else
        for (size_t i = 0; i < n; i++) mpf_mul(z + i, x + i, y + i);
}

/* Computes sum += a b. */
static void add_product(Ring *r, const void *a, const void *b, void *sum)
{
    uint64_t *m = sum;
    if (r->p) {
        Wide x = (Wide) * (const uint64_t *)a * *(const uint64_t *)b;
        *m += reduced(r, x);
        if (*m >= r->p) *m -= r->p;
    } else {
        mpf_mul(r->x, a, b);
        mpf_add(sum, sum, r->x);
    }
}

/* Computes sum += a. */
static void add_number(const Ring *r, const void *a, void *sum)
{
    uint64_t *m = sum;
    if (r->p) {
        *m += *(const uint64_t *)a;
        if (*m >= r->p) *m -= r->p;
    } else {
        mpf_add(sum, sum, a);
    }
}

static void copy_number(const Ring *r, const void *a, void *out)
{
    if (r->p)
        memcpy(out, a, r->bytes);
    else
        mpf_set(out, a);
}

/* Computes sum a b over n entries. Eight products of residues below 2^61 are below p 2^64. */
static void scalar_product(Ring *r, size_t n, const void *a, const void *b, void *out)
{
    const uint64_t *s = a, *t = b;
    clear(r, 1, out);
    if (!r->p) {
        for (size_t i = 0; i < n; i++) add_product(r, at(r, a, i), at(r, b, i), out);
        return;
    }
    for (size_t i = 0; i < n;) {
        Wide sum = 0;
        for (size_t end = i + 8 < n ? i + 8 : n; i < end; i++) sum += (Wide)s[i] * t[i];
        uint64_t x = reduced(r, sum);
        add_number(r, &x, out);
    }
}

static int is_zero(const Ring *r, const void *a)
{
    return r->p ? *(const uint64_t *)a == 0 : mpf_sgn((mpf_srcptr)a) == 0;
}

/* ---- pairs of doubles -------------------------------------------------------------------------------------------------- */

/* Numbers high + low, |low| at most 2^-53 |high|. */
typedef struct {
    double *high, *low;
} Pairs;

static Pairs pairs_at(Pairs list, size_t i)
{
    return (Pairs){list.high + i, list.low + i};
}

static void set_pairs(Ring *r, size_t n, const void *from, Pairs to)
{
    for (size_t i = 0; i < n; i++) {
        mpf_srcptr x = at(r, from, i);
        to.high[i] = mpf_get_d(x);
        mpf_set_d(r->x, to.high[i]);
        mpf_sub(r->x, x, r->x);
        to.low[i] = mpf_get_d(r->x);
    }
}

/* Computes out = a b, entry by entry. */
SIMD_CLONES
static void multiply_pairs(size_t n, Pairs a, Pairs b, Pairs out)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double p = a.high[i] * b.high[i];
        double rest =
            __builtin_fma(a.high[i], b.high[i], -p) + (a.high[i] * b.low[i] + a.low[i] * b.high[i]);
        out.high[i] = p + rest;
        out.low[i] = rest - (out.high[i] - p);
    }
}

/* Computes sum a b over n entries, and the sum of moduli. */
SIMD_CLONES
static void sum_pairs(size_t n, Pairs a, Pairs b, double *high, double *low, double *moduli)
{
    enum { LANES = 8 };
    double sum[LANES] = {0}, rest[LANES] = {0}, size[LANES] = {0};
    for (size_t k = 0; k < n; k += LANES) {
        size_t lanes = n - k < LANES ? n - k : LANES;
#pragma omp simd
        for (size_t j = 0; j < lanes; j++) {
            double x = a.high[k + j], y = b.high[k + j], p = x * y, s = sum[j] + p,
                   back = s - sum[j];
            rest[j] += (sum[j] - (s - back)) + (p - back) + __builtin_fma(x, y, -p) +
                       (x * b.low[k + j] + a.low[k + j] * y);
            sum[j] = s;
            size[j] += fabs(p);
        }
    }
    *high = *low = *moduli = 0;
    for (int j = 0; j < LANES; j++) {
        double s = *high + sum[j], back = s - *high;
        *low += (*high - (s - back)) + (sum[j] - back) + rest[j];
        *high = s;
        *moduli += size[j];
    }
}

/* ---- the walk ------------------------------------------------------------------------------------------------------- */

/* Vectors (width): for each colour its labels, then the entry of g. */
typedef struct {
    const Method *m;
    const Forest *f;
    Ring r;
    int order;
    size_t width, small,
        entries;              /* small: trees of at most order / 2 vertices; entries: all weights */
    size_t from[COLOURS + 1]; /* where the vector of a colour begins */
    char *vanishes;           /* (small) */
    void *weight;             /* (entries) those of the rows one after another */
    void *state;              /* (rows, order + 1) sum_j w_j (-j)^n; NULL: no history */
    void *share;              /* (colours, order + 1) a colour's weight / n */
    void *psi;                /* (small, width) */
    void *value;              /* (rows) scratch */
    void *level;              /* (LEVELS, width) products, and factors on the path */
    void *d;                  /* (1) */
    /* Floats alone. norm (NORMS): of each level W_1 without the last child and those equal to it, with them. equal (small,
     * order): factors of equal children, where one tree stands for all colourings. */
    mpf_t *norm, *equal;
    Pairs pairs, pair_psi; /* of fractions: of level, and of psi; else NULL */
    char late
        [LEVELS]; /* `level` has not yet what `pairs` has: the product of those of the level before and psi of */
    size_t child[LEVELS]; /* this tree */
    size_t done;
    double all;
    Defects *out;
} Walk;

/* Where a multiset of children stands: its product is at `level`. */
typedef struct {
    size_t level, last;              /* last: the child that was added last */
    int colour, left, children, run; /* vertices that are left; run: children equal to the last */
    int all_F;
    uint64_t sigma;
} Spot;

static void *vector(const Walk *w, const void *list, size_t i, int colour)
{
    return at(&w->r, list, i * w->width + w->from[colour]);
}

static size_t length(const Walk *w, int colour)
{
    return w->from[colour + 1] - w->from[colour];
}

/* Returns where a label stands in vectors. */
static size_t entry_of(const Method *m, size_t label)
{
    size_t colour = 0;
    while (label >= m->first[colour + 1]) colour++;
    return label + colour;
}

static void *share_of(const Walk *w, int colour, int order)
{
    return at(&w->r, w->share, (size_t)(colour * (w->order + 1) + order));
}

/* Adds w_r(E) of a tree of this order: to `to`, times `by`. */
static void add_state(Walk *w, size_t row, int order, const void *by, void *to)
{
    if (!w->state) return;
    add_product(&w->r, at(&w->r, w->state, row * (size_t)(w->order + 1) + (size_t)order), by, to);
}

/* ---- small trees ------------------------------------------------------------------------------------------------------ */

/* Computes the product of psi over a tree's children, at level 0. */
static void set_children(Walk *w, const Tree *t)
{
    size_t n = length(w, t->colour);
    void *u = vector(w, w->level, 0, t->colour);
    for (size_t i = 0; i < n; i++) set_number(&w->r, rational_one, at(&w->r, u, i));
    for (int k = 0; k < t->children; k++)
        multiply(&w->r, n, u, vector(w, w->psi, (size_t)t->child[k], t->colour), u);
}

/* Computes the rows' values from u, that of a colour. */
static void set_values(Walk *w, int colour, int order, const void *u, const void *g)
{
    const Method *m = w->m;
    size_t i = 0;
    for (size_t r = 0; r < m->rows; r++) {
        void *sum = at(&w->r, w->value, r);
        clear(&w->r, 1, sum);
        if (m->row[r].base >= 0)
            copy_number(&w->r, at(&w->r, w->value, (size_t)m->row[r].base), sum);
        for (size_t k = 0; k < m->row[r].count; k++, i++) {
            size_t label = m->row[r].w[k].label - m->first[colour];
            if (label < m->first[colour + 1] - m->first[colour])
                add_product(&w->r, at(&w->r, w->weight, i), at(&w->r, u, label), sum);
        }
        add_state(w, r, order, g, sum);
    }
}

static void set_psi(Walk *w, size_t tree)
{
    const Method *m = w->m;
    const Tree *t = &w->f->tree[tree];
    void *psi = at(&w->r, w->psi, tree * w->width), *g = at(&w->r, psi, w->from[1] - 1);
    if (tree_is_clock(w->f, tree)) {
        set_number(&w->r, rational_one, g);
        for (size_t i = 0; i < m->labels; i++)
            set_number(&w->r, m->node[i], at(&w->r, psi, entry_of(m, i)));
    } else {
        set_children(w, t);
        void *u = vector(w, w->level, 0, t->colour);
        multiply(&w->r, 1, at(&w->r, u, length(w, t->colour) - 1), share_of(w, t->colour, t->order),
                 g);
        set_values(w, t->colour, t->order, u, g);
        for (size_t i = 0; i < m->labels; i++)
            copy_number(&w->r, at(&w->r, w->value, m->row_of[i]), at(&w->r, psi, entry_of(m, i)));
    }
    for (int c = 1; c < m->colours; c++) copy_number(&w->r, g, at(&w->r, psi, w->from[c + 1] - 1));
}

/* ---- factors on the path ------------------------------------------------------------------------------------------------- */

/* Computes the factors of a vertex of `order` vertices below its parent, from the parent's row factors in w->value, and
 * g, the entry behind its labels, at a level. */
static void set_factors(Walk *w, int order, const void *g, size_t level)
{
    const Method *m = w->m;
    size_t i = w->entries;
    clear(&w->r, w->width, at(&w->r, w->level, level * w->width));
    void *last = at(&w->r, w->level, level * w->width + w->from[1] - 1);
    copy_number(&w->r, g, last);
    for (size_t r = m->rows; r-- > 0;) {
        void *of = at(&w->r, w->value, r);
        if (m->row[r].base >= 0) add_number(&w->r, of, at(&w->r, w->value, (size_t)m->row[r].base));
        for (size_t k = m->row[r].count; k-- > 0;) {
            size_t e = entry_of(m, m->row[r].w[k].label);
            add_product(&w->r, at(&w->r, w->weight, --i), of,
                        at(&w->r, w->level, level * w->width + e));
        }
        add_state(w, r, order, of, last);
    }
    for (int c = m->colours; c-- > 0;)
        multiply(&w->r, 1, last, share_of(w, c, order),
                 at(&w->r, w->level, level * w->width + w->from[c + 1] - 1));
    w->late[level] = 0;
    if (w->pairs.high)
        set_pairs(&w->r, w->width, at(&w->r, w->level, level * w->width),
                  pairs_at(w->pairs, level * w->width));
}

static void walk_children(Walk *w, const Spot *s);

/* Walks a vertex of the path in each colour; its factors are at the level. */
static void walk_vertex(Walk *w, const Spot *above, size_t level, int order)
{
    for (int c = 0; c < w->m->colours; c++) {
        if (above && above->colour == c && special_apart(w->m->t->special, c)) continue;
        Spot s = {.level = level,
                  .last = w->small,
                  .colour = c,
                  .left = order - 1,
                  .all_F = c == OP_F && (!above || above->all_F),
                  .sigma = above ? above->sigma : 1};
        walk_children(w, &s);
    }
}

/* Returns the vector of a level in floats. */
static void *floats(Walk *w, size_t level, int colour)
{
    void *z = vector(w, w->level, level, colour);
    if (w->late[level])
        multiply(&w->r, length(w, colour), floats(w, level - 1, colour),
                 vector(w, w->psi, w->child[level], colour), z);
    w->late[level] = 0;
    return z;
}

/* Goes on to a child of all vertices that are left. */
static void walk_path(Walk *w, const Spot *s)
{
    const Method *m = w->m;
    const void *z = floats(w, s->level, s->colour);
    size_t colour = (size_t)s->colour, level = s->level + 1;
    clear(&w->r, m->rows, w->value);
    for (size_t i = m->first[colour]; i < m->first[colour + 1]; i++)
        add_number(&w->r, at(&w->r, z, i - m->first[colour]), at(&w->r, w->value, m->row_of[i]));
    set_factors(w, s->left, at(&w->r, z, length(w, s->colour) - 1), level);
    if (!w->r.p) {
        mpf_mul_ui(w->norm[2 * level], w->norm[2 * s->level + 1],
                   (unsigned)(w->equal ? m->t->colours : 1));
        mpf_set(w->norm[2 * level + 1], w->norm[2 * level]);
    }
    walk_vertex(w, s, level, s->left);
}

/* ---- trees ----------------------------------------------------------------------------------------------------------------- */

/* Computes W_1 of a spot with one child more: before it, and with it. */
static void add_norm(Walk *w, const Spot *s, size_t child, int run, mpf_t before, mpf_t with)
{
    mpf_set(before, w->norm[2 * s->level + (run == 1)]);
    if (w->equal) mpf_mul(with, before, w->equal[child * (size_t)w->order + (size_t)run]);
}

/* Divides by n, whose halves a `long` holds. */
static void divide(mpf_t d, uint64_t n)
{
    mpf_t x;
    if ((unsigned long)n == n) {
        mpf_div_ui(d, d, (unsigned long)n);
        return;
    }
    mpf_init2(x, 64);
    mpf_set_ui(x, (unsigned long)(n >> 32));
    mpf_mul_2exp(x, x, 32);
    mpf_add_ui(x, x, (unsigned long)(n & UINT32_MAX));
    mpf_div(d, d, x);
    mpf_clear(x);
}

static void take_float(Walk *w, const Spot *s, size_t child, const Spot *tree)
{
    mpf_ptr d = w->d;
    double size = fabs(mpf_get_d(d)) / (double)tree->sigma;
    w->out->zero &= size <= zero;
    w->out->largest = fmax(w->out->largest, size);
    if (size <= zero) return;
    mpf_ptr before = w->norm[NORM_BEFORE], with = w->norm[NORM_WITH];
    mpf_mul(d, d, d);
    if (w->equal) {
        if (s)
            add_norm(w, s, child, tree->run, before, with);
        else
            mpf_set_ui(with, (unsigned)w->m->t->colours);
        mpf_mul(with, with, d);
        mpf_add(w->norm[NORM_SUM], w->norm[NORM_SUM], with);
    }
    for (int k = 0; k < 2; k++) divide(d, tree->sigma);
    if (!w->equal) mpf_add(w->norm[NORM_SUM], w->norm[NORM_SUM], d);
    if (tree->all_F) mpf_add(w->norm[NORM_SUM_F], w->norm[NORM_SUM_F], d);
}

/* Takes the defect of a tree, which is in w->d. */
static void take_tree(Walk *w, const Spot *s, size_t child, const Spot *tree)
{
    enum { TURN = 1024 };
    const Method *m = w->m;
    if (w->r.p)
        w->out->zero &= is_zero(&w->r, w->d);
    else
        take_float(w, s, child, tree);
    if (++w->done % TURN == 0) tick_of(m->turn + (double)w->done / w->all, m->turns);
}

/* Returns whether a tree may stand below a vertex of this colour beside others. */
static int may_stand(const Walk *w, const Spot *s, size_t child)
{
    int colour = w->f->tree[child].colour, linear = w->m->t->special >> s->colour & 1;
    if (w->vanishes[child] || (colour == s->colour && special_apart(w->m->t->special, colour)))
        return 0;
    return colour < COLOURS || (colour == COLOURS + s->colour && !linear);
}

static Pairs pair_vector(const Walk *w, Pairs list, size_t i, int colour)
{
    return pairs_at(list, i * w->width + w->from[colour]);
}

/* Computes the defect of a spot's tree with the last child. */
static void find_defect(Walk *w, const Spot *s, size_t child)
{
    static const double least = 0x1p-40;
    size_t n = length(w, s->colour);
    double high, low, moduli;
    if (w->pairs.high) {
        sum_pairs(n, pair_vector(w, w->pairs, s->level, s->colour),
                  pair_vector(w, w->pair_psi, child, s->colour), &high, &low, &moduli);
        if (fabs(high + low) > least * moduli && moduli < INFINITY) {
            mpf_set_d(w->d, high);
            mpf_set_d(w->r.x, low);
            mpf_add(w->d, w->d, w->r.x);
            return;
        }
    }
    scalar_product(&w->r, n, floats(w, s->level, s->colour), vector(w, w->psi, child, s->colour),
                   w->d);
}

/* Computes the product of a spot's vector and the child's psi, at the next level. */
static void next_level(Walk *w, const Spot *s, size_t child)
{
    size_t n = length(w, s->colour), next = s->level + 1;
    w->late[next] = w->pairs.high != NULL;
    w->child[next] = child;
    if (w->late[next])
        multiply_pairs(n, pair_vector(w, w->pairs, s->level, s->colour),
                       pair_vector(w, w->pair_psi, child, s->colour),
                       pair_vector(w, w->pairs, next, s->colour));
    else
        multiply(&w->r, n, vector(w, w->level, s->level, s->colour),
                 vector(w, w->psi, child, s->colour), vector(w, w->level, next, s->colour));
}

/* Adds one child more; it is the last where nothing is left then. */
static void add_child(Walk *w, const Spot *s, size_t child)
{
    const Tree *t = &w->f->tree[child];
    Spot next = *s;
    next.left -= t->order;
    next.run = child == s->last ? s->run + 1 : 1;
    next.children++;
    next.sigma *= t->sigma * (uint64_t)next.run;
    next.last = child;
    next.all_F = s->all_F && (w->r.p || w->m->colours == 1 || tree_is_F(w->f, child));
    if (next.left == 0) {
        find_defect(w, s, child);
        take_tree(w, s, child, &next);
        return;
    }
    next_level(w, s, child);
    next.level++;
    if (!w->r.p)
        add_norm(w, s, child, next.run, w->norm[2 * next.level], w->norm[2 * next.level + 1]);
    walk_children(w, &next);
}

/* Takes the tree of one vertex. */
static void take_root(Walk *w, const Spot *s)
{
    clear(&w->r, 1, w->d);
    for (size_t i = 0; i < length(w, s->colour); i++)
        add_number(&w->r, at(&w->r, vector(w, w->level, 0, s->colour), i), w->d);
    take_tree(w, NULL, 0, s);
}

/* Walks the trees that have these children and more: one large one, or small ones whose indices do not fall. */
static void walk_children(Walk *w, const Spot *s)
{
    int left = s->left, full = s->children > 0 && w->m->t->special >> s->colour & 1;
    if ((w->r.p && !w->out->zero) || full) return;
    if (left == 0) take_root(w, s);
    if (2 * left > w->order) walk_path(w, s);
    size_t end = 2 * left > w->order ? w->small : w->f->first[left + 1];
    for (size_t child = s->last == w->small ? 0 : s->last; child < end; child++) {
        int rest = left - w->f->tree[child].order;
        if (rest > 0 && 2 * rest <= w->order && rest < w->f->tree[child].order) {
            if (2 * left > w->order) break;
            child = w->f->first[left]; /* trees between leave too little for others */
        }
        if (may_stand(w, s, child)) add_child(w, s, child);
    }
}

/* ---- sums over colourings ---------------------------------------------------------------------------------------------------- */

static void colourings(const Method *m, const Forest *f, size_t tree, int k, mpq_t out);

/* Multiplies out by h_n of n equal children: with L_j = j l_j, e_n = 1/n!^(2k),
 * L_n = n e_n - sum over j < n of L_j e_(n-j),   h_n = 1/n sum over j <= n of L_j W_kj h_(n-j). */
static void equal_children(const Method *m, const Forest *f, size_t child, int most, int k,
                           mpq_t out)
{
    mpq_t list[3 * (CONDITIONS_MAX + 1)], *e = list, *L = e + most + 1, *h = L + most + 1, W;
    mpq_init(W);
    for (int n = 0; n < 3 * (most + 1); n++) mpq_init(list[n]);
    mpq_set_ui(e[0], 1, 1);
    mpq_set_ui(h[0], 1, 1);
    for (int n = 1; n <= most; n++) {
        mpq_set(e[n], e[n - 1]);
        for (int i = 0; i < 2 * k; i++) rational_divide(e[n], (unsigned)n);
        mpq_set_ui(W, (unsigned)n, 1);
        mpq_mul(L[n], W, e[n]);
        for (int j = 1; j < n; j++) rational_subtract(L[n], L[j], e[n - j]);
    }
    for (int n = 1; n <= most; n++) { /* L_n becomes L_n W_kn */
        colourings(m, f, child, k * n, W);
        mpq_mul(L[n], L[n], W);
        for (int j = 1; j <= n; j++) rational_add(h[n], L[j], h[n - j]);
        rational_divide(h[n], (unsigned)n);
    }
    mpq_mul(out, out, h[most]);
    for (int n = 0; n < 3 * (most + 1); n++) mpq_clear(list[n]);
    mpq_clear(W);
}

/* Computes W_k of a tree. A clock has the colour of its parent. */
static void colourings(const Method *m, const Forest *f, size_t tree, int k, mpq_t out)
{
    const Tree *t = &f->tree[tree];
    mpq_set_ui(out, tree_is_clock(f, tree) ? 1 : (unsigned)m->t->colours, 1);
    for (int i = 0, n; i < t->children; i += n) {
        for (n = 1; i + n < t->children && t->child[i + n] == t->child[i];) n++;
        equal_children(m, f, (size_t)t->child[i], n, k, out);
    }
}

/* ---- all ------------------------------------------------------------------------------------------------------------------------ */

double tree_count(int colours, int order)
{
    double r[CONDITIONS_MAX + 1] = {0, colours}, s[CONDITIONS_MAX + 1];
    for (int n = 1; n < order;
         n++) { /* n r_(n+1) = sum over k of s_k r_(n-k+1), s_k = sum over d | k of d r_d */
        s[n] = 0;
        for (int d = 1; d <= n; d++)
            if (n % d == 0) s[n] += d * r[d];
        for (int k = 1; k <= n; k++) r[n + 1] += s[k] * r[n - k + 1] / n;
    }
    return r[order];
}

static void close_walk(Walk *w)
{
    size_t orders = (size_t)w->order + 1;
    ring_free(&w->r, w->weight, w->entries);
    ring_free(&w->r, w->state, w->m->rows * orders);
    ring_free(&w->r, w->share, (size_t)w->m->colours * orders);
    ring_free(&w->r, w->psi, w->small * w->width);
    ring_free(&w->r, w->value, w->m->rows);
    ring_free(&w->r, w->level, LEVELS * w->width);
    ring_free(&w->r, w->d, 1);
    ring_free(&w->r, w->norm, NORMS);
    ring_free(&w->r, w->equal, w->small * (size_t)w->order);
    memory_free_all(w->vanishes, w->pairs.high);
    mpf_clear(w->r.x);
}

/* Computes sum_j w_j (-j)^n of every row, and a colour's weight / n, for n up to the order. */
static void set_constants(Walk *w)
{
    const Method *m = w->m;
    RATIONALS(q, power, sum);
    for (int n = 1; n <= w->order; n++) {
        for (int c = 0; c < m->colours; c++) {
            mpq_set(q, m->t->weight[c]);
            rational_divide(q, (unsigned)n);
            set_number(&w->r, q, share_of(w, c, n));
        }
        for (size_t r = 0; w->state && r < m->rows; r++) {
            mpq_set_ui(sum, 0, 1);
            for (size_t j = 0; j < m->depth; j++) {
                mpz_ui_pow_ui(mpq_numref(power), j + 1, (unsigned)n);
                if (n % 2) mpq_neg(power, power);
                if (m->row[r].state) rational_add(sum, m->row[r].state[j], power);
            }
            set_number(&w->r, sum, at(&w->r, w->state, r * (size_t)(w->order + 1) + (size_t)n));
        }
    }
}

/* Computes the factors W of n equal children of each small tree. */
static int set_equal(Walk *w)
{
    RATIONAL(q);
    if (w->m->colours == w->m->t->colours) return 0;
    if (!(w->equal = ring_new(&w->r, w->small * (size_t)w->order))) return ERR_MEMORY;
    for (size_t i = 0; i < w->small; i++)
        for (int n = 1; n * w->f->tree[i].order < w->order; n++) {
            mpq_set_ui(q, 1, 1);
            equal_children(w->m, w->f, i, n, 1, q);
            mpf_set_q(w->equal[i * (size_t)w->order + (size_t)n], q);
        }
    return 0;
}

static int open_pairs(Walk *w)
{
    size_t n = LEVELS * w->width, all = w->small * w->width;
    if (!w->m->t->exact) return 0;
    double *list = memory_new(2 * (n + all), sizeof *list);
    if (!list) return ERR_MEMORY;
    w->pairs = (Pairs){list, list + n};
    w->pair_psi = (Pairs){list + 2 * n, list + 2 * n + all};
    set_pairs(&w->r, all, w->psi, w->pair_psi);
    return 0;
}

static int open_walk(Walk *w)
{
    const Method *m = w->m;
    size_t orders = (size_t)w->order + 1, k = 0;
    w->weight = ring_new(&w->r, w->entries);
    w->share = ring_new(&w->r, (size_t)m->colours * orders);
    w->psi = ring_new(&w->r, w->small * w->width);
    w->value = ring_new(&w->r, m->rows);
    w->level = ring_new(&w->r, LEVELS * w->width);
    w->d = ring_new(&w->r, 1);
    w->norm = w->r.p ? NULL : ring_new(&w->r, NORMS);
    w->vanishes = memory_new(w->small, 1);
    if (!w->weight || !w->share || !w->psi || !w->value || !w->level || !w->d || !w->vanishes ||
        (!w->r.p && !w->norm) || (m->depth && !(w->state = ring_new(&w->r, m->rows * orders))))
        return ERR_MEMORY;
    set_constants(w);
    for (size_t r = 0; r < m->rows; r++)
        for (size_t i = 0; i < m->row[r].count; i++)
            set_number(&w->r, m->row[r].w[i].c, at(&w->r, w->weight, k++));
    for (size_t i = 0; i < w->small; i++) {
        w->vanishes[i] = !tree_is_clock(w->f, i) && tree_vanishes(w->f, i, m->t->special);
        set_psi(w, i);
        if (i % 64 == 0) tick();
    }
    if (w->r.p) return 0;
    TRY(open_pairs(w));
    return set_equal(w);
}

static double nearest(mpf_t x)
{
    RATIONAL(q);
    mpq_set_f(q, x);
    return table_double(q);
}

int tree_weights(const Method *m, const Forest *f, int order, uint64_t prime, Defects *out)
{
    Walk w = {.m = m, .f = f, .order = order, .width = m->labels + (size_t)m->colours, .out = out};
    *out = (Defects){.zero = 1};
    ring_open(&w.r, prime, m->t->exact);
    w.small = f->first[order / 2 + 1];
    w.all = tree_count(m->colours, order);
    for (int c = 0; c <= m->colours; c++) w.from[c] = m->first[c] + (size_t)c;
    for (size_t r = 0; r < m->rows; r++) w.entries += m->row[r].count;
    int code = open_walk(&w);
    if (code == 0) {
        RATIONAL(minus);
        mpq_set_si(minus, m->estimate ? 0 : -1, 1);
        clear(&w.r, m->rows, w.value);
        set_number(&w.r, rational_one, at(&w.r, w.value, m->rows - 1));
        set_number(&w.r, minus, w.d);
        set_factors(&w, order, w.d, 0);
        for (int i = 0; !prime && i < 2; i++)
            mpf_set_ui(w.norm[i], w.equal ? (unsigned)m->t->colours : 1);
        walk_vertex(&w, NULL, 0, order);
        if (!prime) out->norm2 = nearest(w.norm[NORM_SUM]);
        if (!prime) out->one_colour = nearest(w.norm[NORM_SUM_F]);
    }
    close_walk(&w);
    return code;
}
