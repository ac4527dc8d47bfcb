/* source.h: the numbers that a program's text in C, Julia or Python assigns to names. Private to ode/scheme:
 * source_values.c reads them, source_tables.c makes tableaus of them. */
#ifndef TROTTER_SOURCE_H
#define TROTTER_SOURCE_H

#include <stddef.h>
#include <stdio.h> /* before gmp.h */

#include <gmp.h>

#include "kernels/base/scoped.h"
#include "ode/scheme/table.h"

enum { SOURCE_NAME = 96, SOURCE_LONGEST = 256 /* list */, SOURCE_UNREAD = 5 /* no ERR_* */ };
/* The most that a text may cost, in tokens passed over and numbers copied, each of which takes as long as sixteen of them: a
 * second; and names at a time. */
enum { SOURCE_WORK = 1 << 26, SOURCE_COPY = 16, SOURCE_NAMES = 1 << 13 };

/* A number, or a list of values. A number whose text has digits behind a point that no double holds exactly, or a root,
 * is inexact. */
typedef struct Value {
    int is_list, inexact;
    mpq_t q; /* always initialised */
    size_t n;
    struct Value *item; /* (n) owned */
} Value;

void value_init(Value *v);
void value_free(Value *v);
#define VALUE(v)                \
    SCOPED(value_free) Value v; \
    value_init(&v)
/* Puts v in the place of `to`, and a zero in that of v. */
void value_move(Value *to, Value *v);
int value_copy(Value *to, const Value *from);
/* Returns item i of a list, which is made as long as that takes, with zeros; NULL: out of memory, where i is
 * below SOURCE_LONGEST. */
Value *value_item(Value *v, size_t i);
/* Computes to = to OP from, number by number where both are lists; SOURCE_UNREAD: they do not fit. */
int value_combine(Value *to, int op, const Value *from);

enum { SOURCE_C, SOURCE_JULIA, SOURCE_PYTHON };

/* kind: TOKEN_*, or the character; '^' for ** and '.' for -> and :: too. */
enum { TOKEN_END, TOKEN_LINE, TOKEN_NUMBER, TOKEN_NAME, TOKEN_STRING, TOKEN_SLASHES, TOKEN_OTHER };
typedef struct {
    int kind;
    const char *at;
    size_t bytes, line;
    int spaced; /* blank space before it */
} Token;

/* A name's value. unread: the line whose text is none of the forms that are read; 0: there is none. */
typedef struct {
    char name[SOURCE_NAME];
    Value v;
    size_t line, unread;
} Variable;

typedef struct {
    int language;
    Token *token; /* ends with TOKEN_END */
    size_t tokens, at;
    int nest, matrix, depth;
    size_t work;  /* see SOURCE_WORK: above it nothing more is read */
    size_t stuck; /* the token where the last expression that was not read ended */
    Variable *variable;
    size_t variables;
    char target[SOURCE_NAME]; /* the name that was assigned last */
    char scope[SOURCE_NAME];  /* the struct whose members are assigned by (*this)[0] */
} Reader;

/* Splits a text into tokens; comments are none. Caller: reader_free. */
int reader_open(Reader *r, int language, const char *text, size_t bytes);
void reader_free(Reader *r);
/* Forgets all names. */
void reader_forget(Reader *r);
const Token *reader_peek(Reader *r);
int reader_is(const Token *t, const char *word);
void reader_name(const Token *t, char name[SOURCE_NAME]);
/* Reads an expression into v; SOURCE_UNREAD: it is none of numbers, and r->stuck is where. */
int reader_expression(Reader *r, Value *v);
/* Moves behind the argument at hand, before the comma, the semicolon or the parenthesis that ends it. */
void reader_skip_argument(Reader *r);
/* Reads `name = expression`, `name[i] = ...`, `p->name[i][j] = ...`, if one begins at the token at hand; else moves on by
 * one token. */
int reader_assign(Reader *r);
Variable *reader_find(const Reader *r, const char *name);

#endif
