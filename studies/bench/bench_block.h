/* bench_block.h: times one network: whole training steps in turns with their bounds and with a peer (bench_block.c).
 * `trotter bench train` and `trotter bench pairs` use it; bench_train.c and bench_pairs.c make their tables.
 */
#ifndef TROTTER_BENCH_BLOCK_H
#define TROTTER_BENCH_BLOCK_H

#include "nn/nn.h"
#include "ode/scheme/table.h"
#include "studies/bench/bench.h"
#include "studies/tools/option.h"

enum { BLOCK_BATCHES = 8 };

typedef struct {
    const char *name; /* name in the rows: the width, or an axis of growth */
    /* layers: of one side. T: tokens of every sequence; largest number for pairs. N: tokens of a batch;
     * largest number for pairs. */
    size_t layers, D, M, H, V, T, N;
} BlockSize;

/* The language models of `trotter bench train` and `trotter bench model`: "512", "128", "1024". The
 * first two are the default. */
enum { BLOCK_SIZES = 3, BLOCK_BOTH = 2 };
extern const BlockSize block_sizes[BLOCK_SIZES];

/* The networks of two sides of `trotter bench pairs` and `trotter bench translate`: "128", "512", "tiny". */
enum { PAIR_SIZES = 3, PAIR_BOTH = 2 };
extern const BlockSize pair_sizes[PAIR_SIZES];

/* The caller sets the first seven members; the rest is zero before block_measure, which fills it. */
typedef struct {
    const Options *o;
    const Backend *backend; /* backend without noting */
    const Table *scheme;    /* scheme of the layers, or of the decoder */
    const Table *encoder;   /* NULL: a language model */
    const BlockSize *size;
    int norm;         /* NORM_* for pairs */
    BenchReport *out; /* receives the caller's rows */
    Model *m;
    Batch batch[BLOCK_BATCHES];
    char *lengths; /* file with the pairs' lengths, for a peer */
    uint64_t steps;
    void *square; /* (3, n, n) matrices for the GEMM rate */
    double memory, peak;
    double macs,
        flops;      /* for one target token: multiply-adds of a forward pass; flops of the floor */
    double sources; /* source tokens for each target token */
    Recording *products; /* recording of the floor, on a device */
    /* Seconds per target token. The floor's are those of the batch whose products it repeats. */
    Sample step, floor;
    Sample gemm; /* seconds */
    ScriptSpeed peer;
} Block;

/* block_measure times the network of b until --budget is spent. Caller: block_close, also after a failure. */
int block_measure(Block *b);
void block_close(Block *b);

/* What was measured, for people. */
typedef struct {
    const char *backend, *size, *scheme;
    double tokens, low, high; /* per second, of the target where there are two sides */
    double source;            /* source tokens per second; NaN: one side */
    double flop, rate;        /* model operations per token, and per second; NaN: two sides */
    double floor, share;      /* tokens/s of the products alone; the step's share of that */
    double floor_flop;        /* FLOP of the floor per token */
    double gemm, of_gemm;     /* FLOP/s */
    double peak;              /* bytes */
    double peer, best;        /* the peer as it stands, and in its fastest way */
    double to_peer, to_best;
    const char *way; /* name of the fastest way */
} BlockFigures;
BlockFigures block_figures(const Block *b);

/* Times the network of `like` and its peer, and adds rows WHAT.BACKEND.SIZE.* of the variant and a row of the table. */
int block_run(const Block *like, const char *what, const char *variant);

/* block_open is the first part of block_measure, block_step one step of it. block_open needs
 * options for pairs alone. */
int block_open(Block *b);
int block_step(Block *b);

#endif
