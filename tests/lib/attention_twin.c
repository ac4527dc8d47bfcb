/* attention_twin.c: see attention_twin.h. A score is needed twice or more and is made anew each time. */
#include "tests/lib/attention_twin.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/base/random.h"

enum { DIGITS = 8, STEP = 32 }; /* bf16's binary digits; columns of a step of the softmax */

double twin_rounded(int rounds, double x)
{
    const int off = DBL_MANT_DIG - DIGITS;
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    u += (UINT64_C(1) << (off - 1)) - 1 + (u >> off & 1);
    u &= ~((UINT64_C(1) << off) - 1);
    if (rounds) memcpy(&x, &u, sizeof x);
    return x;
}

/* One head of one sequence. */
typedef struct {
    const Attention *a;
    int rounds;
    size_t first, T, key, M, E, head, kv;
} Head;

static Head head_of(const Attention *a, int rounds, size_t s, size_t head)
{
    const size_t *keys = a->memory ? a->memory : a->start;
    return (Head){a,
                  rounds,
                  a->start[s],
                  a->start[s + 1] - a->start[s],
                  keys[s],
                  keys[s + 1] - keys[s],
                  a->D / a->H,
                  head,
                  head / attention_each(a->H, a->kv)};
}

/* Returns row r of q or dout (x), and row j of k or v. */
static const double *row_of(const Head *h, const void *x, size_t ld, size_t r)
{
    return (const double *)x + r * ld + h->head * h->E;
}

static const double *key_of(const Head *h, const void *x, size_t j)
{
    return (const double *)x + (h->key + j) * h->a->ldk + h->kv * h->E;
}

static const double *q_of(const Head *h, size_t i)
{
    return row_of(h, h->a->q, h->a->ldq, h->first + i);
}

static const double *k_of(const Head *h, size_t j)
{
    return key_of(h, h->a->k, j);
}

static const double *v_of(const Head *h, size_t j)
{
    return key_of(h, h->a->v, j);
}

/* Returns how many keys row i sees. */
static size_t seen(const Head *h, size_t i)
{
    return h->a->causal && i < h->M ? i + 1 : h->M;
}

static double product(const Head *h, const double *x, const double *y)
{
    double sum = 0;
    int rounds = h->rounds & TWIN_INPUTS;
    for (size_t e = 0; e < h->E; e++)
        sum += twin_rounded(rounds, x[e]) * twin_rounded(rounds, y[e]);
    return sum;
}

static double score(const Head *h, size_t i, size_t j)
{
    return product(h, q_of(h, i), k_of(h, j)) / sqrt((double)h->E);
}

/* Adds c x to y (E). c is an exact factor of a rounded number. */
static void add(const Head *h, double c, const double *x, double *y)
{
    for (size_t e = 0; e < h->E; e++) y[e] += c * twin_rounded(h->rounds & TWIN_INPUTS, x[e]);
}

/* Returns 1 where weight (i, j) is not dropped. */
static int kept(const Head *h, size_t i, size_t j)
{
    const Dropout *d = &h->a->drop;
    uint32_t word[4];
    uint64_t index = ((h->first + i) * h->a->H + h->head) * h->a->longest + j + d->first;
    if (!(d->rate > 0)) return 1;
    random_words(d->seed, d->stream, index / 4, word);
    return (double)word[index % 4] >= d->rate * 0x1p32;
}

/* ---- forward ------------------------------------------------------------------------------------- */

/* Rounds weights as exp(s - max). max is the largest score of the columns so far, which come STEP at a
 * time. */
static void row_forward(const Head *h, size_t i, double *out, double *lse)
{
    double max = -INFINITY, sum = 0, scale = 1 / (1 - h->a->drop.rate);
    for (size_t e = 0; e < h->E; e++) out[e] = 0;
    for (size_t j0 = 0; j0 < seen(h, i); j0 += STEP) {
        size_t end = j0 + STEP < seen(h, i) ? j0 + STEP : seen(h, i);
        double top = max;
        for (size_t j = j0; j < end; j++) top = fmax(top, score(h, i, j));
        sum *= exp(max - top);
        for (size_t e = 0; e < h->E; e++) out[e] *= exp(max - top);
        max = top;
        for (size_t j = j0; j < end; j++) {
            double w = exp(score(h, i, j) - max);
            sum += w;
            if (kept(h, i, j)) add(h, twin_rounded(h->rounds & TWIN_WEIGHTS, w), v_of(h, j), out);
        }
    }
    for (size_t e = 0; e < h->E; e++) out[e] *= scale / sum;
    *lse = max + log(sum);
}

void twin_attention(const Attention *a, int rounds, double *out, double *lse)
{
    for (size_t s = 0; s < a->S; s++)
        for (size_t head = 0; head < a->H; head++) {
            Head h = head_of(a, rounds, s, head);
            for (size_t i = 0; i < h.T; i++)
                row_forward(&h, i, out + (h.first + i) * a->D + head * h.E,
                            lse + (h.first + i) * a->H + head);
        }
}

/* ---- backward ------------------------------------------------------------------------------------ */

/* delta is made of out and the rounded dout, as products take it. */
static void row_back(const Head *h, size_t i, const double *out, double lse, const double *dout,
                     double *dq, double *dk, double *dv)
{
    double delta = 0, drop = 1 / (1 - h->a->drop.rate), scale = 1 / sqrt((double)h->E);
    for (size_t e = 0; e < h->E; e++)
        delta += out[e] * twin_rounded(h->rounds & TWIN_INPUTS, dout[e]);
    for (size_t j = 0; j < seen(h, i); j++) {
        double P = exp(score(h, i, j) - lse), m = kept(h, i, j) ? drop : 0;
        double dS = P * (m * product(h, dout, v_of(h, j)) - delta);
        dS = twin_rounded(h->rounds & TWIN_ADJOINTS, dS);
        add(h, m * twin_rounded(h->rounds & TWIN_WEIGHTS, P), dout, dv + j * h->a->ldk);
        add(h, scale * dS, q_of(h, i), dk + j * h->a->ldk);
        add(h, scale * dS, k_of(h, j), dq);
    }
}

void twin_attention_back(const Attention *a, int rounds, const double *out, const double *lse,
                         const double *dout, double *dq, double *dk, double *dv, int more)
{
    for (size_t s = 0; s < a->S; s++)
        for (size_t head = 0; head < a->H; head++) {
            Head h = head_of(a, rounds, s, head);
            size_t to = h.key * a->ldk + h.kv * h.E;
            int first = head == 0 || head_of(a, rounds, s, head - 1).kv < h.kv;
            for (size_t j = 0; first && !more && j < h.M; j++)
                for (size_t e = 0; e < h.E; e++)
                    dk[to + j * a->ldk + e] = dv[to + j * a->ldk + e] = 0;
            for (size_t i = 0; i < h.T; i++) {
                size_t r = h.first + i;
                double *to_q = dq + r * a->ldq + head * h.E;
                for (size_t e = 0; e < h.E; e++) to_q[e] = 0;
                row_back(&h, i, row_of(&h, out, a->D, r), lse[r * a->H + head],
                         row_of(&h, dout, a->D, r), to_q, dk + to, dv + to);
            }
        }
}
