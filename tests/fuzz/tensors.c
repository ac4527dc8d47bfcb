/* tensors.c: weights (nn/model/store_in.c, nn/model/store_model.c) and the metadata of a file. */
#include "tests/fuzz/fuzz.h"

static Model *m;

FUZZ(if (!m) m = fuzz_model())
{
    char *value;
    const char *file = fuzz_file(data, size);
    (void)store_load(m, file);
    if (store_meta(file, "scheme", &value) == 0) memory_free(value);
}
