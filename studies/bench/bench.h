/* bench.h: timing side by side. Contenders take turns in short pieces, so that other work on the machine slows all of
 * them alike. The results are medians and quartiles over the pieces.
 */
#ifndef TROTTER_BENCH_H
#define TROTTER_BENCH_H

#include <stddef.h>

#include "kernels/backend.h"
#include "nn/nn.h"
#include "ode/ode.h"
#include "studies/base/option.h"
#include "studies/base/sheet.h"

/* ---- bench.c ------------------------------------------------------------------------------------- */

enum { BENCH_REPEATS = 1001 }; /* largest number of pieces */

/* Returns the seconds of a clock. On a machine with other work the processor time of one thread (threads 0) is the time
 * that it would take alone; only the clock on the wall (threads 1) sees threads that wait for each other. */
double bench_now(int threads);

/* Measurements of one thing, in turns with another. */
typedef struct {
    size_t n;
    double x[BENCH_REPEATS]; /* (n) in order, sorted by sample_close */
    double q[3];             /* quartiles */
} Sample;
void sample_add(Sample *s, double x); /* ignores values beyond BENCH_REPEATS */
void sample_close(Sample *s);         /* fills q; NaN without measurements */

/* bench_on_device: does the backend run on a device, asynchronously? bench_time: seconds of the clock, as on a device and
 * with several threads, or of this thread. */
int bench_on_device(const Backend *b);
double bench_time(const Backend *b);

/* The rows of a bench in two forms: `value` of CSV, and the table for people. */
typedef struct {
    Sheet *values; /* rows of bench_values */
    Sheet *table;  /* the bench's own columns */
    int failed;    /* code of the first peer that failed, and its words */
    char words[512];
} BenchReport;

/* Records that a peer failed, with the words of error_text. The bench goes on and reports the failure at its end. */
void bench_failed(BenchReport *b, int code);

extern const Column bench_values[]; /* what, variant, value, unit */

/* Adds a row what,variant,value,unit; `what` is in printf style. */
void bench_value(BenchReport *b, const char *variant, double value, const char *unit,
                 const char *what, ...) __attribute__((format(printf, 5, 6)));

/* Adds rows whose `what` is PREFIX.what, except those whose value is NaN. */
typedef struct {
    const char *what, *unit;
    double value;
} BenchFigure;
void bench_figures(BenchReport *b, const char *variant, const char *prefix, size_t n,
                   const BenchFigure *figure);

/* With --csv: prints the rows that were added since the last call. */
int bench_stream(const Options *o, const BenchReport *out);

/* Runs a bench: `list` has the columns of the table for people, and `fill` adds the rows, between rows with the
 * machine's load. Writes both forms as the options ask, under --out as bench-NAME.csv and .md. */
int bench_tell(const Options *o, const char *name, const Column *list,
               int (*fill)(const Options *o, BenchReport *out));

/* ---- the benches ---------------------------------------------------------------------------------- */

int bench_train(const Options *o);
int bench_pairs(const Options *o);
int bench_translate(const Options *o);
int bench_theory(const Options *o);
extern const OptionGroup bench_train_group, bench_pairs_group, bench_translate_group;
extern const OptionGroup bench_peer_group; /* of every bench with a script as peer */
extern const OptionGroup bench_size_group; /* of pairs and translate */

/* ---- bench_products.c: the matrix products of a training step, alone ------------------------------ */

/* products_of returns b with a gemm that notes its products between products_begin and products_end, which returns
 * ERR_MEMORY where one could not be noted. One backend at a time; borrowed until the next call. */
const Backend *products_of(const Backend *b);
void products_begin(void);
int products_end(void);
/* products_again repeats all noted products, in order, on the same buffers. */
void products_again(void);
double products_flops(void);
void products_free(void);

/* 0: training steps are run call by call from now on, 1: recorded and replayed, where the backend can. */
void products_recorded(int on);

/* ---- bench_script.c: a peer that is a script ------------------------------------------------------- */

/* Speeds of a script, one for each way to run it: "stock", "tuned", "tuned-zen", ... on a processor, "plain",
 * "compile", ... on a device. */
enum { SCRIPT_WAYS = 12 };
typedef struct {
    Sample speed[SCRIPT_WAYS];
    int without[SCRIPT_WAYS]; /* 1: this way does not work, or another is faster */
    int over;                 /* 1: the script is not run again */
} ScriptSpeed;

/* An argument that is a number, in a list that ends with a NULL name. */
typedef struct {
    const char *name;
    size_t value;
} ScriptNumber;

/* Runs `/usr/bin/python3 FILE args... number...` (FILE: option `peer`; args end with NULL; the environment's PYTHON names
 * another interpreter) in every way that suits the backend, on a device the first time only, until `peer-ways` have
 * worked, each for `peer-limit` seconds at most. Adds the number `key` of the JSON object on the last line to `speed`. A way that fails is left out, and a note
 * names it; on a processor the first must work, on a device one of them. A script that cannot run or has no such
 * line has failed (bench_failed). */
void script_run(BenchReport *out, const Options *o, const Backend *b, const char *const *args,
                const ScriptNumber *number, const char *key, ScriptSpeed *speed);
void script_close(ScriptSpeed *s);
/* script_plain returns the median of the script as it stands; script_best that of its fastest way, with the way's name
 * (untouched if none; NULL allowed). NaN where the script was not run. */
double script_plain(const ScriptSpeed *s, const Backend *b);
double script_best(const ScriptSpeed *s, const char **way);
/* Adds rows PREFIX.peer.WAY and PREFIX.peer.WAY.ratio, the ratio of `own` to the peer. */
void script_rows(BenchReport *b, const char *variant, const char *prefix, const char *unit,
                 double own, const ScriptSpeed *s);

/* ---- bench_lengths.c: pairs of sentences as long as those of Multi30k ------------------------------- */

/* Makes `count` batches of random tokens of a vocabulary of V words, at most `most` tokens a side. They are taken from
 * the hundred or so batches of an epoch as training makes them, pairs of like length together (nn/text/batches.c), from
 * short ones to long ones. Caller: lengths_free of each, whatever the code. */
int lengths_batches(size_t V, size_t most, size_t count, Batch *out);
void lengths_free(Batch *x);
enum { LENGTHS_LONGEST = 48 }; /* largest number of tokens of a side, <eos> included */

/* Writes a line "BATCH SOURCE TARGET" a pair, lengths with <eos>, to a new file in the system's folder for temporary
 * files. Caller: unlink and memory_free. */
int lengths_write(const Batch *x, size_t count, char **file);

/* ---- bench_block.c: times one network: training steps in turns with their bounds and a peer --------- */

enum { BLOCK_BATCHES = 8 };

typedef struct {
    const char *name; /* name in the rows: the width */
    /* layers: of one side. T: tokens of every sequence; largest number for pairs. N: tokens of a batch;
     * largest number for pairs. */
    size_t layers, D, M, H, V, T, N;
} BlockSize;

/* The networks of two sides of `trotter bench pairs` and `trotter bench translate`: "128", "512", "tiny". */
enum { PAIR_SIZES = 3 };
extern const BlockSize pair_sizes[PAIR_SIZES];

/* The caller sets the first nine members; the rest is zero before it is measured, which fills it. */
typedef struct Block Block;
struct Block {
    const Options *o;
    const Backend *backend; /* backend without noting */
    const Table *scheme;    /* scheme of the layers, or of the decoder */
    const Table *encoder;   /* NULL: a language model */
    const BlockSize *size;
    int norm;              /* NORM_* for pairs */
    BenchReport *out;      /* receives the caller's rows */
    int (*also)(Block *b); /* measures more of the network once it is measured; NULL: nothing */
    Sheet *launches;       /* receives rows of launch_columns from launches_measure */
    Model *m;
    Batch batch[BLOCK_BATCHES];
    char *lengths; /* file with the pairs' lengths, for a peer */
    uint64_t steps;
    double memory, peak;
    double macs,
        flops;      /* for one target token: multiply-adds of a forward pass; flops of the floor */
    double sources; /* source tokens for each target token */
    Recording *products; /* recording of the floor, on a device */
    /* Seconds per target token. The floor's are those of the batch whose products it repeats. */
    Sample step, floor;
    ScriptSpeed peer;
};

/* What was measured, for people. */
typedef struct {
    const char *backend, *size, *scheme;
    double tokens, low, high; /* per second, of the target where there are two sides */
    double source;            /* source tokens per second; NaN: one side */
    double flop;              /* model operations per token; NaN: two sides */
    double floor, share;      /* tokens/s of the products alone; the step's share of that */
    double floor_flop;        /* FLOP of the floor per token */
    double peak;              /* bytes */
    double peer, best;        /* the peer as it stands, and in its fastest way */
    double to_peer, to_best;
    const char *way; /* name of the fastest way */
} BlockFigures;

/* Times the network of `like` and its peer, and adds rows WHAT.BACKEND.SIZE.* of the variant and a row of the table. */
int block_time(const Block *like, const char *what, const char *variant);

/* One step of such a measurement. */
int block_step(Block *b);

/* ---- bench_launches.c: the time of each launch of a step on a device ------------------------------- */

/* Adds a row for each launch of a step of b, which was measured, and one for the gaps between them. ERR_INPUT:
 * the backend has no launches; ERR_CHECK: two steps asked the device for different things. */
int launches_measure(Block *b);
extern const Column launch_columns[];

#endif
