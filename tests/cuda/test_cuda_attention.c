/* test_cuda_attention.c: the attention kernels for CUDA, run by the stand-in of tests/cuda, against the cpu-f64 backend
 * (which test_kernels.c checks against the formula), those of tensor cores against a twin that rounds as they do
 * (attention_twin.h), in every order of threads.
 *
 * Tolerance: out and lse are made by n = 2 (E + T + 16) roundings of numbers up to M = 1 + the largest; gradients add
 * sums over the N rows: n + 4 N. The factor 4 covers the inputs of an exponential, as in test_kernels.c. Sums have one
 * order whatever the order of threads, so the bits must be the same.
 */
#include "tests/cuda/attention.h"
#include "tests/cuda/check.h"

#include "tests/lib/attention_problem.h"

/* One tile and many; E below, at and beyond a chunk, no multiple of 4; groups of relative rows that
 * change within a row of tiles; blocks without work; dropout blocks cut by a row; unaligned arrays. */
static const Case cases[] = {
    {{1}, 1, 1, 0, 0, 0},
    {{3, 1, 7}, 6, 2, 3, 0, 0},
    {{64, 33}, 32, 2, 8, 0, 0},
    {{33, 64}, 64, 1, 8, 0, 1},
    {{40, 9}, 68, 1, 16, 0, 0},
    {{70, 130, 1}, 20, 2, 15, (size_t)1 << 34, 0},
    {{150}, 8, 1, 40, 151, 0},
    {{131, 2}, 66, 1, 20, 0, 0},
    {{66}, 132, 1, 0, 67, 0},
    {{150}, 2, 1, 4200, 0, 0},
    {{1, 5}, 6, 2, 0, 0, 0, {9, 1}},
    {{64, 150, 33}, 32, 2, 0, 0, 0, {7, 64, 31}},
    {{3, 130, 65}, 20, 1, 0, 0, 1, {129, 1, 65}},
    {{70, 20}, 68, 1, 0, (size_t)1 << 34, 0, {5, 140}},
    {{70, 20}, 68, 1, 0, (size_t)1 << 34, 0, {5, 140}, 0, 1},
    {{20, 70}, 20, 2, 15, (size_t)1 << 34, 0, {0}, 0, 1},
    {{20, 33}, 20, 2, 15, 131, 0, {0}, 0, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

/* For tensor cores: blocks of 16, 32 and 64 rows, one tile and many, E a half and a whole of the sizes that have
 * kernels; heads that share keys. */
static const Case matrix_cases[] = {
    {{1, 5, 16}, 32, 2, 0, 0, 0, {0}, 1},
    {{31, 2, 17}, 32, 1, 0, 0, 0, {0}, 1},
    {{64, 33, 40}, 96, 2, 0, 0, 0, {0}, 1},
    {{130, 70, 3}, 64, 1, 0, (size_t)1 << 34, 0, {0}, 1},
    {{67, 129}, 32, 2, 0, 131, 0, {0}, 1},
    {{31, 16}, 80, 1, 0, 0, 0, {0}, 1},
    {{70, 33, 2}, 256, 2, 0, 0, 0, {0}, 1},
    {{1, 5, 40}, 32, 2, 0, 0, 0, {9, 1, 16}, 1},
    {{64, 150, 33}, 64, 1, 0, 0, 0, {7, 30, 31}, 1},
    {{3, 130, 65}, 128, 1, 0, 0, 0, {129, 1, 65}, 1},
    {{3, 130, 65}, 128, 1, 0, 0, 0, {129, 1, 65}, 1, 1},
    {{70, 33, 2}, 256, 2, 0, 0, 0, {20, 9, 31}, 1, 1},
    {{130, 70, 3}, 64, 1, 0, (size_t)1 << 34, 0, {0}, 1, 1},
    {{31, 16}, 32, 2, 0, 131, 0, {0}, 1, 1},
    {{31, 64, 9}, 192, 6, 0, 0, 0, {0}, 1, 1, 2},
    {{70, 20}, 128, 2, 0, 0, 0, {0}, 1, 1, 1},
    {{40, 33}, 128, 2, 0, 0, 0, {30, 9}, 1, 1, 1},
};
enum { MATRIX_CASES = sizeof matrix_cases / sizeof *matrix_cases };

/* ---- the kernels under test as a backend ----------------------------------------------------------- */

static void *floats_alloc(size_t n)
{
    return device_new(n * sizeof(float));
}

static void floats_release(void *p)
{
    OK(cudaFree(p));
}

static void floats_put(void *x, const double *host, size_t n)
{
    SCOPE;
    float *y = host_bytes(n, sizeof *y);
    for (size_t i = 0; i < n; i++) y[i] = (float)host[i];
    OK(cudaMemcpy(x, y, n * sizeof *y, cudaMemcpyHostToDevice));
}

static void floats_fill(void *x, double value, size_t n)
{
    SCOPE;
    double *host = host_new(n);
    for (size_t i = 0; i < n; i++) host[i] = value;
    floats_put(x, host, n);
}

static void floats_get(double *host, const void *x, size_t n)
{
    SCOPE;
    float *y = host_bytes(n, sizeof *y);
    device_get(y, x, n * sizeof *y);
    for (size_t i = 0; i < n; i++) host[i] = (double)y[i];
}

static void floats_send(void *x, const void *host, size_t bytes)
{
    OK(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
}

static const Backend here = {.size = sizeof(float),
                             .alloc = floats_alloc,
                             .release = floats_release,
                             .put = floats_put,
                             .get = floats_get,
                             .send = floats_send,
                             .fill = floats_fill,
                             .attention = attention_forward,
                             .attention_back = attention_backward};

/* Runs forward and backward of the kernels. Returns 1 where they ran. */
static int run(const Problem *p, double *y[RESULTS])
{
    Arrays x = arrays_on(&here, p);
    attention_matrix(p->c->matrix);
    run_arrays(&here, p, &x);
    int ran = !attention_failed() && !*cuda_host_fault();
    if (!ran) printf("# %s\n", cuda_host_fault());
    cuda_host_reset();
    for (int k = 0; k < RESULTS; k++) y[k] = fetch(&here, x.y[k], p->size[k]);
    return ran;
}

/* A problem and its results: by cpu-f64, or with the roundings of tensor cores. */
typedef struct {
    Problem p;
    int twin;
    double *want[RESULTS];
} Expected;

static Expected expect(const Case *c, double rate, int kind)
{
    const Backend *b;
    Expected e = {.p = problem_new(c, rate, kind), .twin = c->matrix && c->clip == 0};
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    if (e.twin)
        run_twin(&e.p, TWIN_ROUNDS, e.want);
    else
        run_on(b, &e.p, e.want);
    return e;
}

/* Returns the first result beyond its tolerance, or RESULTS: 2^-11 of its norm for tensor cores (TWIN_FAR;
 * test_attention_kernels.c says why). */
static int first_wrong(const Expected *e, double *const y[RESULTS])
{
    const Problem *p = &e->p;
    size_t E = p->a.D / p->a.H, longest = 0;
    for (size_t s = 0; s < p->S; s++) {
        longest = longest < p->c->length[s] ? p->c->length[s] : longest;
        longest = longest < p->c->keys[s] ? p->c->keys[s] : longest;
    }
    for (int k = 0; k < RESULTS; k++) {
        double n = 2 * (double)(E + longest + 16) + (k < DQ ? 0 : 4 * (double)(p->N + p->M));
        double tol = 4 * n * (double)FLT_EPSILON * (1 + largest(e->want[k], p->size[k]));
        if (e->twin ? !(far_of(p, k, y[k], e->want[k]) <= TWIN_FAR)
                    : !near(y[k], e->want[k], p->size[k], tol))
            return k;
    }
    return RESULTS;
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static double norm_of(const Expected *e, int k)
{
    double sum = 0;
    for (size_t i = 0; i < e->p.size[k]; i++) sum += e->want[k][i] * e->want[k][i];
    return sqrt(sum);
}

static void check_cases(const Case *list, size_t n)
{
    for (size_t c = 0; c < n; c++)
        for (int way = 0; way < 2 * KINDS; way++) {
            int drops = way & 1, kind = way / 2;
            if (foreign(list + c, kind)) continue;
            SCOPE;
            Expected e = expect(list + c, drops ? 0.1 : 0, kind);
            const Problem *p = &e.p;
            double *y[RESULTS];
            assert_true(run(p, y));
            int wrong = first_wrong(&e, y);
            if (wrong < RESULTS)
                fail_msg("case %zu, dropout %d, kind %d: %s differs", c, drops, kind,
                         result_names[wrong]);
            for (int k = 0; k < RESULTS; k++) { /* the checker sees */
                if (k == DRELATIVE ? !p->a.clip : k == DKV && !p->M) continue;
                double *x = y[k] + p->size[k] / 2, kept = *x;
                *x = NAN;
                assert_int_equal(first_wrong(&e, y), k);
                *x = kept + (list[c].matrix ? 2 * TWIN_FAR * norm_of(&e, k) : 0.1);
                assert_int_equal(first_wrong(&e, y), k);
                *x = kept;
            }
        }
}

CHECKED(agrees_with_cpu_f64)
{
    check_cases(cases, CASES);
}

CHECKED(tensor_cores_agree_with_their_twin)
{
    check_cases(matrix_cases, MATRIX_CASES);
}

/* Returns 1 where all orders of threads give the same bits, equal to cpu-f64's numbers. */
static int right_in_all_orders(const Expected *e)
{
    SCOPE;
    int right = 1;
    double *first[RESULTS], *y[RESULTS];
    for (size_t o = 0; right && o < CHECK_ORDERS; o++) {
        cuda_host_order(check_orders[o]);
        right = run(&e->p, o ? y : first) && first_wrong(e, o ? y : first) == RESULTS;
        for (int k = 0; o && right && k < RESULTS; k++) right = same(y[k], first[k], e->p.size[k]);
    }
    return right;
}

/* Each barrier matters to at least one of these cases. */
static const Case planted_cases[] = {
    {{20}, 36, 1, 8, 0, 0},       {{70}, 68, 1, 20, 0, 0},        {{66}, 4, 1, 40, 0, 0},
    {{70}, 36, 1, 0, 0, 0, {20}}, {{70}, 16, 1, 0, 0, 0, {0}, 1}, {{70}, 32, 1, 0, 0, 0, {20}, 1},
};
enum { PLANTED = sizeof planted_cases / sizeof *planted_cases };

CHECKED(every_missing_barrier_shows)
{
    SCOPE;
    Expected p[PLANTED];
    for (int c = 0; c < PLANTED; c++) {
        p[c] = expect(planted_cases + c, 0.1, foreign(planted_cases + c, CAUSAL) ? ALL : CAUSAL);
        assert_true(right_in_all_orders(p + c));
    }
    assert_true(attention_barriers() > 8);
    for (int barrier = 1; barrier <= attention_barriers(); barrier++) {
        int right = 1;
        attention_plant((AttentionError){.barrier = barrier});
        for (int c = 0; right && c < PLANTED; c++) right = right_in_all_orders(p + c);
        if (right) print_message("barrier %d is not missed\n", barrier);
        assert_false(right);
    }
    attention_plant((AttentionError){0});
}

CHECKED(shifted_mask_shows)
{
    for (int c = 0; c < PLANTED; c++)
        for (int by = -1; by <= 1; by++)
            for (int kind = 0; kind < KINDS; kind++) {
                if (foreign(planted_cases + c, kind)) continue;
                SCOPE;
                Expected e = expect(planted_cases + c, 0, kind);
                double *y[RESULTS];
                attention_plant((AttentionError){.mask = by});
                assert_true(run(&e.p, y));
                assert_int_equal(first_wrong(&e, y) == RESULTS, by == 0);
                attention_plant((AttentionError){0});
            }
}

/* Tensor cores are used where they serve, and the other kernels elsewhere: the bits show it. */
CHECKED(tensor_cores_are_used)
{
    static const struct {
        Case c;
        int kind, serves;
    } row[] = {
        {{{20}, 32, 1, 0, 0, 0, {0}, 1}, CAUSAL, 1},  {{{70}, 16, 1, 0, 0, 0, {20}, 1}, ALL, 1},
        {{{20}, 32, 1, 8, 0, 0, {0}, 1}, CAUSAL, 0},  {{{20}, 24, 1, 0, 0, 0, {0}, 1}, CAUSAL, 0},
        {{{20}, 144, 1, 0, 0, 0, {0}, 1}, CAUSAL, 0}, {{{20}, 32, 1, 0, 0, 1, {0}, 1}, CAUSAL, 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Case without = row[i].c;
        without.matrix = 0;
        SCOPE;
        Problem p = problem_new(&row[i].c, 0.1, row[i].kind),
                q = problem_new(&without, 0.1, row[i].kind);
        double *y[RESULTS], *z[RESULTS];
        assert_true(run(&p, y) && run(&q, z));
        for (int k = 0; k < RESULTS; k++)
            if (p.size[k] && k < DRELATIVE)
                assert_int_equal(same(y[k], z[k], p.size[k]), !row[i].serves);
    }
}

/* The results of a sequence do not depend on the others of its batch, to the bit, though tiles do. */
CHECKED(tensor_cores_take_sequences_alone)
{
    static const Case batch[] = {
        {{5, 20}, 32, 2, 0, 0, 0, {0}, 1},
        {{5, 31}, 32, 2, 0, 0, 0, {0}, 1},
        {{5, 40}, 32, 2, 0, 0, 0, {0}, 1},
        {{5, 131}, 32, 2, 0, 0, 0, {0}, 1},
    };
    static const Case others[] = {
        {{20}, 256, 2, 0, 0, 0, {0}, 1},
        {{20, 33}, 256, 2, 0, 0, 0, {0}, 1},
        {{20, 70}, 256, 2, 0, 0, 0, {0}, 1},
        {{5}, 32, 2, 0, 0, 0, {0}, 1},
    };
    for (int kind = CAUSAL; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof batch / sizeof *batch + 2; i++) {
            const Case *alone = i < 4 ? others + 3 : others,
                       *c = i < 4 ? batch + i : others + i - 3;
            SCOPE;
            Problem p = problem_new(alone, 0, kind), q = problem_new(c, 0, kind);
            double *y[RESULTS], *z[RESULTS];
            assert_true(run(&p, y) && run(&q, z));
            for (int k = OUT; k <= DQ; k++) {
                assert_true(same(y[k], z[k], p.size[k]));
                z[k][p.size[k] - 1] *= 1 + DBL_EPSILON;
                assert_false(same(y[k], z[k], p.size[k]));
            }
        }
}

TEST_MAIN(NULL, NULL)
