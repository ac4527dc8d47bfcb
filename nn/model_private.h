/* model_private.h: what model.c (building), layout.c (memory) and pass.c (running) share.
 *
 * Everything a pass touches is laid out once, by model_new:
 *
 *   data, grad, moment   one number per parameter, every tensor a window (Param)
 *   arena                everything else a pass writes, pieces sharing memory where they can (layout.c):
 *     state, adjoint     registers of the plan and their adjoints, (max N, D) each
 *     work, again        what an EVAL leaves for its backward, and what that reads (Work)
 *     hidden, logits ..  both ends
 *
 * In training what backward reads is kept: of the registers those that an EVAL or a GATE reads or that
 * a learned factor multiplies, and all of a Work; with config.recompute no Work is kept, each is made
 * again just before its backward, from the register that the EVAL reads. Without training nothing
 * outlives its last reader.
 */
#ifndef TROTTER_MODEL_PRIVATE_H
#define TROTTER_MODEL_PRIVATE_H

#include "nn/arena.h"
#include "nn/nn.h"

/* Logits exist for a block of rows: many enough for a fast product, few enough for V large. */
enum { LOGIT_LEAST = 64, LOGIT_MOST = 512, LOGIT_NUMBERS = 1 << 23, MODEL_BUFFERS = 20 };

/* A sublayer is norm -> y = x W_in^T (I, D) -> core -> y = c W_out^T (D, O) -> + b, dropout, where
 * the core is attention (I = 3D, O = D) or bias and activation (I = O = M). Offsets into data. */
typedef struct {
    size_t I, O;
    size_t norm_w, norm_b; /* (D) */
    size_t in_w, in_b;     /* (I, D), (I) */
    size_t out_w, out_b;   /* (D, O), (D) */
    size_t relative;       /* (2*clip+1, D/H), if any */
    size_t span;           /* (H), if any; outside the slot's window, with those of all slots */
    size_t end;            /* of all but that, which begin with norm_w */
    size_t first; /* instruction of the slot: behind it, backward has all of their gradients */
} SlotParams;

typedef struct {
    size_t w, b; /* (inputs, D), (1) */
} GateParams;

/* What an EVAL leaves for its backward. */
typedef struct {
    void *base;
    void *normed;                 /* (N, D); its own adjoint, in the end */
    void *stats;                  /* (N, 2) of the norm */
    void *in;                     /* (N, I): qkv, or the input of the activation */
    void *core;                   /* (N, O): attention's output, or the activation's */
    void *lse;                    /* (N, H), attention */
    void *adjoints, *dcore, *din; /* (N, O), (N, I), while going back */
} Work;

/* Sums over ranks: the window of gradients that waits for more before its sum is begun. */
typedef struct {
    Ranks *ranks;
    size_t lo, hi;
} Sums;

/* A cluster of rare words, see adaptive.c. */
typedef struct {
    size_t first, words; /* ids first .. first + words - 1 */
    size_t width;        /* w */
    /* At the input, and at the output: the same, but in a model whose output is its own. */
    size_t embed, output;           /* (words, w) */
    size_t project, output_project; /* (D, w) */
} Tail;

/* What adaptive.c needs at the embedding, at the loss and at the embedding's adjoint. */
enum { MIX_EMBED, MIX_LOSS, MIX_BACK, MIXES };
typedef struct {
    void *wide;           /* (N, D) */
    void *narrow, *other; /* (N, width of the first tail) */
} Mix;

/* The rows a pass works on, and how. */
typedef struct {
    size_t N, S;
    int train;     /* dropout on */
    int more;      /* gradients are added to those there, not to zeros */
    int elsewhere; /* the loss's term of spans is another rank's */
    size_t tokens; /* the loss is the sum over the rows by so many */
    size_t first;  /* rows of the batch before these, which other ranks have */
    Sums *sums;    /* of the gradients over ranks, begun while they are made; NULL: none */
    /* With tails, where the rows of the head (0) and of tail i begin among those sorted by cluster: by
     * input, by target. The head has every target, so targets of tails begin at 0. */
    size_t in[TAILS_MOST + 2], out[TAILS_MOST + 2];
} Pass;

/* What the calls of a part of a training step depend on; they are recorded for one of these. */
typedef struct {
    size_t N, S, tokens;
    double beta1, beta2, eps, clip, decay;
    size_t first;
} StepShape;

/* Recordings by the part they are of: the only one, the first, one in the middle, the last. */
enum { PART_FIRST = 1, PART_LAST = 2, PART_ROLES = 4 };

/* A term of a LIN. */
typedef struct {
    size_t instr, term;
} Reader;

/* Neighbouring numbers of the flat buffers that are all decayed or all not. */
typedef struct {
    size_t offset, size;
    int decays;
} Stretch;

/* How a tensor starts; parallel to the list of Param. */
typedef struct {
    int kind; /* START_* in model.c */
    double value;
} Start;

struct Model {
    ModelConfig config;
    Plan *plan;
    const Backend *backend;
    int training;
    int counted; /* it has no buffers: only their sizes are asked for */
    size_t E;    /* D / H */

    Param *param;
    Start *start;
    size_t params, size;
    Stretch *stretch; /* (stretches <= params) all of the flat buffers, in order */
    size_t stretches;
    SlotParams *slot; /* (plan->slots) */
    size_t *scalar;   /* (plan->scalars) offsets */
    GateParams *gate; /* (plan->gates) */
    size_t embed, final_w, final_b, output;
    size_t head; /* rows of the output's matrix: V, or the head's words and an entry a tail */
    Tail tail[TAILS_MOST];    /* (config.tails) */
    size_t spans, span_count; /* all spans: where, how many */

    void *buffer[MODEL_BUFFERS]; /* all device memory, for model_free */
    size_t buffers, bytes[MEMORY_KINDS];
    void *data, *grad, *moment[2];

    size_t *from;   /* (registers+1) where a register's readers begin */
    Reader *reader; /* LINs that read it, the last first */
    int *pull;      /* (registers) where backward first needs its adjoint, see pass.c */
    void *arena;    /* (arena_size) */
    size_t arena_size;
    void **state;   /* (registers) (N, D) */
    void **adjoint; /* (registers) (N, D), training */
    void *gates;    /* (gates, max N) */
    void *dgates;   /* the same, training */
    Work *work;     /* (instrs) as forward leaves it */
    Work *again;    /* (instrs) as backward reads it, training */

    void *positions; /* (max_length, D) sinusoids, or NULL */
    void *hidden;    /* (N, D) after the final norm */
    void *stats;     /* (N, 2) of the final norm */
    void *dhidden;   /* (N, D), training */
    size_t logit_rows;
    void *logits; /* (logit_rows, the widest of head and tails) */
    Mix mix[MIXES];

    /* A batch, as the backend reads it, and what it gives. All in backend memory. */
    int32_t *input, *target, *position; /* (max N) */
    size_t *begins;                     /* (max N + 1) first rows of sequences */
    Step *step;
    uint64_t *masks; /* (1) numbers the dropout masks of a pass */
    void *nll;       /* (max N) */
    /* With tails input is sorted by cluster, target is the head's, and (max N) each: */
    int32_t *place; /* where a row's input went */
    int32_t *row,
        *within;    /* rows whose target is in a tail, sorted by it; the target's number there */
    void *tail_nll; /* of those rows */
    int32_t *
        label; /* (tails, max N), with smoothed labels: number of a row's target in a tail, -1: it is in another */
    int32_t *sorted; /* (5 + those, max N) on the host: input, place, target, row, within, label */

    Recording *recording[PART_ROLES]; /* of a part of a training step, or NULL */
    StepShape recorded[PART_ROLES], last[PART_ROLES];

    LinTerm *term; /* host lists as long as the longest instruction */
    const void **gate_x;
    void **gate_dx;
};

/* Windows of the flat buffers. */
static inline void *data(const Model *m, size_t offset)
{
    return backend_at(m->backend, m->data, offset);
}

static inline void *grad(const Model *m, size_t offset)
{
    return backend_at(m->backend, m->grad, offset);
}

/* adaptive.c; of a model with tails only, but for adaptive_widest. Checks a configuration and drops the cuts
 * that are not below V; shapes of the tails; the most columns of logits. */
int adaptive_check(ModelConfig *c);
/* Lists of labels: the tails, where they are smoothed, else 0. */
size_t adaptive_lists(const Model *m);
void adaptive_shapes(Model *m);
size_t adaptive_widest(const Model *m);
/* Sends a batch's inputs and targets by cluster; p->in, p->out out. */
void adaptive_send(const Model *m, const Batch *x, Pass *p);
/* X (N, D) = rows of the embedding in the order of clusters; place tells where a row is. */
const void *adaptive_embed(const Model *m, const Pass *p);
/* From the adjoint of X in mix[MIX_BACK].wide. */
void adaptive_embed_back(const Model *m, const Pass *p);
/* What is more in the labels q of the head, which have the words', where they are smoothed by `each` a word. */
void adaptive_labels(const Model *m, double each, Labels *q);
/* Adds the tails' share to nll, which has the head's, and with `back` its adjoints to dhidden. */
void adaptive_loss(const Model *m, const Pass *p, int back);
/* log p (n, V) of rows at .. at+n-1 of hidden, once the head's logits are in m->logits; room (n, widest). */
void adaptive_log_p(const Model *m, size_t at, size_t n, double *room, double *log_p);

/* spans.c. Checks a configuration; d loss / d u of the loss's term, the same for every u; u back into 0 .. 1
 * after a step. */
int spans_check(const ModelConfig *c);
double spans_slope(const Model *m);
void spans_clamp(const Model *m);

/* pass.c. Sends a batch to the backend, once it is checked; the gradient of the mean loss of what was
 * sent. Step is as it stands. */
int pass_begin(const Model *m, const Batch *x, int train, Pass *p);
void pass_gradient(const Model *m, const Pass *p);
/* One sequence of N tokens, dropout off, as a batch. A token or a position that the model lacks: ERR_MISUSE. */
int pass_tokens(const Model *m, size_t N, const int32_t *token, Pass *p);
/* From the tokens to the output; `see` is given every instruction i once it is done. */
typedef void PassSee(const Model *m, const Pass *p, size_t i, void *context);
void pass_watch(const Model *m, const Pass *p, PassSee *see, void *context);

/* step.c. Sends a Step that has only its inputs, and its number for the masks. */
void step_send(const Model *m, uint64_t step, double rate);

/* share.c. With p->sums: begins sums of what is ready when backward has done instruction i; the same of a
 * rank without rows; sums the rest and waits. */
void share_after(const Model *m, const Pass *p, size_t i);
void share_nothing(const Model *m, const Pass *p);
void share_rest(const Model *m, const Pass *p);

/* layout.c. Host lists, as long as the plan asks; device buffers, once the parameters are listed; all
 * of both freed, also where only some were had. */
int layout_lists(Model *m);
int layout_buffers(Model *m);
void layout_free(Model *m);

#endif
