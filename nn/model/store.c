/* store.c: functions for both writing (store_out.c) and reading (store_in.c) a file; the format:
 * store.h. */
#include "nn/model/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "nn/text/hash.h"

int store_element(const char *dtype)
{
    return strcmp(dtype, "F32") == 0 ? STORE_F32 : strcmp(dtype, "F64") == 0 ? STORE_F64 : 0;
}

const char *store_dtype(int element)
{
    return element == STORE_F32 ? "F32" : element == STORE_F64 ? "F64" : NULL;
}

static uint64_t hash_text(const char *key, const char *value)
{
    uint64_t h = hash_bytes(HASH_START, key, strlen(key) + 1);
    return hash_bytes(h, value, strlen(value) + 1);
}

void store_checksum(const json_t *meta, uint64_t data_hash, char digits[STORE_DIGITS + 1])
{
    uint64_t sum = 0;
    const char *key;
    json_t *value;
    json_object_foreach ((json_t *)meta, key, value)
        if (strcmp(key, STORE_CHECKSUM) != 0) sum += hash_text(key, json_string_value(value));
    snprintf(digits, STORE_DIGITS + 1, "%016" PRIx64 "%016" PRIx64, data_hash, sum);
}

int store_no_memory(void)
{
    return error_set(ERR_MEMORY, "out of memory in a file's header");
}
