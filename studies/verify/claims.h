/* claims.h: what the source papers say, one record a claim, and what is found of it.
 *
 * The registry is the const table of claims.c: adding a claim is adding a row. A row names a check
 * and the texts it works on; a mutant is the same row with one text altered, whose verdict must not
 * be the registered one. A check says two things, exactly where it can and by numbers always: does
 * the claim hold as it stands, and does it hold under its condition. Its numbers carry a negative
 * control, a spoilt prediction that must be refused; where the exact and the numerical answer differ,
 * or the control passes, the finding is not sound and the verdict is "undecided".
 *
 * Order p means local error h^(p+1); the Macaron paper counts local orders. Error = numerical -
 * exact, [F,G] = G'F - F'G.
 */
#ifndef TROTTER_CLAIMS_H
#define TROTTER_CLAIMS_H

#include <gmp.h>
#include <stddef.h>
#include <stdio.h>

#include "ode/ode.h"

enum { CLAIM_VERIFIED, CLAIM_REFUTED, CLAIM_CONDITIONAL, CLAIM_UNDECIDED };
/* Whose claim it is: a paper says it; it is inferred from one, which does not say it; a released program has it; this
 * project says it; the user does, by --own, so that it is in no registry. */
enum { CLAIM_PAPER, CLAIM_INFERENCE, CLAIM_CODE, CLAIM_OWN, CLAIM_YOURS, CLAIM_ORIGINS };
enum { CLAIM_ARGS = 7, CLAIM_NUMBER = 48 };

/* One coefficient of a derivation, for the reports: in `map`, before `term`. */
typedef struct {
    char map[160], term[48], coefficient[CLAIM_NUMBER];
} Derived;

typedef struct {
    int holds;       /* as it stands */
    int conditional; /* under the claim's condition */
    int sound;       /* exact and numerical answers agree, controls were refused */
    FILE *words;     /* evidence, one paragraph */
    char *text;
    size_t bytes;
    size_t count;
    Derived *derived;
} Finding;

typedef int ClaimCheck(const Zoo *z, const char *const *arg, Finding *f);

typedef struct {
    const char *id;
    int origin; /* CLAIM_PAPER .. CLAIM_YOURS */
    const char *source, *statement;
    int expected;          /* CLAIM_* */
    const char *condition; /* after "holds only if"; NULL */
    ClaimCheck *check;
    const char *arg[CLAIM_ARGS];
    struct {
        int arg;          /* the text altered, */
        const char *text; /* its new form, */
        const char *what; /* in words */
    } mutant;
} Claim;

/* ---- claims.c: the registry ------------------------------------------------------------------- */

const Claim *claim_at(size_t i);      /* NULL past the end */
const char *claim_origin(int origin); /* "paper", "inference", "code", "own", "yours" */

/* ---- claims_own.c ----------------------------------------------------------------------------- */

/* A claim of the user's in a line, as claims_own.c has it; ERR_INPUT. It points into *out, which stays where it is. */
typedef struct {
    Claim claim;
    char id[24], text[1024];
    char words[1024], terms[1024], statement[1200]; /* of the text, for the claim to point to */
} OwnClaim;
int claim_own(const char *text, size_t number, OwnClaim *out);

/* ---- claims_run.c ----------------------------------------------------------------------------- */

/* Runs a claim, or its mutant; *out holds nothing after an error. Caller: finding_free. */
int claim_run(const Claim *c, const Zoo *z, int mutant, Finding *out);
int finding_verdict(const Finding *f); /* CLAIM_* */
void finding_free(Finding *f);

/* "verified", "refuted", "holds only if CONDITION", "undecided"; out (bytes). */
void claim_verdict(const Claim *c, int verdict, char *out, size_t bytes);

/* A coefficient in words: a fraction, or a decimal where that is too long, as those of irrational tables are. */
void claim_number(const mpq_t c, char out[CLAIM_NUMBER]);

/* For checks: words of evidence, and a coefficient of a derivation. */
void finding_say(Finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
int finding_derive(Finding *f, const char *map, const char *term, const mpq_t c);
int finding_derive_text(Finding *f, const char *map, const char *term, const char *coefficient);

/* ---- claims_report.c -------------------------------------------------------------------------- */

/* All claims run, in one order; evidence and derivations too. */
int claims_markdown(const Claim *const *c, const Finding *f, size_t count, FILE *out);
int claims_latex(const Claim *const *c, const Finding *f, size_t count, FILE *out);

/* ---- claims_sine.c: a field whose derivatives are known ---------------------------------------- */

enum { SINE_D = 4, SINE_UNITS = 5, SINE_SETS = 2 };

/* f_s(y) = A_s sin(B_s y + b_s) for each colour and each set s: a network of one layer, so
 * f^(m)(y)(v1, .., vm) = A (sin(B y + b + m pi/2) * B v1 * .. * B vm), and every elementary
 * differential is a recursion over its tree. */
typedef struct {
    System system;                     /* first: its functions find the rest behind it */
    int sets;                          /* 0: all sets are the first */
    double weight[COLOURS][SINE_SETS]; /* with `mixed` the operator is sum_s weight f_s */
    int mixed;
    double A[COLOURS][SINE_SETS][SINE_D][SINE_UNITS];
    double B[COLOURS][SINE_SETS][SINE_UNITS][SINE_D];
    double b[COLOURS][SINE_SETS][SINE_UNITS];
    double y[SINE_D]; /* initial */
} Sine;

/* one_field: G = C = 0, so that F alone stands for the field. */
void sine_new(Sine *s, uint64_t seed, int one_field);

/* out (D) = f^(m)(y)(v1, .., vm) of a set (from 1), v (m, D). */
void sine_derivative(const Sine *s, int op, int set, const double *y, int m,
                     const double (*v)[SINE_D], double *out);

/* out (D) = F(t)(y) of a tree, set 1. */
void sine_differential(const Sine *s, const Forest *f, size_t tree, const double *y, double *out);

/* y (D) over time t of w[OP_F] F + w[OP_G] G + w[OP_C] C, set 1; t of either sign. */
int sine_flow(const Sine *s, const double w[COLOURS], double t, double *y);

/* y (D) one step of a frozen table; history from the flow. */
int sine_step(const Sine *s, const Table *t, double h, double *y);

/* Order of e[j] at h = 2^-j, j = 0 .. n-1: the last two ratios above rounding, extrapolated; inf where
 * all is rounding, NaN where e is not finite. */
double sine_slope(const double *e, int n);

double sine_norm(const double *x);                        /* RMS of x (D) */
void sine_subtract(double *e, double c, const double *v); /* e (D) -= c v */

/* ---- claims_map.c: maps h -> map(y) ------------------------------------------------------------- */

enum { MAP_PARTS = 3 };

/* Tables and exact flows one after another: "exact", "exact:1/2" (time h/2), a scheme's name, a
 * scheme's statements, or several of them with " then " between. */
typedef struct {
    int open; /* 0: nothing to free */
    size_t parts;
    struct {
        Table *table; /* frozen; NULL: the exact flow */
        mpq_t theta;
    } part[MAP_PARTS];
    int colours;           /* the most of any table */
    mpq_t weight[COLOURS]; /* in the exact flow; 0 of a colour that no table has */
} Map;

int map_read(const Zoo *z, const char *spec, Map *out);
void map_free(Map *m);
int map_series(const Map *m, const Forest *f, Series **out);
int map_apply(const Map *m, const Sine *s, double h, double *y);
/* e (D) = map(y) - exact(y) after one step from the sine field's initial state. */
int map_error(const Map *m, const Sine *s, double h, double *e);

/* A frozen table of a name or of statements. */
int map_table(const Zoo *z, const char *spec, Table **out);

/* The statements with (value) in place of every K; caller: memory_free. NULL: out of memory. */
char *claim_value(const char *statements, const char *value);

/* ---- checks: what they take ---------------------------------------------------------------------- */

/* claims_series.c */
ClaimCheck check_expansion; /* maps, minus map or NULL, terms, degree, field; maps, minus if */
ClaimCheck check_order;     /* maps, order, field; maps if, field if */
ClaimCheck check_same;      /* map, map */

/* claims_family.c */
ClaimCheck check_family; /* statements with K, order, values, values if or NULL, field */

/* claims_error.c */
ClaimCheck check_norms;  /* scheme, norm^2, scheme, norm^2: the first is smaller, on every field */
ClaimCheck check_times;  /* scheme, nodes of F and G */
ClaimCheck check_global; /* scheme, system, order of the global error; scheme if, system if */

/* claims_diffusion.c */
ClaimCheck check_diffusion; /* interaction as a system file has it; interaction if */

/* claims_euler.c */
ClaimCheck check_euler; /* c of c sum a^2 before F'F, most sub-steps, words */

/* claims_figures.c */
ClaimCheck
    check_published; /* table, scheme, layers, scheme, layers: the first figure is the lower */
ClaimCheck
    check_draw; /* words drawn at random: how many are better than the interleaved, the best */
ClaimCheck check_luck;   /* the same words: best or worst, which seeds alone do not explain */
ClaimCheck check_memory; /* scheme, evaluations: of a residual net of that many times its depth */
ClaimCheck check_perplexity; /* scheme; loss or flow: what is to fall with the steps */

/* claims_word.c */
ClaimCheck check_brackets;         /* scheme, degree, brackets */
ClaimCheck check_symmetry;         /* scheme, degree */
ClaimCheck check_sandwich;         /* c of (n + k (2n - k - c)) / 2, largest n */
ClaimCheck check_extreme;          /* n, n - k */
ClaimCheck check_decoder_word;     /* a decoder's sandwich as printed, its n, its k */
ClaimCheck check_decoder_sandwich; /* c of (n + k (2n - k - c)) / 2, largest n */
ClaimCheck check_palindromes;      /* mirror or repeat, longest half */
ClaimCheck check_converse;         /* longest word */

/* claims_sets.c */
ClaimCheck check_sets;      /* scheme, h^2 terms with two feed-forward sets */
ClaimCheck check_set_order; /* schemes, order */

/* claims_method.c */
ClaimCheck check_stability; /* statements with K, stable values, unstable values */
ClaimCheck check_limits;    /* scheme, real limit, imaginary limit, roots on the circle */
ClaimCheck check_dense;     /* layer: a weight a layer; pair: one a pair of layers */

/* claims_neumann.c */
ClaimCheck check_backward; /* statements, polynomial, terms shared with 1/(1-z) */

/* claims_network.c */
ClaimCheck check_layer;     /* scheme, the paper's equations by name */
ClaimCheck check_released;  /* scheme, factor of the state, equations, scheme over y + L(y) */
ClaimCheck check_gate_bias; /* bias, order */

/* claims_gradient.c */
ClaimCheck check_gradient; /* scheme, formula, layers, formula if */
ClaimCheck check_vanish;   /* scheme, factor a block, statements whose gradient does vanish */

#endif
