/* test_system_command.c: `trotter order --system-file`: the examples of --help all and of the source run as they stand;
 * messages about a file begin with its name; steps too large for stability are named and left out; words of a plot
 * keep apart. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"
#include "tests/lib/terminal.h"

/* Saves as a file, without `prefix`, the lines from "system swarm" on that begin with it. */
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

/* Checks that every scheme agrees in its verdict and in its constant. */
static void order_agrees(const char *name)
{
    char arguments[128];
    snprintf(arguments, sizeof arguments,
             "order --system-file %s --scheme euler,heun,rk4,lie-trotter --halvings 5 --summary",
             name);
    int status = program_run(arguments);
    if (status != 0) fail_msg("%s: status %d: %s", name, status, err);
    int agree = 0;
    for (const char *c = out; (c = strstr(c, " agree")); c++) agree++;
    assert_int_equal(agree, 2 * 4);
    assert_non_null(strstr(out, "system swarm: "));
    assert_non_null(strstr(out, "16 particles of 2 coordinates"));
}

TEST(test_help_example)
{
    assert_int_equal(program_run("order --help all"), 0);
    assert_non_null(strstr(out, "trotter order --system-file swarm.txt"));
    save_example(out, "    ", "swarm.txt");
    order_agrees("swarm.txt");
}

/* The example in the source runs. It is read from the top of the sources, where `make check` runs; elsewhere the
 * test is skipped. */
TEST(test_source_example)
{
    static char text[1 << 15];
    FILE *f = fopen("ode/field/system_file.c", "rb");
    if (!f) skip();
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    save_example(text, " *     ", "source.txt");
    order_agrees("source.txt");
}

static void write_text(const char *text)
{
    file_text("own.txt", text);
}

/* Evaluations are those that a textbook counts: of rules that are written, and of a sub-flow without closed form all
 * that its integrator takes. */
TEST(test_evaluations)
{
    write_text("system decay\nn 1\nd 1\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    run_ok("order --system-file own.txt --scheme rk4 --halvings 4 --csv");
    assert_non_null(strstr(out, ",0.25,4,16,"));
    write_text("system decay\nn 1\nd 1\nF = sum 0\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    run_ok("order --system-file own.txt --scheme rk4 --halvings 4 --csv");
    assert_non_null(strstr(out, ",0.25,4,32,"));
    write_text("system decay\nn 2\nd 1\nF = sum sin(y)\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    run_ok("order --system-file own.txt --scheme lie-trotter --halvings 4 --csv");
    char *first = strstr(out, ",0.25,4,");
    assert_true(first && strtol(first + 8, NULL, 10) > 8 * 13);
}

/* Every failure, at reading or later and in every study, has its message and exit status. */
TEST(test_bad)
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
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char arguments[128], begin[128];
        snprintf(arguments, sizeof arguments, "order --system-file own.txt --scheme euler %s",
                 bad[i].more);
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

/* ---- steps too large ----------------------------------------------------------------------------- */

/* Returns the cell of the column in the row that begins with "SCHEME,", of the CSV in `out`. */
static const char *cell(const char *scheme, const char *column)
{
    static char text[256];
    char *copy = strdup(out), *head = copy, *row = strchr(copy, '\n');
    size_t n = strlen(scheme);
    assert_non_null(row);
    *row++ = '\0';
    while (row && *row && (strncmp(row, scheme, n) != 0 || row[n] != ','))
        row = strchr(row, '\n') ? strchr(row, '\n') + 1 : NULL;
    assert_true(row && *row);
    row[strcspn(row, "\n")] = '\0';
    for (char *name; (name = strsep(&head, ","));) {
        snprintf(text, sizeof text, "%s", strsep(&row, ","));
        if (strcmp(name, column) == 0) break;
    }
    free(copy);
    return text;
}

/* The stability limits of rk4 and heun are 2.785 and 2: 1/32 and 1/512 are the first dyadic steps above them over
 * 100 and 1000. A row whose verdict names such a step has no slope. */
TEST(test_unstable)
{
    write_text("system a\nn 1\nd 1\nG = -100*y\ninitial = 1\nt-end 1\nh0 1/8\n");
    assert_int_equal(
        program_run("order --system-file own.txt --scheme rk4 --summary --csv --halvings 5"), 0);
    assert_string_equal(cell("rk4", "verdict"), "unstable");
    assert_string_equal(cell("rk4", "unstable_from"), "0.03125");
    assert_string_equal(cell("rk4", "measured"), "");
    assert_string_equal(cell("rk4", "constant"), "");
    assert_non_null(strstr(err, "rk4 is unstable for h >= 0.03125 on a"));
    assert_non_null(strstr(err, "a shorter --t-end"));
    /* A warning is recorded and takes the report's tick away. */
    run_ok("order --system-file own.txt --scheme rk4 --halvings 10 --out warned");
    run_ok("report warned --out warned.html");
    shell_ok("grep -q 'warning: rk4 is unstable for h' warned/commands.csv");
    shell_ok("grep -q 'verdict warned.>1 unstable' warned.html");

    write_text("system a\nn 1\nd 1\nG = -1000*y\ninitial = 1\nt-end 1\nh0 1/8\n");
    assert_int_equal(program_run("order --system-file own.txt --scheme heun --summary --csv"), 0);
    assert_string_equal(cell("heun", "verdict"), "unstable");
    assert_string_equal(cell("heun", "unstable_from"), "0.00390625");

    assert_int_equal(program_run("order --system-file own.txt --scheme leapfrog --summary"), 0);
    assert_non_null(strstr(err, "a smaller --h0 or more --halvings"));

    /* no step is unstable: no message and an empty cell */
    assert_int_equal(program_run("order --system attention --scheme rk4 --summary --csv"), 0);
    assert_string_equal(cell("rk4", "unstable_from"), "");
    assert_null(strstr(err, "unstable"));
}

/* ---- output -------------------------------------------------------------------------------------- */

/* --summary leaves one row a scheme. Without it the output has every error too; only text has the verdicts as
 * well. */
TEST(test_summary)
{
    static const char errors[] = "  steps  ", verdicts[] = "  expected  ";
    assert_int_equal(program_run("order --system linear --scheme heun"), 0);
    assert_true(strstr(out, errors) && strstr(out, verdicts));
    assert_int_equal(program_run("order --system linear --scheme heun --summary"), 0);
    assert_true(!strstr(out, errors) && strstr(out, verdicts));
    assert_int_equal(program_run("order --system linear --scheme heun --csv"), 0);
    assert_true(strstr(out, "scheme,system,h,") && !strstr(out, "scheme,system,expected"));
}

/* A correct method of fifth order passes on every system where the verdict is by its constant. There is no such
 * verdict where rounding leaves the constant a wide interval, which depends on the build. */
TEST(test_fifth_order)
{
    static const char dopri[] =
        "scheme dopri5\nk1 = H(y)\nk2 = H(y + 1/5*k1)\nk3 = H(y + 3/40*k1 + 9/40*k2)\n"
        "k4 = H(y + 44/45*k1 - 56/15*k2 + 32/9*k3)\n"
        "k5 = H(y + 19372/6561*k1 - 25360/2187*k2 + 64448/6561*k3 - 212/729*k4)\n"
        "k6 = H(y + 9017/3168*k1 - 355/33*k2 + 46732/5247*k3 + 49/176*k4 - 5103/18656*k5)\n"
        "y' = y + 35/384*k1 + 500/1113*k3 + 125/192*k4 - 2187/6784*k5 + 11/84*k6\n";
    static const char *const systems[] = {"forced", "kuramoto", "vortex", "kepler"};
    int told = 0;
    file_text("dopri.txt", dopri);
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        char line[128];
        snprintf(line, sizeof line,
                 "order --scheme-file dopri.txt --scheme dopri5 --system %s --summary --csv",
                 systems[i]);
        if (program_run(line) != 0) fail_msg("%s: %s%s", systems[i], out, err);
        double low = atof(cell("dopri5", "constant_low"));
        double high = atof(cell("dopri5", "constant_high"));
        double predicted = atof(cell("dopri5", "predicted"));
        int narrow = high < 1.2 * low;
        assert_string_equal(cell("dopri5", "match"), narrow ? "agree" : "");
        if (!(0 < low && low <= predicted && predicted <= high))
            fail_msg("%s: %g not in %g .. %g", systems[i], predicted, low, high);
        told += narrow;
    }
    assert_true(told >= 3);
}

/* ---- plots --------------------------------------------------------------------------------------- */

/* Reads the heights of the words "slope p" in an SVG from each group's "translate(x,y)"; returns their number. */
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

/* Letters of 11 points are 11 units of the image high, and a line of them 14. The guides of these local errors, 2.5
 * * 0.33 h^2 and 2.5 * 0.50 h^3, end within a factor of 1.3 at h = 1/2: without room for a line, their words
 * overlap. */
TEST(test_words_apart)
{
    double y[16];
    need_tool("gnuplot");
    assert_int_equal(program_run("order --local --scheme heun-layer,ab2,rk4 --h0 0.5 --out local"),
                     0);
    file_read("local/order.svg", out, sizeof out);
    assert_int_equal(heights(out, y), 3);
    assert_true(are_apart(3, y, 14));
    shell_ok("cd local && sed -i 's/^line = .*/line = 0/' order.gp && gnuplot order.gp");
    file_read("local/order.svg", out, sizeof out);
    assert_int_equal(heights(out, y), 3);
    assert_false(are_apart(3, y, 14));
}

/* A long study of one scheme shows its progress and the time left. */
TEST(test_time_left)
{
    static const char pendulum[] =
        "system pendulum\nn 1\nd 2\nG1 = y2\nG2 = -sin(y1)\ninitial = 1\nt-end 1\nh0 1/8\n";
    static const char study[] = "order --system-file pendulum.txt --t-end 60000 --scheme rk4";
    file_text("pendulum.txt", pendulum);
    static const char *const words[] = {
        "order of rk4 on pendulum (1 of 1): reference solution, about ",
        "order of rk4 on pendulum (1 of 1): steps, about "};
    for (int i = 0; i < 2; i++)
        if (!terminal_shows(study, words[i], 60)) fail_msg("no '%s' in %s", words[i], shown);
}

TEST_MAIN(program_open, program_close)
