/* path.c: the exact path of a sentence through the depth of a network, and the network's own steps.
 * */
#include "bridge/truncator.h"
#include "kernels/error.h"
#include "kernels/memory.h"

const double *truncator_states(const Truncator *u)
{
    return u->state;
}

/* Goes layer by layer: each has parts + 1 states, the last of which is the first of the next. */
int truncator_path(Truncator *u, size_t parts, double *path)
{
    static const double weight[COLOURS] = {1, 1, 1};
    System *s = flow_system(u, weight);
    double apart, *t = memory_new(parts + 1, sizeof *t);
    double *y = memory_new(parts + 1, u->N * sizeof *y);
    int code = t && y ? 0 : ERR_MEMORY;
    for (size_t i = 0; t && i <= parts; i++) t[i] = (double)i / (double)parts;
    for (size_t i = 0; code == 0 && i < u->N; i++) path[i] = u->state[i];
    for (size_t l = 0; l < u->layers && code == 0; l++) {
        double *at = path + l * parts * u->N;
        u->field->pin = (int)l;
        s->initial = at;
        code = reference_within(s, 1e-9, t, parts + 1, y, &apart);
        for (size_t i = u->N; code == 0 && i < (parts + 1) * u->N; i++) at[i] = y[i];
    }
    memory_free(t);
    memory_free(y);
    return code;
}
