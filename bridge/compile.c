/* compile.c: compiles layers of a scheme to a network plan.
 *
 * A row of the table becomes one LIN (compile_rows.c), an evaluation one EVAL. */
#include "bridge/compile.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

#include <string.h>

/* ---- sublayers -------------------------------------------------------------------------------------- */

static size_t count_sets(const Table *t, int op)
{
    size_t n = 0;
    for (size_t i = 0; i < t->evals; i++) {
        size_t j = 0; /* the first evaluation of this operator and set is counted */
        if (t->eval[i].op != op || eval_point(t, (int)i)->phi) continue;
        while (t->eval[j].op != op || t->eval[j].set != t->eval[i].set) j++;
        n += j == i;
    }
    return n;
}

int bridge_inner(const Table *t, const BridgeOptions *o, size_t *inner)
{
    size_t f = count_sets(t, OP_F), g = count_sets(t, OP_G), c = count_sets(t, OP_C);
    *inner = o->inner;
    if (o->match == MATCH_NONE || t->word || g == 0) return 0;
    static const char *const loss[2][2] = {{"2 d", "4/3 d"}, {"a", "2/3 a"}};
    size_t d = o->width, rows = o->rows ? o->rows : 2 * d, matrices = o->gated ? 3 : 2;
    size_t numbers = 2 * rows * (f > 1 ? f - 1 : 0) + 4 * d * (c > 1 ? c - 1 : 0);
    size_t lost = numbers / matrices;
    if (numbers % matrices == 0 && lost < o->inner && (o->inner - lost) % g == 0) {
        *inner = (o->inner - lost) / g;
        return 0;
    }
    return error_set(
        ERR_INPUT,
        "%s: equal parameters need inner width (M - %s (f-1))/g whole and positive, but M = %zu, "
        "d = %zu, %zu attention and %zu feed-forward sets; change --inner, or use --match none",
        t->name, loss[rows != 2 * d][o->gated != 0], o->inner, o->width, f + c, g);
}

/* Finds or makes a slot. A new slot of cross-attention gets its keys and values at once, from the memory. */
static int find_slot(Compiler *c, const Eval *e)
{
    static const int kinds[COLOURS] = {
        [OP_F] = SLOT_ATTENTION, [OP_G] = SLOT_FEEDFORWARD, [OP_C] = SLOT_CROSS};
    int kind = kinds[e->op];
    int slot = plan_find_slot(c->plan, c->side, kind, compile_layer(c), e->set);
    if (slot >= 0) return slot;
    slot = plan_slot(c->plan, (PlanSlot){.kind = kind,
                                         .side = c->side,
                                         .layer = compile_layer(c),
                                         .set = e->set,
                                         .inner = e->op == OP_G ? c->inner : 0});
    if (slot < 0 || kind != SLOT_CROSS) return slot;
    int code = plan_keys(c->plan, slot, c->memory);
    return code < 0 ? code : slot;
}

/* ---- layers --------------------------------------------------------------------------------------------- */

/* Computes norm number `own` of a layer. */
static int evaluate_norm(const Compiler *c, int own, int x)
{
    PlanSlot norm = {
        .kind = SLOT_NORM, .side = c->side, .layer = compile_layer(c), .set = NORM_OWN + own};
    int slot = plan_find_slot(c->plan, c->side, SLOT_NORM, norm.layer, norm.set);
    if (slot < 0) slot = plan_slot(c->plan, norm);
    return slot < 0 ? slot : plan_norm(c->plan, slot, x);
}

static int evaluate(Compiler *c, size_t e, int x, int *slot)
{
    if (eval_point(c->table, (int)e)->phi == PHI_NORM)
        return c->k[(size_t)c->step * c->table->evals + e] =
                   evaluate_norm(c, c->table->eval[e].set, x);
    *slot = find_slot(c, &c->table->eval[e]);
    if (*slot < 0) return *slot;
    int draw = c->options->masks == MASKS_STEP ? *slot : c->draws++;
    int y = c->table->eval[e].op == OP_C
                ? plan_cross(c->plan, *slot, x, plan_find_keys(c->plan, *slot), draw)
                : plan_eval(c->plan, *slot, x, draw);
    if (c->options->output_norm && y >= 0)
        y = evaluate_norm(c, 2 * c->table->eval[e].set - (c->table->eval[e].op == OP_F), y);
    return c->k[(size_t)c->step * c->table->evals + e] = y;
}

/* Finds the term from evaluation e's argument to the next, or the update: a multiple of that slope. */
static int sub_step(const Table *t, size_t e, Row *difference)
{
    const Row *here = &t->point[t->eval[e].point].row;
    const Row *next = e + 1 < t->evals ? &t->point[t->eval[e + 1].point].row : &t->update;
    TRY(compile_difference(next, here, difference));
    const Term *s = difference->term;
    if (!t->dense && difference->terms == 1 && s->eval == (int)e && s->past == 0) return 0;
    return error_set(ERR_INPUT,
                     "%s: --norm post needs steps y + c F(y) one after another, each of which is "
                     "normalised (transformer, macaron, words, ...); evaluation %zu is followed by "
                     "another combination",
                     t->name, e + 1);
}

/* Compiles x <- LN(x + c F(x)), evaluation by evaluation. */
static int compile_post(Compiler *c)
{
    const Table *t = c->table;
    int x = c->y[c->step], slot;
    const Row *first = t->evals ? &t->point[t->eval[0].point].row : NULL;
    if (!first || !compile_is_bare(first) || first->term->eval != TABLE_STATE || first->term->past)
        return error_set(ERR_INPUT, "%s: --norm post needs a first step from y", t->name);
    for (size_t e = 0; e < t->evals; e++) {
        ROW(step);
        PlanTerm term[2] = {{.c = 1, .x = x}};
        TRY(sub_step(t, e, &step));
        int k = evaluate(c, e, x, &slot);
        if (k < 0) return k;
        TRY(compile_term(c, &step.term[0], c->step, compile_present(c), &term[1]));
        int sum = plan_lin(c->plan, 2, term);
        x = sum < 0 ? sum : plan_norm(c->plan, slot, sum);
        if (x < 0) return x;
    }
    c->y[c->step + 1] = c->plan->output = x;
    return 0;
}

static int compile_evals(Compiler *c)
{
    for (size_t e = 0; e < c->table->evals; e++) {
        int x = compile_row(c, &c->table->point[c->table->eval[e].point].row);
        if (x < 0) return x;
        int slot, k = evaluate(c, e, x, &slot);
        if (k < 0) return k;
    }
    return 0;
}

/* Computes what is carried into step `to`. */
static int compile_carried(Compiler *c, int to)
{
    for (size_t i = 0; i < c->table->carries; i++) {
        const Row *r = &c->table->carry[i].update;
        int reg = r->terms ? compile_row(c, r) : -1;
        if (reg < 0 && r->terms) return reg;
        c->carried[(size_t)to * c->table->carries + i] = reg;
    }
    return 0;
}

/* Makes the register of a quantity that begins as an embedding. */
static int begin_embedded(Compiler *c, int carry)
{
    int slot =
        plan_slot(c->plan, (PlanSlot){.kind = SLOT_WORDS, .side = c->side, .set = carry + 1});
    if (slot < 0) return slot;
    return plan_words(c->plan, slot, c->options->masks == MASKS_STEP ? slot : c->draws++);
}

/* Computes what is carried into the first step: 0, an embedding, or what the rows of the text make of y, with the first layer's
 * weights. */
static int begin_carried(Compiler *c, const Table *t)
{
    TABLE(s);
    for (size_t i = 0; i < t->carries; i++) {
        c->carried[i] = t->carry[i].embedded ? begin_embedded(c, (int)i) : -1;
        if (t->carry[i].embedded && c->carried[i] < 0) return c->carried[i];
    }
    TRY(table_starter(t, &s));
    if (!s) return 0;
    SCOPED(memory_drop) int *k = memory_new(s->evals, sizeof *k);
    int *kept = c->k;
    if (!k) return ERR_MEMORY;
    c->table = s;
    c->step = 0;
    c->k = k;
    int code = compile_evals(c);
    if (code == 0) code = compile_carried(c, 0);
    c->k = kept;
    compile_forget_rows(c);
    return code;
}

static int drop_zeros(const Compiler *c, Row *r)
{
    ROW(left);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval < TABLE_STATE && *compile_carried_register(c, c->step, s->eval) < 0) continue;
        TRY(row_add(&left, s->eval, s->past, s->c, s->symbols, s->symbol));
    }
    row_swap(r, &left);
    return 0;
}

/* Leaves out of a step's table what is carried into it and is 0. */
static int leave_zeros(const Compiler *c, Table *t)
{
    for (size_t p = 0; p < t->points; p++) TRY(drop_zeros(c, &t->point[p].row));
    for (size_t i = 0; i < t->symbols; i++)
        for (size_t k = 0; k < t->symbol[i].inputs; k++) TRY(drop_zeros(c, &t->symbol[i].input[k]));
    for (size_t i = 0; i < t->carries; i++) TRY(drop_zeros(c, &t->carry[i].update));
    return drop_zeros(c, &t->update);
}

/* Tells whether some row of a table has terms with two symbols. */
static int has_products(const Table *t)
{
    int has = 0;
    for (size_t r = 0; r <= t->points + t->carries; r++) {
        const Row *row = r < t->points    ? &t->point[r].row
                         : r == t->points ? &t->update
                                          : &t->carry[r - t->points - 1].update;
        for (size_t i = 0; i < row->terms; i++) has |= row->term[i].symbols > 1;
    }
    return has;
}

static int compile_step(Compiler *c, int last)
{
    if (c->plan->post) return compile_post(c);
    TRY(compile_evals(c));
    if (!last || c->past)
        TRY(compile_carried(c, c->step + 1)); /* nothing reads what the last layer carries */
    int reg = c->table->dense ? compile_dense(c) : compile_row(c, &c->table->update);
    if (reg < 0) return reg;
    c->y[c->step + 1] = c->plan->output = reg;
    return 0;
}

/* Compiles `layers` layers of t from the register c->y[0]. */
static int compile(Compiler *c, const Table *t, size_t layers)
{
    int steps = (int)layers * c->substeps;
    compile_forget(c);
    TRY(begin_carried(c, t));
    for (int i = 0; i < steps; i++) {
        SCOPED(table_drop) Table *step = table_start(t, i);
        if (!step) return ERR_MEMORY;
        c->table = step;
        c->step = i;
        c->products = has_products(step);
        int code = leave_zeros(c, step);
        if (code == 0) code = compile_step(c, i + 1 == steps);
        compile_forget(c);
        TRY(code);
    }
    return 0;
}

int bridge_takes(const Table *t)
{
    static const char exact[] = ":exact";
    if (table_phi(t))
        return error_set(ERR_INPUT,
                         "%s: a network has no phi functions of its sublayers' derivatives; give a "
                         "scheme of stages without them, as rk4",
                         t->name);
    if (table_implicit(t))
        return error_set(ERR_INPUT,
                         "%s: its stages are implicit, and no layer of a network solves for them; "
                         "%s:fixed-point-3 is the explicit scheme that corrects them 3 times",
                         t->name, t->name);
    if (t->start[0])
        TRY(table_refuse_carries(
            t, "a network begins it by a row, as carry v = y, and not by the scheme of `start`"));
    if (!t->flows) return 0;
    if (table_complex(t))
        return error_set(ERR_INPUT, "%s: no network takes complex fractions: its states are real",
                         t->name);
    size_t n = strlen(t->name), m = strlen(exact);
    if (n > m && strcmp(t->name + n - m, exact) == 0) n -= m;
    return error_set(ERR_INPUT, "%s: a network needs a sub-flow solver: %.*s:euler, %.*s:heun, ...",
                     t->name, (int)n, t->name, (int)n, t->name);
}

/* Tells whether a step of size 0 leaves y as it is. */
static int starts_from_y(const Table *t, const BridgeOptions *o)
{
    RATIONAL(sum);
    for (size_t i = 0; i < t->update.terms; i++)
        if (t->update.term[i].eval == TABLE_STATE) mpq_add(sum, sum, t->update.term[i].c);
    return o->norm != NORM_POST && mpq_equal(sum, rational_one);
}

/* Refuses a penalty of what has none, as bridge.h says. */
static int check_penalty(const Table *t, const BridgeOptions *o, int alone)
{
    if (!o->penalty || o->lambda == 0) return 0;
    if (!alone || o->bidirectional)
        return error_set(ERR_INPUT, "a penalty on a layer's step is of language models");
    const char *what = o->penalty == PENALISE_DISPLACEMENT  ? NULL
                       : t->symbols                         ? "learned numbers or gates"
                       : t->past_y || t->past_k || t->dense ? "earlier steps in it"
                       : t->carries                         ? "a quantity carried beside y"
                       : !starts_from_y(t, o) ? "no step of size 0 that leaves y as it is"
                                              : NULL;
    if (!what) return 0;
    return error_set(ERR_INPUT,
                     "%s has %s, and so no half step to measure its error by; a displacement is "
                     "penalised in any scheme",
                     t->name, what);
}

static int check_options(const Table *t, const BridgeOptions *o, size_t layers)
{
    TRY(bridge_takes(t));
    if (o->output_norm && (o->norm == NORM_POST || table_has(t, HAS_NORM) || t->colours > 2))
        return error_set(ERR_INPUT,
                         "%s: a norm behind each sublayer is for language models with norms before "
                         "sublayers and schemes without their own",
                         t->name);
    if (o->norm == NORM_POST)
        TRY(table_refuse_carries(t, "--norm post normalises one state, and has no rule for it"));
    if (layers < 1 || layers > 10000)
        return error_set(ERR_INPUT, "expected 1 to 10000 layers; %zu are asked for", layers);
    if (o->substeps > 1 && (t->symbols || o->substeps > 10000 / layers))
        return error_set(ERR_MISUSE, "%s: %zu sub-steps need a frozen table, and 10000 in all",
                         t->name, o->substeps);
    return 0;
}

/* ---- penalties ------------------------------------------------------------------------------------------ */

/* Compiles two half steps of t from register y with the weights of a layer; returns their register. */
static int add_halves(Compiler *half, const Table *t, int layer, int y)
{
    half->y[2 * layer] = y;
    for (half->step = 2 * layer; half->step < 2 * layer + 2; half->step++) {
        half->table = t;
        int code = compile_step(half, 1);
        compile_forget(half);
        TRY(code);
    }
    return half->y[2 * layer + 2];
}

/* Adds the penalty of a layer's step, from register y to `next`. */
static int add_ratio(Compiler *half, const Table *t, int layer, int y, int next)
{
    Plan *p = half->plan;
    const BridgeOptions *o = half->options;
    int d = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = next}, {.c = -1, .x = y}});
    if (d < 0) return d;
    if (o->penalty == PENALISE_DISPLACEMENT) return plan_penalty(p, o->lambda, d, y);
    int z = add_halves(half, t, layer, y);
    if (z < 0) return z;
    int e = plan_lin(p, 2, (PlanTerm[]){{.c = 1, .x = next}, {.c = -1, .x = z}});
    return e < 0 ? e : plan_penalty(p, o->lambda, e, d);
}

/* Adds the penalties of all layers behind the network. */
static int add_penalties(const Compiler *c, const Table *t, size_t layers)
{
    Compiler half = *c;
    int code = 0, output = c->plan->output;
    if (!c->options->penalty || c->options->lambda == 0) return 0;
    half.substeps = 2;
    half.y = memory_new(2 * layers + 1, sizeof(int));
    half.k = memory_new(2 * layers * t->evals, sizeof(int));
    half.list = NULL;
    if (!half.y || !half.k) code = ERR_MEMORY;
    plan_end(c->plan);
    for (size_t l = 0; l < layers && code >= 0; l++)
        code = add_ratio(&half, t, (int)l, c->y[l], c->y[l + 1]);
    c->plan->output = output;
    memory_free_all(half.list, half.y, half.k);
    return code < 0 ? code : 0;
}

/* Adds `layers` layers of t to the plan, from register `begin` of a side; with its registers of the states in s. */
static int add_layers(Plan *plan, const Table *t, const BridgeOptions *o, size_t layers, int side,
                      int begin, int memory, int *draws, PlanStates *s)
{
    Compiler c = {.options = o,
                  .table = t,
                  .plan = plan,
                  .side = side,
                  .memory = memory,
                  .past = s->last && s->carried[side],
                  .substeps = o->substeps > 1 ? (int)o->substeps : 1,
                  .draws = *draws};
    TRY(bridge_inner(t, o, &c.inner));
    size_t steps = layers * (size_t)c.substeps;
    c.y = memory_new(steps + 1, sizeof(int));
    c.k = memory_new(steps * t->evals, sizeof(int));
    c.carried = memory_new((steps + 1) * t->carries, sizeof(int));
    c.symbol = memory_new(t->symbols, sizeof(int));
    int code = c.y && c.k && c.carried && c.symbol ? 0 : ERR_MEMORY;
    if (code == 0) c.y[0] = begin;
    if (code == 0) code = compile(&c, t, layers);
    if (code == 0) code = add_penalties(&c, t, layers);
    size_t every = (size_t)c.substeps, n = t->carries;
    for (size_t l = 0; s->at[side] && code == 0 && l <= layers; l++)
        s->at[side][l] = c.y[l * every];
    for (size_t i = 0; s->carried[side] && code == 0 && i < (layers + (size_t)s->last) * n; i++)
        s->carried[side][i] = c.carried[i / n * every * n + i % n];
    *draws = c.draws;
    memory_free_all(c.list, c.y, c.k, c.carried, c.symbol);
    return code;
}

/* ---- sides ---------------------------------------------------------------------------------------------- */

static int check_colours(const Table *encoder, const Table *decoder)
{
    static const char reads[] = "%s: its C is cross-attention, which reads an encoder's output%s";
    if (encoder && encoder->colours > 2)
        return error_set(ERR_INPUT, reads, encoder->name, "; an encoder takes a scheme of F and G");
    if (encoder && decoder->colours == 2)
        return error_set(ERR_INPUT,
                         "%s: a decoder reads the encoder's output by C; %s-decoder has it",
                         decoder->name, decoder->name);
    if (!encoder && decoder->colours > 2)
        return error_set(ERR_INPUT, reads, decoder->name,
                         ", and a language model has no encoder; take a scheme of F and G");
    return 0;
}

/* Returns the encoder's output; where no norm stands behind the last sum it adds one with a separate slot. */
static int add_memory(Plan *plan)
{
    if (plan->post) return plan->output;
    int slot = plan_slot(plan, (PlanSlot){.kind = SLOT_NORM, .side = SIDE_SOURCE, .set = 1});
    return slot < 0 ? slot : plan_norm(plan, slot, plan->output);
}

/* Returns the register that a side's first layer reads: its input, or the norm of it. */
static int add_input(Plan *plan, const BridgeOptions *o, int side)
{
    if (!o->input_norm) return side;
    if (!plan->post)
        return error_set(ERR_INPUT, "a norm behind the input needs norms behind the sublayers");
    int slot = plan_slot(plan, (PlanSlot){.kind = SLOT_NORM, .side = side, .set = 2});
    return slot < 0 ? slot : plan_norm(plan, slot, side);
}

static int add_sides(Plan *plan, const Table *encoder, const Table *decoder, const BridgeOptions *o,
                     size_t above, PlanStates *s)
{
    int draws = 0, begin;
    s->memory = -1;
    if (encoder) {
        if ((begin = add_input(plan, o, SIDE_SOURCE)) < 0) return begin;
        TRY(add_layers(plan, encoder, o, above, SIDE_SOURCE, begin, -1, &draws, s));
        s->memory = add_memory(plan);
        if (s->memory < 0) return s->memory;
    }
    if ((begin = add_input(plan, o, SIDE_TARGET)) < 0) return begin;
    return add_layers(plan, decoder, o, o->layers, SIDE_TARGET, begin, s->memory, &draws, s);
}

int bridge_plan_states(const Table *encoder, const Table *decoder, const BridgeOptions *o,
                       Plan **out, PlanStates *states)
{
    PlanStates untold = {0};
    size_t above = o->encoder_layers ? o->encoder_layers : o->layers;
    *out = NULL;
    if (encoder) TRY(check_options(encoder, o, above));
    TRY(check_options(decoder, o, o->layers));
    TRY(check_colours(encoder, decoder));
    TRY(check_penalty(decoder, o, !encoder));
    SCOPED(plan_drop)
    Plan *plan = encoder ? plan_new_pair(above, o->layers) : plan_new(o->layers);
    if (!plan) return ERR_MEMORY;
    plan->post = o->norm == NORM_POST;
    plan->bidirectional = !encoder && o->bidirectional;
    plan->output_norm = o->output_norm;
    TRY(add_sides(plan, encoder, decoder, o, above, states ? states : &untold));
    *out = plan;
    plan = NULL;
    return 0;
}

int bridge_plan_pair(const Table *encoder, const Table *decoder, const BridgeOptions *o, Plan **out)
{
    return bridge_plan_states(encoder, decoder, o, out, NULL);
}

int bridge_plan(const Table *t, const BridgeOptions *o, Plan **out)
{
    return bridge_plan_states(NULL, t, o, out, NULL);
}
