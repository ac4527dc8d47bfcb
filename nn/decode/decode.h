/* decode.h: the inside of a Decoding (search.h). decode.c uses it, and tests that damage it. */
#ifndef TROTTER_DECODE_H
#define TROTTER_DECODE_H

#include "nn/run/pass.h"
#include "nn/decode/search.h"

/* Lists that the kernel `attend` reads: rows by hypothesis, in backend memory. */
typedef struct {
    int32_t *key, *count; /* (rows, most), (rows) */
    size_t ld;
} Lists;

struct Decoding {
    Model *m;
    /* most: `best` of decoding_new; sources: rows of the source. */
    size_t rows, length, most, sources;
    Pass pass;   /* pass of the current step */
    size_t used; /* rows of the caches */
    void *cache,
        *memory; /* (evals, rows * length, 2 D), (slots of cross-attention, sources, 2 D) */
    int *cache_of, *memory_of; /* (instrs), (slots): index of the cache or memory, -1: none */
    Lists self, cross;
    int32_t *index;            /* (rows, most) */
    void *value;               /* (rows, most) */
    void *buffer[8];           /* all backend memory */
    size_t buffers, sentences; /* sentences: those of this batch */
    size_t *start;             /* (rows + 1) first source row of each sentence */
    int32_t *list[2],
        *count
            [2]; /* (rows, length), (rows): own rows of the hypotheses of this step and the one before */
    size_t ld[2];                    /* row strides of the lists */
    int32_t *sentence[2], *position; /* (rows) */
    int32_t *places, *sizes; /* (rows, longest source), (rows): lists of the source's rows */
};

#endif
