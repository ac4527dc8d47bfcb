/* claims_figures.c: claims about perplexities: what seeds alone explain, and the meaning of perplexity. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "bridge/truncation.h"
#include "studies/runs/published.h"
#include "studies/verify/claims.h"

/* ---- words drawn at random --------------------------------------------------------------------------- */

static const PublishedDraw *find_draw(const char *family)
{
    for (size_t i = 0; i < published_draw_count; i++)
        if (strcmp(published_draws[i].family, family) == 0) return &published_draws[i];
    return NULL;
}

static void range(const double *x, size_t n, double *best, double *worst)
{
    *best = *worst = x[0];
    for (size_t i = 1; i < n; i++) {
        *best = fmin(*best, x[i]);
        *worst = fmax(*worst, x[i]);
    }
}

/* Tests whether seeds alone explain the best or the worst word. The probability that one of as many trainings of the
 * interleaved word would be as extreme lies between p, that of one training, and 20 p, whatever their dependence on the
 * mean and the sd that the seeds gave. p: of a further draw of a normal distribution, Student's t with n - 1 degrees of
 * freedom over sd sqrt(1 + 1/n). */
int check_luck(const Zoo *z, const char *const *arg, Finding *f)
{
    static const double level = 0.05;
    (void)z;
    const PublishedDraw *d = find_draw(arg[0]);
    if (!d) return error_set(ERR_MISUSE, "no such words: %s", arg[0]);
    Interval seeds = published_interleaved();
    double best, worst, n = (double)seeds.n;
    range(d->word, PUBLISHED_DRAWN, &best, &worst);
    int is_best = strcmp(arg[1], "best") == 0;
    double t = (is_best ? seeds.mean - best : worst - seeds.mean) / (seeds.sd * sqrt(1 + 1 / n)),
           p = gsl_cdf_tdist_Q(t, n - 1), most = fmin(1, PUBLISHED_DRAWN * p);
    f->holds = most < level;
    f->sound = f->sound && (most < level || p >= level); /* between them it is undecided */
    finding_say(f,
                "as published, %s: the %s of %d words has %.2f; interleaved %.2f, sd %.2f over %zu "
                "seeds: one of %d more seeds of it would be as %s with probability %.2g to %.2g",
                d->source, arg[1], PUBLISHED_DRAWN, is_best ? best : worst, seeds.mean, seeds.sd,
                seeds.n, PUBLISHED_DRAWN, is_best ? "good" : "bad", p, most);
    return 0;
}

/* ---- the meaning of perplexity ----------------------------------------------------------------------- */

enum { DOUBLINGS = 6 };

/* Runs the layer in 2^j steps of 2^-j, j = 0 .. DOUBLINGS: its output y (N) and the loss after it. */
static int refine(const Net *n, const Table *t, int j, double y[NET_N], double *loss)
{
    Model *m;
    NetText text;
    double x[NET_N];
    net_start(x);
    net_text(2, &text);
    TRY(bridge_refine(n->model, t, t, (size_t)1 << j, &m));
    int code = model_run_plan(m, NET_TOKENS, x, y);
    if (code == 0) code = model_forward(m, &text.batch, 0, 0, NULL, loss);
    model_free(m);
    return code;
}

/* Measures slopes over the steps. *flow: of the distance from the exact flow; for a method of order 1 this is twice the
 * distance from one step to its half. *loss: of the loss. */
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

/* Keeps the weights and makes the steps ever smaller. The truncation error goes to zero with them;
 * does the named quantity too? */
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
