/* system_reaction.c: logistic growth in every coordinate, with two ways of mixing. Closed sub-flows.
 *
 *   fisher  F: diffusion on a periodic line, u_i' = D (u_{i-1} - 2 u_i + u_{i+1})
 *           G: u' = r_c u (1 - u), rate r_c of column c
 *   forced  F: pull to the mean, u_i' = cos(2 t) (mean u - u_i)
 *           G: u_i' = r_i(t) u_i (1 - u_i), r_i(t) = 1 + sin(3 t + i) / 2
 *
 * The d columns are d species that do not see each other. In `forced` both parts depend on time,
 * so it tests every scheme's time nodes.
 * Source: Fisher 1937; Kolmogorov, Petrovskii, Piskunov 1937. `forced` is our own.
 */
#include "ode/system.h"

#include <math.h>
#include <string.h>

#include "kernels/random.h"

static const double diffusion = 0.5;
static const double turn = 6.283185307179586476925286766559; /* 2 pi */

/* Solution of u' = r(t) u (1 - u) when r has integral R over the step. */
static double logistic(double u, double R)
{
    return u / (u + (1 - u) * exp(-R));
}

/* ---- fisher -------------------------------------------------------------------------------------- */

static double rate(size_t column)
{
    return 1 + 0.25 * (double)(column % 4);
}

static void diffuse(const System *s, int set, double t, const double *y, double *dy)
{
    size_t n = s->n, d = s->d;
    (void)set, (void)t;
    for (size_t i = 0; i < n; i++) {
        const double *left = y + (i + n - 1) % n * d, *right = y + (i + 1) % n * d;
        for (size_t c = 0; c < d; c++)
            dy[i * d + c] = diffusion * (left[c] - 2 * y[i * d + c] + right[c]);
    }
}

static void grow(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] = rate(i % s->d) * y[i] * (1 - y[i]);
}

static void grow_flow(const System *s, int set, double t, double h, double *y)
{
    (void)set, (void)t;
    for (size_t i = 0; i < s->n * s->d; i++) y[i] = logistic(y[i], h * rate(i % s->d));
}

/* param: cosine (n): cos(2 pi m / n); kernel (n), column (n): scratch of the flow. */
static size_t fisher_params(size_t n, size_t d)
{
    (void)d;
    return 3 * n;
}

/* First column of the circulant exp(h F) - 1: kernel_m = 1/n sum_k (exp(h lambda_k) - 1)
 * cos(2 pi k m / n), lambda_k = -2 D (1 - cos(2 pi k / n)). Without the 1 its rounding is of size
 * h eps; with it, the same eps at every step would add up to steps * eps.
 * Davis 1979, "Circulant matrices", section 3.2. */
static void heat_kernel(size_t n, double h, const double *cosine, double *kernel)
{
    memset(kernel, 0, n * sizeof *kernel);
    for (size_t k = 0; k < n; k++) {
        double e = expm1(-2 * diffusion * h * (1 - cosine[k])) / (double)n;
        for (size_t m = 0, km = 0; m < n; m++, km = (km + k) % n) kernel[m] += e * cosine[km];
    }
}

static void diffuse_flow(const System *s, int set, double t, double h, double *y)
{
    size_t n = s->n, d = s->d;
    double *cosine = s->param, *kernel = cosine + n, *column = kernel + n;
    (void)set, (void)t;
    heat_kernel(n, h, cosine, kernel);
    for (size_t c = 0; c < d; c++) {
        for (size_t i = 0; i < n; i++) column[i] = y[i * d + c];
        for (size_t i = 0; i < n; i++) {
            double change = 0;
            for (size_t m = 0; m < n; m++) change += kernel[m] * column[i >= m ? i - m : i + n - m];
            y[i * d + c] += change;
        }
    }
}

/* A smooth wave a species: rough data would blow up backwards in time, where histories lie. */
static void fisher_init(System *s, uint64_t seed)
{
    size_t n = s->n, d = s->d;
    for (size_t m = 0; m < n; m++) s->param[m] = cos(turn * (double)m / (double)n);
    for (size_t i = 0; i < n * d; i++) {
        double phase = turn * random_uniform(seed, STREAM_INITIAL, i % d);
        double x = turn * (double)(i / d) / (double)n;
        s->initial[i] = 0.45 + 0.25 * cos(x + phase) + 0.05 * sin(2 * x - phase);
    }
}

const SystemKind system_fisher = {
    .base = {.name = "fisher",
             .title = "reaction-diffusion on a periodic line",
             .source = "Fisher 1937; Kolmogorov, Petrovskii, Piskunov 1937",
             .n = 8,
             .d = 4,
             .t_end = 1,
             .h0 = 0.25,
             .field = {diffuse, grow},
             .flow = {diffuse_flow, grow_flow}},
    .n_min = 3,
    .d_min = 1,
    .size_max = 1 << 16,
    .params = fisher_params,
    .init = fisher_init};

/* ---- forced -------------------------------------------------------------------------------------- */

static double column_mean(const System *s, const double *y, size_t column)
{
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) sum += y[i * s->d + column];
    return sum / (double)s->n;
}

static void pull(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set;
    for (size_t c = 0; c < s->d; c++) {
        double mean = column_mean(s, y, c);
        for (size_t i = c; i < s->n * s->d; i += s->d) dy[i] = cos(2 * t) * (mean - y[i]);
    }
}

/* The mean stays, deviations shrink by exp of the integral of cos(2 t) = sin h cos(2 t + h). */
static void pull_flow(const System *s, int set, double t, double h, double *y)
{
    double shrink = exp(-sin(h) * cos(2 * t + h));
    (void)set;
    for (size_t c = 0; c < s->d; c++) {
        double mean = column_mean(s, y, c);
        for (size_t i = c; i < s->n * s->d; i += s->d) y[i] = mean + shrink * (y[i] - mean);
    }
}

static void pump(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set;
    for (size_t i = 0; i < s->n * s->d; i++)
        dy[i] = (1 + 0.5 * sin(3 * t + (double)(i / s->d))) * y[i] * (1 - y[i]);
}

/* Integral of r_i over (t, t + h): h + sin(3 h / 2) sin(3 t + i + 3 h / 2) / 3. */
static void pump_flow(const System *s, int set, double t, double h, double *y)
{
    (void)set;
    for (size_t i = 0; i < s->n * s->d; i++) {
        double phase = 3 * t + (double)(i / s->d) + 1.5 * h;
        y[i] = logistic(y[i], h + sin(1.5 * h) * sin(phase) / 3);
    }
}

static void forced_init(System *s, uint64_t seed)
{
    system_uniform(s->initial, s->n * s->d, 0.2, 0.8, seed, STREAM_INITIAL);
}

const SystemKind system_forced = {
    .base = {.name = "forced",
             .title = "both parts depend on time: tests the time nodes",
             .source = "own",
             .timed = 1,
             .n = 8,
             .d = 4,
             .t_end = 1,
             .h0 = 0.25,
             .field = {pull, pump},
             .flow = {pull_flow, pump_flow}},
    .n_min = 2,
    .d_min = 1,
    .size_max = 1 << 20,
    .init = forced_init};
