/* test_bleu_command.c: `trotter bleu` as a user runs it: what it prints, what it writes, and one clear line for each thing
 * that is unusable. */
#include "tests/lib/test.h"

#include "tests/lib/program.h"

static const char reference[] = "the cat sits on the mat\na dog runs in the park\n";

static int open_texts(void **state)
{
    if (program_open(state) != 0) return -1;
    file_text("ref", reference);
    file_text("ref2", "the cat sat on a mat\na dog is running in the park\n");
    file_text("good", "the cat sits on the mat\na dog runs in a park\n");
    file_text("bad", "cat the on mat sits the\npark a\n");
    file_text("short", "the cat sits on the mat\n");
    return 0;
}

/* Counted by hand: 11 of 12 words, 8 of 10 bigrams, 6 of 8 trigrams, 4 of 6 four-grams. */
TEST(one_system)
{
    double want = 100 * pow(11 / 12. * 8 / 10. * 6 / 8. * 4 / 6., .25);
    run_ok("bleu --reference ref --hypothesis good --csv");
    assert_true(fabs(out_number(1, "score") - want) <= 1e-9);
    assert_string_equal(out_cell(1, "metric"), "BLEU");
    assert_string_equal(out_cell(2, "metric"), "chrF2");
    assert_string_equal(out_cell(1, "hypothesis_length"), "12");
    assert_string_equal(out_cell(1, "brevity_penalty"), "1");
    HAS(out, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:trotter ", "~difference");
    assert_int_equal(count_lines(out), 3);
    must_print("bleu --reference ref --hypothesis good",
               "91.7/80.0/75.0/66.7 (BP = 1.000 ratio = 1.000 hyp_len = 12 ref_len = 12)",
               "chrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:trotter ");
    assert_string_equal(err, "");
}

TEST(ways_to_give_a_text)
{
    char *file = output_of("bleu --reference ref --hypothesis good --csv");
    double score = out_number(1, "score");
    for (int way = 0; way < 2; way++) {
        assert_int_equal(
            shell("%s bleu --reference ref %s --csv <good", program, way ? "--hypothesis -" : ""),
            0);
        assert_string_equal(out_cell(1, "system"), "standard input");
        assert_int_equal(count_lines(out), 3);
        assert_true(out_number(1, "score") == score);
    }
    /* a last line without its end, and lines that end in \r\n */
    file_text("good", "the cat sits on the mat\r\na dog runs in a park");
    run_ok("bleu --reference ref --hypothesis good --csv");
    assert_string_equal(out, file);
    assert_int_equal(
        shell("tr -d '\\r' <good | %s bleu --reference - --hypothesis ref --csv", program), 0);
    file_text("good", "the cat sits on the mat\na dog runs in a park\n");
}

TEST(options)
{
    run_ok("bleu --reference ref,ref2 --hypothesis good --csv --metrics bleu,chrf");
    assert_int_equal(count_lines(out), 3);
    HAS(out, "nrefs:2|");
    must_print(
        "bleu --reference ref --hypothesis good --csv --metrics bleu --tokenize 13a --lowercase",
        "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|");
    file_text("upper", "THE CAT SITS ON THE MAT\nA DOG RUNS IN THE PARK\n");
    run_ok("bleu --reference ref --hypothesis upper --csv --lowercase");
    assert_true(fabs(out_number(1, "score") - 100) <= 1e-9);
    run_ok("bleu --reference ref --hypothesis upper --csv");
    assert_string_equal(out_cell(1, "score"), "0");
    run_ok(
        "bleu --reference ref --hypothesis good --bootstrap 50 --csv"); /* one system's interval */
    assert_true(out_number(1, "low") <= out_number(1, "high"));
    HAS(out, "~difference");
}

TEST(tokenize)
{
    file_text("raw", "Das ist's: 5 €.\n\nÄ (so)\n");
    run_ok("tokenize --rules de --lowercase --text raw --out cut");
    assert_int_equal(shell("cat cut"), 0);
    assert_string_equal(out, "das ist ' s : 5 € .\n\nä ( so )\n");
    assert_int_equal(shell("%s tokenize <raw | %s tokenize --detokenize", program, program), 0);
    assert_string_equal(out, "Das ist's: 5 €.\n\nÄ (so)\n");
    run_ok("tokenize --rules 13a --text raw");
    assert_string_equal(out, "Das ist's : 5 € .\n\nÄ ( so )\n");
    int status = shell("%s tokenize --rules 13a --detokenize --text raw", program);
    assert_true(refused(status, "tokenize", "--detokenize has --rules en, de and fr"));
}

TEST(several_systems)
{
    char *first = output_of("bleu --reference ref --hypothesis bad,good,bad --csv");
    assert_string_equal(out_cell(1, "p"), "");
    assert_true(out_number(2, "difference") > 40);
    assert_string_equal(out_cell(2, "resamples"), "1000");
    assert_string_equal(out_cell(3, "system"), "bad");
    assert_string_equal(out_cell(3, "difference"), "0");
    assert_string_equal(out_cell(3, "p"), "1");
    HAS(out, "bs:1000|seed:12345|");
    run_ok("bleu --reference ref --hypothesis bad,good,bad --csv --seed 12345");
    assert_string_equal(out, first);
    must_print("bleu --reference ref --hypothesis bad,good,bad --csv --bootstrap 0",
               "~bs:", "~p_two_sided");
    assert_true(out_number(2, "difference") > 40);
}

TEST(files_and_report)
{
    run_ok("bleu --reference ref --hypothesis bad,good --out study/bleu");
    run_ok("bleu --reference ref --hypothesis bad,good --csv");
    assert_true(file_has("study/bleu/bleu.csv", out));
    assert_true(file_has("study/bleu/bleu.md", "BLEU|nrefs:1|bs:1000|"));
    run_ok("report study");
    assert_true(file_has("study/report.html", "Scores of translations"));
}

/* A text that looks tokenised is reported once, and with 13a alone. */
TEST(tokenised_text)
{
    file_text("tok", "the cat sits on the mat .\na dog runs , in the park\n");
    static const char words[] = "are of --tokenize none";
    run_ok("bleu --reference tok --hypothesis tok");
    assert_true(count_lines(err) == 1 && strstr(err, words) && strstr(err, "4 of 4 lines"));
    run_ok("bleu --reference tok --hypothesis tok --tokenize none");
    assert_string_equal(err, "");
    run_ok("bleu --reference tok --hypothesis tok --metrics chrf");
    assert_string_equal(err, "");
    run_ok("bleu --reference ref --hypothesis good");
    assert_string_equal(err, "");
}

TEST(refusals)
{
    static const char *const bad[][2] = {
        {"", "--reference is needed"},
        {"--reference ref --hypothesis short", "short has 1 lines and ref 2"},
        {"--reference short --hypothesis ref", "ref has 2 lines and short 1"},
        {"--reference ref,short --hypothesis ref", "short has 1 lines and ref 2"},
        {"--reference ref --hypothesis latin", "latin:2: not UTF-8"},
        {"--reference ref --hypothesis cut", "cut:1: not UTF-8"},
        {"--reference ref --hypothesis surrogate", "surrogate:1: not UTF-8"},
        {"--reference ref --hypothesis overlong", "overlong:1: not UTF-8"},
        {"--reference ref --hypothesis nul", "nul:2: a NUL byte"},
        {"--reference ref --hypothesis nowhere", "nowhere"},
        {"--reference nothing --hypothesis good", "nothing is empty"},
        {"--reference ref", "standard input is empty"},
        {"--reference ref,,ref --hypothesis good", "expected file names separated by commas"},
        {"--reference ref --hypothesis ''", "--hypothesis"},
        {"--reference ref --hypothesis good --metrics bleu,wer", "not 'wer'"},
        {"--reference ref --hypothesis good --metrics ''", "--metrics"},
        {"--reference ref --hypothesis good --tokenize zh", "13a"},
        {"--reference ref --hypothesis good --bootstrap -1", "--bootstrap"},
        {"--reference ref --hypothesis long", "long:2: a line of 4194305 bytes"},
        {"--reference long --hypothesis ref", "long:2: a line of 4194305 bytes"},
    };
    shell_ok(
        "{ echo a; head -c 4194305 /dev/zero | tr '\\0' a; } >long && head -c 4194306 long >most");
    file_text("latin", "the cat\nM\xe4nner\n");
    file_text("cut", "\xc3");
    file_text("surrogate", "\xed\xa0\x80\n");
    file_text("overlong", "\xc0\xaf\n");
    file_write("nul", "a\nb\0c\n", 6);
    file_text("nothing", "");
    file_text("blank", "\n\n");
    REFUSE_ALL("bleu %s", bad, NULL);
    int status = shell("%s bleu --reference - --hypothesis - <ref", program);
    assert_true(refused(status, "bleu", "--hypothesis: standard input (-) can be read once"));
    run_ok("bleu --reference most --hypothesis most --metrics bleu"); /* the longest that is read */
    run_ok("bleu --reference ref --hypothesis blank --csv");          /* empty lines are lines */
    assert_string_equal(out_cell(1, "score"), "0");
}

TEST_MAIN(open_texts, program_close)
