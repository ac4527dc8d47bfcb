/* design.h: a search for the coefficients of a scheme. */
#ifndef TROTTER_STUDIES_DESIGN_H
#define TROTTER_STUDIES_DESIGN_H

#include <stdint.h>

#include "studies/model/sentences.h"
#include "studies/model/trained.h"

/* ---- form.c ---------------------------------------------------------------------------------- */

/* A number and its derivative. */
typedef struct {
    double x, d;
} Dual;

/* A scheme with free (learned) coefficients, at some values of these.
 *
 * A form is a table with `learn` lines; x (n) are their values, in the order of the text. Order conditions are the
 * defects of coloured rooted trees (theory_defect): all of order 1 .. p are zero where the scheme has order p. Those of a
 * form of exact flows are the coefficients of the brackets of 1 .. p letters in log(step)/h - (F + G), which are far fewer. */

typedef struct {
    Table *table;      /* owned; the symbols' starting values change */
    Forest *forest;    /* owned; trees up to order + 1 */
    Forest *low;       /* owned; trees up to order, for the conditions */
    int order;         /* p: the order whose conditions must hold */
    size_t n;          /* free coefficients */
    size_t conditions; /* trees, or brackets, of order 1 .. p */
    /* (conditions) their trees in `low`. Where every stage is H they are the trees of F alone: those of one shape have one defect,
     * whatever their colours. */
    size_t *tree;
    int plain; /* 1: stages of one step without functions of derivatives, whose defects are computed in doubles */
    Dual *work;    /* of these */
    mpq_t *defect; /* (low->count + 1) work; the last is the defect of h^0 y */
} Form;

/* Takes a copy of `scheme`. ERR_INPUT: no learned coefficient, a gate, flows by a method. order: 1 .. forest_most - 1. Caller:
 * form_free, also after a failure of form_new. */
int form_new(const Table *scheme, int order, Form *out);
void form_free(Form *f);

/* x (n) out: the table's present values. */
void form_values(const Form *f, double *x);
/* Makes the scheme at x (n), a table without learned names. Doubles are taken as they are; `exact` is
 * kept. Caller: table_free. */
int form_at(Form *f, const double *x, Table **out);
/* Makes the scheme at rational values q (n). decimal: some of them are decimals, not fractions,
 * so the table is inexact. */
int form_at_rational(Form *f, mpq_t *q, int decimal, Table **out);

/* c (conditions) out: defects of the trees, or coefficients of the brackets, of order 1 .. p at x. ERR_ACCURACY where state weights do not sum to 1. */
int form_conditions(Form *f, const double *x, double *c);
/* term (forest->count) out: of a plain form what theory_terms has, of all orders. ERR_ACCURACY as above. */
int form_terms(Form *f, const double *x, double *term);

/* x (n) in, out: the nearest point, to first order, where all conditions hold to 1e-13, by Gauss-Newton steps of least
 * norm. fixed (n): coefficients that stay; NULL: none. Allocates work. ERR_ACCURACY where the steps do not converge. */
int form_project(Form *f, const unsigned char *fixed, double *x);

/* ---- growth.c -------------------------------------------------------------------------------- */

/* How much more than the flow a step lets perturbations grow, in the layers of a trained model.
 *
 *     growth of a scheme = median over sentences and layers of  max over tokens of  rho(R(A, B) E(A + B))
 *
 * A, B (d, d): a token's diagonal blocks of F'(x) and G'(x), x the state that enters the layer. R(A, B): a step of h =
 * 1 on y' = A y + B y, which is a matrix. rho: spectral radius. E removes the growth of the flow:
 *
 *     E(M) = V diag(1 / max(1, exp(Re mu))) V^-1,   M = V diag(mu) V^-1
 *
 * The value 1 means no more growth than the flow. Where all stages are H the growth is the max over the eigenvalues mu
 * of A + B of |R(mu)| / max(1, exp(Re mu)). With Re mu <= 0 this is the quantity that Ketcheson and Ahmadia minimise
 * for a given spectrum. Attention is causal, so that the linearised step of all tokens is block triangular, and so is E
 * of it. Their eigenvalues are those of the blocks, exactly. rho(R) / exp(max Re mu) would not do: a mode that grows, on
 * which explicit steps fall behind the flow, would hide one that the flow damps and the step does not.
 *
 * Source: Ketcheson, Ahmadia 2012, Optimal stability polynomials for numerical integration of initial value problems;
 * matrix functions: Higham 2008, section 1.2; the rest is derived here. */

/* The blocks of one layer at one sentence. */
typedef struct {
    size_t tokens;
    double *A, *B; /* (tokens, d, d) */
    double *E;     /* (tokens, d, d) transposed */
} GrowthLayer;

typedef struct {
    size_t d, count;
    GrowthLayer *layer; /* (count) */
} Growth;

/* Takes copies of A, B (tokens, d, d); d is that of the layers before. ERR_ACCURACY with words where some A + B has not
 * d eigenvectors. After an error the layers before stay. */
int growth_put(Growth *g, size_t d, size_t tokens, const double *A, const double *B);
/* Does the same for a layer of the truncator's sentence, with as many tokens as truncator_jacobian
 * takes. The model is causal. */
int growth_add(Growth *g, Truncator *u, int layer);
void growth_free(Growth *g); /* NULL is allowed */

/* Finds the growth of a frozen table of stages. ERR_INPUT: history; ERR_ACCURACY: a step that is not finite. */
int growth_find(const Growth *g, const Table *t, double *growth);

/* ---- fields.c -------------------------------------------------------------------------------- */

/* The layers of a trained model as vector fields, each at the state that enters it on a real sentence.
 *
 *   error of a scheme = median over sentences and layers of  RMS(S(1) x - flow(1) x) / RMS(flow(1) x - x)
 *
 * as `trotter truncation` defines it for schemes of one step: S is a step of h = 1 on y' = F + G of the layer, and x is
 * the state that enters it. The flows are solved once, and the Jacobians of growth.c are taken once. */

typedef struct {
    Network network;
    Text text;
    Drawn drawn;
    size_t count;         /* sentences times layers */
    System **system;      /* (count) initial: x */
    double **end;         /* (count) flow(1) x, (n, d) */
    double *displacement; /* (count) RMS of flow(1) x - x */
    double *relative;     /* (count) work */
    Growth growth;        /* growth of these layers; of none where `no_growth` gives a reason */
    const char *no_growth;
} Fields;

/* Opens the language model of --model, with one attention and one feed-forward set a layer and no word, and sentences of
 * --text. ERR_INPUT: another model. Caller: fields_close in any case. */
int fields_open(const Options *o, Fields *out);
void fields_close(Fields *f);
/* Finds the error of a frozen table of stages. ERR_INPUT: history, sets that the layers lack; ERR_ACCURACY: a
 * step that is not finite. */
int fields_error(Fields *f, const Table *t, double *error);
/* Finds the growth in the same way. ERR_INPUT with the words of no_growth where there is none. */
int fields_growth(Fields *f, const Table *t, double *growth);

/* ---- objective.c: the objectives that a search minimises ------------------------------------- */

/* The data of a figure besides the scheme. */
typedef struct {
    const Forest *forest; /* trees of order up to order + 1 */
    int order;
    Fields *fields; /* NULL: no model was given */
    /* (forest->count) its coefficients where they are known; NULL: they are not */
    const double *term;
} Against;

typedef struct {
    const char *name;
    const char *words; /* for people */
    double sign;       /* -1: the search minimises the negative figure */
    /* Gives the figure of a table without learned names. */
    int (*figure)(const Against *a, const Table *t, double *figure);
    int stages_over_H; /* 1: defined only where every stage is H */
    int in_layers;     /* 1: a figure of a model's layers */
    int flows;         /* 1: defined for splittings by exact flows alone */
    int terms;         /* 1: read off Against.term, where that is known, and no table */
} Objective;

/* Rows in the order of OBJECTIVES, which --objective takes; ended by a NULL name. */
extern const Objective objectives[];
#define OBJECTIVES "norm|norm-one-colour|real|imag|error|growth|brackets"

/* Sums the squares of the coefficients of the brackets of `degree` letters in log(step)/h - (F + G), of exact flows. */
int bracket_norm2(const Table *t, int degree, double *sum);

/* ---- search.c -------------------------------------------------------------------------------- */

/* The coefficients of a form that minimise an objective, and simple fractions near them.
 *
 * Every point of the simplex is first moved to where the order conditions hold (form_project), so no weight of a
 * penalty has to be chosen. The method is that of Nelder, Mead 1965, in GSL's form (nmsimplex2), from several starts.
 * It is restarted from its last best point until that gains nothing. The result is a function of the options: the
 * same options give the same. */

typedef struct {
    const Objective *objective;
    size_t starts; /* the form's own values, and random draws near them */
    /* Evaluations of the objective, shared by the starts, which finish a step of the simplex. Rounding takes more. */
    size_t evaluations;
    uint64_t seed;
    Fields *fields;           /* borrowed; NULL: none */
    double rise;              /* rounding may worsen the figure by this share */
    const volatile int *stop; /* set by a signal handler: ends with the best so far; NULL: none */
} SearchOptions;

typedef struct {
    double *x;                 /* (n) the best point; the order conditions hold to 1e-13 */
    double figure;             /* figure of the objective there */
    size_t start, evaluations; /* start of the best point; all evaluations */
    size_t searched;           /* evaluations before rounding */
    mpq_t *rounded;            /* (n) */
    int decimal;               /* 1: some of these are decimals, as no fraction was found */
    size_t n;
} Search;

/* Runs the search. ERR_ACCURACY with words where no start reaches the order; ERR_INTERRUPTED where *stop came before
 * one did. Caller: search_free in any case. */
int search_run(Form *f, const SearchOptions *o, Search *out);
/* Fills `rounded` from x. It fixes coefficients at the smallest denominators up to 64, one after another, and each time
 * moves the others back to where the conditions hold. The coefficients that are then determined are read as fractions.
 * If some are no fractions, it tries once more in the order of the text. It writes decimals if the order still does not
 * hold exactly, or *stop is set. */
int search_round(Form *f, const SearchOptions *o, Search *s);
void search_free(Search *s);

/* ---- one descent over the coefficients that are not fixed, for search.c and round.c ---- */

typedef struct {
    Form *form; /* borrowed, as the next two */
    const SearchOptions *options;
    Search *search;             /* counts evaluations */
    unsigned char *fixed;       /* (n) 1: stays at x */
    double *x;                  /* (n) in: where to begin; out: the best point */
    double *at, *asked, *least; /* (n) work */
    double best;                /* sign * figure at the best point; INFINITY: none yet */
    size_t start;
    int told; /* 1: gains are shown */
    int code; /* a failure within the simplex */
} Simplex;

int simplex_new(Form *f, const SearchOptions *o, Search *s, Simplex *u); /* all zero, none fixed */
void simplex_free(Simplex *u);
int search_stopped(const SearchOptions *o);
/* Begins with steps of `size`; ends when search->evaluations is `most`. */
int simplex_run(Simplex *u, double size, size_t most);

/* *figure: the objective's figure at x, without the sign. ERR_ACCURACY: x out of bounds,
 * or the figure not finite. */
int objective_at(Form *f, const SearchOptions *o, const double *x, double *figure);

#endif
