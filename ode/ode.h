/* ode.h: integrators and particle systems. Nothing here knows of networks. Reading order: table.h (what a
 * scheme is), then the groups below, in the order in which data pass:
 *
 *   scheme.c   text -> table                 zoo.c      the built-in texts, names, words, sub-flows
 *   over.c     a scheme over another operator   butcher.c  tableaus   compose.c  schemes made of schemes
 *   fixed_point.c  an implicit scheme iterated
 *   theory.h   what is known of a table exactly: order, error, stability
 *   system.c   particle systems              step.c     one stepper for every table
 *   system_file.c  systems of a text         reference.c  reference solutions
 *   phi.c      phi functions of derivatives
 *   measure.c  measured order                predict.c  error constants of the theory
 *   differential.c  derivatives of fields by numbers
 *   adapt.c    steps by tolerance            dense.c    values within a step
 *   drift.c    energy over a long time
 *
 * Conventions: error = numerical - exact; order p means local error O(h^(p+1)); [F,G] = G'F - F'G.
 * State y: n particles of d coordinates, (n, d) row-major; y' = F(y, t) + G(y, t), for a decoder + C(y, t).
 */
#ifndef TROTTER_ODE_H
#define TROTTER_ODE_H

#include <stddef.h>
#include <stdint.h>

#include "ode/table.h"
#include "ode/theory.h"

/* ---- scheme.c: the language of schemes --------------------------------------------------------- */

/* Parses every scheme of a text; `file` is for messages "file:line:column: expected ...". Appends to
 * *list (count, grown with memory_grow; tables owned by it). The text need not be terminated; NUL
 * bytes are an error, as is a text that is longer than SCHEME_BYTES or would take seconds to read.
 * ERR_INPUT leaves the list as it was. */
enum { SCHEME_BYTES = 1 << 20 };
int scheme_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count);
/* Returns 1 where a line, which ends before `stop`, is a title, a source or a note. */
int scheme_is_remark(const char *line, const char *stop);
/* Returns 1 where a scheme can have this name: 1 to TABLE_NAME - 1 letters, digits and - _ . +, or ':' and '/' as in
 * made names. */
int scheme_named(const char *name);
/* Returns SCHEMES_* of a name, or -1. "all", "decoders", "implicit" and "exponential" stand for many schemes
 * (zoo_list), and no scheme can have such a name. */
enum { SCHEMES_ALL, SCHEMES_DECODERS, SCHEMES_IMPLICIT, SCHEMES_EXPONENTIAL, SCHEMES_GROUPS };
int scheme_many(const char *name);

/* ---- zoo.c: schemes by name -------------------------------------------------------------------- */

typedef struct {
    size_t count;
    Table **scheme; /* built-in texts, then files in the order given */
} Zoo;

int zoo_open(Zoo *z); /* the built-in schemes */
int zoo_read(Zoo *z,
             const char *file); /* adds a scheme file, or a tableau; a name twice: ERR_INPUT */
void zoo_close(Zoo *z);

/* Writes a name as tables have it: sandwich:N-K for sandwich:N,K; dial:2-1/2 for dial:2,0.5. ERR_INPUT: too long. */
int zoo_name(const char *given, char name[TABLE_NAME]);

enum { ZOO_LETTERS = 128 }; /* most letters of a word: */

/* The numbers of dial:S-THETA; THETA = p / q, written as a fraction or a decimal. */
typedef struct {
    size_t S;
    unsigned long p, q;
} Dial;
/* Returns 1 where the name has this form; 0: it is another, and *out means nothing. */
int zoo_dial(const char *name, Dial *out);

/* Looks a name up: NAME, NAME:SOLVER, NAME:fixed-point-N (fixed_point.c), NAME-layer, NAME-F, NAME-G (over.c),
 * word:sf..[:SOLVER], for a decoder word:scf.., sandwich:N-K, looped:N, repeat:N, dial:S-THETA, and any of these
 * with -decoder behind it (over.c); sandwich:N,K and dial:S,THETA are the same names. A splitting without suffix
 * takes `solver` ("exact": its flows are kept; otherwise expanded). Caller frees. Unknown: ERR_INPUT, with the
 * nearest name. */
int zoo_find(const Zoo *z, const char *name, const char *solver, Table **out);

/* Does the same for a decoder's scheme: a scheme of two colours gets -decoder, before its sub-flow suffix. */
int zoo_find_decoder(const Zoo *z, const char *name, const char *solver, Table **out);

/* Finds every name of "A, B,..." in order, with or without blanks around names. "all" has the stored schemes of two
 * colours and their -layer (except of embedded pairs), "decoders" has these as decoders and the stored ones of three,
 * all of explicit stages or flows; "implicit" has the stored schemes with implicit stages, "exponential" those with phi
 * functions. Caller frees both levels. */
int zoo_list(const Zoo *z, const char *names, const char *solver, Table ***out, size_t *count);

/* ---- butcher.c: tableaus of Runge-Kutta methods --------------------------------------------------- */

/* Returns 1 where a text is a tableau, in JSON or drawn, and no text of schemes. */
int butcher_is(const char *text, size_t bytes);
/* Parses as scheme_parse does, one tableau, or a pair with two rows of weights; butcher.c has both forms.
 * ERR_INPUT: a c that is not the sum of its row. */
int butcher_parse(const char *file, const char *text, size_t bytes, Table ***list, size_t *count);
/* Prints a one-step table whose stages are all H, in a form that reads back as it. ERR_INPUT:
 * another table. */
enum { BUTCHER_JSON, BUTCHER_DRAWN };
int butcher_print(const Table *t, int form, FILE *f);

/* ---- over.c: a scheme over another operator ----------------------------------------------------- */

/* Writes the text of t with another operator in place of the one all its stages have: OP_L for H; OP_F or OP_G
 * for H or L, where the other sublayer takes an Euler sub-step, F before or G behind. `name` is for messages.
 * ERR_INPUT: stages of several operators; past states (OP_F, OP_G). Source: Li et al. 2022, figure 4. OP_A
 * writes the decoder's scheme of any t of two colours, with C behind every F; ERR_INPUT: three colours. Source:
 * Vaswani et al. 2017, section 3.1; Lu et al. 2019, figure 2. */
int scheme_over(const Table *t, int op, const char *name, FILE *f);

/* ---- fixed_point.c: an implicit scheme iterated ---------------------------------------------------- */

/* Writes the explicit scheme in which stages of t that need one another begin with their operators at y. They are then
 * put into their own rows `corrections` times (0 .. 64), each time from the slopes of the time before. `name` is for
 * messages. ERR_INPUT: no implicit stages, a gate, or `corrections` out of range. */
int scheme_fixed_point(const Table *t, int corrections, const char *name, FILE *f);

/* ---- compose.c: schemes made of one-step schemes --------------------------------------------------- */

/* A step of a scheme (borrowed, symbols frozen or none) over c h; inexact: c is not a rational that the user
 * gave. */
typedef struct {
    const Table *scheme;
    mpq_t c;
    int inexact;
} Substep;

/* Joins the steps one after another into one scheme that prints and parses: flows alone, or stages alone, the points of
 * later ones shifted. The weights need not sum to 1. ERR_INPUT: history, learned names, flows beside stages, a
 * decoder's scheme beside another. Caller frees. */
int scheme_compose(const Substep *step, size_t n, Table **out);
/* Makes S*(h) = S(-h)^-1. A splitting by exact flows is reversed. Stages F, G, C, H of a one-step table get a*_ij =
 * b_(s+1-j) - a_(s+1-i,s+1-j), b*_i = b_(s+1-i), and are implicit where they were explicit. ERR_INPUT: other
 * tables. */
int scheme_adjoint(const Table *t, Table **out);
/* Makes P over h, then S, then P^-1, which is P's adjoint over -h. */
int scheme_conjugate(const Table *P, const Table *S, Table **out);
/* Calls scheme_compose for "A,B,..", n names each over h / n, or "c*A,c*B,..", c as the language writes a coefficient.
 * total out: the sum of the weights. A splitting has exact flows unless its suffix says otherwise. */
int zoo_compose(const Zoo *z, const char *list, mpq_t total, Table **out);

/* ---- system.c: particle systems ----------------------------------------------------------------- */

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
    double h0;       /* default coarsest step of an order study */
    int linear;      /* order may be higher than on a general system */
    int linear_ops;  /* bits 1 << OP_F and so on: f(y) = A y + b at every time, so f'' = 0 */
    int timed;       /* F or G depends on t explicitly */
    int apart;       /* particles neither see each other nor have numbers of their own: any rows of
                        y by themselves are a system like this one */
    double *param;   /* the system's own numbers */
    /* Data of a system made elsewhere (bridge/field.c), or the name with its options; from memory_new, owned; or
     * NULL. */
    void *context;
    /* Watches reference_within and order_measure on this system; borrowed; NULL: nobody asks. */
    const Watch *watch;
    /* reference_within looks here first, and keeps here what it found; borrowed; NULL: it keeps
     * nothing. */
    Solved *solved;
};

/* An option of a system, which follows its name after a colon: NAME=NUMBER, or NAME alone for a flag. */
typedef struct {
    const char *name, *words;
    double initial, low, high; /* default and range, both ends included */
    int flag;                  /* 1: a flag, whose value is 1 where its name stands, else 0 */
} SystemOption;

/* Makes a system of a row of a const table; particles = dim = 0: its defaults. Options follow
 * colons: "transport:periodic:peclet=100". ERR_INPUT: unknown name or option, impossible size. */
int system_new(const char *name, size_t particles, size_t dim, uint64_t seed, System **out);
void system_free(System *s);

/* system_file.c: reads the user's own system, in the language described there. particles, dim: 0 for
 * the text's own. ERR_INPUT with "file:line:column: expected ...": unusable text. Caller:
 * system_free. */
int system_read(const char *file, size_t particles, size_t dim, uint64_t seed, System **out);
int system_parse(const char *file, const char *text, size_t bytes, size_t particles, size_t dim,
                 uint64_t seed, System **out);
const char *system_name(size_t i); /* NULL past the end */
const char *system_title(size_t i);
const SystemOption *system_options(size_t i); /* ends with a NULL name; NULL: it has none */
const char *system_default(void); /* nonlinear, non-commuting, without a flattering invariant */
/* Returns the operators of a system's field, as bits 1 << OP_F and so on. */
int system_ops(const System *s);
/* Checks that a table can be stepped on a system. ERR_INPUT, with a word on those that fit: a decoder's table without a
 * memory, one with `linear` on another field, derivatives of fields that are not linear and may depend on time. */
int system_takes(const System *s, const Table *t);
/* Computes dy (n, d), the sum of these operators of one set at (t, y); part (n, d): scratch. */
void system_sum(const System *s, int ops, int set, double t, const double *y, double *dy,
                double *part);

/* The field that a table solves on a system: the sum of its colours times their weights, without closed flows
 * or solution. `system` comes first, so that its functions find the rest behind it. */
typedef struct {
    System system;
    const System *base; /* borrowed */
    double weight[COLOURS];
    int same; /* it is the system's own field: the weights are 1 and the colours its own */
} Weighted;

Weighted system_weigh(const System *s, const Table *t);

/* Returns the order to expect on a system. */
static inline int theory_order(const Theory *t, const System *s)
{
    return s->timed ? t->order : t->order_autonomous;
}

/* ---- step.c: one stepper for every table -------------------------------------------------------- */

enum { START_GIVEN, START_NETWORK };

typedef struct Stepper Stepper;

/* Makes a stepper of a frozen table (borrowed) on a system (borrowed). After this only sub-flows
 * without a closed form allocate. */
int stepper_new(const Table *t, const System *s, Stepper **out);
void stepper_free(Stepper *st);
/* Begins at (t, y) with step h. START_GIVEN: history comes from `past`, states y(t - j h) for
 * j = 1 .. stepper_history (n d doubles each, nearest first); past slopes are evaluated on them as
 * the scheme would. START_NETWORK: steps without enough history take table_start. */
int stepper_begin(Stepper *st, double t, double h, const double *y, int start, const double *past);
/* Returns how many past states START_GIVEN needs. */
int stepper_history(const Stepper *st);
/* Takes one step; ERR_NUMERIC when the state is no longer finite, or implicit stages are not
 * found. */
int stepper_step(Stepper *st);
/* Tries a step of length h from where the stepper is, and leaves it there. This takes the place of stepper_step, after
 * stepper_begin, for a stepper of Table.pair. stepper_tried: y' (n, d); stepper_error: y' - yhat, both borrowed until
 * the next try. stepper_accept takes the last try. Slopes that are known are not evaluated again. ERR_NUMERIC when y'
 * is not finite. */
int stepper_try(Stepper *st, double h);
void stepper_accept(Stepper *st);
const double *stepper_tried(const Stepper *st);
const double *stepper_error(const Stepper *st);
const double *stepper_state(const Stepper *st); /* (n, d), borrowed */
/* Returns the evaluations of F and G so far. A flow counts one. With implicit stages every value of F, G or C that
 * solving for them took counts, those of derivatives by differences too. */
size_t stepper_evals(const Stepper *st);
/* Returns the bytes that a step moves at least between the nearest cache and what is behind it:
 * every array that a field, a row or a sub-flow reads or writes; with `apart` only states and kept
 * slopes. */
size_t stepper_traffic(const Stepper *st);

/* stepper_h returns the step tried last. stepper_slope returns the value of evaluation e (n, d) in it, borrowed until
 * the next try, or NULL where evaluation e - 1, the other operator at its point, has both. */
double stepper_h(const Stepper *st);
const double *stepper_slope(const Stepper *st, size_t e);

/* ---- dense.c: between the ends of a step ------------------------------------------------------------------------- */

enum { DENSE_MOST = 5 }; /* order looked for */

/* y(t + theta h) = y + sum_e b_e(theta) k_e + O(h^(order + 1)), b_e(theta) = sum_d beta[e][d - 1] theta^d, d = 1 .. order,
 * with b_e(1) the weight of the step. The table is that of the text (table_whole). */
typedef struct {
    int order;  /* 0: none: no one-step scheme of stages, or not consistent */
    int smooth; /* the derivative is continuous from step to step */
    size_t evals;
    mpq_t *beta; /* (evals, order) */
    double *b;   /* the same as doubles */
} Dense;

/* Finds the highest order, at most the scheme's, and the least of its solutions (dense.c). Caller:
 * dense_free. */
int dense_find(const Table *t, Dense *out);
void dense_free(Dense *d);
/* Returns b_e(theta). */
double dense_value(const Dense *d, size_t e, double theta);
/* Computes y (N), the state at theta h of the step that was tried last and not yet accepted
 * (stepper_try). */
void dense_at(const Dense *d, const Stepper *st, double theta, size_t N, double *y);

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

/* solved.c: makes a memory of solutions, System.solved of one system at a time, for studies of many schemes that need
 * the same ones. It keeps at most `bytes` bytes of states; what comes later is not kept. Caller: solved_free. */
int solved_new(size_t bytes, Solved **out);
void solved_free(Solved *m);

/* Computes one sub-flow of a system without a closed one, by the same integrator. */
int reference_flow(const System *s, int op, int set, double t, double h, double *y);

/* ---- measure.c: measured order ------------------------------------------------------------------ */

/* agree: the slope is the expected one within its tolerance; higher: above it; floor: rounding hides
 * it; unstable: too few steps are small enough for the scheme to be stable; diverges: errors grow as
 * h falls, though no step is unstable, or the scheme is zero-unstable; disagree: all else. */
enum {
    VERDICT_AGREE,
    VERDICT_HIGHER,
    VERDICT_DISAGREE,
    VERDICT_DIVERGES,
    VERDICT_FLOOR,
    VERDICT_UNSTABLE
};
const char *verdict_name(int verdict);

typedef struct {
    double h;
    size_t steps, evals;
    double error;     /* RMS over coordinates at t-end; inf: not finite */
    double agreement; /* agreement of the references it is compared with and begins with */
    double floor;     /* part that may be rounding, or the reference's own error */
    double seconds;
    int unstable;         /* set by find_unstable (measure.c); no fit takes it */
    int used;             /* in the window of the fit */
    const double *vector; /* (N) the error itself, borrowed from the study */
} OrderPoint;

typedef struct {
    int expected;
    size_t points;
    OrderPoint *point;   /* (points), coarsest first; owned */
    size_t N;            /* coordinates */
    double *vectors;     /* (most points, N); owned */
    double slope;        /* least squares over the window; NaN without one, or if unstable */
    double low, high;    /* 95 % interval, widened by what bias and floor may add (fit.c) */
    double *leading;     /* (N) error ~ leading * h^expected as h -> 0, from the window; owned */
    double constant;     /* its RMS; NaN without a window */
    double constant_off; /* RMS that `leading` may be off by, so |constant| too; inf without */
    double unstable;     /* finest unstable step; 0: none, or the scheme diverges */
    int closed_flows;    /* 0: some sub-flow came from the reference integrator */
    int verdict;
} OrderStudy;

typedef struct {
    double t_end, h0; /* 0: the system's default */
    int halvings;     /* points - 1; at least 4 */
    int local;        /* the error of the first step in place of that at t_end */
    int repeats;      /* runs of a short run, of which the shortest time counts; 0: none */
} OrderOptions;

/* Measures the global error of a table (symbols frozen inside) on a system over dyadic steps, with
 * history from the reference. The verdict compares its slope with the exact order `expected`. With
 * o->local it is the error of one step from the initial state, which falls like h^(expected + 1), or
 * not at all where the update's state weights do not sum to 1; steps = t_end / h then. Caller:
 * order_free. */
int order_measure(const Table *t, const System *s, const OrderOptions *o, int expected,
                  int zero_stable, OrderStudy *out);
void order_free(OrderStudy *o);

/* forecast.c: finds the seconds that order_measure, but for its reference solutions, and order_predict will take at
 * least on a system, by trial steps and values. It does not foresee points that are added where the slope is not
 * settled. `order` and `zero_stable` are those given to these two. Errors: those of order_measure. */
typedef struct {
    double steps, prediction;
} Forecast;
int order_forecast(const Table *t, const System *s, const OrderOptions *o, int order,
                   int zero_stable, Forecast *out);

/* Returns whether the measured error is a predicted one, e (N) h^expected, whose RMS `predicted` is known to the
 * relative `accuracy`: VERDICT_AGREE, VERDICT_DISAGREE, or -1 where the two cannot be compared (predicted is NaN,
 * the slope is another, or the measured constant is known to no better than 15 %). It compares vectors, so
 * direction and sign count: |leading - e| <= constant_off, at least 1 % of it, + accuracy * predicted. A higher
 * order, or a floor, agrees with a constant 0; a higher order disagrees with another constant only where that lies
 * outside of what is measured. */
int order_match(const OrderStudy *o, double predicted, double accuracy, const double *e);

/* ---- adapt.c: steps by tolerance ------------------------------------------------------------------ */

enum { ADAPT_DONE, ADAPT_UNDERFLOW, ADAPT_STEPS };
const char *adapt_outcome(int outcome); /* "done", "underflow", "too many steps" */

typedef struct {
    double absolute,
        relative; /* in coordinate i an error is compared with absolute + relative |y_i| */
    double t_end;
    int estimate_order; /* q >= 0 of theory_embedded */
    double first;       /* first step; 0: by Hairer's rule */
    size_t most;        /* steps, rejected ones included */
    /* With `dense`: states at these times, rising, 0 < at <= t_end. The steps are the same without. */
    const Dense *dense;
    size_t times;
    const double *at; /* (times) */
    double *states;   /* (times, N) out, up to where the run came */
} AdaptOptions;

typedef struct {
    int outcome; /* ADAPT_UNDERFLOW: steps fell below the spacing of numbers near t; ADAPT_STEPS: `most` were taken */
    double t;    /* reached: t_end, exactly, where it is done */
    double first; /* step tried first */
    size_t steps, rejected,
        evals; /* evals: of F, G and C, those of the first step's rule included */
} AdaptRun;

/* Runs a pair (t->pair) from the initial state at time 0; y (n, d) out: the state at out->t. ERR_INPUT: not a pair.
 * Source: Gustafsson 1991; Hairer, Norsett, Wanner 1993, II.4; Hairer, Wanner 1996, IV.2. */
int adapt_run(const Table *t, const System *s, const AdaptOptions *o, double *y, AdaptRun *out);

/* ---- differential.c: derivatives of fields by numbers -------------------------------------------- */

/* Computes value (forest->count, N): the elementary differential F(t)(y) of every tree of `order` (1 .. 6) and of
 * those it is made of, at the system's initial state and time 0, by differences whose step shrinks; the rest is 0.
 * With `one` F stands for F + G, and trees with a G are left out. accuracy: relative RMS change of the order's
 * values by the last shrinking. Caller: differentials_free. */
typedef struct {
    size_t N;
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

/* ---- predict.c: the error constant of the theory ------------------------------------------------- */

/* As h -> 0 the global error at t-end is global * h^order, that of the first step local * h^(order+1)
 * (RMS over coordinates). 0: the leading term vanishes on this system; NaN: no prediction (no
 * expansion about y, zero-unstable, order 6 or more, a field not smooth enough). */
typedef struct {
    double global, local;
    double accuracy; /* relative, estimated */
} Prediction;

/* Predicts the error constants. t_end = 0: the system's own; order: the exact one; vector (2, N)
 * out, or NULL: the local and the global error themselves, over h^(order+1) and h^order. Source:
 * predict.c. */
int order_predict(const Table *t, const System *s, double t_end, int order, int zero_stable,
                  Prediction *out, double *vector);

/* ---- drift.c: an invariant over a long time ------------------------------------------------------- */

typedef struct {
    double t, energy; /* end of a part of the run; largest relative error in it */
} DriftPoint;

typedef struct {
    size_t points;
    DriftPoint *point; /* (points); owned */
    double largest;    /* relative error of the energy */
    double growth;     /* last quarter over the first: near 1 bounded, 4 linear; NaN: lost */
    int lost;        /* 1: the energy is off by a tenth or more of itself, where errors saturate */
    double reversal; /* RMS of y - y_0 after running back; inf: not finite */
} Drift;

/* Runs steps of h to t_end, in `parts` (>= 4) equal parts, and back. ERR_INPUT: a system without an
 * energy, or steps out of range. Caller: drift_free. */
int order_drift(const Table *t, const System *s, double t_end, double h, size_t parts, Drift *out);
void drift_free(Drift *d);

#endif
