/* vortex.c: point vortices with smoothed cores in an external strain.
 *
 *   F: z_i' = sum_j Gamma_j (-(y_i - y_j), x_i - x_j) / (2 pi (r_ij^2 + delta^2))   no closed flow
 *   G: (x, y)' = e (x, -y)                                                          closed
 *
 * Strain does not commute with the interaction, which rotations and translations would.
 * Source: Krasny 1986 (the smoothed kernel); strain: Moore, Saffman 1975.
 */
#include "ode/systems/system_kind.h"

#include <math.h>

static const double strain = 0.5;
static const double core2 = 0.25; /* delta^2 */
static const double two_pi = 6.283185307179586476925286766559;

static void induce_one(const System *s, const double *z, size_t i, double *dz)
{
    const double *Gamma = s->param;
    double u = 0, v = 0;
    for (size_t j = 0; j < s->n; j++) {
        double x = z[2 * i] - z[2 * j], y = z[2 * i + 1] - z[2 * j + 1];
        double w = Gamma[j] / (x * x + y * y + core2);
        u -= w * y;
        v += w * x;
    }
    dz[2 * i] = u / two_pi;
    dz[2 * i + 1] = v / two_pi;
}

/* Few vortices cost less than a parallel region does, even one of one thread. */
SYSTEM_FIELD(induce)
{
    enum { MANY = 256 };
    if (s->n < MANY) {
        for (size_t i = 0; i < s->n; i++) induce_one(s, y, i, dy);
        return;
    }
#pragma omp parallel for
    for (size_t i = 0; i < s->n; i++) induce_one(s, y, i, dy);
}

SYSTEM_FIELD(stretch)
{
    for (size_t i = 0; i < 2 * s->n; i += 2) {
        dy[i] = strain * y[i];
        dy[i + 1] = -strain * y[i + 1];
    }
}

SYSTEM_FLOW(stretch_flow)
{
    double grow = exp(strain * h), shrink = exp(-strain * h);
    for (size_t i = 0; i < 2 * s->n; i += 2) {
        y[i] *= grow;
        y[i + 1] *= shrink;
    }
}

static size_t params(size_t n, size_t d)
{
    (void)d;
    return n; /* Gamma (n) */
}

static void init(System *s, uint64_t seed)
{
    system_normal(s->initial, 2 * s->n, 1, seed, STREAM_INITIAL);
    system_uniform(s->param, s->n, 0.5, 2.5, seed, STREAM_PARAM);
    for (size_t i = 1; i < s->n; i += 2) s->param[i] = -s->param[i];
}

const SystemKind system_vortex = {.base = {.name = "vortex",
                                           .title = "smoothed point vortices in an external strain",
                                           .source = "Krasny 1986; Moore, Saffman 1975",
                                           .n = 8,
                                           .d = 2,
                                           .field = {induce, stretch},
                                           .flow = {NULL, stretch_flow},
                                           .special = 1 << OP_G},
                                  .n_min = 2,
                                  .d_only = 2,
                                  .size_max = 1 << 14,
                                  .params = params,
                                  .init = init};
