/* test_mutants.c: generated wrong schemes. For every consistent scheme of the zoo it shifts and negates each
 * coefficient, exchanges each operator, all of them, and neighbouring flows (which turns the sign of their
 * bracket), and puts commuting operators under a splitting.
 *
 * The exact theory decides what a mutant is: the same up to its leading error, or another scheme. The measurement
 * must agree: another scheme is caught by its order, or by its constant or the direction of its error, held against
 * the prediction for the unspoiled one; the same one passes. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "ode/ode.h"

/* ---- mutants ------------------------------------------------------------------------------------- */

enum { SHIFT, NEGATE, CHANGES };
static const char *const change_name[CHANGES] = {"shifted", "negated"};

static void change(mpq_t c, int how)
{
    mpq_t eighth;
    mpq_init(eighth);
    mpq_set_ui(eighth, 1, 8);
    if (how == SHIFT) mpq_add(c, c, eighth);
    if (how == SHIFT && mpq_sgn(c) == 0) mpq_add(c, c, eighth);
    if (how == NEGATE) mpq_neg(c, c);
    mpq_clear(eighth);
}

/* Changes coefficient number *i of a row and returns 1, or subtracts the row's number of coefficients from *i. */
static int change_row(Row *r, size_t *i, int how)
{
    if (*i >= r->terms) {
        *i -= r->terms;
        return 0;
    }
    change(r->term[*i].c, how);
    return 1;
}

static int change_coefficient(Table *t, size_t *i, int how, char *what)
{
    sprintf(what, "coefficient %zu %s", *i, change_name[how]);
    for (size_t p = 0; p < t->points; p++)
        if (change_row(&t->point[p].row, i, how)) return 1;
    if (change_row(&t->update, i, how)) return 1;
    if (*i < t->flows) {
        change(t->flow[*i].c, how);
        return 1;
    }
    *i -= t->flows;
    return 0;
}

static int exchange_one(Table *t, size_t *i, char *what)
{
    size_t n = t->evals + t->flows;
    sprintf(what, "operator %zu exchanged", *i);
    if (*i >= n) {
        *i -= n;
        return 0;
    }
    int *op = *i < t->evals ? &t->eval[*i].op : &t->flow[*i - t->evals].op;
    *op = 1 - *op;
    return 1;
}

static int exchange_all(Table *t, size_t *i, char *what)
{
    sprintf(what, "F and G exchanged");
    if (*i) return (--*i, 0);
    for (size_t e = 0; e < t->evals; e++) t->eval[e].op = 1 - t->eval[e].op;
    for (size_t e = 0; e < t->flows; e++) t->flow[e].op = 1 - t->flow[e].op;
    return 1;
}

static int exchange_flows(Table *t, size_t *i, char *what)
{
    for (size_t k = 0; k + 1 < t->flows; k++) {
        if (t->flow[k].op == t->flow[k + 1].op || (*i)--) continue;
        Flow first = t->flow[k];
        t->flow[k] = t->flow[k + 1];
        t->flow[k + 1] = first;
        sprintf(what, "flows %zu and %zu exchanged", k, k + 1);
        return 1;
    }
    return 0;
}

/* Returns mutant number i of a frozen table, NULL past the last. */
static Table *mutant(const Table *t, size_t i, char *what)
{
    Table *m = table_copy(t);
    assert_non_null(m);
    for (size_t s = 0; s < m->stages; s++) m->stage[s].op = OP_L; /* F and G differ now */
    int made = 0;
    for (int how = 0; how < CHANGES && !made; how++) made = change_coefficient(m, &i, how, what);
    made = made || exchange_one(m, &i, what) || exchange_all(m, &i, what) ||
           exchange_flows(m, &i, what);
    if (made) return m;
    table_free(m);
    return NULL;
}

/* ---- kinds of mutants, exactly ------------------------------------------------------------------- */

typedef struct {
    const Forest *forest;
    mpq_t *defect, empty;
    int code;
} Defects;

static Defects defects(const Forest *f, const Table *t)
{
    Defects d = {.forest = f, .defect = memory_new(f->count, sizeof(mpq_t))};
    assert_non_null(d.defect);
    for (size_t i = 0; i < f->count; i++) mpq_init(d.defect[i]);
    mpq_init(d.empty);
    d.code = theory_defect(f, t, d.defect, d.empty);
    return d;
}

static void defects_free(Defects *d)
{
    for (size_t i = 0; i < d->forest->count; i++) mpq_clear(d->defect[i]);
    mpq_clear(d->empty);
    memory_free(d->defect);
}

static int same_number(const Table *t, const mpq_t a, const mpq_t b)
{
    mpq_t d;
    mpq_init(d);
    mpq_sub(d, a, b);
    int same = theory_is_zero(t, d);
    mpq_clear(d);
    return same;
}

/* Tells whether a step has the same errors up to order p + 1 and the same weights of past states. */
static int same_scheme(const Table *t, const Defects *a, const Table *m, int order)
{
    Theory th;
    assert_int_equal(theory_search(m, order < 1 ? 1 : order, &th), 0);
    if (th.order < order || !th.expands) return 0;
    for (size_t i = 0; i < t->update.terms; i++)
        if (t->update.term[i].eval == TABLE_STATE &&
            mpq_cmp(t->update.term[i].c, m->update.term[i].c) != 0)
            return 0;
    Defects b = defects(a->forest, m);
    int same = a->code == 0 && b.code == 0 && same_number(t, a->empty, b.empty);
    for (size_t i = 0; i < a->forest->count && same; i++)
        same = same_number(t, a->defect[i], b.defect[i]);
    defects_free(&b);
    return same;
}

/* ---- the measurement ----------------------------------------------------------------------------- */

enum { BY_NOTHING, BY_ORDER, BY_CONSTANT, BY_DIRECTION, BYS };

typedef struct {
    System *system;
    Prediction prediction;
    double vector[2 * 16]; /* (2, N) */
} Bench;                   /* a system and the prediction for the unspoiled scheme */

static int judge(const Table *m, const Bench *b, int order, int local)
{
    OrderStudy s;
    OrderOptions o = {.halvings = 4, .local = local};
    double predicted = local ? b->prediction.local : b->prediction.global;
    if (order_measure(m, b->system, &o, order, 1, &s) != 0) fail_msg("%s", error_text());
    int by = s.verdict == VERDICT_AGREE ? BY_NOTHING : BY_ORDER;
    const double *e = b->vector + (local ? 0 : s.N);
    double allowed = fmax(s.constant_off, 0.01 * s.constant) + b->prediction.accuracy * predicted;
    if (by == BY_NOTHING &&
        order_match(&s, predicted, b->prediction.accuracy, e) == VERDICT_DISAGREE)
        by = fabs(s.constant - predicted) > allowed ? BY_CONSTANT : BY_DIRECTION;
    order_free(&s);
    return by;
}

/* Tries the global error, then the local one, then those on the next system. Returns the first that catches the
 * mutant. */
static int caught(const Table *m, const Bench *b, size_t benches, int order)
{
    for (size_t i = 0; i < benches; i++)
        for (int local = 0; local < 2; local++) {
            int by = judge(m, &b[i], order, local);
            if (by != BY_NOTHING) return by;
        }
    return BY_NOTHING;
}

/* ---- every scheme -------------------------------------------------------------------------------- */

typedef struct {
    int mutants, by[BYS], same;
} Count;

/* Opens two small systems without a symmetry; for splittings they have closed flows. Returns 2. */
static size_t benches_new(const Table *t, const Theory *th, Bench b[2])
{
    static const char *const fields[2] = {"attention", "vortex"}, *const flows[2] = {"fisher",
                                                                                     "linear"};
    for (size_t i = 0; i < 2; i++) {
        const char *name = t->flows ? flows[i] : fields[i];
        size_t n = 4, d = strcmp(name, "linear") == 0 ? 1 : 2;
        if (system_new(name, n, d, 5, &b[i].system) != 0 ||
            order_predict(t, b[i].system, 0, th->order, th->zero_stable, &b[i].prediction,
                          b[i].vector) != 0)
            fail_msg("%s: %s", name, error_text());
        assert_true(b[i].prediction.accuracy <= 0.01);
    }
    return 2;
}

static void try_mutant(const Table *t, const Theory *th, const Defects *d, const Table *m,
                       const Bench *b, const char *what, Count *c)
{
    int same = same_scheme(t, d, m, th->order), by = caught(m, b, 2, th->order);
    if (same && by) fail_msg("%s, %s: the same scheme, yet caught", t->name, what);
    if (!same && !by) fail_msg("%s, %s: another scheme, not caught", t->name, what);
    c->mutants++;
    c->same += same;
    c->by[by]++;
}

static void try_scheme(const Table *t, Count *c)
{
    char what[64];
    Theory th;
    Forest *f;
    Bench b[2];
    assert_int_equal(theory_search(t, 6, &th), 0);
    if (!th.consistent || !th.zero_stable) return;
    assert_int_equal(forest_new(th.order + 1, 2, &f), 0);
    Defects d = defects(f, t);
    benches_new(t, &th, b);
    if (caught(t, b, 2, th.order) != BY_NOTHING) fail_msg("%s, unspoiled, is caught", t->name);
    Table *m;
    for (size_t i = 0; (m = mutant(t, i, what)); i++) {
        try_mutant(t, &th, &d, m, b, what, c);
        table_free(m);
    }
    for (size_t i = 0; i < 2; i++) system_free(b[i].system);
    defects_free(&d);
    forest_free(f);
}

TEST(test_mutants)
{
    Zoo zoo;
    Table **list;
    size_t n;
    Count c = {0};
    assert_int_equal(zoo_open(&zoo), 0);
    assert_int_equal(zoo_list(&zoo, "all,strang-marchuk:heun,yoshida4:rk4", "exact", &list, &n), 0);
    for (size_t i = 0; i < n; i++) {
        Table *t = table_freeze(list[i]);
        try_scheme(t, &c);
        table_free(t);
        table_free(list[i]);
    }
    memory_free(list);
    zoo_close(&zoo);
    print_message("%d mutants: %d caught by their order, %d by their constant, %d by its sign or "
                  "direction; %d are the same to their leading error\n",
                  c.mutants, c.by[BY_ORDER], c.by[BY_CONSTANT], c.by[BY_DIRECTION], c.same);
    assert_true(c.mutants >= 500 && c.by[BY_CONSTANT] >= 30 && c.by[BY_NOTHING] == c.same);
}

/* A split that commutes hides every splitting error. Measured on it, no splitting looks like the prediction for a
 * split that does not commute. */
TEST(test_commuting)
{
    static const char *const names[] = {"lie-trotter",     "strang-marchuk", "strang-marchuk-fgf",
                                        "stoermer-verlet", "ruth3",          "yoshida4"};
    System *commuting;
    Zoo zoo;
    Bench b;
    assert_int_equal(zoo_open(&zoo), 0);
    assert_int_equal(system_new("linear", 4, 1, 5, &b.system), 0);
    assert_int_equal(system_new("linear:commuting", 4, 1, 5, &commuting), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        Table *t;
        Theory th;
        assert_int_equal(zoo_find(&zoo, names[i], "exact", &t), 0);
        assert_int_equal(theory_search(t, 6, &th), 0);
        assert_int_equal(order_predict(t, b.system, 0, th.order, 1, &b.prediction, b.vector), 0);
        assert_int_equal(judge(t, &b, th.order, 0), BY_NOTHING);
        Bench wrong = b;
        wrong.system = commuting;
        assert_int_equal(judge(t, &wrong, th.order, 0), BY_ORDER);
        assert_int_equal(judge(t, &wrong, th.order, 1), BY_ORDER);
        table_free(t);
    }
    system_free(b.system);
    system_free(commuting);
    zoo_close(&zoo);
}

TEST_MAIN(NULL, NULL)
