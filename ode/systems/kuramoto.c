/* kuramoto.c: coupled phase oscillators, each pinned to a direction.
 *
 *   F: theta_i' = K/n sum_j sin(theta_j - theta_i)      no closed flow
 *   G: theta_i' = omega_i + a sin(2 theta_i)            closed, since omega_i > a
 *
 * Pinning breaks the rotational symmetry: with natural frequencies alone, equal ones would make F
 * and G commute. The d columns are d populations that do not see each other.
 * Source: Kuramoto 1975; pinning: Acebron et al. 2005, Rev. Mod. Phys. 77, section IV.
 */
#include "ode/systems/system_kind.h"

#include <math.h>

static const double coupling = 1.5;
static const double pinning = 0.5;

/* Computes K/n sum_j sin(theta_j - theta_i) = K (S cos theta_i - C sin theta_i), C + i S the mean
 * of exp(i theta): n + n sines in place of n^2. */
SYSTEM_FIELD(attract)
{
    size_t d = s->d, N = s->n * d;
    for (size_t c = 0; c < d; c++) {
        double C = 0, S = 0;
        for (size_t i = c; i < N; i += d) C += cos(y[i]), S += sin(y[i]);
        double k = coupling / (double)s->n;
        for (size_t i = c; i < N; i += d) dy[i] = k * (S * cos(y[i]) - C * sin(y[i]));
    }
}

SYSTEM_FIELD(pin)
{
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] = s->param[i] + pinning * sin(2 * y[i]);
}

/* Returns the angle of (x, y) on the branch nearest `near`. */
static double angle(double x, double y, double near)
{
    const double turn = 6.283185307179586476925286766559;
    double a = atan2(y, x);
    return a + turn * round((near - a) / turn);
}

/* Turns psi by W h and goes back. With W = sqrt(w^2 - a^2), the linear map (cos, sin) -> (W cos, a
 * cos + w sin) carries theta to psi with psi' = W. The map has a positive determinant and turns no
 * vector by as much as pi, so the branch nearest to the old angle is the continuous one. */
SYSTEM_FLOW(pin_flow)
{
    double a = pinning;
    for (size_t i = 0; i < s->n * s->d; i++) {
        double w = s->param[i], W = sqrt(w * w - a * a);
        double psi = angle(W * cos(y[i]), a * cos(y[i]) + w * sin(y[i]), y[i]) + W * h;
        y[i] = angle(cos(psi) / W, (sin(psi) - a * cos(psi) / W) / w, psi);
    }
}

static size_t params(size_t n, size_t d)
{
    return n * d; /* omega (n, d) */
}

static void init(System *s, uint64_t seed)
{
    system_uniform(s->initial, s->n * s->d, -2, 2, seed, STREAM_INITIAL);
    system_uniform(s->param, s->n * s->d, 1, 2, seed, STREAM_PARAM);
}

const SystemKind system_kuramoto = {.base = {.name = "kuramoto",
                                             .title = "coupled phase oscillators with pinning",
                                             .source = "Kuramoto 1975; Acebron et al. 2005",
                                             .n = 8,
                                             .d = 1,
                                             .field = {attract, pin},
                                             .flow = {NULL, pin_flow}},
                                    .n_min = 2,
                                    .size_max = 1 << 20,
                                    .params = params,
                                    .init = init};
