/* waiting.c: counts how often the threads of this process lose their processor, and adds or removes ballast (waiting.h).
 * On a machine without other work that is next to never. The threads here have small stacks and allocate nothing
 * themselves, so they cost little where address space is short. */
#include "studies/base/process/waiting.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "kernels/threads.h"

/* A team is held up whose threads lose their processor more than once a look, as a scheduler gives turns of some
 * milliseconds. Ballast goes after CALM_LOOKS looks without that. Where it had to come back at once, the short waits may
 * have caused the calm; it then goes after twice as many looks, up to CALM_MOST. */
enum { LOOK_MS = 50, CALM_LOOKS = 4, CALM_MOST = 64, STACK = 2 << 20 };

/* ---- ballast ---------------------------------------------------------------------------------------- */

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int there, leave, threads;
    atomic_int begun;
} ballast = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Keeps the ballast. The threads of a region that has ended sleep in their pool, which ends with this thread. */
static void *stay(void *arg)
{
    (void)arg;
#pragma omp parallel num_threads(ballast.threads)
    atomic_fetch_add(&ballast.begun, 1); /* a region without work would start no threads */
    pthread_mutex_lock(&ballast.lock);
    ballast.there = 1;
    pthread_cond_broadcast(&ballast.changed);
    while (!ballast.leave) pthread_cond_wait(&ballast.changed, &ballast.lock);
    ballast.there = 0;
    pthread_mutex_unlock(&ballast.lock);
    return NULL;
}

/* Starts a thread with a small stack that takes no signals. Returns 0 where it has started. */
static int begin_thread(pthread_t *thread, void *(*run)(void *))
{
    pthread_attr_t small;
    sigset_t all, before;
    if (pthread_attr_init(&small) != 0) return -1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_attr_setstacksize(&small, STACK);
    if (code == 0) code = pthread_create(thread, &small, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&small);
    return code;
}

/* Returns 1 where there is much more memory than libgomp needs: it ends the process where it gets none. */
static int has_room(int threads)
{
    size_t bytes = ((size_t)threads + 1) * (64 << 20);
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                   -1, 0);
    if (p == MAP_FAILED) return 0;
    munmap(p, bytes);
    return 1;
}

void waiting_ballast(int there, int team, int processors)
{
    pthread_mutex_lock(&ballast.lock);
    int is = ballast.there;
    ballast.leave = !there;
    ballast.threads = processors < team ? 2 : processors - team + 2;
    pthread_cond_broadcast(&ballast.changed);
    pthread_mutex_unlock(&ballast.lock);
    if (is && !there) pthread_join(ballast.thread, NULL);
    if (is || !there || !has_room(ballast.threads) || begin_thread(&ballast.thread, stay) != 0)
        return;
    pthread_mutex_lock(&ballast.lock);
    while (!ballast.there) pthread_cond_wait(&ballast.changed, &ballast.lock);
    pthread_mutex_unlock(&ballast.lock);
}

int waiting_is_short(void)
{
    pthread_mutex_lock(&ballast.lock);
    int is = ballast.there;
    pthread_mutex_unlock(&ballast.lock);
    return is;
}

/* ---- the watch -------------------------------------------------------------------------------------- */

static long lost(void)
{
    struct rusage now;
    getrusage(RUSAGE_SELF, &now);
    return now.ru_nivcsw;
}

long (*waiting_lost)(void) = lost;

int waiting_look(WaitingLooks *l, int busy, int there)
{
    if (!l->enough) l->enough = CALM_LOOKS;
    if (busy && !there && l->enough < CALM_MOST) l->enough *= l->calm < 2 * l->enough ? 2 : 1;
    if (!busy && l->calm > CALM_MOST) l->enough = CALM_LOOKS;
    l->calm = busy ? 0 : l->calm + 1;
    return there ? l->calm != l->enough : busy;
}

static int team, processors;

static void *watch(void *arg)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    WaitingLooks looks = {0};
    (void)arg;
    for (long now = waiting_lost(), before;;) {
        before = now;
        nanosleep(&pause, NULL);
        now = waiting_lost();
        int there = waiting_is_short(), wanted = waiting_look(&looks, now > before + team, there);
        if (wanted != there) waiting_ballast(wanted, team, processors);
    }
    return NULL;
}

void waiting_begin(int threads)
{
    pthread_t thread;
    if (threads < 2) return;
    team = threads;
    processors = threads_processors();
    if (begin_thread(&thread, watch) == 0) pthread_detach(thread);
}
