/* program.h: the expressions of a system file as lists of stack operations, their compiler, and the
 * functions that run them. Private to ode/ (system_file.c reads the file and describes the
 * language).
 *
 * One operation works on LANES particles at once (others j in F, particles i in G), so reading the
 * list costs little.
 */
#ifndef TROTTER_PROGRAM_H
#define TROTTER_PROGRAM_H

#include "ode/scheme/lexer.h"
#include "ode/field/field.h"

enum { SYSTEM_D_MAX = 256, PROGRAM_OPS = 1 << 20, PROGRAM_STACK = 32, PROGRAM_LANES = 64 };
enum { PARAMS_MAX = 64, WORD_MAX = 64, VECTORS_MAX = 1 << 14 };

/* Operations that push a value; then those that take two operands; then those that take one. */
enum {
    GET_CONSTANT,
    GET_OWN,
    GET_OTHER,
    GET_NEXT, /* value: the neighbour's distance in i, of either sign */
    GET_INDEX_I,
    GET_INDEX_J,
    GET_INDEX_C,
    GET_TIME,
    GET_R2,
    GET_R,
    GET_DOT,
    GET_UNIFORM,
    GET_NORMAL,
    GET_VECTOR, /* k: the vector's first number; value: GET_INDEX_I, _J or _C */
    DO_ADD,
    DO_SUB,
    DO_MUL,
    DO_DIV,
    DO_POW,
    DO_POWI,
    DO_NEG,
    DO_CALL
};
enum { THIS = -1, VELOCITY = -2 }; /* component of a bare y or z: the one in hand; of y' */

typedef struct {
    int code, k; /* k: component, function, or exponent of DO_POWI */
    double value;
} Op;

typedef struct {
    int first, count; /* in Formulas.op */
} Program;

/* An operation whose operands are the results of earlier ones, by their numbers. */
typedef struct {
    Op op;
    int a, b;
    int fixed; /* it reads nothing of the other particle */
} Node;

/* The interactions of all coordinates as one list of such operations, each of them there once: the distance of two particles is
 * found once for a pair, and not once for each coordinate. */
enum { PROGRAM_NODES = 1 << 14 };
typedef struct {
    Node *node; /* (count) */
    int count;
    int value[SYSTEM_D_MAX], score[SYSTEM_D_MAX]; /* the results of the rules */
} Joint;

/* How an interaction joins the others' values; OTHERS_NONE: not an interaction; OTHERS_NEXT: an expression in neighbours. */
enum { OTHERS_NONE, OTHERS_SUM, OTHERS_MEAN, OTHERS_SOFTMAX, OTHERS_NEXT };

typedef struct {
    int kind;
    Program value, score; /* score: of a softmax */
    size_t line;          /* 0: not written */
} Rule;

/* An entry of a Jacobian that a text writes: dy1'/dy2 has of 0 and by 1. */
typedef struct {
    size_t of, by, line;
    Program value;
} Partial;

/* Those of fields have the numbers of their colours. */
enum {
    RULE_F = OP_F,
    RULE_G = OP_G,
    RULE_C = OP_C,
    RULE_INITIAL,
    RULE_MEMORY,
    RULE_EXACT,
    RULE_ENERGY,
    RULES
};

typedef struct {
    char name[WORD_MAX];
    double value;
    int first, count; /* of a vector: its numbers in Formulas.vector; count 0: a number */
} Param;

/* System.context of a system read from a file. */
typedef struct {
    char name[TABLE_NAME], title[256], source[256];
    int ops;
    Op *op;         /* (ops), of a system behind the partials, and then the nodes of both lists */
    Joint joint[2]; /* of F and C */
    /* (partials), behind this record: the entries of a Jacobian that are written; none where the text has no Jacobian */
    Partial *partial;
    size_t partials;
    Rule rule[RULES][SYSTEM_D_MAX];
    /* Of y'' = ...: coordinates that are positions; as many velocities follow. F is the accelerations, G the velocities.
     * 0: a system of first order. */
    size_t second;
    int massive; /* some equations are not y' = ...: mass (d, d) has the left sides of all */
    double mass[SYSTEM_D_MAX * SYSTEM_D_MAX];
    int vectors;
    double vector[VECTORS_MAX]; /* the numbers of all vectors */
    int ring;                   /* 1: particle 1 follows the last */
    double ends;                /* else: the value of neighbours that there are not */
    size_t memory; /* particles of it; they stand in System.param behind n d numbers of scratch */
    int params;
    Param param[PARAMS_MAX]; /* for quantities of its states (quantity.c) */
} Formulas;

/* ---- program.c ------------------------------------------------------------------------------------ */

enum { PROGRAM_FUNCTIONS = 9 };
extern const struct ProgramFunction {
    const char *name;
    double (*call)(double);
} program_functions[PROGRAM_FUNCTIONS];

/* Returns how many values, 0, 1 or 2, an operation takes from the stack; it leaves one. */
int program_operands(int code);
/* Makes a (count) a op b elementwise, or op a. DO_ADD .. DO_POW alone read b (count), which is not
 * a. */
void program_apply(const Op *op, size_t count, double *a, const double *b);

/* Returns whether one of the coordinates' rules is written. */
static inline int formulas_have(const Formulas *f, int which, size_t d)
{
    for (size_t c = 0; c < d; c++)
        if (f->rule[which][c].line) return 1;
    return 0;
}

/* Returns whether a rule is an interaction with the other particles. */
static inline int rule_is_other(const Rule *r)
{
    return r->line && r->kind != OTHERS_NONE && r->kind != OTHERS_NEXT;
}

/* Tells whether an operation reads nothing of the other particle. */
static inline int op_is_fixed(const Op *op)
{
    return op->code == GET_CONSTANT || op->code == GET_OWN || op->code == GET_NEXT ||
           op->code == GET_INDEX_I || op->code == GET_TIME ||
           (op->code == GET_VECTOR && op->value == GET_INDEX_I);
}

/* Returns the coordinate in hand of a rule: the accelerations of y'' are those of the positions. */
static inline size_t program_coordinate(const Formulas *f, int which, size_t c)
{
    return which == RULE_F && f->second && c >= f->second ? c - f->second : c;
}

/* These are System.field of F, C and G: dy (n, d) out, y (n, d) in, not the same. */
void program_interact(const System *s, int set, double t, const double *y, double *dy);
void program_remember(const System *s, int set, double t, const double *y, double *dy);
void program_drift(const System *s, int set, double t, const double *y, double *dy);
/* Compute out (n, d) by RULE_INITIAL, 0 where none is written, and out (memory, d) by RULE_MEMORY. */
void program_initial(const System *s, uint64_t seed, double *out);
void program_memory(const System *s, uint64_t seed, double *out);
/* Computes the entry for each particle: out (n). */
void program_partial(const System *s, const Partial *p, double t, const double *y, double *out);
/* This is System.jacobian by the entries of the text. */
void program_jacobian(const System *s, int op, int set, double t, const double *y, double *J);
/* This is System.solution by RULE_EXACT. */
void program_exact(const System *s, double t, double *y);

/* Returns the value of a program that reads the coordinates of one particle, y, and t alone. */
double program_value(const Formulas *f, const Program *p, double t, const double *y);
/* This is System.energy: the sum of RULE_ENERGY over the particles. */
double program_energy(const System *s, const double *y);
/* These are System.flow of y'' = f(y): the kick, velocities by h f, and the drift, positions by h times the velocities. */
void program_kick(const System *s, int set, double t, double h, double *y);
void program_coast(const System *s, int set, double t, double h, double *y);

/* Joins the rules of F, or of C, of d coordinates: fills in the list, whose nodes have room for all operations of these rules. */
void program_join(Formulas *f, int which, size_t d);
/* Returns how many operations these rules have; 0: they are no interaction. */
size_t program_operations(const Formulas *f, int which, size_t d);

/* Returns 1 where the rule of F, G or C is A y + b in all of its d components, and free of time. It judges by the
 * operations, so 0 may be wrong and 1 never is. */
int program_linear(const Formulas *f, int which, size_t d);

/* Returns System.sees of F, G or C, as the operations of its rules tell. */
size_t program_sees(const Formulas *f, int which, size_t d);

/* ---- system_start.c -------------------------------------------------------------------------------- */

/* Fills in the initial state and the memory. ERR_INPUT where a value there is not finite, RULE_EXACT does not solve
 * y' = F + G or begins elsewhere, RULE_ENERGY changes, or an entry of the Jacobian is not the derivative. `file` begins the messages. */
int program_start(System *s, const char *file, uint64_t seed);

/* ---- formula.c ------------------------------------------------------------------------------------ */

/* A system file being read. */
typedef struct {
    Cursor cursor;
    Formulas *formulas;
    size_t n, d, n_given, d_given; /* n, d: as written; the others: by the caller, 0: not */
    size_t memory;
    double t_end, h0, t_whole, small;
    size_t end,
        end_values;   /* of `end = ...`: first number in Formulas.vector, from 1, and how many */
    int begun, timed; /* an expression was read; t stands in a field */
    int moved;        /* a velocity stands in y'' */
    int n_found;      /* the number of particles is given, or follows from a list */
    int several;      /* something tells particles apart: there are several */
    int whole;        /* the right side was written as y' = ... */
    int packed;       /* the operations stand behind the formulas */
    unsigned char plain[SYSTEM_D_MAX]; /* 1: the coordinate has an equation y1' = ... */
    Partial *partial;                  /* (partials) */
    size_t partials;
    int params;
    Param param[PARAMS_MAX];
    const char *options; /* ":NAME=NUMBER...", which go before the text's own values */
    int changed;         /* they do, to other ones */
    unsigned allowed;    /* bits of GET_ codes in the expression in hand, and where it stands */
    const char *place;
    int depth, stack;
} Reader;

extern const char
    *const formula_rules[RULES]; /* "F", "G", "C", "initial", "memory", "exact", "energy" */

/* Compiles the expression at the cursor, of a rule, behind the operations so far. */
int formula_read(Reader *p, int which, Program *out);
/* Compiles a quantity of a state: of y1, y2, ... and t. */
int formula_quantity(Reader *p, Program *out);
/* Compiles an entry of a Jacobian: of one particle's coordinates, i and t. */
int formula_partial(Reader *p, Program *out);
/* Compiles an interaction of neighbours, y[i+1]. */
int formula_neighbours(Reader *p, Program *out);
/* Reads a finite number without variables; `place` names it in messages. */
int formula_constant(Reader *p, const char *place, double *out);
/* Returns whether a word has a meaning already. */
int formula_reserved(const Reader *p, const char *word);

/* ---- system_statement.c ---------------------------------------------------------------------------- */

enum { SIZE_LIMIT = 1 << 16 }; /* particles, and their numbers */
/* Reads the statement at the cursor, whose end is that of the line; a blank line is none. */
int system_statement(Reader *p);
/* Finds n and d, and which coordinates have an equation y1' = ..., where neither the caller nor a line gives them: before a
 * statement is read. */
void system_survey(Reader *p, const char *text, size_t bytes);

#endif
