/* bench_goals.c: `trotter bench goals`: what is to be reached beside PyTorch on a GPU, row by row, and whether the recorded
 * figures of bench train, pairs and translate reach it. studies/scripts/gpu.sh runs the commands of these rows.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "studies/bench/bench.h"
#include "studies/tools/csv.h"
#include "studies/tools/output.h"

static const Option options[] = {
    {"from", OPTION_TEXT, NULL, "FILE,...", "CSV files of bench train, pairs, translate"}, {0}};
const OptionGroup bench_goals_group = {"Goals", 1, options};

/* The rows; each is measured in every precision below. `what`, with the backend for %s, and `variant` are its names in CSV. */
static const struct {
    const char *command, *what, *variant, *speed;
    double goal; /* times PyTorch's best; 0: that of the precision */
} rows[] = {
    {"train --width 512 --scheme transformer", "train.%s.512", "transformer", "tokens_per_s", 0},
    {"train --width 128 --scheme transformer", "train.%s.128", "transformer", "tokens_per_s", 0},
    {"train --width 6x512 --scheme transformer", "train.%s.6x512", "transformer", "tokens_per_s",
     0},
    {"train --width 512 --scheme rk4-layer", "train.%s.512", "rk4-layer", "tokens_per_s", 0},
    {"pairs --size 128 --stacks transformer/transformer", "pairs.%s.128", "transformer/transformer",
     "tokens_per_s", 0},
    {"translate --size 128 --sentences 64", "translate.%s.128.base", "64", "sentences_per_s", 2}};

static const struct {
    const char *name;
    double goal;
} precisions[] = {{"bf16", 1.5}, {"tf32", 1.3}};

typedef struct {
    const char *command;
    double own, peer, ratio, goal; /* NaN: not measured */
    const char *way, *met;
} GoalRow;

static const Column columns[] = {
    COLUMN(GoalRow, command, .words = "arguments of trotter bench"),
    COLUMN(GoalRow, own, .digits = 4, .words = "tokens or sentences a second"),
    COLUMN(GoalRow, peer, .digits = 4, .words = "PyTorch's in its fastest way"),
    COLUMN(GoalRow, way, .words = "name of that way"),
    COLUMN(GoalRow, ratio, .form = SHEET_FIXED, .digits = 2),
    COLUMN(GoalRow, goal, .form = SHEET_FIXED, .digits = 2),
    COLUMN(GoalRow, met, .words = "yes, no, or empty: not measured"),
    {0}};

/* Reads what the file has of a row; the last file that has it counts. */
static int read_row(const Csv *c, const char *prefix, const char *variant, const char *speed,
                    GoalRow *r, char way[64])
{
    size_t n = strlen(prefix);
    for (size_t i = 0; i < c->rows; i++) {
        const char *what = csv_named(c, i, "what");
        double x;
        if (strcmp(csv_named(c, i, "variant"), variant) != 0 || strncmp(what, prefix, n) != 0 ||
            what[n] != '.')
            continue;
        TRY(csv_number(c, i, csv_column(c, "value"), &x));
        what += n + 1;
        if (strcmp(what, speed) == 0) r->own = x, r->peer = r->ratio = NAN, r->way = NULL;
        if (strncmp(what, "peer.", 5) != 0 || strchr(what + 5, '.') || x <= r->peer) continue;
        snprintf(way, 64, "%s", what + 5);
        r->way = way, r->peer = x, r->ratio = r->own / x;
    }
    return 0;
}

static int read_files(const char *list, const char *prefix, size_t i, GoalRow *r, char way[64])
{
    char *files = memory_string(list ? list : "");
    int code = files ? 0 : ERR_MEMORY;
    for (char *rest = files, *file; code == 0 && (file = strsep(&rest, ","));) {
        Csv c = {0};
        if (!*file) continue;
        code = csv_open(&c, file);
        if (code == 0) code = read_row(&c, prefix, rows[i].variant, rows[i].speed, r, way);
        csv_close(&c);
    }
    memory_free(files);
    return code;
}

static int add_row(const Options *o, Sheet *s, size_t p, size_t i, size_t *missed)
{
    char command[128], backend[16], prefix[64], way[64];
    GoalRow r = {command, NAN, NAN, NAN, rows[i].goal > 0 ? rows[i].goal : precisions[p].goal,
                 0,       0};
    snprintf(command, sizeof command, "%s --precision %s", rows[i].command, precisions[p].name);
    snprintf(backend, sizeof backend, "cuda-%s", precisions[p].name);
    const char *at = strstr(rows[i].what, "%s");
    snprintf(prefix, sizeof prefix, "%.*s%s%s", (int)(at - rows[i].what), rows[i].what, backend,
             at + 2);
    TRY(read_files(options_text(o, "from"), prefix, i, &r, way));
    if (!isnan(r.ratio)) r.met = r.ratio >= r.goal ? "yes" : "no";
    *missed += !r.met || r.ratio < r.goal;
    sheet_row(s, &r);
    return 0;
}

int bench_goals(const Options *o)
{
    enum { ROWS = sizeof rows / sizeof *rows, PRECISIONS = sizeof precisions / sizeof *precisions };
    Sheet *s;
    size_t missed = 0;
    TRY(sheet_new(columns, &s));
    int code = 0;
    for (size_t k = 0; code == 0 && k < ROWS * PRECISIONS; k++)
        code = add_row(o, s, k / ROWS, k % ROWS, &missed);
    if (code == 0)
        code = output_shown(s, options_flag(o, "csv"), options_text(o, "out"), "bench-goals");
    sheet_free(s);
    if (code == 0 && options_text(o, "from") && missed)
        code = error_set(ERR_CHECK, "%zu of %d goals are not reached or not measured", missed,
                         (int)(ROWS * PRECISIONS));
    return code;
}
