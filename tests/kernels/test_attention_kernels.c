/* test_attention_kernels.c: attention, forward and backward, of every backend, for heads whose width is a multiple of
 * 16: cuda-bf16 gives these to tensor cores.
 *
 * Distances are shares of norms. Against cpu-f64 (which test_kernels.c compares with the formula) f32 has 2^-16, more
 * than 100 roundings by 2^-24. Tensor cores round factors to 8 binary digits, which is 2^-8 / sqrt(3) of a mean 1.53 =
 * 2^-9.4. out is made of two such factors, one of them with the error of scores: 2^-8 (measured on the stand-in: at
 * most 2^-8.4). dq and dk are made of four and of scores: 2^-9.4 sqrt(4) is 2^-8.4 without scores, so the bound is only
 * 2^-7 (measured: 2^-7.9).
 *
 * Against a twin with the same roundings (attention_twin.h) the bound of all is TWIN_FAR. The remaining difference
 * comes from roundings of f32, and from numbers so near the middle of two neighbours of 8 digits that these roundings
 * decide. With an error eta, 2^-18 for a weight (E + 16 roundings of a score), a number is so near once in 2^-8 / eta
 * times, and is then off by up to 2^-7: in all 2^-7 sqrt(2^8 eta) = 2^-12 (measured: 2^-13.8). A rounding that the twin
 * leaves out is 2^-9.4 of some result.
 */
#include "tests/lib/test.h"

#include "tests/lib/attention_twin.h"
#include "tests/lib/distance.h"
#include "tests/lib/kernel_buffers.h"

enum { SEQUENCES = 3 };

typedef struct {
    size_t length[SEQUENCES];
    size_t D, H, clip, longest; /* longest 0: as it is */
    int shift;                  /* numbers from an aligned address to each array */
    size_t keys[SEQUENCES];     /* lengths of another text, whose k and v are apart from q */
    int known;                  /* the device knows how long the rows and keys of this batch are */
    size_t kv;                  /* heads of keys and values; 0: H */
} Case;

/* DQ holds dk and dv too where they are packed; DKV holds those of another text. */
enum { OUT, LSE, DQ, DKV, DRELATIVE, RESULTS };

/* Kinds of attention: causal, or to every key of the own or of another text. */
enum { CAUSAL, ALL, KINDS };

static const char *const result_names[] = {"out", "lse", "dq", "dkv", "drelative"};

/* A case with its numbers. */
typedef struct {
    const Case *c;
    size_t S, N, M, rows, start[SEQUENCES + 1], memory[SEQUENCES + 1], size[RESULTS];
    Attention a; /* without the arrays of backend memory */
    int more;    /* dk, dv accumulate */
    double *q, *kv, *relative, *dout;
} Problem;

/* Start of the results that accumulate. */
static const double BEFORE = 0.5;
static int accumulates(const Problem *p, int k)
{
    return k >= DRELATIVE || (k == DKV && p->more);
}

/* Returns the numbers of a row of keys. */
static size_t key_numbers(const Case *c)
{
    return c->kv ? c->kv * (c->D / c->H) : c->D;
}

/* Returns k or (v = 1) v, or their adjoints, where a number has `bytes`. */
static void *keys_at(const Problem *p, void *q, void *kv, size_t v, size_t bytes)
{
    return (char *)(p->M ? kv : q) + ((p->M ? 0 : p->c->D) + v * key_numbers(p->c)) * bytes;
}

/* Inputs, results and dout in backend memory. */
typedef struct {
    size_t *start, *memory;
    void *q, *kv, *relative, *dout, *y[RESULTS];
} Arrays;

static Attention with(const Problem *p, const Arrays *x, size_t bytes)
{
    Attention a = p->a;
    a.start = x->start, a.memory = p->M ? x->memory : NULL;
    a.q = x->q, a.k = keys_at(p, x->q, x->kv, 0, bytes), a.v = keys_at(p, x->q, x->kv, 1, bytes);
    a.ldk = (p->M ? 0 : a.D) + 2 * key_numbers(p->c), a.ldq = p->M ? a.D : a.ldk;
    a.relative = a.clip ? x->relative : NULL;
    return a;
}

/* Makes a case's numbers. */
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
    p.a = (Attention){
        .S = p.S, .longest = c->longest ? c->longest : longest, .D = c->D, .H = c->H, .kv = c->kv};
    p.a.clip = c->clip, p.a.causal = kind != ALL;
    if (c->known) p.a.rows = rows, p.a.keys = longest;
    p.a.drop = (Dropout){rate, 0x123456789abcdefu, 0xfedcba9876543210u, NULL, 0};
    memcpy(p.size,
           (size_t[RESULTS]){p.N * c->D, p.N * c->H, p.N * (c->D + (p.M ? 0 : 2 * key_numbers(c))),
                             2 * p.M * key_numbers(c), p.rows * c->D / c->H},
           sizeof p.size);
    p.q = host_random(p.size[DQ], 1);
    p.relative = host_random(p.size[DRELATIVE], 2);
    p.dout = host_random(p.size[OUT], 3);
    p.kv = host_random(p.size[DKV], 4);
    return p;
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* Returns n numbers, from x or all `fill`, so far from an aligned address as the case asks. */
static void *array_on(const Backend *b, const Problem *p, size_t n, const double *x, double fill)
{
    void *at = backend_at(b, buffer_new(b, n + (size_t)p->c->shift, NULL), (size_t)p->c->shift);
    if (x)
        b->put(at, x, n);
    else
        b->fill(at, fill, n);
    return at;
}

static Arrays arrays_on(const Backend *b, const Problem *p)
{
    Arrays x = {.q = array_on(b, p, p->size[DQ], p->q, 0),
                .kv = array_on(b, p, p->size[DKV], p->kv, 0),
                .relative = array_on(b, p, p->size[DRELATIVE], p->relative, 0),
                .dout = array_on(b, p, p->size[OUT], p->dout, 0),
                .start = sent(b, p->start, sizeof p->start),
                .memory = sent(b, p->memory, sizeof p->memory)};
    for (int k = 0; k < RESULTS; k++)
        x.y[k] = array_on(b, p, p->size[k], NULL, accumulates(p, k) ? BEFORE : NAN);
    return x;
}

static void run_on(const Backend *b, const Problem *p, double *y[RESULTS])
{
    Arrays x = arrays_on(b, p);
    Attention a = with(p, &x, b->size);
    b->attention(&a, x.y[OUT], x.y[LSE]);
    b->attention_back(
        &a, x.y[OUT], x.y[LSE], x.dout, x.y[DQ], keys_at(p, x.y[DQ], x.y[DKV], 0, b->size),
        keys_at(p, x.y[DQ], x.y[DKV], 1, b->size), p->more, a.clip ? x.y[DRELATIVE] : NULL);
    for (int k = 0; k < RESULTS; k++) y[k] = fetch(b, x.y[k], p->size[k]);
}

/* Runs the twin; relative positions have none. */
static void run_twin(const Problem *p, int rounds, double *y[RESULTS])
{
    for (int k = 0; k < RESULTS; k++) {
        y[k] = host_new(p->size[k]);
        for (size_t i = 0; i < p->size[k]; i++) y[k][i] = accumulates(p, k) ? BEFORE : 0;
    }
    Arrays x = {.start = (size_t *)p->start, .memory = (size_t *)p->memory, .q = p->q, .kv = p->kv};
    Attention a = with(p, &x, sizeof(double));
    twin_attention(&a, rounds, y[OUT], y[LSE]);
    twin_attention_back(&a, rounds, y[OUT], y[LSE], p->dout, y[DQ],
                        keys_at(p, y[DQ], y[DKV], 0, sizeof(double)),
                        keys_at(p, y[DQ], y[DKV], 1, sizeof(double)), p->more);
}

/* Returns the distance of result k as a share of its norm: the largest of dq, dk and dv, where they are packed. The
 * start of accumulated results is in neither. */
static double far_of(const Problem *p, int k, const double *y, const double *want)
{
    size_t D = k == DKV ? 0 : p->c->D, W = key_numbers(p->c),
           parts = k == DKV           ? 2
                   : k == DQ && !p->M ? 3
                                      : 1;
    size_t ld = D + (k == DKV || parts == 3 ? 2 * W : 0);
    double most = 0, before = accumulates(p, k) ? BEFORE : 0;
    for (size_t part = 0; part < parts; part++) {
        double norm = 0, off = 0;
        for (size_t i = 0; i < p->size[k]; i++) {
            size_t c = i % ld;
            if (parts > 1 && (c < D ? 0 : (D > 0) + (c - D) / W) != part) continue;
            norm += (want[i] - before) * (want[i] - before);
            off += (y[i] - want[i]) * (y[i] - want[i]);
        }
        double far = off == 0 ? 0 : sqrt(off / norm);
        if (isnan(far)) return far;
        most = most < far ? far : most;
    }
    return most;
}

#define TWIN_EXACT 0x1p-40 /* bound without roundings */

/* Tiles of 16, 32 and 64 rows, and many tiles, of the own text and of another; lengths that the device knows; heads that
 * share keys. The last are not for tensor cores: unaligned arrays, relative positions, E too large or no multiple of
 * 16. */
static const Case shapes[] = {
    {{1, 5, 16}, 32, 2},
    {{20, 32, 3}, 32, 1},
    {{40, 64, 17}, 64, 1},
    {{70, 33, 2}, 80, 1},
    {{20, 70, 1}, 256, 2},
    {{131, 64}, 48, 1, .longest = 133},
    {{130, 70, 3}, 64, 1, .longest = (size_t)1 << 34, .known = 1},
    {{31, 16}, 32, 2, .longest = 131, .known = 1},
    {{1, 5, 40}, 32, 2, .keys = {9, 1, 16}},
    {{64, 150, 33}, 64, 1, .keys = {7, 30, 31}},
    {{3, 130, 65}, 128, 1, .keys = {129, 1, 65}},
    {{70, 33, 2}, 256, 2, .keys = {20, 9, 31}, .known = 1},
    {{31, 64, 9}, 192, 6, .known = 1, .kv = 2},
    {{40, 33}, 128, 2, .keys = {30, 9}, .known = 1, .kv = 1},
    {{33, 64}, 64, 1, .shift = 1},
    {{3, 130, 65}, 32, 1, .shift = 1, .keys = {129, 1, 65}},
    {{20, 33}, 32, 2, .clip = 15, .longest = (size_t)1 << 34, .known = 1},
    {{131, 20}, 68, 1, .clip = 40},
    {{20}, 144, 1},
    {{20, 7}, 40, 2},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, FOR_MATRICES = SHAPES - 6 };

static const Backend *needed(const char *name)
{
    const Backend *b;
    if (backend_find(name, NULL, &b) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    return b;
}

/* Makes a problem: to all keys or causal, where these are the own text's, with dropout or without. */
static Problem problem_at(size_t shape, int way)
{
    return problem_new(shapes + shape, way & 1 ? 0.1 : 0, way & 2 ? CAUSAL : ALL);
}

static int ways_of(size_t shape)
{
    return shapes[shape].keys[0] ? 2 : 4;
}

static double bound_of(const Backend *b, int k)
{
    double one = strstr(b->name, "bf16") ? 0x1p-8 : 0x1p-16;
    return k < DQ ? one : 2 * one;
}

TEST(backends_agree)
{
    const Backend *exact;
    assert_int_equal(backend_find("cpu-f64", NULL, &exact), 0);
    for (size_t i = 0; i < SHAPES; i++)
        for (int way = 0; way < ways_of(i); way++) {
            SCOPE;
            double *want[RESULTS], *y[RESULTS];
            Problem p = problem_at(i, way);
            run_on(exact, &p, want);
            for (size_t k = 0; k < backend_count; k++) {
                const Backend *b = backends[k];
                run_on(b, &p, y);
                for (int r = OUT; r < RESULTS; r++) {
                    if (r == DRELATIVE ? !p.a.clip : !p.size[r]) continue;
                    double bound = bound_of(b, r), d = far_of(&p, r, y[r], want[r]);
                    if (!(d <= bound))
                        fail_msg("%s, shape %zu, way %d: %s is off by %g", b->name, i, way,
                                 result_names[r], d);
                    double norm = 0, *x = y[r] + p.size[r] / 2;
                    for (size_t n = 0; n < p.size[r]; n++) norm += want[r][n] * want[r][n];
                    *x += 3 * bound * sqrt(norm); /* is seen */
                    assert_false(far_of(&p, r, y[r], want[r]) <= bound);
                    *x = NAN;
                    assert_false(far_of(&p, r, y[r], want[r]) <= bound);
                }
            }
        }
}

/* Returns the first result that is farther from the twin's than `bound`, or RESULTS. */
static int first_far(const Problem *p, double *const y[RESULTS], int rounds, double bound)
{
    SCOPE;
    int r = OUT;
    double *twin[RESULTS];
    run_twin(p, rounds, twin);
    while (r <= DKV && far_of(p, r, y[r], twin[r]) <= bound) r++;
    return r <= DKV ? r : RESULTS;
}

/* Checks that y is near the twin with `rounds`, and near none that rounds less, or more. */
static void check_twin(const Problem *p, double *const y[RESULTS], int rounds, double bound)
{
    int far = first_far(p, y, rounds, bound);
    if (far < RESULTS) fail_msg("%s is beyond %g", result_names[far], bound);
    for (int one = 1; one < TWIN_ROUNDS; one *= 2)
        assert_true(first_far(p, y, rounds ^ one, bound) < RESULTS);
}

/* Checks that a backend's results are the twin's with these roundings. */
static void compare_with_twin(const char *name, int rounds, double bound)
{
    const Backend *b = needed(name);
    for (size_t i = 0; i < FOR_MATRICES; i++)
        for (int way = 0; way < ways_of(i); way++) {
            SCOPE;
            double *y[RESULTS];
            Problem p = problem_at(i, way);
            run_on(b, &p, y);
            check_twin(&p, y, rounds, bound);
        }
}

TEST(twin_is_attention)
{
    compare_with_twin("cpu-f64", 0, TWIN_EXACT);
}

TEST(tensor_cores_agree_with_their_twin)
{
    compare_with_twin("cuda-bf16", TWIN_ROUNDS, TWIN_FAR);
}

/* cuda-bf16 rounds where it has tensor cores. Elsewhere it has the bits of cuda-f32. */
TEST(tensor_cores_are_used)
{
    const Backend *f32 = needed("cuda-f32"), *bf16 = needed("cuda-bf16");
    for (size_t i = 0; i < SHAPES; i++) {
        SCOPE;
        double *x[RESULTS], *y[RESULTS];
        Problem p = problem_at(i, 1);
        run_on(f32, &p, x);
        run_on(bf16, &p, y);
        for (int r = OUT; r <= DQ; r++)
            assert_int_equal(same(x[r], y[r], p.size[r]), i >= FOR_MATRICES);
    }
}

/* Tells whether sequence s alone, with its numbers and masks (shift 1: with others), has the results y of its batch. */
static int is_alone(const Backend *b, const Problem *all, size_t s, uint64_t shift,
                    double *const y[RESULTS])
{
    SCOPE;
    Case c = *all->c;
    double *x[RESULTS];
    memset(c.length, 0, sizeof c.length), memset(c.keys, 0, sizeof c.keys);
    c.length[0] = all->c->length[s], c.keys[0] = all->c->keys[s];
    Problem one = problem_new(&c, all->a.drop.rate, all->a.causal ? CAUSAL : ALL);
    one.a.longest = all->a.longest;
    one.a.drop.first = all->start[s] * c.H * one.a.longest + shift;
    one.q = all->q + all->start[s] * (all->size[DQ] / all->N);
    one.kv = all->kv + all->memory[s] * 2 * key_numbers(&c);
    one.dout = all->dout + all->start[s] * c.D;
    run_on(b, &one, x);
    for (int r = OUT; r <= DKV; r++) {
        const size_t *row = r == DKV ? all->memory : all->start;
        size_t at = one.size[r] ? row[s] * (all->size[r] / row[all->S]) : 0;
        if (!same(x[r], y[r] + at, one.size[r])) return 0;
    }
    return 1;
}

/* The results of a sequence do not depend on the others of its batch, to the bit, though tiles do. */
TEST(sequences_are_alone_in_a_batch)
{
    for (size_t i = 0; i < SHAPES; i++)
        for (int way = 0; way < ways_of(i); way++) {
            SCOPE;
            Problem all = problem_at(i, way);
            for (size_t k = 0; k < backend_count; k++) {
                SCOPE;
                if (k && backends[k]->attention == backends[0]->attention) continue;
                double *y[RESULTS];
                run_on(backends[k], &all, y);
                for (size_t s = 0; s < all.S; s++) {
                    if (!is_alone(backends[k], &all, s, 0, y))
                        fail_msg("%s, shape %zu, way %d, sequence %zu", backends[k]->name, i, way,
                                 s);
                    int masks = all.a.drop.rate > 0 && shapes[i].length[s] > 16;
                    assert_false(masks && is_alone(backends[k], &all, s, 1, y));
                }
            }
        }
}

/* ---- attention of factors ------------------------------------------------------------------------- */

enum { SEEN_WIDTH = 32, SEEN_HEADS = 2 };

/* Runs attention of two sequences of T rows, forward and backward, of factors or numbers of the same values. Results: out
 * (2 T, D), then the adjoints of q, k, v (2 T, 3 D). */
static double *attend_as(const Backend *b, int factors, size_t T, int causal, double rate)
{
    size_t D = SEEN_WIDTH, n = 2 * T * D, begins[] = {0, T, 2 * T};
    void *part[] = {b->alloc(3 * n), b->alloc(n), b->alloc(n), b->alloc(3 * n)};
    void *lse = b->alloc(2 * T * SEEN_HEADS), *start = b->alloc(8), *out = b->alloc(4 * n);
    double *host = memory_new(4 * n, sizeof *host);
    for (size_t i = 0; i < 4 * n; i++)
        host[i] = twin_rounded(1, (double)((i * 7919 + 4 * 104729) % 1021) / 510 - 1);
    b->put(part[0], host, 3 * n), b->put(part[2], host + 3 * n, n);
    b->send(start, begins, sizeof begins);
    for (size_t i = 0; factors && i < 4; i++) {
        size_t size = i == 0 || i == 3 ? 3 * n : n;
        void *f = b->factors(size);
        b->copy(f, part[i], size);
        b->release(part[i]);
        part[i] = f;
    }
    const size_t step = factors ? b->factor_size : b->size;
    char *q = part[0], *dq = part[3];
    Attention a = {.S = 2,
                   .start = start,
                   .causal = causal,
                   .longest = T,
                   .D = D,
                   .H = SEEN_HEADS,
                   .q = q,
                   .k = q + D * step,
                   .v = q + 2 * D * step,
                   .ldq = 3 * D,
                   .ldk = 3 * D,
                   .drop = {.rate = rate, .seed = 3, .stream = 7}};
    b->attention(&a, part[1], lse);
    b->attention_back(&a, part[1], lse, part[2], dq, dq + D * step, dq + 2 * D * step, 0, NULL);
    b->copy(out, part[1], n);
    b->copy(backend_at(b, out, n), part[3], 3 * n);
    b->get(host, out, 4 * n);
    assert_int_equal(b->wait(), 0);
    void *all[] = {part[0], part[1], part[2], part[3], lse, start, out};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) b->release(all[i]);
    return host;
}

/* Out is the same number, rounded once. Adjoints are of out rounded too: half of 2^-8 of the mean of 16 products, of
 * numbers below 1, in sums of as many weights as 1, and their own rounding. One tile, and several. */
TEST(attention_of_factors)
{
    static const size_t lengths[] = {12, 40, 64, 100};
    const Backend *b = needed("cuda-bf16");
    double most = 0, control = INFINITY;
    for (size_t i = 0; i < 4 * 2 * 2; i++) {
        size_t T = lengths[i % 4], n = 2 * T * SEEN_WIDTH;
        int causal = i / 4 % 2;
        double rate = i / 8 ? .25 : 0, far = 0, other = 0;
        double *f = attend_as(b, 1, T, causal, rate), *x = attend_as(b, 0, T, causal, rate),
               *c = attend_as(b, 0, T, !causal, rate);
        for (size_t k = 0; k < n; k++) assert_true(f[k] == twin_rounded(1, x[k]));
        for (size_t k = n; k < 4 * n; k++) {
            far = farther(far, fabs(f[k] - x[k]) / (1 + fabs(x[k])));
            other = farther(other, fabs(f[k] - c[k]) / (1 + fabs(c[k])));
        }
        most = fmax(most, far), control = fmin(control, other);
        memory_free(f), memory_free(x), memory_free(c);
    }
    print_message("# %.2g; with other rows seen %.2g\n", most, control);
    assert_true(most <= 0x1p-6 && control > 0x1p-4);
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(find_backends, NULL)
