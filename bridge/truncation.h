/* truncation.h: the true truncation error of a trained layer, and other facts about its field.
 *
 * A layer of a trained model is a vector field, so the exact flow that its step stands for can be
 * computed. Here a scheme's step S(h) from the state that enters the layer on a real sentence is
 * compared with the exact flow over h, for h = 1 (the network's own step), 1/2, 1/4, ...:
 *
 *     error(h) = RMS over tokens and coordinates of  S(h) - flow(h)
 *     relative = error(h) / RMS of the flow's displacement over that step,   O(h^p)
 *     error    = h^(p+1) (sum of coefficient * elementary differential) + remainder,   O(h^(p+2))
 *
 * The field (y' = ..., named in every output):
 *   FIELD_SPLIT   a F(y) + b G(y), a = b = 1 but for words. F is the mean of the layer's attention sets, with the
 *                 weights of the scheme that the model was trained with; G is that of its feed-forward sets. A
 *                 scheme with the same sets and weights reads each set by itself; any other reads the means in
 *                 all its sets.
 *   FIELD_LAYER   L(y) = F(y) + G(y + F(y)), frozen at h = 1, for schemes whose stages are all L.
 * It has this layer's weights at all times. A one-step scheme starts from the network's own state x entering the
 * layer; one that looks back D steps, at time D h on the exact flow from x, with its history on the same flow: the exact
 * forward flow.
 * Learned coefficients stand at their starting values, except at h = 1 of the model's own scheme: that point
 * is the trained network's own step, from its own state, with its learned coefficients (and its own history). Without
 * learned coefficients a multistep scheme has its history on the exact flow: earlier layers have other weights, so
 * their slopes do not belong to this layer's field. A point is left out if its history begins more than 4 behind; this
 * happens for large h when a scheme's stages read past stages. What a scheme carries beside y is at the beginning of a step
 * what it is on the exact flow (steps.h), or what the text says; where that is not found, as h is too large, the point is
 * left out too. On the exact flow it is, by definition, what the updates reproduce a step later: it has no error of its own, and
 * the error of y is that of the whole state. What the trained network carries into a layer, and behind its step, is compared with
 * that of the layer's flow, by the layer as it was trained (truncation_carried.c). The flow comes from reference_within (ode.h), two
 * independent integrators; their difference is reported.
 *
 * In an encoder with its decoder both sides have such layers. The encoder's layers are the papers' particle system,
 * attention without a mask. A decoder's layer is y' = F(y) + C(y) + G(y). Its memory, the encoder's output on the same
 * sentence, is at rest; L(y) is F, C and G in turn. A scheme that is not consistent with h may go another distance:
 * `repeat:N` goes N h, `rk2-unit` 2 h, and `lm-resnet`, y' = k y + (1 - k) y[-1] + L(y), goes h / (2 - k). Each is
 * measured against the flow over the time that it goes, the flow of T F + T G over h. T is the sum of the update's
 * slopes of an operator, divided by 1 + sum j v_j, with v_j its weights on y[-j] (learned ones at their starting
 * values), where the scheme's order with T is at least 1. This follows from y(t) = T t f, f constant.
 * Source: design section 7; Hairer, Norsett, Wanner 1993, II.1-II.3 (local error, its leading term).
 */
#ifndef TROTTER_TRUNCATION_H
#define TROTTER_TRUNCATION_H

#include "kernels/base/scoped.h"
#include "nn/nn.h"
#include "kernels/base/plain_text.h"
#include "ode/ode.h"

enum { FIELD_SPLIT, FIELD_LAYER };
const char *truncation_field(int field); /* "split", "layer" */

/* What is carried is sought on the exact flow from this many steps back on, to the most where it needs them, and is found where at
 * most this share of how it began is left. */
#define TRUNCATION_BACK 32
#define TRUNCATION_BACK_MOST 128
#define TRUNCATION_REMEMBERED 0.01
enum { TRUNCATION_POINTS = 12, TRUNCATION_TERMS = 14 };
/* The order governs an error that is within this many percent of its leading term. */
#define TRUNCATION_NEAR 20
#define TRUNCATION_GOVERNED (TRUNCATION_NEAR / 100.0)
#define TRUNCATION_PERCENT TEXT(TRUNCATION_NEAR) " %" /* for texts of help and tables */

/* All zero means the defaults. */
typedef struct {
    int field;
    int halvings; /* points - 1: h = 1 .. 2^-halvings, at most TRUNCATION_POINTS - 1; 0: 6 */
    int terms;    /* 1: compute the leading terms and the remainder too */
    int carried;  /* 1: compare what the network carries, of the model's own scheme, too */
    int side;     /* SIDE_* of the layers */
    /* Table that the other side was trained with; NULL: the model is a language model. */
    const Table *other;
    /* Tolerance of the integrators, relative to |y|; 0: 1e-13, for a ReLU model 1e-8. */
    double tolerance;
    Watch watch; /* progress of truncator_measure; tell NULL: not reported */
    /* Not 0: truncation_summary ends with ERR_INTERRUPTED before its next sentence; NULL: it is never stopped */
    const volatile int *stop;
} TruncationOptions;

typedef struct {
    double h;
    double error;        /* inf: the step is not finite; NaN: no such point */
    double displacement; /* displacement of the exact flow over this step */
    double relative;     /* error / displacement; 0 where both are 0 */
    double remainder;    /* RMS of error - leading terms, / displacement; NaN: not computed */
    double floor;        /* an error below this is rounding or comes from the reference */
} TruncationPoint;

typedef struct {
    char name[40];      /* F'G; F1'G2 where each set is read by itself */
    double coefficient; /* before h^(p+1) */
    double size;        /* RMS of coefficient * differential, / displacement at h = 1 */
} TruncationTerm;

/* Result for one scheme, layer and sentence. */
typedef struct {
    int layer, field;
    int history; /* steps back that the scheme reads */
    /* Distance of the exact flow, by operator, that a step of 1 is measured against. */
    double time[COLOURS];
    int sets; /* 1: the scheme reads each set of the layer by itself */
    int network; /* 1: at h = 1 learned coefficients and history are the network's own; slope, terms and
                    the other points have the starting values and the exact history */
    size_t tokens, points;
    TruncationPoint point[TRUNCATION_POINTS]; /* coarsest first */
    int order; /* exact order for this field, so the slope is order + 1; -1: the update's state
                  weights do not sum to 1, and no h makes the error small */
    double slope, tolerance; /* slope of log error over log h in the best window; NaN without one */
    /* From this h down errors follow h^(order+1): slopes between neighbours are within 1/4 of it, and the remainder,
     * where it is computed, is at most half of the leading term. 1: the network's own step does too; 0: none. */
    double asymptotic;
    /* The same for the remainder; NaN without a window. */
    double remainder_slope, remainder_tolerance;
    double leading; /* RMS of all leading terms at h = 1, / displacement; NaN: not computed */
    size_t terms;   /* count of terms where the order is at most 2; else 0 */
    TruncationTerm term[TRUNCATION_TERMS];
    double agreement; /* largest RMS difference of the two integrators, / displacement at h = 1 */
    /* Of the model's own scheme, what it carries into the layer, v, beside that on the exact flow, by the layer as it was trained:
     * RMS of the difference / RMS of the latter; the same behind the network's step; the error of y in a step from the latter, /
     * displacement; and what is seen in the latter of its beginning, 32 to 128 steps back. NaN: not found. */
    int holds;          /* 1: it is the model's own scheme, and carries something */
    const char *untold; /* why it is not sought or not found, in two or three words; NULL */
    double carried, carried_after, smooth, remembered;
} Truncation;

/* Returns 1 where the error at h = 1 is within TRUNCATION_GOVERNED of its leading term, so that the order tells its
 * size; 0 where it is not; -1 where there is no leading term, or the step has learned coefficients, which the leading
 * term ignores. */
int truncation_governed(const Truncation *t);
int truncation_governs(double error, double leading); /* compares the two numbers in the same way */

/* Computes the time that a scheme is measured against where the field is split. */
int truncation_own_time(const Table *scheme, double time[COLOURS]);

/* Writes the time as text: "2", or "2 F + 8 G" where operators go different distances; out (bytes). */
void truncation_time(const double time[COLOURS], char *out, size_t bytes);

/* A Truncator holds a model in double precision, the table it was built from, the schemes that are measured (all
 * borrowed until truncator_free), and one sentence at a time. A model in another precision: ERR_MISUSE. */
typedef struct Truncator Truncator;
int truncator_new(Model *m, const Table *trained, const TruncationOptions *o, Truncator **out);
void truncator_free(Truncator *u);
DROP(Truncator, truncator)

/* A sentence as the model reads it, <eos> first on the target's side. source: 0, NULL: no encoder. */
typedef struct {
    size_t n[SIDES];
    const int32_t *token[SIDES];
} Sentence;

/* Computes the states that enter every layer of this sentence; numbers of tokens and ids must be within the model's
 * bounds (ERR_MISUSE). *check (may be NULL): the largest difference between nn/'s forward pass and the network put
 * together from the field's sublayers, divided by the largest value: it is rounding. */
int truncator_sentence(Truncator *u, const Sentence *s, double *check);

/* Checks whether a scheme can be measured: 0; ERR_ACCURACY with words where it has no step of the chosen field,
 * ERR_INPUT where it has flows (choose a sub-flow solver: NAME:euler). */
int truncator_takes(const Truncator *u, const Table *scheme);

/* Makes the frozen table that steps on the field; with FIELD_LAYER it has F alone, which stands for L, with the weights
 * 1 and 0. Caller: table_free. */
int truncator_table(const Truncator *u, const Table *scheme, Table **out);

/* Measures one scheme in one layer (from 0) of the sentence. It keeps solved flows and differentials until the next
 * sentence or layer, so measure all schemes of a layer one after another. ERR_NUMERIC: the flow is not finite. */
int truncator_measure(Truncator *u, int layer, const Table *scheme, Truncation *out);

/* Sentence i of a side is token[side][start[side][i]] .. token[side][start[side][i + 1] - 1]. */
typedef struct {
    size_t count;
    const size_t *start[SIDES];  /* (count + 1); NULL without a source */
    const int32_t *token[SIDES]; /* (start[count]) */
} Sentences;
Sentence sentence_at(const Sentences *s, size_t i);

/* Medians and quartiles over sentences and layers. */
typedef struct {
    double low, median, high;
} Spread;

typedef struct {
    size_t measured; /* pairs of sentence and layer that were measured */
    int order;
    Spread relative; /* relative error at h = 1 */
    Spread leading;  /* leading term of the relative error; NaN without options.terms */
    /* Share of the pairs with a leading term for which truncation_governed is 1; NaN: there are none. */
    double governed;
    double time[COLOURS]; /* as in Truncation */
    /* Slope of the error over its asymptotic window; NaN where there is none. */
    Spread slope;
    double smooth;    /* share of pairs whose step at h = 1 is in the asymptotic regime */
    double agreement; /* largest of all */
    double check;     /* largest check of truncator_sentence */
} TruncationSummary;

/* Summarises one scheme over all sentences and layers; `compare` shows this for the model's own trained scheme. */
int truncation_summary(Model *m, const Table *trained, const Table *scheme, const Sentences *s,
                       const TruncationOptions *o, TruncationSummary *out);

/* Returns the states (layers + 1, n d) that enter each layer of the sentence, and the last layer's output, by the
 * network's own steps. They are borrowed until the next sentence. */
const double *truncator_states(const Truncator *u);

/* ---- jacobian.c: frozen Jacobians --------------------------------------------------------------------- */

/* Jacobians at the state x that enters a layer. A causal network's Jacobian is block lower triangular in the tokens, so
 * its eigenvalues are those of the diagonal blocks. All of them are computed exactly, from columns taken by central
 * differences along the coordinates. An encoder's Jacobian is full, and its eigenvalues are computed from all of it.
 * lipschitz: the largest singular value of F'(x), G'(x), C'(x) by power iteration on J^T J. It is the Lipschitz
 * constant at x, a lower bound for any set around x. */
typedef struct {
    /* The first tokens, as many as fit in JACOBIAN_MOST coordinates; an encoder needs all: else ERR_INPUT. */
    size_t tokens;
    double lipschitz[COLOURS];
    size_t count;
    /* (count) re, im of the eigenvalues of F' + G' (+ C'), or of L', block after block; owned. */
    double (*eigen)[2];
    /* The diagonal blocks of F', G', C', or in [OP_F] of L'. A causal network has one block a token, an encoder one in
     * all; owned. */
    size_t block;            /* coordinates of a block */
    double *blocks[COLOURS]; /* (count / block, block, block); NULL: the operator is missing */
} Jacobian;
enum { JACOBIAN_MOST = 1024 };
int truncator_jacobian(Truncator *u, int layer, Jacobian *out);
void jacobian_free(Jacobian *j);

/* ---- refine.c: more steps without retraining ---------------------------------------------------------- */

/* Makes a model with the weights of m. Each layer is `substeps` steps of size 1 / substeps of a scheme (symbols at
 * their starting values), with the layer's weights frozen. It has a plan, so nn/ evaluates it. Sets as for FIELD_SPLIT.
 * Caller: model_free. ERR_ACCURACY where the model lacks an operator; ERR_INPUT: flows. */
int bridge_refine(Model *m, const Table *trained, const Table *scheme, size_t substeps,
                  Model **out);

/* ---- truncation_summary.c ------------------------------------------------------------------------------ */

/* Computes median and quartiles (linear interpolation between order statistics) of the numbers in x (n) that are not
 * NaN; sorts x. NaN where there are none. */
Spread spread_of(double *x, size_t n);

#endif
