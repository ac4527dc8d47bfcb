/* test.c: see test.h. */
#include "tests/lib/test.h"

#include <errno.h>

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

int test_run(CMFixtureFunction begin, CMFixtureFunction end)
{
    const char *pattern = getenv("CMOCKA_FILTER");
    if (pattern) cmocka_set_test_filter(pattern);
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
