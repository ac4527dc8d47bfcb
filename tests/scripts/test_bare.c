/* test_bare.c: the tests of bare.skips are skipped where their tools are missing, as tests/scripts/bare.sh
 * finds; bare.sh, run.sh, release.sh and mutants.py see what is wrong with programs that stand for tests. It runs where the
 * sources are. */
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
#ifdef __x86_64__
    const char *list = "tests/scripts/bare.skips";
#else /* the device's stand-in is written for x86-64 */
    const char *list = file_path("skips");
    shell_ok("grep -v '^cuda_' \"$OLDPWD/tests/scripts/bare.skips\" >skips");
#endif
    if (bare(build, list, "") != 0) fail_msg("%s", out);
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

/* Each row: what run.sh says of test_b, this script, beside test_a, which passes one test, whether it fails, and the
 * seconds that it leaves them (NULL: 1,800). */
static const struct {
    const char *body;
    int status;
    const char *words;
    bool fails;
    const char *limit;
} runs[] = {
    {"echo 'ok 1 - second'; echo 'ok 2 # SKIP third'", 0, "2 passed, 0 failed, 1 skipped", false},
    {"echo 'ok 1 - second'; echo 'not ok 2 - third'", 1, "2 passed, 1 failed, 0 skipped", true},
    {"echo 'ok 1 - second'", 3, "test_b ended with status 3", true},
    /* The shell around the program is killed, whose child is timeout. */
    {"read -r _ _ _ shell _ </proc/$PPID/stat; kill -KILL $shell", 0, "1 programs left no result",
     true},
    {"echo 'ok 1 - second'; sleep 300", 0,
     "test_b ended with status 124: it was stopped after 3 s, after ok 1 - second", true, "3"},
    {"echo 'ok 1 - second'; kill -KILL $$", 0, "test_b ended with status 137: it was killed", true},
};

TEST(failures_are_counted)
{
    char build[PATH_MAX];
    snprintf(build, sizeof build, "%s", file_path("build"));
    script("test_a", "echo 'ok 1 - first'", 0);
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        script("test_b", runs[i].body, runs[i].status);
        int status = shell(
            "cd \"$OLDPWD\" && LIMIT=%s sh tests/scripts/run.sh %s %s/tests/any/test_a %s/tests/any/test_b 2>&1",
            runs[i].limit ? runs[i].limit : "", build, build, build);
        if ((status != 0) != runs[i].fails || !strstr(out, runs[i].words))
            fail_msg("%s: status %d: %s", runs[i].body, status, out);
    }
}

/* release.sh goes on after a target that fails, and writes what each found. */
TEST(a_release_check_goes_on)
{
    file_text("Makefile", "check-a:\n\t@echo noise; echo 'check-a: as it was'\n"
                          "check-b:\n\t@echo '# 7 disks tried, 1 lost (seed 1)'; false\n"
                          "check-c:\n\t@echo 'check-c: SKIPPED: no root'\n");
    assert_int_equal(
        shell("MAKEFLAGS= sh \"$OLDPWD/tests/scripts/release.sh\" found check-a check-b check-c"),
        1);
    assert_int_equal(
        shell("grep -v '^What\\|^$' found | sed 's/  *[0-9]* s$//; s/  */ /g; /make/d'"), 0);
    assert_string_equal(
        out,
        "check-a passed\n check-a: as it was\ncheck-b FAILED\n # 7 disks tried, 1 lost (seed 1)\n"
        " # 7 disks tried, 1 lost (seed 1)\ncheck-c passed\n check-c: SKIPPED: no root\n");
    assert_int_equal(shell("sh \"$OLDPWD/tests/scripts/release.sh\" found check-a check-c"), 0);
}

/* mutants.py is given a program of one source and its one test, and finds what the test cannot see: the sign before an
 * argument that it leaves 0. */
TEST(mutants_are_killed_or_survive)
{
    if (shell("command -v python3 gcov make") != 0) skip();
    shell_ok("mkdir -p room tests/any build/release/tests/any");
    file_text("room/sum.c",
              "int sum(const int *a, int n, int zero)\n{\n    int s = 0;\n"
              "    for (int i = 0; i < n; i++) s = s + a[i];\n    return s + zero;\n}\n");
    file_text("tests/any/test_sum.c",
              "int sum(const int *a, int n, int zero);\n"
              "int main(void) { return sum((int[]){1, 2, 3, 9}, 3, 0) != 6; }\n");
    file_text(
        "Makefile",
        "build/mutants/%: build/mutants/%.o\n\tgcc $(LDFLAGS) -o $@ $< build/mutants/libtrotter.a\n");
    shell_ok("cd build/release && gcc -fPIC -c ../../room/sum.c && gcc -c -o tests/any/test_sum.o "
             "../../tests/any/test_sum.c && ar rcs libtrotter.a sum.o && ar rcs libstudies.a");
    int status = shell("JOBS=2 python3 \"$OLDPWD/tests/scripts/mutants.py\" 1 100 room 2>&1");
    if (status != 0) fail_msg("%s", out);
    assert_non_null(
        strstr(out, "control, nothing changed: survived\ncontrol, every program ends: killed\n"));
    assert_non_null(strstr(out, "survived room/sum.c:5 operator `+` -> `-`"));
    assert_non_null(strstr(out, "killed   room/sum.c:4 operator `+` -> `-` tests/any/test_sum:"));
    assert_non_null(strstr(out, "5 of 6 killed: 83.3 % [43.6, 97.0]"));
    assert_int_equal(shell("JOBS=2 python3 \"$OLDPWD/tests/scripts/mutants.py\" 1 1 room"), 0);
    assert_non_null(strstr(out, " of 1 killed: "));
}

TEST_MAIN(program_open_drawn, program_close)
