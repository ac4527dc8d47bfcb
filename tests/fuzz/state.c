/* state.c: the state of a run (nn/model/store_model.c). It is sealed, so a changed file would end at its checksum; the input
 * is therefore tried as it is, and again with the checksum that fits. */
#include "tests/fuzz/fuzz.h"

static Model *m;

FUZZ(if (!m) m = fuzz_model())
{
    (void)store_load_state(m, fuzz_file(data, size));
    uint8_t *copy = malloc(size + 1);
    FUZZ_CHECK(copy);
    memcpy(copy, data, size);
    if (fuzz_seal(copy, size)) (void)store_load_state(m, fuzz_file(copy, size));
    free(copy);
}
