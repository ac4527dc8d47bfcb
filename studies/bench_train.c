/* bench_train.c: `trotter bench train`: whole training steps, beside what bounds them and a peer.
 *
 * In turns: some steps, the floor (the matrix products that a step was seen to ask for, alone, through
 * the same backend: bench_products.c), the GEMM rate (one large square product), the peer's script in
 * all its ways. Model operations are those of forward and backward, 3 x 2 x multiply-adds, attention's
 * scores counted dense; the floor leaves attention's products out. One thread is timed by its
 * processor time, several and a device by the clock. On a device the floor is recorded and replayed as
 * the step is, memory is what the device has in use, and a product of cuda-bf16 includes the rounding
 * of its factors.
 */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/random.h"
#include "studies/bench.h"
#include "studies/command.h"
#include "studies/network.h"
#include "studies/output.h"
#include "studies/progress.h"
#include "studies/select.h"

enum { VOCABULARY = 10000, BATCHES = 8, PIECE = 3, SAMPLES = 3 * 64 };
enum { LEAST_ROUNDS = 3 };
enum { DEVICE_GEMM = 16384 }; /* rows of the square product on a device */
static const double dropout = 0.1;

typedef struct {
    const char *name; /* of what is said of it: the width, or an axis of growth */
    size_t layers, D, M, H, T, N;
} Size;

static const Size sizes[] = {{"512", 1, 512, 2048, 8, 64, 4096},
                             {"128", 1, 128, 512, 4, 64, 4096},
                             {"1024", 12, 1024, 4096, 16, 256, 16384}};
enum { SIZES = sizeof sizes / sizeof *sizes, BOTH = 2 };

/* What PyTorch's peer calls the same block. */
static const struct {
    const char *scheme, *peer;
} peers[] = {{"transformer", "standard"},
             {"macaron", "macaron2"},
             {"heun-layer", "rk2"},
             {"rk4-layer", "rk4"}};

/* Ways to run the peer; the first of a device is as it stands. best: bench_script's. */
enum { WAYS = 7, WAY_ARGS = 2 };
static const struct {
    const char *name;
    int device, best;
    const char *arg[WAY_ARGS];
} ways[WAYS] = {{"stock", 0, 0, {0}},
                {"tuned", 0, 1, {0}},
                {"plain", 1, 0, {0}},
                {"compile", 1, 0, {"--compile"}},
                {"graph", 1, 0, {"--graph"}},
                {"compile-sdpa", 1, 0, {"--compile", "--sdpa"}},
                {"graph-sdpa", 1, 0, {"--graph", "--sdpa"}}};

static const Option options[] = {
    {"scheme", OPTION_TEXT, "transformer,macaron,heun-layer,rk4-layer", "A,B,...", "blocks", 0, 0},
    SELECT_FILE,
    {"width", OPTION_CHOICE, "both", "both|512|128|1024",
     "512: inner 2048, 8 heads; 128: inner 512, 4 heads; 1024: 12 layers, 16384 tokens of 256", 0,
     0},
    {"peer", OPTION_TEXT, NULL, "FILE", "a script of PyTorch's, as told above", 0, 0},
    {"growth", OPTION_FLAG, NULL, NULL,
     "instead: cost against layers, width, sequence, batch, stages", 0, 0},
    {"products", OPTION_FLAG, NULL, NULL, "list the floor's products by shape too", 0, 0},
    {0},
};
const OptionGroup bench_train_group = {"Training", 1, options};

static const char *const value_columns[] = {"what", "variant", "value", "unit"};
static const char *const table_columns[] = {
    "backend", "width", "scheme", "tokens/s", "from",  "to",   "MFLOP/token", "of GEMM",
    "floor",   "share", "MiB",    "peer",     "ratio", "best", "ratio"};
static const char *const growth_columns[] = {"axis",        "at",      "tokens/s", "ms/step",
                                             "MFLOP/token", "GFLOP/s", "power"};
enum {
    TABLE = sizeof table_columns / sizeof *table_columns,
    GROWTH = sizeof growth_columns / sizeof *growth_columns
};

/* ---- samples -------------------------------------------------------------------------------------- */

typedef struct {
    size_t n;
    double x[SAMPLES]; /* seconds, or a peer's tokens per second */
    double q[3];       /* quartiles */
} Sample;

static void add(Sample *s, double x)
{
    if (s->n < SAMPLES) s->x[s->n++] = x;
}

static void close_sample(Sample *s)
{
    s->q[0] = s->q[1] = s->q[2] = NAN;
    if (s->n) bench_quartiles(s->n, s->x, s->q);
}

/* ---- a model that trains on random tokens ----------------------------------------------------------- */

typedef struct {
    const Options *o;
    const Backend *backend; /* as it is */
    const Table *scheme;
    const Size *size;
    BenchReport *out;
    Model *m;
    Batch batch[BATCHES];
    uint64_t steps;
    void *square; /* (3, n, n) of the GEMM rate */
    double memory, peak, macs, flops;
    Recording *products; /* on a device, the floor's */
    Sample step, floor, gemm, peer[WAYS];
    int without[WAYS]; /* the peer cannot be run so */
} Bench;

static int on_device(const Bench *b)
{
    return b->backend->record != NULL;
}

static size_t square_rows(const Bench *b)
{
    return on_device(b) ? DEVICE_GEMM : BENCH_GEMM;
}

/* Words come with probability about 1/(1 + rank), as those of a text do. */
static int new_batch(const Size *s, uint64_t stream, Batch *b)
{
    *b = (Batch){.N = s->N, .S = s->N / s->T, .longest = s->T};
    b->input = memory_new(3 * s->N, sizeof *b->input);
    b->start = memory_new(b->S + 1, sizeof *b->start);
    if (!b->input || !b->start) return ERR_MEMORY;
    b->target = b->input + s->N, b->position = b->target + s->N;
    for (size_t i = 0; i < 2 * s->N; i++)
        b->input[i] = (int32_t)pow(VOCABULARY, random_uniform(1, stream, i));
    for (size_t i = 0; i < s->N; i++) b->position[i] = (int32_t)(i % s->T);
    for (size_t i = 0; i <= b->S; i++) b->start[i] = i * s->T;
    return 0;
}

static int new_model(Bench *b)
{
    const Size *s = b->size;
    BridgeOptions bridge = {s->layers, s->D, s->M, MATCH_PARAMETERS, MASKS_STAGE, 0};
    ModelConfig config = {.vocab = VOCABULARY,
                          .width = s->D,
                          .heads = s->H,
                          .positions = POSITIONS_SINUSOID,
                          .dropout = dropout,
                          .max_tokens = s->N,
                          .max_length = s->T,
                          .seed = 1};
    Plan *plan;
    TRY(bridge_plan(b->scheme, &bridge, &plan));
    b->macs = plan_macs(plan, s->D, s->T) + (double)s->D * VOCABULARY;
    return model_new(&config, plan, products_of(b->backend), 1, &b->m);
}

static int open_bench(Bench *b)
{
    for (int i = 0; i < BATCHES; i++) TRY(new_batch(b->size, (uint64_t)i, &b->batch[i]));
    b->square = b->backend->alloc(3 * square_rows(b) * square_rows(b));
    return b->square ? new_model(b) : ERR_MEMORY;
}

static void close_bench(Bench *b)
{
    for (int i = 0; i < BATCHES; i++) {
        memory_free(b->batch[i].input);
        memory_free(b->batch[i].start);
    }
    if (b->products) b->backend->recording_free(b->products);
    b->backend->release(b->square);
    model_free(b->m);
    products_free();
}

static int train_step(Bench *b)
{
    static const AdamConfig adam = {1e-3, 0.9, 0.98, 1e-9, 1};
    uint64_t step = ++b->steps;
    return model_step(b->m, &b->batch[step % BATCHES], &adam, step);
}

/* ---- peak memory: Linux's own account, set back before each model ------------------------------------ */

static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f);
    fclose(f);
}

static double peak_bytes(const Bench *b)
{
    size_t free_bytes, all;
    backend_room(&free_bytes, &all);
    if (on_device(b)) return (double)(all - free_bytes);
    char line[256];
    double kib = NAN;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1) break;
    if (f) fclose(f);
    return 1024 * kib;
}

/* ---- contenders ------------------------------------------------------------------------------------- */

static int by_clock(const Bench *b)
{
    return on_device(b) || omp_get_max_threads() > 1;
}

static double now(const Bench *b)
{
    return bench_now(by_clock(b));
}

/* Where a backend runs behind us, a piece is timed as a whole: nothing waits between its steps. */
static int time_steps(Bench *b)
{
    int together = b->backend->record ? PIECE : 1;
    Step s;
    for (int i = 0; i < PIECE; i += together) {
        double start = now(b);
        for (int k = 0; k < together; k++) TRY(train_step(b));
        TRY(model_tally(b->m, &s));
        add(&b->step, (now(b) - start) / together);
    }
    return 0;
}

static int run_products(Bench *b)
{
    if (b->products)
        TRY(b->backend->replay(b->products));
    else
        products_again();
    return b->backend->wait();
}

static int time_floor(Bench *b)
{
    for (int i = 0; i < PIECE; i++) {
        double start = now(b);
        TRY(run_products(b));
        add(&b->floor, now(b) - start);
    }
    return options_flag(b->o, "products") ? products_apart(by_clock(b)) : 0;
}

static int time_gemm(Bench *b)
{
    size_t n = square_rows(b);
    void *A = b->square, *B = backend_at(b->backend, A, n * n),
         *C = backend_at(b->backend, B, n * n);
    for (int i = 0; i < PIECE; i++) {
        double start = now(b);
        b->backend->gemm(0, 0, n, n, n, 1, A, n, B, n, 0, C, n);
        TRY(b->backend->wait());
        add(&b->gemm, now(b) - start);
    }
    return 0;
}

static const char *peer_name(const Bench *b)
{
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(peers[i].scheme, b->scheme->name) == 0) return peers[i].peer;
    return NULL;
}

/* 0 with the peer's tokens per second, run as way w. */
static int run_peer(const Bench *b, const char *name, int w, double *tokens_per_s)
{
    const Size *s = b->size;
    int device = on_device(b);
    const struct {
        const char *name;
        size_t value;
    } number[] = {{"--d", s->D},
                  {"--ffn", s->M},
                  {"--heads", s->H},
                  {"--layers", s->layers},
                  {"--seq", s->T},
                  {"--batch", s->N / s->T},
                  {"--steps", device ? 50 : 5},
                  {"--warmup", device ? 10 : 2},
                  {"--vocab", VOCABULARY},
                  {"--threads", (size_t)omp_get_max_threads()}};
    enum { NUMBERS = sizeof number / sizeof *number, FIXED = 4 };
    char text[NUMBERS][24];
    const char *args[2 * NUMBERS + FIXED + WAY_ARGS + 4] = {"--scheme", name, "--dropout", "0.1"};
    size_t n = FIXED;
    for (size_t i = 0; i < NUMBERS; i++) {
        snprintf(text[i], sizeof text[i], "%zu", number[i].value);
        args[n++] = number[i].name, args[n++] = text[i];
    }
    if (device) args[n++] = "--device", args[n++] = "cuda";
    for (int i = 0; i < WAY_ARGS && ways[w].arg[i]; i++) args[n++] = ways[w].arg[i];
    if (strcmp(b->backend->name, "cuda-tf32") == 0) args[n++] = "--tf32";
    return bench_script(options_text(b->o, "peer"), ways[w].best, args, tokens_per_s);
}

/* A way that does not work on this device (a compiler that is missing) is named and left out; the
 * first has to. The peer has no bf16. */
static int time_peer(Bench *b)
{
    const char *name = peer_name(b);
    int device = on_device(b);
    if (!options_text(b->o, "peer") || !name || strstr(b->backend->name, "bf16")) return 0;
    for (int w = 0, first = 1; w < WAYS; w++) {
        double tokens_per_s;
        if (ways[w].device != device || b->without[w]) continue;
        int code = run_peer(b, name, w, &tokens_per_s);
        if (code && (!device || first)) return code;
        if (code) progress_note("without %s: %s", ways[w].name, error_text());
        b->without[w] = code != 0;
        if (code == 0) add(&b->peer[w], tokens_per_s);
        first = 0;
    }
    return 0;
}

static int (*const contenders[])(Bench *b) = {time_steps, time_floor, time_gemm, time_peer};
enum { CONTENDERS = sizeof contenders / sizeof *contenders };

/* The floor as one recording, where that is to be had. */
static int record_products(Bench *b)
{
    if (!on_device(b)) return 0;
    TRY(run_products(b)); /* finds scratch memory */
    TRY(b->backend->record());
    products_again();
    return b->backend->recorded(&b->products);
}

/* The first step finds all memory; the second is noted, and on a device recorded; the third runs it. */
static int warm(Bench *b)
{
    Step s;
    reset_peak();
    TRY(open_bench(b));
    TRY(train_step(b));
    products_begin();
    int code = train_step(b);
    if (code == 0) code = products_end();
    if (code == 0) code = train_step(b);
    if (code == 0) code = model_tally(b->m, &s);
    if (code == 0) code = record_products(b);
    b->flops = products_flops();
    b->memory = (double)model_bytes(b->m);
    b->peak = peak_bytes(b);
    return code;
}

/* Rounds until the budget is spent, the first LEAST_ROUNDS in any case. */
static int measure(Bench *b)
{
    double start = progress_now(), budget = options_real(b->o, "budget");
    size_t most = options_size(b->o, "repeats");
    TRY(warm(b));
    for (size_t r = 0; r < most; r++) {
        if (r >= LEAST_ROUNDS && progress_now() - start > budget) break;
        progress_show("%s at %s, round %zu", b->scheme->name, b->size->name, r + 1);
        for (int i = 0; i < CONTENDERS; i++) TRY(contenders[i](b));
    }
    Sample *all[] = {&b->step, &b->floor, &b->gemm};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) close_sample(all[i]);
    for (int w = 0; w < WAYS; w++) close_sample(&b->peer[w]);
    return 0;
}

/* ---- rows ------------------------------------------------------------------------------------------- */

typedef struct {
    double tokens, low, high; /* per second */
    double flop;              /* model operations per token */
    double floor, share;      /* tokens/s of the products alone; the step's part of it */
    double gemm, of_gemm;     /* FLOP/s */
    double peer, best;        /* the peer as it stands, and at its fastest */
} Figures;

static Figures figures(const Bench *b)
{
    double N = (double)b->size->N, n = (double)square_rows(b);
    Figures f = {.tokens = N / b->step.q[1],
                 .low = N / b->step.q[2],
                 .high = N / b->step.q[0],
                 .flop = 6 * b->macs,
                 .floor = N / b->floor.q[1],
                 .share = b->floor.q[1] / b->step.q[1],
                 .gemm = 2 * n * n * n / b->gemm.q[1],
                 .peer = b->peer[on_device(b) ? 2 : 0].q[1],
                 .best = NAN};
    for (int w = 0; w < WAYS; w++) f.best = fmax(f.best, b->peer[w].q[1]);
    f.of_gemm = f.tokens * f.flop / f.gemm;
    return f;
}

static void put_values(const Bench *b, const Figures *f)
{
    const struct {
        const char *what, *unit;
        double value;
    } row[] = {{"tokens_per_s", "tokens/s", f->tokens},
               {"tokens_per_s.low", "tokens/s", f->low},
               {"tokens_per_s.high", "tokens/s", f->high},
               {"flop_per_token", "FLOP", f->flop},
               {"floor", "tokens/s", f->floor},
               {"floor.flop_per_token", "FLOP", b->flops / (double)b->size->N},
               {"floor.share", "of floor", f->share},
               {"gemm", "GFLOP/s", 1e-9 * f->gemm},
               {"gemm.share", "of gemm", f->of_gemm},
               {"memory", "bytes", b->memory},
               {"memory.peak", "bytes", b->peak},
               {"peer.best.ratio", "times", f->tokens / f->best}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (!isnan(row[i].value))
            bench_value(b->out, b->scheme->name, row[i].value, row[i].unit, "train.%s.%s.%s",
                        b->backend->name, b->size->name, row[i].what);
    for (int w = 0; w < WAYS; w++) {
        double x = b->peer[w].q[1];
        if (isnan(x)) continue;
        bench_value(b->out, b->scheme->name, x, "tokens/s", "train.%s.%s.peer.%s", b->backend->name,
                    b->size->name, ways[w].name);
        bench_value(b->out, b->scheme->name, f->tokens / x, "times", "train.%s.%s.peer.%s.ratio",
                    b->backend->name, b->size->name, ways[w].name);
    }
}

static void put_row(const Bench *b, const Figures *f)
{
    Report *t = b->out->table;
    report_text(t, b->backend->name);
    report_text(t, b->size->name);
    report_text(t, b->scheme->name);
    report_fixed(t, f->tokens, 0);
    report_fixed(t, f->low, 0);
    report_fixed(t, f->high, 0);
    report_fixed(t, 1e-6 * f->flop, 2);
    report_fixed(t, f->of_gemm, 2);
    report_fixed(t, f->floor, 0);
    report_fixed(t, f->share, 3);
    report_fixed(t, b->peak / 1048576, 0);
    report_fixed(t, f->peer, 0);
    report_fixed(t, f->tokens / f->peer, 2);
    report_fixed(t, f->best, 0);
    report_fixed(t, f->tokens / f->best, 2);
}

static void put_products(const Bench *b)
{
    ProductShape s;
    for (size_t i = 0; products_shape(i, &s); i++) {
        if (!s.count) continue;
        bench_value(b->out, s.name, (double)s.count, "products", "train.%s.%s.%s.count",
                    b->backend->name, b->size->name, b->scheme->name);
        bench_value(b->out, s.name, 1e-9 * s.flops / s.seconds, "GFLOP/s", "train.%s.%s.%s.rate",
                    b->backend->name, b->size->name, b->scheme->name);
    }
}

/* CSV comes as it is measured: a bench that is stopped has told what it knew. */
static int stream(const Bench *b)
{
    if (!options_flag(b->o, "csv")) return 0;
    TRY(report_stream(b->out->values, stdout));
    return fflush(stdout) == 0 ? 0 : error_set(ERR_SYSTEM, "stdout: %s", strerror(errno));
}

static int run_block(const Options *o, const Backend *backend, const Table *scheme,
                     const Size *size, BenchReport *out)
{
    Bench *b = memory_new(1, sizeof *b);
    if (!b) return ERR_MEMORY;
    b->o = o, b->backend = backend, b->scheme = scheme, b->size = size, b->out = out;
    int code = measure(b);
    if (code == 0) {
        Figures f = figures(b);
        put_values(b, &f);
        put_row(b, &f);
        if (options_flag(o, "products")) put_products(b);
        code = stream(b);
    }
    close_bench(b);
    memory_free(b);
    return code;
}

static int run_blocks(const Options *o, const Backend *b, BenchReport *out)
{
    Selection s;
    int width = options_choice(o, "width"), code = 0;
    TRY(select_open(o, "euler", &s));
    for (int i = 0; i < SIZES; i++)
        for (size_t k = 0; k < s.count && code == 0 && (width ? width == i + 1 : i < BOTH); k++)
            code = run_block(o, b, s.scheme[k], &sizes[i], out);
    select_close(&s);
    return code;
}

/* ---- growth ----------------------------------------------------------------------------------------- */

/* One axis: the points differ from the middle of the small size in one number only. */
typedef struct {
    const char *axis, *scheme; /* stages: a list of schemes of 1, 2, 3, 4 stages */
    Size point[6];
    double at[6];
} Axis;

#define POINT(L, D, T, N)                       \
    {                                           \
        "growth", L, D, 4 * (D), (D) / 32, T, N \
    }
static const Axis axes[] = {
    {"layers",
     "transformer",
     {POINT(1, 128, 64, 4096), POINT(2, 128, 64, 4096), POINT(4, 128, 64, 4096),
      POINT(8, 128, 64, 4096)},
     {1, 2, 4, 8}},
    {"width",
     "transformer",
     {POINT(1, 64, 64, 4096), POINT(1, 128, 64, 4096), POINT(1, 256, 64, 4096),
      POINT(1, 512, 64, 4096)},
     {64, 128, 256, 512}},
    {"sequence",
     "transformer",
     {POINT(1, 128, 32, 4096), POINT(1, 128, 64, 4096), POINT(1, 128, 128, 4096),
      POINT(1, 128, 256, 4096), POINT(1, 128, 512, 4096), POINT(1, 128, 1024, 4096)},
     {32, 64, 128, 256, 512, 1024}},
    {"batch",
     "transformer",
     {POINT(1, 128, 64, 512), POINT(1, 128, 64, 1024), POINT(1, 128, 64, 2048),
      POINT(1, 128, 64, 4096), POINT(1, 128, 64, 8192)},
     {512, 1024, 2048, 4096, 8192}},
    {"stages",
     "transformer,heun-layer,rk3-layer,rk4-layer",
     {POINT(1, 128, 64, 4096), POINT(1, 128, 64, 4096), POINT(1, 128, 64, 4096),
      POINT(1, 128, 64, 4096)},
     {1, 2, 3, 4}},
};

/* before: seconds and place of the point before it on the axis, NAN at the first. power: of the time
 * of a step, locally; 1 is linear. */
static int put_point(Bench *b, const Axis *a, size_t i, double before[2])
{
    TRY(measure(b));
    Figures f = figures(b);
    double seconds = b->step.q[1];
    double power = log(seconds / before[0]) / log(a->at[i] / before[1]);
    Report *t = b->out->table;
    report_text(t, a->axis);
    report_fixed(t, a->at[i], 0);
    report_fixed(t, f.tokens, 0);
    report_fixed(t, 1e3 * seconds, 1);
    report_fixed(t, 1e-6 * f.flop, 2);
    report_fixed(t, 1e-9 * f.flop * f.tokens, 1);
    report_fixed(t, power, 2);
    char at[32];
    report_number(a->at[i], at);
    bench_value(b->out, at, f.tokens, "tokens/s", "growth.%s.%s", b->backend->name, a->axis);
    bench_value(b->out, at, f.flop, "FLOP/token", "growth.%s.%s.flop", b->backend->name, a->axis);
    before[0] = seconds, before[1] = a->at[i];
    return stream(b);
}

static int run_axis(const Options *o, const Backend *backend, const Axis *a, BenchReport *out)
{
    Zoo z;
    Table **scheme = NULL;
    size_t count = 0;
    double before[2] = {NAN, NAN};
    TRY(zoo_open(&z));
    int code = zoo_list(&z, a->scheme, "euler", &scheme, &count);
    Bench *b = memory_new(1, sizeof *b);
    if (!b && code == 0) code = ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < 6 && a->at[i] > 0; i++) {
        *b = (Bench){.o = o, .backend = backend, .size = &a->point[i], .out = out};
        b->scheme = scheme[count > 1 ? i : 0];
        code = put_point(b, a, i, before);
        close_bench(b);
    }
    memory_free(b);
    for (size_t i = 0; i < count; i++) table_free(scheme[i]);
    memory_free(scheme);
    zoo_close(&z);
    return code;
}

static int run_growth(const Options *o, const Backend *b, BenchReport *out)
{
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++) TRY(run_axis(o, b, &axes[i], out));
    return 0;
}

/* ---- all -------------------------------------------------------------------------------------------- */

static void put_machine(BenchReport *out, const char *when)
{
    double load;
    if (getloadavg(&load, 1) == 1) bench_value(out, when, load, "processes", "machine.load");
}

static int fill(const Options *o, BenchReport *out)
{
    const Backend *b;
    TRY(network_backend(o, &b));
    bench_value(out, b->kernel, omp_get_max_threads(), "threads", "machine.threads");
    put_machine(out, "before");
    TRY(options_flag(o, "growth") ? run_growth(o, b, out) : run_blocks(o, b, out));
    put_machine(out, "after");
    progress_clear();
    return 0;
}

static int show(const Options *o, const BenchReport *out)
{
    const char *dir = options_text(o, "out");
    if (dir) {
        TRY(output_directory(dir));
        TRY(output_report(out->values, REPORT_CSV, dir, "bench-train.csv"));
        TRY(output_report(out->table, REPORT_MARKDOWN, dir, "bench-train.md"));
    }
    if (options_flag(o, "csv")) return report_stream(out->values, stdout);
    return report_write(out->table, REPORT_PLAIN, stdout);
}

int bench_train(const Options *o)
{
    BenchReport out = {0};
    int growth = options_flag(o, "growth");
    int code = report_new(4, value_columns, &out.values);
    if (code == 0)
        code = growth ? report_new(GROWTH, growth_columns, &out.table)
                      : report_new(TABLE, table_columns, &out.table);
    if (code == 0) code = fill(o, &out);
    if (code == 0) code = show(o, &out);
    report_free(out.values);
    report_free(out.table);
    return code;
}
