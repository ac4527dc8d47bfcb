/* repair_inside.h: what repair.c, repair_model.c and repair_modular.c share: a text as a scheme whose coefficients are unknown, its order
 * conditions as functions of them, and their solution modulo a prime. */
#ifndef TROTTER_REPAIR_INSIDE_H
#define TROTTER_REPAIR_INSIDE_H

#include "ode/scheme/scheme.h"
#include "ode/theory/theory.h"

/* Unknowns at most; degree of a condition in one of them at most. */
enum { U = REPAIR_UNKNOWNS, DEGREE_MOST = 2 * TREE_MAX_1 };

/* ---- numbers: modulo a prime p, or long double where p is 0 --------------------------------------------- */

typedef union {
    uint64_t m;
    long double r;
} RepairNumber;

/* Returns 1/a modulo p. */
uint64_t number_invert(uint64_t p, uint64_t a);

static inline RepairNumber number_add(uint64_t p, RepairNumber a, RepairNumber b)
{
    uint64_t sum = a.m + b.m;
    return p ? (RepairNumber){.m = sum < p ? sum : sum - p} : (RepairNumber){.r = a.r + b.r};
}

static inline RepairNumber number_subtract(uint64_t p, RepairNumber a, RepairNumber b)
{
    uint64_t rest = a.m < b.m ? a.m + p - b.m : a.m - b.m;
    return p ? (RepairNumber){.m = rest} : (RepairNumber){.r = a.r - b.r};
}

static inline RepairNumber number_multiply(uint64_t p, RepairNumber a, RepairNumber b)
{
    return p ? (RepairNumber){.m = a.m * b.m % p} : (RepairNumber){.r = a.r * b.r};
}

static inline RepairNumber number_whole(uint64_t p, uint64_t n)
{
    return p ? (RepairNumber){.m = n % p} : (RepairNumber){.r = (long double)n};
}

long double repair_long_double(mpq_srcptr q);
RepairNumber repair_rational(uint64_t p, mpq_srcptr q);

/* ---- repair_model.c: a scheme as numbers ------------------------------------------------------------------ */

/* A row: that of a point, then the update, then the error. The source of y[-past] is the number of sources. */
typedef struct {
    size_t row, source;
    int past;
} RepairEntry;

/* d entry / d coefficient */
typedef struct {
    size_t coefficient, entry;
    mpq_t d;
    RepairNumber n;
} RepairSlope;

typedef struct {
    const Coefficients *c; /* borrowed */
    Forest *f;
    int order, hat; /* conditions of the method, of the embedded one (0: none) */
    int one;        /* all stages are H, and trees have one colour */
    int explicit;
    int colours; /* of trees, where not all stages are H */
    /* Of a splitting: 2, F and G, of a decoder's 3. Its entries are its flows, and words take the place of trees. 0: stages. */
    size_t letters;
    size_t points, sources;
    int ages; /* slopes of 0 .. ages - 1 steps ago are read; 0: no slope or state of the past is, and rows have no entry for y */
    int *stage;     /* (sources): the stage it belongs to */
    int *colour;    /* (sources, or flows); -1: H */
    size_t *row_of; /* (sources): the row of its point */
    /* A stage of a Rosenbrock method or a phi function has J + 1 or PHI_SOLVE here, the colours of its derivative, and its
     * factor c, an entry. */
    int *phi, *ops;
    size_t *factor;
    int functions; /* there are such stages */
    int special;   /* Table.special: trees that vanish on such fields are met */
    int w;         /* colour of the matrix W, whose field is 0; -1: there is none */
    /* Entries of rows; behind them come nodes, then factors of functions, whose source is not used. */
    size_t entries;
    size_t nodes, all;
    RepairEntry *entry; /* (all) */
    size_t *first;      /* (points + 3): the first entry of each row */
    mpq_t *at;          /* (all): as written */
    size_t slopes;
    RepairSlope *slope;
    uint64_t prime;             /* for which the following hold; 1: none yet */
    RepairNumber *base, *value; /* (all): as written, and as they are tried */
    RepairNumber *gamma;        /* (trees): 1/gamma; of words 1/n! */
    RepairNumber *x0;           /* (c->count): the coefficients as written */
    RepairNumber *u;            /* (ages, sources), or (words); ages at least 1 */
    RepairNumber *psi;          /* (trees, ages, sources) */
    size_t most;                /* conditions */
    RepairNumber *tolerance;    /* (most), of decimals */
    double unit;                /* their last digit */
    char *outside; /* (c->count): the scheme is not affine in it, or it would make it implicit */
} RepairModel;

/* The text and what it is read into, while its structure is found. */
typedef struct {
    const char *file, *text;
    size_t bytes;
    const char **value; /* (count) */
    char (*word)[MISPRINT_WORD];
} RepairSource;

/* Reads the one scheme of a text in which `value` stands for coefficients. */
int repair_read(const char *file, const Coefficients *c, const char *text, size_t bytes,
                const char *const *value, Table **out);
/* Refuses, by name, what is not repaired. */
int repair_check_kind(const Table *whole_table);
/* Finds where each coefficient stands in the scheme. */
int repair_model_open(RepairModel *m, RepairSource *s, const Table *written);
void repair_model_free(RepairModel *m);
/* Makes room for the conditions to an order. */
int repair_set_order(RepairModel *m, int order, int hat);
/* Takes the scheme modulo a prime, or in long double. */
void repair_set_prime(RepairModel *m, uint64_t p);
/* Returns the number of trees, or words, to the lesser of two orders; the order of a tree, or the length of a word; the
 * number of conditions to order q. */
size_t repair_trees(const RepairModel *m, int order, int q);
int repair_length(const RepairModel *m, size_t tree);
size_t repair_conditions(const RepairModel *m, int q);
/* Sets coefficients unknown[0 .. n) to x, all others as written. */
void repair_set_values(RepairModel *m, size_t n, const size_t *unknown, const RepairNumber *x);
/* Computes the conditions to order q of the scheme in m->value; sizes: the sums of absolute values in their place. */
void repair_evaluate(RepairModel *m, int q, int sizes, RepairNumber *r);
/* Returns at how many values of a coefficient the conditions to order q tell their polynomials. */
int repair_points(const RepairModel *m, int q);

/* ---- repair_modular.c: exact solutions ------------------------------------------------------------------- */

enum { REPAIR_NONE, REPAIR_FOUND, REPAIR_OPEN };

/* x = at + along s, where s is a root of s^2 + g[1] s + g[0] if degree is 2; of degree 1 x is `at`. */
typedef struct {
    size_t n, free;
    int degree;
    uint64_t at[U], along[U][U], g[2]; /* along: unknown, free */
} RepairFamily;

/* Finds the values of n coefficients that meet all conditions to order q, modulo the prime; r: scratch. Returns REPAIR_NONE, _FOUND,
 * _OPEN: conditions leave them open. */
int repair_solve(RepairModel *m, int q, size_t n, const size_t *unknown, RepairNumber *r,
                 RepairFamily *y);
enum { REPAIR_NUMBERS = 2 * U + 2 };
/* Finds a family's numbers, `at`, and of degree 2 `along` and g, as fractions q (REPAIR_NUMBERS). */
int repair_lift(RepairModel *m, int order, size_t n, const size_t *unknown, RepairNumber *r,
                RepairFamily *first, mpq_t *q);

#endif
