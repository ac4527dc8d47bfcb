/* foreign.c: a directory of another program (nn/foreign/foreign.c): a config.json up to the first byte 0x1e, then a
 * model.safetensors, whose header alone is read here. What is accepted has a scheme and a number of layers. */
#include "nn/foreign/foreign.h"
#include "tests/fuzz/fuzz.h"

enum { SEPARATOR = 0x1e };

static char dir[] = "/tmp/trotter-fuzz-XXXXXX";
static const char *const part[] = {"config.json", "model.safetensors"};
enum { PARTS = sizeof part / sizeof *part };
static int fd[PARTS];

static void path_of(const char *name, char path[64])
{
    snprintf(path, 64, "%s/%s", dir, name);
}

static void remove_all(void)
{
    char path[64];
    for (int i = 0; i < PARTS; i++) path_of(part[i], path), unlink(path);
    rmdir(dir);
}

/* Makes a directory of its own, once, whose files are links to those in memory. */
static void open_directory(void)
{
    char path[64], target[64];
    if (fd[0]) return;
    FUZZ_CHECK(mkdtemp(dir) != NULL && atexit(remove_all) == 0);
    for (int i = 0; i < PARTS; i++) {
        fd[i] = fuzz_memory_file();
        path_of(part[i], path);
        snprintf(target, sizeof target, "/proc/self/fd/%d", fd[i]);
        FUZZ_CHECK(symlink(target, path) == 0);
    }
}

FUZZ(open_directory())
{
    Foreign *f;
    const StoreText *s;
    const uint8_t *stop = size ? memchr(data, SEPARATOR, size) : NULL;
    size_t json = stop ? (size_t)(stop - data) : size, rest = stop ? size - json - 1 : 0;
    fuzz_fill(fd[0], data, json);
    fuzz_fill(fd[1], data + (size - rest), rest);
    int code = foreign_open(dir, &f);
    FUZZ_CHECK(code == 0 || code == ERR_INPUT || code == ERR_MEMORY);
    FUZZ_CHECK((code == 0) == (f != NULL));
    if (code == 0) FUZZ_CHECK(foreign_settings(f, &s) > 1 && strcmp(s[0].key, "scheme") == 0);
    foreign_free(f);
}
