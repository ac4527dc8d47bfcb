/* refine_study.c: measures the perplexity of a trained model with each layer cut
 * into N steps of size 1/N. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/clock.h"
#include "studies/base/plot/plot.h"
#include "studies/base/command.h"
#include "studies/model/truncation/truncation_study.h"

typedef struct {
    const char *scheme;
    size_t substeps, tokens;
    double h, nll, ppl;
} RefineRow;

const Column refine_steps[] = {COLUMN(RefineRow, scheme),
                               COLUMN(RefineRow, substeps),
                               COLUMN(RefineRow, h),
                               COLUMN(RefineRow, tokens),
                               COLUMN(RefineRow, nll),
                               COLUMN(RefineRow, ppl, .digits = 5),
                               {0}};

typedef struct {
    TruncationInput *in;
    Text text; /* the first tokens; borrowed */
    TrainConfig how;
    double own;     /* nats a token of the unchanged model */
    double largest; /* perplexity */
    Sheet *table;
} Refinement;

static int evaluate(const Refinement *u, Model *m, double *nll, size_t *tokens)
{
    Evaluation e = {0};
    int code = train_eval(m, &u->text, NULL, &u->in->network.vocab, NULL, u->how.context,
                          u->how.batch_tokens, u->how.sequence, &e);
    *nll = e.mean;
    *tokens = e.tokens;
    return code;
}

static int refine_once(Refinement *u, const Table *scheme, size_t substeps)
{
    const Network *n = &u->in->network;
    SCOPED(model_drop) Model *m = NULL;
    RefineRow row = {scheme->name, substeps, 0, 1.0 / (double)substeps, 0, 0};
    TRY(bridge_refine(n->model, n->table, scheme, substeps, &m));
    TRY(evaluate(u, m, &row.nll, &row.tokens));
    row.ppl = exp(row.nll);
    if (isfinite(row.nll)) u->largest = fmax(u->largest, row.ppl);
    sheet_row(u->table, &row);
    return 0;
}

static int refine_scheme(Refinement *u, const Table *scheme, size_t most, const char *left)
{
    for (size_t n = 1; n <= most; n *= 2) {
        progress_show("%s in %zu steps a layer%s%s", scheme->name, n, *left ? ", about " : "",
                      left);
        TRY(refine_once(u, scheme, n));
    }
    return 0;
}

static int refine_all(Refinement *u, size_t most)
{
    const Selection *s = &u->in->schemes;
    double begun = clock_now();
    char left[32] = "";
    for (size_t i = 0; i < s->count; i++) {
        int code = refine_scheme(u, s->scheme[i], most, left);
        if (code == ERR_ACCURACY) notice_warn("%s; left out", error_text());
        if (code != 0 && code != ERR_ACCURACY) return code;
        double passed = clock_now() - begun;
        progress_time(passed / (double)(i + 1) * (double)(s->count - i - 1), left);
    }
    progress_clear();
    return 0;
}

/* Returns the tokens up to the end of the line in which the limit falls. */
static Text cut(const Text *t, size_t tokens, int32_t eos)
{
    Text c = *t;
    if (c.tokens <= tokens) return c;
    for (c.tokens = tokens; c.tokens < t->tokens && t->id[c.tokens - 1] != eos;) c.tokens++;
    return c;
}

static int draw(const Refinement *u, const char *dir)
{
    const Selection *s = &u->in->schemes;
    char title[256];
    snprintf(title, sizeof title,
             "More and smaller steps through the layers of a model trained as %s",
             u->in->network.table->name);
    PlotFrame frame = {"refine", title, "steps a layer", "perplexity",
                       u->largest > 10 * exp(u->own) ? PLOT_LOG_Y : 0};
    Plot *p;
    TRY(plot_new(dir, &frame, &p));
    plot_setting(p, "set logscale x 2\nset format y '%%.4g'");
    const Column *c = refine_steps;
    plot_level(p, exp(u->own), "as trained");
    for (size_t i = 0; i < s->count; i++)
        plot_series(p, "refine.csv", sheet_column(c, "scheme"), s->scheme[i]->name,
                    sheet_column(c, "substeps"), sheet_column(c, "ppl"), s->scheme[i]->name);
    return plot_finish(p);
}

int refine_study(TruncationInput *in, size_t most, size_t tokens, int csv, const char *dir)
{
    size_t counted;
    SCOPED(sheet_drop) Sheet *table = NULL;
    TRY(sheet_new(refine_steps, &table));
    Refinement u = {.in = in,
                    .how = network_training(in->network.options),
                    .text = cut(&in->text, tokens, in->network.vocab.eos),
                    .table = table};
    TRY(evaluate(&u, in->network.model, &u.own, &counted));
    TRY(refine_all(&u, most));
    if (!csv)
        printf("The model was trained as %s and has perplexity %.5g on %zu tokens. Symbols of a "
               "scheme have\ntheir starting values.\n\n",
               in->network.table->name, exp(u.own), counted);
    TRY(output_shown(table, csv, dir, "refine"));
    return dir ? draw(&u, dir) : 0;
}
