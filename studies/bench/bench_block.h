/* bench_block.h: one network, timed: whole training steps in turns with what bounds them and with a peer
 * (bench_block.c). For `trotter bench train` and `trotter bench pairs`, whose tables bench_train.c and bench_pairs.c
 * make.
 */
#ifndef TROTTER_BENCH_BLOCK_H
#define TROTTER_BENCH_BLOCK_H

#include "nn/nn.h"
#include "ode/table.h"
#include "studies/bench/bench.h"
#include "studies/tools/option.h"

enum { BLOCK_BATCHES = 8 };

typedef struct {
    const char *name; /* of what is said of it: the width, or an axis of growth */
    /* Layers of a side; T: tokens of every sequence, of pairs at most; N: tokens of a batch, of pairs at most. */
    size_t layers, D, M, H, V, T, N;
} BlockSize;

/* The language models of `trotter bench train` and `trotter bench model`: "512", "128", "1024"; without a choice the first two. */
enum { BLOCK_SIZES = 3, BLOCK_BOTH = 2 };
extern const BlockSize block_sizes[BLOCK_SIZES];

/* The networks of two sides of `trotter bench pairs` and `trotter bench translate`: "128", "512", "tiny". */
enum { PAIR_SIZES = 3, PAIR_BOTH = 2 };
extern const BlockSize pair_sizes[PAIR_SIZES];

/* The first seven are the caller's, the rest is zero before and measured after. */
typedef struct {
    const Options *o;
    const Backend *backend; /* as it is */
    const Table *scheme;    /* of the layers, or the decoder's */
    const Table *encoder;   /* NULL: a language model */
    const BlockSize *size;
    int norm;         /* NORM_* of pairs */
    BenchReport *out; /* where the caller's rows go */
    Model *m;
    Batch batch[BLOCK_BATCHES];
    char *lengths; /* file of the pairs' lengths, for a peer */
    uint64_t steps;
    void *square; /* (3, n, n) of the GEMM rate */
    double memory, peak;
    double macs,
        flops;      /* of a target's token: multiply-adds of a forward pass; those of the floor */
    double sources; /* tokens of the source for one of the target */
    Recording *products; /* on a device, the floor's */
    /* Seconds for one of the target's tokens; of the floor, of those of the batch whose products it has. */
    Sample step, floor;
    Sample gemm; /* seconds */
    ScriptSpeed peer;
} Block;

/* Times what b names until --budget is spent. Caller: block_close, also after a failure. block_peer: then the peer, where it
 * is not timed in turns; b->peer is told of then. */
int block_measure(Block *b);
int block_peer(Block *b);
void block_close(Block *b);

/* What block_measure begins with, and one step of it. block_open needs options for pairs alone. */
int block_open(Block *b);
int block_step(Block *b);

/* With --products: rows of the floor's products by shape, PREFIX.count and PREFIX.rate. */
void block_products(const Block *b, const char *prefix);

/* Rows of the square product that tells the GEMM rate. */
size_t block_square(const Block *b);

#endif
