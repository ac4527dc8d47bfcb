/* command_solve.c: solves a particle system by schemes, with steps of one length or by tolerance: the states over time, their
 * errors, and pictures of both. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/solve/crossings.h"
#include "studies/solve/order.h"
#include "studies/solve/pictures.h"
#include "studies/solve/times.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"
#include "studies/base/system_language.h"

enum {
    SHOWN = 6,   /* coordinates in tables for people, at most */
    LINES = 25,  /* states of a run in tables for people, at most */
    MANY = 1000, /* coordinates whose closed solution may be dear */
    STEPS = 10000000
};
static const char reference[] = "reference";

/* A row of solve.csv. */
typedef struct {
    const char *scheme, *system, *outcome;
    const char *rtol, *atol; /* as they were given */
    double h, tolerance, end, largest;
    size_t steps, rejected, evals;
} SolveRow;

static const Column solve_columns[] = {
    COLUMN(SolveRow, scheme),
    COLUMN(SolveRow, system),
    COLUMN(SolveRow, h, .words = "length of the steps"),
    COLUMN(SolveRow, tolerance, .words = "absolute and relative tolerance of a step's error"),
    COLUMN(SolveRow, rtol, .sparse = 1,
           .words = "relative tolerance, where it was given by itself"),
    COLUMN(SolveRow, atol, .sparse = 1,
           .words = "absolute tolerance, where it was given by itself"),
    COLUMN(SolveRow, steps, .words = "accepted steps"),
    COLUMN(SolveRow, rejected, .words = "rejected steps"),
    COLUMN(SolveRow, evals, .words = "evaluations of F and G in all"),
    FIELD(SolveRow, "error", end, .digits = 3,
          .words = "RMS error over coordinates at the end; empty where no solution is known"),
    FIELD(SolveRow, "largest_error", largest, .digits = 3, .head = "largest",
          .words = "largest of these errors at the times of the table"),
    COLUMN(
        SolveRow, outcome,
        .words =
            "done; event: a terminal event ended it; no reference: done, but the solution is not known to six digits at the end, so that no "
            "error is told; else why the run ended before"),
    {0}};

/* Tolerances of steps: a number each, or where a list was given numbers of each coordinate. */
typedef struct {
    double absolute, relative;
    double *absolutes, *relatives; /* (N), owned; NULL: the numbers above hold for all */
} Tolerances;

/* A row of solution.csv; y (N) stands behind it. */
typedef struct {
    const char *scheme;
    double t, error, radius, y[];
} StateRow;

typedef struct {
    const Options *options;
    System *own; /* as it was chosen */
    Course course;
    const System *system; /* along the run, which is from 0 on: `own`, or that of `course` */
    Network network;      /* network of a trained system, else empty */
    Weighted word;        /* the field of the schemes */
    const System *solved; /* the same, in closed form where it is the system's own */
    size_t N;
    const char *against; /* what errors are against; NULL: there are none */
    double agreement;
    Times times;
    Tolerances tolerances;
    char atol[32];     /* as words, where it is the literature's */
    size_t shown_each; /* the table for people has one state in so many, and the last */
    double *exact;     /* (rows, N); NaN at times where no reference is known */
    double *apart;     /* (rows) how far its two means differ */
    size_t known;      /* times with a reference */
    double *states;    /* (rows, N) of a run, up to where it came */
    StateRow *row;     /* scratch */
    Column *columns;   /* of solution.csv */
    char (*names)[48]; /* (N) of its coordinates */
    Sheet *solution, *shown, *runs;
    Crossings *crossings; /* NULL: no --event */
    Events *events;       /* of the run; NULL likewise */
    Pictures *pictures;   /* NULL: no --out */
    int kept;             /* solution.csv is wanted */
    size_t unfinished;
} Solving;

/* Returns whether the table for people has state k behind the initial one. */
static int is_shown(const Solving *u, size_t k)
{
    return (k + 1) % u->shown_each == 0 || k + 1 == u->times.rows;
}

static int has_exact(const Solving *u)
{
    return u->known > 0;
}

/* ---- rows ------------------------------------------------------------------------------------------ */

/* Makes the columns scheme, t, y1 .. or y1_1 .. (particle, coordinate), error. */
static int make_columns(Solving *u)
{
    size_t d = u->system->d;
    u->columns = memory_new(u->N + 5, sizeof *u->columns);
    u->names = memory_new(u->N, sizeof *u->names);
    u->row = memory_new(1, sizeof *u->row + u->N * sizeof(double));
    if (!u->columns || !u->names || !u->row) return ERR_MEMORY;
    Column *c = u->columns;
    *c++ = (Column)COLUMN(StateRow, scheme, .place = 1);
    *c++ = (Column)COLUMN(StateRow, t, .place = 2);
    for (size_t i = 0; i < u->N; i++) {
        if (u->system->n == 1 || d == 1)
            snprintf(u->names[i], sizeof *u->names, "y%zu", i + 1);
        else
            snprintf(u->names[i], sizeof *u->names, "y%zu_%zu", i / d + 1, i % d + 1);
        *c++ = (Column){.name = u->names[i],
                        .at = offsetof(StateRow, y) + i * sizeof(double),
                        .type = SHEET_DOUBLE,
                        .place = i < SHOWN ? (short)(3 + i) : 0};
    }
    *c++ = (Column)COLUMN(StateRow, error, .place = 3 + SHOWN, .digits = 3);
    *c = (Column)COLUMN(StateRow, radius, .place = 4 + SHOWN, .digits = 3, .sparse = 1);
    TRY(sheet_new(u->columns, &u->solution));
    return sheet_new(u->columns, &u->shown);
}

/* Adds a state to the table where that is wanted, and with `show` to that for people. */
static void add_state(Solving *u, const char *scheme, double t, const double *y, double error,
                      double radius, int show)
{
    *u->row = (StateRow){scheme, t, error, radius};
    memcpy(u->row->y, y, u->N * sizeof *y);
    if (u->kept) sheet_row(u->solution, u->row);
    if (show) sheet_row(u->shown, u->row);
}

/* Returns 1 where a table of `rows` states behind the initial one may show all, else one in how many it shows: equally
 * far apart up to the last, where that leaves half of LINES or more. */
static size_t thin(size_t rows)
{
    size_t parts = LINES - 1;
    while (parts > LINES / 2 && rows % parts != 0) parts--;
    return parts > LINES / 2 ? rows / parts : (rows + LINES - 2) / (LINES - 1);
}

/* Adds the first `rows` states of a run, y (rows, N), and finds its errors. */
static void add_states(Solving *u, const char *scheme, const double *y, size_t rows, SolveRow *r)
{
    int own = y != u->exact;
    add_state(u, scheme, u->times.begin, u->system->initial, own && has_exact(u) ? 0 : NAN, NAN,
              own);
    r->end = r->largest = NAN;
    for (size_t k = 0; k < rows; k++) {
        const double *at = y + k * u->N;
        double error = own ? order_distance(u->N, at, u->exact + k * u->N) : NAN;
        if (!isnan(error) && !(error <= r->largest)) r->largest = error;
        int proved = !own && options_flag(u->options, "rigorous");
        add_state(u, scheme, u->times.t[k], at, error, proved ? u->apart[k] : NAN,
                  (own || proved) && (is_shown(u, k) || k + 1 == rows));
        if (k + 1 == u->times.rows) r->end = error;
    }
}

/* ---- tolerances ------------------------------------------------------------------------------------ */

static int by_tolerance(const Options *o)
{
    return options_text(o, "tolerance") || options_text(o, "rtol") || options_text(o, "atol");
}

/* Refuses a tolerance without the other one. */
static int check_tolerances(const Options *o, const System *s)
{
    if (!by_tolerance(o) || options_text(o, "tolerance")) return 0;
    if (options_text(o, "rtol") && (options_text(o, "atol") || s->small > 0)) return 0;
    return error_set(ERR_INPUT, "expected --rtol and --atol, or --tolerance for what is not given");
}

/* Finds a tolerance, of its own option or else of --tolerance. */
static int find_tolerance(const Solving *u, const char *name, double *one, double **each)
{
    const Options *o = u->options;
    const char *from = options_text(o, name) ? name : "tolerance", *text = options_text(o, from);
    *one = strtod(text, NULL);
    return strchr(text, ',') ? choose_numbers(o, from, u->system->n, u->system->d, 1, each) : 0;
}

/* Takes the literature's absolute tolerance beside a relative one. */
static int atol_of_system(Solving *u)
{
    Tolerances *t = &u->tolerances;
    if (t->relatives)
        return error_set(ERR_INPUT, "--rtol of several numbers: expected --atol beside it");
    t->absolute = u->system->small * t->relative;
    snprintf(u->atol, sizeof u->atol, "%g", t->absolute);
    return 0;
}

static int find_tolerances(Solving *u)
{
    Tolerances *t = &u->tolerances;
    if (!by_tolerance(u->options)) return 0;
    TRY(check_tolerances(u->options, u->system));
    TRY(find_tolerance(u, "rtol", &t->relative, &t->relatives));
    if (!options_text(u->options, "atol") && !options_text(u->options, "tolerance"))
        return atol_of_system(u);
    return find_tolerance(u, "atol", &t->absolute, &t->absolutes);
}

/* ---- runs ------------------------------------------------------------------------------------------ */

/* Begins a run at time 0; the first steps of a multistep scheme end in the reference solution. */
static int begin(const Solving *u, Stepper *st, const char *name)
{
    size_t history = (size_t)stepper_history(st);
    SCOPED(memory_drop) double *given = memory_new(history, u->N * sizeof *given);
    if (!given) return ERR_MEMORY;
    if (u->times.steps <= history)
        return error_set(
            ERR_INPUT,
            "%s begins with %zu %s of the reference solution, and --h gives %zu: take a smaller "
            "--h",
            name, history, history == 1 ? "step" : "steps", u->times.steps);
    if (stepper_carried(st))
        progress_note("%s: what it carries begins as %s", name,
                      history ? "the exact solution has it" : "its text says");
    TRY(reference_start(u->solved, u->times.h, history, given));
    return stepper_begin(st, 0, u->times.h, u->system->initial, START_GIVEN, given);
}

/* Steps of one length under way. */
typedef struct {
    Solving *u;
    const char *name;
    Stepper *st;
    Events *events;
    size_t rows;     /* states so far */
    size_t evals;    /* of those within steps */
    EventStep *seen; /* who else sees the steps, and its argument; NULL: nobody */
    void *arg;
} Walk;

/* Sees a step: keeps the states that are asked for in it or at its end. */
static int see(void *walk, double t0, double t1, const double *y1, EventState *at, void *of)
{
    Walk *w = walk;
    const Solving *u = w->u;
    const Times *t = &u->times;
    for (; w->rows < t->rows; w->rows++) {
        double after = t->after[w->rows], *y = u->states + w->rows * u->N;
        size_t before = w->events->evals;
        int end = fabs(after - t1) <= 1e-9 * t->h;
        if (!end && after > t1) break;
        if (end)
            memcpy(y, y1, u->N * sizeof *y);
        else
            TRY(at(of, after, y));
        w->evals += w->events->evals - before;
    }
    return w->seen ? w->seen(w->arg, t0, t1, y1, at, of) : 0;
}

static int step_along(Solving *u, Walk *w, SolveRow *r)
{
    int code = begin(u, w->st, w->name);
    if (code == ERR_ACCURACY || code == ERR_NUMERIC) {
        notice_warn("%s: %s", w->name, error_text());
        r->outcome = "no start";
        return 0;
    }
    TRY(code);
    r->outcome = adapt_outcome(ADAPT_DONE);
    for (; r->steps < u->times.steps; r->steps++) {
        code = events_take(w->events, w->st, (double)r->steps * u->times.h, u->times.h);
        if (code == 0 && w->events->stopped) {
            r->steps++;
            r->outcome = adapt_outcome(ADAPT_EVENT);
            return 0;
        }
        if (code == ERR_NUMERIC) {
            notice_warn("%s: %s", w->name, error_text());
            r->outcome = "not finite";
            return 0;
        }
        TRY(code);
        if (progress_due())
            progress_of(r->steps, u->times.steps, "%s on %s: step %zu of %zu", w->name,
                        u->system->name, r->steps, u->times.steps);
    }
    return 0;
}

static int run_fixed(Solving *u, const Table *t, size_t *rows, SolveRow *r)
{
    SCOPED(stepper_drop) Stepper *st = NULL;
    SCOPED(events_free) Events own = {0};
    Events *e = u->events ? u->events : &own;
    TABLE(frozen);
    if (!(frozen = table_freeze(t))) return ERR_MEMORY;
    if (table_has(t, HAS_NORM)) progress_note("%s: its norms are left out", t->name);
    TRY(stepper_new(frozen, u->system, &st));
    if (e == &own) TRY(events_new(NULL, 0, u->N, e));
    TRY(events_fixed(e, frozen, u->system, u->times.steps));
    events_begin(e, u->system->initial);
    Walk w = {.u = u, .name = t->name, .st = st, .events = e, .seen = e->seen, .arg = e->arg};
    e->seen = see;
    e->arg = &w;
    int code = step_along(u, &w, r);
    e->seen = w.seen;
    e->arg = w.arg;
    TRY(code);
    *rows = w.rows;
    r->evals = stepper_evals(st) + w.evals;
    return 0;
}

/* Tells where a run by tolerance ended that did not come to its end, what that may mean, and what to do. */
static void warn_ended(const Solving *u, const char *name, const AdaptRun *run)
{
    double t = u->times.begin + copysign(run->t, u->times.end - u->times.begin);
    if (run->outcome == ADAPT_UNDERFLOW)
        notice_warn(
            "%s: behind t = %.10g no step is short enough for the tolerance: the solution ends or is not smooth "
            "there (a pole, a jump, the root of a number below 0: end before it, --t-end), or --atol is too "
            "small for what y is rounded to",
            name, t);
    if (run->outcome == ADAPT_JUMPS)
        notice_warn(
            "%s: ended at t = %.10g after %zu steps, of which many are rejected, and the rest would take more than %d: the right side jumps where "
            "the solution stays, as sign(y) does at y = 0; end at the jump (--event 'G terminal'), make it smooth (tanh(y/small)), or "
            "take a greater tolerance or an explicit scheme",
            name, t, run->steps + run->rejected, STEPS);
    if (run->outcome == ADAPT_STEPS)
        notice_warn(
            "%s: %zu steps ended at t = %.10g: take a greater tolerance, an earlier --t-end, or for "
            "a stiff system radau-iia5 or bdf",
            name, run->steps + run->rejected, t);
}

static int run_adaptive(Solving *u, const Table *t, size_t *rows, SolveRow *r)
{
    Embedded e;
    SCOPED(memory_drop) double *y = memory_new(u->N, sizeof *y);
    AdaptRun run;
    if (!y) return ERR_MEMORY;
    TRY(theory_embedded(t, CONVERGENCE_TREES, &e));
    TRY(adaptive_tell_blind(t));
    AdaptOptions o = {.absolute = u->tolerances.absolute,
                      .relative = u->tolerances.relative,
                      .absolutes = u->tolerances.absolutes,
                      .relatives = u->tolerances.relatives,
                      .t_end = u->times.length,
                      .most = STEPS,
                      .estimate_order = e.estimate_order,
                      .times = u->times.rows,
                      .at = u->times.after,
                      .states = u->states,
                      .events = u->events};
    if (options_text(u->options, "longest")) o.longest = options_real(u->options, "longest");
    TRY(adapt_run(t, u->system, &o, y, &run));
    warn_ended(u, t->name, &run);
    r->steps = run.steps;
    r->rejected = run.rejected;
    r->evals = run.evals;
    r->outcome = adapt_outcome(run.outcome);
    for (*rows = 0; *rows < u->times.rows && u->times.after[*rows] <= run.t; ++*rows) {}
    return 0;
}

static int run_scheme(Solving *u, const Table *t, size_t number)
{
    SolveRow r = {.scheme = t->name,
                  .system = u->system->name,
                  .h = u->times.h > 0 ? u->times.h : NAN,
                  .rtol = options_text(u->options, "rtol"),
                  .atol = *u->atol ? u->atol : options_text(u->options, "atol"),
                  .tolerance = options_text(u->options, "tolerance")
                                   ? options_real(u->options, "tolerance")
                                   : NAN,
                  .rejected = u->times.h > 0 ? SIZE_MAX : 0};
    size_t rows = 0;
    progress_show("%s on %s", t->name, u->system->name);
    TRY(crossings_begin(u->crossings, &u->events));
    TRY(pictures_begin(u->pictures, number, &u->events));
    TRY((u->times.h > 0 ? run_fixed : run_adaptive)(u, t, &rows, &r));
    crossings_end(u->crossings, t->name);
    TRY(pictures_end(u->pictures, u->events));
    add_states(u, t->name, u->states, rows, &r);
    if (u->against && rows == u->times.rows && isnan(r.end)) r.outcome = "no reference";
    u->unfinished += rows < u->times.rows && r.outcome != adapt_outcome(ADAPT_EVENT);
    sheet_row(u->runs, &r);
    return 0;
}

/* Empties the reference at times where its two means differ by more than a millionth of the largest coordinate: errors
 * against it would be its own. Each time counts for itself, as a solution that jumps is badly known in its jumps alone. */
static void leave_unknown(Solving *u)
{
    double size = 0, last = 0;
    for (size_t i = 0; i < u->N; i++) size = fmax(size, fabs(u->system->initial[i]));
    for (size_t i = 0; i < u->times.rows * u->N; i++) size = fmax(size, fabs(u->exact[i]));
    for (size_t k = 0; k < u->times.rows; k++) {
        if (reference_known(u->apart[k], size)) {
            u->known++;
            last = u->times.t[k];
            u->agreement = fmax(u->agreement, u->apart[k]);
        } else
            for (size_t i = 0; i < u->N; i++) u->exact[k * u->N + i] = NAN;
    }
    if (u->known < u->times.rows)
        notice_warn(
            "the reference solution is known to six digits at %zu of %zu times alone, the last t = %g, "
            "as two integrators differ at the others; there is no error at these",
            u->known, u->times.rows, last);
}

/* Finds the reference solution. Where it cannot be found, or is not known, as on chaotic systems after a while, the errors
 * are left out, and a warning says so. */
static int find_reference(Solving *u)
{
    progress_show("reference solution of %s", u->system->name);
    int code = reference_each(u->solved, u->times.after, u->times.rows, u->exact, u->apart);
    progress_clear();
    u->against = "the reference solution";
    if (code != 0 && code != ERR_ACCURACY && code != ERR_NUMERIC) return code;
    if (code == 0) {
        leave_unknown(u);
        return 0;
    }
    notice_warn("the errors are left out: %s", error_text());
    for (size_t i = 0; i < u->times.rows * u->N; i++) u->exact[i] = NAN;
    return 0;
}

/* Encloses the solution. What cannot be is refused. */
static int find_enclosure(Solving *u)
{
    progress_show("enclosure of the solution of %s", u->system->name);
    if (u->system != u->own)
        return error_set(ERR_INPUT, "--rigorous: expected a run from time 0 forward");
    TRY(enclosure_solve(u->solved, u->times.after, u->times.rows, u->exact, u->apart));
    progress_clear();
    u->against = "the solution, by ball arithmetic";
    u->known = u->times.rows;
    for (size_t k = 0; k < u->times.rows; k++) u->agreement = fmax(u->agreement, u->apart[k]);
    return 0;
}

/* Takes the state that is known at the end, where the run has its own beginning and end; its digits are some 13. */
static int take_end(Solving *u)
{
    const System *s = u->own;
    double known = s->t_whole > 0 ? s->t_whole : s->t_end;
    if (!s->end || u->system != s || u->solved != s || u->times.end != known) return 0;
    u->against = "the end that the literature or the file knows; no errors before it";
    u->known = 1;
    memcpy(u->exact + (u->times.rows - 1) * u->N, s->end, u->N * sizeof *s->end);
    return 0;
}

/* Finds what errors are against: the reference where it is asked for, since it may take longer than the schemes; else the
 * solution in closed form, where there is one; else the end, where that is known; else nothing. That of many coordinates may be an exponential as dear as some
 * steps: it is taken at the times of the printed table alone, unless all are kept. */
static int find_exact(Solving *u)
{
    const System *s = u->solved;
    if (options_flag(u->options, "rigorous")) return find_enclosure(u);
    if (options_flag(u->options, "reference")) return find_reference(u);
    for (size_t i = 0; i < u->times.rows * u->N; i++) u->exact[i] = NAN;
    if (!s->solution) return take_end(u);
    u->against = "the solution in closed form";
    for (size_t k = 0; k < u->times.rows; k++) {
        if (!u->kept && u->N > MANY && !is_shown(u, k)) continue;
        u->known++;
        if (progress_due())
            progress_of(k, u->times.rows, "solution of %s: t = %.4g", s->name, u->times.t[k]);
        s->solution(s, u->times.after[k], u->exact + k * u->N);
    }
    progress_clear();
    return 0;
}

/* Tells of much memory: the states of the reference and of a run, and, of those that are written, the cells. */
static void tell_memory(const Solving *u, size_t schemes)
{
    enum { CELL = 200 };
    double each = 2 * sizeof(double) + (u->kept ? CELL * (double)(schemes + 1) : 0),
           bytes = each * (double)u->times.rows * (double)u->N;
    if (bytes > 1e9)
        notice_warn("%zu numbers at %zu times take %.1f GB: fewer --times or --particles take less",
                    u->N, u->times.rows, bytes / 1e9);
}

/* Finds the times of the run, and the system along it. */
static int set_times(Solving *u, size_t schemes)
{
    Times *t = &u->times;
    TRY(times_read(u->options, u->own, by_tolerance(u->options), STEPS, t));
    system_course(u->own, t->begin, t->back, &u->course);
    u->system = t->back || t->begin != 0 ? &u->course.system : u->own;
    u->shown_each = thin(t->rows);
    tell_memory(u, schemes);
    u->exact = memory_new(t->rows, u->N * sizeof(double));
    u->apart = memory_new(t->rows, sizeof(double));
    u->states = memory_new(t->rows, u->N * sizeof(double));
    return u->exact && u->apart && u->states ? 0 : ERR_MEMORY;
}

/* ---- pictures -------------------------------------------------------------------------------------- */

static int draw_error(const Solving *u, const Selection *s, const char *dir)
{
    char title[256];
    snprintf(title, sizeof title, "Error over time: %s", u->system->name);
    double from = u->times.log_from;
    PlotFrame frame = {"error", title, "time t", "RMS error over coordinates",
                       from > 0 ? PLOT_LOG_X | PLOT_LOG_Y : PLOT_LOG_Y};
    Plot *p;
    int y = sheet_column(u->columns, "error");
    if (u->known < 2) return 0;
    TRY(plot_new(dir, &frame, &p));
    for (size_t i = 0; i < s->count; i++) {
        const char *name = s->scheme[i]->name;
        plot_item(p, "solution.csv",
                  "using (strcol(1) eq %s && $2 > %.15g ? $2 : NaN):%d with lines", name,
                  from > 0 ? 0.999 * from : -1e300, y);
        plot_more(p, "title %s noenhanced lw 2 dt %zu lc rgb %s", name, i + 1, plot_colour(i));
    }
    return plot_finish(p);
}

static int save(const Solving *u, const Selection *s, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_sheet(u->solution, SHEET_CSV, dir, "solution.csv"));
    TRY(crossings_save(u->crossings, dir));
    TRY(output_table(u->runs, dir, "solve"));
    TRY(pictures_save(u->pictures, dir));
    return draw_error(u, s, dir);
}

/* ---- all ------------------------------------------------------------------------------------------- */

static int show(const Solving *u)
{
    if (options_flag(u->options, "csv")) return sheet_write(u->solution, SHEET_CSV, stdout);
    choose_tell(u->system);
    if (u->system != u->own) printf("; from t = %g to %g", u->times.begin, u->times.end);
    if (u->against)
        printf("; error: RMS over coordinates against %s", u->against);
    else
        printf("; no errors: no solution in closed form is known here; --reference finds it by two "
               "integrators");
    int proved = options_flag(u->options, "rigorous");
    if (has_exact(u) && u->agreement > 0) /* two digits of what is proved are not less than it */
        printf(", %s to %.1e", proved ? "proved" : "known", (proved ? 1.05 : 1) * u->agreement);
    putchar('\n');
    if (u->N > SHOWN) printf("the first %d of %zu coordinates; --csv prints all\n", SHOWN, u->N);
    if (u->shown_each > 1)
        printf("one in %zu of the %zu states, and the last; --csv prints all\n", u->shown_each,
               u->times.rows + 1);
    putchar('\n');
    TRY(sheet_write(u->shown, SHEET_PLAIN, stdout));
    putchar('\n');
    TRY(sheet_write(u->runs, SHEET_PLAIN, stdout));
    return crossings_show(u->crossings);
}

static int exact_at(void *solving, double t, double *y)
{
    const Solving *u = solving;
    u->solved->solution(u->solved, t, y);
    return 0;
}

static int open_pictures(Solving *u, const Selection *s)
{
    Drawn d = {u->options, u->own, &u->times, s, u->N, u->names};
    return pictures_open(&d, &u->pictures);
}

static int study(Solving *u, Selection *s)
{
    const char *dir = options_text(u->options, "out");
    SolveRow none;
    u->kept = dir || options_flag(u->options, "csv");
    TRY(trained_check(&u->network, s));
    TRY(adaptive_one_field(s));
    u->system = u->own;
    u->N = u->own->n * u->own->d;
    TRY(find_tolerances(u));
    TRY(set_times(u, s->count));
    TRY(choose_zeros(u->system, s));
    u->word = system_weigh(u->system, s->scheme[0]);
    u->solved = u->word.same ? u->system : &u->word.system;
    TRY(make_columns(u));
    TRY(crossings_open(u->options, u->own, &u->times, u->names, &u->crossings));
    TRY(sheet_new(solve_columns, &u->runs));
    if (dir) TRY(open_pictures(u, s));
    TRY(find_exact(u));
    for (size_t i = 0; i < s->count; i++) TRY(run_scheme(u, s->scheme[i], i));
    progress_clear();
    if (has_exact(u)) add_states(u, reference, u->exact, u->times.rows, &none);
    int closed = u->solved->solution && u->known == u->times.rows && u->agreement == 0;
    if (has_exact(u)) TRY(pictures_reference(u->pictures, u->exact, closed ? exact_at : NULL, u));
    TRY(show(u));
    if (dir) TRY(save(u, s, dir));
    if (!u->unfinished) return 0;
    return error_set(ERR_CHECK, "%zu of %zu runs did not come to t = %g: column outcome",
                     u->unfinished, s->count, u->times.end);
}

static void close_study(Solving *u)
{
    sheet_free(u->solution);
    sheet_free(u->shown);
    sheet_free(u->runs);
    crossings_free(u->crossings);
    pictures_free(u->pictures);
    memory_free_all(u->columns, u->names, u->row, u->exact, u->apart, u->states,
                    u->tolerances.absolutes, u->tolerances.relatives);
    times_free(&u->times);
    system_free(u->own);
    network_free(&u->network);
}

static int run(Options *o)
{
    Solving u = {.options = o};
    SCOPED(select_close) Selection s = {0};
    SystemChoice system = choose_options(o);
    TRY(options_needs(o));
    TRY(options_either(o, "h", "tolerance rtol atol longest"));
    if (options_text(o, "longest") && !by_tolerance(o))
        return error_set(
            ERR_INPUT,
            "--longest: expected a tolerance, --tolerance or --rtol and --atol; the length of equal steps is --h");
    TRY(options_either(o, "reference", "rigorous"));
    TRY(select_open(o, "exact", &s));
    int code = by_tolerance(o) ? adaptive_select(&s, 0) : 0;
    if (code == 0) code = choose_system(&system, &u.network, &u.own);
    if (code == 0) code = choose_blame(&system, study(&u, &s));
    close_study(&u);
    return code;
}

const Command command_solve = {
    .name = "solve",
    .purpose = "solve a particle system: states over time, errors and pictures",
    .about =
        "Takes steps of one length, or with --tolerance steps as long as their estimated errors allow, from\n"
        "the system's initial state on. y1, y2, ... are the coordinates; y2_1 is the first of the second\n"
        "particle. Errors are against the solution in closed form, where the system has one; else, with\n"
        "--reference, against one that two integrators find; else they are not told. What they are against has\n"
        "rows named reference in solution.csv. Where the two integrators differ in the first six digits, as on\n"
        "chaotic systems after a while, it is not known, and errors are empty: the states stand, and the run is\n"
        "not at fault. Exit status 1: a run did not come to the end.\n"
        "\n" LANGUAGE_OF_EQUATIONS,
    .often = "scheme system system-file t-end h tolerance csv out",
    .example = "--system kepler --scheme rk4,leapfrog --h 0.1 --out out/solve",
    .faster = "smaller --t-end, greater --h, fewer --particles, --times",
    .groups = GROUPS(
        OPTION_GROUP(
            "Study", 1, {"scheme", OPTION_TEXT, "rk4", "A,B,...", "names separated by commas"},
            SELECT_FILE,
            {"system", OPTION_TEXT, NULL, "P",
             "particle system, or " TRAINED_WORDS
             " (default: the one that 'trotter order --systems' marks)"},
            {"system-file", OPTION_TEXT, NULL, "FILE",
             "a particle system of your own ('trotter order --help all' shows the form)"},
            CHOOSE_SIZES, {"t-begin", OPTION_REAL, "0", "T", "time of the beginning", -1e15, 1e15},
            {"t-end", OPTION_REAL, NULL, "T",
             "time of the end (default: the system's own; with a tolerance the literature's, where that is later); before --t-begin: the run goes back in time, as a run of -f "
             "that the same schemes solve, those that read the past too",
             -1e15, 1e15},
            {"h", OPTION_REAL, NULL, "H",
             "length of the steps, or a little less, so that they end at --t-end (default: an eighth of the "
             "system's h0)",
             1e-9, 1e6},
            {"tolerance", OPTION_REAL, NULL, "X",
             "choose steps by this tolerance, absolute and relative in one, for schemes with an estimate of "
             "their error",
             1e-14, 1},
            {"rtol", OPTION_REALS, NULL, "X,...",
             "choose steps by a relative tolerance of its own, in the place of --tolerance's: one number, or one for each "
             "coordinate of a particle, or of all particles. A step passes where the RMS over all coordinates i of "
             "err_i / (atol_i + rtol_i max(|y_n,i|, |y_n+1,i|)) is at most 1, err its estimated error",
             1e-14, 1},
            {"atol", OPTION_REALS, NULL, "X,...",
             "the absolute tolerance beside it, in the same forms; --rtol and --atol need each other, or --tolerance, save where the literature has one: of hires, robertson, oregonator, e5, van-der-pol, pollution, medical-akzo, ring-modulator and texts with a line small",
             1e-300, 1e15},
            {"longest", OPTION_REAL, NULL, "H",
             "longest step by a tolerance. Steps see a field at their stages alone, and pass without a word what is shorter "
             "than they are, as a pulse in t (default: as long as the tolerance allows, and where no error is seen and the "
             "field depends on t a hundredth of the run, which sees pulses as long as that)",
             1e-300, 1e15},
            {"reference", OPTION_FLAG, NULL, NULL,
             "find the solution by two tight integrators, which may take longer than the schemes, and tell errors against "
             "it; without this errors are against the solution in closed form, where there is one, or the end, where that is "
             "known, or are not told"},
            {"rigorous", OPTION_FLAG, NULL, NULL,
             "enclose the solution by Taylor series in ball arithmetic, and tell errors against it: no coordinate is farther from the rows "
             "named reference than column radius, which is proved. For smooth systems of formulas with at most 64 unknowns, not too "
             "stiff, from time 0 on"},
            {"times", OPTION_TEXT, "400", "N|LIST|FILE",
             "at which times there are states, beside the beginning and the end. A whole number N: with a tolerance at N "
             "times equally far apart, with steps of one length behind at most N of them. Numbers with a comma, a point or "
             "an e are the times themselves, 0.5,1,2.25 (one alone: 5.0). Else a file of them, one a line. Within a step "
             "states are by its slopes, or by a shorter step that ends there where slopes are not as good (most stages that are "
             "solved for, steps of one length); schemes that read the past have none there. Of more than 25 states the "
             "printed table has some, --csv and --out all"}),
        OPTION_GROUP(
            "Events", 1,
            {"event", OPTION_LIST, NULL, "'G [up|down] [terminal]'",
             "find where G passes 0, an expression of y1, y2, ..., t and the system's parameters as in system files: 'y1 - 0.5'; "
             "up, down: in this direction alone; terminal: the run ends there (events.csv)"}),
        OPTION_GROUP(
            "Output", 0, {"csv", OPTION_FLAG, NULL, NULL, "print all states as CSV"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write solution.csv, events.csv where --event is given, solve.csv, .md, .tex and the plots solution, phase and error; "
             "curves.csv and steps.csv have the numbers of the first two"},
            {"plot", OPTION_TEXT, NULL, "G,...",
             "what the plot solution shows over time: coordinates by name or number, or expressions of them as in --event: "
             "y1,1e4*y2,y3 (default: the first coordinates)",
             .needs = "out"},
            {"phase", OPTION_TEXT, NULL, "G,G",
             "which two the plot phase shows against each other, in the same forms (default: the first two of each particle); with "
             "--event the plot section shows them at the events",
             .needs = "out"},
            {"log-time", OPTION_REAL, NULL, "T",
             "make the time axis logarithmic, from T on; --times N are then equally far apart there too",
             1e-300, 1e15},
            PLOT_FIGURE)),
    .kinds = KINDS(
        {.command = "solve",
         .title = "Solution of a system",
         .about =
             "The states of a particle system over time by schemes, and their errors against the "
             "solution, where it is known.",
         .table = {{"solve", solve_columns, "Runs and their errors.", KIND_ALL}},
         .plot =
             {{"solution",
               "Coordinates over time, and by tolerance the size of steps below; grey: the solution, where it is known."},
              {"phase", "Paths of the particles, or two coordinates against each other."},
              {"section", "The same two at the events (a Poincaré section)."},
              {"error", "RMS error over coordinates against time."}}}),
    .run = run,
};
