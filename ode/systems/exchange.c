/* exchange.c: convection and diffusion by particles that carry a strength: the equation that the source papers name.
 *
 * Particle i stands at (x_i, y_i), has the strength z_i and the volume V = pi R^2 / n, the same for all:
 *
 *   F: z_i' = (nu / eps^2) sum_j V eta_eps(r_ij) (z_j - z_i),  eta_eps(r) = 4/(pi eps^2) e^{-r^2/eps^2}
 *   G: (x, y)' = b = (1 + pulse cos(2 pi t)) w(r) (-y, x),     w(r) = 2 / (1 + r^2)
 *      z_i' = -decay z_i
 *
 * Both have closed flows. F is diffusion, nu times the Laplacian in the limit of many particles: it moves nothing, is
 * linear in z, keeps sum V z, and the energy sum V z^2 / 2 falls by nu V^2 / (2 eps^2) sum_ij eta_eps (z_i - z_j)^2.
 * Its eigenvalues lie near 4 nu / eps^2 (e^{-k^2 eps^2 / 4} - 1), k the wave number, so between -4 nu / eps^2 and 0
 * where particles are evenly spread. G is convection by a vortex whose core has radius 1 and whose largest speed is 1;
 * it changes distances (a rigid rotation would not, and would commute with F) and no volumes. With decay = 0 nothing in
 * G depends on what F changes: G'F = 0, and schemes whose leading error is of that form, as heun-layer, gain an order.
 *
 * The Peclet number is 1 * 1 / nu. eps = 0 stands for 3/2 sqrt(V). The time of F grows like n where eps^2 does like
 * 1/n: particles are sorted into cells no narrower than CUT eps, beyond which eta is below rounding, and see those of 9
 * cells. With few cells it grows like n^2.
 *
 * Source: Degond, Mas-Gallic 1989, "The weighted particle method for convection-diffusion equations", part 1, (1.5) to
 * (1.7), with a Gaussian; Cottet, Koumoutsakos 2000, "Vortex methods", section 5.4. Winding by a vortex: Rhines, Young
 * 1983. Places of the particles: Vogel 1979, "A better way to construct the sunflower head".
 */
#include "ode/systems/system_kind.h"

#include <math.h>
#include <string.h>

#include "kernels/base/random.h"
#include "kernels/base/simd.h"

static const double pi = 3.14159265358979323846;
static const double radius = 2; /* R, of the cloud */
enum { CUT = 6 };               /* e^{-36} = 2e-16 */

enum { PECLET, EPS, DECAY, PULSE, OPTIONS };
static const SystemOption options[] = {
    [PECLET] = {"peclet", "speed times length over diffusivity", 4, 1e-2, 1e9, 0},
    [EPS] = {"eps", "width of the kernel; 0: 3/2 of the particles' distance", 0, 0, 100, 0},
    [DECAY] = {"decay", "rate of the strengths", 0.5, 0, 100, 0},
    [PULSE] = {"pulse", "of the speed, once a unit of time", 0, 0, 10, 0},
    [OPTIONS] = {0}};

/* ---- cells ------------------------------------------------------------------------------------------ */

/* Particles in the order of their cells, row by row: those of cell c are first[c] .. first[c + 1] - 1. */
typedef struct {
    size_t n, across, up; /* cells in a row, rows; across * up <= n */
    double left, low, width, height;
    double *x, *y, *z, *dz;  /* (n), sorted */
    uint32_t *first, *place; /* (n + 2); (n): where particle i went */
} Cells;

/* param: options, cells; first and place share doubles. */
static size_t params(size_t n, size_t d)
{
    (void)d;
    return 6 * n + 2 + 3 * n;
}

static Cells cells_of(const System *s)
{
    size_t n = s->n;
    Cells c = {.n = n, .x = s->param + OPTIONS};
    c.y = c.x + n;
    c.z = c.y + n;
    c.dz = c.z + n;
    c.first = (uint32_t *)(c.dz + n);
    c.place = (uint32_t *)(c.dz + 2 * n + 2);
    return c;
}

/* Returns the scratch of the exponential: (3, n). */
static double *work_of(const System *s)
{
    return s->param + OPTIONS + 6 * s->n + 2;
}

static double volume(const System *s)
{
    return pi * radius * radius / (double)s->n;
}

static double eps_of(const System *s)
{
    return s->param[EPS] > 0 ? s->param[EPS] : 1.5 * sqrt(volume(s));
}

/* Returns how many cells of at least `least` fit into `length`; one where that is not a number. */
static size_t cells_along(double length, double least, size_t most)
{
    double count = floor(length / least);
    if (!(count > 1)) return 1;
    return count < (double)most ? (size_t)count : most;
}

static size_t cell_along(double x, double from, double width, size_t cells)
{
    double k = (x - from) / width;
    return k > 0 && k < (double)cells ? (size_t)k : k > 0 ? cells - 1 : 0;
}

static size_t cell(const Cells *c, const double *at)
{
    return cell_along(at[1], c->low, c->height, c->up) * c->across +
           cell_along(at[0], c->left, c->width, c->across);
}

static void frame(Cells *c, const double *y, double cut)
{
    double right = y[0], top = y[1];
    size_t most = (size_t)sqrt((double)c->n);
    c->left = y[0];
    c->low = y[1];
    for (size_t i = 1; i < c->n; i++) {
        c->left = fmin(c->left, y[3 * i]), right = fmax(right, y[3 * i]);
        c->low = fmin(c->low, y[3 * i + 1]), top = fmax(top, y[3 * i + 1]);
    }
    c->across = cells_along(right - c->left, cut, most);
    c->up = cells_along(top - c->low, cut, most);
    c->width = (right - c->left) / (double)c->across;
    c->height = (top - c->low) / (double)c->up;
}

static Cells sort(const System *s, const double *y)
{
    Cells c = cells_of(s);
    frame(&c, y, CUT * eps_of(s));
    memset(c.first, 0, (c.across * c.up + 2) * sizeof *c.first);
    for (size_t i = 0; i < c.n; i++) c.first[cell(&c, y + 3 * i) + 2]++;
    for (size_t k = 2; k < c.across * c.up + 2; k++) c.first[k] += c.first[k - 1];
    for (size_t i = 0; i < c.n; i++) {
        size_t to = c.place[i] = c.first[cell(&c, y + 3 * i) + 1]++;
        c.x[to] = y[3 * i];
        c.y[to] = y[3 * i + 1];
        c.z[to] = y[3 * i + 2];
    }
    return c;
}

/* ---- F: exchange ------------------------------------------------------------------------------------ */

/* Returns the sum over particles from .. end - 1 of e^{-r^2/eps^2} (zs_j - z). */
SIMD_CLONES static double exchange_row(const Cells *c, size_t from, size_t end, double by_eps2,
                                       double x, double y, double z, const double *zs)
{
    const double *xs = c->x, *ys = c->y;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t j = from; j < end; j++) {
        double dx = xs[j] - x, dy = ys[j] - y;
        sum += simd_exp(-by_eps2 * (dx * dx + dy * dy)) * (zs[j] - z);
    }
    return sum;
}

typedef struct {
    Cells cells;
    double by_eps2, factor; /* 1 / eps^2; (nu / eps^2) V 4 / (pi eps^2) */
} Exchange;

static Exchange exchange_open(const System *s, const double *y)
{
    double by_eps2 = 1 / (eps_of(s) * eps_of(s));
    return (Exchange){sort(s, y), by_eps2,
                      4 / pi * volume(s) * by_eps2 * by_eps2 / s->param[PECLET]};
}

/* Computes dz, what the particles of cell k, which have `own`, get from z in 3 x 3 cells. */
static void exchange_cell(const Exchange *e, size_t k, const double *own, const double *z,
                          double *dz)
{
    const Cells *c = &e->cells;
    size_t column = k % c->across, row = k / c->across;
    size_t left = column ? column - 1 : 0, right = column + 1 < c->across ? column + 1 : column;
    size_t low = row ? row - 1 : 0, top = row + 1 < c->up ? row + 1 : row;
    for (size_t i = c->first[k]; i < c->first[k + 1]; i++) {
        double sum = 0;
        for (size_t r = low; r <= top; r++)
            sum +=
                exchange_row(c, c->first[r * c->across + left], c->first[r * c->across + right + 1],
                             e->by_eps2, c->x[i], c->y[i], own[i], z);
        dz[i] = e->factor * sum;
    }
}

/* Does so for all (n), sorted. Few particles cost less than a parallel region does. */
static void exchange_all(const Exchange *e, const double *own, const double *z, double *dz)
{
    enum { MANY = 512 };
    size_t cells = e->cells.across * e->cells.up;
    if (e->cells.n < MANY) {
        for (size_t k = 0; k < cells; k++) exchange_cell(e, k, own, z, dz);
        return;
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t k = 0; k < cells; k++) exchange_cell(e, k, own, z, dz);
}

/* Computes dz (n) = F of the strengths z (n), both sorted. */
static void exchange_act(const void *context, const double *z, double *dz)
{
    exchange_all(context, z, z, dz);
}

SYSTEM_FIELD(exchange)
{
    Exchange e = exchange_open(s, y);
    exchange_act(&e, e.cells.z, e.cells.dz);
    for (size_t i = 0; i < s->n; i++) {
        dy[3 * i] = dy[3 * i + 1] = 0;
        dy[3 * i + 2] = e.cells.dz[e.cells.place[i]];
    }
}

/* Returns a bound of F's norm: row i of its matrix sums, in absolute values, to less than twice what particle i, of
 * strength 0, gets where all have 1. */
static double exchange_norm(const Exchange *e, double *work)
{
    size_t n = e->cells.n;
    double *zero = work, *one = work + n, most = 0;
    for (size_t i = 0; i < n; i++) zero[i] = 0, one[i] = 1;
    exchange_all(e, zero, one, e->cells.dz);
    for (size_t i = 0; i < n; i++) most = fmax(most, e->cells.dz[i]);
    return 2 * most;
}

SYSTEM_FLOW(exchange_flow)
{
    Exchange e = exchange_open(s, y);
    double *work = work_of(s);
    exponential_phi(s->n, exchange_act, &e, (Spectrum){exchange_norm(&e, work)}, h, 0, e.cells.z,
                    e.cells.z, work);
    for (size_t i = 0; i < s->n; i++) y[3 * i + 2] = e.cells.z[e.cells.place[i]];
}

/* ---- G: convection ---------------------------------------------------------------------------------- */

static double turning(double x, double y)
{
    return 2 / (1 + x * x + y * y);
}

SYSTEM_FIELD(convect)
{
    double pulse = 1 + s->param[PULSE] * cos(2 * pi * t);
    for (size_t i = 0; i < 3 * s->n; i += 3) {
        double w = pulse * turning(y[i], y[i + 1]);
        dy[i] = -w * y[i + 1];
        dy[i + 1] = w * y[i];
        dy[i + 2] = -s->param[DECAY] * y[i + 2];
    }
}

/* r stays, so the angle grows by w(r) times the integral of the pulse over (t, t + h). */
SYSTEM_FLOW(convect_flow)
{
    double time = h + s->param[PULSE] * sin(pi * h) * cos(2 * pi * t + pi * h) / pi;
    double keep = exp(-s->param[DECAY] * h);
    for (size_t i = 0; i < 3 * s->n; i += 3) {
        double angle = turning(y[i], y[i + 1]) * time, c = cos(angle), v = sin(angle), x = y[i];
        y[i] = c * x - v * y[i + 1];
        y[i + 1] = v * x + c * y[i + 1];
        y[i + 2] *= keep;
    }
}

/* ---- the cloud -------------------------------------------------------------------------------------- */

/* Fills a disk evenly by a spiral, each particle a golden angle behind the one before; strengths are those of a
 * Gaussian blob that stands beside the vortex. The seed turns both. */
static void init(System *s, uint64_t seed)
{
    const double golden = pi * (3 - sqrt(5));
    double turn = 2 * pi * random_uniform(seed, STREAM_INITIAL, 0);
    double blob = 2 * pi * random_uniform(seed, STREAM_INITIAL, 1);
    s->timed = s->param[PULSE] != 0;
    for (size_t i = 0; i < s->n; i++) {
        double r = radius * sqrt(((double)i + 0.5) / (double)s->n), a = golden * (double)i + turn;
        double x = r * cos(a), y = r * sin(a), u = x - cos(blob), v = y - sin(blob);
        s->initial[3 * i] = x;
        s->initial[3 * i + 1] = y;
        s->initial[3 * i + 2] = exp(-(u * u + v * v) / 0.5);
    }
}

const SystemKind system_exchange = {
    .base = {.name = "convection-diffusion",
             .title = "particles in a vortex that exchange a strength, which decays",
             .source = "Degond, Mas-Gallic 1989; Rhines, Young 1983",
             .n = 16,
             .d = 3,
             .field = {exchange, convect},
             .flow = {exchange_flow, convect_flow}},
    .n_min = 2,
    .d_only = 3,
    .size_max = 1 << 16,
    .params = params,
    .init = init,
    .option = options};
