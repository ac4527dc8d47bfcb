/* exact.c: counts the sequences of a batch that the most probable tokens get right in every row, or the most probable
 * class. */
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "nn/run/pass.h"

/* Returns 1 where z (V) is largest at the target and smaller before it; 0 where a z is NaN. */
static int is_best(size_t V, const double *z, size_t target)
{
    for (size_t v = 0; v < V; v++)
        if (v < target ? !(z[v] < z[target]) : !(z[v] <= z[target])) return 0;
    return 1;
}

/* Reads the rows that model_forward left in out.hidden, so few at a time that the room on the host is small. */
int model_exact(Model *m, const Batch *x, double *mean, size_t *exact)
{
    size_t V = m->config.vocab, s = 0;
    SCOPED(memory_drop) double *z = memory_new(LOGIT_LEAST * V, sizeof *z);
    int good = 1;
    *exact = 0;
    if (!z) return ERR_MEMORY;
    TRY(model_forward(m, x, 0, 0, NULL, mean));
    for (size_t at = 0, n; at < x->N; at += n) {
        const Pass p = {.m = m, .asked = at + LOGIT_LEAST < x->N ? at + LOGIT_LEAST : x->N};
        n = ends_logits(m, &p, at);
        TRY(m->ends->logits(m, at, n, z));
        for (size_t r = at; r < at + n; r++) {
            good &= is_best(V, z + (r - at) * V, (size_t)x->target[r]);
            if (r + 1 < x->start[s + 1]) continue;
            *exact += (size_t)good;
            good = 1;
            s++;
        }
    }
    return m->backend->wait();
}

/* ---- classes -------------------------------------------------------------------------------------- */

static int classes(Model *m, const Batch *x, double *z, double *mean)
{
    NEED(m->config.classes > 0);
    TRY(model_forward(m, x, 0, 0, NULL, mean));
    m->backend->get(z, m->heads.z, x->S * m->config.classes);
    return m->backend->wait();
}

int model_classes(Model *m, const Batch *x, double *z)
{
    return classes(m, x, z, NULL);
}

static size_t count_right(const Batch *x, size_t C, const double *z)
{
    size_t right = 0;
    for (size_t s = 0; s < x->S; s++, z += C) {
        size_t best = 0;
        for (size_t c = 1; c < C; c++)
            if (z[c] > z[best]) best = c;
        right += best == (size_t)x->asked.label[s];
    }
    return right;
}

int model_right(Model *m, const Batch *x, double *mean, size_t *right)
{
    size_t C = m->config.classes;
    NEED(x->asked.label != NULL);
    SCOPED(memory_drop) double *z = memory_new(x->S * C, sizeof *z);
    if (!z) return ERR_MEMORY;
    TRY(classes(m, x, z, mean));
    *right = count_right(x, C, z);
    return 0;
}
