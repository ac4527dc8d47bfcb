/* store_out.c: writes tensors to a safetensors file. The header is built as JSON, so jansson escapes
 * every name and text; the tensors keep their order. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/hash.h"
#include "nn/model/store.h"
#include "kernels/base/file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data go out as they lie in memory");

size_t store_element(const char *dtype, int *element)
{
    static const struct {
        const char *name;
        size_t bytes;
        int element;
    } type[] = {{"F32", 4, STORE_F32},   {"F64", 8, STORE_F64}, {"F16", 2, STORE_F16},
                {"BF16", 2, STORE_BF16}, {"I64", 8, 0},         {"I32", 4, 0},
                {"I16", 2, 0},           {"U8", 1, 0},          {"I8", 1, 0},
                {"BOOL", 1, 0}};
    for (size_t i = 0; i < sizeof type / sizeof *type; i++)
        if (strcmp(dtype, type[i].name) == 0) return *element = type[i].element, type[i].bytes;
    return 0;
}

static const char *dtype_of(int element)
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

static int no_memory(void)
{
    return error_set(ERR_MEMORY, "out of memory in a file's header");
}

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

/* The bytes of a file, a chunk at a time: the header, then the tensors. */
typedef struct {
    const Tensor *t;
    size_t count;
    int element;
    FilePart header; /* not written yet; count 0: it is written */
    size_t i, at;    /* the next number */
    double x[STORE_CHUNK];
    char out[STORE_CHUNK * sizeof(double)];
} Stream;

/* Returns 1 with the next part, 0 at the end, or an error. */
static int stream_next(void *arg, FilePart *part)
{
    Stream *s = arg;
    if (s->header.count) {
        *part = s->header;
        s->header.count = 0;
        return 1;
    }
    while (s->i < s->count && s->at == tensor_numbers(&s->t[s->i])) s->i++, s->at = 0;
    if (s->i == s->count) return 0;
    const Tensor *t = &s->t[s->i];
    size_t left = tensor_numbers(t) - s->at, n = left < STORE_CHUNK ? left : STORE_CHUNK;
    if (t->backend) {
        t->backend->get(s->x, backend_at(t->backend, t->device, s->at), n);
        TRY(t->backend->wait()); /* numbers of a device that failed never reach a file */
    } else {
        memcpy(s->x, t->data + s->at, n * sizeof *s->x);
    }
    to_element(s->x, n, s->element, s->out);
    s->at += n;
    *part = (FilePart){s->out, n * (size_t)s->element};
    return 1;
}

static void stream_begin(Stream *s, FilePart header)
{
    s->header = header;
    s->i = s->at = 0;
}

static int stream_hash(Stream *s, uint64_t *hash)
{
    FilePart p;
    int next;
    *hash = HASH_START;
    stream_begin(s, (FilePart){0});
    while ((next = stream_next(s, &p)) > 0) *hash = hash_bytes(*hash, p.bytes, p.count);
    return next;
}

/* Finds out why `text` did not become a JSON string: it is not UTF-8, or memory was short. */
static int bad_text(const char *key, const char *text)
{
    json_t *sound = json_string(text), *any = json_string_nocheck(text);
    int utf8 = sound || !any;
    json_decref(sound);
    json_decref(any);
    return utf8 ? no_memory() : error_set(ERR_INPUT, "metadata '%s' is not UTF-8 text", key);
}

static int add_text(json_t *meta, const char *key, const char *value)
{
    if (json_object_get(meta, key))
        return error_set(ERR_MISUSE, "metadata '%s' for the second time", key);
    json_t *s = json_string(value);
    if (!s) return bad_text(key, value);
    return json_object_set_new(meta, key, s) == 0 ? 0 : bad_text(key, key);
}

static int add_metadata(json_t *meta, const StoreText *text, size_t texts, uint64_t data_hash)
{
    for (size_t i = 0; i < texts; i++) {
        if (strcmp(text[i].key, STORE_CHECKSUM) == 0)
            return error_set(ERR_MISUSE, "metadata '%s' is the store's own", STORE_CHECKSUM);
        TRY(add_text(meta, text[i].key, text[i].value));
    }
    char digits[STORE_DIGITS + 1];
    store_checksum(meta, data_hash, digits);
    return add_text(meta, STORE_CHECKSUM, digits);
}

static int add_tensor(json_t *root, const Tensor *t, int element, size_t begin)
{
    if (json_object_get(root, t->name))
        return error_set(ERR_MISUSE, "a tensor '%s' for the second time", t->name);
    size_t end = begin + tensor_numbers(t) * (size_t)element;
    json_t *shape = t->cols ? json_pack("[I,I]", (json_int_t)t->rows, (json_int_t)t->cols)
                            : json_pack("[I]", (json_int_t)t->rows);
    json_t *entry = json_pack("{s:s, s:o, s:[I,I]}", "dtype", dtype_of(element), "shape", shape,
                              "data_offsets", (json_int_t)begin, (json_int_t)end);
    return json_object_set_new(root, t->name, entry) == 0 ? 0 : no_memory();
}

static int print_header(const json_t *root, char **header, size_t *bytes)
{
    size_t n = json_dumpb(root, NULL, 0, JSON_COMPACT), padded = (n + 7) / 8 * 8;
    if (n == 0) return no_memory();
    char *p = memory_new(8 + padded, 1);
    if (!p) return ERR_MEMORY;
    memset(p, ' ', 8 + padded);
    memcpy(p, &(uint64_t){padded}, 8);
    *header = p;
    *bytes = 8 + padded;
    return json_dumpb(root, p + 8, n, JSON_COMPACT) == n ? 0 : no_memory();
}

static int describe(json_t *root, Stream *s, const StoreText *text, size_t texts)
{
    uint64_t hash;
    json_t *meta = json_object();
    if (json_object_set_new(root, STORE_METADATA, meta) != 0) return no_memory();
    TRY(stream_hash(s, &hash));
    TRY(add_metadata(meta, text, texts, hash));
    for (size_t i = 0, begin = 0; i < s->count; i++) {
        TRY(add_tensor(root, &s->t[i], s->element, begin));
        begin += tensor_numbers(&s->t[i]) * (size_t)s->element;
    }
    return 0;
}

static int write_tensors(const char *file, Stream *s, const StoreText *meta, size_t metas)
{
    SCOPED(memory_drop) char *header = NULL;
    size_t bytes = 0;
    json_auto_t *root = json_object();
    if (!root) return no_memory();
    TRY(describe(root, s, meta, metas));
    TRY(print_header(root, &header, &bytes));
    stream_begin(s, (FilePart){header, bytes});
    return file_stream(file, stream_next, s);
}

int tensors_write(const char *file, const Tensor *t, size_t count, int element,
                  const StoreText *meta, size_t metas)
{
    if (!dtype_of(element)) return error_set(ERR_MISUSE, "no element of %d bytes", element);
    SCOPED(memory_drop) Stream *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    s->t = t;
    s->count = count;
    s->element = element;
    return write_tensors(file, s, meta, metas);
}
