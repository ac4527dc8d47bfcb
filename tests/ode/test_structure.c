/* test_structure.c: symmetry, symplecticity, effective order and error constants, against steps of a separable
 * Hamiltonian with its tangent, and against conjugation. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* Checks every scheme of the zoo with its splittings exact, then solved for by Heun's method, and some others. */
static void for_all(void (*check)(const Table *t))
{
    static const char *const solver[] = {"exact", "heun"};
    static const char *const more[] = {
        "k1 = F(y)\nk2 = G(y + k1)\nk3 = F(y + k2)\ny' = y + 1/2*k1 + k2 + 1/2*k3",
        "k1 = F(y)\nk2 = G(y + 1/2*k1)\nk3 = F(y + k2)\ny' = y + 1/2*k1 + k2 + 1/2*k3",
        "k1 = F(y)\nk2 = G(y + 1/2*k1)\nk3 = F(y + k2)\ny' = y + 1/3*k1 + k2 + 2/3*k3",
        "k1 = F(y)\nk2 = F(y)\nk3 = G(y + 1/4*k1 + 3/4*k2)\ny' = y + 1/4*k1 + 3/4*k2 + k3",
        "k1 = H(y)\nk2 = F(y + 7*k1)\nk3 = G(y + k1)\ny' = y + 1*k1 - 1*k1 + k2 + k3"};
    for (size_t k = 0; k < sizeof solver / sizeof *solver; k++)
        for_each("all,word:sffs,sandwich:3-1", solver[k], check);
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        OWN_TABLE *t = frozen(more[i]);
        check(t);
    }
}

/* ---- a separable Hamiltonian with its tangent ------------------------------------------------------- */

/* (q, p) and the derivatives by q0, p0. F kicks: p' = -V'(q). G drifts: q' = T'(p). */
typedef struct {
    double y[2], D[2][2];
} State;

/* Returns the value of -V' or T', which have no special degree; *slope gets its derivative. */
static double force(int op, double x, double *slope)
{
    *slope = op == OP_F ? -cos(x) - 0.9 * x * x + 0.4 : 1 + 0.6 * x + 0.3 * cos(2 * x);
    return op == OP_F ? -sin(x) - 0.3 * x * x * x + 0.4 * x : x + 0.3 * x * x + 0.15 * sin(2 * x);
}

static State apply(int op, const State *s, double h)
{
    State k = {0};
    int from = op == OP_F ? 0 : 1, to = 1 - from;
    double slope;
    k.y[to] = h * force(op, s->y[from], &slope);
    for (int j = 0; j < 2; j++) k.D[to][j] = h * slope * s->D[from][j];
    return k;
}

static void add(State *s, const State *x, double c)
{
    for (int i = 0; i < 2; i++) {
        s->y[i] += c * x->y[i];
        for (int j = 0; j < 2; j++) s->D[i][j] += c * x->D[i][j];
    }
}

static State combine(const Row *r, const State *y, const State *k)
{
    State s = {0};
    for (size_t i = 0; i < r->terms; i++)
        add(&s, r->term[i].eval == TABLE_STATE ? y : &k[r->term[i].eval], mpq_get_d(r->term[i].c));
    return s;
}

/* Takes one step of a one-step table. Flows are exact, as kicks and drifts do not change what they read. */
static State step(const Table *t, State y, double h)
{
    State k[256];
    for (size_t i = 0; i < t->flows; i++) {
        State x = apply(t->flow[i].op, &y, h * mpq_get_d(t->flow[i].c));
        add(&y, &x, 1);
    }
    if (t->flows) return y;
    assert_true(t->evals <= 256);
    for (size_t e = 0; e < t->evals; e++) {
        State at = combine(&t->point[t->eval[e].point].row, &y, k);
        k[e] = apply(t->eval[e].op, &at, h);
    }
    return combine(&t->update, &y, k);
}

static State start(uint64_t i)
{
    State s = {.D = {{1, 0}, {0, 1}}};
    for (uint64_t j = 0; j < 2; j++) s.y[j] = 0.3 + random_uniform(5, i, j);
    return s;
}

/* Returns the largest |determinant - 1| of a step's derivative: 0 for all points iff area is kept. */
static double area_defect(const Table *t)
{
    double most = 0;
    for (uint64_t i = 0; i < 5; i++) {
        State s = step(t, start(i), 0.7);
        most = fmax(most, fabs(s.D[0][0] * s.D[1][1] - s.D[0][1] * s.D[1][0] - 1));
    }
    return most;
}

/* Returns the largest distance from the start after S(h), S(-h). */
static double return_defect(const Table *t)
{
    double most = 0;
    for (uint64_t i = 0; i < 5; i++) {
        State a = start(i), s = step(t, step(t, a, 0.7), -0.7);
        most = fmax(most, fmax(fabs(s.y[0] - a.y[0]), fabs(s.y[1] - a.y[1])));
    }
    return most;
}

/* Checks a result against its defect. Rounding of some 100 operations on numbers below 10 makes 1e-13; a scheme
 * that does not keep a property misses it by h^6 times a coefficient of at least 1e-4. */
static void check_told(const Table *t, const char *what, int told, double defect)
{
    if (told == TOLD_NOT) return;
    int kept = defect <= 1e-11;
    if (kept != told || (!kept && !(defect > 1e-8)))
        fail_msg("%s is told %s: %d, but misses by %g", t->name, what, told, defect);
}

/* Gates that start at 0 make a block the identity, which keeps everything. */
static int is_identity(const Table *t)
{
    mpq_t w[2];
    mpq_inits(w[0], w[1], NULL);
    table_weight(t, OP_F, 1, w[0]);
    table_weight(t, OP_G, 1, w[1]);
    int zero = mpq_sgn(w[0]) == 0 && mpq_sgn(w[1]) == 0;
    mpq_clears(w[0], w[1], NULL);
    return zero;
}

static void check_separable(const Table *t)
{
    OWN_STRUCTURE s = structure_of(t, 6);
    if (!t->past_y && !t->past_k) {
        check_told(t, "symplectic", s.symplectic_separable, area_defect(t));
        check_told(t, "symmetric", s.symmetric_separable, return_defect(t));
        assert_true(s.symmetric != TOLD_YES || s.symmetric_separable == TOLD_YES);
        assert_true(s.symplectic != TOLD_YES || s.symplectic_separable == TOLD_YES);
    } else {
        assert_int_equal(s.symplectic, TOLD_NOT);
    }
    if (!t->flows && t->evals && !t->past_y && !t->past_k && !is_identity(t)) {
        assert_true(s.symmetric != TOLD_YES && s.symplectic != TOLD_YES); /* explicit: never */
        assert_true(s.symmetric != TOLD_NO || s.symmetric_order >= 1);
    }
}

TEST(test_separable)
{
    for_all(check_separable);
}

/* ---- known results ----------------------------------------------------------------------------------- */

TEST(test_known)
{
    enum { ANY = 9, NOT = TOLD_NOT };
    static const struct {
        const char *name;
        int told[6]; /* symmetric, its order, separable; symplectic, separable; effective order */
    } known[] = {{"lie-trotter", {0, 1, 0, 1, 1, 2}},
                 {"strang-marchuk", {1, -1, 1, 1, 1, 2}},
                 {"stoermer-verlet", {1, -1, 1, 1, 1, 2}},
                 {"ruth3", {0, 3, 0, 1, 1, 3}},
                 {"yoshida4", {1, -1, 1, 1, 1, 4}},
                 {"word:sssfff", {0, 1, 0, 1, 1, 2}},
                 {"transformer", {0, 1, 0, 0, 1, -1}},
                 {"macaron", {0, 1, 1, 0, 1, -1}},
                 {"heun", {0, 3, 0, 0, 0, -1}},
                 {"rk4", {0, 5, 0, 0, 0, -1}},
                 {"polynet", {NOT, -1, NOT, NOT, NOT, -1}},
                 {"leapfrog", {1, -1, 1, NOT, NOT, -1}},
                 {"ab3", {0, -1, 0, NOT, NOT, -1}},
                 {"leapfrog-layer", {NOT, -1, NOT, NOT, NOT, -1}},
                 {"strang-decoder", {1, -1, ANY, ANY, ANY, 2}},
                 {"strang-marchuk-decoder", {0, ANY, ANY, ANY, ANY, ANY}},
                 {"implicit-midpoint", {1, ANY, ANY, 1, ANY, ANY}},
                 {"gauss4", {1, ANY, ANY, 1, ANY, ANY}},
                 {"trapezoid", {1, ANY, ANY, 0, ANY, ANY}},
                 {"implicit-euler", {0, ANY, ANY, 0, ANY, ANY}},
                 {"radau-iia3", {0, ANY, ANY, 0, ANY, ANY}},
                 {"lobatto-iiic4", {0, ANY, ANY, 0, ANY, ANY}},
                 {"sdirk2", {0, ANY, ANY, 0, ANY, ANY}},
                 /* the midpoint rule with its stage written twice is the same method */
                 {"k1 = H(y + 1/2*k2)\nk2 = H(y + 1/2*k1)\ny' = y + 1/3*k1 + 2/3*k2",
                  {1, ANY, ANY, 1, ANY, ANY}},
                 {"k1 = H(y + 1/2*k1)\nk2 = H(y + 2/3*k1)\ny' = y + 1/3*k1 + 2/3*k2",
                  {0, ANY, ANY, 0, ANY, ANY}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = frozen(known[i].name);
        OWN_STRUCTURE s = structure_of(t, 6);
        const int found[] = {s.symmetric,  s.symmetric_order,      s.symmetric_separable,
                             s.symplectic, s.symplectic_separable, s.effective_order};
        for (int k = 0; k < 6; k++)
            if (found[k] != known[i].told[k] && known[i].told[k] != ANY)
                fail_msg("%s: number %d is %d", known[i].name, k + 1, found[k]);
    }
}

/* Symmetry is decided, not looked for: published explicit tableaus agree with their adjoints up to more than order 5, and Lobatto
 * III of 7 stages does, but none is symmetric. Orders are then said to be lower bounds. */
TEST(test_high_orders)
{
    size_t room = 0, count = 0, bounds = 0;
    char *line = NULL;
    FILE *f = fopen("tests/ode/tableaus.jsonl", "r");
    assert_non_null(f);
    for (ssize_t n; (n = getline(&line, &room, f)) > 0; count++) {
        OWN_TABLES l = {0};
        assert_int_equal(butcher_parse("tableau", line, (size_t)n, &l.table, &l.count), 0);
        OWN_TABLE *t = freeze(l.table[0]);
        OWN_STRUCTURE s = structure_of(t, 5);
        if (s.symmetric != TOLD_NO || s.symplectic != TOLD_NO) fail_msg("%s", t->name);
        assert_int_equal(s.symmetric_at_least, s.symmetric_order == 5);
        bounds += (size_t)s.symmetric_at_least;
    }
    fclose(f);
    free(line);
    assert_true(count > 60 && bounds > 30);
}

/* Hammer and Hollingsworth's method with its stages in the other order, and one of them twice, is symmetric and symplectic;
 * a weight or a coefficient that is off by 1e-9 makes it neither, though no tree of order 2 tells. */
TEST(test_decided)
{
    static const char form[] = "let r = sqrt(3)/6\n"
                               "k1 = H(y + (1/4+r)*k2 + 1/8*k1 + 1/8*k3)\n"
                               "k2 = H(y + 1/4*k2 + (%s-r)*k3)\n"
                               "k3 = H(y + (1/4+r)*k2 + 1/4*k1)\n"
                               "y' = y + 1/2*k2 + 1/3*k1 + 1/6*k3";
    static const char *const value[] = {"1/4", "0.250000001", "0.249999999"};
    for (int i = 0; i < 3; i++) {
        OWN_TABLE *t = frozen(formed(form, value[i]));
        OWN_STRUCTURE s = structure_of(t, 2);
        assert_int_equal(s.symmetric, i == 0);
        assert_int_equal(s.symplectic, i == 0);
    }
    OWN_TABLE *four = frozen("yoshida4"), *ruth = frozen("ruth3");
    for (int degree = 3; degree <= 6; degree++) {
        OWN_STRUCTURE s = structure_of(four, degree), r = structure_of(ruth, degree);
        assert_int_equal(s.effective_at_least, degree <= 4);
        assert_int_equal(r.effective_at_least, degree <= 3);
        assert_int_equal(r.symmetric_at_least, degree <= 3);
    }
}

/* ---- linear multistep ---------------------------------------------------------------------------------- */

/* Every tree t of order p + 1 has the defect C (p+1)! / (gamma sigma), because y^(p+1) is that sum of
 * elementary differentials. The constant is that of the source. */
TEST(test_constants)
{
    static const struct {
        const char *text;
        int order, symmetric;
        long p;
        unsigned long q;
        long np;
        unsigned long nq; /* constant, and divided by the sum of slope weights */
    } known[] = {
        {"euler", 1, 0, -1, 2, -1, 2},
        {"ab2", 2, 0, -5, 12, -5, 12},
        {"ab3", 3, 0, -3, 8, -3, 8},
        {"ab4", 4, 0, -251, 720, -251, 720},
        {"ab5", 5, 0, -95, 288, -95, 288},
        {"leapfrog", 2, 1, -1, 3, -1, 6},
        /* Nystroem, k = 3 */
        {"k1 = H(y)\ny' = y[-1] + 7/3*k1 - 2/3*k1[-1] + 1/3*k1[-2]", 3, 0, -1, 3, -1, 6},
        /* Milne's predictor */
        {"k1 = H(y)\ny' = y[-3] + 8/3*k1 - 4/3*k1[-1] + 8/3*k1[-2]", 4, 1, -14, 45, -7, 90},
        {"k1 = H(y)\nk2 = H(y[-1])\ny' = y + 3/2*k1 - 1/2*k2", 2, 0, -5, 12, -5, 12},
        /* the most accurate explicit two-step method is not zero-stable and has order 3 */
        {"k1 = H(y)\ny' = -4*y + 5*y[-1] + 4*k1 + 2*k1[-1]", 3, 0, -1, 6, -1, 36},
        /* implicit ones: C of BDF is 1/(k + 1) times its weight on the new slope (Hairer, Wanner 1996, V.1), of
         * Adams-Moulton methods 1/2, 1/12, 1/24, 19/720 (Hairer, Norsett, Wanner 1993, III.2) */
        {"implicit-euler", 1, 0, 1, 2, 1, 2},
        {"trapezoid", 2, 1, 1, 12, 1, 12},
        {"adams-moulton3", 3, 0, 1, 24, 1, 24},
        {"k1 = H(y)\nk2 = H(y + 19/24*k1 - 5/24*k1[-1] + 1/24*k1[-2] + 3/8*k2)\n"
         "y' = y + 19/24*k1 - 5/24*k1[-1] + 1/24*k1[-2] + 3/8*k2",
         4, 0, 19, 720, 19, 720},
        {"bdf2", 2, 0, 2, 9, 1, 3},
        {"k1 = H(18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1)\n"
         "y' = 18/11*y - 9/11*y[-1] + 2/11*y[-2] + 6/11*k1",
         3, 0, 3, 22, 1, 4},
        /* Milne's corrector, symmetric */
        {"k1 = H(y)\nk2 = H(y[-1] + 4/3*k1 + 1/3*k1[-1] + 1/3*k2)\n"
         "y' = y[-1] + 4/3*k1 + 1/3*k1[-1] + 1/3*k2",
         4, 1, 1, 90, 1, 180}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        OWN_TABLE *t = frozen(known[i].text);
        OWN_STRUCTURE s = structure_of(t, 5);
        OWN_SUM defect = defect_of(t, known[i].order + 1);
        assert_int_equal(s.has_constant, 1);
        if (mpq_cmp_si(s.error_constant[0], known[i].p, known[i].q) != 0 ||
            mpq_cmp_si(s.error_constant[1], known[i].np, known[i].nq) != 0)
            fail_msg("%s: another constant", known[i].text);
        if (t->past_y || t->past_k) assert_int_equal(s.symmetric, known[i].symmetric);
        for (size_t k = 0; k < defect.f->count; k++) {
            const Tree *tree = &defect.f->tree[k];
            double C = tree->order <= known[i].order ? 0 : mpq_get_d(s.error_constant[0]);
            double told = C * tgamma(tree->order + 1) / (double)tree->gamma / (double)tree->sigma;
            assert_true(fabs(mpq_get_d(defect.c[k]) - told) <= 1e-14);
        }
    }
}

/* A corrector that is not solved for has no constant of this kind, nor has a midpoint. */
TEST(test_no_constant)
{
    static const char *const none[] = {
        "implicit-midpoint", "heun", "gauss4", "polynet",
        "k1 = H(4/3*y - 1/3*y[-1] + 1/2*k1)\ny' = 4/3*y - 1/3*y[-1] + 2/3*k1"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        OWN_TABLE *t = frozen(none[i]);
        OWN_STRUCTURE s = structure_of(t, 5);
        assert_int_equal(s.has_constant, 0);
    }
}

/* ---- effective order ------------------------------------------------------------------------------------- */

/* c S c^-1 has order 1 but the effective order of S; one wrong fraction in S ruins that. */
TEST(test_conjugates)
{
    static const struct {
        const char *kernel;
        int effective;
    } known[] = {
        {"flow F\nflow G\n", 2},
        {"flow 1/2 F\nflow G\nflow 1/2 F\n", 2},
        {"flow 7/24 F\nflow 2/3 G\nflow 3/4 F\nflow -2/3 G\nflow -1/24 F\nflow G\n", 3},
        {"let w = 1/(2-2^(1/3))\nlet v = 1-2*w\nflow (w/2) F\nflow w G\nflow ((w+v)/2) F\n"
         "flow v G\nflow ((w+v)/2) F\nflow w G\nflow (w/2) F\n",
         4},
        {"flow 7/24 F\nflow 2/3 G\nflow 2/3 F\nflow -2/3 G\nflow 1/24 F\nflow G\n",
         2}, /* control */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int c = 0; c < 3; c++) {
            static const char *const before[] = {"", "flow 1/3 F\n", "flow 1/5 F\nflow -2/7 G\n"};
            static const char *const after[] = {"", "flow -1/3 F\n", "flow 2/7 G\nflow -1/5 F\n"};
            char text[1024];
            int p;
            /* `let` comes first, wherever the flows begin */
            size_t lets = (size_t)(strstr(known[i].kernel, "flow") - known[i].kernel);
            snprintf(text, sizeof text, "%.*s%s%s%s", (int)lets, known[i].kernel, before[c],
                     known[i].kernel + lets, after[c]);
            OWN_TABLE *t = frozen(text);
            int order = order_of(t);
            assert_int_equal(structure_effective_order(t, 7, &p), 0);
            if (p != known[i].effective) fail_msg("effective order %d:\n%s", p, text);
            assert_true(order <= p && (c == 0 || order == 1));
        }
}

TEST(test_refused)
{
    OWN_TABLE *t = frozen("rk4"), *lie = frozen("lie-trotter"),
              *half = frozen("flow 1/2 F\nflow G"); /* not consistent */
    Structure s;
    int order;
    assert_int_equal(structure_effective_order(t, 4, &order), ERR_INPUT);
    assert_int_equal(structure_effective_order(lie, 30, &order), ERR_INPUT);
    assert_int_equal(structure_find(t, 30, &s), ERR_INPUT);
    assert_int_equal(structure_find(t, 0, &s), ERR_INPUT);
    assert_int_equal(structure_effective_order(half, 4, &order), 0);
    assert_int_equal(order, 0);
}

TEST_MAIN(zoo_begin, zoo_end)
