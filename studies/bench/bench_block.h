/* bench_block.h: one block, timed: whole training steps in turns with what bounds them and with a peer
 * (bench_block.c). Private to `trotter bench train`, whose tables bench_train.c makes.
 */
#ifndef TROTTER_BENCH_BLOCK_H
#define TROTTER_BENCH_BLOCK_H

#include "nn/nn.h"
#include "ode/table.h"
#include "studies/bench/bench.h"
#include "studies/tools/option.h"

enum { BLOCK_BATCHES = 8, BLOCK_SAMPLES = 3 * 64, BLOCK_WAYS = 7 };

typedef struct {
    const char *name; /* of what is said of it: the width, or an axis of growth */
    size_t layers, D, M, H, T, N;
} BlockSize;

typedef struct {
    size_t n;
    double x[BLOCK_SAMPLES]; /* seconds, or a peer's tokens per second */
    double q[3];             /* quartiles */
} BlockSample;

/* o, backend, scheme, size and out are the caller's, the rest is zero before and measured after. */
typedef struct {
    const Options *o;
    const Backend *backend; /* as it is */
    const Table *scheme;
    const BlockSize *size;
    BenchReport *out; /* where the caller's rows go */
    Model *m;
    Batch batch[BLOCK_BATCHES];
    uint64_t steps;
    void *square; /* (3, n, n) of the GEMM rate */
    double memory, peak, macs, flops;
    Recording *products; /* on a device, the floor's */
    BlockSample step, floor, gemm, peer[BLOCK_WAYS];
    int without[BLOCK_WAYS]; /* the peer cannot be run so */
} Block;

/* Times what b names until --budget is spent. Caller: block_close, also after a failure. */
int block_measure(Block *b);
void block_close(Block *b);

/* Rows of the square product that tells the GEMM rate. */
size_t block_square(const Block *b);

/* Name of way w to run the peer, and the one as it stands on this backend. */
const char *block_way(int w);
int block_plain_way(const Block *b);

#endif
