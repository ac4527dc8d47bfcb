/* test_dense.c: values within a step: the conditions of order at other places, known polynomials, and measured
 * errors. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

#define OWN_DENSE SCOPED(dense_free) Dense

static Dense find(const Table *t)
{
    Dense d;
    if (dense_find(t, &d) != 0) fail_msg("%s: %s", t->name, error_text());
    return d;
}

/* Checks the coefficients of b of stage `stage` against a text "1 -3/2 2/3". */
static void says(const Table *t, const Dense *d, size_t stage, const char *known)
{
    char text[256] = "";
    size_t e = (size_t)table_whole(t)->stage[stage].eval;
    for (int k = 0; k < d->order; k++)
        gmp_snprintf(text + strlen(text), sizeof text - strlen(text), "%s%Qd", k ? " " : "",
                     d->beta[e * (size_t)d->order + (size_t)k]);
    if (strcmp(text, known) != 0) fail_msg("%s, stage %zu: %s", t->name, stage + 1, text);
}

/* The classical method has one continuous extension of order 3. A method of order 3 whose last slope is that at the end
 * has Hermite's cubic. Hairer, Norsett, Wanner 1993, section II.6. */
TEST(known_polynomials)
{
    static const struct {
        const char *scheme;
        int order, smooth;
        const char *b[4];
    } known[] = {
        {"euler", 1, 0, {"1"}},
        {"rk4", 3, 0, {"1 -3/2 2/3", "0 1 -2/3", "0 1 -2/3", "0 -1/2 2/3"}},
        {"bogacki-shampine", 3, 1, {"1 -4/3 5/9", "0 1 -2/3", "0 4/3 -8/9", "0 -1 1"}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = scheme(known[i].scheme);
        OWN_DENSE d = find(t);
        assert_int_equal(d.order, known[i].order);
        assert_int_equal(d.smooth, known[i].smooth);
        for (size_t k = 0; k < 4 && known[i].b[k]; k++) says(t, &d, k, known[i].b[k]);
    }
}

/* Returns the largest order of the values at theta: compares the series of y + sum b_e(theta) k_e with the flow over
 * theta h, in doubles. */
static int order_at(const Table *whole, const Dense *d, double theta, int most)
{
    Series **slope = memory_new(whole->evals, sizeof *slope), *exact;
    mpq_t q;
    int order = most;
    OWN_FOREST *f = forest_of(most, table_tree_colours(whole));
    assert_int_equal(series_slopes(f, whole, slope), 0);
    assert_int_equal(series_new(f, &exact), 0);
    mpq_init(q);
    mpq_set_d(q, theta);
    series_exact(exact, q, ((Table *)whole)->weight);
    for (size_t i = f->count; i-- > 0;) {
        double sum = 0, size = 1;
        for (size_t e = 0; e < whole->evals; e++) {
            double term = dense_value(d, e, theta) * table_double(slope[e]->a[i]);
            sum += term;
            size += fabs(term);
        }
        if (!(fabs(sum - table_double(exact->a[i])) <= 1e-11 * size)) order = f->tree[i].order - 1;
    }
    for (size_t e = 0; e < whole->evals; e++) series_free(slope[e]);
    series_free(exact);
    memory_free(slope);
    mpq_clear(q);
    return order;
}

static int is_plain(const Table *t)
{
    return !t->flows && !t->past_y && !t->past_k && !table_exponential(t);
}

/* Every one-step scheme of stages has the stated order at any place, and its values at the ends are those of the
 * step. */
TEST(every_scheme)
{
    size_t with = 0;
    for (size_t i = 0; i < zoo.count; i++) {
        OWN_TABLE *frozen = table_freeze(table_whole(zoo.scheme[i]));
        OWN_DENSE d = find(zoo.scheme[i]);
        Theory th = theory_of(zoo.scheme[i], DENSE_MOST);
        if (!is_plain(frozen) || th.order == 0) {
            assert_int_equal(d.order, 0);
        } else {
            with++;
            /* methods of order 5 with six slopes, none of them at the end, have no values of order 4 (Horn 1983) */
            int least = table_implicit(frozen)      ? 1
                        : th.order > 4 && !d.smooth ? th.order - 2
                        : th.order > 1              ? th.order - 1
                                                    : 1;
            assert_in_range(d.order, least, th.order);
            for (double theta = -.25; theta < 1.5; theta += .375)
                assert_true(order_at(frozen, &d, theta, d.order) == d.order);
            for (size_t e = 0; e < d.evals; e++) {
                double w = 0;
                for (size_t k = 0; k < frozen->update.terms; k++)
                    if (frozen->update.term[k].eval == (int)e)
                        w = table_double(frozen->update.term[k].c);
                assert_true(fabs(dense_value(&d, e, 1) - w) < 1e-13);
                assert_true(dense_value(&d, e, 0) == 0);
            }
        }
    }
    assert_true(with > 20);
}

/* ---- measured --------------------------------------------------------------------------------------- */

enum { TIMES = 50 };

/* Returns the RMS error over all times of a run by a pair; *run gets its steps. */
static double error_within(const Table *t, const System *s, const Dense *d, double tolerance,
                           AdaptRun *run)
{
    size_t N = s->n * s->d;
    double at[TIMES], agreement, sum = 0;
    OWN_REALS *states = memory_new(TIMES * N, sizeof *states),
              *exact = memory_new(TIMES * N, sizeof *exact);
    OWN_REALS *y = memory_new(N, sizeof *y);
    for (int i = 0; i < TIMES; i++) at[i] = s->t_end * (i + .5) / TIMES;
    AdaptOptions o = within(tolerance, s->t_end, embedded_of(t).estimate_order);
    o.dense = d;
    o.times = TIMES;
    o.at = at;
    o.states = states;
    assert_int_equal(adapt_run(t, s, &o, y, run), 0);
    assert_int_equal(reference_solve(s, at, TIMES, exact, &agreement), 0);
    for (size_t i = 0; i < TIMES * N; i++) sum += (states[i] - exact[i]) * (states[i] - exact[i]);
    return sqrt(sum / (double)(TIMES * N));
}

/* Steps go like tolerance^(1/(q+1)), with q of the estimate. Errors within them go like the step^(order + 1), or like
 * those at the ends, which go like the step^p. So a thousandth of the tolerance makes errors of a thousandth^((order +
 * 1)/(q + 1)) or ^(p/(q + 1)), whichever is larger, or less. */
TEST(errors_within_steps)
{
    static const char *const systems[] = {"attention", "forced", "kepler"};
    for (size_t i = 0; i < zoo.count; i++) {
        if (!zoo.scheme[i]->pair || table_phi(zoo.scheme[i])) continue;
        const Table *t = zoo.scheme[i];
        OWN_DENSE d = find(t);
        Embedded e = embedded_of(t);
        Theory th = theory_of(t, 6);
        for (size_t k = 0; k < sizeof systems / sizeof *systems; k++) {
            OWN_SYSTEM *s = make(systems[k]);
            AdaptRun run;
            double tolerance = e.estimate_order < 2 ? 1e-4 : 1e-6, small = tolerance / 1000;
            double a = error_within(t, s, &d, tolerance, &run),
                   b = error_within(t, s, &d, small, &run);
            double power = fmin(th.order, d.order + 1),
                   expected = fmin(1, power / (e.estimate_order + 1));
            double slope = log(a / b) / log(1000);
            if (!(slope > .75 * expected &&
                  b < 1000 * pow(small, fmin(1, th.order / (e.estimate_order + 1.)))))
                fail_msg("%s on %s: %g, %g", t->name, s->name, a, b);
        }
    }
}

TEST_MAIN(zoo_begin, zoo_end)
