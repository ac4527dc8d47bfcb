/* test_cli.c: the program as a user meets it: exit statuses, one clear line on stderr for what is
 * unusable, files that stay whole, runs that stop and go on.
 *
 * The program is the one named by TROTTER (default build/trotter). Each test works in a directory of
 * its own below one temporary directory, which is removed at the end. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/backend.h"

static char program[4096]; /* absolute */
static char scratch[64] = "/tmp/trotter-cli-XXXXXX";

/* ---- running the program ------------------------------------------------------------------------- */

typedef struct {
    int status;
    char *out, *err; /* stdout, stderr */
} Outcome;

static char *slurp(const char *path, size_t *bytes)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *text = NULL;
    size_t n = 0, got;
    do {
        text = realloc(text, n + 65536 + 1);
        assert_non_null(text);
        got = fread(text + n, 1, 65536, f);
        n += got;
    } while (got == 65536);
    fclose(f);
    text[n] = '\0';
    if (bytes) *bytes = n;
    return text;
}

/* `before` (shell words such as "ulimit -f 8;"), then the program with `args`, in the scratch
 * directory. */
static Outcome shell(const char *before, const char *args)
{
    char line[8192];
    int n = snprintf(line, sizeof line, "cd %s && { %s %s %s ; } >out.txt 2>err.txt </dev/null",
                     scratch, before, program, args);
    assert_in_range(n, 1, (int)sizeof line - 1);
    int status = system(line);
    assert_true(WIFEXITED(status));
    char path[128];
    Outcome o = {WEXITSTATUS(status), NULL, NULL};
    snprintf(path, sizeof path, "%s/out.txt", scratch);
    o.out = slurp(path, NULL);
    snprintf(path, sizeof path, "%s/err.txt", scratch);
    o.err = slurp(path, NULL);
    return o;
}

static Outcome run(const char *args)
{
    return shell("", args);
}

static void drop(Outcome *o)
{
    free(o->out);
    free(o->err);
}

static size_t lines(const char *text)
{
    size_t n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

static const char *last_line(const char *text)
{
    const char *at = text;
    for (const char *c = text; *c; c++)
        if (*c == '\n' && c[1]) at = c + 1;
    return at;
}

/* Fails with what the program said. */
static void expect(const Outcome *o, int status, const char *args)
{
    if (o->status != status)
        fail_msg("'%s': status %d, not %d; stderr: %s", args, o->status, status, o->err);
}

static void run_ok(const char *args)
{
    Outcome o = run(args);
    expect(&o, 0, args);
    drop(&o);
}

/* ---- files --------------------------------------------------------------------------------------- */

static const char *at(const char *name)
{
    static char path[4][256];
    static int next;
    next = (next + 1) % 4;
    snprintf(path[next], sizeof path[next], "%s/%s", scratch, name);
    return path[next];
}

static void write_file(const char *name, const char *text, size_t bytes)
{
    FILE *f = fopen(at(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static int same_files(const char *a, const char *b)
{
    size_t m, n;
    char *x = slurp(at(a), &m), *y = slurp(at(b), &n);
    int same = m == n && memcmp(x, y, m) == 0;
    free(x);
    free(y);
    return same;
}

static int exists(const char *name)
{
    return access(at(name), F_OK) == 0;
}

static void copy_file(const char *from, const char *to)
{
    size_t n;
    char *text = slurp(at(from), &n);
    write_file(to, text, n);
    free(text);
}

/* A small corpus whose lines repeat, so that a few steps beat the frequencies of words. */
static void write_corpus(const char *dir, const char *extra)
{
    static const char *const split[] = {"train", "valid", "test"};
    static const char *const line[] = {"the cat sat on the mat", "a dog ran in the park",
                                       "in the park a cat ran", "the dog sat"};
    mkdir(at(dir), 0777);
    for (int i = 0; i < 3; i++) {
        char name[256], text[65536] = "";
        size_t n = 0;
        for (int k = 0; k < (i ? 60 : 600); k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s\n", line[(k * k + k / 3 + i) % 4]);
        if (i == 1) snprintf(text + n, sizeof text - n, "%s", extra);
        snprintf(name, sizeof name, "%s/%s.txt", dir, split[i]);
        write_text(name, text);
    }
}

#define TINY                                                                                    \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 --rate 1e-2 --warmup 10" \
    " --threads 1 "

/* ---- help and the overview ----------------------------------------------------------------------- */

static const char *const commands[] = {"schemes", "expand", "order",  "data",
                                       "train",   "eval",   "compare"};
enum { COMMANDS = sizeof commands / sizeof *commands };

static void test_help(void **state)
{
    (void)state;
    Outcome o = run("--help");
    expect(&o, 0, "--help");
    for (int i = 0; i < COMMANDS; i++) assert_non_null(strstr(o.out, commands[i]));
    assert_string_equal(o.err, "");
    drop(&o);
    for (int i = 0; i < COMMANDS; i++) {
        char args[64];
        snprintf(args, sizeof args, "%s --help", commands[i]);
        o = run(args);
        expect(&o, 0, args);
        assert_non_null(strstr(o.out, "Usage: trotter "));
        assert_non_null(strstr(o.out, "--csv"));
        assert_string_equal(o.err, "");
        drop(&o);
    }
    o = run("train --help");
    static const char *const promised[] = {
        "--corpus",       "--scheme",  "--layers",   "--width",        "--inner",     "--heads",
        "--batch-tokens", "--context", "--sequence", "--dropout",      "--positions", "--untied",
        "--activation",   "--epochs",  "--rate",     "--warmup",       "--clip",      "--beta1",
        "--beta2",        "--seed",    "--threads",  "--device",       "--precision", "--match",
        "--config",       "--resume",  "--out",      "(default 0.997)"};
    for (size_t i = 0; i < sizeof promised / sizeof *promised; i++)
        if (!strstr(o.out, promised[i])) fail_msg("train --help lacks %s", promised[i]);
    drop(&o);
    o = run("--version");
    expect(&o, 0, "--version");
    assert_int_equal(strncmp(o.out, "trotter ", 8), 0);
    drop(&o);
}

/* ---- what cannot be used ------------------------------------------------------------------------- */

/* Status 2, nothing on stdout, one line on stderr that begins with the program's name and has the
 * given words. 0: not so. */
static int refused(const Outcome *o, const char *words)
{
    return o->status == 2 && !*o->out && lines(o->err) == 1 && strncmp(o->err, "trotter", 7) == 0 &&
           strstr(o->err, words) != NULL;
}

static void must_refuse(const char *args, const char *words)
{
    Outcome o = run(args);
    if (!refused(&o, words))
        fail_msg("'%s': status %d, stdout '%.80s', stderr '%s', expected '%s'", args, o.status,
                 o.out, o.err, words);
    drop(&o);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *args, *words;
    } bad[] = {
        {"shemes", "nearest is 'schemes'"},
        {"'train\nx'", "unknown command"},
        {"--verbose", "unknown command"},
        {"schemes --sheme euler", "nearest is '--scheme'"},
        {"schemes -x", "unknown option '-x'"},
        {"schemes --scheme", "needs a value"},
        {"schemes euler", "unexpected argument 'euler'"},
        {"schemes --csv=perhaps", "expected yes or no"},
        {"schemes --scheme eulre", "euler"},
        {"schemes --scheme euler,,heun", "scheme"},
        {"schemes --scheme-file nowhere.txt", "nowhere.txt"},
        {"schemes --degree 99", "from 2 to 8"},
        {"expand --degree 2x", "expected a whole number"},
        {"expand --degree -1", "expected a whole number"},
        {"expand --degree 99999999999999999999999", "expected a whole number"},
        {"order --system atention", "attention"},
        {"order --h0 nan", "expected a number"},
        {"order --halvings 3", "from 4 to 24"},
        {"data --corpus nowhere", "nowhere"},
        {"train --context paragraph", "expected one of stream|sentence"},
        {"train --rate 1e-3x", "--rate: expected a number"},
        {"train --dropout 1", "--dropout: expected a number"},
        {"train --scheme euler,heun", "one scheme"},
        {"train --scheme lie-trotter:exact --corpus markov:20 --out x", "lie-trotter:exact"},
        {"train --width 30 --heads 4 --corpus markov:20 --out x", "heads"},
        {"train --sequence 512 --batch-tokens 256 --corpus markov:20 --out x", "batch-tokens"},
        {"train --device cuda --precision f64 --corpus markov:20 --out x", "--precision f64"},
        {"train --device cpu --precision tf32 --corpus markov:20 --out x", "--precision tf32"},
        {"train --kernel x86-64-v9 --corpus markov:20 --out x", "x86-64-v9"},
        {"train --corpus markov:20 --out /dev/null/x", "/dev/null"},
        {"train --config nowhere.ini", "nowhere.ini"},
        {"train --resume --out never", "never"},
        {"compare --corpus nowhere --out x", "nowhere"},
        {"compare --scheme macaron --inner 31 --corpus markov:20 --out x", "macaron"},
        {"eval --text a.txt", "--model is needed"},
        {"eval --model nowhere --text a.txt", "nowhere"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) must_refuse(bad[i].args, bad[i].words);
    Outcome good = run("schemes --scheme euler"); /* the judge itself */
    assert_false(refused(&good, ""));
    drop(&good);
}

/* Without a device `cuda` says in one line what is missing; `auto` takes what there is. */
static void test_devices(void **state)
{
    (void)state;
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
        Outcome o = run(args);
        assert_int_equal(o.status, 0);
        drop(&o);
    }
}

static void test_bad_schemes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"scheme a\nk1 = H(y\ny' = y + k1\n", "bad.scheme:2:"},
        {"scheme a\nk1 = H(y + k2)\nk2 = H(y)\ny' = y + k1\n", "bad.scheme:2:"},
        {"scheme a\nk1 = H(y)\n", "bad.scheme"},
        {"scheme euler\nk1 = H(y)\ny' = y + k1\n", "bad.scheme"},
        {"k1 = H(y)\n", "bad.scheme:1:"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_text("bad.scheme", bad[i].text);
        must_refuse("schemes --scheme-file bad.scheme", bad[i].words);
        must_refuse("order --scheme a --scheme-file bad.scheme", bad[i].words);
    }
    write_file("bad.scheme", "scheme a\0\nk1 = H(y)\ny' = y + k1\n", 30);
    must_refuse("schemes --scheme-file bad.scheme", "bad.scheme");
}

static void test_bad_corpora(void **state)
{
    (void)state;
    write_corpus("whole", "");
    run_ok("data --corpus whole");
    write_corpus("unseen", "the zebra sat\n");
    must_refuse("data --corpus unseen", "zebra");
    must_refuse("train --corpus unseen --out x", "zebra");
    write_corpus("empty", "");
    write_text("empty/test.txt", "");
    must_refuse("data --corpus empty", "test.txt");
    write_corpus("nul", "");
    write_file("nul/valid.txt", "the cat\nsat \0 on\n", 17);
    must_refuse("data --corpus nul", "valid.txt");
    write_corpus("short", "");
    unlink(at("short/valid.txt"));
    must_refuse("data --corpus short", "valid");
}

/* A line of 10 MB is only long. */
static void test_long_line(void **state)
{
    (void)state;
    enum { BYTES = 10 << 20 };
    char *text = malloc(BYTES);
    assert_non_null(text);
    for (size_t i = 0; i < BYTES; i++) text[i] = "cat "[i % 4];
    text[BYTES - 1] = '\n';
    write_corpus("long", "");
    write_file("long/train.txt", text, BYTES);
    write_text("long/valid.txt", "cat cat\n");
    write_text("long/test.txt", "cat\n");
    free(text);
    Outcome o = run("data --corpus long --csv");
    expect(&o, 0, "data --corpus long");
    assert_non_null(strstr(o.out, ",1,2621441,2,0,"));
    drop(&o);
}

static void test_config(void **state)
{
    (void)state;
    write_text("good.ini", "# comment\nwidth = 16\nheads = 3\n");
    must_refuse("train --corpus markov:20 --config good.ini --out x", "heads"); /* it is read */
    write_text("bad.ini", "width = 16\nwitdh = 16\n");
    must_refuse("train --config bad.ini",
                "bad.ini:2: unknown option 'witdh'; the nearest is 'width'");
    write_text("bad.ini", "\nrate = fast\n");
    must_refuse("train --config bad.ini", "bad.ini:2: rate: expected a number");
    write_text("bad.ini", "[model]\nwidth = 16\n");
    must_refuse("train --config bad.ini", "bad.ini:2:");
    write_text("bad.ini", "width = 16\nnonsense\n");
    must_refuse("train --config bad.ini", "bad.ini:2");
    must_refuse("train --config bad.ini --resume", "--config and --resume");
}

/* ---- output that cannot be written --------------------------------------------------------------- */

static void test_full_stdout(void **state)
{
    (void)state;
    char line[8192];
    snprintf(line, sizeof line, "%s schemes --csv >/dev/full 2>%s", program, at("err.txt"));
    int status = system(line);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    char *err = slurp(at("err.txt"), NULL);
    assert_int_equal(lines(err), 1);
    assert_non_null(strstr(err, "stdout"));
    free(err);
    /* A reader that goes away needs no words. */
    snprintf(line, sizeof line, "{ %s schemes --csv; echo $? >%s; } 2>%s | true", program,
             at("status.txt"), at("err.txt"));
    assert_int_equal(system(line), 0);
    err = slurp(at("err.txt"), NULL);
    assert_string_equal(err, "");
    free(err);
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

static void test_csv_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *args, *header;
    } list[] = {
        {"schemes --csv",
         "scheme,stages,evals_F,evals_G,past_y,past_k,exact,consistent,order,zero_stable,"
         "real_limit,imag_limit,error_norm2\n"},
        {"expand --scheme rk2-unit,transformer --degree 3 --csv",
         "scheme,degree,term,coefficient\n"},
        {"order --scheme heun --csv", "scheme,system,h,steps,evals,error\n"},
        {"order --scheme heun,rk4 --csv --summary",
         "scheme,system,expected,measured,low,high,constant,verdict,predicted,match\n"},
        {"data --corpus markov:20 --csv", "file,lines,tokens,distinct,unknown,sha256\n"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        Outcome o = run(list[i].args);
        expect(&o, 0, list[i].args);
        assert_int_equal(strncmp(o.out, list[i].header, strlen(list[i].header)), 0);
        size_t n = fields(o.out), rows = 0;
        for (const char *row = o.out; *row; row = strchr(row, '\n') + 1, rows++)
            if (fields(row) != n) fail_msg("%s: %.80s", list[i].args, row);
        assert_true(rows > 1);
        drop(&o);
    }
}

/* The text --print writes of a scheme, under a name of its own, is the same scheme. */
static void test_printed_schemes(void **state)
{
    (void)state;
    static const char *const name[] = {"ab3", "strang-marchuk:heun", "rk2-gate", "yoshida4",
                                       "dlcl"};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char args[256], text[8192];
        snprintf(args, sizeof args, "schemes --print --scheme %s", name[i]);
        Outcome print = run(args);
        expect(&print, 0, args);
        snprintf(text, sizeof text, "scheme mine%s", strchr(print.out, '\n'));
        write_text("mine.scheme", text);
        snprintf(args, sizeof args, "schemes --csv --scheme-file mine.scheme --scheme %s", name[i]);
        Outcome a = run(args), b = run("schemes --csv --scheme-file mine.scheme --scheme mine");
        expect(&b, 0, "schemes --scheme mine");
        assert_string_equal(strchr(strchr(a.out, '\n'), ','), strchr(strchr(b.out, '\n'), ','));
        drop(&print);
        drop(&a);
        drop(&b);
    }
}

static void test_zero_unstable(void **state)
{
    (void)state;
    write_text("wild.scheme", "scheme wild\nk1 = H(y)\ny' = 5*y[-1] - 4*y + 4*k1 + 2*k1[-1]\n");
    Outcome o = run("order --scheme wild --scheme-file wild.scheme --csv --summary");
    expect(&o, 0, "order --scheme wild");
    assert_non_null(strstr(o.err, "warning: wild is zero-unstable"));
    assert_non_null(strstr(o.out, "diverges"));
    drop(&o);
    write_text("sum.scheme", "scheme heavy\nk1 = H(y)\ny' = 2*y + k1\n");
    o = run("expand --scheme heavy --scheme-file sum.scheme --csv");
    expect(&o, 0, "expand --scheme heavy");
    assert_non_null(strstr(o.out, "heavy,0,y,1\n"));
    assert_int_equal(lines(o.err), 1);
    drop(&o);
    o = run("expand --scheme rk2-released,polynet --csv"); /* nothing expands: degree 0 alone */
    expect(&o, 0, "expand --scheme rk2-released");
    assert_string_equal(o.out, "scheme,degree,term,coefficient\nrk2-released,0,y,3/2\n");
    assert_int_equal(lines(o.err), 2);
    drop(&o);
}

static void test_plots_without_gnuplot(void **state)
{
    (void)state;
    Outcome o = shell("PATH=/nowhere", "order --scheme heun --out plots");
    expect(&o, 0, "order --out plots");
    assert_non_null(strstr(o.err, "warning: gnuplot cannot be run"));
    assert_true(exists("plots/order.csv") && exists("plots/order.gp") &&
                !exists("plots/order.png"));
    drop(&o);
    run_ok("order --scheme heun --out plots");
    assert_true(exists("plots/order.svg") && exists("plots/order.png") && exists("plots/work.png"));
}

/* ---- training ------------------------------------------------------------------------------------ */

/* Column `n` (from 0) of the second line of a CSV text. */
static double column(const char *csv, int n)
{
    const char *c = strchr(csv, '\n') + 1;
    while (n--) c = strchr(c, ',') + 1;
    return strtod(c, NULL);
}

static void test_train_and_eval(void **state)
{
    (void)state;
    write_corpus("text", "");
    run_ok("train --corpus text --epochs 2 --positions both --untied --activation gelu"
           " --scheme strang-marchuk:heun --out model" TINY);
    assert_int_equal(rename(at("model"), at("moved")), 0);
    char *result = slurp(at("moved/result.csv"), NULL);
    Outcome o = run("eval --model moved --text text/valid.txt --csv --logits l.npy --max-tokens 7");
    expect(&o, 0, "eval");
    /* The same numbers in the same order: only batches may round otherwise. */
    double ppl = column(o.out, 2), valid = column(result, 5);
    assert_true(fabs(ppl - valid) <= 1e-5 * valid);
    assert_true(fabs(exp(column(o.out, 1)) - ppl) <= 1e-12 * ppl);
    drop(&o);
    free(result);
    size_t bytes;
    char *npy = slurp(at("l.npy"), &bytes);
    assert_non_null(strstr(npy + 10, "(7, 11)"));
    assert_int_equal(bytes, 128 + 4 * 7 * 11);
    free(npy);
    must_refuse("eval --model moved --text whole/nowhere.txt", "nowhere.txt");
}

static void spoil(const char *from, const char *to, size_t keep, size_t flip)
{
    size_t n;
    char *bytes = slurp(at(from), &n);
    if (flip < n) bytes[flip] ^= 0x10;
    write_file(to, bytes, keep < n ? keep : n);
    free(bytes);
}

static void test_spoiled_model(void **state)
{
    (void)state;
    write_corpus("text", "");
    run_ok("train --corpus text --epochs 1 --out fine" TINY);
    mkdir(at("spoiled"), 0777);
    copy_file("fine/vocab.txt", "spoiled/vocab.txt");
    copy_file("fine/model.safetensors", "spoiled/model.safetensors");
    run_ok("eval --model spoiled --text text/test.txt");
    spoil("fine/model.safetensors", "spoiled/model.safetensors", 5000, SIZE_MAX); /* truncated */
    must_refuse("eval --model spoiled --text text/test.txt", "model.safetensors");
    size_t n;
    free(slurp(at("fine/model.safetensors"), &n));
    spoil("fine/model.safetensors", "spoiled/model.safetensors", n, n - 3); /* a weight altered */
    must_refuse("eval --model spoiled --text text/test.txt", "model.safetensors");
    spoil("fine/model.safetensors", "spoiled/model.safetensors", n, 5); /* the header's length */
    must_refuse("eval --model spoiled --text text/test.txt", "model.safetensors");
}

static void test_full_disk(void **state)
{
    (void)state;
    write_corpus("text", "");
    run_ok("train --corpus text --epochs 1 --out full" TINY);
    copy_file("full/model.safetensors", "before");
    Outcome o = shell("ulimit -f 8;", "train --corpus text --epochs 1 --seed 2 --out full" TINY);
    expect(&o, 1, "train on a full disk");
    assert_int_equal(strncmp(last_line(o.err), "trotter train: ", 15), 0);
    assert_true(same_files("before", "full/model.safetensors"));
    drop(&o);
    run_ok("train --corpus text --epochs 1 --seed 2 --out full" TINY); /* the control */
    assert_false(same_files("before", "full/model.safetensors"));
}

static void test_not_finite(void **state)
{
    (void)state;
    write_corpus("text", "");
    write_text("boom.scheme", "scheme boom\nk1 = H(y)\ny' = y + 10^40*k1\nscheme calm\nk1 = H(y)\n"
                              "y' = y + k1\n");
    Outcome o = run("train --corpus text --scheme boom --scheme-file boom.scheme --out boom" TINY);
    expect(&o, 1, "train --scheme boom");
    assert_non_null(strstr(last_line(o.err), "epoch"));
    assert_non_null(strstr(last_line(o.err), "finite"));
    drop(&o);
    run_ok(
        "train --corpus text --scheme calm --scheme-file boom.scheme --epochs 1 --out boom" TINY);
}

static void pause_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* Starts the program, interrupts it once DIR/log.csv has rows, and gives its exit status. */
static int interrupt(const char *log, char *const argv[])
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0), dup2(null, 1), dup2(null, 2);
        if (chdir(scratch) == 0) execv(program, argv);
        _exit(127);
    }
    int status;
    for (int i = 0; i < 3000; i++) {
        if (exists(log)) {
            char *text = slurp(at(log), NULL);
            size_t n = lines(text);
            free(text);
            if (n > 3) break;
        }
        assert_int_equal(waitpid(child, &status, WNOHANG), 0); /* not over yet */
        pause_ms(10);
    }
    assert_int_equal(kill(child, SIGINT), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* All of the log but the last column, which tells the speed. */
static char *log_without_speed(const char *name)
{
    char *text = slurp(at(name), NULL), *to = text;
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n'), *comma = end;
        while (*comma != ',') comma--;
        memmove(to, line, (size_t)(comma - line));
        to += comma - line;
        *to++ = '\n';
        line = end + 1;
    }
    *to = '\0';
    return text;
}

static void test_interrupt_and_resume(void **state)
{
    (void)state;
    write_corpus("text", "");
    run_ok("train --corpus text --epochs 12 --out straight" TINY);
    char line[] = "trotter train --corpus text --epochs 12 --out stopped" TINY, *argv[64];
    int n = 0;
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) argv[n++] = word;
    argv[n] = NULL;
    assert_int_equal(interrupt("stopped/log.csv", argv), 130);
    assert_true(exists("stopped/state.safetensors") && !exists("stopped/result.csv"));
    must_refuse("train --resume --scheme euler --out stopped", "another scheme");
    must_refuse("train --resume --rate 0.5 --out stopped", "other options");
    must_refuse("train --resume --corpus whole/nowhere --out stopped", "nowhere");
    run_ok("train --resume --out stopped");
    assert_true(same_files("straight/model.safetensors", "stopped/model.safetensors"));
    char *a = log_without_speed("straight/log.csv"), *b = log_without_speed("stopped/log.csv");
    assert_string_equal(a, b);
    free(a);
    free(b);
    run_ok("train --corpus text --epochs 12 --seed 2 --out other" TINY); /* the control */
    assert_false(same_files("straight/model.safetensors", "other/model.safetensors"));
}

/* A comparison that is interrupted stops its run as well, and the same command goes on. */
static void test_interrupt_compare(void **state)
{
    (void)state;
    write_corpus("text", "");
    static const char args[] =
        "compare --corpus text --scheme euler --seeds 1 --epochs 12 --out halt" TINY;
    char line[512], *argv[64];
    int n = 0;
    snprintf(line, sizeof line, "trotter %s", args);
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) argv[n++] = word;
    argv[n] = NULL;
    assert_int_equal(interrupt("halt/runs/euler-seed1/log.csv", argv), 130);
    assert_false(exists("halt/runs/euler-seed1/result.csv"));
    run_ok(args);
    run_ok("train --corpus text --scheme euler --epochs 12 --out alone" TINY);
    assert_true(same_files("halt/runs/euler-seed1/model.safetensors", "alone/model.safetensors"));
    run_ok("train --resume --out alone"); /* nothing is left to do */
    assert_true(same_files("halt/runs/euler-seed1/model.safetensors", "alone/model.safetensors"));
}

/* Every context, precision and kind of positions, and a model rebuilt from each. */
static void test_train_variants(void **state)
{
    (void)state;
    static const char *const variant[] = {
        "--context sentence --positions relative",
        "--precision f64 --positions none --layers 2 --scheme ab2",
        "--match none --masks step --clip 1 --scheme word:ssfsff --vocabulary 8",
        "--scheme rk2-gate --layers 2 --warmup 0",
    };
    write_corpus("text", "");
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        char args[512];
        snprintf(args, sizeof args, "train --corpus text --epochs 1 --out kind" TINY "%s",
                 variant[i]);
        run_ok(args);
        char *result = slurp(at("kind/result.csv"), NULL);
        Outcome o = run("eval --model kind --text text/test.txt --csv");
        expect(&o, 0, "eval");
        double ppl = column(o.out, 2), test = column(result, 6);
        assert_true(fabs(ppl - test) <= 1e-5 * test);
        drop(&o);
        free(result);
    }
}

/* config.ini of a run is the run. */
static void test_replay(void **state)
{
    (void)state;
    write_corpus("text", "");
    run_ok("train --corpus text --epochs 1 --scheme macaron --dropout 0.2 --out first" TINY);
    run_ok("train --config first/config.ini --out second");
    assert_true(same_files("first/model.safetensors", "second/model.safetensors"));
    assert_true(same_files("first/config.ini", "second/config.ini"));
    run_ok("train --config first/config.ini --dropout 0.1 --out third");
    assert_false(same_files("first/model.safetensors", "third/model.safetensors"));
}

static void test_train_csv(void **state)
{
    (void)state;
    write_corpus("text", "");
    Outcome o = run("train --corpus text --epochs 2 --csv --out rows" TINY);
    expect(&o, 0, "train --csv");
    char *log = slurp(at("rows/log.csv"), NULL);
    assert_string_equal(o.out, log);
    assert_int_equal(
        strncmp(log, "step,epoch,tokens,train_loss,valid_ppl,rate,grad_norm,tokens_per_s\n", 67),
        0);
    assert_non_null(strstr(last_line(o.err), "perplexity"));
    free(log);
    drop(&o);
}

/* ---- compare ------------------------------------------------------------------------------------- */

static void test_compare(void **state)
{
    (void)state;
    static const char args[] =
        "compare --corpus text --scheme euler,lie-trotter --seeds 2 --epochs 2"
        " --csv --out both" TINY;
    write_corpus("text", "");
    Outcome first = run(args);
    expect(&first, 0, args);
    assert_non_null(strstr(first.out, "\nlie-trotter:euler,1,attention,"));
    assert_non_null(strstr(first.out, "\nunigram,"));
    assert_true(exists("both/compare.md") && exists("both/perplexity.png") &&
                exists("both/curves.svg") && exists("both/work.svg"));
    Outcome again = run(args); /* reads the runs of the first */
    expect(&again, 0, args);
    assert_string_equal(first.out, again.out);
    assert_non_null(strstr(again.err, "there already"));
    drop(&first);
    drop(&again);
    Outcome o =
        run("compare --corpus text --scheme euler --seeds 1 --epochs 1 --max-steps 1 --rate 1e-9"
            " --width 16 --inner 32 --heads 2 --threads 1 --out untrained");
    expect(&o, 1, "compare, untrained");
    assert_non_null(strstr(last_line(o.err), "word frequencies"));
    drop(&o);
}

/* ---- the whole ----------------------------------------------------------------------------------- */

static int begin(void **state)
{
    (void)state;
    const char *name = getenv("TROTTER");
    if (!realpath(name ? name : "build/trotter", program)) return -1;
    return mkdtemp(scratch) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    char line[128];
    snprintf(line, sizeof line, "rm -rf %s", scratch);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_bad_schemes),
        cmocka_unit_test(test_bad_corpora),
        cmocka_unit_test(test_long_line),
        cmocka_unit_test(test_config),
        cmocka_unit_test(test_full_stdout),
        cmocka_unit_test(test_csv_shapes),
        cmocka_unit_test(test_printed_schemes),
        cmocka_unit_test(test_zero_unstable),
        cmocka_unit_test(test_plots_without_gnuplot),
        cmocka_unit_test(test_train_and_eval),
        cmocka_unit_test(test_spoiled_model),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_interrupt_and_resume),
        cmocka_unit_test(test_interrupt_compare),
        cmocka_unit_test(test_train_variants),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_train_csv),
        cmocka_unit_test(test_compare),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
