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
#include "kernels/base/simd.h"

static const double pi = 3.14159265358979323846;
static const double lengthy =
    1 << 12; /* h |F + G|, from where `contour` takes less time and as much accuracy */

enum { PECLET, WAVE, PERIODIC, OPTIONS };
static const SystemOption options[] = {
    [PECLET] = {"peclet", "speed times length over diffusivity", 4, 1e-2, 1e9, 0},
    [WAVE] = {"wave", "of the speed in space", 0, 0, 10, 0},
    [PERIODIC] = {"periodic", "a ring in place of ends held at 0", 0, 0, 1, 1},
    [OPTIONS] = {0}};

/* param: options, speed a_i (n), a sum (n), 3 n complex numbers of 6 nodes; or work (3, n) of exponential_phi */
static size_t params(size_t n, size_t d)
{
    (void)d;
    return 38 * n;
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

enum { NODES = 36, LANES = NODES / 6 }; /* NODES: of the integral; the lower half are conjugates */

/* Complex numbers of as many nodes, which one pass of the elimination takes at once: each waits for the row before it alone. */
typedef struct {
    double re[LANES], im[LANES];
} Lanes;

/* z - F - G: entry i - 1, i, i + 1 of row i, around the ring. */
typedef struct {
    Lanes z;
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

/* Computes x = (x - low before) part. */
static inline void step_down(Lanes *x, double low, const Lanes *before, const Lanes *part)
{
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        double re = x->re[l] - low * before->re[l], im = x->im[l] - low * before->im[l];
        x->re[l] = re * part->re[l] - im * part->im[l];
        x->im[l] = re * part->im[l] + im * part->re[l];
    }
}

/* Computes x -= e next. */
static inline void take(Lanes *x, const Lanes *e, const Lanes *next)
{
#pragma omp simd
    for (int l = 0; l < LANES; l++) {
        x->re[l] -= e->re[l] * next->re[l] - e->im[l] * next->im[l];
        x->im[l] -= e->re[l] * next->im[l] + e->im[l] * next->re[l];
    }
}

/* Solves (z - F - G without the ring's seam) x = x for two right sides by elimination; spread is large beside carry. p,
 * q (n; q NULL: there is none) in and out, e (n): scratch. Columns of F + G inside sum to 0, so pivot i is over - below(i) with over_(i+1) = z -
 * above(i+1) over_i / pivot_i: no difference of large numbers, in which z would lose its digits. */
SIMD_CLONES static void eliminate(const Shifted *m, size_t n, double first, double last, Lanes *p,
                                  Lanes *q, Lanes *e)
{
    static const Lanes none;
    Lanes over = m->z, part;
    for (int l = 0; l < LANES; l++) over.re[l] -= above(m, 0) + first;
    for (size_t i = 0; i < n; i++) {
        double low = i ? below(m, i - 1) : 0, high = i + 1 < n ? above(m, i + 1) : 0;
        double at = below(m, i) + (i == n - 1 ? last : 0);
#pragma omp simd
        for (int l = 0; l < LANES; l++) {
            double re = over.re[l] - at, im = over.im[l], size = re * re + im * im;
            part.re[l] = re / size;
            part.im[l] = -im / size;
            e[i].re[l] = high * part.re[l];
            e[i].im[l] = high * part.im[l];
        }
        step_down(&p[i], low, i ? &p[i - 1] : &none, &part);
        if (q) step_down(&q[i], low, i ? &q[i - 1] : &none, &part);
        Lanes next = m->z;
        take(&next, &e[i], &over);
        over = next;
    }
    for (size_t i = n - 1; i-- > 0;) {
        take(&p[i], &e[i], &p[i + 1]);
        if (q) take(&q[i], &e[i], &q[i + 1]);
    }
}

/* Solves (z - F - G) x = x; on the ring its seam is a matrix of rank 1 (Sherman, Morrison). work (2, n). */
static void solve_shifted(const Shifted *m, size_t n, int ring, Lanes *x, Lanes *work)
{
    Lanes *q = ring ? work + n : NULL;
    double seam = below(m, n - 1), turn = above(m, 0), gamma = -2 * m->spread;
    for (size_t i = 0; i < n && ring; i++) q[i] = (Lanes){0};
    for (int l = 0; l < LANES && ring; l++) q[0].re[l] = gamma, q[n - 1].re[l] = turn;
    eliminate(m, n, ring ? gamma : 0, ring ? seam * turn / gamma : 0, x, q, work);
    if (!ring) return;
    Lanes c;
    for (int l = 0; l < LANES; l++) {
        double complex above_it =
            x[0].re[l] + I * x[0].im[l] + seam / gamma * (x[n - 1].re[l] + I * x[n - 1].im[l]);
        double complex below_it =
            1 + q[0].re[l] + I * q[0].im[l] + seam / gamma * (q[n - 1].re[l] + I * q[n - 1].im[l]);
        double complex share = above_it / below_it;
        c.re[l] = creal(share);
        c.im[l] = cimag(share);
    }
    for (size_t i = 0; i < n; i++) take(&x[i], &c, &q[i]);
}

/* Adds to sum (n) the integral's part of nodes k to k + LANES - 1 of a cut. work (3, n): scratch. */
static void add_nodes(Shifted *m, size_t n, int ring, double over_h, int k, const double *u,
                      Lanes *work, double *sum)
{
    Lanes weight;
    for (int l = 0; l < LANES; l++) {
        double w = (2 * (k + l) + 1) * pi / NODES;
        double complex z = NODES * (0.1309 - 0.1194 * w * w + 0.25 * I * w);
        double complex c = cexp(z) * (0.25 + 2 * 0.1194 * I * w) * NODES * over_h * (2. / NODES);
        m->z.re[l] = creal(z) * over_h;
        m->z.im[l] = cimag(z) * over_h;
        weight.re[l] = creal(c);
        weight.im[l] = cimag(c);
    }
    for (size_t i = 0; i < n; i++)
        for (int l = 0; l < LANES; l++) work[i].re[l] = u[i], work[i].im[l] = 0;
    solve_shifted(m, n, ring, work, work + n);
    for (size_t i = 0; i < n; i++)
        for (int l = 0; l < LANES; l++)
            sum[i] += weight.re[l] * work[i].re[l] - weight.im[l] * work[i].im[l];
}

/* Computes u = exp(h (F + G)) u, the integral of e^(h z) (z - F - G)^-1 u along the parabola
 * h z = NODES (.1309 - .1194 w^2 + .25 i w), by the trapezoidal rule. The numerical range of F + G lies in |Im z|^2 <=
 * a^2 |Re z| / nu, and the error is about exp(-NODES (1.047 - 1.447 sqrt(a^2 h / nu / NODES))), so h is cut. */
static void contour(const System *s, double a2, Shifted m, double h, double *u)
{
    size_t n = s->n;
    Lanes *work = (Lanes *)(s->param + OPTIONS + 2 * n);
    double cuts = ceil(fmax(1, 32. / NODES * a2 * s->param[PECLET] * h)),
           *sum = s->param + OPTIONS + n;
    for (double cut = 0; cut < cuts; cut++) {
        for (size_t i = 0; i < n; i++) sum[i] = 0;
        for (int k = 0; k < NODES / 2; k += LANES)
            add_nodes(&m, n, s->param[PERIODIC] != 0, cuts / h, k, u, work, sum);
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
        contour(p.s, fastest * fastest,
                (Shifted){.a = speed(p.s), .spread = spread, .carry = p.G / (2 * dx)}, h, u);
        return;
    }
    exponential_phi(p.s->n, act, &p, (Spectrum){norm}, h, 0, u, u, p.s->param + OPTIONS + p.s->n);
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
             .special = 1 << OP_F | 1 << OP_G,
             .sees = {2, 2}},
    .n_min = 3,
    .d_only = 1,
    .size_max = 1 << 16,
    .params = params,
    .init = init,
    .option = options};
