/* served_files.c: opens files below the directory, and lists and reports what it has. */
#include "studies/page/serve/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "studies/base/frame.h"
#include "studies/page/report/report.h"
#include "studies/base/output.h"

enum { LIST_MOST = 4000 };

/* ---- opening --------------------------------------------------------------------------------------- */

int path_allowed(const char *path)
{
    const char *name = path;
    for (const char *c = path; *c; c++) {
        int begins = c == path || c[-1] == '/';
        if ((unsigned char)*c < ' ' || *c == 127 || (begins && (*c == '/' || *c == '.'))) return 0;
        if (*c == '/') name = c + 1;
    }
    return strcmp(name, "log.csv") == 0 || strcmp(name, "runs.csv") == 0;
}

int file_part(int root, const char *path, size_t from, char **bytes, size_t *count)
{
    struct stat st;
    int fd = file_beneath(root, path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        if (fd >= 0) close(fd);
        return error_set(ERR_INPUT, "%s: there is no such table", path);
    }
    *bytes = memory_new(FILE_MOST, 1);
    ssize_t n = *bytes ? pread(fd, *bytes, FILE_MOST, (off_t)from) : -1;
    close(fd);
    if (!*bytes) return ERR_MEMORY;
    *count = n > 0 ? (size_t)n : 0;
    if (n >= 0) return 0;
    *bytes = memory_free(*bytes);
    return error_set(ERR_INPUT, "%s: it cannot be read", path);
}

/* ---- lists ----------------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    size_t bytes;
    double age;
    int over;
} FileRow;

static const Column file_columns_listed[] = {COLUMN(FileRow, path),
                                             COLUMN(FileRow, bytes),
                                             COLUMN(FileRow, age),
                                             COLUMN(FileRow, over, .form = SHEET_FLAG),
                                             {0}};

/* Returns 1 where a training has written its result beside the log; 0: errno tells why not. */
static int is_over(const char *log)
{
    char beside[OUTPUT_PATH];
    struct stat st;
    const char *slash = strrchr(log, '/');
    snprintf(beside, sizeof beside, "%.*sresult.csv", (int)(slash ? slash + 1 - log : 0), log);
    return file_beneath_stat(AT_FDCWD, beside, &st) == 0;
}

typedef struct {
    Sheet *sheet;
    size_t rows;
} List;

/* Returns ERR_INPUT where the system fails: the list would not be whole. A folder that may not be read, is gone, or lies too
 * deep is left out. */
static int list_entry(void *arg, const WalkEntry *e)
{
    List *l = arg;
    if (e->level > 0 && *e->name == '.') return WALK_SKIP;
    if (e->error && e->error != EACCES && e->error != ENOENT && e->error != ENAMETOOLONG)
        return error_set(ERR_INPUT, "%s: %s", e->path, strerror(e->error));
    if (e->error || !S_ISREG(e->st.st_mode) || strlen(e->path) > PATH_MOST) return 0;
    if (!path_allowed(e->path) || l->rows == LIST_MOST) return 0;
    l->rows++;
    errno = 0;
    int over = is_over(e->path);
    if (!over && errno != ENOENT) return error_set(ERR_INPUT, "%s: %s", e->path, strerror(errno));
    sheet_row(l->sheet, &(FileRow){e->path, (size_t)e->st.st_size,
                                   difftime(time(NULL), e->st.st_mtime), over});
    return 0;
}

int file_list(const Request *r, FILE *f)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    (void)r;
    TRY(sheet_new(file_columns_listed, &s));
    List l = {.sheet = s};
    TRY(output_walk(AT_FDCWD, list_entry, &l));
    return sheet_write(s, SHEET_CSV, f);
}

int file_trainings(const Request *r, FILE *f)
{
    Frame *list = NULL;
    size_t n = 0;
    (void)r;
    int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return error_set(ERR_INPUT, "the folder cannot be read: %s", strerror(errno));
    int code = frame_trainings(folder, ".", &list, &n);
    if (code == 0 && n == 0) code = error_set(ERR_INPUT, "No training has ended here yet.");
    if (code == 0) code = frames_write(list, n, f);
    frames_close(list, n);
    close(folder);
    return code;
}

/* ---- the report ------------------------------------------------------------------------------------ */

int file_report(const Request *r, FILE *f)
{
    SCOPED(found_free) Found found = {0};
    (void)r;
    TRY(found_search(".", "", &found));
    Summary s = {.found = &found, .f = f};
    if (found.studies) return summary_write(&s, "Studies");
    return error_set(ERR_INPUT, "there is no study here yet that a command of trotter wrote");
}
