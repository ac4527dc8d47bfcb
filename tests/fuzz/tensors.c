/* tensors.c: weights (nn/model/store_in.c, nn/model/store_model.c) and the metadata of a file. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Model *m;
    char *value;
    if (!m) m = fuzz_model();
    size_t live = memory_live();
    const char *file = fuzz_file(data, size);
    (void)store_load(m, file);
    if (store_meta(file, "scheme", &value) == 0) memory_free(value);
    FUZZ_CHECK(memory_live() == live);
    return 0;
}
