/* bench_block.c: times training steps of a network beside their bounds and a peer.
 *
 * These take turns: some steps; the floor (the matrix products that a step asks for, alone, through the same backend:
 * bench_products.c); and the peer's script in all its ways. On a device, where the script takes long, the peer comes last. One thread is timed by its processor time, several threads and a
 * device by the clock. On a device the floor is recorded and replayed as the step is, memory is what the device has in
 * use, and a product of cuda-bf16 includes the rounding of its factors.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bridge/bridge.h"
#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "studies/bench/bench.h"
#include "studies/base/progress.h"

enum { PIECE = 3, LEAST_ROUNDS = 3, NOTED = 2 };
static const double dropout = 0.1, smoothing = 0.1; /* smoothing: for pairs */

/* The names of the same blocks in PyTorch's peer. */
static const struct {
    const char *scheme, *peer;
} peers[] = {{"transformer", "standard"},
             {"macaron", "macaron2"},
             {"heun-layer", "rk2"},
             {"rk4-layer", "rk4"}};

/* Makes a batch. Words have probability about 1/(1 + rank), as those of a text do. */
static int new_batch(const BlockSize *s, uint64_t stream, Batch *b)
{
    *b = (Batch){.N = s->N, .S = s->N / s->T, .longest = s->T};
    b->input = memory_new(3 * s->N, sizeof *b->input);
    b->start = memory_new(b->S + 1, sizeof *b->start);
    if (!b->input || !b->start) return ERR_MEMORY;
    b->target = b->input + s->N, b->position = b->target + s->N;
    for (size_t i = 0; i < 2 * s->N; i++)
        b->input[i] = (int32_t)pow((double)s->V, random_uniform(1, stream, i));
    for (size_t i = 0; i < s->N; i++) b->position[i] = (int32_t)(i % s->T);
    for (size_t i = 0; i <= b->S; i++) b->start[i] = i * s->T;
    return 0;
}

/* Makes batches of pairs, and a file of their lengths for a peer. */
static int new_pairs(Block *b)
{
    double source = 0, target = 0;
    TRY(lengths_batches(b->size->V, b->size->N, BLOCK_BATCHES, b->batch));
    for (int i = 0; i < BLOCK_BATCHES; i++) {
        source += (double)b->batch[i].source.N;
        target += (double)b->batch[i].N;
    }
    b->sources = source / target;
    return options_text(b->o, "peer") ? lengths_write(b->batch, BLOCK_BATCHES, &b->lengths) : 0;
}

static int new_model(Block *b)
{
    const BlockSize *s = b->size;
    BridgeOptions bridge = {
        .layers = s->layers, .width = s->D, .inner = s->M, .norm = b->encoder ? b->norm : NORM_PRE};
    ModelConfig config = {.vocab = s->V,
                          .width = s->D,
                          .heads = s->H,
                          .positions = POSITIONS_SINUSOID,
                          .dropout = dropout,
                          .smoothing = b->encoder ? smoothing : 0,
                          .max_tokens = s->N,
                          .max_length = s->T,
                          .max_source = s->N,
                          .max_source_length = s->T,
                          .seed = 1};
    Plan *plan;
    TRY(bridge_plan_pair(b->encoder, b->scheme, &bridge, &plan));
    b->macs = plan_macs(plan, s->D, s->T) + (double)s->D * (double)s->V;
    return model_new(&config, plan, products_of(b->backend), 1, &b->m);
}

static int block_open(Block *b)
{
    if (b->encoder) TRY(new_pairs(b));
    for (int i = 0; i < BLOCK_BATCHES && !b->encoder; i++)
        TRY(new_batch(b->size, (uint64_t)i, &b->batch[i]));
    return new_model(b);
}

static void block_close(Block *b)
{
    for (int i = 0; i < BLOCK_BATCHES; i++) lengths_free(&b->batch[i]);
    if (b->lengths) unlink(b->lengths);
    memory_free(b->lengths);
    if (b->products) b->backend->recording_free(b->products);
    model_free(b->m);
    products_free();
}

/* Returns the batch of the last step. */
static const Batch *batch_of(const Block *b)
{
    return &b->batch[b->steps % BLOCK_BATCHES];
}

int block_step(Block *b)
{
    static const AdamConfig adam = {1e-3, 0.9, 0.98, 1e-9, 1, 0};
    b->steps++;
    return model_step(b->m, batch_of(b), &adam, b->steps);
}

/* ---- peak memory: Linux's own count, reset before each model ----------------------------------------- */

static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (!f) return;
    fputs("5", f);
    fclose(f);
}

static double peak_bytes(const Block *b)
{
    size_t free_bytes, all;
    char line[256];
    if (bench_on_device(b->backend)) {
        backend_room(&free_bytes, &all);
        return (double)(all - free_bytes);
    }
    double kib = NAN;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lf", &kib) == 1) break;
    if (f) fclose(f);
    return 1024 * kib;
}

/* ---- contenders ------------------------------------------------------------------------------------- */

/* Times steps. On an asynchronous backend a piece is timed as a whole, without waits between its steps. */
static int time_steps(Block *b)
{
    int together = bench_on_device(b->backend) ? PIECE : 1;
    Step s;
    for (int i = 0; i < PIECE; i += together) {
        double start = bench_time(b->backend), tokens = 0;
        for (int k = 0; k < together; k++) {
            TRY(block_step(b));
            tokens += (double)batch_of(b)->N;
        }
        TRY(model_tally(b->m, &s));
        sample_add(&b->step, (bench_time(b->backend) - start) / tokens);
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
        double start = bench_time(b->backend);
        TRY(run_products(b));
        sample_add(&b->floor, (bench_time(b->backend) - start) / (double)b->batch[NOTED].N);
    }
    return 0;
}

static void run_peer(Block *b, const char *name)
{
    const BlockSize *s = b->size;
    int device = bench_on_device(b->backend);
    const ScriptNumber number[] = {{"--d", s->D},
                                   {"--ffn", s->M},
                                   {"--heads", s->H},
                                   {"--layers", s->layers},
                                   {"--steps", device       ? 50
                                               : b->encoder ? BLOCK_BATCHES
                                                            : 5},
                                   {"--warmup", device ? 10 : 2},
                                   {"--vocab", s->V},
                                   {"--threads", (size_t)omp_get_max_threads()},
                                   {b->encoder ? NULL : "--seq", s->T},
                                   {"--batch", s->N / s->T},
                                   {0}};
    const char *of_pairs[] = {
        "--pairs",   b->lengths, "--norm", b->norm == NORM_POST ? "post" : "pre",
        "--dropout", "0.1",      NULL};
    const char *of_text[] = {
        "--scheme", name, "--dropout", "0.1", "--attention-dropout", "0.1", "--activation-dropout",
        "0.1",      NULL};
    script_run(b->out, b->o, b->backend, b->encoder ? of_pairs : of_text, number, "tokens_per_s",
               &b->peer);
}

/* Times the peer. PyTorch's own encoder and decoder have only the transformer's layers. */
static void time_peer(Block *b)
{
    const char *name = NULL;
    for (size_t i = 0; i < sizeof peers / sizeof *peers; i++)
        if (strcmp(peers[i].scheme, b->scheme->name) == 0) name = peers[i].peer;
    if (b->encoder)
        name = strcmp(b->encoder->name, "transformer") == 0 &&
                       strcmp(b->scheme->name, "transformer-decoder") == 0
                   ? "transformer"
                   : NULL;
    if (options_text(b->o, "peer") && name) run_peer(b, name);
}

/* Makes the floor one recording, on a device. */
static int record_products(Block *b)
{
    if (!bench_on_device(b->backend)) return 0;
    TRY(run_products(b)); /* allocates scratch memory */
    TRY(b->backend->record());
    products_again();
    return b->backend->recorded(&b->products);
}

/* Warms up. The first step allocates all memory; the second is noted, and on a device recorded; the third runs it. */
static int warm(Block *b)
{
    Step s;
    reset_peak();
    TRY(block_open(b));
    TRY(block_step(b));
    products_begin();
    int code = block_step(b); /* on batch NOTED */
    if (code == 0) code = products_end();
    if (code == 0) code = block_step(b);
    if (code == 0) code = model_tally(b->m, &s);
    if (code == 0) code = record_products(b);
    b->flops = products_flops() / (double)b->batch[NOTED].N;
    b->memory = (double)model_bytes(b->m);
    b->peak = peak_bytes(b);
    return code;
}

/* Runs rounds until the budget is spent, the first LEAST_ROUNDS in any case. */
/* Times the network of b until --budget is spent. Caller: block_close, also after a failure. */
static int measure(Block *b)
{
    double start = clock_now(), budget = options_real(b->o, "budget");
    size_t most = options_size(b->o, "repeats");
    TRY(warm(b));
    for (size_t r = 0; r < most; r++) {
        if (r >= LEAST_ROUNDS && clock_now() - start > budget) break;
        progress_show("%s at %s, round %zu", b->scheme->name, b->size->name, r + 1);
        TRY(time_steps(b));
        TRY(time_floor(b));
        if (!bench_on_device(b->backend)) time_peer(b);
    }
    sample_close(&b->step);
    sample_close(&b->floor);
    return 0;
}

static BlockFigures figures_of(const Block *b)
{
    BlockFigures f = {.backend = b->backend->name,
                      .size = b->size->name,
                      .scheme = b->scheme->name,
                      .tokens = 1 / b->step.q[1],
                      .low = 1 / b->step.q[2],
                      .high = 1 / b->step.q[0],
                      .source = b->encoder ? b->sources / b->step.q[1] : NAN,
                      .flop = b->encoder ? NAN : 6 * b->macs,
                      .floor = 1 / b->floor.q[1],
                      .floor_flop = b->flops,
                      .share = b->floor.q[1] / b->step.q[1],
                      .peak = b->peak,
                      .peer = script_plain(&b->peer, b->backend),
                      .way = ""};
    f.best = script_best(&b->peer, &f.way);
    f.to_peer = f.tokens / f.peer;
    f.to_best = f.tokens / f.best;
    return f;
}

/* Adds the rows of the network alone. */
static void put_block(const Block *b, const char *prefix, const char *variant)
{
    BlockFigures f = figures_of(b);
    const char *unit = b->encoder ? "target tokens/s" : "tokens/s";
    const BenchFigure figure[] = {{"tokens_per_s", unit, f.tokens},
                                  {"tokens_per_s.low", unit, f.low},
                                  {"tokens_per_s.high", unit, f.high},
                                  {"source_tokens_per_s", "source tokens/s", f.source},
                                  {"flop_per_token", "FLOP", f.flop},
                                  {"floor", unit, f.floor},
                                  {"floor.flop_per_token", "FLOP", f.floor_flop},
                                  {"floor.share", "of floor", f.share},
                                  {"memory", "bytes", b->memory},
                                  {"memory.peak", "bytes", f.peak}};
    bench_figures(b->out, variant, prefix, sizeof figure / sizeof *figure, figure);
}

/* Adds the peer's rows, and the table's row. */
static void put_peer(const Block *b, const char *prefix, const char *variant)
{
    BlockFigures f = figures_of(b);
    f.scheme = variant;
    if (!isnan(f.to_best))
        bench_value(b->out, variant, f.to_best, "times", "%s.peer.best.ratio", prefix);
    script_rows(b->out, variant, prefix, b->encoder ? "target tokens/s" : "tokens/s", f.tokens,
                &b->peer);
    sheet_row(b->out->table, &f);
}

int block_time(const Block *like, const char *what, const char *variant)
{
    SCOPED(memory_drop) Block *b = memory_new(1, sizeof *b);
    char prefix[64];
    if (!b) return ERR_MEMORY;
    *b = *like;
    snprintf(prefix, sizeof prefix, "%s.%s.%s", what, b->backend->name, b->size->name);
    int code = measure(b);
    if (code == 0) put_block(b, prefix, variant);
    if (code == 0 && b->also) code = b->also(b);
    if (code == 0) code = bench_stream(b->o, b->out);
    if (code == 0) {
        if (bench_on_device(b->backend)) time_peer(b);
        script_close(&b->peer);
        put_peer(b, prefix, variant);
        code = bench_stream(b->o, b->out);
    }
    block_close(b);
    return code;
}
