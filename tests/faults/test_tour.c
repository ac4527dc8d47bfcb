/* test_tour.c: random command lines of every command, made from the program's own texts: the commands from `trotter
 * --help`, their options from `trotter COMMAND --help all`, kinds and ranges of values from the message that refuses an
 * empty value. Each line must end as it should (tests/faults/tour.h), in time, and leave alone all files that it was not
 * asked to write.
 *
 * Half of the lines are modest: their values are in range, and those that decide the work are small (modest_values).
 * They must end within 20 s. The others have values at and beyond the ends of their ranges, odd texts, repeated and
 * unknown options; they may take long, and are interrupted after 10 s. None may work for 5 s without a word. With
 * sanitizers, and where other programs are at work, all these times are longer.
 *
 * TROTTER_TOUR is the number of lines, TROTTER_TOUR_SEED draws others (`make soak`). TROTTER_TOUR_LINE runs the line of
 * one number alone, TROTTER_TOUR_TELL prints them all, TROTTER_TOUR_SECONDS replaces the 20.
 */
#include "tests/lib/test.h"
#include "studies/commands.h"

#include "kernels/base/random.h"
#include "tests/faults/command_rows.h"
#include "tests/faults/tour_lines.h"

/* ---- the tour -------------------------------------------------------------------------------------------------- */

static const char beside[] = "home tmp in";

/* Reports a fault where files beside the lines' own folder came, went or changed. */
static void check_untouched(Run *r)
{
    const char *files = list_files(beside);
    size_t n = 0;
    while (files[n] && files[n] == tour.untouched[n]) n++;
    while (n > 0 && files[n - 1] != '\n') n--;
    if (strcmp(files, tour.untouched) != 0)
        fault(r, "a file outside its folder changed: %.*s", (int)strcspn(files + n, "\n"),
              files + n);
    tour.untouched = files;
}

/* Runs a line in a fresh copy of the files; returns 1 where something is wrong, and prints it. */
static int try_line(const Line *l, size_t number, Run *r)
{
    double seconds = tour.seconds * SLOWER * crowd();
    int waits = strcmp(l->argv[1], "serve") == 0; /* for requests, for ever */
    Bounds b = {.whole = l->modest ? seconds : seconds / 2,
                .quiet = seconds / 4,
                .endless = !l->modest || waits,
                .spoken = waits,
                .csv = l->csv,
                .memory = SANITIZED ? 0 : (size_t)4 << 30};
    char box[PATH_MAX];
    snprintf(box, sizeof box, "%s", file_path("box"));
    shell_ok("rm -rf box && cp -a in box");
    run_bounded(program, l->argv, box, &b, r);
    check_untouched(r);
    if (!*r->fault && !tour.only && !tour.tells) return 0;
    printf("%s: seed %llu, line %zu (%s), %.1f s, at most %.1f s without a word, status %d%s\n  ",
           *r->fault ? r->fault : "as it should be", (unsigned long long)tour.seed, number,
           l->modest ? "modest" : "wild", r->seconds, r->quiet,
           WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1,
           r->interrupted ? ", interrupted" : "");
    print_line(stdout, l);
    printf("\n%.1500s\n", r->said);
    fflush(stdout);
    return *r->fault != '\0';
}

TEST(lines_end_as_they_should)
{
    size_t runs = 0;
    static Line l;
    static Run r;
    for (size_t k = 0; k < tour.commands; k++) {
        const Command *c = command_table[k];
        size_t ended[3] = {0}, stopped = 0;
        double begun = now(), quiet = 0;
        for (size_t i = 0; i < tour.each; i++) {
            size_t number = 1 + k * 1000000 + i;
            if (tour.only && tour.only != number) continue;
            draw_line(c, number, &l);
            tour.faults += (size_t)try_line(&l, number, &r);
            runs++;
            stopped += (size_t)r.interrupted;
            if (WIFEXITED(r.status) && WEXITSTATUS(r.status) < 3) ended[WEXITSTATUS(r.status)]++;
            if (r.quiet > quiet) quiet = r.quiet;
        }
        printf("# %-10s %zu done, %zu failed, %zu refused, %zu interrupted; %.1f s, longest "
               "silence %.1f s\n",
               c->name, ended[0], ended[1], ended[2], stopped, now() - begun, quiet);
        fflush(stdout);
        if (thorough() && !tour.only && (ended[0] + ended[1] == 0 || ended[2] == 0))
            fail_msg("%s: of %zu lines none was carried out, or none refused", c->name, tour.each);
    }
    printf("# %zu lines, %zu with a fault (seed %llu)\n", runs, tour.faults,
           (unsigned long long)tour.seed);
    if (tour.faults)
        fail_msg("%zu of %zu lines; the files they began with are in %s/in", tour.faults, runs,
                 folder);
}

/* ---- the judge and the generator themselves --------------------------------------------------------------------- */

/* Programs that behave badly, each in one way, and the fault to be reported; "": they behave. */
static const struct {
    const char *script, *words;
    int endless, csv;
} stand_ins[] = {
    {"exit 0", "", 0, 0},
    {"echo 'trotter: no' >&2; exit 2", "", 0, 0},
    {"printf 'a note\\r\\033[Ktrotter: no\\n' >&2; exit 2", "", 0, 0},
    {"printf 'a,b\\r\\n\"x, \"\"y\"\"\\n\",2\\r\\n'", "", 0, 1},
    {"while :; do sleep 0.1; echo at work >&2; done", "", 1, 0},
    {"trap 'exit 130' INT; while :; do sleep 0.1; echo 1; done", "", 1, 0},
    {"exec sleep 100", "without a word", 1, 0},
    {"trap '' INT; echo at work >&2; sleep 1; exec sleep 100", "without a word", 1, 0},
    {"trap '' INT; while :; do sleep 0.1; echo 1; done", "after an interrupt", 1, 0},
    {"while :; do sleep 0.1; echo at work >&2; done", "it takes longer than", 0, 0},
    {"kill -SEGV $$", "it died of signal 11", 0, 0},
    {"kill -INT $$", "it died of signal 2", 0, 0},
    {"echo 'trotter: no' >&2; echo 'trotter: really' >&2; exit 2", "without exactly one line", 0,
     0},
    {"echo 'no' >&2; exit 2", "without exactly one line", 0, 0},
    {"exit 2", "without exactly one line", 0, 0},
    {"exit 1", "without a last line", 0, 0},
    {"exit 3", "exit status 3", 0, 0},
    {"exit 130", "nobody interrupted it", 0, 0},
    {"echo '==1==ERROR: AddressSanitizer: x' >&2; exit 1", "it says 'Sanitizer'", 0, 0},
    {"echo 'x.c:1:2: runtime error: y' >&2; exit 1", "it says 'runtime error", 0, 0},
    {"printf 'a,b\\n1\\n'", "line 2 of stdout is not CSV", 0, 1},
    {"printf 'a,b\\n1,2\\nc \"d\",3\\n'", "line 3 of stdout is not CSV", 0, 1},
    {"printf 'a,b\\n1,2'", "line 2 of stdout is not CSV", 0, 1},
    {"printf 'a,\"b\\n1,2\\n'", "of stdout is not CSV", 0, 1},
    {"sleep 100 & exit 0", "a process that it started is left", 0, 0},
    {"echo x >../home/x", "a file outside its folder changed", 0, 0},
    {"rm ../in/empty", "a file outside its folder changed", 0, 0},
};

TEST(bad_programs_are_told)
{
    static Run r;
    char path[PATH_MAX], box[PATH_MAX];
    shell_ok("rm -rf box && cp -a in box");
    strcpy(path, file_path("stand-in"));
    strcpy(box, file_path("box"));
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++) {
        const char *script = stand_ins[i].script, *words = stand_ins[i].words;
        char text[512], *const argv[] = {path, NULL};
        Bounds b = {.whole = 2 * crowd(),
                    .quiet = 1.2 * crowd(),
                    .endless = stand_ins[i].endless,
                    .csv = stand_ins[i].csv};
        int n = snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
        file_write("stand-in", text, (size_t)n);
        chmod(path, 0755);
        run_bounded(path, argv, box, &b, &r);
        check_untouched(&r);
        if (*words ? !strstr(r.fault, words) : *r.fault)
            fail_msg("'%s': '%s', not '%s'; it says: %s", script, r.fault, words, r.said);
    }
    shell_ok("rm -f home/x && : >in/empty");
    tour.untouched = list_files(beside);
}

/* Every row of modest_values has its option; a row without one would keep no line modest. */
TEST(modest_values_are_of_options)
{
    for (size_t i = 0; i < MODEST; i++) {
        size_t found = 0;
        for (const Command *const *c = command_table; *c; c++)
            for (size_t j = count_options(*c); j-- > 0;)
                found += modest_index(*c, option_at(*c, j)) == i;
        if (!found) fail_msg("no command has --%s any more", modest_values[i].name);
    }
}

/* ---- set-up -------------------------------------------------------------------------------------------------------- */

static int open_all(void **state)
{
    const char *lines = getenv("TROTTER_TOUR"), *seed = getenv("TROTTER_TOUR_SEED");
    const char *only = getenv("TROTTER_TOUR_LINE"), *seconds = getenv("TROTTER_TOUR_SECONDS");
    if (command_rows_open(state) != 0) return -1;
    tour.lines = lines ? (size_t)atol(lines) : FEW;
    tour.seed = seed ? (uint64_t)atoll(seed) : 1;
    tour.only = only ? (size_t)atol(only) : 0;
    tour.tells = getenv("TROTTER_TOUR_TELL") != NULL;
    tour.seconds = seconds ? atof(seconds) : 20;
    shell_ok("mkdir home tmp; rm -rf box");
    setenv("HOME", file_path("home"), 1);
    setenv("TMPDIR", file_path("tmp"), 1);
    file_text("in/more.csv", "scheme,system,h,evals,seconds,error\neuler,x,0.5,2,0.1,0.1\n"
                             "euler,x,0.25,4,0.2,0.05\n");
    file_text("in/plan", "# a plan\nheun - euler\n");
    file_text("in/empty", "");
    shell_ok("echo heun,x,3,,nan >>in/runs.csv; head -c 100000 /dev/zero >in/zeros");
    run_ok("train --corpus in/text --scheme ab2 --layers 3 --activation gelu --max-steps 3 "
           "--out in/deep" TINY_TRAIN);
    count_tables();
    tour.each = (tour.lines + tour.commands - 1) / tour.commands;
    tour.untouched = list_files(beside);
    return 0;
}

/* Keeps the files of a tour with faults, so that its lines can be run again. */
static int close_all(void **state)
{
    zoo_close(&tour.zoo);
    return tour.faults ? 0 : program_close(state);
}

TEST_MAIN(open_all, close_all)
