/* claims.h: the claims of the source papers, one record each, and the findings on them.
 *
 * The registry is the const table of claims.c: adding a claim is adding a row. A row names a check and the texts
 * it works on. A mutant is the same row with one text altered; its verdict must differ from the registered one. A
 * check answers two questions, exactly where it can and always by numbers: does the claim hold as it stands, and
 * does it hold under its condition? The numbers include a negative control, a spoilt prediction that must be
 * refused. Where the exact and the numerical answer differ, or the control passes, the finding is not sound and
 * the verdict is "undecided".
 *
 * Order p means local error h^(p+1); the Macaron paper counts local orders. Error = numerical -
 * exact, [F,G] = G'F - F'G.
 */
#ifndef TROTTER_CLAIMS_H
#define TROTTER_CLAIMS_H

#include <stddef.h>
#include <stdio.h>

#include "bridge/bridge.h"
#include "ode/scheme/rationals.h"
#include "studies/theory/derivation.h"

enum { CLAIM_VERIFIED, CLAIM_REFUTED, CLAIM_CONDITIONAL, CLAIM_UNDECIDED };
/* Origin of a claim: a paper says it in words or formulas; a reader would conclude it from what a paper says; released
 * code does it; this project derives it or asks it, and no paper says or suggests it; the user gives it by --own, so
 * that it is in no registry. */
enum { CLAIM_PAPER, CLAIM_INFERENCE, CLAIM_CODE, CLAIM_OWN, CLAIM_YOURS, CLAIM_ORIGINS };
enum { CLAIM_ARGS = 7, CLAIM_NUMBER = 48 };

/* One coefficient of a derivation, for the reports: the factor of `term` in `map`. */
typedef struct {
    char map[160], term[48], coefficient[CLAIM_NUMBER];
} Derived;

typedef struct {
    int holds;       /* the claim holds as it stands */
    int conditional; /* it holds under its condition */
    int sound;       /* exact and numerical answers agree, and controls were refused */
    FILE *words;     /* evidence, one paragraph */
    char *text;
    size_t bytes;
    size_t count;
    Derived *derived;
    int stepwise;     /* 1: `steps` is wanted */
    Derivation steps; /* of series and brackets, line by line */
} Finding;

typedef int ClaimCheck(const Zoo *z, const char *const *arg, Finding *f);

typedef struct {
    const char *id;
    int origin; /* CLAIM_PAPER .. CLAIM_YOURS */
    const char *source, *statement;
    int expected;          /* CLAIM_* */
    const char *condition; /* text after "holds only if"; NULL: none */
    ClaimCheck *check;
    const char *arg[CLAIM_ARGS];
    struct {
        int arg;          /* number of the altered text */
        const char *text; /* its new form */
        const char *what; /* the change in words */
    } mutant;
} Claim;

/* ---- claims.c: the registry ------------------------------------------------------------------- */

const Claim *claim_at(size_t i);      /* NULL past the end */
const char *claim_origin(int origin); /* "paper", "inference", "code", "own", "yours" */

/* ---- claims_own.c ----------------------------------------------------------------------------- */

/* Reads a claim of the user's from a line (syntax: claims_own.c) to *out; ERR_INPUT. The claim points into
 * *out, which must not move. */
typedef struct {
    Claim claim;
    char id[24], text[1024];
    char words[1024], terms[1024], statement[1200]; /* parts of the text that the claim points to */
} OwnClaim;
int claim_own(const char *text, size_t number, OwnClaim *out);

/* ---- claims_run.c ----------------------------------------------------------------------------- */

/* Runs a claim, or its mutant. steps: derives its series line by line too. *out is empty after an error. Caller: finding_free. */
int claim_run(const Claim *c, const Zoo *z, int mutant, int steps, Finding *out);
/* Copies what a claim's check, or its mutant's, takes. */
void claim_arguments(const Claim *c, int mutant, const char *arg[CLAIM_ARGS]);
int finding_verdict(const Finding *f); /* CLAIM_* */
void finding_free(Finding *f);

/* Writes "verified", "refuted", "holds only if CONDITION" or "undecided" to out (bytes). */
void claim_verdict(const Claim *c, int verdict, char *out, size_t bytes);

/* Writes a coefficient as a fraction, or as a decimal where the fraction is too long, as with irrational tables. */
void claim_number(const mpq_t c, char out[CLAIM_NUMBER]);

/* These are for checks. The first adds words of evidence, the others a coefficient of a derivation. */
void finding_say(Finding *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
int finding_derive(Finding *f, const char *map, const char *term, const mpq_t c);
int finding_derive_text(Finding *f, const char *map, const char *term, const char *coefficient);

/* ---- claims_report.c -------------------------------------------------------------------------- */

/* Writes all claims in the given order, with evidence and derivations. */
int claims_latex(const Claim *const *c, const Finding *f, size_t count, FILE *out);

/* ---- claims_sine.c: a field whose derivatives are known ---------------------------------------- */

enum { SINE_D = 4, SINE_UNITS = 5 };

/* f(y) = A sin(B y + b) for each colour. This is a network of one layer, so
 * f^(m)(y)(v1, .., vm) = A (sin(B y + b + m pi/2) * B v1 * .. * B vm), and every elementary differential is a
 * recursion over its tree. */
typedef struct {
    System system;          /* its context is the Sine in a flow or step */
    double weight[COLOURS]; /* factors of the operators in the system: 1, but in a flow */
    double A[COLOURS][SINE_D][SINE_UNITS];
    double B[COLOURS][SINE_UNITS][SINE_D];
    double b[COLOURS][SINE_UNITS];
    double y[SINE_D]; /* initial */
} Sine;

/* Fills a field from the seed. one_field: G = C = 0, so that F alone stands for the field. */
void sine_new(Sine *s, uint64_t seed, int one_field);
/* Makes the field's operators Hamiltonian, y being positions and then momenta. Where `separable` F kicks these by those, and
 * G drifts those by these. */
void sine_hamiltonian(Sine *s, int separable);
/* Makes the field one that tables with this Table.special take: operators are linear, A (B y + b), or separable. */
void sine_take(Sine *s, int special);

/* out (D) = F(t)(y) of a tree. */
void sine_differential(const Sine *s, const Forest *f, size_t tree, const double *y, double *out);

/* Moves y (D) by the flow of w[OP_F] F + w[OP_G] G + w[OP_C] C over time t of either sign. */
int sine_flow(const Sine *s, const double w[COLOURS], double t, double *y);

/* Moves y (D) by one step of a frozen table. The history comes from the flow. */
int sine_step(const Sine *s, const Table *t, double h, double *y);

/* Returns the order of e[j] at h = 2^-j, j = 0 .. n-1: the last two ratios above rounding, extrapolated. It is inf
 * where all is rounding and NaN where e is not finite.
 * off: what the extrapolation adds, which is about how far it is known; 1/2 where there is one ratio. */
double sine_slope(const double *e, int n, double *off);
/* Tells whether a measured slope, known to `off`, contradicts what trees prove: that it is at least, or less than, `least`. The
 * proof stands by itself; few errors above rounding, as a high order has, do not refute it. */
int slope_contradicts(double slope, double off, double least, int at_least);

double sine_norm(const double *x);                        /* RMS of x (D) */
void sine_subtract(double *e, double c, const double *v); /* e (D) -= c v */

/* ---- claims_map.c: maps h -> map(y) ------------------------------------------------------------- */

enum { MAP_PARTS = 3 };

/* A map joins tables and exact flows: "exact", "exact:1/2" (time h/2), a scheme's name, a scheme's statements,
 * "apart:NAME" (the second set of F or of G is C), or several of them with " then " between. */
typedef struct {
    int open; /* 0: nothing to free */
    size_t parts;
    struct {
        Table *table; /* frozen; NULL: the exact flow */
        mpq_t theta;
    } part[MAP_PARTS];
    int colours;           /* the largest number of any table */
    mpq_t weight[COLOURS]; /* weights in the exact flow; 0 for a colour that no table has */
} Map;

int map_read(const Zoo *z, const char *spec, Map *out);
void map_free(Map *m);
int map_series(const Map *m, const Forest *f, Series **out);
int map_apply(const Map *m, const Sine *s, double h, double *y);
/* e (D) = map(y) - exact(y) after one step from the sine field's initial state. */
int map_error(const Map *m, const Sine *s, double h, double *e);

/* Returns the frozen table of a name or of statements. */
int map_table(const Zoo *z, const char *spec, Table **out);

/* ---- checks and their arguments ------------------------------------------------------------------ */

/* claims_series.c */
ClaimCheck check_expansion; /* maps, minus map or NULL, terms, degree, field; maps, minus if */
ClaimCheck check_order;     /* maps, order, field; maps if, field if */
ClaimCheck check_same;      /* map, map */

/* claims_family.c */
ClaimCheck check_family; /* statements with K, order, values, values if or NULL, field */

/* claims_property.c; each: scheme, and an order where it is one */
ClaimCheck check_symplectic, check_symmetric, check_A_stable, check_L_stable, check_zero_stable,
    check_algebraic, check_stage_order;

/* claims_error.c */
ClaimCheck check_norms;  /* scheme, norm^2, scheme, norm^2: the first is smaller, on every field */
ClaimCheck check_global; /* scheme, system, order of the global error; scheme if, system if */

/* claims_diffusion.c */
ClaimCheck check_diffusion; /* interaction as in a system file; interaction if */

/* claims_euler.c */
ClaimCheck check_euler; /* c of the factor c sum a^2 of F'F, maps */

/* claims_word.c */
ClaimCheck check_brackets;     /* scheme, degree, brackets */
ClaimCheck check_sandwich;     /* c of (n + k (2n - k - c)) / 2, largest n; "decoder" or NULL */
ClaimCheck check_decoder_word; /* a decoder's sandwich as printed, its n, its k */

/* claims_backward.c */
ClaimCheck check_backward; /* statements, polynomial, terms shared with 1/(1-z) */

/* claims_network.c */
ClaimCheck check_layer;      /* scheme, the paper's equations by name */
ClaimCheck check_released;   /* scheme, factor of the state, equations, scheme over y + L(y) */
ClaimCheck check_perplexity; /* scheme; loss or flow: the one that should fall with the steps */

/* claims_gradient.c */
ClaimCheck check_gradient; /* scheme, formula, layers, formula if */
ClaimCheck check_vanish;   /* scheme, factor a block, statements whose gradient does vanish */

/* ---- claims_expansion.c -------------------------------------------------------------------- */

/* Map - minus as a series in h, for the checks of claims.
 *
 * Two answers are compared. The exact one is the two maps' series in rationals, tree by tree. The numerical one runs
 * both maps on the sine field, whose predicted terms are known vectors. The remainder after subtracting them must fall
 * with the next power of h, and must not when one coefficient is spoilt. */

static const double claim_near = 0.25; /* slopes are compared with whole numbers */

/* Returns a slope as it is printed, without "-0.00". */
static inline double claim_slope(double slope)
{
    return slope > -0.005 && slope < 0 ? 0 : slope;
}

typedef struct {
    int open; /* 0: nothing to close */
    Map map, minus;
    int has_minus;
    int one_field;       /* 1: G = 0, so only trees of F count */
    const char *letters; /* letters: "FG", "FGC"; "F" or "H" for one field; borrowed */
    int degree;
    int special;        /* bits of Table.special that a table of the maps has: such is the field */
    Forest *forest;     /* trees of one degree more */
    mpq_t *want, *have; /* (forest->count) factors of h^|t| F(t): as stated, as they are */
    mpq_t want_y, have_y; /* factors of h^0 y */
    int expands;          /* 0: no expansion about y */
    int coarsest; /* -log2 of the longest step measured; a word of 3F + 3G takes shorter steps */
    Sine sine;
} Expansion;

/* Opens map - minus. minus NULL: 0. field: "F" for one field, "H" for one field of maps whose stages are all H, else
 * "F+G"; borrowed. Caller: expansion_close. */
int expansion_open(const Zoo *z, const char *map, const char *minus, int degree, const char *field,
                   Expansion *x);
void expansion_close(Expansion *x);

/* Adds terms such as "1/2 G'F; -1/2 F'G + 1 y", of orders up to the degree, to want. ERR_INPUT. */
int expansion_terms(Expansion *x, const char *terms);
int expansion_counts(const Expansion *x, size_t tree); /* 1: the tree is one of the field */
int expansion_is_zero(const mpq_t q);                  /* or only rounding, for irrational tables */

/* expansion_met: are the trees of this order as in want (NULL: zero)? expansion_as_wanted:
 * are all through the degree? */
int expansion_met(const Expansion *x, int order, mpq_t *want);
int expansion_as_wanted(const Expansion *x);

/* Adds all non-zero terms through the degree, or else those of the first order after it, to the derivation; where steps
 * are wanted, line by line too: the parts of both maps, what they make together, what cancels. */
int expansion_derive(const Expansion *x, const char *map, Finding *f);
/* Writes have - want in words: the lowest order that has any, at most eight terms. */
void expansion_say(const Expansion *x, Finding *f);

/* Measures the slope in h of the remainder after want, what it is known to, and the slope of a control with one coefficient of
 * h^degree spoilt. */
int expansion_measure(const Expansion *x, int degree, double *slope, double *off, double *control);

/* ---- claims_network.c: small networks in double precision, for the checks of claims -------------- */

enum { NET_WIDTH = 8, NET_TOKENS = 4, NET_N = NET_WIDTH * NET_TOKENS, NET_VOCAB = 9 };

typedef struct {
    const Backend *f64;
    Model *model;
    System *system; /* its sublayers, layer 0 until bridge_layer */
} Net;

/* Opens a model of a plan, which it takes over. The model has no positions, so r0 = sqrt(D)
 * E[tokens]; its output layer is untied. */
int net_open(Plan *plan, Net *n);
/* Opens a network of `layers` layers of a scheme, with its system. */
int net_scheme(const Table *t, size_t layers, Net *n);
void net_close(Net *n);

/* net_perturb adds a different random number to each parameter; net_shrink scales the
 * sublayers' last matrices. */
int net_perturb(Net *n);
int net_shrink(Net *n, double factor);

/* A text of the words 0, 1, .., whose targets are step i + 1, modulo the vocabulary. It must not move. */
typedef struct {
    int32_t input[NET_TOKENS], target[NET_TOKENS], position[NET_TOKENS];
    size_t start[2];
    Batch batch;
} NetText;
void net_text(int step, NetText *t);

void net_start(double *y);                                           /* (N) out: a state */
void net_add(const double *x, double c, const double *v, double *y); /* y = x + c v; y may be x */

/* net_layer is the layer (12)-(13) of the Macaron paper. net_block is what the layer adds to x:
 * F of the ODE Transformer. */
typedef void Equations(const Net *n, const double *x, double *y);
Equations net_layer, net_block;

/* y = x + a F1 + b F2, F1 = f(x), F2 = f(x + F1): (12)-(14) and (23) of the ODE Transformer. */
void net_two_stages(const Net *n, Equations *f, double a, double b, const double *x, double *y);

#endif
