/* test_exponential.c: exponential integrators: orders by trees, exact steps for G = 0, the systems that they take, and phi
 * functions. */
#include "tests/lib/test.h"

#include <complex.h>
#include <float.h>
#include <gsl/gsl_linalg.h>

#include "bridge/bridge.h"
#include "kernels/base/random.h"
#include "ode/field/system.h"
#include "ode/ode.h"
#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

static const struct {
    const char *name, *explicit; /* the scheme that is left where F = 0 */
    int order, general;          /* for a linear F; for any */
} zoo_schemes[] = {
    {"etd-euler", "euler", 1, 1},
    {"etd-rk2", "heun", 2, 2},
    {"etd-rk4", "rk4", 4, 2},
    {"etd-rk4-krogstad", "rk4", 4, 2},
    {"exponential-rosenbrock-euler", "", 2, 2},
};
enum { SCHEMES = sizeof zoo_schemes / sizeof *zoo_schemes };

TEST(test_orders)
{
    OWN_TABLES list = listed("exponential", "exact");
    assert_int_equal(list.count, SCHEMES); /* the lists below forget none */
    for (size_t i = 0; i < list.count; i++) {
        Table *t = list.table[i];
        assert_string_equal(t->name, zoo_schemes[i].name);
        assert_true(table_phi(t));
        assert_int_equal(order_of(t), zoo_schemes[i].order);
        t->special = 0;
        assert_int_equal(order_of(t), zoo_schemes[i].general);
    }
}

/* ---- steps ------------------------------------------------------------------------------------------ */

OWN_FIELD(no_field)
{
    counted++;
    memset(dy, 0, s->n * s->d * sizeof *dy);
}

/* Computes y (N) after `steps` steps of h, all of whose evaluations are counted. */
static void walk_counted(const Table *t, const System *s, double h, int steps, double *y)
{
    OWN_STEPPER *st = stepper(t, s);
    assert_int_equal(stepper_begin(st, 0, h, s->initial, START_GIVEN, NULL), 0);
    counted = 0;
    for (int k = 0; k < steps; k++) assert_int_equal(stepper_step(st), 0);
    assert_int_equal(stepper_evals(st), counted);
    memcpy(y, stepper_state(st), s->n * s->d * sizeof *y);
}

/* Where G = 0 every scheme is the exact flow of a linear F, at any step. A Runge-Kutta method is not. */
TEST(test_exact_without_G)
{
    static const char *const names[] = {"linear", "nilpotent:4", "fisher", "transport",
                                        "transport:periodic:wave=1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OWN_SYSTEM *base = make(names[i]);
        System s = counting(base);
        size_t N = s.n * s.d;
        OWN_REALS *x = numbers(N), *y = numbers(N);
        memcpy(y, s.initial, N * sizeof *y);
        s.flow[OP_F](base, 1, 0, 1, y);
        s.field[OP_G] = no_field;
        s.special = 1 << OP_F | 1 << OP_G;
        for (size_t k = 0; k < SCHEMES; k++)
            for (int steps = 1; steps <= 4; steps *= 4) {
                OWN_TABLE *t = frozen(zoo_schemes[k].name);
                walk_counted(t, &s, 1.0 / steps, steps, x);
                if (!(relative_distance(x, y, N) <= 1e-13))
                    fail_msg("%s on %s: %g", t->name, s.name, relative_distance(x, y, N));
            }
        OWN_TABLE *t = frozen("rk4");
        walk_counted(t, &s, 0.5, 2, x);
        if (strncmp(s.name, "nilpotent", 9) != 0) assert_true(relative_distance(x, y, N) > 1e-7);
    }
}

/* F has a constant part, F(0) != 0, and G depends on time. The nodes of G are those of its points, through phi
 * functions too. The control has a G that stands at the step's beginning. */
TEST(test_times)
{
    static const char text[] =
        "system forced-heat\nn 6\nF = mean 4*(z - y) + 2*(1/2 - y)\n"
        "G = (1 + sin(3*t + i))*y*(1 - y)\ninitial = 0.3 + 0.1*i\nt-end 1\nh0 1/4\n";
    OWN_SYSTEM *s = read_system(text, 0, 0);
    assert_int_equal(s->special, 1 << OP_F);
    assert_true(s->timed);
    for (size_t k = 0; k < SCHEMES; k++) {
        OWN_TABLE *t = frozen(zoo_schemes[k].name);
        if (t->special) /* the others differentiate G */
            assert_int_equal(order_verdict(t, s, zoo_schemes[k].order), VERDICT_AGREE);
        else
            assert_int_equal(system_takes(s, t), ERR_INPUT);
    }
    OWN_TABLE *t =
        frozen("linear F\nk1 = F(y)\nk2 = G(y)\nk3 = phi1(F)(k1 + k2)\nk4 = G(y + k3 @ 0)\n"
               "k5 = phi2(F)(k4 - k2)\ny' = y + k3 + k5");
    assert_int_equal(order_verdict(t, s, 2), VERDICT_DISAGREE);
    assert_int_equal(order_verdict(t, s, 1), VERDICT_AGREE);
}

/* ---- linear fields ----------------------------------------------------------------------------------- */

/* A system file's operations decide which fields are linear. */
TEST(test_linear_files)
{
    static const struct {
        const char *fields;
        int F, G;
    } cases[] = {
        {"F = sum (z - y)/2\nG = 3 - 2*y", 1, 1},
        {"F = sum sin(z - y)\nG = y^2", 0, 0},
        {"F = mean exp(-(i - j)^2)*z + y\nG = y^1*2 + sqrt(2)^3", 1, 1},
        {"F = sum r2*z\nG = t*y", 0, 0},
        {"F = sum t*(z - y)\nG = 1/y", 0, 0},
        {"F = softmax i*j : z\nG = -(y/4)", 1, 1},
        {"F = softmax y*z : z\nG = y*2*3/4 - y", 0, 1},
        {"G = 2^y", 1, 0},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *text = formed("system a\nn 5\n%s\ninitial = 0.4 + 0.1*i\n", cases[k].fields);
        OWN_SYSTEM *s = read_system(text, 0, 0);
        int said = s->special & (1 << OP_F | 1 << OP_G);
        if (said != (cases[k].F << OP_F | cases[k].G << OP_G)) fail_msg("%s: %d", text, said);
    }
}

TEST(test_refused_systems)
{
    OWN_SYSTEM *attention = make("attention"), *forced = make("forced");
    OWN_TABLE *rk2 = frozen("etd-rk2"), *rosenbrock = frozen("exponential-rosenbrock-euler");
    Stepper *st;
    assert_refused(stepper_new(rk2, attention, &st), "attention", "linear F");
    assert_non_null(strstr(error_text(), " fisher"));
    assert_null(strstr(error_text(), " kuramoto"));
    assert_refused(stepper_new(rosenbrock, forced, &st), "forced", "time");
}

/* Returns the factor of ETD-RK2 on y' = (F + G) y: a = e^F y + phi_1 G y, y' = a + phi_2 G (a - y) (Cox, Matthews
 * 2002). */
static double complex etd_rk2(double complex F, double complex G)
{
    double complex one = (cexp(F) - 1) / F, two = (one - 1) / F, a = cexp(F) + one * G;
    return a + two * G * (a - 1);
}

TEST(test_amplification)
{
    static const double complex point[] = {-3,       -50 + 2 * I, 4 * I,    0.7 - 0.8 * I,
                                           -1.1 * I, 1e-9,        -0.99999, 2 + 3 * I};
    enum { POINTS = sizeof point / sizeof *point };
    OWN_TABLE *t = frozen("etd-rk2");
    for (size_t k = 0; k < SCHEMES; k++) {
        const char *name = zoo_schemes[k].explicit;
        OWN_TABLE *s = frozen(zoo_schemes[k].name), *rk = *name ? frozen(name) : NULL;
        for (size_t i = 0; i < POINTS; i++) {
            double complex z = point[i];
            double exact = exp(creal(z));
            assert_true(fabs(modulus(s, z, 0) - exact) <= 1e-13 * (1 + exact + cabs(z)));
            if (rk) assert_true(fabs(modulus(s, 0, z) / modulus(rk, 0, z) - 1) <= 1e-13);
        }
    }
    for (size_t i = 0; i < POINTS; i++)
        for (size_t j = 0; j < POINTS; j++) {
            if (cabs(point[i]) < 0.1) continue; /* the formula above loses digits there */
            double m = cabs(etd_rk2(point[i], point[j]));
            assert_true(fabs(modulus(t, point[i], point[j]) - m) <= 1e-12 * (1 + m));
        }
}

/* Networks and compositions refuse exponential schemes in words, and "all" and "decoders" have none of them. */
TEST(test_elsewhere)
{
    OWN_TABLE *t = scheme("etd-rk4"), *out = NULL;
    OWN_RATIONAL total;
    mpq_init(total);
    assert_refused(bridge_takes(t), t->name, "phi functions");
    assert_refused(zoo_compose(&zoo, "etd-rk4,etd-rk4", total, &out), t->name, "exponential");
    for (int i = 0; i < 2; i++) {
        OWN_TABLES list = listed(i ? "decoders" : "all", "exact");
        for (size_t k = 0; k < list.count; k++) assert_false(table_phi(list.table[k]));
    }
}

/* ---- phi functions against known values and dense matrices --------------------------------------------------------- */

enum { SIZE = 6, FUNCTIONS = PHI_MOST + 1 };

/* Values by their series below |z| = 1 and by the recursion above, in 60 digits. */
/* z, phi_0(z), phi_1(z), ... */
static const double known[][1 + FUNCTIONS] = {
    {1e-8, 1.00000001000000005, 1.0000000050000000167, 0.50000000166666667083,
     0.16666666708333333417, 0.041666666750000000139},
    {-1e-8, 0.99999999000000005, 0.99999999500000001667, 0.4999999983333333375,
     0.16666666625000000083, 0.041666666583333333472},
    {0.001, 1.0010005001667083417, 1.0005001667083416681, 0.50016670834166805575,
     0.16670834166805575399, 0.041675001389087326392},
    {-0.5, 0.6065306597126334236, 0.78693868057473315279, 0.42612263885053369442,
     0.14775472229893261117, 0.037823888735468110994},
    {1, 2.7182818284590452354, 1.7182818284590452354, 0.71828182845904523536,
     0.21828182845904523536, 0.051615161792378568694},
    {-1, 0.3678794411714423216, 0.6321205588285576784, 0.3678794411714423216, 0.1321205588285576784,
     0.034546107838108988262},
    {-7, 0.000911881965554516208, 0.1427268740049207834, 0.12246758942786845951,
     0.053933201510304505784, 0.01610478073662316584},
    {5, 148.41315910257660342, 29.482631820515320684, 5.6965263641030641368, 1.0393052728206128274,
     0.17452772123078923214},
    {-30, 9.3576229688401746049e-14, 0.033333333333330214126, 0.032222222222222326196,
     0.015592592592592589127, 0.0050358024691358025847},
    {-100, 3.720075976020835963e-44, 0.01, 0.0099, 0.004901, 0.0016176566666666666667},
    {-1000, 0 /* 5e-435 */, 0.001, 0.000999, 0.000499001, 0.00016616766566666666667}};

static void times(const void *z, const double *x, double *zx)
{
    zx[0] = *(const double *)z * x[0];
}

static double scalar_phi(double z, double t, int J, double v)
{
    double x, work[3];
    exponential_phi(1, times, &z, (Spectrum){0}, t, J, &v, &x, work);
    return x;
}

/* phi functions have their known values. Each of at most |z| steps adds the rounding of twice its input: at most 2 e^2
 * eps of the result. */
TEST(test_known_values)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int J = 0; J < FUNCTIONS; J++) {
            double z = known[i][0], value = known[i][1 + J],
                   bound = DBL_EPSILON * (4 + (J == 0 ? 20 : 2) * fabs(z));
            if (J == 0 && z < -700) continue; /* too small for a double */
            double x = scalar_phi(z, 1, J, 1), scaled = scalar_phi(z / 4, 4, J, -3) / -3;
            if (!(fabs(x / value - 1) <= bound) || !(fabs(scaled / value - 1) <= bound))
                fail_msg("phi_%d(%g) = %.17g, not %.17g", J, z, x, value);
            assert_true(fabs(x / (value * (1 + 2 * bound)) - 1) > bound); /* control */
        }
    assert_true(isnan(scalar_phi(NAN, 1, 1, 1)));
    assert_true(isnan(scalar_phi(-1e9, 1, 1, 1))); /* too many steps */
}

typedef struct {
    double a[SIZE][SIZE];
    size_t acts;
} DenseMatrix;

static void dense_act(const void *matrix, const double *x, double *ax)
{
    DenseMatrix *m = (DenseMatrix *)matrix;
    m->acts++;
    for (int i = 0; i < SIZE; i++) {
        ax[i] = 0;
        for (int j = 0; j < SIZE; j++) ax[i] += m->a[i][j] * x[j];
    }
}

/* Computes phi_J(A) v as a corner of the exponential of a matrix with J more rows, by GSL's scaling and squaring. */
static void dense_phi(const DenseMatrix *m, int J, const double *v, double *out)
{
    size_t n = SIZE + (size_t)J;
    gsl_matrix *A = gsl_matrix_calloc(n, n), *E = gsl_matrix_alloc(n, n);
    for (size_t i = 0; i < SIZE; i++) {
        for (size_t j = 0; j < SIZE; j++) gsl_matrix_set(A, i, j, m->a[i][j]);
        if (J) gsl_matrix_set(A, i, SIZE, v[i]);
    }
    for (size_t i = SIZE; i + 1 < n; i++) gsl_matrix_set(A, i, i + 1, 1);
    gsl_linalg_exponential_ss(A, E, GSL_PREC_DOUBLE);
    for (size_t i = 0; i < SIZE; i++) {
        out[i] = J ? gsl_matrix_get(E, i, n - 1) : 0;
        for (size_t j = 0; j < SIZE && !J; j++) out[i] += gsl_matrix_get(E, i, j) * v[j];
    }
    gsl_matrix_free(A);
    gsl_matrix_free(E);
}

TEST(test_dense)
{
    static const double size[] = {1e-3, 0.3, 3, 20};
    for (size_t k = 0; k < 4; k++) {
        DenseMatrix m = {0};
        double v[SIZE], x[SIZE], y[SIZE], before[SIZE], work[3 * SIZE];
        for (int i = 0; i < SIZE; i++) {
            v[i] = random_normal(1, k, (uint64_t)i);
            for (int j = 0; j < SIZE; j++)
                m.a[i][j] =
                    size[k] * (random_normal(2, k, (uint64_t)(i * SIZE + j)) / 5 - (i == j));
        }
        for (int J = 0; J < FUNCTIONS; J++) {
            m.acts = 0;
            size_t acts = exponential_phi(SIZE, dense_act, &m, (Spectrum){1.5 * size[k] * (J % 2)},
                                          1, J, v, x, work);
            assert_int_equal(acts, m.acts);
            dense_phi(&m, J, v, y);
            assert_true(distance(x, y, SIZE) <= 1e-13);
            if (J > 0) { /* A phi_J v = phi_(J-1) v - v / (J-1)! */
                double factorial = J < 3 ? 1 : J == 3 ? 2 : 6;
                dense_act(&m, x, y);
                for (int i = 0; i < SIZE; i++) y[i] += v[i] / factorial;
                assert_true(distance(y, before, SIZE) <= 1e-13);
            }
            memcpy(before, x, sizeof x);
        }
    }
}

/* ---- symmetric matrices ------------------------------------------------------------------------------ */

enum { CELLS = 50 };

/* The matrix of second differences, whose eigenvectors are sines, so that phi_J of it is known. */
static void cells_act(const void *acts, const double *x, double *ax)
{
    ++*(size_t *)acts;
    for (int i = 0; i < CELLS; i++)
        ax[i] = (i ? x[i - 1] : 0) - 2 * x[i] + (i + 1 < CELLS ? x[i + 1] : 0);
}

static long double exact_phi(long double z, int J)
{
    long double factorial = tgammal(J + 1), term = 1 / factorial, sum = term, x = expl(z);
    for (int k = 1; k < 60; k++) sum += term *= z / (k + J);
    if (fabsl(z) < 4) return sum;
    for (int j = 0; j < J; j++) x = (x - 1 / tgammal(j + 1)) / z;
    return x;
}

static void cells_phi(double t, int J, const double *v, double *out)
{
    const long double step = acosl(-1) / (CELLS + 1);
    long double x[CELLS] = {0};
    for (int k = 1; k <= CELLS; k++) {
        long double part = 0, half = sinl(k * step / 2);
        for (int i = 1; i <= CELLS; i++) part += v[i - 1] * sinl(k * i * step);
        part *= 2.0L / (CELLS + 1) * exact_phi(-4 * t * half * half, J);
        for (int i = 1; i <= CELLS; i++) x[i - 1] += part * sinl(k * i * step);
    }
    for (int i = 0; i < CELLS; i++) out[i] = (double)x[i];
}

/* Computes x = phi_J(t A) v; returns its error, relative to it, and *acts. */
static double cells_error(Spectrum told, double t, int J, const double *v, size_t *acts)
{
    double x[CELLS], exact[CELLS], work[3 * CELLS];
    size_t counted_acts = 0;
    *acts = exponential_phi(CELLS, cells_act, &counted_acts, told, t, J, v, x, work);
    assert_int_equal(*acts, counted_acts);
    cells_phi(t, J, v, exact);
    return relative_distance(x, exact, CELLS);
}

/* Where the eigenvalues are known to lie in an interval, sqrt(40 |t A|) products take the place of 19 |t A|, to as many digits.
 * The controls have an interval that lacks some eigenvalues, and a vector of which so little is left that rounding would show. */
TEST(test_symmetric)
{
    const Spectrum none = {0}, told = {.low = -4}, wrong = {.low = -3},
                   loose = {.low = -5, .high = 1e-3};
    double v[CELLS], rough[CELLS];
    for (int i = 0; i < CELLS; i++) {
        v[i] = random_normal(3, 0, (uint64_t)i) + 1;
        rough[i] = sin(CELLS * acos(-1) * (i + 1) / (CELLS + 1));
    }
    for (int k = 0; k < 3; k++)
        for (int J = 0; J < FUNCTIONS; J++) {
            static const double times[] = {5, 60, 700};
            double t = times[k];
            size_t plain, few, same;
            assert_true(cells_error(none, t, J, v, &plain) <= 1e-13);
            assert_true(cells_error(told, t, J, v, &few) <= 2e-14);
            assert_true(few <= sqrt(40 * 4 * t) + 10 && few < plain / 3);
            assert_true(cells_error(loose, t, J, v, &same) <= 2e-14);
            if (k > 0) assert_false(cells_error(wrong, t, J, v, &same) <= 1e-6);
            assert_true(cells_error(told, 1, J, v, &few) <= 1e-15 * 4);
            cells_error(none, 1, J, v, &same);
            assert_int_equal(few, same);
        }
    size_t plain, both;
    double error = cells_error(none, 60, 0, rough, &plain);
    assert_true(cells_error(told, 60, 0, rough, &both) == error);
    assert_true(both > plain);
}

/* Computes y (50) after three steps of etd-rk2; returns the evaluations. */
static size_t walk_grid(const char *line, const char *F, double *y)
{
    OWN_TABLE *t = frozen("etd-rk2");
    OWN_SYSTEM *base = read_system(
        formed("system a\nn 50\n%sF = %s\nG = y*(1 - y)\ninitial = sin(pi*i/51)\n", line, F), 0, 0);
    System s = counting(base);
    assert_int_equal(base->special, 1 << OP_F);
    s.special = base->special;
    walk_counted(t, &s, 0.05, 3, y);
    return counted;
}

/* Linear fields are found to be symmetric, as bands and as whole matrices, with the states of fields that hardly differ and are not. */
TEST(test_symmetric_fields)
{
    static const struct {
        const char *line, *F, *other;
    } cases[] = {
        {"", "2500*(y[i+1] - 2*y + y[i-1])", "2500*(y[i+1]*(1 + 1e-11) - 2*y + y[i-1])"},
        {"ring\n", "2500*(y[i+1] - 2*y + y[i-1])", "2500*(y[i+1]*(1 + 1e-11) - 2*y + y[i-1])"},
        {"", "mean 500000*exp(-(i - j)^2)*(z - y)",
         "mean 500000*exp(-(i - j)^2 + 1e-11*i)*(z - y)"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double y[50], other[50];
        size_t few = walk_grid(cases[k].line, cases[k].F, y);
        assert_true(few < walk_grid(cases[k].line, cases[k].other, other) / 4);
        assert_true(relative_distance(y, other, 50) <= 1e-8);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
