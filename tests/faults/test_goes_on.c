/* test_goes_on.c: what was stopped anywhere and goes on ends like what was not, for options drawn at random: trainings,
 * comparisons, fine-tunings. A run dies as it renames a file (ptrace), once or twice. */
#include "tests/lib/drawn_options.h"

#include "tests/faults/command_rows.h"

enum { LONGEST = 2048, RENAMES = 12 };

static const DrawnOption comparison[] = {
    {1, "scheme", "euler,heun|transformer,macaron"},
    {3, "objective", "masked"},
    {3, "bpe", "4"},
    {3, "average", "2"},
    {3, "layers", "1,2"},
    {3, "truncation", "0"},
    {3, "schedule", "cosine"},
    {3, "eval-every", "3"},
    {3, "dropout", "0.3"},
    {0},
};
static const DrawnOption tuning[] = {
    {1, "rates", "1e-2|1e-2,1e-3"},
    {1, "seeds", "1|2"},
    {1, "epochs", "1|2|3"},
    {2, "pretrained-only", ""},
    {2, "dropout", "0.1"},
    {3, "clip", "0.5"},
    {3, "part", "0.2"},
    {3, "patience", "1"},
    {3, "weight-decay", "0.1"},
    {3, "batch-tokens", "64"},
    {0},
};

static const struct {
    const char *begin, *again; /* again: goes on; NULL: the line itself does */
    const DrawnOption *options;
} lines[] = {
    {"train --corpus text --out o" TINY_TRAIN, " --resume", drawn_options},
    {"compare --seeds 1 --epochs 2 --truncation-tokens 2 --corpus text --out o" TINY_TRAIN, "",
     comparison},
    {"finetune --model masked --task task.tsv --threads 1 --out o", "", tuning},
};

/* Ends the run where it is about to rename a file for the last time that is left. */
static int cut(void *arg, Call *c)
{
    size_t *left = arg;
    return c->number == SYS_rename && --*left == 0 ? TRACE_KILL : TRACE_PASS;
}

/* Runs a line in box/ up to its n-th file. Returns its status, -1 where it was stopped there. */
static int run_to(const char *line, size_t n)
{
    Traced t = {.meet = cut, .arg = &n, .seconds = AWAIT_SECONDS};
    Copies c;
    Order o = {0};
    traced_filter(&o.calls, SYS_rename);
    copies_stand(&c, line);
    int status = copies_run(&c, &o, &t);
    copies_leave(&c);
    if (status == COPIES_UNTRACED) print_message("# SKIP no process is traced here\n"), skip();
    return status;
}

/* Tells whether the models and tables in kept/o and box/o are the same but for times and memory. */
static int same_results(void)
{
    return shell(
               "cd kept/o && find . -name '*.safetensors' -o -name '*.csv' | grep -v -e state -e "
               "commands.csv | while read f; do case $f in *.csv) for d in . ../../box/o; do awk -F, "
               "'NR == 1 { for (i = 1; i <= NF; i++) off[i] = $i ~ /second|per_s|bytes|time|_mb/ } "
               "{ for (i = 1; i <= NF; i++) printf \"%%s,\", off[i] ? \"\" : $i; print \"\" }' $d/$f "
               "| cksum; done | uniq | wc -l | grep -qx 1;; *) cmp -s $f ../../box/o/$f;; esac || { "
               "echo $f differs >&2; exit 1; }; done") == 0;
}

/* Returns 1 where a drawn line that was stopped ends like one that was not; 0: it is refused. planted: the straight one divides
 * by numbers that are 1e-9 larger, which must show. */
static int goes_on(size_t which, int planted, size_t *stops)
{
    char line[LONGEST], again[LONGEST], straight[LONGEST];
    snprintf(line, sizeof line, "%s", lines[which].begin);
    draw_options(lines[which].options, line, sizeof line);
    snprintf(again, sizeof again, "%s%s", line, lines[which].again);
    snprintf(straight, sizeof straight, "%s%s", line, planted ? " --eps 1.1e-8" : "");
    box_fill();
    int status = shell("cd box && PATH=/nowhere exec %s %s", program, straight);
    if (status == 2) return 0;
    shell_ok("rm -rf kept; mkdir kept; mv box/o kept");
    int got = run_to(line, 1 + draw(RENAMES));
    for (int more = (int)draw(2); got < 0; more--) {
        const char *next = file_exists("box/o/config.ini") ? again : line;
        ++*stops;
        got = more > 0 ? run_to(next, 1 + draw(RENAMES))
                       : shell("cd box && PATH=/nowhere exec %s %s", program, next);
    }
    if (got != status) fail_msg("%s: status %d, %d straight: %s", line, got, status, err);
    int same = same_results();
    if (same == planted) fail_msg("%s%s: %s", planted ? "planted: " : "", line, err);
    return 1;
}

TEST(what_was_stopped_ends_like_what_was_not)
{
    size_t n = draws(6), ran = 0, stops = 0, each[3] = {0};
    for (size_t k = 0; ran < n; k++) {
        size_t which = ran % 3 == 2 ? 1 + ran / 3 % 2 : 0;
        int one = goes_on(which, which == 0 && ran + 2 >= n, &stops);
        each[which] += (size_t)one;
        ran += (size_t)one;
        if (k > 3 * n + 9) fail_msg("%zu of %zu lines are refused: %s", k - ran, k, err);
    }
    print_message("# %zu trainings, %zu comparisons, %zu fine-tunings, stopped %zu times\n",
                  each[0], each[1], each[2], stops);
    assert_true(stops >= n / 2);
}

TEST_MAIN(command_rows_open, program_close)
