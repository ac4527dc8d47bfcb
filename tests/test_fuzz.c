/* test_fuzz.c: every harness of tests/fuzz over its seeds, over what fuzzing found (all mended), and
 * over damaged copies of both: one byte changed, the end cut off, a piece repeated. A harness aborts
 * where a reader breaks its promise, so the last "# input" line of the log names the culprit.
 *
 *     test_fuzz --seeds DIR    writes the seeds that are made, for `make fuzz`
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/stat.h>
#include <time.h>

#include "kernels/random.h"
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"

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

/* ---- one input ----------------------------------------------------------------------------------- */

/* In memory of just that length, so that a sanitizer sees the first byte behind it. */
static void run_input(size_t h, const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size ? size : 1);
    struct timespec a, b;
    assert_non_null(exact);
    memcpy(exact, data, size);
    clock_gettime(CLOCK_MONOTONIC, &a);
    assert_int_equal(harness[h].run(exact, size), 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    free(exact);
    if (b.tv_sec - a.tv_sec > SECONDS_MOST) fail_msg("%s: too slow", harness[h].name);
}

static size_t below(size_t h, size_t turn, size_t n)
{
    return (size_t)random_below(h + 1, 1, turn, n);
}

/* A copy (at most `size` + 64 bytes), damaged in one of three ways. */
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

/* Inputs of DIR/NAME; none where there is no such folder. */
static size_t run_folder(size_t h, const char *dir)
{
    char folder[512], path[1024];
    size_t n = 0;
    snprintf(folder, sizeof folder, "%s/%s", dir, harness[h].name);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        run_file(h, path);
        n++;
    }
    if (d) closedir(d);
    return n;
}

/* ---- tests --------------------------------------------------------------------------------------- */

static char made[512];

static int open_all(void **state)
{
    if (scratch_open(state) != 0) return -1;
    snprintf(made, sizeof made, "%s/seeds", scratch);
    return fuzz_seeds(made);
}

static int close_all(void **state)
{
    char line[600];
    snprintf(line, sizeof line, "rm -rf %s", made);
    return system(line) == 0 ? scratch_close(state) : -1;
}

static void test_replay(void **state)
{
    size_t h = *(size_t *)*state;
    size_t seeds = run_folder(h, "tests/fuzz/seeds") + run_folder(h, made);
    run_input(h, (const uint8_t *)"", 0);
    run_folder(h, "tests/fuzz/found");
    if (seeds == 0) fail_msg("%s has no seed", harness[h].name);
}

static void test_count(void **state)
{
    (void)state;
    printf("# %zu inputs and %zu damaged ones\n", done.inputs, done.damaged);
    assert_true(done.inputs >= HARNESSES && done.damaged > done.inputs);
}

int main(int argc, char **argv)
{
    static size_t index[HARNESSES];
    struct CMUnitTest tests[HARNESSES + 1];
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) {
        int code = fuzz_seeds(argv[2]);
        if (code != 0) fprintf(stderr, "test_fuzz: %s\n", error_text());
        return code != 0;
    }
    for (size_t h = 0; h < HARNESSES; h++) {
        index[h] = h;
        tests[h] = (struct CMUnitTest){harness[h].name, test_replay, NULL, NULL, &index[h]};
    }
    tests[HARNESSES] = (struct CMUnitTest)cmocka_unit_test(test_count);
    return cmocka_run_group_tests_name("fuzz", tests, open_all, close_all);
}
