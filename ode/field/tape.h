/* tape.h: the field of a system of formulas as one list of operations on numbers, which other arithmetics than doubles run:
 * power series and complex balls (enclosure.c). Private to ode/. */
#ifndef TROTTER_TAPE_H
#define TROTTER_TAPE_H

#include "ode/field/field.h"

/* A sine is followed by its cosine. TAPE_POW: the exponent b is a number. */
enum {
    TAPE_NUMBER,
    TAPE_STATE, /* a: coordinate */
    TAPE_TIME,
    TAPE_ADD,
    TAPE_SUB,
    TAPE_MUL,
    TAPE_DIV,
    TAPE_NEG,
    TAPE_POW,
    TAPE_SQRT,
    TAPE_EXP,
    TAPE_LOG,
    TAPE_SIN,
    TAPE_COS,
    TAPE_ABS,
    TAPE_STEP
};
typedef struct {
    int code, a, b; /* a, b: earlier entries */
    int still;      /* neither a coordinate nor the time is in it */
    double value;
} Entry;

enum { TAPE_MOST = 8192 };
typedef struct {
    int N, count;
    Entry node[TAPE_MOST];
    int rate[]; /* (N) the entries of y' */
} Tape;

/* Writes the sum of these operators of a system that was read from a text (bits 1 << OP_F and 1 << OP_G). ERR_INPUT: another system, one with a memory, a matrix on the left or random numbers,
 * or too many operations. Caller: memory_free. */
int tape_new(const System *s, int ops, Tape **out);

#endif
