/* expression.c: coefficients and linear combinations of a scheme text.
 *
 *   sum     = ['-'|'+'] product { ('+'|'-') product }
 *   product = power { ('*'|'/') power }
 *   power   = ['-'] factor [ '^' ['-'] factor ]
 *   factor  = NUMBER | '(' sum ')' | 'sqrt' '(' sum ')' | NAME | state | carried | slope
 *   state   = y | y[-j] | y[first]        slope = kN | kN[-j] | kN[all]
 *   carried = v | v'                      v' is the row of its update
 *
 * A value is a Row whose terms are numbers (TABLE_ONE), states and slopes, each with a rational and
 * learned symbols, or i, as factors: a polynomial ring is all that schemes need. Products need one side
 * that is a pure number, quotients a divisor without learned symbols. */
#include "kernels/base/error.h"
#include "ode/scheme/lexer.h"
#include "ode/scheme/rationals.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, POWER_MAX = 64, DIGITS_MAX = 200, PAST_MAX = 64 };
enum { EXPONENT_MAX = 100 };
enum { SIZE_MAX_BITS = 4096 }; /* numerators and denominators longer than this are refused */
/* The most that a text may cost, in terms passed and bytes of coefficients: a second or two. Products
 * of learned sums grow with the fourth power of what is written. The longest scheme of 256 stages over
 * H, every slope in every row, costs about 2^24. */
enum { WORK_MAX = 1 << 27 };

/* ---- cursor ------------------------------------------------------------------------------------ */

int cursor_error(const Cursor *c, const char *format, ...)
{
    char words[512];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    const char *bent = c->begin ? memmem(c->begin, (size_t)(c->end - c->begin), "\u2019", 3) : NULL;
    if (bent)
        return error_set(ERR_INPUT, "%s:%zu:%zu: write ' in place of the typographic \u2019",
                         c->file, c->line, (size_t)(bent - c->begin) + 1);
    return error_set(ERR_INPUT, "%s:%zu:%zu: %s", c->file, c->line, (size_t)(c->at - c->begin) + 1,
                     words);
}

void cursor_blanks(Cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

int cursor_take(Cursor *c, const char *s)
{
    size_t n = strlen(s);
    cursor_blanks(c);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, s, n) != 0) return 0;
    c->at += n;
    return 1;
}

int cursor_expect(Cursor *c, const char *s)
{
    return cursor_take(c, s) ? 0 : cursor_error(c, "expected '%s'", s);
}

int cursor_word(Cursor *c, char *out, size_t bytes)
{
    cursor_blanks(c);
    const char *p = c->at;
    if (p == c->end || !(isalpha((unsigned char)*p) || *p == '_')) return 0;
    while (p < c->end && (isalnum((unsigned char)*p) || *p == '_')) p++;
    size_t n = (size_t)(p - c->at);
    if (n >= bytes) return 0;
    memcpy(out, c->at, n);
    out[n] = 0;
    c->at = p;
    return 1;
}

int cursor_end(Cursor *c, const char *expected)
{
    cursor_blanks(c);
    return c->at == c->end ? 0 : cursor_error(c, "expected %s", expected);
}

int cursor_behind_term(Cursor *c, const char *expected)
{
    cursor_blanks(c);
    int factor = c->at < c->end && (isalnum((unsigned char)*c->at) || strchr("_(", *c->at));
    return cursor_error(c, factor ? "expected '*' between two factors: 1/2*k1" : "expected %s",
                        expected);
}

int cursor_integer(Cursor *c, long most, long *out)
{
    cursor_blanks(c);
    if (c->at == c->end || !isdigit((unsigned char)*c->at))
        return cursor_error(c, "expected a whole number");
    for (*out = 0; c->at < c->end && isdigit((unsigned char)*c->at); c->at++) {
        *out = *out * 10 + (*c->at - '0');
        if (*out > most) return cursor_error(c, "expected a whole number of at most %ld", most);
    }
    return 0;
}

/* ---- numbers ----------------------------------------------------------------------------------- */

static int row_one(Row *r, const mpq_t q)
{
    return row_add(r, TABLE_ONE, 0, q, 0, NULL);
}

static int is_number(const Row *r)
{
    return r->terms == 0 || (r->terms == 1 && r->term[0].eval == TABLE_ONE && !r->term[0].symbols);
}

static int is_scalar(const Row *r)
{
    for (size_t i = 0; i < r->terms; i++)
        if (r->term[i].eval != TABLE_ONE) return 0;
    return 1;
}

static void number_of(const Row *r, mpq_t out)
{
    mpq_set_ui(out, 0, 1);
    if (r->terms) mpq_set(out, r->term[0].c);
}

int row_complex(const Row *r)
{
    int complex = 0;
    for (size_t i = 0; i < r->terms; i++) {
        const Term *s = &r->term[i];
        complex |= s->symbols && s->symbol[s->symbols - 1] == SYMBOL_I;
    }
    return complex;
}

static int check_size(const Cursor *c, const mpq_t q)
{
    if (mpz_sizeinbase(mpq_numref(q), 2) + mpz_sizeinbase(mpq_denref(q), 2) <= SIZE_MAX_BITS)
        return 0;
    return cursor_error(c, "expected a coefficient of fewer digits");
}

static int add_term(Parser *p, Row *r, const Term *like, const mpq_t c, int symbols,
                    const int *symbol)
{
    size_t bits = mpz_sizeinbase(mpq_numref(c), 2) + mpz_sizeinbase(mpq_denref(c), 2);
    p->work += 1 + r->terms + bits / 8;
    if (p->work > WORK_MAX)
        return cursor_error(&p->cursor, "expected a text with less to work out until here");
    return row_add(r, like->eval, like->past, c, symbols, symbol);
}

/* Parses NUMBER: digits [ '.' digits ] [ e [sign] digits ]. */
static int parse_number(Parser *p, Row *out)
{
    Cursor *c = &p->cursor;
    char digit[DIGITS_MAX + 1];
    int n = 0, point = -1;
    long exponent = 0, sign = 1;
    for (; c->at < c->end && (isdigit((unsigned char)*c->at) || (*c->at == '.' && point < 0));
         c->at++) {
        if (*c->at == '.')
            point = n;
        else if (n == DIGITS_MAX)
            return cursor_error(c, "expected at most %d digits", DIGITS_MAX);
        else
            digit[n++] = *c->at;
    }
    digit[n] = 0;
    if (n == 0) return cursor_error(c, "expected a number");
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        c->at++;
        if (c->at < c->end && (*c->at == '-' || *c->at == '+')) sign = *c->at++ == '-' ? -1 : 1;
        if (cursor_integer(c, EXPONENT_MAX, &exponent) != 0)
            return cursor_error(c, "expected an exponent of ten from -%d to %d", EXPONENT_MAX,
                                EXPONENT_MAX);
        p->table->exact = 0;
    }
    if (point >= 0) {
        p->table->exact = 0;
        exponent = sign * exponent - (n - point);
    } else {
        exponent *= sign;
    }
    RATIONALS(q, ten);
    mpz_set_str(mpq_numref(q), digit, 10);
    mpz_ui_pow_ui(mpq_numref(ten), 10, (unsigned long)(exponent < 0 ? -exponent : exponent));
    (exponent < 0 ? mpq_div : mpq_mul)(q, q, ten);
    return row_one(out, q);
}

/* Replaces x > 0 by x^(1/n): exact where it is rational, else floor(x^(1/n) 2^B) / 2^B. */
static void root(mpq_t x, unsigned long n, int *exact)
{
    mpz_t a, b;
    mpz_inits(a, b, NULL);
    if (mpz_root(a, mpq_numref(x), n) && mpz_root(b, mpq_denref(x), n)) {
        mpq_set_num(x, a);
        mpq_set_den(x, b);
    } else {
        mpz_mul_2exp(a, mpq_numref(x), n * TABLE_BITS);
        mpz_fdiv_q(a, a, mpq_denref(x));
        mpz_root(a, a, n);
        mpq_set_z(x, a);
        mpq_div_2exp(x, x, TABLE_BITS);
        *exact = 0;
    }
    mpq_canonicalize(x);
    mpz_clears(a, b, NULL);
}

static int power(Parser *p, mpq_t x, const mpq_t e)
{
    Cursor *c = &p->cursor;
    if (mpz_cmpabs_ui(mpq_numref(e), POWER_MAX) > 0 || mpz_cmp_ui(mpq_denref(e), POWER_MAX) > 0)
        return cursor_error(c, "expected an exponent p/q with p and q of at most %d", POWER_MAX);
    unsigned long n = mpz_get_ui(mpq_numref(e)), d = mpz_get_ui(mpq_denref(e));
    if (mpq_sgn(x) == 0 && mpq_sgn(e) <= 0)
        return cursor_error(c, "expected a base other than zero for a power %s zero",
                            mpq_sgn(e) < 0 ? "below" : "of");
    if (d > 1 && mpq_sgn(x) < 0)
        return cursor_error(
            c,
            "expected a number of at least zero under a root: that of -3 is sqrt(3)*i, in a flow");
    if (d > 1 && mpq_sgn(x) > 0) root(x, d, &p->table->exact);
    if (mpq_sgn(e) < 0) mpq_inv(x, x);
    if ((mpz_sizeinbase(mpq_numref(x), 2) + mpz_sizeinbase(mpq_denref(x), 2)) * n >
        4 * SIZE_MAX_BITS)
        return cursor_error(c, "expected a coefficient of fewer digits");
    mpz_pow_ui(mpq_numref(x), mpq_numref(x), n);
    mpz_pow_ui(mpq_denref(x), mpq_denref(x), n);
    return 0;
}

void expression_round(mpq_t q)
{
    if (mpz_cmp_ui(mpq_denref(q), 1000000000) <= 0) return;
    mpz_t ten, twice;
    mpz_inits(ten, twice, NULL);
    mpz_ui_pow_ui(ten, 10, TABLE_DIGITS);
    mpz_mul(twice, mpq_numref(q), ten); /* floor(q 10^D + 1/2) / 10^D */
    mpz_mul_2exp(twice, twice, 1);
    mpz_add(twice, twice, mpq_denref(q));
    mpz_fdiv_q(twice, twice, mpq_denref(q));
    mpz_fdiv_q_2exp(twice, twice, 1);
    mpq_set_num(q, twice);
    mpq_set_den(q, ten);
    mpq_canonicalize(q);
    mpz_clears(ten, twice, NULL);
}

/* Terms that round to 0 go: 1e-64. */
static void round_row(Row *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->terms; i++) {
        expression_round(r->term[i].c);
        if (mpq_sgn(r->term[i].c))
            r->term[n++] = r->term[i];
        else
            mpq_clear(r->term[i].c);
    }
    r->terms = n;
}

void expression_round_table(Table *t)
{
    if (t->exact) return;
    round_row(&t->update);
    round_row(&t->error);
    round_row(&t->coarse);
    for (size_t i = 0; i < t->carries; i++) {
        round_row(&t->carry[i].update);
        round_row(&t->carry[i].start);
    }
    for (size_t i = 0; i < t->symbols; i++) expression_round(t->symbol[i].start);
    for (size_t i = 0; i < t->flows; i++) {
        Flow *f = &t->flow[i];
        round_row(&f->learned);
        if (f->learned.terms) row_weight(t, &f->learned, TABLE_ONE, f->c);
        expression_round(f->c);
        expression_round(f->im);
    }
    for (size_t i = 0; i < t->points; i++) {
        round_row(&t->point[i].row);
        expression_round(t->point[i].scale);
        for (int op = 0; op < t->colours; op++) expression_round(t->point[i].c[op]);
    }
}

/* ---- products ----------------------------------------------------------------------------------- */

/* Writes the sorted union of two symbol lists; < 0 when there are too many. */
static int merge_symbols(const Term *a, const Term *b, int *out)
{
    int n = 0, i = 0, j = 0;
    if (a->symbols + b->symbols > TABLE_SYMBOLS) return -1;
    while (i < a->symbols || j < b->symbols) {
        int first = j == b->symbols || (i < a->symbols && a->symbol[i] <= b->symbol[j]);
        out[n++] = first ? a->symbol[i++] : b->symbol[j++];
    }
    return n;
}

static int multiply(Parser *p, const Row *a, const Row *b, Row *out)
{
    if (!is_scalar(a))
        return is_scalar(b)
                   ? multiply(p, b, a, out)
                   : cursor_error(
                         &p->cursor,
                         "expected a coefficient: a product of two states or slopes is not linear");
    RATIONAL(c);
    for (size_t i = 0; i < a->terms; i++)
        for (size_t j = 0; j < b->terms; j++) {
            int symbol[TABLE_SYMBOLS];
            const Term *s = &a->term[i], *t = &b->term[j];
            int n = merge_symbols(s, t, symbol);
            if (n < 0)
                return cursor_error(&p->cursor,
                                    "expected at most %d learned factors in a coefficient",
                                    TABLE_SYMBOLS);
            mpq_mul(c, s->c, t->c);
            if (n > 1 && symbol[n - 2] == SYMBOL_I) { /* i^2 = -1 */
                mpq_neg(c, c);
                n -= 2;
            }
            TRY(check_size(&p->cursor, c));
            TRY(add_term(p, out, t, c, n, symbol));
        }
    return 0;
}

/* Adds b to a, or subtracts it. Sums grow like products. */
static int add_scaled(Parser *p, Row *a, const Row *b, int minus)
{
    RATIONAL(c);
    for (size_t i = 0; i < b->terms; i++) {
        const Term *t = &b->term[i];
        (minus ? mpq_neg : mpq_set)(c, t->c);
        TRY(add_term(p, a, t, c, t->symbols, t->symbol));
    }
    for (size_t i = 0; i < a->terms; i++) TRY(check_size(&p->cursor, a->term[i].c));
    p->work += a->terms;
    return 0;
}

/* ---- factors ------------------------------------------------------------------------------------- */

static int parse_sum(Parser *p, Row *out);
static int divide(Parser *p, Row *a, const Row *b);

/* Parses [-j], [first] or [all] behind a state or slope. */
static int parse_past(Parser *p, const char *all, int *past)
{
    Cursor *c = &p->cursor;
    long j;
    *past = 0;
    if (!cursor_take(c, "[")) return 0;
    if (cursor_take(c, all)) {
        if (!p->in_update)
            return cursor_error(c, "expected [-j]: [%s] belongs to the update y' = ...", all);
        *past = EXPR_ALL;
        return cursor_expect(c, "]");
    }
    if (!cursor_take(c, "-")) return cursor_error(c, "expected -1, -2, ... or %s", all);
    TRY(cursor_integer(c, PAST_MAX, &j));
    if (j == 0) return cursor_error(c, "expected -1, -2, ...; the present is written without [ ]");
    *past = (int)j;
    return cursor_expect(c, "]");
}

/* Adds k<stage+1> to a row as its evaluations, `past` steps ago. */
static int stage_row(const Table *t, size_t stage, int past, Row *out)
{
    const Stage *s = &t->stage[stage];
    for (int i = 0; i < stage_parts(t, s->op)->count; i++)
        TRY(row_add(out, s->eval + i, past, rational_one, 0, NULL));
    return 0;
}

/* Parses kN[...]. In a stage's argument, and of the past, it is any stage of the scheme; elsewhere it is one
 * that is set before. */
static int parse_slope(Parser *p, const char *word, const char *at, Row *out)
{
    int past;
    size_t n = (size_t)expression_slope(word);
    TRY(parse_past(p, "all", &past));
    if (n >= 1 && n <= (past > 0 || p->in_stage ? p->declared : p->table->stages))
        return stage_row(p->table, n - 1, past, out);
    p->cursor.at = at;
    if (p->in_stage)
        return cursor_error(&p->cursor, "expected a stage of this scheme; %s is none", word);
    return cursor_error(&p->cursor, "expected a stage that is set before it is used; %s is not",
                        word);
}

static int parse_state(Parser *p, Row *out)
{
    int past;
    TRY(parse_past(p, "first", &past));
    return row_add(out, TABLE_STATE, past, rational_one, 0, NULL);
}

long expression_slope(const char *word)
{
    size_t n = strlen(word);
    if (word[0] != 'k' || n < 2 || n > 7 || strspn(word + 1, "0123456789") != n - 1) return -1;
    return strtol(word + 1, NULL, 10);
}

/* What people write in the place of a state, a slope or a coefficient, and what stands there in this language. */
static const struct {
    const char *word, *instead;
} usual[] = {
    {"h", "a slope is an increment already, h times the operator: write 1/2*k1, not 1/2*h*k1"},
    {"dt", "a slope is an increment already, h times the operator: write 1/2*k1, not 1/2*dt*k1"},
    {"t", "time is not written, or behind the argument as a part of the step: H(y + 1/2*k1 @ 1/2)"},
    {"y_n", "the state is y, past ones are y[-1], y[-2], ..."},
    {"yn", "the state is y, past ones are y[-1], y[-2], ..."},
    {"u", "the state is y, past ones are y[-1], y[-2], ..."},
    {"x", "the state is y, past ones are y[-1], y[-2], ..."}};

/* Objects to a name that is not set. */
static int unset(Parser *p, const char *word, const char *at)
{
    Cursor *c = &p->cursor;
    int applied = cursor_take(c, "(");
    c->at = at;
    if (word[1] == 0 && memchr(table_letters, word[0], OPS))
        return cursor_error(c,
                            applied ? "expected a slope: an operator has a stage of its own, k1 = "
                                      "%s(...), and k1 stands here"
                                    : "expected a coefficient: an operator stands behind it "
                                      "without '*', as in flow 1/2 %s",
                            word);
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (strcmp(word, usual[i].word) == 0)
            return cursor_error(c, "expected a name that is set before it is used; '%s' is not: %s",
                                word, usual[i].instead);
    return cursor_error(c, "expected a name that is set before it is used; '%s' is not", word);
}

size_t expression_carried(const Table *t, const char *word)
{
    size_t i = 0;
    while (i < t->carries && strcmp(t->carry[i].name, word) != 0) i++;
    return i;
}

/* Parses a carried quantity of this step's beginning, or with ' behind it of its end. */
static int parse_carried(Parser *p, const Carry *v, const char *at, Row *out)
{
    int eval = TABLE_CARRIED - (int)(v - p->table->carry);
    if (cursor_take(&p->cursor, "["))
        return cursor_error(&p->cursor,
                            "expected no [ ] behind '%s': a step reads what is carried to it, and "
                            "older values are carried by a quantity of their own",
                            v->name);
    if (!cursor_take(&p->cursor, "'")) return row_add(out, eval, 0, rational_one, 0, NULL);
    if (v->update.terms) return add_scaled(p, out, &v->update, 0);
    p->cursor.at = at;
    return cursor_error(&p->cursor, "expected %s' = ... before %s' is used", v->name, v->name);
}

static int parse_name(Parser *p, const char *word, const char *at, Row *out)
{
    if (strcmp(word, "y") == 0) return parse_state(p, out);
    if (expression_slope(word) >= 0) return parse_slope(p, word, at, out);
    size_t carried = expression_carried(p->table, word);
    if (carried < p->table->carries) return parse_carried(p, &p->table->carry[carried], at, out);
    for (size_t i = 0; i < p->bindings; i++) {
        if (strcmp(p->binding[i].name, word) != 0) continue;
        ROW(number);
        TRY(row_one(&number, rational_one));
        return multiply(p, &number, &p->binding[i].value, out);
    }
    if (strcmp(word, "i") == 0)
        return row_add(out, TABLE_ONE, 0, rational_one, 1, (int[]){SYMBOL_I});
    return unset(p, word, at);
}

static int parse_group(Parser *p, Row *out)
{
    if (++p->depth > DEPTH_MAX)
        return cursor_error(&p->cursor, "expected at most %d nested parentheses", DEPTH_MAX);
    TRY(parse_sum(p, out));
    p->depth--;
    return cursor_take(&p->cursor, ")") ? 0 : cursor_behind_term(&p->cursor, "')'");
}

/* Raises x's number to the exponent in place; x must be a number. */
static int on_number(Parser *p, Row *x, const mpq_t exponent, const char *what)
{
    RATIONAL(q);
    if (!is_number(x)) return cursor_error(&p->cursor, "expected a number %s", what);
    number_of(x, q);
    row_free(x);
    TRY(power(p, q, exponent));
    TRY(check_size(&p->cursor, q));
    return row_one(x, q);
}

static int parse_sqrt(Parser *p, Row *out)
{
    RATIONAL(half);
    TRY(cursor_expect(&p->cursor, "("));
    TRY(parse_group(p, out));
    mpq_set_ui(half, 1, 2);
    return on_number(p, out, half, "under the root");
}

static int parse_factor(Parser *p, Row *out)
{
    Cursor *c = &p->cursor;
    char word[TABLE_NAME];
    cursor_blanks(c);
    const char *at = c->at;
    if (at < c->end && (isdigit((unsigned char)*at) || *at == '.')) return parse_number(p, out);
    if (cursor_take(c, "(")) return parse_group(p, out);
    if (!cursor_word(c, word, sizeof word))
        return cursor_error(c, "expected a number, a name, y, a slope k1, k2, ... or '('");
    if (strcmp(word, "sqrt") == 0) return parse_sqrt(p, out);
    return parse_name(p, word, at, out);
}

static int symbol_power(Parser *p, Row *x, const mpq_t e)
{
    if (mpz_cmp_ui(mpq_denref(e), 1) != 0 || mpq_sgn(e) <= 0 || mpq_cmp_ui(e, TABLE_SYMBOLS, 1) > 0)
        return cursor_error(&p->cursor,
                            "expected a whole power of 1 to %d of a learned coefficient",
                            TABLE_SYMBOLS);
    ROW(result);
    TRY(row_one(&result, rational_one));
    for (unsigned long i = 0, n = mpz_get_ui(mpq_numref(e)); i < n; i++) {
        ROW(next);
        TRY(multiply(p, &result, x, &next));
        row_swap(&result, &next);
    }
    row_swap(x, &result);
    return 0;
}

static int parse_power(Parser *p, Row *out)
{
    ROW(exponent);
    RATIONAL(e);
    int negative = cursor_take(&p->cursor, "-");
    TRY(parse_factor(p, out));
    if (cursor_take(&p->cursor, "^")) {
        int minus = cursor_take(&p->cursor, "-");
        TRY(parse_factor(p, &exponent));
        if (!is_number(&exponent))
            return cursor_error(&p->cursor, "expected a number as the exponent");
        number_of(&exponent, e);
        if (minus) mpq_neg(e, e);
        TRY(is_scalar(out) && !is_number(out) ? symbol_power(p, out, e)
                                              : on_number(p, out, e, "before '^'"));
    }
    if (!negative) return 0;
    ROW(minus);
    TRY(add_scaled(p, &minus, out, 1));
    row_swap(out, &minus);
    return 0;
}

/* Makes a / b, b complex, of a times the conjugate of b and a divisor that is real. */
static int divide_complex(Parser *p, Row *a, const Row *b)
{
    ROW(conjugate);
    ROW(real);
    ROW(product);
    for (size_t i = 0; i < b->terms; i++) {
        const Term *t = &b->term[i];
        RATIONAL(c);
        (t->symbols ? mpq_neg : mpq_set)(c, t->c);
        TRY(add_term(p, &conjugate, t, c, t->symbols, t->symbol));
    }
    TRY(multiply(p, b, &conjugate, &real));
    TRY(multiply(p, a, &conjugate, &product));
    row_swap(a, &product);
    return divide(p, a, &real);
}

static int divide(Parser *p, Row *a, const Row *b)
{
    RATIONAL(q);
    int numbers = is_scalar(b);
    for (size_t i = 0; i < b->terms; i++)
        numbers &= !b->term[i].symbols || b->term[i].symbol[0] == SYMBOL_I;
    if (numbers && row_complex(b)) return divide_complex(p, a, b);
    if (!is_number(b))
        return cursor_error(&p->cursor, "expected a number without learned names as divisor");
    if (b->terms == 0) return cursor_error(&p->cursor, "expected a divisor other than zero");
    number_of(b, q);
    for (size_t i = 0; i < a->terms; i++) {
        mpq_div(a->term[i].c, a->term[i].c, q);
        TRY(check_size(&p->cursor, a->term[i].c));
    }
    return 0;
}

static int parse_product(Parser *p, Row *out)
{
    TRY(parse_power(p, out));
    for (;;) {
        ROW(right);
        ROW(product);
        int times = cursor_take(&p->cursor, "*");
        if (!times && !cursor_take(&p->cursor, "/")) return 0;
        TRY(parse_power(p, &right));
        TRY(times ? multiply(p, out, &right, &product) : divide(p, out, &right));
        if (times) row_swap(out, &product);
    }
}

static int parse_sum(Parser *p, Row *out)
{
    cursor_take(&p->cursor, "+");
    TRY(parse_product(p, out));
    for (;;) {
        ROW(right);
        int plus = cursor_take(&p->cursor, "+");
        if (!plus && !cursor_take(&p->cursor, "-")) return 0;
        TRY(parse_product(p, &right));
        TRY(add_scaled(p, out, &right, !plus));
    }
}

/* ---- entry points -------------------------------------------------------------------------------- */

int expression_parse(Parser *p, Row *out)
{
    const char *at = p->cursor.at;
    p->depth = 0;
    TRY(parse_sum(p, out));
    if (p->complex || !row_complex(out)) return 0;
    p->cursor.at = at;
    return cursor_error(
        &p->cursor,
        "expected real coefficients: complex ones belong to flows, as flow (1/4 + 1/4*i) F");
}

static int read_number(Parser *p, int (*parse)(Parser *p, Row *out), mpq_t out)
{
    ROW(r);
    cursor_blanks(&p->cursor);
    const char *at = p->cursor.at;
    p->depth = 0;
    TRY(parse(p, &r));
    if (!is_number(&r)) {
        p->cursor.at = at;
        return cursor_error(&p->cursor, "expected a number");
    }
    number_of(&r, out);
    return 0;
}

int expression_number(Parser *p, mpq_t out)
{
    return read_number(p, parse_sum, out);
}

int expression_product(Parser *p, mpq_t out)
{
    return read_number(p, parse_product, out);
}
