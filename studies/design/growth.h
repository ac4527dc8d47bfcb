/* growth.h: how much more than the flow a step lets perturbations grow, in the layers of a trained model.
 *
 *     growth of a scheme = median over sentences and layers of  max over tokens of  rho(R(A, B) E(A + B))
 *
 * A, B (d, d): a token's diagonal blocks of F'(x) and G'(x), x the state that enters the layer. R(A, B): a step of h = 1 on
 * y' = A y + B y, which is a matrix. rho: spectral radius. E takes out what the flow lets grow:
 *
 *     E(M) = V diag(1 / max(1, exp(Re mu))) V^-1,   M = V diag(mu) V^-1
 *
 * 1: no more than the flow. Where all stages are H it is max over the eigenvalues mu of A + B of |R(mu)| / max(1, exp(Re mu)):
 * with Re mu <= 0, what Ketcheson and Ahmadia make least for a given spectrum; in general F' and G' have no eigenvectors in
 * common and a scheme of F and G no R of a number. Attention is causal, so that the linearised step of all tokens is block
 * triangular, and E of it too: its eigenvalues are those of the blocks, exactly.
 *
 * Why not rho(R) / exp(max Re mu): trained layers have modes that grow, on which explicit steps fall behind the flow; a
 * mode that the flow damps and the step does not would stand in their shadow. A step that damps what grows costs nothing
 * here, as it is stable; how far it is from the flow is what the truncation error says.
 *
 * Source: Ketcheson, Ahmadia 2012, Optimal stability polynomials for numerical integration of initial value problems; matrix
 * functions: Higham 2008, section 1.2; the rest is derived here.
 */
#ifndef TROTTER_DESIGN_GROWTH_H
#define TROTTER_DESIGN_GROWTH_H

#include "bridge/truncation.h"

/* The blocks of one layer at one sentence. */
typedef struct {
    size_t tokens;
    double *A, *B; /* (tokens, d, d) */
    double *E;     /* (tokens, d, d) its transpose */
    size_t first;  /* the token that was largest last */
} GrowthLayer;

typedef struct {
    size_t d, count;
    GrowthLayer *layer; /* (count) */
} Growth;

/* Takes copies of A, B (tokens, d, d), d that of the layers before. ERR_ACCURACY with words where some A + B has
 * not d eigenvectors. Errors leave what was there. */
int growth_put(Growth *g, size_t d, size_t tokens, const double *A, const double *B);
/* The same of a layer of the truncator's sentence, of as many tokens as truncator_jacobian takes. The model is
 * causal. */
int growth_add(Growth *g, Truncator *u, int layer);
void growth_free(Growth *g); /* NULL is allowed */

/* The growth of a frozen table of stages. One (NULL: not wanted): (count) out, that of each layer. History: ERR_INPUT; a step
 * that is not finite: ERR_ACCURACY. */
int growth_find(Growth *g, const Table *t, double *one, double *growth);

#endif
