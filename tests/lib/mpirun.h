/* mpirun.h: runs the trotter beside a test program as ranks of mpirun. It reads their loss curves and watches
 * them when one gets a signal. */
#ifndef TROTTER_TEST_MPIRUN_H
#define TROTTER_TEST_MPIRUN_H

#include <dirent.h>

#include "kernels/ranks.h"
#include "tests/lib/program.h"

#define TINY_SHAPE                                                                             \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208 --rate 1e-2 --warmup 5" \
    " --threads 1"
#define TINY TINY_SHAPE " --seed 3 --untested"

static char corpus[PATH_MAX]; /* " --corpus DIR" */
static char missing[512];     /* why there are no ranks here; "" where there are */

/* ---- ranks ---------------------------------------------------------------------------------------- */

static inline const char *ranks_line(int ranks, const char *arguments)
{
    char start[128] = "";
    if (ranks > 1)
        snprintf(start, sizeof start, /* waiting ranks give their processor to those that work */
                 "mpirun --mca mpi_yield_when_idle 1 --oversubscribe --allow-run-as-root -n %d ",
                 ranks);
    return formed("%s%s %s%s", start, program, arguments, corpus);
}

/* Runs so many ranks and returns their exit status. */
static inline int run_ranks(int ranks, const char *arguments)
{
    if (!strstr(arguments, "--resume")) forget_result(arguments);
    return shell("timeout 300 %s", ranks_line(ranks, arguments));
}

static inline void must_run(int ranks, const char *arguments)
{
    int status = run_ranks(ranks, arguments);
    if (trained(status)) return;
    fprintf(stderr, "%s%s", out, err); /* whole: the reason may stand before mpirun's own words */
    fail_msg("%d ranks, %s: status %d", ranks, arguments, status);
}

/* Counts the program's lines on stderr that report an error, which a missing gnuplot is not. */
static inline int errors(void)
{
    return count_words(err, "trotter train: ") -
           count_words(err, "trotter train: warning: gnuplot cannot be run");
}

/* Fails instead of skipping where TROTTER_NEED_RANKS is set: Open MPI was installed for these tests. */
static inline int no_ranks(const char *why)
{
    if (getenv("TROTTER_NEED_RANKS")) return print_error("# no ranks here: %s\n", why), -1;
    snprintf(missing, sizeof missing, "%s", why);
    return 0;
}

/* Writes the corpus and finds out whether there can be ranks here. Where there can, two must train. Call it
 * once `program` is open. */
static inline int ranks_begin(void)
{
    setenv("ASAN_OPTIONS", "detect_leaks=0", 0); /* Open MPI does not free all memory */
    corpus_write("text", 100, 12);
    snprintf(corpus, sizeof corpus, " --corpus text");
    if (!ranks_built) return no_ranks("this build has no MPI (libopenmpi-dev)");
    if (!has_tool("mpirun")) return no_ranks("there is no mpirun (openmpi-bin)");
    int status = run_ranks(2, "train --max-steps 1 --epochs 1 --out first" TINY);
    if (trained(status)) return 0;
    print_error("# mpirun is there, its ranks end with %d: %s\n", status, err);
    return -1;
}

static inline void need_ranks(void)
{
    if (!*missing) return;
    print_message("# SKIP no ranks here: %s\n", missing);
    skip();
}

static inline void ranks_must_refuse(int ranks, const char *arguments, const char *words)
{
    int status = run_ranks(ranks, arguments);
    if (status != 2 || errors() != 1 || !strstr(err, words))
        fail_msg("%s: status %d, expected '%s': %s", arguments, status, words, err);
}

/* ---- curves --------------------------------------------------------------------------------------- */

enum { COLUMNS = 8, ROWS = 200 };

typedef struct {
    size_t rows;
    double x[ROWS][COLUMNS]; /* NaN where a field is empty */
} Log;

static inline void read_log(const char *dir, Log *l)
{
    char text[1 << 15];
    file_read(formed("%s/log.csv", dir), text, sizeof text);
    l->rows = 0;
    for (char *line = strchr(text, '\n'); line && line[1] && l->rows < ROWS; l->rows++) {
        line++;
        for (int c = 0; c < COLUMNS; c++) {
            char *end;
            l->x[l->rows][c] = strtod(line, &end);
            if (end == line) l->x[l->rows][c] = NAN;
            line = end + (*end == ',');
        }
        line = strchr(line - 1, '\n');
    }
}

/* Returns the largest relative difference of loss, perplexity and norm; 1e9 where the rows are not of the
 * same steps. */
static inline double apart(const Log *a, const Log *b)
{
    double most = a->rows == b->rows && a->rows > 3 ? 0 : 1e9;
    for (size_t i = 0; i < a->rows && i < b->rows; i++)
        for (int c = 0; c < COLUMNS - 1; c++) { /* the last one is a speed */
            double x = a->x[i][c], y = b->x[i][c];
            if (isnan(x) && isnan(y)) continue;
            double e = fabs(x - y) / fmax(fabs(x), 1e-30);
            if (!(e <= most)) most = isnan(e) ? 1e9 : e;
        }
    return most;
}

static Log one, many;

/* Trains in one process, into `one`. */
static inline void one_process(const char *arguments)
{
    must_run(1, formed("%s --out one", arguments));
    read_log("one", &one);
}

static inline double apart_from_one(int ranks, const char *arguments)
{
    must_run(ranks, formed("%s --out many", arguments));
    read_log("many", &many);
    return apart(&one, &many);
}

/* ---- signals --------------------------------------------------------------------------------------- */

static inline pid_t start(int ranks, const char *arguments)
{
    return shell_start("ranks", "%s", ranks_line(ranks, arguments));
}

static inline int finish(pid_t pid)
{
    int status = shell_finish(pid);
    file_read("ranks.err", err, sizeof err);
    return status;
}

/* Returns the k-th child of mpirun that is a rank; 0 where there is none. */
static inline pid_t rank_of(pid_t mpirun, int k)
{
    pid_t found = 0;
    char name[300];
    snprintf(name, sizeof name, "(%.200s)", strrchr(program, '/') + 1);
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        char text[512] = "", *after;
        int pid = atoi(e->d_name), parent;
        FILE *f = pid ? fopen(formed("/proc/%.20s/stat", e->d_name), "r") : NULL;
        if (!f) continue;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        after = strrchr(text, ')');
        if (after && sscanf(after + 1, " %*c %d", &parent) == 1 && parent == (int)mpirun &&
            strstr(text, name) && k-- == 0)
            found = pid;
    }
    if (d) closedir(d);
    return found;
}

/* Starts two ranks afresh with `arguments` --out run, and sends a signal to rank k once there is a state. */
static inline pid_t start_and_signal(const char *arguments, int k, int number)
{
    char line[1024];
    snprintf(line, sizeof line, "%s --out run", arguments);
    forget_result(line); /* a finished run would be there already */
    pid_t pid = start(2, line);
    await_lines("run/state.safetensors", 0);
    pid_t rank = rank_of(pid, k);
    assert_true(rank > 0);
    test_signal(rank, number);
    return pid;
}

#endif
