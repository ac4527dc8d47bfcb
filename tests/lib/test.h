/* test.h: includes cmocka after the headers that it needs and the headers of the C library that most tests need, and
 * keeps the list of a program's tests. Every test program begins with it:
 *
 *     TEST(two_and_two) { assert_int_equal(2 + 2, 4); }
 *     TEST_MAIN(scratch_open, scratch_close)
 */
#ifndef TROTTER_TESTS_TEST_H
#define TROTTER_TESTS_TEST_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a test. Tests run in the order of `line`, and in the order of calls where it is the same. */
void test_add(const struct CMUnitTest *t, int line);

/* Runs the tests between `begin` and `end` (either may be NULL) and returns how many failed. CMOCKA_FILTER has patterns
 * (*, ?) of the names of those that run, with commas between; TROTTER_SHUFFLE=N draws their order by the seed N. */
int test_run(CMFixtureFunction begin, CMFixtureFunction end);

/* These are kill() for a process, and for the group of processes that one leads. The number must be a process's, or the
 * test program ends: kill(-1) reaches every process that there is, and a fork that fails returns -1. */
int test_signal(pid_t pid, int number);
int test_signal_group(pid_t pid, int number);

/* Adds a function as a test between a set-up and a tear-down. */
#define TEST_ADD(name, begin, end)                                               \
    __attribute__((constructor)) static void add_##name(void)                    \
    {                                                                            \
        struct CMUnitTest t = cmocka_unit_test_setup_teardown(name, begin, end); \
        test_add(&t, __LINE__);                                                  \
    }

/* Begins a test. Its body may read `state`. */
#define TEST_BETWEEN(name, begin, end) \
    static void name(void **state);    \
    TEST_ADD(name, begin, end)         \
    static void name(__attribute__((unused)) void **state)
#define TEST(name) TEST_BETWEEN(name, NULL, NULL)

#define TEST_MAIN(begin, end)        \
    int main(void)                   \
    {                                \
        return test_run(begin, end); \
    }

#endif
