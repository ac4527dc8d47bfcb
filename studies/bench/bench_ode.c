/* bench_ode.c: `trotter bench ode`: times steppers side by side on one field, beside the field alone.
 *
 * Two cheap systems have 10,000 coordinates, one whose particles do not see each other and one where
 * they do; they are bound by the cache they stream through. `attention` is bound by its matrix products.
 * Every library steps F + G of the same system through the same function (peers_field). Steppers are
 * compared per counted evaluation of F + G: GSL's rk4 takes a whole step and two half ones.
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
    const char *what, *variant; /* those with the same `what` are compared */
    const Peer *peer;
    const char *method; /* the peer's name for it */
} Entry;

static const Entry entries[] = {
    {"euler", "trotter", &bench_trotter, "euler"},
    {"euler", "boost", NULL, "euler"},
    {"rk4", "trotter", &bench_trotter, "rk4"},
    {"rk4", "gsl", &bench_gsl, "rk4"},
    {"rk4", "boost", NULL, "rk4"},
    {"rk4", "boost-classic", NULL, "rk4-classic"},
    {"strang-marchuk:exact", "trotter", &bench_trotter, "strang-marchuk:exact"},
    {"field", "F+G", &bench_field, ""},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

/* An entry on a system, and its measurements. */
typedef struct {
    const Entry *entry;
    const Peer *peer;
    void *run;
    size_t count; /* steps in a piece */
    double calls; /* evaluations of F + G in a step; 0: none */
    Sample time;  /* seconds a step */
} Contender;

typedef struct {
    const Options *o;
    const Load *load;
    const Peer *boost;
    PeerProblem problem;
    size_t count;
    Contender *c; /* (count) */
    BenchReport *out;
} Bench;

/* ---- timing --------------------------------------------------------------------------------------- */

/* On a machine with other work the processor time of one thread is the time that it would take alone; only the clock on
 * the wall sees threads that wait for each other. */
static double now(const Bench *b)
{
    return bench_now(b->load->threads && omp_get_max_threads() > 1);
}

static int piece(const Bench *b, Contender *c, double *seconds)
{
    double start = now(b);
    TRY(c->peer->steps(c->run, c->count));
    *seconds = now(b) - start;
    return 0;
}

/* Counts the calls of one step (the field counts its calls; a peer that calls something else reports them itself), and
 * doubles the steps of a piece until it is long enough, which also warms up. */
static int warm(const Bench *b, Contender *c)
{
    double seconds, least = 1e-3 * options_real(b->o, "piece") / 2;
    PeerField *f = b->problem.arg;
    size_t before = f->calls;
    progress_show("warming %s %s", c->entry->what, c->peer->name);
    c->run = c->peer->open(c->entry->method, &b->problem);
    if (!c->run) return error_set(ERR_MISUSE, "%s cannot run %s", c->peer->name, c->entry->method);
    TRY(c->peer->steps(c->run, 1));
    c->calls = (double)(f->calls - before);
    if (c->peer->tell) c->peer->tell(c->run, &c->calls);
    for (c->count = 1;; c->count *= 2) {
        TRY(piece(b, c, &seconds));
        if (!(seconds < least)) return 0;
    }
}

/* Times one piece of round r, unless the budget is spent. */
static int turn(const Bench *b, Contender *c, size_t r)
{
    double seconds, spent = 0;
    for (size_t k = 0; k < c->time.n; k++) spent += c->time.x[k] * (double)c->count;
    if (r >= 3 && spent > options_real(b->o, "budget")) return 0;
    TRY(piece(b, c, &seconds));
    sample_add(&c->time, seconds / (double)c->count);
    return 0;
}

/* Times all contenders. Rounds go forth and back, so that none always follows the one that empties the caches. */
static int time_all(Bench *b)
{
    size_t repeats = options_size(b->o, "repeats"), n = b->count;
    for (size_t i = 0; i < n; i++) TRY(warm(b, &b->c[i]));
    for (size_t r = 0; r < repeats; r++) {
        progress_show("round %zu of %zu", r + 1, repeats);
        for (size_t i = 0; i < n; i++) TRY(turn(b, &b->c[r % 2 ? n - 1 - i : i], r));
    }
    for (size_t i = 0; i < n; i++) sample_close(&b->c[i].time);
    return 0;
}

/* ---- rows ----------------------------------------------------------------------------------------- */

/* The measurements of a contender; undefined values where it has none. */
typedef struct {
    const char *system, *stepper, *by;
    double rate, rate_low, rate_high; /* steps a second */
    double calls, evaluation, ratio;  /* evaluations a step; microseconds each; over Trotter's */
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
                                       {0}};

static const Contender *find(const Bench *b, const char *what)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->c[i].entry->what, what) == 0) return &b->c[i];
    return NULL;
}

/* Returns the seconds per evaluation of F + G; NaN where a step has none. */
static double per_call(const Contender *c)
{
    return c->calls > 0 ? c->time.q[1] / c->calls : NAN;
}

static void put_contender(const Bench *b, const Contender *c)
{
    char name[64], prefix[64];
    const char *what = c->entry->what;
    const Contender *own = find(b, what); /* Trotter's */
    snprintf(name, sizeof name, "%s %zux%zu", b->load->system, b->load->n, b->load->d);
    snprintf(prefix, sizeof prefix, "%s.%s", b->load->system, what);
    Speed s = {.system = name,
               .stepper = what,
               .by = c->entry->variant,
               .rate = 1 / c->time.q[1],
               .rate_low = 1 / c->time.q[2],
               .rate_high = 1 / c->time.q[0],
               .calls = c->calls > 0 ? c->calls : NAN,
               .evaluation = 1e6 * per_call(c),
               .ratio = own == c ? NAN : per_call(c) / per_call(own)};
    const BenchFigure figure[] = {
        {"rate", "steps/s", s.rate},           {"rate_low", "steps/s", s.rate_low},
        {"rate_high", "steps/s", s.rate_high}, {"calls", "evaluations/step", s.calls},
        {"evaluation", "us", s.evaluation},    {"ratio", "x", s.ratio}};
    bench_figures(b->out, s.by, prefix, sizeof figure / sizeof *figure, figure);
    sheet_row(b->out->table, &s);
}

/* ---- all ------------------------------------------------------------------------------------------ */

static int run_system(Bench *b, const System *s)
{
    PeerField field = {s, memory_new(s->n * s->d, sizeof(double)), 0};
    b->problem = (PeerProblem){s->n * s->d, s->initial, b->load->h, peers_field, &field};
    b->c = memory_new(ENTRIES, sizeof *b->c);
    int code = field.scratch && b->c ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && i < ENTRIES; i++) {
        const Peer *peer = entries[i].peer ? entries[i].peer : b->boost;
        if (peer) b->c[b->count++] = (Contender){.entry = &entries[i], .peer = peer};
    }
    if (code == 0) code = time_all(b);
    for (size_t i = 0; i < b->count; i++) {
        if (code == 0) put_contender(b, &b->c[i]);
        if (b->c[i].run) b->c[i].peer->close(b->c[i].run);
    }
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
    Bench b = {.o = o, .load = load, .boost = boost, .out = out};
    TRY(system_new(load->system, load->n, load->d, 1, &s));
    int code = run_system(&b, s);
    system_free(s);
    return code;
}

static int fill(const Options *o, BenchReport *out)
{
    const PeerLibrary *library = peers_library(PEERS_BOOST);
    const Peer *boost = library ? &library->peer : NULL;
    int chosen = options_choice(o, "system"); /* all, or a load */
    if (!boost)
        notice_warn("Boost's rows are skipped: %s (`make peers` builds them)", error_text());
    bench_value(out, "openmp", omp_get_max_threads(), "threads", "machine.threads");
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (chosen == 0 || chosen == (int)i + 1) TRY(run_load(&loads[i], o, boost, out));
    return 0;
}

int bench_ode(const Options *o)
{
    TRY(bench_tell(o, "ode", speed_columns, fill));
    if (!options_flag(o, "csv"))
        printf("\nmedians, from the lower to the upper quartile; ratio: time per evaluation of "
               "F + G against Trotter's\n");
    return 0;
}
