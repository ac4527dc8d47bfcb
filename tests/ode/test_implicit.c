/* test_implicit.c: stages that name themselves or later ones: blocks, orders and error constants by the trees, A-stability,
 * the solver against R(z) in closed form and against itself by another path, IMEX schemes, iterations by fixed point. */
#include "tests/lib/test.h"

#include <complex.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "ode/step/implicit.h"
#include "ode/step/krylov.h"
#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

static const double eps = 0x1p-52;

static Theory theory(const Table *t)
{
    Theory th;
    if (theory_search(t, 6, &th) != 0) fail_msg("%s: %s", t->name, error_text());
    return th;
}

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
        Table *t = scheme(row[i].text);
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
        table_free(t);
    }
}

/* Stages that the update does not read, directly or in circles, serve a pair alone. */
TEST(test_pair_of_circles)
{
    Table *t = scheme("k1 = H(y + 1/2*k1)\nk2 = H(y + k3)\nk3 = H(y + k2)\ny' = y + k1\n"
                      "error = k1 - k2");
    Table *fixed = scheme("k1 = H(y + 1/2*k1)\ny' = y + k1");
    Table *all = scheme("k1 = H(y + k2)\nk2 = H(y + k3)\nk3 = H(y + k2)\ny' = y + k1\n"
                        "error = k1 - k2");
    Table *froze = table_freeze(t);
    assert_true(table_equal(froze, fixed));
    assert_int_equal(t->pair->stages, 3);
    assert_int_equal(all->stages, 3);
    table_free(froze);
    table_free(fixed);
    table_free(all);
    table_free(t);
}

/* ---- orders ---------------------------------------------------------------------------------------- */

/* Returns the coefficient of the tall tree F'F'..F of order n, the error R(z) - exp(z) at z^n. */
static double tall(const Table *t, int n)
{
    Forest *f;
    assert_int_equal(forest_new(n, 2, &f), 0);
    double *c = calloc(f->count, sizeof *c), found = NAN;
    Table *frozen = table_freeze(t);
    if (theory_terms(f, frozen, n, c) != 0) fail_msg("%s: %s", t->name, error_text());
    for (size_t i = f->first[n]; i < f->first[n + 1]; i++) {
        size_t at = i;
        while (f->tree[at].children == 1 && f->tree[at].colour == OP_F)
            at = (size_t)f->tree[at].child[0];
        if (f->tree[at].order == 1 && f->tree[at].colour == OP_F) found = c[i];
    }
    table_free(frozen);
    free(c);
    forest_free(f);
    return found;
}

/* Orders are those of their sources. The constants are those of the Pade approximation (j, k) of exp, R(z) - exp(z) =
 * (-1)^(k+1) j! k! / ((j+k)! (j+k+1)!) z^(j+k+1) + ... (Hairer, Wanner 1996, section IV.3). */
TEST(test_orders)
{
    static const struct {
        const char *name;
        int order;
        double constant; /* coefficient of F'F'..F; 0: not checked */
    } row[] = {{"implicit-euler", 1, 1. / 2},
               {"implicit-midpoint", 2, 1. / 12},
               {"trapezoid", 2, 1. / 12},
               {"sdirk2", 2, 0},
               {"tr-bdf2", 2, 0},
               {"gauss4", 4, -1. / 720},
               {"radau-iia3", 3, -1. / 72},
               {"radau-iia5", 5, 1. / 7200},
               {"lobatto-iiic4", 4, 1. / 480},
               {"bdf2", 2, 0},
               {"adams-moulton3", 3, 0},
               {"imex-euler", 1, 0},
               {"ars222", 2, 0},
               {"ark3", 3, 0},
               {"ark4", 4, 0}};
    Table **list;
    size_t count;
    assert_int_equal(zoo_list(&zoo, "implicit", "exact", &list, &count), 0);
    assert_int_equal(count, sizeof row / sizeof *row);
    for (size_t i = 0; i < count; i++) {
        Theory th = theory(list[i]);
        assert_string_equal(list[i]->name, row[i].name);
        assert_int_equal(th.order, row[i].order);
        assert_true(th.zero_stable);
        double c = row[i].constant;
        if (c != 0) assert_true(fabs(tall(list[i], th.order + 1) - c) <= 1e-15);
        /* the control: no coefficient is without effect */
        Table *spoilt = table_freeze(list[i]);
        mpq_t part;
        mpq_init(part);
        mpq_set_ui(part, 1, 1000);
        Row *r = &spoilt->point[spoilt->points - 1].row;
        mpq_add(r->term[r->terms - 1].c, r->term[r->terms - 1].c, part);
        assert_true(theory(spoilt).order < row[i].order || row[i].order == 1);
        mpq_clear(part);
        table_free(spoilt);
        table_free(list[i]);
    }
    memory_free(list);
}

/* The pairs are Kennedy, Carpenter 2003: ARK3(2)4L[2]SA and ARK4(3)6L[2]SA, in both operators and their coupling. */
TEST(test_imex_pairs)
{
    static const char *const names[] = {"ark3", "ark4"};
    for (int i = 0; i < 2; i++) {
        Table *t = scheme(names[i]);
        Embedded e;
        Theory th = theory(t);
        assert_int_equal(theory_embedded(t, 6, &e), 0);
        assert_int_equal(th.order, 3 + i);
        assert_true(th.residual <= 1e-20);
        assert_int_equal(e.order, 2 + i);
        table_free(t);
    }
}

TEST(test_structure)
{
    static const struct {
        const char *name;
        int symmetric, symplectic;
    } row[] = {
        {"implicit-midpoint", TOLD_YES, TOLD_YES},
        {"gauss4", TOLD_YES, TOLD_YES},
        {"trapezoid", TOLD_YES, TOLD_NO},
        {"implicit-euler", TOLD_NO, TOLD_NO},
        {"radau-iia3", TOLD_NO, TOLD_NO},
        {"lobatto-iiic4", TOLD_NO, TOLD_NO},
        {"sdirk2", TOLD_NO, TOLD_NO},
        /* the midpoint rule with its stage written twice is the same method */
        {"k1 = H(y + 1/2*k2)\nk2 = H(y + 1/2*k1)\ny' = y + 1/3*k1 + 2/3*k2", TOLD_YES, TOLD_YES},
        {"k1 = H(y + 1/2*k1)\nk2 = H(y + 2/3*k1)\ny' = y + 1/3*k1 + 2/3*k2", TOLD_NO, TOLD_NO}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Table *t = frozen(row[i].name);
        Structure s;
        assert_int_equal(structure_find(t, 6, &s), 0);
        if (s.symmetric != row[i].symmetric || s.symplectic != row[i].symplectic)
            fail_msg("%s: symmetric %d, symplectic %d", row[i].name, s.symmetric, s.symplectic);
        structure_free(&s);
        table_free(t);
    }
}

/* ---- stability ------------------------------------------------------------------------------------- */

/* A- and L-stability are as in Hairer, Wanner 1996, sections IV.3 (Pade), IV.5, IV.6. The theta method is A-stable for
 * theta >= 1/2; Crouzeix's and Norsett's method of order 3 with gamma = (3 + sqrt 3)/6, not with the other root;
 * Alexander 1977. */
TEST(test_a_stability)
{
    static const struct {
        const char *text;
        int a, l;
        double infinity;
        int colour;
    } row[] = {
        {"implicit-euler", 1, 1, 0, -1},
        {"implicit-midpoint", 1, 0, 1, -1},
        {"trapezoid", 1, 0, 1, -1},
        {"sdirk2", 1, 1, 0, -1},
        {"tr-bdf2", 1, 1, 0, -1},
        {"gauss4", 1, 0, 1, -1},
        {"radau-iia3", 1, 1, 0, -1},
        {"radau-iia5", 1, 1, 0, -1},
        {"lobatto-iiic4", 1, 1, 0, -1},
        {"imex-euler", 1, 1, 0, OP_F},
        {"ars222", 1, 1, 0, OP_F},
        {"ark3", 1, 1, 0, OP_F},
        {"ark4", 1, 1, 0, OP_F},
        {"rk4", 0, 0, INFINITY, -1},
        {"k1 = H(y + 499/1000*k1)\ny' = y + k1", 0, 0, 501. / 499, -1},
        {"k1 = H(y + 501/1000*k1)\ny' = y + k1", 1, 0, 499. / 501, -1},
        {"let g = (3+sqrt(3))/6\nk1 = H(y + g*k1)\nk2 = H(y + (1-2*g)*k1 + g*k2)\n"
         "y' = y + 1/2*k1 + 1/2*k2",
         1, 0, 0.73205080756887729, -1},
        {"let g = (3-sqrt(3))/6\nk1 = H(y + g*k1)\nk2 = H(y + (1-2*g)*k1 + g*k2)\n"
         "y' = y + 1/2*k1 + 1/2*k2",
         0, 0, 2.7320508075688773, -1},
        /* |R| = |1 / (1 + z)| is small far out, and has its pole at -1 */
        {"k1 = H(y - k1)\ny' = y - k1", 0, 0, 0, -1},
        /* a stage that no step depends on has a pole that R does not have */
        {"k1 = H(y + k1)\nk2 = H(y - k2)\ny' = y + k1", 1, 1, 0, -1},
        /* R = (1 + z/2 + z^2/10) / (1 - z/2 + z^2/12): poles on the right, above 1 on the imaginary axis */
        {"k1 = G(y + 1/4*k1 + 1/6*k2)\nk2 = G(y - 1/8*k1 + 1/4*k2)\ny' = y + 1/2*k1 + 1/2*k2", 0, 0,
         NAN, OP_G},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Table *t = frozen(row[i].text);
        Stiff s;
        assert_int_equal(stability_stiff(t, &s), 0);
        if (isnan(row[i].infinity)) s.r_infinity = NAN;
        int same = isnan(row[i].infinity) || s.r_infinity == row[i].infinity ||
                   fabs(s.r_infinity - row[i].infinity) <= 4 * eps;
        if (!same || s.a_stable != row[i].a || s.l_stable != row[i].l || s.colour != row[i].colour)
            fail_msg("%s: A %d, L %d, R(inf) %.17g, colour %d", row[i].text, s.a_stable, s.l_stable,
                     s.r_infinity, s.colour);
        table_free(t);
    }
}

/* Angles of A(alpha)-stability are those of Hairer, Wanner 1996, table V.2.1 (BDF). The behaviour at infinity is known
 * for these and others; for IMEX schemes it is that of the implicit operator (Ascher, Ruuth, Wetton 1995). A BDF with
 * two coefficients off by 1/11 has another angle. For one-step schemes the search finds the exact result. */
TEST(sectors)
{
    static const struct {
        const char *text;
        double alpha, infinity;
        int l;
    } row[] = {
        {"bdf2", 90, 0, 1},
        {"k1 = H(18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1)\n"
         "y' = 18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1",
         86.03, 0, 0},
        {"k1 = H(48/25*y - 36/25*y[-1] + 16/25*y[-2] - 3/25*y[-3] + 12/25*k1)\n"
         "y' = 48/25*y - 36/25*y[-1] + 16/25*y[-2] - 3/25*y[-3] + 12/25*k1",
         73.35, 0, 0},
        {"k1 = H(300/137*y - 300/137*y[-1] + 200/137*y[-2] - 75/137*y[-3] + 12/137*y[-4] + 60/137*k1)\n"
         "y' = 300/137*y - 300/137*y[-1] + 200/137*y[-2] - 75/137*y[-3] + 12/137*y[-4] + 60/137*k1",
         51.84, 0, 0},
        {"k1 = H(120/49*y - 150/49*y[-1] + 400/147*y[-2] - 75/49*y[-3] + 24/49*y[-4] - 10/147*y[-5] + 20/49*k1)\n"
         "y' = 120/49*y - 150/49*y[-1] + 400/147*y[-2] - 75/49*y[-3] + 24/49*y[-4] - 10/147*y[-5] + 20/49*k1",
         17.84, 0, 0},
        {"adams-moulton3", 0, 1.7165, 0},
        {"k1 = G(y)\nk2 = F(4/3*y - 1/3*y[-1] + 4/3*k1 - 2/3*k1[-1] + 2/3*k2)\n"
         "y' = 4/3*y - 1/3*y[-1] + 4/3*k1 - 2/3*k1[-1] + 2/3*k2",
         90, 0, 1},
        {"k1 = G(y)\nk2 = F(y)\nk3 = F(y[-1] + 2*k1 + k2[-1] + k3)\ny' = y[-1] + 2*k1 + k2[-1] + k3",
         90, 1, 0},
        {"k1 = H(y + 9/20*k1)\ny' = y + k1", 0, 11. / 9, 0},
        {"implicit-midpoint", 90, 1, 0},
    };
    Stiff s;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        Table *t = frozen(row[i].text);
        assert_int_equal(stability_stiff(t, &s), 0);
        if (!(fabs(s.alpha - row[i].alpha) < 0.01 && fabs(s.r_infinity - row[i].infinity) < 1e-3) ||
            s.a_stable != (row[i].alpha == 90) || s.l_stable != row[i].l)
            fail_msg("%s: %.6g degrees, R(inf) %.6g, A %d, L %d", row[i].text, s.alpha,
                     s.r_infinity, s.a_stable, s.l_stable);
        table_free(t);
    }
    Table *t = frozen("k1 = H(19/11*y - 10/11*y[-1] + 2/11*y[-2] + 6/11*k1)\n"
                      "y' = 19/11*y - 10/11*y[-1] + 2/11*y[-2] + 6/11*k1");
    assert_int_equal(stability_stiff(t, &s), 0);
    assert_true(fabs(s.alpha - 86.03) > 0.1);
    table_free(t);
    t = frozen("ab2");
    assert_int_equal(stability_stiff(t, &s), 0);
    assert_true(s.a_stable == TOLD_NOT && isnan(s.alpha) && isnan(s.r_infinity));
    table_free(t);
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

/* The amplifier's linear system agrees with these closed forms, and the exact polynomials give the ends of
 * intervals. */
TEST(test_amplification)
{
    for (size_t i = 0; i < FACTORS; i++) {
        Table *t = frozen(factors[i].name);
        double real, imag;
        for (uint64_t k = 0; k < 50; k++) {
            double z[2] = {5 * random_normal(1, 1, 2 * k), 5 * random_normal(1, 1, 2 * k + 1)};
            double found, half[2][2] = {{z[0] / 2, z[1] / 2}, {z[0] / 2, z[1] / 2}};
            double complex x = z[0] + z[1] * I;
            double R = cabs(value(factors[i].P, x) / value(factors[i].Q, x));
            assert_int_equal(stability_modulus(t, (const double(*)[2])half, &found), 0);
            if (!(fabs(found - R) <= 1e-12 * (1 + R)))
                fail_msg("%s at %g%+gi: %.17g, not %.17g", t->name, z[0], z[1], found, R);
        }
        assert_int_equal(stability_limits(t, &real, &imag), 0);
        assert_true(real == -INFINITY && imag == INFINITY);
        table_free(t);
    }
    static const struct {
        const char *text;
        double real, imag;
    } row[] = {{"bdf2", -INFINITY, INFINITY},               /* A-stable: Dahlquist 1963 */
               {"adams-moulton3", -6, 0},                   /* Hairer, Wanner 1996, section V.1 */
               {"k1 = H(y + 2/5*k1)\ny' = y + k1", -10, 0}, /* 2 / (2 theta - 1) */
               {"k1 = H(y + 3/5*k1)\ny' = y + k1", -INFINITY, INFINITY}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double real, imag;
        Table *t = frozen(row[i].text);
        assert_int_equal(stability_limits(t, &real, &imag), 0);
        if (!(real == row[i].real || fabs(real - row[i].real) <= 1e-9) || imag != row[i].imag)
            fail_msg("%s: %.12g, %.12g", row[i].text, real, imag);
        table_free(t);
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
        Table *t = frozen(pole[i].scheme);
        double at = pole[i].at, found, beside;
        const double z[COLOURS][2] = {{at / 2}, {at / 2}};
        const double near[COLOURS][2] = {{at / 2 + 0.01}, {at / 2 + 0.01}};
        assert_int_equal(stability_modulus(t, z, &found), 0);
        assert_int_equal(stability_modulus(t, near, &beside), 0);
        if (at > 0 ? !isinf(found) : found != 1) fail_msg("%s at %g: %g", t->name, at, found);
        assert_true(isfinite(beside) && beside > 0);
        table_free(t);
    }
}

/* The amplifier passes 1 at the finite ends that polynomials give. */
TEST(test_ends)
{
    static const char *const names[] = {"k1 = H(y + 2/5*k1)\ny' = y + k1",
                                        "yoshida4:gauss4",
                                        "yoshida4:radau-iia5",
                                        "ars222",
                                        "ark3",
                                        "ark4"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Table *t = frozen(names[i]);
        double real, imag, inside, outside;
        assert_int_equal(stability_limits(t, &real, &imag), 0);
        assert_true(isfinite(real) && real < 0);
        double in[2][2] = {{0.4995 * real, 0}, {0.4995 * real, 0}};
        double out[2][2] = {{0.5005 * real, 0}, {0.5005 * real, 0}};
        assert_int_equal(stability_modulus(t, (const double(*)[2])in, &inside), 0);
        assert_int_equal(stability_modulus(t, (const double(*)[2])out, &outside), 0);
        if (!(inside < 1 && outside > 1))
            fail_msg("%s: end %g, |R| %.12g and %.12g", names[i], real, inside, outside);
        table_free(t);
    }
}

/* ---- the solver ------------------------------------------------------------------------------------ */

static double rate;
static size_t calls[2]; /* of F and G */

static void rest(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t, (void)y;
    calls[OP_F]++;
    dy[0] = 0;
}

static void grow(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    calls[OP_G]++;
    dy[0] = rate * y[0];
}

static void square(const System *s, int set, double t, const double *y, double *dy)
{
    (void)s, (void)set, (void)t;
    dy[0] = y[0] * y[0];
}

typedef void Rule(const System *s, int set, double t, const double *y, double *dy);

static System one(Rule *F, Rule *G)
{
    static double y0[1] = {1};
    return (System){.name = "one", .n = 1, .d = 1, .initial = y0, .field = {F, G}, .t_end = 1};
}

/* Takes some steps and returns the code of the last. *evals gets their evaluations, unless it is NULL. */
static int run(const Table *t, const System *s, double h, int steps, double *y, size_t *evals)
{
    Stepper *st;
    size_t N = s->n * s->d;
    if (stepper_new(t, s, &st) != 0) fail_msg("%s: %s", t->name, error_text());
    assert_int_equal(stepper_begin(st, 0, h, s->initial, START_NETWORK, NULL), 0);
    int code = 0;
    for (int i = 0; i < steps && code == 0; i++) code = stepper_step(st);
    if (code == 0) memcpy(y, stepper_state(st), N * sizeof *y);
    if (evals) *evals = stepper_evals(st);
    stepper_free(st);
    return code;
}

/* On y' = lambda y, h lambda down to -10^12, y' is R(z) to some rounding errors of y = 1, as slopes that are solved for
 * are of the size of y / h however stiff. That holds for gauss4, for which |R| = 1, too. The first slope of the
 * trapezoidal rule is lambda y, which adds as many errors. The control has another coefficient. */
TEST(test_stiff_rounding)
{
    System s = one(rest, grow);
    for (size_t i = 0; i < FACTORS; i++)
        for (double z = -1e-3; z > -1e13; z *= 10) {
            Table *t = frozen(factors[i].name);
            double most = 64 * eps * (t->point[0].row.terms == 1 ? 1 - z : 1);
            double y, R = creal(value(factors[i].P, z) / value(factors[i].Q, z));
            rate = z / 0.5;
            assert_int_equal(run(t, &s, 0.5, 1, &y, NULL), 0);
            if (!(fabs(y - R) <= most)) fail_msg("%s at %g: %.17g, not %.17g", t->name, z, y, R);
            mpq_ptr c = t->point[t->points - 1].row.term[t->point[t->points - 1].row.terms - 1].c;
            mpq_add(c, c, c);
            assert_int_equal(run(t, &s, 0.5, 1, &y, NULL), 0);
            assert_true(fabs(y - R) > most);
            table_free(t);
        }
}

/* Newton's iteration of F calls F alone, and every call is counted. */
TEST(test_imex_calls)
{
    static const char *const names[] = {"imex-euler", "ars222", "ark3", "ark4"};
    System s = one(grow, rest); /* exchanged: `rest` counts as F's, `grow` as G's */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Table *t = frozen(names[i]);
        double y;
        size_t evals;
        rate = -100;
        calls[0] = calls[1] = 0;
        assert_int_equal(run(t, &s, 0.25, 1, &y, &evals), 0);
        assert_int_equal(calls[0], table_evals(t, OP_G));
        assert_true(calls[1] > table_evals(t, OP_F));
        assert_int_equal(evals, calls[0] + calls[1]);
        table_free(t);
    }
}

/* Y = 1 + h Y^2 has no real root for h > 1/4. */
TEST(test_not_found)
{
    System s = one(rest, square);
    Table *t = frozen("implicit-euler");
    double y, h = 0.2;
    assert_int_equal(run(t, &s, h, 1, &y, NULL), 0);
    assert_true(fabs(y - (1 - sqrt(1 - 4 * h)) / (2 * h)) <= 16 * eps);
    assert_int_equal(run(t, &s, 0.5, 1, &y, NULL), ERR_NUMERIC);
    assert_non_null(strstr(error_text(), "smaller steps"));
    table_free(t);
}

/* Matrices and GMRES, which share nothing but Newton's iteration, give the same slopes of a step. */
TEST(test_paths)
{
    static const char *const systems[] = {"attention", "linear", "fisher", "forced", "vortex"};
    static const char *const names[] = {"implicit-midpoint", "gauss4", "radau-iia5", "trapezoid",
                                        "ark4"};
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            System *s = make(systems[i]);
            Table *t = frozen(names[k]);
            size_t N = s->n * s->d, evals = 0;
            double *known = calloc(t->points * N, sizeof *known);
            double *slope[2];
            for (size_t p = 0; p < t->points; p++)
                memcpy(known + p * N, s->initial, N * sizeof *known);
            for (int krylov = 0; krylov < 2; krylov++) {
                Implicit *m;
                slope[krylov] = calloc(t->evals * N, sizeof(double));
                assert_int_equal(implicit_new(t, s, krylov, &m), 0);
                if (implicit_solve(m, 0, 0.1, known, slope[krylov], &evals) != 0)
                    fail_msg("%s on %s: %s", t->name, s->name, error_text());
                implicit_free(m);
            }
            double off = relative_distance(slope[1], slope[0], t->evals * N);
            if (!(off <= 1e-11)) fail_msg("%s on %s: %g", t->name, s->name, off);
            free(slope[0]);
            free(slope[1]);
            free(known);
            table_free(t);
            system_free(s);
        }
}

/* Computes Ax with A = tridiagonal (-1, 3, -1). GMRES with restarts solves such a system of 100 unknowns. */
static void tridiagonal(void *arg, const double *x, double *Ax)
{
    size_t n = *(const size_t *)arg;
    for (size_t i = 0; i < n; i++)
        Ax[i] = 3 * x[i] - (i ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0);
}

TEST(test_gmres)
{
    size_t n = 100;
    double x[100], b[100], Ax[100];
    Krylov k;
    assert_int_equal(krylov_new(&k, n), 0);
    k.apply = tridiagonal;
    k.arg = &n;
    for (size_t i = 0; i < n; i++) b[i] = random_normal(1, 2, i);
    krylov_solve(&k, b, 1e-13, 20, x);
    tridiagonal(&n, x, Ax);
    for (size_t i = 0; i < n; i++) b[i] = random_normal(1, 2, i);
    assert_true(distance(Ax, b, n) <= 1e-11);
    memset(b, 0, sizeof b);
    krylov_solve(&k, b, 1e-13, 2, x);
    for (size_t i = 0; i < n; i++) assert_true(x[i] == 0);
    krylov_free(&k);
}

/* Implicit diffusion works with more unknowns than matrices solve for, 3 stages of 255 points, at steps at which rk4
 * fails. */
TEST(test_diffusion)
{
    System *s;
    assert_int_equal(system_new("transport:peclet=1", 255, 0, 1, &s), 0);
    static const struct {
        const char *name;
        double most; /* error after one step of 1/16, from a state with waves of every length */
    } row[] = {{"radau-iia5", 2e-4}, {"ark4", 6e-4}, {"trapezoid", 4e-3}};
    double y[255], exact[255];
    s->solution(s, 0.0625, exact);
    for (size_t i = 0; i < 3; i++) {
        Table *t = frozen(row[i].name);
        assert_int_equal(run(t, s, 0.0625, 1, y, NULL), 0);
        double off = distance(y, exact, 255);
        if (!(off <= row[i].most)) fail_msg("%s: %g", t->name, off);
        table_free(t);
    }
    Table *t = frozen("rk4");
    assert_int_equal(run(t, s, 0.0625, 4, y, NULL), 0);
    assert_true(distance(y, exact, 255) > 1e6);
    table_free(t);
    system_free(s);
}

/* Order and error constant are as the trees predict them, on a field with all kinds of trees. A spoilt scheme does not
 * agree. */
TEST(test_measured)
{
    static const char *const names[] = {"implicit-euler", "trapezoid", "gauss4",
                                        "sdirk2",         "bdf2",      "ark3"};
    const OrderOptions o = {.halvings = 6};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        System *s = make("attention");
        Table *t = frozen(names[i]);
        Theory th = theory(t);
        size_t N = s->n * s->d;
        Prediction p;
        OrderStudy m;
        double *e = calloc(2 * N, sizeof *e);
        assert_int_equal(order_predict(t, s, 0, th.order, 1, &p, e), 0);
        assert_int_equal(order_measure(t, s, &o, th.order, 1, &m), 0);
        assert_int_equal(m.verdict, VERDICT_AGREE);
        assert_int_equal(order_match(&m, p.global, p.accuracy, e + N), VERDICT_AGREE);
        order_free(&m);
        mpq_ptr c = t->update.term[1].c;
        mpq_mul_2exp(c, c, 1);
        assert_int_equal(order_measure(t, s, &o, th.order, 1, &m), 0);
        assert_int_not_equal(m.verdict, VERDICT_AGREE);
        order_free(&m);
        free(e);
        table_free(t);
        system_free(s);
    }
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
    System *s = make("attention");
    size_t N = s->n * s->d;
    double *y = calloc(2 * N, sizeof *y);
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char name[TABLE_NAME];
        for (int n = 0; n <= 5; n++) {
            snprintf(name, sizeof name, "%s:fixed-point-%d", row[i].name, n);
            Table *t = scheme(name);
            assert_false(table_implicit(t));
            assert_string_equal(t->name, name);
            assert_int_equal(t->stages, row[i].starts + (size_t)n * row[i].stages);
            int expected = n + 1 < row[i].order ? n + 1 : row[i].order;
            if (theory(t).order != expected) fail_msg("%s: order %d", name, theory(t).order);
            table_free(t);
        }
        snprintf(name, sizeof name, "%s:fixed-point-40", row[i].name);
        Table *t = frozen(name), *solved = frozen(row[i].name);
        if (!t->past_y) {
            assert_int_equal(run(t, s, 0.05, 1, y, NULL), 0);
            assert_int_equal(run(solved, s, 0.05, 1, y + N, NULL), 0);
            assert_true(relative_distance(y, y + N, N) <= 1e-13);
        }
        table_free(t);
        table_free(solved);
    }
    free(y);
    system_free(s);
}

/* The text is right for a scheme with stages before, after and inside the iteration, past slopes and an estimate. */
TEST(test_fixed_point_text)
{
    Table *t =
        scheme("k1 = G(y)\nk2 = F2(y + k1 + 1/2*k3)\nk3 = F2(y + 1/3*k2)\nk4 = H(y + k2 @ 1/2)\n"
               "y' = y + k4 + k1\nerror = k3 - k4");
    Table *expected =
        scheme("k1 = G(y)\nk2 = F2(y)\nk3 = F2(y + k1 + 1/2*k2)\nk4 = F2(y + 1/3*k2)\n"
               "k5 = F2(y + k1 + 1/2*k4)\nk6 = F2(y + 1/3*k3)\nk7 = H(y + k5 @ 1/2)\n"
               "y' = y + k7 + k1\nerror = k6 - k7");
    Table *past = scheme("k1 = H(y + 1/2*k1 + 1/3*k2[-1])\nk2 = G(y)\ny' = y + k1 - k1[-1] + k2");
    Table *wanted = scheme("k1 = H(y)\nk2 = H(y + 1/2*k1 + 1/3*k3[-1])\nk3 = G(y)\n"
                           "y' = y + k2 - k2[-1] + k3");
    for (int i = 0; i < 2; i++) {
        char *text;
        size_t bytes;
        FILE *f = open_memstream(&text, &bytes);
        assert_int_equal(scheme_fixed_point(i ? past : t, 2 - i, "it", f), 0);
        fclose(f);
        Table *made = scheme_of_text(text);
        if (!table_equal(made, i ? wanted : expected)) fail_msg("%s", text);
        table_free(made);
        free(text);
    }
    table_free(t);
    table_free(expected);
    table_free(past);
    table_free(wanted);
    static const struct {
        const char *name, *words;
    } bad[] = {{"rk4:fixed-point-2", "has no implicit stage"},
               {"gauss4:fixed-point-65", "0 <= N <= 64"},
               {"gauss4:fixed-point-", "0 <= N <= 64"},
               {"gauss4:fixed-point-2x", "0 <= N <= 64"},
               {"gauss4:fixed-point-2:fixed-point-2", "has no implicit stage"},
               {"radau-iia5:fixed-point-64:heun", "unknown scheme"},
               {"ark4:fixed-point-64", "at most 256 stages"},
               {"gauss5:fixed-point-2", "nearest is 'gauss4'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        Table *none;
        assert_int_equal(zoo_find(&zoo, bad[i].name, "exact", &none), ERR_INPUT);
        if (!strstr(error_text(), bad[i].words)) fail_msg("%s: %s", bad[i].name, error_text());
    }
    Table *gated = scheme("k1 = F(y)\ngate g = tanh(k1)\nk2 = G(y + g*k2)\ny' = y + k2");
    assert_int_equal(scheme_fixed_point(gated, 1, "it", stderr), ERR_INPUT);
    table_free(gated);
    Table *split = scheme("strang-marchuk:implicit-midpoint:fixed-point-2");
    assert_int_equal(theory(split).order, 2);
    table_free(split);
}

/* ---- no memory ---------------------------------------------------------------------------------------- */

static Table *starved;
static System *starving;

static int solver_job(void)
{
    Stepper *st;
    double real, imag;
    Stiff stiff;
    TRY(stability_stiff(starved, &stiff));
    TRY(stability_limits(starved, &real, &imag));
    TRY(stepper_new(starved, starving, &st));
    int code = stepper_begin(st, 0, 0.1, starving->initial, START_NETWORK, NULL);
    if (code == 0) code = stepper_step(st);
    stepper_free(st);
    return code;
}

static int fixed_point_job(void)
{
    Table *t;
    TRY(zoo_find(&zoo, "implicit-midpoint:fixed-point-2", "exact", &t));
    table_free(t);
    return 0;
}

TEST(test_short_of_memory)
{
    static const char *const names[] = {"implicit-midpoint", "trapezoid", "bdf2"};
    for (int i = 0; i < 3; i++) {
        starved = frozen(names[i]);
        starving = make("attention");
        assert_true(fail_each(solver_job, ERR_INPUT) > 20);
        table_free(starved);
        system_free(starving);
    }
    assert_true(fail_each(fixed_point_job, ERR_INPUT) > 20);
}

TEST_MAIN(zoo_begin, zoo_end)
