/* test_cuda_attention.c: the attention kernels for CUDA, run by the stand-in of tests/cuda, against the
 * cpu-f64 backend (which test_kernels.c holds to the formula), in every order of threads.
 *
 * Tolerance: out and lse are made by n = 2 (E + T + 16) roundings of numbers up to M = 1 + the largest;
 * gradients add sums over the N rows: n + 4 N. The factor 4 covers the inputs of an exponential, as in
 * test_kernels.c. Sums have one order whatever the order of threads, so the bits must be the same.
 */
#include "tests/cuda/attention.h"
#include "tests/cuda/check.h"

#include "tests/lib/kernel_buffers.h"

enum { SEQUENCES = 3 };

typedef struct {
    size_t length[SEQUENCES];
    size_t D, H, clip, longest; /* longest 0: as it is */
    int shift;                  /* numbers by which all arrays are off an aligned address */
} Case;

/* One tile and many; E below, at and beyond a chunk, no multiple of 4; groups of relative rows that
 * change within a row of tiles; blocks without work; dropout blocks cut by a row; unaligned arrays. */
static const Case cases[] = {
    {{1}, 1, 1, 0, 0, 0},       {{3, 1, 7}, 6, 2, 3, 0, 0},
    {{64, 33}, 32, 2, 8, 0, 0}, {{33, 64}, 64, 1, 8, 0, 1},
    {{40, 9}, 68, 1, 16, 0, 0}, {{70, 130, 1}, 20, 2, 15, (size_t)1 << 34, 0},
    {{150}, 8, 1, 40, 151, 0},  {{131, 2}, 66, 1, 20, 0, 0},
    {{66}, 132, 1, 0, 67, 0},   {{150}, 2, 1, 4200, 0, 0},
};
enum { CASES = sizeof cases / sizeof *cases };

enum { OUT, LSE, DQKV, DRELATIVE, DSPAN, RESULTS };
enum { LONGEST_SPAN = 10, RAMP = 17 };

/* A case with its numbers, and what cpu-f64 makes of them. */
typedef struct {
    const Case *c;
    size_t S, N, rows, start[SEQUENCES + 1], size[RESULTS];
    Attention a; /* but for what lies in backend memory */
    double *qkv, *relative, *span, *dout, *expected[RESULTS];
} Problem;

static void expect(Problem *p)
{
    const Backend *b;
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    Attention a = p->a;
    void *qkv = buffer_new(b, p->size[DQKV], p->qkv), *dout = buffer_new(b, p->size[OUT], p->dout);
    void *relative = buffer_new(b, p->size[DRELATIVE], p->relative), *y[RESULTS];
    void *span = buffer_new(b, p->size[DSPAN], p->span);
    for (int k = 0; k < RESULTS; k++) y[k] = buffer_new(b, p->size[k], NULL);
    b->fill(y[DRELATIVE], 0.5, p->size[DRELATIVE]);
    b->fill(y[DSPAN], 0.5, p->size[DSPAN]);
    size_t *start = sent(b, p->start, (p->S + 1) * sizeof *start);
    a.start = start, a.qkv = qkv, a.relative = a.clip ? relative : NULL;
    a.span = a.ramp ? span : NULL;
    b->attention(&a, y[OUT], y[LSE]);
    b->attention_back(&a, y[OUT], y[LSE], dout, y[DQKV], a.clip ? y[DRELATIVE] : NULL,
                      a.span ? y[DSPAN] : NULL);
    for (int k = 0; k < RESULTS; k++) {
        p->expected[k] = fetch(b, y[k], p->size[k]);
        buffer_free(b, y[k], p->size[k]);
    }
    buffer_free(b, qkv, p->size[DQKV]);
    buffer_free(b, dout, p->size[OUT]);
    buffer_free(b, relative, p->size[DRELATIVE]);
    buffer_free(b, span, p->size[DSPAN]);
    b->release(start);
}

/* spans: z is 2.5 and 1.25 more in the next head, so keys beyond 20 are not seen, of 130 a whole tile. */
static Problem problem_new(const Case *c, double rate, int spans)
{
    Problem p = {.c = c};
    size_t longest = 0;
    for (; p.S < SEQUENCES && c->length[p.S]; p.S++) {
        p.start[p.S + 1] = p.N += c->length[p.S];
        longest = longest < c->length[p.S] ? c->length[p.S] : longest;
    }
    p.rows = 2 * c->clip + 1;
    p.a = (Attention){.S = p.S, .longest = c->longest ? c->longest : longest, .D = c->D, .H = c->H};
    p.a.clip = c->clip;
    p.a.drop = (Dropout){rate, 0x123456789abcdefu, 0xfedcba9876543210u, NULL, 0};
    memcpy(p.size,
           (size_t[RESULTS]){p.N * c->D, p.N * c->H, 3 * p.N * c->D, p.rows * c->D / c->H, c->H},
           sizeof p.size);
    if (spans) p.a.longest_span = LONGEST_SPAN, p.a.ramp = RAMP;
    p.span = host_new(c->H);
    for (size_t h = 0; h < c->H; h++) p.span[h] = 0.25 + 0.125 * (double)h;
    p.qkv = host_random(p.size[DQKV], 1);
    p.relative = host_random(p.size[DRELATIVE], 2);
    p.dout = host_random(p.size[OUT], 3);
    expect(&p);
    return p;
}

static void problem_free(Problem *p)
{
    for (int k = 0; k < RESULTS; k++) memory_free(p->expected[k]);
    memory_free(p->qkv);
    memory_free(p->relative);
    memory_free(p->span);
    memory_free(p->dout);
}

/* ---- arrays of floats on the device, with guards around them -------------------------------------- */

static const float guard_value = -77.25f;

static float *floats_new(size_t n, int shift, const double *x, double fill)
{
    size_t all = n + 2 * GUARD + (size_t)shift, lead = GUARD + (size_t)shift;
    float *host = memory_new(all, sizeof *host);
    assert_non_null(host);
    for (size_t i = 0; i < all; i++) {
        int in = i >= lead && i < lead + n;
        host[i] = in ? (float)(x ? x[i - lead] : fill) : guard_value;
    }
    float *p = device_copy(host, all * sizeof *host);
    memory_free(host);
    return p + lead;
}

/* Its numbers (NULL: none are wanted); the array is freed. */
static double *floats_take(float *p, size_t n, int shift, int wanted)
{
    size_t all = n + 2 * GUARD + (size_t)shift, lead = GUARD + (size_t)shift;
    float *host = memory_new(all, sizeof *host);
    double *x = wanted ? host_new(n) : NULL;
    assert_non_null(host);
    device_get(host, p - lead, all * sizeof *host);
    for (size_t i = 0; i < all; i++) {
        int in = i >= lead && i < lead + n;
        assert_true(in || host[i] == guard_value);
        if (in && x) x[i - lead] = (double)host[i];
    }
    memory_free(host);
    OK(cudaFree(p - lead));
    return x;
}

/* Forward and backward of the kernels; y (RESULTS): the caller's. 1: they ran. */
static int run(const Problem *p, double *y[RESULTS])
{
    int shift = p->c->shift, ran;
    float *qkv = floats_new(p->size[DQKV], shift, p->qkv, 0), *at[RESULTS];
    float *relative = floats_new(p->size[DRELATIVE], shift, p->relative, 0);
    float *dout = floats_new(p->size[OUT], shift, p->dout, 0);
    float *span = floats_new(p->size[DSPAN], shift, p->span, 0);
    size_t *start = device_copy(p->start, (p->S + 1) * sizeof *start);
    for (int k = 0; k < RESULTS; k++)
        at[k] = floats_new(p->size[k], shift, NULL, k >= DRELATIVE ? 0.5 : NAN);
    Attention a = p->a;
    a.start = start, a.qkv = qkv, a.relative = a.clip ? relative : NULL;
    a.span = a.ramp ? span : NULL;
    ran = attention_forward(&a, at[OUT], at[LSE]) == cudaSuccess &&
          attention_backward(&a, at[OUT], at[LSE], dout, at[DQKV], a.clip ? at[DRELATIVE] : NULL,
                             a.span ? at[DSPAN] : NULL) == cudaSuccess &&
          !*cuda_host_fault();
    if (!ran) printf("# %s\n", cuda_host_fault());
    cuda_host_reset();
    for (int k = 0; k < RESULTS; k++) y[k] = floats_take(at[k], p->size[k], shift, 1);
    floats_take(qkv, p->size[DQKV], shift, 0);
    floats_take(relative, p->size[DRELATIVE], shift, 0);
    floats_take(span, p->size[DSPAN], shift, 0);
    floats_take(dout, p->size[OUT], shift, 0);
    OK(cudaFree(start));
    return ran;
}

static void run_free(double *y[RESULTS])
{
    for (int k = 0; k < RESULTS; k++) memory_free(y[k]);
}

/* The first result beyond its tolerance, or RESULTS. */
static int first_wrong(const Problem *p, double *const y[RESULTS])
{
    size_t E = p->a.D / p->a.H, longest = 0;
    for (size_t s = 0; s < p->S; s++)
        longest = longest < p->c->length[s] ? p->c->length[s] : longest;
    for (int k = 0; k < RESULTS; k++) {
        double n = 2 * (double)(E + longest + 16) + (k < DQKV ? 0 : 4 * (double)p->N);
        double tol = 4 * n * (double)FLT_EPSILON * (1 + largest(p->expected[k], p->size[k]));
        if (!near(y[k], p->expected[k], p->size[k], tol)) return k;
    }
    return RESULTS;
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static const char *const result_names[] = {"out", "lse", "dqkv", "drelative", "dspan"};

CHECKED(agrees_with_cpu_f64)
{
    for (size_t c = 0; c < CASES; c++)
        for (int way = 0; way < 4; way++) {
            int drops = way & 1, spans = way / 2;
            Problem p = problem_new(cases + c, drops ? 0.1 : 0, spans);
            double *y[RESULTS];
            assert_true(run(&p, y));
            int wrong = first_wrong(&p, y);
            if (wrong < RESULTS)
                fail_msg("case %zu, dropout %d, spans %d: %s differs", c, drops, spans,
                         result_names[wrong]);
            for (int k = 0; k < RESULTS; k++) { /* the checker sees */
                if ((k == DRELATIVE && !p.a.clip) || (k == DSPAN && !spans)) continue;
                double kept = y[k][p.size[k] / 2];
                y[k][p.size[k] / 2] = NAN;
                assert_int_equal(first_wrong(&p, y), k);
                y[k][p.size[k] / 2] = kept + 0.1;
                assert_int_equal(first_wrong(&p, y), k);
                y[k][p.size[k] / 2] = kept;
            }
            run_free(y);
            problem_free(&p);
        }
}

/* 1: the same bits in all orders of threads, equal to cpu-f64's numbers. */
static int right_in_all_orders(const Problem *p)
{
    int right = 1;
    double *first[RESULTS], *y[RESULTS];
    for (size_t o = 0; right && o < CHECK_ORDERS; o++) {
        cuda_host_order(check_orders[o]);
        right = run(p, o ? y : first) && first_wrong(p, o ? y : first) == RESULTS;
        for (int k = 0; o && right && k < RESULTS; k++) right = same(y[k], first[k], p->size[k]);
        if (o) run_free(y);
    }
    run_free(first);
    return right;
}

/* Of these, each barrier matters to at least one. */
static const Case planted_cases[] = {
    {{20}, 36, 1, 8, 0, 0},
    {{70}, 68, 1, 20, 0, 0},
    {{66}, 4, 1, 40, 0, 0},
};
enum { PLANTED = sizeof planted_cases / sizeof *planted_cases };

CHECKED(every_missing_barrier_shows)
{
    Problem p[PLANTED];
    for (int c = 0; c < PLANTED; c++) {
        p[c] = problem_new(planted_cases + c, 0.1, 0);
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
    for (int c = 0; c < PLANTED; c++) problem_free(p + c);
}

CHECKED(shifted_mask_shows)
{
    for (int c = 0; c < PLANTED; c++)
        for (int by = -1; by <= 1; by++) {
            Problem p = problem_new(planted_cases + c, 0, 0);
            double *y[RESULTS];
            attention_plant((AttentionError){.mask = by});
            assert_true(run(&p, y));
            assert_int_equal(first_wrong(&p, y) == RESULTS, by == 0);
            attention_plant((AttentionError){0});
            run_free(y);
            problem_free(&p);
        }
}

TEST_MAIN(NULL, NULL)
