/* test_radau.c: Radau's method of order 5 by tolerance: its filtered estimate in closed form, its work beside SciPy's
 * Radau, ends and values within steps of stiff problems known to 13 digits, large systems; estimates that a user's text
 * filters. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* ---- the estimate ----------------------------------------------------------------------------------- */

static double lambda;

OWN_FIELD(decay)
{
    dy[0] = lambda * y[0];
}

OWN_FIELD(nothing)
{
    memset(dy, 0, s->n * s->d * sizeof *dy);
}

/* Returns (y' - yhat)/y on y' = lambda y with z = h lambda. The stages are those of a collocation method: its polynomial
 * is R(z) at 1, and Hairer and Wanner's estimate (IV.8, 8.19) is g (1 - g z)^-1 (u'(0) - z). Here u' is the quadratic
 * through z Y_j at c_j, and Y the solution of three equations by Cramer's rule. */
static double estimate(double z)
{
    double r = sqrt(6), g = (6 + cbrt(81) - cbrt(9)) / 30, Y[3],
           c[3] = {.4 - r / 10, .4 + r / 10, 1};
    double M[3][3] = {{(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225},
                      {(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225},
                      {(16 - r) / 36, (16 + r) / 36, 1. / 9}};
    double whole = 0, slope = 0;
    for (int k = -1; k < 3; k++) {
        double a[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) a[i][j] = j == k ? 1 : (i == j) - z * M[i][j];
        double det = a[0][0] * (a[1][1] * a[2][2] - a[1][2] * a[2][1]) -
                     a[0][1] * (a[1][0] * a[2][2] - a[1][2] * a[2][0]) +
                     a[0][2] * (a[1][0] * a[2][1] - a[1][1] * a[2][0]);
        if (k < 0)
            whole = det;
        else
            Y[k] = det / whole;
    }
    for (int j = 0; j < 3; j++) {
        double weight = 1;
        for (int i = 0; i < 3; i++) weight *= i == j ? 1 : c[i] / (c[i] - c[j]);
        slope += weight * z * Y[j];
    }
    return g * (slope - z) / (1 - g * z);
}

TEST(estimates)
{
    System s = scalar_system(nothing, decay);
    OWN_TABLE *t = scheme("radau-iia5");
    s.absent = 1 << OP_F;
    for (int i = 0; i < 5; i++) {
        static const double z[] = {-.5, -2, -30, -1e4, .7};
        Stepper *st;
        lambda = z[i] / .25;
        assert_int_equal(stepper_new(t->pair, &s, &st), 0);
        assert_int_equal(stepper_begin(st, 0, .25, s.initial, START_GIVEN, NULL), 0);
        assert_int_equal(stepper_try(st, .25), 0);
        if (!(fabs(stepper_error(st)[0] - estimate(z[i])) <= 1e-9))
            fail_msg("z = %g: %.12g, not %.12g", z[i], stepper_error(st)[0], estimate(z[i]));
        stepper_free(st);
    }
    assert_true(fabs(estimate(-1e9) - 1) <
                1e-6); /* bounded where the slope at y is not: IV.8, 8.20 */
}

/* The estimate is O(h^4) for any matrix W, since what it filters is O(h^4) by itself. A user's SDIRK method of order 2
 * with the slope at y beside has one of O(h^2), unbounded or filtered. */
TEST(orders_of_estimates)
{
    static const char text[] =
        "let g = 1 - 1/sqrt(2)\nk1 = H(y + g*k1)\nk2 = H(y + (1 - g)*k1 + g*k2)\n"
        "k3 = H(y)\n%sy' = y + (1 - g)*k1 + g*k2\nerror = %s\n";
    OWN_TABLE *radau = scheme("radau-iia5");
    OWN_TABLE *plain = scheme(formed(text, "", "1/2*k3 - 1/2*k1"));
    OWN_TABLE *filtered = scheme(formed(text, "k4 = solve(g W)(1/2*k3 - 1/2*k1)\n", "k4"));
    Embedded e = embedded_of(radau);
    assert_int_equal(e.order, 3);
    assert_int_equal(e.estimate_order, 3);
    assert_int_equal(theory_of(radau, 6).order, 5);
    assert_int_equal(embedded_of(plain).estimate_order, 1);
    assert_int_equal(embedded_of(filtered).estimate_order, 1);
    /* control: without the weight of k3 the weights of what is filtered do not sum to 0 */
    OWN_TABLE *blind = scheme(formed(text, "k4 = solve(g W)(1/2*k1)\n", "k4"));
    assert_int_equal(embedded_of(blind).estimate_order, 0);
}

/* A resolvent beside implicit stages in the step itself: R(z) = 1 + z / (1 - z/2)^2, by the stepper and by theory, whose
 * amplification factor is 1 + z on the wrong path. */
TEST(resolvents_beside_implicit_stages)
{
    System s = scalar_system(nothing, decay);
    OWN_TABLE *t = scheme("k1 = H(y + 1/2*k1)\nk2 = solve(1/2 H)(k1)\ny' = y + k2"),
              *froze = freeze(t);
    Stepper *st;
    s.absent = 1 << OP_F;
    lambda = -1.5;
    assert_int_equal(stepper_new(froze, &s, &st), 0);
    assert_int_equal(stepper_begin(st, 0, 2, s.initial, START_GIVEN, NULL), 0);
    assert_int_equal(stepper_step(st), 0);
    assert_true(fabs(stepper_state(st)[0] - (1 - 3 / (2.5 * 2.5))) <= 1e-9);
    stepper_free(st);
    Stability *theory;
    const double z[2][2] = {{-1.5, 0}, {-1.5, 0}};
    assert_int_equal(stability_new(froze, &theory), 0);
    assert_true(fabs(stability_at(theory, z) - (1 - 3 / (2.5 * 2.5))) <= 1e-12);
    stability_free(theory);
}

/* ---- work and errors -------------------------------------------------------------------------------- */

enum { PLACES = 200 };

/* Ends to 13 digits and more: Mazzia, Magherini 2008, "Test set for initial value problem solvers", release 2.4. Steps,
 * evaluations without those of derivatives, and derivatives, and pairs of factors: SciPy 1.10.1, solve_ivp(method="Radau", rtol=X, atol=X). */
static const struct {
    const char *system;
    double end, tolerance, y[8];
    size_t steps, evals, jacobians, factors;
} known[] = {
    {"van-der-pol:mu=1000",
     2000,
     1e-4,
     {1.706167732170483, -.8928097010247975e-3},
     218,
     2084,
     63,
     142},
    {"van-der-pol:mu=1000",
     2000,
     1e-6,
     {1.706167732170483, -.8928097010247975e-3},
     616,
     5167,
     122,
     215},
    {"hires",
     321.8122,
     1e-6,
     {.7371312573325668e-3, .1442485726316185e-3, .5888729740967575e-4, .1175651343283149e-2,
      .2386356198831331e-2, .6238968252742796e-2, .2849998395185769e-2, .2850001604814231e-2},
     81,
     803,
     28,
     59},
    {"oregonator",
     360,
     1e-6,
     {1.000814870318523, 1228.178521549917, 132.0554942846706},
     963,
     8642,
     308,
     435},
    {"oregonator",
     360,
     1e-8,
     {1.000814870318523, 1228.178521549917, 132.0554942846706},
     2989,
     24303,
     680,
     822},
    {"robertson",
     1e11,
     1e-6,
     {.2083340149701255e-7, .8333360770334713e-13, .9999999791665050},
     150,
     1436,
     82,
     148},
    {"robertson",
     1e11,
     1e-8,
     {.2083340149701255e-7, .8333360770334713e-13, .9999999791665050},
     412,
     3321,
     121,
     196},
};
enum { KNOWN = sizeof known / sizeof *known };

/* Returns the largest of |y - exact| over tolerance (1 + |exact|). */
static double off(size_t N, double tolerance, const double *y, const double *exact)
{
    double most = 0;
    for (size_t i = 0; i < N; i++)
        most = fmax(most, fabs(y[i] - exact[i]) / (tolerance * (1 + fabs(exact[i]))));
    return most;
}

/* At most 20 tolerances at ends, and the work of SciPy's Radau times 1.2. */
TEST(work_and_ends)
{
    OWN_TABLE *t = scheme("radau-iia5");
    for (size_t i = 0; i < KNOWN; i++) {
        OWN_SYSTEM *s = make(known[i].system);
        size_t N = s->d;
        double y[8];
        AdaptRun run;
        AdaptOptions o = within(known[i].tolerance, known[i].end, 3);
        assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
        size_t evals = run.evals - run.jacobians * (N + 1);
        double error = off(N, known[i].tolerance, y, known[i].y);
        print_message(
            "%s, %g: %zu steps, %zu + %zu evaluations, %zu Jacobians, %zu factored, error %.3g\n",
            s->name, known[i].tolerance, run.steps, evals, run.evals - evals, run.jacobians,
            run.factors, error);
        assert_int_equal(run.outcome, ADAPT_DONE);
        assert_true(error <= 20);
        assert_true((double)run.steps <= 1.2 * (double)known[i].steps);
        assert_true((double)evals <= 1.2 * (double)known[i].evals);
        assert_true((double)run.jacobians <= 1.2 * (double)known[i].jacobians);
        assert_true((double)run.factors <= 1.2 * (double)known[i].factors);
    }
}

/* Returns how far a state is off, in tolerances, where it may be late, or early, by a time: its coordinates then by that times their
 * rates. */
static double off_or_late(const System *s, double late, double tolerance, double t, const double *y,
                          const double *exact)
{
    double rate[8], part[8], most = 0;
    system_sum(s, system_ops(s), 1, t, exact, rate, part);
    for (size_t i = 0; i < s->d; i++)
        most = fmax(most, (fabs(y[i] - exact[i]) - late * fabs(rate[i])) /
                              (tolerance * (1 + fabs(exact[i]))));
    return most;
}

/* Values within steps lie within 20 tolerances of rodas4's at a ten-thousandth of the tolerance, whose steps end at the
 * times asked for; those of bdf on solutions that jump within that at a time within 20 tolerances of the one asked for. */
TEST(values_within_steps)
{
    OWN_TABLE *radau = scheme("radau-iia5"), *bdf = scheme("bdf"), *other = scheme("rodas4");
    double exact[PLACES * 8]; /* of the system before, where that is the same */
    for (size_t k = 0; k < 2 * KNOWN; k++) {
        size_t i = k / 2;
        const Table *t = k % 2 ? bdf : radau;
        OWN_SYSTEM *s = make(known[i].system);
        double at[PLACES], y[8];
        OWN_REALS *states = numbers(PLACES * s->d);
        int stretched = known[i].end > 1e6;
        for (int p = 0; p < PLACES; p++)
            at[p] = stretched ? pow(10, -3 + 13.9 * p / PLACES) : known[i].end * (p + .5) / PLACES;
        AdaptRun run;
        int jumps = k % 2 && s->d < 8 && !stretched;
        AdaptOptions o = within(known[i].tolerance, known[i].end, 3);
        o.times = PLACES, o.at = at, o.states = states;
        assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
        assert_int_equal(run.dense, k % 2 ? 5 : 3);
        AdaptOptions tight = within(known[i].tolerance * 1e-4, at[PLACES - 1], 3);
        tight.most = 1000000, tight.times = PLACES, tight.at = at, tight.states = exact;
        if (k % 2 == 0) assert_int_equal(adapt_run(other, s, &tight, y, &run), 0);
        double most = 0, late = jumps ? 20 * known[i].tolerance : 0;
        for (size_t p = 0; p < PLACES; p++)
            most = fmax(most, off_or_late(s, late, known[i].tolerance, at[p], states + p * s->d,
                                          exact + p * s->d));
        print_message("%s, %s, %g: within steps %.3g tolerances\n", t->name, s->name,
                      known[i].tolerance, most);
        assert_true(most <= 20);
    }
}

/* Formulas of several orders, and diagonally implicit pairs: ends within 20 tolerances, of the first within 2, of esdirk4, whose
 * steps on the Oregonator are two thirds of radau-iia5's, within 60. The first takes no more evaluations than SciPy's BDF (1.10.1)
 * at a hundredth of the tolerance, since its estimates count a hundredfold; that errs by .6, .04, .9 and, on Robertson's,
 * .001 tolerances, and at the tolerance itself by 29, 4, 43 and .07. */
TEST(formulas_and_diagonal_pairs)
{
    static const char *const schemes[] = {"bdf", "sdirk4", "kvaerno3", "kvaerno5", "esdirk4"};
    static const struct {
        size_t known, evals;
    } row[] = {{1, 5713}, {2, 824}, {3, 8721}, {6, 3951}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        OWN_TABLE *t = scheme(schemes[i]);
        for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
            size_t at = row[k].known;
            OWN_SYSTEM *s = make(known[at].system);
            double y[8], tolerance = known[at].tolerance;
            AdaptRun run;
            AdaptOptions o =
                within(tolerance, known[at].end, i ? embedded_of(t).estimate_order : 0);
            assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
            size_t evals = run.evals - run.jacobians * (s->d + 1);
            double error = off(s->d, tolerance, y, known[at].y);
            print_message(
                "%s, %s, %g: %zu steps, %zu + %zu evaluations, %zu Jacobians, %zu factored, error %.3g\n",
                t->name, s->name, tolerance, run.steps, evals, run.evals - evals, run.jacobians,
                run.factors, error);
            assert_int_equal(run.outcome, ADAPT_DONE);
            assert_true(error <= (i == 0 ? 2 : i < 4 ? 20 : 60));
            assert_true(run.jacobians < run.steps && run.factors < run.steps + run.rejected);
            if (i == 0) assert_true(evals <= row[k].evals);
        }
    }
}

/* Formulas of several orders, whose estimates count several times, come to an end where tolerances are near rounding, with errors
 * that are no greater than at those before. */
TEST(formulas_near_rounding)
{
    static const char *const names[] = {"hires", "robertson"};
    OWN_TABLE *t = scheme("bdf");
    for (size_t i = 0; i < 6; i++) {
        double tolerance = i % 3 == 0 ? 1e-12 : i % 3 == 1 ? 1e-13 : 1e-14, y[8];
        OWN_SYSTEM *s = make(names[i / 3]);
        AdaptRun run;
        AdaptOptions o = within(tolerance, s->t_whole, 0);
        o.most = 8000;
        assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
        if (run.outcome != ADAPT_DONE || !(off(s->d, 1e-12, y, s->end) < 4))
            fail_msg("%s, %g: %s, %g", s->name, tolerance, adapt_outcome(run.outcome),
                     off(s->d, 1e-12, y, s->end));
    }
}

/* Newton's iteration does not end while coordinates far below the others have digits left: else the noise of that keeps orders low,
 * and steps short (4,800,000 here). */
TEST(small_coordinates_near_rounding)
{
    OWN_TABLE *t = scheme("bdf");
    OWN_SYSTEM *s = make("oregonator");
    double y[3];
    AdaptRun run;
    AdaptOptions o = within(1e-11, s->t_whole, 0);
    o.most = 200000;
    assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
    assert_int_equal(run.outcome, ADAPT_DONE);
    assert_true(off(s->d, 1e-11, y, s->end) < 100);
}

/* Pairs whose stages come one after another follow the jumps at a loose tolerance, and do not end on the other branch of the solution,
 * 760 tolerances away. */
TEST(jumps_at_loose_tolerances)
{
    static const char *const names[] = {"kvaerno3", "kvaerno5", "sdirk4", "esdirk4"};
    for (size_t i = 0; i < 4; i++) {
        OWN_TABLE *t = scheme(names[i]);
        OWN_SYSTEM *s = make("van-der-pol");
        double y[2];
        AdaptRun run;
        AdaptOptions o = within(1e-3, s->t_whole, embedded_of(t).estimate_order);
        assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
        if (run.outcome != ADAPT_DONE || !(off(s->d, 1e-3, y, s->end) < 100))
            fail_msg("%s: %g tolerances", names[i], off(s->d, 1e-3, y, s->end));
    }
}

/* Returns atol / rtol of a problem in studies/results/solve, or 0 where its end is not known to 13 digits. */
static double small_of(const char *problem)
{
    static const struct {
        const char *name;
        double small;
    } row[] = {{"van-der-pol", 1}, {"hires", 1e-4},  {"robertson", 1e-6}, {"oregonator", 1e-6},
               {"pollution", 1},   {"arenstorf", 1}, {"pleiades", 1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strcmp(row[i].name, problem) == 0) return row[i].small;
    return 0;
}

/* What studies/results/solve has of 1e-6 is what runs give: steps to a twentieth, and errors at the end, which are some of the last
 * digits, no more than twice as large. Runs that take long are left out. */
TEST(recorded_errors)
{
    FILE *f = fopen("studies/results/solve/errors.csv", "r");
    char line[256], problem[64], name[64];
    double tolerance, end;
    size_t steps, held = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%63[^,],%63[^,],%lf,%lf,%*f,%*f,%zu", problem, name, &tolerance, &end,
                   &steps) != 5 ||
            tolerance != 1e-6 || steps > 5000 || small_of(problem) == 0)
            continue;
        OWN_TABLE *t = scheme(name);
        OWN_SYSTEM *s = make(problem);
        OWN_REALS *y = numbers(s->n * s->d);
        double small = small_of(problem), sum = 0;
        AdaptRun run;
        AdaptOptions o = within(tolerance, s->t_whole > 0 ? s->t_whole : s->t_end,
                                t->orders ? 0 : embedded_of(t).estimate_order);
        o.absolute = tolerance * small;
        assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
        for (size_t i = 0; i < s->n * s->d; i++) {
            double e = (y[i] - s->end[i]) / (tolerance * (small + fabs(s->end[i])));
            sum += e * e;
        }
        double error = sqrt(sum / (double)(s->n * s->d));
        if (fabs((double)run.steps - (double)steps) > (double)steps / 20 + 1 ||
            !(error <= 2 * end + .02))
            fail_msg("%s, %s: %zu steps, error %.3g, recorded %zu, %.3g", problem, name, run.steps,
                     error, steps, end);
        held++;
    }
    fclose(f);
    assert_true(held >= 30);
}

/* A band that is told is solved by factors, whatever its size; of one that is looked for so are fewer unknowns than LU_MOST / 3, and
 * more by GMRES: steps and errors are the same but for the grid. The solution of the heat equation on a grid is closed. */
TEST(many_unknowns)
{
    static const size_t sizes[] = {100, 400, 100, 400};
    static const char *const schemes[] = {"radau-iia5", "bdf", "esdirk4"};
    for (size_t k = 0; k < 3; k++) {
        OWN_TABLE *t = scheme(schemes[k]);
        size_t steps[4];
        for (int i = 0; i < 4; i++) {
            System *s;
            assert_int_equal(system_new("heat", sizes[i], 0, 1, &s), 0);
            OWN_REALS *y = numbers(s->n), *exact = numbers(s->n);
            AdaptRun run;
            AdaptOptions o = within(k ? 1e-5 : 1e-7, s->t_end, 3);
            if (i < 2) untell(s);
            assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
            s->solution(s, s->t_end, exact);
            assert_int_equal(run.outcome, ADAPT_DONE);
            assert_true(off(s->n, o.absolute, y, exact) <= 20);
            steps[i] = run.steps;
            system_free(s);
        }
        for (int i = 1; i < 4; i++)
            assert_true(steps[0] >= 4 && steps[i] <= steps[0] + 2 && steps[0] <= steps[i] + 2);
    }
}

/* Newton's iteration ends by the tolerance of each coordinate, as the step passes: the second, stiff and held to 1e-8, is as
 * exact beside a first one that is held to 1e-2 as beside one held to 1e-8 too. */
TEST(tolerances_of_coordinates)
{
    static const char text[] =
        "system two\nn 1\nd 2\nG1 = -y1\nG2 = -50*(y2^3 - 1 - t)\ninitial = 1, 1\nt-end 2\n";
    static const double loose[] = {1e-2, 1e-8}, equal[] = {1e-8, 1e-8};
    OWN_TABLE *t = scheme("radau-iia5");
    OWN_SYSTEM *s = read_system(text, 0, 0);
    double y[3][2];
    for (int i = 0; i < 3; i++) {
        AdaptRun run;
        AdaptOptions o = within(i < 2 ? 1e-8 : 1e-12, s->t_end, 3);
        if (i < 2)
            o.absolutes = o.relatives = i ? equal : loose, o.absolute = o.relative = *o.absolutes;
        assert_int_equal(adapt_run(t, s, &o, y[i], &run), 0);
        assert_int_equal(run.outcome, ADAPT_DONE);
    }
    for (int i = 0; i < 2; i++) {
        double off = fabs(y[i][1] - y[2][1]) / (1e-8 * (1 + y[2][1]));
        if (!(off <= 20)) fail_msg("%d: %g tolerances", i, off);
    }
}

/* W is that of the step, of Newton's iteration or, where that has derivatives of F alone, taken at its beginning: after
 * ten steps an estimate is that of a run which begins there. */
TEST(matrices_of_the_step)
{
    static const char *const texts[] = {
        "k1 = G(y)\nk2 = F(y + k1 + k2)\nk3 = F(y)\nk4 = solve(W)(1/2*k2 - 1/2*k3)\ny' = y + k1 + k2\nerror = k4",
        "k1 = H(y + k1)\nk2 = H(y)\nk3 = solve(W)(1/2*k1 - 1/2*k2)\ny' = y + k1\nerror = k3"};
    const AdaptOptions tight = {.absolute = 1e-12, .relative = 1e-12};
    OWN_SYSTEM *s = make("van-der-pol-split:mu=50");
    for (int i = 0; i < 2; i++) {
        OWN_TABLE *t = scheme(texts[i]);
        Stepper *st[2];
        for (int k = 0; k < 2; k++) {
            assert_int_equal(stepper_new(t->pair, s, &st[k]), 0);
            assert_int_equal(stepper_loosen(st[k], &tight), 0);
        }
        assert_int_equal(stepper_begin(st[0], 0, .5, s->initial, START_GIVEN, NULL), 0);
        for (int k = 0; k < 10; k++) {
            assert_int_equal(stepper_try(st[0], .5), 0);
            stepper_accept(st[0]);
        }
        assert_int_equal(stepper_begin(st[1], 5, .5, stepper_state(st[0]), START_GIVEN, NULL), 0);
        for (int k = 0; k < 2; k++) assert_int_equal(stepper_try(st[k], .5), 0);
        for (int c = 0; c < 2; c++) {
            double a = stepper_error(st[0])[c], b = stepper_error(st[1])[c];
            if (!(fabs(a - b) <= (i ? 1e-2 : 1e-5) * fabs(b)))
                fail_msg("%d: %.12g, %.12g", i, a, b);
        }
        for (int k = 0; k < 2; k++) stepper_free(st[k]);
    }
}

/* Steps of one length find their stages to rounding still, and so do pairs whose estimate grows with h |J|. */
TEST(rounding_stays)
{
    static const char grows[] = "k1 = H(y)\nk2 = H(y + 1/2*k1 + 1/2*k2)\n"
                                "y' = y + 1/2*k1 + 1/2*k2\nerror = 1/2*k2 - 1/2*k1";
    OWN_TABLE *radau = scheme("radau-iia5"), *fixed = freeze(radau), *pair = scheme(grows);
    OWN_SYSTEM *s = make("van-der-pol");
    const Table *tables[] = {fixed, pair->pair, radau->pair};
    const AdaptOptions rough = {.absolute = 1e-3, .relative = 1e-3};
    for (int i = 0; i < 3; i++) {
        Stepper *st;
        assert_int_equal(stepper_new(tables[i], s, &st), 0);
        assert_int_equal(stepper_loosen(st, &rough), 0);
        assert_int_equal(stepper_newton(st) != NULL, i == 2);
        stepper_free(st);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
