/* command_order.c: measures order: global errors on a particle system over dyadic steps, against the
 * exact order of the table. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/solve/order.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"
#include "studies/base/system_language.h"

#define USUAL "euler,transformer,lie-trotter,strang-marchuk,heun,heun-layer,rk3,rk4,ab2"
/* The usual schemes that a model with one set of each operator can take. */
#define ONE_SET "euler,transformer,lie-trotter,heun,heun-layer,rk3,rk4,ab2"

/* Shows people the columns of --columns; in the table of convergence behind h. */
static int choose_columns(const Options *o, const ConvergenceStudy *u)
{
    char names[512];
    const char *given = options_text(o, "columns");
    int summary = options_flag(o, "summary");
    if (!given) return 0;
    snprintf(names, sizeof names, "%s%s", summary ? "" : "h,", given);
    return sheet_choose(summary ? u->summary : u->rates, names);
}

/* Checks --columns before anything is measured. */
static int check_columns(const Options *o)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    if (!options_text(o, "columns")) return 0;
    TRY(sheet_new(options_flag(o, "summary") ? order_summary : order_cells, &s));
    return sheet_choose(s, options_text(o, "columns"));
}

static int show(const Options *o, const ConvergenceStudy *u, const Selection *s)
{
    int summary = options_flag(o, "summary");
    TRY(choose_columns(o, u));
    if (options_text(o, "format")) {
        TRY(sheet_write(summary ? u->summary : u->rates, SHEET_PLAIN + options_choice(o, "format"),
                        stdout));
    } else if (!options_flag(o, "csv")) {
        choose_tell(u->system);
        printf("; error: RMS over coordinates %s\n"
               "order p means local error h^(p+1), global error h^p\n\n",
               u->options.local ? "after one step" : "at the end");
        if (!summary) {
            TRY(sheet_write(u->rates, SHEET_PLAIN, stdout));
            putchar('\n');
        }
        TRY(sheet_write(u->summary, SHEET_PLAIN, stdout));
    } else {
        TRY(sheet_write(summary ? u->summary : u->points, SHEET_CSV, stdout));
    }
    if (options_text(o, "out")) TRY(convergence_save(u, s, options_text(o, "out")));
    size_t disagree = convergence_disagree(u);
    if (disagree)
        return error_set(
            ERR_CHECK, "%zu of %zu schemes disagree with their exact order or error constant on %s",
            disagree, s->count, u->system->name);
    size_t inconsistent = convergence_inconsistent(u);
    if (inconsistent && scheme_many(options_text(o, "scheme")) < 0)
        return error_set(ERR_CHECK, "%zu of %zu schemes %s not consistent", inconsistent, s->count,
                         inconsistent == 1 ? "is" : "are");
    return 0;
}

/* A system, or an option that may follow its name. */
typedef struct {
    const char *system, *title;
    int is_default;
    double initial, low, high;
} SystemRow;

static const Column system_columns[] = {
    COLUMN(SystemRow, system),
    COLUMN(SystemRow, title, .words = "description of the system"),
    FIELD(SystemRow, "default", is_default, .form = SHEET_FLAG,
          .words = "whether it is used where none is named"),
    COLUMN(SystemRow, initial, .head = "usual", .sparse = 1),
    COLUMN(SystemRow, low, .head = "from", .sparse = 1),
    COLUMN(SystemRow, high, .head = "to", .sparse = 1),
    {0}};

static void add_options(size_t i, Sheet *s)
{
    char written[128];
    for (const SystemOption *o = system_options(i); o && o->name; o++) {
        SystemRow row = {written, o->words, -1, o->initial, o->low, o->high};
        snprintf(written, sizeof written, o->flag ? "%s:%s" : "%s:%s=X", system_name(i), o->name);
        if (o->flag) row.initial = row.low = row.high = NAN;
        sheet_row(s, &row);
    }
}

/* Lists the systems, for people with their options, which stand behind a colon. */
static int list_systems(int csv)
{
    SCOPED(sheet_drop) Sheet *s = NULL;
    TRY(sheet_new(system_columns, &s));
    for (size_t i = 0; system_name(i); i++) {
        int usual = strcmp(system_name(i), system_default()) == 0;
        sheet_row(s, &(SystemRow){system_name(i), system_title(i), usual, NAN, NAN, NAN});
        if (!csv) add_options(i, s);
    }
    sheet_row(s, &(SystemRow){TRAINED_WORDS, "a layer of a trained model", 0, NAN, NAN, NAN});
    return sheet_write(s, csv ? SHEET_CSV : SHEET_PLAIN, stdout);
}

static int study_orders(const Options *o, const SystemChoice *system, const Selection *s)
{
    SCOPED(convergence_free) ConvergenceStudy u = {0};
    OrderOptions how = {.t_end = options_real(o, "t-end"),
                        .h0 = options_real(o, "h0"),
                        .halvings = (int)options_size(o, "halvings"),
                        .local = options_flag(o, "local"),
                        .repeats = options_text(o, "out") ? 4 : 0};
    TRY(convergence_run(system, &how, s, &u));
    return show(o, &u, s);
}

static int study_adaptive(const Options *o, const SystemChoice *system, Selection *s)
{
    TRY(adaptive_select(s, !s->from_files && scheme_many(options_text(o, "scheme")) >= 0));
    return adaptive_study(o, system, s);
}

static int run(Options *o)
{
    SCOPED(select_close) Selection s = {0};
    SystemChoice system = choose_options(o);
    int invariant = options_flag(o, "invariant"), adaptive = options_flag(o, "adaptive");
    TRY(options_needs(o));
    TRY(options_either(o, "adaptive", "invariant local"));
    TRY(options_either(o, "invariant", "local"));
    TRY(options_either(o, "csv", "format columns"));
    TRY(options_either(o, "format", "invariant adaptive"));
    TRY(options_either(o, "columns", "invariant adaptive"));
    TRY(check_columns(o));
    if (invariant && options_rank(o, "halvings") != OPTION_DEFAULT)
        return error_set(ERR_INPUT, "--halvings has no meaning with --invariant: give --h0");
    if (adaptive && options_rank(o, "halvings") != OPTION_DEFAULT)
        return error_set(ERR_INPUT, "--halvings has no meaning with --adaptive: give --tolerances");
    if (options_flag(o, "systems")) return list_systems(options_flag(o, "csv"));
    int trained = system.name && trained_named(system.name);
    const char *usual = invariant ? INVARIANT_SCHEMES : adaptive ? "all" : trained ? ONE_SET : NULL;
    if (usual && options_rank(o, "scheme") == OPTION_DEFAULT)
        TRY(options_set(o, OPTION_DEFAULT, "", "scheme", usual));
    TRY(select_open(o, "exact", &s));
    return invariant  ? invariant_study(o, &system, &s)
           : adaptive ? study_adaptive(o, &system, &s)
                      : study_orders(o, &system, &s);
}

const Command command_order = {
    .name = "order",
    .purpose = "measure orders of convergence on a particle system",
    .about =
        "Each scheme takes steps h0, h0/2, h0/4, ..., and, where that settles the slope, steps between them\n"
        "or smaller ones. The slope of the global error is fitted where rounding does not show. The\n"
        "verdict compares it with the exact order: agree, higher, disagree, diverges, floor (rounding hides\n"
        "it), unstable, inconsistent. An error that is seen to come near c h^p, c other than 0, agrees with order p\n"
        "whatever the slope at coarser steps; it is undecided, not higher, where such a term is seen but does not lead\n"
        "yet. Sub-flows are exact unless a suffix says otherwise. Multistep\n"
        "schemes take their first steps from the reference solution. Where equations have no derivatives, 0 = ...,\n"
        "schemes whose last stage is not the new state may have a lower order, which is expected then (Hairer,\n"
        "Wanner 1996, VI.1); where these are linear they have their own one, and are told to be higher.\n"
        "\n"
        "Steps too large for a scheme's stability are left out; `unstable_from` is the finest. If\n"
        "too few are left, the verdict is `unstable`: take a smaller --h0, more --halvings or a shorter --t-end.\n"
        "\n"
        "`constant` is the factor c of error = c h^p as h -> 0. `predicted` is c by the theory: the elementary\n"
        "differentials of order p + 1, carried along the solution (0: that term vanishes here),\n"
        "up to order 7: beyond, differences have too few digits.\n"
        "`match` compares the two as vectors, so the sign counts. It is empty where c is known to 15 % at\n"
        "best. Exit status 1: a scheme disagrees or, named by --scheme, is not consistent.\n"
        "\n"
        "With --adaptive every scheme with an estimate of its error (a line error = ... in its text) takes\n"
        "steps as long as the tolerance allows (PI control; Gustafsson 1991). Hairer's rule\n"
        "or --h0 gives the first step. A pair of order p whose estimate is O(h^(q+1)) has an error that goes\n"
        "like tolerance^(p/(q+1)). That power is `expected`; the fitted one is `slope`. Exit status 1: a\n"
        "scheme does not end.\n"
        "\n"
        "A trained model is a system: --system network:DIR, or network:DIR:LAYER (from 0), reads what\n"
        "'trotter train --out DIR' wrote, in double precision. F is the layer's attention and G its\n"
        "feed-forward network, each with its layer norm and without dropout; depth is time. The particles\n"
        "(8) are the first words of DIR/vocab.txt, embedded, with positions where the model has them. A\n"
        "scheme that reads G2 needs a model trained with two sets. A model of ReLU is refused: no order\n"
        "above 1 survives its kinks.\n",
    .language = {LANGUAGE_OF_SYSTEMS, LANGUAGE_OF_EQUATIONS},
    .often =
        "scheme scheme-file system system-file systems particles t-end h0 halvings local adaptive summary csv out",
    .example = "--scheme rk4,heun --summary --out out/order",
    .faster = "fewer --scheme, lower --halvings, --particles",
    .groups = GROUPS(
        OPTION_GROUP(
            "Study", 1,
            {"scheme", OPTION_TEXT, USUAL, "A,B,...",
             "names separated by commas, all, exponential or rosenbrock"},
            SELECT_FILE,
            {"system", OPTION_TEXT, NULL, "P",
             "particle system, options behind colons (transport:periodic:peclet=9), or " TRAINED_WORDS
             " (default: the one that --systems marks)"},
            {"system-file", OPTION_TEXT, NULL, "FILE",
             "a particle system of your own; described above"},
            CHOOSE_SIZES,
            {"t-end", OPTION_REAL, NULL, "T",
             "time of the comparison, from 0 on (default: the system's own)", 1e-9, 1e6},
            {"h0", OPTION_REAL, NULL, "H", "coarsest step (default: the system's own)", 1e-9, 1e6},
            {"halvings", OPTION_SIZE, "7", "N", "how often the step is halved", 4, 24},
            {"local", OPTION_FLAG, NULL, NULL,
             "measure the local error: one step from exact history, slope p + 1"},
            {"invariant", OPTION_FLAG, NULL, NULL,
             "measure energy over a long time (t-end 200, step h0 / 2) and reversal instead; kepler, henon"},
            {"adaptive", OPTION_FLAG, NULL, NULL,
             "choose steps by tolerance instead, for schemes with an estimate of their error (default: all of "
             "them), beside GSL's, Boost's and ARKODE's; --h0 is the first step"},
            {"tolerances", OPTION_REALS, "1e-3,1e-4,1e-5,1e-6,1e-7,1e-8,1e-9,1e-10", "X,...",
             "tolerances of --adaptive; each is both atol and rtol: a step from y_n to y_n+1 with the estimated error e passes "
             "where the RMS over i of e_i / (atol + rtol max(|y_n,i|, |y_n+1,i|)) is at most 1; low and high of the "
             "summary are the 95 % interval of slope (Student's t)",
             1e-14, 1, .needs = "adaptive"}),
        OPTION_GROUP(
            "Output", 0,
            {"csv", OPTION_FLAG, NULL, NULL,
             "write CSV: every error, or with --summary the verdicts"},
            {"summary", OPTION_FLAG, NULL, NULL,
             "print one row per scheme, without every error; low and high are the ends of the interval of measured, the slope: "
             "95 % by the fit of log error over log h (Student's t), wider by what coarse steps and rounding may add; "
             "constant_low and constant_high are constant less and plus what its extrapolation to h = 0 may be off by, a "
             "bound by differences in Neville's table and by rounding, of no statistical level"},
            {"columns", OPTION_TEXT, NULL, "A,B,...",
             "columns of the table for people: of each scheme error, rate, steps, evals, seconds (default "
             "error,rate); with --summary those of its CSV"},
            {"format", OPTION_CHOICE, NULL, "text|markdown|latex",
             "print the table alone, in this form (LaTeX: package booktabs)"},
            {"systems", OPTION_FLAG, NULL, NULL,
             "list the particle systems and their options instead"},
            {"out", OPTION_TEXT, NULL, "DIR",
             "write order.csv, its table by step as .md, .tex, work.csv, summary.csv, .md, .tex (--adaptive: adaptive and "
             "tolerance, .csv, .md, .tex) and plots (.gp, .svg, .png)"},
            PLOT_FIGURE)),
    .kinds = KINDS(
        {.command = "order",
         .title = "Measured order of convergence",
         .about =
             "Global errors on a particle system over halved steps. The slope of the error "
             "against the step is fitted where rounding does not show, and compared with the exact "
             "order. " KIND_ORDERS,
         .judge = orders_judge,
         .table = {{"summary", order_summary,
                    "Exact and measured orders; in brackets the 95 % interval of the slope.",
                    KIND_ALL},
                   {"order", order_points, "Errors", 0},
                   {"work", order_work, "Errors and times", 0}},
         .plot = {{"order", "Error against step. Dotted: slopes of whole orders."},
                  {"work", "Error against evaluations of F and G."},
                  {"time", "Error against the time of one run."}},
         .also = "compare"},
        {.command = "order --invariant",
         .title = "Energy over long times",
         .about = "The largest relative error of the energy over a long time, and how far from its "
                  "start a run ends after going back.",
         .table = {{"invariant", invariant_columns, "Drift of the energy, and reversibility.",
                    KIND_ALL},
                   {"drift", drift_columns, "Energy errors", 0}},
         .plot = {{"drift", "Largest relative energy error against time."}}},
        {.command = "order --adaptive",
         .title = "Steps by tolerance",
         .about =
             "Embedded pairs take steps as long as their estimated errors allow. Those of GSL, Boost "
             "and ARKODE, with their own controllers, stand beside them. A pair of order p with an estimate "
             "$O(h^(q+1))$ has an error that goes like $tolerance^(p/(q+1))$.",
         .table = {{"tolerance", tolerance_columns,
                    "Powers of the tolerance that errors follow; in brackets their 95 % intervals.",
                    KIND_ALL},
                   {"adaptive", adaptive_columns, "Errors and work by tolerance.", KIND_ALL}},
         .plot = {{"precision",
                   "Error against evaluations of F and G; each point is one tolerance."},
                  {"tolerance", "Error against tolerance."}}}),
    .run = run,
};
