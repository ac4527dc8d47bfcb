/* command_order.c: measured order: global errors on a particle system over dyadic steps, against the
 * exact order of the table. */
#include <stdio.h>
#include <string.h>

#include "studies/command.h"
#include "studies/convergence.h"
#include "studies/select.h"

static const Option study_options[] = {
    {"scheme", OPTION_TEXT,
     "euler,transformer,lie-trotter,strang-marchuk,heun,heun-layer,rk3,rk4,ab2", "A,B,...",
     "names separated by commas, or all", 0, 0},
    SELECT_FILE,
    {"system", OPTION_TEXT, NULL, "P", "particle system (default: the one that --systems marks)", 0,
     0},
    {"system-file", OPTION_TEXT, NULL, "FILE", "a particle system of your own, told below", 0, 0},
    {"particles", OPTION_SIZE, "0", "N", "particles; 0: the system's own number", 0, 4096},
    {"dim", OPTION_SIZE, "0", "D", "coordinates of a particle; 0: the system's own number", 0,
     4096},
    {"seed", OPTION_SIZE, "1", "N", "of the system's numbers and initial state", 0, 1e18},
    {"t-end", OPTION_REAL, "0", "T", "time of the comparison; 0: the system's own", 0, 1e6},
    {"h0", OPTION_REAL, "0", "H", "coarsest step; 0: the system's own", 0, 1e6},
    {"halvings", OPTION_SIZE, "7", "N", "how often the step is halved", 4, 24},
    {"local", OPTION_FLAG, NULL, NULL, "the local error: one step from exact history, slope p + 1",
     0, 0},
    {0},
};

static const Option output_options[] = {
    {"csv", OPTION_FLAG, NULL, NULL, "every error as CSV; with --summary the verdicts", 0, 0},
    {"summary", OPTION_FLAG, NULL, NULL, "with --csv: one row per scheme", 0, 0},
    {"systems", OPTION_FLAG, NULL, NULL, "list the particle systems instead", 0, 0},
    {"out", OPTION_TEXT, NULL, "DIR",
     "write order.csv, summary.csv, summary.md and plots (.gp, .svg, .png)", 0, 0},
    {0},
};

static const OptionGroup study_group = {"Study", 1, study_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&study_group, &output_group, NULL};

static int show(const Options *o, const ConvergenceStudy *u, const Selection *s)
{
    if (!options_flag(o, "csv")) {
        printf("system %s: %s\n%zu particles of %zu coordinates; error: RMS over coordinates %s\n"
               "order p means local error h^(p+1), global error h^p\n\n",
               u->system->name, u->system->title, u->system->n, u->system->d,
               u->options.local ? "after one step" : "at the end");
        TRY(report_write(u->summary, REPORT_PLAIN, stdout));
    } else {
        TRY(report_write(options_flag(o, "summary") ? u->summary : u->points, REPORT_CSV, stdout));
    }
    if (options_text(o, "out")) TRY(convergence_save(u, s, options_text(o, "out")));
    size_t disagree = convergence_disagree(u);
    if (disagree)
        return error_set(
            ERR_CHECK, "%zu of %zu schemes disagree with their exact order or error constant on %s",
            disagree, s->count, u->system->name);
    return 0;
}

static int list_systems(void)
{
    for (size_t i = 0; system_name(i); i++)
        printf("%-14s %s%s\n", system_name(i), system_title(i),
               strcmp(system_name(i), system_default()) == 0 ? " (the default)" : "");
    return 0;
}

static int run(Options *o)
{
    Selection s;
    ConvergenceStudy u = {0};
    if (options_flag(o, "systems")) return list_systems();
    OrderOptions how = {.t_end = options_real(o, "t-end"),
                        .h0 = options_real(o, "h0"),
                        .halvings = (int)options_size(o, "halvings"),
                        .local = options_flag(o, "local")};
    TRY(select_open(o, "exact", &s));
    SystemChoice system = {options_text(o, "system"), options_text(o, "system-file"),
                           options_size(o, "particles"), options_size(o, "dim"),
                           options_size(o, "seed")};
    int code = convergence_run(&system, &how, &s, &u);
    if (code == 0) code = show(o, &u, &s);
    convergence_free(&u);
    select_close(&s);
    return code;
}

const Command command_order = {
    .name = "order",
    .purpose = "measure orders of convergence on a particle system",
    .about =
        "Steps each scheme over dyadic steps and fits the slope of the global error where "
        "rounding does\n"
        "not show; the verdict compares it with the exact order. Multistep schemes take their "
        "history\n"
        "from the reference solution. Exact sub-flows unless a suffix says otherwise. `predicted` "
        "is the\n"
        "error constant of the theory: the elementary differentials of order p + 1, carried "
        "along the\n"
        "solution; `match` compares the measured one with it (0: the leading term vanishes on "
        "this\n"
        "system). Exit status 1 means that some scheme disagrees.\n",
    .groups = groups,
    .run = run,
};
