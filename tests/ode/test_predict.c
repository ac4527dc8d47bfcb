/* test_predict.c: checks predicted error constants against closed forms and against measured ones for
 * every scheme on every system. A wrong theory is not confirmed. */
#include "tests/lib/test.h"

#include "tests/lib/draws.h"
#include "tests/lib/schemes.h"

static void close_to(double a, double b, double tolerance)
{
    if (!(fabs(a - b) <= tolerance * fabs(b))) fail_msg("%.12g is not %.12g", a, b);
}

/* Returns a study, to be held against a prediction. */
static OrderStudy study(const Table *t, const System *s, const Theory *th, int local)
{
    return measured(t, s, (OrderOptions){.halvings = 5, .local = local}, th->order,
                    th->zero_stable);
}

/* ---- closed forms -------------------------------------------------------------------------------- */

OWN_FIELD(growth)
{
    dy[0] = y[0];
}

OWN_FIELD(rest)
{
    dy[0] = 0;
}

/* On y' = y the global error tends to c T e^T h^p, the local one to c rho'(1) h^(p+1): AB by their
 * error constants, leapfrog by 1/3 and rho'(1) = 2, Runge-Kutta by 1/(p+1)!. The tolerance is the
 * accuracy that predict.c asks of itself. Measured constants are those too, by their fit. */
TEST(test_scalar)
{
    static const struct {
        const char *name;
        double c, root;
    } cases[] = {{"euler", 1.0 / 2, 1},   {"heun", 1.0 / 6, 1},   {"rk3", 1.0 / 24, 1},
                 {"rk4", 1.0 / 120, 1},   {"ab2", 5.0 / 12, 1},   {"ab3", 3.0 / 8, 1},
                 {"ab4", 251.0 / 720, 1}, {"ab5", 95.0 / 288, 1}, {"leapfrog", 1.0 / 6, 2}};
    System growing = scalar_system(growth, rest);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN_TABLE *t = scheme(cases[i].name);
        Theory th = theory_of(t, 6);
        Prediction p = predict(t, &growing, 2, NULL);
        close_to(p.local, cases[i].c * cases[i].root, 1e-4);
        close_to(p.global, cases[i].c * 2 * exp(2), 1e-4);
        assert_true(p.accuracy <= 1e-4);
        OWN_STUDY m = measured(t, &growing, (OrderOptions){.halvings = 6}, th.order, 1);
        assert_int_equal(m.verdict, VERDICT_AGREE);
        /* b h is fitted; the rest is some (L h)^2 and a floor of at most 1/32, over 4 points */
        close_to(m.constant, cases[i].c * exp(1), 0.02);
        for (int k = 0; k < 3; k++) { /* the control: a constant that is a tenth off */
            double other = (1 + 0.1 * (k - 1)) * m.constant, e = other * copysign(1, *m.leading);
            assert_int_equal(order_match(&m, other, 1e-4, &e),
                             k == 1 ? VERDICT_AGREE : VERDICT_DISAGREE);
        }
    }
}

/* The nilpotent oracles have T/2 y3, T/6 y4, T/12 y4 in one component. Local errors are without T. */
TEST(test_oracles)
{
    static const struct {
        const char *scheme, *system;
        double component;
    } cases[] = {{"lie-trotter", "nilpotent", 1.5},
                 {"strang-marchuk", "nilpotent:4", 2},
                 {"strang-marchuk-fgf", "nilpotent:4", 1},
                 {"strang-marchuk", "nilpotent", 0},
                 {"heun", "nilpotent", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWN_SYSTEM *s = make(cases[i].system);
        OWN_TABLE *t = scheme(cases[i].scheme);
        double expected = cases[i].component / sqrt((double)s->d);
        Prediction p = predict(t, s, 2, NULL);
        close_to(p.local, expected, 1e-9);
        close_to(p.global, 2 * expected, 1e-9);
        if (expected == 0) continue;
        int order = order_of(t);
        OWN_STUDY m = measured(t, s, (OrderOptions){.halvings = 6}, order, 1);
        close_to(m.constant, expected, 1e-12);
        assert_true(fabs(m.slope - order) <= 1e-9);
    }
}

/* An inconsistent scheme follows another field: weights 1 + 1 double the speed, e^2T - e^T. */
TEST(test_order_zero)
{
    System growing = scalar_system(growth, rest);
    OWN_TABLE *twice = scheme("k1 = H(y)\ny' = y + 2*k1"),
              *slow = scheme("k1 = H(y)\ny' = 1/2*y + 1/2*y[-1] + k1");
    Prediction p = predict(twice, &growing, 1, NULL);
    close_to(p.global, exp(2) - exp(1), 1e-12);
    close_to(p.local, 1, 1e-9);
    close_to(predict(slow, &growing, 1, NULL).global, exp(1) - exp(2.0 / 3), 1e-12);
}

/* ---- measured constants -------------------------------------------------------------------------- */

/* Checks what holds for every study whatever its verdict. */
static void check_study(const OrderStudy *m, const System *s)
{
    for (size_t i = 0; i < m->points; i++) {
        const OrderPoint *p = &m->point[i];
        assert_true(fabs(p->h * (double)p->steps - s->t_end) <= 1e-15);
        assert_true(p->error >= 0 && p->seconds >= 0);
        if (i) assert_true(p->steps > p[-1].steps);
        if (p->used) assert_true(p->error > p->floor && !p->unstable && isfinite(m->slope));
        assert_true(p->floor > 0 && (p->floor < 1e-11 || !isfinite(p->error)));
    }
    assert_true(m->points >= 6);
    if (isfinite(m->slope)) assert_true(m->low <= m->slope && m->slope <= m->high);
}

/* The default system must give the exact order, or its constant where a term of a higher order is larger at these steps. More is
 * allowed where a system lacks trees: linear systems, and those of kick and drift, where F'F = G'G = 0. */
static void check_verdict(const OrderStudy *m, const Table *t, const System *s)
{
    const int linear = 1 << OP_F | 1 << OP_G;
    int special = (s->special & linear) == linear || strcmp(s->name, "kepler") == 0 ||
                  strcmp(s->name, "henon") == 0;
    int hidden = m->verdict == VERDICT_UNDECIDED && m->constant_off <= .15 * m->constant;
    int good = m->verdict == VERDICT_AGREE || hidden ||
               (special && (m->verdict == VERDICT_HIGHER || m->verdict == VERDICT_FLOOR));
    if (!good)
        fail_msg("%s on %s: order %d, measured %g in [%g, %g]: %s", t->name, s->name, m->expected,
                 m->slope, m->low, m->high, verdict_name(m->verdict));
}

/* Checks that a confirmed constant is not confirmed for errors twice or half as large, or of the other sign. */
static void check_refused(const OrderStudy *m, double constant, double accuracy, double *e)
{
    static const double factor[] = {2, 0.5, -1};
    for (size_t j = 0; j < sizeof factor / sizeof *factor; j++) {
        for (size_t c = 0; c < m->N; c++) e[c] *= factor[j];
        assert_int_equal(order_match(m, fabs(factor[j]) * constant, accuracy, e), VERDICT_DISAGREE);
        for (size_t c = 0; c < m->N; c++) e[c] /= factor[j];
    }
}

/* Compares both errors, and the order of the global one. Returns how many of them were measured and met. */
static int compare(const Table *t, const System *s, const Theory *th)
{
    int compared = 0;
    Prediction p;
    OWN_REALS *vector = numbers(2 * s->n * s->d);
    assert_int_equal(order_predict(t, s, 0, th->order, th->zero_stable, &p, vector), 0);
    for (int local = 0; local < 2; local++) {
        OWN_STUDY m = study(t, s, th, local);
        if (!local) check_study(&m, s);
        if (!local && th->order >= 1) check_verdict(&m, t, s);
        double constant = local ? p.local : p.global, *e = vector + (local ? 0 : m.N);
        int match = order_match(&m, constant, p.accuracy, e);
        if (match == VERDICT_DISAGREE)
            fail_msg("%s on %s%s: constant %.6g (within %.1g), predicted %.6g, %s", t->name,
                     s->name, local ? ", local" : "", m.constant, m.constant_off, constant,
                     verdict_name(m.verdict));
        if (match != VERDICT_AGREE || m.verdict != VERDICT_AGREE) continue;
        compared++;
        check_refused(&m, constant, p.accuracy, e);
    }
    return compared;
}

/* Every scheme of the zoo, sub-flow solvers, blocks over L, words, which are compared with a F + b G, stages on past slopes and
 * Butcher's method of 1964 (six stages, weights 7, 32, 12, 32, 7 over 90) have their orders on every tenth system (with TROTTER_DRAWS
 * on all). Two independent computations of their constants agree: trees and derivatives, and steps and a line. Nearly all can be
 * compared; on commuting and nilpotent systems most vanish. On attention's field, which has all kinds of trees, every implicit
 * scheme's can be. */
TEST(test_everywhere)
{
    OWN_TABLES list =
        listed("strang-marchuk:heun,yoshida4:rk4,word:fsf,word:ssfsff:heun,rk4-layer,"
               "looped:3,leapfrog-layer,ab3-layer,macaron-decoder,heun-decoder,"
               "word:scscfscff,lie-trotter:euler,sandwich:3-1:rk4,strang-decoder:heun",
               "exact");
    OWN_TABLE *past_k = scheme("k1 = H(y + 1/2*k1[-1])\ny' = y + k1"),
              *past_y = scheme("k1 = H(3/2*y - 1/2*y[-1])\ny' = y + k1"),
              *both = scheme("k1 = H(3/2*y - 1/2*y[-1] @ 1/2)\ny' = y + 2*k1 - k1[-1]"),
              *butcher = scheme("k1 = H(y)\nk2 = H(y + 1/4*k1)\nk3 = H(y + 1/8*k1 + 1/8*k2)\n"
                                "k4 = H(y - 1/2*k2 + k3)\nk5 = H(y + 3/16*k1 + 9/16*k4)\n"
                                "k6 = H(y - 3/7*k1 + 2/7*k2 + 12/7*k3 - 12/7*k4 + 8/7*k5)\n"
                                "y' = y + 7/90*k1 + 16/45*k3 + 2/15*k4 + 16/45*k5 + 7/90*k6");
    const Table *more[] = {past_k, past_y, both, butcher};
    OWN_SYSTEMS all = all_systems();
    size_t every = draws(0) ? 1 : 10;
    int compared = 0;
    for (size_t i = 0; i < zoo.count + list.count + 4; i++) {
        const Table *t = i < zoo.count                ? zoo.scheme[i]
                         : i < zoo.count + list.count ? list.table[i - zoo.count]
                                                      : more[i - zoo.count - list.count];
        Theory th = theory_of(t, 6);
        if (th.order >= 6)
            continue; /* dop853, whose order is above what is searched, and its error rounding */
        for (size_t k = 0; all.of[k]; k++) {
            int all_trees = table_implicit(t) && strcmp(all.of[k]->name, "attention") == 0;
            if (system_takes(all.of[k], t) != 0 || (!all_trees && (i + k) % every)) continue;
            int found = compare(t, all.of[k], &th);
            compared += found;
            if (found < 2 && all_trees) fail_msg("%s is not compared on attention", t->name);
        }
    }
    print_message("%d compared\n", compared);
    assert_true(compared >= 200);
}

/* Exponential schemes on a stiff system: at most of the steps h |J| is above 1, where extrapolated constants agree with
 * each other by chance. None disagrees with the prediction, and all are compared; one that is a third off is refused. */
TEST(test_coarse_steps)
{
    char text[4096];
    int compared = 0;
    OWN_TABLES list = listed("etd-euler,etd-rk2,etd-rk4,exponential-rosenbrock-euler", "exact");
    FILE *f = fopen("ode/systems/dirichlet.system", "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    OWN_SYSTEMS one = remembering(read_system(text, 0, 0));
    const System *s = one.of[0];
    for (size_t i = 0; i < list.count; i++) {
        const Table *t = list.table[i];
        Theory th = theory_of(t, 6);
        double vector[2 * 16];
        Prediction p = predict(t, s, 0, vector);
        OWN_STUDY m = measured(t, s, (OrderOptions){.halvings = 7}, th.order, 1);
        int match = order_match(&m, p.global, p.accuracy, vector + m.N);
        if (match == VERDICT_DISAGREE)
            fail_msg("%s: %.5g within %.2g, not %.5g", t->name, m.constant, m.constant_off,
                     p.global);
        if (match != VERDICT_AGREE) continue;
        compared++;
        for (size_t k = 0; k < m.N; k++) vector[m.N + k] *= 4. / 3;
        assert_int_equal(order_match(&m, p.global * 4 / 3, p.accuracy, vector + m.N),
                         VERDICT_DISAGREE);
    }
    assert_true(compared >= 4);
}

/* ---- no prediction ------------------------------------------------------------------------------- */

OWN_FIELD(kink)
{
    dy[0] = 1 + fabs(y[0] - 1.7);
}

/* The constants of Euler's method on van der Pol's equation are those of a Runge-Kutta integration of its variational
 * equation in 400,000 steps. A path through both jumps is too coarse for a prediction, and there is none. */
TEST(test_jumps)
{
    OWN_SYSTEM *s = make("van-der-pol:mu=5");
    OWN_TABLE *euler = frozen("k1 = H(y)\ny' = y + k1");
    Prediction p;
    double vector[4];
    assert_int_equal(order_predict(euler, s, 10, 1, 1, &p, vector), 0);
    if (!(fabs(p.global - 12.322311806426) <= 5e-4 * 12.3)) fail_msg("%g", p.global);
    assert_int_equal(order_predict(euler, s, 20, 1, 1, &p, vector), 0);
    assert_true(isnan(p.global) || fabs(p.global - 12.282282059) <= 0.02 * 12.3);
}

TEST(test_nothing)
{
    System s = scalar_system(growth, rest), kinked = scalar_system(kink, rest);
    OWN_TABLE *polynet = scheme("polynet"), /* no expansion about y */
        *wild = scheme("k1 = H(y)\ny' = -4*y + 5*y[-1] + 4*k1 + 2*k1[-1]"), *rk4 = scheme("rk4");
    Prediction p = predict(polynet, &s, 0, NULL);
    assert_true(isnan(p.global) && isnan(p.local));
    p = predict(wild, &s, 0, NULL);
    assert_true(isnan(p.global));
    close_to(p.local, 1.0 / 6, 1e-4);                          /* 6 times the constant 1/36 */
    assert_true(isnan(predict(rk4, &kinked, 0, NULL).global)); /* not smooth along the way */
}

TEST_MAIN(zoo_begin, zoo_end)
