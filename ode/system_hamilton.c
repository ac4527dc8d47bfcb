/* system_hamilton.c: H = |p|^2/2 + V(q), a particle is (q1, q2, p1, p2); both sub-flows are closed.
 *
 *   F: the kick, p' = -grad V(q)          G: the drift, q' = p
 *   kepler  V = -1/|q|: ellipses of semi-axis 1, from the perihelion; closed solution
 *   henon   V = |q|^2/2 + q1^2 q2 - q2^3/3: chaotic at higher energy
 *
 * Particles do not see each other. F'F = G'G = 0: trees with an edge between two vertices of one
 * colour vanish, so some schemes gain an order here; not a control.
 * Source: Hairer, Lubich, Wanner 2006, "Geometric numerical integration", I.2 and I.3; Henon, Heiles
 * 1964.
 */
#include "ode/system.h"

#include <math.h>

#include "kernels/random.h"

static void kepler_force(const double *q, double *f)
{
    double r2 = q[0] * q[0] + q[1] * q[1], r3 = r2 * sqrt(r2);
    f[0] = -q[0] / r3;
    f[1] = -q[1] / r3;
}

static void henon_force(const double *q, double *f)
{
    f[0] = -q[0] - 2 * q[0] * q[1];
    f[1] = -q[1] - q[0] * q[0] + q[1] * q[1];
}

typedef void Force(const double *q, double *f);

static void kick(const System *s, Force *force, const double *y, double *dy)
{
    for (size_t i = 0; i < 4 * s->n; i += 4) {
        dy[i] = dy[i + 1] = 0;
        force(y + i, dy + i + 2);
    }
}

static void kick_flow(const System *s, Force *force, double h, double *y)
{
    double f[2];
    for (size_t i = 0; i < 4 * s->n; i += 4) {
        force(y + i, f);
        y[i + 2] += h * f[0];
        y[i + 3] += h * f[1];
    }
}

static void drift(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    for (size_t i = 0; i < 4 * s->n; i += 4) {
        dy[i] = y[i + 2];
        dy[i + 1] = y[i + 3];
        dy[i + 2] = dy[i + 3] = 0;
    }
}

static void drift_flow(const System *s, int set, double t, double h, double *y)
{
    (void)set, (void)t;
    for (size_t i = 0; i < 4 * s->n; i += 4) {
        y[i] += h * y[i + 2];
        y[i + 1] += h * y[i + 3];
    }
}

static void kepler_kick(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    kick(s, kepler_force, y, dy);
}

static void kepler_kick_flow(const System *s, int set, double t, double h, double *y)
{
    (void)set, (void)t;
    kick_flow(s, kepler_force, h, y);
}

static void henon_kick(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set, (void)t;
    kick(s, henon_force, y, dy);
}

static void henon_kick_flow(const System *s, int set, double t, double h, double *y)
{
    (void)set, (void)t;
    kick_flow(s, henon_force, h, y);
}

/* E - e sin E = M by Newton from M + e sin M; e < 1/2: 20 steps are far more than it takes. */
static double eccentric_anomaly(double e, double M)
{
    double E = M + e * sin(M);
    for (int k = 0; k < 20; k++) E -= (E - e * sin(E) - M) / (1 - e * cos(E));
    return E;
}

/* param: eccentricity (n), angle of the perihelion (n). */
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
                                           .t_end = 1,
                                           .h0 = 0.125,
                                           .field = {kepler_kick, drift},
                                           .flow = {kepler_kick_flow, drift_flow},
                                           .solution = kepler_solution},
                                  .n_min = 1,
                                  .d_min = 4,
                                  .d_max = 4,
                                  .size_max = 1 << 20,
                                  .params = kepler_params,
                                  .init = kepler_init};

const SystemKind system_henon = {.base = {.name = "henon",
                                          .title = "Henon-Heiles particles: kick and drift",
                                          .source = "Henon, Heiles 1964",
                                          .n = 4,
                                          .d = 4,
                                          .t_end = 1,
                                          .h0 = 0.25,
                                          .field = {henon_kick, drift},
                                          .flow = {henon_kick_flow, drift_flow}},
                                 .n_min = 1,
                                 .d_min = 4,
                                 .d_max = 4,
                                 .size_max = 1 << 20,
                                 .init = henon_init};
