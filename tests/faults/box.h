/* box.h: the folder box/, in which lines of the program run: makes it what in/ is, and tells what it holds. A file of the
 * same size and time as in in/ is taken for the same, so that little is read and copied after a run that changed little. */
#ifndef TROTTER_TESTS_BOX_H
#define TROTTER_TESTS_BOX_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/text/hash.h"
#include "tests/lib/program.h"

/* Writes the next name of a folder and returns 1; 0: none is left. */
static inline int box_next(DIR *d, const char *of, char path[PATH_MAX], const char **name)
{
    struct dirent *e = d ? readdir(d) : NULL;
    if (!e) return 0;
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
        return box_next(d, of, path, name);
    *name = e->d_name;
    return snprintf(path, PATH_MAX, "%s/%s", of, e->d_name) > 0;
}

static inline int box_same(const struct stat *a, const struct stat *b)
{
    return S_ISREG(a->st_mode) && S_ISREG(b->st_mode) && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static inline void box_remove(const char *path)
{
    char inside[PATH_MAX];
    const char *name;
    DIR *d = opendir(path);
    while (box_next(d, path, inside, &name)) box_remove(inside);
    if (d) closedir(d);
    assert_int_equal(remove(path), 0);
}

static inline void box_copy_file(const char *from, const char *to, const struct stat *s)
{
    const struct timespec times[] = {s->st_atim, s->st_mtim};
    char part[1 << 14];
    ssize_t n;
    int in = open(from, O_RDONLY | O_CLOEXEC),
        copy = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    while ((n = read(in, part, sizeof part)) > 0) assert_int_equal(write(copy, part, (size_t)n), n);
    assert_int_equal(futimens(copy, times), 0);
    close(in);
    close(copy);
}

/* Makes a folder what another is. */
static inline void box_mend(const char *box, const char *in)
{
    char path[PATH_MAX], other[PATH_MAX];
    const char *name;
    struct stat s, t;
    DIR *d = opendir(box);
    if (!d) assert_int_equal(mkdir(box, 0777), 0);
    while (box_next(d, box, path, &name)) {
        snprintf(other, sizeof other, "%.2000s/%.2000s", in, name);
        int both = lstat(path, &s) == 0 && lstat(other, &t) == 0;
        if (!both || !(box_same(&s, &t) || (S_ISDIR(s.st_mode) && S_ISDIR(t.st_mode))))
            box_remove(path);
    }
    if (d) closedir(d);
    d = opendir(in);
    while (box_next(d, in, other, &name)) {
        snprintf(path, sizeof path, "%.2000s/%.2000s", box, name);
        assert_int_equal(lstat(other, &t), 0);
        if (S_ISDIR(t.st_mode))
            box_mend(path, other);
        else if (lstat(path, &s) != 0)
            box_copy_file(other, path, &t);
    }
    if (d) closedir(d);
}

static inline void box_fill(void)
{
    box_mend(file_path("box"), file_path("in"));
}

static inline uint64_t box_hash_file(const char *path)
{
    char part[1 << 14];
    uint64_t h = HASH_START;
    ssize_t n;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while ((n = read(fd, part, sizeof part)) > 0) h = hash_bytes(h, part, (size_t)n);
    close(fd);
    return h;
}

/* Returns a number that tells a folder from others; *temporary counts the files that a run should have removed. */
static inline uint64_t box_hash(const char *box, const char *in, int *temporary)
{
    char path[PATH_MAX], other[PATH_MAX];
    const char *name;
    struct stat s, t;
    uint64_t sum = 1;
    DIR *d = opendir(box);
    while (box_next(d, box, path, &name)) {
        const char *end = strrchr(name, '.');
        *temporary += strstr(name, ".tmp-") || strncmp(name, ".trotter-", 9) == 0 ||
                      (end && strcmp(end, ".claim") == 0);
        snprintf(other, sizeof other, "%.2000s/%.2000s", in, name);
        int there = lstat(path, &s) == 0, known = lstat(other, &t) == 0;
        uint64_t of = !there                      ? 0
                      : S_ISDIR(s.st_mode)        ? box_hash(path, other, temporary)
                      : known && box_same(&s, &t) ? 1
                                                  : box_hash_file(path);
        sum += hash_bytes(hash_bytes(HASH_START, name, strlen(name)), &of, sizeof of);
    }
    if (d) closedir(d);
    return sum;
}

#endif
