/* store_in.c: reads tensors from a safetensors file and does not trust it: every length is bounded by
 * the bytes that are there, every product is checked, and nothing is handed over before all of it
 * fits. jansson checks the JSON itself (depth, UTF-8, numbers, unique names). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/scoped.h"
#include "kernels/base/parsed.h"
#include "kernels/base/tick.h"
#include "kernels/base/hash.h"
#include "nn/model/store.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "data come in as they lie in memory");

enum { HEADER_MOST = 100000000 };

/* A file, split in its parts. */
typedef struct {
    const char *file; /* name, for messages */
    char *bytes;
    size_t count;
    json_t *root;
    const char *data; /* place in bytes */
    size_t size;      /* size of the data */
} Opened;

/* A tensor of the file, checked. */
typedef struct {
    const char *name;
    const json_t *shape;
    int element;       /* STORE_*, or 0: of a type that is not read */
    size_t bytes;      /* of a number */
    size_t begin, end; /* place in the data */
} Entry;

/* Reads the length of the header, which must lie in a file of `count` bytes. */
static int header_length(const char *file, const char *bytes, size_t count, size_t *n)
{
    uint64_t length = 0;
    if (count >= 8) memcpy(&length, bytes, 8);
    if (count < 8 || length < 2 || length > count - 8 || length > HEADER_MOST)
        return error_set(ERR_INPUT,
                         "%s is cut short or no safetensors file (%zu bytes, header %" PRIu64 ")",
                         file, count, length);
    *n = length;
    return 0;
}

static int check_metadata(const char *file, const json_t *root)
{
    const char *key;
    json_t *meta = json_object_get(root, STORE_METADATA), *value;
    if (meta && !json_is_object(meta))
        return error_set(ERR_INPUT, "%s: %s is not a map", file, STORE_METADATA);
    json_object_foreach (meta, key, value)
        if (!json_is_string(value))
            return error_set(ERR_INPUT, "%s: metadata '%s' is not a string", file, key);
    return 0;
}

/* Parses the header; root: an object with valid metadata. */
static int parse_header(const char *file, const char *header, size_t n, json_t **root)
{
    json_error_t e;
    if (header[0] != '{') return error_set(ERR_INPUT, "%s: the header is not a JSON object", file);
    int code = parsed_json(header, n, &e, root);
    if (code == ERR_INPUT) error_set(code, "%s: header, byte %d: %s", file, e.position, e.text);
    TRY(code);
    return check_metadata(file, *root);
}

static int bad_entry(const Opened *o, const char *name, const char *what)
{
    return error_set(ERR_INPUT, "%s: tensor '%s': %s", o->file, name, what);
}

/* Returns a whole number >= 0 of an array, or SIZE_MAX (which is no length here). */
static size_t whole(const json_t *array, size_t i)
{
    json_t *x = json_array_get(array, i);
    return json_is_integer(x) && json_integer_value(x) >= 0 ? (size_t)json_integer_value(x)
                                                            : SIZE_MAX;
}

/* Returns the bytes of a shape, or SIZE_MAX where they fit no size. */
static size_t bytes_of(const json_t *shape, size_t element)
{
    size_t n = element;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        size_t dim = whole(shape, i);
        if (dim == SIZE_MAX || __builtin_mul_overflow(n, dim, &n)) return SIZE_MAX;
    }
    return n;
}

static int read_entry(const Opened *o, const char *name, const json_t *json, Entry *e)
{
    const json_t *at = json_object_get(json, "data_offsets");
    const char *dtype = json_string_value(json_object_get(json, "dtype"));
    *e = (Entry){
        .name = name, json_object_get(json, "shape"), .begin = whole(at, 0), .end = whole(at, 1)};
    e->bytes = dtype ? store_element(dtype, &e->element) : 0;
    if (json_object_size(json) != 3 || !json_is_array(e->shape) || json_array_size(at) != 2)
        return bad_entry(o, name, "expected dtype, shape and data_offsets");
    if (!e->bytes) return bad_entry(o, name, "its dtype is unknown");
    if (e->begin > e->end || e->end > o->size)
        return bad_entry(o, name, "data_offsets are not in the file");
    if (bytes_of(e->shape, e->bytes) != e->end - e->begin)
        return bad_entry(o, name, "shape and data_offsets do not agree");
    return 0;
}

static int by_place(const void *x, const void *y)
{
    const Entry *a = x, *b = y;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static int check_places(const Opened *o, Entry *e, size_t n)
{
    size_t at = 0;
    qsort(e, n, sizeof *e, by_place);
    for (size_t i = 0; i < n; at = e[i++].end)
        if (e[i].begin != at) return bad_entry(o, e[i].name, "a gap or an overlap before its data");
    if (at == o->size) return 0;
    return error_set(ERR_INPUT, "%s: %zu bytes behind the last tensor", o->file, o->size - at);
}

/* Reads every tensor of the file into e (n); n = tensors of the header. */
static int read_entries(const Opened *o, Entry *e, size_t n)
{
    const char *name;
    json_t *json;
    size_t i = 0;
    json_object_foreach (o->root, name, json)
        if (strcmp(name, STORE_METADATA) != 0) TRY(read_entry(o, name, json, &e[i++]));
    return check_places(o, e, n);
}

/* Checks the checksum. from 0: all; STORE_DIGITS / 2: the metadata's half, without data. sealed: there must be one. */
static int check_sum(const Opened *o, int from, int sealed)
{
    const json_t *meta = json_object_get(o->root, STORE_METADATA);
    const char *given = json_string_value(json_object_get(meta, STORE_CHECKSUM));
    char digits[STORE_DIGITS + 1];
    if (!given) return sealed ? error_set(ERR_INPUT, "%s: no checksum", o->file) : 0;
    store_checksum(meta, hash_bytes(HASH_START, o->data, o->size), digits);
    if (strlen(given) == STORE_DIGITS && strcmp(given + from, digits + from) == 0) return 0;
    return error_set(ERR_INPUT, "%s was altered: checksum %s, its content has %s", o->file, given,
                     digits);
}

static int has_shape(const Entry *e, const Tensor *t)
{
    size_t dims = t->cols ? 2 : 1, rows = whole(e->shape, (size_t)t->transposed);
    return t->unread || (json_array_size(e->shape) == dims &&
                         (rows == t->rows || (t->more_rows && rows > t->rows)) &&
                         (!t->cols || whole(e->shape, !t->transposed) == t->cols));
}

static int bad_shape(const Opened *o, const Entry *e, const Tensor *t)
{
    char found[100] = "", wanted[64];
    size_t at = 0, row = t->cols && t->transposed ? t->cols : t->rows,
           col = t->transposed ? t->rows : t->cols;
    for (size_t i = 0; i < json_array_size(e->shape) && at + 24 < sizeof found; i++)
        at += (size_t)sprintf(found + at, "%s%zu", i ? ", " : "", whole(e->shape, i));
    snprintf(wanted, sizeof wanted, t->cols ? "%zu, %zu" : "%zu", row, col);
    return error_set(ERR_INPUT,
                     "%s: tensor '%s' has another shape: [%s], where the model needs [%s]", o->file,
                     t->name, found, wanted);
}

/* Finds a tensor's entry by a walk around e (n) from *from: most files are in our order. */
static const Entry *find_entry(const Entry *e, size_t n, size_t *from, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = (*from + i) % n;
        if (strcmp(e[j].name, name) != 0) continue;
        *from = j + 1;
        return &e[j];
    }
    return NULL;
}

/* Reports an entry that none of the tensors asked for. */
static int extra(const Opened *o, const Entry *e, size_t n, const Tensor *t, size_t count)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = 0;
        while (j < count && strcmp(t[j].name, e[i].name) != 0) j++;
        if (j == count) return bad_entry(o, e[i].name, "this model has no such tensor");
    }
    return error_set(ERR_MISUSE, "a tensor was asked for twice");
}

/* Finds each tensor's entry: match (count) out; NULL: the file lacks it, as it may. */
static int match_all(const Opened *o, const Entry *e, size_t n, const Tensor *t, size_t count,
                     int element, int wanted, const Entry **match)
{
    for (size_t i = 0, from = 0; i < count; i++) {
        match[i] = find_entry(e, n, &from, t[i].name);
        if (!match[i] && t[i].may_miss) continue;
        if (!match[i]) return bad_entry(o, t[i].name, "it is missing");
        if (!has_shape(match[i], &t[i])) return bad_shape(o, match[i], &t[i]);
        if (!match[i]->element && !t[i].unread)
            return bad_entry(o, t[i].name, "its dtype is none of F32, F64, F16, BF16");
        if (element && match[i]->element != element)
            return bad_entry(o, t[i].name, "it has another precision");
    }
    return wanted & STORE_MORE || n == count ? 0 : extra(o, e, n, t, count);
}

static double from_half(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x = exponent == 31  ? fraction ? NAN : INFINITY
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -x : x;
}

static double from_one(const char *p, int element)
{
    double d = 0;
    float f;
    uint32_t high;
    uint16_t h;
    if (element == STORE_F64) return memcpy(&d, p, sizeof d), d;
    if (element == STORE_F32) return memcpy(&f, p, sizeof f), (double)f;
    memcpy(&h, p, sizeof h);
    if (element == STORE_F16) return from_half(h);
    high = (uint32_t)h << 16; /* bfloat16: the upper half of an f32 */
    return memcpy(&f, &high, sizeof f), (double)f;
}

/* Gives n numbers of a tensor (rows, cols), from number `at` on; t NULL: as they lie. */
static void from_element(const char *p, const Entry *e, const Tensor *t, size_t at, size_t n,
                         double *x)
{
    for (size_t i = 0, k = at; i < n; i++, k++) {
        size_t place = t && t->transposed ? k % t->cols * t->rows + k / t->cols : k;
        x[i] = from_one(p + place * e->bytes, e->element);
    }
}

static void take_numbers(const char *p, const Entry *e, const Tensor *t)
{
    double x[STORE_CHUNK];
    size_t all = t->unread ? 0 : tensor_numbers(t), n;
    if (!t->backend) from_element(p, e, t, 0, all, t->data);
    for (size_t at = 0; t->backend && at < all; at += n) {
        n = all - at < STORE_CHUNK ? all - at : STORE_CHUNK;
        from_element(p, e, t, at, n, x);
        tick();
        t->backend->put(backend_at(t->backend, t->device, at), x, n);
    }
}

static int check_finite(const Opened *o, const Entry *e)
{
    double x[STORE_CHUNK];
    size_t all = (e->end - e->begin) / e->bytes, n;
    for (size_t at = 0; at < all; at += n) {
        n = all - at < STORE_CHUNK ? all - at : STORE_CHUNK;
        from_element(o->data + e->begin, e, NULL, at, n, x);
        tick();
        for (size_t i = 0; i < n; i++)
            if (!isfinite(x[i])) return bad_entry(o, e->name, "a number in it is not finite");
    }
    return 0;
}

static int load(const Opened *o, Entry *e, size_t n, const Entry **match, const Tensor *t,
                size_t count, int element, int wanted)
{
    TRY(read_entries(o, e, n));
    TRY(check_sum(o, 0, wanted & STORE_SEALED));
    TRY(match_all(o, e, n, t, count, element, wanted, match));
    for (size_t i = 0; wanted & STORE_FINITE && i < count; i++)
        if (match[i] && !t[i].unread) TRY(check_finite(o, match[i]));
    for (size_t i = 0; i < count; i++)
        if (match[i]) take_numbers(o->data + match[i]->begin, match[i], &t[i]);
    return 0;
}

static int load_opened(const Opened *o, const Tensor *t, size_t count, int element, int wanted)
{
    size_t n = json_object_size(o->root) - (json_object_get(o->root, STORE_METADATA) != NULL);
    SCOPED(memory_drop) Entry *e = memory_new(n, sizeof *e);
    SCOPED(memory_drop) const Entry **match = memory_new(count, sizeof *match);
    return e && match ? load(o, e, n, match, t, count, element, wanted) : ERR_MEMORY;
}

/* Reads at most `most` bytes of the file and splits it in its parts; the header must be among them. */
static int open_file(const char *file, size_t most, Opened *o)
{
    size_t n = 0;
    *o = (Opened){.file = file};
    TRY(file_whole(file, most, &o->bytes, &o->count));
    TRY(header_length(file, o->bytes, o->count, &n));
    o->data = o->bytes + 8 + n;
    o->size = o->count - 8 - n;
    return parse_header(file, o->bytes + 8, n, &o->root);
}

static void close_file(Opened *o)
{
    json_decref(o->root);
    memory_free(o->bytes);
}

/* Refuses a file with room for the tensors many times over: a sparse one can have any length. */
static int check_length(const char *file, const Tensor *t, size_t count)
{
    struct stat s;
    size_t most = 8 + HEADER_MOST;
    for (size_t i = 0; i < count; i++) most += 3 * tensor_numbers(&t[i]) * sizeof(double);
    if (stat(file, &s) != 0 || (size_t)s.st_size <= most) return 0;
    return error_set(ERR_INPUT, "%s: its %zu bytes are more than such a model can have", file,
                     (size_t)s.st_size);
}

int tensors_read(const char *file, const Tensor *t, size_t count, int element, int wanted)
{
    SCOPED(close_file) Opened o = {0};
    TRY(check_length(file, t, count));
    TRY(open_file(file, SIZE_MAX, &o));
    return load_opened(&o, t, count, element, wanted);
}

/* Gives the bytes up to the end of the header, as the file's first eight bytes say, bounded. */
static int header_end(const char *file, size_t *end)
{
    SCOPED(memory_drop) char *bytes = NULL;
    size_t count;
    uint64_t n = 0;
    TRY(file_whole(file, 8, &bytes, &count));
    memcpy(&n, bytes, count);
    *end = 8 + (n < HEADER_MOST ? n : HEADER_MOST);
    return 0;
}

static int copy_text(const Opened *o, const char *key, char **value)
{
    TRY(check_sum(o, STORE_DIGITS / 2, 0));
    const json_t *meta = json_object_get(o->root, STORE_METADATA);
    const char *text = json_string_value(json_object_get(meta, key));
    if (!text) return error_set(ERR_INPUT, "%s: no metadata '%s'", o->file, key);
    *value = memory_string(text);
    return *value ? 0 : ERR_MEMORY;
}

/* Opens the header of a file alone. */
static int open_header(const char *file, Opened *o)
{
    size_t end;
    TRY(header_end(file, &end));
    return open_file(file, end, o);
}

/* Refuses a file that ends before the data that its header speaks of. */
static int check_end(const char *file, const Opened *o)
{
    const char *name;
    json_t *entry;
    struct stat s;
    size_t data = (size_t)(o->data - o->bytes), end = 0;
    json_object_foreach (o->root, name, entry) {
        size_t to = whole(json_object_get(entry, "data_offsets"), 1);
        if (strcmp(name, STORE_METADATA) != 0 && to != SIZE_MAX && to > end) end = to;
    }
    if (stat(file, &s) != 0 || (size_t)s.st_size >= data + end) return 0;
    return error_set(ERR_INPUT, "%s is cut short: it has %zu bytes of %zu", file, (size_t)s.st_size,
                     data + end);
}

int store_header(const char *file, json_t **root)
{
    SCOPED(close_file) Opened o = {0};
    *root = NULL;
    TRY(open_header(file, &o));
    TRY(check_end(file, &o));
    *root = json_incref(o.root);
    return 0;
}

int store_meta(const char *file, const char *key, char **value)
{
    SCOPED(close_file) Opened o = {0};
    *value = NULL;
    TRY(open_header(file, &o));
    return copy_text(&o, key, value);
}

int store_metas(const char *file, StoreEach *each, void *arg)
{
    SCOPED(close_file) Opened o = {0};
    const char *key;
    json_t *value;
    TRY(open_header(file, &o));
    TRY(check_sum(&o, STORE_DIGITS / 2, 0));
    json_object_foreach (json_object_get(o.root, STORE_METADATA), key, value)
        if (strcmp(key, STORE_CHECKSUM) != 0) TRY(each(arg, key, json_string_value(value)));
    return 0;
}
