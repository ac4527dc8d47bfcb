/* statement.c: reads one statement of a scheme text into the table that is being built: stages, update,
 * flows, names. scheme.c finds the lines, and where a scheme begins and ends. */
#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"

#include <ctype.h>
#include <string.h>

enum { PLAIN_NAME = 32, STAGES_MAX = 256, FLOWS_MAX = 1024, SYMBOLS_MAX = 64 };
enum { SUBSTEPS_MAX = 64, NAMES_MAX = 256, INPUTS_MAX = 256 };

/* ---- operators and stages ------------------------------------------------------------------------ */

static int parse_operator(Parser *p, int most, int *op, int *set)
{
    Cursor *c = &p->cursor;
    const char *found = NULL;
    long s = 1;
    cursor_blanks(c);
    if (c->at < c->end) found = memchr(table_letters, *c->at, (size_t)most);
    if (!found) {
        cursor_error(c, "expected an operator: %s",
                     most == COLOURS ? "F, G or C" : "F, G, C, H, L or A");
        return ERR_INPUT; /* plainly not 0: gcc -O3 then sees that *op is set where 0 is returned */
    }
    *op = (int)(found - table_letters);
    c->at++;
    if (c->at < c->end && isdigit((unsigned char)*c->at)) TRY(cursor_integer(c, 999, &s));
    *set = (int)s;
    return s > 0 ? 0 : cursor_error(c, "expected a parameter set from 1");
}

/* Returns whether an operator stands at the cursor, and not a name that begins like one. */
static int operator_stands(const Cursor *c)
{
    const char *p = c->at;
    if (p == c->end || !memchr(table_letters, *p, OPS)) return 0;
    for (p++; p < c->end && isdigit((unsigned char)*p);) p++;
    return p == c->end || !(isalpha((unsigned char)*p) || *p == '_');
}

size_t statement_stage_head(Cursor *c)
{
    char word[TABLE_NAME];
    long n = cursor_word(c, word, sizeof word) ? expression_slope(word) : 0;
    return n > 0 ? (size_t)n : 0;
}

/* The part before a stage's argument: OP[set], phiJ([coefficient] OP[set]) or solve([coefficient] OP[set]), where `ops`
 * are the colours of OP and op is the first of them; or norm, whose set is its number among the text's norms. */
typedef struct {
    int op, set, phi, ops;
    mpq_ptr scale;
} Head;

/* Takes a function's name, and for phi its J; 0: none stands there. */
static int take_function(Cursor *c, int *phi)
{
    long J = 0;
    *phi = cursor_take(c, "norm")    ? PHI_NORM
           : cursor_take(c, "solve") ? PHI_SOLVE
                                     : cursor_take(c, "phi");
    if (*phi != 1) return 0;
    TRY(cursor_integer(c, PHI_MOST, &J));
    *phi += (int)J;
    return 0;
}

/* Returns whether W) stands at the cursor; a coefficient may have the name W. */
static int w_stands(Cursor c)
{
    return cursor_take(&c, "W") && cursor_take(&c, ")");
}

/* Takes W, which is OP_C where the scheme has no C; it stands for the derivative of all fields. */
static int parse_w(Parser *p, Head *h)
{
    cursor_take(&p->cursor, "W");
    if (h->phi != PHI_SOLVE || p->table->colours > OP_C)
        return cursor_error(&p->cursor, "expected W in solve(c W)(...) of a scheme of F and G");
    h->ops = 1 << OP_C;
    h->op = OP_F;
    h->set = 1;
    mpq_set_ui(p->table->weight[OP_C], 0, 1);
    return 0;
}

static int parse_derivative(Parser *p, Head *h)
{
    Cursor *c = &p->cursor;
    cursor_blanks(c);
    const char *at = c->at;
    if (w_stands(*c)) return parse_w(p, h);
    TRY(parse_operator(p, OPS, &h->op, &h->set));
    const Parts *parts = stage_parts(p->table, h->op);
    for (int k = 0; k < parts->count; k++) h->ops |= 1 << parts->colour[k];
    if (!h->ops || parts->in_turn) {
        c->at = at;
        return cursor_error(c, "expected F, G or H, of a decoder C too: fields with a derivative");
    }
    h->op = parts->colour[0];
    return 0;
}

static int parse_function(Parser *p, Head *h)
{
    Cursor *c = &p->cursor;
    TRY(cursor_expect(c, "("));
    cursor_blanks(c);
    mpq_set_ui(h->scale, 1, 1);
    if (!operator_stands(c) && !w_stands(*c)) TRY(expression_number(p, h->scale));
    TRY(parse_derivative(p, h));
    return cursor_expect(c, ")");
}

static int parse_head(Parser *p, Head *h)
{
    const Table *t = p->table;
    TRY(take_function(&p->cursor, &h->phi));
    if (h->phi == PHI_NORM) {
        h->op = OP_F;
        h->set = 1;
        for (size_t i = 0; i < t->points; i++) h->set += t->point[i].phi == PHI_NORM;
        return 0;
    }
    return h->phi ? parse_function(p, h) : parse_operator(p, OPS, &h->op, &h->set);
}

static int add_point(Table *t, const Row *row, const Head *h, const mpq_t at, int timed)
{
    TRY(memory_more(&t->point, t->points, sizeof(Point)));
    Point *q = &t->point[t->points++];
    point_init(q);
    q->timed = timed;
    q->phi = h->phi;
    q->ops = h->ops;
    if (h->phi) mpq_set(q->scale, h->scale);
    for (int op = 0; op < COLOURS && timed; op++) mpq_set(q->c[op], at);
    return row_add_row(&q->row, row, rational_one);
}

/* Adds the points of stage i, whose argument is `row`; its evaluations stand already. */
static int add_stage(Table *t, size_t i, Row *row, const Head *h, const mpq_t at, int timed)
{
    const Stage *s = &t->stage[i];
    const Parts *parts = stage_parts(t, s->op);
    TRY(add_point(t, row, h, at, timed));
    for (int k = 0; k < parts->count; k++) {
        if (k > 0 && parts->in_turn) {
            TRY(row_add(row, s->eval + k - 1, 0, rational_one, 0, NULL));
            TRY(add_point(t, row, h, at, timed));
        }
        t->eval[s->eval + k].point = (int)t->points - 1;
    }
    return 0;
}

int statement_declare(Parser *p)
{
    Table *t = p->table;
    int op = OP_F,
        set =
            1; /* read_stage reads those of a function of a derivative, which has one evaluation */
    int phi;
    TRY(take_function(&p->cursor, &phi));
    if (!phi) TRY(parse_operator(p, OPS, &op, &set));
    if (p->declared == STAGES_MAX)
        return cursor_error(&p->cursor, "expected at most %d stages", STAGES_MAX);
    TRY(memory_add(t->stage, p->declared, (Stage){.op = op, .set = set}));
    if (op == OP_C || op == OP_A) t->colours = 3;
    return 0;
}

int statement_evaluations(Parser *p)
{
    Table *t = p->table;
    for (size_t i = 0; i < p->declared; i++) {
        Stage *s = &t->stage[i];
        const Parts *parts = stage_parts(t, s->op);
        s->eval = (int)t->evals;
        for (int k = 0; k < parts->count; k++) {
            Eval e = {.op = parts->colour[k], .set = s->set, .stage = (int)i};
            TRY(memory_add(t->eval, t->evals, e));
        }
    }
    return 0;
}

/* ---- statements ---------------------------------------------------------------------------------- */

/* Checks that a line ends behind its last term. */
static int end_of_sum(Cursor *c)
{
    cursor_blanks(c);
    return c->at == c->end ? 0 : cursor_behind_term(c, "an operator or the end of the line");
}

static int check_row(Parser *p, const Row *r, const char *what)
{
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval == TABLE_ONE)
            return cursor_error(&p->cursor,
                                "expected states and slopes in %s; a number stands alone", what);
    return r->terms ? 0 : cursor_error(&p->cursor, "expected a term in %s", what);
}

/* Checks the increment of a function of a derivative, or what a norm is of, and gives its evaluation the operator. */
static int check_increment(Parser *p, const Head *h, const Row *r, int timed)
{
    Table *t = p->table;
    Stage *s = &t->stage[t->stages];
    for (size_t i = 0; i < r->terms; i++) {
        int eval = r->term[i].eval, carried = eval < TABLE_STATE && h->phi == PHI_NORM;
        if (timed || (eval < 0 && !carried) || eval >= s->eval)
            return cursor_error(
                &p->cursor,
                h->phi == PHI_NORM
                    ? "expected what is carried and slopes of stages before it in norm(...), and no "
                      "y or '@'"
                    : "expected slopes of stages before it, of this step or past ones, in a stage of a phi function "
                      "or solve, and no state or '@'");
    }
    s->op = t->eval[s->eval].op = h->op;
    s->set = t->eval[s->eval].set = h->set;
    return 0;
}

static int read_stage(Parser *p, size_t number)
{
    ROW(row);
    RATIONALS(at, scale);
    Head h = {.scale = scale};
    Cursor *c = &p->cursor;
    if (number != p->table->stages + 1)
        return cursor_error(c, "expected stage k%zu here: stages are numbered in order",
                            p->table->stages + 1);
    TRY(cursor_expect(c, "="));
    TRY(parse_head(p, &h));
    if (cursor_take(c, "'"))
        return cursor_error(c, "expected '(': a derivative stands in solve(1/2 H)(...) and "
                               "phi1(1/2 H)(...) alone");
    TRY(cursor_expect(c, "("));
    p->in_stage = !h.phi; /* an increment is known before its stage */
    int code = expression_parse(p, &row);
    p->in_stage = 0;
    TRY(code);
    int timed = cursor_take(c, "@");
    if (timed) TRY(expression_number(p, at));
    if (!cursor_take(c, ")")) return cursor_behind_term(c, "an operator, '@' or ')'");
    TRY(cursor_end(c, "an operator or the end of the line"));
    TRY(check_row(p, &row, "a stage's argument"));
    if (h.phi) TRY(check_increment(p, &h, &row, timed));
    TRY(add_stage(p->table, p->table->stages, &row, &h, at, timed));
    p->table->stages++;
    return 0;
}

/* Turns y[first] + sum c k[all] into y + sum c k, marked dense. */
static int fold_dense(Parser *p, Row *r)
{
    ROW(out);
    int all = 0;
    for (size_t i = 0; i < r->terms; i++) all += r->term[i].past == EXPR_ALL;
    if (!all) return 0;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        int whole = s->eval != TABLE_STATE || (mpq_cmp_ui(s->c, 1, 1) == 0 && s->symbols == 0);
        if (s->past != EXPR_ALL || !whole)
            return cursor_error(&p->cursor, "expected y[first] + slopes kN[all] and nothing else");
        TRY(row_add(&out, s->eval, 0, s->c, s->symbols, s->symbol));
    }
    if (out.term[0].eval != TABLE_STATE)
        return cursor_error(&p->cursor, "expected y[first] beside kN[all]");
    row_swap(r, &out);
    p->table->dense = 1;
    return 0;
}

static int read_update(Parser *p)
{
    Table *t = p->table;
    if (t->update.terms)
        return cursor_error(&p->cursor,
                            "expected one update y' = ... in a scheme, and a second stands here");
    TRY(cursor_expect(&p->cursor, "="));
    p->in_update = 1;
    int code = expression_parse(p, &t->update);
    p->in_update = 0;
    if (code == 0) code = end_of_sum(&p->cursor);
    if (code == 0) code = check_row(p, &t->update, "the update");
    return code == 0 ? fold_dense(p, &t->update) : code;
}

/* Reads y' - yhat of an embedded pair, or a second, coarser estimate; finish (scheme.c) checks what the scheme is. */
static int read_error(Parser *p)
{
    Row *r = p->table->error.terms ? &p->table->coarse : &p->table->error;
    Cursor *c = &p->cursor;
    if (r->terms) return cursor_error(c, "expected at most two estimates error = ... a scheme");
    TRY(cursor_expect(c, "="));
    cursor_blanks(c);
    p->error = *c;
    TRY(expression_parse(p, r));
    TRY(end_of_sum(c));
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval < 0 || r->term[i].past || r->term[i].symbols)
            return cursor_error(&p->error,
                                "expected slopes k1, k2, ... of this step with coefficients that "
                                "are not learned in the estimate of the error, and nothing else");
    if (r->terms) return 0;
    return cursor_error(&p->error, "expected a slope in the estimate of the error, which is 0");
}

/* Takes "*4" from the end of a method's name. */
static int read_substeps(Cursor *c, char *method, int *substeps)
{
    char *star = strchr(method, '*');
    long n = 0;
    if (!star) return 0;
    Cursor at = *c;
    at.at = c->at - strlen(star) + 1;
    TRY(cursor_integer(&at, SUBSTEPS_MAX, &n));
    if (n == 0 || at.at != c->at)
        return cursor_error(&at, "expected a number of equal steps of 1 to %d, as in flow F:heun*4",
                            SUBSTEPS_MAX);
    *star = '\0';
    *substeps = (int)n;
    return 0;
}

/* Takes the method that a flow names behind its operator, ":heun" or ":heun*4"; *method stays NULL where none is. */
static int read_method(Cursor *c, char **method, int *substeps)
{
    if (c->at == c->end || *c->at != ':') return 0;
    const char *from = ++c->at;
    while (c->at < c->end && !isspace((unsigned char)*c->at)) c->at++;
    size_t n = (size_t)(c->at - from);
    if (n == 0 || n >= TABLE_NAME) {
        c->at = from;
        return cursor_error(c, "expected a method's name behind ':', as in flow 1/2 G:heun");
    }
    if (n == 5 && memcmp(from, "exact", n) == 0) {
        c->at = from;
        return cursor_error(c, "expected no 'exact' behind ':': a flow without a method is exact");
    }
    if (!(*method = memory_new(n + 1, 1))) return ERR_MEMORY;
    memcpy(*method, from, n);
    return read_substeps(c, *method, substeps);
}

/* Takes the terms with i alone from a sum of numbers, as im i. */
static void take_imaginary(Row *r, mpq_t im)
{
    size_t n = 0, terms = r->terms;
    for (size_t i = 0; i < terms; i++) {
        Term *s = &r->term[i];
        if (s->eval != TABLE_ONE || s->symbols != 1 || s->symbol[0] != SYMBOL_I) {
            r->term[n++] = *s;
            continue;
        }
        mpq_add(im, im, s->c);
        mpq_clear(s->c);
    }
    r->terms = n;
}

/* Reads a flow's fraction c + im i of h; with learned names, and a real one, it is a sum of numbers too. */
static int read_fraction(Parser *p, mpq_t c, mpq_t im, Row *learned)
{
    int symbols = 0;
    const char *at = p->cursor.at;
    p->complex = 1;
    TRY(expression_parse(p, learned));
    p->complex = 0;
    int complex = row_complex(learned);
    take_imaginary(learned, im);
    for (size_t i = 0; i < learned->terms; i++) {
        int number = learned->term[i].eval == TABLE_ONE;
        symbols += learned->term[i].symbols;
        if (number && !(complex && symbols)) continue;
        p->cursor.at = at;
        return cursor_error(&p->cursor,
                            number ? "expected no learned name beside i" : "expected a number");
    }
    row_weight(p->table, learned, TABLE_ONE, c);
    if (!symbols) row_free(learned);
    return 0;
}

static int read_flow(Parser *p)
{
    Table *t = p->table;
    int op, set;
    RATIONALS(c, im);
    ROW(learned);
    cursor_blanks(&p->cursor);
    if (t->flows == FLOWS_MAX)
        return cursor_error(&p->cursor, "expected at most %d flows", FLOWS_MAX);
    mpq_set_ui(c, 1, 1);
    if (!operator_stands(&p->cursor)) TRY(read_fraction(p, c, im, &learned));
    TRY(parse_operator(p, COLOURS, &op, &set));
    if (op == OP_C) t->colours = 3;
    SCOPED(memory_drop) char *method = NULL;
    int substeps = 0;
    TRY(read_method(&p->cursor, &method, &substeps));
    if (method && learned.terms)
        return cursor_error(&p->cursor,
                            "expected no learned fraction of a flow that names a method");
    TRY(cursor_end(&p->cursor,
                   "the end of the line after the operator: a fraction stands before it, "
                   "as in flow 1/2 F"));
    TRY(memory_more(&t->flow, t->flows, sizeof(Flow)));
    Flow *f = &t->flow[t->flows++];
    *f = (Flow){.op = op, .set = set, .method = method, .substeps = substeps};
    method = NULL;
    mpq_inits(f->c, f->im, NULL);
    mpq_set(f->c, c);
    mpq_set(f->im, im);
    row_swap(&f->learned, &learned);
    return 0;
}

/* Reads the weights of F, then of C in a decoder, then of G. */
static int read_field(Parser *p)
{
    static const int order[] = {OP_F, OP_C, OP_G};
    RATIONAL(weight);
    p->table->word = 1;
    for (int i = 0, found, set; i < 3; i++) {
        TRY(expression_number(p, weight));
        TRY(parse_operator(p, COLOURS, &found, &set));
        if (order[i] == OP_C && found == OP_G) i++;
        if (found != order[i])
            return cursor_error(&p->cursor,
                                "expected: field COEFFICIENT F COEFFICIENT G, or of a "
                                "decoder field COEFFICIENT F COEFFICIENT C COEFFICIENT G");
        mpq_set(p->table->weight[order[i]], weight);
        if (found == OP_C) p->table->colours = 3;
    }
    return cursor_end(&p->cursor, "the end of the line");
}

static int read_linear(Parser *p)
{
    int op, set;
    TRY(parse_operator(p, COLOURS, &op, &set));
    if (op >= p->table->colours)
        return cursor_error(&p->cursor, "expected F or G: the scheme has no C");
    p->table->special |= 1 << op;
    return cursor_end(&p->cursor, "the end of the line after the operator");
}

static int read_separable(Parser *p)
{
    int op, set;
    cursor_blanks(&p->cursor);
    if (p->cursor.at == p->cursor.end) {
        p->table->special |= SEPARABLE;
        return 0;
    }
    TRY(parse_operator(p, COLOURS, &op, &set));
    if (op >= p->table->colours)
        return cursor_error(&p->cursor, "expected F or G: the scheme has no C");
    p->table->special |= 1 << (COLOURS + op);
    return cursor_end(&p->cursor, "the end of the line after the operator");
}

/* Reads the orders of steps by tolerance; finish (scheme.c) checks that the scheme is the formula of the last. */
static int read_orders(Parser *p)
{
    long last = 0;
    Cursor *c = &p->cursor;
    TRY(cursor_expect(c, "1"));
    TRY(cursor_expect(c, ".."));
    TRY(cursor_integer(c, BACKWARD_MOST, &last));
    p->table->orders = (int)last;
    return last ? cursor_end(c, "the end of the line")
                : cursor_error(c, "expected an order from 1");
}

/* Only checks the end: scheme.c reads this line before the stages, for H and L among them. */
static int read_decoder(Parser *p)
{
    return cursor_end(&p->cursor, "the end of the line");
}

/* ---- names --------------------------------------------------------------------------------------- */

static int own_name(Parser *p, char *name)
{
    static const char *const taken[] = {"y", "sqrt", "first", "all"};
    Cursor *c = &p->cursor;
    if (!cursor_word(c, name, PLAIN_NAME)) return cursor_error(c, "expected a name");
    if (p->bindings == NAMES_MAX) return cursor_error(c, "expected at most %d names", NAMES_MAX);
    int bad = name[0] == 'k' && name[1] && strspn(name + 1, "0123456789") == strlen(name + 1);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) bad |= strcmp(name, taken[i]) == 0;
    bad |= name[1] == 0 && memchr(table_letters, name[0], OPS) != NULL;
    if (bad) return cursor_error(c, "expected a name of its own; '%s' has a meaning already", name);
    for (size_t i = 0; i < p->bindings; i++)
        if (strcmp(p->binding[i].name, name) == 0)
            return cursor_error(c, "expected a new name; '%s' is set already", name);
    if (expression_carried(p->table, name) < p->table->carries)
        return cursor_error(c, "expected a new name; '%s' is carried already", name);
    return 0;
}

static int new_name(Parser *p, char *name)
{
    TRY(own_name(p, name));
    return cursor_expect(&p->cursor, "=");
}

/* Binds a name to a value, which is taken. */
static int bind(Parser *p, const char *name, Row *value)
{
    TRY(memory_more(&p->binding, p->bindings, sizeof(Binding)));
    Binding *b = &p->binding[p->bindings++];
    strcpy(b->name, name);
    b->value = (Row){0};
    row_swap(&b->value, value);
    return 0;
}

static int read_let(Parser *p)
{
    char name[PLAIN_NAME];
    ROW(value);
    TRY(new_name(p, name));
    p->complex = 1;
    TRY(expression_parse(p, &value));
    p->complex = 0;
    TRY(end_of_sum(&p->cursor));
    int numbers = 1;
    for (size_t i = 0; i < value.terms; i++) numbers &= value.term[i].eval == TABLE_ONE;
    if (!numbers) TRY(check_row(p, &value, "a sum that has some"));
    return bind(p, name, &value);
}

static int add_symbol(Parser *p, const char *name, int kind, Symbol **out)
{
    Table *t = p->table;
    if (t->symbols == SYMBOLS_MAX)
        return cursor_error(&p->cursor, "expected at most %d learned names", SYMBOLS_MAX);
    TRY(memory_more(&t->symbol, t->symbols, sizeof(Symbol)));
    *out = &t->symbol[t->symbols++];
    **out = (Symbol){.kind = kind};
    strcpy((*out)->name, name);
    mpq_init((*out)->start);
    mpq_set_d((*out)->start, kind == SYMBOL_SIGMOID ? 0.5 : 0); /* sigmoid(0), tanh(0) */
    ROW(value);
    TRY(row_add(&value, TABLE_ONE, 0, rational_one, 1, (int[]){(int)t->symbols - 1}));
    return bind(p, name, &value);
}

static int read_learn(Parser *p)
{
    do {
        char name[PLAIN_NAME];
        Symbol *s;
        TRY(new_name(p, name));
        TRY(add_symbol(p, name, SYMBOL_LEARN, &s));
        p->bindings--; /* not yet set while its own start is read */
        int code = expression_number(p, s->start);
        p->bindings++;
        TRY(code);
    } while (cursor_take(&p->cursor, ","));
    return end_of_sum(&p->cursor);
}

static int gate_input(Parser *p, Symbol *s)
{
    if (s->inputs == INPUTS_MAX)
        return cursor_error(&p->cursor, "expected at most %d arguments", INPUTS_MAX);
    TRY(memory_more(&s->input, s->inputs, sizeof(Row)));
    Row *r = &s->input[s->inputs++];
    TRY(expression_parse(p, r));
    return check_row(p, r, "a gate's argument");
}

static int read_gate(Parser *p)
{
    char name[PLAIN_NAME];
    Symbol *s;
    Cursor *c = &p->cursor;
    TRY(new_name(p, name));
    int kind = cursor_take(c, "sigmoid") ? SYMBOL_SIGMOID
               : cursor_take(c, "tanh")  ? SYMBOL_TANH
                                         : 0;
    if (!kind) return cursor_error(c, "expected sigmoid(...) or tanh(...)");
    TRY(cursor_expect(c, "("));
    TRY(add_symbol(p, name, kind, &s));
    p->bindings--;
    int code = gate_input(p, s);
    while (code == 0 && cursor_take(c, ",")) code = gate_input(p, s);
    p->bindings++;
    if (code == 0) code = cursor_expect(c, ")");
    return code == 0 ? cursor_end(c, "the end of the line") : code;
}

/* ---- carried quantities -------------------------------------------------------------------------- */

/* Reads the start of a carried quantity: 0, or y and slopes of any stage; finish (scheme.c) checks of which. */
static int read_carried_start(Parser *p, Row *r)
{
    p->in_stage = 1;
    int code = expression_parse(p, r);
    p->in_stage = 0;
    TRY(code);
    TRY(end_of_sum(&p->cursor));
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval < TABLE_STATE || r->term[i].past)
            return cursor_error(
                &p->cursor, "expected 0, or y and slopes k1, k2, ... of this step, as the start "
                            "of what is carried");
    return 0;
}

static int read_carry(Parser *p)
{
    char name[PLAIN_NAME];
    Table *t = p->table;
    if (t->carries == CARRIES_MAX)
        return cursor_error(&p->cursor, "expected at most %d carried quantities", CARRIES_MAX);
    TRY(own_name(p, name));
    TRY(memory_more(&t->carry, t->carries, sizeof(Carry)));
    Carry *v = &t->carry[t->carries++];
    *v = (Carry){0};
    strcpy(v->name, name);
    v->started = cursor_take(&p->cursor, "=");
    if (v->started && cursor_take(&p->cursor, "embedding")) {
        v->started = 0;
        v->embedded = 1;
    }
    return v->started ? read_carried_start(p, &v->start)
                      : cursor_end(&p->cursor, "'=' or the end of the line");
}

/* Reads v' = sum. */
static int read_carried_update(Parser *p, const char *name)
{
    Cursor *c = &p->cursor;
    size_t i = expression_carried(p->table, name);
    if (i == p->table->carries)
        return cursor_error(c, "expected 'carry %s' before %s' = ...", name, name);
    ROW(row);
    c->at++; /* the ' that says so */
    TRY(cursor_expect(c, "="));
    TRY(expression_parse(p, &row));
    TRY(end_of_sum(c));
    TRY(check_row(p, &row, "the update of what is carried"));
    if (p->table->carry[i].update.terms)
        return cursor_error(
            c, "expected one update %s' = ... in a scheme, and a second stands here", name);
    row_swap(&p->table->carry[i].update, &row);
    return 0;
}

/* ---- texts, and all of them --------------------------------------------------------------------- */

static int set_text(Cursor *c, char **text)
{
    const char *end = c->end;
    cursor_blanks(c);
    while (end > c->at && isspace((unsigned char)end[-1])) end--;
    char *copy = memory_new((size_t)(end - c->at) + 1, 1);
    if (!copy) return ERR_MEMORY;
    memcpy(copy, c->at, (size_t)(end - c->at));
    memory_free(*text);
    *text = copy;
    return 0;
}

static const struct {
    const char *word;
    int (*run)(Parser *);
} statements[] = {{"let", read_let},       {"learn", read_learn},   {"gate", read_gate},
                  {"flow", read_flow},     {"field", read_field},   {"decoder", read_decoder},
                  {"error", read_error},   {"linear", read_linear}, {"separable", read_separable},
                  {"orders", read_orders}, {"carry", read_carry}};

int statement_parse(Parser *p)
{
    Cursor *c = &p->cursor;
    char word[TABLE_NAME];
    Table *t = p->table;
    char **texts[] = {&t->title, &t->source, &t->note, &t->start};
    static const char *const names[] = {"title", "source", "note", "start"};
    if (cursor_take(c, "y'")) return read_update(p);
    const char *at = c->at;
    size_t number = statement_stage_head(c);
    if (number) return read_stage(p, number);
    c->at = at;
    if (cursor_word(c, word, sizeof word)) {
        if (c->at < c->end && *c->at == '\'') return read_carried_update(p, word);
        for (int i = 0; i < 4; i++)
            if (strcmp(word, names[i]) == 0) return set_text(c, texts[i]);
        for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
            if (strcmp(word, statements[i].word) == 0) return statements[i].run(p);
    }
    c->at = at;
    return cursor_error(
        c,
        "expected scheme, title, source, note, start, let, learn, gate, carry, flow, field, decoder, "
        "linear, separable, orders, k1 = ..., y' = ..., or error = ...");
}
