/* zoo.c: schemes by name. The built-in texts are ode/scheme/zoo.scheme, embedded as it is; names with a
 * pattern (families.c; -layer, -F, -G, -decoder) are written as texts and parsed, so the language is the only way into a table. */
#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/memory.h"
#include "kernels/base/nearest.h"
#include "kernels/base/scoped.h"
#include "kernels/base/plain_text.h"
#include "ode/scheme/families.h"
#include "ode/scheme/print.h"
#include "ode/scheme/scheme.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

TEXT_EMBED(zoo_text, "ode/scheme/zoo.scheme");

int zoo_open(Zoo *z)
{
    *z = (Zoo){0};
    /* cppcheck-suppress comparePointers ; both are of the text that the assembler put in */
    TRY(scheme_parse("zoo.scheme", zoo_text, (size_t)(zoo_text_end - zoo_text), &z->scheme,
                     &z->count));
    z->built_in = z->count;
    return 0;
}

/* Takes the built-in scheme of t's name out. A file's: ERR_INPUT. */
static int make_way(Zoo *z, const char *file, const Table *t)
{
    size_t i = 0;
    while (i < z->count && strcmp(z->scheme[i]->name, t->name) != 0) i++;
    if (i == z->count) return 0;
    if (i >= z->built_in)
        return error_set(ERR_INPUT, "%s: expected a new name; scheme '%s' exists already", file,
                         t->name);
    TRY(memory_add(z->replaced, z->replacements, z->scheme[i]));
    memmove(z->scheme + i, z->scheme + i + 1, (--z->count - i) * sizeof *z->scheme);
    z->built_in--;
    return 0;
}

static int add_tables(Zoo *z, const char *file, Table **list, size_t count)
{
    size_t i = 0;
    int code = 0;
    for (; i < count; i++) {
        if ((code = make_way(z, file, list[i])) != 0) break;
        if ((code = memory_add(z->scheme, z->count, list[i])) != 0) break;
    }
    for (; i < count; i++) table_free(list[i]);
    memory_free(list);
    return code;
}

int zoo_read(Zoo *z, const char *file)
{
    SCOPED(memory_drop) char *text = NULL;
    size_t bytes, count = 0;
    Table **list = NULL;
    TRY(file_whole(file, SCHEME_BYTES + 1, &text, &bytes));
    size_t mark = text_mark(text, bytes);
    int tableau = bytes <= SCHEME_BYTES && butcher_is(text + mark, bytes - mark);
    int code = (source_is(file) ? source_parse
                : tableau       ? butcher_parse
                                : scheme_parse)(file, text + mark, bytes - mark, &list, &count);
    if (code == 0) return add_tables(z, file, list, count);
    memory_free(list);
    return code;
}

void zoo_close(Zoo *z)
{
    for (size_t i = 0; i < z->count; i++) table_free(z->scheme[i]);
    memory_free(z->scheme);
    for (size_t i = 0; i < z->replacements; i++) table_free(z->replaced[i]);
    memory_free(z->replaced);
    *z = (Zoo){0};
}

/* ---- over another operator ---------------------------------------------------------------------------- */

static const Table *stored(const Zoo *z, const char *name)
{
    for (size_t i = 0; i < z->count; i++)
        if (strcmp(z->scheme[i]->name, name) == 0) return z->scheme[i];
    return NULL;
}

static const struct {
    const char *suffix;
    int op;
} forms[] = {{"-decoder", OP_A}, {"-layer", OP_L}, {"-F", OP_F}, {"-G", OP_G}};

static int find_base(const Zoo *z, const char *name, Table **out);

/* Writes NAME-decoder of any scheme NAME; NAME-layer, NAME-F, NAME-G of a stored one. *made = 0: it is none of these. */
static int write_form(const Zoo *z, const char *name, FILE *f, int *made)
{
    size_t n = strlen(name);
    char base[TABLE_NAME];
    *made = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && n < TABLE_NAME; i++) {
        size_t m = strlen(forms[i].suffix);
        if (n <= m || strcmp(name + n - m, forms[i].suffix) != 0) continue;
        snprintf(base, sizeof base, "%.*s", (int)(n - m), name);
        TABLE(other);
        const Table *t = stored(z, base);
        if (!t && forms[i].op != OP_A) continue;
        if (!t) TRY(find_base(z, base, &other));
        *made = 1;
        return scheme_over(t ? t : other, forms[i].op, name, f);
    }
    return 0;
}

/* ---- look-up ------------------------------------------------------------------------------------------ */

/* Names that other programs and textbooks give to schemes that are here under another name: SciPy, MATLAB, GSL, Hairer's
 * codes, DifferentialEquations.jl. Upper and lower case are the same. */
static const struct {
    const char *theirs, *ours;
} elsewhere[] = {{"dopri5", "dormand-prince"},
                 {"rk45", "dormand-prince"},
                 {"ode45", "dormand-prince"},
                 {"dp5", "dormand-prince"},
                 {"rk23", "bogacki-shampine"},
                 {"ode23", "bogacki-shampine"},
                 {"bs3", "bogacki-shampine"},
                 {"rkf45", "fehlberg"},
                 {"rkck", "cash-karp"},
                 {"radau", "radau-iia5"},
                 {"radau5", "radau-iia5"},
                 {"rodas", "rodas4"},
                 {"crank-nicolson", "trapezoid"},
                 {"backward-euler", "implicit-euler"},
                 {"forward-euler", "euler"},
                 {"verlet", "stoermer-verlet"},
                 {"strang", "strang-marchuk"},
                 {"lie", "lie-trotter"},
                 {"rk2", "heun"}};

static int unknown(const Zoo *z, const char *name)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strcasecmp(name, elsewhere[i].theirs) == 0)
            return error_set(ERR_INPUT,
                             "unknown scheme '%.60s'; here it is called '%s'; 'trotter schemes' "
                             "lists them, --scheme-file adds some",
                             name, elsewhere[i].ours);
    SCOPED(memory_drop) const char **known = memory_new(z->count + 1, sizeof *known);
    if (!known) return ERR_MEMORY;
    for (size_t i = 0; i < z->count; i++) known[i] = z->scheme[i]->name;
    return error_set(
        ERR_INPUT,
        "unknown scheme '%.60s'%s; 'trotter schemes' lists them, --scheme-file adds some", name,
        nearest_words(name, known, z->count));
}

typedef struct {
    const Zoo *z;
    const char *name;
} Sought;

static int write_made(const void *of, FILE *f)
{
    const Sought *s = of;
    int made;
    TRY(write_form(s->z, s->name, f, &made));
    if (made) return 0;
    TRY(made_write(s->name, f, &made));
    return made ? 0 : unknown(s->z, s->name);
}

static int find_base(const Zoo *z, const char *name, Table **out)
{
    const Table *t = stored(z, name);
    if (t) return (*out = table_copy(t)) ? 0 : ERR_MEMORY;
    TRY(scheme_written(name, write_made, &(Sought){z, name}, out));
    table_rename(*out, name);
    return 0;
}

/* Finds the methods that flows name. */
static int find_methods(const Zoo *z, Table *t)
{
    for (size_t i = 0; i < t->flows; i++) {
        TABLE(method);
        if (!t->flow[i].method) continue;
        TRY(find_base(z, t->flow[i].method, &method));
        TRY(table_solve_flow(t, i, method));
    }
    return 0;
}

/* Replaces the flows of *t by stages: those of the methods that they name, and of `solver`. "exact" keeps flows that name none,
 * and then those beside them. */
static int solve_flows(const Zoo *z, const char *solver, Table **t)
{
    TABLE(s);
    TABLE(flows);
    int exact = strcmp(solver, "exact") == 0;
    TRY(find_methods(z, *t));
    size_t methods = table_methods(*t);
    if (exact && methods < (*t)->flows) return 0;
    if (!exact && methods < (*t)->flows) TRY(find_base(z, solver, &s));
    flows = *t;
    *t = NULL;
    return table_expand(flows, s, t);
}

/* Returns where the sub-flow suffix begins: the last ':' that is not a made name's own. */
static const char *find_suffix(const char *name)
{
    return strrchr(made_rest(name), ':');
}

int zoo_name(const char *given, char name[TABLE_NAME])
{
    if (strlen(given) >= TABLE_NAME) return made_too_long(given);
    strcpy(name, given);
    size_t comma = made_comma(name);
    if (comma) name[comma] = '-';
    made_reduce(name, TABLE_NAME);
    return 0;
}

/* ---- NAME:fixed-point-N ----------------------------------------------------------------------------- */

static const char fixed_point[] = ":fixed-point-";

static const char *find_fixed_point(const char *name)
{
    const char *suffix = strrchr(name, ':');
    return suffix && strncmp(suffix, fixed_point, sizeof fixed_point - 1) == 0 ? suffix : NULL;
}

typedef struct {
    const Table *t;
    int corrections;
    const char *name;
} Iteration;

static int write_iteration(const void *of, FILE *f)
{
    const Iteration *i = of;
    return scheme_fixed_point(i->t, i->corrections, i->name, f);
}

static int make_fixed_point(const Zoo *z, const char *name, const char *suffix, const char *solver,
                            Table **out)
{
    char base[TABLE_NAME];
    const char *at = suffix + sizeof fixed_point - 1;
    int corrections = made_number(&at, LOOPS_MAX);
    TABLE(t);
    TABLE(made);
    if (corrections < 0 || *at)
        return error_set(ERR_INPUT, "'%s': expected NAME:fixed-point-N with 0 <= N <= %d", name,
                         LOOPS_MAX);
    snprintf(base, sizeof base, "%.*s", (int)(suffix - name), name);
    TRY(zoo_find(z, base, solver, &t));
    TRY(scheme_written(name, write_iteration, &(Iteration){t, corrections, name}, &made));
    table_rename(made, name);
    if (t->starter) TRY(table_take_starter(made, t->starter));
    *out = made;
    made = NULL;
    return 0;
}

/* Finds the scheme with which what is carried begins. */
static int find_starter(const Zoo *z, Table *t)
{
    TABLE(starter);
    if (!t->carries || !t->start[0]) return 0;
    TRY(find_base(z, t->start, &starter));
    return table_take_starter(t, starter);
}

int zoo_find(const Zoo *z, const char *given, const char *solver, Table **out)
{
    char name[TABLE_NAME], base[TABLE_NAME];
    *out = NULL;
    TRY(zoo_name(given, name));
    const char *iterated = stored(z, name) ? NULL : find_fixed_point(name);
    if (iterated) return make_fixed_point(z, name, iterated, solver, out);
    const char *suffix = stored(z, name) ? NULL : find_suffix(name);
    snprintf(base, sizeof base, "%.*s", suffix ? (int)(suffix - name) : (int)strlen(name), name);
    TABLE(t);
    TRY(find_base(z, base, &t));
    if (suffix && t->flows == 0)
        return error_set(ERR_INPUT, "'%s': only a splitting made of flows takes a sub-flow solver",
                         name);
    if (suffix && table_methods(t) == t->flows)
        return error_set(ERR_INPUT, "'%s': every flow of '%s' names its own method", name, base);
    if (t->flows) TRY(solve_flows(z, suffix ? suffix + 1 : solver, &t));
    TRY(find_starter(z, t));
    table_rename(t, name);
    *out = t;
    t = NULL;
    return 0;
}

int zoo_find_decoder(const Zoo *z, const char *name, const char *solver, Table **out)
{
    char longer[2 * TABLE_NAME];
    TRY(zoo_find(z, name, solver, out));
    if ((*out)->colours > 2) return 0;
    table_free(*out);
    *out = NULL;
    const char *suffix = stored(z, name) ? NULL : find_suffix(name);
    size_t n = suffix ? (size_t)(suffix - name) : strlen(name);
    snprintf(longer, sizeof longer, "%.*s-decoder%s", (int)n, name, suffix ? suffix : "");
    return zoo_find(z, longer, solver, out);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static int add_found(const Zoo *z, const char *name, const char *solver, Table ***list,
                     size_t *count)
{
    TABLE(t);
    TRY(zoo_find(z, name, solver, &t));
    TRY(memory_add(*list, *count, t));
    t = NULL;
    return 0;
}

/* Adds a stored scheme, one of fewer colours as a decoder's, with `form` behind its name. */
static int add_form(const Zoo *z, const Table *t, int colours, const char *form, const char *solver,
                    Table ***list, size_t *count)
{
    char name[2 * TABLE_NAME];
    if (t->colours > colours) return 0;
    snprintf(name, sizeof name, "%s%s%s", t->name, form, t->colours < colours ? "-decoder" : "");
    if (strlen(name) >= TABLE_NAME) return 0; /* a long name of a scheme file has no room for it */
    return form[0] && stored(z, name) ? 0 : add_found(z, name, solver, list, count);
}

/* Adds the explicit schemes, then their -layer. A pair serves steps by tolerance, which layers do not
 * take, so over L it comes by its name alone. */
static int add_all(const Zoo *z, int colours, const char *solver, Table ***list, size_t *count)
{
    for (size_t i = 0; i < z->count; i++)
        if (!table_implicit(z->scheme[i]) && !table_phi(z->scheme[i]))
            TRY(add_form(z, z->scheme[i], colours, "", solver, list, count));
    for (size_t i = 0; i < z->count; i++)
        if (table_over(z->scheme[i], OP_H) && z->scheme[i]->colours == 2 && !z->scheme[i]->pair &&
            !table_implicit(z->scheme[i]))
            TRY(add_form(z, z->scheme[i], colours, "-layer", solver, list, count));
    return 0;
}

static int add_kind(const Zoo *z, int kind, int colours, const char *solver, Table ***list,
                    size_t *count)
{
    for (size_t i = 0; i < z->count; i++)
        if (table_has(z->scheme[i], kind))
            TRY(add_form(z, z->scheme[i], colours, "", solver, list, count));
    return 0;
}

/* kind: HAS_*; 0: all. */
static const struct {
    int kind, colours;
} group[SCHEMES_GROUPS] = {[SCHEMES_ALL] = {0, 2},
                           [SCHEMES_DECODERS] = {0, 3},
                           [SCHEMES_IMPLICIT] = {HAS_IMPLICIT, 2},
                           [SCHEMES_EXPONENTIAL] = {HAS_PHI, 2},
                           [SCHEMES_ROSENBROCK] = {HAS_SOLVE, 2}};

static int add_named(const Zoo *z, const char *name, const char *solver, Table ***list,
                     size_t *count)
{
    int g = scheme_many(name);
    if (g < 0) return add_found(z, name, solver, list, count);
    return group[g].kind ? add_kind(z, group[g].kind, group[g].colours, solver, list, count)
                         : add_all(z, group[g].colours, solver, list, count);
}

/* Returns the length of the first name of "A, B,...", with the blanks behind it. */
static size_t name_length(const char *at)
{
    size_t comma = made_comma(at);
    return comma ? comma + 1 + strcspn(at + comma + 1, ",") : strcspn(at, ",");
}

int zoo_list(const Zoo *z, const char *names, const char *solver, Table ***out, size_t *count)
{
    char name[TABLE_NAME];
    int code = 0;
    *out = NULL;
    *count = 0;
    for (const char *at = names; code == 0; at++) {
        at += strspn(at, " \t");
        size_t whole = name_length(at), n = whole;
        while (n > 0 && strchr(" \t", at[n - 1])) n--;
        if (n == 0)
            code = error_set(
                ERR_INPUT,
                "expected scheme names separated by commas, 'all', 'decoders', 'implicit', "
                "'exponential' or 'rosenbrock': '%.60s'",
                names);
        else if (n >= TABLE_NAME)
            code = made_too_long(at);
        else {
            snprintf(name, sizeof name, "%.*s", (int)n, at);
            code = add_named(z, name, solver, out, count);
        }
        at += whole;
        if (!*at) break;
    }
    if (code == 0) return 0;
    while (*count) table_free((*out)[--*count]);
    *out = memory_free(*out);
    return code;
}
