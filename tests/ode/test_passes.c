/* test_passes.c: the optimisations of steps change nothing: rows, pairs, windows, tiles and the
 * vectorised exponential agree with their plain forms. */
#include "tests/lib/test.h"

#include <float.h>

#include "ode/field/combine.h"
#include "kernels/base/simd.h"
#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"

static const double eps = DBL_EPSILON;

/* The distances of these tests find a NaN far away, wherever it stands. */
TEST(a_nan_is_far)
{
    const double zero[3] = {0};
    for (size_t i = 0; i < 3; i++) {
        double x[3] = {0};
        assert_true(distance(x, zero, 3) == 0 && relative_distance(x, zero, 3) == 0);
        x[i] = NAN;
        assert_true(isinf(distance(x, zero, 3)) && isinf(relative_distance(x, zero, 3)));
    }
}

/* Another name than that in program.c: clang 14 gives the choice of a clone a name of the whole program. */
SIMD_CLONES static void powers_of_e(size_t n, const double *x, double *y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = simd_exp(x[i]);
}

TEST(test_exp)
{
    enum { N = 200001 };
    OWN_REALS *x = numbers(N), *y = numbers(N);
    double worst = 0;
    for (size_t i = 0; i < N; i++) x[i] = -708 + 1417.0 * (double)i / (N - 1);
    for (size_t i = 0; i < 1001; i++)
        x[i] = ((double)i - 500) * 1e-3; /* softmax is largest there */
    powers_of_e(N, x, y);
    for (size_t i = 0; i < N; i++) {
        double e = (double)fabsl((long double)y[i] / expl((long double)x[i]) - 1);
        worst = farther(worst, e);
    }
    assert_true(worst <= 1e-15);
    double odd[] = {0, NAN, -INFINITY, INFINITY, -1000, 1000}, out[6];
    powers_of_e(6, odd, out);
    assert_true(out[0] == 1 && isnan(out[1]) && out[2] == out[4] && out[3] == out[5]);
    assert_true(out[2] < 1e-307 && out[3] > 1e307 && isfinite(out[3]));
}

/* ---- rows ---------------------------------------------------------------------------------------- */

enum { PARTS = 20, LONG = 5003 };

/* Returns the distance of |c_0 x_0 + ...| from the long double sum, in units of eps sum |c x| per
 * term. */
static double row_error(size_t N, size_t parts, const double *c, const double *const *x,
                        const double *out)
{
    double worst = 0;
    for (size_t i = 0; i < N; i++) {
        long double sum = 0, size = 1e-300L;
        for (size_t m = 0; m < parts; m++) {
            sum += (long double)c[m] * x[m][i];
            size += fabsl((long double)c[m] * x[m][i]);
        }
        double e = (double)(fabsl(out[i] - sum) / size) / eps / (double)(parts + 1);
        worst = farther(worst, e);
    }
    return worst;
}

TEST(test_rows)
{
    static const size_t sizes[] = {0, 1, 7, 512, 2048, 2049, LONG};
    const double *x[PARTS];
    double c[PARTS];
    OWN_REALS *data = numbers(PARTS * LONG), *out = numbers(LONG + 1), *again = numbers(LONG);
    for (size_t i = 0; i < PARTS * LONG; i++) data[i] = sin((double)i);
    for (size_t m = 0; m < PARTS; m++) {
        x[m] = data + m * LONG;
        c[m] = m % 3 ? 1.0 / (double)(m + 1) : -(double)m - 1;
    }
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (size_t parts = 0; parts <= PARTS; parts++) {
            size_t N = sizes[k];
            out[N] = 42; /* a sentinel */
            combine(0, N, parts, c, x, out);
            assert_true(out[N] == 42);
            assert_true(row_error(N, parts, c, x, out) <= 1);
            assert_true(combine_checked(0, N, parts, c, x, again));
            assert_memory_equal(out, again, N * sizeof *out);
            if (N == 0 || parts == 0) continue;
            out[N - 1] += 4 * eps * (PARTS + 1) * (fabs(out[N - 1]) + 40); /* control */
            assert_false(row_error(N, parts, c, x, out) <= 1);
        }
}

/* A value that is not finite is seen wherever it is. The largest finite one is not taken for it. */
TEST(test_finite)
{
    static const double bad[] = {INFINITY, -INFINITY, NAN};
    OWN_REALS *x = numbers(LONG), *out = numbers(LONG);
    double one = 1;
    const double *source = x;
    x[1] = DBL_MAX, x[2] = -DBL_MAX, x[3] = DBL_TRUE_MIN;
    assert_true(combine_finite(LONG, x) && combine_checked(0, LONG, 1, &one, &source, out));
    for (size_t at = 0; at < LONG; at += 617)
        for (int k = 0; k < 3; k++) {
            double old = x[at];
            x[at] = bad[k];
            assert_false(combine_finite(LONG, x));
            assert_false(combine_checked(0, LONG, 1, &one, &source, out));
            x[at] = old;
        }
}

/* ---- F + G in one, and windows ------------------------------------------------------------------- */

/* Computes y (N) after two steps. */
static void walk_two(const Table *t, const System *s, double *y)
{
    walk_on(t, s, 0.0625, 2, y);
}

/* For every scheme on every system whose particles are apart, 1000 of them, windows give the bits of one
 * pass, and pairs give those of two slopes up to rounding. A system that falsely claims to be apart is
 * caught. */
TEST(test_windows)
{
    size_t found = 0;
    for (size_t k = 0; system_name(k); k++) {
        OWN_SYSTEM *probe = make(system_name(k));
        if (!probe->apart) continue;
        OWN_SYSTEM *s = sized(system_name(k), 400, 0, 5);
        size_t N = s->n * s->d;
        OWN_REALS *a = numbers(N), *b = numbers(N);
        for (size_t i = 0; i < zoo.count; i++) {
            OWN_TABLE *t = freeze(zoo.scheme[i]);
            System whole = *s, two = *s;
            if (system_takes(s, t) != 0) continue;
            whole.apart = 0;
            two.both = NULL;
            walk_two(t, s, a);
            walk_two(t, &whole, b);
            assert_memory_equal(a, b, N * sizeof *a);
            walk_two(t, &two, b);
            double bound = table_rosenbrock(t) ? 1e-8 : 1e3 * eps; /* GMRES ends at 1e-9 */
            if (!(relative_distance(a, b, N) <= bound)) fail_msg("%s on %s", t->name, s->name);
        }
        found++;
    }
    assert_true(found >= 2);
    OWN_SYSTEM *s = sized("fisher", 300, 4, 5);
    OWN_TABLE *t = freeze(zoo.scheme[0]);
    OWN_REALS *a = numbers(1200), *b = numbers(1200);
    System liar = *s;
    liar.apart = 1;
    walk_two(t, s, a);
    walk_two(t, &liar, b);
    assert_false(relative_distance(a, b, 1200) <= 1e3 * eps);
}

/* ---- attention in tiles --------------------------------------------------------------------------- */

/* Computes the attention of one query q (d) over keys and values (n, d) by its formula; out (d). */
static void attend(size_t n, size_t d, const long double *q, const double *keys,
                   const double *values, double *out)
{
    for (size_t c = 0; c < d; c++) {
        long double above = 0, below = 0;
        for (size_t j = 0; j < n; j++) {
            long double score = 0;
            for (size_t a = 0; a < d; a++) score += q[a] * keys[j * d + a];
            above += expl(score / sqrtl((long double)d)) * values[j * d + c];
            below += expl(score / sqrtl((long double)d));
        }
        out[c] = (double)(above / below);
    }
}

/* Computes y W^T, W (m, d), y (n, d), in long double sums; out (n, m). */
static void times(size_t n, size_t d, size_t m, const double *y, const double *W, double *out)
{
    for (size_t i = 0; i < n * m; i++) {
        long double sum = 0;
        for (size_t e = 0; e < d; e++) sum += (long double)W[i % m * d + e] * y[i / m * d + e];
        out[i] = (double)sum;
    }
}

/* Computes F, G or C by their formulas. param: Q, K, V, W1, b, W2; at its end Q', K', V' and the memory's keys and
 * values. */
static void formula(const System *s, int op, const double *y, double *dy)
{
    size_t n = s->n, d = s->d, m = 2 * d, longer = n > m ? n : m;
    const double *Q = s->param, *W1 = Q + 3 * d * d, *b = W1 + m * d, *W2 = b + m;
    const double *memory = W2 + d * m + 3 * n * d + n * longer;
    OWN_REALS *q = numbers(n * m), *k = numbers(n * d), *v = numbers(n * d);
    long double query[16];
    if (op == OP_G) {
        times(n, d, m, y, W1, q);
        for (size_t i = 0; i < n * m; i++) q[i] = tanh(q[i] + b[i % m]);
        times(n, m, d, q, W2, dy);
        return;
    }
    times(n, d, d, y, op == OP_F ? Q : memory, q);
    times(n, d, d, y, Q + d * d, k);
    times(n, d, d, y, Q + 2 * d * d, v);
    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < d; a++) query[a] = q[i * d + a];
        const double *keys = op == OP_F ? k : memory + 3 * d * d;
        attend(n, d, query, keys, op == OP_F ? v : keys + n * d, dy + i * d);
    }
}

/* Attention agrees with the formulas for few particles and for tiles, the last one short. */
TEST(test_attention)
{
    static const size_t sizes[] = {8, 128, 255, 256, 300};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        OWN_SYSTEM *s = sized("attention", sizes[k], 3, 5);
        size_t N = s->n * s->d;
        OWN_REALS *f = numbers(N), *exact = numbers(N);
        for (int op = 0; op < COLOURS; op++) {
            s->field[op](s, 1, 0, s->initial, f);
            formula(s, op, s->initial, exact);
            /* errors of some 20 eps in scores of a few units, and so in weights and sums */
            assert_true(relative_distance(f, exact, N) <= 200 * eps);
            formula(s, (op + 1) % COLOURS, s->initial, exact);
            assert_false(relative_distance(f, exact, N) <= 1e-3);
        }
    }
}

TEST_MAIN(zoo_begin, zoo_end)
