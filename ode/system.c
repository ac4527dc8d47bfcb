/* system.c: particle systems by name: a const table of families, and what all of them share.
 *
 * Every row is checked by tests/ode/test_systems.c: closed sub-flows and solutions against a reference
 * integrator, fields against the derivative of their flows. To add a system, add a row.
 */
#include "ode/system.h"

#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"

/* The first is the default. */
static const SystemKind *const kinds[] = {
    &system_attention,  &system_linear, &system_commuting, &system_nilpotent3,
    &system_nilpotent4, &system_fisher, &system_forced,    &system_kuramoto,
    &system_vortex,     &system_kepler, &system_henon,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

void system_normal(double *x, size_t count, double scale, uint64_t seed, uint64_t stream)
{
    for (size_t i = 0; i < count; i++) x[i] = scale * random_normal(seed, stream, i);
}

void system_uniform(double *x, size_t count, double low, double high, uint64_t seed,
                    uint64_t stream)
{
    for (size_t i = 0; i < count; i++) x[i] = low + (high - low) * random_uniform(seed, stream, i);
}

static const SystemKind *find(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i]->base.name, name) == 0) return kinds[i];
    return NULL;
}

/* All names with a blank before each, for the message; cut off where it does not fit. */
static int unknown(const char *name)
{
    char list[512] = "";
    for (size_t i = 0; i < KINDS; i++) {
        strncat(list, " ", sizeof list - strlen(list) - 1);
        strncat(list, kinds[i]->base.name, sizeof list - strlen(list) - 1);
    }
    return error_set(ERR_INPUT, "unknown system '%.80s'; known:%s", name, list);
}

static int check_sizes(const SystemKind *k, size_t n, size_t d)
{
    size_t d_max = k->d_max ? k->d_max : k->size_max;
    if (n >= k->n_min && d >= k->d_min && d <= d_max && n <= k->size_max / d) return 0;
    return error_set(ERR_INPUT,
                     "system %s: %zu particles of dimension %zu; it needs at least %zu particles, "
                     "dimension %zu to %zu, and at most %zu coordinates in all",
                     k->base.name, n, d, k->n_min, k->d_min, d_max, k->size_max);
}

int system_new(const char *name, size_t particles, size_t dim, uint64_t seed, System **out)
{
    const SystemKind *k = find(name);
    if (!k) return unknown(name);
    size_t n = particles ? particles : k->base.n;
    size_t d = dim ? dim : k->base.d;
    TRY(check_sizes(k, n, d));
    System *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    *s = k->base;
    s->n = n;
    s->d = d;
    s->initial = memory_new(n * d, sizeof(double));
    s->param = memory_new(k->params ? k->params(n, d) : 0, sizeof(double));
    if (!s->initial || !s->param) {
        system_free(s);
        return ERR_MEMORY;
    }
    k->init(s, seed);
    *out = s;
    return 0;
}

void system_free(System *s)
{
    if (!s) return;
    memory_free(s->initial);
    memory_free(s->param);
    memory_free(s->context);
    memory_free(s);
}

const char *system_name(size_t i)
{
    return i < KINDS ? kinds[i]->base.name : NULL;
}

const char *system_title(size_t i)
{
    return i < KINDS ? kinds[i]->base.title : NULL;
}

const char *system_default(void)
{
    return kinds[0]->base.name;
}

/* ---- the field of a table ------------------------------------------------------------------------- */

static void weighted(const System *s, int op, int set, double t, const double *y, double *dy)
{
    const Weighted *w = (const Weighted *)s;
    w->base->field[op](w->base, set, t, y, dy);
    for (size_t i = 0; i < s->n * s->d; i++) dy[i] *= w->weight[op];
}

static void weighted_F(const System *s, int set, double t, const double *y, double *dy)
{
    weighted(s, OP_F, set, t, y, dy);
}

static void weighted_G(const System *s, int set, double t, const double *y, double *dy)
{
    weighted(s, OP_G, set, t, y, dy);
}

static void weighted_C(const System *s, int set, double t, const double *y, double *dy)
{
    weighted(s, OP_C, set, t, y, dy);
}

Weighted system_weigh(const System *s, const Table *t)
{
    Weighted w = {.system = *s, .base = s, .same = s->decoder == (t->colours > 2)};
    for (int op = 0; op < t->colours; op++) {
        w.weight[op] = table_double(t->weight[op]);
        w.same = w.same && w.weight[op] == 1;
        w.system.flow[op] = NULL;
    }
    w.system.decoder = t->colours > 2;
    w.system.field[OP_F] = weighted_F;
    w.system.field[OP_G] = weighted_G;
    w.system.field[OP_C] = s->field[OP_C] ? weighted_C : NULL;
    w.system.both = NULL;
    w.system.solution = NULL;
    return w;
}
