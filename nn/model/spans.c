/* spans.c: adaptive attention spans: each head learns how far back it looks.
 *
 * Head h of an attention slot has one learned number u in [0, 1], its span z = S u tokens, and weights
 *
 *   a_ij = m(i-j) exp(s_ij) / sum_k m(i-k) exp(s_ik),   m(x) = clamp((R + z - x) / R, 0, 1)
 *
 * (the kernels compute them, kernels/backend.h). To keep spans short, the loss has the term
 *
 *   lambda sum over slots of 1/H sum_h z_h,   d / du_h = lambda S / H
 *
 * which is the mean over the heads of a slot, summed over slots. It is added to the step's mean loss of a token, once a
 * step for any number of parts and ranks. All u begin at 0 and are put back into [0, 1] after each step of Adam. u, not
 * z, is the parameter because Adam moves a number by about its rate a step. In files: layers.l.attn.s.span.weight (H),
 * the u; S and R are the model's configuration.
 *
 * Source: Sukhbaatar, Grave, Bojanowski, Joulin 2019, "Adaptive Attention Span in Transformers"; from there are the
 * mean over a layer's heads, the start at 0 and the sum over layers. */
#include "kernels/error.h"
#include "nn/model/engine.h"

enum { SPAN_LIMIT = 1 << 24 };

int spans_check(const ModelConfig *c)
{
    if (c->span == 0) return 0;
    if (c->span > SPAN_LIMIT || c->ramp < 1 || c->ramp > SPAN_LIMIT)
        return error_set(ERR_INPUT, "spans up to %zu with a ramp of %zu: both are from 1 to %d",
                         c->span, c->ramp, SPAN_LIMIT);
    if (!(c->span_loss >= 0 && c->span_loss <= 1e6))
        return error_set(ERR_INPUT, "the loss of spans, %g, is not from 0 to 1e6", c->span_loss);
    return 0;
}

void spans_gradient(const Model *m)
{
    const ModelConfig *c = &m->config;
    double slope = c->span_loss * (double)c->span / (double)c->heads;
    if (m->spans.count) m->backend->fill(grad(m, m->spans.first), slope, m->spans.count);
}

void spans_clamp(const Model *m)
{
    if (m->spans.count) m->backend->clamp(m->spans.count, data(m, m->spans.first), 0, 1);
}

void model_spans(const Model *m, double *z, double *loss)
{
    double sum = 0;
    m->backend->get(z, data(m, m->spans.first), m->spans.count);
    for (size_t i = 0; i < m->spans.count; i++) sum += z[i] *= (double)m->config.span;
    if (loss) *loss = m->config.span_loss * sum / (double)m->config.heads;
}
