/* bench.h: timing side by side: contenders take turns in short pieces, so that what else the machine
 * does falls on all of them alike; medians and quartiles over the pieces are told.
 */
#ifndef TROTTER_BENCH_H
#define TROTTER_BENCH_H

#include <stddef.h>

#include "kernels/backend.h"
#include "nn/nn.h"
#include "ode/ode.h"
#include "studies/tools/option.h"
#include "studies/measure/peers.h"
#include "studies/tools/sheet.h"

/* ---- bench.c ------------------------------------------------------------------------------------- */

enum { BENCH_REPEATS = 1001 }; /* most */
enum { BENCH_GEMM = 1024 };    /* rows of the matrices whose product gives the GEMM rate */

/* One contender, and what was measured. */
typedef struct {
    const char *what; /* compared among contenders of the same `what` */
    const Peer *peer;
    const char *method; /* as the peer calls it */
    void *run;
    size_t count; /* steps in a piece */
    double calls; /* evaluations of F + G in a step; 0: none */
    double moved; /* bytes in a step; 0: not told */
    size_t pieces;
    double time[BENCH_REPEATS]; /* (pieces) seconds a step */
    double low, median, high;   /* its quartiles */
} Contender;

typedef struct {
    size_t repeats; /* pieces of each contender, fewer (at least 3) where `budget` is spent */
    double piece;   /* seconds, at least one step */
    double budget;  /* seconds for a contender */
    int threads;    /* 0: processor time of this thread; 1: time on the clock */
} BenchPlan;

/* Opens, warms, times and closes all. A contender whose peer has no such method: ERR_MISUSE. */
int bench_run(const BenchPlan *plan, const PeerProblem *p, Contender *c, size_t count);

/* Seconds of a clock. On a machine with other work the processor time of one thread (threads 0) is what
 * it would take alone; threads that wait for each other are only seen by the clock on the wall (1). */
double bench_now(int threads);

/* What was measured of something, in turns with something else. */
enum { BENCH_SAMPLES = 3 * 64 };
typedef struct {
    size_t n;
    double x[BENCH_SAMPLES]; /* (n) in order, sorted by sample_close */
    double q[3];             /* quartiles */
} Sample;
void sample_add(Sample *s, double x); /* forgets what there is no room for */
void sample_close(Sample *s);         /* q; NaN where nothing was measured */

/* Does the backend run on a device, behind us? Then and with several threads time is that of the clock. */
int bench_on_device(const Backend *b);
int bench_by_clock(const Backend *b);

/* The rows of a bench in both forms: `value` of CSV, and the table for people. */
typedef struct {
    Sheet *values; /* of bench_values */
    Sheet *table;  /* the bench's own columns */
    int failed;    /* code of a peer that failed first, and its words */
    char words[512];
} BenchReport;

/* A peer has failed, in error_text's words: what is measured beside it is told all the same, and then that. */
void bench_failed(BenchReport *b, int code);

extern const Column bench_values[]; /* what, variant, value, unit */

/* Adds what,variant,value,unit; what in printf style. */
void bench_value(BenchReport *b, const char *variant, double value, const char *unit,
                 const char *what, ...) __attribute__((format(printf, 5, 6)));

/* Adds rows of which `what` is PREFIX.what; not those whose value is NaN. */
typedef struct {
    const char *what, *unit;
    double value;
} BenchFigure;
void bench_figures(BenchReport *b, const char *variant, const char *prefix, size_t n,
                   const BenchFigure *figure);

/* With --csv: prints the rows that were added since the last call. */
int bench_stream(const Options *o, const BenchReport *out);

/* What else the machine does. */
void bench_load(BenchReport *b, const char *when);

/* A bench whose table for people has the columns `list` and whose rows `fill` adds: writes both forms as the
 * options ask for, under --out as bench-NAME.csv and .md. */
int bench_tell(const Options *o, const char *name, const Column *list,
               int (*fill)(const Options *o, BenchReport *out));

/* ---- bench_peers.c: the peers that are built in --------------------------------------------------- */

/* Of problems whose field is peers_field. */
extern const Peer bench_trotter; /* methods: schemes */
extern const Peer bench_gsl;     /* methods: odeiv2 steppers: rk2, rk4, rk8pd */
extern const Peer bench_field;   /* methods: F, G, H: one evaluation a step */
extern const Peer bench_copy;    /* methods: cache, memory: one copy of N numbers a step */
extern const Peer bench_gemm;    /* one product of two matrices of BENCH_GEMM rows a step */

/* ---- bench_ode.c ---------------------------------------------------------------------------------- */

int bench_ode(const Options *o);
/* bench_growth.c: `bench ode --growth`. */
int bench_growth(const Options *o);

/* ---- bench_products.c: the matrix products of a training step, by themselves ---------------------- */

/* b with a gemm that notes its products between _begin and _end (its code: ERR_MEMORY). One backend
 * at a time; borrowed until the next call. */
const Backend *products_of(const Backend *b);
void products_begin(void);
int products_end(void);
/* All that were noted, in order, on the same buffers. apart: each is waited for and timed by itself;
 * threads as for bench_now; the code of a wait. */
void products_again(void);
int products_apart(int threads);
double products_flops(void);
void products_free(void);

/* All products of product i's shape, told at the first of them (else count 0); 0: no product i. */
typedef struct {
    char name[64]; /* "NT 4096x512x2048+": op(A), op(B), m x n x k, + where C accumulates */
    size_t count;
    double flops, seconds; /* of all; each at its fastest */
} ProductShape;
int products_shape(size_t i, ProductShape *s);

/* ---- bench_script.c: a peer that is a script ------------------------------------------------------- */

/* Its speed, by the way in which it is run: "stock", "tuned", "tuned-zen", ... on a processor, "plain", "compile", ... on a device. */
enum { SCRIPT_WAYS = 11 };
typedef struct {
    Sample speed[SCRIPT_WAYS];
    int without[SCRIPT_WAYS]; /* it cannot be run so, or another way is faster */
    int over;                 /* it is not run again */
} ScriptSpeed;

/* Runs `/usr/bin/python3 FILE args...` (FILE: option `peer`; args end with NULL; the environment's PYTHON names another
 * interpreter) in every way that suits the backend, on a device the first time only, each for `peer-limit` seconds at most, and
 * adds the number `key` of the JSON object on its last line to `speed`. A way that does not work, but for the first, is named
 * and left out; the processor's bf16 has no peer. A script that cannot run or has no such line has failed (bench_failed). */
void script_run(BenchReport *out, const Options *o, const Backend *b, const char *const *args,
                const char *key, ScriptSpeed *speed);
void script_close(ScriptSpeed *s);
/* The median as the script stands, and at its fastest, with the name of that way (untouched if none; NULL allowed); NaN where it
 * was not run. */
double script_plain(const ScriptSpeed *s, const Backend *b);
double script_best(const ScriptSpeed *s, const char **way);
/* Rows PREFIX.peer.WAY and PREFIX.peer.WAY.ratio, of `own` to it. */
void script_rows(BenchReport *b, const char *variant, const char *prefix, const char *unit,
                 double own, const ScriptSpeed *s);

/* ---- bench_train.c --------------------------------------------------------------------------------- */

int bench_train(const Options *o);
extern const OptionGroup bench_train_group;
extern const OptionGroup bench_step_group; /* of whole training steps: products */
extern const OptionGroup bench_peer_group; /* of all that a script is a peer of */

/* ---- bench_model.c --------------------------------------------------------------------------------- */

int bench_model(const Options *o);
extern const OptionGroup bench_model_group;

/* ---- bench_lengths.c: pairs of sentences as long as those of Multi30k ------------------------------- */

/* `count` batches of random tokens of a vocabulary of V words, at most `most` tokens a side, of the hundred or so of an
 * epoch as training batches it, pairs of like length together (nn/batches.c): from short ones to long ones. Caller:
 * lengths_free of each, whatever the code. */
int lengths_batches(size_t V, size_t most, size_t count, Batch *out);
void lengths_free(Batch *x);
enum { LENGTHS_LONGEST = 48 }; /* tokens of a side at most, <eos> included */

/* Writes a line "BATCH SOURCE TARGET" a pair, lengths with <eos>, to a new file of the system's folder for such. Caller:
 * unlink and memory_free. */
int lengths_write(const Batch *x, size_t count, char **file);

/* ---- bench_pairs.c, bench_translate.c --------------------------------------------------------------- */

int bench_pairs(const Options *o);
int bench_translate(const Options *o);
extern const OptionGroup bench_size_group; /* of both */
extern const OptionGroup bench_pairs_group, bench_translate_group;

/* ---- bench_prefix.c: beam search without a cache, to be compared with ------------------------------- */

/* What is done again at each step for the tokens that a hypothesis has already. */
enum { PREFIX_TARGET, PREFIX_BOTH, PREFIX_KINDS }; /* the decoder's side; the encoder's too */

typedef struct Prefix Prefix;
/* Searches for `sentences` outputs of exactly `length` tokens, and <eos>, with this beam. m: of two sides, built without
 * training, for sentences * beam * (length + 1) rows a side; borrowed until prefix_free. No room: ERR_MISUSE. */
int prefix_new(Model *m, size_t sentences, size_t beam, size_t length, int32_t eos, Prefix **out);
void prefix_free(Prefix *p); /* NULL allowed */
/* token (sentences, length) out: the best for each source of x, without <eos>. */
int prefix_search(Prefix *p, const Batch *x, int kind, int32_t *token);

#endif
