/* filled.c: fills up rows whose number depends on the words of a batch, so that few different numbers occur.
 *
 * The number of a batch's words that lie in a cluster (adaptive_softmax.c), or are masked (encoder_ends.c), differs from batch to
 * batch, and each number would need a new recording of the products (recorded.c). So in training, for a backend that
 * records, such rows are filled up to the next of a few sizes: 64, 96, 128, 192, 256, ... with row_sizes 2, at most
 * half more than there are. Added rows have no number in lists (NO_ROW) and no loss (FILLER). Gathering gives zeros for
 * them, their adjoints are zeros, and nothing is scattered from them: sums only get zeros at their end. */
#include "nn/model/engine.h"

enum { LEAST = 64 };

size_t filled_rows(const Model *m, const Pass *p, size_t n, size_t most)
{
    size_t sizes = m->backend->row_sizes, octave = LEAST;
    if (!sizes || !m->training || !p->train || n >= most) return n;
    while (2 * octave <= n) octave *= 2;
    size_t step = (octave + sizes - 1) / sizes, size = octave;
    if (n > octave) size += (n - octave + step - 1) / step * step;
    if (size > 2 * octave) size = 2 * octave;
    return size < most ? size : most;
}

size_t filled_most(const Model *m)
{
    const ModelConfig *c = &m->config;
    size_t N = c->max_tokens, sizes = m->backend->row_sizes;
    if (!sizes || !m->training || !c->tails) return N;
    return 2 * N + N / sizes + c->tails * (LEAST + 1);
}

int32_t *filled_list(int32_t *list, size_t n, size_t size, int32_t filler)
{
    for (size_t i = n; i < size; i++) list[i] = filler;
    return list;
}
