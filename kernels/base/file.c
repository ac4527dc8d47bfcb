/* file.c: writes a file whole or not at all. The bytes go to a temporary file in the same folder and
 * are synced to the disk. A rename, which POSIX makes atomic, gives them the name; then the folder
 * is synced, so that the name also survives a power cut. A process that dies in between leaves the
 * old file and, at worst, FILE.HOST.tmp-PID, which the next training in that directory removes.
 *
 * At the size limit of the process or its user the system sends SIGXFSZ, which ends a program that
 * does not ignore it. If it is ignored, it is an ordinary error here.
 *
 * Reads files whole too; what is no regular file has a bound. */
#include "kernels/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

_Static_assert(SIZE_MAX == UINT64_MAX, "products of shapes and places in files have 64 bits");

static int failed(const char *what, const char *file)
{
    return error_set(ERR_SYSTEM, "cannot %s %s: %s", what, file, strerror(errno));
}

static int write_bytes(int fd, const char *file, FilePart part)
{
    const char *p = part.bytes;
    for (size_t left = part.count; left > 0;) {
        ssize_t n = write(fd, p, left < (1 << 30) ? left : 1 << 30);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed("write", file);
        p += n;
        left -= (size_t)n;
    }
    return 0;
}

typedef int (*Next)(void *arg, FilePart *part);

static int fill(int fd, const char *file, Next next, void *arg)
{
    FilePart part;
    int code;
    while ((code = next(arg, &part)) > 0) TRY(write_bytes(fd, file, part));
    if (code) return code;
    return fsync(fd) == 0 ? 0 : failed("sync", file);
}

/* Creates a fresh file; it replaces one that a dead process with our number left. */
static int create(const char *temporary)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    int fd = open(temporary, flags, 0666);
    if (fd < 0 && errno == EEXIST && unlink(temporary) == 0) fd = open(temporary, flags, 0666);
    return fd;
}

/* Syncs the folder that holds `file`, where the file system can. */
static int sync_folder(const char *file)
{
    char path[PATH_MAX] = ".";
    const char *slash = strrchr(file, '/');
    int n = slash == file ? 1 : slash ? (int)(slash - file) : 0;
    if (n) snprintf(path, sizeof path, "%.*s", n, file);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int bad = fd < 0 || (fsync(fd) != 0 && errno != EINVAL);
    int code = bad ? failed("sync the folder of", file) : 0;
    if (fd >= 0) close(fd);
    return code;
}

static int replace(const char *file, const char *temporary, Next next, void *arg)
{
    int fd = create(temporary);
    if (fd < 0) return failed("create", temporary);
    int code = fill(fd, file, next, arg);
    if (close(fd) != 0 && !code) code = failed("close", file);
    if (!code && rename(temporary, file) != 0) code = failed("rename to", file);
    if (code) unlink(temporary);
    return code ? code : sync_folder(file);
}

int file_folder(const char *path)
{
    struct stat s;
    if (mkdir(path, 0777) == 0) return sync_folder(path);
    if (errno == EEXIST && stat(path, &s) == 0 && S_ISDIR(s.st_mode)) return 0;
    return error_set(ERR_INPUT, "%s: %s", path,
                     errno == EEXIST ? "not a directory" : strerror(errno));
}

int file_stream(const char *file, Next next, void *arg)
{
    struct stat s;
    if (stat(file, &s) == 0 && !S_ISREG(s.st_mode)) /* a rename would replace /dev/null */
        return error_set(ERR_SYSTEM, "cannot write %s: it is not a regular file", file);
    char host[64] = ""; /* processes of two machines may have the same number */
    gethostname(host, sizeof host - 1);
    for (char *c = host; *c; c++) /* a name that the kernel allows, and no file may have */
        if (*c == '/' || (unsigned char)*c <= ' ') *c = '-';
    size_t bytes = strlen(file) + sizeof host + 32;
    char *temporary = memory_new(bytes, 1);
    if (!temporary) return ERR_MEMORY;
    snprintf(temporary, bytes, "%s.%s.tmp-%ld", file, host, (long)getpid());
    int code = replace(file, temporary, next, arg);
    memory_free(temporary);
    return code;
}

static int next_once(void *arg, FilePart *part)
{
    FilePart *all = arg;
    *part = *all;
    all->count = 0;
    return part->count > 0;
}

/* Returns the PID of NAME.tmp-PID; 0 if the name has not exactly this form. */
static pid_t writer_of(const char *name)
{
    static const char mark[] = ".tmp-";
    const char *at = NULL;
    for (const char *s = name; (s = strstr(s, mark)); s++) at = s;
    if (!at || at == name) return 0;
    char digits[32];
    at += strlen(mark);
    long pid = strtol(at, NULL, 10);
    snprintf(digits, sizeof digits, "%ld", pid);
    return pid > 0 && pid <= INT_MAX && strcmp(digits, at) == 0 ? (pid_t)pid : 0;
}

void file_sweep(const char *dir)
{
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        pid_t pid = writer_of(e->d_name);
        if (pid && kill(pid, 0) != 0 && errno == ESRCH) unlinkat(dirfd(d), e->d_name, 0);
    }
    if (d) closedir(d);
}

int file_replace(const char *file, const void *bytes, size_t count)
{
    return file_stream(file, next_once, &(FilePart){bytes, count});
}

/* ---- reading ------------------------------------------------------------------------------------- */

/* Estimates the bytes of a file; a pipe starts with a page and grows. */
static size_t size_hint(FILE *f, size_t most)
{
    struct stat s;
    size_t size = fstat(fileno(f), &s) == 0 && s.st_size > 0 ? (size_t)s.st_size : 4095;
    return size < most ? size : most;
}

size_t file_pipe_most = (size_t)4 << 30;

/* Lowers *most for what may have no end; refuses devices. */
static int bound(const char *file, FILE *f, size_t *most)
{
    struct stat s;
    if (fstat(fileno(f), &s) != 0 || S_ISREG(s.st_mode)) return 0;
    if (S_ISCHR(s.st_mode) && s.st_rdev != makedev(1, 3) /* /dev/null */ && !isatty(fileno(f)))
        return error_set(ERR_INPUT, "%s is a device, which may have no end: give a file", file);
    if (*most > file_pipe_most) *most = file_pipe_most + 1;
    return 0;
}

/* Sets the error of a file that cannot be opened or read: ERR_INPUT where it is no file for us, else ERR_SYSTEM, which no
 * caller takes for a file that is not there. */
static int unread(const char *what, const char *file)
{
    int e = errno;
    int ours = e == ENOENT || e == ENOTDIR || e == EACCES || e == EISDIR || e == ENAMETOOLONG ||
               e == ELOOP || e == ENXIO;
    return error_set(ours ? ERR_INPUT : ERR_SYSTEM, "cannot %s %s: %s", what, file, strerror(e));
}

/* Tells whether a pipe open at fd has a writer. tee(2) alone does, without taking what is in it. */
static int has_writer(int fd)
{
    int room[2];
    if (pipe(room) != 0) return 1;
    int has = tee(fd, room[1], 1, SPLICE_F_NONBLOCK) != 0;
    close(room[0]);
    close(room[1]);
    return has;
}

int file_open(const char *file, int *fd)
{
    struct stat s;
    struct statfs of;
    int fifo = stat(file, &s) == 0 && S_ISFIFO(s.st_mode);
    *fd = open(file, O_RDONLY | O_CLOEXEC | (fifo ? O_NONBLOCK : 0));
    if (*fd < 0) return unread("open", file);
    int named = fifo && fstatfs(*fd, &of) == 0 && of.f_type != PIPEFS_MAGIC;
    struct pollfd begins = {.fd = *fd, .events = POLLIN};
    for (int i = 0; named && i < 10 * FILE_FIFO_SECONDS && !has_writer(*fd); i++)
        if (poll(&begins, 1, 100) > 0) named = 0;
    int lonely = named && !has_writer(*fd);
    if (!lonely && (!fifo || fcntl(*fd, F_SETFL, 0) == 0)) return 0;
    int code = lonely
                   ? error_set(ERR_INPUT, "%s is a FIFO that nobody opened to write to it in %d s",
                               file, FILE_FIFO_SECONDS)
                   : unread("open", file);
    close(*fd);
    *fd = -1;
    return code;
}

static int read_stream(const char *file, FILE *f, size_t most, char **bytes, size_t *count)
{
    size_t room = size_hint(f, most) + 1;
    size_t n = 0;
    char *p = memory_new(room, 1);
    while (p && n < most) {
        size_t want = room - 1 < most ? room - 1 : most;
        n += fread(p + n, 1, want - n, f);
        int c = n < want || n == most ? EOF : getc(f); /* one byte more: the hint was short */
        if (c == EOF) break;
        char *q = memory_grow(p, n, 2 * room, 1);
        if (!q) {
            p = memory_free(p);
            break;
        }
        p = q;
        room *= 2;
        p[n++] = (char)c;
    }
    if (!p) return ERR_MEMORY;
    *bytes = p;
    *count = n;
    return ferror(f) ? unread("read", file) : 0;
}

/* Reads the first `most` bytes of an open file, and closes it. */
static int read_open(int fd, const char *file, size_t most, char **bytes, size_t *count)
{
    FILE *f = fdopen(fd, "rb");
    if (!f) {
        close(fd);
        return unread("open", file);
    }
    size_t asked = most;
    int code = bound(file, f, &most);
    if (code == 0) code = read_stream(file, f, most, bytes, count);
    fclose(f);
    if (code == 0 && most < asked && *count == most)
        code = error_set(ERR_INPUT,
                         "%s: more than %zu bytes, and no regular file: save them in a file first",
                         file, file_pipe_most);
    if (code) *bytes = memory_free(*bytes);
    return code;
}

int file_whole(const char *file, size_t most, char **bytes, size_t *count)
{
    *bytes = NULL;
    *count = 0;
    int fd;
    TRY(file_open(file, &fd));
    return read_open(fd, file, most, bytes, count);
}

/* ---- beneath a folder ---------------------------------------------------------------------------- */

int file_beneath_plain;

/* Opens one part of a path, which is no link. openat2 refuses flags beside O_PATH that say nothing there. */
static int flags_of(int flags)
{
    return flags | O_NOFOLLOW | O_CLOEXEC | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY);
}

/* Opens every part by itself: of each the kernel decides at once whether it is a link, and opens it. */
static int open_parts(int folder, const char *path, int flags)
{
    char part[NAME_MAX + 1];
    int at = folder;
    for (size_t n; *path; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        int last = path[n] == '\0', next = -1, e = ENAMETOOLONG;
        if (n < sizeof part) {
            memcpy(part, path, n);
            part[n] = '\0';
            next = openat(at, part, last ? flags : flags_of(O_PATH | O_DIRECTORY));
            e = errno;
        }
        if (at != folder) close(at);
        if (next < 0 || last) errno = e;
        if (next < 0 || last) return next;
        at = next;
    }
    return openat(folder, ".", flags);
}

/* Tells whether every part of a path is a name. */
static int is_path(const char *path)
{
    for (size_t n; *path; path += n) {
        n = strcspn(path, "/");
        if (n == 0 || (*path == '.' && (n == 1 || (n == 2 && path[1] == '.')))) return 0;
        if (path[n] == '/' && !path[++n]) return 0;
    }
    return 1;
}

/* The kernel follows the whole path at once where it has openat2 (Linux 5.6). Where it does not, or a filter of system calls
 * refuses what it does not know, the parts are opened one by one. Source: openat2(2). */
int file_beneath(int folder, const char *path, int flags)
{
    flags = flags_of(flags);
    if (!is_path(path)) {
        errno = EXDEV; /* as openat2 has it */
        return -1;
    }
    struct open_how how = {.flags = (unsigned)flags,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    const char *from = *path ? path : ".";
    long fd = file_beneath_plain ? -1 : syscall(SYS_openat2, folder, from, &how, sizeof how);
    if (fd >= 0 || !(file_beneath_plain || errno == ENOSYS || errno == EPERM)) return (int)fd;
    return open_parts(folder, path, flags);
}

int file_beneath_stat(int folder, const char *path, struct stat *s)
{
    int fd = file_beneath(folder, path, O_PATH);
    if (fd < 0) return -1;
    int failed = fstat(fd, s), e = errno;
    close(fd);
    errno = e;
    return failed;
}

int file_beneath_whole(int folder, const char *path, const char *name, size_t most, char **bytes,
                       size_t *count)
{
    struct stat s;
    *bytes = NULL;
    *count = 0;
    int fd = file_beneath(folder, path, O_RDONLY);
    if (fd < 0) return unread("open", name);
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) return read_open(fd, name, most, bytes, count);
    close(fd);
    return error_set(ERR_INPUT, "%s is no regular file", name);
}
