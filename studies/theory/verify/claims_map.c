/* claims_map.c: maps made of schemes and exact flows, as series in exact rationals and by numbers. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "studies/base/progress.h"
#include "studies/theory/verify/claims.h"

/* Statements have an '=' or begin with flow; a name has neither. */
static int is_text(const char *spec)
{
    return strchr(spec, '=') || strncmp(spec, "flow ", 5) == 0 || strncmp(spec, "field ", 6) == 0;
}

static int parse(const char *statements, Table **out)
{
    Table **list = NULL;
    size_t count = 0, bytes = strlen(statements) + 32;
    char *text = memory_new(bytes, 1);
    if (!text) return ERR_MEMORY;
    snprintf(text, bytes, "scheme stated\n%s\n", statements);
    int code = scheme_parse("claim", text, strlen(text), &list, &count);
    memory_free(text);
    if (code != 0) return code;
    *out = list[0];
    memory_free(list);
    return 0;
}

/* Gives the two sets of a scheme's operator colours of their own, C for the second, each with its own weight in the
 * field: what the scheme solves once the sets are trained apart. */
static int set_apart(const Table *t, Table **out)
{
    int op = table_sets(t, OP_F) > 1 ? OP_F : OP_G;
    char *text = NULL, *body = NULL;
    size_t bytes;
    mpq_t w[COLOURS];
    mpq_inits(w[OP_F], w[OP_G], w[OP_C], NULL);
    FILE *f = open_memstream(&text, &bytes);
    int code = f ? table_print(t, f) : ERR_MEMORY;
    if (f) fclose(f);
    for (int k = OP_F; k <= OP_G; k++) table_weight(t, k, 1, w[k]);
    table_weight(t, op, 2, w[OP_C]);
    char second[] = {table_letters[op], '2', '(', '\0'};
    for (char *at = text; code == 0 && (at = strstr(at, second));) at[0] = 'C', at[1] = ' ';
    if (code == 0 && gmp_asprintf(&body, "field %Qd F %Qd C %Qd G%s", w[OP_F], w[OP_C], w[OP_G],
                                  strstr(text, "\nk1 ")) < 0)
        code = ERR_MEMORY;
    if (code == 0) code = parse(body, out);
    mpq_clears(w[OP_F], w[OP_G], w[OP_C], NULL);
    free(text);
    free(body);
    return code;
}

/* A claim about a method is one about steps that begin with what is carried on the exact solution. */
static void forget_start(Table *t)
{
    for (size_t i = 0; i < t->carries; i++) t->carry[i].started = 0;
    table_free(t->starter);
    t->starter = NULL;
}

int map_table(const Zoo *z, const char *spec, Table **out)
{
    static const char apart[] = "apart:";
    Table *t = NULL, *whole = NULL;
    *out = NULL;
    int two = strncmp(spec, apart, strlen(apart)) == 0;
    if (two) spec += strlen(apart);
    TRY(is_text(spec) ? parse(spec, &t) : zoo_find(z, spec, "exact", &t));
    if (two) {
        whole = t;
        int code = set_apart(whole, &t);
        table_free(whole);
        TRY(code);
    }
    if (table_has(t, HAS_NORM)) progress_note("%s: " TABLE_NORMS_LEFT, t->name);
    *out = table_freeze(t);
    table_free(t);
    if (!*out) return ERR_MEMORY;
    forget_start(*out);
    return 0;
}

static int read_part(const Zoo *z, const char *spec, Map *m)
{
    size_t i = m->parts++;
    m->part[i].table = NULL;
    mpq_init(m->part[i].theta);
    mpq_set_ui(m->part[i].theta, 1, 1);
    if (strcmp(spec, "exact") == 0) return 0;
    if (strncmp(spec, "exact:", 6) != 0) return map_table(z, spec, &m->part[i].table);
    return terms_number(spec + 6, m->part[i].theta);
}

int map_read(const Zoo *z, const char *spec, Map *out)
{
    static const char then[] = " then ";
    *out = (Map){.open = 1, .colours = 2};
    mpq_inits(out->weight[OP_F], out->weight[OP_G], out->weight[OP_C], NULL);
    for (int op = 0; op < 2; op++) mpq_set_ui(out->weight[op], 1, 1);
    SCOPED(memory_drop) char *text = memory_string(spec);
    int code = text ? 0 : ERR_MEMORY;
    for (char *at = text, *end; code == 0 && at; at = end ? end + strlen(then) : NULL) {
        end = strstr(at, then);
        if (end) *end = '\0';
        code = out->parts < MAP_PARTS ? read_part(z, at, out)
                                      : error_set(ERR_INPUT, "a map of too many parts: %s", spec);
    }
    for (size_t i = 0; i < out->parts && code == 0; i++) {
        const Table *t = out->part[i].table;
        if (t && t->colours > out->colours) out->colours = t->colours;
        for (int op = 0; t && op < t->colours && (i == 0 || op >= 2); op++)
            mpq_set(out->weight[op], t->weight[op]);
    }
    if (code != 0) map_free(out);
    return code;
}

void map_free(Map *m)
{
    if (!m->open) return;
    for (size_t i = 0; i < m->parts; i++) {
        table_free(m->part[i].table);
        mpq_clear(m->part[i].theta);
    }
    mpq_clears(m->weight[OP_F], m->weight[OP_G], m->weight[OP_C], NULL);
    m->open = 0;
}

static int part_series(const Map *m, size_t i, const Forest *f, Series **out)
{
    if (m->part[i].table) return series_step(f, m->part[i].table, out);
    TRY(series_new(f, out));
    series_exact(*out, m->part[i].theta, ((Map *)m)->weight);
    return 0;
}

int map_series(const Map *m, const Forest *f, Series **out)
{
    TRY(part_series(m, 0, f, out));
    for (size_t i = 1; i < m->parts; i++) {
        SCOPED(series_drop) Series *before = *out, *next = NULL;
        *out = NULL;
        TRY(part_series(m, i, f, &next));
        TRY(series_new(f, out));
        series_compose(*out, before, next);
    }
    return 0;
}

static void weights(const Map *m, double w[COLOURS])
{
    for (int op = 0; op < COLOURS; op++) w[op] = table_double(m->weight[op]);
}

int map_apply(const Map *m, const Sine *s, double h, double *y)
{
    double w[COLOURS];
    weights(m, w);
    for (size_t i = 0; i < m->parts; i++) {
        if (m->part[i].table)
            TRY(sine_step(s, m->part[i].table, h, y));
        else
            TRY(sine_flow(s, w, table_double(m->part[i].theta) * h, y));
    }
    return 0;
}

int map_error(const Map *m, const Sine *s, double h, double *e)
{
    double w[COLOURS], exact[SINE_D];
    weights(m, w);
    memcpy(e, s->y, sizeof exact);
    memcpy(exact, s->y, sizeof exact);
    TRY(map_apply(m, s, h, e));
    TRY(sine_flow(s, w, h, exact));
    sine_subtract(e, 1, exact);
    return 0;
}
