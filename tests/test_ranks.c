/* test_ranks.c: `mpirun -n N trotter train`: the loss curve of one process, stopped, killed and refused as one
 * process is. And two trainings that are given the same directory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/program.h"

#define TINY                                                                                   \
    " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208 --rate 1e-2 --warmup 5" \
    " --threads 1 --seed 3 --untested"

static char corpus[PATH_MAX]; /* " --corpus DIR" */
static char missing[512];     /* why there are no ranks here */

/* ---- ranks ---------------------------------------------------------------------------------------- */

static void ranks_line(char *line, size_t room, int ranks, const char *arguments)
{
    char start[96] = "";
    if (ranks > 1)
        snprintf(start, sizeof start, "mpirun --oversubscribe --allow-run-as-root -n %d ", ranks);
    snprintf(line, room, "%s%s %s%s", start, program, arguments, corpus);
}

/* Exit status of so many ranks; 1: no mpirun. */
static int run_ranks(int ranks, const char *arguments)
{
    char command[4 * PATH_MAX], line[5 * PATH_MAX];
    ranks_line(command, sizeof command, ranks, arguments);
    snprintf(line, sizeof line, "cd %s && timeout 120 %s >out.txt 2>err.txt </dev/null", folder,
             command);
    int status = system(line);
    file_read("out.txt", out, sizeof out);
    file_read("err.txt", err, sizeof err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must_run(int ranks, const char *arguments)
{
    int status = run_ranks(ranks, arguments);
    if (status != 0) fail_msg("%d ranks, %s: status %d: %s", ranks, arguments, status, err);
}

/* Lines of the program on stderr that tell an error. */
static int errors(void)
{
    int n = 0;
    for (const char *at = err; (at = strstr(at, "trotter train: ")); at++) n++;
    return n;
}

static int begin(void **state)
{
    char text[4096] = "", name[32];
    static const char *const split[] = {"train", "valid", "test"};
    static const char *const words[] = {"the cat sat on the mat", "a dog ran in the park",
                                        "in the park a cat ran to the dog", "the dog sat"};
    if (program_open(state)) return -1;
    setenv("ASAN_OPTIONS", "detect_leaks=0", 0); /* Open MPI leaves memory to the process's end */
    mkdir(file_path("text"), 0777);
    for (int i = 0; i < 3; i++) {
        size_t n = 0;
        for (int k = 0; k < (i ? 12 : 100); k++)
            n +=
                (size_t)snprintf(text + n, sizeof text - n, "%s\n", words[(k * k + k / 3 + i) % 4]);
        snprintf(name, sizeof name, "text/%s.txt", split[i]);
        file_write(name, text, n);
    }
    snprintf(corpus, sizeof corpus, " --corpus text");
    if (run_ranks(2, "train --max-steps 1 --epochs 1 --out first" TINY) == 0) return 0;
    char *end = strchr(err, '\n');
    snprintf(missing, sizeof missing, "%.*s", (int)(end ? end - err : 400), err);
    return strstr(err, "has no MPI") || strstr(err, "not found") || strstr(err, "no Open MPI") ? 0
                                                                                               : -1;
}

static void need_ranks(void)
{
    if (!*missing) return;
    print_message("# SKIP no ranks here: %s\n", missing);
    skip();
}

/* ---- curves --------------------------------------------------------------------------------------- */

enum { COLUMNS = 8, ROWS = 200 };

typedef struct {
    size_t rows;
    double x[ROWS][COLUMNS]; /* NaN where a field is empty */
} Log;

static void read_log(const char *dir, Log *l)
{
    char name[256], text[1 << 15];
    snprintf(name, sizeof name, "%s/log.csv", dir);
    file_read(name, text, sizeof text);
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

/* Largest relative difference of loss, perplexity and norm; 1e9 where the rows are not of the same steps. */
static double apart(const Log *a, const Log *b)
{
    static const int column[] = {0, 1, 2, 3, 4, 5, 6};
    double most = a->rows == b->rows && a->rows > 3 ? 0 : 1e9;
    for (size_t i = 0; i < a->rows && i < b->rows; i++)
        for (size_t k = 0; k < sizeof column / sizeof *column; k++) {
            double x = a->x[i][column[k]], y = b->x[i][column[k]];
            if (isnan(x) && isnan(y)) continue;
            double e = fabs(x - y) / fmax(fabs(x), 1e-30);
            if (!(e <= most)) most = isnan(e) ? 1e9 : e;
        }
    return most;
}

static Log one, many;

static double apart_from_one(int ranks, const char *arguments)
{
    char line[1024];
    snprintf(line, sizeof line, "%s --out many", arguments);
    must_run(ranks, line);
    read_log("many", &many);
    return apart(&one, &many);
}

/* Curves are told to 9 digits. In f64 the sums of a step differ by some 1e-14, and steps of Adam, which
 * divides by the gradient's size, carry that on: 1e-8 leaves a factor 1e6 in 60 steps. In f32 the same factor, which
 * is generous for f64, would leave nothing: measured 2e-6 to 2e-5; allowed 5e-4, a twentieth of what
 * another mask does (below). */
static const struct {
    const char *arguments;
    double tolerance;
    int ranks[4];
} curves[] = {
    {"train --scheme transformer --precision f64 --epochs 2 --dropout 0.2" TINY,
     1e-8,
     {2, 3, 4, 0}},
    {"train --scheme heun --precision f32 --context sentence --epochs 2 --dropout 0.2" TINY,
     5e-4,
     {2, 3, 4, 0}},
    {"train --scheme macaron --precision f64 --context sentence --accumulate 2 --clip 0.3 "
     "--average 2"
     " --epochs 3 --dropout 0.2 --positions both --untied --span 9 --span-ramp 3 --span-loss "
     "0.1" TINY,
     1e-8,
     {3, 0}},
    {"train --scheme ab2 --layers 3 --precision f32 --activation gelu --recompute --masks step"
     " --epochs 2 --dropout 0.2" TINY,
     5e-4,
     {2, 0}},
};

static void ranks_have_the_curve_of_one_process(void **state)
{
    (void)state;
    need_ranks();
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++) {
        char line[1024];
        snprintf(line, sizeof line, "%s --out one", curves[i].arguments);
        must_run(1, line);
        read_log("one", &one);
        for (const int *n = curves[i].ranks; *n; n++) {
            double e = apart_from_one(*n, curves[i].arguments);
            if (!(e <= curves[i].tolerance)) fail_msg("%d ranks, %s: off by %g", *n, line, e);
        }
    }
}

/* The check sees masks that are a little different: of the elements kept at 0.2, 0.21 drops one in 80. */
static void another_mask_has_another_curve(void **state)
{
    (void)state;
    must_run(1, "train --precision f32 --epochs 2 --dropout 0.2 --out one" TINY);
    read_log("one", &one);
    double e = apart_from_one(1, "train --precision f32 --epochs 2 --dropout 0.21" TINY);
    if (!(e > 1e-2 && e < 1e8)) fail_msg("off by %g", e);
    e = apart_from_one(1, "train --precision f32 --epochs 2 --dropout 0.2" TINY);
    assert_true(e == 0);
}

/* ---- stopped and killed --------------------------------------------------------------------------- */

#define LONG "train --epochs 25 --precision f32 --dropout 0.2" TINY

static pid_t start(int ranks, const char *arguments)
{
    char command[4 * PATH_MAX], line[5 * PATH_MAX];
    ranks_line(command, sizeof command, ranks, arguments);
    pid_t pid = fork();
    if (pid != 0) return pid;
    snprintf(line, sizeof line, "exec %s >out.txt 2>err.txt </dev/null", command);
    if (chdir(folder) == 0) execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static int finish(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    file_read("err.txt", err, sizeof err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void rest(void)
{
    nanosleep(&(struct timespec){0, 5000000}, NULL);
}

/* Waits until a file of the run is there and no longer empty. */
static void await(const char *name)
{
    char text[64] = "";
    for (int i = 0; i < 12000 && !*text; i++) {
        rest();
        file_read(name, text, sizeof text);
    }
    assert_true(*text);
}

/* The k-th child of mpirun that is a rank; 0: none. */
static pid_t rank_of(pid_t mpirun, int k)
{
    pid_t found = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        char name[300], text[512] = "", *after;
        int pid = atoi(e->d_name), parent;
        snprintf(name, sizeof name, "/proc/%.20s/stat", e->d_name);
        FILE *f = pid ? fopen(name, "r") : NULL;
        if (!f) continue;
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        after = strrchr(text, ')');
        if (after && sscanf(after + 1, " %*c %d", &parent) == 1 && parent == (int)mpirun &&
            strstr(text, "(trotter)") && k-- == 0)
            found = pid;
    }
    if (d) closedir(d);
    return found;
}

/* Starts it afresh and sends a signal to rank k once it has a state. */
static pid_t start_and_signal(int k, int number)
{
    unlink(file_path("run/state.safetensors"));
    pid_t pid = start(2, LONG " --out run");
    await("run/state.safetensors");
    pid_t rank = rank_of(pid, k);
    assert_true(rank > 0);
    kill(rank, number);
    return pid;
}

static int same_file(const char *a, const char *b)
{
    char line[3 * PATH_MAX];
    snprintf(line, sizeof line, "cmp -s %s %s", file_path(a), file_path(b));
    return system(line) == 0;
}

static void continues_as_if_it_had_not_stopped(void)
{
    must_run(2, LONG " --resume --out run");
    assert_true(same_file("run/model.safetensors", "whole/model.safetensors"));
}

static void signals_and_kills(void **state)
{
    (void)state;
    need_ranks();
    must_run(2, LONG " --out whole");
    for (int k = 0; k < 2; k++) {
        int status = finish(start_and_signal(k, k ? SIGTERM : SIGINT));
        if (status != 130 || errors() != 1 || !strstr(err, "interrupted after step"))
            fail_msg("rank %d stopped: status %d, %s", k, status, err);
        continues_as_if_it_had_not_stopped();
    }
    for (int k = 0; k < 2; k++) {
        assert_int_not_equal(finish(start_and_signal(k, SIGKILL)), 0);
        continues_as_if_it_had_not_stopped();
    }
}

/* ---- refused -------------------------------------------------------------------------------------- */

static void must_refuse(int ranks, const char *arguments, const char *words)
{
    int status = run_ranks(ranks, arguments);
    if (status != 2 || errors() != 1 || !strstr(err, words))
        fail_msg("%s: status %d, expected '%s': %s", arguments, status, words, err);
}

static void what_ranks_cannot_do_is_told_once(void **state)
{
    (void)state;
    need_ranks();
    must_refuse(4, "train --batch-tokens 48 --sequence 16 --out no", "fewer than the 4 ranks");
    must_refuse(2, "train --memory-limit 1M --out no", "--memory-limit 1M: this training needs");
    must_refuse(2, "train --resume --out none", "none/config.ini");
    must_refuse(2, "train --width 15 --heads 2 --out no", "width 15");
    assert_false(file_exists("no"));
}

/* A rank whose last step's sum is not finite ends all, with the step. */
static void what_is_not_finite_ends_all(void **state)
{
    (void)state;
    need_ranks();
    int status =
        run_ranks(2, "train --rate 100 --precision f32 --epochs 50 --warmup 0 --layers 8"
                     " --norm post --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208"
                     " --eps 1e-30 --beta2 0 --beta1 0 --threads 1 --out nan");
    if (status != 1 || errors() != 1 || !strstr(err, "is not finite"))
        fail_msg("status %d: %s", status, err);
}

/* A compare's child is no rank of its parent's. */
static void children_train_alone(void **state)
{
    (void)state;
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    setenv("OMPI_COMM_WORLD_RANK", "0", 1);
    int status = run_ranks(
        1, "compare --scheme transformer --seeds 1 --epochs 3 --truncation 0 --out compared"
           " --width 16 --inner 32 --heads 2 --sequence 16 --batch-tokens 208 --rate 1e-2"
           " --warmup 5 --threads 1");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("OMPI_COMM_WORLD_RANK");
    if (!file_exists("compared/runs/transformer-seed1/result.csv"))
        fail_msg("status %d: %s", status, err);
    assert_false(file_exists("compared/runs/transformer-seed1/ranks.csv"));
}

/* ---- two in one directory ------------------------------------------------------------------------- */

static void a_directory_has_one_training(void **state)
{
    (void)state;
    pid_t pid = start(1, LONG " --epochs 4000 --out shared");
    await("shared/state.safetensors");
    int status = program_run("train --corpus text --out shared" TINY);
    if (!refused(status, "train", "shared: another training is at work there"))
        fail_msg("status %d: %s", status, err);
    kill(pid, SIGKILL);
    finish(pid);
    must_run(1, "train --epochs 1 --out shared" TINY); /* its lock died with it */
    assert_false(file_exists("shared/train.claim"));
}

/* A gnuplot that takes long, and lives on when its training is killed. */
static void a_plot_being_drawn_holds_no_directory(void **state)
{
    (void)state;
    static const char slow[] =
        "#!/bin/sh\necho $$ >../drawing.tmp && mv ../drawing.tmp ../drawing\n"
        "exec sleep 60\n";
    char path[2 * PATH_MAX], *before = strdup(getenv("PATH")), text[32];
    mkdir(file_path("bin"), 0777);
    file_write("bin/gnuplot", slow, sizeof slow - 1);
    assert_int_equal(chmod(file_path("bin/gnuplot"), 0755), 0);
    snprintf(path, sizeof path, "%s:%s", file_path("bin"), before);
    setenv("PATH", path, 1);
    pid_t pid = start(1, "train --epochs 1 --out drawn" TINY);
    await("drawing");
    setenv("PATH", before, 1);
    free(before);
    kill(pid, SIGKILL);
    finish(pid);
    int status = run_ranks(1, "train --resume --epochs 2 --out drawn" TINY);
    file_read("drawing", text, sizeof text);
    assert_int_equal(kill(atoi(text), SIGKILL), 0); /* it was there all the time */
    if (status != 0) fail_msg("status %d: %s", status, err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_have_the_curve_of_one_process),
        cmocka_unit_test(another_mask_has_another_curve),
        cmocka_unit_test(signals_and_kills),
        cmocka_unit_test(what_ranks_cannot_do_is_told_once),
        cmocka_unit_test(what_is_not_finite_ends_all),
        cmocka_unit_test(children_train_alone),
        cmocka_unit_test(a_directory_has_one_training),
        cmocka_unit_test(a_plot_being_drawn_holds_no_directory),
    };
    return cmocka_run_group_tests(tests, begin, program_close);
}
