/* output.c: makes directories of a study and writes its files atomically. */
#include "studies/base/output.h"

#include <errno.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/plain_text.h"

int output_directory(const char *dir)
{
    char path[OUTPUT_PATH];
    TRY(output_path(path, dir, "%s", ""));
    for (char *c = path + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        TRY(file_folder(path));
        *c = '/';
    }
    return 0;
}

/* Tries to make a folder in path and removes it. Permissions alone do not show all: /proc takes no new folder. */
static int try_folder(const char *path)
{
    char probe[OUTPUT_PATH];
    TRY(output_path(probe, path, ".trotter-XXXXXX"));
    if (!mkdtemp(probe))
        return error_set(ERR_INPUT, "%s: nothing can be written here: %s", path, strerror(errno));
    rmdir(probe);
    return 0;
}

int output_check(const char *dir)
{
    char path[OUTPUT_PATH];
    struct stat s;
    TRY(output_path(path, dir, "%s", "")); /* not empty, and not too long */
    snprintf(path, sizeof path, "%s", dir);
    while (stat(path, &s) != 0) {
        if ((errno != ENOENT && errno != ENOTDIR) || !strcmp(path, ".") || !strcmp(path, "/"))
            return error_set(ERR_INPUT, "%s: %s", path, strerror(errno));
        const char *above = dirname(path);
        memmove(path, above, strlen(above) + 1);
    }
    if (!S_ISDIR(s.st_mode)) return error_set(ERR_INPUT, "%s: not a directory", path);
    if (access(path, W_OK | X_OK) != 0)
        return error_set(ERR_INPUT, "%s: %s", path, strerror(errno));
    return try_folder(path);
}

int output_check_file(const char *file)
{
    char dir[OUTPUT_PATH];
    struct stat s;
    const char *slash = file ? strrchr(file, '/') : NULL;
    if (!file) return 0;
    size_t n = slash ? (size_t)(slash - file) + 1 : 2; /* "a/", "/" or "./" */
    if (!*file || n >= sizeof dir)
        return error_set(ERR_INPUT, "'%.100s': expected the name of a file", file);
    snprintf(dir, sizeof dir, "%.*s", (int)n, slash ? file : "./");
    if (stat(file, &s) == 0 && !S_ISREG(s.st_mode))
        return error_set(ERR_INPUT, "cannot write %s: it is not a regular file", file);
    if (access(dir, W_OK | X_OK) == 0) return 0;
    return error_set(ERR_INPUT, "cannot write %s: %s", file, strerror(errno));
}

int output_path(char out[OUTPUT_PATH], const char *dir, const char *format, ...)
{
    int n = snprintf(out, OUTPUT_PATH, "%s/", dir);
    if (n < 0 || n >= OUTPUT_PATH) return error_set(ERR_INPUT, "%.100s...: name too long", dir);
    va_list args;
    va_start(args, format);
    int m = vsnprintf(out + n, (size_t)(OUTPUT_PATH - n), format, args);
    va_end(args);
    if (m < 0 || m >= OUTPUT_PATH - n) return error_set(ERR_INPUT, "%.100s...: name too long", dir);
    return 0;
}

int output_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int output_is(const char *path, int fd)
{
    struct stat a, b;
    return stat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino &&
           a.st_dev == b.st_dev;
}

int output_there(const char *dir, const char *name)
{
    char path[OUTPUT_PATH];
    return output_path(path, dir, "%s", name) == 0 && output_exists(path);
}

int output_read(const char *path, char **text, size_t *bytes)
{
    TRY(file_whole(path, SIZE_MAX, text, bytes));
    text_unmark(*text, bytes);
    return 0;
}

int output_open(Output *o)
{
    *o = (Output){0};
    o->f = open_memstream(&o->text, &o->bytes);
    return o->f ? 0 : error_set(ERR_MEMORY, "out of memory");
}

int output_begin(Output *o, const char *file)
{
    *o = (Output){.f = stdout};
    return file ? output_open(o) : 0;
}

void output_drop(Output *o)
{
    if (o->f) fclose(o->f);
    free(o->text);
    *o = (Output){0};
}

int output_take(Output *o, int code, char **text)
{
    if (fflush(o->f) != 0 && code == 0) code = error_set(ERR_MEMORY, "out of memory");
    if (code == 0 && !(*text = memory_string(o->text))) code = ERR_MEMORY;
    output_drop(o);
    return code;
}

/* Is this a file that people read, and no program reads back? */
static int is_for_people(const char *path)
{
    const char *end = strrchr(path, '.');
    return end && (strcmp(end, ".md") == 0 || strcmp(end, ".tex") == 0);
}

int output_close(Output *o, const char *path)
{
    int failed = ferror(o->f) | fclose(o->f);
    o->f = NULL;
    if (!failed && is_for_people(path)) o->bytes = text_harmless(o->text, o->bytes);
    int code = failed ? error_set(ERR_MEMORY, "%s: out of memory", path)
                      : file_replace(path, o->text, o->bytes);
    output_drop(o);
    return code;
}

int output_end(Output *o, int code, const char *path)
{
    if (!path && o->f == stdout) return code;
    if (code == 0) return output_close(o, path);
    output_drop(o);
    return code;
}

int output_put(Output *o, int code, const char *dir, const char *name)
{
    char path[OUTPUT_PATH];
    if (code == 0) code = output_path(path, dir, "%s", name);
    return output_end(o, code, path);
}

int output_sheet(const Sheet *r, int form, const char *dir, const char *name)
{
    Output o;
    TRY(output_open(&o));
    return output_put(&o, sheet_write(r, form, o.f), dir, name);
}

static int save(const Sheet *r, int form, const char *dir, const char *stem)
{
    static const char *const ending[] = {
        [SHEET_CSV] = "csv", [SHEET_MARKDOWN] = "md", [SHEET_LATEX] = "tex"};
    char name[128];
    snprintf(name, sizeof name, "%s.%s", stem, ending[form]);
    return output_sheet(r, form, dir, name);
}

int output_paper(const Sheet *r, const char *dir, const char *stem)
{
    TRY(save(r, SHEET_CSV, dir, stem));
    return save(r, SHEET_LATEX, dir, stem);
}

int output_table(const Sheet *r, const char *dir, const char *stem)
{
    TRY(output_paper(r, dir, stem));
    return save(r, SHEET_MARKDOWN, dir, stem);
}

int output_shown(const Sheet *r, int csv, const char *dir, const char *stem)
{
    TRY(sheet_write(r, csv ? SHEET_CSV : SHEET_PLAIN, stdout));
    if (!dir) return 0;
    TRY(output_directory(dir));
    return output_table(r, dir, stem);
}
