/* statistics.c: computes Student's t, pooled differences, Spearman's rho, its bootstrap and its permutations. */
#include "studies/base/statistics/statistics.h"

#include <float.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_permutation.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "kernels/base/random.h"

enum { RESAMPLES = 4000, SHUFFLES = 20000, EXACT_MOST = 8 };
enum { STREAM_BOOTSTRAP = 0x626f6f74, STREAM_SHUFFLE = 0x73687566 }; /* "boot", "shuf" */

Interval statistics_mean(const double *x, size_t stride, size_t n)
{
    Interval r = {0, NAN, NAN, NAN, NAN, NAN};
    double sum = 0, square = 0, least = NAN, most = NAN;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i * stride])) continue;
        sum += x[i * stride], r.n++;
        least = fmin(least, x[i * stride]);
        most = fmax(most, x[i * stride]);
    }
    if (r.n == 0) return r;
    r.mean =
        least == most ? most : sum / (double)r.n; /* so equal numbers have sd 0, not rounding */
    if (r.n == 1) return r;
    for (size_t i = 0; i < n; i++)
        if (!isnan(x[i * stride])) square += (x[i * stride] - r.mean) * (x[i * stride] - r.mean);
    double free = (double)r.n - 1;
    r.sd = sqrt(square / free);
    double half = gsl_cdf_tdist_Pinv(0.975, free) * r.sd / sqrt((double)r.n);
    r.low = r.mean - half;
    r.high = r.mean + half;
    double t = fabs(r.mean) / (r.sd / sqrt((double)r.n));
    r.p = r.mean == 0 ? 1 : 2 * gsl_cdf_tdist_Q(t, free);
    return r;
}

Interval statistics_positive(const double *x, size_t n)
{
    Interval r = statistics_mean(x, 1, n);
    if (r.low < 0) r.low = 0;
    return r;
}

int statistics_is_cut(Interval positive)
{
    return positive.low == 0 && positive.high > positive.mean;
}

static void add_design(Pooled *s, double *square, const Interval *d)
{
    if (d->n < 2) return;
    *square += (double)(d->n - 1) * d->sd * d->sd;
    s->df += d->n - 1;
}

Pooled statistics_pool(const Interval *design, size_t n)
{
    Pooled s = {0, NAN};
    double square = 0;
    for (size_t i = 0; i < n; i++) add_design(&s, &square, &design[i]);
    if (s.df) s.sd = sqrt(square / (double)s.df);
    return s;
}

/* Returns the expected length of an interval over sigma sqrt(1 / n_a + 1 / n_b): 2 t E(sd) / sigma, with the mean of
 * chi by Gamma functions. */
static double expected_length(double df)
{
    double mean = sqrt(2 / df) * exp(lgamma(0.5 * (df + 1)) - lgamma(0.5 * df));
    return 2 * gsl_cdf_tdist_Pinv(0.975, df) * mean;
}

/* Chooses the estimate by the mean squares of seeds and of the rest. within: sum of squares within the n designs;
 * square: sum of squares of the k seeds' means about their mean. */
static void choose(Seeds *s, double within, double square, double n, double k)
{
    const double most = 1.05, sure = 0.005;
    double df = (n - 1) * (k - 1), between = n * square, left = within - between;
    if (left <= 4 * n * k * DBL_EPSILON * within) left = 0; /* rounding of the n k numbers' sums */
    double seeds = between / (k - 1), rest = left / df;
    if (!(within > 0)) return; /* all runs of each design are equal, so nothing tells of seeds */
    s->correlation = (seeds - rest) / (seeds + (n - 1) * rest);
    s->p = rest > 0 ? gsl_cdf_fdist_Q(seeds / rest, k - 1, df) : 0;
    s->longer = expected_length(df) / expected_length(n * (k - 1));
    s->paired = s->pairing == SEEDS_PAIRED ||
                (s->pairing == SEEDS_BY_RULE && (s->longer <= most || s->p < sure));
    if (s->paired) s->pooled = (Pooled){(size_t)df, sqrt(rest)};
}

/* one_way: the estimate over these designs. */
static SeedSpread find_spread(const double *y, size_t designs, size_t seeds, const Pooled *one_way)
{
    SeedSpread s = {NAN, NAN, NAN};
    double k = 0, logs = 0, parts = 0, df = (double)one_way->df;
    for (size_t i = 0; i < designs; i++) {
        Interval d = statistics_mean(y + i * seeds, 1, seeds);
        if (d.n < 2) continue;
        double free = (double)d.n - 1;
        s.low = fmin(s.low, d.sd);
        s.high = fmax(s.high, d.sd);
        logs += 2 * free * log(d.sd);
        parts += 1 / free;
        k++;
    }
    if (k < 2) return (SeedSpread){NAN, NAN, NAN};
    if (!(one_way->sd > 0)) return s;
    double statistic = 2 * df * log(one_way->sd) - logs,
           scale = 1 + (parts - 1 / df) / (3 * (k - 1));
    s.p = s.low > 0 ? gsl_cdf_chisq_Q(statistic / scale, k - 1) : 0;
    return s;
}

Seeds statistics_seeds(const double *y, size_t designs, size_t seeds, int pairing)
{
    Seeds s = {{0, NAN}, {NAN, NAN, NAN}, 0, pairing, 0, NAN, NAN, NAN};
    double within = 0, square = 0, mean = 0;
    size_t most = 0;
    for (size_t j = 0; j < seeds; j++) {
        Interval seed = statistics_mean(y + j, seeds, designs);
        if (seed.n == 0) continue;
        double off = seed.mean - mean; /* Welford 1962 */
        mean += off / (double)++most;
        square += off * (seed.mean - mean);
    }
    for (size_t i = 0; i < designs; i++) {
        Interval d = statistics_mean(y + i * seeds, 1, seeds);
        s.incomplete += d.n < most;
        add_design(&s.pooled, &within, &d);
    }
    if (s.pooled.df) s.pooled.sd = sqrt(within / (double)s.pooled.df);
    s.spread = find_spread(y, designs, seeds, &s.pooled);
    if (s.incomplete == 0 && designs > 1 && most > 1)
        choose(&s, within, square, (double)designs, (double)most);
    return s;
}

Difference statistics_contrast(const Pooled *s, const Interval *const *design, const double *weight,
                               size_t n)
{
    Difference d = {NAN, NAN, NAN, NAN, NAN};
    double mean = 0, part = 0;
    for (size_t i = 0; i < n; i++) {
        if (weight[i] == 0) continue;
        if (design[i]->n == 0) return d;
        mean += weight[i] * design[i]->mean;
        part += weight[i] * weight[i] / (double)design[i]->n;
    }
    d.mean = mean;
    if (!(s->sd > 0)) return d;
    d.error = s->sd * sqrt(part);
    double df = (double)s->df, half = gsl_cdf_tdist_Pinv(0.975, df) * d.error;
    d.low = d.mean - half;
    d.high = d.mean + half;
    d.p = d.mean == 0 ? 1 : 2 * gsl_cdf_tdist_Q(fabs(d.mean) / d.error, df);
    return d;
}

Difference statistics_difference(const Pooled *s, const Interval *a, const Interval *b)
{
    return statistics_contrast(s, (const Interval *[]){a, b}, (double[]){1, -1}, 2);
}

/* ---- rank correlation ------------------------------------------------------------------------ */

/* x, y (n): pairs; rx, ry (n): ranks about their mean; u, v (n), work (2 n): room. */
typedef struct {
    size_t n;
    double *x, *y, *rx, *ry, *u, *v, *work;
    uint32_t *order;
    double *sample; /* (RESAMPLES) */
} Pairs;

static void find_ranks(const double *x, size_t n, double *rank)
{
    for (size_t i = 0; i < n; i++) {
        double less = 0, equal = 0;
        for (size_t j = 0; j < n; j++) {
            less += x[j] < x[i];
            equal += x[j] == x[i];
        }
        rank[i] = less + 0.5 * (equal + 1) - 0.5 * ((double)n + 1);
    }
}

static double product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static int is_constant(const double *x, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (x[i] != x[0]) return 0;
    return 1;
}

/* Returns Spearman's rho without what rounding puts above 1. */
static double spearman(Pairs *p, const double *x, const double *y)
{
    return fmin(fmax(gsl_stats_spearman(x, 1, y, 1, p->n, p->work), -1), 1);
}

/* Draws pairs with replacement. A draw of equal values has no correlation and is replaced by the next one. No interval
 * is given where more than one draw in 20 has none, as where only one pair differs: the other draws do not show the
 * spread. */
static void bootstrap(Pairs *p, uint64_t seed, Correlation *out)
{
    size_t n = p->n, count = 0;
    for (uint64_t b = 0; count < RESAMPLES && b < RESAMPLES + RESAMPLES / 20; b++) {
        for (size_t i = 0; i < n; i++) {
            size_t k = random_below(seed, STREAM_BOOTSTRAP, b * n + i, n);
            p->u[i] = p->x[k];
            p->v[i] = p->y[k];
        }
        if (is_constant(p->u, n) || is_constant(p->v, n)) continue;
        p->sample[count++] = spearman(p, p->u, p->v);
    }
    if (count < RESAMPLES) return;
    gsl_sort(p->sample, 1, count);
    out->low = gsl_stats_quantile_from_sorted_data(p->sample, 1, count, 0.025);
    out->high = gsl_stats_quantile_from_sorted_data(p->sample, 1, count, 0.975);
}

/* Returns 1 where |sum| of a permutation is at least that of the data, up to rounding: ranks are halves of whole
 * numbers. */
static int is_extreme(double sum, double seen)
{
    return fabs(sum) >= fabs(seen) - 1e-6;
}

/* Goes through all orders of ry (n). Returns the share that is extreme. */
static double count_all(Pairs *p, double seen)
{
    size_t order[EXACT_MOST], all = 0, extreme = 0;
    gsl_permutation q = {p->n, order};
    gsl_permutation_init(&q);
    do {
        for (size_t i = 0; i < p->n; i++) p->v[i] = p->ry[order[i]];
        extreme += (size_t)is_extreme(product(p->rx, p->v, p->n), seen);
        all++;
    } while (gsl_permutation_next(&q) == GSL_SUCCESS);
    return (double)extreme / (double)all;
}

static double count_some(Pairs *p, double seen, uint64_t seed)
{
    size_t extreme = 1;
    for (uint64_t k = 0; k < SHUFFLES; k++) {
        random_permutation(seed, STREAM_SHUFFLE + (k << 32), p->n, p->order);
        for (size_t i = 0; i < p->n; i++) p->v[i] = p->ry[p->order[i]];
        extreme += (size_t)is_extreme(product(p->rx, p->v, p->n), seen);
    }
    return (double)extreme / (SHUFFLES + 1);
}

static void correlate(Pairs *p, uint64_t seed, Correlation *out)
{
    size_t n = p->n;
    if (n < 3 || is_constant(p->x, n) || is_constant(p->y, n)) return;
    find_ranks(p->x, n, p->rx);
    find_ranks(p->y, n, p->ry);
    double seen = product(p->rx, p->ry, n);
    out->rho = spearman(p, p->x, p->y);
    out->p = n <= EXACT_MOST ? count_all(p, seen) : count_some(p, seen, seed);
    if (n >= BOOTSTRAP_LEAST) bootstrap(p, seed, out);
}

int statistics_rank(const double *x, const double *y, size_t n, uint64_t seed, Correlation *out)
{
    SCOPED(memory_drop) double *room = memory_new(8 * n + RESAMPLES, sizeof *room);
    SCOPED(memory_drop) uint32_t *order = memory_new(n, sizeof *order);
    *out = (Correlation){0, NAN, NAN, NAN, NAN};
    if (!room || !order) return ERR_MEMORY;
    Pairs p = {.order = order, .work = room + 6 * n, .sample = room + 8 * n};
    double **part[] = {&p.x, &p.y, &p.rx, &p.ry, &p.u, &p.v};
    for (size_t i = 0; i < 6; i++) *part[i] = room + i * n;
    for (size_t i = 0; i < n; i++) {
        if (isnan(x[i]) || isnan(y[i])) continue;
        p.x[p.n] = x[i];
        p.y[p.n++] = y[i];
    }
    out->n = p.n;
    correlate(&p, seed, out);
    return 0;
}

/* ---- rank correlation within groups ------------------------------------------------------------ */

/* Pairs in the order of their groups: group g has those from end[g - 1] (0 for the first) up to end[g]. */
typedef struct {
    size_t n, groups;
    double *x, *y, *rx, *ry, *v;
    size_t *end;
    uint32_t *order;
} Strata;

/* Takes the pairs of one group, where it has two at least. */
static void take_group(Strata *s, const double *x, const double *y, const size_t *group, size_t of,
                       size_t n)
{
    size_t from = s->n;
    for (size_t i = 0; i < n; i++) {
        if (group[i] != of || isnan(x[i]) || isnan(y[i])) continue;
        s->x[s->n] = x[i];
        s->y[s->n++] = y[i];
    }
    if (s->n - from < 2) s->n = from;
    if (s->n == from) return;
    find_ranks(s->x + from, s->n - from, s->rx + from);
    find_ranks(s->y + from, s->n - from, s->ry + from);
    s->end[s->groups++] = s->n;
}

/* Returns the share of the permutations of ry within groups that are extreme, the data among them. */
static double count_within(const Strata *s, double seen, uint64_t seed)
{
    size_t extreme = 1;
    for (uint64_t k = 0; k < SHUFFLES; k++) {
        for (size_t g = 0, from = 0; g < s->groups; from = s->end[g++]) {
            random_permutation(seed, STREAM_SHUFFLE + (k << 32) + g, s->end[g] - from, s->order);
            for (size_t i = from; i < s->end[g]; i++) s->v[i] = s->ry[from + s->order[i - from]];
        }
        extreme += (size_t)is_extreme(product(s->rx, s->v, s->n), seen);
    }
    return (double)extreme / (SHUFFLES + 1);
}

/* Replaces numbers by their logarithms less the mean of their group's. */
static void centre_logs(const Strata *s, double *x)
{
    for (size_t g = 0, from = 0; g < s->groups; from = s->end[g++]) {
        double mean = 0, n = (double)(s->end[g] - from);
        for (size_t i = from; i < s->end[g]; i++) mean += (x[i] = log(x[i])) / n;
        for (size_t i = from; i < s->end[g]; i++) x[i] -= mean;
    }
}

static void fit_within(const Strata *s, Within *out)
{
    centre_logs(s, s->x);
    centre_logs(s, s->y);
    double xx = product(s->x, s->x, s->n), df = (double)s->n - (double)s->groups - 1, rest = 0;
    if (!(xx > 0) || df < 1) return;
    out->slope = product(s->x, s->y, s->n) / xx;
    for (size_t i = 0; i < s->n; i++) {
        double off = s->y[i] - out->slope * s->x[i];
        rest += off * off;
    }
    double half = gsl_cdf_tdist_Pinv(0.975, df) * sqrt(rest / df / xx);
    out->slope_low = out->slope - half;
    out->slope_high = out->slope + half;
}

int statistics_within(const double *x, const double *y, const size_t *group, size_t n,
                      uint64_t seed, Within *out)
{
    SCOPED(memory_drop) double *room = memory_new(5 * n, sizeof *room);
    SCOPED(memory_drop) size_t *end = memory_new(n, sizeof *end);
    SCOPED(memory_drop) uint32_t *order = memory_new(n, sizeof *order);
    *out = (Within){0, 0, NAN, NAN, NAN, NAN, NAN};
    if (!room || !end || !order) return ERR_MEMORY;
    Strata s = {0, 0, room, room + n, room + 2 * n, room + 3 * n, room + 4 * n, end, order};
    for (size_t i = 0; i < n; i++)
        if (group[i] == i) take_group(&s, x, y, group, i, n);
    out->n = s.n;
    out->groups = s.groups;
    double xx = product(s.rx, s.rx, s.n), yy = product(s.ry, s.ry, s.n);
    if (!(xx > 0 && yy > 0)) return 0;
    double seen = product(s.rx, s.ry, s.n);
    out->rho = seen / sqrt(xx * yy);
    out->p = count_within(&s, seen, seed);
    fit_within(&s, out);
    return 0;
}

/* ---- distances --------------------------------------------------------------------------------- */

/* Returns D of the division whose second group is the set of bits; NaN where no group has a pair or a group is
 * empty. */
static double apart(const double *distance, size_t n, uint64_t second)
{
    double sum[2] = {0, 0}, count[2] = {0, 0};
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            int between = (second >> i & 1) != (second >> j & 1);
            sum[between] += distance[i * n + j];
            count[between]++;
        }
    return sum[1] / count[1] - sum[0] / count[0];
}

/* Returns the next larger number with as many bits set (Gosper). */
static uint64_t next_set(uint64_t s)
{
    uint64_t low = s & (~s + 1), ripple = s + low;
    return ripple | ((s ^ ripple) / low >> 2);
}

static uint64_t drawn_set(size_t n, size_t k, uint64_t seed, uint64_t draw)
{
    uint32_t order[64];
    uint64_t s = 0;
    random_permutation(seed, STREAM_SHUFFLE + (draw << 32), n, order);
    for (size_t i = 0; i < k; i++) s |= UINT64_C(1) << order[i];
    return s;
}

void statistics_apart(const double *distance, const int *second, size_t n, uint64_t seed, double *p)
{
    uint64_t mine = 0;
    size_t k = 0, extreme = 0;
    for (size_t i = 0; i < n; i++)
        if (second[i]) mine |= UINT64_C(1) << i, k++;
    double seen = apart(distance, n, mine), ways = 1;
    *p = NAN;
    if (isnan(seen)) return;
    for (size_t i = 0; i < k; i++) ways *= (double)(n - i) / (double)(i + 1);
    int exact = ways < SHUFFLES + 0.5;
    size_t all = exact ? (size_t)(ways + 0.5) : SHUFFLES + 1;
    uint64_t s = exact ? (UINT64_C(1) << k) - 1 : mine;
    for (size_t i = 0; i < all; i++) {
        extreme += apart(distance, n, s) >= seen - 1e-9 * fabs(seen);
        s = exact ? next_set(s) : drawn_set(n, k, seed, i);
    }
    *p = (double)extreme / (double)all;
}
