/* test_events_command.c: `trotter solve --event`: where quantities of a solution pass 0, printed and in events.csv;
 * terminal events end a run, which is no failure; what cannot be read is refused with its column. */
#include "tests/lib/test.h"

#include <math.h>

#include "tests/lib/program.h"

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
TEST(test_none)
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
TEST(test_back)
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

TEST(test_refusals)
{
    must_refuse("solve --system pendulum --event 'y1 dwon'", "--event:1:4: expected an operator");
    must_refuse("solve --system pendulum --event 'y1 up down'", "--event:1:7: expected");
    must_refuse("solve --system pendulum --event y3", "a particle has 2 coordinates");
    must_refuse("solve --system pendulum --event up", "unknown name 'up'");
    expect(1,
           "solve --system pendulum --scheme dormand-prince --tolerance 1e-6 --event 1/y1-1/y1/0");
    HAS(err, "event 1 is not finite");
}

TEST_MAIN(program_open, program_close)
