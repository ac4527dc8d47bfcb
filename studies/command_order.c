/* command_order.c: measured order: global errors on a particle system over dyadic steps, against the
 * exact order of the table. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/command.h"
#include "studies/output.h"
#include "studies/plot.h"
#include "studies/progress.h"
#include "studies/select.h"

static const Option study_options[] = {
    {"scheme", OPTION_TEXT,
     "euler,transformer,lie-trotter,strang-marchuk,heun,heun-layer,rk3,rk4,ab2", "A,B,...",
     "names separated by commas, or all", 0, 0},
    SELECT_FILE,
    {"system", OPTION_TEXT, NULL, "P", "particle system (default: the one that --systems marks)", 0,
     0},
    {"particles", OPTION_SIZE, "0", "N", "particles; 0: the system's own number", 0, 4096},
    {"dim", OPTION_SIZE, "0", "D", "coordinates of a particle; 0: the system's own number", 0,
     4096},
    {"seed", OPTION_SIZE, "1", "N", "of the system's numbers and initial state", 0, 1e18},
    {"t-end", OPTION_REAL, "0", "T", "time of the comparison; 0: the system's own", 0, 1e6},
    {"h0", OPTION_REAL, "0", "H", "coarsest step; 0: the system's own", 0, 1e6},
    {"halvings", OPTION_SIZE, "7", "N", "how often the step is halved", 4, 24},
    {0},
};

static const Option output_options[] = {
    {"csv", OPTION_FLAG, NULL, NULL, "every error as CSV; with --summary the verdicts", 0, 0},
    {"summary", OPTION_FLAG, NULL, NULL, "with --csv: one row per scheme", 0, 0},
    {"systems", OPTION_FLAG, NULL, NULL, "list the particle systems instead", 0, 0},
    {"out", OPTION_TEXT, NULL, "DIR",
     "write order.csv, summary.csv, summary.md and two plots (.gp, .svg, .png)", 0, 0},
    {0},
};

static const OptionGroup study_group = {"Study", 1, study_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&study_group, &output_group, NULL};

static const char *const point_columns[] = {"scheme", "system", "h", "steps", "evals", "error"};
static const char *const summary_columns[] = {"scheme", "system", "expected", "measured",
                                              "low",    "high",   "constant", "verdict"};

enum { GUIDES = TREE_MAX };

typedef struct {
    System *system;
    Forest *forest;
    OrderOptions options;
    Report *points, *summary;
    int disagree;             /* schemes with that verdict */
    double guide[GUIDES + 1]; /* largest constant of an order that was met */
    double finest;            /* smallest step */
} Study;

/* ---- measuring ----------------------------------------------------------------------------------- */

static void report_points(Study *u, const Table *t, const OrderStudy *s)
{
    for (size_t i = 0; i < s->points; i++) {
        report_text(u->points, t->name);
        report_text(u->points, u->system->name);
        report_real(u->points, s->point[i].h, 6);
        report_size(u->points, s->point[i].steps);
        report_size(u->points, s->point[i].evals);
        report_real(u->points, s->point[i].error, 4);
        if (!(s->point[i].h >= u->finest)) u->finest = s->point[i].h;
    }
}

static void report_verdict(Study *u, const Table *t, const OrderStudy *s)
{
    report_text(u->summary, t->name);
    report_text(u->summary, u->system->name);
    report_size(u->summary, (uint64_t)s->expected);
    report_fixed(u->summary, s->slope, 3);
    report_fixed(u->summary, s->low, 3);
    report_fixed(u->summary, s->high, 3);
    report_real(u->summary, s->constant, 4);
    report_text(u->summary, verdict_name(s->verdict));
    u->disagree += s->verdict == VERDICT_DISAGREE;
    int met = s->verdict == VERDICT_AGREE && s->expected >= 1 && s->expected <= GUIDES;
    if (met && s->constant > u->guide[s->expected]) u->guide[s->expected] = s->constant;
}

static void warn(const Table *t, const Theory *theory, const OrderStudy *s)
{
    if (!theory->zero_stable)
        command_warn(
            "%s is zero-unstable: a root of its state weights lies outside the unit circle or is "
            "double on it, so errors grow with the number of steps and it converges at no order",
            t->name);
    else if (!theory->expands)
        command_warn(
            "%s: state weights do not sum to 1 in every row, so it does not follow the system",
            t->name);
    if (t->flows && !s->closed_flows)
        command_warn(
            "%s: a sub-flow has no closed form here; the reference integrator stands for it",
            t->name);
}

static int measure(Study *u, const Table *scheme)
{
    Theory theory;
    OrderStudy s = {0};
    Table *t = table_freeze(scheme);
    if (!t) return ERR_MEMORY;
    int code = theory_find(u->forest, t, &theory);
    if (code == 0)
        code = order_measure(t, u->system, &u->options, theory.order, theory.zero_stable, &s);
    if (code == 0) {
        report_points(u, scheme, &s);
        report_verdict(u, scheme, &s);
        warn(scheme, &theory, &s);
    }
    order_free(&s);
    table_free(t);
    return code;
}

static int measure_all(Study *u, const Selection *s)
{
    for (size_t i = 0; i < s->count; i++) {
        progress_show("order: %s on %s (%zu of %zu)", s->scheme[i]->name, u->system->name, i + 1,
                      s->count);
        TRY(measure(u, s->scheme[i]));
    }
    progress_clear();
    return 0;
}

/* ---- output -------------------------------------------------------------------------------------- */

static int draw_errors(const Study *u, const Selection *s, const char *dir)
{
    char title[256], y[64], words[32];
    snprintf(title, sizeof title, "Global error against step: %s", u->system->name);
    snprintf(y, sizeof y, "RMS error at t = %g",
             u->options.t_end > 0 ? u->options.t_end : u->system->t_end);
    PlotFrame frame = {"order", title, "step h", y, PLOT_HALVINGS | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    for (int k = 1; k <= GUIDES; k++) {
        if (!(u->guide[k] > 0)) continue;
        snprintf(words, sizeof words, "slope %d", k);
        plot_guide(p, 2.5 * u->guide[k], k, u->finest, words);
    }
    for (size_t i = 0; i < s->count; i++)
        plot_series(p, "order.csv", 1, s->scheme[i]->name, 3, 6, s->scheme[i]->name);
    return plot_finish(p);
}

static int draw_work(const Study *u, const Selection *s, const char *dir)
{
    char title[256];
    snprintf(title, sizeof title, "Work against error: %s", u->system->name);
    PlotFrame frame = {"work", title, "RMS error", "evaluations of F and G",
                       PLOT_LOG_X | PLOT_LOG_Y};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    for (size_t i = 0; i < s->count; i++)
        plot_series(p, "order.csv", 1, s->scheme[i]->name, 6, 5, s->scheme[i]->name);
    return plot_finish(p);
}

static int save(const Study *u, const Selection *s, const char *dir)
{
    TRY(output_directory(dir));
    TRY(output_report(u->points, REPORT_CSV, dir, "order.csv"));
    TRY(output_report(u->summary, REPORT_CSV, dir, "summary.csv"));
    TRY(output_report(u->summary, REPORT_MARKDOWN, dir, "summary.md"));
    TRY(draw_errors(u, s, dir));
    return draw_work(u, s, dir);
}

static int show(const Options *o, const Study *u, const Selection *s)
{
    if (!options_flag(o, "csv")) {
        printf("system %s: %s\n%zu particles of %zu coordinates; error: RMS over coordinates at "
               "the end\n"
               "order p means local error h^(p+1), global error h^p\n\n",
               u->system->name, u->system->title, u->system->n, u->system->d);
        TRY(report_write(u->summary, REPORT_PLAIN, stdout));
    } else {
        TRY(report_write(options_flag(o, "summary") ? u->summary : u->points, REPORT_CSV, stdout));
    }
    if (options_text(o, "out")) TRY(save(u, s, options_text(o, "out")));
    if (u->disagree)
        return error_set(ERR_CHECK, "%d of %zu schemes disagree with their exact order on %s",
                         u->disagree, s->count, u->system->name);
    return 0;
}

static int study(const Options *o, Study *u, const Selection *s)
{
    const char *name = options_text(o, "system");
    TRY(system_new(name ? name : system_default(), options_size(o, "particles"),
                   options_size(o, "dim"), options_size(o, "seed"), &u->system));
    TRY(forest_new(6, &u->forest));
    TRY(report_new(sizeof point_columns / sizeof *point_columns, point_columns, &u->points));
    TRY(report_new(sizeof summary_columns / sizeof *summary_columns, summary_columns, &u->summary));
    u->options = (OrderOptions){options_real(o, "t-end"), options_real(o, "h0"),
                                (int)options_size(o, "halvings")};
    u->finest = INFINITY;
    TRY(measure_all(u, s));
    return show(o, u, s);
}

static int list_systems(void)
{
    for (size_t i = 0; system_name(i); i++)
        printf("%-14s %s%s\n", system_name(i), system_title(i),
               strcmp(system_name(i), system_default()) == 0 ? " (the default)" : "");
    return 0;
}

static int run(const Options *o)
{
    Selection s;
    Study u = {0};
    if (options_flag(o, "systems")) return list_systems();
    TRY(select_open(o, "exact", &s));
    int code = study(o, &u, &s);
    report_free(u.points);
    report_free(u.summary);
    forest_free(u.forest);
    system_free(u.system);
    select_close(&s);
    return code;
}

const Command command_order = {
    .name = "order",
    .purpose = "measure orders of convergence on a particle system",
    .about = "Steps each scheme over dyadic steps and fits the slope of the global error where "
             "rounding does\n"
             "not show; the verdict compares it with the exact order. Multistep schemes take their "
             "history\n"
             "from the reference solution. Exact sub-flows unless a suffix says otherwise. Exit "
             "status 1\n"
             "means that some scheme disagrees.\n",
    .groups = groups,
    .run = run,
};
