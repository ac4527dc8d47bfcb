/* test_rosenbrock.c: Rosenbrock methods and W-methods: orders and stability as published, steps against closed factors and
 * autonomous forms, stiff systems by tolerance, the language. */
#include "tests/lib/test.h"

#include <complex.h>

#include "ode/step/functions.h"
#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* ---- orders and stability ---------------------------------------------------------------------------- */

/* As published; the factor of a method of s stages and order >= its numerator's degree is the numerator of (1 - g z)^s
 * e^z, cut there, over (1 - g z)^s (Hairer, Wanner 1996, IV.6, equation 6.4 with IV.7). */
static const struct {
    const char *name;
    int order, embedded, w, l_stable, stages, degree;
    double gamma, infinity;
} known[] = {{"ros2", 2, 1, 0, 1, 2, 1, 1.7071067811865475, 0},
             {"ros2-w", 2, 1, 1, 1, 2, 1, 1.7071067811865475, 0},
             {"ros3p", 3, 2, 0, 0, 3, 3, 0.78867513459481288, 0.73205080756887729},
             {"rodas4", 4, 3, 0, 1, 6, 0, 0.25, 0},
             {"ros34pw2", 3, 2, 1, 1, 4, 3, 0.435866521508459, 0}};
enum { KNOWN = sizeof known / sizeof *known };

TEST(test_known)
{
    OWN_TABLES list = listed("rosenbrock", "exact");
    assert_int_equal(list.count, KNOWN); /* the list above forgets none */
    for (size_t i = 0; i < KNOWN; i++) {
        OWN_TABLE *t = freeze(list.table[i]);
        Stiff s;
        double real, imag;
        assert_string_equal(t->name, known[i].name);
        assert_int_equal(order_of(t), known[i].order);
        /* ros2-w has decimals of a root, and meets its conditions in fractions of them */
        if (i == 1) assert_true(theory_of(t, 3).residual == 0);
        Embedded e = embedded_of(list.table[i]);
        assert_true(e.order == known[i].embedded && e.estimate_order == known[i].embedded);
        assert_true(fabs(table_error_sum(list.table[i])) < 1e-14);
        assert_int_equal(table_has(t, HAS_W), known[i].w);
        assert_int_equal(stability_stiff(t, &s), 0);
        assert_true(s.a_stable == TOLD_YES && s.l_stable == known[i].l_stable && s.colour == -1);
        assert_true(fabs(s.r_infinity - known[i].infinity) <= 1e-14);
        assert_int_equal(stability_limits(t, &real, &imag, NULL), 0);
        assert_true(real == -INFINITY && imag == INFINITY);
    }
}

/* Estimates that see nothing: of ros3p, whose authors say so (Lang, Verwer 2001); of a pair over two-stage slopes k = z/(1 -
 * z/2) whose difference k/(1 - z/2) - k/(1 - z/2)^2 goes to 0 at infinity, where R = (1 + z/2)/(1 - z/2) goes to -1, and,
 * as a control, the one before it, which goes to -2; of an explicit pair, where 2 k2 = k1 + k3 on linear fields. */
TEST(test_blind)
{
#define MIDDLE \
    "k1 = H(y)\nk2 = solve(1/2 H)(k1)\nk3 = solve(1/2 H)(k2)\nk4 = solve(1/2 H)(k3)\ny' = y + k2\n"
    static const struct {
        const char *text;
        int kind;
        double infinity;
    } row[] = {
        {"ros2", BLIND_NOT, 0},
        {"ros2-w", BLIND_NOT, 0},
        {"ros3p", BLIND_LINEAR, NAN},
        {"rodas4", BLIND_NOT, 0},
        {"ros34pw2", BLIND_NOT, 0},
        {"tr-bdf2", BLIND_NOT, 0},
        {"ark3", BLIND_NOT, 0}, /* in F, which is implicit; R over both is infinite */
        {"ark4", BLIND_NOT, 0},
        {"dormand-prince", BLIND_NOT, NAN},
        {MIDDLE "error = k3 - k4", BLIND_STIFF, 1},
        {MIDDLE "error = 1/1000000000*k2 - 1/1000000000*k3", BLIND_STIFF, 1},
        {MIDDLE "error = k2 - k3", BLIND_NOT, 1},
        /* a ten-millionth at infinity, where a step errs by a thousandth */
        {"k1 = H(y)\nk2 = solve(1/2 H)(k1)\ny' = y + 999/2000*k2\nerror = 1/20000000*k2", BLIND_NOT,
         1e-3},
        {"k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + k1)\ny' = y + k2\nerror = k1 - 2*k2 + k3",
         BLIND_LINEAR, NAN},
        {"k1 = H(y)\nk2 = H(y + 1/2*k1)\nk3 = H(y + k1)\ny' = y + k2\nerror = k1 - k3", BLIND_NOT,
         NAN},
    };
#undef MIDDLE
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = scheme(row[i].text);
        Blind b;
        char words[BLIND_WORDS];
        assert_int_equal(stability_blind(t, &b), 0);
        if (b.kind != row[i].kind) fail_msg("%s: kind %d", row[i].text, b.kind);
        if (!isnan(row[i].infinity)) assert_true(fabs(b.r_infinity - row[i].infinity) < 1e-14);
        assert_int_equal(blind_words(t, words, sizeof words), 0);
        assert_int_equal(*words != 0, b.kind != BLIND_NOT);
    }
}

/* Makes every derivative W, or the other way. */
static void exchange(Table *t)
{
    for (size_t p = 0; p < t->points; p++)
        if (t->point[p].phi) t->point[p].ops ^= 3 | 1 << OP_C;
    mpq_set_ui(t->weight[OP_C], 0, 1);
}

/* The language's transformed stages are the published alpha, gamma and b: Lang, Verwer 2001; Hairer, Wanner 1996; Rang,
 * Angermann 2005, table 4. */
TEST(test_letters)
{
    static const struct {
        const char *name;
        char letter;
        size_t i, j;
        double value;
    } row[] = {{"ros3p", 'a', 2, 0, 1},
               {"ros3p", 'g', 1, 0, -1},
               {"ros3p", 'g', 2, 0, -0.78867513459481287},
               {"ros3p", 'g', 2, 1, -1.0773502691896260},
               {"ros3p", 'b', 0, 0, 2. / 3},
               {"rodas4", 'a', 1, 0, 0.386},
               {"rodas4", 'g', 1, 0, -0.3543},
               {"rodas4", 'a', 2, 1, 0.06392529247458205},
               {"ros34pw2", 'a', 1, 0, 0.87173304301691801},
               {"ros34pw2", 'a', 2, 1, -0.11299064236484185},
               {"ros34pw2", 'g', 3, 1, -1.2232505839045147},
               {"ros34pw2", 'b', 0, 2, 1.5452602553351020},
               {"ros34pw2", 'h', 0, 0, 0.37810903145819369}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        OWN_TABLE *t = scheme(row[k].name);
        Rosenbrock r;
        assert_int_equal(rosenbrock_find(t->pair, &r), 0);
        mpq_t *of = row[k].letter == 'a'   ? r.alpha
                    : row[k].letter == 'g' ? r.gamma
                    : row[k].letter == 'b' ? r.b
                                           : r.bhat;
        double x = table_double(of[row[k].i * r.stages + row[k].j]);
        rosenbrock_free(&r);
        if (!(fabs(x - row[k].value) <= 2e-15))
            fail_msg("%s %c%zu%zu: %.17g", row[k].name, row[k].letter, row[k].i, row[k].j, x);
    }
}

static double complex known_factor(size_t i, double complex z)
{
    double complex P = 0, power = 1, below = 1;
    for (int j = 0; j <= known[i].degree; j++, power *= z) {
        double c = 0, binomial = 1; /* of z^j in (1 - g z)^s e^z */
        for (int k = 0; k <= j; k++) {
            c += binomial * pow(-known[i].gamma, k) / tgamma(j - k + 1);
            binomial *= (double)(known[i].stages - k) / (k + 1);
        }
        P += c * power;
    }
    for (int k = 0; k < known[i].stages; k++) below *= 1 - known[i].gamma * z;
    return P / below;
}

TEST(test_amplification)
{
    static const double complex point[] = {-3, -50 + 2 * I, 4 * I, -0.3 - 0.8 * I, -1e3, 1e-3};
    for (size_t i = 0; i < KNOWN; i++) {
        if (!known[i].degree) continue; /* rodas4's is of a higher degree than its order */
        OWN_TABLE *t = frozen(known[i].name);
        for (size_t k = 0; k < sizeof point / sizeof *point; k++) {
            double m = cabs(known_factor(i, point[k]));
            assert_true(fabs(modulus(t, point[k] / 2, point[k] / 2) - m) <= 1e-12 * (1 + m));
        }
    }
    OWN_TABLE *parts = frozen("k1 = H(y)\nk2 = solve(1/2 F)(k1)\ny' = y + k2");
    double complex m = 1 + (-2.0 + 0.7 * I) / (1 - -2.0 / 2); /* F = -2, G = 0.7 i */
    assert_true(fabs(modulus(parts, -2, 0.7 * I) - cabs(m)) <= 1e-15);
    Stiff s;
    assert_int_equal(stability_stiff(parts, &s), 0);
    assert_true(s.colour == OP_F && s.a_stable == TOLD_YES && s.l_stable == TOLD_NO);
    assert_true(s.r_infinity == 1);
}

/* ---- steps ------------------------------------------------------------------------------------------- */

/* Measured orders and constants are the exact ones, W's at the derivative where the run begins; on fields that depend on
 * time too. The evaluations are all told. */
TEST(test_measured)
{
    static const char *const systems[] = {"attention", "forced"};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < KNOWN; i++) {
            OWN_SYSTEM *base = make(systems[k]);
            OWN_TABLE *t = frozen(known[i].name);
            System s = counting(base);
            assert_int_equal(order_verdict(t, base, known[i].order), VERDICT_AGREE);
            OWN_STEPPER *st = stepper(t, &s);
            assert_int_equal(stepper_begin(st, 0, 0.1, s.initial, START_GIVEN, NULL), 0);
            counted = 0;
            for (int n = 0; n < 3; n++) assert_int_equal(stepper_step(st), 0);
            assert_int_equal(stepper_evals(st), counted);
            assert_true(isfinite(stepper_state(st)[0]));
        }
    OWN_SYSTEM *s = make("attention");
    OWN_TABLE *t = frozen("ros3p");
    exchange(t); /* control: of order 1 where W is no Jacobian */
    assert_int_equal(order_verdict(t, s, 3), VERDICT_DISAGREE);
}

/* Solves for two stages with different c, two steps of one derivative; returns the values of fields, x (2, N) out. */
static size_t two_steps(const System *s, size_t dense, double *x)
{
    OWN_TABLE *t = frozen("k1 = H(y)\nk2 = solve(1/4 H)(k1)\nk3 = solve(1/2 F)(k2)\ny' = y + k3");
    size_t N = s->n * s->d, evals = 0;
    OWN_REALS *r = numbers(N);
    Functions *m;
    assert_int_equal(functions_new(t, s, dense, &m), 0);
    functions_begin(m);
    for (int step = 0; step < 2; step++) {
        double h = step ? 0.05 : 0.1;
        for (size_t i = 0; i < N; i++) r[i] = s->initial[i] + 0.1 * sin((double)i);
        evals += functions_apply(m, &t->eval[2], 0, h, s->initial, r, x);
        memcpy(r, x, N * sizeof *r);
        evals += functions_apply(m, &t->eval[3], 0, h, s->initial, r, x + N);
    }
    assert_false(functions_failed(m));
    functions_free(m);
    return evals;
}

/* Stiff bands between ends, on a ring, and of two coordinates, those that are told and those that are looked for: few values of
 * the fields, and what whole matrices give. The control sees far ones, and so many more. */
TEST(test_bands)
{
    OWN_REALS *x = numbers((size_t)6 * 96);
    for (int k = 0; k < BANDED; k++) {
        OWN_SYSTEM *s = banded(k);
        size_t N = s->n * s->d;
        size_t told = two_steps(s, 0, x + 4 * N);
        untell(s);
        two_steps(s, SIZE_MAX, x);
        size_t seen = two_steps(s, 0, x + 2 * N);
        for (size_t at = 2 * N; at <= 4 * N; at += 2 * N) {
            double off = relative_distance(x + at, x, 2 * N);
            if (!(off <= (at == 2 * N ? 1e-7 : 1e-9) && told < seen && seen <= 80))
                fail_msg("%s: %g, %zu, %zu", s->name, off, told, seen);
        }
    }
    OWN_SYSTEM *far = banded(BANDED);
    assert_true(two_steps(far, 0, x) > 80);
}

/* A matrix without an inverse is told: 1 - h lambda = 0. */
TEST(test_singular)
{
    OWN_SYSTEM *s = read_system("system a\nn 1\nG = y\ninitial = 1\n", 0, 0);
    OWN_TABLE *t = frozen("k1 = H(y)\nk2 = solve(1 H)(k1)\ny' = y + k2");
    double y = 1;
    assert_int_equal(walk(t, s, 0, 1, 1, &y), ERR_NUMERIC);
    assert_non_null(strstr(error_text(), "a linear system of step 1 was not solved"));
    y = 1;
    assert_int_equal(walk(t, s, 0, 0.5, 1, &y), 0);
    assert_true(fabs(y - 2) <= 1e-9);
}

/* Stiff systems take few steps, and errors fall with the tolerance. dormand-prince needs many more. */
TEST(test_stiff)
{
    static const struct {
        const char *system, *scheme;
        double bound; /* of the error, over the tolerance */
    } run[] = {{"van-der-pol:mu=1000", "rodas4", 1},
               {"robertson", "rodas4", 1},
               {"hires", "rodas4", 1},
               {"van-der-pol:mu=1000", "ros3p", 2},
               {"robertson", "ros3p", 1},
               {"robertson", "ros2-w", 100},
               {"robertson", "ros34pw2", 100}};
    for (size_t i = 0; i < sizeof run / sizeof *run; i++) {
        OWN_SYSTEM *s = make(run[i].system);
        OWN_TABLE *t = scheme(run[i].scheme), *explicit = scheme("dormand-prince");
        double y[8], exact[8], agreement;
        AdaptRun r, other;
        AdaptOptions o = within(1e-6, s->t_end, embedded_of(t).estimate_order);
        assert_int_equal(reference_solve(s, &s->t_end, 1, exact, &agreement), 0);
        assert_int_equal(adapt_run(t, s, &o, y, &r), 0);
        double error = distance(y, exact, s->n * s->d);
        if (r.outcome != ADAPT_DONE || !(error <= run[i].bound * 1e-6) || r.steps > 2000)
            fail_msg("%s on %s: %zu steps, error %g", t->name, s->name, r.steps, error);
        o.estimate_order = 4;
        assert_int_equal(adapt_run(explicit, s, &o, y, &other), 0);
        if (strcmp(run[i].scheme, "rodas4") == 0) assert_true(other.steps > 5 * r.steps);
    }
}

/* The derivative by time is one over a small part of the step, on a field that changes 20,000 times a second: with a difference over 7.6e-6
 * rodas4 took 7,000 steps over the first tenth of this time. */
TEST(test_fast_field)
{
    OWN_SYSTEM *s = make("ring-modulator");
    OWN_TABLE *t = scheme("rodas4");
    double y[15];
    AdaptRun r;
    AdaptOptions o = within(1e-3, 1e-5, embedded_of(t).estimate_order);
    o.most = 200;
    assert_int_equal(adapt_run(t, s, &o, y, &r), 0);
    assert_int_equal(r.outcome, ADAPT_DONE);
}

/* ---- the language, and elsewhere ------------------------------------------------------------------------ */

TEST(test_refused)
{
    OWN_TABLE *out = NULL;
    OWN_RATIONAL total;
    mpq_init(total);
    assert_refused(zoo_compose(&zoo, "ros2,ros2", total, &out), "ros2,ros2", "a Rosenbrock method");
    refuse_name("ros2-layer", "a Rosenbrock method has no form over other operators");
    refuse_name("ros2:fixed-point-2", "no implicit stage");
    static const char *const others[] = {
        "k1 = H(y)\nk2 = solve(1/2 F)(k1)\ny' = y + k2",
        "k1 = H(y)\nk2 = solve(1/2 H)(k1)\ny' = y + k1 + k2",
        "k1 = H(y)\nk2 = solve(1/2 H)(k1)\nk3 = H(y + k1)\nk4 = solve(1/2 H)(k3)\ny' = y + k4"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        OWN_TABLE *t = frozen(others[i]);
        Rosenbrock r;
        assert_refused(rosenbrock_find(t, &r), "is no Rosenbrock method of alpha, gamma and b", "");
    }
}

/* Exponential methods of two and three steps (Lawson 1967; Norsett 1969; Cox, Matthews 2002) have their orders; with another weight they
 * do not. */
TEST(test_multistep)
{
    static const char start[] = "linear F\nk1 = F(y)\nk2 = G(y)\nk3 = phi1(F)(k1 + k2)\n";
    static const struct {
        const char *rest;
        int order;
    } row[] = {{"k4 = phi2(F)(k2 - k2[-1])\ny' = y + k3 + k4", 2},
               {"k4 = phi1(F)(k2 - k2[-1])\ny' = y + k3 + k4", 1},
               {"k4 = phi1(F)(k2)\nk5 = phi0(F)(k2)\nk6 = phi0(2 F)(k2[-1])\n"
                "y' = y + k3 - k4 + 3/2*k5 - 1/2*k6",
                2},
               {"k4 = phi1(F)(k2)\nk5 = phi0(F)(k2)\nk6 = phi0(F)(k2[-1])\n"
                "y' = y + k3 - k4 + 3/2*k5 - 1/2*k6",
                1},
               {"k4 = phi2(F)(3/2*k2 - 2*k2[-1] + 1/2*k2[-2])\n"
                "k5 = phi3(F)(k2 - 2*k2[-1] + k2[-2])\ny' = y + k3 + k4 + k5",
                3}};
    OWN_SYSTEM *s = make("fisher");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = frozen(formed("%s%s", start, row[i].rest));
        assert_int_equal(order_of(t), row[i].order);
        assert_int_equal(order_verdict(t, s, row[i].order), VERDICT_AGREE);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
