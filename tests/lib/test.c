/* test.c: see test.h. */
#include "tests/lib/test.h"

#include <errno.h>
#include <fnmatch.h>

#include "kernels/base/random.h"

static struct CMUnitTest *tests;
static int *lines;
static size_t count;

void test_add(const struct CMUnitTest *t, int line)
{
    size_t i = count++;
    tests = realloc(tests, count * sizeof *tests);
    lines = realloc(lines, count * sizeof *lines);
    if (!tests || !lines) abort();
    for (; i > 0 && lines[i - 1] > line; i--) {
        tests[i] = tests[i - 1];
        lines[i] = lines[i - 1];
    }
    tests[i] = *t;
    lines[i] = line;
}

/* Keeps the tests whose names match one of the patterns between commas. */
static void keep(const char *patterns)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        char copy[1024], *rest = copy, *pattern;
        snprintf(copy, sizeof copy, "%s", patterns);
        while ((pattern = strsep(&rest, ",")) && fnmatch(pattern, tests[i].name, 0) != 0) {}
        if (pattern) tests[kept++] = tests[i];
    }
    count = kept;
}

/* Draws an order by a seed, so that a test is seen which lives on what another one left (Knuth's shuffle). */
static void shuffle(uint64_t seed)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = (size_t)(random_uniform(seed, 0, i) * (double)i);
        struct CMUnitTest t = tests[j];
        tests[j] = tests[i - 1], tests[i - 1] = t;
    }
}

int test_run(CMFixtureFunction begin, CMFixtureFunction end)
{
    if (getenv("CMOCKA_FILTER")) keep(getenv("CMOCKA_FILTER"));
    if (getenv("TROTTER_SHUFFLE")) shuffle(strtoull(getenv("TROTTER_SHUFFLE"), NULL, 10));
    return _cmocka_run_group_tests(program_invocation_short_name, tests, count, begin, end);
}

static pid_t checked(pid_t pid)
{
    if (pid > 1) return pid;
    fprintf(stderr, "%d is no process to be signalled\n", (int)pid);
    abort();
}

int test_signal(pid_t pid, int number)
{
    return kill(checked(pid), number);
}

int test_signal_group(pid_t pid, int number)
{
    return kill(-checked(pid), number);
}
