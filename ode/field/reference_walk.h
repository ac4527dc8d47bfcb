/* reference_walk.h: the means by which reference solutions are found (reference_walk.c), one walk along a field at a time. Private to ode/field
 * (reference.c). */
#ifndef TROTTER_REFERENCE_WALK_H
#define TROTTER_REFERENCE_WALK_H

#include <gsl/gsl_linalg.h>
#include <gsl/gsl_odeiv2.h>

#include "ode/field/system.h"

#define WALK_TIGHTEST 1e-14       /* tolerance, relative to |y| */
enum { WALK_CHECK_STEPS = 3000 }; /* steps that check a closed solution */
enum { WALK_STIFF_MOST = 256 };   /* unknowns of a matrix that is factorised at each step */

/* A walk along y' = sum of the operators in `ops`, by either means. */
typedef struct {
    const System *s;
    int ops, set;
    double tolerance; /* relative to |y| */
    size_t N, evals;  /* evals: of rk8pd */
    double *part, *y,
        *dy; /* (N), (N), (3, N) scratch of the field; argument and value of a slope */
    long double *z0, *z1, *state, *column; /* (N), (N), (N), (columns, N) */
    double euler;                          /* last big step of the Euler method; 0: none yet */
    int solved;                            /* the Euler method is the implicit one */
    int stiff, hits;       /* the other two means are used; yes in a row, of grows_stiff */
    long tried;            /* steps of rk8pd */
    double *J;             /* (N + 2, N) then, two rows of scratch behind J; NULL before */
    gsl_matrix *lu;        /* (N, N) */
    gsl_permutation *rows; /* (N) */
    gsl_odeiv2_step *step;
    gsl_odeiv2_control *control;
    gsl_odeiv2_evolve *evolve;
    const char *what;      /* work_solution or work_check */
    double passed, length; /* way passed, whole way to all times */
    long checks;           /* steps left to check a closed solution with; -1: of no check */
    double apart;          /* distance from it where they ended */
    double *each; /* (count) out: how far the two means differ at each time; NULL: nobody asks */
} Walk;

/* ERR_MEMORY. */
int walk_open(Walk *w, const System *s, int ops, int set, double tolerance);
void walk_close(Walk *w);
/* Begins to tell the watch of `what`, which is so long; tells how far it has come, t: where this march, from 0, is. */
void walk_begin(Walk *w, const char *what, double length);
void walk_tell(const Walk *w, double t);
/* Goes over to the means for stiff fields. */
int walk_turn_stiff(Walk *w);
/* Go from one time to another, y (N) in and out, by the means that reference_walk.c tells. ERR_ACCURACY, ERR_NUMERIC, with words. */
int walk_rk8pd(Walk *w, double from, double to, double *y);
int walk_gragg(Walk *w, double from, double to, double *y);
int walk_euler(Walk *w, double from, double to, double *y);
int walk_not_finite(double t); /* the failure */

#endif
