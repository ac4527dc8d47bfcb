/* found.c: searches a directory and sorts its files into studies. */
#include "studies/page/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/plain_text.h"
#include "studies/base/output.h"
#include "studies/base/record.h"

enum { HEAD_BYTES = 2048 };

/* ---- studies ------------------------------------------------------------------------------------- */

static FoundStudy *find_study(const Found *f, const Kind *kind, const char *dir, const char *prefix)
{
    for (size_t i = f->studies; i-- > 0;)
        if (f->study[i].kind == kind && strcmp(f->study[i].dir, dir) == 0 &&
            strcmp(f->study[i].prefix, prefix) == 0)
            return &f->study[i];
    return NULL;
}

static int add_study(Found *f, const Kind *kind, const char *dir, const char *prefix,
                     FoundStudy **out)
{
    if ((*out = find_study(f, kind, dir, prefix))) return 0;
    TRY(memory_more(&f->study, f->studies, sizeof *f->study));
    FoundStudy *s = &f->study[f->studies++];
    *s = (FoundStudy){.kind = kind, .dir = memory_string(dir), .prefix = memory_string(prefix)};
    *out = s;
    return s->dir && s->prefix ? 0 : ERR_MEMORY;
}

static int add_file(FoundStudy *s, int plot, size_t which, const char *path)
{
    TRY(memory_more(&s->file, s->files, sizeof *s->file));
    s->file[s->files] = (FoundFile){plot, which, memory_string(path)};
    return s->file[s->files++].path ? 0 : ERR_MEMORY;
}

static int add_word(char ***list, size_t *count, const char *word)
{
    TRY(memory_more(list, *count, sizeof **list));
    return ((*list)[(*count)++] = memory_string(word)) ? 0 : ERR_MEMORY;
}

static int leave(Found *f, const char *path, const char *why)
{
    error_set(ERR_INPUT, "%s: %s", path, why); /* makes one line of any name */
    return add_word(&f->left, &f->outside, error_text());
}

/* ---- names --------------------------------------------------------------------------------------- */

/* Splits "a/b/c.csv" into "a/b" and "c". */
static void split_path(const char *path, char dir[OUTPUT_PATH], char stem[OUTPUT_PATH])
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    snprintf(dir, OUTPUT_PATH, "%.*s", (int)(slash ? slash - path : 0), path);
    snprintf(stem, OUTPUT_PATH, "%.*s", (int)(strrchr(name, '.') - name), name);
}

static int ends_in(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

/* Compares a file's name with that of a row and finds its prefix. Returns 3: the same, 2: "x-NAME", 1: NAME ends
 * in '*' and fits, 0: another. */
static int match_name(const char *stem, const char *name, char prefix[OUTPUT_PATH])
{
    char end[64];
    size_t n = strlen(name);
    prefix[0] = '\0';
    if (strcmp(stem, name) == 0) return 3;
    if (name[n - 1] == '*') return strncmp(stem, name, n - 1) == 0;
    snprintf(end, sizeof end, "-%s", name);
    if (ends_in(stem, end)) {
        snprintf(prefix, OUTPUT_PATH, "%.*s", (int)(strlen(stem) - n), stem);
        return 2;
    }
    snprintf(prefix, OUTPUT_PATH, "%s", stem);
    return 0;
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* Reads the beginning of the file, "" if it cannot be read. */
static void read_head(const Found *f, const char *path, char head[HEAD_BYTES])
{
    SCOPED(memory_drop) char *text = NULL;
    size_t n;
    file_beneath_whole(f->folder, path, path, HEAD_BYTES - 1, &text, &n);
    if (n) memcpy(head, text, n);
    head[n] = '\0';
    text_unmark(head, &n);
}

/* The kind and row that fit a file best so far. */
typedef struct {
    const Kind *kind;
    size_t which; /* number of its table or plot */
    int match;    /* 0: none fits */
    char prefix[OUTPUT_PATH];
} Fit;

static void fit_take(Fit *best, int match, const Kind *k, size_t which, const char *prefix)
{
    if (match <= best->match) return;
    *best = (Fit){.kind = k, .which = which, .match = match};
    strcpy(best->prefix, prefix);
}

static int add_fit(Found *f, const Fit *best, const char *dir, int plot, const char *path)
{
    FoundStudy *s;
    TRY(add_study(f, best->kind, dir, best->prefix, &s));
    return add_file(s, plot, best->which, path);
}

/* Adds a table to its study. The first line must fit; the name, which the user may choose, only ranks the fits. */
static int add_table(Found *f, const char *path)
{
    char head[HEAD_BYTES], dir[OUTPUT_PATH], stem[OUTPUT_PATH], prefix[OUTPUT_PATH];
    Fit best = {0};
    split_path(path, dir, stem);
    read_head(f, path, head);
    for (const Kind *k = kind_next(NULL); k; k = kind_next(k))
        for (size_t i = 0; i < KIND_TABLES && k->table[i].file; i++) {
            if (!kind_begins(&k->table[i], head)) continue;
            fit_take(&best, 1 + match_name(stem, k->table[i].file, prefix), k, i, prefix);
        }
    if (!best.kind) return leave(f, path, "not a table that a command of trotter writes");
    return add_fit(f, &best, dir, 0, path);
}

/* ---- plots --------------------------------------------------------------------------------------- */

/* Adds a plot to a study whose tables are there, else to the first that draws one of this name. */
static int add_plot(Found *f, const char *path)
{
    char dir[OUTPUT_PATH], stem[OUTPUT_PATH], prefix[OUTPUT_PATH];
    Fit best = {0};
    split_path(path, dir, stem);
    for (const Kind *k = kind_next(NULL); k; k = kind_next(k))
        for (size_t i = 0; k->plot[i].file; i++) {
            int match = match_name(stem, k->plot[i].file, prefix);
            if (match && find_study(f, k, dir, prefix)) match += 4;
            fit_take(&best, match, k, i, prefix);
        }
    if (!best.kind) return leave(f, path, "not a plot that a command of trotter draws");
    return add_fit(f, &best, dir, 1, path);
}

/* ---- the walk ------------------------------------------------------------------------------------ */

typedef struct {
    Found *found;
    const char *skip;
} Search;

/* Is this the directory of a training, under runs/, runs-NAME/ or tune/ of a comparison, or pretrained/ or fresh/ of a
 * fine-tuning, whose runs.csv has its results? The former has a file that only `train` writes. 0: errno is 0, or tells why this
 * is not known. */
static int is_training(const Found *f, const WalkEntry *e)
{
    char path[OUTPUT_PATH];
    struct stat st;
    errno = 0;
    if (e->level < 2) return 0;
    const char *above = e->name - 1; /* of the folder's own folder */
    while (above > e->path && above[-1] != '/') above--;
    if (strncmp(above, "pretrained/", 11) == 0 || strncmp(above, "fresh/", 6) == 0)
        return strncmp(e->name, "rate", 4) == 0;
    if (strncmp(above, "runs", 4) != 0 && strncmp(above, "tune/", 5) != 0) return 0;
    int is = output_path(path, e->path, "scheme.txt") == 0 &&
             file_beneath_stat(f->folder, path, &st) == 0;
    if (errno == ENOENT) errno = 0;
    return is;
}

/* Is root/path the path `name`? */
static int is_named(const char *root, const char *path, const char *name)
{
    size_t n = strlen(root);
    return strncmp(name, root, n) == 0 && name[n] == '/' && strcmp(name + n + 1, path) == 0;
}

static int visit(void *arg, const WalkEntry *e)
{
    const Search *s = arg;
    Found *f = s->found;
    int csv = ends_in(e->name, ".csv"), svg = ends_in(e->name, ".svg");
    if (e->level == 0) {
        int error = e->error ? e->error : S_ISDIR(e->st.st_mode) ? 0 : ENOTDIR;
        return error ? error_set(ERR_INPUT, "%s: %s", f->root, strerror(error)) : 0;
    }
    if (*e->name == '.') return WALK_SKIP;
    if (e->error) return e->error == ENOENT ? 0 : leave(f, e->path, strerror(e->error));
    if (S_ISDIR(e->st.st_mode))
        return is_training(f, e) ? WALK_SKIP : errno ? leave(f, e->path, strerror(errno)) : 0;
    if (!(csv || svg) || is_named(f->root, e->path, s->skip)) return 0;
    if (strcmp(e->name, RECORD_FILE) == 0) return 0;
    if (strlen(e->path) >= OUTPUT_PATH) return leave(f, e->path, "name too long");
    if (!S_ISREG(e->st.st_mode))
        return leave(f, e->path, "not a file (symbolic links are not followed)");
    return csv ? add_table(f, e->path) : add_word(&f->drawing, &f->drawings, e->path);
}

static int compare(const void *a, const void *b)
{
    const FoundStudy *s = a, *t = b;
    int order = strcmp(s->dir, t->dir);
    if (order == 0 && s->kind != t->kind)
        order = kind_place(s->kind) < kind_place(t->kind) ? -1 : 1;
    return order ? order : strcmp(s->prefix, t->prefix);
}

static int compare_files(const void *a, const void *b)
{
    const FoundFile *s = a, *t = b;
    if (s->plot != t->plot) return s->plot - t->plot;
    if (s->which != t->which) return s->which < t->which ? -1 : 1;
    return strcmp(s->path, t->path);
}

int found_search(const char *root, const char *skip, Found *out)
{
    *out = (Found){.root = root, .folder = open(root, O_PATH | O_CLOEXEC)};
    if (out->folder < 0) return error_set(ERR_INPUT, "%s: %s", root, strerror(errno));
    int code = output_walk(out->folder, visit, &(Search){out, skip});
    for (size_t i = 0; code == 0 && i < out->drawings; i++) code = add_plot(out, out->drawing[i]);
    if (code != 0) {
        found_free(out);
        return code;
    }
    if (out->studies) qsort(out->study, out->studies, sizeof *out->study, compare);
    for (size_t i = 0; i < out->studies; i++)
        qsort(out->study[i].file, out->study[i].files, sizeof(FoundFile), compare_files);
    return 0;
}

void found_free(Found *f)
{
    for (size_t i = 0; i < f->studies; i++) {
        FoundStudy *s = &f->study[i];
        for (size_t k = 0; k < s->files; k++) memory_free(s->file[k].path);
        memory_free_all(s->file, s->dir, s->prefix);
    }
    for (size_t i = 0; i < f->outside; i++) memory_free(f->left[i]);
    for (size_t i = 0; i < f->drawings; i++) memory_free(f->drawing[i]);
    memory_free_all(f->study, f->left, f->drawing);
    if (f->root && f->folder >= 0) close(f->folder);
    *f = (Found){0};
}
