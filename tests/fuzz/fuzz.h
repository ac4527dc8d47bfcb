/* fuzz.h: shared by the harnesses of this folder. A harness is one file NAME.c, for one reader:
 *
 *     FUZZ() { ... }
 *
 * gives the input to the reader and checks its promises: memory is left as it was found, and an accepted input means
 * the same when it is written and read again. `make fuzz` links it with libFuzzer (tests/scripts/fuzz.sh);
 * tests/fuzz/test_fuzz.c links all of them, each as fuzz_NAME, and runs them over seeds/NAME, found/NAME (inputs
 * that once failed) and the inputs that fuzz_seeds writes. NAME.dict is the dictionary. A new harness needs no edit
 * elsewhere. */
#ifndef TROTTER_FUZZ_H
#define TROTTER_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "nn/nn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(condition)                                                       \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

/* FUZZ(begin) { ... } is a harness: it reads data (size) and leaves memory as it was behind `begin`. */
#define FUZZ(begin)                                              \
    static void fuzz_input(const uint8_t *data, size_t size);    \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) \
    {                                                            \
        begin;                                                   \
        size_t live = memory_live();                             \
        fuzz_begin();                                            \
        fuzz_input(data, size);                                  \
        fuzz_end(data, size);                                    \
        FUZZ_CHECK(memory_live() == live);                       \
        return 0;                                                \
    }                                                            \
    static void fuzz_input(const uint8_t *data, size_t size)

/* Returns the descriptor of a new anonymous file. */
static inline int fuzz_memory_file(void)
{
    int fd = memfd_create("fuzz", 0);
    FUZZ_CHECK(fd >= 0);
    return fd;
}

/* Pages of earlier inputs are written over: new ones cost more than most readers. */
static inline void fuzz_fill(int fd, const void *data, size_t size)
{
    FUZZ_CHECK(pwrite(fd, data, size, 0) == (ssize_t)size && ftruncate(fd, (off_t)size) == 0);
}

/* Returns the name of a file that holds the input, for readers that open one; good until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static char path[64];
    static int fd = -1;
    if (fd < 0) fd = fuzz_memory_file();
    fuzz_fill(fd, data, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

/* Parts an input at its first byte 0x1e, which belongs to neither part; without one the second part is empty. */
typedef struct {
    const uint8_t *data;
    size_t size;
} FuzzPart;
static inline void fuzz_parts(const uint8_t *data, size_t size, FuzzPart part[2])
{
    const uint8_t *stop = size ? memchr(data, 0x1e, size) : NULL;
    size_t first = stop ? (size_t)(stop - data) : size, second = stop ? size - first - 1 : 0;
    part[0] = (FuzzPart){data, first};
    part[1] = (FuzzPart){data + (size - second), second};
}

/* ---- seeds.c ---- */

/* Makes a directory, of fuzz-XXXXXX in /tmp, whose files are links to those in memory: fd[i] is that of name[i]. It goes
 * with the process. */
const char *fuzz_directory(const char *const *name, size_t count, int *fd);
/* Returns a small model that all harnesses of model files share, with gradients and moments. */
Model *fuzz_model(void);
/* Writes DIR/NAME/... for the readers whose seeds are made, not kept: the built-in schemes one by one,
 * a model, its state, a trained model's directory. 0, or an error's code. */
int fuzz_seeds(const char *dir);

/* ---- worst.c ---- */

/* Stand around an input: its time and memory are measured, and more than 1 GiB is a failure. */
void fuzz_begin(void);
void fuzz_end(const uint8_t *data, size_t size);

/* 1: the second reader of a differential harness makes a mistake on purpose, which must be found. */
extern int fuzz_planted;

/* ---- seal.c ---- */

/* Puts the checksum that fits (nn/model/store.h) into a safetensors file that has one, so that a change goes further than
 * to a wrong checksum. Returns 0 where the file has none. */
int fuzz_seal(uint8_t *bytes, size_t size);

#endif
