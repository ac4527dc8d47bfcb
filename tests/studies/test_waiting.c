/* test_waiting.c: ballast shortens the waiting of libgomp's threads, and it comes and goes with other programs' work. */
#include "tests/lib/test.h"

#include <omp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/threads.h"
#include "studies/tools/waiting.h"

/* Starts this program again with very many spins, as libgomp reads their number before main. */
__attribute__((constructor)) static void begin_anew(void)
{
    char program[] = "/proc/self/exe", *arguments[] = {program, NULL};
    if (getenv("GOMP_SPINCOUNT")) return;
    setenv("GOMP_SPINCOUNT", "100000000000", 1);
    unsetenv("OMP_WAIT_POLICY");
    execv(program, arguments);
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns the processor time of this process while its first thread sleeps for 0.3 s and the others wait for it,
 * divided by the time of threads that never stop to look. */
static double share_of_waiting(int team)
{
    double before = seconds(CLOCK_PROCESS_CPUTIME_ID);
#pragma omp parallel num_threads(team)
    {
        if (omp_get_thread_num() == 0) usleep(300000);
    }
    return (seconds(CLOCK_PROCESS_CPUTIME_ID) - before) / (.3 * (team - 1));
}

static int several_processors(void)
{
    if (threads_processors() > 1) return threads_processors();
    print_message("# SKIP one processor\n");
    skip();
    return 0;
}

TEST(ballast_shortens_waiting)
{
    int processors = several_processors(), team = processors;
    double plain = share_of_waiting(team);
    for (int round = 0; round < 2; round++) {
        waiting_ballast(1, team, processors);
        assert_true(waiting_is_short());
        double with = share_of_waiting(team);
        waiting_ballast(0, team, processors);
        assert_false(waiting_is_short());
        double without = share_of_waiting(team);
        print_message("# share of the processors: %.3f, with ballast %.3f, behind it %.3f\n", plain,
                      with, without);
        assert_true(plain > .1 && without > .1); /* they spin: the control */
        assert_true(with < .05);
    }
}

/* Works 1 ms in every thread in turn until the state is the wanted one; returns 0 if that takes more than 10
 * seconds. */
static int work_until(int is_short, int team)
{
    double end = seconds(CLOCK_MONOTONIC) + 10;
    while (waiting_is_short() != is_short)
        if (seconds(CLOCK_MONOTONIC) > end)
            return 0;
        else {
#pragma omp parallel num_threads(team)
            for (double till = seconds(CLOCK_MONOTONIC) + 1e-3; seconds(CLOCK_MONOTONIC) < till;) {}
        }
    return 1;
}

TEST(it_comes_and_goes)
{
    int processors = several_processors();
    pid_t other[64];
    int others = processors < 64 ? processors : 64;
    waiting_begin(processors);
    for (int i = 0; i < others; i++)
        if ((other[i] = fork()) == 0)
            for (;;) {}
    int came = work_until(1, processors);
    for (int i = 0; i < others; i++) {
        test_signal(other[i], SIGKILL);
        waitpid(other[i], NULL, 0);
    }
    assert_true(came);
    if (!work_until(0, processors)) {
        print_message("# SKIP other programs want the processors here\n");
        skip();
    }
}

TEST_MAIN(NULL, NULL)
