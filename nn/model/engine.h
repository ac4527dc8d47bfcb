/* engine.h: the inside of a model, for the files of the engine. Reading order:
 *
 *   params.c     tensors: names, shapes, starting values
 *   ends.h       words in, a loss out
 *   lists.c      host lists
 *   layout.c     memory, sized once from the plan
 *   fuse.c       instructions that are done in one pass over memory
 *   model.c      all of that put together
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

#include "kernels/ranks.h"
#include "nn/model/arena.h"
#include "nn/model/ends.h"

enum { MODEL_BUFFERS = 32 };

/* A sublayer is norm -> y = x W_in^T (I, D) -> core -> y = c W_out^T (D, O) -> + b, dropout. The core is attention (I =
 * A + 2 K E, O = A = H E), cross-attention (I = O = D, x being the queries' alone) or bias and activation (I = O = M; gated I = 2 M). Members
 * are offsets into data. A SLOT_WORDS has a row a word at in_w, and a row a place at in_b where these are learned. */
typedef struct {
    size_t I, O;           /* 0 for a norm, and for words */
    size_t norm_w, norm_b; /* (D) */
    size_t in_w, in_b;     /* (I, D), (I); a bias that is not there: 0 */
    size_t out_w, out_b;   /* (D, O), (D) */
    size_t keys_w, keys_b; /* (2D, D), (2D), for cross-attention */
    size_t relative;       /* (2*clip+1, E), if any */
    size_t q_norm, k_norm; /* (E), with head_norm */
    /* End of the slot's window, which begins with norm_w. */
    size_t end;
    /* First instruction of the slot; once backward is behind it, all its gradients are complete. */
    size_t first;
    /* The last EVAL and KEYS of the slot: backward's first; SIZE_MAX: none. */
    size_t last, last_keys;
} SlotParams;

typedef struct {
    size_t w, b; /* (inputs, D), (1) */
} GateParams;

/* Buffers that an EVAL leaves for its backward, and those that its backward writes. */
typedef struct {
    void *base, *factors; /* pieces of memory */
    void *normed;         /* (N, D) factors */
    void *stats;          /* (N, 2) of the norm: mean, rstd */
    void *in;  /* (N, I): qkv (HeadsAt) or q, or the input of the activation, or the bits of ReLU */
    void *raw; /* (N, A), behind it (N, K E): queries and keys before their norms, with head_norm */
    void *head_stats; /* (N (H + K), 2) of these norms */
    void *core;       /* (N, O) factors: attention's output, or the activation's */
    void *out;        /* (N, A): output of attention's core as numbers */
    void *lse;        /* (N, H), attention */

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
struct Pass {
    const Model *m; /* for functions that get only a Pass: the operations of plan_walk */
    size_t N, S;    /* rows of the target; sequences */
    int train;      /* dropout on */
    int whole;      /* instructions are fused (fuse.c), as none is run apart */
    int more;       /* gradients are added to those there, not to zeros */
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
    /* Rows of out.asked, whose words the loss counts: N, except for an encoder alone (encoder_ends.c). */
    size_t asked;
    /* For an encoder alone: masked words, filled up; sequences with a label (0 or S); the factor of their mean in the
     * loss before it is divided by `tokens`; sequences of the batch before these, which other ranks have. */
    size_t words, labels;
    double label_weight;
    size_t before;
    /* Called after every EVAL of the plan, instr[i]; NULL: not called. */
    void (*see)(const Pass *p, size_t i, void *context);
    /* Makes w->core of attention from w->normed, in place of the sublayer's own; NULL: it is not replaced. */
    void (*attend)(const Pass *p, const PlanInstr *in, const Work *w);
    void *context;
};

/* A part's role in its step: a single part is first and last, one in the middle is neither. PART_RANKS: trained by
 * ranks. */
enum { PART_FIRST = 1, PART_LAST = 2, PART_RANKS = 4 };

/* Everything that the calls of a part of a training step depend on; one recording serves one shape. */
typedef struct {
    size_t role;
    double beta1, beta2, eps, clip, decay;
    double square; /* factor of the adjoints of square errors, or 0 */
    Pass pass;     /* with zeros for what is sent as data */
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

/* Memory of numbers, and of factors where these are kept apart. */
enum { NUMBERS, FACTORS, ARENAS };

struct Model {
    ModelConfig config;
    Plan *plan;
    const Backend *backend;
    const Ends *ends;
    int training;
    int counted; /* 1: the model has no buffers, only their sizes are asked for */
    size_t E, A; /* numbers of a head, and of all: D / H unless said otherwise, and H E */

    Param *param;
    Start *start;
    size_t params, size;
    Stretch *stretch; /* (stretches <= params) they cover the flat buffers, in order */
    size_t stretches;
    /* What a step sets to 0: all gradients but those that a product writes before others add to them. */
    size_t *clear, clears; /* (clears, 2) windows, in memory of the backend */
    size_t cleared;        /* their numbers */
    SlotParams *slot;      /* (plan->slots) */
    size_t *scalar;        /* (plan->scalars) offsets */
    GateParams *gate;      /* (plan->gates) */
    size_t embed;

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
    } arena[ARENAS]; /* arenas of numbers and of factors */
    void **state;    /* (registers) (N, D); (M, 2D) for keys */
    void **adjoint;  /* (registers) (N, D), training */
    void *gates;     /* (gates, max N) */
    void *dgates;    /* (gates, max N) training */
    Work *work;      /* (instrs) as forward writes it */
    Work *again;     /* (instrs) as backward reads it, training */

    void *positions; /* (longest, D) added to the input: sinusoids, or a tensor; NULL: none */
    size_t position; /* offset of that tensor */
    void *turns;     /* (longest, E) cosines, then sines, of rotary positions; NULL: none */
    void *local;     /* the same of layers with a window; NULL: as turns */
    Output out;
    void *zeros; /* in the place of biases that are not there, or NULL */
    Tails tails;
    Heads heads;

    /* Lists in backend memory. */
    struct {
        int32_t *input, *target, *position; /* (max N) */
        size_t *begins;                     /* (max N + 1) first row of each sequence */
        int32_t *source, *place;            /* (max source N) input and position of the source */
        /* (max N + 1) there are as many sequences as on the target's side. */
        size_t *source_begins;
    } batch;
    /* Of a plan with a PENALTY (penalty.c): a number a row in backend memory, and on the host two a row, and the sum of the
     * penalties since it was asked for; else NULL. */
    struct {
        void *row;
        double *list, *sum;
    } penalty;
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
    return m->training && m->backend->factor_size != m->backend->size;
}

/* Steps over i elements from p, which may be in memory of numbers or of factors: the address tells which, as it does to
 * kernels (Backend.factors). */
static inline void *element_at(const Model *m, const void *p, size_t i)
{
    const Backend *b = m->backend;
    const char *factors = m->arena[FACTORS].p, *end;
    if (!factors) return backend_at(b, p, i);
    end = backend_factor_at(b, factors, m->arena[FACTORS].size);
    int within = (const char *)p >= factors && (const char *)p < end;
    return within ? backend_factor_at(b, p, i) : backend_at(b, p, i);
}

/* Copies attention's output to where the next product reads it. */
static inline void core_factors(const Model *m, size_t N, const Work *w)
{
    if (w->core != w->out) m->backend->copy(w->core, w->out, N * m->A);
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

/* Return a bias of a sublayer's linear layer from its row `from` on, and its gradient; offset 0, which is the embedding's:
 * there is none, but zeros, and NULL. */
static inline const void *bias(const Model *m, size_t offset, size_t from)
{
    return offset ? data(m, offset + from) : m->zeros;
}

static inline void *bias_grad(const Model *m, size_t offset, size_t from)
{
    return offset ? grad(m, offset + from) : NULL;
}

/* Tells whether the loss writes the gradient of the matrix of logits before others add to it. */
static inline int writes_matrix(const Model *m)
{
    return m->ends == &ends_plain;
}

/* Makes dy^T x, the gradient dW (O, I) of a weight, or adds it to what is there, aside; dy (N, O), x (N, I). db: that of
 * the bias that was given to bias_back or activate_back too (Backend.weigh); NULL: none. */
static inline void weight_back(const Model *m, size_t N, size_t O, const void *dy, size_t I,
                               const void *x, int more, void *dW, void *db)
{
    const Backend *b = m->backend;
    b->aside(1);
    b->weigh(b, N, O, I, dy, x, more, dW, db);
    b->aside(0);
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

/* Returns the numbers of a token's keys in self-attention, K E; so many are its values. */
static inline size_t key_width(const Model *m)
{
    return (m->config.kv_heads ? m->config.kv_heads : m->config.heads) * m->E;
}

/* Where keys and values of self-attention are in w->in, which has the queries in front, and the row strides. They are the
 * columns of one matrix (N, I). With norms of heads they are three, one behind the other, of rows without gaps, as the
 * kernel of norms reads them. */
typedef struct {
    size_t k, v, ldq, ldk;
} HeadsAt;

static inline HeadsAt heads_at(const Model *m, size_t N)
{
    size_t A = m->A, W = key_width(m), I = A + 2 * W;
    return m->config.head_norm ? (HeadsAt){N * A, N * (A + W), A, W} : (HeadsAt){A, A + W, I, I};
}

/* Returns the positions of a side's rows in their sequences. */
static inline const int32_t *places(const Model *m, int side)
{
    return side == SIDE_SOURCE ? m->batch.place : m->batch.position;
}

/* Returns how many tokens self-attention of a slot sees, as it is said, and (window_of) where that is less than all. */
static inline size_t window_said(const Model *m, const PlanSlot *s)
{
    const ModelConfig *c = &m->config;
    return c->windows ? c->window[(size_t)s->layer % c->windows] : 0;
}

static inline size_t window_of(const Model *m, const PlanSlot *s)
{
    size_t window = window_said(m, s);
    return window < m->config.max_length ? window : 0;
}

/* Turns n heads of queries or keys of a slot, x (N, n E) with row stride ld, where positions are rotary; back: their
 * adjoints. */
static inline void turn_heads(const Model *m, const PlanSlot *s, size_t N, size_t n, void *x,
                              size_t ld, int back)
{
    const void *table = m->local && window_said(m, s) ? m->local : m->turns;
    if (table) m->backend->rotate(N, n, m->E, x, ld, places(m, s->side), table, back);
}

static inline NormKind norm_kind(const Model *m)
{
    double eps = m->config.norm_eps;
    return (NormKind){m->config.norm, eps > 0 ? eps : 1e-5};
}

/* Return the bias of a norm, and its gradient; NULL: NORM_RMS has none. */
static inline void *norm_bias(const Model *m, size_t offset)
{
    return m->config.norm == NORM_RMS ? NULL : data(m, offset);
}

static inline void *norm_bias_grad(const Model *m, size_t offset)
{
    return m->config.norm == NORM_RMS ? NULL : grad(m, offset);
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
enum { PLACE_SOURCE = (1 << DROPOUT_STEP) - 1, PLACE_POOL = PLACE_SOURCE - 1 };

/* fuse.c. Fills m->fuse. */
void fuse_find(Model *m);
/* Tells whether a kernel of instruction i makes the adjoint of register r by itself in backward. */
int fuse_pulls(const Model *m, size_t i, int r);

/* lists.c. lists_make allocates host lists as long as the plan needs. lists_free frees them and the device buffers,
 * also where only some were allocated. */
int lists_make(Model *m);
void lists_free(Model *m);

/* layout.c. Allocates the device buffers, once the parameters are listed. */
int layout_buffers(Model *m);

/* clear.c: bytes of Model.clear; puts it there. */
size_t clear_size(Model *m);
int clear_send(Model *m);

/* recorded.c. recorded_find returns the place of a shape among the model's recordings; it forgets the least recently
 * used one. Calls between _begin and _end are recorded, with _cut where ranks sum (the sums of s->next, and with `wait`
 * the wait for all); _replay runs them all again. A cut that fails ends the ranks, which would wait for its sums. */
Recorded *recorded_find(Model *m, const StepShape *s);
int recorded_begin(const Model *m, Ranks *ranks);
void recorded_cut(const Model *m, Sums *s, int wait);
int recorded_end(const Model *m, Recorded *r, Ranks *ranks);
int recorded_replay(const Model *m, const Recorded *r, Ranks *ranks);
void recorded_free(const Model *m, Recorded *r);

#endif
