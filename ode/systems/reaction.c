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
#include "ode/systems/system_kind.h"

#include <math.h>

#include "kernels/base/random.h"
#include "kernels/base/simd.h"

static const double diffusion = 0.5;
static const double turn = 6.283185307179586476925286766559; /* 2 pi */

/* ---- fisher -------------------------------------------------------------------------------------- */

/* param: rate (d); decay (d), work (3, n, d): scratch of the flows. */
static size_t fisher_params(size_t n, size_t d)
{
    return 2 * d + 3 * n * d;
}

SIMD_CLONES static void stencil(size_t d, const double *left, const double *u, const double *right,
                                double *du)
{
#pragma omp simd
    for (size_t c = 0; c < d; c++) du[c] = diffusion * (left[c] - 2 * u[c] + right[c]);
}

SYSTEM_FIELD(diffuse)
{
    size_t d = s->d, last = (s->n - 1) * d;
    stencil(d, y + last, y, y + d, dy);
    stencil(last - d, y, y + d, y + 2 * d, dy + d);
    stencil(d, y + last - d, y + last, y, dy + last);
}

SIMD_CLONES SYSTEM_FIELD(grow)
{
    size_t n = s->n, d = s->d;
    const double *rate = s->param;
    for (size_t i = 0; i < n * d; i += d)
#pragma omp simd
        for (size_t c = 0; c < d; c++) dy[i + c] = rate[c] * y[i + c] * (1 - y[i + c]);
}

SIMD_CLONES SYSTEM_BOTH(diffuse_grow)
{
    size_t n = s->n, d = s->d;
    const double *rate = s->param;
    for (size_t i = first; i < first + rows; i++) {
        const double *left = y + (i ? i - 1 : n - 1) * d, *right = y + (i + 1 < n ? i + 1 : 0) * d;
        const double *u = y + i * d;
#pragma omp simd
        for (size_t c = 0; c < d; c++)
            dy[i * d + c] =
                diffusion * (left[c] - 2 * u[c] + right[c]) + rate[c] * u[c] * (1 - u[c]);
    }
}

SIMD_CLONES SYSTEM_FLOW(grow_flow)
{
    size_t n = s->n, d = s->d;
    double *decay = s->param + d;
    for (size_t c = 0; c < d; c++) decay[c] = exp(-h * s->param[c]);
    for (size_t i = 0; i < n * d; i += d)
#pragma omp simd
        for (size_t c = 0; c < d; c++) y[i + c] = y[i + c] / (y[i + c] + (1 - y[i + c]) * decay[c]);
}

static void diffuse_act(const void *system, const double *u, double *du)
{
    diffuse(system, 1, 0, u, du);
}

/* |F| <= 4 D. */
SYSTEM_FLOW(diffuse_flow)
{
    exponential_phi(s->n * s->d, diffuse_act, s, (Spectrum){4 * diffusion}, h, 0, y, y,
                    s->param + 2 * s->d);
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
             .special = 1 << OP_F,
             .sees = {2, 1},
             .ring = 1},
    .n_min = 3,
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

SYSTEM_FIELD(pull)
{
    for (size_t c = 0; c < s->d; c++) {
        double mean = column_mean(s, y, c);
        for (size_t i = c; i < s->n * s->d; i += s->d) dy[i] = cos(2 * t) * (mean - y[i]);
    }
}

/* Keeps the mean; deviations shrink by exp of the integral of cos(2 t) = sin h cos(2 t + h). */
SYSTEM_FLOW(pull_flow)
{
    double shrink = exp(-sin(h) * cos(2 * t + h));
    for (size_t c = 0; c < s->d; c++) {
        double mean = column_mean(s, y, c);
        for (size_t i = c; i < s->n * s->d; i += s->d) y[i] = mean + shrink * (y[i] - mean);
    }
}

SYSTEM_FIELD(pump)
{
    for (size_t i = 0; i < s->n * s->d; i++)
        dy[i] = (1 + 0.5 * sin(3 * t + (double)(i / s->d))) * y[i] * (1 - y[i]);
}

/* u' = r(t) u (1 - u) with the integral R of r_i over (t, t + h): h + sin(3 h / 2) sin(3 t + i + 3 h / 2) / 3. */
SYSTEM_FLOW(pump_flow)
{
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
    .size_max = 1 << 20,
    .init = forced_init};
