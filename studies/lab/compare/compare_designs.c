/* compare_designs.c: makes the designs of a comparison of schemes: those named, controls, depths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/base/command.h"
#include "studies/lab/compare/compare.h"
#include "bridge/truncation.h"
#include "studies/model/translator.h"

static int read_depths(Study *u)
{
    Compare *c = u->more;
    char part[32];
    for (c->depths = 0; options_part(u->options, "layers", c->depths, part); c->depths++) {
        if (c->depths == COMPARE_DEPTHS)
            return error_set(ERR_INPUT, "--layers: expected at most %d numbers", COMPARE_DEPTHS);
        size_t layers = c->depth[c->depths] = strtoul(part, NULL, 10);
        for (size_t i = 0; i < c->depths; i++)
            if (c->depth[i] == layers)
                return error_set(ERR_INPUT, "--layers: %zu is there twice", layers);
    }
    return 0;
}

static int find_baseline(Study *u)
{
    const char *given = options_text(u->options, "baseline");
    char name[TABLE_NAME];
    for (u->baseline = 0; given && u->baseline < u->designs; u->baseline++)
        if (strcmp(u->design[u->baseline].name, given) == 0) return 0;
    TRY(zoo_name(given ? given : "transformer", name));
    for (u->baseline = 0; u->baseline < u->designs; u->baseline++)
        if (strcmp(u->design[u->baseline].spec.stacks.layers->name, name) == 0) return 0;
    u->baseline = 0;
    if (!given) return 0;
    return error_set(ERR_INPUT, "--baseline: '%s' is none of the schemes compared", given);
}

/* ---- schemes ------------------------------------------------------------------------------------- */

/* Returns 1 for a control of equal evaluations. */
static int is_control(const Table *t)
{
    return strncmp(t->name, "looped:", 7) == 0 || strncmp(t->name, "repeat:", 7) == 0;
}

static int add_controls(Study *u)
{
    size_t asked = u->schemes.count, added = 0;
    for (size_t i = 0; i < asked; i++) {
        char name[64];
        size_t n = table_evals(u->schemes.scheme[i], OP_F);
        if (n < 2 || n != table_evals(u->schemes.scheme[i], OP_G)) continue;
        added++;
        snprintf(name, sizeof name, "looped:%zu", n);
        TRY(select_add(name, "euler", &u->schemes));
        snprintf(name, sizeof name, "repeat:%zu", n);
        TRY(select_add(name, "euler", &u->schemes));
    }
    if (!added)
        notice_warn(
            "--controls adds none: no scheme here has N evaluations of F and as many of G, N "
            "at least 2");
    return 0;
}

static int select_schemes(Study *u)
{
    Options *o = u->options;
    TRY(select_open(o, "euler", &u->schemes));
    TRY(select_record(&u->schemes, o));
    return options_flag(o, "controls") ? add_controls(u) : 0;
}

void compare_controlled(const Study *u, const Table *t, char out[512])
{
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; is_control(t) && i < u->schemes.count && n < 512; i++) {
        const Table *s = u->schemes.scheme[i];
        if (is_control(s) || table_evals(s, OP_F) != table_evals(t, OP_F) ||
            table_evals(s, OP_G) != table_evals(t, OP_G))
            continue;
        n += (size_t)snprintf(out + n, 512 - n, "%s%s", n ? " " : "", s->name);
    }
}

int compare_beside(const StudyDesign *a, const StudyDesign *b)
{
    return spec_size(&a->spec.own, "layers") == spec_size(&b->spec.own, "layers") &&
           spec_same(&a->spec.own, &b->spec.own, SPEC_VARIED);
}

/* Finds the first design that is the same map as design i. */
static int find_same(Study *u, size_t i)
{
    StudyDesign *d = &u->design[i];
    CompareDesign *mine = d->own;
    int same = 0;
    TRY(runs_plan(u->options, &d->spec, &mine->plan));
    for (size_t j = 0; !same && j < i; j++) {
        const CompareDesign *other = u->design[j].own;
        if (u->design[j].same != j || !compare_beside(&u->design[j], d)) continue;
        TRY(plan_same(mine->plan, other->plan, &same));
        if (same) d->same = j;
    }
    return 0;
}

static int add_design(Study *u, size_t index, const Spec *own, size_t layers)
{
    const Table *t = u->schemes.scheme[index];
    RunSpec spec = {.own = *own, .stacks.layers = t};
    char name[512];
    double far[COLOURS];
    StudyDesign *d;
    spec_set(&spec.own, SPEC_OWN, "scheme", t->name);
    spec_put(&spec.own, "layers", layers);
    runs_design(&spec.own, name);
    TRY(study_add(u, name, &spec, u->seeds, &d));
    if (compare_of(u)->depths > 1)
        snprintf(d->label, sizeof d->label, "%.450s, %zu layer%s", name, layers,
                 layers == 1 ? "" : "s");
    CompareDesign *c = d->own;
    c->index = index;
    TRY(truncation_own_time(t, far));
    truncation_time(far, c->time, sizeof c->time);
    return find_same(u, u->designs - 1);
}

/* Returns ERR_INPUT if an option for pairs alone was given for a text. */
static int check_text(const Study *u)
{
    static const char *const alone[] = {"pair", "tokenize"};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (options_rank(u->options, alone[i]) == OPTION_ARGUMENT)
            return error_set(
                ERR_INPUT, "--%s: corpus %s is a text; a corpus of pairs has --source and --target",
                alone[i], u->corpus.name);
    for (const Option *p = translator_group.option; p->name; p++)
        if (options_rank(u->options, p->name) == OPTION_ARGUMENT)
            return error_set(ERR_INPUT, "--%s: corpus %s is a text, of which nothing is translated",
                             p->name, u->corpus.name);
    return 0;
}

int compare_open(Study *u)
{
    Compare *c = u->more;
    TRY(check_text(u));
    TRY(select_schemes(u));
    TRY(read_depths(u));
    TRY(compare_vary(u->options, &c->points));
    for (size_t i = 0; i < u->schemes.count * c->points * c->depths; i++) {
        const Spec own = compare_point(u->options, c->points, i / c->depths % c->points);
        TRY(add_design(u, i / c->depths / c->points, &own, c->depth[i % c->depths]));
    }
    return find_baseline(u);
}

int compare_begin(Study *u)
{
    const Options *o = u->options;
    OrderOptions how = {.halvings = 7};
    SystemChoice system = {options_text(o, "system"), options_text(o, "system-file"), 0, 0, 1};
    Compare *c = u->more;
    return u->worker.leader ? convergence_run(&system, &how, &u->schemes, &c->orders) : 0;
}

void compare_drop(void *design)
{
    plan_free(((CompareDesign *)design)->plan);
}

void compare_close(Study *u)
{
    convergence_free(&((Compare *)u->more)->orders);
}
