/* bootstrap.c: see bootstrap.h. */
#include "studies/metrics/bootstrap.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "kernels/tick.h"

enum { STREAM_LINES = 0x6c696e65 }; /* "line" */

/* score (systems) out, `stride` apart: mean scores of each system's runs, of sums (all runs, width). */
static void mean_scores(int metric, const MetricOptions *o, const double *sums, size_t width,
                        const size_t *runs, size_t systems, size_t stride, double *score)
{
    for (size_t s = 0; s < systems; s++) {
        double total = 0;
        for (size_t r = 0; r < runs[s]; r++, sums += width) total += metric_score(metric, o, sums);
        score[s * stride] = total / (double)runs[s];
    }
}

/* score (systems, resamples) out. */
static void draw(int metric, const MetricOptions *o, const Statistics *run, const size_t *runs,
                 size_t systems, size_t resamples, uint64_t seed, double *sums, double *score)
{
    size_t lines = run[0].lines, width = run[0].width, all = 0;
    for (size_t s = 0; s < systems; s++) all += runs[s];
    for (size_t k = 0; k < resamples; k++) {
        memset(sums, 0, all * width * sizeof *sums);
        for (size_t i = 0; i < lines; i++) {
            size_t line = (size_t)random_below(seed, STREAM_LINES, k * lines + i, lines);
            for (size_t r = 0; r < all; r++)
                for (size_t j = 0; j < width; j++)
                    sums[r * width + j] += run[r].x[line * width + j];
        }
        mean_scores(metric, o, sums, width, runs, systems, resamples, score + k);
        tick();
    }
}

/* Mean and 95 % interval of x (n), which is sorted. */
static void spread(double *x, size_t n, double *mean, double *low, double *high)
{
    gsl_sort(x, 1, n);
    *mean = 0;
    for (size_t i = 0; i < n; i++) *mean += x[i] / (double)n;
    *low = x[n / 40];
    *high = x[n - 1 - n / 40];
}

/* Both p of differences d* (n), whose difference on all lines is d. */
static void judge(const double *drawn, size_t n, double d, Resampled *out)
{
    double size = 0, mean = 0;
    size_t as_large = 0, as_far = 0;
    for (size_t i = 0; i < n; i++) {
        size += fabs(drawn[i]) / (double)n;
        mean += drawn[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        as_large += fabs(drawn[i]) - size >= fabs(d);
        as_far += fabs(drawn[i] - mean) >= fabs(d);
    }
    out->p = (double)(as_large + 1) / (double)(n + 1);
    out->p_two_sided = (double)(as_far + 1) / (double)(n + 1);
}

int bootstrap_means(int metric, const MetricOptions *o, const Statistics *run, const size_t *runs,
                    size_t systems, size_t resamples, uint64_t seed, Resampled *out)
{
    size_t n = resamples, width = run[0].width, all = 0;
    for (size_t s = 0; s < systems; s++) all += runs[s];
    double *sums = memory_new(all, width * sizeof *sums), mean;
    double *whole = memory_new(systems, sizeof *whole);
    double *score = memory_new(systems, n * sizeof *score), *less = memory_new(n, sizeof *less);
    int code = sums && whole && score && less ? 0 : ERR_MEMORY;
    if (code == 0) {
        draw(metric, o, run, runs, systems, n, seed, sums, score);
        for (size_t r = 0; r < all; r++) metric_sum(&run[r], sums + r * width);
        mean_scores(metric, o, sums, width, runs, systems, 1, whole);
    }
    for (size_t s = 0; code == 0 && s < systems; s++) {
        Resampled *r = &out[s];
        *r = (Resampled){whole[s], NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        if (s == 0) continue;
        r->difference = r->score - out[0].score;
        if (n == 0) continue;
        for (size_t k = 0; k < n; k++) less[k] = score[s * n + k] - score[k];
        judge(less, n, r->difference, r);
        spread(less, n, &mean, &r->difference_low, &r->difference_high);
    }
    for (size_t s = 0; code == 0 && n > 0 && s < systems; s++) /* sorts the scores: the last step */
        spread(score + s * n, n, &out[s].mean, &out[s].low, &out[s].high);
    memory_free(sums);
    memory_free(whole);
    memory_free(score);
    memory_free(less);
    return code;
}

int bootstrap_paired(int metric, const MetricOptions *o, const Statistics *system, size_t systems,
                     size_t resamples, uint64_t seed, Resampled *out)
{
    size_t *runs = memory_new(systems, sizeof *runs);
    if (!runs) return ERR_MEMORY;
    for (size_t s = 0; s < systems; s++) runs[s] = 1;
    int code = bootstrap_means(metric, o, system, runs, systems, resamples, seed, out);
    memory_free(runs);
    return code;
}
