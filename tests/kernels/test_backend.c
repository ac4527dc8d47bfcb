/* test_backend.c: the choice of a backend, moving numbers, matrix products, Adam, norms, on every backend and
 * instruction set, against plain loops of doubles. */
#include "tests/lib/test.h"

#include "tests/lib/attention_twin.h"
#include "tests/lib/kernel_buffers.h"

/* ---- the choice of a backend ---------------------------------------------------------------------------- */

TEST(choosing)
{
    const Backend *b = NULL;
    unsetenv("TROTTER_KERNEL");
    assert_string_equal(backend_name(0), "cpu-f32");
    assert_string_equal(backend_name(1), "cpu-f64");
    assert_string_equal(backend_name(2), "cpu-bf16");
    assert_string_equal(backend_name(5), "cuda-bf16");
    assert_null(backend_name(6));
    assert_int_equal(backend_find("cpu-f32", NULL, &b), 0);
    assert_int_equal(b->size, 4);
    const Backend *best = b;
    setenv("TROTTER_KERNEL", kernels[0], 1);
    assert_int_equal(backend_find("cpu-f32", NULL, &b), 0);
    assert_string_equal(b->kernel, kernels[0]);
    assert_int_equal(backend_find("cpu-f32", best->kernel, &b), 0); /* an explicit one */
    assert_ptr_equal(b, best);
    assert_int_equal(backend_find("cpu-f64", strrchr(kernels[0], '-'), &b), 0);
    assert_int_equal(b->size, 8);
    setenv("TROTTER_KERNEL", "sse9", 1);
    assert_int_equal(backend_find("cpu-f32", NULL, &b), ERR_INPUT);
    assert_non_null(strstr(error_text(), "sse9"));
    unsetenv("TROTTER_KERNEL");
    int code = backend_find("cuda-f32", kernels[0], &b); /* kernels concern the processor's */
    if (code == 0)
        assert_string_equal(b->name, "cuda-f32");
    else
        assert_true(code == ERR_INPUT && strncmp(error_text(), "cuda-f32: ", 10) == 0);
    assert_int_equal(backend_find("tpu", NULL, &b), ERR_INPUT);
    assert_non_null(strstr(error_text(), "tpu"));
    for (size_t k = 0; k < KERNELS; k++)
        if (backend_find("cpu-f32", kernels[k], &b) != 0)
            assert_non_null(strstr(error_text(), kernels[k]));
}

/* ---- matrix products ---------------------------------------------------------------------------------- */

typedef struct {
    int ta, tb;
    size_t m, n, k;
    double alpha, beta;
} Product;

static double product_at(const Product *p, const double *A, size_t lda, const double *B, size_t ldb,
                         size_t i, size_t j)
{
    double sum = 0;
    for (size_t l = 0; l < p->k; l++)
        sum +=
            (p->ta ? A[l * lda + i] : A[i * lda + l]) * (p->tb ? B[j * ldb + l] : B[l * ldb + j]);
    return p->alpha * sum;
}

static void check_product(const Backend *b, const Product *p)
{
    SCOPE;
    size_t lda = (p->ta ? p->m : p->k) + 3, ldb = (p->tb ? p->k : p->n) + 1, ldc = p->n + 2;
    size_t a = (p->ta ? p->k : p->m) * lda, bn = (p->tb ? p->n : p->k) * ldb, c = p->m * ldc;
    double *A = host_random(a, 1), *B = host_random(bn, 2), *C = host_random(c, 3);
    if (p->beta == 0)
        for (size_t i = 0; i < c; i++) C[i] = i % ldc < p->n ? NAN : C[i];
    void *dA = buffer_new(b, a, A), *dB = buffer_new(b, bn, B), *dC = buffer_new(b, c, C);
    b->gemm(p->ta, p->tb, p->m, p->n, p->k, p->alpha, dA, lda, dB, ldb, p->beta, dC, ldc);
    double *x = fetch(b, dC, c);
    /* The error comes from k products of numbers below 1.5, each off by b->eps, their sum, two scalings and one
     * sum. */
    double size = 2.25 * fabs(p->alpha) * (double)p->k;
    double tol = b->eps * size + ((double)p->k + 3) * eps_of(b) * (size + 2);
    for (size_t i = 0; i < c; i++) {
        double ref = C[i];
        if (i % ldc < p->n)
            ref = product_at(p, A, lda, B, ldb, i / ldc, i % ldc) +
                  (p->beta != 0 ? p->beta * C[i] : 0);
        if (!(fabs(x[i] - ref) <= tol))
            fail_msg("%s %s: C(%zu,%zu) of %zu x %zu x %zu, %d%d", b->name, b->kernel, i / ldc,
                     i % ldc, p->m, p->n, p->k, p->ta, p->tb);
    }
}

/* Products are right for squares, one row, one column, rows or columns enough for panels, and all
 * transpositions. */
TEST(matrix_products)
{
    static const size_t sizes[][3] = {{1, 1, 1},    {3, 7, 5},     {1, 300, 150}, {300, 1, 150},
                                      {4, 4, 900},  {130, 67, 33}, {20, 517, 41}, {29, 70, 2051},
                                      {3, 4200, 3}, {400, 9, 2}};
    for (size_t i = 0; i < backend_count; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int flags = 0; flags < 8; flags++) {
                Product p = {flags & 1,   flags >> 1 & 1, sizes[s][0],         sizes[s][1],
                             sizes[s][2], 0.75,           flags & 4 ? -0.5 : 0};
                check_product(backends[i], &p);
                p.beta = flags & 4 ? 1 : 0;
                check_product(backends[i], &p);
            }
}

/* In bf16 C is the product of the rounded factors, to the rounding of f32 sums of K numbers below 2.25. Its bits are the
 * same whatever the number of threads. */
TEST(products_of_rounded_factors)
{
    enum { M = 61, N = 97, K = 1500 };
    const Backend *b;
    if (backend_find("cpu-bf16", NULL, &b) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    SCOPE;
    double *A = host_random(M * K, 1), *B = host_random(K * N, 2), *ref = host_new(M * N);
    double *bits = NULL, tol = K * (double)FLT_EPSILON * 2.25 * K;
    void *dA = buffer_new(b, M * K, A), *dB = buffer_new(b, K * N, B), *C = plain_new(b, M * N);
    for (size_t i = 0; i < M * N; i++)
        for (size_t k = 0; k < K; k++)
            ref[i] += twin_rounded(1, A[i / N * K + k]) * twin_rounded(1, B[k * N + i % N]);
    int before = backend_threads(0);
    for (int threads = 1; threads <= 3; threads++) {
        backend_threads(threads);
        b->gemm(0, 0, M, N, K, 1, dA, K, dB, N, 0, C, N);
        double *x = fetch(b, C, M * N);
        if (!bits) bits = fetch(b, C, M * N);
        assert_true(same(x, bits, M * N) && near(x, ref, M * N, tol));
        x[5] += 3 * tol;
        assert_false(near(x, ref, M * N, tol));
    }
    backend_threads(before);
}

/* A linear layer is a product and a bias, aligned or not. A bias that is left out is seen. */
static void check_linear(const Backend *b, size_t m, size_t n, size_t k, size_t at)
{
    SCOPE;
    double *A = host_random(m * k + at, 1), *W = host_random(n * k + at, 2);
    double *bias = host_random(n + at, 3), *none = host_new(n), most = 0;
    const Product p = {0, 1, m, n, k, 1, 0};
    void *dA = buffer_new(b, m * k + at, A), *dW = buffer_new(b, n * k + at, W);
    void *db = buffer_new(b, n + at, bias), *C = plain_new(b, m * n),
         *zero = buffer_new(b, n, none);
    double tol = b->eps * 2.25 * (double)k + ((double)k + 3) * eps_of(b) * (2.25 * (double)k + 2);
    b->linear(m, n, k, backend_at(b, dA, at), backend_at(b, dW, at), backend_at(b, db, at), C);
    double *x = fetch(b, C, m * n);
    b->linear(m, n, k, backend_at(b, dA, at), backend_at(b, dW, at), zero, C);
    double *without = fetch(b, C, m * n);
    for (size_t i = 0; i < m * n; i++) {
        double ref = product_at(&p, A + at, k, W + at, k, i / n, i % n) + bias[at + i % n];
        if (!(fabs(x[i] - ref) <= tol))
            fail_msg("%s %s: linear %zu %zu", b->name, b->kernel, i, at);
        most = fmax(most, fabs(without[i] - ref));
    }
    assert_true(most > tol);
}

TEST(linear_layers)
{
    for (size_t i = 0; i < backend_count; i++)
        for (size_t at = 0; at < 2; at++) {
            check_linear(backends[i], 20, 24, 16, at);
            check_linear(backends[i], 3, 7, 5, at);
        }
}

static void check_rows(const Backend *b)
{
    enum { ROWS = 150, WIDE = 90, DEEP = 700 };
    static const size_t size[][2] = {{1, 1},   {3, 5},    {8, 16},   {16, 64},  {17, 33},
                                     {90, 31}, {64, 256}, {33, 257}, {48, 700}, {90, 513}};
    int before = backend_threads(0);
    SCOPE;
    double *A = host_random(ROWS * DEEP, 1), *B = host_random(WIDE * DEEP, 2),
           *C = host_new(ROWS * WIDE), *one = host_new(ROWS * WIDE);
    for (size_t s = 0; s < sizeof size / sizeof *size; s++)
        for (int threads = 1; threads <= 3; threads++) {
            size_t n = size[s][0], k = size[s][1];
            backend_threads(threads);
            b->gemm(0, 1, ROWS, n, k, 1.25, A, k, B, k, 0, C, n);
            assert_memory_not_equal(C, C + n, n * sizeof *C); /* rows differ: a wrong one is seen */
            for (size_t m = 1; m <= ROWS; m = 2 * m + 1)
                for (size_t first = 0; first + m <= ROWS; first += 1 + ROWS / 7) {
                    memset(one, 0xff,
                           ROWS * WIDE * sizeof *one); /* NaN: beta = 0 does not read it */
                    b->gemm(0, 1, m, n, k, 1.25, A + first * k, k, B, k, 0, one, n);
                    if (!same(one, C + first * n, m * n))
                        fail_msg("%zu rows from %zu of %zu x %zu, %d threads", m, first, n, k,
                                 threads);
                }
        }
    backend_threads(before);
}

/* In f64 a row of C = A B^T has the same bits whatever the other rows are, so that a sequence has them alone and in any
 * batch. */
TEST(rows_have_their_bits_in_any_company)
{
    for (size_t i = 0; i < backend_count; i++)
        if (backends[i]->size == 8) check_rows(backends[i]);
}

/* ---- the rest of the table ---------------------------------------------------------------------------- */

TEST(no_terms_is_zero)
{
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        const Backend *b = backends[i];
        void *r = buffer_new(b, 21, NULL);
        b->lin(3, 7, 0, NULL, r);
        double *x = fetch(b, r, 21);
        for (size_t k = 0; k < 21; k++) assert_true(x[k] == 0);
    }
}

/* put and get are exact for numbers that float holds. copy and fill reach every element and no other. */
TEST(moving_numbers)
{
    for (size_t i = 0; i < backend_count; i++)
        for (size_t n = 0; n < 100; n += 33) {
            SCOPE;
            const Backend *b = backends[i];
            double *host = host_random(n, 5);
            void *x = buffer_new(b, n, host), *y = buffer_new(b, n, NULL);
            b->copy(y, x, n);
            double *back = fetch(b, y, n);
            assert_true(same(back, host, n));
            b->fill(y, -3.5, n);
            b->get(back, y, n);
            for (size_t k = 0; k < n; k++) assert_true(back[k] == -3.5);
        }
}

/* Checks that no parameter moves after a loss that was not finite. */
static void rests(const Backend *b, size_t n, void *p, const void *g, void *m, void *v, Step *s)
{
    SCOPE;
    double *before = fetch(b, p, n);
    b->send(s, &(Step){.step = 4, .rate = 1, .fault = FAULT_LOSS}, sizeof *s);
    b->adam(n, p, g, m, v, 0.9, 0.9, 1e-8, 0, 0.5, s);
    double *after = fetch(b, p, n);
    assert_true(same(before, after, n));
}

/* Takes three steps of Adam as Kingma and Ba, with decay Loshchilov and Hutter write it. Each step is some 14
 * roundings of numbers below 2. */
static void adam_takes_steps(double decay)
{
    enum { n = 77 };
    const double rate = 0.125, b1 = 0.9, b2 = 0.98, eps = 0.0625, scale = 0.75;
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        const Backend *b = backends[i];
        double *p = host_random(n, 1), *g = host_random(n, 2), m[n] = {0}, v[n] = {0};
        void *dp = buffer_new(b, n, p), *dg = buffer_new(b, n, g);
        void *dm = buffer_new(b, n, m), *dv = buffer_new(b, n, v);
        Step *s = sent(b, &(Step){0}, sizeof *s);
        for (int t = 1; t <= 3; t++) {
            b->send(s, &(Step){.step = (uint64_t)t, .rate = rate, .norm = 2}, sizeof *s);
            b->adam(n, dp, dg, dm, dv, b1, b2, eps, 2 * scale, decay, s);
            for (size_t k = 0; k < n; k++) {
                m[k] = b1 * m[k] + (1 - b1) * scale * g[k];
                v[k] = b2 * v[k] + (1 - b2) * scale * g[k] * scale * g[k];
                double adam = m[k] / (1 - pow(b1, t)) / (sqrt(v[k] / (1 - pow(b2, t))) + eps);
                p[k] -= rate * (adam + decay * p[k]);
            }
        }
        double *x = fetch(b, dp, n);
        assert_true(near(x, p, n, 3 * 14 * 2 * eps_of(b)));
        x[3] += 3 * 3 * 14 * 2 * eps_of(b);
        assert_false(near(x, p, n, 3 * 14 * 2 * eps_of(b)));
        rests(b, n, dp, dg, dm, dv, s);
    }
}

TEST(adam_steps)
{
    adam_takes_steps(0);
    adam_takes_steps(0.5);
}

static Step tallied(const Backend *b, Step *s)
{
    Step host;
    b->receive(&host, s, sizeof host);
    assert_int_equal(b->wait(), 0);
    return host;
}

/* Checks norm and loss of n numbers. The norm has the same bits a second time, and the loss accumulates. */
static void check_tally(const Backend *b, size_t n)
{
    SCOPE;
    double *x = host_random(n, 6), squares = 0, sum = 0, size = 0;
    void *d = buffer_new(b, n, x);
    Step *s = sent(b, &(Step){.step = 7, .loss = 0.5}, sizeof *s);
    for (size_t k = 0; k < n; k++) squares += x[k] * x[k], sum += x[k], size += fabs(x[k]);
    b->norm2(n, d, s);
    b->loss(n, d, s);
    Step one = tallied(b, s);
    double tol = (double)(n + 1) * DBL_EPSILON;
    assert_true(fabs(one.norm - sqrt(squares)) <= tol * (1 + sqrt(squares)));
    assert_true(fabs(one.loss - 0.5 - sum) <= tol * (1 + size));
    assert_true(one.fault == 0 && one.step == 7);
    b->norm2(n, d, s);
    assert_true(tallied(b, s).norm == one.norm);
}

TEST(tallies)
{
    int before = backend_threads(0);
    for (size_t i = 0; i < backend_count; i++)
        for (size_t n = 0; n < 5000; n = 3 * n + 1)
            for (int threads = 1; threads <= 3; threads++) {
                backend_threads(threads);
                check_tally(backends[i], n);
            }
    backend_threads(before);
}

/* GELU and its slope are right far from zero. On a processor, which subnormal numbers would slow, there are
 * none. */
TEST(gelu_far_out)
{
    enum { COUNT = 401 };
    const Dropout none = {0};
    const double small = 0x1p-20; /* as small as adjoints of trained networks */
    double u[COUNT], adjoint[COUNT], zero[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) u[i] = 0.25 * (i - 200), adjoint[i] = small;
    for (size_t k = 0; k < backend_count; k++) {
        SCOPE;
        const Backend *b = backends[k];
        void *du = buffer_new(b, COUNT, u), *db = buffer_new(b, COUNT, zero),
             *dy = buffer_new(b, COUNT, NULL), *slope = buffer_new(b, COUNT, adjoint);
        b->bias_act(1, COUNT, du, db, ACT_GELU, none, dy);
        b->bias_act_back(1, COUNT, du, NULL, ACT_GELU, none, slope, slope, db);
        double *y = fetch(b, dy, COUNT), *g = fetch(b, slope, COUNT);
        for (int i = 0; i < COUNT; i++) {
            double a = sqrt(2 / M_PI), t = tanh(a * (u[i] + 0.044715 * pow(u[i], 3)));
            double right =
                0.5 * (1 + t) + 0.5 * u[i] * (1 - t * t) * a * (1 + 3 * 0.044715 * u[i] * u[i]);
            /* an exponent is off by some 10 eps |x|; s (1 - s) x stays below 1 */
            assert_true(fabs(y[i] - 0.5 * u[i] * (1 + t)) <= 16 * eps_of(b) * (1 + fabs(u[i])));
            assert_true(fabs(g[i] / small - right) <= 64 * eps_of(b));
            if (strncmp(b->name, "cpu-", 4) != 0) continue;
            double least = b->size == 4 ? (double)FLT_MIN : DBL_MIN;
            assert_true(y[i] == 0 || fabs(y[i]) >= least);
            assert_true(g[i] == 0 || fabs(g[i]) >= least);
        }
    }
}

/* A number that is not finite is reported with its step, and the first report of a step stays. */
TEST(not_finite)
{
    for (size_t i = 0; i < backend_count; i++) {
        SCOPE;
        const Backend *b = backends[i];
        void *d = buffer_new(b, 3, (double[]){1, NAN, 2});
        Step *s = sent(b, &(Step){.step = 5}, sizeof *s);
        b->norm2(3, d, s);
        assert_int_equal(tallied(b, s).fault, FAULT_NORM);
        assert_int_equal(tallied(b, s).fault_step, 5);
        b->loss(3, d, s);
        assert_int_equal(tallied(b, s).fault, FAULT_NORM);
        b->send(s, &(Step){.step = 6}, sizeof *s);
        b->put(d, (double[]){1, INFINITY, 2}, 3);
        b->loss(3, d, s);
        assert_int_equal(tallied(b, s).fault, FAULT_LOSS);
        assert_int_equal(tallied(b, s).fault_step, 6);
    }
}

/* Memory is zeroed, or refused with words. */
TEST(memory_of_a_backend)
{
    for (size_t i = 0; i < backend_count; i++) {
        const Backend *b = backends[i];
        SCOPE;
        void *p = plain_new(b, 32);
        assert_true(same(fetch(b, p, 33), (double[33]){0}, 33));
        b->release(NULL);
        error_set(ERR_INPUT, "%s", "");
        memory_fail_at(1);
        assert_null(b->alloc(33));
        assert_non_null(strstr(error_text(), "out of memory"));
        assert_null(b->alloc(SIZE_MAX / 2));
    }
}

TEST(nothing_leaks)
{
    assert_int_equal(memory_live(), 0);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(find_backends, NULL)
