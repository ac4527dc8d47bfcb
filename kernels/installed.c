/* installed.c: searches for shared libraries in folders that the loader does not know.
 *
 * Source: NVIDIA, "CUDA Installation Guide for Linux" (folders of the toolkit); its wheels for Python hold each kind of
 * library in nvidia/KIND/lib, from CUDA 13 on all of them in nvidia/cu13/lib. */
#include "kernels/installed.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Folders behind a prefix, as patterns of glob. */
static const char *const wheels[] = {"lib/python3*/site-packages/nvidia/*/lib",
                                     "lib/python3*/dist-packages/nvidia/*/lib",
                                     "lib/python3/dist-packages/nvidia/*/lib", NULL};
static const char *const toolkit[] = {"cuda/lib64", "cuda/targets/x86_64-linux/lib", "cuda-*/lib64",
                                      NULL};

/* Opens every library of a folder, so that libraries that need each other find them. */
static void open_beside(const char *folder)
{
    char pattern[PATH_MAX];
    glob_t g;
    snprintf(pattern, sizeof pattern, "%s/lib*.so*", folder);
    if (glob(pattern, 0, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc; i++)
            (void)dlopen(g.gl_pathv[i], RTLD_LAZY | RTLD_GLOBAL);
    globfree(&g);
}

static void *open_in(const char *folder, const char *const *names)
{
    char file[PATH_MAX];
    for (; *names; names++) {
        if (snprintf(file, sizeof file, "%s/%s", folder, *names) >= (int)sizeof file) continue;
        if (access(file, R_OK) != 0) continue;
        void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        open_beside(folder);
        if ((library = dlopen(file, RTLD_NOW | RTLD_LOCAL))) return library;
    }
    return NULL;
}

/* Opens a library behind a prefix. It does not search where the prefix is NULL, empty or not a path from the root. */
static void *open_behind(const char *prefix, const char *const *patterns, const char *const *names)
{
    void *library = NULL;
    if (!prefix || prefix[0] != '/') return NULL;
    for (; !library && *patterns; patterns++) {
        char pattern[PATH_MAX];
        glob_t g;
        if (snprintf(pattern, sizeof pattern, "%s/%s", prefix, *patterns) >= (int)sizeof pattern)
            continue;
        if (glob(pattern, 0, NULL, &g) == 0)
            for (size_t i = 0; !library && i < g.gl_pathc; i++)
                library = open_in(g.gl_pathv[i], names);
        globfree(&g);
    }
    return library;
}

/* Searches the prefixes of each python3 on the PATH, as it is named and without links. */
static void *open_of_python(const char *const *names)
{
    const char *at = getenv("PATH");
    void *library = NULL;
    while (!library && at && *at) {
        size_t n = strcspn(at, ":");
        char named[PATH_MAX], real[PATH_MAX];
        int fits = snprintf(named, sizeof named, "%.*s/python3", (int)n, at) < (int)sizeof named;
        at += n + (at[n] == ':');
        if (!fits || !realpath(named, real)) continue;
        char *prefix[] = {named, real};
        for (int i = 0; !library && i < 2; i++) {
            for (int up = 0; up < 2; up++) {
                char *slash = strrchr(prefix[i], '/');
                if (slash) *slash = '\0';
            }
            library = open_behind(prefix[i], wheels, names);
        }
    }
    return library;
}

void *installed_open(const char *const *names)
{
    static const char *const variable[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
    char local[PATH_MAX] = "";
    const char *home = getenv("HOME"), *const prefix[] = {local, "/usr/local", "/usr"};
    void *library = NULL;
    for (const char *const *n = names; !library && *n; n++) {
        library = dlopen(*n, RTLD_NOW | RTLD_LOCAL);
        const char *why = library ? NULL : dlerror();
        if (why && !strstr(why, "No such file")) return NULL; /* the library exists */
    }
    if (!library) library = open_behind("/usr/local", toolkit, names);
    for (size_t i = 0; !library && i < sizeof variable / sizeof *variable; i++)
        library = open_behind(getenv(variable[i]), wheels, names);
    if (!library) library = open_of_python(names);
    if (home) snprintf(local, sizeof local, "%s/.local", home);
    for (size_t i = 0; !library && i < sizeof prefix / sizeof *prefix; i++)
        library = open_behind(prefix[i], wheels, names);
    return library;
}
