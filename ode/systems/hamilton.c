/* hamilton.c: H = |p|^2/2 + V(q), a particle is (q1, q2, p1, p2); both sub-flows are closed.
 *
 *   F: the kick, p' = -grad V(q)          G: the drift, q' = p
 *   kepler  V = -1/|q|: ellipses of semi-axis 1, from the perihelion; closed solution
 *   henon   V = |q|^2/2 + q1^2 q2 - q2^3/3: chaotic at higher energy
 *
 * Particles do not see each other. F'F = G'G = 0: trees with an edge between two vertices of one
 * colour vanish, so some schemes gain an order here, and this is no control. kepler's numbers in
 * param serve its solution only, so the particles are apart.
 * Source: Hairer, Lubich, Wanner 2006, "Geometric numerical integration", I.2 and I.3; Henon,
 * Heiles 1964.
 */
#include "ode/systems/system_kind.h"

#include <math.h>

#include "kernels/base/simd.h"

/* Functions that are inlined with their loops into the clones below. */
#define INLINE static inline __attribute__((always_inline))

INLINE void kepler_force(double x, double y, double *fx, double *fy)
{
    double r2 = x * x + y * y, r3 = r2 * sqrt(r2);
    *fx = -x / r3;
    *fy = -y / r3;
}

INLINE void henon_force(double x, double y, double *fx, double *fy)
{
    *fx = -x - 2 * x * y;
    *fy = -y - x * x + y * y;
}

typedef void Force(double x, double y, double *fx, double *fy);

INLINE void kick_flow(size_t n, Force *force, double h, double *y)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double fx, fy;
        force(y[4 * i], y[4 * i + 1], &fx, &fy);
        y[4 * i + 2] += h * fx;
        y[4 * i + 3] += h * fy;
    }
}

/* Computes the kick, with `moves` the drift too. */
INLINE void rate(size_t n, Force *force, int moves, const double *y, double *dy)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        double fx, fy;
        force(y[4 * i], y[4 * i + 1], &fx, &fy);
        dy[4 * i] = moves ? y[4 * i + 2] : 0;
        dy[4 * i + 1] = moves ? y[4 * i + 3] : 0;
        dy[4 * i + 2] = fx;
        dy[4 * i + 3] = fy;
    }
}

SIMD_CLONES SYSTEM_FIELD(drift)
{
    size_t n = s->n;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        dy[4 * i] = y[4 * i + 2];
        dy[4 * i + 1] = y[4 * i + 3];
        dy[4 * i + 2] = dy[4 * i + 3] = 0;
    }
}

SIMD_CLONES SYSTEM_FLOW(drift_flow)
{
    size_t n = s->n;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        y[4 * i] += h * y[4 * i + 2];
        y[4 * i + 1] += h * y[4 * i + 3];
    }
}

/* Defines the functions of a force. */
#define KICK(name)                                                  \
    SIMD_CLONES SYSTEM_FIELD(name##_kick)                           \
    {                                                               \
        rate(s->n, name##_force, 0, y, dy);                         \
    }                                                               \
    SIMD_CLONES SYSTEM_BOTH(name##_both)                            \
    {                                                               \
        rate(rows, name##_force, 1, y + 4 * first, dy + 4 * first); \
    }                                                               \
    SIMD_CLONES SYSTEM_FLOW(name##_kick_flow)                       \
    {                                                               \
        kick_flow(s->n, name##_force, h, y);                        \
    }
KICK(kepler)
KICK(henon)

static double kinetic(const double *y)
{
    return (y[2] * y[2] + y[3] * y[3]) / 2;
}

static double kepler_energy(const System *s, const double *y)
{
    double H = 0;
    for (size_t i = 0; i < 4 * s->n; i += 4) H += kinetic(y + i) - 1 / hypot(y[i], y[i + 1]);
    return H;
}

static double henon_energy(const System *s, const double *y)
{
    double H = 0;
    for (size_t i = 0; i < 4 * s->n; i += 4) {
        const double *q = y + i;
        H += kinetic(q) + (q[0] * q[0] + q[1] * q[1]) / 2 + q[0] * q[0] * q[1] -
             q[1] * q[1] * q[1] / 3;
    }
    return H;
}

/* Solves E - e sin E = M by Newton from M + e sin M; for e < 1/2 20 steps are plenty. */
static double eccentric_anomaly(double e, double M)
{
    double E = M + e * sin(M);
    for (int k = 0; k < 20; k++) E -= (E - e * sin(E) - M) / (1 - e * cos(E));
    return E;
}

/* Reads from param: eccentricity (n), angle of the perihelion (n). */
static void kepler_solution(const System *s, double t, double *y)
{
    for (size_t i = 0; i < s->n; i++, y += 4) {
        double e = s->param[i], w = s->param[s->n + i];
        double E = eccentric_anomaly(e, t), b = sqrt(1 - e * e), r = 1 - e * cos(E);
        double q[2] = {cos(E) - e, b * sin(E)}, p[2] = {-sin(E) / r, b * cos(E) / r};
        y[0] = cos(w) * q[0] - sin(w) * q[1];
        y[1] = sin(w) * q[0] + cos(w) * q[1];
        y[2] = cos(w) * p[0] - sin(w) * p[1];
        y[3] = sin(w) * p[0] + cos(w) * p[1];
    }
}

static size_t kepler_params(size_t n, size_t d)
{
    (void)d;
    return 2 * n;
}

static void kepler_init(System *s, uint64_t seed)
{
    system_uniform(s->param, s->n, 0.1, 0.3, seed, STREAM_PARAM);
    system_uniform(s->param + s->n, s->n, -3, 3, seed, STREAM_PARAM + 1);
    kepler_solution(s, 0, s->initial);
}

static void henon_init(System *s, uint64_t seed)
{
    system_uniform(s->initial, 4 * s->n, -0.3, 0.3, seed, STREAM_INITIAL);
}

const SystemKind system_kepler = {.base = {.name = "kepler",
                                           .title = "planets on ellipses: kick and drift",
                                           .source = "Hairer, Lubich, Wanner 2006, I.2",
                                           .n = 4,
                                           .d = 4,
                                           .h0 = 0.125,
                                           .apart = 1,
                                           .field = {kepler_kick, drift},
                                           .both = kepler_both,
                                           .flow = {kepler_kick_flow, drift_flow},
                                           .energy = kepler_energy,
                                           .solution = kepler_solution,
                                           .special = 1 << OP_G | SEPARABLE},
                                  .d_only = 4,
                                  .size_max = 1 << 20,
                                  .params = kepler_params,
                                  .init = kepler_init};

const SystemKind system_henon = {.base = {.name = "henon",
                                          .title = "Henon-Heiles particles: kick and drift",
                                          .source = "Henon, Heiles 1964",
                                          .n = 4,
                                          .d = 4,
                                          .apart = 1,
                                          .field = {henon_kick, drift},
                                          .both = henon_both,
                                          .flow = {henon_kick_flow, drift_flow},
                                          .energy = henon_energy,
                                          .special = 1 << OP_G | SEPARABLE},
                                 .d_only = 4,
                                 .size_max = 1 << 20,
                                 .init = henon_init};
