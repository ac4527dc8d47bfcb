/* system.h: the row that a family of particle systems (ode/systems) gives to the table in system.c. Private
 * to ode/.
 *
 * A row is a System with its default sizes and functions filled in, the sizes it can have, and an init that
 * writes param and initial. The functions may use the tail of param as scratch: a System serves one thread
 * at a time (threads inside a field are its own). A row with options finds their values at the head of
 * param, in the order of its list.
 */
#ifndef TROTTER_SYSTEM_H
#define TROTTER_SYSTEM_H

#include "ode/field/field.h"

typedef struct {
    System
        base; /* n, d: defaults; t_end, h0: 1 and 1/4 unless they are given; initial, param: NULL */
    size_t n_min, d_only, size_max; /* sizes: n >= n_min, d = d_only (0: any), n d <= size_max */
    size_t (*params)(size_t n, size_t d);   /* numbers in param, scratch included; NULL: none */
    void (*init)(System *s, uint64_t seed); /* sizes, initial, param, options are in place */
    const SystemOption *option;             /* ends with a NULL name; NULL: none */
} SystemKind;

/* Families, in the order of reading. */
extern const SystemKind system_attention;                     /* systems/attention.c */
extern const SystemKind system_linear, system_commuting;      /* systems/linear.c */
extern const SystemKind system_nilpotent3, system_nilpotent4; /* systems/linear.c */
extern const SystemKind system_fisher, system_forced;         /* systems/reaction.c */
extern const SystemKind system_kuramoto;                      /* systems/kuramoto.c */
extern const SystemKind system_vortex;                        /* systems/vortex.c */
extern const SystemKind system_kepler, system_henon;          /* systems/hamilton.c */
extern const SystemKind system_exchange;                      /* systems/exchange.c */
extern const SystemKind system_transport;                     /* systems/transport.c */

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

/* exponential.c: computes x (N) = phi_J(t A) v, v (N), J 0 .. 4; act writes ax (N) = A x, x not 0. norm: a bound of some
 * norm of A, or 0 where none is known. For J = 0, the exponential, x may be v. Returns the actions of A, some 19 |t| norm;
 * NaN in x where more than 2^23 steps are needed. work (3, N): scratch. */
typedef void Act(const void *context, const double *x, double *ax);
size_t exponential_phi(size_t N, Act *act, const void *context, double norm, double t, int J,
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

/* classics.c: test problems of the literature as texts. The i-th one's name and title, NULL past the end; a system of that
 * name with these options, ERR_INPUT. */
const char *classic_name(size_t i);
const char *classic_title(size_t i);
int classic_new(size_t i, const char *options, size_t particles, size_t dim, uint64_t seed,
                System **out);

#endif
