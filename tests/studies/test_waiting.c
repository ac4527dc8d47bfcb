/* test_waiting.c: ballast shortens the waiting of libgomp's threads, and it comes and goes with other programs' work.
 * Threads are asked what they do, sleep or spin, and how much of a processor they had: nothing here is told by the clock
 * on the wall, so other programs change nothing. */
#include "tests/lib/test.h"

#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernels/threads.h"
#include "studies/base/process/waiting.h"
#include "tests/lib/await.h"

/* Starts this program again with very many spins, as libgomp reads their number before main. */
__attribute__((constructor)) static void begin_anew(void)
{
    char program[] = "/proc/self/exe", *arguments[] = {program, NULL};
    if (getenv("GOMP_SPINCOUNT")) return;
    setenv("GOMP_SPINCOUNT", "100000000000", 1);
    unsetenv("OMP_WAIT_POLICY");
    execv(program, arguments);
}

/* ---- what waiting threads do --------------------------------------------------------------------------- */

enum { TEAM_MOST = 64, OWN_MS = 50 };

static pid_t thread_id[TEAM_MOST];
static clockid_t thread_clock[TEAM_MOST];
static atomic_int begun;

static int sleeps(pid_t thread)
{
    char name[64], text[512] = "";
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", (int)thread);
    FILE *f = fopen(name, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    const char *end = strrchr(text, ')'); /* of the thread's name */
    return end && strncmp(end, ") S", 3) == 0;
}

/* Returns the ms of a processor that a thread has had. */
static long had_ms(clockid_t clock)
{
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Looks at the others of a team, which have nothing left to do but to wait, until all sleep (1), or have had OWN_MS of a
 * processor each without that (0). A hundred looks of libgomp take microseconds. */
static int others_sleep(int team)
{
    long before[TEAM_MOST];
    while (begun < team - 1) sched_yield();
    for (int i = 1; i < team; i++) before[i] = had_ms(thread_clock[i]);
    for (int asleep = 0, over = 0; !over; sched_yield()) {
        over = 1;
        asleep = 0;
        for (int i = 1; i < team; i++) {
            asleep += sleeps(thread_id[i]);
            over &= had_ms(thread_clock[i]) >= before[i] + OWN_MS;
        }
        if (asleep == team - 1) return 1;
    }
    return 0;
}

static int waiters_sleep(int team)
{
    int sleep = 0;
    begun = 0;
#pragma omp parallel num_threads(team)
    {
        int i = omp_get_thread_num();
        thread_id[i] = gettid();
        pthread_getcpuclockid(pthread_self(), &thread_clock[i]);
        if (i == 0)
            sleep = others_sleep(omp_get_num_threads());
        else
            begun++;
    }
    return sleep;
}

static int several_processors(void)
{
    int n = threads_processors();
    if (n > 1) return n < TEAM_MOST ? n : TEAM_MOST;
    print_message("# SKIP one processor\n");
    skip();
    return 0;
}

TEST(ballast_shortens_waiting)
{
#ifdef __clang__
    print_message("# SKIP under clang: its libomp spins by other rules than libgomp\n");
    skip();
#endif
    int processors = threads_processors(), team = several_processors();
    assert_false(waiters_sleep(team)); /* the control: they spin */
    for (int round = 0; round < 2; round++) {
        waiting_ballast(1, team, processors);
        assert_true(waiting_is_short());
        assert_true(waiters_sleep(team));
        waiting_ballast(0, team, processors);
        assert_false(waiting_is_short());
        assert_false(waiters_sleep(team));
    }
}

/* ---- the watch ----------------------------------------------------------------------------------------- */

/* A row: so many looks at a team that is held up (busy) or is not, and behind which of them ballast changes; 0: it does
 * not. Ballast goes after 4 calm looks; where it comes back at once, after 8, 16, 32, 64; a long calm is forgiven. */
TEST(what_a_look_decides)
{
    static const struct {
        int busy, looks, changes_at;
    } row[] = {{0, 100, 0}, {1, 1, 1},   {1, 20, 0}, {0, 4, 4}, {1, 1, 1},   {0, 8, 8}, {1, 1, 1},
               {0, 16, 16}, {1, 1, 1},   {0, 5, 0},  {1, 1, 0}, {0, 32, 32}, {1, 1, 1}, {0, 64, 64},
               {1, 1, 1},   {0, 64, 64}, {0, 2, 0},  {1, 1, 1}, {0, 4, 4}};
    WaitingLooks looks = {0};
    int there = 0;
    for (size_t k = 0; k < sizeof row / sizeof *row; k++)
        for (int i = 1; i <= row[k].looks; i++) {
            int wanted = waiting_look(&looks, row[k].busy, there);
            if ((wanted != there) != (i == row[k].changes_at))
                fail_msg("row %zu, look %d: ballast %d", k, i, wanted);
            there = wanted;
        }
}

static pid_t work_for_ever(void)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        for (;;) {}
    return pid;
}

/* Threads that want processors which others want too lose them. */
TEST(lost_processors_are_counted)
{
    pid_t other[TEAM_MOST];
    int others = threads_processors() < TEAM_MOST ? threads_processors() : TEAM_MOST;
    long before = waiting_lost();
    for (int i = 0; i < others; i++) other[i] = work_for_ever();
    AWAIT(waiting_lost() > before + 10);
    for (int i = 0; i < others; i++) {
        test_signal(other[i], SIGKILL);
        waitpid(other[i], NULL, 0);
    }
}

static atomic_long count, more;
static long counted(void)
{
    return atomic_fetch_add(&count, more) + more;
}

/* The watch sees a count of this test in place of the machine's. */
TEST(it_comes_and_goes)
{
    int team = several_processors();
    waiting_lost = counted;
    waiting_begin(team);
    for (int round = 0; round < 2; round++) {
        more = team + 1;
        AWAIT(waiting_is_short());
        more = team;
        AWAIT(!waiting_is_short());
    }
}

TEST_MAIN(NULL, NULL)
