/* test_phi.c: phi functions against known values and dense matrices. */
#include "tests/lib/test.h"

#include <float.h>
#include <gsl/gsl_linalg.h>

#include "kernels/random.h"
#include "ode/field/system.h"
#include "ode/ode.h"
#include "tests/lib/distance.h"

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
    exponential_phi(1, times, &z, 0, t, J, &v, &x, work);
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
            size_t acts =
                exponential_phi(SIZE, dense_act, &m, 1.5 * size[k] * (J % 2), 1, J, v, x, work);
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

TEST_MAIN(NULL, NULL)
