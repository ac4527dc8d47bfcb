/* test_bracket.c: checks splittings as Lie series: against Baker, Campbell and Hausdorff's terms, against
 * logarithms of matrices, against counting pairs, and by symmetry. */
#include "tests/lib/test.h"

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "tests/lib/schemes.h"
#include "tests/lib/scratch.h"

/* Makes n random flows of fractions k/6, then two that make the fractions of F and of G sum to 1. */
static Table *random_flows(uint64_t seed, int n)
{
    char text[2048];
    size_t at = (size_t)sprintf(text, "scheme random\n");
    int left[2] = {6, 6};
    for (int i = 0; i < n + 2; i++) {
        int op = i < n ? (int)random_below(seed, 1, (uint64_t)i, 2) : i - n;
        int c = i < n ? (int)random_below(seed, 2, (uint64_t)i, 9) - 3 : left[op];
        if (c == 0) continue;
        left[op] -= c;
        at += (size_t)sprintf(text + at, "flow %s%d/6 %c\n", c < 0 ? "-" : "", c < 0 ? -c : c,
                              "FG"[op]);
    }
    return scheme(text);
}

/* ---- known terms ------------------------------------------------------------------------------------ */

typedef struct {
    const char *name;
    long p;
    unsigned long q;
} Known;

static void check_terms(const char *scheme, int degree, const Known *known, size_t n)
{
    Table *t = frozen(scheme);
    Brackets b;
    mpq_t want;
    mpq_init(want);
    assert_int_equal(bracket_error(t, degree, &b), 0);
    if (b.count != n) fail_msg("%s: %zu terms, not %zu", scheme, b.count, n);
    for (size_t i = 0; i < n; i++) {
        mpq_set_si(want, known[i].p, known[i].q);
        assert_string_equal(b.bracket[i].name, known[i].name);
        if (!mpq_equal(b.bracket[i].c, want)) fail_msg("%s: %s", scheme, known[i].name);
    }
    mpq_clear(want);
    bracket_free(&b);
    table_free(t);
}

#define CHECK_TERMS(scheme, degree, ...)                      \
    check_terms(scheme, degree, (const Known[]){__VA_ARGS__}, \
                sizeof((const Known[]){__VA_ARGS__}) / sizeof(Known))

/* The terms are those of BCH to degree 5 (Dynkin 1947) with X = F, Y = G: 1/2 [X,Y] + 1/12 [X,[X,Y]] - 1/12
 * [Y,[X,Y]] - 1/24 [Y,[X,[X,Y]]] + ..., and [Y,[X,[X,Y]]] = [X,[Y,[X,Y]]] = -[X,[[X,Y],Y]] by Jacobi. Strang:
 * design 4; [G,[G,F]] = [[F,G],G]. */
TEST(test_known)
{
    CHECK_TERMS("lie-trotter", 4, {"[F,G]", 1, 2}, {"[F,[F,G]]", 1, 12}, {"[[F,G],G]", 1, 12},
                {"[F,[[F,G],G]]", 1, 24});
    CHECK_TERMS("strang-marchuk", 4, {"[F,[F,G]]", 1, 12}, {"[[F,G],G]", -1, 24});
    CHECK_TERMS("strang-marchuk-fgf", 4, {"[F,[F,G]]", -1, 24}, {"[[F,G],G]", 1, 12});
    CHECK_TERMS("word:sfsf", 2, {"[F,G]", 1, 1});
    check_terms("word:ss", 5, NULL, 0);
}

/* ---- matrices --------------------------------------------------------------------------------------- */

enum { N = 6 };
typedef struct {
    double a[N][N];
} Matrix;

static Matrix add(Matrix x, Matrix y, double c)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) x.a[i][j] += c * y.a[i][j];
    return x;
}

static Matrix multiply(Matrix x, Matrix y)
{
    Matrix z = {0};
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++) z.a[i][j] += x.a[i][k] * y.a[k][j];
    return z;
}

static Matrix identity(void)
{
    Matrix z = {0};
    for (int i = 0; i < N; i++) z.a[i][i] = 1;
    return z;
}

/* Returns a strictly upper triangular matrix. Products of six vanish, so exponential and logarithm are finite
 * sums. */
static Matrix nilpotent(uint64_t seed, uint64_t stream)
{
    Matrix z = {0};
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++)
            z.a[i][j] = random_normal(seed, stream, (uint64_t)(i * N + j));
    return z;
}

static Matrix exponential(Matrix x, double c)
{
    Matrix sum = identity(), power = identity();
    double f = 1;
    for (int n = 1; n < N; n++) {
        power = multiply(power, x);
        f *= c / n;
        sum = add(sum, power, f);
    }
    return sum;
}

static Matrix logarithm(Matrix x)
{
    Matrix sum = {0}, power = identity(), y = add(x, identity(), -1);
    for (int n = 1; n < N; n++) {
        power = multiply(power, y);
        sum = add(sum, power, (n % 2 ? 1.0 : -1.0) / n);
    }
    return sum;
}

/* Evaluates "[F,[F,G]]" with [A,B] = BA - AB and moves *s past it. */
static Matrix evaluate(const char **s, const Matrix field[2])
{
    if (**s != '[') return field[*(*s)++ == 'G'];
    ++*s;
    Matrix a = evaluate(s, field);
    assert_int_equal(*(*s)++, ',');
    Matrix b = evaluate(s, field);
    assert_int_equal(*(*s)++, ']');
    return add(multiply(b, a), multiply(a, b), -1);
}

static double largest(Matrix x)
{
    double m = 0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) m = fmax(m, fabs(x.a[i][j]));
    return m;
}

/* Returns |log(step) - (wF F + wG G) - sum c (bracket)| for random nilpotent F, G, and brackets up to degree
 * 5. */
static double mismatch(const Table *t, const Brackets *b, uint64_t seed)
{
    Matrix field[2] = {nilpotent(seed, 1), nilpotent(seed, 2)}, step = identity();
    for (size_t i = 0; i < t->flows; i++) /* later flows act later: on the left */
        step = multiply(exponential(field[t->flow[i].op], mpq_get_d(t->flow[i].c)), step);
    Matrix rest = logarithm(step);
    for (int op = 0; op < 2; op++) rest = add(rest, field[op], -mpq_get_d(t->weight[op]));
    for (size_t i = 0; i < b->count; i++) {
        const char *s = b->bracket[i].name;
        rest = add(rest, evaluate(&s, field), -mpq_get_d(b->bracket[i].c));
        assert_int_equal(*s, 0);
    }
    return largest(rest);
}

/* The series agrees with matrices to the rounding of sums of some 10^3 products of up to five numbers below
 * 10: 1e-16 * 1e5 * 1e3. */
TEST(test_matrices)
{
    static const char *const names[] = {"lie-trotter", "strang-marchuk", "yoshida4", "ruth3",
                                        "word:ssffsf", "word:sffs",      "word:sfsf"};
    for (uint64_t i = 0; i < 7 + 10; i++) {
        Table *t = i < 7 ? frozen(names[i]) : random_flows(i, 7);
        Brackets b;
        assert_int_equal(bracket_error(t, N - 1, &b), 0);
        double error = mismatch(t, &b, 100 + i);
        if (!(error <= 1e-8)) fail_msg("%s: %g", t->name, error);
        if (b.count) { /* negative control */
            mpq_add(b.bracket[0].c, b.bracket[0].c, b.bracket[0].c);
            assert_false(mismatch(t, &b, 100 + i) <= 1e-8);
        }
        bracket_free(&b);
        table_free(t);
    }
}

/* ---- structure --------------------------------------------------------------------------------------- */

/* A generic splitting has every bracket: 1, 2, 3, 6, 9, 18, 30, 56, 99 Lyndon words of length 2 .. 10. */
TEST(test_counts)
{
    static const size_t known[] = {0, 0, 1, 2, 3, 6, 9, 18, 30, 56, 99};
    size_t counted[LIE_MAX + 1] = {0};
    Table *t = random_flows(3, 9);
    Brackets b;
    assert_int_equal(bracket_error(t, LIE_MAX, &b), 0);
    for (size_t i = 0; i < b.count; i++) {
        counted[b.bracket[i].degree]++;
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(b.bracket[i].name, b.bracket[j].name);
    }
    for (int d = 2; d <= LIE_MAX; d++) assert_int_equal(counted[d], known[d]);
    bracket_free(&b);
    table_free(t);
}

/* Flows followed by the same flows backwards have no even degrees. The splitting alone has some. */
TEST(test_palindromes)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        Table *t = random_flows(seed, 5), *p = table_copy(t);
        size_t n = t->flows, even = 0;
        Brackets b;
        p->flow = memory_grow(p->flow, n, 2 * n, sizeof(Flow));
        for (size_t i = 0; i < n; i++) {
            p->flow[2 * n - 1 - i] = p->flow[i];
            mpq_init(p->flow[2 * n - 1 - i].c);
            mpq_set(p->flow[2 * n - 1 - i].c, p->flow[i].c);
        }
        p->flows = 2 * n;
        for (int op = 0; op < 2; op++) mpq_set_ui(p->weight[op], 2, 1);
        assert_int_equal(bracket_error(p, 7, &b), 0);
        for (size_t i = 0; i < b.count; i++) assert_int_equal(b.bracket[i].degree % 2, 1);
        bracket_free(&b);
        assert_int_equal(bracket_error(t, 7, &b), 0);
        for (size_t i = 0; i < b.count; i++) even += b.bracket[i].degree % 2 == 0;
        assert_true(even > 0);
        bracket_free(&b);
        table_free(t);
        table_free(p);
    }
}

/* The lowest bracket's degree less 1 is the order by trees. */
TEST(test_order)
{
    static const char *const names[] = {"lie-trotter", "strang-marchuk", "yoshida4",    "ruth3",
                                        "word:ssffsf", "word:sffs",      "sandwich:4-2"};
    for (uint64_t i = 0; i < 7 + 6; i++) {
        Table *t = i < 7 ? frozen(names[i]) : random_flows(50 + i, 6);
        Theory theory;
        Brackets b;
        assert_int_equal(theory_search(t, 6, &theory), 0);
        assert_int_equal(bracket_error(t, 7, &b), 0);
        assert_true(b.count > 0);
        assert_int_equal(b.bracket[0].degree, theory.order + 1);
        bracket_free(&b);
        table_free(t);
    }
}

/* The area is half of (pairs s before f - pairs f before s), by counting. Backwards its sign turns, and a
 * palindrome has none. */
TEST(test_area)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        char name[40] = "word:", back[40] = "word:";
        int n = 2 + (int)random_below(seed, 1, 0, 12), twice = 0;
        mpq_t area, other, want;
        mpq_inits(area, other, want, NULL);
        for (int i = 0; i < n; i++)
            name[5 + i] = back[4 + n - i] = random_below(seed, 2, (uint64_t)i, 2) ? 's' : 'f';
        for (int i = 5; i < 5 + n; i++)
            for (int j = i + 1; j < 5 + n; j++)
                twice += (name[i] == 's' && name[j] == 'f') - (name[i] == 'f' && name[j] == 's');
        Table *t = frozen(name), *u = frozen(back);
        assert_int_equal(bracket_area(t, OP_F, OP_G, area), 0);
        assert_int_equal(bracket_area(u, OP_F, OP_G, other), 0);
        mpq_set_si(want, twice, 2);
        mpq_canonicalize(want);
        assert_true(mpq_equal(area, want));
        mpq_neg(want, want);
        assert_true(mpq_equal(other, want));
        assert_true(strcmp(name, back) != 0 || mpq_sgn(area) == 0);
        mpq_clears(area, other, want, NULL);
        table_free(t);
        table_free(u);
    }
}

TEST(test_refused)
{
    Table *rk4 = frozen("rk4"), *lie = frozen("lie-trotter");
    Brackets b;
    mpq_t area;
    mpq_init(area);
    assert_int_equal(bracket_error(rk4, 3, &b), ERR_INPUT);
    assert_int_equal(bracket_area(rk4, OP_F, OP_G, area), ERR_INPUT);
    assert_int_equal(bracket_error(lie, 0, &b), ERR_INPUT);
    assert_int_equal(bracket_error(lie, 30, &b), ERR_INPUT);
    mpq_clear(area);
    table_free(rk4);
    table_free(lie);
}

static const Table *splitting;

static int find_brackets(void)
{
    Brackets b;
    int code = bracket_error(splitting, 4, &b);
    if (code == 0) bracket_free(&b);
    return code;
}

TEST(test_short_memory)
{
    Table *t = frozen("lie-trotter");
    splitting = t;
    assert_true(fail_each(find_brackets, ERR_MEMORY) > 5);
    table_free(t);
}

TEST_MAIN(zoo_begin, zoo_end)
