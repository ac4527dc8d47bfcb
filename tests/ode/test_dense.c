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
    size_t e = (size_t)table_unfiltered(t)->stage[stage].eval;
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
        OWN_TABLE *frozen = table_freeze(table_unfiltered(zoo.scheme[i]));
        OWN_DENSE d = find(zoo.scheme[i]);
        Theory th = theory_of(zoo.scheme[i], DENSE_MOST);
        if (!is_plain(frozen) || th.order == 0) {
            assert_int_equal(d.order, 0);
        } else {
            with++;
            /* methods of order 5 with six slopes, none of them at the end, have no values of order 4 (Horn 1983); dop853's own have
             * order 5, and three more stages give 7 (Hairer, Norsett, Wanner 1993, II.6) */
            int least = table_implicit(frozen)      ? 1
                        : th.order > 5              ? 5
                        : th.order > 4 && !d.smooth ? th.order - 2
                        : th.order > 1              ? th.order - 1
                                                    : 1;
            assert_in_range(d.order, least, th.order);
            for (double theta = -.25; theta < 1.5; theta += .375)
                assert_true(order_at(frozen, &d, theta, d.order) == d.order);
            for (size_t e = 0; e < d.evals; e++) {
                double w = 0;
                for (int k = 0; k < d.order && !dense_weighs(frozen, e); k++)
                    assert_true(d.b[e * (size_t)d.order + (size_t)k] == 0);
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

/* Writes the coefficients of the polynomial that is 1 at c_j and 0 at the other nodes, c (n), to out (n). */
static void lagrange(const long double *c, int n, int j, long double *out)
{
    for (int i = 0; i < n; i++) out[i] = i == 0;
    for (int k = 0; k < n; k++)
        for (int i = n - 1; i >= 0 && k != j; i--)
            out[i] = ((i ? out[i - 1] : 0) - c[k] * out[i]) / (c[j] - c[k]);
}

/* Finds the nodes c (n) in (0, 1) of Gauss's method, the zeros of Legendre's polynomial, by Newton's method. */
static void gauss_nodes(long double *c, int n)
{
    for (int i = 0; i < n; i++) {
        long double x = cosl(acosl(-1) * (i + .75L) / (n + .5L));
        for (int turn = 0; turn < 50; turn++) {
            long double p = 1, before = 0, next;
            for (int k = 0; k < n; k++, before = p, p = next)
                next = ((2 * k + 1) * x * p - k * before) / (k + 1);
            x -= p * (x * x - 1) / (n * (x * p - before));
        }
        c[i] = (1 + x) / 2;
    }
}

/* Writes "y + a1*k1 + ...", the integral of the slopes up to x; every coefficient of k_spoilt is off by 1e-6. */
static void collocate(FILE *f, const long double *c, int n, long double x, int spoilt)
{
    long double l[9];
    fputc('y', f);
    for (int j = 0; j < n; j++) {
        long double a = j == spoilt ? 1e-6L : 0, power = x;
        lagrange(c, n, j, l);
        for (int i = 0; i < n; i++, power *= x) a += l[i] * power / (i + 1);
        fprintf(f, " %c %.20Lf*k%d", a < 0 ? '-' : '+', fabsl(a), j + 1);
    }
    fputc('\n', f);
}

/* Makes Gauss's method of n stages; spoilt >= 0: the last stage is wrong. */
static Table *gauss(int n, int spoilt)
{
    long double c[9];
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    gauss_nodes(c, n);
    for (int i = 0; i < n; i++) {
        fprintf(f, "k%d = H(", i + 1);
        collocate(f, c, n, c[i], i == n - 1 ? spoilt : -1);
        fseeko(f, -1, SEEK_CUR);
        fputs(")\n", f);
    }
    fputs("y' = ", f);
    collocate(f, c, n, 1, -1);
    fclose(f);
    Table *t = scheme(text);
    free(text);
    return t;
}

/* Gauss's n stages have the polynomial that collocates, of order n and no more. The search ends at DENSE_MOST, and says
 * so. A wrong coefficient leaves the order that the tree of two vertices asks for. */
TEST(gauss_methods)
{
    for (int n = 2; n <= DENSE_MOST + 1; n++) {
        OWN_TABLE *t = gauss(n, -1), *wrong = gauss(n, 0);
        OWN_DENSE d = find(t), spoilt = find(wrong);
        if (d.order != (n < DENSE_MOST ? n : DENSE_MOST) || d.bounded != (n >= DENSE_MOST))
            fail_msg("%d stages: order %d", n, d.order);
        assert_true(spoilt.order == 1 && !spoilt.bounded);
    }
}

/* Published methods without a stage for values within a step: what their slopes give. */
TEST(high_orders)
{
    static const struct {
        const char *name;
        int order;
    } known[] = {{"vernerrobust9", 6}, {"verner8", 5}, {"dormandprince8", 5}, {"hairer10", 6}};
    char *line = NULL;
    size_t room = 0, met = 0;
    FILE *f = fopen("tests/ode/tableaus.jsonl", "r");
    assert_non_null(f);
    for (ssize_t n; (n = getline(&line, &room, f)) > 0;) {
        OWN_TABLES l = {0};
        assert_int_equal(butcher_parse("tableau", line, (size_t)n, &l.table, &l.count), 0);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            if (strcmp(l.table[0]->name, known[i].name) != 0) continue;
            OWN_TABLE *whole = table_freeze(table_whole(l.table[0]));
            OWN_DENSE d = find(l.table[0]);
            met++;
            assert_true(d.order == known[i].order && !d.bounded);
            assert_int_equal(order_at(whole, &d, .375, d.order), d.order);
        }
    }
    fclose(f);
    free(line);
    assert_int_equal(met, sizeof known / sizeof *known);
}

/* ---- measured --------------------------------------------------------------------------------------- */

enum { TIMES = 50 };

/* Returns the RMS error over all times of a run by a pair; *run gets its steps. */
static double error_within(const Table *t, const System *s, double tolerance, AdaptRun *run)
{
    size_t N = s->n * s->d;
    double at[TIMES], agreement, sum = 0;
    OWN_REALS *states = memory_new(TIMES * N, sizeof *states),
              *exact = memory_new(TIMES * N, sizeof *exact);
    OWN_REALS *y = memory_new(N, sizeof *y);
    for (int i = 0; i < TIMES; i++) at[i] = s->t_end * (i + .5) / TIMES;
    AdaptOptions o = within(tolerance, s->t_end, embedded_of(t).estimate_order);
    o.times = TIMES;
    o.at = at;
    o.states = states;
    assert_int_equal(adapt_run(t, s, &o, y, run), 0);
    assert_int_equal(reference_solve(s, at, TIMES, exact, &agreement), 0);
    for (size_t i = 0; i < TIMES * N; i++) sum += (states[i] - exact[i]) * (states[i] - exact[i]);
    return sqrt(sum / (double)(TIMES * N));
}

/* Steps go like tolerance^(1/(q+1)), with q of the estimate. Errors at the ends go like the step^p, and those within
 * steps are no worse: they go like the step^(order + 1), with weights of order q at least, or are ends themselves. So a
 * thousandth of the tolerance makes errors of a thousandth^(p/(q + 1)) or less. Weights serve explicit pairs whose slopes
 * give the order of their estimate, and collocation methods. */
static void check_within(const Table *t, const Systems *systems)
{
    OWN_DENSE d = find(t);
    Embedded e = embedded_of(t);
    Theory th = theory_of(t, 6);
    int collocation = strcmp(t->name, "radau-iia5") == 0;
    int weights = (collocation || !table_solves(t->pair)) && d.order >= e.estimate_order;
    for (size_t k = 0; systems->of[k]; k++) {
        const System *s = systems->of[k];
        if (s->timed && table_exponential(t->pair)) continue; /* refused */
        AdaptRun run;
        double tolerance = e.estimate_order < 2 ? 1e-4 : 1e-6, small = tolerance / 1000;
        double a = error_within(t, s, tolerance, &run), b = error_within(t, s, small, &run);
        double expected = fmin(1, th.order / (e.estimate_order + 1.));
        double slope = log(a / b) / log(1000);
        if (!(slope > .75 * expected && b < 1000 * pow(small, expected)))
            fail_msg("%s on %s: %g, %g", t->name, s->name, a, b);
        assert_int_equal(run.dense, weights ? d.order : 0);
    }
}

TEST(errors_within_steps)
{
    static const char *const name[] = {"attention", "forced", "kepler"};
    OWN_SYSTEMS systems = {0};
    for (int k = 0; k < 3; k++) systems.of[k] = remembering(sized(name[k], k ? 0 : 4, 0, 3)).of[0];
    for (size_t i = 0; i < zoo.count; i++) { /* on two of them each */
        Systems two = {.of = {systems.of[i % 3], systems.of[(i + 1) % 3]}};
        if (zoo.scheme[i]->pair) check_within(zoo.scheme[i], &two);
    }
    OWN_TABLE *exponential =
        scheme("k1 = H(y)\nk2 = phi1(H)(k1)\nk3 = H(y + k2)\nk4 = phi0(H)(k1)\n"
               "k5 = phi3(H)(k3 - k4)\ny' = y + k2 + 2*k5\nerror = 2*k5");
    check_within(exponential, &systems);
}

/* ---- stiff systems ---------------------------------------------------------------------------------- */

enum { PLACES = 8 };
static const double rate = 1e6;

OWN_FIELD(rest)
{
    memset(dy, 0, s->n * s->d * sizeof *dy);
}

/* Prothero and Robinson's field. The solution is cos t. */
OWN_FIELD(follow)
{
    dy[0] = -rate * (y[0] - cos(t)) - sin(t);
}

/* Kaps's field: exp(-2 t), exp(-t). */
OWN_FIELD(kaps)
{
    dy[0] = -(rate + 2) * y[0] + rate * y[1] * y[1];
    dy[1] = y[0] - y[1] - y[1] * y[1];
}

/* Writes the solution at times t (PLACES) to y (PLACES, N): of `follow`, of `kaps`, or the reference. */
static void solve_exactly(const System *s, const double *t, double *y)
{
    double agreement;
    if (s->field[OP_F] == follow)
        for (size_t i = 0; i < PLACES; i++) y[i] = cos(t[i]);
    else if (s->field[OP_F] == kaps)
        for (size_t i = 0; i < PLACES; i++) y[2 * i] = exp(-2 * t[i]), y[2 * i + 1] = exp(-t[i]);
    else
        assert_int_equal(reference_solve(s, t, PLACES, y, &agreement), 0);
}

/* Returns the largest error of N coordinates, in tolerances of 1e-5. */
static double off(size_t N, const double *y, const double *exact)
{
    double most = 0;
    for (size_t i = 0; i < N; i++)
        most = fmax(most, fabs(y[i] - exact[i]) / (1e-5 * (1 + fabs(exact[i]))));
    return isfinite(y[0]) ? most : INFINITY;
}

/* Returns 1 where errors within steps are at most `factor` of the largest of those of runs that end there, or of a
 * tolerance. Both (PLACES), in tolerances. */
static int as_good(double factor, const double *inside, const double *ends)
{
    double most = 1;
    for (int i = 0; i < PLACES; i++) most = fmax(most, ends[i]);
    for (int i = 0; i < PLACES; i++)
        if (!(inside[i] <= factor * most)) return 0;
    return 1;
}

/* Finds both kinds of errors at times `at`, and states (PLACES, N) within steps. Returns whether the runs came to their
 * ends; *by_weights: the order of values by weights. */
static int find_errors(const Table *t, const System *s, const double *at, const double *exact,
                       double *states, double *inside, double *ends, int *by_weights)
{
    size_t N = s->n * s->d;
    double y[8];
    AdaptRun run, alone;
    AdaptOptions o = within(1e-5, s->t_end, embedded_of(t).estimate_order);
    o.most = 20000;
    assert_int_equal(adapt_run(t, s, &o, y, &alone), 0);
    o.times = PLACES, o.at = at, o.states = states;
    assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
    assert_true(alone.steps == run.steps && alone.rejected == run.rejected && alone.t == run.t);
    if (run.outcome == ADAPT_DONE)
        assert_true(run.dense ? alone.evals == run.evals : alone.evals < run.evals);
    *by_weights = run.dense;
    for (size_t i = 0; i < PLACES && run.outcome == ADAPT_DONE; i++) {
        inside[i] = off(N, states + i * N, exact + i * N);
        o.times = 0, o.t_end = at[i];
        assert_int_equal(adapt_run(t, s, &o, y, &alone), 0);
        ends[i] = off(N, y, exact + i * N);
    }
    return run.outcome == ADAPT_DONE;
}

static void set_places(const System *s, double first, double *at)
{
    for (int i = 0; i < PLACES; i++) at[i] = s->t_end * (i + first) / PLACES;
}

static System kaps_system(void)
{
    static double initial[2] = {1, 1};
    System s = scalar_system(kaps, rest);
    s.d = 2;
    s.initial = initial;
    return s;
}

/* Every pair that comes to the end of a stiff system has values within steps as good as at ends of steps: twice those
 * errors where stages are solved for. An explicit pair takes steps as long as stability lets it, so a slope multiplies
 * errors by h |lambda| of 3 or so: ten times. */
TEST(stiff_errors)
{
    System following = scalar_system(follow, rest), kinetic = kaps_system();
    OWN_SYSTEM *hires = make("hires"), *robertson = make("robertson");
    const System *systems[] = {&following, &kinetic, hires, robertson};
    size_t solved = 0, explicit = 0;
    following.timed = 1;
    for (size_t k = 0; k < 4; k++) {
        const System *s = systems[k];
        double at[PLACES], exact[PLACES * 8], states[PLACES * 8], inside[PLACES], ends[PLACES];
        set_places(s, .7, at);
        solve_exactly(s, at, exact);
        for (size_t i = 0; i < zoo.count; i++) {
            const Table *t = zoo.scheme[i];
            int weights;
            if (!t->pair || !find_errors(t, s, at, exact, states, inside, ends, &weights)) continue;
            if (!as_good(weights ? 10 : 2, inside, ends)) fail_msg("%s on %s", t->name, s->name);
            *(table_solves(t->pair) ? &solved : &explicit) += 1;
        }
    }
    assert_true(solved >= 24 && explicit >= 6);
}

/* Hermite's cubics, from slopes at states that have errors of a tolerance, are not as good, and the test sees it. */
TEST(stiff_control)
{
    System s = kaps_system();
    OWN_TABLE *t = scheme("ros2");
    double at[PLACES], exact[PLACES * 2], y[PLACES * 2], f[PLACES][2], inside[PLACES], ends[PLACES];
    double h = s.t_end / PLACES;
    int weights;
    set_places(&s, .7, at);
    solve_exactly(&s, at, exact);
    assert_true(find_errors(t, &s, at, exact, y, inside, ends, &weights));
    assert_true(!weights && as_good(2, inside, ends));
    set_places(&s, 1.2, at); /* in the middle of two */
    solve_exactly(&s, at, exact);
    for (int i = 0; i < PLACES; i++) kaps(&s, 1, 0, y + 2 * i, f[i]);
    for (int i = 0; i + 1 < PLACES; i++) {
        double middle[2];
        for (int c = 0; c < 2; c++)
            middle[c] = (y[2 * i + c] + y[2 * i + 2 + c]) / 2 + h / 8 * (f[i][c] - f[i + 1][c]);
        inside[i] = off(2, middle, exact + 2 * i);
    }
    assert_false(as_good(10, inside, ends));
}

/* Van der Pol's y2 by Radau's method of order 5 at 1e-11 (SciPy's), where it is small beside h y2'. */
TEST(van_der_pol)
{
    static const struct {
        const char *scheme;
        double t, y;
    } known[] = {{"rodas4", 2000 * 13 / 21., 9.39867512e-4},
                 {"ros3p", 2000 * 17 / 21., -6.68394571e-4},
                 {"radau-iia5", 2000 * 13 / 21., 9.39867512e-4},
                 {"radau-iia5", 2000 * 17 / 21., -6.68394571e-4}};
    OWN_SYSTEM *s = make("van-der-pol:mu=1000");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = scheme(known[i].scheme);
        double y[2], end[2];
        AdaptRun run;
        AdaptOptions o = within(1e-6, 2000, embedded_of(t).estimate_order);
        o.times = 1, o.at = &known[i].t, o.states = y;
        assert_int_equal(adapt_run(t, s, &o, end, &run), 0);
        assert_true(fabs(y[1] - known[i].y) <= 3e-6);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
