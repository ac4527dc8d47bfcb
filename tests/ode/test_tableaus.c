/* test_tableaus.c: Runge-Kutta methods of the literature (tableaus.jsonl: a tableau a line, with its source, order and
 * embedded order) and families whose orders are theorems, up to order 14. Decimals and fractions that are roundings
 * have the order within their rounding, and a spoilt coefficient has a lower one. */
#include "tests/lib/test.h"

#include <jansson.h>
#include <math.h>

#include "ode/scheme/rationals.h"
#include "tests/lib/schemes.h"

enum { MOST = TREE_MAX_1 };

static Table *tableau(const char *text, size_t bytes)
{
    Table **list = NULL;
    size_t count = 0;
    if (butcher_parse("tableau", text, bytes, &list, &count) != 0)
        fail_msg("%.200s: %s", text, error_text());
    Table *t = list[0];
    memory_free(list);
    return t;
}

/* ---- published ones ------------------------------------------------------------------------------------- */

/* Shifts the weight of a row's last stage. */
static void spoil(const Table *t, Row *r, double by)
{
    OWN_RATIONAL x;
    mpq_init(x);
    mpq_set_d(x, by);
    int stage = t->eval[r->term[r->terms - 1].eval].stage;
    for (size_t k = 0; k < r->terms; k++)
        if (r->term[k].eval >= 0 && t->eval[r->term[k].eval].stage == stage)
            mpq_add(r->term[k].c, r->term[k].c, x);
}

/* Checks that a coefficient off by 2^-20 costs orders: of the update, and of the last stage it reads. */
static void check_spoilt(const Table *of, int order)
{
    for (int what = 0; what < 2; what++) {
        OWN_TABLE *t = table_freeze(of);
        int last = t->update.term[t->update.terms - 1].eval;
        spoil(t, what ? &t->update : &t->point[t->eval[last].point].row, 0x1p-20);
        if (theory_of(t, MOST).order >= (what ? 1 : order))
            fail_msg("%s: a spoilt coefficient is not seen", t->name);
    }
}

/* Checks one line, and counts tableaus of rounded fractions. */
static void check_line(const char *line, size_t bytes, size_t *rounded)
{
    json_t *root = json_loadb(line, bytes, 0, NULL);
    assert_non_null(root);
    int order = (int)json_integer_value(json_object_get(root, "order"));
    int embedded = (int)json_integer_value(json_object_get(root, "embedded"));
    OWN_TABLE *t = tableau(line, bytes);
    Theory th = theory_of(t, MOST);
    Embedded e;
    assert_int_equal(theory_embedded(t, MOST, &e), 0);
    if (th.order != order || e.order != embedded)
        fail_msg("%s: order %d, embedded %d", t->name, th.order, e.order);
    if (e.order >= 0) assert_true(e.estimate_order >= (embedded < order ? embedded : order));
    assert_true(th.residual <= th.bound && th.missed > 1e4 * th.residual);
    int rounding = t->exact && th.order_exact < th.order;
    if (t->exact && !rounding) assert_true(th.residual == 0);
    *rounded += rounding != 0;
    check_spoilt(t, order);
    json_decref(root);
}

TEST(published_orders)
{
    size_t room = 0, count = 0, rounded = 0;
    char *line = NULL;
    FILE *f = fopen("tests/ode/tableaus.jsonl", "r");
    assert_non_null(f);
    for (ssize_t n; (n = getline(&line, &room, f)) > 0; count++)
        check_line(line, (size_t)n, &rounded);
    fclose(f);
    free(line);
    assert_true(count >= 60);
    assert_int_equal(rounded, 1); /* Prince and Dormand's fractions of 1981 */
}

/* ---- families ----------------------------------------------------------------------------------------------- */

/* Nodes are the roots of P_s + a P_(s-1) + b P_(s-2), P the Legendre polynomials on [0, 1]. With them, in the words of
 * Butcher 1964, A has C(s): sum_j a_ij c_j^(k-1) = c_i^k / k, or D(s): sum_i b_i c_i^(k-1) a_ij = b_j (1 - c_j^k) / k, k
 * = 1 .. s; Lobatto IIIC has C(s - 1) and a_i1 = b_1. Source: Hairer, Wanner 1996, section IV.5. */
enum { BY_C, BY_D, BY_C_AND_FIRST };
static const struct Family {
    const char *name;
    int a, b, by, less, most; /* order 2 s - less; most: stages */
} families[] = {{"gauss", 0, 0, BY_C, 0, 7},      {"radau1a", 1, 0, BY_D, 1, 5},
                {"radau2a", -1, 0, BY_C, 1, 6},   {"lobatto3a", 0, -1, BY_C, 2, 6},
                {"lobatto3b", 0, -1, BY_D, 2, 6}, {"lobatto3c", 0, -1, BY_C_AND_FIRST, 2, 7}};
enum { STAGES = 8, BITS = 320 };

/* Adds times P_n to p, by coefficients. */
static void add_legendre(double *p, int n, int times)
{
    double c = n % 2 ? -1 : 1; /* (-1)^(n + k) binomial(n, k) binomial(n + k, k) */
    for (int k = 0; n >= 0 && k <= n; k++) {
        p[k] += times * c;
        c *= -(double)(n - k) * (n + k + 1) / ((k + 1.0) * (k + 1.0));
    }
}

/* Finds all roots at once (Weierstrass 1891): x_i -= p(x_i) / (p_s prod over j != i of (x_i - x_j)). */
static void find_nodes(const struct Family *f, int s, mpf_t *x)
{
    double p[STAGES + 1] = {0};
    mpf_t v, d;
    mpf_inits(v, d, NULL);
    add_legendre(p, s, 1);
    add_legendre(p, s - 1, f->a);
    add_legendre(p, s - 2, f->b);
    for (int i = 0; i < s; i++) mpf_set_d(x[i], (1 - cos(3.14159265 * (i + .5) / s)) / 2);
    for (int pass = 0; pass < 60; pass++)
        for (int i = 0; i < s; i++) {
            mpf_set_d(v, 0);
            for (int k = s; k >= 0; k--) {
                mpf_set_d(d, p[k]);
                mpf_mul(v, v, x[i]);
                mpf_add(v, v, d);
            }
            mpf_set_d(d, p[s]);
            mpf_div(v, v, d);
            for (int j = 0; j < s; j++) {
                mpf_sub(d, x[i], x[j]);
                if (j != i) mpf_div(v, v, d);
            }
            mpf_sub(x[i], x[i], v);
        }
    mpf_clears(v, d, NULL);
}

static void power(mpq_srcptr c, int k, mpq_t out)
{
    mpq_set_ui(out, 1, 1);
    while (k-- > 0) mpq_mul(out, out, c);
}

/* Solves for s unknowns u, in place: sum_j c_j^(k-1) u_j = right_k, in D with b_j beside, in Lobatto IIIC u_1 = right_s. */
static void solve(const struct Family *f, int s, int wide, mpq_t *c, mpq_t *b, mpq_t *m)
{
    size_t pivot[STAGES];
    for (int k = 0; k < s; k++)
        for (int j = 0; j < s; j++) {
            mpq_ptr to = m[k * wide + j];
            power(c[j], k, to);
            if (f->by == BY_D) mpq_mul(to, to, b[j]);
            if (f->by == BY_C_AND_FIRST && k == s - 1) mpq_set_ui(to, j == 0, 1);
        }
    assert_int_equal(rationals_reduce(m, (size_t)s, (size_t)wide, (size_t)s, 0, pivot), s);
}

/* Fills m (s, s + s + 1) with the matrix and right sides of a family, u = a_i. for C, a_.j for D; the last is b. */
static void fill(const struct Family *f, int s, mpq_t *c, mpq_t *b, mpq_t *m)
{
    int wide = 2 * s + 1;
    OWN_RATIONAL x;
    mpq_init(x);
    for (int k = 1; k <= s; k++)
        for (int i = 0; i <= s; i++) {
            mpq_ptr to = m[(k - 1) * wide + s + i];
            mpq_set_ui(to, 1, 1);
            if (i < s) power(c[i], k, to);
            if (i < s && f->by == BY_D) { /* b_i (1 - c_i^k) */
                mpq_set_ui(x, 1, 1);
                mpq_sub(to, x, to);
                mpq_mul(to, to, b[i]);
            }
            rational_divide(to, (unsigned)k);
            if (k == s && i < s && f->by == BY_C_AND_FIRST) mpq_set(to, b[0]);
        }
    solve(f, s, wide, c, b, m);
}

/* Writes the tableau in JSON, with 60 decimals. */
static void write_tableau(int s, int transposed, mpq_t *m, mpq_t *b, char *text)
{
    int wide = 2 * s + 1;
    mpf_t x;
    mpf_init(x);
    char *p = text + sprintf(text, "{\"A\": [");
    for (int i = 0; i <= s; i++) {
        p += sprintf(p, i == 0 ? "[" : i < s ? "], [" : "]], \"b\": [");
        for (int j = 0; j < s; j++) {
            mpf_set_q(x, i == s ? b[j] : m[transposed ? i * wide + s + j : j * wide + s + i]);
            p += gmp_sprintf(p, "%s\"%.60Ff\"", j ? ", " : "", x);
        }
    }
    sprintf(p, "]}");
    mpf_clear(x);
}

static Table *member(const struct Family *f, int s)
{
    int wide = 2 * s + 1;
    char *text = malloc((size_t)100 * (STAGES + 1) * (STAGES + 1));
    mpf_t x[STAGES];
    mpq_t *c = rationals_new(STAGES), *b = rationals_new(STAGES),
          *m = rationals_new((size_t)(s * wide));
    for (int i = 0; i < STAGES; i++) mpf_init(x[i]);
    find_nodes(f, s, x);
    for (int i = 0; i < s; i++) mpq_set_f(c[i], x[i]);
    struct Family collocation = {.by = BY_C};
    fill(&collocation, s, c, b, m);
    for (int i = 0; i < s; i++) mpq_set(b[i], m[i * wide + 2 * s]);
    if (f->by != BY_C) fill(f, s, c, b, m);
    write_tableau(s, f->by == BY_D, m, b, text);
    Table *t = tableau(text, strlen(text));
    for (int i = 0; i < STAGES; i++) mpf_clear(x[i]);
    rationals_free(c);
    rationals_free(b);
    rationals_free(m);
    free(text);
    return t;
}

TEST(orders_of_families)
{
    mpf_set_default_prec(BITS);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        for (int s = 1 + families[i].less / 2; s <= families[i].most; s++) {
            const struct Family *f = &families[i];
            OWN_TABLE *t = member(f, s);
            Theory th = theory_of(t, MOST);
            if (th.order != 2 * s - f->less || !(th.residual < 1e-55))
                fail_msg("%s of %d stages: order %d, residual %g", f->name, s, th.order,
                         th.residual);
            if (s == f->most) check_spoilt(t, th.order);
        }
}

TEST_MAIN(zoo_begin, zoo_end)
