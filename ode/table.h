/* table.h: the table, the one structure that everything about a scheme is read off.
 *
 * A scheme advances y' = F(y, t) + G(y, t) by h, or, being a decoder's, y' = F(y, t) + C(y, t) + G(y, t), C
 * reading a memory that stands still (the encoder's output). Its table is a partitioned general
 * linear method (Butcher 2006, "General linear methods", with one colour per operator):
 *
 *     Y_p = sum_j u_pj y[-j] + sum_e a_pe k_e + sum_e,j a_pej k_e[-j]     points
 *     k_e = h f_e(Y_point(e), t + c h),   f_e = F, G or C                 evaluations
 *     y'  = sum_j v_j y[-j]  + sum_e b_e k_e  + sum_e,j b_ej k_e[-j]      update
 *
 * y[-j] is the state and k_e[-j] the evaluation of j steps ago. A stage of the text is one to three
 * evaluations: F, G and C are themselves; H = F + G is two at one point; L(x) = F(x) + G(x + F(x)) is
 * two at two points. In a decoder H = F + C + G, L runs F, C and G in turn, and A(x) = F(x) + C(x + F(x)) is
 * its first two: the attention of a decoder layer. Coefficients are exact rationals; decimals, roots and broken powers clear `exact` and
 * are kept to TABLE_DIGITS decimals. A coefficient may carry learned symbols as factors.
 *
 * An exponential stage applies a phi function to an increment r_e, a row of slopes of this step alone:
 *
 *     k_e = phi_J(c h A) r_e,   A = f'(y) of F, G, C or their sum,   phi_0 = exp,  phi_(j+1)(z) = (phi_j(z) - 1/j!) / z
 *
 * so exp(c h A) y - y is phi_1(c h A) (c h A y), and no row mixes states with exponentials (Hochbruck, Ostermann 2010).
 *
 * A splitting by sub-flows is a list of flows and no evaluations; table_expand (split.c) turns it
 * into the points and evaluations above once a sub-flow solver is chosen.
 */
#ifndef TROTTER_TABLE_H
#define TROTTER_TABLE_H

#include <gmp.h>
#include <stddef.h>
#include <stdio.h>

/* The colours of a field, F and G, and of a decoder's C; then the operators that are made of them. */
enum { OP_F, OP_G, OP_C, COLOURS, OP_H = COLOURS, OP_L, OP_A, OPS };
extern const char table_letters[OPS + 1]; /* "FGCHLA" */
enum { TABLE_STATE = -1 };                /* Term.eval of a state y[-j] */
enum { TABLE_SYMBOLS = 4, TABLE_NAME = 160, TABLE_BITS = 320, TABLE_DIGITS = 60 };
enum { SYMBOL_LEARN, SYMBOL_SIGMOID, SYMBOL_TANH };

/* c * (learned symbols) * (state or evaluation, `past` steps ago). */
typedef struct {
    int eval; /* index of an evaluation, or TABLE_STATE */
    int past; /* j of [-j], 0: now */
    mpq_t c;
    int symbols;
    int symbol[TABLE_SYMBOLS]; /* rising */
} Term;

/* A linear combination; terms sorted by (state before evaluations, eval, past, symbols), no two
 * alike, none zero: a term not written is absent. */
typedef struct {
    size_t terms;
    Term *term;
} Row;

typedef struct {
    Row row;
    mpq_t c[COLOURS]; /* time node of a colour: t + c h; by the rule of rows unless `timed` */
    int timed;        /* written by @ */
    /* Of an exponential stage: J + 1, else 0. The row is the increment r, its one evaluation phi_J(scale h A) r, A the
     * derivative at y of the sum of the colours `ops`, a bit 1 << OP_F and so on each; c is what it adds to the
     * time nodes of rows that read it. */
    int phi, ops;
    mpq_t scale;
} Point;

enum { PHI_MOST = 4 }; /* largest J */

typedef struct {
    int op;    /* a colour */
    int set;   /* parameter set, from 1 */
    int point; /* where */
    int stage; /* stage of the text it belongs to, from 0 */
} Eval;

/* A stage as written: k(i+1) = OP set (row). */
typedef struct {
    int op, set; /* op: OP_F .. OP_A */
    int eval;    /* its first evaluation, which stage_parts says how many follow */
} Stage;

typedef struct {
    int op; /* a colour */
    int set;
    mpq_t c; /* fraction of h */
} Flow;

/* learn a = start, or gate g = sigmoid(...) / tanh(...), one number a token. */
typedef struct {
    char name[TABLE_NAME];
    int kind;      /* SYMBOL_* */
    mpq_t start;   /* value in theory and on particle systems: 1/2 for sigmoid, 0 for tanh */
    size_t inputs; /* of a gate */
    Row *input;    /* what it reads */
} Symbol;

typedef struct Table {
    char name[TABLE_NAME];
    char *title, *source, *note, *start; /* rest of the line; "" if absent */
    int colours; /* 2; 3 of a decoder: C or A stands in its text, or `decoder` */
    int exact;   /* 0: some coefficient is a decimal, a root or a broken power */
    int dense; /* 1: update is y' = y[first] + sum c k[all], kept telescoped as y' = y + sum c k */
    int word;  /* 1: `field` is written (words): sublayers of full size, weights as below */
    size_t stages, points, evals, flows, symbols;
    Stage *stage;
    Point *point;
    Eval *eval;
    Flow *flow;
    Symbol *symbol;
    Row update;
    /* The field the scheme solves: the sum of its colours, each times its weight, 1 but for words. */
    mpq_t weight[COLOURS];
    int past_y, past_k; /* deepest j */
    /* Colours that the scheme takes to be linear (`linear F`), bits as in Point.ops: f'' = 0, and no f depends on time. Its
     * order is that on such fields. */
    int linear;
    /* An embedded pair of one-step methods: `pair` is the table of all stages as written, those that the error
     * alone reads among them, and `error` = y' - yhat, a row of slopes, stands in it alone. The table that holds it
     * is without these stages, so nothing that takes fixed steps pays for them. NULL, and no terms: no pair. */
    struct Table *pair; /* owned; has no pair itself */
    Row error;
} Table;

/* ---- table.c ---- */

Table *table_new(const char *name); /* of two colours; NULL: out of memory */
void table_free(Table *t);
Table *table_copy(const Table *t);
void table_rename(Table *t, const char *name);

/* The evaluations of a stage of op, in their order; in_turn: each at a point of its own, behind those before. */
typedef struct {
    int count, colour[COLOURS];
    int in_turn;
} Parts;
const Parts *stage_parts(const Table *t, int op);

/* Adds c * (first n symbols of s) * source to a row, merging like terms; 0 or ERR_MEMORY. */
int row_add(Row *r, int eval, int past, const mpq_t c, int symbols, const int *symbol);
/* to += factor * from; 0 or ERR_MEMORY. */
int row_add_row(Row *to, const Row *from, const mpq_t factor);
void row_free(Row *r);
int row_equal(const Row *a, const Row *b);
void point_init(Point *p); /* zero */
void point_free(Point *p);

/* Value of a term's coefficient with its symbols at their starting values. */
void table_value(const Table *t, const Term *term, mpq_t out);

/* Time nodes of the points that no '@' set, by the rule of design: a colour's node is the row's total weight on
 * its slopes, a state y[-j] counts -j; a slope of phi_J counts what its row does, over J!: phi_J(0) = 1/J!, and no derivative of
 * an f moves a clock. Symbols at their starting values. */
void table_times(Table *t);

/* A copy whose symbols are replaced by their starting values, without the pair: what theory and fixed steps read. */
Table *table_freeze(const Table *t);

/* The table of a step that has only `history` past steps behind it (design: start of a multistep
 * scheme in a network). If history >= max(past_y, past_k) a plain copy. Otherwise update y' = y + K,
 * K the update's slopes with past ones replaced by the current and the weights of each colour
 * normalised to total 1; in the arguments a missing y[-j] becomes y, a missing past slope the
 * current one, left out if not yet computed. Works with symbols kept. NULL: out of memory. */
Table *table_start(const Table *t, int history);

/* ---- pair.c ---- */

/* Makes `whole`, a table of stages with an error, the pair of a new table, which has no error and no stage that
 * its update does not read, directly or by way of others. Takes whole unless it fails: ERR_MEMORY. */
int table_pair(Table *whole, Table **out);
/* The table of the text: the pair where there is one, else t. */
const Table *table_whole(const Table *t);
/* A copy of the pair whose update is replaced: by yhat = y' - error, the embedded method, or by the error itself. NULL:
 * out of memory. */
Table *table_embedded(const Table *t);
Table *table_estimate(const Table *t);

/* ---- split.c ---- */

/* Stage table of a splitting: every flow c OP of set s becomes the stages of `solver` (a one-step
 * table over H alone, without history) with OP in place of H and coefficients times c, one after
 * another. ERR_INPUT if the solver is none. Name: "<t>:<solver>". */
int table_expand(const Table *t, const Table *solver, Table **out);

/* ---- table.c ---- */

/* Evaluations of an operator a step (flows count one each, exponential stages none). */
size_t table_evals(const Table *t, int op);

/* Number of parameter sets of an operator, the largest set used. */
int table_sets(const Table *t, int op);

/* Total weight of the update on slopes of (op, set), past ones included, those of exponential stages not, at starting
 * values. */
void table_weight(const Table *t, int op, int set, mpq_t out);

/* 1 where there are stages and every one is of this operator, OP_F .. OP_A; none of them exponential. */
int table_over(const Table *t, int op);

/* Whether some stage is exponential, and the one an evaluation belongs to. */
int table_phi(const Table *t);
const Point *eval_point(const Table *t, int eval);

/* Where a point stands on an operator's clock, in steps: what @ writes, or by the rule of rows, whose sum is in units of the
 * weight of the colour in the field. Of a frozen table. */
void table_time(const Table *t, const Point *p, int op, mpq_t out);
/* The time at which a step asks there: the same, but 0 of a phi function, whose derivative is that at the step's beginning. */
double table_node(const Table *t, const Point *p, int op);

/* Whether @ sets an evaluation of a frozen table elsewhere than the rule of rows. */
int table_written(const Table *t);

/* Equality of everything but texts: what printing and parsing again must keep. */
int table_equal(const Table *a, const Table *b);

/* ---- block.c ---- */

/* 1 where a stage reads its own slope or that of a later stage. */
int table_implicit(const Table *t);
/* The points in blocks whose slopes need one another: block (points) out, the number of a point's block, from 0; a block
 * reads slopes of blocks before it and, where it must be solved for, its own: solved (points, as long as there are blocks)
 * out. count out: of blocks. */
int table_blocks(const Table *t, int *block, int *solved, size_t *count);

/* ---- print.c ---- */

/* The scheme as a text that parses back to the same table (not for tables of table_start). */
int table_print(const Table *t, FILE *f);

/* Nearest double of a rational (mpq_get_d cuts off). */
double table_double(const mpq_t q);

#endif
