/* compare_runs.c: lists the runs of a comparison: its schemes, controls, cells and contrasts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "studies/tools/command.h"
#include "studies/compare/compare.h"
#include "studies/model/network.h"
#include "studies/tools/output.h"

void compare_cell_name(const Compare *u, const Cell *c, char out[CELL_NAME])
{
    int n = snprintf(out, CELL_NAME, "%s", c->scheme->name);
    if (u->depths > 1)
        snprintf(out + n, CELL_NAME - (size_t)n, ", %zu layer%s", c->layers,
                 c->layers == 1 ? "" : "s");
}

const RunErrors compare_unmeasured = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* ---- cells ----------------------------------------------------------------------------------- */

static int read_depths(Compare *u)
{
    char part[32];
    for (u->depths = 0; options_part(u->options, "layers", u->depths, part); u->depths++) {
        if (u->depths == COMPARE_DEPTHS)
            return error_set(ERR_INPUT, "--layers: expected at most %d numbers", COMPARE_DEPTHS);
        size_t layers = u->depth[u->depths] = strtoul(part, NULL, 10);
        for (size_t i = 0; i < u->depths; i++)
            if (u->depth[i] == layers)
                return error_set(ERR_INPUT, "--layers: %zu is there twice", layers);
    }
    return 0;
}

static int find_baseline(Compare *u)
{
    const char *given = options_text(u->options, "baseline");
    char name[TABLE_NAME];
    TRY(zoo_name(given ? given : "transformer", name));
    u->baseline = 0;
    for (size_t i = 0; i < u->schemes.count; i++)
        if (strcmp(u->schemes.scheme[i]->name, name) == 0) {
            u->baseline = i;
            return 0;
        }
    if (!given) return 0;
    return error_set(ERR_INPUT, "--baseline: '%s' is none of the schemes compared", given);
}

/* ---- contrasts ------------------------------------------------------------------------------- */

/* Returns the scheme that is called so, as the zoo spells it; the number of schemes: it is not compared. */
static size_t find_scheme(const void *study, const char *given)
{
    const Compare *u = study;
    char name[TABLE_NAME];
    size_t i = 0;
    if (zoo_name(given, name) != 0) return u->schemes.count;
    while (i < u->schemes.count && strcmp(u->schemes.scheme[i]->name, name) != 0) i++;
    return i;
}

static int check_contrasts(const Compare *u)
{
    const char *text;
    double *weight = memory_new(u->schemes.count, sizeof *weight);
    int code = weight ? 0 : ERR_MEMORY;
    for (size_t i = 0; code == 0 && (text = options_item(u->options, "contrast", i)); i++)
        code = differences_contrast("--contrast", text, find_scheme, u, u->schemes.count, weight);
    memory_free(weight);
    return code;
}

int compare_contrast(const Compare *u, const char *text, char **out)
{
    Output o;
    TRY(output_open(&o));
    for (size_t n; *text; text += n + strspn(text + n, " ")) {
        char word[TABLE_NAME];
        n = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, text);
        size_t i = find_scheme(u, word);
        fprintf(o.f, "%s ", i < u->schemes.count ? u->schemes.scheme[i]->name : word);
    }
    return output_take(&o, 0, out);
}

static int make_plan(const Compare *u, const Cell *c, Plan **out)
{
    BridgeOptions o = network_bridge(u->options);
    o.layers = c->layers;
    return bridge_plan(c->scheme, &o, out);
}

/* Returns 1 for a control of equal evaluations. */
static int is_control(const Table *t)
{
    return strncmp(t->name, "looped:", 7) == 0 || strncmp(t->name, "repeat:", 7) == 0;
}

/* Writes the names of dial:S-THETA at the multiples m / 4 of 1/(S-1), the level of order 2, and at 1/S, from the least
 * on. Returns their length. */
static size_t write_dial(size_t S, char *names)
{
    static const size_t quarters[] = {0, 2, 3, 4, 5, 6, 8};
    size_t n = 0, last = 0;
    for (size_t i = 0; i < sizeof quarters / sizeof *quarters; i++) {
        size_t m = quarters[i];
        if (last * S < 4 * (S - 1) && m * S > 4 * (S - 1))
            n += (size_t)sprintf(names + n, "dial:%zu-1/%zu,", S, S);
        n += (size_t)sprintf(names + n, "dial:%zu-%zu/%zu,", S, m, 4 * (S - 1));
        last = m;
    }
    return n;
}

/* Writes the names of all levels of --dial, separated by commas; NULL: it is not given. Caller: memory_free. */
static int write_dials(const Options *o, char **names)
{
    enum { ROOM = 8 * 32 }; /* of a dial: eight levels */
    char part[32];
    size_t n = 0;
    *names = NULL;
    for (size_t i = 0; options_text(o, "dial") && options_part(o, "dial", i, part); i++) {
        char *grown = memory_grow(*names, i * ROOM, (i + 1) * ROOM, 1);
        if (!grown) {
            *names = memory_free(*names);
            return ERR_MEMORY;
        }
        *names = grown;
        n += write_dial(strtoul(part, NULL, 10), grown + n);
    }
    if (n) (*names)[n - 1] = '\0';
    return 0;
}

static int add_controls(Compare *u)
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

int compare_select(Compare *u)
{
    Options *o = u->options;
    char *dials;
    TRY(write_dials(o, &dials));
    int code = 0,
        alone = options_rank(o, "scheme") == OPTION_DEFAULT && !options_item(o, "scheme-file", 0);
    if (dials && alone) code = options_set(o, OPTION_DEFAULT, "", "scheme", dials);
    if (code == 0) code = select_open(o, "euler", &u->schemes);
    if (code == 0) code = select_record(&u->schemes, o);
    if (code == 0 && dials) code = select_add(dials, "euler", &u->schemes);
    if (code == 0 && options_flag(o, "controls")) code = add_controls(u);
    memory_free(dials);
    return code;
}

void compare_controlled(const Compare *u, const Table *t, char out[512])
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

static int find_same(Compare *u, size_t i)
{
    Cell *c = &u->cell[i];
    Plan *mine, *other;
    int code = 0, same = 0;
    c->same = i;
    TRY(make_plan(u, c, &mine));
    for (size_t j = 0; code == 0 && !same && j < i; j++) {
        if (u->cell[j].layers != c->layers || u->cell[j].same != j) continue;
        code = make_plan(u, &u->cell[j], &other);
        if (code != 0) break;
        code = plan_same(mine, other, &same);
        plan_free(other);
        if (same) c->same = j;
    }
    plan_free(mine);
    return code;
}

static int open_cell(Compare *u, size_t i, const Backend *b)
{
    Cell *c = &u->cell[i];
    *c = (Cell){.index = i / u->depths, .layers = u->depth[i % u->depths]};
    c->scheme = u->schemes.scheme[c->index];
    snprintf(c->rate, sizeof c->rate, "%s", options_text(u->options, "rate"));
    snprintf(c->dropout, sizeof c->dropout, "%s", options_text(u->options, "dropout"));
    c->result = memory_new(u->seeds, sizeof *c->result);
    c->errors = memory_new(u->seeds, sizeof *c->errors);
    c->gaining = memory_new(u->seeds, sizeof *c->gaining);
    if (!c->result || !c->errors || !c->gaining) return ERR_MEMORY;
    for (size_t k = 0; k < u->seeds; k++) {
        c->result[k] = runs_none;
        c->gaining[k] = NAN;
        c->errors[k] = compare_unmeasured;
    }
    RunSpec spec = {.scheme = c->scheme, .layers = c->layers};
    TRY(runs_check(u->options, &spec, u->corpus.vocab.size, b, &c->numbers));
    return find_same(u, i);
}

int compare_open(Compare *u)
{
    const Backend *b;
    TRY(read_depths(u));
    TRY(find_baseline(u));
    TRY(check_contrasts(u));
    TRY(network_backend(u->options, &b));
    u->cells = u->schemes.count * u->depths;
    u->cell = memory_new(u->cells, sizeof *u->cell);
    if (!u->cell) return ERR_MEMORY;
    for (size_t i = 0; i < u->cells; i++) TRY(open_cell(u, i, b));
    return 0;
}

void compare_close(Compare *u)
{
    for (size_t i = 0; u->cell && i < u->cells; i++) {
        memory_free(u->cell[i].result);
        memory_free(u->cell[i].errors);
        memory_free(u->cell[i].gaining);
    }
    memory_free(u->cell);
    Sheet *const sheets[] = {u->table,  u->differences, u->correlations, u->curves,
                             u->epochs, u->choices,     u->dial,         u->regression};
    for (size_t i = 0; i < sizeof sheets / sizeof *sheets; i++) sheet_free(sheets[i]);
    for (size_t i = 0; i < sizeof u->own / sizeof *u->own; i++) memory_free(u->own[i]);
    runtable_close(&u->runtable);
    runs_close(&u->runs);
    convergence_free(&u->orders);
    corpus_free(&u->corpus);
    select_close(&u->schemes);
}

RunSpec compare_spec(const Compare *u, const Cell *c, size_t k)
{
    return (RunSpec){.scheme = c->scheme,
                     .layers = c->layers,
                     .seed = u->seed + k,
                     .rate = c->rate,
                     .dropout = c->dropout,
                     .numbers = c->numbers};
}

const RunDesign *compare_design(const Compare *u, const Cell *c)
{
    return &u->runtable.design[c - u->cell];
}

int compare_diverged(const Compare *u, const Cell *c)
{
    return runs_diverged(c->result, u->seeds, u->corpus.vocab.size);
}
