/* series.c: B-series of flows and of tables, in exact rationals.
 *
 * For a table every tree t is met in rising order, and at each t in turn
 *     K_e(t) = [root of t has the colour of e] prod over children c of Y_point(e)(c)
 *     S_ej(t) = (exact flow over -j h, then K_e)(t)          slopes of j steps ago
 *     Y_p(t) = sum u_pj E_-j(t) + sum a_pe K_e(t) + sum a_pej S_ej(t)
 * and for a child that is a clock Y is the evaluation's node.
 * An exponential stage has K_e(t) = sum over j of c^j / (j + J)! r(t_j), r its row, t_0 = t and t_(j+1) the only child of t_j,
 * as long as the root of t_j has a colour of A and that child alone: A applied to a series plants it on such a root. A
 * resolvent has 1 in place of 1 / (j + J)!, and its A acts on time too: a clock is the node of the row.
 * What is carried has a series V_c too, which the updates reproduce a step later. So at tree t, behind K(t),
 *     sum_d (1 - W)_cd V_d(t) = (the rest of the row of v_c)(t) - ((exact flow over h, then V_c)(t) - V_c(t)),
 * W the weights of the updates on what is carried; the right side has V on smaller trees alone, and Y(t) comes then
 * (general linear methods and the one-step method that underlies them: Butcher 2006, Stoffer 1993).
 * But for this matrix nothing has to be solved: K needs only smaller trees (Butcher 2006, section 6; with colours
 * Araujo, Murua, Sanz-Serna 1997). On the way of a flow a tree is a polynomial of time: where its root has the flow's colour, the
 * integral of the product over its children; else it does not move. Of inexact tables all values have 320 bits. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/tick.h"
#include "ode/theory/theory.h"
#include "ode/scheme/rationals.h"

int series_new(const Forest *f, Series **out)
{
    SCOPED(series_drop) Series *s = memory_new(1, sizeof(Series));
    *out = NULL;
    if (!s) return ERR_MEMORY;
    s->forest = f;
    mpq_init(s->empty);
    if (!(s->a = rationals_new(f->count))) return ERR_MEMORY;
    *out = s;
    s = NULL;
    return 0;
}

void series_free(Series *s)
{
    if (!s) return;
    rationals_free(s->a);
    mpq_clear(s->empty);
    memory_free(s);
}

/* Computes a(t) = prod over vertices of their speed / gamma(t), from children to parents, with gamma(t) = |t| prod
 * gamma(child). The speed of a colour is theta weight, that of a clock theta. */
void series_exact(Series *s, const mpq_t theta, mpq_t weight[COLOURS])
{
    mpq_set_ui(s->empty, 1, 1);
    for (size_t i = 0; i < s->forest->count; i++) {
        const Tree *t = &s->forest->tree[i];
        mpq_set(s->a[i], theta);
        if (t->colour < COLOURS) mpq_mul(s->a[i], s->a[i], weight[t->colour]);
        rational_divide(s->a[i], (unsigned long)t->order);
        for (int k = 0; k < t->children; k++) mpq_mul(s->a[i], s->a[i], s->a[t->child[k]]);
    }
}

/* Computes out = sum over cuts of t of b(kept) prod a(cut), with b(empty) given. */
static void compose_tree(const Forest *f, size_t t, mpq_t *a, mpq_t *b, const mpq_t b_empty,
                         mpq_t out)
{
    RATIONAL(count);
    RATIONAL_SUM(sum);
    for (size_t i = 0; i < f->cuts[t]; i++) {
        const Cut *c = &f->cut[t][i];
        const __mpq_struct *kept = c->kept < 0 ? b_empty : b[c->kept];
        if (mpq_sgn(kept) == 0) continue;
        mpq_set_si(count, c->count, 1);
        rational_sum_begin(&sum, kept, count);
        for (int k = 0; k < c->cuts; k++) rational_sum_times(&sum, a[c->cut[k]]);
        rational_sum_take(&sum);
    }
    rational_sum_end(&sum, out);
}

void series_compose(Series *c, const Series *a, const Series *b)
{
    mpq_set(c->empty, b->empty);
    for (size_t t = 0; t < c->forest->count; t++)
        compose_tree(c->forest, t, a->a, b->a, b->empty, c->a[t]);
}

/* Computes out, the derivative of c along b at tree t: sum over single cuts of c(kept) b(cut). */
static void derive_tree(const Forest *f, size_t t, mpq_t *b, mpq_t *c, mpq_t out)
{
    RATIONALS(product, count);
    mpq_set_ui(out, 0, 1);
    for (size_t i = 0; i < f->cuts[t]; i++) {
        const Cut *k = &f->cut[t][i];
        if (k->cuts != 1 || k->kept < 0) continue;
        mpq_set_si(count, k->count, 1);
        mpq_mul(product, c[k->kept], b[k->cut[0]]);
        rational_add(out, product, count);
    }
}

/* The derivatives D[j][tree] of series_log. */
typedef struct {
    int max;
    mpq_t **D; /* (max + 1): D[0] is none, D[1] another's */
} Derivatives;

static void derivatives_free(Derivatives *d)
{
    for (int j = 2; d->D && j <= d->max; j++) rationals_free(d->D[j]);
    memory_free(d->D);
}

/* The flow of b over time 1 is the sum of D_j / j!, D_j the j-th derivative of y along b: D_1 = b, and for j > 1
 * D_j(t) needs b on smaller trees alone. So b(t) = s(t) - sum over j = 2 .. |t| of D_j(t) / j!, tree by tree. */
int series_log(Series *b, const Series *s)
{
    const Forest *f = s->forest;
    SCOPED(derivatives_free) Derivatives d = {f->max, memory_new((size_t)f->max + 1, sizeof *d.D)};
    if (!d.D) return ERR_MEMORY;
    for (int j = 2; j <= f->max; j++)
        if (!(d.D[j] = rationals_new(f->count))) return ERR_MEMORY;
    RATIONAL(over);
    d.D[1] = b->a;
    mpq_set_ui(b->empty, 0, 1);
    for (size_t i = 0; i < f->count; i++) {
        mpq_set(b->a[i], s->a[i]);
        mpq_set_ui(over, 1, 1);
        for (int j = 2; j <= f->tree[i].order; j++) {
            derive_tree(f, i, b->a, d.D[j - 1], d.D[j][i]);
            rational_divide(over, (unsigned)j); /* 1 / j! */
            rational_subtract(b->a[i], over, d.D[j][i]);
        }
    }
    return 0;
}

/* ---- splittings ------------------------------------------------------------------------------------- */

/* A step on its way: a (trees), and within a flow over theta in [0, 1] polynomials p[tree][k] theta^k. */
typedef struct {
    const Forest *f;
    int exact, *degree;
    mpq_t *p, *product, *next; /* p: (trees, max + 1); (max + 1) */
} Moving;

static void moving_free(Moving *m)
{
    rationals_free(m->p);
    rationals_free(m->product);
    rationals_free(m->next);
    memory_free(m->degree);
}

/* Multiplies the product, of this degree, by a tree's polynomial. Returns the new degree. */
static int multiply(Moving *m, int degree, int tree)
{
    mpq_t *p = m->p + tree * (m->f->max + 1), *swap = m->product;
    int more = m->degree[tree];
    for (int k = 0; k <= degree + more; k++) mpq_set_ui(m->next[k], 0, 1);
    for (int i = 0; i <= degree; i++)
        for (int k = 0; k <= more; k++) rational_add(m->next[i + k], m->product[i], p[k]);
    m->product = m->next;
    m->next = swap;
    return degree + more;
}

/* Moves a tree: d/d theta is `speed` times the product over its children, where it is the flow's. */
static void move_tree(Moving *m, size_t tree, const mpq_t speed)
{
    const Tree *t = &m->f->tree[tree];
    mpq_t *p = m->p + tree * (size_t)(m->f->max + 1);
    int degree = 0;
    mpq_set(m->product[0], speed);
    for (int k = 0; k < t->children; k++) degree = multiply(m, degree, t->child[k]);
    for (int k = 0; k <= degree; k++) {
        mpq_set(p[k + 1], m->product[k]);
        rational_divide(p[k + 1], (unsigned)k + 1);
        if (!m->exact) rational_shorten(p[k + 1]);
    }
    m->degree[tree] = degree + 1;
}

/* Moves all trees by a flow over c + s im. Its own clock alone moves, by its share of the operator's weight in the field. */
static void move(Moving *m, const Table *t, const Flow *flow, const mpq_t s, mpq_t *a)
{
    RATIONALS(speed, clock);
    mpq_set(speed, flow->c);
    rational_add(speed, s, flow->im);
    if (!t->exact) rational_shorten(speed);
    if (mpq_sgn(t->weight[flow->op]) != 0) mpq_div(clock, speed, t->weight[flow->op]);
    for (size_t i = 0; i < m->f->count; i++) {
        int colour = m->f->tree[i].colour;
        m->degree[i] = 0;
        mpq_set(m->p[i * (size_t)(m->f->max + 1)], a[i]);
        if (colour % COLOURS == flow->op) move_tree(m, i, colour < COLOURS ? speed : clock);
    }
    for (size_t i = 0; i < m->f->count; i++) {
        for (int k = 1; k <= m->degree[i]; k++)
            mpq_add(a[i], a[i], m->p[i * (size_t)(m->f->max + 1) + (size_t)k]);
        if (!t->exact) rational_shorten(a[i]);
    }
}

/* Composes *step with a flow by a method, which is its stages. */
static int method_step(const Forest *f, const Flow *flow, Series **step)
{
    SCOPED(series_drop) Series *stages = NULL, *before = *step;
    *step = NULL;
    if (!flow->by)
        return error_set(ERR_MISUSE, "the method '%s' of a flow is not found yet", flow->method);
    TRY(series_step(f, flow->by, &stages));
    TRY(series_new(f, step));
    series_compose(*step, before, stages);
    return 0;
}

/* Finds the series of the flows with the number s in the place of i, of so many the k-th (for who asks how far it is). */
static int flows_at(const Forest *f, const Table *t, const mpq_t s, long k, long all, Series **out)
{
    size_t wide = (size_t)f->max + 1;
    SCOPED(moving_free)
    Moving m = {f,
                t->exact,
                memory_new(f->count, sizeof *m.degree),
                rationals_new(f->count * wide),
                rationals_new(wide),
                rationals_new(wide)};
    if (!m.degree || !m.p || !m.product || !m.next) return ERR_MEMORY;
    TRY(series_new(f, out));
    mpq_set_ui((*out)->empty, 1, 1); /* the identity */
    for (size_t i = 0; i < t->flows; i++) {
        tick_of((double)i + (double)k * (double)t->flows, (double)all * (double)t->flows);
        if (t->flow[i].method)
            TRY(method_step(f, &t->flow[i], out));
        else
            move(&m, t, &t->flow[i], s, (*out)->a);
    }
    return 0;
}

/* Computes the real part of the value at i of the polynomial that is 1 at node k of 0 .. n and 0 at the others. Nodes are 0 .. n
 * less n / 2: numbers remain short. */
static void real_weight(long n, long k, mpq_t out)
{
    RATIONALS(im, x, node);
    mpq_set_ui(out, 1, 1);
    for (long j = 0; j <= n; j++) {
        if (j == k) continue;
        mpq_set_si(node, j - n / 2, 1);
        mpq_set(x, out); /* times (i - node) / (k - j) */
        mpq_mul(out, out, node);
        mpq_add(out, out, im);
        mpq_mul(im, im, node);
        mpq_sub(im, x, im);
        mpq_neg(out, out);
        mpq_set_si(node, k - j, 1);
        mpq_div(out, out, node);
        mpq_div(im, im, node);
    }
}

/* Of complex fractions c + im i it is the real part. A tree of n vertices is a polynomial of degree n in i: what it is at n + 1
 * numbers s in the place of i, where all is real, gives its value at i. */
static int flows_series(const Forest *f, const Table *t, Series **out)
{
    RATIONALS(s, weight);
    if (!table_complex(t)) return flows_at(f, t, s, 0, 1, out);
    TRY(series_new(f, out));
    mpq_set_ui((*out)->empty, 1, 1);
    for (long k = 0; k <= f->max; k++) {
        SCOPED(series_drop) Series *real = NULL;
        mpq_set_si(s, k - f->max / 2, 1);
        real_weight(f->max, k, weight);
        TRY(flows_at(f, t, s, k, f->max + 1, &real));
        for (size_t i = 0; i < f->count; i++) rational_add((*out)->a[i], weight, real->a[i]);
    }
    return 0;
}

/* ---- tables ----------------------------------------------------------------------------------------- */

/* Values of everything in a table, by [index][tree]; S[e][j-1] for slopes of j steps ago. */
typedef struct {
    const Forest *forest;
    const Table *table;
    mpq_t **K, **Y, ***S;
    mpq_t *node;     /* (evals) on its operator's clock */
    Series **E;      /* E[j]: exact flow over -j h, j = 0 .. deepest */
    mpq_t **V;       /* (carries) what is carried */
    mpq_t *held;     /* (carries) its part in y */
    mpq_t *next;     /* (carries) room for the right sides */
    Series *forward; /* exact flow over h */
    int depth;
} Work;

static void work_free(Work *w)
{
    const Table *t = w->table;
    for (size_t e = 0; e < t->evals; e++) {
        if (w->K) rationals_free(w->K[e]);
        for (int j = 0; w->S && w->S[e] && j < t->past_k; j++) rationals_free(w->S[e][j]);
        if (w->S) memory_free(w->S[e]);
    }
    for (size_t p = 0; w->Y && p < t->points; p++) rationals_free(w->Y[p]);
    for (int j = 0; w->E && j <= w->depth; j++) series_free(w->E[j]);
    for (size_t c = 0; w->V && c < t->carries; c++) rationals_free(w->V[c]);
    series_free(w->forward);
    rationals_free(w->node);
    rationals_free(w->held);
    rationals_free(w->next);
    memory_free_all(w->K, w->Y, w->S, w->E, w->V);
}

static int exact_pasts(Work *w)
{
    RATIONAL(theta);
    for (int j = 0; j <= w->depth; j++) {
        TRY(series_new(w->forest, &w->E[j]));
        mpq_set_si(theta, -j, 1);
        series_exact(w->E[j], theta, ((Table *)w->table)->weight);
    }
    return 0;
}

static int new_carried(Work *w)
{
    const Table *t = w->table;
    if (!(w->V = memory_new(t->carries, sizeof *w->V)) || !(w->held = rationals_new(t->carries)) ||
        !(w->next = rationals_new(t->carries)))
        return ERR_MEMORY;
    for (size_t c = 0; c < t->carries; c++)
        if (!(w->V[c] = rationals_new(w->forest->count))) return ERR_MEMORY;
    if (!t->carries) return 0;
    TRY(series_new(w->forest, &w->forward));
    series_exact(w->forward, rational_one, ((Table *)t)->weight);
    return carried_states(t, w->held);
}

static int work_new(Work *w, const Forest *f, const Table *t)
{
    *w = (Work){.forest = f, .table = t, .depth = t->past_y > t->past_k ? t->past_y : t->past_k};
    if (!(w->K = memory_new(t->evals, sizeof *w->K)) ||
        !(w->Y = memory_new(t->points, sizeof *w->Y)) ||
        !(w->S = memory_new(t->evals, sizeof *w->S)) || !(w->node = rationals_new(t->evals)) ||
        !(w->E = memory_new((size_t)w->depth + 1, sizeof *w->E)))
        return ERR_MEMORY;
    for (size_t p = 0; p < t->points; p++)
        if (!(w->Y[p] = rationals_new(f->count))) return ERR_MEMORY;
    for (size_t e = 0; e < t->evals; e++) {
        table_time(t, &t->point[t->eval[e].point], t->eval[e].op, w->node[e]);
        if (!(w->K[e] = rationals_new(f->count))) return ERR_MEMORY;
        if (!(w->S[e] = memory_new((size_t)t->past_k, sizeof **w->S))) return ERR_MEMORY;
        for (int j = 0; j < t->past_k; j++)
            if (!(w->S[e][j] = rationals_new(f->count))) return ERR_MEMORY;
    }
    TRY(new_carried(w));
    return exact_pasts(w);
}

static void row_at(const Work *w, const Row *r, size_t i, mpq_t out)
{
    RATIONAL_SUM(sum);
    for (size_t k = 0; k < r->terms; k++) {
        const Term *s = &r->term[k];
        const __mpq_struct *value = s->eval == TABLE_STATE ? w->E[s->past]->a[i]
                                    : s->eval < 0          ? w->V[TABLE_CARRIED - s->eval][i]
                                    : s->past == 0         ? w->K[s->eval][i]
                                                           : w->S[s->eval][s->past - 1][i];
        if (mpq_sgn(value) == 0) continue;
        rational_sum_begin(&sum, s->c, value);
        rational_sum_take(&sum);
    }
    rational_sum_end(&sum, out);
    if (!w->table->exact) rational_shorten(out);
}

/* Computes K = phi_J(scale h A) Y, or solve's, at tree i, from Y at tree i and smaller ones. */
static void apply_phi(const Work *w, const Point *p, mpq_t *Y, size_t i, mpq_t K)
{
    const Tree *t = &w->forest->tree[i];
    RATIONALS(factor, node);
    mpq_set_ui(factor, 1, 1);
    point_coefficient(p, 0, factor);
    mpq_mul(K, factor, Y[i]);
    for (unsigned n = 1; t->children == 1 && p->ops >> t->colour & 1; n++) {
        int child = t->child[0], clock = tree_is_clock(w->forest, (size_t)child);
        point_coefficient(p, n, factor);
        mpq_mul(factor, factor, p->scale);
        if (clock && p->phi == PHI_SOLVE) table_time(w->table, p, t->colour, node);
        rational_add(K, factor, clock ? node : Y[child]);
        t = &w->forest->tree[child];
    }
}

/* Finds what is carried at tree i, from the slopes there and smaller trees. Its own V(i) is 0 so far. */
static int carry_at(Work *w, size_t i)
{
    const Table *t = w->table;
    RATIONAL(later);
    for (size_t c = 0; c < t->carries; c++) {
        row_at(w, &t->carry[c].update, i, w->next[c]);
        compose_tree(w->forest, i, w->forward->a, w->V[c], w->held[c], later);
        mpq_sub(w->next[c], w->next[c], later);
    }
    if (t->carries) TRY(carried_solve(t, 0, w->next));
    for (size_t c = 0; c < t->carries; c++) {
        mpq_set(w->V[c][i], w->next[c]);
        if (!t->exact) rational_shorten(w->V[c][i]);
    }
    return 0;
}

static int evaluate_at(Work *w, size_t i)
{
    const Tree *t = &w->forest->tree[i];
    const Table *table = w->table;
    RATIONAL(zero);
    for (size_t e = 0; e < table->evals; e++) {
        const Point *p = eval_point(table, (int)e);
        mpq_t *Y = w->Y[table->eval[e].point];
        mpq_set_ui(w->K[e][i], t->colour == table->eval[e].op, 1);
        for (int k = 0; k < t->children && !p->phi; k++)
            mpq_mul(w->K[e][i], w->K[e][i],
                    tree_is_clock(w->forest, (size_t)t->child[k]) ? w->node[e] : Y[t->child[k]]);
        if (!table->exact) rational_shorten(w->K[e][i]);
        if (p->phi) {
            row_at(w, &p->row, i, Y[i]);
            apply_phi(w, p, Y, i, w->K[e][i]);
        }
        for (int j = 0; j < table->past_k; j++)
            compose_tree(w->forest, i, w->E[j + 1]->a, w->K[e], zero, w->S[e][j][i]);
    }
    TRY(carry_at(w, i));
    for (size_t p = 0; p < table->points; p++) row_at(w, &table->point[p].row, i, w->Y[p][i]);
    return 0;
}

/* Returns whether a sum of state weights is 1, in inexact tables to 1e-12. */
static int is_one(const Table *t, const mpq_t sum)
{
    double off = mpq_get_d(sum) - 1;
    return t->exact ? mpq_cmp_ui(sum, 1, 1) == 0 : off < 1e-12 && off > -1e-12;
}

int series_check(const Table *t)
{
    RATIONAL(sum);
    size_t p = 0;
    SCOPED(rationals_drop) mpq_t *held = rationals_new(t->carries);
    if (!held) return ERR_MEMORY;
    int code = carried_states(t, held);
    if (code != 0) return code == ERR_INPUT ? ERR_ACCURACY : code; /* some weights W have no V */
    while (p < t->points &&
           (table_states(t, &t->point[p].row, sum), t->point[p].phi || is_one(t, sum)))
        p++;
    if (p == t->points) return 0;
    size_t e = 0;
    while (t->eval[e].point != (int)p) e++;
    return error_set(ERR_ACCURACY,
                     "%s: the state weights of stage k%d do not sum to 1: no expansion about y",
                     t->name, t->eval[e].stage + 1);
}

static int work_run(Work *w, const Forest *f, const Table *t)
{
    TRY(series_check(t));
    TRY(work_new(w, f, t));
    for (size_t i = 0; i < f->count; i++) {
        tick_of((double)i, (double)f->count);
        TRY(evaluate_at(w, i));
    }
    return 0;
}

static int stages_series(const Forest *f, const Table *t, Series **out)
{
    SCOPED(work_free) Work w = {.forest = f, .table = t};
    TRY(work_run(&w, f, t));
    TRY(series_new(f, out));
    table_states(t, &t->update, (*out)->empty);
    for (size_t i = 0; i < f->count; i++) {
        row_at(&w, &t->update, i, (*out)->a[i]);
        if (tree_is_clock(f, i)) mpq_set((*out)->a[i], (*out)->empty); /* a step goes h */
    }
    return 0;
}

int series_slopes(const Forest *f, const Table *t, Series **slope)
{
    SCOPED(work_free) Work w = {.forest = f, .table = t};
    TRY(work_run(&w, f, t));
    for (size_t e = 0; e < t->evals; e++) {
        TRY(series_new(f, &slope[e]));
        for (size_t i = 0; i < f->count; i++) mpq_set(slope[e]->a[i], w.K[e][i]);
    }
    return 0;
}

int series_carried(const Forest *f, const Table *t, int after, Series **carried)
{
    SCOPED(work_free) Work w = {.forest = f, .table = t};
    TRY(work_run(&w, f, t));
    for (size_t c = 0; c < t->carries; c++) {
        TRY(series_new(f, &carried[c]));
        if (after)
            table_states(t, &t->carry[c].update, carried[c]->empty);
        else
            mpq_set(carried[c]->empty, w.held[c]);
        for (size_t i = 0; i < f->count; i++)
            if (after)
                row_at(&w, &t->carry[c].update, i, carried[c]->a[i]);
            else
                mpq_set(carried[c]->a[i], w.V[c][i]);
    }
    return 0;
}

int series_one_colour(const Table *t)
{
    int one = table_one_field(t);
    for (int op = 0; op < t->colours; op++) one &= mpq_cmp_ui(t->weight[op], 1, 1) == 0;
    return one;
}

int series_forest(const Table *t, int max, int colours, int timed, Forest **out)
{
    int shaped = colours > 1 && series_one_colour(t);
    int cuts = ((t->past_k || t->carries) && !shaped) || table_methods(t);
    return (cuts ? forest_timed : forest_trees)(max, colours, timed, out);
}

/* Finds the series where all stages are H: a tree's coefficient is that of its shape. */
static int shaped_series(const Forest *f, const Table *t, Series **out)
{
    SCOPED(forest_drop) Forest *one = NULL;
    SCOPED(series_drop) Series *s = NULL;
    SCOPED(memory_drop) int *shape = memory_new(f->count, sizeof *shape);
    if (!shape) return ERR_MEMORY;
    TRY(series_forest(t, f->max, 1, f->timed, &one));
    TRY(stages_series(one, t, &s));
    TRY(series_new(f, out));
    forest_shapes(f, one, shape);
    for (size_t i = 0; i < f->count; i++) mpq_set((*out)->a[i], s->a[shape[i]]);
    mpq_set((*out)->empty, s->empty);
    return 0;
}

int series_step(const Forest *f, const Table *t, Series **out)
{
    *out = NULL;
    if (t->flows) return flows_series(f, t, out);
    return f->colours > 1 && series_one_colour(t) ? shaped_series(f, t, out)
                                                  : stages_series(f, t, out);
}
