/* test_rows.c: in f64 a row of C = A B^T has the same bits whatever the other rows are, so that a sequence has them
 * alone and in any batch. The product is right. */
#include "tests/lib/test.h"

#include <omp.h>

#include "kernels/backend.h"
#include "kernels/memory.h"
#include "kernels/random.h"

enum { ROWS = 150, WIDE = 90, DEEP = 700 };

static double A[ROWS * DEEP], B[WIDE * DEEP], C[ROWS * WIDE], one[ROWS * WIDE];

static void fill(double *x, size_t n, uint64_t stream)
{
    for (size_t i = 0; i < n; i++) x[i] = random_normal(7, stream, i);
}

static const Backend *f64(void)
{
    const Backend *b;
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    return b;
}

/* Computes rows first .. first + m - 1 of the product. */
static void product(const Backend *b, size_t first, size_t m, size_t n, size_t k, double *out)
{
    b->gemm(0, 1, m, n, k, 1.25, A + first * k, k, B, k, 0, out, n);
}

TEST(rows_have_their_bits_in_any_company)
{
    static const size_t size[][2] = {{1, 1},   {3, 5},    {8, 16},   {16, 64},  {17, 33},
                                     {90, 31}, {64, 256}, {33, 257}, {48, 700}, {90, 513}};
    const Backend *b = f64();
    fill(A, sizeof A / sizeof *A, 1);
    fill(B, sizeof B / sizeof *B, 2);
    for (size_t s = 0; s < sizeof size / sizeof *size; s++) {
        size_t n = size[s][0], k = size[s][1];
        for (int threads = 1; threads <= 3; threads++) {
            backend_threads(threads);
            product(b, 0, ROWS, n, k, C);
            assert_memory_not_equal(C, C + n, n * sizeof *C); /* rows differ: a wrong one is seen */
            for (size_t m = 1; m <= ROWS; m = 2 * m + 1)
                for (size_t first = 0; first + m <= ROWS; first += 1 + ROWS / 7) {
                    memset(one, 0xff, sizeof one); /* NaN: beta = 0 does not read it */
                    product(b, first, m, n, k, one);
                    if (memcmp(one, C + first * n, m * n * sizeof *one) != 0)
                        fail_msg("%zu rows from %zu of %zu x %zu, %d threads", m, first, n, k,
                                 threads);
                }
        }
        for (size_t i = 0; i < ROWS; i += 37)
            for (size_t j = 0; j < n; j++) {
                double sum = 0;
                for (size_t p = 0; p < k; p++) sum += A[i * k + p] * B[j * k + p];
                assert_true(fabs(C[i * n + j] - 1.25 * sum) <= 1e-15 * (double)(k + 9) * 9);
            }
    }
    backend_threads(1);
}

/* gemm computes C = alpha A B^T + beta C. */
TEST(what_is_there_is_added_to)
{
    const Backend *b = f64();
    double x[6] = {1, 2, 3, 4, 5, 6}, w[4] = {1, -1, 2, 0.5}, c[6] = {1, 1, 1, 1, 1, 1};
    b->gemm(0, 1, 3, 2, 2, 2, x, 2, w, 2, 3, c, 2);
    const double want[6] = {2 * (1 - 2) + 3.0, 2 * (2 + 1) + 3.0, 2 * (3 - 4) + 3.0,
                            2 * (6 + 2) + 3.0, 2 * (5 - 6) + 3.0, 2 * (10 + 3) + 3.0};
    assert_memory_equal(c, want, sizeof c);
}

TEST_MAIN(NULL, NULL)
