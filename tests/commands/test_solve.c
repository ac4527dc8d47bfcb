/* test_solve.c: `trotter solve` takes a problem as its user states it: tolerances of each coordinate, times of states, an
 * interval that begins elsewhere or goes back, initial states, parameters. Where quantities of a solution pass 0 is printed and in
 * events.csv (--event): terminal events end a run, which is no failure. What pictures are drawn from: curves.csv, steps.csv, section.csv. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

/* Two particles whose second coordinates are fast, with this initial state. */
static void write_decay(const char *initial)
{
    file_text(
        "decay.txt",
        formed("system decay\nn 2\nd 2\nG1 = -y1\nG2 = -50*y2\ninitial = %s\nt-end 1\nh0 1/4\n",
               initial));
}

/* Runs a pair with these tolerances; returns its evaluations. */
static double work_of(const char *tolerances)
{
    run_ok("solve --system-file decay.txt --scheme dormand-prince --times 2 --out o %s",
           tolerances);
    /* lists are quoted, so that cells are counted from the end */
    return shell_number("tail -1 o/solve.csv | rev | cut -d, -f4 | rev");
}

/* --tolerance is both in one. A list has a number for each coordinate of a particle, or of the state, and bears on that one
 * alone: the fast coordinates need most steps. A field is linear, so 1,024 times the state takes the same steps where the
 * absolute tolerance is 1,024 times as large, the relative one the same. */
TEST(test_tolerances)
{
    write_decay("1, 1");
    double both = work_of("--tolerance 1e-6"), fast = work_of("--rtol 1e-6 --atol 1e-6,1e-2");
    assert_true(work_of("--rtol 1e-6 --atol 1e-6") == both);
    assert_true(work_of("--tolerance 1e-3 --rtol 1e-6 --atol 1e-6") == both);
    assert_true(work_of("--rtol 1e-6,1e-6 --atol 1e-6,1e-6,1e-6,1e-6") == both);
    assert_true(fast < 0.9 * both);
    assert_true(work_of("--rtol 1e-6 --atol 1e-6,1e-2,1e-6,1e-2") == fast);
    double one = work_of("--rtol 1e-6 --atol 1e-6,1e-6,1e-6,1e-2");
    assert_true(fast < one && one < both);
    assert_true(work_of("--atol 1e-6 --rtol 1e-6,1e-2") < 0.9 * both);
    double small = work_of("--rtol 1e-6 --atol 0.0009765625");
    write_decay("1024, 1024");
    assert_true(work_of("--rtol 1e-6 --atol 1") == small);
    assert_true(work_of("--rtol 1e-6 --atol 0.0009765625") > small);
    /* The literature's of Robertson's reactions is a millionth of the relative one; a text has its own. */
    char *usual = output_of("solve --system robertson --scheme rodas4 --rtol 1e-4 --csv --times 1");
    char *said = output_of(
        "solve --system robertson --scheme rodas4 --rtol 1e-4 --atol 1e-10 --csv --times 1");
    char *other = output_of(
        "solve --system robertson --scheme rodas4 --rtol 1e-4 --atol 1e-9 --csv --times 1");
    assert_string_equal(usual, said);
    assert_string_not_equal(usual, other);
    free(usual), free(said), free(other);
    file_text("decay.txt", "system decay\ny' = -y\nsmall = 1e-3\ninitial = 1\n");
    assert_true(work_of("--rtol 1e-6") == work_of("--rtol 1e-6 --atol 1e-9"));
    assert_true(work_of("--rtol 1e-6") != work_of("--tolerance 1e-6"));
    must_refuse("solve --system hires --scheme rodas4 --rtol 1,1,1,1,1,1,1,1",
                "expected --atol beside it");
}

/* A tolerance that is missing, 0, below 0 or of the wrong length is one line and status 2. */
TEST(test_bad_tolerances)
{
    write_decay("1, 1");
    static const char *const rows[][2] = {
        {"--rtol 1e-6", "expected --rtol and --atol, or --tolerance for what is not given"},
        {"--atol 1e-6", "expected --rtol and --atol"},
        {"--tolerance 0", "--tolerance: expected a number from"},
        {"--rtol 0 --atol 1e-6", "--rtol: expected a number from"},
        {"--rtol 1e-6 --atol 0", "--atol: expected a number of at least"},
        {"--rtol 1e-6 --atol 1e-6,-1", "--atol: expected a number of at least"},
        {"--rtol 1e-6 --atol 1,2,3",
         "--atol: expected 1 number for all, or 2, one for each coordinate of a particle, or 4, one for "
         "each coordinate; there are 3"},
        {"--h 0.1 --atol 1", "expected --h or --atol, not both"},
        {"--rtol 1e-6 --atol 1e16", "--atol: expected a number from 1e-300 to 1e+15"},
        {"--t-end 1e16", "--t-end: expected a number from -1e+15 to 1e+15, not '1e16'"},
        {"--longest 1", "--longest: expected a tolerance"},
        {"--longest 1 --h 1", "expected --h or --longest, not both"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        must_refuse(formed("solve --system-file decay.txt --scheme dormand-prince %s", rows[i][0]),
                    rows[i][1]);
    must_refuse("solve --system-file decay.txt --rtol 1e-6 --atol 1e-6", "has no estimate");
}

static void is_number(double x, double expected, double within)
{
    if (!(fabs(x - expected) <= within)) fail_msg("%.17g, not %.17g", x, expected);
}

/* Checks lines of the last run's CSV behind that of the initial state: its times and states. */
static void has_states(size_t count, const double *t, const double *y, double within)
{
    for (size_t k = 0; k < count; k++) {
        is_number(out_number((int)k + 2, "t"), t[k], 0);
        is_number(out_number((int)k + 2, "y1"), y[k], within);
    }
}

/* A pulse in t that is a hundredth of the run long is not passed without a word, by whatever takes the steps; a shorter one
 * needs --longest. The control: steps as long as the tolerance allows see nothing of either. */
TEST(test_pulses)
{
    const double root = sqrt(acos(-1));
    static const char *const by[] = {"dormand-prince", "bogacki-shampine", "radau-iia5", "bdf",
                                     "rodas4",         "kvaerno5"};
    file_text("pulse.txt",
              "system pulse\nparam w = 1\ny1' = exp(-((t-90)/w)^2)/w\ninitial = 0\nt-end = 100\n");
    int missed = 0;
    for (size_t i = 0; i < sizeof by / sizeof *by; i++)
        for (int k = 0; k < 4; k++) {
            run_ok(
                "solve --system-file pulse.txt --csv --times 1 --tolerance 1e-6 --scheme %s %s %s",
                by[i], k < 2 ? "" : "--set w=0.1",
                k % 2 ? "--longest 100"
                : k   ? "--longest 0.1"
                      : "");
            double y = out_number(2, "y1");
            if (k % 2 == 0) is_number(y, root, 1e-3);
            missed += k % 2 && fabs(y) < 1e-3;
        }
    assert_true(missed >= 8);
}

/* What ends a run before its end is told, with what to do. */
TEST(test_ends_before)
{
    file_text("pole.txt", "system pole\ny1' = y1^2\ninitial = 1\nt-end = 2\n");
    expect(1, "solve --system-file pole.txt --scheme dormand-prince --tolerance 1e-6");
    HAS(err, "dormand-prince: behind t = 1.00000", "no step is short enough", "--t-end", "--atol");
    expect(1, "solve --system-file pole.txt --scheme bdf --tolerance 1e-6 --initial=-1 --t-end -2");
    HAS(err, "bdf: behind t = -0.99999");
    expect(1, "solve --system-file pole.txt --scheme implicit-euler --h 0.1");
    HAS(err, "were not found by Newton's method: take smaller steps");
    run_ok("solve --system-file pole.txt --scheme dormand-prince --tolerance 1e-6 --t-end 0.9");
    assert_null(strstr(err, "behind t"));
    file_text("slides.txt", "system slides\ny1' = 3/2 - 2*heaviside(y1)\ninitial = 1\nt-end = 9\n");
    expect(1, "solve --system-file slides.txt --scheme ros2 --tolerance 1e-6");
    HAS(err, "ros2: ended at t = ", "the right side jumps where the solution stays", "--event");
    HAS(out, " jumps");
}

static double rk4_factor(double z)
{
    return 1 + z + z * z / 2 + z * z * z / 6 + z * z * z * z / 24;
}

/* A list or file of times: behind whole steps the states are those of the run, within a step those of one shorter step from
 * the state before; by tolerance they are the solution's. The time of the end is added, that of the beginning left out. */
TEST(test_times)
{
    static const double t[] = {0.125, 0.3, 0.5, 1};
    double R = rk4_factor(-0.25), exact[4];
    double y[] = {rk4_factor(-0.125), R * rk4_factor(-0.05), R * R, R * R * R * R};
    for (int k = 0; k < 4; k++) exact[k] = exp(-t[k]);
    file_text("own.txt", "system decay\nn 1\nd 1\nG = -y\ninitial = 1\nt-end 1\nh0 1/4\n");
    file_text("times.txt", "# times\n0\n0.125\n\n 0.3\r\n5e-1");
    static const char *const same[] = {"0.125,0.3,0.5", "0,0.125,0.3,0.5,1", "times.txt"};
    for (int i = 0; i < 3; i++) {
        run_ok("solve --system-file own.txt --scheme rk4 --h 0.25 --csv --times %s", same[i]);
        has_states(4, t, y, 1e-15);
        run_ok(
            "solve --system-file own.txt --scheme dormand-prince --tolerance 1e-9 --csv --times %s",
            same[i]);
        has_states(4, t, exact, 1e-7);
    }
    run_ok("solve --system-file own.txt --scheme radau-iia5 --h 0.25 --csv --times 5e-2");
    is_number(out_number(2, "y1"), exp(-0.05), 1e-8);
    /* A whole number is how many; 1.0 is a time. */
    run_ok("solve --system-file own.txt --scheme rk4 --h 0.125 --csv --times 2");
    assert_int_equal(out_number(2, "t") == 0.5, 1);
    run_ok("solve --system-file own.txt --t-end 2 --scheme ab2 --h 0.125 --csv --times 1.0");
    assert_int_equal(out_number(2, "t") == 1, 1);
    /* A scheme that reads the past has the polynomial through its last states, of its order; events and pictures see its steps too. */
    double error[2];
    for (int k = 0; k < 2; k++) {
        run_ok(
            "solve --system-file own.txt --scheme bdf2 --h %g --csv --times 0.33,0.57,1 --event 'y1 - 0.5' --out seen",
            .05 / (1 + k));
        assert_int_equal(count_lines(out), 5);
        error[k] = fabs(out_number(2, "y1") - exp(-.33));
        is_number(out_number(3, "y1"), exp(-.57), 2e-3);
        assert_true(file_has("seen/events.csv", "bdf2,y1 - 0.5,down,0.69"));
        assert_true(count_lines(file_slurp("seen/curves.csv", NULL)) > 40);
    }
    assert_true(error[0] > 3 * error[1] && error[0] < 1e-3);
    /* So has one that carries quantities, whatever it begins with, and where there are fewer steps. */
    file_text("momentum.scheme",
              "scheme momentum\ncarry v = 0\nk1 = H(y)\nv' = 9/10*v + 1/10*k1\ny' = y + v'\n");
    run_ok("solve --system-file own.txt --scheme-file momentum.scheme --scheme momentum --h 0.125 "
           "--csv --times 0.5,0.6,0.625");
    is_number(out_number(3, "y1"), .2 * out_number(2, "y1") + .8 * out_number(4, "y1"), 1e-3);
    run_ok("solve --system-file own.txt --scheme-file momentum.scheme --scheme momentum --h 1 "
           "--t-end 1 --csv --times 0.5");
    assert_int_equal(count_lines(out), 4);
    static const char *const bad[][2] = {
        {"rk4 --times 0.5,0.25", "--times: 0.25 does not follow the time before it"},
        {"rk4 --times 0.5,0.5", "--times: 0.5 does not follow"},
        {"rk4 --times 0.5,1.5", "--times: 1.5 is out of the run; expected times from 0 to 1"},
        {"rk4 --times -0.5,1", "--times: -0.5 is out of the run"},
        {"rk4 --times 0.5,,1", "--times: expected times separated by commas"},
        {"rk4 --times 0.5,nan", "--times: expected times separated by commas"},
        {"rk4 --times 0", "--times: expected a whole number from 1 to 100000"},
        {"rk4 --times own.txt", "own.txt:1: expected a time, not 'system decay'"},
        {"rk4 --times nowhere", "cannot open nowhere"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        must_refuse(formed("solve --system-file own.txt --scheme %s", bad[i][0]), bad[i][1]);
}

/* y' = t y has the solution exp(t^2/2), up to a factor, forward and back. Steps, by tolerance and of one length, are taken
 * by schemes of every kind; those that read the past begin with the solution on their side. */
TEST(test_back)
{
    file_text("own.txt", "system own\nn 1\nd 1\nF = own t*y/2\nG = t*y/2\ninitial = 1\nt-end 1\n");
    static const char *const schemes[] = {
        "rk4 --h 0.01",
        "ab5 --h 0.01",
        "bdf2 --h 0.001",
        "radau-iia5 --h 0.05",
        "ars222 --h 0.001",
        "yoshida4 --h 0.02",
        "dormand-prince --rtol 1e-9 --atol 1e-9",
        "ark4 --tolerance 1e-9",
        "bdf --tolerance 1e-9",
        "kvaerno5 --tolerance 1e-9",
    };
    static const double back[] = {1.5, 1, 0.25}, ahead[] = {1.5, 2, 2.5};
    double y[2][3];
    for (int k = 0; k < 3; k++) {
        y[0][k] = exp((back[k] * back[k] - 4) / 2);
        y[1][k] = exp((ahead[k] * ahead[k] - 1) / 2);
    }
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        run_ok(
            "solve --system-file own.txt --t-begin 2 --t-end 0.25 --times 1.5,1 --csv --scheme %s",
            schemes[i]);
        has_states(3, back, y[0], 3e-6);
        run_ok(
            "solve --system-file own.txt --t-begin 1 --t-end 2.5 --times 1.5,2 --csv --scheme %s",
            schemes[i]);
        has_states(3, ahead, y[1], 1e-4);
    }
    run_ok(
        "solve --system-file own.txt --t-begin 1 --t-end -1 --scheme rk4 --h 0.1 --csv --times 2");
    is_number(out_number(3, "t"), -1, 0);
    is_number(out_number(3, "y1"), 1, 1e-5);
    must_print("solve --system-file own.txt --t-begin 1 --t-end -1", "; from t = 1 to -1; ");
    must_refuse("solve --system-file own.txt --t-begin 1", "--t-end: the system's own, 1, is not");
    must_refuse("solve --system-file own.txt --t-end 0", "--t-end 0: expected another time");
    must_refuse("solve --system-file own.txt --t-begin 1 --t-end 0 --times 0.25,0.5",
                "--times: 0.5 does not follow the time before it; expected times from 1 to 0");
}

/* Closed solutions stand where the run begins: those of a field without time move with it, others hold if they begin there.
 * Stiff fields, sub-flows in closed form and systems whose particles are stepped in blocks go back too. */
TEST(test_elsewhere)
{
    static const char *const runs[] = {
        "dahlquist --t-begin 3 --t-end 4 --scheme rk4 --h 0.01",
        "dahlquist --t-end -1 --scheme rodas4 --tolerance 1e-9",
        "prothero-robinson --t-begin 1 --t-end 2 --scheme rk4 --h 0.01",
        "prothero-robinson --t-begin 6.283185307179586 --t-end 7 --scheme rk4 --h 0.01",
        "kepler --particles 4000 --t-end -1 --scheme yoshida4 --h 0.01 --times 1",
        "attention --t-begin -1 --t-end -2 --scheme strang-marchuk --h 0.001 --times 1",
        "forced --t-begin 2 --t-end 1 --scheme strang-marchuk --h 0.001",
        "robertson --t-begin 5 --t-end 6 --scheme rodas4 --tolerance 1e-9",
        "linear --t-begin 1 --t-end 0 --scheme etd-rk4,rk4 --h 0.01",
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        run_ok("solve --reference --out o --system %s", runs[i]);
        double error = shell_number("tail -1 o/solve.csv | rev | cut -d, -f3 | rev");
        if (!(error < 1e-6)) fail_msg("%s: %g", runs[i], error);
    }
}

/* --rigorous tells errors against a solution that is proved, with its radius, and refuses what it cannot enclose. */
TEST(rigorous)
{
    run_ok("solve --system lorenz --scheme rk4 --h 0.02 --t-end 2 --times 2 --rigorous");
    HAS(out, "against the solution, by ball arithmetic, proved to ", "  radius");
    run_ok("solve --system lorenz --scheme rk4 --h 0.02 --t-end 2 --times 2 --rigorous --csv");
    assert_string_equal(out_cell(6, "scheme"), "reference");
    assert_string_equal(out_cell(6, "y1"), "13.562831425997324");
    double radius = atof(out_cell(6, "radius"));
    assert_true(radius > 0 && radius < 1e-14 && *out_cell(3, "radius") == '\0');
    must_refuse("solve --system kuramoto --rigorous", "a text of formulas");
    must_refuse("solve --system lorenz --t-end -1 --rigorous", "from time 0 forward");
    must_refuse("solve --system lorenz --reference --rigorous", "--reference");
}

/* No reference is sought unless --reference asks for it: errors are then against a closed solution or not told, and a line
 * says which. Of many coordinates that solution is taken where the printed table has states; --csv has all. */
TEST(test_errors)
{
    run_ok("solve --system lorenz --t-end 40 --scheme rk4 --h 0.02");
    HAS(out, "no errors: no solution in closed form is known here; --reference finds it", "done");
    assert_int_equal(count_words(out, "error "), 0);
    assert_int_equal(count_lines(err), 0);
    run_ok("solve --system lorenz --scheme rk4 --h 0.02 --reference");
    HAS(out, "against the reference solution, known to ", "  error");
    run_ok("solve --system lorenz --scheme rk4 --h 0.02 --csv");
    assert_string_equal(out_cell(1, "error"), "");
    assert_string_equal(out_cell(2, "error"), "");
    assert_int_equal(count_words(out, "reference"), 0);
    run_ok("solve --system transport --particles 1200 --scheme rk4 --h 1e-4 --t-end 0.01");
    HAS(out, "against the solution in closed form\n");
    run_ok(
        "solve --system transport --particles 1200 --scheme radau-iia5 --h 5e-4 --t-end 0.02 --csv");
    for (int k = 2; k <= 41; k++) assert_true(out_number(k, "error") < 1e-6);
    /* the closed solution is that of the run, back too */
    run_ok("solve --system oscillator --t-end -2 --scheme rk4 --h 0.01 --times 1 --csv");
    is_number(out_number(2, "error"), 0, 1e-8);
    is_number(out_number(4, "y2"), sin(2), 1e-12);
    assert_string_equal(out_cell(4, "scheme"), "reference");
}

/* By tolerance the stiff problems go to the end of the literature, and its digits are those that tight steps come to, in every
 * coordinate; in steps of one length they end earlier, and there, or elsewhere, no errors are told. */
TEST(test_ends)
{
    static const struct {
        const char *name, *options;
        int coordinates, line;
        double end;
    } rows[] = {
        {"hires", "rodas4 --rtol 1e-8 --atol 1e-13", 8, 3, 321.8122},
        {"robertson", "rodas4 --rtol 1e-9 --atol 1e-19", 3, 3, 1e11},
        {"oregonator", "rodas4 --rtol 1e-9 --atol 1e-9", 3, 3, 360},
        {"pleiades", "dormand-prince --rtol 1e-11 --atol 1e-11", 28, 3, 3},
        {"van-der-pol", "rodas4 --rtol 1e-9 --atol 1e-9", 2, 3, 2000},
        {"arenstorf", "dormand-prince --tolerance 1e-13", 0, 3, 17.0652165601579625588917206249},
        {"medical-akzo", "radau-iia5 --tolerance 1e-5", 0, 3, 20},
        {"ring-modulator", "radau-iia5 --tolerance 1e-6", 0, 3, 1e-3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        run_ok("solve --system %s --times 2 --csv --scheme %s", rows[i].name, rows[i].options);
        is_number(out_number(3, "t"), rows[i].end, 0);
        assert_true(out_number(3, "error") > 0 && out_number(3, "error") < 2e-5);
        assert_string_equal(out_cell(2, "error"), "");
        assert_string_equal(out_cell(6, "scheme"), "reference");
        for (int k = 0; k < rows[i].coordinates; k++) {
            const char *name = rows[i].coordinates == 28 ? formed("y%d_%d", k / 4 + 1, k % 4 + 1)
                                                         : formed("y%d", k + 1);
            double y = out_number(3, name), known = out_number(6, name);
            is_number(y / known, 1, 1e-7);
        }
    }
    static const char *const none[] = {"hires --scheme rk4 --h 0.01",
                                       "e5 --scheme rodas4 --tolerance 1e-9",
                                       "hires --scheme rodas4 --tolerance 1e-4 --t-end 321",
                                       "pleiades --scheme rk4 --h 0.01 --t-end -3",
                                       "hires --particles 2 --scheme rodas4 --tolerance 1e-4"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        must_print(formed("solve --system %s", none[i]), "no errors: ");
    run_ok("solve --system hires --scheme rk4 --h 0.01 --times 1 --csv");
    is_number(out_number(2, "t"), 10, 0);
    run_ok("solve --system e5 --scheme rodas4 --rtol 1e-6 --atol 1e-20 --times 1 --csv");
    is_number(out_number(2, "t"), 1e13, 0);
    run_ok(
        "solve --system e5 --set k=1130 --scheme rodas4 --rtol 1e-6 --atol 1e-20 --times 1 --csv");
    is_number(out_number(2, "t"), 1e13, 0); /* the text's own value */
    run_ok(
        "solve --system e5 --set k=1e3 --scheme rodas4 --rtol 1e-6 --atol 1e-20 --times 1 --csv");
    is_number(out_number(2, "t"), 0.1, 0); /* the literature's end is that of its parameters */
    /* a file's own */
    file_text(
        "own.txt",
        "system a\nparam k = 1\ny' = -k*y\ninitial = 1\nt-end = 1\nend = 0.36787944117144233\n");
    must_print("solve --system-file own.txt --scheme rk4 --h 0.1", "against the end that");
    must_print("solve --system-file own.txt --scheme rk4 --h 0.1 --set k=2", "no errors: ");
    must_print("solve --system-file own.txt --scheme rk4 --h 0.1 --initial 2", "no errors: ");
    file_text("own.txt", "system a\ny' = -y\ninitial = 1\nend = 1, 2\n");
    must_refuse("solve --system-file own.txt",
                "own.txt: end: expected 1 numbers, those of all particles; there are 2");
}

/* --initial has all coordinates, or one particle's for all. A closed solution that it is not on gives no errors. */
TEST(test_initial)
{
    file_text("own.txt", "system a\nn 2\nd 2\nG = -y\ninitial = 1\nt-end 1\nexact = exp(-t)\n");
    const char *line =
        "solve --system-file own.txt --scheme rk4 --h 0.01 --times 1 --csv --initial %s";
    run_ok(line, "3,-4");
    is_number(out_number(2, "y1_1"), 3 * exp(-1), 1e-9);
    is_number(out_number(1, "y1_2"), -4, 0);
    is_number(out_number(2, "y2_2"), -4 * exp(-1), 1e-9);
    assert_string_equal(out_cell(2, "error"), "");
    run_ok(line, "1,1,1,1");
    is_number(out_number(2, "error"), 0, 1e-9);
    run_ok(line, "3,-4,5e0,.5");
    is_number(out_number(2, "y2_1"), 5 * exp(-1), 1e-9);
    is_number(out_number(2, "y2_2"), 0.5 * exp(-1), 1e-9);
    must_refuse(formed(line, "1,2,3"),
                "--initial: expected 2, one for each coordinate of a particle, or 4");
    must_refuse(formed(line, "1"), "there is 1");
    must_refuse(formed(line, "1,x"), "--initial: expected a number");
    run_ok("solve --system prothero-robinson --t-begin 1 --t-end 2 --initial 0.5403023058681398 "
           "--scheme rk4 --h 0.01 --times 1 --csv");
    is_number(out_number(2, "y1"), cos(2), 1e-8);
    is_number(out_number(2, "error"), 0, 1e-8);
    run_ok("order --system oscillator --initial 0,2 --scheme rk4 --summary --csv");
    assert_string_equal(out_cell(1, "verdict"), "agree");
}

/* --set is the parameters of any system, as options behind its colons are; the name says so. */
TEST(test_set)
{
    char *by_colon = output_of("solve --system van-der-pol:mu=7 --h 0.01 --csv");
    char *by_set = output_of("solve --system van-der-pol --set mu=7 --h 0.01 --csv");
    assert_string_equal(by_colon, by_set);
    assert_string_equal(
        output_of("solve --system transport:periodic:peclet=9 --h 0.01 --csv"),
        output_of("solve --system transport --set periodic,peclet=9 --h 0.01 --csv"));
    file_text("own.txt", "system own\nn 1\nd 1\nparam a = 1\nparam b = 2*a\nG = -a*b*y\n"
                         "initial = 1\nt-end 1\n");
    run_ok("solve --system-file own.txt --set a=0.5 --scheme rk4 --h 0.01 --times 1 --csv");
    is_number(out_number(2, "y1"), exp(-0.5), 1e-9);
    run_ok("solve --system-file own.txt --set a=0.5,b=3 --scheme rk4 --h 0.01 --times 1 --csv");
    is_number(out_number(2, "y1"), exp(-1.5), 1e-9);
    must_print("solve --system-file own.txt --set a=0.5,b=3", "system own:a=0.5:b=3: ");
    must_refuse("solve --system-file own.txt --set c=1",
                "solve: system own: expected NAME=NUMBER, NAME of a b; not 'c=1'");
    must_refuse("solve --system lorenz --set tau=1", "NAME of sigma rho beta; not 'tau=1'");
    must_refuse("solve --system transport --set tau=1", "each once, of peclet=");
    must_refuse("solve --system kepler --set e=1", "system kepler has no options; 'e=1' is none");
    must_refuse("solve --system lorenz --set rho", "not 'rho'");
    must_refuse("solve --system lorenz --set rho=x", "expected rho=NUMBER, not 'rho=x'");
    must_refuse("solve --system lorenz --set rho=1,,beta=2",
                "--set: expected NAME=NUMBER,NAME=NUMBER");
}

/* ---- events ---------------------------------------------------------------------------------------- */

static const char ball[] =
    "system ball\nn 1\nd 1\nparam g = 9.81\ny'' = -g\ninitial = 10, 0\nt-end 5\n";

/* Returns the time in the first row of `text` that begins with `head`. */
static double time_behind(const char *text, const char *head)
{
    const char *row = strstr(text, head);
    if (!row) fail_msg("no %s in %s", head, text);
    return strtod(row + strlen(head), NULL);
}

/* Ten metres take sqrt(2 h / g) of all schemes; what lies behind the ground is not looked for. */
TEST(test_ground)
{
    static const char *const runs[] = {"--scheme dormand-prince,radau-iia5 --tolerance 1e-9",
                                       "--scheme rk4,leapfrog --h 0.1"};
    file_text("ball.txt", ball);
    for (int i = 0; i < 2; i++) {
        run_ok(
            formed("solve --system-file ball.txt %s --event 'y1 down terminal' --event 'y2 + g/2' "
                   "--event 'y1 + 20' --out ball%d",
                   runs[i], i));
        HAS(out, " event\n", "events, where these quantities pass 0:", "1.42784312293");
        char *csv = file_slurp(formed("ball%d/events.csv", i), NULL);
        assert_int_equal(strncmp(csv, "scheme,event,passes,t,y1,y2\n", 28), 0);
        assert_int_equal(count_words(csv, "terminal,down,"), 2);
        assert_null(strstr(csv, "y1 + 20"));
        const char *first = i ? "rk4" : "dormand-prince", *second = i ? "leapfrog" : "radau-iia5";
        for (int k = 0; k < 2; k++) {
            const char *name = k ? second : first;
            double hit = time_behind(csv, formed("%s,y1 down terminal,down,", name));
            assert_true(fabs(hit - sqrt(20 / 9.81)) <= 1e-9);
            assert_true(fabs(time_behind(csv, formed("%s,y2 + g/2,down,", name)) - .5) <= 1e-9);
        }
    }
}

/* No event is no error, and nothing else of the output changes. */
TEST(test_no_event)
{
    run_ok("solve --system pendulum --scheme rk4 --h 0.25");
    char *plain = strdup(out);
    run_ok("solve --system pendulum --scheme rk4 --h 0.25 --event 'y1 - 10'");
    assert_int_equal(strncmp(out, plain, strlen(plain)), 0);
    assert_null(strstr(out, "y1 - 10"));
    HAS(out, "events, where these quantities pass 0:");
    free(plain);
}

/* Times are the system's, and up and down along the run, also where it does not begin at 0 or goes back: cos of the time since is 0 at
 * pi/2. No state behind a terminal event is told. */
TEST(test_events_back)
{
    static const char *const step[] = {"--tolerance 1e-10", "--h 0.01"};
    for (int i = 0; i < 4; i++) {
        run_ok(formed(
            "solve --system oscillator --scheme dormand-prince %s --t-begin %s --initial 1,0 --event y1 --event 't - 6.003 terminal' "
            "--out back",
            step[i % 2], i < 2 ? "1 --t-end 9 --times 2,6.005" : "9 --t-end 1 --times 8,6.001"));
        char *csv = file_slurp("back/events.csv", NULL);
        double hit = time_behind(csv, "dormand-prince,y1,down,");
        double quarter = acos(-1.0) / 2;
        assert_true(fabs(hit - (i < 2 ? 1 + quarter : 9 - quarter)) <= 1e-7);
        HAS(csv, i < 2 ? ",t - 6.003 terminal,up," : ",t - 6.003 terminal,down,");
        char *states = file_slurp("back/solution.csv", NULL);
        int inside = 1;
        for (int row = 1; row < count_lines(states); row++) {
            double t = strtod(cell_of(states, row, "t"), NULL);
            inside &= strcmp(cell_of(states, row, "scheme"), "dormand-prince") != 0 ||
                      (i < 2 ? t <= 6.003 : t >= 6.003);
        }
        assert_true(inside);
    }
}

TEST(test_event_refusals)
{
    must_refuse("solve --system pendulum --event 'y1 dwon'", "--event:1:4: expected an operator");
    must_refuse("solve --system pendulum --event 'y1 up down'", "--event:1:7: expected");
    must_refuse("solve --system pendulum --event y3", "a particle has 2 coordinates");
    must_refuse("solve --system pendulum --event up", "unknown name 'up'");
    expect(1,
           "solve --system pendulum --scheme dormand-prince --tolerance 1e-6 --event 1/y1-1/y1/0");
    HAS(err, "event 1 is not finite");
}

/* ---- pictures --------------------------------------------------------------------------------------- */

/* Curves are smooth where the solution turns: long steps by tolerance and of one length have further points within, so that the chords
 * keep to the circle, and so does the solution in closed form. Coordinates go by name, by number and by expression. */
TEST(test_curves)
{
    static const char *const steps[] = {"dormand-prince --tolerance 1e-3", "rk4 --h 0.5",
                                        "rodas4 --tolerance 1e-3"};
    for (int i = 0; i < 3; i++) {
        run_ok(
            "solve --system oscillator --scheme %s --plot '2, y1^2 + y2^2' --phase y1,y2 --times 3 --out round",
            steps[i]);
        char *csv = file_slurp("round/curves.csv", NULL);
        int rows = count_lines(csv) - 1, two = 0;
        assert_int_equal(strncmp(csv, "scheme,t,y2,y1^2 + y2^2,y1\n", 26), 0);
        assert_true(rows > 100 && rows < 1000);
        for (int row = 2; row <= rows; row++) {
            double a = number_in(csv, row - 1, "y1"), b = number_in(csv, row - 1, "y2"),
                   c = number_in(csv, row, "y1"), d = number_in(csv, row, "y2");
            if (strcmp(cell_of(csv, row, "scheme"), cell_of(csv, row - 1, "scheme")) != 0) {
                two++;
                continue;
            }
            is_number(hypot((a + c) / 2, (b + d) / 2), 1, 0.02);
            is_number(number_in(csv, row, "y1^2 + y2^2"), c * c + d * d, 1e-12);
        }
        assert_int_equal(two, 1);
    }
}

/* steps.csv has the steps of the run, those that were rejected apart, and what is drawn changes no number of the run. */
TEST(test_steps_drawn)
{
    static const char *const schemes[] = {"dormand-prince", "rodas4", "radau-iia5"};
    for (int i = 0; i < 3; i++) {
        const char *run = formed(
            "solve --system van-der-pol --set mu=50 --t-end 100 --scheme %s --tolerance 1e-4",
            schemes[i]);
        char *plain = output_of("%s", run);
        char *drawn = output_of("%s --plot y1 --out tried", run);
        assert_string_equal(plain, drawn);
        char *csv = file_slurp("tried/steps.csv", NULL);
        double steps = 0, rejected = 0, t = 0;
        for (int row = 1; row < count_lines(csv); row++) {
            if (strcmp(cell_of(csv, row, "rejected"), "yes") == 0) {
                rejected++;
                continue;
            }
            is_number(number_in(csv, row, "t"), t, 1e-9);
            t += number_in(csv, row, "h");
            steps++;
        }
        is_number(t, 100, 1e-9);
        is_number(steps, file_number("tried/solve.csv", 1, "steps"), 0);
        is_number(rejected, file_number("tried/solve.csv", 1, "rejected"), 0);
        assert_true(rejected > 0);
        assert_true(file_has("tried/solution.gp", "set multiplot"));
        assert_true(file_has("tried/solution.gp", "'steps.csv'"));
    }
}

/* On a logarithmic axis times are equally far apart there, and curves begin before it. */
TEST(test_log_time)
{
    run_ok(
        "solve --system robertson --scheme rodas4 --tolerance 1e-6 --times 4 --log-time 1e-4 --csv");
    for (int k = 0; k < 4; k++) is_number(out_number(2 + k, "t") / (1e-4 * pow(1e5, k)), 1, 1e-9);
    run_ok(
        "solve --system robertson --scheme rodas4 --tolerance 1e-6 --log-time 1e-4 --plot 1e4*y2 --out long");
    char *csv = file_slurp("long/curves.csv", NULL);
    int decades[16] = {0};
    for (int row = 2; row < count_lines(csv); row++)
        decades[(int)fmax(0, log10(number_in(csv, row, "t")) + 4.5)]++;
    for (int k = 0; k < 15; k++) assert_true(decades[k] > 0);
    assert_true(file_has("long/solution.gp", "set logscale x 10"));
    /* gnuplot finds no room for four columns of such a key, and a third line of two would lie on the axes */
    run_ok(
        "solve --system robertson --scheme radau-iia5,bdf --rtol 1e-4 --times 9 --log-time 1e-4 --plot y1,1e4*y2,y3 --out wide");
    assert_true(file_has("wide/solution.gp", "horizontal maxcols 3\n"));
}

/* section.csv has a point for each event, in the plane of --phase: on (cos t, -sin t) those where y1 falls through 0, at -1. */
TEST(test_section)
{
    run_ok(
        "solve --system oscillator --scheme rk4 --h 0.01 --t-end 20 --event 'y1 down' --phase y2,y1*y1 --out cut");
    char *points = file_slurp("cut/section.csv", NULL),
         *events = file_slurp("cut/events.csv", NULL);
    assert_int_equal(count_lines(points), 4);
    assert_int_equal(count_lines(events), 4);
    for (int row = 1; row < 4; row++) {
        is_number(number_in(points, row, "t"), number_in(events, row, "t"), 1e-12);
        is_number(number_in(points, row, "x"), -1, 1e-7);
        is_number(number_in(points, row, "y"), 0, 1e-9);
    }
    assert_true(file_has("cut/section.gp", "'section.csv'"));
}

TEST(test_picture_refusals)
{
    must_refuse("solve --system pendulum --plot y1", "--out");
    must_refuse("solve --system pendulum --out no --plot 3",
                "--plot: expected a coordinate from 1 to 2");
    must_refuse("solve --system pendulum --out no --plot y3", "a particle has 2 coordinates");
    must_refuse("solve --system pendulum --out no --plot 'y1 y2'", "--plot: expected an operator");
    must_refuse("solve --system pendulum --out no --phase y1", "--phase: expected two quantities");
    must_refuse("solve --system pendulum --out no --phase y1,y2,y1", "--phase: expected at most 2");
    must_refuse("solve --system pendulum --out no --log-time 100",
                "--log-time 100: expected a time between 0 and 8");
    must_refuse("solve --system pendulum --scheme rk4 --h 0.1 --log-time 100",
                "--log-time 100: expected a time between 0 and 8");
    must_refuse(
        "solve --system pendulum --scheme dormand-prince --tolerance 1e-6 --times 1,2 --log-time 100",
        "--log-time 100: expected a time between 0 and 8");
    assert_int_equal(shell("test -e no"), 1);
}

TEST_MAIN(program_open, program_close)
