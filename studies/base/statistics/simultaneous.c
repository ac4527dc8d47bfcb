/* simultaneous.c: computes Dunnett's and Tukey's distributions by sums, their critical values, and intervals and p of a
 * difference. */
#include "studies/base/statistics/simultaneous.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

#define FAR 40                       /* exp(-FAR^2 / 2) is no number above 0 */
#define PHI_0 0.39894228040143267794 /* 1 / sqrt(2 pi) */

static double upper(double x)
{
    return 0.5 * erfc(x * M_SQRT1_2);
}

/* Returns P(any |l_i z + r_i e_i| >= w) over standard normal z and e_i; the integrand is even in z, so the sum begins
 * at 0. The step follows the narrowest rise r / l of the factors. Beyond |w| + 9 the density is below exp(-40) of the
 * tail at its peak. one_sided: computes the bound of simultaneous_equivalence. */
static double dunnett_tail(const Simultaneous *s, double w, int one_sided)
{
    if (fabs(w) > FAR) return w < 0;
    double most = 0;
    for (size_t i = 0; i < s->groups; i++) most = fmax(most, s->loading[i]);
    double step = 0.25 * fmin(1, sqrt(1 - most * most) / most), sum = 0;
    size_t n = (size_t)((fabs(w) + 9) / step) + 1;
    for (size_t k = 0; k < n; k++) {
        double z = step * (double)k, inside = 0;
        for (size_t i = 0; i < s->groups; i++) {
            double l = s->loading[i], r = sqrt(1 - l * l);
            double above = upper((w - l * z) / r), below = upper((w + l * z) / r);
            inside += s->count[i] * (one_sided ? 0.5 * (log1p(-above) + log1p(-below))
                                               : log1p(-fmin(above + below, 1)));
        }
        sum += (k ? 2 : 1) * exp(-0.5 * z * z) * -expm1(inside);
    }
    return PHI_0 * step * sum;
}

/* Returns P(range of k standard normals >= w): it subtracts k int phi [Phi(z) - Phi(z - w)]^(k-1) from 1 = k int phi
 * Phi^(k-1) inside the integral. */
static double range_tail(double k, double w)
{
    if (w > M_SQRT2 * FAR) return 0;
    const double step = 0.2;
    double sum = 0;
    size_t n = (size_t)((w + 18) / step) + 1;
    for (size_t i = 0; i < n; i++) {
        double z = step * (double)i - 9, below = upper(-z);
        double r = fmin(upper(w - z) / below, 1);
        sum += exp(-0.5 * z * z + (k - 1) * log(below)) * -expm1((k - 1) * log1p(-r));
    }
    return PHI_0 * step * k * sum;
}

/* The step of the sum over log S. */
static double step_of(double df)
{
    return fmin(0.12, 0.35 / sqrt(df));
}

/* Tails of the range stand at w = exp(k step) for these k. Below the first the range is as good as always wider. */
static long first_place(double df)
{
    return lround(-20 / step_of(df));
}

static long places(double df)
{
    return lround(log(M_SQRT2 * FAR) / step_of(df)) + 1 - first_place(df);
}

/* Returns range_tail at the k-th place, computed once. */
static double range_at(const Simultaneous *s, long k)
{
    const double w = exp(step_of(s->df) * (double)k), designs = (double)s->designs;
    const long i = k - first_place(s->df);
    if (i < 0 || i >= places(s->df)) return range_tail(designs, w);
    if (isnan(s->range[i])) s->range[i] = range_tail(designs, w);
    return s->range[i];
}

/* Returns the mean of either tail over S = exp(u), whose density in u is 2 (df/2)^(df/2) / Gamma(df/2) exp(df (u - S^2
 * / 2)). The tail falls at most as fast as exp(-t^2 S^2 / 2) and moves the peak from u = 0 to -log(1 + t^2 / df) / 2.
 * Beyond the ends of the sum the density is below exp(-40) of that at the peaks. The sum may begin anywhere within a step: that over
 * the range begins where w = sqrt(2) t S has one of its places. */
static double mean_tail(const Simultaneous *s, double t, int one_sided)
{
    if (!(s->df > 0) || (s->groups == 0 && s->designs < 2) || isnan(t)) return NAN;
    if (isinf(t) || (s->designs && t <= 0)) return t <= 0;
    double y = 40 / s->df, step = step_of(s->df), sum = 0;
    double low = -0.5 * log1p(t * t / s->df) - y - sqrt(y);
    double high = 0.5 * log(1 + 2 * sqrt(y) + 2 * y);
    double scale = log(2) + 0.5 * s->df * log(0.5 * s->df) - lgamma(0.5 * s->df);
    const double width = log(M_SQRT2 * fabs(t));
    const long place = s->designs ? lround(ceil((low + width) / step)) : 0;
    if (s->designs) low = step * (double)place - width;
    size_t n = (size_t)((high - low) / step) + 1;
    for (size_t i = 0; i < n; i++) {
        double u = low + step * (double)i, S = exp(u);
        double tail = s->designs ? range_at(s, place + (long)i) : dunnett_tail(s, t * S, one_sided);
        sum += exp(scale + s->df * (u - 0.5 * S * S)) * tail;
    }
    return fmin(1, step * sum);
}

double simultaneous_tail(const Simultaneous *s, double t)
{
    return mean_tail(s, t, 0);
}

/* Finds t where the tail is .05, between the t of one comparison and that of Bonferroni's correction for all, by false
 * position on the tail's logarithm (Illinois: Dowell, Jarratt 1971). */
static double find_critical(const Simultaneous *s, double comparisons)
{
    const double share = 0.05;
    if (!(s->df > 0) || comparisons < 1) return NAN;
    double a = gsl_cdf_tdist_Qinv(share / 2, s->df);
    double b = gsl_cdf_tdist_Qinv(share / 2 / comparisons, s->df);
    if (comparisons == 1) return a;
    double fa = log(simultaneous_tail(s, a) / share), fb = log(simultaneous_tail(s, b) / share);
    for (int i = 0, side = 0; i < 100 && b - a > 1e-12 * b; i++) {
        double x = (fa * b - fb * a) / (fa - fb), fx = log(simultaneous_tail(s, x) / share);
        if (!(fabs(fx) > 1e-12)) return x;
        if (fx > 0) {
            a = x;
            fa = fx;
            if (side > 0) fb /= 2;
            side = 1;
        } else {
            b = x;
            fb = fx;
            if (side < 0) fa /= 2;
            side = -1;
        }
    }
    return 0.5 * (a + b);
}

int simultaneous_dunnett(size_t df, size_t base, const size_t *runs, size_t n, Simultaneous *out)
{
    *out = (Simultaneous){.df = (double)df, .critical = NAN};
    out->loading = memory_new(2 * n, sizeof *out->loading);
    if (!out->loading) return ERR_MEMORY;
    out->count = out->loading + n;
    double comparisons = 0;
    for (size_t i = 0; i < n; i++) {
        if (runs[i] == 0 || base == 0) continue;
        double l = sqrt((double)runs[i] / (double)(runs[i] + base));
        size_t k = 0;
        while (k < out->groups && out->loading[k] != l) k++;
        if (k == out->groups) {
            out->loading[out->groups++] = l;
            out->count[k] = 0;
        }
        out->count[k]++;
        comparisons++;
    }
    out->critical = find_critical(out, comparisons);
    return 0;
}

int simultaneous_tukey(size_t df, size_t designs, Simultaneous *out)
{
    *out = (Simultaneous){.df = (double)df, .designs = designs, .critical = NAN};
    if (df == 0) return 0;
    const size_t n = (size_t)places(out->df);
    out->range = memory_new(n, sizeof *out->range);
    if (!out->range) return ERR_MEMORY;
    for (size_t i = 0; i < n; i++) out->range[i] = NAN;
    double k = (double)designs;
    out->critical = find_critical(out, k * (k - 1) / 2);
    return 0;
}

void simultaneous_free(Simultaneous *s)
{
    memory_free_all(s->loading, s->range);
    *s = (Simultaneous){0};
}

Difference simultaneous_difference(const Simultaneous *s, const Difference *alone)
{
    Difference d = *alone;
    d.low = d.mean - s->critical * d.error;
    d.high = d.mean + s->critical * d.error;
    if (!isnan(d.p)) d.p = d.mean == 0 ? 1 : simultaneous_tail(s, fabs(d.mean) / d.error);
    return d;
}

/* Let s_i be the signs of the true differences. P(no s_i t_i >= t) = int phi(z) prod_i Phi((t S - s_i l_i z) / r_i) dz,
 * and the same with -z for z. Half of their sum is no less than int phi(z) prod_i
 * sqrt(Phi((t S - l_i z) / r_i) Phi((t S + l_i z) / r_i)) dz, the geometric mean, which does not depend on the signs.
 * 1 - (comparisons) P(t_1 >= t) is a lower bound too, and exact for one comparison. */
double simultaneous_equivalence(const Simultaneous *s, const Difference *d, double margin)
{
    double t = (margin - fabs(d->mean)) / d->error, comparisons = 0;
    double p = mean_tail(s, t, 1);
    for (size_t i = 0; i < s->groups; i++) comparisons += s->count[i];
    return isnan(p) ? NAN : fmin(p, comparisons * gsl_cdf_tdist_Q(t, s->df));
}
