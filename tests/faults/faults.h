/* faults.h: parts of the faults of test_faults.c: draws, files, and children that are starved, stopped and
 * watched. */
#ifndef TROTTER_TESTS_FAULTS_H
#define TROTTER_TESTS_FAULTS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>

#include "kernels/random.h"
#include "tests/lib/program.h"

enum { ROOM = 1 << 20, NOBODY = 65534 };

static struct {
    size_t each; /* faults of each kind */
    uint64_t seed, drawn;
    size_t faults, told, lost; /* told: the program wrote a line about it and did no more */
} soak;

static inline double draw(void)
{
    return random_uniform(soak.seed, 1, soak.drawn++);
}

static inline size_t draw_below(size_t n)
{
    return (size_t)random_below(soak.seed, 2, soak.drawn++, n);
}

/* ---- files --------------------------------------------------------------------------------------- */

typedef struct {
    char *byte;
    size_t size;
} Bytes;

/* Reads a whole file. The size is 0 where there is none. */
static inline Bytes slurp(const char *name)
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

static inline int same_bytes(const char *name, const Bytes *b)
{
    Bytes now = slurp(name);
    int same = now.size == b->size && memcmp(now.byte, b->byte, b->size) == 0;
    free(now.byte);
    return same;
}

/* Returns a copy with one other bit, or with its end cut off. */
static inline Bytes damaged(const Bytes *good)
{
    Bytes bad = {malloc(good->size), good->size};
    assert_non_null(bad.byte);
    memcpy(bad.byte, good->byte, good->size);
    if (draw_below(4) == 0)
        bad.size = draw_below(good->size);
    else
        bad.byte[draw_below(bad.size)] ^= (char)(1 << draw_below(8));
    return bad;
}

/* ---- children ------------------------------------------------------------------------------------ */

/* Limits of a child. */
typedef struct {
    int powerless; /* it becomes NOBODY where we are root */
} Limits;

static inline int redirect(const char *name, int to)
{
    int fd = open(file_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return fd < 0 ? -1 : dup2(fd, to);
}

/* Executes the program with the words of a line as its arguments. */
static inline void execute(int fd, char *line)
{
    char *argv[64] = {program}, *rest = line;
    int argc = 1;
    while (rest && argc < 63) argv[argc++] = strsep(&rest, " ");
    extern char **environ;
    fexecve(fd, argv, environ);
}

static inline int enter(Limits l)
{
    int fd = open(program, O_RDONLY); /* opened before it may be out of reach */
    if (chdir(folder) != 0 || redirect("out.txt", 1) < 0 || redirect("err.txt", 2) < 0) return -1;
    if (l.powerless && geteuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) return -1;
    return fd;
}

static inline int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 192 + WTERMSIG(status);
}

/* Starts the program in a new process. */
static inline pid_t start(const char *arguments, Limits l)
{
    char line[2 * PATH_MAX];
    snprintf(line, sizeof line, "%s", arguments);
    pid_t pid = fork();
    if (pid != 0) return pid;
    int fd = enter(l);
    if (fd < 0) _exit(127);
    execute(fd, line);
    _exit(127);
}

/* Returns the exit status, or 192 + the signal that ended it, as a SIGINT before it is caught is not 130. Reads
 * its stderr into err. */
static inline int finish(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    file_read("err.txt", err, sizeof err);
    return code_of(status);
}

static inline void wait_seconds(double s)
{
    nanosleep(&(struct timespec){(time_t)s, (long)(1e9 * (s - (double)(time_t)s))}, NULL);
}

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Counts the lines of err that report a failure. */
static inline int failures_told(void)
{
    int n = 0;
    for (const char *c = err; (c = strstr(c, "trotter train: ")); c++)
        n += strncmp(c, "trotter train: warning", 22) != 0;
    return n;
}

#endif
