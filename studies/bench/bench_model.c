/* bench_model.c: `trotter bench model`: estimates how long a training step should take on a
 * device, from its operations, and compares with the time that it takes.
 *
 * The step runs on a backend that counts and does nothing (kernels/counts.h), so that no number of it is typed here:
 * kernels, products, bytes, operations. A call takes `launch` for each of its kernels and products, plus the longer of
 * its bytes by the bandwidth and its operations by the rate; a step takes its calls and a gap behind each launch. That
 * ignores caches and the order of calls. Tiles of 128 x 128 in waves over 132 multiprocessors, in place of
 * one rate of products, came no nearer to what was measured (root mean square .100 in place of .096), so they are left out.
 * A bandwidth of their own for calls whose bytes fit an L2 of 50 MB did neither: .0818 in place of .0822 over these steps and
 * floors, .230 in place of .118 for a width that was not fitted.
 *
 * `hopper` has the numbers that fit what an H200 did best: 24 steps and 24 floors of four schemes, two widths and three
 * precisions (studies/results/bench/train-*-h200.csv of 2026-11-26), by least squares of logarithms. All these steps and two of an
 * H100, which were not fitted, are within 12 % (by --recorded with that day's code). Bandwidth and rates are so what our
 * kernels reach, and the launch has a kernel's start and end in it. Sheets: NVIDIA, "H100 Tensor Core GPU", "H200
 * Tensor Core GPU", "A100 80GB" (SXM), dense products; no sheet has the launch, 2 us is assumed.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/bench/bench.h"
#include "studies/base/csv.h"
#include "studies/base/output.h"
#include "studies/base/select.h"

const OptionGroup bench_model_group = {
    "Model", 1,
    OPTIONS(
        {"layers", OPTION_SIZE, "0", "N", "number of layers; 0: as --width has", 0, 1000},
        {"tokens", OPTION_SIZE, "0", "N",
         "tokens of a batch, in whole sequences; 0: as --width has", 0, 1 << 24},
        {"measure", OPTION_FLAG, NULL, NULL,
         "time each call of the step on the device too; with --out DIR they are in DIR/launches.csv"},
        {"recorded", OPTION_TEXT, NULL, "FILE",
         "compare with the steps of this CSV of bench train, in place of measuring"},
        {"within", OPTION_REAL, "15", "PERCENT",
         "with --measure or --recorded: fail where the model is further from a step's time; 0: never",
         0, 1e6},
        {"gpu", OPTION_CHOICE, "hopper", "hopper|h100|h200|a100",
         "numbers of a device: fitted on recorded steps (hopper), or a data sheet's"},
        {"fit", OPTION_TEXT, NULL, "FILE", "fit them to the times of a launches.csv"},
        {"bandwidth", OPTION_REAL, "0", "GB/S", "bandwidth of the device's memory; 0: as --gpu has",
         0, 1e9},
        {"product-rate", OPTION_REAL, "0", "TFLOP/S", "rate of matrix products; 0: as --gpu has", 0,
         1e9},
        {"vector-rate", OPTION_REAL, "0", "TFLOP/S",
         "rate of f32 operations elsewhere; 0: as --gpu has", 0, 1e9},
        {"launch", OPTION_REAL, "-1", "US",
         "microseconds of a kernel's start and end; -1: as --gpu has", -1, 1e6},
        {"gap", OPTION_REAL, "0", "US", "microseconds between two kernels", 0, 1e6})};

/* GB/s; TFLOP/s of products, by precision, and elsewhere; microseconds. */
enum { PRECISIONS = 3 };
static const char *const backends[PRECISIONS] = {"cuda-f32", "cuda-tf32", "cuda-bf16"};
static const struct {
    double bandwidth, products[PRECISIONS], vector, launch;
} gpus[] = {{2590, {43.6, 248, 673}, 67, 4.57},
            {3350, {67, 495, 989}, 67, 2},
            {4800, {67, 495, 989}, 67, 2},
            {2039, {19.5, 156, 312}, 19.5, 2}};

typedef struct {
    const char *scheme, *part;
    Count n;
    double share, measured,
        ratio; /* seconds; the model's time by the measured; NaN: not measured */
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
    COLUMN(Part, ratio, .form = SHEET_FIXED, .digits = 2),
    {0}};

/* What all schemes of a bench share. */
typedef struct {
    const Options *o;
    const char *backend;
    Speeds speeds;
    double gap;
    Csv recorded;
    Sheet *launches;
    BenchReport *out;
} Bench;

/* One step: what is counted and what it took; seconds (calls.count), NaN where they are not measured. */
typedef struct {
    Block counted, timed;
    CountedList calls;
    Count count[COUNTS];
    size_t sends;
    double step, seconds[COUNTED_MOST];
} Measured;

static int set_speeds(Bench *m)
{
    const Options *o = m->o;
    int g = options_choice(o, "gpu"), p = 0;
    const char *fit = options_text(o, "fit");
    while (strcmp(backends[p], m->backend) != 0) p++;
    m->gap = 0;
    m->speeds = (Speeds){1e9 * gpus[g].bandwidth, 1e12 * gpus[g].products[p], 1e12 * gpus[g].vector,
                         1e-6 * gpus[g].launch};
    if (fit) TRY(launches_fit(fit, m->backend, &m->speeds, &m->gap));
    if (options_real(o, "bandwidth") > 0) m->speeds.bandwidth = 1e9 * options_real(o, "bandwidth");
    if (options_real(o, "product-rate") > 0)
        m->speeds.products = 1e12 * options_real(o, "product-rate");
    if (options_real(o, "vector-rate") > 0)
        m->speeds.vector = 1e12 * options_real(o, "vector-rate");
    if (options_real(o, "launch") >= 0) m->speeds.launch = 1e-6 * options_real(o, "launch");
    if (options_real(o, "gap") > 0) m->gap = 1e-6 * options_real(o, "gap");
    return 0;
}

static void put_speeds(const Bench *m)
{
    const Speeds *s = &m->speeds;
    const BenchFigure figure[] = {{"bandwidth", "bytes/s", s->bandwidth},
                                  {"products", "FLOP/s", s->products},
                                  {"vector", "FLOP/s", s->vector},
                                  {"launch", "s", s->launch},
                                  {"gap", "s", m->gap}};
    char prefix[96];
    snprintf(prefix, sizeof prefix, "model.%s.numbers", m->backend);
    bench_figures(m->out, options_text(m->o, "gpu"), prefix, sizeof figure / sizeof *figure,
                  figure);
    if (!options_flag(m->o, "csv"))
        printf("%s by %.0f GB/s, products at %.0f TFLOP/s, %.2f us a launch, gaps of %.2f us\n",
               m->backend, 1e-9 * s->bandwidth, 1e-12 * s->products, 1e6 * s->launch, 1e6 * m->gap);
}

/* Counts one step. */
static int count_step(const Bench *m, Measured *x)
{
    x->counted.backend = counts_backend(m->backend);
    int code = block_open(&x->counted);
    counts_begin(&m->speeds, x->count, &x->sends);
    counts_list(&x->calls);
    if (code == 0) code = block_step(&x->counted);
    counts_end();
    block_close(&x->counted);
    return code;
}

/* Measures a step on the device of this machine, and its calls if asked. Without a device nothing is measured. */
static int measure(const Bench *m, Measured *x)
{
    Block *b = &x->timed;
    int calls = options_flag(m->o, "measure");
    int code = backend_find(m->backend, NULL, &b->backend);
    if (code) return calls ? code : 0;
    code = block_measure(b);
    if (code == 0) x->step = b->step.q[1] * (double)b->size->N;
    if (code == 0 && calls) code = launches_measure(b, &x->calls, x->seconds);
    block_close(b);
    return code;
}

/* Finds the seconds of the step in a CSV of bench train. */
static int find_recorded(const Bench *m, Measured *x)
{
    char what[96];
    const BlockSize *s = x->counted.size;
    snprintf(what, sizeof what, "train.%s.%s.tokens_per_s", m->backend, s->name);
    for (size_t r = 0; r < m->recorded.rows; r++) {
        double speed;
        if (strcmp(csv_named(&m->recorded, r, "what"), what) != 0 ||
            strcmp(csv_named(&m->recorded, r, "variant"), x->counted.scheme->name) != 0)
            continue;
        TRY(csv_number(&m->recorded, r, csv_column(&m->recorded, "value"), &speed));
        x->step = (double)s->N / speed;
        return 0;
    }
    return error_set(ERR_INPUT, "%s has no row %s of %s", m->recorded.file, what,
                     x->counted.scheme->name);
}

static void put_part(const Bench *m, Part *p)
{
    p->ratio = p->n.seconds / p->measured;
    const BenchFigure figure[] = {{"kernels", "launches", (double)p->n.kernels},
                                  {"products", "launches", (double)p->n.products},
                                  {"bytes", "bytes", p->n.bytes},
                                  {"flop", "FLOP", p->n.flops},
                                  {"time", "s", p->n.seconds},
                                  {"measured", "s", p->measured},
                                  {"ratio", "times", p->ratio}};
    char prefix[96];
    snprintf(prefix, sizeof prefix, "model.%s.%s", m->backend, p->scheme);
    bench_figures(m->out, p->part, prefix, sizeof figure / sizeof *figure, figure);
    sheet_row(m->out->table, p);
}

/* Adds rows of launches.csv. Gaps are what the step takes beyond its calls. */
static void put_calls(const Bench *m, const Measured *x, double launches, double gaps)
{
    const Block *b = &x->counted;
    LaunchRow r = {.backend = m->backend,
                   .scheme = b->scheme->name,
                   .size = b->size->name,
                   .layers = (double)b->size->layers};
    for (size_t i = 0; i < x->calls.count && i < COUNTED_MOST; i++) {
        const CountedCall *c = &x->calls.call[i];
        r.call = c->call, r.kind = count_names[c->kind];
        r.kernels = (double)c->kernels, r.products = (double)c->products;
        r.copies = (double)c->copies;
        r.m = (double)c->m, r.n = (double)c->n, r.k = (double)c->k;
        r.bytes = c->bytes, r.flops = c->flops, r.tensor = c->tensor;
        r.model = counts_seconds(c, &m->speeds), r.measured = x->seconds[i];
        sheet_row(m->launches, &r);
    }
    r.call = r.kind = LAUNCH_GAPS;
    r.kernels = launches, r.model = m->gap * launches, r.measured = gaps;
    r.products = r.copies = r.m = r.n = r.k = r.bytes = r.flops = r.tensor = 0;
    sheet_row(m->launches, &r);
}

/* Adds the rows of each kind of calls, of the gaps between them, and of the step. */
static void put_parts(const Bench *m, const Measured *x, Part *sum)
{
    double of[COUNTS] = {0}, all = 0;
    for (size_t i = 0; i < x->calls.count && i < COUNTED_MOST; i++)
        of[x->calls.call[i].kind] += x->seconds[i];
    for (int k = 0; k < COUNTS; k++) {
        sum->n.kernels += x->count[k].kernels;
        sum->n.products += x->count[k].products;
        sum->n.bytes += x->count[k].bytes;
        sum->n.flops += x->count[k].flops;
        sum->n.seconds += x->count[k].seconds;
        all += of[k];
    }
    size_t launches = sum->n.kernels + sum->n.products;
    Part gaps = {.scheme = sum->scheme, .part = LAUNCH_GAPS, .measured = x->step - all};
    gaps.n.seconds = m->gap * (double)launches;
    sum->n.seconds += gaps.n.seconds;
    for (int k = 0; k < COUNTS; k++)
        if (x->count[k].calls)
            put_part(m, &(Part){sum->scheme, count_names[k], x->count[k],
                                x->count[k].seconds / sum->n.seconds, of[k], NAN});
    gaps.share = gaps.n.seconds / sum->n.seconds;
    if (m->gap > 0 || !isnan(gaps.measured)) put_part(m, &gaps);
    sum->share = 1, sum->measured = x->step;
    put_part(m, sum);
    put_calls(m, x, (double)launches, gaps.measured);
}

/* Says what the model is worth. The bench fails at its end where it is too far from what was measured. */
static int judge(const Bench *m, const Measured *x, const Part *sum)
{
    double within = options_real(m->o, "within") / 100;
    int strict = options_flag(m->o, "measure") || options_text(m->o, "recorded");
    const BlockSize *s = x->counted.size;
    if (!isnan(x->step) && strict && within > 0 && !(fabs(sum->ratio - 1) <= within))
        bench_failed(m->out,
                     error_set(ERR_CHECK, "%s, %s, width %s: the model is %.2f times the step",
                               sum->scheme, m->backend, s->name, sum->ratio));
    if (isnan(x->step))
        bench_value(m->out, "step", NAN, "not measured", "model.%s.%s.measured", m->backend,
                    sum->scheme);
    bench_value(m->out, "step", (double)x->sends, "copies", "model.%s.%s.copies", m->backend,
                sum->scheme);
    if (options_flag(m->o, "csv")) return bench_stream(m->o, m->out);
    printf("%s, width %s: %.2f ms a step by the model, %.0f tokens/s; ", sum->scheme, s->name,
           1e3 * sum->n.seconds, (double)s->N / sum->n.seconds);
    if (isnan(x->step))
        printf("not measured: no device here\n");
    else
        printf("%.2f ms measured: %.2f times, %s %.0f %%\n", 1e3 * x->step, sum->ratio,
               fabs(sum->ratio - 1) <= within ? "within" : "not within", 100 * within);
    return 0;
}

static int run_scheme(const Bench *m, const Table *scheme, const BlockSize *size)
{
    Part sum = {.scheme = scheme->name, .part = "step"};
    SCOPED(memory_drop) Measured *x = memory_new(1, sizeof *x);
    if (!x) return ERR_MEMORY;
    x->counted = x->timed = (Block){.o = m->o, .scheme = scheme, .size = size, .out = m->out};
    x->step = NAN;
    for (size_t i = 0; i < COUNTED_MOST; i++) x->seconds[i] = NAN;
    TRY(count_step(m, x));
    TRY(m->recorded.rows ? find_recorded(m, x) : measure(m, x));
    put_parts(m, x, &sum);
    return judge(m, x, &sum);
}

static int run_schemes(const Bench *m)
{
    SCOPED(select_close) Selection s = {0};
    int width = options_choice(m->o, "width");
    TRY(select_open(m->o, "euler", &s));
    for (int i = 0; i < BLOCK_SIZES; i++) {
        BlockSize size = block_sizes[i];
        size_t layers = options_size(m->o, "layers"), tokens = options_size(m->o, "tokens");
        if (layers) size.layers = layers;
        if (tokens) size.N = tokens < size.T ? size.T : tokens / size.T * size.T;
        for (size_t k = 0; k < s.count && bench_chosen(width, i); k++)
            TRY(run_scheme(m, s.scheme[k], &size));
    }
    return 0;
}

static int fill(const Options *o, BenchReport *out)
{
    char backend[32];
    const char *recorded = options_text(o, "recorded"), *dir = options_text(o, "out");
    Bench m = {.o = o, .backend = backend, .out = out};
    snprintf(backend, sizeof backend, "cuda-%s", options_text(o, "precision"));
    if (!counts_backend(backend))
        return error_set(ERR_INPUT, "--precision %s: a device has f32, tf32, bf16",
                         options_text(o, "precision"));
    if (recorded && (options_size(o, "layers") || options_size(o, "tokens")))
        return error_set(ERR_INPUT,
                         "--recorded has the sizes of --width, without --layers, --tokens");
    TRY(set_speeds(&m));
    if (recorded) TRY(csv_open(&m.recorded, recorded));
    int code = sheet_new(launch_columns, &m.launches);
    put_speeds(&m);
    if (code == 0) code = run_schemes(&m);
    if (code == 0 && dir) code = output_directory(dir);
    if (code == 0 && dir) code = output_sheet(m.launches, SHEET_CSV, dir, "launches.csv");
    sheet_free(m.launches);
    csv_close(&m.recorded);
    return code;
}

int bench_model(const Options *o)
{
    return bench_tell(o, "model", part_columns, fill);
}
