/* system.h: what files of ode/ share about particle systems: heads of their functions, random numbers, exponentials,
 * derivatives, solutions that are kept. Private to ode/. */
#ifndef TROTTER_SYSTEM_H
#define TROTTER_SYSTEM_H

#include "ode/field/field.h"

/* The heads of static functions for System.field, both and flow, which need not read all of their arguments: s, set, t,
 * y, dy; first, rows; h. */
#define SYSTEM_UNUSED __attribute__((unused))
#define SYSTEM_FIELD(name)                                                                         \
    static void name(SYSTEM_UNUSED const System *s, SYSTEM_UNUSED int set, SYSTEM_UNUSED double t, \
                     SYSTEM_UNUSED const double *y, double *dy)
#define SYSTEM_BOTH(name)                                                                          \
    static void name(SYSTEM_UNUSED const System *s, SYSTEM_UNUSED int set, SYSTEM_UNUSED double t, \
                     const double *y, size_t first, size_t rows, double *dy)
#define SYSTEM_FLOW(name)                                                                          \
    static void name(SYSTEM_UNUSED const System *s, SYSTEM_UNUSED int set, SYSTEM_UNUSED double t, \
                     double h, double *y)

/* Streams of random numbers: the initial state, then a family's own draws from STREAM_PARAM on. */
enum { STREAM_INITIAL = 1, STREAM_PARAM = 2 };

/* Fills x (count) with scale times standard normal numbers of (seed, stream). */
void system_normal(double *x, size_t count, double scale, uint64_t seed, uint64_t stream);

/* Fills x (count) with uniform numbers in (low, high). */
void system_uniform(double *x, size_t count, double low, double high, uint64_t seed,
                    uint64_t stream);

/* What is known of a matrix: a bound of some norm, or 0; where it is symmetric an interval that has its eigenvalues, else low = high = 0. */
typedef struct {
    double norm, low, high;
} Spectrum;
/* exponential.c: computes x (N) = phi_J(t A) v, v (N), J 0 .. 4; act writes ax (N) = A x, x not 0. For J = 0, the exponential, x may be v.
 * Returns the actions of A, some 19 |t A|, or sqrt(40 |t A|) where A is symmetric and known to be; NaN in x where more than 2^23
 * steps are needed. work (3, N): scratch. */
typedef void Act(const void *context, const double *x, double *ax);
size_t exponential_phi(size_t N, Act *act, const void *context, Spectrum known, double t, int J,
                       const double *v, double *x, double *work);
/* Returns the largest |x_i|; it ignores NaN. */
double exponential_size(size_t N, const double *x);

/* derivative.c: the derivative at (t, y) of the sum of a system's colours `ops`, of one set. */
typedef struct {
    const System *system;
    int ops, set;
    double t;
    const double *y;      /* (n, d) */
    const double *offset; /* (COLOURS, n, d): of derivative_offsets */
    double *work;         /* (3, n, d): scratch */
} Derivative;
/* This is an Act whose context is a Derivative; x is not 0. */
void derivative_act(const void *derivative, const double *x, double *ax);
/* Returns the evaluations of F, G and C that an action takes. */
size_t derivative_evals(const Derivative *A);
/* Computes offset (COLOURS, n, d): f(0) of linear operators, 0 for others; work (n, d): scratch. */
void derivative_offsets(const System *s, double *work, double *offset);

/* solved.c: a question is the times t (count), the tolerance, and whether a second means checked the solution. Its
 * answer is y (count, N) and *agreement, 0 where it was not checked. */
typedef struct {
    double tolerance;
    int checked;
    const double *t;
    size_t count, N;
} Question;
/* Returns 1 and the answer, or 0; for m NULL 0. */
int solved_find(const Solved *m, const Question *q, double *y, double *agreement);
/* Keeps an answer; ERR_MEMORY. Nothing is kept in m NULL or in a full memory. */
int solved_keep(Solved *m, const Question *q, const double *y, double agreement);

/* system_file.c: system_parse with values of its parameters, ":NAME=NUMBER..."; NULL: none. */
int system_parse_with(const char *file, const char *text, size_t bytes, const char *options,
                      size_t particles, size_t dim, uint64_t seed, System **out);

#endif
