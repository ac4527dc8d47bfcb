/* trotter.h: Trotter as a library.
 *
 *     TrotterScheme *rk4;
 *     TrotterTheory theory;
 *     if (trotter_scheme_find("rk4", &rk4) != TROTTER_DONE) puts(trotter_error());
 *     trotter_scheme_theory(rk4, &theory);                    theory.order is 4
 *     trotter_scheme_free(rk4);
 *
 * Link with `pkg-config --cflags --libs trotter`. A scheme is read once; its exact order, error terms and stability can
 * then be asked. It steps on particle systems, including the user's own, and its order can be measured there. A trained
 * model in a directory gives logits, and the truncation error of its layers. Metrics score texts and labels.
 *
 * Conventions: error = numerical - exact; order p means local error O(h^(p+1)); y' = F(y, t) + G(y, t), and + C(y, t)
 * for a decoder's scheme; a state is n particles of d coordinates, row by row.
 *
 * Functions that can fail return TROTTER_DONE or a code; trotter_error() then has words, for this thread. Results in
 * `out` are empty after a failure. A NULL pointer where none is allowed is TROTTER_MISUSE; questions that have no code
 * answer 0 or NULL. Each handle is freed by the _free of its type, which takes NULL, when no thread uses it any more.
 * Threads may call any of them at once, also with one handle: a model, a system, computes for one thread at a time, and the
 * others wait; the words of an error are each thread's own. Signal handlers may call none. Where other programs want the
 * processors, OpenMP's waiting threads take time from those that work: GNU's spin for 5 ms, unless OMP_WAIT_POLICY=passive
 * or GOMP_SPINCOUNT=1000 is in the environment before the program starts (the Python module sees to it). A process should not exit while a thread is in one, for
 * OpenBLAS frees its memory then. A child of fork() computes with one OpenMP thread. A handler of GSL's errors that the
 * program has set hears its own calls alone. Sizes and arrays are trusted: n tells what is there.
 * Where a function says so, the caller frees memory with trotter_free. Names and shapes of a release stay in later ones
 * of the same first number.
 */
#ifndef TROTTER_H
#define TROTTER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Codes. */
enum {
    TROTTER_DONE = 0,
    TROTTER_INPUT = -1,  /* something given is unusable */
    TROTTER_MEMORY = -2, /* out of memory */
    TROTTER_SYSTEM = -3, /* a file or a call of the system failed */
    TROTTER_MISUSE = -4, /* a function was called outside its contract */
    TROTTER_NUMERIC = 1, /* a value is not finite */
    TROTTER_ACCURACY = 2 /* the wanted accuracy was not reached */
};

const char *trotter_version(void); /* "0.2.0" */
const char *trotter_error(void);   /* words of the last failure; valid until the next one */
void trotter_free(void *p);

/* ---- schemes ------------------------------------------------------------------------------------- */

typedef struct TrotterScheme TrotterScheme;

/* Finds a scheme by its name, as `trotter schemes --scheme NAME` takes it: rk4, strang-marchuk:heun,
 * looped:2, word:sfsf. A splitting without a suffix keeps its exact sub-flows. TROTTER_INPUT: no such scheme;
 * the words have the nearest name. */
int trotter_scheme_find(const char *name, TrotterScheme **out);
/* Reads the scheme `name` of a text in the language of schemes (`trotter schemes --print` shows some), or a Butcher
 * tableau; NULL: its only one. TROTTER_INPUT with line and column. */
int trotter_scheme_read(const char *text, const char *name, TrotterScheme **out);
void trotter_scheme_free(TrotterScheme *s);
/* *names: the names of the built-in schemes, each with a line end. Caller: trotter_free. */
int trotter_scheme_names(char **names);

const char *trotter_scheme_name(const TrotterScheme *s); /* valid as long as s lives */
/* *text: a text that reads back as the same scheme. Caller: trotter_free. */
int trotter_scheme_print(const TrotterScheme *s, char **text);

typedef struct {
    int order;       /* exact; with `at_least` a lower bound, as far as trees go (15 nodes) */
    int at_least;    /* 0, 1 */
    int zero_stable; /* 0, 1 */
    int decoder;     /* 1: it reads C too */
    /* Root of the sum of squares of the leading error terms, (defect / sigma)^2, in the two colours F and G, of a
     * decoder in F, G and C, also where every stage is H; NaN: unknown. */
    double error_norm;
    size_t evaluations; /* in a step, of F, G and C together; an exact sub-flow counts as one */
} TrotterTheory;

int trotter_scheme_theory(const TrotterScheme *s, TrotterTheory *out);

/* Finds C of a linear multistep method, with numerical - exact = C h^(p+1) y^(p+1) + ... in a step; NaN: another scheme. */
int trotter_scheme_error_constant(const TrotterScheme *s, double *C);

/* Finds the ends of the stability interval on the negative real axis (<= 0, may be -inf) and on the positive imaginary
 * one (>= 0, may be inf). Every operator has the same share of lambda. NaN: unknown. */
int trotter_scheme_stability(const TrotterScheme *s, double *real, double *imaginary);
/* modulus (n) out: the largest amplification factor at h lambda = z[i] (real and imaginary part). Every
 * operator has the same share. */
int trotter_scheme_amplification(const TrotterScheme *s, size_t n, const double (*z)[2],
                                 double *modulus);

enum { TROTTER_TREES, TROTTER_BRACKETS, TROTTER_ONE_FIELD, TROTTER_MODIFIED };
typedef struct {
    int degree;              /* power of h */
    const char *name;        /* "F''(F,G)" or "[F,[F,G]]" */
    const char *coefficient; /* "-1/24", or decimals where the scheme has some */
    double value;            /* the same number */
} TrotterTerm;

/* *terms (*count): the non-zero terms of the error up to h^degree; degree 0: the leading ones. TREES:
 * numerical - exact. ONE_FIELD: the same where F and G are not told apart, for schemes whose stages are all H = F + G.
 * BRACKETS: log(step) / h - (F + G), for splittings by exact flows, by letters. MODIFIED: log(step) / h, the field
 * whose exact flow the step is, with h^(degree - 1). Caller: trotter_free of *terms. */
int trotter_scheme_expand(const TrotterScheme *s, int basis, int degree, TrotterTerm **terms,
                          size_t *count);

typedef struct {
    int order;
    const char *condition; /* "sum b_i c_i a_ij c_j", over all letters, c_i = sum of a_ij */
    const char *right;     /* "1/8": 1/gamma, what the sum should be */
    const char *left;      /* "1/8": the sum of this scheme, or decimals */
    int holds;             /* 0, 1: within the rounding of the coefficients, if any */
} TrotterCondition;

/* *conditions (*count): the order conditions of order 1 .. degree, a rooted tree each, of a one-step scheme of
 * stages or flows: of one colour where all stages are H = F + G. Flows have no sums; their tree stands there.
 * TROTTER_INPUT: another scheme, a degree too high. Source: Hairer, Norsett, Wanner 1993, theorem II.2.13. Caller:
 * trotter_free of *conditions. */
int trotter_scheme_conditions(const TrotterScheme *s, int degree, TrotterCondition **conditions,
                              size_t *count);

/* Receives every point of every line in order; `line` counts from 0. */
typedef void TrotterLinePoint(void *arg, size_t line, double re, double im);
/* Finds the boundary |R(z)| = 1 of the stability region in the window re[0] <= Re z <= re[1], im[0] <= Im z <= im[1] on
 * a grid of points x points (2 to 2000), between which it is interpolated. */
int trotter_scheme_region(const TrotterScheme *s, const double re[2], const double im[2],
                          size_t points, TrotterLinePoint *take, void *arg);

/* ---- particle systems ---------------------------------------------------------------------------- */

typedef struct TrotterSystem TrotterSystem;

/* Finds a system by name, as `trotter order --system NAME` takes it. 0 particles or
 * coordinates: the system's default. */
int trotter_system_find(const char *name, size_t particles, size_t dimension, uint64_t seed,
                        TrotterSystem **out);
/* Reads a text in the language of system files. */
int trotter_system_parse(const char *text, size_t particles, size_t dimension, uint64_t seed,
                         TrotterSystem **out);
/* *names: the names of the built-in systems, each with a line end. Caller: trotter_free. */
int trotter_system_names(char **names);
/* Makes a system from the user's functions. F and G write dy (n, d) from y (n, d) at time t and return 0; any other
 * value makes the derivative NaN, which ends the computation. One of F and G may be NULL, a field of 0. initial (n, d)
 * is copied; arg is passed to F and G. */
typedef int TrotterField(void *arg, double t, const double *y, double *dy);
int trotter_system_make(size_t n, size_t d, const double *initial, TrotterField *F, TrotterField *G,
                        void *arg, TrotterSystem **out);
/* Gives such a system the derivatives of its functions by y, which schemes that solve for stages then take in the place of
 * differences, up to 600 unknowns (of all stages that need one another): F and G write J (N, N), N = n d, row i the derivative of component i of dy, and are otherwise as above,
 * with the same arg. NULL for a function that the system has not; for both: differences again. TROTTER_MISUSE: a system
 * that was not made so, one of two. */
int trotter_system_jacobian(TrotterSystem *s, TrotterField *F, TrotterField *G);
void trotter_system_free(TrotterSystem *s);

size_t trotter_system_particles(const TrotterSystem *s);
size_t trotter_system_dimension(const TrotterSystem *s);
const double *trotter_system_initial(const TrotterSystem *s); /* (n, d), valid as long as s lives */
double trotter_system_end(
    const TrotterSystem *s); /* the time where its studies end; the user's own: 1 */

/* y (n, d) out: the state at time steps * h, stepped from the initial one. The first steps of a multistep scheme end in
 * the exact solution, until it has the past that it needs: one fewer than it has steps. TROTTER_INPUT: no step would be
 * its own. TROTTER_ACCURACY: that solution is not found well enough. TROTTER_NUMERIC: the state is no longer finite. */
int trotter_solve(const TrotterScheme *s, const TrotterSystem *on, double h, size_t steps,
                  double *y);
/* y (n, d) out: the exact state at time t, to about 1e-13. */
int trotter_reference(const TrotterSystem *s, double t, double *y);

/* y (count, n, d) out: the exact states at times t (count), in any order. *agreement, or NULL: RMS difference of two
 * integrators, by which y may be off. TROTTER_ACCURACY, TROTTER_NUMERIC: there is none. */
int trotter_references(const TrotterSystem *s, size_t count, const double *t, double *y,
                       double *agreement);

/* Returns g(t, y), y (n, d): an event is where it passes 0. */
typedef double TrotterQuantity(void *arg, double t, const double *y);
typedef struct {
    TrotterQuantity *value;
    void *arg;     /* passed to value */
    int direction; /* 1: where g rises along the run; -1: where it falls; 0: either */
    int terminal;  /* k > 0: the k-th one ends the run; 0: none does */
} TrotterEvent;

/* What is asked of a run. Members that are 0 ask for nothing; a run needs an end, and a tolerance or steps. */
typedef struct {
    double begin, end;     /* times; a run to an earlier one goes back */
    const double *initial; /* (n, d) the state at `begin`; NULL: the system's own */
    /* Steps are as long as their estimated error e allows, where the scheme has an estimate: RMS over i of
     * e_i / (absolute_i + relative_i |y_i|) at most 1, where |y_i| is the greater at the step's two ends. The numbers hold
     * for all coordinates, a list (n, d) has one for each; NULL: the number. None is below 0, and not both are 0. Source:
     * Gustafsson 1991; Hairer, Norsett, Wanner 1993, II.4; Hairer, Wanner 1996, IV.8. */
    double absolute, relative;
    const double *absolutes, *relatives;
    double first,
        longest; /* first and longest step; 0: as the estimate says (a hundredth of the run where it sees nothing) */
    /* > 0: as many steps of one length instead, by any scheme; no tolerance is read, nor first and longest. */
    size_t steps;
    size_t times;    /* 0: states at the ends of steps are wanted */
    const double *t; /* (times) else at these times, in the order of the run */
    size_t events;
    const TrotterEvent *event; /* (events) */
    int dense;                 /* 1: keep what trotter_run_at needs */
} TrotterOptions;

typedef struct {
    size_t event; /* which of the events, from 0 */
    double t;
    int rises; /* 1: g goes up there */
} TrotterCrossing;

typedef struct TrotterWithin TrotterWithin;

typedef struct {
    /* "done"; "event": a terminal one ended it; else why it ended before: "not finite", "underflow", "too many steps",
     * "jumps": the right side jumps where the solution stays, and the steps that are allowed would not come to the end */
    const char *outcome;
    double t; /* reached */
    /* evaluations: of F, G and C together, those of derivatives by differences and of states within steps included.
     * jacobians, factors: derivatives taken and matrices factored where stages are found by tolerance, else 0. */
    size_t steps, rejected, evaluations, jacobians, factors;
    /* The states, y (count, n, d) at time (count); the first is that at `begin` unless options->t leaves it out. */
    size_t count;
    double *time, *y;
    size_t crossings;
    TrotterCrossing *crossing; /* (crossings) in the order of the run */
    double *crossing_y;        /* (crossings, n, d) their states */
    TrotterWithin *within;     /* for trotter_run_at; NULL: not kept */
} TrotterRun;

/* Runs a scheme from options->begin on. *run: what it came to, also where that is not the end; caller: trotter_run_free.
 * States and events within steps are found on the scheme's own values there: from the step's slopes (dense output) where
 * that is as good as a step; else from more steps, which end there; of steps of one length that read the past on the
 * polynomial through the last states. The first steps of a multistep scheme end in the exact solution, until it has the
 * past that it needs. A g that never passes 0 is no failure; one that is 0 at `begin`, or touches 0 and turns back, does not
 * pass there; of two crossings in one eighth of a step both may be missed. TROTTER_INPUT: by tolerance without an estimate, or no step would
 * be the scheme's own. TROTTER_MISUSE: options out of their ranges. TROTTER_NUMERIC: a g is not finite. */
int trotter_run(const TrotterScheme *s, const TrotterSystem *on, const TrotterOptions *options,
                TrotterRun *run);
/* y (times, n, d) out: the solution at any times t (times) of a run with options->dense, in any order. In each step it is the
 * polynomial through the scheme's own values at some places, one more than its order. TROTTER_MISUSE: a time out of the
 * run. */
int trotter_run_at(const TrotterRun *run, size_t times, const double *t, double *y);
void trotter_run_free(TrotterRun *run);

typedef struct {
    double h, error; /* RMS over coordinates at the end */
    size_t steps, evaluations;
} TrotterPoint;

typedef struct {
    double slope, low, high; /* measured order and its 95 % interval; NaN: none */
    double constant;         /* error ~ constant h^order; NaN: none */
    int expected;            /* the exact order */
    /* "agree", "higher", "disagree", "diverges", "floor", "unstable", "inconsistent", "undecided" */
    const char *verdict;
    size_t count;
    TrotterPoint *point; /* (count) coarsest first; caller: trotter_free */
} TrotterOrder;

/* Measures the order over steps h, h/2, ..., halvings >= 4 times. t_end, h 0: the system's default. */
int trotter_measure(const TrotterScheme *s, const TrotterSystem *on, double t_end, double h,
                    int halvings, TrotterOrder *out);

/* ---- trained models ------------------------------------------------------------------------------ */

typedef struct TrotterModel TrotterModel;

/* Loads a language model from a directory that `trotter train` wrote, or from a .safetensors file, in double precision,
 * on the processor. `sequence`: longest input; 0: as trained. */
int trotter_model_load(const char *directory, size_t sequence, TrotterModel **out);
void trotter_model_free(TrotterModel *m);

size_t trotter_model_vocabulary(const TrotterModel *m); /* V */
size_t trotter_model_parameters(const TrotterModel *m); /* number of parameters */
size_t trotter_model_layers(const TrotterModel *m);
size_t trotter_model_sequence(const TrotterModel *m);              /* longest input */
const char *trotter_model_word(const TrotterModel *m, int32_t id); /* NULL: no such id */
/* *id (*n): a text as tokens, with <eos> first and at the end of each line; unknown words become
 * <unk>. Caller: trotter_free. */
int trotter_model_encode(const TrotterModel *m, const char *text, int32_t **id, size_t *n);
/* z (n, V) out: row i has the logits of the token after id[i]. n <= sequence. */
int trotter_model_logits(TrotterModel *m, const int32_t *id, size_t n, double *z);
/* error, relative (halvings + 1) out: the error of a step of h = 1, 1/2, ... in one layer (from 0) on these
 * tokens, against the layer's exact flow: its RMS, and that over the flow's displacement. s NULL: the
 * scheme of the model itself. */
int trotter_model_truncation(TrotterModel *m, const TrotterScheme *s, size_t layer,
                             const int32_t *id, size_t n, int halvings, double *error,
                             double *relative);

/* ---- metrics ------------------------------------------------------------------------------------- */

/* Sets *score for n lines against one reference each, as `trotter bleu` does. metric: "bleu", "chrf", "chrf++" or
 * "ter". tokenize: "none" or "13a", for BLEU alone. 0 .. 100, TER above too. */
int trotter_score_lines(const char *metric, const char *tokenize, size_t n,
                        const char *const *hypothesis, const char *const *reference, double *score);
/* Sets *score for n predicted labels or values against the right ones: "accuracy", "f1", "matthews" for classes 0, 1,
 * ...; "pearson", "spearman" for values. */
int trotter_score_labels(const char *metric, size_t n, const double *said, const double *right,
                         double *score);

#ifdef __cplusplus
}
#endif
#endif
