/* test_bare.c: the tests of bare.skips are skipped where their tools are missing, as tests/scripts/bare.sh
 * finds; bare.sh also sees what is wrong with programs that stand for tests. It runs where the sources are. */
#include "tests/lib/test.h"

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
    mkdir(build, 0777);
    mkdir(file_path("build/tests"), 0777);
    mkdir(file_path("build/tests/any"), 0777);
    file_write("list", listed, sizeof listed - 1);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[512];
        int n = snprintf(text, sizeof text, "#!/bin/sh\n%s\nexit %d\n", programs[i].body,
                         programs[i].status);
        file_write("build/tests/any/test_a", text, (size_t)n);
        assert_int_equal(chmod(file_path("build/tests/any/test_a"), 0755), 0);
        int status = bare(build, list, "test_a");
        const char *words = programs[i].words;
        if (status != (words != NULL) || (words && !strstr(out, words)))
            fail_msg("%s: status %d: %s", programs[i].body, status, out);
    }
}

TEST_MAIN(program_open, program_close)
