/* test_drawn.c: theorems on schemes drawn at random. Each returns what is wrong, "" if nothing; a planted mistake must be
 * found. Sources: Hairer, Lubich, Wanner 2006, theorems II.3.2, II.4.1 and section V.3; Butcher 1969; Yoshida 1990. */
#include "tests/lib/test.h"

#include "tests/lib/distance.h"
#include "tests/lib/draws.h"
#include "tests/lib/schemes.h"

enum { PARTS = 3, MOST = 6, MEASURED = 4, HALVINGS = 7 };

/* ---- what is drawn --------------------------------------------------------------------------------- */

/* Families with free numbers a, b, c and d: of order 2, of order 3 (Butcher 2016, section 322), of order 1 and more. */
static const char *const families[] = {
    "k1 = H(y)\nk2 = H(y + a*k1)\ny' = y + (1 - 1/(2*a))*k1 + 1/(2*a)*k2",
    "let w = (2 - 3*a)/(6*b*(b - a))\nlet v = (2 - 3*b)/(6*a*(a - b))\n"
    "let u = b*(b - a)/(a*(2 - 3*a))\nk1 = H(y)\nk2 = H(y + a*k1)\nk3 = H(y + (b - u)*k1 + u*k2)\n"
    "y' = y + (1 - v - w)*k1 + v*k2 + w*k3",
    "k1 = H(y)\nk2 = H(y + a*k1)\nk3 = H(y + b*k1 + c*k2)\ny' = y + d*k1 + (1 - c - d)*k2 + c*k3",
    "k1 = G(y)\nk2 = F(y + a*k1)\nk3 = G(y + b*k1 + c*k2)\ny' = y + (1 - d)*k1 + k2 + d*k3",
    "k1 = H(y + a*k1)\ny' = y + k1",
    "k1 = G(y)\nk2 = F(y + 1/2*k1 + 1/2*k2)\nk3 = G(y + 1/2*k1 + k2 + 1/2*k3)\n"
    "y' = y + 1/2*k1 + k2 + 1/2*k3",
};
static const char *const known[] = {"euler",       "midpoint",          "rk3",   "ssprk3", "rk4",
                                    "transformer", "implicit-midpoint", "sdirk2"};
static const char *const flows[] = {"flow a F\nflow G\nflow 1-a F", "flow G\nflow F",
                                    "flow a F\nflow b G\nflow 1-a F\nflow 1-b G"};

#define ANY(list) list[draw(sizeof list / sizeof *list)]

static Table *draw_of(const char *family)
{
    static const char *const a[] = {"1/2", "1/3", "2/5", "3/4", "3/5", "4/5"};
    static const char *const b[] = {"5/4", "2/3", "3/8", "5/6", "1/7"}; /* not a, not 1 */
    char text[1024];
    sprintf(text, "let a = %s\nlet b = %s\nlet c = %zu/7\nlet d = %zu/5-1\n%s\n", ANY(a), ANY(b),
            1 + draw(9), draw(11), family);
    Table *t = NULL;
    if (read_scheme(text, &t) != 0) fail_msg("%s: %s", text, error_text());
    return t;
}

static Table *draw_scheme(void)
{
    return draw(3) ? draw_of(ANY(families)) : frozen(ANY(known));
}

/* Steps one after another, over fractions of h that sum to 1. */
typedef struct {
    Table *of[PARTS], *whole;
    mpq_t c[PARTS];
    size_t n;
} Composed;

static void composed_free(Composed *x)
{
    table_free(x->whole);
    for (size_t i = 0; i < x->n; i++) table_free(x->of[i]);
    for (size_t i = 0; i < PARTS; i++) mpq_clear(x->c[i]);
}
#define OWN_COMPOSED SCOPED(composed_free) Composed

static void compose(Composed *x, int inexact)
{
    Substep step[PARTS];
    for (size_t i = 0; i < x->n; i++) {
        step[i] = (Substep){.scheme = x->of[i], .inexact = inexact};
        *step[i].c = *x->c[i];
    }
    if (scheme_compose(step, x->n, &x->whole) != 0) fail_msg("%s", error_text());
}

static Composed composed_new(size_t n)
{
    Composed x = {.n = n};
    for (size_t i = 0; i < PARTS; i++) mpq_init(x.c[i]);
    return x;
}

/* Sets c to 1/(2 - 2^(1/(p+1))) to 60 digits. */
static void jump(int p, mpq_t c)
{
    mpz_t ten;
    mpz_init(ten);
    mpz_ui_pow_ui(ten, 10, 60);
    mpz_pow_ui(mpq_numref(c), ten, (unsigned long)p + 1);
    mpz_mul_2exp(mpq_numref(c), mpq_numref(c), 1);
    mpz_root(mpq_numref(c), mpq_numref(c), (unsigned long)p + 1);
    mpz_submul_ui(mpq_numref(c), ten, 2);
    mpz_neg(mpq_denref(c), mpq_numref(c));
    mpz_set(mpq_numref(c), ten);
    mpq_canonicalize(c);
    mpz_clear(ten);
}

static Table *adjoint_of(const Table *t, int planted)
{
    Table *a = NULL;
    if (planted) return freeze(t);
    if (scheme_adjoint(t, &a) != 0) fail_msg("%s", error_text());
    return a;
}

/* Makes S over h/2, then its adjoint. */
static Composed symmetric_of(Table *S, int planted)
{
    Composed x = composed_new(2);
    x.of[0] = S;
    x.of[1] = adjoint_of(S, planted);
    for (size_t i = 0; i < 2; i++) mpq_set_ui(x.c[i], 1, 2);
    compose(&x, 0);
    return x;
}

/* Makes S over c h, (1 - 2c) h and c h. */
static Composed jump_of(const Table *S, int p)
{
    Composed x = composed_new(3);
    for (size_t i = 0; i < 3; i++) x.of[i] = freeze(S);
    jump(p, x.c[0]);
    mpq_set(x.c[2], x.c[0]);
    mpq_set_ui(x.c[1], 1, 1);
    for (size_t i = 0; i < 3; i += 2) mpq_sub(x.c[1], x.c[1], x.c[i]);
    compose(&x, 1);
    return x;
}

/* Draws one to three steps over sixths of h. None is so short that its error is not seen. */
static Composed draw_parts(void)
{
    static const long sixths[][PARTS] = {{6},     {3, 3},    {2, 4},     {4, 2},    {8, -2},
                                         {-3, 9}, {2, 2, 2}, {3, 5, -2}, {4, -2, 4}};
    const long *c = ANY(sixths);
    Composed x = composed_new(c[1] == 0 ? 1 : c[2] == 0 ? 2 : 3);
    for (size_t i = 0; i < x.n; i++) {
        x.of[i] = draw_scheme();
        mpq_set_si(x.c[i], c[i], 6);
        mpq_canonicalize(x.c[i]);
    }
    compose(&x, 0);
    return x;
}

static Composed draw_composed(void)
{
    size_t how = draw(4);
    if (how == 0) return symmetric_of(draw_scheme(), 0);
    if (how > 1) return draw_parts();
    OWN_COMPOSED half = symmetric_of(draw_of(families[4]), 0);
    return jump_of(half.whole, 2);
}

/* ---- order of a composition ------------------------------------------------------------------------ */

/* Both fields depend on time and none is linear. */
OWN_FIELD(first)
{
    dy[0] = y[1] * y[2];
    dy[1] = cos(t + 1) - y[0] * y[2];
    dy[2] = sin(y[0]) + y[1];
}

OWN_FIELD(second)
{
    dy[0] = -y[0] * y[1];
    dy[1] = y[2] * y[2] - t;
    dy[2] = exp(-y[0]) * y[1];
}

static double initial[] = {1.3, .8, .6};
static const System fields = {.name = "drawn",
                              .n = 1,
                              .d = 3,
                              .initial = initial,
                              .field = {first, second},
                              .t_end = 1,
                              .h0 = 0.125,
                              .timed = 1};

/* Walks the parts one after another. Returns 1 where an implicit stage is not solved. */
static int walk_parts(const Composed *x, const System *s, double h, double *y)
{
    double at = 0;
    int code = 0;
    memcpy(y, s->initial, s->d * sizeof *y);
    for (size_t i = 0; i < x->n && code == 0; i++) {
        double c = mpq_get_d(x->c[i]) * h;
        code = walk(x->of[i], s, at, c, 1, y);
        at += c;
    }
    return code;
}

/* Returns the order that a step of the parts shows, from its errors, some h^(p+1); NaN: none is seen. */
static double slope_of(const Composed *x, const System *s)
{
    double h[HALVINGS], y[3], exact[3 * HALVINGS], agreement, error[HALVINGS], slope = NAN;
    for (int k = 0; k < HALVINGS; k++) h[k] = ldexp(1, -k - 4);
    assert_int_equal(reference_solve(s, h, HALVINGS, exact, &agreement), 0);
    for (int k = 0; k < HALVINGS && walk_parts(x, s, h[k], y) == 0; k++) {
        error[k] = distance(y, exact + 3 * k, 3);
        if (!(error[k] > 1e-12)) break;
        if (k > 0) slope = log2(error[k - 1] / error[k]) - 1;
    }
    return slope;
}

/* The whole is its parts, and has the order that they show. planted: the least order of a part. */
static const char *order_is_seen(const Composed *x, int planted)
{
    const System *s = &fields;
    Theory of = theory_of(x->whole, MOST);
    int order = of.order;
    for (size_t i = 0; planted && i < x->n; i++) {
        int part = theory_of(x->of[i], MOST).order;
        order = i == 0 || part < order ? part : order;
    }
    double y[3], z[3];
    if (walk_parts(x, s, .0625, y) != 0) return NULL;
    walk_on(x->whole, s, .0625, 1, z);
    if (!(relative_distance(y, z, 3) < 1e-11)) return "the whole is not its parts";
    double slope = slope_of(x, s);
    if (order > MEASURED || isnan(slope) || fabs(slope - round(slope)) > .15) return NULL;
    return fabs(slope - order) < .5 ? "" : "another order is seen";
}

TEST(order_of_a_composition)
{
    size_t n = draws(12), unseen = 0, found = 0;
    for (size_t k = 0; k < n; k++) {
        OWN_COMPOSED x = draw_composed();
        const char *words = order_is_seen(&x, 0), *control = order_is_seen(&x, 1);
        unseen += words == NULL;
        found += control && *control;
        if (words && *words) {
            table_print(x.whole, stdout);
            fail_msg("draw %zu: %s", k, words);
        }
    }
    print_message("# %zu compositions, %zu whose order is not seen, %zu controls\n", n, unseen,
                  found);
    if (!(unseen <= n / 4 && found >= n / 10)) fail_msg("%zu %zu of %zu", unseen, found, n);
}

/* ---- adjoints and conjugates ------------------------------------------------------------------------ */

static Table *draw_any(void)
{
    return draw(3) ? draw_scheme() : draw_of(ANY(flows));
}

/* The adjoint of S is no S, but has its order; its own adjoint is S. S with its adjoint has an even order, no lower. */
static const char *adjoint_keeps(const Table *S, int planted)
{
    OWN_TABLE *once = adjoint_of(S, planted), *twice = NULL;
    int p = order_of(S);
    assert_int_equal(scheme_adjoint(once, &twice), 0);
    if (S->exact && !table_equal(twice, S)) return "the adjoint of the adjoint is another";
    if (order_of(once) != p) return "the adjoint has another order";
    OWN_COMPOSED both = symmetric_of(freeze(S), planted);
    int q = order_of(both.whole);
    if (q < p || (q % 2 && q < MOST)) return "S and its adjoint have an odd order";
    OWN_COMPOSED jumped = jump_of(both.whole, q);
    if (p && q + 2 <= MOST && order_of(jumped.whole) < q + 2) return "a triple jump gains nothing";
    return "";
}

/* A conjugate P S P^-1 has the order of S, or one above that of P where it is less. planted: P S P. */
static const char *conjugate_keeps(const Table *P, const Table *S, int planted)
{
    Table *made = NULL;
    OWN_COMPOSED x = composed_new(3);
    int p = order_of(P), q = order_of(S);
    if (planted) {
        for (size_t i = 0; i < 3; i++) x.of[i] = freeze(i == 1 ? S : P);
        for (size_t i = 0; i < 3; i++) mpq_set_si(x.c[i], i == 2 ? -1 : 1, 1);
        compose(&x, 0);
    } else if (scheme_conjugate(P, S, &made) != 0) {
        fail_msg("%s", error_text());
    }
    OWN_TABLE *conjugate = made ? made : freeze(x.whole);
    x.n = planted ? 3 : 0;
    return order_of(conjugate) < (p + 1 < q ? p + 1 : q) ? "a conjugate has a lower order" : "";
}

TEST(adjoints_and_conjugates)
{
    size_t n = draws(12), found[2] = {0};
    for (size_t k = 0; k < n; k++) {
        OWN_TABLE *S = draw_any(), *P = draw_any();
        const char *words = adjoint_keeps(S, 0);
        found[0] += *adjoint_keeps(S, 1) != '\0';
        if (!*words && (S->stages > 0) == (P->stages > 0)) {
            words = conjugate_keeps(P, S, 0);
            found[1] += *conjugate_keeps(P, S, 1) != '\0';
        }
        if (*words) {
            table_print(S, stdout);
            table_print(P, stdout);
            fail_msg("draw %zu: %s", k, words);
        }
    }
    print_message("# %zu draws, controls %zu and %zu\n", n, found[0], found[1]);
    if (!(found[0] >= n / 4 && found[1] > n / 20)) fail_msg("%zu %zu", found[0], found[1]);
}

TEST_MAIN(zoo_begin, zoo_end)
