/* work.c: one request's work in a child process with bounds that the kernel keeps. */
#include "studies/page/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "studies/base/output.h"

static const char too_much[] =
    "this is too much work for a page; the commands of a terminal have no such limit";

/* ---- the child ------------------------------------------------------------------------------------ */

static int limit(__rlimit_resource_t what, rlim_t most)
{
    return setrlimit(what, &(struct rlimit){most, most});
}

/* Takes from the child what it does not need: descriptors, files to write, more time and memory than it may use. */
static int confine(int root, int pipe)
{
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0 || fchdir(root) != 0) return -1;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDERR_FILENO);
    if (dup2(pipe, STDOUT_FILENO) < 0 || close_range(3, ~0U, 0) != 0) return -1;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGINT, SIG_IGN); /* Ctrl-C reaches the server, which ends its children */
    int free = limit(RLIMIT_FSIZE, 0) || limit(RLIMIT_CORE, 0) || limit(RLIMIT_CPU, WORK_SECONDS);
#ifndef __SANITIZE_ADDRESS__ /* whose shadow alone is larger */
    free |= limit(RLIMIT_AS, WORK_BYTES);
#endif
    if (free) return -1;
    omp_set_num_threads(1); /* trainings have the processors */
    setpriority(PRIO_PROCESS, 0, 5);
    return 0;
}

static int write_all(const char *text, size_t bytes)
{
    for (ssize_t n; bytes > 0; text += n, bytes -= (size_t)n)
        if ((n = write(STDOUT_FILENO, text, bytes)) <= 0) return 3;
    return 0;
}

/* Answers, or says in one line why not; returns the exit status, that of a command. */
static int answer(const Request *r)
{
    Output o;
    int code = output_open(&o), failed;
    if (code == 0) {
        code = r->resource->work(r, o.f);
        if (fflush(o.f) != 0) code = ERR_MEMORY;
        failed =
            code == 0 ? write_all(o.text, o.bytes) : write_all(error_text(), strlen(error_text()));
        if (failed) return failed;
    }
    return code == ERR_MEMORY ? 3 : code == 0 ? 0 : 2;
}

/* ---- the job --------------------------------------------------------------------------------------- */

int job_start(Job *j, int root, const Request *r)
{
    int ends[2];
    *j = (Job){.pipe = -1, .until = clock_now() + WORK_WAIT};
    if (pipe2(ends, O_CLOEXEC) != 0) return error_set(ERR_SYSTEM, "pipe: %s", strerror(errno));
    fflush(NULL);
    j->child = fork();
    if (j->child == 0) _exit(confine(root, ends[1]) == 0 ? answer(r) : 3);
    close(ends[1]);
    j->pipe = ends[0];
    if (j->child > 0 && fcntl(j->pipe, F_SETFL, O_NONBLOCK) == 0) return 0;
    error_set(ERR_SYSTEM, "%s: %s", j->child > 0 ? "fcntl" : "fork", strerror(errno));
    job_end(j);
    return ERR_SYSTEM;
}

static int more_room(Job *j)
{
    if (j->bytes < j->room) return 0;
    size_t room = j->room ? 2 * j->room : 1 << 16;
    char *grown = j->room < WORK_ANSWER ? memory_grow(j->text, j->room, room, 1) : NULL;
    if (!grown) return ERR_MEMORY;
    j->text = grown;
    j->room = room;
    return 0;
}

/* Ends the child, waits for it, and returns its exit status; -1: a signal ended it. */
static int reap(Job *j, int kill_it)
{
    int status = -1;
    if (j->child > 0 && kill_it) kill(j->child, SIGKILL);
    if (j->child > 0)
        while (waitpid(j->child, &status, 0) < 0 && errno == EINTR) continue;
    j->child = 0;
    if (j->pipe >= 0) close(j->pipe);
    j->pipe = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int job_step(Job *j, const char **words)
{
    ssize_t n = 1;
    int late = clock_now() > j->until;
    while (n > 0 && !late) {
        if (more_room(j) != 0) {
            late = 1;
            break;
        }
        n = read(j->pipe, j->text + j->bytes, j->room - j->bytes);
        if (n > 0) j->bytes += (size_t)n;
    }
    if (!late && n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    late |= n < 0; /* an answer that is not whole */
    int status = reap(j, late);
    *words = too_much;
    return !late && status == 0 ? 200 : !late && status == 2 ? 422 : 503;
}

void job_end(Job *j)
{
    reap(j, 1);
    j->text = memory_free(j->text);
    j->bytes = j->room = 0;
}
