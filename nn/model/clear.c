/* clear.c: what a step sets to 0 before it adds gradients: all of them, but for those of matrices that a product writes
 * before others add to them. */
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "nn/model/engine.h"

/* A window's most numbers: devices clear windows beside each other. */
enum { MOST = 4096 };

/* Returns how many of the first numbers of a tensor's gradient a product writes first. */
static size_t written(const Model *m, size_t offset)
{
    size_t D = m->config.width;
    if (writes_matrix(m) && offset == m->out.matrix) return m->out.rows * D;
    for (size_t i = 0; i < m->plan->slots; i++) {
        const SlotParams *o = &m->slot[i];
        if (o->last != SIZE_MAX && offset == o->in_w) return o->I * D;
        if (o->last != SIZE_MAX && offset == o->out_w) return o->O * D;
        if (o->last_keys != SIZE_MAX && offset == o->keys_w) return 2 * D * D;
    }
    return 0;
}

/* Lists the windows (NULL: only counts them); returns their number. */
static size_t windows(Model *m, size_t *window)
{
    size_t count = 0;
    m->cleared = 0;
    for (size_t i = 0; i < m->params; i++) {
        const Param *p = &m->param[i];
        size_t end = p->offset + p->size;
        for (size_t at = p->offset + written(m, p->offset), n; at < end; at += n, count++) {
            n = end - at < MOST ? end - at : MOST;
            m->cleared += n;
            if (!window) continue;
            window[2 * count] = at;
            window[2 * count + 1] = at + n;
        }
    }
    return count;
}

size_t clear_size(Model *m)
{
    m->clears = m->training ? windows(m, NULL) : 0;
    return 2 * m->clears * sizeof *m->clear;
}

int clear_send(Model *m)
{
    size_t bytes = clear_size(m);
    if (m->counted || bytes == 0) return 0;
    size_t *window = memory_new(2 * m->clears, sizeof *window);
    if (!window) return ERR_MEMORY;
    windows(m, window);
    m->backend->send(m->clear, window, bytes);
    memory_free(window);
    return 0;
}
