/* plain.c: a language model, an encoder alone, or an encoder with its decoder, from words to a step of Adam.
 *
 * Read it from top to bottom:
 *
 *   parts        linear layer, norm, activation: what everything else is made of
 *   sublayers    attention F and C, feed-forward network G, each with its gradient
 *   the plan     the network itself: a list of such steps, run forward and in reverse
 *   ends         words to the first register; the last register to a loss
 *   a model      a batch, its loss, its gradient, a step of Adam
 *
 * A letter is a size, the same everywhere: n rows (tokens of one sequence), D width, M width inside a feed-forward network,
 * H heads, E numbers a head (D / H unless said otherwise), K heads of keys and values, V words. x (n, D) is a matrix by rows. Everything is done
 * for one sequence at a time, since sequences of a batch do not see each other.
 *
 * The plan. A layer of a Transformer is two steps, y <- y + F(y) and y <- y + G(y), and each is a step of Euler's method with
 * h = 1. Other integrators have stages, and combine them with other weights; so the network is not written in this file but
 * is data, a list of instructions. Each makes one new state (n, D), a register r0, r1, ..., out of older ones. r0 is made of
 * the words, and the last register goes to the loss. One layer of a plain Transformer is four instructions, as plan_print
 * (nn/model/plan.h) shows them:
 *
 *   r1 = layers.0.attn.1(r0), draw 0      EVAL: the attention F of layer 0, first set of weights; draw numbers its dropout
 *   r2 = r0 + r1                          LIN
 *   r3 = layers.0.ffn.1(r2), draw 1       EVAL: the feed-forward network G
 *   r4 = r2 + r3                          LIN
 *   output r4
 *
 * An EVAL is a sublayer of the norm of one register; a LIN is a sum of registers with coefficients. The macaron layer of
 * Lu et al. 2019 has three pairs of these, with r2 = r0 + 0.5 r1 for its first half step.
 *
 * Backward. dx stands for d loss / d x, the gradient of the loss with regard to x, which is also called the adjoint of x.
 * Where y = f(x, W), the chain rule gives dx += (df/dx)^T dy and dW += (df/dW)^T dy. It is always +=, because x may be read
 * by others too, and their parts add up. What a sublayer had inside is not kept: it is computed again when backward comes
 * to it, in the same function, from the same x.
 *
 * Sources: Vaswani et al. 2017; Ba, Kiros, Hinton 2016 (layer norm); Zhang, Sennrich 2019 (RMS norm); Shaw, Uszkoreit,
 * Vaswani 2018 (relative positions); Su et al. 2021 (rotary positions); Ainslie et al. 2023 (grouped heads); Shazeer 2020
 * (gated networks); Devlin et al. 2019 (masked words, classes); Szegedy et al. 2016 (smoothed labels); Kingma, Ba 2015
 * (Adam); Loshchilov, Hutter 2019 (decoupled weight decay). */
#include "nn/plain.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"

/* Declares x, an array of n zeros, which is freed where its block ends. The function returns ERR_MEMORY where there is no
 * memory for it. */
#define ROOM_OR_RETURN(x, n)                                       \
    SCOPED(memory_drop) double *x = memory_new(n, sizeof(double)); \
    if (!x) return ERR_MEMORY

/* A named tensor of parameters, a matrix (rows, ...) or a vector (rows), and its gradient: windows of Plain.theta and
 * Plain.grad. Both are NULL where the model has no tensor of this name, such as the bias of an RMS norm. */
typedef struct {
    const double *value;
    double *grad;
    size_t rows;
} Tensor;

__attribute__((format(printf, 2, 3))) static Tensor tensor(const Plain *p, const char *format, ...)
{
    char name[128];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    for (size_t i = 0; i < p->params; i++)
        if (strcmp(p->param[i].name, name) == 0)
            return (Tensor){p->theta + p->param[i].offset, p->grad + p->param[i].offset,
                            p->param[i].rows};
    return (Tensor){0};
}

/* ---- parts ------------------------------------------------------------------------------------------ */

/* y (n, O) = x (n, I) W^T + b, W (O, I), b (O) if it is there */
static void linear(size_t n, size_t I, Tensor W, Tensor b, const double *x, double *y)
{
    size_t O = W.rows;
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < O; o++) {
            double sum = b.value ? b.value[o] : 0;
            for (size_t k = 0; k < I; k++) sum += W.value[o * I + k] * x[i * I + k];
            y[i * O + o] = sum;
        }
}

/* dx += dy W, dW += dy^T x, db += the sum of dy's rows */
static void linear_back(size_t n, size_t I, Tensor W, Tensor b, const double *x, const double *dy,
                        double *dx)
{
    size_t O = W.rows;
    for (size_t i = 0; i < n; i++)
        for (size_t o = 0; o < O; o++) {
            double d = dy[i * O + o];
            if (b.grad) b.grad[o] += d;
            for (size_t k = 0; k < I; k++) {
                dx[i * I + k] += d * W.value[o * I + k];
                W.grad[o * I + k] += d * x[i * I + k];
            }
        }
}

/* What a norm does to a row x (D): u = (x - mean) / deviation. Layer norm: mean is that of the row's numbers. RMS norm: it
 * is 0, and nothing is taken off. deviation = sqrt(mean of (x - mean)^2 + eps) for both. */
static void moments(NormKind kind, size_t D, const double *x, double *mean, double *deviation)
{
    double sum = 0, squares = 0, eps = kind.eps > 0 ? kind.eps : 1e-5;
    for (size_t k = 0; k < D; k++) sum += x[k];
    *mean = kind.kind == NORM_LAYER ? sum / (double)D : 0;
    for (size_t k = 0; k < D; k++) squares += (x[k] - *mean) * (x[k] - *mean);
    *deviation = sqrt(squares / (double)D + eps);
}

/* y (n, D) = u w + b, number by number: w, b (D) */
static void norm(NormKind kind, size_t n, size_t D, Tensor w, Tensor b, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++, x += D, y += D) {
        double mean, deviation;
        moments(kind, D, x, &mean, &deviation);
        for (size_t k = 0; k < D; k++)
            y[k] = (x[k] - mean) / deviation * w.value[k] + (b.value ? b.value[k] : 0);
    }
}

/* dw += dy u, db += dy and, with du = dy w: dx += (du - mean(du) - u mean(du u)) / deviation. The term mean(du) comes from
 * the derivative of the mean, so RMS norm lacks it; the other comes from that of the deviation. */
static void norm_back(NormKind kind, size_t n, size_t D, Tensor w, Tensor b, const double *x,
                      const double *dy, double *dx)
{
    for (size_t i = 0; i < n; i++, x += D, dy += D, dx += D) {
        double mean, deviation, mean_du = 0, mean_du_u = 0;
        moments(kind, D, x, &mean, &deviation);
        for (size_t k = 0; k < D; k++) {
            double u = (x[k] - mean) / deviation, du = dy[k] * w.value[k];
            w.grad[k] += dy[k] * u;
            if (b.grad) b.grad[k] += dy[k];
            mean_du += du / (double)D;
            mean_du_u += du * u / (double)D;
        }
        if (kind.kind != NORM_LAYER) mean_du = 0;
        for (size_t k = 0; k < D; k++) {
            double u = (x[k] - mean) / deviation, du = dy[k] * w.value[k];
            dx[k] += (du - mean_du - u * mean_du_u) / deviation;
        }
    }
}

static NormKind kind_of(const ModelConfig *c)
{
    return (NormKind){c->norm, c->norm_eps};
}

/* Returns act(u), and its derivative. */
static double act(int kind, double u, double *slope)
{
    const double root = sqrt(2 / M_PI), cube = .044715;
    double s, t;
    switch (kind) {
    case ACT_RELU: *slope = u > 0; return u > 0 ? u : 0;
    case ACT_TANH:
        t = tanh(u);
        *slope = 1 - t * t;
        return t;
    case ACT_ERF: /* u Phi(u), Phi the normal distribution */
        s = .5 * (1 + erf(u / sqrt(2)));
        *slope = s + u * exp(-u * u / 2) / sqrt(2 * M_PI);
        return u * s;
    case ACT_SIGMOID:
        s = 1 / (1 + exp(-u));
        *slope = s * (1 - s);
        return s;
    case ACT_SWIGLU: /* of its gate: u sigmoid(u) */
        s = 1 / (1 + exp(-u));
        *slope = s + u * s * (1 - s);
        return u * s;
    default: /* GELU in the form with tanh, also the gate of GEGLU */
        t = tanh(root * (u + cube * u * u * u));
        *slope = .5 * (1 + t) + .5 * u * (1 - t * t) * root * (1 + 3 * cube * u * u);
        return .5 * u * (1 + t);
    }
}

/* ---- sublayers: y = sublayer(x); with dy their adjoints instead, which add to dx ------------------------ */

/* A slot's tensors begin with this name: layers.0.attn.1, decoder.layers.3.cross.1. */
static const char *slot_name(const Plain *p, const PlanSlot *s, char name[96])
{
    char behind[SLOT_NAME];
    snprintf(name, 96, "%s%s", plan_prefix(p->plan, s->side), plan_slot_name(s, behind));
    return name;
}

/* G: y (n, D) = W_down a + b, a (n, M) = act(u), u (n, M) = W_up x + b. A gated network has u (n, 2 M) and a = act(u_1)
 * u_2 of its two halves. */
static int feed_forward(const Plain *p, const PlanSlot *slot, size_t n, const double *x, double *y,
                        const double *dy, double *dx)
{
    char name[96];
    const ModelConfig *c = p->config;
    int kind = c->first_relu && slot->set == 1 ? ACT_RELU : c->act, gated = act_gated(kind);
    const char *up = gated ? "gate_up" : "up";
    size_t D = c->width, M = slot->inner, U = gated ? 2 * M : M;
    slot_name(p, slot, name);
    Tensor W = tensor(p, "%s.%s.weight", name, up), b = tensor(p, "%s.%s.bias", name, up);
    Tensor Wd = tensor(p, "%s.down.weight", name), bd = tensor(p, "%s.down.bias", name);
    ROOM_OR_RETURN(u, n * U);
    ROOM_OR_RETURN(a, n * M);
    ROOM_OR_RETURN(slope, n * M);
    ROOM_OR_RETURN(da, n * M);
    linear(n, D, W, b, x, u);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < M; k++) {
            double value = act(kind, u[i * U + k], &slope[i * M + k]);
            a[i * M + k] = value * (gated ? u[i * U + M + k] : 1);
        }
    if (!dy) {
        linear(n, M, Wd, bd, a, y);
        return 0;
    }
    linear_back(n, M, Wd, bd, a, dy, da);
    for (size_t i = 0; i < n; i++) /* du takes the place of u */
        for (size_t k = 0; k < M; k++) {
            double *first = &u[i * U + k], *second = gated ? first + M : NULL, s, d = da[i * M + k];
            double value = act(kind, *first, &s);
            *first = d * s * (gated ? *second : 1);
            if (gated) *second = d * value;
        }
    linear_back(n, D, W, b, x, u, dx);
    return 0;
}

/* Rotary positions: numbers e and e + E/2 of a head are turned by the angle i base^(-2 e / R) at position i, e < R/2, where
 * R is E unless a part of them turns alone; back: by its negative, which is the adjoint. x (n, ld): the first `heads` heads of
 * each row. */
static void turn(const ModelConfig *c, size_t window, size_t n, size_t heads,
                 const int32_t *position, double *x, size_t ld, int back)
{
    size_t E = model_head_width(c), R = c->rotary_part ? c->rotary_part : E;
    double base = window && c->rotary_local > 0 ? c->rotary_local
                  : c->rotary_base > 0          ? c->rotary_base
                                                : 10000;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < heads * (E / 2); k++) {
            size_t e = k % (E / 2);
            double *a = x + i * ld + k / (E / 2) * E + e, *b = a + E / 2, old = *a;
            double t = position[i] * pow(base, -2 * (double)e / (double)R) * (back ? -1 : 1);
            if (2 * e >= R) continue;
            *a = old * cos(t) - *b * sin(t);
            *b = *b * cos(t) + old * sin(t);
        }
}

/* What a row's queries meet: m keys (m, ldk), and values behind them, each of K heads of E numbers. */
typedef struct {
    size_t n, m, H, K, E, ldq, ldk;
    const double *q, *k, *v;
    int causal;
    size_t window; /* of those seen the last so many alone; 0: all */
    /* (2 clip + 1, E): row clip + clamp(j - i) is added to key j for query i; or absent */
    Tensor relative;
    long clip;
} Sight;

static size_t relative_row(const Sight *s, size_t i, size_t j)
{
    long apart = (long)j - (long)i;
    return (size_t)(s->clip + (apart < -s->clip ? -s->clip : apart > s->clip ? s->clip : apart));
}

/* a (m) = softmax_j of q_i . (k_j + r_(j - i)) / sqrt(E), over j <= i where it is causal, of these the last `window`.
 * Returns how many j there are, those before the window with a_j = 0. */
static size_t weights(const Sight *s, size_t h, size_t i, double *a)
{
    size_t E = s->E, seen = s->causal ? i + 1 : s->m;
    size_t first = s->window && seen > s->window ? seen - s->window : 0;
    const double *q = s->q + i * s->ldq + h * E;
    double most = -INFINITY, sum = 0;
    for (size_t j = 0; j < first; j++) a[j] = 0;
    for (size_t j = first; j < seen; j++) {
        const double *k = s->k + j * s->ldk + h / (s->H / s->K) * E;
        const double *r = s->relative.value ? s->relative.value + relative_row(s, i, j) * E : NULL;
        a[j] = 0;
        for (size_t e = 0; e < E; e++) a[j] += q[e] * (k[e] + (r ? r[e] : 0));
        a[j] /= sqrt((double)E);
        most = fmax(most, a[j]);
    }
    for (size_t j = first; j < seen; j++) sum += a[j] = exp(a[j] - most);
    for (size_t j = first; j < seen; j++) a[j] /= sum;
    return seen;
}

/* out (n, H E): out_i = sum_j a_ij v_j, head by head; a (m) is scratch */
static void attend(const Sight *s, double *a, double *out)
{
    for (size_t i = 0; i < s->n; i++)
        for (size_t h = 0; h < s->H; h++)
            for (size_t j = 0, seen = weights(s, h, i, a); j < seen; j++)
                for (size_t e = 0; e < s->E; e++)
                    out[(i * s->H + h) * s->E + e] +=
                        a[j] * s->v[j * s->ldk + h / (s->H / s->K) * s->E + e];
}

/* From dout (n, H E): da_j = dout . v_j and dv_j += a_j dout; through the softmax, whose derivative is a_j (1_(j = l) - a_l),
 * the score's adjoint is ds_j = a_j (da_j - sum_l a_l da_l) / sqrt(E); then dq += ds_j (k_j + r), dk_j += ds_j q, and dr
 * likewise. dq, dk, dv lie as q, k, v do; a, da (m) are scratch. */
static void attend_back(const Sight *s, const double *dout, double *a, double *da, double *dq,
                        double *dk, double *dv)
{
    size_t E = s->E;
    for (size_t i = 0; i < s->n; i++)
        for (size_t h = 0; h < s->H; h++) {
            size_t seen = weights(s, h, i, a), head = h / (s->H / s->K) * E,
                   at = i * s->ldq + h * E;
            const double *d = dout + (i * s->H + h) * E;
            double mean = 0;
            for (size_t j = 0; j < seen; j++) {
                da[j] = 0;
                for (size_t e = 0; e < E; e++) {
                    da[j] += d[e] * s->v[j * s->ldk + head + e];
                    dv[j * s->ldk + head + e] += a[j] * d[e];
                }
                mean += a[j] * da[j];
            }
            for (size_t j = 0; j < seen; j++) {
                double ds = a[j] * (da[j] - mean) / sqrt((double)E);
                size_t key = j * s->ldk + head, r = relative_row(s, i, j) * E;
                for (size_t e = 0; e < E; e++) {
                    dq[at + e] +=
                        ds * (s->k[key + e] + (s->relative.value ? s->relative.value[r + e] : 0));
                    dk[key + e] += ds * s->q[at + e];
                    if (s->relative.value) s->relative.grad[r + e] += ds * s->q[at + e];
                }
            }
        }
}

/* F: y (n, D) = W_out a + b, a the attention of x to itself: queries, keys and values are one product, (n, I), I = H E + 2 K
 * E. With norms of heads each head's queries and keys are RMS norms of the product's. C: queries of x (n, D), and keys and values kv (m, 2 D) that the instruction KEYS made of the source; dkv is added to. */
static int attention(const Plain *p, const PlanSlot *slot, size_t n, const int32_t *position,
                     const double *x, size_t m, const double *kv, double *y, const double *dy,
                     double *dx, double *dkv)
{
    char name[96];
    const ModelConfig *c = p->config;
    int cross = slot->kind == SLOT_CROSS, rotary = !cross && c->positions & POSITIONS_ROTARY;
    const char *in = cross ? "q" : "qkv";
    size_t D = c->width, K = !cross && c->kv_heads ? c->kv_heads : c->heads,
           E = model_head_width(c);
    slot_name(p, slot, name);
    Tensor W = tensor(p, "%s.%s.weight", name, in), b = tensor(p, "%s.%s.bias", name, in);
    Tensor Wo = tensor(p, "%s.out.weight", name), bo = tensor(p, "%s.out.bias", name);
    Tensor wq = tensor(p, "%s.q_norm.weight", name), wk = tensor(p, "%s.k_norm.weight", name);
    size_t H = c->heads, I = W.rows, A = H * E, turned = H + K;
    const NormKind rms = {NORM_RMS, c->norm_eps};
    ROOM_OR_RETURN(q, n * I);
    ROOM_OR_RETURN(raw, n * I);
    ROOM_OR_RETURN(out, n * A);
    ROOM_OR_RETURN(a, (cross ? m : n) * 2);
    linear(n, D, W, b, x, q);
    memcpy(raw, q, n * I * sizeof *q);
    for (size_t i = 0; i < n * I && wq.value; i += I) {
        norm(rms, H, E, wq, (Tensor){0}, raw + i, q + i);
        norm(rms, K, E, wk, (Tensor){0}, raw + i + A, q + i + A);
    }
    size_t window = !cross && c->windows ? c->window[(size_t)slot->layer % c->windows] : 0;
    if (rotary) turn(c, window, n, turned, position, q, I, 0);
    Sight s = {.n = n, .m = cross ? m : n, .H = c->heads, .K = K, .E = E, .clip = (long)c->clip};
    s.window = window;
    s.q = q, s.ldq = I;
    s.k = cross ? kv : q + A, s.v = s.k + K * E, s.ldk = cross ? 2 * D : I;
    s.causal = !cross && plan_causal(p->plan, slot->side);
    if (!cross) s.relative = tensor(p, "%s.relative.weight", name);
    attend(&s, a, out);
    if (!dy) {
        linear(n, A, Wo, bo, out, y);
        return 0;
    }
    ROOM_OR_RETURN(dout, n * A);
    ROOM_OR_RETURN(draw, n * I);
    ROOM_OR_RETURN(dq, n * I);
    double *dk = cross ? dkv : dq + A;
    linear_back(n, A, Wo, bo, out, dy, dout);
    attend_back(&s, dout, a, a + s.m, dq, dk, dk + K * E);
    if (rotary) turn(c, window, n, turned, position, dq, I, 1);
    memcpy(draw, dq, n * I * sizeof *dq);
    for (size_t i = 0; i < n * I && wq.value; i += I) {
        memset(draw + i, 0, (A + K * E) * sizeof *draw);
        norm_back(rms, H, E, wq, (Tensor){0}, raw + i, dq + i, draw + i);
        norm_back(rms, K, E, wk, (Tensor){0}, raw + i + A, dq + i + A, draw + i + A);
    }
    linear_back(n, D, W, b, x, draw, dx);
    return 0;
}

/* ---- the plan ---------------------------------------------------------------------------------------- */

/* One sequence, of both sides where there is a source, and all registers of the plan on it. */
typedef struct {
    const Plain *p;
    const Batch *b;
    size_t s;                       /* the sequence */
    size_t n[SIDES], first[SIDES];  /* rows, and the first one in the batch */
    const int32_t *position[SIDES]; /* (n) */
    double **r, **dr;               /* (registers) (n, D), of KEYS (n, 2 D), and their adjoints */
    double **g, **dg;               /* (gates) (n) */
    double *loss;                   /* where penalties are added */
} Sequence;

/* The factor f of a term at row i: a learned scalar, or a gate, which has a number for each row. d: its adjoint. */
static double factor(const Sequence *s, const PlanFactor *f, size_t i, double **d)
{
    const Plan *plan = s->p->plan;
    if (f->kind == FACTOR_GATE) {
        *d = &s->dg[f->index][i];
        return s->g[f->index][i];
    }
    const PlanScalar *a = &plan->scalar[f->index];
    Tensor t = tensor(s->p, "%slayers.%d.scheme.%s", plan_prefix(plan, a->side), a->layer, a->name);
    *d = t.grad + f->element;
    return t.value[f->element];
}

/* LIN: r = sum over terms of c f_1 f_2 ... x. Back: dx += c f_1 f_2 ... dr, and df_k += c (the other f) <x, dr>. */
static void combine(const Sequence *s, const PlanInstr *in, size_t n, size_t D, int back)
{
    for (size_t k = 0; k < in->terms; k++)
        for (size_t i = 0; i < n; i++) {
            const PlanTerm *t = &in->term[k];
            double *r = s->r[in->out] + i * D, *dr = s->dr[in->out] + i * D, inner = 0;
            double *x = s->r[t->x] + i * D, *dx = s->dr[t->x] + i * D, f[PLAN_FACTORS],
                   *df[PLAN_FACTORS] = {0}, c = t->c;
            for (int j = 0; j < t->factors; j++) c *= f[j] = factor(s, &t->factor[j], i, &df[j]);
            for (size_t e = 0; e < D; e++) {
                if (!back) r[e] += c * x[e];
                if (back) dx[e] += c * dr[e], inner += x[e] * dr[e];
            }
            for (int j = 0; j < t->factors && back; j++) {
                double others = t->c;
                for (int l = 0; l < t->factors; l++) others *= l == j ? 1 : f[l];
                *df[j] += others * inner;
            }
        }
}

/* GATE: g = act(sum_k w_k . x_k + b), a number for each row. */
static void gate(const Sequence *s, const PlanInstr *in, size_t D, int back)
{
    const Plan *plan = s->p->plan;
    const PlanGate *gate = &plan->gate[in->out];
    const char *side = plan_prefix(plan, gate->side);
    Tensor w = tensor(s->p, "%slayers.%d.scheme.%s.weight", side, gate->layer, gate->name);
    Tensor b = tensor(s->p, "%slayers.%d.scheme.%s.bias", side, gate->layer, gate->name);
    for (size_t i = 0; i < s->n[gate->side]; i++) {
        double u = b.value[0], slope;
        for (size_t k = 0; k < in->terms; k++)
            for (size_t e = 0; e < D; e++) u += w.value[k * D + e] * s->r[in->term[k].x][i * D + e];
        s->g[in->out][i] = act(gate->act, u, &slope);
        if (!back) continue;
        double du = s->dg[in->out][i] * slope;
        b.grad[0] += du;
        for (size_t k = 0; k < in->terms; k++)
            for (size_t e = 0; e < D; e++) {
                w.grad[k * D + e] += du * s->r[in->term[k].x][i * D + e];
                s->dr[in->term[k].x][i * D + e] += du * w.value[k * D + e];
            }
    }
}

/* PENALTY: the loss += c (n / N) |x|^2 / |z|^2, a share of the batch's N tokens; |x|^2 is the sum of all squares of x (n, D).
 * Back, as d(X / Z) = dX / Z - X / Z dZ / Z: dx += 2 c (n / N) x / Z and dz -= 2 c (n / N) z X / Z^2. */
static void penalise(const Sequence *s, const PlanInstr *in, size_t D, int back)
{
    int x = in->term[0].x, z = in->term[1].x;
    size_t n = s->n[SIDE_TARGET];
    double X = 0, Z = 0, share = in->term[0].c * (double)n / (double)s->b->N;
    for (size_t k = 0; k < n * D; k++) X += s->r[x][k] * s->r[x][k], Z += s->r[z][k] * s->r[z][k];
    if (Z == 0) return;
    if (!back) *s->loss += share * X / Z;
    for (size_t k = 0; k < n * D && back; k++) {
        s->dr[x][k] += 2 * share * s->r[x][k] / Z;
        s->dr[z][k] -= 2 * share * s->r[z][k] * X / (Z * Z);
    }
}

/* EVAL: r = sublayer(LN(x)), or of a post plan sublayer(x). */
static int evaluate(const Sequence *s, const PlanInstr *in, const PlanSlot *slot, int back)
{
    char name[96];
    const Plain *p = s->p;
    int x = in->term[0].x, keys = slot->kind == SLOT_CROSS ? in->term[1].x : -1;
    size_t D = p->config->width, n = s->n[slot->side], m = s->n[SIDE_SOURCE];
    slot_name(p, slot, name);
    Tensor w = tensor(p, "%s.norm.weight", name), b = tensor(p, "%s.norm.bias", name);
    ROOM_OR_RETURN(u, n * D);
    ROOM_OR_RETURN(du, n * D);
    if (p->plan->post)
        memcpy(u, s->r[x], n * D * sizeof *u);
    else
        norm(kind_of(p->config), n, D, w, b, s->r[x], u);
    double *y = s->r[in->out], *dy = back ? s->dr[in->out] : NULL;
    if (slot->kind == SLOT_FEEDFORWARD)
        TRY(feed_forward(p, slot, n, u, y, dy, du));
    else
        TRY(attention(p, slot, n, s->position[slot->side], u, m, keys < 0 ? NULL : s->r[keys], y,
                      dy, du, keys < 0 ? NULL : s->dr[keys]));
    if (!back) return 0;
    if (!p->plan->post)
        norm_back(kind_of(p->config), n, D, w, b, s->r[x], du, s->dr[x]);
    else
        for (size_t i = 0; i < n * D; i++) s->dr[x][i] += du[i];
    return 0;
}

/* NORM: r = LN(x); KEYS: r (n, 2 D) = keys and values of x. */
static void normed(const Sequence *s, const PlanInstr *in, const PlanSlot *slot, int back)
{
    char name[96];
    const Plain *p = s->p;
    slot_name(p, slot, name);
    if (slot->kind != SLOT_NORM) snprintf(strchr(name, 0), 6, ".norm");
    Tensor w = tensor(p, "%s.weight", name), b = tensor(p, "%s.bias", name);
    size_t n = s->n[slot->side];
    int x = in->term[0].x;
    if (back)
        norm_back(kind_of(p->config), n, p->config->width, w, b, s->r[x], s->dr[in->out], s->dr[x]);
    else
        norm(kind_of(p->config), n, p->config->width, w, b, s->r[x], s->r[in->out]);
}

static void keys(const Sequence *s, const PlanInstr *in, const PlanSlot *slot, int back)
{
    char name[96];
    Tensor W = tensor(s->p, "%s.kv.weight", slot_name(s->p, slot, name));
    Tensor b = tensor(s->p, "%s.kv.bias", name);
    size_t n = s->n[SIDE_SOURCE], D = s->p->config->width;
    int x = in->term[0].x;
    if (back)
        linear_back(n, D, W, b, s->r[x], s->dr[in->out], s->dr[x]);
    else
        linear(n, D, W, b, s->r[x], s->r[in->out]);
}

static void embed(const Sequence *s, int side, const PlanInstr *in, int back);

static int instruction(const Sequence *s, const PlanInstr *in, int back)
{
    const Plan *plan = s->p->plan;
    const PlanSlot *slot = plan_of_slot(in) ? &plan->slot[in->slot] : NULL;
    size_t D = s->p->config->width;
    switch (in->op) {
    case PLAN_LIN: combine(s, in, s->n[plan->reg[in->out].side], D, back); return 0;
    case PLAN_GATE: gate(s, in, D, back); return 0;
    case PLAN_PENALTY: penalise(s, in, D, back); return 0;
    case PLAN_NORM: normed(s, in, slot, back); return 0;
    case PLAN_KEYS: keys(s, in, slot, back); return 0;
    case PLAN_WORDS: embed(s, slot->side, in, back); return 0;
    default: return evaluate(s, in, slot, back);
    }
}

/* ---- ends --------------------------------------------------------------------------------------------- */

/* The first register of a side: r0_i = scale (E[word] + S[segment]) + P(position). P is a table, learned or of sinusoids:
 * P(i, k) = sin(i w_k), P(i, D/2 + k) = cos(i w_k), w_k = 10000^(-k / (D/2 - 1)). WORDS makes its register so too, without
 * S and with tensors of its own; in NULL: the first. */
static void embed(const Sequence *s, int side, const PlanInstr *in, int back)
{
    char name[96], prefix[98] = "";
    const ModelConfig *c = s->p->config;
    if (in)
        snprintf(prefix, sizeof prefix, "%s.", slot_name(s->p, &s->p->plan->slot[in->slot], name));
    const int32_t *word = (side == SIDE_SOURCE ? s->b->source.input : s->b->input) + s->first[side];
    const int32_t *segment = s->b->asked.segment;
    size_t D = c->width, half = D / 2;
    double scale = c->plain_input ? 1 : sqrt((double)D);
    double step = half > 1 ? log(10000) / (double)(half - 1) : 0;
    int out = in ? in->out : side;
    Tensor E = tensor(s->p, "%sembed.weight", prefix), S = tensor(s->p, "%ssegment.weight", prefix),
           P = tensor(s->p, "%sposition.weight", prefix);
    for (size_t i = 0; i < s->n[side]; i++)
        for (size_t k = 0; k < D; k++) {
            size_t at = (size_t)s->position[side][i] * D + k, e = (size_t)word[i] * D + k;
            size_t of = segment ? (size_t)segment[s->first[side] + i] * D + k : k;
            double *r = &s->r[out][i * D + k], d = s->dr[out][i * D + k];
            double angle = s->position[side][i] * exp(-step * (double)(k % half));
            if (!back) {
                *r = scale * (E.value[e] + (S.value ? S.value[of] : 0)) +
                     (P.value ? P.value[at] : 0);
                if (c->positions & POSITIONS_SINUSOID) *r += k < half ? sin(angle) : cos(angle);
                continue;
            }
            E.grad[e] += scale * d;
            if (S.grad) S.grad[of] += scale * d;
            if (P.grad) P.grad[at] += d;
        }
}

/* Cross-entropy of logits z (V) with labels q: every word has q_v = all, and the target hit more. nll = -sum_v q_v log p_v,
 * p = softmax(z); z becomes its adjoint, factor (p sum_v q_v - q). */
static double cross_entropy(size_t V, double *z, size_t target, double hit, double all,
                            double factor)
{
    double most = -INFINITY, sum = 0, nll = 0, whole = hit + all * (double)V;
    for (size_t v = 0; v < V; v++) most = fmax(most, z[v]);
    for (size_t v = 0; v < V; v++) sum += exp(z[v] - most);
    for (size_t v = 0; v < V; v++) {
        double q = (v == target ? hit : 0) + all, log_p = z[v] - most - log(sum);
        nll -= q * log_p;
        z[v] = factor * (exp(log_p) * whole - q);
    }
    return nll;
}

/* What a loss is asked of: its share of the batch's loss, and labels as above. */
typedef struct {
    double share, hit, all;
    double *logits; /* where they are wanted, else NULL */
    double *loss;   /* is added to */
} Asked;

/* The words of rows h (D): z (V) = h W^T + b, W the embedding unless the model is untied. dh NULL: forward alone. */
static int word_loss(const Plain *p, const double *h, int32_t word, const Asked *a, double *dh)
{
    Tensor W = tensor(p, p->config->untied ? "output.weight" : "embed.weight"),
           b = tensor(p, "output.bias");
    size_t V = W.rows = p->config->vocab; /* behind these there may be the source's words */
    ROOM_OR_RETURN(z, V);
    linear(1, p->config->width, W, b, h, z);
    if (a->logits) memcpy(a->logits, z, V * sizeof *z);
    *a->loss += a->share * cross_entropy(V, z, (size_t)word, a->hit, a->all, a->share);
    if (dh) linear_back(1, p->config->width, W, b, h, z, dh);
    return 0;
}

/* A dense layer of one row h: a (D) = act(h W^T + b), and its derivative slope (D). Back: da becomes the adjoint before the
 * activation. */
static void dense(const Plain *p, const char *name, int kind, const double *h, double *a,
                  double *slope, double *da, double *dh)
{
    size_t D = p->config->width;
    Tensor W = tensor(p, "%s.weight", name), b = tensor(p, "%s.bias", name);
    if (!da) {
        linear(1, D, W, b, h, a);
        for (size_t k = 0; k < D; k++) a[k] = act(kind, a[k], &slope[k]);
        return;
    }
    for (size_t k = 0; k < D; k++) da[k] *= slope[k];
    linear_back(1, D, W, b, h, da, dh);
}

/* A masked word: LN(act(h W^T + b)) goes to word_loss. Source: the public code of BERT. */
static int masked_loss(const Plain *p, const double *h, int32_t word, const Asked *q, double *dh)
{
    const ModelConfig *c = p->config;
    size_t D = c->width;
    int kind = c->act == ACT_ERF ? ACT_ERF : ACT_GELU;
    Tensor w = tensor(p, "head.norm.weight"), b = tensor(p, "head.norm.bias");
    ROOM_OR_RETURN(a, 5 * D);
    double *slope = a + D, *x = slope + D, *dx = x + D, *da = dx + D;
    dense(p, "head.dense", kind, h, a, slope, NULL, NULL);
    norm(kind_of(c), 1, D, w, b, a, x);
    TRY(word_loss(p, x, word, q, dh ? dx : NULL));
    if (!dh) return 0;
    norm_back(kind_of(c), 1, D, w, b, a, dx, da);
    dense(p, "head.dense", kind, h, a, slope, da, dh);
    return 0;
}

/* A sequence's class, or with C = 1 its number y: z (C) = tanh(h W_p^T + b_p) W_c^T + b_c of its first row h; the loss is
 * cross-entropy, or (z - y)^2. */
static int class_loss(const Plain *p, const double *h, const Batch *b, size_t s, const Asked *q,
                      double *dh)
{
    size_t D = p->config->width, C = p->config->classes;
    Tensor W = tensor(p, "classes.weight"), bias = tensor(p, "classes.bias");
    ROOM_OR_RETURN(a, 3 * D);
    ROOM_OR_RETURN(z, C);
    double *slope = a + D, *da = slope + D;
    dense(p, "pool", ACT_TANH, h, a, slope, NULL, NULL);
    linear(1, D, W, bias, a, z);
    if (q->logits) memcpy(q->logits, z, C * sizeof *z);
    if (b->asked.label) {
        *q->loss += q->share * cross_entropy(C, z, (size_t)b->asked.label[s], 1, 0, q->share);
    } else {
        z[0] -= b->asked.value[s];
        *q->loss += q->share * z[0] * z[0];
        z[0] *= 2 * q->share;
    }
    if (!dh) return 0;
    linear_back(1, D, W, bias, a, z, da);
    dense(p, "pool", ACT_TANH, h, a, slope, da, dh);
    return 0;
}

/* The loss of a sequence's rows h (n, D), the output under the final norm; dh NULL: forward alone. */
static int sequence_loss(const Sequence *s, int train, const double *h, double *logits,
                         double *loss, double *dh)
{
    const Batch *b = s->b;
    const ModelConfig *c = s->p->config;
    size_t D = c->width, V = c->vocab, at = s->first[SIDE_TARGET], n = s->n[SIDE_TARGET];
    double smooth = train ? c->smoothing : 0;
    Asked a = {0, 1 - smooth, smooth / (double)V, NULL, loss};
    for (size_t i = 0; i < n && b->target; i++) {
        a.share = 1 / (double)b->N;
        a.logits = logits ? logits + (at + i) * V : NULL;
        TRY(word_loss(s->p, h + i * D, b->target[at + i], &a, dh ? dh + i * D : NULL));
    }
    for (size_t k = 0; k < b->asked.count; k++) {
        size_t i = (size_t)b->asked.row[k] - at; /* wraps where the row is before the sequence */
        a.share = 1 / (double)b->asked.count;
        a.logits = logits ? logits + k * V : NULL;
        if (i < n) TRY(masked_loss(s->p, h + i * D, b->asked.word[k], &a, dh ? dh + i * D : NULL));
    }
    if (!b->asked.label && !b->asked.value) return 0;
    a.share = 1 / (double)b->S;
    a.logits = logits ? logits + b->asked.count * V + s->s * c->classes : NULL;
    return class_loss(s->p, h, b, s->s, &a, dh);
}

/* ---- a model ------------------------------------------------------------------------------------------- */

/* Forward on one sequence and, with back, backward: adds its part of the loss, of the logits and of grad. */
static int run(const Sequence *s, int train, int back, double *logits, double *loss)
{
    const Plain *p = s->p;
    const Plan *plan = p->plan;
    size_t D = p->config->width, n = s->n[SIDE_TARGET];
    Tensor w = tensor(p, "final_norm.weight"), b = tensor(p, "final_norm.bias");
    ROOM_OR_RETURN(h, n * D);
    ROOM_OR_RETURN(dh, n * D);
    for (int side = 0; side < plan->sides; side++) embed(s, side, NULL, 0);
    size_t instrs = train ? plan->instrs : plan_network(plan);
    for (size_t i = 0; i < instrs; i++) TRY(instruction(s, &plan->instr[i], 0));
    double *y = s->r[plan->output], *dy = s->dr[plan->output];
    if (w.value)
        norm(kind_of(p->config), n, D, w, b, y, h);
    else
        memcpy(h, y, n * D * sizeof *h);
    TRY(sequence_loss(s, train, h, logits, loss, back ? dh : NULL));
    if (!back) return 0;
    if (w.value)
        norm_back(kind_of(p->config), n, D, w, b, y, dh, dy);
    else
        memcpy(dy, dh, n * D * sizeof *dy);
    for (size_t i = plan->instrs; i-- > 0;) TRY(instruction(s, &plan->instr[i], 1));
    for (int side = 0; side < plan->sides; side++) embed(s, side, NULL, 1);
    return 0;
}

/* Makes room for the registers and gates of a sequence, and runs it. */
static int run_sequence(Plain *p, const Batch *b, size_t number, int train, int back,
                        double *logits, double *loss)
{
    const Plan *plan = p->plan;
    size_t D = p->config->width, R = plan->registers, G = plan->gates, f = b->start[number];
    Sequence s = {
        .p = p, .b = b, .s = number, .loss = loss, .n = {b->start[number + 1] - f}, .first = {f}};
    s.position[SIDE_TARGET] = b->position + f;
    if (plan->sides > 1) {
        f = s.first[SIDE_SOURCE] = b->source.start[number];
        s.n[SIDE_SOURCE] = b->source.start[number + 1] - f;
        s.position[SIDE_SOURCE] = b->source.position + f;
    }
    size_t rows = s.n[0] > s.n[1] ? s.n[0] : s.n[1];
    ROOM_OR_RETURN(numbers, 2 * R * rows * 2 * D + 2 * G * rows);
    SCOPED(memory_drop) double **at = memory_new(2 * (R + G), sizeof *at);
    if (!at) return ERR_MEMORY;
    for (size_t i = 0; i < 2 * R; i++) at[i] = numbers + i * rows * 2 * D;
    for (size_t i = 0; i < 2 * G; i++) at[2 * R + i] = numbers + 2 * R * rows * 2 * D + i * rows;
    s.r = at, s.dr = at + R, s.g = at + 2 * R, s.dg = s.g + G;
    return run(&s, train, back, logits, loss);
}

static int run_batch(Plain *p, const Batch *b, int train, int back, double *logits, double *loss)
{
    *loss = 0;
    for (size_t s = 0; s < b->S; s++) TRY(run_sequence(p, b, s, train, back, logits, loss));
    return 0;
}

int plain_loss(Plain *p, const Batch *b, int train, double *logits, double *loss)
{
    return run_batch(p, b, train, 0, logits, loss);
}

int plain_gradient(Plain *p, const Batch *b, double *loss)
{
    memset(p->grad, 0, p->size * sizeof *p->grad);
    return run_batch(p, b, 1, 1, NULL, loss);
}

/* Adam: m and v are running means of g and g^2, both begun at 0, so m / (1 - beta1^t) and v / (1 - beta2^t) are means
 * whose weights sum to 1. A step is rate (m^ / (sqrt v^ + eps) + decay theta); decay is for matrices alone. Before, g is
 * scaled where its norm is above `clip`. */
void plain_adam(Plain *p, const AdamConfig *a, uint64_t step)
{
    double square = 0, *m = p->moment[0], *v = p->moment[1];
    for (size_t i = 0; i < p->size; i++) square += p->grad[i] * p->grad[i];
    double scale = a->clip > 0 && sqrt(square) > a->clip ? a->clip / sqrt(square) : 1;
    double first = 1 - pow(a->beta1, (double)step), second = 1 - pow(a->beta2, (double)step);
    for (size_t k = 0; k < p->params; k++)
        for (size_t i = p->param[k].offset; i < p->param[k].offset + p->param[k].size; i++) {
            double g = scale * p->grad[i], decay = model_decays(&p->param[k]) ? a->decay : 0;
            m[i] = a->beta1 * m[i] + (1 - a->beta1) * g;
            v[i] = a->beta2 * v[i] + (1 - a->beta2) * g * g;
            p->theta[i] -=
                a->rate * (m[i] / first / (sqrt(v[i] / second) + a->eps) + decay * p->theta[i]);
        }
}

int plain_new(Model *m, Plain *p)
{
    *p = (Plain){.config = model_config(m), .plan = model_plan(m), .size = model_size(m)};
    p->params = model_params(m, &p->param);
    if (p->config->tails || p->config->rotary_scaling[0] != 0)
        return error_set(ERR_INPUT, "the plain model has no adaptive softmax and does not scale "
                                    "rotary positions");
    if (!(p->theta = memory_new(4 * p->size, sizeof *p->theta))) return ERR_MEMORY;
    p->grad = p->theta + p->size;
    p->moment[0] = p->grad + p->size;
    p->moment[1] = p->moment[0] + p->size;
    model_backend(m)->get(p->theta, model_data(m), p->size);
    return 0;
}

void plain_free(Plain *p)
{
    memory_free(p->theta);
    *p = (Plain){0};
}
