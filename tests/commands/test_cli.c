/* test_cli.c: the program as a user meets it: help, exit statuses, one clear line on stderr for what is
 * unusable, the shapes of data on stdout. */
#include "tests/lib/test.h"

#include "kernels/backend.h"
#include "tests/lib/program.h"

/* ---- help and the overview ----------------------------------------------------------------------- */

static const char *const commands[] = {"schemes", "expand", "order",  "data",
                                       "train",   "eval",   "compare"};
enum { COMMANDS = sizeof commands / sizeof *commands };

TEST(test_help)
{
    run_ok("--help");
    for (int i = 0; i < COMMANDS; i++) assert_non_null(strstr(out, commands[i]));
    assert_string_equal(err, "");
    for (int i = 0; i < COMMANDS; i++) {
        char args[64];
        snprintf(args, sizeof args, "%s --help all", commands[i]);
        run_ok(args);
        assert_non_null(strstr(out, "Usage: trotter "));
        assert_non_null(strstr(out, "--csv"));
        assert_string_equal(err, "");
    }
    run_ok("train --help all");
    static const char *const promised[] = {
        "--corpus",       "--scheme",       "--layers",        "--width",       "--inner",
        "--heads",        "--batch-tokens", "--context",       "--sequence",    "--dropout",
        "--positions",    "--untied",       "--activation",    "--epochs",      "--rate",
        "--warmup",       "--clip",         "--beta1",         "--beta2",       "--seed",
        "--threads",      "--device",       "--precision",     "--match",       "--config",
        "--resume",       "--out",          "(default 0.997)", "--schedule",    "--end-rate",
        "--accumulate",   "--average",      "--norm",          "inverse-sqrt)", "--label-smoothing",
        "--weight-decay", "--adaptive",     "--span",          "--span-ramp",   "--span-loss"};
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++)
        if (!strstr(out, promised[i])) fail_msg("train --help all lacks %s", promised[i]);
}

static void must_agree(const char *args, const char *same)
{
    run_ok(same);
    char *help = strdup(out);
    run_ok(args);
    assert_true(strlen(out) > 100);
    if (strcmp(out, help) != 0) fail_msg("'%s' says: %s", args, out);
    free(help);
}

/* -h is the same as --help, for the program and for every command of its overview, before and after other options. */
TEST(test_short_help)
{
    char name[32], args[64], same[64];
    int n, count = 0;
    must_agree("-h", "--help");
    char *help = strdup(out);
    const char *at = strstr(help, "Commands:\n");
    assert_non_null(at);
    for (at += strlen("Commands:\n"); sscanf(at, " %31s %*[^\n]%n", name, &n) == 1 && *at == ' ';
         at += n + 1, count++) {
        snprintf(args, sizeof args, "%s -h", name);
        snprintf(same, sizeof same, "%s --help", name);
        must_agree(args, same);
    }
    assert_true(count >= COMMANDS);
    must_agree("bench ode -h", "bench ode --help");
    must_agree("order --systems -h --csv", "order --help");
    must_refuse("order -g", "unknown option '-g'");
    free(help);
}

/* The program's version is that of the newest heading of CHANGES.md; "## 0.2.0 (unreleased)" gives 0.2.0-dev. */
TEST(test_version)
{
    char changes[4096], number[32], when[32], line[96];
    FILE *f = fopen("CHANGES.md", "r");
    assert_non_null(f);
    changes[fread(changes, 1, sizeof changes - 1, f)] = '\0';
    fclose(f);
    const char *heading = strstr(changes, "\n## ");
    assert_non_null(heading);
    assert_int_equal(sscanf(heading, " ## %31s (%31[^)]", number, when), 2);
    snprintf(line, sizeof line, "trotter %s%s\n", number,
             strcmp(when, "unreleased") == 0 ? "-dev" : "");
    run_ok("--version");
    assert_string_equal(out, line);
}

/* ---- unusable input ------------------------------------------------------------------------------ */

TEST(test_bad_arguments)
{
    static const struct {
        const char *args, *words;
    } bad[] = {
        {"shemes", "nearest is 'schemes'"},
        {"'train\nx'", "unknown command"},
        {"--verbose", "unknown option"},
        {"help shemes", "nearest is 'schemes'"},
        {"-v", "unknown option '-v'; there are --help and --version"},
        {"order --invariant --local", "--invariant or --local, not both"},
        {"order --invariant --halvings 9", "--halvings has no meaning with --invariant"},
        {"order --figure 84", "--figure has no meaning without --out"},
        {"stability --figure 84", "--figure has no meaning without --out"},
        {"expand --scheme rk4 --figure 84", "--figure has no meaning without --out"},
        {"plot x.csv --figure 84", "--figure has no meaning without --out"},
        {"schemes --structure --dense", "--dense or --structure, not both"},
        {"schemes --tableau json --csv", "--tableau or --csv, not both"},
        {"order --system kepler:peclet=1", "system kepler has no options; 'peclet=1'"},
        {"stability --system kepler --peclet 1", "system kepler has no options; 'peclet=1'"},
        {"design --scheme heun --out /proc/foo", "/proc: nothing can be written here"},
        {"schemes --sheme euler", "nearest is '--scheme'"},
        {"schemes -x", "unknown option '-x'"},
        {"schemes --scheme", "needs a value"},
        {"schemes euler", "unexpected argument 'euler': write --scheme euler"},
        {"train text.txt", "unexpected argument 'text.txt': write --corpus text.txt"},
        {"eval text", "unexpected argument 'text': write --model text"}, /* a directory */
        {"bleu a.ref b.hyp",
         "unexpected argument 'a.ref': write --reference a.ref --hypothesis FILE"},
        {"data --corpus /dev/zero", "/dev/zero is a device, which may have no end: give a file"},
        {"plot /dev/zero", "/dev/zero is a device"},
        {"bleu --reference /dev/urandom", "/dev/urandom is a device"},
        {"train --config /dev/zero", "/dev/zero is a device"},
        {"data --corpus /dev/null", "/dev/null is empty"}, /* the control */
        {"train --batch-size 3", "unknown option '--batch-size'; the nearest is '--batch-tokens'"},
        {"verify --own \"macaron error 1: F\u2019G\"",
         "claim:1:19: write ' in place of the typographic \u2019"},
        {"order --scheme-file bent.scheme",
         "bent.scheme:3:2: write ' in place of the typographic \u2019"},
        {"schemes --csv=perhaps", "expected yes or no"},
        {"schemes --scheme eulre", "euler"},
        {"schemes --scheme euler,,heun", "scheme"},
        {"schemes --scheme-file nowhere.txt", "nowhere.txt"},
        {"schemes --degree 99", "from 2 to 8"},
        {"schemes --scheme euler --scheme heun", "--scheme: given twice, as 'euler' and as 'heun'"},
        {"report text --dir other", "--dir: given twice, as 'text' and as 'other'"},
        {"schemes --csv --csv=no", "--csv: given twice"},
        {"schemes --print --csv", "expected --print or --csv, not both"},
        {"schemes --structure --print", "expected --print or --structure, not both"},
        {"stability --imaginary", "--imaginary has no meaning without --split"},
        {"expand --degree 2x", "expected a whole number"},
        {"expand --degree -1", "expected a whole number"},
        {"expand --degree 99999999999999999999999", "expected a whole number"},
        {"order --system atention", "attention"},
        {"order --scheme euler --out /dev/null/x", "/dev/null: not a directory"},
        {"schemes --scheme euler --out /dev/null", "/dev/null: not a directory"},
        {"expand --out /dev/null/x/y", "/dev/null: not a directory"},
        {"order --h0 nan", "expected a number"},
        {"order --h0 0", "--h0: expected a number from"},
        {"order --t-end -1", "--t-end: expected a number from"},
        {"order --t-end 0", "--t-end: expected a number from"},
        {"order --particles 0", "--particles: expected a whole number from 1"},
        {"order --dim 0", "--dim: expected a whole number from 1"},
        {"expand --degree 0", "from 1 to 10"},
        {"expand --degree 30", "from 1 to 10"},
        {"order --halvings 3", "from 4 to 24"},
        {"data --corpus nowhere", "nowhere"},
        {"train --context paragraph", "expected one of stream|sentence"},
        {"train --rate 1e-3x", "--rate: expected a number"},
        {"train --dropout 1", "--dropout: expected a number"},
        {"train --scheme euler,heun", "one scheme"},
        {"train --scheme lie-trotter:exact --corpus markov:20 --out x", "lie-trotter:exact: a "},
        {"train --scheme lie-trotter:exact --corpus markov:20 --out x", ": lie-trotter:euler, lie"},
        {"train --scheme word:ssf:exact --corpus markov:20 --out x", ": word:ssf:euler, word"},
        {"train --width 30 --heads 4 --corpus markov:20 --out x", "heads"},
        {"train --sequence 512 --batch-tokens 256 --corpus markov:20 --out x", "batch-tokens"},
        {"train --device cuda --precision f64 --corpus markov:20 --out x", "--precision f64"},
        {"train --device cpu --precision tf32 --corpus markov:20 --out x", "--precision tf32"},
        {"train --kernel x86-64-v9 --corpus markov:20 --out x", "x86-64-v9"},
        {"train --corpus markov:20 --out /dev/null/x", "/dev/null"},
        {"train --config nowhere.ini", "nowhere.ini"},
        {"train --schedule cosin", "expected one of inverse-sqrt|cosine|linear|constant"},
        {"train --end-rate 1e-4 --corpus markov:20 --out x", "inverse-sqrt has no end"},
        {"train --schedule linear --end-rate 1 --corpus markov:20 --out x", "end rate"},
        {"train --accumulate 0", "--accumulate"},
        {"train --label-smoothing 1 --corpus text --out x", "--label-smoothing: expected a number"},
        {"train --weight-decay -1 --corpus text --out x", "--weight-decay: expected a number"},
        {"train --adaptive 0 --corpus text --out x", "--adaptive: expected"},
        {"train --adaptive 9,5 --corpus text --out x", "cut-off 5 is not above 9"},
        {"train --adaptive 1,2,3,4,5,6,7,8,9 --corpus text --out x", "at most 8"},
        {"train --adaptive 5 --corpus markov:20 --out x", "not numbered by frequency"},
        {"train --adaptive 5,6,7,8 --width 32 --corpus text --out x", "width 32 is too small"},
        {"train --adaptive 5,99 --corpus text --out x",
         "cut-off 99 is not below 11, the number of"},
        {"compare --adaptive 5,99 --corpus text --out x",
         "cut-off 99 is not below 11, the number of"},
        {"sweep --words sf --adaptive 5 --corpus markov:20 --out x", "not numbered by frequency"},
        {"train --adaptive-factor 2 --corpus text --out x", "without --adaptive"},
        {"train --average 5 --corpus text --out x",
         "--average 5: there are the ends of --epochs 4"},
        {"compare --average 3 --epochs 2 --corpus text --out x", "the ends of --epochs 2 only"},
        {"sweep --words sf --average 3 --epochs 2 --corpus text --out x", "of --epochs 2 only"},
        {"compare --tune-rate 1e-3 --corpus text --out x", "--tune-rate has no meaning without"},
        {"compare --tune-dropout 0 --corpus text --out x", "--tune-dropout has no meaning without"},
        {"compare --tune-seed 9 --tune=no --corpus text --out x", "has no meaning without --tune"},
        {"train --span-ramp 2 --corpus text --out x", "without --span"},
        {"train --span-loss 0 --corpus text --out x", "without --span"},
        {"train --span 0 --corpus text --out x", "--span: expected"},
        {"train --span 9 --span-ramp 1 --corpus text --out x", "--span-ramp: expected"},
        {"train --span 9 --span-loss -1 --corpus text --out x", "--span-loss: expected"},
        {"train --norm post --scheme heun --corpus markov:20 --out x", "heun: --norm post needs"},
        {"train --resume --out never", "never"},
        {"compare --corpus nowhere --out x", "nowhere"},
        {"compare --scheme macaron --inner 31 --corpus markov:20 --out x", "macaron"},
        {"eval --text a.txt", "--model is needed"},
        {"eval --model nowhere --text a.txt", "nowhere"},
    };
    corpus_write("text", 600, 60);
    file_text("bent.scheme", "scheme own\nk1 = H(y)\ny\u2019 = y + k1\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) must_refuse(bad[i].args, bad[i].words);
    int status = program_run("schemes --scheme euler"); /* the judge itself */
    assert_false(refuses(status, ""));
}

/* Without a device `cuda` says in one line what is missing; `auto` takes the device that there is. */
TEST(test_devices)
{
    const Backend *b;
    const char *small = "--corpus markov:20 --max-steps 2 --width 8 --heads 2 --inner 16 "
                        "--batch-tokens 128 --sequence 16 --out";
    char args[256];
    if (backend_find("cuda-f32", NULL, &b) != 0) {
        snprintf(args, sizeof args, "train --device cuda %s x", small);
        must_refuse(args, "cuda-f32: ");
    }
    static const char *const precision[] = {"f32", "tf32", "f64"};
    for (int i = 0; i < 3; i++) {
        snprintf(args, sizeof args, "train --device auto --precision %s %s %s", precision[i], small,
                 precision[i]);
        run_ok(args);
    }
}

TEST(test_bad_schemes)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"scheme a\nk1 = H(y\ny' = y + k1\n", "bad.scheme:2:"},
        {"scheme a\nk1 = H(y + k3)\nk2 = H(y)\ny' = y + k1\n", "bad.scheme:2:"},
        {"scheme a\nk1 = H(y)\n", "bad.scheme"},
        {"k1 = H(y)\n", "bad.scheme:1:"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        file_text("bad.scheme", bad[i].text);
        must_refuse("schemes --scheme-file bad.scheme", bad[i].words);
        must_refuse("order --scheme a --scheme-file bad.scheme", bad[i].words);
    }
    file_write("bad.scheme", "scheme a\0\nk1 = H(y)\ny' = y + k1\n", 30);
    must_refuse("schemes --scheme-file bad.scheme", "bad.scheme");
}

/* Checks that the option named by the refusal makes the same command work. */
static void take_advice(const char *args)
{
    char more[256];
    program_run(args);
    const char *advice = strstr(err, "--vocabulary ");
    if (!advice) fail_msg("'%s' says: %s", args, err);
    snprintf(more, sizeof more, "%s %.*s", args, (int)(13 + strspn(advice + 13, "0123456789")),
             advice);
    run_ok(more);
}

TEST(test_bad_corpora)
{
    corpus_write("whole", 600, 60);
    run_ok("data --corpus whole");
    corpus_write("unseen", 600, 60);
    shell_ok("echo the zebra sat >>unseen/valid.txt");
    must_refuse("data --corpus unseen", "zebra");
    must_refuse("train --corpus unseen --out x", "zebra");
    take_advice("data --corpus unseen");
    take_advice("train --max-steps 1 --corpus unseen --out unseen/run" SMALL_TRAINING);
    corpus_write("empty", 600, 60);
    file_text("empty/test.txt", "");
    must_refuse("data --corpus empty", "test.txt");
    corpus_write("nul", 600, 60);
    file_write("nul/valid.txt", "the cat\nsat \0 on\n", 17);
    must_refuse("data --corpus nul", "valid.txt");
    corpus_write("short", 600, 60);
    unlink(file_path("short/valid.txt"));
    must_refuse("data --corpus short", "valid");
}

/* A line of 10 MB is accepted. */
TEST(test_long_line)
{
    enum { BYTES = 10 << 20 };
    char *text = malloc(BYTES);
    assert_non_null(text);
    for (size_t i = 0; i < BYTES; i++) text[i] = "cat "[i % 4];
    text[BYTES - 1] = '\n';
    corpus_write("long", 600, 60);
    file_write("long/train.txt", text, BYTES);
    file_text("long/valid.txt", "cat cat\n");
    file_text("long/test.txt", "cat\n");
    free(text);
    run_ok("data --corpus long --csv");
    assert_non_null(strstr(out, ",1,2621441,2,0,"));
}

TEST(test_config)
{
    file_text("good.ini", "# comment\nwidth = 16\nheads = 3\n");
    must_refuse("train --corpus markov:20 --config good.ini --out x", "heads"); /* it is read */
    file_text("bad.ini", "width = 16\nwitdh = 16\n");
    must_refuse("train --config bad.ini",
                "bad.ini:2: unknown option 'witdh'; the nearest is 'width'");
    file_text("bad.ini", "\nrate = fast\n");
    must_refuse("train --config bad.ini", "bad.ini:2: rate: expected a number");
    file_text("bad.ini", "[model]\nwidth = 16\n");
    must_refuse("train --config bad.ini", "bad.ini:2:");
    file_text("bad.ini", "width = 16\nnonsense\n");
    must_refuse("train --config bad.ini", "bad.ini:2");
    must_refuse("train --config bad.ini --resume", "--config and --resume");
}

/* ---- output that cannot be written --------------------------------------------------------------- */

TEST(test_full_stdout)
{
    assert_int_equal(shell("%s schemes --csv >/dev/full", program), 1);
    assert_int_equal(count_lines(err), 1);
    assert_non_null(strstr(err, "stdout"));
    /* a reader that goes away gives no message */
    assert_int_equal(shell("%s schemes --csv | true", program), 0);
    assert_string_equal(err, "");
}

/* ---- schemes, expand, order ---------------------------------------------------------------------- */

static size_t fields(const char *line)
{
    size_t n = 1;
    int quoted = 0;
    for (; *line && *line != '\n'; line++) {
        quoted ^= *line == '"';
        n += *line == ',' && !quoted;
    }
    return n;
}

TEST(test_csv_shapes)
{
    static const struct {
        const char *args, *header;
    } list[] = {
        {"schemes --csv --scheme rk4,ab2",
         "scheme,stages,evals_F,evals_G,past_y,past_k,exact,consistent,order,zero_stable,"
         "real_limit,imag_limit,error_norm2,error_norm2_one_colour,ssp\n"},
        {"schemes --csv --scheme rk4,heun-euler",
         "scheme,stages,evals_F,evals_G,past_y,past_k,exact,consistent,order,zero_stable,"
         "real_limit,imag_limit,error_norm2,error_norm2_one_colour,ssp,embedded_order,"
         "estimate_order,estimate_norm2\n"},
        {"order --adaptive --scheme heun-euler --tolerances 1e-2,1e-3 --csv",
         "scheme,system,tolerance,error,within,steps,rejected,evals,seconds,outcome\n"},
        {"order --adaptive --scheme heun-euler --tolerances 1e-2,1e-3 --csv --summary",
         "scheme,system,order,embedded_order,estimate_order,dense_order,expected,slope,low,high,points\n"},
        {"expand --scheme rk2-unit,transformer --degree 3 --csv",
         "scheme,degree,term,coefficient,value\n"},
        {"order --scheme heun --csv", "scheme,system,h,steps,evals,error,rate\n"},
        {"order --scheme heun,rk4 --csv --summary",
         "scheme,system,expected,measured,low,high,constant,verdict,predicted,match,constant_low,"
         "constant_high,unstable_from\n"},
        {"data --corpus markov:20 --csv", "file,lines,tokens,distinct,unknown,sha256\n"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        run_ok(list[i].args);
        assert_int_equal(strncmp(out, list[i].header, strlen(list[i].header)), 0);
        size_t n = fields(out), rows = 0;
        for (const char *row = out; *row; row = strchr(row, '\n') + 1, rows++)
            if (fields(row) != n) fail_msg("%s: %.80s", list[i].args, row);
        assert_true(rows > 1);
    }
}

/* The text that --print writes of a scheme, saved under another name, is the same scheme. */
TEST(test_printed_schemes)
{
    static const char *const name[] = {"ab3", "strang-marchuk:heun", "rk2-gate", "yoshida4",
                                       "dlcl"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char args[256], text[8192];
        snprintf(args, sizeof args, "schemes --print --scheme %s", name[i]);
        run_ok(args);
        snprintf(text, sizeof text, "scheme mine%s", strchr(out, '\n'));
        file_text("mine.scheme", text);
        snprintf(args, sizeof args, "schemes --csv --scheme-file mine.scheme --scheme %s", name[i]);
        run_ok(args);
        snprintf(text, sizeof text, "%s", strchr(strchr(out, '\n'), ','));
        run_ok("schemes --csv --scheme-file mine.scheme --scheme mine");
        assert_string_equal(strchr(strchr(out, '\n'), ','), text);
    }
}

TEST(test_zero_unstable)
{
    file_text("wild.scheme", "scheme wild\nk1 = H(y)\ny' = 5*y[-1] - 4*y + 4*k1 + 2*k1[-1]\n");
    run_ok("order --scheme wild --scheme-file wild.scheme --csv --summary");
    assert_non_null(strstr(err, "warning: wild is zero-unstable"));
    assert_non_null(strstr(out, "diverges"));
    file_text("sum.scheme", "scheme heavy\nk1 = H(y)\ny' = 2*y + k1\n");
    run_ok("expand --scheme heavy --scheme-file sum.scheme --csv");
    assert_non_null(strstr(out, "heavy,0,y,1,1\n"));
    assert_int_equal(count_lines(err), 1);
    expect(1, "expand --scheme rk2-released,polynet --csv"); /* nothing expands: degree 0 alone */
    assert_string_equal(out, "scheme,degree,term,coefficient,value\nrk2-released,0,y,3/2,1.5\n");
    assert_int_equal(count_lines(err), 3);
    assert_true(says("expand: polynet has no expansion"));
    expect(0,
           "expand --scheme decoders --csv"); /* of a group, those that have none are told alone */
    assert_true(says("polynet-decoder: the state weights"));
}

TEST(test_plots_without_gnuplot)
{
    assert_int_equal(shell("PATH=/nowhere %s order --scheme heun --out plots", program), 0);
    assert_non_null(strstr(err, "warning: gnuplot cannot be run"));
    assert_true(file_exists("plots/order.csv") && file_exists("plots/order.gp") &&
                !file_exists("plots/order.png"));
    need_tool("gnuplot");
    run_ok("order --scheme heun --out plots");
    assert_true(file_exists("plots/order.svg") && file_exists("plots/order.png") &&
                file_exists("plots/work.png"));
}

/* Local errors have no work: the work of an earlier study does not stay beside their table, but a file that is not the
 * study's does. */
TEST(test_nothing_stale)
{
    run_ok("order --scheme heun --out stale");
    assert_true(file_exists("stale/work.csv") && file_exists("stale/time.gp"));
    file_text("stale/notes.txt", "mine\n");
    run_ok("order --scheme euler --local --out stale");
    assert_false(file_exists("stale/work.csv") || file_exists("stale/work.gp") ||
                 file_exists("stale/work.svg") || file_exists("stale/time.gp") ||
                 file_exists("stale/time.png"));
    assert_true(file_exists("stale/order.csv") && file_exists("stale/notes.txt"));
    run_ok("order --scheme euler --out stale"); /* control */
    assert_true(file_exists("stale/work.csv"));
}

/* A plot that gnuplot could not write whole is reported and removed. Files end at 40 kB here, as on a full disk. */
TEST(test_plots_cut_short)
{
    need_tool("gnuplot");
    int status = shell("trap '' XFSZ; ulimit -f 80; %s order --scheme heun --out cut", program);
    assert_int_equal(status, 0);
    assert_non_null(strstr(err, "warning: cut/order.png could not be written whole"));
    assert_true(file_exists("cut/order.svg") && !file_exists("cut/order.png"));
}

TEST_MAIN(program_open, program_close)
