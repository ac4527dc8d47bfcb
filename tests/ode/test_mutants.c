/* test_mutants.c: generated wrong schemes. For every consistent scheme of the zoo it shifts and negates each
 * coefficient, exchanges each operator, all of them, and neighbouring flows (which turns the sign of their
 * bracket), and puts commuting operators under a splitting. Every second of these is tried.
 *
 * The exact theory decides what a mutant is: the same up to its leading error, or another scheme. The measurement
 * must agree: another scheme is caught by its order, or by its constant or the direction of its error, held against
 * the prediction for the unspoiled one; the same one passes. */
#include "tests/lib/test.h"

#include "tests/lib/schemes.h"

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
static int same_scheme(const Table *t, const TreeSum *a, const Table *m, int order)
{
    int low = order < 3 ? order : 3; /* most mutants end here, at little cost */
    Theory th = theory_of(m, low);
    if (th.order < low || !th.expands) return 0;
    for (size_t i = 0; i < t->update.terms; i++)
        if (t->update.term[i].eval == TABLE_STATE &&
            mpq_cmp(t->update.term[i].c, m->update.term[i].c) != 0)
            return 0;
    OWN_SUM b = defect_of(m, order + 1);
    int same = same_number(t, a->y, b.y);
    for (size_t i = 0; i < b.f->count && same; i++) same = same_number(t, a->c[i], b.c[i]);
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
    OWN_STUDY s = measured(m, b->system, (OrderOptions){.halvings = 4, .local = local}, order, 1);
    double predicted = local ? b->prediction.local : b->prediction.global;
    const double *e = b->vector + (local ? 0 : s.N);
    double allowed = fmax(s.constant_off, 0.01 * s.constant) + b->prediction.accuracy * predicted;
    if (s.verdict != VERDICT_AGREE) return BY_ORDER;
    if (order_match(&s, predicted, b->prediction.accuracy, e) != VERDICT_DISAGREE)
        return BY_NOTHING;
    return fabs(s.constant - predicted) > allowed ? BY_CONSTANT : BY_DIRECTION;
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

/* Opens a small system, whose solutions all mutants share, and predicts. */
static Bench bench(const char *name, size_t n, size_t d, const Table *t)
{
    Bench b = {.system = sized(name, n, d, 5)};
    assert_int_equal(solved_new(1 << 20, &b.system->solved), 0);
    b.prediction = predict(t, b.system, 0, b.vector);
    assert_true(b.prediction.accuracy <= 0.01);
    return b;
}

static void bench_free(Bench *b)
{
    solved_free(b->system->solved);
    system_free(b->system);
}

static void try_mutant(const Table *t, const Theory *th, const TreeSum *d, const Table *m,
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
    Theory th = theory_of(t, 6);
    if (!th.consistent || !th.zero_stable) return;
    OWN_SUM d = defect_of(t, th.order + 1);
    /* without a symmetry; for splittings with closed flows */
    Bench b[2] = {bench(t->flows ? "fisher" : "attention", 4, 2, t),
                  bench(t->flows ? "linear" : "vortex", 4, t->flows ? 1 : 2, t)};
    if (caught(t, b, 2, th.order) != BY_NOTHING) fail_msg("%s, unspoiled, is caught", t->name);
    for (size_t i = (size_t)c->mutants % 2;; i += 2) {
        OWN_TABLE *m = mutant(t, i, what);
        if (!m) break;
        try_mutant(t, &th, &d, m, b, what, c);
    }
    for (size_t i = 0; i < 2; i++) bench_free(&b[i]);
}

TEST(test_mutants)
{
    Count c = {0};
    OWN_TABLES list = listed("all,strang-marchuk:heun,yoshida4:rk4", "exact");
    for (size_t i = 0; i < list.count; i++) {
        OWN_TABLE *t = freeze(list.table[i]);
        try_scheme(t, &c);
    }
    print_message("%d mutants: %d caught by their order, %d by their constant, %d by its sign or "
                  "direction; %d are the same to their leading error\n",
                  c.mutants, c.by[BY_ORDER], c.by[BY_CONSTANT], c.by[BY_DIRECTION], c.same);
    assert_true(c.mutants >= 500 && c.by[BY_CONSTANT] >= 30 && c.by[BY_NOTHING] == c.same);
}

TEST_MAIN(zoo_begin, zoo_end)
