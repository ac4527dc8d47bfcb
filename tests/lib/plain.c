/* plain.c: the definition of the residual network in plain loops (plain.h). */
#include "tests/lib/plain.h"

#include <math.h>

#include "kernels/memory.h"
#include "tests/lib/tiny.h"

enum { N = TINY_ROWS, D = TINY_WIDTH, V = TINY_VOCAB, M = TINY_INNER, H = TINY_HEADS, E = D / H };

void plain_norm(const double *w, const double *b, const double *x, double *y)
{
    double mean = 0, var = 0;
    for (int c = 0; c < D; c++) mean += x[c] / D;
    for (int c = 0; c < D; c++) var += (x[c] - mean) * (x[c] - mean) / D;
    for (int c = 0; c < D; c++) y[c] = (x[c] - mean) / sqrt(var + 1e-5) * w[c] + b[c];
}

void plain_affine(int rows, int cols, const double *W, const double *b, const double *x, double *y)
{
    for (int r = 0; r < rows; r++) {
        y[r] = b ? b[r] : 0;
        for (int c = 0; c < cols; c++) y[r] += W[r * cols + c] * x[c];
    }
}

/* Inputs of attention's scores besides queries and keys. span is NULL where the model has none. */
typedef struct {
    double *rel, *span;
    const ModelConfig *c;
} Scores;

static Scores plain_scores(Model *m)
{
    return (Scores){tiny_tensor(m, "layers.0.attn.1.relative.weight"),
                    tiny_tensor(m, "layers.0.attn.1.span.weight"), model_config(m)};
}

static void plain_scores_free(Scores *s)
{
    memory_free(s->rel);
    memory_free(s->span);
}

static double plain_mask(const Scores *p, int h, int distance)
{
    if (!p->span) return 1;
    double R = (double)p->c->ramp, z = (double)p->c->span * p->span[h];
    return fmin(fmax((R + z - distance) / R, 0), 1);
}

/* Computes a (last + 1), sum 1: the weights of head h of row i of qkv (T, 3D), which sees the tokens 0 .. last. */
static void plain_row(double (*qkv)[3 * D], int i, int last, int h, const Scores *p, double *a)
{
    double sum = 0;
    int clip = (int)p->c->clip;
    for (int j = 0; j <= last; j++) {
        double s = 0;
        int row = clip + (i - j > clip ? -clip : j - i > clip ? clip : j - i);
        for (int e = 0; e < E; e++)
            s += qkv[i][h * E + e] * (qkv[j][D + h * E + e] + p->rel[row * E + e]);
        sum += a[j] = plain_mask(p, h, i - j) * exp(s / sqrt(E));
    }
    for (int j = 0; j <= last; j++) a[j] /= sum;
}

/* Computes out (D) of row i of a sequence of qkv (T, 3D). */
static void plain_attention(double (*qkv)[3 * D], int i, const Scores *p, double *out)
{
    for (int h = 0; h < H; h++) {
        double a[N];
        plain_row(qkv, i, i, h, p, a);
        for (int e = 0; e < E; e++) {
            out[h * E + e] = 0;
            for (int j = 0; j <= i; j++) out[h * E + e] += a[j] * qkv[j][2 * D + h * E + e];
        }
    }
}

/* Computes qkv (T, 3D) of y (T, D). */
static void plain_qkv(Model *m, int T, double (*y)[D], double (*qkv)[3 * D])
{
    double *nw = tiny_tensor(m, "layers.0.attn.1.norm.weight"),
           *nb = tiny_tensor(m, "layers.0.attn.1.norm.bias");
    double *W = tiny_tensor(m, "layers.0.attn.1.qkv.weight"),
           *b = tiny_tensor(m, "layers.0.attn.1.qkv.bias");
    double x[D];
    for (int i = 0; i < T; i++) {
        plain_norm(nw, nb, y[i], x);
        plain_affine(3 * D, D, W, b, x, qkv[i]);
    }
    double *list[] = {nw, nb, W, b};
    for (int i = 0; i < 4; i++) memory_free(list[i]);
}

/* Adds Attention(LN(y)), with the tensors of one slot, to y (T, D). */
static void plain_add_attention(Model *m, int T, double (*y)[D])
{
    double *Wo = tiny_tensor(m, "layers.0.attn.1.out.weight"),
           *bo = tiny_tensor(m, "layers.0.attn.1.out.bias");
    Scores p = plain_scores(m);
    double a[D], k[D], qkv[N][3 * D];
    plain_qkv(m, T, y, qkv);
    for (int i = 0; i < T; i++) {
        plain_attention(qkv, i, &p, a);
        plain_affine(D, D, Wo, bo, a, k);
        for (int c = 0; c < D; c++) y[i][c] += k[c];
    }
    memory_free(Wo);
    memory_free(bo);
    plain_scores_free(&p);
}

double plain_gelu(double u)
{
    return 0.5 * u * (1 + tanh(sqrt(2 / M_PI) * (u + 0.044715 * u * u * u)));
}

static void plain_add_feedforward(Model *m, int T, double (*y)[D])
{
    double *nw = tiny_tensor(m, "layers.0.ffn.1.norm.weight"),
           *nb = tiny_tensor(m, "layers.0.ffn.1.norm.bias");
    double *W = tiny_tensor(m, "layers.0.ffn.1.up.weight"),
           *b = tiny_tensor(m, "layers.0.ffn.1.up.bias");
    double *Wo = tiny_tensor(m, "layers.0.ffn.1.down.weight"),
           *bo = tiny_tensor(m, "layers.0.ffn.1.down.bias");
    double x[D], u[M], k[D];
    for (int i = 0; i < T; i++) {
        plain_norm(nw, nb, y[i], x);
        plain_affine(M, D, W, b, x, u);
        for (int c = 0; c < M; c++)
            u[c] = model_config(m)->act == ACT_GELU ? plain_gelu(u[c]) : fmax(u[c], 0);
        plain_affine(D, M, Wo, bo, u, k);
        for (int c = 0; c < D; c++) y[i][c] += k[c];
    }
    double *list[] = {nw, nb, W, b, Wo, bo};
    for (int i = 0; i < 6; i++) memory_free(list[i]);
}

static double plain_position(int i, int c)
{
    int half = D / 2;
    double angle = i * pow(10000, -(double)(c % half) / (half - 1));
    return c < half ? sin(angle) : cos(angle);
}

void plain_embed(const double *emb, int T, const int32_t *token, double (*y)[TINY_WIDTH])
{
    for (int i = 0; i < T; i++)
        for (int c = 0; c < D; c++)
            y[i][c] = sqrt(D) * emb[token[i] * D + c] + plain_position(i, c);
}

void plain_weights(Model *m, size_t n, const int32_t *token, double *a)
{
    double *emb = tiny_tensor(m, "embed.weight");
    Scores p = plain_scores(m);
    double y[N][D], qkv[N][3 * D];
    int T = (int)n, all = model_plan(m)->bidirectional;
    plain_embed(emb, T, token, y);
    plain_qkv(m, T, y, qkv);
    for (int h = 0; h < H; h++)
        for (int i = 0; i < T; i++) plain_row(qkv, i, all ? T - 1 : i, h, &p, a + (h * T + i) * T);
    memory_free(emb);
    plain_scores_free(&p);
}

void plain_logits(Model *m, const Batch *b, double *z)
{
    double *emb = tiny_tensor(m, "embed.weight"), *fw = tiny_tensor(m, "final_norm.weight");
    double *fb = tiny_tensor(m, "final_norm.bias"), y[N][D], x[D];
    double *out = tiny_tensor(m, model_config(m)->untied ? "output.weight" : "embed.weight");
    for (size_t s = 0; s < b->S; s++) {
        size_t first = b->start[s];
        int T = (int)(b->start[s + 1] - first);
        plain_embed(emb, T, b->input + first, y);
        plain_add_attention(m, T, y);
        plain_add_feedforward(m, T, y);
        for (int i = 0; i < T; i++) {
            if (fw) plain_norm(fw, fb, y[i], x);
            plain_affine(V, D, out, NULL, fw ? x : y[i], z + (first + (size_t)i) * V);
        }
    }
    memory_free(emb);
    memory_free(fw);
    memory_free(fb);
    memory_free(out);
}
