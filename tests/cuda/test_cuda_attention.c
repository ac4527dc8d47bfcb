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

#include "tests/lib/attention_twin.h"
#include "tests/lib/kernel_buffers.h"

enum { SEQUENCES = 3 };

typedef struct {
    size_t length[SEQUENCES];
    size_t D, H, clip, longest; /* longest 0: as it is */
    int shift;                  /* numbers from an aligned address to each array */
    size_t keys[SEQUENCES];     /* lengths of another text, whose k and v are apart from q */
    int matrix;                 /* on tensor cores */
    int known;                  /* the device knows how long the rows and keys of this batch are */
} Case;

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
 * kernels. */
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
};
enum { MATRIX_CASES = sizeof matrix_cases / sizeof *matrix_cases };

/* DQ holds dk and dv too where they are packed; DKV holds those of another text. */
enum { OUT, LSE, DQ, DKV, DRELATIVE, DSPAN, RESULTS };
enum { LONGEST_SPAN = 10, RAMP = 17 };

/* Kinds of attention: causal, with spans, or to every key of the own or of another text. */
enum { CAUSAL, SPANS, ALL, KINDS };

/* A case with its numbers and the results of cpu-f64. */
typedef struct {
    const Case *c;
    size_t S, N, M, rows, start[SEQUENCES + 1], memory[SEQUENCES + 1], size[RESULTS];
    Attention a; /* without the arrays of backend memory */
    int more;    /* dk, dv accumulate */
    int twin;    /* expected with the roundings of tensor cores */
    double *q, *kv, *relative, *span, *dout, *expected[RESULTS];
} Problem;

/* Start of the results that accumulate. */
static const double BEFORE = 0.5;
static int accumulates(const Problem *p, int k)
{
    return k >= DRELATIVE || (k == DKV && p->more);
}

/* Returns k or (v = 1) v, or their adjoints, where a number has `bytes`. */
static void *keys_at(const Problem *p, void *q, void *kv, size_t v, size_t bytes)
{
    return (char *)(p->M ? kv : q) + (v + !p->M) * p->c->D * bytes;
}

/* Inputs, results and dout in backend memory. */
typedef struct {
    size_t *start, *memory;
    void *q, *kv, *relative, *span, *dout, *y[RESULTS];
} Arrays;

static Attention with(const Problem *p, const Arrays *x, size_t bytes)
{
    Attention a = p->a;
    a.start = x->start, a.memory = p->M ? x->memory : NULL;
    a.q = x->q, a.k = keys_at(p, x->q, x->kv, 0, bytes), a.v = keys_at(p, x->q, x->kv, 1, bytes);
    a.ldq = (p->M ? 1 : 3) * a.D, a.ldk = (p->M ? 2 : 3) * a.D;
    a.relative = a.clip ? x->relative : NULL;
    a.span = a.ramp ? x->span : NULL;
    return a;
}

static void expect_twin(Problem *p)
{
    for (int k = 0; k < RESULTS; k++) {
        p->expected[k] = host_new(p->size[k]);
        for (size_t i = 0; i < p->size[k]; i++) p->expected[k][i] = accumulates(p, k) ? BEFORE : 0;
    }
    Arrays x = {.start = p->start, .memory = p->memory, .q = p->q, .kv = p->kv};
    Attention a = with(p, &x, sizeof(double));
    double *const *y = p->expected;
    twin_attention(&a, TWIN_ROUNDS, y[OUT], y[LSE]);
    twin_attention_back(&a, TWIN_ROUNDS, y[OUT], y[LSE], p->dout, y[DQ],
                        keys_at(p, y[DQ], y[DKV], 0, sizeof(double)),
                        keys_at(p, y[DQ], y[DKV], 1, sizeof(double)), p->more);
}

static void expect(Problem *p)
{
    const Backend *b;
    if (p->twin) {
        expect_twin(p);
        return;
    }
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    Arrays x = {.q = buffer_new(b, p->size[DQ], p->q),
                .kv = buffer_new(b, p->size[DKV], p->kv),
                .relative = buffer_new(b, p->size[DRELATIVE], p->relative),
                .span = buffer_new(b, p->size[DSPAN], p->span),
                .dout = buffer_new(b, p->size[OUT], p->dout),
                .start = sent(b, p->start, sizeof p->start),
                .memory = sent(b, p->memory, sizeof p->memory)};
    for (int k = 0; k < RESULTS; k++) {
        x.y[k] = buffer_new(b, p->size[k], NULL);
        if (accumulates(p, k)) b->fill(x.y[k], BEFORE, p->size[k]);
    }
    Attention a = with(p, &x, b->size);
    b->attention(&a, x.y[OUT], x.y[LSE]);
    b->attention_back(&a, x.y[OUT], x.y[LSE], x.dout, x.y[DQ],
                      keys_at(p, x.y[DQ], x.y[DKV], 0, b->size),
                      keys_at(p, x.y[DQ], x.y[DKV], 1, b->size), p->more,
                      a.clip ? x.y[DRELATIVE] : NULL, a.span ? x.y[DSPAN] : NULL);
    for (int k = 0; k < RESULTS; k++) p->expected[k] = fetch(b, x.y[k], p->size[k]);
}

/* Returns 1 where the case does not have attention of this kind. */
static int foreign(const Case *c, int kind)
{
    return c->keys[0] && kind != ALL;
}

/* Makes a case's numbers and expected results. Spans: z is 2.5, and 1.25 more in the next head, so keys beyond 20 are
 * not seen; of 130 keys this is a whole tile. */
static Problem problem_new(const Case *c, double rate, int kind)
{
    Problem p = {.c = c, .more = rate > 0 && c->keys[0]};
    size_t longest = 0, rows = 0;
    for (; p.S < SEQUENCES && c->length[p.S]; p.S++) {
        size_t keys = c->keys[p.S] ? c->keys[p.S] : c->length[p.S];
        p.start[p.S + 1] = p.N += c->length[p.S];
        p.memory[p.S + 1] = p.M += c->keys[p.S];
        longest = longest < keys ? keys : longest;
        rows = rows < c->length[p.S] ? c->length[p.S] : rows;
    }
    p.rows = 2 * c->clip + 1;
    p.a = (Attention){.S = p.S, .longest = c->longest ? c->longest : longest, .D = c->D, .H = c->H};
    p.a.clip = c->clip, p.a.causal = kind != ALL;
    if (c->known) p.a.rows = rows, p.a.keys = longest;
    p.a.drop = (Dropout){rate, 0x123456789abcdefu, 0xfedcba9876543210u, NULL, 0};
    memcpy(p.size,
           (size_t[RESULTS]){p.N * c->D, p.N * c->H, (p.M ? 1 : 3) * p.N * c->D, 2 * p.M * c->D,
                             p.rows * c->D / c->H, c->H},
           sizeof p.size);
    if (kind == SPANS) p.a.longest_span = LONGEST_SPAN, p.a.ramp = RAMP;
    p.twin = c->matrix && kind != SPANS && c->clip == 0;
    p.span = host_new(c->H);
    for (size_t h = 0; h < c->H; h++) p.span[h] = 0.25 + 0.125 * (double)h;
    p.q = host_random(p.size[DQ], 1);
    p.relative = host_random(p.size[DRELATIVE], 2);
    p.dout = host_random(p.size[OUT], 3);
    p.kv = host_random(p.size[DKV], 4);
    expect(&p);
    return p;
}

/* ---- arrays of floats on the device, with guards around them -------------------------------------- */

static const float guard_value = -77.25f;

static float *floats_new(size_t n, int shift, const double *x, double fill)
{
    size_t all = n + 2 * GUARD + (size_t)shift, lead = GUARD + (size_t)shift;
    SCOPE;
    float *host = host_bytes(all, sizeof *host);
    for (size_t i = 0; i < all; i++) {
        int in = i >= lead && i < lead + n;
        host[i] = in ? (float)(x ? x[i - lead] : fill) : guard_value;
    }
    return (float *)device_copy(host, all * sizeof *host) + lead;
}

/* Puts the array's numbers into x, where it is not NULL, and frees the array. */
static void floats_take(float *p, size_t n, int shift, double *x)
{
    SCOPE;
    size_t all = n + 2 * GUARD + (size_t)shift, lead = GUARD + (size_t)shift;
    float *host = host_bytes(all, sizeof *host);
    device_get(host, p - lead, all * sizeof *host);
    for (size_t i = 0; i < all; i++) {
        int in = i >= lead && i < lead + n;
        assert_true(in || host[i] == guard_value);
        if (in && x) x[i - lead] = (double)host[i];
    }
    OK(cudaFree(p - lead));
}

/* Runs forward and backward of the kernels. Returns 1 where they ran. */
static int run(const Problem *p, double *y[RESULTS])
{
    int shift = p->c->shift, ran;
    Arrays x = {.q = floats_new(p->size[DQ], shift, p->q, 0),
                .kv = floats_new(p->size[DKV], shift, p->kv, 0),
                .relative = floats_new(p->size[DRELATIVE], shift, p->relative, 0),
                .span = floats_new(p->size[DSPAN], shift, p->span, 0),
                .dout = floats_new(p->size[OUT], shift, p->dout, 0),
                .start = device_copy(p->start, sizeof p->start),
                .memory = device_copy(p->memory, sizeof p->memory)};
    for (int k = 0; k < RESULTS; k++)
        x.y[k] = floats_new(p->size[k], shift, NULL, accumulates(p, k) ? BEFORE : NAN);
    Attention a = with(p, &x, sizeof(float));
    attention_matrix(p->c->matrix);
    ran = attention_forward(&a, x.y[OUT], x.y[LSE]) == cudaSuccess &&
          attention_backward(&a, x.y[OUT], x.y[LSE], x.dout, x.y[DQ],
                             keys_at(p, x.y[DQ], x.y[DKV], 0, sizeof(float)),
                             keys_at(p, x.y[DQ], x.y[DKV], 1, sizeof(float)), p->more,
                             a.clip ? x.y[DRELATIVE] : NULL,
                             a.span ? x.y[DSPAN] : NULL) == cudaSuccess &&
          !*cuda_host_fault();
    if (!ran) printf("# %s\n", cuda_host_fault());
    cuda_host_reset();
    for (int k = 0; k < RESULTS; k++)
        floats_take(x.y[k], p->size[k], shift, y[k] = host_new(p->size[k]));
    void *const in[] = {x.q, x.kv, x.relative, x.span, x.dout};
    const size_t size[] = {p->size[DQ], p->size[DKV], p->size[DRELATIVE], p->size[DSPAN],
                           p->size[OUT]};
    for (int k = 0; k < 5; k++) floats_take(in[k], size[k], shift, NULL);
    OK(cudaFree(x.start));
    OK(cudaFree(x.memory));
    return ran;
}

/* Returns the first result of tensor cores that is farther from the twin's than 2^-11 of its norm
 * (test_attention_kernels.c says why), or RESULTS. The start of accumulated results is in neither. */
static int first_far(const Problem *p, double *const y[RESULTS])
{
    for (int k = 0; k < RESULTS; k++) {
        double norm = 0, off = 0, before = accumulates(p, k) ? BEFORE : 0;
        for (size_t i = 0; i < p->size[k]; i++) {
            double x = p->expected[k][i];
            norm += (x - before) * (x - before);
            off += (y[k][i] - x) * (y[k][i] - x);
        }
        if (!(sqrt(off) <= TWIN_FAR * sqrt(norm))) return k;
    }
    return RESULTS;
}

/* Returns the first result beyond its tolerance, or RESULTS. */
static int first_wrong(const Problem *p, double *const y[RESULTS])
{
    if (p->twin) return first_far(p, y);
    size_t E = p->a.D / p->a.H, longest = 0;
    for (size_t s = 0; s < p->S; s++) {
        longest = longest < p->c->length[s] ? p->c->length[s] : longest;
        longest = longest < p->c->keys[s] ? p->c->keys[s] : longest;
    }
    for (int k = 0; k < RESULTS; k++) {
        double n = 2 * (double)(E + longest + 16) + (k < DQ ? 0 : 4 * (double)(p->N + p->M));
        double tol = 4 * n * (double)FLT_EPSILON * (1 + largest(p->expected[k], p->size[k]));
        if (!near(y[k], p->expected[k], p->size[k], tol)) return k;
    }
    return RESULTS;
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static const char *const result_names[] = {"out", "lse", "dq", "dkv", "drelative", "dspan"};

static double norm_of(const Problem *p, int k)
{
    double sum = 0;
    for (size_t i = 0; i < p->size[k]; i++) sum += p->expected[k][i] * p->expected[k][i];
    return sqrt(sum);
}

static void check_cases(const Case *list, size_t n)
{
    for (size_t c = 0; c < n; c++)
        for (int way = 0; way < 2 * KINDS; way++) {
            int drops = way & 1, kind = way / 2;
            if (foreign(list + c, kind) || (list[c].matrix && kind == SPANS)) continue;
            SCOPE;
            Problem p = problem_new(list + c, drops ? 0.1 : 0, kind);
            double *y[RESULTS];
            assert_true(run(&p, y));
            int wrong = first_wrong(&p, y);
            if (wrong < RESULTS)
                fail_msg("case %zu, dropout %d, kind %d: %s differs", c, drops, kind,
                         result_names[wrong]);
            for (int k = 0; k < RESULTS; k++) { /* the checker sees */
                if ((k == DRELATIVE && !p.a.clip) || (k == DSPAN && kind != SPANS)) continue;
                if (k == DKV && !p.M) continue;
                double kept = y[k][p.size[k] / 2];
                y[k][p.size[k] / 2] = NAN;
                assert_int_equal(first_wrong(&p, y), k);
                y[k][p.size[k] / 2] = kept + (list[c].matrix ? 2 * TWIN_FAR * norm_of(&p, k) : 0.1);
                assert_int_equal(first_wrong(&p, y), k);
                y[k][p.size[k] / 2] = kept;
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
static int right_in_all_orders(const Problem *p)
{
    SCOPE;
    int right = 1;
    double *first[RESULTS], *y[RESULTS];
    for (size_t o = 0; right && o < CHECK_ORDERS; o++) {
        cuda_host_order(check_orders[o]);
        right = run(p, o ? y : first) && first_wrong(p, o ? y : first) == RESULTS;
        for (int k = 0; o && right && k < RESULTS; k++) right = same(y[k], first[k], p->size[k]);
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
    Problem p[PLANTED];
    for (int c = 0; c < PLANTED; c++) {
        p[c] =
            problem_new(planted_cases + c, 0.1, foreign(planted_cases + c, CAUSAL) ? ALL : CAUSAL);
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
                Problem p = problem_new(planted_cases + c, 0, kind);
                double *y[RESULTS];
                attention_plant((AttentionError){.mask = by});
                assert_true(run(&p, y));
                assert_int_equal(first_wrong(&p, y) == RESULTS, by == 0);
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
        {{{20}, 32, 1, 0, 0, 0, {0}, 1}, CAUSAL, 1}, {{{70}, 16, 1, 0, 0, 0, {20}, 1}, ALL, 1},
        {{{20}, 32, 1, 8, 0, 0, {0}, 1}, CAUSAL, 0}, {{{20}, 32, 1, 0, 0, 0, {0}, 1}, SPANS, 0},
        {{{20}, 24, 1, 0, 0, 0, {0}, 1}, CAUSAL, 0}, {{{20}, 144, 1, 0, 0, 0, {0}, 1}, CAUSAL, 0},
        {{{20}, 32, 1, 0, 0, 1, {0}, 1}, CAUSAL, 0},
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
    for (int kind = CAUSAL; kind < KINDS; kind += ALL - CAUSAL)
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
