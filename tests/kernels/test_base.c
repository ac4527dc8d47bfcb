/* test_base.c: errors, memory and random numbers, on which every folder builds. */
#include "tests/lib/test.h"

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "kernels/base/random.h"

/* ---- errors ---------------------------------------------------------------------------------- */

static const int codes[] = {
#define X(name, value, status, text) name,
    ERROR_LIST(X)
#undef X
};
enum { CODES = sizeof codes / sizeof *codes };

static int passes_up(int code)
{
    TRY(code);
    return 12345;
}

TEST(every_code_has_words)
{
    for (size_t i = 0; i < CODES; i++) {
        assert_true(*error_name(codes[i]) != 0);
        assert_string_not_equal(error_name(codes[i]), error_name(9999));
        assert_int_equal(error_set(codes[i], "x"), codes[i]);
        assert_int_equal(passes_up(codes[i]), codes[i] ? codes[i] : 12345);
        for (size_t j = 0; j < i; j++) assert_true(codes[i] != codes[j]);
    }
    assert_int_equal(error_status(ERR_NONE), 0);
    assert_int_equal(error_status(ERR_INPUT), 2);
    assert_int_equal(error_status(ERR_SYSTEM), 1);
    assert_int_equal(error_status(ERR_INTERRUPTED), 130);
    assert_int_equal(error_status(9999), 1);
}

/* An error is one line, whatever the input held. Where it is too long it is cut, not overrun. */
TEST(words_are_one_line)
{
    error_set(ERR_INPUT, "%s:%d: bad \"%s\"", "file", 3, "a\nb\tc\x1b[1m\x7f");
    assert_string_equal(error_text(), "file:3: bad \"a?b?c?[1m?\"");
    char longer[3000];
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = 0;
    error_set(ERR_INPUT, "%s", longer);
    assert_int_equal(strlen(error_text()), 1023);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int all_zero(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i]) return 0;
    return 1;
}

TEST(memory_is_zeroed_and_aligned)
{
    size_t live = memory_live();
    for (size_t n = 0; n < 300; n += 37) {
        unsigned char *p = memory_new(n, 3);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        assert_true(all_zero(p, 3 * n));
        memset(p, 0xff, 3 * n);
        assert_true(n == 0 || !all_zero(p, 3 * n));
        assert_null(memory_free(p));
    }
    assert_null(memory_free(NULL));
    assert_int_equal(memory_live(), live);
}

TEST(memory_grows)
{
    int *p = memory_grow(NULL, 0, 3, sizeof *p);
    assert_non_null(p);
    for (int i = 0; i < 3; i++) p[i] = i + 1;
    int *q = memory_grow(p, 3, 50, sizeof *q);
    assert_non_null(q);
    for (int i = 0; i < 50; i++) assert_int_equal(q[i], i < 3 ? i + 1 : 0);
    memory_fail_at(1);
    assert_null(memory_grow(q, 50, 60, sizeof *q));
    assert_int_equal(q[2], 3); /* still there */
    memory_free(q);
    char *s = memory_string("two words");
    assert_string_equal(s, "two words");
    memory_free(s);
}

TEST(memory_refuses_overflow)
{
    size_t live = memory_live();
    const size_t huge[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX / 2 + 1, 2}, {1, SIZE_MAX}, {SIZE_MAX - 63, 1}};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; i++) {
        error_set(ERR_INPUT, "%s", "");
        assert_null(memory_new(huge[i][0], huge[i][1]));
        assert_non_null(strstr(error_text(), "out of memory"));
    }
    assert_int_equal(memory_live(), live);
}

/* The k-th allocation fails. Those before and after do not. */
TEST(memory_fails_on_demand)
{
    for (size_t k = 0; k <= 4; k++) {
        memory_fail_at(k);
        for (size_t i = 1; i <= 4; i++) {
            void *p = memory_new(1, 1);
            assert_int_equal(p == NULL, i == k);
            memory_free(p);
        }
    }
    memory_fail_at(1);
    assert_null(memory_string("x"));
    memory_fail_at(0);
}

/* ---- random numbers -------------------------------------------------------------------------- */

/* The words are the known answers of Random123 (its kat_vectors, philox4x32, 10 rounds). There the key
 * is {seed} and the counter {index, stream}, low words first. */
TEST(philox_known_answers)
{
    static const struct {
        uint64_t seed, stream, index;
        uint32_t word[4];
    } known[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x299f31d0a4093822,
         0x0370734413198a2e,
         0x85a308d3243f6a88,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t w[4];
        random_words(known[i].seed, known[i].stream, known[i].index, w);
        assert_memory_equal(w, known[i].word, sizeof w);
        random_words(known[i].seed, known[i].stream, known[i].index ^ 1, w);
        assert_memory_not_equal(w, known[i].word, sizeof w);
    }
}

/* Tells whether a mean is right. A mean of n independent draws of variance s^2 lies within 5 s /
 * sqrt(n) except once in 1.7 million. */
static int mean_is(double sum, size_t n, double mean, double deviation)
{
    return fabs(sum / (double)n - mean) <= 5 * deviation / sqrt((double)n);
}

TEST(moments)
{
    enum { n = 20000 };
    double u1 = 0, u2 = 0, z1 = 0, z2 = 0, z4 = 0, pair = 0;
    for (uint64_t i = 0; i < n; i++) {
        double u = random_uniform(3, 4, i), z = random_normal(3, 5, i);
        assert_true(u > 0 && u < 1);
        u1 += u, u2 += u * u;
        z1 += z, z2 += z * z, z4 += z * z * z * z;
        pair += z * random_normal(3, 5, i + 1);
    }
    assert_true(mean_is(u1, n, 1.0 / 2, sqrt(1.0 / 12)));
    assert_true(mean_is(u2, n, 1.0 / 3, sqrt(4.0 / 45)));
    assert_true(mean_is(z1, n, 0, 1));
    assert_true(mean_is(z2, n, 1, sqrt(2)));
    assert_true(mean_is(z4, n, 3, sqrt(96)));
    assert_true(mean_is(pair, n, 0, 1));
    assert_false(mean_is(z2, n, 1.1, sqrt(2))); /* the yardstick can fail */
}

/* Integers are uniform by Pearson's statistic: in [0, n) it has mean n - 1 and variance 2 (n - 1). */
TEST(integers_are_uniform)
{
    enum { draws = 30000 };
    for (uint64_t n = 1; n <= 10; n += 3) {
        double count[10] = {0}, chi2 = 0, each = (double)draws / (double)n;
        for (uint64_t i = 0; i < draws; i++) {
            uint64_t k = random_below(8, n, i, n);
            assert_true(k < n);
            count[k]++;
        }
        for (uint64_t k = 0; k < n; k++) chi2 += (count[k] - each) * (count[k] - each) / each;
        assert_true(chi2 <= (double)(n - 1) + 6 * sqrt(2 * (double)(n - 1)));
    }
    assert_true(random_below(8, 0, 0, UINT64_MAX) != random_below(8, 0, 1, UINT64_MAX));
}

TEST(permutations)
{
    uint32_t a[257], b[257], fixed = 0;
    for (size_t n = 0; n <= 257; n += n < 4 ? 1 : 23) {
        unsigned char seen[257] = {0};
        random_permutation(1, 2, n, a);
        random_permutation(1, 2, n, b);
        assert_memory_equal(a, b, n * sizeof *a);
        for (size_t i = 0; i < n; i++) {
            assert_true(a[i] < n && !seen[a[i]]);
            seen[a[i]] = 1;
        }
    }
    random_permutation(1, 2, 257, a);
    random_permutation(1, 3, 257, b);
    for (size_t i = 0; i < 257; i++) fixed += a[i] == b[i];
    assert_true(fixed < 12); /* another stream: 1 in common is expected, Poisson */
}

/* All six orders of three items are about equally frequent: 1000 each, deviation 29. */
TEST(permutations_are_uniform)
{
    int count[27] = {0};
    for (uint64_t s = 0; s < 6000; s++) {
        uint32_t p[3];
        random_permutation(7, s, 3, p);
        count[9 * p[0] + 3 * p[1] + p[2]]++;
    }
    for (int i = 0; i < 27; i++) assert_true(count[i] == 0 || (count[i] > 850 && count[i] < 1150));
}

TEST_MAIN(NULL, NULL)
