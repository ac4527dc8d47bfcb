/* structure.c: symmetry, symplecticity and error constants, read off a table.
 *
 * A Runge-Kutta method, additive or not, is symmetric iff it is its adjoint, of coefficients b_j - a_ij and b_j. Stages of
 * both are joined where no tree tells them apart (Hundsdorfer, Spijker 1981); those left have elementary weights that are
 * linearly independent, so the difference of the two updates is 0 iff each of its weights is (Butcher 1972, "An
 * algebraic theory of integration methods"; Hairer, Lubich, Wanner 2006, section V.2.1). How far S(-h) S(h) is the identity
 * goes by series: S(-h) has the series (-1)^|t| a(t). A separable Hamiltonian has F'F = G'G = 0, so only trees
 * without an edge between equal colours remain. Other one-step tables are symmetric as far as trees go, unless R(z) R(-z)
 * is not 1 somewhere. Symplecticity: b_i a_ij +
 * b_j a_ji = b_i b_j for all pairs of evaluations, on separable Hamiltonians for the pairs of F with G
 * (Sanz-Serna 1988; Suris 1990; Abia, Sanz-Serna 1993), after evaluations that are equal have been joined
 * and those without effect dropped; so the condition is necessary too. Symplecticity of methods with
 * history is not decided. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/theory/joined.h"
#include "ode/theory/lie.h"
#include "ode/scheme/rationals.h"

#include <math.h>
#include <string.h>

/* ---- flows ------------------------------------------------------------------------------------------- */

/* Joins neighbours of one operator, drops flows over 0. op, c (flows) out; returns the count. */
static size_t join_flows(const Table *t, int *op, mpq_t *c)
{
    size_t n = 0;
    for (size_t i = 0; i < t->flows; i++) {
        if (n > 0 && op[n - 1] == t->flow[i].op) {
            mpq_add(c[n - 1], c[n - 1], t->flow[i].c);
        } else {
            op[n] = t->flow[i].op;
            mpq_set(c[n++], t->flow[i].c);
        }
        if (theory_is_zero(t, c[n - 1])) n--;
    }
    return n;
}

static int is_palindrome(const Table *t, int *yes)
{
    SCOPED(memory_drop) int *op = memory_new(t->flows, sizeof *op);
    SCOPED(rationals_drop) mpq_t *c = rationals_new(t->flows);
    if (!op || !c) return ERR_MEMORY;
    size_t n = join_flows(t, op, c);
    *yes = 1;
    for (size_t i = 0; i < n / 2; i++)
        *yes = *yes && op[i] == op[n - 1 - i] && !joined_differ(t, c[i], c[n - 1 - i]);
    return 0;
}

/* Finds the largest q with S(h) S(-h) = 1 up to words of length q. */
static int flows_symmetric_order(const Table *t, int most, int *order)
{
    SCOPED(lie_free) Words step = {0}, back = {0}, both = {0};
    TRY(lie_new(t->colours, most, &step));
    TRY(lie_new(t->colours, most, &back));
    TRY(lie_new(t->colours, most, &both));
    TRY(lie_step(t, &step));
    lie_copy(&back, &step);
    for (size_t w = 0; w < lie_count(&step); w++)
        if (lie_length(&step, w) % 2) mpq_neg(back.c[w], back.c[w]);
    lie_multiply(&both, &step, &back);
    size_t w = 1;
    while (w < lie_count(&both) && theory_is_zero(t, both.c[w])) w++;
    *order = w < lie_count(&both) ? lie_length(&both, w) - 1 : most;
    return 0;
}

static int find_flows(const Table *t, Structure *out)
{
    TRY(is_palindrome(t, &out->symmetric));
    out->symmetric_separable = out->symmetric;
    out->symplectic = out->symplectic_separable = TOLD_YES;
    if (!out->symmetric) TRY(flows_symmetric_order(t, out->searched, &out->symmetric_order));
    out->symmetric_at_least = !out->symmetric && out->symmetric_order == out->searched;
    TRY(structure_effective_order(t, out->searched, &out->effective_order));
    out->effective_at_least = out->effective_order == out->searched;
    return 0;
}

/* ---- one-step tables: symmetry ------------------------------------------------------------------------- */

static int is_separable(const Forest *f, size_t tree)
{
    const Tree *t = &f->tree[tree];
    for (int i = 0; i < t->children; i++)
        if (f->tree[t->child[i]].colour == t->colour || !is_separable(f, (size_t)t->child[i]))
            return 0;
    return 1;
}

/* Writes a tree with its coefficient in S(-h) S(h), "-1/72 F'F'F'F'". */
static int write_term(const Forest *f, size_t tree, const mpq_t a, char *out, size_t bytes)
{
    char name[64];
    RATIONAL(c);
    mpq_set(c, a);
    rational_divide(c, f->tree[tree].sigma);
    TRY(tree_name(f, tree, name, sizeof name));
    if (mpz_sizeinbase(mpq_denref(c), 10) < 20)
        gmp_snprintf(out, bytes, "%Qd %s", c, name);
    else
        snprintf(out, bytes, "%.10g %s", table_double(c), name);
    return 0;
}

/* Finds the lowest order of a non-zero tree of S(-h) S(h), of all and of separable ones; 0: none. term: the first of all. */
static int first_defects(const Table *t, const Forest *f, int *all, int *separable,
                         char term[STRUCTURE_TERM])
{
    SCOPED(series_drop) Series *step = NULL, *back = NULL, *both = NULL;
    *all = *separable = 0;
    TRY(series_step(f, t, &step));
    TRY(series_new(f, &back));
    TRY(series_new(f, &both));
    mpq_set(back->empty, step->empty);
    for (size_t i = 0; i < f->count; i++) {
        mpq_set(back->a[i], step->a[i]);
        if (f->tree[i].order % 2) mpq_neg(back->a[i], back->a[i]);
    }
    series_compose(both, step, back);
    for (size_t i = f->count; i-- > 0;) {
        if (theory_is_zero(t, both->a[i]) || tree_vanishes(f, i, t->special)) continue;
        *all = f->tree[i].order;
        TRY(write_term(f, i, both->a[i], term, STRUCTURE_TERM));
        if (is_separable(f, i)) *separable = f->tree[i].order;
    }
    return 0;
}

/* Finds the orders of first_defects up to out->searched; *expands = 0: there is no expansion about y. */
static int search_trees(const Table *t, Structure *out, int *all, int *separable, int *expands)
{
    for (int max = out->searched < 3 ? out->searched : 3;; max++) {
        SCOPED(forest_drop) Forest *f = NULL;
        TRY(forest_new(max, table_tree_colours(t), &f));
        int code = first_defects(t, f, all, separable, out->asymmetry);
        *expands = code != ERR_ACCURACY;
        if (code != 0) return *expands ? code : 0;
        if ((*all && *separable) || max >= out->searched) return 0;
    }
}

/* ---- one-step tables: symplecticity ---------------------------------------------------------------------- */

/* defect = b_i a_ij + b_j a_ji - b_i b_j. */
static void pair_defect(const Joined *s, size_t i, size_t j, mpq_t defect)
{
    size_t n = s->evals;
    mpq_mul(defect, s->b[i], s->a[i * n + j]);
    rational_add(defect, s->b[j], s->a[j * n + i]);
    rational_subtract(defect, s->b[i], s->b[j]);
}

/* Returns the first evaluation that was joined into i. */
static int first_of(const Joined *s, size_t i)
{
    int e = 0;
    while (s->of[e] != (int)i) e++;
    return e;
}

static void find_pair(const Joined *s, int pair[2], mpq_t defect)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = 0; j <= i; j++) {
            if (!s->used[i] || !s->used[j] || (s->separable && s->op[i] == s->op[j])) continue;
            pair_defect(s, i, j, defect);
            if (theory_is_zero(s->t, defect)) continue;
            pair[0] = first_of(s, j);
            pair[1] = first_of(s, i);
            return;
        }
}

int structure_symplectic(const Table *t, int separable, int *told, int pair[2], mpq_t defect)
{
    SCOPED(joined_free) Joined s = {0};
    *told = table_exact_flows(t) ? TOLD_YES : TOLD_NOT;
    pair[0] = pair[1] = -1;
    if (!joined_takes(t) || (separable && t->colours > 2)) return 0;
    TRY(joined_new(t, separable, 0, &s));
    find_pair(&s, pair, defect);
    *told = pair[0] < 0 ? TOLD_YES : TOLD_NO;
    return 0;
}

static int find_symplectic(const Table *t, int separable, int *out)
{
    int pair[2];
    RATIONAL(defect);
    return structure_symplectic(t, separable, out, pair, defect);
}

/* ---- one-step tables: symmetry, decided ------------------------------------------------------------------- */

/* Decides whether a Runge-Kutta method is its adjoint. */
static int find_self_adjoint(const Table *t, int separable, int *out)
{
    SCOPED(joined_free) Joined s = {0};
    if (!joined_takes(t)) return 0;
    TRY(joined_new(t, separable, 1, &s));
    *out = TOLD_YES;
    for (size_t i = 0; i < s.n; i++)
        if (s.used[i] && !theory_is_zero(t, s.b[i])) *out = TOLD_NO;
    /* Where fields are linear, fewer trees have to agree. */
    if (*out == TOLD_NO && t->special) *out = TOLD_NOT;
    return 0;
}

/* Returns whether |R(z) R(-z)| is seen to differ from 1, which no symmetric method's does. */
static int is_seen_asymmetric(const Table *t, int *seen)
{
    const double off = 1e-6;
    SCOPED(stability_drop) Stability *s = NULL;
    int code = stability_new(t, &s);
    *seen = 0;
    if (code == ERR_INPUT) return 0;
    TRY(code);
    for (int k = 1; k <= 4; k++) {
        double there[COLOURS][2] = {{0}}, back[COLOURS][2] = {{0}};
        for (int op = 0; op < t->colours; op++)
            for (int i = 0; i < 2; i++) {
                there[op][i] = 0.3 * k + (i ? 0.2 : 0);
                back[op][i] = -there[op][i];
            }
        double product =
            stability_at(s, (const double(*)[2])there) * stability_at(s, (const double(*)[2])back);
        *seen |= isfinite(product) && fabs(product - 1) > off;
    }
    return 0;
}

/* Tells symmetry: yes or no where it is decided, or a tree disagrees, or R does; else it is not told. */
static int find_symmetry(const Table *t, Structure *out)
{
    int all = 0, separable = 0, expands = 0, seen = 0;
    TRY(search_trees(t, out, &all, &separable, &expands));
    if (!expands) return 0;
    TRY(find_self_adjoint(t, 0, &out->symmetric));
    TRY(find_self_adjoint(t, 1, &out->symmetric_separable));
    if (out->symmetric == TOLD_NOT && !all) TRY(is_seen_asymmetric(t, &seen));
    if (all || seen) out->symmetric = TOLD_NO;
    if (separable) out->symmetric_separable = TOLD_NO;
    if (out->symmetric == TOLD_YES) return 0;
    out->symmetric_order = all ? all - 1 : out->searched;
    out->symmetric_at_least = !all;
    return 0;
}

/* ---- linear multistep ------------------------------------------------------------------------------------ */

/* y[+1] - sum v_j y[-j] = h sum beta_j f[-j]: alpha (k + 2), beta (colours, k + 2), index j + 1. */
typedef struct {
    int k, colours;
    mpq_t *alpha, *beta[COLOURS];
} Multistep;

static void multistep_free(Multistep *m)
{
    rationals_free(m->alpha);
    for (int op = 0; op < m->colours; op++) rationals_free(m->beta[op]);
}

/* Finds the j of the y[-j] where a point stands: -1 where it is the new state, whose row is the update's, as in BDF and
 * Adams-Moulton methods. Returns 0 where it is elsewhere. */
static int find_place(const Table *t, const Point *p, int *j)
{
    int new = row_equal(&p->row, &t->update);
    *j = new ? -1 : p->row.terms ? p->row.term[0].past : 0;
    return !p->phi && (new || (p->row.terms == 1 && row_plain(&p->row)));
}

static int is_linear(const Table *t)
{
    int j;
    for (size_t p = 0; p < t->points; p++)
        if (!find_place(t, &t->point[p], &j)) return 0;
    return t->flows == 0 && t->evals > 0 && !t->carries;
}

static void add_term(const Table *t, const Term *x, Multistep *m)
{
    int j;
    if (x->eval == TABLE_STATE) {
        mpq_sub(m->alpha[x->past + 1], m->alpha[x->past + 1], x->c);
        return;
    }
    const Eval *e = &t->eval[x->eval];
    find_place(t, &t->point[e->point], &j);
    mpq_ptr beta = m->beta[e->op][x->past + j + 1];
    mpq_add(beta, beta, x->c);
}

static int multistep_new(const Table *t, Multistep *m)
{
    *m = (Multistep){.k = t->past_y + t->past_k, .colours = t->colours};
    size_t n = (size_t)m->k + 2;
    m->alpha = rationals_new(n);
    int all = m->alpha != NULL;
    for (int op = 0; op < m->colours; op++) all &= (m->beta[op] = rationals_new(n)) != NULL;
    if (!all) return ERR_MEMORY;
    mpq_set_ui(m->alpha[0], 1, 1);
    for (size_t i = 0; i < t->update.terms; i++) add_term(t, &t->update.term[i], m);
    return 0;
}

/* Returns whether there is nothing j steps ago, j = i - 1. */
static int is_empty(const Multistep *m, int i)
{
    int empty = mpq_sgn(m->alpha[i]) == 0;
    for (int op = 0; op < m->colours; op++) empty = empty && mpq_sgn(m->beta[op][i]) == 0;
    return empty;
}

static int multistep_symmetric(const Table *t, const Multistep *m)
{
    int last = m->k + 1, ok = 1;
    while (last > 0 && is_empty(m, last)) last--;
    RATIONAL(minus);
    for (int i = 0; i <= last; i++) {
        mpq_neg(minus, m->alpha[last - i]);
        ok = ok && !joined_differ(t, m->alpha[i], minus);
        for (int op = 0; op < m->colours; op++)
            ok = ok && !joined_differ(t, m->beta[op][i], m->beta[op][last - i]);
    }
    return ok;
}

/* Computes out, the coefficient of h^n y^(n) in numerical - exact:
 * -sum over j >= -1 of alpha_j (-j)^n / n! + sum beta_j (-j)^(n-1) / (n-1)!. */
static void error_term(const Multistep *m, int n, mpq_t out)
{
    RATIONALS(power, j);
    mpq_set_ui(out, 0, 1);
    for (int i = 0; i <= m->k + 1; i++) {
        mpq_set_ui(power, 1, 1); /* (1 - i)^(n-1) / (n-1)! */
        for (int f = 1; f < n; f++) {
            mpq_set_si(j, 1 - i, (unsigned)f);
            mpq_canonicalize(j);
            mpq_mul(power, power, j);
        }
        rational_add(out, power, m->beta[0][i]);
        mpq_set_si(j, 1 - i, (unsigned)n);
        mpq_canonicalize(j);
        mpq_mul(power, power, j);
        rational_subtract(out, power, m->alpha[i]);
    }
}

static void find_constant(const Table *t, const Multistep *m, Structure *out)
{
    RATIONALS(sum, sigma);
    int same = 1, n = 1;
    for (int i = 0; i <= m->k + 1; i++) {
        for (int op = 1; op < m->colours; op++)
            same = same && !joined_differ(t, m->beta[0][i], m->beta[op][i]);
        mpq_add(sum, sum, m->alpha[i]);
        mpq_add(sigma, sigma, m->beta[0][i]);
    }
    error_term(m, 1, out->error_constant[0]);
    if (same && theory_is_zero(t, sum) && theory_is_zero(t, out->error_constant[0])) {
        /* order 2 (k + 2) is out of reach for 2 (k + 2) - 1 free coefficients */
        while (n <= 2 * m->k + 6 && theory_is_zero(t, out->error_constant[0]))
            error_term(m, ++n, out->error_constant[0]);
        out->has_constant = !theory_is_zero(t, sigma);
        if (out->has_constant) mpq_div(out->error_constant[1], out->error_constant[0], sigma);
    }
}

static int find_multistep(const Table *t, Structure *out)
{
    SCOPED(multistep_free) Multistep m;
    TRY(multistep_new(t, &m));
    if (table_past(t)) out->symmetric = out->symmetric_separable = multistep_symmetric(t, &m);
    find_constant(t, &m, out);
    return 0;
}

/* ---- all -------------------------------------------------------------------------------------------------- */

static int find_all(const Table *t, Structure *out)
{
    if (table_exact_flows(t)) return find_flows(t, out);
    if (!table_past(t)) TRY(find_symmetry(t, out));
    TRY(find_symplectic(t, 0, &out->symplectic));
    TRY(find_symplectic(t, 1, &out->symplectic_separable));
    return is_linear(t) ? find_multistep(t, out) : 0;
}

int structure_find(const Table *t, int searched, Structure *out)
{
    *out = (Structure){.symmetric = TOLD_NOT,
                       .symmetric_order = -1,
                       .symmetric_separable = TOLD_NOT,
                       .searched = searched,
                       .symplectic = TOLD_NOT,
                       .symplectic_separable = TOLD_NOT,
                       .effective_order = -1};
    int most = table_exact_flows(t) ? bracket_most(t) : forest_most(table_tree_colours(t));
    if (searched < 1 || searched > LIE_MAX)
        return error_set(ERR_INPUT, "expected an order of 1 to %d; %d is asked for", LIE_MAX,
                         searched);
    if (searched > most) out->searched = most;
    mpq_inits(out->error_constant[0], out->error_constant[1], NULL);
    int code = find_all(t, out);
    if (t->colours > 2) /* kicks and drifts belong to two fields */
        out->symmetric_separable = out->symplectic_separable = TOLD_NOT;
    if (code != 0) structure_free(out);
    return code;
}

void structure_free(Structure *s)
{
    mpq_clears(s->error_constant[0], s->error_constant[1], NULL);
}
