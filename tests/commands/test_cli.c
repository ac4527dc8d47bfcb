/* test_cli.c: the program as a user meets it: help, exit statuses, one clear line on stderr for what is
 * unusable, the shapes of data on stdout. */
#include "tests/lib/test.h"

#include "kernels/backend.h"
#include "tests/lib/program.h"

static void must_agree(const char *args, const char *same)
{
    char *help = output_of(same);
    run_ok(args);
    assert_true(strlen(out) > 100);
    if (strcmp(out, help) != 0) fail_msg("'%s' says: %s", args, out);
}

/* -h is the same as --help, for the program and for every command of its overview, before and after other options. */
TEST(test_short_help)
{
    char name[32];
    int n, count = 0;
    must_agree("-h", "--help");
    char *help = kept_text(strdup(out));
    const char *at = strstr(help, "Commands:\n");
    assert_non_null(at);
    for (at += strlen("Commands:\n"); sscanf(at, " %31s %*[^\n]%n", name, &n) == 1 && *at == ' ';
         at += n + 1, count++) {
        const char *args = formed("%s -h", name);
        must_agree(args, formed("%s --help", name));
    }
    assert_true(count > 20);
    must_agree("bench theory -h", "bench theory --help");
    must_agree("order --systems -h --csv", "order --help");
    must_refuse("order -g", "unknown option '-g'");
}

/* The program's version is that of the newest heading of CHANGES.md; "## 0.2.0 (unreleased)" gives 0.2.0-dev. */
TEST(test_version)
{
    char number[32], when[32];
    const char *heading = strstr(path_slurp("CHANGES.md", NULL), "\n## ");
    assert_non_null(heading);
    assert_int_equal(sscanf(heading, " ## %31s (%31[^)]", number, when), 2);
    const char *line =
        formed("trotter %s%s\n", number, strcmp(when, "unreleased") == 0 ? "-dev" : "");
    run_ok("--version");
    assert_string_equal(out, line);
}

/* Types, ranges and options that go together are those of tests/studies/test_options.c; readers' own refusals are in
 * tests/ode/test_scheme.c, tests/nn/test_corpus.c and there. */
TEST(test_bad_arguments)
{
    static const char *const bad[][2] = {
        {"shemes", "nearest is 'schemes'"},
        {"'train\nx'", "unknown command"},
        {"--verbose", "unknown option"},
        {"-v", "unknown option '-v'; there are --help and --version"},
        {"order --invariant --halvings 9", "--halvings has no meaning with --invariant"},
        {"order --invariant --local", "--invariant or --local, not both"},
        {"schemes --structure --dense", "--dense or --structure, not both"},
        {"schemes --tableau json --csv", "--tableau or --csv, not both"},
        {"schemes --print --csv", "expected --print or --csv, not both"},
        {"order --figure 84", "--figure has no meaning without --out"},
        {"order --system kepler:peclet=1", "system kepler has no options; 'peclet=1'"},
        {"design --scheme heun --out /proc/foo", "/proc: nothing can be written here"},
        {"schemes euler", "unexpected argument 'euler': write --scheme euler"},
        {"train text.txt", "unexpected argument 'text.txt': write --corpus text.txt"},
        {"eval text", "unexpected argument 'text': write --model text"}, /* a directory */
        {"bleu a.ref b.hyp",
         "unexpected argument 'a.ref': write --reference a.ref --hypothesis FILE"},
        {"data --corpus /dev/zero", "/dev/zero is a device, which may have no end: give a file"},
        {"train --config /dev/zero", "/dev/zero is a device"},
        {"data --corpus /dev/null", "/dev/null is empty"}, /* the control */
        {"train --batch-size 3", "unknown option '--batch-size'; the nearest is '--batch-tokens'"},
        {"verify --own \"macaron error 1: F\u2019G\"",
         "claim:1:19: write ' in place of the typographic \u2019"},
        {"order --scheme-file bent.scheme",
         "bent.scheme:3:2: write ' in place of the typographic \u2019"},
        {"schemes --scheme eulre", "euler"},
        {"schemes --scheme euler,,heun", "scheme"},
        {"schemes --structure --print", "expected --print or --structure, not both"},
        {"train --scheme euler,heun", "one scheme"},
        {"train --scheme lie-trotter:exact --corpus markov:20 --out x", "lie-trotter:exact: a "},
        {"train --scheme lie-trotter:exact --corpus markov:20 --out x", ": lie-trotter:euler, lie"},
        {"train --scheme word:ssf:exact --corpus markov:20 --out x", ": word:ssf:euler, word"},
        {"train --width 30 --heads 4 --corpus markov:20 --out x", "heads"},
        {"train --corpus markov:20 --out /dev/null/x", "/dev/null"},
        {"train --end-rate 1e-4 --corpus markov:20 --out x", "inverse-sqrt has no end"},
        {"train --adaptive 5 --corpus markov:20 --out x", "not numbered by frequency"},
        {"train --adaptive 5,99 --corpus text --out x",
         "cut-off 99 is not below 11, the number of"},
        {"sweep --words sf --adaptive 5 --corpus markov:20 --out x", "not numbered by frequency"},
        {"compare --average 3 --epochs 2 --corpus text --out x", "the ends of --epochs 2 only"},
        {"compare --scheme macaron --inner 31 --corpus markov:20 --out x", "macaron"},
        {"schemes --scheme-file bad.scheme", "bad.scheme:2:"},
        {"train --corpus markov:20 --config good.ini --out x", "heads"}, /* it is read */
        {"train --config bad.ini", "bad.ini:2: unknown option 'witdh'; the nearest is 'width'"},
        {"train --config bad.ini --resume", "--config and --resume"},
    };
    corpus_write("text", 600, 60);
    file_text("bent.scheme", "scheme own\nk1 = H(y)\ny\u2019 = y + k1\n");
    file_text("bad.scheme", "scheme a\nk1 = H(y\ny' = y + k1\n");
    file_text("good.ini", "# comment\nwidth = 16\nheads = 3\n");
    file_text("bad.ini", "width = 16\nwitdh = 16\n");
    REFUSE_ALL("%s", bad, NULL);
    assert_false(refuses(program_run("schemes --scheme euler"), "")); /* the judge itself */
}

/* Without a device `cuda` says in one line what is missing (`auto`: tests/studies/test_options.c). */
TEST(test_devices)
{
    const Backend *b;
    if (backend_find("cuda-f32", NULL, &b) != 0)
        must_refuse("train --device cuda --corpus markov:20 --out x", "cuda-f32: ");
}

/* Checks that the option named by the refusal makes the same command work. */
static void take_advice(const char *args)
{
    program_run(args);
    const char *advice = strstr(err, "--vocabulary ");
    if (!advice) fail_msg("'%s' says: %s", args, err);
    run_ok("%s %.*s", args, (int)(13 + strspn(advice + 13, "0123456789")), advice);
}

TEST(test_bad_corpora)
{
    corpus_write("unseen", 600, 60);
    shell_ok("echo the zebra sat >>unseen/valid.txt");
    must_refuse("data --corpus unseen", "zebra");
    must_refuse("train --corpus unseen --out x", "zebra");
    take_advice("data --corpus unseen");
    take_advice("train --max-steps 1 --corpus unseen --out unseen/run" SMALL_TRAINING);
    corpus_write("short", 600, 60);
    unlink(file_path("short/valid.txt"));
    must_refuse("data --corpus short", "valid");
}

TEST(test_full_stdout)
{
    assert_int_equal(shell("%s schemes --csv >/dev/full", program), 1);
    assert_int_equal(count_lines(err), 1);
    HAS(err, "stdout");
    /* a reader that goes away gives no message */
    assert_int_equal(shell("%s schemes --csv | true", program), 0);
    assert_string_equal(err, "");
}

TEST(test_what_has_no_terms)
{
    file_text("wild.scheme", "scheme wild\nk1 = H(y)\ny' = 5*y[-1] - 4*y + 4*k1 + 2*k1[-1]\n"
                             "scheme heavy\nk1 = H(y)\ny' = 2*y + k1\n");
    run_ok("order --scheme wild --scheme-file wild.scheme --csv --summary");
    assert_true(says("warning: wild is zero-unstable") && strstr(out, "diverges"));
    must_print("expand --scheme heavy --scheme-file wild.scheme --csv", "heavy,0,y,1,1\n");
    assert_int_equal(count_lines(err), 1);
    expect(1, "expand --scheme rk2-released,polynet --csv"); /* nothing expands: degree 0 alone */
    assert_string_equal(out, "scheme,degree,term,coefficient,value\nrk2-released,0,y,3/2,1.5\n");
    assert_int_equal(count_lines(err), 3);
    HAS(err, "expand: polynet has no expansion");
    run_ok("expand --scheme decoders --csv"); /* of a group, those that have none are told alone */
    HAS(err, "polynet-decoder: the state weights");
}

TEST_DRAWN(test_plots_without_gnuplot)
{
    assert_int_equal(
        shell("PATH=/nowhere %s order --system linear --scheme heun --out plots", program), 0);
    HAS(err, "warning: gnuplot cannot be run");
    shell_ok("cd plots && test -e order.csv -a -e order.gp -a ! -e order.png");
    need_tool("gnuplot");
    run_ok("order --system linear --scheme heun --out plots");
    shell_ok("cd plots && test -e order.svg -a -e order.png -a -e work.png");
}

/* Local errors have no work: the work of an earlier study does not stay beside their table, but a file that is not the
 * study's does. */
TEST(test_nothing_stale)
{
    run_ok("order --system linear --scheme heun --out stale");
    assert_true(file_exists("stale/work.csv") && file_exists("stale/time.gp"));
    file_text("stale/notes.txt", "mine\n");
    run_ok("order --system linear --scheme euler --local --out stale");
    shell_ok("! ls stale/work.* stale/time.* 2>/dev/null");
    assert_true(file_exists("stale/order.csv") && file_exists("stale/notes.txt"));
    run_ok("order --system linear --scheme euler --out stale"); /* control */
    assert_true(file_exists("stale/work.csv"));
}

/* A plot that gnuplot could not write whole is reported and removed. Files end at 40 kB here, as on a full disk. */
TEST_DRAWN(test_plots_cut_short)
{
    need_tool("gnuplot");
    int status = shell(
        "trap '' XFSZ; ulimit -f 80; %s order --system linear --scheme heun --out cut", program);
    assert_int_equal(status, 0);
    HAS(err, "warning: cut/order.png could not be written whole");
    assert_true(file_exists("cut/order.svg") && !file_exists("cut/order.png"));
}

/* What may have no end or no writer is refused (no bottom: tests/faults/test_costs.c). All lines run at once, as a FIFO takes
 * three seconds. The control's writer comes when the program waits for one. */
TEST(endless_inputs_are_refused)
{
    static const char waits[] = "fifo is a FIFO that nobody opened";
    static const char *const row[][2] = {
        {"plot /dev/zero", "/dev/zero is a device"},
        {"table /dev/zero", "/dev/zero is a device"},
        {"plot fifo", waits},
        {"table fifo", waits},
        {"data --corpus fifo", waits},
        {"schemes --scheme-file fifo", waits},
        {"translate --model pair --text fifo", waits},
        {"eval --text said --model foreign", "foreign/config.json is a FIFO"},
        {"report fifo", "fifo/report.html: Not a directory"},
        {"report foreign", "no study in it"},
    };
    enum { ROWS = sizeof row / sizeof *row };
    char lines[8192];
    size_t n = 0;
    shell("%s train --corpus reverse:5 --max-steps 1 --out pair" SMALL_TRAINING, program);
    shell_ok("mkfifo fifo late; mkdir foreign; mkfifo foreign/config.json; echo a >said");
    for (size_t i = 0; i < ROWS; i++)
        n += (size_t)snprintf(lines + n, sizeof lines - n,
                              "{ timeout 300 %s %s 2>words.%zu; echo $? >>words.%zu; } & ", program,
                              row[i][0], i, i);
    shell("%s %s schemes --scheme euler --scheme-file late 2>words & p=$!; "
          "until ls -l /proc/$p/fd | grep -q late; do kill -0 $p || exit; sleep .01; done; "
          "echo 'scheme own\nk1 = H(y)\ny'\"'\"' = y + k1' | timeout 300 tee late; wait $p; "
          "echo $? >>words; wait",
          lines, program);
    assert_true(file_has("words", "0\n"));
    for (size_t i = 0; i < ROWS; i++) {
        file_read(formed("words.%zu", i), err, sizeof err);
        const char *end = strchr(err, '\n');
        if (!strstr(err, row[i][1]) || !end || strcmp(end, "\n2\n") != 0)
            fail_msg("%s: %s", row[i][0], err);
    }
}

TEST_MAIN(program_open, program_close)
