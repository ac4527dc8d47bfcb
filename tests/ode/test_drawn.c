/* test_drawn.c: theorems on schemes drawn at random. Each returns what is wrong, "" if nothing; a planted mistake must be
 * found. Sources: Hairer, Lubich, Wanner 2006, theorems II.1.5, II.3.2, II.4.1 and section V.3; Butcher 1969; Yoshida 1990;
 * Williamson 1980 (low storage); Chen 1957 (iterated sums). */
#include <flint/fmpq_poly.h>

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

/* ---- families with closed forms ---------------------------------------------------------------------- */

enum { STAGES = 7, TEXT = 16384 };

/* Draws s different nodes i / den in 0 .. 1; symmetric ones, i and den - i, where `even` is set. Returns den. */
static ulong draw_nodes(size_t s, int even, ulong *node)
{
    ulong den = 2 * (8 + draw(9));
    for (size_t n = 0; n < s;) {
        ulong x = even && s % 2 && n == 0 ? den / 2 : (ulong)draw(den + 1);
        int taken = even && x == den / 2 && !(s % 2 && n == 0);
        for (size_t i = 0; i < n; i++) taken |= node[i] == x;
        if (taken) continue;
        node[n++] = x;
        if (even && n < s && x != den / 2) node[n++] = den - x;
    }
    return den;
}

/* Makes l, the polynomial that is 1 at node j and 0 at the others; j = s: the product of all t - c_i. */
static void basis(const ulong *node, size_t s, ulong den, size_t j, fmpq_poly_t l)
{
    fmpq_t at;
    fmpq_poly_t factor;
    fmpq_init(at), fmpq_poly_init(factor);
    fmpq_poly_one(l);
    for (size_t i = 0; i < s; i++) {
        if (i == j) continue;
        fmpq_set_si(at, -(slong)node[i], den);
        fmpq_poly_set_coeff_fmpq(factor, 0, at);
        fmpq_poly_set_coeff_si(factor, 1, 1);
        fmpq_poly_mul(l, l, factor);
        if (j == s) continue;
        fmpq_set_si(at, (slong)node[j] - (slong)node[i], den);
        fmpq_poly_scalar_div_fmpq(l, l, at);
    }
    fmpq_clear(at), fmpq_poly_clear(factor);
}

/* Returns the integral of a polynomial from 0 to x / den, printed. */
static char *integral(const fmpq_poly_t of, ulong x, ulong den, fmpq_t value)
{
    fmpq_t at;
    fmpq_poly_t sum;
    fmpq_init(at), fmpq_poly_init(sum);
    fmpq_poly_integral(sum, of);
    fmpq_set_si(at, (slong)x, den);
    fmpq_poly_evaluate_fmpq(value, sum, at);
    fmpq_clear(at), fmpq_poly_clear(sum);
    return fmpq_get_str(NULL, 10, value);
}

/* Adds a row, the sum over j of (integral of l_j from 0 to x / den) k_j, to a text. */
static size_t add_row(const ulong *node, size_t s, ulong den, ulong x, char *text, size_t n)
{
    fmpq_t value;
    fmpq_poly_t l;
    fmpq_init(value), fmpq_poly_init(l);
    for (size_t j = 0; j < s; j++) {
        basis(node, s, den, j, l);
        char *number = integral(l, x, den, value);
        if (!fmpq_is_zero(value))
            n += (size_t)snprintf(text + n, TEXT - n, " + (%s)*k%zu", number, j + 1);
        flint_free(number);
    }
    fmpq_clear(value), fmpq_poly_clear(l);
    return n;
}

/* Returns how many of 1, t, t^2, ... the product of all t - c_i is orthogonal to on 0 .. 1. */
static int orthogonal(const ulong *node, size_t s, ulong den)
{
    int m = -1;
    fmpq_t value;
    fmpq_poly_t M;
    fmpq_init(value), fmpq_poly_init(M);
    basis(node, s, den, s, M);
    do {
        flint_free(integral(M, 1, 1, value));
        fmpq_poly_shift_left(M, M, 1);
        m++;
    } while (fmpq_is_zero(value));
    fmpq_clear(value), fmpq_poly_clear(M);
    return m;
}

/* Collocation at s nodes has stage order s and order s + m, the product of t - c_i being orthogonal to polynomials below
 * degree m, and is symmetric where the nodes are. planted: the order is s + 1. */
static const char *collocation_is(size_t s, int even, int planted)
{
    ulong node[STAGES], den = draw_nodes(s, even, node);
    static char text[TEXT];
    size_t n = 0;
    for (size_t i = 0; i < s; i++) {
        n += (size_t)snprintf(text + n, TEXT - n, "k%zu = H(y", i + 1);
        n = add_row(node, s, den, node[i], text, n);
        n += (size_t)snprintf(text + n, TEXT - n, ")\n");
    }
    n += (size_t)snprintf(text + n, TEXT - n, "y' = y");
    add_row(node, s, den, den, text, n);
    OWN_TABLE *t = NULL;
    if (read_scheme(text, &t) != 0) fail_msg("%s: %s", text, error_text());
    OWN_STRUCTURE structure = {0};
    Assumptions a;
    int order = (int)s + (planted ? 1 : orthogonal(node, s, den));
    int mirrored = 1;
    for (size_t i = 0; i < s; i++) {
        int there = 0;
        for (size_t j = 0; j < s; j++) there |= node[j] == den - node[i];
        mirrored &= there;
    }
    assert_int_equal(structure_find(t, 4, &structure), 0);
    assert_int_equal(assumptions_find(t, &a), 0);
    if (theory_of(t, 2 * STAGES).order != order) return "collocation of another order";
    int euler = s == 1 && node[0] == 0; /* C(eta) holds for every eta */
    if ((a.C != (int)s && !euler) || a.B != order) return "collocation of another stage order";
    if (structure.symmetric != (mirrored ? TOLD_YES : TOLD_NO)) return "another symmetry";
    return "";
}

/* Williamson's low storage, d = A_i d + k_i, u = u + B_i d, as a text of sums and as the tableau, in which the weight of k_j in
 * stage i is the sum of B_m A_(j+1) ... A_m over j <= m < i. planted: one B is another. */
static const char *low_storage_is(size_t s, int planted)
{
    long A[STAGES + 1], B[STAGES + 1];
    char sums[2048] = "", rows[8192] = "";
    size_t n = 0, k = 0;
    for (size_t i = 1; i <= s; i++) A[i] = (long)draw(9) - 4, B[i] = 1 + (long)draw(7);
    for (size_t i = 1; i <= s; i++) {
        n += (size_t)sprintf(sums + n,
                             i == 1 ? "k1 = H(y)\nlet d1 = k1\n"
                                    : "k%zu = H(u%zu)\nlet d%zu = (%ld/5)*d%zu + k%zu\n",
                             i, i - 1, i, A[i], i - 1, i);
        n += (size_t)sprintf(sums + n, i == s ? "y' = " : "let u%zu = ", i);
        n += (size_t)sprintf(sums + n, i == 1 ? "y" : "u%zu", i - 1);
        n += (size_t)sprintf(sums + n, " + (%ld/6)*d%zu\n", B[i] + (planted && i == s), i);
    }
    RATIONALS(weight, product);
    for (size_t i = 1; i <= s + 1; i++) {
        k += (size_t)sprintf(rows + k, i > s ? "y' = y" : "k%zu = H(y", i);
        for (size_t j = 1; j < i; j++) {
            mpq_set_ui(weight, 0, 1);
            mpq_set_ui(product, 1, 6);
            for (size_t m = j; m < i; m++) {
                RATIONAL(factor);
                mpq_set_si(factor, m > j ? A[m] : 5, 5);
                mpq_canonicalize(factor);
                mpq_mul(product, product, factor);
                mpq_set_si(factor, B[m], 1);
                mpq_mul(factor, factor, product);
                mpq_add(weight, weight, factor);
            }
            if (mpq_sgn(weight) != 0)
                k += (size_t)gmp_sprintf(rows + k, " + (%Qd)*k%zu", weight, j);
        }
        k += (size_t)sprintf(rows + k, i > s ? "\n" : ")\n");
    }
    OWN_TABLE *a = NULL, *b = NULL;
    if (read_scheme(sums, &a) != 0) fail_msg("%s: %s", sums, error_text());
    if (read_scheme(rows, &b) != 0) fail_msg("%s: %s", rows, error_text());
    return table_equal(a, b) ? "" : "low storage is another tableau";
}

/* The leading error of a splitting by its iterated sums: with s_w the coefficient of the word w in exp(f_1 F) exp(g_1 G) ..., whose sums
 * of F and G are 1, [F,G] has s_FG - 1/2, [F,[F,G]] has s_FFG - s_FG/2 + 1/12 and [[F,G],G] s_FGG - s_FG/2 + 1/12.
 * planted: the last two are exchanged. */
static const char *splitting_is(size_t count, int planted)
{
    double f = 0, g = 0, ff = 0, fg = 0, ffg = 0, fgg = 0;
    char text[1024] = "";
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        int last = i + 2 >= count, G = i % 2;
        double c = last ? 1 - (G ? g : f) : ((double)draw(33) - 16) / 8;
        if (G)
            fgg += fg * c + f * c * c / 2, ffg += ff * c, fg += f * c, g += c;
        else
            ff += f * c + c * c / 2, f += c;
        n += (size_t)sprintf(text + n, "flow (%.17g) %c\n", c, "FG"[G]);
    }
    OWN_TABLE *t = NULL;
    OWN_BRACKETS found = {0};
    if (read_scheme(text, &t) != 0) fail_msg("%s: %s", text, error_text());
    assert_int_equal(bracket_error(t, 3, &found), 0);
    const char *const name[] = {"[F,G]", "[F,[F,G]]", "[[F,G],G]"};
    double c[] = {fg - .5, ffg - fg / 2 + 1 / 12., fgg - fg / 2 + 1 / 12.};
    for (size_t k = 0; k < 3; k++) {
        double told = 0, right = c[planted && k ? 3 - k : k];
        for (size_t i = 0; i < found.count; i++)
            if (strcmp(found.bracket[i].name, name[k]) == 0) told = mpq_get_d(found.bracket[i].c);
        if (!(fabs(told - right) < 1e-10)) return "another leading bracket";
    }
    return "";
}

TEST(families_with_closed_forms)
{
    size_t n = draws(12), found[3] = {0};
    for (size_t k = 0; k < n; k++) {
        size_t s = 1 + k % STAGES;
        const char *words = collocation_is(s, k % 3 == 0, 0);
        if (!*words) words = low_storage_is(s, 0);
        if (!*words) words = splitting_is(2 + draw(7), 0);
        if (*words) fail_msg("draw %zu, %zu stages: %s", k, s, words);
        found[0] += *collocation_is(s, 0, 1) != '\0';
        found[1] += *low_storage_is(s, 1) != '\0';
        found[2] += *splitting_is(4 + draw(5), 1) != '\0';
    }
    print_message("# %zu draws, controls %zu, %zu and %zu\n", n, found[0], found[1], found[2]);
    if (!(found[0] >= n / 2 && found[1] == n && found[2] >= n / 2))
        fail_msg("%zu %zu %zu", found[0], found[1], found[2]);
}

TEST_MAIN(zoo_begin, zoo_end)
