/* claims_figures.c: claims about perplexities: the papers' published figures, and what perplexity measures. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "bridge/truncation.h"
#include "studies/runs/published.h"
#include "studies/verify/claims_expansion.h"
#include "studies/verify/claims_net.h"

/* ---- published figures ---------------------------------------------------------------------------- */

static const Published *find_figure(const char *source, const char *scheme, const char *layers)
{
    for (size_t i = 0; i < published_count; i++)
        if (strcmp(published[i].source, source) == 0 && strcmp(published[i].scheme, scheme) == 0 &&
            published[i].layers == (size_t)atoi(layers))
            return &published[i];
    return NULL;
}

int check_published(const Zoo *z, const char *const *arg, Finding *f)
{
    (void)z;
    const Published *a = find_figure(arg[0], arg[1], arg[2]),
                    *b = find_figure(arg[0], arg[3], arg[4]);
    if (!a || !b) return error_set(ERR_MISUSE, "no such figures in %s", arg[0]);
    f->holds = a->figure < b->figure;
    f->sound = f->sound && a != b && !(b->figure < b->figure);
    finding_say(
        f,
        "as published: %s, %s layer%s %.2f; %s, %s layers %.2f (%s; no spread over trainings is "
        "told)",
        a->row, arg[2], atoi(arg[2]) > 1 ? "s" : "", a->figure, b->row, arg[4], b->figure,
        published_measure(a->measure));
    return 0;
}

/* ---- what perplexity measures ------------------------------------------------------------------------ */

enum { DOUBLINGS = 6 };

/* A text of NET_TOKENS words for the network: nats a word out. */
static int text_loss(Model *m, double *loss)
{
    int32_t input[NET_TOKENS], target[NET_TOKENS], position[NET_TOKENS];
    size_t start[] = {0, NET_TOKENS};
    for (int32_t i = 0; i < NET_TOKENS; i++) {
        input[i] = i % NET_VOCAB;
        target[i] = (2 * i + 1) % NET_VOCAB;
        position[i] = i;
    }
    Batch b = {.N = NET_TOKENS,
               .S = 1,
               .longest = NET_TOKENS,
               .input = input,
               .target = target,
               .position = position,
               .start = start};
    return model_forward(m, &b, 0, 0, NULL, loss);
}

/* The layer in 2^j steps of 2^-j, j = 0 .. DOUBLINGS: its output y (N) and the loss behind it. */
static int refine(const Net *n, const Table *t, int j, double y[NET_N], double *loss)
{
    Model *m;
    double x[NET_N];
    net_start(x);
    TRY(bridge_refine(n->model, t, t, (size_t)1 << j, &m));
    int code = model_run_plan(m, NET_TOKENS, x, y);
    if (code == 0) code = text_loss(m, loss);
    model_free(m);
    return code;
}

/* Slopes over the steps: of the distance from the exact flow, of a method of order 1 twice the way from one step to
 * its half; and of the loss. */
static int refined_slopes(const Net *n, const Table *t, double *flow, double *loss, double of[2])
{
    double y[2][NET_N], nats[DOUBLINGS + 1], way[DOUBLINGS];
    for (int j = 0; j <= DOUBLINGS; j++) {
        TRY(refine(n, t, j, y[j % 2], &nats[j]));
        if (j == 0) continue;
        way[j - 1] = 0;
        for (int i = 0; i < NET_N; i++) way[j - 1] += pow(y[0][i] - y[1][i], 2);
        way[j - 1] = sqrt(way[j - 1]);
    }
    *flow = log2(way[DOUBLINGS - 2] / way[DOUBLINGS - 1]);
    *loss = log2(nats[DOUBLINGS - 1] / nats[DOUBLINGS]);
    of[0] = nats[0], of[1] = nats[DOUBLINGS];
    return 0;
}

/* The same weights with ever smaller steps: the truncation error goes to zero with them; does what is named too? */
int check_perplexity(const Zoo *z, const char *const *arg, Finding *f)
{
    Table *t;
    Net n;
    double flow = NAN, loss = NAN, nats[2] = {NAN, NAN};
    TRY(map_table(z, arg[0], &t));
    int code = net_scheme(t, 1, &n);
    if (code == 0) {
        code = net_perturb(&n);
        if (code == 0) code = refined_slopes(&n, t, &flow, &loss, nats);
        net_close(&n);
    }
    table_free(t);
    double slope = strcmp(arg[1], "flow") == 0 ? flow : loss;
    f->holds = fabs(slope - 1) <= claim_near;
    f->sound = f->sound && fabs(flow - 1) <= claim_near && isfinite(loss);
    finding_say(
        f,
        "one layer of %s, its weights kept, in 1, 2, .. %d steps: the distance from the exact flow "
        "falls as h^%.2f, to zero; the loss is %.4f in one step and %.4f in %d, falls as h^%.2f. So "
        "it is recorded of trained networks (studies/results/truncation): perplexity 59.8 in the "
        "steps of training, 73.2 along the exact flow",
        arg[0], 1 << DOUBLINGS, flow, nats[0], nats[1], 1 << DOUBLINGS, claim_slope(loss));
    return code;
}
