/* test_system_command.c: `trotter order --system-file`: the examples of --help and of the source run as
 * they stand there; what goes wrong with a file begins with its name; words of a plot keep apart. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/lib/program.h"

/* The lines from "system swarm" on that begin with `prefix`, without it, as a file. */
static void save_example(const char *text, const char *prefix, const char *name)
{
    static char found[4096];
    size_t n = 0, skipped = strlen(prefix);
    char first[64];
    snprintf(first, sizeof first, "%ssystem swarm", prefix);
    const char *at = strstr(text, first);
    assert_non_null(at);
    while (strncmp(at, prefix, skipped) == 0) {
        size_t length = strcspn(at, "\n") + 1;
        assert_true(n + length < sizeof found);
        memcpy(found + n, at + skipped, length - skipped);
        n += length - skipped;
        at += length;
    }
    file_write(name, found, n);
}

/* Every scheme agrees in its verdict and in its constant. */
static void order_agrees(const char *name)
{
    char arguments[128];
    snprintf(arguments, sizeof arguments,
             "order --system-file %s --scheme euler,heun,rk4,lie-trotter --halvings 5", name);
    int status = program_run(arguments);
    if (status != 0) fail_msg("%s: status %d: %s", name, status, err);
    int agree = 0;
    for (const char *c = out; (c = strstr(c, " agree")); c++) agree++;
    assert_int_equal(agree, 2 * 4);
    assert_non_null(strstr(out, "system swarm: "));
    assert_non_null(strstr(out, "16 particles of 2 coordinates"));
}

static void test_help_example(void **state)
{
    (void)state;
    assert_int_equal(program_run("order --help"), 0);
    assert_non_null(strstr(out, "trotter order --system-file swarm.txt"));
    save_example(out, "    ", "swarm.txt");
    order_agrees("swarm.txt");
}

/* Run from the top of the sources, as `make check` does; elsewhere there is nothing to read. */
static void test_source_example(void **state)
{
    static char text[1 << 15];
    (void)state;
    FILE *f = fopen("ode/system_file.c", "rb");
    if (!f) skip();
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    save_example(text, " *     ", "source.txt");
    order_agrees("source.txt");
}

static void write_text(const char *text)
{
    file_write("own.txt", text, strlen(text));
}

/* Whatever fails, at reading or later, in whichever study. */
static void test_bad(void **state)
{
    static const struct {
        const char *text, *more, *words;
        int status;
    } bad[] = {
        {"", "", "own.txt: expected 'system NAME'", 2},
        {"system a\nG = y +\ninitial = 1\n", "", "own.txt:2:8: ", 2},
        {"system a\nG = y\n", "", "own.txt: expected an initial state", 2},
        {"system a\nG = 1/(y - 1)\ninitial = 1\n", "", "own.txt:2: ", 2},
        {"system a\nG2 = y\ninitial = 1\n", "", "own.txt:2:3: ", 2},
        {"system a\nG = y\ninitial = 1\n", "--dim 4096", "own.txt: expected at most", 2},
        {"system a\nG = y\ninitial = 1\nh0 5\n", "", "own.txt: h0 5: ", 2},
        {"system a\nG = y\ninitial = 1\n", "--invariant", "own.txt: system a has no invariant", 2},
        {"system a\nn 1\nG = y^2\ninitial = 1\nt-end 2\n", "", "own.txt: the reference", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char arguments[128], begin[128];
        snprintf(arguments, sizeof arguments,
                 "order --system-file own.txt --scheme euler --halvings 4 %s", bad[i].more);
        snprintf(begin, sizeof begin, "trotter order: %s", bad[i].words);
        write_text(bad[i].text);
        int status = program_run(arguments);
        if (status != bad[i].status || *out || strncmp(err, begin, strlen(begin)) != 0)
            fail_msg("%s: status %d, '%s', not '%s'", bad[i].text, status, err, begin);
        assert_int_equal(count_lines(err), 1);
    }
    assert_true(refused(program_run("order --system-file nowhere"), "order", "nowhere: "));
    assert_true(refused(program_run("order --system-file ."), "order", ".: "));
    assert_true(refused(program_run("order --h0 9 --system linear"), "order", "h0 9: "));
    assert_false(refused(program_run("order --h0 9 --system linear"), "order", "own.txt"));
}

/* ---- plots --------------------------------------------------------------------------------------- */

/* Baselines of the words "slope p" in an SVG, each "translate(x,y)" of its group; how many. */
static int heights(const char *svg, double *y)
{
    int n = 0;
    for (const char *at = svg; n < 16 && (at = strstr(at, ">slope ")); at++) {
        const char *group = at;
        while (group > svg && strncmp(group, "translate(", 10) != 0) group--;
        if (sscanf(group, "translate(%*[0-9.],%lf", &y[n]) == 1) n++;
    }
    return n;
}

static int are_apart(int n, const double *y, double least)
{
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            if (!(y[i] - y[k] >= least || y[k] - y[i] >= least)) return 0;
    return 1;
}

/* Letters of 11 points are 11 units of the image high, a line of them 14. The guides of these local
 * errors, 2.5 * 0.33 h^2 and 2.5 * 0.50 h^3, end within a factor of 1.3 at h = 1/2: drawn without room
 * for a line, the words are not apart. */
static void test_words_apart(void **state)
{
    double y[16];
    char line[PATH_MAX];
    (void)state;
    if (system("command -v gnuplot >/dev/null") != 0) skip();
    assert_int_equal(program_run("order --local --scheme heun-layer,ab2,rk4 --h0 0.5 --out local"),
                     0);
    file_read("local/order.svg", out, sizeof out);
    assert_int_equal(heights(out, y), 3);
    assert_true(are_apart(3, y, 14));
    snprintf(line, sizeof line,
             "cd %s/local && sed -i 's/^line = .*/line = 0/' order.gp && gnuplot order.gp", folder);
    assert_int_equal(system(line), 0);
    file_read("local/order.svg", out, sizeof out);
    assert_int_equal(heights(out, y), 3);
    assert_false(are_apart(3, y, 14));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_example),
        cmocka_unit_test(test_source_example),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_words_apart),
    };
    return cmocka_run_group_tests(tests, program_open, program_close);
}
