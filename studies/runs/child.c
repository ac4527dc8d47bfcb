/* child.c: runs `trotter train` as a child process. */
#include "studies/runs/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/ranks.h"
#include "studies/tools/command.h"

/* Keeps requests to stop waiting, or lets them come. */
static void hold_stops(int on)
{
    sigset_t stops;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &stops, NULL);
}

/* Turns the child into the program. It has its own process group, as a Ctrl-C comes to the parent first and is passed
 * on once; the end of the parent stops it as an interrupt does. It calls only what may follow a fork. It is the
 * parent's program, even if a new one was built over it since: the parent's file then has no name any more. */
static void become(char *const argv[], const char *program, pid_t parent, const Lease *claim)
{
    signal(SIGINT, SIG_DFL); /* the handlers only take notes, which exec would wipe out */
    signal(SIGTERM, SIG_DFL);
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    lease_pass(claim);
    hold_stops(0);
    if (getppid() == parent) execv(program, argv);
    if (getppid() == parent) execv("/proc/self/exe", argv);
    _exit(127);
}

static int spawn(char *const argv[], const Lease *claim, pid_t *child)
{
    const char *program = command_program();
    ranks_forget(); /* the child trains alone, whoever started us */
    pid_t parent = getpid();
    hold_stops(1);
    *child = fork();
    if (*child == 0) become(argv, program, parent, claim);
    hold_stops(0);
    return *child < 0 ? error_set(ERR_SYSTEM, "%s: %s", program, strerror(errno)) : 0;
}

static int wait_for(pid_t child, Lease *claim)
{
    const struct timespec pause = {0, 20000000};
    int status, told = 0;
    for (;;) {
        pid_t done = waitpid(child, &status, WNOHANG);
        if (done == child) break;
        if (done < 0 && errno != EINTR)
            return error_set(ERR_SYSTEM, "waitpid: %s", strerror(errno));
        if (command_stop && !told) kill(child, SIGINT);
        told = command_stop;
        lease_keep(claim);
        nanosleep(&pause, NULL);
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    if (command_stop || (WIFEXITED(status) && WEXITSTATUS(status) == 130))
        return command_interrupted();
    return error_set(ERR_CHECK, "a run failed");
}

/* Returns 0 where a training ended with its result: one that is no better than word frequencies has status 1 as well. */
static int check_result(const char *dir, int code)
{
    return code == ERR_CHECK && output_there(dir, "result.csv") ? 0 : code;
}

int child_train(const char *dir, int resume, Lease *claim)
{
    char config[OUTPUT_PATH], *argv[7];
    int n = 0;
    pid_t child;
    TRY(output_path(config, dir, "config.ini"));
    argv[n++] = (char *)"trotter";
    argv[n++] = (char *)"train";
    argv[n++] = (char *)(resume ? "--resume" : "--config");
    if (!resume) argv[n++] = config;
    argv[n++] = (char *)"--out";
    argv[n++] = (char *)dir;
    argv[n] = NULL;
    TRY(spawn(argv, claim, &child));
    return check_result(dir, wait_for(child, claim));
}
