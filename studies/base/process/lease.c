/* lease.c: decides by link(2) who comes first, and by a lock who is alive (lease.h). */
#include "studies/base/process/lease.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"

enum { LOCK_HAD, LOCK_TAKEN, LOCK_REFUSED };

static int lock(int fd)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &l) == 0) return LOCK_HAD;
    return errno == EAGAIN || errno == EACCES ? LOCK_TAKEN : LOCK_REFUSED;
}

static int failed(const char *path)
{
    return error_set(ERR_SYSTEM, "%s: %s", path, strerror(errno));
}

/* Writes a fixed length over the old words in one write, so that a claim whose taker is killed here still
 * names a host. */
static int write_words(int fd, const char *path, const char *who)
{
    char line[128];
    int n = snprintf(line, sizeof line, "%.120s\n", who);
    memset(line + n, '\n', sizeof line - (size_t)n);
    return pwrite(fd, line, sizeof line, 0) == sizeof line ? 0 : failed(path);
}

/* Makes our own file beside the claim, locked, with `who` in it. It is synced before it gets the claim's name: without
 * words, as a power cut may leave it, the claim could be another host's. */
static int make_own(const char *path, const char *who, char own[OUTPUT_PATH], int *fd)
{
    int n = snprintf(own, OUTPUT_PATH, "%s.", path);
    for (const char *c = who; *c && n < OUTPUT_PATH - 1; c++)
        own[n++] = *c == ' ' || *c == '/' ? '-' : *c;
    own[n < OUTPUT_PATH ? n : OUTPUT_PATH - 1] = '\0';
    unlink(own); /* of a dead process with our number, or a link that a stranger put there */
    *fd = open(own, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd < 0) return failed(own);
    lock(*fd); /* if refused: nobody can get a lock */
    int code = write_words(*fd, own, who);
    if (code == 0 && fsync(*fd) != 0 && errno != EINVAL) code = failed(own);
    if (code != 0) {
        unlink(own);
        close(*fd);
        *fd = -1;
    }
    return code;
}

/* Returns 1 where the file has a second name: the link was made even if the answer was lost (NFS). */
static int is_linked(int fd)
{
    struct stat s;
    return fstat(fd, &s) == 0 && s.st_nlink == 2;
}

static void read_words(int fd, char words[128])
{
    ssize_t n = pread(fd, words, 127, 0);
    words[n > 0 ? n : 0] = '\0';
    words[strcspn(words, "\n")] = '\0';
}

/* Tells whether nobody has taken the claim over. */
static int is_ours(const Lease *c)
{
    char words[128];
    read_words(c->fd, words);
    return strcmp(words, c->who) == 0;
}

/* Reads the words of a claim; returns 1 where they name another host. */
static int is_elsewhere(int fd, const char *who, char words[128])
{
    read_words(fd, words);
    size_t host = strcspn(who, " ");
    return strncmp(words, who, host) != 0 || words[host] != ' ';
}

/* Returns the seconds between the last signs of life of two files, both by the file system's clock. */
static double silence(int own, int fd)
{
    struct stat now, then;
    if (fstat(own, &now) != 0 || fstat(fd, &then) != 0) return 0;
    return difftime(now.st_mtime, then.st_mtime);
}

/* Takes over a claim whose holder may be gone. *again = 1: the claim disappeared meanwhile. */
static int take_over(const char *path, const char *who, int own, Lease *c, int *mine, int *again)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    *again = fd < 0 && errno == ENOENT;
    if (fd < 0) return *again ? 0 : failed(path);
    int code = 0, had = lock(fd) == LOCK_HAD;
    if (had && !output_is(path, fd))
        *again = 1;
    else if (had && !(is_elsewhere(fd, who, c->left_over) && silence(own, fd) < LEASE_SILENCE)) {
        code = write_words(fd, path, who);
        *mine = code == 0;
    }
    if (*mine)
        c->fd = fd;
    else
        close(fd);
    return code;
}

static int take(const char *path, const char *who, Lease *c, int *mine)
{
    char own[OUTPUT_PATH];
    int fd, again = 1, code = make_own(path, who, own, &fd);
    while (code == 0 && again) {
        again = 0;
        if (link(own, path) == 0 || is_linked(fd)) {
            c->fd = fd;
            *mine = 1;
        } else if (errno != EEXIST)
            code = failed(path);
        else
            code = take_over(path, who, fd, c, mine, &again);
    }
    if (fd >= 0) unlink(own);
    if (fd >= 0 && c->fd != fd) close(fd);
    return code;
}

int lease_take(const char *path, const char *who, Lease *c, int *mine)
{
    *c = (Lease){.fd = -1, .beat = clock_now()};
    *mine = 0;
    snprintf(c->who, sizeof c->who, "%.120s", who);
    if (snprintf(c->path, sizeof c->path, "%s", path) >= OUTPUT_PATH - 64)
        return error_set(ERR_INPUT, "%.100s...: name too long", path);
    return take(path, who, c, mine);
}

void lease_keep(Lease *c)
{
    if (c->fd < 0 || clock_now() - c->beat < LEASE_BEAT) return;
    c->beat = clock_now();
    if (is_ours(c)) (void)!futimens(c->fd, NULL);
}

void lease_pass(const Lease *c)
{
    if (c->fd >= 0) fcntl(c->fd, F_SETFD, 0);
}

void lease_drop(Lease *c)
{
    if (c->fd < 0) return;
    if (output_is(c->path, c->fd) && is_ours(c)) unlink(c->path);
    close(c->fd);
    c->fd = -1;
}

void lease_log(const char *path, const char *format, ...)
{
    char line[1024];
    time_t now = time(NULL);
    struct tm utc;
    size_t n = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%SZ ", gmtime_r(&now, &utc));
    va_list args;
    va_start(args, format);
    int m = vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    if (m < 0) return;
    n = n + (size_t)m < sizeof line - 2 ? n + (size_t)m : sizeof line - 2;
    line[n++] = '\n';
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) return;
    (void)!write(fd, line, n);
    close(fd);
}
