/* plain.h: a second reading of what a language model is, and an encoder with its decoder, in double precision and plain
 * loops. It is written from the definition and not from nn/. */
#ifndef TROTTER_TESTS_PLAIN_H
#define TROTTER_TESTS_PLAIN_H

#include "nn/nn.h"
#include "tests/lib/tiny.h"

/* Computes z (N, V), the logits of a batch under a model of tiny_residual with the tiny sizes, sinusoids, relative
 * positions. It has no dropout. */
void plain_logits(Model *m, const Batch *b, double *z);

/* Computes a (heads, n, n), which the caller has zeroed: the attention's weights on n tokens from position 0. */
void plain_weights(Model *m, size_t n, const int32_t *token, double *a);

/* Computes z (N, V), the logits of a batch under a model of tiny_transformer with sinusoids and relative
 * positions. It has no dropout. wrong: PAIR_RIGHT, or a deliberate mistake that a comparison has to see. */
enum {
    PAIR_RIGHT,
    PAIR_SEES_NEXT,      /* the target's mask is off by one */
    PAIR_CAUSAL_ENCODER, /* the source's attention sees no later token */
    PAIR_ONE_SIDED,      /* later tokens of the source have no relative rows but the middle one */
    PAIR_KEYS_OF_INPUT,  /* keys are made of the encoder's input, not of its output */
    PAIR_CROSS_FIRST,    /* C before F */
    PAIR_NEXT_SOURCE,    /* a sequence reads the source of the next */
    PAIR_KEYS_NORMED,    /* the norm of the cross-attention is over keys too */
    PAIR_BARE_MEMORY,    /* the encoder's output has no norm; for a pre plan */
    PAIR_WRONGS
};
void plain_pair_logits(Model *m, const Batch *b, int wrong, double *z);

/* Computes, for an encoder alone (tiny_residual or a post layer, bidirectional), words (count, V) and
 * classes (S, C), the logits of what the batch asks (nn/model/heads.c), C = 1 included. It has no dropout. */
enum {
    HEADS_RIGHT,
    HEADS_CAUSAL,     /* attention sees no later token */
    HEADS_NO_SEGMENT, /* segment embeddings are left out */
    HEADS_LAST,       /* the last row is pooled, not the first */
    HEADS_TANH,       /* tanh in the words' head */
    HEADS_GELU,       /* GELU in the classes' head */
    HEADS_BARE,       /* no norm before the words' matrix */
    HEADS_NO_BIAS,    /* the words' matrix has no bias */
    HEADS_WRONGS
};
void plain_heads(Model *m, const Batch *b, int wrong, double *words, double *classes);

/* These compute parts: y = LayerNorm(x) (D); y (rows) = W (rows, cols) x + b; GELU; y (n, D) = words and sinusoids. */
void plain_norm(const double *w, const double *b, const double *x, double *y);
void plain_affine(int rows, int cols, const double *W, const double *b, const double *x, double *y);
double plain_gelu(double u);
void plain_embed(const double *emb, int n, const int32_t *token, double (*y)[TINY_WIDTH]);

#endif
