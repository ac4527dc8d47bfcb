/* select.c: reads --scheme and --scheme-file. */
#include "studies/base/select.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "studies/base/command.h"

/* Adds the suffix of `solver` to the name of a splitting that got it for want of a suffix. */
static int name_solver(const Zoo *z, const char *solver, Table *t)
{
    TABLE(exact);
    TRY(zoo_find(z, t->name, "exact", &exact));
    size_t n = strlen(t->name);
    if (exact->flows && !t->flows) snprintf(t->name + n, TABLE_NAME - n, ":%s", solver);
    return 0;
}

/* Warns of a pair whose weights of yhat do not sum to those of y', and of nodes that are not the sums of their rows. */
static void doubt(const Table *t)
{
    if (!t->symbols && table_written(t) && t->note) notice_warn("%s: %s", t->name, t->note);
    double sum = t->pair ? table_error_sum(t) : 0;
    if (fabs(sum) > 1e-9)
        notice_warn(
            "%s: the weights of its estimate sum to %.6g, not 0, so bhat sums to %.6g: are these the "
            "weights of the error?",
            t->name, sum, 1 - sum);
}

/* Appends a copy of the table, unless one of its name is in the list. */
static int append(const Table *t, Table ***list, size_t *count)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*list)[i]->name, t->name) == 0) return 0;
    TRY(memory_more(list, *count, sizeof **list));
    if (!((*list)[*count] = table_copy(t))) return ERR_MEMORY;
    ++*count;
    return 0;
}

/* Adds a scheme; where decoders are wanted, a scheme of two colours is replaced by its decoder. */
static int add(const Table *t, const char *solver, int decoders, Selection *s)
{
    TABLE(decoder);
    if (!decoders || t->colours > 2) return append(t, &s->scheme, &s->count);
    TRY(select_one(s, t->name, solver, 1, &decoder));
    return append(decoder, &s->scheme, &s->count);
}

static int add_list(const char *names, const char *solver, int decoders, Selection *s)
{
    Table **list;
    size_t count;
    TRY(zoo_list(&s->zoo, names, solver, &list, &count));
    int code = 0;
    for (size_t i = 0; i < count; i++) {
        if (code == 0) code = name_solver(&s->zoo, solver, list[i]);
        if (code == 0) code = add(list[i], solver, decoders, s);
        table_free(list[i]);
    }
    memory_free(list);
    return code;
}

/* Returns 1 where the schemes of the files are the chosen ones: there are files, and no option names a scheme. */
static int files_alone(const Options *o)
{
    static const char *const names[] = {"scheme", "encoder", "decoder", "pair"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (options_known(o, names[i]) && options_rank(o, names[i]) != OPTION_DEFAULT) return 0;
    return options_item(o, "scheme-file", 0) != NULL;
}

int select_files(const Options *o, Zoo *z)
{
    const char *file;
    TRY(zoo_open(z));
    for (size_t i = 0; (file = options_item(o, "scheme-file", i)); i++) TRY(zoo_read(z, file));
    for (size_t i = z->built_in; i < z->count; i++) doubt(z->scheme[i]);
    for (size_t i = 0; i < z->replacements; i++)
        notice_warn("%s is that of the file, not the built-in scheme", z->replaced[i]->name);
    return 0;
}

static int find(const Options *o, const char *solver, const Table *own, const char *usual,
                Selection *s)
{
    const char *names = options_text(o, "scheme");
    int decoders = own && own->colours > 2;
    TRY(select_files(o, &s->zoo));
    size_t all = s->zoo.count, built_in = s->zoo.built_in;
    s->from_files = files_alone(o) && all > built_in;
    if (own) TRY(append(own, &s->zoo.scheme, &s->zoo.count));
    if (own && (!names || s->from_files)) TRY(append(own, &s->scheme, &s->count));
    if (!s->from_files) return add_list(names ? names : usual, solver, decoders, s);
    for (size_t i = built_in; i < all; i++)
        TRY(add_list(s->zoo.scheme[i]->name, solver, decoders, s));
    return 0;
}

int select_beside(const Options *o, const char *solver, const Table *own, const char *usual,
                  Selection *s)
{
    *s = (Selection){0};
    int code = find(o, solver, own, usual, s);
    if (code != 0) select_close(s);
    return code;
}

int select_open(const Options *o, const char *solver, Selection *s)
{
    return select_beside(o, solver, NULL, NULL, s);
}

void select_names(const Selection *s, char *names, size_t room)
{
    size_t n = 0;
    *names = '\0';
    for (size_t i = 0; i < s->count && n < room; i++)
        n += (size_t)snprintf(names + n, room - n, "%s%s", i ? "," : "", s->scheme[i]->name);
}

int select_record(const Selection *s, Options *o)
{
    size_t room = s->count * (TABLE_NAME + 1) + 1;
    if (!s->from_files) return 0;
    SCOPED(memory_drop) char *names = memory_new(room, 1);
    if (!names) return ERR_MEMORY;
    select_names(s, names, room);
    return options_set(o, OPTION_DEFAULT, "", "scheme", names);
}

int select_add(const char *name, const char *solver, Selection *s)
{
    return add_list(name, solver, 0, s);
}

void select_close(Selection *s)
{
    for (size_t i = 0; i < s->count; i++) table_free(s->scheme[i]);
    memory_free(s->scheme);
    zoo_close(&s->zoo);
    *s = (Selection){0};
}

int select_one(const Selection *s, const char *name, const char *solver, int decoder, Table **out)
{
    TRY(decoder ? zoo_find_decoder(&s->zoo, name, solver, out)
                : zoo_find(&s->zoo, name, solver, out));
    int code = name_solver(&s->zoo, solver, *out);
    if (code == 0) return 0;
    table_free(*out);
    *out = NULL;
    return code;
}

size_t select_decoders(const Selection *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->count; i++) n += s->scheme[i]->colours > 2;
    return n;
}
