/* source_values.c: reads the numbers that a program's text assigns to names, in C, Julia or Python, without running it.
 *
 * What is read are assignments whose right sides are made of numbers: sums, products, quotients, whole powers, square
 * roots, lists and matrices, names that were assigned before, and the calls by which these languages wrap a number
 * (SUN_RCONST(0.5), convert(T, 1//2), np.array([...])). All else is passed over; a name whose assignment was not read is
 * remembered as such, with its line, so that whoever needs it can say so.
 *
 *   sum     = product { ('+'|'-') product }          in a matrix of Julia "1 -2" are two entries, "1 - 2" is one
 *   product = sign { ('*'|'/'|'//') sign }
 *   sign    = ['-'|'+'] power
 *   power   = primary [ ('^'|'**') sign ]
 *   primary = NUMBER | NAME | NAME '(' ... ')' | NAME '[' ... ']' | '(' sum ')' | list | 2NAME, 2(sum) in Julia
 *
 * A quotient of whole numbers is the fraction, as its writer meant. */
#include "ode/scheme/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/error.h"
#include "kernels/base/memory.h"
#include "ode/scheme/rationals.h"

enum { DEPTH_MOST = 48, POWER_MOST = 64, NUMBER_MOST = 600 /* bytes */, BITS_MOST = 4096 };

/* ---- values ------------------------------------------------------------------------------------------ */

void value_init(Value *v)
{
    *v = (Value){0};
    mpq_init(v->q);
}

void value_free(Value *v)
{
    for (size_t i = 0; i < v->n; i++) value_free(&v->item[i]);
    memory_free(v->item);
    mpq_clear(v->q);
}

static void reset(Value *v)
{
    value_free(v);
    value_init(v);
}

void value_move(Value *to, Value *v)
{
    value_free(to);
    *to = *v;
    value_init(v);
}

static void become_list(Value *v)
{
    v->is_list = 1;
    mpq_set_ui(v->q, 0, 1);
}

Value *value_item(Value *v, size_t i)
{
    become_list(v);
    while (v->n <= i) {
        if (i >= SOURCE_LONGEST || memory_more(&v->item, v->n, sizeof *v->item) != 0) return NULL;
        value_init(&v->item[v->n++]);
    }
    return &v->item[i];
}

int value_copy(Value *to, const Value *from)
{
    reset(to);
    mpq_set(to->q, from->q);
    to->inexact = from->inexact;
    to->is_list = from->is_list;
    for (size_t i = 0; i < from->n; i++) {
        Value *item = value_item(to, i);
        if (!item) return ERR_MEMORY;
        TRY(value_copy(item, &from->item[i]));
    }
    return 0;
}

static int is_long(const mpq_t q)
{
    return mpz_sizeinbase(mpq_numref(q), 2) + mpz_sizeinbase(mpq_denref(q), 2) > BITS_MOST;
}

static int combine_numbers(Value *to, int op, const Value *from)
{
    if (op == '/' && mpq_sgn(from->q) == 0) return SOURCE_UNREAD;
    (op == '+'   ? mpq_add
     : op == '-' ? mpq_sub
     : op == '*' ? mpq_mul
                 : mpq_div)(to->q, to->q, from->q);
    to->inexact |= from->inexact;
    if (to->inexact) rational_shorten(to->q);
    return is_long(to->q) ? SOURCE_UNREAD : 0;
}

int value_combine(Value *to, int op, const Value *from)
{
    int scaled = op == '*' || op == '/';
    if (!to->is_list && !from->is_list) return combine_numbers(to, op, from);
    if (!to->is_list && op == '*') { /* a number times a list */
        VALUE(list);
        TRY(value_copy(&list, from));
        TRY(value_combine(&list, op, to));
        value_move(to, &list);
        return 0;
    }
    if (!to->is_list || (from->is_list ? scaled || from->n != to->n : !scaled))
        return SOURCE_UNREAD;
    for (size_t i = 0; i < to->n; i++)
        TRY(value_combine(&to->item[i], op, from->is_list ? &from->item[i] : from));
    return 0;
}

/* ---- tokens ------------------------------------------------------------------------------------------ */

typedef struct {
    int language;
    const char *at, *end;
    size_t line;
    int spaced;
    int define; /* 1: the name of a #define comes, 2: its '=' */
} Scanner;

static int starts(const Scanner *s, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(s->end - s->at) >= n && memcmp(s->at, word, n) == 0;
}

static void pass(Scanner *s, size_t bytes)
{
    for (; bytes && s->at < s->end; bytes--, s->at++) s->line += *s->at == '\n';
}

/* Passes all up to `word` and over it. */
static void pass_to(Scanner *s, const char *word)
{
    while (s->at < s->end && !starts(s, word)) pass(s, 1);
    pass(s, strlen(word));
}

static void pass_line(Scanner *s)
{
    while (s->at < s->end && *s->at != '\n') s->at++;
}

/* Passes the words of `#define NAME value`, and not those of a macro with arguments. */
static int pass_define(Scanner *s)
{
    size_t n = strlen("#define ");
    if (!starts(s, "#define ")) return 0;
    const char *d = s->at + n;
    while (d < s->end && *d == ' ') d++;
    while (d < s->end && (isalnum((unsigned char)*d) || *d == '_')) d++;
    if (d == s->end || *d != ' ') return 0;
    pass(s, n);
    return s->define = 1;
}

static int pass_comment(Scanner *s)
{
    int c = s->language == SOURCE_C;
    if (c && pass_define(s)) return 1;
    if (c && starts(s, "/*"))
        pass_to(s, "*/");
    else if (s->language == SOURCE_JULIA && starts(s, "#="))
        pass_to(s, "=#");
    else if (starts(s, c ? "//" : "#") || *s->at == '#')
        pass_line(s);
    else
        return 0;
    return s->spaced = 1;
}

static void pass_blanks(Scanner *s)
{
    while (s->at < s->end) {
        int line = *s->at == '\n' && s->language != SOURCE_C;
        int joined = *s->at == '\\'; /* a line goes on in the next */
        if (joined && s->at + 1 < s->end && s->at[1] == '\n')
            pass(s, 2);
        else if (isspace((unsigned char)*s->at) && !line)
            pass(s, 1);
        else if (!pass_comment(s))
            return;
        s->spaced = 1;
    }
}

static size_t number_bytes(const Scanner *s)
{
    const char *d = s->at;
    while (d < s->end && (isdigit((unsigned char)*d) || *d == '.')) d++;
    if (d < s->end && (*d == 'e' || *d == 'E')) {
        const char *e = d + 1;
        if (e < s->end && (*e == '+' || *e == '-')) e++;
        if (e < s->end && isdigit((unsigned char)*e)) {
            while (e < s->end && isdigit((unsigned char)*e)) e++;
            d = e;
        }
    }
    return (size_t)(d - s->at);
}

static int in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Makes the token of a text in quotation marks, without these. */
static void scan_string(Scanner *s, Token *t)
{
    char mark[4] = {*s->at, *s->at, *s->at, 0};
    if (!starts(s, mark)) mark[1] = 0;
    pass(s, strlen(mark));
    t->kind = TOKEN_STRING;
    t->at = s->at;
    while (s->at < s->end && !starts(s, mark)) pass(s, *s->at == '\\' ? 2 : 1);
    t->bytes = (size_t)(s->at - t->at);
    pass(s, strlen(mark));
}

static int scan_sign(const Scanner *s, size_t *bytes)
{
    static const struct {
        const char *text;
        int kind;
    } signs[] = {{"//", TOKEN_SLASHES}, {"**", '^'},         {"->", '.'},
                 {"::", '.'},           {"==", TOKEN_OTHER}, {"<=", TOKEN_OTHER},
                 {">=", TOKEN_OTHER},   {"!=", TOKEN_OTHER}, {"+=", TOKEN_OTHER},
                 {"-=", TOKEN_OTHER},   {"*=", TOKEN_OTHER}, {"/=", TOKEN_OTHER}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (starts(s, signs[i].text)) {
            *bytes = 2;
            return signs[i].kind;
        }
    *bytes = 1;
    if (*s->at == '\n') return TOKEN_LINE;
    return (unsigned char)*s->at > ' ' ? (unsigned char)*s->at : TOKEN_OTHER;
}

static void scan(Scanner *s, Token *t)
{
    s->spaced = 0;
    pass_blanks(s);
    *t = (Token){.at = s->at, .line = s->line, .spaced = s->spaced};
    if (s->define == 2) { /* #define NAME = value, as it were */
        t->kind = '=';
        s->define = 0;
        return;
    }
    if (s->at == s->end) return;
    s->define *= 2;
    char c = *s->at;
    int point = c == '.' && s->at + 1 < s->end && isdigit((unsigned char)s->at[1]);
    if (isdigit((unsigned char)c) || point) {
        t->kind = TOKEN_NUMBER;
        t->bytes = number_bytes(s);
        pass(s, t->bytes);
        int ends = s->language == SOURCE_C && s->at < s->end && strchr("fFlL", *s->at);
        if (ends) pass(s, 1);
    } else if (in_name(c)) {
        t->kind = TOKEN_NAME;
        while (t->bytes < (size_t)(s->end - s->at) && in_name(s->at[t->bytes])) t->bytes++;
        pass(s, t->bytes);
    } else if (c == '"' || (c == '\'' && s->language == SOURCE_PYTHON)) {
        scan_string(s, t);
    } else {
        t->kind = scan_sign(s, &t->bytes);
        pass(s, t->bytes);
    }
}

int reader_open(Reader *r, int language, const char *text, size_t bytes)
{
    Scanner s = {.language = language, .at = text, .end = text + bytes, .line = 1};
    Token t;
    *r = (Reader){.language = language};
    do {
        scan(&s, &t);
        TRY(memory_add(r->token, r->tokens, t));
    } while (t.kind != TOKEN_END);
    return 0;
}

void reader_forget(Reader *r)
{
    for (size_t i = 0; i < r->variables; i++) value_free(&r->variable[i].v);
    r->variables = 0;
    r->variable = memory_free(r->variable);
}

void reader_free(Reader *r)
{
    reader_forget(r);
    r->token = memory_free(r->token);
}

int reader_is(const Token *t, const char *word)
{
    return t->kind == TOKEN_NAME && t->bytes == strlen(word) && memcmp(t->at, word, t->bytes) == 0;
}

void reader_name(const Token *t, char name[SOURCE_NAME])
{
    snprintf(name, SOURCE_NAME, "%.*s", (int)(t->bytes < SOURCE_NAME ? t->bytes : SOURCE_NAME - 1),
             t->at);
}

/* Within parentheses, and lists other than matrices, the end of a line is none of the statement. */
const Token *reader_peek(Reader *r)
{
    while (r->nest && !r->matrix && r->token[r->at].kind == TOKEN_LINE) r->at++;
    return &r->token[r->at];
}

static int take(Reader *r, int kind)
{
    if (reader_peek(r)->kind != kind) return 0;
    r->at++;
    return 1;
}

static int unread(Reader *r)
{
    r->stuck = r->at;
    return SOURCE_UNREAD;
}

/* ---- names ------------------------------------------------------------------------------------------- */

Variable *reader_find(const Reader *r, const char *name)
{
    for (size_t i = r->variables; i-- > 0;)
        if (strcmp(r->variable[i].name, name) == 0) return &r->variable[i];
    return NULL;
}

static int make_variable(Reader *r, const char *name, Variable **out)
{
    *out = reader_find(r, name);
    if (*out) return 0;
    if (r->variables == SOURCE_NAMES)
        return error_set(ERR_INPUT, "more than %d names in one place", SOURCE_NAMES);
    TRY(memory_more(&r->variable, r->variables, sizeof *r->variable));
    *out = &r->variable[r->variables++];
    snprintf((*out)->name, SOURCE_NAME, "%s", name);
    value_init(&(*out)->v);
    return 0;
}

/* ---- expressions ------------------------------------------------------------------------------------- */

static int read_power(Reader *r, Value *v);

/* Reads digits, a point and an exponent exactly. */
static int read_number(const Token *t, Value *v)
{
    size_t minus = t->bytes && *t->at == '-', n = t->bytes - minus; /* in a text, "-.5" */
    if (n == 0 || n > NUMBER_MOST || rational_decimal(t->at + minus, n, v->q) != n || is_long(v->q))
        return SOURCE_UNREAD;
    if (minus) mpq_neg(v->q, v->q);
    /* 0.5 is 1/2, and 0.1 a rounding as far as anyone can tell. */
    v->inexact = mpz_popcount(mpq_denref(v->q)) != 1;
    return 0;
}

/* Takes the square root; that of a square is exact. */
static int take_root(Value *v)
{
    if (v->is_list || mpq_sgn(v->q) < 0) return SOURCE_UNREAD;
    if (mpz_perfect_square_p(mpq_numref(v->q)) && mpz_perfect_square_p(mpq_denref(v->q))) {
        mpz_sqrt(mpq_numref(v->q), mpq_numref(v->q));
        mpz_sqrt(mpq_denref(v->q), mpq_denref(v->q));
        return 0;
    }
    mpf_t root;
    mpf_init2(root, 2 * TABLE_BITS);
    mpf_set_q(root, v->q);
    mpf_sqrt(root, root);
    mpq_set_f(v->q, root);
    mpf_clear(root);
    rational_shorten(v->q);
    v->inexact = 1;
    return 0;
}

static int raise_to(Value *v, const Value *power)
{
    if (v->is_list || power->is_list) return SOURCE_UNREAD;
    if (mpq_cmp_ui(power->q, 1, 2) == 0) return take_root(v);
    if (mpz_cmp_ui(mpq_denref(power->q), 1) != 0 ||
        mpz_cmpabs_ui(mpq_numref(power->q), POWER_MOST) > 0)
        return SOURCE_UNREAD;
    long n = mpz_get_si(mpq_numref(power->q));
    VALUE(base);
    TRY(value_copy(&base, v));
    mpq_set_ui(v->q, 1, 1);
    for (long i = 0; i < labs(n); i++) TRY(value_combine(v, n > 0 ? '*' : '/', &base));
    return 0;
}

static int read_product(Reader *r, Value *v);

/* Returns the operator at hand, 0: none that goes on with this expression. */
static int take_operator(Reader *r, const char *signs)
{
    const Token *t = reader_peek(r);
    int dotted = r->language == SOURCE_JULIA && t->kind == '.' && !t[1].spaced; /* .+ */
    t += dotted;
    int kind = t->kind == TOKEN_SLASHES ? '/' : t->kind;
    if (t->kind == TOKEN_SLASHES && r->language == SOURCE_PYTHON) return 0; /* rounds down */
    if (kind < ' ' || !strchr(signs, kind)) return 0;
    if (r->matrix && strchr("+-", kind) && t->spaced && !t[1].spaced) return 0;
    r->at += 1 + (size_t)dotted;
    while (r->token[r->at].kind == TOKEN_LINE) r->at++;
    return kind;
}

static int read_sum(Reader *r, Value *v)
{
    TRY(read_product(r, v));
    for (int op; (op = take_operator(r, "+-")) != 0;) {
        VALUE(next);
        TRY(read_product(r, &next));
        TRY(value_combine(v, op, &next));
    }
    return 0;
}

static int negate(Value *v)
{
    mpq_neg(v->q, v->q);
    for (size_t i = 0; i < v->n; i++) TRY(negate(&v->item[i]));
    return 0;
}

static int read_sign(Reader *r, Value *v)
{
    int minus = 0;
    for (int kind; (kind = reader_peek(r)->kind) == '-' || kind == '+'; r->at++)
        minus ^= kind == '-';
    TRY(read_power(r, v));
    return minus ? negate(v) : 0;
}

static int read_product(Reader *r, Value *v)
{
    TRY(read_sign(r, v));
    for (int op; (op = take_operator(r, "*/")) != 0;) {
        VALUE(next);
        TRY(read_sign(r, &next));
        TRY(value_combine(v, op, &next));
    }
    return 0;
}

int reader_expression(Reader *r, Value *v)
{
    if (r->depth >= DEPTH_MOST) return unread(r);
    r->depth++;
    int code = read_sum(r, v);
    r->depth--;
    if (code == SOURCE_UNREAD) r->stuck = r->at;
    return code;
}

static size_t numbers(const Value *v)
{
    size_t n = 1;
    for (size_t i = 0; i < v->n; i++) n += numbers(&v->item[i]);
    return n;
}

/* Returns whether lists stand within lists of lists, which no tableau needs. */
static int deep(const Value *item)
{
    return item->is_list && item->n && item->item[0].is_list;
}

/* Reads "a, b, c" up to the closing sign, or one expression in parentheses. */
static int read_items(Reader *r, Value *v, int close)
{
    VALUE(first);
    size_t n = 0;
    int commas = 0;
    while (!take(r, close)) {
        if (n == SOURCE_LONGEST) return unread(r);
        Value *item = n == 0 ? &first : value_item(v, n);
        if (!item) return ERR_MEMORY;
        TRY(reader_expression(r, item));
        if (n > 0 && deep(item)) return unread(r);
        if (n++ == 0 && close != ')') become_list(v);
        int comma = take(r, ',');
        commas += comma;
        if (!comma && reader_peek(r)->kind != close) return unread(r);
    }
    if (close == ')' && n == 1 && !commas) {
        value_move(v, &first);
        return 0;
    }
    become_list(v);
    if (n == 0) return 0;
    Value *item = value_item(v, 0);
    if (!item) return ERR_MEMORY;
    value_move(item, &first);
    return 0;
}

/* Reads "0 0; 1//2 0" to the bracket: rows end with ';' or a line, entries with blanks or commas. One row, or one column,
 * is a list of numbers. */
static int read_matrix(Reader *r, Value *v)
{
    size_t row = 0, column = 0;
    int wide = 0;
    become_list(v);
    while (!take(r, ']')) {
        int kind = reader_peek(r)->kind, line = kind == TOKEN_LINE || kind == ';';
        if (line && column) row++, column = 0;
        if (line || kind == ',') {
            r->at++;
            while (kind == ',' && reader_peek(r)->kind == TOKEN_LINE) r->at++;
            continue;
        }
        if (row == SOURCE_LONGEST || column == SOURCE_LONGEST) return unread(r);
        Value *list = value_item(v, row), *item = list ? value_item(list, column) : NULL;
        if (!item) return ERR_MEMORY;
        TRY(reader_expression(r, item));
        if (item->is_list) return unread(r);
        wide |= column++ > 0;
    }
    if (v->n > 1 && wide) return 0;
    VALUE(flat);
    if (v->n == 1)
        value_move(&flat, &v->item[0]);
    else
        for (size_t i = 0; i < v->n; i++) {
            Value *to = value_item(&flat, i);
            if (!to) return ERR_MEMORY;
            value_move(to, &v->item[i].item[0]);
        }
    become_list(&flat);
    value_move(v, &flat);
    return 0;
}

/* ---- calls and places -------------------------------------------------------------------------------- */

void reader_skip_argument(Reader *r)
{
    for (int open = 0;; r->at++) {
        if (++r->work > SOURCE_WORK) r->at = r->tokens - 1;
        int kind = r->token[r->at].kind;
        if (kind == TOKEN_END) return;
        if (open == 0 && (kind == ',' || kind == ';' || strchr(")]}", kind > ' ' ? kind : ' ')))
            return;
        open += kind == '(' || kind == '[' || kind == '{';
        open -= kind == ')' || kind == ']' || kind == '}';
    }
}

/* Calls that leave the last of their arguments as it is, behind a type. */
static const char *const wrappers[] = {
    "convert",  "map",     "T",           "T2",      "T_time",  "SUN_RCONST",
    "RCONST",   "RC",      "array",       "asarray", "float",   "float64",
    "BigFloat", "Float64", "BigInt",      "parse",   "big",     "squeeze",
    "tuple",    "Value",   "static_cast", "Integer", "sympify", "PetscRealConstant"};

/* Methods that leave the numbers of a list as they are. */
static const char *const forms[] = {"astype", "copy"};

static const char *const roots[] = {"sqrt", "SUNRsqrt", "PetscSqrtReal"};

static int listed(const Token *t, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (reader_is(t, words[i])) return 1;
    return 0;
}
#define LISTED(t, words) listed(t, words, sizeof(words) / sizeof *(words))

enum { ARGUMENTS = 16 };

/* Reads the arguments that are numbers or lists, behind '('; a text of digits is one too. */
static int read_arguments(Reader *r, Value *v)
{
    become_list(v);
    for (size_t n = 0; !take(r, ')');) {
        const Token *t = reader_peek(r);
        VALUE(x);
        Token inside = {.kind = TOKEN_NUMBER, .at = t->at, .bytes = t->bytes};
        if (t->kind == TOKEN_END) return unread(r);
        int named = t->kind == TOKEN_NAME && t[1].kind == '=';
        size_t from = r->at;
        int code = t->kind == TOKEN_STRING ? (r->at++, read_number(&inside, &x))
                   : named                 ? SOURCE_UNREAD
                                           : reader_expression(r, &x);
        if (code < 0) return code;
        int kind = reader_peek(r)->kind;
        if (code == 0 && kind != ',' && kind != ';' && kind != ')') code = SOURCE_UNREAD;
        if (code != 0) r->at = from;
        if (code == 0) {
            if (n == ARGUMENTS) return unread(r);
            Value *item = value_item(v, n++);
            if (!item) return ERR_MEMORY;
            value_move(item, &x);
        }
        reader_skip_argument(r);
        if (!take(r, ',') && !take(r, ';') && reader_peek(r)->kind != ')') return unread(r);
    }
    return 0;
}

/* Reads what stands within parentheses or brackets, where lines may end: a matrix, arguments, or items up to the sign `what`. */
enum { INSIDE_MATRIX, INSIDE_ARGUMENTS };
static int read_inside(Reader *r, int what, Value *v)
{
    int nest = r->nest, before = r->matrix;
    r->nest = nest + 1;
    r->matrix = what == INSIDE_MATRIX;
    int code = what == INSIDE_MATRIX      ? read_matrix(r, v)
               : what == INSIDE_ARGUMENTS ? read_arguments(r, v)
                                          : read_items(r, v, what);
    r->nest = nest;
    r->matrix = before;
    return code;
}

/* Makes zeros(6), zeros(6, 6) of the numbers in v. */
static int make_zeros(Reader *r, Value *v)
{
    size_t size[2] = {1, 0};
    const Value *of = v->n && v->item[0].is_list ? &v->item[0] : v;
    if (of->n < 1 || of->n > 2) return SOURCE_UNREAD;
    for (size_t i = 0; i < of->n; i++) {
        if (of->item[i].is_list || mpq_cmp_ui(of->item[i].q, SOURCE_LONGEST, 1) > 0 ||
            mpq_sgn(of->item[i].q) <= 0)
            return SOURCE_UNREAD;
        size[i] = (size_t)mpz_get_ui(mpq_numref(of->item[i].q));
    }
    r->work += SOURCE_COPY * size[0] * (size[1] + 1);
    if (r->work > SOURCE_WORK) return SOURCE_UNREAD;
    reset(v);
    for (size_t i = 0; i < size[0]; i++) {
        Value *row = value_item(v, i);
        if (!row) return ERR_MEMORY;
        if (size[1] && !value_item(row, size[1] - 1)) return ERR_MEMORY;
    }
    return 0;
}

static int read_call(Reader *r, const Token *name, Value *v)
{
    VALUE(list);
    size_t open = r->at++;
    int wraps = LISTED(name, wrappers), root = LISTED(name, roots),
        zeros = reader_is(name, "zeros");
    int fraction = reader_is(name, "Rational");
    if (!wraps && !root && !zeros && !fraction) {
        r->at = open;
        return unread(r);
    }
    TRY(read_inside(r, INSIDE_ARGUMENTS, &list));
    if (zeros) TRY(make_zeros(r, &list));
    if (zeros) {
        value_move(v, &list);
        return 0;
    }
    if (list.n == 0) return unread(r);
    int quotient = fraction && list.n == 2;
    value_move(v, &list.item[quotient ? 0 : list.n - 1]);
    if (quotient) return value_combine(v, '/', &list.item[1]);
    return root ? take_root(v) : 0;
}

/* Returns the place of a list that an index names; -1 counts from the end in Python. */
static int place(const Reader *r, const Value *list, const Value *index, size_t *at)
{
    if (index->is_list || mpz_cmp_ui(mpq_denref(index->q), 1) != 0 ||
        mpz_cmpabs_ui(mpq_numref(index->q), SOURCE_LONGEST) > 0)
        return SOURCE_UNREAD;
    long i = mpz_get_si(mpq_numref(index->q)) - (r->language == SOURCE_JULIA);
    if (i < 0 && r->language == SOURCE_PYTHON) i += (long)list->n;
    if (i < 0 || i >= SOURCE_LONGEST) return SOURCE_UNREAD;
    *at = (size_t)i;
    return 0;
}

/* Puts an item of a list in its place. */
static int take_item(Reader *r, Value *v, const Value *index)
{
    size_t at;
    TRY(place(r, v, index, &at));
    if (!v->is_list || at >= v->n) return unread(r);
    VALUE(item);
    value_move(&item, &v->item[at]);
    value_move(v, &item);
    return 0;
}

/* Reads [i], [i, j], [i][j], [i, :], [:-1] behind a list's name, and puts the entry in its place. */
static int read_entry(Reader *r, Value *v)
{
    VALUE(index);
    const Token *t = &r->token[r->at];
    int behind = t[1].kind == '-'; /* [-1, :] is the last row */
    if (t[1 + behind].kind == TOKEN_NUMBER && t[2 + behind].kind == ',' &&
        t[3 + behind].kind == ':' && t[4 + behind].kind == ']') {
        TRY(read_number(&t[1 + behind], &index));
        if (behind) mpq_neg(index.q, index.q);
        r->at += 5 + (size_t)behind;
        return take_item(r, v, &index);
    }
    if (t[1].kind == ':') { /* [:-1] */
        int last = t[2].kind == '-' && t[3].kind == TOKEN_NUMBER && t[3].bytes == 1 &&
                   *t[3].at == '1' && t[4].kind == ']';
        if (!last || v->n == 0) return unread(r);
        value_free(&v->item[--v->n]);
        r->at += 5;
        return 0;
    }
    r->at++;
    TRY(read_inside(r, ']', &index));
    for (size_t i = 0; i < index.n; i++) TRY(take_item(r, v, &index.item[i]));
    return 0;
}

static int read_named(Reader *r, Value *v)
{
    const Token *t = &r->token[r->at++];
    while (r->token[r->at].kind == '.' && r->token[r->at + 1].kind == TOKEN_NAME &&
           !LISTED(&r->token[r->at + 1], forms))
        t = &r->token[r->at + 1], r->at += 2;
    const Token *next = &r->token[r->at];
    if (reader_is(t, "big") && next->kind == TOKEN_STRING) {
        Token inside = {.at = next->at, .bytes = next->bytes};
        r->at++;
        return read_number(&inside, v);
    }
    if (reader_is(t, "static_cast") && next->kind == '<') {
        while (r->token[r->at].kind != '>' && r->token[r->at].kind != TOKEN_END) r->at++;
        r->at += r->token[r->at].kind == '>';
    }
    if (r->token[r->at].kind == '(') return read_call(r, t, v);
    char name[SOURCE_NAME];
    reader_name(t, name);
    const Variable *x = reader_find(r, name);
    if (x && x->unread) return unread(r);
    int typed = !x && r->language == SOURCE_JULIA && LISTED(t, wrappers); /* T[0 0; 1 0] */
    if (typed && next->kind == '[' && !next->spaced) {
        r->at++;
        return read_inside(r, INSIDE_MATRIX, v);
    }
    if (!x) return unread(r);
    r->work += SOURCE_COPY * numbers(&x->v);
    if (r->work > SOURCE_WORK) return unread(r);
    TRY(value_copy(v, &x->v));
    while (v->is_list && r->token[r->at].kind == '[' && !r->token[r->at].spaced)
        TRY(read_entry(r, v));
    while (r->token[r->at].kind == '.' && LISTED(&r->token[r->at + 1], forms) &&
           r->token[r->at + 2].kind == '(') {
        VALUE(none);
        r->at += 3;
        TRY(read_inside(r, INSIDE_ARGUMENTS, &none));
    }
    return 0;
}

static int read_primary(Reader *r, Value *v)
{
    const Token *t = reader_peek(r);
    if (t->kind == TOKEN_NUMBER) {
        r->at++;
        TRY(read_number(t, v));
        int joined = r->language == SOURCE_JULIA && !t[1].spaced;
        if (!joined || (t[1].kind != TOKEN_NAME && t[1].kind != '(')) return 0;
        VALUE(factor);
        TRY(read_power(r, &factor));
        return value_combine(v, '*', &factor);
    }
    if (t->kind == TOKEN_NAME) return read_named(r, v);
    int cast = r->language == SOURCE_C && t->kind == '(' && t[1].kind == TOKEN_NAME &&
               t[2].kind == ')' &&
               (t[3].kind == TOKEN_NUMBER || t[3].kind == '(' || t[3].kind == TOKEN_NAME);
    if (cast) { /* (double)2 */
        r->at += 3;
        return read_power(r, v);
    }
    int matrix = t->kind == '[' && r->language == SOURCE_JULIA;
    if (t->kind != '(' && t->kind != '[' && (t->kind != '{' || r->language != SOURCE_C))
        return unread(r);
    r->at++;
    int close = t->kind == '(' ? ')' : t->kind == '[' ? ']' : '}';
    return read_inside(r, matrix ? INSIDE_MATRIX : close, v);
}

static int read_power(Reader *r, Value *v)
{
    if (r->depth >= DEPTH_MOST) return unread(r);
    r->depth++;
    int code = read_primary(r, v);
    VALUE(power);
    if (code == 0 && reader_peek(r)->kind == '^') {
        r->at++;
        code = read_sign(r, &power);
        if (code == 0) code = raise_to(v, &power);
    }
    r->depth--;
    return code;
}

/* ---- assignments ------------------------------------------------------------------------------------- */

/* Where a value is assigned: a name, or an entry of it. */
typedef struct {
    char name[SOURCE_NAME];
    Value index;
    int unread; /* the entry's place is no number */
} Target;

/* Reads a target up to its '='; SOURCE_UNREAD: there is none. */
static int read_target(Reader *r, Target *to)
{
    const Token *t = &r->token[r->at++];
    if (t->kind != TOKEN_NAME) return SOURCE_UNREAD;
    while (r->token[r->at].kind == '.' && r->token[r->at + 1].kind == TOKEN_NAME)
        t = &r->token[r->at + 1], r->at += 2;
    reader_name(t, to->name);
    if (reader_is(t, "this") && r->token[r->at].kind == ')') {
        snprintf(to->name, SOURCE_NAME, "%s", r->scope);
        r->at++;
    }
    become_list(&to->index);
    while (r->token[r->at].kind == '[') {
        VALUE(index);
        size_t open = r->at++;
        int code = read_inside(r, ']', &index);
        if (code < 0) return code;
        if (code == SOURCE_UNREAD) { /* A[2, 1:3] */
            to->unread = 1;
            for (r->at = open; r->token[r->at].kind != ']'; r->at++)
                if (r->token[r->at].kind == TOKEN_END) return code;
            r->at++;
            continue;
        }
        for (size_t i = 0; i < index.n; i++) {
            if (to->index.n == SOURCE_LONGEST) return SOURCE_UNREAD;
            Value *item = value_item(&to->index, to->index.n);
            if (!item) return ERR_MEMORY;
            value_move(item, &index.item[i]);
        }
    }
    return r->token[r->at].kind == '=' ? 0 : SOURCE_UNREAD;
}

/* Puts v at an entry of a name. */
static int set_entry(Reader *r, const Target *to, Value *v, size_t line)
{
    Variable *x;
    TRY(make_variable(r, to->name, &x));
    Value *item = &x->v;
    for (size_t i = 0; i < to->index.n; i++) {
        size_t at;
        TRY(place(r, item, &to->index.item[i], &at));
        item = value_item(item, at);
        if (!item) return ERR_MEMORY;
    }
    value_move(item, v);
    if (!x->line) x->line = line;
    return 0;
}

/* Returns whether a statement ends at the token at hand: what goes on was not read, whatever came before. A #define of C
 * ends with its line. */
static int ends(const Reader *r)
{
    const Token *t = &r->token[r->at];
    int sign = t->kind > ' ' && strchr(",;)]}", t->kind);
    return t->kind == TOKEN_END || t->kind == TOKEN_LINE || sign ||
           (r->language == SOURCE_C && r->at && t->line > t[-1].line);
}

static int assign(Reader *r, Target *to)
{
    VALUE(v);
    size_t line = r->token[r->at].line, behind = ++r->at;
    int declared = r->token[r->at].kind == '{'; /* of C, with its sizes in brackets */
    while (r->language != SOURCE_C && r->token[r->at].kind == TOKEN_LINE) r->at++;
    snprintf(r->target, SOURCE_NAME, "%s", to->name);
    r->stuck = r->at;
    if (reader_is(&r->token[r->at], "NULL") || reader_is(&r->token[r->at], "None")) return 0;
    int code = reader_expression(r, &v);
    if (code < 0) return code;
    if (code == 0 && !ends(r)) r->stuck = r->at, code = SOURCE_UNREAD;
    if (to->unread && !declared) code = SOURCE_UNREAD;
    if (code == 0 && to->index.n && !declared) code = set_entry(r, to, &v, line);
    Variable *x;
    if (code == SOURCE_UNREAD) {
        size_t at = r->token[r->stuck].line;
        r->at = behind;
        TRY(make_variable(r, to->name, &x));
        if (!x->unread || !(to->index.n || to->unread)) x->unread = at;
        return 0;
    }
    if (to->index.n && !declared) return code;
    TRY(make_variable(r, to->name, &x));
    value_move(&x->v, &v);
    x->line = line;
    x->unread = 0;
    return 0;
}

static void target_free(Target *to)
{
    value_free(&to->index);
}

int reader_assign(Reader *r)
{
    SCOPED(target_free) Target to;
    to.unread = 0;
    value_init(&to.index);
    size_t from = r->at;
    r->nest = r->matrix = r->depth = 0;
    int code = read_target(r, &to);
    if (code == 0) code = assign(r, &to);
    if (code != SOURCE_UNREAD) return code;
    r->at = from + 1;
    return 0;
}
