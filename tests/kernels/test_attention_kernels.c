/* test_attention_kernels.c: attention, forward and backward, of every backend against cpu-f64 (which test_kernels.c holds to the
 * formula), for heads whose width is a multiple of 16: those that cuda-bf16 gives to tensor cores.
 *
 * Distances are of norms. f32: 2^-16 is beyond 100 roundings by 2^-24. bf16: rounding both factors of a product to 8
 * bits is 2^-8; adjoints go through two products.
 */
#include "tests/lib/test.h"

#include "tests/lib/kernel_buffers.h"

enum { SEQUENCES = 3, OUT = 0, DQKV, RESULTS };

typedef struct {
    size_t length[SEQUENCES], D, H;
} Shape;

/* Of 16, 32 and 64 rows a tile and of many tiles. */
static const Shape shapes[] = {
    {{1, 5, 16}, 32, 2},  {{20, 32, 3}, 32, 1},  {{40, 64, 17}, 64, 1},
    {{70, 33, 2}, 80, 1}, {{20, 70, 1}, 256, 2}, {{131, 64}, 48, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static double *result(const Backend *b, void *y, size_t n)
{
    double *x = fetch(b, y, n);
    buffer_free(b, y, n);
    return x;
}

/* y: the caller's. */
static void run(const Backend *b, const Shape *s, int causal, double rate, double *y[RESULTS],
                size_t size[RESULTS])
{
    size_t start[SEQUENCES + 1] = {0}, S = 0, longest = 0;
    for (; S < SEQUENCES && s->length[S]; S++) {
        start[S + 1] = start[S] + s->length[S];
        longest = longest < s->length[S] ? s->length[S] : longest;
    }
    size_t n = start[S] * s->D, all = 3 * n;
    double *qkv = host_random(all, 1), *dout = host_random(n, 2);
    void *x = buffer_new(b, all, qkv), *dx = buffer_new(b, all, NULL),
         *out = buffer_new(b, n, NULL);
    void *dy = buffer_new(b, n, dout), *lse = buffer_new(b, start[S] * s->H, NULL);
    size_t *begins = sent(b, start, sizeof start);
    Attention a = {.S = S,
                   .start = begins,
                   .causal = causal,
                   .longest = longest,
                   .D = s->D,
                   .H = s->H,
                   .q = x,
                   .k = backend_at(b, x, s->D),
                   .v = backend_at(b, x, 2 * s->D),
                   .ldq = 3 * s->D,
                   .ldk = 3 * s->D,
                   .drop = {rate, 0x123456789abcdefu, 0xfedcba9876543210u, NULL, 0}};
    b->attention(&a, out, lse);
    b->attention_back(&a, out, lse, dy, dx, backend_at(b, dx, s->D), backend_at(b, dx, 2 * s->D), 0,
                      NULL, NULL);
    size[OUT] = n, size[DQKV] = all;
    y[OUT] = result(b, out, n);
    y[DQKV] = result(b, dx, all);
    buffer_free(b, x, all);
    buffer_free(b, dy, n);
    buffer_free(b, lse, start[S] * s->H);
    b->release(begins);
    memory_free(qkv);
    memory_free(dout);
}

static void run_free(double *y[RESULTS])
{
    for (int k = 0; k < RESULTS; k++) memory_free(y[k]);
}

/* |x - y| / |y|, NaN where a number is none. */
static double distance(const double *x, const double *y, size_t n)
{
    double off = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        off += (x[i] - y[i]) * (x[i] - y[i]);
        norm += y[i] * y[i];
    }
    return sqrt(off / norm);
}

static double bound_of(const Backend *b, int k)
{
    double one = strstr(b->name, "bf16") ? 0x1p-8 : 0x1p-16;
    return k == OUT ? one : 2 * one;
}

TEST(backends_agree)
{
    const Backend *exact;
    assert_int_equal(backend_find("cpu-f64", NULL, &exact), 0);
    for (size_t i = 0; i < SHAPES; i++)
        for (int way = 0; way < 4; way++) {
            double *want[RESULTS], *y[RESULTS], rate = way & 2 ? 0.1 : 0;
            size_t size[RESULTS];
            run(exact, shapes + i, way & 1, rate, want, size);
            for (size_t k = 0; k < backend_count; k++) {
                const Backend *b = backends[k];
                run(b, shapes + i, way & 1, rate, y, size);
                for (int r = 0; r < RESULTS; r++) {
                    double bound = bound_of(b, r), d = distance(y[r], want[r], size[r]);
                    if (!(d <= bound))
                        fail_msg("%s, shape %zu, way %d: result %d is off by %g", b->name, i, way,
                                 r, d);
                    double norm = 0;
                    for (size_t n = 0; n < size[r]; n++) norm += want[r][n] * want[r][n];
                    y[r][size[r] / 2] += 3 * bound * sqrt(norm); /* is seen */
                    assert_false(distance(y[r], want[r], size[r]) <= bound);
                    y[r][size[r] / 2] = NAN;
                    assert_false(distance(y[r], want[r], size[r]) <= bound);
                }
                run_free(y);
            }
            run_free(want);
        }
}

/* cuda-bf16 rounds where it has tensor cores, and has the bits of cuda-f32 where the width is no multiple of 16. */
TEST(tensor_cores_are_used)
{
    static const Shape odd = {{20, 7}, 40, 2};
    const Backend *f32, *bf16;
    if (backend_find("cuda-f32", NULL, &f32) != 0 || backend_find("cuda-bf16", NULL, &bf16) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    for (size_t i = 0; i <= SHAPES; i++) {
        double *x[RESULTS], *y[RESULTS];
        size_t size[RESULTS];
        run(f32, i < SHAPES ? shapes + i : &odd, 1, 0.1, x, size);
        run(bf16, i < SHAPES ? shapes + i : &odd, 1, 0.1, y, size);
        for (int r = 0; r < RESULTS; r++) assert_int_equal(same(x[r], y[r], size[r]), i == SHAPES);
        run_free(x);
        run_free(y);
    }
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(find_backends, NULL)
