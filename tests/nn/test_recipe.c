/* test_recipe.c: the definitions of schedules, gradients of several batches, and means of checkpoints. */
#include "tests/lib/test.h"

#include "tests/lib/models.h"
#include "tests/lib/scratch.h"

/* ---- schedules ----------------------------------------------------------------------------------- */

enum { WARMUP = 7, LAST = 47 };
static const double peak = 0.3, low = 0.02;

static Schedule schedule(int kind)
{
    return (Schedule){kind, peak, schedule_ends(kind) ? low : 0, WARMUP, LAST};
}

static double rate(const Schedule *s, int step)
{
    return schedule_rate(s, (uint64_t)step);
}

/* Each way down has a definition without its formula. This one and those below return how far steps WARMUP
 * < s < LAST are from it. */
static double root(const Schedule *s, int i)
{
    return rate(s, i) * rate(s, i) * i - peak * peak * WARMUP;
}

/* A cosine solves c(i + 1) + c(i - 1) = 2 cos(step) c(i) about the middle of the range. */
static double chebyshev(const Schedule *s, int i)
{
    double middle = (peak + low) / 2, turn = acos(-1.0) / (LAST - WARMUP);
    return rate(s, i + 1) + rate(s, i - 1) - 2 * middle - 2 * cos(turn) * (rate(s, i) - middle);
}

/* A line goes through both ends: second differences vanish, and so does the sum of mirrored values'
 * excess. */
static double line(const Schedule *s, int i)
{
    return fabs(rate(s, i + 1) + rate(s, i - 1) - 2 * rate(s, i)) +
           fabs(rate(s, i) + rate(s, LAST + WARMUP - i) - peak - low);
}

static double flat(const Schedule *s, int i)
{
    return rate(s, i) - peak;
}

static double (*const defect[SCHEDULES])(const Schedule *, int) = {[SCHEDULE_INVERSE_SQRT] = root,
                                                                   [SCHEDULE_COSINE] = chebyshev,
                                                                   [SCHEDULE_LINEAR] = line,
                                                                   [SCHEDULE_CONSTANT] = flat};

/* Each schedule has its identity, to a few roundings of numbers below 1, and no other's. */
TEST(each_way_down_is_its_own)
{
    for (int kind = 0; kind < SCHEDULES; kind++)
        for (int other = 0; other < SCHEDULES; other++) {
            Schedule s = schedule(kind);
            double worst = 0;
            for (int i = WARMUP + 1; i < LAST; i++) worst = fmax(worst, fabs(defect[other](&s, i)));
            if ((worst <= 1e-14) != (kind == other))
                fail_msg("%s by the identity of %s: %g", schedule_name(kind), schedule_name(other),
                         worst);
        }
}

TEST(all_begin_and_end_alike)
{
    for (int kind = 0; kind < SCHEDULES; kind++) {
        Schedule s = schedule(kind);
        for (int i = 1; i <= WARMUP; i++) assert_true(rate(&s, i) == peak * i / WARMUP);
        for (int i = WARMUP + 1; i <= LAST; i++)
            assert_true(rate(&s, i) <= rate(&s, i - 1) && rate(&s, i) > 0);
        assert_int_equal(schedule_ends(kind), rate(&s, LAST) == low && rate(&s, 2 * LAST) == low);
        s.warmup = 0; /* from the peak at once */
        assert_true(rate(&s, 1) <= peak && rate(&s, 1) >= 0.97 * peak);
        s.warmup = 2 * LAST; /* a run ends in its warm-up */
        assert_true(rate(&s, LAST) == peak / 2);
    }
}

/* ---- several batches a step ------------------------------------------------------------------------ */

static const AdamConfig adam = {.rate = 0.01, .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .clip = 1};

static Model *model_on(const char *name, double dropout)
{
    return shaken(name, TINY_WITH(c.dropout = dropout), tiny_residual(), 1);
}

/* Takes one step over x cut into its sequences. tokens: the total that each part states, 0: the part's
 * rows. */
static void step_by_parts(Model *m, const Batch *x, size_t tokens)
{
    for (size_t i = 0; i < x->S; i++) {
        size_t start[2 * SIDES];
        Batch part = tiny_one(x, i, start);
        StepPart p = {i, x->S, x->S, tokens ? tokens : part.N, {0}, NULL};
        assert_int_equal(model_step_part(m, &part, &p, &adam, 1), 0);
    }
}

/* Returns the rounding of a gradient. It is a sum over rows and widths, of some 100 terms in the longest
 * chain; each product's share is off by the backend's eps or that of the element. */
static double gradient_rounding(const Backend *b)
{
    return 100 * fmax(b->eps, eps_of(b));
}

TEST(parts_make_the_gradient_of_all)
{
    for (size_t i = 0; tested_backend(i); i++) {
        const char *name = tested_backend(i);
        Batch x = tiny_batch();
        OWN_MODEL *whole = model_on(name, 0), *parts = model_on(name, 0),
                  *naive = model_on(name, 0);
        assert_int_equal(model_step(whole, &x, &adam, 1), 0);
        step_by_parts(parts, &x, x.N);
        step_by_parts(naive, &x, 0); /* control: a sum of means is no mean */
        OWN_NUMBERS *g = tiny_gradient(whole), *h = tiny_gradient(parts), *k = tiny_gradient(naive);
        size_t n = model_size(whole);
        double error = norm_distance(h, g, n), tol = gradient_rounding(model_backend(whole));
        if (!(error <= tol)) fail_msg("%s: %g", name, error);
        assert_false(norm_distance(k, g, n) <= 0.1);
        Step s, t;
        assert_int_equal(model_tally(whole, &s), 0);
        assert_int_equal(model_tally(parts, &t), 0);
        assert_true(fabs(s.loss - t.loss) <= tol * s.loss);
        assert_true(fabs(s.norm - t.norm) <= tol * s.norm);
    }
}

TEST(impossible_parts_are_refused)
{
    Batch x = tiny_batch();
    OWN_MODEL *m = model_on("cpu-f32", 0);
    const StepPart bad[] = {
        {2, 2, 2, 99, {0}, NULL}, {0, 3, 2, 99, {0}, NULL}, {0, 1, 1, x.N - 1, {0}, NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(model_step_part(m, &x, &bad[i], &adam, 1), ERR_MISUSE);
}

/* ---- means of checkpoints -------------------------------------------------------------------------- */

/* Saves a model with parameters shaken by the seed to a file. */
static Model *saved(const char *name, Plan *plan, uint64_t seed, const char *file)
{
    Model *m = shaken(name, tiny_config(), plan, 0);
    tiny_shake(m, seed);
    assert_int_equal(store_save(m, file, NULL, 0), 0);
    return m;
}

/* The mean of equal files is their floats, all bits. The mean of two is (a + b) / 2, which a float holds
 * except for its last bit, and double holds. The mean of three is not that of two. */
TEST(a_mean_is_the_mean)
{
    const char *one = file_path("one"), *two = file_path("two");
    for (size_t i = 0; tested_backend(i / 2); i++) {
        const char *name = tested_backend(i / 2);
        const TinyPlan *plan = i % 2 ? tiny_pairs : tiny_plans;
        OWN_MODEL *x = saved(name, plan->build(), 1, one), *y = saved(name, plan->build(), 2, two),
                  *m = shaken(name, tiny_config(), plan->build(), 0);
        size_t n = model_size(m), off = 0;
        double last = model_backend(m)->size == 8 ? 0 : 0x1p-23;
        OWN_NUMBERS *p = tiny_numbers(x), *q = tiny_numbers(y);
        assert_int_equal(store_average(m, (const char *[]){one, one, one}, 3), 0);
        OWN_NUMBERS *equal = tiny_numbers(m);
        for (size_t k = 0; k < n; k++) assert_true(equal[k] == (double)(float)p[k]);
        assert_int_equal(store_average(m, (const char *[]){one, two}, 2), 0);
        OWN_NUMBERS *both = tiny_numbers(m);
        for (size_t k = 0; k < n; k++) {
            double mean = ((double)(float)p[k] + (double)(float)q[k]) / 2;
            assert_true(fabs(both[k] - mean) <= last * fabs(mean));
        }
        assert_int_equal(store_average(m, (const char *[]){one, two, two}, 3), 0); /* control */
        OWN_NUMBERS *three = tiny_numbers(m);
        for (size_t k = 0; k < n; k++)
            off += !(fabs(three[k] - (p[k] + q[k]) / 2) <= 0x1p-23 * fabs(three[k]));
        assert_true(off > n / 2);
    }
}

/* A missing file, one of another network, or no memory gives an error and leaves the model as it was. */
TEST(a_failed_mean_changes_nothing)
{
    const char *one = file_path("one"), *other = file_path("other");
    OWN_MODEL *m = saved("cpu-f32", tiny_residual(), 1, one),
              *o = saved("cpu-f32", tiny_identity(SLOT_ATTENTION, 0), 1, other);
    OWN_NUMBERS *x = tiny_numbers(m);
    assert_int_equal(store_average(m, (const char *[]){one, other}, 2), ERR_INPUT);
    assert_int_equal(store_average(m, (const char *[]){one, "/nowhere/x"}, 2), ERR_INPUT);
    assert_true(FAILURES(ERR_MEMORY, code = store_average(m, &one, 1);
                         OWN_NUMBERS *y = code ? tiny_numbers(m) : NULL;
                         assert_true(!y || memcmp(x, y, model_size(m) * sizeof *x) == 0)) > 0);
}

int main(void)
{
    backend_threads(1);
    return test_run(scratch_open, scratch_close);
}
