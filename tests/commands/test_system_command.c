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
    const char *at = strstr(text, formed("%ssystem swarm", prefix));
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

/* Saves the example of a text, and checks that every scheme agrees on it in its verdict and in its constant. */
static void example_agrees(const char *text, const char *prefix)
{
    save_example(text, prefix, "swarm.txt");
    run_ok("order --system-file swarm.txt --scheme euler,heun,rk4,lie-trotter --halvings 5 "
           "--summary");
    assert_int_equal(count_words(out, " agree"), 2 * 4);
    HAS(out, "system swarm: ", "16 particles of 2 coordinates");
}

/* The source is read from the top of the sources, where `make check` runs; elsewhere its example is not tried. */
TEST(test_examples)
{
    char *text = path_slurp("ode/field/system_file.c", NULL);
    must_print("order --help all", "trotter order --system-file swarm.txt");
    example_agrees(out, "    ");
    if (!text) skip();
    example_agrees(text, " *     ");
}

/* Evaluations are those that a textbook counts: of rules that are written, and of a sub-flow without closed form all
 * that its integrator takes. */
TEST(test_evaluations)
{
    file_text("own.txt", "system decay\nn 1\nd 1\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    must_print("order --system-file own.txt --scheme rk4 --halvings 4 --csv", ",0.25,4,16,");
    file_text("own.txt",
              "system decay\nn 1\nd 1\nF = sum 0\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    must_print("order --system-file own.txt --scheme rk4 --halvings 4 --csv", ",0.25,4,32,");
    file_text("own.txt",
              "system decay\nn 2\nd 1\nF = sum sin(y)\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    run_ok("order --system-file own.txt --scheme lie-trotter --halvings 4 --csv");
    char *first = strstr(out, ",0.25,4,");
    assert_true(first && strtol(first + 8, NULL, 10) > 8 * 13);
}

static void is_number(double x, double expected, double within)
{
    if (!(fabs(x - expected) <= within)) fail_msg("%.17g, not %.17g", x, expected);
}

/* `trotter solve`: the states are R(-h)^n and, of a two-step scheme whose first step is exact, those of its recurrence;
 * errors are against exp(-t); a step by tolerance has values between its ends. */
TEST(test_solve)
{
    file_text("own.txt", "system decay\nn 1\nd 1\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    run_ok("solve --reference --system-file own.txt --scheme rk4,ab2 --h 0.5 --csv");
    const double R = 1 - 0.5 + 0.125 - 0.125 / 6 + 0.0625 / 24, ab2 = exp(-0.5);
    is_number(out_number(2, "y1"), R, 1e-15);
    is_number(out_number(3, "y1"), R * R, 1e-15);
    is_number(out_number(3, "error"), fabs(R * R - exp(-1)), 1e-12);
    is_number(out_number(5, "y1"), ab2, 1e-12);
    is_number(out_number(5, "error"), 0, 1e-12);
    is_number(out_number(6, "y1"), ab2 - 0.75 * ab2 + 0.25, 1e-12);
    assert_string_equal(out_cell(7, "scheme"), "reference");
    is_number(out_number(9, "y1"), exp(-1), 1e-12);
    run_ok("solve --system-file own.txt --scheme rk4 --h 0.01 --times 10 --csv");
    assert_int_equal(count_lines(out), 1 + 11);
    run_ok("solve --system-file own.txt --scheme dormand-prince --tolerance 1e-7 --times 8 --csv");
    for (int k = 1; k <= 8; k++) {
        is_number(out_number(k + 1, "t"), k / 8., 1e-15);
        is_number(out_number(k + 1, "y1"), exp(-k / 8.), 1e-5);
    }
    /* The table for people has up to 25 states; of more it has some, equally far apart, and says so. --csv has all. */
    run_ok("solve --system-file own.txt --scheme dormand-prince --tolerance 1e-3 --times 24");
    assert_int_equal(count_words(out, "\ndormand-prince "), 25 + 1);
    assert_null(strstr(out, "--csv prints all"));
    run_ok("solve --system-file own.txt --scheme dormand-prince --tolerance 1e-3 --times 52");
    assert_int_equal(count_words(out, "\ndormand-prince "), 14 + 1);
    HAS(out, "\none in 4 of the 53 states, and the last; --csv prints all\n", "  0.923077  ",
        "~  0.942308  ");
    run_ok("solve --system-file own.txt --scheme dormand-prince --tolerance 1e-3 --times 52 --csv");
    assert_int_equal(count_lines(out), 1 + 53);
    /* A run that leaves the numbers ends with status 1; what it came to is kept. */
    file_text("own.txt", "system a\nn 1\nd 1\nG = -1e9*y^3\ninitial = 1\nt-end 1\nh0 1/4\n");
    expect(1, "solve --system-file own.txt --scheme euler --h 0.1 --out blown");
    HAS(err, "1 of 1 runs did not come to t = 1");
    shell_ok("grep -q 'not finite$' blown/solve.csv");
    must_refuse("solve --h 0.1 --tolerance 1e-3", "--tolerance");
    must_refuse("solve --tolerance 1e-3", "has no estimate of its error");
    must_refuse("solve --h 1e-9 --t-end 1", "expected at most");
}

/* An estimate that sees no linear field is told wherever it chooses steps, and where schemes are listed; on stderr, once. */
TEST(test_blind_estimates)
{
    const char *words = "ros3p: its estimate of the error is 0 on every linear field";
    run_ok("solve --system dahlquist:lambda=-1000 --scheme ros3p,rodas4 --tolerance 1e-4");
    assert_int_equal(count_words(err, words), 1);
    assert_int_equal(count_words(err, "its estimate"), 1); /* not rodas4's */
    run_ok("order --adaptive --scheme ros3p --system dahlquist --tolerances 1e-3,1e-4,1e-5,1e-6");
    assert_int_equal(count_words(err, words), 1);
    run_ok("schemes --scheme ros3p,rodas4");
    assert_int_equal(count_words(err, words), 1);
    run_ok("solve --system dahlquist --scheme ros3p --h 0.1");
    assert_int_equal(count_words(err, words), 0);
}

/* A split of a field that has one part alone is told, once; `F = 0*y[i+1]` is such a field. Schemes over H, and fields of two
 * parts, are not warned of (the controls). */
TEST(test_zero_parts)
{
    static const struct {
        const char *text, *schemes, *words;
    } rows[] = {
        {"G = -y\n", "lie-trotter,rk4,ark4",
         "F of system own is 0: lie-trotter, ark4 split nothing"},
        {"F = 0*y[i+1]\nG = -y\n", "ark4,rk4", "F of system own is 0: ark4 split nothing"},
        {"F = y[i+1] - 2*y\n", "heun-layer", "G of system own is 0: heun-layer split nothing"},
        {"F = y[i+1] - 2*y\nG = 0*sin(y)\n", "lie-trotter", "G of system own is 0"},
        {"G = -y\n", "rk4,heun,radau-iia5", NULL},
        {"F = y[i+1] - 2*y\nG = -y\n", "lie-trotter,ark4", NULL},
        {"F = own -y\nG = -y\n", "lie-trotter,ark4", NULL},
        {"G = -y\n", "ros34pw2,ros2-w,etd-rk2", "F of system own is 0: etd-rk2 split nothing"},
        {"F = y[i+1] - 2*y\nG = sin(t)\n", "lie-trotter", NULL}, /* 0 at t = 0 alone */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        file_text("own.txt",
                  formed("system own\nn 2\nd 1\n%sinitial = 1\nt-end 1\n", rows[i].text));
        run_ok(formed("solve --system-file own.txt --h 0.1 --scheme %s", rows[i].schemes));
        assert_int_equal(count_words(err, "split nothing"), rows[i].words != NULL);
        if (rows[i].words) HAS(err, rows[i].words);
    }
    run_ok("order --system oscillator --scheme lie-trotter,rk4 --halvings 4 --summary");
    assert_int_equal(count_words(err, "F of system oscillator is 0: lie-trotter split nothing"), 1);
}

/* Errors against a reference that is not known are left out, at its own times, and a word says so: two integrators of Lorenz's
 * equations agree to six digits up to t = 20 or so. Before, and where a solution goes to 0, errors stand (the controls). */
TEST(test_unknown_reference)
{
    run_ok("solve --reference --system lorenz --t-end 40 --scheme rk4,heun --h 0.02 --csv");
    HAS(err, "known to six digits at ");
    for (int line = 2; line <= 2 * 401 + 1; line += 100) {
        double t = out_number(line, "t");
        int there = *out_cell(line, "error") != 0;
        assert_true(t > 16 || there);
        assert_true(t < 32 || !there);
    }
    must_print("solve --reference --system lorenz --t-end 40 --scheme rk4 --h 0.02",
               "no reference");
    run_ok("solve --reference --system lorenz --t-end 10 --scheme rk4 --h 0.02");
    HAS(out, "done");
    assert_int_equal(count_words(err, "known to"), 0);
    must_print("solve --system dahlquist:lambda=-1000 --scheme rodas4 --tolerance 1e-6", "done");
    run_ok("order --system lorenz --t-end 40 --scheme rk4 --csv");
    HAS(err, "the errors of rk4 are left out");
    assert_string_equal(out_cell(2, "error"), "");
    run_ok(
        "order --adaptive --system lorenz --t-end 40 --scheme dormand-prince --tolerances 1e-4,1e-6 --csv");
    HAS(err, "errors are left out");
    assert_string_equal(out_cell(2, "error"), "");
    run_ok("order --adaptive --system lorenz --scheme dormand-prince --tolerances 1e-4,1e-6 --csv");
    assert_true(out_number(2, "error") > 0);
}

/* A start that cannot be found is no run: y' = y^2 leaves the numbers at t = 1. Nor is a run of first steps alone. A run
 * that begins before the pole is one (the control). */
TEST(test_solve_start)
{
    file_text("pole.txt", "system pole\nn 1\nd 1\nG = y^2\ninitial = 1\nt-end 4\nh0 1/4\n");
    expect(1, "solve --system-file pole.txt --scheme bdf2 --h 2");
    HAS(out, "no start");
    HAS(err, "bdf2: the reference solution is not finite", "1 of 1 runs did not come to t = 4");
    run_ok("solve --system-file pole.txt --scheme bdf2 --h 0.1 --t-end 0.5");
    HAS(out, "done");
    must_refuse("solve --system-file pole.txt --scheme ab3 --h 0.2 --t-end 0.4",
                "ab3 begins with 2 steps of the reference solution, and --h gives 2");
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
        {"system a\nG2 = y\ninitial = 1\n", "", "own.txt:2:3: ", 2},
        {"system a\nG = 1/(y - 1)\ninitial = 1\n", "", "own.txt:2: ", 2},
        {"system a\nG = y\ninitial = 1\n", "--dim 4096", "own.txt: expected at most", 2},
        {"system a\nG = y\ninitial = 1\nh0 5\n", "", "own.txt: h0 5: ", 2},
        {"system a\nG = y\ninitial = 1\n", "--invariant", "own.txt: system a has no invariant", 2},
        {"system a\nn 1\nG = y^2\ninitial = 1\nt-end 2\n", "", "own.txt: the reference", 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *begin = formed("trotter order: %s", bad[i].words);
        file_text("own.txt", bad[i].text);
        expect(bad[i].status, "order --system-file own.txt --scheme euler %s", bad[i].more);
        if (*out || strncmp(err, begin, strlen(begin)) != 0 || count_lines(err) != 1)
            fail_msg("%s: '%s', not '%s'", bad[i].text, err, begin);
    }
    must_refuse("order --system-file nowhere", "trotter order: cannot open nowhere: ");
    must_refuse("order --system-file .", "trotter order: cannot read .: ");
    must_refuse("order --h0 9 --system linear", "trotter order: h0 9: ");
}

/* The stability limits of rk4 and heun are 2.785 and 2: 1/32 and 1/512 are the first dyadic steps above them over
 * 100 and 1000. A row whose verdict names such a step has no slope. */
TEST(test_unstable)
{
    file_text("own.txt", "system a\nn 1\nd 1\nG = -100*y\ninitial = 1\nt-end 1\nh0 1/8\n");
    run_ok("order --system-file own.txt --scheme rk4 --summary --csv --halvings 5");
    assert_string_equal(out_cell(1, "verdict"), "unstable");
    assert_string_equal(out_cell(1, "unstable_from"), "0.03125");
    assert_string_equal(out_cell(1, "measured"), "");
    assert_string_equal(out_cell(1, "constant"), "");
    HAS(err, "rk4 is unstable for h >= 0.03125 on a", "a shorter --t-end");
    /* A warning is recorded and takes the report's tick away. */
    run_ok("order --system-file own.txt --scheme rk4 --halvings 10 --out warned");
    run_ok("report warned --out warned.html");
    shell_ok("grep -q 'warning: rk4 is unstable for h' warned/commands.csv");
    shell_ok("grep -q 'verdict warned.>1 unstable' warned.html");

    file_text("own.txt", "system a\nn 1\nd 1\nG = -1000*y\ninitial = 1\nt-end 1\nh0 1/8\n");
    run_ok("order --system-file own.txt --scheme heun --summary --csv");
    assert_string_equal(out_cell(1, "verdict"), "unstable");
    assert_string_equal(out_cell(1, "unstable_from"), "0.00390625");

    must_tell("order --system-file own.txt --scheme leapfrog --summary",
              "a smaller --h0 or more --halvings");

    /* no step is unstable: no message and an empty cell */
    run_ok("order --system attention --scheme rk4 --summary --csv");
    assert_string_equal(out_cell(1, "unstable_from"), "");
    HAS(err, "~unstable");
}

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
TEST_DRAWN(test_words_apart)
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

/* A long study of one scheme shows how far it has come. */
TEST(test_progress)
{
    static const char pendulum[] =
        "system pendulum\nn 1\nd 2\nG1 = y2\nG2 = -sin(y1)\ninitial = 1\nt-end 1\nh0 1/8\n";
    static const char study[] = "order --system-file pendulum.txt --t-end 60000 --scheme rk4";
    file_text("pendulum.txt", pendulum);
    static const char *const words[] = {"order of rk4 on pendulum (1 of 1): reference solution, ",
                                        "order of rk4 on pendulum (1 of 1): steps, "};
    for (int i = 0; i < 2; i++)
        if (!terminal_shows(study, words[i])) fail_msg("no '%s' in %s", words[i], shown);
}

TEST_MAIN(program_open, program_close)
