/* disk.c: see disk.h. A change is one of a name or of bytes. A rename is one change of two names. */
#include "tests/lib/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kernels/base/random.h"
#include "kernels/base/hash.h"
#include "tests/lib/test.h"

enum { NEVER = -1, FOLDER = -2, GONE = -1, FILES = 4096, CHANGES = 1 << 16, ROOM = 1 << 22 };

/* `name` and its file, GONE or FOLDER; `other`: the name that a rename takes away, or NULL. Without a name: bytes of
 * a file at `at`, or (bytes NULL) its new length. */
typedef struct {
    char *name, *other;
    int file, renamed;
    char *bytes;
    size_t at, count;
    long durable; /* number of changes at the fsync that made it so, or NEVER */
} Change;

typedef struct {
    char *bytes;
    size_t count;
} Content;

typedef struct {
    char *name;
    int file;         /* its index, GONE, or FOLDER */
    uint64_t version; /* of the change by which it came */
} Entry;

struct Disk {
    char folder[PATH_MAX], before[PATH_MAX];
    Change change[CHANGES];
    Content file[FILES], first[FILES]; /* now, and as the record begins */
    Entry entry[FILES]; /* the live names; those of `before` are added when they are met */
    int was[FILES];     /* the file of each entry as the record begins */
    size_t changes, files, entries;
};

Disk *disk_new(const char *folder, const char *before)
{
    Disk *d = calloc(1, sizeof *d);
    assert_non_null(d);
    snprintf(d->folder, sizeof d->folder, "%s", folder);
    snprintf(d->before, sizeof d->before, "%s", before);
    return d;
}

void disk_free(Disk *d)
{
    for (size_t i = 0; i < d->changes; i++) {
        free(d->change[i].name);
        free(d->change[i].other);
        free(d->change[i].bytes);
    }
    for (size_t i = 0; i < d->files; i++) {
        free(d->file[i].bytes);
        free(d->first[i].bytes);
    }
    for (size_t i = 0; i < d->entries; i++) free(d->entry[i].name);
    free(d);
}

size_t disk_length(const Disk *d)
{
    return d->changes;
}

/* ---- names ----------------------------------------------------------------------------------------- */

static Content read_file(const char *path)
{
    Content c = {0};
    FILE *f = fopen(path, "rb");
    if (!f) return c;
    c.bytes = malloc(ROOM);
    assert_non_null(c.bytes);
    c.count = fread(c.bytes, 1, ROOM, f);
    fclose(f);
    return c;
}

static Content copy_of(Content c)
{
    Content copy = {malloc(c.count + 1), c.count};
    assert_non_null(copy.bytes);
    if (c.count) memcpy(copy.bytes, c.bytes, c.count);
    return copy;
}

static int new_file(Disk *d, Content first)
{
    assert_true(d->files < FILES);
    d->first[d->files] = first;
    d->file[d->files] = copy_of(first);
    return (int)d->files++;
}

/* Returns the entry of a name in the folder ("a/b"), as it now is. */
static Entry *entry_of(Disk *d, const char *name)
{
    char path[2 * PATH_MAX];
    struct stat s;
    for (size_t i = 0; i < d->entries; i++)
        if (strcmp(d->entry[i].name, name) == 0) return &d->entry[i];
    assert_true(d->entries < FILES);
    Entry *e = &d->entry[d->entries];
    snprintf(path, sizeof path, "%s/%s", d->before, name);
    int there = stat(path, &s) == 0;
    int file = !there ? GONE : S_ISDIR(s.st_mode) ? FOLDER : new_file(d, read_file(path));
    *e = (Entry){strdup(name), file, 0};
    d->was[d->entries++] = file;
    return e;
}

/* Returns the name of the folder that holds `name`: "" for the one that is recorded. */
static const char *folder_of(const char *name)
{
    static char folder[PATH_MAX];
    const char *slash = strrchr(name, '/');
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - name) : 0, name);
    return folder;
}

static int has_folder(Disk *d, const char *name)
{
    const char *folder = folder_of(name);
    return !*folder || entry_of(d, folder)->file == FOLDER;
}

/* Writes "a/b" for the path of a call to `name`, with the folder of the descriptor at, and returns 1; 0: it is not in
 * the folder. */
static int name_of(const Disk *d, const Call *c, int at, unsigned long long text,
                   char name[PATH_MAX])
{
    char path[PATH_MAX], link[64], whole[2 * PATH_MAX];
    if (traced_text(c, text, path, sizeof path) != 0) return 0;
    snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", c->pid, at);
    ssize_t n = *path == '/' ? 0 : readlink(link, whole, PATH_MAX - 1);
    if (n < 0) return 0;
    snprintf(whole + n, sizeof whole - (size_t)n, "/%s/", path);
    size_t used = 0, length = strlen(d->folder);
    char plain[2 * PATH_MAX];
    for (char *part = strtok(whole, "/"); part; part = strtok(NULL, "/"))
        if (strcmp(part, ".") != 0)
            used += (size_t)snprintf(plain + used, sizeof plain - used, "/%s", part);
    if (used <= length || strncmp(plain, d->folder, length) != 0 || plain[length] != '/') return 0;
    snprintf(name, PATH_MAX, "%.4000s", plain + length + 1);
    return 1;
}

/* Does so for an open file. */
static int name_of_open(const Disk *d, const Call *c, int fd, char name[PATH_MAX])
{
    char link[64], path[PATH_MAX];
    size_t length = strlen(d->folder);
    snprintf(link, sizeof link, "/proc/%d/fd/%d", c->pid, fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    if (strncmp(path, d->folder, length) != 0 || (path[length] && path[length] != '/')) return 0;
    snprintf(name, PATH_MAX, "%s", path + length + (path[length] == '/'));
    return 1;
}

/* ---- changes ---------------------------------------------------------------------------------------- */

static Change *add(Disk *d, Change c)
{
    assert_true(d->changes < CHANGES);
    c.durable = NEVER;
    d->change[d->changes] = c;
    return &d->change[d->changes++];
}

static void set_name(Disk *d, const char *name, int file, const char *other)
{
    add(d, (Change){.name = strdup(name),
                    .file = file,
                    .other = other ? strdup(other) : NULL,
                    .renamed = other != NULL});
    entry_of(d, name)->file = file;
    if (other) entry_of(d, other)->file = GONE;
}

/* Writes `count` bytes at `at`, or (bytes NULL) makes `at` the length. */
static void put(Content *c, const char *bytes, size_t at, size_t count)
{
    size_t end = bytes && at + count < c->count ? c->count : at + count;
    c->bytes = realloc(c->bytes, end + 1);
    assert_non_null(c->bytes);
    if (end > c->count) memset(c->bytes + c->count, 0, end - c->count);
    if (bytes) memcpy(c->bytes + at, bytes, count);
    c->count = end;
}

static void add_bytes(Disk *d, int file, char *bytes, size_t at, size_t count)
{
    add(d, (Change){.file = file, .bytes = bytes, .at = at, .count = count});
    put(&d->file[file], bytes, at, count);
}

static void meet_open(Disk *d, const Call *c, int at, unsigned long long path, int flags)
{
    char name[PATH_MAX];
    if (!(flags & (O_CREAT | O_TRUNC)) || !name_of(d, c, at, path, name)) return;
    Entry *e = entry_of(d, name);
    if (e->file == FOLDER || (e->file >= 0 && (flags & O_EXCL)) || !has_folder(d, name)) return;
    if (e->file == GONE && (flags & O_CREAT))
        set_name(d, name, new_file(d, (Content){0}), NULL);
    else if (e->file >= 0 && (flags & O_TRUNC) && d->file[e->file].count)
        add_bytes(d, e->file, NULL, 0, 0);
}

/* Returns the position of an open file, or its end where it appends. */
static size_t position(const Call *c, int fd, size_t end)
{
    char path[64];
    unsigned long long at = 0, flags = 0;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", c->pid, fd);
    FILE *f = fopen(path, "r");
    if (!f || fscanf(f, "pos: %llu flags: %llo", &at, &flags) != 2) return end;
    fclose(f);
    return flags & O_APPEND ? end : (size_t)at;
}

static void meet_write(Disk *d, const Call *c, unsigned long long from, size_t count, long at)
{
    char name[PATH_MAX];
    int fd = (int)c->arg[0];
    if (!name_of_open(d, c, fd, name) || entry_of(d, name)->file < 0 || count == 0) return;
    int file = entry_of(d, name)->file;
    char *bytes = malloc(count);
    assert_non_null(bytes);
    assert_int_equal(traced_bytes(c, from, bytes, count), 0);
    size_t where = at < 0 ? position(c, fd, d->file[file].count) : (size_t)at;
    add_bytes(d, file, bytes, where, count);
}

static void meet_sync(Disk *d, const Call *c)
{
    char name[PATH_MAX];
    if (!name_of_open(d, c, (int)c->arg[0], name)) return;
    int file = *name ? entry_of(d, name)->file : FOLDER;
    for (size_t i = 0; i < d->changes; i++) {
        Change *h = &d->change[i];
        int is = h->name ? file == FOLDER && strcmp(folder_of(h->name), name) == 0
                         : file >= 0 && h->file == file;
        if (is && h->durable == NEVER) h->durable = (long)d->changes;
    }
}

static void meet_rename(Disk *d, const Call *c, int link)
{
    char from[PATH_MAX], to[PATH_MAX];
    if (!name_of(d, c, AT_FDCWD, c->arg[0], from) || !name_of(d, c, AT_FDCWD, c->arg[1], to))
        return;
    int file = entry_of(d, from)->file;
    if (file < 0 || !has_folder(d, to) || (link && entry_of(d, to)->file != GONE)) return;
    set_name(d, to, file, link ? NULL : from);
}

static void meet_unlink(Disk *d, const Call *c, int at, unsigned long long path)
{
    char name[PATH_MAX];
    if (name_of(d, c, at, path, name) && entry_of(d, name)->file != GONE)
        set_name(d, name, GONE, NULL);
}

static void meet_mkdir(Disk *d, const Call *c)
{
    char name[PATH_MAX];
    if (name_of(d, c, AT_FDCWD, c->arg[0], name) && entry_of(d, name)->file == GONE &&
        has_folder(d, name))
        set_name(d, name, FOLDER, NULL);
}

static void meet_writev(Disk *d, const Call *c)
{
    struct iovec part;
    for (size_t i = 0; i < c->arg[2]; i++) {
        if (traced_bytes(c, c->arg[1] + i * sizeof part, &part, sizeof part) != 0) return;
        assert_true(c->arg[2] == 1 || part.iov_len == 0); /* the position is that of the first */
        meet_write(d, c, (unsigned long long)(uintptr_t)part.iov_base, part.iov_len, -1);
    }
}

void disk_meet(Disk *d, const Call *c)
{
    const unsigned long long *a = c->arg;
    char name[PATH_MAX];
    switch (c->number) {
    case SYS_open: meet_open(d, c, AT_FDCWD, a[0], (int)a[1]); break;
    case SYS_creat: meet_open(d, c, AT_FDCWD, a[0], O_CREAT | O_TRUNC); break;
    case SYS_openat: meet_open(d, c, (int)a[0], a[1], (int)a[2]); break;
    case SYS_write: meet_write(d, c, a[1], a[2], -1); break;
    case SYS_pwrite64: meet_write(d, c, a[1], a[2], (long)a[3]); break;
    case SYS_writev: meet_writev(d, c); break;
    case SYS_fsync:
    case SYS_fdatasync: meet_sync(d, c); break;
    case SYS_rename: meet_rename(d, c, 0); break;
    case SYS_link: meet_rename(d, c, 1); break;
    case SYS_rmdir:
    case SYS_unlink: meet_unlink(d, c, AT_FDCWD, a[0]); break;
    case SYS_unlinkat: meet_unlink(d, c, (int)a[0], a[1]); break;
    case SYS_mkdir: meet_mkdir(d, c); break;
    case SYS_truncate:
        if (name_of(d, c, AT_FDCWD, a[0], name) && entry_of(d, name)->file >= 0)
            add_bytes(d, entry_of(d, name)->file, NULL, a[1], 0);
        break;
    case SYS_ftruncate:
        if (name_of_open(d, c, (int)a[0], name) && entry_of(d, name)->file >= 0)
            add_bytes(d, entry_of(d, name)->file, NULL, a[1], 0);
        break;
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_linkat:
    case SYS_mkdirat: fail_msg("%s is not in the model", traced_name(c->number));
    default: break;
    }
}

/* ---- disks ------------------------------------------------------------------------------------------- */

static void apply_bytes(Disk *d, const Change *h, int way)
{
    Content *c = &d->file[h->file];
    if (!h->bytes || way == DISK_ALL) {
        put(c, h->bytes, h->at, h->bytes ? h->count : 0);
    } else if (way == DISK_TORN) {
        put(c, h->bytes, h->at, h->count / 2);
    } else {
        char *zeros = calloc(h->count, 1);
        assert_non_null(zeros);
        put(c, zeros, h->at, h->count);
        free(zeros);
    }
}

static void begin(Disk *d)
{
    for (size_t i = 0; i < d->files; i++) {
        free(d->file[i].bytes);
        d->file[i] = copy_of(d->first[i]);
    }
    for (size_t i = 0; i < d->entries; i++) {
        d->entry[i].file = d->was[i];
        d->entry[i].version = 0;
    }
}

/* Returns what is done with change i: a way, or DISK_NONE where it is lost. */
static int fate(const Disk *d, size_t i, size_t n, int way, uint64_t seed)
{
    static const int drawn[] = {DISK_ALL, DISK_NONE, DISK_TORN, DISK_ZEROS};
    const Change *h = &d->change[i];
    if (h->durable != NEVER && h->durable <= (long)n) return DISK_ALL;
    if (way == DISK_DRAWN) return drawn[random_below(seed, n, i, h->name || !h->bytes ? 2 : 4)];
    if (way == DISK_NAMES) return h->name ? DISK_ALL : DISK_NONE;
    return h->name && way != DISK_NONE ? DISK_ALL : way;
}

/* Returns the content of a file as it was when change i was made. */
static int is_as_at(Disk *d, int file, size_t i)
{
    Content whole = copy_of(d->first[file]);
    for (size_t k = 0; k < i; k++)
        if (!d->change[k].name && d->change[k].file == file)
            put(&whole, d->change[k].bytes, d->change[k].at,
                d->change[k].bytes ? d->change[k].count : 0);
    int same = whole.count == d->file[file].count &&
               memcmp(whole.bytes, d->file[file].bytes, whole.count) == 0;
    free(whole.bytes);
    return same;
}

/* Returns a name that came by a rename and stands for other bytes than it did then; NULL: none. */
static const char *spoilt(Disk *d)
{
    for (size_t i = 0; i < d->entries; i++) {
        const Entry *e = &d->entry[i];
        if (e->file < 0 || e->version == 0) continue;
        const Change *h = &d->change[e->version - 1];
        if (h->renamed && h->file == e->file && !is_as_at(d, e->file, e->version - 1))
            return e->name;
    }
    return NULL;
}

/* Tells whether all folders above an entry are there. */
static int is_reached(const Disk *d, const Entry *e)
{
    char above[PATH_MAX];
    snprintf(above, sizeof above, "%s", e->name);
    for (char *slash; (slash = strrchr(above, '/'));) {
        *slash = '\0';
        for (size_t i = 0; i < d->entries; i++)
            if (strcmp(d->entry[i].name, above) == 0 && d->entry[i].file != FOLDER) return 0;
    }
    return e->file != GONE;
}

uint64_t disk_compute(Disk *d, size_t n, int way, uint64_t seed, const char **why)
{
    begin(d);
    for (size_t i = 0; i < n; i++) {
        const Change *h = &d->change[i];
        int is = fate(d, i, n, way, seed);
        if (is == DISK_NONE) continue;
        if (!h->name) {
            apply_bytes(d, h, is);
            continue;
        }
        Entry *e = entry_of(d, h->name);
        e->file = h->file;
        e->version = i + 1;
        if (h->other) entry_of(d, h->other)->file = GONE;
    }
    *why = spoilt(d);
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < d->entries; i++) {
        const Entry *e = &d->entry[i];
        if (!is_reached(d, e)) continue;
        hash = hash_bytes(hash, e->name, strlen(e->name) + 1);
        if (e->file >= 0) hash = hash_bytes(hash, d->file[e->file].bytes, d->file[e->file].count);
    }
    return hash;
}

void disk_write(const Disk *d)
{
    char path[2 * PATH_MAX];
    for (int folders = 1; folders >= 0; folders--)
        for (size_t i = 0; i < d->entries; i++) {
            const Entry *e = &d->entry[i];
            snprintf(path, sizeof path, "%s/%s", d->folder, e->name);
            if (e->file != FOLDER) unlink(path);
            if (!is_reached(d, e) || (e->file == FOLDER) != folders) continue;
            if (folders && mkdir(path, 0777) != 0 && errno != EEXIST) fail_msg("%s", path);
            FILE *f = folders ? NULL : fopen(path, "wb");
            if (!f && !folders) fail_msg("%s: %s", path, strerror(errno));
            if (!f) continue;
            const Content *c = &d->file[e->file];
            assert_true(fwrite(c->bytes, 1, c->count, f) == c->count);
            assert_int_equal(fclose(f), 0);
        }
}
