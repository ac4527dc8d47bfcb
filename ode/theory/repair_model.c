/* repair_model.c: the text of a scheme as numbers, modulo a prime or in long double, and its order conditions (repair.c). */
#include "ode/theory/repair_inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "kernels/base/tick.h"
#include "ode/scheme/rationals.h"

uint64_t number_invert(uint64_t p, uint64_t a)
{
    uint64_t out = 1;
    for (uint64_t e = p - 2; e; e >>= 1, a = a * a % p)
        if (e & 1) out = out * a % p;
    return out;
}

long double repair_long_double(mpq_srcptr q)
{
    RATIONAL(rest);
    double high = mpq_get_d(q);
    if (!isfinite(high)) return high;
    mpq_set_d(rest, high);
    mpq_sub(rest, q, rest);
    return (long double)high + (long double)mpq_get_d(rest);
}

RepairNumber repair_rational(uint64_t p, mpq_srcptr q)
{
    if (!p) return (RepairNumber){.r = repair_long_double(q)};
    uint64_t n = mpz_fdiv_ui(mpq_numref(q), p), d = mpz_fdiv_ui(mpq_denref(q), p);
    return (RepairNumber){.m = n * number_invert(p, d) % p};
}

/* ---- the text ------------------------------------------------------------------------------------------- */

void repair_model_free(RepairModel *m)
{
    for (size_t i = 0; i < m->slopes; i++) mpq_clear(m->slope[i].d);
    rationals_free(m->at);
    memory_free_all(m->stage, m->colour, m->row_of, m->phi, m->ops, m->factor, m->entry, m->first,
                    m->slope, m->base, m->value, m->gamma, m->x0, m->u, m->psi, m->tolerance,
                    m->outside);
    forest_free(m->f);
    *m = (RepairModel){0};
}

/* Reads the one scheme of a text in which `value` stands for coefficients. */
int repair_read(const char *file, const Coefficients *c, const char *text, size_t bytes,
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

int repair_check_kind(const Table *whole_table)
{
    const Table *t = whole_table;
    int past = table_past(t), timed = 0;
    for (size_t p = 0; p < t->points; p++) timed |= t->point[p].timed;
    const char *what = t->symbols             ? "has learned coefficients"
                       : t->word || t->dense  ? "is made for networks"
                       : t->carries           ? "carries quantities besides y"
                       : table_methods(t)     ? "has flows that name their method"
                       : table_complex(t)     ? "has complex fractions"
                       : past && table_phi(t) ? "reads the past and has functions of derivatives"
                       : past && timed        ? "reads the past and has time nodes (@)"
                       : !past && !t->flows && !row_plain(&t->update)
                           ? "has a weight of y other than 1"
                           : NULL;
    if (!what) return 0;
    return error_set(ERR_INPUT, "%s %s: other schemes of stages, and splittings, are repaired",
                     t->name, what);
}

static const Row *row_at(const Table *t, size_t row)
{
    return row < t->points ? &t->point[row].row : row == t->points ? &t->update : &t->error;
}

static size_t eval_of(const RepairModel *m, const Table *t, size_t source)
{
    return m->one ? (size_t)t->stage[source].eval : source;
}

/* Computes a row's weight on an evaluation or on states, `past` steps ago. */
static void weight_of(const Row *r, int eval, int past, mpq_t out)
{
    mpq_set_ui(out, 0, 1);
    for (size_t k = 0; k < r->terms; k++)
        if (r->term[k].eval == eval && r->term[k].past == past) mpq_add(out, out, r->term[k].c);
}

/* Reads entry e of another table of the same structure. */
static void read_entry(const RepairModel *m, const Table *t, size_t e, mpq_t out)
{
    size_t row = m->entry[e].row;
    if (m->letters) {
        mpq_set(out, t->flow[row].c);
        return;
    }
    if (e < m->entries) {
        size_t s = m->entry[e].source;
        int eval = s == m->sources ? TABLE_STATE : (int)eval_of(m, t, s);
        weight_of(row_at(t, row), eval, m->entry[e].past, out);
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

/* Finds how many steps ago slopes are read, from the update through the rows. */
static int find_ages(RepairModel *m, const Table *t)
{
    enum { MOST = 64 };
    SCOPED(memory_drop)
    int *ago = memory_new(t->points + 1, sizeof *ago); /* of rows; -1: not read */
    if (!ago) return ERR_MEMORY;
    for (size_t row = 0; row < t->points; row++) ago[row] = -1;
    for (int more = 1; more;) {
        more = 0;
        for (size_t row = 0; row <= t->points; row++) {
            const Row *r = row_at(t, row);
            for (size_t k = 0; ago[row] >= 0 && k < r->terms; k++) {
                if (r->term[k].eval == TABLE_STATE) continue;
                int *to = &ago[t->eval[r->term[k].eval].point], old = ago[row] + r->term[k].past;
                if (old <= *to) continue;
                if (old > MOST)
                    return error_set(
                        ERR_INPUT, "%s: slopes that read their own past are not repaired", t->name);
                *to = old;
                more = 1;
                if (old >= m->ages) m->ages = old + 1;
            }
        }
    }
    return 0;
}

static int add_entries(RepairModel *m, const Table *t)
{
    size_t count = 0;
    int past = t->past_k > t->past_y ? t->past_k : t->past_y;
    for (size_t row = 0; row < t->points + 2; row++) {
        m->first[row] = count;
        for (size_t s = 0; s < m->sources + (past > 0); s++)
            for (int j = 0; j <= past; j++) {
                RATIONAL(q);
                int eval = s == m->sources ? TABLE_STATE : (int)eval_of(m, t, s);
                weight_of(row_at(t, row), eval, j, q);
                if (mpq_sgn(q) != 0) TRY(memory_add(m->entry, count, (RepairEntry){row, s, j}));
            }
    }
    if (past) TRY(find_ages(m, t));
    m->first[t->points + 2] = m->entries = count;
    for (size_t p = 0; p < t->points && m->one; p++)
        if (t->point[p].timed) TRY(memory_add(m->entry, count, (RepairEntry){.row = p}));
    m->nodes = count - m->entries;
    for (size_t s = 0; s < m->sources; s++) {
        const Point *p = &t->point[m->row_of[s]];
        m->phi[s] = p->phi;
        m->ops[s] = m->one ? ~0 : p->ops;
        m->factor[s] = count;
        m->functions |= p->phi != 0;
        if (p->phi) TRY(memory_add(m->entry, count, (RepairEntry){.row = m->row_of[s]}));
    }
    m->all = count;
    return 0;
}

/* Takes the structure of a table whose coefficients all differ from 0. */
static int open_structure(RepairModel *m, const Table *t)
{
    for (size_t i = 0; i < t->flows; i++)
        TRY(memory_add(m->entry, m->entries, (RepairEntry){.row = i}));
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

static int add_slope(RepairModel *m, size_t coefficient, size_t entry, mpq_srcptr d)
{
    RepairSlope s = {.coefficient = coefficient, .entry = entry};
    mpq_init(s.d);
    mpq_set(s.d, d);
    int code = memory_add(m->slope, m->slopes, s);
    if (code != 0) mpq_clear(s.d);
    return code;
}

/* Finds the slopes of coefficient k by the entries with its value + 1 and + 2. */
static int find_slopes(RepairModel *m, RepairSource *s, size_t k)
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
        int code = repair_read(s->file, m->c, s->text, s->bytes, s->value, i == 1 ? &one : &two);
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
static int match_slopes(RepairModel *m, const Table *t, size_t k, mpq_srcptr generic, int tableau,
                        size_t *found)
{
    RATIONALS(q, b, minus);
    mpq_set_si(minus, -1, 1);
    *found = 0;
    for (size_t i = 0; i < m->all; i++) {
        const RepairEntry *e = &m->entry[i];
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
        /* A tableau's node that is nearly the sum of its row is read as that sum; here it is what is written. */
        if (sign && !m->c->list[k].asked && i >= m->entries && i < m->entries + m->nodes)
            mpq_set(m->at[i], m->c->list[k].value);
        *found += sign != NULL;
    }
    return 0;
}

/* Leaves out the coefficients that would make an explicit scheme implicit: those of a row on its own stage or a later one. */
static void leave_out(RepairModel *m)
{
    for (size_t i = 0; m->explicit && !m->letters && i < m->slopes; i++) {
        const RepairEntry *e = &m->entry[m->slope[i].entry];
        if (m->slope[i].entry >= m->entries || e->row >= m->points) continue;
        if (e->past || e->source == m->sources) continue;
        size_t s = 0;
        while (s < m->sources && m->row_of[s] != e->row) s++;
        if (e->source >= s) m->outside[m->slope[i].coefficient] = 1;
    }
}

static int compare_slopes(const void *a, const void *b)
{
    const RepairSlope *s = a, *t = b;
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

int repair_model_open(RepairModel *m, RepairSource *s, const Table *written)
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
    TRY(repair_read(s->file, c, s->text, s->bytes, all, &generic));
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
size_t repair_trees(const RepairModel *m, int order, int q)
{
    int least = order < q ? order : q;
    size_t words = 0;
    for (int i = 0; i < least && m->letters; i++) words = m->letters * (words + 1);
    return m->letters ? words : least > 0 ? m->f->first[least + 1] : 0;
}

/* Returns the order of a tree, or the length of a word. */
int repair_length(const RepairModel *m, size_t tree)
{
    int n = 1;
    if (!m->letters) return m->f->tree[tree].order;
    while (tree >= repair_trees(m, n, n)) n++;
    return n;
}

/* Makes room for the conditions to an order. */
int repair_set_order(RepairModel *m, int order, int hat)
{
    int top = order > hat ? order : hat;
    m->order = order;
    m->hat = hat;
    if (!m->f) TRY(forest_trees(1, m->one || m->letters ? 1 : m->colours, 0, &m->f));
    if (m->f->max >= top && m->u) return 0;
    TRY(forest_grow(m->f, top));
    size_t trees = repair_trees(m, top, top), entries = m->all + 1;
    memory_free_all(m->base, m->value, m->gamma, m->x0, m->u, m->psi, m->tolerance);
    m->prime = 1;
    m->most = 2 * trees + m->nodes + m->points + 1;
    size_t labels = m->sources * (size_t)(m->ages ? m->ages : 1);
    m->base = memory_new(entries, sizeof(RepairNumber));
    m->value = memory_new(entries, sizeof(RepairNumber));
    m->gamma = memory_new(trees, sizeof(RepairNumber));
    m->x0 = memory_new(m->c->count + 1, sizeof(RepairNumber));
    m->u = memory_new(m->letters ? trees : labels, sizeof(RepairNumber));
    m->psi = memory_new(trees * labels + 1, sizeof(RepairNumber));
    m->tolerance = memory_new(m->most, sizeof(RepairNumber));
    int all = m->base && m->value && m->gamma && m->x0 && m->u && m->psi && m->tolerance;
    return all ? 0 : ERR_MEMORY;
}

/* Returns whether a vertex of a tree is W. */
static int has_w(const RepairModel *m, size_t tree)
{
    if (m->letters || m->w < 0) return 0;
    const Tree *t = &m->f->tree[tree];
    int has = t->colour == m->w;
    for (int k = 0; k < t->children; k++) has |= has_w(m, (size_t)t->child[k]);
    return has;
}

/* Takes the scheme modulo a prime, or in long double. */
void repair_set_prime(RepairModel *m, uint64_t p)
{
    if (m->prime == p) return;
    m->prime = p;
    for (size_t i = 0; i < m->all; i++) m->base[i] = repair_rational(p, m->at[i]);
    for (size_t i = 0; i < m->slopes; i++) m->slope[i].n = repair_rational(p, m->slope[i].d);
    for (size_t k = 0; k < m->c->count; k++) m->x0[k] = repair_rational(p, m->c->list[k].value);
    size_t trees = repair_trees(m, m->f->max, m->f->max);
    for (size_t t = 0; t < trees; t++) {
        uint64_t gamma = m->letters ? 1 : m->f->tree[t].gamma;
        for (int n = repair_length(m, t); n > 1 && m->letters; n--) gamma *= (uint64_t)n;
        m->gamma[t] = p ? (RepairNumber){.m = number_invert(p, gamma % p)}
                        : (RepairNumber){.r = 1 / (long double)gamma};
        if (has_w(m, t)) m->gamma[t] = number_whole(p, 0); /* the field of W is 0 */
    }
}

/* ---- conditions ------------------------------------------------------------------------------------------- */

/* Returns the number of conditions to order q. */
size_t repair_conditions(const RepairModel *m, int q)
{
    return repair_trees(m, m->order, q) + repair_trees(m, m->hat, q) + m->nodes +
           (m->ages ? m->points + 1 : 0);
}

static void sum_row(const RepairModel *m, size_t row, const RepairNumber *u, RepairNumber *out)
{
    uint64_t p = m->prime, whole = 0;
    long double sum = 0;
    size_t first = m->first[row], end = m->first[row + 1];
    for (size_t i = first; !p && i < end; i++)
        sum += u ? m->value[i].r * u[m->entry[i].source].r : m->value[i].r;
    for (size_t i = first; p && i < end; i++) {
        whole += u ? m->value[i].m * u[m->entry[i].source].m : m->value[i].m;
        if (whole >> 63) whole %= p; /* p has 31 bits: the sum is divided once in a while */
    }
    if (p)
        out->m = whole % p;
    else
        out->r = sum;
}

/* Computes E_-j of a tree, (-j)^|t| / gamma; of sizes its absolute value. */
static RepairNumber past_state(const RepairModel *m, size_t tree, int j, int sizes)
{
    uint64_t p = m->prime;
    RepairNumber E = m->gamma[tree], by = {.m = p ? p - (uint64_t)j : 0};
    if (!p) by.r = sizes ? j : -j;
    for (int k = 0; k < m->f->tree[tree].order; k++) E = number_multiply(p, E, by);
    return E;
}

/* Sums a row, as it stands `ago` steps back, over u of slopes and over states; of the empty tree (u NULL) over states alone,
 * which are 1. Slopes that nothing reads are left out. */
static RepairNumber sum_past(const RepairModel *m, size_t row, int ago, const RepairNumber *u,
                             size_t tree, int sizes)
{
    uint64_t p = m->prime;
    RepairNumber sum = number_whole(p, 0);
    for (size_t i = m->first[row]; i < m->first[row + 1]; i++) {
        const RepairEntry *e = &m->entry[i];
        int state = e->source == m->sources, back = ago + e->past;
        if (!state && (!u || back >= m->ages)) continue;
        RepairNumber x = !state ? u[(size_t)back * m->sources + e->source]
                         : u    ? past_state(m, tree, back, sizes)
                                : number_whole(p, 1);
        sum = number_add(p, sum, number_multiply(p, m->value[i], x));
    }
    return sum;
}

/* Computes u of a function of a derivative, phi(c A) r: sum_n phi_n c^n r(t_n), where A takes a root with one child off
 * t_n to make t_(n+1), and phi_n is 1/(n + J)!, of solve 1. r(t) is kept as psi. */
static RepairNumber apply_function(RepairModel *m, size_t tree, size_t s, const RepairNumber *u)
{
    uint64_t p = m->prime;
    RepairNumber *r = &m->psi[tree * m->sources + s], power = number_whole(p, 1),
                 sum = number_whole(p, 0);
    uint64_t factorial = 1;
    sum_row(m, m->row_of[s], u, r);
    for (int k = 2; k < m->phi[s] && m->phi[s] != PHI_SOLVE; k++) factorial *= (uint64_t)k;
    for (int n = 0;; n++) {
        const Tree *t = &m->f->tree[tree];
        RepairNumber inverse = p ? (RepairNumber){.m = number_invert(p, factorial % p)}
                                 : (RepairNumber){.r = 1 / (long double)factorial};
        RepairNumber part = number_multiply(p, power, m->psi[tree * m->sources + s]);
        sum = number_add(p, sum, number_multiply(p, part, inverse));
        if (t->children != 1 || !(m->ops[s] >> t->colour & 1)) return sum;
        tree = (size_t)t->child[0];
        power = number_multiply(p, power, m->value[m->factor[s]]);
        if (m->phi[s] != PHI_SOLVE) factorial *= (uint64_t)(n + m->phi[s]);
    }
}

/* Computes the product of psi of slope i, of so many, over a tree's children. */
static void multiply_children(const RepairModel *m, const Tree *t, size_t slopes, size_t i,
                              RepairNumber *out)
{
    uint64_t p = m->prime, whole = 1;
    long double product = 1;
    for (int k = 0; !p && k < t->children; k++)
        product *= m->psi[(size_t)t->child[k] * slopes + i].r;
    for (int k = 0; p && whole && k < t->children; k++)
        whole = whole * m->psi[(size_t)t->child[k] * slopes + i].m % p;
    if (p)
        out->m = whole;
    else
        out->r = product;
}

/* Computes u, and psi if it is read, of a tree for the slopes of all ages. */
static void set_past(RepairModel *m, size_t tree, int inner, int sizes)
{
    const Tree *t = &m->f->tree[tree];
    size_t labels = (size_t)m->ages * m->sources;
    for (size_t i = 0; i < labels; i++) {
        int colour = m->colour[i % m->sources];
        m->u[i] = number_whole(m->prime, 0);
        if (colour < 0 || colour == t->colour) multiply_children(m, t, labels, i, &m->u[i]);
    }
    for (size_t i = 0; inner && i < labels; i++)
        m->psi[tree * labels + i] =
            sum_past(m, m->row_of[i % m->sources], (int)(i / m->sources), m->u, tree, sizes);
}

static void set_stages(RepairModel *m, size_t tree, RepairNumber *u)
{
    const Tree *t = &m->f->tree[tree];
    for (size_t s = 0; s < m->sources; s++) u[s] = number_whole(m->prime, 0);
    for (size_t s = 0; s < m->sources; s++) {
        if (m->phi[s])
            u[s] = apply_function(m, tree, s, u);
        else if (m->colour[s] < 0 || m->colour[s] == t->colour)
            multiply_children(m, t, m->sources, s, &u[s]);
    }
}

/* Multiplies the factors u of all words, that of the empty one is 1, by exp(c X) from behind: a word that ends in n letters X
 * takes c^k/k! from the one without k of them. Words of n letters are numbers in base m->letters behind all shorter ones. */
static void append_flow(RepairModel *m, size_t flow, int q)
{
    uint64_t p = m->prime;
    for (int n = q; n > 0; n--) {
        size_t before = repair_trees(m, n - 1, n - 1), count = repair_trees(m, n, n) - before;
        for (size_t w = 0; w < count; w++) {
            RepairNumber factor = number_whole(p, 1), *u = &m->u[before + w];
            size_t rest = w;
            for (int k = 1; k <= n && (int)(rest % m->letters) == m->colour[flow]; k++) {
                rest /= m->letters;
                factor = number_multiply(p, factor, m->value[flow]);
                factor = number_multiply(p, factor,
                                         p ? (RepairNumber){.m = number_invert(p, (uint64_t)k)}
                                           : (RepairNumber){.r = 1 / (long double)k});
                size_t shorter = n - k > 0 ? repair_trees(m, n - k - 1, n) + rest : 0;
                *u = number_add(p, *u,
                                n - k > 0 ? number_multiply(p, factor, m->u[shorter]) : factor);
            }
        }
    }
}

static void evaluate_words(RepairModel *m, int q, int sizes, RepairNumber *r)
{
    size_t words = repair_trees(m, m->order, q);
    for (size_t w = 0; w < words; w++) m->u[w] = number_whole(m->prime, 0);
    for (size_t i = 0; i < m->entries; i++) append_flow(m, i, q < m->order ? q : m->order);
    for (size_t w = 0; w < words; w++)
        r[w] = (sizes ? number_add : number_subtract)(m->prime, m->u[w], m->gamma[w]);
}

/* Computes the conditions to order q of the scheme in m->value; sizes: the sums of absolute values in their place. */
void repair_evaluate(RepairModel *m, int q, int sizes, RepairNumber *r)
{
    uint64_t p = m->prime;
    size_t own = repair_trees(m, m->order, q), hat = repair_trees(m, m->hat, q);
    size_t trees = own > hat ? own : hat, inner = repair_trees(m, q - 1, q);
    for (size_t i = 0; sizes && i < m->all; i++) m->value[i].r = fabsl(m->value[i].r);
    if (m->letters) evaluate_words(m, q, sizes, r);
    for (size_t t = 0; t < trees && !m->letters; t++) {
        if (m->ages)
            set_past(m, t, t < inner, sizes);
        else
            set_stages(m, t, m->u);
        for (size_t s = 0; t < inner && s < m->sources && !m->ages; s++) {
            RepairNumber *psi = &m->psi[t * m->sources + s];
            if (m->phi[s]) continue;                              /* r */
            int same = s > 0 && m->row_of[s] == m->row_of[s - 1]; /* F and G of one stage */
            if (same)
                *psi = psi[-1];
            else
                sum_row(m, m->row_of[s], m->u, psi);
        }
        RepairNumber y, hats;
        if (m->ages)
            y = sum_past(m, m->points, 0, m->u, t, sizes);
        else
            sum_row(m, m->points, m->u, &y);
        int counts = !m->special || !tree_vanishes(m->f, t, m->special);
        if (t < own)
            r[t] = counts ? (sizes ? number_add : number_subtract)(p, y, m->gamma[t])
                          : number_whole(p, 0);
        if (t >= hat) continue;
        sum_row(m, m->points + 1, m->u, &hats);
        y = (sizes ? number_add : number_subtract)(p, y, hats);
        r[own + t] =
            counts ? (sizes ? number_add : number_subtract)(p, y, m->gamma[t]) : number_whole(p, 0);
    }
    for (size_t i = 0; i < m->nodes; i++) {
        RepairNumber sum;
        sum_row(m, m->entry[m->entries + i].row, NULL, &sum);
        r[own + hat + i] = (sizes ? number_add : number_subtract)(p, m->value[m->entries + i], sum);
    }
    for (size_t row = 0; m->ages && row <= m->points; row++)
        r[own + hat + m->nodes + row] = (sizes ? number_add : number_subtract)(
            p, sum_past(m, row, 0, NULL, 0, sizes), number_whole(p, 1));
}

/* Sets coefficients unknown[0 .. n) to x, all others as written. */
void repair_set_values(RepairModel *m, size_t n, const size_t *unknown, const RepairNumber *x)
{
    uint64_t p = m->prime;
    memcpy(m->value, m->base, (m->all) * sizeof *m->value);
    for (size_t k = 0; k < n; k++) {
        RepairNumber by = number_subtract(p, x[k], m->x0[unknown[k]]);
        size_t low = 0, high = m->slopes;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (m->slope[middle].coefficient < unknown[k])
                low = middle + 1;
            else
                high = middle;
        }
        for (; low < m->slopes && m->slope[low].coefficient == unknown[k]; low++) {
            RepairNumber *v = &m->value[m->slope[low].entry];
            *v = number_add(p, *v, number_multiply(p, by, m->slope[low].n));
        }
    }
}

/* Returns at how many values of a coefficient the conditions to order q tell their polynomials: each is as often a factor as
 * a tree has vertices, and the factors of functions as often again. */
int repair_points(const RepairModel *m, int q)
{
    return (m->functions ? 2 * q : q) + 1;
}
