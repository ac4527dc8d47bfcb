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

#include "tests/lib/attention_problem.h"

#define TWIN_EXACT 0x1p-40 /* bound without roundings */

/* Shapes with tiles of 16, 32 and 64 rows, and with many tiles. */
static const Case shapes[] = {
    {{1, 5, 16}, 32, 2},  {{20, 32, 3}, 32, 1},  {{40, 64, 17}, 64, 1},
    {{70, 33, 2}, 80, 1}, {{20, 70, 1}, 256, 2}, {{131, 64}, 48, 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Makes a problem: causal or not, with dropout or without. */
static Problem problem_at(size_t shape, int way)
{
    return problem_new(shapes + shape, way & 2 ? 0.1 : 0, way & 1 ? CAUSAL : ALL);
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
        for (int way = 0; way < 4; way++) {
            SCOPE;
            double *want[RESULTS], *y[RESULTS];
            Problem p = problem_at(i, way);
            run_on(exact, &p, want);
            for (size_t k = 0; k < backend_count; k++) {
                const Backend *b = backends[k];
                run_on(b, &p, y);
                for (int r = OUT; r <= DQ; r++) {
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
    while (r <= DQ && far_of(p, r, y[r], twin[r]) <= bound) r++;
    return r <= DQ ? r : RESULTS;
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
    const Backend *b;
    if (backend_find(name, NULL, &b) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    for (size_t i = 0; i < SHAPES; i++)
        for (int way = 0; way < 4; way++) {
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

/* cuda-bf16 rounds where it has tensor cores. Where the width is no multiple of 16 it has the bits of cuda-f32. */
TEST(tensor_cores_are_used)
{
    static const Case odd = {{20, 7}, 40, 2};
    const Backend *f32, *bf16;
    if (backend_find("cuda-f32", NULL, &f32) != 0 || backend_find("cuda-bf16", NULL, &bf16) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    for (size_t i = 0; i <= SHAPES; i++) {
        SCOPE;
        double *x[RESULTS], *y[RESULTS];
        Problem p = problem_new(i < SHAPES ? shapes + i : &odd, 0.1, CAUSAL);
        run_on(f32, &p, x);
        run_on(bf16, &p, y);
        for (int r = OUT; r <= DQ; r++) assert_int_equal(same(x[r], y[r], p.size[r]), i == SHAPES);
    }
}

TEST_ADD(all_backends_are_here, NULL, NULL)

TEST_MAIN(find_backends, NULL)
