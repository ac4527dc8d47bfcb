/* command_bench.c: speed, measured here: one row per bench. */
#include "studies/bench.h"
#include "studies/command.h"

static const struct {
    const char *name;
    int (*run)(const Options *o);
} benches[] = {{"ode", bench_ode}};

static const Option bench_options[] = {
    {"what", OPTION_CHOICE, NULL, "ode", "what is timed; `trotter bench ode` says the same", 0, 0},
    {"system", OPTION_CHOICE, "all", "all|henon|fisher|attention", "the system stepped", 0, 0},
    {"repeats", OPTION_SIZE, "21", "N", "pieces of every contender, in turns", 3, BENCH_REPEATS},
    {"piece", OPTION_REAL, "10", "MS", "milliseconds of a piece, at least one step", 0.01, 1e4},
    {"budget", OPTION_REAL, "5", "S", "seconds after which a contender gets no more than 3 pieces",
     0, 1e5},
    {0},
};

static const Option output_options[] = {
    {"csv", OPTION_FLAG, NULL, NULL, "what,variant,value,unit as CSV", 0, 0},
    {"out", OPTION_TEXT, NULL, "DIR", "write DIR/bench-ode.csv and DIR/bench-ode.md too", 0, 0},
    {0},
};

static const OptionGroup bench_group = {"Bench", 1, bench_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {&bench_group, &output_group, NULL};

static int run(Options *o)
{
    if (!options_text(o, "what"))
        return error_set(ERR_INPUT, "say what to time: trotter bench ode");
    return benches[options_choice(o, "what")].run(o);
}

const Command command_bench = {
    .name = "bench",
    .purpose = "speed, side by side with other libraries on this machine",
    .about =
        "bench ode   steps per second of euler, rk4 and strang-marchuk:exact on two cheap "
        "systems (one\n"
        "            thread, processor time) and on attention (all threads, time on the clock; "
        "with\n"
        "            OMP_NUM_THREADS=1 processor time), against GSL's odeiv2 and Boost.odeint "
        "(`make\n"
        "            peers`), per evaluation of F + G; bytes moved and their share of a copy; "
        "the\n"
        "            interaction's share of the GEMM rate.\n",
    .groups = groups,
    .operand = "what",
    .run = run,
};
