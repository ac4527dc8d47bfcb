/* compile_rows.c: the rows of a scheme's table as lines of a plan.
 *
 * A row that is the bare state costs nothing, another becomes one LIN. Rows of a layer are kept with their registers, so equal
 * rows share one, and a row that differs from an earlier one by few terms is written as that one plus the difference: a chain of
 * sublayers (a word, looped:N) costs two terms a link, not one more each. Where learned numbers are multiplied, as in sums named
 * by `let`, what one of them multiplies is a row too. Symbols become scalars and gates of the plan when a row first needs them. */
#include "bridge/compile.h"
#include "kernels/base/error.h"
#include "kernels/base/scoped.h"
#include "ode/scheme/rationals.h"

/* Returns the index of a symbol's scalar or gate in this layer, and makes it at its first use. */
static int find_symbol(Compiler *c, int index)
{
    const Symbol *s = &c->table->symbol[index];
    if (c->symbol[index] >= 0) return c->symbol[index];
    if (s->kind == SYMBOL_LEARN) {
        size_t size = c->table->dense ? (size_t)c->step + 1 : 1;
        return c->symbol[index] = plan_scalar(c->plan, c->side, compile_layer(c), s->name, size,
                                              table_double(s->start));
    }
    SCOPED(memory_drop) int *x = memory_new(s->inputs, sizeof(int));
    if (!x) return ERR_MEMORY;
    int reg = 0;
    for (size_t i = 0; i < s->inputs && reg >= 0; i++) reg = x[i] = compile_row(c, &s->input[i]);
    int act = s->kind == SYMBOL_SIGMOID ? ACT_SIGMOID : ACT_TANH;
    if (reg >= 0) reg = plan_gate(c->plan, c->side, compile_layer(c), s->name, act, s->inputs, x);
    return c->symbol[index] = reg;
}

int *compile_carried_register(const Compiler *c, int step, int eval)
{
    return &c->carried[(size_t)step * c->table->carries + (size_t)(TABLE_CARRIED - eval)];
}

static int source_register(const Compiler *c, const Term *s, int step)
{
    if (s->eval < TABLE_STATE) return *compile_carried_register(c, step, s->eval);
    return s->eval == TABLE_STATE ? c->y[step]
                                  : c->k[(size_t)step * c->table->evals + (size_t)s->eval];
}

int compile_term(Compiler *c, const Term *s, int from, size_t element, PlanTerm *out)
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

size_t compile_present(const Compiler *c)
{
    return c->table->dense ? (size_t)c->step : 0;
}

int compile_difference(const Row *r, const Row *q, Row *difference)
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
        TRY(compile_difference(r, &c->list[i].row, &difference));
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
    int reg = compile_row(c, sum);
    if (reg < 0) return reg;
    Term of = {.eval = TABLE_STATE, .c = {*scale}, .symbols = 1, .symbol = {symbol}};
    TRY(compile_term(c, &of, c->step, compile_present(c), out));
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
        TRY(compile_term(c, &left->term[i], c->step - left->term[i].past, compile_present(c),
                         &term[(*n)++]));
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

int compile_is_bare(const Row *r)
{
    return r->terms == 1 && r->term->symbols == 0 && mpq_equal(r->term->c, rational_one);
}

int compile_row(Compiler *c, const Row *r)
{
    /* the register of an evaluation holds the slope of a whole step */
    if (compile_is_bare(r) && (r->term->eval < 0 || c->substeps == 1))
        return source_register(c, r->term, c->step - r->term->past);
    for (size_t i = 0; i < c->known; i++)
        if (row_equal(&c->list[i].row, r)) return c->list[i].reg;
    int reg = write_row(c, r);
    if (reg < 0) return reg;
    int code = remember(c, r, reg);
    return code == 0 ? reg : code;
}

int compile_dense(Compiler *c)
{
    const Row *r = &c->table->update;
    size_t n = 0, most = 1 + r->terms * ((size_t)c->step + 1);
    SCOPED(memory_drop) PlanTerm *term = memory_new(most, sizeof(PlanTerm));
    if (!term) return ERR_MEMORY;
    for (size_t i = 0; i < r->terms; i++)
        for (int l = r->term[i].eval < 0 ? c->step : 0; l <= c->step; l++) {
            int from = r->term[i].eval == TABLE_STATE ? 0 : l;
            TRY(compile_term(c, &r->term[i], from, (size_t)l, &term[n++]));
        }
    return plan_lin(c->plan, n, term);
}

void compile_forget_rows(Compiler *c)
{
    for (size_t i = 0; i < c->known; i++) row_free(&c->list[i].row);
    c->known = 0;
}

void compile_forget(Compiler *c)
{
    compile_forget_rows(c);
    for (size_t i = 0; i < c->table->symbols; i++) c->symbol[i] = -1;
}
