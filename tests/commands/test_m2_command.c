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
    assert_true(fabs(atof(out_cell(1, "precision")) - 200 / 3.) <= 1e-9);
    assert_string_equal(out_cell(1, "recall"), "100");
    assert_true(fabs(atof(out_cell(1, "f")) - 500 / 7.) <= 1e-9);
    static const char *const counts[][2] = {{"correct", "2"}, {"proposed", "3"},
                                            {"gold", "2"},    {"sentences", "2"},
                                            {"beta", "0.5"},  {"max_unchanged", "2"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_string_equal(out_cell(1, counts[i][0]), counts[i][1]);
    run_ok("m2 --gold gold.m2 --hypothesis some --csv --beta 2");
    assert_true(fabs(atof(out_cell(1, "f")) - 1000 / 11.) <= 1e-9);
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

static void refuse_gold(const char *text, const char *words)
{
    file_text("bad.m2", text);
    must_refuse("m2 --gold bad.m2 --hypothesis good", words);
}

TEST(refusals)
{
    file_text("short", "The cat .\n");
    file_text("nothing", "");
    file_write("nul", "The cat\nA\0b\n", 12);
    file_write("latin", "The cat\nM\xe4nner\n", 15);
    file_write("nul.m2", "S a\0b\n", 6);
    must_refuse("m2 --hypothesis good", "--gold is needed");
    must_refuse("m2 --gold nowhere --hypothesis good", "nowhere");
    must_refuse("m2 --gold - --hypothesis good", "--gold: expected a file");
    must_refuse("m2 --gold gold.m2 --hypothesis nowhere", "nowhere");
    must_refuse("m2 --gold gold.m2 --hypothesis good,,good",
                "expected file names separated by commas");
    must_refuse("m2 --gold gold.m2 --hypothesis -,-", "can be read once");
    must_refuse("m2 --gold gold.m2", "standard input is empty");
    must_refuse("m2 --gold gold.m2 --hypothesis nothing", "nothing is empty");
    must_refuse("m2 --gold gold.m2 --hypothesis nul", "nul:2: a NUL byte");
    must_refuse("m2 --gold gold.m2 --hypothesis latin", "latin:2: invalid UTF-8");
    must_refuse("m2 --gold gold.m2 --hypothesis good,short",
                "short has 1 lines and gold.m2 2 sentences");
    must_refuse("m2 --gold gold.m2 --hypothesis good --beta -1", "--beta");
    must_refuse("m2 --gold gold.m2 --hypothesis good --max-unchanged 5000", "--max-unchanged");
    must_refuse("m2 --gold nul.m2 --hypothesis good", "nul.m2:1: a NUL byte");
    refuse_gold("", "bad.m2 is empty");
    refuse_gold("\n", "bad.m2 has no sentence");
    refuse_gold("S M\xe4nner\n", "bad.m2:1: invalid UTF-8");
    refuse_gold("S a\nS b\n", "bad.m2:2: expected an empty line before a line S");
    refuse_gold("S a\nA 0 1|||b\n", "bad.m2:2: expected 'A START END|||KIND|||CORRECTION|||");
    refuse_gold("S a b\nA 2 1|||X|||b" END "0\n", "bad.m2:2: an edit from 2 to 1");
    refuse_gold("S a b\nA 0 3|||X|||b" END "0\n",
                "bad.m2:2: an edit that ends at 3, of a sentence of 2 words");
    run_ok("m2 --gold gold.m2 --hypothesis good --csv"); /* control */
    assert_string_equal(out_cell(1, "f"), "100");
}

TEST_MAIN(open_texts, program_close)
