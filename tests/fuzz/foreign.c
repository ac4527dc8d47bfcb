/* foreign.c: a directory of another program (nn/foreign/foreign.c): a config.json up to the first byte 0x1e, then a
 * model.safetensors, whose header alone is read here. What is accepted has a scheme and a number of layers. */
#include "nn/foreign/foreign.h"
#include "tests/fuzz/fuzz.h"

static const char *dir, *const part[] = {"config.json", "model.safetensors"};
static int fd[2];

FUZZ(if (!dir) dir = fuzz_directory(part, 2, fd))
{
    Foreign *f;
    const StoreText *s;
    FuzzPart p[2];
    fuzz_parts(data, size, p);
    for (int i = 0; i < 2; i++) fuzz_fill(fd[i], p[i].data, p[i].size);
    int code = foreign_open(dir, &f);
    FUZZ_CHECK(code == 0 || code == ERR_INPUT || code == ERR_MEMORY);
    FUZZ_CHECK((code == 0) == (f != NULL));
    if (code == 0) FUZZ_CHECK(foreign_settings(f, &s) > 1 && strcmp(s[0].key, "scheme") == 0);
    foreign_free(f);
}
