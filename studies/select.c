/* select.c: --scheme and --scheme-file. */
#include "studies/select.h"

#include <stdio.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"

/* A splitting that was given `solver` for want of a suffix gets it into its name. */
static int name_solver(const Zoo *z, const char *solver, Table *t)
{
    Table *exact;
    TRY(zoo_find(z, t->name, "exact", &exact));
    size_t n = strlen(t->name);
    if (exact->flows && !t->flows) snprintf(t->name + n, TABLE_NAME - n, ":%s", solver);
    table_free(exact);
    return 0;
}

static int find(const Options *o, const char *solver, Selection *s)
{
    const char *file;
    TRY(zoo_open(&s->zoo));
    for (size_t i = 0; (file = options_item(o, "scheme-file", i)); i++)
        TRY(zoo_read(&s->zoo, file));
    TRY(zoo_list(&s->zoo, options_text(o, "scheme"), solver, &s->scheme, &s->count));
    for (size_t i = 0; i < s->count; i++) TRY(name_solver(&s->zoo, solver, s->scheme[i]));
    return 0;
}

int select_open(const Options *o, const char *solver, Selection *s)
{
    *s = (Selection){0};
    int code = find(o, solver, s);
    if (code != 0) select_close(s);
    return code;
}

int select_add(const char *name, const char *solver, Selection *s)
{
    Table *t;
    TRY(zoo_find(&s->zoo, name, solver, &t));
    int code = name_solver(&s->zoo, solver, t), there = 0;
    for (size_t i = 0; i < s->count; i++) there |= strcmp(s->scheme[i]->name, t->name) == 0;
    Table **grown =
        there || code != 0 ? NULL : memory_grow(s->scheme, s->count, s->count + 1, sizeof(Table *));
    if (!grown) {
        table_free(t);
        return there || code != 0 ? code : ERR_MEMORY;
    }
    (s->scheme = grown)[s->count++] = t;
    return 0;
}

void select_close(Selection *s)
{
    for (size_t i = 0; i < s->count; i++) table_free(s->scheme[i]);
    memory_free(s->scheme);
    zoo_close(&s->zoo);
    *s = (Selection){0};
}
