/* compile.c: compiles layers of a scheme to a network plan.
 *
 * A row of the table becomes one LIN, an evaluation one EVAL; a row that is the bare state costs
 * nothing. Rows of a layer are kept with their registers, so equal rows share one, and a row that
 * differs from an earlier one by few terms is written as that one plus the difference: a chain of
 * sublayers (a word, looped:N) costs two terms a link, not one more each. Where learned numbers are multiplied, as in sums named
 * by `let`, what one of them multiplies is a row too. Symbols become scalars and
 * gates of the plan when a row first needs them. */
#include "bridge/bridge.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

#include <string.h>

typedef struct {
    Row row; /* row of the table, symbols included */
    int reg;
} Known;

typedef struct {
    const Table *table; /* table of the layer that is compiled */
    const BridgeOptions *options;
    Plan *plan;
    int side;   /* SIDE_TARGET or SIDE_SOURCE of the layers that are compiled */
    int memory; /* register that cross-attention reads, in a plan of two sides */
    size_t inner;
    int substeps; /* steps a layer, of size 1 / substeps */
    int step;     /* the step that is compiled, counted over all layers */
    int *y;       /* (steps+1) register of the state entering a step */
    int *k;       /* (steps, evals) register of an evaluation */
    /* (steps+1, carries) register of a carried quantity entering a step; -1: it is 0 */
    int *carried;
    int *symbol; /* (symbols) scalar or gate index in this layer, -1: not yet */
    size_t known;
    Known *list;
    int draws;
    int products; /* some of the rows have terms with two symbols */
} Compiler;

/* Returns the layer whose weights a step reads. */
static int layer_of(const Compiler *c)
{
    return c->step / c->substeps;
}

/* ---- sublayers -------------------------------------------------------------------------------------- */

static size_t count_sets(const Table *t, int op)
{
    size_t n = 0;
    for (size_t i = 0; i < t->evals; i++) {
        size_t j = 0; /* the first evaluation of this operator and set is counted */
        if (t->eval[i].op != op) continue;
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
    static const char *const loss[2][2] = {{"2 d", "4/3 d"}, {"(d + e)", "2/3 (d + e)"}};
    size_t d = o->width, keys = o->keys ? o->keys : d, matrices = o->gated ? 3 : 2;
    size_t numbers = 2 * (d + keys) * (f > 1 ? f - 1 : 0) + 4 * d * (c > 1 ? c - 1 : 0);
    size_t lost = numbers / matrices;
    if (numbers % matrices == 0 && lost < o->inner && (o->inner - lost) % g == 0) {
        *inner = (o->inner - lost) / g;
        return 0;
    }
    return error_set(
        ERR_INPUT,
        "%s: equal parameters need inner width (M - %s (f-1))/g whole and positive, but M = %zu, "
        "d = %zu, %zu attention and %zu feed-forward sets; change --inner, or use --match none",
        t->name, loss[keys < d][o->gated != 0], o->inner, o->width, f + c, g);
}

/* Finds or makes a slot. A new slot of cross-attention gets its keys and values at once, from the memory. */
static int find_slot(Compiler *c, const Eval *e)
{
    static const int kinds[COLOURS] = {
        [OP_F] = SLOT_ATTENTION, [OP_G] = SLOT_FEEDFORWARD, [OP_C] = SLOT_CROSS};
    int kind = kinds[e->op];
    int slot = plan_find_slot(c->plan, c->side, kind, layer_of(c), e->set);
    if (slot >= 0) return slot;
    slot = plan_slot(c->plan, (PlanSlot){.kind = kind,
                                         .side = c->side,
                                         .layer = layer_of(c),
                                         .set = e->set,
                                         .inner = e->op == OP_G ? c->inner : 0});
    if (slot < 0 || kind != SLOT_CROSS) return slot;
    int code = plan_keys(c->plan, slot, c->memory);
    return code < 0 ? code : slot;
}

/* ---- rows --------------------------------------------------------------------------------------------- */

static int row_register(Compiler *c, const Row *r);

/* Returns the index of a symbol's scalar or gate in this layer, and makes it at its first use. */
static int find_symbol(Compiler *c, int index)
{
    const Symbol *s = &c->table->symbol[index];
    if (c->symbol[index] >= 0) return c->symbol[index];
    if (s->kind == SYMBOL_LEARN) {
        size_t size = c->table->dense ? (size_t)c->step + 1 : 1;
        return c->symbol[index] = plan_scalar(c->plan, c->side, layer_of(c), s->name, size,
                                              table_double(s->start));
    }
    SCOPED(memory_drop) int *x = memory_new(s->inputs, sizeof(int));
    if (!x) return ERR_MEMORY;
    int reg = 0;
    for (size_t i = 0; i < s->inputs && reg >= 0; i++) reg = x[i] = row_register(c, &s->input[i]);
    int act = s->kind == SYMBOL_SIGMOID ? ACT_SIGMOID : ACT_TANH;
    if (reg >= 0) reg = plan_gate(c->plan, c->side, layer_of(c), s->name, act, s->inputs, x);
    return c->symbol[index] = reg;
}

static int *carried_register(const Compiler *c, int step, int eval)
{
    return &c->carried[(size_t)step * c->table->carries + (size_t)(TABLE_CARRIED - eval)];
}

static int source_register(const Compiler *c, const Term *s, int step)
{
    if (s->eval < TABLE_STATE) return *carried_register(c, step, s->eval);
    return s->eval == TABLE_STATE ? c->y[step]
                                  : c->k[(size_t)step * c->table->evals + (size_t)s->eval];
}

/* Makes a term of a row whose source was made in step `from`, with `element` of its learned vectors. A slope is the
 * step size times a sublayer's output. */
static int plan_term(Compiler *c, const Term *s, int from, size_t element, PlanTerm *out)
{
    double h = s->eval < 0 ? 1 : 1.0 / c->substeps;
    *out = (PlanTerm){
        .c = h * table_double(s->c), .x = source_register(c, s, from), .factors = s->symbols};
    for (int i = 0; i < s->symbols; i++) {
        int gate = c->table->symbol[s->symbol[i]].kind != SYMBOL_LEARN;
        int index = find_symbol(c, s->symbol[i]);
        if (index < 0) return index;
        out->factor[i] = (PlanFactor){.kind = gate ? FACTOR_GATE : FACTOR_SCALAR,
                                      .index = index,
                                      .element = gate ? 0 : element};
    }
    return 0;
}

/* Returns the current element of a learned vector: the last. */
static size_t present(const Compiler *c)
{
    return c->table->dense ? (size_t)c->step : 0;
}

/* Computes difference = r - q. */
static int subtract(const Row *r, const Row *q, Row *difference)
{
    RATIONAL(minus);
    mpq_set_si(minus, -1, 1);
    TRY(row_copy(difference, r));
    return row_add_row(difference, q, minus);
}

/* Finds the known row that leaves the fewest terms of r, *base its register and `rest` what it leaves; -1: none leaves fewer. */
static int find_base(const Compiler *c, const Row *r, Row *rest, int *base)
{
    size_t fewest = r->terms;
    *base = -1;
    for (size_t i = 0; i < c->known; i++) {
        ROW(difference);
        TRY(subtract(r, &c->list[i].row, &difference));
        if (difference.terms + 1 >= fewest) continue;
        fewest = difference.terms + 1;
        *base = c->list[i].reg;
        row_swap(rest, &difference);
    }
    return 0;
}

/* Adds a term to the sum that a symbol is multiplied by, or, where it lacks the symbol, to the rest. */
static int part_term(const Term *s, int symbol, const mpq_t scale, Row *sum, Row *rest)
{
    int left[TABLE_SYMBOLS], n = 0, found = 0;
    RATIONAL(c);
    for (int i = 0; i < s->symbols; i++)
        if (found || s->symbol[i] != symbol)
            left[n++] = s->symbol[i];
        else
            found = 1;
    mpq_set(c, s->c);
    if (found) mpq_div(c, c, scale);
    return row_add(found ? sum : rest, s->eval, s->past, c, n, left);
}

static int has_symbol(const Term *s, int symbol)
{
    int has = 0;
    for (int i = 0; i < s->symbols; i++) has |= s->symbol[i] == symbol;
    return has;
}

/* Takes the symbol that stands in most terms of r out of them: r = scale symbol sum + rest, where the first term of the sum is
 * not scaled, so that sums which differ by a factor are one. *symbol = -1: none stands in two terms. */
static int take_symbol(const Compiler *c, const Row *r, int *symbol, mpq_t scale, Row *sum,
                       Row *rest)
{
    size_t most = 1;
    *symbol = -1;
    for (int k = 0; k < (int)c->table->symbols; k++) {
        size_t count = 0;
        for (size_t i = 0; i < r->terms; i++) count += (size_t)has_symbol(&r->term[i], k);
        if (count > most) most = count, *symbol = k;
    }
    for (size_t i = r->terms; *symbol >= 0 && i-- > 0;)
        if (has_symbol(&r->term[i], *symbol)) mpq_set(scale, r->term[i].c);
    for (size_t i = 0; *symbol >= 0 && i < r->terms; i++)
        TRY(part_term(&r->term[i], *symbol, scale, sum, rest));
    return 0;
}

/* Adds scale times a learned number, or a gate, times the register of a sum. */
static int add_product(Compiler *c, int symbol, const mpq_t scale, const Row *sum, PlanTerm *out)
{
    int reg = row_register(c, sum);
    if (reg < 0) return reg;
    Term of = {.eval = TABLE_STATE, .c = {*scale}, .symbols = 1, .symbol = {symbol}};
    TRY(plan_term(c, &of, c->step, present(c), out));
    out->x = reg;
    return 0;
}

/* Adds the terms that make r. Where numbers that are learned are multiplied, as they are in sums named by `let`, a sum that is
 * multiplied by one of them is a row of its own, which others share. */
static int add_terms(Compiler *c, const Row *r, PlanTerm *term, size_t *n)
{
    ROW(rest);
    ROW(sum);
    RATIONAL(scale);
    int base, symbol = -1;
    TRY(find_base(c, r, &rest, &base));
    if (base >= 0)
        term[(*n)++] = (PlanTerm){.c = 1, .x = base};
    else if (c->products)
        TRY(take_symbol(c, r, &symbol, scale, &sum, &rest));
    if (symbol >= 0) TRY(add_product(c, symbol, scale, &sum, &term[(*n)++]));
    const Row *left = base >= 0 || symbol >= 0 ? &rest : r;
    if (left == &rest && c->products) return add_terms(c, left, term, n);
    for (size_t i = 0; i < left->terms; i++)
        TRY(plan_term(c, &left->term[i], c->step - left->term[i].past, present(c), &term[(*n)++]));
    return 0;
}

/* Writes r as a LIN. A row without terms, such as y - y[-1] in a first layer, is written as 0 y, because a line's side is
 * that of the registers it reads. */
static int write_row(Compiler *c, const Row *r)
{
    SCOPED(memory_drop) PlanTerm *term = memory_new(r->terms + 1, sizeof(PlanTerm));
    size_t n = 0;
    if (!term) return ERR_MEMORY;
    TRY(add_terms(c, r, term, &n));
    if (n == 0) term[n++] = (PlanTerm){.c = 0, .x = c->y[c->step]};
    return plan_lin(c->plan, n, term);
}

static int remember(Compiler *c, const Row *r, int reg)
{
    TRY(memory_more(&c->list, c->known, sizeof(Known)));
    Known *k = &c->list[c->known++];
    k->reg = reg;
    return row_copy(&k->row, r);
}

/* Tells whether a row is one state, carried quantity or slope, as it is. */
static int is_bare(const Row *r)
{
    return r->terms == 1 && r->term->symbols == 0 && mpq_equal(r->term->c, rational_one);
}

static int row_register(Compiler *c, const Row *r)
{
    /* the register of an evaluation holds the slope of a whole step */
    if (is_bare(r) && (r->term->eval < 0 || c->substeps == 1))
        return source_register(c, r->term, c->step - r->term->past);
    for (size_t i = 0; i < c->known; i++)
        if (row_equal(&c->list[i].row, r)) return c->list[i].reg;
    int reg = write_row(c, r);
    if (reg < 0) return reg;
    int code = remember(c, r, reg);
    return code == 0 ? reg : code;
}

static int dense_update(Compiler *c)
{
    const Row *r = &c->table->update;
    size_t n = 0, most = 1 + r->terms * ((size_t)c->step + 1);
    SCOPED(memory_drop) PlanTerm *term = memory_new(most, sizeof(PlanTerm));
    if (!term) return ERR_MEMORY;
    for (size_t i = 0; i < r->terms; i++)
        for (int l = r->term[i].eval < 0 ? c->step : 0; l <= c->step; l++) {
            int from = r->term[i].eval == TABLE_STATE ? 0 : l;
            TRY(plan_term(c, &r->term[i], from, (size_t)l, &term[n++]));
        }
    return plan_lin(c->plan, n, term);
}

/* ---- layers --------------------------------------------------------------------------------------------- */

static void forget_rows(Compiler *c)
{
    for (size_t i = 0; i < c->known; i++) row_free(&c->list[i].row);
    c->known = 0;
}

static void forget(Compiler *c)
{
    forget_rows(c);
    for (size_t i = 0; i < c->table->symbols; i++) c->symbol[i] = -1;
}

static int evaluate(Compiler *c, size_t e, int x, int *slot)
{
    *slot = find_slot(c, &c->table->eval[e]);
    if (*slot < 0) return *slot;
    int draw = c->options->masks == MASKS_STEP ? *slot : c->draws++;
    int y = c->table->eval[e].op == OP_C
                ? plan_cross(c->plan, *slot, x, plan_find_keys(c->plan, *slot), draw)
                : plan_eval(c->plan, *slot, x, draw);
    return c->k[(size_t)c->step * c->table->evals + e] = y;
}

/* Finds the term from evaluation e's argument to the next, or the update: a multiple of that slope. */
static int sub_step(const Table *t, size_t e, Row *difference)
{
    const Row *here = &t->point[t->eval[e].point].row;
    const Row *next = e + 1 < t->evals ? &t->point[t->eval[e + 1].point].row : &t->update;
    TRY(subtract(next, here, difference));
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
    if (!first || !is_bare(first) || first->term->eval != TABLE_STATE || first->term->past)
        return error_set(ERR_INPUT, "%s: --norm post needs a first step from y", t->name);
    for (size_t e = 0; e < t->evals; e++) {
        ROW(step);
        PlanTerm term[2] = {{.c = 1, .x = x}};
        TRY(sub_step(t, e, &step));
        int k = evaluate(c, e, x, &slot);
        if (k < 0) return k;
        TRY(plan_term(c, &step.term[0], c->step, present(c), &term[1]));
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
        int x = row_register(c, &c->table->point[c->table->eval[e].point].row);
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
        int reg = r->terms ? row_register(c, r) : -1;
        if (reg < 0 && r->terms) return reg;
        c->carried[(size_t)to * c->table->carries + i] = reg;
    }
    return 0;
}

/* Computes what is carried into the first step: 0, or what the rows of the text make of y, with the first layer's weights. */
static int begin_carried(Compiler *c, const Table *t)
{
    TABLE(s);
    for (size_t i = 0; i < t->carries; i++) c->carried[i] = -1;
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
    forget_rows(c);
    return code;
}

static int drop_zeros(const Compiler *c, Row *r)
{
    ROW(left);
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        if (s->eval < TABLE_STATE && *carried_register(c, c->step, s->eval) < 0) continue;
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
    if (!last) TRY(compile_carried(c, c->step + 1)); /* nothing reads what the last layer carries */
    int reg = c->table->dense ? dense_update(c) : row_register(c, &c->table->update);
    if (reg < 0) return reg;
    c->y[c->step + 1] = c->plan->output = reg;
    return 0;
}

/* Compiles `layers` layers of t from the register c->y[0]. */
static int compile(Compiler *c, const Table *t, size_t layers)
{
    int steps = (int)layers * c->substeps;
    forget(c);
    TRY(begin_carried(c, t));
    for (int i = 0; i < steps; i++) {
        SCOPED(table_drop) Table *step = table_start(t, i);
        if (!step) return ERR_MEMORY;
        c->table = step;
        c->step = i;
        c->products = has_products(step);
        int code = leave_zeros(c, step);
        if (code == 0) code = compile_step(c, i + 1 == steps);
        forget(c);
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
    size_t n = strlen(t->name), m = strlen(exact);
    if (n > m && strcmp(t->name + n - m, exact) == 0) n -= m;
    return error_set(ERR_INPUT, "%s: a network needs a sub-flow solver: %.*s:euler, %.*s:heun, ...",
                     t->name, (int)n, t->name, (int)n, t->name);
}

static int check_options(const Table *t, const BridgeOptions *o, size_t layers)
{
    TRY(bridge_takes(t));
    if (o->norm == NORM_POST)
        TRY(table_refuse_carries(t, "--norm post normalises one state, and has no rule for it"));
    if (layers < 1 || layers > 10000)
        return error_set(ERR_INPUT, "expected 1 to 10000 layers; %zu are asked for", layers);
    if (o->substeps > 1 && (t->symbols || o->substeps > 10000 / layers))
        return error_set(ERR_MISUSE, "%s: %zu sub-steps need a frozen table, and 10000 in all",
                         t->name, o->substeps);
    return 0;
}

/* Adds `layers` layers of t to the plan, from register `begin` of a side; state (layers + 1) as in PlanStates, or
 * NULL. */
static int add_layers(Plan *plan, const Table *t, const BridgeOptions *o, size_t layers, int side,
                      int begin, int memory, int *draws, int *state)
{
    Compiler c = {.options = o,
                  .table = t,
                  .plan = plan,
                  .side = side,
                  .memory = memory,
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
    for (size_t l = 0; state && code == 0 && l <= layers; l++)
        state[l] = c.y[l * (size_t)c.substeps];
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
        TRY(add_layers(plan, encoder, o, above, SIDE_SOURCE, begin, -1, &draws,
                       s->at[SIDE_SOURCE]));
        s->memory = add_memory(plan);
        if (s->memory < 0) return s->memory;
    }
    if ((begin = add_input(plan, o, SIDE_TARGET)) < 0) return begin;
    return add_layers(plan, decoder, o, o->layers, SIDE_TARGET, begin, s->memory, &draws,
                      s->at[SIDE_TARGET]);
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
    SCOPED(plan_drop)
    Plan *plan = encoder ? plan_new_pair(above, o->layers) : plan_new(o->layers);
    if (!plan) return ERR_MEMORY;
    plan->post = o->norm == NORM_POST;
    plan->bidirectional = !encoder && o->bidirectional;
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
