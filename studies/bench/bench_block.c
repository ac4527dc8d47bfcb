/* bench_block.c: training steps of a block beside what bounds them and a peer (bench_block.h).
 *
 * In turns: some steps, the floor (the matrix products that a step was seen to ask for, alone, through
 * the same backend: bench_products.c), the GEMM rate (one large square product), the peer's script in
 * all its ways. One thread is timed by its processor time, several and a device by the clock. On a
 * device the floor is recorded and replayed as the step is, memory is what the device has in use, and a
 * product of cuda-bf16 includes the rounding of its factors.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "bridge/bridge.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "studies/bench/bench_block.h"
#include "studies/tools/progress.h"

enum { VOCABULARY = 10000, PIECE = 3, LEAST_ROUNDS = 3 };
enum { DEVICE_GEMM = 16384 }; /* rows of the square product on a device */
static const double dropout = 0.1;

/* What PyTorch's peer calls the same block. */
static const struct {
    const char *scheme, *peer;
} peers[] = {{"transformer", "standard"},
             {"macaron", "macaron2"},
             {"heun-layer", "rk2"},
             {"rk4-layer", "rk4"}};

/* Ways to run the peer; the first of a device is as it stands. best: bench_script's. */
enum { WAYS = BLOCK_WAYS, WAY_ARGS = 2 };
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

static void add(BlockSample *s, double x)
{
    if (s->n < BLOCK_SAMPLES) s->x[s->n++] = x;
}

static void close_sample(BlockSample *s)
{
    s->q[0] = s->q[1] = s->q[2] = NAN;
    if (s->n) bench_quartiles(s->n, s->x, s->q);
}

/* Does the backend run on a device, behind us? */
static int on_device(const Block *b)
{
    return b->backend->record != NULL;
}

size_t block_square(const Block *b)
{
    return on_device(b) ? DEVICE_GEMM : BENCH_GEMM;
}

/* Words come with probability about 1/(1 + rank), as those of a text do. */
static int new_batch(const BlockSize *s, uint64_t stream, Batch *b)
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

static int new_model(Block *b)
{
    const BlockSize *s = b->size;
    BridgeOptions bridge = {.layers = s->layers, .width = s->D, .inner = s->M};
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

static int open_block(Block *b)
{
    for (int i = 0; i < BLOCK_BATCHES; i++) TRY(new_batch(b->size, (uint64_t)i, &b->batch[i]));
    b->square = b->backend->alloc(3 * block_square(b) * block_square(b));
    return b->square ? new_model(b) : ERR_MEMORY;
}

void block_close(Block *b)
{
    for (int i = 0; i < BLOCK_BATCHES; i++) {
        memory_free(b->batch[i].input);
        memory_free(b->batch[i].start);
    }
    if (b->products) b->backend->recording_free(b->products);
    b->backend->release(b->square);
    model_free(b->m);
    products_free();
}

static int train_step(Block *b)
{
    static const AdamConfig adam = {1e-3, 0.9, 0.98, 1e-9, 1, 0};
    uint64_t step = ++b->steps;
    return model_step(b->m, &b->batch[step % BLOCK_BATCHES], &adam, step);
}

/* ---- peak memory: Linux's own account, set back before each model ------------------------------------ */

static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f);
    fclose(f);
}

static double device_bytes(void)
{
    size_t free_bytes, all;
    backend_room(&free_bytes, &all);
    return (double)(all - free_bytes);
}

static double peak_bytes(const Block *b)
{
    if (on_device(b)) return device_bytes();
    char line[256];
    double kib = NAN;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1) break;
    if (f) fclose(f);
    return 1024 * kib;
}

/* ---- contenders ------------------------------------------------------------------------------------- */

static int by_clock(const Block *b)
{
    return on_device(b) || omp_get_max_threads() > 1;
}

static double now(const Block *b)
{
    return bench_now(by_clock(b));
}

/* Where a backend runs behind us, a piece is timed as a whole: nothing waits between its steps. */
static int time_steps(Block *b)
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

static int run_products(Block *b)
{
    if (b->products)
        TRY(b->backend->replay(b->products));
    else
        products_again();
    return b->backend->wait();
}

static int time_floor(Block *b)
{
    for (int i = 0; i < PIECE; i++) {
        double start = now(b);
        TRY(run_products(b));
        add(&b->floor, now(b) - start);
    }
    return options_flag(b->o, "products") ? products_apart(by_clock(b)) : 0;
}

static int time_gemm(Block *b)
{
    size_t n = block_square(b);
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

static const char *peer_name(const Block *b)
{
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(peers[i].scheme, b->scheme->name) == 0) return peers[i].peer;
    return NULL;
}

/* 0 with the peer's tokens per second, run as way w. */
static int run_peer(const Block *b, const char *name, int w, double *tokens_per_s)
{
    const BlockSize *s = b->size;
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
static int time_peer(Block *b)
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

static int (*const contenders[])(Block *b) = {time_steps, time_floor, time_gemm, time_peer};
enum { CONTENDERS = sizeof contenders / sizeof *contenders };

/* The floor as one recording, where that is to be had. */
static int record_products(Block *b)
{
    if (!on_device(b)) return 0;
    TRY(run_products(b)); /* finds scratch memory */
    TRY(b->backend->record());
    products_again();
    return b->backend->recorded(&b->products);
}

/* The first step finds all memory; the second is noted, and on a device recorded; the third runs it. */
static int warm(Block *b)
{
    Step s;
    reset_peak();
    TRY(open_block(b));
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
int block_measure(Block *b)
{
    double start = progress_now(), budget = options_real(b->o, "budget");
    size_t most = options_size(b->o, "repeats");
    TRY(warm(b));
    for (size_t r = 0; r < most; r++) {
        if (r >= LEAST_ROUNDS && progress_now() - start > budget) break;
        progress_show("%s at %s, round %zu", b->scheme->name, b->size->name, r + 1);
        for (int i = 0; i < CONTENDERS; i++) TRY(contenders[i](b));
    }
    BlockSample *all[] = {&b->step, &b->floor, &b->gemm};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) close_sample(all[i]);
    for (int w = 0; w < WAYS; w++) close_sample(&b->peer[w]);
    return 0;
}

const char *block_way(int w)
{
    return ways[w].name;
}

int block_plain_way(const Block *b)
{
    int w = 0;
    while (ways[w].device != on_device(b)) w++;
    return w;
}
