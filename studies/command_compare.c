/* command_compare.c: the main job: for every scheme its exact order, its measured order on a particle
 * system, and the perplexity of the language model built from it, over seeds. */
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/command.h"
#include "studies/convergence.h"
#include "studies/network.h"
#include "studies/output.h"
#include "studies/plot.h"
#include "studies/progress.h"
#include "studies/runs.h"
#include "studies/select.h"

static const Option scheme_options[] = {
    {"scheme", OPTION_TEXT, "euler,transformer,macaron,strang-marchuk:heun,heun-layer,rk4-layer",
     "A,B,...", "names separated by commas, or all", 0, 0},
    SELECT_FILE,
    {"system", OPTION_TEXT, NULL, "P",
     "particle system of the measured orders (default: as 'trotter order --systems' marks)", 0, 0},
    {"system-file", OPTION_TEXT, NULL, "FILE",
     "a particle system of your own ('trotter order --help' tells the form)", 0, 0},
    {"seeds", OPTION_SIZE, "3", "N", "trainings of each scheme, with seeds --seed and the next", 1,
     1000},
    {0},
};

static const Option output_options[] = {
    {"out", OPTION_TEXT, "out/compare", "DIR",
     "write compare.csv, compare.md, curves.csv, plots, and each run under DIR/runs", 0, 0},
    {"csv", OPTION_FLAG, NULL, NULL, "the whole table as CSV", 0, 0},
    {"config", OPTION_TEXT, NULL, "FILE",
     "options from a file, as DIR/config.ini; the command line overrides it", 0, 0},
    {0},
};

static const OptionGroup scheme_group = {"Schemes", 1, scheme_options};
static const OptionGroup output_group = {"Output", 0, output_options};
static const OptionGroup *const groups[] = {
    &scheme_group,       &network_text_group,    &network_model_group, &network_training_group,
    &network_seed_group, &network_machine_group, &output_group,        NULL};

static const char *const columns[] = {
    "scheme",   "order",   "system",       "measured",   "low",          "high",      "verdict",
    "evals_F",  "evals_G", "layers",       "params",     "seeds",        "valid_ppl", "valid_sd",
    "test_ppl", "test_sd", "tokens_per_s", "peak_bytes", "beats_unigram"};
static const char *const shown[] = {"scheme",     "order",     "measured", "evals",
                                    "parameters", "valid ppl", "±",        "test ppl",
                                    "±",          "tokens/s",  "peak MB"};
static const char *const curve_columns[] = {"scheme",    "epoch", "tokens",
                                            "valid_ppl", "low",   "high"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Mean and sample standard deviation over the seeds that came through; NaN without enough. */
typedef struct {
    size_t runs;
    double params, valid, valid_sd, test, test_sd, speed, bytes;
} Trained;

typedef struct {
    const Options *options;
    const char *dir;
    Selection schemes;
    ConvergenceStudy orders;
    Corpus corpus;
    double unigram_valid, unigram_test;
    Trained *trained; /* (schemes) */
    Report *table, *brief, *curves;
    size_t failed; /* runs */
} Study;

/* ---- training ------------------------------------------------------------------------------------ */

/* What would fail in every run fails here, before the first. */
static int check_models(const Study *u)
{
    const Backend *b;
    TRY(network_backend(u->options, &b));
    for (size_t i = 0; i < u->schemes.count; i++) {
        Model *m;
        int code = network_model(u->options, u->schemes.scheme[i], u->corpus.vocab.size, b, 0, &m);
        if (code != 0) {
            char words[900];
            snprintf(words, sizeof words, "%s", error_text());
            return error_set(code, "%s: %s", u->schemes.scheme[i]->name, words);
        }
        model_free(m);
    }
    return 0;
}

static void summarise(const RunResult *r, size_t n, Trained *out)
{
    enum { STRIDE = sizeof *r / sizeof(double) };
    *out = (Trained){n, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (n == 0) return;
    out->params = r->params;
    out->valid = gsl_stats_mean(&r->valid_ppl, STRIDE, n);
    out->test = gsl_stats_mean(&r->test_ppl, STRIDE, n);
    out->speed = gsl_stats_mean(&r->tokens_per_s, STRIDE, n);
    out->bytes = gsl_stats_max(&r->peak_bytes, STRIDE, n);
    if (n == 1) return;
    out->valid_sd = gsl_stats_sd(&r->valid_ppl, STRIDE, n);
    out->test_sd = gsl_stats_sd(&r->test_ppl, STRIDE, n);
}

/* Runs done so far in this call, for the time that is left. */
typedef struct {
    size_t number, of, trained;
    double seconds;
} Pace;

static int train_seed(Study *u, const Table *t, uint64_t seed, RunResult *r, Pace *p)
{
    char left[32];
    int skipped;
    double begun = progress_now();
    progress_note("run %zu of %zu: %s, seed %llu", ++p->number, p->of, t->name,
                  (unsigned long long)seed);
    TRY(runs_train(u->options, t, seed, &u->corpus, u->dir, r, &skipped));
    if (skipped) {
        progress_note("    is there already: perplexity %.2f on validation", r->valid_ppl);
        return 0;
    }
    p->trained++;
    p->seconds += progress_now() - begun;
    progress_time(p->seconds / (double)p->trained * (double)(p->of - p->number), left);
    if (p->number < p->of) progress_note("    about %s left for the other runs", left);
    return 0;
}

static int train_scheme(Study *u, size_t i, Pace *pace)
{
    size_t seeds = options_size(u->options, "seeds"), first = options_size(u->options, "seed");
    RunResult *r = memory_new(seeds, sizeof *r);
    size_t n = 0;
    int code = r ? 0 : ERR_MEMORY;
    for (size_t k = 0; code == 0 && k < seeds; k++) {
        code = train_seed(u, u->schemes.scheme[i], first + k, &r[n], pace);
        if (code == 0) n++;
        if (code == ERR_CHECK) {
            u->failed++;
            code = 0;
        }
    }
    if (code == 0) summarise(r, n, &u->trained[i]);
    memory_free(r);
    return code;
}

static int train_all(Study *u)
{
    Pace pace = {.of = u->schemes.count * options_size(u->options, "seeds")};
    for (size_t i = 0; i < u->schemes.count; i++) TRY(train_scheme(u, i, &pace));
    return 0;
}

/* ---- tables -------------------------------------------------------------------------------------- */

/* NaN, and anything no better than word frequencies, does not. */
static int beats_unigram(const Study *u, const Trained *t)
{
    return t->valid < u->unigram_valid && t->test < u->unigram_test;
}

static void add_row(Study *u, size_t i)
{
    const Table *t = u->schemes.scheme[i];
    const Convergence *c = &u->orders.scheme[i];
    const Trained *x = &u->trained[i];
    Report *r = u->table;
    report_text(r, t->name);
    report_size(r, (uint64_t)c->theory.order);
    report_text(r, u->orders.system->name);
    report_fixed(r, c->slope, 3);
    report_fixed(r, c->low, 3);
    report_fixed(r, c->high, 3);
    report_text(r, verdict_name(c->verdict));
    report_size(r, table_evals(t, OP_F));
    report_size(r, table_evals(t, OP_G));
    report_size(r, options_size(u->options, "layers"));
    report_fixed(r, x->params, 0);
    report_size(r, x->runs);
    report_fixed(r, x->valid, 2);
    report_fixed(r, x->valid_sd, 2);
    report_fixed(r, x->test, 2);
    report_fixed(r, x->test_sd, 2);
    report_fixed(r, x->speed, 0);
    report_fixed(r, x->bytes, 0);
    report_flag(r, beats_unigram(u, x));
}

static void add_brief(Study *u, size_t i)
{
    const Table *t = u->schemes.scheme[i];
    const Trained *x = &u->trained[i];
    char evals[64];
    Report *r = u->brief;
    snprintf(evals, sizeof evals, "%zu F + %zu G", table_evals(t, OP_F), table_evals(t, OP_G));
    report_text(r, t->name);
    report_size(r, (uint64_t)u->orders.scheme[i].theory.order);
    report_fixed(r, u->orders.scheme[i].slope, 2);
    report_text(r, evals);
    report_fixed(r, x->params, 0);
    report_fixed(r, x->valid, 2);
    report_fixed(r, x->valid_sd, 2);
    report_fixed(r, x->test, 2);
    report_fixed(r, x->test_sd, 2);
    report_fixed(r, x->speed, 0);
    report_fixed(r, x->bytes * 1e-6, 0);
}

/* A row for what needs no network: only its name and perplexities. */
static void add_bound(Study *u, const char *name, double valid, double test)
{
    report_text(u->table, name);
    for (int j = 1; j < 12; j++) report_none(u->table);
    report_fixed(u->table, valid, 2);
    report_none(u->table);
    report_fixed(u->table, test, 2);
    for (int j = 15; j < 19; j++) report_none(u->table);
    report_text(u->brief, name);
    for (int j = 1; j < 5; j++) report_none(u->brief);
    report_fixed(u->brief, valid, 2);
    report_none(u->brief);
    report_fixed(u->brief, test, 2);
    for (int j = 8; j < 11; j++) report_none(u->brief);
}

/* sum += row by row, as far as both go: seeds cut the text at other places, so that one of them may
 * have a row more. */
static void sum_rows(RunRow *sum, size_t *rows, const RunRow *row, size_t n)
{
    if (n < *rows) *rows = n;
    for (size_t i = 0; i < *rows; i++) {
        sum[i].step += row[i].step;
        sum[i].tokens += row[i].tokens;
        sum[i].train_loss += row[i].train_loss;
        sum[i].valid_ppl += row[i].valid_ppl;
    }
}

static int add_log(Study *u, const Table *t, uint64_t seed, RunRow **sum, size_t *rows)
{
    RunRow *row;
    size_t n;
    TRY(runs_log(t, seed, u->dir, &row, &n));
    if (!*sum) {
        *sum = row;
        *rows = n;
        return 0;
    }
    sum_rows(*sum, rows, row, n);
    memory_free(row);
    return 0;
}

/* The mean over the seeds, row by row of their logs. */
static int add_curve(Study *u, const Table *t)
{
    size_t seeds = options_size(u->options, "seeds"), rows = 0;
    RunRow *sum = NULL;
    int code = 0;
    for (size_t k = 0; code == 0 && k < seeds; k++)
        code = add_log(u, t, options_size(u->options, "seed") + k, &sum, &rows);
    for (size_t i = 0; code == 0 && i < rows; i++) {
        double n = (double)seeds;
        report_text(u->curves, t->name);
        report_fixed(u->curves, sum[i].step / n, 1);
        report_fixed(u->curves, sum[i].epoch, 0);
        report_fixed(u->curves, sum[i].tokens / n, 0);
        report_fixed(u->curves, sum[i].train_loss / n, 4);
        report_fixed(u->curves, sum[i].valid_ppl / n, 2);
    }
    memory_free(sum);
    return code;
}

static int make_tables(Study *u)
{
    TRY(report_new(COUNT(columns), columns, &u->table));
    TRY(report_new(COUNT(shown), shown, &u->brief));
    TRY(report_new(COUNT(curve_columns), curve_columns, &u->curves));
    for (size_t i = 0; i < u->schemes.count; i++) {
        add_row(u, i);
        add_brief(u, i);
        if (u->trained[i].runs == options_size(u->options, "seeds"))
            TRY(add_curve(u, u->schemes.scheme[i]));
    }
    add_bound(u, "unigram", u->unigram_valid, u->unigram_test);
    double least = exp(u->corpus.entropy_rate);
    if (!isnan(least)) add_bound(u, "entropy rate", least, least);
    return 0;
}

static void print_caption(const Study *u, FILE *f)
{
    const Options *o = u->options;
    size_t layers = options_size(o, "layers"), seeds = options_size(o, "seeds");
    fprintf(
        f,
        "Corpus %s: %zu training tokens, vocabulary %zu; unigram: the perplexity of word\n"
        "frequencies alone, which a model has to beat.\n"
        "Models: %zu layer%s, width %zu, inner %zu, %zu heads; %zu epoch(s); mean and standard\n"
        "deviation over %zu seed%s; Euler sub-flows unless a suffix says otherwise.\n"
        "order p: exact, local error h^(p+1); measured: slope of the global error on the particle\n"
        "system '%s' (%s).\n\n",
        u->corpus.name, u->corpus.text[SPLIT_TRAIN].tokens, u->corpus.vocab.size, layers,
        layers == 1 ? "" : "s", options_size(o, "width"), options_size(o, "inner"),
        options_size(o, "heads"), options_size(o, "epochs"), seeds, seeds == 1 ? "" : "s",
        u->orders.system->name, u->orders.system->title);
}

/* ---- plots --------------------------------------------------------------------------------------- */

/* Horizontal bars from zero, so that lengths compare, with their spread and numbers; `ppl` is a
 * column of compare.csv, the next one its standard deviation (empty with one seed). */
static void draw_bars(Plot *p, size_t n, int ppl, double shift, size_t colour, const char *title)
{
    char rows[64], spread[64];
    snprintf(rows, sizeof rows, "'compare.csv' every ::1::%zu using", n);
    snprintf(spread, sizeof spread, "(valid(%d) ? $%d : 0)", ppl + 1, ppl + 1);
    plot_item(p,
              "%s (0.5*$%d):($0%+g):(0):%d:($0%+g):($0%+g) with boxxyerror title '%s' "
              "noenhanced fs solid 1 noborder lc rgb '%s'",
              rows, ppl, shift, ppl, shift - 0.18, shift + 0.18, title, plot_colour(colour));
    plot_item(p, "%s %d:($0%+g):%s with xerrorbars notitle lc rgb '#222222' lw 1.5 pt 0", rows, ppl,
              shift, spread);
    plot_item(p,
              "%s ($%d+%s):($0%+g):(sprintf(valid(%d) ? '%%.1f ± %%.1f' : '%%.1f', $%d, %s)) "
              "with labels left offset 0.6,0 noenhanced font ',11' notitle",
              rows, ppl, spread, shift, ppl + 1, ppl, spread);
}

static int draw_perplexities(const Study *u)
{
    char title[256], name[400];
    size_t n = u->schemes.count, first = options_size(u->options, "seed");
    Plot *p;
    snprintf(title, sizeof title, "Perplexity on %s: mean and standard deviation, seeds %zu to %zu",
             u->corpus.name, first, first + options_size(u->options, "seeds") - 1);
    PlotFrame frame = {"perplexity", title, "perplexity", "", 0};
    TRY(plot_new(u->dir, &frame, &p));
    plot_setting(p, "set yrange [%zu.5:-0.7]\nset xrange [0:*]\nset offsets 0, graph 0.18, 0, 0",
                 n - 1);
    plot_setting(p, "set grid noytics\nset key rmargin top\nset ytics scale 0 ()");
    for (size_t i = 0; i < n; i++) {
        plot_quote(u->schemes.scheme[i]->name, name, sizeof name);
        plot_setting(p, "set ytics add (%s %zu)", name, i);
    }
    if (n > 6) plot_taller(p, 70 * (n - 6));
    draw_bars(p, n, 13, -0.19, 0, "validation");
    draw_bars(p, n, 15, 0.19, 5, "test");
    return plot_finish(p);
}

/* Loss of training as a line, of validation as points of the same colour. */
static void draw_curve(Plot *p, size_t i, const char *name)
{
    char style[96], word[400];
    plot_style(i, style);
    plot_quote(name, word, sizeof word);
    plot_item(p, "'curves.csv' using (strcol(1) eq %s ? $4/1000 : NaN):5 with lines notitle %s",
              word, style);
    plot_item(
        p,
        "'curves.csv' using (strcol(1) eq %s && valid(6) ? $4/1000 : NaN):(log($6)) with points "
        "notitle %s",
        word, style);
    plot_item(p, "keyentry with linespoints title %s noenhanced %s", word, style);
}

static int draw_curves(const Study *u)
{
    char title[256];
    Plot *p;
    snprintf(title, sizeof title, "Loss on %s: training (lines), validation (points)",
             u->corpus.name);
    PlotFrame frame = {"curves", title, "thousand tokens trained", "nats a token", 0};
    TRY(plot_new(u->dir, &frame, &p));
    for (size_t i = 0; i < u->schemes.count; i++) draw_curve(p, i, u->schemes.scheme[i]->name);
    plot_level(p, log(u->unigram_valid), "unigram");
    if (!isnan(u->corpus.entropy_rate)) plot_level(p, u->corpus.entropy_rate, "entropy rate");
    return plot_finish(p);
}

/* ---- output -------------------------------------------------------------------------------------- */

static int save_markdown(const Study *u)
{
    char path[OUTPUT_PATH];
    Output o;
    TRY(output_path(path, u->dir, "compare.md"));
    TRY(output_open(&o));
    print_caption(u, o.f);
    int code = report_write(u->brief, REPORT_MARKDOWN, o.f);
    if (code == 0) return output_close(&o, path);
    output_drop(&o);
    return code;
}

static int save(const Study *u)
{
    TRY(output_report(u->table, REPORT_CSV, u->dir, "compare.csv"));
    TRY(output_report(u->curves, REPORT_CSV, u->dir, "curves.csv"));
    TRY(save_markdown(u));
    TRY(convergence_save(&u->orders, &u->schemes, u->dir));
    TRY(draw_perplexities(u));
    return draw_curves(u);
}

static int show(const Study *u)
{
    int csv = options_flag(u->options, "csv");
    if (!csv) print_caption(u, stdout);
    return report_write(csv ? u->table : u->brief, csv ? REPORT_CSV : REPORT_PLAIN, stdout);
}

static int verdict(const Study *u)
{
    char names[512] = "";
    size_t n = 0;
    for (size_t i = 0; i < u->schemes.count; i++) {
        if (u->trained[i].runs == 0 || beats_unigram(u, &u->trained[i])) continue;
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "",
                              u->schemes.scheme[i]->name);
        if (n >= sizeof names) break;
    }
    if (u->failed) return error_set(ERR_CHECK, "%zu run(s) failed", u->failed);
    if (n)
        return error_set(ERR_CHECK,
                         "no better than word frequencies, so there is nothing to compare: %s",
                         names);
    size_t disagree = convergence_disagree(&u->orders);
    if (disagree)
        return error_set(ERR_CHECK, "%zu schemes disagree with their exact order on %s", disagree,
                         u->orders.system->name);
    return 0;
}

static int write_config(const Study *u)
{
    char path[OUTPUT_PATH];
    Output o;
    TRY(output_path(path, u->dir, "config.ini"));
    TRY(output_open(&o));
    fprintf(o.f, "# trotter compare --config FILE does this again\n");
    int code = options_write(u->options, o.f);
    if (code == 0) return output_close(&o, path);
    output_drop(&o);
    return code;
}

static int study(Study *u)
{
    const Options *o = u->options;
    OrderOptions how = {.halvings = 7};
    TRY(select_open(o, "euler", &u->schemes));
    TRY(network_corpus(o, &u->corpus));
    TRY(check_models(u));
    TRY(output_directory(u->dir));
    TRY(write_config(u));
    u->unigram_valid = corpus_unigram(&u->corpus, SPLIT_VALID);
    u->unigram_test = corpus_unigram(&u->corpus, SPLIT_TEST);
    u->trained = memory_new(u->schemes.count, sizeof *u->trained);
    if (!u->trained) return ERR_MEMORY;
    SystemChoice system = {options_text(o, "system"), options_text(o, "system-file"), 0, 0, 1};
    TRY(convergence_run(&system, &how, &u->schemes, &u->orders));
    TRY(train_all(u));
    TRY(make_tables(u));
    TRY(show(u));
    TRY(save(u));
    return verdict(u);
}

static int run(Options *o)
{
    if (options_text(o, "config")) TRY(options_read(o, options_text(o, "config")));
    Study u = {.options = o, .dir = options_text(o, "out"), .corpus.entropy_rate = NAN};
    int code = study(&u);
    report_free(u.table);
    report_free(u.brief);
    report_free(u.curves);
    memory_free(u.trained);
    convergence_free(&u.orders);
    corpus_free(&u.corpus);
    select_close(&u.schemes);
    return code;
}

const Command command_compare = {
    .name = "compare",
    .purpose = "compare schemes: order, measured order, perplexity, cost",
    .about =
        "For every scheme: its exact order, its order measured on a particle system, its "
        "evaluations,\n"
        "and language models trained with it over several seeds: perplexities, speed, memory. "
        "Splittings\n"
        "without suffix have Euler sub-flows everywhere. Each training is a 'trotter train' of its "
        "own\n"
        "under DIR/runs; given again, the command reads finished runs and goes on with stopped "
        "ones.\n"
        "Exit status 1: a model is no better than the frequencies of words, or a run failed.\n",
    .groups = groups,
    .saves = 1,
    .run = run,
};
