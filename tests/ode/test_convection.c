/* test_convection.c: convection and diffusion, by particles that exchange strength and on a grid: F tends
 * to the Laplacian, solutions are those of Fourier modes. */
#include "tests/lib/test.h"

#include <complex.h>

#include "tests/lib/distance.h"
#include "tests/lib/schemes.h"

static const double pi = 3.14159265358979323846;

/* ---- particles ----------------------------------------------------------------------------------- */

static double volume(const System *s)
{
    return 4 * pi / (double)s->n;
}

static double kernel_width(const System *s)
{
    return 1.5 * sqrt(volume(s));
}

/* Computes F by its definition over all pairs, with nu = 1 / peclet and a factor of the kernel. */
static void exchange_by_hand(const System *s, double nu, double factor, const double *y, double *dy)
{
    double eps2 = kernel_width(s) * kernel_width(s);
    for (size_t i = 0; i < 3 * s->n; i += 3) {
        dy[i] = dy[i + 1] = dy[i + 2] = 0;
        for (size_t j = 0; j < 3 * s->n; j += 3) {
            double u = y[i] - y[j], v = y[i + 1] - y[j + 1];
            double eta = factor / (pi * eps2) * exp(-(u * u + v * v) / eps2);
            dy[i + 2] += nu / eps2 * volume(s) * eta * (y[j + 2] - y[i + 2]);
        }
    }
}

/* Tells whether F agrees with the sum over all pairs. */
static int exchanges(const System *s, double nu, double factor)
{
    size_t N = 3 * s->n;
    OWN_REALS *f = numbers(N), *g = numbers(N);
    s->field[OP_F](s, 1, 0, s->initial, f);
    exchange_by_hand(s, nu, factor, s->initial, g);
    return relative_distance(f, g, N) <= (double)s->n * 2.3e-16;
}

/* 16 particles are in one cell, 3000 in some 40, also where convection has
 * carried them; the dropped pairs' share is n e^{-36}. */
TEST(test_exchange)
{
    static const size_t sizes[] = {16, 600, 3000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        OWN_SYSTEM *s = sized("convection-diffusion:peclet=10", sizes[k], 0, 3);
        s->flow[OP_G](s, 1, 0, (double)k, s->initial);
        assert_true(exchanges(s, 0.1, 4));
        assert_false(exchanges(s, 0.1, 4.001)); /* control */
    }
}

/* Particles far away, alone, or all at one place fall into cells too. A value that is not finite shows in F. */
TEST(test_exchange_anywhere)
{
    OWN_SYSTEM *s = sized("convection-diffusion", 600, 0, 3);
    OWN_REALS *f = numbers(1800);
    s->initial[0] = 1e12, s->initial[4] = -3e4;
    s->field[OP_F](s, 1, 0, s->initial, f);
    assert_true(f[2] == 0 && exchanges(s, 0.25, 4));
    for (size_t i = 0; i < 1800; i += 3) s->initial[i] = s->initial[i + 1] = 1;
    assert_true(exchanges(s, 0.25, 4));
    s->initial[7] = NAN, s->initial[9] = INFINITY;
    s->field[OP_F](s, 1, 0, s->initial, f);
    assert_true(isnan(f[8]));
}

/* Returns the largest |F - nu Laplacian| / nu at 0.4 to 1 from the middle, where the spiral of particles is even. *off
 * gets the same distance from a difference of Gaussians. F of a Gaussian e^{-r^2/s^2} is nu / eps^2 (eta * z - 4 z),
 * such a difference, where particles are dense. F tends to nu times the Laplacian like eps^2, which falls like 1 /
 * n. */
static double laplacian_error(size_t n, double *off)
{
    OWN_SYSTEM *s = sized("convection-diffusion:peclet=2", n, 0, 3);
    double *f = numbers(3 * n), eps2 = kernel_width(s) * kernel_width(s), s2 = 0.5, worst = 0;
    for (size_t i = 0; i < 3 * n; i += 3) {
        double r2 = s->initial[i] * s->initial[i] + s->initial[i + 1] * s->initial[i + 1];
        s->initial[i + 2] = exp(-r2 / s2);
    }
    s->field[OP_F](s, 1, 0, s->initial, f);
    *off = 0;
    for (size_t i = 0; i < 3 * n; i += 3) {
        double r2 = s->initial[i] * s->initial[i] + s->initial[i + 1] * s->initial[i + 1];
        double z = exp(-r2 / s2), wide = s2 / (s2 + eps2) * exp(-r2 / (s2 + eps2));
        if (r2 < 0.16 || r2 > 1) continue;
        worst = fmax(worst, fabs(2 * f[i + 2] - 4 * (r2 / s2 - 1) / s2 * z));
        *off = fmax(*off, fabs(2 * f[i + 2] - 4 / eps2 * (wide - z)));
    }
    memory_free(f);
    return worst;
}

TEST(test_laplacian)
{
    double off[2], coarse = laplacian_error(1000, &off[0]), fine = laplacian_error(4000, &off[1]);
    assert_true(coarse / fine > 3.5 && coarse / fine < 4.5); /* eps^2 */
    assert_true(off[0] < 0.1 * coarse && off[1] < 0.1 * fine);
    assert_true(fine < 0.2); /* the Laplacian is 8 in the middle */
}

/* ---- the grid ------------------------------------------------------------------------------------ */

/* Computes y (n). On the ring mode k is turned and damped by exp(t lambda_k), lambda_k = -2 nu (1 - cos k dx) / dx^2 -
 * i sin(k dx) / dx. The partial equation (`own`) has -nu k^2 - i k. */
static void by_modes(const System *s, double nu, double t, int own, double *y)
{
    double dx = 2 * pi / (double)s->n;
    for (size_t i = 0; i < s->n; i++) y[i] = 0;
    for (long k = -1; k <= 1; k++) { /* the initial state has no others */
        double complex c = 0, lambda = own ? -nu * (double)(k * k) - I * (double)k
                                           : 2 * nu * (cos((double)k * dx) - 1) / (dx * dx) -
                                                 I * sin((double)k * dx) / dx;
        for (size_t i = 0; i < s->n; i++)
            c += s->initial[i] * cexp(-I * dx * (double)k * (double)i) / (double)s->n;
        for (size_t i = 0; i < s->n; i++)
            y[i] += creal(c * cexp(t * lambda + I * dx * (double)k * (double)i));
    }
}

/* Long diffusion, by an integral, is what short parts of it add up to by series. The control has another speed. */
TEST(test_long_diffusion)
{
    static const char *const names[] = {"transport", "transport:periodic:wave=0.7",
                                        "transport:peclet=10"};
    static const double most[] = {1e-13, 1e-12, 2e-13};
    for (int k = 0; k < 3; k++) {
        OWN_SYSTEM *s = sized(names[k], 512, 0, 3),
                   *other = sized("transport:peclet=4.001", 512, 0, 3);
        double whole[512], parts[512], off[512];
        s->solution(s, 4, whole);
        other->solution(other, 4, off);
        memcpy(parts, s->initial, sizeof parts);
        for (int i = 0; i < 8; i++) {
            s->solution(s, 0.5, parts);
            memcpy(s->initial, parts, sizeof parts);
        }
        double apart = distance(whole, parts, 512);
        if (!(apart <= most[k])) fail_msg("%s: %g", names[k], apart);
        assert_true(distance(off, parts, 512) > 1e-6);
    }
}

/* The flow on the ring is that of its modes up to rounding: 18 terms a substep of norm 1, 2 (4 nu / dx^2 + 1 / dx)
 * substeps at most. */
TEST(test_ring)
{
    double space[2], y[64], z[64];
    for (int k = 0; k < 2; k++) {
        OWN_SYSTEM *s = sized("transport:periodic:peclet=20", (size_t)32 << k, 0, 3);
        s->solution(s, 2, y);
        by_modes(s, 0.05, 2, 0, z);
        assert_true(relative_distance(y, z, s->n) <= 64 * 18 * 2.3e-16);
        by_modes(s, 0.0501, 2, 0, z); /* control */
        assert_false(relative_distance(y, z, s->n) <= 1e-6);
        by_modes(s, 0.05, 2, 1, z);
        space[k] = distance(y, z, s->n);
    }
    assert_true(space[0] / space[1] > 3.9 && space[0] / space[1] < 4.1); /* dx^2, apart from time */
}

TEST_MAIN(zoo_begin, zoo_end)
