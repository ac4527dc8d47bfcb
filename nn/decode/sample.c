/* sample.c: draws a token from logits z (V) (search.h).
 *
 * The tokens are sorted by falling z, among equals the least first, and have weights w_i = exp((z_i - z_1) /
 * temperature). The first K of them are kept, and of these the nucleus: the least n with w_1 + ... + w_n >= p (w_1 +
 * ... + w_K). Then the kept tokens are taken by number; the draw is the first one with which their weights pass the
 * share u of their sum.
 *
 * Source: Holtzman, Buys, Du, Forbes, Choi 2020 (ICLR), section 3.1, equations 2 and 3, for top-p; Fan, Lewis, Dauphin
 * 2018 (ACL), section 5.1, for top-k. That top-k and temperature come before top-p is our choice. */
#include <math.h>
#include <stdlib.h>

#include "nn/decode/search.h"

static int falling(const void *x, const void *y)
{
    const Ranked *a = x, *b = y;
    return a->z != b->z ? (a->z < b->z) - (a->z > b->z)
                        : (a->token > b->token) - (a->token < b->token);
}

static Ranked likeliest(const double *z, size_t V)
{
    Ranked best = {z[0], 0};
    for (size_t v = 1; v < V; v++)
        if (z[v] > best.z) best = (Ranked){z[v], v};
    return best;
}

/* Returns the last candidate that is kept. */
static Ranked last_kept(const double *z, size_t V, const Sampling *s, Ranked *order)
{
    size_t K = s->top && s->top < V ? s->top : V, n = 0;
    double sum = 0, at = 0;
    for (size_t v = 0; v < V; v++) order[v] = (Ranked){z[v], v};
    qsort(order, V, sizeof *order, falling);
    if (!(s->top_p < 1)) return order[K - 1];
    for (size_t i = 0; i < K; i++) sum += exp((order[i].z - order[0].z) / s->temperature);
    do at += exp((order[n].z - order[0].z) / s->temperature);
    while (++n < K && at < s->top_p * sum);
    return order[n - 1];
}

size_t sample_token(const double *z, size_t V, const Sampling *s, double u, Ranked *order)
{
    Ranked best = likeliest(z, V), least = {-INFINITY, V};
    double sum = 0, at = 0;
    size_t last = best.token;
    if (s->temperature <= 0) return best.token;
    if (s->top || s->top_p < 1) least = last_kept(z, V, s, order);
    for (int draw = 0; draw < 2; draw++)
        for (size_t v = 0; v < V; v++) {
            if (z[v] < least.z || (z[v] == least.z && v > least.token)) continue;
            double w = exp((z[v] - best.z) / s->temperature);
            if (!draw) {
                sum += w;
                continue;
            }
            last = v;
            at += w;
            if (at > u * sum) return v;
        }
    return last;
}

void sample_penalise(double *z, size_t V, const char *said, double penalty)
{
    for (size_t v = 0; v < V; v++)
        if (said[v]) z[v] = z[v] > 0 ? z[v] / penalty : z[v] * penalty;
}
