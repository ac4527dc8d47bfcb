/* test_faults.c: training runs killed at random moments, stopped by a file-size limit, and
 * files with a flipped bit or a lost end. Each time the outcome is either a correct continuation, to the
 * bit, or one line and the right exit status, and what was good before is still there.
 *
 * TROTTER_FAULTS is the number of faults of each kind; TROTTER_FAULT_SEED draws others (`make soak`).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include "kernels/random.h"
#include "tests/program.h"

enum { ROOM = 1 << 20, FEW = 15 };

/* Many short epochs: a good part of the time is spent on saving. */
#define RUN_OPTIONS                                                                         \
    "--corpus markov:16 --scheme transformer --width 8 --inner 16 --heads 2 --sequence 16 " \
    "--batch-tokens 256 --epochs 4 --max-steps 60 --rate 3e-3 --warmup 10 --threads 1 --seed 3"

static struct {
    size_t each; /* faults of each kind */
    uint64_t seed, drawn;
    size_t faults, lost;
} soak;

static double draw(void)
{
    return random_uniform(soak.seed, 1, soak.drawn++);
}

static size_t draw_below(size_t n)
{
    return (size_t)random_below(soak.seed, 2, soak.drawn++, n);
}

/* ---- files -------------------------------------------------------------------------------------- */

typedef struct {
    char *byte;
    size_t size;
} Bytes;

static Bytes slurp(const char *name)
{
    Bytes b = {malloc(ROOM), 0};
    FILE *f = fopen(file_path(name), "rb");
    assert_non_null(b.byte);
    if (!f) return b;
    b.size = fread(b.byte, 1, ROOM, f);
    fclose(f);
    assert_true(b.size < ROOM);
    return b;
}

static int same_bytes(const char *name, const Bytes *b)
{
    Bytes now = slurp(name);
    int same = now.size == b->size && memcmp(now.byte, b->byte, b->size) == 0;
    free(now.byte);
    return same;
}

static void clear(const char *name)
{
    char line[2 * PATH_MAX];
    snprintf(line, sizeof line, "rm -rf %s", file_path(name));
    assert_int_equal(system(line), 0);
}

/* ---- the run that nothing happens to -------------------------------------------------------------- */

static Bytes whole_model, whole_state;
static double whole_seconds;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int open_all(void **state)
{
    const char *each = getenv("TROTTER_FAULTS"), *seed = getenv("TROTTER_FAULT_SEED");
    if (program_open(state)) return -1;
    soak.each = each ? (size_t)atol(each) : FEW;
    soak.seed = seed ? (uint64_t)atoll(seed) : 1;
    double begun = now();
    if (program_run("train " RUN_OPTIONS " --out whole") != 0) return -1;
    whole_seconds = now() - begun;
    whole_model = slurp("whole/model.safetensors");
    whole_state = slurp("whole/state.safetensors");
    return whole_model.size && whole_state.size ? 0 : -1;
}

static int close_all(void **state)
{
    printf("# %zu faults, %zu runs lost (seed %llu)\n", soak.faults, soak.lost,
           (unsigned long long)soak.seed);
    free(whole_model.byte);
    free(whole_state.byte);
    return program_close(state);
}

/* A run is lost when it cannot be carried to the very end that the whole run has. */
static void check_end(const char *what)
{
    soak.faults++;
    if (same_bytes("run/model.safetensors", &whole_model)) return;
    soak.lost++;
    fail_msg("%s: the continued run ends elsewhere (fault %zu, seed %llu)", what, soak.faults,
             (unsigned long long)soak.seed);
}

/* ---- faults ------------------------------------------------------------------------------------- */

/* Starts a training in a process of its own; limit: of the size of files, 0: none. */
static pid_t start(const char *arguments, size_t limit)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    char line[2 * PATH_MAX];
    if (limit) setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, limit});
    snprintf(line, sizeof line, "exec %s %s >out.txt 2>err.txt </dev/null", program, arguments);
    if (chdir(folder) == 0) execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static int finish(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    file_read("err.txt", err, sizeof err);
    return status;
}

/* Go on where there is a state, else from the beginning: what a user would type. */
static const char *again(void)
{
    return file_exists("run/state.safetensors") ? "train " RUN_OPTIONS " --out run --resume"
                                                : "train " RUN_OPTIONS " --out run";
}

static void wait_seconds(double s)
{
    nanosleep(&(struct timespec){(time_t)s, (long)(1e9 * (s - (double)(time_t)s))}, NULL);
}

/* Killed up to three times, each time at a random moment. */
static void killed(void **state)
{
    (void)state;
    for (size_t i = 0; i < soak.each; i++) {
        clear("run");
        for (size_t k = 1 + draw_below(3); k > 0; k--) {
            pid_t pid = start(again(), 0);
            wait_seconds(draw() * whole_seconds);
            kill(pid, SIGKILL);
            finish(pid);
        }
        if (program_run(again()) != 0) fail_msg("a killed run does not go on: %s", err);
        check_end("killed");
    }
}

/* SIGTERM, as a queue sends it: saved, status 130, and nothing done twice. */
static void asked_to_stop(void **state)
{
    (void)state;
    for (size_t i = 0; i < soak.each; i++) {
        clear("run");
        pid_t pid = start(again(), 0);
        wait_seconds(draw() * whole_seconds);
        kill(pid, draw_below(2) ? SIGTERM : SIGINT);
        int status = finish(pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 130)
            assert_true(file_exists("run/state.safetensors"));
        if (program_run(again()) != 0) fail_msg("a stopped run does not go on: %s", err);
        check_end("stopped");
    }
}

/* No file may grow beyond a random size: one line, status 1, and the run goes on without the limit. */
static void file_size_limit(void **state)
{
    (void)state;
    for (size_t i = 0; i < soak.each; i++) {
        clear("run");
        int status = finish(start(again(), 1 + draw_below(whole_state.size + 512)));
        if (!WIFEXITED(status)) fail_msg("a full disk ended the program with a signal");
        if (WEXITSTATUS(status) != 0) {
            assert_int_equal(WEXITSTATUS(status), 1);
            assert_int_equal(count_lines(strstr(err, "trotter train: ")), 1);
        }
        if (program_run(again()) != 0) fail_msg("after a full disk it does not go on: %s", err);
        check_end("file-size limit");
    }
}

/* One bit other, or the end cut off: refused in one line, and the file is left as it was; or, where
 * what is damaged says nothing (the word "checksum"), data as of the good file. */
static void damage(const char *name, const Bytes *good, const char *arguments, const char *data)
{
    Bytes bad = {malloc(good->size), good->size};
    assert_non_null(bad.byte);
    memcpy(bad.byte, good->byte, good->size);
    if (draw_below(4) == 0)
        bad.size = draw_below(good->size);
    else
        bad.byte[draw_below(bad.size)] ^= (char)(1 << draw_below(8));
    file_write(name, bad.byte, bad.size);
    soak.faults++;
    int status = program_run(arguments);
    int right = status == 0 ? data && strcmp(out, data) == 0 : status == 2 && count_lines(err) == 1;
    if (!right) {
        soak.lost++;
        fail_msg("'%s' with a damaged %s: status %d: %s", arguments, name, status, err);
    }
    assert_true(same_bytes(name, &bad));
    free(bad.byte);
}

static void damaged_state(void **state)
{
    (void)state;
    clear("run");
    assert_int_equal(program_run("train " RUN_OPTIONS " --out run"), 0);
    for (size_t i = 0; i < soak.each; i++)
        damage("run/state.safetensors", &whole_state, "train " RUN_OPTIONS " --out run --resume",
               NULL);
    file_write("run/state.safetensors", whole_state.byte, whole_state.size);
    assert_int_equal(program_run("train " RUN_OPTIONS " --out run --resume"), 0);
    check_end("damaged state put right");
}

static void damaged_model(void **state)
{
    (void)state;
    static char data[sizeof out];
    static const char eval[] = "eval --model whole --text whole/vocab.txt";
    assert_int_equal(program_run(eval), 0);
    strcpy(data, out);
    for (size_t i = 0; i < soak.each; i++)
        damage("whole/model.safetensors", &whole_model, eval, data);
    file_write("whole/model.safetensors", whole_model.byte, whole_model.size);
}

/* The harness itself: a run with one option other does end elsewhere. */
static void another_run_is_told_apart(void **state)
{
    (void)state;
    clear("run");
    assert_int_equal(program_run("train " RUN_OPTIONS " --dropout 0.2 --out run"), 0);
    assert_false(same_bytes("run/model.safetensors", &whole_model));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_run_is_told_apart),
        cmocka_unit_test(killed),
        cmocka_unit_test(asked_to_stop),
        cmocka_unit_test(file_size_limit),
        cmocka_unit_test(damaged_state),
        cmocka_unit_test(damaged_model),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
