/* test_store.c: safetensors against files written by hand, against every truncation and every flipped bit, and on a full
 * disk. */
#include "tests/lib/test.h"

#include <sys/resource.h>
#include <sys/stat.h>

#include "kernels/base/file.h"
#include "nn/text/corpus.h"
#include "nn/model/store.h"
#include "tests/lib/scratch.h"
#include "tests/lib/tiny.h"

/* ---- a small set of tensors --------------------------------------------------------------------- */

enum { NUMBERS = 11 };

/* Every value is a float: signed zeros, the least and greatest, infinities, a NaN. */
static const double sample[NUMBERS] = {
    0.0, -0.0, 1, -1.5, 0x1p-149, 0x1.fffffep127, INFINITY, NAN, -INFINITY, 3.14159f, 1e-20f};

/* Lists three tensors over x (NUMBERS). */
static void list_over(double *x, Tensor t[3])
{
    t[0] = (Tensor){"embed.weight", 3, 2, x, NULL, NULL};
    t[1] = (Tensor){"layers.0.attn.1.norm.bias", 4, 0, x + 6, NULL, NULL};
    t[2] = (Tensor){"layers.0.scheme.a", 1, 0, x + 10, NULL, NULL};
}

static const StoreText meta[] = {{"scheme", "scheme \"heun\"\n# \\ \xc3\xa9\n"}, {"step", "12345"}};

static const char *write_sample(const char *name, int element)
{
    double x[NUMBERS];
    Tensor t[3];
    memcpy(x, sample, sizeof x);
    list_over(x, t);
    const char *file = file_path(name);
    assert_int_equal(tensors_write(file, t, 3, element, meta, 2), 0);
    return file;
}

/* Reads a file into x (NUMBERS), which is 7.0 before, and returns the code. */
static int read_sample(const char *file, int element, int sealed, double *x)
{
    Tensor t[3];
    list_over(x, t);
    for (int i = 0; i < NUMBERS; i++) x[i] = 7;
    return tensors_read(file, t, 3, element, sealed);
}

/* Compares bit by bit. A NaN need only be a NaN. */
static int same(const double *x, const double *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&x[i], &y[i], sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i]))) return 0;
    return 1;
}

static int untouched(const double *x)
{
    for (int i = 0; i < NUMBERS; i++)
        if (x[i] != 7) return 0;
    return 1;
}

TEST(test_round_trip)
{
    static const int elements[] = {STORE_F32, STORE_F64};
    for (int e = 0; e < 2; e++) {
        double x[NUMBERS];
        const char *file = write_sample("round", elements[e]);
        assert_int_equal(read_sample(file, elements[e], 1, x), 0);
        assert_true(same(x, sample, NUMBERS));
        assert_int_equal(read_sample(file, STORE_ANY, 0, x), 0);
        assert_true(same(x, sample, NUMBERS));
        x[1] = 0; /* control: +0 for -0 */
        assert_false(same(x, sample, NUMBERS));
        assert_int_equal(read_sample(file, elements[!e], 0, x), ERR_INPUT);
        assert_true(untouched(x));
        for (int i = 0; i < 2; i++) {
            OWN_BYTES *value;
            assert_int_equal(store_meta(file, meta[i].key, &value), 0);
            assert_string_equal(value, meta[i].value);
        }
        char *value;
        assert_int_equal(store_meta(file, "width", &value), ERR_INPUT);
        assert_true(error_has("width") && error_has("round"));
        assert_null(value);
    }
    double x = 1 + 0x1p-30, y; /* F32 rounds to nearest, F64 keeps all */
    Tensor t = {"x", 1, 0, &x, NULL, NULL}, u = {"x", 1, 0, &y, NULL, NULL};
    assert_int_equal(tensors_write(file_path("f"), &t, 1, STORE_F32, NULL, 0), 0);
    assert_int_equal(tensors_read(file_path("f"), &u, 1, STORE_F32, 1), 0);
    assert_true(y == 1);
    assert_int_equal(tensors_write(file_path("f"), &t, 1, STORE_F64, NULL, 0), 0);
    assert_int_equal(tensors_read(file_path("f"), &u, 1, STORE_F64, 1), 0);
    assert_true(y == x);
}

/* Returns FNV-1a (RFC 9923) of n bytes, continued from h. */
static uint64_t fnv(uint64_t h, const char *p, size_t n)
{
    for (; n > 0; n--) h = (h ^ (unsigned char)*p++) * 1099511628211u;
    return h;
}

/* The file's first bytes are those of the format, and the checksum is that of the data and of both metadata. */
TEST(test_layout)
{
    const uint64_t begin = 14695981039346656037u;
    const char *name = write_sample("layout", STORE_F32);
    OWN_BYTES *bytes, *sum;
    char digits[40];
    size_t count;
    uint64_t n, metas = 0;
    assert_int_equal(file_whole(name, SIZE_MAX, &bytes, &count), 0);
    memcpy(&n, bytes, 8);
    assert_int_equal(n % 8, 0);
    assert_int_equal(bytes[8], '{');
    assert_int_equal(count, 8 + n + NUMBERS * 4);
    for (int i = 0; i < NUMBERS; i++) {
        float f, g = (float)sample[i];
        memcpy(&f, bytes + 8 + n + 4 * (size_t)i, 4);
        assert_true(f == g || (isnan(f) && isnan(g)));
    }
    for (int i = 0; i < 2; i++)
        metas += fnv(fnv(begin, meta[i].key, strlen(meta[i].key) + 1), meta[i].value,
                     strlen(meta[i].value) + 1);
    uint64_t data = fnv(begin, bytes + 8 + n, count - 8 - n);
    snprintf(digits, sizeof digits, "%016lx%016lx", (unsigned long)data, (unsigned long)metas);
    assert_int_equal(store_meta(name, "checksum", &sum), 0);
    assert_string_equal(sum, digits);
}

TEST(test_misuse)
{
    double x[NUMBERS] = {0};
    Tensor t[3];
    const char *file = file_path("misuse");
    list_over(x, t);
    t[2].name = t[0].name;
    assert_int_equal(tensors_write(file, t, 3, STORE_F32, meta, 2), ERR_MISUSE);
    t[2].name = "__metadata__";
    assert_int_equal(tensors_write(file, t, 3, STORE_F32, meta, 2), ERR_MISUSE);
    list_over(x, t);
    StoreText bad[] = {{"step", "1"}, {"step", "2"}};
    assert_int_equal(tensors_write(file, t, 3, STORE_F32, bad, 2), ERR_MISUSE);
    bad[1].key = "checksum";
    assert_int_equal(tensors_write(file, t, 3, STORE_F32, bad, 2), ERR_MISUSE);
    bad[1] = (StoreText){"note", "\xff"};
    assert_int_equal(tensors_write(file, t, 3, STORE_F32, bad, 2), ERR_INPUT);
    bad[1] = (StoreText){"\xff", "note"};
    assert_int_equal(tensors_write(file, t, 3, STORE_F32, bad, 2), ERR_INPUT);
    assert_int_equal(tensors_write(file, t, 3, 2, meta, 2), ERR_MISUSE);
    assert_true(access(file, F_OK) != 0);
    assert_int_equal(tensors_write(file, t, 3, STORE_F32, meta, 2), 0); /* control */
}

/* ---- bad files ---------------------------------------------------------------------------------- */

/* Writes a file with this header (not padded) and `size` bytes of data, all 1.0f. */
static const char *write_raw(const char *header, size_t size)
{
    char file[2048];
    uint64_t n = strlen(header);
    assert_true(8 + n + size <= sizeof file);
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < size; i++) file[8 + n + i] = "\0\0\x80\x3f"[i % 4];
    return file_write("raw", file, 8 + n + size);
}

#define A(dtype, shape, offsets) \
    "\"a\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define B(dtype, shape, offsets) \
    "\"b\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define GOOD_A A("F32", "[2,1]", "[0,8]")
#define GOOD_B B("F32", "[3]", "[8,20]")

/* Refusals of a file for tensors a (2, 1) and b (3). says NULL: it is accepted. */
static const struct {
    const char *header;
    size_t size;
    const char *says;
} raw[] = {
    {"{" GOOD_A "," GOOD_B "}", 20, NULL},
    {"{" GOOD_B "," GOOD_A "}   \n", 20, NULL},
    {"{" A("F32", "[2,1]", "[12,20]") "," B("F32", "[3]", "[0,12]") "}", 20, NULL},
    {"{\"__metadata__\":{\"format\":\"pt\"}," GOOD_A "," GOOD_B "}", 20, NULL},
    {"{\"__metadata__\":{\"n\":1}," GOOD_A "," GOOD_B "}", 20, "not a string"},
    {"{\"__metadata__\":[]," GOOD_A "," GOOD_B "}", 20, "not a map"},
    {"{\"__metadata__\":{\"checksum\":\"0\"}," GOOD_A "," GOOD_B "}", 20, "altered"},
    {"{" GOOD_A "," GOOD_B "}", 21, "behind the last"},
    {"{" GOOD_A "," GOOD_B "}", 19, "not in the file"},
    {"{" GOOD_A "}", 8, "'b': it is missing"},
    {"{" GOOD_A "," GOOD_B ",\"c\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[20,20]}}", 20,
     "'c': this model has no"},
    {"{" GOOD_A "," GOOD_B "," GOOD_B "}", 20, "duplicate"},
    {"{\"__metadata__\":{\"k\":\"\",\"k\":\"\"}," GOOD_A "," GOOD_B "}", 20, "duplicate"},
    {"{" A("BF16", "[2,2]", "[0,8]") "," GOOD_B "}", 20, "another shape"},
    {"{" A("I32", "[2,1]", "[0,8]") "," GOOD_B "}", 20, "none of F32, F64, F16, BF16"},
    {"{" A("F8", "[8,1]", "[0,8]") "," GOOD_B "}", 20, "dtype is unknown"},
    {"{" A("F64", "[1,1]", "[0,8]") "," GOOD_B "}", 20, "another shape"},
    {"{" A("F32", "[2]", "[0,8]") "," GOOD_B "}", 20, "another shape"},
    {"{" A("F32", "[2,2]", "[0,16]") "," B("F32", "[3]", "[16,28]") "}", 28, "another shape"},
    {"{" A("F32", "[2,1]", "[0,12]") "," GOOD_B "}", 20, "do not agree"},
    {"{" A("F32", "[2,1]", "[4,12]") "," GOOD_B "}", 20, "gap or an overlap"},
    {"{" GOOD_A "," B("F32", "[3]", "[12,24]") "}", 24, "gap or an overlap"},
    {"{" A("F32", "[2,1]", "[8,0]") "," GOOD_B "}", 20, "not in the file"},
    {"{" A("F32", "[2,1]", "[-8,0]") "," GOOD_B "}", 20, "not in the file"},
    {"{" A("F32", "[2,1]", "[0.0,8.0]") "," GOOD_B "}", 20, "not in the file"},
    {"{" A("F32", "[2,1]", "[0]") "," GOOD_B "}", 20, "expected dtype"},
    {"{" A("F32", "2", "[0,8]") "," GOOD_B "}", 20, "expected dtype"},
    {"{" A("F32", "[-2,-1]", "[0,8]") "," GOOD_B "}", 20, "do not agree"},
    {"{" A("F32", "[4611686018427387904,2]", "[0,8]") "," GOOD_B "}", 20, "do not agree"},
    {"{" A("F32", "[9223372036854775807,9223372036854775807]", "[0,8]") "," GOOD_B "}", 20,
     "do not agree"},
    {"{" A("F32", "[99999999999999999999,1]", "[0,8]") "," GOOD_B "}", 20, "header, byte"},
    {"{\"a\":{\"dtype\":1,\"shape\":[2,1],\"data_offsets\":[0,8]}," GOOD_B "}", 20, "unknown"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8],\"x\":0}," GOOD_B "}", 20,
     "expected dtype"},
    {"{\"a\":3," GOOD_B "}", 20, "expected dtype"},
    {"{" GOOD_A "," GOOD_B "} x", 20, "header, byte"},
    {"{" GOOD_A "," GOOD_B, 20, "header, byte"},
    {" {" GOOD_A "," GOOD_B "}", 20, "not a JSON object"},
    {"[]", 20, "not a JSON object"},
    {"{" A("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2]",
           "[0,8]") "," GOOD_B "}",
     20, "another shape: [1, 1, 1, 1, 1, 1"},
    {"{}", 0, "'a': it is missing"},
    {"{\"\xff\":1," GOOD_A "," GOOD_B "}", 20, "header, byte"},
};

static int count_metas(void *arg, const char *key, const char *value)
{
    assert_string_equal(value, "b");
    return --*(int *)arg < 0 ? error_set(ERR_CHECK, "%s: that is enough", key) : 0;
}

/* A header is read without what is behind it, of which only the length counts; each of its texts is told. */
TEST(headers_alone)
{
    static const struct {
        const char *header, *says; /* says NULL: it is read */
        size_t size;
    } rows[] = {{"{" GOOD_A "," GOOD_B "}", NULL, 20},
                {"{" GOOD_B "," GOOD_A "}", NULL, 20},
                {"{" GOOD_A "," GOOD_B "}", "is cut short: it has ", 19},
                {"{" GOOD_B "," GOOD_A "}", "is cut short: it has ", 19},
                {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1]}," GOOD_B "}", NULL, 20},
                {"{\"a\":{\"data_offsets\":[0,-1]}," GOOD_B "}", NULL, 20},
                {"{\"a\":", "header, byte", 20}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *root;
        int code = store_header(write_raw(rows[i].header, rows[i].size), &root);
        if (code != (rows[i].says ? ERR_INPUT : 0) || (code && !error_has(rows[i].says)))
            fail_msg("%s: %d %s", rows[i].header, code, error_text());
        json_decref(root);
    }
    int all = 2, few = 1, none = 0;
    const char *file = write_raw("{\"__metadata__\":{\"a\":\"b\",\"c\":\"b\"}}", 0);
    assert_int_equal(store_metas(file, count_metas, &all), 0);
    assert_int_equal(all, 0);
    assert_int_equal(store_metas(file, count_metas, &few), ERR_CHECK);
    file = write_raw(
        "{\"__metadata__\":{\"a\":\"b\",\"checksum\":\"00000000000000000000000000000000\"}}", 0);
    assert_int_equal(store_metas(file, count_metas, &none), ERR_INPUT);
    assert_true(error_has("was altered"));
    assert_true(store_metas(file_path("nowhere"), count_metas, &none) < 0);
    assert_int_equal(store_metas(write_raw("{}", 0), count_metas, &none), 0);
}

/* Halves of files of others, transposed, with rows that are left and a tensor that is not read. */
TEST(halves)
{
    static const char header[] =
        "{\"a\":{\"dtype\":\"F16\",\"shape\":[3,2],\"data_offsets\":[0,12]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,2],\"data_offsets\":[12,20]},"
        "\"c\":{\"dtype\":\"BOOL\",\"shape\":[1,1,4],\"data_offsets\":[20,24]}} ";
    static const uint16_t data[] = {0x3c00, 0x0001, 0xc000, 0x7bff, 0x8000, 0x3555,
                                    0x3fc0, 0xc2f6, 0x7f80, 0x7fc0, 0,      0};
    double a[6], b[2];
    Tensor t[] = {{.name = "a", .rows = 2, .cols = 3, .data = a, .transposed = 1},
                  {.name = "b", .rows = 1, .cols = 2, .data = b, .more_rows = 1},
                  {.name = "c", .unread = 1}};
    char file[512];
    uint64_t n = sizeof header - 1;
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    memcpy(file + 8 + n, data, sizeof data);
    file_write("halves", file, 8 + n + sizeof data);
    assert_int_equal(tensors_read(file_path("halves"), t, 3, STORE_ANY, 0), 0);
    static const double first[] = {1, -2, -0.0, 0x1p-24, 65504, 0x1.554p-2}, second[] = {1.5, -123};
    assert_memory_equal(a, first, sizeof first);
    assert_memory_equal(b, second, sizeof second);
    assert_int_equal(tensors_read(file_path("halves"), t, 3, STORE_ANY, STORE_FINITE), ERR_INPUT);
    assert_true(error_has("'b': a number in it is not finite")); /* infinity, in a row behind */
    uint16_t odd[] = {0x7c00, 0xfc00, 0x7e00};                   /* infinities, and no number */
    memcpy(file + 8 + n, odd, sizeof odd);
    file_write("odd", file, 8 + n + sizeof data);
    t[0].transposed = 0, t[0].rows = 3, t[0].cols = 2;
    assert_int_equal(tensors_read(file_path("odd"), t, 3, STORE_ANY, 0), 0);
    assert_true(a[0] == INFINITY && a[1] == -INFINITY && isnan(a[2]) && a[3] == 65504);
    t[0].rows = 2, t[0].cols = 3;
    static const struct {
        size_t rows, cols;
        int transposed, more_rows;
        const char *wanted;
    } shapes[] = {{2, 3, 0, 0, "[3, 2], where the model needs [2, 3]"},
                  {5, 3, 1, 0, "[3, 2], where the model needs [3, 5]"},
                  {4, 2, 0, 1, "[3, 2], where the model needs [4, 2]"},
                  {6, 0, 1, 0, "[3, 2], where the model needs [6]"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        Tensor one = {.name = "a",
                      .rows = shapes[i].rows,
                      .cols = shapes[i].cols,
                      .data = a,
                      .transposed = shapes[i].transposed,
                      .more_rows = shapes[i].more_rows};
        assert_int_equal(tensors_read(file_path("halves"), &one, 1, STORE_ANY, STORE_MORE),
                         ERR_INPUT);
        if (!error_has(shapes[i].wanted)) fail_msg("%s", error_text());
    }
    assert_int_equal(tensors_read(file_path("halves"), t, 2, STORE_ANY, 0), ERR_INPUT);
}

TEST(test_hostile_headers)
{
    for (size_t i = 0; i < sizeof raw / sizeof *raw; i++) {
        double x[5] = {7, 7, 7, 7, 7};
        Tensor t[2] = {{"a", 2, 1, x, NULL, NULL}, {"b", 3, 0, x + 2, NULL, NULL}};
        int code = tensors_read(write_raw(raw[i].header, raw[i].size), t, 2, STORE_F32, 0);
        assert_int_equal(code, raw[i].says ? ERR_INPUT : 0);
        if (raw[i].says && !(error_has(raw[i].says) && error_has("raw")))
            fail_msg("%s", error_text());
        for (int j = 0; j < 5; j++) assert_true(x[j] == (raw[i].says ? 7 : 1));
    }
    double x[5] = {7}; /* sealed: a file without a checksum is refused */
    Tensor t[2] = {{"a", 2, 1, x, NULL, NULL}, {"b", 3, 0, x + 2, NULL, NULL}};
    assert_int_equal(tensors_read(write_raw(raw[0].header, 20), t, 2, STORE_F32, 1), ERR_INPUT);
    assert_true(error_has("no checksum") && x[0] == 7);
    Tensor twice[3] = {t[0], t[1], t[0]};
    assert_int_equal(tensors_read(write_raw(raw[0].header, 20), twice, 3, STORE_F32, 0),
                     ERR_MISUSE);
    assert_true(error_has("asked for twice") && x[0] == 7);
}

TEST(test_hostile_lengths)
{
    static const uint64_t length[] = {0, 1, 21, 1000000, 100000001, UINT64_MAX - 7, UINT64_MAX};
    double x[NUMBERS];
    char *value;
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        char file[28] = "";
        memcpy(file, &length[i], 8);
        memcpy(file + 8, "{\"__metadata__\":{}}  ", 20);
        const char *path = file_write("length", file, sizeof file);
        assert_int_equal(read_sample(path, STORE_ANY, 0, x), ERR_INPUT);
        assert_int_equal(store_meta(path, "step", &value), ERR_INPUT);
        assert_true(error_has("length"));
    }
    /* A file that is longer than header and tensors can be, and all a hole, is refused before a byte is
     * read. */
    const char *hole = file_write("hole", "", 0);
    assert_int_equal(truncate(hole, 8 + 100000000 + 3 * 8 * NUMBERS + 1), 0);
    assert_int_equal(read_sample(hole, STORE_ANY, 0, x), ERR_INPUT);
    assert_true(error_has("more than such a model can have") && untouched(x));
    assert_int_equal(read_sample(file_path("none"), STORE_ANY, 0, x), ERR_INPUT);
    assert_int_equal(store_meta(file_path("none"), "step", &value), ERR_INPUT);
    const uint64_t big = 100000001; /* a header longer than any may be, all of it there (a hole) */
    const char *path = file_write("big", &big, 8);
    assert_int_equal(truncate(path, 8 + (off_t)big), 0);
    assert_int_equal(read_sample(path, STORE_ANY, 0, x), ERR_INPUT);
    assert_true(error_has("no safetensors file"));
    remove(path);
    enum { DEEP = 100000 };
    SCOPED(memory_drop) char *deep = memory_new(DEEP + 8, 1);
    memcpy(deep, &(uint64_t){DEEP}, 8);
    memset(deep + 8, '[', DEEP);
    memcpy(deep + 8, "{\"a\":", 5);
    assert_int_equal(read_sample(file_write("deep", deep, DEEP + 8), STORE_ANY, 0, x), ERR_INPUT);
}

TEST(test_truncations)
{
    double x[NUMBERS];
    OWN_BYTES *bytes;
    size_t count;
    assert_int_equal(file_whole(write_sample("whole", STORE_F32), SIZE_MAX, &bytes, &count), 0);
    for (size_t n = 0; n <= count + 1; n++) { /* bytes is followed by a NUL: one byte too many */
        int code = read_sample(file_write("cut", bytes, n), STORE_ANY, 0, x);
        assert_int_equal(code, n == count ? 0 : ERR_INPUT);
        assert_true(n == count ? same(x, sample, NUMBERS) : untouched(x));
    }
}

/* Returns 1 where the file's metadata "k" are refused, or unchanged. */
static int meta_sound(const char *file)
{
    OWN_BYTES *value;
    int code = store_meta(file, "k", &value);
    return code == 0 ? strcmp(value, "v") == 0 : code == ERR_INPUT && !value;
}

/* Returns 1 where the file is refused with x (3) untouched, or, if it may be whole, read as 1, 2, 3. */
static int flip_sound(const char *file, int sealed, double *x, size_t *refused)
{
    const Tensor t[2] = {{"a", 2, 1, x, NULL, NULL}, {"b", 1, 0, x + 2, NULL, NULL}};
    for (int i = 0; i < 3; i++) x[i] = 7;
    int code = tensors_read(file, t, 2, STORE_F32, sealed);
    *refused += code == ERR_INPUT;
    if (code == ERR_INPUT) return x[0] == 7 && x[1] == 7 && x[2] == 7;
    return code == 0 && !sealed && x[0] == 1 && x[1] == 2 && x[2] == 3;
}

/* A sealed file with any one bit flipped is refused. A file that need not be sealed may lose its seal
 * (the word "checksum" spoilt), and then still holds the same numbers. The file is small, as a bit takes
 * four visits. */
TEST(test_flipped_bits)
{
    double x[3] = {1, 2, 3};
    const Tensor t[2] = {{"a", 2, 1, x, NULL, NULL}, {"b", 1, 0, x + 2, NULL, NULL}};
    const char *file = file_path("bits");
    OWN_BYTES *bytes;
    size_t count, sealed = 0, open = 0;
    assert_int_equal(tensors_write(file, t, 2, STORE_F32, &(StoreText){"k", "v"}, 1), 0);
    assert_int_equal(file_whole(file, SIZE_MAX, &bytes, &count), 0);
    for (size_t i = 0; i < 8 * count; i++) {
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        file_write("bits", bytes, count);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        assert_true(flip_sound(file, 1, x, &sealed));
        assert_true(flip_sound(file, 0, x, &open));
        assert_true(meta_sound(file));
    }
    assert_int_equal(sealed, 8 * count);
    assert_true(open >= 8 * (count - strlen(STORE_CHECKSUM)) && open < 8 * count);
    file_write("bits", bytes, count); /* control: as it was */
    assert_true(flip_sound(file, 0, x, &open) && x[0] == 1);
}

/* Makes a disk that is full after `bytes`: the process may not write longer files. */
static void limit_files(rlim_t bytes)
{
    struct rlimit r;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

TEST(test_full_disk)
{
    scratch_files(1);
    double x[NUMBERS];
    const char *file = write_sample("model", STORE_F64);
    struct stat s;
    assert_int_equal(stat(file, &s), 0);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    struct rlimit r;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
    for (rlim_t room = 0, size = (rlim_t)s.st_size; room < size + 37; room += room < 16 ? 1 : 37) {
        Tensor t[3];
        for (int i = 0; i < NUMBERS; i++) x[i] = i;
        list_over(x, t);
        limit_files(room);
        int code = tensors_write(file, t, 3, STORE_F64, meta, 2);
        limit_files(r.rlim_cur);
        assert_int_equal(code, room < size ? ERR_SYSTEM : 0);
        assert_true(code == 0 || error_has("write"));
        assert_int_equal(scratch_files(0), 1);
        assert_int_equal(read_sample(file, STORE_F64, 1, x), 0);
        assert_true(code ? same(x, sample, NUMBERS) : x[10] == 10); /* the old file, or the new */
    }
    signal(SIGXFSZ, before);
}

static void *json_new(size_t bytes)
{
    return memory_new(bytes, 1);
}

static void json_drop(void *p)
{
    memory_free(p);
}

/* jansson allocates by our functions in this test, so that its allocations fail in turn, too. */
TEST(test_failing_allocator)
{
    json_malloc_t old_new;
    json_free_t old_drop;
    double x[NUMBERS] = {0}, y[NUMBERS];
    Tensor t[3];
    const char *file = file_path("job");
    list_over(x, t);
    json_get_alloc_funcs(&old_new, &old_drop);
    json_set_alloc_funcs(json_new, json_drop);
    int writes = FAILURES(ERR_MEMORY, code = tensors_write(file, t, 3, STORE_F32, meta, 2));
    int reads = FAILURES(ERR_MEMORY, code = read_sample(file, STORE_F32, 1, y);
                         assert_true(code ? untouched(y) : y[0] == 0 && y[10] == 0));
    int metas =
        FAILURES(ERR_MEMORY, OWN_BYTES *value = NULL; code = store_meta(file, "scheme", &value);
                 assert_true(code || strcmp(value, meta[0].value) == 0));
    json_set_alloc_funcs(old_new, old_drop);
    assert_true(writes > 20);
    assert_true(reads > 20);
    assert_true(metas > 20);
}

TEST_MAIN(scratch_open, scratch_close)
