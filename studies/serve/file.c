/* file.c: opens files below the directory, and lists and reports what it has. */
#include "studies/serve/serve.h"

#include <fcntl.h>
#include <fts.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/report/report.h"
#include "studies/tools/output.h"

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

int file_below(int root, const char *path)
{
    char part[PATH_MOST + 1];
    int at = dup(root);
    struct stat st;
    for (size_t n; at >= 0 && *path; path += n + (path[n] == '/')) {
        n = strcspn(path, "/");
        int last = path[n] == '\0';
        if (n >= sizeof part || n == 0 || *path == '.') break;
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        int next = openat(at, part,
                          O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY |
                              (last ? 0 : O_DIRECTORY));
        close(at);
        at = next;
        if (last && at >= 0 && fstat(at, &st) == 0 && S_ISREG(st.st_mode)) return at;
    }
    if (at >= 0) close(at);
    return -1;
}

int file_part(int root, const char *path, size_t from, char **bytes, size_t *count)
{
    int fd = file_below(root, path);
    if (fd < 0) return error_set(ERR_INPUT, "%s: there is no such table", path);
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

/* Returns 1 where a training has written its result beside the log. */
static int is_over(const char *log)
{
    char beside[OUTPUT_PATH];
    const char *slash = strrchr(log, '/');
    snprintf(beside, sizeof beside, "./%.*sresult.csv", (int)(slash ? slash + 1 - log : 0), log);
    return output_exists(beside);
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void list_entry(FTS *walk, FTSENT *e, Sheet *s, size_t *rows)
{
    const char *path = e->fts_path + (e->fts_level > 0 ? 2 : 0); /* behind "./" */
    if (e->fts_level > 0 && *e->fts_name == '.') {
        fts_set(walk, e, FTS_SKIP);
    } else if (e->fts_info == FTS_F && strlen(path) <= PATH_MOST && path_allowed(path)) {
        sheet_row(s, &(FileRow){path, (size_t)e->fts_statp->st_size,
                                difftime(time(NULL), e->fts_statp->st_mtime), is_over(path)});
        ++*rows;
    }
}

int file_list(const Request *r, FILE *f)
{
    char *roots[] = {(char[]){"."}, NULL};
    size_t rows = 0;
    SCOPED(sheet_drop) Sheet *s = NULL;
    (void)r;
    TRY(sheet_new(file_columns_listed, &s));
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
    for (FTSENT *e; walk && rows < LIST_MOST && (e = fts_read(walk));)
        list_entry(walk, e, s, &rows);
    if (walk) fts_close(walk);
    return sheet_write(s, SHEET_CSV, f);
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
