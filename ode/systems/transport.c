/* transport.c: convection and diffusion on a grid of n points, u_t + (a u)_x = nu u_xx on (0, 2 pi).
 *
 *   F: u_i' = nu (u_{i-1} - 2 u_i + u_{i+1}) / dx^2
 *   G: u_i' = (a_{i-1} u_{i-1} - a_{i+1} u_{i+1}) / (2 dx),  a(x) = 1 + wave sin x
 *
 * The ends are held at 0, with dx = 2 pi / (n + 1), or the grid is `periodic`, a ring, with dx = 2 pi / n. The Peclet
 * number is 1 * 1 / nu. Both parts are linear and couple neighbours. Flows and solution are exponentials
 * (exponential.c), which take a time like n times |h| (4 nu / dx^2 or max a / dx), so a solution here is that of the
 * ordinary equations: no error of space is in it.
 *
 * Between ends F and G do not commute, and [F, G], concentrated at the ends, grows as dx falls: orders of splittings
 * fall from 2 for steps above dx^2. On the ring with wave = 0 both are circulant and commute, which hides every
 * splitting error: a bad control, as linear:commuting. On the ring with a wave they do not commute and there is no
 * boundary: the order stays.
 *
 * Source: Hundsdorfer, Verwer 2003, "Numerical solution of time-dependent advection-diffusion-reaction equations", I.3
 * and IV.2.
 */
#include "ode/field/system.h"

#include <math.h>

#include "kernels/random.h"
#include "ode/field/simd.h"

static const double pi = 3.14159265358979323846;

enum { PECLET, WAVE, PERIODIC, OPTIONS };
static const SystemOption options[] = {
    [PECLET] = {"peclet", "speed times length over diffusivity", 4, 1e-2, 1e9, 0},
    [WAVE] = {"wave", "of the speed in space", 0, 0, 10, 0},
    [PERIODIC] = {"periodic", "a ring in place of ends held at 0", 0, 0, 1, 1},
    [OPTIONS] = {0}};

/* param: options, speed a_i (n), work (3, n) */
static size_t params(size_t n, size_t d)
{
    (void)d;
    return 4 * n;
}

static double step(const System *s)
{
    return 2 * pi / (double)(s->param[PERIODIC] != 0 ? s->n : s->n + 1);
}

static const double *speed(const System *s)
{
    return s->param + OPTIONS;
}

/* Factors of F and G in their sum, each 1 or 0. */
typedef struct {
    const System *s;
    double F, G;
} Share;

SIMD_CLONES static void inside(size_t n, double spread, double carry, const double *a,
                               const double *u, double *du)
{
#pragma omp simd
    for (size_t i = 1; i < n - 1; i++)
        du[i] = spread * (u[i - 1] - 2 * u[i] + u[i + 1]) +
                carry * (a[i - 1] * u[i - 1] - a[i + 1] * u[i + 1]);
}

static void act(const void *context, const double *u, double *du)
{
    const Share *p = context;
    const System *s = p->s;
    const double *a = speed(s);
    double dx = step(s), spread = p->F / (s->param[PECLET] * dx * dx), carry = p->G / (2 * dx);
    size_t last = s->n - 1;
    double ring = s->param[PERIODIC], left = ring * u[last], right = ring * u[0];
    inside(s->n, spread, carry, a, u, du);
    du[0] = spread * (left - 2 * u[0] + u[1]) + carry * (a[last] * left - a[1] * u[1]);
    du[last] = spread * (u[last - 1] - 2 * u[last] + right) +
               carry * (a[last - 1] * u[last - 1] - a[0] * right);
}

/* Computes u = exp(h (F + G)) u: |F| <= 4 nu / dx^2, |G| <= (1 + wave) / dx, sums of columns. */
static void carry_on(Share p, double h, double *u)
{
    double dx = step(p.s);
    double norm = p.F * 4 / (p.s->param[PECLET] * dx * dx) + p.G * (1 + p.s->param[WAVE]) / dx;
    exponential_phi(p.s->n, act, &p, norm, h, 0, u, u, p.s->param + OPTIONS + p.s->n);
}

SYSTEM_FIELD(diffuse)
{
    act(&(Share){s, 1, 0}, y, dy);
}

SYSTEM_FIELD(convect)
{
    act(&(Share){s, 0, 1}, y, dy);
}

SYSTEM_FLOW(diffuse_flow)
{
    carry_on((Share){s, 1, 0}, h, y);
}

SYSTEM_FLOW(convect_flow)
{
    carry_on((Share){s, 0, 1}, h, y);
}

static void solution(const System *s, double t, double *y)
{
    for (size_t i = 0; i < s->n; i++) y[i] = s->initial[i];
    carry_on((Share){s, 1, 1}, t, y);
}

/* Starts with a smooth wave, between ends under an arch that is 0 there. */
static void init(System *s, uint64_t seed)
{
    int ring = s->param[PERIODIC] != 0;
    double phase = 2 * pi * random_uniform(seed, STREAM_INITIAL, 0);
    double *a = s->param + OPTIONS;
    if (ring) s->title = "convection and diffusion on a ring";
    for (size_t i = 0; i < s->n; i++) {
        double x = step(s) * (double)(ring ? i : i + 1);
        a[i] = 1 + s->param[WAVE] * sin(x);
        s->initial[i] = (ring ? 1 : sin(x / 2)) * (1 + 0.5 * cos(x + phase));
    }
}

const SystemKind system_transport = {
    .base = {.name = "transport",
             .title = "convection and diffusion on a grid between ends held at 0",
             .source = "Hundsdorfer, Verwer 2003",
             .n = 8,
             .d = 1,
             .field = {diffuse, convect},
             .flow = {diffuse_flow, convect_flow},
             .solution = solution,
             .linear = 1,
             .linear_ops = 1 << OP_F | 1 << OP_G},
    .n_min = 3,
    .d_only = 1,
    .size_max = 1 << 16,
    .params = params,
    .init = init,
    .option = options};
