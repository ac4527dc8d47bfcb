/* seal.c: the checksum of a changed file of tensors. */
#include <jansson.h>

#include "kernels/base/hash.h"
#include "nn/model/store.h"
#include "tests/fuzz/fuzz.h"

/* Returns where the digits of "checksum":"..." stand in n bytes of header, or NULL. */
static uint8_t *find_digits(uint8_t *header, size_t n)
{
    static const char key[] = "\"" STORE_CHECKSUM "\":\"";
    uint8_t *at = memmem(header, n, key, sizeof key - 1);
    if (!at || (size_t)(header + n - at) < sizeof key - 1 + STORE_DIGITS) return NULL;
    return at + sizeof key - 1;
}

static int all_texts(json_t *meta)
{
    const char *key;
    json_t *value;
    json_object_foreach (meta, key, value)
        if (!json_is_string(value)) return 0;
    return json_is_object(meta);
}

int fuzz_seal(uint8_t *bytes, size_t size)
{
    uint64_t n;
    char digits[STORE_DIGITS + 1];
    if (size < 8) return 0;
    memcpy(&n, bytes, 8);
    if (n > size - 8) return 0;
    uint8_t *place = find_digits(bytes + 8, n);
    json_t *root = place ? json_loadb((char *)bytes + 8, n, 0, NULL) : NULL;
    json_t *meta = json_object_get(root, STORE_METADATA);
    int sealed = all_texts(meta);
    if (sealed) {
        store_checksum(meta, hash_bytes(HASH_START, bytes + 8 + n, size - 8 - n), digits);
        memcpy(place, digits, STORE_DIGITS);
    }
    json_decref(root);
    return sealed;
}
