/* test_implicit.c: stages that name themselves or later ones: blocks, orders and error constants by the trees, A-stability,
 * the solver against R(z) in closed form and against itself by another path, IMEX schemes, iterations by fixed point. */
#include "tests/lib/test.h"

#include <complex.h>

#include "kernels/base/random.h"
#include "ode/step/implicit.h"
#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

static const double eps = 0x1p-52;

/* ---- the table ------------------------------------------------------------------------------------- */

TEST(test_blocks)
{
    static const struct {
        const char *text;
        int implicit;
        size_t blocks;
        const char *solved; /* whether each block, in order, needs solving */
    } row[] = {
        {"rk4", 0, 4, "0000"},
        {"implicit-euler", 1, 1, "1"},
        {"trapezoid", 1, 2, "01"},
        {"sdirk2", 1, 2, "11"},
        {"gauss4", 1, 1, "1"},
        {"radau-iia5", 1, 1, "1"},
        {"ars222", 1, 4, "0101"},
        {"bdf2", 1, 1, "1"},
        /* a later stage is read, but none reads itself through another: nothing needs solving */
        {"k1 = H(y + k2)\nk2 = H(y)\ny' = y + 1/2*k1 + 1/2*k2", 1, 2, "00"},
        {"k1 = L(y + 1/2*k1)\ny' = y + k1", 1, 1, "1"},
        {"k1 = F(y + k2)\nk2 = G(y + k3)\nk3 = F(y + k2)\nk4 = G(y + k1)\ny' = y + k4", 1, 3,
         "100"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = scheme(row[i].text);
        int block[16], solved[16];
        size_t count;
        assert_int_equal(table_implicit(t), row[i].implicit);
        assert_int_equal(table_blocks(t, block, solved, &count), 0);
        assert_int_equal(count, row[i].blocks);
        for (size_t b = 0; b < count; b++) assert_int_equal(solved[b], row[i].solved[b] - '0');
        for (size_t p = 0; p < t->points; p++) /* a block reads earlier blocks and itself */
            for (size_t k = 0; k < t->point[p].row.terms; k++) {
                const Term *s = &t->point[p].row.term[k];
                if (s->eval < 0 || s->past) continue;
                int other = block[t->eval[s->eval].point];
                assert_true(other < block[p] || (other == block[p] && solved[other]));
            }
    }
}

/* Stages that the update does not read, directly or in circles, serve a pair alone. */
TEST(test_pair_of_circles)
{
    OWN_TABLE *t = scheme("k1 = H(y + 1/2*k1)\nk2 = H(y + k3)\nk3 = H(y + k2)\ny' = y + k1\n"
                          "error = k1 - k2"),
              *fixed = scheme("k1 = H(y + 1/2*k1)\ny' = y + k1"),
              *all = scheme("k1 = H(y + k2)\nk2 = H(y + k3)\nk3 = H(y + k2)\ny' = y + k1\n"
                            "error = k1 - k2"),
              *froze = freeze(t);
    assert_true(table_equal(froze, fixed));
    assert_int_equal(t->pair->stages, 3);
    assert_int_equal(all->stages, 3);
}

/* ---- orders ---------------------------------------------------------------------------------------- */

/* Returns the coefficient of the tall tree F'F'..F of order n, the error R(z) - exp(z) at z^n. */
static double tall(const Table *t, int n)
{
    OWN_TABLE *froze = freeze(t);
    OWN_SUM error = defect_of(froze, n);
    char name[2 * TREE_MAX + 2] = "F";
    for (int k = 1; k < n; k++) strcat(name, "'F");
    return mpq_get_d(error.c[tree_named(error.f, name)]);
}

/* Orders are those of their sources, of the pairs Kennedy, Carpenter 2003. The constants are those of the Pade approximation (j, k) of exp, R(z) - exp(z) =
 * (-1)^(k+1) j! k! / ((j+k)! (j+k+1)!) z^(j+k+1) + ... (Hairer, Wanner 1996, section IV.3). */
TEST(test_orders)
{
    static const struct {
        const char *name;
        int order;
        int embedded;    /* -1: no pair */
        double constant; /* coefficient of F'F'..F; 0: not checked */
    } row[] = {{"implicit-euler", 1, -1, 1. / 2},
               {"implicit-midpoint", 2, -1, 1. / 12},
               {"trapezoid", 2, -1, 1. / 12},
               {"sdirk2", 2, -1, 0},
               {"tr-bdf2", 2, 3, 0},
               {"sdirk4", 4, 3, 0},
               {"kvaerno3", 3, 2, 0},
               {"kvaerno5", 5, 4, 0},
               {"esdirk4", 4, 3, 0},
               {"gauss4", 4, -1, -1. / 720},
               {"radau-iia3", 3, -1, -1. / 72},
               {"radau-iia5", 5, 3, 1. / 7200},
               {"lobatto-iiic4", 4, -1, 1. / 480},
               {"bdf2", 2, -1, 0},
               {"bdf", 5, -1, 0},
               {"adams-moulton3", 3, -1, 0},
               {"imex-euler", 1, -1, 0},
               {"ars222", 2, -1, 0},
               {"ark3", 3, 2, 0},
               {"ark4", 4, 3, 0}};
    OWN_TABLES list = listed("implicit", "exact");
    OWN_RATIONAL part;
    mpq_init(part);
    mpq_set_ui(part, 1, 1000);
    assert_int_equal(list.count, sizeof row / sizeof *row);
    for (size_t i = 0; i < list.count; i++) {
        Theory th = theory_of(list.table[i], 6);
        assert_string_equal(list.table[i]->name, row[i].name);
        assert_int_equal(th.order, row[i].order);
        assert_int_equal(embedded_of(list.table[i]).order, row[i].embedded);
        assert_true(th.zero_stable && th.residual <= 1e-17);
        double c = row[i].constant;
        if (c != 0) assert_true(fabs(tall(list.table[i], th.order + 1) - c) <= 1e-15);
        /* the control: no coefficient is without effect */
        OWN_TABLE *spoilt = freeze(list.table[i]);
        Row *r = &spoilt->point[spoilt->points - 1].row;
        int last = spoilt->eval[r->term[r->terms - 1].eval].stage; /* of H both slopes */
        for (size_t k = 0; k < r->terms; k++)
            if (r->term[k].eval >= 0 && spoilt->eval[r->term[k].eval].stage == last)
                mpq_add(r->term[k].c, r->term[k].c, part);
        assert_true(order_of(spoilt) < row[i].order || row[i].order == 1);
    }
}

/* ---- stability ------------------------------------------------------------------------------------- */

/* A- and L-stability are as in Hairer, Wanner 1996, sections IV.3 (Pade), IV.5, IV.6. The theta method is A-stable for
 * theta >= 1/2; Crouzeix's and Norsett's method of order 3 with gamma = (3 + sqrt 3)/6, not with the other root;
 * Alexander 1977. Angles of A(alpha)-stability are those of Hairer, Wanner 1996, table V.2.1 (BDF). The behaviour at infinity is
 * known for these and others; for IMEX schemes it is that of the implicit operator (Ascher, Ruuth, Wetton 1995). A BDF
 * with two coefficients off by 1/11 has another angle. For one-step schemes the search finds the exact result. */
TEST(test_stiff_stability)
{
    enum { ANY = -2 };
    static const struct {
        const char *text;
        int a, l;
        double infinity;
        int colour;
        double alpha; /* NAN: not known */
    } row[] = {
        {"implicit-euler", 1, 1, 0, -1, NAN},
        {"implicit-midpoint", 1, 0, 1, -1, NAN},
        {"trapezoid", 1, 0, 1, -1, NAN},
        {"sdirk2", 1, 1, 0, -1, NAN},
        {"tr-bdf2", 1, 1, 0, -1, NAN},
        {"sdirk4", 1, 1, 0, -1, NAN},
        {"kvaerno3", 1, 1, 0, -1, NAN},
        {"esdirk4", 1, 1, 0, -1, NAN},
        {"gauss4", 1, 0, 1, -1, NAN},
        {"radau-iia3", 1, 1, 0, -1, NAN},
        {"radau-iia5", 1, 1, 0, -1, NAN},
        {"lobatto-iiic4", 1, 1, 0, -1, NAN},
        {"imex-euler", 1, 1, 0, OP_F, NAN},
        {"ars222", 1, 1, 0, OP_F, NAN},
        {"ark3", 1, 1, 0, OP_F, NAN},
        {"ark4", 1, 1, 0, OP_F, NAN},
        {"rk4", 0, 0, INFINITY, -1, NAN},
        {"k1 = H(y + 499/1000*k1)\ny' = y + k1", 0, 0, 501. / 499, -1, NAN},
        {"k1 = H(y + 501/1000*k1)\ny' = y + k1", 1, 0, 499. / 501, -1, NAN},
        {"let g = (3+sqrt(3))/6\nk1 = H(y + g*k1)\nk2 = H(y + (1-2*g)*k1 + g*k2)\n"
         "y' = y + 1/2*k1 + 1/2*k2",
         1, 0, 0.73205080756887729, -1, NAN},
        {"let g = (3-sqrt(3))/6\nk1 = H(y + g*k1)\nk2 = H(y + (1-2*g)*k1 + g*k2)\n"
         "y' = y + 1/2*k1 + 1/2*k2",
         0, 0, 2.7320508075688773, -1, NAN},
        /* |R| = |1 / (1 + z)| is small far out, and has its pole at -1 */
        {"k1 = H(y - k1)\ny' = y - k1", 0, 0, 0, -1, NAN},
        /* a stage that no step depends on has a pole that R does not have */
        {"k1 = H(y + k1)\nk2 = H(y - k2)\ny' = y + k1", 1, 1, 0, -1, NAN},
        /* R = (1 + z/2 + z^2/10) / (1 - z/2 + z^2/12): poles on the right, above 1 on the imaginary axis */
        {"k1 = G(y + 1/4*k1 + 1/6*k2)\nk2 = G(y - 1/8*k1 + 1/4*k2)\ny' = y + 1/2*k1 + 1/2*k2", 0, 0,
         NAN, OP_G, NAN},
        {"bdf2", 1, 1, 0, ANY, 90},
        {"k1 = H(18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1)\n"
         "y' = 18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1",
         0, 0, 0, ANY, 86.03},
        {"adams-moulton3", 0, 0, 1.7165, ANY, 0},
        {"k1 = G(y)\nk2 = F(4/3*y - 1/3*y[-1] + 4/3*k1 - 2/3*k1[-1] + 2/3*k2)\n"
         "y' = 4/3*y - 1/3*y[-1] + 4/3*k1 - 2/3*k1[-1] + 2/3*k2",
         1, 1, 0, ANY, 90},
        {"k1 = G(y)\nk2 = F(y)\nk3 = F(y[-1] + 2*k1 + k2[-1] + k3)\ny' = y[-1] + 2*k1 + k2[-1] + k3",
         1, 0, 1, ANY, 90},
        {"k1 = H(y + 9/20*k1)\ny' = y + k1", 0, 0, 11. / 9, ANY, 0},
        {"implicit-midpoint", 1, 0, 1, ANY, 90},
        /* |R| is above 1 so far out that no search sees it, or nowhere: R(inf) decides, 1.000004 and less than 1. */
        {"k1 = H(y)\nk2 = H(y + .500001*k1 + .499999*k2)\ny' = y + .500001*k1 + .499999*k2", 0, 0,
         .500001 / .499999, ANY, 0},
        {"k1 = H(y)\nk2 = H(y + .499999*k1 + .500001*k2)\ny' = y + .499999*k1 + .500001*k2", 1, 0,
         .499999 / .500001, ANY, 90},
        {"k1 = H(y + .249999*k1)\nk2 = H(y + .5*k1 + .249999*k2)\ny' = y + .5*k1 + .5*k2", 0, 0,
         1.000016000064, ANY, 0},
        {"k1 = H(y + .250001*k1)\nk2 = H(y + .5*k1 + .250001*k2)\ny' = y + .5*k1 + .5*k2", 1, 0,
         0.99998400006399977, ANY, 90},
        /* 1 / R is Taylor's polynomial of degree 3 and 4: angles by bisection in 40 digits */
        {"k1 = H(y + k1 - 1/2*k2)\nk2 = H(y + k1 - 1/3*k3)\nk3 = H(y + k1)\ny' = y + k1", 0, 0, 0,
         -1, 88.230152},
        {"k1 = H(y + k1 - 1/2*k2)\nk2 = H(y + k1 - 1/3*k3)\nk3 = H(y + k1 - 1/4*k4)\n"
         "k4 = H(y + k1)\ny' = y + k1",
         0, 0, 0, -1, 83.984109},
    };
    Stiff s;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = frozen(row[i].text);
        int angle = !isnan(row[i].alpha);
        assert_int_equal(stability_stiff(t, &s), 0);
        int same =
            isnan(row[i].infinity) || (angle ? fabs(s.r_infinity - row[i].infinity) < 1e-3
                                             : is_near(s.r_infinity, row[i].infinity, 4 * eps));
        same = same && (row[i].colour == ANY || s.colour == row[i].colour);
        same = same && (!angle || fabs(s.alpha - row[i].alpha) < 0.01);
        if (!same || s.a_stable != row[i].a || s.l_stable != row[i].l)
            fail_msg("%s: A %d, L %d, %.6g degrees, R(inf) %.17g, colour %d", row[i].text,
                     s.a_stable, s.l_stable, s.alpha, s.r_infinity, s.colour);
    }
    OWN_TABLE *t = frozen("k1 = H(19/11*y - 10/11*y[-1] + 2/11*y[-2] + 6/11*k1)\n"
                          "y' = 19/11*y - 10/11*y[-1] + 2/11*y[-2] + 6/11*k1"),
              *ab2 = frozen("ab2");
    assert_int_equal(stability_stiff(t, &s), 0);
    assert_true(fabs(s.alpha - 86.03) > 0.1);
    assert_int_equal(stability_stiff(ab2, &s), 0);
    assert_true(s.a_stable == TOLD_NOT && isnan(s.alpha) && isnan(s.r_infinity));
}

/* What is not told is said why: a method of 70 stages, each solved for, one of 30 in one block is told, and the control. */
TEST(test_untold)
{
    static const struct {
        int stages, block, told;
    } row[] = {{70, 0, 0}, {30, 1, 1}, {40, 0, 1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char text[8192];
        size_t n = 0;
        Stiff s;
        for (int k = 1; k <= row[i].stages; k++) {
            int of = row[i].block ? k % row[i].stages + 1 : k;
            n += (size_t)snprintf(text + n, sizeof text - n, "k%d = H(y + 1/2*k%d)\n", k, of);
        }
        snprintf(text + n, sizeof text - n, "y' = y + 1/2*k1 + 1/2*k%d", row[i].stages);
        OWN_TABLE *t = frozen(text);
        assert_int_equal(stability_stiff(t, &s), 0);
        assert_true((s.a_stable != TOLD_NOT) == row[i].told && (s.why == NULL) == row[i].told);
    }
}

/* R(z) = P(z) / Q(z) in closed form; coefficients of z^0 .. */
static const struct {
    const char *name;
    double P[4], Q[4];
} factors[] = {{"implicit-euler", {1}, {1, -1}},
               {"implicit-midpoint", {1, 1. / 2}, {1, -1. / 2}},
               {"trapezoid", {1, 1. / 2}, {1, -1. / 2}},
               {"gauss4", {1, 1. / 2, 1. / 12}, {1, -1. / 2, 1. / 12}},
               {"radau-iia3", {1, 1. / 3}, {1, -2. / 3, 1. / 6}},
               {"radau-iia5", {1, 2. / 5, 1. / 20}, {1, -3. / 5, 3. / 20, -1. / 60}},
               {"lobatto-iiic4", {1, 1. / 4}, {1, -3. / 4, 1. / 4, -1. / 24}}};
enum { FACTORS = sizeof factors / sizeof *factors };

static double complex value(const double *c, double complex z)
{
    return c[0] + z * (c[1] + z * (c[2] + z * c[3]));
}

/* The amplifier's linear system agrees with these closed forms, and the exact polynomials give no ends. */
TEST(test_amplification)
{
    for (size_t i = 0; i < FACTORS; i++) {
        OWN_TABLE *t = frozen(factors[i].name);
        for (uint64_t k = 0; k < 50; k++) {
            double complex x =
                5 * random_normal(1, 1, 2 * k) + 5 * random_normal(1, 1, 2 * k + 1) * I;
            double R = cabs(value(factors[i].P, x) / value(factors[i].Q, x));
            double found = modulus(t, x / 2, x / 2);
            if (!(fabs(found - R) <= 1e-12 * (1 + R)))
                fail_msg("%s at %g%+gi: %.17g, not %.17g", t->name, creal(x), cimag(x), found, R);
        }
        assert_limits(factors[i].name, -INFINITY, INFINITY, 0);
    }
}

/* At a pole of R a stage has no solution: |R| is infinite there, and finite beside it. */
TEST(test_poles)
{
    static const struct {
        const char *scheme;
        double at;
    } pole[] = {{"implicit-euler", 1}, {"trapezoid", 2}, {"bdf2", 1.5}, {"sdirk2", 0}};
    for (size_t i = 0; i < sizeof pole / sizeof *pole; i++) {
        OWN_TABLE *t = frozen(pole[i].scheme);
        double half = pole[i].at / 2, found = modulus(t, half, half);
        double beside = modulus(t, half + 0.01, half + 0.01);
        if (half > 0 ? !isinf(found) : found != 1) fail_msg("%s: %g", t->name, found);
        assert_true(isfinite(beside) && beside > 0);
    }
}

/* ---- the solver ------------------------------------------------------------------------------------ */

static double rate;
static size_t calls[2]; /* of F and G */

OWN_FIELD(rest)
{
    calls[OP_F]++;
    dy[0] = 0;
}

OWN_FIELD(grow)
{
    calls[OP_G]++;
    dy[0] = rate * y[0];
}

OWN_FIELD(square)
{
    dy[0] = y[0] * y[0];
}

/* On y' = lambda y, h lambda down to -10^12, y' is R(z) to some rounding errors of y = 1, as slopes that are solved for
 * are of the size of y / h however stiff. That holds for gauss4, for which |R| = 1, too. The first slope of the
 * trapezoidal rule is lambda y, which adds as many errors. The control has another coefficient. */
TEST(test_stiff_rounding)
{
    System s = scalar_system(rest, grow);
    for (size_t i = 0; i < FACTORS; i++)
        for (double z = -1e-3; z > -1e13; z *= 10) {
            OWN_TABLE *t = frozen(factors[i].name);
            double most = 64 * eps * (t->point[0].row.terms == 1 ? 1 - z : 1);
            double y, R = creal(value(factors[i].P, z) / value(factors[i].Q, z));
            rate = z / 0.5;
            walk_on(t, &s, 0.5, 1, &y);
            if (!(fabs(y - R) <= most)) fail_msg("%s at %g: %.17g, not %.17g", t->name, z, y, R);
            mpq_ptr c = t->point[t->points - 1].row.term[t->point[t->points - 1].row.terms - 1].c;
            mpq_add(c, c, c);
            walk_on(t, &s, 0.5, 1, &y);
            assert_true(fabs(y - R) > most);
        }
}

/* Newton's iteration of F calls F alone, and every call is counted. */
TEST(test_imex_calls)
{
    static const char *const names[] = {"imex-euler", "ars222", "ark3", "ark4"};
    System s = scalar_system(grow, rest); /* exchanged: `rest` counts as F's, `grow` as G's */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OWN_TABLE *t = frozen(names[i]);
        double y = 1;
        rate = -100;
        calls[0] = calls[1] = 0;
        assert_int_equal(walk(t, &s, 0, 0.25, 1, &y), 0);
        assert_int_equal(calls[0], table_evals(t, OP_G));
        assert_true(calls[1] > table_evals(t, OP_F));
        assert_int_equal(walk_evals, calls[0] + calls[1]);
    }
}

/* Y = 1 + h Y^2 has no real root for h > 1/4. */
TEST(test_not_found)
{
    System s = scalar_system(rest, square);
    OWN_TABLE *t = frozen("implicit-euler");
    double y, h = 0.2;
    walk_on(t, &s, h, 1, &y);
    assert_true(fabs(y - (1 - sqrt(1 - 4 * h)) / (2 * h)) <= 16 * eps);
    y = 1;
    assert_int_equal(walk(t, &s, 0, 0.5, 1, &y), ERR_NUMERIC);
    assert_non_null(strstr(error_text(), "smaller steps"));
}

/* Takes a step by GMRES of radau-iia5 or a step of an IMEX scheme; returns the values of fields, slope (evals N) out. */
static size_t step_by(const char *scheme, const System *s, size_t dense, double *slope)
{
    OWN_TABLE *t = frozen(scheme);
    size_t N = s->n * s->d, evals = 0;
    OWN_REALS *known = numbers(t->points * N);
    Implicit *m;
    for (size_t p = 0; p < t->points; p++)
        for (size_t i = 0; i < N; i++) known[p * N + i] = s->initial[i] + 0.1 * sin((double)i);
    assert_int_equal(implicit_new(t, s, dense, &m), 0);
    implicit_begin(m);
    assert_int_equal(implicit_solve(m, 0, 0.1, s->initial, known, slope, &evals), 0);
    implicit_free(m);
    return evals;
}

/* Stiff bands between ends, on a ring, and of two coordinates, those that are told and those that are looked for: few values of
 * the fields, and the slopes of whole matrices. The control sees far ones, and so many more. */
TEST(test_bands)
{
    static const char *const names[] = {"radau-iia5", "ark3"};
    OWN_REALS *slope = numbers(3 * 16 * 96);
    for (int k = 0; k < BANDED; k++)
        for (int i = 0; i < 2; i++) {
            OWN_SYSTEM *s = banded(k);
            size_t N = 16 * s->n * s->d;
            size_t told = step_by(names[i], s, 0, slope + 2 * N);
            untell(s);
            step_by(names[i], s, SIZE_MAX, slope);
            size_t seen = step_by(names[i], s, 0, slope + N);
            for (size_t at = N; at <= 2 * N; at += N) {
                size_t evals = at == N ? seen : told, most = at == N ? 900 : 400;
                double off = relative_distance(slope + at, slope, (size_t)(i ? 8 : 6) * N / 16);
                if (!(off <= 1e-9 && evals <= most))
                    fail_msg("%s on %s: %g, %zu", names[i], s->name, off, evals);
            }
        }
    OWN_SYSTEM *far = banded(BANDED);
    assert_true(step_by("radau-iia5", far, 0, slope) > 900);
}

/* By tolerance equal stages share one matrix where it is factored, and have each their own where a band that is seen is the
 * preconditioner: more than LU_MOST unknowns that nothing tells of end as told ones do. */
TEST(test_bands_by_tolerance)
{
    static const char *const names[] = {"tr-bdf2", "kvaerno5"};
    enum { CELLS = 700 };
    OWN_REALS *y = numbers(2 * CELLS);
    for (int i = 0; i < 2; i++) {
        OWN_TABLE *t = scheme(names[i]);
        for (int told = 1; told >= 0; told--) {
            OWN_SYSTEM *s = sized("transport", CELLS, 0, 3);
            AdaptOptions o = within(1e-5, 0.02, embedded_of(t).estimate_order);
            AdaptRun run;
            if (!told) untell(s);
            if (adapt_run(t, s, &o, y + told * CELLS, &run) != 0) fail_msg("%s", error_text());
            assert_int_equal(run.outcome, ADAPT_DONE);
        }
        assert_true(relative_distance(y, y + CELLS, CELLS) <= 1e-4);
    }
}

/* Linear fields scale: states of 1e-200 and 1e200, whose squares are 0 and infinite, end as those of 1 do, be matrices whole (2
 * unknowns) or vectors GMRES's (700). The control: a state that was not solved for stays where it was. */
TEST(test_scales)
{
    static const char *const by[] = {"implicit-midpoint", "gauss4", "radau-iia3", "bdf2", "ros2"};
    static double y[2][700];
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        for (size_t n = 2; n <= (i % 4 ? 2 : 700); n += 698) {
            OWN_TABLE *t = frozen(by[i]);
            char text[160];
            sprintf(
                text,
                "system a\nn %zu\nd 1\nF = mean 3*(z - y)\nG = -y\ninitial = 1 + i/n\nt-end 1\n",
                n);
            OWN_SYSTEM *s = read_system(text, 0, 0);
            walk_on(t, s, 0.25, 2, y[0]);
            for (int side = -1; side <= 1; side += 2) {
                double size = pow(10, side * 200);
                sprintf(
                    text,
                    "system a\nn %zu\nd 1\nF = mean 3*(z - y)\nG = -y\ninitial = 1e%d*(1 + i/n)\nt-end 1\n",
                    n, side * 200);
                OWN_SYSTEM *scaled = read_system(text, 0, 0);
                walk_on(t, scaled, 0.25, 2, y[1]);
                for (size_t k = 0; k < n; k++) y[1][k] /= size;
                double off = relative_distance(y[1], y[0], n);
                if (!(off < 1e-7))
                    fail_msg("%s, %zu unknowns of %g: off by %g", by[i], n, size, off);
                for (size_t k = 0; k < n; k++) y[1][k] = s->initial[k];
                assert_true(relative_distance(y[1], y[0], n) > 0.1);
            }
        }
}

/* A solution that fades below the smallest numbers fades to 0: differences for the derivatives do not become 0 with it. */
TEST(test_fading)
{
    static const struct {
        const char *by;
        size_t n;
        const char *rule; /* in F, which exponential and IMEX schemes take to be stiff, or in G */
    } row[] = {{"implicit-midpoint", 1, "G = "},
               {"implicit-midpoint", 700, "G = "},
               {"radau-iia5", 1, "G = "},
               {"bdf2", 1, "G = "},
               {"ros2", 1, "G = "},
               {"rodas4", 1, "G = "},
               {"sdirk4", 1, "G = "},
               {"etd-rk2", 1, "F = own "},
               {"imex-euler", 1, "F = own "}};
    static double y[700];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = frozen(row[i].by);
        char text[160];
        sprintf(text, "system a\nn %zu\nd 1\n%s-400*y\ninitial = 1 + i/n\nt-end 6\n", row[i].n,
                row[i].rule);
        OWN_SYSTEM *s = read_system(text, 0, 0);
        walk_on(t, s, 1. / 128, 768, y);
        for (size_t k = 0; k < row[i].n; k++)
            if (!(fabs(y[k]) < 1e-300)) fail_msg("%s, %zu unknowns: %g", row[i].by, row[i].n, y[k]);
    }
}

/* The derivatives of `square` in F and `rest` in G. */
static void own_jacobian(const System *s, int op, int set, double t, const double *y, double *J)
{
    (void)s, (void)set, (void)t;
    *J = op == OP_F ? 2 * y[0] : 0;
}

/* A system's own derivative takes the place of differences: the same ends by fewer values of the fields, also back in
 * time, where its sign turns. */
TEST(test_own_jacobian)
{
    OWN_TABLE *t = frozen("implicit-euler");
    for (int back = 0; back < 2; back++) {
        double y[2] = {1, 1};
        size_t evals[2];
        for (int own = 0; own < 2; own++) {
            System s = scalar_system(square, rest);
            Course course;
            if (own) s.jacobian = own_jacobian;
            system_course(&s, 1, back, &course);
            assert_int_equal(walk(t, &course.system, 0, 0.1, 3, &y[own]), 0);
            evals[own] = walk_evals;
        }
        assert_true(fabs(y[1] - y[0]) <= 8 * eps * fabs(y[0]));
        assert_true(evals[1] < evals[0]);
        if (back) assert_true(y[1] < 1);
    }
}

/* A part that no rule gives costs nothing, in derivatives neither. */
TEST(test_absent_part)
{
    static const char *const texts[] = {
        "system a\nn 1\nd 2\nG1 = y2\nG2 = -sin(y1)\ninitial = 1, 0\n",
        "system a\nn 1\nd 2\nF1 = own 0*y1\nG1 = y2\nG2 = -sin(y1)\ninitial = 1, 0\n"};
    OWN_TABLE *t = frozen("gauss4");
    double y[2][2] = {{1, 0}, {1, 0}};
    size_t evals[2];
    for (int k = 0; k < 2; k++) {
        OWN_SYSTEM *s = read_system(texts[k], 0, 0);
        assert_int_equal(walk(t, s, 0, 0.1, 3, y[k]), 0);
        evals[k] = walk_evals;
    }
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_int_equal(evals[1], 2 * evals[0]);
}

/* ---- M y' = f ------------------------------------------------------------------------------------------ */

/* Problems of index 1 by tolerance: Robertson's with y1 + y2 + y3 = 1 in place of y3' and the transistor amplifier, whose M is
 * no diagonal, with the ends of the Test Set for IVP Solvers (Mazzia, Magherini 2008); a pendulum, whose rod's force is
 * algebraic, with the end that SciPy's DOP853 finds at 1e-13 for its equations without M. At rest its tolerance is far below that of what moves. */
static const struct {
    const char *text;
    double end[8];
} algebraic[] = {
    {"system robertson\ny1' = -0.04*y1 + 1e4*y2*y3\ny2' = 0.04*y1 - 1e4*y2*y3 - 3e7*y2^2\n"
     "0 = y1 + y2 + y3 - 1\ninitial = 1, 0, 0\nt-end 1e11\n",
     {0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050}},
    {"system amplifier\nparam q = 1e-6\nparam R = 9000\nparam f = 0.026\n"
     "-q*y1' + q*y2' = -0.1*sin(200*pi*t)/1000 + y1/1000\n"
     "q*y1' - q*y2' = -6/R + 2*y2/R + 0.01*q*(exp((y2 - y3)/f) - 1)\n"
     "-2*q*y3' = -q*(exp((y2 - y3)/f) - 1) + y3/R\n"
     "-3*q*y4' + 3*q*y5' = -6/R + y4/R + 0.99*q*(exp((y2 - y3)/f) - 1)\n"
     "3*q*y4' - 3*q*y5' = -6/R + 2*y5/R + 0.01*q*(exp((y5 - y6)/f) - 1)\n"
     "-4*q*y6' = -q*(exp((y5 - y6)/f) - 1) + y6/R\n"
     "-5*q*y7' + 5*q*y8' = -6/R + y7/R + 0.99*q*(exp((y5 - y6)/f) - 1)\n"
     "5*q*y7' - 5*q*y8' = y8/R\ninitial = 0, 3, 3, 6, 3, 3, 6, 0\nt-end 0.2\n",
     {-0.5562145012262709e-2, 3.006522471903042, 2.849958788608128, 2.926422536206241,
      2.704617865010554, 2.761837778393145, 4.770927631616772, 1.236995868091548}},
    {"system pendulum\ny1' = y3\ny2' = y4\ny3' = -y1*y5\ny4' = -y2*y5 - 1\n"
     "0 = y3^2 + y4^2 - y2 - y5*(y1^2 + y2^2)\ninitial = 1, 0, 0, 0, 0\nt-end 2\n",
     {-0.2041932147883, -0.9789306058319, -1.3697548850034, 0.2857144845350, 2.9367918174959}}};
enum { ALGEBRAIC = sizeof algebraic / sizeof *algebraic };

TEST(test_mass)
{
    static const char *const names[] = {"radau-iia5", "rodas4", "bdf"};
    for (int i = 0; i < ALGEBRAIC; i++)
        for (int k = 0; k < 3; k++) {
            OWN_SYSTEM *s = read_system(algebraic[i].text, 0, 0);
            OWN_TABLE *t = scheme(names[k]);
            AdaptRun run;
            double y[8], off = 0, tolerance = i == 2 ? 1e-8 : 1e-7,
                         least = tolerance * (i == 2 ? 1e-4 : 1e-3);
            AdaptOptions o = within(tolerance, s->t_end, 3);
            o.absolute = least;
            assert_int_equal(adapt_run(t, s, &o, y, &run), 0);
            for (size_t c = 0; c < s->d; c++)
                off = fmax(off, fabs(y[c] - algebraic[i].end[c]) /
                                    (least + tolerance * fabs(algebraic[i].end[c])));
            if (run.outcome != ADAPT_DONE || !(off <= 200) || run.steps > 20000)
                fail_msg("%s on %s: %g tolerances, %zu steps", t->name, s->name, off, run.steps);
        }
}

/* The reference by its two means comes to the published ends, to what it says that it knows. */
TEST(test_mass_reference)
{
    for (int i = 0; i < ALGEBRAIC; i++) {
        OWN_SYSTEM *s = read_system(algebraic[i].text, 0, 0);
        double y[8], apart;
        assert_int_equal(reference_within(s, i == 1 ? 1e-9 : 0, &s->t_end, 1, y, &apart), 0);
        double off = system_rms(s->d, y, algebraic[i].end);
        /* Steps within 1e-9 leave some of that in the amplifier: 3e-9, and 2e-8 where long double has 113 bits. */
        if (!(off <= 1e-12 + 20 * apart) || !(apart <= (i == 1 ? 5e-8 : 1e-11)))
            fail_msg("%s: %g from the end, known to %g", s->name, off, apart);
    }
    /* At rest, as a circuit before it is switched on: y1 = (sin t - cos t + e^-t) / 2. */
    OWN_SYSTEM *rest =
        read_system("system a\ny1' = -y1 + y2\n0 = y2 - sin(t)\ninitial = 0, 0\nt-end 1\n", 0, 0);
    double from_rest[2], known;
    assert_int_equal(reference_solve(rest, &rest->t_end, 1, from_rest, &known), 0);
    assert_true(fabs(from_rest[0] - (sin(1) - cos(1) + exp(-1)) / 2) < 1e-12 && known < 1e-11);
    OWN_SYSTEM *many =
        read_system("system a\nn 200\ny1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0\n", 0, 0);
    OWN_REALS *y = numbers(400);
    assert_refused(reference_solve(many, &many->t_end, 1, y, NULL), "many", "take 256 at most");
}

/* Steps of one length have the order of y' = f; methods that do not end in a point that is solved for may have a lower one. */
TEST(test_mass_order)
{
    static const struct {
        const char *name;
        int order;
    } row[] = {{"implicit-euler", 1}, {"radau-iia3", 3}, {"radau-iia5", 5},
               {"ros2", 2},           {"rodas4", 4},     {"bdf2", 2}};
    OWN_SYSTEM *s =
        read_system("system a\ny1' = -y1*y2\n0 = y2 - 1 - y1 + exp(-t)\ninitial = 1, 1\n"
                    "exact = exp(-t), 1\nt-end 1\nh0 1/4\n",
                    0, 0);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_TABLE *t = frozen(row[i].name);
        assert_int_equal(order_verdict(t, s, row[i].order), VERDICT_AGREE);
    }
}

/* A band with M, and a whole matrix. */
TEST(test_mass_band)
{
    static const char *const names[] = {"radau-iia5", "rodas4"};
    for (int k = 0; k < 2; k++) {
        OWN_SYSTEM *s = read_system("system a\nn 40\ny1' = 900*(y1[i+1] - 2*y1 + y1[i-1]) + y2\n"
                                    "0 = y1^2 + y2 + y2[i+1]/4\ninitial = 0\n",
                                    0, 0);
        OWN_TABLE *t = frozen(names[k]);
        OWN_REALS *y = numbers(160);
        for (int told = 1; told >= 0; told--) {
            if (!told) untell(s);
            memset(y + 80 * told, 0, 80 * sizeof *y);
            y[80 * told] = 1, y[80 * told + 1] = -1;
            assert_int_equal(walk(t, s, 0, 0.01, 3, y + 80 * told), 0);
        }
        assert_true(relative_distance(y + 80, y, 80) <= 1e-9);
    }
}

TEST(test_mass_refused)
{
    static const struct {
        const char *scheme, *text, *why;
    } row[] = {
        {"rk4", "y1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0\n", "has an explicit stage"},
        {"trapezoid", "y1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0\n", "has an explicit stage"},
        {"ab2", "y1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0\n", "reads slopes of the past"},
        {"imex-euler", "y1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0\n",
         "tells the parts F and G apart"},
        {"radau-iia5", "y1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0.5\n",
         "y2 is 0.5 there; to first order 0"},
        {"radau-iia5", "y1' = -y1\n0 = y1 - 1\ninitial = 1, 0\n", "singular"},
        {"radau-iia5", "y1' = -y1\n0 = y2 + y3\n0 = y1 + y2 + y3 - 1\ninitial = 1, 0, 0\n",
         "singular"},
        {"radau-iia5", "y1' = y2\n0 = y1 - 1\ninitial = 1, 0\n", "its index is above 1"},
        {"k1 = H(y + k1 + 1e-10*k2)\nk2 = H(y + k1 + 2e-10*k2)\ny' = y + k1",
         "y1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0\n", "the matrix of weights"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        OWN_SYSTEM *s = read_system(formed("system a\n%s", row[i].text), 0, 0);
        OWN_TABLE *t = frozen(row[i].scheme);
        Stepper *st = NULL;
        assert_int_equal(stepper_new(t, s, &st), ERR_INPUT);
        if (!strstr(error_text(), row[i].why)) fail_msg("%s: %s", row[i].scheme, error_text());
    }
    OWN_SYSTEM *off = read_system("system a\ny1' = -y1\n0 = y1 + y2 - 1\ninitial = 1, 0.5\n", 0, 0);
    OWN_TABLE *bdf = scheme("bdf");
    AdaptOptions o = within(1e-6, 1, 3);
    AdaptRun run;
    double y[2];
    assert_refused(adapt_run(bdf, off, &o, y, &run), "bdf", "y2 is 0.5 there; to first order 0");
    /* where f = 10^9 y' the first step is not predicted by f */
    OWN_SYSTEM *big =
        read_system("system a\n1e9*y1' = -1e9*y1\n0 = y1 + y2 - 1\ninitial = 1, 0\n", 0, 0);
    assert_int_equal(adapt_run(bdf, big, &o, y, &run), 0);
    assert_int_equal(run.rejected, 0);
    /* a parameter whose name ends as a coordinate's is none */
    OWN_SYSTEM *two =
        read_system("system a\nparam capacity8 = 2\n-capacity8*y1' + capacity8*y2' = y1 - y2\n"
                    "0 = y1 + y2 - 1\ninitial = 1, 0\n",
                    0, 0);
    assert_int_equal(two->d, 2);
    assert_true(two->mass[0] == -2 && two->mass[1] == 2);
}

/* ---- iterations by fixed point ----------------------------------------------------------------------- */

/* Begins with k^(0) = H(y). Each correction adds an order: min(p, N + 1) (Hairer, Norsett, Wanner 1993, section II.7).
 * The table has those evaluations, and as N grows a step is the implicit one. */
TEST(test_fixed_point)
{
    static const struct {
        const char *name;
        int order;
        size_t starts, stages; /* slopes at the beginning; stages that are iterated */
    } row[] = {{"implicit-euler", 1, 1, 1}, {"implicit-midpoint", 2, 1, 1}, {"gauss4", 4, 1, 2},
               {"radau-iia3", 3, 1, 2},     {"radau-iia5", 5, 1, 3},        {"bdf2", 2, 1, 1}};
    OWN_SYSTEM *s = make("attention");
    size_t N = s->n * s->d;
    OWN_REALS *y = numbers(2 * N);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        for (int n = 0; n <= 5; n++) {
            const char *name = formed("%s:fixed-point-%d", row[i].name, n);
            OWN_TABLE *t = scheme(name);
            assert_false(table_implicit(t));
            assert_string_equal(t->name, name);
            assert_int_equal(t->stages, row[i].starts + (size_t)n * row[i].stages);
            int expected = n + 1 < row[i].order ? n + 1 : row[i].order;
            if (order_of(t) != expected) fail_msg("%s: order %d", name, order_of(t));
        }
        OWN_TABLE *t = frozen(formed("%s:fixed-point-40", row[i].name)),
                  *solved = frozen(row[i].name);
        if (t->past_y) continue;
        walk_on(t, s, 0.05, 1, y);
        walk_on(solved, s, 0.05, 1, y + N);
        assert_true(relative_distance(y, y + N, N) <= 1e-13);
    }
}

/* The text is right for a scheme with stages before, after and inside the iteration, past slopes and an estimate. */
TEST(test_fixed_point_text)
{
    static const struct {
        const char *of;
        int n;
        const char *made;
    } row[] = {
        {"k1 = G(y)\nk2 = F2(y + k1 + 1/2*k3)\nk3 = F2(y + 1/3*k2)\nk4 = H(y + k2 @ 1/2)\n"
         "y' = y + k4 + k1\nerror = k3 - k4",
         2,
         "k1 = G(y)\nk2 = F2(y)\nk3 = F2(y + k1 + 1/2*k2)\nk4 = F2(y + 1/3*k2)\n"
         "k5 = F2(y + k1 + 1/2*k4)\nk6 = F2(y + 1/3*k3)\nk7 = H(y + k5 @ 1/2)\n"
         "y' = y + k7 + k1\nerror = k6 - k7"},
        {"k1 = H(y + 1/2*k1 + 1/3*k2[-1])\nk2 = G(y)\ny' = y + k1 - k1[-1] + k2", 1,
         "k1 = H(y)\nk2 = H(y + 1/2*k1 + 1/3*k3[-1])\nk3 = G(y)\ny' = y + k2 - k2[-1] + k3"},
        {"carry v = k1\nk1 = H(y)\nk2 = H(y + v + 1/2*k2)\nv' = k2\ny' = y + k2", 1,
         "carry v = k1\nk1 = H(y)\nk2 = H(y)\nk3 = H(y + v + 1/2*k2)\nv' = k3\ny' = y + k3"}};
    for (int i = 0; i < 3; i++) {
        OWN_TABLE *of = scheme(row[i].of), *wanted = scheme(row[i].made);
        char *text = WRITTEN(f, assert_int_equal(scheme_fixed_point(of, row[i].n, "it", f), 0));
        OWN_TABLE *made = scheme_of_text(text);
        if (!table_equal(made, wanted)) fail_msg("%s", text);
    }
    OWN_TABLE *gated = scheme("k1 = F(y)\ngate g = tanh(k1)\nk2 = G(y + g*k2)\ny' = y + k2"),
              *split = scheme("strang-marchuk:implicit-midpoint:fixed-point-2");
    assert_int_equal(scheme_fixed_point(gated, 1, "it", stderr), ERR_INPUT);
    assert_int_equal(order_of(split), 2);
}

TEST_MAIN(zoo_begin, zoo_end)
