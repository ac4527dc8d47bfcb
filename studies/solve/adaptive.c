/* adaptive.c: runs adapt_run for every pair of a selection and every tolerance, beside GSL's,
 * Boost's and ARKODE's pairs; tables, plots.
 *
 * A step passes where e_i / (atol + rtol max(|y_n,i|, |y_n+1,i|)) has an RMS over i of 1 at most, atol = rtol = tolerance. With an estimate O(h^(q+1)) the steps go like
 * tolerance^(1/(q+1)), so the error at the end, O(h^p), goes like tolerance^(p/(q+1)): this is the expected slope. It
 * is fitted by least squares to the runs that reached the end in ten steps or more with an error well above that of
 * rounding and the reference. In shorter runs the first and the last step count too much. For our schemes the values
 * within steps are measured too.
 *
 * An explicit pair takes steps within its stability on a stiff system, whatever the tolerance: on a fine grid hundreds of
 * thousands. A run ends where it has taken as many values of coordinates as take about a second, and its pair's smaller
 * tolerances, which take no fewer, are not tried. */
#include "studies/solve/order.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/clock.h"
#include "studies/solve/peers.h"
#include "studies/base/plot/plot.h"
#include "studies/base/statistics/regression.h"
#include "studies/base/command.h"

enum { MOST_STEPS = 1000000, LEAST_STEPS = 1000, REPEATS = 3 };
enum { FEWEST = 10 };       /* fewest steps of a fitted run */
enum { TIMES = 200 };       /* number of places between steps */
enum { STIFF_MOST = 1024 }; /* most unknowns of a dense matrix */
/* Values of coordinates that a run may take beyond LEAST_STEPS. */
static const double most_values = 0x1p28;
static const double above = 10;   /* a fitted error exceeds this many floors */
static const double brief = 0.02; /* seconds; a shorter run is timed again */

typedef struct {
    const char *scheme, *system;
    double tolerance, error, within;
    AdaptRun run;
    double seconds;
    const char *outcome;
} PointRow;

const Column adaptive_columns[] = {
    COLUMN(PointRow, scheme),
    COLUMN(PointRow, system),
    COLUMN(PointRow, tolerance, .words = "absolute and relative tolerance of a step's error"),
    COLUMN(PointRow, error, .digits = 4, .words = "RMS error over coordinates at the end"),
    COLUMN(PointRow, within, .digits = 4, .sparse = 1,
           .words = "largest RMS error of the values within steps, at 200 times on the way"),
    FIELD(PointRow, "steps", run.steps, .words = "accepted steps"),
    FIELD(PointRow, "rejected", run.rejected, .words = "rejected steps"),
    FIELD(PointRow, "evals", run.evals, .words = "evaluations of F and G in all"),
    COLUMN(PointRow, seconds, .digits = 3, .words = "time of one run"),
    COLUMN(PointRow, outcome,
           .words = "done, underflow (steps below the spacing of numbers), or stopped after many "
                    "steps; smaller tolerances then have no row"),
    {0}};

typedef struct {
    const char *scheme, *system;
    int order, embedded, estimate, dense;
    double expected, slope, low, high;
    size_t points;
} SummaryRow;

const Column tolerance_columns[] = {
    COLUMN(SummaryRow, scheme),
    COLUMN(SummaryRow, system),
    COLUMN(SummaryRow, order, .words = "order p of the method that takes the steps"),
    FIELD(SummaryRow, "embedded_order", embedded,
          .words = "order of the embedded method y' - error"),
    FIELD(SummaryRow, "estimate_order", estimate,
          .words = "q, where the estimate of the error is O(h^(q+1))"),
    FIELD(SummaryRow, "dense_order", dense,
          .words = "order of the values within a step; empty where these are ends of steps"),
    COLUMN(SummaryRow, expected, .form = SHEET_FIXED, .digits = 3,
           .words = "p/(q + 1): error ~ tolerance to this power"),
    COLUMN(SummaryRow, slope, .form = SHEET_FIXED, .digits = 3, .low = "low", .high = "high",
           .words = "slope of log error over log tolerance"),
    COLUMN(SummaryRow, low, .form = SHEET_FIXED, .digits = 3),
    COLUMN(SummaryRow, high, .form = SHEET_FIXED, .digits = 3),
    COLUMN(SummaryRow, points,
           .words = "tolerances fitted: those with ten steps or more and an error above rounding"),
    {0}};

typedef struct {
    System *system;
    Network network; /* network of a trained system, else empty */
    Weighted word;   /* the field of the schemes, where that is another one */
    const System *solved;
    const Options *options;
    double t_end, agreement, norm;
    size_t count;                    /* of tolerances */
    double *exact, *y;               /* (N) */
    double at[TIMES], *way, *states; /* (TIMES, N) exact states, and a run's */
    double *tolerance, *first; /* (count) absolute and relative tolerance in one; first steps */
    double *x, *error;         /* (count) logarithms for the fit */
    size_t unfinished;         /* number of unfinished runs of our schemes */
    size_t stopped;            /* number of stopped ones, peers' too */
    Sheet *points, *summary;
    size_t series;
    const char **name; /* (series) names of the plots' lines */
} PairStudy;

/* One of our schemes, or a peer. */
typedef struct {
    const char *name;
    const Table *table; /* NULL: a peer */
    const PeerPair *peer;
    int order, embedded, estimate;
    size_t evals; /* of F, G and C in a step; 0: they vary */
} Runner;

/* ---- which schemes --------------------------------------------------------------------------------- */

static int refuse_plain(const Selection *s, const char *name)
{
    char names[800] = "";
    for (size_t i = 0; i < s->zoo.count; i++) {
        size_t n = strlen(names);
        const Table *t = s->zoo.scheme[i];
        if ((t->pair || t->orders) && n + TABLE_NAME < sizeof names)
            snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", t->name);
    }
    return error_set(ERR_INPUT,
                     "scheme %s has no estimate of its error (a line error = ...); these have: %s",
                     name, names);
}

/* Tests whether the estimate sees the error. The estimate of a scheme over L, for example, is that of L's own flow,
 * which is not that of F + G. */
static int sees_error(const Table *t, int all, int *sees)
{
    Theory theory;
    Embedded e;
    TRY(theory_search(t, CONVERGENCE_TREES, &theory));
    TRY(theory_embedded(t, CONVERGENCE_TREES, &e));
    *sees = theory.order >= e.estimate_order && e.estimate_order >= 1;
    if (*sees || all) return 0;
    if (e.estimate_order < 1)
        return error_set(
            ERR_INPUT,
            "scheme %s: the weights of its estimate do not sum to 0, so it is as large as the step, "
            "and no tolerance would be met",
            t->name);
    return error_set(
        ERR_INPUT,
        "scheme %s has an error O(h^%d) and an estimate of it O(h^%d), so no tolerance "
        "would be met",
        t->name, theory.order + 1, e.estimate_order + 1);
}

int adaptive_select(Selection *s, int all)
{
    size_t kept = 0, i = 0;
    int code = 0;
    for (; i < s->count && code == 0; i++) {
        Table *t = s->scheme[i];
        int keep = 0;
        if (t->orders)
            keep = 1;
        else if (t->pair)
            code = sees_error(t, all, &keep);
        else if (!all)
            code = refuse_plain(s, t->name);
        if (code != 0) break;
        if (keep)
            s->scheme[kept++] = t;
        else
            table_free(t);
    }
    for (; i < s->count; i++) s->scheme[kept++] = s->scheme[i]; /* the rest, after a refusal */
    s->count = kept;
    if (code != 0 || kept) return code;
    return error_set(ERR_INPUT, "expected a scheme with an estimate of its error");
}

int adaptive_tell_blind(const Table *t)
{
    char words[BLIND_WORDS];
    TRY(blind_words(t, words, sizeof words));
    if (*words) notice_warn("%s", words);
    return 0;
}

int adaptive_one_field(const Selection *s)
{
    const Table *a = s->scheme[0];
    for (size_t i = 1; i < s->count; i++) {
        const Table *b = s->scheme[i];
        int same = a->colours == b->colours;
        for (int op = 0; same && op < a->colours; op++)
            same = mpq_equal(a->weight[op], b->weight[op]);
        if (!same)
            return error_set(ERR_INPUT,
                             "%s and %s solve different fields: expected schemes of one field",
                             a->name, b->name);
    }
    return 0;
}

/* ---- runs ------------------------------------------------------------------------------------------ */

static int run_once(PairStudy *u, const Runner *r, AdaptOptions o, AdaptRun *out)
{
    o.estimate_order = r->estimate;
    if (r->table) return adapt_run(r->table, u->system, &o, u->y, out);
    return peers_adapt(r->peer, u->solved, &o, u->y, out);
}

/* Times a run. The values within steps, of order *dense, are computed in a separate run that is not timed; its steps are
 * the same. */
static int run_timed(PairStudy *u, const Runner *r, const AdaptOptions *o, AdaptRun *out,
                     double *seconds, int *dense)
{
    *seconds = INFINITY;
    for (int i = 0; i < REPEATS; i++) {
        double begun = clock_now();
        TRY(run_once(u, r, *o, out));
        double passed = clock_now() - begun;
        *seconds = fmin(*seconds, passed);
        if (passed > brief) break;
    }
    if (!r->table) return 0;
    AdaptOptions on_the_way = *o;
    AdaptRun within;
    on_the_way.times = TIMES;
    on_the_way.at = u->at;
    on_the_way.states = u->states;
    TRY(run_once(u, r, on_the_way, &within));
    *dense = within.dense;
    return 0;
}

double order_distance(size_t N, const double *x, const double *y)
{
    double sum = 0;
    for (size_t i = 0; i < N; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(sum / (double)N);
}

double order_furthest(size_t N, size_t times, const double *x, const double *y)
{
    double most = 0;
    for (size_t i = 0; i < times; i++) {
        double distance = order_distance(N, x + i * N, y + i * N);
        if (isnan(distance)) return NAN;
        most = fmax(most, distance);
    }
    return most;
}

/* Returns the most steps of a run. */
static size_t most_steps(const PairStudy *u, const Runner *r)
{
    double values = (double)(u->system->n * u->system->d * r->evals);
    return values > 0 ? (size_t)fmax(LEAST_STEPS, fmin(MOST_STEPS, most_values / values))
                      : MOST_STEPS;
}

/* Runs every tolerance of one runner. A scheme of ours writes the first steps, a peer reads them. */
static int run_all(PairStudy *u, const Runner *r)
{
    size_t fitted = 0;
    int dense = 0;
    double stopped = 0; /* the largest tolerance at which a run was */
    for (size_t i = 0; i < u->count; i++) {
        double tolerance = u->tolerance[i];
        if (tolerance < stopped) continue;
        AdaptOptions o = {.absolute = tolerance,
                          .relative = tolerance,
                          .t_end = u->t_end,
                          .first = r->table ? options_real(u->options, "h0") : u->first[i],
                          .most = most_steps(u, r)};
        PointRow row = {.scheme = r->name, .system = u->system->name, .tolerance = tolerance};
        progress_show("%s on %s at tolerance %g", r->name, u->system->name, tolerance);
        TRY(run_timed(u, r, &o, &row.run, &row.seconds, &dense));
        for (size_t k = i; r->table && k < u->count; k++) u->first[k] = row.run.first;
        int done = row.run.outcome == ADAPT_DONE;
        row.error = done ? order_distance(u->system->n * u->system->d, u->y, u->exact) : NAN;
        row.within = done && r->table
                         ? order_furthest(u->system->n * u->system->d, TIMES, u->states, u->way)
                         : NAN;
        char words[48];
        row.outcome = adapt_outcome(row.run.outcome);
        if (row.run.outcome == ADAPT_STEPS) {
            snprintf(words, sizeof words, "stopped after %zu steps", o.most);
            row.outcome = words;
            stopped = fmax(stopped, tolerance);
            u->stopped++;
        }
        u->unfinished += r->table && !done;
        sheet_row(u->points, &row);
        double floor = u->agreement + 2 * DBL_EPSILON * sqrt((double)row.run.steps) * u->norm;
        if (!(row.error > above * floor) || row.run.steps < FEWEST) continue;
        u->x[fitted] = log(tolerance);
        u->error[fitted++] = log(row.error);
    }
    SummaryRow row = {
        .scheme = r->name,
        .system = u->system->name,
        .order = r->order,
        .embedded = r->embedded,
        .estimate = r->estimate,
        .dense = dense ? dense : -1,
        .points = fitted,
        .expected = r->order < 0 || r->estimate < 0 ? NAN : (double)r->order / (r->estimate + 1)};
    Slope slope = {.estimate = NAN, .low = NAN, .high = NAN};
    Regression fit;
    if (fitted >= 3 && regression_within(u->error, u->x, fitted, 1, 1, &slope, &fit) == ERR_MEMORY)
        return ERR_MEMORY;
    row.slope = slope.estimate, row.low = slope.low, row.high = slope.high;
    sheet_row(u->summary, &row);
    u->name[u->series++] = r->name;
    return 0;
}

static int run_schemes(PairStudy *u, const Selection *s)
{
    for (size_t i = 0; i < s->count; i++) {
        Theory theory;
        Embedded e;
        TRY(theory_search(s->scheme[i], CONVERGENCE_TREES, &theory));
        TRY(theory_embedded(s->scheme[i], CONVERGENCE_TREES, &e));
        TRY(adaptive_tell_blind(s->scheme[i]));
        Runner r = {.name = s->scheme[i]->name,
                    .table = s->scheme[i],
                    .order = theory_order(&theory, u->system),
                    .embedded = e.order,
                    .estimate = e.estimate_order};
        for (int op = 0; op < COLOURS && s->scheme[i]->pair; op++)
            r.evals += table_evals(s->scheme[i]->pair, op);
        TRY(run_all(u, &r));
    }
    return 0;
}

/* Runs the peers. They begin with the first step of our last scheme, as they have no rule for it. */
static int run_peers(PairStudy *u)
{
    static const char *const name[] = {
        [PEERS_GSL] = "GSL", [PEERS_BOOST] = "Boost", [PEERS_ARKODE] = "ARKODE"};
    int there[] = {[PEERS_GSL] = 1, [PEERS_BOOST] = 0, [PEERS_ARKODE] = 0};
    const PeerPair *p;
    if (u->system->mass) {
        progress_note("peers are left out: they solve y' = f(y) alone");
        return 0;
    }
    for (int i = PEERS_BOOST; i <= PEERS_ARKODE; i++) {
        there[i] = peers_library(i) != NULL;
        if (!there[i])
            progress_note("%s's rows are left out: %s (`make peers` builds them)", name[i],
                          error_text());
    }
    for (size_t i = 0; (p = peers_pair(i)); i++) {
        if (!there[p->library]) continue;
        if (p->dense && u->system->n * u->system->d > STIFF_MOST) {
            progress_note("%s is left out: its matrix has a row for each of %zu coordinates",
                          p->name, u->system->n * u->system->d);
            continue;
        }
        TRY(run_all(u, &(Runner){.name = p->name,
                                 .peer = p,
                                 .order = p->order,
                                 .embedded = p->estimate_order,
                                 .estimate = p->estimate_order,
                                 .evals = p->evals * system_parts(u->system)}));
    }
    return 0;
}

static int solve(PairStudy *u, const Selection *s)
{
    size_t N = u->system->n * u->system->d;
    u->word = system_weigh(u->system, s->scheme[0]);
    u->solved = u->word.same ? u->system : &u->word.system;
    double t_end = options_real(u->options, "t-end");
    u->t_end = t_end > 0 ? t_end : u->system->t_end;
    progress_show("reference solution of %s", u->system->name);
    TRY(reference_solve(u->solved, &u->t_end, 1, u->exact, &u->agreement));
    double agreement;
    for (int i = 0; i < TIMES; i++) u->at[i] = u->t_end * (i + 0.5) / TIMES;
    TRY(reference_solve(u->solved, u->at, TIMES, u->way, &agreement));
    for (size_t i = 0; i < N; i++) u->norm += u->exact[i] * u->exact[i] / (double)N;
    u->norm = sqrt(u->norm);
    if (reference_known(u->agreement, fmax(u->norm, system_rms(N, u->system->initial, NULL))))
        return 0;
    /* Errors are left out, on the way too, where a solution that is lost at the end may be lost already. */
    for (size_t i = 0; i < N; i++) u->exact[i] = NAN;
    for (size_t i = 0; i < TIMES * N; i++) u->way[i] = NAN;
    notice_warn(
        "the reference solution is known to %.2g alone, as two integrators differ by that: errors are left "
        "out; give a shorter --t-end",
        u->agreement);
    return 0;
}

/* ---- tables and plots ------------------------------------------------------------------------------ */

static int draw(const PairStudy *u, const char *name, const char *title, const char *x,
                const char *column)
{
    char words[256];
    snprintf(words, sizeof words, "%s: %s", title, u->system->name);
    PlotFrame frame = {name, words, x, "RMS error", PLOT_LOG_X | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(options_text(u->options, "out"), &frame, &p));
    for (size_t i = 0; i < u->series; i++)
        plot_series(p, "adaptive.csv", sheet_column(adaptive_columns, "scheme"), u->name[i],
                    sheet_column(adaptive_columns, column), sheet_column(adaptive_columns, "error"),
                    u->name[i]);
    return plot_finish(p);
}

static int save(const PairStudy *u)
{
    const char *dir = options_text(u->options, "out");
    TRY(output_directory(dir));
    TRY(output_table(u->points, dir, "adaptive"));
    TRY(output_table(u->summary, dir, "tolerance"));
    TRY(draw(u, "precision", "Work by tolerance", "evaluations of F and G", "evals"));
    return draw(u, "tolerance", "Error by tolerance", "tolerance", "tolerance");
}

static int show(const PairStudy *u)
{
    int summary = options_flag(u->options, "summary");
    if (options_flag(u->options, "csv"))
        return sheet_write(summary ? u->summary : u->points, SHEET_CSV, stdout);
    choose_tell(u->system);
    printf(
        "; error: RMS over coordinates at t = %g\n"
        "a step passes where e_i / (atol + rtol max(|y_n,i|, |y_n+1,i|)), e its estimated error, has an "
        "RMS over i of 1 at most;\natol = rtol = tolerance; error ~ tolerance^(p/(q+1)) is expected\n\n",
        u->t_end);
    if (!summary) {
        TRY(sheet_write(u->points, SHEET_PLAIN, stdout));
        putchar('\n');
    }
    if (u->stopped)
        printf(
            "%zu runs were stopped: the system is stiff for them, or the tolerance small. Smaller "
            "tolerances of theirs were not tried.\nImplicit pairs take fewer steps: --scheme "
            "tr-bdf2,rodas4\n\n",
            u->stopped);
    return sheet_write(u->summary, SHEET_PLAIN, stdout);
}

static int study(PairStudy *u, const Selection *s)
{
    size_t N = u->system->n * u->system->d, peers = 0;
    char part[32];
    while (peers_pair(peers)) peers++;
    while (options_part(u->options, "tolerances", u->count, part)) u->count++;
    TRY(trained_check(&u->network, s));
    TRY(adaptive_one_field(s));
    u->exact = memory_new(2 * N + 4 * u->count, sizeof(double));
    u->way = memory_new(2 * TIMES, N * sizeof(double));
    u->name = memory_new(s->count + peers, sizeof *u->name);
    if (!u->exact || !u->way || !u->name) return ERR_MEMORY;
    u->y = u->exact + N;
    u->x = u->y + N;
    u->error = u->x + u->count;
    u->first = u->error + u->count;
    u->tolerance = u->first + u->count;
    for (size_t i = 0; options_part(u->options, "tolerances", i, part); i++)
        u->tolerance[i] = strtod(part, NULL);
    u->states = u->way + TIMES * N;
    TRY(sheet_new(adaptive_columns, &u->points));
    TRY(sheet_new(tolerance_columns, &u->summary));
    TRY(solve(u, s));
    TRY(run_schemes(u, s));
    TRY(run_peers(u));
    progress_clear();
    TRY(show(u));
    if (options_text(u->options, "out")) TRY(save(u));
    if (!u->unfinished) return 0;
    return error_set(ERR_CHECK, "%zu runs did not come to t = %g: column outcome", u->unfinished,
                     u->t_end);
}

int adaptive_study(const Options *o, const SystemChoice *system, const Selection *s)
{
    PairStudy u = {.options = o};
    TRY(choose_system(system, &u.network, &u.system));
    int code = choose_zeros(u.system, s);
    if (code == 0) code = choose_blame(system, study(&u, s));
    sheet_free(u.points);
    sheet_free(u.summary);
    progress_clear();
    memory_free_all(u.exact, u.way, u.name);
    system_free(u.system);
    network_free(&u.network);
    return code;
}
