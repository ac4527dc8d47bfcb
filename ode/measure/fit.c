/* fit.c: the power of h that errors follow, and its factor. The power is the slope of a straight line
 * through (log h, log error). Each of these could fool it, and has its remedy:
 *
 *   rounding        Points within `margin` times their floor are cut; what is left of the floor in
 *                   the others enters the tolerance through the weights of the fit.
 *   coarse steps    e = C h^p (1 + b h + c h^2 ...), so log e = log C + p log h + b h + O(h^2): the
 *                   fit has h as third regressor from 5 points on. Of all windows that end at the
 *                   finest usable point, the one with the least tolerance is taken.
 *   bias left over  It is O(h^2) (without the third regressor O(h)), so leaving the coarsest point
 *                   out, with ratio r of the two coarsest steps, divides it by r^2 (r): it is
 *                   estimated by r^2 / (r^2 - 1) times the change that makes, plus the difference
 *                   to the slope between the two finest points, the least biased pair.
 *
 * tolerance = 95 % t-interval of the fit + bias + floor.
 *
 * The factor is the value at h = 0 of error / h^order, a polynomial in h. It is extrapolated component
 * by component: these are smooth in h, the norm of a vector that turns as h falls is not. An entry of
 * Neville's table is off by no more than it differs from the two it is made of, which are of one degree
 * less, and from the one of its own degree a point finer, as long as the table converges: what an entry
 * is off falls like the product of its steps, so from row i of k points to the next by the factor
 * h_(i+k) / h_i. Where differences d_i of rows are seen to fall more slowly, by a ratio r, steps are too
 * coarse for the expansion (as those of stiff systems are), two entries that agree may do so by chance, and
 * what is left is d_i (1 + r + r^2 + ...). To the largest of these come the floors, as far as the
 * extrapolation magnifies them. The entry with the least sum is taken: coarse points, points near the floor
 * and the best degree sort themselves out.
 *
 * Source: Draper, Smith 1998, "Applied regression analysis", chapter 1 (t-interval of a slope); Frisch,
 * Waugh 1933, "Partial time regressions" (regressing on what other regressors leave); Neville 1934,
 * "Iterative interpolation"; Ridders 1982, "Accurate computation of F'(x) and F'(x)F''(x)" (the entry
 * that differs least).
 */
#include "ode/measure/fit.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <string.h>

#include "ode/field/system.h"

static const double margin = 32;

int fit_usable(const FitPoint *p)
{
    return isfinite(p->error) && p->error > margin * p->floor;
}

void fit_range(const FitPoint *p, size_t n, size_t *first, size_t *end)
{
    for (*end = n; *end > 0 && !fit_usable(&p[*end - 1]); --*end) continue;
    for (*first = *end; *first > 0 && fit_usable(&p[*first - 1]); --*first) continue;
}

/* Subtracts from x (n) its projection on u (n). */
static void project(size_t n, double *x, const double *u)
{
    double xu = 0, uu = 0;
    for (size_t i = 0; i < n; i++) xu += x[i] * u[i], uu += u[i] * u[i];
    for (size_t i = 0; i < n; i++) x[i] -= xu / uu * u[i];
}

/* Subtracts from x (n) its mean. */
static void centre(size_t n, double *x)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) x[i] -= mean;
}

/* Fits y = log e by least squares on 1, log h and, if `curved`, h. The slope is that of y on x, the part
 * of log h that the others leave: weight_i = x_i / x.x (n) out, slope = weight . y; residual (n) out. */
static double regress(size_t n, const FitPoint *p, int curved, double *weight, double *residual)
{
    double h[FIT_MAX], xx = 0, slope = 0;
    for (size_t i = 0; i < n; i++) {
        h[i] = p[i].h;
        weight[i] = log(p[i].h);
        residual[i] = log(p[i].error);
    }
    centre(n, h);
    centre(n, weight);
    centre(n, residual);
    if (curved) {
        project(n, residual, h);
        project(n, weight, h);
    }
    for (size_t i = 0; i < n; i++) xx += weight[i] * weight[i];
    for (size_t i = 0; i < n; i++) weight[i] /= xx;
    for (size_t i = 0; i < n; i++) slope += weight[i] * residual[i];
    for (size_t i = 0; i < n; i++) residual[i] -= slope * weight[i] * xx;
    return slope;
}

/* Returns half the 95 % interval of a slope: t_{df} sqrt(residual^2 / df) |weight|. */
static double t_interval(size_t n, size_t df, const double *weight, const double *residual)
{
    double rr = 0, ww = 0;
    for (size_t i = 0; i < n; i++) rr += residual[i] * residual[i], ww += weight[i] * weight[i];
    return gsl_cdf_tdist_Pinv(0.975, (double)df) * sqrt(rr / (double)df * ww);
}

static double pair_slope(const FitPoint *p)
{
    return log(p[0].error / p[1].error) / log(p[0].h / p[1].h);
}

static Fit fit_window(const FitPoint *p, size_t first, size_t count)
{
    double weight[FIT_MAX], residual[FIT_MAX];
    int curved = count > FIT_WINDOW;
    Fit f = {.first = first, .count = count};
    p += first;
    double shorter = regress(count - 1, p + 1, curved, weight, residual);
    f.slope = regress(count, p, curved, weight, residual);
    double ratio = pow(p[0].h / p[1].h, 1 + curved);
    f.tolerance = t_interval(count, count - 2 - (size_t)curved, weight, residual);
    f.tolerance += fabs(f.slope - shorter) * ratio / (ratio - 1);
    f.tolerance += fabs(f.slope - pair_slope(p + count - 2));
    for (size_t i = 0; i < count; i++) f.tolerance += fabs(weight[i]) * p[i].floor / p[i].error;
    return f;
}

Fit fit_order(const FitPoint *p, size_t n)
{
    size_t first, end;
    Fit best = {.slope = NAN, .tolerance = INFINITY};
    fit_range(p, n, &first, &end);
    for (; first + FIT_WINDOW <= end; first++) {
        Fit f = fit_window(p, first, end - first);
        if (f.tolerance < best.tolerance) best = f;
    }
    return best;
}

/* Returns what is left behind a difference d_i where the next, or before the last row the one before, tells that they do not
 * fall as they should, by the factor h_(i+k) / h_i; 0 where they do. Differences that fall are not rounding, which rises with
 * finer rows; those that rise are where they may be. */
static double left_over(const FitPoint *p, size_t points, size_t rows, const double *d,
                        const double *noise, size_t i)
{
    size_t j = i + 2 < rows || i == 0 ? i : i - 1;
    if (j + 2 >= rows) return 0;
    double ratio = d[j + 1] / d[j];
    if (!(ratio > p[j + points].h / p[j].h)) return 0;
    if (ratio < 1) return d[i] / (1 - ratio);
    return d[j + 1] <= noise[j + 1] + noise[j + 2] ? 0 : INFINITY;
}

/* work (count, N): row i is the value at 0 of the polynomial through some points from the i-th on, one
 * more with each column of Neville's table. An entry differs from the rows x and x + N that it is made
 * of by fine and coarse = fine - 1 times what these differ. */
void fit_constant(const FitPoint *p, const double *const *error, size_t N, const Fit *f, int order,
                  double *work, double *constant, double *tolerance)
{
    double noise[FIT_MAX], off[FIT_MAX], d[FIT_MAX];
    *tolerance = INFINITY;
    p += f->first;
    for (size_t i = 0; i < f->count; i++) {
        double power = pow(p[i].h, order);
        noise[i] = p[i].floor / power;
        for (size_t k = 0; k < N; k++) work[i * N + k] = error[f->first + i][k] / power;
    }
    for (size_t points = 2; points <= f->count; points++) {
        size_t rows = f->count - points + 1;
        for (size_t i = 0; i < rows; i++) {
            double *x = work + i * N, fine = p[i].h / (p[i].h - p[i + points - 1].h);
            off[i] = fine * system_rms(N, x, x + N);
            noise[i] = fine * noise[i + 1] + (fine - 1) * noise[i];
            for (size_t k = 0; k < N; k++) x[k] = fine * x[N + k] - (fine - 1) * x[k];
        }
        for (size_t i = 0; i + 1 < rows; i++)
            d[i] = system_rms(N, work + i * N, work + (i + 1) * N);
        for (size_t i = 0; i < rows; i++) {
            if (i + 1 < rows)
                off[i] = fmax(off[i], fmax(d[i], left_over(p, points, rows, d, noise, i)));
            if (!(off[i] + noise[i] < *tolerance)) continue;
            *tolerance = off[i] + noise[i];
            memcpy(constant, work + i * N, N * sizeof *constant);
        }
    }
}
