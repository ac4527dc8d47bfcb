/* kernel_ops.h: every kernel of a pass as one row of a table: a plain reference of the forward pass in double, and the
 * calls of a backend's forward and, except for kernels of decoding alone, backward. test_kernels.c uses it.
 *
 * The reference knows nothing of how a backend works: it is the formula of kernels/backend.h in loops of doubles,
 * dropout by random_words one element at a time. Gradients have no reference formula: they are differences of the
 * reference's forward pass (test_kernels.c).
 */
#ifndef TROTTER_TESTS_KERNEL_OPS_H
#define TROTTER_TESTS_KERNEL_OPS_H

#include "tests/kernels/kernel_attention_ops.h"

/* ---- norms: x, w, b; act: RMS or 0 --------------------------------------------------------------- */

enum { RMS = 8 };
static NormKind norm_of_trial(const Trial *t)
{
    return t->act & RMS ? (NormKind){NORM_RMS, 2} : (NormKind){NORM_LAYER, 1e-5};
}
/* Returns the bias of a norm, or its adjoint. */
static void *norm_shift(const Trial *t, void *b)
{
    return t->act & RMS ? NULL : b;
}
INPUT_SIZES(rms_inputs, t->N * t->D, t->D)
INPUT_SIZES(norm_inputs, t->N * t->D, t->D, t->D)
SIZE(norm_count, 2 * t->D + 16)
REF(norm)
{
    size_t D = t->D;
    for (size_t r = 0; r < t->N; r++) {
        const double *x = in[0] + r * D;
        double mean = 0, var = 0;
        int rms = (t->act & RMS) != 0;
        for (size_t i = 0; i < D && !rms; i++) mean += x[i] / (double)D;
        for (size_t i = 0; i < D; i++) var += (x[i] - mean) * (x[i] - mean) / (double)D;
        for (size_t i = 0; i < D; i++)
            out[r * D + i] =
                (x[i] - mean) / sqrt(var + norm_of_trial(t).eps) * in[1][i] + (rms ? 0 : in[2][i]);
    }
}
RUN(norm)
{
    b->norm(t->N, t->D, norm_of_trial(t), in[0], in[1], norm_shift(t, in[2]), out, kept);
}
BACK(norm)
{
    b->norm_back(t->N, t->D, norm_of_trial(t), in[0], in[1], kept, dout, 0, NULL, din[0], din[1],
                 norm_shift(t, din[2]));
}

/* These compute y + x / 2 - y / 4, the norm y with x beside it. The adjoint of x begins as the sum of terms. */
SIZE(skip_kept, 2 * t->N + t->N * t->D)
REF(skip)
{
    norm_ref(t, in, out);
    for (size_t i = 0; i < t->N * t->D; i++) out[i] = 0.75 * out[i] + 0.5 * in[0][i];
}
RUN(skip)
{
    void *y = kept;
    const LinTerm term[] = {{.c = 0.75, .x = y}, {.c = 0.5, .x = in[0]}};
    b->norm(t->N, t->D, norm_of_trial(t), in[0], in[1], norm_shift(t, in[2]), y,
            backend_at(b, kept, t->N * t->D));
    b->lin(t->N, t->D, 2, term, out);
}
BACK(skip)
{
    void *dy = kept, *stats = backend_at(b, kept, t->N * t->D);
    const LinTerm scaled = {.c = 0.75, .x = dout};
    const LinTerm term[] = {{.c = 2, .x = dout}, {.c = -1.5, .x = dout}};
    b->lin(t->N, t->D, 1, &scaled, dy);
    b->norm_back(t->N, t->D, norm_of_trial(t), in[0], in[1], stats, dy, 2, term, din[0], din[1],
                 norm_shift(t, din[2]));
}

/* ---- rotary positions: x, whose last columns may stay; table (V, E) ------------------------------- */

SIZE(rotate_width, t->D / t->H / 2 * 2)
INPUT_SIZES(rotate_inputs, t->N * t->D, rotate_width(t) * t->V)
REF(rotate)
{
    size_t E = rotate_width(t);
    memcpy(out, in[0], t->N * t->D * sizeof *out);
    for (size_t r = 0; r < t->N; r++)
        for (size_t c = 0; c < t->H * E; c++) {
            size_t e = c % E, pair = e < E / 2 ? c + E / 2 : c - E / 2;
            const double *turn = in[1] + (size_t)t->position[r] * E + e % (E / 2),
                         *x = in[0] + r * t->D;
            out[r * t->D + c] = x[c] * turn[0] + (e < E / 2 ? -1 : 1) * x[pair] * turn[E / 2];
        }
}
RUN(rotate)
{
    b->copy(out, in[0], t->N * t->D);
    b->rotate(t->N, t->H, rotate_width(t), out, t->D, t->position, in[1], 0);
}
BACK(rotate)
{
    b->copy(din[0], dout, t->N * t->D);
    b->rotate(t->N, t->H, rotate_width(t), din[0], t->D, t->position, in[1], 1);
}

/* ---- bias and dropout, bias and activation: x, b ------------------------------------------------ */

INPUT_SIZES(bias_inputs, t->N * t->D, t->D)
SIZE(bias_count, 32)
enum { ACT_NONE = -1 };
static double ref_act(int act, double u)
{
    if (act == ACT_RELU) return u > 0 ? u : 0;
    if (act == ACT_GELU) return 0.5 * u * (1 + tanh(sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
    if (act == ACT_TANH) return tanh(u);
    if (act == ACT_SWIGLU) return u / (1 + exp(-u));
    if (act == ACT_GEGLU) return ref_act(ACT_GELU, u);
    if (act == ACT_ERF) return u * 0.5 * erfc(-u / sqrt(2));
    return u;
}
REF(bias)
{
    for (size_t i = 0; i < t->N * t->D; i++)
        out[i] = ref_act(t->act, in[0][i] + in[1][i % t->D]) * ref_keep(&t->drop, i);
}
RUN(bias)
{
    if (t->act == ACT_NONE) {
        b->copy(out, in[0], t->N * t->D);
        b->bias_drop(t->N, t->D, out, in[1], t->drop);
        return;
    }
    void *u = t->act == ACT_RELU ? out : kept; /* in place where that is allowed */
    b->copy(u, in[0], t->N * t->D);
    b->bias_act(t->N, t->D, u, in[1], t->act, t->drop, out);
}
BACK(bias)
{
    void *u = t->act == ACT_RELU ? NULL : kept, *y = t->act == ACT_RELU ? out : NULL;
    b->copy(din[0], dout, t->N * t->D);
    if (t->act == ACT_NONE)
        b->bias_drop_back(t->N, t->D, 1, &(LinTerm){.c = 1, .x = din[0]}, t->drop, din[0], din[1]);
    else
        b->bias_act_back(t->N, t->D, u, y, t->act, t->drop, din[0], din[0], din[1]);
}

/* Gated activations: u (N, 2 D), b (2 D). */
INPUT_SIZES(gated_inputs, 2 * t->N * t->D, 2 * t->D)
SIZE(size_2ND, 2 * t->N * t->D)
REF(gated)
{
    size_t D = t->D;
    for (size_t i = 0; i < t->N * D; i++) {
        const double *u = in[0] + i / D * 2 * D + i % D, *b = in[1] + i % D;
        out[i] = ref_act(t->act, u[0] + b[0]) * (u[D] + b[D]) * ref_keep(&t->drop, i);
    }
}
RUN(gated)
{
    b->copy(kept, in[0], 2 * t->N * t->D);
    b->bias_act(t->N, t->D, kept, in[1], t->act, t->drop, out);
}
BACK(gated)
{
    b->bias_act_back(t->N, t->D, kept, NULL, t->act, t->drop, dout, din[0], din[1]);
}

/* ---- sum after a sublayer: k, b, x, w, c; act: the norm of x / 2 + 5/4 k', or that sum and k' ----------------- */

enum { SUM_NORM, SUM_ALONE, SUM_RMS = RMS };
INPUT_SIZES(residual_inputs, t->N * t->D, t->D, t->N * t->D, t->D, t->D)
INPUT_SIZES(alone_inputs, t->N * t->D, t->D, t->N * t->D)
INPUT_SIZES(residual_rms_inputs, t->N * t->D, t->D, t->N * t->D, t->D)
/* Counts k', the sum and stats. */
SIZE(residual_kept, 2 * (t->N + t->N * t->D))
REF(residual)
{
    size_t n = t->N * t->D;
    double *r = malloc(n * sizeof *r);
    if (!r) return;
    for (size_t i = 0; i < n; i++) {
        double k = (in[0][i] + in[1][i % t->D]) * ref_keep(&t->drop, i);
        r[i] = 0.5 * in[2][i] + (t->act == SUM_ALONE ? 2.25 : 1.25) * k;
    }
    if (t->act == SUM_ALONE)
        memcpy(out, r, n * sizeof *r);
    else
        norm_ref(t, (const double *const[]){r, in[3], in[4]}, out);
    free(r);
}
RUN(residual)
{
    size_t n = t->N * t->D;
    void *k = kept, *r = backend_at(b, k, n), *stats = backend_at(b, r, n);
    const LinTerm term[] = {{.c = 0.5, .x = in[2]}, {.c = 1.25, .x = k}};
    const LinTerm again = {.c = 1, .dx = out};
    b->copy(k, in[0], n);
    if (t->act != SUM_ALONE) {
        b->residual(t->N, t->D, k, in[1], t->drop, 0, 2, term, r, norm_of_trial(t), in[3],
                    norm_shift(t, in[4]), out, stats);
        return;
    }
    b->residual(t->N, t->D, k, in[1], t->drop, 1, 2, term, out, norm_of_trial(t), NULL, NULL, NULL,
                NULL);
    b->lin_back(t->N, t->D, 1, &again, k);
}
BACK(residual)
{
    size_t n = t->N * t->D;
    void *dr = kept, *r = backend_at(b, dr, n), *stats = backend_at(b, r, n);
    LinTerm x = {.c = 0.5, .dx = din[2]};
    LinTerm k[] = {{.c = 1.25, .x = dr}, {.c = 1, .x = dr}};
    if (t->act != SUM_ALONE)
        b->norm_back(t->N, t->D, norm_of_trial(t), r, in[3], stats, dout, 0, &x, dr, din[3],
                     norm_shift(t, din[4]));
    else
        b->copy(dr, dout, n);
    if (x.dx) b->lin_back(t->N, t->D, 1, &x, dr);
    b->bias_drop_back(t->N, t->D, t->act == SUM_ALONE ? 2 : 1, k, t->drop, din[0], din[1]);
}

/* ---- linear combination: x0, x1, x2, scalars (2), gate (N) -------------------------------------- */
/* r = 1/2 x0 - 5/4 s0 x1 + 2 s1 g x2 + 3/4 s0 g s0 x0 - g x1 has scalars and a gate, one factor twice in a term, and
 * one register in two terms. */

INPUT_SIZES(lin_inputs, t->N * t->D, t->N * t->D, t->N * t->D, 2, t->N)
REF(lin)
{
    const double *s = in[3];
    for (size_t i = 0; i < t->N * t->D; i++) {
        double g = in[4][i / t->D];
        out[i] = 0.5 * in[0][i] - 1.25 * s[0] * in[1][i] + 2 * s[1] * g * in[2][i] +
                 0.75 * s[0] * g * s[0] * in[0][i] - g * in[1][i];
    }
}
static void lin_terms(const Backend *b, void *const *in, void *const *d, LinTerm t[5])
{
    void *no[INPUTS] = {0};
    if (!d) d = no;
    void *s1 = backend_at(b, in[3], 1), *ds1 = d[3] ? backend_at(b, d[3], 1) : NULL;
    t[0] = (LinTerm){0.5, in[0], d[0], 0, {{0}}};
    t[1] = (LinTerm){-1.25, in[1], d[1], 1, {{in[3], d[3], 0}}};
    t[2] = (LinTerm){2, in[2], d[2], 2, {{s1, ds1, 0}, {in[4], d[4], 1}}};
    t[3] = (LinTerm){0.75, in[0], d[0], 3, {{in[3], d[3], 0}, {in[4], d[4], 1}, {in[3], d[3], 0}}};
    t[4] = (LinTerm){-1, in[1], d[1], 1, {{in[4], d[4], 1}}};
}
RUN(lin)
{
    LinTerm term[5];
    lin_terms(b, in, NULL, term);
    b->lin(t->N, t->D, 5, term, out);
}
BACK(lin)
{
    LinTerm term[5];
    lin_terms(b, in, din, term);
    b->lin_back(t->N, t->D, 5, term, dout);
}

/* ---- gate: x0, x1, w (2, D), b (1) -------------------------------------------------------------- */

INPUT_SIZES(gate_inputs, t->N * t->D, t->N * t->D, 2 * t->D, 1)
REF(gate)
{
    for (size_t r = 0; r < t->N; r++) {
        double z = in[3][0];
        for (size_t i = 0; i < t->D; i++)
            z += in[2][i] * in[0][r * t->D + i] + in[2][t->D + i] * in[1][r * t->D + i];
        out[r] = t->act == ACT_TANH ? tanh(z) : 1 / (1 + exp(-z));
    }
}
RUN(gate)
{
    b->gate(t->N, t->D, 2, (const void *const[]){in[0], in[1]}, in[2], in[3], t->act, out);
}
BACK(gate)
{
    b->gate_back(t->N, t->D, 2, (const void *const[]){in[0], in[1]}, in[2], t->act, out, dout, din,
                 din[2], din[3]);
}

/* ---- embedding: E (V, D), P (V, D) -------------------------------------------------------------- */

#define EMBED_SCALE 1.375
INPUT_SIZES(embed_inputs, t->V * t->D, t->V * t->D)
REF(embed)
{
    for (size_t i = 0; i < t->N * t->D; i++) {
        size_t r = i / t->D, c = i % t->D;
        out[i] = (EMBED_SCALE * in[0][(size_t)t->token[r] * t->D + c] +
                  in[1][(size_t)t->position[r] * t->D + c]) *
                 ref_keep(&t->drop, i);
    }
}
RUN(embed)
{
    b->embed(t->N, t->D, t->token, t->position, in[0], EMBED_SCALE, in[1], t->drop, out);
}
BACK(embed)
{
    if (din[0]) b->embed_back(t->N, t->D, t->V, t->token, EMBED_SCALE, t->drop, dout, din[0]);
}

/* ---- cross-entropy: z (N, V); the output is nll; act: thousandths of smoothing, or LABELS ------- */

enum { LABELS = -1 /* weights that sum to 0.75 */ };

INPUT_SIZES(loss_inputs, t->N * t->V)
SIZE(loss_count, t->V + 16)
static Labels labels_of(const Trial *t)
{
    double smooth = t->act / 1000.0, V = (double)t->V;
    if (t->act == LABELS) return (Labels){0.5, 0.25 / V};
    return (Labels){.hit = 1 - smooth, .all = smooth / V};
}
REF(loss)
{
    Labels q = labels_of(t);
    for (size_t r = 0; r < t->N; r++) {
        const double *z = in[0] + r * t->V;
        double sum = 0;
        for (size_t i = 0; i < t->V; i++) sum += exp(z[i]);
        out[r] = q.hit * (log(sum) - z[t->target[r]]);
        for (size_t i = 0; i < t->V; i++) out[r] += q.all * (log(sum) - z[i]);
    }
}
static void loss_call(const Backend *b, const Trial *t, const void *z, void *work,
                      const double *grad, void *out)
{
    b->copy(work, z, t->N * t->V);
    b->cross_entropy(t->N, t->V, work, t->target, labels_of(t), grad, work, out);
}
RUN(loss)
{
    loss_call(b, t, in[0], kept, NULL, out);
}
BACK(loss)
{
    double grad;
    b->get(&grad, dout, 1);
    b->send(t->grad, &grad, sizeof grad);
    loss_call(b, t, in[0], din[0], t->grad, out);
}

/* ---- the best of a row: z (N, V); the output is log p, its columns are kept; act: how many -- */

enum { BEST_FEW = 3, BEST_MANY = 40 };
SIZE(best_of, (size_t)t->act < t->V ? (size_t)t->act : t->V)
SIZE(best_output, t->N *best_of(t))
static int falling(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}
REF(best)
{
    size_t K = best_of(t), bytes = t->V * sizeof(double);
    double *z = malloc(bytes);
    for (size_t r = 0; z && r < t->N; r++) {
        double sum = 0;
        memcpy(z, in[0] + r * t->V, bytes);
        for (size_t i = 0; i < t->V; i++) sum += exp(z[i]);
        qsort(z, t->V, sizeof *z, falling);
        for (size_t i = 0; i < K; i++) out[r * K + i] = z[i] - log(sum);
    }
    free(z);
}
RUN(best)
{
    b->best(t->N, t->V, best_of(t), in[0], kept, out);
}

/* What rows of a kind share: the members from `output`, or an earlier one, to `back`. */
#define ATTENTION size_ND, size_NH, attention_count, attention_ref, attention_run, attention_dback
#define LISTS listed_inputs, size_ND, size_none, listed_count, listed_ref, listed_run, NULL
#define BIAS bias_count, bias_ref, bias_run, bias_dback
#define GATED gated_inputs, size_ND, size_2ND, bias_count, gated_ref, gated_run, gated_dback
#define GATE gate_inputs, size_N, size_none, norm_count, gate_ref, gate_run, gate_dback
#define LOSS loss_inputs, size_N, size_NV, loss_count, loss_ref, loss_run, loss_dback
#define BEST loss_inputs, best_output, best_output, loss_count, best_ref, best_run, NULL

static const Op op_table[] = {
    {"norm", 0, 0, 0, 0, norm_inputs, size_ND, size_2N, norm_count, norm_ref, norm_run, norm_dback},
    {"norm, RMS", RMS, 0, 0, 0, rms_inputs, size_ND, size_2N, norm_count, norm_ref, norm_run,
     norm_dback},
    {"norm, skip", 0, 1, 0, 0, norm_inputs, size_ND, skip_kept, norm_count, skip_ref, skip_run,
     skip_dback},
    {"attention", 0, 1, 0, 0, attention_inputs, ATTENTION},
    {"attention, relative", CLIP, 1, 0, 0, relative_inputs, ATTENTION},
    {"attention, more", CLIP | MORE, 1, 0, 0, more_inputs, ATTENTION, 4},
    {"attention, all", ALL, 1, 0, 0, attention_inputs, ATTENTION},
    {"attention, all, relative", ALL | CLIP, 1, 0, 0, relative_inputs, ATTENTION},
    {"attention, all, relative, more", ALL | CLIP | MORE, 1, 0, 0, more_inputs, ATTENTION, 4},
    {"attention, memory", ALL | MEMORY, 5, 0, 0, memory_inputs, ATTENTION},
    {"attention, memory, more", ALL | MEMORY | MORE, 1, 0, 0, memory_inputs, ATTENTION, 4},
    {"attention, grouped", GROUPED, 1, 0, 0, attention_inputs, ATTENTION},
    {"attention, grouped, relative, more", GROUPED | CLIP | MORE, 1, 0, 0, more_inputs, ATTENTION,
     4},
    {"attention, grouped, memory", GROUPED | ALL | MEMORY, 5, 0, 0, memory_inputs, ATTENTION},
    {"attention, window", WINDOW, 1, 0, 0, attention_inputs, ATTENTION},
    {"attention, window, grouped, relative, more", WINDOW | GROUPED | CLIP | MORE, 1, 0, 0,
     more_inputs, ATTENTION, 4},
    {"attend, window, relative", WINDOW | CLIP, 0, ~0u, 0, LISTS},
    {"rotate", 0, 1, 2, 0, rotate_inputs, size_ND, size_none, bias_count, rotate_ref, rotate_run,
     rotate_dback},
    {"attend, grouped, relative", GROUPED | CLIP, 0, ~0u, 0, LISTS},
    {"attend", 0, 0, ~0u, 0, LISTS},
    {"attend, relative", CLIP, 0, ~0u, 0, LISTS},
    {"bias_drop", ACT_NONE, 1, 0, 0, bias_inputs, size_ND, size_none, BIAS},
    {"bias_act, ReLU", ACT_RELU, 1, 0, 0, bias_inputs, size_ND, size_ND, BIAS},
    {"bias_act, GELU", ACT_GELU, 1, 0, 0, bias_inputs, size_ND, size_ND, BIAS},
    {"bias_act, GELU by erf", ACT_ERF, 1, 0, 0, bias_inputs, size_ND, size_ND, BIAS},
    {"bias_act, tanh", ACT_TANH, 1, 0, 0, bias_inputs, size_ND, size_ND, BIAS},
    {"bias_act, SwiGLU", ACT_SWIGLU, 1, 0, 0, GATED},
    {"bias_act, GEGLU", ACT_GEGLU, 1, 0, 0, GATED},
    {"residual", SUM_NORM, 1, 0, 0, residual_inputs, size_ND, residual_kept, norm_count,
     residual_ref, residual_run, residual_dback},
    {"residual, RMS", SUM_RMS, 1, 0, 0, residual_rms_inputs, size_ND, residual_kept, norm_count,
     residual_ref, residual_run, residual_dback},
    {"residual, alone", SUM_ALONE, 1, 0, 0, alone_inputs, size_ND, residual_kept, bias_count,
     residual_ref, residual_run, residual_dback},
    {"lin", 0, 0, 0, 0, lin_inputs, size_ND, size_none, bias_count, lin_ref, lin_run, lin_dback},
    {"gate, sigmoid", ACT_SIGMOID, 0, 0, 0, GATE},
    {"gate, tanh", ACT_TANH, 0, 0, 0, GATE},
    {"embed", 0, 0, 2, 0, embed_inputs, size_ND, size_none, bias_count, embed_ref, embed_run,
     embed_dback},
    {"cross_entropy", 0, 1, 0, 1, LOSS},
    {"cross_entropy, smoothed", 250, 1, 0, 1, LOSS},
    {"cross_entropy, labels", LABELS, 1, 0, 1, LOSS},
    {"best, few", BEST_FEW, 0, ~0u, 0, BEST},
    {"best, many", BEST_MANY, 0, ~0u, 0, BEST},
};
enum { OPS = sizeof op_table / sizeof *op_table };

#endif
