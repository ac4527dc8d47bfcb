/* test_recipe.c: the definitions of schedules, gradients of several batches, and means of checkpoints. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

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

static Model *model_on(const Backend *b, double dropout)
{
    Model *m;
    ModelConfig c = tiny_config();
    c.dropout = dropout;
    assert_int_equal(model_new(&c, tiny_residual(), b, 1, &m), 0);
    tiny_shake(m, 3);
    return m;
}

/* Returns sequences from .. to-1 of a batch, as a batch. */
static Batch some(const Batch *x, size_t from, size_t to, size_t start[8])
{
    size_t at = x->start[from];
    for (size_t s = from; s <= to; s++) start[s - from] = x->start[s] - at;
    return (Batch){x->start[to] - at, to - from,        x->longest, x->input + at,
                   x->target + at,    x->position + at, start};
}

/* Takes one step over x cut into its sequences. tokens: the total that each part states, 0: the part's
 * rows. */
static void step_by_parts(Model *m, const Batch *x, size_t tokens)
{
    for (size_t i = 0; i < x->S; i++) {
        size_t start[8];
        Batch part = some(x, i, i + 1, start);
        StepPart p = {i, x->S, x->S, tokens ? tokens : part.N, {0}, NULL};
        assert_int_equal(model_step_part(m, &part, &p, &adam, 1), 0);
    }
}

static double *gradient(Model *m)
{
    return tiny_gradient(m);
}

/* Returns |a - b| / |b|. */
static double distance(size_t n, const double *a, const double *b)
{
    double d = 0, s = 0;
    for (size_t i = 0; i < n; i++) {
        d += pow(a[i] - b[i], 2);
        s += b[i] * b[i];
    }
    return sqrt(d / s);
}

/* Returns the rounding of a gradient. It is a sum over rows and widths, of some 100 terms in the longest
 * chain; each product's share is off by the backend's eps or that of the element. */
static double rounding(const Backend *b)
{
    return 100 * fmax(b->eps, b->size == 8 ? 0x1p-52 : 0x1p-23);
}

TEST(parts_make_the_gradient_of_all)
{
    const Backend *b;
    for (size_t i = 0; backend_name(i); i++) {
        if (backend_find(backend_name(i), NULL, &b) != 0) continue;
        Batch x = tiny_batch();
        OWN_MODEL *whole = model_on(b, 0), *parts = model_on(b, 0), *naive = model_on(b, 0);
        assert_int_equal(model_step(whole, &x, &adam, 1), 0);
        step_by_parts(parts, &x, x.N);
        step_by_parts(naive, &x, 0); /* control: a sum of means is no mean */
        OWN_NUMBERS *g = gradient(whole), *h = gradient(parts), *k = gradient(naive);
        double error = distance(model_size(whole), h, g);
        if (!(error <= rounding(b))) fail_msg("%s: %g", b->name, error);
        assert_false(distance(model_size(whole), k, g) <= 0.1);
        Step s, t;
        assert_int_equal(model_tally(whole, &s), 0);
        assert_int_equal(model_tally(parts, &t), 0);
        assert_true(fabs(s.loss - t.loss) <= rounding(b) * s.loss);
        assert_true(fabs(s.norm - t.norm) <= rounding(b) * s.norm);
    }
}

/* Parts have different masks: the same batch twice with dropout has the mean of the gradients of two steps'
 * masks, not the gradient of one. */
TEST(parts_have_masks_of_their_own)
{
    enum { STEP = 4, PARTS = 2 };
    const Backend *b;
    Batch x = tiny_batch();
    double mean, *g[PARTS];
    assert_int_equal(backend_find("cpu-f64", NULL, &b), 0);
    OWN_MODEL *m = model_on(b, 0.3);
    size_t n = model_size(m);
    for (uint64_t i = 0; i < PARTS; i++) {
        assert_int_equal(model_gradient(m, &x, (STEP - 1) * PARTS + i + 1, &mean), 0);
        g[i] = gradient(m);
    }
    for (size_t i = 0; i < PARTS; i++) {
        StepPart p = {i, PARTS, PARTS, PARTS * x.N, {0}, NULL};
        assert_int_equal(model_step_part(m, &x, &p, &adam, STEP), 0);
    }
    OWN_NUMBERS *both = gradient(m);
    assert_false(distance(n, both, g[0]) <= 0.1);
    for (size_t i = 0; i < n; i++) g[0][i] = (g[0][i] + g[1][i]) / 2;
    assert_true(distance(n, both, g[0]) <= rounding(b));
    for (size_t i = 0; i < PARTS; i++) memory_free(g[i]);
}

TEST(impossible_parts_are_refused)
{
    const Backend *b;
    Batch x = tiny_batch();
    assert_int_equal(backend_find("cpu-f32", NULL, &b), 0);
    OWN_MODEL *m = model_on(b, 0);
    const StepPart bad[] = {
        {2, 2, 2, 99, {0}, NULL}, {0, 3, 2, 99, {0}, NULL}, {0, 1, 1, x.N - 1, {0}, NULL}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(model_step_part(m, &x, &bad[i], &adam, 1), ERR_MISUSE);
}

/* ---- means of checkpoints -------------------------------------------------------------------------- */

/* Makes a model on b with parameters shaken by the seed, and saves it to a file. */
static Model *saved(const Backend *b, uint64_t seed, const char *file)
{
    Model *m = model_on(b, 0);
    tiny_shake(m, seed);
    assert_int_equal(store_save(m, file, NULL, 0), 0);
    return m;
}

static double *numbers(Model *m)
{
    return tiny_numbers(m);
}

/* The mean of equal files is their floats, all bits. The mean of two is (a + b) / 2, which a float holds
 * except for its last bit. The mean of three is not that of two. */
TEST(a_mean_is_the_mean)
{
    const Backend *b;
    const char *one = file_path("one"), *two = file_path("two");
    for (size_t i = 0; backend_name(i); i++) {
        if (backend_find(backend_name(i), NULL, &b) != 0) continue;
        OWN_MODEL *x = saved(b, 1, one), *y = saved(b, 2, two), *m = model_on(b, 0);
        size_t n = model_size(m), off = 0;
        double *r;
        OWN_NUMBERS *p = numbers(x), *q = numbers(y);
        assert_int_equal(store_average(m, (const char *[]){one, one, one}, 3), 0);
        r = numbers(m);
        for (size_t k = 0; k < n; k++) assert_true(r[k] == (double)(float)p[k]);
        memory_free(r);
        assert_int_equal(store_average(m, (const char *[]){one, two}, 2), 0);
        r = numbers(m);
        for (size_t k = 0; k < n; k++) {
            double mean = ((double)(float)p[k] + (double)(float)q[k]) / 2;
            assert_true(fabs(r[k] - mean) <= 0x1p-23 * fabs(mean));
        }
        memory_free(r);
        assert_int_equal(store_average(m, (const char *[]){one, two, two}, 3), 0); /* control */
        r = numbers(m);
        for (size_t k = 0; k < n; k++)
            off += !(fabs(r[k] - (p[k] + q[k]) / 2) <= 0x1p-23 * fabs(r[k]));
        assert_true(off > n / 2);
        memory_free(r);
    }
}

/* A missing file, or one of another network, gives an error and leaves the model as it was. */
TEST(a_failed_mean_changes_nothing)
{
    const Backend *b;
    const char *one = file_path("one"), *other = file_path("other");
    assert_int_equal(backend_find("cpu-f32", NULL, &b), 0);
    Model *m = saved(b, 1, one), *o;
    ModelConfig c = tiny_config();
    assert_int_equal(model_new(&c, tiny_identity(SLOT_ATTENTION, 0), b, 0, &o), 0);
    assert_int_equal(store_save(o, other, NULL, 0), 0);
    double *before = numbers(m);
    assert_int_equal(store_average(m, (const char *[]){one, other}, 2), ERR_INPUT);
    assert_int_equal(store_average(m, (const char *[]){one, "/nowhere/x"}, 2), ERR_INPUT);
    size_t live = memory_live();
    for (size_t at = 1;; at++) {
        memory_fail_at(at);
        int code = store_average(m, (const char *[]){one}, 1);
        memory_fail_at(0);
        assert_int_equal(memory_live(), live);
        if (code == 0) break;
        double *after = numbers(m);
        assert_memory_equal(before, after, model_size(m) * sizeof *before);
        memory_free(after);
    }
    memory_free(before);
    model_free(m);
    model_free(o);
}

int main(void)
{
    backend_threads(1);
    return test_run(scratch_open, scratch_close);
}
