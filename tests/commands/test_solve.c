/* test_solve.c: `trotter solve` takes a problem as its user states it: tolerances of each coordinate. */
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
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        must_refuse(formed("solve --system-file decay.txt --scheme dormand-prince %s", rows[i][0]),
                    rows[i][1]);
    must_refuse("solve --system-file decay.txt --rtol 1e-6 --atol 1e-6", "has no estimate");
}

TEST_MAIN(program_open, program_close)
