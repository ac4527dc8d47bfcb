/* test_gpus.c: `mpirun -n N trotter train --device cuda`, a GPU for each rank: it has the loss curve of one GPU, the
 * same bits when resumed, and one line for what cannot be done. On a machine with several GPUs and NCCL it uses all of
 * them. The other program is linked with the stand-in of the CUDA runtime (tests/cuda), with three pretended GPUs, a
 * library in NCCL's place, and streams in the orders farthest apart; there the tests show that a rank's mistakes are
 * seen. */
#include "tests/lib/test.h"

#include <dlfcn.h>

#include "kernels/ranks.h"
#include "tests/lib/backends.h"
#include "tests/lib/mpirun.h"

#define GPU " --device cuda" TINY
#define SHORT "train --epochs 2 --dropout 0.2" GPU
#define BROKEN "broken" /* a directory with a file that is no library */

/* The tolerance of f32 on processors; test_ranks.c has the reasons. */
static const double tolerance = 5e-4;
enum { PRETENDED = 3 };

static int gpus;
static char apart_of_gpus[512]; /* why several do not train together here */

static int stand_in(void)
{
    return tested_prefix != NULL;
}

/* Finds the stand-in's program, which lies beside its tests, and its library in NCCL's place, which lies below them.
 * The program has no path to the library: under sanitizers it is they who open libraries, and only their own paths
 * count. */
static int find_program(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    if (n <= 0 || !stand_in()) return n <= 0;
    path[n] = '\0';
    strcpy(strrchr(path, '/'), "/nccl");
    setenv("LD_LIBRARY_PATH", path,
           1); /* for programs; this one finds it by its name once it is open */
    strcat(path, "/libnccl.so.2");
    if (!dlopen(path, RTLD_NOW)) return -1;
    strcpy(strstr(path, "/nccl/"), "/cuda_trotter");
    return realpath(path, program) ? 0 : -1;
}

static void try_two(void)
{
    if (gpus < 2) {
        snprintf(apart_of_gpus, sizeof apart_of_gpus, "%d GPU%s here, several ranks need as many",
                 gpus, gpus == 1 ? "" : "s");
    } else if (!trained(run_ranks(2, "train --max-steps 1 --epochs 1 --out first" GPU))) {
        char *line = strstr(err, "trotter train: ");
        if (line && (strstr(line, "no NCCL") || strstr(line, "there is none")))
            snprintf(apart_of_gpus, sizeof apart_of_gpus, "%.400s", line);
    }
}

static int begin(void **state)
{
    if (program_open_drawn(state) || find_program()) return -1;
    setenv("TROTTER_CUDA_DEVICES", formed("%d", PRETENDED), 1);
    gpus = stand_in() ? PRETENDED : backend_devices();
    if (ranks_begin() != 0) return -1;
    mkdir(file_path(BROKEN), 0777);
    file_write(BROKEN "/libnccl.so.2", "", 0);
    if (!*missing) try_two();
    return 0;
}

static void need_gpus(void)
{
    need_ranks();
    if (!*apart_of_gpus) return;
    print_message("# SKIP %s\n", apart_of_gpus);
    skip();
}

static void no_sum(Ranks *r, double *x, size_t n)
{
    (void)r, (void)x, (void)n;
}
static void no_send(Ranks *r, int from, void *x, size_t bytes)
{
    (void)r, (void)from, (void)x, (void)bytes;
}
static void no_close(Ranks *r)
{
    (void)r;
}
static void no_abandon(Ranks *r, int status)
{
    (void)r;
    fail_msg("status %d: %s", status, error_text());
}

/* The times of a step's launches and its gaps are the step, and a step has products and Adam; they are written to a folder. */
TEST(a_step_is_timed_launch_by_launch)
{
#define TIMED \
    "bench train --launches --width tiny --scheme transformer --device cuda --precision tf32 --repeats 3 --budget 0 --csv"
    if (gpus == 0) {
        print_message("# SKIP no GPU here\n");
        skip();
    }
    must_refuse(TIMED, "add --out DIR");
    must_print(TIMED " --out timed", "\ntrain.cuda-tf32.tiny.tokens_per_s,transformer,");
    shell_ok(
        "awk -F, 'FNR == 1 { next } FNR == NR { if ($5 == \"gaps\") most = $4; else if ($4 != ++n) bad++; s += $6; "
        "p += $5 == \"product\"; a += $5 == \"cuda_adam\"; next } $1 ~ /tiny.tokens_per_s$/ { d = s * $3 / 64 - 1 } "
        "END { exit !(n > 20 && most == n && !bad && p > 9 && a > 0 && d * d < 1e-12) }' "
        "timed/launches.csv timed/bench-train.csv");
}

/* One GPU can run this much of NCCL: the sum over one rank is its own numbers, in the kernels' order. */
TEST(a_rank_alone_sums_to_itself)
{
    enum { N = 100000 };
    static double x[N], y[N];
    const Backend *b;
    if (backend_find("cuda-f32", NULL, &b) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    Ranks r = {.size = 1, .sum = no_sum, .send = no_send, .close = no_close, .abandon = no_abandon};
    if (ranks_join(&r, b) != 0) {
        print_message("# SKIP %s\n", error_text());
        skip();
    }
    float *d = b->alloc(N);
    for (int i = 0; i < N; i++) x[i] = i % 1000 - 3;
    for (int turn = 1; turn <= 3; turn++) {
        b->put(d, x, N);
        r.begin(&r, d, N / 2, sizeof(float));
        r.push(&r);
        r.begin(&r, d + N / 2, N - N / 2, sizeof(float));
        r.wait(&r);
        b->copy(d, d + N / 2, N / 2);
        b->get(y, d, N);
        assert_memory_equal(y, x + N / 2, N / 2 * sizeof *y);
        assert_memory_equal(y + N / 2, x + N / 2, N / 2 * sizeof *y);
        r.sum(&r, y, 1);
        assert_int_equal(r.bytes, (size_t)turn * N * sizeof(float));
    }
    assert_true(r.seconds > 0);
    assert_int_equal(b->wait(), 0);
    r.close(&r);
    b->release(d);
}

static const char *const curves[] = {
    "train --scheme transformer --epochs 2 --dropout 0.2" GPU,
    "train --scheme macaron --context sentence --accumulate 2 --clip 0.3 --average 2 --epochs 2 "
    "--dropout 0.2 --positions both --untied" GPU,
};

/* Checks ranks.csv: each rank gave all of its gradients to a sum in each step, and waited for part of the time. */
static void check_shares(int ranks)
{
    double params = result_of("many", "params");
    for (int k = 0; k < ranks; k++) {
        double bytes = file_number("many/ranks.csv", k + 1, "bytes_per_step"),
               wait = file_number("many/ranks.csv", k + 1, "wait_ms_per_step");
        if (bytes != 4 * params) fail_msg("rank %d: %g bytes of %g numbers", k, bytes, params);
        assert_true(wait > 0 && wait <= file_number("many/ranks.csv", k + 1, "ms_per_step"));
    }
}

TEST(gpus_have_the_curve_of_one)
{
    need_gpus();
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        one_process(curves[i]);
        for (int n = i ? gpus : 2; n <= gpus; n = n < gpus && 2 * n > gpus ? gpus : 2 * n) {
            double e = apart_from_one(n, curves[i]);
            if (!(e <= tolerance)) fail_msg("%d ranks, %s: off by %g", n, curves[i], e);
            check_shares(n);
        }
    }
}

/* Checks that the curve cannot be taken for the right one while NAME is WHAT for all ranks. */
static void must_be_seen(const char *name, const char *what)
{
    setenv(name, what, 1);
    double e = apart_from_one(2, SHORT);
    unsetenv(name);
    if (!(e > 20 * tolerance && e < 1e8)) fail_msg("%s=%s: off by %g", name, what, e);
}

static void what_a_rank_gets_wrong_is_seen(void **state)
{
    (void)state;
    need_ranks();
    one_process(SHORT);
    must_be_seen("TROTTER_SPOIL", "rows");
    must_be_seen("TROTTER_SPOIL", "places");
    must_be_seen("TROTTER_NCCL", "drop:1");
    double e = apart_from_one(2, SHORT);
    if (!(e <= tolerance)) fail_msg("off by %g", e);
}

static void right_in_every_order_of_streams(void **state)
{
    (void)state;
    static const char *const first[] = {"newest", "oldest"};
    need_ranks();
    must_run(2, "train --epochs 1 --dropout 0.2" GPU " --out whole");
    for (int deaf = 0; deaf < 2; deaf++)
        for (int i = 0; i < 2; i++) {
            setenv("TROTTER_CUDA_STREAMS", first[i], 1);
            if (deaf) setenv("TROTTER_CUDA_DEAF", "1", 1);
            int status = run_ranks(2, "train --epochs 1 --dropout 0.2" GPU " --out run");
            unsetenv("TROTTER_CUDA_STREAMS");
            unsetenv("TROTTER_CUDA_DEAF");
            int right =
                trained(status) && same_files("run/model.safetensors", "whole/model.safetensors");
            if (right == deaf)
                fail_msg("%s stream first, events %s: status %d, %s", first[i],
                         deaf ? "unheard" : "heard", status, err);
        }
}

#define LONG "train --epochs 4 --dropout 0.2" GPU

static void must_be_whole(const char *what)
{
    must_run(2, LONG " --resume --out run");
    if (!same_files("run/model.safetensors", "whole/model.safetensors"))
        fail_msg("%s and resumed: another model", what);
}

TEST(stops_and_goes_on_with_the_same_bits)
{
    need_gpus();
    must_run(2, LONG " --out whole");
    must_run(2, SHORT " --out run");
    must_be_whole("two epochs");
    int status = finish(start_and_signal(LONG, 1, SIGTERM));
    if (status != 130 || errors() != 1) fail_msg("status %d, %s", status, err);
    must_be_whole("stopped");
}

TEST(what_cannot_be_is_told_once)
{
    need_gpus();
    ranks_must_refuse(gpus + 1, "train --out no" GPU, "have the same device");
    char libraries[PATH_MAX] = "";
    const char *before = getenv("LD_LIBRARY_PATH");
    ranks_must_refuse(
        2, formed("train --out no" GPU "%s : -n 1 %s train --out no" TINY, corpus, program),
        "rank 2 has cpu-f32, rank 0 cuda-f32");
    if (before) snprintf(libraries, sizeof libraries, "%s", before);
    setenv("LD_LIBRARY_PATH", file_path(BROKEN), 1);
    ranks_must_refuse(2, "train --out no" GPU, "need NCCL, and there is none");
    if (before)
        setenv("LD_LIBRARY_PATH", libraries, 1);
    else
        unsetenv("LD_LIBRARY_PATH");
    assert_false(file_exists("no"));
}

/* Checks that a failure on the last rank is put in words and ends all ranks. */
static void must_end_all(const char *what, const char *words)
{
    setenv("TROTTER_NCCL", what, 1);
    int status = run_ranks(2, SHORT " --out failed");
    unsetenv("TROTTER_NCCL");
    if (status != 1 || errors() != 1 || !strstr(err, words))
        fail_msg("%s: status %d, expected '%s': %s", what, status, words, err);
}

static void a_failure_ends_all(void **state)
{
    (void)state;
    need_ranks();
    must_end_all(
        "refuse:5",
        "trotter train: NCCL failed in AllReduce: unhandled system error: sum 5 was refused");
    must_end_all("lose:5", "trotter train: NCCL failed in a sum: remote process exited");
    must_end_all("fault:5", "trotter train: the device was lost (cudaErrorLaunchFailure");
}

int main(void)
{
    static const struct CMUnitTest alone[] = {cmocka_unit_test(what_a_rank_gets_wrong_is_seen),
                                              cmocka_unit_test(right_in_every_order_of_streams),
                                              cmocka_unit_test(a_failure_ends_all)};
    for (size_t i = 0; stand_in() && i < sizeof alone / sizeof *alone; i++)
        test_add(&alone[i], __LINE__);
    return test_run(begin, program_close);
}
