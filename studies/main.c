/* main.c: the program: help, signals, and the exit status. */
#include <errno.h>
#include <gsl/gsl_errno.h>
#include <limits.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ranks.h"
#include "kernels/threads.h"
#include "studies/base/plot/plot.h"
#include "studies/commands.h"
#include "studies/base/help.h"
#include "kernels/base/nearest.h"
#include "studies/base/record.h"
#include "studies/base/screen.h"
#include "studies/base/process/start.h"
#include "studies/base/process/waiting.h"

/* ---- help ---------------------------------------------------------------------------------------- */

static void print_overview(void)
{
    printf("Usage: trotter COMMAND [OPTION]...\n" TROTTER_PURPOSE "\n\n"
           "Commands:\n");
    for (int i = 0; command_table[i]; i++)
        printf("  %-10s %s\n", command_table[i]->name, command_table[i]->purpose);
    printf("\n" TROTTER_USE "Status: " TROTTER_STATUS TROTTER_STATUS_SAVED " (");
    for (int i = 0, n = 0; command_table[i]; i++)
        if (command_table[i]->saves) printf("%s%s", n++ ? ", " : "", command_table[i]->name);
    printf(").\n");
}

/* ---- running ------------------------------------------------------------------------------------- */

static void on_signal(int signal_number)
{
    (void)signal_number;
    command_stop = 1;
}

/* Says so and ends by the signal itself, as if it had not been caught. */
static void on_end(int signal_number)
{
    notice_interrupted();
    raise(signal_number);
}

/* Catches the first SIGINT or SIGTERM; a second Ctrl-C ends the program at once. For a command that saves nothing a
 * signal that was ignored from the start, as by nohup, stays ignored. Handlers have a separate stack: oneDNN's products
 * put the stack pointer into small blocks of the heap, which the frame of a signal (11 KB with AMX) would overrun. */
static void catch_stop(int saves)
{
    static char room[1 << 16];
    static const int signals[] = {SIGINT, SIGTERM};
    struct sigaction stop = {.sa_handler = saves ? on_signal : on_end,
                             .sa_flags = (int)(SA_RESETHAND | SA_ONSTACK)},
                     before;
    sigaltstack(&(stack_t){.ss_sp = room, .ss_size = sizeof room}, NULL);
    for (int i = 0; i < 2; i++)
        if (saves || (sigaction(signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL))
            sigaction(signals[i], &stop, NULL);
}

/* Returns the directory where the command writes its results; NULL: it has none. */
static const char *directory(const Command *c, const Options *o)
{
    return !c->one_file && options_known(o, "out") ? options_text(o, "out") : NULL;
}

/* Returns the number of threads that are asked for by the option or by the environment. */
static size_t threads_asked(const Options *o)
{
    const char *text = getenv("OMP_NUM_THREADS");
    long set = text ? strtol(text, NULL, 10) : 0;
    size_t asked = options_known(o, "threads") ? options_size(o, "threads") : 0;
    return asked ? asked : set > 0 ? (size_t)set : (size_t)omp_get_max_threads();
}

static size_t threads_of(const Options *o)
{
    size_t asked = threads_asked(o);
    return (size_t)threads_held(asked < INT_MAX ? (long)asked : INT_MAX);
}

/* Warns of more threads than processors: they wait for each other, and each takes memory. The environment keeps each run
 * that a study starts from repeating it. */
static void warn_threads(const Options *o)
{
    static const char said[] = "TROTTER_THREADS_SAID";
    if (!options_known(o, "threads") || ranks_follows() || getenv(said)) return;
    size_t processors = (size_t)threads_processors(), asked = threads_asked(o),
           threads = threads_of(o);
    if (asked <= processors) return;
    if (threads < asked)
        notice_warn("%zu threads are more than %d: this takes %zu, one for each processor", asked,
                    THREADS_MOST, threads);
    else
        notice_warn("%zu threads for %zu processor%s: more take more memory and are slower",
                    threads, processors, processors > 1 ? "s" : "");
    setenv(said, "1", 1);
}

static int run_given(const Command *c, Options *o, int argc, char **argv)
{
    const char *where = "";
    const OptionGroup *const *groups = c->narrow ? c->narrow(o, &where) : c->groups;
    const char *help = options_text(o, "help");
    if (help) return help_print(c, groups, help, stdout);
    const char *dir = directory(c, o);
    if (c->narrow) TRY(options_within(o, groups, where));
    if (dir) TRY(output_check(dir));
    warn_threads(o);
    plot_figure(options_known(o, "figure") ? options_text(o, "figure") : NULL);
    catch_stop(c->saves);
    progress_faster(c->faster);
    if (command_setting) waiting_begin((int)threads_of(o));
    int code = c->run(o);
    dir =
        directory(c, o); /* a study that has its files does not fail where only this record fails */
    if (dir && record_command(dir, argc, argv, code) != 0 && code == 0)
        notice_warn("the command is not recorded: %s", error_text());
    return code;
}

static int run_command(const Command *c, int argc, char **argv)
{
    SCOPED(options_drop) Options *o = NULL;
    TRY(options_new(c->groups, &o));
    int operand = c->operand && argc > 1 && argv[1][0] != '-';
    if (operand) TRY(options_set(o, OPTION_ARGUMENT, "", c->operand, argv[1]));
    TRY(options_arguments(o, argc - operand, argv + operand));
    return run_given(c, o, argc, argv);
}

/* Closes stdout. Data that did not reach it is a failure; a reader that went away needs no words. */
static int close_stdout(int status)
{
    int failed = ferror(stdout);
    if (fclose(stdout) == 0 && !failed) return status;
    int error = screen_error() ? screen_error() : errno;
    if (error != EPIPE) fprintf(stderr, "trotter: stdout: %s\n", strerror(error));
    return status ? status : 1;
}

static int unknown_command(const char *name)
{
    const char *names[64];
    size_t n = 0;
    for (; command_table[n]; n++) names[n] = command_table[n]->name;
    const char *near = *name == '-' ? NULL : nearest_name(name, names, n);
    error_set(ERR_INPUT, "%s", name); /* one line, whatever was given */
    if (*name == '-')
        fprintf(
            stderr,
            "trotter: unknown option '%s'; there are --help and --version, and those of commands\n",
            error_text());
    else if (near)
        fprintf(stderr, "trotter: unknown command '%s'; the nearest is '%s'\n", error_text(), near);
    else
        fprintf(stderr, "trotter: unknown command '%s'; 'trotter --help' lists them\n",
                error_text());
    return 2;
}

static int run_named(int argc, char **argv)
{
    for (int i = 0; command_table[i]; i++) {
        if (strcmp(argv[1], command_table[i]->name) != 0) continue;
        command_begin(command_table[i]->name);
        int code = run_command(command_table[i], argc - 1, argv + 1);
        progress_clear();
        if (code != 0 && !(command_table[i]->ranks && ranks_follows())) command_failed(code);
        return error_status(code);
    }
    return unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    command_setting = start_restore();
    screen_begin();
    gsl_set_error_handler_off(); /* GSL returns codes on failure instead; its own handler aborts */
    signal(SIGPIPE, SIG_IGN);    /* a failed write, which close_stdout reports */
    signal(SIGXFSZ, SIG_IGN);    /* likewise, a write beyond the file size limit */
    int status = 0;
    char help[] = "--help",
         *asked[] = {argv[0], argc > 2 ? argv[2] : help, help, argc > 3 ? argv[3] : NULL, NULL};
    if (argc > 1 && strcmp(argv[1], "help") == 0) /* 'help train rate' is 'train --help rate' */
        argc = argc < 4 ? argc : 4, argv = asked;
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        print_overview();
    else if (strcmp(argv[1], "--version") == 0)
        printf("trotter %s\n", TROTTER_VERSION);
    else
        status = run_named(argc, argv);
    return close_stdout(status);
}
