/* bench_train.c: `trotter bench train`: times blocks side by side (bench_block.c), and
 * the growth of their cost.
 *
 * Model operations are those of forward and backward, 3 x 2 x multiply-adds, with attention's scores
 * counted dense; the floor leaves attention's products out.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "studies/bench/bench.h"
#include "studies/tools/command.h"
#include "studies/model/network.h"
#include "studies/tools/select.h"

enum { VOCABULARY = 10000 };
const BlockSize block_sizes[BLOCK_SIZES] = {{"512", 1, 512, 2048, 8, VOCABULARY, 64, 4096},
                                            {"128", 1, 128, 512, 4, VOCABULARY, 64, 4096},
                                            {"1024", 12, 1024, 4096, 16, VOCABULARY, 256, 16384}};

static const Option options[] = {
    {"scheme", OPTION_TEXT, "transformer,macaron,heun-layer,rk4-layer", "A,B,...",
     "schemes of the layers"},
    SELECT_FILE,
    {"width", OPTION_CHOICE, "both", "both|512|128|1024",
     "512: inner 2048, 8 heads; 128: inner 512, 4 heads; each of one layer, with 64 sequences of 64 tokens; 1024: "
     "inner 4096, 16 heads, 12 layers, 64 sequences of 256 tokens; both: 512 and 128"},
    {0},
};
const OptionGroup bench_train_group = {"Training", 1, options};

static const Option peer_options[] = {
    {"peer", OPTION_TEXT, NULL, "FILE", "PyTorch script to time beside; called as described above"},
    {"peer-limit", OPTION_SIZE, "300", "S", "seconds after which a run of the script is stopped", 1,
     1e6},
    {0}};
const OptionGroup bench_peer_group = {"Peer", 1, peer_options};

/* ---- rows ------------------------------------------------------------------------------------------- */

static const Column figure_columns[] = {
    COLUMN(BlockFigures, backend),
    FIELD(BlockFigures, "width", size),
    COLUMN(BlockFigures, scheme),
    FIELD(BlockFigures, "tokens/s", tokens, .form = SHEET_FIXED),
    FIELD(BlockFigures, "from", low, .form = SHEET_FIXED),
    FIELD(BlockFigures, "to", high, .form = SHEET_FIXED),
    FIELD(BlockFigures, "MFLOP/token", flop, .scale = 1e-6, .form = SHEET_FIXED, .digits = 2),
    FIELD(BlockFigures, "of GEMM", of_gemm, .form = SHEET_FIXED, .digits = 2),
    COLUMN(BlockFigures, floor, .form = SHEET_FIXED),
    COLUMN(BlockFigures, share, .form = SHEET_FIXED, .digits = 3),
    FIELD(BlockFigures, "MiB", peak, .scale = 0x1p-20, .form = SHEET_FIXED),
    COLUMN(BlockFigures, peer, .form = SHEET_FIXED),
    FIELD(BlockFigures, "ratio", to_peer, .form = SHEET_FIXED, .digits = 2),
    COLUMN(BlockFigures, best, .form = SHEET_FIXED),
    FIELD(BlockFigures, "ratio", to_best, .form = SHEET_FIXED, .digits = 2),
    FIELD(BlockFigures, "best is", way),
    {0}};

static int run_blocks(const Options *o, const Backend *b, BenchReport *out)
{
    Selection s;
    int width = options_choice(o, "width"), code = 0;
    TRY(select_open(o, "euler", &s));
    for (int i = 0; i < BLOCK_SIZES; i++)
        for (size_t k = 0; k < s.count && code == 0 && (width ? width == i + 1 : i < BLOCK_BOTH);
             k++)
            code = block_time(&(Block){.o = o,
                                       .backend = b,
                                       .scheme = s.scheme[k],
                                       .size = &block_sizes[i],
                                       .out = out},
                              "train", s.scheme[k]->name);
    select_close(&s);
    return code;
}

/* ---- growth ----------------------------------------------------------------------------------------- */

/* An axis: one number of the size 128 changes, and what depends on it, or the scheme. */
enum { POINTS = 6 };
typedef struct {
    const char *axis, *scheme; /* stages: a list of schemes of 1, 2, 3, 4 stages */
    size_t member;             /* offset of the number in a BlockSize */
    size_t at[POINTS];
} Axis;

static const char stages[] = "transformer,heun-layer,rk3-layer,rk4-layer";
static const Axis axes[] = {
    {"layers", "transformer", offsetof(BlockSize, layers), {1, 2, 4, 8}},
    {"width", "transformer", offsetof(BlockSize, D), {64, 128, 256, 512}},
    {"sequence", "transformer", offsetof(BlockSize, T), {32, 64, 128, 256, 512, 1024}},
    {"batch", "transformer", offsetof(BlockSize, N), {512, 1024, 2048, 4096, 8192}},
    {"stages", stages, 0, {1, 2, 3, 4}},
};

typedef struct {
    const char *axis;
    double at, seconds, power; /* local power of a step's time; 1: linear */
    BlockFigures f;
} Growth;

static const Column growth_columns[] = {
    COLUMN(Growth, axis),
    COLUMN(Growth, at, .form = SHEET_FIXED),
    FIELD(Growth, "tokens/s", f.tokens, .form = SHEET_FIXED),
    FIELD(Growth, "ms/step", seconds, .scale = 1e3, .form = SHEET_FIXED, .digits = 1),
    FIELD(Growth, "MFLOP/token", f.flop, .scale = 1e-6, .form = SHEET_FIXED, .digits = 2),
    FIELD(Growth, "GFLOP/s", f.rate, .scale = 1e-9, .form = SHEET_FIXED, .digits = 1),
    COLUMN(Growth, power, .form = SHEET_FIXED, .digits = 2),
    {0}};

/* Adds a point. before: seconds and place of the point before it on the axis, NAN at the first. */
static int put_point(Block *b, const Axis *a, double place, double before[2])
{
    TRY(block_measure(b));
    script_close(&b->peer);
    double seconds = b->step.q[1] * (double)b->size->N;
    Growth g = {a->axis, place, seconds, bench_power(before, seconds, place), block_figures(b)};
    sheet_row(b->out->table, &g);
    char at[32];
    sheet_number(place, at);
    bench_value(b->out, at, g.f.tokens, "tokens/s", "growth.%s.%s", b->backend->name, a->axis);
    bench_value(b->out, at, g.f.flop, "FLOP/token", "growth.%s.%s.flop", b->backend->name, a->axis);
    return bench_stream(b->o, b->out);
}

static int run_axis(const Options *o, const Backend *backend, const Axis *a, BenchReport *out)
{
    Zoo z;
    Table **scheme = NULL;
    size_t count = 0;
    double before[2] = {NAN, NAN};
    TRY(zoo_open(&z));
    int code = zoo_list(&z, a->scheme, "euler", &scheme, &count);
    Block *b = memory_new(1, sizeof *b);
    if (!b && code == 0) code = ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < POINTS && a->at[i] > 0; i++) {
        BlockSize size = block_sizes[1];
        if (count == 1) memcpy((char *)&size + a->member, &a->at[i], sizeof a->at[i]);
        size.name = "growth", size.M = 4 * size.D, size.H = size.D / 32;
        *b = (Block){.o = o, .backend = backend, .size = &size, .out = out};
        b->scheme = scheme[count > 1 ? i : 0];
        code = put_point(b, a, (double)a->at[i], before);
        block_close(b);
    }
    memory_free(b);
    for (size_t i = 0; i < count; i++) table_free(scheme[i]);
    memory_free(scheme);
    zoo_close(&z);
    return code;
}

/* ---- all -------------------------------------------------------------------------------------------- */

static int fill(const Options *o, BenchReport *out)
{
    const Backend *b;
    TRY(network_backend(o, &b));
    bench_value(out, b->kernel, omp_get_max_threads(), "threads", "machine.threads");
    if (!options_flag(o, "growth")) TRY(run_blocks(o, b, out));
    for (size_t i = 0; options_flag(o, "growth") && i < sizeof axes / sizeof *axes; i++)
        TRY(run_axis(o, b, &axes[i], out));
    return 0;
}

int bench_train(const Options *o)
{
    return bench_tell(o, "train", options_flag(o, "growth") ? growth_columns : figure_columns,
                      fill);
}
