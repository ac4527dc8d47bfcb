/* attention_distance.h: distances between distributions of attention, and pictures of them. */
#ifndef TROTTER_STUDIES_ATTENTION_DISTANCE_H
#define TROTTER_STUDIES_ATTENTION_DISTANCE_H

#include <stddef.h>

#include "studies/model/network.h"

/* ---- assignment.c: finds the optimal assignment ---------------------------------------------- */

enum { ASSIGNMENT_MAX = 256 };

/* to (n) out: the permutation with the least sum_i cost[i, to[i]] of cost (n, n), finite numbers, n <=
 * ASSIGNMENT_MAX. Returns that sum. O(n^3). Source: Kuhn 1955, Munkres 1957, in the form of shortest
 * augmenting paths (Jonker, Volgenant 1987). */
double assignment_find(size_t n, const double *cost, size_t *to);

/* ---- attention_distance.c ----------------------------------------------------------------------------- */

/* The distance between two models' attention (command_attention.c).
 *
 * Source: Press, Smith, Levy 2020, section 6. The i-th attention sublayers of two models are compared at one
 * token. Heads are matched one to one so that the sum of the distances between the matched heads'
 * distributions is least. That sum is the distance at this token and sublayer; it is averaged over tokens
 * and sublayers. The paper does not say what is moved where. Here the weights are mass on the
 * tokens 0 .. n-1 that are seen, and moving mass by one token costs 1. On a line the earth mover's
 * distance is the L1 norm of the difference of the cumulative sums: sum_j |sum_(k<=j) (a_k - b_k)|, in
 * tokens (Vallender 1973). */

/* Returns the distance of two distributions a, b (n >= 1), as above. */
double attention_distance(size_t n, const double *a, const double *b);

typedef struct {
    double token; /* heads matched anew at every token, as in the paper */
    double once;  /* heads of a sublayer matched once, by the mean over tokens: at least as large */
} HeadDistance;

/* Sums over the N tokens of one sequence, sublayer by sublayer, for two models whose weights are a, b
 * (A, H, N, N) (model_attention): cost (A, H, H) += the distances between all heads, token (A) += the least
 * sums of matched ones. ERR_MEMORY. */
typedef struct {
    size_t A, H;
    int whole;     /* 1: for encoders alone, whose tokens see all tokens (head_sums_new: 0) */
    size_t tokens; /* so far */
    double *cost, *token;
} HeadSums;
int head_sums_new(size_t A, size_t H, HeadSums *s);
void head_sums_free(HeadSums *s);
int head_sums_add(HeadSums *s, size_t N, const double *a, const double *b);
/* Returns means over the tokens, for sublayer i; i = A: over all sublayers. */
HeadDistance head_sums_mean(const HeadSums *s, size_t i);

/* ---- maps.c ---------------------------------------------------------------------------------- */

/* Attention weights of a model's heads in a few sentences, as numbers and as heat maps. */

/* Columns of a row: a_(query, key) of a head, or with head 0 the mean over heads. A causal model has
 * no row with key > query. */
extern const Column map_columns[];

/* Writes DIR/maps.csv of --out and pictures DIR/map-MODEL-SENTENCE[-LAYER-SUBLAYER], numbered from 1, layers from 0, of
 * the first --sentences lines of the text, cut to `tokens`. With --by-head there is a picture of each attention sublayer
 * with a map a head, else one of each model, of the mean over heads. name (models): the user's names. The models have one
 * vocabulary. *pictures: their number. A line is read as the model reads it, with <eos> or an encoder's first token in
 * front. */
int maps_save(const Options *o, const char *const *name, const Network *network, size_t models,
              const Text *text, size_t tokens, size_t *pictures);

#endif
