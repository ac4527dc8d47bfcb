/* test_memory_limit.c: the memory that a training predicts against the memory it took; and --memory-limit. */
#include "tests/lib/test.h"

#include <sys/stat.h>

#include "tests/lib/program.h"

enum { WORDS = 3000 };

/* Writes texts of so many different words, each equally often. */
static int begin(void **state)
{
    static const char *const split[] = {"train", "valid", "test"};
    static char text[1 << 17];
    if (program_open(state)) return -1;
    unsetenv("DNNL_MAX_CPU_ISA"); /* its code counts */
    mkdir(file_path("text"), 0777);
    for (int i = 0; i < 3; i++) {
        char name[32];
        size_t n = 0;
        for (int k = 0; k < (i ? 300 : 3 * WORDS); k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "w%d%c", k % WORDS,
                                  k % 10 == 9 ? '\n' : ' ');
        snprintf(name, sizeof name, "text/%s.txt", split[i]);
        file_write(name, text, n);
    }
    return 0;
}

#define OPTIONS(corpus)      \
    "train --corpus " corpus \
    " --out run --untested --epochs 1 --max-steps 2 --heads 4 --sequence 32 "
#define RUN OPTIONS("text")
#define PAIRS OPTIONS("reverse:26")
#define MANY OPTIONS("reverse:10000")

/* Measures the bytes predicted and the peak; both are 0 where the run was refused. */
static void measure(const char *line, double *told, double *took)
{
    forget_result(RUN);
    int status = program_run(line);
    *told = *took = 0;
    if (!trained(status)) return;
    const char *words = strstr(err, "of the process: about ");
    assert_non_null(words);
    *told = 1e6 * atof(words + strlen("of the process: about "));
    *took = file_number("run/result.csv", 1, "peak_bytes");
}

static const char *const runs[] = {
    RUN "--threads 1 --width 32 --inner 64 --batch-tokens 512",
    RUN "--threads 1 --width 128 --inner 512 --batch-tokens 1024",
    RUN "--threads 2 --width 128 --inner 512 --batch-tokens 1024 --scheme macaron",
    RUN "--threads 1 --width 128 --inner 512 --batch-tokens 1024 --scheme rk4-layer --recompute",
    RUN "--threads 1 --width 128 --inner 512 --batch-tokens 1024 --scheme rk4-layer",
    RUN
    "--threads 1 --width 128 --inner 512 --batch-tokens 512 --scheme heun --precision f64 --untied",
    RUN "--threads 1 --width 256 --inner 1024 --batch-tokens 512 --scheme transformer --layers 2",
    RUN
    "--threads 1 --width 128 --inner 256 --batch-tokens 512 --scheme ab2 --layers 4 --accumulate 2 "
    "--recompute",
    PAIRS "--threads 1 --width 32 --inner 64 --batch-tokens 512",
    PAIRS "--threads 2 --width 128 --inner 512 --batch-tokens 2048 --encoder rk4-layer",
    PAIRS "--threads 2 --width 128 --inner 512 --batch-tokens 2048 --encoder rk4-layer --recompute",
    PAIRS "--threads 1 --width 64 --inner 128 --batch-tokens 1024 --decoder macaron --layers 2 "
          "--encoder-layers 4 --norm post",
    PAIRS "--threads 1 --width 128 --inner 256 --batch-tokens 512 --precision f64 --decoder heun",
    MANY "--threads 1 --width 64 --inner 128 --batch-tokens 512",
    MANY "--threads 1 --width 64 --inner 128 --batch-tokens 512 --precision f64 --untied",
};

TEST(the_count_is_within_a_tenth)
{
#ifdef __SANITIZE_ADDRESS__
    print_message("# SKIP the sanitizer's own memory\n");
    skip();
#endif
    /* A process's memory includes pages of libraries, of which Linux maps more where its cache holds them in large
     * pieces: one of a few runs has to agree. */
    enum { TRIES = 3 };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        double told = 0, took = 0;
        for (int k = 0; k < TRIES && !(told > 0 && fabs(told - took) <= 0.1 * took); k++)
            measure(runs[i], &told, &took);
        print_message("# %s: told %.1f MB, took %.1f MB\n", runs[i], 1e-6 * told, 1e-6 * took);
        if (!(told > 0 && fabs(told - took) <= 0.1 * took))
            fail_msg("%s: told %.1f MB, took %.1f MB", runs[i], 1e-6 * told, 1e-6 * took);
    }
}

/* A limit above the need lets a training run; one below stops it and leaves nothing. A smaller need passes a limit
 * that a larger one does not. */
TEST(a_limit_stops_what_is_above)
{
    double told, took;
    char line[1024];
    static const char size[] = RUN "--threads 1 --width 128 --scheme rk4-layer --batch-tokens 2048";
    forget_result(RUN);
    assert_true(trained(program_run(size)));
    told = 1e6 * atof(strstr(err, "of the process: about ") + strlen("of the process: about "));
    snprintf(line, sizeof line, "%s --memory-limit %.0f", size, told * 1.1);
    assert_true(trained(program_run(line)));
    shell_ok("rm -rf run");
    int status = program_run("%s --memory-limit %.0fK", size, told * 0.9 / 1024);
    if (!refused(status, "train", "--memory-limit") || !strstr(err, "--recompute") ||
        !strstr(err, "--accumulate"))
        fail_msg("status %d: %s", status, err);
    assert_false(file_exists("run"));
    snprintf(line, sizeof line, "%s --memory-limit %.0fK --recompute", size, told * 0.9 / 1024);
    assert_true(trained(program_run(line)));
    measure(RUN "--threads 1 --memory-limit 1000T", &told, &took);
    assert_true(told > 0);
}

/* compare passes the limit on to its runs. */
TEST(compare_passes_it_on)
{
    expect(
        1,
        "compare --system linear --corpus text --scheme transformer --seeds 1 --truncation 0 --epochs 1 "
        "--max-steps 1 --memory-limit 1M --out compared");
    assert_true(says("--memory-limit 1M: this training needs"));
}

TEST_MAIN(begin, program_close)
