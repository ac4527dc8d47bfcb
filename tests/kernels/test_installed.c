/* test_installed.c: a library is found where Python's packages put it. Any library will do: a link with another name
 * leads to one that this program has loaded. */
#include "kernels/installed.h"

#include <dlfcn.h>
#include <gsl/gsl_version.h>
#include <sys/stat.h>

#include "tests/lib/scratch.h"
#include "tests/lib/test.h"

static const char *const names[] = {"libsought-9.so.13", "libsought-9.so.12", NULL};

/* Makes every folder on the way to a file of the scratch folder. */
static void make_way(const char *file)
{
    char path[1024];
    snprintf(path, sizeof path, "%s", file_path(file));
    for (char *c = path + strlen(folder) + 1; *c; c++) {
        if (*c != '/') continue;
        *c = '\0';
        (void)mkdir(path, 0777);
        *c = '/';
    }
}

/* Puts a library with this name there, or, where `library` is 0, a file that is none. */
static void place(const char *file, int library)
{
    Dl_info info;
    make_way(file);
    if (!library) {
        file_text(file, "no library\n");
        return;
    }
    assert_true(dladdr((const void *)&gsl_version, &info) != 0);
    assert_int_equal(symlink(info.dli_fname, file_path(file)), 0);
}

static int found(void)
{
    void *library = installed_open(names);
    int right = library && dlsym(library, "gsl_sf_bessel_J0");
    assert_true(right || !library);
    if (library) dlclose(library);
    return right;
}

static void only(const char *variable, const char *value)
{
    static const char *const all[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "HOME", "PATH"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) unsetenv(all[i]);
    if (variable) setenv(variable, value, 1);
}

TEST(a_library_of_python_packages_is_found)
{
    char path[1024];
    only(NULL, NULL);
    assert_false(found());
    place("venv/lib/python3.11/site-packages/nvidia/cublas/lib/libsought-9.so.12", 1);
    snprintf(path, sizeof path, "%s", file_path("venv"));
    only("VIRTUAL_ENV", path);
    assert_true(found());
    only("CONDA_PREFIX", path);
    assert_true(found());
    only("VIRTUAL_ENV", file_path("elsewhere"));
    assert_false(found());
    only("VIRTUAL_ENV", "venv"); /* no path from the root */
    assert_false(found());
}

TEST(python_on_the_path_tells_where)
{
    char path[2048];
    place("py/lib/python3.12/site-packages/nvidia/cu13/lib/libsought-9.so.13", 1);
    snprintf(path, sizeof path, "/nowhere:%s", file_path("py/bin"));
    only("PATH", path);
    assert_false(found()); /* no python3 there */
    make_way("py/bin/python3");
    file_text("py/bin/python3", "");
    assert_true(found());
    make_way("links/python3"); /* a link from elsewhere to it */
    snprintf(path, sizeof path, "%s", file_path("py/bin/python3"));
    assert_int_equal(symlink(path, file_path("links/python3")), 0);
    only("PATH", file_path("links"));
    assert_true(found());
}

TEST(the_user_and_what_is_no_library)
{
    char path[1024];
    snprintf(path, sizeof path, "%s", file_path("home"));
    place("home/.local/lib/python3.13/site-packages/nvidia/a/lib/libsought-9.so.13", 0);
    only("HOME", path);
    assert_false(found());
    place("home/.local/lib/python3.13/site-packages/nvidia/b/lib/libsought-9.so.12", 1);
    assert_true(found());
}

TEST_MAIN(scratch_open, scratch_close)
