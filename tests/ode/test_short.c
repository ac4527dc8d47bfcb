/* test_short.c: ode/ short of memory: on the way from a text to a result every allocation fails once, and nothing is left
 * over. tests/faults/test_starved.c has readers, and composed names. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* What a job reads: a frozen table and the same with its symbols and its pair, and a system. */
typedef struct {
    Table *t, *whole;
    System *s;
} Given;

typedef int Job(const Given *g);

static int steps(const Given *g)
{
    OWN_STEPPER *st = NULL;
    TRY(stepper_new(g->t, g->s, &st));
    TRY(stepper_begin(st, 0, 0.1, g->s->initial, START_NETWORK, NULL));
    return stepper_step(st);
}

static int stability(const Given *g)
{
    double real, imag;
    Stiff stiff;
    Phase phase;
    TRY(stability_stiff(g->t, &stiff));
    TRY(stability_limits(g->t, &real, &imag, NULL));
    TRY(phase_find(g->t, &phase));
    phase_free(&phase);
    return 0;
}

static int orders(const Given *g)
{
    Theory th;
    Embedded e;
    TRY(theory_search(g->t, table_one_field(g->t) ? 5 : 2, &th));
    return theory_embedded(g->whole, 3, &e);
}

static int structure(const Given *g)
{
    Structure s;
    TRY(structure_find(g->t, 2, &s));
    structure_free(&s);
    return 0;
}

static int modified(const Given *g)
{
    OWN_FOREST *f = NULL;
    TRY(forest_new(3, 2, &f));
    SCOPED(rationals_drop) mpq_t *c = rationals_new(f->count);
    return c ? theory_modified(f, g->t, c) : ERR_MEMORY;
}

static int brackets(const Given *g)
{
    Brackets b;
    TRY(bracket_error(g->t, 4, &b));
    bracket_free(&b);
    TRY(bracket_read(g->t, "1/12 [F,[F,G]]; -1/24 [[F,G],G]", 3, &b));
    bracket_free(&b);
    return 0;
}

static int by_tolerance(const Given *g)
{
    AdaptRun r;
    double y[64];
    AdaptOptions o = within(1e-3, 1, 1);
    return adapt_run(g->whole, g->s, &o, y, &r);
}

static int measurement(const Given *g)
{
    OrderStudy m;
    Prediction p;
    TRY(order_measure(g->t, g->s, &(OrderOptions){.halvings = 4}, 2, 1, &m));
    order_free(&m);
    return order_predict(g->t, g->s, 0, 2, 1, &p, NULL);
}

static int drift(const Given *g)
{
    Drift d;
    TRY(order_drift(g->t, g->s, 1, 0.1, 5, &d));
    drift_free(&d);
    return 0;
}

static int references(const Given *g)
{
    double y[64], agreement, t = 0.5;
    TRY(reference_solve(g->s, &t, 1, y, &agreement));
    return reference_flow(g->s, OP_F, 1, 0, t, y, NULL);
}

static int composed(const Given *g)
{
    OWN_TABLE *t = NULL;
    OWN_RATIONAL total;
    (void)g;
    mpq_init(total);
    TRY(zoo_compose(&zoo, "heun-layer,euler", total, &t));
    table_free(t);
    t = NULL;
    return zoo_compose(&zoo, "lie-trotter,lie-trotter", total, &t);
}

static int tableau(const Given *g)
{
    static const char text[] =
        "{\"A\": [[], [\"1/2\"]], \"b\": [0, 1], \"bhat\": [1, 0], \"c\": [0, 0.5]}";
    OWN_TABLES l = {0};
    (void)g;
    return butcher_parse("tableau", text, sizeof text - 1, &l.table, &l.count);
}

#define EXPONENTIAL "linear F\nk1 = H(y)\nk2 = phi1(1/2 F)(k1)\ny' = y + k2\nerror = k2 - k1"
#define ROSENBROCK "k1 = H(y)\nk2 = solve(1/2 H)(k1)\nk3 = solve(1/2 W)(k2)\ny' = y + k3"

static const struct {
    Job *job;
    const char *scheme, *system;
    int least; /* failures */
} rows[] = {
    {steps, "trapezoid", "attention", 30},
    {steps, "bdf2", "attention", 30},
    {steps, "implicit-midpoint:fixed-point-2", "henon", 30},
    {steps, "ab3", "henon", 20},
    {steps, EXPONENTIAL, "fisher", 20},
    {steps, ROSENBROCK, "forced", 20},
    {stability, "implicit-midpoint", "henon", 20},
    {stability, "bdf2", "henon", 20},
    {stability, "rk3", "henon", 20},
    {stability, "ab3-layer", "henon", 20},
    {stability, EXPONENTIAL, "henon", 20},
    {stability, ROSENBROCK, "henon", 20},
    {orders, "ab3-layer", "henon", 30},
    {orders, "strang-marchuk", "henon", 30},
    {orders, "heun-euler", "henon", 30},
    {structure, "lie-trotter", "henon", 20},
    {structure, "macaron", "henon", 20},
    {structure, "ab2", "henon", 20},
    {modified, "transformer", "henon", 20},
    {brackets, "lie-trotter", "henon", 20},
    {by_tolerance, "heun-euler", "fisher", 20},
    {measurement, "leapfrog", "henon", 60},
    {drift, "leapfrog", "henon", 20},
    {references, "leapfrog", "forced", 20},
    {composed, "euler", "henon", 40},
    {tableau, "euler", "henon", 20},
};

/* Goes from the texts to the result of a row. */
static int whole_way(size_t row)
{
    const char *text = rows[row].scheme;
    OWN_TABLE *whole = NULL, *t = NULL;
    OWN_SYSTEM *s = NULL;
    if (strchr(text, ' '))
        TRY(read_scheme(text, &whole));
    else
        TRY(zoo_find(&zoo, text, "exact", &whole));
    if (!(t = table_freeze(whole))) return ERR_MEMORY;
    TRY(system_new(rows[row].system, 0, 0, 1, &s));
    return rows[row].job(&(Given){t, whole, s});
}

TEST(every_allocation_fails_once)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int failed = FAILURES(ERR_MEMORY, code = whole_way(i));
        if (failed <= rows[i].least) fail_msg("row %zu: %d failures", i, failed);
    }
}

/* Systems, and each of their options. */
TEST(systems_too)
{
    for (size_t k = 0; system_name(k); k++) {
        const SystemOption *o = system_options(k);
        do {
            char name[128];
            snprintf(name, sizeof name,
                     !o || !o->name ? "%s"
                     : o->flag      ? "%s:%s"
                                    : "%s:%s=%g",
                     system_name(k), o ? o->name : "", o ? o->high : 0);
            assert_true(FAILURES(ERR_MEMORY, OWN_SYSTEM *s = NULL;
                                 code = system_new(name, 0, 0, 1, &s)) > 0);
        } while (o && o->name && (++o)->name);
    }
}

TEST_MAIN(zoo_begin, zoo_end)
