/* test_fuzz.c: every harness of tests/fuzz over its seeds, over the inputs that fuzzing found (all
 * mended), and over damaged copies of both: one byte changed, the end cut off, a piece repeated. A
 * harness aborts where a reader breaks its promise, so the last "# input" line of the log names the
 * culprit.
 *
 *     test_fuzz --seeds DIR    writes the seeds that are made, for `make fuzz`
 */
#include "tests/lib/test.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "kernels/base/random.h"
#include "tests/fuzz/fuzz.h"
#include "tests/lib/scratch.h"

/* FUZZ_LIST: X(name) for every tests/fuzz/name.c, from the Makefile. */
#define X(name) int fuzz_##name(const uint8_t *data, size_t size);
FUZZ_LIST
#undef X

static const struct {
    const char *name;
    int (*run)(const uint8_t *data, size_t size);
} harness[] = {
#define X(name) {#name, fuzz_##name},
    FUZZ_LIST
#undef X
};
enum { HARNESSES = sizeof harness / sizeof *harness };

enum { INPUT_MOST = 1 << 20, SECONDS_MOST = 20, DAMAGED = 24 };

static struct {
    size_t inputs, damaged;
} done;

static char made[512]; /* folder of the seeds that fuzz_seeds writes */

/* ---- one input ----------------------------------------------------------------------------------- */

/* Runs the input in memory of just that length, so that a sanitizer sees the first byte after it. */
static void run_input(size_t h, const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    struct timespec a, b;
    assert_non_null(exact);
    memcpy(exact, data, size);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a); /* its own time, whatever else runs */
    assert_int_equal(harness[h].run(exact, size), 0);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
    free(exact);
    if (b.tv_sec - a.tv_sec > SECONDS_MOST) fail_msg("%s: too slow", harness[h].name);
}

static size_t below(size_t h, size_t turn, size_t n)
{
    return (size_t)random_below(h + 1, 1, turn, n);
}

/* Writes a copy (at most `size` + 64 bytes), damaged in one of three ways; returns its size. */
static size_t damage(size_t h, size_t turn, const uint8_t *data, size_t size, uint8_t *out)
{
    size_t at = below(h, 4 * turn, size), n = below(h, 4 * turn + 1, 64);
    if (n > size - at) n = size - at;
    memcpy(out, data, size);
    switch (turn % 3) {
    case 0: out[at] ^= (uint8_t)(1 + below(h, 4 * turn + 2, 255)); return size;
    case 1: return at;
    default:
        memmove(out + at + n, data + at, size - at);
        memcpy(out + at, data + at, n);
        return size + n;
    }
}

static void run_damaged(size_t h, const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 64);
    assert_non_null(copy);
    for (size_t turn = 0; size && turn < DAMAGED; turn++, done.damaged++)
        run_input(h, copy, damage(h, turn, data, size, copy));
    free(copy);
}

/* ---- folders of inputs --------------------------------------------------------------------------- */

static void run_file(size_t h, const char *path)
{
    static uint8_t data[INPUT_MOST];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    assert_true(size < sizeof data);
    printf("# input %s\n", path);
    fflush(stdout);
    run_input(h, data, size);
    run_damaged(h, data, size);
    done.inputs++;
}

/* Runs the inputs of DIR/NAME and returns their number; 0 where there is no such folder. */
static size_t run_folder(size_t h, const char *dir)
{
    char of[512], path[1024];
    size_t n = 0;
    snprintf(of, sizeof of, "%s/%s", dir, harness[h].name);
    DIR *d = opendir(of);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", of, e->d_name);
        run_file(h, path);
        n++;
    }
    if (d) closedir(d);
    return n;
}

/* ---- two readers ----------------------------------------------------------------------------------- */

/* Harnesses whose inputs are draws, so that any bytes do. FUZZ_DRAWN is the number of inputs. */
static const char *const twice_read[] = {"statements", "tableau"};
enum { TWICE = sizeof twice_read / sizeof *twice_read, DRAWN_MOST = 200 };

static size_t harness_of(const char *name)
{
    size_t h = 0;
    while (h < HARNESSES && strcmp(harness[h].name, name) != 0) h++;
    assert_true(h < HARNESSES);
    return h;
}

static void run_drawn(size_t h, size_t inputs)
{
    uint8_t bytes[DRAWN_MOST];
    for (size_t turn = 0; turn < inputs; turn++) {
        size_t n = (size_t)random_below(h, 2, turn, DRAWN_MOST);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)random_below(h, 3 + turn, i, 256);
        printf("# %s, input %zu\n", harness[h].name, turn);
        fflush(stdout);
        run_input(h, bytes, n);
    }
}

TEST(drawn_inputs)
{
    const char *most = getenv("FUZZ_DRAWN");
    for (int k = 0; k < TWICE; k++)
        run_drawn(harness_of(twice_read[k]), most ? (size_t)atol(most) : 300);
}

/* Control: a second reader that makes a mistake is told from the first within as many inputs. */
TEST(planted_differences)
{
    for (int k = 0; k < TWICE; k++) {
        int status;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            fuzz_planted = 1;
            signal(SIGABRT, SIG_DFL);
            if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(2);
            run_drawn(harness_of(twice_read[k]), 300);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
            fail_msg("%s does not see a planted difference", twice_read[k]);
    }
}

/* ---- tests --------------------------------------------------------------------------------------- */

static int open_all(void **state)
{
    if (scratch_open(state) != 0) return -1;
    snprintf(made, sizeof made, "%s/seeds", folder);
    return fuzz_seeds(made);
}

static void test_replay(void **state)
{
    size_t h = *(size_t *)*state;
    done.inputs = done.damaged = 0;
    size_t seeds = run_folder(h, "tests/fuzz/seeds") + run_folder(h, made);
    run_input(h, (const uint8_t *)"", 0);
    run_folder(h, "tests/fuzz/found");
    if (seeds == 0) fail_msg("%s has no seed", harness[h].name);
    printf("# %zu inputs and %zu damaged ones\n", done.inputs, done.damaged);
    assert_true(done.damaged > done.inputs);
}

int main(int argc, char **argv)
{
    static size_t index[HARNESSES];
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        int code = fuzz_seeds(argv[2]);
        if (code != 0) fprintf(stderr, "test_fuzz: %s\n", error_text());
        return code != 0;
    }
    for (size_t h = 0; h < HARNESSES; h++) {
        index[h] = h;
        test_add(&(struct CMUnitTest){harness[h].name, test_replay, NULL, NULL, &index[h]}, 0);
    }
    return test_run(open_all, scratch_close);
}
