/* test_file.c: a file is whole or missing, and is on the disk before its name. */
#include "kernels/base/file.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "nn/text/corpus.h"
#include "nn/model/store.h"
#include "tests/lib/scratch.h"

/* ---- order on the disk -------------------------------------------------------------------------- */

/* These replace the C library's fsync and rename in this program. They do their work and note the order of their
 * calls. */
static char order[16]; /* f: a file was synced; d: a folder; r: a name was taken */
static int sync_fails; /* the errno of the next call; 0: it works */

static void note(char what)
{
    size_t n = strlen(order);
    if (n + 1 < sizeof order) order[n] = what;
}

int fsync(int fd)
{
    struct stat s;
    note(fstat(fd, &s) == 0 && S_ISDIR(s.st_mode) ? 'd' : 'f');
    errno = sync_fails;
    return sync_fails ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    note('r');
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* Replaces the C library's too. */
static const char *host_name = "here";

int own_name(char *name, size_t room) __asm__("gethostname"); /* the header has an inline one */
int own_name(char *name, size_t room)
{
    return -(snprintf(name, room, "%s", host_name) < 0);
}

static int holds(const char *file, const char *text)
{
    char *bytes;
    size_t count;
    if (file_whole(file, SIZE_MAX, &bytes, &count) != 0) return 0;
    int good = count == strlen(text) && memcmp(bytes, text, count) == 0;
    memory_free(bytes);
    return good;
}

/* Bytes are kept before the name, and the name before the folder. A power cut at any moment leaves the old file or
 * the new one. */
TEST(test_order)
{
    scratch_files(1);
    const char *file = file_path("file");
    memset(order, 0, sizeof order);
    assert_int_equal(file_replace(file, "old", 3), 0);
    assert_string_equal(order, "frd");
}

/* Where the disk fails to sync, the old file stays, and nothing beside it. */
TEST(test_failing_sync)
{
    scratch_files(1);
    const char *file = file_path("file");
    assert_int_equal(file_replace(file, "old", 3), 0);
    memset(order, 0, sizeof order);
    sync_fails = EIO;
    int code = file_replace(file, "new", 3);
    sync_fails = 0;
    assert_int_equal(code, ERR_SYSTEM);
    assert_non_null(strstr(error_text(), "cannot sync"));
    assert_string_equal(order, "f");
    assert_true(holds(file, "old"));
    assert_int_equal(scratch_files(0), 1);
}

/* ---- writing ------------------------------------------------------------------------------------- */

TEST(test_file)
{
    scratch_files(1);
    const char *file = file_path("file");
    assert_int_equal(file_replace(file, "old", 3), 0);
    assert_true(holds(file, "old"));
    assert_int_equal(file_replace(file, "newer", 5), 0);
    assert_true(holds(file, "newer"));
    assert_int_equal(file_replace(file, "", 0), 0);
    assert_true(holds(file, ""));
    assert_int_equal(scratch_files(0), 1);
    char stale[64]; /* a leftover of a dead process with our number */
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    snprintf(stale, sizeof stale, "file.%s.tmp-%ld", host, (long)getpid());
    file_write(stale, "dead", 4);
    assert_int_equal(file_replace(file, "new", 3), 0);
    assert_true(holds(file, "new"));
    assert_int_equal(scratch_files(0), 1);
    assert_int_equal(chdir(folder), 0); /* a name without a folder */
    assert_int_equal(file_replace("plain", "here", 4), 0);
    assert_true(holds(file_path("plain"), "here"));
    assert_int_equal(chdir("/"), 0);
}

TEST(test_unwritable)
{
    scratch_files(1);
    struct stat s;
    const char *fifo = file_path("fifo");
    assert_int_equal(file_replace(file_path("no/folder"), "x", 1), ERR_SYSTEM);
    assert_non_null(strstr(error_text(), "no/folder"));
    assert_int_equal(file_replace(folder, "x", 1), ERR_SYSTEM);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(file_replace(fifo, "x", 1), ERR_SYSTEM);
    assert_true(stat(fifo, &s) == 0 && S_ISFIFO(s.st_mode));
    assert_int_equal(scratch_files(1), 1);
}

/* ---- leftovers ----------------------------------------------------------------------------------- */

/* The file of a dead writer goes. A file that is not exactly of this form, or of a living writer, stays. */
TEST(test_sweep)
{
    static const char *const stays[] = {"%ld",        ".tmp-%ld",   "a.tmp-0%ld",
                                        "a.tmp-+%ld", "a.tmp-%ld~", "a.tmp-%ld.tmp-",
                                        "a.tmp%ld",   "a.tmp--%ld", "a.tmp-%ld00000000000"};
    static const char *const goes[] = {"a.tmp-%ld", "model.safetensors.tmp-%ld", "b.tmp-1.tmp-%ld"};
    char name[64];
    scratch_files(1);
    pid_t dead = fork();
    if (dead == 0) _exit(0);
    snprintf(name, sizeof name, "z.tmp-%ld",
             (long)dead); /* not waited for: it still has its number */
    file_write(name, "", 0);
    file_sweep(folder);
    assert_int_equal(scratch_files(0), 1);
    assert_int_equal(waitpid(dead, NULL, 0), dead);
    for (size_t i = 0; i < sizeof stays / sizeof *stays; i++) {
        snprintf(name, sizeof name, stays[i], (long)dead);
        file_write(name, "", 0);
    }
    file_write("a.tmp-1", "", 0);
    for (size_t i = 0; i < sizeof goes / sizeof *goes; i++) {
        snprintf(name, sizeof name, goes[i], (long)dead);
        file_write(name, "", 0);
    }
    file_sweep(folder);
    assert_int_equal(scratch_files(1), sizeof stays / sizeof *stays + 1);
    file_sweep("/nowhere/at/all");
}

/* Host names that no file may have (sethostname(2) takes any bytes). */
TEST(test_host_names)
{
    static const char *const names[] = {"a/b", "/", "a\nb", "a b", ""};
    scratch_files(1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        host_name = names[i];
        if (file_replace(file_path("file"), "x", 1) != 0)
            fail_msg("'%s': %s", names[i], error_text());
    }
    host_name = "here";
    assert_int_equal(scratch_files(1), 1);
}

/* ---- beneath a folder --------------------------------------------------------------------------- */

/* No path leads out of a folder, by openat2 and part by part. Control: open(2) goes out by the same path. */
TEST(test_beneath)
{
    static const struct {
        const char *path;
        int flags, error; /* 0: it is opened */
        int out;          /* open(2) reads the secret by it */
    } rows[] = {
        {"a/b/file", O_RDONLY, 0, 0},
        {"a/.file", O_RDONLY, 0, 0},
        {"a/b", O_RDONLY | O_DIRECTORY, 0, 0},
        {"", O_RDONLY | O_DIRECTORY, 0, 0},
        {"a/b/file", O_RDONLY | O_DIRECTORY, ENOTDIR, 0},
        {"a/b/file/file", O_RDONLY, ENOTDIR, 0},
        {"a/nothing", O_RDONLY, ENOENT, 0},
        {"a/link", O_RDONLY, ELOOP, 1},
        {"a/out/secret", O_RDONLY, -1, 1}, /* ELOOP of openat2, ENOTDIR part by part */
        {"a/back/link", O_RDONLY, -1, 1},
        {"a/back/b/file", O_RDONLY, -1, 0}, /* a link that stays within */
        {"../secret", O_RDONLY, EXDEV, 1},
        {"a/../../secret", O_RDONLY, EXDEV, 1},
        {"a/b/..", O_RDONLY, EXDEV, 0},
        {"./a/b/file", O_RDONLY, EXDEV, 0},
        {"a//b/file", O_RDONLY, EXDEV, 0},
        {"/etc/passwd", O_RDONLY, EXDEV, 0},
        {"a/b/", O_RDONLY, EXDEV, 0},
    };
    struct stat s;
    scratch_files(1);
    assert_int_equal(mkdir(file_path("root"), 0777) | mkdir(file_path("root/a"), 0777) |
                         mkdir(file_path("root/a/b"), 0777),
                     0);
    file_text("secret", "secret");
    file_text("root/a/b/file", "words");
    file_text("root/a/.file", "words");
    assert_int_equal(symlink("../../secret", file_path("root/a/link")) |
                         symlink("../..", file_path("root/a/out")) |
                         symlink(".", file_path("root/a/back")),
                     0);
    int root = open(file_path("root"), O_PATH | O_CLOEXEC);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (file_beneath_plain = 0; file_beneath_plain < 2; file_beneath_plain++) {
            int fd = file_beneath(root, rows[i].path, rows[i].flags), e = errno;
            if (fd >= 0 ? rows[i].error
                        : rows[i].error == 0 || (rows[i].error > 0 && e != rows[i].error))
                fail_msg("'%s', plain %d: %d, %s", rows[i].path, file_beneath_plain, fd,
                         strerror(e));
            if (fd >= 0) close(fd);
            assert_int_equal(holds(formed("%s/root/%s", folder, rows[i].path), "secret"),
                             rows[i].out);
        }
    for (file_beneath_plain = 0; file_beneath_plain < 2; file_beneath_plain++) {
        assert_int_equal(file_beneath_stat(root, "a/link", &s), 0);
        assert_true(S_ISLNK(s.st_mode));
        assert_int_equal(file_beneath_stat(root, "a/out/secret", &s), -1);
    }
    file_beneath_plain = 0;
    close(root);
}

TEST_MAIN(scratch_open, scratch_close)
