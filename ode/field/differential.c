/* differential.c: derivatives of fields that are known by their values alone.
 *
 *     f^(k)(v1 .. vk) = 2^(1-k) sum over signs, s1 = 1, of s2 .. sk c_k(v1 + s2 v2 + ...),
 * c_k(w) the k-th Taylor coefficient of x -> f(y + x w) at 0, from PAIRS symmetric pairs of values: exact up to x^(2
 * PAIRS). Truncation ~ x^11 and rounding eps balance at x near eps^(1/11) for every k. Elementary differentials are
 * such derivatives of each other, from the leaves up.
 *
 * Time: each operator has its own clock, one more coordinate. Where the forest has clocks as leaves they alone move
 * these, by 1; else a field's leaf moves its own, by 1 / weight (step.c), which comes to the same where nodes follow
 * the rule.
 * Source: polarisation: Thomas 2014, "A polarization identity for multilinear maps".
 */
#include "ode/field/differential.h"

#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"

enum { STEPS_MAX = 8 };            /* most steps of differences tried */
static const double enough = 1e-6; /* agreement asked for */
static const double first_step = 0.08, step_ratio = 0.6;

/* ---- fields and their derivatives ----------------------------------------------------------------- */

/* Computes dx (N), the field of a colour at y + c w, w (N + COLOURS). */
static void field(const Differ *m, int op, double c, const double *w, double *dx)
{
    double t = m->t + c * w[m->N + (size_t)op];
    for (size_t i = 0; i < m->N; i++) m->x[i] = m->y[i] + c * w[i];
    m->s->field[op](m->s, 1, t, m->x, dx);
    if (!m->one) return;
    for (int other = op + 1; other < m->colours; other++) {
        m->s->field[other](m->s, 1, t, m->x, m->other);
        for (size_t i = 0; i < m->N; i++) dx[i] += m->other[i];
    }
}

/* Returns the coefficient of x^power in Lagrange's polynomial of node j^2 among 1, .., PAIRS^2. */
static double lagrange(int j, int power)
{
    double c[PAIRS] = {1};
    int degree = 0;
    for (int i = 1; i <= PAIRS; i++) {
        if (i == j) continue;
        double scale = 1.0 / (j * j - i * i);
        for (int k = ++degree; k >= 0; k--)
            c[k] = scale * ((k ? c[k - 1] : 0) - (k < degree ? i * i * c[k] : 0));
    }
    return c[power];
}

/* Finds the weights of c_k = sum_j weight[k][j-1] (g(j) + (-1)^k g(-j) - [k even] 2 g(0)) / 2: the
 * part of g of k's parity, divided by x or x^2, is a polynomial in x^2, interpolated at 1, 4, ... */
static void find_weights(Differ *m)
{
    for (int k = 1; k < ORDER_MAX; k++)
        for (int j = 1; j <= PAIRS; j++)
            m->weight[k][j - 1] = lagrange(j, (k - 1) / 2) / (k % 2 ? j : j * j);
}

/* Adds c times the k-th Taylor coefficient of x -> op(y + x w) to out (N); at0: the field at y. */
static void add_taylor(Differ *m, int op, int k, double c, const double *w, const double *at0,
                       double *out)
{
    double size = 0, sign = k % 2 ? -1 : 1;
    for (size_t i = 0; i < m->N + COLOURS; i++) size = fmax(size, fabs(w[i]));
    if (size == 0) return;
    double step = m->step * m->length / size;
    for (int j = 1; j <= PAIRS; j++) {
        double a = c * m->weight[k][j - 1] / 2 / pow(step, k);
        field(m, op, j * step, w, m->dx);
        for (size_t i = 0; i < m->N; i++) out[i] += a * (m->dx[i] - (k % 2 ? 0 : at0[i]));
        field(m, op, -j * step, w, m->dx);
        for (size_t i = 0; i < m->N; i++) out[i] += a * (sign * m->dx[i] - (k % 2 ? 0 : at0[i]));
    }
}

/* ---- elementary differentials ----------------------------------------------------------------------- */

double *differ_value(const Differ *m, size_t tree)
{
    return m->value + tree * (m->N + COLOURS);
}

/* Computes w = v1 + sum of s_i v_i; bit i-2 of `signs` is set where s_i = -1. Returns s2 .. sk. */
static double direction(const Differ *m, const Tree *t, unsigned signs)
{
    double product = 1;
    memcpy(m->w, differ_value(m, (size_t)t->child[0]), (m->N + COLOURS) * sizeof(double));
    for (int c = 1; c < t->children; c++) {
        const double *v = differ_value(m, (size_t)t->child[c]);
        double s = signs >> (c - 1) & 1 ? -1 : 1;
        for (size_t i = 0; i < m->N + COLOURS; i++) m->w[i] += s * v[i];
        product *= s;
    }
    return product;
}

static int is_matrix(const Differ *m, const Tree *t)
{
    return m->f->w && t->colour == OP_C;
}

/* Adds W v to out (N): the derivative of F + G at the initial state, where the run began; clocks stand (functions.c). */
static void add_matrix(Differ *m, const double *v, double *out)
{
    const double *y = m->y;
    double t = m->t;
    memset(m->w, 0, (m->N + COLOURS) * sizeof *m->w);
    memcpy(m->w, v, m->N * sizeof *m->w);
    differ_stand(m, 0, m->s->initial);
    for (int op = 0; op < OP_C; op++) add_taylor(m, op, 1, 1, m->w, NULL, out);
    differ_stand(m, t, y);
}

/* Computes F(t)(y) of a tree whose children are known. A field's leaf has its colour's number. */
static void evaluate(Differ *m, size_t tree)
{
    const Tree *t = &m->f->tree[tree];
    double *out = differ_value(m, tree);
    memset(out, 0, (m->N + COLOURS) * sizeof *out);
    if (tree_is_clock(m->f, tree)) {
        out[m->N + (size_t)(t->colour - COLOURS)] = 1;
        return;
    }
    if (t->children == 0) {
        memset(m->w, 0, (m->N + COLOURS) * sizeof *m->w);
        field(m, t->colour, 0, m->w, out);
        if (!m->f->timed) out[m->N + (size_t)t->colour] = m->speed[t->colour];
        return;
    }
    if (is_matrix(m, t)) {
        add_matrix(m, differ_value(m, (size_t)t->child[0]), out);
        return;
    }
    unsigned all = 1u << (t->children - 1);
    for (unsigned signs = 0; signs < all; signs++) {
        double s = direction(m, t, signs);
        add_taylor(m, t->colour, t->children, s / all, m->w, differ_value(m, (size_t)t->colour),
                   out);
    }
}

void differ_stand(Differ *m, double t, const double *y)
{
    double size = system_rms(m->N, y, NULL);
    m->t = t;
    m->y = y;
    m->length = size > 0 ? size : 1;
}

void differ_mark(Differ *m, size_t tree)
{
    const Tree *t = &m->f->tree[tree];
    m->needed[tree] = 1;
    if (!tree_is_clock(m->f, tree) && !is_matrix(m, t)) m->needed[t->colour] = 1;
    for (int i = 0; i < t->children; i++) differ_mark(m, (size_t)t->child[i]);
}

void differ_evaluate(Differ *m)
{
    for (size_t i = 0; i < m->f->count; i++)
        if (m->needed[i]) evaluate(m, i);
}

void differ_along(Differ *m, int op, double c, const double *w, double *out)
{
    add_taylor(m, op, 1, c, w, NULL, out);
}

double differ_work(const Differ *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->f->count; i++)
        if (m->needed[i] && m->f->tree[i].children) sum += PAIRS * (1 << m->f->tree[i].children);
    return sum;
}

int differ_new(Differ *m, const System *s, const Forest *f, int one)
{
    size_t count = f ? f->count : 0;
    *m = (Differ){.s = s,
                  .f = f,
                  .N = s->n * s->d,
                  .one = one,
                  .colours = f ? f->colours : 2,
                  .step = first_step};
    m->needed = memory_new(count, 1);
    m->value = memory_new(count + 4, (m->N + COLOURS) * sizeof(double));
    if (!m->needed || !m->value) {
        differ_free(m);
        return ERR_MEMORY;
    }
    m->w = differ_value(m, count);
    m->x = m->w + m->N + COLOURS;
    m->dx = m->x + m->N + COLOURS;
    m->other = m->dx + m->N + COLOURS;
    find_weights(m);
    return 0;
}

void differ_free(Differ *m)
{
    m->needed = memory_free(m->needed);
    m->value = memory_free(m->value);
}

/* ---- for others -------------------------------------------------------------------------------------- */

static void mark_order(Differ *m, int order)
{
    for (size_t i = m->f->first[order]; i < m->f->first[order + 1]; i++)
        if (!m->one || tree_is_F(m->f, i)) differ_mark(m, i);
}

/* Returns the RMS change of an order's values over their RMS; 0 where all are rounding. */
static double change(const Differ *m, int order, const double *last)
{
    double off = 0, all = 0;
    for (size_t i = m->f->first[order]; i < m->f->first[order + 1]; i++)
        for (size_t k = 0; k < m->N; k++) {
            double v = differ_value(m, i)[k], d = v - last[i * m->N + k];
            off += d * d;
            all += v * v;
        }
    return all > 0 ? sqrt(off / all) : off > 0 ? INFINITY : 0;
}

static void keep(const Differ *m, double *out)
{
    for (size_t i = 0; i < m->f->count; i++)
        memcpy(out + i * m->N, differ_value(m, i), m->N * sizeof *out);
}

/* Shrinks the step until two in a row agree; the values of the best pair stay. */
static void shrink(Differ *m, int order, double *last, Differentials *out)
{
    out->accuracy = INFINITY;
    for (int k = 0; k < STEPS_MAX && !(out->accuracy <= enough); k++) {
        differ_evaluate(m);
        double off = k ? change(m, order, last) : INFINITY;
        keep(m, last);
        m->step *= step_ratio;
        if (k && !(off < out->accuracy)) continue;
        out->accuracy = off;
        memcpy(out->value, last, m->f->count * m->N * sizeof *last);
    }
}

int differentials_find(const Forest *f, const System *s, int order, int one, Differentials *out)
{
    Differ m;
    *out = (Differentials){0};
    if (order < 1 || order > f->max || order > ORDER_MAX)
        return error_set(ERR_MISUSE, "no elementary differentials of order %d", order);
    TRY(differ_new(&m, s, f, one));
    SCOPED(memory_drop) double *last = memory_new(f->count, m.N * sizeof *last);
    out->value = memory_new(f->count, m.N * sizeof *out->value);
    int code = last && out->value ? 0 : ERR_MEMORY;
    if (code == 0) {
        for (int op = 0; op < m.colours; op++) m.speed[op] = 1;
        mark_order(&m, order);
        differ_stand(&m, 0, s->initial);
        shrink(&m, order, last, out);
    } else {
        differentials_free(out);
    }
    differ_free(&m);
    return code;
}

void differentials_free(Differentials *d)
{
    d->value = memory_free(d->value);
}

double differentials_work(const Forest *f, int order, int one)
{
    double sum = 0;
    for (size_t i = 0; i < f->first[order + 1]; i++)
        if (f->tree[i].children && !(one && !tree_is_F(f, i)))
            sum += PAIRS * (1 << f->tree[i].children);
    return sum;
}

void differentials_jacobian(const System *s, int op, int set, double t, const double *step,
                            double *y, double *work, double *J)
{
    size_t N = s->n * s->d;
    double *plus = work, *minus = work + N;
    for (size_t k = 0; k < N; k++) {
        double at = y[k];
        y[k] = at + step[k];
        s->field[op](s, set, t, y, plus);
        y[k] = at - step[k];
        s->field[op](s, set, t, y, minus);
        y[k] = at;
        for (size_t i = 0; i < N; i++) J[i * N + k] = (plus[i] - minus[i]) / (2 * step[k]);
    }
}
