/* growth.h: how much more than the flow a step lets perturbations grow, in the layers of a trained model.
 *
 *     growth of a scheme = median over sentences and layers of  max over tokens of  rho(R(A, B) E(A + B))
 *
 * A, B (d, d): a token's diagonal blocks of F'(x) and G'(x), x the state that enters the layer. R(A, B): a step of h =
 * 1 on y' = A y + B y, which is a matrix. rho: spectral radius. E removes the growth of the flow:
 *
 *     E(M) = V diag(1 / max(1, exp(Re mu))) V^-1,   M = V diag(mu) V^-1
 *
 * The value 1 means no more growth than the flow. Where all stages are H the growth is the max over the eigenvalues mu
 * of A + B of |R(mu)| / max(1, exp(Re mu)). With Re mu <= 0 this is the quantity that Ketcheson and Ahmadia minimise
 * for a given spectrum. In general F' and G' have no eigenvectors in common, and a scheme of F and G has no R of a
 * number. Attention is causal, so that the linearised step of all tokens is block triangular, and so is E of it. Their
 * eigenvalues are those of the blocks, exactly.
 *
 * Why not rho(R) / exp(max Re mu)? Trained layers have modes that grow, on which explicit steps fall behind the flow.
 * These would hide a mode that the flow damps and the step does not. A step that damps a growing mode costs nothing
 * here, as it is stable; the truncation error measures its distance from the flow.
 *
 * Source: Ketcheson, Ahmadia 2012, Optimal stability polynomials for numerical integration of initial value problems;
 * matrix functions: Higham 2008, section 1.2; the rest is derived here.
 */
#ifndef TROTTER_DESIGN_GROWTH_H
#define TROTTER_DESIGN_GROWTH_H

#include "bridge/truncation.h"

/* The blocks of one layer at one sentence. */
typedef struct {
    size_t tokens;
    double *A, *B; /* (tokens, d, d) */
    double *E;     /* (tokens, d, d) transposed */
    size_t first;  /* the token with the largest radius in the last call */
} GrowthLayer;

typedef struct {
    size_t d, count;
    GrowthLayer *layer; /* (count) */
} Growth;

/* Takes copies of A, B (tokens, d, d); d is that of the layers before. ERR_ACCURACY with words where some A + B has not
 * d eigenvectors. After an error the layers before stay. */
int growth_put(Growth *g, size_t d, size_t tokens, const double *A, const double *B);
/* Does the same for a layer of the truncator's sentence, with as many tokens as truncator_jacobian
 * takes. The model is causal. */
int growth_add(Growth *g, Truncator *u, int layer);
void growth_free(Growth *g); /* NULL is allowed */

/* Finds the growth of a frozen table of stages. one (count) out: that of each layer; NULL: not wanted. ERR_INPUT:
 * history; ERR_ACCURACY: a step that is not finite. */
int growth_find(Growth *g, const Table *t, double *one, double *growth);

#endif
