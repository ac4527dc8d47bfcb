/* test_start.c: the program's decisions before its libraries begin: how threads wait, and whether there
 * is address space; and its warning of more threads than processors. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "kernels/threads.h"
#include "tests/lib/program.h"

#define TRAIN                                                                       \
    "train --corpus text --untested --epochs 1 --max-steps 1 --width 16 --inner 32" \
    " --heads 2 --sequence 16 --batch-tokens 256 --out run "

/* libgomp prints the settings that it has read. The user's own settings go first. */
TEST(waiting_is_bounded)
{
    static const struct {
        const char *name, *value;
        double least, most; /* spins */
    } given[] = {{"OMP_WAIT_POLICY", NULL, 100, 10000},
                 {"OMP_WAIT_POLICY", "active", 1e6, 1e18},
                 {"OMP_WAIT_POLICY", "passive", 0, 0},
                 {"GOMP_SPINCOUNT", "77", 77, 77},
                 {"GOMP_SPINCOUNT", "20000", 20000, 20000}};
    setenv("OMP_DISPLAY_ENV", "verbose", 1);
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        static const char words[] = "GOMP_SPINCOUNT = '";
        if (given[i].value) setenv(given[i].name, given[i].value, 1);
        int status = program_run("--version");
        unsetenv(given[i].name);
        const char *told = strstr(err, words);
        double spins = told ? atof(told + strlen(words)) : -1;
        if (status != 0 || !(spins >= given[i].least && spins <= given[i].most))
            fail_msg("%s=%s: status %d, %g spins: %s", given[i].name,
                     given[i].value ? given[i].value : "", status, spins, err);
    }
    unsetenv("OMP_DISPLAY_ENV");
}

/* A stand-in for gnuplot shows its environment: it has the user's number of spins and no other. */
TEST(what_it_starts_has_the_users_environment)
{
    shell_ok(
        "mkdir bin; printf '#!/bin/sh\nexec env >../seen\n' >bin/gnuplot; chmod 755 bin/gnuplot");
    for (int own = 0; own < 2; own++) {
        int status =
            shell("env PATH=$PWD/bin:$PATH %s %s order --system linear --scheme heun --out "
                  "plots",
                  own ? "GOMP_SPINCOUNT=1000" : "", program);
        assert_int_equal(status, 0);
        assert_true(file_has("seen", "PATH=") && file_has("seen", "GOMP_SPINCOUNT=") == own);
        assert_true(!own || file_has("seen", "\nGOMP_SPINCOUNT=1000\n"));
    }
}

/* The program starts itself again under its own name, as tables of processes show it, and not where the
 * dynamic linker was called in its place. It waits here for a configuration that nobody writes. */
TEST(it_keeps_its_name)
{
    assert_int_equal(mkfifo(file_path("fifo"), 0600), 0);
    shell("%s train --config fifo >/dev/null & for i in $(seq 3000); do grep -qs GOMP_SPINCOUNT "
          "/proc/$!/environ && break; sleep 0.1; done; cat /proc/$!/comm; kill -9 $!",
          program);
    const char *name = strrchr(program, '/') + 1;
    if (strncmp(out, name, strlen(name)) != 0) fail_msg("its name is %s", out);
    assert_int_equal(shell("/lib64/ld-linux-x86-64.so.2 %s --version", program), 0);
    assert_int_equal(strncmp(out, "trotter ", 8), 0);
}

/* Under any limit the program ends: it trains, or one line says what is short. The
 * dynamic linker has its own line for a mapping that fails, and status 127. */
static void need_address_space(void)
{
#ifdef __SANITIZE_ADDRESS__
    print_message("# SKIP a sanitizer needs terabytes of address space\n");
    skip();
#endif
}

TEST(a_limit_of_memory_is_told)
{
    static const char *const ways[][2] = {{"-v", "f32"}, {"-v", "f64"}, {"-d", "f64"}};
    need_address_space();
    setenv("OMP_NUM_THREADS", "2", 1);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        int told = 0, done = 0;
        for (double kb = 1e5; done < 2; kb *= 1.12) {
            forget_result(TRAIN);
            int status = shell("ulimit %s %.0f; exec timeout 300 %s " TRAIN "--precision %s",
                               ways[k][0], kb, program, ways[k][1]);
            int one = count_lines(err) == 1 + says("warning: 2 threads for 1 processor");
            if (status == 127 && one) continue;
            int fits = trained(status);
            told += !fits;
            done += fits;
            if (!(fits || (status == 1 && one && says(": out of memory: "))) || kb > 1e7)
                fail_msg("ulimit %s %.0f, %s: status %d: %s", ways[k][0], kb, ways[k][1], status,
                         err);
        }
        assert_true(told > 0);
    }
    unsetenv("OMP_NUM_THREADS");
}

/* More threads than the environment's may need more memory than there is; --threads then fails with a
 * message. */
TEST(threads_need_memory)
{
    need_address_space();
    int status = shell("export OMP_NUM_THREADS=1; ulimit -v 2000000; exec timeout 300 %s " TRAIN
                       "--threads 64",
                       program);
    if (status != 1 || !says("train: out of memory: ")) fail_msg("status %d: %s", status, err);
}

/* Limits that libraries would meet with a signal: it works, or one line says what is short. */
TEST(limits_of_threads_and_stacks)
{
    static const struct {
        const char *limit, *words; /* words: of a refusal or a warning */
        int status;
    } given[] = {
        {"export OMP_NUM_THREADS=99999", "99999 threads are more than 256", 0},
        {"ulimit -S -s 256", "", 0},
        {"ulimit -S -s 256; export OMP_WAIT_POLICY=passive", "", 0},
        {"export OMP_NUM_THREADS=2 OMP_STACKSIZE=17k", "", 0},
        {"export OMP_NUM_THREADS=2 GOMP_STACKSIZE=17", "", 0},
        {"ulimit -s 256", "the stack needs 2048 kB, and 256 kB are allowed (ulimit -s)", 1},
        {"ulimit -s 256; export OMP_NUM_THREADS=99999", "the stack needs 2048 kB", 1},
        {"ulimit -s 2048", "", 0}};
    need_address_space();
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        forget_result(TRAIN);
        int status = shell("%s; exec timeout 300 %s " TRAIN, given[i].limit, program);
        int told = !*given[i].words || says(given[i].words);
        if (!told || (given[i].status ? status != 1 || count_lines(err) != 1 : !trained(status)))
            fail_msg("%s: status %d: %s", given[i].limit, status, err);
    }
}

static int warnings(void)
{
    int n = 0;
    for (const char *at = err; (at = strstr(at, "warning: ")); at++)
        n += strstr(at, "threads") != NULL;
    return n;
}

/* More threads than processors give one warning, however many runs a study has. */
TEST(too_many_threads_are_told)
{
    char many[16];
    int n = threads_processors();
    const char *few = formed("%d", n);
    snprintf(many, sizeof many, "%d", n + 1);
    for (int k = 0; k < 4; k++) { /* by the option, by the environment; few, many */
        forget_result(TRAIN);
        const char *line = formed(TRAIN "--threads %s", k & 1 ? "0" : k & 2 ? many : few);
        if (k & 1) setenv("OMP_NUM_THREADS", k & 2 ? many : few, 1);
        int status = program_run(line);
        unsetenv("OMP_NUM_THREADS");
        if (!trained(status) || warnings() != k / 2)
            fail_msg("%s: status %d: %s", line, status, err);
    }
    program_run(
        "compare --system linear --corpus text --scheme euler,heun --seeds 1 --truncation 0 --epochs 1 "
        "--max-steps 2 --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 256 "
        "--threads %s --out study",
        many);
    assert_true(file_exists("study/runs/heun-seed1/result.csv"));
    if (warnings() != 1) fail_msg("%s", err);
    assert_int_equal(program_run("schemes"), 0);
    assert_int_equal(warnings(), 0);
}

/* The dynamic linker says what it begins. A study starts itself again, to set how threads wait; each of its runs begins with that. */
TEST(runs_start_once)
{
    unsetenv("OMP_NUM_THREADS");
    shell(
        "rm -rf study; LD_DEBUG=files LD_DEBUG_OUTPUT=began %s compare --system linear --corpus text "
        "--scheme euler,heun --seeds 2 --truncation 0 --epochs 1 --max-steps 2 --width 16 --inner 32 "
        "--heads 2 --sequence 16 --batch-tokens 256 --out study; "
        "ls study/runs; grep -h 'calling preinit: .*trotter$' began.* | wc -l",
        program);
    if (!strstr(out, "\n6\n")) fail_msg("4 runs: %s", out);
}

/* oneDNN writes each kernel that it compiles to a file if asked to. Small products do without; others are the control. */
TEST(small_products_compile_nothing)
{
    for (int wide = 0; wide < 2; wide++) {
        shell(
            "rm -rf small dnnl_dump*; DNNL_JIT_DUMP=1 %s train --corpus text --untested --epochs 1 --max-steps 1 "
            "--width %d --inner 16 --heads 2 --sequence 8 --batch-tokens 64 --vocabulary 20 --out small; ls "
            "dnnl_dump* | wc -l",
            program, wide ? 64 : 8);
        int there = strcmp(out, "0\n") != 0;
        if (wide && !there) print_message("# SKIP this build has no oneDNN\n");
        if (wide && !there) skip();
        if (there != wide) fail_msg("width %d: %s", wide ? 64 : 8, out);
    }
}

/* Writes a text; leaves the environment of a user who has not said how threads wait. */
static int begin(void **state)
{
    unsetenv("OMP_WAIT_POLICY");
    unsetenv("OMP_NUM_THREADS");
    if (program_open_drawn(state)) return -1;
    corpus_write("text", 100, 100);
    return 0;
}

TEST_MAIN(begin, program_close)
