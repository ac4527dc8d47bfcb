/* bench_pairs.c: `trotter bench pairs`: times training steps of an encoder and a decoder (bench_block.h) on pairs of
 * sentences as long as those of Multi30k (bench_lengths.c).
 *
 * Tokens are those of the target, <eos> included. The source has about as many, which are shown apart. The floor leaves
 * attention's products out.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/bench/bench.h"
#include "studies/bench/bench_block.h"
#include "studies/model/network.h"
#include "studies/tools/progress.h"

/* 128 is the tiny Transformer of Wu et al. 2021 for Multi30k. 512 has two layers a side: the products of a step with
 * six are some 0.9 TFLOP, 5 s at the 180 GFLOP/s of two cores, as computed, not timed. tiny is for tests. */
const BlockSize pair_sizes[PAIR_SIZES] = {{"128", 4, 128, 256, 4, 9710, LENGTHS_LONGEST, 4096},
                                          {"512", 2, 512, 1024, 8, 9710, LENGTHS_LONGEST, 4096},
                                          {"tiny", 1, 16, 32, 2, 100, LENGTHS_LONGEST, 256}};

static const Option size_options[] = {
    {"size", OPTION_CHOICE, "both", "both|128|512|tiny",
     "128: inner 256, 4 heads, 4 + 4 layers; 512: inner 1024, 8 heads, 2 + 2 layers; tiny: width 16, inner 32, "
     "2 heads, 1 + 1 layers, for tests; both: 128 and 512 (translate: 128 alone)"},
    {0},
};
const OptionGroup bench_size_group = {"Encoder and decoder", 1, size_options};

static const Option pairs_options[] = {
    {"stacks", OPTION_TEXT, "transformer/transformer,macaron/macaron,rk4-layer/transformer",
     "E/D,...", "schemes of encoder and decoder"},
    {"norm", OPTION_CHOICE, "pre", "pre|post",
     "place of the norms, as in `trotter train --help norm`"},
    {0},
};
const OptionGroup bench_pairs_group = {"Training on pairs", 1, pairs_options};

/* ---- rows ------------------------------------------------------------------------------------------- */

typedef struct {
    const char *backend, *size, *stacks;
    double tokens, low, high; /* target tokens per second */
    double source;            /* source tokens per second */
    double floor, share;      /* target tokens/s of the products alone; the step's share of that */
    double flop, gemm;        /* FLOP of the floor a target token; FLOP/s of a large product */
    double peak;              /* bytes */
    double peer, best;        /* the peer as it stands, and in its fastest way */
    double to_peer, to_best;
} Figures;

static const Column figure_columns[] = {
    COLUMN(Figures, backend),
    COLUMN(Figures, size),
    COLUMN(Figures, stacks),
    FIELD(Figures, "target tokens/s", tokens, .form = SHEET_FIXED),
    FIELD(Figures, "from", low, .form = SHEET_FIXED),
    FIELD(Figures, "to", high, .form = SHEET_FIXED),
    FIELD(Figures, "source tokens/s", source, .form = SHEET_FIXED),
    COLUMN(Figures, floor, .form = SHEET_FIXED),
    COLUMN(Figures, share, .form = SHEET_FIXED, .digits = 3),
    FIELD(Figures, "MFLOP/token", flop, .scale = 1e-6, .form = SHEET_FIXED, .digits = 2),
    FIELD(Figures, "MiB", peak, .scale = 0x1p-20, .form = SHEET_FIXED),
    COLUMN(Figures, peer, .form = SHEET_FIXED),
    FIELD(Figures, "ratio", to_peer, .form = SHEET_FIXED, .digits = 2),
    COLUMN(Figures, best, .form = SHEET_FIXED),
    FIELD(Figures, "ratio", to_best, .form = SHEET_FIXED, .digits = 2),
    {0}};

static void put_block(const Block *b, const char *stacks)
{
    double n = (double)block_square(b);
    Figures f = {.backend = b->backend->name,
                 .size = b->size->name,
                 .stacks = stacks,
                 .tokens = 1 / b->step.q[1],
                 .low = 1 / b->step.q[2],
                 .high = 1 / b->step.q[0],
                 .source = b->sources / b->step.q[1],
                 .floor = 1 / b->floor.q[1],
                 .share = b->floor.q[1] / b->step.q[1],
                 .flop = b->flops,
                 .gemm = 2 * n * n * n / b->gemm.q[1],
                 .peak = b->peak,
                 .peer = script_plain(&b->peer, b->backend),
                 .best = script_best(&b->peer, NULL)};
    f.to_peer = f.tokens / f.peer;
    f.to_best = f.tokens / f.best;
    const BenchFigure figure[] = {{"tokens_per_s", "target tokens/s", f.tokens},
                                  {"tokens_per_s.low", "target tokens/s", f.low},
                                  {"tokens_per_s.high", "target tokens/s", f.high},
                                  {"source_tokens_per_s", "source tokens/s", f.source},
                                  {"floor", "target tokens/s", f.floor},
                                  {"floor.flop_per_token", "FLOP", f.flop},
                                  {"floor.share", "of floor", f.share},
                                  {"gemm", "GFLOP/s", 1e-9 * f.gemm},
                                  {"memory", "bytes", b->memory},
                                  {"memory.peak", "bytes", f.peak},
                                  {"peer.best.ratio", "times", f.to_best}};
    char prefix[64];
    snprintf(prefix, sizeof prefix, "pairs.%s.%s", f.backend, f.size);
    bench_figures(b->out, stacks, prefix, sizeof figure / sizeof *figure, figure);
    script_rows(b->out, stacks, prefix, "target tokens/s", f.tokens, &b->peer);
    sheet_row(b->out->table, &f);
}

/* ---- all -------------------------------------------------------------------------------------------- */

typedef struct {
    char *name; /* "E/D" */
    Table *encoder, *decoder;
} Stack;
enum { STACKS = 16 };

static int run_stack(const Options *o, const Backend *backend, const Stack *s,
                     const BlockSize *size, BenchReport *out)
{
    Block *b = memory_new(1, sizeof *b);
    if (!b) return ERR_MEMORY;
    *b = (Block){.o = o,
                 .backend = backend,
                 .scheme = s->decoder,
                 .encoder = s->encoder,
                 .size = size,
                 .norm = options_choice(o, "norm"),
                 .out = out};
    int code = block_measure(b);
    if (code == 0) code = block_peer(b);
    if (code == 0) {
        char prefix[128];
        put_block(b, s->name);
        snprintf(prefix, sizeof prefix, "pairs.%s.%s.%s", backend->name, size->name, s->name);
        if (options_flag(o, "products")) block_products(b, prefix);
        code = bench_stream(o, out);
    }
    block_close(b);
    memory_free(b);
    return code;
}

/* Finds the schemes of "E/D"; text is cut at the '/' meanwhile. */
static int open_stack(const Zoo *z, char *text, Stack *s)
{
    char *slash = strchr(text, '/');
    if (!slash)
        return error_set(ERR_INPUT, "--stacks %s: expected ENCODER/DECODER, as macaron/transformer",
                         text);
    s->name = text;
    *slash = '\0';
    int code = zoo_find(z, text, "euler", &s->encoder);
    *slash = '/';
    if (code == 0) code = zoo_find_decoder(z, slash + 1, "euler", &s->decoder);
    return code;
}

/* Finds every scheme before any timing. */
static int open_stacks(const Zoo *z, char *list, Stack stack[STACKS], size_t *count)
{
    for (char *rest = list, *text; (text = strsep(&rest, ",")); ++*count) {
        if (*count == STACKS) return error_set(ERR_INPUT, "--stacks: expected at most %d", STACKS);
        TRY(open_stack(z, text, &stack[*count]));
    }
    return 0;
}

static int fill(const Options *o, BenchReport *out)
{
    const Backend *b;
    Zoo z;
    Stack stack[STACKS] = {{0}};
    size_t count = 0;
    int size = options_choice(o, "size"); /* both, or one */
    TRY(network_backend(o, &b));
    bench_value(out, b->kernel, omp_get_max_threads(), "threads", "machine.threads");
    bench_load(out, "before");
    TRY(zoo_open(&z));
    char *list = memory_string(options_text(o, "stacks"));
    int code = list ? open_stacks(&z, list, stack, &count) : ERR_MEMORY;
    for (int i = 0; i < PAIR_SIZES; i++)
        for (size_t k = 0; k < count && code == 0 && (size ? size == i + 1 : i < PAIR_BOTH); k++)
            code = run_stack(o, b, &stack[k], &pair_sizes[i], out);
    for (size_t k = 0; k < STACKS; k++) {
        table_free(stack[k].encoder);
        table_free(stack[k].decoder);
    }
    memory_free(list);
    zoo_close(&z);
    bench_load(out, "after");
    progress_clear();
    return code;
}

int bench_pairs(const Options *o)
{
    return bench_tell(o, "pairs", figure_columns, fill);
}
