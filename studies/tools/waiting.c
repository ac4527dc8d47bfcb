/* waiting.c: measures how long the threads of this process wait for a processor, and adds or removes ballast
 * (waiting.h).
 *
 * Linux counts for every thread the time in which it was ready and did not run (/proc/self/task/TID/schedstat, the
 * second number; Linux, Documentation/scheduler/sched-stats.rst). On a machine without other work that time is almost
 * 0. The threads here have small stacks and allocate nothing themselves, so they cost little where address space is
 * short. */
#include "studies/tools/waiting.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "kernels/threads.h"

/* A team that waits for a processor a twentieth of the time is held up. Ballast goes after CALM_LOOKS looks without
 * such waiting. Where it had to come back at once, the short waits may have caused the calm; it then goes after twice
 * as many looks, up to CALM_MOST. */
enum { LOOK_MS = 50, SHARE = 20, CALM_LOOKS = 4, CALM_MOST = 64, STACK = 2 << 20 };

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

static int team, processors;

static size_t read_whole(const char *path, char *text, size_t bytes)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    ssize_t n = read(file, text, bytes - 1);
    close(file);
    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? 0 : (size_t)n;
}

/* Returns the nanoseconds that one thread was ready without a processor. */
static uint64_t waited_by(const char *tid)
{
    char path[64], text[96], *end;
    snprintf(path, sizeof path, "/proc/self/task/%.16s/schedstat", tid);
    if (!read_whole(path, text, sizeof text)) return 0;
    strtoull(text, &end, 10);
    return strtoull(end, NULL, 10);
}

/* Returns the sum over all threads. It reads the folder by its system call, as opendir allocates. */
static uint64_t waited(void)
{
    struct entry {
        uint64_t inode, offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    _Alignas(struct entry) char list[4096];
    uint64_t sum = 0;
    int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return 0;
    for (long n; (n = syscall(SYS_getdents64, folder, list, sizeof list)) > 0;)
        for (long at = 0; at < n;) {
            const struct entry *e = (const struct entry *)(list + at);
            if (e->name[0] != '.') sum += waited_by(e->name);
            at += e->length;
        }
    close(folder);
    return sum;
}

static void *watch(void *arg)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000L};
    const uint64_t most = (uint64_t)team * LOOK_MS * 1000000 / SHARE;
    int calm = 0, enough = CALM_LOOKS;
    (void)arg;
    for (uint64_t before = waited(), now;; before = now) {
        nanosleep(&pause, NULL);
        now = waited();
        int busy = now > before + most, there = waiting_is_short();
        if (busy && !there && enough < CALM_MOST) enough *= calm < 2 * enough ? 2 : 1;
        if (!busy && calm > CALM_MOST) enough = CALM_LOOKS;
        calm = busy ? 0 : calm + 1;
        if (busy && !there) waiting_ballast(1, team, processors);
        if (there && calm == enough) waiting_ballast(0, team, processors);
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
