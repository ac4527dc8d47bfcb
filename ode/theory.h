/* theory.h: what is known of a table without stepping it. Reading order:
 *
 *   tree.c       coloured rooted trees         series.c     B-series: compose, evaluate a table
 *   theory.c     exact order, error terms      bracket.c    splittings as Lie series
 *   structure.c  symmetry, symplecticity, effective order, error constants
 *   terms.c      sums of terms as texts
 *   stability.c  root condition, amplification limit.c      stability limits
 *   stiff.c      A-stability, stiff decay      phase.c      dispersion, dissipation
 *   ssp.c        strong stability
 *
 * Conventions: those of ode.h. Tables are frozen (learned names are numbers) unless a line says otherwise.
 */
#ifndef TROTTER_THEORY_H
#define TROTTER_THEORY_H

#include <stddef.h>

#include "ode/table.h"

/* ---- tree.c: coloured rooted trees --------------------------------------------------------------- */

enum { TREE_MAX = 8, TREE_MAX_3 = 6 }; /* highest order, in two colours, in three */

typedef struct {
    int colour; /* of the root */
    int order;  /* vertices */
    int children;
    int child[TREE_MAX];        /* tree indices, rising */
    unsigned long gamma, sigma; /* density, symmetry */
} Tree;

/* A way to split a tree into a subtree that holds its root and the trees cut off. */
typedef struct {
    int kept; /* tree, or -1: nothing kept, the whole tree is cut off */
    int cuts;
    int cut[TREE_MAX];
    long count; /* number of ways */
} Cut;

/* All trees of order 1 .. max, sorted by order; their numbers are 2, 4, 14, 52, 214, 916, in three colours
 * 3, 9, 45, 246, 1485, 9432. Of fields that depend on time each colour has a clock of its own, t' = 1, as the stepper has: a
 * leaf more, of colour COLOURS + c, which stands under vertices of colour c alone; by itself it is no term of a state. The
 * numbers are then 2, 6, 24, 104, 496, 2480, the clocks themselves not counted. */
typedef struct {
    int max, colours;
    int timed; /* with clocks */
    size_t count;
    Tree *tree;
    size_t first[TREE_MAX + 2]; /* first[p]: index of the first tree of order p */
    size_t *cuts;               /* (count) */
    Cut **cut;                  /* (count) lists */
} Forest;

int forest_most(int colours);                       /* highest order of 2 or 3 colours */
int forest_new(int max, int colours, Forest **out); /* max > forest_most: ERR_INPUT */
/* The same with clocks, where `timed`. */
int forest_timed_most(int colours, int timed);
int forest_timed(int max, int colours, int timed, Forest **out);
void forest_free(Forest *f);

/* A clock by itself. */
static inline int tree_is_clock(const Forest *f, size_t tree)
{
    return f->tree[tree].colour >= COLOURS;
}

/* Elementary differential of a tree, as in design section 4: F'G, F''(F,G), F'F''(F,G); F't is the derivative of F by time. */
int tree_name(const Forest *f, size_t tree, char *out, size_t bytes);

/* Whether the elementary differential is 0 because a field of `linear` (bits 1 << OP_F and so on) has two children or more
 * somewhere, a second derivative, or a clock; or because it is a clock by itself. */
int tree_vanishes(const Forest *f, size_t tree, int linear);

/* Whether every vertex is an F, or its clock: of all that have its shape, one. */
int tree_is_F(const Forest *f, size_t tree);

/* c (forest->count) in/out += the coefficients of a text, y in/out += that of y: "1 y; 1/2 G'F - .5 F'G" (terms.c). letters: of the
 * colours, "FG", "FGC" or, of one field whose trees are those of F, one of any name, "H". Children stand in any order. Not such a
 * text, or a term of an order above `most` <= forest->max: ERR_INPUT with its place. */
int forest_read(const Forest *f, const char *letters, int most, const char *text, mpq_t *c,
                mpq_t y);

/* ---- series.c: B-series ------------------------------------------------------------------------- */

/* Map: empty tree and every tree of a forest -> rational; the map y + sum h^|t| a(t)/sigma(t) F(t).
 * The exact flow of the sum of the colours has a(t) = 1/gamma(t). Hairer, Lubich, Wanner 2006, chapter III. */
typedef struct {
    const Forest *forest; /* borrowed */
    mpq_t empty;
    mpq_t *a; /* (forest->count) */
} Series;

int series_new(const Forest *f, Series **out); /* zero */
void series_free(Series *s);
/* Exact flow over time theta h of the sum of the colours times their weights; clocks go theta. */
void series_exact(Series *s, const mpq_t theta, mpq_t weight[COLOURS]);
/* c = "first a, then b": c(t) = b(0) a(t) + sum over cuts b(kept) prod a(cut); a(0) = 1. c != a, b. */
void series_compose(Series *c, const Series *a, const Series *b);
/* b = log(s): the field sum h^(|t|-1) b(t)/sigma(t) F(t) whose exact flow over h is the map s; s(0) = 1, b(0) = 0.
 * b != s. Source: Hairer, Lubich, Wanner 2006, section IX.9.1. */
int series_log(Series *b, const Series *s);
/* Series of the step of a frozen table, on exact history; flows by composition. */
int series_step(const Forest *f, const Table *t, Series **out);
/* slope (t->evals) out: that of every evaluation of a frozen table of stages; 0 at the empty tree. Caller frees each, after errors
 * too: those not reached stay as they are. */
int series_slopes(const Forest *f, const Table *t, Series **slope);

/* ---- theory.c: exact order ---------------------------------------------------------------------- */

typedef struct {
    int order; /* largest p with every tree up to p met; 0: not consistent */
    int order_autonomous; /* the same on fields that do not depend on time; another one only where nodes are written by @ */
    int searched;    /* trees were compared up to this order */
    int consistent;  /* order >= 1 */
    int expands;     /* 0: state weights of some row do not sum to 1: no expansion about y */
    double residual; /* inexact tables: largest |defect| taken for zero, and the bound used */
    double bound;
    /* sum (defect/sigma)^2 over the trees of order p+1, in the table's colours */
    double error_norm2;
    double error_norm2_one_colour; /* in one: of a field whose colours are not told apart;
                                      NaN unless every stage is H */
    int zero_stable;
    int weakly_stable; /* zero-stable with more than one root on the unit circle */
} Theory;

/* Exact order up to forest->max and the rest, of a frozen table; norms are NaN where the order reaches
 * forest->max or nothing expands. A forest without clocks gives the order on fields that do not depend on time. Of a table with
 * `linear` it is that on fields whose operators named there are linear: trees that vanish on them count as met here and in what
 * follows. A phi function of other derivatives leaves that by time out: system_takes refuses such a field of time. */
int theory_find(const Forest *f, const Table *t, Theory *out);

/* The same with forests as large as needed, of order `most` at most (or forest_most, where that is less);
 * freezes a copy of t itself. order = searched means "at least". */
int theory_search(const Table *t, int most, Theory *out);

/* The estimate of an embedded pair (Table.pair): error = y' - yhat. */
typedef struct {
    int order; /* of yhat, as Theory.order; -1 where t is no pair, and all else is not told */
    int estimate_order; /* largest q such that the estimate is O(h^(q+1)); `searched`: at least */
    int searched;       /* trees were looked at up to this order */
    /* sum (coefficient/sigma)^2 over the trees of order q+1: the estimate's own constant */
    double error_norm2;
} Embedded;

/* Trees up to order `most`. A step by tolerance makes the estimate that, so h ~ tol^(1/(q+1)). */
int theory_embedded(const Table *t, int most, Embedded *out);

/* defect (forest->count) initialised mpq out: (numerical - exact)(t) / sigma(t), the number before
 * h^|t| and the elementary differential; empty out: that of h^0 y. ERR_ACCURACY with words where a
 * row's state weights do not sum to 1. */
int theory_defect(const Forest *f, const Table *t, mpq_t *defect, mpq_t empty);

/* coefficient (forest->count) initialised mpq out: the modified equation of a one-step table, the number before
 * h^(|t|-1) and the elementary differential in the field whose exact flow the step is, to any power of h (backward error
 * analysis). History: ERR_INPUT. ERR_ACCURACY with words where the state weights of a row do not sum to 1. */
int theory_modified(const Forest *f, const Table *t, mpq_t *coefficient);

/* coefficient (forest->count) out: theory_defect as doubles for the trees of one order, 0 elsewhere and
 * where theory_is_zero. */
int theory_terms(const Forest *f, const Table *t, int order, double *coefficient);

/* The degree-0 term alone, told even where nothing expands about y: sum of the update's state weights,
 * less 1. */
void theory_state(const Table *t, mpq_t out);

/* Does a coefficient of the error count as zero? Exactly 0, or in an inexact table at most 1e-12. */
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

/* log(step)/h - (wF F + wG G), of a decoder's scheme less wC C too, of a table of flows up to brackets of
 * `degree` letters (h^(degree-1)); a symmetric scheme has no even degrees. Not flows, or a degree out of
 * 1 .. bracket_most: ERR_INPUT. */
int bracket_most(const Table *t);
int bracket_error(const Table *t, int degree, Brackets *out);
/* The Lie polynomial of a text in the same basis, "-1/2 [G,F] + 1/24 [G,[G,F]]" (terms.c): nested commutators of the table's colours,
 * of `degree` letters at most. Not such a text: ERR_INPUT with its place. */
int bracket_read(const Table *t, const char *text, int degree, Brackets *out);
/* Are two lists in this basis equal, but for what a table counts as zero? */
int bracket_equal(const Table *t, const Brackets *a, const Brackets *b);
void bracket_free(Brackets *b);

/* The coefficient of [a,b], a < b two colours in the order F, C, G: the signed area between a word's lattice path
 * and its chord in their plane, half of (pairs a before b - pairs b before a), weighted. */
int bracket_area(const Table *t, int a, int b, mpq_t area);

/* ---- terms.c: sums of terms as texts --------------------------------------------------------------- */

/* A number as schemes write it, alone: "-1/2", ".5"; ERR_INPUT with the place of what is none, as 1/0. */
int terms_number(const char *text, mpq_t out);

/* ---- structure.c, effective.c: what a table keeps ----------------------------------------------- */

enum { TOLD_NO, TOLD_YES, TOLD_NOT /* the theory here does not tell */ };

typedef struct {
    /* S(-h) after S(h) is the identity. Flows: palindromic, adjacent ones of an operator joined. One-step
     * tables: all trees of order 1 .. searched. Linear multistep: alpha_j = -alpha_(k-j), beta_j =
     * beta_(k-j). */
    int symmetric;
    int symmetric_order; /* S(-h) S(h) = identity + O(h^(this+1)); -1 where symmetric or not told */
    int symmetric_separable; /* the same where F'F = G'G = 0: F kicks momenta, G drifts positions */
    int searched;
    /* Is every step symplectic, F and G being Hamiltonian fields; and for separable Hamiltonians? */
    int symplectic, symplectic_separable;
    int effective_order; /* splittings by exact flows, up to `searched`; -1: not told */
    /* Linear multistep: numerical - exact = error_constant[0] h^(p+1) y^(p+1) + ...; [1]: divided by
     * sigma(1) = sum beta, which global errors go by (Henrici 1962). */
    int has_constant;
    mpq_t error_constant[2];
} Structure;

/* Of a frozen table; searched 1 .. TREE_MAX, a decoder's to forest_most. Caller: structure_free. */
int structure_find(const Table *t, int searched, Structure *out);
void structure_free(Structure *s);

/* The largest p <= most <= bracket_most for which some conjugate exp(chi) S exp(-chi) of a splitting by exact
 * flows has order p (Butcher 1969). Lie-Trotter: 2. */
int structure_effective_order(const Table *t, int most, int *order);

/* ---- stability.c: the test equation y' = (lambda_F + lambda_G + lambda_C) y ----------------------- */

/* Root condition of the update's state weights; roots on the unit circle counted. */
int stability_roots(const Table *t, int *zero_stable, int *on_circle);

/* Amplification of a frozen table (borrowed); more than 255 factors: ERR_INPUT. */
typedef struct Stability Stability;
int stability_new(const Table *t, Stability **out);
void stability_free(Stability *s);
/* Largest |amplification factor| at h lambda_colour = z[colour] (complex as re, im), one of each of the table's
 * colours. */
double stability_at(Stability *s, const double z[][2]);
/* Multiplications that stability_at takes, roughly. */
size_t stability_work(const Stability *s);

/* The same for one point. */
int stability_modulus(const Table *t, const double z[][2], double *modulus);

/* factor in: near an amplification factor at z; out: that factor, by Newton's iteration. */
void stability_follow(Stability *s, const double z[][2], double factor[2]);

/* ---- limit.c ------------------------------------------------------------------------------------ */

/* Ends of the stability interval from 0 on the negative real and the positive imaginary axis, with
 * lambda the same share of lambda in every colour, lambda_F = lambda_G = lambda / 2, to 10 digits at least. real <= 0, may be -inf; imag >= 0, may be
 * inf. A scheme that fails the root condition has no interval: 0, 0. Tables with history of 10^5
 * multiplications a value have 6 digits; NaN: above 10^7, or more than 255 factors, not told. */
int stability_limits(const Table *t, double *real, double *imag);

/* ---- stiff.c: A-stability and stiff decay --------------------------------------------------------- */

/* Of R(z), the factor of a step on y' = lambda y; with history |R| is the largest factor. Where every implicit stage is of one colour (IMEX) the
 * other colours' lambda is 0; else lambda is the same in every colour, as in stability_limits. */
typedef struct {
    /* TOLD_*: |R| <= 1 wherever Re z <= 0, decided exactly of one-step tables, with history where the search for alpha
     * finds 90; TOLD_NOT: explicit with history, very long numbers. */
    int a_stable;
    int l_stable;      /* A-stable, and R(inf) = 0 */
    double r_infinity; /* lim |R| as z -> inf; inf where it has none; NaN: not told */
    /* Degrees: |R| <= 1 wherever |arg(-z)| <= alpha; of implicit stages, NaN: not told, or not zero-stable */
    double alpha;
    int colour; /* the one that is implicit; -1: R is that of all */
} Stiff;
int stability_stiff(const Table *t, Stiff *out);

/* ---- phase.c: dispersion and dissipation -------------------------------------------------------- */

/* On y' = i omega y, nu = omega h the sum of all colours, each with the same share, zeta the factor of a step that is 1 at
 * nu = 0: nu - arg zeta(i nu) = dispersion nu^(dispersion_order + 1) + ..., 1 - |zeta(i nu)| = dissipation
 * nu^(dissipation_order + 1) + ... Of words nu times the mean weight of the field is in the place of nu before "- arg". Orders
 * are inf where there is no error and NaN where that is not told. Source: van der Houwen, Sommeijer 1987. */
typedef struct {
    double dispersion_order, dissipation_order;
    mpq_t dispersion, dissipation; /* 0 where the order is not finite */
} Phase;

/* Of a frozen table. Caller: phase_free. */
int phase_find(const Table *t, Phase *out);
void phase_free(Phase *p);

/* dispersion, dissipation (count) out: the two errors at nu (count), which rises from near 0 by steps in which the factor
 * can be followed; below about 1e-14 they are rounding. More than 255 factors: ERR_INPUT. */
int phase_errors(const Table *t, const double *nu, size_t count, double *dispersion,
                 double *dissipation);

/* ---- ssp.c --------------------------------------------------------------------------------------- */

/* The coefficient of strong stability (SSP) of a frozen one-step table whose stages are all H, explicit or implicit, may be
 * inf; NaN of others. */
int stability_ssp(const Table *t, double *coefficient);

#endif
