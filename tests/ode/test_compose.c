/* test_compose.c: schemes made of schemes: their series and their steps are those of the parts one after another.
 * Adjoints and conjugates follow their definitions. */
#include "tests/lib/test.h"

#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"

static Table *composed(const char *list)
{
    Table *t = NULL;
    OWN_RATIONAL total;
    mpq_init(total);
    if (zoo_compose(&zoo, list, total, &t) != 0) fail_msg("%s: %s", list, error_text());
    if (mpq_cmp_ui(total, 1, 1) != 0 && t->exact) fail_msg("%s: weights", list);
    return t;
}

/* ---- series ------------------------------------------------------------------------------------------- */

/* Returns the series of a step over p/q h. */
static Series *series_over(const Forest *f, const Table *t, long p, unsigned long q)
{
    mpq_t c, power;
    Series *s = series_of(f, t);
    mpq_inits(c, power, NULL);
    mpq_set_si(c, p, q);
    mpq_canonicalize(c);
    for (size_t i = 0; i < f->count; i++) {
        mpq_set_ui(power, 1, 1);
        for (int k = 0; k < f->tree[i].order; k++) mpq_mul(power, power, c);
        mpq_mul(s->a[i], s->a[i], power);
    }
    mpq_clears(c, power, NULL);
    return s;
}

static size_t differences(const Table *t, const Series *a, const Series *b)
{
    size_t n = 0;
    mpq_t x;
    mpq_init(x);
    for (size_t i = 0; i < a->forest->count; i++) {
        mpq_sub(x, a->a[i], b->a[i]);
        n += !theory_is_zero(t, x);
    }
    mpq_clear(x);
    return n;
}

/* Counts the trees at which the composition differs from a over p/q h, then b over the rest. */
static size_t series_differences(const Table *made, const char *a, const char *b, long p,
                                 unsigned long q)
{
    OWN_TABLE *first = frozen(a), *second = frozen(b);
    OWN_FOREST *f = forest_of(4, made->colours);
    OWN_SERIES *x = series_over(f, first, p, q), *y = series_over(f, second, (long)q - p, q);
    OWN_SERIES *c = series_zero(f), *whole = series_of(f, made);
    series_compose(c, x, y);
    return differences(made, c, whole);
}

/* ---- steps -------------------------------------------------------------------------------------------- */

static double steps_apart(const Table *made, const char *a, const char *b, double c,
                          const char *system)
{
    OWN_SYSTEM *s = make(system);
    OWN_TABLE *first = frozen(a), *second = frozen(b);
    size_t N = s->n * s->d;
    OWN_REALS *x = numbers(N), *y = numbers(N);
    double h = 0.125, at = 0.3;
    memcpy(x, s->initial, N * sizeof *x);
    memcpy(y, s->initial, N * sizeof *y);
    assert_int_equal(walk(made, s, at, h, 1, x), 0);
    assert_int_equal(walk(first, s, at, c * h, 1, y), 0);
    assert_int_equal(walk(second, s, at + c * h, (1 - c) * h, 1, y), 0);
    return relative_distance(x, y, N);
}

/* A step of the composition is the steps of its parts. Sums of some ten terms of size 1 allow 1e-16 * 1e3. The
 * reference integrator solves sub-flows on other pieces of time, to 1e-9. */
TEST(test_maps)
{
    static const char timed[] =
        "scheme timed\nk1 = H(y @ 1/4)\nk2 = G(y + k1 @ -1/3)\ny' = y + 1/2*k1 + 1/2*k2";
    static const struct {
        const char *list, *a, *b;
        long p;
        unsigned long q;
        const char *system;
        double bound;
    } made[] = {
        {"heun,rk4", "heun", "rk4", 1, 2, "attention", 1e-13},
        {"1/3*transformer,2/3*macaron", "transformer", "macaron", 1, 3, "attention", 1e-13},
        {"-1/5*heun-layer,6/5*euler-layer", "heun-layer", "euler-layer", -1, 5, "attention", 1e-13},
        {"1/2*strang-marchuk:heun,1/2*rk4", "strang-marchuk:heun", "rk4", 1, 2, "attention", 1e-13},
        {"lie-trotter,strang-marchuk", "lie-trotter", "strang-marchuk", 1, 2, "linear", 1e-9},
        {"1/4*rk4-layer-decoder,3/4*heun-decoder", "rk4-layer-decoder", "heun-decoder", 1, 4, NULL,
         0},
        {"2/5*rk4,3/5*rk3", "rk4", "rk3", 2, 5, "forced", 1e-13},
        {"1/3*timed,2/3*timed", timed, timed, 1, 3, "forced", 1e-13},
    };
    assert_int_equal(scheme_parse("timed", timed, strlen(timed), &zoo.scheme, &zoo.count), 0);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        OWN_TABLE *t = composed(made[i].list);
        if (series_differences(t, made[i].a, made[i].b, made[i].p, made[i].q))
            fail_msg("%s: series", made[i].list);
        double c = (double)made[i].p / (double)made[i].q;
        if (made[i].system) {
            double apart = steps_apart(t, made[i].a, made[i].b, c, made[i].system);
            if (!(apart < made[i].bound)) fail_msg("%s: %g", made[i].list, apart);
            assert_true(steps_apart(t, made[i].a, made[i].b, c + 0.01, made[i].system) > 1e-9);
        }
        /* negative control, as above: other weights */
        assert_true(series_differences(t, made[i].a, made[i].b, made[i].p + 1, made[i].q) > 0);
    }
}

/* ---- adjoints ------------------------------------------------------------------------------------------ */

/* For any scheme the adjoint of the adjoint is the scheme, and over -h the adjoint is the inverse: S*(-h) after S(h) is
 * the identity. S(-h) is not, except of symmetric schemes (the control). */
TEST(test_adjoint)
{
    OWN_TABLES list = listed("all,implicit,word:ssff,strang-decoder", "exact");
    size_t found = 0, symmetric = 0;
    for (size_t i = 0; i < list.count; i++) {
        OWN_TABLE *t = freeze(list.table[i]), *once = NULL, *twice = NULL;
        if (list.table[i]->symbols || scheme_adjoint(t, &once) != 0) continue;
        assert_int_equal(scheme_adjoint(once, &twice), 0);
        if (t->exact && !table_equal(twice, t))
            fail_msg("%s is not the adjoint of its adjoint", t->name);
        OWN_FOREST *f = forest_of(t->colours == 2 ? 5 : 4, t->colours);
        OWN_SERIES *x = series_of(f, t), *y = series_over(f, once, -1, 1),
                   *z = series_over(f, t, -1, 1);
        OWN_SERIES *both = series_zero(f), *identity = series_zero(f);
        series_compose(both, x, y);
        if (differences(t, both, identity)) fail_msg("%s: no identity", t->name);
        series_compose(both, x, z);
        symmetric += differences(t, both, identity) == 0;
        found++;
    }
    assert_true(found >= 30 && symmetric >= 5 && symmetric < found / 2);
}

/* Lie and Trotter's S over h/2, then S* over h/2, is Strang's splitting. So is P S P^-1 with half a flow of G (Strang
 * 1968; Butcher 1969). */
TEST(test_strang)
{
    OWN_TABLE *lie = frozen("lie-trotter"), *half = frozen("flow 1/2 G"), *back = NULL,
              *symmetric = NULL, *conjugate = NULL, *fgf = frozen("flow 1/2 F\nflow G\nflow 1/2 F"),
              *gfg = frozen("flow 1/2 G\nflow F\nflow 1/2 G");
    assert_int_equal(scheme_adjoint(lie, &back), 0);
    Substep step[2] = {{.scheme = lie}, {.scheme = back}};
    for (int i = 0; i < 2; i++) {
        mpq_init(step[i].c);
        mpq_set_ui(step[i].c, 1, 2);
    }
    assert_int_equal(scheme_compose(step, 2, &symmetric), 0);
    assert_true(table_equal(symmetric, fgf));
    assert_false(table_equal(symmetric, gfg));
    assert_int_equal(scheme_conjugate(half, lie, &conjugate), 0);
    assert_true(table_equal(conjugate, gfg));
    for (int i = 0; i < 2; i++) mpq_clear(step[i].c);
}

TEST(test_refused)
{
    static const struct {
        const char *list, *words;
    } bad[] = {{"ab2,heun", "reads earlier steps"},
               {"rk2-scalar,heun", "learned names"},
               {"lie-trotter,heun", "lie-trotter:heun"},
               {"heun,heun-decoder", "decoder"},
               {"1/2*heun,heun", "a weight before"},
               {"1/0*heun", "divisor"},
               {"heun*heun", "expected"},
               {"", "unknown scheme"},
               {"heun,,heun", "unknown scheme"},
               {"y*heun", "expected a number"},
               {"1/2*word:s,-1/2*word:s", "nothing is left"},
               {"1*lie-trotter,-1*flow", "unknown"}};
    static const char *const without[] = {"leapfrog", "ab2", "rk4-layer", "polynet", "rk2-scalar"};
    OWN_RATIONAL total;
    mpq_init(total);
    Table *t = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(zoo_compose(&zoo, bad[i].list, total, &t), bad[i].list, bad[i].words);
        assert_null(t);
    }
    OWN_TABLE *rk4 = frozen("rk4"), *lie = frozen("lie-trotter");
    assert_int_equal(scheme_conjugate(rk4, lie, &t), ERR_INPUT); /* stages beside flows */
    assert_int_equal(scheme_conjugate(lie, rk4, &t), ERR_INPUT);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        OWN_TABLE *of = scheme(without[i]);
        assert_refused(scheme_adjoint(of, &t), without[i], "has no adjoint here");
        assert_null(t);
    }
    /* more stages than a text may have are refused, not cut */
    char list[4096] = "rk4";
    for (int i = 0; i < 64; i++) strcat(list, ",rk4");
    assert_refused(zoo_compose(&zoo, list, total, &t), list, "stages");
    for (int i = 0; i < 200; i++) strcat(list, ",rk4");
    assert_refused(zoo_compose(&zoo, list, total, &t), list, "");
}

TEST_MAIN(zoo_begin, zoo_end)
