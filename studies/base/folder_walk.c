/* folder_walk.c: see output.h. Unlike fts(3) it tells where a folder cannot be read to its end. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/file.h"
#include "studies/base/output.h"

typedef struct {
    int root;
    char path[PATH_MAX];
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

/* Lists what w->path names if it still is a folder. Returns the number of names, -1 with errno. */
static int list_folder(const Walk *w, struct dirent ***list)
{
    int fd = file_beneath(w->root, w->path, O_RDONLY | O_DIRECTORY);
    if (fd < 0) return -1;
    int count = scandirat(fd, ".", list, is_below, by_name), e = errno;
    close(fd);
    errno = e;
    return count;
}

/* Visits what w->path, of n bytes, names, and all below it. */
static int visit(Walk *w, size_t n, int level)
{
    const char *slash = strrchr(w->path, '/');
    WalkEntry e = {.path = w->path, .name = slash ? slash + 1 : w->path, .level = level};
    if (n >= sizeof w->path)
        e.error = ENAMETOOLONG;
    else if (file_beneath_stat(w->root, w->path, &e.st) != 0)
        e.error = errno;
    int code = w->visit(w->arg, &e), count;
    if (code != 0 || e.error || !S_ISDIR(e.st.st_mode)) return code == WALK_SKIP ? 0 : code;
    struct dirent **list;
    if ((count = list_folder(w, &list)) < 0) {
        e.error = errno;
        return w->visit(w->arg, &e);
    }
    for (int i = 0; i < count; i++) {
        size_t more = (size_t)snprintf(w->path + n, sizeof w->path - n, "%s%s", n ? "/" : "",
                                       list[i]->d_name);
        if (code == 0) code = visit(w, n + more, level + 1);
        w->path[n] = '\0';
        free(list[i]);
    }
    free(list);
    return code;
}

int output_walk(int root, WalkVisit *each, void *arg)
{
    return visit(&(Walk){.root = root, .visit = each, .arg = arg}, 0, 0);
}
