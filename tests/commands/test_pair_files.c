/* test_pair_files.c: parallel text as a user has it, in files: subwords by hand, a corpus inspected and trained on; and
 * refusals. */
#include "tests/lib/test.h"

#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define PAIRS " --corpus c --source en --target de"
#define SIZE \
    " --width 16 --inner 32 --heads 2 --batch-tokens 256 --threads 1 --rate 1e-2 --warmup 10"
#define TRAIN "train" PAIRS SIZE " --sequence 24"
#define SHORT " --max-steps 2"

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    counting_write(6, 10);
    return 0;
}

TEST(subwords_by_hand)
{
    run_ok("bpe --learn 30 --text c/train.en --text c/train.de --out codes");
    assert_string_equal(out, "");
    assert_string_equal(err, "");
    assert_int_equal(shell("cat c/train.en c/train.de | %s bpe --learn 30 >piped", program), 0);
    assert_true(same_files("codes", "piped"));
    run_ok("bpe --learn 29 --text c/train.en --text c/train.de --out fewer");
    assert_false(same_files("codes", "fewer")); /* the control */
    run_ok("bpe --codes codes --text c/test.en --text c/test.de --out pieces");
    assert_int_equal(shell("cat c/test.en c/test.de | %s bpe --codes codes >piped", program), 0);
    assert_true(same_files("pieces", "piped"));
    char *pieces = file_slurp("pieces", NULL);
    assert_int_equal(count_lines(pieces), 40);
    assert_true(count_words(pieces, "@@ ") > 5 && !strstr(pieces, "@@\n"));
    run_ok("bpe --undo --text pieces --out again");
    shell_ok("cat c/test.en c/test.de >both; %s bpe --undo <pieces >piped", program);
    assert_true(same_files("again", "both"));
    assert_true(same_files("piped", "both"));
    run_ok("bpe --learn 1000 --text c/train.en --out all");
    assert_int_equal(count_lines(err), 1);
    HAS(err, "trotter bpe: warning: ", "merges, not 1000: no other pair");
}

TEST(subwords_refused)
{
    static const char *const bad[][2] = {
        {"--text c/test.en", "expected one of --learn N, --codes FILE and --undo"},
        {"--learn 5 --undo --text c/test.en", "expected one of --learn N"},
        {"--learn 5 --codes codes --text c/test.en", "expected one of --learn N"},
        {"--learn 0 --text c/test.en", "--learn: expected a whole number"},
        {"--learn 5 --text nowhere", "nowhere"},
        {"--learn 5 --text latin", "latin:2: not UTF-8"},
        {"--learn 5 --text empty", "empty is empty"},
        {"--learn 5 --text short", "no two characters are neighbours twice"},
        {"--codes nowhere --text c/test.en", "nowhere"},
        {"--codes c/test.en --text c/test.en", "c/test.en:1: expected two symbols"},
        {"--codes codes", "/dev/stdin is empty"},
    };
    file_text("codes", "#version: 0.2\na b\n");
    file_text("latin", "a\nf\xfcnf\n");
    file_text("empty", "");
    file_text("short", "a b\n");
    REFUSE_ALL("bpe %s", bad, NULL);
    REFUSE_ALL("bpe %s --out refused", bad, "refused");
    must_refuse("bpe --learn 5 --text nowhere --out no/place", "cannot write no/place: No such");
    must_refuse("bpe --learn 5 --text nowhere --out c", "cannot write c: it is not a regular file");
}

/* Checks that the tokens of train.en in the table of data are those that the shell command `words` counts. */
static void assert_tokens(const char *options, const char *words)
{
    double count = shell_number("%s", words);
    run_ok("data" PAIRS " %s --csv", options);
    HAS(out, formed("c/train.en,300,%.0f,", count));
    assert_int_equal(count_lines(out), 7);
}

TEST(corpus_is_looked_at)
{
    assert_tokens("", "sed 's/$/ x/' c/train.en | wc -w");
    const char *line = formed("%s bpe --learn 20 --text c/train.en --text c/train.de --out codes; "
                              "%s bpe --codes codes --text c/train.en | sed 's/$/ x/' | wc -w",
                              program, program);
    assert_tokens("--bpe 20", line);
    assert_tokens("--codes codes", line);
    must_print("data" PAIRS " --bpe 20", "pairs: line i of a source and line i of its target");
}

/* Other choices and texts are refused by tests/nn/test_pair_corpus.c. */
TEST(corpus_refused)
{
    static const char *const bad[][2] = {
        {"data --corpus c --source en", "--target is needed too"},
        {"data --corpus c --bpe 5", "c: no text for train, valid, test"},
        {"data --corpus c --source en --target fr",
         "no text for train, valid, test; looked for NAME.fr"},
        {"data --corpus text --source en --target de", "text: no text for train, valid, test"},
        {"data" PAIRS " --bpe 0", "--bpe: expected a whole number"},
        {"data" PAIRS " --bpe 5 --level char", "--level char has no subwords: leave --bpe out"},
        {"train --corpus text --source en --target de --out refused", "no text for train"},
        {"train" PAIRS SIZE " --sequence 5 --out refused", "a sequence can have 5"},
        {"train --corpus bad --source en --target de --eval-tokens 9 --out refused",
         "bad/val.en has 19 lines and bad/val.de has 20: line by line they are pairs"},
        {"eval --model nowhere" PAIRS, "unknown option"},
    };
    corpus_write("text", 60, 6);
    shell_ok("cp -r c bad; head -n 19 c/val.en >bad/val.en");
    REFUSE_ALL("%s", bad, "refused");
    shell_ok("sed 's/^/x /' c/test.en >bad/test.en; cp c/val.en bad/val.en; rm bad/test.de");
    must_refuse("train --corpus bad --source en --target de --untested --out refused",
                "bad: no text for test"); /* the file is looked for */
}

TEST(pairs_left_out)
{
    double left = shell_number(
        "rm -rf few; cp -r c few; awk 'NF <= 3' c/val.en >few/val.en; awk 'NF <= 3' c/val.de "
        ">few/val.de; cp few/val.en few/test.en; cp few/val.de few/test.de; "
        "awk 'NF > 3' c/train.en | wc -l");
    must_tell(
        "train --corpus few --source en --target de --sequence 4" SIZE SHORT " --out left-out",
        formed(
            "%.0f of 300 training pairs have more than --sequence 4 tokens on a side: left out\n",
            left));
    must_tell("train --corpus few --source en --target de --sequence 7" SIZE SHORT " --out whole",
              "~left out");
    must_refuse("train --corpus c --source en --target de --sequence 4" SIZE " --out refused",
                "a sequence can have 4"); /* no pair of validation is left out */
    shell_ok("for f in val test; do sed 's/ .*//' c/$f.en >few/$f.en; sed 's/ .*//' c/$f.de "
             ">few/$f.de; done; sed 's/$/ one/' c/train.en >few/train.en");
    must_refuse("train --corpus few --source en --target de --sequence 2" SIZE " --out refused",
                "--sequence 2: every training pair of corpus few en-de is longer on a side");
    assert_false(file_exists("refused"));
}

TEST(dropout_apart)
{
    static const struct {
        const char *options;
        int same;
    } row[] = {
        {"--dropout 0.3 --attention-dropout 0.3 --activation-dropout 0.3", 1},
        {"--dropout 0.3 --attention-dropout 0.3", 1},
        {"--dropout 0.3 --activation-dropout 0.3", 1},
        {"--dropout 0.3 --attention-dropout 0 --activation-dropout 0", 0},
        {"--dropout 0.3 --attention-dropout 0", 0},
        {"--dropout 0.3 --activation-dropout 0", 0},
        {"--dropout 0 --attention-dropout 0.3 --activation-dropout 0.3", 0},
    };
    run_ok(TRAIN SHORT " --dropout 0.3 --out together");
    shell_ok("tail -c 20000 together/model.safetensors >together/numbers");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        run_ok(TRAIN SHORT " %s --out apart%zu", row[i].options, i);
        shell_ok("tail -c 20000 apart%zu/model.safetensors >apart%zu/numbers", i, i);
        assert_same_file("together", formed("apart%zu", i), "numbers", row[i].same);
    }
    assert_same_file("apart4", "apart5", "numbers", 0);
    must_refuse(TRAIN " --attention-dropout 1 --out refused", "--attention-dropout: expected");
    must_refuse(TRAIN " --activation-dropout nan --out refused", "--activation-dropout: expected");
    eval_csv("apart3 --corpus c");
}

TEST_MAIN(open_all, program_close)
