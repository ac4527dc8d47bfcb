/* test_stability.c: the root condition's consequence, amplification and stability limits against known values, against
 * the matrix of the whole history (GSL's eigenvalues). */
#include "tests/lib/test.h"

#include <complex.h>
#include <gsl/gsl_complex_math.h>
#include <gsl/gsl_eigen.h>

#include "kernels/base/random.h"
#include "ode/theory/poly.h"
#include "tests/lib/draws.h"
#include "tests/lib/schemes.h"

/* ---- the matrix of the whole history, another reader of the table --------------------------------- */

typedef struct {
    const Table *t;
    size_t size; /* y, ..., y[-past_y], then for j = 1 .. past_k every k_e[-j] */
    double complex z[2], *x, *k;
} History;

static double complex row_value(const History *a, const Row *r)
{
    double complex sum = 0;
    size_t slopes = (size_t)a->t->past_y + 1;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        size_t past = slopes + (size_t)(s->past - 1) * a->t->evals + (size_t)s->eval;
        sum += mpq_get_d(s->c) * (s->eval == TABLE_STATE ? a->x[s->past]
                                  : s->past == 0         ? a->k[s->eval]
                                                         : a->x[past]);
    }
    return sum;
}

/* Fills a column of the step's matrix, as the real matrix [[re, -im], [im, re]] of the same eigenvalues. */
static void fill_column(History *a, size_t column, gsl_matrix *m)
{
    const Table *t = a->t;
    size_t slopes = (size_t)t->past_y + 1, n = a->size;
    for (size_t i = 0; i < n; i++) a->x[i] = i == column;
    for (size_t e = 0; e < t->evals; e++)
        a->k[e] = a->z[t->eval[e].op] * row_value(a, &t->point[t->eval[e].point].row);
    for (size_t i = 0; i < n; i++) {
        double complex v = i == 0                  ? row_value(a, &t->update)
                           : i < slopes            ? a->x[i - 1]
                           : i < slopes + t->evals ? a->k[i - slopes]
                                                   : a->x[i - t->evals];
        gsl_matrix_set(m, i, column, creal(v));
        gsl_matrix_set(m, i + n, column + n, creal(v));
        gsl_matrix_set(m, i, column + n, -cimag(v));
        gsl_matrix_set(m, i + n, column, cimag(v));
    }
}

/* Returns the largest modulus of the eigenvalues. */
static double history_modulus(const Table *t, double complex f, double complex g)
{
    History a = {.t = t, .z = {f, g}};
    double largest = 0, sum = 0;
    if (t->flows) {
        for (size_t i = 0; i < t->flows; i++)
            sum += mpq_get_d(t->flow[i].c) * creal(a.z[t->flow[i].op]);
        return exp(sum);
    }
    a.size = (size_t)t->past_y + 1 + (size_t)t->past_k * t->evals;
    a.x = calloc(a.size, sizeof *a.x);
    a.k = calloc(t->evals, sizeof *a.k);
    gsl_matrix *m = gsl_matrix_calloc(2 * a.size, 2 * a.size);
    gsl_vector_complex *value = gsl_vector_complex_alloc(2 * a.size);
    gsl_eigen_nonsymm_workspace *w = gsl_eigen_nonsymm_alloc(2 * a.size);
    for (size_t c = 0; c < a.size; c++) fill_column(&a, c, m);
    assert_int_equal(gsl_eigen_nonsymm(m, value, w), 0);
    for (size_t i = 0; i < 2 * a.size; i++)
        largest = fmax(largest, gsl_complex_abs(gsl_vector_complex_get(value, i)));
    gsl_eigen_nonsymm_free(w);
    gsl_vector_complex_free(value);
    gsl_matrix_free(m);
    free(a.x);
    free(a.k);
    return largest;
}

static double between(uint64_t stream, uint64_t i, double low, double high)
{
    return low + (high - low) * random_uniform(7, stream, i);
}

/* Checks that both find the same modulus. Both find eigenvalues of matrices of norm < 100 and size < 20 in double
 * precision: 1e-13 each, times the condition of the eigenvalues, which is below 1e3 away from double ones. */
static void check_modulus(const Table *t)
{
    for (uint64_t i = 0; i < 20; i++) {
        double complex f = between(1, i, -2, 1) + between(2, i, -2, 2) * I;
        double complex g = between(3, i, -2, 1) + between(4, i, -2, 2) * I;
        double m = modulus(t, f, g), want = history_modulus(t, f, g);
        if (!(fabs(m - want) <= 1e-10 * (1 + want)))
            fail_msg("%s: |R| = %.15g, not %.15g", t->name, m, want);
    }
}

TEST(test_modulus)
{
    static const char *const more[] = {
        "k1 = H(y)\nk2 = H(y + 1/2*k1)\ny' = y + 1/2*k1 + 1/2*k2 - 1/2*k1[-1] + 1/2*k2[-1]",
        "k1 = H(y + k2[-1] - k1[-1])\nk2 = H(y + 1/2*k1)\ny' = y + k2",
        "k1 = F(y + 1/3*k2[-2] - 1/3*k1[-1])\nk2 = G(1/2*y + 1/2*y[-1] + 1/2*k1)\n"
        "y' = 2/3*y + 1/3*y[-2] + k2 + k1[-3]"};
    for_each("all", "exact", check_modulus);
    for (size_t i = 0; i < 3; i++) {
        OWN_TABLE *t = frozen(more[i]);
        check_modulus(t);
    }
}

/* ---- limits ----------------------------------------------------------------------------------------- */

#define SF10 "sfsfsfsfsfsfsfsfsfsf"
#define SF40 SF10 SF10 SF10 SF10

/* Ends of the stability intervals, to 1e-12 or what stands there. Sources: Hairer, Wanner 1996, IV.2, IV.3 and V.1, and
 * Dahlquist 1963; ab5: 2 / sum of the absolute weights, 90/551, the root -1; rk3: the real root of 1 + z + z^2/2 + z^3/6 =
 * -1; the exponential ones: the papers' formulas in 30 digits. The two-step family y + (1 + c) k1 - c k1[-1] has the root
 * -1 at -2/(1 + 2c) and, for c > 1/2, roots cos t + i sin t, cos t = 1/(2c), at i 2 sin t/(1 + 2c). R = 1 + z + c z^2 ends
 * at -1/c, touching R = -1 nowhere for c > 1/8. */
TEST(test_limits)
{
    const struct {
        const char *text;
        double real, imag, tolerance;
    } known[] = {
        {"euler", -2, 0},
        {"heun", -2, 0},
        {"rk3", -2.51274532661832862, 1.7320508075688772},
        {"rk4", -2.78529356340528, 2.8284271247461901},
        {"rk4-decoder", -2.78529356340528, 2.8284271247461901},
        {"ab2", -1, 0},
        {"ab3", -6.0 / 11, 0.723627226986633},
        {"ab4", -0.3, 0.429987079909256},
        {"ab5", -90.0 / 551, 0},
        {"leapfrog", 0, 1},
        {"transformer", -4, 0},
        {"transformer-decoder", -6, 0}, /* (1 + z/3)^3 */
        {"dial:2-1/2", -4, 0},
        {"looped-chebyshev", -2 / 0.1275, 0}, /* (1 + w + a (1 - a) w^2)^2 at w = z/2, a = 17/20 */
        {"lie-trotter", -INFINITY, INFINITY},
        {"strang-marchuk", -INFINITY, INFINITY},
        {"rk2-released", 0, 0},
        {"bdf2", -INFINITY, INFINITY},
        {"adams-moulton3", -6, 0, 1e-9},
        {"k1 = H(y + 2/5*k1)\ny' = y + k1", -10, 0, 1e-9}, /* 2 / (2 theta - 1) */
        {"k1 = H(y + 3/5*k1)\ny' = y + k1", -INFINITY, INFINITY},
        {"etd-rk4", -INFINITY, 5.39250560385020568641717880253, 1e-10},
        {"etd-rk4-krogstad", -10.7160633776747220248310539214, 5.160236255933267666266050679,
         1e-10},
        {"k1 = H(y)\nk2 = H(y + k1)\ny' = y - 999999*k1 + 1000000*k2", -1e-6,
         1.4142132088196604e-3},
        {"k1 = H(y)\nk2 = H(y + k1)\ny' = y + 3/4*k1 + 1/4*k2", -4, 0},
        {"k1 = H(y)\ny' = y + 1000001*k1 - 1000000*k1[-1]", -2.0 / 2000001,
         2 * sqrt(1 - 2.5e-13) / 2000001},
        {"k1 = H(y)\ny' = y + 1/1000000*k1", -2e6, 0},
        {"k1 = H(y)\ny' = y - k1", 0, 0},                         /* backwards */
        {"k1 = H(y)\ny' = 1/2*y + k1", -1.5, 0.8660254037844386}, /* |1/2 + z| = 1 */
        {"k1 = H(y)\ny' = 2*y - y[-1] + k1 - k1[-1]", 0, 0},      /* fails the root condition */
        {"k1 = H(y)\ny' = y[-1] + 1/50*k1", 0, 100},
        {"k1 = H(y)\ny' = y + k1 - k1", -INFINITY, INFINITY},
        /* R = 1 + z + z^2/2 + z^3/4 has |R(iy)|^2 = 1 - y^4/4 + y^6/16, so the end is 2 */
        {"k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + 1/2*k2)\ny' = y + k3", -2, 2},
        /* (1 + z/2)^80 and (1 + z/2 + z^2/8)^80, in 80 stages by polynomials and in 160, too many for polynomials, in
         * double precision */
        {"word:" SF40 ":euler", -4, 0, 1e-11},
        {"word:" SF40 ":heun", -4, 0, 1e-11},
        /* Sixteen decimals leave 1e-17 where order conditions leave nothing. */
        {"k1 = H(y)\nk2 = H(y + 0.5*k1)\nk3 = H(y + 0.5*k2)\nk4 = H(y + 1.0*k3)\n"
         "y' = y + 0.1666666666666667*k1 + 0.3333333333333333*k2 + 0.3333333333333333*k3 + "
         "0.1666666666666667*k4",
         -2.78529356340528, 2.8284271247461901, 1e-10},
        {"k1 = H(y)\ny' = y + 1.916666666666667*k1 - 1.333333333333333*k1[-1] + "
         "0.4166666666666667*k1[-2]",
         -6.0 / 11, 0.723627226986633, 1e-10}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_limits(known[i].text, known[i].real, known[i].imag,
                      known[i].tolerance > 0 ? known[i].tolerance : 1e-12);
}

/* R = 1 + z + ... + z^n/n! by Horner's scheme, 1 + z (1 + z/2 (1 + ...)); the last coefficient is off by `by`. */
static const char *taylor(int n, int decimals, double by)
{
    static char text[4096];
    size_t at = (size_t)snprintf(text, sizeof text, "k1 = H(y)\n");
    for (int i = 2; i <= n; i++) {
        char c[64];
        if (decimals)
            snprintf(c, sizeof c, "%.*f", decimals, 1. / (n - i + 2) + (i == n ? by : 0));
        else
            snprintf(c, sizeof c, "1/%d", n - i + 2);
        at += (size_t)snprintf(text + at, sizeof text - at, "k%d = H(y + %s*k%d)\n", i, c, i - 1);
    }
    snprintf(text + at, sizeof text - at, "y' = y + k%d", n);
    return text;
}

/* |R(iy)|^2 - 1 begins with a power whose coefficient is 1/n! and less: 16 decimals leave what fractions have. Of fifteen
 * stages the end is 1.66873657840 (the root of that polynomial in 60 digits); a coefficient that is 1e-7 too small
 * moves it to 0. */
TEST(test_decimals)
{
    for (int n = 2; n <= 18; n++) {
        double end[3][2];
        for (int k = 0; k < 3; k++) {
            OWN_TABLE *t = frozen(taylor(n, k ? 16 : 0, k == 2 ? -1e-7 : 0));
            assert_int_equal(stability_limits(t, &end[k][0], &end[k][1], NULL), 0);
        }
        for (int axis = 0; axis < 2; axis++) {
            double want = end[0][axis];
            if (!(fabs(end[1][axis] - want) <= 1e-9 * fabs(want)))
                fail_msg("%d stages: %.12g, not %.12g", n, end[1][axis], want);
        }
        if (n == 15) assert_true(is_near(end[1][1], 1.66873657840, 1e-11));
        assert_true(end[2][1] == 0);
    }
}

/* ---- polynomials ------------------------------------------------------------------------------------- */

/* Multiplies p by (x - root). */
static void times_root(fmpq_poly_t p, const mpq_t root)
{
    POLY(factor);
    poly_set(factor, 0, root);
    fmpq_poly_neg(factor, factor);
    fmpq_poly_set_coeff_si(factor, 1, 1);
    fmpq_poly_mul(p, p, factor);
}

static int sign_at(const fmpq_poly_t p, const mpq_t x)
{
    FRACTION(at);
    FRACTION(v);
    fmpq_set_mpq(at, x);
    fmpq_poly_evaluate_fmpq(v, p, at);
    return fmpq_sgn(v);
}

/* Roots are random, of multiplicity 1 .. 3, on both sides. From a negative start the first of odd multiplicity beyond 0
 * is the end. */
TEST(test_interval)
{
    int ends = 0;
    for (uint64_t run = 0; run < 60; run++) {
        POLY(p);
        OWN_RATIONAL root;
        double want = INFINITY, end;
        int sign = 1;
        mpq_init(root);
        fmpq_poly_set_si(p, 1);
        for (uint64_t k = 0; k < 6; k++) {
            long r = (long)random_below(run, 1, k, 40) - 15;
            int times = 1 + (int)random_below(run, 2, k, 3);
            if (r == 0) r = 1;
            mpq_set_si(root, r, 3);
            mpq_canonicalize(root);
            for (int i = 0; i < times; i++) times_root(p, root);
            if (r > 0 && times % 2) sign = -sign;
        }
        if (sign > 0) fmpq_poly_neg(p, p); /* p(0) < 0 */
        /* by brute force: all roots are multiples of 1/3 */
        for (long r = 1; r < 80 && isinf(want); r++) {
            mpq_set_si(root, 2 * r + 1, 6);
            mpq_canonicalize(root);
            if (sign_at(p, root) > 0) want = (double)r / 3;
        }
        assert_int_equal(poly_interval(p, 0, &end), 0);
        if (!is_near(end, want, 1e-15)) fail_msg("run %d: %.17g, not %.17g", (int)run, end, want);
        ends += isfinite(want);
    }
    assert_true(ends > 20 && ends < 60);
}

/* Two roots, 1/3 and 2^-k/3 more, are told from each other, or it is said that they are not. */
TEST(roots_close_together)
{
    for (unsigned k = 200; k <= 12800; k *= k < 800 ? 2 : 16) {
        POLY(p);
        double end;
        int code = k > 8192 ? ERR_NUMERIC : 0;
        OWN_RATIONAL root;
        mpq_init(root);
        fmpq_poly_set_si(p, -1);
        mpq_set_ui(root, 1, 3);
        times_root(p, root);
        mpz_ui_pow_ui(mpq_numref(root), 2, k);
        mpz_mul_ui(mpq_denref(root), mpq_numref(root), 3);
        mpz_add_ui(mpq_numref(root), mpq_numref(root), 1);
        times_root(p, root);
        assert_int_equal(poly_interval(p, 0, &end), code);
        if (code != 0) continue;
        assert_true(end == 1. / 3);
        times_root(p, root); /* a double root does not change the sign */
        mpq_set_ui(root, 1, 3);
        times_root(p, root);
        assert_int_equal(poly_interval(p, 0, &end), 0);
        assert_true(isinf(end));
    }
}

/* Positive roots have balls of their own that do not touch, rising: at the halves of intervals that are looked through, beside these
 * by 2^-200, and in threes; those at 0 and below have none. */
TEST(positive_roots)
{
    static const struct {
        long n, d;
        int beside; /* 1: that and n/d + 2^-200; -1: and n/d - 2^-200 */
    } row[] = {{-3, 2, 0}, {0, 1, 0}, {1, 7, 1}, {1, 4, 0}, {1, 2, 1},
               {3, 4, -1}, {1, 1, 0}, {2, 1, 1}, {3, 1, 0}, {1000000, 3, -1}};
    POLY(p);
    OWN_RATIONAL root, little;
    fmpq_t list[20];
    slong n = 0, count;
    mpq_inits(root, little, NULL);
    mpq_set_ui(little, 1, 1);
    mpq_div_2exp(little, little, 200);
    fmpq_poly_one(p);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        for (int k = row[i].beside < 0 ? -1 : 0; k <= (row[i].beside > 0); k++) {
            mpq_set_si(root, row[i].n, (unsigned long)row[i].d);
            if (k != 0) (k > 0 ? mpq_add : mpq_sub)(root, root, little);
            times_root(p, root);
            fmpq_init(list[n]);
            if (mpq_sgn(root) > 0) fmpq_set_mpq(list[n++], root);
        }
    WHOLE(whole);
    fmpq_poly_get_numerator(whole, p);
    arb_ptr ball = _arb_vec_init(20);
    assert_int_equal(poly_positive(whole, ball, &count), 0);
    assert_int_equal(count, n);
    for (slong i = 0; i < n; i++) {
        assert_true(arb_contains_fmpq(ball + i, list[i]));
        assert_true(arb_rel_accuracy_bits(ball + i) >= POLY_BITS);
        assert_true(i == 0 || arb_lt(ball + i - 1, ball + i));
        fmpq_clear(list[i]);
    }
    _arb_vec_clear(ball, 20);
}

/* ---- dispersion and dissipation ------------------------------------------------------------------------- */

typedef struct {
    const char *text;
    double order[2]; /* orders of dispersion and dissipation */
    long p[2];
    unsigned long q[2];
} Lag;

static void check_lag(const Lag *k)
{
    OWN_TABLE *t = frozen(k->text);
    Phase phase;
    assert_int_equal(phase_find(t, &phase), 0);
    if (phase.dispersion_order != k->order[0] || phase.dissipation_order != k->order[1])
        fail_msg("%s: orders %g, %g", k->text, phase.dispersion_order, phase.dissipation_order);
    if (mpq_cmp_si(phase.dispersion, k->p[0], k->q[0]) != 0 ||
        mpq_cmp_si(phase.dissipation, k->p[1], k->q[1]) != 0)
        fail_msg("%s: another constant", k->text);
    phase_free(&phase);
}

/* Lags are as in van der Houwen, Sommeijer 1987 (the classical Runge-Kutta method); Durran 1991, table 1, and Durran
 * 1999, section 2.3: relative phase speed and amplitude of leapfrog, Adams-Bashforth and Runge-Kutta methods, 1 -
 * constant nu^q. Spoilt ones have other orders. */
TEST(test_lags)
{
    static const Lag known[] = {
        {"euler", {2, 1}, {1, -1}, {3, 2}},
        {"midpoint", {2, 3}, {-1, -1}, {6, 8}},
        {"rk3", {4, 3}, {-1, 1}, {30, 24}},
        {"rk4", {4, 5}, {1, 1}, {120, 144}},
        {"leapfrog", {2, INFINITY}, {-1, 0}, {6, 1}},
        {"ab2", {2, 3}, {-5, -1}, {12, 4}},
        {"ab3", {4, 3}, {-289, 3}, {720, 8}},
        {"lie-trotter", {INFINITY, INFINITY}, {0, 0}, {1, 1}},
        {"word:ssf", {INFINITY, INFINITY}, {0, 0}, {1, 1}},
        {"strang-decoder", {INFINITY, INFINITY}, {0, 0}, {1, 1}},
        {"flow 1/2 F\nflow G", {0, INFINITY}, {1, 0}, {4, 1}},
        {"k1 = H(y)\ny' = 0*k1 + y", {0, INFINITY}, {1, 0}, {1, 1}},
        {"k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + 1/2*k2)\nk4 = H(y + k3)\n"
         "y' = y + 1/6*k1 + 1/3*k2 + 1/4*k3 + 1/4*k4",
         {2, 1},
         {-1, 1},
         {48, 24}},
        {"k1 = H(y)\ny' = y[-1] + 21/10*k1", {0, INFINITY}, {-1, 0}, {20, 1}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) check_lag(&known[i]);
}

TEST(test_history)
{
    char text[4096];
    size_t n = 0;
    double real, imag;
    Stability *s;
    for (int i = 1; i <= 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "k%d = H(y + 1/9*k%d[-9])\n", i, i);
    snprintf(text + n, sizeof text - n, "y' = y + k1");
    OWN_TABLE *t = frozen(text), *u = frozen("k1 = H(y)\ny' = y[-59] + 60*k1");
    assert_int_equal(stability_new(t, &s), ERR_INPUT); /* 721 factors */
    assert_int_equal(stability_limits(t, &real, &imag, NULL), 0);
    assert_true(isnan(real) && isnan(imag));
    assert_int_equal(stability_limits(u, &real, &imag, NULL), 0); /* 60 roots of unity */
    assert_true(real <= 0 && imag >= 0);
}

/* ---- the stability function itself --------------------------------------------------------------------- */

static double complex polynomial(int degree, mpq_t *c, double complex z)
{
    double complex sum = 0;
    for (int i = degree; i >= 0; i--) sum = sum * z + mpq_get_d(c[i]);
    return sum;
}

/* Returns c_n prod (z - root). */
static double complex product(int n, mpq_t *c, const double *root, double complex z)
{
    double complex p = mpq_get_d(c[n]);
    for (int i = 0; i < n; i++) p *= z - (root[2 * i] + I * root[2 * i + 1]);
    return p;
}

/* P/Q has the modulus that the amplifier finds by another way, and the zeros and poles make the same P/Q. */
TEST(functions_are_the_factor)
{
    size_t seen = 0, multiple = 0;
    for (size_t k = 0; k < zoo.count; k++) {
        SCOPED(stability_function_free) StabilityFunction r = {.p = -1};
        OWN_TABLE *t = freeze(zoo.scheme[k]);
        SCOPED(stability_drop) Stability *s = NULL;
        assert_int_equal(stability_function(t, &r), 0);
        if (r.p < 0) {
            assert_true(t->flows || t->past_y || t->past_k || table_exponential(t));
            continue;
        }
        assert_int_equal(stability_new(t, &s), 0);
        for (int i = 0; i < 8; i++) {
            double complex z = 3 * cexp(I * (i + 0.3));
            double at[COLOURS][2] = {{0}};
            for (int op = 0; op < t->colours; op++) {
                double share = r.colour < 0 ? 1.0 / t->colours : op == r.colour;
                at[op][0] = share * creal(z);
                at[op][1] = share * cimag(z);
            }
            double factor = stability_at(s, (const double(*)[2])at);
            double complex R = polynomial(r.p, r.P, z) / polynomial(r.q, r.Q, z);
            double complex roots = product(r.p, r.P, r.zero, z) / product(r.q, r.Q, r.pole, z);
            if (!(fabs(cabs(R) - factor) <= 1e-10 * factor))
                fail_msg("%s: %.15g, not %.15g", t->name, cabs(R), factor);
            if (!(cabs(roots - R) <= 1e-9 * cabs(R)))
                fail_msg("%s: its roots make another R", t->name);
        }
        for (int i = 1; i < r.q; i++)
            multiple +=
                r.pole[2 * i] == r.pole[2 * i - 2] && r.pole[2 * i + 1] == r.pole[2 * i - 1];
        seen++;
    }
    assert_true(seen > 40 && multiple > 15);
}

/* Pade's approximants and the poles of one diagonal coefficient, from their sources. */
TEST(known_functions)
{
    static const struct {
        const char *text; /* a name of the zoo, or a scheme */
        int p, q;
        const char *P[4], *Q[7];
        double zero[2], pole[2]; /* the first of each */
    } row[] = {
        {"rk4", 4, 0, {"1", "1", "1/2", "1/6"}, {"1"}, {-1.7294442310677, 0.8889743761218}, {0}},
        {"gauss4",
         2,
         2,
         {"1", "1/2", "1/12"},
         {"1", "-1/2", "1/12"},
         {-3, 1.7320508075689},
         {3, 1.7320508075689}},
        {"radau-iia5",
         2,
         3,
         {"1", "2/5", "1/20"},
         {"1", "-3/5", "3/20", "-1/60"},
         {-4, 2},
         {2.6810828736278, 3.0504301992474}},
        {"rodas4",
         5,
         6,
         {"1", "-1/2", "-1/16", "1/24"},
         {"1", "-3/2", "15/16", "-5/16", "15/256", "-3/512", "1/4096"},
         {-3.3236306, 1.8823949},
         {4, 0}},
    };
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        SCOPED(stability_function_free) StabilityFunction r = {.p = -1};
        OWN_TABLE *t = frozen(row[k].text);
        OWN_RATIONAL want;
        mpq_init(want);
        assert_int_equal(stability_function(t, &r), 0);
        assert_int_equal(r.p, row[k].p);
        assert_int_equal(r.q, row[k].q);
        for (int i = 0; i <= r.p && i < 4; i++) {
            mpq_set_str(want, row[k].P[i], 10);
            assert_true(mpq_equal(r.P[i], want));
        }
        for (int i = 0; i <= r.q; i++) {
            mpq_set_str(want, row[k].Q[i], 10);
            assert_true(mpq_equal(r.Q[i], want));
        }
        assert_true(hypot(r.zero[0] - row[k].zero[0], r.zero[1] - row[k].zero[1]) < 1e-7);
        assert_true(r.q == 0 ||
                    hypot(r.pole[0] - row[k].pole[0], r.pole[1] - row[k].pole[1]) < 1e-7);
        for (int i = 1; k == 3 && i < 6;
             i++) /* of multiplicity 6, in digits that a sixth power of 1e-16 would spoil */
            assert_true(r.pole[2 * i] == r.pole[0] && r.pole[2 * i + 1] == r.pole[1]);
    }
}

/* The poles of a singly implicit method, whose matrix has the eigenvalue gamma twice, are one, 1 / gamma, though its decimals
 * are rounded. Roots of the rounded polynomial are some 1e-8 apart. */
TEST(poles_of_decimals)
{
    for (size_t k = 0; k < draws(30); k++) {
        SCOPED(stability_function_free) StabilityFunction r = {.p = -1};
        char text[512];
        double gamma = 0.2 + (double)draw(1000) / 1000, off = 0.1 + (double)draw(100) / 1700,
               low = 0.3 + (double)draw(100) / 130;
        snprintf(text, sizeof text,
                 "k1 = H(y + %.16f*k1 - %.16f*k2)\nk2 = H(y + %.16f*k1 + %.16f*k2)\n"
                 "y' = y + 1/2*k1 + 1/2*k2",
                 gamma + off, off * off / low, low, gamma - off);
        OWN_TABLE *t = frozen(text);
        assert_int_equal(stability_function(t, &r), 0);
        assert_int_equal(r.q, 2);
        for (int i = 0; i < 2; i++)
            if (fabs(r.pole[2 * i] * gamma - 1) > 1e-12 || r.pole[2 * i + 1] != 0)
                fail_msg("%s: %.17g, %g", text, r.pole[2 * i], r.pole[2 * i + 1]);
    }
}

/* NodePy publishes the internal polynomials of rk4, 1/12 z^3 + 1/6 z^2 + 1/3 z, 1/6 z^2 + 1/3 z and 1/6 z, and the largest of
 * SSPRK(6,2) on a grid of 200 points a side, 2.037. A grid here comes near from below. */
TEST(internal_stability)
{
    enum { SIDE = 1500 };
    OWN_TABLE *rk4 = frozen("rk4");
    double found, grid = 0;
    assert_int_equal(stability_internal(rk4, &found), 0);
    for (int i = 0; i < SIDE; i++)
        for (int k = 0; k < SIDE; k++) {
            double complex z = -4 + 5. * i / SIDE + (3.5 * k / SIDE) * I;
            double complex Q[] = {z * z * z / 12 + z * z / 6 + z / 3, z * z / 6 + z / 3, z / 6};
            if (cabs(1 + z + z * z / 2 + z * z * z / 6 + z * z * z * z / 24) > 1) continue;
            for (int j = 0; j < 3; j++) grid = fmax(grid, cabs(Q[j]));
        }
    if (!(found >= grid && found <= grid * 1.002)) fail_msg("rk4: %g, on a grid %g", found, grid);
    static const struct {
        const char *text;
        double largest;
    } row[] = {
        {"k1 = H(y)\nk2 = H(y + 1/5*k1)\nk3 = H(y + 1/5*k1 + 1/5*k2)\n"
         "k4 = H(y + 1/5*k1 + 1/5*k2 + 1/5*k3)\nk5 = H(y + 1/5*k1 + 1/5*k2 + 1/5*k3 + 1/5*k4)\n"
         "k6 = H(y + 1/5*k1 + 1/5*k2 + 1/5*k3 + 1/5*k4 + 1/5*k5)\n"
         "y' = y + 1/6*k1 + 1/6*k2 + 1/6*k3 + 1/6*k4 + 1/6*k5 + 1/6*k6",
         2.0768},
        {"heun", 1.0987}, /* |z|/2 on |1 + z + z^2/2| <= 1 */
        {"ssprk3", 1.692},
        {"fehlberg", 5.429},
        {"euler", 0}, /* its one stage stands at y */
        {"gauss4", NAN},
        {"ab2", NAN},
        {"macaron", NAN},
        {"strang-marchuk", NAN}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = frozen(row[i].text);
        assert_int_equal(stability_internal(t, &found), 0);
        if (isnan(row[i].largest) ? !isnan(found) : !(fabs(found - row[i].largest) < 1e-4 * 5))
            fail_msg("%s: %g", row[i].text, found);
    }
}

/* ---- proofs --------------------------------------------------------------------------------------------- */

#define BDF(sum, c) "k1 = H(" sum " + " c "*k1)\ny' = " sum " + " c "*k1"

/* Limits of schemes of fractions are the doubles nearest to the true ones, with history too, and are said to be proved; those of
 * decimals are not. Angles of the formulas of orders 3 to 6: the least argument of their locus, and the ends on the imaginary axis, by mpmath in 30 digits. */
TEST(proved_limits)
{
    static const struct {
        const char *text;
        double real, imag, alpha;
        int proved;
    } row[] = {
        {"y' = y + 3/2*k1 - 1/2*k1[-1]", -1, 0, NAN, 1},
        {"y' = y + 23/12*k1 - 4/3*k1[-1] + 5/12*k1[-2]", -6. / 11, 0.72362722698663269, NAN, 1},
        {"y' = y + 55/24*k1 - 59/24*k1[-1] + 37/24*k1[-2] - 3/8*k1[-3]", -.3, 0.42998707990925598,
         NAN, 1},
        {"y' = y[-1] + 2*k1", 0, 1, NAN, 1},
        {"y' = y[-1] + 2.0*k1", 0, 1, NAN, 0},
        /* zeta^2 = 1 + z (z + 1) (z + 1 + 1e-60): above 1 between -1 - 1e-60 and -1 alone */
        {"k1 = H(y[-1])\nk2 = H(k1)\nk3 = H(k2)\n"
         "y' = y[-1] + (1+1/10^60)*k1 + (2+1/10^60)*k2 + k3",
         -1, NAN, NAN, 1},
        {"y' = y + 1.5*k1 - 0.5*k1[-1]", -1, 0, NAN, 0},
        {BDF("4/3*y - 1/3*y[-1]", "2/3"), -INFINITY, INFINITY, 90, 1},
        {BDF("18/11*y - 9/11*y[-1] + 2/11*y[-2]", "6/11"), -INFINITY, NAN, 86.0323668602116473, 1},
        {BDF("48/25*y - 36/25*y[-1] + 16/25*y[-2] - 3/25*y[-3]", "12/25"), -INFINITY, NAN,
         73.3516704745784821, 1},
        {BDF("300/137*y - 300/137*y[-1] + 200/137*y[-2] - 75/137*y[-3] + 12/137*y[-4]", "60/137"),
         -INFINITY, NAN, 51.8397558360499104, 1},
        {BDF("120/49*y - 150/49*y[-1] + 400/147*y[-2] - 75/49*y[-3] + 24/49*y[-4] - 10/147*y[-5]",
             "20/49"),
         -INFINITY, NAN, 17.8397777922457001, 1},
        {BDF("1.9*y - 0.9*y[-1]", "0.1"), NAN, NAN, NAN, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[512];
        double real, imag;
        int proved;
        Stiff s;
        snprintf(text, sizeof text, "%s%s", row[i].text[0] == 'y' ? "k1 = H(y)\n" : "",
                 row[i].text);
        OWN_TABLE *t = frozen(text);
        assert_int_equal(stability_limits(t, &real, &imag, &proved), 0);
        assert_int_equal(stability_stiff(t, &s), 0);
        const double got[3] = {real, imag, s.alpha},
                     want[3] = {row[i].real, row[i].imag, row[i].alpha};
        assert_true(proved == row[i].proved && s.proved == row[i].proved);
        for (int k = 0; k < 3; k++) {
            int same = row[i].proved ? got[k] == want[k] : is_near(got[k], want[k], 1e-8);
            if (!isnan(want[k]) && !same)
                fail_msg("%s: %.17g, not %.17g", row[i].text, got[k], want[k]);
        }
    }
}

/* What the angle is when a pole is in the half-plane (of 1 + z + z^2, at 60 degrees from the negative axis) and the imaginary axis
 * does not show it: |R| = (2 c + 1) / 10 (2 c - 1) at most on the ray at angle arccos c. Factors 1/2 and -1
 * beside that of the trapezoidal rule do not depend on z; one that does, beside another on the circle throughout, is searched for. */
TEST(angles_with_poles)
{
    static const struct {
        const char *text;
        double alpha, infinity;
        int proved;
    } row[] = {{"k1 = H(y[-1] - k2)\nk2 = H(y[-1] + k1 - k2)\ny' = 1/2*y[-1] - k1", 0,
                0.70710678118654757, 1},
               {"k1 = H(y[-1] - k2)\nk2 = H(y[-1] + k1 - k2)\ny' = 1/10*y[-1] - 1/5*k1",
                52.330113035670372, 0.31622776601683794, 1},
               {"k1 = H(y[-1] + 1/4*k1)\ny' = y[-1] + k1", 0, 1.7320508075688772, 1},
               {"k1 = H(y[-1] + k1)\nk2 = H(y[-1] + 2*k1)\ny' = y[-1] + k2", 0, INFINITY, 1},
               {"k1 = H(y)\nk2 = H(3/2*y - 1/2*y[-1] + 1/2*k2 + 1/4*k1 - 1/4*k1[-1])\n"
                "y' = 3/2*y - 1/2*y[-1] + 1/2*k2 + 1/4*k1 - 1/4*k1[-1]",
                90, 1, 1},
               {"k1 = H(y)\nk2 = H(y[-1] + 1/2*k2 + k1 + 1/2*k1[-1])\n"
                "y' = y[-1] + 1/2*k2 + k1 + 1/2*k1[-1]",
                90, 1, 1},
               {"k1 = H(y)\nk2 = H(y - 1/4*y[-1] + k2 - 1/2*k1)\ny' = y - 1/4*y[-1] + k2 - 1/2*k1",
                90, 0.5, 1},
               {"k1 = H(y)\nk2 = H(y + 1/2*k1 + 1/2*k2)\n"
                "k3 = H(1/2*y - 1/2*y[-1] - 1/4*k1[-1] - 1/4*k2[-1] + k3)\n"
                "y' = 3/2*y - 1/2*y[-1] + 1/2*k1 + 1/2*k2 - 1/4*k1[-1] - 1/4*k2[-1] + k3",
                90, 1, 0}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Stiff s;
        OWN_TABLE *t = frozen(row[i].text);
        assert_int_equal(stability_stiff(t, &s), 0);
        int a_stable = row[i].alpha == 90 ? TOLD_YES : TOLD_NO;
        if (s.proved != row[i].proved || s.alpha != row[i].alpha || s.a_stable != a_stable ||
            s.l_stable != TOLD_NO || isinf(s.r_infinity) != isinf(row[i].infinity) ||
            !is_near(s.r_infinity, row[i].infinity, 1e-8))
            fail_msg("%s: %.17g, |R| to %.17g, proved %d", row[i].text, s.alpha, s.r_infinity,
                     s.proved);
    }
}

/* Returns the angle up to which |1 + w + c w^2| <= 1, w = z / (1 - g z), holds at points of each ray, in tenths of degrees. */
static double angle_by_rays(double g, double c)
{
    for (int a = 0; a <= 900; a++)
        for (int k = -120; k <= 240; k++) {
            double complex z = -pow(10, k / 40.) * cexp(I * (a * M_PI / 1800)), w = z / (1 - g * z);
            if (cabs(1 + w + c * w * w) > 1 + 1e-9) return a ? (a - 1) / 10. : 0;
        }
    return 90;
}

/* Angles of drawn singly diagonal methods of two stages. */
TEST(angles_of_two_stages)
{
    int between = 0;
    for (size_t k = 0; k < draws(25); k++) {
        char text[128];
        Stiff s;
        int g = 1 + (int)draw(20), c = (int)draw(40) - 10;
        snprintf(text, sizeof text,
                 "k1 = H(y + %d/20*k1)\nk2 = H(y + %d/40*k1 + %d/20*k2)\ny' = y + k2", g, c, g);
        OWN_TABLE *t = frozen(text);
        assert_int_equal(stability_stiff(t, &s), 0);
        double want = angle_by_rays(g / 20., c / 40.);
        if (!(fabs(s.alpha - want) <= 0.2)) fail_msg("%s: %g, not %g", text, s.alpha, want);
        between += s.alpha > 0 && s.alpha < 90 && s.r_infinity > 0.01;
    }
    assert_true(between > 0);
}

/* |R| of flows is exp(sum of their coefficients times re z): they hold in the left half-plane unless the sum is below 0. */
TEST(limits_of_flows)
{
    for (size_t k = 0; k < draws(30); k++) {
        char text[128];
        double real, imag;
        int c[3] = {(int)draw(20) - 10, (int)draw(20) - 10, (int)draw(20) - 10};
        snprintf(text, sizeof text, "flow (%d/7) F\nflow (%d/7) G\nflow (%d/7) F", c[0], c[1],
                 c[2]);
        OWN_TABLE *t = frozen(text);
        assert_int_equal(stability_limits(t, &real, &imag, NULL), 0);
        if (real != (c[0] + c[1] + c[2] < 0 ? 0 : -INFINITY) || !isinf(imag))
            fail_msg("%s: %g, %g", text, real, imag);
    }
}

/* Roots of rho that are on the circle, just inside of it and just outside are told apart, and double ones on it. */
TEST(proved_roots)
{
    static const struct {
        const char *update;
        int stable;
    } row[] = {{"y' = y[-1] + 2*k1", 1},
               {"y' = 2*y - y[-1] + k1", 0}, /* (x - 1)^2 */
               {"y' = (1 - 1/10^12)*y + 1/10^12*y[-1] + k1", 1},
               {"y' = (2 + 1/10^12)*y - (1 + 1/10^12)*y[-1] + k1", 0},
               {"y' = -y - y[-1] + 3*k1", 1},                           /* cube roots of 1 */
               {"y' = y - y[-1] + y[-2] + k1", 1},                      /* 1, i, -i */
               {"y' = y - 2*y[-1] + 2*y[-2] - y[-3] + y[-4] + k1", 0}}; /* i, -i twice */
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[256];
        int stable, on_circle;
        snprintf(text, sizeof text, "k1 = H(y)\n%s", row[i].update);
        OWN_TABLE *t = frozen(text);
        assert_int_equal(stability_roots(t, &stable, &on_circle), 0);
        if (stable != row[i].stable) fail_msg("%s: %d", row[i].update, stable);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
