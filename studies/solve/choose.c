/* choose.c: finds the particle system of an option: built in, from a file, or a layer of a trained
 * model. */
#include "studies/solve/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "studies/base/command.h"

SystemChoice choose_options(const Options *o)
{
    return (SystemChoice){options_text(o, "system"),
                          options_text(o, "system-file"),
                          options_size(o, "particles"),
                          options_size(o, "dim"),
                          options_size(o, "seed"),
                          options_text(o, "set"),
                          o};
}

static int refuse_length(const char *name, size_t n, size_t d, int one, size_t there)
{
    char lengths[128] = "";
    if (one && n * d > 1) snprintf(lengths, sizeof lengths, "1 number for all, or ");
    size_t used = strlen(lengths);
    if (n > 1 && d > 1)
        snprintf(lengths + used, sizeof lengths - used,
                 "%zu, one for each coordinate of a particle, or ", d);
    return error_set(ERR_INPUT, "--%s: expected %s%zu, one for each coordinate; there %s %zu", name,
                     lengths, n * d, there == 1 ? "is" : "are", there);
}

int choose_numbers(const Options *o, const char *name, size_t n, size_t d, int one, double **out)
{
    const char *text = options_text(o, name);
    size_t N = n * d, there = 1;
    for (const char *at = text; *at; at++) there += *at == ',';
    if (there != N && there != d && !(one && there == 1))
        return refuse_length(name, n, d, one, there);
    double *x = memory_new(N, sizeof *x);
    if (!x) return ERR_MEMORY;
    for (size_t i = 0; i < N; i++) {
        if (i >= there) {
            x[i] = x[i - there];
            continue;
        }
        char *end;
        x[i] = strtod(text, &end);
        text = end + (*end == ',');
    }
    *out = x;
    return 0;
}

void choose_tell(const System *s)
{
    printf("system %s: %s\n%zu %s of %zu %s", s->name, s->title, s->n,
           s->n == 1 ? "particle" : "particles", s->d, s->d == 1 ? "coordinate" : "coordinates");
}

/* Adds names to `list` of schemes that tell an operator apart; *more: those that have no room. */
static void list_apart(const Selection *s, int op, char *list, size_t bytes, size_t *more)
{
    *list = '\0';
    *more = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t n = strlen(list), room = strlen(s->scheme[i]->name) + sizeof ", ";
        if (!(system_apart(s->scheme[i]) >> op & 1)) continue;
        if (n + room > bytes)
            ++*more;
        else
            snprintf(list + n, bytes - n, "%s%s", n ? ", " : "", s->scheme[i]->name);
    }
}

int choose_zeros(const System *s, const Selection *chosen)
{
    char list[256], others[32] = "";
    int zeros;
    size_t more;
    TRY(system_zeros(s, &zeros));
    for (int op = 0; op < COLOURS; op++) {
        if (!(zeros >> op & 1)) continue;
        list_apart(chosen, op, list, sizeof list, &more);
        if (more) snprintf(others, sizeof others, " and %zu more", more);
        if (!*list) continue;
        notice_warn(
            "%c of system %s is 0: %s%s split nothing there; flows of it do nothing, and a part that is "
            "implicit in it runs explicitly",
            table_letters[op], s->name, list, others);
        return 0;
    }
    return 0;
}

int choose_blame(const SystemChoice *c, int code)
{
    char words[1024];
    int told = code == ERR_INPUT || code == ERR_NUMERIC || code == ERR_ACCURACY;
    size_t n = c->file ? strlen(c->file) : 0;
    snprintf(words, sizeof words, "%s", error_text());
    if (!c->file || !told || strncmp(words, "--", 2) == 0) return code;
    if (strncmp(words, c->file, n) == 0 && words[n] == ':') return code;
    return error_set(code, "%s: %s", c->file, words);
}

static int choose_trained(const SystemChoice *c, Network *n, System **out)
{
    if (c->dim) return error_set(ERR_INPUT, "--dim is not for " TRAINED_WORDS ": it has its width");
    if (c->set)
        return error_set(ERR_INPUT, "--set is not for " TRAINED_WORDS ": it has no parameters");
    return trained_system(c->name, c->particles, n, out);
}

/* Writes a name, "" for a file, and behind it what --set has, as options behind colons. */
static int join_options(const SystemChoice *c, const char *name, char *text, size_t bytes)
{
    const char *set = c->set ? c->set : "";
    int n = snprintf(text, bytes, "%s%s%s", name, *set ? ":" : "", set);
    if (n < 0 || (size_t)n >= bytes) return error_set(ERR_INPUT, "--set: expected a shorter text");
    if (strchr(set, ':') || strstr(set, ",,"))
        return error_set(ERR_INPUT, "--set: expected NAME=NUMBER,NAME=NUMBER, not '%.80s'", set);
    for (char *at = text + strlen(name); *at; at++)
        if (*at == ',') *at = ':';
    return 0;
}

/* Puts --initial in the place of the initial state. A closed solution that it is not on is gone. */
static int choose_initial(const SystemChoice *c, System *s)
{
    const Options *o = c->options;
    if (!o || !options_text(o, "initial")) return 0;
    double *x, begin = options_known(o, "t-begin") ? options_real(o, "t-begin") : 0;
    TRY(choose_numbers(o, "initial", s->n, s->d, 0, &x));
    memory_free(s->initial);
    s->initial = x;
    s->end = NULL;
    if (!system_solves(s, 0) && !system_solves(s, begin)) s->solution = NULL;
    return 0;
}

static int open_system(const SystemChoice *c, Network *n, System **out)
{
    enum { TEXT = 4096 };
    char text[TEXT];
    if (c->file && c->name)
        return error_set(ERR_INPUT, "expected --system or --system-file, not both");
    TRY(join_options(c, c->file ? "" : c->name ? c->name : system_default(), text, sizeof text));
    if (c->file) return system_read(c->file, text, c->particles, c->dim, c->seed, out);
    if (c->name && trained_named(c->name)) return choose_trained(c, n, out);
    return system_new(text, c->particles, c->dim, c->seed, out);
}

int choose_system(const SystemChoice *c, Network *n, System **out)
{
    *n = (Network){0};
    TRY(open_system(c, n, out));
    return choose_initial(c, *out);
}
