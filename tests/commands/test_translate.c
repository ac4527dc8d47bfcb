/* test_translate.c: `trotter translate` and `trotter score` as a user runs them, on networks of some thousand numbers:
 * lines come out in their order and as soon as they can; which translations are allowed; log p by three programs;
 * several models, given beginnings, alignments; refusals. */
#include "tests/lib/test.h"

#include "kernels/base/random.h"
#include "tests/lib/counting.h"
#include "tests/lib/program.h"

#define TINY " --width 16 --inner 32 --heads 2 --threads 1 --rate 1e-2 --warmup 10 --dropout 0 "
#define PAIRS "--corpus c --source en --target de --sequence 24 --batch-tokens 256" TINY
#define REV "--model rev --precision f64 "
#define SOURCES 30

/* The source of most tests: symbols of reverse:5, 1 to 12 on a line. */
static char source[SOURCES][64];

static void write_source(void)
{
    char all[SOURCES * 64] = "";
    uint64_t k = 0;
    for (int i = 0; i < SOURCES; i++) {
        char *p = source[i];
        for (uint64_t n = 1 + random_below(5, 2, k++, 12); n > 0; n--)
            p += sprintf(p, "%d%s", 1 + (int)random_below(5, 2, k++, 5), n > 1 ? " " : "");
        strcat(strcat(all, source[i]), "\n");
    }
    file_text("source", all);
}

static int open_all(void **state)
{
    if (program_open(state) != 0) return -1;
    counting_write(6, 10);
    write_source();
    corpus_write("text", 200, 20);
    run_ok(
        "train --corpus reverse:5 --precision f64 --sequence 16 --batch-tokens 416 --max-steps 300" TINY
        "--out rev");
    run_ok("train --bpe 40 --epochs 12 --out pieces " PAIRS);
    run_ok("train --vocabulary 8 --epochs 6 --out words " PAIRS);
    run_ok("train --corpus text --max-steps 30 --sequence 16 --batch-tokens 256" TINY "--out lm");
    return 0;
}

static size_t count_tokens(const char *line)
{
    return (size_t)count_words(line, " ") + (*line != '\0');
}

#define translate(...) output_of("translate --threads 1 " __VA_ARGS__)

/* ---- lines -------------------------------------------------------------------------------------- */

/* Lines come from stdin and a file, and go to stdout and a file; each depends on its source alone. */
TEST(lines_become_lines)
{
    char *all = translate(REV "<%s/source", folder);
    assert_int_equal(count_lines(all), SOURCES);
    HAS(err, "30 lines in ");
    assert_int_equal(count_lines(err), 1);
    assert_string_equal(translate(REV "--text source"), all);
    translate(REV "--text source --out target");
    assert_string_equal(out, "");
    assert_string_equal(file_slurp("target", NULL), all);
    size_t distinct = 0;
    for (size_t i = 0; i < 6; i++) {
        char *alone = translate(REV "<<'END'\n%s\nEND", source[i]);
        assert_string_equal(line_of(alone, 0), line_of(all, i));
        distinct += strcmp(line_of(all, i), line_of(all, i + 1)) != 0;
    }
    assert_true(distinct >= 3); /* control: the order is visible */
}

TEST(ends_of_lines)
{
    static const char text[] = "1 2 3\n\n3 2\r\n\r\n  \n 1  1 \n4";
    char *want[4];
    for (size_t i = 0; i < 4; i++) {
        static const char *const plain[] = {"1 2 3", "3 2", "1 1", "4"};
        want[i] = translate(REV "<<'END'\n%s\nEND", plain[i]);
    }
    file_text("odd", text);
    char *all = translate(REV "--text odd"), together[512];
    snprintf(together, sizeof together, "%s\n%s\n\n%s%s", want[0], want[1], want[2], want[3]);
    assert_string_equal(all, together);
    char *nbest = translate(REV "--text odd --nbest 1");
    for (size_t i = 0; i < 4; i++) {
        static const size_t number[] = {0, 2, 5, 6};
        const char *begin = formed("%zu ||| %s ||| logp= ", number[i], line_of(want[i], 0));
        assert_int_equal(strncmp(line_of(nbest, i), begin, strlen(begin)), 0);
    }
    assert_int_equal(count_lines(nbest), 4);
    file_text("blank", "\n\n");
    translate(REV "--text blank");
    assert_string_equal(out, "\n\n");
}

/* A source that is too long gives an empty line and does not change the others. */
TEST(long_lines_are_left_out)
{
    file_text("long", "1 2\n1 2 3 4 1 2 3 4\n3\n1 1 1 1 1 1\n4 4 4 4 4\n");
    file_text("short", "1 2\n\n3\n\n4 4 4 4 4\n");
    char *few = translate(REV "--sequence 6 --text short");
    char *all = translate(REV "--sequence 6 --text long --sentences 1");
    assert_string_equal(all, few);
    HAS(err,
        "trotter translate: warning: long:2: 9 tokens, <eos> included, and the model takes 6: an "
        "empty line (--sequence N takes longer ones)\n");
    HAS(err, "long:4: 7 tokens");
    HAS(err, "lines/s; some were too long and are empty\n");
    assert_int_equal(count_lines(err), 3);
    all = translate(REV "--sequence 9 --text long");
    assert_null(strstr(all, "\n\n"));
    assert_int_equal(count_lines(err), 1);
    translate(REV "--sequence 6 --text long --nbest 2");
    HAS(out, "~\n1 |||", "\n2 |||");
}

/* ---- log p ---------------------------------------------------------------------------------------- */

typedef struct {
    size_t number;
    char words[256];
    double sum, score;
} Best;

/* Reads a line of an n-best list. */
static Best best_of(const char *text, size_t i)
{
    Best b = {0};
    int n = 0;
    const char *line = line_of(text, i), *end = strstr(line, " ||| logp= ");
    if (sscanf(line, "%zu ||| ", &b.number) != 1 || !end ||
        sscanf(end, " ||| logp= %lf ||| %lf%n", &b.sum, &b.score, &n) != 2 || end[n])
        fail_msg("%s", line);
    const char *words = strstr(line, " ||| ") + 5;
    snprintf(b.words, sizeof b.words, "%.*s", words < end ? (int)(end - words) : 0, words);
    return b;
}

/* Writes the words of an n-best list and their sources. */
static void write_list(const char *list, const char *sources)
{
    FILE *f[2] = {fopen(file_path("list.source"), "w"), fopen(file_path("list.target"), "w")};
    for (size_t i = 0; i < (size_t)count_lines(list); i++) {
        Best b = best_of(list, i);
        fprintf(f[0], "%s\n", line_of(sources, b.number));
        fprintf(f[1], "%s\n", b.words);
    }
    for (int i = 0; i < 2; i++) assert_int_equal(fclose(f[i]), 0);
}

/* Translates with 4 best each and returns how many sums differ from those of `score` by more than `relative`; checks
 * that scores fall within each list. `score` skips blank lines, so no translation may be empty. */
static size_t differing(const char *model, const char *text, const char *options, double relative,
                        const char *scorer)
{
    size_t bad = 0;
    char *list =
        translate("--model %s --text %s --nbest 4 --min-length 1 %s", model, text, options);
    char *sources = file_slurp(text, NULL);
    size_t n = (size_t)count_lines(list);
    assert_true(n == 4 * (size_t)count_lines(sources));
    write_list(list, sources);
    run_ok("score --model %s --text list.target --source-text list.source %s", scorer,
           "--threads 1");
    assert_int_equal(count_lines(out), n);
    for (size_t i = 0; i < n; i++) {
        Best b = best_of(list, i);
        double told = strtod(line_of(out, i), NULL);
        bad += !(fabs(told - b.sum) <= relative * fabs(told));
        if (i && best_of(list, i - 1).number == b.number)
            assert_true(best_of(list, i - 1).score >= b.score);
    }
    char *plain = translate("--model %s --text %s --min-length 1 %s", model, text, options);
    for (size_t i = 0; i < n; i += 4)
        assert_string_equal(best_of(list, i).words, line_of(plain, i / 4));
    return bad;
}

/* Sums have 9 digits, so equal ones differ by 1e-8 of themselves at most, where f64 agrees to 1e-9. `score` may cut a
 * word into other pieces than those that the search found, so of pieces not every sum agrees. */
TEST(sums_are_those_of_score)
{
    static const char rev[] = "rev --precision f64";
    assert_int_equal(differing(rev, "source", "", 1e-8, rev), 0);
    assert_int_equal(differing(rev, "source", "--beam 12 --penalty none", 1e-8, rev), 0);
    assert_true(differing(rev, "source", "", 1e-8, "rev") > 20); /* the control, in f32 */
    assert_int_equal(differing("words", "c/test.en", "", 1e-5, "words"), 0);
    size_t others = differing("pieces", "c/test.en", "", 1e-5, "pieces");
    print_message("# %zu of 80 translations have pieces that 'trotter bpe' would not cut\n",
                  others);
    assert_true(others < 20);
}

TEST(penalties)
{
    static const struct {
        const char *options;
        double alpha;
        int gnmt;
    } row[] = {{"--penalty none --alpha 3", 0, 0},
               {"", 1, 0},
               {"--alpha -0.5", -0.5, 0},
               {"--penalty gnmt --alpha 0.6", 0.6, 1}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *list = translate(REV "--text source --nbest 5 %s", row[i].options);
        for (size_t k = 0; k < (size_t)count_lines(list); k++) {
            Best b = best_of(list, k);
            double l = (double)count_tokens(b.words) + 1; /* and <eos> */
            double want = b.sum / pow(row[i].gnmt ? (5 + l) / 6 : l, row[i].alpha);
            if (!(fabs(b.score - want) <= 1e-8 * fabs(want)))
                fail_msg("%s: %s: %.9g, not %.9g", row[i].options, line_of(list, k), b.score, want);
        }
    }
}

/* ---- limits of a translation ------------------------------------------------------------------------ */

/* What the search does with these options is tested in tests/nn/test_beam.c. Here each of them reaches it: there are
 * lines whose lengths would be others without it. */
TEST(lengths)
{
    static const struct {
        const char *options;
        double least, most, ratio; /* most: and `ratio` times the source's length */
    } row[] = {{"--min-length 14", 14, 15, 0},
               {"--max-length 3", 0, 3, 0},
               {"--max-ratio 0.5 --max-extra 1.5", 0, 1.5, 0.5},
               {"--max-extra 2 --min-length 5", 2, 2, 0}};
    char *plain = translate(REV "--text source");
    for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
        char *text = translate(REV "--text source %s", row[k].options);
        size_t others = 0;
        for (size_t i = 0; i < SOURCES; i++) {
            double n = (double)count_tokens(line_of(text, i)),
                   m = (double)count_tokens(line_of(plain, i)),
                   most = row[k].most + row[k].ratio * (double)count_tokens(source[i]);
            if (!(n >= row[k].least && n <= most)) fail_msg("%s: %g tokens", row[k].options, n);
            others += m < row[k].least || m > most;
        }
        assert_true(others > 0);
    }
}

TEST(no_words_twice_and_none_unknown)
{
    static const char *const row[][3] = {{"rev --precision f64", "source", "--no-repeat 2"},
                                         {"words", "c/test.en", "--no-unknown"}};
    for (int i = 0; i < 2; i++) {
        char *text = translate("--model %s --text %s %s", row[i][0], row[i][1], row[i][2]);
        char *plain = translate("--model %s --text %s", row[i][0], row[i][1]);
        assert_string_not_equal(text, plain);
        assert_true(i == 0 || (strstr(plain, "<unk>") && !strstr(text, "<unk>")));
    }
}

/* ---- output as it comes, and early ends --------------------------------------------------------------- */

/* Each line is answered before the next is given; half a line waits for its end; an interrupt ends the wait for a
 * line. */
TEST(lines_come_as_they_go)
{
    static const char wait[] =
        "came() { for k in $(seq 6000); do [ $(wc -l <came) -ge $1 ] && return; "
        "sleep .01; done; exit 1; }; rm -f to; mkfifo to; ";
    file_text("asked", "1 2\n\n3 3 1\n4 4 4 4 4 4\n1 2\n");
    char *want = translate(REV "--text asked"), *came;
    shell_ok("%s %s translate --threads 1 " REV "<to >came & exec 3>to; n=0; head -n 4 asked | "
             "while read -r line; do echo \"$line\" >&3; n=$((n + 1)); came $n; done || exit 1; "
             "printf '1 2' >&3; sleep .3; [ $(wc -l <came) = 4 ] || exit 1; exec 3>&-; wait $!",
             wait, program);
    came = file_slurp("came", NULL);
    assert_string_equal(came, want);
    shell_ok("%s exec 3<>to; %s translate --threads 1 --model rev <to >came 2>told & "
             "echo 1 2 >&3; came 1; sleep .2; kill -TERM $!; wait $!; [ $? = 130 ]",
             wait, program);
    assert_true(file_has("told", "trotter translate: interrupted: 1 lines are translated\n"));
}

TEST(interrupted_in_the_middle)
{
    static char some[1 << 16];
    shell_ok(
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do cat source source source "
        "source source source; done >many");
    char *all = translate(REV "--text source");
    int status =
        interrupt_at("child.out", 41, "translate --threads 1 " REV "--text many --sentences 1");
    assert_int_equal(status, 130);
    file_read("child.out", some, sizeof some);
    size_t n = (size_t)count_lines(some);
    assert_true(n > 40 && n < 120 * SOURCES && some[strlen(some) - 1] == '\n');
    for (size_t i = 0; i < n; i++) assert_string_equal(line_of(some, i), line_of(all, i % SOURCES));
    const char *want = formed("trotter translate: interrupted: %zu lines are translated\n", n);
    file_read("child.err", err, sizeof err);
    assert_string_equal(err, want);
    /* nothing is written to a file before all is there */
    shell_ok("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat many; done >endless");
    pid_t child = shell_start(
        "stop", "%s translate --threads 1 --model rev --text endless --out none", program);
    pause_ms(300);
    assert_int_equal(test_signal(child, SIGTERM), 0);
    status = shell_finish(child);
    assert_true(status == 130 || status == -SIGTERM); /* the latter before it handles signals */
    assert_false(file_exists("none"));
}

TEST(nobody_reads)
{
    assert_int_equal(
        shell("{ %s translate --threads 1 --model rev --text many; echo $? >status; } | "
              "head -n 1",
              program),
        0);
    assert_int_equal(count_lines(out), 1);
    assert_string_equal(err, "");
    char *status = file_slurp("status", NULL);
    assert_string_equal(status, "1\n");
    assert_int_equal(
        shell("%s translate --threads 1 --model rev --text source >/dev/full", program), 1);
    assert_string_equal(err, "trotter: stdout: No space left on device\n");
}

/* ---- several models, beginnings, alignments ---------------------------------------------------------- */

/* A model with itself is itself; the order of two does not matter, and both decide. */
TEST(several_models)
{
    run_ok("train --corpus reverse:5 --precision f64 --sequence 16 --batch-tokens 416 --max-steps "
           "200 --seed 2" TINY "--out rev2");
    char *one = translate("--text source --nbest 1 " REV),
         *twice = translate("--text source --nbest 1 " REV REV);
    for (size_t i = 0; i < SOURCES; i++) {
        Best a = best_of(one, i), b = best_of(twice, i);
        assert_string_equal(a.words, b.words);
        assert_true(fabs(a.sum - b.sum) <= 1e-8);
    }
    char *two = translate("--text source --model rev2 " REV);
    assert_string_equal(translate("--text source " REV "--model rev2"), two);
    assert_string_not_equal(translate("--text source " REV), two);
    assert_string_not_equal(translate("--text source --precision f64 --model rev2"), two);
    must_refuse("translate --text source --model pieces " REV, "rev has other words than pieces");
    must_refuse("translate --text source --model lm " REV, "lm is a language model");
}

TEST(beginnings)
{
    char given[SOURCES * 8] = "";
    for (size_t i = 0; i < SOURCES; i++) strcat(given, i % 2 ? "\n" : i % 4 ? "3 1\n" : "5\n");
    file_text("given", given);
    char *plain = translate("--text source --sentences 1 " REV), /* windows of 16 lines */
        *all = translate("--text source --sentences 1 --prefix given " REV);
    for (size_t i = 0; i < SOURCES; i++) {
        const char *begins = i % 4 ? "3 1" : "5";
        if (i % 2)
            assert_string_equal(line_of(all, i), line_of(plain, i));
        else
            assert_memory_equal(line_of(all, i), begins, strlen(begins));
    }
    assert_string_not_equal(all, plain);
    file_text("few", "1\n\n");
    must_refuse("translate --text source --prefix few " REV, "--prefix: few has 2 lines");
    must_refuse("translate --text source --prefix given --max-length 1 " REV,
                "a beginning of 2 tokens");
}

/* A model that reverses its source looks at the word that it writes. Pieces of a word are one word. */
TEST(alignments)
{
    run_ok(
        "train --corpus reverse:8 --width 32 --inner 64 --heads 4 --batch-tokens 512 --rate 8e-3 "
        "--warmup 100 --dropout 0 --epochs 1 --threads 1 --out good");
    file_text("three", "1 2 3 4 5 6 7 8 1 3 5 7\n\n2 2 3 1 4 5 1 8 8 7 6 3\n");
    run_ok("translate --model good --text three --alignment pairs --out said");
    assert_int_equal(shell("cat pairs"), 0);
    static const char turned[] = "11-0 10-1 9-2 8-3 7-4 6-5 5-6 4-7 3-8 2-9 1-10 0-11";
    assert_string_equal(line_of(out, 0), turned);
    assert_string_equal(line_of(out, 1), "");
    assert_string_equal(line_of(out, 2), turned);
    run_ok("translate --model pieces --text c/test.en --alignment pairs --out said");
    assert_int_equal(
        shell("awk '{ print NF }' pairs >a && awk '{ print NF }' said >b && cmp a b && wc -l <a"),
        0);
    assert_true(atoi(out) > 3);
}

/* ---- refused ----------------------------------------------------------------------------------------- */

TEST(translations_refused)
{
    static const char *const bad[][2] = {
        {"", "--model is needed"},
        {"--model nowhere", "nowhere"},
        {"--model lm", "lm is a language model, which translates nothing; 'trotter generate'"},
        {"--model rev --text nowhere", "cannot open nowhere"},
        {"--model rev --text c", "cannot read c: Is a directory"},
        {"--model rev --text empty", "empty is empty"},
        {"--model rev", "standard input is empty"},
        {"--model rev --text source --beam 0", "--beam: expected a whole number from 1"},
        {"--model rev --text source --beam 417",
         "--beam 417: the model has room for --batch-tokens 416 hypotheses"},
        {"--model rev --text source --alpha nan", "--alpha: expected a number"},
        {"--model rev --text source --penalty length",
         "--penalty: expected one of none|power|gnmt"},
        {"--model rev --text source --min-length 5 --max-length 4", "5 tokens at least, 4 at most"},
        {"--model rev --text source --min-length 16", "16 tokens at least, 15 at most"},
        {"--model rev --text source --max-length 16",
         "--max-length 16: the model has room for --sequence 16, <eos> included"},
        {"--model rev --text source --max-ratio -1", "--max-ratio: expected a number from 0"},
        {"--model rev --text source --nbest 6", "the best 6 of a beam of 5"},
        {"--model rev --text source --sentences 0", "--sentences: expected a whole number from 1"},
        {"--model rev --text source --sequence 500",
         "--sequence 500 is longer than --batch-tokens"},
        {"--model words --text binary", "binary:1: a NUL byte"},
        {"--model pieces --text tab", "tab:1: a tab"},
    };
    file_text("empty", "");
    file_write("binary", "a\0b\n", 4);
    file_text("tab", "one\ttwo\n");
    REFUSE_ALL("translate --threads 1 %s", bad, NULL);
    REFUSE_ALL("translate --threads 1 %s --out refused", bad, "refused");
    must_refuse("translate --model nowhere --text source --out c",
                "cannot write c: it is not a regular file");
    must_refuse("translate --model nowhere --text source --out no/place",
                "cannot write no/place: No such file");
    must_refuse("generate --model rev --tokens 5", "rev is an encoder and a decoder");
}

/* A bad line after the first window of lines is refused: those before are printed, and its number is that of the whole
 * input. */
TEST(refused_later)
{
    static const char *const bad[][3] = {
        {"rev", "what", "is not in the vocabulary, which has no <unk>"},
        {"rev", "1 <eos>", "<eos> is written inside a line"},
        {"rev", "a\\377b", "not UTF-8"},
        {"pieces", "a\\377b", "not UTF-8"},
        {"pieces", "a\\rb", "a carriage return inside a line"},
        {"pieces", "a@@ b", "a word ends in '@@'"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        shell_ok("{ head -n 20 source; printf '%s\\n'; } >later", bad[i][1]);
        int status = shell("%s translate --threads 1 --sentences 1 --beam 1 --model %s <later",
                           program, bad[i][0]);
        assert_int_equal(status, 2);
        assert_int_equal(count_lines(out), 16);
        assert_int_equal(count_lines(err), 1);
        const char *want = formed("trotter translate: standard input:21: ");
        assert_int_equal(strncmp(err, want, strlen(want)), 0);
        HAS(err, bad[i][2]);
    }
}

/* ---- score ------------------------------------------------------------------------------------------------ */

/* Checks that the lines of `score` sum up to the figure of eval for the same text. */
static void check_sum(const char *model, const char *files, const char *context, size_t lines)
{
    char line[256];
    double tokens, nll, sum = 0;
    run_ok("eval --threads 1 --csv --model %s %s %s", model, files, context);
    assert_int_equal(sscanf(strchr(out, '\n'), "\n%lf,%lf", &tokens, &nll), 2);
    snprintf(line, sizeof line, "score --threads 1 --model %s %s", model, files);
    run_ok(line);
    assert_string_equal(err, "");
    char *plain = kept_text(strdup(out));
    assert_int_equal(count_lines(plain), lines);
    strcat(line, " --csv");
    run_ok(line);
    assert_int_equal(strncmp(out, "line,tokens,log_p,per_token\n", 28), 0);
    assert_int_equal(count_lines(out), lines + 1);
    for (size_t i = 0; i < lines; i++) {
        double number, n, log_p, each;
        const char *row = line_of(out, i + 1), *told = line_of(plain, i);
        int found = sscanf(row, "%lf,%lf,%lf,%lf", &number, &n, &log_p, &each);
        assert_true(number == (double)i + 1);
        if (!*told) { /* a blank line */
            assert_int_equal(found, 2);
            assert_true(n == 1 && strcmp(row + strlen(row) - 4, ",1,,") == 0);
            continue;
        }
        assert_int_equal(found, 4);
        assert_true(fabs(strtod(told, NULL) - log_p) <= 1e-8 * fabs(log_p));
        assert_true(fabs(each * n - log_p) <= 1e-12 * fabs(log_p));
        sum += log_p;
    }
    if (!(fabs(sum + tokens * nll) <= 1e-6 * fabs(sum)))
        fail_msg("%s: %g, and eval says %g", model, sum, -tokens * nll);
}

TEST(scores)
{
    char *target = translate(REV "--text source");
    file_text("reversed", target);
    check_sum("rev --precision f64", "--text reversed --source-text source", "", SOURCES);
    check_sum("rev --precision f64", "--text reversed --source-text source --batch-tokens 16", "",
              SOURCES);
    check_sum("pieces", "--text c/test.de --source-text c/test.en", "", 20);
    check_sum("lm", "--text text/test.txt", "--context sentence", 20);
    shell_ok("sed '3s/.*//;5s/.*//' c/test.de >gaps.de; sed '3s/.*//;5s/.*//' c/test.en >gaps.en; "
             "sed '1s/.*//;5s/.*//' text/test.txt >gaps.txt");
    check_sum("pieces", "--text gaps.de --source-text gaps.en", "", 20);
    check_sum("lm", "--text gaps.txt", "--context sentence", 20);
    run_ok("score --threads 1 --model lm --text gaps.txt --out scores");
    assert_string_equal(out, "");
    run_ok("score --threads 1 --model lm --text gaps.txt");
    file_read("scores", err, sizeof err);
    assert_string_equal(err, out);
    assert_int_equal(out[0], '\n');
}

TEST(scores_refused)
{
    static const char *const bad[][2] = {
        {"--text c/test.de", "--model is needed"},
        {"--model pieces", "--text is needed"},
        {"--model pieces --text c/test.de",
         "pieces is an encoder and a decoder: --source-text FILE"},
        {"--model lm --text text/test.txt --source-text c/test.en",
         "lm is a language model, which reads no --source-text"},
        {"--model pieces --text c/test.de --source-text few",
         "few has 19 lines and c/test.de has 20"},
        {"--model pieces --text half --source-text c/test.en",
         "half:3 is blank and c/test.en:3 is not"},
        {"--model words --text wide --source-text one", "--sequence 26 has room for it"},
        {"--model words --text one --source-text wide", "--sequence 26"},
        {"--model rev --text c/test.de --source-text c/test.en", "is not in the vocabulary"},
        {"--model pieces --text marked --source-text marked", "marked:2: a word ends in '@@'"},
        {"--model rev --text gap --source-text gap", "every line is blank"},
        {"--model rev --text ends --source-text ends", "ends:3: <eos> is written inside a line"},
    };
    file_text("one", "one\n");
    file_text("marked", "one\ntw@@ o\n");
    file_text("ends", "1\n\n2 <eos> 1\n");
    file_text("gap", "\n\n");
    file_text("wide",
              "one one one one one one one one one one one one one one one one one one one one "
              "one one one one one\n");
    shell_ok("head -n 19 c/test.en >few; sed '3s/.*//' c/test.de >half");
    REFUSE_ALL("score --threads 1 --out refused %s", bad, "refused");
    must_refuse("score --model nowhere --text few --out no/place", "cannot write no/place");
    run_ok("score --threads 1 --model words --text wide --source-text one --sequence 26");
    run_ok("score --threads 1 --model words --text one --source-text wide --sequence 26");
}

TEST_MAIN(open_all, program_close)
