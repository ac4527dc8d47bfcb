/* bench_model.c: `trotter bench model`: estimates how long a training step should take on a
 * device, from its operations.
 *
 * The step runs on a backend that counts and does nothing (kernels/counts.h), so that no number of it is typed here:
 * kernels, products, bytes, operations. A call takes the launch time for each of its kernels and the longer of its
 * bytes by the memory's bandwidth and its operations by the rate. That ignores caches, latencies and how far kernels
 * are from either rate. It is a model, shown apart from the measurement where there is a device.
 *
 * Defaults are an H100 SXM's. Source: NVIDIA, "H100 Tensor Core GPU" data sheet: 3.35 TB/s; dense products,
 * half of the sheet's numbers with sparsity: bf16 989 TFLOP/s, tf32 495; f32 67. No data sheet has the
 * launch time; 2 us is assumed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bridge/bridge.h"
#include "kernels/counts.h"
#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/bench/bench.h"
#include "studies/tools/select.h"

static const Option options[] = {
    {"layers", OPTION_SIZE, "0", "N", "number of layers; 0: as --width has", 0, 1000},
    {"tokens", OPTION_SIZE, "0", "N", "tokens of a batch, in whole sequences; 0: as --width has", 0,
     1 << 24},
    {"bandwidth", OPTION_REAL, "3350", "GB/S", "bandwidth of the device's memory", 1e-3, 1e9},
    {"product-rate", OPTION_REAL, "0", "TFLOP/S",
     "rate of matrix products; 0: 989 in bf16, 495 in tf32, 67 in f32", 0, 1e9},
    {"vector-rate", OPTION_REAL, "67", "TFLOP/S", "rate of f32 operations elsewhere", 1e-6, 1e9},
    {"launch", OPTION_REAL, "2", "US", "microseconds from one kernel to the next", 0, 1e6},
    {0}};
const OptionGroup bench_model_group = {"Model", 1, options};

static const struct {
    const char *backend;
    double rate; /* TFLOP/s */
} rates[] = {{"cuda-f32", 67}, {"cuda-tf32", 495}, {"cuda-bf16", 989}};

typedef struct {
    const char *scheme, *part;
    Count n;
    double share, measured; /* seconds; NaN: not measured */
} Part;

static const Column part_columns[] = {
    COLUMN(Part, scheme),
    COLUMN(Part, part),
    FIELD(Part, "kernels", n.kernels),
    FIELD(Part, "products", n.products),
    FIELD(Part, "MB", n.bytes, .scale = 1e-6, .form = SHEET_FIXED, .digits = 1),
    FIELD(Part, "GFLOP", n.flops, .scale = 1e-9, .form = SHEET_FIXED, .digits = 2),
    FIELD(Part, "ms by the model", n.seconds, .scale = 1e3, .form = SHEET_FIXED, .digits = 3),
    COLUMN(Part, share, .form = SHEET_FIXED, .digits = 3),
    FIELD(Part, "ms measured", measured, .scale = 1e3, .form = SHEET_FIXED, .digits = 3),
    {0}};

static Speeds speeds_of(const Options *o, const char *backend)
{
    double rate = options_real(o, "product-rate");
    for (size_t i = 0; rate == 0 && i < sizeof rates / sizeof *rates; i++)
        if (strcmp(rates[i].backend, backend) == 0) rate = rates[i].rate;
    return (Speeds){.bandwidth = 1e9 * options_real(o, "bandwidth"),
                    .products = 1e12 * rate,
                    .vector = 1e12 * options_real(o, "vector-rate"),
                    .launch = 1e-6 * options_real(o, "launch")};
}

/* Measures the seconds of a step on the device of this machine; NaN where there is none. */
static int measure(Block *b, const char *backend, double *seconds)
{
    *seconds = NAN;
    if (backend_find(backend, NULL, &b->backend) != 0) return 0;
    int code = block_measure(b);
    if (code == 0) *seconds = b->step.q[1] * (double)b->size->N;
    block_close(b);
    return code;
}

/* Counts one step: count (COUNTS). */
static int count_step(Block *b, const char *backend, Count *count, size_t *sends)
{
    Speeds s = speeds_of(b->o, backend);
    b->backend = counts_backend(backend);
    int code = block_open(b);
    counts_begin(&s, count, sends);
    if (code == 0) code = block_step(b);
    counts_end();
    block_close(b);
    return code;
}

static void put_part(BenchReport *out, const char *backend, const Part *p)
{
    const BenchFigure figure[] = {{"kernels", "launches", (double)p->n.kernels},
                                  {"products", "launches", (double)p->n.products},
                                  {"bytes", "bytes", p->n.bytes},
                                  {"flop", "FLOP", p->n.flops},
                                  {"time", "s", p->n.seconds},
                                  {"measured", "s", p->measured}};
    char prefix[96];
    snprintf(prefix, sizeof prefix, "model.%s.%s", backend, p->scheme);
    bench_figures(out, p->part, prefix, sizeof figure / sizeof *figure, figure);
    sheet_row(out->table, p);
}

static int run_scheme(const Options *o, const char *backend, const Table *scheme,
                      const BlockSize *size, BenchReport *out)
{
    Count count[COUNTS];
    size_t sends;
    Part sum = {.scheme = scheme->name, .part = "step"};
    Block *b = memory_new(2, sizeof *b);
    if (!b) return ERR_MEMORY;
    b[0] = b[1] = (Block){.o = o, .scheme = scheme, .size = size, .out = out};
    int code = count_step(&b[0], backend, count, &sends);
    if (code == 0) code = measure(&b[1], backend, &sum.measured);
    memory_free(b);
    if (code) return code;
    for (int k = 0; k < COUNTS; k++) {
        sum.n.kernels += count[k].kernels;
        sum.n.products += count[k].products;
        sum.n.bytes += count[k].bytes;
        sum.n.flops += count[k].flops;
        sum.n.seconds += count[k].seconds;
    }
    for (int k = 0; k < COUNTS; k++)
        if (count[k].calls)
            put_part(out, backend,
                     &(Part){scheme->name, count_names[k], count[k],
                             count[k].seconds / sum.n.seconds, NAN});
    sum.share = 1;
    put_part(out, backend, &sum);
    if (isnan(sum.measured))
        bench_value(out, "step", NAN, "not measured", "model.%s.%s.measured", backend,
                    scheme->name);
    bench_value(out, "step", (double)sends, "copies", "model.%s.%s.copies", backend, scheme->name);
    if (options_flag(o, "csv")) return bench_stream(o, out);
    printf("%s, %s: %.2f ms a step by the model, %.0f tokens/s; ", scheme->name, backend,
           1e3 * sum.n.seconds, (double)size->N / sum.n.seconds);
    if (isnan(sum.measured))
        printf("not measured: no device here\n");
    else
        printf("%.2f ms measured\n", 1e3 * sum.measured);
    return 0;
}

static int fill(const Options *o, BenchReport *out)
{
    Selection s;
    char backend[32];
    int width = options_choice(o, "width"), code = 0;
    snprintf(backend, sizeof backend, "cuda-%s", options_text(o, "precision"));
    if (!counts_backend(backend))
        return error_set(ERR_INPUT, "--precision %s: a device has f32, tf32, bf16",
                         options_text(o, "precision"));
    TRY(select_open(o, "euler", &s));
    for (int i = 0; i < BLOCK_SIZES; i++) {
        BlockSize size = block_sizes[i];
        size_t layers = options_size(o, "layers"), tokens = options_size(o, "tokens");
        if (layers) size.layers = layers;
        if (tokens) size.N = tokens < size.T ? size.T : tokens / size.T * size.T;
        for (size_t k = 0; k < s.count && code == 0 && bench_chosen(width, i); k++)
            code = run_scheme(o, backend, s.scheme[k], &size, out);
    }
    select_close(&s);
    return code;
}

int bench_model(const Options *o)
{
    return bench_tell(o, "model", part_columns, fill);
}
