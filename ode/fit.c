/* fit.c: a straight line through (log h, log error). What could fool it, and what is done about it:
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
 * Source: Draper, Smith 1998, "Applied regression analysis", chapter 1 (t-interval of a slope);
 * Frisch, Waugh 1933, "Partial time regressions" (regressing on what other regressors leave).
 */
#include "ode/fit.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

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

/* x (n) minus its projection on u (n); returns the new x . x. */
static double project(size_t n, double *x, const double *u)
{
    double xu = 0, uu = 0, xx = 0;
    for (size_t i = 0; i < n; i++) xu += x[i] * u[i], uu += u[i] * u[i];
    for (size_t i = 0; i < n; i++) x[i] -= xu / uu * u[i], xx += x[i] * x[i];
    return xx;
}

/* x (n) minus its mean, which is returned. */
static double centre(size_t n, double *x)
{
    double mean = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) x[i] -= mean;
    return mean;
}

/* Least squares of y = log e on 1, log h and, if `curved`, h. The slope is that of y on x, what is
 * left of log h after the others: weight_i = x_i / x.x (n) out, slope = weight . y; residual (n) out. */
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

/* Half the 95 % interval of a slope: t_{df} sqrt(residual^2 / df) |weight|. */
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

/* log of the constant from two points, z = log error - order log h extrapolated to h = 0 by a line,
 * with the floor's share in it. */
static double extrapolate(const FitPoint *p, int order, double *noise)
{
    double fine = p[0].h / (p[0].h - p[1].h), coarse = fine - 1;
    *noise = fine * p[1].floor / p[1].error + coarse * p[0].floor / p[0].error;
    return fine * (log(p[1].error) - order * log(p[1].h)) -
           coarse * (log(p[0].error) - order * log(p[0].h));
}

/* Neighbours give estimates with a bias O(h^2): each has left about a third of its difference to the
 * one before. A difference may be small by chance: a quarter of that before it is added, which is
 * what it would be by rule. Of all estimates in the window the one with the least tolerance. */
double fit_constant(const FitPoint *p, const Fit *f, int order, double *tolerance)
{
    double z[FIT_MAX], best = NAN;
    *tolerance = INFINITY;
    p += f->first;
    for (size_t i = 0; i + 1 < f->count; i++) {
        double off;
        z[i] = extrapolate(p + i, order, &off);
        if (i < 2) continue;
        off += fabs(z[i] - z[i - 1]) + fabs(z[i - 1] - z[i - 2]) / 4;
        if (!(off < *tolerance)) continue;
        *tolerance = off;
        best = exp(z[i]);
    }
    return best;
}
