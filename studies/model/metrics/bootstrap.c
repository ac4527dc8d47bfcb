/* bootstrap.c: draws lines and scores systems on them (bootstrap.h). */
#include "studies/model/metrics/bootstrap.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "kernels/base/tick.h"

enum { STREAM_LINES = 0x6c696e65 }; /* "line" */

/* The function that scores, and room for one draw. */
typedef struct {
    BootstrapScore score;
    void *arg;
    size_t n, systems, all;
    const size_t *runs; /* NULL: 1 each */
    size_t *draw;       /* (n) */
    double *run;        /* (all) scores of the runs */
} Drawn;

/* Computes mean scores of each system's runs on d->draw; score (systems) out, `stride` apart. */
static int mean_scores(Drawn *d, size_t stride, double *score)
{
    TRY(d->score(d->arg, d->draw, d->n, d->run));
    const double *run = d->run;
    for (size_t s = 0; s < d->systems; s++) {
        double total = 0;
        size_t runs = d->runs ? d->runs[s] : 1;
        for (size_t r = 0; r < runs; r++) total += *run++;
        score[s * stride] = total / (double)runs;
    }
    return 0;
}

/* Scores all systems on all resamples; score (systems, resamples) out. */
static int draw_all(Drawn *d, size_t resamples, uint64_t seed, double *score)
{
    for (size_t k = 0; k < resamples; k++) {
        for (size_t i = 0; i < d->n; i++)
            d->draw[i] = (size_t)random_below(seed, STREAM_LINES, k * d->n + i, d->n);
        TRY(mean_scores(d, resamples, score + k));
        tick_of((double)k, (double)resamples);
    }
    return 0;
}

/* Computes mean and 95 % interval of x (n), which it sorts; NaN where one of x is. */
static void spread(double *x, size_t n, double *mean, double *low, double *high)
{
    gsl_sort(x, 1, n);
    *mean = 0;
    for (size_t i = 0; i < n; i++) *mean += x[i] / (double)n;
    *low = isnan(*mean) ? NAN : x[n / 40];
    *high = isnan(*mean) ? NAN : x[n - 1 - n / 40];
}

/* Computes both p of differences d* (n), where d is the difference on all lines; leaves them where one is NaN. */
static void judge(const double *drawn, size_t n, double d, Resampled *out)
{
    double size = 0, mean = 0;
    size_t as_large = 0, as_far = 0;
    for (size_t i = 0; i < n; i++) {
        size += fabs(drawn[i]) / (double)n;
        mean += drawn[i] / (double)n;
    }
    if (isnan(d) || isnan(mean)) return;
    for (size_t i = 0; i < n; i++) {
        as_large += fabs(drawn[i]) - size >= fabs(d);
        as_far += fabs(drawn[i] - mean) >= fabs(d);
    }
    out->p = (double)(as_large + 1) / (double)(n + 1);
    out->p_two_sided = (double)(as_far + 1) / (double)(n + 1);
}

int bootstrap_scores(BootstrapScore score, void *arg, size_t n, const size_t *runs, size_t systems,
                     size_t resamples, uint64_t seed, Resampled *out)
{
    size_t N = resamples;
    Drawn d = {.score = score, .arg = arg, .n = n, .systems = systems, .runs = runs};
    for (size_t s = 0; s < systems; s++) d.all += runs ? runs[s] : 1;
    SCOPED(memory_drop) size_t *draw = d.draw = memory_new(n, sizeof *draw);
    SCOPED(memory_drop) double *drawn = memory_new(systems, N * sizeof *drawn);
    SCOPED(memory_drop) double *room = memory_new(d.all + systems + N, sizeof *room);
    if (!draw || !drawn || !room) return ERR_MEMORY;
    double *whole = room + d.all, *less = whole + systems, mean;
    d.run = room;
    for (size_t i = 0; i < n; i++) draw[i] = i;
    TRY(mean_scores(&d, 1, whole));
    TRY(draw_all(&d, N, seed, drawn));
    for (size_t s = 0; s < systems; s++) {
        Resampled *r = &out[s];
        *r = (Resampled){whole[s], NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        if (s == 0) continue;
        r->difference = r->score - out[0].score;
        if (N == 0) continue;
        for (size_t k = 0; k < N; k++) less[k] = drawn[s * N + k] - drawn[k];
        judge(less, N, r->difference, r);
        spread(less, N, &mean, &r->difference_low, &r->difference_high);
    }
    for (size_t s = 0; N > 0 && s < systems; s++) /* sorts the scores, so it is last */
        spread(drawn + s * N, N, &out[s].mean, &out[s].low, &out[s].high);
    return 0;
}

/* ---- texts --------------------------------------------------------------------------------------- */

typedef struct {
    int metric;
    const Statistics *run; /* (all) */
    size_t all;
    double *sums; /* (all, width) */
} Texts;

/* Scores the sums over the drawn lines. */
static int score_texts(void *arg, const size_t *draw, size_t n, double *score)
{
    const Texts *t = arg;
    size_t width = t->run[0].width;
    memset(t->sums, 0, t->all * width * sizeof *t->sums);
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < t->all; r++)
            for (size_t j = 0; j < width; j++)
                t->sums[r * width + j] += t->run[r].x[draw[i] * width + j];
    for (size_t r = 0; r < t->all; r++) score[r] = metric_score(t->metric, t->sums + r * width);
    return 0;
}

int bootstrap_means(int metric, const Statistics *run, const size_t *runs, size_t systems,
                    size_t resamples, uint64_t seed, Resampled *out)
{
    Texts t = {.metric = metric, .run = run};
    for (size_t s = 0; s < systems; s++) t.all += runs ? runs[s] : 1;
    SCOPED(memory_drop) double *sums = t.sums = memory_new(t.all, run[0].width * sizeof *sums);
    if (!sums) return ERR_MEMORY;
    return bootstrap_scores(score_texts, &t, run[0].lines, runs, systems, resamples, seed, out);
}
