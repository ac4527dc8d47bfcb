/* numbers.c: see numbers.h. */
#include "kernels/base/numbers.h"

#include "kernels/base/memory.h"

static size_t find_slot(const Numbers *m, uint64_t key)
{
    uint64_t h = (key + 1) * UINT64_C(0x9e3779b97f4a7c15);
    for (size_t s = (h >> 32) & (m->slots - 1);; s = (s + 1) & (m->slots - 1))
        if (m->key[s] == 0 || m->key[s] == key + 1) return s;
}

uint32_t numbers_find(const Numbers *m, uint64_t key, uint32_t otherwise)
{
    if (m->slots == 0) return otherwise;
    size_t s = find_slot(m, key);
    return m->key[s] ? m->value[s] : otherwise;
}

uint32_t *numbers_place(Numbers *m, uint64_t key, uint32_t fresh)
{
    if (2 * m->size >= m->slots) {
        Numbers g = {.slots = m->slots ? 2 * m->slots : 1024, .size = m->size};
        g.key = memory_new(g.slots, sizeof *g.key);
        g.value = g.key ? memory_new(g.slots, sizeof *g.value) : NULL;
        if (!g.value) {
            memory_free(g.key);
            return NULL;
        }
        for (size_t i = 0; i < m->slots; i++) {
            if (!m->key[i]) continue;
            size_t s = find_slot(&g, m->key[i] - 1);
            g.key[s] = m->key[i];
            g.value[s] = m->value[i];
        }
        memory_free(m->key);
        memory_free(m->value);
        *m = g;
    }
    size_t s = find_slot(m, key);
    if (!m->key[s]) {
        m->key[s] = key + 1;
        m->value[s] = fresh;
        m->size++;
    }
    return &m->value[s];
}

void numbers_free(Numbers *m)
{
    memory_free(m->key);
    memory_free(m->value);
    *m = (Numbers){0};
}
