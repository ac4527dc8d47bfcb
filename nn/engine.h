/* engine.h: shared by the files of the engine: the inside of a model. Reading order:
 *
 *   params.c     tensors: names, shapes, starting values
 *   ends.c       words to r0, the output to a loss; adaptive.c: also, with narrow rare words
 *   heads.c      both ends of an encoder alone: masked words, classes
 *   filled.c     rows filled up to few numbers of them
 *   spans.c      attention spans: their term of the loss
 *   lists.c      host lists
 *   layout.c     memory, sized once from the plan
 *   fuse.c       instructions that are done in one pass over memory
 *   model.c      all of that put together
 *   share.c      gradients summed over ranks
 *   sublayer.c   the inside of a sublayer, forward and backward
 *   pass.c       forward and backward over the plan
 *   parts.c      parts of it by themselves
 *   weights.c    where attention looks
 *   decode.c     a token at a time, with caches
 *   step.c       a step of training
 *
 * Everything a pass touches is laid out once, by model_new:
 *
 *   data, grad, moment   one number per parameter, every tensor a window (Param)
 *   arena                everything else a pass writes, pieces sharing memory where they can (layout.c):
 *     state, adjoint     registers of the plan and their adjoints, (max N, D) each
 *     work, again        what an EVAL leaves for its backward, and what that reads (Work)
 *     out                the loss's end
 *
 * Training keeps what backward reads: the registers that an EVAL or a GATE reads or a learned factor multiplies, and
 * every Work. With config.recompute no Work is kept; each is made again just before its backward, from the register
 * that the EVAL reads. Without training nothing outlives its last reader.
 *
 * Numbers that only products read are `factors` (kernels/backend.h). Where a backend keeps factors apart, a model for
 * training has a separate arena for them. Elsewhere factors are plain numbers, and some of the buffers below coincide.
 */
#ifndef TROTTER_ENGINE_H
#define TROTTER_ENGINE_H

#include "nn/model/arena.h"
#include "nn/nn.h"

/* Logits exist for a block of rows: at least LOGIT_LEAST, and as many as suit the backend. */
enum { LOGIT_LEAST = 64, MODEL_BUFFERS = 32 };

/* A sublayer is norm -> y = x W_in^T (I, D) -> core -> y = c W_out^T (D, O) -> + b, dropout. The core is attention (I =
 * 3D, O = D), cross-attention (I = O = D, x being the queries' alone) or bias and activation (I = O = M). Members are
 * offsets into data. */
typedef struct {
    size_t I, O;           /* 0 for a norm */
    size_t norm_w, norm_b; /* (D) */
    size_t in_w, in_b;     /* (I, D), (I) */
    size_t out_w, out_b;   /* (D, O), (D) */
    size_t keys_w, keys_b; /* (2D, D), (2D), for cross-attention */
    size_t relative;       /* (2*clip+1, D/H), if any */
    /* (H), if any; outside the slot's window, beside the spans of all slots. */
    size_t span;
    /* End of the slot's window, which begins with norm_w and lacks the span. */
    size_t end;
    /* First instruction of the slot; once backward is behind it, all its gradients are complete. */
    size_t first;
} SlotParams;

typedef struct {
    size_t w, b; /* (inputs, D), (1) */
} GateParams;

/* Buffers that an EVAL leaves for its backward, and those that its backward writes. */
typedef struct {
    void *base, *factors; /* pieces of memory */
    void *normed;         /* (N, D) factors */
    void *stats;          /* (N, 2) of the norm: mean, rstd */
    void *in;             /* (N, I): qkv or q, or the input of the activation */
    void *core;           /* (N, O) factors: attention's output, or the activation's */
    void *out;            /* (N, D): output of attention's core as numbers */
    void *lse;            /* (N, H), attention */

    void *adjoints, *dfactors; /* pieces of memory in backward; a KEYS has them too */
    void *dy, *din;            /* (N, D), (N, I) factors; a KEYS has dy (M, 2D) */
    void *dcore, *dnormed;     /* (N, O), (N, D) */
    void *dqkv;                /* (N, I): din of attention as numbers */
} Work;

/* A window lo .. hi-1 of the gradients. */
typedef struct {
    size_t lo, hi;
} Window;

typedef struct Recorded Recorded;

/* Sums over ranks. `waits` is the window of gradients that waits for more before its sum is begun. Where the step is
 * recorded, sums are noted in it (recorded.c); `next` holds the next ones. */
enum { NEXT_MOST = 3 };
typedef struct {
    Ranks *ranks;
    Window waits;
    Recorded *recorded; /* NULL: sums are begun at once */
    size_t count;
    Window next[NEXT_MOST];
} Sums;

/* The rows of a pass, and how it runs. */
typedef struct Pass Pass;
struct Pass {
    const Model *m; /* for functions that get only a Pass: the operations of plan_walk */
    size_t N, S;    /* rows of the target; sequences */
    int train;      /* dropout on */
    int more;       /* gradients are added to those there, not to zeros */
    int elsewhere;  /* another rank adds the loss's term of spans */
    size_t tokens;  /* the loss is the sum over the rows divided by this */
    size_t first;   /* rows of the batch before these, which other ranks have */
    size_t longest; /* bound on the length of this batch's sequences; 0: unknown */
    struct {
        size_t N, first, longest;
    } source;   /* the same for the source's rows */
    Sums *sums; /* sums of the gradients over ranks, begun while backward runs; NULL: none */
    /* With tails: where the rows of the head (0) and of tail i begin among the rows sorted by cluster and filled up, by
     * input (in) and by target (out). The head has every target, so targets of tails begin at 0. */
    size_t in[TAILS_MOST + 2], out[TAILS_MOST + 2];
    /* Rows of out.asked, whose words the loss counts: N, except for an encoder alone (heads.c). */
    size_t asked;
    /* For an encoder alone: masked words, filled up; sequences with a label (0 or S); the factor of their mean in the
     * loss before it is divided by `tokens`; sequences of the batch before these, which other ranks have. */
    size_t words, labels;
    double label_weight;
    size_t before;
    /* Called after every EVAL of the plan, instr[i]; NULL: not called. */
    void (*see)(const Pass *p, size_t i, void *context);
    void *context;
};

/* The operations on words at both ends of a network: ends_plain (ends.c), ends_adaptive (adaptive.c) or ends_heads
 * (heads.c). */
typedef struct {
    /* Sends a batch's inputs and targets. */
    void (*send)(const Model *m, const Batch *x, Pass *p);
    /* embed makes the first register of a side from its inputs; embed_back makes the embedding's gradient from the
     * adjoints of all sides. */
    void (*embed)(const Model *m, const Pass *p, int side);
    void (*embed_back)(const Model *m, const Pass *p);
    /* Makes out.asked from out.hidden; NULL: they are the same. */
    void (*head)(const Model *m, const Pass *p);
    /* Writes out.nll (asked) from out.asked; with back also out.dhidden, the adjoints of its sum / p->tokens. */
    void (*loss)(const Model *m, const Pass *p, int back);
    /* logits (n, V) out, host: those of rows at .. at+n-1 of out.asked, after ends_logits; or log p, whose softmax is
     * also p. ERR_MEMORY. */
    int (*logits)(const Model *m, size_t at, size_t n, double *logits);
} Ends;

/* The loss's end of a network: its tensors and buffers. */
typedef struct {
    size_t rows;   /* rows of the matrix: V, or the head's words and one entry per tail */
    size_t widest; /* most columns of logits: rows, or the words of the largest tail */
    size_t matrix, norm_w, norm_b;
    size_t bias;   /* (rows) bias of logits; 0: none */
    void *hidden;  /* (N, D) after the final norm */
    void *stats;   /* (N, 2) of the final norm */
    void *dhidden; /* (N, D), training */
    void *asked;   /* (asked, D) factor of the logits: hidden, or a head's output */
    int factors;   /* 1: asked holds factors */
    void *dasked;
    size_t block;  /* rows whose logits exist at a time */
    void *logits;  /* (block, widest) */
    void *dlogits; /* (block, widest) factors */
    void *nll;     /* (max N) */
} Output;

/* A cluster of rare words, see adaptive.c. */
typedef struct {
    size_t first, words; /* ids first .. first + words - 1 */
    size_t width;        /* w */
    /* Input and output share them, except in an untied model. */
    size_t embed, output;           /* (words, w) */
    size_t project, output_project; /* (D, w) */
} Tail;

/* Buffers of adaptive.c at the embedding, at the loss and at the embedding's adjoint. */
enum { MIX_EMBED, MIX_LOSS, MIX_BACK, MIXES };
typedef struct {
    void *wide;           /* (N, D) */
    void *narrow, *other; /* (N, width of the first tail) */
} Mix;

/* With tails the batch's inputs are sorted by cluster, and its targets are the head's. Lists are (filled_most), but
 * place and label (max N). */
typedef struct {
    Tail tail[TAILS_MOST];
    Mix mix[MIXES];
    int32_t *place;  /* place of a row's input among the sorted ones */
    int32_t *row;    /* rows whose target is in a tail, sorted by it */
    int32_t *within; /* number of the target in its tail */
    void *nll;       /* nll of those rows */
    size_t labels;   /* number of tails where labels are smoothed, else 0 */
    /* (labels, max N) number of a row's target in a tail; NO_TARGET: the target is in another tail */
    int32_t *label;
    /* (5 + labels, filled_most) on the host: input, place, target, row, within, label */
    int32_t *sorted;
} Tails;

/* A dense layer over n rows of out.hidden. A norm (D), (D), or classes (C, D), (C) follow it. */
typedef struct {
    size_t dense_w, dense_b; /* (D, D), (D) */
    size_t w, b;
    int32_t *row;               /* (max N) in backend memory */
    void *picked, *dense, *act; /* (n, D): the rows, before and behind the activation */
    void *dact;                 /* (n, D), training */
} Head;

/* Buffers for dropping words of the source (ends.c). */
typedef struct {
    void *kept;          /* (M) 0 or 1 / (1 - rate) of each row */
    void *words, *place; /* (M, D) embeddings, positions */
    void *dwords;        /* (M, D), training */
} Dropped;

/* Both ends of an encoder alone (heads.c). */
typedef struct {
    Head words, label;
    void *stats;       /* (words, 2) */
    void *z;           /* (S, C) */
    void *off;         /* (S) z - y, for labels that are numbers */
    int32_t *label_of; /* (S) */
    void *value;       /* (S) y */
    size_t segments;   /* (config.segments, D) offset */
    int32_t *segment;  /* (N) */
    void *wide;        /* (N, D) embeddings of the segments */
    int32_t *list;     /* (max N) on the host */
} Heads;

/* A part's role in its step: a single part is first and last, one in the middle is neither. PART_RANKS: trained by
 * ranks. */
enum { PART_FIRST = 1, PART_LAST = 2, PART_RANKS = 4 };

/* Everything that the calls of a part of a training step depend on; one recording serves one shape. Members from in on
 * are a Pass's. */
typedef struct {
    size_t role, N, S;
    double beta1, beta2, eps, clip, decay;
    size_t first;
    size_t source, source_first;
    size_t longest, source_longest;
    size_t in[TAILS_MOST + 2], out[TAILS_MOST + 2];
    size_t words, labels, before;
    double square; /* factor of the adjoints of square errors, or 0 */
} StepShape;

/* Calls that are replayed, and the sums over ranks that follow them: begun, and with `wait` also waited for. */
typedef struct {
    Recording *calls;
    size_t count;
    Window sum[NEXT_MOST];
    int wait;
} RecordedPiece;

/* The calls of a shape, cut where ranks sum. No pieces: the shape was met once and is recorded when it comes again. */
struct Recorded {
    StepShape shape;
    size_t pieces;
    RecordedPiece *piece; /* (pieces) */
    uint64_t used;        /* time of the last use; 0: the place is free */
};

/* Recordings of a model. The Penn Treebank's sentences make some 90 shapes of batches. */
enum { RECORDED_MOST = 256 };

/* A term of a LIN. */
typedef struct {
    size_t instr, term;
} Reader;

/* Work that pass_forward does at an instruction in addition, or has done before: fuse.c. */
typedef struct {
    int line; /* 1: the LIN behind this EVAL reads it, and the EVAL does it */
    int kept; /* 1: another instruction reads the EVAL's register */
    /* The norm inside instruction `norm`, of the register that the LIN wrote; the number of instructions: the final
     * norm; 0: none. */
    size_t norm;
    int normed; /* 1: an EVAL before does this one's norm */
} Fuse;

/* Neighbouring numbers of the flat buffers that are all decayed or all not decayed. */
typedef struct {
    size_t offset, size;
    int decays;
} Stretch;

/* Starting values of a tensor; parallel to the list of Param. */
typedef struct {
    int kind; /* START_* in params.c */
    double value;
} Start;

struct Model {
    ModelConfig config;
    Plan *plan;
    const Backend *backend;
    const Ends *ends;
    int training;
    int counted; /* 1: the model has no buffers, only their sizes are asked for */
    size_t E;    /* D / H */

    Param *param;
    Start *start;
    size_t params, size;
    Stretch *stretch; /* (stretches <= params) they cover the flat buffers, in order */
    size_t stretches;
    SlotParams *slot; /* (plan->slots) */
    size_t *scalar;   /* (plan->scalars) offsets */
    GateParams *gate; /* (plan->gates) */
    size_t embed;
    struct {
        size_t first, count;
    } spans; /* first number of all spans, and their count */

    void *buffer[MODEL_BUFFERS]; /* all device memory, for model_free */
    size_t buffers, bytes[MEMORY_KINDS];
    void *data, *grad, *moment[2];
    void *twin; /* twin of data, where the backend has one (Backend.weights) */

    size_t *from;   /* (registers+1) first reader of each register */
    Reader *reader; /* LINs that read a register, the last first */
    int *pull;      /* (registers) instruction where backward first needs the adjoint, see pass.c */
    Fuse *fuse;     /* (instrs) */
    struct {
        void *p;
        size_t size;
    } arena[2];     /* arenas of numbers and of factors */
    void **state;   /* (registers) (N, D); (M, 2D) for keys */
    void **adjoint; /* (registers) (N, D), training */
    void *gates;    /* (gates, max N) */
    void *dgates;   /* (gates, max N) training */
    Work *work;     /* (instrs) as forward writes it */
    Work *again;    /* (instrs) as backward reads it, training */

    void *positions; /* (max_length, D) sinusoids, or NULL */
    Output out;
    void *zeros; /* (D), for dropout without a bias, or NULL */
    Tails tails;
    Heads heads;
    Dropped dropped;

    /* Lists in backend memory. */
    struct {
        int32_t *input, *target, *position; /* (max N) */
        size_t *begins;                     /* (max N + 1) first row of each sequence */
        int32_t *source, *place;            /* (max source N) input and position of the source */
        /* (max N + 1) there are as many sequences as on the target's side. */
        size_t *source_begins;
    } batch;
    Step *step;
    uint64_t *masks; /* (1) number of the dropout masks of a pass */

    Recorded *recorded; /* (RECORDED_MOST) parts of a training step, by shape */
    uint64_t recorded_clock;

    LinTerm *term; /* host lists: terms of all lines, and one more */
    const void **gate_x;
    void **gate_dx;
};

/* Tells whether factors are kept apart from numbers. */
static inline int keeps_factors(const Model *m)
{
    return m->training && m->backend->factors != NULL;
}

/* Copies attention's output to where the next product reads it. */
static inline void core_factors(const Model *m, size_t N, const Work *w)
{
    if (w->core != w->out) m->backend->copy(w->core, w->out, N * m->config.width);
}

/* Return windows of the flat buffers. */
static inline void *data(const Model *m, size_t offset)
{
    return backend_at(m->backend, m->data, offset);
}

static inline void *grad(const Model *m, size_t offset)
{
    return backend_at(m->backend, m->grad, offset);
}

static inline size_t index_of(const Model *m, const PlanInstr *in)
{
    return (size_t)(in - m->plan->instr);
}

/* Return the most rows of a side, and (rows) those of a pass. */
static inline size_t most_rows(const Model *m, int side)
{
    return side == SIDE_SOURCE ? m->config.max_source : m->config.max_tokens;
}

/* Returns the activation of a feed-forward slot. */
static inline int activation(const Model *m, int slot)
{
    return m->config.first_relu && m->plan->slot[slot].set == 1 ? ACT_RELU : m->config.act;
}

/* Tells whether a norm stands behind the last layer. */
static inline int ends_in_norm(const Model *m)
{
    return !m->plan->post && !m->config.no_final_norm;
}

/* Returns the longest sequence of either side. */
static inline size_t longest(const Model *m)
{
    const ModelConfig *c = &m->config;
    return c->max_length > c->max_source_length ? c->max_length : c->max_source_length;
}

static inline size_t rows(const Pass *p, int side)
{
    return side == SIDE_SOURCE ? p->source.N : p->N;
}

/* Returns the rows that an instruction of a slot works on. */
static inline size_t instr_rows(const Pass *p, const PlanInstr *in)
{
    return rows(p, p->m->plan->slot[in->slot].side);
}

/* Returns the numbers from one gate's values to the next's: the rows of the longer side. */
static inline size_t gate_rows(const Model *m)
{
    const ModelConfig *c = &m->config;
    return c->max_tokens > c->max_source ? c->max_tokens : c->max_source;
}

/* Returns the numbers in a row of a register. */
static inline size_t columns(const Model *m, int r)
{
    return (m->plan->reg[r].keys ? 2 : 1) * m->config.width;
}

/* Returns the dropout of a side's rows of `columns` elements; place: sublayer.c. */
static inline Dropout drop(const Pass *p, int side, double rate, uint64_t place, size_t columns)
{
    return (Dropout){.rate = p->train ? rate : 0,
                     .seed = p->m->config.seed,
                     .stream = place,
                     .step = p->m->masks,
                     .first = (side == SIDE_SOURCE ? p->source.first : p->first) * columns};
}

/* params.c. params_list lists all tensors and their places; params_init sets their starting values. */
void params_list(Model *m);
int params_init(Model *m);

/* Places of dropout's masks (sublayer.c). No draw reaches them. */
enum {
    PLACE_SOURCE = (1 << DROPOUT_STEP) - 1,
    PLACE_POOL = PLACE_SOURCE - 1,
    PLACE_WORDS = PLACE_SOURCE - 2
};

/* ends.c. ends_logits is the loss's first step: out.logits (n, out.rows) = rows at .. at+n-1 of out.asked times the
 * output's matrix, plus its bias; it returns n <= out.block. ends_loss writes the cross-entropy of all asked rows with
 * labels q into out.nll; back: out.dasked. */
extern const Ends ends_plain;
int ends_plain_logits(const Model *m, size_t at, size_t n, double *z);
/* Gather and scatter rows by their numbers, with the kernels of the embedding: row i of y (n, cols) = row index[i] of
 * x; row index[i] of dx (rows, cols) += row i of dy (n, cols). */
void ends_gather(const Model *m, size_t n, size_t cols, const int32_t *index, const void *x,
                 void *y);
void ends_scatter(const Model *m, size_t n, size_t cols, size_t rows, const int32_t *index,
                  const void *dy, void *dx);
/* Return sqrt(D), the factor of the embedding, and the embedding's dropout. */
double ends_scale(const Model *m);
Dropout ends_drop(const Model *m, const Pass *p, int side);
size_t ends_logits(const Model *m, const Pass *p, size_t at);
void ends_loss(const Model *m, const Pass *p, const Labels *q, int back);
/* Returns the labels: all weight on the target or, in training, smoothed over the vocabulary. */
Labels ends_labels(const Model *m, const Pass *p);
/* Make the first register of a side from rows `index` of a matrix, and its adjoint: into dE (rows, D). */
void ends_embed(const Model *m, const Pass *p, int side, const int32_t *index, const void *E);
void ends_embed_back(const Model *m, const Pass *p, int side, size_t rows, const int32_t *index,
                     void *dE);

/* filled.c. filled_rows returns the rows that n rows of a batch are filled up to, at most `most` if n is not more.
 * filled_most bounds the rows of all clusters together. filled_list sets list[n .. size-1] to the filler and returns
 * the list. */
size_t filled_rows(const Model *m, const Pass *p, size_t n, size_t most);
size_t filled_most(const Model *m);
int32_t *filled_list(int32_t *list, size_t n, size_t size, int32_t filler);

/* adaptive.c. Check a configuration; set the shapes of the tails and of the output, which without tails is plain. */
extern const Ends ends_adaptive;
int adaptive_check(const ModelConfig *c);
void adaptive_shapes(Model *m);

/* heads.c. Check a configuration; check what a batch asks; return the factor of the adjoints of a loss of labels. */
extern const Ends ends_heads;
int heads_check(const ModelConfig *c, const Plan *p);
int heads_batch(const Model *m, const Batch *x);
double heads_grad(const Pass *p);

/* spans.c: these do nothing in a model without spans. They check a configuration; write the gradient of the loss's term
 * over zeros; put u back into 0 .. 1 after a step. */
int spans_check(const ModelConfig *c);
void spans_gradient(const Model *m);
void spans_clamp(const Model *m);

/* sublayer.c. sublayer_forward writes the register of an EVAL, without bias and dropout (`sublayer_drop`), which come
 * later; normed: its norm is done. sublayer_back makes the adjoints of its inside down to dnormed or, in a plan with
 * post norms, down to the register it reads; the adjoint of the EVAL's register is the sum of m->term[0 .. n-1]. */
void sublayer_forward(const Pass *p, const PlanInstr *in, int normed);
Dropout sublayer_drop(const Pass *p, const PlanInstr *in);
void sublayer_back(const Pass *p, const PlanInstr *in, size_t n);

/* fuse.c. Fills m->fuse. */
void fuse_find(Model *m);

/* lists.c. lists_make allocates host lists as long as the plan needs. lists_free frees them and the device buffers,
 * also where only some were allocated. */
int lists_make(Model *m);
void lists_free(Model *m);

/* layout.c. Allocates the device buffers, once the parameters are listed. */
int layout_buffers(Model *m);

/* recorded.c. recorded_find returns the place of a shape among the model's recordings; it forgets the least recently
 * used one. Calls between _begin and _end are recorded, with _cut where ranks sum (the sums of s->next, and with `wait`
 * the wait for all); _replay runs them all again. A cut that fails ends the ranks, which would wait for its sums. */
Recorded *recorded_find(Model *m, const StepShape *s);
int recorded_begin(const Model *m, Ranks *ranks);
void recorded_cut(const Model *m, Sums *s, int wait);
int recorded_end(const Model *m, Recorded *r, Ranks *ranks);
int recorded_replay(const Model *m, const Recorded *r, Ranks *ranks);
void recorded_free(const Model *m, Recorded *r);

/* share.c. With p->sums, share_after begins the sums that are ready when backward has done instruction i; share_nothing
 * does so for a rank without rows; share_rest sums the rest and waits. */
void share_after(const Model *m, const Pass *p, size_t i);
void share_nothing(const Model *m, const Pass *p);
void share_rest(const Model *m, const Pass *p);

/* parts.c. Begins a pass over one sequence of N tokens (pass_begin), dropout off. A token or a position that the model
 * lacks: ERR_MISUSE. */
int pass_tokens(const Model *m, size_t N, const int32_t *token, Pass *p);

/* pass.c. pass_inputs returns a Step that has only its inputs; pass_step sends one; pass_masks sends the number of the
 * masks; pass_begin checks and sends a batch, pass_source the source's part of one. */
Step pass_inputs(const Pass *p, uint64_t step, double rate);
void pass_step(const Pass *p, uint64_t step, double rate);
void pass_masks(const Model *m, uint64_t number);
int pass_begin(const Model *m, const Batch *x, int train, Pass *p);
int pass_source(const Model *m, const Batch *x);
/* Forward's operation for each op; arg is the Pass. pass_end makes out.hidden from the output's register. */
extern PlanOp *const pass_op[PLAN_OPS];
void pass_end(const Model *m, const Pass *p);
/* Tells whether a kernel of instruction i makes the adjoint of register r by itself in backward. */
int fuse_pulls(const Model *m, size_t i, int r);
/* Run on the batch that was sent: pass_forward makes out.hidden, pass_gradient the gradient of the mean loss. */
void pass_forward(const Model *m, const Pass *p);
void pass_gradient(const Model *m, const Pass *p);

#endif
