/* convergence.c: runs order_measure for every scheme of a selection, and writes tables and plots. */
#include "studies/solve/convergence.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ode/scheme/rationals.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"

/* One step size of a scheme. The seconds are those of one run, so they stand in a separate table. */
typedef struct {
    const char *scheme, *system;
    OrderPoint at;
    double rate; /* from this error and the one before: log over log of h; NaN: none */
} PointRow;

const Column order_points[] = {
    COLUMN(PointRow, scheme),
    COLUMN(PointRow, system),
    FIELD(PointRow, "h", at.h),
    FIELD(PointRow, "steps", at.steps, .words = "number of steps to the end"),
    FIELD(PointRow, "evals", at.evals, .words = "evaluations of F and G in all"),
    FIELD(PointRow, "error", at.error, .digits = 4,
          .words = "RMS error over coordinates at the end"),
    COLUMN(
        PointRow, rate, .form = SHEET_FIXED, .digits = 2, .sparse = 1,
        .words =
            "log of the ratio of this error to the one before, divided by log of the ratio of their "
            "steps"),
    {0}};
const Column order_work[] = {
    COLUMN(PointRow, scheme),
    COLUMN(PointRow, system),
    FIELD(PointRow, "h", at.h),
    FIELD(PointRow, "evals", at.evals, .words = "evaluations of F and G in all"),
    FIELD(PointRow, "seconds", at.seconds, .digits = 3, .words = "time of one run"),
    FIELD(PointRow, "error", at.error, .digits = 4,
          .words = "RMS error over coordinates at the end"),
    {0}};

typedef struct {
    const char *scheme, *system, *verdict, *match;
    OrderStudy s;
    double predicted, constant_low, constant_high, unstable_from;
} SummaryRow;

const Column order_summary[] = {
    COLUMN(SummaryRow, scheme, .page = 1),
    COLUMN(SummaryRow, system, .page = 2),
    FIELD(SummaryRow, "expected", s.expected, .page = 3, .words = "exact order p"),
    FIELD(SummaryRow, "measured", s.slope, .form = SHEET_FIXED, .digits = 3, .low = "low",
          .high = "high", .page = 4, .words = "slope of the global error"),
    FIELD(SummaryRow, "low", s.low, .form = SHEET_FIXED, .digits = 3,
          .words = "lower end of the 95 % interval of `measured`, wider by bias and rounding"),
    FIELD(SummaryRow, "high", s.high, .form = SHEET_FIXED, .digits = 3, .words = "upper end of it"),
    FIELD(SummaryRow, "constant", s.constant, .digits = 4, .page = 6,
          .words = "measured c of error ≈ c·h^p"),
    COLUMN(
        SummaryRow, verdict, .page = 5,
        .words =
            "slope against the exact order: agree, higher, disagree, diverges, floor (rounding "
            "hides it), unstable (too few stable steps), undecided (the slope may be off by more than "
            "1/2, and be the order, or is higher though a term c h^p is seen), or inconsistent (the exact order is 0)"),
    COLUMN(SummaryRow, predicted, .digits = 4, .page = 7,
           .words = "c that theory predicts from the elementary differentials of order p + 1"),
    COLUMN(SummaryRow, match, .page = 8, .words = "measured constant against the predicted one"),
    COLUMN(SummaryRow, constant_low, .digits = 4,
           .words = "the measured constant less what its extrapolation to h = 0 may be off by"),
    COLUMN(SummaryRow, constant_high, .digits = 4,
           .words = "the measured constant and what its extrapolation to h = 0 may be off by"),
    COLUMN(
        SummaryRow, unstable_from,
        .words =
            "finest step that is too large for stability; neither it nor any coarser one is used"),
    {0}};

void orders_judge(const Frame *c, Verdict *v)
{
    verdict_count(v, c, "verdict", "slope against the exact order");
    verdict_count(v, c, "match", "error constant against the predicted one");
    verdict_count(v, c, "remainder_verdict", "what the leading terms leave");
    verdict_end(v);
}

/* ---- measuring ----------------------------------------------------------------------------------- */

/* Returns whether the errors of a study say something: its references are known, of the finest step too. */
static int is_known(const OrderStudy *s)
{
    return reference_known(s->point[s->points - 1].agreement, s->size);
}

static void report_points(ConvergenceStudy *u, const Table *t, const OrderStudy *s)
{
    u->diverging += s->verdict == VERDICT_DIVERGES;
    for (size_t i = 0; i < s->points; i++) {
        PointRow row = {t->name, u->system->name, s->point[i], convergence_rate(s->point, i)};
        if (!is_known(s)) row.at.error = row.rate = NAN;
        sheet_row(u->points, &row);
        sheet_row(u->work, &row);
        if (s->verdict != VERDICT_DIVERGES && isfinite(s->point[i].error) && !s->point[i].unstable)
            u->top = fmax(u->top, s->point[i].error);
        if (s->point[i].h > u->coarsest) u->coarsest = s->point[i].h;
        if (isfinite(s->point[i].error) && (!(u->finest > 0) || s->point[i].h < u->finest))
            u->finest = s->point[i].h;
        if (s->point[i].error > 0 && (!(u->least > 0) || s->point[i].error < u->least))
            u->least = s->point[i].error;
        if (s->point[i].error <= s->point[i].floor) u->floor = fmax(u->floor, s->point[i].error);
    }
}

static int compare_constant(ConvergenceStudy *u, const Table *t, const OrderStudy *s,
                            Convergence *c)
{
    Prediction p;
    SCOPED(memory_drop) double *vector = memory_new(2 * s->N, sizeof *vector);
    if (!vector) return ERR_MEMORY;
    TRY(order_predict(t, u->system, u->options.t_end, c->theory.order, c->theory.zero_stable, &p,
                      vector));
    if (c->theory.start_order < c->theory.order)
        p.global = p.local = NAN; /* the start has a share in the error */
    int local = u->options.local;
    c->predicted = local ? p.local : p.global;
    c->constant_verdict = order_match(s, c->predicted, p.accuracy, local ? vector : vector + s->N);
    return 0;
}

static void report_verdict(ConvergenceStudy *u, const Table *t, const OrderStudy *s,
                           const Convergence *c)
{
    double least = s->constant - s->constant_off;
    sheet_row(
        u->summary,
        &(SummaryRow){.scheme = t->name,
                      .system = u->system->name,
                      .verdict = verdict_name(s->verdict),
                      .match = c->constant_verdict < 0 ? "" : verdict_name(c->constant_verdict),
                      .s = *s,
                      .predicted = c->predicted,
                      .constant_low = least < 0 ? 0 : least,
                      .constant_high = s->constant + s->constant_off,
                      .unstable_from = s->unstable > 0 ? s->unstable : NAN});
    int met = s->verdict == VERDICT_AGREE && s->expected >= 1 && s->expected <= CONVERGENCE_TREES;
    if (met && s->constant > u->guide[s->expected]) u->guide[s->expected] = s->constant;
}

/* Says which steps were left out, and what to do where too few are left. */
static void warn_unstable(const ConvergenceStudy *u, const Table *t, const OrderStudy *s)
{
    const OrderPoint *finest = &s->point[s->points - 1];
    const char *advice = "";
    if (s->verdict == VERDICT_UNSTABLE && finest->error > finest->floor)
        advice = "; too few stable steps are left to fit an order: give 'trotter order' a smaller "
                 "--h0 or more --halvings";
    else if (s->verdict == VERDICT_UNSTABLE)
        advice = "; the errors of smaller steps are rounding, so there is no order to fit: give "
                 "'trotter order' a shorter --t-end or a less stiff system";
    if (s->unstable > 0)
        notice_warn("%s is unstable for h >= %.6g on %s: those steps are left out%s", t->name,
                    s->unstable, u->system->name, advice);
}

/* Says that the term that has the order is there, and from which step on it leads. */
static void warn_hidden(const Table *t, const OrderStudy *s)
{
    char advice[96] = "errors of the steps from which on it leads are rounding";
    if (s->hidden == 0) return;
    if (s->leads > 0)
        snprintf(advice, sizeof advice,
                 "it leads from about h = %.2g on: give 'trotter order' --halvings %.0f", s->leads,
                 ceil(log2(s->point[0].h / s->leads)) + 1);
    notice_warn(
        "%s: %.2g %% of the error at the finest step of the fit is the term %.3g h^%d, which has the order; %s",
        t->name, 100 * s->hidden, s->constant, s->expected, advice);
}

/* Says over which time a step with memory goes, where that is another than h. */
static void warn_time(const Table *t)
{
    RATIONAL(goes);
    for (int op = 0; op < t->colours; op++) {
        table_goes(t, op, goes);
        if (mpq_cmp(goes, t->weight[op]) == 0) continue;
        notice_warn(
            "%s is not consistent: a step goes %.6g h by %c; the line 'field %.6g F ...' says so, and gives "
            "its order over that time",
            t->name, mpq_get_d(goes), "FGC"[op], mpq_get_d(goes));
        return;
    }
}

/* Says by which weights a scheme solves another equation: those of an operator that do not sum to the field's. */
static void warn_inconsistent(const Table *t)
{
    RATIONALS(sum, part);
    if (table_past(t)) {
        warn_time(t);
        return;
    }
    for (int op = 0, said = 0; op < t->colours && !said; op++) {
        mpq_set_ui(sum, 0, 1);
        for (int set = 1; set <= table_sets(t, op); set++) {
            table_weight(t, op, set, part);
            mpq_add(sum, sum, part);
        }
        if ((said = mpq_cmp(sum, t->weight[op]) != 0)) {
            char *text = mpq_get_str(NULL, 10, sum), decimal[32];
            snprintf(decimal, sizeof decimal, "%.6g", mpq_get_d(sum));
            notice_warn("%s is not consistent: its weights on %c sum to %s", t->name, "FGC"[op],
                        t -> exact &&strlen(text) <= 24 ? text : decimal);
            free(text);
        }
    }
}

static void warn(const Table *t, const Table *frozen, const Theory *theory, const OrderStudy *s)
{
    if (!is_known(s))
        notice_warn(
            "the reference solution is known to %.2g alone, as two integrators differ by that: the errors "
            "of %s are left out, and no order shows; give 'trotter order' a shorter --t-end",
            s->point[s->points - 1].agreement, t->name);
    if (!theory->zero_stable)
        notice_warn("%s is zero-unstable: a root of its state weights lies outside the unit circle "
                    "or is double on it, so errors grow with the number of steps and it converges "
                    "at no order",
                    t->name);
    else if (!theory->expands && frozen->carries && series_check(frozen) == ERR_ACCURACY)
        notice_warn("%s", error_text());
    else if (!theory->expands)
        notice_warn("%s: the state weights of some row do not sum to 1, so there is no expansion "
                    "about y and no order",
                    t->name);
    else if (!theory->consistent)
        warn_inconsistent(t);
    if (t->flows && !s->closed_flows)
        progress_note(
            "%s: a sub-flow has no closed form here; the reference integrator stands for it",
            t->name);
}

static int measure(ConvergenceStudy *u, const Table *scheme, Convergence *c)
{
    SCOPED(order_free) OrderStudy s = {0};
    TABLE(t);
    int order = c->theory.order;
    if (!(t = table_freeze(scheme))) return ERR_MEMORY;
    /* the first step alone has all of the error with which what is carried begins */
    if (u->options.local && c->theory.start_order < order) order = c->theory.start_order;
    TRY(order_measure(t, u->system, &u->options, order, c->theory.zero_stable, &s));
    TRY(compare_constant(u, t, &s, c));
    report_points(u, scheme, &s);
    report_verdict(u, scheme, &s, c);
    warn_unstable(u, scheme, &s);
    warn_hidden(scheme, &s);
    warn(scheme, t, &c->theory, &s);
    c->slope = s.slope, c->low = s.low, c->high = s.high;
    c->verdict = s.verdict;
    c->solved = t->flows && !s.closed_flows;
    c->points = s.points, c->point = s.point;
    s.point = NULL;
    return 0;
}

/* The progress of a study. */
typedef struct {
    const char *system;
    const Selection *s;
    size_t now; /* scheme */
} Pace;

static void show_pace(void *arg, const char *work, double share)
{
    const Pace *p = arg;
    const size_t fine = 1000000;
    if (progress_due())
        progress_of((size_t)(share * (double)fine), fine,
                    "order of %s on %s (%zu of %zu): %s, %.0f %%", p->s->scheme[p->now]->name,
                    p->system, p->now + 1, p->s->count, work, 100 * share);
}

enum { SOLVED_BYTES = 1 << 28 }; /* for reference solutions that schemes share */

/* Refuses schemes that the system cannot take, before anything is measured. */
static int check_schemes(const ConvergenceStudy *u, const Selection *s)
{
    for (size_t i = 0; i < s->count; i++) TRY(system_takes(u->system, s->scheme[i]));
    return 0;
}

/* Sets the order to expect, and says where it is that of algebraic equations. */
static int expect(const ConvergenceStudy *u, const Table *t, Theory *theory)
{
    int order = theory_order(theory, u->system);
    TRY(order_expected(t, u->system, theory, &theory->order));
    if (theory->order < order)
        progress_note(
            "%s: not all equations have derivatives: order %d at least is expected, not %d",
            t->name, theory->order, order);
    return 0;
}

static int measure_each(ConvergenceStudy *u, const Selection *s, Pace *pace)
{
    for (size_t i = 0; i < s->count; i++) {
        Theory *theory = &u->scheme[i].theory;
        TRY(theory_search(s->scheme[i], CONVERGENCE_TREES, theory));
        TRY(expect(u, s->scheme[i], theory));
        if (s->scheme[i]->carries && theory->start_order == INT_MAX)
            progress_note("%s: what it carries begins as the exact solution has it%s",
                          s->scheme[i]->name,
                          table_has(s->scheme[i], HAS_NORM) ? "; its norms are left out" : "");
        else if (s->scheme[i]->carries)
            progress_note("%s: what it carries begins as its text says, with an error of h^%d",
                          s->scheme[i]->name, theory->start_order + 1);
    }
    for (pace->now = 0; pace->now < s->count; pace->now++)
        TRY(measure(u, s->scheme[pace->now], &u->scheme[pace->now]));
    return 0;
}

static int measure_all(ConvergenceStudy *u, const Selection *s)
{
    Pace pace = {.system = u->system->name, .s = s};
    const Watch watch = {show_pace, &pace};
    Solved *solved = NULL;
    TRY(check_schemes(u, s));
    int code = solved_new(SOLVED_BYTES, &solved);
    u->system->watch = &watch;
    u->system->solved = solved;
    if (code == 0) code = measure_each(u, s, &pace);
    u->system->watch = NULL;
    u->system->solved = NULL;
    solved_free(solved);
    progress_clear();
    return code;
}

int convergence_run(const SystemChoice *system, const OrderOptions *options, const Selection *s,
                    ConvergenceStudy *u)
{
    *u = (ConvergenceStudy){.options = *options, .count = s->count};
    TRY(choose_system(system, &u->network, &u->system));
    TRY(trained_check(&u->network, s));
    TRY(choose_zeros(u->system, s));
    u->scheme = memory_new(s->count, sizeof *u->scheme);
    if (!u->scheme) return ERR_MEMORY;
    TRY(sheet_new(order_points, &u->points));
    TRY(sheet_new(order_work, &u->work));
    TRY(sheet_new(order_summary, &u->summary));
    TRY(choose_blame(system, measure_all(u, s)));
    return convergence_rates(u, s);
}

void convergence_free(ConvergenceStudy *u)
{
    sheet_free(u->points);
    sheet_free(u->work);
    sheet_free(u->summary);
    sheet_free(u->rates);
    for (size_t i = 0; u->scheme && i < u->count; i++) memory_free(u->scheme[i].point);
    memory_free(u->scheme);
    system_free(u->system);
    network_free(&u->network);
    *u = (ConvergenceStudy){0};
}

size_t convergence_inconsistent(const ConvergenceStudy *u)
{
    size_t n = 0;
    for (size_t i = 0; i < u->count; i++) n += u->scheme[i].verdict == VERDICT_INCONSISTENT;
    return n;
}

size_t convergence_disagree(const ConvergenceStudy *u)
{
    size_t n = 0;
    for (size_t i = 0; i < u->count; i++)
        n += u->scheme[i].verdict == VERDICT_DISAGREE ||
             u->scheme[i].constant_verdict == VERDICT_DISAGREE;
    return n;
}

/* ---- files --------------------------------------------------------------------------------------- */

/* Sets the axes to the measured range. It clips diverging errors, ends guides with the steps, and marks with a line
 * which errors are rounding. */
static void set_range(const ConvergenceStudy *u, Plot *p, int steps)
{
    if (u->top > 0)
        plot_top(p, u->least > 0 ? u->least / 1.5 : 1e-3 * u->top,
                 (u->diverging > 0 ? 10 : 3) * u->top);
    if (steps && u->finest > 0) plot_setting(p, "set xrange [%.6g:%.6g]", u->finest, u->coarsest);
    if (u->diverging > 0) plot_note(p, "errors of diverging schemes are cut off above the frame");
    if (u->floor > 0) plot_level(p, u->floor, "points below: rounding");
}

static int draw_errors(const ConvergenceStudy *u, const Selection *s, const char *dir)
{
    char title[256], y[64] = "RMS error of the first step", words[32];
    double t = u->options.t_end > 0 ? u->options.t_end : u->system->t_end;
    snprintf(title, sizeof title, "%s error against step: %s",
             u->options.local ? "Local" : "Global", u->system->name);
    if (!u->options.local) snprintf(y, sizeof y, "RMS error at t = %g", t);
    PlotFrame frame = {"order", title, "step h", y, PLOT_HALVINGS | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    set_range(u, p, 1);
    for (int k = 1; k <= CONVERGENCE_TREES; k++) {
        if (!(u->guide[k] > 0)) continue;
        snprintf(words, sizeof words, "slope %d", k);
        plot_guide(p, 2.5 * u->guide[k], k, u->coarsest, words);
    }
    for (size_t i = 0; i < s->count; i++)
        plot_series(p, "order.csv", sheet_column(order_points, "scheme"), s->scheme[i]->name,
                    sheet_column(order_points, "h"), sheet_column(order_points, "error"),
                    s->scheme[i]->name);
    return plot_finish(p);
}

static int draw_work(const ConvergenceStudy *u, const Selection *s, const char *dir,
                     const char *name, const char *x, const char *column)
{
    char title[256], label[TABLE_NAME + 40];
    snprintf(title, sizeof title, "Work against error: %s", u->system->name);
    PlotFrame frame = {name, title, x, "RMS error", PLOT_LOG_X | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    set_range(u, p, 0);
    for (size_t i = 0; i < s->count; i++) {
        snprintf(label, sizeof label, "%s%s", s->scheme[i]->name,
                 u->scheme[i].solved ? " (sub-flows by the reference)" : "");
        plot_series(p, "work.csv", sheet_column(order_work, "scheme"), s->scheme[i]->name,
                    sheet_column(order_work, column), sheet_column(order_work, "error"), label);
    }
    return plot_finish(p);
}

/* Removes the work and times of an earlier study in DIR. A study of local errors has none, and the old ones would
 * stand beside its table. */
static int remove_work(const char *dir)
{
    static const char *const names[] = {"work.csv", "work.gp",  "work.svg", "work.png", "work.pdf",
                                        "time.gp",  "time.svg", "time.png", "time.pdf"};
    char path[OUTPUT_PATH];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        TRY(output_path(path, dir, "%s", names[i]));
        if (unlink(path) != 0 && errno != ENOENT)
            return error_set(ERR_INPUT, "%s: %s", path, strerror(errno));
    }
    return 0;
}

int convergence_save(const ConvergenceStudy *u, const Selection *s, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_sheet(u->points, SHEET_CSV, dir, "order.csv"));
    TRY(output_sheet(u->rates, SHEET_MARKDOWN, dir, "order.md"));
    TRY(output_sheet(u->rates, SHEET_LATEX, dir, "order.tex"));
    if (u->options.local) {
        TRY(remove_work(dir));
    } else {
        TRY(output_sheet(u->work, SHEET_CSV, dir, "work.csv"));
        TRY(draw_work(u, s, dir, "work", "evaluations of F and G", "evals"));
        TRY(draw_work(u, s, dir, "time", "seconds", "seconds"));
    }
    TRY(output_table(u->summary, dir, "summary"));
    return draw_errors(u, s, dir);
}
