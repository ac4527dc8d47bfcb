/* theory.h: facts about a table that need no steps. Reading order:
 *
 *   tree.c       coloured rooted trees         series.c     B-series: compose, evaluate a table
 *   conditions.c, tree_weights.c order conditions        repair.c     which coefficient fails them
 *   theory.c     exact order, error terms      bracket.c    splittings as Lie series
 *   structure.c  symmetry, symplecticity, effective order, error constants
 *   assumptions.c  simplifying assumptions, algebraic stability
 *   terms.c      sums of terms as texts
 *   stability.c  root condition, amplification limit.c      stability limits
 *   stiff.c      A-stability, stiff decay      dispersion.c      dispersion, dissipation
 *   stability_function.c  R(z), zeros, poles     ssp.c             strong stability
 *
 * The conventions are those of ode.h, and so are the codes: 0 is done, else an ERR_* of kernels/base/error.h. Tables are
 * frozen (learned names are numbers; ode.h says by which function) unless a line says otherwise.
 */
#ifndef TROTTER_THEORY_H
#define TROTTER_THEORY_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"
#include "ode/scheme/scheme.h"
#include "ode/scheme/table.h"

/* ---- tree.c: coloured rooted trees --------------------------------------------------------------- */

/* Highest order of a list of trees in two colours, in three, in one, in one with clocks; with cuts of one edge (forest_edges). */
enum { TREE_MAX = 8, TREE_MAX_3 = 6, TREE_MAX_1 = 15, TREE_MAX_1_TIMED = 10, EDGES_MAX = 12 };

typedef struct {
    int colour; /* colour of the root */
    int order;  /* vertices */
    int children;
    int child[TREE_MAX_1]; /* tree indices, rising */
    uint64_t gamma, sigma; /* density, symmetry */
} Tree;

/* A way to split a tree into a subtree that holds its root and the trees cut off. */
typedef struct {
    int kept; /* tree, or -1: nothing kept, the whole tree is cut off */
    int cuts;
    int cut[TREE_MAX];
    long count; /* number of ways */
} Cut;

/* All trees of order 1 .. max, sorted by order. Their numbers are 2, 4, 14, 52, 214, 916, in three colours 3, 9, 45,
 * 246, 1485, 9432, in one, which stands for the sum of all where every stage is H, 1, 1, 2, 4, 9, 20. For fields that
 * depend on time each colour has its own clock, t' = 1, as in the stepper. A clock is one more leaf, of colour COLOURS
 * + c, which stands only under vertices of colour c; by itself it is no term of a state. The numbers are then 2, 6, 24,
 * 104, 496, 2480, without the clocks themselves. */
typedef struct {
    int max, colours;
    int timed; /* with clocks */
    int w;     /* the third colour is W, a matrix, in names */
    size_t count;
    Tree *tree;
    size_t first[TREE_MAX_1 + 2]; /* first[p]: index of the first tree of order p */
    size_t *cuts;                 /* (count), or NULL */
    Cut **cut;                    /* (count) lists, or NULL */
} Forest;

int forest_most(int colours); /* highest order of 1 to 3 colours */
/* Makes the trees up to order max, with their cuts. ERR_INPUT: max is outside 1 .. forest_most(colours), or above
 * TREE_MAX, as cuts have room for no more; in one colour, where forest_most is 15, the second bound is the lower one. */
int forest_new(int max, int colours, Forest **out);
/* These have clocks where `timed` is set. */
int forest_timed_most(int colours, int timed);
int forest_timed(int max, int colours, int timed, Forest **out);
/* Makes the trees alone, without their cuts: what series need of tables without flows by a method and past slopes. */
int forest_trees(int max, int colours, int timed, Forest **out);
/* Makes the trees with their cuts of one edge and of none: what series_log needs. The order is at most forest_edges_most. */
int forest_edges_most(int colours, int timed);
int forest_edges(int max, int colours, int timed, Forest **out);
/* Adds the trees of the orders up to max <= forest_timed_most, without cuts; the indices of those that were there stay.
 * A Series made before has no coefficients for the new trees, and must not be used any more. ERR_MEMORY alone: some
 * trees may have been added, and the forest is good for forest_free alone. */
int forest_grow(Forest *f, int max);
void forest_free(Forest *f);
DROP(Forest, forest)
/* shape (f->count) out: each tree without its colours, in a forest of one colour of this order. */
void forest_shapes(const Forest *f, const Forest *one, int *shape);

/* Returns whether the tree is a clock by itself. */
static inline int tree_is_clock(const Forest *f, size_t tree)
{
    return f->tree[tree].colour >= COLOURS;
}

/* Writes the elementary differential of a tree: F'G, F''(F,G), F'F''(F,G); F't is the derivative of F by time. 64 bytes
 * hold every name. ERR_MISUSE, and out as it was: the name and its NUL do not fit in `bytes`. */
int tree_name(const Forest *f, size_t tree, char *out, size_t bytes);

/* Returns whether the elementary differential is 0 on such fields (Table.special). It is where a linear field has two
 * children or more somewhere, a second derivative, or a clock; on separable fields where F stands below F or G below G; and
 * where the tree is a clock by itself. */
int tree_vanishes(const Forest *f, size_t tree, int special);

/* Returns whether every vertex is an F, or its clock. One of all trees of one shape is. */
int tree_is_F(const Forest *f, size_t tree);

/* Adds the coefficients of a text, "1 y; 1/2 G'F - .5 F'G" (terms.c), to c (forest->count), and that of y to y. letters
 * names the colours: "FG", "FGC", or one letter of any name, "H", for one field, whose trees are those of F. Children
 * stand in any order. ERR_INPUT with its place: not such a text, or a term of an order above `most` <= forest->max. */
int forest_read(const Forest *f, const char *letters, int most, const char *text, mpq_t *c,
                mpq_t y);

/* ---- series.c: B-series ------------------------------------------------------------------------- */

/* Maps the empty tree and each tree to a rational: y + sum h^|t| a(t)/sigma(t) F(t); 1/gamma(t) for
 * the exact flow. Hairer, Lubich, Wanner 2006, chapter III. */
typedef struct {
    const Forest *forest; /* borrowed */
    mpq_t empty;
    mpq_t *a; /* (forest->count) */
} Series;

int series_new(const Forest *f, Series **out); /* all coefficients are 0 */
void series_free(Series *s);
DROP(Series, series)
/* Sets s to the exact flow over theta h of the weighted sum of colours; clocks advance by theta. */
void series_exact(Series *s, const mpq_t theta, mpq_t weight[COLOURS]);
/* Composes c = "first a, then b": c(t) = b(0) a(t) + sum over cuts b(kept) prod a(cut); a(0) = 1. c !=
 * a, b. */
void series_compose(Series *c, const Series *a, const Series *b);
/* Computes b = log(s): the field sum h^(|t|-1) b(t)/sigma(t) F(t) whose exact flow over h is the map s; s(0) = 1,
 * b(0) = 0. b != s. Source: Hairer, Lubich, Wanner 2006, section IX.9.1. */
int series_log(Series *b, const Series *s);
/* Returns ERR_ACCURACY with words where a point's state weights do not sum to 1, or the steps do not determine what is carried:
 * there is no expansion about y. */
int series_check(const Table *t);
/* Makes the forest that series_step takes for this table, with cuts where it needs them. */
int series_forest(const Table *t, int max, int colours, int timed, Forest **out);
/* Returns whether every stage is H, so that a tree's coefficient is that of its shape, and the field is F + G. */
int series_one_colour(const Table *t);
/* Computes the series of a step of a frozen table on exact history; that of flows of an inexact table to 320 bits. */
int series_step(const Forest *f, const Table *t, Series **out);
/* slope (t->evals) out: the series of every evaluation of a frozen table of stages, 0 at the empty tree. The caller
 * frees each, after errors too: those not reached stay as they are. */
int series_slopes(const Forest *f, const Table *t, Series **slope);
/* carried (t->carries) out, likewise: the series of what a frozen table of stages carries, on exact history; with `after`
 * its updates, about the step's beginning. */
int series_carried(const Forest *f, const Table *t, int after, Series **carried);

/* ---- conditions.c, tree_weights.c: order conditions ------------------------------------------------ */

/* Highest order of conditions in one colour, in two, in three. No list of the trees is kept, so that it may be above TREE_MAX. */
enum { CONDITIONS_MAX = 20, CONDITIONS_MAX_2 = 10, CONDITIONS_MAX_3 = 8 };

/* How a scheme meets the conditions of one order. Where it does not meet them exactly the sums of (defect/sigma)^2 are told:
 * over the trees in the table's colours (norm2), in which a defect is that of the tree without colours where all stages are
 * H, and over those of one colour (one_colour). */
typedef struct {
    int exact;      /* all are 0: of an exact table modulo primes, else to 1e-80 */
    int proved;     /* of an exact table: the primes are so many that all are 0 indeed */
    double largest; /* |defect|/sigma */
    double norm2, one_colour;
} Level;

typedef struct Conditions Conditions;
/* Takes a frozen table (borrowed) of stages or exact flows; *out is NULL, and the code 0, for one with functions of
 * derivatives, with flows that name their method, and where a slope of the past reads one that reads it. timed: 1 for a table where @ writes nodes
 * (table_written), so that trees have clocks; else 0. estimate: 0 for a method, whose series is compared with the exact
 * one; 1 for the estimate of a pair (table_estimate), whose series is compared with 0. theory_search and theory_embedded
 * choose both. */
int conditions_new(const Table *t, int timed, int estimate, Conditions **out);
void conditions_free(Conditions *c);
DROP(Conditions, conditions)
int conditions_most(const Conditions *c); /* the highest order that is looked at */
/* Looks at the trees of an order, 1 .. conditions_most. */
int conditions_at(Conditions *c, int order, Level *out);

/* ---- repair.c: what a scheme's text should say ------------------------------------------------------ */

/* Most coefficients of a candidate; the highest order that is looked at where nothing says which; bytes of a name. */
enum { REPAIR_UNKNOWNS = 8, REPAIR_CLIMB = TREE_MAX, REPAIR_NAME = 48 };

/* Values of some coefficients with which conditions hold that failed, and none that held fails (but where `reached` is set). */
typedef struct {
    size_t unknowns, coefficient[REPAIR_UNKNOWNS]; /* indices of Repair.coefficients */
    mpq_t value[REPAIR_UNKNOWNS];
    double within; /* of decimals: how well the value is known; 0: exactly */
    Misprint misprint[REPAIR_UNKNOWNS];
    int distance;     /* sum of those of the misprints */
    size_t explained; /* failing conditions that these values meet */
    double bits;      /* of one slip each: in how many the repaired numbers are told */
    int looser; /* of decimals: another candidate meets the conditions 1,000 times more closely */
} RepairCandidate;

typedef struct {
    Coefficients coefficients;
    /* a32, b4, c3, bhat2, "error weight 2", "factor of k4", "flow 2"; "line 7" for one that stands in several places */
    char (*name)[REPAIR_NAME];
    /* 0: no condition depends on it; 1: some does; 2: it was left alone, since the scheme is not linear in it, or would
     * become implicit */
    char *seen;
    int exact;           /* 0: decimals, or fractions that are roundings */
    int now;             /* the order of the text as it is */
    int order, embedded; /* conditions are those to these orders; embedded 0: none */
    enum { REPAIR_ASKED, REPAIR_CLAIMED, REPAIR_HIGHEST } how; /* how `order` was chosen */
    size_t conditions, failing;
    size_t asked;     /* number of '?' */
    int undetermined; /* conditions do not determine these */
    int changed;      /* how many others were changed at once: 0, 1, 2 */
    int reached; /* > 0: no candidate meets the conditions to `order`; these meet those to this one */
    /* Ranked: most explained first, then the looser ones last, then the least distance, then the fewest bits. */
    size_t candidates;
    RepairCandidate *candidate;
} Repair;

/* Finds the coefficients that fail the conditions, and the values that meet them all: the conditions to order p of the
 * method, of the embedded one to its order, and c = sum of the row where nodes are written.
 *
 * order: p, or 0: the one that the text claims (coefficients_claims), else the highest up to REPAIR_CLIMB to which a
 * single coefficient can bring it by meeting two failing conditions or more, else its own. An embedded order that is
 * not claimed is the one that it has, if the method has order p and that is p - 2 at least; else p - 1, or if that has no
 * candidate the one that it has. The text has one scheme of stages
 * of any kind, a tableau, or a splitting by exact flows. '?' stands for a coefficient that is
 * asked for.
 *
 * Of exact coefficients single ones and, where none does, pairs are tried, beside those that are asked for where no values of
 * these do; of decimals single ones, or the one asked for. Where nothing meets all and nothing is asked for, the candidates are those to the highest lower order that a single one reaches (`reached`).
 *
 * Caller: repair_free where the code is 0. ERR_INPUT: an unusable text, another kind of scheme, an order above 14 (of
 * several colours 7 or 6), too many '?'. */
int repair_find(const char *file, const char *text, size_t bytes, int order, Repair *out);
void repair_free(Repair *r);
/* Writes the text with a candidate's values. *out is to be freed with free(). */
int repair_written(const Repair *r, size_t candidate, const char *text, size_t bytes, char **out,
                   size_t *count);
/* Returns whether there is nothing to repair, or one repair: a single candidate that meets all conditions, or the first of
 * several if it alone is one slip away from what is written, or leaves the simplest numbers by 2 bits (repair.c), or all
 * others are looser. */
int repair_unique(const Repair *r);

/* ---- theory.c: exact order ---------------------------------------------------------------------- */

typedef struct {
    int order; /* largest p with every tree up to p met, within the rounding of coefficients; 0: not consistent */
    int order_exact; /* the same without rounding: less where fractions are roundings; -1: decimals */
    int order_proved; /* order_exact as far as it is proved: less where that takes too long (conditions.c) */
    int order_autonomous; /* the same on fields that do not depend on time; differs only where @ writes nodes */
    int searched;    /* trees were compared up to this order */
    int consistent;  /* order >= 1 */
    int expands;     /* 0: state weights of some row do not sum to 1: no expansion about y */
    double residual; /* rounded tables: largest |defect| taken for zero, and the bound used */
    double bound;
    double missed; /* largest |defect| of order p+1; NaN: not looked at */
    /* sum (defect/sigma)^2 over the trees of order p+1, in the table's colours */
    double error_norm2;
    double error_norm2_one_colour; /* in one colour: the field is not split into colours;
                                      NaN unless every stage is H */
    int zero_stable;
    int weakly_stable; /* zero-stable with more than one root on the unit circle */
    /* The text's start gives what is carried to O(h^(start_order + 1)), at least; INT_MAX: nothing is carried, or it begins as the
     * exact solution has it. A lower one than order - 1 costs order. */
    int start_order;
} Theory;

/* Finds the exact order up to `most`, or the highest of the trees of the table's colours where that is less, and the
 * rest. Trees are of one colour where every stage is H (forest_timed_most). It freezes a copy of t itself. order =
 * searched means "at least"; norms are NaN there, and where nothing expands. For a table with `linear` or `separable` the order is
 * that on such fields: trees that vanish on them count as met, here and below. A phi
 * function of other derivatives ignores the derivative by time; system_takes refuses such a field if it depends on
 * time. No expansion is no failure (expands = 0, order 0). ERR_INPUT: most < 1, where stages are not all H.
 * ERR_NUMERIC: the roots of the state weights were not found. */
int theory_search(const Table *t, int most, Theory *out);
/* Where a scheme with memory has no order over h, finds its theory over the time `goes` h that a step goes; else both stay. */
int theory_own(const Table *scheme, int most, Theory *theory, mpq_t goes);

/* The estimate of an embedded pair (Table.pair): error = y' - yhat. */
typedef struct {
    int order;          /* that of yhat, as Theory.order; -1: t is no pair, the rest is unknown */
    int order_at_least; /* every tree agreed: the order may be larger */
    int estimate_order; /* largest q such that the estimate, or what two make (adapt.c), is O(h^(q+1)); `searched`: at least */
    int searched;       /* trees were looked at up to this order */
    /* sum (coefficient/sigma)^2 over the trees of order q+1: the estimate's own constant */
    double error_norm2;
} Embedded;

/* Looks at trees up to order `most`. Steps by tolerance have h ~ tol^(1/(q+1)). */
int theory_embedded(const Table *t, int most, Embedded *out);

/* Computes defect (forest->count, initialised mpq): (numerical - exact)(t) / sigma(t), the factor
 * of h^|t| and the elementary differential; empty out: the factor of h^0 y. ERR_ACCURACY with words
 * where a row's state weights do not sum to 1. */
int theory_defect(const Forest *f, const Table *t, mpq_t *defect, mpq_t empty);

/* Computes the modified equation of a one-step table. coefficient (forest->count, initialised mpq) out: the factor of
 * h^(|t|-1) and the elementary differential in the field whose exact flow is the step, to any power of h (backward
 * error analysis). There is no factor of y, as theory_defect has in `empty`: a step whose state weights do not sum to
 * 1 has no modified equation, and that of others has no such term. ERR_INPUT: history. ERR_ACCURACY with words: the state
 * weights of a row do not sum to 1. */
int theory_modified(const Forest *f, const Table *t, mpq_t *coefficient);

/* Computes coefficient (forest->count): theory_defect as doubles for the trees of one order, 0
 * elsewhere and where theory_is_zero. */
int theory_terms(const Forest *f, const Table *t, int order, double *coefficient);

/* Computes the degree-0 term, even without an expansion: the update's state weights less 1. */
void theory_state(const Table *t, mpq_t out);

/* Returns whether an exact table has fractions long enough to be roundings. */
int theory_may_round(const Table *t);
/* Freezes a table; one of fractions that are roundings, as its order conditions tell, becomes inexact: what follows takes
 * 1e-17 beside 1 for nothing, as it does for decimals. */
int theory_freeze(const Table *t, Table **out);
/* Returns whether an error's coefficient counts as zero: 0, or 1e-12 in an inexact table. */
int theory_is_zero(const Table *t, const mpq_t defect);

/* ---- bracket.c: splittings by exact flows as Lie series ----------------------------------------- */

enum { LIE_MAX = 10, LIE_MAX_3 = 7 }; /* highest degree, in two letters, in three */

typedef struct {
    int degree;
    char name[4 *
              LIE_MAX]; /* [F,[F,G]]: Lyndon words with F < C < G, bracketed in the standard way */
    mpq_t c;
} Bracket;

typedef struct {
    size_t count;
    Bracket *bracket; /* non-zero ones, by degree, then lexicographic */
} Brackets;

/* Computes log(step)/h - (wF F + wG G), for a decoder's scheme less wC C too, of a table of flows. It has
 * brackets of up to `degree` letters (h^(degree-1)); a symmetric scheme has no even degrees. ERR_INPUT:
 * not flows, or a degree outside 1 .. bracket_most. */
int bracket_most(const Table *t);
int bracket_error(const Table *t, int degree, Brackets *out);
/* Does the same with those that are 0, so that two tables have the same list. */
int bracket_every(const Table *t, int degree, Brackets *out);
/* Reads the Lie polynomial of a text in the same basis, "-1/2 [G,F] + 1/24 [G,[G,F]]" (terms.c): nested commutators of
 * the table's colours, of `degree` letters at most. ERR_INPUT with its place: not such a text. */
int bracket_read(const Table *t, const char *text, int degree, Brackets *out);
/* Returns whether two lists in this basis are equal, but for what a table counts as zero. */
int bracket_equal(const Table *t, const Brackets *a, const Brackets *b);
void bracket_free(Brackets *b);

/* Computes the coefficient of [a,b], a and b two of OP_F, OP_C, OP_G, a before b in this order: (OP_F, OP_G), (OP_F,
 * OP_C), (OP_C, OP_G); the other way round it is 0. ERR_INPUT: not flows. It is the signed area between a
 * word's lattice path and its chord in their plane: half of (pairs a before b - pairs b before a), weighted. */
int bracket_area(const Table *t, int a, int b, mpq_t area);

/* ---- terms.c: sums of terms as texts --------------------------------------------------------------- */

/* Reads a number alone, as schemes write it: "-1/2", ".5". ERR_INPUT with its place: all else. */
int terms_number(const char *text, mpq_t out);

/* ---- structure.c, effective.c: conserved structure ---------------------------------------------- */

enum { TOLD_NO, TOLD_YES, TOLD_NOT /* the theory here does not tell */ };

enum { STRUCTURE_TERM = 96 };

typedef struct {
    /* S(-h) after S(h) is the identity. Flows: palindromic, adjacent ones of an operator joined. Runge-Kutta methods: the
     * method is its adjoint. Other one-step tables: no, or not told. Linear multistep: alpha_j = -alpha_(k-j), beta_j =
     * beta_(k-j). */
    int symmetric;
    int symmetric_order;    /* S(-h) S(h) = identity + O(h^(this+1)); -1: symmetric, or unknown */
    int symmetric_at_least; /* no tree or word up to `searched` disagrees: the order may be larger */
    int symmetric_separable; /* the same where F'F = G'G = 0: F kicks momenta, G drifts positions */
    int searched;
    char asymmetry
        [STRUCTURE_TERM]; /* of one-step stages: its first term beside y, "1/72 F'F'F'F'"; "": none is seen */
    /* Every step is symplectic where F and G are Hamiltonian; the second: separable ones. */
    int symplectic, symplectic_separable;
    int effective_order;    /* splittings by exact flows, up to `searched`; -1: unknown */
    int effective_at_least; /* it may be larger */
    /* Linear multistep: numerical - exact = error_constant[0] h^(p+1) y^(p+1) + ...; [1]: divided by
     * sigma(1) = sum beta, which global errors go by (Henrici 1962). */
    int has_constant;
    mpq_t error_constant[2];
} Structure;

/* Finds the structure of a frozen table. searched: 1 .. LIE_MAX; trees are looked at up to forest_most, brackets up to
 * bracket_most. Caller: structure_free. */
int structure_find(const Table *t, int searched, Structure *out);
void structure_free(Structure *s);

/* Tells whether the step is symplectic where F and G are Hamiltonian, or `separable` ones (*told: TOLD_*). Where a Runge-Kutta
 * method is not, pair and defect out: the first two evaluations i, j with b_i a_ij + b_j a_ji - b_i b_j = defect, not 0; else
 * pair is -1, -1. */
int structure_symplectic(const Table *t, int separable, int *told, int pair[2], mpq_t defect);

/* Butcher's simplifying assumptions of a Runge-Kutta method whose stages are all H, its stages joined where no order condition
 * tells them apart (assumptions.c has the formulas): the largest p, eta and zeta for which B(p), C(eta) and D(zeta) hold; -1:
 * another table. They are decided: B ends at twice the number of stages, and so does the search for C, which has no end for
 * Euler's method alone. The stage order is the lesser of B and C. */
typedef struct {
    int B, C, D;
    int algebraic; /* TOLD_*: algebraically stable, so B-stable */
    double least_weight,
        least_eigenvalue; /* of the b_i and of M, in double precision: both at least 0 where it is */
} Assumptions;
int assumptions_find(const Table *t, Assumptions *out);
/* Returns in *order the order on algebraic equations of index 1 of a method of order p = *order that solves for all its stages: p where the last
 * is the new state, else min(p, q + 1), q being the stage order, where -1 <= R(inf) < 1, and min(p - 1, q) where R(inf) is 1. Equations that
 * are linear in y and free of t are met at all stages, and the order is p. Without stages H alone, or with history, it stays p.
 * Source: Hairer, Wanner 1996, Theorem VI.1.1; of multistep methods VI.2. */
int assumptions_index_1(const Table *t, int *order);

/* Finds the largest p <= most <= bracket_most for which some conjugate exp(chi) S exp(-chi) of a splitting by
 * exact flows has order p (Butcher 1969). For Lie-Trotter it is 2. */
int structure_effective_order(const Table *t, int most, int *order);

/* ---- stability.c: the test equation y' = (lambda_F + lambda_G + lambda_C) y ----------------------- */

/* Checks the root condition of the state weights. zero_stable out: 1 where no root has a modulus above 1, to 1e-9, and
 * those on the unit circle are simple; on_circle out: how many different roots lie there, of a consistent scheme at
 * least the 1 (flows: 1 and 1). ERR_NUMERIC: the roots were not found. */
int stability_roots(const Table *t, int *zero_stable, int *on_circle);

/* Computes amplification factors of a frozen table (borrowed). ERR_INPUT: more than 255 factors. */
typedef struct Stability Stability;
int stability_new(const Table *t, Stability **out);
void stability_free(Stability *s);
DROP(Stability, stability)
/* Returns the largest |amplification factor| where h lambda of colour c is z[c][0] + i z[c][1]; z (t->colours, 2), in
 * the order OP_F, OP_G, OP_C. Where a stage has no solution (a pole of R), and where it overflows, it is inf. */
double stability_at(Stability *s, const double z[][2]);
/* Returns roughly the multiplications that stability_at takes. */
size_t stability_work(const Stability *s);

/* ---- limit.c ------------------------------------------------------------------------------------ */

/* Finds the ends of the stability interval from 0 on the negative real and the positive imaginary axis. *proved out (NULL: not asked):
 * coefficients are fractions, and the ends the nearest doubles, by exact arithmetic; else they have 10 digits at least. lambda has the same share in every colour, lambda_F = lambda_G = lambda / 2. real <= 0, may be -inf; imag >=
 * 0, may be inf. A scheme that fails the root condition has no interval: 0, 0. Tables with history of 10^5
 * multiplications a value have 6 digits. NaN, unknown: above 10^7, or more than 255 factors. */
int stability_limits(const Table *t, double *real, double *imag, int *proved);

/* ---- stiff.c: A-stability and stiff decay --------------------------------------------------------- */

/* R(z) is the factor of a step on y' = lambda y; with history |R| is the largest factor. Where every implicit stage
 * is of one colour (IMEX), lambda is 0 in the other colours; else it is the same in every colour, as in
 * stability_limits. */
typedef struct {
    /* TOLD_*: |R| <= 1 wherever Re z <= 0. It is decided exactly for one-step tables; with history it holds where the
     * search for alpha finds 90. TOLD_NOT: flows, exponential stages, explicit with history, too many stages. */
    int a_stable;
    const char *why;   /* of implicit stages: why the theory here does not tell; NULL: it does */
    int l_stable;      /* A-stable, and R(inf) = 0 */
    double r_infinity; /* lim |R| as z -> inf; inf where it has none; NaN: unknown */
    /* Degrees: |R| <= 1 wherever |arg(-z)| <= alpha, for implicit stages, exactly for one-step tables. NaN: unknown, or
     * not zero-stable. */
    double alpha;
    int colour; /* the implicit one; -1: R is that of all */
    int proved; /* coefficients are fractions, and nothing is searched: each digit of alpha is right */
    /* How far a coefficient of R = P / Q, Q(0) = 1, may be off at most where they are roundings: what is less is 0 here, and
     * what is decided holds of one of the numbers that they may be. 0: exact, or with history. */
    double within;
} Stiff;
int stability_stiff(const Table *t, Stiff *out);

/* The stability function itself, R(z) = (P_0 + P_1 z + ... ) / (1 + Q_1 z + ...), of a one-step table of stages, on y' = lambda y
 * with z = h lambda; for an IMEX scheme z is that of the implicit colour (`colour`), whose others are 0. */
typedef struct {
    int colour;
    int p,
        q; /* degrees of numerator and denominator; p -1: R is not told, and nothing below is there */
    /* (p + 1), (q + 1): without a common factor. Of a table in decimals a coefficient is the simplest fraction within its
     * rounding, where that has a denominator below 10,000, and a common factor may be left. */
    mpq_t *P, *Q;
    /* (p, 2), (q, 2): real and imaginary part of each zero and pole, a multiple one as often as it is; by multiplicity, then real
     * part, then size of the imaginary part, the upper of a pair first; in double precision. Multiplicities are exact, of a table
     * in decimals as far as their rounding tells. */
    double *zero, *pole;
} StabilityFunction;
/* Finds it for a frozen table. Flows, history, phi functions, too many implicit stages, fractions too long: p is -1, and the code 0.
 * ERR_NUMERIC: roots were not found. Caller: stability_function_free where the code is 0, and only there. */
int stability_function(const Table *t, StabilityFunction *out);
void stability_function_free(StabilityFunction *f);

/* Finds by how much a step at most enlarges an error that is made in one stage's point, as by rounding, where it is stable: the
 * largest |Q_j(z)| over all stages j but those at y itself, and over the part of |R(z)| <= 1 that 0 belongs to, to some five
 * digits (stability_function.c has Q). Of a frozen explicit one-step table of at most 32 stages, all H; NaN of another. */
int stability_internal(const Table *t, double *amplification);

/* What the estimate of an embedded pair does not see. On y' = lambda y it is E(z) y, z = h lambda; a step errs by
 * (R(z) - e^z) y. BLIND_LINEAR: E(z) = 0 for every z. BLIND_STIFF: E(inf) = 0 (below a millionth of R(inf)) and R(inf) is
 * not. For IMEX schemes z is that of the implicit colour. A pair that is not decided (exponential, too many stages) is
 * BLIND_NOT. */
enum { BLIND_NOT, BLIND_LINEAR, BLIND_STIFF };
typedef struct {
    int kind;
    double r_infinity; /* lim |R|; NaN: not asked */
} Blind;
int stability_blind(const Table *t, Blind *out);
/* Writes a sentence that says so, or "", into words (bytes); BLIND_WORDS hold each, and where there are fewer it is cut.
 * It returns a code, as stability_blind does. */
enum { BLIND_WORDS = 400 };
int blind_words(const Table *t, char *words, size_t bytes);

/* ---- dispersion.c: dispersion and dissipation -------------------------------------------------------- */

/* On y' = i omega y, with nu = omega h the sum of all colours in equal shares, zeta is the factor of a step that is
 * 1 at nu = 0: nu - arg zeta(i nu) = dispersion nu^(dispersion_order + 1) + ..., 1 - |zeta(i nu)| = dissipation
 * nu^(dissipation_order + 1) + ... For words, nu times the mean weight of the field takes the place of nu before
 * "- arg". Orders are inf where there is no error, and NaN where they are unknown. Source: van der Houwen, Sommeijer
 * 1987. */
typedef struct {
    double dispersion_order, dissipation_order;
    mpq_t dispersion, dissipation; /* 0 where the order is not finite */
} Phase;

/* Finds them for a frozen table. Caller: phase_free where the code is 0, and only there. */
int phase_find(const Table *t, Phase *out);
void phase_free(Phase *p);

/* ---- ssp.c --------------------------------------------------------------------------------------- */

/* Computes the coefficient of strong stability (SSP) of a frozen one-step table whose stages are all H, explicit or
 * implicit. It may be inf; for other tables it is NaN, and the code 0. *proved (NULL: not asked): it is the nearest double, by exact
 * arithmetic, or NaN. */
int stability_ssp(const Table *t, double *coefficient, int *proved);

/* ---- dense.c: between the ends of a step ------------------------------------------------------------------------- */

enum { DENSE_MOST = 8 }; /* highest order looked for */

/* y(t + theta h) = y + sum_e b_e(theta) k_e + O(h^(order + 1)), b_e(theta) = sum_d beta[e][d - 1] theta^d, d = 1 .. order,
 * with b_e(1) the weight of the step. The table is that of the text (table_whole). */
typedef struct {
    int order;   /* 0: none: no one-step scheme of stages, or not consistent */
    int bounded; /* the search ended at this order, below the scheme's own: it may be higher */
    int smooth;  /* the derivative is continuous from step to step */
    size_t evals;
    mpq_t *beta; /* (evals, order) */
    double *b;   /* the same as doubles */
} Dense;

/* Finds the highest order up to the scheme's, and its least solution, for a table as it was read. A table that has none
 * is no failure (order 0). Caller: dense_free where the code is 0; after an error *out is empty, and dense_free does
 * nothing. */
int dense_find(const Table *t, Dense *out); /* evaluations are those of table_unfiltered(t) */
void dense_free(Dense *d);
/* Returns whether a slope of a frozen table may have a weight: one of a field whose derivative a resolvent takes may not,
 * unless it has one in the step itself. */
int dense_weighs(const Table *t, size_t e);
/* Returns b_e(theta). */
double dense_value(const Dense *d, size_t e, double theta);

#endif
