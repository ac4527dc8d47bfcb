/* test_classics.c: schemes of the literature that are not built in. Those in classics.scheme have the published order,
 * embedded order, A- and L-stability, and a mutant of any coefficient has another order or another error. Runge-Kutta
 * methods up to order 14 (tableaus.jsonl: a tableau a line, with its source, order and embedded order) have decimals, and
 * fractions that are roundings: their order is that within their rounding, and a spoilt coefficient has a lower one. */
#include "tests/lib/test.h"

#include <complex.h>
#include <jansson.h>

#include "tests/lib/draws.h"
#include "tests/lib/schemes.h"

/* What a scheme's note says (classics.scheme). */
typedef struct {
    int order, embedded, a, l;
} Classic;

static Zoo classics;

static Classic told(const Table *t)
{
    Classic c;
    if (sscanf(t->note, "order %d, embedded %d, A %d, L %d", &c.order, &c.embedded, &c.a, &c.l) !=
        4)
        fail_msg("%s: '%s'", t->name, t->note);
    return c;
}

static int begin(void **state)
{
    return zoo_begin(state) != 0 || zoo_read(&classics, "tests/ode/classics.scheme") != 0;
}

static int end(void **state)
{
    zoo_close(&classics);
    return zoo_end(state);
}

/* Returns whether a term is a slope of the other's stage and step: those of H = F + G have one coefficient. */
static int same_slope(const Table *t, const Term *a, const Term *b)
{
    return a == b || (table_one_field(t) && a->eval >= 0 && b->eval >= 0 && a->past == b->past &&
                      t->eval[a->eval].stage == t->eval[b->eval].stage);
}

static void shift(const Table *t, Row *r, const Term *like, double by)
{
    OWN_RATIONAL x;
    mpq_init(x);
    mpq_set_d(x, by);
    for (size_t k = 0; k < r->terms; k++)
        if (same_slope(t, &r->term[k], like)) mpq_add(r->term[k].c, r->term[k].c, x);
}

/* Shifts every third coefficient by 1/16 (with TROTTER_DRAWS every one), one at a time: the order or the leading error differs. */
static void mutate(const Table *t, Row *r, const Theory *before, size_t *mutants)
{
    static size_t seen;
    for (size_t k = 0; k < r->terms; k++) {
        if (!draws(0) && seen++ % 3) continue;
        shift(t, r, &r->term[k], 0x1p-4);
        Theory after = theory_of(t, before->order + 1);
        if (after.order == before->order &&
            fabs(after.error_norm2 / before->error_norm2 - 1) < 1e-6)
            fail_msg("%s: a mutant is the same", t->name);
        shift(t, r, &r->term[k], -0x1p-4);
        ++*mutants;
    }
}

/* Shifts the imaginary part of a complex fraction, where it has one. */
static void mutate_imaginary(Table *t, size_t k, const Theory *before, size_t *mutants)
{
    OWN_RATIONAL x;
    mpq_init(x);
    if (mpq_sgn(t->flow[k].im) == 0) return;
    mpq_set_ui(x, 1, 16);
    mpq_add(t->flow[k].im, t->flow[k].im, x);
    assert_true(theory_of(t, before->order).order < before->order);
    mpq_sub(t->flow[k].im, t->flow[k].im, x);
    ++*mutants;
}

/* Every scheme has its published properties, and no coefficient is without effect. */
TEST(published_properties)
{
    size_t mutants = 0;
    assert_true(classics.count >= 48);
    for (size_t i = 0; i < classics.count; i++) {
        const Table *whole = classics.scheme[i];
        OWN_TABLE *t = freeze(whole); /* without the pair */
        Classic c = told(whole);
        int most = c.order > c.embedded ? c.order + 1 : c.embedded + 1; /* one more than is told */
        Theory th = theory_of(t, most);
        Embedded e;
        Stiff s;
        assert_int_equal(theory_embedded(whole, most, &e), 0);
        assert_int_equal(stability_stiff(t, &s), 0);
        int solves = table_has(t, HAS_IMPLICIT | HAS_SOLVE),
            stiff = solves ? s.a_stable == c.a && s.l_stable == c.l : c.a < 0;
        if (th.order != c.order || e.order != c.embedded || !stiff || !th.zero_stable)
            fail_msg("%s: order %d, embedded %d, A %d, L %d", t->name, th.order, e.order,
                     s.a_stable, s.l_stable);
        for (size_t k = 0; k < t->flows; k++) mutate_imaginary(t, k, &th, &mutants);
        for (size_t p = 0; p < t->points; p++) mutate(t, &t->point[p].row, &th, &mutants);
        if (!t->flows) mutate(t, &t->update, &th, &mutants);
    }
    print_message("%zu mutants\n", mutants);
    assert_true(mutants > 500);
}

/* Hairer, Wanner 1996, IV.5 and IV.12: of s stages Gauss's methods have B(2s) C(s) D(s), Radau's IA B(2s-1) C(s-1) D(s), IIA B(2s-1) C(s)
 * D(s-1), Lobatto's IIIA B(2s-2) C(s) D(s-2), IIIB B(2s-2) C(s-2) D(s), IIIC B(2s-2) C(s-1) D(s-1). Of these all but IIIA and
 * IIIB are algebraically stable, and so is Crouzeix's of two stages, whose nodes are those of Gauss. */
TEST(simplifying_assumptions)
{
    static const struct {
        const char *name;
        int B, C, D, algebraic;
    } row[] = {{"implicit-midpoint", 2, 1, 1, 1},
               {"gauss4", 4, 2, 2, 1},
               {"gauss6", 6, 3, 3, 1},
               {"radau1a3", 3, 1, 2, 1},
               {"radau1a5", 5, 2, 3, 1},
               {"implicit-euler", 1, 1, 0, 1},
               {"radau-iia3", 3, 2, 1, 1},
               {"radau-iia5", 5, 3, 2, 1},
               {"trapezoid", 2, 2, 0, 0},
               {"lob3a4", 4, 3, 1, 0},
               {"lob3a6", 6, 4, 2, 0},
               {"lob3b4", 4, 1, 3, 0},
               {"lob3b6", 6, 2, 4, 0},
               {"lob3c2", 2, 1, 1, 1},
               {"lob3c6", 6, 3, 3, 1},
               {"lobatto-iiic4", 4, 2, 2, 1},
               {"crouzeix3", 4, 1, 1, 1},
               {"rk4", 4, 1, 1, 0},
               {"heun", 2, 1, 1, 0}};
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        const Table *whole = NULL;
        for (size_t i = 0; i < classics.count; i++)
            if (strcmp(classics.scheme[i]->name, row[k].name) == 0) whole = classics.scheme[i];
        OWN_TABLE *t = whole ? freeze(whole) : frozen(row[k].name);
        Assumptions a;
        assert_int_equal(assumptions_find(t, &a), 0);
        if (a.B != row[k].B || a.C != row[k].C || a.D != row[k].D ||
            a.algebraic != (row[k].algebraic ? TOLD_YES : TOLD_NO))
            fail_msg("%s: B(%d) C(%d) D(%d), %d", t->name, a.B, a.C, a.D, a.algebraic);
    }
    /* a stage written twice, or one without effect, changes nothing */
    OWN_TABLE *twice = frozen("k1 = H(y + 1/4*k1 + 1/4*k2)\nk2 = H(y + 1/4*k1 + 1/4*k2)\n"
                              "k3 = H(y + 7*k1)\ny' = y + 1/2*k1 + 1/2*k2");
    Assumptions a;
    assert_int_equal(assumptions_find(twice, &a), 0);
    assert_true(a.B == 2 && a.C == 1 && a.D == 1 && a.algebraic == TOLD_YES);
    OWN_TABLE *layer = frozen("transformer"), *past = frozen("ab2");
    assert_int_equal(assumptions_find(layer, &a), 0);
    assert_true(a.B == -1 && a.algebraic == TOLD_NOT);
    assert_int_equal(assumptions_find(past, &a), 0);
    assert_true(a.B == -1);
}

/* Returns how the measured order of seven steps agrees with this one; that of order 8 is seen in steps near 1 alone. */
static int kick_verdict(const Table *t, const System *s, int order, int expected)
{
    OrderOptions o = {.halvings = 6, .h0 = order > 6 ? 1 : 0};
    OWN_STUDY m = measured(t, s, o, expected, 1);
    return m.verdict;
}

/* Schemes for kicks and drifts have their order on such systems, measured too, and those for y'' = f(y, y') on a damped pendulum, which
 * the others refuse. Of any fields they have a lower one, and are refused there. */
TEST(separable_fields)
{
    size_t seen = 0, velocity = 0;
    OWN_SYSTEM *henon = make("henon"), *pendulum = make("pendulum"), *attention = make("attention");
    OWN_SYSTEM *damped = read_system(
        "system damped\ny'' = -sin(y) - 1/2*y'^3 + y*y'\ninitial = 1, 1/2\nt-end 2\n", 0, 0);
    for (size_t i = 0; i < classics.count; i++) {
        OWN_TABLE *t = freeze(classics.scheme[i]);
        if (!(t->special & SEPARABLE)) continue;
        Classic c = told(t);
        assert_int_equal(kick_verdict(t, henon, c.order, c.order), VERDICT_AGREE);
        assert_int_equal(kick_verdict(t, henon, c.order, c.order + 1), VERDICT_DISAGREE);
        assert_int_equal(system_takes(pendulum, t), 0);
        assert_int_equal(system_takes(damped, t), special_separable(t->special) ? ERR_INPUT : 0);
        if (!special_separable(t->special)) {
            assert_int_equal(kick_verdict(t, damped, c.order, c.order), VERDICT_AGREE);
            assert_int_equal(kick_verdict(t, damped, c.order, c.order + 1), VERDICT_DISAGREE);
            velocity++;
        }
        assert_int_equal(system_takes(attention, t), ERR_INPUT);
        assert_non_null(strstr(error_text(), "), which system attention is not; these are: "));
        t->special &= SEPARABLE_G | 1 << OP_G;
        int lower = theory_of(t, TREE_MAX).order < c.order; /* where F reads the velocity too */
        assert_true(lower == special_separable(classics.scheme[i]->special));
        t->special = 0;
        assert_true(theory_of(t, TREE_MAX).order < c.order);
        seen++;
    }
    assert_int_equal(seen, 14);
    assert_int_equal(velocity, 4);
}

/* Of all pairs these two have an estimate that is 0 on linear fields, as their rows of weights say: on y' = lambda y the
 * difference of both methods, sum d_i U_i, cancels. With another weight it does not (the control). */
TEST(published_blind)
{
    size_t blind = 0;
    for (size_t i = 0; i < classics.count; i++) {
        const Table *t = classics.scheme[i];
        int known = strcmp(t->name, "ros3pr") == 0 || strcmp(t->name, "ros34pw1a") == 0;
        Blind b;
        if (!t->pair) continue;
        assert_int_equal(stability_blind(t, &b), 0);
        if (b.kind != (known ? BLIND_LINEAR : BLIND_NOT)) fail_msg("%s: kind %d", t->name, b.kind);
        blind += b.kind == BLIND_LINEAR;
        if (!known) continue;
        shift(t->pair, &t->pair->error, &t->pair->error.term[0], 0x1p-10);
        assert_int_equal(stability_blind(t, &b), 0);
        assert_int_equal(b.kind, BLIND_NOT);
        shift(t->pair, &t->pair->error, &t->pair->error.term[0], -0x1p-10);
    }
    assert_int_equal(blind, 2);
}

/* ---- tableaus --------------------------------------------------------------------------------------- */

/* Checks that a coefficient off by 2^-20 costs orders: of the update, and of the last stage it reads. */
static void check_spoilt(const Table *of, int order)
{
    for (int what = 0; what < 2; what++) {
        OWN_TABLE *t = freeze(of);
        const Term *last = &t->update.term[t->update.terms - 1];
        Row *r = what ? &t->update : &t->point[t->eval[last->eval].point].row;
        shift(t, r, &r->term[r->terms - 1], 0x1p-20);
        if (theory_of(t, TREE_MAX_1).order >= (what ? 1 : order))
            fail_msg("%s: a spoilt coefficient is not seen", t->name);
    }
}

/* Returns whether the factor is above 1 beyond the end on an axis: of 0, somewhere up to i, where it is so at once. */
static int leaves(const Table *t, double complex turn, double end)
{
    int above = end != 0 && modulus(t, turn * end * 1.001 / 2, turn * end * 1.001 / 2) > 1;
    for (double y = 0x1p-6; end == 0 && y <= 1; y *= 2)
        above |= modulus(t, turn * y / 2, turn * y / 2) > 1 + 1e-14;
    return above;
}

/* Checks that the ends of the stability intervals are where the factor, in double precision, passes 1. */
static void check_limits(const Table *of)
{
    double end[2];
    TABLE(t);
    assert_int_equal(theory_freeze(of, &t), 0);
    assert_int_equal(stability_limits(t, &end[0], &end[1], NULL), 0);
    for (int k = 0; k < 2; k++) {
        double complex turn = k ? I : 1, in = turn * end[k] * 0.999 / 2;
        if (!isfinite(end[k]) || modulus(t, in, in) > 1 + 1e-9 || !leaves(t, turn, end[k]))
            fail_msg("%s: limit %.12g", t->name, end[k]);
    }
}

/* Checks one line. Returns 1 for a tableau of rounded fractions. */
static size_t check_line(const char *line, size_t bytes)
{
    OWN_TABLES l = {0};
    json_t *root = json_loadb(line, bytes, 0, NULL);
    int order = (int)json_integer_value(json_object_get(root, "order"));
    int embedded = (int)json_integer_value(json_object_get(root, "embedded"));
    if (butcher_parse("tableau", line, bytes, &l.table, &l.count) != 0)
        fail_msg("%.200s: %s", line, error_text());
    const Table *t = l.table[0];
    Theory th = theory_of(t, TREE_MAX_1);
    Embedded e;
    assert_int_equal(theory_embedded(t, TREE_MAX_1, &e), 0);
    if (th.order != order || e.order != embedded)
        fail_msg("%s: order %d, embedded %d", t->name, th.order, e.order);
    if (e.order >= 0) assert_true(e.estimate_order >= (embedded < order ? embedded : order));
    assert_true(th.residual <= th.bound && th.missed > 1e4 * th.residual);
    int rounding = t->exact && th.order_exact < th.order;
    if (t->exact && !rounding) assert_true(th.residual == 0);
    check_spoilt(t, order);
    check_limits(t);
    json_decref(root);
    return rounding != 0;
}

TEST(published_orders)
{
    size_t room = 0, count = 0, rounded = 0;
    char *line = NULL;
    FILE *f = fopen("tests/ode/tableaus.jsonl", "r");
    assert_non_null(f);
    for (ssize_t n; (n = getline(&line, &room, f)) > 0; count++)
        rounded += check_line(line, (size_t)n);
    fclose(f);
    free(line);
    assert_true(count >= 60);
    assert_int_equal(rounded, 1); /* Prince and Dormand's fractions of 1981 */
}

TEST_MAIN(begin, end)
