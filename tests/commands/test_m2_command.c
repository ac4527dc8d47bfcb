/* test_m2_command.c: `trotter m2` as a user runs it: what it prints, and one clear line for each thing that is
 * unusable. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

#define END "|||REQUIRED|||-NONE-|||"

static const char gold[] =
    "S The cat sat at mat .\nA 3 4|||Prep|||on" END "0\nA 4 4|||ArtOrDet|||the||a" END "0\n\n"
    "S The dog .\nA 1 2|||NN|||dogs" END "0\nA -1 -1|||noop|||-NONE-" END "1\n";

static int open_texts(void **state)
{
    if (program_open(state) != 0) return -1;
    file_text("gold.m2", gold);
    file_text("good", "The cat sat on the mat .\nThe dog .\n");
    file_text("some", "A cat sat on the mat .\nThe dog .\n");
    file_text("none", "The cat sat at mat .\nThe dog .\n");
    return 0;
}

/* By hand: The -> A is wrong and the other two edits are right, so P is 2/3, R 1 and F 5/4 2/3 / (1/6 + 1) = 5/7; with
 * beta 2 it is 5 2/3 / (8/3 + 1) = 10/11. */
TEST(one_system)
{
    run_ok("m2 --gold gold.m2 --hypothesis some --csv");
    assert_int_equal(count_lines(out), 2);
    assert_true(fabs(out_number(1, "precision") - 200 / 3.) <= 1e-9);
    assert_string_equal(out_cell(1, "recall"), "100");
    assert_true(fabs(out_number(1, "f") - 500 / 7.) <= 1e-9);
    static const char *const counts[][2] = {{"correct", "2"}, {"proposed", "3"},
                                            {"gold", "2"},    {"sentences", "2"},
                                            {"beta", "0.5"},  {"max_unchanged", "2"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_string_equal(out_cell(1, counts[i][0]), counts[i][1]);
    run_ok("m2 --gold gold.m2 --hypothesis some --csv --beta 2");
    assert_true(fabs(out_number(1, "f") - 1000 / 11.) <= 1e-9);
    run_ok("m2 --gold gold.m2 --hypothesis some");
    assert_non_null(strstr(out, "66.67  100.00  71.43"));
    assert_non_null(strstr(out, "2 sentences; F has beta 0.5; at most 2 words stay within"));
    assert_string_equal(err, "");
}

TEST(several_systems_and_stdin)
{
    run_ok("m2 --gold gold.m2 --hypothesis none,good,some --csv");
    assert_int_equal(count_lines(out), 4);
    assert_string_equal(out_cell(1, "precision"), "100"); /* nothing proposed */
    assert_string_equal(out_cell(1, "f"), "0");
    assert_string_equal(out_cell(2, "f"), "100");
    assert_string_equal(out_cell(3, "system"), "some");
    for (int way = 0; way < 2; way++) {
        assert_int_equal(
            shell("%s m2 --gold gold.m2 %s --csv <good", program, way ? "--hypothesis -" : ""), 0);
        assert_string_equal(out_cell(1, "system"), "standard input");
        assert_string_equal(out_cell(1, "f"), "100");
    }
}

/* Rows of sentences add up to the row of the system. */
TEST(sentences)
{
    run_ok("m2 --gold gold.m2 --hypothesis some,good --per-sentence --csv");
    assert_int_equal(count_lines(out), 5);
    static const char *const want[][5] = {{"1", "0", "2", "3", "2"},
                                          {"2", "1", "0", "0", "0"},
                                          {"1", "0", "2", "2", "2"},
                                          {"2", "1", "0", "0", "0"}};
    static const char *const names[] = {"sentence", "annotator", "correct", "proposed", "gold"};
    for (int row = 0; row < 4; row++)
        for (size_t k = 0; k < 5; k++)
            assert_string_equal(out_cell(row + 1, names[k]), want[row][k]);
    run_ok("m2 --gold gold.m2 --hypothesis some --per-sentence");
    assert_int_equal(count_lines(out), 4);
}

TEST(words_that_stay)
{
    file_text("three.m2", "S a b c\nA 0 3|||X|||x b y" END "0\n");
    file_text("three", "x b y\n");
    run_ok("m2 --gold three.m2 --hypothesis three --csv");
    assert_string_equal(out_cell(1, "f"), "100");
    run_ok("m2 --gold three.m2 --hypothesis three --csv --max-unchanged 0");
    assert_string_equal(out_cell(1, "f"), "0");
    assert_string_equal(out_cell(1, "proposed"), "2");
}

/* Texts and golds that cannot be read are refused as in tests/studies/test_bleu.c and test_m2.c. */
TEST(refusals)
{
    static const char *const bad[][2] = {
        {"--hypothesis good", "--gold is needed"},
        {"--gold nowhere --hypothesis good", "nowhere"},
        {"--gold - --hypothesis good", "--gold: expected a file"},
        {"--gold gold.m2 --hypothesis nowhere", "nowhere"},
        {"--gold gold.m2 --hypothesis good,,good", "expected file names separated by commas"},
        {"--gold gold.m2", "standard input is empty"},
        {"--gold gold.m2 --hypothesis latin", "latin:2: invalid UTF-8"},
        {"--gold gold.m2 --hypothesis good,short", "short has 1 lines and gold.m2 2 sentences"},
        {"--gold gold.m2 --hypothesis good --beta -1", "--beta"},
        {"--gold gold.m2 --hypothesis good --max-unchanged 5000", "--max-unchanged"},
        {"--gold bad.m2 --hypothesis good", "bad.m2:2: an edit from 2 to 1"},
    };
    file_text("short", "The cat .\n");
    file_text("latin", "The cat\nM\xe4nner\n");
    file_text("bad.m2", "S a b\nA 2 1|||X|||b" END "0\n");
    REFUSE_ALL("m2 %s", bad, NULL);
    int status = shell("%s m2 --gold gold.m2 --hypothesis -,- <good", program);
    assert_true(refused(status, "m2", "--hypothesis: standard input (-) can be read once"));
}

TEST_MAIN(open_texts, program_close)
