/* state.c: the state of a run (nn/model/store_model.c). It is sealed, so a changed file would end at its checksum; the input
 * is therefore tried as it is, and again with the checksum that fits. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Model *m;
    if (!m) m = fuzz_model();
    size_t live = memory_live();
    (void)store_load_state(m, fuzz_file(data, size));
    uint8_t *copy = malloc(size + 1);
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    if (fuzz_seal(copy, size)) (void)store_load_state(m, fuzz_file(copy, size));
    free(copy);
    FUZZ_CHECK(memory_live() == live);
    return 0;
}
