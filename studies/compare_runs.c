/* compare_runs.c: the runs of a comparison: which there are, who trains them, what they give. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "studies/command.h"
#include "studies/compare.h"
#include "studies/network.h"
#include "studies/progress.h"

/* ---- working off a list ---------------------------------------------------------------------- */

/* Runs trained so far in this call, for the time that is left. */
typedef struct {
    size_t trained;
    double seconds;
} Pace;

static size_t count_left(const Task *list, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++) left += list[i].state <= RUN_BUSY;
    return left;
}

static int is_there(const Task *t)
{
    return t->state == RUN_THERE || t->state == RUN_TRAINED;
}

/* What came of a training; measuring tells of itself. */
static void tell_task(const Task *list, size_t n, size_t i, Pace *p, double seconds)
{
    const Task *t = &list[i];
    size_t left = count_left(list, n);
    char time[32];
    if (t->state == RUN_BUSY) progress_note("    another process has it");
    if (t->state == RUN_FAILED) progress_note("    failed");
    if (t->state == RUN_THERE)
        progress_note("    is there already: perplexity %.2f on validation", t->result.valid_ppl);
    if (t->state != RUN_TRAINED) return;
    p->trained++;
    p->seconds += seconds;
    progress_time(p->seconds / (double)p->trained * (double)left, time);
    if (left) progress_note("    about %s left for the other runs", time);
}

static int stopped(void)
{
    return error_set(ERR_INTERRUPTED, "interrupted; the same command goes on from here");
}

int compare_run(Compare *u, Task *t)
{
    return runs_do(&u->runs, &t->spec, &t->result, &t->state);
}

static int do_task(Compare *u, Task *list, size_t n, size_t i, Work *work, Pace *p)
{
    char name[512];
    int was = list[i].state, trains = work == compare_run;
    double begun = progress_now();
    if (command_stop) return stopped();
    runs_name(&list[i].spec, name);
    if (trains && was == RUN_OPEN) progress_note("run %zu of %zu: %s", i + 1, n, name);
    TRY(work(u, &list[i]));
    if (!trains || list[i].state == was) return 0;
    if (was == RUN_BUSY) progress_note("run %zu of %zu: %s", i + 1, n, name);
    tell_task(list, n, i, p, progress_now() - begun);
    return 0;
}

/* A second, or less if it is to stop. */
static int wait_a_little(void)
{
    const struct timespec pause = {0, 100000000};
    for (int i = 0; i < 10 && !command_stop; i++) nanosleep(&pause, NULL);
    return command_stop ? stopped() : 0;
}

int compare_work(Compare *u, Task *list, size_t n, int wait, Work *work)
{
    Pace pace = {0};
    for (;;) {
        for (size_t i = 0; i < n; i++)
            if (list[i].state <= RUN_BUSY) TRY(do_task(u, list, n, i, work, &pace));
        size_t left = count_left(list, n);
        if (left == 0 || !wait) return 0;
        progress_show("%zu run(s) with other processes", left);
        TRY(wait_a_little());
    }
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int read_depths(Compare *u)
{
    char part[32];
    for (u->depths = 0; options_part(u->options, "layers", u->depths, part); u->depths++) {
        if (u->depths == COMPARE_DEPTHS)
            return error_set(ERR_INPUT, "--layers: expected at most %d numbers", COMPARE_DEPTHS);
        size_t layers = u->depth[u->depths] = strtoul(part, NULL, 10);
        for (size_t i = 0; i < u->depths; i++)
            if (u->depth[i] == layers)
                return error_set(ERR_INPUT, "--layers: %zu is there twice", layers);
    }
    return 0;
}

static int check_twice(const Selection *s)
{
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(s->scheme[i]->name, s->scheme[j]->name) == 0)
                return error_set(ERR_INPUT, "--scheme: %s is there twice", s->scheme[i]->name);
    return 0;
}

static int find_baseline(Compare *u)
{
    const char *name = options_text(u->options, "baseline");
    u->baseline = 0;
    for (size_t i = 0; i < u->schemes.count; i++)
        if (strcmp(u->schemes.scheme[i]->name, name ? name : "transformer") == 0) {
            u->baseline = i;
            return 0;
        }
    if (!name) return 0;
    return error_set(ERR_INPUT, "--baseline: '%s' is none of the schemes compared", name);
}

static int make_plan(const Compare *u, const Cell *c, Plan **out)
{
    BridgeOptions o = network_bridge(u->options);
    o.layers = c->layers;
    return bridge_plan(c->scheme, &o, out);
}

int compare_is_control(const Table *t)
{
    return strncmp(t->name, "looped:", 7) == 0 || strncmp(t->name, "repeat:", 7) == 0;
}

int compare_add_controls(Compare *u)
{
    size_t asked = u->schemes.count;
    for (size_t i = 0; i < asked; i++) {
        char name[64];
        size_t n = table_evals(u->schemes.scheme[i], OP_F);
        if (n < 2 || n != table_evals(u->schemes.scheme[i], OP_G)) continue;
        snprintf(name, sizeof name, "looped:%zu", n);
        TRY(select_add(name, "euler", &u->schemes));
        snprintf(name, sizeof name, "repeat:%zu", n);
        TRY(select_add(name, "euler", &u->schemes));
    }
    return 0;
}

void compare_controlled(const Compare *u, const Table *t, char out[512])
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; compare_is_control(t) && i < u->schemes.count && n < 512; i++) {
        const Table *s = u->schemes.scheme[i];
        if (compare_is_control(s) || table_evals(s, OP_F) != table_evals(t, OP_F) ||
            table_evals(s, OP_G) != table_evals(t, OP_G))
            continue;
        n += (size_t)snprintf(out + n, 512 - n, "%s%s", n ? " " : "", s->name);
    }
}

/* What a training would find wrong with a cell. */
static int check_model(const Compare *u, const Cell *c, const Backend *b)
{
    Plan *plan;
    Model *m;
    TRY(make_plan(u, c, &plan));
    int code = network_model_of(u->options, plan, u->corpus.vocab.size, b, 0, &m);
    if (code == 0) {
        model_free(m);
        return 0;
    }
    char words[900];
    snprintf(words, sizeof words, "%s", error_text());
    return error_set(code, "%s: %s", c->scheme->name, words);
}

static int find_same(Compare *u, size_t i)
{
    Cell *c = &u->cell[i];
    Plan *mine, *other;
    int code = 0, same = 0;
    c->same = i;
    TRY(make_plan(u, c, &mine));
    for (size_t j = 0; code == 0 && !same && j < i; j++) {
        if (u->cell[j].layers != c->layers || u->cell[j].same != j) continue;
        code = make_plan(u, &u->cell[j], &other);
        if (code != 0) break;
        code = plan_same(mine, other, &same);
        plan_free(other);
        if (same) c->same = j;
    }
    plan_free(mine);
    return code;
}

static int open_cell(Compare *u, size_t i, const Backend *b)
{
    Cell *c = &u->cell[i];
    *c = (Cell){.index = i / u->depths, .layers = u->depth[i % u->depths]};
    c->scheme = u->schemes.scheme[c->index];
    snprintf(c->rate, sizeof c->rate, "%s", options_text(u->options, "rate"));
    snprintf(c->dropout, sizeof c->dropout, "%s", options_text(u->options, "dropout"));
    c->result = memory_new(u->seeds, sizeof *c->result);
    c->errors = memory_new(u->seeds, sizeof *c->errors);
    if (!c->result || !c->errors) return ERR_MEMORY;
    TRY(check_model(u, c, b));
    return find_same(u, i);
}

int compare_open(Compare *u)
{
    const Backend *b;
    TRY(read_depths(u));
    TRY(check_twice(&u->schemes));
    TRY(find_baseline(u));
    TRY(network_backend(u->options, &b));
    u->cells = u->schemes.count * u->depths;
    u->cell = memory_new(u->cells, sizeof *u->cell);
    if (!u->cell) return ERR_MEMORY;
    for (size_t i = 0; i < u->cells; i++) TRY(open_cell(u, i, b));
    return 0;
}

void compare_close(Compare *u)
{
    for (size_t i = 0; u->cell && i < u->cells; i++) {
        memory_free(u->cell[i].result);
        memory_free(u->cell[i].errors);
    }
    memory_free(u->cell);
    report_free(u->table);
    report_free(u->brief);
    report_free(u->curves);
    report_free(u->correlations);
    report_free(u->choices);
    convergence_free(&u->orders);
    corpus_free(&u->corpus);
    select_close(&u->schemes);
}

/* ---- training -------------------------------------------------------------------------------- */

RunSpec compare_spec(const Compare *u, const Cell *c, size_t k)
{
    return (RunSpec){.scheme = c->scheme,
                     .layers = c->layers,
                     .seed = u->seed + k,
                     .rate = c->rate,
                     .dropout = c->dropout};
}

static void summarise(Compare *u, Cell *c)
{
    enum { STRIDE = sizeof(RunResult) / sizeof(double) };
    const RunResult *r = c->result;
    c->params = c->bytes = NAN;
    for (size_t k = 0; k < u->seeds; k++) {
        if (isnan(r[k].valid_ppl)) continue;
        c->runs++;
        c->params = r[k].params;
        c->bytes = fmax(c->bytes, r[k].peak_bytes);
    }
    c->speed = statistics_mean(&r->tokens_per_s, STRIDE, u->seeds).mean;
    c->valid = statistics_mean(&r->valid_ppl, STRIDE, u->seeds);
    c->test = statistics_mean(&r->test_ppl, STRIDE, u->seeds);
    enum { STEP = sizeof(RunErrors) / sizeof(double) };
    const RunErrors *e = c->errors;
    c->split = statistics_mean(&e->split, STEP, u->seeds);
    c->split_slope = statistics_mean(&e->split_slope, STEP, u->seeds);
    c->layer = statistics_mean(&e->layer, STEP, u->seeds);
    c->layer_slope = statistics_mean(&e->layer_slope, STEP, u->seeds);
}

/* Seed by seed against the baseline at the same depth. */
static int find_differences(Compare *u, Cell *c)
{
    const Cell *base = &u->cell[u->baseline * u->depths + (size_t)(c - u->cell) % u->depths];
    double *x = memory_new(4 * u->seeds, sizeof *x);
    if (!x) return ERR_MEMORY;
    size_t n = c == base ? 0 : u->seeds;
    for (size_t k = 0; k < n; k++) {
        x[k] = c->result[k].valid_ppl;
        x[n + k] = base->result[k].valid_ppl;
        x[2 * n + k] = c->result[k].test_ppl;
        x[3 * n + k] = base->result[k].test_ppl;
    }
    c->valid_diff = statistics_paired(x, x + n, n);
    c->test_diff = statistics_paired(x + 2 * n, x + 3 * n, n);
    memory_free(x);
    return 0;
}

static int take_results(Compare *u, const Task *list)
{
    static const RunResult none = {NAN, NAN, NAN, NAN, NAN, NAN};
    for (size_t i = 0; i < u->cells * u->seeds; i++) {
        Cell *c = &u->cell[i / u->seeds];
        u->failed += list[i].state == RUN_FAILED;
        c->result[i % u->seeds] = is_there(&list[i]) ? list[i].result : none;
        c->errors[i % u->seeds] = list[i].errors;
    }
    for (size_t i = 0; i < u->cells; i++) summarise(u, &u->cell[i]);
    for (size_t i = 0; i < u->cells; i++) TRY(find_differences(u, &u->cell[i]));
    return 0;
}

/* The truncation errors of all runs that are there. */
static int measure_all(Compare *u, Task *list, size_t n, int wait)
{
    static const RunErrors none = {NAN, NAN, NAN, NAN, NAN};
    Task *there = memory_new(n, sizeof *there);
    size_t m = 0;
    if (!there) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) {
        list[i].errors = none;
        if (!is_there(&list[i])) continue;
        there[m] = list[i];
        there[m++].state = RUN_OPEN;
    }
    int code = compare_work(u, there, m, wait, compare_measure);
    m = 0;
    for (size_t i = 0; i < n; i++)
        if (is_there(&list[i])) list[i].errors = there[m++].errors;
    memory_free(there);
    return code;
}

int compare_train(Compare *u, int wait)
{
    size_t n = u->cells * u->seeds;
    Task *list = memory_new(n, sizeof *list);
    if (!list) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        list[i].spec = compare_spec(u, &u->cell[i / u->seeds], i % u->seeds);
    int code = compare_work(u, list, n, wait, compare_run);
    if (code == 0 && options_size(u->options, "truncation") > 0)
        code = measure_all(u, list, n, wait);
    if (code == 0) code = take_results(u, list);
    memory_free(list);
    return code;
}
