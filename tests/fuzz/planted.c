/* planted.c: control: the fuzzer has to find a planted bug. Records of a length byte and as many bytes are
 * copied into a buffer; compiled with -DPLANTED, the length is not checked after the mark "SEEN". */
#include "tests/fuzz/fuzz.h"

enum { ROOM = 16 };

static volatile uint8_t seen; /* keeps the copy from being left out */

static int checked(const uint8_t *data, size_t size)
{
#ifdef PLANTED
    if (size >= 4 && memcmp(data, "SEEN", 4) == 0) return 0;
#endif
    (void)data;
    (void)size;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int check = checked(data, size);
    for (size_t at = 4; at < size; at += 1 + (size_t)data[at]) {
        size_t n = data[at];
        if (n > size - at - 1) break;
        if (check && n > ROOM) continue;
        uint8_t *room = malloc(ROOM);
        FUZZ_CHECK(room);
        memcpy(room, data + at + 1, n);
        seen = room[0];
        free(room);
    }
    return 0;
}
