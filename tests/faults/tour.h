/* tour.h: one run of a program under bounds, as a user at a terminal sees it, and what is wrong with it.
 *
 * The program's stderr is a terminal, so that it shows its progress as it does to people. Its words are the
 * text that is left there in the end, without the lines that were wiped. */
#ifndef TROTTER_TESTS_TOUR_H
#define TROTTER_TESTS_TOUR_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>

#include "tests/lib/program.h"

#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1, SLOWER = 8 };
#else
enum { SANITIZED = 0, SLOWER = 1 };
#endif

typedef struct {
    double whole;  /* seconds that the run may take */
    double quiet;  /* seconds that it may work without a word or a byte of data */
    int endless;   /* 1: it may take longer, and is then interrupted */
    int spoken;    /* 1: it is interrupted as soon as there is a word or a byte of data */
    int csv;       /* 1: its data must be CSV */
    size_t memory; /* bytes of address space; 0: any */
} Bounds;

enum { RUN_WORDS = 1 << 16 };
typedef struct {
    int status; /* as waitpid gives it */
    int interrupted;
    double seconds, quiet; /* quiet: the longest time without a word */
    char said[RUN_WORDS];  /* text left on the terminal in the end */
    char fault[512];       /* "": none */
} Run;

static inline double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns how many threads want each core of this machine, now or in the last minute, 1 at least. Everything takes so
 * many times longer. */
static inline double crowd(void)
{
    double load = 0, now = 0, cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && fscanf(f, "%lf %*f %*f %lf/", &load, &now) != 2) load = now = 0;
    if (f) fclose(f);
    return fmax(1, fmax(load, now) / cores);
}

/* ---- judging --------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static inline void fault(Run *r, const char *format, ...)
{
    va_list args;
    if (*r->fault) return; /* the first one counts */
    va_start(args, format);
    vsnprintf(r->fault, sizeof r->fault, format, args);
    va_end(args);
}

/* Checks RFC 4180 with as many fields in every record. Returns the number of the first line that breaks it, 0 for
 * none. Lines may end in LF alone. */
static inline size_t bad_csv_line(const char *text, size_t bytes)
{
    size_t fields = 0, first = 0, line = 1;
    const char *c = text, *end = text + bytes;
    while (c < end) {
        if (*c == '"') {
            for (c++; c < end && (*c != '"' || (c + 1 < end && c[1] == '"')); c++) {
                if (*c == '"') c++;
                line += *c == '\n';
            }
            if (c++ == end) return line;
        } else {
            while (c < end && !strchr(",\r\n\"", *c)) c++;
        }
        fields++;
        if (c + 1 < end && c[0] == '\r' && c[1] == '\n') c++;
        if (c == end || !strchr(",\n", *c)) return line;
        if (*c++ == ',' && c < end) continue;
        if (first == 0) first = fields;
        if (fields != first || c[-1] == ',') return line;
        fields = 0;
        line++;
    }
    return 0;
}

static inline void judge_data(Run *r, const char *file)
{
    struct stat s;
    FILE *f = fopen(file, "rb");
    if (!f || fstat(fileno(f), &s) != 0) abort();
    size_t bytes = (size_t)s.st_size;
    char *text = malloc(bytes + 1);
    if (!text || fread(text, 1, bytes, f) != bytes) abort();
    fclose(f);
    text[bytes] = '\0';
    size_t line = bad_csv_line(text, bytes);
    if (line) fault(r, "line %zu of stdout is not CSV like the others", line);
    free(text);
}

static inline void judge(Run *r, const Bounds *b, const char *out_file)
{
    static const char *const reports[] = {"Sanitizer", "runtime error: ", "Assertion `"};
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        if (strstr(r->said, reports[i])) fault(r, "it says '%s'", reports[i]);
    if (WIFSIGNALED(r->status)) {
        if (r->interrupted && WTERMSIG(r->status) == SIGINT) return;
        fault(r, "it died of signal %d", WTERMSIG(r->status));
        return;
    }
    int status = WEXITSTATUS(r->status);
    if (status > 2 && status != 130) fault(r, "exit status %d", status);
    if (status == 130 && !r->interrupted) fault(r, "exit status 130, and nobody interrupted it");
    if (status == 2 && (count_lines(r->said) != 1 || strncmp(r->said, "trotter", 7) != 0))
        fault(r, "exit status 2 without exactly one line that begins with trotter");
    if (status == 1 && strncmp(last_line(r->said), "trotter", 7) != 0)
        fault(r, "exit status 1 without a last line that begins with trotter");
    if (b->csv && status < 2) judge_data(r, out_file);
}

/* ---- running ------------------------------------------------------------------------------------------ */

/* Removes what progress_clear wipes: from the beginning of the line to "\r\033[K". */
static inline void wipe(char *text)
{
    static const char wiped[] = "\r\033[K";
    for (char *at; (at = strstr(text, wiped));) {
        char *begin = at;
        while (begin > text && begin[-1] != '\n') begin--;
        memmove(begin, at + sizeof wiped - 1, strlen(at + sizeof wiped - 1) + 1);
    }
}

/* Opens the two ends of stderr: a terminal that changes nothing, or a pipe where there is none. */
static inline void open_words(int end[2])
{
    struct termios raw;
    if (openpty(&end[0], &end[1], NULL, NULL, NULL) == 0) {
        tcgetattr(end[1], &raw);
        cfmakeraw(&raw);
        tcsetattr(end[1], TCSANOW, &raw);
    } else if (pipe(end) != 0) {
        abort();
    }
    fcntl(end[0], F_SETFL, O_NONBLOCK);
    fcntl(end[0], F_SETFD, FD_CLOEXEC);
}

static inline void limit(int what, size_t n)
{
    if (n) setrlimit(what, &(struct rlimit){n, n});
}

/* Starts a new session in the folder `box`, so that all that it starts can be ended. */
static inline pid_t start(const char *path, char *const argv[], const char *box,
                          const char *out_file, const Bounds *b, int words)
{
    pid_t pid = fork();
    if (pid != 0) return pid;
    int data = open(out_file, O_WRONLY | O_CREAT | O_TRUNC, 0666), none = open("/dev/null", 0);
    signal(SIGINT, SIG_DFL); /* a shell's background ignores SIGINT */
    if (setsid() < 0 || chdir(box) != 0) _exit(127);
    if (dup2(none, 0) < 0 || dup2(data, 1) < 0 || dup2(words, 2) < 0) _exit(127);
    close(words);
    close(data);
    close(none);
    limit(RLIMIT_AS, b->memory);
    limit(RLIMIT_FSIZE, (size_t)256 << 20);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    execv(path, argv);
    _exit(127);
}

/* Reads the words that have come and returns how many bytes they are. Bytes that find no room are dropped. */
static inline size_t hear(int end, Run *r, size_t *n)
{
    char more[4096];
    size_t all = 0;
    for (ssize_t got; (got = read(end, more, sizeof more)) > 0; all += (size_t)got) {
        size_t keep = sizeof r->said - 1 - *n;
        if (keep > (size_t)got) keep = (size_t)got;
        memcpy(r->said + *n, more, keep);
        *n += keep;
    }
    r->said[*n] = '\0';
    return all;
}

static inline off_t size_of(const char *file)
{
    struct stat s;
    return stat(file, &s) == 0 ? s.st_size : 0;
}

/* Returns how many seconds a process has waited for a processor; 0 where the kernel does not tell. */
static inline double waited(pid_t pid)
{
    char name[64];
    unsigned long long ns = 0;
    snprintf(name, sizeof name, "/proc/%d/schedstat", (int)pid);
    FILE *f = fopen(name, "r");
    if (f && fscanf(f, "%*u %llu", &ns) != 1) ns = 0;
    if (f) fclose(f);
    return 1e-9 * (double)ns;
}

/* A look lasts at most so many seconds on the clock of watch(): where this process waits longer for a processor, so does
 * the other. What the other waited does not count, but a quarter of each look does. */
#define LOOK 0.04

/* Waits for the end within the bounds. Sends SIGINT when time is over for a run that may take longer, and SIGKILL
 * for a fault. */
static inline void watch(pid_t pid, int end, const char *out_file, const Bounds *b, Run *r)
{
    double begun = now(), before = begun, clock = 0, last = 0, stop = b->whole, idle = 0;
    size_t n = 0;
    off_t data = 0;
    while (waitpid(pid, &r->status, WNOHANG) == 0) {
        poll(&(struct pollfd){end, POLLIN, 0}, 1, 20);
        double look = fmin(now() - before, LOOK), more = waited(pid) - idle;
        clock += fmax(look - more, look / 4);
        before = now();
        idle += more;
        off_t grown = size_of(out_file);
        if (hear(end, r, &n) > 0 || grown != data) last = clock;
        data = grown;
        if (b->spoken && (n > 0 || data > 0) && !r->interrupted) stop = 0;
        r->quiet = fmax(r->quiet, clock - last);
        if (r->quiet > b->quiet)
            fault(r, "%.1f s without a word%s", r->quiet, r->interrupted ? ", interrupted" : "");
        else if (clock > stop && r->interrupted)
            fault(r, "it goes on for %g s after an interrupt", b->whole);
        else if (clock > stop && !b->endless)
            fault(r, "it takes longer than %g s", b->whole);
        if (*r->fault) test_signal_group(pid, SIGKILL);
        if (clock <= stop || *r->fault) continue;
        test_signal_group(pid, SIGINT);
        r->interrupted = 1;
        last = clock;
        stop = clock + b->whole;
    }
    hear(end, r, &n);
    r->seconds = now() - begun;
}

/* Tells whether a process of the group goes on; it gives ending processes ten seconds. It waits for those whose parent
 * is gone, which are ours (run_bounded): init may let them stand for a while. */
static inline int is_left(pid_t group)
{
    for (int i = 0; i < 1000; i++) {
        while (waitpid(-group, NULL, WNOHANG) > 0) {}
        if (test_signal_group(group, 0) != 0) return 0;
        poll(NULL, 0, 10);
    }
    return 1;
}

/* Runs argv in `box` and puts what is wrong into r->fault. Nothing that it started outlives it. */
static inline void run_bounded(const char *path, char *const argv[], const char *box,
                               const Bounds *b, Run *r)
{
    char out_file[PATH_MAX];
    int end[2];
    *r = (Run){0};
    snprintf(out_file, sizeof out_file, "%s/out.txt", folder);
    open_words(end);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t pid = start(path, argv, box, out_file, b, end[1]);
    close(end[1]);
    watch(pid, end[0], out_file, b, r);
    close(end[0]);
    wipe(r->said);
    if (is_left(pid) && !*r->fault) fault(r, "a process that it started is left");
    test_signal_group(pid, SIGKILL);
    if (!*r->fault) judge(r, b, out_file);
}

/* ---- files that are not to change ------------------------------------------------------------------------ */

/* Returns the names, sizes and times of all files below folders of the scratch folder. */
static inline const char *list_files(const char *folders)
{
    assert_int_equal(shell("find %s -printf '%%p %%y %%s %%T@\\n'", folders), 0);
    return kept_text(strdup(out));
}

#endif
