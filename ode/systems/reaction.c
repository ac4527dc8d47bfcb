/* reaction.c: logistic growth in every coordinate, with two ways of mixing. The sub-flows are
 * closed.
 *
 *   fisher  F: diffusion on a periodic line, u_i' = D (u_{i-1} - 2 u_i + u_{i+1})
 *           G: u' = r_c u (1 - u), rate r_c of column c
 *   forced  F: pull to the mean, u_i' = cos(2 t) (mean u - u_i)
 *           G: u_i' = r_i(t) u_i (1 - u_i), r_i(t) = 1 + sin(3 t + i) / 2
 *
 * The d columns are d species that do not see each other. In `forced` both parts depend on time, so
 * it tests every scheme's time nodes.
 * Source: Fisher 1937; Kolmogorov, Petrovskii, Piskunov 1937. `forced` is our own.
 */
#include "ode/field/system.h"

#include <math.h>
#include <string.h>

#include "kernels/random.h"
#include "ode/field/simd.h"

static const double diffusion = 0.5;
static const double turn = 6.283185307179586476925286766559; /* 2 pi */

/* ---- fisher -------------------------------------------------------------------------------------- */

/* param: rate (d); decay (d), kernel (n), old (n, d): scratch of the flows. */
static size_t fisher_params(size_t n, size_t d)
{
    return 2 * d + n + n * d;
}

SIMD_CLONES static void stencil(size_t d, const double *left, const double *u, const double *right,
                                double *du)
{
#pragma omp simd
    for (size_t c = 0; c < d; c++) du[c] = diffusion * (left[c] - 2 * u[c] + right[c]);
}

static void diffuse(const System *s, int set, double t, const double *y, double *dy)
{
    size_t d = s->d, last = (s->n - 1) * d;
    (void)set, (void)t;
    stencil(d, y + last, y, y + d, dy);
    stencil(last - d, y, y + d, y + 2 * d, dy + d);
    stencil(d, y + last - d, y + last, y, dy + last);
}

SIMD_CLONES static void grow(const System *s, int set, double t, const double *y, double *dy)
{
    size_t n = s->n, d = s->d;
    const double *rate = s->param;
    (void)set, (void)t;
    for (size_t i = 0; i < n * d; i += d)
#pragma omp simd
        for (size_t c = 0; c < d; c++) dy[i + c] = rate[c] * y[i + c] * (1 - y[i + c]);
}

SIMD_CLONES static void diffuse_grow(const System *s, int set, double t, const double *y,
                                     size_t first, size_t rows, double *dy)
{
    size_t n = s->n, d = s->d;
    const double *rate = s->param;
    (void)set, (void)t;
    for (size_t i = first; i < first + rows; i++) {
        const double *left = y + (i ? i - 1 : n - 1) * d, *right = y + (i + 1 < n ? i + 1 : 0) * d;
        const double *u = y + i * d;
#pragma omp simd
        for (size_t c = 0; c < d; c++)
            dy[i * d + c] =
                diffusion * (left[c] - 2 * u[c] + right[c]) + rate[c] * u[c] * (1 - u[c]);
    }
}

SIMD_CLONES static void grow_flow(const System *s, int set, double t, double h, double *y)
{
    size_t n = s->n, d = s->d;
    double *decay = s->param + d;
    (void)set, (void)t;
    for (size_t c = 0; c < d; c++) decay[c] = exp(-h * s->param[c]);
    for (size_t i = 0; i < n * d; i += d)
#pragma omp simd
        for (size_t c = 0; c < d; c++) y[i + c] = y[i + c] / (y[i + c] + (1 - y[i + c]) * decay[c]);
}

/* Computes the first column of the circulant exp(h F) - 1, which convolves with e^{-x} I_m(x), x = 2 D
 * h, I_m the modified Bessel functions (e^{x cos a} = I_0 + 2 sum I_m cos(m a), Abramowitz, Stegun
 * 1964, 9.6.34), over all images m + k n. It takes the backward recurrence I_{m-1} = I_{m+1} + (2 m /
 * x) I_m, normalised by that series at a = 0 (Miller; Gautschi 1967). It gives the middle as minus the
 * others too, so rounding is of size h eps; with the 1, eps at every step would add up. |x| <=
 * FLOW_MAX. Returns M, the farthest m of any size. */
enum { FLOW_MAX = 32 };

static size_t heat_kernel(size_t n, double h, double *kernel)
{
    double x = 2 * diffusion * h, z = fabs(x), above = 0, v = 1e-300, sum = 0;
    size_t M = 0;
    for (double term = 1; term > 1e-24;) term *= z / 2 / (double)++M;
    memset(kernel, 0, n * sizeof *kernel);
    for (size_t m = M; m > 0; m--) {
        double c = x < 0 && m % 2 ? -v : v, below = above + 2 * (double)m / z * v;
        kernel[m % n] += c;
        kernel[(n - m % n) % n] += c;
        kernel[0] -= 2 * c;
        sum += 2 * v;
        above = v;
        v = below;
    }
    double scale = (x < 0 ? exp(2 * z) : 1) / (sum + v);
    for (size_t m = 0; m < n; m++) kernel[m] *= scale;
    return M;
}

SIMD_CLONES static void add_row(size_t d, double c, const double *x, double *y)
{
#pragma omp simd
    for (size_t i = 0; i < d; i++) y[i] += c * x[i];
}

static void diffuse_short(const System *s, double h, double *y)
{
    size_t n = s->n, d = s->d;
    double *kernel = s->param + 2 * d, *old = kernel + n;
    size_t M = heat_kernel(n, h, kernel), taps = 2 * M + 1 < n ? 2 * M + 1 : n;
    memcpy(old, y, n * d * sizeof *y);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < taps; k++) {
            size_t m = taps < n ? (n - M + k) % n : k;
            add_row(d, kernel[m], old + (i + n - m) % n * d, y + i * d);
        }
}

static void diffuse_flow(const System *s, int set, double t, double h, double *y)
{
    double parts = ceil(fabs(2 * diffusion * h) / FLOW_MAX);
    (void)set, (void)t;
    for (double k = 0; k < parts; k++) diffuse_short(s, h / parts, y);
}

/* Starts with a smooth wave a species: rough data would blow up backwards in time. */
static void fisher_init(System *s, uint64_t seed)
{
    size_t n = s->n, d = s->d;
    for (size_t c = 0; c < d; c++) s->param[c] = 1 + 0.25 * (double)(c % 4);
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
             .field = {diffuse, grow},
             .both = diffuse_grow,
             .flow = {diffuse_flow, grow_flow},
             .linear_ops = 1 << OP_F},
    .n_min = 3,
    .d_min = 1,
    .size_max = 1 << 16,
    .params = fisher_params,
    .init = fisher_init};

/* ---- forced -------------------------------------------------------------------------------------- */

static double column_mean(const System *s, const double *y, size_t column)
{
    double sum = 0;
    for (size_t i = column; i < s->n * s->d; i += s->d) sum += y[i];
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

/* Keeps the mean; deviations shrink by exp of the integral of cos(2 t) = sin h cos(2 t + h). */
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

/* u' = r(t) u (1 - u) with the integral R of r_i over (t, t + h): h + sin(3 h / 2) sin(3 t + i + 3 h / 2) / 3. */
static void pump_flow(const System *s, int set, double t, double h, double *y)
{
    (void)set;
    for (size_t i = 0; i < s->n * s->d; i++) {
        double phase = 3 * t + (double)(i / s->d) + 1.5 * h;
        double R = h + sin(1.5 * h) * sin(phase) / 3;
        y[i] = y[i] / (y[i] + (1 - y[i]) * exp(-R));
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
             .field = {pull, pump},
             .flow = {pull_flow, pump_flow}},
    .n_min = 2,
    .d_min = 1,
    .size_max = 1 << 20,
    .init = forced_init};
