/* foreign.c: a directory of another program (nn/foreign/foreign.c): a config.json up to the first byte 0x1e, then a
 * model.safetensors, whose header alone is read here. What is accepted has a scheme and a number of layers. */
#include "nn/foreign/foreign.h"
#include "tests/fuzz/fuzz.h"

enum { SEPARATOR = 0x1e };

static char dir[] = "/tmp/trotter-fuzz-XXXXXX";

static void remove_all(void)
{
    char line[64];
    snprintf(line, sizeof line, "rm -rf %s", dir);
    if (system(line) != 0) fprintf(stderr, "%s stays\n", dir);
}

/* Makes a directory of its own, once. */
static void open_directory(void)
{
    static int made;
    if (made) return;
    made = 1;
    FUZZ_CHECK(mkdtemp(dir) != NULL && atexit(remove_all) == 0);
}

static void put(const char *name, const void *bytes, size_t count)
{
    char file[64];
    snprintf(file, sizeof file, "%s/%s", dir, name);
    FILE *f = fopen(file, "wb");
    FUZZ_CHECK(f && fwrite(bytes, 1, count, f) == count && fclose(f) == 0);
}

FUZZ(open_directory())
{
    Foreign *f;
    const StoreText *s;
    const uint8_t *stop = size ? memchr(data, SEPARATOR, size) : NULL;
    size_t json = stop ? (size_t)(stop - data) : size, rest = stop ? size - json - 1 : 0;
    put("config.json", data, json);
    put("model.safetensors", data + (size - rest), rest);
    int code = foreign_open(dir, &f);
    FUZZ_CHECK(code == 0 || code == ERR_INPUT || code == ERR_MEMORY);
    FUZZ_CHECK((code == 0) == (f != NULL));
    if (code == 0) FUZZ_CHECK(foreign_settings(f, &s) > 1 && strcmp(s[0].key, "scheme") == 0);
    foreign_free(f);
}
