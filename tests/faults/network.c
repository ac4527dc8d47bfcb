/* network.c: a network file system that breaks one promise, TROTTER_BREAKS, seen from the machine TROTTER_HOST. It is part of
 * starve.so, and stands before the C library's functions in a program and all that this starts. Each makes the same system
 * call, and nothing else where no promise is broken.
 *
 *     gap        rename lets the name be missing for a moment
 *     both       rename lets the old name stay for a moment
 *     link       link replaces a name that exists, so that two have it
 *     exclusive  O_EXCL opens a file that exists
 *     sync       fsync does nothing
 *     locks      everybody gets every lock
 *     stale      a machine goes on seeing what it saw of a name, there or missing, for a second, but for its own changes
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int breaks(const char *promise)
{
    const char *broken = getenv("TROTTER_BREAKS");
    return broken && strcmp(broken, promise) == 0;
}

static void moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

/* ---- what a machine saw ------------------------------------------------------------------------------- */

enum { SEEN = 1 << 16 };

/* Of a name: when it was seen, and whether it was missing then. All processes of a machine share it. */
typedef struct {
    double at;
    int missing;
} Seen;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static Seen *seen_of(const char *path)
{
    static Seen *all;
    const char *host = getenv("TROTTER_HOST");
    uint64_t h = 1;
    if (!all && host) {
        int fd = (int)syscall(SYS_openat, AT_FDCWD, host, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0 || ftruncate(fd, SEEN * sizeof *all) != 0) abort();
        all = mmap(NULL, SEEN * sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
    }
    for (const char *c = path; *c; c++) h = (h ^ (uint64_t)*c) * 0x9e3779b97f4a7c15u ^ h >> 29;
    return all && breaks("stale") ? &all[h % SEEN] : NULL;
}

/* Tells whether this machine takes a name for missing. */
static int is_missing(const char *path)
{
    Seen *s = seen_of(path);
    if (!s) return 0;
    if (now() - s->at > 1) *s = (Seen){now(), syscall(SYS_access, path, F_OK) != 0};
    return s->missing;
}

/* This machine changes the name itself. */
static void forget(const char *path)
{
    Seen *s = seen_of(path);
    if (s) s->at = 0;
}

/* ---- the calls ---------------------------------------------------------------------------------------- */

int rename(const char *from, const char *to)
{
    int code = 0;
    if (breaks("gap") || breaks("both")) syscall(SYS_unlink, to);
    if (breaks("gap")) moment();
    if (breaks("both")) code = (int)syscall(SYS_link, from, to);
    if (breaks("both")) moment();
    code = code ? code
                : (int)(breaks("both") ? syscall(SYS_unlink, from) : syscall(SYS_rename, from, to));
    forget(from);
    forget(to);
    return code;
}

int link(const char *from, const char *to)
{
    if (breaks("link")) syscall(SYS_unlink, to);
    int code = (int)syscall(SYS_link, from, to);
    forget(to);
    return code;
}

int unlink(const char *path)
{
    int code = (int)syscall(SYS_unlink, path);
    forget(path);
    return code;
}

int mkdir(const char *path, mode_t mode)
{
    int code = (int)syscall(SYS_mkdir, path, mode);
    forget(path);
    return code;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (breaks("exclusive")) flags &= ~O_EXCL;
    if (!(flags & O_CREAT) && is_missing(path)) return errno = ENOENT, -1;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    if (flags & O_CREAT) forget(path);
    return fd;
}

int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
    return open(path, flags);
}

int access(const char *path, int mode)
{
    if (is_missing(path)) return errno = ENOENT, -1;
    return (int)syscall(SYS_access, path, mode);
}

int stat(const char *path, struct stat *s)
{
    if (is_missing(path)) return errno = ENOENT, -1;
    return fstatat(AT_FDCWD, path, s, 0);
}

int fsync(int fd)
{
    return breaks("sync") ? 0 : (int)syscall(SYS_fsync, fd);
}

int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    if (command == F_OFD_SETLK && breaks("locks")) return 0;
    return (int)syscall(SYS_fcntl, fd, command, arg);
}

int gethostname(char *name, size_t room)
{
    const char *host = getenv("TROTTER_HOST"), *slash = host ? strrchr(host, '/') : NULL;
    struct utsname u;
    if (!host && uname(&u) != 0) return -1;
    return snprintf(name, room, "%s", !host ? u.nodename : slash ? slash + 1 : host) < 0 ? -1 : 0;
}
