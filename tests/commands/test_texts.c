/* test_texts.c: texts as users have them, given to all commands that read texts: with a byte-order mark, which each reads
 * as the text without it; with words that a model does not know, which each tells; with <eos> in a line; with tabs and
 * words that end in @@, which are refused. */
#include "tests/lib/test.h"

#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define SIZE                                                                                     \
    " --width 16 --inner 32 --heads 2 --sequence 24 --batch-tokens 256 --rate 1e-2 --threads 1 " \
    "--warmup 10 "
#define PAIRS "train --corpus c --source en --target de --epochs 2" SIZE
#define LINES "train --corpus text --context sentence --max-steps 10" SIZE

#define TUNE " --seeds 1 --rates 1e-2 --epochs 2 --threads 1 --out "

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    counting_write(6, 10);
    corpus_write("text", 100, 20);
    run_ok(PAIRS "--bpe 40 --out pieces");
    run_ok(LINES "--vocabulary 12 --out lm");
    run_ok(LINES "--bpe 12 --out piece-lm");
    run_ok(LINES "--bpe 12 --objective masked --out piece-encoder");
    run_ok(LINES "--vocabulary 14 --objective masked --out encoder");
    shell_ok("{ printf 'sentence\\tlabel\\n'; for i in 1 2 3 4 5 6 7 8 9; do printf "
             "'the cat sat\\tcat\\na dog ran\\tdog\\n'; done; } >labels.tsv");
    run_ok("finetune --model encoder --task labels.tsv" TUNE "labels");
    return 0;
}

/* Returns the stdout of a command with a file in place of the %s; standard: it comes from standard input. */
static char *said_of(const char *format, const char *file, int standard)
{
    const char *line = formed(format, standard ? "-" : file);
    return output_of("%s%s%s", line, standard ? " <" : "", standard ? file : "");
}

/* Reads `plain`, and then the same behind a mark. */
static void assert_unmarked(const char *format, const char *plain, int standard)
{
    shell_ok("{ printf '\\357\\273\\277'; cat %s; } >marked", plain);
    for (int k = 0; k <= standard; k++) {
        char *want = said_of(format, plain, k), *got = said_of(format, "marked", k);
        if (strcmp(got, want) != 0) fail_msg("%s: %s and not %s", format, got, want);
    }
}

TEST(marks_of_a_byte_order)
{
    file_text("source", "one two\nthree\n");
    file_text("target", "eins zwei\ndrei\n");
    file_text("lines", "the cat sat\na dog ran\n");
    assert_unmarked("translate --threads 1 --model pieces --text %s", "source", 0);
    assert_unmarked("score --model pieces --text target --source-text %s", "source", 1);
    assert_unmarked("score --model lm --text %s", "lines", 1);
    assert_unmarked("eval --csv --model lm --text %s", "lines", 1);
    assert_unmarked("generate --model lm --tokens 3 --prompt-file %s", "lines", 1);
    assert_unmarked("classify --csv --model labels --text %s", "lines", 1);
    assert_unmarked("bpe --learn 5 --text %s", "c/train.en", 0);
    assert_unmarked("bpe --codes pieces/codes.bpe --text %s", "source", 0);
    assert_unmarked("bpe --codes %s --text source", "pieces/codes.bpe", 0);
    assert_unmarked("bpe --undo --text %s", "source", 0);
    assert_unmarked("bleu --csv --tokenize none --reference lines --hypothesis %s | cut -d, -f2-",
                    "lines", 0);
    assert_unmarked("bleu --csv --tokenize none --hypothesis lines --reference %s", "lines", 1);
    assert_unmarked("data --corpus %s --csv | cut -d, -f2-", "text/train.txt", 0);
    shell_ok("%s translate --threads 1 --model pieces <source >want; { printf '\\357\\273\\277'; "
             "cat source; } | %s translate --threads 1 --model pieces >got",
             program, program);
    assert_true(same_files("want", "got"));
    file_text("empty", "\xef\xbb\xbf");
    must_refuse("translate --model pieces --text empty", "empty is empty");
    must_refuse("score --model lm --text empty", "empty is empty");
    must_refuse("bleu --reference lines --hypothesis empty", "empty is empty");
}

/* A corpus, its words, and a run's options are read as without it. */
TEST(marks_in_a_run)
{
    shell_ok("mkdir signed; for f in train valid test; do { printf '\\357\\273\\277'; cat "
             "text/$f.txt; } >signed/$f.txt; done");
    run_ok("train --corpus signed --context sentence --max-steps 10" SIZE
           "--vocabulary 12 --out marked-lm");
    assert_same_file("lm", "marked-lm", "vocab.txt", 1);
    shell_ok("for d in lm marked-lm; do tail -c 4000 $d/model.safetensors >$d/numbers; done");
    assert_same_file("lm", "marked-lm", "numbers", 1);
    char *want = eval_csv("lm --text text/test.txt");
    shell_ok(
        "for f in vocab.txt config.ini; do { printf '\\357\\273\\277'; cat lm/$f; } >part; mv part "
        "lm/$f; done");
    char *got = eval_csv("lm --text text/test.txt");
    assert_string_equal(got, want);
    run_ok("train --config lm/config.ini --out again");
    assert_same_file("again", "marked-lm", "vocab.txt", 1);
}

/* Each tells the same of the word x on one of two lines; without it none says a word. */
TEST(unknown_words_are_told)
{
    static const struct {
        const char *command, *known, *words; /* known: a text whose words the model knows */
    } row[] = {
        {"translate --model pieces --text new", "one two\nthree\n", "new: 1 of "},
        {"score --model lm --text new", "the cat sat\na cat\n", "new: 1 of 8 tokens (12 %)"},
        {"score --model pieces --source-text target --text new", "eins zwei\ndrei\n", "new: 1 of "},
        {"score --model pieces --text target --source-text new", "one two\nthree\n", "new: 1 of "},
        {"eval --model lm --text new", "the cat sat\na cat\n", "new: 1 of 8 tokens (12 %)"},
        {"generate --model lm --tokens 2 --prompt-file new", "the cat sat\na cat\n",
         "prompt: 1 of 8 tokens (12 %)"},
        {"classify --model labels --text new", "the cat sat\na cat\n", "new: 1 of 8 tokens (12 %)"},
    };
    file_text("target", "eins zwei\ndrei\n");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        file_text("new", row[i].known);
        run_ok(row[i].command);
        if (says("<unk>")) fail_msg("%s: %s", row[i].command, err);
        shell_ok("sed -i '2s/$/ \303\230/' new");
        run_ok(row[i].command);
        if (!says(row[i].words) || !says(" %) are read as <unk>\n"))
            fail_msg("%s: %s and not %s", row[i].command, err, row[i].words);
    }
    /* the lines of all windows are counted */
    shell_ok("sed -i 's/.*/one \303\230/' new");
    shell_ok("for i in $(seq 40); do cat new; done >many");
    run_ok("translate --threads 1 --model pieces --sentences 1 --text many");
    if (!says("many: 80 of ")) fail_msg("%s", err);
}

/* Where a text has fewer merges than --bpe asks for, a line says so. */
TEST(fewer_merges)
{
    static const char text[] = "abc abd xab bca\ncab abd abc bca\n";
    shell_ok("mkdir -p few");
    for (int i = 0; i < 3; i++)
        file_text((const char *[]){"few/train.txt", "few/valid.txt", "few/test.txt"}[i], text);
    must_tell("data --corpus few --bpe 500",
              "warning: --bpe 500: ", " merges, as no other pair of symbols is there twice");
    run_ok("data --corpus few --bpe 2");
    if (says("merges, as")) fail_msg("%s", err);
}

/* A line's number is the sum of its sentences' numbers, and all together are what eval measures. */
TEST(ends_inside_lines)
{
    static const struct {
        const char *line;
        int sentences; /* in the file of single sentences; 0: blank */
        int tokens;
    } row[] = {{"the cat <eos> a dog ran", 2, 7},
               {"", 0, 1},
               {"<eos>", 0, 1},
               {"the dog <eos>", 1, 3},
               {"<eos> <eos> a park <eos> <eos>", 1, 3},
               {"in <eos> the <eos> park <eos>", 3, 6}};
    file_text("inside", "the cat <eos> a dog ran\n\n<eos>\nthe dog <eos>\n<eos> <eos> a park <eos> "
                        "<eos>\nin <eos> the <eos> park <eos>\n");
    file_text("single", "the cat\na dog ran\nthe dog\na park\nin\nthe\npark\n");
    char *single = output_of("score --model lm --text single"), *next = single;
    char *inside = output_of("score --model lm --text inside --csv"), *at = inside;
    double all = 0;
    size_t tokens = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        double sum = 0, told = 0;
        size_t line, n;
        at = strchr(at, '\n') + 1;
        int found = sscanf(at, "%zu,%zu,%lf", &line, &n, &told);
        for (int k = 0; k < row[i].sentences; k++) sum += strtod(next, &next);
        if (found != 2 + (row[i].sentences > 0) || line != i + 1 || n != (size_t)row[i].tokens ||
            !(fabs(told - sum) <= 1e-5 * fabs(sum)))
            fail_msg("%s: %.60s and not %g", row[i].line, at, sum);
        all += sum;
        tokens += row[i].sentences ? n : 0;
    }
    double nll;
    size_t measured;
    char *eval = eval_csv("lm --text inside");
    assert_int_equal(sscanf(strchr(eval, '\n'), "\n%zu,%lf", &measured, &nll), 2);
    assert_int_equal(measured, tokens);
    assert_true(fabs(nll * (double)measured + all) <= 1e-5 * fabs(all));
}

/* What pieces cannot show again is refused; by `translate` in test_translate.c. */
TEST(marks_are_refused)
{
    shell_ok("sed 's/the cat/the@@ cat/' labels.tsv >marked.tsv");
    must_refuse("finetune --model piece-encoder --task marked.tsv --out refused",
                "a word ends in '@@'");
}

TEST_MAIN(open_all, program_close)
