/* store_out.c: tensors to a safetensors file. The header is built as JSON, so that every name and text
 * is escaped by jansson; the order of the tensors is the order given. */
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "nn/store.h"
#include "nn/write.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data go out as they lie in memory");

static void to_element(const double *x, size_t n, int element, char *out)
{
    if (element == STORE_F64)
        memcpy(out, x, n * sizeof *x);
    else
        for (size_t i = 0; i < n; i++) {
            float f = (float)x[i];
            memcpy(out + i * sizeof f, &f, sizeof f);
        }
}

static int lay_out(const Tensor *t, size_t count, int element, char **data, size_t *bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) n += tensor_numbers(&t[i]) * (size_t)element;
    char *p = memory_new(n, 1);
    if (!p) return ERR_MEMORY;
    *data = p;
    *bytes = n;
    for (size_t i = 0; i < count; p += tensor_numbers(&t[i]) * (size_t)element, i++)
        to_element(t[i].data, tensor_numbers(&t[i]), element, p);
    return 0;
}

/* Why `text` did not become a JSON string: it is no UTF-8, or memory was short just then. */
static int bad_text(const char *key, const char *text)
{
    json_t *sound = json_string(text), *any = json_string_nocheck(text);
    int utf8 = sound || !any;
    json_decref(sound);
    json_decref(any);
    return utf8 ? store_no_memory() : error_set(ERR_INPUT, "metadata '%s' is not UTF-8 text", key);
}

static int add_text(json_t *meta, const char *key, const char *value)
{
    if (json_object_get(meta, key))
        return error_set(ERR_MISUSE, "metadata '%s' for the second time", key);
    json_t *s = json_string(value);
    if (!s) return bad_text(key, value);
    return json_object_set_new(meta, key, s) == 0 ? 0 : bad_text(key, key);
}

/* meta, a fresh object: the texts, and the checksum behind them. */
static int add_metadata(json_t *meta, const StoreText *text, size_t texts, const char *data,
                        size_t bytes)
{
    for (size_t i = 0; i < texts; i++) {
        if (strcmp(text[i].key, STORE_CHECKSUM) == 0)
            return error_set(ERR_MISUSE, "metadata '%s' is the store's own", STORE_CHECKSUM);
        TRY(add_text(meta, text[i].key, text[i].value));
    }
    char digits[STORE_DIGITS + 1];
    store_checksum(meta, data, bytes, digits);
    return add_text(meta, STORE_CHECKSUM, digits);
}

static int add_tensor(json_t *root, const Tensor *t, int element, size_t begin)
{
    if (json_object_get(root, t->name))
        return error_set(ERR_MISUSE, "a tensor '%s' for the second time", t->name);
    size_t end = begin + tensor_numbers(t) * (size_t)element;
    json_t *shape = t->cols ? json_pack("[I,I]", (json_int_t)t->rows, (json_int_t)t->cols)
                            : json_pack("[I]", (json_int_t)t->rows);
    json_t *entry = json_pack("{s:s, s:o, s:[I,I]}", "dtype", store_dtype(element), "shape", shape,
                              "data_offsets", (json_int_t)begin, (json_int_t)end);
    return json_object_set_new(root, t->name, entry) == 0 ? 0 : store_no_memory();
}

/* header out: length, JSON, blanks. */
static int print_header(const json_t *root, char **header, size_t *bytes)
{
    size_t n = json_dumpb(root, NULL, 0, JSON_COMPACT), padded = (n + 7) / 8 * 8;
    if (n == 0) return store_no_memory();
    char *p = memory_new(8 + padded, 1);
    if (!p) return ERR_MEMORY;
    memset(p, ' ', 8 + padded);
    memcpy(p, &(uint64_t){padded}, 8);
    *header = p;
    *bytes = 8 + padded;
    return json_dumpb(root, p + 8, n, JSON_COMPACT) == n ? 0 : store_no_memory();
}

static int describe(json_t *root, const Tensor *t, size_t count, int element, const StoreText *text,
                    size_t texts, WritePart data)
{
    json_t *meta = json_object();
    if (json_object_set_new(root, STORE_METADATA, meta) != 0) return store_no_memory();
    TRY(add_metadata(meta, text, texts, data.bytes, data.count));
    for (size_t i = 0, begin = 0; i < count; begin += tensor_numbers(&t[i]) * (size_t)element, i++)
        TRY(add_tensor(root, &t[i], element, begin));
    return 0;
}

int tensors_write(const char *file, const Tensor *t, size_t count, int element,
                  const StoreText *meta, size_t metas)
{
    char *data = NULL, *header = NULL;
    WritePart part[2] = {{0}};
    if (!store_dtype(element)) return error_set(ERR_MISUSE, "no element of %d bytes", element);
    TRY(lay_out(t, count, element, &data, &part[1].count));
    part[1].bytes = data;
    json_t *root = json_object();
    int code = root ? describe(root, t, count, element, meta, metas, part[1]) : store_no_memory();
    if (!code) code = print_header(root, &header, &part[0].count);
    part[0].bytes = header;
    if (!code) code = write_parts(file, part, 2);
    json_decref(root);
    memory_free(header);
    memory_free(data);
    return code;
}
