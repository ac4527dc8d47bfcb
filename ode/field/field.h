/* field.h: particle systems, built in and of files; their derivatives and reference solutions.
 *
 * State y: n particles of d coordinates, (n, d) row-major; y' = F(y, t) + G(y, t), for a decoder + C(y, t). */
#ifndef TROTTER_FIELD_H
#define TROTTER_FIELD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/scoped.h"
#include "ode/scheme/scheme.h"
#include "ode/theory/theory.h"

/* ---- system.c: a particle system ----------------------------------------------------------------- */

/* A vector field in parts: F and G, and C where a memory is given, whose particles stand still and act by
 * C. Functions take the system, the parameter set (analytic systems ignore it), the time, y (n, d) in and
 * dy (n, d) out, which do not overlap. They may use scratch behind param, so a system serves one thread at
 * a time. */
typedef struct System System;

/* tell is called now and then with how far long work has come: the share 0 .. 1 of `what`, one thing
 * after another. */
typedef struct {
    void (*tell)(void *arg, const char *what, double share);
    void *arg;
} Watch;
/* Names that ode/ itself gives to `what`. The solution is found by one means and then, unless nobody asks, by another.
 * Shares of steps and of the predicted constant are shares of their time. */
extern const char work_solution[], work_check[], work_steps[], work_prediction[];

/* Solutions found before (solved.c). */
typedef struct Solved Solved;

struct System {
    const char *name, *title, *source;
    size_t n, d;
    int decoder; /* 1: C is part of its field, which is that of a decoder's scheme (system_weigh) */
    void (*field[COLOURS])(const System *s, int set, double t, const double *y, double *dy);
    /* F + G in one for rows first .. first + rows - 1 of dy, where that saves passes over memory;
     * else NULL. It must agree with F and G: code that replaces one of them sets it to NULL. */
    void (*both)(const System *s, int set, double t, const double *y, size_t first, size_t rows,
                 double *dy);
    /* Exact sub-flow over time h (may be negative), in place; NULL: none in closed form. */
    void (*flow[COLOURS])(const System *s, int set, double t, double h, double *y);
    /* Exact solution from the initial state at time t; NULL: none in closed form. */
    void (*solution)(const System *s, double t, double *y);
    /* An invariant; NULL: none. */
    double (*energy)(const System *s, const double *y);
    double *initial; /* (n, d) */
    double t_end;    /* default */
    /* The end in the literature, where that is later than t_end, to which runs by tolerance go; 0: t_end is it. */
    double t_whole;
    /* The absolute tolerance that the literature has beside a relative one of 1, as small as coordinates are; 0: it has none. */
    double small;
    /* (n, d) the state at that end where it is known, from the initial state at time 0; borrowed of context; NULL: it is
     * not. */
    const double *end;
    double h0; /* default coarsest step of an order study */
    /* bits 1 << OP_F and so on: f(y) = A y + b at every time, so f'' = 0; SEPARABLE (table.h) */
    int special;
    int absent; /* bits of operators that are 0 everywhere, as no rule gives them: nothing to evaluate */
    int timed; /* F or G depends on t explicitly */
    int apart; /* particles neither see each other nor have numbers of their own: any rows of
                        y by themselves are a system like this one */
    /* Particle i sees of an operator those from i - sees + 1 to i + sees - 1, around the ring where there is one; 0: all, or
     * nobody knows. Linear systems of implicit schemes are solved by it, so an entry beyond would be lost. */
    size_t sees[COLOURS];
    int ring;
    /* (d, d) M of M y' = F(y, t) + G(y, t), the same for every particle, borrowed of context; rows of it may be 0, and it may be
     * singular (mass.c); NULL: 1. */
    const double *mass;
    /* Computes J (n d, n d) by rows, the derivative of an operator; NULL: it is found by differences. */
    void (*jacobian)(const System *s, int op, int set, double t, const double *y, double *J);
    /* Computes dz (2, n d), an operator of one set at the complex state z (2, n d): real parts, then imaginary ones. NULL: formulas
     * tell it (tape.h), or nothing does. */
    void (*at_complex)(const System *s, int op, int set, const double *z, double *dz);
    double *param; /* the system's own numbers */
    /* Data of a system made elsewhere (bridge/field.c), or the name with its options; from memory_new, owned; or
     * NULL. */
    void *context;
    /* Watches reference_within and order_measure on this system; borrowed; NULL: nobody asks. */
    const Watch *watch;
    /* reference_within looks here first, and keeps what it found; borrowed; NULL: it keeps nothing. */
    Solved *solved;
};

void system_free(System *s);
DROP(System, system)

/* system_file.c: reads the user's own system. particles, dim: 0 for the text's own. options: values of its parameters,
 * ":NAME=NUMBER:NAME=NUMBER", or "". ERR_INPUT with "file:line:column: expected ...". Caller: system_free. */
int system_read(const char *file, const char *options, size_t particles, size_t dim, uint64_t seed,
                System **out);
int system_parse(const char *file, const char *text, size_t bytes, size_t particles, size_t dim,
                 uint64_t seed, System **out);
/* Returns the operators of a system's field, as bits 1 << OP_F and so on. */
int system_ops(const System *s);
/* Returns whether an operator has to be evaluated: 0 where it is absent. */
int system_counts(const System *s, int op);
/* Computes Mx (n, d), M x of every particle; without a mass matrix M is 1. */
void system_mass(const System *s, const double *x, double *Mx);
size_t system_parts(
    const System *s); /* the number of the field's operators that have to be evaluated */
/* Computes dy (n, d), the sum of these operators of one set at (t, y); part (n, d): scratch. */
void system_sum(const System *s, int ops, int set, double t, const double *y, double *dy,
                double *part);

/* Finds the operators whose field is 0, as bits 1 << OP_F and so on: no rule gives them, or they are 0 at a few drawn
 * states; those of the initial set. */
int system_zeros(const System *s, int *ops);
/* Returns the operators that a table uses and tells apart: none where all stages are H. */
int system_apart(const Table *t);

/* Returns the RMS of a - b (n); b NULL: of a. */
static inline double system_rms(size_t n, const double *a, const double *b)
{
    double sum = 0, most = 0;
    for (size_t i = 0; i < n; i++) sum += (a[i] - (b ? b[i] : 0)) * (a[i] - (b ? b[i] : 0));
    if ((sum > 1e-250 && sum < 1e250) || isnan(sum)) return sqrt(sum / (double)n);
    /* Squares are 0 or infinite where the numbers are not, as of 1e-200. */
    for (size_t i = 0; i < n; i++) most = fmax(most, fabs(a[i] - (b ? b[i] : 0)));
    if (!(most > 0) || !isfinite(most)) return most;
    sum = 0;
    for (size_t i = 0; i < n; i++) {
        double part = (a[i] - (b ? b[i] : 0)) / most;
        sum += part * part;
    }
    return most * sqrt(sum / (double)n);
}

/* Defines the functions of System.field from name(s, op, set, t, y, dy). */
#define SYSTEM_FIELDS(name)                                                               \
    static void name##_F(const System *s, int set, double t, const double *y, double *dy) \
    {                                                                                     \
        name(s, OP_F, set, t, y, dy);                                                     \
    }                                                                                     \
    static void name##_G(const System *s, int set, double t, const double *y, double *dy) \
    {                                                                                     \
        name(s, OP_G, set, t, y, dy);                                                     \
    }                                                                                     \
    static void name##_C(const System *s, int set, double t, const double *y, double *dy) \
    {                                                                                     \
        name(s, OP_C, set, t, y, dy);                                                     \
    }

/* The field that a table solves on a system: the sum of its colours times their weights, without closed flows
 * or solution. `system` comes first, so that its functions find the rest behind it. */
typedef struct {
    System system;
    const System *base; /* borrowed */
    double weight[COLOURS];
    int same; /* it is the system's own field: the weights are 1 and the colours its own */
} Weighted;

Weighted system_weigh(const System *s, const Table *t);

/* The field along a run from time `begin` on, or with `back` from there back, as a system that runs from 0 on: y'(s) =
 * f(begin + s, y), or -f(begin - s, y). So whatever steps, solves or measures forward from 0 does the same elsewhere. Its
 * functions find the rest by System.context: it stays where it was made, and is not freed. */
typedef struct {
    System system;
    System base; /* a copy, whose members are borrowed */
    double begin, sign;
} Course;

void system_course(const System *s, double begin, int back, Course *out);
/* Returns whether the closed solution of a system is at the initial state at time t; 0: it has none. */
int system_solves(const System *s, double t);

/* Returns the order to expect on a system, from the text's start too. */
static inline int theory_order(const Theory *t, const System *s)
{
    int order = s->timed ? t->order : t->order_autonomous;
    return t->start_order < order - 1 ? t->start_order + 1 : order;
}

/* ---- quantity.c: a number of a state, by an expression ------------------------------------------ */

/* An expression in the language of system files (system_file.c) of the coordinates of a state: y1, y2, ... in the order
 * of the state where there is one particle or one coordinate a particle, else y2_1 for the first coordinate of the
 * second particle; the time t, numbers, functions, and the parameters where the system is of a text with `param`. */
typedef struct Quantity Quantity;
/* Reads an expression at the beginning of `text`; *behind: where it ends. `place` begins messages of ERR_INPUT, with
 * the column in the text. The system is read here alone. Caller: quantity_free. */
int quantity_read(const char *text, const char *place, const System *s, const char **behind,
                  Quantity **out);
void quantity_free(Quantity *q);
/* Returns its value at time t in the state y (n, d). */
double quantity_value(const Quantity *q, double t, const double *y);

/* ---- reference.c -------------------------------------------------------------------------------- */

/* Computes y (count, n d) at times t[0] .. t[count-1] (any order, before or after 0) from the
 * initial state at time 0. It uses GSL's rk8pd (Prince, Dormand 1981) at tight tolerance, and again
 * Gragg's extrapolated midpoint rule (Gragg 1965; Bulirsch, Stoer 1966) in long double sums.
 * *agreement out: the RMS difference of the two. A system with a closed solution gives that, checked
 * against rk8pd. */
int reference_solve(const System *s, const double *t, size_t count, double *y, double *agreement);

/* Does the same at a looser tolerance, relative to |y|, for fields that are costly or have kinks. agreement NULL: by
 * rk8pd alone, which nothing checks. */
int reference_within(const System *s, double tolerance, const double *t, size_t count, double *y,
                     double *agreement);

/* Does what reference_solve does; apart (count) out: the difference of the two means at each time. Keeps nothing. */
int reference_each(const System *s, const double *t, size_t count, double *y, double *apart);
/* Returns whether a reference whose two means differ by `apart` is known to six digits of `size`. */
int reference_known(double apart, double size);

/* enclosure.c: computes y (count, n d) at rising times t >= 0, and radius (count): no coordinate of the solution is farther from the state
 * than that, which is proved in ball arithmetic: of the system whose numbers are the doubles that were read, or computed of
 * numbers alone (1/3, sqrt(2): formula.c). ERR_INPUT: its field is not a text of
 * formulas, or has more than 64 unknowns. ERR_ACCURACY with words: it is not enclosed (not smooth, too stiff, too chaotic). */
int enclosure_solve(const System *s, const double *t, size_t count, double *y, double *radius);

/* Computes the states of the solution at h, 2 h, .. (count, n d), in which the first steps of a multistep scheme end.
 * ERR_ACCURACY, ERR_NUMERIC: they are not found, or the two means differ by more than a millionth of them. */
int reference_start(const System *s, double h, size_t count, double *y);

/* solved.c: makes a memory of solutions, System.solved of one system at a time, for studies of many schemes that need
 * the same ones. It keeps at most `bytes` bytes of states; what comes later is not kept. Caller: solved_free. */
int solved_new(size_t bytes, Solved **out);
void solved_free(Solved *m);
DROP(Solved, solved)

/* Computes one sub-flow of a system without a closed one, by the same integrator. */
int reference_flow(const System *s, int op, int set, double t, double h, double *y, size_t *evals);

/* complex_flow.c: the field of one operator of a system (borrowed) in complex numbers. ERR_INPUT: it has no System.at_complex, and is
 * no text of formulas, or one with abs, heaviside or the time in it. complex_flow moves z (2, n d), real parts and then imaginary ones, over the time (re + im i) h.
 * The solutions must not come to a singularity of a function on their way, nor across the cut of sqrt, log or a broken power. */
typedef struct ComplexField ComplexField;
int complex_field(const System *s, int op, ComplexField **out);
void complex_field_free(ComplexField *c);
DROP(ComplexField, complex_field)
int complex_flow(ComplexField *c, int set, double re, double im, double h, double *z,
                 size_t *evals);

/* ---- differential.c: derivatives of fields by numbers -------------------------------------------- */

/* Computes value (forest->count, N): the elementary differential F(t)(y) of every tree of `order` (1 .. 6) and of
 * those it is made of, at the system's initial state and time 0, by differences whose step shrinks; the rest is 0.
 * With `one` F stands for F + G, and trees with a G are left out. accuracy: relative RMS change of the order's
 * values by the last shrinking. Caller: differentials_free. */
typedef struct {
    double *value;
    double accuracy;
} Differentials;
int differentials_find(const Forest *f, const System *s, int order, int one, Differentials *out);
void differentials_free(Differentials *d);
/* Returns the values of fields that each shrinking takes. */
double differentials_work(const Forest *f, int order, int one);
/* Computes J (N, N) row-major, the derivative of one operator and set at y (N) and time t, by central differences with
 * steps (N), 2 values of the field a column; work (2, N): scratch. y is moved and put back. */
void differentials_jacobian(const System *s, int op, int set, double t, const double *step,
                            double *y, double *work, double *J);

#endif
