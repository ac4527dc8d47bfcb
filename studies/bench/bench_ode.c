/* bench_ode.c: `trotter bench ode`: times steppers side by side on one field, beside their bounds.
 *
 * Two cheap systems have 10,000 coordinates, one whose particles do not see each other and one where
 * they do; they are bound by the cache they stream through. `attention` is bound by its matrix products.
 * Every library steps F + G of the same system through the same function (peers_field). Steppers are
 * compared per counted evaluation of F + G: GSL's rk4 takes a whole step and two half ones. Bytes are
 * those that Trotter's step has to move (stepper_traffic); their share is that of a copy that streams
 * through as much memory as an rk4 step touches. The interaction's operations are 4 n^2 d of scores and
 * means and 6 n d^2 of projections; the softmax's exponentials are not counted.
 */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/bench/bench.h"
#include "studies/tools/command.h"

typedef struct {
    const char *system;
    size_t n, d;
    double h; /* flows and long runs depend on it: henon's orbits escape in time */
    int threads;
} Load;

static const Load loads[] = {{"henon", 2500, 4, 0x1p-20, 0},
                             {"fisher", 125, 80, 0x1p-5, 0},
                             {"attention", 1024, 64, 0x1p-5, 1}};

/* peer NULL: Boost's, if it is built in. Trotter's own entry comes before those compared with it. */
typedef struct {
    const char *what, *variant;
    const Peer *peer;
    const char *method;
    int threads; /* 1: only on a load with threads */
} Entry;

static const Entry entries[] = {
    {"euler", "trotter", &bench_trotter, "euler", 0},
    {"euler", "boost", NULL, "euler", 0},
    {"rk4", "trotter", &bench_trotter, "rk4", 0},
    {"rk4", "gsl", &bench_gsl, "rk4", 0},
    {"rk4", "boost", NULL, "rk4", 0},
    {"rk4", "boost-classic", NULL, "rk4-classic", 0},
    {"strang-marchuk:exact", "trotter", &bench_trotter, "strang-marchuk:exact", 0},
    {"field", "F+G", &bench_field, "H", 0},
    {"copy", "memcpy", &bench_copy, "cache", 0},
    {"interaction", "F", &bench_field, "F", 1},
    {"gemm", "openblas", &bench_gemm, "", 1},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* The measurements of a contender; undefined values where it has none. */
typedef struct {
    const char *system, *stepper, *by;
    double rate, rate_low, rate_high; /* steps a second */
    double calls, evaluation, ratio;  /* evaluations a step; microseconds each; over Trotter's */
    double moved, bandwidth, of_copy; /* bytes a step; GB a second; over that of a copy */
} Speed;

static const Column speed_columns[] = {COLUMN(Speed, system),
                                       COLUMN(Speed, stepper),
                                       COLUMN(Speed, by),
                                       FIELD(Speed, "steps/s", rate, .digits = 4),
                                       FIELD(Speed, "from", rate_low, .digits = 4),
                                       FIELD(Speed, "to", rate_high, .digits = 4),
                                       FIELD(Speed, "evals", calls, .digits = 3),
                                       FIELD(Speed, "us/eval", evaluation, .digits = 4),
                                       COLUMN(Speed, ratio, .digits = 3),
                                       FIELD(Speed, "bytes/step", moved, .digits = 7),
                                       FIELD(Speed, "GB/s", bandwidth, .digits = 3),
                                       FIELD(Speed, "of copy", of_copy, .digits = 2),
                                       {0}};

/* ---- one load ------------------------------------------------------------------------------------- */

typedef struct {
    const Load *load;
    const Peer *boost;
    size_t count;
    const char *variant[ENTRIES];
    Contender *c; /* (count) */
    BenchReport *out;
} Bench;

static void enter(Bench *b)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        const Entry *e = &entries[i];
        const Peer *peer = e->peer ? e->peer : b->boost;
        if (!peer || (e->threads && !b->load->threads)) continue;
        b->variant[b->count] = e->variant;
        b->c[b->count++] = (Contender){.what = e->what, .peer = peer, .method = e->method};
    }
}

static const Contender *find(const Bench *b, const char *what)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->c[i].what, what) == 0) return &b->c[i];
    return NULL;
}

/* Returns the seconds per evaluation of F + G; NaN where a step has none. */
static double per_call(const Contender *c)
{
    return c->calls > 0 ? c->median / c->calls : NAN;
}

static double positive(double x)
{
    return x > 0 ? x : NAN;
}

static double rate_of_bytes(const Contender *c)
{
    return positive(c->moved) / c->median;
}

static void put_contender(const Bench *b, const Contender *c, const char *variant)
{
    char name[64], prefix[64];
    double bytes = rate_of_bytes(c);
    const Contender *own = find(b, c->what); /* Trotter's */
    snprintf(name, sizeof name, "%s %zux%zu", b->load->system, b->load->n, b->load->d);
    snprintf(prefix, sizeof prefix, "%s.%s", b->load->system, c->what);
    Speed s = {.system = name,
               .stepper = c->what,
               .by = variant,
               .rate = 1 / c->median,
               .rate_low = 1 / c->high,
               .rate_high = 1 / c->low,
               .calls = positive(c->calls),
               .evaluation = 1e6 * per_call(c),
               .ratio = own == c ? NAN : per_call(c) / per_call(own),
               .moved = positive(c->moved),
               .bandwidth = bytes * 1e-9,
               .of_copy = bytes / rate_of_bytes(find(b, "copy"))};
    const BenchFigure figure[] = {
        {"rate", "steps/s", s.rate},           {"rate_low", "steps/s", s.rate_low},
        {"rate_high", "steps/s", s.rate_high}, {"calls", "evaluations/step", s.calls},
        {"evaluation", "us", s.evaluation},    {"ratio", "x", s.ratio},
        {"moved", "bytes/step", s.moved},      {"bandwidth", "GB/s", s.bandwidth},
        {"share", "of copy", s.of_copy}};
    bench_figures(b->out, variant, prefix, sizeof figure / sizeof *figure, figure);
    sheet_row(b->out->table, &s);
}

/* Compares the interaction with the machine's matrix products. */
static void put_interaction(const Bench *b)
{
    const Contender *f = find(b, "interaction"), *g = find(b, "gemm");
    double n = (double)b->load->n, d = (double)b->load->d, N = BENCH_GEMM;
    if (!f || !g) return;
    double flops = (4 * n * n * d + 6 * n * d * d) / f->median, gemm = 2 * N * N * N / g->median;
    const char *s = b->load->system;
    bench_value(b->out, "trotter", flops * 1e-9, "GFLOP/s", "%s.interaction.flops", s);
    bench_value(b->out, "openblas", gemm * 1e-9, "GFLOP/s", "%s.gemm.flops", s);
    bench_value(b->out, "trotter", flops / gemm, "of gemm", "%s.interaction.share", s);
}

static int run_system(Bench *b, const BenchPlan *plan, const System *s)
{
    PeerField field = {s, memory_new(s->n * s->d, sizeof(double)), 0};
    PeerProblem p = {s->n * s->d, s->initial, b->load->h, peers_field, &field};
    b->c = memory_new(ENTRIES, sizeof *b->c);
    int code = field.scratch && b->c ? 0 : ERR_MEMORY;
    if (code == 0) {
        enter(b);
        code = bench_run(plan, &p, b->c, b->count);
    }
    for (size_t i = 0; code == 0 && i < b->count; i++) put_contender(b, &b->c[i], b->variant[i]);
    if (code == 0) put_interaction(b);
    for (size_t i = 0; code == 0 && i < ENTRIES; i++)
        if (!entries[i].peer && !b->boost)
            bench_value(b->out, entries[i].variant, NAN, "skipped", "%s.%s.rate", b->load->system,
                        entries[i].what);
    memory_free(field.scratch);
    memory_free(b->c);
    return code;
}

static int run_load(const Load *load, const Options *o, const Peer *boost, BenchReport *out)
{
    System *s;
    Bench b = {.load = load, .boost = boost, .out = out};
    BenchPlan plan = {options_size(o, "repeats"), 1e-3 * options_real(o, "piece"),
                      options_real(o, "budget"), load->threads && omp_get_max_threads() > 1};
    TRY(system_new(load->system, load->n, load->d, 1, &s));
    int code = run_system(&b, &plan, s);
    system_free(s);
    return code;
}

/* ---- all ------------------------------------------------------------------------------------------ */

static int fill(const Options *o, BenchReport *out)
{
    const PeerLibrary *library = peers_boost();
    const Peer *boost = library ? &library->peer : NULL;
    int chosen = options_choice(o, "system"); /* all, or a load */
    if (!boost)
        notice_warn("Boost's rows are skipped: %s (`make peers` builds them)", error_text());
    bench_value(out, "openmp", omp_get_max_threads(), "threads", "machine.threads");
    bench_load(out, "before");
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (chosen == 0 || chosen == (int)i + 1) TRY(run_load(&loads[i], o, boost, out));
    bench_load(out, "after");
    return 0;
}

int bench_ode(const Options *o)
{
    if (options_flag(o, "growth")) return bench_growth(o);
    TRY(bench_tell(o, "ode", speed_columns, fill));
    if (!options_flag(o, "csv"))
        printf("\nmedians, from the lower to the upper quartile; ratio: time per evaluation of "
               "F + G against Trotter's\n");
    return 0;
}
