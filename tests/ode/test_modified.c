/* test_modified.c: checks modified equations against published terms, against brackets written out as trees, against
 * the structure of schemes, and against steps on a polynomial system. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/scheme/rationals.h"
#include "tests/lib/schemes.h"

/* The modified equation of a frozen table up to trees of an order. */
typedef struct {
    Forest *f;
    mpq_t *c; /* (f->count) */
} Modified;

static Modified modified(const Table *t, int order)
{
    Modified m;
    assert_int_equal(forest_new(order, t->colours, &m.f), 0);
    m.c = rationals_new(m.f->count);
    if (theory_modified(m.f, t, m.c) != 0) fail_msg("%s: %s", t->name, error_text());
    return m;
}

static void modified_free(Modified *m)
{
    rationals_free(m->c, m->f->count);
    forest_free(m->f);
}

/* ---- published terms ---------------------------------------------------------------------------------- */

/* Returns the elementary differential at y = 1 of f = y^2, in one colour: f = 1, f' = 2, f'' = 2. */
static unsigned long square(const Forest *f, size_t tree)
{
    static const unsigned long derivative[TREE_MAX] = {1, 2, 2};
    const Tree *t = &f->tree[tree];
    unsigned long product = derivative[t->children];
    for (int i = 0; i < t->children; i++) product *= square(f, (size_t)t->child[i]);
    return product;
}

/* Computes sum (order + 1), the modified equation of a scheme on y' = y^2 at y = 1, by order. */
static void square_terms(const Table *t, int order, mpq_t *sum)
{
    Modified m = modified(t, order);
    mpq_t x;
    mpq_init(x);
    for (size_t i = 0; i < m.f->count; i++) {
        int n = m.f->tree[i].order;
        if (!tree_is_F(m.f, i)) continue;
        mpq_set_ui(x, square(m.f, i), 1);
        mpq_mul(x, x, m.c[i]);
        mpq_add(sum[n], sum[n], x);
    }
    mpq_clear(x);
    modified_free(&m);
}

/* Explicit Euler on y' = y^2 has y^2 - h y^3 + 3/2 h^2 y^4 - 8/3 h^3 y^5 + 31/6 h^4 y^6 - 157/15 h^5 y^7. Source:
 * Hairer, Lubich, Wanner 2006, section IX.1. */
TEST(test_euler)
{
    static const long known[][2] = {{0, 1}, {1, 1}, {-1, 1}, {3, 2}, {-8, 3}, {31, 6}, {-157, 15}};
    Table *t = frozen("euler");
    mpq_t *sum = rationals_new(7), want;
    mpq_init(want);
    square_terms(t, 6, sum);
    for (int n = 1; n <= 6; n++) {
        mpq_set_si(want, known[n][0], (unsigned long)known[n][1]);
        if (!mpq_equal(sum[n], want)) fail_msg("h^%d", n - 1);
    }
    mpq_clear(want);
    rationals_free(sum, 7);
    table_free(t);
}

/* Sets out to the coefficient of a tree by its name, or to 0 where there is none. */
static void named(const Modified *m, const char *name, mpq_t out)
{
    char text[80];
    mpq_set_ui(out, 0, 1);
    for (size_t i = 0; i < m->f->count; i++)
        if (tree_name(m->f, i, text, sizeof text) == 0 && strcmp(text, name) == 0)
            mpq_set(out, m->c[i]);
}

/* Euler has f - h/2 f'f + h^2 (1/3 f'f'f + 1/12 f''(f,f)). Lie-Trotter has h/2 [F,G]; with Euler's sub-steps, which
 * make symplectic Euler where F'F = G'G = 0, it has the same less h/2 (F'F + G'G). The midpoint rule has -h^2 (1/24
 * f''(f,f) + 1/6 f'f'f), its local error. Source: Hairer, Lubich, Wanner 2006, section IX.1. */
TEST(test_known)
{
    static const struct {
        const char *scheme, *tree;
        long p;
        unsigned long q;
    } known[] = {
        {"euler", "F", 1, 1},
        {"euler", "F'F", -1, 2},
        {"euler", "F'F'F", 1, 3},
        {"euler", "F'G", -1, 2},
        {"euler", "F''(F,F)", 1, 12},
        {"euler", "F''(F,G)", 1, 6},
        {"lie-trotter", "F'G", -1, 2},
        {"lie-trotter", "G'F", 1, 2},
        {"lie-trotter", "F'F", 0, 1},
        {"transformer", "F'G", -1, 2},
        {"transformer", "G'F", 1, 2},
        {"transformer", "G'G", -1, 2},
        {"midpoint", "F'F", 0, 1},
        {"midpoint", "F''(F,F)", -1, 24},
        {"midpoint", "F'F'F", -1, 6},
        {"word:sff", "F", 1, 1},
        {"word:sff", "G", 2, 1},
        {"word:sff", "G'F", 1, 1},
        {"lie-trotter-decoder", "C", 1, 1},
        {"lie-trotter-decoder", "C'F", 1, 2},
        {"lie-trotter-decoder", "C'G", -1, 2},
    };
    mpq_t c, want;
    mpq_inits(c, want, NULL);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        Table *t = frozen(known[i].scheme);
        Modified m = modified(t, 3);
        named(&m, known[i].tree, c);
        mpq_set_si(want, known[i].p, known[i].q);
        if (!mpq_equal(c, want)) fail_msg("%s: %s", known[i].scheme, known[i].tree);
        modified_free(&m);
        table_free(t);
    }
    mpq_clears(c, want, NULL);
}

/* ---- brackets ------------------------------------------------------------------------------------------ */

/* Sets out to the derivative of the field c along b, in trees. Both are without their 1/sigma. */
static void derive(const Forest *f, mpq_t *b, mpq_t *c, mpq_t *out)
{
    mpq_t x, count;
    mpq_inits(x, count, NULL);
    for (size_t i = 0; i < f->count; i++) {
        mpq_set_ui(out[i], 0, 1);
        for (size_t k = 0; k < f->cuts[i]; k++) {
            const Cut *cut = &f->cut[i][k];
            if (cut->kept < 0 || cut->cuts != 1) continue;
            mpq_set_si(count, cut->count, 1);
            mpq_mul(x, c[cut->kept], b[cut->cut[0]]);
            mpq_mul(x, x, count);
            mpq_add(out[i], out[i], x);
        }
    }
    mpq_clears(x, count, NULL);
}

/* Writes "[F,[F,G]]" in trees, with [A,B] = B'A - A'B, and moves *s past it. Caller: rationals_free. */
static mpq_t *write_out(const Forest *f, const char **s)
{
    mpq_t *sum = rationals_new(f->count);
    if (**s != '[') {
        for (size_t i = 0; i < f->first[2]; i++)
            mpq_set_ui(sum[i], table_letters[f->tree[i].colour] == **s, 1);
        ++*s;
        return sum;
    }
    ++*s;
    mpq_t *a = write_out(f, s);
    assert_int_equal(*(*s)++, ',');
    mpq_t *b = write_out(f, s), *other = rationals_new(f->count);
    assert_int_equal(*(*s)++, ']');
    derive(f, a, b, sum);
    derive(f, b, a, other);
    for (size_t i = 0; i < f->count; i++) mpq_sub(sum[i], sum[i], other[i]);
    rationals_free(a, f->count);
    rationals_free(b, f->count);
    rationals_free(other, f->count);
    return sum;
}

/* Counts the trees at which the field + its brackets differ from the modified equation. */
static size_t mismatches(const Table *t, const Brackets *b, int order)
{
    Modified m = modified(t, order);
    mpq_t *sum = rationals_new(m.f->count), x;
    size_t n = 0;
    mpq_init(x);
    for (size_t i = 0; i < m.f->first[2]; i++) mpq_set(sum[i], t->weight[m.f->tree[i].colour]);
    for (size_t k = 0; k < b->count; k++) {
        const char *s = b->bracket[k].name;
        mpq_t *tree = write_out(m.f, &s);
        for (size_t i = 0; i < m.f->count; i++) {
            mpq_mul(x, b->bracket[k].c, tree[i]);
            mpq_add(sum[i], sum[i], x);
        }
        rationals_free(tree, m.f->count);
    }
    for (size_t i = 0; i < m.f->count; i++) {
        mpq_set_ui(x, 1, m.f->tree[i].sigma);
        mpq_mul(sum[i], sum[i], x);
        mpq_sub(x, sum[i], m.c[i]);
        n += !theory_is_zero(t, x);
    }
    mpq_clear(x);
    rationals_free(sum, m.f->count);
    modified_free(&m);
    return n;
}

/* log(step) of flows is the same by words (lie.c) and by trees (series.c). */
TEST(test_brackets)
{
    static const struct {
        const char *name;
        int order;
    } schemes[] = {{"lie-trotter", 6},    {"strang-marchuk", 6}, {"ruth3", 5},
                   {"yoshida4", 5},       {"word:ssffsf", 5},    {"sandwich:4-2", 5},
                   {"strang-decoder", 4}, {"word:scfscf", 4}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        Table *t = frozen(schemes[i].name);
        Brackets b;
        assert_int_equal(bracket_error(t, schemes[i].order, &b), 0);
        if (mismatches(t, &b, schemes[i].order)) fail_msg("%s", t->name);
        mpq_add(b.bracket[0].c, b.bracket[0].c, b.bracket[0].c); /* negative control */
        assert_true(mismatches(t, &b, schemes[i].order) > 0);
        bracket_free(&b);
        table_free(t);
    }
}

/* ---- structure ------------------------------------------------------------------------------------------ */

/* In every one-step scheme that expands, even degrees (odd powers of h) are absent if and only if it is symmetric, and
 * the first degree that differs from the field is its order + 1. */
TEST(test_structure)
{
    enum { ORDER = 4 };
    Table **list;
    size_t count, symmetric = 0, others = 0;
    assert_int_equal(zoo_list(&zoo, "all", "exact", &list, &count), 0);
    for (size_t i = 0; i < count; i++) {
        Table *t = table_freeze(list[i]);
        Theory theory = {0};
        Structure s;
        assert_int_equal(theory_search(t, ORDER, &theory), 0);
        if (!t->past_y && !t->past_k && theory.expands) {
            Modified m = modified(t, ORDER);
            int even = 0, first = 0;
            for (size_t k = m.f->count; k-- > 0;) {
                mpq_t rest;
                mpq_init(rest);
                mpq_set(rest, m.c[k]);
                if (k < m.f->first[2]) mpq_sub(rest, rest, t->weight[m.f->tree[k].colour]);
                if (!theory_is_zero(t, rest)) {
                    first = m.f->tree[k].order;
                    even |= first % 2 == 0;
                }
                mpq_clear(rest);
            }
            assert_int_equal(structure_find(t, ORDER, &s), 0);
            int odd = s.symmetric == TOLD_YES || s.symmetric_order >= ORDER;
            if (even == odd) fail_msg("%s: even degrees %d, symmetric %d", t->name, even, odd);
            if (first != (theory.order < ORDER ? theory.order + 1 : 0))
                fail_msg("%s: degree %d, order %d", t->name, first, theory.order);
            symmetric += odd && t->flows > 1;
            others += (size_t)even;
            structure_free(&s);
            modified_free(&m);
        }
        table_free(t);
        table_free(list[i]);
    }
    memory_free(list);
    assert_true(symmetric > 1 && others > 5);
}

/* Checks that the logarithm of an exact flow over theta is theta times its field, and that of S after S is twice that
 * of S. */
static void check_logarithm(int colours)
{
    Forest *f;
    Series *s[5];
    Table *t = frozen(colours == 2 ? "transformer" : "transformer-decoder");
    mpq_t theta, x;
    mpq_inits(theta, x, NULL);
    mpq_set_si(theta, -3, 7);
    assert_int_equal(forest_new(5, colours, &f), 0);
    for (int i = 1; i < 5; i++) assert_int_equal(series_new(f, &s[i]), 0);
    series_exact(s[1], theta, t->weight);
    assert_int_equal(series_log(s[2], s[1]), 0);
    for (size_t i = 0; i < f->count; i++)
        assert_true(i < f->first[2] ? mpq_equal(s[2]->a[i], theta) : mpq_sgn(s[2]->a[i]) == 0);
    assert_int_equal(series_step(f, t, &s[0]), 0);
    series_compose(s[1], s[0], s[0]);
    assert_int_equal(series_log(s[2], s[1]), 0);
    assert_int_equal(series_log(s[3], s[0]), 0);
    for (size_t i = 0; i < f->count; i++) {
        mpq_add(x, s[3]->a[i], s[3]->a[i]);
        assert_true(mpq_equal(x, s[2]->a[i]));
    }
    for (int i = 0; i < 5; i++) series_free(s[i]);
    mpq_clears(theta, x, NULL);
    forest_free(f);
    table_free(t);
}

TEST(test_logarithm)
{
    check_logarithm(2);
    check_logarithm(3);
}

/* A spoilt midpoint rule has a term in h, a sound one has none. */
TEST(test_spoilt)
{
    static const struct {
        const char *text;
        int terms;
    } schemes[] = {{"k1 = H(y)\nk2 = H(y + 1/2*k1)\ny' = y + k2", 0},
                   {"k1 = H(y)\nk2 = H(y + 51/100*k1)\ny' = y + k2", 4}};
    for (int k = 0; k < 2; k++) {
        Table *t = frozen(schemes[k].text);
        Modified m = modified(t, 2);
        int terms = 0;
        for (size_t i = m.f->first[2]; i < m.f->count; i++) terms += mpq_sgn(m.c[i]) != 0;
        assert_int_equal(terms, schemes[k].terms);
        modified_free(&m);
        table_free(t);
    }
}

/* ---- steps ---------------------------------------------------------------------------------------------- */

/* Fields of two unknowns, L y + Q(y, y), Q symmetric. Derivatives beyond the second are zero. */
typedef struct {
    double L[2][2], Q[2][2][2];
} Quadratic;
static const Quadratic quadratic[2] = {
    {{{-0.3, 1.1}, {-0.8, 0.2}}, {{{0.4, -0.25}, {-0.25, 0.3}}, {{-0.2, 0.35}, {0.35, 0.15}}}},
    {{{0.5, -0.4}, {0.6, -0.7}}, {{{-0.3, 0.2}, {0.2, 0.45}}, {{0.25, 0.1}, {0.1, -0.5}}}}};

static void quadratic_field(const Quadratic *q, const double *y, double *dy)
{
    for (int i = 0; i < 2; i++) {
        dy[i] = 0;
        for (int j = 0; j < 2; j++) {
            dy[i] += q->L[i][j] * y[j];
            for (int k = 0; k < 2; k++) dy[i] += q->Q[i][j][k] * y[j] * y[k];
        }
    }
}

static void field_F(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    quadratic_field(&quadratic[OP_F], y, dy);
}

static void field_G(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    quadratic_field(&quadratic[OP_G], y, dy);
}

/* Sets out (2) to the elementary differential of a tree at y. */
static void differential(const Forest *f, size_t tree, const double *y, double *out)
{
    const Tree *t = &f->tree[tree];
    const Quadratic *q = &quadratic[t->colour];
    double child[2][2] = {{0}};
    for (int c = 0; c < t->children && c < 2; c++)
        differential(f, (size_t)t->child[c], y, child[c]);
    if (t->children == 0) quadratic_field(q, y, out);
    for (int i = 0; t->children && i < 2; i++) {
        out[i] = 0;
        for (int j = 0; j < 2; j++) {
            if (t->children == 1) out[i] += q->L[i][j] * child[0][j];
            for (int k = 0; k < 2; k++)
                if (t->children < 3)
                    out[i] +=
                        2 * q->Q[i][j][k] * child[0][j] * (t->children == 1 ? y[k] : child[1][k]);
        }
    }
}

static void modified_field(const Modified *m, const double *c, double h, const double *y,
                           double *dy)
{
    double value[2];
    dy[0] = dy[1] = 0;
    for (size_t i = 0; i < m->f->count; i++) {
        if (c[i] == 0) continue;
        differential(m->f, i, y, value);
        double scale = c[i] * pow(h, m->f->tree[i].order - 1);
        for (int k = 0; k < 2; k++) dy[k] += scale * value[k];
    }
}

/* Moves y over h by classical Runge-Kutta steps of h / 32. Its error is below 1e-11. */
static void modified_flow(const Modified *m, double h, double *y)
{
    enum { STEPS = 32 };
    double *c = malloc(m->f->count * sizeof *c), d = h / STEPS;
    for (size_t i = 0; i < m->f->count; i++) c[i] = mpq_get_d(m->c[i]);
    for (int n = 0; n < STEPS; n++) {
        static const double at[] = {0, 0.5, 0.5, 1}, weight[] = {1, 2, 2, 1};
        double k[2] = {0}, sum[2] = {0}, x[2];
        for (int s = 0; s < 4; s++) {
            for (int i = 0; i < 2; i++) x[i] = y[i] + at[s] * d * k[i];
            modified_field(m, c, h, x, k);
            for (int i = 0; i < 2; i++) sum[i] += weight[s] * k[i];
        }
        for (int i = 0; i < 2; i++) y[i] += d / 6 * sum[i];
    }
    free(c);
}

static double difference(const Table *t, const Modified *m, const System *s, double h)
{
    static const double begin[2] = {0.6, -0.4};
    double y[2] = {begin[0], begin[1]};
    Stepper *step;
    assert_int_equal(stepper_new(t, s, &step), 0);
    assert_int_equal(stepper_begin(step, 0, h, begin, START_GIVEN, NULL), 0);
    assert_int_equal(stepper_step(step), 0);
    modified_flow(m, h, y);
    double off = hypot(stepper_state(step)[0] - y[0], stepper_state(step)[1] - y[1]);
    stepper_free(step);
    return off;
}

/* The step and the flow of the modified equation up to h^(N-1) differ by h^(N+1), for every N. With a spoilt term of h
 * they differ by h^2. */
TEST(test_steps)
{
    static const char *const names[] = {"euler", "transformer", "heun", "lie-trotter", "macaron"};
    double y[2] = {0};
    System s = {.name = "quadratic",
                .n = 1,
                .d = 2,
                .field = {field_F, field_G},
                .initial = y,
                .t_end = 1,
                .h0 = 0.25};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Table *t = frozen(names[i]);
        for (int N = 2; N <= 4; N++) {
            Modified m = modified(t, N);
            double slope = log2(difference(t, &m, &s, 1. / 8) / difference(t, &m, &s, 1. / 16));
            if (!(fabs(slope - (N + 1)) < 0.35))
                fail_msg("%s: h^%g, not %d", names[i], slope, N + 1);
            modified_free(&m);
        }
        table_free(t);
    }
    Table *t = frozen("euler");
    Modified m = modified(t, 3);
    for (size_t i = m.f->first[2]; i < m.f->first[3]; i++) mpq_neg(m.c[i], m.c[i]);
    double slope = log2(difference(t, &m, &s, 1. / 8) / difference(t, &m, &s, 1. / 16));
    assert_true(fabs(slope - 2) < 0.35); /* negative control */
    modified_free(&m);
    table_free(t);
}

/* ---- no modified equation ---------------------------------------------------------------------------------- */

TEST(test_refused)
{
    static const struct {
        const char *text;
        int code;
    } schemes[] = {{"k1 = H(y)\ny' = y[-1] + 2*k1", ERR_INPUT},
                   {"k1 = H(y)\ny' = y + 3/2*k1 - 1/2*k1[-1]", ERR_INPUT},
                   {"k1 = H(y)\ny' = 2*y + k1", ERR_ACCURACY},
                   {"k1 = H(y)\nk2 = G(k1)\ny' = y + k1 + k2", ERR_ACCURACY}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        Table *t = frozen(schemes[i].text);
        Forest *f;
        assert_int_equal(forest_new(2, t->colours, &f), 0);
        mpq_t *c = rationals_new(f->count);
        assert_int_equal(theory_modified(f, t, c), schemes[i].code);
        rationals_free(c, f->count);
        forest_free(f);
        table_free(t);
    }
}

TEST(test_short_memory)
{
    Table *t = frozen("transformer");
    Forest *f;
    assert_int_equal(forest_new(3, 2, &f), 0);
    mpq_t *c = rationals_new(f->count);
    int code = ERR_MEMORY, failures = 0;
    size_t before = memory_live();
    for (size_t k = 1; code != 0; k++) {
        memory_fail_at(k);
        code = theory_modified(f, t, c);
        memory_fail_at(0);
        failures += code == ERR_MEMORY;
        assert_int_equal(memory_live(), before);
    }
    assert_true(failures > 4);
    rationals_free(c, f->count);
    forest_free(f);
    table_free(t);
}

TEST_MAIN(zoo_begin, zoo_end)
