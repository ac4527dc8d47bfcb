/* test_cuda_fragment.c: the stand-in's warp-matrix instructions (tests/cuda/matrix.h) against a plain product, through the
 * layouts of kernels/cuda/cuda_mma.cuh: a wrong lane, row or half is seen. Numbers are small and whole, so sums are exact. */
#include "tests/cuda/fragment.h"
#include "tests/cuda/check.h"

#include "kernels/random.h"

enum { N = 16 };

typedef struct {
    float x[N * N], y[N * N], d[N * N], product[N * N];
} Product;

/* Makes factors of whole numbers in -8 .. 8, which bf16 holds. */
static Product product_new(uint64_t seed)
{
    Product p;
    for (uint64_t i = 0; i < N * N; i++) {
        p.x[i] = (float)random_below(seed, 1, i, 17) - 8;
        p.y[i] = (float)random_below(seed, 2, i, 17) - 8;
        p.product[i] = p.d[i] = (float)random_below(seed, 3, i, 17) - 8;
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) p.product[i * N + j] += p.x[i * N + k] * p.y[k * N + j];
    return p;
}

/* Returns 1 where a warp makes the same product. */
static int right(const Product *p, FragmentWay way, FragmentError error)
{
    float *x = device_copy(p->x, sizeof p->x), *y = device_copy(p->y, sizeof p->y);
    float *d = device_copy(p->d, sizeof p->d), got[N * N];
    OK(fragment_product(way, error, x, y, d));
    device_get(got, d, sizeof got);
    OK(cudaFree(x));
    OK(cudaFree(y));
    OK(cudaFree(d));
    return memcmp(got, p->product, sizeof got) == 0;
}

CHECKED(products_are_plain_ones)
{
    for (size_t o = 0; o < CHECK_ORDERS; o++)
        for (uint64_t seed = 1; seed <= 3; seed++)
            for (int way = 0; way < WAYS; way++) {
                Product p = product_new(seed);
                cuda_host_order(check_orders[o]);
                assert_true(right(&p, (FragmentWay)way, RIGHT));
            }
}

CHECKED(wrong_layouts_are_seen)
{
    Product p = product_new(1);
    for (int way = 0; way < WAYS; way++)
        for (int error = RIGHT + 1; error < WRONGS_OF_FRAGMENTS; error++)
            if (right(&p, (FragmentWay)way, (FragmentError)error))
                fail_msg("way %d: error %d is not seen", way, error);
}

/* Pairs are rounded to nearest, ties to even, with the first number in the lower half; NaN stays NaN. */
CHECKED(pairs_are_rounded)
{
    static const struct {
        float x;
        uint32_t bits;
    } row[] = {{1, 0x3f80},
               {1 + 0x1p-8f, 0x3f80},
               {1 + 0x1.8p-8f, 0x3f81},
               {1 + 0x3p-8f, 0x3f82},
               {-2, 0xc000},
               {0x1.fffffep127f, 0x7f80},
               {NAN, 0x7fff},
               {-INFINITY, 0xff80},
               {0x1p-133f, 0x0001},
               {-0.0f, 0x8000},
               {1 + 0x1.02p-8f, 0x3f81}};
    enum { ROWS = sizeof row / sizeof *row };
    float x[2 * ROWS];
    uint32_t y[ROWS];
    for (int i = 0; i < ROWS; i++) x[2 * i] = row[i].x, x[2 * i + 1] = row[(i + 1) % ROWS].x;
    float *from = device_copy(x, sizeof x);
    uint32_t *to = device_new(sizeof y);
    OK(fragment_pairs(from, to, ROWS));
    device_get(y, to, sizeof y);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(y[i], row[i].bits | row[(i + 1) % ROWS].bits << 16);
    OK(cudaFree(from));
    OK(cudaFree(to));
}

CHECKED(unaligned_rows_are_refused)
{
    uint32_t *out = device_new(32 * sizeof *out);
    fragment_unaligned(out);
    assert_non_null(strstr(cuda_host_fault(), "trap"));
    cuda_host_reset();
    OK(cudaFree(out));
}

TEST_MAIN(NULL, NULL)
