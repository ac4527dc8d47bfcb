/* lexer.h: a cursor over one line of a scheme text, with messages "file:line:column: expected ...".
 * Private to ode/: schemes' texts (scheme.c, statement.c, expression.c) and sums of terms (terms.c, tree.c, bracket.c). */
#ifndef TROTTER_LEXER_H
#define TROTTER_LEXER_H

#include <stddef.h>

#include "ode/scheme/table.h"

typedef struct {
    const char *file;
    size_t line;       /* from 1 */
    const char *begin; /* start of the line; `end` is its end, comment cut off */
    const char *at, *end;
} Cursor;

/* A name bound to a scalar: let, learn or gate. value: terms with eval == TABLE_ONE. */
typedef struct {
    char name[TABLE_NAME];
    Row value;
} Binding;

typedef struct {
    Cursor cursor;
    Table *table; /* being built */
    size_t bindings;
    Binding *binding;
    size_t declared; /* stages of the whole scheme: their ops and evaluations are known at once */
    int depth;       /* open parentheses */
    int in_update;   /* y[first] and k[all] are allowed */
    int in_stage;    /* slopes of any stage are allowed; the argument's own makes it implicit */
    int complex;     /* i is allowed: in the fraction of a flow, and in what `let` names */
    Cursor error;    /* where an estimate of the error stands */
    size_t work;     /* done for this text so far, see expression.c */
} Parser;

enum { EXPR_ALL = -1 }; /* Term.past of first / all */

/* Returns ERR_INPUT with file, line, column of the cursor and the words. */
int cursor_error(const Cursor *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cursor_blanks(Cursor *c);
/* Skips blanks; takes `s` if it stands there. */
int cursor_take(Cursor *c, const char *s);
/* Takes s or fails with "expected 's'". */
int cursor_expect(Cursor *c, const char *s);
/* Reads an identifier [A-Za-z_][A-Za-z0-9_]*; 0 if none stands there. */
int cursor_word(Cursor *c, char *out, size_t bytes);
/* Checks that the rest is blank. */
int cursor_end(Cursor *c, const char *expected);
/* Objects to what stands behind a term of a sum, where `expected` or another term could: a missing '*' is told. */
int cursor_behind_term(Cursor *c, const char *expected);
/* Reads digits into a number of at most `most`. */
int cursor_integer(Cursor *c, long most, long *out);

/* Parses a linear expression over y, y[-j], k's and names into out (zeroed). Caller: row_free. */
int expression_parse(Parser *p, Row *out);
/* Parses an expression that must be a number without learned symbols. The cursor stops behind it, as
 * before the operator of a flow, which no sign joins to it. */
int expression_number(Parser *p, mpq_t out);
/* Parses a product alone in the same way: a + or - behind it is left. */
int expression_product(Parser *p, mpq_t out);
/* Returns the index of a carried quantity by its name, or how many there are. */
size_t expression_carried(const Table *t, const char *word);
/* Returns whether i stands in a row. */
int row_complex(const Row *r);
/* Returns N of a word kN, or -1 of another. */
long expression_slope(const char *word);
/* Round a number, or all that an inexact table holds, to a small fraction or TABLE_DIGITS decimals. */
void expression_round(mpq_t q);
void expression_round_table(Table *t);

/* ---- splitting.c ---- */

/* Adds the stages of one step of `from` over c h from the state Y at t + begin h, for which there is room; Y out: the state
 * behind it. */
int table_append(Table *t, const Table *from, const mpq_t c, const mpq_t begin, Row *Y);

/* ---- terms.c ---- */

/* Adds what stands at the cursor, a term behind its coefficient c, to `to`; ERR_INPUT by cursor_error. */
typedef int TermReader(void *to, Cursor *at, const mpq_t c);
/* Reads all terms of a sum, each by `read`. */
int terms_read(const char *text, TermReader *read, void *to);

/* ---- statement.c ---- */

/* Reads "kN" at the cursor; returns N, or 0 where something else stands there. */
size_t statement_stage_head(Cursor *c);
/* Declares the stage of a k line whose "kN =" has been read. */
int statement_declare(Parser *p);
/* Adds the evaluations of the declared stages; the table's colours are known. */
int statement_evaluations(Parser *p);
/* Parses the statement at the cursor, to the end of its line. */
int statement_parse(Parser *p);

#endif
