/* transport.c: convection and diffusion on a grid of n points, u_t + (a u)_x = nu u_xx on (0, 2 pi).
 *
 *   F: u_i' = nu (u_{i-1} - 2 u_i + u_{i+1}) / dx^2
 *   G: u_i' = (a_{i-1} u_{i-1} - a_{i+1} u_{i+1}) / (2 dx),  a(x) = 1 + wave sin x
 *
 * The ends are held at 0, with dx = 2 pi / (n + 1), or the grid is `periodic`, a ring, with dx = 2 pi / n. The Peclet
 * number is 1 * 1 / nu. Both parts are linear and couple neighbours. Flows and solution are exponentials
 * (exponential.c), which take a time like n times |h| (4 nu / dx^2 or max a / dx); where diffusion makes that long they are
 * Cauchy's integral instead (`contour`). So a solution here is that of the ordinary equations: no error of space is in it.
 *
 * Between ends F and G do not commute, and [F, G], concentrated at the ends, grows as dx falls: orders of splittings
 * fall from 2 for steps above dx^2. On the ring with wave = 0 both are circulant and commute, which hides every
 * splitting error: a bad control, as linear:commuting. On the ring with a wave they do not commute and there is no
 * boundary: the order stays.
 *
 * Source: Hundsdorfer, Verwer 2003, "Numerical solution of time-dependent advection-diffusion-reaction equations", I.3
 * and IV.2; Weideman, Trefethen 2007, "Parabolic and hyperbolic contours for computing the Bromwich integral".
 */
#include "ode/systems/system_kind.h"

#include <complex.h>
#include <math.h>

#include "kernels/base/random.h"
#include "ode/field/simd.h"

static const double pi = 3.14159265358979323846;
static const double lengthy =
    1 << 13; /* h |F + G|, from where `contour` takes less time and as much accuracy */

enum { PECLET, WAVE, PERIODIC, OPTIONS };
static const SystemOption options[] = {
    [PECLET] = {"peclet", "speed times length over diffusivity", 4, 1e-2, 1e9, 0},
    [WAVE] = {"wave", "of the speed in space", 0, 0, 10, 0},
    [PERIODIC] = {"periodic", "a ring in place of ends held at 0", 0, 0, 1, 1},
    [OPTIONS] = {0}};

/* param: options, speed a_i (n), work (7, n) */
static size_t params(size_t n, size_t d)
{
    (void)d;
    return 8 * n;
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

/* ---- long diffusion ------------------------------------------------------------------------------------ */

/* z - F - G: entry i - 1, i, i + 1 of row i, around the ring. */
typedef struct {
    double complex z;
    const double *a;
    double spread, carry;
} Shifted;

static double below(const Shifted *m, size_t i)
{
    return -(m->spread + m->carry * m->a[i]);
}

static double above(const Shifted *m, size_t i)
{
    return -(m->spread - m->carry * m->a[i]);
}

/* Solves (z - F - G without the ring's seam) x = x for two right sides by elimination; spread is large beside carry. p,
 * q (n) in and out, e (n): scratch. Columns of F + G inside sum to 0, so pivot i is over - below(i) with over_(i+1) = z -
 * above(i+1) over_i / pivot_i: no difference of large numbers, in which z would lose its digits. */
static void eliminate(const Shifted *m, size_t n, double first, double last, double complex *p,
                      double complex *q, double complex *e)
{
    double complex over = m->z - above(m, 0) - first;
    for (size_t i = 0; i < n; i++) {
        double low = i ? below(m, i - 1) : 0;
        double complex d = over - below(m, i) - (i == n - 1 ? last : 0);
        double complex part = conj(d) / (creal(d) * creal(d) + cimag(d) * cimag(d)); /* 1 / d */
        p[i] = (p[i] - (i ? low * p[i - 1] : 0)) * part;
        q[i] = (q[i] - (i ? low * q[i - 1] : 0)) * part;
        e[i] = i + 1 < n ? above(m, i + 1) * part : 0;
        over = m->z - e[i] * over;
    }
    for (size_t i = n - 1; i-- > 0;) {
        p[i] -= e[i] * p[i + 1];
        q[i] -= e[i] * q[i + 1];
    }
}

/* Solves (z - F - G) x = x; on the ring its seam is a matrix of rank 1 (Sherman, Morrison). work (2, n). */
static void solve_shifted(const Shifted *m, size_t n, int ring, double complex *x,
                          double complex *work)
{
    double complex *q = work, *e = work + n;
    double seam = below(m, n - 1), turn = above(m, 0), gamma = -2 * m->spread;
    for (size_t i = 0; i < n; i++) q[i] = 0;
    if (ring) q[0] = gamma, q[n - 1] = turn;
    eliminate(m, n, ring ? gamma : 0, ring ? seam * turn / gamma : 0, x, q, e);
    if (!ring) return;
    double complex c = (x[0] + seam / gamma * x[n - 1]) / (1 + q[0] + seam / gamma * q[n - 1]);
    for (size_t i = 0; i < n; i++) x[i] -= c * q[i];
}

enum { NODES = 36 }; /* of the integral; the lower half are conjugates */

/* Computes u = exp(h (F + G)) u, the integral of e^(h z) (z - F - G)^-1 u along the parabola
 * h z = NODES (.1309 - .1194 w^2 + .25 i w), by the trapezoidal rule. The numerical range of F + G lies in |Im z|^2 <=
 * a^2 |Re z| / nu, and the error is about exp(-NODES (1.047 - 1.447 sqrt(a^2 h / nu / NODES))), so h is cut. */
static void contour(const System *s, double a2, Shifted m, double h, double *u)
{
    size_t n = s->n;
    int ring = s->param[PERIODIC] != 0;
    double complex *x = (double complex *)(s->param + OPTIONS + 2 * n);
    double cuts = ceil(fmax(1, 32. / NODES * a2 * s->param[PECLET] * h)),
           *sum = s->param + OPTIONS + n;
    for (double cut = 0; cut < cuts; cut++) {
        for (size_t i = 0; i < n; i++) sum[i] = 0;
        for (int k = 0; k < NODES / 2; k++) {
            double w = (2 * k + 1) * pi / NODES;
            double complex z = NODES * (0.1309 - 0.1194 * w * w + 0.25 * I * w);
            m.z = z * cuts / h;
            for (size_t i = 0; i < n; i++) x[i] = u[i];
            solve_shifted(&m, n, ring, x, x + n);
            double complex weight = cexp(z) * (0.25 + 2 * 0.1194 * I * w) * NODES * cuts / h;
            for (size_t i = 0; i < n; i++) sum[i] += 2. / NODES * creal(weight * x[i]);
        }
        for (size_t i = 0; i < n; i++) u[i] = sum[i];
    }
}

/* ---- flows ----------------------------------------------------------------------------------------------- */

/* Computes u = exp(h (F + G)) u: |F| <= 4 nu / dx^2, |G| <= (1 + wave) / dx, sums of columns. */
static void carry_on(Share p, double h, double *u)
{
    double dx = step(p.s);
    double fastest = p.G * (1 + p.s->param[WAVE]), spread = p.F / (p.s->param[PECLET] * dx * dx);
    double norm = 4 * spread + fastest / dx;
    if (h * norm > lengthy && fastest / dx < spread) {
        contour(p.s, fastest * fastest, (Shifted){0, speed(p.s), spread, p.G / (2 * dx)}, h, u);
        return;
    }
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
    s->ring = ring;
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
             .special = 1 << OP_F | 1 << OP_G,
             .sees = {2, 2}},
    .n_min = 3,
    .d_only = 1,
    .size_max = 1 << 16,
    .params = params,
    .init = init,
    .option = options};
