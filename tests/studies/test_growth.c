/* test_growth.c: growth beyond the flow's: known answers, the eigenvalues of the whole step, and refusals. */
#include "tests/lib/test.h"

#include <gsl/gsl_complex_math.h>
#include <gsl/gsl_eigen.h>
#include <gsl/gsl_linalg.h>

#include "kernels/base/error.h"
#include "studies/theory/design/design.h"
#include "tests/lib/layers.h"
#include "tests/lib/scratch.h"

enum { D = 8, N = 5, ALL = N * D };

static Table *euler_frozen(const char *name)
{
    OWN_TABLE *t = layers_find(name);
    return freeze(t);
}

static double growth_of(Growth *g, const char *scheme)
{
    OWN_TABLE *t = euler_frozen(scheme);
    double growth;
    if (growth_find(g, t, &growth) != 0) fail_msg("%s: %s", scheme, error_text());
    return growth;
}

static void must_be(Growth *g, const char *scheme, double want)
{
    double got = growth_of(g, scheme);
    if (!(fabs(got - want) <= 1e-12 * want)) fail_msg("%s: %.15g, not %.15g", scheme, got, want);
}

/* The oscillator is x' = v by F, v' = -w^2 x by G. F before G is the symplectic Euler method: |zeta| = 1 up to w = 2,
 * and for w = 3 the larger root of zeta^2 + 7 zeta + 1. Euler's 1 + i w is longer. R of equal parts of an eigenvalue is
 * (1 + i w/2)^2, and wrong. */
TEST(oscillator)
{
    static const double w[] = {1.5, 3};
    for (int i = 0; i < 2; i++) {
        Growth g = {0};
        double A[] = {0, 1, 0, 0}, B[] = {0, 0, -w[i] * w[i], 0}, naive;
        assert_int_equal(growth_put(&g, 2, 1, A, B), 0);
        must_be(&g, "transformer", i ? (7 + sqrt(45)) / 2 : 1);
        must_be(&g, "euler", hypot(1, w[i]));
        must_be(&g, "heun", hypot(1 - w[i] * w[i] / 2, w[i]));
        OWN_TABLE *t = euler_frozen("transformer");
        const double half[2][2] = {{0, w[i] / 2}, {0, w[i] / 2}};
        Stability *one;
        assert_int_equal(stability_new(t, &one), 0);
        naive = stability_at(one, half);
        stability_free(one);
        assert_true(fabs(naive - (1 + w[i] * w[i] / 4)) <= 1e-12);
        assert_true(fabs(naive - growth_of(&g, "transformer")) > .5);
        growth_free(&g);
    }
}

/* The flow damps one mode, -3 and -1.5, and lets another grow, 2. Of Euler's |1 + z| = 2 and 3 < e^2 the first counts,
 * though the largest modulus is 3. Two tokens give the larger growth, two layers their median. A step that grows less
 * than the flow has none. */
TEST(modes)
{
    Growth g = {0};
    double A[] = {-2, 0, 0, .5, 1, 0, 0, -1}, B[] = {-1, 0, 0, 1.5, 1, 0, 0, -.5};
    assert_int_equal(growth_put(&g, 2, 1, A, B), 0);
    must_be(&g, "euler", 2);
    assert_int_equal(growth_put(&g, 2, 2, A, B), 0);
    must_be(&g, "euler", 2);
    growth_free(&g);
    assert_int_equal(growth_put(&g, 2, 1, A + 4, B + 4), 0);
    must_be(&g, "euler", .5);
    assert_int_equal(growth_put(&g, 2, 2, A, B), 0);
    must_be(&g, "euler", 1.25);
    growth_free(&g);
}

static Table *model_table; /* of the last model_of */

static Model *model_of(const char *scheme, double size, Truncator **u)
{
    table_free(model_table);
    model_table = layers_find(scheme);
    Model *m = layers_model(model_table, 1, D, ACT_GELU);
    shake(m, size, 1);
    assert_int_equal(truncator_new(m, model_table, &(TruncationOptions){0}, u), 0);
    assert_int_equal(layers_sentence(*u, N, NULL), 0);
    return m;
}

/* Computes J (ALL, ALL) of one operator on all tokens, by differences of another step. */
static void differences(Model *m, const double *x, int op, double J[ALL][ALL])
{
    System *s;
    double y[ALL], plus[ALL], minus[ALL], h = 1e-4;
    assert_int_equal(bridge_system(m, &(LayerOf){.n = N}, &s), 0);
    for (size_t k = 0; k < ALL; k++) {
        memcpy(y, x, sizeof y);
        y[k] = x[k] + h;
        s->field[op](s, 1, 0, y, plus);
        y[k] = x[k] - h;
        s->field[op](s, 1, 0, y, minus);
        for (size_t i = 0; i < ALL; i++) J[i][k] = (plus[i] - minus[i]) / (2 * h);
    }
    system_free(s);
}

static double whole[2][ALL][ALL];

static void apply(int op, const double *y, double *dy)
{
    for (size_t i = 0; i < ALL; i++) {
        dy[i] = 0;
        for (size_t k = 0; k < ALL; k++) dy[i] += whole[op][i][k] * y[k];
    }
}

static void whole_F(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    apply(OP_F, y, dy);
}

static void whole_G(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    apply(OP_G, y, dy);
}

/* Computes out = R V diag(1 / max(1, exp(Re mu))) V^-1 of all tokens, from V^-1's equations row by row: X V = R V
 * diag(..). */
static void divide(const gsl_matrix *R, gsl_matrix *out)
{
    gsl_matrix *M = gsl_matrix_alloc(ALL, ALL);
    gsl_vector_complex *mu = gsl_vector_complex_alloc(ALL), *b = gsl_vector_complex_alloc(ALL),
                       *x = gsl_vector_complex_alloc(ALL);
    gsl_matrix_complex *V = gsl_matrix_complex_alloc(ALL, ALL),
                       *T = gsl_matrix_complex_alloc(ALL, ALL);
    gsl_permutation *p = gsl_permutation_alloc(ALL);
    gsl_eigen_nonsymmv_workspace *w = gsl_eigen_nonsymmv_alloc(ALL);
    int sign;
    for (size_t i = 0; i < ALL; i++)
        for (size_t k = 0; k < ALL; k++)
            gsl_matrix_set(M, i, k, whole[OP_F][i][k] + whole[OP_G][i][k]);
    assert_int_equal(gsl_eigen_nonsymmv(M, mu, V, w), 0);
    gsl_matrix_complex_transpose_memcpy(T, V);
    assert_int_equal(gsl_linalg_complex_LU_decomp(T, p, &sign), 0);
    for (size_t i = 0; i < ALL; i++) {
        for (size_t k = 0; k < ALL; k++) {
            gsl_complex sum = gsl_complex_rect(0, 0);
            double f = 1 / fmax(1, exp(GSL_REAL(gsl_vector_complex_get(mu, k))));
            for (size_t l = 0; l < ALL; l++)
                sum = gsl_complex_add(sum, gsl_complex_mul_real(gsl_matrix_complex_get(V, l, k),
                                                                f * gsl_matrix_get(R, i, l)));
            gsl_vector_complex_set(b, k, sum);
        }
        assert_int_equal(gsl_linalg_complex_LU_solve(T, p, b, x), 0);
        for (size_t k = 0; k < ALL; k++)
            gsl_matrix_set(out, i, k, GSL_REAL(gsl_vector_complex_get(x, k)));
    }
    gsl_matrix_free(M);
    gsl_vector_complex_free(mu);
    gsl_vector_complex_free(b);
    gsl_vector_complex_free(x);
    gsl_matrix_complex_free(V);
    gsl_matrix_complex_free(T);
    gsl_permutation_free(p);
    gsl_eigen_nonsymmv_free(w);
}

static double radius(gsl_matrix *M)
{
    gsl_vector_complex *mu = gsl_vector_complex_alloc(ALL);
    gsl_eigen_nonsymm_workspace *w = gsl_eigen_nonsymm_alloc(ALL);
    double most = 0;
    assert_int_equal(gsl_eigen_nonsymm(M, mu, w), 0);
    for (size_t i = 0; i < ALL; i++)
        most = fmax(most, gsl_complex_abs(gsl_vector_complex_get(mu, i)));
    gsl_vector_complex_free(mu);
    gsl_eigen_nonsymm_free(w);
    return most;
}

/* Returns the growth of all tokens at once: the step's matrix column by column, then eigenvalues of that whole
 * matrix. */
static double whole_growth(const Table *t)
{
    static double unit[ALL];
    System s = {.name = "whole",
                .n = N,
                .d = D,
                .field = {whole_F, whole_G},
                .initial = unit,
                .t_end = 1,
                .h0 = 1};
    gsl_matrix *R = gsl_matrix_alloc(ALL, ALL), *X = gsl_matrix_alloc(ALL, ALL);
    Stepper *st;
    assert_int_equal(stepper_new(t, &s, &st), 0);
    for (size_t k = 0; k < ALL; k++) {
        memset(unit, 0, sizeof unit);
        unit[k] = 1;
        assert_int_equal(stepper_begin(st, 0, 1, unit, START_GIVEN, NULL), 0);
        assert_int_equal(stepper_step(st), 0);
        for (size_t i = 0; i < ALL; i++) gsl_matrix_set(R, i, k, stepper_state(st)[i]);
    }
    divide(R, X);
    double found = radius(X);
    stepper_free(st);
    gsl_matrix_free(R);
    gsl_matrix_free(X);
    return found;
}

/* Returns whether the blocks give the growth of the whole step. */
static int agree(Growth *g, const Table *t)
{
    double got, want = whole_growth(t);
    assert_int_equal(growth_find(g, t, &got), 0);
    assert_true(want > 1.01);
    return fabs(got - want) <= 1e-6 * want;
}

/* Blocks agree with the whole step, also for schemes that tell F and G apart. They do not where the whole step has F
 * for G and G for F, nor where one number of every token's block is spoilt; a spoilt number below the diagonal blocks
 * changes nothing. */
TEST(whole_step)
{
    static const char *const names[] = {"transformer", "macaron", "looped:2",   "fgfg2",
                                        "heun",        "rk4",     "dial:2-0.5", "implicit-euler"};
    static double kept[ALL][ALL];
    Truncator *u;
    Growth g = {0};
    Model *m = model_of("transformer", .5, &u);
    assert_int_equal(growth_add(&g, u, 0), 0);
    for (int op = 0; op < 2; op++) differences(m, truncator_states(u), op, whole[op]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OWN_TABLE *t = euler_frozen(names[i]);
        if (!agree(&g, t)) fail_msg("%s: the whole step grows otherwise", names[i]);
    }
    OWN_TABLE *t = euler_frozen("fgfg2");
    memcpy(kept, whole[OP_F], sizeof kept);
    memcpy(whole[OP_F], whole[OP_G], sizeof kept);
    memcpy(whole[OP_G], kept, sizeof kept);
    assert_false(agree(&g, t));
    memcpy(whole[OP_G], whole[OP_F], sizeof kept);
    memcpy(whole[OP_F], kept, sizeof kept);
    whole[OP_F][ALL - 1][0] += .1;
    assert_true(agree(&g, t));
    for (size_t i = 0; i < ALL; i += D) whole[OP_G][i][i] += .1;
    assert_false(agree(&g, t));
    growth_free(&g);
    truncator_free(u);
    model_free(m);
}

TEST(refused)
{
    Growth g = {0};
    double A[] = {0, 1, 0, 0}, B[4] = {0}, growth = 7;
    assert_int_equal(growth_put(&g, 2, 1, A, B), ERR_ACCURACY); /* one eigenvector */
    assert_non_null(strstr(error_text(), "too few eigenvectors"));
    B[2] = NAN;
    assert_int_equal(growth_put(&g, 2, 1, A, B), ERR_ACCURACY);
    assert_int_equal(g.count, 0);
    B[2] = 1e200;
    assert_int_equal(growth_put(&g, 2, 1, A, B), 0);
    OWN_TABLE *t = euler_frozen("rk4");
    assert_int_equal(growth_find(&g, t, &growth), ERR_ACCURACY);
    OWN_TABLE *past = euler_frozen("ab2");
    assert_int_equal(growth_find(&g, past, &growth), ERR_INPUT);
    assert_non_null(strstr(error_text(), "without history"));
    assert_true(growth == 7);
    growth_free(&g);
    growth_free(NULL);
}

static Truncator *truncator;
static Table *table;

static int job(void)
{
    Growth g = {0};
    double growth;
    int code = growth_add(&g, truncator, 0);
    if (code == 0) code = growth_add(&g, truncator, 0);
    if (code == 0) code = growth_find(&g, table, &growth);
    growth_free(&g);
    return code;
}

TEST(short_memory)
{
    Model *m = model_of("transformer", .5, &truncator);
    table = euler_frozen("fgfg2");
    assert_true(fail_each(job, 0) > 10);
    table_free(table);
    truncator_free(truncator);
    model_free(m);
}

static int end(void **state)
{
    table_free(model_table);
    return layers_close(state);
}

TEST_MAIN(layers_open, end)
