/* linear.h: the linear systems of steps, (M x 1 - A x J) x = b with derivatives J of fields: by factors where J is small
 * or a band that is known, else by its action, with a preconditioner where a band is seen. Private to ode/ (implicit.c,
 * functions.c). */
#ifndef TROTTER_LINEAR_H
#define TROTTER_LINEAR_H

#include "ode/step/steps.h"

/* ---- lu.c: whole matrices ---- */

/* Unknowns up to which whole matrices are factored. */
enum { LU_MOST = 600 };

/* Factors A (n, n) row-major = L U in place, with rows exchanged: pivot (n). Short of memory A is not finite. Source:
 * GSL. */
void lu_factor(size_t n, double *A, size_t *pivot);
/* Solves in place, x (n), by the factors; a singular matrix leaves x not finite. */
void lu_substitute(size_t n, const double *A, const size_t *pivot, double *x);
/* Returns what states of this RMS are taken to be as large as where a share of that is needed: 1 at rest, and else no less than 2^-900, as
 * numbers below 2^-1022 have the fewer digits the smaller they are, and a share of one may be 0. */
double lu_scale(double rms);
/* Returns the step of a central difference at a coordinate y of states of RMS `rms`: 2^-17, near eps^(1/3). */
double lu_difference(double y, double rms);

/* ---- krylov.c: the action alone ---- */

enum { KRYLOV_SPACE = 40 };

typedef struct {
    size_t n;
    void (*apply)(void *arg, const double *x, double *Ax); /* (n) each, apart */
    void (*precondition)(void *arg, double *x);            /* x := M^-1 x, M near A; NULL: M = 1 */
    void *arg;
    double *basis;         /* (KRYLOV_SPACE + 1, n) */
    double *image, *eased; /* (n) scratch */
} Krylov;

int krylov_new(Krylov *k, size_t n); /* ERR_MEMORY; the caller sets apply, precondition, arg */
void krylov_free(Krylov *k);
/* Finds x (n), |b - A x| <= tolerance |b| (RMS); b is lost. Returns the vectors that the spaces took, or where x is only
 * as near as the restarts come a number below 0. */
int krylov_solve(Krylov *k, double *b, double tolerance, int restarts, double *x);

/* ---- sparsity.c: where derivatives have entries ---- */

/* FULL: anywhere; BAND: in a band, for certain; NEAR: in a band, as far as was looked; NONE: no matrix is kept. */
enum { PATTERN_FULL, PATTERN_BAND, PATTERN_NEAR, PATTERN_NONE };

/* Where the derivatives (N, N) of some operators have entries. They are kept as J (pattern_size): whole matrices by rows, bands
 * by columns: of column c rows c - width .. c + width. */
typedef struct {
    size_t N;
    int kind;
    size_t width;  /* of a band: J(r, c) is 0 where r and c are more than this apart */
    int ring;      /* coordinates are counted around a ring */
    size_t probes; /* values of fields that finding this took */
} Pattern;

/* Finds the pattern of some operators (which) for systems of `points` states, up to `whole` unknowns a whole matrix where no band is told; work (3, N): scratch. */
void pattern_find(Pattern *p, const System *s, const Eval *eval, const int *which, size_t evals,
                  size_t points, size_t whole, double *work);
static inline int pattern_factors(const Pattern *p) /* 1: systems are solved by factors */
{
    return p->kind == PATTERN_FULL || p->kind == PATTERN_BAND;
}
size_t pattern_size(const Pattern *p);
/* Returns how far an entry of the matrix of `points` states (Factors) is from its diagonal at most. */
size_t pattern_reach(const Pattern *p, size_t points);
/* Returns the rows of a column that are kept; pattern_row the k-th one, or N where there is none. */
size_t pattern_rows(const Pattern *p);
size_t pattern_row(const Pattern *p, size_t c, size_t k);
/* Computes J of an operator at (t, y) by the system's own derivative, or by differences with steps (N), central or one
 * sided. y is moved and put back; work (3, N): scratch, whose second row holds the value at y where they are one sided.
 * pattern_calls: the values of the field that it takes. */
void pattern_derive(const Pattern *p, const System *s, const Eval *e, double t, const double *step,
                    int sided, double *y, double *work, double *J);
size_t pattern_calls(const Pattern *p, const System *s, int sided);
/* Returns whether J is symmetric, but for rounding, and then an interval that has its eigenvalues. */
int pattern_symmetric(const Pattern *p, const double *J, double *low, double *high);
/* Computes Jx = J x, (N) each. */
void pattern_multiply(const Pattern *p, const double *J, const double *x, double *Jx);

/* ---- lu.c: matrices of `points` states ---- */

/* The matrix M x 1 - sum over i of A_i x J_i: its entry (p r, q c) takes away a_i(p, q) J_i(r, c). */
typedef struct {
    Pattern pattern;
    size_t points, reach; /* reach: of a band, largest distance of an entry from the diagonal */
    double *matrix; /* (n, n), n = points N; of a band (n, 3 reach + 1) as GSL stores its factors */
    double *row;    /* (n) scratch of a band */
    size_t *pivot;  /* (n) */
    unsigned *places; /* (n) of a band */
} Factors;

int factors_new(Factors *f, const Pattern *p, size_t points); /* ERR_MEMORY */
void factors_free(Factors *f);
/* Makes the matrix M x 1 (mass (d, d) of each particle, NULL: 1), takes a J from its entries (p, q), factors it. */
void factors_clear(Factors *f, size_t d, const double *mass);
void factors_take(Factors *f, const double *J, size_t p, size_t q, double a);
void factors_make(Factors *f);
/* Solves for x (points, N) in place; a singular matrix leaves x not finite. */
void factors_solve(const Factors *f, double *x);

/* ---- mass.c: M y' = f ---- */

/* Returns ERR_INPUT where a system has a mass matrix and a scheme cannot take steps of it. */
int mass_takes(const System *s, const Table *t);
/* Returns ERR_INPUT where M - h J is singular at the initial state whatever h is, where the index is above 1, or where the
 * state does not satisfy the equations without derivatives. */
int mass_check(const System *s);

#endif
