/* store.h: named tensors in safetensors files, without a model; others include model.h.
 *
 * A file is: header length n (8 bytes, little-endian), header (n bytes of JSON, padded with blanks so
 * that 8 + n is a multiple of 8), data. The header maps a tensor's name to
 *     {"dtype": "F32" | "F64", "shape": [rows, cols], "data_offsets": [begin, end]}
 * with offsets in the data, which the tensors fill without a gap; "__metadata__" maps strings to
 * strings. Source: github.com/huggingface/safetensors, README, section "Format".
 *
 * Our files have a metadata value "checksum": 32 hexadecimal digits, the first 16 of hash(data), the last 16 of the sum
 * mod 2^64, over all other metadata, of hash(key NUL value NUL); hash = FNV-1a (hash.h). The sum does not depend on the
 * order of the metadata, which tools may change, and a reader of the header alone can check it. The checksum leaves out
 * names, shapes and places: the reader knows what they must be. */
#ifndef TROTTER_STORE_H
#define TROTTER_STORE_H

#include <jansson.h>

#include "nn/model/model.h"

#define STORE_METADATA "__metadata__"
#define STORE_CHECKSUM "checksum"

/* Elements. We write F32 and F64, whose numbers are their bytes; files of other programs may have the others. */
enum { STORE_ANY = 0, STORE_BF16 = 1, STORE_F16 = 2, STORE_F32 = 4, STORE_F64 = 8 };
enum { STORE_DIGITS = 32 }; /* hexadecimal digits of a checksum */
/* Demands of a reader; MORE: the file may hold other tensors too. */
enum { STORE_SEALED = 1, STORE_FINITE = 2, STORE_MORE = 4 };

typedef struct {
    const char *name;
    size_t rows, cols; /* cols = 0: a vector of `rows` */
    double *data;      /* (rows, cols) host */
    const Backend *backend;
    /* With a backend: the numbers are here, in its element type, and data is not read. */
    void *device;
    int may_miss;   /* 1: it keeps its values where a file lacks it */
    int transposed; /* 1: the file has (cols, rows) */
    int more_rows;  /* 1: the file may have more rows, which are not read */
    int unread;     /* 1: the file may have it in any shape and type; it is not read */
} Tensor;

enum { STORE_CHUNK = 4096 }; /* numbers that pass through the host at a time */

static inline size_t tensor_numbers(const Tensor *t)
{
    return t->rows * (t->cols ? t->cols : 1);
}

/* ---- store_out.c: what both directions share ---- */

/* Returns the bytes of a number of a type, 0: unknown; *element out: STORE_*, 0 where we read none of it. */
size_t store_element(const char *dtype, int *element);
/* digits out: the checksum above and a NUL. data_hash: hash(data). meta, a map of strings, may hold a checksum, which
 * is not read. */
void store_checksum(const json_t *meta, uint64_t data_hash, char digits[STORE_DIGITS + 1]);

/* ---- store_out.c: writing ---- */

/* Writes the tensors in the order given, atomically (file_replace). Values are rounded to the element type. A name or a
 * key twice, the key "checksum": ERR_MISUSE; text that is not UTF-8: ERR_INPUT. */
int tensors_write(const char *file, const Tensor *t, size_t count, int element,
                  const StoreText *meta, size_t metas);

/* ---- store_in.c ---- */

/* Reads and checks a file's header: an object of tensors and metadata. Caller: json_decref. */
int store_header(const char *file, json_t **root);

/* Fills t (count)'s data from a file that holds these names and shapes, and (except with STORE_MORE) no others.
 * element: that of the file, or STORE_ANY. The checksum is verified where there is one. wanted: bits of STORE_SEALED
 * (there must be one), STORE_FINITE (every number is finite), STORE_MORE. Anything wrong: ERR_INPUT, no data is
 * changed. */
int tensors_read(const char *file, const Tensor *t, size_t count, int element, int wanted);

#endif
