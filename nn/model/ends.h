/* ends.h: both ends of a model: words to r0, the output to a loss. Reading order:
 *
 *   ends.c       plain: a row of the embedding a word, one softmax
 *   adaptive_softmax.c   also, with narrow rare words
 *   encoder_ends.c      of an encoder alone: masked words, classes
 *   filled.c     rows filled up to few numbers of them
 */
#ifndef TROTTER_ENDS_H
#define TROTTER_ENDS_H

#include "nn/model/model.h"
#include "nn/text/text.h"

typedef struct Pass Pass; /* engine.h */

/* The operations on words at both ends of a network: ends_plain (ends.c), ends_adaptive (adaptive_softmax.c) or ends_heads
 * (encoder_ends.c). */
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
    size_t block; /* rows whose logits exist at a time */
    void *logits; /* (block, widest) */
    /* The same for training, where factors are kept: products write logits there, the loss makes them their adjoint. */
    size_t dblock;
    void *dlogits; /* (dblock, widest) factors */
    void *nll;     /* (max N) */
} Output;

/* A cluster of rare words, see adaptive_softmax.c. */
typedef struct {
    size_t first, words; /* ids first .. first + words - 1 */
    size_t width;        /* w */
    /* Input and output share them, except in an untied model. */
    size_t embed, output;           /* (words, w) */
    size_t project, output_project; /* (D, w) */
} Tail;

/* Buffers of adaptive_softmax.c at the embedding, at the loss and at the embedding's adjoint. */
enum { MIX_EMBED, MIX_LOSS, MIX_BACK, MIXES };
typedef struct {
    void *wide;           /* (N, D) */
    void *narrow, *other; /* (N, width of the first tail) */
} Mix;

/* With tails the batch's inputs are sorted by cluster, and its targets are the head's. Lists are (filled_most), but
 * place (max N). */
typedef struct {
    Tail tail[TAILS_MOST];
    Mix mix[MIXES];
    int32_t *place;  /* place of a row's input among the sorted ones */
    int32_t *row;    /* rows whose target is in a tail, sorted by it */
    int32_t *within; /* number of the target in its tail */
    void *nll;       /* nll of those rows */
    int32_t *sorted; /* (5, filled_most) on the host: input, place, target, row, within */
} Tails;

/* A dense layer over n rows of out.hidden. A norm (D), (D), or classes (C, D), (C) follow it. */
typedef struct {
    size_t dense_w, dense_b; /* (D, D), (D) */
    size_t w, b;
    int32_t *row;               /* (max N) in backend memory */
    void *picked, *dense, *act; /* (n, D): the rows, before and behind the activation */
    void *dact;                 /* (n, D), training */
} Head;

/* Both ends of an encoder alone (encoder_ends.c). */
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
/* Return sqrt(D) or 1, the factor of the embedding, and the embedding's dropout. */
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
/* Make the register of a WORDS, and the gradients of its slot. */
void ends_words(const Pass *p, const PlanInstr *in, Dropout drop);
void ends_words_back(const Pass *p, const PlanInstr *in, Dropout drop);
/* Adds the gradient of learned positions, where there are any, from dx (N, D), the adjoint of what `drop` left. */
void ends_position_back(const Model *m, const Pass *p, int side, Dropout drop, const void *dx);

/* filled.c. filled_rows returns the rows that n rows of a batch are filled up to, at most `most` if n is not more.
 * filled_most bounds the rows of all clusters together. filled_list sets list[n .. size-1] to the filler and returns
 * the list. */
size_t filled_rows(const Model *m, const Pass *p, size_t n, size_t most);
size_t filled_most(const Model *m);
int32_t *filled_list(int32_t *list, size_t n, size_t size, int32_t filler);

/* adaptive_softmax.c. Check a configuration; set the shapes of the tails and of the output, which without tails is plain. */
extern const Ends ends_adaptive;
int adaptive_check(const ModelConfig *c);
void adaptive_shapes(Model *m);

/* encoder_ends.c. Check a configuration; check what a batch asks; return the factor of the adjoints of a loss of labels. */
extern const Ends ends_heads;
int heads_check(const ModelConfig *c, const Plan *p);
int heads_batch(const Model *m, const Batch *x);
double heads_grad(const Pass *p);

#endif
