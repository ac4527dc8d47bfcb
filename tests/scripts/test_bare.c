/* test_bare.c: the tests of bare.skips are skipped where their tools are missing, as tests/scripts/bare.sh
 * finds; bare.sh and run.sh also see what is wrong with programs that stand for tests. It runs where the sources are. */
#include "tests/lib/test.h"

#include <stdbool.h>
#include <sys/stat.h>

#include "tests/lib/program.h"

/* Returns the exit status of bare.sh; its output is in `out`. */
static int bare(const char *build, const char *list, const char *programs)
{
    return shell("cd \"$OLDPWD\" && sh tests/scripts/bare.sh %s %s %s 2>&1", build, list, programs);
}

TEST(what_lacks_its_tool_is_skipped)
{
    char build[PATH_MAX];
    snprintf(build, sizeof build, "%s", program);
    *strrchr(build, '/') = '\0';
    if (bare(build, "tests/scripts/bare.skips", "") != 0) fail_msg("%s", out);
}

/* Writes the program build/tests/any/NAME, a shell script. */
static void script(const char *name, const char *body, int status)
{
    char text[512], path[64];
    shell_ok("mkdir -p build/tests/any");
    snprintf(text, sizeof text, "#!/bin/sh\n%s\nexit %d\n", body, status);
    snprintf(path, sizeof path, "build/tests/any/%s", name);
    file_text(path, text);
    assert_int_equal(chmod(file_path(path), 0755), 0);
}

/* Each row is a shell script that stands for a test program and reports its tests "first" and "second" as
 * cmocka does; its exit status; what bare.sh says of it where "first" is listed (NULL: nothing). */
static const struct {
    const char *body;
    int status;
    const char *words;
} programs[] = {
    {"echo 'not ok 1 # SKIP first'; echo 'ok 2 - second'", 0, NULL},
    {"for tool in mpirun clang nvcc gnuplot python3 groff chromium; do command -v $tool && exit 1; "
     "done;echo 'ok 1 # SKIP first'",
     0, NULL},
    {"echo 'ok 1 - first'; echo 'ok 2 - second'", 0, "listed and not skipped: test_a first"},
    {"echo 'ok 1 # SKIP first'; echo 'ok 2 # SKIP second'", 0,
     "skipped and not listed: test_a second"},
    {"echo 'ok 1 # SKIP first'; echo 'not ok 2 - second'", 1, "test_a: not ok 2 - second"},
    {"echo 'ok 1 # SKIP first'", 3, "test_a ended with status 3"},
    {"echo 'not ok - group set-up'", 1, "test_a: not ok - group set-up"},
};

TEST(what_goes_wrong_is_told)
{
    static const char listed[] = "test_a first\ntest_b other\n";
    char build[PATH_MAX], list[PATH_MAX];
    snprintf(build, sizeof build, "%s", file_path("build"));
    snprintf(list, sizeof list, "%s", file_path("list"));
    file_write("list", listed, sizeof listed - 1);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        script("test_a", programs[i].body, programs[i].status);
        int status = bare(build, list, "test_a");
        const char *words = programs[i].words;
        if (status != (words != NULL) || (words && !strstr(out, words)))
            fail_msg("%s: status %d: %s", programs[i].body, status, out);
    }
}

/* Each row: what run.sh says of test_b, this script, beside test_a, which passes one test, and whether it fails. */
static const struct {
    const char *body;
    int status;
    const char *words;
    bool fails;
} runs[] = {
    {"echo 'ok 1 - second'; echo 'ok 2 # SKIP third'", 0, "2 passed, 0 failed, 1 skipped", false},
    {"echo 'ok 1 - second'; echo 'not ok 2 - third'", 1, "2 passed, 1 failed, 0 skipped", true},
    {"echo 'ok 1 - second'", 3, "test_b ended with status 3", true},
    /* The shell around the program is killed. */
    {"kill -KILL $PPID", 0, "1 programs left no result", true},
};

TEST(failures_are_counted)
{
    char build[PATH_MAX];
    snprintf(build, sizeof build, "%s", file_path("build"));
    script("test_a", "echo 'ok 1 - first'", 0);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        script("test_b", runs[i].body, runs[i].status);
        int status = shell(
            "cd \"$OLDPWD\" && sh tests/scripts/run.sh %s %s/tests/any/test_a %s/tests/any/test_b 2>&1",
            build, build, build);
        if ((status != 0) != runs[i].fails || !strstr(out, runs[i].words))
            fail_msg("%s: status %d: %s", runs[i].body, status, out);
    }
}

TEST_MAIN(program_open_drawn, program_close)
