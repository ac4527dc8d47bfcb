/* bench_train.c: `trotter bench train`: times blocks side by side (bench_block.c);
 * `trotter bench pairs`: the same of an encoder and a decoder, on pairs of sentences as long as those of Multi30k
 * (bench_lengths.c).
 *
 * Model operations are those of forward and backward, 3 x 2 x multiply-adds, with attention's scores counted dense; the
 * floor leaves attention's products out. Tokens of pairs are those of the target, <eos> included; the source has about
 * as many, which are shown apart.
 */
#include <math.h>
#include <omp.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/bench/bench.h"
#include "studies/base/output.h"
#include "studies/base/command.h"
#include "studies/model/network.h"
#include "studies/base/select.h"

enum { VOCABULARY = 10000 };
/* The language models of `trotter bench train`. The first two are the default. */
enum { BLOCK_SIZES = 5 };
static const BlockSize block_sizes[BLOCK_SIZES] = {
    {"512", 1, 512, 2048, 8, VOCABULARY, 64, 4096},
    {"128", 1, 128, 512, 4, VOCABULARY, 64, 4096},
    {"1024", 12, 1024, 4096, 16, VOCABULARY, 256, 16384},
    {"6x512", 6, 512, 2048, 8, VOCABULARY, 64, 16384},
    {"tiny", 1, 32, 64, 2, 100, 16, 64}};

const OptionGroup bench_train_group = {
    "Training", 1,
    OPTIONS(
        {"scheme", OPTION_TEXT, "transformer,macaron,heun-layer,rk4-layer", "A,B,...",
         "schemes of the layers"},
        SELECT_FILE,
        {"width", OPTION_CHOICE, "both", "both|512|128|1024|6x512|tiny",
         "512: inner 2048, 8 heads; 128: inner 512, 4 heads; each of one layer, with 64 sequences of 64 tokens; 1024: "
         "inner 4096, 16 heads, 12 layers, 64 sequences of 256 tokens; 6x512: 512 with 6 layers and 256 sequences; tiny: inner 64, 2 heads, 4 sequences of 16 tokens, for tests; both: 512 and 128"},
        {"launches", OPTION_FLAG, NULL, NULL,
         "on a device: time each launch of a step too, and write them to DIR/launches.csv of --out DIR"})};

/* 128 is the tiny Transformer of Wu et al. 2021 for Multi30k. 512 has two layers a side: the products of a step with
 * six are some 0.9 TFLOP, 5 s at the 180 GFLOP/s of two cores, as computed, not timed. tiny is for tests. */
const BlockSize pair_sizes[PAIR_SIZES] = {{"128", 4, 128, 256, 4, 9710, LENGTHS_LONGEST, 4096},
                                          {"512", 2, 512, 1024, 8, 9710, LENGTHS_LONGEST, 4096},
                                          {"tiny", 1, 16, 32, 2, 100, LENGTHS_LONGEST, 256}};

const OptionGroup bench_size_group = {
    "Encoder and decoder", 1,
    OPTIONS(
        {"size", OPTION_CHOICE, "both", "both|128|512|tiny",
         "128: inner 256, 4 heads, 4 + 4 layers; 512: inner 1024, 8 heads, 2 + 2 layers; tiny: width 16, inner 32, "
         "2 heads, 1 + 1 layers, for tests; both: 128 and 512 (translate: 128 alone)"})};

const OptionGroup bench_pairs_group = {
    "Training on pairs", 1,
    OPTIONS({"stacks", OPTION_TEXT, "transformer/transformer,macaron/macaron,rk4-layer/transformer",
             "E/D,...", "schemes of encoder and decoder"},
            {"norm", OPTION_CHOICE, "pre", "pre|post",
             "place of the norms, as in `trotter train --help norm`"})};

const OptionGroup bench_peer_group = {
    "Peer", 1,
    OPTIONS({"peer", OPTION_TEXT, NULL, "FILE",
             "PyTorch script to time beside; called as described above"},
            {"peer-ways", OPTION_SIZE, "6", "N",
             "on a device: its fastest ways to run, as many as work", 1, 6},
            {"peer-limit", OPTION_SIZE, "300", "S",
             "seconds after which a run of the script is stopped", 1, 1e6})};

/* ---- rows ------------------------------------------------------------------------------------------- */

/* Columns that one side or two have not are left out. */
static const Column figure_columns[] = {
    COLUMN(BlockFigures, backend),
    COLUMN(BlockFigures, size),
    COLUMN(BlockFigures, scheme),
    FIELD(BlockFigures, "tokens/s", tokens, .form = SHEET_FIXED),
    FIELD(BlockFigures, "from", low, .form = SHEET_FIXED),
    FIELD(BlockFigures, "to", high, .form = SHEET_FIXED),
    FIELD(BlockFigures, "source tokens/s", source, .form = SHEET_FIXED, .sparse = 1),
    FIELD(BlockFigures, "MFLOP/token", flop, .scale = 1e-6, .form = SHEET_FIXED, .digits = 2,
          .sparse = 1),
    COLUMN(BlockFigures, floor, .form = SHEET_FIXED),
    COLUMN(BlockFigures, share, .form = SHEET_FIXED, .digits = 3),
    FIELD(BlockFigures, "its MFLOP/token", floor_flop, .scale = 1e-6, .form = SHEET_FIXED,
          .digits = 2),
    FIELD(BlockFigures, "MiB", peak, .scale = 0x1p-20, .form = SHEET_FIXED),
    COLUMN(BlockFigures, peer, .form = SHEET_FIXED),
    FIELD(BlockFigures, "ratio", to_peer, .form = SHEET_FIXED, .digits = 2),
    COLUMN(BlockFigures, best, .form = SHEET_FIXED),
    FIELD(BlockFigures, "ratio", to_best, .form = SHEET_FIXED, .digits = 2),
    FIELD(BlockFigures, "best is", way),
    {0}};

/* Is size i chosen? choice: of --width or --size, 0: both. */
static int is_chosen(int choice, int i)
{
    enum { BOTH = 2 };
    return choice ? choice == i + 1 : i < BOTH;
}

static int run_blocks(const Options *o, const Backend *b, Sheet *launches, BenchReport *out)
{
    SCOPED(select_close) Selection s = {0};
    int width = options_choice(o, "width");
    TRY(select_open(o, "euler", &s));
    for (int i = 0; i < BLOCK_SIZES; i++)
        for (size_t k = 0; k < s.count && is_chosen(width, i); k++)
            TRY(block_time(&(Block){.o = o,
                                    .backend = b,
                                    .scheme = s.scheme[k],
                                    .size = &block_sizes[i],
                                    .also = launches ? launches_measure : NULL,
                                    .launches = launches,
                                    .out = out},
                           "train", s.scheme[k]->name));
    return 0;
}

/* ---- pairs ---------------------------------------------------------------------------------------- */

typedef struct {
    char *name; /* "E/D" */
    Table *encoder, *decoder;
} Stack;
enum { STACKS = 16 };

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

static int fill_pairs(const Options *o, BenchReport *out)
{
    const Backend *b;
    SCOPED(zoo_close) Zoo z = {0};
    Stack stack[STACKS] = {{0}};
    size_t count = 0;
    int size = options_choice(o, "size");
    TRY(network_backend(o, &b));
    bench_value(out, b->kernel, omp_get_max_threads(), "threads", "machine.threads");
    TRY(zoo_open(&z));
    SCOPED(memory_drop) char *list = memory_string(options_text(o, "stacks"));
    int code = list ? open_stacks(&z, list, stack, &count) : ERR_MEMORY;
    for (int i = 0; i < PAIR_SIZES; i++)
        for (size_t k = 0; k < count && code == 0 && is_chosen(size, i); k++)
            code = block_time(&(Block){.o = o,
                                       .backend = b,
                                       .scheme = stack[k].decoder,
                                       .encoder = stack[k].encoder,
                                       .size = &pair_sizes[i],
                                       .norm = options_choice(o, "norm"),
                                       .out = out},
                              "pairs", stack[k].name);
    for (size_t k = 0; k < STACKS; k++) {
        table_free(stack[k].encoder);
        table_free(stack[k].decoder);
    }
    return code;
}

/* ---- all -------------------------------------------------------------------------------------------- */

/* Runs the blocks with their launches, which are written with the rest of --out. */
static int run_launches(const Options *o, const Backend *b, BenchReport *out)
{
    const char *dir = options_text(o, "out");
    Sheet *launches = NULL;
    if (!bench_on_device(b))
        return error_set(ERR_INPUT,
                         "--launches times what a device is asked for: add --device cuda");
    if (!dir) return error_set(ERR_INPUT, "--launches writes DIR/launches.csv: add --out DIR");
    int code = sheet_new(launch_columns, &launches);
    if (code == 0) code = run_blocks(o, b, launches, out);
    if (code == 0) code = output_directory(dir);
    if (code == 0) code = output_sheet(launches, SHEET_CSV, dir, "launches.csv");
    sheet_free(launches);
    return code;
}

static int fill(const Options *o, BenchReport *out)
{
    const Backend *b;
    TRY(network_backend(o, &b));
    bench_value(out, b->kernel, omp_get_max_threads(), "threads", "machine.threads");
    return options_flag(o, "launches") ? run_launches(o, b, out) : run_blocks(o, b, NULL, out);
}

int bench_train(const Options *o)
{
    return bench_tell(o, "train", figure_columns, fill);
}

int bench_pairs(const Options *o)
{
    return bench_tell(o, "pairs", figure_columns, fill_pairs);
}
