/* truncation.h: the true truncation error of a trained layer, and what else its field tells.
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
 *   FIELD_SPLIT   a F(y) + b G(y), a = b = 1 but for words. F is the mean of the layer's attention sets,
 *                 weighted as the scheme that the model was trained with weighs them, G that of its
 *                 feed-forward sets. A scheme with the same sets and weights reads each set by itself,
 *                 and another one reads the means in all its sets.
 *   FIELD_LAYER   L(y) = F(y) + G(y + F(y)), frozen at h = 1: for schemes whose stages are all L.
 * Weights along depth, which is time:
 *   DEPTH_FROZEN     this layer's, at all times. A one-step scheme starts from the network's own state
 *                    x entering the layer; one that looks back D steps, at time D h on the exact flow
 *                    from x, with its history on the same flow: the exact forward flow.
 *   DEPTH_PIECEWISE  those of layer floor(t): the flow begins at the embedding, layer l is entered at
 *                    t = l, histories reach back into earlier layers (where these are missing, with h so
 *                    large, there is no such point).
 * Learned coefficients stand at their starting values, but for h = 1 of the model's own scheme (frozen): that is the
 * trained network's own step, from its own state, with what it has learned (and its own history). Without
 * learned coefficients a multistep scheme has its history on the exact flow: earlier layers have other weights, so
 * their slopes are not of this layer's field. A history that begins more than 4 behind, as that of a scheme whose stages read
 * past stages does for large h, leaves no such point. The flow: reference_within (ode.h), two
 * independent integrators; how far they differ is told.
 *
 * Of an encoder with its decoder either side has such layers. The encoder's are the papers' particle system, attention
 * without a mask. A decoder's layer is y' = F(y) + C(y) + G(y), its memory, the encoder's output on the same sentence, at
 * rest; L(y) is F, C and G in turn.
 * A scheme that is not consistent with h may go another distance: `repeat:N` goes N h, `rk2-unit` 2 h, `lm-resnet`, y' =
 * k y + (1 - k) y[-1] + L(y), h / (2 - k). Each is measured against the flow over its own time, that is of T F + T G over
 * h, T the update's slopes of an operator over 1 + sum j v_j, v_j its weights on y[-j] (learned ones at their starting
 * values), where its order is at least 1 with it. Derived from y(t) = T t f, f constant.
 * Source: design section 7; Hairer, Norsett, Wanner 1993, II.1-II.3 (local error, its leading term).
 */
#ifndef TROTTER_TRUNCATION_H
#define TROTTER_TRUNCATION_H

#include "nn/nn.h"
#include "kernels/text.h"
#include "ode/ode.h"

enum { FIELD_SPLIT, FIELD_LAYER };
enum { DEPTH_FROZEN, DEPTH_PIECEWISE };
const char *truncation_field(int field); /* "split", "layer" */
const char *truncation_depth(int depth); /* "frozen", "piecewise" */

enum { TRUNCATION_POINTS = 12, TRUNCATION_TERMS = 14 };
/* An error within so many percent of its leading term is governed by the order. */
#define TRUNCATION_NEAR 20
#define TRUNCATION_GOVERNED (TRUNCATION_NEAR / 100.0)
#define TRUNCATION_PERCENT TEXT(TRUNCATION_NEAR) " %" /* for words of help and tables */

/* All zero: the defaults. */
typedef struct {
    int field, depth;
    int halvings; /* points - 1: h = 1 .. 2^-halvings, at most TRUNCATION_POINTS - 1; 0: 6 */
    int terms;    /* 1: the leading terms and the remainder too */
    int side;     /* SIDE_*: whose layers */
    /* With what the other side was trained; NULL: the model is a language model. */
    const Table *other;
    double tolerance; /* of the integrators, relative to |y|; 0: 1e-13, of a ReLU model 1e-8 */
    Watch watch;      /* of truncator_measure; tell NULL: nobody asks */
} TruncationOptions;

typedef struct {
    double h;
    double error;        /* inf: the step is not finite; NaN: no such point */
    double displacement; /* of the exact flow over this step */
    double relative;     /* error / displacement; 0 where both are 0 */
    double remainder;    /* RMS of error - leading terms, / displacement; NaN: not told */
    double floor;        /* below this an error is rounding or the reference's own */
} TruncationPoint;

typedef struct {
    char name[40];      /* F'G; F1'G2 where the sets are read by themselves */
    double coefficient; /* before h^(p+1) */
    double size;        /* RMS of coefficient * differential, / displacement at h = 1 */
} TruncationTerm;

/* One scheme, layer and sentence. */
typedef struct {
    int layer, field, depth;
    int history; /* steps that the scheme looks back */
    /* Of each operator in a step of 1: what the exact flow goes that it is measured against. */
    double time[COLOURS];
    int sets; /* 1: the scheme reads each set of the layer by itself */
    int network; /* 1: at h = 1 learned coefficients and history are the network's own; slope, terms and
                    the other points have the starting values and the exact history */
    size_t tokens, points;
    TruncationPoint point[TRUNCATION_POINTS]; /* coarsest first */
    int order; /* exact order for this field, so the slope is order + 1; -1: the update's state
                  weights do not sum to 1, and no h makes the error small */
    double slope, tolerance; /* of log error over log h in the best window; NaN without one */
    /* From this h down errors follow h^(order+1): slopes of neighbours within 1/4, and the remainder,
     * where it is told, at most half of the leading term. 1: the network's own step does too; 0: none. */
    double asymptotic;
    double remainder_slope, remainder_tolerance; /* likewise of the remainder; NaN */
    double leading; /* RMS of all leading terms at h = 1, / displacement; NaN: not told */
    size_t terms;   /* where the order is at most 2; else 0 */
    TruncationTerm term[TRUNCATION_TERMS];
    double agreement; /* largest RMS difference of the two integrators, / displacement at h = 1 */
} Truncation;

/* 1 where the error at h = 1 is within TRUNCATION_GOVERNED of its leading term, so that the order says how large it is;
 * 0 where not; -1 where no leading term is told, or the step is one with learned coefficients, which it is not of. */
int truncation_governed(const Truncation *t);
int truncation_governs(double error, double leading); /* the same of two numbers */

/* What time a scheme is measured against where the field is split. */
int truncation_own_time(const Table *scheme, double time[COLOURS]);

/* "2"; of operators that go differently far "2 F + 8 G"; out (bytes). */
void truncation_time(const double time[COLOURS], char *out, size_t bytes);

/* A model in double precision, the table it was built from, the schemes that are asked for (all
 * borrowed until truncator_free), and one sentence at a time. Another precision: ERR_MISUSE. */
typedef struct Truncator Truncator;
int truncator_new(Model *m, const Table *trained, const TruncationOptions *o, Truncator **out);
void truncator_free(Truncator *u);

/* One sentence: tokens as the model is given them, of the target <eos> first; source: without an encoder 0, NULL. */
typedef struct {
    size_t n[SIDES];
    const int32_t *token[SIDES];
} Sentence;

/* The states that enter every layer of this sentence; numbers of tokens and ids within the model's bounds
 * (ERR_MISUSE). *check (NULL: not wanted): the largest difference between the network put together from the field's
 * sublayers and nn/'s own forward pass, over the largest value: rounding. */
int truncator_sentence(Truncator *u, const Sentence *s, double *check);

/* Can this scheme be measured? 0; ERR_ACCURACY with words where it has no step of the field asked for,
 * ERR_INPUT where it has flows (choose a sub-flow solver: NAME:euler). */
int truncator_takes(const Truncator *u, const Table *scheme);

/* The frozen table that steps on the field: of FIELD_LAYER one over F alone, which stands for L, with the
 * weights 1 and 0. Caller: table_free. */
int truncator_table(const Truncator *u, const Table *scheme, Table **out);

/* One scheme in one layer (from 0) of the sentence. Solved flows and differentials are kept until the
 * next sentence or layer, so schemes are best asked for one after another. ERR_NUMERIC: the flow leaves
 * the numbers. */
int truncator_measure(Truncator *u, int layer, const Table *scheme, Truncation *out);

/* Sentence i of a side is token[side][start[side][i]] .. token[side][start[side][i + 1] - 1]. */
typedef struct {
    size_t count;
    const size_t *start[SIDES];  /* (count + 1); without a source NULL */
    const int32_t *token[SIDES]; /* (start[count]) */
} Sentences;
Sentence sentence_at(const Sentences *s, size_t i);

/* Medians and quartiles over sentences and layers. */
typedef struct {
    double low, median, high;
} Spread;

typedef struct {
    size_t measured; /* pairs of sentence and layer behind the numbers */
    int order;
    Spread relative; /* relative error at h = 1 */
    Spread leading;  /* its leading term, likewise; NaN without options.terms */
    /* Share of the pairs with a leading term that truncation_governed is 1 of; NaN: none */
    double governed;
    double time[COLOURS]; /* as of Truncation */
    Spread slope;         /* of the error over its asymptotic window; NaN where there is none */
    double smooth;        /* share of pairs whose own step, h = 1, is in the asymptotic regime */
    double agreement;     /* worst */
    double check;         /* worst, of truncator_sentence */
} TruncationSummary;

/* All of one scheme: of the model's own trained scheme this is what `compare` shows. */
int truncation_summary(Model *m, const Table *trained, const Table *scheme, const Sentences *s,
                       const TruncationOptions *o, TruncationSummary *out);

/* ---- path.c: the exact path ------------------------------------------------------------------------- */

/* The states (layers + 1, n d) that enter each layer of the sentence, and the last one's output: the
 * network's own steps; borrowed until the next sentence. */
const double *truncator_states(const Truncator *u);
/* path (layers * parts + 1, n d) out: the exact flow from the embedding, weights piecewise constant in
 * depth-time, at times i / parts. */
int truncator_path(Truncator *u, size_t parts, double *path);

/* ---- jacobian.c: frozen Jacobians --------------------------------------------------------------------- */

/* At the state x that enters a layer. A causal network's Jacobian is block lower triangular in the
 * tokens, so its eigenvalues are those of the diagonal blocks: all of them, exactly, from columns taken
 * by central differences along the coordinates. An encoder's is full, and so are its eigenvalues found. lipschitz: the
 * largest singular value of F'(x), G'(x), C'(x) by power
 * iteration on J^T J: the Lipschitz constant at x, a lower bound of that of any set around it. */
typedef struct {
    /* The first ones, as many as fit JACOBIAN_MOST coordinates; of an encoder all: ERR_INPUT */
    size_t tokens;
    double lipschitz[COLOURS];
    size_t count;
    double (*eigen)[2]; /* (count) re, im, of F' + G' (+ C'), or of L', block after block; owned */
    /* The diagonal blocks of F', G', C' themselves, or in [OP_F] of L': causal one of each token, else one; owned. */
    size_t block;            /* coordinates of one */
    double *blocks[COLOURS]; /* (count / block, block, block); NULL: no such operator */
} Jacobian;
enum { JACOBIAN_MOST = 1024 };
int truncator_jacobian(Truncator *u, int layer, Jacobian *out);
void jacobian_free(Jacobian *j);

/* ---- refine.c: more steps without retraining ---------------------------------------------------------- */

/* A model with the weights of m in which each layer is `substeps` steps of size 1 / substeps of a scheme
 * (symbols at their starting values), the layer's weights frozen: as its plan, so that nn/ evaluates
 * it. Sets as for FIELD_SPLIT. Caller: model_free. ERR_ACCURACY where the
 * model lacks an operator; ERR_INPUT: flows. */
int bridge_refine(Model *m, const Table *trained, const Table *scheme, size_t substeps,
                  Model **out);

/* ---- truncation_summary.c ------------------------------------------------------------------------------ */

/* Median and quartiles (linear interpolation between order statistics) of the x (n) that are no NaN;
 * sorts x. NaN where there are none. */
Spread spread_of(double *x, size_t n);

#endif
