/* registry.c: particle systems by name: a const table of families, and the test problems that are texts (classics.c).
 *
 * Every row is checked by tests/ode/test_systems.c: closed sub-flows and solutions against a reference
 * integrator, fields against the derivative of their flows. To add a system, add a row.
 */
#include "ode/systems/systems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/systems/system_kind.h"

/* The first is the default. */
static const SystemKind *const kinds[] = {
    &system_attention, &system_linear,   &system_commuting, &system_nilpotent3, &system_nilpotent4,
    &system_fisher,    &system_forced,   &system_kuramoto,  &system_vortex,     &system_kepler,
    &system_henon,     &system_exchange, &system_transport,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static const SystemKind *find_row(const char *name, size_t length)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strlen(kinds[i]->base.name) == length && memcmp(kinds[i]->base.name, name, length) == 0)
            return kinds[i];
    return NULL;
}

static const SystemKind *find(const char *name, const char **options)
{
    const SystemKind *k = find_row(name, strlen(name));
    size_t length = k ? strlen(name) : strcspn(name, ":");
    *options = name + length;
    return k ? k : find_row(name, length);
}

/* Lists all names for the message, each behind a blank, as far as they fit. */
static int unknown(const char *name)
{
    char list[512] = "";
    for (size_t i = 0; system_name(i); i++) {
        strncat(list, " ", sizeof list - strlen(list) - 1);
        strncat(list, system_name(i), sizeof list - strlen(list) - 1);
    }
    return error_set(ERR_INPUT, "unknown system '%.80s'; known:%s", name, list);
}

static int check_sizes(const SystemKind *k, size_t n, size_t d)
{
    size_t d_min = k->d_only ? k->d_only : 1, d_max = k->d_only ? k->d_only : k->size_max;
    if (n >= k->n_min && d >= d_min && d <= d_max && n <= k->size_max / d) return 0;
    return error_set(ERR_INPUT,
                     "system %s: %zu particles of dimension %zu; it needs at least %zu particles, "
                     "dimension %zu to %zu, and at most %zu coordinates in all",
                     k->base.name, n, d, k->n_min ? k->n_min : 1, d_min, d_max, k->size_max);
}

/* ---- options ---------------------------------------------------------------------------------------- */

enum { OPTIONS_MAX = 8, OPTION_BYTES = 64 }; /* most of a row; bytes of one as it is written */

static size_t count_options(const SystemKind *k)
{
    size_t count = 0;
    while (k->option && k->option[count].name) count++;
    return count;
}

static int refuse_option(const SystemKind *k, const char *text, size_t length)
{
    char list[512] = "";
    if (count_options(k) == 0)
        return error_set(ERR_INPUT, "system %s has no options; '%.*s' is none", k->base.name,
                         (int)(length < 80 ? length : 80), text);
    for (size_t i = 0; i < count_options(k); i++) {
        size_t used = strlen(list);
        const SystemOption *o = &k->option[i];
        if (o->flag)
            snprintf(list + used, sizeof list - used, " %s", o->name);
        else
            snprintf(list + used, sizeof list - used, " %s=%g..%g", o->name, o->low, o->high);
    }
    return error_set(ERR_INPUT, "system %s: expected options, each once, of%s; not '%.*s'",
                     k->base.name, list, (int)(length < 80 ? length : 80), text);
}

/* Reads one option of `length` bytes into value[i], i its number; set[i] becomes 1. */
static int read_option(const SystemKind *k, const char *text, size_t length, double *value,
                       int *set)
{
    char word[OPTION_BYTES], *end;
    if (length >= sizeof word) return refuse_option(k, text, length);
    memcpy(word, text, length);
    word[length] = '\0';
    char *number = strchr(word, '=');
    if (number) *number++ = '\0';
    for (size_t i = 0; i < count_options(k); i++) {
        const SystemOption *o = &k->option[i];
        if (strcmp(o->name, word) != 0 || set[i]++ || o->flag != !number) continue;
        if (o->flag) {
            value[i] = 1;
            return 0;
        }
        value[i] = strtod(number, &end);
        int plain = *number && !number[strspn(number, "0123456789.eE+-")];
        if (plain && !*end && value[i] >= o->low && value[i] <= o->high) return 0;
    }
    return refuse_option(k, text, length);
}

/* Reads the options of text, "" or ":NAME=NUMBER:NAME...". value (count_options) out. */
static int read_options(const SystemKind *k, const char *text, double *value)
{
    int set[OPTIONS_MAX] = {0};
    for (size_t i = 0; i < count_options(k); i++) value[i] = k->option[i].initial;
    while (*text) {
        size_t length = strcspn(++text, ":");
        TRY(read_option(k, text, length, value, set));
        text += length;
    }
    return 0;
}

/* ---- systems ---------------------------------------------------------------------------------------- */

int system_new(const char *name, size_t particles, size_t dim, uint64_t seed, System **out)
{
    const char *options;
    double value[OPTIONS_MAX];
    const SystemKind *k = find(name, &options);
    for (size_t i = 0; !k && classic_name(i); i++)
        if (strlen(classic_name(i)) == (size_t)(options - name) &&
            strncmp(classic_name(i), name, (size_t)(options - name)) == 0)
            return classic_new(i, options, particles, dim, seed, out);
    if (!k) return unknown(name);
    size_t n = particles ? particles : k->base.n, d = dim ? dim : k->base.d;
    size_t count = count_options(k);
    TRY(read_options(k, options, value));
    TRY(check_sizes(k, n, d));
    System *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    *s = k->base;
    s->n = n;
    s->d = d;
    s->t_end = 1;
    if (s->h0 == 0) s->h0 = 0.25;
    if (*options) s->name = s->context = memory_string(name); /* else it is the row's own */
    s->initial = memory_new(n * d, sizeof(double));
    s->param = memory_new(count + (k->params ? k->params(n, d) : 0), sizeof(double));
    if (!s->initial || !s->param || !s->name) {
        system_free(s);
        return ERR_MEMORY;
    }
    memcpy(s->param, value, count * sizeof *value);
    k->init(s, seed);
    *out = s;
    return 0;
}

const char *system_name(size_t i)
{
    return i < KINDS ? kinds[i]->base.name : classic_name(i - KINDS);
}

const char *system_title(size_t i)
{
    return i < KINDS ? kinds[i]->base.title : classic_title(i - KINDS);
}

const SystemOption *system_options(size_t i)
{
    return i < KINDS ? kinds[i]->option : NULL;
}

const char *system_default(void)
{
    return kinds[0]->base.name;
}

/* ---- whom a table is for ---------------------------------------------------------------------------- */

/* Lists the systems that are special so, as " A B ...". */
static void list_special(int special, char *list, size_t bytes)
{
    *list = '\0';
    for (size_t i = 0; i < KINDS; i++) {
        size_t used = strlen(list);
        if ((special & ~kinds[i]->base.special) == 0)
            snprintf(list + used, bytes - used, " %s", kinds[i]->base.name);
    }
}

static int not_special(const System *s, const Table *t)
{
    char list[256], words[SPECIAL_WORDS];
    list_special(t->special, list, sizeof list);
    return error_set(
        ERR_INPUT,
        "scheme %s is for fields that are as its text says (%s), which system %s is not; "
        "these are:%s%s",
        t->name, table_special(t->special, words), s->name, list,
        special_separable(t->special) ? ", and those of y'' = ... without y', as pendulum"
        : t->special & SEPARABLE_G    ? ", and those of y'' = ..., as pendulum"
                                      : "");
}

int system_takes(const System *s, const Table *t)
{
    if (t->colours > 2 && !s->field[OP_C])
        return error_set(ERR_INPUT,
                         "scheme %s has C, which reads a memory, and system %s has no memory; "
                         "attention, linear, or a system file with a line 'memory N' has one",
                         t->name, s->name);
    if (t->special & ~s->special) return not_special(s, t);
    for (size_t i = 0; s->timed && i < t->points; i++)
        if (t->point[i].phi != PHI_SOLVE && t->point[i].ops & ~s->special)
            return error_set(ERR_INPUT,
                             "scheme %s takes the derivative of a field by y and not by time, on "
                             "which a part of system %s depends; give a system without time",
                             t->name, s->name);
    return 0;
}
