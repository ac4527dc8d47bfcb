/* test_systems.c: checks particle systems by several definitions: flows, fields, solutions and two reference
 * integrators must agree, on every row of the table. */
#include "tests/lib/test.h"

#include <complex.h>
#include <dlfcn.h>

#include "kernels/base/random.h"
#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

enum { MAX = 4096 };

/* Rounding of about 100 operations a flow, with a condition number of e^{|h| L} < 10 and 4 flows. */
static const double flow_tolerance = 4e3 * 2.3e-16;

/* ---- names and sizes ----------------------------------------------------------------------------- */

TEST(test_names)
{
    System *none = NULL;
    assert_string_equal(system_default(), "attention");
    assert_null(system_name(1000));
    assert_null(system_title(1000));
    for (size_t i = 0; system_name(i); i++) {
        OWN_SYSTEM *s = sized(system_name(i), 0, 0, 1);
        assert_string_equal(s->name, system_name(i));
        assert_string_equal(s->title, system_title(i));
        assert_true(s->t_end > 0 && s->h0 > 0 && s->source[0]);
        for (size_t k = 0; k < i; k++) assert_string_not_equal(system_name(i), system_name(k));
    }
    assert_refused(system_new("attentive", 0, 0, 1, &none), "attentive", "kuramoto");
    system_free(NULL);
}

TEST(test_sizes)
{
    static const struct {
        const char *name;
        size_t n, d;
        int code;
    } cases[] = {
        {"attention", 5, 3, 0},
        {"attention", 1, 4, ERR_INPUT},
        {"attention", 100000, 4, ERR_INPUT},
        {"linear", 3, 1, 0},
        {"linear", 1, 1, ERR_INPUT},
        {"linear", SIZE_MAX, 2, ERR_INPUT},
        {"nilpotent", 1, 3, 0},
        {"nilpotent", 2, 3, ERR_INPUT},
        {"nilpotent:4", 1, 3, ERR_INPUT},
        {"fisher", 3, 1, 0},
        {"fisher", 2, 1, ERR_INPUT},
        {"kuramoto", 20, 2, 0},
        {"vortex", 4, 3, ERR_INPUT},
        {"kepler", 1, 0, 0},
        {"kepler", 2, 3, ERR_INPUT},
        {"henon", 7, 0, 0},
        {"forced", 2, 1, 0},
        {"forced", 2, SIZE_MAX, ERR_INPUT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        System *s = NULL;
        int code = system_new(cases[i].name, cases[i].n, cases[i].d, 1, &s);
        assert_int_equal(code, cases[i].code);
        if (code != 0) assert_non_null(strstr(error_text(), cases[i].name));
        system_free(s);
    }
}

static double reference_error(const System *s, int op, double h)
{
    size_t N = s->n * s->d;
    double x[MAX], y[MAX], t = 0.3;
    memcpy(x, s->initial, N * sizeof *x);
    memcpy(y, s->initial, N * sizeof *y);
    s->flow[op](s, 1, t, h, x);
    assert_int_equal(reference_flow(s, op, 1, t, h, y, NULL), 0);
    return relative_distance(x, y, N);
}

/* Closed flows, ahead and back, are those of the fields: the reference integrator knows the fields alone. */
TEST(test_flows)
{
    int closed = 0;
    for (size_t i = 0; system_name(i); i++) {
        OWN_SYSTEM *s = sized(system_name(i), 0, 0, 3);
        for (int op = 0; op < COLOURS; op++) {
            if (!s->flow[op]) continue;
            closed++;
            double r = fmax(reference_error(s, op, 0.5), reference_error(s, op, -0.3));
            if (!(r <= flow_tolerance)) fail_msg("%s, flow %d: off reference %g", s->name, op, r);
        }
    }
    assert_true(closed >= 11);
}

/* ---- options ------------------------------------------------------------------------------------- */

/* Every option of every system at another value makes the system differ. The system has the name that was asked for,
 * and its closed flows are right. */
TEST(test_options)
{
    int found = 0;
    for (size_t k = 0; system_name(k); k++)
        for (const SystemOption *o = system_options(k); o && o->name; o++) {
            double other = fmin(o->high, 2 * o->initial + 1);
            const char *name = o->flag ? formed("%s:%s", system_name(k), o->name)
                                       : formed("%s:%s=%g", system_name(k), o->name, other);
            OWN_SYSTEM *s = make(name), *plain = make(system_name(k));
            double f[2][64];
            int same = memcmp(s->initial, plain->initial, s->n * s->d * sizeof(double)) == 0;
            for (int op = 0; op < 2; op++) {
                s->field[op](s, 1, 0.1, s->initial, f[0]);
                plain->field[op](plain, 1, 0.1, s->initial, f[1]);
                same = same && memcmp(f[0], f[1], s->n * s->d * sizeof(double)) == 0;
                if (s->flow[op] && !(reference_error(s, op, 0.5) <= 1e-12))
                    fail_msg("%s: flow %d off by %g", name, op, reference_error(s, op, 0.5));
            }
            if (same) fail_msg("%s is as %s", name, system_name(k));
            assert_string_equal(s->name, name);
            assert_true(o->words && o->initial >= o->low && o->initial <= o->high);
            found++;
        }
    assert_true(found >= 4);
}

/* The options of a system that has some are told, others are refused in words. */
TEST(test_options_refused)
{
    static const char *const words[] = {"periodic", "has no options", "unknown system"};
    static const char *const bad[] = {
        "transport: transport:round transport:peclet transport:peclet= transport:peclet=0 "
        "transport:peclet=nan transport:peclet=1x transport:peclet=1:peclet=1 "
        "transport:periodic=1 transport:periodic:periodic transport:wave=1,peclet=2 "
        "transport:peclet=1: transport:peclet=0000000000000000000000000000000000000000"
        "000000000000000000000000000000001",
        "linear:round fisher:peclet=1", ":periodic"};
    char name[2 * TABLE_NAME];
    System *s = NULL;
    for (int i = 0; i < 3; i++)
        for (const char *list = bad[i]; next_word(&list, name);) {
            assert_refused(system_new(name, 0, 0, 1, &s), name, words[i]);
            assert_null(s);
        }
    assert_refused(system_new("transport:peclet= 1", 0, 0, 1, &s), "a blank", words[0]);
    assert_refused(system_new("lorenz:tau=1", 0, 0, 1, &s), "sigma rho beta", "tau=1");
    assert_refused(system_new("lorenz:rho=x", 0, 0, 1, &s), "rho=NUMBER", "rho=x");
    assert_refused(system_new("logistic:a=1", 0, 0, 1, &s), "none", "a=1");
}

/* ---- exact solutions and references -------------------------------------------------------------- */

/* Two references agree, of which a closed solution is one. Times in any order, before and after 0, once or twice, give the same states. */
TEST(test_reference)
{
    static const double mixed[] = {1, -0.5, 0, 0.25, -1, 1};
    static const double sorted[] = {-1, -0.5, 0, 0.25, 1};
    static const size_t place[] = {4, 1, 2, 3, 0, 4};
    int closed = 0;
    for (size_t i = 0; system_name(i); i++) {
        OWN_SYSTEM *s = sized(system_name(i), 0, 0, 11);
        size_t N = s->n * s->d;
        double a[6 * 64], b[5 * 64], agreement = NAN;
        if (s->context) continue; /* texts, of which some grow without bound before 0 */
        closed += s->solution != NULL;
        assert_int_equal(reference_solve(s, mixed, 6, a, &agreement), 0);
        /* some 100 steps of either reference, eps |y| each, growing by e^{L t} < 10; |y| < 20 */
        if (!(agreement <= 1e-13)) fail_msg("%s: references differ by %g", s->name, agreement);
        assert_int_equal(reference_solve(s, sorted, 5, b, &agreement), 0);
        for (size_t k = 0; k < 6; k++)
            assert_memory_equal(a + k * N, b + place[k] * N, N * sizeof *a);
        if (s->solution)
            assert_true(relative_distance(a + 2 * N, s->initial, N) <= flow_tolerance);
        else
            assert_memory_equal(a + 2 * N, s->initial, N * sizeof *a);
    }
    assert_true(closed >= 4);
}

/* The test problems of the literature end where it says: Hairer, Norsett, Wanner 1993, II.0 (Arenstorf: where it began)
 * and I.16; Hairer, Wanner 1996, IV.10, and the Test Set for IVP Solvers (Mazzia, Magherini 2008). */
TEST(test_published)
{
    static const struct {
        const char *system;
        double t;
        size_t coordinate;
        double value, within;
    } known[] = {
        {"brusselator", 20, 0, 0.4986370712683478, 1e-11},
        {"brusselator", 20, 1, 4.596780349452011, 1e-11},
        {"arenstorf", 17.0652165601579625588917206249, 0, 0.994, 1e-10},
        {"arenstorf", 17.0652165601579625588917206249, 3, -2.00158510637908252, 1e-8},
        {"hires", 321.8122, 0, 0.7371312573325668e-3, 1e-14},
        {"hires", 321.8122, 7, 0.2850001604814231e-2, 1e-13},
        {"robertson", 40, 0, 0.7158270687, 1e-10},
        {"robertson", 40, 1, 0.9185534765e-5, 1e-13},
        {"van-der-pol:mu=0", 3.14159265358979323846, 0, -2, 1e-12},
        {"dahlquist:lambda=-3", 1, 0, 0.04978706836786394, 1e-14},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_SYSTEM *s = sized(known[i].system, 0, 0, 1);
        double y[MAX];
        assert_string_equal(s->name, known[i].system);
        assert_int_equal(reference_within(s, 1e-12, &known[i].t, 1, y, NULL), 0);
        double error = fabs(y[known[i].coordinate] - known[i].value);
        if (!(error <= known[i].within)) fail_msg("%s: off by %g", known[i].system, error);
    }
}

/* Those that are stiff for long come to the published digits by implicit steps, and nearer by a tenth of the tolerance. */
TEST(test_published_stiff)
{
    static const struct {
        const char *system;
        double t, tolerance, least; /* relative; absolute over relative */
        double within, value[3];
    } known[] = {
        {"oregonator",
         360,
         1e-4,
         1e-2,
         6e-3,
         {1.000814870318523, 1228.178521549917, 132.0554942846706}},
        {"van-der-pol:mu=1000",
         2000,
         1e-4,
         1e-2,
         6e-4,
         {1.706167732170483, -0.8928097010247975e-3}},
        {"robertson",
         1e11,
         1e-2,
         1e-14,
         8e-3,
         {0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050}},
    };
    OWN_TABLE *pair = scheme("tr-bdf2");
    Embedded e = embedded_of(pair);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_SYSTEM *s = sized(known[i].system, 0, 0, 1);
        double off[2] = {0};
        for (int k = 0; k < 2; k++) {
            double y[3], tolerance = known[i].tolerance / (k ? 10 : 1);
            AdaptRun run;
            AdaptOptions o = within(tolerance, known[i].t, e.estimate_order);
            o.absolute *= known[i].least;
            assert_int_equal(adapt_run(pair, s, &o, y, &run), 0);
            for (size_t c = 0; c < s->d; c++)
                off[k] = fmax(off[k], fabs(y[c] / known[i].value[c] - 1));
        }
        if (!(off[1] <= known[i].within && off[1] < off[0] / 2))
            fail_msg("%s: off by %g, then %g", s->name, off[0], off[1]);
    }
}

/* The split of van der Pol's equation is of the same field: parts add to the whole to the bit. An IMEX pair solves it by
 * tolerance where the whole, all G, is explicit for it and takes many more steps (the control). */
TEST(test_split)
{
    const double end = 2000, tolerance = 1e-6, exact = 1.706167732170483;
    OWN_TABLE *pair = scheme("ark4");
    Embedded e = embedded_of(pair);
    size_t steps[2];
    double y[2];
    OWN_SYSTEM *s = make("van-der-pol-split:mu=1000"), *whole = make("van-der-pol:mu=1000");
    for (uint64_t k = 0; k < 100; k++) {
        double x[2] = {random_normal(3, k, 0), random_normal(3, k, 1)}, sum[2], one[2], part[2];
        system_sum(s, system_ops(s), 1, 0, x, sum, part);
        system_sum(whole, system_ops(whole), 1, 0, x, one, part);
        assert_true(sum[0] == one[0] && sum[1] == one[1]);
    }
    for (int k = 0; k < 2; k++) {
        AdaptRun run;
        AdaptOptions o = within(tolerance, end, e.estimate_order);
        assert_int_equal(adapt_run(pair, k ? whole : s, &o, y, &run), 0);
        steps[k] = run.steps;
        if (k == 0 && !(run.outcome == ADAPT_DONE && fabs(y[0] - exact) <= 30 * tolerance))
            fail_msg("off by %g", y[0] - exact);
    }
    assert_true(20 * steps[0] < steps[1]);
}

OWN_FIELD(kinked)
{
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] = y[i] * y[i];
}

static void wrong_solution(const System *s, double t, double *y)
{
    for (size_t i = 0; i < s->n * s->d; i++) y[i] = s->initial[i] * (1 + t);
}

/* A solution that ends before t and a time that is none give errors. A wrong closed solution shows in the
 * agreement. */
TEST(test_reference_refuses)
{
    OWN_SYSTEM *s = sized("henon", 1, 0, 1);
    double y[4], agreement = 0, t = 2, none = NAN;
    s->solution = wrong_solution;
    assert_int_equal(reference_solve(s, &t, 1, y, &agreement), 0);
    assert_false(agreement <= 1e-3);
    assert_int_equal(reference_solve(s, &none, 1, y, &agreement), ERR_NUMERIC);
    s->solution = NULL;
    s->field[OP_F] = s->field[OP_G] = kinked; /* y' = 2 y^2 from 1 ends at t = 1/2 */
    for (int i = 0; i < 4; i++) s->initial[i] = 1;
    int code = reference_solve(s, &t, 1, y, &agreement);
    assert_true(code == ERR_NUMERIC || code == ERR_ACCURACY);
    t = 0.25;
    assert_int_equal(reference_solve(s, &t, 1, y, &agreement), 0);
    assert_true(fabs(y[0] - 2) <= 1e-12); /* 1 / (1 - 2 t), condition 4 */
}

/* ---- costs of a field beside its arithmetic -------------------------------------------------------- */

static size_t regions; /* parallel regions since it was set to 0 */

/* Replaces libgomp's entry into a parallel region, which GCC calls. */
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags)
{
    void (*next)(void (*)(void *), void *, unsigned, unsigned);
    *(void **)&next = dlsym(RTLD_NEXT, "GOMP_parallel");
    regions++;
    next(body, data, threads, flags);
}

static size_t regions_of(const System *s)
{
    OWN_REALS *dy = numbers(s->n * s->d);
    regions = 0;
    for (int op = 0; op < COLOURS; op++)
        if (s->field[op]) s->field[op](s, 1, 0, s->initial, dy);
    return regions;
}

/* With few particles no field enters a parallel region. A region, even of one thread, costs a hundred times the
 * field. */
TEST(test_few_particles)
{
    static const char text[] = "system own\nn 1\nF = mean z\nG = -y\ninitial = 1\n";
#ifdef __clang__
    skip(); /* clang's regions go by another function */
#endif
    for (size_t i = 0; system_name(i); i++) {
        OWN_SYSTEM *s = sized(system_name(i), 0, 0, 1);
        if (s->n < 64 && regions_of(s) != 0) fail_msg("%s: %zu regions", s->name, regions);
    }
    OWN_SYSTEM *own = read_system(text, 0, 0), *many = read_system(text, 1000, 0),
               *vortex = sized("vortex", 1000, 0, 1);
    assert_int_equal(regions_of(own), 0);
    assert_true(regions_of(many) > 0); /* controls: many particles are shared out, and it is seen */
    assert_true(regions_of(vortex) > 0);
}

/* ---- convection and diffusion -------------------------------------------------------------------- */

static const double pi = 3.14159265358979323846;

/* ---- particles ----------------------------------------------------------------------------------- */

static double volume(const System *s)
{
    return 4 * pi / (double)s->n;
}

static double kernel_width(const System *s)
{
    return 1.5 * sqrt(volume(s));
}

/* Computes F by its definition over all pairs, with nu = 1 / peclet and a factor of the kernel. */
static void exchange_by_hand(const System *s, double nu, double factor, const double *y, double *dy)
{
    double eps2 = kernel_width(s) * kernel_width(s);
    for (size_t i = 0; i < 3 * s->n; i += 3) {
        dy[i] = dy[i + 1] = dy[i + 2] = 0;
        for (size_t j = 0; j < 3 * s->n; j += 3) {
            double u = y[i] - y[j], v = y[i + 1] - y[j + 1];
            double eta = factor / (pi * eps2) * exp(-(u * u + v * v) / eps2);
            dy[i + 2] += nu / eps2 * volume(s) * eta * (y[j + 2] - y[i + 2]);
        }
    }
}

/* Tells whether F agrees with the sum over all pairs. */
static int exchanges(const System *s, double nu, double factor)
{
    size_t N = 3 * s->n;
    OWN_REALS *f = numbers(N), *g = numbers(N);
    s->field[OP_F](s, 1, 0, s->initial, f);
    exchange_by_hand(s, nu, factor, s->initial, g);
    return relative_distance(f, g, N) <= (double)s->n * 2.3e-16;
}

/* 16 particles are in one cell, 3000 in some 40, also where convection has
 * carried them; the dropped pairs' share is n e^{-36}. */
TEST(test_exchange)
{
    static const size_t sizes[] = {16, 600, 3000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        OWN_SYSTEM *s = sized("convection-diffusion:peclet=10", sizes[k], 0, 3);
        s->flow[OP_G](s, 1, 0, (double)k, s->initial);
        assert_true(exchanges(s, 0.1, 4));
        assert_false(exchanges(s, 0.1, 4.001)); /* control */
    }
}

/* Particles far away, alone, or all at one place fall into cells too. A value that is not finite shows in F. */
TEST(test_exchange_anywhere)
{
    OWN_SYSTEM *s = sized("convection-diffusion", 600, 0, 3);
    OWN_REALS *f = numbers(1800);
    s->initial[0] = 1e12, s->initial[4] = -3e4;
    s->field[OP_F](s, 1, 0, s->initial, f);
    assert_true(f[2] == 0 && exchanges(s, 0.25, 4));
    for (size_t i = 0; i < 1800; i += 3) s->initial[i] = s->initial[i + 1] = 1;
    assert_true(exchanges(s, 0.25, 4));
    s->initial[7] = NAN, s->initial[9] = INFINITY;
    s->field[OP_F](s, 1, 0, s->initial, f);
    assert_true(isnan(f[8]));
}

/* Returns the largest |F - nu Laplacian| / nu at 0.4 to 1 from the middle, where the spiral of particles is even. *off
 * gets the same distance from a difference of Gaussians. F of a Gaussian e^{-r^2/s^2} is nu / eps^2 (eta * z - 4 z),
 * such a difference, where particles are dense. F tends to nu times the Laplacian like eps^2, which falls like 1 /
 * n. */
static double laplacian_error(size_t n, double *off)
{
    OWN_SYSTEM *s = sized("convection-diffusion:peclet=2", n, 0, 3);
    double *f = numbers(3 * n), eps2 = kernel_width(s) * kernel_width(s), s2 = 0.5, worst = 0;
    for (size_t i = 0; i < 3 * n; i += 3) {
        double r2 = s->initial[i] * s->initial[i] + s->initial[i + 1] * s->initial[i + 1];
        s->initial[i + 2] = exp(-r2 / s2);
    }
    s->field[OP_F](s, 1, 0, s->initial, f);
    *off = 0;
    for (size_t i = 0; i < 3 * n; i += 3) {
        double r2 = s->initial[i] * s->initial[i] + s->initial[i + 1] * s->initial[i + 1];
        double z = exp(-r2 / s2), wide = s2 / (s2 + eps2) * exp(-r2 / (s2 + eps2));
        if (r2 < 0.16 || r2 > 1) continue;
        worst = fmax(worst, fabs(2 * f[i + 2] - 4 * (r2 / s2 - 1) / s2 * z));
        *off = fmax(*off, fabs(2 * f[i + 2] - 4 / eps2 * (wide - z)));
    }
    memory_free(f);
    return worst;
}

TEST(test_laplacian)
{
    double off[2], coarse = laplacian_error(1000, &off[0]), fine = laplacian_error(4000, &off[1]);
    assert_true(coarse / fine > 3.5 && coarse / fine < 4.5); /* eps^2 */
    assert_true(off[0] < 0.1 * coarse && off[1] < 0.1 * fine);
    assert_true(fine < 0.2); /* the Laplacian is 8 in the middle */
}

/* ---- the grid ------------------------------------------------------------------------------------ */

/* Computes y (n). On the ring mode k is turned and damped by exp(t lambda_k), lambda_k = -2 nu (1 - cos k dx) / dx^2 -
 * i sin(k dx) / dx. The partial equation (`own`) has -nu k^2 - i k. */
static void by_modes(const System *s, double nu, double t, int own, double *y)
{
    double dx = 2 * pi / (double)s->n;
    for (size_t i = 0; i < s->n; i++) y[i] = 0;
    for (long k = -1; k <= 1; k++) { /* the initial state has no others */
        double complex c = 0, lambda = own ? -nu * (double)(k * k) - I * (double)k
                                           : 2 * nu * (cos((double)k * dx) - 1) / (dx * dx) -
                                                 I * sin((double)k * dx) / dx;
        for (size_t i = 0; i < s->n; i++)
            c += s->initial[i] * cexp(-I * dx * (double)k * (double)i) / (double)s->n;
        for (size_t i = 0; i < s->n; i++)
            y[i] += creal(c * cexp(t * lambda + I * dx * (double)k * (double)i));
    }
}

/* Long diffusion, by an integral, is what short parts of it add up to by series. The control has another speed. */
TEST(test_long_diffusion)
{
    static const char *const names[] = {"transport", "transport:periodic:wave=0.7",
                                        "transport:peclet=10"};
    static const double most[] = {1e-13, 1e-12, 2e-13};
    for (int k = 0; k < 3; k++) {
        OWN_SYSTEM *s = sized(names[k], 256, 0, 3),
                   *other = sized("transport:peclet=4.001", 256, 0, 3);
        double whole[256], parts[256], off[256];
        s->solution(s, 4, whole);
        other->solution(other, 4, off);
        memcpy(parts, s->initial, sizeof parts);
        for (int i = 0; i < 8; i++) {
            s->solution(s, 0.5, parts);
            memcpy(s->initial, parts, sizeof parts);
        }
        double apart = distance(whole, parts, 256);
        if (!(apart <= most[k])) fail_msg("%s: %g", names[k], apart);
        assert_true(distance(off, parts, 256) > 1e-6);
    }
}

/* The flow on the ring is that of its modes up to rounding: 18 terms a substep of norm 1, 2 (4 nu / dx^2 + 1 / dx)
 * substeps at most. */
TEST(test_ring)
{
    double space[2], y[64], z[64];
    for (int k = 0; k < 2; k++) {
        OWN_SYSTEM *s = sized("transport:periodic:peclet=20", (size_t)32 << k, 0, 3);
        s->solution(s, 2, y);
        by_modes(s, 0.05, 2, 0, z);
        assert_true(relative_distance(y, z, s->n) <= 64 * 18 * 2.3e-16);
        by_modes(s, 0.0501, 2, 0, z); /* control */
        assert_false(relative_distance(y, z, s->n) <= 1e-6);
        by_modes(s, 0.05, 2, 1, z);
        space[k] = distance(y, z, s->n);
    }
    assert_true(space[0] / space[1] > 3.9 && space[0] / space[1] < 4.1); /* dx^2, apart from time */
}

TEST_MAIN(zoo_begin, zoo_end)
