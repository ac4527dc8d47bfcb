/* system_file.c: a particle system of the user's own, read from a text in the manner of schemes.
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
 *     initial = cos(2*pi*i/n) + normal/10     # or initial1 = ..., initial2 = ...
 *     t-end 1
 *     h0 1/8
 *
 *     F  = sum V       sum of V over the others j /= i         mean V: the same, divided by n
 *     F  = softmax S : V    sum over all j, i too, of V with weights exp(S) / sum exp(S)
 *
 * In an expression: + - * / ^ ( ), sqrt exp log sin cos tan tanh abs, numbers, parameters, pi, n, d; y
 * the coordinate in hand of particle i, y1 .. yd all of them, z and z1 .. zd those of particle j (in F
 * alone), r2 and r the squared distance of i and j and its root, dot their scalar product; i, j, c:
 * numbers of the particles and of the coordinate, from 1; t the time. In `initial`: i, c, `uniform` in
 * (0, 1) and `normal`, a draw for each coordinate (--seed). What is not written is 0. There are no
 * closed sub-flows: exact ones come from the reference integrator.
 *
 * An expression becomes a list of stack operations; one operation works on LANES particles at once
 * (others j in F, particles i in G), so reading the list costs little. Limits: see the enums.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/error.h"
#include "kernels/memory.h"
#include "kernels/random.h"
#include "ode/lexer.h"
#include "ode/system.h"

enum { FILE_MAX = 1 << 16, LINE_MAX_BYTES = 4000 };
enum { D_MAX = 32, SIZE_LIMIT = 1 << 16, PARAMS_MAX = 64, WORD_MAX = 64 };
enum { OPS_MAX = 8192, DEPTH_LIMIT = 64, STACK_MAX = 32, LANES = 64 };

/* ---- programs ------------------------------------------------------------------------------------ */

enum {
    CONSTANT,
    OWN,
    OTHER,
    INDEX_I,
    INDEX_J,
    INDEX_C,
    TIME,
    R2,
    R,
    DOT,
    UNIFORM,
    NORMAL,
    ADD,
    SUB,
    MUL,
    DIV,
    POW,
    POWI,
    NEG,
    CALL
};
enum { THIS = -1 }; /* component of a bare y or z: the one in hand */

typedef struct {
    int code, k; /* k: component, function, or exponent of POWI */
    double value;
} Op;

typedef struct {
    int first, count;
} Program;

enum { NONE, SUM, MEAN, SOFTMAX };

typedef struct {
    int kind; /* of an interaction */
    Program value, score;
    size_t line; /* 0: not written */
} Rule;

enum { RULE_F, RULE_G, RULE_INITIAL, RULES };

typedef struct {
    char name[TABLE_NAME], title[256], source[256];
    int ops;
    Op op[OPS_MAX];
    Rule rule[RULES][D_MAX];
} Model;

static const struct {
    const char *name;
    double (*call)(double);
} functions[] = {{"sqrt", sqrt}, {"exp", exp}, {"log", log},   {"sin", sin},
                 {"cos", cos},   {"tan", tan}, {"tanh", tanh}, {"abs", fabs}};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* What a program runs on: lanes m = 0 .. count - 1, of particle i + m * di and other particle j + m. */
typedef struct {
    const Model *model;
    const double *y;
    size_t d, i, di, j, count, c;
    double t;
    uint64_t seed;
} Lanes;

static double distance2(const Lanes *l, size_t m)
{
    const double *a = l->y + (l->i + m * l->di) * l->d, *b = l->y + (l->j + m) * l->d;
    double sum = 0;
    for (size_t k = 0; k < l->d; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

static double product(const Lanes *l, size_t m)
{
    const double *a = l->y + (l->i + m * l->di) * l->d, *b = l->y + (l->j + m) * l->d;
    double sum = 0;
    for (size_t k = 0; k < l->d; k++) sum += a[k] * b[k];
    return sum;
}

static double leaf(const Lanes *l, const Op *op, size_t m)
{
    size_t k = op->k == THIS ? l->c : (size_t)op->k, i = l->i + m * l->di;
    switch (op->code) {
    case OWN: return l->y[i * l->d + k];
    case OTHER: return l->y[(l->j + m) * l->d + k];
    case INDEX_I: return (double)i + 1;
    case INDEX_J: return (double)(l->j + m) + 1;
    case INDEX_C: return (double)l->c + 1;
    case TIME: return l->t;
    case R2: return distance2(l, m);
    case R: return sqrt(distance2(l, m));
    case DOT: return product(l, m);
    case UNIFORM: return random_uniform(l->seed, STREAM_INITIAL, i * l->d + l->c);
    case NORMAL: return random_normal(l->seed, STREAM_INITIAL + 1, i * l->d + l->c);
    default: return op->value;
    }
}

static double whole_power(double x, int n)
{
    double p = 1;
    for (int k = abs(n); k > 0; k /= 2, x *= x)
        if (k % 2) p *= x;
    return n < 0 ? 1 / p : p;
}

/* a = a op b, or op a. */
static void apply(const Op *op, size_t count, double *restrict a, const double *restrict b)
{
    switch (op->code) {
    case ADD:
        for (size_t m = 0; m < count; m++) a[m] += b[m];
        break;
    case SUB:
        for (size_t m = 0; m < count; m++) a[m] -= b[m];
        break;
    case MUL:
        for (size_t m = 0; m < count; m++) a[m] *= b[m];
        break;
    case DIV:
        for (size_t m = 0; m < count; m++) a[m] /= b[m];
        break;
    case POW:
        for (size_t m = 0; m < count; m++) a[m] = pow(a[m], b[m]);
        break;
    case POWI:
        for (size_t m = 0; m < count; m++) a[m] = whole_power(a[m], op->k);
        break;
    case NEG:
        for (size_t m = 0; m < count; m++) a[m] = -a[m];
        break;
    case CALL:
        for (size_t m = 0; m < count; m++) a[m] = functions[op->k].call(a[m]);
        break;
    default: break;
    }
}

static int operands(int code)
{
    return code < ADD ? 0 : code <= POW ? 2 : 1;
}

/* out (count) = value of a program in every lane. */
static void run_program(const Lanes *l, const Program *p, double *out)
{
    double stack[STACK_MAX][LANES];
    int top = -1;
    for (int k = p->first; k < p->first + p->count; k++) {
        const Op *op = &l->model->op[k];
        int n = operands(op->code);
        if (n == 0) {
            top++;
            for (size_t m = 0; m < l->count; m++) stack[top][m] = leaf(l, op, m);
            continue;
        }
        top -= n - 1;
        apply(op, l->count, stack[top], stack[top + 1 < STACK_MAX ? top + 1 : top]);
    }
    memcpy(out, stack[0], l->count * sizeof *out);
}

/* ---- fields -------------------------------------------------------------------------------------- */

static size_t at_most(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sum of the others' values on particle l->i. */
static double add_others(Lanes *l, const Rule *r, size_t n)
{
    double v[LANES], sum = 0;
    for (l->j = 0; l->j < n; l->j += LANES) {
        l->count = at_most(LANES, n - l->j);
        run_program(l, &r->value, v);
        for (size_t m = 0; m < l->count; m++)
            if (l->j + m != l->i) sum += v[m];
    }
    return r->kind == MEAN ? sum / (double)n : sum;
}

/* With the largest score so far kept at 0, nothing overflows: Milakov, Gimelshein 2018. */
static double attend(Lanes *l, const Rule *r, size_t n)
{
    double v[LANES], s[LANES], top = -INFINITY, sum = 0, weight = 0;
    for (l->j = 0; l->j < n; l->j += LANES) {
        double old = top;
        l->count = at_most(LANES, n - l->j);
        run_program(l, &r->score, s);
        run_program(l, &r->value, v);
        for (size_t m = 0; m < l->count; m++)
            if (!(s[m] <= top)) top = s[m];
        double scale = top > old ? exp(old - top) : 1;
        sum *= scale;
        weight *= scale;
        for (size_t m = 0; m < l->count; m++) {
            double e = exp(s[m] - top);
            sum += e * v[m];
            weight += e;
        }
    }
    return sum / weight;
}

static void interact(const System *s, int set, double t, const double *y, double *dy)
{
    const Model *model = s->context;
    size_t n = s->n, d = s->d;
    (void)set;
#pragma omp parallel for if (n >= 128)
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < d; c++) {
            const Rule *r = &model->rule[RULE_F][c];
            Lanes l = {.model = model, .y = y, .d = d, .i = i, .c = c, .t = t};
            dy[i * d + c] = !r->line             ? 0
                            : r->kind == SOFTMAX ? attend(&l, r, n)
                                                 : add_others(&l, r, n);
        }
}

/* out (n, d) = a rule without others, for every particle. */
static void each(const System *s, int which, double t, const double *y, uint64_t seed, double *out)
{
    const Model *model = s->context;
    double v[LANES];
    for (size_t c = 0; c < s->d; c++) {
        const Rule *r = &model->rule[which][c];
        for (size_t i = 0; i < s->n; i += LANES) {
            Lanes l = {.model = model,
                       .y = y,
                       .d = s->d,
                       .i = i,
                       .di = 1,
                       .c = c,
                       .t = t,
                       .seed = seed,
                       .count = at_most(LANES, s->n - i)};
            memset(v, 0, sizeof v);
            if (r->line) run_program(&l, &r->value, v);
            for (size_t m = 0; m < l.count; m++) out[(i + m) * s->d + c] = v[m];
        }
    }
}

static void drift(const System *s, int set, double t, const double *y, double *dy)
{
    (void)set;
    each(s, RULE_G, t, y, 0, dy);
}

/* ---- expressions --------------------------------------------------------------------------------- */

typedef struct {
    char name[WORD_MAX];
    double value;
} Param;

typedef struct {
    Cursor cursor;
    Model *model;
    size_t n, d, n_given, d_given; /* as written; by the caller, 0: not */
    double t_end, h0;
    int begun, timed; /* an expression was read; t stands in a field */
    int params;
    Param param[PARAMS_MAX];
    unsigned allowed; /* bits of leaf codes */
    const char *place;
    int depth, stack;
} Reader;

#define BIT(code) (1u << (code))
static const unsigned in_F = BIT(OWN) | BIT(OTHER) | BIT(INDEX_I) | BIT(INDEX_J) | BIT(INDEX_C) |
                             BIT(TIME) | BIT(R2) | BIT(R) | BIT(DOT);
static const unsigned in_G = BIT(OWN) | BIT(INDEX_I) | BIT(INDEX_C) | BIT(TIME);
static const unsigned in_initial = BIT(INDEX_I) | BIT(INDEX_C) | BIT(UNIFORM) | BIT(NORMAL);

static const struct {
    const char *name;
    int code;
} leaves[] = {{"y", OWN},     {"z", OTHER},         {"i", INDEX_I},    {"j", INDEX_J},
              {"c", INDEX_C}, {"t", TIME},          {"r2", R2},        {"r", R},
              {"dot", DOT},   {"uniform", UNIFORM}, {"normal", NORMAL}};
enum { LEAVES = sizeof leaves / sizeof *leaves };

static int parse_sum(Reader *p);

/* Appends an operation; operations on constants alone are done at once. */
static int emit(Reader *p, int code, int k, double value)
{
    Model *m = p->model;
    int n = operands(code);
    Op op = {code, k, value};
    int fold = n > 0 && m->op[m->ops - 1].code == CONSTANT &&
               (n == 1 || (m->ops > 1 && m->op[m->ops - 2].code == CONSTANT));
    if (fold) {
        double b = m->op[m->ops - 1].value;
        Op *a = &m->op[m->ops - n];
        apply(&op, 1, &a->value, &b);
        m->ops -= n - 1;
        p->stack -= n - 1;
        return 0;
    }
    if (m->ops == OPS_MAX)
        return cursor_error(&p->cursor, "expected at most %d operations in a system", OPS_MAX);
    p->stack += 1 - n;
    if (p->stack > STACK_MAX - 1)
        return cursor_error(&p->cursor, "expected an expression of less depth");
    m->op[m->ops++] = op;
    return 0;
}

static int parse_number(Reader *p)
{
    Cursor *c = &p->cursor;
    char text[64], *end;
    size_t n = at_most((size_t)(c->end - c->at), sizeof text - 1);
    memcpy(text, c->at, n);
    text[n] = '\0';
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return cursor_error(c, "expected a decimal number");
    double value = strtod(text, &end);
    if (end == text + sizeof text - 1 || !isfinite(value))
        return cursor_error(c, "expected a number of fewer digits");
    c->at += end - text;
    return emit(p, CONSTANT, 0, value);
}

static int known_constant(const Reader *p, const char *word, double *value)
{
    const struct {
        const char *name;
        double value;
    } fixed[] = {{"pi", 3.14159265358979323846}, {"n", (double)p->n}, {"d", (double)p->d}};
    for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++)
        if (strcmp(word, fixed[k].name) == 0) return *value = fixed[k].value, 1;
    for (int k = 0; k < p->params; k++)
        if (strcmp(word, p->param[k].name) == 0) return *value = p->param[k].value, 1;
    return 0;
}

/* y3: component 3. */
static int component(const char *word)
{
    char *end;
    if ((word[0] != 'y' && word[0] != 'z') || !isdigit((unsigned char)word[1])) return 0;
    long k = strtol(word + 1, &end, 10);
    return *end || k > 9999 ? 0 : (int)k;
}

static int find_leaf(const char *word, int *code, int *k)
{
    *k = component(word) - 1; /* THIS for a bare y */
    for (size_t l = 0; l < LEAVES; l++) {
        *code = leaves[l].code;
        if (strcmp(word, leaves[l].name) == 0) return 1;
    }
    *code = word[0] == 'y' ? OWN : OTHER;
    return *k >= 0;
}

static int is_reserved(const Reader *p, const char *word)
{
    int code, k;
    double value;
    for (size_t f = 0; f < FUNCTIONS; f++)
        if (strcmp(word, functions[f].name) == 0) return 1;
    return find_leaf(word, &code, &k) || known_constant(p, word, &value);
}

static int parse_call(Reader *p, const char *word, int *found)
{
    for (int f = 0; f < FUNCTIONS; f++) {
        if (strcmp(word, functions[f].name) != 0) continue;
        *found = 1;
        TRY(cursor_expect(&p->cursor, "("));
        TRY(parse_sum(p));
        TRY(cursor_expect(&p->cursor, ")"));
        return emit(p, CALL, f, 0);
    }
    return 0;
}

static int parse_word(Reader *p, const char *word, const char *at)
{
    double value;
    int code, k, found = 0;
    TRY(parse_call(p, word, &found));
    if (found) return 0;
    if (known_constant(p, word, &value)) return emit(p, CONSTANT, 0, value);
    int is_leaf = find_leaf(word, &code, &k);
    Cursor here = p->cursor;
    here.at = at;
    if (!is_leaf)
        return cursor_error(&here,
                            "unknown name '%s'; expected a parameter, a function or one of y, "
                            "z, r, r2, dot, i, j, c, t, n, d, pi",
                            word);
    if (!(p->allowed & BIT(code)))
        return cursor_error(&here, "'%s' has no meaning in %s", word, p->place);
    if (k >= (int)p->d)
        return cursor_error(&here, "'%s': a particle has %zu coordinates", word, p->d);
    p->timed |= code == TIME;
    return emit(p, code, k, 0);
}

static int parse_factor(Reader *p)
{
    Cursor *c = &p->cursor;
    char word[WORD_MAX];
    cursor_blanks(c);
    const char *at = c->at;
    if (cursor_take(c, "(")) {
        TRY(parse_sum(p));
        return cursor_expect(c, ")");
    }
    if (cursor_word(c, word, sizeof word)) return parse_word(p, word, at);
    if (c->at < c->end && (isdigit((unsigned char)*c->at) || *c->at == '.')) return parse_number(p);
    return cursor_error(c, "expected a number, a name or '('");
}

/* -a^-b is -(a^(-b)). */
static int parse_power(Reader *p)
{
    Cursor *c = &p->cursor;
    if (cursor_take(c, "-")) {
        if (++p->depth > DEPTH_LIMIT) return cursor_error(c, "expected fewer signs in a row");
        TRY(parse_power(p));
        p->depth--;
        return emit(p, NEG, 0, 0);
    }
    TRY(parse_factor(p));
    if (!cursor_take(c, "^")) return 0;
    TRY(cursor_take(c, "-") ? (parse_factor(p) || emit(p, NEG, 0, 0) ? ERR_INPUT : 0)
                            : parse_factor(p));
    Op *last = &p->model->op[p->model->ops - 1];
    if (last->code != CONSTANT || last->value != rint(last->value) || fabs(last->value) > 16)
        return emit(p, POW, 0, 0);
    int power = (int)last->value;
    p->model->ops--;
    p->stack--;
    return emit(p, POWI, power, 0);
}

static int parse_product(Reader *p)
{
    Cursor *c = &p->cursor;
    TRY(parse_power(p));
    for (;;) {
        int code = cursor_take(c, "*") ? MUL : cursor_take(c, "/") ? DIV : NONE;
        if (code == NONE) return 0;
        TRY(parse_power(p));
        TRY(emit(p, code, 0, 0));
    }
}

static int parse_sum(Reader *p)
{
    Cursor *c = &p->cursor;
    if (++p->depth > DEPTH_LIMIT) return cursor_error(c, "expected fewer nested parentheses");
    cursor_take(c, "+");
    TRY(parse_product(p));
    for (;;) {
        int code = cursor_take(c, "+") ? ADD : cursor_take(c, "-") ? SUB : NONE;
        if (code == NONE) break;
        TRY(parse_product(p));
        TRY(emit(p, code, 0, 0));
    }
    p->depth--;
    return 0;
}

static int parse_program(Reader *p, unsigned allowed, const char *place, Program *out)
{
    p->allowed = allowed;
    p->place = place;
    p->depth = p->stack = 0;
    p->begun = 1;
    out->first = p->model->ops;
    TRY(parse_sum(p));
    out->count = p->model->ops - out->first;
    return 0;
}

/* A number without variables, used up at once. */
static int parse_constant(Reader *p, const char *place, double *out)
{
    Program program;
    Cursor before = p->cursor;
    TRY(parse_program(p, 0, place, &program));
    *out = p->model->op[program.first].value;
    p->model->ops = program.first;
    return isfinite(*out) ? 0 : cursor_error(&before, "expected a finite number");
}

/* ---- statements ---------------------------------------------------------------------------------- */

static int read_text(Reader *p, char *out, size_t bytes)
{
    Cursor *c = &p->cursor;
    cursor_blanks(c);
    size_t n = (size_t)(c->end - c->at);
    while (n && isspace((unsigned char)c->at[n - 1])) n--;
    if (n >= bytes) return cursor_error(c, "expected at most %zu bytes", bytes - 1);
    memcpy(out, c->at, n);
    out[n] = '\0';
    c->at = c->end;
    return 0;
}

static int read_name(Reader *p)
{
    char *name = p->model->name;
    if (*name) return cursor_error(&p->cursor, "expected one system in a file");
    TRY(read_text(p, name, sizeof p->model->name));
    for (const char *s = name; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("-_.", *s)) *name = '\0';
    return *name ? 0
                 : cursor_error(&p->cursor, "expected a name of letters, digits, '-', '_', '.'");
}

static int read_title(Reader *p)
{
    return read_text(p, p->model->title, sizeof p->model->title);
}

static int read_source(Reader *p)
{
    return read_text(p, p->model->source, sizeof p->model->source);
}

static int read_size(Reader *p, const char *what, size_t given, size_t most, size_t *out)
{
    long size;
    Cursor before = p->cursor;
    if (p->begun) return cursor_error(&before, "expected '%s' before the first expression", what);
    TRY(cursor_integer(&p->cursor, (long)most, &size));
    if (size == 0) return cursor_error(&before, "expected a whole number of at least 1");
    *out = given ? given : (size_t)size;
    return 0;
}

static int read_n(Reader *p)
{
    return read_size(p, "n", p->n_given, SIZE_LIMIT, &p->n);
}

static int read_d(Reader *p)
{
    return read_size(p, "d", p->d_given, D_MAX, &p->d);
}

static int read_positive(Reader *p, const char *place, double *out)
{
    Cursor before = p->cursor;
    TRY(parse_constant(p, place, out));
    return *out > 0 && *out <= 1e6 ? 0 : cursor_error(&before, "expected a number in (0, 1e6]");
}

static int read_t_end(Reader *p)
{
    return read_positive(p, "t-end", &p->t_end);
}

static int read_h0(Reader *p)
{
    return read_positive(p, "h0", &p->h0);
}

static int read_param(Reader *p)
{
    Cursor before = p->cursor;
    Param *a = &p->param[p->params];
    if (p->params == PARAMS_MAX)
        return cursor_error(&before, "expected at most %d parameters", PARAMS_MAX);
    if (!cursor_word(&p->cursor, a->name, sizeof a->name))
        return cursor_error(&before, "expected a name");
    if (is_reserved(p, a->name)) return cursor_error(&before, "'%s' is taken", a->name);
    TRY(cursor_expect(&p->cursor, "="));
    TRY(parse_constant(p, "a parameter", &a->value));
    p->params++;
    return 0;
}

static int read_interaction(Reader *p, Rule *r)
{
    char word[WORD_MAX] = "";
    Cursor before = p->cursor;
    static const char *const kinds[] = {"", "sum", "mean", "softmax"};
    cursor_word(&p->cursor, word, sizeof word);
    for (int k = SUM; k <= SOFTMAX; k++)
        if (strcmp(word, kinds[k]) == 0) r->kind = k;
    if (r->kind == NONE) {
        cursor_blanks(&before);
        return cursor_error(&before, "expected 'sum', 'mean' or 'softmax'");
    }
    if (r->kind == SOFTMAX) {
        TRY(parse_program(p, in_F, "F", &r->score));
        TRY(cursor_expect(&p->cursor, ":"));
    }
    return parse_program(p, in_F, "F", &r->value);
}

static int read_rule(Reader *p, int which, Rule *r)
{
    TRY(cursor_expect(&p->cursor, "="));
    if (which == RULE_F) return read_interaction(p, r);
    int timed = p->timed;
    TRY(parse_program(p, which == RULE_G ? in_G : in_initial, which == RULE_G ? "G" : "initial",
                      &r->value));
    if (which == RULE_INITIAL) p->timed = timed;
    return 0;
}

/* `F = ...` is the rule of every component, `F2 = ...` that of one. */
static int read_rules(Reader *p, int which, const char *number)
{
    Rule rule = {.line = p->cursor.line};
    size_t first = 0, end = p->d;
    if (*number) {
        first = strtoul(number, NULL, 10) - 1; /* 0 wraps */
        end = first + 1;
        if (first >= p->d)
            return cursor_error(&p->cursor, "expected a coordinate of 1 to %zu", p->d);
    }
    for (size_t c = first; c < end; c++)
        if (p->model->rule[which][c].line)
            return cursor_error(&p->cursor, "coordinate %zu has its rule in line %zu", c + 1,
                                p->model->rule[which][c].line);
    TRY(read_rule(p, which, &rule));
    for (size_t c = first; c < end; c++) p->model->rule[which][c] = rule;
    return 0;
}

static const struct {
    const char *word;
    int (*read)(Reader *p);
} statements[] = {{"system", read_name}, {"title", read_title}, {"source", read_source},
                  {"n", read_n},         {"d", read_d},         {"param", read_param},
                  {"t-end", read_t_end}, {"h0", read_h0}};
static const char *const rules[RULES] = {"F", "G", "initial"};

/* The word that begins a line, '-' included. */
static size_t first_word(const Cursor *c, char *out, size_t bytes)
{
    size_t n = 0;
    while (c->at + n < c->end && (isalnum((unsigned char)c->at[n]) || c->at[n] == '-')) n++;
    if (n >= bytes) n = 0;
    memcpy(out, c->at, n);
    out[n] = '\0';
    return n;
}

static int read_statement(Reader *p)
{
    char word[WORD_MAX];
    Cursor *c = &p->cursor;
    cursor_blanks(c);
    if (c->at == c->end) return 0;
    size_t n = first_word(c, word, sizeof word);
    if (!*p->model->name && strcmp(word, "system") != 0)
        return cursor_error(c, "expected 'system NAME'");
    for (size_t k = 0; k < sizeof statements / sizeof *statements; k++)
        if (strcmp(word, statements[k].word) == 0) {
            c->at += n;
            TRY(statements[k].read(p));
            return cursor_end(c, "the end of the line");
        }
    for (int k = 0; k < RULES; k++) {
        size_t length = strlen(rules[k]);
        if (strncmp(word, rules[k], length) != 0) continue;
        if (strspn(word + length, "0123456789") != n - length || n - length > 4) continue;
        c->at += n;
        TRY(read_rules(p, k, word + length));
        return cursor_end(c, "an operator or the end of the line");
    }
    return cursor_error(c,
                        "expected system, title, source, n, d, param, F, G, initial, t-end or h0");
}

/* ---- the file ------------------------------------------------------------------------------------ */

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
        TRY(read_statement(p));
        at = stop + 1;
    }
    return 0;
}

static int has_rule(const Model *m, int which, size_t d)
{
    for (size_t c = 0; c < d; c++)
        if (m->rule[which][c].line) return 1;
    return 0;
}

static int check(const Reader *p)
{
    const char *file = p->cursor.file;
    if (!*p->model->name) return error_set(ERR_INPUT, "%s: expected 'system NAME'", file);
    if (!has_rule(p->model, RULE_F, p->d) && !has_rule(p->model, RULE_G, p->d))
        return error_set(ERR_INPUT, "%s: expected an interaction F or a drift G", file);
    if (!has_rule(p->model, RULE_INITIAL, p->d))
        return error_set(ERR_INPUT, "%s: expected an initial state: 'initial = ...'", file);
    if (p->n * p->d > SIZE_LIMIT)
        return error_set(ERR_INPUT, "%s: expected at most %d coordinates in all; there are %zu",
                         file, SIZE_LIMIT, p->n * p->d);
    return 0;
}

/* The first place where x (n, d) is not finite is told. */
static int check_finite(const System *s, const char *file, int which, const double *x)
{
    const Model *m = s->context;
    for (size_t k = 0; k < s->n * s->d; k++)
        if (!isfinite(x[k]))
            return error_set(ERR_INPUT,
                             "%s:%zu: %s of particle %zu, coordinate %zu is not finite%s", file,
                             m->rule[which][k % s->d].line, rules[which], k / s->d + 1,
                             k % s->d + 1, which == RULE_INITIAL ? "" : " at the initial state");
    return 0;
}

/* Fills the initial state; tries the fields on it. */
static int start(System *s, const char *file, uint64_t seed)
{
    double *dy = s->param;
    each(s, RULE_INITIAL, 0, s->initial, seed, s->initial);
    TRY(check_finite(s, file, RULE_INITIAL, s->initial));
    interact(s, 1, 0, s->initial, dy);
    TRY(check_finite(s, file, RULE_F, dy));
    drift(s, 1, 0, s->initial, dy);
    return check_finite(s, file, RULE_G, dy);
}

static int build(Reader *p, uint64_t seed, System **out)
{
    System *s = memory_new(1, sizeof *s);
    if (!s) return ERR_MEMORY;
    *s = (System){.name = p->model->name,
                  .title = p->model->title,
                  .source = p->model->source,
                  .n = p->n,
                  .d = p->d,
                  .field = {interact, drift},
                  .t_end = p->t_end,
                  .h0 = p->h0 > 0 ? p->h0 : p->t_end / 4,
                  .timed = p->timed};
    s->initial = memory_new(p->n * p->d, sizeof(double));
    s->param = memory_new(p->n * p->d, sizeof(double));
    if (!s->initial || !s->param) {
        system_free(s);
        return ERR_MEMORY;
    }
    if (!*p->model->title) snprintf(p->model->title, sizeof p->model->title, "a user's own system");
    s->context = p->model;
    p->model = NULL;
    int code = start(s, p->cursor.file, seed);
    if (code != 0)
        system_free(s);
    else
        *out = s;
    return code;
}

int system_parse(const char *file, const char *text, size_t bytes, size_t particles, size_t dim,
                 uint64_t seed, System **out)
{
    Reader p = {
        .cursor = {.file = file, .line = 1}, .n_given = particles, .d_given = dim, .t_end = 1};
    p.n = particles ? particles : 8;
    p.d = dim ? dim : 1;
    if (p.n > SIZE_LIMIT || p.d > D_MAX)
        return error_set(ERR_INPUT, "%s: expected at most %d particles of at most %d coordinates",
                         file, SIZE_LIMIT, D_MAX);
    p.model = memory_new(1, sizeof *p.model);
    if (!p.model) return ERR_MEMORY;
    int code = read_lines(&p, text, bytes);
    if (code == 0) code = check(&p);
    if (code == 0) code = build(&p, seed, out);
    memory_free(p.model);
    return code;
}

int system_read(const char *file, size_t particles, size_t dim, uint64_t seed, System **out)
{
    FILE *f = fopen(file, "rb");
    if (!f) return error_set(ERR_INPUT, "%s: the system file cannot be opened", file);
    char *text = memory_new(FILE_MAX + 1, 1);
    size_t bytes = text ? fread(text, 1, FILE_MAX + 1, f) : 0;
    int code = text ? 0 : ERR_MEMORY;
    if (text && ferror(f)) code = error_set(ERR_INPUT, "%s: the system file cannot be read", file);
    fclose(f);
    if (code == 0 && bytes > FILE_MAX)
        code = error_set(ERR_INPUT, "%s: expected a system file of at most 64 KiB", file);
    if (code == 0) code = system_parse(file, text, bytes, particles, dim, seed, out);
    memory_free(text);
    return code;
}
