/* walk.c: see output.h. Unlike fts(3) it tells where a folder cannot be read to its end. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "studies/tools/output.h"

typedef struct {
    char path[PATH_MAX];
    size_t root; /* bytes of the root and its slash */
    WalkVisit *visit;
    void *arg;
} Walk;

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_below(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* Visits what w->path, of n bytes, names, and all below it. */
static int visit(Walk *w, size_t n, int level)
{
    WalkEntry e = {.full = w->path, .path = "", .name = w->path, .level = level};
    if (level > 0) e.path = w->path + w->root, e.name = strrchr(w->path, '/') + 1;
    if (n >= sizeof w->path)
        e.error = ENAMETOOLONG;
    else if ((level > 0 ? lstat(w->path, &e.st) : stat(w->path, &e.st)) != 0)
        e.error = errno;
    int code = w->visit(w->arg, &e), count;
    if (code != 0 || e.error || !S_ISDIR(e.st.st_mode)) return code == WALK_SKIP ? 0 : code;
    struct dirent **list;
    if ((count = scandir(w->path, &list, is_below, by_name)) < 0) {
        e.error = errno;
        return w->visit(w->arg, &e);
    }
    for (int i = 0; i < count; i++) {
        size_t more = (size_t)snprintf(w->path + n, sizeof w->path - n, "/%s", list[i]->d_name);
        if (code == 0) code = visit(w, n + more, level + 1);
        w->path[n] = '\0';
        free(list[i]);
    }
    free(list);
    return code;
}

int walk(const char *root, WalkVisit *each, void *arg)
{
    Walk w = {.visit = each, .arg = arg};
    size_t n = (size_t)snprintf(w.path, sizeof w.path, "%s", root);
    w.root = n + 1;
    return visit(&w, n, 0);
}
