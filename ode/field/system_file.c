/* system_file.c: reads a user's own particle system from a text in the manner of schemes.
 *
 *     system swarm                            # begins the file; the name in tables and plots
 *     title  Attraction at a distance, repulsion nearby
 *     source own
 *     n 16                                    # particles, and coordinates of each: before the first
 *     d 2                                     #   expression; --particles and --dim override them
 *     param a = 1/2                           # a constant, of earlier ones
 *     F = mean (z - y)*(a - exp(-r2))         # interaction: sum, mean or softmax over the others
 *     G1 = -y1                                # drift of coordinate 1; `G = ...` is every one's
 *     G2 = sin(t) - y2^3
 *     memory 4                                # particles at rest, which C sees: that of decoders' schemes
 *     memory = cos(2*pi*i/4)                  # where they are, like initial; or memory1 = ..., memory2 = ...
 *     C = softmax dot : z                     # interaction with all of them: sum, mean or softmax
 *     initial = cos(2*pi*i/n) + normal/10     # or initial1 = ..., initial2 = ..., or initial = 2, 0: one a coordinate
 *     t-end 1                                 # or t-end = 1, as n = 16, d = 2, h0 = 1/8
 *     h0 1/8
 *
 * `t-whole 321.8122` is an end later than t-end, to which runs by tolerance go: that of the literature, where explicit steps of
 * one length would be too many. `small 1e-6` says how small coordinates are: `solve --rtol X` alone takes an absolute tolerance of 1e-6 X. `end = ...` has the state of all particles at that end (without t-whole at t-end), from the
 * initial state and parameters of the text (so has t-whole no meaning with others); `solve` tells errors there against it.
 *
 * Without a line n there is one particle for each d numbers of a list `initial = ...`, which may have those of all particles, one
 * particle after the other; without a list there are 8 where a rule tells particles apart (sum, z, y[i+1], i, n, normal, ...), and
 * one where none does, as the others would be copies of it.
 *
 *     F  = sum V       sum of V over the others j /= i         mean V: the same, divided by n
 *     F  = softmax S : V    sum over all j, i too, of V with weights exp(S) / sum exp(S)
 *     F  = own V       V of the particle alone: one part of a split, such as the stiff part of an equation
 *     F  = k*(y[i+1] - 2*y + y[i-1])    neighbours on a grid, in G too; beyond its ends they are 0, or x by a line `ends x`;
 *                      a line `ring` joins the ends
 *
 *     y1' = y2                     the right side of a coordinate, or with y' = ... of all, where nobody splits it: it is G,
 *                      and F is not written. There are as many coordinates as the largest number says, if no line d does
 *     0 = y1 + y2 - 1  an equation without derivatives, or one whose left side is a sum of them with constant factors,
 *     -a*y1' + a*y2' = y1          beside y1' = ...: M y' = G(y), M the same for every particle and perhaps singular. Such an
 *                      equation stands in the first place that no y1' = ... has; there are as many coordinates as equations
 *     dy1'/dy2 = 1     an entry of the Jacobian of equations y1' = ... of a particle alone; where one is written those that are not are 0.
 *                      Implicit schemes then take it, and no differences, up to 600 unknowns; of many particles they take differences
 *                      in a band. Each entry is held to differences at a few states when the file is read
 *     y'' = -y                     second order, before F, G and initial: the state is positions y and as many velocities y',
 *                      F the kick y'' and G the drift y'. y1'' = ... is one coordinate's; sum, mean and neighbours are as in F.
 *                      `initial` has the positions, or positions and velocities; without y' and t both flows are closed
 *     energy = y'^2/2 + y^2/2      an invariant, summed over the particles, for `order --invariant`
 *     param m = 1, 2, 3            a vector: m[i], m[j] of a particle, m[c] of a coordinate, m[2]
 *
 * In an expression: + - * / ^ ( ), sqrt exp log sin cos tan tanh abs, heaviside (0 below 0, else 1), numbers, parameters, pi, n, d; y the coordinate
 * in hand of particle i, y1 .. yd all of them, z and z1 .. zd those of particle j (in F, and in C, where j is of the
 * memory), r2 and r the squared distance of i and j and its root, dot their scalar product; i, j, c: numbers of the
 * particles and of the coordinate, from 1; t the time. In `initial` and `memory`: i, c, `uniform` in (0, 1) and
 * `normal`, a draw for each coordinate (--seed). `exact = cos(t), -sin(t)`, in i, c and t, is the solution where it is known:
 * the reference, which every use checks against an integrator. A rule that is not written is 0. There are no closed sub-flows: exact
 * ones come from the reference integrator.
 *
 * This file builds the system of what system_statement.c reads, a line at a time; formula.c compiles the expressions and program.c runs
 * them. Limits: see the enums here and in program.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/file.h"
#include "kernels/base/scoped.h"
#include "kernels/base/plain_text.h"
#include "ode/field/program.h"

enum { FILE_MAX = 1 << 22, LINE_MAX_BYTES = FILE_MAX, USUAL = 8 };

/* ---- the file ------------------------------------------------------------------------------------ */

/* Returns ERR_INPUT where an option is no parameter. */
static int check_options(const Reader *p)
{
    char list[512] = "";
    for (int i = 0; i < p->params; i++) {
        size_t used = strlen(list);
        if (!p->param[i].count) snprintf(list + used, sizeof list - used, " %s", p->param[i].name);
    }
    for (const char *at = p->options; at && *at; at += strcspn(at, ":")) {
        size_t n = strcspn(++at, "=:");
        int i = 0;
        while (i < p->params && (p->param[i].count || strlen(p->param[i].name) != n ||
                                 strncmp(p->param[i].name, at, n) != 0))
            i++;
        if (i == p->params || at[n] != '=')
            return error_set(ERR_INPUT, "system %s: expected NAME=NUMBER, NAME of%s; not '%.*s'",
                             p->formulas->name, *list ? list : " none", (int)strcspn(at, ":"), at);
    }
    return 0;
}

/* Puts the options behind the name: they make another system. */
static void name_options(Reader *p)
{
    char *name = p->formulas->name;
    size_t used = strlen(name);
    snprintf(name + used, sizeof p->formulas->name - used, "%s", p->options ? p->options : "");
}

static int read_lines(Reader *p, const char *text, size_t bytes)
{
    const char *end = text + bytes;
    for (const char *at = text; at < end; p->cursor.line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        const char *hash = memchr(at, '#', (size_t)(stop - at));
        p->cursor.begin = p->cursor.at = at;
        p->cursor.end = hash ? hash : stop;
        if (stop - at > LINE_MAX_BYTES)
            return cursor_error(&p->cursor, "expected a line of at most %d bytes", LINE_MAX_BYTES);
        if (memchr(at, '\0', (size_t)(stop - at)))
            return cursor_error(&p->cursor, "expected a text; there is a NUL byte");
        TRY(system_statement(p));
        at = stop + 1;
    }
    return 0;
}

static int check(const Reader *p)
{
    const char *file = p->cursor.file;
    if (p->whole &&
        (formulas_have(p->formulas, RULE_F, p->d) || formulas_have(p->formulas, RULE_C, p->d)))
        return error_set(ERR_INPUT, "%s: y' = ... is the whole right side: expected no F and no C",
                         file);
    if (!*p->formulas->name) return error_set(ERR_INPUT, "%s: expected 'system NAME'", file);
    if (!formulas_have(p->formulas, RULE_F, p->d) && !formulas_have(p->formulas, RULE_G, p->d))
        return error_set(ERR_INPUT, "%s: expected an interaction F or a drift G", file);
    int C = formulas_have(p->formulas, RULE_C, p->d),
        memory = formulas_have(p->formulas, RULE_MEMORY, p->d);
    if (C && (!p->memory || !memory))
        return error_set(
            ERR_INPUT, "%s: expected the memory that C reads: 'memory N' and 'memory = ...'", file);
    if (!C && (p->memory || memory))
        return error_set(ERR_INPUT, "%s: expected an interaction C, which reads the memory", file);
    for (size_t c = 0; formulas_have(p->formulas, RULE_EXACT, p->d) && c < p->d; c++)
        if (!p->formulas->rule[RULE_EXACT][c].line)
            return error_set(ERR_INPUT, "%s: expected the exact solution of coordinate %zu too",
                             file, c + 1);
    for (size_t c = 0; p->formulas->massive && c < p->d; c++)
        if (!p->formulas->rule[RULE_G][c].line)
            return error_set(ERR_INPUT, "%s: expected %zu equations, one a coordinate", file, p->d);
    if (p->partials && (!p->whole || p->formulas->massive))
        return error_set(ERR_INPUT, "%s:%zu: a Jacobian belongs to equations y1' = ... alone", file,
                         p->partial->line);
    if (p->partials && program_sees(p->formulas, RULE_G, p->d) != 1)
        return error_set(
            ERR_INPUT,
            "%s:%zu: a Jacobian belongs to particles that do not see each other; that of "
            "neighbours is taken by differences",
            file, p->partial->line);
    if (!formulas_have(p->formulas, RULE_INITIAL, p->d))
        return error_set(ERR_INPUT, "%s: expected an initial state: 'initial = ...'", file);
    if (p->end && !p->n_given && !p->d_given && p->end_values != p->n * p->d)
        return error_set(ERR_INPUT,
                         "%s: end: expected %zu numbers, those of all particles; there are %zu",
                         file, p->n * p->d, p->end_values);
    if (p->n * p->d > SIZE_LIMIT || p->memory * p->d > SIZE_LIMIT)
        return error_set(ERR_INPUT, "%s: expected at most %d coordinates in all; there are %zu",
                         file, SIZE_LIMIT, (p->n > p->memory ? p->n : p->memory) * p->d);
    return 0;
}

/* Puts the operations behind the formulas, which are one piece of memory then, and joins those of the interactions. */
static int pack(Reader *p)
{
    Formulas *f = p->formulas;
    const size_t ops = (size_t)f->ops * sizeof *f->op, partials = p->partials * sizeof *p->partial,
                 F = program_operations(f, RULE_F, p->d), C = program_operations(f, RULE_C, p->d);
    if (F > PROGRAM_NODES || C > PROGRAM_NODES)
        return error_set(ERR_INPUT, "%s: expected interactions of at most %d operations",
                         p->cursor.file, PROGRAM_NODES);
    Formulas *all =
        memory_grow(f, sizeof *f, sizeof *f + ops + (F + C) * sizeof(Node) + partials, 1);
    if (!all) return ERR_MEMORY;
    all->partial = (Partial *)(void *)(all + 1);
    all->partials = p->partials;
    if (partials) memcpy(all->partial, p->partial, partials);
    Op *op = (Op *)(void *)(all->partial + p->partials);
    memcpy(op, all->op, ops);
    memory_free(all->op);
    all->op = op;
    all->joint[0].node = (Node *)(void *)(op + all->ops);
    all->joint[1].node = all->joint[0].node + F;
    program_join(all, RULE_F, p->d);
    program_join(all, RULE_C, p->d);
    p->formulas = all;
    p->packed = 1;
    return 0;
}

static int build(Reader *p, uint64_t seed, System **out)
{
    TRY(pack(p));
    System *s = memory_new(1, sizeof *s);
    int flows = p->formulas->second > 0 && !p->timed;
    if (!s) return ERR_MEMORY;
    *s = (System){.name = p->formulas->name,
                  .title = p->formulas->title,
                  .source = p->formulas->source,
                  .n = p->n,
                  .d = p->d,
                  .field = {program_interact, program_drift, p->memory ? program_remember : NULL},
                  .flow = {flows && !p->moved ? program_kick : NULL, flows ? program_coast : NULL},
                  .solution = formulas_have(p->formulas, RULE_EXACT, p->d) ? program_exact : NULL,
                  .energy = formulas_have(p->formulas, RULE_ENERGY, 1) ? program_energy : NULL,
                  .jacobian = p->partials ? program_jacobian : NULL,
                  .t_end = p->t_end,
                  .t_whole = p->changed ? 0 : p->t_whole,
                  .small = p->small,
                  .end = p->end && !p->changed && p->end_values == p->n * p->d
                             ? p->formulas->vector + p->end - 1
                             : NULL,
                  .h0 = p->h0 > 0 ? p->h0 : p->t_end / 4,
                  .special = !p->formulas->second ? 0
                             : p->moved           ? SEPARABLE_G
                                                  : SEPARABLE,
                  .timed = p->timed,
                  .ring = p->formulas->ring,
                  .mass = p->formulas->massive ? p->formulas->mass : NULL};
    s->initial = memory_new(p->n * p->d, sizeof(double));
    p->formulas->memory = p->memory;
    s->param = memory_new((p->n + p->memory) * p->d, sizeof(double));
    if (!s->initial || !s->param) {
        system_free(s);
        return ERR_MEMORY;
    }
    if (!*p->formulas->title)
        snprintf(p->formulas->title, sizeof p->formulas->title, "a user's own system");
    for (int op = 0; op < COLOURS; op++)
        if (s->field[op]) {
            s->special |= program_linear(p->formulas, op, p->d) << op;
            s->absent |= !formulas_have(p->formulas, op, p->d) << op;
            s->sees[op] = program_sees(p->formulas, op, p->d);
        }
    p->formulas->params = p->params;
    memcpy(p->formulas->param, p->param, sizeof p->param);
    s->context = p->formulas;
    p->formulas = NULL;
    int code = program_start(s, p->cursor.file, seed);
    if (code != 0)
        system_free(s);
    else
        *out = s;
    return code;
}

static void reader_free(Reader *p)
{
    if (p->formulas && !p->packed) memory_free(p->formulas->op);
    memory_free_all(p->formulas, p->partial);
}

int system_parse_with(const char *file, const char *text, size_t bytes, const char *options,
                      size_t particles, size_t dim, uint64_t seed, System **out)
{
    SCOPED(reader_free)
    Reader p = {.cursor = {.file = file, .line = 1},
                .n_given = particles,
                .d_given = dim,
                .options = options,
                .t_end = 1};
    p.n = particles ? particles : USUAL;
    p.d = dim ? dim : 1;
    if (p.n > SIZE_LIMIT || p.d > SYSTEM_D_MAX)
        return error_set(ERR_INPUT, "%s: expected at most %d particles of at most %d coordinates",
                         file, SIZE_LIMIT, SYSTEM_D_MAX);
    p.formulas = memory_new(1, sizeof *p.formulas);
    if (!p.formulas) return ERR_MEMORY;
    system_survey(&p, text, bytes);
    TRY(read_lines(&p, text, bytes));
    if (!p.n_found && !p.several) p.n = 1;
    TRY(check(&p));
    TRY(check_options(&p));
    name_options(&p);
    return build(&p, seed, out);
}

int system_parse(const char *file, const char *text, size_t bytes, size_t particles, size_t dim,
                 uint64_t seed, System **out)
{
    return system_parse_with(file, text, bytes, NULL, particles, dim, seed, out);
}

int system_read(const char *file, const char *options, size_t particles, size_t dim, uint64_t seed,
                System **out)
{
    SCOPED(memory_drop) char *text = NULL;
    size_t bytes;
    TRY(file_whole(file, FILE_MAX + 1, &text, &bytes));
    if (bytes > FILE_MAX)
        return error_set(ERR_INPUT, "%s: expected a system file of at most 4 MiB", file);
    size_t mark = text_mark(text, bytes);
    return system_parse_with(file, text + mark, bytes - mark, options, particles, dim, seed, out);
}
