/* attention_distance.c: computes distances between attention distributions, and between heads (attention_distance.h). */
#include "studies/model/attention/attention_distance.h"

#include <math.h>

#include "kernels/base/error.h"

/* ---- two distributions --------------------------------------------------------------------------- */

double attention_distance(size_t n, const double *a, const double *b)
{
    double moved = 0, sum = 0;
    for (size_t j = 0; j < n; j++) {
        moved += a[j] - b[j];
        sum += fabs(moved);
    }
    return sum;
}

/* ---- heads --------------------------------------------------------------------------------------- */

int head_sums_new(size_t A, size_t H, HeadSums *s)
{
    *s = (HeadSums){.A = A, .H = H};
    if (H > ASSIGNMENT_MAX)
        return error_set(ERR_INPUT, "%zu heads; at most %d can be matched", H, ASSIGNMENT_MAX);
    s->cost = memory_new(A * H, H * sizeof *s->cost);
    s->token = memory_new(A, sizeof *s->token);
    if (s->cost && s->token) return 0;
    head_sums_free(s);
    return ERR_MEMORY;
}

void head_sums_free(HeadSums *s)
{
    s->cost = memory_free(s->cost);
    s->token = memory_free(s->token);
}

/* Compares one sublayer at token i. here (H, H) out, added to cost; a, b (H, N, N). Returns the
 * least sum of matched heads. */
static double add_token(const HeadSums *s, size_t N, size_t i, const double *a, const double *b,
                        double *here, double *cost)
{
    size_t to[ASSIGNMENT_MAX], H = s->H;
    for (size_t g = 0; g < H; g++)
        for (size_t h = 0; h < H; h++) {
            const double *x = a + (g * N + i) * N, *y = b + (h * N + i) * N;
            here[g * H + h] = attention_distance(s->whole ? N : i + 1, x, y);
            cost[g * H + h] += here[g * H + h];
        }
    return assignment_find(H, here, to);
}

int head_sums_add(HeadSums *s, size_t N, const double *a, const double *b)
{
    size_t H = s->H, all = H * N * N;
    double *here = memory_new(H * H, sizeof *here);
    if (!here) return ERR_MEMORY;
    for (size_t l = 0; l < s->A; l++)
        for (size_t i = 0; i < N; i++)
            s->token[l] += add_token(s, N, i, a + l * all, b + l * all, here, s->cost + l * H * H);
    s->tokens += N;
    memory_free(here);
    return 0;
}

HeadDistance head_sums_mean(const HeadSums *s, size_t i)
{
    size_t to[ASSIGNMENT_MAX], H = s->H;
    HeadDistance sum = {0, 0};
    size_t first = i < s->A ? i : 0, last = i < s->A ? i + 1 : s->A;
    for (size_t l = first; l < last; l++) {
        sum.token += s->token[l];
        sum.once += assignment_find(H, s->cost + l * H * H, to);
    }
    double n = (double)(last - first) * (double)s->tokens;
    return (HeadDistance){sum.token / n, sum.once / n};
}
