/* table.h: the table, the one structure from which everything about a scheme is read.
 *
 * A scheme advances y' = F(y, t) + G(y, t) by h, or, for a decoder, y' = F(y, t) + C(y, t) + G(y, t). C reads a memory
 * that stands still (the encoder's output). The table is a partitioned general linear method (Butcher 2006, "General
 * linear methods", with one colour per operator):
 *
 *     Y_p = sum_j u_pj y[-j] + sum_e a_pe k_e + sum_e,j a_pej k_e[-j]     points
 *     k_e = h f_e(Y_point(e), t + c h),   f_e = F, G or C                 evaluations
 *     y'  = sum_j v_j y[-j]  + sum_e b_e k_e  + sum_e,j b_ej k_e[-j]      update
 *
 * y[-j] is the state and k_e[-j] the evaluation of j steps ago. A stage of the text is one to three evaluations: F, G
 * and C are themselves; H = F + G is two at one point; L(x) = F(x) + G(x + F(x)) is two at two points. In a decoder H =
 * F + C + G, L runs F, C and G in turn, and A(x) = F(x) + C(x + F(x)) is its first two: the attention of a decoder
 * layer. Coefficients are exact rationals; decimals, roots and broken powers clear `exact` and are kept to TABLE_DIGITS
 * decimals. A coefficient may carry learned symbols as factors.
 *
 * An exponential stage applies a phi function to an increment r_e, a row of slopes alone:
 *
 *     k_e = phi_J(c h A) r_e,   A = f'(y) of F, G, C or their sum,   phi_0 = exp,  phi_(j+1)(z) = (phi_j(z) - 1/j!) / z
 *
 * so exp(c h A) y - y is phi_1(c h A) (c h A y), and no row mixes states with exponentials (Hochbruck, Ostermann 2010).
 * A stage of a Rosenbrock method applies the resolvent in its place (Hairer, Wanner 1996, IV.7, equation 7.25):
 *
 *     k_e = (1 - c h A)^-1 r_e,   solve(z) = 1 / (1 - z) = 1 + z + z^2 + ...
 *
 * Where A is W, any matrix near f'(y), it is a stage of a W-method (Steihaug, Wolfbrandt 1979). In the trees of theory W
 * is a colour of its own, whose field is 0: that of C, which such a scheme does not have.
 *
 * A scheme may carry further quantities v_1, v_2, ... from step to step, each of the size of y (`carry v`): a velocity, the
 * Nordsieck vector, the outputs of a general linear method. Points and the update read them as they read y, and each has
 * an update of its own,
 *
 *     v_i' = sum_j w_ij y[-j] + sum_c w_ic v_c + sum_e b_ie k_e + sum_e,j b_iej k_e[-j]
 *
 * What v_i stands for, a multiple of y or of h f(y) or something else, the scheme decides; theory finds it out. A step
 * reads the v_c of its beginning alone: what is older is carried by one more of them. Where v stands for a network's second
 * stream, its text may say what networks alone do: v begins as an embedding of the tokens, and a stage k_e = norm(r_e) is a layer
 * norm of what is carried and slopes. Theory and steps take the text without these: v begins as without a start, and k_e is r_e
 * (table_freeze).
 *
 * A splitting by sub-flows is a list of flows and no evaluations; table_expand (splitting.c) turns it into the points and
 * evaluations above once a sub-flow solver is chosen.
 *
 * Tables are read from texts by zoo_find, zoo_read, scheme_parse and butcher_parse (scheme.h); ode.h says which functions
 * take them frozen. A function that can fail returns 0 for done, or an ERR_* of kernels/base/error.h (ode.h).
 */
#ifndef TROTTER_TABLE_H
#define TROTTER_TABLE_H

#include <gmp.h>
#include <stddef.h>
#include <stdio.h>

/* The colours of a field, F and G, and of a decoder's C; then the operators that are made of them. */
enum { OP_F, OP_G, OP_C, COLOURS, OP_H = COLOURS, OP_L, OP_A, OPS };
extern const char table_letters[OPS + 1]; /* "FGCHLA" */
/* Term.eval of a state y[-j]; TABLE_CARRIED - c is that of carried quantity c, from 0; TABLE_ONE that of a number alone. */
enum {
    TABLE_STATE = -1,
    TABLE_CARRIED = -2,
    CARRIES_MAX = 32,
    TABLE_ONE = TABLE_CARRIED - CARRIES_MAX
};
enum { BACKWARD_MOST = 5 }; /* order of a formula that steps by tolerance take */
enum { TABLE_SYMBOLS = 4, TABLE_NAME = 160, TABLE_BITS = 320, TABLE_DIGITS = 60 };
enum { SYMBOL_LEARN, SYMBOL_SIGMOID, SYMBOL_TANH };
/* The square root of -1, in a Term.symbol while a text is read; at most once in a term. */
enum { SYMBOL_I = 1 << 20 };

/* c * (learned symbols) * (state or evaluation, `past` steps ago). */
typedef struct {
    int eval; /* index of an evaluation, TABLE_STATE, or TABLE_CARRIED - c */
    int past; /* j of [-j], 0: now; of carried quantities always 0 */
    mpq_t c;
    int symbols;
    int symbol[TABLE_SYMBOLS]; /* rising */
} Term;

/* A linear combination; terms sorted by (states, then carried quantities, then evaluations; eval,
 * past, symbols), no two alike, none zero: a term not written is absent. */
typedef struct {
    size_t terms;
    Term *term;
} Row;

/* Table.special: a colour is linear (1 << OP_F), or reads nothing that it moves itself (1 << (COLOURS + OP_F)): F'F = 0, and F' is 0 on
 * all that F makes. SEPARABLE: that of each, as of a force that depends on positions and a drift that depends on momenta. Of
 * y'' = f(y, y') the drift alone, G = (y', 0), is so, and linear; the force F = (0, f) reads all. */
enum { SEPARABLE = ((1 << COLOURS) - 1) << COLOURS, SEPARABLE_G = 1 << (COLOURS + OP_G) };
static inline int special_apart(int special, int op)
{
    return special >> (COLOURS + op) & 1;
}
static inline int special_separable(int special)
{
    return (special & SEPARABLE) == SEPARABLE;
}

typedef struct {
    Row row;
    mpq_t c[COLOURS]; /* time node of a colour: t + c h; by the rule of rows unless `timed` */
    int timed;        /* written by @ */
    /* In an exponential stage phi is J + 1, in one of a Rosenbrock method PHI_SOLVE, else 0. The row is then the
     * increment r, and its one evaluation is phi_J(scale h A) r, or solve(scale h A) r. A is the derivative at y of the
     * sum of the colours in `ops`, bits 1 << OP_F and so on; for W it is 1 << OP_C in a table of two colours. c is what
     * the evaluation adds to the time nodes of rows that read it. */
    int phi,
        ops; /* phi PHI_NORM: a layer norm of the row, which reads slopes and what is carried; its Eval has the norm's number */
    mpq_t scale;
} Point;

enum { PHI_MOST = 4, PHI_SOLVE = PHI_MOST + 2, PHI_NORM }; /* PHI_MOST: largest J */

typedef struct {
    int op;    /* a colour */
    int set;   /* parameter set, from 1 */
    int point; /* where */
    int stage; /* stage of the text it belongs to, from 0 */
} Eval;

/* A stage as written: k(i+1) = OP set (row). */
typedef struct {
    int op, set; /* op: OP_F .. OP_A */
    int eval;    /* its first evaluation; stage_parts says how many it has */
} Stage;

typedef struct {
    int op; /* a colour */
    int set;
    mpq_t c;  /* fraction of h */
    mpq_t im; /* of a complex fraction c + im i (table_complex) */
    Row learned; /* where it has learned names: the same, as a sum of numbers; c is then its value at their start */
    /* A flow that names its method, `flow 1/2 G:heun`: the name, and the method's stages over this fraction, a table by itself.
     * Without a name: NULL and NULL, the exact flow. zoo_find makes `by`; a table that was only parsed lacks it. */
    char *method;     /* owned */
    int substeps;     /* equal steps of the method in this fraction, `flow F:heun*4`: 4; 0: one */
    struct Table *by; /* owned */
} Flow;

/* learn a = start, or gate g = sigmoid(...) / tanh(...), one number a token. */
typedef struct {
    char name[TABLE_NAME];
    int kind;      /* SYMBOL_* */
    mpq_t start;   /* value in theory and on particle systems: 1/2 for sigmoid, 0 for tanh */
    size_t inputs; /* number of inputs of a gate */
    Row *input;    /* rows that it reads */
} Symbol;

/* A quantity that is carried from step to step. */
typedef struct {
    char name[TABLE_NAME];
    Row update; /* v' */
    /* Its value before the first step, where `started`: y and slopes of stages that read nothing carried. */
    Row start;
    int started;
    int embedded; /* 1: networks begin it by an embedding of the tokens; `started` is then 0 */
    Row moved;    /* of y, what table_recast has taken out of it; else empty */
} Carry;

typedef struct Table {
    char name[TABLE_NAME];
    char *title, *source, *note, *start; /* rest of the line; "" if absent */
    int colours; /* 2, or 3 for a decoder: C or A stands in its text, or `decoder` */
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
    /* The scheme solves the sum of its colours times these weights: 1 except for words. */
    mpq_t weight[COLOURS];
    int past_y, past_k; /* deepest j */
    size_t carries;
    Carry *carry;
    /* The scheme that `start` names, which gives the carried quantities before the first step: a table of the same carried
     * quantities, whose updates read none of them. zoo_find finds it; NULL: none is named, or the table was only parsed. */
    struct Table *starter; /* owned */
    /* What the scheme takes its field to be: bits as in Point.ops of the colours that are linear (`linear F`: f'' = 0, and f does
     * not depend on time) or separable (`separable`, `separable G`). Its order is the order on such fields. */
    int special;
    /* Of a backward differentiation formula of order p: p where the text says `orders 1..p`, so that steps by tolerance choose
     * among the formulas of these orders; else 0. All but adapt_run reads the table, the formula of order p. */
    int orders;
    /* An embedded pair of one-step methods. `pair` is the table of all stages as written, with those that only the
     * error reads. `error` = y' - yhat is a row of slopes in `pair` alone. The table that owns `pair` lacks these
     * stages, so fixed steps do not pay for them. Without a pair: NULL, and no terms. `coarse` is a second estimate, which falls more slowly
     * with h, of explicit stages alone: steps then go by |error|^2 / sqrt(|error|^2 + .01 |coarse|^2) (adapt.c). */
    struct Table *pair; /* owned; has no pair itself */
    Row error, coarse;
} Table;

/* ---- table.c ---- */

Table *table_new(const char *name); /* has two colours; NULL: out of memory */
void table_free(Table *t);
/* TABLE(t) declares Table *t = NULL, which is freed where its scope ends. */
static inline void table_drop(Table **t)
{
    table_free(*t);
}
#define TABLE(t) __attribute__((cleanup(table_drop))) Table *t = NULL
void symbols_clear(Table *t); /* deletes the learned names */
Table *table_copy(const Table *t);
void table_rename(Table *t, const char *name);

/* The evaluations of a stage, in order. in_turn: each has its own point, which reads those before. */
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
void row_swap(Row *a, Row *b);
/* ROW(r) declares an empty row, which is freed where its scope ends. */
#define ROW(r) __attribute__((cleanup(row_free))) Row r = {0}
int row_copy(Row *to, const Row *from); /* `to` is empty before; ERR_MEMORY */
int row_equal(const Row *a, const Row *b);
int row_plain(const Row *r); /* 1: the first state has weight 1, as in y + slopes */
void point_init(Point *p);   /* sets p to zero */
void point_free(Point *p);

/* Computes a term's coefficient with its symbols at their starting values. */
void table_value(const Table *t, const Term *term, mpq_t out);

/* Returns the i-th row of a step: of a point, y', or the update of what is carried, in this order. */
const Row *table_row(const Table *t, size_t i);

/* Computes a row's total weight on an evaluation, now and before, on states (TABLE_STATE), likewise, or on a carried
 * quantity. */
void row_weight(const Table *t, const Row *r, int eval, mpq_t out);

/* Sets the time nodes of the points that no '@' sets, by the rule of rows: a colour's node is the row's total weight on
 * its slopes. A state y[-j] counts -j. A slope of phi_J counts what its row does, over J!, because phi_J(0) = 1/J! and
 * no derivative of an f moves a clock; solve(0) = 1. Symbols are at their starting values. */
void table_times(Table *t);

/* Computes the multiple of h over which a step goes by an operator: the update's slopes over the step that past states and
 * what is carried lengthen, 1 where the scheme is consistent, 10 of y' = y + v', v' = 9/10 v + k1. */
void table_goes(const Table *t, int op, mpq_t out);

/* Computes c, a row's total weight on slopes of an operator by this rule, op < 0: on none. What is carried counts what
 * it has on the exact solution. */
void table_row_time(const Table *t, const Row *r, int op, mpq_t c);

/* Copies t without the pair, with starting values for symbols: what theory and fixed steps read. NULL: out of memory.
 * theory_freeze (theory.h) does this too, and finds out whether long fractions are roundings. */
Table *table_freeze(const Table *t);

/* Returns the table of a step that has only `history` past steps behind it (the start of a multistep
 * scheme in a network). If history >= max(past_y, past_k) it is a plain copy. Otherwise the update
 * is y' = y + K: K is the update's slopes with past ones replaced by the current ones and the
 * weights of each colour normalised to total 1. In the arguments a missing y[-j] becomes y. A
 * missing past slope becomes the current one, or is left out if that is not yet computed. Symbols
 * are kept. NULL: out of memory. */
Table *table_start(const Table *t, int history);

/* ---- carry.c ---- */

/* Returns whether a step reads more than y: past states, past slopes, or carried quantities. */
int table_past(const Table *t);
/* Refuses a scheme with carried quantities in one line, "NAME carries 'v' from step to step: <why>". ERR_INPUT. */
int table_refuse_carries(const Table *t, const char *why);
/* Gives t the scheme that its line `start` names, which is copied. ERR_INPUT: it carries other quantities, or reads more
 * than y. */
int table_take_starter(Table *t, Table *starter);
/* Makes the table whose step from y gives what is carried before the first step: that of `start`, or of the rows behind
 * `carry v =`. *out NULL: the text has neither. */
int table_starter(const Table *t, Table **out);

/* On the exact solution carried quantity c is a series V_c about the state y of its time: V_c(empty) y + ... The updates
 * keep it so, which is what determines it: with the weights W of the updates on what is carried, and what a row has of
 * states and slopes,
 *
 *     (V_c one step later) - sum_d W_cd V_d = (states and slopes of the update of c).
 *
 * Where that leaves V_c open, and the text begins v as y and moves it as y, so that v' - y' = v - y, it stays y: V_c = y.
 * carried_solve solves (1 - W) x = x in place, x (carries), with the part `y` of y in what stays y; ERR_INPUT where 1 is an
 * eigenvalue of W and the start does not tell. carried_states gives V(empty). */
int carried_solve(const Table *t, int y, mpq_t *x);
/* Where 1 is an eigenvalue of W, and yet a simple one of the whole step (y, v) -> (y', v'), errors of y alone do not last, as in
 * leapfrog with v = -y[-1] - y carried: v' = v - 2 k1, y' = -v - y + 2 k1. Such a frozen table gets z = v - r y in the place of v,
 * (1, r) the eigenvector: z' = (W - r u) z on y' = 0, u the weights of y' on v, and W - r u has the other eigenvalues alone
 * (deflation; Wielandt 1944). The states are the same. Other tables stay as they are. ERR_MEMORY. */
int table_recast(Table *t);
int carried_states(const Table *t, mpq_t *held);
/* Computes a row's total weight on states, those in what is carried too. */
void table_states(const Table *t, const Row *r, mpq_t out);
/* Returns whether a row reads what is carried; adds its weights there times what is held. */
int row_carried(const Row *r);
void carried_add(const Table *t, const Row *r, mpq_t *held, mpq_t out);

/* ---- pair.c ---- */

/* Makes `whole`, a table with an error, the pair of a new table, which has no error and only the
 * stages that its update reads. Owns whole unless it fails: ERR_MEMORY. */
int table_pair(Table *whole, Table **out);
/* Puts what it is the norm of in the place of each norm, and deletes its stage. ERR_MEMORY. */
int table_drop_norms(Table *t);
/* Returns the table of the text: the pair where there is one, else t. */
const Table *table_whole(const Table *t);
/* Returns the same, but where implicit stages have an estimate that a resolvent filters (radau-iia5) the table without
 * the estimate: the method by itself is one of slopes alone, which has a tableau and forms over other operators. */
const Table *table_unfiltered(const Table *t);
/* Copy the pair with another update: yhat = y' - error, or the error. NULL: out of memory. */
Table *table_embedded(const Table *t);
Table *table_estimate(const Table *t);
Table *table_coarse(const Table *t); /* where there is a second one */
/* Returns the sum of the estimate's weights on one operator, the largest of these sums: 0 where yhat has the weights
 * of y', else the estimate is O(h). */
double table_error_sum(const Table *t);

/* ---- splitting.c ---- */

/* Makes the stage table of a splitting: every flow c OP of set s becomes the stages of `solver` (a
 * one-step table over H alone, without history) with OP in place of H and coefficients times c, one
 * after another. A flow that names its method keeps that. Its name is "<t>:<solver>". ERR_INPUT if the solver is not such a
 * table. solver NULL: every flow names its method, and the name is that of t. */
int table_expand(const Table *t, const Table *solver, Table **out);
/* Makes `by` of flow i from the method that it names, a table as `solver` above. */
int table_solve_flow(Table *t, size_t i, const Table *method);
/* Returns how many flows name their method. Where some do and some do not, the table is a splitting of exact flows and others:
 * it has trees, and steps, but no words and brackets, which are those of exact flows alone. */
size_t table_methods(const Table *t);
/* Returns whether a splitting has complex fractions, whose sums are real for each operator. A step is then the real part of what the
 * flows over complex times make of y. That is no product of flows: it has trees, and no brackets. */
int table_complex(const Table *t);
/* Returns whether the table is made of exact flows over real times alone. */
int table_exact_flows(const Table *t);

/* ---- table.c ---- */

/* Counts an operator's evaluations in a step: a flow is one, a function of a derivative none. */
size_t table_evals(const Table *t, int op);

/* Returns the number of parameter sets of an operator, which is the largest set used. */
int table_sets(const Table *t, int op);

/* Computes the update's total weight on slopes of (op, set), at starting values. Past slopes count; those of
 * functions of derivatives do not. For flows it is the sum of their fractions. */
void table_weight(const Table *t, int op, int set, mpq_t out);

/* Returns 1 where there are stages, each is of this operator, OP_F .. OP_A, and none is a function of its derivative. */
int table_over(const Table *t, int op);
/* Returns 1 where every stage is H, or a function of its derivative, so that one colour stands for the sum of all. */
int table_one_field(const Table *t);

/* Returns whether some stage is of one of these kinds: a phi function, a resolvent, that of W, an implicit stage, a norm. */
enum { HAS_PHI = 1, HAS_SOLVE = 2, HAS_W = 4, HAS_IMPLICIT = 8, HAS_NORM = 16 };
/* What theory says of a scheme that has norms. */
#define TABLE_NORMS_LEFT                                                                    \
    "a norm is no operation of an integrator: order, error and stability are those of the " \
    "text without its norms"
int table_has(const Table *t, int kinds);
#define table_phi(t) table_has(t, HAS_PHI | HAS_SOLVE) /* any function of a derivative */
#define table_exponential(t) table_has(t, HAS_PHI)
#define table_rosenbrock(t) table_has(t, HAS_SOLVE)
#define table_solves(t) table_has(t, HAS_SOLVE | HAS_IMPLICIT)
/* Returns the colours of the table's trees: its own, and W. */
int table_tree_colours(const Table *t);
/* eval_point: the point of an evaluation. point_fields: the colours of A at a function's point; W stands for all. */
const Point *eval_point(const Table *t, int eval);
int point_fields(const Table *t, const Point *p);
/* Makes c, coefficient n - 1 of the powers of z in the function at a point, the n-th: that of phi_J is 1/(n + J)!, that
 * of solve is 1. For n = 0 it is 1 before. */
void point_coefficient(const Point *p, unsigned n, mpq_t c);

/* Computes where a point of a frozen table stands on an operator's clock, in steps: the node that @ writes, or the sum
 * by the rule of rows in units of the colour's weight in the field. */
void table_time(const Table *t, const Point *p, int op, mpq_t out);
/* Returns the time at which a step evaluates there: the same, but 0 for a phi function, whose derivative is taken at
 * the step's beginning. */
double table_node(const Table *t, const Point *p, int op);

/* Returns whether @ sets an evaluation of a frozen table elsewhere than the rule of rows. */
int table_written(const Table *t);

/* Writes what the scheme takes its field to be, as "linear F, separable"; "" for any field. Returns out. */
enum { SPECIAL_WORDS = 80 };
const char *table_special(int special, char out[SPECIAL_WORDS]);

/* Compares everything but texts: what printing and parsing again must keep. */
int table_equal(const Table *a, const Table *b);

/* ---- block.c ---- */

/* Returns 1 where a stage reads its own slope or that of a later stage. */
int table_implicit(const Table *t);
/* Groups the points in blocks whose slopes need one another. block (points) out: the number of a point's block, from 0.
 * A block reads slopes of blocks before it and, where it must be solved for, its own: solved (points, as long as there
 * are blocks) out. count out: the number of blocks. */
int table_blocks(const Table *t, int *block, int *solved, size_t *count);

/* ---- print.c ---- */

/* Prints a text that parses back to the same table (not for tables of table_start). */
int table_print(const Table *t, FILE *f);

/* Returns the double nearest to a rational (mpq_get_d truncates). */
double table_double(const mpq_t q);

#endif
